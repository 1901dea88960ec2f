/* The command that runs while the lock is held: a process group of its own, so that all of it can be ended. Knows no lock.
 *
 * The terminal stays with redlock's own group, so that what the keyboard sends (SIGINT, SIGTSTP) comes to the script around
 * it as well, and is passed on. Only when the child wants to read from the terminal it is given it, as a shell would. */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct child {
    pid_t pid;              /* Of its process group, too. */
    int terminal;           /* The terminal that controls both, or -1. */
    bool has_terminal;      /* It was given it, */
    bool wants_terminal;    /* and gets it again when both were stopped and go on. */
    bool has_ended;
    int status;             /* Of waitpid(), when it has ended. */
    int stopped_by;         /* The signal that stopped it since child_look() was called last, or 0. */
};

/* Runs program[0], looked for in PATH, with these arguments. Signals are caught already. Returns 0, or the errno of what
 * failed: then nothing runs. */
int child_start(struct child *child, char **program);

/* Finds out what became of it, without waiting. */
void child_look(struct child *child);

/* Sends a signal to the whole group. Returns 0, or an errno: none when the group is gone. */
int child_signal(const struct child *child, int number);

/* True while there is any process in its group. */
bool child_group_lives(const struct child *child);

/* Gives the terminal to the child's group, if it is this program's to give. */
bool child_give_terminal(struct child *child);

/* Takes it back, if the child has it. */
void child_take_terminal(struct child *child);

/* The exit status by which a shell tells of it: the child's own, or 128 and the signal that ended it. */
int child_exit_status(const struct child *child);

#endif
