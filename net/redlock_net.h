/* The services that redlock needs from the operating system. They are addresses, sockets, waiting,
 * the clock, random bytes, and the process.
 *
 * The files below this header are the only ones of the library that include POSIX headers; this
 * header includes none. They know nothing of Redis but how its URLs are spelled.
 *
 * Memory   is the caller's; nothing is allocated (only the resolver does, and gives it back; and a
 *          thread's stack is the system's).
 * Threads  may call everything at the same time; two threads may not share one object
 *          or one descriptor.
 * Blocking only net_wait waits; the descriptors are all nonblocking.
 * Errors   are negated errno values, or static English sentences. EINTR, EAGAIN and SIGPIPE end
 *          here, but for the one EINTR that net_wait promises. */
#ifndef REDLOCK_NET_H
#define REDLOCK_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file that includes all the .c files can define this as `static`. */
#ifndef NET_API
#define NET_API extern
#endif

/* A caller's bug stops the program at the spot. It is not assert(), which brings printf along, 16
 * KB of a static program. */
#ifdef __GNUC__
#define NET_CHECK(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define NET_CHECK(condition) do { while (!(condition)) { } } while (0)
#endif

/* A condition that must hold when it is compiled. C99 has no word for it, and compilers that are
 * asked for C99 warn of that of C11. */
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define NET_STATIC_ASSERT(condition, words) _Static_assert(condition, words)
#else
#define NET_STATIC_ASSERT(condition, words) extern char net_static_assert[(condition) ? 1 : -1]
#endif

/* ---- Addresses: text only, nothing is looked up ---- */

enum net_kind { NET_TCP, NET_UNIX };

enum {
    NET_HOST_MAX = 255,        /* The longest name of the DNS. */
    /* sun_path of macOS and the BSDs (Linux: 107), so a name that is good here
     * is good everywhere. */
    NET_PATH_MAX = 103,
    NET_DATABASE_MAX = (1 << 29) - 1,   /* Servers have 16 unless told otherwise. */
    /* Redis has no limit for these two (counted after percent-decoding). */
    NET_USER_MAX = 128,
    NET_PASSWORD_MAX = 256,    /* The server's own ACL GENPASS writes 64 bytes. */
    /* Any address as text, with its NUL. */
    NET_ADDRESS_TEXT_SIZE = NET_HOST_MAX + sizeof "[]:65535"
};

struct net_address {
    enum net_kind kind;
    uint16_t port;                         /* NET_TCP: 1..65535. NET_UNIX: 0. */
    uint32_t database;                     /* 0..NET_DATABASE_MAX; 0 where none is named. */
    bool durable;                          /* The address says durable=1, */
    bool managed;                          /* or managed=1. */
    /* NET_TCP by rediss:// or valkeys://, which means TLS, and never anything else. */
    bool secure;
    bool has_password;                     /* False: log in nowhere; user and password are empty. */
    /* NET_TCP: a name or number, v6 without its brackets. NET_UNIX: empty. */
    char host[NET_HOST_MAX + 1];
    char path[NET_PATH_MAX + 1];           /* NET_UNIX: absolute. NET_TCP: empty. */
    char user[NET_USER_MAX + 1];           /* Empty: the default user. */
    /* May be empty where there is a user (one that needs no password). */
    char password[NET_PASSWORD_MAX + 1];
};

struct net_error {
    /* Offset of the first wrong byte; of a number or numeric address as a whole, its start. */
    size_t at;
    /* Static words about the fault and the remedy. Never a part of the input. */
    const char *text;
};

/* Reads one address of `size` bytes (no NUL needed). These are the forms; the schemes
 * in either case:
 *
 *   host   host:port   [v6]   [v6]:port   [fe80::1%eth0]:port   unix:/path
 *   redis://[[user]:password@]host[:port][/database][?query]         also valkey://; with TLS
 *                                                                    rediss://, valkeys://
 *   redis+unix://[[user]:password@]/path[?query]                     also valkey+unix:// and
 *                                                                    unix://
 *
 * The query is durable=1 or managed=1; of a path also db=database, with & between them. User,
 * password, host and path of the URLs are percent-decoded (so a scope is written [fe80::1%25eth0]);
 * elsewhere '%' is itself. `default_port` (1..65535) is taken where none is given.
 * Returns false with *error set and *address untouched when the text is not such an address. A
 * password is copied. Wipe the address (net_wipe) when done with it; no other copy
 * is left behind. */
