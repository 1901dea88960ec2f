/* The rules of safety, S1 to S16 without S15, each told as stories of virtual time. Known
 * only from redlock.h. */
#include "../../world/story.h"

#include "../../../redlock/wire.h"

enum { DOOR_TTL = 10000, ROUND_US = 2 * CLUSTER_DELAY_US };

static unsigned bits(unsigned mask)
{
    unsigned count = 0;
    for (; mask > 0; mask >>= 1) count += mask & 1;
    return count;
}

/* ---- S1: the quorum is N/2+1 of the configured nodes ---- */

TEST(s1_the_quorum_is_half_of_the_nodes_rounded_down_and_one)
{
    static const unsigned quorums[] = { 0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8 };
    for (unsigned n = 1; n <= REDLOCK_NODES_MAX; n++) CHECK_INT(redlock_quorum(n), quorums[n]);
}

/* The first dead_count nodes are down from the beginning. */
static void acquire_with_dead(unsigned n, unsigned dead_count, enum redlock_status expected)
{
    CLUSTER_COLD(n, 1, (void)0);
    for (unsigned k = 0; k < dead_count; k++) DOWN(k);
    TAP_CONTEXT("%u of %u nodes down", dead_count, n);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, expected);
    RUN_MS(10);
    EXPECT_KEYS("door", expected == REDLOCK_OK ? n - dead_count : 0);
}

TEST(s1_every_number_of_nodes_wins_with_a_quorum_alive_and_loses_with_one_less)
{
    for (unsigned n = 1; n <= REDLOCK_NODES_MAX; n++) {
        acquire_with_dead(n, n - (n / 2 + 1), REDLOCK_OK);
        acquire_with_dead(n, n - n / 2, REDLOCK_NO_QUORUM);
    }
}

static void acquire_with_mask(unsigned n, unsigned mask, bool hung)
{
    CLUSTER_COLD(n, 1, (void)0);
    const enum redlock_status expected =
        n - bits(mask) >= n / 2 + 1 ? REDLOCK_OK : REDLOCK_NO_QUORUM;
    if (hung) RUN_MS(STORY_SETTLE_MS);
    for (unsigned k = 0; k < n; k++) {
        if (mask >> k & 1 && hung)
            STALL(k);
        else if (mask >> k & 1)
            DOWN(k);
    }
    TAP_CONTEXT("%u nodes, of which %s: mask %x", n, hung ? "hang" : "are down", mask);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, expected);
    CHECK_INT(VALID_US(0) > 0, expected == REDLOCK_OK);
    RUN_MS(1);
    for (unsigned k = 0; k < n; k++) {
        const bool is_dead = mask >> k & 1;
        if (is_dead)
            CHECK(redlock_vote_of(LOCK(0), k) != REDLOCK_VOTE_GRANTED);
        else if (expected == REDLOCK_OK)
            EXPECT_VOTE(0, k, REDLOCK_VOTE_GRANTED);
        CHECK_INT(cluster_key(cluster, k, "door") != NULL, expected == REDLOCK_OK && !is_dead);
    }
}

TEST(s1_every_mask_of_dead_nodes_wins_exactly_when_a_quorum_is_alive)
{
    for (unsigned n = 1; n <= 7; n++)
        for (unsigned mask = 0; mask < 1u << n; mask++) acquire_with_mask(n, mask, false);
}

TEST(s1_every_mask_of_hung_nodes_wins_exactly_when_a_quorum_answers)
{
    for (unsigned n = 1; n <= 7; n++)
        for (unsigned mask = 0; mask < 1u << n; mask++) acquire_with_mask(n, mask, true);
}

TEST(s1_clients_that_reach_different_minorities_do_not_both_win)
{
    CLUSTER_COLD(5, 2, (void)0);
    /* The first client sees 0 and 1, the second the rest. */
    for (unsigned k = 0; k < 5; k++) cluster_cut(cluster, k < 2 ? 1 : 0, k, false);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    START_ACQUIRE(1, "door", DOOR_TTL, 0);
    UNTIL_DONE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_STATUS(1, REDLOCK_OK);
}

TEST(s1_two_halves_of_an_even_number_are_no_quorum)
{
    CLUSTER(4);
    RIVAL(0, "door", DOOR_TTL);
    RIVAL(1, "door", DOOR_TTL);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(1);
    EXPECT_KEY_ABSENT(2, "door");
    EXPECT_KEY_ABSENT(3, "door");
}

/* ---- S2: validity = ttl - elapsed - drift ---- */

static void acquire_and_count(uint32_t ttl_ms, uint32_t drift_ppm, uint64_t delay_us,
                              uint64_t expected_us)
{
    for (unsigned n = 1; n <= 5; n++) {
        CLUSTER_OF(n, 1, config.drift_ppm = drift_ppm);
        DELAY_ALL_US(delay_us);
        TAP_CONTEXT("%u nodes, TTL %u ms, drift %u ppm, delay %u us", n, (unsigned)ttl_ms,
                    (unsigned)drift_ppm, (unsigned)delay_us);
        ACQUIRE(0, "door", ttl_ms);
        EXPECT_STATUS(0, expected_us > 0 ? REDLOCK_OK : REDLOCK_TOO_LATE);
        CHECK_INT(VALID_US(0), expected_us);
    }
}

TEST(s2_validity_is_the_ttl_without_elapsed_time_and_drift)
{
    acquire_and_count(10000, 10000, 1000, 10000000 - 2000 - 100000 - 2000);
    acquire_and_count(30000, 84000, 250, 30000000 - 500 - 2520000 - 2000);
    acquire_and_count(1000, 0, 1, 1000000 - 2 - 2000);
    acquire_and_count(1000, REDLOCK_DRIFT_PPM_MAX, 1, 1000000 - 2 - 500000 - 2000);
}

TEST(s2_drift_is_rounded_up)
{
    acquire_and_count(3, 1, 10, 3000 - 20 - 1 - 2000);
    acquire_and_count(7, 999, 10, 7000 - 20 - 7 - 2000);        /* 6.993 */
    acquire_and_count(29999, 9999, 10, 29999000 - 20 - 299961 - 2000); /* 299960.001 */
}

TEST(s2_a_win_with_nothing_left_is_lost_and_with_a_microsecond_left_is_won)
{
    acquire_and_count(100, 10000, 48500, 0);
    acquire_and_count(100, 9990, 48500, 1);
}

TEST(s2_a_win_that_comes_too_late_is_lost_and_released)
{
    CLUSTER(5);
    DELAY_ALL_US(60000);
    ACQUIRE(0, "door", 100);
    EXPECT_STATUS(0, REDLOCK_TOO_LATE);
    EXPECT_NOT_HELD(0);
    RUN_US(60001);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK_INT(CALLS(0, "RELEASE"), 1);
}

static void acquire_with_minimum(unsigned n)
{
    CLUSTER(n);
    TAP_CONTEXT("%u nodes", n);
    struct redlock_request request = story_request("door", 100, 0);
    request.min_validity_ms = 90;
    DELAY_ALL_US(4000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TOO_LATE);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    DELAY_ALL_US(3000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(VALID_US(0), 91000);
}

TEST(s2_less_than_the_callers_minimum_is_lost_and_released)
{
    for (unsigned n = 1; n <= 5; n++) acquire_with_minimum(n);
}

TEST(s2_a_clock_that_jumps_forward_while_answers_are_awaited_loses_the_attempt)
{
    CLUSTER(5);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    RUN_US(CLUSTER_DELAY_US);
    CLIENT_CLOCK_STEPS_MS(0, 2 * DOOR_TTL);
    UNTIL_DONE(0);
    CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
    EXPECT_NOT_HELD(0);
}

TEST(s2_a_clock_that_goes_back_while_answers_are_awaited_loses_the_attempt)
{
    CLUSTER(5);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    RUN_US(CLUSTER_DELAY_US);
    CLIENT_CLOCK_STEPS_MS(0, -1000);
    UNTIL_DONE(0);
    CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
    EXPECT_NOT_HELD(0);
    RUN_MS(5000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s2_a_clock_that_goes_back_behind_the_start_ends_the_validity)
{
    CLUSTER(5);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_HELD(0);
    CLIENT_CLOCK_STEPS_MS(0, -1);
    EXPECT_NOT_HELD(0);
}

/* Kleppmann's second schedule, in which the client sleeps while the answers wait in the kernel. */
static void sleep_before_reading(bool ticks_first)
{
    CLUSTER(5);
    cluster->clients[0].ticks_first = ticks_first;
    START_ACQUIRE(0, "door", 1000, 0);
    RUN_US(CLUSTER_DELAY_US);
    FREEZE(0);
    RUN_MS(1500);
    RIVAL_ON_ALL("door", DOOR_TTL);
    THAW(0);
    UNTIL_DONE(0);
    CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
    EXPECT_NOT_HELD(0);
}

TEST(s2_answers_that_were_read_after_the_validity_are_no_win)
{
    sleep_before_reading(false);
    sleep_before_reading(true);
}

TEST(s2_a_last_answer_that_was_read_after_the_validity_is_no_win)
{
    for (unsigned n = 1; n <= 7; n++) {
        CLUSTER(n);
        TAP_CONTEXT("%u nodes", n);
        for (unsigned k = n / 2; k < n; k++) DELAY_US(k, 2000);
        START_ACQUIRE(0, "door", 100, 0);
        RUN_MS(1);
        FREEZE(0);
        RUN_MS(97);
        THAW(0);
        UNTIL_DONE(0);
        CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
        EXPECT_NOT_HELD(0);
    }
}

/* 30 s on a clock that is 1 % fast are 29.703 s; of them 29.698 s are promised. */
TEST(s2_nodes_whose_clocks_run_fast_by_the_drift_keep_what_is_promised)
{
    CLUSTER_OF(3, 2, (void)0);
    for (unsigned k = 0; k < 3; k++) cluster_set_node_rate(cluster, k, REDLOCK_DRIFT_PPM);
    ACQUIRE(0, "door", REDLOCK_GUARD_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    ACQUIRE_WAIT(1, "door", 1000, REDLOCK_GUARD_MS);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_NOT_HELD(0);
}

TEST(s2_a_nodes_clock_that_goes_back_lengthens_no_validity)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    for (unsigned k = 0; k < 3; k++) NODE_CLOCK_STEPS_MS(k, -3600000);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(VALID_US(0) < DOOR_TTL * 1000);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s2_each_attempt_counts_from_its_own_start)
{
    CLUSTER(5);
    RIVAL_ON_ALL("door", 2000);
    ACQUIRE_WAIT(0, "door", 3000, 5000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(VALID_US(0), 3000000 - ROUND_US - 30000 - 2000);
}

/* ---- S3: only the exact answer is a grant ---- */

/* SET is executed and answered with that by a quorum of nodes. */
static void acquire_answered(const char *reply)
{
    CLUSTER(5);
    for (unsigned k = 0; k < 3; k++) DOES_BUT_ANSWERS(k, "SET", reply);
    TAP_CONTEXT("%s", reply);
    ACQUIRE(0, "door", 2000);
    CHECK(redlock_lock_status(LOCK(0)) == REDLOCK_NO_QUORUM ||
          redlock_lock_status(LOCK(0)) == REDLOCK_TAKEN);
    EXPECT_NOT_HELD(0);
    for (unsigned k = 0; k < 3; k++) CHECK(redlock_vote_of(LOCK(0), k) != REDLOCK_VOTE_GRANTED);
    RUN_MS(3000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
}

TEST(s3_only_the_exact_ok_is_a_grant)
{
    static const char *const replies[] = {
        "+QUEUED\r\n", "+ok\r\n", "+Ok\r\n", "+OK \r\n", "+ OK\r\n", "+OKAY\r\n", "+O\r\n", "+\r\n",
        "+PONG\r\n",
        "-OK\r\n", "-ERR OK\r\n", "-\r\n", ":1\r\n", ":0\r\n", ":-1\r\n", "$2\r\nOK\r\n",
        "$1\r\n1\r\n", "$0\r\n\r\n",
        "$-1\r\n", "*0\r\n", "*-1\r\n", "*1\r\n+OK\r\n", "*2\r\n+OK\r\n+OK\r\n", "_\r\n", "#t\r\n",
        ",1\r\n", "(1\r\n",
        "=6\r\ntxt:OK\r\n",
    };
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) acquire_answered(replies[i]);
}

static void extend_answered(const char *reply)
{
    CLUSTER(5);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1000);
    const uint64_t before = VALID_US(0) + CLIENT_NOW(0);
    for (unsigned k = 0; k < 3; k++) ANSWERS_ONCE(k, "EVALSHA", reply);
    TAP_CONTEXT("%s", reply);
    EXTEND(0, DOOR_TTL);
    CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
    CHECK_INT(VALID_US(0) + CLIENT_NOW(0), before);
    for (unsigned k = 0; k < 3; k++) CHECK(redlock_vote_of(LOCK(0), k) != REDLOCK_VOTE_GRANTED);
}

TEST(s3_only_the_exact_one_confirms_an_extension)
{
    static const char *const replies[] = {
        "+OK\r\n", "+1\r\n", ":2\r\n", ":0\r\n", ":-1\r\n", ":10\r\n", "$1\r\n1\r\n", "$-1\r\n",
        "*0\r\n", "*-1\r\n",
        "*1\r\n:1\r\n", "-1\r\n", ":9223372036854775807\r\n", "#t\r\n",
    };
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) extend_answered(replies[i]);
}

static void release_answered(const char *reply, bool silent)
{
    CLUSTER_OF(3, 1, config.silent = silent);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    for (unsigned k = 0; k < 3; k++) ANSWERS_ONCE(k, "EVALSHA", reply);
    TAP_CONTEXT("%s", reply);
    RELEASE(0);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 0);
    EXPECT_NOT_HELD(0);
}

