/* Each metric in a story, by the lines that it writes; pages; labels; and their state when events
 * are lost. */
#include "../../../redlock/redlock_metrics.h"
#include "../../world/story.h"

#include <inttypes.h>

enum { N = 5, RING_SIZE = 4000, SLOTS = 8, TEXT_SIZE = 64 * 1024 };

static struct redlock_event ring[RING_SIZE];
static struct redlock_event_ring events;
static struct redlock_metered slots[SLOTS];
static struct redlock_metrics metrics;
static char text[TEXT_SIZE];

static void begin(struct redlock *r, size_t ring_size, size_t slot_count)
{
    redlock_use_events(r, &events, ring, ring_size);
    events.kinds = REDLOCK_METRICS_EVENTS;
    redlock_metrics_init(&metrics, r, slots, slot_count);
}

static void count_all(void)
{
    struct redlock_event event;

    while (redlock_next_event(&events, &event)) redlock_metrics_count(&metrics, &event);
    redlock_metrics_lost(&metrics, events.lost);
}

static void write_text(struct cluster *cluster)
{
    count_all();
    CHECK(redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 0, 0, text, sizeof text) <
          sizeof text);
}

static bool has_words(const char *words)
{
    return strstr(text, words) != NULL;
}

static unsigned slots_in_use(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SLOTS; i++) count += slots[i].lock != NULL;
    return count;
}

/* The rest of a series' line, as printed now. */
static const char *told_of(const char *series)
{
    static char value[64];
    size_t size = strlen(series);
    const char *at = text;

    while ((at = strstr(at, series)) != NULL &&
           !((at == text || at[-1] == '\n') && at[size] == ' '))
        at++;
    if (!at) return "nothing";
    (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(at + size + 1, "\n"), at + size + 1);
    return value;
}

#define WATCH begin(ENGINE(0), RING_SIZE, SLOTS)
#define LOOK write_text(cluster)
#define TELLS(series, value) do { LOOK; CHECK_STR(told_of(series), (value)); } while (0)
#define VOTE(node, vote) "redlock_votes_total{node=\"" #node "\",vote=\"" vote "\"}"

/* ---- The whole text ---- */

static char expected[TEXT_SIZE];
static uint64_t counts;     /* Of the numbers that were expected, each of which is another. */

__attribute__((format(printf, 1, 2)))
static void expect(const char *format, ...)
{
    size_t size = strlen(expected);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(expected + size, sizeof expected - size, format, arguments);
    va_end(arguments);
}

