#include "acquire.h"

#include "events.h"
#include "outcome.h"
#include "queue.h"
#include "quorum.h"
#include "random.h"
#include "retry.h"
#include "ticket.h"

/* ---- An attempt begins ---- */

/* Puts the SET to node k, now or when the older stake there is cleared. A lock that keeps its place
 * has the same token there. */
void acquire_ask(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    uint8_t state = lock->stakes[k].state;
    bool may_ask = stake_may_ask(r, lock, k, has_ticket(lock));
    /* If it is not, an older stake is cleared soon. */
    bool is_deferred = lock->deferred & bit_of(k);

    REDLOCK_CHECK(lock->phase == REDLOCK_PHASE_ACQUIRING);
    REDLOCK_ASSERT(round_vote_of(&lock->round, k) == REDLOCK_VOTE_PENDING);
    REDLOCK_ASSERT(state != STAKE_PLACED || lock->kind->keeps_place);
    if ((state == STAKE_NONE || state == STAKE_PLACED) && may_ask)
        stake_want(r, lock, k, REDLOCK_COMMAND_ACQUIRE);
    else if (is_deferred || !may_ask)  round_vote(&lock->round, k, REDLOCK_VOTE_NOT_ASKED);
    REDLOCK_ASSERT(!is_deferred || state == STAKE_OWED);
    REDLOCK_ASSERT(state == STAKE_OWED || state == STAKE_LEAVING ||
                   lock->stakes[k].want == REDLOCK_COMMAND_ACQUIRE ||
                   round_vote_of(&lock->round, k) != REDLOCK_VOTE_PENDING);
}

static void wait_for_entropy(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(r->entropy_size < REDLOCK_TOKEN_SIZE);
    lock_leave_queue(r, lock);
    lock_set_phase(r, lock, REDLOCK_PHASE_NEEDS_ENTROPY);
    lock->retry_at = timeout_at(r);
    queue_add(&r->needs_entropy, lock, SLOT_DONE);
    REDLOCK_ASSERT(lock_queue(r, lock) == &r->needs_entropy && r->needs_entropy.last == lock);
}

void acquire_end_without_entropy(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_NEEDS_ENTROPY && r->now_us >= lock->retry_at);
    outcome_set(r, lock, REDLOCK_PHASE_IDLE, REDLOCK_NO_ENTROPY);
    REDLOCK_ASSERT(lock->round.number == 0 || lock->round.decided_at != 0);
}

/* True if it keeps the token that it has. */
static bool goes_on(struct redlock *r, struct redlock_lock *lock)
{
    return lock->kind->begin_round && lock->kind->begin_round(r, lock);
}

/* Step 1 and 2 of the algorithm: "It gets the current time", "It tries to acquire the lock in all
 * the N instances". The time of the call is used, which is before the first byte leaves (S2). */
void acquire_begin(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t drift = drift_us(lock->ttl_ms, r->config.drift_ppm);
    uint64_t latest = r->now_us + validity_us(lock->ttl_ms, 0, drift) - min_validity_us(lock) + 1;

    REDLOCK_ASSERT(!lock_is_in_round(lock) && !lock_is_held(lock, r->now_us));
    REDLOCK_ASSERT(validity_us(lock->ttl_ms, 0, drift) >= min_validity_us(lock));
    if (has_ticket(lock) && !r->ticketing->propose(r, lock)) {
        outcome_set(r, lock, REDLOCK_PHASE_IDLE, REDLOCK_BAD_CLOCK);
        return;
    }
    lock->wakes = false;
    if (!goes_on(r, lock) && !draw_random(r, lock->token, sizeof lock->token)) {    /* S6 */
        wait_for_entropy(r, lock);
        return;
    }
    lock_leave_queue(r, lock);
    lock->is_yielding = false;
    lock->yields_to = 0;
    lock_begin_round(r, lock, REDLOCK_COMMAND_ACQUIRE, lock->ttl_ms, latest);
    lock_set_phase(r, lock, REDLOCK_PHASE_ACQUIRING);
    lock->asking = lock->taken = 0;
    for (unsigned k = 0; k < r->node_count; k++) {
        lock->stakes[k].holder_ms = REDLOCK_UNTOLD;
        acquire_ask(r, lock, k);
    }
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_ACQUIRING &&
                   (lock->round.granted | lock->round.refused | lock->round.unknown) == 0);
}

/* ---- It is decided ---- */

/* Nobody asks any longer for the holder's remaining time. */
static void stop_asking(struct redlock *r, struct redlock_lock *lock)
{
    if (r->holding) r->holding->stop(r, lock);
}

static void win_attempt(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_ACQUIRING &&
                   round_count(lock->round.granted) >= quorum_of(r->node_count));   /* S1 */
    stop_asking(r, lock);
    lock->valid_from = lock->round.started_at;
    lock->valid_until = r->now_us + round_validity_us(&lock->round, r->now_us);
    lock->is_unconfirmed = false;
    lock->extension_count = 0;
    lock->wakes = true;
    /* A client woken this way keeps its long poll interval; otherwise every waiter would poll
     * several times before its turn. */
    if (!lock_is_woken(r, lock)) lock->refusals = 0;
    lock->attempt_status = REDLOCK_OK;
    event_note(r, lock, REDLOCK_EVENT_VERDICT, REDLOCK_OK);
    outcome_set(r, lock, REDLOCK_PHASE_HELD, REDLOCK_OK);
    REDLOCK_ASSERT(lock_is_held(lock, r->now_us));
    /* S2 */
    REDLOCK_ASSERT(lock->valid_until - lock->valid_from < (uint64_t)lock->ttl_ms * 1000);
}

