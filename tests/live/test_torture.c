/* Torture of the blocking face on three real servers. Each time another system call of net/ fails,
 * once, in a way in which it may. It is the first call, then the second, and so on, until an
 * operation gets through before its turn comes.
 *
 * Any failure must lead to no crash, no descriptor left open, no win without a quorum that holds
 * the token, an end in bounded time, and words for the failure. A failure on one node's socket
 * alone costs no operation its success, and no debt is left behind.
 *
 * Macros stand between the calls, since this file is the client, with its own sockets. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* ---- The shim ---- */

enum call {
    CALL_SOCKET,
    CALL_SETSOCKOPT,
    CALL_CONNECT,
    CALL_GETSOCKOPT,
    CALL_GETPEERNAME,
    CALL_GETSOCKNAME,
    CALL_SEND,
    CALL_RECV,
    CALL_CLOSE,
    CALL_POLL,
    CALL_CLOCK,
    CALL_ENTROPY,
    CALL_OPEN,
    CALL_READ,
    CALL_PIPE,
    CALL_COUNT
};

/* These are no errnos; a single byte is taken, or the peer has closed. */
enum { ERRORS_MAX = 8, SHORT = -1, END = -2 };

/* How each may fail; a list ends with 0. The errors in words for the context of a failed check. */
static const struct {
    const char *name;
    int errors[ERRORS_MAX];
    bool is_of_one_node;
} call_table[CALL_COUNT] = {
    [CALL_SOCKET] = { "socket", { EMFILE, ENFILE, ENOBUFS, ENOMEM, EACCES }, true },
    [CALL_SETSOCKOPT] = { "setsockopt", { ENOBUFS, EINVAL, ENOPROTOOPT }, true },
    [CALL_CONNECT] = { "connect",
                       { EINTR, ECONNREFUSED, ETIMEDOUT, ENETUNREACH, EADDRNOTAVAIL, EAGAIN,
                         EPERM },
                       true },
    [CALL_GETSOCKOPT] = { "getsockopt", { ENOBUFS, EBADF }, true },
    [CALL_GETPEERNAME] = { "getpeername", { ENOBUFS, ENOTCONN, EINVAL }, true },
    [CALL_GETSOCKNAME] = { "getsockname", { ENOBUFS }, true },
    [CALL_SEND] = { "send", { EAGAIN, ECONNRESET, EINTR, EPIPE, SHORT, ENOBUFS, ETIMEDOUT }, true },
    [CALL_RECV] = { "recv", { EAGAIN, ECONNRESET, EINTR, END, SHORT, ETIMEDOUT, ENOMEM }, true },
    [CALL_CLOSE] = { "close", { EINTR, EIO }, true },
    [CALL_POLL] = { "poll", { EINTR, ENOMEM, EAGAIN }, false },
    [CALL_CLOCK] = { "clock_gettime", { EINVAL }, false },
    [CALL_ENTROPY] = { "getentropy", { ENOSYS, EIO }, false },
    [CALL_OPEN] = { "open", { EMFILE, ENOENT, EINTR }, false },
    [CALL_READ] = { "read", { EINTR, EIO }, false },
    [CALL_PIPE] = { "pipe2", { EMFILE, ENFILE }, false },
};

static struct {
    unsigned seen;          /* Calls since the shim was armed. */
    unsigned failing;       /* Number of the one that fails, from 1; 0: none. */
    unsigned variant;       /* The number of its error. */
    bool no_entropy;        /* getentropy() always fails, so that the devices are read. */
    void (*closed)(void);   /* Called when a descriptor has been closed. NULL: nothing is. */
    bool no_devices;        /* No file can be opened either. */
    enum call failed;       /* CALL_COUNT: none has yet. */
    int error;
    uint64_t failures[CALL_COUNT];
} shim;

static void shim_arm(unsigned failing, unsigned variant)
{
    shim.seen = 0;
    shim.failing = failing;
    shim.variant = variant;
    shim.failed = CALL_COUNT;
}

