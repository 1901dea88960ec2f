/* Acquiring a lock takes attempt after attempt, each a round of SETs (or of the script), until one
 * is won, or time runs out. */
#ifndef REDLOCK_ACQUIRE_H
#define REDLOCK_ACQUIRE_H

#include "stake.h"

/* Begins an attempt, or waits for random bytes. */
REDLOCK_PRIVATE void acquire_begin(struct redlock *r, struct redlock_lock *lock);

/* Node k, which is asked by the attempt under way, has nothing of an older one any longer, so now
 * it can be asked. */
REDLOCK_PRIVATE void acquire_ask(struct redlock *r, struct redlock_lock *lock, unsigned k);

/* Ends the attempt if it is decided. acquire_judge_ending ends the question after the last attempt,
 * for the holder's remaining time, if it is answered. */
REDLOCK_PRIVATE void acquire_judge(struct redlock *r, struct redlock_lock *lock);
REDLOCK_PRIVATE void acquire_judge_ending(struct redlock *r, struct redlock_lock *lock);

/* An answer to ACQUIRE. */
REDLOCK_PRIVATE void acquire_answer(struct redlock *r, const struct answer *a);

/* The time to wait for random bytes is over. */
REDLOCK_PRIVATE void acquire_end_without_entropy(struct redlock *r, struct redlock_lock *lock);

#endif
