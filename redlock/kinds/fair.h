/* A fair lock in strict order, from the doorway to its turn (S24, S25). fair.c describes the work
 * of the nodes. */
#ifndef REDLOCK_KINDS_FAIR_H
#define REDLOCK_KINDS_FAIR_H

#include "../kind.h"

/* Reads a poll's refusal. Besides the largest ticket and the time it has the largest turn in the
 * queue, and the number of clients before the lock; -1: it is not in the queue, -2: the poll was an
 * old one. False: the reply is no such refusal. */
REDLOCK_PRIVATE bool fair_read_place(const struct wire_reply *reply, uint32_t *turn, int32_t *rank);

#endif
