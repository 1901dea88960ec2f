/* A lock that waits. Tests the bytes sent to one node and on its subscription. One node is a quorum
 * of one. */
#include "../../../redlock/lock.h"
#include "../../../redlock/names.h"
#include "../../tap.h"

enum { NODE, SUBSCRIPTION, SESSIONS, OUTPUT_MAX = 8192 };
/* A pause between attempts that is longer than the stories in which it is set. */
enum { RARELY_MS = 60000 };

static const char handshake[] =
    "+OK\r\n$83\r\nrun_id:0123456789012345678901234567890123456789\nredis_mode:standalone"
    "\nrole:master\r\n\r\n$-1\r\n"
    "$40\r\n" WIRE_RELEASE_SHA1 "\r\n$40\r\n" WIRE_EXTEND_SHA1 "\r\n";
static const char subscribed[] =
    "+OK\r\n*3\r\n$9\r\nsubscribe\r\n$24\r\nredlock:0101010101010101\r\n:1\r\n";

struct talk {
    struct redlock engine;
    struct redlock_node nodes[SESSIONS];
    struct redlock_lock lock;
    uint64_t now_us;
    uint64_t memory[REDLOCK_MEMORY_DEFAULT(SESSIONS) / sizeof(uint64_t)];
    char output[SESSIONS][OUTPUT_MAX];
    bool starves;                       /* Nobody gives it random bytes. */
};

static void feed(struct talk *talk)
{
    uint8_t bytes[REDLOCK_ENTROPY_MAX];

    if (talk->starves) return;
    memset(bytes, 1, sizeof bytes);
    redlock_add_entropy(&talk->engine, bytes, redlock_entropy_wanted(&talk->engine));
}

/* The bytes that the session sends now, as text. */
static const char *said(struct talk *talk, unsigned k)
{
    size_t size, used = 0;

    for (;;) {
        const uint8_t *bytes = redlock_output(&talk->engine, k, &size);
        if (size == 0) break;
        if (used + size >= OUTPUT_MAX) break;
        memcpy(talk->output[k] + used, bytes, size);
        redlock_sent(&talk->engine, k, size);
        used += size;
    }
    talk->output[k][used] = '\0';
    return talk->output[k];
}

static void answer(struct talk *talk, unsigned k, const char *text)
{
    size_t rest = strlen(text), room;

    while (rest > 0) {
        uint8_t *input = redlock_input(&talk->engine, k, &room);
        size_t size = rest < room ? rest : room;
        memcpy(input, text, size);
        redlock_received(&talk->engine, k, size, talk->now_us);
        text += size;
        rest -= size;
    }
    feed(talk);
}

/* Does the work that the sessions want of a transport, with a node whose handshake goes well. */
static void serve(struct talk *talk)
{
    for (unsigned k = 0; k < SESSIONS; k++) {
        unsigned wants = redlock_wants(&talk->engine, k);
        if (wants & REDLOCK_WANT_CLOSE) redlock_disconnected(&talk->engine, k, NULL, talk->now_us);
        if (!(wants & REDLOCK_WANT_CONNECT)) continue;
        redlock_connected(&talk->engine, k, talk->now_us);
        said(talk, k);
        answer(talk, k, k == NODE ? handshake : subscribed);
    }
}

static void run_ms(struct talk *talk, unsigned ms)
{
    for (unsigned i = 0; i < ms; i++) {
        talk->now_us += 1000;
        redlock_tick(&talk->engine, talk->now_us);
        feed(talk);
        serve(talk);
    }
}

static struct redlock_config defaults(void)
{
    struct redlock_config config;

    redlock_config_init(&config);
    config.guard_ms = 0;
    return config;
}

static void begin(struct talk *talk, struct redlock_config *config)
{
    memset(talk, 0, sizeof *talk);
    talk->now_us = 1000000;
    config->wake_ups = true;
    CHECK_INT(redlock_init(&talk->engine, config, talk->nodes, 1, talk->memory, sizeof talk->memory,
                           talk->now_us),
              REDLOCK_OK);
    redlock_use(&talk->engine, &redlock_tickets);
    redlock_use(&talk->engine, &redlock_sets);
    redlock_use(&talk->engine, &redlock_restore);
    redlock_use(&talk->engine, &redlock_wake_ups);
    redlock_lock_init(&talk->lock);
    feed(talk);
    run_ms(talk, 5);
    CHECK(redlock_node_votes(&talk->engine, NODE, talk->now_us));
}

/* A talk with one node that is connected. */
#define TALK(...)                                                       \
    struct redlock_config config = defaults();                          \
    static struct talk whole, *talk = &whole;                           \
    __VA_ARGS__;                                                        \
    begin(talk, &config)

static void start(struct talk *talk, uint32_t wait_ms)
{
    const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 30000, .wait_ms = wait_ms,
        .wall_us = 1800000000000000 + talk->now_us
    };

    CHECK_INT(redlock_start_acquire(&talk->engine, &talk->lock, &request, talk->now_us),
              REDLOCK_OK);
}

#define EXPECT_SAID(k, words)                                                                    \
    do {                                                                                         \
        const char *text = said(talk, (k));                                                      \
        TAP_CHECK(strstr(text, (words)), "said is \"%s\", without \"%s\"", text, (words));       \
    } while (0)
#define EXPECT_UNSAID(k, words)                                                                  \
    do {                                                                                         \
        const char *text = said(talk, (k));                                                      \
        TAP_CHECK(!strstr(text, (words)), "said is \"%s\", with \"%s\"", text, (words));         \
    } while (0)

/* Is refused, and takes an entry, which the node has not answered yet. */
static void start_and_ask_for_an_entry(struct talk *talk, uint32_t wait_ms)
{
    start(talk, wait_ms);
    EXPECT_SAID(NODE, "SET\r\n");
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);                    /* The subscription opens. */
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
}

/* Waits in line for a holder, whose key has no TTL. */
static void line_up(struct talk *talk, uint32_t wait_ms)
{
    start_and_ask_for_an_entry(talk, wait_ms);
    answer(talk, NODE, ":-1\r\n");
}

