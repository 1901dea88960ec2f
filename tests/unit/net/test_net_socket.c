/* Sockets, waiting, the clock and random bytes, on the loopback and on unix sockets
 * of this machine. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../../../net/redlock_net.h"
#include "../../tap.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#ifdef __has_include
#if __has_include(<linux/seccomp.h>)
#define HAS_SECCOMP    /* Not where musl's compiler hides the kernel's headers. */
#endif
#endif
#ifdef HAS_SECCOMP
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#endif

enum {
    OWNED_MAX = 1400,              /* Enough to push a descriptor beyond select's 1024. */
    HANG_S = 60,                   /* A test that hangs is killed then. Valgrind is slow. */
    SOON_US = 10 * 1000 * 1000,    /* Longer than anything here takes. */
    /* A wait that ends so long after its time was stretched, busy machine or not. */
    LATE_US = 1000 * 1000
};

/* On MIPS the number is 146, but qemu-user 7.2 hands SO_ERROR on as it is on the machine that it
 * runs on. */
static bool is_refusal(int code)
{
    return code == ECONNREFUSED || code == 111;
}

/* --- What a test opens is closed after it, however it ends --- */

static struct {
    int fds[OWNED_MAX];
    size_t count;
    char folder[32];
    char path[64];    /* The path of a unix socket in the folder. */
} world;

static int own(int fd)
{
    if (fd >= 0 && world.count < OWNED_MAX) world.fds[world.count++] = fd;
    return fd;
}

static void sweep(void)
{
    alarm(0);
    while (world.count > 0) close(world.fds[--world.count]);
    if (world.path[0] != '\0') unlink(world.path);
    if (world.folder[0] != '\0') rmdir(world.folder);
    memset(&world, 0, sizeof world);
}

#define NET_TEST(name)             \
    static void body_##name(void); \
    TEST(name)                     \
    {                              \
        alarm(HANG_S);             \
        body_##name();             \
        sweep();                   \
    }                              \
    static void body_##name(void)

/* --- Listeners and connections --- */

static bool resolve(const char *text, struct net_endpoint *endpoint)
{
    struct net_address address;
    struct net_error error;
    struct net_resolved resolved;
    if (!net_parse_address(text, strlen(text), 6379, &address, &error) ||
        !net_resolve_now(&address, &resolved))
        return false;
    *endpoint = resolved.endpoints[0];
    return resolved.count == 1;
}

/* Binds a free port of the loopback and says where it is. Returns -1 where there is
 * no such loopback. */
static int bind_tcp(int family, struct net_endpoint *endpoint)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    bool is_v6 = family == AF_INET6;
    struct sockaddr *address = is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t size = is_v6 ? sizeof v6 : sizeof v4;
    int fd = own(socket(family, SOCK_STREAM, 0));
    if (fd < 0 || bind(fd, address, size) != 0 || getsockname(fd, address, &size) != 0) return -1;
    char text[32];
    snprintf(text, sizeof text, is_v6 ? "[::1]:%u" : "127.0.0.1:%u",
             (unsigned)ntohs(is_v6 ? v6.sin6_port : v4.sin_port));
    return resolve(text, endpoint) ? fd : -1;
}

/* Some sandboxes have none. Binding succeeds there, connecting does not. The check avoids the code
 * under test. */
static bool has_loopback(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof address;
    int listener = own(socket(AF_INET, SOCK_STREAM, 0)), fd = own(socket(AF_INET, SOCK_STREAM, 0));

    return bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 1) == 0 &&
           getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
           connect(fd, (struct sockaddr *)&address, size) == 0;
}

static int bind_unix(struct net_endpoint *endpoint)
{
    strcpy(world.folder, "/tmp/redlock-test-XXXXXX");
    if (mkdtemp(world.folder) == NULL) return -1;
    snprintf(world.path, sizeof world.path, "%s/socket", world.folder);
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    strcpy(address.sun_path, world.path);
    int fd = own(socket(AF_UNIX, SOCK_STREAM, 0));
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0) return -1;
    char text[80];
    snprintf(text, sizeof text, "unix:%s", world.path);
    return resolve(text, endpoint) ? fd : -1;
}

