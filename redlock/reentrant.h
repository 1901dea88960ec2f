/* Depth and owner, for the calls over a client and over a keeper. Knows a lock only by the public
 * calls, sends nothing. */
#ifndef REDLOCK_INSIDE_H
#define REDLOCK_INSIDE_H

/* The amalgamation has the header inside, where clang would warn that nobody calls them. */
#define REDLOCK_WITHOUT_SCOPES
#include "redlock_reentrant.h"

#include <string.h>

static inline bool inside_is_among(const struct redlock_name *name,
                                   const struct redlock_name *names, unsigned count)
{
    /* A reader becomes a writer by an upgrade, which may be refused. */
    for (unsigned i = 0; i < count; i++)
        if (names[i].size == name->size && memcmp(names[i].bytes, name->bytes, name->size) == 0)
            return name->shared || !names[i].shared;
    return false;
}

/* A permit is no lock, and a lock no permit. The held permit must be among the requested ones. */
static inline bool inside_has_slot(const struct redlock_lock *lock,
                                   const struct redlock_request *request)
{
    unsigned slot = redlock_view_lock(lock).slot;

    return request->permits > 0 ? slot > 0 && slot <= request->permits : slot == 0;
}

/* True if the held lock satisfies an inner request. */
static inline bool inside_covers(const struct redlock_lock *lock,
                                 const struct redlock_request *request)
{
    struct redlock_name one = { .bytes = request->resource, .size = request->resource_size,
                                .shared = request->kind == &redlock_shared };
    const struct redlock_name *wanted = request->set ? request->set : &one;
    unsigned wanted_count = request->set ? request->set_count : 1;
    struct redlock_lock_view view = redlock_view_lock(lock);

    for (unsigned i = 0; i < wanted_count; i++)
        if (!inside_is_among(&wanted[i], view.names, view.name_count)) return false;
    if (!inside_has_slot(lock, request)) return false;
    return !request->ticket || redlock_ticket(lock) != 0;
}

/* A scope within another one. The nodes are not asked, and nothing is acquired if the validity is
 * over, since the outer scope would go on in the belief that it never lost the lock, while somebody
 * else may have had it in between. */
static inline enum redlock_status inside_again(struct redlock_inside *inside, uint64_t owner,
                                               const struct redlock_lock *lock,
                                               const struct redlock_request *request)
{
    uint64_t valid_us = redlock_valid_us(lock, redlock_now_us());

    if (inside->owner != owner)                                                return REDLOCK_TAKEN;
    /* S10 */
    if (valid_us == 0)                                                         return REDLOCK_LOST;
    if (!inside_covers(lock, request) || inside->depth == UINT32_MAX) return REDLOCK_BAD_STATE;
    if (valid_us < (uint64_t)request->min_validity_ms * 1000) return REDLOCK_TOO_LATE;
    inside->depth++;
    return REDLOCK_OK;
}

static inline void inside_begin(struct redlock_inside *inside, uint64_t owner)
{
    inside->owner = owner;
    inside->depth = 1;
}

static inline bool inside_is(const struct redlock_inside *inside, uint64_t owner)
{
    return inside->depth > 0 && inside->owner == owner;
}

/* The end of an inner scope. */
static inline enum redlock_status inside_less(struct redlock_inside *inside,
                                              const struct redlock_lock *lock)
{
    inside->depth--;
    return redlock_valid_us(lock, redlock_now_us()) > 0 ? REDLOCK_OK : REDLOCK_LOST;
}

/* The outermost scope has been left, or could not be. */
static inline void inside_end(struct redlock_inside *inside, enum redlock_status released)
{
    if (released == REDLOCK_OK || released == REDLOCK_LOST) inside->depth = 0;
}

#endif
