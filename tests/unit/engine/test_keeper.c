/* The keeper. Tests when it extends, its reports, when it ends, and which keys an
 * extension sets again. */
#include "../../world/story.h"
#include "../../../redlock/wire.h"

enum {
    DOOR_TTL = 10000,
    THIRD_MS = 3300,            /* A third of it, when the keeper extends at the latest, */
    SPREAD_MS = 412,            /* and so much earlier at most. */
    EXTENSIONS = 20,
    SHORT_TTL = 700,            /* With 1 percent it is extended after 7 ms, without a spread. */
    SHORT_INTERVAL_MS = 7,
    SHORT_DRIFT_MS = 9
};

static enum redlock_status acquire_limited(struct cluster *cluster, uint32_t limit)
{
    struct redlock_request request = story_request("door", DOOR_TTL, 0);

    request.extension_limit = limit;
    return cluster_acquire(cluster, 0, 0, &request);
}

/* When the node got its i-th extension; 0: there was none. */
static uint64_t extended_at(const struct model_node *node, unsigned i)
{
    for (size_t j = 0; j < node->call_count; j++)
        if (strcmp(node->calls[j].name, "EXTEND") == 0 && i-- == 0) return node->calls[j].at_us;
    return 0;
}

static int64_t last_extension_ms(const struct model_node *node)
{
    int64_t ttl_ms = 0;

    for (size_t j = 0; j < node->call_count; j++)
        if (strcmp(node->calls[j].name, "EXTEND") == 0) ttl_ms = node->calls[j].ttl_ms;
    return ttl_ms;
}

/* Runs until node 0 has got an extension, or the TTL is over. */
static void run_until_extended(struct cluster *cluster)
{
    RUN_WHILE(CALLS(0, "EXTEND") == 0, LOCK(0)->ttl_ms);
    CHECK_INT(CALLS(0, "EXTEND"), 1);
}

#define KEEP(client, hold_ms) CHECK_INT(cluster_keep(cluster, (client), 0, (hold_ms)), REDLOCK_OK)

/* ---- When it extends ---- */

TEST(a_copy_of_a_lock_is_not_kept)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
    struct redlock_lock copy = *LOCK(0);
    CHECK_INT(redlock_keep(ENGINE(0), &copy, 0, CLIENT_NOW(0)), REDLOCK_BAD_LOCK);
    CHECK_INT(redlock_keep(ENGINE(0), LOCK(0), 0, CLIENT_NOW(0)), REDLOCK_OK);
}

TEST(a_third_of_the_TTL_is_counted_from_where_the_last_extension_began_and_spread)
{
    CLUSTER(3);
    uint64_t least = UINT64_MAX, most = 0;

    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    /* Each extension takes 0.4 s, so counting from its end would be too late. */
    DELAY_ALL_US(200000);
    RUN_MS((EXTENSIONS + 2) * THIRD_MS);
    for (unsigned i = 1; i < EXTENSIONS; i++) {
        const uint64_t gap = extended_at(NODE(0), i) - extended_at(NODE(0), i - 1);
        if (gap < least) least = gap;
        if (i > 1 && gap > most) most = gap;
    }
    TAP_CHECK(most <= THIRD_MS * 1000 + 1000, "the longest pause is %llu us",
              (unsigned long long)most);
    TAP_CHECK(least >= (THIRD_MS - SPREAD_MS - 1) * 1000, "the shortest pause is %llu us",
              (unsigned long long)least);
    TAP_CHECK(most - least > SPREAD_MS * 1000 / 2, "the pauses differ by %llu us",
              (unsigned long long)(most - least));
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
}

TEST(the_part_of_the_TTL_can_be_set_from_1_to_90_percent)
{
    static const uint8_t percents[] = { 1, 50, REDLOCK_KEEP_PERCENT_MAX };

    for (unsigned i = 0; i < 3; i++) {
        TAP_CONTEXT("%u percent", percents[i]);
        CLUSTER_OF(3, 1, config.keep_percent = percents[i]);
        ACQUIRE(0, "door", DOOR_TTL);
        KEEP(0, 0);
        const uint64_t interval_ms = (uint64_t)percents[i] * DOOR_TTL / 100;
        RUN_MS(interval_ms * 7 / 8 - 2);
        CHECK_INT(CALLS(0, "EXTEND"), 0);
        RUN_MS(interval_ms / 8 + 3);
        CHECK(CALLS(0, "EXTEND") > 0);
        RUN_MS(3 * DOOR_TTL);
        EXPECT_HELD(0);
    }
}

TEST(an_extension_by_the_caller_makes_the_keepers_next_one_later)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    RUN_MS(2500);
    EXTEND(0, DOOR_TTL);
    RUN_MS(2500);
    CHECK_INT(CALLS(0, "EXTEND"), 1);
    RUN_MS(1000);
    CHECK_INT(CALLS(0, "EXTEND"), 2);
}

/* A third of the TTL that it would have had is more than is left. */
TEST(an_extension_by_the_caller_that_fails_leaves_the_lock_to_the_keeper)
{
    CLUSTER_OF(3, 1, config.guard_ms = 0);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    RUN_MS(2000);
    HANG(0); HANG(1);
    EXTEND(0, 4 * DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RESUME(0); RESUME(1);
    RUN_MS(3 * DOOR_TTL);
    EXPECT_HELD(0);
}

TEST(the_callers_extension_takes_the_place_of_the_keepers)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    DELAY_ALL_US(200000);
    run_until_extended(cluster);
    EXPECT_STATUS(0, REDLOCK_OK);       /* The keeper's is under way, and quiet. */
    START_EXTEND(0, 20000);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(VALID_US(0) > 15000000);
}

