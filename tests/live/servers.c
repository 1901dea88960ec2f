/* See servers.h. */
#define _XOPEN_SOURCE 700

#include "servers.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

enum {
    /* A free port may be taken by somebody else before the server has it. */
    START_TRIES = 10,
    START_MS = 20000,       /* A machine that is busy with other tests takes its time. */
    ANSWER_MS = 20000,
    PROCESSES_MAX = 256     /* Running at once. */
};

/* A child's message to the sweeper when it begins, and to its parent when it has ended. */
struct news {
    pid_t pid;
    pid_t runs;     /* 1 or 0; no bool, so that there is no padding to send. */
};

static struct {
    pid_t owner;            /* The test program; 0 until the first server. */
    pid_t sweeper;
    /* Pipe to the sweeper. Its end of file is the end of the test program. */
    int news;
    unsigned count;
    uint16_t ports[SERVERS_MAX];
    char directory[64];
    char binary[256];
} here;

void bail_out(const char *format, ...)
{
    va_list arguments;
    printf("Bail out! ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    if (getpid() != here.owner && here.owner != 0) _exit(1);
    exit(1);
}

void nap_ms(unsigned ms)
{
    struct timespec left = {
        .tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000
    };
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {}
}

uint64_t clock_ms(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) < 0) bail_out("clock_gettime: %s", strerror(errno));
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- The sweeper ---- */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *position)
{
    (void)status, (void)type, (void)position;
    return remove(path);
}

static void note(pid_t *pids, const struct news *news)
{
    pid_t old = news->runs ? 0 : news->pid;
    for (unsigned i = 0; i < PROCESSES_MAX; i++)
        if (pids[i] == old) {
            pids[i] = news->runs ? news->pid : 0;
            return;
        }
}

/* Lives as long as the test program, in a session of its own, so that a Ctrl-C at the terminal does
 * not reach it. */
static void sweep(int news_pipe)
{
    pid_t pids[PROCESSES_MAX] = { 0 };
    struct news news;
    ssize_t size;
    setsid();
    while ((size = read(news_pipe, &news, sizeof news)) != 0)
        if (size == sizeof news) note(pids, &news);
    for (unsigned i = 0; i < PROCESSES_MAX; i++)
        if (pids[i] > 0) kill(pids[i], SIGKILL);
    nftw(here.directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    _exit(0);
}

static void tell_sweeper(pid_t pid, bool runs)
{
    const struct news news = { .pid = pid, .runs = runs ? 1 : 0 };
    if (write(here.news, &news, sizeof news) != sizeof news) bail_out("the sweeper is gone");
}

static void end_all(void)
{
    if (getpid() != here.owner) return;
    close(here.news);
    waitpid(here.sweeper, NULL, 0);
    while (waitpid(-1, NULL, 0) > 0) {}     /* Those that it has killed. */
}

static void start_sweeper(void)
{
    int ends[2];
    if (pipe(ends) < 0) bail_out("pipe: %s", strerror(errno));
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    here.sweeper = fork();
    if (here.sweeper < 0) bail_out("fork: %s", strerror(errno));
    if (here.sweeper == 0) {
        close(ends[1]);
        sweep(ends[0]);
    }
    close(ends[0]);
    here.news = ends[1];
    atexit(end_all);
}

/* ---- The first server ---- */

static bool find_in_path(const char *name)
{
    const char *path = getenv("PATH");
    while (path && *path != '\0') {
        int size = (int)strcspn(path, ":");
        snprintf(here.binary, sizeof here.binary, "%.*s/%s", size, path, name);
        if (access(here.binary, X_OK) == 0) return true;
        path += size + (path[size] == ':');
    }
    return false;
}

static void find_binary(void)
{
    const char *named = getenv("REDIS_SERVER");
    bool is_named = named && *named != '\0';
    if (is_named && strchr(named, '/'))
        snprintf(here.binary, sizeof here.binary, "%s", named);
    else if (is_named ? !find_in_path(named)
                      : !find_in_path("redis-server") && !find_in_path("valkey-server"))
        bail_out("there is no %s: install the package redis-server (Debian, Ubuntu), redis "
                 "(Alpine, Arch, Fedora, Homebrew) or valkey, or name a binary in REDIS_SERVER",
                 is_named ? named : "redis-server");
    if (access(here.binary, X_OK) < 0) bail_out("%s: %s", here.binary, strerror(errno));
}

static void prepare(void)
{
    if (here.owner != 0) return;
    find_binary();
    const char *temporary = getenv("TMPDIR");
    bool is_short = temporary && *temporary == '/' && strlen(temporary) < 32;
    snprintf(here.directory, sizeof here.directory, "%s/redlock-XXXXXX",
             is_short ? temporary : "/tmp");
    if (mkdtemp(here.directory) == NULL) bail_out("%s: %s", here.directory, strerror(errno));
    here.owner = getpid();
    start_sweeper();
}

/* ---- Processes ---- */

/* The child makes itself known before anything else, so that no moment is left in which it
 * could be forgotten. */
pid_t process_fork(void)
{
    prepare();
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) bail_out("fork: %s", strerror(errno));
    if (pid == 0) {
        tell_sweeper(getpid(), true);
        close(here.news);
    }
    return pid;
}

