/* Mistakes of other libraries, one test each, named after the rule that we keep. The comment names
 * the library that made it. Here are those that show without real servers and
 * without the command. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000, ROUND_US = 2 * CLUSTER_DELAY_US };

/* npm redlock 5 beta has an even split (1:1 of 2, 2:2 of 4) that never ends. */
static void split(unsigned n, unsigned refusing)
{
    CLUSTER(n);
    TAP_CONTEXT("%u of %u nodes refuse", refusing, n);
    for (unsigned k = 0; k < refusing; k++) RIVAL(k, "door", DOOR_TTL);
    const uint64_t before = CLIENT_NOW(0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, n - refusing >= n / 2 + 1 ? REDLOCK_OK : REDLOCK_TAKEN);
    /* The second round trip asks for the holder's TTL. */
    CHECK(CLIENT_NOW(0) - before <= 2 * ROUND_US);
}

TEST(every_split_of_every_number_of_nodes_ends_as_soon_as_it_is_certain)
{
    for (unsigned n = 1; n <= REDLOCK_NODES_MAX; n++)
        for (unsigned refusing = 0; refusing <= n; refusing++) split(n, refusing);
}

/* npm redlock with a TTL of 300 ms and slow nodes gives a lock that expired 359 ms ago. */
TEST(a_win_is_held_against_the_clock_and_too_late_is_lost_and_released)
{
    CLUSTER(3);
    DELAY_ALL_US(330000);
    ACQUIRE(0, "door", 300);
    CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
    EXPECT_NOT_HELD(0);
    RUN_MS(331);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* npm redlock #299, #169: validity counted from the first attempt's start. */
TEST(the_start_is_taken_anew_for_each_attempt)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 800);
    ACQUIRE_WAIT(0, "door", 1000, 5000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(VALID_US(0), 1000000 - ROUND_US - 10000 - 2000);
}

/* npm redlock keeps the keys of a failed attempt until the last retry, and they block
 * the next ones. */
TEST(a_lost_attempt_is_released_before_the_next_and_does_not_block_it)
{
    CLUSTER(3);
    RIVAL(0, "door", 150); RIVAL(1, "door", 150);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 3000);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_GRANTED);
    EXPECT_KEYS("door", 3);
}

/* npm redlock #168 has one error for a lock that is held, one that is expired and nodes
 * that are unreachable. */
TEST(taken_unreachable_and_ended_are_different_statuses)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 500);
    ACQUIRE(0, "door", 1000);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(1000);
    ACQUIRE(0, "door", 1000);
    RUN_MS(2000);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    DOWN(0); DOWN(1);
    RUN_MS(10);
    ACQUIRE(0, "door", 1000);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
}

/* npm redlock #282 burns the whole retry time to release an expired lock. */
TEST(the_release_of_an_ended_lock_answers_at_once_even_when_all_nodes_hang)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    STALL(0); STALL(1); STALL(2);
    RUN_MS(2000);
    const uint64_t before = CLIENT_NOW(0);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    CHECK_INT(CLIENT_NOW(0), before);
}

/* npm redlock #195 says "no quorum" for ever if the lock's name is also a data key's. */
TEST(a_key_without_a_ttl_is_told_apart_from_a_lock_and_from_a_dead_node)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(redlock_view_lock(LOCK(0)).free_in_ms, REDLOCK_FOREVER);
}

