#define _GNU_SOURCE
#include "signals.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "descriptors.h"

static const int ending[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };
static const int more[] = { SIGCHLD, SIGCONT, SIGTSTP, SIGWINCH };

/* A handler has no argument of ours, so these are the program's only global variables. */
static int pipe_ends[2] = { -1, -1 };
static sigset_t mask_given, mask_before;
static struct {
    int number;
    bool was_ignored;
} ignored[] = { { SIGPIPE, false },
                { SIGTTOU, false },
                { SIGXFSZ, false } }; /* A full log is an error like others. */

enum {
    ENDING_COUNT = sizeof ending / sizeof ending[0],
    MORE_COUNT = sizeof more / sizeof more[0],
    IGNORED_COUNT = sizeof ignored / sizeof ignored[0]
};

static void put_in_pipe(int number)
{
    int error = errno;
    unsigned char byte = (unsigned char)number;

    if (write(pipe_ends[1], &byte, 1) != 1) { /* Full: there is enough to read. */ }
    errno = error;
}

/* Even if a parent has left it blocked: a program that is deaf to SIGTERM is ended by SIGKILL,
 * which leaves the lock behind. */
static void catch(int number)
{
    struct sigaction action = { .sa_handler = put_in_pipe, .sa_flags = SA_RESTART };
    sigset_t caught;

    assert(number > 0);
    (void)sigfillset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
    (void)sigemptyset(&caught);
    (void)sigaddset(&caught, number);
    (void)sigprocmask(SIG_UNBLOCK, &caught, NULL);
}

static bool is_ignored(int number)
{
    struct sigaction action;

    assert(number > 0);
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool signals_open(void)
{
    if (!open_pipe(pipe_ends)) return false;
    (void)sigprocmask(SIG_BLOCK, NULL, &mask_given);
    for (size_t i = 0; i < ENDING_COUNT; i++) {
        if (!is_ignored(ending[i])) catch(ending[i]);
    }
    for (size_t i = 0; i < IGNORED_COUNT; i++) {
        ignored[i].was_ignored = is_ignored(ignored[i].number);
        (void)signal(ignored[i].number, SIG_IGN);
    }
    return true;
}

void signals_close(void)
{
    assert(pipe_ends[0] >= 0);
    signals_restore();
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
}

void signals_catch_more(void)
{
    for (size_t i = 0; i < MORE_COUNT; i++) {
        if (more[i] == SIGCHLD || !is_ignored(more[i])) catch(more[i]);
    }
}

int signals_fd(void)
{
    assert(pipe_ends[0] >= 0);
    return pipe_ends[0];
}

int signals_next(void)
{
    unsigned char byte;

    return read(pipe_ends[0], &byte, 1) == 1 ? byte : 0;
}

bool signal_ends(int number)
{
    for (size_t i = 0; i < ENDING_COUNT; i++) {
        if (ending[i] == number) return true;
    }
    return false;
}

void signals_block(void)
{
    sigset_t all;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &mask_before);
}

void signals_unblock(void)
{
    (void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

static void restore(int number)
{
    if (!is_ignored(number)) (void)signal(number, SIG_DFL);
}

void signals_restore(void)
{
    for (size_t i = 0; i < ENDING_COUNT; i++) restore(ending[i]);
    for (size_t i = 0; i < MORE_COUNT; i++) restore(more[i]);
    for (size_t i = 0; i < IGNORED_COUNT; i++) {
        if (!ignored[i].was_ignored) (void)signal(ignored[i].number, SIG_DFL);
    }
    (void)sigprocmask(SIG_SETMASK, &mask_given, NULL);
}

void signals_obey(int number)
{
    struct sigaction given, action = { .sa_handler = SIG_DFL };

    assert(number > 0);
    (void)sigaction(number, &action, &given);
    (void)kill(0, number);
    (void)sigaction(number, &given, NULL);
}
