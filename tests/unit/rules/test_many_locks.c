/* A thousand locks in one engine, where nobody starves, nothing is reported twice, and
 * writes are shared. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000, MANY = 1000 };

static void name_of(unsigned i, char name[16])
{
    snprintf(name, 16, "lock-%u", i);
}

static void start_many(struct cluster *cluster, unsigned c, uint32_t wait_ms)
{
    char name[16];
    cluster_need_locks(cluster, c, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        name_of(i, name);
        START_ACQUIRE_LOCK(c, i, name, 30000, wait_ms);
    }
}

TEST(a_thousand_locks_in_one_engine_are_acquired_extended_and_released_at_once)
{
    CLUSTER_OF(5, 1, config.pipeline = 16; config.send_size = 900);
    start_many(cluster, 0, 0);
    RUN_MS(100);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
        CHECK_INT(cluster_extend(cluster, 0, i, 30000), REDLOCK_OK);
    }
    CHECK_INT(NODE(4)->key_count, MANY);
    RUN_MS(100);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
        CHECK_INT(cluster_release(cluster, 0, i), REDLOCK_OK);
    }
    RUN_MS(100);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
        CHECK(redlock_idle(cluster_lock(cluster, 0, i)));
    }
    for (unsigned k = 0; k < 5; k++) CHECK_INT(NODE(k)->key_count, 0);
}

TEST(many_locks_share_one_write_per_node)
{
    CLUSTER(3);
    cluster_need_locks(cluster, 0, 10);
    char name[16];
    for (unsigned i = 0; i < 10; i++) {
        name_of(i, name);
        START_ACQUIRE_LOCK(0, i, name, DOOR_TTL, 0);
    }
    size_t size;
    const uint8_t *output = redlock_output(ENGINE(0), 0, &size);
    unsigned count = 0;
    for (size_t i = 0; i + 3 <= size; i++) count += memcmp(output + i, "SET", 3) == 0;
    CHECK_INT(count, 10);
}

TEST(a_thousand_locks_that_are_all_taken_cost_no_more_than_their_attempts)
{
    CLUSTER_OF(3, 1, config.pipeline = 8);
    char name[16];
    for (unsigned i = 0; i < MANY; i++) {
        name_of(i, name);
        RIVAL(0, name, 60000);
        RIVAL(1, name, 60000);
    }
    start_many(cluster, 0, 0);
    RUN_MS(1000);
    for (unsigned i = 0; i < MANY; i++) EXPECT_LOCK_STATUS(0, i, REDLOCK_TAKEN);
    CHECK_INT(NODE(2)->key_count, 0);
}

/* Node 2 refuses it first. The question waits behind as many commands as the node may
 * owe answers to. */
TEST(a_lock_that_is_won_is_no_longer_about_to_ask_how_long_the_holder_has_left)
{
    enum { LOCKS = 2 * REDLOCK_PIPELINE_MIN };
    char name[16];
    CLUSTER_OF(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN);
    cluster_need_locks(cluster, 0, LOCKS);
    DELAY_ALL_US(7000);
    DELAY_US(2, 5000);
    for (unsigned i = 0; i < LOCKS; i++) {
        name_of(i, name);
        if (i == 0) RIVAL(2, name, 60000);
        START_ACQUIRE_LOCK(0, i, name, DOOR_TTL, 0);
    }
    RUN_MS(100);
    for (unsigned i = 0; i < LOCKS; i++) EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
    CHECK_INT(CALLS(2, "PTTL"), 0);
}

TEST(a_thousand_locks_survive_that_a_node_is_lost_in_the_middle)
{
    CLUSTER_OF(3, 1, config.pipeline = 16);
    start_many(cluster, 0, 0);
    RUN_MS(2);
    RESET(0, 1);
    RUN_MS(1000);
    unsigned won = 0;
    for (unsigned i = 0; i < MANY; i++)
        won += redlock_lock_status(cluster_lock(cluster, 0, i)) == REDLOCK_OK;
    CHECK_INT(won, MANY); /* Two of three are enough. */
    for (unsigned i = 0; i < MANY; i++) CHECK_INT(cluster_release(cluster, 0, i), REDLOCK_OK);
    RUN_MS(5000);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(NODE(k)->key_count, 0);
}

TEST(every_lock_that_is_done_is_reported_once)
{
    CLUSTER(3);
    cluster->clients[0].keeps_done = true;
    unsigned reported[MANY] = { 0 }, total = 0;
    struct redlock_lock *done;
    start_many(cluster, 0, 0);
    for (unsigned rounds = 0; rounds < 100; rounds++) {
        RUN_MS(1);
        while ((done = redlock_next_done(ENGINE(0)))) {
            CHECK(redlock_lock_status(done) == REDLOCK_OK);
            for (unsigned i = 0; i < MANY; i++) reported[i] += done == cluster_lock(cluster, 0, i);
            total++;
        }
    }
    CHECK_INT(total, MANY);
    for (unsigned i = 0; i < MANY; i++) CHECK_INT(reported[i], 1);
}

TEST(no_lock_starves_behind_the_others)
{
    CLUSTER_OF(1, 1, config.pipeline = REDLOCK_PIPELINE_MIN);
    start_many(cluster, 0, 0);
    RUN_MS(200);
    for (unsigned i = 0; i < MANY; i++) EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
}

TAP_MAIN
