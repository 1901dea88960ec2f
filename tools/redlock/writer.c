#define _GNU_SOURCE
#include "writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "descriptors.h"
#include "log.h"
#include "meter.h"
#include "outbox.h"
#include "tree.h"

enum { PATIENCE_US = 2 * 1000 * 1000 };

struct piece {
    struct outbox_head head;
    char text[OUTBOX_PIECE_MAX];
};

/* In redlock's group: what a terminal sends to that is not meant for it. */
static void ignore_signals(void)
{
    for (int number = 1; number < NSIG; number++) (void)signal(number, SIG_IGN);
}

/* Whoever waits for the end of redlock's standard output waits for redlock, not
 * for this process. */
static void keep_only_stderr(void)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; fd <= STDOUT_FILENO; fd++)
        if (nowhere < 0 || dup2(nowhere, fd) < 0) (void)close(fd);
}

static void take_name(void)
{
#ifdef __linux__
    (void)prctl(PR_SET_NAME, "redlock-writer");
#endif
}

static void deliver(const struct settings *settings, struct piece *piece, size_t size)
{
    const struct outbox_head *head = &piece->head;

    assert(size <= sizeof piece->text);
    switch ((enum outlet)head->outlet) {
    case OUTLET_LOG:
        log_deliver(&settings->output, piece->text, size, head->mark, head->dropped);
        break;
    case OUTLET_METRICS:
        settings->meter->deliver(piece->text, size, head->mark, head->dropped);
        break;
    case OUTLET_STDERR:
        if (head->dropped > 0)
            say("%u messages were dropped here, for nobody read them", (unsigned)head->dropped);
        (void)write_all(STDERR_FILENO, piece->text, size);
        break;
    case OUTLET_COUNT: break;
    }
}

_Noreturn static void become_writer(const struct settings *settings, int reader)
{
    static struct piece piece;
    ssize_t size;

    assert(reader >= 0);
    outbox_leave();
    ignore_signals();
    keep_only_stderr();
    take_name();
    while ((size = recv(reader, &piece, sizeof piece, 0)) > 0 || (size < 0 && errno == EINTR))
        if (size >= (ssize_t)sizeof piece.head)
            deliver(settings, &piece, (size_t)size - sizeof piece.head);
    _exit(EXIT_SUCCESS);
}

int writer_begin(const struct settings *settings)
{
    int reader, error;
    pid_t pid;

    if (!outbox_open(&reader)) return errno;
    pid = fork();
    error = errno;
    if (pid == 0) become_writer(settings, reader);
    (void)close(reader);
    if (pid > 0) tree_spare(pid);
    else         outbox_leave();
    return pid > 0 ? 0 : error;
}

void writer_end(void)
{
    outbox_close(redlock_now_us() + PATIENCE_US);
}
