/* Every answer is delayed to just before the moment from which on it is too late, to that moment,
 * and past it. This is tried for every operation on every kind of lock, by one node, by a minority,
 * by so many that a quorum is missing, and by all.
 *
 * An answer in time counts. A late one grants nothing, lengthens nothing, and is no vote in a later
 * operation; anything that it reveals is released. (The cluster checks that nobody holds a lock
 * that no quorum keeps.) */
#include "../kinds/kinds.h"

enum { N = 5, LOST = 4, ALL = 31, RECOVERY_MS = 8000 };

enum operation { ACQUIRE_IT, EXTEND_IT, RESTORE_IT, RELEASE_IT };

static const char *const operation_names[] = {
    "acquire", "extend", "extend with a key lost", "release"
};

/* The late nodes: the one that has lost the key, a minority, so many that the rest is
 * no quorum, all. */
static const unsigned masks[] = { 1 << LOST, 3 << 3, 7 << 2, ALL };

/* A round ends because nodes take too long, or because nothing would be left of the validity. */
struct limit {
    const char *name;
    uint32_t node_timeout_ms, ttl_ms;
};

static const struct limit limits[] = {
    { "the node timeout", 500, 10000 }, { "the end of the validity", 2000, 1000 }
};

/* Against the deadline of the round. A client whose alarms ring late reads its bytes before it
 * looks at the clock. */
struct moment {
    const char *name;
    int64_t after_us;
    uint64_t lag_us;
};

static const struct moment moments[] = {
    { "just before", -1, 0 }, { "at", 0, 5 }, { "unnoticed, behind", 1, 5 }, { "behind", 1, 0 }
};

struct delay {
    enum operation operation;
    enum kind kind;
    struct limit limit;
    struct moment moment;
    unsigned mask;
    bool is_flushed;        /* No node knows the scripts, so the answer is NOSCRIPT. */
};

static void deafen(struct cluster *cluster, unsigned mask)
{
    for (unsigned k = 0; k < N; k++) LINK(0, k)->deaf = mask >> k & 1;
}

/* Runs up to the moment at which the answers come. until: the validity before the operation. */
static void begin(struct cluster *cluster, const struct delay *delay, uint64_t *until)
{
    TAP_CONTEXT("%s %s%s, nodes %x answer %s %s", operation_names[delay->operation],
                kind_names[delay->kind], delay->is_flushed ? " behind SCRIPT FLUSH" : "",
                delay->mask, delay->moment.name, delay->limit.name);
    kind_teach_scripts(cluster);
    RUN_MS(STORY_SETTLE_MS);
    if (delay->operation != ACQUIRE_IT) {
        ACQUIRE_KIND(0, delay->kind, delay->limit.ttl_ms);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(100);
    }
    *until = CLIENT_NOW(0) + VALID_US(0);
    if (delay->operation == RESTORE_IT) REMOVE_KEYS(LOST);
    if (delay->is_flushed) kind_flush_scripts(cluster);
    deafen(cluster, delay->mask);
    switch (delay->operation) {
    case ACQUIRE_IT:
        CHECK_INT(kind_acquire(cluster, 0, delay->kind, delay->limit.ttl_ms, 0), REDLOCK_OK);
        break;
    case EXTEND_IT:
    case RESTORE_IT: START_EXTEND(0, delay->limit.ttl_ms); break;
    case RELEASE_IT: START_RELEASE(0); break;
    }
    cluster->clients[0].lag_us = delay->moment.lag_us;
    RUN_US(
        (uint64_t)((int64_t)(LOCK(0)->round.deadline_at - CLIENT_NOW(0)) + delay->moment.after_us));
}

/* Is there no quorum without the nodes that are late? */
static bool is_decisive(const struct delay *delay)
{
    unsigned left = N;
    for (unsigned k = 0; k < N; k++) left -= delay->mask >> k & 1;
    return left < N / 2 + 1;
}

/* A NOSCRIPT just in time makes the full answer late. */
static bool is_in_time(const struct delay *delay)
{
    const bool is_scripted = delay->operation != ACQUIRE_IT || delay->kind != KIND_PLAIN;
    return delay->moment.after_us < 0 && !(delay->is_flushed && is_scripted);
}

/* A vote that is read after the node timeout, though before anybody has looked at the
 * clock, may count.
 * The rest of the validity is computed nevertheless. */
