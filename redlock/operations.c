/* The calls of redlock.h that are about a lock: beginning operations, moving it about, and asking it. See lock.h. */
#include "lock.h"
#include "queue.h"
#include "quorum.h"

#include <string.h>

/* ---- Operations ---- */

void redlock_request_init(struct redlock_request *request)
{
    *request = (struct redlock_request){ 0 };
}

void redlock_lock_init(struct redlock_lock *lock)
{
    *lock = (struct redlock_lock){ .status = REDLOCK_LOST, .attempt_status = REDLOCK_LOST };
}

/* Is nothing under way that the caller began, and nothing held by this clock? */
static bool has_ended(const struct redlock_lock *lock, uint64_t now_us)
{
    bool was_won = lock->phase == PHASE_HELD || is_quiet(lock);

    return lock->phase == PHASE_IDLE || (was_won && !lock_is_held(lock, now_us));
}

static bool is_same(const struct redlock_name *a, const struct redlock_name *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool is_among(const struct redlock_name *name, const struct redlock_name *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (is_same(name, &names[i])) return true;
    return false;
}

/* In whatever order, and each once. */
static bool is_about(const struct redlock_lock *lock, const struct redlock_name *names, unsigned count)
{
    bool same = lock->name_count == count;

    for (unsigned i = 0; i < count && same; i++) same = is_among(&names_of(lock)[i], names, count);
    return same;
}

/* A lock whose validity has ended and that was not released ends now, as its keys would be in the way. Those of an adopted one
 * stay (S17): whoever handed it over may still hold it. */
static void retire(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->is_adopted) {
        redlock_forget(r, lock);
        return;
    }
    stake_let_go_everywhere(r, lock);
    stake_leave_waiters(r, lock);
    lock->valid_from = lock->valid_until = 0;
    if (lock->round.decided_at == 0) lock->round.decided_at = r->now_us;    /* An extension of the keeper's was under way. */
    lock_set_phase(lock, PHASE_IDLE);
}

static enum redlock_status check_ttl(const struct redlock *r, uint32_t ttl_ms, uint32_t min_validity_ms)
{
    uint64_t validity = validity_us(ttl_ms, 0, drift_us(ttl_ms, r->config.drift_ppm));

    if (ttl_ms < 1 || ttl_ms > REDLOCK_TTL_MS_MAX)                           return REDLOCK_BAD_TTL;
    if (validity == 0 || validity <= (uint64_t)min_validity_ms * 1000)       return REDLOCK_BAD_TTL;
    if (r->config.guard_ms > 0 && ttl_ms > r->config.guard_ms)               return REDLOCK_TTL_OVER_GUARD;   /* S11 */
    return REDLOCK_OK;
}

/* In the order of bytes; a name that begins with another comes after it. */
static bool comes_after(const struct redlock_name *a, const struct redlock_name *b)
{
    size_t common = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->bytes, b->bytes, common);

    return order > 0 || (order == 0 && a->size > b->size);
}

/* In one order everywhere, whoever asks: a set has one form on the wire. */
static void sort(struct redlock_name *set, unsigned count)
{
    for (unsigned i = 1; i < count; i++) {
        struct redlock_name name = set[i];
        unsigned at = i;
        for (; at > 0 && comes_after(&set[at - 1], &name); at--) set[at] = set[at - 1];
        set[at] = name;
    }
}

static bool ends_in(const struct redlock_name *name, const char *suffix)
{
    size_t size = length_of(suffix, REDLOCK_RESOURCE_MAX);

    return name->size >= size && memcmp((const char *)name->bytes + name->size - size, suffix, size) == 0;
}

/* Would a lock of that name overwrite what another lock keeps beside its own key? */
static bool is_reserved(const struct redlock_name *name)
{
    return ends_in(name, WIRE_TICKET_SUFFIX) || ends_in(name, WIRE_WAITERS_SUFFIX);
}

static enum redlock_status check_names(const struct redlock *r, const struct redlock_name *names, unsigned count)
{
    enum { SET_MAX = WITH_TICKETS ? REDLOCK_SET_MAX : 1 };
    size_t room = r->config.resource_max;