/* The pause before the next attempt. False: there is no time for one. */
static bool wait_for_next(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t pause_us = retry_pause_us(r);

    if (!retry_has_time(r, lock)) return false;
    if (r->waking)           pause_us = r->waking->lengthen(r, lock, pause_us);
    if (lock->kind->shorten) pause_us = lock->kind->shorten(r, lock, pause_us);
    retry_begin(r, lock, pause_us);
    return true;
}

/* Step 5: "it will try to unlock all the instances (even the instances it believed it was not able
 * to lock)" (S5).
 *
 * A client whose clock is slower than others proposes too small a ticket, and nodes where the
 * resource is free report that. The next attempt may begin at once, since nobody is in its way.
 * This is the one exception from S14, which keeps rivals from meeting again and again. It is made
 * once, since after that somebody is in the way. It is part of the one attempt of a lock that does
 * not wait, or "taken" would be told of a free resource. */
static void lose_attempt(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_ACQUIRING && !lock_is_held(lock, r->now_us));
    lock->round.decided_at = r->now_us;
    lock->attempt_status = (uint8_t)outcome_of_loss(
        &lock->round, round_validity_us(&lock->round, r->now_us) < min_validity_us(lock));
    event_note(r, lock, REDLOCK_EVENT_VERDICT, lock->attempt_status);
    if (lock->kind->stay && lock->kind->stay(r, lock)) return;
    stake_let_go_everywhere(r, lock);
    if (has_ticket(lock) && r->ticketing->is_behind(r, lock)) {
        lock->is_corrected = true;
        lock_set_phase(r, lock, REDLOCK_PHASE_WAITING);
        lock->retry_at = r->now_us;
    } else {
        lock->is_corrected = false;
        if (!wait_for_next(r, lock)) lock_set_phase(r, lock, REDLOCK_PHASE_ENDING);
    }
    REDLOCK_ASSERT(lock->attempt_status != REDLOCK_OK);
    /* A clock that has gone back may grant one attempt more. */
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_ENDING || lock->is_corrected ||
                   lock->wait_until >= r->now_us || r->now_us < lock->round.started_at);
}

void acquire_judge_ending(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_ENDING && lock->attempt_status != REDLOCK_OK);
    if (lock->asking != 0 && !lock->has_timed_out) return;
    stop_asking(r, lock);
    REDLOCK_ASSERT(lock->asking == 0);
    outcome_set(r, lock, REDLOCK_PHASE_IDLE,
                lock->wait_until == 0 ? (enum redlock_status)lock->attempt_status
                                      : REDLOCK_TIMEOUT);
}

void acquire_judge(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_ACQUIRING &&
                   lock->round.command == REDLOCK_COMMAND_ACQUIRE);
    if (lock->has_timed_out) round_close(&lock->round);
    switch (round_verdict(&lock->round, r->now_us, min_validity_us(lock))) {
    case VERDICT_PENDING: return;
    case VERDICT_WON:     win_attempt(r, lock); return;
    case VERDICT_LOST:    lose_attempt(r, lock);
    }
    REDLOCK_ASSERT(lock->phase != REDLOCK_PHASE_ACQUIRING && lock->round.decided_at != 0);
    if (lock->phase == REDLOCK_PHASE_ENDING) acquire_judge_ending(r, lock);
}

/* ---- Answers ---- */

/* A refusal proves that nothing of ours is there, unless the lock keeps its place, so no release is
 * needed. A release that has been sent already is still answered, and only then does the lock line
 * up. A script is sent while nothing is let go, since a grant that arrives when the lock is held
 * may be from a node that counts later, and an answer that arrives when a round is lost may
 * keep a place. */
void acquire_answer(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    uint8_t state = lock->stakes[a->k].state;
    bool is_wanted = lock->phase == REDLOCK_PHASE_ACQUIRING ||
                     lock->phase == REDLOCK_PHASE_WAITING || lock->phase == REDLOCK_PHASE_ENDING;

    /* While the command is on its way, the key is not known to be gone. */
    REDLOCK_ASSERT(a->command == REDLOCK_COMMAND_ACQUIRE && state != STAKE_NONE);
    if (a->current && state == STAKE_PLACED && stake_sends_text(r, a)) {
        if (!lock->kind->keeps_place) stake_set(lock, a->k, STAKE_NONE);
        return;
    }
    stake_vote(a);
    if (lock->kind->granted && a->meaning == REDLOCK_ANSWER_GRANTED) lock->kind->granted(r, a);
    if (a->current && a->trouble == REDLOCK_TROUBLE_AHEAD) ticket_found_ahead(lock);
    if (lock->kind->answered) {
        lock->kind->answered(r, a);
        return;
    }
    if (a->meaning != REDLOCK_ANSWER_REFUSED) return;
    if (state == STAKE_PLACED || state == STAKE_OWED) stake_clear(r, lock, a->k);
    REDLOCK_ASSERT(lock->stakes[a->k].state == STAKE_NONE ||
                   lock->stakes[a->k].state == STAKE_LEAVING);
    if (a->current && is_wanted && r->holding) r->holding->learn(r, a);
}
