/* A client that is far away, on one machine. It is a transport that keeps each byte back for so
 * long, on its way to a node and back.
 *
 * A session's descriptor is an epoll of its socket and of a timer, so anything that is due makes it
 * readable. The client then receives, which sends bytes that are due as well. */
#define _GNU_SOURCE
#include "bench.h"

#include "../../redlock/redlock.h"
#include "../../net/redlock_transport.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    FAR_SESSIONS_MAX = REDLOCK_SESSIONS(BENCH_NODES_MAX, true),
    FAR_PIECES_MAX = 64,
    FAR_BYTES_MAX = 16384
};

/* Bytes that are under way, in the pieces in which they were given. */
struct way {
    unsigned pieces;
    size_t size;
    struct { uint64_t due_ns; size_t size; } piece[FAR_PIECES_MAX];
    uint8_t bytes[FAR_BYTES_MAX];
};

struct far_session {
    int socket, timer;
    bool has_ended;
    struct way there, back;
};

struct bench_far {
    uint64_t one_way_ns;
    struct far_session sessions[FAR_SESSIONS_MAX];
};

static size_t room_of(const struct way *way)
{
    return way->pieces < FAR_PIECES_MAX ? sizeof way->bytes - way->size : 0;
}

/* The bytes already follow the others. */
static void begin_way(const struct bench_far *far, struct way *way, size_t size)
{
    way->piece[way->pieces].due_ns = bench_now_ns() + far->one_way_ns;
    way->piece[way->pieces++].size = size;
    way->size += size;
}

static size_t due_of(const struct way *way)
{
    size_t due = 0;

    for (unsigned i = 0; i < way->pieces && way->piece[i].due_ns <= bench_now_ns(); i++)
        due += way->piece[i].size;
    return due;
}

/* So many of the due bytes have arrived. */
static void end_way(struct way *way, size_t size)
{
    unsigned gone = 0;

    way->size -= size;
    memmove(way->bytes, way->bytes + size, way->size);
    while (gone < way->pieces && way->piece[gone].size <= size) size -= way->piece[gone++].size;
    way->pieces -= gone;
    memmove(way->piece, way->piece + gone, way->pieces * sizeof *way->piece);
    if (way->pieces > 0) way->piece[0].size -= size;
}

/* The timer makes the descriptor readable when the next piece is due; a piece that is due already,
 * at once. */
static void set_timer(struct far_session *s)
{
    uint64_t due_ns = UINT64_MAX;
    struct itimerspec at = { .it_value = { .tv_sec = 0 } };

    if (s->there.pieces > 0) due_ns = s->there.piece[0].due_ns;
    if (s->back.pieces > 0 && s->back.piece[0].due_ns < due_ns) due_ns = s->back.piece[0].due_ns;
    if (due_ns != UINT64_MAX) {
        at.it_value.tv_sec = (time_t)(due_ns / 1000000000);
        at.it_value.tv_nsec = (long)(due_ns % 1000000000);
    }
    (void)timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* ---- The table ---- */

static int open_both(struct far_session *s)
{
    struct epoll_event readable = { .events = EPOLLIN };
    int both = epoll_create1(EPOLL_CLOEXEC);

    if (both < 0 || epoll_ctl(both, EPOLL_CTL_ADD, s->socket, &readable) != 0 ||
        epoll_ctl(both, EPOLL_CTL_ADD, s->timer, &readable) != 0)
        return -errno;
    return both;
}

/* Nodes are on this machine, so it does not matter that connecting waits. */
static int far_connect(void *context, unsigned k, const struct redlock_peer *peer, bool *connected)
{
    struct far_session *s = &((struct bench_far *)context)->sessions[k];
    const struct sockaddr *address = peer->endpoint;
    int one = 1;

    s->has_ended = false;
    s->there.pieces = s->back.pieces = 0;
    s->there.size = s->back.size = 0;
    s->socket = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (s->socket < 0 || s->timer < 0) return -errno;
    if (connect(s->socket, address, (socklen_t)peer->endpoint_size) != 0) return -errno;
    (void)setsockopt(s->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    *connected = true;
    return open_both(s);
}

static int far_finish(void *context, unsigned k)
{
    (void)context;
    (void)k;
    return 0;
}

static ptrdiff_t far_send(void *context, unsigned k, const void *data, size_t size)
{
    struct bench_far *far = context;
    struct far_session *s = &far->sessions[k];

    if (size > room_of(&s->there)) size = room_of(&s->there);
    if (size == 0) return 0;
    memcpy(s->there.bytes + s->there.size, data, size);
    begin_way(far, &s->there, size);
    set_timer(s);
    return (ptrdiff_t)size;
}

static int send_due(struct far_session *s)
{
    size_t due = due_of(&s->there);

    if (due > 0 && send(s->socket, s->there.bytes, due, MSG_NOSIGNAL) != (ssize_t)due) return EIO;
    end_way(&s->there, due);
    return 0;
}

static void receive_more(const struct bench_far *far, struct far_session *s)
{
    size_t room = room_of(&s->back);
    ssize_t size =
        room > 0 ? recv(s->socket, s->back.bytes + s->back.size, room, MSG_DONTWAIT) : -1;

    if (size > 0) begin_way(far, &s->back, (size_t)size);
    if (size == 0) s->has_ended = true;
}

static ptrdiff_t far_receive(void *context, unsigned k, void *data, size_t size)
{
    struct bench_far *far = context;
    struct far_session *s = &far->sessions[k];
    size_t due;

    if (send_due(s) != 0) return -EIO;
    receive_more(far, s);
    due = due_of(&s->back);
    if (due == 0 && s->has_ended) return REDLOCK_TRANSPORT_END;
    if (due < size) size = due;
    memcpy(data, s->back.bytes, size);
    end_way(&s->back, size);
    set_timer(s);
    return (ptrdiff_t)size;
}

/* Bytes that have not left by then never do. */
static void far_hang_up(void *context, unsigned k, bool silently)
{
    struct far_session *s = &((struct bench_far *)context)->sessions[k];

    (void)silently;
    (void)close(s->socket);
    (void)close(s->timer);
}

static void far_discard(void *context, unsigned k, int fd)
{
    (void)context;
    (void)k;
    (void)close(fd);
}

const struct redlock_transport bench_far_transport = {
    .has_addresses = true, .connect = far_connect, .finish = far_finish, .send = far_send,
    .receive = far_receive, .hang_up = far_hang_up, .discard = far_discard
};

struct bench_far *bench_far_new(uint64_t round_trip_ns)
{
    struct bench_far *far = calloc(1, sizeof *far);

    if (far) far->one_way_ns = round_trip_ns / 2;
    return far;
}
