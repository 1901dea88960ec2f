/* The calls of redlock.h that a transport needs beside the four that move bytes. They wait for
 * useful events, and let go of locks whose memory is wanted. */
#include "../../world/story.h"

enum { TTL_MS = 10000 };

static bool is_any_busy(const struct redlock *engine)
{
    for (unsigned k = 0; k < engine->node_count; k++)
        if (redlock_node_is_busy(engine, k)) return true;
    return false;
}

#define LET_GO(client) redlock_let_go(ENGINE(client), LOCK(client), CLIENT_NOW(client))

/* ---- The engine ---- */

TEST(an_engine_says_how_many_nodes_it_has_and_zeroed_memory_has_none)
{
    static const struct redlock zeroed;
    CHECK_INT(zeroed.node_count, 0);
    CLUSTER_OF(5, 1, config.wake_ups = true);
    CHECK_INT(ENGINE(0)->node_count, 5);
    CHECK_INT(ENGINE(0)->session_count, 10);
}

TEST(an_engine_knows_the_time_that_it_was_given_last)
{
    CLUSTER(3);
    const uint64_t later_us = ENGINE(0)->now_us + 7;
    redlock_tick(ENGINE(0), later_us);
    CHECK_INT(ENGINE(0)->now_us, later_us);
}

/* ---- What is worth waiting for ---- */

TEST(a_node_is_busy_from_a_command_to_its_answer)
{
    CLUSTER(3);
    CHECK(!is_any_busy(ENGINE(0)));
    START_ACQUIRE(0, "door", TTL_MS, 0);
    CHECK(is_any_busy(ENGINE(0)));
    STALL(1);
    RUN_MS(100);
    CHECK(redlock_node_is_busy(ENGINE(0), 1));
    CHECK(!redlock_node_is_busy(ENGINE(0), 0));
    HEAL(1);
    RUN_MS(100);
    CHECK(!is_any_busy(ENGINE(0)));
}

TEST(a_node_that_may_be_there_is_busy_before_it_is_connected)
{
    CLUSTER_COLD(3, 1, (void)0);
    START_ACQUIRE(0, "door", TTL_MS, 0);
    for (unsigned k = 0; k < 3; k++) CHECK(redlock_node_is_busy(ENGINE(0), k));
    UNTIL_DONE(0);
    RUN_MS(100);
    CHECK(!is_any_busy(ENGINE(0)));
}

TEST(s5_nobody_waits_for_a_debt_to_a_node_that_is_away)
{
    CLUSTER(3);
    ACQUIRE(0, "door", TTL_MS);
    DOWN(2);
    RUN_MS(100);
    RELEASE(0);
    RUN_MS(100);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    CHECK(!is_any_busy(ENGINE(0)));
}

/* ---- Letting go ---- */

TEST(a_lock_that_is_let_go_is_released_wherever_it_was)
{
    for (unsigned ms = 0; ms <= 4; ms++) {
        CLUSTER(3);
        DELAY_ALL_US(1000);
        START_ACQUIRE(0, "door", TTL_MS, 0);
        RUN_MS(ms);
        CHECK(LET_GO(0));
        CHECK(redlock_lock_status(LOCK(0)) == REDLOCK_PENDING ||
              redlock_lock_status(LOCK(0)) == REDLOCK_CANCELLED);
        RUN_MS(100);
        CHECK(IDLE(0));
        EXPECT_KEY_ABSENT_ON_ALL("door");
    }
}

TEST(a_lock_that_owes_nothing_is_let_go_at_once)
{
    CLUSTER(3);
    CHECK(!LET_GO(0));
    ACQUIRE(0, "door", TTL_MS);
    RELEASE(0);
    RUN_MS(100);
    CHECK(!LET_GO(0));
    CHECK(IDLE(0));
}

TEST(s17_an_adopted_lock_is_let_go_with_every_key_left)
{
    char token[REDLOCK_TOKEN_TEXT + 1];
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", TTL_MS);
    redlock_token(LOCK(0), token);
    CHECK_INT(redlock_adopt(ENGINE(1), LOCK(1),
                            &(struct redlock_request){ .resource = "door", .resource_size = 4 },
                            token, CLIENT_NOW(1)),
              REDLOCK_OK);
    START_EXTEND(1, TTL_MS);
    CHECK(!LET_GO(1));
    redlock_forget(ENGINE(1), LOCK(1));
    RUN_MS(100);
    EXPECT_KEYS("door", 3);
}

/* ---- Names ---- */

TEST(a_lock_has_no_name_before_it_is_used_and_the_one_it_was_given_then)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK_INT(redlock_view_lock(&lock).name_count, 0);

    CLUSTER(3);
    ACQUIRE(0, "door", TTL_MS);
    const struct redlock_name *names = redlock_view_lock(LOCK(0)).names;
    CHECK_INT(redlock_view_lock(LOCK(0)).name_count, 1);
    CHECK_MEM(names[0].bytes, names[0].size, "door", 4);
    const void *before = names[0].bytes;
    CHECK(redlock_copy_name(LOCK(0)));
    names = redlock_view_lock(LOCK(0)).names;
    CHECK_INT(redlock_view_lock(LOCK(0)).name_count, 1);
    CHECK(names[0].bytes != before);
    CHECK_MEM(names[0].bytes, names[0].size, "door", 4);
}

TEST(the_names_of_a_set_are_sorted)
{
    struct redlock_name set[] = {
        { .bytes = "window", .size = 6 }, { .bytes = "door", .size = 4 }
    };
    const struct redlock_request request = { .set = set, .set_count = 2, .ttl_ms = TTL_MS };
    CLUSTER(3);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    const struct redlock_name *names = redlock_view_lock(LOCK(0)).names;
    CHECK_INT(redlock_view_lock(LOCK(0)).name_count, 2);
    CHECK_MEM(names[0].bytes, names[0].size, "door", 4);
    CHECK_MEM(names[1].bytes, names[1].size, "window", 6);
}

TAP_MAIN
