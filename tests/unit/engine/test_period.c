/* Once per period (S18): the holder of a lock marks it. */
#include "../../world/story.h"

enum {
    N = 5, MINUTE_MS = 60000, HOUR_MS = 3600000, TTL_MS = 10000, CLIENTS = 3, ASK_MS = 2000,
    UP_MS = 1000000 /* Uptime of all nodes at the beginning. */
};

static struct redlock_mark marks[CLIENTS];

static struct redlock_period now_of(const struct cluster *cluster, unsigned client,
                                    uint32_t period_ms)
{
    return (struct redlock_period){ .period_ms = period_ms,
                                    .wall_us = cluster_client_wall(cluster, client),
                                    .at_us = cluster_client_now(cluster, client),
                                    .who = "web2:4711 backup.sh" };
}

/* It is no mark that was set before. */
static void check_refused(struct cluster *cluster, unsigned client, enum redlock_status status)
{
    CHECK_INT(redlock_mark_status(ENGINE(client), &marks[client], CLIENT_NOW(client)), status);
    CHECK_INT(marks[client].until_us, REDLOCK_NEVER);
    CHECK(!marks[client].nodes[0].words);
}

static enum redlock_status start(struct cluster *cluster, unsigned client,
                                 const struct redlock_period *period)
{
    enum redlock_status status = redlock_start_mark(ENGINE(client), &marks[client], LOCK(client),
                                                    period, CLIENT_NOW(client));

    if (status != REDLOCK_OK) check_refused(cluster, client, status);
    return status;
}

/* Runs until it is decided, like a caller's loop, at its deadline at the latest. */
static enum redlock_status finish(struct cluster *cluster, unsigned client)
{
    enum redlock_status status;
    while ((status = redlock_mark_status(ENGINE(client), &marks[client], CLIENT_NOW(client))) ==
               REDLOCK_PENDING &&
           marks[client].until_us > CLIENT_NOW(client))
        cluster_run_us(cluster, 500);
    return status;
}

static enum redlock_status mark(struct cluster *cluster, unsigned client,
                                const struct redlock_period *period)
{
    const enum redlock_status status = start(cluster, client, period);
    return status == REDLOCK_OK ? finish(cluster, client) : status;
}

/* The next request therefore comes so long after the beginning of the client's period. */
static void go_into_period(struct cluster *cluster, unsigned client, uint32_t period_ms,
                           uint64_t age_ms)
{
    const uint64_t wall_us = cluster_client_wall(cluster, client);
    const uint64_t next_ms =
        redlock_period_begins_ms(wall_us, period_ms) + period_ms - REDLOCK_PERIOD_SLACK_MS;
    cluster_run_us(cluster, (next_ms + age_ms) * 1000 - wall_us);
}

#define EXPECT_MARK(client, period, status) \
    CHECK_STR(redlock_status_text(mark(cluster, (client), (period))), redlock_status_text(status))
#define EXPECT_MARK_NOW(client, period_ms, status)                                    \
    do {                                                                              \
        const struct redlock_period story_period = now_of(cluster, (client), (period_ms)); \
        EXPECT_MARK(client, &story_period, status);                                   \
    } while (0)
#define EXPECT_MARK_VOTE(client, k, expected) \
    CHECK_STR(redlock_vote_text(marks[client].nodes[k].vote), redlock_vote_text(expected))
#define EXPECT_MARK_WORDS(client, k, expected) \
    TAP_CHECK(strstr(marks[client].nodes[k].words, (expected)), \
              "node %u says \"%s\", not \"%s\"", (unsigned)(k), marks[client].nodes[k].words, \
              (expected))

/* ---- Who begins ---- */

TEST(the_holder_of_a_lock_marks_the_period_on_a_quorum_and_begins)
{
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(cluster_count_keys(cluster, "door#done"), N);
    CHECK_INT(marks[0].until_us, REDLOCK_NEVER);
    EXPECT_HELD(0);
}

TEST(the_next_holder_in_the_period_is_told_that_somebody_has_begun_who_and_when)
{
    uint64_t marked_us;
    CLUSTER_OF(N, 2, (void)0);
    ACQUIRE(0, "door", TTL_MS);
    go_into_period(cluster, 0, MINUTE_MS, 1000);
    ACQUIRE(0, "door", TTL_MS);
    marked_us = cluster_client_wall(cluster, 0);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(1000);
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_MARK_NOW(1, MINUTE_MS, REDLOCK_ALREADY);
    CHECK_STR(marks[1].seen_who, "web2:4711 backup.sh");
    CHECK_INT(marks[1].seen_wall_us, marked_us / 1000 * 1000);
    CHECK(marks[0].seen_who == NULL);
}