static int listen_on(int family, struct net_endpoint *endpoint)
{
    int fd = family == AF_UNIX ? bind_unix(endpoint) : bind_tcp(family, endpoint);
    return fd >= 0 && listen(fd, 8) == 0 ? fd : -1;
}

static int wait_for(int fd, uint8_t events, uint64_t us)
{
    struct net_wait wait = { .fd = fd, .events = events };
    int ready = net_wait(&wait, 1, net_now_us() + us);
    return ready < 0 ? ready : wait.ready;
}

/* Connects and waits for the end of it. Returns 0 and *fd, or the errno. */
static int connect_to(const struct net_endpoint *endpoint, int *fd)
{
    bool connected = false;
    *fd = own(net_connect(endpoint, &connected));
    if (*fd < 0) return -*fd;
    if (connected) return 0;
    if (wait_for(*fd, NET_WRITE, SOON_US) <= 0) return ETIMEDOUT;
    return net_connect_result(*fd);
}

struct pair {
    int ours, theirs;
};

/* A connection between ours, made by net_connect, and theirs, by accept. */
static bool connect_pair(int family, struct pair *pair)
{
    struct net_endpoint endpoint;
    int listener = listen_on(family, &endpoint);
    if (listener < 0 || connect_to(&endpoint, &pair->ours) != 0) return false;
    pair->theirs = own(accept(listener, NULL, NULL));
    return pair->theirs >= 0 && fcntl(pair->theirs, F_SETFL, O_NONBLOCK) == 0;
}

/* Closes the peer before its turn. */
static void close_theirs(struct pair *pair)
{
    for (size_t i = 0; i < world.count; i++)
        if (world.fds[i] == pair->theirs) world.fds[i] = -1;
    close(pair->theirs);
}

static int option_of(int fd, int level, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, level, option, &value, &size) == 0 ? value : -1;
}

/* --- Connecting --- */

/* Says a word each way. */
static void check_talk(const struct pair *pair)
{
    char bytes[8];
    CHECK_INT(net_send(pair->ours, "ping", 4), 4);
    CHECK_INT(wait_for(pair->theirs, NET_READ, SOON_US), NET_READ);
    CHECK_INT(net_receive(pair->theirs, bytes, sizeof bytes), 4);
    CHECK_MEM(bytes, 4, "ping", 4);
    CHECK_INT(net_send(pair->theirs, "pong!", 5), 5);
    CHECK_INT(wait_for(pair->ours, NET_READ, SOON_US), NET_READ);
    CHECK_INT(net_receive(pair->ours, bytes, sizeof bytes), 5);
    CHECK_MEM(bytes, 5, "pong!", 5);
}

NET_TEST(an_ipv4_server_is_connected_to)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct pair pair;
    CHECK(connect_pair(AF_INET, &pair));
    check_talk(&pair);
}

NET_TEST(an_ipv6_server_is_connected_to)
{
    struct pair pair;
    struct net_endpoint endpoint;
    if (bind_tcp(AF_INET6, &endpoint) < 0) TAP_SKIP("no ::1 here");
    CHECK(connect_pair(AF_INET6, &pair));
    check_talk(&pair);
}

NET_TEST(a_unix_server_is_connected_to)
{
    struct pair pair;
    CHECK(connect_pair(AF_UNIX, &pair));
    check_talk(&pair);
}

NET_TEST(a_port_where_nobody_listens_refuses)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct net_endpoint endpoint;
    int fd;
    CHECK(bind_tcp(AF_INET, &endpoint) >= 0);
    CHECK(is_refusal(connect_to(&endpoint, &fd)));
}

NET_TEST(a_unix_socket_that_is_not_there_or_not_listened_on_fails)
{
    struct net_endpoint endpoint;
    int fd;
    CHECK(resolve("unix:/not/there", &endpoint));
    CHECK_INT(connect_to(&endpoint, &fd), ENOENT);
    CHECK(bind_unix(&endpoint) >= 0);
    CHECK(is_refusal(connect_to(&endpoint, &fd)));
}