static void expect_head(const char *name, const char *type, const char *help)
{
    expect("# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void expect_gauge(const char *name, const char *help, const char *line)
{
    expect_head(name, "gauge", help);
    expect("%s%s\n", name, line);
}

/* Fills counters, and expects a line for each of them. */
static void expect_counts(const char *name, uint64_t *numbers, unsigned count, const char *label,
                          const char *const *values)
{
    for (unsigned i = 0; i < count; i++) {
        numbers[i] = ++counts;
        expect("%s{%s\"%s\"} %" PRIu64 "\n", name, label, values[i], counts);
    }
}

static void expect_histogram(const char *name, uint64_t *numbers, unsigned count,
                             const char *labels, const char *const *ends)
{
    uint64_t sum = 0;
    char bracket[80] = "";
    for (unsigned i = 0; i <= count; i++) {
        numbers[i] = ++counts;
        sum += counts;
        expect("%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, labels, *labels ? "," : "",
               i < count ? ends[i] : "+Inf", sum);
    }
    if (*labels) (void)snprintf(bracket, sizeof bracket, "{%s}", labels);
    numbers[count + 1] = ++counts;
    expect("%s_sum%s 0.%06u\n%s_count%s %" PRIu64 "\n", name, bracket, (unsigned)counts, name,
           bracket, sum);
}

static const char *const times[] = {
    "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5",
    "5", "10", "30", "60", "300"
}, *const trips[] = {
    "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1",
    "0.25", "0.5"
}, *const parts[] = {
    "0.05", "0.1", "0.2", "0.33", "0.5", "0.66", "0.8", "0.9", "1"
}, *const outcomes[] = {
    "ok", "taken", "no_quorum", "too_late", "lost", "timeout", "cancelled", "error"
}, *const releases[] = { "confirmed", "owed", "lost" },
  *const losses[] = { "expired", "refused", "no_quorum" }, *const kinds[] = { "heard", "timer" },
  *const kinds_of_votes[] = { "granted", "refused", "unknown", "not_asked", "late" };

static void expect_locks(void)
{
    struct redlock_metrics *m = &metrics;
    expect_gauge("redlock_build_info", "Version of redlock.",
                 "{version=\"" REDLOCK_VERSION "\"} 1");
    expect_gauge("redlock_updated_timestamp_seconds",
                 "When these metrics were written, since 1970.", " 1700000000.5");
    expect_gauge("redlock_held", "Locks that are held.", " 1");
    expect_gauge("redlock_waiting", "Locks that are being acquired.", " 2");
    expect_gauge("redlock_debts", "Releases that nodes have not confirmed.", " 3");
    expect_gauge("redlock_ticket", "The last ticket.", " 77");
    expect_head("redlock_acquire_seconds", "histogram", "Time to acquire a lock, with waiting.");
    for (unsigned i = 0; i < REDLOCK_METRICS_OUTCOMES; i++) {
        char label[40];
        (void)snprintf(label, sizeof label, "outcome=\"%s\"", outcomes[i]);
        expect_histogram("redlock_acquire_seconds", m->acquires[i], REDLOCK_METRICS_TIMES, label,
                         times);
    }
    expect_head("redlock_hold_seconds", "histogram",
                "Time from the acquire to the release, or the loss.");
    expect_histogram("redlock_hold_seconds", m->holds, REDLOCK_METRICS_TIMES, "", times);
    expect_head("redlock_validity_left_ratio", "histogram",
                "Part of the TTL that was left when an extension was decided.");
    expect_histogram("redlock_validity_left_ratio", m->parts_left, REDLOCK_METRICS_PARTS, "",
                     parts);
    expect_head("redlock_attempts_total", "counter", "Rounds to acquire.");
    expect_counts("redlock_attempts_total", m->attempts, 4, "outcome=", outcomes);
    expect_head("redlock_extensions_total", "counter", "Rounds to extend.");
    expect_counts("redlock_extensions_total", m->extensions, 5, "outcome=", outcomes);
    expect_head("redlock_releases_total", "counter", "Releases.");
    expect_counts("redlock_releases_total", m->releases, 3, "outcome=", releases);
    expect_head("redlock_lost_total", "counter", "Locks that ended without a release.");
    expect_counts("redlock_lost_total", m->losses, 3, "reason=", losses);
    expect_head("redlock_wake_ups_total", "counter", "Attempts behind a pause.");
    expect_counts("redlock_wake_ups_total", m->wake_ups, 2, "kind=", kinds);
}

static void expect_nodes(void)
{
    static const char *const labels[] = { "node=\"0\"", "node=\"1\"" };
    struct redlock_metrics *m = &metrics;
    expect_head("redlock_votes_total", "counter", "Votes on rounds to acquire and to extend.");
    for (unsigned k = 0; k < 2; k++)
        expect_counts("redlock_votes_total", m->votes[k], REDLOCK_METRICS_VOTES,
                      k == 0 ? "node=\"0\",vote=" : "node=\"1\",vote=", kinds_of_votes);
    expect_head("redlock_node_round_trip_seconds", "histogram",
                "Time from a command to its answer.");
    for (unsigned k = 0; k < 2; k++)
        expect_histogram("redlock_node_round_trip_seconds", m->trips[k], REDLOCK_METRICS_TRIPS,
                         labels[k], trips);
    expect_head("redlock_node_restarts_total", "counter",
                "Another server than before, or a restart.");
    for (unsigned k = 0; k < 2; k++) {
        m->restarts[k] = ++counts;
        expect("redlock_node_restarts_total{%s} %" PRIu64 "\n", labels[k], counts);
    }
    expect_head("redlock_node_up", "gauge", "Does the node answer?");
    expect("redlock_node_up{node=\"0\"} 1\nredlock_node_up{node=\"1\"} 0\n");
    expect_head("redlock_node_votes", "gauge", "Has the node a vote?");
    expect("redlock_node_votes{node=\"0\"} 1\nredlock_node_votes{node=\"1\"} 0\n");
    expect_head("redlock_node_trouble", "gauge", "Why a node has no vote, or its last error.");
    expect("redlock_node_trouble{node=\"1\",trouble=\"unreachable\"} 1\n");
    expect_head("redlock_metrics_lost_events_total", "counter",
                "Events that are missing in these metrics.");
    m->lost_events = ++counts;
    expect("redlock_metrics_lost_events_total %" PRIu64 "\n", counts);
    expect_head("redlock_metrics_untracked_rounds_total", "counter",
                "Rounds of locks that had no slot.");
    m->untracked_rounds = ++counts;
    expect("redlock_metrics_untracked_rounds_total %" PRIu64 "\n", counts);
}

static const char *first_difference(void)
{
    static char both[200];
    size_t at = 0;
    while (text[at] == expected[at] && text[at] != '\0') at++;
    while (at > 0 && text[at - 1] != '\n') at--;
    (void)snprintf(both, sizeof both, "%.*s, not %.*s", (int)strcspn(text + at, "\n"), text + at,
                   (int)strcspn(expected + at, "\n"), expected + at);
    return both;
}

TEST(the_text_is_this_to_the_last_byte)
{
    static struct redlock_lock locks[4];
    CLUSTER(2);
    WATCH;
    DOWN(1);
    RUN_MS(1000);
    count_all();
    expected[0] = '\0';
    counts = 0;
    expect_locks();
    expect_nodes();
    metrics.ticket = 77;
    /* One is held, one's validity is over, two are being acquired; three nodes are owed something,
     * and what a slot has that is free counts for nothing. */
    slots[0] = (struct redlock_metered){
        .lock = &locks[0], .is_held = true, .valid_until = CLIENT_NOW(0) + 1
    };
    slots[2] = (struct redlock_metered){
        .lock = &locks[1], .is_held = true, .valid_until = CLIENT_NOW(0), .owed = 1
    };
    slots[3] = (struct redlock_metered){
        .is_held = true, .valid_until = UINT64_MAX, .is_acquiring = true, .owed = 3
    };
    slots[4] = (struct redlock_metered){ .lock = &locks[2], .is_acquiring = true, .owed = 2 };
    slots[7] = (struct redlock_metered){
        .lock = &locks[3], .is_acquiring = true, .valid_until = UINT64_MAX, .owed = 1
    };
    CHECK_INT(redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 1700000000500000, 0, text,
                                   sizeof text),
              strlen(expected));
    if (strcmp(text, expected) != 0) CHECK_STR(first_difference(), "");
    redlock_use_events(ENGINE(0), NULL, NULL, 0);
}

/* ---- Locks ---- */

TEST(a_lock_that_is_acquired_and_released_is_told)
{
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    TELLS("redlock_held", "1");
    TELLS("redlock_waiting", "0");
    TELLS("redlock_attempts_total{outcome=\"ok\"}", "1");
    TELLS("redlock_acquire_seconds_count{outcome=\"ok\"}", "1");
    TELLS("redlock_acquire_seconds_sum{outcome=\"ok\"}", "0.0002");
    TELLS("redlock_acquire_seconds_bucket{outcome=\"ok\",le=\"0.0005\"}", "1");
    TELLS("redlock_hold_seconds_count", "0");
    RUN_MS(1500);
    RELEASE(0);
    RUN_MS(5);
    TELLS("redlock_held", "0");
    TELLS("redlock_hold_seconds_sum", "1.5");
    TELLS("redlock_hold_seconds_bucket{le=\"1\"}", "0");
    TELLS("redlock_hold_seconds_bucket{le=\"2.5\"}", "1");
    TELLS("redlock_hold_seconds_bucket{le=\"+Inf\"}", "1");
    TELLS("redlock_releases_total{outcome=\"confirmed\"}", "1");
    TELLS("redlock_lost_total{reason=\"expired\"}", "0");
    TELLS("redlock_debts", "0");
}

TEST(an_attempt_that_is_refused_is_told_with_its_votes)
{
    CLUSTER(N);
    WATCH;
    RIVAL_ON_ALL("door", 60000);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    TELLS("redlock_attempts_total{outcome=\"taken\"}", "1");
    TELLS("redlock_acquire_seconds_count{outcome=\"taken\"}", "1");
    TELLS("redlock_acquire_seconds_count{outcome=\"timeout\"}", "0");
    TELLS("redlock_acquire_seconds_count{outcome=\"cancelled\"}", "nothing");
    TELLS("redlock_held", "0");
    TELLS(VOTE(0, "refused"), "1");
    TELLS(VOTE(4, "refused"), "1");
    TELLS(VOTE(4, "granted"), "0");
}

TEST(nodes_that_are_down_or_hang_are_told_by_their_votes)
{
    CLUSTER(N);
    WATCH;
    DOWN(0);
    RUN_MS(2000);
    STALL(1);
    STALL(2);
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(5);
    TELLS("redlock_attempts_total{outcome=\"no_quorum\"}", "1");
    TELLS(VOTE(0, "not_asked"), "1");
    TELLS(VOTE(1, "unknown"), "1");
    TELLS(VOTE(3, "granted"), "1");
    TELLS("redlock_node_up{node=\"0\"}", "0");
    TELLS("redlock_node_votes{node=\"0\"}", "0");
    TELLS("redlock_node_trouble{node=\"0\",trouble=\"unreachable\"}", "1");
    TELLS("redlock_node_up{node=\"3\"}", "1");
    TELLS("redlock_node_votes{node=\"3\"}", "1");
    CHECK(!has_words("redlock_node_trouble{node=\"3\""));
}

TEST(a_vote_that_comes_when_the_lock_has_gone_on_is_late)
{
    CLUSTER(N);
    WATCH;
    DELAY_US(4, 50000);
    ACQUIRE(0, "door", 10000);
    RELEASE(0);
    RUN_MS(500);
    TELLS(VOTE(4, "late"), "1");
    TELLS(VOTE(4, "granted"), "0");
    DELAY_US(4, 100);
    RUN_MS(500);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    TELLS(VOTE(4, "granted"), "1");
}

TEST(an_answer_that_never_comes_is_an_unknown_vote)
{
    CLUSTER(N);
    WATCH;
    STALL(4);
    ACQUIRE(0, "door", 10000);
    RUN_MS(1);
    RESET(0, 4);
    RUN_MS(5);
    TELLS(VOTE(4, "unknown"), "1");
}

TEST(of_each_node_as_many_votes_are_told_as_there_were_rounds)
{
    CLUSTER_OF(N, 2, (void)0);
    WATCH;
    for (unsigned i = 0; i < 60; i++) {
        if (i % 7 == 3) STALL(i % N);
        if (i % 7 == 5) RESET(0, i % N);
        if (i % 7 == 6) HEAL_ALL;
        if (i % 5 == 1) DELAY_US(i % N, 3000);
        if (i % 5 == 4) DELAY_ALL_US(100);
        ACQUIRE(i % 3 > 0 ? 0 : 1, "door", 10000);
        if (redlock_valid_us(LOCK(0), CLIENT_NOW(0)) > 0) EXTEND(0, 10000);
        if (redlock_valid_us(LOCK(0), CLIENT_NOW(0)) > 0) RELEASE(0);
        if (redlock_valid_us(LOCK(1), CLIENT_NOW(1)) > 0) RELEASE(1);
        RUN_MS(i % 11);
        count_all();
    }
    HEAL_ALL;
    RUN_MS(20000);
    redlock_forget(ENGINE(0), LOCK(0));
    count_all();
    uint64_t rounds = 0;
    for (unsigned i = 0; i < REDLOCK_METRICS_OUTCOMES; i++)
        rounds += metrics.attempts[i] + metrics.extensions[i];
    CHECK(rounds > 60);
    for (unsigned k = 0; k < N; k++) {
        uint64_t votes = 0;
        for (unsigned i = 0; i < REDLOCK_METRICS_VOTES; i++) votes += metrics.votes[k][i];
        CHECK_INT(votes, rounds);
    }
    CHECK_INT(metrics.lost_events, 0);
}

TEST(a_client_that_waits_is_told_and_so_is_what_woke_it)
{
    CLUSTER_OF(N, 2, config.wake_ups = true);
    WATCH;
    ACQUIRE(1, "door", 10000);
    START_ACQUIRE(0, "door", 10000, 60000);
    RUN_MS(3000);
    TELLS("redlock_waiting", "1");
    RELEASE(1);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    TELLS("redlock_wake_ups_total{kind=\"heard\"}", "1");
    TELLS("redlock_waiting", "0");
    TELLS("redlock_acquire_seconds_count{outcome=\"ok\"}", "1");
    TELLS("redlock_acquire_seconds_bucket{outcome=\"ok\",le=\"2.5\"}", "0");
    TELLS("redlock_acquire_seconds_bucket{outcome=\"ok\",le=\"5\"}", "1");
}

TEST(a_client_that_finds_it_free_when_it_lines_up_has_heard_so)
{
    CLUSTER_OF(N, 2, config.wake_ups = true);
    WATCH;
    STORY_NODES ANSWERS_ONCE(story_k, "SET", "$-1\r\n");
    START_ACQUIRE(0, "door", 10000, 60000);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    TELLS("redlock_wake_ups_total{kind=\"heard\"}", "1");
    TELLS("redlock_wake_ups_total{kind=\"timer\"}", "0");
}

TEST(a_client_that_stands_back_for_those_it_woke_waits_from_the_beginning)
{
    CLUSTER_OF(N, 2, config.wake_ups = true);
    WATCH;
    ACQUIRE(0, "door", 10000);
    START_ACQUIRE(1, "door", 10000, 60000);
    RUN_MS(50);
    RELEASE(0);
    START_ACQUIRE(0, "door", 10000, 60000);
    TELLS("redlock_waiting", "1");
    CHECK_INT(metrics.attempts[0], 1);
    UNTIL_DONE(1);
    EXPECT_HELD(1);
    RELEASE(1);
    UNTIL_DONE(0);
    TELLS("redlock_acquire_seconds_count{outcome=\"ok\"}", "2");
}

TEST(a_client_that_is_not_woken_tries_again_by_the_timer)
{
    CLUSTER(N);
    WATCH;
    RIVAL_ON_ALL("door", 60000);
    ACQUIRE_WAIT(0, "door", 10000, 1000);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    LOOK;
    CHECK_STR(told_of("redlock_wake_ups_total{kind=\"heard\"}"), "0");
    CHECK(strcmp(told_of("redlock_wake_ups_total{kind=\"timer\"}"), "0") != 0);
    TELLS("redlock_acquire_seconds_count{outcome=\"timeout\"}", "1");
    TELLS("redlock_acquire_seconds_count{outcome=\"no_quorum\"}", "0");
}

TEST(an_acquire_that_waits_in_vain_for_a_quorum_is_one_without_a_quorum)
{
    CLUSTER(N);
    WATCH;
    DOWN(0); DOWN(1); DOWN(2);
    ACQUIRE_WAIT(0, "door", 10000, 1000);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    TELLS("redlock_acquire_seconds_count{outcome=\"timeout\"}", "0");
    TELLS("redlock_acquire_seconds_count{outcome=\"no_quorum\"}", "1");
    UP(0);
    RUN_MS(60000);
    RIVAL_ON_ALL("gate", 60000);
    ACQUIRE_WAIT(0, "gate", 10000, 1000);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    TELLS("redlock_acquire_seconds_count{outcome=\"timeout\"}", "1");
}

TEST(an_acquire_that_is_cancelled_is_told)
{
    CLUSTER(N);
    WATCH;
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 60000);
    RUN_MS(100);
    redlock_cancel(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    TELLS("redlock_acquire_seconds_count{outcome=\"cancelled\"}", "1");
    TELLS("redlock_waiting", "0");
}

TEST(an_acquire_that_ends_for_another_reason_is_an_error)
{
    CLUSTER(N);
    WATCH;
    cluster->clients[0].starved = true;
    for (unsigned i = 0; i < 6; i++) {
        ACQUIRE(0, "door", 10000);
        if (VALID_US(0) > 0) RELEASE(0);
        RUN_MS(5);
    }
    LOOK;
    CHECK(has_words("redlock_acquire_seconds_count{outcome=\"error\"}"));
}

TEST(answers_that_come_too_late_are_told)
{
    CLUSTER(N);
    WATCH;
    DELAY_ALL_US(30000);
    ACQUIRE(0, "door", 50);
    EXPECT_STATUS(0, REDLOCK_TOO_LATE);
    TELLS("redlock_attempts_total{outcome=\"too_late\"}", "1");
}

TEST(an_extension_tells_how_much_of_the_validity_was_left)
{
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    RUN_MS(8000);
    EXTEND(0, 10000);
    RUN_MS(5);
    TELLS("redlock_extensions_total{outcome=\"ok\"}", "1");
    TELLS("redlock_validity_left_ratio_count", "1");
    TELLS("redlock_validity_left_ratio_bucket{le=\"0.1\"}", "0");
    TELLS("redlock_validity_left_ratio_bucket{le=\"0.2\"}", "1");
    LOOK;
    CHECK(strncmp(told_of("redlock_validity_left_ratio_sum"), "0.189", 5) == 0);
    EXTEND(0, 1000);        /* More is left than that. */
    TELLS("redlock_validity_left_ratio_bucket{le=\"0.9\"}", "1");
    TELLS("redlock_validity_left_ratio_bucket{le=\"1\"}", "2");
    RUN_MS(15000);
    TELLS("redlock_held", "0");
}

TEST(s10_a_lock_whose_validity_is_over_is_not_held_and_lost_when_that_is_noticed)
{
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    RUN_MS(11000);
    TELLS("redlock_held", "0");
    RELEASE(0);
    TELLS("redlock_lost_total{reason=\"expired\"}", "1");
    TELLS("redlock_releases_total{outcome=\"lost\"}", "1");
    TELLS("redlock_hold_seconds_sum", "9.8978");
    TELLS("redlock_hold_seconds_count", "1");
}

TEST(a_lock_that_is_acquired_again_behind_its_end_was_lost)
{
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    RUN_MS(11000);
    ACQUIRE(0, "door", 10000);
    EXPECT_HELD(0);
    TELLS("redlock_lost_total{reason=\"expired\"}", "1");
    TELLS("redlock_held", "1");
    TELLS("redlock_acquire_seconds_count{outcome=\"ok\"}", "2");
}

TEST(a_kept_lock_that_no_quorum_extends_is_lost_for_that)
{
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    CHECK_INT(redlock_keep(ENGINE(0), LOCK(0), 0, CLIENT_NOW(0)), REDLOCK_OK);
    for (unsigned k = 0; k < 3; k++) DOWN(k);
    RUN_MS(15000);
    TELLS("redlock_lost_total{reason=\"no_quorum\"}", "1");
    TELLS("redlock_lost_total{reason=\"expired\"}", "0");
    TELLS("redlock_held", "0");
    CHECK(strcmp(told_of("redlock_extensions_total{outcome=\"no_quorum\"}"), "0") != 0);
}

/* A command does this if it must be dead before another client can have the lock. */
TEST(a_lock_that_is_given_up_in_time_is_lost_once_whatever_comes_of_its_release)
{
    struct redlock_lock other;
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    for (unsigned k = 0; k < 3; k++) STALL(k);
    EXTEND(0, 10000);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    TELLS("redlock_held", "1");
    redlock_metrics_give_up(&metrics, LOCK(0), CLIENT_NOW(0));
    redlock_metrics_give_up(&metrics, LOCK(0), CLIENT_NOW(0));
    TELLS("redlock_held", "0");
    RELEASE(0);
    RUN_MS(15000);
    TELLS("redlock_lost_total{reason=\"no_quorum\"}", "1");
    TELLS("redlock_lost_total{reason=\"refused\"}", "0");
    TELLS("redlock_hold_seconds_count", "1");
    redlock_lock_init(&other);
    redlock_metrics_give_up(&metrics, &other, CLIENT_NOW(0));
    TELLS("redlock_lost_total{reason=\"expired\"}", "0");
}

TEST(an_extension_that_is_under_way_when_the_validity_ends_has_failed)
{
    CLUSTER_OF(N, 1, config.node_timeout_ms = 20000);
    WATCH;
    ACQUIRE(0, "door", 10000);
    RUN_MS(9000);
    STORY_NODES STALL(story_k);
    EXTEND(0, 10000);
    EXPECT_STATUS(0, REDLOCK_LOST);
    TELLS("redlock_lost_total{reason=\"no_quorum\"}", "1");
    TELLS("redlock_extensions_total{outcome=\"lost\"}", "1");
}

TEST(a_lock_whose_token_was_gone_before_its_last_extension_was_lost_for_that)
{
    CLUSTER_OF(N, 1, config.node_timeout_ms = 20000);
    WATCH;
    ACQUIRE(0, "door", 10000);
    for (unsigned k = 0; k < 3; k++) REMOVE_KEYS(k);
    cluster->no_promise = true;
    EXTEND(0, 10000);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(9000);
    STORY_NODES STALL(story_k);
    EXTEND(0, 10000);
    EXPECT_STATUS(0, REDLOCK_LOST);
    TELLS("redlock_lost_total{reason=\"refused\"}", "1");
}

TEST(a_lock_that_nodes_have_forgotten_is_lost_for_that)
{
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    STORY_NODES REMOVE_KEYS(story_k);
    cluster->no_promise = true;
    EXTEND(0, 10000);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    TELLS("redlock_extensions_total{outcome=\"taken\"}", "1");
    RUN_MS(10000);
    RELEASE(0);
    TELLS("redlock_lost_total{reason=\"refused\"}", "1");
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    STORY_NODES REMOVE_KEYS(story_k);
    RELEASE(0);
    TELLS("redlock_lost_total{reason=\"refused\"}", "2");
    TELLS("redlock_releases_total{outcome=\"lost\"}", "2");
}

TEST(a_release_that_too_few_confirm_is_owed_until_it_is_paid)
{
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    for (unsigned k = 0; k < 3; k++) DOWN(k);
    RUN_MS(1000);
    RELEASE(0);
    TELLS("redlock_releases_total{outcome=\"owed\"}", "1");
    TELLS("redlock_debts", "3");
    RUN_MS(11000);
    TELLS("redlock_debts", "0");
    CHECK_INT(slots_in_use(), 0);
}

TEST(a_ticket_is_told_once_there_is_one)
{
    struct redlock_request request = story_request("door", 10000, 0);
    CLUSTER_OF(N, 1, (void)0);
    WATCH;
    ACQUIRE(0, "door", 10000);
    TELLS("redlock_ticket", "nothing");
    RELEASE(0);
    RUN_MS(60000);      /* Nodes that have just begun give none. */
    redlock_use(ENGINE(0), &redlock_tickets);
    request.ticket = true;
    request.wall_us = 1700000000000000;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    char ticket[32];
    (void)snprintf(ticket, sizeof ticket, "%llu", (unsigned long long)redlock_ticket(LOCK(0)));
    TELLS("redlock_ticket", ticket);
}

TEST(a_lock_that_is_moved_or_forgotten_is_followed)
{
    static struct redlock_lock elsewhere;
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    redlock_lock_init(&elsewhere);
    redlock_move(ENGINE(0), &elsewhere, LOCK(0), "door");
    TELLS("redlock_held", "1");
    redlock_move(ENGINE(0), LOCK(0), &elsewhere, "door");
    RUN_MS(500);
    cluster->no_promise = true;
    cluster_forget(cluster, 0, 0);
    TELLS("redlock_held", "0");
    TELLS("redlock_hold_seconds_count", "1");
    TELLS("redlock_lost_total{reason=\"expired\"}", "0");
    TELLS(VOTE(4, "granted"), "1");
}

TEST(a_lock_that_was_adopted_is_held_once_that_is_confirmed)
{
    static struct redlock_lock adopted;
    char token[REDLOCK_TOKEN_TEXT + 1];
    CLUSTER(N);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    WATCH;
    redlock_token(LOCK(0), token);
    redlock_lock_init(&adopted);
    CHECK_INT(redlock_adopt(ENGINE(0), &adopted,
                            &(struct redlock_request){ .resource = "door", .resource_size = 4 },
                            token, CLIENT_NOW(0)),
              REDLOCK_OK);
    TELLS("redlock_held", "0");
    CHECK_INT(redlock_start_extend(ENGINE(0), &adopted, 10000, CLIENT_NOW(0)), REDLOCK_OK);
    RUN_MS(5);
    TELLS("redlock_held", "1");
    TELLS("redlock_validity_left_ratio_count", "0");
    redlock_start_release(ENGINE(0), &adopted, CLIENT_NOW(0));
    RUN_MS(5);
    TELLS("redlock_held", "0");
    TELLS("redlock_releases_total{outcome=\"confirmed\"}", "1");
    redlock_forget(ENGINE(0), &adopted);
}

TEST(an_inspection_is_no_lock)
{
    struct redlock_sight sights[N];
    CLUSTER(N);
    WATCH;
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    RUN_MS(5);
    TELLS("redlock_held", "0");
    TELLS("redlock_attempts_total{outcome=\"ok\"}", "0");
    TELLS("redlock_metrics_untracked_rounds_total", "0");
    TELLS(VOTE(0, "granted"), "0");
}

TEST(behind_another_engine_counts_go_on_and_its_locks_are_others)
{
    CLUSTER_OF(N, 2, (void)0);
    WATCH;
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    LOOK;
    redlock_metrics_change(&metrics, NULL);
    CHECK(redlock_metrics_text(&metrics, NULL, CLIENT_NOW(0), 0, 0, text, sizeof text) <
          sizeof text);
    CHECK_STR(told_of("redlock_held"), "0");
    CHECK_STR(told_of("redlock_attempts_total{outcome=\"ok\"}"), "1");
    CHECK_STR(told_of("redlock_node_restarts_total{node=\"4\"}"), "0");
    CHECK(!has_words("redlock_node_up") && !has_words("redlock_node_votes") &&
          !has_words("redlock_node_trouble"));
    redlock_use_events(ENGINE(0), NULL, NULL, 0);
    redlock_use_events(ENGINE(1), &events, ring, RING_SIZE);
    redlock_metrics_change(&metrics, ENGINE(1));
    ACQUIRE(1, "gate", 10000);
    RUN_MS(5);
    TELLS("redlock_held", "1");
    TELLS("redlock_attempts_total{outcome=\"ok\"}", "2");
    TELLS("redlock_node_up{node=\"4\"}", "1");
    TELLS("redlock_node_restarts_total{node=\"4\"}", "0");
}

/* ---- Nodes ---- */

TEST(a_restart_is_counted_and_a_new_connection_to_the_same_server_is_not)
{
    CLUSTER_COLD(N, 1, (void)0);
    WATCH;
    TELLS("redlock_node_up{node=\"0\"}", "0");
    RUN_MS(STORY_SETTLE_MS);
    TELLS("redlock_node_restarts_total{node=\"0\"}", "0");
    TELLS("redlock_node_up{node=\"0\"}", "1");
    RESET(0, 0);
    RUN_MS(100);
    TELLS("redlock_node_restarts_total{node=\"0\"}", "0");
    DOWN(0);
    UP(0);
    RUN_MS(5000);
    TELLS("redlock_node_restarts_total{node=\"0\"}", "1");
    TELLS("redlock_node_restarts_total{node=\"1\"}", "0");
    TELLS("redlock_node_votes{node=\"0\"}", "0");
    TELLS("redlock_node_trouble{node=\"0\",trouble=\"restarted\"}", "1");
}

TEST(the_last_trouble_and_one_before_it_have_their_names)
{
    CLUSTER(N);
    WATCH;
    RUN_MS(5);
    ENGINE(0)->nodes[1].trouble = REDLOCK_TROUBLE_OTHER_ERROR;
    TELLS("redlock_node_trouble{node=\"1\",trouble=\"other_error\"}", "1");
    strcpy(ENGINE(0)->nodes[1].error, "ERR max number of clients reached");
    TELLS("redlock_node_trouble{node=\"1\",trouble=\"max_clients\"}", "1");
    ENGINE(0)->nodes[1].trouble = REDLOCK_TROUBLE_NONE;
    LOOK;
    CHECK(!has_words("redlock_node_trouble{"));
}

TEST(metrics_that_begin_late_know_which_nodes_are_up_and_were_met)
{
    CLUSTER(N);
    DOWN(1);
    RUN_MS(1000);
    WATCH;
    TELLS("redlock_node_up{node=\"0\"}", "1");
    TELLS("redlock_node_up{node=\"1\"}", "0");
    UP(1);
    RUN_MS(5000);
    TELLS("redlock_node_up{node=\"1\"}", "1");
    TELLS("redlock_node_restarts_total{node=\"1\"}", "1");
}

TEST(the_round_trip_of_a_node_is_told)
{
    CLUSTER(N);
    WATCH;
    DELAY_US(4, 20000);
    ACQUIRE(0, "door", 10000);
    RELEASE(0);         /* This follows a command that is timed. */
    RUN_MS(500);
    TELLS("redlock_node_round_trip_seconds_bucket{node=\"4\",le=\"0.025\"}", "0");
    TELLS("redlock_node_round_trip_seconds_bucket{node=\"4\",le=\"0.05\"}", "1");
    TELLS("redlock_node_round_trip_seconds_sum{node=\"4\"}", "0.04");
    TELLS("redlock_node_round_trip_seconds_count{node=\"0\"}", "2");
}

TEST(a_command_that_is_not_answered_has_no_round_trip)
{
    CLUSTER(N);
    WATCH;
    STALL(4);
    ACQUIRE(0, "door", 10000);
    RESET(0, 4);
    HEAL_ALL;
    RUN_MS(500);
    TELLS("redlock_node_round_trip_seconds_count{node=\"4\"}", "0");
    RELEASE(0);
    RUN_MS(500);
    LOOK;
    CHECK(strcmp(told_of("redlock_node_round_trip_seconds_count{node=\"4\"}"), "0") != 0);
    CHECK_STR(told_of("redlock_node_round_trip_seconds_bucket{node=\"4\",le=\"0.0005\"}"),
              told_of("redlock_node_round_trip_seconds_count{node=\"4\"}"));
}

TEST(a_question_has_no_round_trip_of_its_own_but_stands_before_that_of_a_lock)
{
    static const struct redlock_name ping = { .bytes = "PING", .size = 4 };
    struct redlock_question question;
    CLUSTER(1);
    WATCH;
    ANSWERS(0, "PING", "+PONG\r\n");
    CHECK_INT(redlock_ask(ENGINE(0), &question, 0, &ping, 1, NULL, 0, CLIENT_NOW(0)), REDLOCK_OK);
    RUN_US(1);
    TELLS("redlock_node_round_trip_seconds_count{node=\"0\"}", "0");
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    TELLS("redlock_node_round_trip_seconds_count{node=\"0\"}", "1");
    TELLS("redlock_node_round_trip_seconds_sum{node=\"0\"}", "0.0002");
}

/* ---- Events one by one ---- */

static struct redlock_lock one, another;

/* Counts it. It is about the first lock unless it names another, or is about a node alone. */
static void count_event(struct redlock_event event)
{
    if (!event.lock && event.kind != REDLOCK_EVENT_READY &&
        event.kind != REDLOCK_EVENT_DISCONNECTED)
        event.lock = &one;
    redlock_metrics_count(&metrics, &event);
}

/* Each with the fields that tests name, if any. */
#define EVENT(...) count_event((struct redlock_event){ .kind = REDLOCK_EVENT_##__VA_ARGS__ })
#define PHASE(...) EVENT(PHASE, .as.phase.phase = REDLOCK_PHASE_##__VA_ARGS__)
#define VERDICT(operation, ...) \
    EVENT(VERDICT, .command = REDLOCK_COMMAND_##operation, \
          .as.verdict.status = REDLOCK_##__VA_ARGS__)
#define ENDED(operation, ...) \
    EVENT(ENDED, .command = REDLOCK_COMMAND_##operation, .as.status = REDLOCK_##__VA_ARGS__)
#define HEARD(...) EVENT(HEARD, .session = __VA_ARGS__)
#define EVENTS(slot_count) CLUSTER(N); begin(ENGINE(0), RING_SIZE, (slot_count))
#define S 1000000

TEST(the_part_that_is_left_is_exact_where_it_is_a_half_or_the_whole)
{
    static const struct { uint64_t left_us; const char *sum; } cases[] = {
        { 500000, "0.5" }, { 1000000, "1.5" }, { 1500000, "2.5" }, { 250000, "2.75" }
    };
    EVENTS(SLOTS);
    PHASE(ACQUIRING, .at_us = 1);
    VERDICT(ACQUIRE, OK, .as.verdict.validity_us = 10 * S);
    for (unsigned i = 0; i < 4; i++) {
        VERDICT(EXTEND, OK, .at_us = 10 * S - cases[i].left_us, .as.verdict.ttl_ms = 1000);
        TELLS("redlock_validity_left_ratio_sum", cases[i].sum);
    }
}

TEST(a_lock_is_held_until_the_later_end_and_from_its_first_beginning)
{
    EVENTS(SLOTS);
    PHASE(ACQUIRING);
    VERDICT(ACQUIRE, OK, .as.verdict.validity_us = 10 * S);
    VERDICT(EXTEND, OK, .at_us = 1 * S, .as.verdict.validity_us = 5 * S);      /* To 6 s. */
    CHECK_INT(slots_in_use(), 1);
    VERDICT(EXTEND, TAKEN, .at_us = 2 * S);
    VERDICT(EXTEND, OK, .at_us = 9 * S, .as.verdict.validity_us = 5 * S);      /* To 14 s. */
    CHECK_INT(metrics.losses[0], 0);
    EVENT(OWED, .session = 0, .at_us = 10 * S);
    PHASE(RELEASING, .at_us = 12 * S);
    TELLS("redlock_hold_seconds_sum", "12");
    ENDED(RELEASE, OK, .at_us = 12 * S);
    PHASE(IDLE, .at_us = 12 * S);
    PHASE(ACQUIRING, .at_us = 12 * S);
    VERDICT(ACQUIRE, OK, .at_us = 12 * S, .as.verdict.validity_us = S);        /* To 13 s. */
    PHASE(IDLE, .at_us = 13 * S);
    TELLS("redlock_hold_seconds_sum", "13");
    TELLS("redlock_lost_total{reason=\"expired\"}", "1");
    TELLS("redlock_lost_total{reason=\"refused\"}", "0");
}

/* No answer to the round before is a vote any longer. */
TEST(a_lock_that_is_released_has_late_votes_at_once)
{
    EVENTS(SLOTS);
    PHASE(ACQUIRING);
    PHASE(RELEASING);
    CHECK_INT(metrics.votes[1][4], 1);
}

TEST(a_lock_that_was_extended_at_last_has_expired)
{
    EVENTS(SLOTS);
    PHASE(ACQUIRING);
    VERDICT(ACQUIRE, OK, .as.verdict.validity_us = 10 * S);
    VERDICT(EXTEND, NO_QUORUM, .at_us = 1 * S);
    VERDICT(EXTEND, OK, .at_us = 2 * S, .as.verdict.validity_us = 10 * S);
    PHASE(IDLE, .at_us = 20 * S);
    CHECK_INT(metrics.losses[0], 1);
}

/* It owes something, so that its slot stays. */
TEST(a_lock_that_becomes_idle_is_held_no_longer)
{
    EVENTS(SLOTS);
    PHASE(ACQUIRING);
    VERDICT(ACQUIRE, OK, .as.verdict.validity_us = 10 * S);
    EVENT(OWED, .session = 0);
    PHASE(IDLE, .at_us = 3 * S);
    CHECK_INT(metrics.holds[REDLOCK_METRICS_TIMES + 1], 3 * S);
    CHECK_INT(slots_in_use(), 1);
}

TEST(a_slot_is_free_when_its_lock_is_idle_has_ended_and_owes_nothing)
{
    for (unsigned last = 0; last < 3; last++) {
        EVENTS(SLOTS);
        PHASE(ACQUIRING);
        EVENT(OWED, .session = 1);
        if (last != 0) ENDED(ACQUIRE, TAKEN);
        if (last != 1) PHASE(IDLE);
        if (last != 2) EVENT(CLEARED, .session = 1);
        CHECK_INT(slots_in_use(), 1);
        if (last == 0) ENDED(ACQUIRE, TAKEN);
        if (last == 1) PHASE(IDLE);
        if (last == 2) EVENT(CLEARED, .session = 1);
        CHECK_INT(slots_in_use(), 0);
    }
}

/* Each in its turn, so that others move up into its slot. */
TEST(a_lock_that_leaves_a_full_table_takes_no_other_with_it)
{
    static struct redlock_lock locks[SLOTS];
    for (unsigned way = 0; way < 2; way++) {
        EVENTS(SLOTS);
        for (unsigned i = 0; i < SLOTS; i++) PHASE(ACQUIRING, .lock = &locks[i]);
        for (unsigned i = 0; i < SLOTS; i++) {
            CHECK_INT(slots_in_use(), SLOTS - i);
            if (way == 0) EVENT(FORGOTTEN, .lock = &locks[i]);
            if (way == 1) ENDED(ACQUIRE, TAKEN, .lock = &locks[i]);
            if (way == 1) PHASE(IDLE, .lock = &locks[i]);
        }
        CHECK_INT(slots_in_use(), 0);
        for (unsigned k = 0; k < N; k++) CHECK_INT(metrics.votes[k][4], SLOTS);
    }
}

TEST(nothing_that_is_no_round_takes_a_slot)
{
    EVENTS(SLOTS);
    PHASE(IDLE, .command = REDLOCK_COMMAND_ACQUIRE);
    PHASE(INSPECTING, .command = REDLOCK_COMMAND_GETRANGE);
    VERDICT(ACQUIRE, TAKEN);
    CHECK_INT(slots_in_use(), 0);
    ENDED(ACQUIRE, TIMEOUT);
    HEARD(0, .command = REDLOCK_COMMAND_WAIT, .as.message.number = -2);
    EVENT(WOKEN, .session = 0);
    EVENT(OWED, .session = 0);
    CHECK_INT(slots_in_use(), 0);
    begin(ENGINE(0), RING_SIZE, 0);
    PHASE(IDLE, .command = REDLOCK_COMMAND_ACQUIRE);
    VERDICT(ACQUIRE, TAKEN, .not_asked = 1, .unknown = 2);
    CHECK_INT(metrics.untracked_rounds, 0);
    CHECK_INT(metrics.votes[0][3] + metrics.votes[1][2], 0);
}

TEST(a_connection_and_an_emptied_node_are_not_counted)
{
    struct redlock_metrics before;

    EVENTS(SLOTS);
    PHASE(ACQUIRING, .at_us = 1);
    before = metrics;
    EVENT(CONNECTED, .session = 0);
    EVENT(EMPTIED, .session = 0);
    CHECK(!memcmp(&before, &metrics, sizeof metrics));
    CHECK_INT(slots_in_use(), 1);
}

TEST(each_node_has_the_vote_that_its_bit_tells)
{
    EVENTS(SLOTS);
    PHASE(ACQUIRING);
    VERDICT(ACQUIRE, TAKEN, .not_asked = 1u << 4, .unknown = 1u << 3);
    HEARD(0, .command = REDLOCK_COMMAND_ACQUIRE, .as.message.vote = REDLOCK_VOTE_GRANTED);
    PHASE(WAITING);
    PHASE(ACQUIRING);
    CHECK_INT(metrics.votes[0][0], 1);
    CHECK_INT(metrics.votes[1][4], 1);
    CHECK_INT(metrics.votes[3][2], 1);
    CHECK_INT(metrics.votes[4][3], 1);
    ENDED(ACQUIRE, CANCELLED, .unknown = 1u << 2);
    CHECK_INT(metrics.votes[2][2], 1);
    PHASE(EXTENDING);
    ENDED(EXTEND, LOST, .unknown = 1u << 2);
    CHECK_INT(metrics.votes[2][2], 2);
    ENDED(WAIT, CANCELLED, .unknown = 1u << 1);
    CHECK_INT(metrics.votes[1][2], 0);
}

TEST(a_lock_that_comes_back_by_its_verdict_has_no_votes_of_that_round)
{
    EVENTS(SLOTS);
    VERDICT(EXTEND, OK, .as.verdict.validity_us = S);
    ENDED(EXTEND, OK, .unknown = UINT16_MAX);
    CHECK_INT(metrics.votes[0][2], 0);
}

TEST(who_was_woken_once_was_not_woken_the_next_time)
{
    EVENTS(SLOTS);
    PHASE(ACQUIRING);
    PHASE(WAITING);
    for (unsigned k = 0; k < 3; k++) EVENT(WOKEN, .session = (uint8_t)k);
    PHASE(ACQUIRING);
    PHASE(WAITING);
    for (unsigned k = 0; k < N; k++)
        HEARD((uint8_t)k, .command = REDLOCK_COMMAND_ACQUIRE, .as.message.number = -2);
    PHASE(ACQUIRING);
    CHECK_INT(metrics.wake_ups[0], 1);
    CHECK_INT(metrics.wake_ups[1], 1);
}

/* It owes something, so that its slot stays. */
TEST(why_an_attempt_was_lost_counts_for_its_own_end_and_for_a_timeout_alone)
{
    EVENTS(SLOTS);
    PHASE(ACQUIRING);
    EVENT(OWED, .session = 0);
    VERDICT(ACQUIRE, NO_QUORUM);
    ENDED(ACQUIRE, CANCELLED);
    PHASE(IDLE);
    PHASE(WAITING);
    ENDED(ACQUIRE, TIMEOUT);
    TELLS("redlock_acquire_seconds_count{outcome=\"cancelled\"}", "1");
    TELLS("redlock_acquire_seconds_count{outcome=\"timeout\"}", "1");
    TELLS("redlock_acquire_seconds_count{outcome=\"no_quorum\"}", "0");
}

TEST(a_lock_without_a_ticket_leaves_the_last_ticket)
{
    EVENTS(SLOTS);
    VERDICT(ACQUIRE, OK, .as.verdict.ticket = 5);
    VERDICT(ACQUIRE, TAKEN);
    CHECK_INT(metrics.ticket, 5);
}

TEST(one_command_at_a_time_is_timed_and_each_from_its_own_beginning)
{
    EVENTS(SLOTS);
    HEARD(1, .at_us = 50);          /* Nothing was sent when the metrics began. */
    CHECK_INT(metrics.nodes[1].began_at, 0);
    EVENT(SENT, .session = 1, .at_us = 100, .as.message.to_come = 1);
    EVENT(SENT, .session = 1, .at_us = 150, .as.message.to_come = 2);
    HEARD(1, .at_us = 400);
    HEARD(1, .at_us = 500);
    EVENT(SENT, .session = 1, .at_us = 600, .as.message.to_come = 1);
    redlock_metrics_lost(&metrics, 1);      /* Nobody knows whether its answer was. */
    HEARD(1, .at_us = 700);
    CHECK_INT(metrics.trips[1][REDLOCK_METRICS_TRIPS + 1], 300);
    TELLS("redlock_node_round_trip_seconds_count{node=\"1\"}", "1");
}

TEST(a_node_that_is_met_first_has_not_restarted)
{
    EVENTS(SLOTS);
    memset(metrics.nodes, 0, sizeof metrics.nodes);
    EVENT(DISCONNECTED, .session = 0);
    EVENT(READY, .session = 0, .as.is_new_server = true);
    CHECK_INT(metrics.restarts[0], 0);
    EVENT(READY, .session = 0, .as.is_new_server = true);
    CHECK_INT(metrics.restarts[0], 1);
}

TEST(a_subscription_is_no_node)
{
    static const enum redlock_event_kind kinds_of_sessions[] = {
        REDLOCK_EVENT_READY, REDLOCK_EVENT_DISCONNECTED, REDLOCK_EVENT_SENT, REDLOCK_EVENT_HEARD,
        REDLOCK_EVENT_UNANSWERED
    };
    static struct redlock_metrics before;
    EVENTS(SLOTS);
    memset(&metrics.nodes[N], 0xff, sizeof metrics.nodes[N]);
    metrics.nodes[N].to_come = 1;
    before = metrics;
    for (unsigned i = 0; i < 5; i++) {
        struct redlock_event event = {
            .kind = kinds_of_sessions[i], .session = N, .lock = &another, .at_us = 7,
            .command = REDLOCK_COMMAND_ACQUIRE
        };
        if (event.kind == REDLOCK_EVENT_READY) event.as.is_new_server = true;
        else if (event.kind != REDLOCK_EVENT_DISCONNECTED)
            event.as.message = (struct redlock_event_message){
                .vote = REDLOCK_VOTE_REFUSED, .to_come = 2
            };
        redlock_metrics_count(&metrics, &event);
        CHECK(memcmp(&metrics, &before, sizeof metrics) == 0);
        metrics.nodes[N].to_come = before.nodes[N].to_come = (uint16_t)(i + 1) % 2;
    }
}

TEST(metrics_that_begin_when_a_node_is_being_connected_do_not_take_it_for_up)
{
    CLUSTER(N);
    DOWN(1);
    RUN_MS(1000);
    redlock_tick(ENGINE(0), CLIENT_NOW(0) + 20 * S);
    CHECK(redlock_wants(ENGINE(0), 1) & REDLOCK_WANT_CONNECT);
    WATCH;
    CHECK(!metrics.nodes[1].is_up);
}

TEST(metrics_that_begin_before_a_node_was_met_do_not_count_its_first_server)
{
    CLUSTER_COLD(N, 1, (void)0);
    HANG(1);
    RUN_MS(20);
    WATCH;
    TELLS("redlock_node_up{node=\"1\"}", "0");
    RESUME(1);
    RUN_MS(10000);
    TELLS("redlock_node_up{node=\"1\"}", "1");
    TELLS("redlock_node_restarts_total{node=\"1\"}", "0");
}

/* ---- Too little memory ---- */

TEST(lost_events_are_counted_and_locks_come_back_with_their_next_round)
{
    CLUSTER(N);
    begin(ENGINE(0), 4, SLOTS);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    LOOK;
    CHECK(strcmp(told_of("redlock_metrics_lost_events_total"), "0") != 0);
    CHECK_STR(told_of("redlock_held"), "0");
    redlock_use_events(ENGINE(0), &events, ring, RING_SIZE);
    events.kinds = REDLOCK_METRICS_EVENTS;
    redlock_metrics_lost(&metrics, 0);
    EXTEND(0, 10000);
    TELLS("redlock_held", "1");
    TELLS("redlock_extensions_total{outcome=\"ok\"}", "1");
}

TEST(a_verdict_brings_a_lock_back)
{
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    START_EXTEND(0, 10000);
    LOOK;
    CHECK_STR(told_of("redlock_held"), "1");
    redlock_metrics_lost(&metrics, 7);
    redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 0, 0, text, sizeof text);
    CHECK_STR(told_of("redlock_held"), "0");
    CHECK_INT(metrics.lost_events, 7);
    metrics.lost_seen = 0;      /* The metrics then match the ring's. */
    UNTIL_DONE(0);
    RUN_MS(5);
    TELLS("redlock_held", "1");
}

TEST(a_lock_without_a_slot_is_counted_without_times)
{
    CLUSTER(N);
    begin(ENGINE(0), RING_SIZE, 0);
    ACQUIRE(0, "door", 10000);
    EXTEND(0, 10000);
    RELEASE(0);
    RUN_MS(5);
    TELLS("redlock_metrics_untracked_rounds_total", "3");
    TELLS("redlock_attempts_total{outcome=\"ok\"}", "1");
    TELLS("redlock_extensions_total{outcome=\"ok\"}", "1");
    TELLS("redlock_held", "0");
    TELLS("redlock_acquire_seconds_count{outcome=\"ok\"}", "0");
    TELLS(VOTE(0, "granted"), "2");
}

TEST(a_lock_without_a_slot_is_woken_uncounted)
{
    CLUSTER_OF(N, 2, config.wake_ups = true);
    begin(ENGINE(0), RING_SIZE, 0);
    ACQUIRE(1, "door", 10000);
    START_ACQUIRE(0, "door", 10000, 60000);
    RUN_MS(50);
    RELEASE(1);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    TELLS("redlock_wake_ups_total{kind=\"heard\"}", "0");
    TELLS("redlock_attempts_total{outcome=\"ok\"}", "1");
}

TEST(lost_events_of_one_ring_after_the_other_are_added_up)
{
    CLUSTER(N);
    WATCH;
    redlock_metrics_lost(&metrics, 7);
    redlock_metrics_lost(&metrics, 9);
    redlock_metrics_lost(&metrics, 9);
    redlock_metrics_change(&metrics, ENGINE(0));
    redlock_metrics_lost(&metrics, 2);
    CHECK_INT(metrics.lost_events, 11);
    redlock_metrics_lost(&metrics, 1);      /* Another ring already. */
    CHECK_INT(metrics.lost_events, 12);
    redlock_metrics_change(&metrics, ENGINE(0));
    redlock_metrics_lost(&metrics, 4);
    CHECK_INT(metrics.lost_events, 16);
}

/* Locks that are acquired, forgotten and moved in any order, by their addresses alone, beside
 * a list. */
TEST(slots_are_found_again_whatever_leaves_between_them)
{
    static struct redlock_lock locks[20];
    bool is_in[20] = { false };
    unsigned count = 0, dice = 1;
    CLUSTER(N);
    WATCH;
    for (unsigned i = 0; i < 20000; i++) {
        dice = dice * 1103515245 + 12345;
        unsigned at = (dice >> 16) % 20, to = (dice >> 24) % 60;
        if (to < 20 && to != at) {
            EVENT(MOVED, .lock = &locks[to], .as.was = &locks[at]);
            is_in[to] = is_in[at];
            is_in[at] = false;
        } else if (is_in[at]) {
            EVENT(FORGOTTEN, .lock = &locks[at]);
            is_in[at] = false;
        } else {
            PHASE(ACQUIRING, .lock = &locks[at]);
            is_in[at] = count < SLOTS;
        }
        count = 0;
        for (unsigned k = 0; k < 20; k++) count += is_in[k];
        unsigned waiting = 0;
        for (unsigned j = 0; j < SLOTS; j++)
            for (unsigned k = 0; k < 20; k++) waiting += is_in[k] && slots[j].lock == &locks[k];
        CHECK_INT(waiting, count);
        CHECK_INT(slots_in_use(), count);
    }
}

TEST(a_lock_that_moves_to_where_a_stale_one_was_replaces_it)
{
    static struct redlock_lock locks[2];
    struct redlock_event event = {
        .session = REDLOCK_NO_SESSION, .kind = REDLOCK_EVENT_PHASE,
        .as.phase.phase = REDLOCK_PHASE_ACQUIRING
    };
    CLUSTER(N);
    WATCH;
    for (unsigned i = 0; i < 2; i++) {
        event.lock = &locks[i];
        redlock_metrics_count(&metrics, &event);
    }
    TELLS("redlock_waiting", "2");
    event = (struct redlock_event){
        .session = REDLOCK_NO_SESSION, .kind = REDLOCK_EVENT_MOVED, .lock = &locks[1],
        .as.was = &locks[0]
    };
    redlock_metrics_count(&metrics, &event);
    TELLS("redlock_waiting", "1");
    redlock_metrics_count(&metrics, &event);
    TELLS("redlock_waiting", "0");
}

/* ---- Text ---- */

TEST(a_text_is_told_in_pages_as_in_one)
{
    static char room[TEXT_SIZE], joined[TEXT_SIZE], *const page = room + 1;
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    LOOK;
    const size_t all = strlen(text);
    for (size_t size = tap_sample() > 1 ? 4 : 2; size < 300; size += size < 4 ? 1 : 97) {
        size_t from = 0, left;
        for (; (left = redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 0, from, page,
                                            size)) > 0;
             from += left) {
            CHECK_INT(left, all - from);
            left = left < size ? left : size - 1;
            CHECK_INT(strlen(page), left);
            CHECK_INT(room[0], 0);      /* Nothing is written before a page. */
            memcpy(joined + from, page, left);
        }
        CHECK_INT(from, all);
        CHECK(memcmp(joined, text, all) == 0);
    }
}

TEST(a_buffer_that_is_too_small_is_cut_and_one_of_no_bytes_is_left_alone)
{
    char small[8] = "1234567";
    CLUSTER(1);
    WATCH;
    LOOK;
    CHECK_INT(redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 0, 0, NULL, 0),
              strlen(text));
    CHECK_INT(redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 0, 0, small, 1),
              strlen(text));
    CHECK(small[0] == '\0' && small[1] == '2');
    CHECK_INT(redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 0, 0, small, 7),
              strlen(text));
    CHECK_STR(small, "# HELP");
    small[7] = '8';
    CHECK_INT(redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 0, strlen(text) - 7, small,
                                   7), 7);
    CHECK_INT(small[7], '8');
    CHECK_INT(
        redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 0, strlen(text) + 3, small, 7), 0);
    CHECK_STR(small, "");
}

