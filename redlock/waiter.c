/* A lock that waits for its next attempt: it comes after a random time (S14), or earlier, when a quorum of nodes has said that
 * its turn has come or the holder's TTL has run out. What is heard grants nothing; what is not heard costs time. See wire.h. */
#include "lock.h"
#include "queue.h"
#include "quorum.h"

enum {
    LISTEN_MS = 10000,      /* How long ears stay open after the last that lined up. */
    PATIENCE_MAX = 5,       /* So often is the pause doubled at most. */
    LATER_MS = 2,           /* A quorum is free first, and all nodes so much later: they were set within one round. */
    YIELD_ROUNDS = 3        /* How many times the last round's duration somebody who was woken gets to take the lock. */
};

static bool has_name(const struct redlock *r)
{
    for (unsigned i = 0; i < REDLOCK_NAME_SIZE; i++)
        if (r->name[i] != 0) return true;
    return false;
}

static bool draw_name(struct redlock *r)
{
    if (!has_name(r) && !draw_random(r, r->name, sizeof r->name)) return false;
    return has_name(r);
}

static bool is_open(const struct redlock *r, unsigned k)
{
    return r->nodes[r->node_count + k].state == NODE_READY;
}

/* Opens the ears, or keeps them open until its next attempt, for a lock that can wait. */
static bool begin_listening(struct redlock *r, struct redlock_lock *lock)
{
    if (!WITH_WAITERS || !r->config.wake_ups || lock->arrived_at == 0 || !draw_name(r)) return false;
    r->listen_until = later(r->listen_until, later(lock->retry_at, r->now_us + (uint64_t)LISTEN_MS * 1000));
    while (lock->wait_number == 0) lock->wait_number = ++r->wait_count;     /* Once more after 2^32 of them. */
    return true;
}

void waiter_line_up(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    bool is_free = lock->stakes[k].want == WIRE_NONE || lock->stakes[k].want == WIRE_PTTL;
    bool wants_places = lock->wait_number != 0 && lock->arrived_at != 0 && !lock->is_yielding;

    if (!WITH_WAITERS || !wants_places || !is_open(r, k) || r->nodes[k].state != NODE_READY || !is_free) return;
    lock->told &= (uint16_t)~bit_of(k);
    stake_want(r, lock, k, WIRE_WAIT);
}

/* A random time, doubled so often, but not beyond the life of places. */
static uint64_t pause_us(struct redlock *r, unsigned doublings)
{
    uint32_t retry_us = r->config.retry_ms * 1000;

    while (doublings > 0 && r->config.retry_ms << doublings > WIRE_WAITERS_LIFE_MS / 2) doublings--;
    return ((uint64_t)(retry_us / 2) + throw_dice(r, retry_us)) << doublings;
}

bool waiter_is_woken(const struct redlock *r, const struct redlock_lock *lock)
{
    return WITH_WAITERS && round_count(lock->woken) >= quorum_of(r->node_count);
}

/* S14: at least as long as the round took, and a random time beyond; the last attempt comes when the time to wait ends. Who
 * will be woken, having places on a quorum, looks by himself ever more rarely. */
REDLOCK_WRAPS static bool schedule(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t earliest = r->now_us + (r->now_us - lock->round.started_at);
    bool has_places = WITH_WAITERS && round_count(lock->waits) >= quorum_of(r->node_count);
    uint64_t pause = pause_us(r, has_places ? lock->refusals : 0);

    if (earliest >= lock->wait_until) return false;
    if (lock->refusals < PATIENCE_MAX) lock->refusals++;
    lock->retry_at = sooner(earliest + pause, lock->wait_until);
    return true;
}

static void line_up_everywhere(struct redlock *r, struct redlock_lock *lock)
{
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].state == STAKE_NONE) waiter_line_up(r, lock, k);
}

static void begin_waiting(struct redlock *r, struct redlock_lock *lock)
{
    lock_set_phase(lock, PHASE_WAITING);
    queue_add(&r->waiting, lock, SLOT_DONE);
    lock->woken = 0;
    if (begin_listening(r, lock)) line_up_everywhere(r, lock);
}

bool waiter_begin(struct redlock *r, struct redlock_lock *lock)
{
    if (!schedule(r, lock)) return false;
    begin_waiting(r, lock);
    return true;
}

