/* A lock with a ticket among nodes that tell of strange counters. */
#include "../sim/story.h"

enum { WAIT_MS = 20000 };

#define WALL_US 1800000000000000
#define TAKEN "$18\r\n1700000000000000 5\r\n"

/* Begins to acquire "door" with a ticket; node 2 tells of that counter, the others refuse once. */
static void start_beside(struct cluster *cluster, const char *refusal)
{
    struct redlock_request request = story_request("door", 10000, WAIT_MS);

    request.ticket = true;
    request.wall_us = WALL_US + CLIENT_NOW(0);
    ANSWERS_ONCE(0, "EVALSHA", TAKEN);
    ANSWERS_ONCE(1, "EVALSHA", TAKEN);
    ANSWERS(2, "EVALSHA", refusal);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
}

/* The first who ever uses the script there sends it twice to each node, to the slow ones behind the verdict. */
TEST(a_slow_node_that_does_not_know_the_script_grants_it_behind_the_verdict)
{
    CLUSTER(3);
    struct redlock_request request = story_request("door", 10000, 0);

    request.ticket = true;
    request.wall_us = CLIENT_NOW(0);       /* The nodes' clocks begin in 1970. */
    DELAY_US(2, 20000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEYS("door", 2);
    RUN_MS(200);
    EXPECT_KEYS("door", 3);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_GRANTED);
    RELEASE(0);
    RUN_MS(200);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* A client and a node on one host with a wrong clock must not keep all others from waiting. */
TEST(s15_a_counter_that_other_nodes_find_too_far_ahead_is_not_followed_for_ever)
{
    CLUSTER(3);
    cluster->no_promise = cluster->no_exclusion = true;
    start_beside(cluster, "$19\r\n1900000000000000 -2\r\n");
    RUN_MS(5);
    for (unsigned k = 0; k < 2; k++) ANSWERS_ONCE(k, "EVALSHA", "-AHEAD of the clock of this node: 1800000000\r\n");
    for (unsigned ms = 0; ms < 2000 && LOCK(0)->ticket != 1900000000000001; ms++) RUN_MS(1);
    CHECK_INT(LOCK(0)->ticket, 1900000000000001);
    RUN_US(500);
    for (unsigned k = 0; k < 2; k++) ANSWERS_AS_EVER(k), ANSWERS(k, "EVALSHA", TAKEN);
    for (unsigned ms = 0; ms < 2000 && LOCK(0)->ticket >= 1900000000000001; ms++) RUN_MS(1);
    TAP_CHECK(LOCK(0)->ticket < WALL_US + CLIENT_NOW(0) + 1, "the ticket is still %llu", (unsigned long long)LOCK(0)->ticket);
}

TEST(s15_one_node_that_tells_of_the_last_ticket_of_all_stops_nobody)
{
    CLUSTER(3);
    cluster->no_promise = cluster->no_exclusion = true;
    start_beside(cluster, "$19\r\n9007199254740991 -2\r\n");
    RUN_MS(5);
    for (unsigned k = 0; k < 2; k++) ANSWERS(k, "EVALSHA", "+OK\r\n");
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(redlock_ticket(LOCK(0)) > WALL_US);
}

/* What somebody else keeps in the key of the counter. */
TEST(s15_a_counter_that_is_no_ticket_refuses_and_does_not_cost_the_connection)
{
    static const char *const refusals[] = { "$6\r\n1.5 -1\r\n", "$8\r\n1e300 -2\r\n", "$19\r\n9007199254740992 -2\r\n" };

    for (unsigned i = 0; i < 3; i++) {
        TAP_CONTEXT("%s", refusals[i]);
        CLUSTER(3);
        cluster->no_promise = cluster->no_exclusion = true;
        start_beside(cluster, refusals[i]);
        for (unsigned k = 0; k < 2; k++) ANSWERS_AS_EVER(k), ANSWERS(k, "EVALSHA", "+OK\r\n");
        RUN_MS(5);
        EXPECT_STATUS(0, REDLOCK_OK);
        EXPECT_VOTE(0, 2, REDLOCK_VOTE_REFUSED);
        EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_NONE);
    }
}

TAP_MAIN