TEST(each_metric_is_explained_once_and_its_series_stand_together)
{
    static const char begin_of_votes[] =
        "# HELP redlock_votes_total Votes on rounds to acquire and to extend.\n"
        "# TYPE redlock_votes_total counter\n"
        "redlock_votes_total{node=\"0\",vote=\"granted\"} 1\n"
        "redlock_votes_total{node=\"0\",vote=\"refused\"} 0\n"
        "redlock_votes_total{node=\"0\",vote=\"unknown\"} 0\n"
        "redlock_votes_total{node=\"0\",vote=\"not_asked\"} 0\n"
        "redlock_votes_total{node=\"0\",vote=\"late\"} 0\n"
        "# HELP redlock_node_round_trip_seconds Time from a command to its answer.\n";
    unsigned helps = 0;
    CLUSTER(1);
    WATCH;
    ACQUIRE(0, "door", 10000);
    LOOK;
    CHECK(has_words(begin_of_votes));
    for (const char *at = text; (at = strstr(at, "# HELP ")) != NULL; at++, helps++) {
        char name[80] = "# TYPE ";
        (void)snprintf(name + 7, sizeof name - 7, "%.*s", (int)strcspn(at + 7, " ") + 1, at + 7);
        const char *type = strstr(text, name);
        CHECK(type && type == strchr(at, '\n') + 1 && !strstr(type + 1, name));
        CHECK_INT(strncmp(strchr(type, '\n') + 1, name + 7, strlen(name + 7) - 1) == 0 ||
                      strstr(at, "trouble") != NULL,
                  true);
    }
    CHECK_INT(helps, 20);
}