TEST(the_next_period_is_another_one)
{
    CLUSTER_OF(N, 2, (void)0);
    go_into_period(cluster, 0, MINUTE_MS, 0);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    RELEASE(0);
    go_into_period(cluster, 1, MINUTE_MS, 0);
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_MARK_NOW(1, MINUTE_MS, REDLOCK_OK);
}

/* A host whose clock is behind comes with yesterday's period when today's has been marked. */
TEST(no_earlier_period_begins_behind_a_later_one)
{
    struct redlock_period earlier;
    CLUSTER_OF(N, 2, (void)0);
    earlier = now_of(cluster, 1, MINUTE_MS);
    go_into_period(cluster, 0, MINUTE_MS, 0);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    RELEASE(0);
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_MARK(1, &earlier, REDLOCK_ALREADY);
}

/* The mark of a minute replaces the mark of the hour, but is not forgotten before it. */
TEST(the_mark_of_a_shorter_period_does_not_end_the_longer_one)
{
    CLUSTER(N);
    go_into_period(cluster, 0, HOUR_MS, 0);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
    RELEASE(0);
    go_into_period(cluster, 0, MINUTE_MS, 0);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(10 * MINUTE_MS);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_ALREADY);
}

TEST(periods_begin_at_the_full_hour_less_a_slack_of_a_quarter_at_most)
{
    const uint64_t hour_ms = 1795319000000 / HOUR_MS * HOUR_MS;
    CHECK_INT(redlock_period_begins_ms(hour_ms * 1000, HOUR_MS), hour_ms);
    CHECK_INT(redlock_period_begins_ms((hour_ms - REDLOCK_PERIOD_SLACK_MS) * 1000, HOUR_MS),
              hour_ms);
    CHECK_INT(redlock_period_begins_ms((hour_ms - REDLOCK_PERIOD_SLACK_MS) * 1000 - 1, HOUR_MS),
              hour_ms - HOUR_MS);
    CHECK_INT(redlock_period_begins_ms((hour_ms - 1001) * 1000, 4000), hour_ms - 4000);
    CHECK_INT(redlock_period_begins_ms((hour_ms - 1000) * 1000, 4000), hour_ms);
}

/* ---- No quorum ---- */

TEST(a_mark_on_a_minority_leaves_the_period_to_the_next_holder)
{
    CLUSTER_OF(N, 2, (void)0);
    ACQUIRE(0, "door", TTL_MS);
    for (unsigned k = 2; k < N; k++) cluster_stall(cluster, 0, k);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_NO_QUORUM);
    EXPECT_MARK_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
    EXPECT_MARK_VOTE(0, 4, REDLOCK_VOTE_UNKNOWN);
    for (unsigned k = 2; k < N; k++) cluster_reset(cluster, 0, k, false);
    HEAL_ALL;
    RUN_MS(100);
    RELEASE(0);
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_MARK_NOW(1, HOUR_MS, REDLOCK_OK);
}

/* Nobody can know whether it was confirmed, since the answers may have been lost. */
TEST(a_mark_on_so_many_nodes_that_no_quorum_is_left_spends_the_period)
{
    CLUSTER_OF(N, 2, (void)0);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(100);
    for (unsigned k = 2; k < N; k++) LINK(0, k)->deaf = true;
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_NO_QUORUM);
    HEAL_ALL;
    RUN_MS(100);
    RELEASE(0);
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_MARK_NOW(1, HOUR_MS, REDLOCK_ALREADY);
}

TEST(a_holder_that_asks_again_finds_its_own_mark)
{
    struct redlock_period period;
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(100);
    for (unsigned k = 2; k < N; k++) LINK(0, k)->deaf = true;
    period = now_of(cluster, 0, HOUR_MS);
    EXPECT_MARK(0, &period, REDLOCK_NO_QUORUM);
    HEAL_ALL;
    RUN_MS(100);
    EXPECT_MARK(0, &period, REDLOCK_OK);
    EXPECT_MARK_VOTE(0, 2, REDLOCK_VOTE_GRANTED);
}

TEST(nodes_that_do_not_answer_are_waited_for_no_longer_than_a_node_timeout)
{
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(100);
    const uint64_t begin = CLIENT_NOW(0);
    for (unsigned k = 2; k < N; k++) HANG(k);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_NO_QUORUM);
    CHECK_INT(CLIENT_NOW(0) - begin, REDLOCK_NODE_TIMEOUT_MS * 1000);
}

