/* To extend a lock that is held. */
#ifndef REDLOCK_EXTEND_H
#define REDLOCK_EXTEND_H

#include "stake.h"

/* Begins to extend a lock that is held. */
REDLOCK_PRIVATE void extend_begin(struct redlock *r, struct redlock_lock *lock, uint32_t ttl_ms);

/* Ends the extension if it is decided. PENDING: not yet. Otherwise returns its result, and the lock
 * is still in REDLOCK_PHASE_EXTENDING. */
REDLOCK_PRIVATE enum redlock_status extend_judge(struct redlock *r, struct redlock_lock *lock);

/* An answer to EXTEND. */
REDLOCK_PRIVATE void extend_answer(struct redlock *r, const struct answer *a);

#endif