TEST(an_entry_is_given_back_although_the_node_does_not_know_the_script)
{
    TALK((void)0);

    line_up(talk, 100000);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    EXPECT_SAID(NODE, WIRE_SHARED_RELEASE_SHA1);
    answer(talk, NODE, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    EXPECT_SAID(NODE, ":1\r\n");        /* The entry, in the EVAL. */
    answer(talk, NODE, ":-1\r\n");
    CHECK(redlock_idle(&talk->lock));
}

TEST(an_entry_is_given_back_although_the_connection_was_lost_behind_the_release)
{
    TALK((void)0);

    line_up(talk, 100000);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    EXPECT_SAID(NODE, WIRE_SHARED_RELEASE_SHA1);
    redlock_disconnected(&talk->engine, NODE, "reset", talk->now_us);
    run_ms(talk, 5);
    EXPECT_SAID(NODE, ":1\r\n");
}

TEST(the_handshake_leaves_in_one_piece_where_the_buffer_has_room)
{
    TALK((void)0);
    size_t size;

    redlock_disconnected(&talk->engine, NODE, "reset", talk->now_us);
    redlock_tick(&talk->engine, talk->now_us);
    redlock_connected(&talk->engine, NODE, talk->now_us);
    (void)redlock_output(&talk->engine, NODE, &size);
    redlock_sent(&talk->engine, NODE, size);
    CHECK_INT(redlock_wants(&talk->engine, NODE), REDLOCK_WANT_RECEIVE);
    answer(talk, NODE, handshake);
    CHECK(redlock_node_votes(&talk->engine, NODE, talk->now_us));
}

/* The subscription has to be open when the turn comes, however rarely the waiter polls. */
TEST(a_subscription_stays_open_for_as_long_as_somebody_waits)
{
    TALK(config.retry_ms = 60000);

    line_up(talk, REDLOCK_FOREVER);
    for (unsigned s = 0; s < 25; s++) {
        run_ms(talk, 1000);
        TAP_CHECK(talk->nodes[SUBSCRIPTION].state == NODE_READY,
                  "the subscription is closed after %u s", s);
    }
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
}

/* An attempt that is not answered in time is released, and refused only then. */
static void be_refused_behind_a_release(struct talk *talk)
{
    start(talk, 100000);
    said(talk, NODE);
    run_ms(talk, 505);
    EXPECT_SAID(NODE, WIRE_RELEASE_SHA1);
    answer(talk, NODE, "$-1\r\n");
}

TEST(behind_a_release_an_entry_is_taken_once)
{
    TALK(config.retry_ms = RARELY_MS);

    be_refused_behind_a_release(talk);
    CHECK_STR(said(talk, NODE), "");
    answer(talk, NODE, ":-1\r\n");
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":5000\r\n");
    CHECK_STR(said(talk, NODE), "");
}

TEST(a_release_is_not_forgotten_over_an_entry)
{
    TALK((void)0);

    be_refused_behind_a_release(talk);
    answer(talk, NODE, "-NOSCRIPT No matching script.\r\n");
    EXPECT_SAID(NODE, WIRE_RELEASE_SCRIPT);
    answer(talk, NODE, ":0\r\n");
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
}

TEST(a_lock_that_no_longer_waits_takes_no_entry)
{
    TALK((void)0);

    be_refused_behind_a_release(talk);
    answer(talk, NODE, ":-1\r\n");
    CHECK_INT(talk->lock.stakes[NODE].want, REDLOCK_COMMAND_WAIT);
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    CHECK_INT(talk->lock.phase, REDLOCK_PHASE_ACQUIRING);
    EXPECT_UNSAID(NODE, WIRE_WAIT_SHA1);
}

/* It may have been taken out for a subscription that was closed. The answer to the first one is of
 * no use then. */
TEST(an_entry_is_taken_anew_when_the_subscription_has_opened_again)
{
    TALK(config.retry_ms = RARELY_MS);

    start_and_ask_for_an_entry(talk, REDLOCK_FOREVER);
    redlock_disconnected(&talk->engine, SUBSCRIPTION, "reset", talk->now_us);
    run_ms(talk, 100);
    CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_READY);
    answer(talk, NODE, "-NOSCRIPT No matching script.\r\n");
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, "-NOSCRIPT No matching script.\r\n");
    EXPECT_SAID(NODE, WIRE_WAIT_SCRIPT);
}

/* The node has just said that it does not know the script. */
TEST(an_entry_that_is_to_be_taken_by_its_text_is_taken_so_although_the_subscription_opened_again)
{
    TALK(config.retry_ms = RARELY_MS);

    start_and_ask_for_an_entry(talk, REDLOCK_FOREVER);
    answer(talk, NODE, "-NOSCRIPT No matching script.\r\n");
    redlock_disconnected(&talk->engine, SUBSCRIPTION, "reset", talk->now_us);
    run_ms(talk, 100);
    CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_READY);
    EXPECT_SAID(NODE, WIRE_WAIT_SCRIPT);
}

/* Or it would try ever more rarely, and nobody would wake it. */
TEST(where_the_node_gives_no_entry_there_is_none)
{
    TALK((void)0);

    start_and_ask_for_an_entry(talk, 100000);
    answer(talk, NODE,
           "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n");
    CHECK_INT(talk->lock.entries, 0);
}

/* It was free all the time. An attempt as soon as a round has passed would fail for the same
 * reason, and so on without end. */
TEST(that_the_resource_is_free_is_no_news_where_the_node_would_not_grant_it)
{
    TALK((void)0);

    start(talk, 100000);
    EXPECT_SAID(NODE, "SET\r\n");
    run_ms(talk, 1);
    answer(talk, NODE, "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    EXPECT_SAID(NODE, WIRE_RELEASE_SHA1);
    run_ms(talk, 1);
    answer(talk, NODE, ":0\r\n");
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":-2\r\n");
    run_ms(talk, 40);
    EXPECT_UNSAID(NODE, "SET\r\n");
}

/* The same with a ticket; and the node refuses like that, until the lock waits. */
static void wait_with_ticket(struct talk *talk, const char *refusals[], unsigned count)
{
    const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 30000, .wait_ms = 100000, .ticket = true,
        .wall_us = 1800000000000000
    };

    CHECK_INT(redlock_start_acquire(&talk->engine, &talk->lock, &request, talk->now_us),
              REDLOCK_OK);
    for (unsigned i = 0; i < count; i++) {
        EXPECT_SAID(NODE, WIRE_ACQUIRE_SHA1);
        answer(talk, NODE, refusals[i]);
        run_ms(talk, 2);
    }
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":-2\r\n");
    run_ms(talk, 40);
}