TEST(nodes_that_close_the_connection_are_not_waited_for)
{
    struct redlock_period period;
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(100);
    period = now_of(cluster, 0, HOUR_MS);
    for (unsigned k = 2; k < N; k++) LINK(0, k)->deaf = true;
    CHECK_INT(start(cluster, 0, &period), REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(redlock_mark_status(ENGINE(0), &marks[0], CLIENT_NOW(0)), REDLOCK_PENDING);
    for (unsigned k = 2; k < N; k++) cluster_reset(cluster, 0, k, false);
    RUN_MS(5);
    CHECK_INT(redlock_mark_status(ENGINE(0), &marks[0], CLIENT_NOW(0)), REDLOCK_NO_QUORUM);
    EXPECT_MARK_VOTE(0, 2, REDLOCK_VOTE_UNKNOWN);
}

TEST(nodes_without_a_vote_take_no_part)
{
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    for (unsigned k = 2; k < N; k++) DOWN(k);
    RUN_MS(10);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_NO_QUORUM);
    EXPECT_MARK_VOTE(0, 2, REDLOCK_VOTE_NOT_ASKED);
    CHECK_STR(marks[0].nodes[2].words, "");
}

/* Also of those that take the forgetful in. */
TEST(S11_a_node_within_its_guard_is_not_asked_for_a_mark)
{
    for (unsigned takes = 0; takes < 2; takes++) {
        struct redlock_period period;
        CLUSTER(N);
        ACQUIRE(0, "door", TTL_MS);
        DOWN(1);
        UP_KEEPING(1);
        RUN_MS(3000);
        period = now_of(cluster, 0, MINUTE_MS);
        period.takes_forgetful = takes;
        EXPECT_MARK(0, &period, REDLOCK_OK);
        EXPECT_MARK_VOTE(0, 1, REDLOCK_VOTE_NOT_ASKED);
        CHECK_STR(marks[0].nodes[1].words, "");
        CHECK_STR(cluster_key(cluster, 1, "door#done"), NULL);
    }
}

TEST(a_mark_lives_for_three_periods_and_two_skews)
{
    CLUSTER(1);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    CHECK_MEM(marks[0].words[6].bytes, marks[0].words[6].size, "200000", 6);
}

/* Nothing of a mark that has ended is used any more. */
TEST(a_mark_that_ends_forgets_the_questions_that_are_open_and_no_others)
{
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(5);
    for (unsigned k = 1; k < 4; k++) HANG(k);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_NO_QUORUM);
    for (unsigned k = 0; k < N; k++)
        CHECK_INT(marks[0].nodes[k].question.status == REDLOCK_OK, k == 0 || k == 4);
    for (unsigned k = 0; k < N; k++) CHECK(marks[0].nodes[k].question.status != REDLOCK_PENDING);
}

/* ---- Who may mark ---- */

TEST(who_does_not_hold_the_lock_marks_nothing)
{
    struct redlock_period period;
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    period = now_of(cluster, 0, MINUTE_MS);
    RELEASE(0);
    CHECK_INT(start(cluster, 0, &period), REDLOCK_LOST);
    CHECK_INT(cluster_count_keys(cluster, "door#done"), 0);
}

TEST(a_node_that_has_lost_the_lock_takes_no_mark)
{
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(5);
    for (unsigned k = 0; k < 3; k++) REMOVE_KEYS(k);
    RIVAL(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_NO_QUORUM);
    EXPECT_MARK_VOTE(0, 0, REDLOCK_VOTE_UNKNOWN);
    EXPECT_KEY_ABSENT(0, "door#done");
    EXPECT_KEY_ABSENT(1, "door#done");
}

TEST(anothers_mark_is_told_where_the_lock_is_not_as_well)
{
    CLUSTER(3);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(5);
    for (unsigned k = 0; k < 2; k++)
        (void)model_put(NODE(k), "door#done", "9007199254740000 00 1795319000001 other", 0,
                        cluster_node_now(cluster, k));
    (void)model_put(NODE(0), "door", "rival", TTL_MS, cluster_node_now(cluster, 0));
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_ALREADY);
    EXPECT_MARK_VOTE(0, 0, REDLOCK_VOTE_REFUSED);
}

TEST(marks_that_are_confirmed_when_the_lock_has_ended_do_not_count)
{
    struct redlock_period period;
    CLUSTER(N);
    ACQUIRE(0, "door", 200);
    period = now_of(cluster, 0, MINUTE_MS);
    RUN_MS(150);
    DELAY_ALL_US(20000);
    CHECK_INT(start(cluster, 0, &period), REDLOCK_OK);
    RUN_MS(60);
    CHECK_INT(cluster_count_keys(cluster, "door#done"), N);
    CHECK_STR(redlock_status_text(redlock_mark_status(ENGINE(0), &marks[0], CLIENT_NOW(0))),
              redlock_status_text(REDLOCK_LOST));
}

TEST(a_lock_that_is_kept_is_marked_while_it_is_extended)
{
    CLUSTER(N);
    ACQUIRE(0, "door", 2000);
    CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_OK);
    RUN_MS(1500);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    RUN_MS(5000);
    EXPECT_HELD(0);
}

TEST(a_lock_with_a_ticket_can_mark)
{
    CLUSTER(N);
    struct redlock_request request = story_request("door", TTL_MS, 0);
    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(cluster_count_keys(cluster, "door#ticket"), N);
    CHECK_INT(cluster_count_keys(cluster, "door#done"), N);
}