/* Shall this call fail? If so, returns an errno or SHORT or END. Otherwise returns 0. */
static int shim_turn(enum call call)
{
    unsigned count = 0;

    if (++shim.seen != shim.failing) return 0;
    while (count < ERRORS_MAX && call_table[call].errors[count] != 0) count++;
    shim.failed = call;
    shim.failures[call]++;
    shim.error = call_table[call].errors[shim.variant % count];
    return shim.error;
}

/* The same for a call that fails by -1 and errno only. */
static bool shim_fails(enum call call)
{
    int error = shim_turn(call);

    if (error > 0) errno = error;
    return error != 0;
}

static int torture_socket(int domain, int type, int protocol)
{
    return shim_fails(CALL_SOCKET) ? -1 : socket(domain, type, protocol);
}

static int torture_setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
    return shim_fails(CALL_SETSOCKOPT) ? -1 : setsockopt(fd, level, name, value, size);
}

/* Interrupted, a connection is being made nevertheless. */
static int torture_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    int error = shim_turn(CALL_CONNECT);
    if (error == 0) return connect(fd, address, size);
    if (error == EINTR) (void)connect(fd, address, size);
    errno = error;
    return -1;
}

static int torture_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    return shim_fails(CALL_GETSOCKOPT) ? -1 : getsockopt(fd, level, name, value, size);
}

static int torture_getpeername(int fd, struct sockaddr *address, socklen_t *size)
{
    return shim_fails(CALL_GETPEERNAME) ? -1 : getpeername(fd, address, size);
}

static int torture_getsockname(int fd, struct sockaddr *address, socklen_t *size)
{
    return shim_fails(CALL_GETSOCKNAME) ? -1 : getsockname(fd, address, size);
}

static ssize_t torture_send(int fd, const void *data, size_t size, int flags)
{
    int error = shim_turn(CALL_SEND);
    if (error <= 0) return send(fd, data, error == SHORT ? 1 : size, flags);
    errno = error;
    return -1;
}

static ssize_t torture_recv(int fd, void *data, size_t size, int flags)
{
    int error = shim_turn(CALL_RECV);
    if (error == END) return 0;
    if (error <= 0) return recv(fd, data, error == SHORT ? 1 : size, flags);
    errno = error;
    return -1;
}

/* The descriptor is gone, whatever the result, as on Linux. */
static int torture_close(int fd)
{
    int result = close(fd);
    if (shim.closed) shim.closed();
    return shim_fails(CALL_CLOSE) ? -1 : result;
}

static int torture_poll(struct pollfd *polled, nfds_t count, int timeout)
{
    return shim_fails(CALL_POLL) ? -1 : poll(polled, count, timeout);
}

static int torture_clock_gettime(clockid_t clock, struct timespec *now)
{
    return shim_fails(CALL_CLOCK) ? -1 : clock_gettime(clock, now);
}

static int torture_getentropy(void *data, size_t size)
{
    if (shim_fails(CALL_ENTROPY)) return -1;
    if (!shim.no_entropy) return getentropy(data, size);
    errno = ENOSYS;
    return -1;
}

static int torture_open(const char *path, int flags)
{
    if (shim_fails(CALL_OPEN)) return -1;
    if (!shim.no_devices) return open(path, flags);
    errno = ENOENT;
    return -1;
}

static int torture_pipe2(int fds[2], int flags)
{
    return shim_fails(CALL_PIPE) ? -1 : pipe2(fds, flags);
}

static ssize_t torture_read(int fd, void *data, size_t size)
{
    return shim_fails(CALL_READ) ? -1 : read(fd, data, size);
}

#define socket(...) torture_socket(__VA_ARGS__)
#define setsockopt(...) torture_setsockopt(__VA_ARGS__)
/* Without arguments, so that a transport's function of that name has the new one as well. */
#define connect torture_connect
#define getsockopt(...) torture_getsockopt(__VA_ARGS__)
#define getpeername(...) torture_getpeername(__VA_ARGS__)
#define getsockname(...) torture_getsockname(__VA_ARGS__)
#define send torture_send
#define recv(...) torture_recv(__VA_ARGS__)
#define close(...) torture_close(__VA_ARGS__)
#define poll(...) torture_poll(__VA_ARGS__)
#define clock_gettime(...) torture_clock_gettime(__VA_ARGS__)
#define getentropy(...) torture_getentropy(__VA_ARGS__)
#define open(...) torture_open(__VA_ARGS__)
#define read(...) torture_read(__VA_ARGS__)
#define pipe2(...) torture_pipe2(__VA_ARGS__)

