/* The three modes. Only here is the clock read, so every client is timed alike.
 *
 * Latency is throughput with one loop. A loop's acquire is timed from just before the client is
 * asked to the moment it hands the slot back, and so is its release; writing the next key falls
 * between the two. */
#define _GNU_SOURCE
#include "bench.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOP_COUNTER_DIGITS = 16 };

/* With --cycles, a run ends at some time nevertheless, when the nodes are gone. */
static const uint64_t LOOP_LONGEST_NS = UINT64_C(600) * 1000000000;

static const uint64_t LOOP_NEVER = UINT64_MAX;

struct loop {
    const struct bench_client *client;
    void *context;
    const struct bench_options *options;
    struct bench_figures *figures;
    FILE *events;
    struct bench_slot *slots;
    unsigned busy;                  /* Slots with something under way. */
    bool is_counting, is_ending;    /* The measured part is running, or has ended. */
    uint64_t now_ns;
    uint64_t key_count;
    uint64_t dice;
};

int bench_poll(struct pollfd *polled, unsigned count, uint64_t until_ns)
{
    if (until_ns == LOOP_NEVER) return poll(polled, count, -1);
    uint64_t now = bench_now_ns(), left = until_ns > now ? until_ns - now : 0;
    struct timespec wait = {
        .tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)
    };
    return ppoll(polled, count, &wait, NULL);
}

/* ---- Keys ---- */

/* Keys of this run, since no two runs at the same time may share one. */
static void init_key(struct loop *l, struct bench_slot *slot)
{
    if (l->options->mode == BENCH_CONTEND)
        slot->key_size = (size_t)snprintf(slot->key, sizeof slot->key, "%s", l->options->key);
    else
        slot->key_size = (size_t)snprintf(slot->key, sizeof slot->key, "bench:%08" PRIx64 ":%0*d",
                                          l->dice & UINT32_MAX, LOOP_COUNTER_DIGITS, 0);
}

static void write_fresh_key(struct loop *l, struct bench_slot *slot)
{
    uint64_t count = ++l->key_count;
    char *digits = slot->key + slot->key_size - LOOP_COUNTER_DIGITS;
    for (int i = LOOP_COUNTER_DIGITS - 1; i >= 0; i--, count >>= 4)
        digits[i] = "0123456789abcdef"[count & 15];
}

/* ---- One cycle ---- */

static void begin_acquire(struct loop *l, struct bench_slot *slot)
{
    if (l->options->mode != BENCH_CONTEND) write_fresh_key(l, slot);
    if (!slot->is_wanted) slot->acquire_at = bench_now_ns();
    slot->is_wanted = true;
    l->client->acquire(l->context, slot);
}

static void begin_release(struct loop *l, struct bench_slot *slot)
{
    slot->release_at = bench_now_ns();
    l->client->release(l->context, slot);
}

static void write_event(const struct loop *l, const struct bench_slot *slot)
{
    fprintf(l->events, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", l->options->id,
            slot->acquired_at, slot->release_at, l->now_ns);
}

static void note_released(struct loop *l, struct bench_slot *slot)
{
    slot->is_held = slot->is_wanted = false;
    if (l->is_counting) bench_figures_add(l->figures, slot, l->now_ns);
    if (l->is_counting && l->events) write_event(l, slot);
}

/* A contender that was refused goes on wanting the same lock, so its time runs until it has it. */
static void note_attempt(struct loop *l, struct bench_slot *slot)
{
    slot->is_held = slot->won;
    slot->is_wanted = slot->won || l->options->mode == BENCH_CONTEND;
    slot->acquired_at = l->now_ns;
    l->figures->attempts += l->is_counting;
    l->figures->fail += l->is_counting && !slot->won;
}

/* Takes note of an end on a slot, at l->now_ns. */
static void note_end(struct loop *l, struct bench_slot *slot)
{
    if (slot->is_held) note_released(l, slot);
    else               note_attempt(l, slot);
}

/* All cycles that were asked for, or that there is memory for, are counted. */
static bool is_complete(const struct loop *l)
{
    return l->is_counting && l->figures->cycles == l->figures->capacity;
}

/* ---- Latency and throughput: every slot goes on as soon as it can ---- */

