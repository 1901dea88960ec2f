#include "search.h"

#include "digest.h"
#include "oracle.h"
#include "progress.h"
#include "story.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NO_STATE UINT32_MAX

enum { CHUNK_SIZE = 1 << 20, SLOTS_FIRST = 1 << 16 };

/* The world always lives here, since engines hold pointers into themselves. It is read as words,
 * which copy and compare fast. */
static union {
    struct world w;
    uint64_t words[sizeof(struct world) / sizeof(uint64_t)];
} world, first;

enum {
    WORDS = sizeof world / sizeof(uint64_t),
    MARKS = (WORDS + 7) / 8,
    ENCODED_MAX = MARKS + 9 * WORDS
};

_Static_assert(sizeof world == sizeof(struct world) && sizeof(struct world) % sizeof(uint64_t) == 0,
               "whole words");
_Static_assert(offsetof(struct world, clients) % sizeof(uint64_t) == 0 &&
                   sizeof(struct client) % sizeof(uint64_t) == 0,
               "clients begin with a word");

/* Words of the world that the existing clients use; the rest never changes. */
static size_t words_used = WORDS;

static void use_words(const struct bounds *bounds)
{
    words_used = (offsetof(struct world, clients) + clients_of(bounds) * sizeof(struct client)) /
                 sizeof(uint64_t);
}

static void copy_world(void *to, const void *from)
{
    memcpy(to, from, words_used * sizeof(uint64_t));
}

/* ---- Memory ---- */

struct memory {
    size_t used, most;
};

static void *resize(struct memory *memory, void *block, size_t from, size_t to)
{
    void *bytes = realloc(block, to);

    if (!bytes) {
        fprintf(stderr, "explore: out of memory\n");
        exit(70);
    }
    memory->used += to - from;
    if (memory->used > memory->most) memory->most = memory->used;
    return bytes;
}

static void discard(struct memory *memory, void *block, size_t size)
{
    free(block);
    memory->used -= size;
}

/* ---- Which states were seen: open addressing. The digest 0, 0 stands for an empty slot. ---- */

struct seen {
    struct digest *slots;
    size_t size, count;
};

static bool seen_put(struct seen *seen, struct digest digest)
{
    size_t i = digest.low & (seen->size - 1);

    while (!digest_is_none(seen->slots[i])) {
        if (digests_are_equal(seen->slots[i], digest)) return false;
        i = (i + 1) & (seen->size - 1);
    }
    seen->slots[i] = digest;
    seen->count++;
    return true;
}

static void seen_resize(struct memory *memory, struct seen *seen, size_t size)
{
    struct seen bigger = { .size = size };

    bigger.slots = resize(memory, NULL, 0, size * sizeof *bigger.slots);
    memset(bigger.slots, 0, size * sizeof *bigger.slots);
    for (size_t i = 0; i < seen->size; i++)
        if (!digest_is_none(seen->slots[i])) seen_put(&bigger, seen->slots[i]);
    discard(memory, seen->slots, seen->size * sizeof *seen->slots);
    *seen = bigger;
}

/* True when the state is new. */
static bool seen_add(struct memory *memory, struct seen *seen, struct digest digest)
{
    if (seen->count >= seen->size / 4 * 3)
        seen_resize(memory, seen, seen->size ? seen->size * 2 : SLOTS_FIRST);
    return seen_put(seen, digest);
}

/* ---- How each state was reached ---- */

struct origin {
    uint32_t state;             /* The number of the one before. */
    uint32_t event;
};

struct origins {
    struct origin *list;
    size_t count, capacity;
};

/* Marks an event to a state that has been seen before, to be compared with that. */
enum { ORIGIN_COPY = 1 << 7 };

static uint32_t pack(struct event e, bool is_copy)
{
    uint32_t where = (uint32_t)e.client << 8 | (uint32_t)e.node << 16;

    return (uint32_t)e.kind | (is_copy ? ORIGIN_COPY : 0) | where | (uint32_t)e.which << 24;
}

static struct event unpack(uint32_t packed)
{
    return (struct event){ packed & 127, packed >> 8 & 255, packed >> 16 & 255,
                           packed >> 24 & 255 };
}

static void origins_add(struct memory *memory, struct origins *origins, uint32_t state,
                        uint32_t event)
{
    if (origins->count == origins->capacity) {
        size_t capacity = origins->capacity ? origins->capacity + origins->capacity / 2 : 1024;
        origins->list = resize(memory, origins->list, origins->capacity * sizeof *origins->list,
                               capacity * sizeof *origins->list);
        origins->capacity = capacity;
    }
    origins->list[origins->count++] = (struct origin){ state, event };
}