TEST(a_lock_can_be_given_to_the_keeper_while_it_is_extended)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    START_EXTEND(0, DOOR_TTL);
    KEEP(0, 0);
    UNTIL_DONE(0);
    RUN_MS(3 * DOOR_TTL);
    EXPECT_HELD(0);
}

/* The longest pause in microseconds does not fit in 32 bits. */
TEST(behind_an_extension_that_failed_the_keeper_pauses_for_half_of_retry_ms_or_more)
{
    enum { DAY_MS = 86400000, HALF_MS = REDLOCK_RETRY_MS_MAX / 2, TRIES = 20 };
    CLUSTER_OF(3, 1, config.retry_ms = REDLOCK_RETRY_MS_MAX; config.guard_ms = 0;
               config.keep_percent = 1);

    ACQUIRE(0, "door", 20 * DAY_MS);
    KEEP(0, 0);
    for (unsigned k = 0; k < 3; k++) ANSWERS(k, "EVALSHA", "-BUSY\r\n");
    for (unsigned i = 0; i < TRIES; i++) {
        const size_t count = CALLS(0, "EXTEND");
        for (unsigned s = 0; s < DAY_MS / 1000 && CALLS(0, "EXTEND") == count; s++) RUN_MS(1000);
        RUN_MS(1000);
        CHECK_INT(CALLS(0, "EXTEND"), count + 1);
        RUN_MS(HALF_MS - 2000);
        CHECK_INT(CALLS(0, "EXTEND"), count + 1);
    }
}

/* The next operation reads from it how long a round takes. */
TEST(an_extension_of_the_keepers_that_ends_with_the_lock_is_decided)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    HANG(0); HANG(1); HANG(2);
    RUN_WHILE(LOCK(0)->round.command != REDLOCK_COMMAND_EXTEND, DOOR_TTL);
    CHECK_INT(LOCK(0)->round.decided_at, 0);
    FREEZE(0);
    RUN_MS(2 * DOOR_TTL);
    THAW(0);
    cluster->clients[0].starved = true;
    memset(ENGINE(0)->entropy, 0, sizeof ENGINE(0)->entropy);
    /* No attempt begins then, whose round would be another one. */
    ENGINE(0)->entropy_size = 0;
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    CHECK_INT(LOCK(0)->round.command, REDLOCK_COMMAND_EXTEND);
    CHECK_INT(LOCK(0)->round.decided_at, CLIENT_NOW(0));
}

/* Somebody kills all connections to all nodes, again and again, within a shorter time than that
 * between two extensions. */
TEST(connections_that_break_twenty_times_a_second_cost_no_lock_and_no_waiter)
{
    enum { TTL_MS = 2000, EVERY_MS = 50, HOLDS = 200 };
    CLUSTER_OF(3, 2, config.wake_ups = true);

    DELAY_ALL_US(1000);
    ACQUIRE(0, "held", TTL_MS);
    KEEP(0, 0);
    for (unsigned i = 0; i < HOLDS; i++) {
        ACQUIRE_WAIT(1, "door", TTL_MS, 20000);
        EXPECT_STATUS(1, REDLOCK_OK);
        RELEASE(1);
        for (unsigned k = 0; k < 3; k++) {
            RESET(0, k);
            RESET(1, k);
            cluster_cut_subscription(cluster, 1, k);
            HEAL(k);
        }
        RUN_MS(EVERY_MS);
        TAP_CONTEXT("hold %u", i);
        EXPECT_HELD(0);
    }
    /* Each time at once. */
    for (unsigned k = 0; k < 3; k++) CHECK(LINK(0, k)->connect_count >= HOLDS);
}

TEST(a_cancel_does_not_end_what_the_keeper_does)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    DELAY_ALL_US(200000);
    run_until_extended(cluster);
    cluster_cancel(cluster, 0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(500);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 3);
    CHECK(VALID_US(0) > 9000000);
}

TEST(a_debt_that_comes_due_is_no_reason_to_extend)
{
    CLUSTER(3);
    RIVAL(0, "door", 200); RIVAL(1, "door", 200);
    ANSWERS_ONCE(2, "EVALSHA", "-MISCONF Redis is configured to save RDB snapshots, but ...\r\n");
    ACQUIRE_WAIT(0, "door", DOOR_TTL, 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    KEEP(0, 0);
    RUN_MS(1500);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    EXPECT_KEYS("door", 2);
    CHECK_INT(CALLS(0, "EXTEND"), 0);
    RUN_MS(3000);                       /* The extension sets it again where the debt was. */
    EXPECT_KEYS("door", 3);
}

/* ---- What it keeps, and what it tells ---- */

TEST(only_a_lock_that_is_held_can_be_kept)
{
    CLUSTER(3);
    char token[REDLOCK_TOKEN_TEXT + 1];

    CHECK_INT(redlock_keep(ENGINE(0), LOCK(0), 0, CLIENT_NOW(0)), REDLOCK_BAD_STATE);
    START_ACQUIRE(0, "door", DOOR_TTL, 0);
    CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_BAD_STATE);
    UNTIL_DONE(0);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt(cluster, 0, 1, "door", token), REDLOCK_OK);
    /* Nobody has confirmed it yet. */
    CHECK_INT(cluster_keep(cluster, 0, 1, 0), REDLOCK_LOST);
    cluster_forget(cluster, 0, 1);
    RUN_MS(DOOR_TTL);
    EXPECT_NOT_HELD(0);
    CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_LOST);
    RUN_MS(DOOR_TTL);
    CHECK_INT(CALLS(0, "EXTEND"), 0);
}

