/* A lock with a ticket among nodes that tell of strange counters. */
#include "../../world/story.h"

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

/* The first client that ever uses the script sends it twice to each node, to slow nodes
 * after the verdict. */
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
    for (unsigned k = 0; k < 2; k++)
        ANSWERS_ONCE(k, "EVALSHA", "-AHEAD of the clock of this node: 1800000000\r\n");
    RUN_WHILE(LOCK(0)->ticket != 1900000000000001, 2000);
    CHECK_INT(LOCK(0)->ticket, 1900000000000001);
    RUN_US(500);
    for (unsigned k = 0; k < 2; k++) ANSWERS_AS_EVER(k), ANSWERS(k, "EVALSHA", TAKEN);
    RUN_WHILE(LOCK(0)->ticket >= 1900000000000001, 2000);
    TAP_CHECK(LOCK(0)->ticket < WALL_US + CLIENT_NOW(0) + 1, "the ticket is still %llu",
              (unsigned long long)LOCK(0)->ticket);
}

/* One attempt goes by the wall clock alone. The next one proposes more than any node has reported,
 * even if that is ahead of the wall clock. */
TEST(s15_a_client_that_found_a_counter_too_far_ahead_follows_the_next_one_that_is_not)
{
    CLUSTER(3);
    char refusal[40];
    cluster->no_promise = cluster->no_exclusion = true;
    start_beside(cluster, "$19\r\n1900000000000000 -2\r\n");
    RUN_MS(5);
    for (unsigned k = 0; k < 2; k++)
        ANSWERS_ONCE(k, "EVALSHA", "-AHEAD of the clock of this node: 1800000000\r\n");
    RUN_WHILE(LOCK(0)->ticket != 1900000000000001, 2000);
    CHECK_INT(LOCK(0)->ticket, 1900000000000001);
    RUN_US(500);
    const uint64_t counter = WALL_US + CLIENT_NOW(0) + 20000000;
    snprintf(refusal, sizeof refusal, "$19\r\n%llu -2\r\n", (unsigned long long)counter);
    for (unsigned k = 0; k < 3; k++) ANSWERS_AS_EVER(k), ANSWERS(k, "EVALSHA", refusal);
    RUN_WHILE(LOCK(0)->ticket != counter + 1, 2000);
    CHECK_INT(LOCK(0)->ticket, counter + 1);
}

/* Its own wall clock is ahead of theirs, and it may learn all the same. */
TEST(s15_a_client_whose_own_clock_is_too_far_ahead_follows_a_counter_that_is_further)
{
    CLUSTER(3);
    struct redlock_request request = story_request("door", 10000, WAIT_MS);

    request.ticket = true;
    request.wall_us = WALL_US;
    for (unsigned k = 0; k < 2; k++)
        ANSWERS(k, "EVALSHA", "-AHEAD of the clock of this node: 1700000000\r\n");
    ANSWERS(2, "EVALSHA", "$19\r\n1900000000000000 -2\r\n");
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_WHILE(LOCK(0)->round.number < 2, 2000);
    CHECK_INT(LOCK(0)->ticket, 1900000000000001);
}

