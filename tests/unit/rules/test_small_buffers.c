/* Every operation with the smallest buffers and pieces, byte by byte, and with ticks
 * at odd moments. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

static void whole_life(struct cluster *cluster)
{
    for (unsigned i = 0; i < 3; i++) {
        ACQUIRE(0, "door", DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        EXPECT_KEYS("door", cluster->node_count);
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        for (unsigned k = 0; k < cluster->node_count; k++) model_flush_scripts(NODE(k));
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        RELEASE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(1);
        EXPECT_KEY_ABSENT_ON_ALL("door");
    }
    RIVAL_ON_ALL("door", 60000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms > 59000 &&
          redlock_view_lock(LOCK(0)).free_in_ms <= 60000);
    RUN_MS(50);
    CHECK(IDLE(0));
}

static void live_in_pieces(size_t send_max, size_t receive_max, uint32_t receive_size)
{
    CLUSTER_COLD(3, 1, config.receive_size = receive_size);
    TAP_CONTEXT("sends of %zu, receives of %zu bytes, %u bytes of buffer", send_max, receive_max,
                (unsigned)receive_size);
    for (unsigned k = 0; k < 3; k++) {
        LINK(0, k)->send_max = send_max;
        LINK(0, k)->receive_max = receive_max;
        NODE(k)->replica_count = 7;
    }
    whole_life(cluster);
}

TEST(every_operation_works_at_every_size_of_the_pieces)
{
    for (size_t size = 1; size <= 64; size++) live_in_pieces(size, size, REDLOCK_RECEIVE_MIN);
    live_in_pieces(1, 0, REDLOCK_RECEIVE_SIZE);
    live_in_pieces(0, 1, REDLOCK_RECEIVE_SIZE);
    for (uint32_t size = REDLOCK_RECEIVE_MIN; size < 80; size++) live_in_pieces(0, 0, size);
}

TEST(a_send_buffer_of_the_least_size_holds_every_command)
{
    CLUSTER_COLD(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN;
                 config.send_size = REDLOCK_SEND_MIN(config.resource_max));
    char name[REDLOCK_RESOURCE_MAX + 1];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ACQUIRE(0, name, 30000);
    EXPECT_STATUS(0, REDLOCK_OK);
    for (unsigned k = 0; k < 3; k++) model_flush_scripts(NODE(k));
    EXTEND(0, 30000);
    EXPECT_STATUS(0, REDLOCK_OK);
    for (unsigned k = 0; k < 3; k++) model_flush_scripts(NODE(k));
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL(name);
}

/* Two locks at once, one with a ticket where the core has them, through a send buffer of that size
 * and sockets that take so much at a time (0: all). Nothing is loaded ahead, so that each script is
 * sent with its first use. */
static void live_twice(uint32_t send_size, size_t piece)
{
    CLUSTER_COLD(3, 1, config.resource_max = 8; config.send_size = send_size);
    const struct redlock_request ticketed = {
        .resource = "gate", .resource_size = 4, .ttl_ms = DOOR_TTL, .ticket = true
    };
    for (unsigned k = 0; k < 3; k++) {
        LINK(0, k)->send_max = piece;
        NODE(k)->noperm = "SCRIPT";
    }
    START_ACQUIRE_LOCK(0, 0, "door", DOOR_TTL, 0);
    CHECK_INT(cluster_acquire(cluster, 0, 1, &ticketed), REDLOCK_OK);
    UNTIL_LOCK_DONE(0, 0);
    UNTIL_LOCK_DONE(0, 1);
    RUN_MS(5);
    CHECK_INT(cluster_extend(cluster, 0, 0, DOOR_TTL), REDLOCK_OK);
    UNTIL_LOCK_DONE(0, 0);
    RUN_MS(5);
    EXPECT_LOCK_STATUS(0, 0, REDLOCK_OK);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
    CHECK_INT(cluster_release(cluster, 0, 0), REDLOCK_OK);
    CHECK_INT(cluster_release(cluster, 0, 1), REDLOCK_OK);
    UNTIL_LOCK_DONE(0, 0);
    UNTIL_LOCK_DONE(0, 1);
    RUN_MS(5);
    EXPECT_LOCK_STATUS(0, 0, REDLOCK_OK);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    EXPECT_KEY_ABSENT_ON_ALL("gate");
    CHECK(CALLS(0, "RELEASE") >= 2);
}