TEST(s3_only_the_exact_one_confirms_a_release)
{
    static const char *const replies[] = {
        "+OK\r\n", ":3\r\n", ":0\r\n", ":-1\r\n", "$1\r\n1\r\n", "*-1\r\n", "-ERR no\r\n",
    };
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++)
        release_answered(replies[i], false);
}

TEST(s3_that_a_waiter_was_woken_confirms_no_release_that_was_to_wake_nobody)
{
    release_answered(":2\r\n", true);
}

/* ---- S4: a timeout, a lost connection, an error is unknown ---- */

TEST(s4_a_timeout_is_unknown_and_no_grant)
{
    CLUSTER(5);
    DEAFEN(2); DEAFEN(3); DEAFEN(4);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    for (unsigned k = 2; k < 5; k++) EXPECT_VOTE(0, k, REDLOCK_VOTE_UNKNOWN);
}

TEST(s4_a_connection_lost_after_the_question_is_unknown_and_ends_the_round_at_once)
{
    CLUSTER(3);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    RUN_US(CLUSTER_DELAY_US);
    const uint64_t before = CLIENT_NOW(0);
    RESET(0, 1); RESET(0, 2);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK(CLIENT_NOW(0) - before <= ROUND_US);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_UNKNOWN);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_UNKNOWN);
    RUN_MS(5000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s4_an_error_is_unknown_and_released_like_a_grant)
{
    CLUSTER(3);
    for (unsigned k = 1; k < 3; k++) DOES_BUT_ANSWERS(k, "SET", "-ERR strange\r\n");
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_UNKNOWN);
    RUN_MS(1);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s4_an_unknown_vote_of_a_lock_that_is_held_is_released_with_the_rest)
{
    CLUSTER(3);
    DEAFEN(2);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1000);
    HEAL(2);
    RUN_MS(2000);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* ---- S5: a lost attempt is released on every node it may have reached ---- */

TEST(s5_a_lost_attempt_is_released_even_where_no_answer_came)
{
    CLUSTER(5); STALL(2); STALL(3); STALL(4);
    ACQUIRE(0, "door", DOOR_TTL);   EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    HEAL_ALL; RUN_MS(500);          EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s5_a_refused_attempt_is_released_where_it_was_granted_at_once)
{
    CLUSTER(5);
    RIVAL(0, "door", DOOR_TTL); RIVAL(1, "door", DOOR_TTL); RIVAL(2, "door", DOOR_TTL);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_US(ROUND_US);
    for (unsigned k = 0; k < 3; k++) EXPECT_RIVAL_KEY(k, "door");
    EXPECT_KEY_ABSENT(3, "door");
    EXPECT_KEY_ABSENT(4, "door");
}

TEST(s5_a_grant_that_comes_after_the_verdict_is_released)
{
    CLUSTER(3);
    RIVAL(0, "door", 5); RIVAL(1, "door", 5);
    DELAY_US(2, 50000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_PENDING);
    RUN_MS(120);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK_INT(CALLS(2, "SET"), 1);
    CHECK_INT(CALLS(2, "RELEASE"), 1);
}

TEST(s5_the_release_follows_its_acquire_on_the_same_connection)
{
    CLUSTER(3);
    HANG(1); HANG(2);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RESUME(1); RESUME(2);
    RUN_MS(1);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s5_a_debt_is_paid_when_the_node_is_reached_again)
{
    CLUSTER(5);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    RUN_US(CLUSTER_DELAY_US); /* All have executed it. */
    for (unsigned k = 2; k < 5; k++) cluster_cut(cluster, 0, k, false);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(2000);
    EXPECT_KEYS("door", 3);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 3);
    CHECK(!IDLE(0));
    HEAL_ALL;
    RUN_MS(4000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s5_a_debt_is_paid_once_more_for_an_acquire_that_arrives_after_its_release)
{
    CLUSTER(3);
    /* Bytes that leave now are under way for long, even when the connection is gone. */
    DELAY_US(1, 600000); DELAY_US(2, 600000);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    RUN_MS(100);
    DELAY_US(1, CLUSTER_DELAY_US); DELAY_US(2, CLUSTER_DELAY_US);
    cluster_reset(cluster, 0, 1, true);
    cluster_reset(cluster, 0, 2, true);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(450);
    CHECK(CALLS(1, "RELEASE") > 0);     /* Paid, */
    EXPECT_KEY_ABSENT(1, "door");
    RUN_MS(100);
    CHECK(cluster_key(cluster, 1, "door") != NULL); /* but too early. */
    RUN_MS(DOOR_TTL - 1000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* Client 0 holds the door, and its first SET to node 2 is under way for a second, on a connection
 * that broke. */
#define FIRST_SET_IS_LATE(is_lost)                          \
    CLUSTER(3);                                             \
    DELAY_US(2, 1000000);                                   \
    START_ACQUIRE(0, "door", DOOR_TTL, 0);                  \
    RUN_MS(100);                                            \
    DELAY_US(2, CLUSTER_DELAY_US);                          \
    cluster_reset(cluster, 0, 2, !(is_lost));               \
    RUN_MS(100);                                            \
    EXPECT_STATUS(0, REDLOCK_OK)

/* A key set again is late as well. One comes after the first release, which finds nothing, and one
 * after the second, which has found the other. */
TEST(s5_a_debt_is_paid_as_often_as_keys_may_come)
{
    FIRST_SET_IS_LATE(false);
    DELAY_US(2, 50000);
    EXTEND(0, DOOR_TTL);
    RUN_MS(80);
    DELAY_US(2, 1600000);
    RUN_MS(40);
    DELAY_US(2, CLUSTER_DELAY_US);
    cluster_reset(cluster, 0, 2, true);
    RUN_MS(100);
    RELEASE(0);
    RUN_MS(100);
    CHECK_INT(CALLS(2, "RELEASE"), 1);
    RUN_MS(1150);
    CHECK_INT(CALLS(2, "RELEASE"), 2);
    EXPECT_KEY_ABSENT(2, "door");
    RUN_MS(400);
    CHECK(cluster_key(cluster, 2, "door") != NULL);
    RUN_MS(800);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
}

TEST(s5_a_debt_of_which_nothing_is_found_twice_is_none)
{
    FIRST_SET_IS_LATE(true);
    RELEASE(0);
    RUN_MS(100);
    CHECK(!IDLE(0));
    RUN_MS(1200);
    CHECK(IDLE(0));
    CHECK_INT(CALLS(2, "RELEASE"), 2);
}

/* Neither SET arrives. The second release has found a key nevertheless, so that it
 * takes two more. */
TEST(s5_a_debt_of_which_nothing_is_found_twice_but_not_in_a_row_goes_on)
{
    FIRST_SET_IS_LATE(true);
    DELAY_US(2, 50000);
    EXTEND(0, DOOR_TTL);
    RUN_MS(120);
    cluster_reset(cluster, 0, 2, false);
    DELAY_US(2, CLUSTER_DELAY_US);
    RUN_MS(100);
    RELEASE(0);
    RUN_MS(100);
    DOES_BUT_ANSWERS(2, "EVALSHA", ":1\r\n");
    RUN_MS(2200);
    CHECK_INT(CALLS(2, "RELEASE"), 3);
    CHECK(!IDLE(0));
    RUN_MS(1100);
    CHECK_INT(CALLS(2, "RELEASE"), 4);
    CHECK(IDLE(0));
}

TEST(s5_a_debt_ends_with_the_ttl)
{
    CLUSTER(3);
    START_ACQUIRE(0, "door", 2000, 0);
    RUN_US(CLUSTER_DELAY_US);
    cluster_cut(cluster, 0, 1, false);
    cluster_cut(cluster, 0, 2, false);
    UNTIL_DONE(0);
    RUN_MS(1900);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 2);
    RUN_MS(1000);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    CHECK(IDLE(0));
    HEAL_ALL;
    RUN_MS(10000);
    CHECK_INT(CALLS(1, "RELEASE"), 0);
    CHECK_INT(CALLS(2, "RELEASE"), 0);
}

TEST(s5_each_debt_of_a_lock_ends_with_its_own_ttl)
{
    CLUSTER(3);
    for (unsigned i = 0; i < 3; i++) {
        START_ACQUIRE(0, "door", 2000, 0);
        RUN_US(CLUSTER_DELAY_US);
        cluster_cut(cluster, 0, 1, false);
        cluster_cut(cluster, 0, 2, false);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
        RUN_MS(1000);
        CHECK_INT(redlock_view_lock(LOCK(0)).owed, 2);
        RUN_MS(1500);
        TAP_CONTEXT("use %u of the lock", i + 1);
        CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
        CHECK(IDLE(0));
        HEAL_ALL;
        RUN_MS(5000);
    }
}

TEST(s5_no_attempt_of_a_series_leaves_anything_behind)
{
    CLUSTER(5);
    RIVAL(0, "door", 60000); RIVAL(1, "door", 60000); RIVAL(2, "door", 60000);
    START_ACQUIRE(0, "door", 5000, 4000);
    RUN_MS(300);
    STALL(4);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    CHECK(CALLS(3, "SET") > 5);
    HEAL_ALL;
    RUN_MS(4000);
    EXPECT_KEY_ABSENT(3, "door");
    EXPECT_KEY_ABSENT(4, "door");
    RUN_MS(3000);
    CHECK(IDLE(0));
}

TEST(s5_what_cannot_have_arrived_is_not_released)
{
    CLUSTER_COLD(3, 1, (void)0);
    DOWN(1); DOWN(2);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(1);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    CHECK(IDLE(0));
}

/* ---- S6: a new token for every attempt ---- */

static void expect_different_tokens(const struct model_node *node, const char *name)
{
    for (size_t i = 0; i < node->call_count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(node->calls[i].name, name) == 0 && strcmp(node->calls[j].name, name) == 0)
                CHECK(strcmp(node->calls[i].token, node->calls[j].token) != 0);
}

TEST(s6_every_attempt_has_a_token_of_its_own)
{
    CLUSTER(5);
    RIVAL_ON_ALL("door", 60000);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 5000);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    CHECK(CALLS(4, "SET") >= 10);
    expect_different_tokens(NODE(4), "SET");
}