    if (count < 1 || count > SET_MAX) return REDLOCK_BAD_SET;
    for (unsigned i = 0; i < count; i++) {
        size_t head = i > 0 ? WIRE_NAME_HEAD : 0;
        if (!names[i].bytes || names[i].size < 1 || room < head || names[i].size > room - head) return REDLOCK_BAD_RESOURCE;
        if (is_reserved(&names[i])) return REDLOCK_BAD_RESOURCE;
        if (WITH_TICKETS && is_among(&names[i], names, i)) return REDLOCK_BAD_SET;
        room -= names[i].size + head;
    }
    return REDLOCK_OK;
}

/* Makes the lock ready for its next operation, on the resources of a request. The names of the last one are looked at only
 * while the lock is not idle: after that they may be gone. */
static enum redlock_status set_names(struct redlock *r, struct redlock_lock *lock, const struct redlock_request *request)
{
    struct redlock_name name = { request->resource, request->resource_size };
    struct redlock_name *names = request->set ? request->set : &name;
    unsigned count = request->set ? request->set_count : 1;
    bool is_idle = redlock_idle(lock);
    enum redlock_status status = check_names(r, names, count);

    if (status != REDLOCK_OK) return status;
    if (!has_ended(lock, r->now_us) || (!is_idle && !is_about(lock, names, count))) return REDLOCK_BAD_STATE;
    if (WITH_TICKETS) sort(names, count);
    if (lock->phase != PHASE_IDLE) retire(r, lock);
    if (is_idle) {
        lock->owed_ttl_ms = 0;
        lock->owed_until = 0;
        lock->waits = 0;
    }
    lock->name = names[0];
    lock->set = count > 1 ? names : NULL;
    lock->name_count = (uint8_t)count;
    return REDLOCK_OK;
}

static uint64_t wait_until(uint64_t now_us, uint32_t wait_ms)
{
    if (wait_ms == 0) return 0;
    return wait_ms == REDLOCK_FOREVER ? REDLOCK_NEVER : now_us + (uint64_t)wait_ms * 1000;
}

/* S15: without a wall clock that is one there is no ticket; and a counter must outlive every attempt of before a restart by
 * as much as wall clocks may differ, as a node's guard does. */
static enum redlock_status check_ticket(const struct redlock *r, const struct redlock_request *request)
{
    uint64_t life_min_ms = (uint64_t)request->ttl_ms + r->config.guard_ms + 2 * (uint64_t)r->config.ticket_skew_ms;

    if (!request->ticket) return REDLOCK_OK;
    if (!WITH_TICKETS || r->config.ticket_life_ms < life_min_ms) return REDLOCK_BAD_CONFIG;
    return request->wall_us > 0 && request->wall_us <= WIRE_TICKET_MAX ? REDLOCK_OK : REDLOCK_BAD_CLOCK;
}

/* The offset of the wall clock wraps where there is none. */
REDLOCK_WRAPS enum redlock_status redlock_start_acquire(struct redlock *r, struct redlock_lock *lock,
                                                        const struct redlock_request *request, uint64_t now_us)
{
    enum redlock_status status = check_ttl(r, request->ttl_ms, request->min_validity_ms);

    r->now_us = now_us;
    if (status == REDLOCK_OK) status = check_ticket(r, request);
    if (status == REDLOCK_OK) status = set_names(r, lock, request);
    if (status != REDLOCK_OK) return status;
    lock_start(r, lock);
    lock->ttl_ms = request->ttl_ms;
    lock->min_validity_ms = request->min_validity_ms;
    lock->extension_limit = request->extension_limit;
    lock->wait_until = wait_until(now_us, request->wait_ms);
    lock->valid_from = lock->valid_until = 0;
    lock->has_ticket = request->ticket;
    lock->ticket = lock->ticket_seen = 0;
    lock->is_corrected = lock->is_ahead = lock->is_yielding = false;
    lock->wall_offset_us = request->wall_us - now_us;
    lock->arrived_at = request->wall_us <= WIRE_TICKET_MAX && request->wait_ms > 0 ? request->wall_us : 0;
    lock->woken = 0;
    if (lock->yields_to != waiter_hash(lock)) lock->refusals = 0;
    if (!waiter_yield(r, lock)) lock_begin_attempt(r, lock);
    lock_judge(r, lock);
    return REDLOCK_OK;
}

