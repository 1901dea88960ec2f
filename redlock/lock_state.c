#include "lock_state.h"

#include "events.h"
#include "queue.h"
#include "quorum.h"

void lock_set_phase(struct redlock *r, struct redlock_lock *lock, enum redlock_phase phase)
{
    static const uint16_t may_follow[] = {
        /* The set of phases that may follow each phase. */
#define MAY(phase) (1 << REDLOCK_PHASE_##phase)
        [REDLOCK_PHASE_IDLE] =
            MAY(WAITING) | MAY(NEEDS_ENTROPY) | MAY(ACQUIRING) | MAY(HELD) | MAY(INSPECTING),
        [REDLOCK_PHASE_WAITING] = MAY(IDLE) | MAY(NEEDS_ENTROPY) | MAY(ACQUIRING),
        [REDLOCK_PHASE_NEEDS_ENTROPY] = MAY(IDLE) | MAY(ACQUIRING),
        [REDLOCK_PHASE_ACQUIRING] = MAY(IDLE) | MAY(WAITING) | MAY(ENDING) | MAY(HELD),
        [REDLOCK_PHASE_ENDING] = MAY(IDLE),
        [REDLOCK_PHASE_HELD] = MAY(IDLE) | MAY(EXTENDING) | MAY(RELEASING),
        [REDLOCK_PHASE_EXTENDING] = MAY(HELD) | MAY(EXTENDING) | MAY(RELEASING) | MAY(IDLE),
        [REDLOCK_PHASE_RELEASING] = MAY(IDLE),
        [REDLOCK_PHASE_INSPECTING] = MAY(IDLE),
#undef MAY
    };

    REDLOCK_CHECK(may_follow[lock->phase] >> phase & 1);
    lock->phase = (uint8_t)phase;
    event_note(r, lock, REDLOCK_EVENT_PHASE, phase);
    if (phase != REDLOCK_PHASE_HELD && phase != REDLOCK_PHASE_EXTENDING)
        lock->is_kept = lock->is_quiet = false;
}

bool lock_is_in_round(const struct redlock_lock *lock)
{
    return lock->phase != REDLOCK_PHASE_IDLE && lock->phase != REDLOCK_PHASE_WAITING &&
           lock->phase != REDLOCK_PHASE_NEEDS_ENTROPY && lock->phase != REDLOCK_PHASE_HELD;
}

bool lock_is_trying(const struct redlock_lock *lock)
{
    return lock->phase == REDLOCK_PHASE_WAITING || lock->phase == REDLOCK_PHASE_NEEDS_ENTROPY ||
           lock->phase == REDLOCK_PHASE_ACQUIRING;
}

bool lock_is_past_deadline(const struct redlock *r, const struct redlock_lock *lock)
{
    return r->now_us >= lock->round.deadline_at;
}

bool lock_is_idle(const struct redlock_lock *lock)
{
    bool is_queued = (lock->queued & ~bit_of(SLOT_DONE)) != 0;

    return lock->phase == REDLOCK_PHASE_IDLE && lock->owed == 0 && lock->outstanding == 0 &&
           !is_queued;
}

bool lock_owes_otherwise(const struct redlock_lock *lock, const struct redlock_kind *kind,
                         const struct redlock_request *request)
{
    return (lock->kind == kind) != (request->kind == kind) && !lock_is_idle(lock);
}

/* S10: the clock decides at every question. */
REDLOCK_OUTLINE bool lock_is_held(const struct redlock_lock *lock, uint64_t now_us)
{
    return now_us >= lock->valid_from && now_us < lock->valid_until;
}

uint64_t lock_valid_us(const struct redlock_lock *lock, uint64_t now_us)
{
    return lock_is_held(lock, now_us) && !lock->is_unconfirmed ? lock->valid_until - now_us : 0;
}

bool lock_is_woken(const struct redlock *r, const struct redlock_lock *lock)
{
    return round_count(lock->woken) >= quorum_of(r->node_count);
}

uint64_t lock_keep_at(const struct redlock_lock *lock)
{
    return is_kept(lock) ? sooner(lock->use.keep.at, lock->valid_until) : REDLOCK_NEVER;
}

struct redlock_queue *lock_queue(struct redlock *r, const struct redlock_lock *lock)
{
    return lock->phase == REDLOCK_PHASE_WAITING         ? &r->waiting
           : lock->phase == REDLOCK_PHASE_NEEDS_ENTROPY ? &r->needs_entropy
                                                        : &r->done;
}

void lock_leave_queue(struct redlock *r, struct redlock_lock *lock)
{
    queue_remove(lock_queue(r, lock), lock, SLOT_DONE);
}

void lock_start(struct redlock *r, struct redlock_lock *lock)
{
    queue_remove(&r->done, lock, SLOT_DONE);
    lock->status = REDLOCK_PENDING;
}

void lock_begin_round(struct redlock *r, struct redlock_lock *lock, enum redlock_command command,
                      uint32_t ttl_ms, uint64_t latest)
{
    lock->has_timed_out = false;
    round_begin(&lock->round, command, r->node_count, r->now_us, sooner(timeout_at(r), latest));
    round_set_ttl(&lock->round, ttl_ms, drift_us(ttl_ms, r->config.drift_ppm));
}

void lock_reschedule(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t at = REDLOCK_NEVER;

    if (lock->phase == REDLOCK_PHASE_WAITING || lock->phase == REDLOCK_PHASE_NEEDS_ENTROPY)
        at = lock->retry_at;
    if (lock->phase == REDLOCK_PHASE_HELD) at = lock_keep_at(lock);
    if (lock_is_in_round(lock)) at = lock->round.deadline_at;
    if (lock->deferred) at = sooner(at, lock->debt_at);
    if (lock->owed) at = sooner(at, lock->owed_until);
    heap_set(&r->heap, lock, at);
}

void lock_tell(struct redlock *r, struct redlock_lock *lock, enum redlock_status status)
{
    REDLOCK_CHECK(status != REDLOCK_PENDING);
    lock->status = (uint8_t)status;
    queue_add(&r->done, lock, SLOT_DONE);
    event_note(r, lock, REDLOCK_EVENT_ENDED, status);
}
