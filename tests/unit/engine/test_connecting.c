/* The first connection to a node, the pauses before the next, and the report of one that fails. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

/* ---- Beginning ---- */

TEST(the_first_acquire_of_all_connects_by_itself)
{
    CLUSTER_COLD(5, 1, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    EXPECT_KEYS("door", 5);
}

TEST(a_node_is_settled_once_the_first_connection_has_succeeded_or_failed)
{
    CLUSTER_COLD(2, 1, (void)0);
    DOWN(1);
    CHECK(!redlock_view_node(ENGINE(0), 0, ENGINE(0)->now_us).is_settled);
    CHECK(!redlock_view_node(ENGINE(0), 1, ENGINE(0)->now_us).is_settled);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_NEW);
    RUN_MS(STORY_SETTLE_MS);
    CHECK(redlock_view_node(ENGINE(0), 0, ENGINE(0)->now_us).is_settled);
    CHECK(redlock_view_node(ENGINE(0), 1, ENGINE(0)->now_us).is_settled);
    EXPECT_TROUBLE(0, 1, REDLOCK_TROUBLE_UNREACHABLE);
    EXPECT_WORDS(0, 1, "connection refused");
}

TEST(nothing_is_settled_before_the_handshake_is_over)
{
    CLUSTER_COLD(1, 1, (void)0);
    DELAY_ALL_US(10000);
    RUN_MS(25);
    CHECK(!redlock_view_node(ENGINE(0), 0, ENGINE(0)->now_us).is_settled);
    RUN_MS(50);
    CHECK(redlock_view_node(ENGINE(0), 0, ENGINE(0)->now_us).is_settled);
}

TEST(a_connection_that_does_not_come_about_is_given_up_in_time_and_tried_again)
{
    CLUSTER_COLD(1, 1, (void)0);
    STALL(0);
    RUN_MS(REDLOCK_NODE_TIMEOUT_MS + 1);
    CHECK(redlock_view_node(ENGINE(0), 0, ENGINE(0)->now_us).is_settled);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_SILENT);
    HEAL(0);
    RUN_MS(5000);
    CHECK(VOTES(0, 0));
}

TEST(a_handshake_that_is_not_answered_is_given_up_in_time_and_tried_again)
{
    CLUSTER_COLD(1, 1, (void)0);
    HANG(0);
    RUN_MS(2 * REDLOCK_NODE_TIMEOUT_MS);
    CHECK(redlock_view_node(ENGINE(0), 0, ENGINE(0)->now_us).is_settled);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_SILENT);
    RESUME(0);
    RUN_MS(5000);
    CHECK(VOTES(0, 0));
}

/* ---- Connecting anew ---- */

/* Node 0 closes each connection so long after the handshake. How often does the client connect
 * within ten seconds? */
static void count_connections(unsigned lived_us, unsigned least, unsigned most)
{
    CLUSTER(1);
    const unsigned before = LINK(0, 0)->connect_count;
    const uint64_t end = CLIENT_NOW(0) + 10000000;

    TAP_CONTEXT("each lives for %u us", lived_us);
    while (CLIENT_NOW(0) < end) {
        for (unsigned i = 0; i < 100000 && !VOTES(0, 0); i++) RUN_US(50);
        RUN_US(lived_us);
        RESET(0, 0);
        RUN_US(CLUSTER_DELAY_US);
    }
    CHECK(LINK(0, 0)->connect_count - before >= least);
    CHECK(LINK(0, 0)->connect_count - before <= most);
}

TEST(
    a_connection_that_had_worked_is_made_anew_at_once_and_one_that_ends_as_soon_as_it_stands_is_not)
{
    count_connections(50000, 190, 200);
    count_connections(12000, 750, 850);
    count_connections(8000, 100, 250);
    count_connections(0, 100, 250);
}

/* ---- Reconnecting ---- */