/* ---- Memory ---- */

TEST(a_lock_with_a_holders_name_can_mark)
{
    CLUSTER_COLD(N, 1, (void)0);
    CHECK_INT(redlock_use_holder(ENGINE(0), "web2:4711"), REDLOCK_OK);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
}

static void restart(struct cluster *cluster, unsigned k)
{
    DOWN(k);
    RUN_MS(10);
    UP(k);
}

/* Three are marked, and two of them restart empty. With the fourth and the fifth they would be a
 * quorum again. */
TEST(S18_a_node_that_restarted_within_the_period_takes_no_part)
{
    CLUSTER_OF(N, 2, (void)0);
    go_into_period(cluster, 0, HOUR_MS, 1000);
    cluster_cut(cluster, 0, 3, false);
    cluster_cut(cluster, 0, 4, false);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
    RELEASE(0);
    restart(cluster, 0);
    restart(cluster, 1);
    RUN_MS(2 * REDLOCK_GUARD_MS);
    CHECK(VOTES(1, 0));
    ACQUIRE(1, "door", TTL_MS);
    RUN_MS(5);
    EXPECT_MARK_NOW(1, HOUR_MS, REDLOCK_NO_QUORUM);
    EXPECT_MARK_VOTE(1, 0, REDLOCK_VOTE_NOT_ASKED);
    EXPECT_MARK_WORDS(1, 0, "restarted within the period");
    EXPECT_MARK_VOTE(1, 2, REDLOCK_VOTE_REFUSED);
    EXPECT_MARK_VOTE(1, 4, REDLOCK_VOTE_GRANTED);
}

/* A client that begins now has not seen the restart, and believes the uptime. */
TEST(S18_an_uptime_that_does_not_reach_back_to_the_period_is_no_part_in_it)
{
    struct redlock_period period;
    CLUSTER_OF(N, 1, (void)0);
    restart(cluster, 0);
    /* Up for a while when it begins, but by less than clocks may differ. */
    go_into_period(cluster, 0, HOUR_MS, 31 * 1000);
    period = now_of(cluster, 0, HOUR_MS);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(5);
    EXPECT_MARK(0, &period, REDLOCK_OK);
    EXPECT_MARK_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
    cluster_client_dies(cluster, 0);
    RUN_MS(2 * TTL_MS);
    restart(cluster, 1);
    RUN_MS(4 * REDLOCK_GUARD_MS);
    cluster_client_returns(cluster, 0);
    RUN_MS(STORY_SETTLE_MS);
    CHECK(VOTES(0, 1));
    ACQUIRE(0, "gate", TTL_MS);
    RUN_MS(5);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
    EXPECT_MARK_VOTE(0, 1, REDLOCK_VOTE_NOT_ASKED);
    EXPECT_MARK_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
}

/* Clocks may differ by the skew, and an uptime is the difference of two of their readings. */
TEST(S18_a_node_takes_part_when_it_is_up_for_the_age_of_the_period_and_three_skews)
{
    enum { SKEW_MS = 2000 };
    CLUSTER_OF(N, 1, config.ticket_skew_ms = SKEW_MS);
    go_into_period(cluster, 0, HOUR_MS, HOUR_MS - 3 * SKEW_MS - 500);
    restart(cluster, 0);
    RUN_MS(1000);
    restart(cluster, 1);
    RUN_MS(3 * SKEW_MS + REDLOCK_GUARD_MS);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(5);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
    EXPECT_MARK_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
    EXPECT_MARK_VOTE(0, 1, REDLOCK_VOTE_NOT_ASKED);
}

TEST(who_prefers_twice_to_never_takes_the_forgetful_in)
{
    struct redlock_period period;
    CLUSTER_OF(N, 1, (void)0);
    go_into_period(cluster, 0, HOUR_MS, 1000);
    for (unsigned k = 0; k < N; k++) restart(cluster, k);
    RUN_MS(2 * REDLOCK_GUARD_MS);
    ACQUIRE(0, "door", TTL_MS);
    period = now_of(cluster, 0, HOUR_MS);
    EXPECT_MARK(0, &period, REDLOCK_NO_QUORUM);
    period.takes_forgetful = true;
    EXPECT_MARK(0, &period, REDLOCK_OK);
}

TEST(without_a_guard_nobody_is_forgetful)
{
    CLUSTER_OF(N, 1, config.guard_ms = 0);
    go_into_period(cluster, 0, HOUR_MS, 1000);
    for (unsigned k = 0; k < N; k++) restart(cluster, k);
    RUN_MS(1000);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
}