TEST(the_wall_clock_is_told_where_it_is_given)
{
    CLUSTER(1);
    WATCH;
    LOOK;
    CHECK_STR(told_of("redlock_updated_timestamp_seconds"), "nothing");
    redlock_metrics_text(&metrics, ENGINE(0), CLIENT_NOW(0), 1795262400250001, 0, text,
                         sizeof text);
    CHECK_STR(told_of("redlock_updated_timestamp_seconds"), "1795262400.250001");
    CHECK_STR(told_of("redlock_build_info{version=\"" REDLOCK_VERSION "\"}"), "1");
}

TEST(a_count_is_told_to_the_last_digit_up_to_its_end)
{
    CLUSTER(N);
    WATCH;
    metrics.attempts[0] = UINT64_MAX;
    metrics.holds[REDLOCK_METRICS_TIMES + 1] = UINT64_MAX;
    TELLS("redlock_attempts_total{outcome=\"ok\"}", "18446744073709551615");
    TELLS("redlock_hold_seconds_sum", "18446744073709.551615");
    for (uint64_t power = 1; power < UINT64_MAX / 10; power *= 10) {
        char decimal[24];
        metrics.attempts[1] = power - 1;
        (void)snprintf(decimal, sizeof decimal, "%llu", (unsigned long long)power - 1);
        TELLS("redlock_attempts_total{outcome=\"taken\"}", decimal);
        metrics.attempts[1] = power;
        (void)snprintf(decimal, sizeof decimal, "%llu", (unsigned long long)power);
        TELLS("redlock_attempts_total{outcome=\"taken\"}", decimal);
    }
}