/* A script that does not fit is sent from where it lies; meanwhile nothing else goes out. */
TEST(a_long_script_goes_through_a_small_buffer_in_pieces_of_any_size)
{
    static const size_t pieces[] = { 0, 1, 2, 7, 423, 424, 425 };

    for (unsigned i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        TAP_CONTEXT("pieces of %zu", pieces[i]);
        live_twice(REDLOCK_SEND_MIN(8), pieces[i]);
    }
}

TEST(a_send_buffer_of_every_size_from_the_least_on_will_do)
{
    enum { ALL_FITS = 3000 };       /* The longest script and all that is sent beside it. */

    for (uint32_t size = REDLOCK_SEND_MIN(8); size < ALL_FITS && tap.complaints == 0;
         size += tap_sample()) {
        TAP_CONTEXT("%u bytes", (unsigned)size);
        live_twice(size, size % 2 == 0 ? 0 : 101);
    }
}

/* The script for one lock after the names of many others, none of which have gone out. */
TEST(a_script_waits_behind_more_than_65535_bytes)
{
    enum { OTHERS = 150, LONG = REDLOCK_RESOURCE_MAX, WINDOW = 300, PATIENCE_US = 40000 };
    /* There is thus no room for the script after them all. */
    enum { SET_SIZE = LONG + 96, SOME = 300 };
    static char names[OTHERS][LONG + 1];

    CLUSTER_COLD(1, 1, config.resource_max = LONG; config.pipeline = OTHERS + 1;
                 config.send_size = OTHERS * SET_SIZE + SOME);
    const struct redlock_node *node = &cluster->clients[0].nodes[0];
    cluster_need_locks(cluster, 0, OTHERS + 1);
    ACQUIRE(0, "door", DOOR_TTL);
    model_flush_scripts(NODE(0));
    LINK(0, 0)->window = WINDOW;
    START_EXTEND(0, DOOR_TTL);
    for (unsigned i = 0; i < OTHERS; i++) {
        memset(names[i], 'a' + (int)(i % 26), LONG);
        names[i][0] = (char)('A' + i / 26);
        START_ACQUIRE_LOCK(0, i + 1, names[i], DOOR_TTL, 0);
    }
    for (unsigned us = 0; us < PATIENCE_US && !node->apart; us++) RUN_US(1);
    CHECK(node->apart_at > UINT16_MAX);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    for (unsigned i = 1; i <= OTHERS; i++) {
        UNTIL_LOCK_DONE(0, i);
        EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
    }
}

TEST(a_socket_that_takes_little_at_a_time_is_waited_for)
{
    CLUSTER_COLD(3, 1, (void)0);
    for (unsigned k = 0; k < 3; k++) LINK(0, k)->window = 7;
    whole_life(cluster);
}

TEST(ticks_at_odd_moments_do_no_harm)
{
    CLUSTER_COLD(3, 1, (void)0);
    cluster->restless = true;
    whole_life(cluster);
}

TEST(a_clock_preferred_to_the_bytes_does_no_harm)
{
    CLUSTER_COLD(3, 1, (void)0);
    cluster->clients[0].ticks_first = true;
    whole_life(cluster);
}

TEST(answers_that_overtake_each_other_between_nodes_do_no_harm)
{
    CLUSTER_COLD(5, 1, (void)0);
    for (unsigned k = 0; k < 5; k++) LINK(0, k)->jitter_us = 20000;
    for (unsigned i = 0; i < 50; i++) {
        ACQUIRE(0, "door", DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        RELEASE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(200);
        EXPECT_KEY_ABSENT_ON_ALL("door");
    }
}

TAP_MAIN