/* ---- Snapshots, as what differs from the first world: a queue of those that are still to be
 * explored ---- */

struct chunk {
    struct chunk *next;
    size_t used, taken;
    uint8_t bytes[CHUNK_SIZE];
};

struct queue {
    struct chunk *first, *last;
};

/* Writes the bytes of a word that are not 0, after a mask that says which these are. */
static size_t encode_word(uint8_t *out, uint64_t word)
{
    size_t used = 1;

    out[0] = 0;
    for (unsigned j = 0; word != 0; j++, word >>= 8) {
        if ((word & 255) == 0) continue;
        out[0] |= (uint8_t)(1u << j);
        out[used++] = (uint8_t)word;
    }
    return used;
}

static size_t decode_word(const uint8_t *in, uint64_t *word)
{
    size_t used = 1;

    *word = 0;
    for (unsigned j = 0; j < 8; j++)
        if (in[0] >> j & 1) *word |= (uint64_t)in[used++] << (8 * j);
    return used;
}

/* A bit for each word that differs, in front; the words' differences follow these. */
static size_t encode(uint8_t *out)
{
    size_t used = MARKS;

    memset(out, 0, MARKS);
    for (size_t i = 0; i < words_used; i++) {
        if (i % 8 == 0 && i + 8 <= WORDS && memcmp(world.words + i, first.words + i, 64) == 0) {
            i += 7;
            continue;
        }
        if (world.words[i] == first.words[i]) continue;
        out[i / 8] |= (uint8_t)(1u << (i % 8));
        used += encode_word(out + used, world.words[i] ^ first.words[i]);
    }
    return used;
}

static size_t decode(const uint8_t *in)
{
    size_t used = MARKS;
    uint64_t difference;

    copy_world(&world, &first);
    for (size_t mark = 0; mark < MARKS; mark++)
        for (unsigned j = 0; in[mark] >> j; j++) {
            if (!(in[mark] >> j & 1)) continue;
            used += decode_word(in + used, &difference);
            world.words[8 * mark + j] ^= difference;
        }
    return used;
}

static void queue_push(struct memory *memory, struct queue *queue)
{
    if (!queue->last || queue->last->used + ENCODED_MAX > CHUNK_SIZE) {
        struct chunk *chunk = resize(memory, NULL, 0, sizeof *chunk);
        chunk->next = NULL;
        chunk->used = chunk->taken = 0;
        if (queue->last) queue->last->next = chunk;
        else             queue->first = chunk;
        queue->last = chunk;
    }
    queue->last->used += encode(queue->last->bytes + queue->last->used);
}

static void queue_pop(struct memory *memory, struct queue *queue)
{
    struct chunk *chunk = queue->first;

    /* It is never the last one, since something is in the queue. */
    if (chunk->taken == chunk->used) {
        queue->first = chunk->next;
        discard(memory, chunk, sizeof *chunk);
        chunk = queue->first;
    }
    chunk->taken += decode(chunk->bytes + chunk->taken);
}

static void queue_clear(struct memory *memory, struct queue *queue)
{
    while (queue->first) {
        struct chunk *chunk = queue->first;
        queue->first = chunk->next;
        discard(memory, chunk, sizeof *chunk);
    }
}

/* ---- One event. An engine that stops itself (REDLOCK_CHECK) is caught. ---- */

static sigjmp_buf stopped;
static volatile sig_atomic_t is_stepping;

/* A check of the explorer's own ends it. */
static void on_trap(int number)
{
    if (is_stepping) siglongjmp(stopped, number);
    signal(number, SIG_DFL);
}

static const char *step(const struct bounds *bounds, struct event event)
{
    const char *breach = "the engine has stopped itself: a broken assumption";

    is_stepping = true;
    if (sigsetjmp(stopped, 0) == 0) {
        world_apply(&world.w, bounds, event);
        breach = oracle(&world.w, bounds);
    }
    is_stepping = false;
    return breach;
}

/* ---- The story of a breach ---- */

enum { STORY_MAX = 1024 };

/* Writes the events that led to a state, the last one first. They are fewer than STORY_MAX. */
static unsigned events_to(const struct origins *origins, uint32_t state, struct event *events)
{
    unsigned count = 0;

    for (; state != 0 && count < STORY_MAX - 1; state = origins->list[state].state)
        events[count++] = unpack(origins->list[state].event);
    return count;
}