TEST(the_first_extension_that_fails_is_told_and_so_is_the_next_that_does_not)
{
    CLUSTER(3);
    cluster->clients[0].keeps_done = true;
    ACQUIRE(0, "door", DOOR_TTL);
    CHECK(redlock_next_done(ENGINE(0)) == LOCK(0));
    KEEP(0, 0);
    RUN_MS(2 * THIRD_MS);
    CHECK(!redlock_next_done(ENGINE(0)));       /* All is well, and that is no news. */
    CHECK(LOCK(0)->round.decided_at > LOCK(0)->round.started_at);
    HANG(0); HANG(1);
    RUN_MS(THIRD_MS + 600);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK(redlock_next_done(ENGINE(0)) == LOCK(0));
    EXPECT_HELD(0);
    RUN_MS(1000);
    CHECK(!redlock_next_done(ENGINE(0)));       /* The second that fails is none either. */
    RESUME(0); RESUME(1);
    RUN_MS(2000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(redlock_next_done(ENGINE(0)) == LOCK(0));
    EXPECT_HELD(0);
}

TEST(s9_the_keeper_extends_nothing_whose_validity_has_ended_and_says_so)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    for (unsigned k = 0; k < 3; k++) HANG(k);
    RUN_MS(DOOR_TTL - 103);
    EXPECT_HELD(0);
    RUN_MS(3);
    EXPECT_NOT_HELD(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    RUN_MS(1000);
    for (unsigned k = 0; k < 3; k++) RESUME(k);
    RUN_MS(2000);
    EXPECT_NOT_HELD(0);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s10_a_process_that_was_stopped_beyond_the_end_finds_its_lock_lost)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    RUN_MS(1000);
    FREEZE(0);
    RUN_MS(DOOR_TTL);
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    THAW(0);
    RUN_MS(100);
    EXPECT_NOT_HELD(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    CHECK_INT(CALLS(0, "EXTEND"), 0);
}

TEST(s9_an_extension_that_is_answered_beyond_the_end_is_lost)
{
    CLUSTER_OF(3, 1, config.keep_percent = REDLOCK_KEEP_PERCENT_MAX);
    ACQUIRE(0, "door", 1000);
    KEEP(0, 0);
    RUN_MS(780);
    for (unsigned k = 0; k < 3; k++) DEAFEN(k);
    RUN_MS(210);
    CHECK_INT(CALLS(0, "EXTEND"), 1);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_NOT_HELD(0);
    CHECK(!LOCK(0)->is_kept);
}

/* ---- What is told once ---- */

static struct redlock_event_ring events;
static struct redlock_event ring[8];

#define WATCH_ENDS \
    do { \
        redlock_use_events(ENGINE(0), &events, ring, 8); \
        events.kinds = REDLOCK_EVENT_BIT(REDLOCK_EVENT_ENDED); \
    } while (0)

static void expect_end(enum redlock_status status)
{
    struct redlock_event event;
    CHECK(redlock_next_event(&events, &event) && event.kind == REDLOCK_EVENT_ENDED);
    CHECK_STR(redlock_status_text(event.as.status), redlock_status_text(status));
}

static void expect_no_end(void)
{
    struct redlock_event event;
    CHECK(!redlock_next_event(&events, &event));
}

TEST(s10_the_loss_of_a_lock_is_told_once)
{
    for (unsigned is_under_way = 0; is_under_way < 2; is_under_way++) {
        CLUSTER_OF(3, 1, config.keep_percent = REDLOCK_KEEP_PERCENT_MAX);
        TAP_CONTEXT("%s", is_under_way ? "an extension was under way" : "the process was stopped");
        ACQUIRE(0, "door", 1000);
        KEEP(0, 0);
        WATCH_ENDS;
        if (is_under_way) RUN_MS(780);
        if (is_under_way) STORY_NODES DEAFEN(story_k);
        else FREEZE(0);
        RUN_MS(1000);
        THAW(0);
        RUN_MS(100);
        expect_end(REDLOCK_LOST);
        expect_no_end();
        CHECK_INT(LOCK(0)->phase, REDLOCK_PHASE_HELD);
    }
}

TEST(s13_the_end_of_the_keeping_is_told_once)
{
    for (unsigned is_timed = 0; is_timed < 2; is_timed++) {
        CLUSTER(3);
        TAP_CONTEXT("%s", is_timed ? "by time" : "by number");
        CHECK_INT(acquire_limited(cluster, is_timed ? 0 : 1), REDLOCK_OK);
        UNTIL_DONE(0);
        KEEP(0, is_timed ? DOOR_TTL + 2000 : 0);
        WATCH_ENDS;
        RUN_MS(DOOR_TTL);
        expect_end(REDLOCK_EXTENSION_LIMIT);
        expect_no_end();
    }
}

TEST(s13_a_last_extension_that_fails_is_made_once_more)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, DOOR_TTL + 2000);
    WATCH_ENDS;
    HANG(0); HANG(1);
    RUN_MS(THIRD_MS + 600);
    RESUME(0); RESUME(1);
    RUN_MS(2000);
    expect_end(REDLOCK_NO_QUORUM);
    expect_end(REDLOCK_EXTENSION_LIMIT);
    expect_no_end();
    EXPECT_HELD(0);
    CHECK(LOCK(0)->valid_until > LOCK(0)->use.keep.until - 200000);
}

/* ---- */

/* Or many clients would come back to a node in the same moment; and time stands still
 * during a tick. */
