/* Every connection and every subscription severed after every byte, in each direction, while a
 * client waits and is woken. */
#include "severed.h"

enum { DOOR_TTL = SEVERED_DOOR_TTL, WAIT_MS = 60000 };

static void start_waiting(struct cluster *cluster, enum kind kind)
{
    CHECK_INT(kind_acquire(cluster, 0, kind, DOOR_TTL, WAIT_MS), REDLOCK_OK);
    RUN_MS(50);
    EXPECT_STATUS(0, REDLOCK_PENDING);
}

/* Runs from the first attempt, which is refused, and the opening of the subscriptions to the
 * attempt that wins. */
static void wait_severed(struct cluster *cluster, const struct cut *cut)
{
    ACQUIRE_KIND(1, cut->kind, DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(1);
    arm(cluster, cut);
    start_waiting(cluster, cut->kind);
    RELEASE(1);
    RUN_MS(10);
}

/* The waiter has its entries. */
static void hand_over_severed(struct cluster *cluster, const struct cut *cut)
{
    ACQUIRE_KIND(1, cut->kind, DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    start_waiting(cluster, cut->kind);
    arm(cluster, cut);
    RELEASE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(10);
}

/* The entries are given back by releases of their own. */
static void give_up_severed(struct cluster *cluster, const struct cut *cut)
{
    ACQUIRE_KIND(1, cut->kind, DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    start_waiting(cluster, cut->kind);
    arm(cluster, cut);
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_CANCELLED);
    RUN_MS(10);
}

/* Before a release could wake a waiter that has gone. */
static void leave_it(struct cluster *cluster)
{
    RUN_MS(SEVERED_RECONNECT_MS);
    EXPECT_KEY_ABSENT_ON_ALL("door#waiters");
    EXPECT_HELD(1);
    RELEASE(1);
}

/* A wake-up that was lost costs time, never the lock. */
static void get_it(struct cluster *cluster)
{
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
}

enum { WAIT_FOR_IT, HAND_IT_OVER, WAKE_UP, GIVE_UP };

static const struct operation operations[] = {
    [WAIT_FOR_IT] = { "a wait", wait_severed, get_it, .client = 0, .listens = true },
    [HAND_IT_OVER] = { "a release that wakes", hand_over_severed, get_it, .client = 1,
                       .listens = true },
    [WAKE_UP] = { "a wake-up", hand_over_severed, get_it, .client = 0, .listens = true },
    [GIVE_UP] = { "the end of a wait", give_up_severed, leave_it, .client = 0, .listens = true },
};

TEST(a_wait_survives_that_connections_and_subscriptions_end_after_any_byte)
{
    sever_every_kind(&operations[WAIT_FOR_IT]);
}

TEST(a_release_that_wakes_survives_that_connections_end_after_any_byte)
{
    sever_every_kind(&operations[HAND_IT_OVER]);
}

TEST(a_wake_up_survives_that_connections_and_subscriptions_end_after_any_byte)
{
    sever_every_kind(&operations[WAKE_UP]);
}

TEST(the_end_of_a_wait_survives_that_connections_end_after_any_byte)
{
    sever_every_kind(&operations[GIVE_UP]);
}

TAP_MAIN