/* redlock-universal: a failed acquire with one slow node leaves an orphan for the whole TTL. */
TEST(the_late_grants_of_a_lost_attempt_are_released)
{
    CLUSTER(5);
    RIVAL(0, "door", DOOR_TTL); RIVAL(1, "door", DOOR_TTL); RIVAL(2, "door", DOOR_TTL);
    DELAY_US(4, 300000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(700);
    CHECK_INT(CALLS(4, "SET"), 1);
    EXPECT_KEY_ABSENT(4, "door");
}

/* redlock-universal and redlock-cpp always wait for the slowest node, for a paused one 2.6 s. */
TEST(nobody_waits_for_the_slowest_node)
{
    CLUSTER(5);
    DELAY_US(3, 400000);
    STALL(4);
    uint64_t before = CLIENT_NOW(0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(CLIENT_NOW(0) - before, ROUND_US);
    before = CLIENT_NOW(0);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(CLIENT_NOW(0) - before, ROUND_US);
    before = CLIENT_NOW(0);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(CLIENT_NOW(0) - before, ROUND_US);
}

TEST(a_refused_connection_delays_no_verdict)
{
    CLUSTER_COLD(5, 1, (void)0);
    DOWN(3); DOWN(4);
    RUN_MS(3333);
    for (unsigned i = 0; i < 50; i++) {
        const uint64_t before = CLIENT_NOW(0);
        ACQUIRE(0, "door", DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        CHECK_INT(CLIENT_NOW(0) - before, ROUND_US);
        RELEASE(0);
        RUN_MS(77);
    }
}

/* redlock-universal: the clock is read after the replies, and the holder believes for longer than
 * the nodes keep. */
TEST(the_clock_is_read_before_the_first_byte_leaves)
{
    CLUSTER(3);
    DELAY_ALL_US(100000);
    const uint64_t before = CLIENT_NOW(0);
    ACQUIRE(0, "door", 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(CLIENT_NOW(0) + VALID_US(0), before + 1000000 - 10000 - 2000);
}

/* redlock-py and redlock-rb #60, #129 raise for one dead node of three although there is a quorum,
 * and leak the key. */
TEST(one_dead_node_of_three_harms_no_operation)
{
    for (unsigned dead = 0; dead < 3; dead++) {
        CLUSTER_COLD(3, 1, (void)0);
        DOWN(dead);
        ACQUIRE(0, "door", DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        RELEASE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(1);
        EXPECT_KEY_ABSENT_ON_ALL("door");
    }
}

/* redlock-py PR 6 and redlock-cpp count the quorum from the connected nodes, and
 * two clients win. */
TEST(the_quorum_is_that_of_the_configured_nodes)
{
    CLUSTER_COLD(5, 2, (void)0);
    DOWN(0);
    cluster_cut(cluster, 0, 3, false); cluster_cut(cluster, 0, 4, false);
    cluster_cut(cluster, 1, 1, false); cluster_cut(cluster, 1, 2, false);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    START_ACQUIRE(1, "door", DOOR_TTL, 0);
    UNTIL_DONE(0); UNTIL_DONE(1);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_STATUS(1, REDLOCK_NO_QUORUM);
}

/* redlock-py PR 3 and redsync #37 add the drift to the validity. */
TEST(the_validity_is_always_less_than_the_ttl_and_shrinks_with_time_and_drift)
{
    for (unsigned i = 0; i < 200; i++) {
        CLUSTER_OF(3, 1, config.drift_ppm = i * 997 % REDLOCK_DRIFT_PPM_MAX);
        const uint32_t ttl_ms = 100 + i * i % 29000;
        ACQUIRE(0, "door", ttl_ms);
        EXPECT_STATUS(0, REDLOCK_OK);
        const uint64_t at_first = VALID_US(0);
        const uint64_t drift_us = ((uint64_t)ttl_ms * config.drift_ppm + 999) / 1000 + 2000;
        CHECK_INT(at_first, (uint64_t)ttl_ms * 1000 - ROUND_US - drift_us);
        RUN_US(5000);
        CHECK_INT(VALID_US(0), at_first - 5000);
    }
}

/* redlock-cpp: a restarted server is never reconnected. */
TEST(a_server_that_comes_back_is_connected_again)
{
    CLUSTER_OF(3, 1, config.guard_ms = 0);
    DOWN(0); DOWN(1); DOWN(2);
    RUN_MS(60000);
    UP(0); UP(1); UP(2);
    RUN_MS(5000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEYS("door", 3);
}

/* redlock-cpp: the clock in whole seconds overflows an int. */
TEST(times_beyond_any_int_are_no_trouble)
{
    CLUSTER(3);
    CLIENT_CLOCK_STEPS_MS(0, INT64_C(100) * 365 * 86400 * 1000);
    RUN_MS(1000);
    ACQUIRE(0, "door", REDLOCK_GUARD_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(VALID_US(0), 30000000 - ROUND_US - 300000 - 2000);
    EXTEND(0, REDLOCK_GUARD_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* redis-plus-plus: extend says "still yours" after all keys were taken by another. */
TEST(extend_counts_confirmations_only)
{
    for (unsigned stolen = 0; stolen <= 3; stolen++) {
        CLUSTER(3);
        cluster->no_promise = true;
        ACQUIRE(0, "door", DOOR_TTL);
        RUN_MS(1);
        for (unsigned k = 0; k < stolen; k++) RIVAL(k, "door", DOOR_TTL);
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, stolen < 2 ? REDLOCK_OK : REDLOCK_TAKEN);
        for (unsigned k = 0; k < stolen; k++) EXPECT_RIVAL_KEY(k, "door");
    }
}

/* redsync #186 holds 3 of 5, one restarts empty, and a rival takes 3, so there are two holders. */
TEST(a_node_that_lost_its_memory_helps_no_rival_while_the_lock_may_be_held)
{
    CLUSTER_COLD(5, 2, (void)0);
    cluster_cut(cluster, 0, 3, false);
    cluster_cut(cluster, 0, 4, false);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", REDLOCK_GUARD_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    DOWN(2); UP(2);
    ACQUIRE_WAIT(1, "door", REDLOCK_GUARD_MS, 29000);
    EXPECT_STATUS(1, REDLOCK_TIMEOUT);
    EXPECT_HELD(0);
}

/* redsync PR 151 healed by SET NX, and then released a good lock on one node's error. */
TEST(an_error_of_one_node_never_releases_a_lock)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    ANSWERS(2, "EVALSHA", "-ERR strange\r\n");
    for (unsigned i = 0; i < 5; i++) {
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(2000);
    }
    EXPECT_HELD(0);
    EXPECT_KEYS("door", 2 + (cluster_key(cluster, 2, "door") != NULL));
    CHECK_INT(CALLS(0, "RELEASE"), 0);
    CHECK_INT(CALLS(1, "RELEASE"), 0);
}

/* redsync #72 held an expired lock for valid, because extend did not look at the clock. */
TEST(an_extension_looks_at_the_clock)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    RUN_MS(800);
    DELAY_ALL_US(190000);
    EXTEND(0, 200);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_NOT_HELD(0);
}

/* redsync #81, #107: unlock says "false, no error" or "already taken". */
TEST(a_release_tells_for_each_node_whether_it_was_confirmed)
{
    CLUSTER(5);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    RIVAL(1, "door", DOOR_TTL);
    REMOVE_KEYS(2);
    DELAY_US(0, 50); DELAY_US(1, 50); DELAY_US(2, 50);
    START_RELEASE(0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_REFUSED);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_REFUSED);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 3);
}

TEST(a_release_that_finds_a_quorum_gone_says_lost)
{
    CLUSTER(3);
    cluster->no_promise = true;
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    REMOVE_KEYS(1); REMOVE_KEYS(2);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    RUN_MS(1);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* redsync #98 leaves the lock of a cancelled caller until its TTL. */
TEST(a_cancelled_acquire_is_released_everywhere)
{
    CLUSTER(5);
    DELAY_US(3, 5000); DELAY_US(4, 9000);
    START_ACQUIRE(0, "door", DOOR_TTL, 1000);
    RUN_US(CLUSTER_DELAY_US); /* Executed on three nodes, on its way to two. */
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_CANCELLED);
    EXPECT_NOT_HELD(0);
    RUN_MS(30);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK_INT(CALLS(4, "SET"), 1);
    CHECK(IDLE(0));
}

/* redsync with redigo ignores its own timeout, and takes 1.6 s on a paused node. */
TEST(an_attempt_ends_within_the_node_timeout_whatever_the_nodes_do)
{
    for (unsigned i = 0; i < 4; i++) {
        CLUSTER(3);
        TAP_CONTEXT("case %u", i);
        for (unsigned k = 0; k < 3; k++) {
            if (i == 0) STALL(k);
            if (i == 1) HANG(k);
            if (i == 2) DEAFEN(k);
            if (i == 3) DELAY_US(k, 2000000);
        }
        const uint64_t before = CLIENT_NOW(0);
        ACQUIRE(0, "door", DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
        CHECK(CLIENT_NOW(0) - before <= REDLOCK_NODE_TIMEOUT_MS * 1000);
    }
}

TEST(a_wait_ends_within_the_time_to_wait_and_a_node_timeout)
{
    for (unsigned hung = 0; hung <= 3; hung++) {
        CLUSTER(3);
        TAP_CONTEXT("%u hung", hung);
        RIVAL_ON_ALL("door", 60000);
        for (unsigned k = 0; k < hung; k++) HANG(k);
        const uint64_t before = CLIENT_NOW(0);
        ACQUIRE_WAIT(0, "door", DOOR_TTL, 2345);
        EXPECT_STATUS(0, REDLOCK_TIMEOUT);
        CHECK(CLIENT_NOW(0) - before <= (2345 + REDLOCK_NODE_TIMEOUT_MS) * 1000);
    }
}

/* redlock-rb, aioredlock and RedLock.net create a lock that was lost by "extend". */
TEST(an_extension_creates_nothing)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    cluster->no_promise = true;
    for (unsigned k = 0; k < 3; k++) REMOVE_KEYS(k);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(1000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* RedLock.net PR 64 and Redisson #7272 race unlock with the renewal, and the key stays. */
TEST(a_release_during_an_extension_wins)
{
    for (unsigned after_us = 0; after_us <= ROUND_US; after_us += 50) {
        CLUSTER(3);
        TAP_CONTEXT("%u us after the extension", after_us);
        DELAY_US(1, 250); DELAY_US(2, 3000);
        ACQUIRE(0, "door", DOOR_TTL);
        RUN_MS(10);
        START_EXTEND(0, DOOR_TTL);
        RUN_US(after_us);
        START_RELEASE(0);
        EXPECT_NOT_HELD(0);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        EXPECT_NOT_HELD(0);
        RUN_MS(20);
        EXPECT_NOT_HELD(0);
        EXPECT_KEY_ABSENT_ON_ALL("door");
        for (unsigned k = 0; k < 3; k++)
            CHECK_STR(NODE(k)->calls[NODE(k)->call_count - 1].name, "RELEASE");
    }
}

/* RedLock.net #68 renews orphan locks for days. */
TEST(the_number_of_extensions_is_limited_where_the_caller_says_so)
{
    CLUSTER(3);
    struct redlock_request request = story_request("door", 1000, 0);
    request.extension_limit = 10;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    unsigned count = 0;
    while (cluster_extend(cluster, 0, 0, 1000) == REDLOCK_OK) {
        UNTIL_DONE(0);
        RUN_MS(500);
        CHECK(++count <= 10);
    }
    CHECK_INT(count, 10);
    RUN_MS(1000);
    EXPECT_NOT_HELD(0);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* RedLock.net #93 and Redisson #4698 do not report the loss. DistributedLock reports it up to a
 * tenth of the TTL late. */
TEST(the_loss_is_told_no_later_than_the_validity_ends_counted_from_the_start_of_the_round)
{
    CLUSTER(3);
    DELAY_ALL_US(50000);
    ACQUIRE(0, "door", 3000);
    RUN_MS(1000);
    const uint64_t started_at = CLIENT_NOW(0);
    EXTEND(0, 3000);
    const uint64_t end = started_at + 3000000 - 30000 - 2000;
    STALL(0); STALL(1); STALL(2);
    while (redlock_valid_us(LOCK(0), CLIENT_NOW(0)) > 0) {
        CHECK(CLIENT_NOW(0) < end);
        RUN_MS(7);
    }
    CHECK(CLIENT_NOW(0) >= end);
    CHECK_INT(redlock_valid_us(LOCK(0), end), 0);
    CHECK_INT(redlock_valid_us(LOCK(0), end - 1), 1);
}

/* Redisson RedLock #624, #2172 has several holders for some mixes of wait and lease times. */
static void contend(uint32_t ttl_ms, uint32_t wait_ms, uint64_t delay_us)
{
    CLUSTER_OF(3, 3, (void)0);
    unsigned wins = 0;
    TAP_CONTEXT("TTL %u ms, wait %u ms, delay %u us", (unsigned)ttl_ms, (unsigned)wait_ms,
                (unsigned)delay_us);
    DELAY_ALL_US(delay_us);
    for (unsigned i = 0; i < 300; i++) { /* The cluster watches that no two hold. */
        for (unsigned c = 0; c < 3; c++) {
            if (redlock_lock_status(LOCK(c)) == REDLOCK_PENDING || VALID_US(c) > 0) continue;
            wins += redlock_lock_status(LOCK(c)) == REDLOCK_OK;
            (void)story_acquire(cluster, c, 0, "door", ttl_ms, wait_ms);
        }
        RUN_MS(20);
    }
    CHECK(wins > 0);
}

TEST(no_mix_of_waits_and_ttls_makes_two_holders)
{
    static const uint32_t ttls[] = { 50, 200, 1000 },
                          waits[] = { 0, 1, 100, 1000, REDLOCK_FOREVER };
    const size_t step = tap_sample() > 1 ? 3 : 1;
    for (size_t t = 0; t < 3; t++)
        for (size_t w = t % step; w < 5; w += step) {
            contend(ttls[t], waits[w], 100);
            contend(ttls[t], waits[w], 5000);
        }
}

/* glasslion/redlock #14 never tries with retries = 0. */
TEST(a_wait_of_nothing_is_exactly_one_attempt)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(1);
    RIVAL_ON_ALL("door", DOOR_TTL);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(5000);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(CALLS(k, "SET"), 2);
}

/* Others sleep after the last try. */
TEST(there_is_no_sleep_after_the_last_attempt)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 1000);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    const struct model_call *last = NULL;
    for (size_t i = 0; i < NODE(0)->call_count; i++)
        if (strcmp(NODE(0)->calls[i].name, "SET") == 0) last = &NODE(0)->calls[i];
    CHECK(last && cluster_node_now(cluster, 0) - last->at_us <= 2 * ROUND_US);
}

/* redis-py #3847 clears the token before the release's round trip, and a failed release
 * cannot be repeated. */
TEST(the_token_is_kept_until_the_release_is_confirmed)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    for (unsigned k = 0; k < 3; k++) cluster_cut(cluster, 0, k, false);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 0);
    EXPECT_KEYS("door", 3);
    HEAL_ALL;
    RUN_MS(5000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* redis-py #629 lets extend add to the TTL without bound. */
TEST(an_extension_sets_the_ttl_and_does_not_add_to_it)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    for (unsigned i = 0; i < 20; i++) EXTEND(0, DOOR_TTL);
    CHECK(VALID_US(0) < DOOR_TTL * 1000);
    RUN_MS(DOOR_TTL + 10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* rslock: retries without a pause, burning a CPU. */
TEST(a_waiting_acquire_sleeps_between_its_attempts)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 10000);
    CHECK(CALLS(0, "SET") < 200);
    CHECK(cluster->clients[0].tick_count < 1000);
}

TEST(an_idle_engine_sleeps)
{
    CLUSTER(5);
    ACQUIRE(0, "door", DOOR_TTL);
    RELEASE(0);
    RUN_MS(1000);
    const uint64_t ticks = cluster->clients[0].tick_count;
    const size_t calls = NODE(0)->call_count;
    RUN_MS(3600000);
    CHECK(cluster->clients[0].tick_count - ticks <= 10);
    CHECK_INT(NODE(0)->call_count, calls);
}

/* rslock: unsigned underflow of the validity. */
TEST(no_ttl_that_the_drift_eats_is_taken)
{
    CLUSTER_OF(3, 1, config.drift_ppm = REDLOCK_DRIFT_PPM_MAX);
    struct redlock_request request = story_request("door", 1, 0);
    for (uint32_t ttl_ms = 1; ttl_ms <= 4; ttl_ms++) { /* Half of it, and two milliseconds. */
        request.ttl_ms = ttl_ms;
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_TTL);
    }
    ACQUIRE(0, "door", 5);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(VALID_US(0), 500 - ROUND_US);
}

/* redis-plus-plus #24 takes 0 ms left for held. */
TEST(nothing_left_is_not_held)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    const uint64_t end = CLIENT_NOW(0) + VALID_US(0);
    CHECK_INT(redlock_valid_us(LOCK(0), end - 1), 1);
    CHECK_INT(redlock_valid_us(LOCK(0), end), 0);
    CHECK_INT(redlock_valid_us(LOCK(0), end + 1), 0);
    CHECK_INT(redlock_valid_us(LOCK(0), UINT64_MAX), 0);
}

/* pottery and redsync's fail-fast send the release on another connection while the SET is in
 * flight, and the late SET wins. */
TEST(the_release_goes_behind_its_acquire_on_the_same_connection)
{
    CLUSTER(3);
    HANG(2);
    RIVAL(0, "door", DOOR_TTL); RIVAL(1, "door", DOOR_TTL);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(1);
    RESUME(2);
    RUN_MS(1);
    CHECK_INT(LINK(0, 2)->connect_count, 1);
    CHECK_INT(CALLS(2, "SET"), 1);
    CHECK_INT(CALLS(2, "RELEASE"), 1);
    EXPECT_KEY_ABSENT(2, "door");
}

/* redlock-fifo: 65 SETs a node for an uncontended lock. */
TEST(an_uncontended_lock_costs_one_command_a_node)
{
    CLUSTER(5);
    const size_t before = NODE(0)->call_count;
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    for (unsigned k = 0; k < 5; k++) CHECK_INT(NODE(k)->call_count, before + 1);
    RELEASE(0);
    RUN_MS(1);
    for (unsigned k = 0; k < 5; k++) CHECK_INT(NODE(k)->call_count, before + 2);
}

/* kvz/cronlock PR 11 leaves the lock of a killed client for 24 h. */
TEST(a_client_that_dies_costs_one_ttl)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", 5000);
    cluster_client_dies(cluster, 0);
    const uint64_t before = CLIENT_NOW(1);
    ACQUIRE_WAIT(1, "door", 5000, 20000);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(CLIENT_NOW(1) - before <= 6000000);
}

