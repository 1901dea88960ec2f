/* Adopt: a lock that another process has acquired is extended and released by its token; S17. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

TEST(an_adopted_lock_can_be_extended_and_released)
{
    CLUSTER_OF(3, 2, (void)0);
    char token[REDLOCK_TOKEN_TEXT + 1];
    cluster->no_exclusion = true; /* Both are the same holder. */
    cluster->no_promise = true;
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    CHECK_INT(VALID_US(1), 0); /* Nobody has promised anything yet. */
    cluster->no_promise = false;
    EXTEND(1, 20000);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(VALID_US(1) > 19000000);
    RELEASE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(an_adopted_lock_that_is_gone_is_not_extended)
{
    CLUSTER(3);
    cluster->no_promise = true;
    CHECK_INT(cluster_adopt(cluster, 0, 0, "door", "0123456789abcdef0123456789abcdef01234567"),
              REDLOCK_OK);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    EXPECT_NOT_HELD(0);
    CHECK_INT(cluster_extend(cluster, 0, 0, DOOR_TTL), REDLOCK_LOST);
}

TEST(an_adopted_lock_of_which_too_few_nodes_answer_is_not_said_to_be_lost)
{
    CLUSTER_OF(3, 2, (void)0);
    char token[REDLOCK_TOKEN_TEXT + 1];
    ACQUIRE(0, "door", DOOR_TTL);
    redlock_token(LOCK(0), token);
    STALL(0); STALL(1);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    EXTEND(1, DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_NO_QUORUM);
    HEAL_ALL;
    EXPECT_KEYS("door", 3);
}

