/* The calls of redlock.h that are about a lock. They check a caller's possible mistakes, and begin
 * an operation. No other file calls them. */
#include "acquire.h"
#include "events.h"
#include "extend.h"
#include "inspect.h"
#include "keeper.h"
#include "kind.h"
#include "lock.h"
#include "names.h"
#include "outcome.h"
#include "queue.h"
#include "quorum.h"
#include "release.h"
#include "retry.h"
#include "ticket.h"

#include <string.h>

/* ---- Operations ---- */

void redlock_request_init(struct redlock_request *request)
{
    clear_bytes(request, sizeof *request);
}

void redlock_lock_init(struct redlock_lock *lock)
{
    clear_bytes(lock, sizeof *lock);
    lock->kind = &redlock_plain;
    lock->status = lock->attempt_status = REDLOCK_LOST;
}

/* True if nothing that the caller began is under way, and nothing is held by this clock. */
static bool has_ended(const struct redlock_lock *lock, uint64_t now_us)
{
    bool was_won = lock->phase == REDLOCK_PHASE_HELD || is_quiet(lock);

    return lock->phase == REDLOCK_PHASE_IDLE || (was_won && !lock_is_held(lock, now_us));
}

/* Hands every question that was asked for one lock to another, or to none. */
static void readdress_questions(struct redlock *r, const struct redlock_lock *from,
                                struct redlock_lock *to)
{
    for (unsigned k = 0; k < r->node_count; k++)
        for (unsigned i = 0; i < r->nodes[k].asked_count; i++) {
            struct redlock_asked *asked = node_asked_at(&r->nodes[k], &r->config, i);
            if (asked->lock == from) asked->lock = to;
        }
}

/* A lock that the engine no longer knows keeps only the facts about its last operation. */
static void clear_lock(struct redlock_lock *lock)
{
    struct redlock_lock rest;

    redlock_lock_init(&rest);
    rest.status = lock->status;
    rest.attempt_status = lock->attempt_status;
    rest.round = lock->round;
    rest.yields_to = lock->yields_to;
    copy_bytes(rest.token, lock->token, sizeof rest.token);
    for (unsigned k = 0; k < REDLOCK_NODES_MAX; k++)
        rest.stakes[k].holder_ms = lock->stakes[k].holder_ms;
    *lock = rest;
}

/* The engine has no pointer to it any longer. */
static void unlink_lock(struct redlock *r, struct redlock_lock *lock)
{
    if (r->waking) r->waking->leave(r, lock);
    if (lock->outstanding > 0) readdress_questions(r, lock, NULL);
    for (unsigned k = 0; k < r->node_count; k++) stake_want_nothing(r, lock, k);
    lock_leave_queue(r, lock);
    heap_set(&r->heap, lock, REDLOCK_NEVER);
}

static void forget_lock(struct redlock *r, struct redlock_lock *lock)
{
    unlink_lock(r, lock);
    clear_lock(lock);
}

/* The last use of the lock, which has ended and was not released, is over. The keys of an adopted
 * lock stay on the nodes (S17), since the process that handed it over may still hold it. */
static void end_last_use(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->is_adopted) r->leave_adopted(r, lock);
    else                  release_retire(r, lock);
}

static enum redlock_status check_ttl(const struct redlock *r, uint32_t ttl_ms,
                                     uint32_t min_validity_ms)
{
    uint64_t validity = validity_us(ttl_ms, 0, drift_us(ttl_ms, r->config.drift_ppm));

    if (ttl_ms > REDLOCK_TTL_MS_MAX)                            return REDLOCK_BAD_TTL;
    if (validity <= (uint64_t)min_validity_ms * 1000)           return REDLOCK_BAD_TTL;
    /* S11 */
    if (r->config.guard_ms > 0 && ttl_ms > r->config.guard_ms)  return REDLOCK_TTL_OVER_GUARD;
    return REDLOCK_OK;
}

/* A set of one is a resource, even if the engine knows no sets. */
static enum redlock_status check_names(const struct redlock *r, const struct redlock_name *names,
                                       unsigned count, bool is_shared)
{
    if (count != 1 || r->config.managed)
        return r->sets ? r->sets->check(r, names, count, is_shared) : REDLOCK_BAD_SET;
    if (names->shared && !is_shared) return REDLOCK_BAD_KIND;
    return name_is_proper(names, r->config.resource_max) ? REDLOCK_OK : REDLOCK_BAD_RESOURCE;
}