TEST(s14_after_an_extension_that_failed_the_next_one_waits)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    for (unsigned k = 0; k < 3; k++)
        ANSWERS(k, "EVALSHA", "-BUSY Redis is busy running a script.\r\n");
    RUN_MS(DOOR_TTL - 110);
    EXPECT_HELD(0);
    const uint64_t calls = ENGINE(0)->nodes[0].asked_count, rounds = LOCK(0)->round.number;
    CHECK(calls <= 1);
    TAP_CHECK(rounds > 30 && rounds < 150, "%llu rounds", (unsigned long long)rounds);
}

TEST(a_released_lock_is_kept_no_more)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    KEEP(0, 0);
    RELEASE(0);
    RUN_MS(3 * DOOR_TTL);
    CHECK_INT(CALLS(0, "EXTEND"), 0);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
}

/* ---- S13: for how long ---- */

TEST(s13_the_keeper_stops_at_the_limit_of_extensions_and_says_so)
{
    CLUSTER(3);
    CHECK_INT(acquire_limited(cluster, 2), REDLOCK_OK);
    UNTIL_DONE(0);
    KEEP(0, 0);
    RUN_MS(2 * THIRD_MS + 100);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(CALLS(0, "EXTEND"), 2);
    RUN_MS(THIRD_MS);
    EXPECT_STATUS(0, REDLOCK_EXTENSION_LIMIT);
    EXPECT_HELD(0);                     /* The rest of its time is left. */
    RUN_MS(DOOR_TTL);
    EXPECT_NOT_HELD(0);
    CHECK_INT(CALLS(0, "EXTEND"), 2);
}

TEST(s13_no_validity_reaches_beyond_the_time_that_a_lock_may_be_kept_for)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    const uint64_t end = CLIENT_NOW(0) + 25000000;
    uint64_t last = 0;

    KEEP(0, 25000);
    for (unsigned i = 0; i < 3000; i++) {
        const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
        TAP_CHECK(VALID_US(0) == 0 || until <= end, "%llu us too long",
                  (unsigned long long)(until - end));
        if (VALID_US(0) > 0) last = until;
        RUN_MS(10);
    }
    CHECK(last > end - 200000);         /* All but the drift of the last extension. */
    EXPECT_STATUS(0, REDLOCK_EXTENSION_LIMIT);
    EXPECT_NOT_HELD(0);
}

/* At 7 ms the TTL that may still be given is hold_ms - 6, and 684 ms are left. */
static void hold_for(uint32_t hold_ms, int64_t extension_ms, enum redlock_status status)
{
    CLUSTER_OF(3, 1, config.keep_percent = 1);
    TAP_CONTEXT("kept for %u ms", hold_ms);
    ACQUIRE(0, "door", SHORT_TTL);
    RUN_US(1000 - 2 * CLUSTER_DELAY_US);
    KEEP(0, hold_ms);
    CHECK_INT(LOCK(0)->use.keep.at, LOCK(0)->valid_from + SHORT_INTERVAL_MS * 1000);
    RUN_US(SHORT_INTERVAL_MS * 1000);
    CHECK_INT(last_extension_ms(NODE(0)), extension_ms);
    EXPECT_STATUS(0, status);
}

/* More than 2^16 * 1000 us. */
TEST(s13_the_last_extension_may_be_longer_than_a_minute)
{
    CLUSTER_OF(3, 1, config.guard_ms = 120000);
    ACQUIRE(0, "door", 120000);
    const uint64_t until = CLIENT_NOW(0) + 120000000;
    KEEP(0, 120000);
    run_until_extended(cluster);
    CHECK_INT(last_extension_ms(NODE(0)), (until - LOCK(0)->round.started_at) / 1000);
}

TEST(s13_the_last_extension_is_as_long_as_may_be_to_the_millisecond)
{
    enum {
        LEFT_MS = SHORT_TTL - SHORT_DRIFT_MS - SHORT_INTERVAL_MS,
        GONE_MS = SHORT_INTERVAL_MS - 1
    };

    hold_for(SHORT_TTL + GONE_MS, SHORT_TTL, REDLOCK_OK);
    hold_for(SHORT_TTL + GONE_MS - 1, SHORT_TTL - 1, REDLOCK_EXTENSION_LIMIT);
    hold_for(LEFT_MS + GONE_MS + 1, LEFT_MS + 1, REDLOCK_EXTENSION_LIMIT);
    /* That much time is already left. */
    hold_for(LEFT_MS + GONE_MS, 0, REDLOCK_EXTENSION_LIMIT);
    hold_for(1, 0, REDLOCK_EXTENSION_LIMIT);
    hold_for(0, SHORT_TTL, REDLOCK_OK);                          /* It is kept for ever. */
    hold_for(UINT32_MAX, SHORT_TTL, REDLOCK_OK);
}

/* ---- Keys that are set again ---- */