NET_TEST(a_failed_connect_leaves_nothing_open)
{
    struct net_endpoint endpoint;
    bool connected = true;
    CHECK(resolve("unix:/not/there", &endpoint));
    int free_before = own(open("/dev/null", O_RDONLY));
    CHECK_INT(net_connect(&endpoint, &connected), -ENOENT);
    CHECK(!connected);
    int free_after = own(open("/dev/null", O_RDONLY));
    CHECK_INT(free_after, free_before + 1);
}

NET_TEST(a_full_backlog_is_an_error_or_still_connecting_but_never_connected)
{
    struct net_endpoint endpoint;
    int listener = bind_unix(&endpoint);
    CHECK(listener >= 0 && listen(listener, 0) == 0);
    int fd = 0;
    bool connected = true;
    for (int i = 0; i < 64 && fd >= 0; i++) fd = own(net_connect(&endpoint, &connected));
    CHECK(fd == -EAGAIN || fd == -ECONNREFUSED);
    CHECK(!connected);
}

NET_TEST(no_descriptor_left_is_said)
{
    struct net_endpoint endpoint;
    struct rlimit before;
    bool connected;
    CHECK(bind_tcp(AF_INET, &endpoint) >= 0);
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    struct rlimit none = { .rlim_cur = 3, .rlim_max = before.rlim_max };
    CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    int fd = net_connect(&endpoint, &connected);
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_INT(fd, -EMFILE);
}

NET_TEST(a_connection_not_yet_made_is_in_progress)
{
    int fd = own(socket(AF_INET, SOCK_STREAM, 0));
    CHECK_INT(net_connect_result(fd), NET_PENDING);
}

NET_TEST(a_socket_connected_to_itself_counts_as_refused)
{
    struct net_endpoint endpoint;
    int fd = bind_tcp(AF_INET, &endpoint);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)endpoint.words, endpoint.size) != 0)
        TAP_SKIP("no simultaneous open here");
    CHECK_INT(net_connect_result(fd), ECONNREFUSED);
}

NET_TEST(a_connection_is_nonblocking_and_closed_on_exec)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    const int families[] = { AF_INET, AF_UNIX };
    for (size_t i = 0; i < 2; i++) {
        struct pair pair;
        CHECK(connect_pair(families[i], &pair));
        CHECK((fcntl(pair.ours, F_GETFL) & O_NONBLOCK) != 0);
        CHECK((fcntl(pair.ours, F_GETFD) & FD_CLOEXEC) != 0);
    }
}

NET_TEST(a_tcp_connection_sends_at_once_and_is_kept_alive)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct pair pair;
    CHECK(connect_pair(AF_INET, &pair));
    CHECK(option_of(pair.ours, IPPROTO_TCP, TCP_NODELAY) > 0);
    CHECK(option_of(pair.ours, SOL_SOCKET, SO_KEEPALIVE) > 0);
#ifdef __linux__
    int half_a_minute = option_of(pair.ours, IPPROTO_TCP, TCP_KEEPIDLE) +
                        option_of(pair.ours, IPPROTO_TCP, TCP_KEEPINTVL) *
                            option_of(pair.ours, IPPROTO_TCP, TCP_KEEPCNT);
    CHECK_INT(half_a_minute, 30);
#endif
}

/* --- Bytes --- */

NET_TEST(nothing_to_receive_is_zero)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct pair pair;
    char byte;
    CHECK(connect_pair(AF_INET, &pair));
    CHECK_INT(net_receive(pair.ours, &byte, 1), 0);
}

static unsigned char byte_at(size_t at)
{
    return (unsigned char)(at * 7 + at / 251);
}

