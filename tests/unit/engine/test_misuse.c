/* Locks in the wrong hands, and calls in a state that forbids them. Each is refused, and the lock
 * goes on. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

/* ---- Locks in the wrong hands ---- */

TEST(a_copy_of_a_lock_is_refused_and_the_lock_goes_on)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    struct redlock_lock copy = *LOCK(0);
    struct redlock_request request;
    redlock_request_init(&request);
    request.resource = "door";
    request.resource_size = 4;
    request.ttl_ms = DOOR_TTL;
    CHECK_INT(redlock_start_extend(ENGINE(0), &copy, DOOR_TTL, CLIENT_NOW(0)), REDLOCK_BAD_LOCK);
    CHECK_INT(redlock_start_release(ENGINE(0), &copy, CLIENT_NOW(0)), REDLOCK_BAD_LOCK);
    CHECK_INT(redlock_start_acquire(ENGINE(0), &copy, &request, CLIENT_NOW(0)), REDLOCK_BAD_LOCK);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(a_lock_of_another_engine_is_refused_until_it_is_forgotten_there)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_start_release(ENGINE(1), LOCK(0), CLIENT_NOW(1)), REDLOCK_BAD_LOCK);
    CHECK_INT(redlock_start_extend(ENGINE(1), LOCK(0), DOOR_TTL, CLIENT_NOW(1)), REDLOCK_BAD_LOCK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_lock_that_was_never_made_ready_is_refused)
{
    CLUSTER(3);
    struct redlock_lock lock;
    struct redlock_request request;
    memset(&lock, 0xa5, sizeof lock);
    redlock_request_init(&request);
    request.resource = "door";
    request.resource_size = 4;
    request.ttl_ms = DOOR_TTL;
    CHECK_INT(redlock_start_acquire(ENGINE(0), &lock, &request, CLIENT_NOW(0)), REDLOCK_BAD_LOCK);
}

/* ---- States in which an operation may not begin ---- */

TEST(a_lock_of_zeroes_is_refused)
{
    CLUSTER(3);
    static struct redlock_lock zeroes;
    struct redlock_mark mark;
    struct redlock_sight sights[3];
    const struct redlock_request request = story_request("door", DOOR_TTL, 0);
    const struct redlock_period period = { .period_ms = 60000, .wall_us = 1, .at_us = 0 };

    CHECK_INT(redlock_start_acquire(ENGINE(0), &zeroes, &request, CLIENT_NOW(0)), REDLOCK_BAD_LOCK);
    CHECK_INT(redlock_start_extend(ENGINE(0), &zeroes, DOOR_TTL, CLIENT_NOW(0)), REDLOCK_LOST);
    CHECK_INT(redlock_start_release(ENGINE(0), &zeroes, CLIENT_NOW(0)), REDLOCK_LOST);
    CHECK_INT(redlock_adopt(ENGINE(0), &zeroes, &request,
                            "0123456789abcdef0123456789abcdef01234567", CLIENT_NOW(0)),
              REDLOCK_BAD_LOCK);
    CHECK_INT(redlock_start_inspect(ENGINE(0), &zeroes, "door", 4, sights, CLIENT_NOW(0)),
              REDLOCK_BAD_LOCK);
    CHECK_INT(redlock_start_mark(ENGINE(0), &mark, &zeroes, &period, CLIENT_NOW(0)),
              REDLOCK_BAD_LOCK);
}

TEST(no_operation_begins_while_another_is_under_way)
{
    CLUSTER(3);
    const struct redlock_request request = story_request("door", DOOR_TTL, 0);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_STATE);
    CHECK_INT(cluster_extend(cluster, 0, 0, DOOR_TTL), REDLOCK_BAD_STATE);
    CHECK_INT(cluster_release(cluster, 0, 0), REDLOCK_BAD_STATE);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    START_EXTEND(0, DOOR_TTL);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_STATE);
    CHECK_INT(cluster_extend(cluster, 0, 0, DOOR_TTL), REDLOCK_BAD_STATE);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    START_RELEASE(0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_STATE);
    CHECK(cluster_extend(cluster, 0, 0, DOOR_TTL) != REDLOCK_OK);
    CHECK(cluster_release(cluster, 0, 0) != REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_held_lock_is_not_acquired_again)
{
    CLUSTER(3);
    const struct redlock_request request = story_request("door", DOOR_TTL, 0);
    ACQUIRE(0, "door", DOOR_TTL);
    const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_STATE);
    CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until);
}

TEST(a_lock_that_owes_for_one_resource_is_not_used_for_another)
{
    CLUSTER(3);
    const struct redlock_request gate = story_request("gate", DOOR_TTL, 0);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    cluster_cut(cluster, 0, 2, false);
    RELEASE(0);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    struct redlock_request copy = gate;
    static const char name[] = "gate";
    copy.resource = name;
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &copy, CLIENT_NOW(0)), REDLOCK_BAD_STATE);
    ACQUIRE(0, "door", DOOR_TTL); /* The same request is accepted. */
    EXPECT_STATUS(0, REDLOCK_OK);
    HEAL_ALL;
    RUN_MS(5000);
    EXPECT_HELD(0);
    EXPECT_KEYS("door", 2);
}

TEST(what_was_never_acquired_is_not_released)
{
    CLUSTER(3);
    CHECK_INT(cluster_release(cluster, 0, 0), REDLOCK_LOST);
    RUN_MS(10);
    CHECK_INT(CALLS(0, "RELEASE"), 0);
}

TEST(a_released_lock_is_acquired_again_at_once)
{
    CLUSTER(5);
    DELAY_US(4, 30000);
    for (unsigned i = 0; i < 100; i++) {
        ACQUIRE(0, "door", DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        EXPECT_HELD(0);
        RELEASE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
    }
    RUN_MS(1000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TAP_MAIN
