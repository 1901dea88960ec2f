/* Sockets that never block, and the one call that waits for them. Knows endpoints and descriptors,
 * not the messages. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "redlock_net.h"

#include <errno.h>
#include <string.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

/* The kernel probes a silent connection after 15 s, then every 5 s, and gives it up after three,
 * which is half a minute. This is for idle connections. If an answer is owed, the caller's own
 * timeout comes first. */
enum { SOCKET_KEEP_IDLE_S = 15, SOCKET_KEEP_INTERVAL_S = 5, SOCKET_KEEP_COUNT = 3 };

#if !defined(MSG_NOSIGNAL) && !defined(SO_NOSIGPIPE)
#error "this system cannot send without SIGPIPE"
#endif

#ifdef MSG_NOSIGNAL
enum { SOCKET_SEND_FLAGS = MSG_NOSIGNAL };
#else
enum { SOCKET_SEND_FLAGS = 0 };
#endif

/* --- Opening --- */

static sa_family_t endpoint_family(const struct net_endpoint *endpoint)
{
    struct sockaddr head;
    memcpy(&head, endpoint->words, sizeof head);
    return head.sa_family;
}

/* An option that cannot be set is left out, since none of them changes what a connection means. */
static void socket_set(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

static void socket_tune_tcp(int fd)
{
    socket_set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    socket_set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#if defined(TCP_KEEPIDLE)
    socket_set(fd, IPPROTO_TCP, TCP_KEEPIDLE, SOCKET_KEEP_IDLE_S);
#elif defined(__APPLE__)
    socket_set(fd, IPPROTO_TCP, TCP_KEEPALIVE, SOCKET_KEEP_IDLE_S);
#endif
#if defined(TCP_KEEPINTVL) && defined(TCP_KEEPCNT)
    socket_set(fd, IPPROTO_TCP, TCP_KEEPINTVL, SOCKET_KEEP_INTERVAL_S);
    socket_set(fd, IPPROTO_TCP, TCP_KEEPCNT, SOCKET_KEEP_COUNT);
#endif
}

/* Returns a nonblocking, close-on-exec socket, or -errno. macOS cannot do both at once, so there a
 * fork of another thread between the two calls inherits the descriptor. */
static int socket_open(int family)
{
#ifdef SOCK_CLOEXEC    /* A system that has this has pipe2 as well. */
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
#else
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd < 0) return -errno;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0) return fd;
    int error = errno;
    net_close(fd);
    return -error;
#endif
}

/* Returns 0, EINPROGRESS or NET_PENDING, or the errno of the failure. */
static int socket_begin(int fd, const struct net_endpoint *endpoint)
{
    const void *address = endpoint->words;    /* Aligned, as net_endpoint promises. */
    if (connect(fd, (const struct sockaddr *)address, (socklen_t)endpoint->size) == 0)
        return net_connect_result(fd);
    /* connect(): "If interrupted by a signal ... the connection shall
     * be established asynchronously" */
    return errno == EINTR ? EINPROGRESS : errno;
}

NET_API int net_connect(const struct net_endpoint *endpoint, bool *connected)
{
    sa_family_t family = endpoint_family(endpoint);
    int fd = socket_open(family);
    *connected = false;
    if (fd < 0) return fd;
#ifdef SO_NOSIGPIPE
    socket_set(fd, SOL_SOCKET, SO_NOSIGPIPE, 1);
#endif
    if (family != AF_UNIX) socket_tune_tcp(fd);
    int error = socket_begin(fd, endpoint);
    *connected = error == 0;
    if (error <= 0 || error == EINPROGRESS) return fd;    /* NET_PENDING is below 0. */
    net_close(fd);
    return -error;
}

/* TCP's simultaneous open lets a socket meet itself when its own port is the one it calls, on this
 * machine, where nobody listens. It would echo our own bytes, and keep the server from starting. */
static bool socket_is_own_peer(int fd, const struct sockaddr_storage *peer, socklen_t peer_size)
{
    struct sockaddr_storage own;
    socklen_t own_size = sizeof own;
    if (peer->ss_family == AF_UNIX || getsockname(fd, (struct sockaddr *)&own, &own_size) != 0)
        return false;
    return own_size == peer_size && memcmp(&own, peer, peer_size) == 0;
}