/* Is an operation under way, the caller's or the keeper's? */
static bool is_busy(const struct redlock_lock *lock)
{
    return lock->phase != PHASE_IDLE && lock->phase != PHASE_HELD;
}

enum redlock_status redlock_start_extend(struct redlock *r, struct redlock_lock *lock, uint32_t ttl_ms, uint64_t now_us)
{
    enum redlock_status status = check_ttl(r, ttl_ms, 0);

    r->now_us = now_us;
    if (status != REDLOCK_OK)           return status;
    if (is_busy(lock) && !is_quiet(lock)) return REDLOCK_BAD_STATE;
    if (!lock_is_held(lock, now_us))    return REDLOCK_LOST;    /* S9: refused, not tried. */
    if (lock->extension_limit > 0 && lock->extension_count >= lock->extension_limit) return REDLOCK_EXTENSION_LIMIT;  /* S13 */
    lock_start(r, lock);
    lock->is_quiet = false;
    lock->ttl_ms = ttl_ms;
    lock_begin_extension(r, lock, ttl_ms);
    lock_judge(r, lock);
    return REDLOCK_OK;
}

/* Puts the release to node k, or owes it. Where nothing of ours is there is nothing to remove. */
static void ask_to_release(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    stake_let_go(r, lock, k);
    if (lock->late & bit_of(k)) stake_owe(r, lock, k);
    if (has_place(lock, k) && lock->stakes[k].state == STAKE_NONE) stake_owe(r, lock, k);
    if (lock->stakes[k].state == STAKE_NONE)        round_vote(&lock->round, k, REDLOCK_VOTE_REFUSED);
    else if (r->nodes[k].state != NODE_READY && r->nodes[k].settled) round_vote(&lock->round, k, REDLOCK_VOTE_UNKNOWN);
}

enum redlock_status redlock_start_release(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    bool held = lock_is_held(lock, now_us);

    r->now_us = now_us;
    if (lock->phase == PHASE_IDLE) return REDLOCK_LOST;
    if (lock->phase != PHASE_HELD && lock->phase != PHASE_EXTENDING) return REDLOCK_BAD_STATE;
    lock_start(r, lock);
    lock->is_adopted = false;
    lock->valid_until = 0;      /* Not held from now on, whatever the nodes will say. */
    lock_set_phase(lock, PHASE_RELEASING);
    lock_begin_round(r, lock, WIRE_RELEASE, REDLOCK_NEVER);
    for (unsigned k = 0; k < r->node_count; k++) ask_to_release(r, lock, k);
    if (!held) lock_finish(r, lock, PHASE_IDLE, REDLOCK_LOST);
    lock_judge(r, lock);
    return REDLOCK_OK;
}

enum redlock_status redlock_start_inspect(struct redlock *r, struct redlock_lock *lock, const void *resource,
                                          size_t resource_size, struct redlock_sight *sights, uint64_t now_us)
{
    struct redlock_request what = { .resource = resource, .resource_size = resource_size };
    enum redlock_status status;

    r->now_us = now_us;
    if (!redlock_idle(lock)) return REDLOCK_BAD_STATE;
    status = set_names(r, lock, &what);
    if (status != REDLOCK_OK) return status;
    lock_start(r, lock);
    lock_set_phase(lock, PHASE_INSPECTING);
    lock_begin_round(r, lock, WIRE_GETRANGE, REDLOCK_NEVER);
    lock->sights = sights;
    for (unsigned k = 0; k < r->node_count; k++) {
        sights[k] = (struct redlock_sight){ 0 };
        if (r->nodes[k].state != NODE_READY && r->nodes[k].settled) continue;
        lock->told |= bit_of(k);
        stake_want(r, lock, k, WIRE_GETRANGE);
    }
    lock_judge(r, lock);
    return REDLOCK_OK;
}