/* Sends until the kernel takes no more. Returns how many bytes it took. */
static size_t send_until_full(int fd)
{
    unsigned char bytes[4093];
    size_t sent = 0;
    for (;;) {
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = byte_at(sent + i);
        ptrdiff_t taken = net_send(fd, bytes, sizeof bytes);
        if (taken <= 0) return taken == 0 ? sent : 0;
        sent += (size_t)taken;
    }
}

/* Receives `size` bytes and compares them. Returns how many were as sent. */
static size_t receive_all(int fd, size_t size)
{
    unsigned char bytes[8191];
    size_t received = 0;
    while (received < size) {
        ptrdiff_t taken = net_receive(fd, bytes, sizeof bytes);
        if (taken < 0) return received;
        if (taken == 0 && wait_for(fd, NET_READ, SOON_US) <= 0) return received;
        for (ptrdiff_t i = 0; i < taken; i++)
            if (bytes[i] != byte_at(received++)) return received - 1;
    }
    return received;
}

NET_TEST(a_full_socket_takes_zero_bytes_and_loses_none)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    const int families[] = { AF_INET, AF_UNIX };
    for (size_t i = 0; i < 2; i++) {
        struct pair pair;
        TAP_CONTEXT("family %d", families[i]);
        CHECK(connect_pair(families[i], &pair));
        size_t sent = send_until_full(pair.ours);
        CHECK(sent > 0);
        CHECK_INT(receive_all(pair.theirs, sent), sent);
        CHECK_INT(wait_for(pair.ours, NET_WRITE, SOON_US), NET_WRITE);
        sweep();
    }
}

NET_TEST(a_peer_that_closed_is_the_end_after_its_last_bytes)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    const int families[] = { AF_INET, AF_UNIX };
    for (size_t i = 0; i < 2; i++) {
        struct pair pair;
        char bytes[8];
        CHECK(connect_pair(families[i], &pair));
        CHECK_INT(net_send(pair.theirs, "bye", 3), 3);
        close_theirs(&pair);
        CHECK((wait_for(pair.ours, NET_READ, SOON_US) & NET_READ) != 0);
        CHECK_INT(net_receive(pair.ours, bytes, sizeof bytes), 3);
        CHECK((wait_for(pair.ours, NET_READ, SOON_US) & NET_READ) != 0);
        CHECK_INT(net_receive(pair.ours, bytes, sizeof bytes), NET_END);
        sweep();
    }
}

NET_TEST(a_reset_is_an_error)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct pair pair;
    char byte;
    struct linger at_once = { .l_onoff = 1, .l_linger = 0 };
    CHECK(connect_pair(AF_INET, &pair));
    CHECK(setsockopt(pair.theirs, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
    close_theirs(&pair);
    CHECK((wait_for(pair.ours, NET_READ, SOON_US) & NET_BROKEN) != 0);
    CHECK_INT(net_receive(pair.ours, &byte, 1), -ECONNRESET);
}

/* SIGPIPE ends the process by default, so that we come here at all is half of the test. */
NET_TEST(sending_to_a_peer_that_closed_is_an_error_and_no_signal)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    const int families[] = { AF_INET, AF_UNIX };
    signal(SIGPIPE, SIG_DFL);
    for (size_t i = 0; i < 2; i++) {
        struct pair pair;
        ptrdiff_t result = 0;
        CHECK(connect_pair(families[i], &pair));
        close_theirs(&pair);
        uint64_t until = net_now_us() + SOON_US;
        while (result >= 0 && net_now_us() < until) result = net_send(pair.ours, "x", 1);
        CHECK(result == -EPIPE || result == -ECONNRESET);
        sweep();
    }
}

NET_TEST(what_is_no_connection_is_an_error)
{
    char byte = 0;
    CHECK_INT(net_send(-1, &byte, 1), -EBADF);
    CHECK_INT(net_receive(-1, &byte, 1), -EBADF);
    CHECK_INT(net_connect_result(-1), EBADF);
    errno = 0;
    net_close(-1);
    CHECK_INT(errno, 0);
}

