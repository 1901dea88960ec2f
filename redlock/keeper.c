#include "keeper.h"

#include "extend.h"
#include "random.h"

enum {
    SPREAD = 8,             /* An extension begins up to an eighth of its interval early. */
    /* After a failed extension the next begins within a quarter of the validity that is left, */
    PATIENCE = 4,
    /* but not at once, since time stands still during a tick, which would never end. */
    PAUSE_MIN_US = 1000
};

static void end_keeping(struct redlock *r, struct redlock_lock *lock, enum redlock_status status)
{
    REDLOCK_ASSERT(lock->is_kept && lock->phase == REDLOCK_PHASE_HELD);
    lock->is_kept = false;
    lock_tell(r, lock, status);
    REDLOCK_ASSERT(lock->status == status && lock_keep_at(lock) == REDLOCK_NEVER);
}

static void keeper_schedule(struct redlock *r, struct redlock_lock *lock)
{
    uint32_t percent = r->config.keep_percent, ttl_ms = lock->ttl_ms;
    /* It fits in 32 bits. */
    uint32_t interval_ms = ttl_ms / 100 * percent + ttl_ms % 100 * percent / 100;
    uint32_t early_ms = throw_dice(r, interval_ms / SPREAD + 1);

    REDLOCK_ASSERT(lock->is_kept && early_ms <= interval_ms && interval_ms < ttl_ms);
    lock->use.keep.at = lock->valid_from + (uint64_t)(interval_ms - early_ms) * 1000;
    REDLOCK_ASSERT(lock->use.keep.at - lock->valid_from < (uint64_t)ttl_ms * 1000);
}

void keeper_begin(struct redlock *r, struct redlock_lock *lock, uint32_t hold_ms)
{
    REDLOCK_CHECK(lock->phase == REDLOCK_PHASE_HELD || lock->phase == REDLOCK_PHASE_EXTENDING);
    r->keeping = keeper_feature();
    lock->is_kept = true;
    lock->use.keep.until = hold_ms > 0 ? r->now_us + (uint64_t)hold_ms * 1000 : REDLOCK_NEVER;
    keeper_schedule(r, lock);
    REDLOCK_ASSERT(lock->use.keep.until != r->now_us);
}

/* Whole milliseconds, less than 2^32 of them, in two steps, since a division of 64 bits would be
 * 700 bytes of code on a small processor. */
static uint32_t whole_ms(uint64_t us)
{
    uint32_t high = (uint32_t)(us >> 16), low = (uint32_t)us & 0xffff;
    uint32_t ms = (high / 1000 << 16) + (high % 1000 << 16 | low) / 1000;

    REDLOCK_ASSERT(us >> 32 < 1000 && ms == us / 1000);
    return ms;
}

/* S13: it is not extended beyond the time for which it may be kept. 0: its remaining time is as
 * long as it may be. */
static uint32_t next_ttl_ms(const struct redlock_lock *lock, uint64_t now_us)
{
    uint64_t may_us = lock->use.keep.until > now_us ? lock->use.keep.until - now_us : 0;

    REDLOCK_ASSERT(lock_is_held(lock, now_us));
    /* S13 */
    REDLOCK_ASSERT(lock->extension_limit == 0 || lock->extension_count <= lock->extension_limit);
    if (lock->extension_limit > 0 && lock->extension_count >= lock->extension_limit) return 0;
    if (may_us >= (uint64_t)lock->ttl_ms * 1000) return lock->ttl_ms;
    return may_us > lock->valid_until - now_us ? whole_ms(may_us) : 0;
}

static void keeper_tick(struct redlock *r, struct redlock_lock *lock)
{
    uint32_t ttl_ms;

    REDLOCK_ASSERT(lock->is_kept && lock->phase == REDLOCK_PHASE_HELD);
    if (r->now_us < lock_keep_at(lock)) return;
    if (!lock_is_held(lock, r->now_us)) {   /* S10 */
        end_keeping(r, lock, REDLOCK_LOST);
        return;
    }
    ttl_ms = next_ttl_ms(lock, r->now_us);
    if (ttl_ms == 0) {
        end_keeping(r, lock, REDLOCK_EXTENSION_LIMIT);
        return;
    }
    REDLOCK_ASSERT(ttl_ms <= lock->ttl_ms);     /* S13: it is shorter at the end of the time. */
    lock->is_quiet = true;
    extend_begin(r, lock, ttl_ms);
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_EXTENDING && lock->is_quiet);
}

/* Not too soon, since clients that fail together would fail together again, but within the validity
 * that is left. */
static uint64_t retry_in_us(struct redlock *r, const struct redlock_lock *lock)
{
    uint32_t retry_us = r->config.retry_ms * 1000;
    /* More than 32 bits hold. */
    uint64_t pause_us = (uint64_t)(retry_us / 2) + throw_dice(r, retry_us);

    REDLOCK_ASSERT(lock_is_held(lock, r->now_us));
    REDLOCK_ASSERT(pause_us < 2 * (uint64_t)retry_us);      /* S14 */
    return later(PAUSE_MIN_US, sooner(pause_us, (lock->valid_until - r->now_us) / PATIENCE));
}

static void keeper_extended(struct redlock *r, struct redlock_lock *lock,
                            enum redlock_status status)
{
    bool is_news = status != (enum redlock_status)lock->status;

    REDLOCK_CHECK(is_quiet(lock) && status != REDLOCK_PENDING);
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_EXTENDING && lock->is_kept);
    lock->is_quiet = false;
    lock->round.decided_at = r->now_us;
    lock_set_phase(r, lock, REDLOCK_PHASE_HELD);
    if (status == REDLOCK_LOST) {
        end_keeping(r, lock, REDLOCK_LOST);
        return;
    }
    if (status == REDLOCK_OK && lock->round.ttl_ms < lock->ttl_ms) {
        /* The time for which it may be kept is over. */
        end_keeping(r, lock, REDLOCK_EXTENSION_LIMIT);
        return;
    }
    if (status == REDLOCK_OK) keeper_schedule(r, lock);
    else                      lock->use.keep.at = r->now_us + retry_in_us(r, lock);
    if (is_news) lock_tell(r, lock, status);
}

const struct redlock_keeping *keeper_feature(void)
{
    static const struct redlock_keeping feature = {
        .schedule = keeper_schedule, .tick = keeper_tick, .extended = keeper_extended
    };

    return &feature;
}
