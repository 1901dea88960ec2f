/* The command that runs while the lock is held: a process group of its own, so that all of it can
 * be ended. Knows no lock, and no terminal. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;              /* Of its process group, too. 0: not begun, or the group is gone. */
    /* By which the child tells why it cannot run. To be polled at [0] until child_has_started(). */
    int report[2];
    bool has_ended;
    int status;             /* Of waitpid(), when it has ended. */
    int stopped_by;         /* The signal that stopped it since this was cleared, or 0. */
    /* When it has ended: other children of this process lived at the last look. */
    bool has_siblings;
};

/* Can a program of that name be run, as far as its file tells? Returns 0 or an errno. */
int child_find(const char *name);

/* Opens all that child_start() needs. Returns 0 or an errno. */
int child_prepare(struct child *child);

/* Begins to run program[0], looked for in PATH, with these arguments. Signals are caught already.
 * Returns 0, or the errno of a process that cannot be made. Once for each child_prepare(). */
int child_start(struct child *child, char **program);

/* Is it known whether it runs? A file system that hangs makes exec() wait. Then *error is 0, or the
 * errno of what failed. */
bool child_has_started(struct child *child, int *error);

/* Takes what waitpid() told of a process; of any other than this one nothing is to be remembered,
 * nor of one that gets its number when its group is gone. */
void child_take(struct child *child, pid_t pid, int status);

/* Finds out what became of it, without waiting. All children of this process that have
 * ended are reaped. */
void child_look(struct child *child);

/* Sends a signal to the whole group. Returns 0, or an errno: none when the group is gone, or was
 * never begun. */
int child_signal(const struct child *child, int number);

/* True while there is any process in its group. Afterwards never again: the kernel gives the number
 * to others. */
bool child_group_lives(struct child *child);

/* The exit status by which a shell tells of it: the child's own, or 128 and the signal
 * that ended it. */
int child_exit_status(const struct child *child);

#endif