/* Redisson's fair lock #1104 lets dead waiters block. */
TEST(a_client_that_dies_while_it_waits_blocks_nobody)
{
    for (unsigned at_us = 0; at_us < 1000; at_us += 37) {
        CLUSTER_OF(3, 3, (void)0);
        TAP_CONTEXT("after %u us", at_us);
        ACQUIRE(0, "door", DOOR_TTL);
        START_ACQUIRE(1, "door", 1000, 20000);
        RUN_US(at_us);
        cluster_client_dies(cluster, 1);
        RELEASE(0);
        ACQUIRE_WAIT(2, "door", DOOR_TTL, 3000);
        EXPECT_STATUS(2, REDLOCK_OK);
    }
}

/* many: a string script meets the hash of another library's lock and takes WRONGTYPE for
 * a dead node. */
TEST(a_lock_of_another_kind_is_told_apart_from_a_dead_node)
{
    CLUSTER(3);
    struct redlock_sight sights[3];
    for (unsigned k = 0; k < 3; k++)
        model_put(NODE(k), "door", "", 9000, cluster_node_now(cluster, k))->is_list = true;
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(10);
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    UNTIL_DONE(0);
    for (unsigned k = 0; k < 3; k++)
        CHECK(sights[k].seen && sights[k].exists && !sights[k].is_string && sights[k].has_ttl);
}

TAP_MAIN