#include "../../redlock/unity_client.c"

#undef socket
#undef setsockopt
#undef connect
#undef getsockopt
#undef getpeername
#undef getsockname
#undef send
#undef recv
#undef close
#undef poll
#undef clock_gettime
#undef getentropy
#undef open
#undef read
#undef pipe2

#include "clients.h"
#include "../../redlock/redlock_keeper.h"

/* ---- The operations ---- */

enum {
    NODES = 3,
    QUORUM = 2,
    SHORT_MS = 1500,        /* A TTL that is over several times in a test. */
    HASTE_MS = 200,         /* The node timeout, which ends a connection that comes to nothing. */
    /* The longest time for an operation, far more than any should take, on a busy machine. */
    BOUND_MS = 5000,
    CALLS_MAX = 2000        /* An operation that makes more system calls does not end. */
};

static struct server servers[NODES];
static struct redlock_client client;
static struct redlock_lock lock;
/* The resource's name, another one each time, so the leftovers of one failure disturb no other. */
static char name[32];

/* The operation under the armed shim; its preparations are done without failures. */
struct scene {
    const char *name;
    bool acquires_before;
    /* All nodes are asked then, since a win by a bare quorum has none to spare afterwards. */
    bool connects_before;
    bool is_taken_before;           /* It is taken for a moment, so that the acquire waits. */
    bool loses_a_node_before;       /* One more failure may then cost the quorum. */
    enum redlock_status (*operation)(void);
};

static enum redlock_status open_it(void)
{
    struct redlock_options options = throw_away_options();

    options.engine.node_timeout_ms = HASTE_MS;
    options.interruptible = true;
    return redlock_open(&client, servers_list(servers, NODES), &options, NULL);
}

static enum redlock_status acquire(void)
{
    return redlock_acquire(&client, &lock, name, TTL_MS, 0);
}

/* Longer than a busy machine stops for. */
static enum redlock_status acquire_with_patience(void)
{
    return redlock_acquire(&client, &lock, name, TTL_MS, 5000);
}

static enum redlock_status extend(void)
{
    return redlock_extend(&client, &lock, TTL_MS);
}

static enum redlock_status release(void)
{
    return redlock_release(&client, &lock, NULL);
}

static enum redlock_status release_together(void)
{
    struct redlock_lock *only = &lock;
    return redlock_release_all(&client, &only, 1, 1000);
}

/* Does as "redlock run". */
static enum redlock_status run_it(void)
{
    enum redlock_status status = acquire();
    if (status == REDLOCK_OK) status = extend();
    return status == REDLOCK_OK ? release() : status;
}

/* A client that fails to open has nothing to close, which the descriptors show. */
static enum redlock_status start_over(void)
{
    enum redlock_status status;

    redlock_close(&client, 0);
    status = open_it();
    if (status == REDLOCK_OK) return acquire();
    shim.failing = 0;
    (void)open_it();
    return status;
}

static enum redlock_status look(void)
{
    struct redlock_sight sights[NODES];
    return redlock_inspect(&client, name, sights);
}

static unsigned open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    unsigned count = 0;

    if (!directory) return 0;       /* Without Linux there is nothing to compare. */
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

static unsigned held_on(const char *token)
{
    unsigned count = 0;

    for (unsigned k = 0; k < NODES; k++) count += key_is(&servers[k], name, token);
    return count;
}

static bool begin(const struct scene *scene)
{
    static unsigned number;

    shim_arm(0, 0);
    snprintf(name, sizeof name, "torture %u", number++);
    redlock_lock_init(&lock);
    if (open_it() != REDLOCK_OK) return false;
    if (scene->connects_before && redlock_connect(&client, PATIENCE_MS) != REDLOCK_OK) return false;
    if (scene->acquires_before && acquire_with_patience() != REDLOCK_OK) return false;
    for (unsigned k = 0; scene->is_taken_before && k < NODES; k++)
        ASK(&servers[k], "SET", name, "rival", "PX", "40");
    if (scene->loses_a_node_before) (void)ASK(&servers[0], "CLIENT", "KILL", "TYPE", "normal");
    return true;
}

