#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "signals.h"

/* ---- Start ---- */

/* If redlock is killed with SIGKILL nobody extends the lock: better no command than one without it. */
static void end_with_parent(pid_t parent)
{
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(128 + SIGTERM);
#else
    (void)parent;
#endif
}

/* In the child. A failure is told by its errno in the pipe, which an exec that succeeds closes. */
_Noreturn static void become_program(char **program, pid_t parent, int report)
{
    int error;

    (void)setpgid(0, 0);
    end_with_parent(parent);
    signals_restore();
    (void)execvp(program[0], program);
    error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR) { }
    _exit(127);
}

static int read_report(int report)
{
    int error = 0;
    ssize_t taken;

    do taken = read(report, &error, sizeof error);
    while (taken < 0 && errno == EINTR);
    return taken == (ssize_t)sizeof error ? error : 0;
}

static int open_report(int report[2])
{
    if (pipe(report) != 0) return errno;
    if (fcntl(report[0], F_SETFD, FD_CLOEXEC) != 0 || fcntl(report[1], F_SETFD, FD_CLOEXEC) != 0) return errno;
    return 0;
}

int child_start(struct child *child, char **program)
{
    int report[2], error = open_report(report);
    pid_t parent = getpid();

    if (error) return error;
    *child = (struct child){ .terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) };
    signals_block();
    child->pid = fork();
    error = child->pid < 0 ? errno : 0;
    if (child->pid == 0) become_program(program, parent, report[1]);
    (void)close(report[1]);
    if (!error) {
        (void)setpgid(child->pid, child->pid);      /* Both do it, so it is done whoever runs first. */
        error = read_report(report[0]);
        if (error) (void)waitpid(child->pid, NULL, 0);
    }
    signals_unblock();
    (void)close(report[0]);
    return error;
}

/* ---- Watch and signal ---- */

void child_look(struct child *child)
{
    int status;

    child->stopped_by = 0;
    while (!child->has_ended && waitpid(child->pid, &status, WNOHANG | WUNTRACED) > 0) {
        child->stopped_by = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
        child->has_ended = !WIFSTOPPED(status);
        child->status = status;
    }
}

int child_signal(const struct child *child, int number)
{
    return kill(-child->pid, number) == 0 || errno == ESRCH ? 0 : errno;
}

bool child_group_lives(const struct child *child)
{
    return kill(-child->pid, 0) == 0 || errno != ESRCH;
}

int child_exit_status(const struct child *child)
{
    return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}

/* ---- Terminal ---- */

/* (A process in the background that calls tcsetpgrp is stopped by SIGTTOU, which is ignored.) */
bool child_give_terminal(struct child *child)
{
    if (child->terminal < 0 || tcgetpgrp(child->terminal) != getpgrp()) return false;
    child->has_terminal = child->wants_terminal = tcsetpgrp(child->terminal, child->pid) == 0;
    return child->has_terminal;
}

void child_take_terminal(struct child *child)
{
    if (child->has_terminal && tcgetpgrp(child->terminal) == child->pid) (void)tcsetpgrp(child->terminal, getpgrp());
    child->has_terminal = false;
}
