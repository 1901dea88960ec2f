#define _GNU_SOURCE
#include "writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "descriptors.h"
#include "log.h"
#include "meter.h"
#include "outbox.h"
#include "tree.h"

enum {
    PATIENCE_US = 2 * 1000 * 1000,
    /* Words that nobody reads are kept for so long after redlock and its guardian have ended. */
    KEPT_S = 600
};

static pid_t writer;
static int reader = -1;

struct piece {
    struct outbox_head head;
    char text[OUTBOX_PIECE_MAX];
};

/* In redlock's group: what a terminal sends to that is not meant for it. */
static void ignore_signals(void)
{
    for (int number = 1; number < NSIG; number++) (void)signal(number, SIG_IGN);
}

/* Nobody waits for it any longer. */
static void let_signals_end_it(void)
{
    static const int ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) (void)signal(ends[i], SIG_DFL);
}

/* The log and the metrics go on when the words are given up. */
static void write_words(const char *text, size_t size)
{
    static unsigned seconds;
    size_t used = 0;

    assert(reader >= 0);
    while (seconds < KEPT_S &&
           (used += write_patiently(STDERR_FILENO, text + used, size - used, 1000)) < size) {
        if (errno != EAGAIN) return;
        if (!outbox_is_over(reader)) continue;
        let_signals_end_it();
        seconds++;
    }
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
        write_words(piece->text, size);
        break;
    case OUTLET_COUNT: break;
    }
}

_Noreturn static void become_writer(const struct settings *settings)
{
    static struct piece piece;
    ssize_t size;

    assert(reader >= 0);
    outbox_write_by(write_words);
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
    int error;

    if (!outbox_open(&reader)) return errno;
    writer = fork();
    error = errno;
    if (writer == 0) become_writer(settings);
    (void)close(reader);
    if (writer > 0) tree_spare(writer);
    else            outbox_leave();
    return writer > 0 ? 0 : error;
}

void writer_end(void)
{
    /* Its parent may reap nobody. */
    if (outbox_close(redlock_now_us() + PATIENCE_US)) (void)waitpid(writer, NULL, 0);
}