TEST(that_the_resource_is_free_is_no_news_to_whose_ticket_was_too_small)
{
    const char *refusals[] = { "$19\r\n1900000000000000 -2\r\n", "$19\r\n1950000000000000 -2\r\n" };
    TALK((void)0);

    wait_with_ticket(talk, refusals, 2);
    EXPECT_UNSAID(NODE, WIRE_ACQUIRE_SHA1);
}

TEST(that_the_resource_is_free_is_news_to_a_lock_that_found_it_taken)
{
    const char *refusals[] = { "$21\r\n1700000000000000 5000\r\n" };
    TALK((void)0);

    wait_with_ticket(talk, refusals, 1);
    EXPECT_SAID(NODE, WIRE_ACQUIRE_SHA1);
}

/* The answer takes so long. */
static void release_and_wake_in(struct talk *talk, unsigned ms)
{
    const char *release = "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_RELEASE_SHA1;
    const char *give_back = "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_SHARED_RELEASE_SHA1;
    const bool has_entry = talk->lock.entries != 0;

    CHECK_INT(redlock_start_release(&talk->engine, &talk->lock, talk->now_us), REDLOCK_OK);
    EXPECT_SAID(NODE, has_entry ? give_back : release);
    run_ms(talk, ms);
    answer(talk, NODE, ":2\r\n");
    CHECK_INT(redlock_lock_status(&talk->lock), REDLOCK_OK);
}

static void release_and_wake(struct talk *talk)
{
    release_and_wake_in(talk, 0);
}

/* Has been woken, won, and releases, and its entry goes as well. */
static void win_and_give_back(struct talk *talk, const char *acquire)
{
    run_ms(talk, 1);
    EXPECT_SAID(NODE, acquire);
    answer(talk, NODE, "+OK\r\n");
    CHECK_INT(redlock_start_release(&talk->engine, &talk->lock, talk->now_us), REDLOCK_OK);
    EXPECT_SAID(NODE, "0101010101010101:1\r\n");
}

/* The two may cross, and then the entry that was taken out is taken anew. */
TEST(an_entry_that_is_taken_when_the_wake_up_comes_is_given_back)
{
    TALK((void)0);

    start_and_ask_for_an_entry(talk, 100000);
    answer(talk, SUBSCRIPTION,
           "*3\r\n$7\r\nmessage\r\n$24\r\nredlock:0101010101010101\r\n$1\r\n1\r\n");
    answer(talk, NODE, ":-2\r\n");
    win_and_give_back(talk, "SET\r\n");
}

/* The release of one resource takes the entry out there, and nowhere else. Left there it would be
 * woken in place of another. */
TEST(a_lock_woken_for_one_resource_of_several_gives_back_its_entry_for_the_others)
{
    TALK((void)0);
    struct redlock_name set[] = { { .bytes = "door", .size = 4 }, { .bytes = "gate", .size = 4 } };
    const struct redlock_request request = {
        .set = set, .set_count = 2, .ttl_ms = 30000, .wait_ms = 100000,
        .wall_us = 1800000000000000 + talk->now_us
    };

    CHECK_INT(redlock_start_acquire(&talk->engine, &talk->lock, &request, talk->now_us),
              REDLOCK_OK);
    EXPECT_SAID(NODE, WIRE_ACQUIRE_SHA1);
    answer(talk, NODE, "$4\r\n0 -1\r\n");
    run_ms(talk, 2);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":-1\r\n");
    answer(talk, SUBSCRIPTION,
           "*3\r\n$7\r\nmessage\r\n$24\r\nredlock:0101010101010101\r\n$1\r\n1\r\n");
    win_and_give_back(talk, WIRE_ACQUIRE_SHA1);
}

/* Otherwise it would be faster than the woken lock, again and again. */
TEST(a_lock_that_woke_another_lines_up_behind_it_although_it_has_never_waited)
{
    TALK((void)0);

    start(talk, 100000);
    said(talk, NODE);
    answer(talk, NODE, "+OK\r\n");
    release_and_wake(talk);
    start(talk, 100000);
    run_ms(talk, 2);
    EXPECT_UNSAID(NODE, "SET\r\n");
    CHECK_INT(talk->lock.phase, REDLOCK_PHASE_WAITING);
    CHECK_INT(talk->lock.entries, 1);
}

/* Looks by itself until it has been refused so often. */
static void be_refused(struct talk *talk, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
        EXPECT_SAID(NODE, "SET\r\n");
        answer(talk, NODE, "$-1\r\n");
        EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
        answer(talk, NODE, ":-1\r\n");
    }
}

/* Wins, wakes another, and waits again. So many milliseconds pass until it looks by itself. */
static void win_and_wait(struct talk *talk, unsigned *ms)
{
    run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
    answer(talk, NODE, "+OK\r\n");
    release_and_wake(talk);
    start(talk, 100000);
    run_ms(talk, 1);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":30000\r\n");
    for (*ms = 0; talk->lock.phase == REDLOCK_PHASE_WAITING; ++*ms) run_ms(talk, 1);
}

/* Or each of many waiters would spend several attempts until it is his turn. */
TEST(a_woken_lock_keeps_its_long_pause)
{
    unsigned ms;
    TALK((void)0);

    line_up(talk, 100000);
    be_refused(talk, 3);
    answer(talk, SUBSCRIPTION,
           "*3\r\n$7\r\nmessage\r\n$24\r\nredlock:0101010101010101\r\n$1\r\n1\r\n");
    win_and_wait(talk, &ms);
    TAP_CHECK(ms >= 800, "it looks after %u ms", ms);   /* Half of 100 ms, doubled four times. */
}

TEST(a_lock_that_wins_by_chance_begins_with_short_pauses_again)
{
    unsigned ms;
    TALK((void)0);

    line_up(talk, 100000);
    be_refused(talk, 3);
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    win_and_wait(talk, &ms);
    TAP_CHECK(ms <= 200, "it looks after %u ms", ms);
}

