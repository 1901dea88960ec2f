/* What a lock is about: one resource, or a set of several, which has one form whoever asks for it. Knows bytes. */
#ifndef REDLOCK_NAMES_H
#define REDLOCK_NAMES_H

#include "private.h"
#include "redlock.h"

/* What the lock is about. */
static inline const struct redlock_name *names_of(const struct redlock_lock *lock)
{
    return lock->set ? lock->set : &lock->name;
}

/* OK; BAD_SET, BAD_RESOURCE. size_max: of all names together, each but the first with a head of its own. */
REDLOCK_PRIVATE enum redlock_status names_check(const struct redlock_name *names, unsigned count, size_t size_max);

/* In one order everywhere, whoever asks: a set has one form on the wire. */
REDLOCK_PRIVATE void names_sort(struct redlock_name *set, unsigned count);

/* Is the lock about these, in whatever order, each once? */
REDLOCK_PRIVATE bool names_are_of(const struct redlock_lock *lock, const struct redlock_name *names, unsigned count);

/* Of a set the first one. Never 0. */
REDLOCK_PRIVATE uint32_t names_hash(const struct redlock_lock *lock);

#endif
