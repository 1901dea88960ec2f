#define _GNU_SOURCE
#include "process.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

enum { LOOK_US = 200 * 1000 };

void process_open(struct process *process, pid_t pid)
{
    assert(pid > 0);
    *process = (struct process){ .pid = pid, .fd = -1 };
#ifdef SYS_pidfd_open
    process->fd = (int)syscall(SYS_pidfd_open, pid, 0);
    process->has_ended = process->fd < 0 && errno == ESRCH;
#endif
}

bool process_lives(struct process *process)
{
    struct pollfd fd = { .fd = process->fd, .events = POLLIN };

    assert(process->pid > 0);
    if (process->has_ended) return false;
    if (process->fd >= 0) process->has_ended = poll(&fd, 1, 0) > 0;
    else                  process->has_ended = kill(process->pid, 0) != 0 && errno == ESRCH;
    return !process->has_ended;
}

uint64_t process_next(const struct process *process, uint64_t now_us)
{
    return process->fd >= 0 ? UINT64_MAX : now_us + LOOK_US;
}

void process_close(struct process *process)
{
    if (process->fd >= 0) (void)close(process->fd);
    process->fd = -1;
}
