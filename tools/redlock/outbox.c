#define _GNU_SOURCE
#include "outbox.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "descriptors.h"
#include "print.h"

#include "../../redlock/redlock_client.h"

enum { PATIENCE_MS = 2000 };

#ifndef SOCK_SEQPACKET          /* macOS has no other that keeps pieces apart. */
#define SOCK_SEQPACKET SOCK_DGRAM
#endif

/* Of this process and the guardian, which has it from this one: so both may write. */
static struct outbox {
    int fd;                     /* 0: all is written at once. */
    bool may_wait;              /* See outbox_may_wait. */
    void (*write)(const char *bytes, size_t size);      /* See outbox_write_by. */
    uint32_t dropped[OUTLET_COUNT];
    struct {
        struct outbox_head head;
        char text[OUTBOX_PIECE_MAX];
    } piece;
} outbox;

static bool prepare_end(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

bool outbox_open(int *reader)
{
    int ends[2];

    assert(outbox.fd == 0);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) return false;
    *reader = ends[0];
    outbox.fd = ends[1];
    return prepare_end(ends[0]) && prepare_end(ends[1]) && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0;
}

void outbox_leave(void)
{
    assert(outbox.fd > 0);
    (void)close(outbox.fd);
    outbox.fd = 0;
}

void outbox_write_by(void (*write)(const char *bytes, size_t size))
{
    outbox_leave();
    outbox.write = write;
}

static bool is_written_at_once(void)
{
    return outbox.fd == 0 && !outbox.write;
}

FILE *outbox_compose(void)
{
    if (is_written_at_once()) return stderr;
    print_page(outbox.piece.text, sizeof outbox.piece.text);
    return NULL;
}

void outbox_may_wait(bool may)
{
    outbox.may_wait = may;
}

/* S29: without waiting. */
bool outbox_put(enum outlet outlet, const void *bytes, size_t size, uint32_t mark)
{
    ssize_t sent;

    assert(outlet < OUTLET_COUNT && size <= OUTBOX_PIECE_MAX);
    if (is_written_at_once()) return fwrite(bytes, 1, size, stderr) == size;
    if (outbox.write) {
        outbox.write(bytes, size);
        return true;
    }
    outbox.piece.head = (struct outbox_head){
        .outlet = outlet, .dropped = outbox.dropped[outlet], .mark = mark
    };
    memmove(outbox.piece.text, bytes, size);
    do sent = send(outbox.fd, &outbox.piece, sizeof outbox.piece.head + size, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN && errno != ENOBUFS && outbox.may_wait &&
        outlet == OUTLET_STDERR &&
        write_patiently(STDERR_FILENO, outbox.piece.text, size, PATIENCE_MS) == size)
        sent = (ssize_t)size;
    if (sent >= 0) outbox.dropped[outlet] = 0;
    else           outbox.dropped[outlet]++;
    return sent >= 0;
}

bool outbox_send(enum outlet outlet, uint32_t mark)
{
    assert(outlet < OUTLET_COUNT);
    return is_written_at_once() || outbox_put(outlet, outbox.piece.text, print_page_used(), mark);
}

static bool wait_for(short events, uint64_t until_us)
{
    uint64_t now = redlock_now_us();
    struct pollfd fd = { .fd = outbox.fd, .events = events };

    return now < until_us &&
           (poll(&fd, 1, (int)((until_us - now) / 1000) + 1) >= 0 || errno == EINTR) &&
           !(fd.revents & POLLHUP);
}

bool outbox_is_over(int end)
{
    struct pollfd fd = { .fd = end, .events = POLLIN };

    return poll(&fd, 1, 0) == 1 && (fd.revents & POLLHUP);
}

/* The reader ends when it has written all. */
bool outbox_close(uint64_t until_us)
{
    bool is_over;

    if (outbox.fd == 0) return false;
    while (outbox.dropped[OUTLET_STDERR] > 0 && !outbox_put(OUTLET_STDERR, "", 0, 0) &&
           wait_for(POLLOUT, until_us)) {}
    (void)shutdown(outbox.fd, SHUT_WR);
    while (wait_for(POLLIN, until_us)) { }
    is_over = outbox_is_over(outbox.fd);
    outbox_leave();
    return is_over;
}