TEST(s6_a_token_is_forty_hex_digits_and_the_same_on_every_node)
{
    CLUSTER(3);
    char token[REDLOCK_TOKEN_TEXT + 1];
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    redlock_token(LOCK(0), token);
    CHECK_INT(strlen(token), REDLOCK_TOKEN_TEXT);
    CHECK_INT(strspn(token, "0123456789abcdef"), REDLOCK_TOKEN_TEXT);
    for (unsigned k = 0; k < 3; k++) CHECK_STR(cluster_key(cluster, k, "door"), token);
}

TEST(s6_a_release_names_the_token_of_the_acquire_before_it)
{
    CLUSTER(5);
    RIVAL(0, "door", 60000); RIVAL(1, "door", 60000); RIVAL(2, "door", 60000);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 3000);
    RUN_MS(10);
    const struct model_node *node = NODE(4);
    const char *token = "";
    for (size_t i = 0; i < node->call_count; i++) {
        if (strcmp(node->calls[i].name, "SET") == 0) token = node->calls[i].token;
        if (strcmp(node->calls[i].name, "RELEASE") == 0) CHECK_STR(node->calls[i].token, token);
    }
    CHECK_INT(CALLS(4, "RELEASE"), CALLS(4, "SET"));
}

TEST(s6_locks_of_one_and_of_two_clients_share_no_token)
{
    CLUSTER_OF(1, 2, (void)0);
    START_ACQUIRE_LOCK(0, 0, "a", DOOR_TTL, 0);
    START_ACQUIRE_LOCK(0, 1, "b", DOOR_TTL, 0);
    START_ACQUIRE_LOCK(1, 0, "c", DOOR_TTL, 0);
    RUN_MS(10);
    CHECK_INT(CALLS(0, "SET"), 3);
    expect_different_tokens(NODE(0), "SET");
}

TEST(s6_a_new_use_of_a_lock_has_a_new_token)
{
    CLUSTER(1);
    for (unsigned i = 0; i < 5; i++) {
        ACQUIRE(0, "door", DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        RELEASE(0);
    }
    CHECK_INT(CALLS(0, "SET"), 5);
    expect_different_tokens(NODE(0), "SET");
}

/* ---- S7: release and extend act only on our own token, and never shorten ---- */

TEST(s7_a_release_leaves_a_rivals_key_alone)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    RIVAL(1, "door", 7777);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    EXPECT_RIVAL_KEY(1, "door");
    EXPECT_KEYS("door", 1);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 2);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_REFUSED);
}

TEST(s7_an_extension_leaves_a_rivals_key_alone)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    RIVAL(1, "door", 500);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_REFUSED);
    RUN_MS(600);
    EXPECT_KEY_ABSENT(1, "door");
}

TEST(s7_a_lost_attempt_leaves_the_keys_of_the_winner_alone)
{
    CLUSTER_OF(5, 2, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    ACQUIRE_WAIT(1, "door", DOOR_TTL, 2000);
    EXPECT_STATUS(1, REDLOCK_TIMEOUT);
    EXPECT_HELD(0);
    EXPECT_KEYS("door", 5);
}

TEST(s7_an_extension_never_shortens)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
    EXTEND(0, 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(CLIENT_NOW(0) + VALID_US(0) >= until);
    RUN_MS(DOOR_TTL - 500);
    EXPECT_KEYS("door", 3);
    EXPECT_HELD(0);
}

TEST(s7_a_ttl_of_nothing_never_reaches_a_script)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    CHECK_INT(cluster_extend(cluster, 0, 0, 0), REDLOCK_BAD_TTL);
    RUN_MS(10);
    CHECK_INT(CALLS(0, "EXTEND"), 0);
    EXPECT_KEYS("door", 3);
    EXPECT_HELD(0);
}

TEST(s7_after_a_release_nothing_of_that_lock_is_sent)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    EXTEND(0, DOOR_TTL);
    RELEASE(0);
    RUN_MS(1);
    const size_t count = NODE(0)->call_count;
    CHECK_STR(NODE(0)->calls[count - 1].name, "RELEASE");
    RUN_MS(60000);
    CHECK_INT(NODE(0)->call_count, count);
}

/* ---- S8: a vote counts once per node and round, and only for its round ---- */

/* Node 2 grants the first attempt so late that the answer comes during the second, in which only
 * node 0 grants. */
TEST(s8_a_late_grant_of_one_attempt_does_not_count_for_the_next)
{
    CLUSTER_OF(3, 1, config.retry_ms = 1);
    RIVAL(0, "door", 60000);
    RIVAL(1, "door", 60000);
    DELAY_US(2, 200000);
    START_ACQUIRE(0, "door", DOOR_TTL, 5000);
    RUN_MS(150);
    CHECK(CALLS(1, "SET") >= 2);     /* A later attempt is under way, */
    CHECK_INT(CALLS(2, "SET"), 0);   /* the first has not arrived at node 2. */
    REMOVE_KEYS(0);
    RUN_MS(65);                      /* It has executed it now, */
    RIVAL(2, "door", 60000);         /* and no other. */
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
}

TEST(s8_a_second_answer_of_a_node_is_no_second_vote)
{
    CLUSTER(3);
    RIVAL(1, "door", DOOR_TTL); RIVAL(2, "door", DOOR_TTL);
    DOES_BUT_ANSWERS(0, "SET", "+OK\r\n+OK\r\n");
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    EXPECT_NOT_HELD(0);
    RUN_MS(3000);
    EXPECT_KEY_ABSENT(0, "door");
}

TEST(s8_a_grant_of_one_lock_does_not_count_for_another)
{
    CLUSTER(3);
    RIVAL(0, "gate", DOOR_TTL); RIVAL(1, "gate", DOOR_TTL);
    START_ACQUIRE_LOCK(0, 0, "door", DOOR_TTL, 0);
    START_ACQUIRE_LOCK(0, 1, "gate", DOOR_TTL, 0);
    UNTIL_LOCK_DONE(0, 0);
    UNTIL_LOCK_DONE(0, 1);
    EXPECT_LOCK_STATUS(0, 0, REDLOCK_OK);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_TAKEN);
}

