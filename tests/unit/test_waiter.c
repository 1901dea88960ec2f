/* Who waits with ears: what is said to one node and its ear, byte for byte. One node is a quorum of one. */
#include "../../redlock/lock.h"
#include "../tap.h"

enum { NODE, EAR, SESSIONS, OUTPUT_MAX = 8192 };

static const char greeting[] = "+OK\r\n$71\r\nrun_id:0123456789012345678901234567890123456789\nredis_mode:standalone"
                               "\r\n\r\n*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
                               "$40\r\n" WIRE_RELEASE_SHA1 "\r\n$40\r\n" WIRE_EXTEND_SHA1 "\r\n";
static const char subscribed[] = "+OK\r\n*3\r\n$9\r\nsubscribe\r\n$24\r\nredlock:0101010101010101\r\n:1\r\n";

struct talk {
    struct redlock engine;
    struct redlock_node nodes[SESSIONS];
    struct redlock_lock lock;
    uint64_t now_us;
    uint64_t memory[REDLOCK_MEMORY_DEFAULT(SESSIONS) / sizeof(uint64_t)];
    char output[SESSIONS][OUTPUT_MAX];
    bool is_down[SESSIONS];
};

static void feed(struct talk *talk)
{
    uint8_t bytes[REDLOCK_ENTROPY_MAX];

    memset(bytes, 1, sizeof bytes);
    redlock_add_entropy(&talk->engine, bytes, redlock_entropy_wanted(&talk->engine));
}

/* What the session sends now, as text. */
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

/* Does what the sessions want of a transport, with a node that greets well. */
static void serve(struct talk *talk)
{
    for (unsigned k = 0; k < SESSIONS; k++) {
        unsigned wants = redlock_wants(&talk->engine, k);
        if (wants & REDLOCK_WANT_CLOSE) redlock_disconnected(&talk->engine, k, NULL, talk->now_us);
        if (!(wants & REDLOCK_WANT_CONNECT)) continue;
        redlock_connected(&talk->engine, k, talk->now_us);
        said(talk, k);
        answer(talk, k, k == NODE ? greeting : subscribed);
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
    CHECK_INT(redlock_init(&talk->engine, config, talk->nodes, 1, talk->memory, sizeof talk->memory, talk->now_us), REDLOCK_OK);
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
    const struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 30000, .wait_ms = wait_ms,
                                             .wall_us = 1800000000000000 + talk->now_us };

    CHECK_INT(redlock_start_acquire(&talk->engine, &talk->lock, &request, talk->now_us), REDLOCK_OK);
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

/* Lines up behind a holder, whose key has no TTL. */
static void line_up(struct talk *talk, uint32_t wait_ms)
{
    start(talk, wait_ms);
    EXPECT_SAID(NODE, "SET\r\n");
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);                    /* The ear opens. */
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":-1\r\n");
}

TEST(a_place_is_given_back_although_the_node_does_not_know_the_script)
{
    TALK((void)0);

    line_up(talk, 100000);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    EXPECT_SAID(NODE, WIRE_RELEASE_SHA1);
    answer(talk, NODE, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    EXPECT_SAID(NODE, ":1\r\n");        /* The place, in the EVAL. */
    answer(talk, NODE, ":-1\r\n");
    CHECK(redlock_idle(&talk->lock));
}

TEST(a_place_is_given_back_although_the_connection_was_lost_behind_the_release)
{
    TALK((void)0);

    line_up(talk, 100000);
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
    EXPECT_SAID(NODE, WIRE_RELEASE_SHA1);
    redlock_disconnected(&talk->engine, NODE, "reset", talk->now_us);
    run_ms(talk, 5);
    EXPECT_SAID(NODE, ":1\r\n");
}

/* The ear has to be open when the turn comes, however rarely the waiter looks by himself. */
TEST(an_ear_stays_open_for_as_long_as_somebody_waits)
{
    TALK(config.retry_ms = 60000);

    line_up(talk, REDLOCK_FOREVER);
    for (unsigned s = 0; s < 25; s++) {
        run_ms(talk, 1000);
        TAP_CHECK(talk->nodes[EAR].state == NODE_READY, "the ear is closed after %u s", s);
    }
    redlock_cancel(&talk->engine, &talk->lock, talk->now_us);
}

/* An attempt that is not answered in time is released, and refused only then; behind the refusal it lines up. */
static void line_up_behind_a_release(struct talk *talk)
{
    start(talk, 100000);
    said(talk, NODE);
    run_ms(talk, 505);
    EXPECT_SAID(NODE, WIRE_RELEASE_SHA1);
    answer(talk, NODE, "$-1\r\n");
}

TEST(a_release_is_not_forgotten_over_a_place)
{
    TALK((void)0);

    line_up_behind_a_release(talk);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, "-NOSCRIPT No matching script.\r\n-NOSCRIPT No matching script.\r\n");
    EXPECT_SAID(NODE, WIRE_RELEASE_SCRIPT);
    answer(talk, NODE, ":0\r\n");
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
}