TEST(a_lock_that_gave_up_waiting_begins_with_short_pauses_again)
{
    TALK((void)0);

    line_up(talk, 100000);
    be_refused(talk, 3);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    said(talk, NODE);
    answer(talk, NODE, ":0\r\n");
    line_up(talk, 100000);
    be_refused(talk, 1);
    const uint64_t pause_us = talk->lock.retry_at - talk->now_us;
    /* 150 ms, doubled once. */
    TAP_CHECK(pause_us <= 300000, "it looks after %llu us", (unsigned long long)pause_us);
}

TEST(a_ttl_that_no_lock_has_is_not_taken_for_another)
{
    TALK((void)0);

    start_and_ask_for_an_entry(talk, 100000);
    answer(talk, NODE, ":4294967296\r\n");
    CHECK_INT(redlock_view_lock(&talk->lock).free_in_ms, REDLOCK_UNTOLD - 1);
}

/* ---- What a subscription hears ---- */

#define MESSAGE(number, size) \
    "*3\r\n$7\r\nmessage\r\n$24\r\nredlock:0101010101010101\r\n$" size "\r\n" number "\r\n"

TEST(s3_a_wake_up_makes_the_next_attempt_begin_and_grants_nothing)
{
    TALK(config.retry_ms = RARELY_MS);

    line_up(talk, REDLOCK_FOREVER);
    run_ms(talk, 100);
    EXPECT_UNSAID(NODE, "SET\r\n");
    answer(talk, SUBSCRIPTION, MESSAGE("1", "1"));
    CHECK_INT(redlock_valid_us(&talk->lock, talk->now_us), 0);
    run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
    CHECK_INT(redlock_valid_us(&talk->lock, talk->now_us), 0);
    answer(talk, NODE, "$-1\r\n");
    CHECK_INT(redlock_lock_status(&talk->lock), REDLOCK_PENDING);
}

TEST(a_wake_up_of_another_entry_wakes_nobody_here)
{
    TALK(config.retry_ms = RARELY_MS);

    line_up(talk, REDLOCK_FOREVER);
    answer(talk, SUBSCRIPTION, MESSAGE("2", "1") MESSAGE("0", "1") MESSAGE("4294967295", "10"));
    run_ms(talk, 100);
    EXPECT_UNSAID(NODE, "SET\r\n");
    CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_READY);
    CHECK_INT(talk->lock.entries, 1);
}

/* Many wait for one resource, and some of them cancel, are forgotten, or move. The memory that they
 * leave is overwritten. */
enum { CROWD = 24 };

static void gather(struct talk *talk, struct redlock_lock *crowd)
{
    for (unsigned i = 0; i < CROWD; i++) {
        struct redlock_request request = {
            .resource = "door", .resource_size = 4, .ttl_ms = 30000, .wait_ms = REDLOCK_FOREVER,
            .wall_us = 1800000000000000 + talk->now_us
        };
        redlock_lock_init(&crowd[i]);
        CHECK_INT(redlock_start_acquire(&talk->engine, &crowd[i], &request, talk->now_us),
                  REDLOCK_OK);
        EXPECT_SAID(NODE, "SET\r\n");
        answer(talk, NODE, "$-1\r\n");
        run_ms(talk, 2);
        EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
        answer(talk, NODE, ":-1\r\n");
    }
}

static void call(struct talk *talk, unsigned number)
{
    char text[96];

    snprintf(text, sizeof text,
             "*3\r\n$7\r\nmessage\r\n$24\r\nredlock:0101010101010101\r\n$%d\r\n%u\r\n",
             number > 9 ? 2 : 1, number);
    answer(talk, SUBSCRIPTION, text);
}

TEST(a_wake_up_finds_its_lock_among_many_and_none_that_waits_no_longer)
{
    TALK(config.retry_ms = RARELY_MS);
    static struct redlock_lock crowd[CROWD], moved[CROWD];

    gather(talk, crowd);
    for (unsigned i = 0; i < CROWD; i++) {
        if (i % 4 == 1) redlock_cancel(&talk->engine, &crowd[i], talk->now_us);
        if (i % 4 == 2) redlock_forget(&talk->engine, &crowd[i]);
        if (i % 4 == 3) redlock_move(&talk->engine, &moved[i], &crowd[i], "door");
        if (i % 4 >= 2) memset(&crowd[i], 0xDD, sizeof crowd[i]);
    }
    for (unsigned i = CROWD; i-- > 0;) {
        struct redlock_lock *lock = i % 4 == 3 ? &moved[i] : &crowd[i];
        call(talk, i + 1);
        run_ms(talk, 1);
        if (i % 4 == 0 || i % 4 == 3) CHECK_INT(lock->phase, REDLOCK_PHASE_ACQUIRING);
        if (i % 4 == 1)               CHECK_INT(lock->phase, REDLOCK_PHASE_IDLE);
    }
    CHECK(talk->engine.listening == NULL);
}

TEST(s16_a_subscription_that_hears_what_is_no_wake_up_is_closed)
{
    static const char *const nonsense[] = {
        "+PONG\r\n",
        ":1\r\n",
        "$1\r\n1\r\n",
        "*2\r\n$7\r\nmessage\r\n$1\r\n1\r\n",
        MESSAGE("x", "1"),
        MESSAGE("", "0"),
        MESSAGE("4294967296", "10"),
        "*0\r\n",
        "-ERR no\r\n",
        "*3\r\n$1\r\n1\r\n$0\r\n\r\n$0\r\n\r\n",
    };

    for (unsigned i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        TAP_CONTEXT("%s", nonsense[i]);
        TALK(config.retry_ms = RARELY_MS);
        line_up(talk, REDLOCK_FOREVER);
        answer(talk, SUBSCRIPTION, nonsense[i]);
        CHECK_INT(redlock_wants(&talk->engine, SUBSCRIPTION), REDLOCK_WANT_CLOSE);
        CHECK_INT(talk->nodes[SUBSCRIPTION].trouble, REDLOCK_TROUBLE_PROTOCOL);
        CHECK_INT(redlock_lock_status(&talk->lock), REDLOCK_PENDING);
        CHECK_INT(talk->lock.woken, 0);
        run_ms(talk, 2);                /* It was good until then, and is back at once. */
        CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_READY);
    }
}

