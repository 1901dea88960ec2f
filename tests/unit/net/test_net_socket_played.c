/* Sockets and waiting over a system that this test plays. It connects at once, names peers as it
 * likes, and refuses to wait; its time passes in poll alone. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../../../net/redlock_net.h"
#include "../../tap.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- The system ---- */

enum peer { PEER_IS_ITSELF, PEER_HAS_NO_NAME, PEER_HAS_GONE };

static struct {
    enum peer peer;
    int opened, closed;
    bool was_bad;               /* Something was closed that was not open. */
    uint64_t now_us;
    int pauses, pause_ms;       /* How many, and the last. */
} played;

static void play(void)
{
    memset(&played, 0, sizeof played);
    played.now_us = 1000000;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

static int play_socket(int family, int type, int protocol)
{
    played.opened++;
    return socket(family, type, protocol);
}

static int play_close(int fd)
{
    const int result = close(fd);
    played.closed++;
    played.was_bad |= result != 0;
    return result;
}

static int play_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    (void)fd;
    (void)address;
    (void)size;
    return 0;
}

static int play_getpeername(int fd, struct sockaddr *peer, socklen_t *size)
{
    if (played.peer == PEER_HAS_GONE) return fail(ENOTCONN);
    if (played.peer == PEER_IS_ITSELF) return getsockname(fd, peer, size);
    *size = 0;
    return 0;
}

/* It takes no descriptors, and sleeps for as long as it is told to. */
static int play_poll(struct pollfd *polled, nfds_t count, int ms)
{
    (void)polled;
    if (count > 0) return fail(ENOMEM);
    played.pauses++;
    played.pause_ms = ms;
    played.now_us += ms > 0 ? (uint64_t)ms * 1000 : 0;
    return 0;
}

static int play_pipe(int ends[2], int flags)
{
    (void)ends;
    (void)flags;
    return fail(EMFILE);
}

#define socket(family, type, protocol) play_socket(family, type, protocol)
#define connect(fd, address, size) play_connect(fd, address, size)
#define close(fd) play_close(fd)
#define getpeername(fd, peer, size) play_getpeername(fd, peer, size)
#define poll(polled, count, ms) play_poll(polled, count, ms)
#define net_now_us() played.now_us
#define pipe(ends) play_pipe(ends, 0)
#define pipe2(ends, flags) play_pipe(ends, flags)

#include "../../../net/net_socket.c"

/* ---- Connecting ---- */

static int connect_to(enum peer peer, bool *connected)
{
    const struct sockaddr_in address = { .sin_family = AF_INET };
    struct net_endpoint endpoint = { .size = sizeof address };
    memcpy(endpoint.words, &address, sizeof address);
    play();
    played.peer = peer;
    *connected = peer == PEER_HAS_GONE;
    return net_connect(&endpoint, connected);
}

TEST(a_socket_that_is_connected_to_itself_at_once_is_refused_and_closed_once)
{
    bool connected;
    CHECK_INT(connect_to(PEER_IS_ITSELF, &connected), -ECONNREFUSED);
    CHECK(!connected);
    CHECK(played.opened == 1 && played.closed == 1 && !played.was_bad);
}

TEST(a_peer_that_the_system_does_not_name_is_not_the_socket_itself)
{
    bool connected;
    const int fd = connect_to(PEER_HAS_NO_NAME, &connected);
    CHECK(fd >= 0 && connected);
    net_close(fd);
    CHECK(played.opened == 1 && played.closed == 1 && !played.was_bad);
}

/* It has closed between connect and the question for its name. */
TEST(a_peer_that_has_gone_at_once_leaves_a_connection_of_which_nothing_is_known)
{
    bool connected;
    const int fd = connect_to(PEER_HAS_GONE, &connected);
    CHECK(played.opened == 1 && played.closed == 0 && fcntl(fd, F_GETFD) != -1);
    CHECK(!connected);
    CHECK_INT(net_connect_result(fd), NET_PENDING);
    net_close(fd);
}

/* ---- Waiting where the system refuses to ---- */

static int wait_until(uint64_t until_us, struct net_wait wait)
{
    play();
    return net_wait(&wait, 1, until_us);
}

static const struct net_wait nobody = { .fd = -1, .events = NET_READ };
static const struct net_wait somebody = { .fd = 0, .events = NET_READ };

TEST(where_the_system_refuses_to_wait_a_wait_is_pauses_of_10_ms_and_no_longer_than_it_should_be)
{
    CHECK_INT(wait_until(0, nobody), 0);
    CHECK(played.pauses == 1 && played.pause_ms == 0);
    CHECK_INT(wait_until(1000000 + 3000, nobody), 0);
    CHECK(played.pauses == 1 && played.pause_ms == 3);
    CHECK_INT(wait_until(1000000 + 50000, nobody), 0);
    CHECK(played.pauses == 5 && played.pause_ms == 10);
}

TEST(where_the_system_refuses_to_wait_each_descriptor_is_ready_after_10_ms_also_the_first)
{
    CHECK_INT(wait_until(1000000 + 50000, somebody), 1);
    CHECK(played.pauses == 1 && played.pause_ms == 10);
    CHECK_INT(wait_until(UINT64_MAX, somebody), 1);
    CHECK(played.pauses == 1 && played.pause_ms == 10);
}

/* ---- Self-pipes ---- */

TEST(a_self_pipe_for_which_no_descriptor_is_left_is_none_and_the_reason_is_said)
{
    int self_pipe[2] = { 7, 7 };
    play();
    CHECK_INT(net_self_pipe_open(self_pipe), -EMFILE);
    CHECK(self_pipe[0] == -1 && self_pipe[1] == -1);
}

TAP_MAIN