TEST(s8_a_late_answer_of_a_lost_round_does_not_disturb_a_later_lock)
{
    CLUSTER(3);
    RIVAL(0, "door", 50); RIVAL(1, "door", 50);
    DELAY_US(2, 100000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(60);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1000);
    EXPECT_HELD(0);
    RELEASE(0);
    RUN_MS(1000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* The keys outlive the validity by the drift, so that the releases that make way for the new
 * attempt are confirmed. */
TEST(s8_a_confirmed_release_is_no_grant_of_the_acquire_behind_it)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    RUN_US(VALID_US(0) + 1000);
    ACQUIRE(0, "door", 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEYS("door", 3);
}

TEST(s8_a_release_that_found_nothing_is_no_refusal_of_the_acquire_behind_it)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    RUN_MS(1500);
    ACQUIRE(0, "door", 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEYS("door", 3);
}

TEST(s8_a_release_that_was_held_up_is_no_vote_in_a_later_attempt)
{
    CLUSTER(3);
    RIVAL(0, "door", 60000); RIVAL(1, "door", 60000);
    for (unsigned k = 0; k < 3; k++)
        LINK(0, k)->window = 200; /* Bytes on their way, so the release has to wait for room. */
    HANG(2);
    START_ACQUIRE(0, "door", DOOR_TTL, 3000);
    RUN_MS(400);
    RESUME(2);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    RUN_MS(1000);
    EXPECT_KEY_ABSENT(2, "door");
}

/* ---- S9: an extension counts when a quorum confirms it before the old validity ends ---- */

TEST(s9_the_validity_of_an_extension_runs_from_its_start)
{
    CLUSTER(5);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(4000);
    DELAY_ALL_US(3000);
    EXTEND(0, 20000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(VALID_US(0), 20000000 - 6000 - 200000 - 2000);
    EXPECT_KEYS("door", 5);
}

TEST(s9_an_extension_confirmed_after_the_old_end_does_not_count)
{
    CLUSTER(5);
    ACQUIRE(0, "door", 1000);
    RUN_MS(900);
    DELAY_ALL_US(60000);
    EXTEND(0, 1000);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_NOT_HELD(0);
}

/* All but the last confirmation of the quorum come in time; the last waits in a socket until the
 * old end is over. */
static void extend_with_last_answer_late(unsigned n, bool ticks_first)
{
    CLUSTER(n);
    TAP_CONTEXT("%u nodes", n);
    cluster->clients[0].ticks_first = ticks_first;
    ACQUIRE(0, "door", 1000);
    RUN_US(VALID_US(0) - 10000);
    for (unsigned k = n / 2; k < n; k++) DELAY_US(k, 2000);
    START_EXTEND(0, 1000);
    RUN_MS(1);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    FREEZE(0);
    RUN_MS(11);
    THAW(0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_NOT_HELD(0);
}

TEST(s9_an_extension_whose_last_confirmation_is_read_after_the_old_end_does_not_count)
{
    for (unsigned n = 1; n <= 7; n++) {
        extend_with_last_answer_late(n, false);
        extend_with_last_answer_late(n, true);
    }
}

TEST(s9_an_extension_confirmed_just_before_the_old_end_counts)
{
    CLUSTER(5);
    ACQUIRE(0, "door", 1000);
    DELAY_ALL_US(40000);
    RUN_US(VALID_US(0) - 80001);
    EXTEND(0, 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(VALID_US(0), 1000000 - 80000 - 10000 - 2000);
}

TEST(s9_a_failed_extension_does_not_shorten_what_was_promised)
{
    CLUSTER(5);
    ACQUIRE(0, "door", DOOR_TTL);
    const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
    STALL(1); STALL(2); STALL(3);
    EXTEND(0, 2000);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until);
    HEAL_ALL;
    RUN_MS(5000);
    CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until);
    EXPECT_KEYS("door", 5);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* The promise counts on the key of the node that cannot be asked now, so it is not given back. */
TEST(s9_an_extension_without_a_node_takes_nothing_from_that_node)
{
    CLUSTER_OF(3, 2, (void)0);
    cluster_cut(cluster, 0, 2, false);
    RUN_MS(100);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    cluster_cut(cluster, 0, 1, false);
    RUN_MS(100);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    cluster_heal(cluster, 0, 1);
    RUN_MS(3500);
    EXPECT_HELD(0);
    CHECK_INT(CALLS(1, "RELEASE"), 0);
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
}

TEST(s9_an_extension_is_refused_when_a_quorum_has_lost_the_key)
{
    CLUSTER(5);
    cluster->no_promise = true;
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(1);
    for (unsigned k = 0; k < 3; k++) REMOVE_KEYS(k);
    const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until);
    EXPECT_KEYS("door", 2); /* No key that has vanished is set again. */
}

TEST(s9_an_ended_lock_is_not_extended)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    RUN_MS(1000);
    CHECK_INT(cluster_extend(cluster, 0, 0, 1000), REDLOCK_LOST);
    RUN_MS(10);
    CHECK_INT(CALLS(0, "EXTEND"), 0);
}

TEST(s9_a_lock_that_was_never_won_is_not_extended)
{
    CLUSTER(3);
    CHECK_INT(cluster_extend(cluster, 0, 0, 1000), REDLOCK_LOST);
    RIVAL_ON_ALL("door", DOOR_TTL);
    ACQUIRE(0, "door", DOOR_TTL);
    CHECK_INT(cluster_extend(cluster, 0, 0, 1000), REDLOCK_LOST);
    RUN_MS(10);
    CHECK_INT(CALLS(0, "EXTEND"), 0);
}

TEST(s9_a_short_extension_that_reaches_a_minority_costs_the_holder_nothing)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    cluster_stall(cluster, 0, 1);
    cluster_stall(cluster, 0, 2);
    EXTEND(0, 1000);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    cluster_cut(cluster, 1, 2, false);
    ACQUIRE_WAIT(1, "door", DOOR_TTL, 5000);
    EXPECT_STATUS(1, REDLOCK_TIMEOUT);
    EXPECT_HELD(0);
}

TEST(s9_a_short_extension_that_arrives_after_a_long_one_does_not_take_from_it)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", 2000);
    for (unsigned k = 0; k < 3; k++) LINK(0, k)->delay_us = 300000;
    START_EXTEND(0, 1000);
    RUN_MS(100);
    for (unsigned k = 0; k < 3; k++) {
        LINK(0, k)->delay_us = CLUSTER_DELAY_US;
        cluster_reset(cluster, 0, k, true); /* The short one is still under way. */
    }
    UNTIL_DONE(0);
    CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
    while (VALID_US(0) > 0 && redlock_lock_status(LOCK(0)) != REDLOCK_OK) {
        RUN_MS(10);
        EXTEND(0, 20000);
    }
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(500);
    EXPECT_HELD(0);
    ACQUIRE_WAIT(1, "door", DOOR_TTL, 15000);
    EXPECT_STATUS(1, REDLOCK_TIMEOUT);
    EXPECT_HELD(0);
}

/* ---- S10: not held from the end of the validity on ---- */

TEST(s10_held_is_computed_and_needs_nobody_to_tell)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    FREEZE(0);
    RUN_US(VALID_US(0) - 1);
    CHECK_INT(VALID_US(0), 1);
    RUN_US(1);
    EXPECT_NOT_HELD(0);
    CHECK_INT(cluster_extend(cluster, 0, 0, 1000), REDLOCK_LOST);
    RUN_MS(5000);
    EXPECT_NOT_HELD(0);
}

TEST(s10_a_lock_that_was_not_won_is_not_held)
{
    CLUSTER(3);
    EXPECT_NOT_HELD(0);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    EXPECT_NOT_HELD(0);
    RUN_US(CLUSTER_DELAY_US);
    EXPECT_NOT_HELD(0);
    UNTIL_DONE(0);
    EXPECT_HELD(0);
}

TEST(s10_a_lock_is_not_held_from_the_call_of_release_on)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    START_RELEASE(0);
    EXPECT_NOT_HELD(0);
}

TEST(s10_the_release_of_an_ended_lock_says_so_at_once)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    RUN_MS(1000);
    const uint64_t before = CLIENT_NOW(0);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    CHECK_INT(CLIENT_NOW(0), before);
}

TEST(s10_a_lock_that_ended_can_be_acquired_again)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    RUN_MS(1500);
    ACQUIRE(0, "door", 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* A caller ticks when it likes, so also between the start and the first byte. */
TEST(s10_a_lock_that_ended_can_be_acquired_again_whenever_the_clock_ticks)
{
    for (unsigned after_ms = 985; after_ms <= 1100; after_ms++) {
        CLUSTER(3);
        TAP_CONTEXT("%u ms after the first acquire", after_ms);
        ACQUIRE(0, "door", 1000);
        RUN_MS(after_ms);
        if (VALID_US(0) > 0) continue;
        START_ACQUIRE(0, "door", 1000, 0);
        redlock_tick(ENGINE(0), CLIENT_NOW(0));
        UNTIL_DONE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        EXPECT_KEYS("door", 3);
    }
}

/* ---- S11: a node that has restarted within the guard gets no vote ---- */

TEST(s11_a_restarted_node_has_no_vote_until_the_guard_is_over)
{
    CLUSTER(3);
    DOWN(2);
    RUN_MS(10);
    UP(2);
    DOWN(1);
    RUN_MS(3000);
    CHECK(!VOTES(0, 2));
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_RESTARTED);
    EXPECT_WORDS(0, 2, "restarted ");
    EXPECT_WORDS(0, 2, "no vote for another 2");
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_NOT_ASKED);
    RUN_MS(REDLOCK_GUARD_MS - 4000);
    CHECK(!VOTES(0, 2));
    RUN_MS(4000);
    CHECK(VOTES(0, 2));
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_NONE);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s15_a_restarted_node_gives_no_ticket_for_twice_the_skew_longer_and_says_so)
{
    CLUSTER(3);
    DOWN(2);
    RUN_MS(10);
    UP(2);
    RUN_MS(3000);
    EXPECT_WORDS(0, 2, "no vote for another 2");
    EXPECT_WORDS(0, 2, "no ticket for another 4");
    RUN_MS(REDLOCK_GUARD_MS);
    CHECK(VOTES(0, 2));
    CHECK(!redlock_view_node(ENGINE(0), 2, CLIENT_NOW(0)).gives_tickets);
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_NONE);
    EXPECT_WORDS(0, 2, "s ago, no ticket for another 1");
    RUN_MS(2 * REDLOCK_SKEW_MS);
    CHECK(redlock_view_node(ENGINE(0), 2, CLIENT_NOW(0)).gives_tickets);
    EXPECT_WORDS(0, 2, "ok");
}

TEST(s15_a_lock_without_a_ticket_has_not_that_of_its_last_operation)
{
    CLUSTER(3);
    struct redlock_request request = story_request("door", DOOR_TTL, 0);
    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    CHECK(redlock_ticket(LOCK(0)) > 0);
    RELEASE(0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_ticket(LOCK(0)), 0);
}

TEST(a_keeper_keeps_the_ttl_of_the_last_extension)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 5000);
    EXTEND(0, 20000);
    CHECK_INT(redlock_keep(ENGINE(0), LOCK(0), REDLOCK_FOREVER, CLIENT_NOW(0)), REDLOCK_OK);
    RUN_MS(15000);
    CHECK(VALID_US(0) > 5000000);
}

/* The command to set it waits for the connection. */
TEST(s11_a_key_is_not_set_again_on_a_node_that_has_just_restarted)
{
    for (unsigned restarts = 0; restarts < 2; restarts++) {
        CLUSTER(3);
        RIVAL(2, "door", 100);
        ACQUIRE(0, "door", DOOR_TTL);
        RUN_MS(1000);
        if (restarts) {
            DOWN(2);
            UP(2);
        } else {
            RESET(0, 2);
        }
        EXTEND(0, DOOR_TTL);
        RUN_MS(20);
        EXPECT_KEYS("door", restarts ? 2 : 3);
    }
}

TEST(s11_a_restarted_node_does_not_vote_for_a_rival_of_the_holder)
{
    CLUSTER_COLD(5, 2, (void)0);
    DOWN(3); DOWN(4);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", REDLOCK_GUARD_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    DOWN(2); UP(2); UP_KEEPING(3); UP_KEEPING(4);
    ACQUIRE_WAIT(1, "door", DOOR_TTL, REDLOCK_GUARD_MS - 1000);
    EXPECT_STATUS(1, REDLOCK_TIMEOUT);
    EXPECT_HELD(0);
}