TEST(a_subscription_that_has_subscribed_says_nothing_more)
{
    TALK(config.retry_ms = RARELY_MS);

    line_up(talk, REDLOCK_FOREVER);
    CHECK_STR(said(talk, SUBSCRIPTION), "");
}

TEST(a_subscription_is_closed_ten_seconds_after_the_last_that_waited)
{
    TALK((void)0);

    line_up(talk, 100000);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    said(talk, NODE);
    answer(talk, NODE, ":0\r\n");
    run_ms(talk, 9900);
    CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_READY);
    run_ms(talk, 200);
    CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_DISCONNECTED);
    CHECK_INT(redlock_wake_at(&talk->engine), REDLOCK_NEVER);
}

/* Had it been good, that would be no failure. */
TEST(a_subscription_that_has_not_come_about_when_nobody_waits_any_more_has_failed)
{
    TALK(config.node_timeout_ms = 20000);

    start(talk, 5000);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    redlock_tick(&talk->engine, talk->now_us);
    CHECK_INT(redlock_wants(&talk->engine, SUBSCRIPTION), REDLOCK_WANT_CONNECT);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    talk->now_us += 10100000;
    redlock_tick(&talk->engine, talk->now_us);
    CHECK_INT(redlock_wants(&talk->engine, SUBSCRIPTION), REDLOCK_WANT_CLOSE);
    CHECK_INT(talk->nodes[SUBSCRIPTION].failures, 1);
    redlock_disconnected(&talk->engine, SUBSCRIPTION, NULL, talk->now_us);
    CHECK(talk->nodes[SUBSCRIPTION].alarm_at > talk->now_us);
}

/* ---- Entries ---- */

TEST(an_entry_that_is_taken_when_the_lock_is_free_already_wakes_at_once)
{
    TALK(config.retry_ms = RARELY_MS);

    start(talk, REDLOCK_FOREVER);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    said(talk, NODE);
    answer(talk, NODE, ":-2\r\n");
    run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
}

TEST(a_lock_that_knows_when_the_holder_runs_out_comes_then)
{
    TALK(config.retry_ms = 1000);

    start(talk, REDLOCK_FOREVER);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    said(talk, NODE);
    answer(talk, NODE, ":100\r\n");
    const uint64_t free_at = talk->now_us + 100000;
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
    CHECK(talk->now_us >= free_at + 2000 && talk->now_us <= free_at + 2000 + 1000000);
}

static unsigned count_of(const char *text, const char *words)
{
    unsigned count = 0;

    while ((text = strstr(text, words)) != NULL) count++, text++;
    return count;
}

TEST(an_entry_that_waits_to_be_taken_is_taken_once)
{
    TALK(config.retry_ms = RARELY_MS);

    start(talk, REDLOCK_FOREVER);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    redlock_disconnected(&talk->engine, SUBSCRIPTION, "reset", talk->now_us);
    run_ms(talk, 5000);
    CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_READY);
    CHECK_INT(count_of(said(talk, NODE), WIRE_WAIT_SHA1), 1);
}

TEST(a_lock_that_is_cancelled_before_it_has_an_entry_takes_none)
{
    TALK((void)0);

    start(talk, 100000);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    CHECK_INT(talk->lock.stakes[NODE].want, REDLOCK_COMMAND_WAIT);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    CHECK_STR(said(talk, NODE), "");
    CHECK(redlock_idle(&talk->lock));
}

TEST(a_lock_that_waits_for_random_bytes_takes_no_entry)
{
    TALK((void)0);

    start(talk, 100000);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    talk->starves = true;
    talk->engine.entropy_size = 0;
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    CHECK_INT(talk->lock.phase, REDLOCK_PHASE_NEEDS_ENTROPY);
    CHECK_INT(talk->lock.stakes[NODE].want, REDLOCK_COMMAND_WAIT);
    CHECK_STR(said(talk, NODE), "");
}

TEST(the_answer_to_an_entry_that_nobody_wants_any_more_changes_nothing)
{
    static const char *const answers[] = {
        ":-2\r\n", ":5\r\n", "-NOSCRIPT No matching script.\r\n"
    };

    for (unsigned i = 0; i < 3; i++) {
        TAP_CONTEXT("%s", answers[i]);
        TALK((void)0);
        start_and_ask_for_an_entry(talk, 100000);
        redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
        answer(talk, NODE, answers[i]);
        /* It is given back all the same. */
        EXPECT_SAID(NODE, answers[i][0] == '-' ? WIRE_RELEASE_SHA1 : WIRE_SHARED_RELEASE_SHA1);
        EXPECT_UNSAID(NODE, "EVAL\r\n");
        answer(talk, NODE, ":0\r\n");
        CHECK(redlock_idle(&talk->lock));
        CHECK_INT(redlock_lock_status(&talk->lock), REDLOCK_CANCELLED);
    }
}

TEST(a_lock_is_idle_although_the_node_did_not_know_the_script_of_an_entry_that_is_given_back)
{
    TALK((void)0);

    start_and_ask_for_an_entry(talk, 100000);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    EXPECT_SAID(NODE, WIRE_SHARED_RELEASE_SHA1);
    answer(talk, NODE, "-NOSCRIPT No matching script.\r\n:0\r\n");
    CHECK(redlock_idle(&talk->lock));
}

/* Or it would be told that there are none before their time is over. */
TEST(that_the_resource_is_free_does_not_end_the_wait_for_random_bytes)
{
    TALK((void)0);

    start_and_ask_for_an_entry(talk, 100000);
    talk->starves = true;
    talk->engine.entropy_size = 0;
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    CHECK_INT(talk->lock.phase, REDLOCK_PHASE_NEEDS_ENTROPY);
    answer(talk, NODE, ":-2\r\n");
    run_ms(talk, 10);
    CHECK_INT(redlock_lock_status(&talk->lock), REDLOCK_PENDING);
    talk->starves = false;
    run_ms(talk, 2);
    EXPECT_SAID(NODE, "SET\r\n");
}

/* An attempt that was cancelled has asked as well. */
TEST(s8_what_an_earlier_attempt_was_told_of_the_holder_says_nothing_of_this_one)
{
    TALK((void)0);

    start(talk, 0);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    EXPECT_SAID(NODE, "PTTL\r\n");
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    start(talk, 0);
    EXPECT_SAID(NODE, "SET\r\n");
    answer(talk, NODE, ":5000\r\n$-1\r\n");
    EXPECT_SAID(NODE, "PTTL\r\n");
    CHECK_INT(redlock_view_lock(&talk->lock).free_in_ms, REDLOCK_UNTOLD);
    answer(talk, NODE, ":7000\r\n");
    CHECK_INT(redlock_view_lock(&talk->lock).free_in_ms, 7000);
}

