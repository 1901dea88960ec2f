/* The lock over serial lines, with one line to each server, and a bridge at its other end.
 * Pseudo-terminals stand for the UARTs here.
 *
 *     cc serial.c -o serial $(pkg-config --cflags --libs redlock)
 *     ./serial bridge 127.0.0.1:7000 127.0.0.1:7001 127.0.0.1:7002 &   names three lines
 *     ./serial lock /dev/pts/5,/dev/pts/6,/dev/pts/7 door
 *
 * Shows: a transport of one's own (redlock_transport.h), which needs no addresses; and how to hang
 * up on a serial line, which cannot do so by itself. A session that is given up in the middle of a
 * reply leaves the other half on the line, for the next session to stumble over, and that one
 * leaves its own. The frames here therefore say to which session they belong. firmware/line.h
 * explains them, and is to be copied, too, into a folder firmware beside this file.
 *
 * To change: open_line() for your device; the bridge's connect_server(). The engine on a machine
 * without an operating system uses the same frames, see firmware/. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "firmware/line.h"
#include "redlock_client.h"
#include "redlock_transport.h"

enum {
    LINES_MAX = REDLOCK_NODES_MAX,
    LOST = REDLOCK_TRANSPORT_ERROR,
    TTL_MS = 10000,
    WAIT_MS = 10000
};

/* One end of a line, and the bytes that have come and are not yet looked at. */
struct end {
    int fd;
    const char *path;
    struct line line;
    bool is_lost, is_broken;        /* The session is over; so is the descriptor. */
    char why[LINE_FRAME_MAX + 1];
    uint8_t raw[256];
    size_t raw_start, raw_end;
};

/* ---- Both ends ---- */

static void lose(struct end *e, const char *why)
{
    e->is_lost = true;
    (void)snprintf(e->why, sizeof e->why, "%s", why);
}

/* Sends as much as it can without waiting. */
static void flush_line(struct end *e)
{
    size_t size;
    const uint8_t *bytes;

    while (bytes = line_output(&e->line, &size), size > 0) {
        ssize_t taken = write(e->fd, bytes, size);
        if (taken > 0) line_sent(&e->line, (size_t)taken);
        else if (errno == EAGAIN) return;
        else if (errno != EINTR) {
            e->is_broken = true;
            lose(e, strerror(errno));
            return;
        }
    }
}

static bool has_output(const struct end *e)
{
    size_t size;

    (void)line_output(&e->line, &size);
    return size > 0;
}

/* Reads more from the device. False: there is nothing now. */
static bool fill_raw(struct end *e)
{
    ssize_t got = read(e->fd, e->raw, sizeof e->raw);

    e->raw_start = 0;
    e->raw_end = got > 0 ? (size_t)got : 0;
    if (got > 0 || (got < 0 && errno == EINTR)) return true;
    if (got < 0 && errno == EAGAIN) return false;
    e->is_broken = true;
    lose(e, got == 0 ? "the line was closed" : strerror(errno));
    return false;
}

/* Takes bytes until something happens. NOTHING: there are none now. */
static enum line_event take_raw(struct end *e)
{
    while (!e->is_broken && line_unread(&e->line) == 0 &&
           (e->raw_start < e->raw_end || fill_raw(e))) {
        enum line_event event =
            e->raw_start < e->raw_end ? line_take(&e->line, e->raw[e->raw_start++]) : LINE_NOTHING;
        if (event == LINE_LOST) lose(e, line_why(&e->line));
        if (event != LINE_NOTHING) return event;
    }
    return LINE_NOTHING;
}

static int open_line(const char *path)
{
    struct termios raw;
    int fd = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

    if (fd >= 0 && tcgetattr(fd, &raw) == 0) {
        cfmakeraw(&raw);
        (void)tcsetattr(fd, TCSANOW, &raw);
    }
    return fd;
}

/* ---- The near end: a transport. Its context is an array of ends, one for each node ---- */

static int serial_connect(void *context, unsigned k, const struct redlock_peer *peer,
                          bool *connected)
{
    struct end *e = (struct end *)context + k;

    (void)peer, (void)connected;
    if (e->fd < 0) e->fd = open_line(e->path);
    if (e->fd < 0) return -errno;
    e->is_lost = e->is_broken = false;
    line_open(&e->line);
    flush_line(e);
    /* It is the same one each time, since it stays open, and loops may go on waiting for it. */
    return e->fd;
}

static int serial_finish(void *context, unsigned k)
{
    struct end *e = (struct end *)context + k;

    flush_line(e);
    while (!e->is_lost && e->line.state != LINE_OPEN && take_raw(e) != LINE_NOTHING) { }
    if (e->is_lost) return LOST;
    return e->line.state == LINE_OPEN ? 0 : REDLOCK_TRANSPORT_PENDING;
}