/* A first contact with a node that reports this uptime. It has no vote for so long, by
 * half a second. */
static void expect_guard_of(const char *uptime, uint32_t guard_ms)
{
    CLUSTER_COLD(1, 1, (void)0);
    NODE(0)->uptime_text = uptime;
    TAP_CONTEXT("uptime_in_seconds:%s", uptime);
    RUN_MS(STORY_SETTLE_MS);
    CHECK_INT(VOTES(0, 0), guard_ms == 0);
    if (guard_ms == 0) return;
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_RESTARTED);
    RUN_MS(guard_ms - 500);
    CHECK(!VOTES(0, 0));
    RUN_MS(1000);
    CHECK(VOTES(0, 0));
}

TEST(s11_at_first_contact_a_second_less_than_the_uptime_is_believed)
{
    expect_guard_of("0", 30000);
    expect_guard_of("1", 30000);
    expect_guard_of("2", 29000);
    expect_guard_of("10", 21000);
    expect_guard_of("30", 1000);
    expect_guard_of("31", 0);
    expect_guard_of("86400", 0);
    expect_guard_of("315360000", 0); /* Ten years. */
}

TEST(s11_a_missing_or_absurd_uptime_means_a_full_guard)
{
    static const char *const absurd[] = {
        "", "-1", "-3600", "abc", "12x", "1.5", "1e9", " 5000", "+5000", "0x9999", "--1",
        "9223372036854775807", "9223372036854775808", "18446744073709551616",
        "99999999999999999999999999999999999999999999999999999999999999999999"
    };
    for (size_t i = 0; i < sizeof absurd / sizeof absurd[0]; i++) expect_guard_of(absurd[i], 30000);
}

TEST(s11_a_new_connection_to_the_same_process_starts_no_guard)
{
    CLUSTER(3);
    for (unsigned k = 0; k < 3; k++) RESET(0, k);
    RUN_MS(3000);
    for (unsigned k = 0; k < 3; k++) CHECK(VOTES(0, k));
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s11_a_new_process_starts_a_full_guard_whatever_uptime_it_claims)
{
    CLUSTER(1);
    DOWN(0); UP(0);
    NODE(0)->uptime_text = "5000";
    RUN_MS(3000);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_RESTARTED);
    RUN_MS(REDLOCK_GUARD_MS - 3500);
    CHECK(!VOTES(0, 0));
    RUN_MS(4000);
    CHECK(VOTES(0, 0));
}

TEST(s11_a_node_restarted_behind_our_back_has_no_vote_from_the_first_new_connection_on)
{
    CLUSTER(1);
    DOWN(0);
    RUN_MS(1);
    UP(0);
    for (unsigned i = 0; i < 50; i++) {
        RUN_MS(100);
        CHECK(!VOTES(0, 0));
    }
}

TEST(s11_a_restart_that_keeps_the_keys_is_a_restart)
{
    CLUSTER(1);
    DOWN(0); UP_KEEPING(0);
    RUN_MS(3000);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_RESTARTED);
}

TEST(s11_an_address_that_leads_to_different_servers_has_no_vote)
{
    CLUSTER(1);
    for (unsigned i = 0; i < 10; i++) {
        DOWN(0);
        UP(0);
        RUN_MS(20000);
        CHECK(!VOTES(0, 0));
    }
}

TEST(s30_the_uptime_of_a_promoted_server_is_not_believed)
{
    char words[200];

    CLUSTER_COLD(1, 1, (void)0);
    NODE(0)->uptime_text = "86400";
    NODE(0)->second_offset = 1729;
    RUN_MS(3000);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_RESTARTED);
    redlock_describe_node(&cluster->clients[0].engine, 0, cluster_client_now(cluster, 0), words,
                          sizeof words);
    CHECK(strstr(words, "was a replica (failover), met ") &&
          strstr(words, "no vote for another 2"));
    RUN_MS(REDLOCK_GUARD_MS - 3500);
    CHECK(!VOTES(0, 0));
    RUN_MS(1000);
    CHECK(VOTES(0, 0));
}

TEST(s30_a_server_that_is_known_and_was_a_replica_meanwhile_begins_its_guard_each_time)
{
    CLUSTER(1);
    for (uint64_t offset = 9; offset < 12; offset++) {
        NODE(0)->second_offset = offset;
        RESET(0, 0);
        RUN_MS(REDLOCK_GUARD_MS - 1000);
        CHECK(!VOTES(0, 0));
        RUN_MS(2000);
        CHECK(VOTES(0, 0));
        RESET(0, 0);
        RUN_MS(3000);
        CHECK(VOTES(0, 0));
    }
    NODE(0)->second_offset = 0;     /* Its backlog was given up. */
    RESET(0, 0);
    RUN_MS(3000);
    CHECK(VOTES(0, 0));
}

TEST(s11_a_server_that_comes_back_behind_another_begins_its_guard)
{
    char first[MODEL_RUN_ID_TEXT + 1];

    CLUSTER(1);
    memcpy(first, NODE(0)->run_id, sizeof first);
    DOWN(0); UP(0);
    RUN_MS(REDLOCK_GUARD_MS + 3000);
    CHECK(VOTES(0, 0));
    memcpy(NODE(0)->run_id, first, sizeof first);
    NODE(0)->uptime_text = "86400";
    RESET(0, 0);
    RUN_MS(REDLOCK_GUARD_MS - 1000);
    CHECK(!VOTES(0, 0));
    RUN_MS(2000);
    CHECK(VOTES(0, 0));
}

TEST(s11_a_guard_of_nothing_lets_a_restarted_node_vote_at_once)
{
    CLUSTER_OF(1, 1, config.guard_ms = 0);
    DOWN(0); UP(0);
    RUN_MS(3000);
    CHECK(VOTES(0, 0));
    ACQUIRE(0, "door", 600000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s11_a_ttl_longer_than_the_guard_is_refused)
{
    CLUSTER_OF(3, 1, config.guard_ms = 5000);
    struct redlock_request request = story_request("door", 5001, 0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_TTL_OVER_GUARD);
    ACQUIRE(0, "door", 5000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(cluster_extend(cluster, 0, 0, 5001), REDLOCK_TTL_OVER_GUARD);
    EXPECT_HELD(0);
    EXTEND(0, 5000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s11_an_extension_of_a_node_that_restarted_does_not_count)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    DOWN(1); DOWN(2);
    UP(1); UP(2);
    RUN_MS(3000);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_HELD(0);
}

/* ---- S12: replica, cluster, loading, same server: no vote ---- */

static void expect_no_vote(struct cluster *cluster, enum redlock_trouble trouble, const char *words)
{
    RUN_MS(STORY_SETTLE_MS);
    TAP_CONTEXT("%s", words);
    CHECK(!VOTES(0, 2));
    EXPECT_TROUBLE(0, 2, trouble);
    EXPECT_WORDS(0, 2, words);
    DOWN(1);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_NOT_ASKED);
    CHECK_INT(CALLS(2, "SET"), 0);
}

TEST(s12_a_replica_has_no_vote)
{
    CLUSTER_COLD(3, 1, (void)0);
    NODE(2)->role = MODEL_REPLICA;
    expect_no_vote(cluster, REDLOCK_TROUBLE_REPLICA, "replica");
}

TEST(s12_a_member_of_a_cluster_has_no_vote_even_where_it_would_grant)
{
    CLUSTER_COLD(3, 1, (void)0);
    NODE(2)->mode = "cluster";
    expect_no_vote(cluster, REDLOCK_TROUBLE_CLUSTER, "cluster");
}

/* Its word about a replica still counts, and a Sentinel is none. */
TEST(s12_a_managed_node_in_cluster_mode_votes_and_no_other_or_replica_or_sentinel_does)
{
    static const struct redlock_login managed = { .managed = true };
    CLUSTER_COLD(4, 1, (void)0);
    for (unsigned k = 0; k < 3; k++)
        CHECK_INT(redlock_set_login(ENGINE(0), k, &managed), REDLOCK_OK);
    NODE(3)->mode = NODE(0)->mode = NODE(1)->mode = "cluster";
    NODE(1)->role = MODEL_REPLICA;
    NODE(2)->mode = "sentinel";
    RUN_MS(STORY_SETTLE_MS);
    CHECK(VOTES(0, 0));
    EXPECT_TROUBLE(0, 1, REDLOCK_TROUBLE_REPLICA);
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_SENTINEL);
    EXPECT_TROUBLE(0, 3, REDLOCK_TROUBLE_CLUSTER);
}

/* ---- S12: the keys of a lock are in one slot of a cluster ---- */

TEST(s12_a_lock_of_managed_nodes_needs_the_same_braces_in_each_name)
{
    static const struct {
        const char *names[2];
        enum redlock_status status;
    } cases[] = {
        { { "{door}" }, REDLOCK_OK },               { { "a{b}c" }, REDLOCK_OK },
        { { "{{door}}" }, REDLOCK_OK },             { { "{a}", "{a}b" }, REDLOCK_OK },
        { { "door" }, REDLOCK_BAD_RESOURCE },       { { "{door" }, REDLOCK_BAD_RESOURCE },
        { { "}door{" }, REDLOCK_BAD_RESOURCE },     { { "{" }, REDLOCK_BAD_RESOURCE },
        { { "{}door" }, REDLOCK_BAD_RESOURCE },     { { "{}{door}" }, REDLOCK_BAD_RESOURCE },
        { { "{a", "}{a" }, REDLOCK_BAD_RESOURCE },  { { "{a}", "{b}" }, REDLOCK_BAD_RESOURCE },
        { { "{a}", "a" }, REDLOCK_BAD_RESOURCE },   { { "{a}", "{ab}" }, REDLOCK_BAD_RESOURCE }
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CLUSTER_COLD(1, 1, (void)0);
        CHECK_INT(redlock_set_login(ENGINE(0), 0, &(struct redlock_login){ .managed = true }),
                  REDLOCK_OK);
        struct redlock_name names[2] = { 0 };
        unsigned count = 0;
        for (; count < 2 && cases[i].names[count]; count++)
            names[count] = (struct redlock_name){
                .bytes = cases[i].names[count], .size = strlen(cases[i].names[count])
            };
        struct redlock_request request = { .set = names, .set_count = count, .ttl_ms = DOOR_TTL };
        TAP_CONTEXT("%s", cases[i].names[0]);
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), cases[i].status);
    }
}

