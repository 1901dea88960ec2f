/* To inspect: what a key looks like on each node. Reads only. */
#ifndef REDLOCK_INSPECT_H
#define REDLOCK_INSPECT_H

#include "stake.h"

/* What inspection adds. */
struct redlock_inspecting {
    /* Have all nodes answered that can? */
    void (*judge)(struct redlock *r, struct redlock_lock *lock);

    /* An answer to GETRANGE, and to PTTL, of a lock that is inspected, or was until it was cancelled. */
    void (*answer)(const struct answer *a);
};

/* The lock must be idle. Registers the part. */
REDLOCK_PRIVATE void inspect_begin(struct redlock *r, struct redlock_lock *lock, struct redlock_sight *sights);

#endif