static enum redlock_status adopt(struct redlock *r, struct redlock_lock *lock, const struct redlock_request *what,
                                 const char *token, uint64_t now_us)
{
    uint8_t bytes[REDLOCK_TOKEN_SIZE];
    enum redlock_status status;

    r->now_us = now_us;
    if (!wire_token_read(token, length_of(token, REDLOCK_TOKEN_TEXT + 1), bytes)) return REDLOCK_BAD_TOKEN;
    if (!redlock_idle(lock)) return REDLOCK_BAD_STATE;
    status = set_names(r, lock, what);
    if (status != REDLOCK_OK) return status;
    memcpy(lock->token, bytes, sizeof bytes);
    lock_set_phase(lock, PHASE_HELD);
    for (unsigned k = 0; k < r->node_count; k++) {
        memcpy(lock->stakes[k].token, bytes, sizeof bytes);
        stake_set(lock, k, STAKE_PLACED);
    }
    lock->valid_from = now_us;
    lock->valid_until = timeout_at(r);
    lock->is_adopted = lock->is_unconfirmed = true;
    lock->has_ticket = false;
    lock->wakes = true;
    /* Nobody told its TTL, but it is not over the guard (S11). */
    lock->owed_ttl_ms = r->config.guard_ms > 0 ? r->config.guard_ms : REDLOCK_TTL_MS_MAX;
    stake_note_end(r, lock);
    lock->extension_limit = 0;
    return REDLOCK_OK;
}

enum redlock_status redlock_adopt(struct redlock *r, struct redlock_lock *lock, const void *resource, size_t resource_size,
                                  const char *token, uint64_t now_us)
{
    struct redlock_request what = { .resource = resource, .resource_size = resource_size };

    return adopt(r, lock, &what, token, now_us);
}

enum redlock_status redlock_adopt_set(struct redlock *r, struct redlock_lock *lock, struct redlock_name *set,
                                      unsigned set_count, const char *token, uint64_t now_us)
{
    struct redlock_request what = { .set = set, .set_count = set_count };

    return adopt(r, lock, &what, token, now_us);
}

void redlock_cancel(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    enum phase after = lock->phase == PHASE_EXTENDING ? PHASE_HELD : PHASE_IDLE;

    r->now_us = now_us;
    if (!is_busy(lock) || is_quiet(lock)) return;
    for (unsigned k = 0; k < r->node_count; k++) {
        if (after == PHASE_IDLE) stake_let_go(r, lock, k);
        if (lock->stakes[k].want != WIRE_RELEASE) stake_want_nothing(r, lock, k);
    }
    lock->told = 0;
    lock->sights = NULL;
    lock_finish(r, lock, after, REDLOCK_CANCELLED);
    lock_reschedule(r, lock);
}

/* Makes every question that was asked for one lock that of another, or of none. */
static void readdress(struct redlock *r, const struct redlock_lock *from, struct redlock_lock *to)
{
    for (unsigned k = 0; k < r->node_count; k++)
        for (unsigned i = 0; i < r->nodes[k].asked_count; i++) {
            struct redlock_asked *asked = node_asked_at(&r->nodes[k], &r->config, i);
            if (asked->lock == from) asked->lock = to;
        }
}

void redlock_pay(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    r->now_us = now_us;
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->late & bit_of(k)) stake_owe(r, lock, k);
    lock_reschedule(r, lock);
}

/* What is left of a lock that the engine does not know any more: the answers to questions about its last operation. */
static void clear(struct redlock_lock *lock)
{
    struct redlock_lock rest;

    redlock_lock_init(&rest);
    rest.status = lock->status;
    rest.attempt_status = lock->attempt_status;
    rest.round = lock->round;
    rest.yields_to = lock->yields_to;
    memcpy(rest.token, lock->token, sizeof rest.token);
    for (unsigned k = 0; k < REDLOCK_NODES_MAX; k++) rest.stakes[k].holder_ms = lock->stakes[k].holder_ms;
    *lock = rest;
}

void redlock_forget(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->outstanding > 0) readdress(r, lock, NULL);
    for (unsigned k = 0; k < r->node_count; k++) stake_want_nothing(r, lock, k);
    lock_leave_queue(r, lock);
    heap_set(&r->heap, lock, REDLOCK_NEVER);
    clear(lock);
}

