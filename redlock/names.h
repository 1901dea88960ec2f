/* The names of a lock, which are one resource, or a set of several, which has one form for all
 * clients. Knows bytes. */
#ifndef REDLOCK_NAMES_H
#define REDLOCK_NAMES_H

#include "private.h"
#include "redlock.h"

/* The lock's names. */
static inline const struct redlock_name *names_of(const struct redlock_lock *lock)
{
    return lock->name_count > 1 ? (const struct redlock_name *)lock->name.bytes : &lock->name;
}

/* True if the lock, in this place, is the engine's, or nobody's yet. A copy is not, nor is a lock
 * that was never made ready, since the engine would write through links of another lock,
 * or through garbage. */
static inline uintptr_t bond_of(const struct redlock *r, const struct redlock_lock *lock)
{
    return (uintptr_t)r ^ (uintptr_t)lock;
}

static inline bool is_ours(const struct redlock *r, const struct redlock_lock *lock)
{
    return lock->bond == 0 || lock->bond == bond_of(r, lock);
}

/* True if that may be a resource. */
REDLOCK_PRIVATE bool name_is_proper(const struct redlock_name *name, size_t size_max);

/* The part that sets add. No name is twice in a set, and the order does not matter. They are
 * sorted, in one order for all clients, so that a set has one form on the wire. */
struct redlock_sets {
    /* OK, BAD_SET, BAD_RESOURCE, or BAD_KIND if one is shared, but the lock is not. All names
     * together fit, each but the first with a head of its own. For managed nodes they have
     * the same braces. */
    enum redlock_status (*check)(const struct redlock *r, const struct redlock_name *names,
                                 unsigned count, bool is_shared);
    bool (*are_same)(const struct redlock_name *set, const struct redlock_name *names,
                     unsigned count);
    void (*sort)(struct redlock_name *set, unsigned count);
};
REDLOCK_PRIVATE const struct redlock_sets *names_feature(void);

/* True if the lock has these names, in any order, each once. */
REDLOCK_PRIVATE bool names_are_of(const struct redlock *r, const struct redlock_lock *lock,
                                  const struct redlock_name *names, unsigned count);

/* True if it has any of them. */
REDLOCK_PRIVATE bool names_are_shared(const struct redlock_name *names, unsigned count);

/* True if the lock is a reader of any of its resources, also while it becomes a writer. */
REDLOCK_PRIVATE bool names_are_of_reader(const struct redlock_lock *lock);

/* True if each of these names, which the lock has, is shared in both or in neither. */
REDLOCK_PRIVATE bool names_have_same_roles(const struct redlock_lock *lock,
                                           const struct redlock_name *names, unsigned count);

/* FNV-1a of the names, one after the other. Never 0. */
REDLOCK_PRIVATE uint32_t names_hash(const struct redlock_lock *lock);

#endif