TEST(a_node_that_has_lost_the_key_gets_it_again_with_the_next_extension)
{
    CLUSTER(3);
    char token[REDLOCK_TOKEN_TEXT + 1];

    ACQUIRE(0, "door", DOOR_TTL);
    redlock_token(LOCK(0), token);
    REMOVE_KEYS(2);
    EXTEND(0, DOOR_TTL);
    RUN_MS(5);
    CHECK_STR(cluster_key(cluster, 2, "door"), token);
    REMOVE_KEYS(0);
    EXTEND(0, DOOR_TTL);                /* Node 2 counts again. */
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

#define WALL_US 1800000000000000
#define LARGER "1800000123456789"       /* Larger than the clients' proposals. */

static void acquire_with_ticket(struct cluster *cluster, unsigned client)
{
    struct redlock_request request = story_request("door", DOOR_TTL, 0);

    request.ticket = true;
    request.wall_us = WALL_US + CLIENT_NOW(client);
    CHECK_INT(cluster_acquire(cluster, client, 0, &request), REDLOCK_OK);
}

static void hold_with_ticket(struct cluster *cluster)
{
    for (unsigned k = 0; k < cluster->node_count; k++) NODE(k)->wall_offset_us = WALL_US;
    acquire_with_ticket(cluster, 0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
}

static void extend_and_look(struct cluster *cluster, unsigned keys)
{
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEYS("door", keys);
}

/* The ticket on node k, as the counter's text; the lock's own when expected is NULL. */
static void expect_counter(struct cluster *cluster, unsigned k, const char *expected)
{
    char own[24];

    (void)snprintf(own, sizeof own, "%llu", (unsigned long long)redlock_ticket(LOCK(0)));
    CHECK_STR(cluster_key(cluster, k, "door#ticket"), expected ? expected : own);
}

/* Each node loses the key, not the counter, one after the other, as when each is cut off for longer
 * than a TTL. */
TEST(a_lock_with_a_ticket_gets_its_key_back_from_each_node_that_kept_the_counter)
{
    CLUSTER(3);
    hold_with_ticket(cluster);
    for (unsigned k = 0; k < 3; k++) {
        REMOVE_KEY(k, "door");
        extend_and_look(cluster, 3);
        expect_counter(cluster, k, NULL);
    }
    RELEASE(0);
    RUN_MS(5);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* A lowered one would let a later holder have a ticket that was given already. */
TEST(s15_a_key_that_is_set_again_lowers_no_counter)
{
    CLUSTER(3);
    hold_with_ticket(cluster);
    REMOVE_KEY(2, "door");
    (void)model_put(NODE(2), "door#ticket", LARGER, 100000, cluster_node_now(cluster, 2));
    extend_and_look(cluster, 3);
    expect_counter(cluster, 2, LARGER);
}

/* A candidate that came earlier has left it there, and was refused by the others. */
TEST(a_node_that_refused_the_ticket_because_of_its_counter_gets_the_key_with_the_next_extension)
{
    CLUSTER(3);
    (void)model_put(NODE(2), "door#ticket", LARGER, 100000, cluster_node_now(cluster, 2));
    hold_with_ticket(cluster);
    EXPECT_KEYS("door", 2);
    extend_and_look(cluster, 3);
    expect_counter(cluster, 2, LARGER);
}

/* The node has forgotten both, or knows an older ticket. */
TEST(s15_a_key_that_is_set_again_brings_its_ticket_with_it)
{
    CLUSTER(3);
    hold_with_ticket(cluster);
    REMOVE_KEYS(2);
    extend_and_look(cluster, 3);
    expect_counter(cluster, 2, NULL);
    REMOVE_KEY(1, "door");
    (void)model_put(NODE(1), "door#ticket", "1700000000000000", 100000,
                    cluster_node_now(cluster, 1));
    extend_and_look(cluster, 3);
    expect_counter(cluster, 1, NULL);
}

TEST(s15_a_key_that_is_set_again_brings_no_ticket_that_is_ahead_of_the_nodes_clock)
{
    CLUSTER(3);
    hold_with_ticket(cluster);
    NODE(2)->wall_offset_us = 0;
    REMOVE_KEYS(2);
    extend_and_look(cluster, 2);
    CHECK_STR(cluster_key(cluster, 2, "door#ticket"), NULL);
    REMOVE_KEY(2, "door");
    (void)model_put(NODE(2), "door#ticket", LARGER, 100000, cluster_node_now(cluster, 2));
    extend_and_look(cluster, 3);        /* It needs to bring none. */
}

TEST(a_key_with_a_ticket_that_is_set_again_takes_nobody_elses_place)
{
    CLUSTER(3);
    hold_with_ticket(cluster);
    REMOVE_KEYS(2);
    RIVAL(2, "door", 60000);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_RIVAL_KEY(2, "door");
    CHECK_STR(cluster_key(cluster, 2, "door#ticket"), NULL);
}

static void hold_set(struct cluster *cluster)
{
    struct redlock_name names[] = {
        { .bytes = "door", .size = 4 }, { .bytes = "attic", .size = 5 }
    };
    const struct redlock_request request = { .set = names, .set_count = 2, .ttl_ms = DOOR_TTL };

    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RUN_MS(5);
}

TEST(a_set_of_which_a_node_has_lost_one_key_gets_it_back)
{
    CLUSTER(3);
    hold_set(cluster);
    RUN_MS(5000);
    REMOVE_KEY(2, "door");
    extend_and_look(cluster, 3);
    EXPECT_KEYS("attic", 3);
    RUN_MS(6000);
    EXPECT_KEYS("attic", 3);            /* Both were extended. */
    EXPECT_KEYS("door", 3);
}

/* Its lock had one before. */
TEST(s15_an_adopted_set_is_set_again_without_a_ticket)
{
    CLUSTER_OF(3, 2, (void)0);
    struct redlock_request request = story_request("gate", DOOR_TTL, 0);
    char token[REDLOCK_TOKEN_TEXT + 1];

    cluster->no_promise = cluster->no_exclusion = true;
    hold_set(cluster);
    redlock_token(LOCK(0), token);
    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    UNTIL_DONE(1);
    RELEASE(1);
    RUN_MS(5);
    CHECK_INT(cluster_adopt_set(cluster, 1, 0, &redlock_plain, cluster->clients[0].locks[0].set, 2,
                                token),
              REDLOCK_OK);
    REMOVE_KEYS(2);
    EXTEND(1, DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(CALLS(2, "RESTORE"), 1);
    CHECK_STR(NODE(2)->calls[NODE(2)->call_count - 1].name, "RESTORE");
    CHECK_INT(NODE(2)->calls[NODE(2)->call_count - 1].ticket, 0);
}

TEST(a_set_is_not_set_again_where_one_of_its_keys_is_anothers)
{
    CLUSTER(3);
    hold_set(cluster);
    REMOVE_KEYS(2);
    RIVAL(2, "attic", 60000);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_RIVAL_KEY(2, "attic");
    EXPECT_KEY_ABSENT(2, "door");
}

/* Somebody has made one of them last for ever. */
TEST(s7_a_set_that_is_set_again_shortens_no_key)
{
    CLUSTER(3);
    char token[REDLOCK_TOKEN_TEXT + 1];

    cluster->no_promise = true;         /* It takes a key without a TTL for one that ends. */
    hold_set(cluster);
    redlock_token(LOCK(0), token);
    (void)model_put(NODE(1), "attic", token, 60000, cluster_node_now(cluster, 1));
    (void)model_put(NODE(2), "attic", token, 0, cluster_node_now(cluster, 2));
    REMOVE_KEY(1, "door");
    extend_and_look(cluster, 3);
    REMOVE_KEY(2, "door");
    extend_and_look(cluster, 3);
    RUN_MS(30000);
    EXPECT_KEYS("door", 0);
    EXPECT_KEYS("attic", 2);
}

TEST(a_key_that_is_set_again_takes_nobody_elses_place)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    REMOVE_KEYS(2);
    RIVAL(2, "door", 60000);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_RIVAL_KEY(2, "door");
    RELEASE(0);
    RUN_MS(5);
    EXPECT_RIVAL_KEY(2, "door");
}

TEST(s8_that_a_key_was_set_again_is_no_vote)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    REMOVE_KEYS(2);
    EXTEND(0, DOOR_TTL);
    RUN_MS(5);
    EXPECT_KEYS("door", 3);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_REFUSED);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 2);
}