void redlock_move(struct redlock *r, struct redlock_lock *to, struct redlock_lock *from, const void *resource)
{
    heap_set(&r->heap, from, REDLOCK_NEVER);
    if (lock_queue(r, from) == &r->done) queue_remove(&r->done, from, SLOT_DONE);
    *to = *from;
    if (to->set) to->set = (const struct redlock_name *)resource;
    else         to->name.bytes = resource;
    for (unsigned k = 0; k < r->node_count; k++) queue_replace(&r->nodes[k].queue, to, k);
    queue_replace(lock_queue(r, to), to, SLOT_DONE);
    if (to->outstanding > 0) readdress(r, from, to);
    lock_reschedule(r, to);
    clear(from);
}

struct redlock_lock *redlock_next_done(struct redlock *r)
{
    struct redlock_lock *lock = r->done.first;

    if (lock) queue_remove(&r->done, lock, SLOT_DONE);
    return lock;
}

/* ---- Questions ---- */

enum redlock_status redlock_lock_status(const struct redlock_lock *lock)
{
    return (enum redlock_status)lock->status;
}

enum redlock_status redlock_attempt_status(const struct redlock_lock *lock)
{
    return (enum redlock_status)lock->attempt_status;
}

/* S10: computed at every question. A clock that went back is no clock: not held. */
uint64_t redlock_valid_us(const struct redlock_lock *lock, uint64_t now_us)
{
    return lock_is_held(lock, now_us) && !lock->is_unconfirmed ? lock->valid_until - now_us : 0;
}

bool redlock_idle(const struct redlock_lock *lock)
{
    bool is_queued = (lock->queued & ~bit_of(SLOT_DONE)) != 0;

    return lock->phase == PHASE_IDLE && lock->owed == 0 && lock->outstanding == 0 && !is_queued;
}

unsigned redlock_owed(const struct redlock_lock *lock)
{
    unsigned count = 0;

    for (unsigned k = 0; k < REDLOCK_NODES_MAX; k++)
        count += lock->stakes[k].state == STAKE_OWED || lock->stakes[k].state == STAKE_LEAVING;
    return count;
}

unsigned redlock_confirmed(const struct redlock_lock *lock)
{
    return round_count(lock->round.granted);
}

const struct redlock_round *redlock_last_round(const struct redlock_lock *lock)
{
    return &lock->round;
}

enum redlock_vote redlock_vote_of(const struct redlock_lock *lock, unsigned k)
{
    return round_vote_of(&lock->round, k);
}

/* In how many ms node k is free for us: now, when it has granted; when the holder's key is gone, when it told. What it did in
 * another round than to acquire (a release, behind which the lock waits again) says nothing about that. */
static uint32_t free_in(const struct redlock_lock *lock, unsigned k)
{
    const struct redlock_round *round = &lock->round;

    if (round->command == WIRE_ACQUIRE && (round->granted & bit_of(k))) return 0;
    return (round->granted | round->refused) & bit_of(k) ? lock->stakes[k].holder_ms : REDLOCK_UNTOLD;
}

uint32_t redlock_free_in_ms(const struct redlock_lock *lock)
{
    unsigned quorum = quorum_of(lock->round.node_count), n = lock->round.node_count;
    uint32_t best = REDLOCK_UNTOLD;

    for (unsigned k = 0; k < n; k++) {      /* The least time by which a quorum is free. */
        uint32_t candidate = free_in(lock, k);
        unsigned count = 0;
        for (unsigned j = 0; j < n; j++) count += free_in(lock, j) != REDLOCK_UNTOLD && free_in(lock, j) <= candidate;
        if (candidate == REDLOCK_UNTOLD || count < quorum) continue;
        if (best == REDLOCK_UNTOLD || candidate < best) best = candidate;
    }
    return best;
}

uint64_t redlock_ticket(const struct redlock_lock *lock)
{
    bool is_won = lock->phase == PHASE_HELD || lock->phase == PHASE_EXTENDING || lock->phase == PHASE_RELEASING;

    return is_won && has_ticket(lock) ? lock->ticket : 0;
}

void redlock_token(const struct redlock_lock *lock, char text[REDLOCK_TOKEN_TEXT + 1])
{
    wire_token_text(lock->token, text);
    text[REDLOCK_TOKEN_TEXT] = '\0';
}
