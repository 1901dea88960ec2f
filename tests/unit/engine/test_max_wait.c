/* max_wait_ms: attempts are repeated until the lock is free or the time is over. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

TEST(a_lock_that_becomes_free_is_got_while_waiting)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    START_ACQUIRE(1, "door", DOOR_TTL, REDLOCK_FOREVER);
    RUN_MS(3000);
    RELEASE(0);
    const uint64_t before = CLIENT_NOW(1);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(CLIENT_NOW(1) - before <= 2 * REDLOCK_RETRY_MS * 1000);
}

TEST(waiting_for_ever_outlasts_everything)
{
    CLUSTER_OF(3, 1, config.guard_ms = 0);
    RIVAL_ON_ALL("door", 50000);
    START_ACQUIRE(0, "door", DOOR_TTL, REDLOCK_FOREVER);
    RUN_MS(10000);
    DOWN(0); DOWN(1); DOWN(2);
    RUN_MS(3600000);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    UP(0); UP(1); UP(2);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_wait_for_nodes_that_come_up_is_rewarded)
{
    CLUSTER_COLD(3, 1, config.guard_ms = 0);
    DOWN(0); DOWN(1); DOWN(2);
    START_ACQUIRE(0, "door", DOOR_TTL, 10000);
    RUN_MS(2000);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    CHECK_INT(redlock_attempt_status(LOCK(0)), REDLOCK_NO_QUORUM);
    UP(0); UP(1);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_wait_in_vain_says_why)
{
    CLUSTER(3);
    DOWN(0); DOWN(1);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 1000);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    CHECK_INT(redlock_attempt_status(LOCK(0)), REDLOCK_NO_QUORUM);
}

TEST(the_last_attempt_comes_when_the_time_to_wait_ends)
{
    CLUSTER_OF(3, 1, config.retry_ms = 60000);
    RIVAL_ON_ALL("door", 900);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TAP_MAIN
