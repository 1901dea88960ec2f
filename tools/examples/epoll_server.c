/* A server in an epoll loop, which holds up to 50 locks at once, one for each of its clients.
 *
 *     cc epoll_server.c -o epoll_server $(pkg-config --cflags --libs redlock) -pthread
 *     ./epoll_server host1,host2,host3 7000 & nc localhost 7000
 *
 * A client sends a name and a newline, and reads "held" when it has the lock of that name; the lock
 * is its own until it hangs up, or reads why it is lost. A program in any language thus has locks,
 * by a socket.
 *
 * Shows: redlock_loop_epoll.h beside sockets of the program's own; locks that wait, are kept, lost,
 * and given up in the middle of whatever they do (redlock_part); and an end in which
 * all are released.
 *
 * To change: TTL_MS, and the words of a client. If clients are not on this host, they need to prove
 * who they are. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "redlock_loop_epoll.h"

enum { SEATS = 50, TTL_MS = 10000 };

/* One client. */
struct seat {
    struct redlock_lock lock;       /* It comes first, since a lock leads to its seat. */
    int fd;                         /* -1: the seat is free. */
    bool is_held;
    size_t size;                    /* Size of the name, as far as it has come. */
    char name[64];
};

static struct redlock_client client;
static struct redlock_loop_epoll adapter;
static struct seat seats[SEATS];
static int epoll_fd;

/* A line fits into a socket, unless the client does not read. It then misses it. */
static void tell(int fd, const char *words)
{
    char line[128];
    int size = snprintf(line, sizeof line, "%s\n", words);

    if (send(fd, line, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) perror("epoll_server: send");
}

/* The lock may wait, be held, or be neither. The seat is free at once, and the redlock client pays
 * its debts. */
static void leave(struct seat *seat)
{
    redlock_part(&client, &seat->lock);
    redlock_loop_wake(&adapter.loop);
    close(seat->fd);                /* epoll forgets it by itself, as we never fork. */
    seat->fd = -1;
}

static void begin(struct seat *seat)
{
    struct redlock_request request;
    enum redlock_status status;

    redlock_request_init(&request);
    request.resource = seat->name;
    request.resource_size = seat->size;
    request.ttl_ms = TTL_MS;
    request.wait_ms = REDLOCK_FOREVER;
    status = redlock_begin_acquire(&client, &seat->lock, &request);
    redlock_loop_wake(&adapter.loop);
    if (status == REDLOCK_OK) return;
    tell(seat->fd, redlock_status_text(status));
    leave(seat);
}

/* Something was decided about the lock. An extension that failed is tried again while some validity
 * is left. */
static void note(struct seat *seat)
{
    enum redlock_status status = redlock_lock_status(&seat->lock);

    if (redlock_valid_ms(&seat->lock) > 0 && seat->is_held) return;
    if (status == REDLOCK_OK)
        status = redlock_keep(&client.engine, &seat->lock, 0, redlock_now_us());
    seat->is_held = status == REDLOCK_OK;
    tell(seat->fd, seat->is_held ? "held" : redlock_status_text(status));
    if (!seat->is_held) leave(seat);
}

/* Runs after each step of the client. */
static void hook(void *context, enum redlock_status status)
{
    struct redlock_lock *lock;

    (void)context;
    if (status != REDLOCK_OK) fprintf(stderr, "epoll_server: %s\n", redlock_status_text(status));
    while ((lock = redlock_next_done(&client.engine)) != NULL) note((struct seat *)lock);
}

static void hear(struct seat *seat)
{
    char *to = seat->name + seat->size;
    const size_t room = sizeof seat->name - seat->size;
    const bool has_spoken = seat->is_held || redlock_lock_status(&seat->lock) == REDLOCK_PENDING;
    const ssize_t got = recv(seat->fd, to, room, MSG_DONTWAIT);
    const char *end = got > 0 ? memchr(to, '\n', (size_t)got) : NULL;

    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0 || has_spoken || (!end && (size_t)got == room)) {
        leave(seat);                /* It hung up, or says more than it may. */
        return;
    }
    seat->size += end ? (size_t)(end - to) : (size_t)got;
    if (end) begin(seat);
}

static void watch(int fd, void *what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) perror("epoll_server"), exit(1);
}

static void seat_client(int listener)
{
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    for (struct seat *seat = seats; fd >= 0 && seat < seats + SEATS; seat++) {
        if (seat->fd >= 0) continue;
        *seat = (struct seat){ .fd = fd };
        redlock_lock_init(&seat->lock);
        watch(fd, seat);
        return;
    }
    if (fd >= 0) tell(fd, "all seats are taken"), close(fd);
}

int main(int argc, char **argv)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct redlock_mistake mistake;
    socklen_t size = sizeof here;
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
    sigset_t signals;
    enum redlock_status status;

    if (argc != 3)
        return fprintf(stderr, "usage: epoll_server NODES PORT (0: any that is free)\n"), 2;
    here.sin_port = htons((uint16_t)atoi(argv[2]));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) != 0 ||
        listen(listener, SEATS) != 0 || getsockname(listener, (struct sockaddr *)&here, &size) != 0)
        return perror(argv[2]), 1;
    sigemptyset(&signals), sigaddset(&signals, SIGTERM), sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    watch(listener, NULL);
    watch(signalfd(-1, &signals, SFD_CLOEXEC), &signals);
    for (unsigned i = 0; i < SEATS; i++) seats[i].fd = -1;
    status = redlock_open(&client, argv[1], NULL, &mistake);
    if (status != REDLOCK_OK)
        return fprintf(stderr, "epoll_server: %s: %s\n", redlock_status_text(status),
                       mistake.text[0] ? mistake.text : "NODES is a list such as h1,h2:7000"),
               1;
    status = redlock_loop_epoll_attach(&adapter, epoll_fd, (epoll_data_t){ .ptr = &adapter },
                                       &client, hook, NULL);
    if (status != REDLOCK_OK) return perror("epoll_server"), 1;
    printf("ready on port %u\n", ntohs(here.sin_port)), fflush(stdout);
    for (;;) {
        struct epoll_event event;
        void *what = epoll_wait(epoll_fd, &event, 1, -1) == 1 ? event.data.ptr : &epoll_fd;
        if (what == &signals) break;
        if (what == NULL) seat_client(listener);
        else if (what == &adapter) redlock_loop_epoll_dispatch(&adapter);
        else if (what != &epoll_fd) hear(what);
    }
    for (unsigned i = 0; i < SEATS; i++)
        if (seats[i].fd >= 0) leave(&seats[i]);
    redlock_loop_epoll_detach(&adapter);
    redlock_close(&client, 1000);           /* Sees to it that the nodes hear of all releases. */
    return 0;
}
