/* Many locks that one client keeps. Measures the cost of their extensions, and whether they are
 * spread over time or come at once. */
#define _GNU_SOURCE
#include "bench.h"

#include "../../redlock/redlock_client.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* The most extensions that begin within such a slot of time are reported. */
    KEEPER_SLOT_US = 10000,
    /* Each lock is looked at so often within a TTL, more often than it is extended. */
    KEEPER_LOOKS = 10,
    KEEPER_NAME_SIZE = 32,
    KEEPER_ACQUIRE_S = 10, KEEPER_RELEASE_MS = 5000,
    KEEPER_SEND_PER_LOCK = 256      /* Bytes. An extension has 170. */
};

struct kept {
    struct redlock_lock lock;       /* First: the library hands back its address. */
    char name[KEEPER_NAME_SIZE];
    uint32_t round;                 /* The last one that was counted. */
};

struct keeper {
    struct redlock_client client;
    const struct bench_options *options;
    struct kept *locks;
    void *memory;
    uint64_t began_us;
    uint32_t *slots;                /* How many extensions began in each slot. */
    size_t slot_count;
    uint64_t extensions, lost;
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "redlock-bench: %s: %s\n", what, why);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory) fail("calloc", "no memory");
    return memory;
}

static void open_client(struct keeper *keeper)
{
    const struct bench_options *options = keeper->options;
    struct redlock_options o;
    enum redlock_status status;

    redlock_options_init(&o);
    o.engine.guard_ms = 0;
    o.engine.wake_ups = false;
    o.engine.node_timeout_ms = options->node_timeout_ms;
    o.engine.pipeline = (uint16_t)(options->concurrency + REDLOCK_PIPELINE);
    o.engine.send_size = options->concurrency * KEEPER_SEND_PER_LOCK + REDLOCK_SEND_SIZE;
    o.memory_size = REDLOCK_MEMORY(options->node_count, o.engine.pipeline, o.engine.send_size,
                                   o.engine.receive_size);
    o.memory = keeper->memory = allocate(1, o.memory_size);
    status = redlock_open(&keeper->client, options->nodes, &o, NULL);
    if (status == REDLOCK_OK) status = redlock_connect(&keeper->client, BENCH_CONNECT_MS);
    if (status != REDLOCK_OK) fail("the keeper does not connect", redlock_status_text(status));
}

/* Waits until something can be done, or until_us, and does it. */
static void turn(struct keeper *keeper, uint64_t until_us)
{
    struct pollfd polled[BENCH_NODES_MAX];
    struct redlock_client *c = &keeper->client;
    unsigned count = c->engine.node_count, ready = 0;
    uint64_t now = redlock_now_us(), left_ns = until_us > now ? (until_us - now) * 1000 : 0;
    int ms = redlock_poll_ms(c);

    for (unsigned k = 0; k < count; k++) {
        unsigned events = redlock_events(c, k);
        polled[k].fd = redlock_fd(c, k);
        polled[k].events =
            (short)((events & REDLOCK_READ ? POLLIN : 0) | (events & REDLOCK_WRITE ? POLLOUT : 0));
    }
    if (ms >= 0 && (uint64_t)ms * 1000000 < left_ns) left_ns = (uint64_t)ms * 1000000;
    if (bench_poll(polled, count, bench_now_ns() + left_ns) > 0)
        for (unsigned k = 0; k < count; k++) ready |= (polled[k].revents != 0 ? 1u : 0u) << k;
    enum redlock_status status = redlock_step_ready(c, ready);
    if (status != REDLOCK_OK) fail("redlock_step_ready", redlock_status_text(status));
}

/* All of them, as fast as they come. */
static void acquire_all(struct keeper *keeper)
{
    struct redlock *r = &keeper->client.engine;
    uint64_t until_us = redlock_now_us() + (uint64_t)KEEPER_ACQUIRE_S * 1000000;
    struct redlock_lock *lock;
    unsigned held = 0;

    for (unsigned i = 0; i < keeper->options->concurrency; i++) {
        struct kept *kept = &keeper->locks[i];
        struct redlock_request request = {
            .resource = kept->name, .ttl_ms = keeper->options->ttl_ms
        };
        request.resource_size =
            (size_t)snprintf(kept->name, sizeof kept->name, "bench:%ld:%u", (long)getpid(), i);
        redlock_lock_init(&kept->lock);
        enum redlock_status status =
            redlock_start_acquire(r, &kept->lock, &request, redlock_now_us());
        if (status != REDLOCK_OK) fail("redlock_start_acquire", redlock_status_text(status));
    }
    while (held < keeper->options->concurrency && redlock_now_us() < until_us) {
        while ((lock = redlock_next_done(r)) != NULL) {
            enum redlock_status status = redlock_lock_status(lock);
            if (status == REDLOCK_OK) status = redlock_keep(r, lock, 0, redlock_now_us());
            if (status != REDLOCK_OK) fail("a lock is not acquired", redlock_status_text(status));
            ((struct kept *)lock)->round = lock->round.number;
            held++;
        }
        turn(keeper, until_us);
    }
    if (held < keeper->options->concurrency) fail("locks", "not all acquired in time");
}

