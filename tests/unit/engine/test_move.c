/* Moves a lock in every phase, and it goes on at its new address. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

static void move_at(unsigned at_us)
{
    CLUSTER_COLD(3, 1, (void)0);
    TAP_CONTEXT("after %u us", at_us);
    for (unsigned k = 0; k < 3; k++) DELAY_US(k, 100 + 250 * k);
    START_ACQUIRE(0, "door", DOOR_TTL, 5000);
    RUN_US(at_us);
    cluster_move(cluster, 0, 1, 0);
    UNTIL_LOCK_DONE(0, 1);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
    CHECK(cluster_valid_us(cluster, 0, 1) > 0);
    CHECK_INT(cluster_extend(cluster, 0, 1, DOOR_TTL), REDLOCK_OK);
    RUN_US(at_us / 4);
    cluster_move(cluster, 0, 2, 1);
    UNTIL_LOCK_DONE(0, 2);
    EXPECT_LOCK_STATUS(0, 2, REDLOCK_OK);
    CHECK_INT(cluster_release(cluster, 0, 2), REDLOCK_OK);
    RUN_US(at_us / 4);
    cluster_move(cluster, 0, 3, 2);
    UNTIL_LOCK_DONE(0, 3);
    EXPECT_LOCK_STATUS(0, 3, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(redlock_idle(cluster_lock(cluster, 0, 3)));
}

TEST(a_lock_can_be_moved_at_any_moment)
{
    for (unsigned at_us = 0; at_us <= 3000; at_us += 25) move_at(at_us);
}

TEST(a_waiting_lock_a_debt_and_a_done_lock_can_be_moved)
{
    CLUSTER(3);
    cluster->clients[0].keeps_done = true;
    RIVAL(0, "door", 300); RIVAL(1, "door", 300);
    START_ACQUIRE(0, "door", DOOR_TTL, REDLOCK_FOREVER);
    RUN_MS(20);
    cluster_move(cluster, 0, 1, 0);
    UNTIL_LOCK_DONE(0, 1);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
    cluster_move(cluster, 0, 2, 1);
    CHECK(redlock_next_done(ENGINE(0)) == NULL); /* The caller that moves it knows of it. */
    RUN_MS(1);
    cluster_cut(cluster, 0, 2, false);
    CHECK_INT(cluster_release(cluster, 0, 2), REDLOCK_OK);
    RUN_MS(1000);
    CHECK_INT(redlock_view_lock(cluster_lock(cluster, 0, 2)).owed, 1);
    cluster_move(cluster, 0, 3, 2);
    CHECK_INT(redlock_view_lock(cluster_lock(cluster, 0, 3)).owed, 1);
    HEAL_ALL;
    RUN_MS(5000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(redlock_next_done(ENGINE(0)) == NULL);
}

/* No lock moves back. The memory that it has left is the caller's, and may be overwritten. All wait
 * in the queue of a node that is away; the last of them moves, and one more comes after it. */
static void move_last_of_three(bool moves_all)
{
    static const char *const names[] = { "a", "b", "c", "d" };
    CLUSTER(3);
    TAP_CONTEXT("%s", moves_all ? "all move" : "the last one moves");
    cluster_need_locks(cluster, 0, 8);
    for (unsigned i = 0; i < 4; i++) {
        START_ACQUIRE_LOCK(0, i, names[i], DOOR_TTL, 0);
        UNTIL_LOCK_DONE(0, i);
    }
    RUN_MS(1);
    cluster_cut(cluster, 0, 2, false);
    RUN_MS(1);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_INT(cluster_release(cluster, 0, i), REDLOCK_OK);
        UNTIL_LOCK_DONE(0, i);
    }
    for (unsigned i = moves_all ? 0 : 2; i < 3; i++) cluster_move(cluster, 0, 4 + i, i);
    CHECK_INT(cluster_release(cluster, 0, 3), REDLOCK_OK);
    UNTIL_LOCK_DONE(0, 3);
    HEAL_ALL;
    RUN_MS(5000);
    EXPECT_KEY_ABSENT_ON_ALL("a"); EXPECT_KEY_ABSENT_ON_ALL("b");
    EXPECT_KEY_ABSENT_ON_ALL("c"); EXPECT_KEY_ABSENT_ON_ALL("d");
    CHECK(redlock_idle(cluster_lock(cluster, 0, 6)) && redlock_idle(cluster_lock(cluster, 0, 3)));
}

TEST(a_lock_that_has_moved_for_good_is_the_last_of_a_queue_like_any_other)
{
    move_last_of_three(false);
    move_last_of_three(true);
}

TAP_MAIN