TEST(a_time_on_the_end_of_a_bucket_is_in_it)
{
    CLUSTER(N);
    WATCH;
    DELAY_ALL_US(250);
    ACQUIRE(0, "door", 10000);
    TELLS("redlock_acquire_seconds_sum{outcome=\"ok\"}", "0.0005");
    TELLS("redlock_acquire_seconds_bucket{outcome=\"ok\",le=\"0.0005\"}", "1");
}

TEST(what_is_longer_than_the_largest_bucket_is_in_the_one_for_all)
{
    CLUSTER_OF(N, 1, config.guard_ms = 0);
    WATCH;
    ACQUIRE(0, "door", 1000000);
    RUN_MS(400000);
    RELEASE(0);
    TELLS("redlock_hold_seconds_bucket{le=\"300\"}", "0");
    TELLS("redlock_hold_seconds_bucket{le=\"+Inf\"}", "1");
    TELLS("redlock_hold_seconds_count", "1");
}

TEST(a_clock_that_goes_back_makes_no_time_huge)
{
    CLUSTER(N);
    WATCH;
    RUN_MS(60000);
    ACQUIRE(0, "door", 10000);
    CLIENT_CLOCK_STEPS_MS(0, -5000);
    RELEASE(0);
    RUN_MS(50);
    LOOK;
    CHECK_STR(told_of("redlock_hold_seconds_sum"), "0");
}

