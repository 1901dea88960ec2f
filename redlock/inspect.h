/* To inspect: what a key looks like on each node. Reads only. */
#ifndef REDLOCK_INSPECT_H
#define REDLOCK_INSPECT_H

#include "stake.h"

REDLOCK_PRIVATE void inspect_begin(struct redlock *r, struct redlock_lock *lock, struct redlock_sight *sights);
REDLOCK_PRIVATE void inspect_judge(struct redlock *r, struct redlock_lock *lock);

/* An answer to GETRANGE, and to PTTL, of a lock that is inspected, or was until it was cancelled. */
REDLOCK_PRIVATE void inspect_answer(const struct answer *a);

#endif
