/* The dispatcher hands every event (an answer, a lost connection, a time that has come) to its
 * operation, and then to the operation that waits for it. No operation knows another. Only this
 * file knows what one leaves to the next. */
#ifndef REDLOCK_LOCK_H
#define REDLOCK_LOCK_H

#include "stake.h"

/* Ends the round if the last event has decided it. Call it after each operation that has begun. */
REDLOCK_PRIVATE void lock_judge(struct redlock *r, struct redlock_lock *lock);

REDLOCK_PRIVATE void lock_answer(struct redlock *r, const struct answer *a);

/* A command will not be answered any longer, since its connection is lost. The lock may be NULL. */
REDLOCK_PRIVATE void lock_never_answered(struct redlock *r, unsigned k,
                                         const struct redlock_asked *asked);

/* The lock's command waits in the queue of node k, which cannot take it now. */
REDLOCK_PRIVATE void lock_turn_away(struct redlock *r, unsigned k, struct redlock_lock *lock);

/* There are random bytes for a lock that waits for them. */
REDLOCK_PRIVATE void lock_begin_with_entropy(struct redlock *r, struct redlock_lock *lock);

/* The time of a deadline, a retry or a debt has come. */
REDLOCK_PRIVATE void lock_tick(struct redlock *r, struct redlock_lock *lock);

#endif
