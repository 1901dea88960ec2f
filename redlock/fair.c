/* A fair lock is acquired in rounds of polls, all by one token (S24), until one round is won or the lock gives up:
 *
 *     the doorway     Polls without a turn. If the resource is free and nobody is queued, that was all. Else, once a quorum has
 *                     answered, the turn is one more than the largest of which it has told (S25): whoever was queued on a quorum
 *                     before was seen by one of these nodes. If a quorum has not answered, the doorway again.
 *     the queue       At once the next round, by which the nodes take the lock into their queues; and then one whenever the turn may
 *                     have come, and often enough to keep the places there. Only a round that a quorum has answered lets the next
 *                     one renew them: a waiter that reaches a minority would hold up all others.
 *     the end         Held: what a quorum has granted in one round, and only in that one (S8). Or a release everywhere, which takes
 *                     the places out of the queues, too.
 *
 * Between two rounds nothing is released: a node that has granted the lock keeps that for it until another is the first in the
 * queue there. A refusal does not prove that nothing of ours is there, so until the end there is a stake on each node that was polled. */
#include "fair.h"

#include "queue.h"
#include "quorum.h"
#include "random.h"
#include "retry.h"
#include "ticket.h"

enum {
    RENEW_MS = WIRE_FAIR_LEASE_MS / 3,  /* Two polls may be lost before a place is. */
    SPREAD_MS = RENEW_MS / 4,           /* Up to so much earlier, so that many do not poll together. */
    NEAR = 1                            /* So many may be before one that looks when the holder's time ends, or the first one's. */
};

static enum redlock_status fair_check(const struct redlock_request *request)
{
    bool is_plain = !request->set && request->permits == 0 && !request->shared;

    return is_plain ? REDLOCK_OK : REDLOCK_BAD_FAIR;
}

/* ---- A round begins ---- */

static bool has_answered(const struct redlock_lock *lock)
{
    const struct redlock_round *round = &lock->round;

    return round_count((uint16_t)(round->granted | round->refused)) >= quorum_of(round->node_count);
}

/* Its order is not that of arrival: it takes no entry among the waiters. And what a poll leaves behind lives for a lease at least. */
static void approach(struct redlock_lock *lock)
{
    lock->use.turn = (struct redlock_turn){ .number = 1, .is_at_doorway = true };
    lock->arrived_at = 0;
    if (lock->owed_ttl_ms < WIRE_FAIR_LEASE_MS) lock->owed_ttl_ms = WIRE_FAIR_LEASE_MS;
}

static bool fair_begin_round(struct redlock *r, struct redlock_lock *lock)
{
    struct redlock_turn *turn = &lock->use.turn;

    (void)r;
    lock->wakes = true;
    if (lock->phase != PHASE_WAITING) {
        approach(lock);
        return false;
    }
    REDLOCK_ASSERT(lock->round.command == WIRE_ACQUIRE && turn->number > 0);
    turn->renews = has_answered(lock);
    turn->is_at_doorway = turn->is_at_doorway && !turn->renews;
    turn->rank = 0;
    lock->woken = 0;
    return true;
}

/* The round is told by its number: of one lock no two have the same. */
static const struct redlock_place *fair_place(const struct redlock_lock *lock, struct redlock_place *place)
{
    const struct redlock_turn *turn = &lock->use.turn;

    place->turn = turn->is_at_doorway ? 0 : turn->number;
    place->poll = lock->round.number;
    place->entry = lock->wait_number;
    place->renew = turn->renews;
    return place;
}

/* ---- Answers, and a round that is not won ---- */

/* In the queue places must be renewed; and a lock that nobody will call looks by itself, the more rarely the more are before it. S14:
 * never sooner than the last round took. */
static uint64_t look_at(struct redlock *r, const struct redlock_lock *lock)
{
    uint64_t earliest = r->now_us + retry_round_us(lock);
    uint64_t renew_at = r->now_us + (uint64_t)RENEW_MS * 1000 - throw_dice(r, (uint32_t)SPREAD_MS * 1000);
    uint64_t pause_us = retry_pause_us(r) * (lock->use.turn.rank + 1u);
    bool is_in_queue = has_answered(lock) && !lock->use.turn.is_at_doorway;
    bool will_hear = is_in_queue && r->waking && r->waking->hears(r, lock);

    return will_hear ? later(renew_at, earliest) : later(sooner(renew_at, earliest + pause_us), earliest);
}

/* Whoever has just learnt its turn takes its place at once: it gets into nobody's way there. So does, once, a lock whose ticket was
 * too small, while nobody has the resource. Those near the front look when the holder's time ends, or that of a dead one at the head;
 * and a node that has granted the lock need not call it. */
static void choose_time(struct redlock *r, struct redlock_lock *lock)
{
    bool has_turn = lock->use.turn.is_at_doorway && has_answered(lock);

    lock->is_corrected = !has_turn && has_ticket(lock) && r->ticketing->is_behind(r, lock);
    lock->woken |= lock->round.granted;
    lock->retry_at = has_turn || lock->is_corrected ? r->now_us : look_at(r, lock);
    if (lock->use.turn.rank <= NEAR || lock_is_woken(r, lock)) retry_hurry(r, lock);
    lock->retry_at = sooner(lock->retry_at, lock->wait_until);
}

/* The last round comes when the time to wait ends. */
static bool fair_stay(struct redlock *r, struct redlock_lock *lock)
{
    if (r->now_us >= lock->wait_until) return false;
    choose_time(r, lock);
    if (lock->retry_at > r->now_us && r->now_us + retry_round_us(lock) >= lock->wait_until) return false;       /* S14 */
    lock_set_phase(r, lock, PHASE_WAITING);
    queue_add(&r->waiting, lock, SLOT_DONE);
    return true;
}

/* At the doorway the turn grows with what is told; from then on it stays. */
static void learn_place(struct redlock_turn *turn, const struct wire_reply *reply)
{
    uint32_t largest;
    int32_t rank;

    if (!wire_read_fair_refusal(reply, &largest, &rank)) return;
    if (turn->is_at_doorway && largest >= turn->number) turn->number = largest < UINT32_MAX ? largest + 1 : largest;
    if (rank > (int32_t)turn->rank) turn->rank = rank < (int32_t)UINT16_MAX ? (uint16_t)rank : UINT16_MAX;
}

/* One that comes when the round is lost may be that by which a quorum has answered, or a grant: it counts for nothing (S8), but the
 * node has the key for us. */
static void fair_answer(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    bool is_trying = a->current && (lock->phase == PHASE_ACQUIRING || lock->phase == PHASE_WAITING);

    if (!is_trying) return;
    if (a->meaning == WIRE_REFUSED) {
        r->holding->learn(r, a);
        learn_place(&lock->use.turn, a->reply);
    }
    if (lock->phase == PHASE_WAITING && !lock->is_corrected) choose_time(r, lock);
}

const struct redlock_ordering *fair_feature(void)
{
    static const struct redlock_ordering feature = {
        .check = fair_check, .kind = wire_fair_kind, .begin_round = fair_begin_round, .stay = fair_stay, .answer = fair_answer,
        .place = fair_place
    };

    return &feature;
}