TEST(the_release_of_an_adopted_lock_takes_no_rivals_key)
{
    CLUSTER(3);
    cluster->no_promise = true;
    RIVAL_ON_ALL("door", DOOR_TTL);
    CHECK_INT(cluster_adopt(cluster, 0, 0, "door", "0123456789abcdef0123456789abcdef01234567"),
              REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    for (unsigned k = 0; k < 3; k++) EXPECT_RIVAL_KEY(k, "door");
}

/* A command of a shell needs this. It is a new process without a connection yet, and the release
 * must get through. */
static void release_cold(bool is_first_connected)
{
    CLUSTER_COLD(3, 2, (void)0);
    char token[REDLOCK_TOKEN_TEXT + 1];
    TAP_CONTEXT("%s", is_first_connected ? "node 0 is connected" : "no node is");
    cluster->no_exclusion = cluster->no_promise = true;
    cluster_client_dies(cluster, 1);
    ACQUIRE(0, "door", DOOR_TTL);
    redlock_token(LOCK(0), token);
    cluster_client_dies(cluster, 0);
    cluster_client_returns(cluster, 1);
    for (unsigned k = 1; k < 3; k++) DELAY_US(k, 20000);
    if (is_first_connected) RUN_MS(30);
    CHECK_INT(redlock_view_node(ENGINE(1), 0, ENGINE(1)->now_us).is_settled, is_first_connected);
    CHECK(!redlock_view_node(ENGINE(1), 1, ENGINE(1)->now_us).is_settled);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    RELEASE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(redlock_view_lock(LOCK(1)).confirmed >= 2);
    RUN_MS(100);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(an_adopted_lock_can_be_released_before_anything_or_only_one_node_is_connected)
{
    release_cold(false);
    release_cold(true);
}

/* Ways in which nothing comes of an adopted lock. */
enum vain {
    TOO_LONG,
    TOO_SHORT,
    REFUSED_BY_ONE,
    NODES_HANG,
    CANCELLED,
    CONFIRMED_FOR_A_MOMENT,
    NOT_TRIED,
    VAIN_COUNT
};

static void extend_in_vain(struct cluster *cluster, enum vain vain)
{
    switch (vain) {
    case TOO_LONG:
        CHECK_INT(cluster_extend(cluster, 1, 0, cluster->config.guard_ms + 1),
                  REDLOCK_TTL_OVER_GUARD);
        break;
    case TOO_SHORT:      CHECK_INT(cluster_extend(cluster, 1, 0, 1), REDLOCK_BAD_TTL); break;
    case REFUSED_BY_ONE: ANSWERS(0, "EVALSHA", "-OOM no\r\n"); HANG(1); EXTEND(1, DOOR_TTL); break;
    case NODES_HANG:     HANG(0); HANG(1); EXTEND(1, DOOR_TTL); break;
    case CANCELLED:
        CHECK_INT(cluster_extend(cluster, 1, 0, DOOR_TTL), REDLOCK_OK);
        cluster_cancel(cluster, 1, 0);
        break;
    case CONFIRMED_FOR_A_MOMENT:
        EXTEND(1, 20);
        EXPECT_STATUS(1, REDLOCK_OK);
        break;
    default: break;
    }
}

/* The client that handed the lock over may still hold it. Here client 0 does. */
static void adopt_in_vain_and_acquire(enum vain vain)
{
    CLUSTER_OF(3, 3, (void)0);
    char token[REDLOCK_TOKEN_TEXT + 1];
    TAP_CONTEXT("vain %d", (int)vain);
    cluster->no_promise = cluster->no_exclusion = true;     /* Both are the same holder. */
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    extend_in_vain(cluster, vain);
    ANSWERS_AS_EVER(0); HEAL_ALL; RUN_MS(1000);
    EXPECT_NOT_HELD(1);
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    ACQUIRE(2, "door", DOOR_TTL);
    EXPECT_STATUS(2, REDLOCK_TAKEN);
    for (unsigned k = 0; k < 3; k++) CHECK_STR(cluster_key(cluster, k, "door"), token);
    EXPECT_HELD(0);
}

TEST(s17_an_adopted_lock_that_could_not_be_extended_stays_when_the_same_is_acquired)
{
    for (enum vain vain = TOO_LONG; vain < VAIN_COUNT; vain++) adopt_in_vain_and_acquire(vain);
}

TEST(s17_an_adopted_lock_that_could_not_be_extended_is_released_when_that_is_said)
{
    CLUSTER_OF(3, 2, (void)0);
    char token[REDLOCK_TOKEN_TEXT + 1];
    cluster->no_promise = cluster->no_exclusion = true;
    ACQUIRE(0, "door", DOOR_TTL);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    CHECK_INT(cluster_extend(cluster, 1, 0, 1), REDLOCK_BAD_TTL);
    RUN_MS(1000);
    RELEASE(1);
    RUN_MS(STORY_SETTLE_MS);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(1));
}

/* Commands under way for it are answered when its lock has long become another. */
TEST(s17_a_lock_that_was_adopted_in_vain_is_forgotten_and_adopted_again)
{
    CLUSTER_OF(3, 2, (void)0);
    char token[REDLOCK_TOKEN_TEXT + 1];
    cluster->no_promise = cluster->no_exclusion = true;
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    CHECK_INT(cluster_extend(cluster, 1, 0, DOOR_TTL), REDLOCK_OK);
    cluster_cancel(cluster, 1, 0);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_BAD_STATE);
    cluster_forget(cluster, 1, 0);
    redlock_lock_init(LOCK(1));
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    EXTEND(1, DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_KEYS("door", 3);
}

TEST(what_comes_late_to_a_cancelled_inspection_says_nothing_to_the_next_operation)
{
    CLUSTER(3);
    struct redlock_sight sights[3];
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    RUN_US(1);
    cluster_cancel(cluster, 0, 0);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_STR(redlock_vote_text((enum redlock_vote)99), "unknown vote");
}

TEST(adopt_refuses_what_is_no_token)
{
    static const char *const bad[] = {
        "", "abc", "0123456789abcdef0123456789abcdef0123456",
        "0123456789abcdef0123456789abcdef012345678",
        "0123456789ABCDEF0123456789abcdef01234567", "0123456789abcdef0123456789abcdef0123456g",
        "0123456789abcdef 123456789abcdef01234567",
    };
    CLUSTER(3);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        TAP_CONTEXT("\"%s\"", bad[i]);
        CHECK_INT(cluster_adopt(cluster, 0, 0, "door", bad[i]), REDLOCK_BAD_TOKEN);
        EXPECT_NOT_HELD(0);
    }
    CHECK_INT(cluster_adopt(cluster, 0, 0, "", "0123456789abcdef0123456789abcdef01234567"),
              REDLOCK_BAD_RESOURCE);
    ACQUIRE(0, "door", DOOR_TTL);
    CHECK_INT(cluster_adopt(cluster, 0, 0, "door", "0123456789abcdef0123456789abcdef01234567"),
              REDLOCK_BAD_STATE);
}

TAP_MAIN
