/* Real redis-servers (or valkey-servers) for the live tests. A test starts, freezes, crashes and
 * restarts them as it needs.
 *
 * Knows servers and their protocol; knows nothing of locks. Each server has a free port on the
 * loopback, a unix socket and a directory of its own within one temporary directory. The tests look
 * at keys and make trouble over the unix socket, since nobody else's server can answer there, and
 * no password, port or protected mode is in the way.
 *
 * Nothing is left. A sweeper process learns of every process started here and, when the test
 * program has ended, whether it returned, crashed or was killed, ends those that still run and
 * removes the directory.
 *
 * The binary is $REDIS_SERVER (a path, or a name in the PATH), or redis-server, or valkey-server of
 * the PATH; version 7.0 or newer. Failures in here, a missing binary first of all, end the whole
 * program with "Bail out!" and the reason, since they are no verdict on redlock. */
#ifndef SERVERS_H
#define SERVERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SERVERS_MAX = 32,           /* Servers of one test program. */
    SERVER_PATH_SIZE = 104,     /* The length of a unix socket's name that every system allows. */
    /* An answer's text is cut there. INFO's answer is the largest needed. */
    SERVER_ANSWER_SIZE = 32768
};

struct server {
    pid_t pid;                  /* 0: it does not run. */
    unsigned number;            /* Names its files. */
    uint16_t port;
    const char *config;
    char socket[SERVER_PATH_SIZE];
    /* Its working directory, where dumps and the append-only file go. */
    char directory[SERVER_PATH_SIZE];
};

/* ---- Running them ---- */

/* Starts count servers side by side and returns when all answer. config: more lines of a
 * redis.conf, a '\n' after each, or ""; it must stay. By default a server listens on 127.0.0.1 and
 * writes nothing to disk. A config that begins with "sentinel " makes it one. */
void servers_start(struct server *servers, unsigned count, const char *config);

/* SIGKILL: anything that was not on disk is gone. Returns when the process is. */
void server_crash(struct server *s);

/* Starts it again, on the same port, with the same configuration, after a crash if it runs. Returns
 * when it answers. */
void server_restart(struct server *s);

/* The same of one that has crashed, without waiting for an answer. */
void server_launch(struct server *s);

/* SIGSTOP and SIGCONT. The kernel goes on accepting connections and bytes for it,
 * and nobody answers. */
void server_freeze(struct server *s);
void server_thaw(struct server *s);

/* Crashes them for good. */
void servers_end(struct server *servers, unsigned count);

/* "127.0.0.1:4001,127.0.0.1:4002" of count servers. Static: until the next call. */
const char *servers_list(const struct server *servers, unsigned count);

/* With REDLOCK_TEST_TLS=1 servers speak TLS on their port, and nothing else, and
 * tests/tls/through.c makes clients speak it, too. */
bool servers_speak_tls(void);

/* Was one started on this port? */
bool servers_have_port(unsigned long port);

/* The directory that tests/live/certificates has filled. It is $REDLOCK_TEST_CERTIFICATES, or one
 * that ends with the program. */
const char *servers_certificates(void);

/* True if the machine has ::1. */
bool servers_have_ipv6(void);

/* A free port on the loopback, at this moment. */
uint16_t free_port(void);

/* A port on which nobody listens, nor will, since it stays bound for as long as
 * the program runs. */
uint16_t refused_port(void);

/* ---- Talking to them ---- */

/* Puts one command and gives the answer as a text. It is the content of a simple string, integer or
 * bulk string; "-ERR ..." for an error; "(nil)"; the elements of an array with a space after each.
 * The text is static, and valid until the next call. */
#define ASK(server, ...) server_ask((server), (const char *const[]){ __VA_ARGS__, NULL })
const char *server_ask(const struct server *s, const char *const *words);

/* Puts one command without waiting for its answer. Returns the connection, for the
 * caller to close. */
#define TELL(server, ...) server_tell((server), (const char *const[]){ __VA_ARGS__, NULL })
int server_tell(const struct server *s, const char *const *words);

/* ---- Processes of a test ---- */

/* fork(). The child is ended with the test program, like a server. It leaves by _exit(). */
pid_t process_fork(void);

/* Waits for such a child. Returns its exit status, or 128 + signal. */
int process_wait(pid_t pid);

/* Waits until a child has stopped itself by SIGSTOP; stops it; lets it go on. */
void process_await_stop(pid_t pid);
void process_stop(pid_t pid);
void process_continue(pid_t pid);

/* Answers TCP on a port of its own by connecting to s, which is in protected mode, from 127.0.0.2,
 * or from the address by which this machine reaches others (servers after Redis 7.0 take all of
 * 127/8 for their own machine), and handing on the words of s. Returns the port, or 0 where it
 * would not be denied, since the machine has neither. */
uint16_t stranger_start(const struct server *s);

/* Says this to every client that has sent something, and hangs up. Returns its port. */
uint16_t impostor_start(const char *says);

void nap_ms(unsigned ms);

/* Milliseconds of a monotonic clock. */
uint64_t clock_ms(void);

/* Ends the program for a reason that is not the library's fault. */
__attribute__((noreturn, format(printf, 1, 2)))
void bail_out(const char *format, ...);

/* A condition that must become true soon, but not at once, since servers are other processes. */
enum { SOON_MS = 10000 };
#define CHECK_SOON(condition)                                                                  \
    do {                                                                                       \
        const uint64_t soon_until = clock_ms() + SOON_MS;                                      \
        bool soon_is_true;                                                                     \
        while (!(soon_is_true = (condition)) && clock_ms() < soon_until) nap_ms(2);            \
        TAP_CHECK(soon_is_true, "not even after %d s: %s", SOON_MS / 1000, #condition);         \
    } while (0)

#endif
