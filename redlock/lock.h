/* The dispatcher: whatever happens (an answer, a connection that is lost, a time that has come) goes to the operation that it is
 * about, and then to the one that is waiting for it. No operation knows another: what one leaves to the next is said here. */
#ifndef REDLOCK_LOCK_H
#define REDLOCK_LOCK_H

#include "stake.h"

/* Has what just happened decided the round? To be called after each operation that has begun. */
REDLOCK_PRIVATE void lock_judge(struct redlock *r, struct redlock_lock *lock);

REDLOCK_PRIVATE void lock_answer(struct redlock *r, const struct answer *a);

/* A command will not be answered any longer: its connection is lost. The lock may be NULL. */
REDLOCK_PRIVATE void lock_never_answered(struct redlock *r, unsigned k, const struct redlock_asked *asked);

/* What the lock wants of node k waits in the queue of a node that cannot take it now. */
REDLOCK_PRIVATE void lock_turn_away(struct redlock *r, unsigned k, struct redlock_lock *lock);

/* There are random bytes for a lock that waits for them. */
REDLOCK_PRIVATE void lock_begin_with_entropy(struct redlock *r, struct redlock_lock *lock);

/* Its time has come: a deadline, a retry, a debt. */
REDLOCK_PRIVATE void lock_tick(struct redlock *r, struct redlock_lock *lock);

#endif