static bool may_count(const struct delay *delay)
{
    return is_in_time(delay) ||
           (delay->moment.lag_us > 0 && delay->limit.node_timeout_ms < delay->limit.ttl_ms);
}

static void check_acquire(struct cluster *cluster, const struct delay *delay)
{
    const enum redlock_status status = redlock_lock_status(LOCK(0));
    if (!is_decisive(delay) || is_in_time(delay))
        CHECK(status == REDLOCK_OK);
    else if (!may_count(delay))
        CHECK(status == REDLOCK_NO_QUORUM || status == REDLOCK_TOO_LATE);
    if (status != REDLOCK_OK)
        EXPECT_NOT_HELD(0);
    else if (delay->limit.node_timeout_ms <
             delay->limit.ttl_ms) /* Otherwise it was held for a microsecond. */
        EXPECT_HELD(0);
}

static void check_extend(struct cluster *cluster, const struct delay *delay, uint64_t until)
{
    const enum redlock_status status = redlock_lock_status(LOCK(0));
    const uint64_t left_us = until > CLIENT_NOW(0) ? until - CLIENT_NOW(0) : 0;
    if (!is_decisive(delay) || is_in_time(delay))
        CHECK(status == REDLOCK_OK);
    else if (!may_count(delay))
        CHECK(status == REDLOCK_NO_QUORUM || status == REDLOCK_LOST);
    if (status == REDLOCK_OK)
        CHECK(VALID_US(0) > left_us);
    else
        CHECK_INT(VALID_US(0), left_us);
}

/* Has no alarm rung yet? Until then late answers may count, and missing ones are waited for. */
static bool is_unnoticed(struct cluster *cluster, const struct delay *delay)
{
    return CLIENT_NOW(0) < LOCK(0)->round.deadline_at + delay->moment.lag_us;
}

static void check_release(struct cluster *cluster, const struct delay *delay)
{
    EXPECT_NOT_HELD(0);
    if (delay->is_flushed && is_unnoticed(cluster, delay)) return;
    EXPECT_STATUS(0, REDLOCK_OK);
    if (!is_decisive(delay) || is_in_time(delay))
        CHECK(redlock_view_lock(LOCK(0)).confirmed >= N / 2 + 1);
}

static void check(struct cluster *cluster, const struct delay *delay, uint64_t until)
{
    switch (delay->operation) {
    case ACQUIRE_IT: check_acquire(cluster, delay); break;
    case EXTEND_IT:
    case RESTORE_IT: check_extend(cluster, delay, until); break;
    case RELEASE_IT: check_release(cluster, delay); break;
    }
}

static void finish(struct cluster *cluster)
{
    deafen(cluster, 0);
    (void)cluster_release(cluster, 0, 0);
    RUN_MS(RECOVERY_MS);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    EXPECT_KEY_ABSENT_ON_ALL("gate");
    EXPECT_KEY_ABSENT_ON_ALL("door:1");
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    CHECK(IDLE(0));
}

static void answer_late(const struct delay *delay)
{
    uint64_t until;
    CLUSTER_COLD(N, 1, config.node_timeout_ms = delay->limit.node_timeout_ms);
    begin(cluster, delay, &until);
    deafen(cluster, 0);
    RUN_US(1);
    check(cluster, delay, until);
    RUN_MS(2);
    check(cluster, delay, until);
    if (delay->operation == RESTORE_IT)
        CHECK_INT(cluster_key(cluster, LOST, kind_key(delay->kind)) != NULL, is_in_time(delay));
    finish(cluster);
}

/* An operation that began after the deadline is decided by its own answers, which are
 * late as well. */