/* Each call counts on errno only if it has failed. */
NET_TEST(a_signal_of_before_has_interrupted_nothing)
{
    struct pair pair;
    char bytes[8];
    CHECK(connect_pair(AF_UNIX, &pair));
    errno = EINTR;
    CHECK_INT(net_send(pair.ours, "ping", 4), 4);
    errno = EINTR;
    CHECK_INT(net_receive(pair.theirs, bytes, sizeof bytes), 4);
    close_theirs(&pair);
    errno = EINTR;
    CHECK_INT(net_receive(pair.ours, bytes, sizeof bytes), NET_END);
}

NET_TEST(a_descriptor_may_have_any_number)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct rlimit limit;
    struct pair pair;
    int last = 0;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < OWNED_MAX)
        TAP_SKIP("fewer than 1400 descriptors are allowed");
    struct rlimit more = { .rlim_cur = OWNED_MAX, .rlim_max = limit.rlim_max };
    if (limit.rlim_cur < OWNED_MAX) CHECK(setrlimit(RLIMIT_NOFILE, &more) == 0);
    while (last >= 0 && last < 1100) last = own(open("/dev/null", O_RDONLY));
    bool is_pair = last >= 0 && connect_pair(AF_INET, &pair);
    if (is_pair) check_talk(&pair);
    sweep();
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CHECK(is_pair);
    CHECK(pair.ours > 1024);
}

/* A program that has closed its standard input gets 0 for a connection. Nothing here is checked
 * before its input is back. */
NET_TEST(descriptor_0_is_one_like_any_other)
{
    struct net_endpoint endpoint;
    int self_pipe[2];
    bool connected = false;
    CHECK(listen_on(AF_UNIX, &endpoint) >= 0);
    const int input = dup(STDIN_FILENO);
    if (input >= 0) close(STDIN_FILENO);
    const int fd = net_connect(&endpoint, &connected);
    net_close(fd);
    const int opened = net_self_pipe_open(self_pipe);
    net_self_pipe_write(self_pipe[1]);
    const bool was_written = net_self_pipe_drain(self_pipe[0]);
    net_close(self_pipe[0]);
    net_close(self_pipe[1]);
    if (input >= 0) dup2(input, STDIN_FILENO);
    close(input);
    CHECK(fd == 0 && connected);
    CHECK(opened == 0 && self_pipe[0] == 0 && was_written);
}

NET_TEST(every_error_has_a_text)
{
    for (int error = -10; error < 300; error++) CHECK(net_error_text(error) != NULL);
    CHECK_STR(net_error_text(ECONNREFUSED), "connection refused");
    CHECK_STR(net_error_text(-NET_END), "connection closed by the server");
    CHECK_STR(net_error_text(EXDEV), "system error");
}

/* --- Waiting --- */

/* poll() takes no more descriptors than the process may open, though these were opened before the
 * limit was lowered. */
NET_TEST(a_wait_that_the_system_refuses_takes_its_time_and_lets_all_be_tried)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct rlimit before;
    struct pair pair;
    CHECK(connect_pair(AF_INET, &pair));
    struct net_wait waits[] = {
        { pair.ours, NET_READ, 0 }, { -1, NET_READ, 0 }, { pair.ours, NET_READ | NET_WRITE, 0 }
    };
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    struct rlimit few = { .rlim_cur = 2, .rlim_max = before.rlim_max };
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    if (poll((struct pollfd[3]){ { .fd = -1 }, { .fd = -1 }, { .fd = -1 } }, 3, 0) == 0) {
        CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
        TAP_SKIP("here poll takes any number of descriptors, as under valgrind");
    }
    const uint64_t start = net_now_us();
    int calls = 0, ready = 0;
    while (net_now_us() - start < 200000 && ready >= 0)
        calls++, ready = net_wait(waits, 3, UINT64_MAX);
    const int looked = net_wait(waits, 3, 0), nobody = net_wait(waits + 1, 1, 0);
    const uint64_t until = net_now_us() + 50000;
    struct net_wait skipped[3] = { { -1, NET_READ, 7 }, { pair.ours, 0, 7 }, { -1, 0, 7 } };
    const int late = net_wait(skipped, 3, until);
    const bool was_patient = net_now_us() >= until;
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_INT(ready, 2);
    CHECK(calls > 1 && calls <= 25);
    CHECK(waits[0].ready == NET_READ && waits[1].ready == 0 &&
          waits[2].ready == (NET_READ | NET_WRITE));
    CHECK_INT(looked, 2);
    CHECK_INT(nobody, 0);
    CHECK(late == 0 && was_patient && skipped[0].ready == 0 && skipped[1].ready == 0);
}

