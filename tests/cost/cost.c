/* The cost of the engine itself, in instructions that callgrind counts. There is no network and no
 * clock, so it is the same at each run.
 *
 *     cost cycles LOCKS        so many locks at once on five nodes: acquired, all confirmed,
 *                              released, all confirmed; again
 *     cost events LOCKS        the same, and the engine tells of it in a ring that is emptied twice
 *                              a round
 *     cost metrics LOCKS       the same, but of few kinds of events
 *     cost wake-ups WAITERS    so many wait on one node; one of them is woken, asks, is refused,
 *                              and waits again; the next
 *
 * Instructions are counted within measured(), whose name callgrind is told. Prints how
 * often it happened. */
#include "../../redlock/redlock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODES_MAX = 5,
    SESSIONS_MAX = 2 * NODES_MAX,
    PIPELINE = 4096,
    BUFFER = 1 << 20,
    ROUNDS = 50,
    WAKE_UPS = 200,
    EVENTS_MAX = 8192
};

/* These are part of the handshake's bytes; other tests show that they are right. */
#define RUN_ID "$83\r\nrun_id:%040u\nredis_mode:standalone\nrole:master\r\n\r\n"
#define NOTHING "$-1\r\n"

struct cost {
    struct redlock engine;
    struct redlock_node nodes[SESSIONS_MAX];
    struct redlock_lock *locks;
    char (*names)[16];
    unsigned node_count, lock_count;
    uint64_t now_us;
    void (*step)(struct cost *c);
    unsigned step_count;
    struct redlock_event_ring events;
    struct redlock_event *ring;             /* NULL: it tells nothing. */
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "cost: %s\n", what);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (!memory) fail("no memory");
    return memory;
}

static void feed(struct cost *c)
{
    uint8_t bytes[REDLOCK_ENTROPY_MAX];
    size_t wanted = redlock_entropy_wanted(&c->engine);

    if (wanted == 0) return;
    memset(bytes, (int)(c->now_us & 0xff), sizeof bytes);
    redlock_add_entropy(&c->engine, bytes, wanted);
}

static void tick(struct cost *c)
{
    do {
        feed(c);
        redlock_tick(&c->engine, c->now_us);
    } while (redlock_entropy_wanted(&c->engine) > 0);
}

/* Sends all that there is to be sent to session k. */
static void send_all(struct cost *c, unsigned k)
{
    size_t size;

    do {
        (void)redlock_output(&c->engine, k, &size);
        redlock_sent(&c->engine, k, size);
    } while (redlock_wants(&c->engine, k) & REDLOCK_WANT_SEND);
}

/* Session k answers so many times the same. */
static void answer(struct cost *c, unsigned k, const char *text, unsigned count)
{
    size_t size = strlen(text), room;
    uint8_t *input = redlock_input(&c->engine, k, &room);

    if (size * count > room) fail("an answer does not fit");
    for (unsigned i = 0; i < count; i++) memcpy(input + i * size, text, size);
    redlock_received(&c->engine, k, size * count, c->now_us);
}

/* The answers of a node whose scripts are loaded. Its SHA-1s are those that were asked for, so the
 * refusal of a load is ignored. */
static void finish_handshake(struct cost *c, unsigned k)
{
    char text[256];

    snprintf(text, sizeof text, "+OK\r\n" RUN_ID NOTHING "-NOPERM no\r\n-NOPERM no\r\n", k + 1);
    answer(c, k, text, 1);
}

static void connect_sessions(struct cost *c)
{
    tick(c);
    for (unsigned k = 0; k < c->engine.session_count; k++) {
        if (!(redlock_wants(&c->engine, k) & REDLOCK_WANT_CONNECT)) continue;
        redlock_connected(&c->engine, k, c->now_us);
        send_all(c, k);
        if (k < c->node_count) finish_handshake(c, k);
        else                   answer(c, k, "+OK\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\n-\r\n:1\r\n", 1);
    }
}

static void begin(struct cost *c, unsigned node_count, unsigned lock_count, bool wake_ups)
{
    size_t size = REDLOCK_MEMORY(SESSIONS_MAX, PIPELINE, BUFFER, BUFFER);
    struct redlock_config config;

    redlock_config_init(&config);
    config.guard_ms = 0;
    config.pipeline = PIPELINE;
    config.send_size = config.receive_size = BUFFER;
    config.wake_ups = wake_ups;
    config.retry_ms = REDLOCK_RETRY_MS_MAX;
    config.node_timeout_ms = 1000000;
    c->now_us = 1000000;
    c->node_count = node_count;
    c->lock_count = lock_count;
    c->locks = allocate(lock_count, sizeof *c->locks);
    c->names = allocate(lock_count, sizeof *c->names);
    if (redlock_init(&c->engine, &config, c->nodes, node_count, allocate(1, size), size,
                     c->now_us) != REDLOCK_OK)
        fail("init");
    redlock_use(&c->engine, &redlock_sets);
    redlock_use(&c->engine, &redlock_restore);
    redlock_use(&c->engine, &redlock_wake_ups);
    redlock_use(&c->engine, &redlock_copies);
    connect_sessions(c);
    for (unsigned i = 0; i < lock_count; i++) {
        snprintf(c->names[i], sizeof c->names[i], "door %u", i);
        redlock_lock_init(&c->locks[i]);
    }
}

