/* The library, by its public headers, as its users would use it. There are the event-loop face with
 * a poll() of one's own, that with a ring of events too, and the blocking face. */
#define _GNU_SOURCE
#include "bench.h"

#include "../../redlock/redlock_client.h"
#ifdef BENCH_TLS
#include "../../net/redlock_tls.h"
#endif

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    FACE_DEBT_MS = 5000,            /* The time for releases that are still owed at the end. */
    FACE_PIPELINE_PER_LOCK = 4,
    /* Bytes. An acquire with a ticket and a key of the benchmark's has 230. */
    FACE_SEND_PER_LOCK = 384,
    FACE_RECEIVE_PER_LOCK = 16,
    FACE_EVENTS = 1 << 14           /* Between two steps. */
};

/* A lock of the pool, with the name that it keeps until it is idle. */
struct face_lock {
    struct redlock_lock lock;       /* First: the library hands back its address. */
    struct bench_slot *slot;
    char key[BENCH_KEY_MAX + 1];
};

struct face {
    struct redlock_client client;
    const struct bench_options *options;
    void *memory;
    unsigned pipeline;
    struct redlock_tls *tls;                /* NULL: without. */

    /* Event loop. A slot takes a new lock for every cycle, as the last answers to the old one are
     * still to come. */
    struct face_lock *locks;
    unsigned lock_count, used_count;        /* There are; of these were ever used. */
    /* Ring of those not in use now, the longest one first. */
    struct face_lock **resting;
    unsigned resting_first, resting_count;
    struct face_lock **of_slot;
    struct redlock_event_ring events;
    struct redlock_event *ring;             /* NULL: nothing is reported. */

    /* Blocking. */
    struct redlock_lock lock;
    struct bench_slot *done;
};

static _Noreturn void fail(const char *what, enum redlock_status status)
{
    fprintf(stderr, "redlock-bench: %s: %s\n", what, redlock_status_text(status));
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) fail("calloc", REDLOCK_SYSTEM);
    return memory;
}

/* ---- Opening and closing ---- */

static uint32_t at_least(uint32_t value, uint32_t floor)
{
    return value > floor ? value : floor;
}

/* Room for every lock that is in flight. */
static void set_sizes(struct face *f, struct redlock_options *o)
{
    const uint32_t locks = f->options->concurrency;
    o->engine.pipeline = (uint16_t)at_least(locks * FACE_PIPELINE_PER_LOCK, o->engine.pipeline);
    f->pipeline = o->engine.pipeline;
    o->engine.send_size = at_least(locks * FACE_SEND_PER_LOCK, o->engine.send_size);
    o->engine.receive_size = at_least(locks * FACE_RECEIVE_PER_LOCK, o->engine.receive_size);
    o->memory_size =
        REDLOCK_MEMORY(REDLOCK_SESSIONS(f->options->node_count, o->engine.wake_ups),
                       o->engine.pipeline, o->engine.send_size, o->engine.receive_size);
    o->memory = f->memory = allocate(1, o->memory_size);
}

static void complain_of_nodes(struct face *f, enum redlock_status status)
{
    fprintf(stderr, "redlock-bench: %s\n", redlock_status_text(status));
    for (unsigned k = 0; k < f->client.engine.node_count; k++) {
        char text[160];
        redlock_describe_node(&f->client.engine, k, redlock_now_us(), text, sizeof text);
        fprintf(stderr, "  %s: %s\n", redlock_node_address(&f->client, k), text);
    }
}

#ifdef BENCH_TLS
static void use_tls(struct face *f, struct redlock_options *o)
{
    const struct redlock_tls_options how = { .ca = f->options->tls_ca };
    char words[REDLOCK_TLS_WORDS];
    if (!f->options->tls) return;
    f->tls = redlock_tls_open(&how, words, sizeof words);
    if (!f->tls) fail(words, REDLOCK_SYSTEM);
    o->secure_transport = redlock_tls_transport();
    o->secure_context = f->tls;
}

static void close_tls(struct face *f)
{
    redlock_tls_close(f->tls);
}
#else
static void use_tls(struct face *f, struct redlock_options *o) { (void)f; (void)o; }
static void close_tls(struct face *f) { (void)f; }
#endif

static void face_close(void *context)
{
    struct face *f = context;
    redlock_close(&f->client, FACE_DEBT_MS);
    close_tls(f);
    free(f->locks);
    free(f->resting);
    free(f->of_slot);
    free(f->ring);
    free(f->memory);
    free(f);
}

