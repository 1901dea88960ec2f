#include "lock_state.h"

#include "events.h"
#include "queue.h"
#include "quorum.h"

REDLOCK_STATIC_ASSERT((int)REDLOCK_PHASE_IDLE == (int)PHASE_IDLE && (int)REDLOCK_PHASE_NEEDS_ENTROPY == (int)PHASE_NEEDS_ENTROPY &&
                      (int)REDLOCK_PHASE_ENDING == (int)PHASE_ENDING && (int)REDLOCK_PHASE_HELD == (int)PHASE_HELD &&
                      (int)REDLOCK_PHASE_INSPECTING == (int)PHASE_INSPECTING, "an event's phase is that of a lock");

void lock_set_phase(struct redlock *r, struct redlock_lock *lock, enum phase phase)
{
    static const uint16_t may_follow[] = {   /* The set of phases that may follow each phase. */
        [PHASE_IDLE] = 1 << PHASE_WAITING | 1 << PHASE_NEEDS_ENTROPY | 1 << PHASE_ACQUIRING | 1 << PHASE_HELD |
                       1 << PHASE_INSPECTING,
        [PHASE_WAITING] = 1 << PHASE_IDLE | 1 << PHASE_NEEDS_ENTROPY | 1 << PHASE_ACQUIRING,
        [PHASE_NEEDS_ENTROPY] = 1 << PHASE_IDLE | 1 << PHASE_ACQUIRING,
        [PHASE_ACQUIRING] = 1 << PHASE_IDLE | 1 << PHASE_WAITING | 1 << PHASE_ENDING | 1 << PHASE_HELD,
        [PHASE_ENDING] = 1 << PHASE_IDLE,
        [PHASE_HELD] = 1 << PHASE_IDLE | 1 << PHASE_EXTENDING | 1 << PHASE_RELEASING,
        [PHASE_EXTENDING] = 1 << PHASE_HELD | 1 << PHASE_EXTENDING | 1 << PHASE_RELEASING | 1 << PHASE_IDLE,
        [PHASE_RELEASING] = 1 << PHASE_IDLE,
        [PHASE_INSPECTING] = 1 << PHASE_IDLE,
    };

    REDLOCK_CHECK(may_follow[lock->phase] >> phase & 1);
    lock->phase = (uint8_t)phase;
    event_note(r, lock, REDLOCK_EVENT_PHASE, phase);
    if (phase != PHASE_HELD && phase != PHASE_EXTENDING) lock->is_kept = lock->is_quiet = false;
}

bool lock_is_in_round(const struct redlock_lock *lock)
{
    return lock->phase != PHASE_IDLE && lock->phase != PHASE_WAITING && lock->phase != PHASE_NEEDS_ENTROPY &&
           lock->phase != PHASE_HELD;
}

bool lock_is_trying(const struct redlock_lock *lock)
{
    return lock->phase == PHASE_WAITING || lock->phase == PHASE_NEEDS_ENTROPY || lock->phase == PHASE_ACQUIRING;
}

bool lock_is_past_deadline(const struct redlock *r, const struct redlock_lock *lock)
{
    return r->now_us >= lock->round.deadline_at;
}

bool lock_is_idle(const struct redlock_lock *lock)
{
    bool is_queued = (lock->queued & ~bit_of(SLOT_DONE)) != 0;

    return lock->phase == PHASE_IDLE && lock->owed == 0 && lock->outstanding == 0 && !is_queued;
}

bool lock_owes_otherwise(const struct redlock_lock *lock, const struct redlock_kind *kind, const struct redlock_request *request)
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
    return lock->phase == PHASE_WAITING ? &r->waiting : lock->phase == PHASE_NEEDS_ENTROPY ? &r->needs_entropy : &r->done;
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

void lock_begin_round(struct redlock *r, struct redlock_lock *lock, enum wire_command command, uint32_t ttl_ms, uint64_t latest)
{
    lock->has_timed_out = false;
    round_begin(&lock->round, command, r->node_count, r->now_us, sooner(timeout_at(r), latest));
    round_set_ttl(&lock->round, ttl_ms, drift_us(ttl_ms, r->config.drift_ppm));
}

void lock_reschedule(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t at = REDLOCK_NEVER;

    if (lock->phase == PHASE_WAITING || lock->phase == PHASE_NEEDS_ENTROPY) at = lock->retry_at;
    if (lock->phase == PHASE_HELD) at = lock_keep_at(lock);
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