/* FNV-1a, never 0. */
REDLOCK_WRAPS uint32_t waiter_hash(const struct redlock_lock *lock)
{
    const uint8_t *bytes = (const uint8_t *)names_of(lock)->bytes;
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < names_of(lock)->size; i++) hash = (hash ^ bytes[i]) * 16777619u;
    return hash != 0 ? hash : 1;
}

/* How long the last round took: a round trip, of the nodes that decided. */
static uint64_t round_us(const struct redlock_lock *lock)
{
    return lock->round.decided_at - lock->round.started_at;
}

/* For one round it says nothing: in that time somebody who was woken asks for the lock, of nodes and on a machine that have
 * nothing else to do then. */
bool waiter_yield(struct redlock *r, struct redlock_lock *lock)
{
    if (!WITH_WAITERS || lock->yields_to != waiter_hash(lock) || lock->wait_until == 0) return false;
    if (!begin_listening(r, lock)) return false;     /* Ears that are closed, since it has never waited, open meanwhile. */
    lock->is_yielding = true;
    lock->attempt_status = REDLOCK_TAKEN;
    lock->retry_at = sooner(r->now_us + round_us(lock), lock->wait_until);
    for (unsigned k = 0; k < r->node_count; k++) lock->stakes[k].holder_ms = REDLOCK_UNTOLD;
    begin_waiting(r, lock);
    return true;
}

static void stop_yielding(struct redlock *r, struct redlock_lock *lock)
{
    lock->is_yielding = false;
    lock->retry_at = sooner(r->now_us + YIELD_ROUNDS * round_us(lock) + pause_us(r, lock->refusals), lock->wait_until);
    line_up_everywhere(r, lock);
}

void waiter_tick(struct redlock *r, struct redlock_lock *lock)
{
    if (WITH_WAITERS && lock->is_yielding && !waiter_is_woken(r, lock)) stop_yielding(r, lock);
    else                                                                lock_begin_attempt(r, lock);
}

/* Is it time for the next attempt earlier than by chance? Never before a round's time has passed (S14). */
static void hurry(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t earliest = lock->round.decided_at + round_us(lock);
    uint32_t free_in_ms = redlock_free_in_ms(lock);

    if (waiter_is_woken(r, lock)) {
        lock->retry_at = sooner(lock->retry_at, later(earliest, r->now_us));
    } else if (free_in_ms < REDLOCK_UNTOLD) {   /* All who wait are told the same time: they must not come at once. */
        uint64_t expiry = r->now_us + ((uint64_t)free_in_ms + LATER_MS) * 1000 + throw_dice(r, r->config.retry_ms * 1000);
        lock->retry_at = sooner(lock->retry_at, later(earliest, expiry));
    }
}

/* Did node k refuse the last attempt since somebody had the resource? If not, it is no news that nobody has: the next attempt
 * would fail for the same reason (no vote, an error, the ticket), and, begun at once, so would the one after that. */
static bool was_taken(const struct redlock_lock *lock, const struct answer *a)
{
    return round_vote_of(&lock->round, a->k) == REDLOCK_VOTE_REFUSED && (!a->scripted || (lock->taken & bit_of(a->k)));
}

/* A place that was taken when the resource was free already: the release came before it. */
void waiter_answer(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;

    REDLOCK_CHECK(WITH_WAITERS);
    if (a->meaning == WIRE_ERROR) lock->waits &= (uint16_t)~bit_of(a->k);
    if (a->meaning != WIRE_GRANTED || !a->current || lock->phase != PHASE_WAITING) return;
    lock->stakes[a->k].holder_ms = lock_ms_of(a->reply->integer);
    if (a->reply->integer == -2 && was_taken(lock, a)) lock->woken |= bit_of(a->k);
    hurry(r, lock);
}

void waiter_ear_opens(struct redlock *r, unsigned k)
{
    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next)
        if (lock->stakes[k].state == STAKE_NONE) waiter_line_up(r, lock, k);
}

/* Its place is gone, but another one may be there, of another of its resources or taken since: all of them will be given back. */
void waiter_hear(struct redlock *r, unsigned k, uint32_t wait_number)
{
    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        if (lock->wait_number != wait_number) continue;
        lock->woken |= bit_of(k);
        hurry(r, lock);
        lock_reschedule(r, lock);
        return;
    }
}