static ptrdiff_t serial_send(void *context, unsigned k, const void *data, size_t size)
{
    struct end *e = (struct end *)context + k;
    size_t taken = 0, more = 1;

    flush_line(e);
    while (!e->is_lost && taken < size && more > 0) {
        more = line_write(&e->line, (const uint8_t *)data + taken, size - taken);
        taken += more;
        flush_line(e);
    }
    return taken == 0 && e->is_lost ? -LOST : (ptrdiff_t)taken;
}

/* Goes on until nothing more has come, since a frame ends where it ends, and the descriptor does
 * not show the bytes in raw. */
static ptrdiff_t serial_receive(void *context, unsigned k, void *data, size_t size)
{
    struct end *e = (struct end *)context + k;
    size_t got = 0, more = 1;

    flush_line(e);      /* The line may be writable, and nobody else sends the waiting bytes. */
    while (got < size && more > 0) {
        if (line_unread(&e->line) == 0 && !e->is_lost) (void)take_raw(e);
        more = line_read(&e->line, (uint8_t *)data + got, size - got);
        got += more;
    }
    return got == 0 && e->is_lost ? -LOST : (ptrdiff_t)got;
}

static unsigned serial_events(void *context, unsigned k, unsigned wanted)
{
    const struct end *e = (struct end *)context + k;
    bool is_at_hand = e->raw_start < e->raw_end || line_unread(&e->line) > 0 || e->is_lost;

    if (e->line.state == LINE_OPENING) wanted = REDLOCK_TRANSPORT_READ;
    if (has_output(e)) wanted |= REDLOCK_TRANSPORT_WRITE;
    return wanted | (is_at_hand ? REDLOCK_TRANSPORT_AT_HAND : 0u);
}

static const char *serial_words(void *context, unsigned k, int error)
{
    return error == LOST ? ((struct end *)context)[k].why : NULL;
}

/* The frame says that it is over, and if it is lost, the next session's frame says it again. */
static void serial_hang_up(void *context, unsigned k, bool silently)
{
    struct end *e = (struct end *)context + k;

    if (silently || e->is_broken) return;
    line_close(&e->line, "hung up");
    flush_line(e);
}

static void serial_discard(void *context, unsigned k, int fd)
{
    struct end *e = (struct end *)context + k;

    if (!e->is_broken) return;
    (void)close(fd);
    e->fd = -1;
    e->raw_start = e->raw_end = 0;
}

static const struct redlock_transport serial_transport = {
    .has_addresses = false, .connect = serial_connect, .finish = serial_finish, .send = serial_send,
    .receive = serial_receive, .events = serial_events, .error_text = serial_words,
    .hang_up = serial_hang_up, .discard = serial_discard
};

/* session: another number after each start, so that frames of the last run are recognised. */
static void init_end(struct end *e, int fd, const char *path, bool is_far, uint16_t session)
{
    *e = (struct end){ .fd = fd, .path = path };
    line_init(&e->line, is_far, session);
}

/* ---- The far end: a bridge to a server ---- */

struct bridge {
    struct end end;
    const struct addrinfo *server_address;
    int server;                     /* -1: no connection. */
    uint8_t rest[LINE_PAYLOAD_MAX]; /* The rest of a frame, not yet sent to the server. */
    size_t rest_start, rest_end;
};

static void close_server(struct bridge *b)
{
    if (b->server >= 0) (void)close(b->server);
    b->server = -1;
    b->rest_start = b->rest_end = 0;
}

/* The near end learns why, and nothing of the old connection comes after that. */
static void end_session(struct bridge *b, const char *why)
{
    close_server(b);
    line_close(&b->end.line, why);
}