NET_TEST(a_wait_says_who_is_ready_for_what)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct pair pair;
    CHECK(connect_pair(AF_INET, &pair));
    CHECK_INT(net_send(pair.theirs, "x", 1), 1);
    CHECK_INT(wait_for(pair.ours, NET_READ, SOON_US), NET_READ);
    struct net_wait waits[] = {
        { .fd = pair.ours, .events = NET_READ | NET_WRITE },
        { .fd = pair.theirs, .events = NET_READ, .ready = 0xff },
        { .fd = -1, .events = NET_READ, .ready = 0xff }, { .fd = pair.theirs, .events = NET_WRITE },
        { .fd = pair.ours, .events = 0, .ready = 0xff },
    };
    CHECK_INT(net_wait(waits, 5, UINT64_MAX), 2);
    CHECK_INT(waits[0].ready, NET_READ | NET_WRITE);
    CHECK_INT(waits[1].ready, 0);
    CHECK_INT(waits[2].ready, 0);
    CHECK_INT(waits[3].ready, NET_WRITE);
    CHECK_INT(waits[4].ready, 0);
    CHECK_INT(wait_for(pair.ours, NET_WRITE, SOON_US), NET_WRITE);
}

NET_TEST(what_is_broken_is_ready_unasked)
{
    struct pair pair;
    CHECK(connect_pair(AF_UNIX, &pair));
    close_theirs(&pair);
    CHECK_INT(wait_for(pair.ours, 0, SOON_US), NET_BROKEN);
    int closed = dup(pair.ours);
    CHECK(closed >= 0 && close(closed) == 0);
    CHECK_INT(wait_for(closed, NET_READ, SOON_US), NET_BROKEN);
}

NET_TEST(as_many_can_be_waited_for_as_the_limit_says)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct pair pair;
    struct net_wait waits[NET_WAIT_MAX];
    CHECK(connect_pair(AF_INET, &pair));
    for (size_t i = 0; i < NET_WAIT_MAX; i++)
        waits[i] = (struct net_wait){ .fd = pair.ours, .events = NET_WRITE };
    CHECK_INT(net_wait(waits, NET_WAIT_MAX, 0), NET_WAIT_MAX);
    CHECK_INT(net_wait(NULL, 0, 0), 0);
}

NET_TEST(a_time_gone_by_just_looks)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct pair pair;
    CHECK(connect_pair(AF_INET, &pair));
    struct net_wait wait = { .fd = pair.ours, .events = NET_READ, .ready = 0xff };
    uint64_t start = net_now_us();
    CHECK_INT(net_wait(&wait, 1, 0), 0);
    CHECK_INT(net_wait(&wait, 1, start), 0);
    CHECK_INT(wait.ready, 0);
    CHECK(net_now_us() - start < LATE_US);
}

NET_TEST(a_wait_never_ends_before_its_time)
{
    for (uint64_t us = 1; us < 3000; us += 97) {
        uint64_t until = net_now_us() + us;
        CHECK_INT(net_wait(NULL, 0, until), 0);
        CHECK(net_now_us() >= until);
        CHECK(net_now_us() < until + LATE_US);
    }
}

static volatile sig_atomic_t signal_count;

static void count_signal(int number)
{
    (void)number;
    signal_count = signal_count + 1;
}

/* A signal each `ms`, until the test is over. */
static bool start_signals(int ms)
{
    struct sigaction action = { .sa_handler = count_signal };
    struct itimerval often = { { 0, ms * 1000 }, { 0, ms * 1000 } };
    signal_count = 0;
    return sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0;
}