NET_API bool net_parse_address(const char *text, size_t size, uint16_t default_port,
                               struct net_address *address, struct net_error *error);

/* Writes "127.0.0.1:6379", "[::1]:6379" or "unix:/path", for people and logs. It never writes the
 * user or the password, nor rediss://. `size` >= 1. Always ends in NUL, cut short where it does not
 * fit (NET_ADDRESS_TEXT_SIZE is always enough). Returns the length written, without the NUL. */
NET_API size_t net_format_address(const struct net_address *address, char *text, size_t size);

/* Overwrites with zeros in a way no compiler leaves out. */
NET_API void net_wipe(void *data, size_t size);

/* ---- Endpoints: what can be connected to ---- */

/* A node is one server, so its name stands for a v4 and a v6 address, or two of each
 * on two networks.
 * A name with more of them is a pool of servers, not a node. */
enum { NET_ENDPOINTS_MAX = 4 };

/* sockaddr_un, the largest, has 110 bytes on Linux, 106 elsewhere. */
enum { NET_ENDPOINT_SIZE = 112 };

/* Complete so that it can be stored and copied; its content belongs to
 * net_resolve.c and net_socket.c. */
struct net_endpoint {
    uint64_t words[NET_ENDPOINT_SIZE / 8];    /* Aligned for any address. */
    uint32_t size;
};

/* The result for an address has `count` endpoints, the best first; or none, and a code for
 * net_resolve_text that is not 0. */
struct net_resolved {
    int code;
    uint32_t count;
    struct net_endpoint endpoints[NET_ENDPOINTS_MAX];
};

/* True: the address is a path, which need not exist yet, or a number; nothing was looked up, and
 * *resolved is set. False: it is a name. */
NET_API bool net_resolve_now(const struct net_address *address, struct net_resolved *resolved);

/* Begins to look a name up, for as long as the system's resolver takes. Returns a descriptor,
 * nonblocking and close-on-exec, that is readable when net_resolve_end can tell. The caller owes it
 * a net_close, at any time, and need not wait for the answer.
 * -1: *resolved is set already, since no lookup could be begun; or since without threads
 * (REDLOCK_NO_THREADS) this BLOCKS. A thread of its own does it, which takes no signals, has 512
 * KiB of stack and ends by itself. A child of fork() has the descriptor and one more, which is the
 * thread's, and no thread. */
NET_API int net_resolve_begin(const struct net_address *address, struct net_resolved *resolved);

/* True: *resolved is set, and the descriptor is of no further use. False: not yet. */
NET_API bool net_resolve_end(int fd, struct net_resolved *resolved);

/* Static text, for any code. */
NET_API const char *net_resolve_text(int code);

/* Does the code say that there is no such host, or none with an address? Any other failure says
 * nothing of the host. */
NET_API bool net_resolve_denies(int code);

/* ---- Sockets ---- */

/* net_receive returns it when the peer has closed; no errno is this large. */
enum { NET_END = -0x7fff };

/* Begins to connect. Returns a descriptor >= 0 that the caller owes a net_close; *connected says
 * whether it is through already. If not, wait until it is writable and ask net_connect_result. The
 * descriptor is nonblocking and close-on-exec; TCP sends at once (NODELAY) and finds a peer that
 * died in silence within half a minute (keepalive), where the system can. Returns -errno with
 * nothing left open; -EAGAIN means that the backlog of a unix socket is full. */
NET_API int net_connect(const struct net_endpoint *endpoint, bool *connected);

enum { NET_PENDING = -1 };

/* Tells how a connection attempt ended. Returns 0 if connected, NET_PENDING if not yet known, else
 * the errno of its failure, reported once; close it then. A TCP socket that was connected to itself
 * (possible where nobody listens) counts as ECONNREFUSED. */