/* Somebody may have deleted it on purpose, such as an administrator, or a person who was told to
 * break the lock. */
TEST(s9_where_a_quorum_has_lost_the_key_nothing_is_set_again)
{
    CLUSTER(3);
    cluster->no_promise = true;
    ACQUIRE(0, "door", DOOR_TTL);
    REMOVE_KEYS(0); REMOVE_KEYS(1);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(100);
    EXPECT_KEYS("door", 1);
}

/* An adopted lock begins in the microsecond of its first extension, which made one that was lost
 * look won. */
TEST(s9_behind_an_extension_of_an_adopted_lock_that_is_lost_nothing_is_set_again)
{
    CLUSTER_OF(3, 2, (void)0);
    cluster->no_promise = true;
    char token[REDLOCK_TOKEN_TEXT + 1];

    ACQUIRE(0, "door", DOOR_TTL);
    redlock_token(LOCK(0), token);
    for (unsigned k = 0; k < 3; k++) REMOVE_KEYS(k);
    DELAY_US(2, 20000);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    EXTEND(1, DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RUN_MS(200);
    CHECK_INT(CALLS(2, "EXTEND"), 1);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* So did one that was cancelled. */
TEST(s9_behind_a_cancelled_extension_of_an_adopted_lock_nothing_is_set_again)
{
    CLUSTER_OF(3, 2, (void)0);
    cluster->no_promise = true;
    char token[REDLOCK_TOKEN_TEXT + 1];

    ACQUIRE(0, "door", DOOR_TTL);
    redlock_token(LOCK(0), token);
    for (unsigned k = 0; k < 3; k++) REMOVE_KEYS(k);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    START_EXTEND(1, DOOR_TTL);
    RUN_US(50);
    redlock_cancel(ENGINE(1), LOCK(1), CLIENT_NOW(1));
    EXPECT_STATUS(1, REDLOCK_CANCELLED);
    RUN_MS(200);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(CALLS(k, "EXTEND"), 1);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* The round's time is over before the node has reported that the key is missing. */
TEST(a_key_is_not_set_again_later_than_its_round)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    REMOVE_KEYS(2);
    DELAY_US(2, 400000);                /* 0.8 s for an answer, 0.5 s for a round. */
    EXTEND(0, DOOR_TTL);
    RUN_MS(3000);
    EXPECT_KEY_ABSENT(2, "door");
}

/* A rival may have been given the node when the old validity is over, so the extension needs the
 * other nodes. */
TEST(s9_a_key_is_not_set_again_when_the_old_validity_is_over)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    REMOVE_KEYS(2);
    RUN_MS(900);
    DELAY_US(2, 60000);                 /* It tells at 1020 ms; 988 ms were promised. */
    EXTEND(0, 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(500);
    EXPECT_KEY_ABSENT(2, "door");
}

/* A node that is slow to report, but not too slow, gets the key after the verdict. */
TEST(a_slow_node_gets_its_key_again_behind_the_verdict)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    REMOVE_KEYS(2);
    DELAY_US(2, 20000);
    EXTEND(0, DOOR_TTL);
    EXPECT_KEY_ABSENT(2, "door");
    RUN_MS(100);
    EXPECT_KEYS("door", 3);
}

/* The key that was set again is gone with the release, and then the first SET comes, from a
 * connection that broke long ago. */
static void release_before_the_first_set_comes(bool loses_restore)
{
    CLUSTER(3);
    DELAY_US(2, 600000);
    START_ACQUIRE(0, "door", 10000, 0);
    RUN_MS(100);
    DELAY_US(2, 1000);
    cluster_reset(cluster, 0, 2, true);
    RUN_MS(100);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXTEND(0, 10000);
    RUN_US(2500);
    if (loses_restore) cluster_reset(cluster, 0, 2, true);
    RUN_MS(20);
    CHECK(cluster_key(cluster, 2, "door") != NULL);
    RELEASE(0);
    RUN_MS(20);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    RUN_MS(500);
    CHECK(cluster_key(cluster, 2, "door") != NULL);
    RUN_MS(1500);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
}

TEST(s5_a_key_set_again_is_released_once_more_for_a_first_one_that_arrives_late)
{
    release_before_the_first_set_comes(false);
    release_before_the_first_set_comes(true);
}

/* Otherwise its key would run out there, though all is well. Each further node is one that
 * may be lost. */
TEST(a_slow_node_that_has_lost_its_scripts_is_extended_behind_the_verdict)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    DELAY_US(2, 20000);
    model_flush_scripts(NODE(2));
    EXTEND(0, 2 * DOOR_TTL);
    RUN_MS(DOOR_TTL + 1000);
    EXPECT_KEYS("door", 3);
}

