/* What is guarded: the command and every process below it, none of which may live when the validity
 * of the lock ends (S19).
 *
 *      told last                                               end of the validity
 *      |------------------------------------|---- grace ----|- margin -|
 *                                        SIGTERM         SIGKILL
 *
 * If that is known too late (this process was stopped, or the machine slept) both signals are sent
 * at once. Knows no lock. */
#ifndef WARD_H
#define WARD_H

#include <stdbool.h>
#include <stdint.h>

#include "child.h"

struct ward {
    struct child child;
    /* All processes below this one are of the command: also those that have left its group. */
    bool is_all_below;
    uint32_t grace_ms;
    uint32_t margin_ms;         /* A kernel needs some time to end processes. */
    uint64_t valid_until;       /* Told last, by the clock of redlock_now_us(). */
    bool is_ending, is_killed;
    uint64_t kill_at;           /* When ending. */
};

/* Ends it: SIGTERM now, SIGKILL after the grace, or earlier if the validity ends earlier. Returns
 * 0, or an errno if the command's group cannot be signalled. */
int ward_end(struct ward *ward, uint64_t now_us);

/* Does what time demands. */
void ward_judge(struct ward *ward, uint64_t now_us);

/* When to call ward_judge at the latest. */
uint64_t ward_next(const struct ward *ward, uint64_t now_us);

/* Has the command ended, and, if it was ended, with all that was below it? What cannot be killed
 * (it waits for a disk, or is another user's) is not waited for beyond the validity, but for the
 * command itself. */
bool ward_is_gone(struct ward *ward, uint64_t now_us);

#endif