/* The lock has been refused once more, or perhaps granted, and its release is on the way. */
TEST(s8_an_entry_of_an_earlier_round_is_not_taken_by_its_text_in_this_one)
{
    TALK((void)0);

    start_and_ask_for_an_entry(talk, 100000);
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
    run_ms(talk, 505);
    EXPECT_SAID(NODE, WIRE_RELEASE_SHA1);
    CHECK_INT(talk->lock.phase, REDLOCK_PHASE_WAITING);
    answer(talk, NODE, "-NOSCRIPT No matching script.\r\n");
    CHECK_STR(said(talk, NODE), "");
}

TEST(s8_what_an_entry_of_an_earlier_round_was_told_says_nothing_of_this_one)
{
    static const char *const answers[] = { ":-2\r\n", "-NOSCRIPT No matching script.\r\n" };

    for (unsigned i = 0; i < 2; i++) {
        TAP_CONTEXT("%s", answers[i]);
        TALK((void)0);
        start_and_ask_for_an_entry(talk, 100000);
        while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
        EXPECT_SAID(NODE, "SET\r\n");
        answer(talk, NODE, answers[i]);
        CHECK_INT(talk->lock.phase, REDLOCK_PHASE_ACQUIRING);
        CHECK_INT(talk->lock.woken, 0);
        EXPECT_UNSAID(NODE, WIRE_WAIT_SCRIPT);
    }
}

TEST(an_entry_is_given_back_although_the_wait_ended_behind_a_release)
{
    static struct redlock_event ring[64];
    struct redlock_event_ring events;
    struct redlock_event event, last = { .at_us = 0 };
    TALK((void)0);

    redlock_use_events(&talk->engine, &events, ring, 64);
    line_up(talk, 100000);
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
    run_ms(talk, 500);
    EXPECT_SAID(NODE, WIRE_RELEASE_SHA1);           /* The attempt's release alone. */
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    CHECK_STR(said(talk, NODE), "");
    answer(talk, NODE, "$-1\r\n:-1\r\n");
    while (redlock_next_event(&events, &event))
        if (event.kind == REDLOCK_EVENT_OWED || event.kind == REDLOCK_EVENT_CLEARED) last = event;
    /* The attempt's key is gone, and then the entry is owed. */
    CHECK_INT(last.kind, REDLOCK_EVENT_OWED);
    EXPECT_SAID(NODE, "0101010101010101:1\r\n");
    answer(talk, NODE, ":-1\r\n");
    CHECK(redlock_idle(&talk->lock));
    CHECK_INT(talk->lock.entries, 0);
}

/* While it waits for random bytes as well. */
TEST(an_attempt_is_released_without_the_entry)
{
    TALK(config.node_timeout_ms = 5000);

    line_up(talk, 100000);
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
    run_ms(talk, 4900);
    talk->starves = true;
    talk->engine.entropy_size = 0;
    run_ms(talk, 105);
    CHECK_INT(talk->lock.phase, REDLOCK_PHASE_WAITING);
    EXPECT_SAID(NODE, "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_RELEASE_SHA1);
    answer(talk, NODE,
           "-BUSY Redis is busy running a script.\r\n-MISCONF Redis is configured to save ...\r\n");
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    for (unsigned i = 0; i < 3; i++) {              /* The debt comes due again and again. */
        CHECK_INT(talk->lock.phase, REDLOCK_PHASE_NEEDS_ENTROPY);
        EXPECT_SAID(NODE, "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_RELEASE_SHA1);
        answer(talk, NODE, "-MISCONF Redis is configured to save ...\r\n");
        CHECK_STR(said(talk, NODE), "");
        run_ms(talk, 1001);
    }
    CHECK_INT(talk->lock.entries, 1);
}

TEST(numbers_of_entries_begin_anew_without_the_one_that_means_none)
{
    TALK(config.retry_ms = RARELY_MS);

    talk->engine.wait_count = UINT32_MAX;
    start(talk, REDLOCK_FOREVER);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    EXPECT_SAID(NODE, "$18\r\n0101010101010101:1\r\n");
}

TEST(the_name_of_an_engine_may_begin_with_a_zero)
{
    TALK(config.retry_ms = RARELY_MS);

    talk->engine.name[REDLOCK_NAME_SIZE - 1] = 7;
    start(talk, REDLOCK_FOREVER);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    EXPECT_SAID(NODE, "$18\r\n0000000000000007:1\r\n");
}

TEST(without_random_bytes_for_a_name_nobody_listens_yet)
{
    TALK((void)0);

    talk->starves = true;
    talk->engine.entropy_size = REDLOCK_TOKEN_SIZE;
    start(talk, 100000);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    CHECK_INT(talk->lock.wait_number, 0);
    talk->starves = false;
    run_ms(talk, 300);
    EXPECT_SAID(NODE, "SET\r\n");
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
}

/* ---- Locks of other kinds ---- */

/* Begins to wait for ever, for the talk's resource. */
static void start_kind(struct talk *talk, struct redlock_lock *lock,
                       const struct redlock_kind *kind, uint8_t permits)
{
    const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 30000, .wait_ms = REDLOCK_FOREVER,
        .wall_us = 1800000000000000, .kind = kind, .permits = permits
    };

    CHECK_INT(redlock_start_acquire(&talk->engine, lock, &request, talk->now_us), REDLOCK_OK);
}

/* Its attempt took long, and was lost by chance alone, so it will try again at once and
 * has no number. */
TEST(a_lock_that_waits_briefly_takes_no_entry_when_a_subscription_opens)
{
    TALK(config.retry_ms = RARELY_MS);
    struct redlock_lock brief;

    line_up(talk, REDLOCK_FOREVER);
    redlock_lock_init(&brief);
    start_kind(talk, &brief, &redlock_permits, 2);
    EXPECT_SAID(NODE, WIRE_PERMIT_ACQUIRE_SHA1);
    run_ms(talk, 100);
    answer(talk, NODE, "$4\r\n0 -2\r\n");
    CHECK_INT(brief.phase, REDLOCK_PHASE_WAITING);
    redlock_disconnected(&talk->engine, SUBSCRIPTION, "reset", talk->now_us);
    run_ms(talk, 50);
    CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_READY);
    EXPECT_UNSAID(NODE, WIRE_PERMIT_WAIT_SHA1);
    redlock_cancel(&talk->engine, &brief, talk->now_us);
}

