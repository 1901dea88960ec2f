/* The far end of serial lines, which hands each line on to a Redis server.
 *
 *     bridge LINE HOST:PORT [LINE HOST:PORT ...]
 *
 * LINE is a serial device, which the bridge sets to 115200 baud with RTS and CTS, or the path of a
 * unix socket, which it makes, and to which an emulator connects instead. It runs until it is
 * killed. line.h has the bytes on a line, and the end of a session on it. Each session is a
 * connection of its own to the server; when either side hangs up, so does the bridge
 * to the other. */
#define _DEFAULT_SOURCE

#include "line.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { LINKS_MAX = 16, POLLED = 2 };

struct link {
    const char *path;
    const char *name;           /* The server's name. */
    struct sockaddr_storage address;
    socklen_t address_size;
    int listener;               /* -1: the line is a device. */
    int wire, server;           /* -1: there is none. */
    struct line line;
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "bridge: %s: %s\n", what, why);
    exit(1);
}

/* ---- The server's side ---- */

static void close_server(struct link *l)
{
    if (l->server >= 0) close(l->server);
    l->server = -1;
}

static void end_session(struct link *l, const char *why)
{
    close_server(l);
    line_close(&l->line, why);
}

static void begin_session(struct link *l)
{
    const int one = 1;

    close_server(l);
    l->server = socket(l->address.ss_family, SOCK_STREAM, 0);
    fcntl(l->server, F_SETFL, O_NONBLOCK);
    setsockopt(l->server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(l->server, (struct sockaddr *)&l->address, l->address_size) < 0 &&
        errno != EINPROGRESS)
        end_session(l, strerror(errno));
}

