#include "retry.h"

#include "node.h"
#include "queue.h"
#include "quorum.h"
#include "random.h"

/* All nodes are free this much later than a quorum, since they were set within one round. */
enum { LATER_MS = 2 };

REDLOCK_OUTLINE uint32_t retry_ms_of(int64_t pttl)
{
    if (pttl == -1) return REDLOCK_FOREVER;     /* No TTL. */
    if (pttl < 0)   return 0;                   /* The key is gone. */
    return pttl < REDLOCK_UNTOLD ? (uint32_t)pttl : REDLOCK_UNTOLD - 1;
}

uint64_t retry_pause_us(struct redlock *r)
{
    uint32_t retry_us = r->config.retry_ms * 1000;

    return (uint64_t)(retry_us / 2) + throw_dice(r, retry_us);
}

uint64_t retry_round_us(const struct redlock_lock *lock)
{
    return lock->round.decided_at - lock->round.started_at;
}

void retry_wait(struct redlock *r, struct redlock_lock *lock)
{
    lock_set_phase(r, lock, REDLOCK_PHASE_WAITING);
    queue_add(&r->waiting, lock, SLOT_DONE);
    lock->woken = 0;
}

/* When a quorum has a vote, which is the earliest time by which as many nodes have one. */
static uint64_t quorum_at(const struct redlock *r, bool for_ticket)
{
    uint64_t best = REDLOCK_NEVER;

    for (unsigned k = 0; k < r->node_count; k++) {
        uint64_t at = node_votes_at(&r->nodes[k], &r->config, for_ticket, r->now_us);
        unsigned count = 0;
        for (unsigned j = 0; j < r->node_count; j++)
            count += node_votes_at(&r->nodes[j], &r->config, for_ticket, r->now_us) <= at;
        if (count >= quorum_of(r->node_count)) best = sooner(best, at);
    }
    return best;
}

void retry_expect_votes(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t earliest = lock->round.decided_at + retry_round_us(lock),
             at = quorum_at(r, has_ticket(lock));

    if (at == REDLOCK_NEVER || (at == r->now_us && lock->attempt_status != REDLOCK_NO_QUORUM))
        return;
    lock->retry_at = sooner(lock->retry_at, later(at, earliest) + retry_pause_us(r));
}

/* S14: at least as long as the round took, and a random time beyond. The last attempt begins when
 * the time to wait ends. */
REDLOCK_WRAPS static uint64_t earliest_at(const struct redlock *r, const struct redlock_lock *lock)
{
    return r->now_us + (r->now_us - lock->round.started_at);
}

bool retry_has_time(const struct redlock *r, const struct redlock_lock *lock)
{
    return earliest_at(r, lock) < lock->wait_until;
}

REDLOCK_WRAPS void retry_begin(struct redlock *r, struct redlock_lock *lock, uint64_t pause_us)
{
    lock->retry_at = sooner(earliest_at(r, lock) + pause_us, lock->wait_until);
    retry_wait(r, lock);
}

void retry_hurry(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t earliest = lock->round.decided_at + retry_round_us(lock);
    uint32_t free_in_ms = retry_free_in_ms(lock);

    if (lock_is_woken(r, lock)) {
        lock->retry_at = sooner(lock->retry_at, later(earliest, r->now_us));
    } else if (
        free_in_ms <
        REDLOCK_UNTOLD) { /* All waiting clients learn the same time, and must not try at once. */
        uint64_t expiry = r->now_us + ((uint64_t)free_in_ms + LATER_MS) * 1000 +
                          throw_dice(r, r->config.retry_ms * 1000);
        lock->retry_at = sooner(lock->retry_at, later(earliest, expiry));
    }
}

/* The number of ms until node k is free for us. It is 0 if the node has granted, and the end of the
 * holder's key if it has reported that. Answers of other rounds (a release, after which the lock
 * waits again) do not count. */
static uint32_t free_in(const struct redlock_lock *lock, unsigned k)
{
    const struct redlock_round *round = &lock->round;

    if (round->command == REDLOCK_COMMAND_ACQUIRE && (round->granted & bit_of(k))) return 0;
    return (round->granted | round->refused) & bit_of(k) ? lock->stakes[k].holder_ms
                                                         : REDLOCK_UNTOLD;
}

/* The earliest time by which a quorum is free. */
uint32_t retry_free_in_ms(const struct redlock_lock *lock)
{
    unsigned quorum = quorum_of(lock->round.node_count), n = lock->round.node_count;
    uint32_t best = REDLOCK_UNTOLD;

    for (unsigned k = 0; k < n; k++) {
        uint32_t candidate = free_in(lock, k);
        unsigned count = 0;
        if (candidate == REDLOCK_UNTOLD || (best != REDLOCK_UNTOLD && candidate >= best)) continue;
        for (unsigned j = 0; j < n; j++)
            count += free_in(lock, j) != REDLOCK_UNTOLD && free_in(lock, j) <= candidate;
        if (count >= quorum) best = candidate;
    }
    return best;
}
