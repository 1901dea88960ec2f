/* What a lock is about: one resource, or a set of several, which has one form for all clients. Knows bytes. */
#ifndef REDLOCK_NAMES_H
#define REDLOCK_NAMES_H

#include "private.h"
#include "redlock.h"

/* What the lock is about. */
static inline const struct redlock_name *names_of(const struct redlock_lock *lock)
{
    return lock->name_count > 1 ? (const struct redlock_name *)lock->name.bytes : &lock->name;
}

/* Is the lock, in this place, the engine's, or nobody's yet? A copy is not, nor is one that was never made ready: links that
 * are another lock's, or none, would be written through. */
static inline uintptr_t bond_of(const struct redlock *r, const struct redlock_lock *lock)
{
    return (uintptr_t)r ^ (uintptr_t)lock;
}

static inline bool is_ours(const struct redlock *r, const struct redlock_lock *lock)
{
    return lock->bond == 0 || lock->bond == bond_of(r, lock);
}

/* May that be a resource? */
REDLOCK_PRIVATE bool name_is_proper(const struct redlock_name *name, size_t size_max);

/* What sets add: no name stands twice in one; two are the same whatever their order; and they are sorted, in one order
 * everywhere, whoever asks, so that a set has one form on the wire. */
struct redlock_sets {
    /* OK; BAD_SET, BAD_RESOURCE; BAD_KIND: one is shared, of a lock that is not. All names together fit, each but the first with a
     * head of its own. */
    enum redlock_status (*check)(const struct redlock *r, const struct redlock_name *names, unsigned count, bool is_shared);
    bool (*are_same)(const struct redlock_name *set, const struct redlock_name *names, unsigned count);
    void (*sort)(struct redlock_name *set, unsigned count);
};
REDLOCK_PRIVATE const struct redlock_sets *names_feature(void);

/* Is the lock about these, in whatever order, each once? */
REDLOCK_PRIVATE bool names_are_of(const struct redlock *r, const struct redlock_lock *lock, const struct redlock_name *names,
                                  unsigned count);

/* Is any of them? */
REDLOCK_PRIVATE bool names_are_shared(const struct redlock_name *names, unsigned count);

/* Is none of these, which the lock is about, shared in one of both and not in the other? */
REDLOCK_PRIVATE bool names_have_same_roles(const struct redlock_lock *lock, const struct redlock_name *names, unsigned count);

/* Of a set the first one. Never 0. */
REDLOCK_PRIVATE uint32_t names_hash(const struct redlock_lock *lock);

#endif