static struct face *face_open(const struct bench_options *options)
{
    struct face *f = allocate(1, sizeof *f);
    struct redlock_options o;
    struct redlock_mistake mistake = { .text = "" };
    enum redlock_status status;
    f->options = options;
    redlock_options_init(&o);
    o.engine.guard_ms = 0;
    o.engine.node_timeout_ms = options->node_timeout_ms;
    set_sizes(f, &o);
    use_tls(f, &o);
    status = redlock_open(&f->client, options->nodes, &o, &mistake);
    if (status != REDLOCK_OK) fail(mistake.text[0] != '\0' ? mistake.text : "redlock_open", status);
    status = redlock_connect(&f->client, BENCH_CONNECT_MS);
    if (status == REDLOCK_OK) return f;
    complain_of_nodes(f, status);
    face_close(f);
    return NULL;
}

/* ---- Event loop: the pool ---- */

static void rest(struct face *f, struct face_lock *l)
{
    f->resting[(f->resting_first + f->resting_count++) % f->lock_count] = l;
}

static struct face_lock *take_oldest(struct face *f)
{
    struct face_lock *l = f->resting[f->resting_first];
    f->resting_first = (f->resting_first + 1) % f->lock_count;
    f->resting_count--;
    return l;
}

/* An idle lock. It is the one that has rested longest, or one that was never used, or
 * any that rests.
 * If none is idle, the oldest one's debts are left to its TTL. */
static struct face_lock *take_lock(struct face *f)
{
    if (f->resting_count > 0 && redlock_idle(&f->resting[f->resting_first]->lock))
        return take_oldest(f);
    if (f->used_count < f->lock_count) return &f->locks[f->used_count++];
    for (unsigned i = 0; i < f->resting_count; i++) {
        struct face_lock *l = take_oldest(f);
        if (redlock_idle(&l->lock)) return l;
        rest(f, l);
    }
    struct face_lock *l = take_oldest(f);
    redlock_forget(&f->client.engine, &l->lock);
    return l;
}

/* Enough that some are idle. A node that falls behind keeps as many waiting as its pipeline holds
 * commands, and as long as locks are won a minority falls behind. Twice that, so that looking for
 * an idle one does not take long. */
static unsigned locks_needed(const struct face *f)
{
    const unsigned minority = (f->options->node_count - 1) / 2;
    return 2 * (f->options->concurrency + minority * f->pipeline);
}

static void *loop_open(const struct bench_options *options)
{
    struct face *f = face_open(options);
    if (!f) return NULL;
    f->lock_count = locks_needed(f);
    f->locks = allocate(f->lock_count, sizeof *f->locks);
    f->resting = allocate(f->lock_count, sizeof *f->resting);
    f->of_slot = allocate(options->concurrency, sizeof *f->of_slot);
    for (unsigned i = 0; i < f->lock_count; i++) redlock_lock_init(&f->locks[i].lock);
    return f;
}

static void *events_open(const struct bench_options *options)
{
    struct face *f = loop_open(options);
    if (!f) return NULL;
    f->ring = allocate(FACE_EVENTS, sizeof *f->ring);
    redlock_use_events(&f->client.engine, &f->events, f->ring, FACE_EVENTS);
    return f;
}

static void *metrics_open(const struct bench_options *options)
{
    struct face *f = events_open(options);
    if (!f) return NULL;
    f->events.kinds =
        REDLOCK_EVENT_BIT(REDLOCK_EVENT_VERDICT) | REDLOCK_EVENT_BIT(REDLOCK_EVENT_ENDED) |
        REDLOCK_EVENT_BIT(REDLOCK_EVENT_DISCONNECTED);
    return f;
}

/* ---- Event loop: operations ---- */

static struct redlock_request request_for(const struct face *f, const char *key, size_t key_size)
{
    return (struct redlock_request){
        .resource = key, .resource_size = key_size, .ttl_ms = f->options->ttl_ms,
        .ticket = f->options->ticket, .wall_us = f->options->ticket ? bench_wall_us() : 0,
    };
}

static void loop_acquire(void *context, struct bench_slot *slot)
{
    struct face *f = context;
    struct face_lock *l = take_lock(f);
    memcpy(l->key, slot->key, slot->key_size);
    l->slot = slot;
    f->of_slot[slot->number] = l;
    struct redlock_request request = request_for(f, l->key, slot->key_size);
    enum redlock_status status =
        redlock_start_acquire(&f->client.engine, &l->lock, &request, redlock_now_us());
    if (status != REDLOCK_OK) fail("redlock_start_acquire", status);
}