/* Node 2 found the first one ahead, and its answer comes when the second is refused already. */
TEST(s15_what_is_said_of_an_older_ticket_says_nothing_of_the_next)
{
    CLUSTER(3);
    cluster->no_promise = cluster->no_exclusion = true;
    start_beside(cluster, "-AHEAD of the clock of this node: 1700000000\r\n");
    for (unsigned k = 0; k < 2; k++)
        ANSWERS_AS_EVER(k), ANSWERS(k, "EVALSHA", "$21\r\n1900000000000000 1000\r\n");
    DEAFEN(2);
    RUN_MS(5);
    ANSWERS_AS_EVER(2);
    while (LOCK(0)->round.number < 2 || LOCK(0)->phase != REDLOCK_PHASE_WAITING) RUN_US(50);
    CHECK_INT(LOCK(0)->ticket, 1900000000000001);
    HEAL(2);
    while (LOCK(0)->round.number < 3) RUN_US(50);
    CHECK_INT(LOCK(0)->ticket, 1900000000000002);
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

/* Somebody else keeps another value in the counter's key. */
TEST(s15_a_counter_that_is_no_ticket_refuses_and_does_not_cost_the_connection)
{
    static const char *const refusals[] = {
        "$6\r\n1.5 -1\r\n", "$8\r\n1e300 -2\r\n", "$19\r\n9007199254740992 -2\r\n"
    };

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

/* ---- Among nodes that keep their counters ---- */

enum { DOOR_TTL = 10000, SKEW_US = REDLOCK_SKEW_MS * 1000, FAR_US = 9000000 };

static enum redlock_status start_with_ticket(struct cluster *cluster, unsigned client,
                                             uint32_t wait_ms)
{
    struct redlock_request request = story_request("door", DOOR_TTL, wait_ms);

    request.ticket = true;
    return cluster_acquire(cluster, client, 0, &request);
}

#define ACQUIRE_TICKET(client, wait_ms) \
    do { \
        CHECK_INT(start_with_ticket(cluster, (client), (wait_ms)), REDLOCK_OK); \
        UNTIL_DONE(client); \
    } while (0)

TEST(s15_every_holder_has_a_larger_ticket_than_the_one_before)
{
    CLUSTER_OF(3, 2, (void)0);
    uint64_t last = 0;

    cluster_set_client_wall(cluster, 1, -FAR_US);      /* One of them lags behind. */
    for (unsigned i = 0; i < 10; i++) {
        ACQUIRE_TICKET(i % 2, 1000);
        EXPECT_STATUS(i % 2, REDLOCK_OK);
        TAP_CHECK(redlock_ticket(LOCK(i % 2)) > last, "holder %u has not more", i);
        last = redlock_ticket(LOCK(i % 2));
        RELEASE(i % 2);
        RUN_MS(1);
    }
}

TEST(s15_the_same_ticket_is_given_once)
{
    CLUSTER_OF(3, 2, (void)0);
    struct redlock_request request = story_request("door", DOOR_TTL, 0);

    request.ticket = true;
    request.wall_us = cluster_client_wall(cluster, 0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    CHECK_INT(redlock_ticket(LOCK(0)), request.wall_us);
    RELEASE(0);
    RUN_MS(1);
    request.wait_ms = 1000;
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(redlock_ticket(LOCK(1)) > request.wall_us);
}

/* If a counter is all that is in the way, the client comes again at once; but not twice. */
TEST(a_clock_that_lags_behind_costs_one_more_round_and_no_pause)
{
    CLUSTER_OF(3, 2, config.retry_ms = 10000);
    ACQUIRE_TICKET(0, 0);
    RELEASE(0);
    RUN_MS(5);
    cluster_set_client_wall(cluster, 1, -FAR_US);
    const uint64_t began = CLIENT_NOW(1);
    ACQUIRE_TICKET(1, 1000);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(CLIENT_NOW(1) - began < 5000);
    CHECK_INT(LOCK(1)->round.number, 2);
}

/* Nobody has the lock, so a try must not find it taken. No attempt begins when the time to wait is
 * over, however short a round it was to be. */
TEST(a_ticket_is_corrected_within_the_time_to_wait_or_if_there_is_none)
{
    static const uint32_t waits_ms[] = { 0, 1, 799, 800, 801 };

    for (unsigned i = 0; i < sizeof waits_ms / sizeof waits_ms[0]; i++) {
        TAP_CONTEXT("it may wait for %u ms", waits_ms[i]);
        CLUSTER_OF(3, 2, config.retry_ms = 10000; config.node_timeout_ms = 2000);
        ACQUIRE_TICKET(0, 0);
        RELEASE(0);
        RUN_MS(5);
        cluster_set_client_wall(cluster, 1, -FAR_US);
        DELAY_ALL_US(400000);
        ACQUIRE_TICKET(1, waits_ms[i]);
        const bool is_corrected = waits_ms[i] == 0 || waits_ms[i] > 800;
        CHECK_INT(LOCK(1)->round.number, is_corrected ? 2 : 1);
        EXPECT_STATUS(1, is_corrected ? REDLOCK_OK : REDLOCK_TIMEOUT);
    }
}

TEST(a_second_refusal_for_the_counter_waits_like_any_other)
{
    CLUSTER(3);
    for (unsigned k = 0; k < 3; k++) ANSWERS(k, "EVALSHA", "$19\r\n9007199254740990 -2\r\n");
    CHECK_INT(start_with_ticket(cluster, 0, 2), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    /* The last one comes when the time to wait ends. */
    CHECK_INT(LOCK(0)->round.number, 3);
}

TEST(where_somebody_holds_the_lock_a_small_ticket_is_no_reason_to_come_at_once)
{
    CLUSTER_OF(3, 2, config.retry_ms = 10000);
    ACQUIRE_TICKET(0, 0);
    RUN_MS(5);
    cluster_set_client_wall(cluster, 1, -FAR_US);
    const unsigned before = CALLS(0, "ACQUIRE");
    ACQUIRE_TICKET(1, 0);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    CHECK_INT(CALLS(0, "ACQUIRE"), before + 1);
}

TEST(s15_no_two_attempts_propose_the_same_ticket)
{
    CLUSTER_OF(3, 1, config.retry_ms = 10);
    uint64_t last = 0;
    unsigned count = 0;

    RIVAL_ON_ALL("door", 60000);
    CHECK_INT(start_with_ticket(cluster, 0, 500), REDLOCK_OK);
    /* Its wall clock steps back, and the ticket is still more than the last one. */
    LOCK(0)->wall_offset_us -= 1000000000;
    UNTIL_DONE(0);
    for (size_t i = 0; i < NODE(0)->call_count; i++) {
        const struct model_call *call = &NODE(0)->calls[i];
        if (strcmp(call->name, "ACQUIRE") != 0) continue;
        TAP_CHECK(call->ticket > last, "%llu is proposed behind %llu",
                  (unsigned long long)call->ticket, (unsigned long long)last);
        last = call->ticket;
        count++;
    }
    CHECK(count > 10);
}

/* When a counter's life is over, or its node has forgotten it, the clock makes the
 * next ticket larger. */
TEST(s15_the_wall_clock_is_the_least_of_a_ticket)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE_TICKET(0, 0);
    CHECK(redlock_ticket(LOCK(0)) <= cluster_client_wall(cluster, 0));
    CHECK(redlock_ticket(LOCK(0)) + 10000 > cluster_client_wall(cluster, 0));
    const uint64_t last = redlock_ticket(LOCK(0));
    RELEASE(0);
    RUN_MS(100);
    for (unsigned k = 0; k < 3; k++) REMOVE_KEYS(k);
    ACQUIRE_TICKET(1, 0);
    CHECK(redlock_ticket(LOCK(1)) > last + 90000);
}

TEST(a_ticket_is_there_for_as_long_as_the_lock_is)
{
    CLUSTER(3);
    ACQUIRE(0, "gate", DOOR_TTL);
    CHECK_INT(redlock_ticket(LOCK(0)), 0);              /* A plain lock has none. */
    RELEASE(0);
    RUN_MS(5);
    CHECK_INT(start_with_ticket(cluster, 0, 0), REDLOCK_OK);
    CHECK_INT(redlock_ticket(LOCK(0)), 0);
    UNTIL_DONE(0);
    const uint64_t ticket = redlock_ticket(LOCK(0));
    CHECK(ticket > 0);
    START_EXTEND(0, DOOR_TTL);
    CHECK_INT(redlock_ticket(LOCK(0)), ticket);
    UNTIL_DONE(0);
    START_RELEASE(0);
    CHECK_INT(redlock_ticket(LOCK(0)), ticket);
    UNTIL_DONE(0);
    CHECK_INT(redlock_ticket(LOCK(0)), 0);
}

/* ---- S15: a node that has restarted ---- */

static bool gives_tickets(struct cluster *cluster, unsigned k)
{
    return redlock_view_node(ENGINE(0), k, CLIENT_NOW(0)).gives_tickets;
}

TEST(s15_a_node_that_has_restarted_gives_no_ticket_for_the_guard_and_twice_the_skew)
{
    enum { LONGER_MS = 2 * REDLOCK_SKEW_MS };
    CLUSTER(3);
    cluster->no_promise = true;
    DOWN(0); DOWN(1);
    UP(0); UP(1);
    RUN_MS(1000);
    for (unsigned i = 0; i < 10000 && !VOTES(0, 0); i++) RUN_MS(10);
    CHECK(VOTES(0, 0));
    CHECK(!gives_tickets(cluster, 0) && gives_tickets(cluster, 2));
    ACQUIRE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(100);
    ACQUIRE(0, "door", DOOR_TTL);                       /* A plain lock it gives. */
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(LONGER_MS - 1000);
    CHECK(!gives_tickets(cluster, 0));
    ACQUIRE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(1000);
    CHECK(gives_tickets(cluster, 0));
    ACQUIRE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* The first acquire of all is begun before anything is known of the nodes, so it waits until it is.
 * Their uptime is beyond the guard, and within that for tickets. */
TEST(s15_a_client_that_knows_no_node_yet_asks_none_for_a_ticket_within_its_guard)
{
    CLUSTER_COLD(3, 1, config.ticket_skew_ms = 500000);
    ACQUIRE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(STORY_SETTLE_MS);
    for (unsigned k = 0; k < 3; k++) {
        CHECK(VOTES(0, k) && !gives_tickets(cluster, k));
        CHECK_INT(CALLS(k, "EVALSHA") + CALLS(k, "SET"), 0);
    }
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* Without a guard for locks it has none for tickets, because it keeps its memory, or
 * because nobody cares. */
TEST(s15_without_a_guard_every_node_gives_tickets)
{
    CLUSTER_OF(3, 1, config.guard_ms = 0);
    for (unsigned k = 0; k < 3; k++) { DOWN(k); UP(k); }
    RUN_MS(5000);
    CHECK(gives_tickets(cluster, 0));
    ACQUIRE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* ---- Limits ---- */

TEST(a_node_takes_a_ticket_that_is_ahead_of_its_clock_by_the_skew_and_no_more)
{
    for (unsigned ahead = 0; ahead < 2; ahead++) {
        TAP_CONTEXT("%u us more", ahead);
        CLUSTER_OF(1, 1, (void)0);
        /* The first time the script is not there yet. */
        for (unsigned i = 0; i < 2; i++) {
            cluster_set_client_wall(cluster, 0, SKEW_US + CLUSTER_DELAY_US + (int64_t)ahead);
            ACQUIRE_TICKET(0, 0);
            if (i == 0 && redlock_lock_status(LOCK(0)) == REDLOCK_OK) RELEASE(0);
            RUN_MS(5);
        }
        if (ahead > 0) EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_AHEAD);
        CHECK_INT(redlock_ticket(LOCK(0)) > 0, ahead == 0);
    }
}

static enum redlock_status start_at_wall(struct cluster *cluster, uint64_t wall_us,
                                         uint32_t wait_ms)
{
    struct redlock_request request = story_request("door", DOOR_TTL, wait_ms);

    request.ticket = true;
    request.wall_us = wall_us;
    return redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0));
}

TEST(s15_a_ticket_needs_a_wall_clock_from_1_to_the_last_number_that_lua_counts_to)
{
    static const struct { uint64_t wall_us; enum redlock_status status; } cases[] = {
        { 0, REDLOCK_BAD_CLOCK }, { 1, REDLOCK_OK }, { 9007199254740990, REDLOCK_OK },
        { 9007199254740991, REDLOCK_OK },
        { 9007199254740992, REDLOCK_BAD_CLOCK }, { UINT64_MAX, REDLOCK_BAD_CLOCK },
    };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TAP_CONTEXT("%llu", (unsigned long long)cases[i].wall_us);
        CLUSTER(3);
        CHECK_INT(start_at_wall(cluster, cases[i].wall_us, 0), cases[i].status);
        CHECK_INT(redlock_lock_status(LOCK(0)) == REDLOCK_PENDING, cases[i].status == REDLOCK_OK);
        if (cases[i].status == REDLOCK_OK) CHECK_INT(LOCK(0)->ticket, cases[i].wall_us);
    }
}

TEST(a_clock_that_comes_to_its_end_while_a_lock_waits_ends_the_wait)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    CHECK_INT(start_at_wall(cluster, 9007199254740991, WAIT_MS), REDLOCK_OK);
    RUN_WHILE(redlock_lock_status(LOCK(0)) == REDLOCK_PENDING, 2000);
    EXPECT_STATUS(0, REDLOCK_BAD_CLOCK);
    RUN_MS(100);
    CHECK(IDLE(0));
}

TEST(s15_a_counter_lives_at_least_as_long_as_the_TTL_the_guard_and_twice_the_skew)
{
    CLUSTER_OF(3, 1, config.ticket_life_ms = DOOR_TTL + REDLOCK_GUARD_MS + 2 * REDLOCK_SKEW_MS);
    struct redlock_request request = story_request("door", DOOR_TTL + 1, 0);

    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_CONFIG);
    request.ticket = false;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RELEASE(0);
    RUN_MS(5);
    ACQUIRE_TICKET(0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(DOOR_TTL + REDLOCK_GUARD_MS + 2 * REDLOCK_SKEW_MS - 100);
    EXPECT_KEYS("door#ticket", 3);
    RUN_MS(100);
    EXPECT_KEYS("door#ticket", 0);
}

/* Every answer reports a larger one. Tickets that others take meanwhile must not make it try again
 * and again. */
TEST(s15_a_ticket_is_corrected_once_without_a_pause)
{
    CLUSTER(1);
    struct redlock_request request = story_request("door", 10000, 1000);
    request.ticket = true;
    request.wall_us = 1000;
    ANSWERS_ONCE(0, "EVALSHA", "$7\r\n5000 -2\r\n");
    ANSWERS_ONCE(0, "EVALSHA", "$7\r\n8000 -2\r\n");
    ANSWERS_ONCE(0, "EVALSHA", "$7\r\n9000 -2\r\n");
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_MS(20);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    CHECK_INT(CALLS(0, "EVALSHA"), 2);
    ANSWERS_AS_EVER(0);
}

/* A writer waits there. A larger ticket would be refused as well. */
TEST(s15_a_reader_whose_ticket_is_that_of_the_counter_has_nothing_to_correct)
{
    CLUSTER(1);
    struct redlock_request request = story_request("door", 10000, 1000);
    request.kind = &redlock_shared;
    request.ticket = true;
    request.wall_us = 1000;
    ANSWERS(0, "EVALSHA", "$7\r\n1000 -2\r\n");
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_MS(20);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    CHECK_INT(CALLS(0, "EVALSHA"), 1);
    ANSWERS_AS_EVER(0);
}

/* Some node may have granted it, and would refuse it the second time. */
TEST(s15_every_attempt_proposes_more_than_the_last_though_nothing_new_was_seen)
{
    CLUSTER(1);
    struct redlock_request request = story_request("door", 10000, 20000);
    request.ticket = true;
    request.wall_us = 1000;
    ANSWERS(0, "EVALSHA", "$10\r\n50000000 5\r\n");
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_WHILE(CALLS(0, "EVALSHA") < 3, 5000);
    CHECK_INT(LOCK(0)->ticket, 50000002);
}

TAP_MAIN