/* Each kind decides which requests exclude each other, and which debts are in the way. */
static enum redlock_status check_kind(struct redlock *r, const struct redlock_lock *lock,
                                      const struct redlock_request *request,
                                      const struct redlock_kind *kind)
{
    enum redlock_status status = REDLOCK_OK;

    if (request->ticket)
        status = r->ticketing ? r->ticketing->check(r, request) : REDLOCK_BAD_CONFIG;
    else if (!kind->check && request->permits > 0) status = REDLOCK_BAD_KIND;
    for (unsigned i = 0; i < 2 && status == REDLOCK_OK; i++, kind = lock->kind)
        if (kind->check) status = kind->check(r, lock, request);
    return status;
}

static void become(const struct redlock *r, struct redlock_lock *lock,
                   const struct redlock_request *request, const struct redlock_kind *kind)
{
    /* A plain lock. */
    bool is_scripted = !kind->check && (request->ticket || lock->name_count > 1);

    lock->kind = is_scripted ? r->scripted : kind;
    lock->permit = (struct redlock_permit){ .count = request->permits };
}

/* Makes the lock ready for its next operation, on the resources of a request. The names of the last
 * one are looked at only while the lock is not idle, since after that they may be gone. After
 * anything but OK nothing has changed. */
static enum redlock_status set_names(struct redlock *r, struct redlock_lock *lock,
                                     const struct redlock_request *request)
{
    const struct redlock_kind *kind = request->kind ? request->kind : &redlock_plain;
    struct redlock_name name = {
        .bytes = request->resource, .size = request->resource_size, .shared = kind->is_shared
    };
    struct redlock_name *names = request->set ? request->set : &name;
    unsigned count = request->set ? request->set_count : 1;
    bool is_idle = redlock_idle(lock);
    enum redlock_status status;

    /* One of zeroes has none. */
    if (!lock->kind || !is_ours(r, lock)) return REDLOCK_BAD_LOCK;
    status = check_names(r, names, count, kind->is_shared);
    if (status != REDLOCK_OK) return status;
    if (!has_ended(lock, r->now_us) || (!is_idle && !names_are_of(r, lock, names, count)))
        return REDLOCK_BAD_STATE;
    status = check_kind(r, lock, request, kind);
    if (status != REDLOCK_OK) return status;
    if (count > 1) r->sets->sort(names, count);
    if (lock->phase != REDLOCK_PHASE_IDLE) end_last_use(r, lock);
    if (is_idle) {
        lock->owed_ttl_ms = 0;
        lock->owed_until = 0;
        lock->entries = 0;
    }
    lock->name = names[0];
    if (count > 1) lock->name.bytes = names;
    lock->name_count = (uint8_t)count;
    lock->bond = bond_of(r, lock);
    become(r, lock, request, kind);
    return REDLOCK_OK;
}

static uint64_t wait_until(uint64_t now_us, uint32_t wait_ms)
{
    if (wait_ms == 0) return 0;
    return wait_ms == REDLOCK_FOREVER ? REDLOCK_NEVER : now_us + (uint64_t)wait_ms * 1000;
}

