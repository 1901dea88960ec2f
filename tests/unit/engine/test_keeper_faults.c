/* A lock that is kept. Tests the keeper when nodes, time or the caller are in its way. */
#include "../../world/story.h"

#define KEEP(client, hold_ms) \
    CHECK_INT(redlock_keep(ENGINE(client), LOCK(client), (hold_ms), CLIENT_NOW(client)), REDLOCK_OK)

/* The nearer the end the shorter the pause between two extensions. There always is one, since time
 * stands still during a tick. */
TEST(a_keeper_that_reaches_no_node_ends_with_the_validity_and_hangs_no_tick)
{
    CLUSTER(3);
    cluster->no_promise = true;
    ACQUIRE(0, "door", 1000);
    KEEP(0, 0);
    DOWN(0); DOWN(1); DOWN(2);
    RUN_MS(2000);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_NOT_HELD(0);
}

/* Nobody has asked for the extension that is under way, so it is in nobody's way. */
TEST(a_kept_lock_that_ended_during_an_extension_can_be_acquired_again_before_the_clock_ticks)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    KEEP(0, 0);
    STALL(0); STALL(1); STALL(2);
    RUN_MS(400);
    FREEZE(0);
    RUN_MS(3000);
    EXPECT_NOT_HELD(0);
    START_ACQUIRE(0, "door", 1000, 0);
    THAW(0); HEAL_ALL;
    UNTIL_DONE(0);
}

TAP_MAIN