static void tell_step(const struct bounds *bounds, unsigned number, struct event event)
{
    static union { struct world w; uint64_t words[WORDS]; } before;

    copy_world(&before, &world);
    step(bounds, event);
    story_tell(number, &before.w, event, &world.w, bounds);
}

/* Returns the number of events. */
static unsigned tell_way(const struct bounds *bounds, const struct origins *origins, uint32_t state)
{
    struct event events[STORY_MAX];
    unsigned count = events_to(origins, state, events);

    copy_world(&world, &first);
    for (unsigned i = 0; i < count; i++) tell_step(bounds, i + 1, events[count - 1 - i]);
    return count;
}

static void tell(const struct bounds *bounds, const struct origins *origins, uint32_t state,
                 struct event last)
{
    tell_step(bounds, tell_way(bounds, origins, state) + 1, last);
}

/* Tells how the first state that has this digest was reached. Makes all of them anew, so it takes
 * its time. */
static void tell_first_of(const struct bounds *bounds, const struct origins *origins,
                          struct digest digest)
{
    struct event events[STORY_MAX];

    for (uint32_t state = 1; state < origins->count; state++) {
        struct digest candidate;
        unsigned count = events_to(origins, state, events);
        copy_world(&world, &first);
        while (count > 0) step(bounds, events[--count]);
        candidate = digest_of(&world.w, bounds);
        if (!digests_are_equal(candidate, digest)) continue;
        tell(bounds, origins, origins->list[state].state, unpack(origins->list[state].event));
        return;
    }
}

/* ---- The search ---- */

struct run {
    const struct bounds *bounds;
    const struct limits *limits;
    struct figures *figures;
    struct memory memory;
    struct seen seen, futures;
    struct origins origins;
    struct queue queue;
    struct progress progress;
    struct timespec began;
};

/* Processor time is used because a limit is then the same whatever runs beside it. */
static double seconds_since(const struct timespec *began)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)(now.tv_sec - began->tv_sec) + (double)(now.tv_nsec - began->tv_nsec) / 1e9;
}

/* Counts the world as a state when it is a new one. */
static void meet(struct run *run, uint32_t from, struct event event, struct digest digest)
{
    bool is_new = seen_add(&run->memory, &run->seen, digest);

    if (!is_new && !run->limits->compares) return;
    origins_add(&run->memory, &run->origins, from, pack(event, !is_new));
    queue_push(&run->memory, &run->queue);
}

/* Tries an event in the world; says where that leads. False: something was broken. */
static bool try_event(struct run *run, uint32_t state, struct event event, struct digest *digest)
{
    run->figures->breach = step(run->bounds, event);
    run->figures->transitions++;
    if (world.w.is_full) run->figures->limit = "late commands of one connection that are kept";
    if (run->figures->breach) {
        printf("%s:\n", run->figures->breach);
        tell(run->bounds, &run->origins, state, event);
        return false;
    }
    *digest = digest_of(&world.w, run->bounds);
    return true;
}

/* Worlds with the same digest must have the same future. The first such state that was expanded
 * sets it, and all others must lead to worlds of the same digests. Otherwise the digest leaves out
 * something that matters. */
static bool compare(struct run *run, struct digest here, struct digest *next, unsigned count,
                    bool is_copy)
{
    struct digest future;

    if (!run->limits->compares) return true;
    future = digest_join(here, digest_of_set(next, count));
    if (!is_copy) return seen_add(&run->memory, &run->futures, future);
    if (!seen_add(&run->memory, &run->futures, future)) return true;
    run->figures->breach = "two worlds of the same digest have different futures";
    return false;
}

/* Does everybody that asks in this state hold, if all is calm from here on? */
static bool try_calm(struct run *run, uint32_t state, const void *here)
{
    static struct walk walk;
    unsigned count, sorts = progress_sorts(run->bounds);

    for (unsigned calm = 0; calm <= sorts && run->bounds->calm > 0; calm++) {
        if (calm & ~sorts) continue;
        copy_world(&world, here);
        progress_begin(&world.w, run->bounds);
        run->figures->breach = progress_walk(&run->progress, &world.w, run->bounds, calm, &walk);
        if (!run->figures->breach) continue;
        printf("%s:\n", run->figures->breach);
        count = tell_way(run->bounds, &run->origins, state);
        printf("      all is calm from here on%s%s%s\n",
               calm & CALM_HOLDS_ON ? ", but a holder holds on" : "",
               calm & CALM_MUTE ? ", but the last node is mute" : "",
               calm & CALM_SLOW ? ", but the first node is slow" : "");
        progress_begin(&world.w, run->bounds);
        for (unsigned i = 0; i < walk.count; i++)
            tell_step(run->bounds, count + i + 1, walk.events[i]);
        return false;
    }
    run->figures->calm = run->progress.most;
    return true;
}

