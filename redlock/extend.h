/* To extend a lock that is held. */
#ifndef REDLOCK_EXTEND_H
#define REDLOCK_EXTEND_H

#include "stake.h"

/* Begins to extend a lock that is held. */
REDLOCK_PRIVATE void extend_begin(struct redlock *r, struct redlock_lock *lock, uint32_t ttl_ms);

/* Is it decided? PENDING: not yet; otherwise what became of it, and the lock is in PHASE_EXTENDING still. */
REDLOCK_PRIVATE enum redlock_status extend_judge(struct redlock *r, struct redlock_lock *lock);

/* An answer to EXTEND. */
REDLOCK_PRIVATE void extend_answer(struct redlock *r, const struct answer *a);

#endif
