/* The end of an operation, with its status, and the entries that it gives back. */
#ifndef REDLOCK_OUTCOME_H
#define REDLOCK_OUTCOME_H

#include "lock_state.h"

/* The operation has ended. The lock goes into that phase, and the status is reported
 * to the caller. */
REDLOCK_PRIVATE void outcome_set(struct redlock *r, struct redlock_lock *lock,
                                 enum redlock_phase phase, enum redlock_status status);

/* Gives back its entries among the waiters, as if they were keys. */
REDLOCK_PRIVATE void outcome_leave_waiters(struct redlock *r, struct redlock_lock *lock);

/* Why a round is lost. TOO_LATE: time ran out while a quorum granted or still might. TAKEN: enough
 * nodes answer, and some refused. NO_QUORUM: too few answer. */
REDLOCK_PRIVATE enum redlock_status outcome_of_loss(const struct redlock_round *round,
                                                    bool has_run_out);

#endif