TEST(s12_a_sentinel_has_no_vote)
{
    CLUSTER_COLD(3, 1, (void)0);
    NODE(2)->mode = "sentinel";
    NODE(2)->role = MODEL_SENTINEL;
    expect_no_vote(cluster, REDLOCK_TROUBLE_SENTINEL, "entinel");
}

TEST(s12_a_node_that_does_not_say_who_it_is_has_no_vote)
{
    CLUSTER_COLD(3, 1, (void)0);
    ANSWERS(2, "INFO", "$20\r\n# Server\r\nhz:10\r\na:b\r\n");
    expect_no_vote(cluster, REDLOCK_TROUBLE_NO_IDENTITY, "run_id");
}

TEST(s12_a_node_that_is_loading_has_no_vote_until_it_has_loaded)
{
    CLUSTER_COLD(3, 1, (void)0);
    NODE(2)->condition = MODEL_LOADING;
    DOWN(1);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_LOADING);
    EXPECT_WORDS(0, 2, "LOADING");
    NODE(2)->condition = MODEL_WELL;
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 30000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s12_the_same_server_under_two_addresses_has_one_vote_at_most)
{
    CLUSTER_COLD(3, 1, (void)0);
    memcpy(NODE(2)->run_id, NODE(1)->run_id, sizeof NODE(1)->run_id);
    RUN_MS(STORY_SETTLE_MS);
    CHECK(VOTES(0, 0));
    CHECK(VOTES(0, 1) + VOTES(0, 2) <= 1);
    const unsigned twin = VOTES(0, 1) ? 2 : 1;
    EXPECT_TROUBLE(0, twin, REDLOCK_TROUBLE_SAME_SERVER);
    EXPECT_WORDS(0, twin, twin == 2 ? "same server as node 1" : "same server as node 2");
    TAP_CHECK(ENGINE(0)->nodes[twin].failures == LINK(0, twin)->connect_count,
              "each connection is one failure");
    DOWN(0);
    RUN_MS(10);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
}

TEST(s12_a_list_of_one_server_alone_never_has_a_quorum)
{
    CLUSTER_COLD(5, 1, (void)0);
    for (unsigned k = 1; k < 5; k++)
        memcpy(NODE(k)->run_id, NODE(0)->run_id, sizeof NODE(0)->run_id);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(30000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
}

TEST(s12_two_addresses_that_come_to_lead_to_one_server_lose_a_vote)
{
    CLUSTER_OF(3, 1, config.guard_ms = 0);
    RUN_MS(1000);
    DOWN(2); UP(2);
    memcpy(NODE(2)->run_id, NODE(1)->run_id, sizeof NODE(1)->run_id);
    RUN_MS(3000);
    CHECK(VOTES(0, 1) + VOTES(0, 2) <= 1);
}

TEST(s12_servers_that_have_swapped_their_addresses_vote_again_after_the_guard)
{
    CLUSTER_OF(3, 1, config.guard_ms = 1000);
    char run_id[MODEL_RUN_ID_TEXT + 1];
    memcpy(run_id, NODE(1)->run_id, sizeof run_id);
    memcpy(NODE(1)->run_id, NODE(2)->run_id, sizeof run_id);
    memcpy(NODE(2)->run_id, run_id, sizeof run_id);
    RESET(0, 1);
    RESET(0, 2);
    RUN_MS(900);
    CHECK(!VOTES(0, 1));
    CHECK(!VOTES(0, 2));
    RUN_MS(20000);
    CHECK(VOTES(0, 1));
    CHECK(VOTES(0, 2));
}

TEST(s12_a_master_that_has_become_a_replica_loses_its_vote_and_gets_it_back)
{
    CLUSTER(1);
    NODE(0)->role = MODEL_REPLICA;
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(3000);
    CHECK(!VOTES(0, 0));
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_REPLICA);
    NODE(0)->role = MODEL_MASTER;
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 60000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s12_a_master_with_replicas_has_a_vote)
{
    CLUSTER_COLD(1, 1, (void)0);
    NODE(0)->replica_count = 5;
    RUN_MS(STORY_SETTLE_MS);
    CHECK(VOTES(0, 0));
}

static void refuse_by_acl(const char *commands, const char *words, bool trust)
{
    CLUSTER_COLD(1, 1, config.trust_unknown = trust);
    TAP_CONTEXT("without %s, %s", commands, trust ? "trusted" : "not trusted");
    NODE(0)->noperm = commands;
    RUN_MS(STORY_SETTLE_MS);
    CHECK_INT(VOTES(0, 0), trust);
    if (!trust) {
        EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_NOPERM);
        EXPECT_WORDS(0, 0, words);
    }
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, trust ? REDLOCK_OK : REDLOCK_NO_QUORUM);
}

TEST(s12_where_an_acl_hides_who_the_node_is_it_has_no_vote_and_the_reason_is_named)
{
    refuse_by_acl("INFO", "info", false);
    refuse_by_acl("INFO EVAL", "info", false);
}

TEST(s12_where_an_acl_hides_who_the_node_is_the_caller_may_trust_it)
{
    refuse_by_acl("INFO", "", true);
}

TEST(s12_trust_is_for_what_is_hidden_not_for_what_is_seen)
{
    CLUSTER_COLD(2, 1, config.trust_unknown = true);
    NODE(0)->role = MODEL_REPLICA;
    NODE(1)->mode = "cluster";
    RUN_MS(STORY_SETTLE_MS);
    CHECK(!VOTES(0, 0));
    CHECK(!VOTES(0, 1));
}

/* ---- A node must be able to release what it grants (S5) ---- */

TEST(s5_a_node_that_runs_no_scripts_has_no_vote)
{
    CLUSTER_COLD(1, 1, (void)0);
    NODE(0)->noperm = "EVAL";
    RUN_MS(STORY_SETTLE_MS);
    CHECK(!VOTES(0, 0));
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_NOPERM);
    EXPECT_WORDS(0, 0, "eval");
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK(cluster_key(cluster, 0, "door") == NULL);
}

/* Alibaba's. It may refuse our scripts as well. */
TEST(s5_a_proxy_that_runs_no_script_without_keys_has_a_vote_if_it_runs_ours)
{
    static const char wants_key[] =
        "-ERR for redis cluster, eval/evalsha number of keys can't be negative or zero\r\n";
    const struct redlock_login managed = { .managed = 1 };

    for (unsigned refuses = 0; refuses < 2; refuses++) {
        CLUSTER_COLD(1, 1, (void)0);
        CHECK_INT(redlock_set_login(ENGINE(0), 0, &managed), REDLOCK_OK);
        ANSWERS_ONCE(0, "EVAL", wants_key);
        if (refuses) ANSWERS(0, "EVAL", "-ERR bad lua script\r\n");
        RUN_MS(STORY_SETTLE_MS);
        CHECK(VOTES(0, 0) == !refuses);
        ACQUIRE(0, "{door}", DOOR_TTL);
        EXPECT_STATUS(0, refuses ? REDLOCK_NO_QUORUM : REDLOCK_OK);
        CHECK((cluster_key(cluster, 0, "{door}") == NULL) == refuses);
        if (refuses) EXPECT_WORDS(0, 0, "bad lua script");
    }
}

/* An echo of the command as it was sent, and a name in small letters. */
TEST(s5_a_node_that_does_not_know_EVALSHA_gets_the_text_of_each_script)
{
    static const char *const errors[] = {
        "-ERR unknown command `EVALSHA`\r\n", "-ERR 'evalsha' is disabled\r\n"
    };

    for (unsigned i = 0; i < 2; i++) {
        CLUSTER(1);
        ACQUIRE(0, "door", DOOR_TTL);
        ANSWERS_ONCE(0, "EVALSHA", errors[i]);
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        ANSWERS_ONCE(0, "EVALSHA", errors[i]);
        RELEASE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        CHECK(cluster_key(cluster, 0, "door") == NULL);
    }
}

/* Whatever else the error says. */
TEST(s5_a_node_that_may_not_vote_gets_no_text_of_a_script)
{
    CLUSTER(1);
    ACQUIRE(0, "door", DOOR_TTL);
    ANSWERS_ONCE(0, "EVALSHA", "-READONLY You can't run 'evalsha' on a replica.\r\n");
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_READONLY);
    CHECK_INT(CALLS(0, "EXTEND"), 1);
}

