/* Votes and verdict, exhausted. The test plays every round of one to five nodes, in every order,
 * with every vote, in time and too late. */
#include "../../tap.h"

#include "../../../redlock/quorum.h"
#include "../../../redlock/round.h"

enum { TTL_MS = 100, IN_TIME_US = 10, TOO_LATE_US = TTL_MS * 1000 };

static struct redlock_round begin(unsigned node_count)
{
    struct redlock_round round = { 0 };

    round_begin(&round, 7, node_count, 1000, 1000 + 50000);
    round_set_ttl(&round, TTL_MS, drift_us(TTL_MS, 10000));
    return round;
}

static enum verdict verdict_in_time(const struct redlock_round *round)
{
    return round_verdict(round, 1000 + IN_TIME_US, 0);
}

/* The oracle for the possible ends of the round. It tries all the ways in which the votes that are
 * missing may fall. */
static void outcomes(unsigned node_count, unsigned granted, unsigned missing, bool *can_win,
                     bool *can_lose)
{
    if (missing > 0) {
        outcomes(node_count, granted + 1, missing - 1, can_win, can_lose);
        outcomes(node_count, granted, missing - 1, can_win, can_lose);
    } else if (granted > node_count - granted) {
        *can_win = true;
    } else {
        *can_lose = true;
    }
}

static enum verdict expected(unsigned node_count, unsigned granted, unsigned missing)
{
    bool can_win = false, can_lose = false;

    outcomes(node_count, granted, missing, &can_win, &can_lose);
    return can_win && can_lose ? VERDICT_PENDING : can_win ? VERDICT_WON : VERDICT_LOST;
}

static unsigned rounds_seen;

static const enum redlock_vote kinds[] = {
    REDLOCK_VOTE_GRANTED, REDLOCK_VOTE_REFUSED, REDLOCK_VOTE_UNKNOWN, REDLOCK_VOTE_NOT_ASKED
};

/* Lets each node that has not voted vote next, in each way, and checks the verdict
 * after each vote. */
static void every_vote(struct redlock_round round, unsigned voted, unsigned granted)
{
    unsigned n = round.node_count, missing = n - (unsigned)__builtin_popcount(voted);

    CHECK_INT(verdict_in_time(&round), expected(n, granted, missing));
    CHECK_INT(round_verdict(&round, 1000 + TOO_LATE_US, 0), VERDICT_LOST);
    CHECK_INT(round_verdict(&round, 999, 0), VERDICT_LOST);
    CHECK_INT(round_pending(&round), missing);
    if (missing == 0) rounds_seen++;
    for (unsigned k = 0; k < n; k++) {
        if (voted >> k & 1) continue;
        for (unsigned i = 0; i < 4; i++) {
            struct redlock_round next = round;
            round_vote(&next, k, kinds[i]);
            CHECK_INT(round_vote_of(&next, k), kinds[i]);
            every_vote(next, voted | 1u << k, granted + (kinds[i] == REDLOCK_VOTE_GRANTED));
        }
    }
}

TEST(a_verdict_falls_as_soon_as_it_is_certain_and_no_sooner_in_every_round_of_up_to_five_nodes)
{
    unsigned total = 0, orders = 1, votes = 1;

    for (unsigned n = 1; n <= 5; n++) {
        rounds_seen = 0;
        every_vote(begin(n), 0, 0);
        orders *= n;
        votes *= 4;
        CHECK_INT(rounds_seen, orders * votes);
        total += rounds_seen;
    }
    CHECK_INT(total, 4 + 2 * 16 + 6 * 64 + 24 * 256 + 120 * 1024);
}

