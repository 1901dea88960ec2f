/* One round, with any votes. */
#include "any.h"
#include "../../redlock/round.c"
#include "../../redlock/quorum.c"

static struct redlock_round round;

/* A round of node_count nodes with any votes, contradictory ones too. Every vote is assumed to be
 * of a node that exists; that is asserted afterwards. */
static void any_round(unsigned node_count)
{
    uint16_t all = (uint16_t)((1u << node_count) - 1);

    Frama_C_make_unknown((char *)&round, sizeof round);
    round.node_count = (uint8_t)node_count;
    round.granted = any_u16(all);
    round.refused = any_u16(all);
    round.unknown = any_u16(all);
    round.not_asked = any_u16(all);
}

/* Begun, voted on, closed and read, in any state. Nothing traps, and votes are those of nodes that
 * exist. Only a node that exists votes; round_vote's own check would trap otherwise. */
void prove_votes(void)
{
    unsigned node_count = any_u8(REDLOCK_NODES_MAX - 1) + 1u, k = any_u8(REDLOCK_NODES_MAX - 1);
    enum redlock_vote vote = (enum redlock_vote)any_u8(REDLOCK_VOTE_NOT_ASKED);

    //@ split node_count;
    any_round(node_count);
    if (any_bool()) {
        round_begin(&round, any_u8(UINT8_MAX), node_count, any_u64(UINT64_MAX),
                    any_u64(UINT64_MAX));
        round_set_ttl(&round, any_u32(UINT32_MAX), any_u64(UINT64_MAX));
    }
    if (k < node_count) {
        round_vote(&round, k, vote);
        vote = round_vote_of(&round, k);
        //@ assert vote <= REDLOCK_VOTE_NOT_ASKED;
    }
    if (any_bool()) round_close(&round);
    //@ assert round.granted < (1 << node_count) && round.unknown < (1 << node_count);
    unsigned granted = round_count(round.granted);
    //@ assert granted <= node_count;
}

/* The nodes up to NODES have granted any number, and the other nodes and the clock say anything.
 * With more nodes there are too many sets of votes, so test_round counts those by running. */
void prove_verdict(void)
{
    enum { NODES = 5 };

    for (unsigned n = 1; n <= NODES; n++) {
        for (unsigned granted = 0; granted < 1u << n; granted++) {
            any_round(n);
            round.granted = (uint16_t)granted;
            unsigned count = round_count(round.granted), quorum = quorum_of(n);
            enum verdict verdict = round_verdict(&round, any_u64(UINT64_MAX), any_u64(UINT64_MAX));
            //@ assert verdict != VERDICT_WON || count >= quorum;
        }
    }
}
