/* Inspects a key on each node. Reads only. */
#ifndef REDLOCK_INSPECT_H
#define REDLOCK_INSPECT_H

#include "stake.h"

/* The lock must be idle. Registers the feature. */
REDLOCK_PRIVATE void inspect_begin(struct redlock *r, struct redlock_lock *lock,
                                   struct redlock_sight *sights);

#endif