TEST(every_split_of_every_number_of_nodes_ends_as_soon_as_it_is_certain)
{
    for (unsigned n = 1; n <= REDLOCK_NODES_MAX; n++)
        for (unsigned granted = 0; granted <= n; granted++)
            for (unsigned refused = 0; granted + refused <= n; refused++) {
                struct redlock_round round = begin(n);
                for (unsigned k = 0; k < granted; k++) round_vote(&round, k, REDLOCK_VOTE_GRANTED);
                for (unsigned k = granted; k < granted + refused; k++)
                    round_vote(&round, k, REDLOCK_VOTE_REFUSED);
                CHECK_INT(verdict_in_time(&round), expected(n, granted, n - granted - refused));
                round_close(&round);
                CHECK_INT(verdict_in_time(&round),
                          granted >= n / 2 + 1 ? VERDICT_WON : VERDICT_LOST);
            }
}

TEST(s8_a_node_votes_once_whatever_it_says_later)
{
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++) {
            struct redlock_round round = begin(5);
            round_vote(&round, 3, kinds[i]);
            round_vote(&round, 3, kinds[j]);
            CHECK_INT(round_vote_of(&round, 3), kinds[i]);
            CHECK_INT(round_pending(&round), 4);
        }
}

TEST(a_vote_that_is_pending_changes_nothing_and_may_still_be_cast)
{
    struct redlock_round round = begin(3);

    round_vote(&round, 1, REDLOCK_VOTE_PENDING);
    CHECK_INT(round_vote_of(&round, 1), REDLOCK_VOTE_PENDING);
    CHECK_INT(round_pending(&round), 3);
    round_vote(&round, 1, REDLOCK_VOTE_GRANTED);
    round_vote(&round, 1, REDLOCK_VOTE_PENDING);
    CHECK_INT(round_vote_of(&round, 1), REDLOCK_VOTE_GRANTED);
}

TEST(s8_the_same_node_three_times_is_no_quorum_of_five)
{
    struct redlock_round round = begin(5);

    for (unsigned i = 0; i < 5; i++) round_vote(&round, 0, REDLOCK_VOTE_GRANTED);
    CHECK_INT(verdict_in_time(&round), VERDICT_PENDING);
}

TEST(s4_what_has_not_answered_at_the_end_is_unknown)
{
    struct redlock_round round = begin(3);

    round_vote(&round, 1, REDLOCK_VOTE_REFUSED);
    round_close(&round);
    CHECK_INT(round_vote_of(&round, 0), REDLOCK_VOTE_UNKNOWN);
    CHECK_INT(round_vote_of(&round, 1), REDLOCK_VOTE_REFUSED);
    CHECK_INT(round_vote_of(&round, 2), REDLOCK_VOTE_UNKNOWN);
    CHECK_INT(round_pending(&round), 0);
}

TEST(s2_a_quorum_wins_until_the_last_microsecond_of_the_validity)
{
    struct redlock_round round = begin(1);
    uint64_t validity = TTL_MS * 1000 - (1000 + 2000);

    round_vote(&round, 0, REDLOCK_VOTE_GRANTED);
    CHECK_INT(round_verdict(&round, 1000 + validity - 1, 0), VERDICT_WON);
    CHECK_INT(round_validity_us(&round, 1000 + validity - 1), 1);
    CHECK_INT(round_verdict(&round, 1000 + validity, 0), VERDICT_LOST);
}

TEST(s2_less_than_the_callers_minimum_is_lost)
{
    struct redlock_round round = begin(1);
    uint64_t validity = TTL_MS * 1000 - (1000 + 2000);

    round_vote(&round, 0, REDLOCK_VOTE_GRANTED);
    CHECK_INT(round_verdict(&round, 1000 + validity - 5000, 5000), VERDICT_WON);
    CHECK_INT(round_verdict(&round, 1000 + validity - 4999, 5000), VERDICT_LOST);
}

TEST(a_round_has_one_more_than_the_number_of_the_one_before)
{
    struct redlock_round round = begin(5);
    uint32_t first = round.number;

    round_vote(&round, 0, REDLOCK_VOTE_GRANTED);
    round_begin(&round, 7, 5, 2000, 3000);
    CHECK_INT(round.number, first + 1);
    CHECK_INT(round_pending(&round), 5);
    round.number = UINT32_MAX;
    round_begin(&round, 7, 5, 2000, 3000);
    CHECK_INT(round.number, 0);
}

TAP_MAIN
