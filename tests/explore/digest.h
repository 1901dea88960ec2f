/* Two worlds with the same future must have this in common. It is a digest of 128 bits of that, and
 * of nothing else. */
#ifndef EXPLORE_DIGEST_H
#define EXPLORE_DIGEST_H

#include "world.h"

struct digest {
    uint64_t high, low;
};

/* 0, 0 is no digest of a world, and stands for none in a table. */
static inline bool digest_is_none(struct digest digest)
{
    return digest.high == 0 && digest.low == 0;
}

static inline bool digests_are_equal(struct digest a, struct digest b)
{
    return a.high == b.high && a.low == b.low;
}

/* The same for worlds that differ only in the names of nodes, in the names of clients, in the date,
 * or in bytes that nothing will ever be decided by. */
struct digest digest_of(const struct world *w, const struct bounds *bounds);

/* Joins a pair; and a set, whose order changes, and in which nothing counts twice. */
struct digest digest_join(struct digest digest, struct digest other);
struct digest digest_of_set(struct digest *digests, unsigned count);

#endif