TEST(who_waits_no_more_takes_no_place)
{
    TALK((void)0);

    line_up_behind_a_release(talk);
    while (talk->lock.phase == PHASE_WAITING) run_ms(talk, 1);
    CHECK_INT(talk->lock.phase, PHASE_ACQUIRING);
    EXPECT_UNSAID(NODE, WIRE_WAIT_SHA1);
}

/* Or it would try ever more rarely, and nobody would wake it. */
TEST(where_the_node_gives_no_place_there_is_none)
{
    TALK((void)0);

    start(talk, 100000);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n");
    CHECK_INT(talk->lock.waits, 0);
}

static void release_and_wake(struct talk *talk)
{
    CHECK_INT(redlock_start_release(&talk->engine, &talk->lock, talk->now_us), REDLOCK_OK);
    EXPECT_SAID(NODE, WIRE_RELEASE_SHA1);
    answer(talk, NODE, ":2\r\n");
}

/* Or it would be faster than who was woken, again and again. */
TEST(who_woke_another_lines_up_behind_him_although_he_has_never_waited)
{
    TALK((void)0);

    start(talk, 100000);
    said(talk, NODE);
    answer(talk, NODE, "+OK\r\n");
    release_and_wake(talk);
    start(talk, 100000);
    run_ms(talk, 2);
    EXPECT_UNSAID(NODE, "SET\r\n");
    CHECK_INT(talk->lock.phase, PHASE_WAITING);
    CHECK_INT(talk->lock.waits, 1);
}

/* Looks by itself until it has been refused so often. */
static void be_refused(struct talk *talk, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        while (talk->lock.phase == PHASE_WAITING) run_ms(talk, 1);
        EXPECT_SAID(NODE, "SET\r\n");
        answer(talk, NODE, "$-1\r\n");
        EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
        answer(talk, NODE, ":-1\r\n");
    }
}

/* Wins, wakes another, and waits again: so many milliseconds pass until it looks by itself. */
static void win_and_wait(struct talk *talk, unsigned *ms)
{
    run_ms(talk, 1);
    EXPECT_SAID(NODE, "SET\r\n");
    answer(talk, NODE, "+OK\r\n");
    release_and_wake(talk);
    start(talk, 100000);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":-2\r\n");
    for (*ms = 0; talk->lock.phase == PHASE_WAITING; ++*ms) run_ms(talk, 1);
}

/* Or each of many waiters would spend several attempts until it is his turn. */
TEST(who_is_woken_stays_patient)
{
    unsigned ms;
    TALK((void)0);

    line_up(talk, 100000);
    be_refused(talk, 3);
    answer(talk, EAR, "*3\r\n$7\r\nmessage\r\n$24\r\nredlock:0101010101010101\r\n$1\r\n1\r\n");
    win_and_wait(talk, &ms);
    TAP_CHECK(ms >= 800, "it looks after %u ms", ms);   /* Half of 100 ms, doubled four times. */
}

TEST(who_wins_by_chance_is_impatient_again)
{
    unsigned ms;
    TALK((void)0);

    line_up(talk, 100000);
    be_refused(talk, 3);
    while (talk->lock.phase == PHASE_WAITING) run_ms(talk, 1);
    win_and_wait(talk, &ms);
    TAP_CHECK(ms <= 200, "it looks after %u ms", ms);
}

TEST(a_ttl_that_no_lock_has_is_not_taken_for_another)
{
    TALK((void)0);

    start(talk, 100000);
    said(talk, NODE);
    answer(talk, NODE, "$-1\r\n");
    run_ms(talk, 2);
    EXPECT_SAID(NODE, WIRE_WAIT_SHA1);
    answer(talk, NODE, ":4294967296\r\n");
    CHECK_INT(redlock_free_in_ms(&talk->lock), REDLOCK_UNTOLD - 1);
}

TAP_MAIN