/* ---- Labels ---- */

TEST(labels_of_the_callers_own_are_told_with_every_metric)
{
    static const struct redlock_label labels[] = {
        { "resource", "back\"up\\ \n\xc3\xbc" }, { "_x1", "" }
    };
    static const char *const names[N] = { "web\"1", NULL, "c", "d", "e" };
    CLUSTER(N);
    WATCH;
    CHECK_INT(redlock_metrics_set_labels(&metrics, labels, 2), REDLOCK_OK);
    metrics.node_names = names;
    TELLS("redlock_held{resource=\"back\\\"up\\\\ \\n\xc3\xbc\",_x1=\"\"}", "0");
    TELLS("redlock_node_up{node=\"web\\\"1\",resource=\"back\\\"up\\\\ \\n\xc3\xbc\",_x1=\"\"}",
          "1");
    TELLS("redlock_node_up{node=\"1\",resource=\"back\\\"up\\\\ \\n\xc3\xbc\",_x1=\"\"}", "1");
    TELLS(
        "redlock_hold_seconds_bucket{resource=\"back\\\"up\\\\ \\n\xc3\xbc\",_x1=\"\",le=\"+Inf\"}",
        "0");
    CHECK_INT(redlock_metrics_set_labels(&metrics, NULL, 0), REDLOCK_OK);
    TELLS("redlock_held", "0");
    TELLS("redlock_node_up{node=\"c\"}", "1");
}

