/* Whether a process that is not ours lives. Knows no lock. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    int fd;             /* Can be read when it has ended. -1: the system has no such descriptors. */
    bool has_ended;
};

/* Looks for it. From now on another process that is given the same number later is not mistaken for
 * it; but it is where there are no such descriptors, if that happens between two looks. */
void process_open(struct process *process, pid_t pid);

bool process_lives(struct process *process);

/* When to look again, if the descriptor does not tell. */
uint64_t process_next(const struct process *process, uint64_t now_us);

void process_close(struct process *process);

#endif
