/* Inspect: its report of the key on each node, and that it changes nothing. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

/* No Redis gives more than it was asked for. */
TEST(inspect_tells_of_no_longer_value_than_it_asked_for)
{
    CLUSTER(3);
    struct redlock_sight sights[3];
    ANSWERS(0, "GETRANGE", "$48\r\n0123456789012345678901234567890123456789abcdefgh\r\n");
    ANSWERS(1, "GETRANGE", "$41\r\n0123456789012345678901234567890123456789a\r\n");
    ANSWERS(2, "GETRANGE", "$40\r\n0123456789012345678901234567890123456789\r\n");
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    UNTIL_DONE(0);
    for (unsigned k = 0; k < 3; k++) {
        CHECK_INT(sights[k].value_size, REDLOCK_TOKEN_TEXT + (k < 2));
        CHECK_STR(sights[k].value, "0123456789012345678901234567890123456789");
    }
}

TEST(inspect_tells_what_the_key_looks_like_on_every_node)
{
    CLUSTER_COLD(6, 1, (void)0);
    struct redlock_sight sights[6];
    const char *long_value = "01234567890123456789012345678901234567890123456789";
    DOWN(5);
    RUN_MS(STORY_SETTLE_MS);
    RIVAL(1, "door", 5000);
    RIVAL(2, "door", 0);
    model_put(NODE(3), "door", "", 7000, cluster_node_now(cluster, 3))->is_list = true;
    model_put(NODE(4), "door", long_value, 5000, cluster_node_now(cluster, 4));
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(sights[0].seen && !sights[0].exists);
    CHECK_INT(sights[0].ttl_ms + sights[2].ttl_ms, 0);
    CHECK(sights[1].seen && sights[1].exists && sights[1].is_string && sights[1].has_ttl);
    CHECK(sights[1].ttl_ms <= 5000 && sights[1].ttl_ms > 4990);
    CHECK_STR(sights[1].value, "rival");
    CHECK_INT(sights[1].value_size, 5);
    CHECK(sights[2].seen && sights[2].exists && !sights[2].has_ttl);
    CHECK(sights[3].seen && sights[3].exists && !sights[3].is_string && sights[3].has_ttl);
    CHECK_STR(sights[3].value, "");
    CHECK_INT(sights[3].value_size, 0);
    CHECK(sights[4].seen && sights[4].is_string);
    CHECK_INT(strlen(sights[4].value), REDLOCK_TOKEN_TEXT);
    CHECK_INT(memcmp(sights[4].value, long_value, REDLOCK_TOKEN_TEXT), 0);
    CHECK(sights[4].value_size > REDLOCK_TOKEN_TEXT); /* It is no token. */
    CHECK(!sights[5].seen);
    CHECK(IDLE(0));
}

TEST(inspect_sees_nothing_where_the_question_for_the_ttl_is_refused)
{
    CLUSTER(1);
    struct redlock_sight sights[1];
    RIVAL(0, "door", 5000);
    ANSWERS(0, "PTTL", "-NOPERM no permissions\r\n");
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    UNTIL_DONE(0);
    CHECK(!sights[0].seen && !sights[0].exists && !sights[0].has_ttl);
    CHECK_STR(sights[0].value, "rival");
}

TEST(inspect_does_not_wait_for_a_node_that_is_gone)
{
    CLUSTER(3);
    struct redlock_sight sights[3];
    DOWN(2);
    RUN_MS(10000);      /* The pauses between connections have become long. */
    for (unsigned i = 0; i < 10; i++) {
        const uint64_t before = CLIENT_NOW(0);
        CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
        UNTIL_DONE(0);
        CHECK(CLIENT_NOW(0) - before <= 5 * CLUSTER_DELAY_US);
        RUN_MS(2);
    }
}

TEST(inspect_asks_a_node_that_is_about_to_be_back)
{
    CLUSTER(3);
    struct redlock_sight sights[3];
    RESET(0, 1);
    for (unsigned i = 0; i < 1000 && VOTES(0, 1); i++) RUN_US(1);
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    UNTIL_DONE(0);
    for (unsigned k = 0; k < 3; k++) CHECK(sights[k].seen);
}

TEST(inspect_sees_the_token_of_a_lock_and_changes_nothing)
{
    CLUSTER_OF(3, 2, (void)0);
    struct redlock_sight sights[3];
    char token[REDLOCK_TOKEN_TEXT + 1];
    ACQUIRE(0, "door", DOOR_TTL);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_inspect(cluster, 1, 0, "door", sights), REDLOCK_OK);
    UNTIL_DONE(1);
    for (unsigned k = 0; k < 3; k++) {
        CHECK_STR(sights[k].value, token);
        CHECK_INT(sights[k].value_size, REDLOCK_TOKEN_TEXT);
    }
    EXPECT_KEYS("door", 3);
    EXPECT_HELD(0);
    EXPECT_NOT_HELD(1);
}

TEST(inspect_asks_nodes_without_a_vote_too)
{
    CLUSTER_COLD(1, 1, (void)0);
    struct redlock_sight sights[1];
    NODE(0)->started_us = cluster_node_now(cluster, 0);
    RUN_MS(STORY_SETTLE_MS);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_RESTARTED);
    RIVAL(0, "door", 5000);
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    UNTIL_DONE(0);
    CHECK(sights[0].seen && sights[0].exists);
}

TEST(inspect_ends_in_time_when_nodes_hang_and_writes_no_more_then)
{
    CLUSTER(3);
    struct redlock_sight sights[3];
    HANG(1); HANG(2);
    const uint64_t before = CLIENT_NOW(0);
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(CLIENT_NOW(0) - before <= REDLOCK_NODE_TIMEOUT_MS * 1000);
    CHECK(sights[0].seen && !sights[1].seen && !sights[2].seen);
    memset(sights, 0x55, sizeof sights);
    RESUME(1); RESUME(2);
    RUN_MS(100);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(sights[k].value_size, 0x55555555);
}

TEST(inspect_needs_an_idle_lock)
{
    CLUSTER(3);
    struct redlock_sight sights[3];
    ACQUIRE(0, "door", DOOR_TTL);
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_BAD_STATE);
    EXPECT_HELD(0);
}

TAP_MAIN
