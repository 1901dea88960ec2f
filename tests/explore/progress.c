#include "progress.h"

#include "../../redlock/lock.h"

#include <stdio.h>
#include <stdlib.h>

enum { SLOTS_FIRST = 1 << 12 };

/* ---- What is known ---- */

static struct known *find(const struct progress *p, struct digest digest)
{
    size_t i = digest.low & (p->size - 1);

    while (!digest_is_none(p->slots[i].digest) && !digests_are_equal(p->slots[i].digest, digest))
        i = (i + 1) & (p->size - 1);
    return &p->slots[i];
}

static void enlarge(struct progress *p)
{
    struct progress bigger = *p;

    bigger.size = p->size > 0 ? 2 * p->size : SLOTS_FIRST;
    bigger.slots = calloc(bigger.size, sizeof *bigger.slots);
    if (!bigger.slots) {
        fprintf(stderr, "explore: out of memory\n");
        exit(70);
    }
    for (size_t i = 0; i < p->size; i++)
        if (!digest_is_none(p->slots[i].digest)) *find(&bigger, p->slots[i].digest) = p->slots[i];
    free(p->slots);
    *p = bigger;
}

/* True if the state is known; *ticks then is what it takes from there. */
static bool recall(const struct progress *p, struct digest digest, unsigned *ticks)
{
    const struct known *known = find(p, digest);

    *ticks = known->ticks;
    return !digest_is_none(known->digest);
}

static void remember(struct progress *p, struct digest digest, unsigned ticks)
{
    if (p->count >= p->size / 4 * 3) enlarge(p);
    /* A walk that comes back to a state never ends. */
    REDLOCK_CHECK(digest_is_none(find(p, digest)->digest));
    *find(p, digest) = (struct known){ digest, ticks };
    p->count++;
}

void progress_clear(struct progress *p)
{
    free(p->slots);
    *p = (struct progress){ 0 };
}

/* ---- Calm ---- */

/* Without one of two nodes there is no quorum. */
unsigned progress_sorts(const struct bounds *bounds)
{
    unsigned mute = bounds->nodes > 2 ? CALM_MUTE : 0,
             slow = bounds->timeout_ms > TICK_MS ? CALM_SLOW : 0;

    return CALM_REVERSE | CALM_HOLDS_ON | mute | slow;
}

static bool is_calm(const struct world *w, const struct bounds *bounds, unsigned calm,
                    struct event e)
{
    bool is_mute = calm & CALM_MUTE && e.node == bounds->nodes - 1,
         is_slow = calm & CALM_SLOW && e.node == 0;

    switch ((enum event_kind)e.kind) {
    case EVENT_WAKE:    return true;
    case EVENT_RELEASE: return !(calm & CALM_HOLDS_ON);
    case EVENT_EXECUTE:
        return !is_mute && !(is_slow && w->links[e.client][e.node].commands[0].sent_at == w->now);
    case EVENT_ANSWER:
    case EVENT_CONNECT: return !is_mute;
    case EVENT_LOSE:    return w->links[e.client][e.node].is_broken;
    default:            return false;
    }
}

/* Time passes when nothing else is to be done. */
static struct event choose(const struct world *w, const struct bounds *bounds, unsigned calm)
{
    struct event events[EVENTS_MAX];
    unsigned count = world_events(w, bounds, events);

    for (unsigned i = 0; i < count; i++) {
        struct event e = events[calm & CALM_REVERSE ? count - 1 - i : i];
        if (is_calm(w, bounds, calm, e)) return e;
    }
    return (struct event){ .kind = EVENT_TIME };
}

/* ---- Clients that ask ---- */

static bool asks(const struct client *client)
{
    return !client->is_out && (client->lock.phase == REDLOCK_PHASE_ACQUIRING ||
                               client->lock.phase == REDLOCK_PHASE_WAITING);
}

static unsigned all_that_ask(const struct world *w, const struct bounds *bounds)
{
    unsigned all = 0;

    for (unsigned c = 0; c < clients_of(bounds); c++)
        if (asks(&w->clients[c])) all |= 1u << c;
    return all;
}

void progress_begin(struct world *w, const struct bounds *bounds)
{
    for (unsigned c = 0; c < clients_of(bounds); c++)
        if (asks(&w->clients[c]) && w->clients[c].lock.wait_until != 0)
            w->clients[c].lock.wait_until = REDLOCK_NEVER;
}

/* One that no longer asks must hold. Only the world's tokens may have run out. */
static bool has_given_up(const struct world *w, const struct bounds *bounds, unsigned asked)
{
    for (unsigned c = 0; c < clients_of(bounds); c++) {
        const struct client *client = &w->clients[c];
        bool waits =
            client->lock.wait_until != 0 && client->lock.phase != REDLOCK_PHASE_NEEDS_ENTROPY;
        bool has_ended = asked >> c & 1 && !asks(client) && waits;
        if (has_ended && world_valid_ticks(w, c) == 0) return true;
    }
    return false;
}

const char *progress_walk(struct progress *p, struct world *w, const struct bounds *bounds,
                          unsigned calm, struct walk *walk)
{
    static struct known met[WALK_MAX];
    const struct digest sort = { calm + 1, 0 };
    unsigned ticks = 0, rest = 0, asked;
    const char *breach;

    REDLOCK_CHECK(bounds->calm > 0 && !(calm & ~progress_sorts(bounds)));
    if (p->size == 0) enlarge(p);
    for (walk->count = 0; (asked = all_that_ask(w, bounds)) != 0; walk->count++) {
        struct event e = choose(w, bounds, calm);
        met[walk->count] = (struct known){ digest_join(digest_of(w, bounds), sort), ticks };
        if (recall(p, met[walk->count].digest, &rest)) break;
        if (walk->count == WALK_MAX - 1) return "a world that is calm does not come to rest";
        ticks += e.kind == EVENT_TIME;
        if (ticks > bounds->calm)
            return "a client that asks does not get the lock, though all is calm";
        walk->events[walk->count] = e;
        breach = p->step(bounds, e);
        if (breach || has_given_up(w, bounds, asked)) {
            walk->count++;
            return breach ? breach : "a client that asked has given up, though all is calm";
        }
    }
    if (ticks + rest > bounds->calm)
        return "a client that asks gets the lock late, though all is calm";
    if (ticks + rest > p->most) p->most = ticks + rest;
    for (unsigned i = 0; i < walk->count; i++)
        remember(p, met[i].digest, ticks + rest - met[i].ticks);
    return NULL;
}
