/* Random bytes. Tests what waits for them, and what becomes of an operation when none come. */
#include "../../../redlock/random.h"
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

static void expect_other_lock_works(struct cluster *cluster)
{
    START_ACQUIRE_LOCK(0, 1, "gate", DOOR_TTL, 10000);
    UNTIL_LOCK_DONE(0, 1);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
    CHECK_INT(cluster_release(cluster, 0, 1), REDLOCK_OK);
    UNTIL_LOCK_DONE(0, 1);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
    RUN_MS(1);
    EXPECT_KEY_ABSENT_ON_ALL("gate");
}

TEST(without_random_bytes_no_attempt_begins_and_with_them_it_goes_on)
{
    CLUSTER_COLD(3, 1, (void)0);
    struct redlock r;
    struct redlock_node nodes[3];
    static uint64_t memory[REDLOCK_MEMORY_DEFAULT(3) / 8 + 1];
    struct redlock_lock lock;
    const struct redlock_request request = story_request("door", DOOR_TTL, 5000);
    CHECK_INT(redlock_init(&r, NULL, nodes, 3, memory, sizeof memory, 5000000), REDLOCK_OK);
    redlock_lock_init(&lock);
    CHECK(redlock_entropy_wanted(&r) > 0);
    CHECK_INT(redlock_start_acquire(&r, &lock, &request, 5000000), REDLOCK_OK);
    CHECK_INT(redlock_lock_status(&lock), REDLOCK_PENDING);
    redlock_add_entropy(&r, "123", 3);
    CHECK_INT(redlock_entropy_wanted(&r), REDLOCK_ENTROPY_MAX - 3);
    redlock_add_entropy(&r, "123456789012345678901234567890123456789", 2 * REDLOCK_TOKEN_SIZE);
    CHECK_INT(redlock_entropy_wanted(&r), 0);
    CHECK_INT(redlock_wake_at(&r), 5000000);
    redlock_forget(&r, &lock);
}