static void connect_server(struct bridge *b)
{
    close_server(b);
    b->server = socket(b->server_address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (b->server >= 0 &&
        connect(b->server, b->server_address->ai_addr, b->server_address->ai_addrlen) == 0)
        return;
    if (b->server < 0 || errno != EINPROGRESS) end_session(b, strerror(errno));
}

static void finish_server(struct bridge *b)
{
    int error = 0;
    socklen_t size = sizeof error;

    (void)getsockopt(b->server, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) end_session(b, strerror(error));
    else            line_accept(&b->end.line);
}

/* Carries bytes from the line to the server, as far as it goes. */
static void serve_line(struct bridge *b)
{
    enum line_event event = LINE_DATA;

    while (b->rest_start == b->rest_end && event != LINE_NOTHING) {
        event = take_raw(&b->end);
        if (event == LINE_ASKED) connect_server(b);
        if (event == LINE_LOST) close_server(b);
        b->rest_start = 0;
        b->rest_end = line_read(&b->end.line, b->rest, sizeof b->rest);
        if (b->rest_end > 0) {
            ssize_t taken = send(b->server, b->rest, b->rest_end, MSG_NOSIGNAL);
            if (taken > 0) b->rest_start = (size_t)taken;
        }
    }
}

static void serve_server(struct bridge *b, bool is_writable)
{
    uint8_t bytes[LINE_PAYLOAD_MAX];
    ssize_t size;

    if (b->end.line.state == LINE_OPENING && is_writable) {
        finish_server(b);
    } else if (b->end.line.state == LINE_OPEN && b->rest_start < b->rest_end && is_writable) {
        size = send(b->server, b->rest + b->rest_start, b->rest_end - b->rest_start, MSG_NOSIGNAL);
        if (size > 0) b->rest_start += (size_t)size;
    }
    if (b->end.line.state != LINE_OPEN || has_output(&b->end)) return;
    size = recv(b->server, bytes, sizeof bytes, 0);
    if (size > 0) (void)line_write(&b->end.line, bytes, (size_t)size);
    else if (size == 0 || errno != EAGAIN)
        end_session(b, size == 0 ? "closed by the server" : strerror(errno));
}

static void watch_bridge(const struct bridge *b, struct pollfd polled[2])
{
    bool has_rest = b->rest_start < b->rest_end, is_full = has_output(&b->end);
    bool wants_server = has_rest || b->end.line.state == LINE_OPENING;

    polled[0] = (struct pollfd){
        .fd = b->end.fd, .events = (short)((has_rest ? 0 : POLLIN) | (is_full ? POLLOUT : 0))
    };
    polled[1] = (struct pollfd){
        .fd = b->server, .events = (short)((wants_server ? POLLOUT : 0) | (is_full ? 0 : POLLIN))
    };
}

static void turn_bridge(struct bridge *b, const struct pollfd polled[2])
{
    flush_line(&b->end);
    if (b->server >= 0 && polled[1].fd == b->server && polled[1].revents)
        serve_server(b, (polled[1].revents & ~POLLIN) != 0);
    serve_line(b);
    flush_line(&b->end);
}

/* ---- The two programs ---- */

/* A pseudo-terminal, whose other end is kept open so that programs may come and go. */
static void make_bridge(struct bridge *b, const char *address)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    char host[256];
    const char *colon = strrchr(address, ':');
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);

    (void)snprintf(host, sizeof host, "%.*s", (int)(colon ? colon - address : 0), address);
    if (!colon || getaddrinfo(host, colon + 1, &hints, &found) != 0 || fd < 0 || grantpt(fd) != 0 ||
        unlockpt(fd) != 0 || open_line(ptsname(fd)) < 0) {
        fprintf(stderr, "serial: no bridge to %s: it is written host:port\n", address);
        exit(1);
    }
    *b = (struct bridge){ .server_address = found, .server = -1 };
    init_end(&b->end, fd, NULL, true, 0);
    printf("%s\n", ptsname(fd));
}

static void run_bridges(char **addresses, unsigned count)
{
    static struct bridge bridges[LINES_MAX];
    struct pollfd polled[2 * LINES_MAX];

    for (unsigned i = 0; i < count; i++) make_bridge(&bridges[i], addresses[i]);
    (void)fflush(stdout);
    for (;;) {
        for (unsigned i = 0; i < count; i++) watch_bridge(&bridges[i], &polled[2 * i]);
        (void)poll(polled, 2 * count, -1);
        for (unsigned i = 0; i < count; i++) turn_bridge(&bridges[i], &polled[2 * i]);
    }
}

static int take_lock(char *paths, const char *resource)
{
    static struct redlock_client client;
    static struct end ends[LINES_MAX];
    struct redlock_options options;
    struct redlock_lock lock;
    char nodes[LINES_MAX * 8] = "";
    unsigned count = 0;
    enum redlock_status status;

    for (char *path = strtok(paths, ","); path; path = strtok(NULL, ","), count++) {
        if (count == LINES_MAX)
            return fprintf(stderr, "%s: there is room for %d lines\n", path, LINES_MAX), 2;
        init_end(&ends[count], -1, path, false, (uint16_t)redlock_now_us());
        (void)snprintf(nodes + strlen(nodes), 8, "%sline%u", count > 0 ? "," : "", count);
    }
    redlock_options_init(&options);
    options.transport = &serial_transport;
    options.transport_context = ends;
    options.engine.wake_ups = false;        /* They would need a second line to each node. */
    if (redlock_open(&client, nodes, &options, NULL) != REDLOCK_OK) return 1;
    redlock_lock_init(&lock);
    status = redlock_acquire(&client, &lock, resource, TTL_MS, WAIT_MS);
    printf("%s: %u ms\n", redlock_status_text(status), (unsigned)redlock_valid_ms(&lock));
    if (status == REDLOCK_OK) (void)redlock_release(&client, &lock, NULL);
    redlock_close(&client, 1000);
    return status == REDLOCK_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc > 2 && argc - 2 <= LINES_MAX && strcmp(argv[1], "bridge") == 0)
        run_bridges(argv + 2, (unsigned)argc - 2);
    if (argc == 4 && strcmp(argv[1], "lock") == 0) return take_lock(argv[2], argv[3]);
    fprintf(stderr,
            "usage: serial bridge HOST:PORT...\n       serial lock LINE,LINE,... RESOURCE\n");
    return 2;
}