static void answer_into_the_next(const struct delay *delay)
{
    uint64_t until;
    CLUSTER_COLD(N, 1, config.node_timeout_ms = delay->limit.node_timeout_ms);
    begin(cluster, delay, &until);
    const bool is_held = VALID_US(0) > 0;
    if (is_held)
        START_EXTEND(0, delay->limit.ttl_ms);
    else
        CHECK_INT(kind_acquire(cluster, 0, delay->kind, delay->limit.ttl_ms, 0), REDLOCK_OK);
    deafen(cluster, 0);
    RUN_US(1);
    deafen(cluster, delay->mask);
    RUN_MS(10);
    if (is_decisive(delay)) {
        EXPECT_STATUS(0, REDLOCK_PENDING);
        CHECK_INT(VALID_US(0), is_held ? until - CLIENT_NOW(0) : 0);
    }
    deafen(cluster, 0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    finish(cluster);
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void for_every_delay(enum operation operation, void (*answer)(const struct delay *delay))
{
    unsigned number = 0;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        for (size_t l = 0; l < COUNT(limits); l++)
            for (size_t m = 0; m < COUNT(masks); m++)
                for (size_t i = 0; i < 2 * COUNT(moments); i++)
                    if (number++ % (tap_sample() > 1 ? 3 : 1) == 0)
                        answer(&(const struct delay){ operation, (enum kind)kind, limits[l],
                                                      moments[i / 2], masks[m], i % 2 });
}

TEST(an_acquire_that_is_answered_late_grants_nothing_and_is_released)
{
    for_every_delay(ACQUIRE_IT, answer_late);
}

TEST(s9_an_extension_that_is_answered_late_lengthens_nothing)
{
    for_every_delay(EXTEND_IT, answer_late);
}

TEST(a_key_whose_loss_is_told_late_is_not_set_again)
{
    for_every_delay(RESTORE_IT, answer_late);
}

TEST(s5_a_release_that_is_answered_late_is_paid)
{
    for_every_delay(RELEASE_IT, answer_late);
}

static void answer_behind(const struct delay *delay)
{
    if (delay->moment.after_us > 0 && delay->moment.lag_us == 0) answer_into_the_next(delay);
}

TEST(s8_late_answers_are_no_votes_in_what_was_begun_meanwhile)
{
    for (enum operation operation = ACQUIRE_IT; operation <= RELEASE_IT; operation++)
        for_every_delay(operation, answer_behind);
}

/* ---- All answers at once, late ---- */

/* The operation is sent; then the client sleeps, past the node timeout, and the answers lie
 * in its sockets. */
static void sleep_over_the_answers(struct cluster *cluster)
{
    const uint64_t tick_count = cluster->clients[0].tick_count;
    RUN_US(1);
    CHECK(redlock_lock_status(LOCK(0)) == REDLOCK_PENDING &&
          LOCK(0)->outstanding == cluster->node_count);
    FREEZE(0);
    RUN_MS(2 * REDLOCK_NODE_TIMEOUT_MS);
    THAW(0);
    RUN_US(1);
    CHECK(cluster->clients[0].tick_count <= tick_count + 1);
}

TEST(a_client_that_slept_over_the_node_timeout_loses_no_answer_that_it_reads_before_it_ticks)
{
    for (volatile unsigned n = 1; n <= 5; n++) {
        CLUSTER(n);
        START_ACQUIRE(0, "door", 10000, 0);
        sleep_over_the_answers(cluster);
        EXPECT_STATUS(0, REDLOCK_OK);
        CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, n);
        CHECK(VALID_US(0) < (10000 - 2 * REDLOCK_NODE_TIMEOUT_MS) * 1000u);
        START_EXTEND(0, 10000);
        sleep_over_the_answers(cluster);
        EXPECT_STATUS(0, REDLOCK_OK);
        CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, n);
        START_RELEASE(0);
        sleep_over_the_answers(cluster);
        EXPECT_STATUS(0, REDLOCK_OK);
        CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, n);
    }
}

TEST(a_release_that_a_client_slept_over_says_lost_if_the_answers_do)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RUN_MS(1);
    for (unsigned k = 0; k < 3; k++) REMOVE_KEYS(k);
    START_RELEASE(0);
    sleep_over_the_answers(cluster);
    EXPECT_STATUS(0, REDLOCK_LOST);
}

TEST(an_acquire_that_a_client_slept_over_says_taken_if_no_quorum_can_have_granted)
{
    CLUSTER(1);
    RIVAL(0, "door", 60000);
    START_ACQUIRE(0, "door", 900, 0);
    sleep_over_the_answers(cluster);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
}

TEST(s2_a_client_that_slept_over_the_validity_holds_nothing_whatever_it_reads)
{
    CLUSTER(3);
    START_ACQUIRE(0, "door", 900, 0);
    sleep_over_the_answers(cluster);
    EXPECT_STATUS(0, REDLOCK_TOO_LATE);
    EXPECT_NOT_HELD(0);
    RUN_MS(1000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s9_an_extension_over_whose_end_the_client_slept_counts_for_nothing)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 900);
    START_EXTEND(0, 10000);
    sleep_over_the_answers(cluster);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_NOT_HELD(0);
}

TAP_MAIN