TEST(names_of_labels_that_are_none_or_ours_or_there_twice_are_refused)
{
    static const char *const bad[] = {
        "", "1a", "a-b", "a b", "__a", "__", "le", "node", "vote", "outcome", "reason", "kind",
        "trouble", "version", "\xc3\xbc", "a~", "a:b", "a["
    };
    static const char *const good[] = { "a", "_", "A_9z", "les", "n", "instance", "Z", "_0" };
    struct redlock_label labels[REDLOCK_LABELS_MAX + 1];
    CLUSTER(1);
    WATCH;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        labels[0] = (struct redlock_label){ bad[i], "x" };
        CHECK_INT(redlock_metrics_set_labels(&metrics, labels, 1), REDLOCK_BAD_CONFIG);
    }
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        labels[i] = (struct redlock_label){ good[i], "x" };
        CHECK_INT(redlock_metrics_set_labels(&metrics, labels, i + 1), REDLOCK_OK);
    }
    labels[8] = (struct redlock_label){ "one_more", "x" };
    CHECK_INT(redlock_metrics_set_labels(&metrics, labels, 9), REDLOCK_BAD_CONFIG);
    for (unsigned i = 0; i < 3; i++) {
        static const char *const last[] = { "a", "Z", "le" };
        labels[7].name = last[i];
        CHECK_INT(redlock_metrics_set_labels(&metrics, labels, 8), REDLOCK_BAD_CONFIG);
    }
    CHECK_INT(metrics.label_count, 8);
}

TAP_MAIN