NET_API int net_connect_result(int fd)
{
    int error = 0;
    socklen_t error_size = sizeof error;
    struct sockaddr_storage peer;
    socklen_t peer_size = sizeof peer;
    memset(&peer, 0, sizeof peer);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) != 0) return errno;
    if (error != 0) return error;
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0)
        return errno == ENOTCONN ? NET_PENDING : errno;
    return socket_is_own_peer(fd, &peer, peer_size) ? ECONNREFUSED : 0;
}

/* --- Bytes --- */

static bool socket_would_block(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK;
}

NET_API ptrdiff_t net_send(int fd, const void *data, size_t size)
{
    NET_CHECK(size >= 1);
    ssize_t taken;
    do taken = send(fd, data, size, SOCKET_SEND_FLAGS);
    while (taken < 0 && errno == EINTR);
    if (taken >= 0) return taken;
    return socket_would_block(errno) ? 0 : -errno;
}

NET_API ptrdiff_t net_receive(int fd, void *data, size_t size)
{
    NET_CHECK(size >= 1);
    ssize_t taken;
    do taken = recv(fd, data, size, 0);
    while (taken < 0 && errno == EINTR);
    if (taken > 0) return taken;
    if (taken == 0) return NET_END;
    return socket_would_block(errno) ? 0 : -errno;
}

/* It is not repeated after EINTR, since on most systems the descriptor is gone by then, and may be
 * another thread's already. */
NET_API void net_close(int fd)
{
    if (fd >= 0) (void)close(fd);
}

/* One text and a row of numbers, much smaller than a switch. */
#define SOCKET_ERRORS(X)                                                   \
    X(0, "no error")                                                       \
    X(-NET_END, "connection closed by the server")                         \
    X(ECONNREFUSED, "connection refused")                                  \
    X(ECONNRESET, "connection reset")                                      \
    X(ECONNABORTED, "connection aborted")                                  \
    X(EPIPE, "connection broken")                                          \
    X(ENOTCONN, "not connected")                                           \
    X(EINPROGRESS, "still connecting")                                     \
    X(ETIMEDOUT, "connection timed out")                                   \
    X(EHOSTUNREACH, "no route to host")                                    \
    X(ENETUNREACH, "network unreachable")                                  \
    X(ENETDOWN, "network down")                                            \
    X(EADDRNOTAVAIL, "address or local port not available")                \
    X(EAFNOSUPPORT, "address family not supported here")                   \
    X(EAGAIN, "too many connections wait to be accepted")                  \
    X(EMFILE, "too many open files in this process")                       \
    X(ENFILE, "too many open files in the system")                         \
    X(ENOMEM, "out of memory for sockets")                                 \
    X(ENOBUFS, "out of memory for sockets")                                \
    X(EACCES, "permission denied")                                         \
    X(EPERM, "permission denied")                                          \
    X(ENOENT, "no such file: does the server listen on this unix socket?") \
    X(ENOTSOCK, "not a socket")                                            \
    X(EPROTOTYPE, "a socket of another type")                              \
    X(EINTR, "interrupted by a signal")                                    \
    X(EBADF, "not an open descriptor")

NET_API const char *net_error_text(int error)
{
#define SOCKET_NUMBER(number, text) (int16_t)(number),
#define SOCKET_TEXT(number, text) text "\0"
    static const int16_t numbers[] = { SOCKET_ERRORS(SOCKET_NUMBER) };
    static const char texts[] = SOCKET_ERRORS(SOCKET_TEXT);
#undef SOCKET_NUMBER
#undef SOCKET_TEXT
    const char *text = texts;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++, text += strlen(text) + 1)
        if (numbers[i] == (int16_t)error) return text;
    return "system error";
}

/* --- Waiting --- */

enum {
    WAIT_BLINDLY_MS = 10,       /* Often enough for a lock, seldom enough for the processor. */
    /* poll() does not count the time for which the machine sleeps (poll(2)); net_now_us() does. */
    WAIT_SLICE_MS = 1000
};

/* The time for poll, rounded up, so that it does not wake too early and again and again; -1
 * is for ever. */