/* Servers that refuse INFO cannot say when they started; somebody trusts them. */
TEST(a_node_that_is_trusted_unknown_takes_part)
{
    CLUSTER_COLD(N, 1, config.trust_unknown = true);
    for (unsigned k = 0; k < N; k++) NODE(k)->noperm = "INFO";
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
}

TEST(a_mark_outlives_everybody_who_may_ask_for_the_same_period)
{
    struct redlock_period period;
    CLUSTER_OF(N, 2, (void)0);
    go_into_period(cluster, 0, MINUTE_MS, 0);
    period = now_of(cluster, 1, MINUTE_MS);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(2 * MINUTE_MS - 1000);
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_MARK(1, &period, REDLOCK_ALREADY);
    RUN_MS(1000);
    CHECK(cluster_count_keys(cluster, "door#done") == N);
    CHECK_INT(start(cluster, 1, &period), REDLOCK_TOO_LATE);
    RUN_MS(MINUTE_MS + 2 * REDLOCK_SKEW_MS);
    CHECK_INT(cluster_count_keys(cluster, "door#done"), 0);
}

TEST(a_mark_that_becomes_too_late_while_it_is_asked_for_does_not_count)
{
    struct redlock_period period;
    CLUSTER(N);
    go_into_period(cluster, 0, MINUTE_MS, 0);
    period = now_of(cluster, 0, MINUTE_MS);
    RUN_MS(2 * MINUTE_MS - 1000);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(970);
    DELAY_ALL_US(20000);
    CHECK_INT(start(cluster, 0, &period), REDLOCK_OK);
    RUN_MS(50);
    CHECK_STR(redlock_status_text(redlock_mark_status(ENGINE(0), &marks[0], CLIENT_NOW(0))),
              redlock_status_text(REDLOCK_TOO_LATE));
}

/* ---- Clocks ---- */

TEST(a_client_whose_clock_is_off_by_more_than_the_skew_marks_nothing_and_is_told)
{
    CLUSTER_OF(N, 2, (void)0);
    cluster_set_client_wall(cluster, 0, 11 * 1000 * 1000);
    cluster_set_client_wall(cluster, 1, -11 * 1000 * 1000);
    ACQUIRE(0, "door", TTL_MS);
    ACQUIRE(1, "gate", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_NO_QUORUM);
    EXPECT_MARK_NOW(1, HOUR_MS, REDLOCK_NO_QUORUM);
    EXPECT_MARK_WORDS(0, 0, "AHEAD of the clock of this node: ");
    EXPECT_MARK_WORDS(1, 0, "BEHIND the clock of this node: ");
    CHECK_INT(cluster_count_keys(cluster, "door#done") + cluster_count_keys(cluster, "gate#done"),
              0);
}

TEST(a_client_whose_clock_is_off_by_less_marks)
{
    CLUSTER_OF(N, 2, (void)0);
    cluster_set_client_wall(cluster, 0, 9 * 1000 * 1000);
    cluster_set_client_wall(cluster, 1, -9 * 1000 * 1000);
    ACQUIRE(0, "door", TTL_MS);
    ACQUIRE(1, "gate", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
    EXPECT_MARK_NOW(1, HOUR_MS, REDLOCK_OK);
}

TEST(a_clock_that_goes_back_marks_nothing)
{
    struct redlock_period period;
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    period = now_of(cluster, 0, MINUTE_MS);
    period.at_us += 1000 * 1000 * 1000;
    CHECK_INT(start(cluster, 0, &period), REDLOCK_TOO_LATE);
}

/* ---- Servers ---- */

/* The question waits to be sent when the connection breaks, and is sent to the server that
 * is there then. */
TEST(S12_a_mark_that_another_server_took_does_not_count)
{
    char token[REDLOCK_TOKEN_TEXT + 1];
    struct redlock_period period;
    CLUSTER_OF(1, 1, (void)0);
    ACQUIRE(0, "door", TTL_MS);
    redlock_token(LOCK(0), token);
    period = now_of(cluster, 0, MINUTE_MS);
    CHECK_INT(redlock_start_mark(ENGINE(0), &marks[0], LOCK(0), &period, CLIENT_NOW(0)),
              REDLOCK_OK);
    DOWN(0);
    UP(0);
    (void)model_put(NODE(0), "door", token, TTL_MS, cluster_node_now(cluster, 0));
    RUN_MS(50);
    CHECK(cluster_key(cluster, 0, "door#done") != NULL);
    CHECK_INT(redlock_mark_status(ENGINE(0), &marks[0], CLIENT_NOW(0)), REDLOCK_NO_QUORUM);
}

TEST(an_answer_that_is_none_is_no_mark)
{
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(5);
    const uint64_t begun_at = CLIENT_NOW(0);
    ANSWERS_ONCE(0, "EVAL", "+OK\r\n");
    ANSWERS_ONCE(1, "EVAL", ":2\r\n");
    ANSWERS_ONCE(2, "EVAL",
                 "-NOPERM no permission for this and that, and for other things and for more, in "
                 "words that are a good deal longer than what is kept of them here\r\n");
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_NO_QUORUM);
    EXPECT_MARK_VOTE(0, 0, REDLOCK_VOTE_UNKNOWN);
    EXPECT_MARK_VOTE(0, 1, REDLOCK_VOTE_UNKNOWN);
    CHECK(CLIENT_NOW(0) - begun_at < 10000);
    EXPECT_MARK_WORDS(0, 2, "NOPERM no permission for");
    CHECK_INT(strlen(marks[0].nodes[2].words), REDLOCK_ERROR_MAX - 1);
    ANSWERS_ONCE(3, "EVAL", "-NOPERM\r\n");
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_OK);
    CHECK_STR(marks[0].nodes[3].words, "NOPERM");
}

