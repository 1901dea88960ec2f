#include "extend.h"

#include "outcome.h"
#include "quorum.h"

void extend_begin(struct redlock *r, struct redlock_lock *lock, uint32_t ttl_ms)
{
    REDLOCK_CHECK(lock_is_held(lock, r->now_us));
    REDLOCK_ASSERT(ttl_ms > 0);
    lock_begin_round(r, lock, REDLOCK_COMMAND_EXTEND, ttl_ms, lock->valid_until);
    lock_set_phase(r, lock, REDLOCK_PHASE_EXTENDING);
    for (unsigned k = 0; k < r->node_count; k++) {
        if (lock->stakes[k].state == STAKE_PLACED && stake_may_ask(r, lock, k, false)) {
            stake_want(r, lock, k, REDLOCK_COMMAND_EXTEND);
        } else {    /* A key that may be there is part of the old promise, so it stays. */
            if (lock->stakes[k].want != REDLOCK_COMMAND_RELEASE) stake_want_nothing(r, lock, k);
            round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
        }
    }
    REDLOCK_ASSERT(lock->round.deadline_at <= lock->valid_until);     /* S9 */
}

/* The earlier promise holds in any case, since no key was shortened (S7). An adopted lock had no
 * promise whose end could be known. If its time is over, too few nodes have answered. */
static enum redlock_status lose_extension(struct redlock *r, struct redlock_lock *lock, bool ended)
{
    const struct redlock_round *round = &lock->round;

    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_EXTENDING);
    REDLOCK_ASSERT(ended || round_validity_us(round, r->now_us) == 0 ||
                   round_count(round->granted) < quorum_of(r->node_count));
    if (lock->is_unconfirmed && ended) {
        round_close(&lock->round);
        ended = false;
    }
    if (lock->is_unconfirmed) lock->valid_until = 0;
    /* Nothing is sent for it any longer, even if the acquire began just now. */
    lock->round.deadline_at = r->now_us;
    return ended ? REDLOCK_LOST : outcome_of_loss(round, round_validity_us(round, r->now_us) == 0);
}

/* Nodes that could not be asked before it was won are asked nevertheless. */
static enum redlock_status win_extension(struct redlock *r, struct redlock_lock *lock)
{
    const struct redlock_round *round = &lock->round;

    REDLOCK_ASSERT(lock_is_held(lock, r->now_us) &&
                   round_count(round->granted) >= quorum_of(r->node_count));
    if (lock->is_unconfirmed) lock->valid_until = 0;    /* Nobody had promised validity before. */
    lock->is_unconfirmed = false;
    lock->valid_from = round->started_at;
    lock->valid_until = later(lock->valid_until, r->now_us + round_validity_us(round, r->now_us));
    REDLOCK_ASSERT(lock_valid_us(lock, r->now_us) >= round_validity_us(round, r->now_us));
    lock->extension_count++;
    for (unsigned k = 0; k < r->node_count && r->restoring; k++) r->restoring->key(r, lock, k);
    return REDLOCK_OK;
}

/* S9: counts only when a quorum confirms it before the old validity ends, and runs from the
 * extension's start. */
enum redlock_status extend_judge(struct redlock *r, struct redlock_lock *lock)
{
    bool ended = r->now_us >= lock->valid_until || r->now_us < lock->valid_from;
    enum verdict verdict;

    REDLOCK_CHECK(lock->phase == REDLOCK_PHASE_EXTENDING);
    REDLOCK_ASSERT(lock->round.command == REDLOCK_COMMAND_EXTEND);
    if (lock->has_timed_out) round_close(&lock->round);
    verdict = ended ? VERDICT_LOST : round_verdict(&lock->round, r->now_us, 0);
    if (verdict == VERDICT_PENDING) return REDLOCK_PENDING;
    return verdict == VERDICT_WON ? win_extension(r, lock) : lose_extension(r, lock, ended);
}

void extend_answer(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    bool is_open = a->current && lock->phase == REDLOCK_PHASE_EXTENDING;
    bool is_won = a->current && lock->phase == REDLOCK_PHASE_HELD &&
                  lock->valid_from == lock->round.started_at;
    /* Each extra node that holds the key may fail later. */
    bool is_in_time = is_won && !lock_is_past_deadline(r, lock);

    REDLOCK_ASSERT(a->command == REDLOCK_COMMAND_EXTEND);
    REDLOCK_ASSERT(!is_won || lock->round.decided_at != 0);
    if ((is_open || is_in_time) && stake_sends_text(r, a)) return;
    stake_vote(a);
    if (lock->kind->extended && (is_open || is_won)) lock->kind->extended(a);
    if (is_won && r->restoring) r->restoring->key(r, lock, a->k);
}