/* A key with a ticket is set again by a script. Node 2, to which a way takes 20 ms, has lost the
 * key. It is extended and is on its way to be set again when that node loses its scripts. */
static void lose_the_scripts_before_the_key_is_set_again(struct cluster *cluster)
{
    struct redlock_request request = story_request("door", DOOR_TTL, 0);

    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXTEND(0, DOOR_TTL);                /* All have the scripts. */
    RUN_MS(5);
    REMOVE_KEYS(2);
    DELAY_US(2, 20000);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(50);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_REFUSED);
    model_flush_scripts(NODE(2));
}

TEST(a_key_is_set_again_by_the_scripts_text_where_the_script_is_gone)
{
    CLUSTER(3);
    lose_the_scripts_before_the_key_is_set_again(cluster);
    EXPECT_KEY_ABSENT(2, "door");
    RUN_MS(100);
    EXPECT_KEYS("door", 3);
}

/* The first node has nothing of the lock. */
TEST(a_key_is_set_again_by_the_scripts_text_whatever_another_node_has)
{
    CLUSTER(5);
    DOWN(0);
    RUN_MS(100);
    lose_the_scripts_before_the_key_is_set_again(cluster);
    RUN_MS(100);
    EXPECT_KEYS("door", 4);
}

/* Or the node would confirm a key that it had lost, before a quorum has confirmed the lock. */
TEST(s9_a_key_whose_script_is_gone_is_not_set_again_during_the_next_extension)
{
    CLUSTER(3);
    lose_the_scripts_before_the_key_is_set_again(cluster);
    RUN_MS(20);
    DELAY_ALL_US(20000);
    START_EXTEND(0, DOOR_TTL);
    RUN_MS(200);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_REFUSED);
    EXPECT_KEYS("door", 3);
}

/* The next attempt holds it with another token, while the release of the first is on
 * its way there. */
