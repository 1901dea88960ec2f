#define _GNU_SOURCE
#include "child.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "descriptors.h"
#include "print.h"
#include "signals.h"

/* ---- Start ---- */

/* If the guardian is killed with SIGKILL nothing may be left that ends the command: better none
 * than one without a lock. */
static void end_with_parent(pid_t parent)
{
    assert(parent > 0);
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(128 + SIGTERM);
#else
    (void)parent;
#endif
}

/* In the child. A failure is reported by its errno in the pipe, which an exec
 * that succeeds closes. */
_Noreturn static void become_program(char **program, pid_t parent, int report)
{
    int error;

    assert(program[0] && report >= 0);
    (void)setpgid(0, 0);
    end_with_parent(parent);
    signals_restore();
    (void)execvp(program[0], program);
    error = errno;
    while (write(report, &error, sizeof error) < 0 && errno == EINTR) { }
    _exit(127);
}

static int find_file(const char *file)
{
    struct stat found;

    if (stat(file, &found) != 0) return errno;
    return S_ISREG(found.st_mode) && access(file, X_OK) == 0 ? 0 : EACCES;
}

/* As execvp() looks for it, which has a PATH of its own where there is none. */
int child_find(const char *name)
{
    const char *path = getenv("PATH");
    int error = path ? ENOENT : 0;
    char file[PATH_MAX];

    if (strchr(name, '/')) return find_file(name);
    while (path) {
        int size = (int)strcspn(path, ":");
        (void)print_text(file, sizeof file, "%.*s/%s", size > 0 ? size : 1, size > 0 ? path : ".",
                         name);
        switch (find_file(file)) {
        case 0:      return 0;
        case EACCES: error = EACCES; break;
        default:     break;
        }
        path = path[size] != '\0' ? path + size + 1 : NULL;
    }
    return error;
}

int child_prepare(struct child *child)
{
    *child = (struct child){ 0 };
    return open_pipe(child->report) ? 0 : errno;
}

int child_start(struct child *child, char **program)
{
    pid_t parent = getpid();
    int error;

    assert(child->pid == 0 && program[0]);
    signals_block();
    child->pid = fork();
    error = child->pid < 0 ? errno : 0;
    if (child->pid == 0) become_program(program, parent, child->report[1]);
    (void)close(child->report[1]);
    if (error) child->pid = 0;
    else
        (void)setpgid(child->pid, child->pid); /* Both do it, so it is done whichever runs first. */
    signals_unblock();
    return error;
}

/* S28: the pipe does not wait. What was killed before it could run counts as one that ran. */
bool child_has_started(struct child *child, int *error)
{
    ssize_t taken;

    assert(child->report[0] >= 0);
    *error = 0;
    do taken = read(child->report[0], error, sizeof *error);
    while (taken < 0 && errno == EINTR);
    if (taken < 0) return false;
    (void)close(child->report[0]);
    child->report[0] = -1;
    return true;
}

/* ---- Watch and signal ---- */

void child_take(struct child *child, pid_t pid, int status)
{
    assert(pid > 0);
    if (pid != child->pid) return;
    child->stopped_by = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
    child->has_ended = !WIFSTOPPED(status);
    child->status = status;
}

void child_look(struct child *child)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) child_take(child, pid, status);
    child->has_siblings = pid == 0;
}

int child_signal(const struct child *child, int number)
{
    return child->pid == 0 || kill(-child->pid, number) == 0 || errno == ESRCH ? 0 : errno;
}

/* While a process of the group lives its number is nobody else's: setpgid(2), and the kernel's
 * pid_t of a group is a reference. */
bool child_group_lives(struct child *child)
{
    if (child->has_ended && kill(-child->pid, 0) != 0 && errno == ESRCH) child->pid = 0;
    return child->pid != 0;
}

int child_exit_status(const struct child *child)
{
    assert(WIFEXITED(child->status) || WIFSIGNALED(child->status));
    return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}