/* There are always words for a node, whether it is well or not. */
static void check_words(enum redlock_status status)
{
    unsigned troubled = 0;

    for (unsigned k = 0; k < NODES; k++) {
        CHECK(strlen(words(&client, k)) > 0);
        troubled += strcmp(words(&client, k), "ok") != 0;
    }
    CHECK(strlen(redlock_status_text(status)) > 0);
    if (status == REDLOCK_NO_QUORUM && shim.failed != CALL_CLOCK) CHECK(troubled > 0);
}

/* A win is one, so a quorum holds the token. A failure of one node's socket alone
 * costs no success. */
static void check_outcome(const struct scene *scene, enum redlock_status status)
{
    bool is_clock = shim.failed == CALL_CLOCK;

    if (redlock_valid_ms(&lock) > 0) CHECK(held_on(token_of(&lock)) >= QUORUM);
    if (status == REDLOCK_OK && (scene->operation == acquire || scene->operation == extend) &&
        !is_clock)
        CHECK(redlock_valid_ms(&lock) > 0);
    if (scene->loses_a_node_before) return;
    if (shim.failed == CALL_COUNT || call_table[shim.failed].is_of_one_node)
        CHECK_STATUS(status, REDLOCK_OK);
}

static bool all_vote(void)
{
    for (unsigned k = 0; k < NODES; k++)
        if (!votes(&client, k)) return false;
    return true;
}

/* Nothing fails any more. Held locks are released, debts are paid, and open
 * descriptors are closed. */
static void clean_up(unsigned descriptors)
{
    /* By a broken clock all debts had expired, so the keys wait for their TTL. */
    bool clock_was_good = shim.failed != CALL_CLOCK;

    shim_arm(0, 0);
    /* close does not wait for that. */
    CHECK_SOON(redlock_step(&client) == REDLOCK_OK && all_vote());
    (void)redlock_release(&client, &lock, NULL);
    redlock_close(&client, CLOSE_MS);
    CHECK_INT(open_descriptors(), descriptors);
    /* The rival has it a moment longer, here or there. */
    if (clock_was_good) CHECK_SOON(key_is_gone(servers, NODES, name));
}

/* Returns false when the operation made fewer calls than that, and so nothing failed. */
static bool try_with(const struct scene *scene, unsigned failing, unsigned variant)
{
    unsigned descriptors = open_descriptors();
    enum redlock_status status;
    uint64_t began;

    if (!begin(scene)) {
        tap_complain(__FILE__, __LINE__, "cannot begin %s", scene->name);
        return false;
    }
    began = clock_ms();
    shim_arm(failing, variant);
    status = scene->operation();
    shim.failing = 0;
    if (shim.failed == CALL_COUNT) TAP_CONTEXT("%s, nothing failing", scene->name);
    else
        TAP_CONTEXT("%s, call %u (%s) failing with %d", scene->name, failing,
                    call_table[shim.failed].name, shim.error);
    if (clock_ms() - began >= BOUND_MS)
        tap_complain(__FILE__, __LINE__, "it took %u ms", (unsigned)(clock_ms() - began));
    check_outcome(scene, status);
    check_words(status);
    failing = shim.failed != CALL_COUNT;
    clean_up(descriptors);
    return failing;
}

/* Errors that are tried for each call. Each has other ones, so that all have their turn. */
enum { VARIANTS = 2 };

static void torture(const struct scene *scene)
{
    bool fails = true;

    if (servers[0].pid == 0) servers_start(servers, NODES, "");
    for (unsigned k = 1; fails && tap.complaints == 0; k++) {
        CHECK(k < CALLS_MAX);
        for (unsigned i = 0; i < VARIANTS; i++) fails = try_with(scene, k, VARIANTS * k + i);
    }
}

TEST(an_acquire_on_new_connections_survives_every_system_call_that_fails)
{
    torture(&(struct scene){ .name = "acquire", .operation = acquire });
}

TEST(closing_and_opening_survive_every_system_call_that_fails)
{
    torture(&(struct scene){
        .name = "close, open, acquire", .operation = start_over, .connects_before = true });
}