NET_API int net_connect_result(int fd);

/* Gives bytes to the kernel. `size` >= 1. Returns how many it took, 0 when it can take none now
 * (wait for NET_WRITE), or -errno if the connection is of no further use. Zero never means
 * disconnect. Raises no SIGPIPE. */
NET_API ptrdiff_t net_send(int fd, const void *data, size_t size);

/* Takes up to `size` >= 1 bytes. Returns how many, 0 when there are none now (wait for NET_READ),
 * NET_END when the peer has closed, or -errno. Zero never means disconnect. */
NET_API ptrdiff_t net_receive(int fd, void *data, size_t size);

/* Closes, once and for all. Bytes that are not yet sent may still be sent. A negative descriptor is
 * left alone. */
NET_API void net_close(int fd);

/* A few static words for an errno (positive) or for -NET_END; "system error" for those that say
 * nothing to a user of sockets, so print the number too. Unlike strerror it is safe in threads, and
 * the same in every locale. */
NET_API const char *net_error_text(int error);

/* ---- Waiting ---- */

enum {
    NET_READ = 1,
    NET_WRITE = 2,
    /* Reported unasked, for an error, hang-up or closed descriptor. net_connect_result or
     * net_receive says which. */
    NET_BROKEN = 4
};

/* The descriptors of a client, and its self-pipe. 264 bytes of stack. */
enum { NET_WAIT_MAX = 33 };

struct net_wait {
    int fd;           /* Any descriptor; if negative, it is skipped and never ready. */
    uint8_t events;   /* The input is NET_READ, NET_WRITE, both or none. */
    /* The output, set on every return, is the ready part of `events`, and NET_BROKEN. */
    uint8_t ready;
};

/* Waits until something is ready or net_now_us() >= `until_us` (UINT64_MAX: for ever; a time gone
 * by just looks). Returns how many of the `count` <= NET_WAIT_MAX entries are ready, 0 when the
 * time has come and not before, -EINTR after a signal (look at your flags, then call again; the
 * time is absolute, so nothing is stretched), or -errno. A machine that was suspended meanwhile may
 * return late. If the system refuses to wait (it has no memory, or takes no more descriptors than
 * the process may open by now), all are reported as ready after 10 ms, and each is to be tried. */
NET_API int net_wait(struct net_wait *waits, size_t count, uint64_t until_us);

/* A self-pipe wakes a thread out of net_wait, from another thread or from a signal
 * handler. Opens one.
 * Wait for self_pipe[0] (NET_READ), and write to self_pipe[1]. The caller owes both a net_close.
 * Close-on-exec. Returns 0, or -errno and both are -1. */
NET_API int net_self_pipe_open(int self_pipe[2]);

/* Writes to self_pipe[1], again and again if need be, since nobody waits
 * for room. Async-signal-safe;
 * errno stays. A negative descriptor is left alone. */
NET_API void net_self_pipe_write(int fd);

/* Has anything been written since the last call? A negative descriptor has not. */
NET_API bool net_self_pipe_drain(int fd);

/* ---- Clock and random bytes ---- */

/* Microseconds of a clock that never goes back, is never set, and counts the time the machine is
 * suspended (net_system.c says which that is on each system, and where there is none). UINT64_MAX,
 * later than every deadline, if the clock cannot be read, so everything has expired and
 * nothing is held. */
NET_API uint64_t net_now_us(void);

/* Microseconds since 1970 by the wall clock, which people and daemons set at will. 0 if it cannot
 * be read, or is wrong by so much that it shows a time before that. */
NET_API uint64_t net_wall_us(void);

/* Fills `data` with bytes fit for secrets. Waits only in the first seconds of a machine's life,
 * until the kernel has gathered enough. Returns false when the system gives none, and then nothing
 * in `data` may be used. */
NET_API bool net_entropy(void *data, size_t size);

/* ---- The process ---- */

/* The number of this process. A child of fork() finds by it that a connection is its parent's. */
NET_API int64_t net_process(void);

#endif