enum redlock_status redlock_start_acquire(struct redlock *r, struct redlock_lock *lock,
                                          const struct redlock_request *request, uint64_t now_us)
{
    enum redlock_status status = check_ttl(r, request->ttl_ms, request->min_validity_ms);

    r->now_us = now_us;
    if (status == REDLOCK_OK) status = set_names(r, lock, request);
    if (status != REDLOCK_OK) return status;
    lock_start(r, lock);
    lock->ttl_ms = request->ttl_ms;
    lock->min_validity_ms = request->min_validity_ms;
    lock->extension_limit = request->extension_limit;
    lock->wait_until = wait_until(now_us, request->wait_ms);
    lock->valid_from = lock->valid_until = 0;
    ticket_start(lock, request, now_us);
    lock->is_yielding = false;
    lock->line.arrived_at =
        request->wall_us <= WIRE_TICKET_MAX && request->wait_ms > 0 ? request->wall_us : 0;
    lock->woken = 0;
    if (!r->waking || !r->waking->yield(r, lock)) acquire_begin(r, lock);
    lock_judge(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
    return REDLOCK_OK;
}

/* True if an operation is under way, the caller's or the keeper's. */
static bool is_busy(const struct redlock_lock *lock)
{
    return lock->phase != REDLOCK_PHASE_IDLE && lock->phase != REDLOCK_PHASE_HELD;
}

enum redlock_status redlock_start_extend(struct redlock *r, struct redlock_lock *lock,
                                         uint32_t ttl_ms, uint64_t now_us)
{
    enum redlock_status status = check_ttl(r, ttl_ms, 0);

    r->now_us = now_us;
    if (status != REDLOCK_OK)           return status;
    if (!is_ours(r, lock))              return REDLOCK_BAD_LOCK;
    if (is_busy(lock) && !is_quiet(lock)) return REDLOCK_BAD_STATE;
    if (!lock_is_held(lock, now_us))    return REDLOCK_LOST;    /* S9: it is refused, not tried. */
    /* S13 */
    if (lock->extension_limit > 0 && lock->extension_count >= lock->extension_limit)
        return REDLOCK_EXTENSION_LIMIT;
    lock_start(r, lock);
    lock->is_quiet = false;
    extend_begin(r, lock, ttl_ms);
    if (lock->queued != 0) lock->ttl_ms = ttl_ms;   /* Somebody is asked for it. */
    lock_judge(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
    return REDLOCK_OK;
}

enum redlock_status redlock_start_release(struct redlock *r, struct redlock_lock *lock,
                                          uint64_t now_us)
{
    r->now_us = now_us;
    if (!is_ours(r, lock))         return REDLOCK_BAD_LOCK;
    if (lock->phase == REDLOCK_PHASE_IDLE) return REDLOCK_LOST;
    if (lock->phase != REDLOCK_PHASE_HELD && lock->phase != REDLOCK_PHASE_EXTENDING)
        return REDLOCK_BAD_STATE;
    lock_start(r, lock);
    release_begin(r, lock);
    lock_judge(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
    return REDLOCK_OK;
}

enum redlock_status redlock_start_inspect(struct redlock *r, struct redlock_lock *lock,
                                          const void *resource, size_t resource_size,
                                          struct redlock_sight *sights, uint64_t now_us)
{
    struct redlock_request what = { .resource = resource, .resource_size = resource_size };
    enum redlock_status status;

    r->now_us = now_us;
    if (!redlock_idle(lock)) return REDLOCK_BAD_STATE;
    status = set_names(r, lock, &what);
    if (status != REDLOCK_OK) return status;
    lock_start(r, lock);
    inspect_begin(r, lock, sights);
    lock_judge(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
    return REDLOCK_OK;
}

enum redlock_status redlock_adopt(struct redlock *r, struct redlock_lock *lock,
                                  const struct redlock_request *what, const char *token,
                                  uint64_t now_us)
{
    const struct redlock_request names = {
        .kind = what->kind, .resource = what->resource, .resource_size = what->resource_size,
        .set = what->set, .set_count = what->set_count
    };
    uint8_t bytes[REDLOCK_TOKEN_SIZE];
    enum redlock_status status;

    r->now_us = now_us;
    if (!wire_token_read(token, length_of(token, REDLOCK_TOKEN_TEXT + 1), bytes))
        return REDLOCK_BAD_TOKEN;
    if (!redlock_idle(lock)) return REDLOCK_BAD_STATE;
    status = set_names(r, lock, &names);
    if (status != REDLOCK_OK) return status;
    r->leave_adopted = forget_lock;
    copy_bytes(lock->token, bytes, sizeof bytes);
    lock_set_phase(r, lock, REDLOCK_PHASE_HELD);
    for (unsigned k = 0; k < r->node_count; k++) {
        copy_bytes(lock->stakes[k].token, bytes, sizeof bytes);
        stake_set(lock, k, STAKE_PLACED);
    }
    lock->valid_from = now_us;
    lock->valid_until = timeout_at(r);
    lock->is_adopted = lock->is_unconfirmed = true;
    lock->has_ticket = false;
    lock->wakes = true;
    /* Nobody knows its TTL, but it is not over the guard (S11). */
    lock->has_other_ttl = true;
    lock->owed_ttl_ms = r->config.guard_ms > 0 ? r->config.guard_ms : REDLOCK_TTL_MS_MAX;
    stake_note_end(r, lock);
    lock->extension_limit = 0;
    REDLOCK_LOOK_AT_LOCK(r, lock);
    return REDLOCK_OK;
}

enum redlock_status redlock_keep(struct redlock *r, struct redlock_lock *lock, uint32_t hold_ms,
                                 uint64_t now_us)
{
    r->now_us = now_us;
    if (!is_ours(r, lock)) return REDLOCK_BAD_LOCK;
    if (lock->phase != REDLOCK_PHASE_HELD && lock->phase != REDLOCK_PHASE_EXTENDING)
        return REDLOCK_BAD_STATE;
    if (lock_valid_us(lock, now_us) == 0) return REDLOCK_LOST;
    keeper_begin(r, lock, hold_ms);
    lock_reschedule(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
    return REDLOCK_OK;
}

REDLOCK_STATIC_ASSERT(REDLOCK_NAME_COPY_MAX >= 0 && REDLOCK_NAME_COPY_MAX <= REDLOCK_RESOURCE_MAX,
                      "no name is longer");

/* A name that is too long to be copied, and a set, are the caller's. A hash keeps their identity,
 * after the token of its attempt. */
#if REDLOCK_NAME_COPY_MAX >= 23
enum { HASH_AT = REDLOCK_TOKEN_SIZE };
REDLOCK_STATIC_ASSERT(HASH_AT + sizeof(uint32_t) <= 23 + 1,
                      "with the byte that every copy has there is room for a hash");

static bool has_hash(const struct redlock_lock *lock)
{
    return memcmp(lock->copy, lock->token, HASH_AT) == 0;
}

static void note_hash(struct redlock_lock *lock)
{
    uint32_t hash;

    if (has_hash(lock)) return;
    hash = names_hash(lock);
    memcpy(lock->copy, lock->token, HASH_AT);
    memcpy(lock->copy + HASH_AT, &hash, sizeof hash);
}

/* No field of a lock that is not ours is written. One that was never made ready has no names that
 * may be read, if all of its bytes are alike, as debuggers of memory leave them. */
bool redlock_has_its_names(const struct redlock_lock *lock)
{
    uint32_t hash;

    if (lock->name_count > REDLOCK_SET_MAX || redlock_idle(lock) || !has_hash(lock)) return true;
    hash = names_hash(lock);
    return memcmp(lock->copy + HASH_AT, &hash, sizeof hash) == 0;
}
#else
static void note_hash(struct redlock_lock *lock)
{
    (void)lock;
}

bool redlock_has_its_names(const struct redlock_lock *lock)
{
    (void)lock;
    return true;
}
#endif

/* The names of an idle lock may be gone. */
bool redlock_copy_name(struct redlock_lock *lock)
{
    bool fits = lock->name_count == 1 && lock->name.size <= REDLOCK_NAME_COPY_MAX;

    if (redlock_idle(lock)) return false;
    if (fits) {
        memmove(lock->copy, lock->name.bytes, lock->name.size);
        lock->name.bytes = lock->copy;
    } else {
        note_hash(lock);
    }
    return fits;
}

void redlock_cancel(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    enum redlock_phase after =
        lock->phase == REDLOCK_PHASE_EXTENDING ? REDLOCK_PHASE_HELD : REDLOCK_PHASE_IDLE;

    REDLOCK_CHECK(is_ours(r, lock));
    r->now_us = now_us;
    if (!is_busy(lock) || is_quiet(lock)) return;
    for (unsigned k = 0; k < r->node_count; k++) {
        if (after == REDLOCK_PHASE_IDLE) stake_let_go(r, lock, k);
        if (lock->stakes[k].want != REDLOCK_COMMAND_RELEASE) stake_want_nothing(r, lock, k);
    }
    lock->asking = 0;
    /* S9: answers that still arrive do not cause a restore. */
    lock->round.deadline_at = now_us;
    if (lock->kind->cancelled) lock->kind->cancelled(r, lock);
    outcome_set(r, lock, after, REDLOCK_CANCELLED);
    lock_reschedule(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
}

bool redlock_let_go(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    redlock_cancel(r, lock, now_us);
    if (lock->is_adopted) return false;     /* S17 */
    (void)redlock_start_release(r, lock, now_us);
    return !redlock_idle(lock);
}

void redlock_pay(struct redlock *r, struct redlock_lock *lock, uint64_t now_us)
{
    r->now_us = now_us;
    stake_pay(r, lock);
    lock_reschedule(r, lock);
    REDLOCK_LOOK_AT_LOCK(r, lock);
}

static void forget_and_tell(struct redlock *r, struct redlock_lock *lock)
{
    event_note(r, lock, REDLOCK_EVENT_FORGOTTEN, 0);
    forget_lock(r, lock);
}

/* Nobody asks or answers for it any longer. */
static void abandon(struct redlock *r, struct redlock_lock *lock)
{
    redlock_cancel(r, lock, r->now_us);
    if (lock_is_held(lock, r->now_us)) {
        if (lock_is_in_round(lock)) lock_set_phase(r, lock, REDLOCK_PHASE_HELD);
        lock->is_kept = false;
        lock->is_quiet = false;
        unlink_lock(r, lock);
        lock->outstanding = 0;
    } else {
        forget_and_tell(r, lock);
    }
}

/* A lock that has ended may have been made new, and be another engine's. No link leads on then. */
static void abandon_queue(struct redlock *r, struct redlock_queue *queue, unsigned slot)
{
    while ((queue->first != NULL) && queue_holds(queue->first, slot) && is_ours(r, queue->first))
        abandon(r, queue->first);
}

static void abandon_all(struct redlock *r)
{
    while ((r->heap != NULL) && r->heap->in_heap && is_ours(r, r->heap)) abandon(r, r->heap);
    abandon_queue(r, &r->done, SLOT_DONE);
    for (unsigned k = 0; k < r->node_count; k++) {
        struct redlock_node *node = &r->nodes[k];
        abandon_queue(r, &node->queue, k);
        for (unsigned i = 0; i < node->asked_count; i++) {
            struct redlock_lock *lock = node_asked_at(node, &r->config, i)->lock;
            if ((lock != NULL) && is_ours(r, lock)) abandon(r, lock);
        }
    }
}

void redlock_forget(struct redlock *r, struct redlock_lock *lock)
{
    if (lock != NULL) {
        REDLOCK_CHECK(is_ours(r, lock));
        forget_and_tell(r, lock);
    } else {
        abandon_all(r);
    }
    REDLOCK_LOOK_AT_ENGINE(r);
}

void redlock_move(struct redlock *r, struct redlock_lock *to, struct redlock_lock *from,
                  const void *resource)
{
    REDLOCK_CHECK(is_ours(r, from));
    if (r->waking) r->waking->leave(r, from);
    heap_set(&r->heap, from, REDLOCK_NEVER);
    if (lock_queue(r, from) == &r->done) queue_remove(&r->done, from, SLOT_DONE);
    *to = *from;
    to->name.bytes = from->name.bytes == from->copy ? to->copy : resource;
    to->bond = bond_of(r, to);
    for (unsigned k = 0; k < r->node_count; k++) queue_replace(&r->nodes[k].queue, to, k);
    queue_replace(lock_queue(r, to), to, SLOT_DONE);
    if (r->waking) r->waking->move(r, to);
    if (to->outstanding > 0) readdress_questions(r, from, to);
    lock_reschedule(r, to);
    clear_lock(from);
    if (r->events) r->events->feature->moved(r, to, from);
    REDLOCK_LOOK_AT_LOCK(r, to);
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

/* S10: computed at every question. A clock that went back is no clock, so the lock is not held. */
uint64_t redlock_valid_us(const struct redlock_lock *lock, uint64_t now_us)
{
    return lock_valid_us(lock, now_us);
}

bool redlock_idle(const struct redlock_lock *lock)
{
    return lock_is_idle(lock);
}

enum redlock_vote redlock_vote_of(const struct redlock_lock *lock, unsigned k)
{
    return round_vote_of(&lock->round, k);
}

static bool is_won(const struct redlock_lock *lock)
{
    return lock->phase == REDLOCK_PHASE_HELD || lock->phase == REDLOCK_PHASE_EXTENDING ||
           lock->phase == REDLOCK_PHASE_RELEASING;
}

uint64_t redlock_ticket(const struct redlock_lock *lock)
{
    if (!is_won(lock) || !has_ticket(lock)) return 0;
    return lock->kind->is_changing ? lock->ticket_seen : lock->ticket;
}

static unsigned count_owed(const struct redlock_lock *lock)
{
    unsigned count = 0;

    for (unsigned k = 0; k < REDLOCK_NODES_MAX; k++)
        count += lock->stakes[k].state == STAKE_OWED || lock->stakes[k].state == STAKE_LEAVING;
    return count;
}

struct redlock_lock_view redlock_view_lock(const struct redlock_lock *lock)
{
    struct redlock_lock_view view;

    view.names = names_of(lock);
    view.name_count = lock->name_count;
    /* An idle lock's names may be gone. */
    view.is_shared = !redlock_idle(lock) && names_are_of_reader(lock);
    view.slot = is_won(lock) ? lock->permit.slot : 0;
    view.owed = count_owed(lock);
    view.confirmed = round_count(lock->round.granted);
    view.free_in_ms = retry_free_in_ms(lock);
    return view;
}

void redlock_token(const struct redlock_lock *lock, char text[REDLOCK_TOKEN_TEXT + 1])
{
    wire_token_text(lock->token, text);
    text[REDLOCK_TOKEN_TEXT] = '\0';
}

void redlock_value(const struct redlock *r, const struct redlock_lock *lock,
                   char text[REDLOCK_VALUE_TEXT + 1])
{
    text[wire_value_text(lock->token, r->holder, text)] = '\0';
}