int process_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) bail_out("waitpid: %s", strerror(errno));
    tell_sweeper(pid, false);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void process_await_stop(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, WUNTRACED) < 0)
        if (errno != EINTR) bail_out("waitpid: %s", strerror(errno));
    if (!WIFSTOPPED(status)) bail_out("process %d has ended instead of stopping", (int)pid);
}

/* Returns when it has stopped, as a signal takes effect a little later than it is sent. */
void process_stop(pid_t pid)
{
    kill(pid, SIGSTOP);
    process_await_stop(pid);
}

void process_continue(pid_t pid)
{
    kill(pid, SIGCONT);
}

static bool process_has_ended(pid_t pid)
{
    int status;
    if (waitpid(pid, &status, WNOHANG) != pid) return false;
    tell_sweeper(pid, false);
    return true;
}

/* ---- Servers ---- */

/* Binds to the loopback; returns a socket that has it. */
static int bind_somewhere(uint16_t *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
    };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0
        || getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        bail_out("no free port: %s", strerror(errno));
    *port = ntohs(address.sin_port);
    return fd;
}

uint16_t free_port(void)
{
    uint16_t port;
    close(bind_somewhere(&port));
    return port;
}

uint16_t refused_port(void)
{
    uint16_t port;
    (void)bind_somewhere(&port);
    return port;
}

bool servers_have_ipv6(void)
{
    struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool have = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return have;
}

static void file_of(const struct server *s, const char *ending, char path[SERVER_PATH_SIZE])
{
    snprintf(path, SERVER_PATH_SIZE, "%s/%u%s", here.directory, s->number, ending);
}

const char *servers_certificates(void)
{
    static char directory[SERVER_PATH_SIZE];
    const char *given = getenv("REDLOCK_TEST_CERTIFICATES");
    char command[2 * SERVER_PATH_SIZE];
    struct stat status;
    prepare();
    if (directory[0] != '\0') return directory;
    snprintf(directory, sizeof directory, given ? "%s" : "%s/certificates",
             given ? given : here.directory);
    snprintf(command, sizeof command, "tests/live/certificates '%s'", directory);
    if (stat(directory, &status) != 0 && system(command) != 0) bail_out("%s has failed", command);
    return directory;
}

bool servers_speak_tls(void)
{
    const char *wanted = getenv("REDLOCK_TEST_TLS");
    return wanted && *wanted != '\0';
}

bool servers_have_port(unsigned long port)
{
    for (unsigned k = 0; k < here.count; k++)
        if (here.ports[k] == port) return true;
    return false;
}

static void write_tls_config(FILE *file, const struct server *s)
{
    const char *certificates = servers_certificates();
    fprintf(file,
            "port 0\ntls-port %u\ntls-cert-file %s/server.crt\ntls-key-file "
            "%s/server.key\ntls-ca-cert-file %s/ca.crt\n"
            "tls-auth-clients no\n",
            (unsigned)s->port, certificates, certificates, certificates);
}

/* The user "tester" lets the tests in where the default user has a password. */
static void write_config(const struct server *s)
{
    char path[SERVER_PATH_SIZE];
    file_of(s, ".conf", path);
    FILE *file = fopen(path, "w");
    if (file == NULL) bail_out("%s: %s", path, strerror(errno));
    fprintf(file, "bind 127.0.0.1\nport %u\nunixsocket %s\ndir %s\nsave \"\"\nappendonly no\n"
                  "user tester on nopass ~* &* +@all\n",
            (unsigned)s->port, s->socket, s->directory);
    if (servers_speak_tls()) write_tls_config(file, s);
    fputs(s->config, file);
    fclose(file);
}

static void become_server(const struct server *s)
{
    char config[SERVER_PATH_SIZE], log[SERVER_PATH_SIZE];
    file_of(s, ".conf", config);
    file_of(s, ".log", log);
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) {
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
    }
    bool is_sentinel = strncmp(s->config, "sentinel ", strlen("sentinel ")) == 0;
    execl(here.binary, "redis-server", config, is_sentinel ? "--sentinel" : (char *)NULL,
          (char *)NULL);
    _exit(127);
}

void server_launch(struct server *s)
{
    /* Or the one that answers there might be the one before, not yet gone. */
    unlink(s->socket);
    write_config(s);
    s->pid = process_fork();
    if (s->pid == 0) become_server(s);
}

