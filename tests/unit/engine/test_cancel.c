/* Cancel, in every phase of an operation. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000, ROUND_US = 2 * CLUSTER_DELAY_US };

static void expect_nothing_left(struct cluster *cluster)
{
    EXPECT_NOT_HELD(0);
    RUN_MS(3000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
    const size_t calls = NODE(0)->call_count;
    RUN_MS(60000);
    CHECK_INT(NODE(0)->call_count, calls);
}

TEST(an_acquire_can_be_cancelled_at_any_moment)
{
    /* Connecting, handshake, asked, answered. */
    for (unsigned at_us = 0; at_us <= 3000; at_us += 25) {
        CLUSTER_COLD(3, 1, (void)0);
        TAP_CONTEXT("after %u us", at_us);
        for (unsigned k = 0; k < 3; k++) DELAY_US(k, 100 + 250 * k);
        START_ACQUIRE(0, "door", DOOR_TTL, 5000);
        RUN_US(at_us);
        const bool was_won = redlock_lock_status(LOCK(0)) == REDLOCK_OK;
        cluster_cancel(cluster, 0, 0);
        EXPECT_STATUS(0, was_won ? REDLOCK_OK : REDLOCK_CANCELLED);
        CHECK_INT(VALID_US(0) > 0, was_won);
        if (was_won) RELEASE(0);
        expect_nothing_left(cluster);
    }
}

TEST(a_wait_between_two_attempts_can_be_cancelled)
{
    CLUSTER(3);
    RIVAL(0, "door", 100); RIVAL(1, "door", 100);
    START_ACQUIRE(0, "door", DOOR_TTL, REDLOCK_FOREVER);
    RUN_MS(5);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    CHECK_INT(redlock_attempt_status(LOCK(0)), REDLOCK_TAKEN);
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_CANCELLED);
    expect_nothing_left(cluster);
}

TEST(the_question_for_the_holders_time_can_be_cancelled)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 100);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    RUN_US(ROUND_US);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_CANCELLED);
    expect_nothing_left(cluster);
}

TEST(a_cancelled_extension_leaves_the_lock_held)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
    RUN_MS(100);
    START_EXTEND(0, DOOR_TTL);
    RUN_US(50);
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_CANCELLED);
    CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until);
    RUN_MS(100);
    CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until); /* A late answer does not lengthen it either. */
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    expect_nothing_left(cluster);
}

TEST(a_cancelled_release_is_still_owed)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    HANG(0); HANG(1); HANG(2);
    START_RELEASE(0);
    RUN_US(50);
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_CANCELLED);
    HEAL_ALL;
    expect_nothing_left(cluster);
}

TEST(a_cancel_without_an_operation_does_nothing)
{
    CLUSTER(3);
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    ACQUIRE(0, "door", DOOR_TTL);
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
    RELEASE(0);
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TAP_MAIN