static void stop_signals(void)
{
    setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
    signal(SIGALRM, SIG_DFL);
}

NET_TEST(signals_end_a_wait_but_do_not_stretch_it)
{
    CHECK(start_signals(5));
    uint64_t until = net_now_us() + 100 * 1000;
    int result, interrupted = 0;
    while ((result = net_wait(NULL, 0, until)) == -EINTR) interrupted++;
    uint64_t end = net_now_us();
    stop_signals();
    CHECK_INT(result, 0);
    CHECK(interrupted > 0 && signal_count > 0);
    CHECK(end >= until);
    CHECK(end < until + LATE_US);
}

NET_TEST(a_wait_for_ever_ends_with_a_signal)
{
    if (!has_loopback()) TAP_SKIP("no loopback here");
    struct pair pair;
    CHECK(connect_pair(AF_INET, &pair));
    struct net_wait wait = { .fd = pair.ours, .events = NET_READ, .ready = 0xff };
    CHECK(start_signals(10));
    int result = net_wait(&wait, 1, UINT64_MAX);
    stop_signals();
    CHECK_INT(result, -EINTR);
    CHECK_INT(wait.ready, 0);
}

/* --- Self-pipes --- */

NET_TEST(a_self_pipe_that_is_written_to_ends_a_wait_and_is_drained_once)
{
    int self_pipe[2];
    CHECK_INT(net_self_pipe_open(self_pipe), 0);
    own(self_pipe[0]);
    own(self_pipe[1]);
    struct net_wait wait = { .fd = self_pipe[0], .events = NET_READ };
    CHECK_INT(net_wait(&wait, 1, 0), 0);
    CHECK(!net_self_pipe_drain(self_pipe[0]));
    net_self_pipe_write(self_pipe[1]);
    net_self_pipe_write(self_pipe[1]);
    CHECK_INT(net_wait(&wait, 1, net_now_us() + SOON_US), 1);
    CHECK(net_self_pipe_drain(self_pipe[0]));
    CHECK(!net_self_pipe_drain(self_pipe[0]));
    CHECK_INT(net_wait(&wait, 1, 0), 0);
}

NET_TEST(a_self_pipe_that_nobody_drains_can_be_written_to_for_ever_and_errno_stays)
{
    int self_pipe[2];
    CHECK_INT(net_self_pipe_open(self_pipe), 0);
    own(self_pipe[0]);
    own(self_pipe[1]);
    errno = ENOENT;
    /* Twice as much as a pipe holds. */
    for (unsigned i = 0; i < 1 << 17; i++) net_self_pipe_write(self_pipe[1]);
    CHECK_INT(errno, ENOENT);
    CHECK(net_self_pipe_drain(self_pipe[0]));
    CHECK(!net_self_pipe_drain(self_pipe[0]));
}

NET_TEST(a_self_pipe_does_not_outlive_exec_and_no_self_pipe_is_none)
{
    int self_pipe[2];
    CHECK_INT(net_self_pipe_open(self_pipe), 0);
    for (int i = 0; i < 2; i++) CHECK(fcntl(own(self_pipe[i]), F_GETFD) & FD_CLOEXEC);
    errno = 0;
    net_self_pipe_write(-1);
    CHECK(!net_self_pipe_drain(-1));
    CHECK_INT(errno, 0);    /* Nobody was asked. */
}

NET_TEST(a_self_pipe_is_written_to_once_and_drained_whatever_errno_was_before)
{
    int self_pipe[2];
    char bytes[8];
    CHECK_INT(net_self_pipe_open(self_pipe), 0);
    own(self_pipe[0]);
    errno = EINTR;
    net_self_pipe_write(self_pipe[1]);
    CHECK_INT(read(self_pipe[0], bytes, sizeof bytes), 1);
    net_self_pipe_write(self_pipe[1]);
    errno = EINTR;
    CHECK(net_self_pipe_drain(self_pipe[0]));
    close(self_pipe[1]);
    errno = EINTR;
    CHECK(!net_self_pipe_drain(self_pipe[0]));
}