/* While a quorum is connected nobody waits for the node that is not. */
TEST(the_pause_between_connections_grows_to_a_limit_and_is_jittered)
{
    CLUSTER_OF(3, 2, (void)0);
    DOWN(0);
    RUN_MS(60000);
    const struct cluster_link *link = LINK(0, 0);
    CHECK(link->connect_count > 10 && link->connect_count < 60);
    uint64_t first = link->connected_at[2] - link->connected_at[1], longest = 0;
    for (unsigned i = 2; i < CLUSTER_CONNECTS_MAX && i < link->connect_count; i++) {
        const uint64_t gap = link->connected_at[i] - link->connected_at[i - 1];
        longest = gap > longest ? gap : longest;
    }
    CHECK(first < 500000);
    CHECK(longest > 4 * first && longest > 1200000 && longest < 10000000);
    unsigned same = 0;
    for (unsigned i = 1; i < CLUSTER_CONNECTS_MAX; i++)
        same += link->connected_at[i] == LINK(1, 0)->connected_at[i];
    CHECK(same < 4); /* Two clients do not come back in step. */
}

/* Without one no lock is available, so it is tried some four times a second, and no more often. */
TEST(the_pause_between_connections_is_short_while_no_quorum_is_connected)
{
    enum { NODES = 5, SECONDS = 60 };
    unsigned before[NODES];

    CLUSTER_OF(NODES, 1, (void)0);
    for (unsigned k = 0; k < 3; k++) DOWN(k);
    RUN_MS(5000);
    for (unsigned k = 0; k < NODES; k++) before[k] = LINK(0, k)->connect_count;
    RUN_MS(SECONDS * 1000);
    for (unsigned k = 0; k < 3; k++) {
        CHECK(LINK(0, k)->connect_count - before[k] >= 3 * SECONDS);
        CHECK(LINK(0, k)->connect_count - before[k] <= 13 * SECONDS / 2);
    }
    UP(2);                                  /* Then a quorum is connected. */
    RUN_MS(5000);
    for (unsigned k = 0; k < NODES; k++) before[k] = LINK(0, k)->connect_count;
    RUN_MS(SECONDS * 1000);
    for (unsigned k = 0; k < NODES; k++)
        CHECK(LINK(0, k)->connect_count - before[k] <= (k < 2 ? SECONDS : 0));
}

/* A wake-up would be of no use. The nodes lead to the connections, and the lock that waits
 * to the subscriptions. */
TEST(the_pause_between_subscriptions_grows_also_while_no_quorum_is_connected)
{
    enum { SECONDS = 60 };
    unsigned before[2];

    CLUSTER_OF(3, 1, config.wake_ups = true);
    DOWN(0); DOWN(1);
    START_ACQUIRE(0, "door", 10000, REDLOCK_FOREVER);
    RUN_MS(10000);
    for (unsigned k = 0; k < 2; k++) before[k] = LINK(0, k)->connect_count;
    RUN_MS(SECONDS * 1000);
    for (unsigned k = 0; k < 2; k++) {
        CHECK(LINK(0, k)->connect_count - before[k] >= 3 * SECONDS);
        CHECK(LINK(0, k)->connect_count - before[k] <= 13 * SECONDS / 2);
    }
}

/* A connection that does not come about takes half a second. */
TEST(the_pause_between_connections_is_short_to_nodes_that_are_silent_while_no_quorum_is_connected)
{
    enum { SECONDS = 60 };
    unsigned before[2];

    CLUSTER_COLD(3, 1, (void)0);
    for (unsigned k = 0; k < 2; k++) STALL(k);
    RUN_MS(5000);
    for (unsigned k = 0; k < 2; k++) before[k] = LINK(0, k)->connect_count;
    RUN_MS(SECONDS * 1000);
    for (unsigned k = 0; k < 2; k++) {
        EXPECT_TROUBLE(0, k, REDLOCK_TROUBLE_SILENT);
        CHECK(LINK(0, k)->connect_count - before[k] >= SECONDS);
    }
}

/* How often a client connects to the only node in a minute, if that answers so. */
static void connect_to_a_node_that_says(const char *answer, unsigned least, unsigned most)
{
    CLUSTER_COLD(1, 1, (void)0);
    model_node_plan(NODE(0), (struct model_answer){ .command = "*",
                                                    .bytes = answer,
                                                    .size = strlen(answer),
                                                    .times = UINT32_MAX });
    RUN_MS(5000);
    const unsigned before = LINK(0, 0)->connect_count;
    RUN_MS(60000);
    TAP_CONTEXT("%s", answer);
    CHECK(LINK(0, 0)->connect_count - before >= least &&
          LINK(0, 0)->connect_count - before <= most);
}

