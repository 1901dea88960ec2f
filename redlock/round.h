/* One round has the nodes' votes, and the verdict that follows from them. Knows the arithmetic, no
 * command and no lock. */
#ifndef REDLOCK_ROUND_H
#define REDLOCK_ROUND_H

#include "private.h"
#include "redlock.h"

/* The set of node k alone. */
static inline uint16_t bit_of(unsigned k)
{
    return (uint16_t)(1u << k);
}

enum verdict { VERDICT_PENDING, VERDICT_WON, VERDICT_LOST };

/* Begins a round of node_count nodes, all votes pending, about a command (any number of the
 * caller's). Its own number is one more than that of the round before. */
REDLOCK_PRIVATE void round_begin(struct redlock_round *round, unsigned command, unsigned node_count,
                                 uint64_t now_us, uint64_t deadline_at);

/* Sets the TTL of the round. A release has none. */
REDLOCK_PRIVATE void round_set_ttl(struct redlock_round *round, uint32_t ttl_ms, uint64_t drift);

/* Counts node k's vote, the first one only (S8). */
REDLOCK_PRIVATE void round_vote(struct redlock_round *round, unsigned k, enum redlock_vote vote);

REDLOCK_PRIVATE enum redlock_vote round_vote_of(const struct redlock_round *round, unsigned k);

/* The votes that are pending become unknown (S4). */
REDLOCK_PRIVATE void round_close(struct redlock_round *round);

/* The number of nodes in the set. */
REDLOCK_PRIVATE unsigned round_count(uint16_t votes);
REDLOCK_PRIVATE unsigned round_pending(const struct redlock_round *round);

/* The rest of the TTL at now_us. The TTL began when the round did (S2). */
REDLOCK_PRIVATE uint64_t round_validity_us(const struct redlock_round *round, uint64_t now_us);

/* The verdict as early as it is certain, by the clock, then by the votes. A validity below the
 * minimum, or of 0, is none. */
REDLOCK_PRIVATE enum verdict round_verdict(const struct redlock_round *round, uint64_t now_us,
                                           uint64_t min_validity_us);

#endif