static int wait_ms(uint64_t until_us)
{
    if (until_us == UINT64_MAX) return -1;
    uint64_t now_us = net_now_us();
    if (now_us >= until_us) return 0;
    uint64_t left_ms = (until_us - now_us - 1) / 1000 + 1;
    return left_ms < WAIT_SLICE_MS ? (int)left_ms : WAIT_SLICE_MS;
}

static struct pollfd wait_to_poll(const struct net_wait *wait)
{
    short events = 0;
    if ((wait->events & NET_READ) != 0) events |= POLLIN;
    if ((wait->events & NET_WRITE) != 0) events |= POLLOUT;
    return (struct pollfd){ .fd = wait->fd, .events = events };
}

static uint8_t wait_ready(short events)
{
    unsigned ready = 0;
    if ((events & POLLIN) != 0) ready |= NET_READ;
    if ((events & POLLOUT) != 0) ready |= NET_WRITE;
    if ((events & (POLLERR | POLLHUP | POLLNVAL)) != 0) ready |= NET_BROKEN;
    return (uint8_t)ready;
}

/* Like poll, but returns 0 only when the time has come, since a wait may be longer than a slice, or
 * the clock of poll a little ahead. */
static int wait_poll(struct pollfd *polled, size_t count, uint64_t until_us)
{
    int ready;
    do ready = poll(polled, (nfds_t)count, wait_ms(until_us));
    while (ready == 0 && net_now_us() < until_us);
    return ready < 0 ? -errno : ready;
}

/* Works without poll. After a short pause all may be ready, which harms nobody, since
 * they are nonblocking. */
static int wait_blindly(struct net_wait *waits, size_t count, uint64_t until_us)
{
    int ready = 0;
    for (size_t i = 0; i < count; i++) {
        waits[i].ready = waits[i].fd >= 0 ? waits[i].events : 0;
        if (waits[i].ready != 0) ready++;
    }
    do {
        int ms = wait_ms(until_us);
        if (poll(NULL, 0, ms >= 0 && ms < WAIT_BLINDLY_MS ? ms : WAIT_BLINDLY_MS) < 0)
            return -errno;
    } while (ready == 0 && net_now_us() < until_us);
    return ready;
}

NET_API int net_wait(struct net_wait *waits, size_t count, uint64_t until_us)
{
    NET_CHECK(count <= NET_WAIT_MAX);
    struct pollfd polled[NET_WAIT_MAX];
    for (size_t i = 0; i < count; i++) polled[i] = wait_to_poll(&waits[i]);
    int ready = wait_poll(polled, count, until_us);
    if (ready < 0 && ready != -EINTR) return wait_blindly(waits, count, until_us);
    for (size_t i = 0; i < count; i++)
        waits[i].ready = ready > 0 ? wait_ready(polled[i].revents) : 0;
    return ready;
}

/* --- Self-pipes --- */

static int open_pipe(int self_pipe[2])
{
#ifdef SOCK_CLOEXEC
    return pipe2(self_pipe, O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : -errno;
#else
    if (pipe(self_pipe) != 0) return -errno;
    int error = 0;
    for (int i = 0; i < 2; i++)
        if (fcntl(self_pipe[i], F_SETFD, FD_CLOEXEC) != 0 ||
            fcntl(self_pipe[i], F_SETFL, O_NONBLOCK) != 0)
            error = -errno;
    if (error == 0) return 0;
    net_close(self_pipe[0]);
    net_close(self_pipe[1]);
    return error;
#endif
}

NET_API int net_self_pipe_open(int self_pipe[2])
{
    int error = open_pipe(self_pipe);
    if (error != 0) self_pipe[0] = self_pipe[1] = -1;
    return error;
}

NET_API void net_self_pipe_write(int fd)
{
    static const char byte = 1;
    int error = errno;
    ssize_t taken;
    do taken = write(fd, &byte, sizeof byte);
    while (taken < 0 && errno == EINTR);    /* The bytes that fill the pipe wake as well. */
    errno = error;
}

NET_API bool net_self_pipe_drain(int fd)
{
    char bytes[64];
    bool was_written = false;
    if (fd < 0) return false;
    for (;;) {
        ssize_t taken = read(fd, bytes, sizeof bytes);
        if (taken < 0 && errno == EINTR) continue;
        if (taken <= 0) return was_written;
        was_written = true;
    }
}