/* False when it has ended instead. */
static bool await_answer(struct server *s)
{
    uint64_t until = clock_ms() + START_MS;
    while (strcmp(ASK(s, "PING"), "PONG") != 0) {
        if (process_has_ended(s->pid)) return false;
        if (clock_ms() > until) bail_out("server %u does not answer", s->number);
        nap_ms(2);
    }
    return true;
}

static void bail_out_with_log(const struct server *s)
{
    char path[SERVER_PATH_SIZE], line[256] = "", last[256] = "";
    file_of(s, ".log", path);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (line[0] != '\n') memcpy(last, line, sizeof last);
    bail_out("%s does not start: %s", here.binary, last[0] != '\0' ? last : "it says nothing");
}

static void set_up(struct server *s, const char *config)
{
    prepare();
    if (here.count == SERVERS_MAX) bail_out("more than %d servers", SERVERS_MAX);
    *s = (struct server){ .number = here.count++, .port = free_port(), .config = config };
    here.ports[s->number] = s->port;
    file_of(s, ".sock", s->socket);
    file_of(s, "", s->directory);
    if (mkdir(s->directory, 0700) < 0) bail_out("%s: %s", s->directory, strerror(errno));
}

void servers_start(struct server *servers, unsigned count, const char *config)
{
    for (unsigned k = 0; k < count; k++) {
        set_up(&servers[k], config);
        server_launch(&servers[k]);
    }
    for (unsigned k = 0; k < count; k++)
        for (unsigned tries = 1; !await_answer(&servers[k]); tries++) {
            if (tries == START_TRIES) bail_out_with_log(&servers[k]);
            servers[k].port = free_port();
            server_launch(&servers[k]);
        }
}

void server_crash(struct server *s)
{
    if (s->pid == 0) return;
    kill(s->pid, SIGKILL);
    process_wait(s->pid);
    s->pid = 0;
}

void server_restart(struct server *s)
{
    server_crash(s);
    server_launch(s);
    for (unsigned tries = 1; !await_answer(s); tries++) {
        if (tries == START_TRIES) bail_out_with_log(s);
        nap_ms(100);
        server_launch(s);
    }
}

void server_freeze(struct server *s)
{
    process_stop(s->pid);
}

void server_thaw(struct server *s)
{
    process_continue(s->pid);
}

void servers_end(struct server *servers, unsigned count)
{
    for (unsigned k = 0; k < count; k++) server_crash(&servers[k]);
}

const char *servers_list(const struct server *servers, unsigned count)
{
    static char list[SERVERS_MAX * sizeof "127.0.0.1:65535,"];
    size_t size = 0;
    list[0] = '\0';
    for (unsigned k = 0; k < count; k++)
        size += (size_t)snprintf(list + size, sizeof list - size, "%s127.0.0.1:%u",
                                 k > 0 ? "," : "", (unsigned)servers[k].port);
    return list;
}

/* ---- Asking ---- */

struct text {
    char *bytes;
    size_t size;
};

static void append(struct text *text, const char *bytes, size_t size)
{
    if (size > SERVER_ANSWER_SIZE - 1 - text->size) size = SERVER_ANSWER_SIZE - 1 - text->size;
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
}

/* -1: nobody listens there. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval limit = { .tv_sec = ANSWER_MS / 1000 };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0) bail_out("socket: %s", strerror(errno));
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
    close(fd);
    return -1;
}

static size_t write_command(char *out, size_t size, const char *const *words)
{
    size_t count = 0;
    while (words[count]) count++;
    size_t used = (size_t)snprintf(out, size, "*%zu\r\n", count);
    for (; *words && used < size; words++)
        used += (size_t)snprintf(out + used, size - used, "$%zu\r\n%s\r\n", strlen(*words), *words);
    if (used >= size) bail_out("a command is too long");
    return used;
}

int server_tell(const struct server *s, const char *const *words)
{
    static char out[SERVER_ANSWER_SIZE];
    const char *const login[] = { "AUTH", "tester", "x", NULL };
    int fd = connect_to(s->socket);
    if (fd < 0) return -1;
    size_t size = write_command(out, sizeof out, login);
    size += write_command(out + size, sizeof out - size, words);
    if (send(fd, out, size, MSG_NOSIGNAL) == (ssize_t)size) return fd;
    close(fd);
    return -1;
}

static bool read_answer(FILE *in, struct text *text);

static bool read_bulk(FILE *in, long size, struct text *text)
{
    char piece[512];
    for (long left = size + 2; left > 0;) {
        size_t part = left < (long)sizeof piece ? (size_t)left : sizeof piece;
        if (fread(piece, 1, part, in) != part) return false;
        append(text, piece, part);
        left -= (long)part;
    }
    if (text->size >= 2) text->bytes[text->size -= 2] = '\0';   /* The final CR LF. */
    return true;
}