TEST(an_acquire_on_connections_that_stand_survives_every_system_call_that_fails)
{
    torture(&(struct scene){
        .name = "acquire, connected", .operation = acquire, .connects_before = true });
}

TEST(an_acquire_that_may_wait_survives_every_system_call_that_fails)
{
    torture(&(struct scene){ .name = "acquire, waiting", .operation = acquire_with_patience });
}

TEST(an_acquire_that_waits_for_a_rival_and_listens_survives_every_system_call_that_fails)
{
    torture(&(struct scene){ .name = "acquire, taken",
                             .operation = acquire_with_patience,
                             .connects_before = true,
                             .is_taken_before = true });
}

TEST(an_extension_survives_every_system_call_that_fails)
{
    torture(&(struct scene){
        .name = "extend", .operation = extend, .connects_before = true, .acquires_before = true });
}

TEST(a_release_survives_every_system_call_that_fails)
{
    torture(&(struct scene){ .name = "release",
                             .operation = release,
                             .connects_before = true,
                             .acquires_before = true });
}

TEST(a_release_of_all_survives_every_system_call_that_fails)
{
    torture(&(struct scene){ .name = "release all",
                             .operation = release_together,
                             .connects_before = true,
                             .acquires_before = true });
}

TEST(an_extension_that_finds_a_connection_closed_survives_every_system_call_that_fails)
{
    torture(&(struct scene){ .name = "extend, one connection closed",
                             .operation = extend,
                             .connects_before = true,
                             .acquires_before = true,
                             .loses_a_node_before = true });
}

TEST(acquire_extend_and_release_in_a_row_survive_every_system_call_that_fails)
{
    torture(&(struct scene){ .name = "run", .operation = run_it, .connects_before = true });
}

TEST(an_inspection_survives_every_system_call_that_fails)
{
    torture(&(struct scene){ .name = "inspect", .operation = look });
}

TEST(without_the_system_call_for_random_bytes_the_devices_do_and_may_fail)
{
    shim.no_entropy = true;
    torture(&(struct scene){ .name = "open, entropy from devices", .operation = start_over });
    shim.no_entropy = false;
}

static unsigned misplaced_strokes, broken_pipes;

static void note_broken_pipe(int number)
{
    (void)number;
    broken_pipes++;
}

