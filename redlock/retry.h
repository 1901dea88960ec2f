/* Between two attempts to acquire (S14): when the next one begins. Knows no waiters' entries, only what is said of them. */
#ifndef REDLOCK_RETRY_H
#define REDLOCK_RETRY_H

#include "lock_state.h"

/* After a lost attempt: is there time for another one? Then the lock waits for it, for that pause beyond a round's time. */
REDLOCK_PRIVATE bool retry_has_time(const struct redlock *r, const struct redlock_lock *lock);
REDLOCK_PRIVATE void retry_begin(struct redlock *r, struct redlock_lock *lock, uint64_t pause_us);

/* The lock waits until retry_at, which has been set. */
REDLOCK_PRIVATE void retry_wait(struct redlock *r, struct redlock_lock *lock);

/* A random time. */
REDLOCK_PRIVATE uint64_t retry_pause_us(struct redlock *r);

/* How long the last round took: a round trip, of the nodes that decided. */
REDLOCK_PRIVATE uint64_t retry_round_us(const struct redlock_lock *lock);

/* Moves the next attempt forward if more is known than the random pause knew: that its turn has come, or when the holder's TTL
 * ends. Never before a round's time has passed. */
REDLOCK_PRIVATE void retry_hurry(struct redlock *r, struct redlock_lock *lock);

/* Moves it forward to when enough nodes will have a vote, if they were, or are, too few: no release would wake it then. (A lock
 * that nothing wakes tries so often by itself that it needs no such care.) */
REDLOCK_PRIVATE void retry_expect_votes(struct redlock *r, struct redlock_lock *lock);

/* In how many ms a quorum is free, by what nodes said of the holder's TTL; REDLOCK_UNTOLD. */
REDLOCK_PRIVATE uint32_t retry_free_in_ms(const struct redlock_lock *lock);

/* What PTTL says, in ms: FOREVER, 0 for no key, and never more than what is told. */
REDLOCK_PRIVATE uint32_t retry_ms_of(int64_t pttl);

#endif