/* Its question how long the key has left has not been sent yet. */
TEST(with_Java_a_lock_listens_again_although_it_has_not_asked_yet)
{
    static const char listens[] = "$9\r\nSUBSCRIBE\r\n$29\r\nredisson_lock__channel:{door}\r\n";
    TALK(config.retry_ms = RARELY_MS);

    start_kind(talk, &talk->lock, &redlock_redisson, 0);
    EXPECT_SAID(NODE, WIRE_REDISSON_ACQUIRE_SHA1);
    answer(talk, NODE, "$6\r\n0 5000\r\n");
    run_ms(talk, 2);
    EXPECT_SAID(SUBSCRIPTION, listens);
    answer(talk, SUBSCRIPTION,
           "*3\r\n$9\r\nsubscribe\r\n$29\r\nredisson_lock__channel:{door}\r\n:2\r\n");
    CHECK_INT(talk->lock.stakes[NODE].want, REDLOCK_COMMAND_WAIT);
    redlock_disconnected(&talk->engine, SUBSCRIPTION, "reset", talk->now_us);
    run_ms(talk, 100);
    CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_READY);
    EXPECT_SAID(SUBSCRIPTION, listens);
}

/* ---- Pauses ---- */

/* Refused again and again, with an entry. The n-th pause is the configured one,
 * doubled so often. */
static void expect_pauses(uint32_t retry_ms, const unsigned doublings[], unsigned count)
{
    TALK(config.retry_ms = retry_ms);

    line_up(talk, REDLOCK_FOREVER);
    for (unsigned i = 0; i < count; i++) {
        TAP_CONTEXT("retry_ms %u, refusal %u", retry_ms, i + 2);
        while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
        EXPECT_SAID(NODE, "SET\r\n");
        answer(talk, NODE, "$-1\r\n");
        const uint64_t pause_ms = (talk->lock.retry_at - talk->now_us) / 1000,
                       mean_ms = (uint64_t)retry_ms << doublings[i];
        TAP_CHECK(pause_ms >= mean_ms / 2 && pause_ms <= mean_ms * 3 / 2, "the pause is %llu ms",
                  (unsigned long long)pause_ms);
        said(talk, NODE);
        answer(talk, NODE, ":-1\r\n");
    }
}

TEST(a_lock_with_an_entry_polls_ever_more_rarely_up_to_a_limit)
{
    static const unsigned up_to_32_times[] = { 1, 2, 3, 4, 5, 5, 5 },
                          within_the_entries_life[] = { 1, 2, 3, 3, 3, 3, 3, 3, 3 };
    static const unsigned never[] = { 0, 0 };

    expect_pauses(100, up_to_32_times, 7);
    expect_pauses(WIRE_WRITER_LIFE_MS / 2 / 8, within_the_entries_life, 9);
    expect_pauses(WIRE_WRITER_LIFE_MS / 2 / 8 + 1, up_to_32_times, 2);
    expect_pauses(WIRE_WRITER_LIFE_MS / 2 + 1, never, 2);
}

/* ---- Yielding ---- */

/* Holds the lock after waiting for it, so that its subscription is open, and releases it; somebody
 * is woken by that. */
static void wake_somebody_in(struct talk *talk, unsigned ms)
{
    line_up(talk, 100000);
    answer(talk, SUBSCRIPTION, MESSAGE("1", "1"));
    run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
    answer(talk, NODE, "+OK\r\n");
    CHECK(redlock_valid_us(&talk->lock, talk->now_us) > 0);
    release_and_wake_in(talk, ms);
}

static void wake_somebody(struct talk *talk)
{
    wake_somebody_in(talk, 0);
}

TEST(a_lock_that_has_just_woken_another_lines_up_behind_it)
{
    TALK((void)0);

    wake_somebody(talk);
    start(talk, 100000);
    CHECK_INT(talk->lock.phase, REDLOCK_PHASE_WAITING);
    CHECK_INT(redlock_attempt_status(&talk->lock), REDLOCK_TAKEN);
    run_ms(talk, 1);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":30000\r\n");
    run_ms(talk, 48);
    EXPECT_UNSAID(NODE, "SET\r\n");
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
}

/* Each command would be one more before the other's. */
TEST(a_lock_that_has_just_woken_another_says_nothing_until_a_round_has_passed)
{
    TALK(config.retry_ms = RARELY_MS);

    wake_somebody_in(talk, 20);
    start(talk, REDLOCK_FOREVER);
    run_ms(talk, 19);
    CHECK_STR(said(talk, NODE), "");
    run_ms(talk, 1);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
}

/* A subscription that opens meanwhile is no reason to line up, and the time to wait ends as it
 * always does. */
TEST(a_lock_that_stands_aside_subscribes_and_tries_once_more_when_its_time_ends)
{
    TALK(config.retry_ms = RARELY_MS);

    start(talk, 100000);
    said(talk, NODE);
    answer(talk, NODE, "+OK\r\n");
    release_and_wake_in(talk, 20);
    start(talk, 10);
    run_ms(talk, 9);
    CHECK_INT(talk->nodes[SUBSCRIPTION].state, NODE_READY);
    CHECK_STR(said(talk, NODE), "");
    run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
}

/* The release reported only that somebody was woken, not that he has come. */
TEST(a_lock_that_finds_it_free_after_standing_aside_comes_after_a_random_time)
{
    TALK(config.retry_ms = 1000);

    wake_somebody(talk);
    start(talk, REDLOCK_FOREVER);
    run_ms(talk, 1);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    /* A granted release reports nothing. */
    CHECK_INT(redlock_view_lock(&talk->lock).free_in_ms, REDLOCK_UNTOLD);
    answer(talk, NODE, ":-2\r\n");
    CHECK_INT(redlock_view_lock(&talk->lock).free_in_ms, 0);
    const uint64_t told_at = talk->now_us;
    while (talk->lock.phase == REDLOCK_PHASE_WAITING) run_ms(talk, 1);
    CHECK(talk->now_us >= told_at + 2000 && talk->now_us <= told_at + 1003000);
}

