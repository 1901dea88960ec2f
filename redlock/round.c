#include "round.h"

#include "quorum.h"

REDLOCK_STATIC_ASSERT(REDLOCK_NODES_MAX >= 1 && REDLOCK_NODES_MAX <= 15,
                      "votes, and links in use, are kept in a uint16_t");

void round_begin(struct redlock_round *round, unsigned command, unsigned node_count,
                 uint64_t now_us, uint64_t deadline_at)
{
    uint32_t number = round->number + 1;

    REDLOCK_CHECK(node_count >= 1 && node_count <= REDLOCK_NODES_MAX);
    clear_bytes(round, sizeof *round);
    round->number = number;
    round->command = (uint8_t)command;
    round->node_count = (uint8_t)node_count;
    round->started_at = now_us;
    round->deadline_at = deadline_at;
}

void round_set_ttl(struct redlock_round *round, uint32_t ttl_ms, uint64_t drift)
{
    round->ttl_ms = ttl_ms;
    round->drift_us = drift;
}

static uint16_t voters_of(const struct redlock_round *round)
{
    return (uint16_t)(round->granted | round->refused | round->unknown | round->not_asked);
}

void round_vote(struct redlock_round *round, unsigned k, enum redlock_vote vote)
{
    uint16_t bit = bit_of(k);

    REDLOCK_CHECK(k < round->node_count);
    if (voters_of(round) & bit) return;  /* S8: a vote counts once per node. */
    switch (vote) {
    case REDLOCK_VOTE_PENDING:   break;
    case REDLOCK_VOTE_GRANTED:   round->granted |= bit; break;
    case REDLOCK_VOTE_REFUSED:   round->refused |= bit; break;
    case REDLOCK_VOTE_UNKNOWN:   round->unknown |= bit; break;
    case REDLOCK_VOTE_NOT_ASKED: round->not_asked |= bit; break;
    }
}

enum redlock_vote round_vote_of(const struct redlock_round *round, unsigned k)
{
    uint16_t bit = bit_of(k);

    if (round->granted & bit)   return REDLOCK_VOTE_GRANTED;
    if (round->refused & bit)   return REDLOCK_VOTE_REFUSED;
    if (round->unknown & bit)   return REDLOCK_VOTE_UNKNOWN;
    if (round->not_asked & bit) return REDLOCK_VOTE_NOT_ASKED;
    return REDLOCK_VOTE_PENDING;
}

void round_close(struct redlock_round *round)
{
    uint16_t all = (uint16_t)((1u << round->node_count) - 1);

    round->unknown |= (uint16_t)(all & ~voters_of(round));
}

unsigned round_count(uint16_t votes)
{
    unsigned count = 0;

    for (; votes != 0; votes >>= 1) count += votes & 1;
    return count;
}

unsigned round_pending(const struct redlock_round *round)
{
    return round->node_count - round_count(voters_of(round));
}

/* A clock that went back wraps to an elapsed time that leaves nothing. */
REDLOCK_WRAPS uint64_t round_validity_us(const struct redlock_round *round, uint64_t now_us)
{
    return validity_us(round->ttl_ms, now_us - round->started_at, round->drift_us);
}

enum verdict round_verdict(const struct redlock_round *round, uint64_t now_us,
                           uint64_t min_validity_us)
{
    unsigned granted = round_count(round->granted);
    unsigned quorum = quorum_of(round->node_count);
    uint64_t validity = round_validity_us(round, now_us);

    /* S2, and step 3: "if and only if the client was able to acquire the lock in the majority of
     * the instances, and the total time elapsed to acquire the lock is less than
     * lock validity time". */
    if (validity == 0 || validity < min_validity_us) return VERDICT_LOST;
    if (granted >= quorum)                           return VERDICT_WON;
    if (granted + round_pending(round) < quorum)     return VERDICT_LOST;
    return VERDICT_PENDING;
}