static void finish_connect(struct link *l)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (getsockopt(l->server, SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
    if (error == 0) line_accept(&l->line);
    else end_session(l, strerror(error));
}

/* A server that takes no more does not answer either. */
static void write_to_server(struct link *l)
{
    uint8_t bytes[LINE_PAYLOAD_MAX];
    const size_t size = line_read(&l->line, bytes, sizeof bytes);
    if (send(l->server, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        end_session(l, "the server takes nothing");
}

/* Only while the line has room for all of it. */
static void read_from_server(struct link *l)
{
    uint8_t bytes[LINE_PAYLOAD_MAX];
    const ssize_t size = recv(l->server, bytes, sizeof bytes, 0);

    if (size > 0) (void)line_write(&l->line, bytes, (size_t)size);
    else if (size == 0) end_session(l, "closed by the server");
    else if (errno != EAGAIN && errno != EINTR) end_session(l, strerror(errno));
}

/* ---- The line's side ---- */

static void set_up_device(struct link *l)
{
    struct termios how;

    l->wire = open(l->path, O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (l->wire < 0 || tcgetattr(l->wire, &how) < 0) fail(l->path, strerror(errno));
    cfmakeraw(&how);
    how.c_cflag |= CLOCAL | CREAD | CRTSCTS;
    if (cfsetspeed(&how, B115200) < 0 || tcsetattr(l->wire, TCSANOW, &how) < 0)
        fail(l->path, strerror(errno));
}

static void set_up_socket(struct link *l)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };

    if (strlen(l->path) >= sizeof at.sun_path) fail(l->path, "too long for a socket");
    memcpy(at.sun_path, l->path, strlen(l->path));
    unlink(l->path);
    l->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (l->listener < 0 || bind(l->listener, (struct sockaddr *)&at, sizeof at) < 0 ||
        listen(l->listener, 1) < 0)
        fail(l->path, strerror(errno));
}

/* Somebody is at the line, with sessions of his own. */
static void accept_wire(struct link *l)
{
    l->wire = accept(l->listener, NULL, NULL);
    if (l->wire < 0) return;
    fcntl(l->wire, F_SETFL, O_NONBLOCK);
    line_init(&l->line, true, 0);
}

static void lose_wire(struct link *l)
{
    if (l->listener < 0) fail(l->path, "the device is gone");
    close(l->wire);
    l->wire = -1;
    close_server(l);
}

static void take_byte(struct link *l, uint8_t byte)
{
    switch (line_take(&l->line, byte)) {
    case LINE_ASKED: begin_session(l); break;
    case LINE_DATA:  write_to_server(l); break;
    case LINE_LOST:  end_session(l, line_why(&l->line)); break;
    default:         break;
    }
}

static void read_from_wire(struct link *l)
{
    uint8_t bytes[256];
    const ssize_t size = read(l->wire, bytes, sizeof bytes);

    for (ssize_t i = 0; i < size; i++) take_byte(l, bytes[i]);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) lose_wire(l);
}

static void write_to_wire(struct link *l)
{
    size_t size;
    const uint8_t *bytes = line_output(&l->line, &size);
    const ssize_t written = write(l->wire, bytes, size);

    if (written > 0) line_sent(&l->line, (size_t)written);
    else if (written < 0 && errno != EAGAIN && errno != EINTR) lose_wire(l);
}

/* ---- All links ---- */

static bool has_output(const struct link *l)
{
    size_t size;
    (void)line_output(&l->line, &size);
    return size > 0;
}

static bool is_connecting(const struct link *l)
{
    return l->server >= 0 && l->line.state == LINE_OPENING;
}

static void ask_poll(const struct link *l, struct pollfd polled[POLLED])
{
    polled[0] = (struct pollfd){ .fd = l->wire >= 0 ? l->wire : l->listener, .events = POLLIN };
    if (l->wire >= 0 && has_output(l)) polled[0].events |= POLLOUT;
    polled[1] = (struct pollfd){ .fd = l->server };
    if (is_connecting(l)) polled[1].events = POLLOUT;
    else if (has_output(l)) polled[1].fd = -1;
    else polled[1].events = POLLIN;
}

static void serve_wire(struct link *l, short events)
{
    if (l->wire < 0) {
        accept_wire(l);
        return;
    }
    if (events & (POLLIN | POLLHUP | POLLERR)) read_from_wire(l);
    if (l->wire >= 0 && events & POLLOUT) write_to_wire(l);
}

/* The server goes first, since the bytes of the wire may end its connection, and begin another. */
static void serve(struct link *l, const struct pollfd polled[POLLED])
{
    if (polled[1].revents != 0 && is_connecting(l)) finish_connect(l);
    else if (polled[1].revents != 0) read_from_server(l);
    if (polled[0].revents != 0) serve_wire(l, polled[0].revents);
}

static void find_server(struct link *l)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    char host[256];
    const char *colon = strrchr(l->name, ':');
    struct addrinfo *found;

    if (!colon || (size_t)(colon - l->name) >= sizeof host) fail(l->name, "not HOST:PORT");
    memcpy(host, l->name, (size_t)(colon - l->name));
    host[colon - l->name] = '\0';
    const int error = getaddrinfo(host, colon + 1, &hints, &found);
    if (error != 0) fail(l->name, gai_strerror(error));
    memcpy(&l->address, found->ai_addr, found->ai_addrlen);
    l->address_size = found->ai_addrlen;
    freeaddrinfo(found);
}

static void set_up(struct link *l, const char *path, const char *name)
{
    struct stat status;

    *l = (struct link){ .path = path, .name = name, .listener = -1, .wire = -1, .server = -1 };
    line_init(&l->line, true, 0);
    find_server(l);
    if (stat(path, &status) == 0 && S_ISCHR(status.st_mode)) set_up_device(l);
    else set_up_socket(l);
}

int main(int argc, char **argv)
{
    static struct link links[LINKS_MAX];
    struct pollfd polled[LINKS_MAX * POLLED];
    const size_t count = (size_t)(argc - 1) / 2;

    if (argc < 3 || argc % 2 == 0 || count > LINKS_MAX)
        fail("usage", "bridge LINE HOST:PORT [LINE HOST:PORT ...]");
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < count; i++) set_up(&links[i], argv[1 + 2 * i], argv[2 + 2 * i]);
    for (;;) {
        for (size_t i = 0; i < count; i++) ask_poll(&links[i], &polled[i * POLLED]);
        if (poll(polled, count * POLLED, -1) < 0 && errno != EINTR) fail("poll", strerror(errno));
        for (size_t i = 0; i < count; i++) serve(&links[i], &polled[i * POLLED]);
    }
}