TEST(s5_a_node_without_EVALSHA_gets_the_text_of_each_script)
{
    CLUSTER_COLD(1, 1, (void)0);
    NODE(0)->noperm = "EVALSHA";
    RUN_MS(STORY_SETTLE_MS);
    for (unsigned i = 0; i < 2; i++) {
        ACQUIRE(0, "door", DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        EXTEND(0, 2 * DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        RELEASE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_NONE);
        CHECK(cluster_key(cluster, 0, "door") == NULL);
    }
}

/* Servers without a run_id, such as Dragonfly, and Kvrocks, which hides the
 * master_replid as well. */
static void take_run_ids(struct cluster *cluster, unsigned count, bool hides_replid)
{
    for (unsigned k = 0; k < count; k++) {
        NODE(k)->process_id = 100 + k;
        NODE(k)->hides_replid = hides_replid;
        NODE(k)->uptime_text = "86400";
    }
}

TEST(s12_a_server_without_a_run_id_votes_once_it_is_known_for_the_guard)
{
    for (unsigned hides = 0; hides < 2; hides++) {
        CLUSTER_COLD(3, 1, (void)0);
        take_run_ids(cluster, 3, hides);
        RUN_MS(REDLOCK_GUARD_MS - 1000);
        CHECK(!VOTES(0, 0));
        EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_RESTARTED);
        EXPECT_WORDS(
            0, 0,
            "has no run_id, so a failover would not show, met 28 s ago, no vote for another 2 s");
        RUN_MS(2000);
        for (unsigned k = 0; k < 3; k++)
            CHECK(VOTES(0, k) && redlock_view_node(ENGINE(0), k, ENGINE(0)->now_us).run_id);
        RESET(0, 0);
        RUN_MS(3000);
        CHECK(VOTES(0, 0));
        ACQUIRE(0, "door", DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
    }
}

TEST(s11_a_restart_of_a_server_without_a_run_id_shows_in_its_uptime)
{
    CLUSTER_COLD(1, 1, (void)0);
    take_run_ids(cluster, 1, true);
    RUN_MS(REDLOCK_GUARD_MS + 3000);
    CHECK(VOTES(0, 0));
    for (unsigned i = 0; i < 3; i++) {
        DOWN(0); UP(0);
        RUN_MS(REDLOCK_GUARD_MS - 1000);
        CHECK(!VOTES(0, 0));
        RUN_MS(3000);
        CHECK(VOTES(0, 0));
    }
}

/* Its uptime, of whole seconds, is that of a server that has been up since we met it,
 * to the second. */
TEST(s11_a_server_without_a_run_id_may_have_restarted_if_its_uptime_is_within_a_second_of_ours)
{
    static const char *const uptimes[] = { "40", "42" };

    for (unsigned i = 0; i < 2; i++) {
        CLUSTER_COLD(1, 1, (void)0);
        take_run_ids(cluster, 1, true);
        RUN_MS(40000);
        CHECK(VOTES(0, 0));
        NODE(0)->uptime_text = uptimes[i];
        RESET(0, 0);
        RUN_MS(500);
        CHECK_INT(VOTES(0, 0), i);
    }
}

TEST(s30_a_server_without_a_run_id_that_has_another_replid_is_another_server)
{
    CLUSTER_COLD(1, 1, (void)0);
    take_run_ids(cluster, 1, false);
    RUN_MS(REDLOCK_GUARD_MS + 1000);
    CHECK(VOTES(0, 0));
    NODE(0)->run_id[0] = NODE(0)->run_id[0] == 'f' ? '0' : 'f';
    RESET(0, 0);
    RUN_MS(REDLOCK_GUARD_MS - 1000);
    CHECK(!VOTES(0, 0));
    RUN_MS(2000);
    CHECK(VOTES(0, 0));
}

TEST(s12_servers_without_a_run_id_that_cannot_be_told_apart_have_one_vote)
{
    CLUSTER_COLD(3, 1, (void)0);
    take_run_ids(cluster, 3, true);
    NODE(2)->process_id = NODE(1)->process_id;
    RUN_MS(REDLOCK_GUARD_MS + 1000);
    CHECK(VOTES(0, 0) && VOTES(0, 1) + VOTES(0, 2) == 1);
    EXPECT_WORDS(0, VOTES(0, 1) ? 2 : 1,
                 "or both name no run_id, and the same process_id and tcp_port");
}

TEST(s12_servers_without_a_run_id_vote_at_once_if_they_are_trusted)
{
    CLUSTER_COLD(3, 1, config.trust_unknown = true);
    CHECK(!redlock_view_node(ENGINE(0), 0, ENGINE(0)->now_us).run_id);
    take_run_ids(cluster, 3, true);
    NODE(2)->process_id = NODE(1)->process_id;
    RUN_MS(STORY_SETTLE_MS);
    for (unsigned k = 0; k < 3; k++)
        CHECK(VOTES(0, k) && !redlock_view_node(ENGINE(0), k, ENGINE(0)->now_us).run_id);
    DOWN(0); UP(0);
    RUN_MS(REDLOCK_GUARD_MS - 1000);
    CHECK(!VOTES(0, 0));
    RUN_MS(3000);
    CHECK(VOTES(0, 0));
}

TEST(s12_a_node_that_tells_no_role_has_no_vote)
{
    CLUSTER_COLD(1, 1, (void)0);
    NODE(0)->hides_role = true;
    RUN_MS(STORY_SETTLE_MS);
    CHECK(!VOTES(0, 0));
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_NO_IDENTITY);
}

/* ---- S13: the number of extensions is limited where the caller sets a limit ---- */

static enum redlock_status acquire_limited(struct cluster *cluster, uint32_t limit)
{
    struct redlock_request request = story_request("door", DOOR_TTL, 0);
    request.extension_limit = limit;
    return cluster_acquire(cluster, 0, 0, &request);
}

TEST(s13_extensions_end_at_the_limit_and_the_lock_stays_until_its_end)
{
    CLUSTER(3);
    CHECK_INT(acquire_limited(cluster, 2), REDLOCK_OK);
    UNTIL_DONE(0);
    EXTEND(0, DOOR_TTL); EXPECT_STATUS(0, REDLOCK_OK);
    EXTEND(0, DOOR_TTL); EXPECT_STATUS(0, REDLOCK_OK);
    const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
    CHECK_INT(cluster_extend(cluster, 0, 0, DOOR_TTL), REDLOCK_EXTENSION_LIMIT);
    RUN_MS(100);
    CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until);
    CHECK_INT(CALLS(0, "EXTEND"), 2);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s13_no_limit_is_no_limit)
{
    CLUSTER(3);
    CHECK_INT(acquire_limited(cluster, 0), REDLOCK_OK);
    UNTIL_DONE(0);
    for (unsigned i = 0; i < 100; i++) {
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
    }
}

TEST(s13_the_count_begins_anew_with_each_acquire)
{
    CLUSTER(3);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_INT(acquire_limited(cluster, 1), REDLOCK_OK);
        UNTIL_DONE(0);
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        CHECK_INT(cluster_extend(cluster, 0, 0, DOOR_TTL), REDLOCK_EXTENSION_LIMIT);
        RELEASE(0);
        RUN_MS(1);
    }
}

/* ---- S14: the next attempt waits a random time, at least as long as the last round took ---- */

/* Between one attempt's start and the next, of the client that asks for this TTL; how
 * many there were. */
static unsigned gaps_between_attempts(const struct model_node *node, int64_t ttl_ms,
                                      uint64_t gaps[], unsigned max)
{
    unsigned count = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < node->call_count && count < max; i++) {
        if (strcmp(node->calls[i].name, "SET") != 0 || node->calls[i].ttl_ms != ttl_ms) continue;
        if (last > 0) gaps[count++] = node->calls[i].at_us - last;
        last = node->calls[i].at_us;
    }
    return count;
}

TEST(s14_the_pause_is_at_least_as_long_as_the_last_round_took)
{
    CLUSTER_OF(3, 1, config.retry_ms = 1);
    uint64_t gaps[64];
    RIVAL_ON_ALL("door", 60000);
    DELAY_ALL_US(50000);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 10000);
    const unsigned count = gaps_between_attempts(NODE(0), DOOR_TTL, gaps, 64);
    CHECK(count >= 10);
    for (unsigned i = 0; i < count; i++)
        CHECK(gaps[i] >= 200000); /* The round, and the pause. */
}

TEST(s14_the_pause_is_redrawn_each_time_and_about_as_long_as_configured)
{
    CLUSTER_OF(3, 1, config.retry_ms = 100);
    uint64_t gaps[200], sum = 0;
    unsigned same = 0;
    RIVAL_ON_ALL("door", 60000);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 10000);
    const unsigned count = gaps_between_attempts(NODE(0), DOOR_TTL, gaps, 200);
    for (unsigned i = 0; i < count; i++) {
        sum += gaps[i];
        same += i > 0 && gaps[i] == gaps[i - 1];
    }
    CHECK(count >= 50 && count <= 200);
    CHECK(same < count / 10);
    CHECK(sum / count > 50000 && sum / count < 150000);
}

TEST(s14_two_clients_draw_different_pauses)
{
    CLUSTER_OF(3, 2, (void)0);
    uint64_t first[64], second[64];
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", DOOR_TTL, 5000);
    START_ACQUIRE(1, "door", DOOR_TTL + 1, 5000);
    UNTIL_DONE(0); UNTIL_DONE(1);
    const unsigned a = gaps_between_attempts(NODE(0), DOOR_TTL, first, 64);
    const unsigned b = gaps_between_attempts(NODE(0), DOOR_TTL + 1, second, 64);
    CHECK(a > 5 && b > 5);
    CHECK(memcmp(first, second, 5 * sizeof first[0]) != 0);
}

TEST(s14_two_clients_that_contend_both_get_the_lock_in_the_end)
{
    CLUSTER_OF(5, 2, (void)0);
    START_ACQUIRE(0, "door", DOOR_TTL, 20000);
    START_ACQUIRE(1, "door", DOOR_TTL, 20000);
    UNTIL_DONE(0);
    const unsigned winner = redlock_lock_status(LOCK(0)) == REDLOCK_OK && VALID_US(0) > 0 ? 0 : 1;
    RUN_MS(2000);
    EXPECT_STATUS(winner, REDLOCK_OK);
    RELEASE(winner);
    UNTIL_DONE(1 - winner);
    EXPECT_STATUS(1 - winner, REDLOCK_OK);
}

/* ---- S16: bytes that are not RESP2, or that nobody asked for, end the connection ---- */

static void answer_set_with(const char *bytes, size_t size)
{
    CLUSTER(3);
    for (unsigned k = 0; k < 3; k++) story_plan(NODE(k), "SET", bytes, size, 1, true);
    TAP_CONTEXT("%.*s", (int)(size < 40 ? size : 40), bytes);
    const uint64_t before = CLIENT_NOW(0);
    ACQUIRE(0, "door", 2000);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK_INT(CLIENT_NOW(0) - before, ROUND_US); /* Found out at once, not by waiting for more. */
    RUN_US(0); /* The verdict needs two answers; here is the third. */
    for (unsigned k = 0; k < 3; k++) {
        EXPECT_VOTE(0, k, REDLOCK_VOTE_UNKNOWN);
        EXPECT_TROUBLE(0, k, REDLOCK_TROUBLE_PROTOCOL);
    }
    RUN_MS(3000);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(LINK(0, k)->connect_count, 2);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    ACQUIRE(0, "door", 2000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s16_bytes_that_are_not_resp2_end_the_connection_with_an_unknown_vote)
{
    static const char *const hostile[] = {
        /* Other languages, such as RESP3, HTTP, TLS, SSH, SMTP, and silence made of line ends. */
        "%1\r\n+a\r\n:1\r\n", "#t\r\n", "_\r\n", ",1.5\r\n", "(12\r\n", "~1\r\n:1\r\n",
        ">1\r\n+a\r\n", "!3\r\nERR\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n", "\x15\x03\x01\x02\x02\x16", "SSH-2.0-OpenSSH_9.2\r\n",
        "220 smtp\r\n",
        "\r\n", "\n", " ",
        /* Numbers that are none, or too large. */
        ":\r\n", ":1 \r\n", ":+1\r\n", ":01\r\n", ":--1\r\n", ":1x\r\n", ":9223372036854775808\r\n",
        ":99999999999999999999999\r\n",
        "$-2\r\n", "$01\r\na\r\n", "$\r\n", "$65537\r\n", "$536870913\r\n",
        "$18446744073709551615\r\n",
        "$18446744073709551618\r\n",
        "*-2\r\n", "*\r\n", "*4294967296\r\n", "*2147483648\r\n", "*18446744073709551617\r\n",
        /* Broken ends, and too deep. */
        "$2\r\nOKxx", "+OK\n", "+OK\rx", "+O\nK\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n",
    };
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++)
        answer_set_with(hostile[i], strlen(hostile[i]));
    answer_set_with("\0\0\0\0", 4);
}

