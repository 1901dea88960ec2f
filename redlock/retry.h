/* Decides when the next attempt to acquire begins (S14). Knows no waiters' entries, only whether a
 * quorum has woken the lock. */
#ifndef REDLOCK_RETRY_H
#define REDLOCK_RETRY_H

#include "lock_state.h"

/* After a lost attempt, if there is time for another one, the lock waits for it, for that pause
 * beyond a round's time. */
REDLOCK_PRIVATE bool retry_has_time(const struct redlock *r, const struct redlock_lock *lock);
REDLOCK_PRIVATE void retry_begin(struct redlock *r, struct redlock_lock *lock, uint64_t pause_us);

/* The lock waits until retry_at, which has been set. */
REDLOCK_PRIVATE void retry_wait(struct redlock *r, struct redlock_lock *lock);

/* A random time. */
REDLOCK_PRIVATE uint64_t retry_pause_us(struct redlock *r);

/* Duration of the last round, a round trip of the nodes that decided. */
REDLOCK_PRIVATE uint64_t retry_round_us(const struct redlock_lock *lock);

/* Moves the next attempt forward if it is the lock's turn, or if the end of the holder's TTL is
 * known. It never begins before a round's time has passed. */
REDLOCK_PRIVATE void retry_hurry(struct redlock *r, struct redlock_lock *lock);

/* Moves it forward to the time when enough nodes will have a vote, if they were, or are, too few,
 * since no release would wake it then. (A lock that nothing wakes tries so often by itself that it
 * needs no such care.) */
REDLOCK_PRIVATE void retry_expect_votes(struct redlock *r, struct redlock_lock *lock);

/* The number of ms until a quorum is free, by the holder's TTL on the nodes, or REDLOCK_UNTOLD. */
REDLOCK_PRIVATE uint32_t retry_free_in_ms(const struct redlock_lock *lock);

/* The answer to PTTL, in ms. FOREVER: no TTL, 0: no key. A longer time is
 * cut below REDLOCK_UNTOLD. */
REDLOCK_PRIVATE uint32_t retry_ms_of(int64_t pttl);

#endif