static void start_acquire(struct cost *c, unsigned i, uint32_t wait_ms)
{
    struct redlock_request request = {
        .resource = c->names[i], .resource_size = strlen(c->names[i]), .ttl_ms = 10000,
        .wait_ms = wait_ms, .wall_us = wait_ms > 0 ? UINT64_C(1800000000000000) : 0
    };

    feed(c);
    if (redlock_start_acquire(&c->engine, &c->locks[i], &request, c->now_us) != REDLOCK_OK)
        fail("acquire");
}

/* ---- Cycles ---- */

static void drain(struct cost *c)
{
    struct redlock_event event;

    if (!c->ring) return;
    while (redlock_next_event(&c->events, &event)) continue;
    if (c->events.lost > 0) fail("events were lost");
}

/* All nodes confirm all requests of all locks. */
static void round_of_all(struct cost *c, const char *reply)
{
    tick(c);
    for (unsigned k = 0; k < c->node_count; k++) send_all(c, k);
    drain(c);
    for (unsigned k = 0; k < c->node_count; k++) answer(c, k, reply, c->lock_count);
    drain(c);
    while (redlock_next_done(&c->engine)) continue;
}

static void cycle(struct cost *c)
{
    c->now_us += 100;
    for (unsigned i = 0; i < c->lock_count; i++) start_acquire(c, i, 0);
    round_of_all(c, "+OK\r\n");
    for (unsigned i = 0; i < c->lock_count; i++)
        if (redlock_start_release(&c->engine, &c->locks[i], c->now_us) != REDLOCK_OK)
            fail("release");
    round_of_all(c, ":1\r\n");
}

/* ---- Wake-ups ---- */

enum { NODE, SUBSCRIPTION };

/* It has asked, is refused, and takes an entry. */
static void be_refused(struct cost *c)
{
    tick(c);
    send_all(c, NODE);
    answer(c, NODE, "$-1\r\n", 1);
    send_all(c, NODE);
    answer(c, NODE, ":-1\r\n", 1);
}

static void wake_up(struct cost *c)
{
    unsigned i = (c->step_count++ * 7919u) % c->lock_count;
    char number[16], text[96];
    int digits = snprintf(number, sizeof number, "%u", i + 1);

    c->now_us += 100;
    snprintf(text, sizeof text, "*3\r\n$7\r\nmessage\r\n$1\r\n-\r\n$%d\r\n%s\r\n", digits, number);
    answer(c, SUBSCRIPTION, text, 1);
    be_refused(c);
}

static void gather_waiters(struct cost *c)
{
    for (unsigned i = 0; i < c->lock_count; i++) {
        start_acquire(c, i, REDLOCK_FOREVER);
        tick(c);
        send_all(c, NODE);
        answer(c, NODE, "$-1\r\n", 1);
        if (i == 0) connect_sessions(c);
        send_all(c, NODE);
        answer(c, NODE, ":-1\r\n", 1);
    }
}

/* ---- What is counted ---- */

void measured(struct cost *c, unsigned count);

void measured(struct cost *c, unsigned count)
{
    for (unsigned i = 0; i < count; i++) c->step(c);
}

int main(int argc, char **argv)
{
    static struct cost cost;
    /* A pointer makes sure that it is called, not merged. */
    void (*volatile measure)(struct cost *, unsigned) = measured;
    unsigned locks = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    bool is_events = argc == 3 && strcmp(argv[1], "events") == 0,
         is_wake_ups = argc == 3 && strcmp(argv[1], "wake-ups") == 0;
    bool is_metrics = argc == 3 && strcmp(argv[1], "metrics") == 0;
    bool is_cycles = is_events || is_metrics || (argc == 3 && strcmp(argv[1], "cycles") == 0);

    if (locks < 1 || (!is_cycles && !is_wake_ups))
        fail("usage: cost cycles|events|metrics|wake-ups COUNT");
    cost.step = is_cycles ? cycle : wake_up;
    begin(&cost, is_cycles ? NODES_MAX : 1, locks, is_wake_ups);
    if (is_wake_ups) gather_waiters(&cost);
    if (is_events || is_metrics) {
        cost.ring = allocate(EVENTS_MAX, sizeof *cost.ring);
        redlock_use_events(&cost.engine, &cost.events, cost.ring, EVENTS_MAX);
    }
    if (is_metrics)
        cost.events.kinds =
            REDLOCK_EVENT_BIT(REDLOCK_EVENT_VERDICT) | REDLOCK_EVENT_BIT(REDLOCK_EVENT_ENDED) |
            REDLOCK_EVENT_BIT(REDLOCK_EVENT_DISCONNECTED);
    cost.step(&cost);
    measure(&cost, is_cycles ? ROUNDS : WAKE_UPS);
    printf("%u\n", is_cycles ? ROUNDS * locks : WAKE_UPS);
    return 0;
}
