/* The command that runs while the lock is held: a process group of its own, so that all of it can be ended. Knows no lock, and
 * no terminal. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;              /* Of its process group, too. */
    int report[2];          /* By which the child tells why it cannot run. */
    bool has_ended;
    int status;             /* Of waitpid(), when it has ended. */
    int stopped_by;         /* The signal that stopped it since this was cleared, or 0. */
};

/* Opens all that child_start() needs. Returns 0 or an errno. */
int child_prepare(struct child *child);

/* Runs program[0], looked for in PATH, with these arguments. Signals are caught already. Returns 0, or the errno of what
 * failed: then nothing runs. Once for each child_prepare(). */
int child_start(struct child *child, char **program);

/* Takes what waitpid() told of a process; of any other than this one nothing is to be remembered. */
void child_take(struct child *child, pid_t pid, int status);

/* Finds out what became of it, without waiting. All children of this process that have ended are reaped. */
void child_look(struct child *child);

/* Sends a signal to the whole group. Returns 0, or an errno: none when the group is gone. */
int child_signal(const struct child *child, int number);

/* True while there is any process in its group. */
bool child_group_lives(const struct child *child);

/* The exit status by which a shell tells of it: the child's own, or 128 and the signal that ended it. */
int child_exit_status(const struct child *child);

#endif