/* --- Clock and random bytes --- */

NET_TEST(the_clock_never_goes_back)
{
    uint64_t last = net_now_us();
    CHECK(last > 0 && last < UINT64_MAX);
    for (int i = 0; i < 100000; i++) {
        uint64_t now = net_now_us();
        CHECK(now >= last);
        last = now;
    }
}

NET_TEST(the_wall_clock_shows_microseconds_since_1970)
{
    time_t before = time(NULL);
    uint64_t wall_us = net_wall_us();
    time_t after = time(NULL);
    CHECK(wall_us / 1000000 + 1 >= (uint64_t)before);    /* time() may lag by a tick. */
    CHECK(wall_us / 1000000 <= (uint64_t)after + 1);
}

NET_TEST(the_clock_counts_microseconds)
{
    struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
    uint64_t start = net_now_us();
    CHECK(nanosleep(&pause, NULL) == 0);
    uint64_t passed = net_now_us() - start;
    CHECK(passed >= 19 * 1000);
    CHECK(passed < LATE_US);
}

/* Each byte is hit in 32 draws; a byte that stays 0 was not written (or the odds were
 * 1 in 2^256). */
NET_TEST(entropy_fills_all_it_is_given_and_no_more)
{
    unsigned char bytes[700], seen[700] = { 0 };
    for (int draw = 0; draw < 32; draw++) {
        memset(bytes, 0, sizeof bytes);
        CHECK(net_entropy(bytes, 600));
        for (size_t i = 0; i < sizeof bytes; i++) seen[i] |= bytes[i];
    }
    for (size_t i = 0; i < sizeof seen; i++) CHECK_INT(seen[i] != 0, i < 600);
    CHECK(net_entropy(bytes, 0));
}

NET_TEST(two_draws_of_entropy_differ)
{
    unsigned char a[20], b[20];
    CHECK(net_entropy(a, sizeof a));
    CHECK(net_entropy(b, sizeof b));
    CHECK(memcmp(a, b, sizeof a) != 0);
}

#ifdef HAS_SECCOMP

#ifdef SYS_open
enum { SYS_OLD_OPEN = SYS_open };
#else
enum { SYS_OLD_OPEN = SYS_openat };
#endif

enum { CHILD_FILLED, CHILD_UNFILLED, CHILD_REFUSED, CHILD_UNFILTERED };

/* From here on getrandom() is not there and, if wanted, no file can be opened, as on an old kernel
 * or in a sandbox. */
static bool hide_entropy(bool hide_files)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, hide_files ? SYS_openat : SYS_getrandom, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, hide_files ? SYS_OLD_OPEN : SYS_getrandom, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    };
    struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The outcome of net_entropy in a process of its own, for the filter cannot be taken off again. */
static int entropy_of_child(bool hide_files)
{
    unsigned char bytes[600] = { 0 };
    int status, filled = 0;
    pid_t child = fork();
    if (child == 0) {
        if (!hide_entropy(hide_files)) _exit(CHILD_UNFILTERED);
        if (!net_entropy(bytes, sizeof bytes)) _exit(CHILD_REFUSED);
        for (size_t i = 0; i < sizeof bytes; i++) filled += bytes[i] != 0;
        _exit(filled > 500 ? CHILD_FILLED : CHILD_UNFILLED);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

NET_TEST(entropy_comes_from_the_device_where_there_is_no_system_call)
{
    int outcome = entropy_of_child(false);
    if (outcome == CHILD_UNFILTERED) TAP_SKIP("no seccomp here");
    CHECK_INT(outcome, CHILD_FILLED);
}

NET_TEST(no_entropy_at_all_is_said)
{
    int outcome = entropy_of_child(true);
    if (outcome == CHILD_UNFILTERED) TAP_SKIP("no seccomp here");
    CHECK_INT(outcome, CHILD_REFUSED);
}

#endif

TAP_MAIN
