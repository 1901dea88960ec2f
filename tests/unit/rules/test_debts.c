/* Debts to a node that cannot be reached (S5). Tests how much is owed, for how long, and that
 * nobody waits for it. */
#include "../../world/story.h"

#define TOKEN "0123456789abcdef0123456789abcdef01234567"

/* ---- How long ---- */

/* Another process has acquired it. Nobody reports its TTL; so the debt lasts as long as
 * any TTL may. */
static void adopt_and_release(uint32_t guard_ms, uint32_t ttl_ms)
{
    CLUSTER_OF(3, 2, config.guard_ms = guard_ms);
    char token[REDLOCK_TOKEN_TEXT + 1];
    TAP_CONTEXT("a guard of %u ms", (unsigned)guard_ms);
    cluster->no_promise = cluster->no_exclusion = true;
    ACQUIRE(0, "door", ttl_ms);
    RUN_MS(1);
    redlock_token(LOCK(0), token);
    cluster_client_dies(cluster, 0);
    cluster_cut(cluster, 1, 2, false);
    RUN_MS(1);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    RELEASE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK_INT(redlock_view_lock(LOCK(1)).owed, 1);
    RUN_MS(ttl_ms - 5000);
    CHECK_INT(redlock_view_lock(LOCK(1)).owed, 1);
    EXPECT_KEYS("door", 1);
    HEAL_ALL;
    RUN_MS(4000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(1));
}

TEST(s5_the_release_of_an_adopted_lock_is_owed_to_a_node_that_is_away_while_its_key_may_stay)
{
    adopt_and_release(30000, 30000);
    adopt_and_release(60000, 60000);
    adopt_and_release(0, 3600000);
}

/* A TTL begins at the node, which may be long after the SET was sent. */
static void set_late(bool is_answered)
{
    CLUSTER_OF(3, 1, config.node_timeout_ms = 1000);
    TAP_CONTEXT("the SET is%s answered", is_answered ? "" : " not");
    DELAY_US(2, 600000);
    ACQUIRE(0, "door", 1500);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(is_answered ? 1250 : 900);
    /* It is there until 2100 ms after the beginning. */
    CHECK(cluster_key(cluster, 2, "door") != NULL);
    cluster_cut(cluster, 0, 2, true);
    RUN_MS(1);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    while (cluster_key(cluster, 2, "door")) {
        CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
        RUN_MS(1);
    }
    RUN_MS(2000);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
}

TEST(s5_a_debt_lasts_for_a_ttl_from_the_answer_on)
{
    set_late(true);
}

TEST(s5_a_debt_lasts_for_a_ttl_from_the_loss_of_the_connection_on)
{
    set_late(false);
}

TEST(s5_a_release_that_is_lost_with_its_connection_makes_no_debt_longer)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 3000);
    RUN_MS(1500);
    STALL(2);
    RELEASE(0);
    cluster_cut(cluster, 0, 2, false);
    RUN_MS(1000);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    RUN_MS(600);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
}

/* ---- How much ---- */

TEST(a_release_that_is_not_answered_is_owed)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RUN_MS(1);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    STALL(2);
    const uint64_t before = cluster->now_us;
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(cluster->now_us - before <= 10000);       /* A quorum is enough. */
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    CHECK(!IDLE(0));
    HEAL(2);
    RUN_MS(5);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    CHECK(IDLE(0));
}

/* Node 4 would not release an older attempt. Node 3 has nothing of the lock. */
TEST(a_debt_to_one_node_is_none_to_another)
{
    CLUSTER(5);
    for (unsigned k = 0; k < 4; k++) RIVAL(k, "door", k < 3 ? 50 : 60000);
    ANSWERS_ONCE(4, "SET", "-ERR not now\r\n");
    ANSWERS(4, "EVALSHA", "-ERR not now\r\n");
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(100);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    const unsigned before = CALLS(3, "RELEASE");
    RELEASE(0);
    RUN_MS(1);
    CHECK_INT(CALLS(3, "RELEASE"), before);
    EXPECT_KEYS("door", 1);
}

/* ---- Nobody waits for it ---- */

/* All that can answer have; those that are away and those that refuse later are owed. */
static void release_with_dead(unsigned n, unsigned dead_count, bool adopts)
{
    CLUSTER(n);
    TAP_CONTEXT("%u of %u nodes are away%s", dead_count, n, adopts ? ", adopted" : "");
    cluster->no_promise = true;
    if (!adopts) ACQUIRE(0, "door", 10000);
    RUN_MS(1);
    for (unsigned k = 0; k < dead_count; k++) cluster_cut(cluster, 0, k, false);
    RUN_MS(200);
    if (adopts) CHECK_INT(cluster_adopt(cluster, 0, 0, "door", TOKEN), REDLOCK_OK);
    const uint64_t before = cluster->now_us;
    RELEASE(0);
    TAP_CHECK(cluster->now_us - before <= 10000, "it takes %u us",
              (unsigned)(cluster->now_us - before));
    RUN_MS(1);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, dead_count);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, adopts ? 0 : n - dead_count);
    EXPECT_NOT_HELD(0);
}

TEST(s5_a_release_waits_for_no_node_that_is_away)
{
    for (unsigned n = 1; n <= 5; n++)
        for (unsigned dead_count = 0; dead_count <= n; dead_count++) {
            release_with_dead(n, dead_count, false);
            release_with_dead(n, dead_count, true);
        }
}

/* ---- Paying at once ---- */

TEST(what_a_node_would_not_take_can_be_tried_again_at_once)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RUN_MS(1);
    NODE(0)->condition = NODE(1)->condition = NODE(2)->condition = MODEL_MISCONF;
    RELEASE(0);
    RUN_MS(1);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 3);
    NODE(0)->condition = NODE(1)->condition = NODE(2)->condition = MODEL_WELL;
    redlock_pay(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    CHECK_INT(LOCK(0)->wake_at, LOCK(0)->owed_until);   /* Not when the next try was due. */
    RUN_MS(1);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
}

TEST(to_pay_when_nothing_is_owed_does_nothing)
{
    CLUSTER(3);
    redlock_pay(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    ACQUIRE(0, "door", 10000);
    RUN_MS(1);
    redlock_pay(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    RUN_MS(100);
    EXPECT_HELD(0);
    EXPECT_KEYS("door", 3);
    CHECK_INT(CALLS(0, "RELEASE"), 0);
}

TAP_MAIN