static bool read_array(FILE *in, long count, struct text *text)
{
    for (long i = 0; i < count; i++) {
        if (!read_answer(in, text)) return false;
        append(text, " ", 1);
    }
    return true;
}

static bool read_answer(FILE *in, struct text *text)
{
    char line[2048];
    if (fgets(line, sizeof line, in) == NULL) return false;
    size_t size = strcspn(line, "\r\n");
    long number = strtol(line + 1, NULL, 10);
    if (strchr("$*", line[0]) && number < 0)
        append(text, "(nil)", 5);
    else if (line[0] == '$')
        return read_bulk(in, number, text);
    else if (line[0] == '*')
        return read_array(in, number, text);
    else
        append(text, line + (line[0] != '-'), size - (line[0] != '-'));
    return true;
}

const char *server_ask(const struct server *s, const char *const *words)
{
    static char bytes[SERVER_ANSWER_SIZE];
    struct text text = { bytes, 0 };
    int fd = server_tell(s, words);
    FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
    if (in == NULL) return "(no connection)";
    bool good = read_answer(in, &text);     /* The answer to AUTH. */
    text.size = 0;
    good = good && read_answer(in, &text);
    fclose(in);
    return good ? bytes : "(connection lost)";
}

/* ---- Strangers ---- */

/* The address by which this machine reaches others, or the loopback where it reaches none. Nothing
 * is sent. */
static uint32_t address_of_machine(void)
{
    struct sockaddr_in other = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc6336401), .sin_port = htons(9)
    };
    struct sockaddr_in mine;
    socklen_t size = sizeof mine;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bool is_known = fd >= 0 && connect(fd, (struct sockaddr *)&other, sizeof other) == 0
                    && getsockname(fd, (struct sockaddr *)&mine, &size) == 0;
    close(fd);
    return is_known ? ntohl(mine.sin_addr.s_addr) : INADDR_LOOPBACK;
}

static int connect_as_stranger(uint16_t port, uint32_t address)
{
    struct sockaddr_in mine = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(address) };
    struct sockaddr_in theirs = { .sin_family = AF_INET, .sin_port = htons(port) };
    theirs.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&mine, sizeof mine) == 0
        && connect(fd, (struct sockaddr *)&theirs, sizeof theirs) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Hands on one way only, the server's unasked messages. Replies are read, or closing would reset
 * the bytes that were handed on. */
static void hand_on(int from, int to)
{
    char bytes[2048];
    ssize_t size;
    while ((size = read(from, bytes, sizeof bytes)) > 0)
        send(to, bytes, (size_t)size, MSG_NOSIGNAL);
    shutdown(to, SHUT_WR);
    while (read(to, bytes, sizeof bytes) > 0) {}
}

/* A listener on a free port of the loopback. */
static int listen_somewhere(uint16_t *port)
{
    int fd = bind_somewhere(port);
    if (listen(fd, 8) < 0) bail_out("no listener: %s", strerror(errno));
    return fd;
}

static void be_stranger(int listener, uint16_t port, uint32_t address)
{
    for (;;) {
        int client = accept(listener, NULL, NULL);
        int server = connect_as_stranger(port, address);
        if (client >= 0 && server >= 0) hand_on(server, client);
        close(client);
        close(server);
    }
}

static bool is_denied_as_stranger(uint16_t port, uint32_t address)
{
    char first = '\0';
    int fd = connect_as_stranger(port, address);
    if (fd >= 0 && send(fd, "PING\r\n", 6, MSG_NOSIGNAL) == 6) (void)!read(fd, &first, 1);
    close(fd);
    return first == '-';
}

uint16_t stranger_start(const struct server *s)
{
    uint16_t port;
    uint32_t address = INADDR_LOOPBACK + 1;
    if (!is_denied_as_stranger(s->port, address)) address = address_of_machine();
    if (!is_denied_as_stranger(s->port, address)) return 0;
    int listener = listen_somewhere(&port);
    if (process_fork() == 0) be_stranger(listener, s->port, address);
    close(listener);
    return port;
}

static void be_impostor(int listener, const char *says)
{
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0) continue;
        char bytes[2048];
        (void)!read(client, bytes, sizeof bytes);
        send(client, says, strlen(says), MSG_NOSIGNAL);
        shutdown(client, SHUT_WR);
        while (read(client, bytes, sizeof bytes) > 0) {}
        close(client);
    }
}

uint16_t impostor_start(const char *says)
{
    uint16_t port;
    int listener = listen_somewhere(&port);
    if (process_fork() == 0) be_impostor(listener, says);
    close(listener);
    return port;
}
