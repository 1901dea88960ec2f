/* Strict order (S24, S25): a fair lock, from the doorway to its turn. fair.c says what the nodes do. */
#ifndef REDLOCK_KINDS_FAIR_H
#define REDLOCK_KINDS_FAIR_H

#include "../kind.h"

/* What a poll says that is refused, beside the largest ticket and the time: the largest turn in the queue, and how many are before
 * the lock; -1: it is not in the queue, -2: the poll was an old one. False: it is not that. */
REDLOCK_PRIVATE bool fair_read_place(const struct wire_reply *reply, uint32_t *turn, int32_t *rank);

#endif