TEST(what_a_node_told_before_the_lock_was_held_says_nothing_behind_its_release)
{
    TALK(config.retry_ms = RARELY_MS);

    talk->lock.stakes[NODE].holder_ms = 5;
    CHECK_INT(redlock_adopt(&talk->engine, &talk->lock,
                            &(struct redlock_request){ .resource = "door", .resource_size = 4 },
                            "0123456789012345678901234567890123456789", talk->now_us),
              REDLOCK_OK);
    release_and_wake(talk);
    start(talk, REDLOCK_FOREVER);
    CHECK_INT(redlock_view_lock(&talk->lock).free_in_ms, REDLOCK_UNTOLD);
}

TEST(a_lock_that_stands_aside_is_woken_like_any_other)
{
    TALK(config.retry_ms = RARELY_MS);

    wake_somebody_in(talk, 20);
    start(talk, REDLOCK_FOREVER);
    answer(talk, SUBSCRIPTION, MESSAGE("1", "1"));
    run_ms(talk, 19);
    CHECK_STR(said(talk, NODE), "");
    run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
}

TEST(a_lock_that_yields_is_woken_like_any_other)
{
    TALK(config.retry_ms = RARELY_MS);

    wake_somebody(talk);
    start(talk, REDLOCK_FOREVER);
    run_ms(talk, 1);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":5000\r\n");
    run_ms(talk, 1);
    answer(talk, SUBSCRIPTION, MESSAGE("1", "1"));
    run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
}

/* The number of the round is the same, since no attempt was between. Found by a soak. */
TEST(a_lock_that_yields_takes_no_answer_for_its_own_that_was_meant_for_one_that_was_cancelled)
{
    TALK(config.retry_ms = RARELY_MS);

    wake_somebody(talk);
    start(talk, REDLOCK_FOREVER);
    run_ms(talk, 1);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    EXPECT_SAID(NODE, WIRE_SHARED_RELEASE_SHA1);
    start(talk, REDLOCK_FOREVER);
    CHECK_INT(talk->lock.phase, REDLOCK_PHASE_WAITING);
    answer(talk, NODE, "-NOSCRIPT No matching script.\r\n");
    CHECK_STR(said(talk, NODE), "");
    answer(talk, NODE, ":0\r\n");
    run_ms(talk, 1);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
}

static void start_about(struct talk *talk, const char *resource, uint32_t wait_ms, uint64_t wall_us)
{
    const struct redlock_request request = {
        .resource = resource, .resource_size = strlen(resource), .ttl_ms = 30000,
        .wait_ms = wait_ms, .wall_us = wall_us
    };

    CHECK_INT(redlock_start_acquire(&talk->engine, &talk->lock, &request, talk->now_us),
              REDLOCK_OK);
}

TEST(no_lock_yields_without_a_reason_or_without_an_entry)
{
    for (unsigned i = 0; i < 4; i++) {
        TALK((void)0);
        TAP_CONTEXT("case %u", i);
        wake_somebody(talk);
        /* Another resource. */
        if (i == 0) start_about(talk, "gate", 100000, 1800000000000000);
        /* It does not wait. */
        if (i == 1) start_about(talk, "door", 0, 1800000000000000);
        /* Without a wall clock there is no entry. */
        if (i == 2) start_about(talk, "door", 100000, 0);
        /* An invalid one gives none either. */
        if (i == 3) start_about(talk, "door", 100000, WIRE_TICKET_MAX + 1);
        EXPECT_SAID(NODE, "SET\r\n");
        answer(talk, NODE, "+OK\r\n");
        CHECK(redlock_valid_us(&talk->lock, talk->now_us) > 0);
    }
}

/* The number is of the last time. Its place in line would be before everybody. */
TEST(a_lock_without_a_wall_clock_takes_no_entry_although_it_has_a_number)
{
    TALK((void)0);

    line_up(talk, 100000);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    said(talk, NODE);
    answer(talk, NODE, ":0\r\n");
    start_about(talk, "door", 100000, 0);
    EXPECT_SAID(NODE, "SET\r\n");
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    EXPECT_UNSAID(NODE, WIRE_WAIT_SHA1);
}

TEST(the_last_wall_clock_that_is_one_gives_an_entry)
{
    TALK((void)0);

    wake_somebody(talk);
    start_about(talk, "door", 100000, WIRE_TICKET_MAX);
    run_ms(talk, 1);
    EXPECT_SAID(NODE, "$16\r\n9007199254740991\r\n");
}

TEST(a_release_that_woke_nobody_is_no_reason_to_yield)
{
    TALK((void)0);

    start(talk, 0);
    said(talk, NODE);
    answer(talk, NODE, "+OK\r\n");
    CHECK_INT(redlock_start_release(&talk->engine, &talk->lock, talk->now_us), REDLOCK_OK);
    EXPECT_SAID(NODE, "$0\r\n\r\n");    /* It was to wake somebody. */
    answer(talk, NODE, ":1\r\n");
    start(talk, 100000);
    EXPECT_SAID(NODE, "SET\r\n");
}

TEST(an_engine_that_is_silent_wakes_nobody)
{
    TALK(config.silent = true);

    start(talk, 0);
    said(talk, NODE);
    answer(talk, NODE, "+OK\r\n");
    CHECK_INT(redlock_start_release(&talk->engine, &talk->lock, talk->now_us), REDLOCK_OK);
    EXPECT_SAID(NODE, "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_RELEASE_SHA1);
}

TEST(every_name_has_a_hash_that_does_not_mean_none)
{
    struct redlock_lock lock;

    redlock_lock_init(&lock);
    /* FNV-1a makes 0 of it. */
    lock.name_count = 1;
    lock.name = (struct redlock_name){ .bytes = "\xcc\x24\x31\xc4", .size = 4 };
    CHECK(names_hash(&lock) != 0);
    lock.name.bytes = "door";
    CHECK_INT(names_hash(&lock), names_hash(&lock));
    CHECK(names_hash(&lock) != 1);
}

TAP_MAIN