static void loop_release(void *context, struct bench_slot *slot)
{
    struct face *f = context;
    struct face_lock *l = f->of_slot[slot->number];
    enum redlock_status status =
        redlock_start_release(&f->client.engine, &l->lock, redlock_now_us());
    if (status != REDLOCK_OK) fail("redlock_start_release", status);
}

/* Takes an operation that has ended. An acquire leaves the lock with its slot if it is won,
 * anything else sends it to rest. */
static struct bench_slot *take_done(struct face *f)
{
    struct face_lock *l = (struct face_lock *)redlock_next_done(&f->client.engine);
    if (!l) return NULL;
    bool is_won = !l->slot->is_held && redlock_lock_status(&l->lock) == REDLOCK_OK;
    l->slot->won = is_won;
    if (!is_won) rest(f, l);
    return l->slot;
}

/* Reports which nodes are ready, by bit k for node k. */
static unsigned wait_for_nodes(const struct face *f, uint64_t until_ns)
{
    struct pollfd polled[BENCH_NODES_MAX];
    unsigned count = f->client.engine.node_count, ready = 0;
    int ms = redlock_poll_ms(&f->client);
    for (unsigned k = 0; k < count; k++) {
        unsigned events = redlock_events(&f->client, k);
        polled[k].fd = redlock_fd(&f->client, k);
        polled[k].events =
            (short)((events & REDLOCK_READ ? POLLIN : 0) | (events & REDLOCK_WRITE ? POLLOUT : 0));
    }
    uint64_t wake_ns = ms < 0 ? until_ns : bench_now_ns() + (uint64_t)ms * 1000000;
    if (bench_poll(polled, count, wake_ns < until_ns ? wake_ns : until_ns) <= 0) return 0;
    for (unsigned k = 0; k < count; k++)
        if (polled[k].revents != 0) ready |= 1u << k;
    return ready;
}

static void step(struct face *f, unsigned ready)
{
    enum redlock_status status = redlock_step_ready(&f->client, ready);
    struct redlock_event event;
    if (status != REDLOCK_OK) fail("redlock_step_ready", status);
    if (!f->ring) return;
    while (redlock_next_event(&f->events, &event)) continue;
    if (f->events.lost > 0) fail("the ring of events is too small", REDLOCK_BAD_MEMORY);
}

/* Operations that were begun since the last call leave in one step, so many locks share one write
 * per node. */
static struct bench_slot *loop_next(void *context, uint64_t until_ns)
{
    struct face *f = context;
    struct bench_slot *slot = take_done(f);
    if (!slot) step(f, 0);
    while (!slot && !(slot = take_done(f))) {
        if (bench_now_ns() >= until_ns) return NULL;
        step(f, wait_for_nodes(f, until_ns));
    }
    return slot;
}

const struct bench_client bench_redlock = {
    "redlock", loop_open, loop_acquire, loop_release, loop_next, face_close
};
const struct bench_client bench_redlock_events = {
    "redlock-events", events_open, loop_acquire, loop_release, loop_next, face_close
};
const struct bench_client bench_redlock_metrics = {
    "redlock-metrics", metrics_open, loop_acquire, loop_release, loop_next, face_close
};

/* ---- Blocking: every operation has ended when it returns ---- */

static void *blocking_open(const struct bench_options *options)
{
    if (options->concurrency > 1) {
        fprintf(stderr, "redlock-bench: redlock-blocking acquires one lock at a time\n");
        return NULL;
    }
    struct face *f = face_open(options);
    if (f) redlock_lock_init(&f->lock);
    return f;
}

static void blocking_acquire(void *context, struct bench_slot *slot)
{
    struct face *f = context;
    struct redlock_request request = request_for(f, slot->key, slot->key_size);
    slot->won = redlock_acquire_request(&f->client, &f->lock, &request) == REDLOCK_OK;
    f->done = slot;
}

static void blocking_release(void *context, struct bench_slot *slot)
{
    struct face *f = context;
    (void)redlock_release(&f->client, &f->lock, NULL);
    f->done = slot;
}

static struct bench_slot *blocking_next(void *context, uint64_t until_ns)
{
    struct face *f = context;
    struct bench_slot *slot = f->done;
    f->done = NULL;
    if (!slot) (void)bench_poll(NULL, 0, until_ns);
    return slot;
}

const struct bench_client bench_redlock_blocking = {
    "redlock-blocking", blocking_open, blocking_acquire, blocking_release, blocking_next, face_close
};