/* Tries all that may happen in the state of this number, which is the world. False:
 * something was broken. */
static bool expand(struct run *run, uint32_t state)
{
    static union { struct world w; uint64_t words[WORDS]; } here;
    bool is_copy = run->origins.list[state].event & ORIGIN_COPY;
    struct digest digest = digest_of(&world.w, run->bounds), next[EVENTS_MAX];
    struct event events[EVENTS_MAX];
    unsigned count = world_events(&world.w, run->bounds, events);

    copy_world(&here, &world);
    for (unsigned i = 0; i < count; i++) {
        if (i > 0) copy_world(&world, &here);
        if (!try_event(run, state, events[i], &next[i])) return false;
        if (!is_copy && !world.w.is_full) meet(run, state, events[i], next[i]);
    }
    if (!is_copy) run->figures->states++;
    if (!is_copy && !try_calm(run, state, &here)) return false;
    if (compare(run, digest, next, count, is_copy)) return true;
    printf("%s. The first:\n", run->figures->breach);
    tell_first_of(run->bounds, &run->origins, digest);
    printf("The second:\n");
    tell(run->bounds, &run->origins, run->origins.list[state].state,
         unpack(run->origins.list[state].event));
    return false;
}

static bool is_over_limit(struct run *run)
{
    const struct limits *limits = run->limits;
    struct figures *figures = run->figures;
    size_t next = run->seen.count >= run->seen.size / 4 * 3 - EVENTS_MAX
                      ? 2 * run->seen.size * sizeof *run->seen.slots
                      : 0;

    if (figures->depth >= limits->depth)                         figures->limit = "depth";
    else if (run->memory.used + next > limits->memory)           figures->limit = "memory";
    else if (run->origins.count >= NO_STATE - EVENTS_MAX)        figures->limit = "states";
    else if (seconds_since(&run->began) > limits->seconds)       figures->limit = "time";
    else return false;
    return true;
}

static void talk(const struct run *run, size_t layer)
{
    double seconds = seconds_since(&run->began);

    if (!run->limits->talks) return;
    printf("  depth %3u: %9zu to explore, %10zu states, %5.0f s, %5.0f MB\n", run->figures->depth,
           layer, run->seen.count, seconds, (double)run->memory.used / 1e6);
    fflush(stdout);
}

static enum outcome explore(struct run *run)
{
    uint32_t state = 0;

    meet(run, NO_STATE, (struct event){ 0 }, digest_of(&world.w, run->bounds));
    while (state < run->origins.count) {
        size_t layer_end = run->origins.count;
        talk(run, layer_end - state);
        for (; state < layer_end; state++) {
            if (state % 1024 == 0 && is_over_limit(run)) return OUTCOME_LIMITED;
            queue_pop(&run->memory, &run->queue);
            if (!expand(run, state)) return OUTCOME_BREACH;
        }
        run->figures->depth++;
    }
    run->figures->depth--;      /* The last layer led to nothing new. */
    return run->figures->limit ? OUTCOME_LIMITED : OUTCOME_EXHAUSTED;
}

enum outcome search(const struct bounds *bounds, const struct limits *limits,
                    struct figures *figures)
{
    struct run run = {
        .bounds = bounds, .limits = limits, .figures = figures, .progress.step = step
    };
    struct sigaction trap = { .sa_handler = on_trap, .sa_flags = SA_NODEFER };
    enum outcome outcome;

    sigaction(SIGILL, &trap, NULL);
    sigaction(SIGTRAP, &trap, NULL);
    *figures = (struct figures){ 0 };
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &run.began);
    world_init(&world.w, bounds);
    memcpy(&first, &world, sizeof world);
    use_words(bounds);
    outcome = explore(&run);
    if (outcome == OUTCOME_BREACH) figures->depth++;
    figures->seconds = seconds_since(&run.began);
    figures->memory = run.memory.most;
    queue_clear(&run.memory, &run.queue);
    progress_clear(&run.progress);
    free(run.seen.slots);
    free(run.futures.slots);
    free(run.origins.list);
    return outcome;
}