TEST(
    the_pause_between_connections_is_short_to_a_node_that_is_loading_and_not_to_one_that_refuses_us)
{
    connect_to_a_node_that_says("-LOADING Redis is loading the dataset in memory\r\n", 180, 400);
    connect_to_a_node_that_says("-ERR max number of clients reached\r\n", 20, 60);
    connect_to_a_node_that_says(
        "-WRONGPASS invalid username-password pair or user is disabled.\r\n", 20, 60);
    connect_to_a_node_that_says("HTTP/1.1 400 Bad Request\r\n", 20, 60);
}

TEST(a_connection_that_worked_makes_the_pause_short_again)
{
    CLUSTER_OF(1, 1, config.guard_ms = 0);
    DOWN(0);
    RUN_MS(30000);
    UP(0);
    RUN_MS(10000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RESET(0, 0);
    RUN_MS(500);
    CHECK(VOTES(0, 0));
}

TEST(a_dead_node_is_not_asked)
{
    CLUSTER(3);
    DOWN(2);
    RUN_MS(1000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_NOT_ASKED);
}

static const char *const places[] = { "attic", "cellar", "door", "gate" };

TEST(every_lock_that_waits_for_a_node_learns_that_it_is_gone)
{
    CLUSTER(2);
    DOWN(1);
    for (unsigned i = 0; i < 1000 && VOTES(0, 1); i++) RUN_US(1);
    for (unsigned i = 0; i < 3; i++) {
        START_ACQUIRE_LOCK(0, i, places[i], DOOR_TTL, 0);
        RUN_US(1);      /* The other node is asked before the next lock waits. */
    }
    RUN_MS(20);
    for (unsigned i = 0; i < 3; i++)
        CHECK(redlock_lock_status(cluster_lock(cluster, 0, i)) != REDLOCK_PENDING);
}

/* It may have no vote, but a release needs none. */
TEST(every_lock_that_waits_for_a_node_learns_that_it_came_back_without_a_vote)
{
    CLUSTER(2);
    ACQUIRE(0, places[0], DOOR_TTL);
    DOWN(1); UP_KEEPING(1);
    for (unsigned i = 0; i < 1000 && VOTES(0, 1); i++) RUN_US(1);
    START_RELEASE(0);
    for (unsigned i = 1; i < 4; i++) {
        START_ACQUIRE_LOCK(0, i, places[i], DOOR_TTL, 0);
        RUN_US(1);
    }
    RUN_MS(20);
    for (unsigned i = 1; i < 4; i++) EXPECT_LOCK_STATUS(0, i, REDLOCK_NO_QUORUM);
    CHECK(!VOTES(0, 1));
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_GRANTED);
    EXPECT_KEY_ABSENT_ON_ALL(places[0]);
}

TEST(what_became_of_the_connection_is_told_in_the_words_of_the_transport)
{
    CLUSTER(3);
    cluster_cut(cluster, 0, 1, false);
    RUN_MS(2000);
    EXPECT_TROUBLE(0, 1, REDLOCK_TROUBLE_UNREACHABLE);
    EXPECT_WORDS(0, 1, "network is unreachable");
    EXPECT_WORDS(0, 0, "ok");
}

/* Its handshake is good, and the next answers end the session, as with a cluster that
 * has lost slots.
 * Each client that waits for the lock asks for its entry as soon as there is a session. */
TEST(a_node_whose_answers_end_each_session_is_connected_to_with_pauses)
{
    CLUSTER_OF(3, 2, config.wake_ups = true);
    ACQUIRE(0, "door", 30000);
    EXPECT_STATUS(0, REDLOCK_OK);
    ANSWERS(2, "EVALSHA", "-CLUSTERDOWN Hash slot not served\r\n");
    const unsigned before = LINK(1, 2)->connect_count;
    START_ACQUIRE(1, "door", 30000, 60000);
    RUN_MS(10000);
    TAP_CHECK(LINK(1, 2)->connect_count - before <= 30, "%u connections",
              LINK(1, 2)->connect_count - before);
    ANSWERS_AS_EVER(2);
    RUN_MS(6000);
    CHECK(VOTES(1, 2));
}

TEST(a_node_that_closes_the_connection_is_named_as_such)
{
    CLUSTER(1);
    model_node_plan(NODE(0), (struct model_answer){ .command = "SET", .times = 1, .closes = true });
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_UNKNOWN);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_CLOSED);
}

TAP_MAIN
