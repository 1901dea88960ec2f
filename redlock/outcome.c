#include "outcome.h"

#include "quorum.h"
#include "stake.h"

void outcome_leave_waiters(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(!lock->entries || r->waking);
    if (lock->entries) r->waking->give_back(r, lock);
    REDLOCK_ASSERT(!lock->entries || lock->owed_until > r->now_us);
}

void outcome_set(struct redlock *r, struct redlock_lock *lock, enum redlock_phase phase,
                 enum redlock_status status)
{
    REDLOCK_CHECK(phase == REDLOCK_PHASE_IDLE || phase == REDLOCK_PHASE_HELD);
    if (lock->round.decided_at == 0) lock->round.decided_at = r->now_us;
    lock_leave_queue(r, lock);
    if (r->waking) r->waking->leave(r, lock);
    lock_set_phase(r, lock, phase);
    if (phase == REDLOCK_PHASE_IDLE) outcome_leave_waiters(r, lock);
    lock_tell(r, lock, status);
}

enum redlock_status outcome_of_loss(const struct redlock_round *round, bool has_run_out)
{
    unsigned quorum = quorum_of(round->node_count);
    unsigned possible = round_count(round->granted) + round_pending(round);

    if (has_run_out && possible + round_count(round->unknown) >= quorum) return REDLOCK_TOO_LATE;
    return possible + round_count(round->refused) >= quorum ? REDLOCK_TAKEN : REDLOCK_NO_QUORUM;
}