TEST(a_string_is_somebodys_mark_however_long_it_is)
{
    static const char *const answers[] = { "$1\r\n1\r\n", "$1\r\nx\r\n", "$0\r\n\r\n" };

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        CLUSTER(1);
        ACQUIRE(0, "door", TTL_MS);
        ANSWERS_ONCE(0, "EVAL", answers[i]);
        EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_ALREADY);
        CHECK_STR(marks[0].nodes[0].words, "");
    }
}

TEST(an_error_that_is_too_long_to_be_kept_is_no_mark)
{
    char longest[300];
    CLUSTER(1);
    ACQUIRE(0, "door", TTL_MS);
    memset(longest, 'x', sizeof longest);
    longest[0] = '-';
    memcpy(longest + sizeof longest - 3, "\r\n", 3);
    ANSWERS_ONCE(0, "EVAL", longest);
    const uint64_t begun_at = CLIENT_NOW(0);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_NO_QUORUM);
    CHECK(CLIENT_NOW(0) - begun_at < 10000);
    EXPECT_MARK_VOTE(0, 0, REDLOCK_VOTE_UNKNOWN);
    EXPECT_MARK_WORDS(0, 0, "");
}

TEST(a_mark_whose_time_is_none_is_there_nevertheless)
{
    CLUSTER(1);
    ACQUIRE(0, "door", TTL_MS);
    ANSWERS_ONCE(0, "EVAL", "$10\r\n1 0 12x4 w\r\n");
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_ALREADY);
    CHECK(marks[0].seen_who == NULL);
}

TEST(a_key_that_is_no_mark_is_left_alone)
{
    CLUSTER(1);
    (void)model_put(NODE(0), "door#done", "mine", 0, cluster_node_now(cluster, 0));
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_NO_QUORUM);
    EXPECT_MARK_WORDS(0, 0, "door#done is no mark of a period");
    CHECK_STR(cluster_key(cluster, 0, "door#done"), "mine");
}

static enum redlock_status mark_behind(struct cluster *cluster, const char *value, const char **who,
                                       uint64_t *wall_us)
{
    const struct redlock_period period = now_of(cluster, 0, MINUTE_MS);
    (void)model_put(NODE(0), "door#done", value, 0, cluster_node_now(cluster, 0));
    const enum redlock_status status = mark(cluster, 0, &period);
    *who = marks[0].seen_who;
    *wall_us = marks[0].seen_wall_us;
    return status;
}

TEST(what_is_read_of_anothers_mark_is_words_and_no_more)
{
    static const char far[] = "9007199254740000 00 1795319000000 ";
    char longest[REDLOCK_MARK_MAX + 40];
    uint64_t wall_us;
    const char *who;
    CLUSTER(1);
    ACQUIRE(0, "door", TTL_MS);
    CHECK_INT(mark_behind(cluster, "9007199254740000 00 1795319000000 a b", &who, &wall_us),
              REDLOCK_ALREADY);
    CHECK_STR(who, "a b");
    CHECK_INT(wall_us, 1795319000000000);
    CHECK_INT(mark_behind(cluster, "9007199254740000 00 179531900000000000000 x", &who, &wall_us),
              REDLOCK_ALREADY);
    CHECK(who == NULL);
    CHECK_INT(mark_behind(cluster, "9007199254740000 00 1795319000000", &who, &wall_us),
              REDLOCK_ALREADY);
    CHECK(who == NULL);
    CHECK_INT(mark_behind(cluster, far, &who, &wall_us), REDLOCK_ALREADY);
    CHECK_STR(who, "");
    memset(longest, 'x', sizeof longest);
    memcpy(longest, far, sizeof far - 1);
    longest[sizeof longest - 1] = '\0';
    CHECK_INT(mark_behind(cluster, longest, &who, &wall_us), REDLOCK_ALREADY);
    CHECK_INT(strlen(who), REDLOCK_WHO_MAX);
}