/* Counts the extensions since the last look, at most one a lock. */
static void look(struct keeper *keeper)
{
    for (unsigned i = 0; i < keeper->options->concurrency; i++) {
        const struct redlock_round *round = &keeper->locks[i].lock.round;
        uint32_t fresh = round->number - keeper->locks[i].round;
        size_t slot = (size_t)((round->started_at - keeper->began_us) / KEEPER_SLOT_US);
        if (fresh == 0) continue;
        keeper->locks[i].round = round->number;
        keeper->extensions += fresh;
        if (round->started_at >= keeper->began_us && slot < keeper->slot_count)
            keeper->slots[slot]++;
    }
}

static void keep(struct keeper *keeper, struct bench_figures *figures)
{
    const struct bench_options *o = keeper->options;
    uint64_t look_every_us = (uint64_t)o->ttl_ms * 1000 / KEEPER_LOOKS, until_us;

    keeper->slot_count = (size_t)(o->seconds * 1e6 / KEEPER_SLOT_US) + 1;
    keeper->slots = allocate(keeper->slot_count, sizeof *keeper->slots);
    bench_figures_begin(figures);
    keeper->began_us = redlock_now_us();
    until_us = keeper->began_us + (uint64_t)(o->seconds * 1e6);
    for (uint64_t at = keeper->began_us + look_every_us; redlock_now_us() < until_us;
         at += look_every_us) {
        uint64_t next = at < until_us ? at : until_us;
        while (redlock_now_us() < next) turn(keeper, next);
        look(keeper);
    }
    bench_figures_end(figures, bench_now_ns());
    for (unsigned i = 0; i < o->concurrency; i++)
        keeper->lost += redlock_valid_ms(&keeper->locks[i].lock) == 0;
}

static void print(const struct keeper *keeper, const struct bench_figures *f)
{
    double seconds = (double)(f->ended_at - f->began_at) / 1e9;
    uint32_t most = 0;

    for (size_t i = 0; i < keeper->slot_count; i++)
        most = keeper->slots[i] > most ? keeper->slots[i] : most;
    printf("{\"client\":\"redlock\",\"mode\":\"keeper\",\"n\":%u,\"concurrency\":%u,\"seconds\":%."
           "6f,\"ttl_ms\":%u",
           keeper->options->node_count, keeper->options->concurrency, seconds,
           (unsigned)keeper->options->ttl_ms);
    printf(",\"cycles\":%" PRIu64
           ",\"extensions_per_s\":%.1f,\"most_in_10_ms\":%u,\"cpu_share\":%.4f,\"lost\":%" PRIu64
           "}\n",
           keeper->extensions, (double)keeper->extensions / seconds, (unsigned)most,
           (double)(f->user_us + f->system_us) / 1e6 / seconds, keeper->lost);
}

static void release_all(struct keeper *keeper)
{
    struct redlock_lock **locks =
        allocate(keeper->options->concurrency, sizeof(struct redlock_lock *));
    for (unsigned i = 0; i < keeper->options->concurrency; i++) locks[i] = &keeper->locks[i].lock;
    (void)redlock_release_all(&keeper->client, locks, keeper->options->concurrency,
                              KEEPER_RELEASE_MS);
    free(locks);
}

void bench_keeper(const struct bench_options *options, struct bench_figures *figures)
{
    struct keeper *keeper = allocate(1, sizeof *keeper);

    keeper->options = options;
    keeper->locks = allocate(options->concurrency, sizeof *keeper->locks);
    open_client(keeper);
    acquire_all(keeper);
    keep(keeper, figures);
    print(keeper, figures);
    release_all(keeper);
    redlock_close(&keeper->client, KEEPER_RELEASE_MS);
    free(keeper->slots);
    free(keeper->locks);
    free(keeper->memory);
    free(keeper);
}
