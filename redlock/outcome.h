/* How an operation ends: with which status, and what it gives back. */
#ifndef REDLOCK_OUTCOME_H
#define REDLOCK_OUTCOME_H

#include "lock_state.h"

/* The operation has ended: the lock goes into that phase, and the caller is told of the status. */
REDLOCK_PRIVATE void outcome_set(struct redlock *r, struct redlock_lock *lock, enum phase phase, enum redlock_status status);

/* Gives back its entries among the waiters, as if they were keys. */
REDLOCK_PRIVATE void outcome_leave_waiters(struct redlock *r, struct redlock_lock *lock);

/* Why a round is lost: time ran out while a quorum granted or still might; or enough nodes answer, and some refused; or too
 * few answer. TOO_LATE, TAKEN, NO_QUORUM. */
REDLOCK_PRIVATE enum redlock_status outcome_of_loss(const struct redlock_round *round, bool has_run_out);

#endif