/* Another descriptor may have the number of the one that was closed by now. */
static void interrupt_beside_another_pair(void)
{
    int pair[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
        bail_out("no pair of sockets");
    redlock_interrupt(&client);
    for (unsigned i = 0; i < 2; i++) misplaced_strokes += recv(pair[i], &byte, sizeof byte, 0) > 0;
    for (unsigned i = 0; i < 2; i++) close(pair[i]);
}

TEST(an_interrupt_between_any_two_steps_of_closing_kills_nobody_and_writes_to_no_other_descriptor)
{
    struct redlock_options options = throw_away_options();
    struct sigaction action = { .sa_handler = note_broken_pipe }, before;
    options.interruptible = true;
    if (servers[0].pid == 0) servers_start(servers, NODES, "");
    shim_arm(0, 0);
    sigaction(SIGPIPE, &action, &before);
    CHECK_STATUS(redlock_open(&client, servers_list(servers, NODES), &options, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_connect(&client, PATIENCE_MS), REDLOCK_OK);
    shim.closed = interrupt_beside_another_pair;
    redlock_close(&client, CLOSE_MS);
    shim.closed = NULL;
    sigaction(SIGPIPE, &before, NULL);
    CHECK_INT(broken_pipes, 0);
    CHECK_INT(misplaced_strokes, 0);
}

/* The client has none left, and no source gives any. */
static void run_dry(void)
{
    client.engine.entropy_size = 0;
    shim.no_entropy = shim.no_devices = true;
}

static void end_drought(void)
{
    shim.no_entropy = shim.no_devices = false;
}

TEST(extending_releasing_and_looking_need_no_random_bytes_and_an_acquire_says_that_it_does)
{
    struct redlock_sight sights[REDLOCK_NODES_MAX];
    unsigned confirmed = 0;
    if (servers[0].pid == 0) servers_start(servers, NODES, "");
    shim_arm(0, 0);
    CHECK(join(&client, servers_list(servers, NODES)));
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&client, &lock, name, TTL_MS, 0), REDLOCK_OK);
    run_dry();
    CHECK_STATUS(redlock_extend(&client, &lock, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_inspect(&client, name, sights), REDLOCK_OK);
    /* The client has been silent for long enough to look at its connections first. */
    nap_ms(150);
    CHECK_STATUS(redlock_extend(&client, &lock, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&client, &lock, &confirmed), REDLOCK_OK);
    CHECK(confirmed >= redlock_quorum(NODES));
    CHECK_STATUS(redlock_acquire(&client, &lock, name, TTL_MS, 0), REDLOCK_NO_ENTROPY);
    end_drought();
    CHECK_STATUS(redlock_acquire(&client, &lock, name, TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&client, &lock, &confirmed), REDLOCK_OK);
    redlock_close(&client, CLOSE_MS);
    CHECK_SOON(key_is_gone(servers, NODES, name));
}

TEST(a_loop_that_gets_no_random_bytes_asks_again_after_a_pause)
{
    if (servers[0].pid == 0) servers_start(servers, NODES, "");
    shim_arm(0, 0);
    CHECK(join(&client, servers_list(servers, NODES)));
    run_dry();
    CHECK_STATUS(redlock_step(&client), REDLOCK_NO_ENTROPY);
    CHECK(redlock_poll_ms(&client) > 0);
    CHECK_STATUS(redlock_step(&client), REDLOCK_NO_ENTROPY);
    CHECK_STATUS(redlock_connect(&client, 0), REDLOCK_OK);
    end_drought();
    CHECK_STATUS(redlock_run_for(&client, NULL, 200), REDLOCK_OK);
    CHECK_STATUS(redlock_step(&client), REDLOCK_OK);
    redlock_close(&client, CLOSE_MS);
}

static struct redlock_keeper keeper;

static enum redlock_status take(struct redlock_kept *kept, const char *resource)
{
    const struct redlock_request request = {
        .resource = resource, .resource_size = strlen(resource), .ttl_ms = SHORT_MS
    };
    redlock_kept_init(kept);
    return redlock_keeper_acquire(&keeper, kept, &request, 0);
}

TEST(a_keeper_extends_its_locks_while_there_are_no_random_bytes_and_acquires_when_there_are_again)
{
    static struct redlock_kept held, other;
    struct redlock_options options = throw_away_options();
    options.engine.node_timeout_ms = HASTE_MS;
    if (servers[0].pid == 0) servers_start(servers, NODES, "");
    shim_arm(0, 0);
    CHECK_STATUS(redlock_keeper_start(&keeper, servers_list(servers, NODES), &options, NULL),
                 REDLOCK_OK);
    CHECK_STATUS(take(&held, "held-in-a-drought"), REDLOCK_OK);
    shim.no_entropy = shim.no_devices = true;
    for (unsigned i = 0; i < 2 * SHORT_MS / 100; i++) {
        /* Some bytes were at hand. */
        enum redlock_status status = take(&other, "wanted-in-a-drought");
        if (status == REDLOCK_OK) redlock_keeper_release(&keeper, &other, NULL);
        nap_ms(100);
    }
    CHECK_STATUS(take(&other, "wanted-in-a-drought"), REDLOCK_NO_ENTROPY);
    CHECK_STATUS(redlock_view_kept(&keeper, &held).status, REDLOCK_OK);
    CHECK(redlock_view_kept(&keeper, &held).valid_ms > 0);
    end_drought();
    CHECK_SOON(take(&other, "wanted-in-a-drought") == REDLOCK_OK);
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    CHECK(key_is_gone(servers, NODES, "held-in-a-drought"));
}

TEST(every_system_call_had_its_turn)
{
    for (unsigned i = 0; i < CALL_COUNT; i++) {
        TAP_CONTEXT("%s", call_table[i].name);
        CHECK(shim.failures[i] > 0);
        printf("# %s failed %u times\n", call_table[i].name, (unsigned)shim.failures[i]);
    }
    servers_end(servers, NODES);
}

TAP_MAIN
