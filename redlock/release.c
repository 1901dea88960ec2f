#include "release.h"

#include "outcome.h"
#include "quorum.h"

/* Puts the release to node k, or owes it. If nothing of ours is there, there is
 * nothing to remove. */
static void ask_to_release(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_RELEASING && !lock->is_adopted);
    stake_let_go(r, lock, k);
    if (lock->deferred & bit_of(k)) stake_owe(r, lock, k);
    if (has_entry(lock, k) && lock->stakes[k].state == STAKE_NONE) stake_owe(r, lock, k);
    if (lock->stakes[k].state == STAKE_NONE) round_vote(&lock->round, k, REDLOCK_VOTE_REFUSED);
    else if (r->nodes[k].state != NODE_READY && r->nodes[k].settled)
        round_vote(&lock->round, k, REDLOCK_VOTE_UNKNOWN);
    REDLOCK_ASSERT(lock->stakes[k].state != STAKE_PLACED);      /* S4 */
}

void release_begin(struct redlock *r, struct redlock_lock *lock)
{
    bool held = lock_is_held(lock, r->now_us);

    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_HELD || lock->phase == REDLOCK_PHASE_EXTENDING);
    lock->is_adopted = false;
    lock->valid_until = 0;      /* It is not held from now on, whatever the nodes answer. */
    lock_begin_round(r, lock, REDLOCK_COMMAND_RELEASE, 0, REDLOCK_NEVER);
    lock_set_phase(r, lock, REDLOCK_PHASE_RELEASING);
    for (unsigned k = 0; k < r->node_count; k++) ask_to_release(r, lock, k);
    if (!held) outcome_set(r, lock, REDLOCK_PHASE_IDLE, REDLOCK_LOST);
    REDLOCK_ASSERT(!lock_is_held(lock, r->now_us) && (held || lock->status == REDLOCK_LOST));
}

/* A quorum that confirms is enough. Otherwise all nodes that can answer are waited for. The
 * rest is owed. */
void release_judge(struct redlock *r, struct redlock_lock *lock)
{
    const struct redlock_round *round = &lock->round;
    unsigned quorum = quorum_of(round->node_count);
    bool confirmed = round_count(round->granted) >= quorum;

    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_RELEASING &&
                   round->command == REDLOCK_COMMAND_RELEASE);
    REDLOCK_ASSERT(!lock_is_held(lock, r->now_us));
    if (!confirmed && round_pending(round) > 0 && !lock->has_timed_out) return;
    outcome_set(r, lock, REDLOCK_PHASE_IDLE,
                round_count(round->refused) >= quorum ? REDLOCK_LOST : REDLOCK_OK);
}

/* True if a release that has found something, or nothing, is the last one. */
static bool is_last(uint8_t *strays, bool is_gone)
{
    unsigned before = *strays;

    if (is_gone) {
        *strays |= STRAYS_MISSED;
        return (before & STRAYS_COUNT) == 0 || before & STRAYS_MISSED;
    }
    *strays &= (uint8_t)~STRAYS_MISSED;
    if (before & STRAYS_COUNT) (*strays)--;
    return (*strays & STRAYS_COUNT) == 0;
}

/* "Gone" is the end of it, unless a SET may still be on its way on a connection that broke. If so,
 * the release is sent once more, later. The same holds for a key that was there, if another SET may
 * have set it. After an error it stays owed, unless the key has another type, and so
 * is not ours. */
void release_answer(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    struct redlock_stake *stake = &lock->stakes[a->k];
    bool is_gone = a->meaning == REDLOCK_ANSWER_REFUSED || a->trouble == REDLOCK_TROUBLE_WRONGTYPE;
    bool is_over;

    REDLOCK_CHECK(stake->state == STAKE_LEAVING);
    if (a->meaning == REDLOCK_ANSWER_ERROR && !is_gone && a->gives_back)
        r->waking->keep_entry(lock, a->k);
    if (stake_sends_text(r, a)) return;
    stake_vote(a);
    is_over = (is_gone || a->meaning == REDLOCK_ANSWER_GRANTED) && is_last(&stake->strays, is_gone);
    if (is_over) stake_clear(r, lock, a->k);
    else         stake_defer(r, lock, a->k);
    REDLOCK_ASSERT(stake->state == (is_over ? STAKE_NONE : STAKE_OWED));
}

void release_retire(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(!lock->is_adopted);      /* S17 */
    stake_let_go_everywhere(r, lock);
    outcome_leave_waiters(r, lock);
    /* The keeper's extension was under way. */
    if (lock->round.decided_at == 0) lock->round.decided_at = r->now_us;
    lock_set_phase(r, lock, REDLOCK_PHASE_IDLE);
    REDLOCK_ASSERT(!lock_is_held(lock, r->now_us));
}
