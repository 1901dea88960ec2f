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

/* ---- S15 among nodes that answer ---- */

/* By the clock of the node's and client's one wall, which begins in 1970. */
static struct redlock_request with_ticket(const char *resource, uint32_t wait_ms)
{
    struct redlock_request request = story_request(resource, 10000, wait_ms);

    request.ticket = true;
    return request;
}

#define TAKE_TICKET(client, wait_ms) do {                                          \
        struct redlock_request request_ = with_ticket("door", (wait_ms));           \
        CHECK_INT(cluster_acquire(cluster, (client), 0, &request_), REDLOCK_OK);    \
        UNTIL_DONE(client);                                                         \
    } while (0)
#define TICKET(client) redlock_ticket(LOCK(client))

TEST(s15_a_later_holder_has_a_larger_ticket)
{
    uint64_t first;
    CLUSTER_OF(3, 2, (void)0);
    CHECK_INT(TICKET(0), 0);
    TAKE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
    first = TICKET(0);
    CHECK(first > 0);
    EXTEND(0, 10000);
    CHECK_INT(TICKET(0), first);
    START_RELEASE(0);
    CHECK_INT(TICKET(0), first);
    UNTIL_DONE(0);
    CHECK_INT(TICKET(0), 0);
    RUN_MS(10);
    TAKE_TICKET(1, 0);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(TICKET(1) > first);
}

/* Its wall clock is 5 s behind: the first attempt is refused where nobody is, the second comes at once. */
TEST(s15_a_client_whose_clock_lags_gets_its_ticket_without_a_pause)
{
    uint64_t first, started_at;
    CLUSTER_OF(3, 2, (void)0);
    TAKE_TICKET(0, 0);
    first = TICKET(0);
    RELEASE(0);
    RUN_MS(10);
    cluster_set_client_wall(cluster, 1, -5000000);
    started_at = cluster->now_us;
    TAKE_TICKET(1, 0);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK_INT(TICKET(1), first + 1);
    CHECK(cluster->now_us - started_at < 10000);
}

/* Two that lag: what others take meanwhile must not make it try again and again. */
TEST(s15_the_ticket_is_corrected_once_without_a_pause)
{
    CLUSTER(1);
    struct redlock_request request = with_ticket("door", 0);
    request.wall_us = 1000;
    ANSWERS_ONCE(0, "EVALSHA", "$7\r\n5000 -2\r\n");
    ANSWERS_ONCE(0, "EVALSHA", "$7\r\n8000 -2\r\n");
    ANSWERS_ONCE(0, "EVALSHA", "$7\r\n9000 -2\r\n");
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(CALLS(0, "EVALSHA"), 2);
}

TEST(s15_a_taken_resource_is_not_tried_again_at_once)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", 10000);
    TAKE_TICKET(1, 0);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    CHECK(CALLS(0, "EVALSHA") + CALLS(0, "EVAL") <= 2);
}

TEST(s15_a_ticket_is_given_once)
{
    struct redlock_request request = with_ticket("door", 0);
    CLUSTER_OF(3, 2, (void)0);
    TAKE_TICKET(0, 0);
    request.wall_us = TICKET(0);
    RELEASE(0);
    RUN_MS(10);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(TICKET(1) > request.wall_us);
}

/* Some node may have granted it, and refuses it the second time. */
TEST(s15_every_attempt_proposes_more_than_the_last)
{
    CLUSTER(1);
    struct redlock_request request = with_ticket("door", 20000);
    request.wall_us = 1000;
    ANSWERS(0, "EVALSHA", "$10\r\n50000000 5\r\n");
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    for (unsigned ms = 0; ms < 5000 && CALLS(0, "EVALSHA") < 3; ms++) RUN_MS(1);
    CHECK_INT(LOCK(0)->ticket, 50000002);
}

TEST(s15_the_ticket_is_at_least_the_wall_clock)
{
    CLUSTER(3);
    uint64_t wall = cluster_client_wall(cluster, 0);
    TAKE_TICKET(0, 0);
    CHECK(TICKET(0) >= wall);
}

TEST(s15_a_clock_ahead_beyond_the_skew_gets_no_ticket_and_spoils_no_counter)
{
    CLUSTER_OF(3, 2, config.ticket_skew_ms = 1000);
    cluster_set_client_wall(cluster, 0, 1500000);
    TAKE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_AHEAD);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    EXPECT_KEY_ABSENT_ON_ALL("door:ticket");
    cluster_set_client_wall(cluster, 0, 900000);
    RUN_MS(10);
    TAKE_TICKET(1, 0);
    EXPECT_STATUS(1, REDLOCK_OK);
}

TEST(s15_a_restarted_node_gives_tickets_later_than_votes)
{
    CLUSTER_OF(1, 1, config.guard_ms = 10000; config.ticket_skew_ms = 2000);
    DOWN(0);
    RUN_MS(10);
    UP(0);
    RUN_MS(12500);
    ACQUIRE(0, "door", 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    TAKE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(2500);
    TAKE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s15_without_a_wall_clock_there_is_no_ticket)
{
    CLUSTER(1);
    struct redlock_request request = with_ticket("door", 0);
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_BAD_CLOCK);
    request.wall_us = 9007199254740992;         /* 2^53: Lua would count it like its neighbour. */
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_BAD_CLOCK);
    request.wall_us--;
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_OK);
    CHECK_INT(LOCK(0)->ticket, 9007199254740991);
    redlock_forget(ENGINE(0), LOCK(0));
}

/* The wall clock passes 2^53 between two attempts. */
TEST(s15_tickets_end_below_2_to_the_53)
{
    CLUSTER_OF(1, 1, (void)0);
    struct redlock_request request = with_ticket("door", 20000);
    RIVAL(0, "door", 60000);
    request.wall_us = 9007199254740991;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_BAD_CLOCK);
    CHECK(IDLE(0));
}

TEST(s15_a_counter_outlives_the_guard_and_what_clocks_may_differ)
{
    CLUSTER_OF(1, 1, config.ticket_life_ms = 10000 + 30000 + 20000 - 1);
    struct redlock_request request = with_ticket("door", 0);
    request.wall_us = 1;
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_BAD_CONFIG);
    request.ttl_ms--;
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_OK);
    redlock_forget(ENGINE(0), LOCK(0));
}

TEST(a_lock_with_a_ticket_and_a_plain_one_exclude_each_other)
{
    CLUSTER_OF(3, 2, (void)0);
    TAKE_TICKET(0, 0);
    ACQUIRE(1, "door", 10000);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    CHECK_INT(TICKET(1), 0);
}

TAP_MAIN