TEST(s27_a_key_whose_script_is_gone_is_not_set_again_behind_its_release)
{
    CLUSTER(3);
    lose_the_scripts_before_the_key_is_set_again(cluster);
    RUN_MS(15);
    RELEASE(0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(200);
    EXPECT_KEY_ABSENT(2, "door");
    CHECK_INT(CALLS(2, "RESTORE"), 0);
}

/* Locks 0..count-1 of client 0, more than a pipeline holds. Node 2 has them, too, and
 * then stands still. */
static void acquire_more_than_a_pipeline(struct cluster *cluster, unsigned count)
{
    char name[] = "door 0";

    cluster_need_locks(cluster, 0, count);
    for (unsigned i = 0; i < count; i++, name[5]++) START_ACQUIRE_LOCK(0, i, name, DOOR_TTL, 0);
    RUN_MS(400);
    CHECK_INT(CALLS(2, "SET"), count);
    STALL(2);
}

/* The first one last. */
static void extend_more_than_a_pipeline(struct cluster *cluster, unsigned count)
{
    acquire_more_than_a_pipeline(cluster, count);
    for (unsigned i = count; i-- > 0;)
        CHECK_INT(cluster_extend(cluster, 0, i, DOOR_TTL), REDLOCK_OK);
    RUN_MS(100);
    for (unsigned i = 0; i < count; i++) EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
}

TEST(a_slow_node_whose_pipeline_is_full_is_extended_behind_the_verdict)
{
    CLUSTER_COLD(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN);
    extend_more_than_a_pipeline(cluster, 10);
    HEAL(2);
    RUN_MS(100);
    CHECK_INT(CALLS(2, "EXTEND"), 10);
}

TEST(s9_an_extension_that_could_not_be_sent_is_not_sent_later_than_its_round)
{
    CLUSTER_COLD(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN);
    extend_more_than_a_pipeline(cluster, REDLOCK_PIPELINE_MIN + 1);
    RUN_MS(500);
    HEAL(2);
    RUN_MS(100);
    CHECK_INT(CALLS(2, "EXTEND"), REDLOCK_PIPELINE_MIN);
}

TEST(an_extension_that_could_not_be_sent_is_not_sent_when_it_is_lost)
{
    CLUSTER_COLD(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN);
    acquire_more_than_a_pipeline(cluster, REDLOCK_PIPELINE_MIN + 1);
    for (unsigned i = REDLOCK_PIPELINE_MIN; i > 0; i--)
        CHECK_INT(cluster_extend(cluster, 0, i, DOOR_TTL), REDLOCK_OK);
    RUN_MS(5);
    REMOVE_KEYS(0); REMOVE_KEYS(1);
    cluster->no_promise = true;
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    HEAL(2);
    RUN_MS(100);
    CHECK_INT(CALLS(2, "EXTEND"), REDLOCK_PIPELINE_MIN);
}

TEST(an_extension_that_could_not_be_sent_is_not_sent_behind_the_release)
{
    CLUSTER_COLD(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN);
    extend_more_than_a_pipeline(cluster, REDLOCK_PIPELINE_MIN + 1);
    START_RELEASE(0);
    HEAL(2);
    RUN_MS(100);
    CHECK_INT(CALLS(2, "EXTEND"), REDLOCK_PIPELINE_MIN);
    EXPECT_KEY_ABSENT_ON_ALL("door 0");
    EXPECT_KEYS("door 1", 3);
}

/* Its refusals of the acquire and of the extension come one after the other, when both have been
 * won long ago. */
TEST(a_slow_node_that_never_had_the_key_gets_it_with_the_extension_after_that)
{
    CLUSTER(3);
    RIVAL(2, "door", 60000);
    DELAY_US(2, 20000);
    ACQUIRE(0, "door", DOOR_TTL);
    EXTEND(0, DOOR_TTL);
    RUN_MS(100);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_REFUSED);
    EXPECT_RIVAL_KEY(2, "door");
    CHECK_INT(CALLS(2, "SET"), 1);
    REMOVE_KEYS(2);
    EXTEND(0, DOOR_TTL);
    RUN_MS(100);
    EXPECT_KEYS("door", 3);
    RELEASE(0);
    RUN_MS(100);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* It is queued for a node that does not take bytes when the lock is released. It must not go out
 * after the release. */
TEST(a_key_that_waits_to_be_set_again_is_not_set_after_the_release)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    REMOVE_KEYS(2);
    LINK(0, 2)->window = 1;             /* It crawls. */
    EXTEND(0, DOOR_TTL);
    RUN_MS(20);
    RELEASE(0);
    LINK(0, 2)->window = 0;
    RUN_MS(2000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
}

/* Held by nodes 0 and 1; node 2 has nothing of it and is being connected to anew, which takes two
 * round trips. */
static void extend_while_connecting(struct cluster *cluster, uint64_t delay_us)
{
    RIVAL(2, "door", 60000);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    REMOVE_KEYS(2);
    DELAY_US(2, delay_us);
    RESET(0, 2);
    RUN_MS(1);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(CALLS(2, "SET"), 1);
}

TEST(a_key_that_waits_for_a_connection_is_set_again_when_it_stands)
{
    CLUSTER(3);
    extend_while_connecting(cluster, 50000);
    RUN_MS(400);
    EXPECT_KEYS("door", 3);
}

TEST(s9_a_key_that_waited_for_a_connection_is_not_set_again_later_than_its_round)
{
    CLUSTER(3);
    extend_while_connecting(cluster, 150000);
    RUN_MS(2000);
    CHECK(VOTES(0, 2));
    EXPECT_KEY_ABSENT(2, "door");
}

TEST(s9_a_key_that_waits_for_a_connection_is_not_set_again_after_the_release)
{
    CLUSTER(3);
    extend_while_connecting(cluster, 50000);
    RELEASE(0);
    RUN_MS(2000);
    CHECK(VOTES(0, 2));
    CHECK_INT(CALLS(2, "SET"), 1);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s5_a_debt_is_paid_once_more_for_a_key_that_is_set_again_after_its_release)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    REMOVE_KEYS(2);
    DELAY_US(2, 50000);
    EXTEND(0, DOOR_TTL);
    RUN_MS(80);                                 /* Node 2 has said that the key is gone. */
    DELAY_US(2, 600000);
    /* The key is on its way, for long, even when the connection is gone. */
    RUN_MS(40);
    DELAY_US(2, CLUSTER_DELAY_US);
    cluster_reset(cluster, 0, 2, true);
    RUN_MS(100);
    RELEASE(0);
    RUN_MS(100);
    CHECK_INT(CALLS(2, "RELEASE"), 1);          /* Paid, */
    EXPECT_KEY_ABSENT(2, "door");
    RUN_MS(400);
    CHECK(cluster_key(cluster, 2, "door") != NULL);     /* but too early. */
    RUN_MS(2000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
}

TEST(what_a_node_says_of_a_key_that_was_set_again_is_nothing_to_the_next_lock)
{
    CLUSTER(3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    REMOVE_KEYS(2);
    DELAY_US(2, 50000);
    ANSWERS_ONCE(2, "SET", "-NOSCRIPT No matching script.\r\n");
    EXTEND(0, DOOR_TTL);
    RUN_MS(120);                        /* The key is on its way. */
    RELEASE(0);
    ACQUIRE(0, "door", DOOR_TTL);       /* The release came first, so not from node 2. */
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(400);
    EXPECT_KEYS("door", 2);
    EXPECT_KEY_ABSENT(2, "door");
}

TEST(a_node_that_does_not_know_the_script_gets_a_set_again_all_the_same)
{
    CLUSTER(3);
    struct redlock_name names[] = {
        { .bytes = "door", .size = 4 }, { .bytes = "attic", .size = 5 }
    };
    const struct redlock_request request = { .set = names, .set_count = 2, .ttl_ms = DOOR_TTL };

    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RUN_MS(5);
    EXPECT_KEYS("attic", 3);
    REMOVE_KEYS(2);
    EXTEND(0, DOOR_TTL);
    model_flush_scripts(NODE(2));
    RUN_MS(5);
    EXPECT_KEYS("attic", 3);
    EXPECT_KEYS("door", 3);
    RELEASE(0);
    RUN_MS(5);
    EXPECT_KEY_ABSENT_ON_ALL("attic");
}

TAP_MAIN