/* A client that asked in vain has left its mark where it could, and may have done so last. */
TEST(of_several_marks_that_of_most_nodes_is_told_and_else_the_earliest)
{
    CLUSTER(5);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(5);
    (void)model_put(NODE(0), "door#done", "9007199254740000 00 1795319000002 late", 0,
                    cluster_node_now(cluster, 0));
    (void)model_put(NODE(1), "door#done", "9007199254740000 00 1795319000001 early", 0,
                    cluster_node_now(cluster, 1));
    (void)model_put(NODE(2), "door#done", "9007199254740000 01 1795319000003 others", 0,
                    cluster_node_now(cluster, 2));
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_ALREADY);
    CHECK_STR(marks[0].seen_who, "early");
    (void)model_put(NODE(1), "door#done", "9007199254740000 01 1795319000004 others", 0,
                    cluster_node_now(cluster, 1));
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_ALREADY);
    CHECK_STR(marks[0].seen_who, "others");
    CHECK_INT(marks[0].seen_wall_us, 1795319000003000);
    (void)model_put(NODE(0), "door#done", "9007199254740000 01 1795319000005 others", 0,
                    cluster_node_now(cluster, 0));
    (void)model_put(NODE(2), "door#done", "9007199254740000 00 1795319000000 late", 0,
                    cluster_node_now(cluster, 2));
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_ALREADY);
    CHECK_STR(marks[0].seen_who, "others");
}

TEST(a_node_without_a_mark_is_not_counted_for_one_without_words)
{
    CLUSTER(5);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(5);
    (void)model_put(NODE(1), "door#done", "9007199254740000 00 1795319000001 ", 0,
                    cluster_node_now(cluster, 1));
    (void)model_put(NODE(2), "door#done", "9007199254740000 01 1795319000002 others", 0,
                    cluster_node_now(cluster, 2));
    (void)model_put(NODE(3), "door#done", "9007199254740000 01 1795319000003 others", 0,
                    cluster_node_now(cluster, 3));
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_ALREADY);
    CHECK_STR(marks[0].seen_who, "others");
    for (unsigned k = 2; k < 4; k++)
        (void)model_put(NODE(k), "door#done", "9007199254740000 00 1795319000003 ", 0,
                        cluster_node_now(cluster, k));
    EXPECT_MARK_NOW(0, MINUTE_MS, REDLOCK_ALREADY);
    CHECK_STR(marks[0].seen_who, "");
    CHECK_INT(marks[0].seen_wall_us, 1795319000001000);
}

TEST(a_mark_that_comes_in_pieces_is_read_whole)
{
    CLUSTER_OF(1, 2, (void)0);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
    RELEASE(0);
    LINK(1, 0)->receive_max = 20;
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_MARK_NOW(1, HOUR_MS, REDLOCK_ALREADY);
    CHECK_STR(marks[1].seen_who, "web2:4711 backup.sh");
}

TEST(each_nodes_pieces_are_its_own)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    REMOVE_KEY(0, "door#done");
    for (unsigned k = 0; k < 3; k++) LINK(1, k)->receive_max = 20;
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_MARK_NOW(1, HOUR_MS, REDLOCK_ALREADY);
    CHECK_STR(marks[1].seen_who, "web2:4711 backup.sh");
}

/* Its words are lost, but not that it is there. */
TEST(a_mark_in_more_pieces_than_there_is_room_for_is_there_nevertheless)
{
    CLUSTER_OF(1, 2, (void)0);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_OK);
    RELEASE(0);
    LINK(1, 0)->receive_max = 1;
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_MARK_NOW(1, HOUR_MS, REDLOCK_ALREADY);
}

/* ---- Looking ---- */