TEST(s16_an_answer_of_the_wrong_type_ends_the_connection_with_an_unknown_vote)
{
    static const char *const wrong[] = {
        "+QUEUED\r\n", ":1\r\n", "$2\r\nOK\r\n", "*0\r\n", "*-1\r\n", "*2\r\n+OK\r\n+OK\r\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        answer_set_with(wrong[i], strlen(wrong[i]));
}

enum { FLOOD = 300000 };

static void flood_set_with(const char *head, char with, bool ends)
{
    char *bytes = malloc(FLOOD + 64);
    const size_t size = strlen(head);
    memset(bytes, with, FLOOD + 64);
    memcpy(bytes, head, size);
    if (ends) memcpy(bytes + FLOOD, "\r\n", 2);
    answer_set_with(bytes, FLOOD + 2);
    free(bytes);
}

TEST(s16_an_endless_line_or_a_flood_ends_the_connection)
{
    flood_set_with("+", 'x', false);
    flood_set_with("$70000\r\n", '+', false);
    flood_set_with(":", '1', false);
    flood_set_with("$", '1', false);
    flood_set_with("*", '*', false);
}

TEST(s16_a_grant_before_a_flood_that_nobody_asked_for_is_no_lasting_harm)
{
    CLUSTER(1);
    DOES_BUT_ANSWERS(0, "SET", "+OK\r\n%hostile");
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(3000);
    CHECK_INT(LINK(0, 0)->connect_count, 2);
    RELEASE(0);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

static void push_unasked(const char *bytes, size_t size)
{
    CLUSTER(1);
    TAP_CONTEXT("%.20s", bytes);
    cluster_push(cluster, 0, bytes, size);
    RUN_US(CLUSTER_DELAY_US);
    CHECK(!VOTES(0, 0));
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_PROTOCOL);
    RUN_MS(3000);
    CHECK(VOTES(0, 0));
    CHECK_INT(LINK(0, 0)->connect_count, 2);
}

TEST(s16_an_answer_that_nobody_asked_for_ends_the_connection)
{
    static const char *const replies[] = {
        "+OK\r\n", ":1\r\n", "$-1\r\n", "-ERR bored\r\n", "*0\r\n", "*1\r\n:1\r\n"
    };
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++)
        push_unasked(replies[i], strlen(replies[i]));
}

TEST(s16_a_flood_that_nobody_asked_for_ends_the_connection)
{
    static char flood[FLOOD];
    for (size_t i = 0; i + 5 <= sizeof flood; i += 5) memcpy(flood + i, "+OK\r\n", 5);
    push_unasked(flood, sizeof flood);
}

TEST(s16_a_node_that_keeps_sending_nonsense_is_tried_ever_more_rarely)
{
    CLUSTER(1);
    for (unsigned i = 0; i < 20; i++) {
        cluster_push(cluster, 0, "+OK\r\n", 5);
        RUN_MS(500);
    }
    CHECK(LINK(0, 0)->connect_count >= 3 && LINK(0, 0)->connect_count <= 15);
}

TEST(s16_an_answer_that_nobody_asked_for_does_not_become_the_grant_of_the_next_lock)
{
    CLUSTER(1);
    RIVAL(0, "door", DOOR_TTL);
    cluster_push(cluster, 0, "+OK\r\n", 5);
    RUN_MS(1);
    ACQUIRE(0, "door", DOOR_TTL);
    CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
    EXPECT_NOT_HELD(0);
}

static void shake_hands_with(const char *command, const char *bytes)
{
    CLUSTER_COLD(3, 1, (void)0);
    TAP_CONTEXT("%s answered %.40s", command, bytes);
    ANSWERS(2, command, bytes);
    DOWN(1);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK(!VOTES(0, 2));
    CHECK_INT(CALLS(2, "SET"), 0);
    RUN_MS(5000);
    ANSWERS_AS_EVER(2);
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 30000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s16_a_handshake_answered_with_nonsense_gives_no_vote)
{
    static const char *const commands[] = { "INFO", "EVAL" };
    static const char *const bytes[] = {
        "+OK\r\n", ":1\r\n", "$-1\r\n", "*-1\r\n", "*0\r\n", "$0\r\n\r\n", "%0\r\n",
        "HTTP/1.1 400\r\n",
        "$5\r\nabc\r\n\r\n", "*1\r\n:1\r\n", "*1\r\n*1\r\n$6\r\nmaster\r\n", "+master\r\n",
    };
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
            if (c == 0 || strcmp(bytes[i], "$-1\r\n") != 0) shake_hands_with(commands[c], bytes[i]);
}

TEST(s16_a_long_error_is_skipped_and_costs_no_connection)
{
    CLUSTER_OF(1, 1, config.receive_size = REDLOCK_RECEIVE_MIN);
    static char text[5000];
    memset(text, 'x', sizeof text);
    memcpy(text, "-ERR it is a long story ", 24);
    memcpy(text + sizeof text - 2, "\r\n", 2);
    story_plan(NODE(0), "SET", text, sizeof text, 1, false);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_UNKNOWN);
    EXPECT_WORDS(0, 0, "ERR it is a long story");
    RUN_MS(100);
    CHECK_INT(LINK(0, 0)->connect_count, 1);
}

TEST(s16_a_node_that_falls_silent_is_left_and_tried_again)
{
    CLUSTER(3);
    STALL(2);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(2000);
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_SILENT);
    CHECK(!VOTES(0, 2));
    HEAL_ALL;
    RUN_MS(10000);
    CHECK(VOTES(0, 2));
}

/* ---- S24: the polls of a fair lock ---- */

static void start_fair(struct cluster *cluster, unsigned client, uint32_t wait_ms)
{
    struct redlock_request request = story_request("door", DOOR_TTL, wait_ms);

    request.kind = &redlock_fair;
    CHECK_INT(cluster_acquire(cluster, client, 0, &request), REDLOCK_OK);
}

/* Two nodes have the key for it, but no round was granted by both. */
TEST(s24_grants_of_two_rounds_are_not_added)
{
    CLUSTER_OF(3, 1, config.guard_ms = 0);
    RIVAL(1, "door", 600000);
    RIVAL(2, "door", 600000);
    start_fair(cluster, 0, 100000);
    RUN_MS(300);
    CHECK(cluster_key(cluster, 0, "door"));
    STALL(0);
    REMOVE_KEY(1, "door");
    RUN_MS(1000);
    CHECK(cluster_key(cluster, 0, "door") && cluster_key(cluster, 1, "door"));
    EXPECT_STATUS(0, REDLOCK_PENDING);
    EXPECT_NOT_HELD(0);
    HEAL(0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 2);
}

TEST(s24_a_fair_lock_polls_by_one_token_and_each_acquire_has_another)
{
    char first[REDLOCK_TOKEN_TEXT + 1], now[REDLOCK_TOKEN_TEXT + 1];
    CLUSTER(3);
    RIVAL_ON_ALL("door", 2000);
    start_fair(cluster, 0, 100000);
    redlock_token(LOCK(0), first);
    RUN_MS(1500);
    CHECK(CALLS(0, "ACQUIRE") > 3);
    redlock_token(LOCK(0), now);
    CHECK_STR(now, first);
    CHECK_INT(CALLS(0, "RELEASE"), 0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    start_fair(cluster, 0, 0);
    redlock_token(LOCK(0), now);
    CHECK(strcmp(now, first) != 0);
}

/* Commands sent on a connection that broke are executed after the round that was counted, and give
 * nothing away. */
TEST(s24_a_poll_of_an_older_round_changes_nothing)
{
    CLUSTER_OF(3, 2, (void)0);
    struct model_session late = { .closing = false };
    char token[REDLOCK_TOKEN_TEXT + 1], place[40], text[4096];
    start_fair(cluster, 0, 0);
    UNTIL_DONE(0);
    start_fair(cluster, 1, 100000);
    RUN_MS(300);
    const struct redlock_turn turn = LOCK(1)->line.turn;
    const unsigned old = LOCK(1)->round.number;
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    redlock_token(LOCK(1), token);
    /* Another is in the queue, and by an earlier turn where this one's has run out. */
    start_fair(cluster, 0, 100000);
    RUN_MS(WIRE_FAIR_LEASE_MS + 1000);
    CHECK(LOCK(1)->round.number > old);
    snprintf(place, sizeof place, "%u %u 1 ", turn.number + 9, old);
    const int size = snprintf(
        text, sizeof text,
        "*10\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n$1\r\n1\r\n$4\r\ndoor\r\n$40\r\n%s\r\n"
        "$5\r\n10000\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n1\r\n$%zu\r\n%s\r\n",
        strlen(WIRE_FAIR_ACQUIRE_SCRIPT), WIRE_FAIR_ACQUIRE_SCRIPT, token, strlen(place), place);
    for (unsigned k = 0; k < 3; k++) {
        model_session_begin(NODE(k), &late);
        model_session_receive(NODE(k), &late, text, (size_t)size, cluster_node_now(cluster, k));
        model_session_end(&late);
    }
    EXPECT_KEYS("door", 3);
    EXPECT_HELD(1);
    RUN_MS(500);
    EXPECT_STATUS(0, REDLOCK_PENDING);
}

/* ---- S25: strict order ---- */

TEST(s25_nobody_who_comes_behind_a_waiter_that_is_queued_gets_in_before_it)
{
    CLUSTER_OF(5, 3, (void)0);
    start_fair(cluster, 0, 0);
    UNTIL_DONE(0);
    STALL(3);
    STALL(4);
    start_fair(cluster, 1, 100000);     /* Queued on a quorum, */
    RUN_MS(200);
    FREEZE(1);
    HEAL_ALL;                           /* and not on the nodes that are back. */
    RELEASE(0);
    start_fair(cluster, 2, 1000);
    UNTIL_DONE(2);
    EXPECT_STATUS(2, REDLOCK_TIMEOUT);
    THAW(1);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* ---- S26: a lock of Redisson's is of one node ---- */

/* A Java holder takes several nodes one after the other without a look at the clock. A quorum of
 * such locks is no promise. */
TEST(s26_a_lock_of_Redissons_is_of_one_node_only)
{
    for (unsigned n = 1; n <= 5; n++) {
        CLUSTER(n);
        struct redlock_request request = story_request("door", DOOR_TTL, 0);
        request.kind = &redlock_redisson;
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), n == 1 ? REDLOCK_OK : REDLOCK_BAD_KIND);
        CHECK_INT(cluster_adopt_as(cluster, 0, 1, &redlock_redisson, "door",
                                   "0123456789abcdef0123456789abcdef01234567"),
                  n == 1 ? REDLOCK_OK : REDLOCK_BAD_KIND);
        CHECK_INT(redlock_idle(LOCK(0)), n > 1);
    }
}

TAP_MAIN