TEST(an_attempt_waits_for_random_bytes)
{
    CLUSTER(3);
    cluster->clients[0].starved = true;
    unsigned attempts = 0;
    for (unsigned i = 0; i < 20; i++) { /* Bytes that were given before are used up. */
        START_ACQUIRE(0, "door", DOOR_TTL, REDLOCK_FOREVER);
        RUN_MS(5);
        if (redlock_lock_status(LOCK(0)) == REDLOCK_PENDING) break;
        EXPECT_STATUS(0, REDLOCK_OK);
        attempts++;
        RELEASE(0);
        RUN_MS(1);
    }
    CHECK(attempts > 0 && attempts <= REDLOCK_ENTROPY_MAX / REDLOCK_TOKEN_SIZE);
    CHECK(redlock_entropy_wanted(ENGINE(0)) > 0);
    CHECK_INT(CALLS(0, "SET"), attempts);
    cluster->clients[0].starved = false;
    RUN_MS(1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
    expect_other_lock_works(cluster);
}

TEST(random_bytes_that_never_come_end_the_operation_with_a_status_of_their_own)
{
    CLUSTER(3);
    cluster->clients[0].starved = true;
    for (unsigned i = 0; i < 20 && redlock_lock_status(LOCK(0)) != REDLOCK_NO_ENTROPY; i++) {
        ACQUIRE(0, "door", DOOR_TTL);
        if (VALID_US(0) > 0) RELEASE(0);
        RUN_MS(1);
    }
    EXPECT_STATUS(0, REDLOCK_NO_ENTROPY);
    RUN_MS(10);
    CHECK(IDLE(0));
}

static void starve(struct cluster *cluster)
{
    cluster->clients[0].starved = true;
    for (unsigned i = 0; i < 20; i++) {
        START_ACQUIRE(0, "door", DOOR_TTL, REDLOCK_FOREVER);
        RUN_MS(5);
        if (redlock_lock_status(LOCK(0)) == REDLOCK_PENDING) return;
        RELEASE(0);
        RUN_MS(1);
    }
    TAP_CHECK(false, "20 attempts without new random bytes");
}

TEST(a_lock_that_waits_for_random_bytes_can_be_cancelled_forgotten_and_moved)
{
    for (unsigned i = 0; i < 3; i++) {
        CLUSTER(3);
        starve(cluster);
        TAP_CONTEXT("case %u", i);
        if (i == 0) cluster_cancel(cluster, 0, 0);
        if (i == 1) cluster_forget(cluster, 0, 0);
        if (i == 2) cluster_move(cluster, 0, 2, 0);
        cluster->clients[0].starved = false;
        RUN_MS(100);
        if (i == 0) EXPECT_STATUS(0, REDLOCK_CANCELLED);
        if (i == 2) EXPECT_LOCK_STATUS(0, 2, REDLOCK_OK);
        EXPECT_KEYS("door", i == 2 ? 3 : 0);
        expect_other_lock_works(cluster);
    }
}

TEST(random_bytes_for_one_token_are_enough_to_go_on)
{
    CLUSTER(3);
    starve(cluster);
    for (unsigned i = 0; i < REDLOCK_TOKEN_SIZE && redlock_lock_status(LOCK(0)) == REDLOCK_PENDING;
         i++) {
        const uint8_t byte = (uint8_t)cluster_random(cluster);
        redlock_add_entropy(ENGINE(0), &byte, 1);
        RUN_MS(1);
    }
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(an_attempt_that_waited_for_random_bytes_ends_at_once_where_no_node_can_be_asked)
{
    CLUSTER(3);
    starve(cluster);
    cluster_cancel(cluster, 0, 0);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    for (unsigned k = 0; k < 3; k++) cluster_cut(cluster, 0, k, false);
    RUN_MS(100);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    cluster->clients[0].starved = false;
    RUN_MS(1);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
}

TEST(more_random_bytes_than_wanted_are_ignored)
{
    CLUSTER(3);
    uint8_t bytes[2 * REDLOCK_ENTROPY_MAX] = { 0 };
    CHECK(redlock_entropy_wanted(ENGINE(0)) <= REDLOCK_ENTROPY_MAX);
    redlock_add_entropy(ENGINE(0), bytes, sizeof bytes);
    CHECK_INT(redlock_entropy_wanted(ENGINE(0)), 0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(random_bytes_come_one_by_one_as_well)
{
    CLUSTER(3);
    cluster->clients[0].starved = true;
    for (unsigned i = 0; i < 200; i++) {
        const uint8_t byte = (uint8_t)cluster_random(cluster);
        redlock_add_entropy(ENGINE(0), &byte, 1);
    }
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* ---- The store itself ---- */

TEST(random_bytes_that_do_not_fit_in_the_store_are_left_out)
{
    uint8_t bytes[2 * REDLOCK_ENTROPY_MAX];
    struct redlock r = { .dice = 1 };
    for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i + 1);
    store_random(&r, bytes, REDLOCK_TOKEN_SIZE);
    store_random(&r, bytes + REDLOCK_TOKEN_SIZE, sizeof bytes - REDLOCK_TOKEN_SIZE);
    CHECK_INT(r.entropy_size, REDLOCK_ENTROPY_MAX);
    CHECK_INT(memcmp(r.entropy, bytes, REDLOCK_ENTROPY_MAX), 0);
}

TEST(s6_random_bytes_that_were_drawn_are_gone)
{
    static const uint8_t nothing[REDLOCK_TOKEN_SIZE];
    uint8_t bytes[2 * REDLOCK_TOKEN_SIZE], drawn[REDLOCK_TOKEN_SIZE];
    struct redlock r = { .dice = 1 };
    memset(bytes, 'x', sizeof bytes);
    store_random(&r, bytes, sizeof bytes);
    CHECK(draw_token(&r, drawn));
    CHECK_INT(memcmp(drawn, bytes, sizeof drawn), 0);
    CHECK_INT(memcmp(r.entropy, bytes, sizeof drawn), 0);
    CHECK_INT(memcmp(r.entropy + sizeof drawn, nothing, sizeof nothing), 0);
    CHECK(draw_random(&r, drawn, sizeof drawn));
    CHECK_INT(memcmp(r.entropy, nothing, sizeof nothing), 0);
    CHECK(!draw_random(&r, drawn, 1));
}

TEST(random_bytes_for_a_token_are_as_many_as_it_has)
{
    uint8_t token[REDLOCK_TOKEN_SIZE] = { 0 };
    struct redlock r = { .dice = 1 };
    store_random(&r, token, REDLOCK_TOKEN_SIZE - 1);
    CHECK(!draw_token(&r, token));
    store_random(&r, token, 1);
    CHECK(draw_token(&r, token));
}

TAP_MAIN