static void advance(struct loop *l, struct bench_slot *slot)
{
    l->now_ns = bench_now_ns();
    note_end(l, slot);
    if (slot->is_held)
        begin_release(l, slot);
    else if (!l->is_ending && !is_complete(l))
        begin_acquire(l, slot);
    else
        l->busy--;
}

static void cycle_until(struct loop *l, uint64_t until_ns)
{
    struct bench_slot *slot;
    while (l->busy > 0 && l->now_ns < until_ns && !is_complete(l)) {
        slot = l->client->next(l->context, until_ns);
        if (!slot) break;
        advance(l, slot);
    }
}

static void begin_cycles(struct loop *l)
{
    for (unsigned i = 0; i < l->options->concurrency; i++, l->busy++)
        begin_acquire(l, &l->slots[i]);
}

/* ---- Contention: one contender, one key ---- */

static void contend_wait(struct loop *l, uint64_t until_ns)
{
    while (bench_now_ns() < until_ns) (void)l->client->next(l->context, until_ns);
}

static void contend_finish(struct loop *l, struct bench_slot *slot)
{
    while (!l->client->next(l->context, LOOP_NEVER)) continue;
    l->now_ns = bench_now_ns();
    note_end(l, slot);
}

/* A number in [mean - jitter, mean + jitter], by xorshift. */
static uint64_t draw_pause_ns(struct loop *l)
{
    uint64_t mean = l->options->retry_ns, jitter = l->options->retry_jitter_ns;
    l->dice ^= l->dice << 13;
    l->dice ^= l->dice >> 7;
    l->dice ^= l->dice << 17;
    if (jitter > mean) jitter = mean;
    return mean - jitter + l->dice % (2 * jitter + 1);
}

static void contend_once(struct loop *l, struct bench_slot *slot)
{
    begin_acquire(l, slot);
    contend_finish(l, slot);
    if (!slot->is_held) {
        contend_wait(l, l->now_ns + draw_pause_ns(l));
        return;
    }
    contend_wait(l, l->now_ns + l->options->hold_ns);
    begin_release(l, slot);
    contend_finish(l, slot);
    contend_wait(l, l->now_ns + l->options->think_ns);
}

static void contend_until(struct loop *l, uint64_t until_ns)
{
    while (l->now_ns < until_ns && !is_complete(l)) contend_once(l, &l->slots[0]);
}

/* ---- Parts ---- */

static void run_until(struct loop *l, uint64_t until_ns)
{
    if (l->options->mode == BENCH_CONTEND)
        contend_until(l, until_ns);
    else
        cycle_until(l, until_ns);
}

static void run_measured(struct loop *l)
{
    bool by_cycles = l->options->cycles > 0;
    uint64_t length_ns = by_cycles ? LOOP_LONGEST_NS : (uint64_t)(l->options->seconds * 1e9);
    l->is_counting = true;
    bench_figures_begin(l->figures);
    l->now_ns = l->figures->began_at;
    run_until(l, l->now_ns + length_ns);
    bench_figures_end(l->figures, bench_now_ns());
    l->is_counting = false;
}

/* Releases held locks. Every operation ends by itself, within two node timeouts at most. */
static void run_ending(struct loop *l)
{
    l->is_ending = true;
    l->now_ns = 0;
    if (l->options->mode != BENCH_CONTEND) cycle_until(l, LOOP_NEVER);
}

void bench_loop(const struct bench_client *client, void *context,
                const struct bench_options *options, struct bench_figures *figures, FILE *events)
{
    struct loop l = {
        .client = client, .context = context, .options = options, .figures = figures,
        .events = events
    };
    l.slots = calloc(options->concurrency, sizeof *l.slots);
    if (!l.slots) {
        fprintf(stderr, "redlock-bench: no memory\n");
        exit(1);
    }
    l.now_ns = bench_now_ns();
    l.dice = (l.now_ns ^ (uint64_t)getpid() << 20) | 1;
    for (unsigned i = 0; i < options->concurrency; i++) {
        l.slots[i].number = i;
        init_key(&l, &l.slots[i]);
    }
    if (options->mode != BENCH_CONTEND) begin_cycles(&l);
    run_until(&l, l.now_ns + (uint64_t)(options->warmup * 1e9));
    run_measured(&l);
    run_ending(&l);
    free(l.slots);
}