TEST(who_looks_only_sets_no_mark_and_sees_those_of_others)
{
    struct redlock_period period;
    CLUSTER_OF(N, 2, (void)0);
    ACQUIRE(0, "door", TTL_MS);
    period = now_of(cluster, 0, HOUR_MS);
    period.looks_only = true;
    EXPECT_MARK(0, &period, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(cluster_count_keys(cluster, "door#done"), 0);
    period.looks_only = false;
    EXPECT_MARK(0, &period, REDLOCK_OK);
    RELEASE(0);
    ACQUIRE(1, "door", TTL_MS);
    period = now_of(cluster, 1, HOUR_MS);
    period.looks_only = true;
    EXPECT_MARK(1, &period, REDLOCK_ALREADY);
}

/* ---- What a caller may do wrong ---- */

TEST(whoever_marks_is_told_in_printable_words_of_a_limited_length)
{
    char words[REDLOCK_WHO_MAX + 20], expected[REDLOCK_WHO_MAX + 2] = " ";
    struct redlock_period period;
    CLUSTER(1);
    memset(words, 'w', sizeof words);
    words[1] = '\n';
    words[sizeof words - 1] = '\0';
    memcpy(expected + 1, words, REDLOCK_WHO_MAX);
    words[2] = '\x7f';
    expected[2] = expected[3] = '?';
    words[3] = expected[4] = '~';
    ACQUIRE(0, "door", TTL_MS);
    period = now_of(cluster, 0, HOUR_MS);
    period.who = words;
    EXPECT_MARK(0, &period, REDLOCK_OK);
    const char *value = cluster_key(cluster, 0, "door#done");
    CHECK_STR(strchr(strchr(strchr(value, ' ') + 1, ' ') + 1, ' '), expected);
}

TEST(a_mark_without_words_is_one)
{
    struct redlock_period period;
    CLUSTER(1);
    ACQUIRE(0, "door", TTL_MS);
    period = now_of(cluster, 0, HOUR_MS);
    period.who = NULL;
    EXPECT_MARK(0, &period, REDLOCK_OK);
}

TEST(what_cannot_be_marked_is_refused)
{
    struct redlock_period period;
    struct redlock_name set[] = { { .bytes = "door", .size = 4 }, { .bytes = "gate", .size = 4 } };
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, REDLOCK_PERIOD_MS_MIN - 1, REDLOCK_BAD_CONFIG);
    EXPECT_MARK_NOW(0, REDLOCK_PERIOD_MS_MAX + 1, REDLOCK_BAD_CONFIG);
    /* Nobody has been up for so long. */
    EXPECT_MARK_NOW(0, REDLOCK_PERIOD_MS_MAX, REDLOCK_NO_QUORUM);
    EXPECT_MARK_NOW(0, REDLOCK_PERIOD_MS_MIN, REDLOCK_OK);
    period = now_of(cluster, 0, HOUR_MS);
    period.wall_us = 0;
    EXPECT_MARK(0, &period, REDLOCK_BAD_CLOCK);
    period.wall_us = UINT64_MAX;
    EXPECT_MARK(0, &period, REDLOCK_BAD_CLOCK);
    period = now_of(cluster, 0, HOUR_MS);
    struct redlock_lock copy = *LOCK(0);
    CHECK_INT(redlock_start_mark(ENGINE(0), &marks[0], &copy, &period, CLIENT_NOW(0)),
              REDLOCK_BAD_LOCK);
    CHECK_INT(marks[0].until_us, REDLOCK_NEVER);
    const struct redlock_request request = { .set = set, .set_count = 2, .ttl_ms = TTL_MS };
    RELEASE(0);
    CHECK_INT(cluster_acquire(cluster, 0, 1, &request), REDLOCK_OK);
    UNTIL_LOCK_DONE(0, 1);
    CHECK_INT(redlock_start_mark(ENGINE(0), &marks[0], cluster_lock(cluster, 0, 1), &period,
                                 CLIENT_NOW(0)),
              REDLOCK_BAD_SET);
}

TEST(a_send_buffer_that_is_too_small_for_the_script_is_told)
{
    CLUSTER_OF(N, 1, config.resource_max = 32; config.send_size = REDLOCK_SEND_MIN(32));
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_MARK_NOW(0, HOUR_MS, REDLOCK_BAD_QUESTION);
}

TEST(a_resource_may_not_be_named_like_a_mark)
{
    CLUSTER(1);
    CHECK_INT(story_acquire(cluster, 0, 0, "door#done", TTL_MS, 0), REDLOCK_BAD_RESOURCE);
    CHECK_INT(story_acquire(cluster, 0, 0, "#done", TTL_MS, 0), REDLOCK_BAD_RESOURCE);
    CHECK_INT(story_acquire(cluster, 0, 0, "done", TTL_MS, 0), REDLOCK_OK);
    UNTIL_DONE(0);
}

TEST(a_mark_can_be_forgotten)
{
    struct redlock_period period;
    CLUSTER(N);
    ACQUIRE(0, "door", TTL_MS);
    period = now_of(cluster, 0, HOUR_MS);
    CHECK_INT(start(cluster, 0, &period), REDLOCK_OK);
    CHECK_INT(marks[0].until_us, CLIENT_NOW(0) + REDLOCK_NODE_TIMEOUT_MS * 1000);
    redlock_forget_mark(ENGINE(0), &marks[0]);
    redlock_forget_mark(ENGINE(0), &marks[0]);
    CHECK_INT(redlock_mark_status(ENGINE(0), &marks[0], CLIENT_NOW(0)), REDLOCK_CANCELLED);
    CHECK_INT(marks[0].until_us, REDLOCK_NEVER);
    RUN_MS(10);
    EXPECT_MARK(0, &period, REDLOCK_OK);
    redlock_forget_mark(ENGINE(0), &marks[0]);
    EXPECT_MARK_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
    CHECK_INT(redlock_mark_status(ENGINE(0), &marks[0], CLIENT_NOW(0)), REDLOCK_OK);
}

TAP_MAIN
