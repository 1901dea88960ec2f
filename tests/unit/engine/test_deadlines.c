/* The engine must act in time even if nothing arrives by the network: hung nodes are left in time,
 * busy ones are not, and nobody waits longer than he wanted to. Judged by the
 * story's own figures. */
#include "../../world/story.h"

enum {
    DOOR_TTL = 10000,
    TIMEOUT_MS = 100,
    HANGS_MS = 4 * TIMEOUT_MS,      /* After so long without an answer a node is given up. */
    MANY = 60
};

static void start_next(struct cluster *cluster, unsigned i)
{
    static char name[16];
    snprintf(name, sizeof name, "lock-%u", i);
    START_ACQUIRE_LOCK(0, i, name, DOOR_TTL, 0);
}

/* Never is nothing asked of a node whose answers are as slow as this one's. */
TEST(a_node_that_answers_is_not_given_up_however_long_it_is_asked_without_a_pause)
{
    CLUSTER_OF(3, 1, config.node_timeout_ms = TIMEOUT_MS);
    cluster_need_locks(cluster, 0, MANY);
    const unsigned connects = LINK(0, 2)->connect_count;
    DELAY_US(2, 40000);
    for (unsigned i = 0; i < MANY; i++) {
        start_next(cluster, i);
        RUN_MS(20);
        EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_NONE);
    }
    CHECK_INT(LINK(0, 2)->connect_count, connects);
}

TEST(a_hung_node_is_given_up_in_time_however_much_more_is_asked_of_it)
{
    CLUSTER_OF(3, 1, config.node_timeout_ms = TIMEOUT_MS);
    cluster_need_locks(cluster, 0, MANY);
    HANG(2);
    for (unsigned i = 0; i < HANGS_MS / 20; i++) {
        start_next(cluster, i);
        EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_NONE);
        RUN_MS(20);
    }
    RUN_MS(1);
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_SILENT);
}

/* ---- A wait ends in time ---- */

/* The pause between attempts is longer than the wait, so the last attempt comes at its end. */
static void wait_in_vain(uint32_t retry_ms, uint32_t wait_ms, bool wakes_up)
{
    CLUSTER_OF(3, 1, config.retry_ms = retry_ms, config.wake_ups = wakes_up);
    TAP_CONTEXT("pauses of about %u ms, a wait of %u ms", (unsigned)retry_ms, (unsigned)wait_ms);
    RIVAL_ON_ALL("door", 3600000);
    const uint64_t until = CLIENT_NOW(0) + wait_ms * 1000;
    ACQUIRE_WAIT(0, "door", DOOR_TTL, wait_ms);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    TAP_CHECK(CLIENT_NOW(0) >= until - 1000 && CLIENT_NOW(0) <= until + 5000,
              "it ends %lld us after its time", (long long)(CLIENT_NOW(0) - until));
}

TEST(a_wait_that_is_shorter_than_a_pause_ends_when_it_should)
{
    for (uint32_t retry_ms = 100; retry_ms <= 60000; retry_ms *= 2)
        for (uint32_t wait_ms = 50; wait_ms <= 800; wait_ms *= 2)
            wait_in_vain(retry_ms, wait_ms, false);
}

TEST(a_wait_for_a_wake_up_that_does_not_come_ends_when_it_should)
{
    for (uint32_t wait_ms = 250; wait_ms <= 64000; wait_ms *= 2) {
        wait_in_vain(100, wait_ms, true);
        wait_in_vain(5000, wait_ms, true);
    }
}

/* The one that has just woken another stands aside for a while, which is part of its wait. */
static void stand_aside(uint32_t round_ms, uint32_t wait_ms)
{
    CLUSTER_OF(3, 2, config.wake_ups = true, config.retry_ms = 2000);
    TAP_CONTEXT("a round of %u ms, a wait of %u ms", (unsigned)round_ms, (unsigned)wait_ms);
    DELAY_ALL_US(round_ms * 500);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 60000);
    START_ACQUIRE(1, "door", DOOR_TTL, 60000);
    RUN_MS(1500);
    RELEASE(0);
    const uint64_t until = CLIENT_NOW(0) + wait_ms * 1000;
    ACQUIRE_WAIT(0, "door", DOOR_TTL, wait_ms);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    TAP_CHECK(CLIENT_NOW(0) <= until + 2 * round_ms * 1000 + 5000, "it ends %lld us after its time",
              (long long)(CLIENT_NOW(0) - until));
}

TEST(a_client_that_stands_aside_waits_no_longer_for_it)
{
    for (uint32_t wait_ms = 1; wait_ms <= 1024; wait_ms *= 2) {
        stand_aside(1, wait_ms);
        stand_aside(300, wait_ms);
    }
}

TAP_MAIN
