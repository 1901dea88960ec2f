/* The seed decides the properties of a world, and the times of its faults. */
#include "sim_world.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    MS = 1000,
    SECOND = 1000000,
    OPTIONS_SALT = 1, FAULTS_SALT = 2   /* Dice that have nothing to do with each other. */
};

const char *sim_class_text(enum sim_class class)
{
    static const char *const texts[] = {
#define SIM_CLASS_TEXT(name, promised, text) text,
        SIM_CLASSES(SIM_CLASS_TEXT)
    };
    return texts[class];
}

enum sim_class sim_class_of_name(const char *given)
{
    static const char *const names[] = {
#define SIM_CLASS_NAME(name, promised, text) #name,
        SIM_CLASSES(SIM_CLASS_NAME)
    };
    unsigned class = 0;
    while (class < SIM_CLASS_COUNT && strcasecmp(names[class], given) != 0) class++;
    return (enum sim_class)class;
}

bool sim_class_is_promised(enum sim_class class)
{
    static const bool promised[] = {
#define SIM_CLASS_PROMISED(name, is_promised, text) is_promised,
        SIM_CLASSES(SIM_CLASS_PROMISED)
    };
    return promised[class];
}

bool sim_class_is_about_tickets(enum sim_class class)
{
    return class >= SIM_CLASS_TICKETS_SKEWED && class < SIM_CLASS_PERIODS_NO_GUARD;
}

bool sim_class_is_about_periods(enum sim_class class)
{
    return class >= SIM_CLASS_PERIODS_NO_GUARD && class < SIM_CLASS_PROMOTED;
}

bool sim_class_has_periods(enum sim_class class)
{
    return class == SIM_CLASS_PERIODS || sim_class_is_about_periods(class);
}

bool sim_class_has_readers(enum sim_class class)
{
    return class == SIM_CLASS_READERS || class == SIM_CLASS_READERS_NO_GUARD ||
           class == SIM_CLASS_READERS_FLUSHALL;
}

bool sim_class_has_permits(enum sim_class class)
{
    return class == SIM_CLASS_PERMITS || class == SIM_CLASS_PERMITS_NO_GUARD;
}

bool sim_class_is_fair(enum sim_class class)
{
    return class == SIM_CLASS_FAIR;
}

bool sim_class_is_native(enum sim_class class)
{
    return class == SIM_CLASS_NATIVE;
}

bool sim_class_has_slots(enum sim_class class)
{
    return class == SIM_CLASS_SLOTS;
}

bool sim_class_is_durable(enum sim_class class)
{
    return class == SIM_CLASS_DURABLE || class == SIM_CLASS_DURABLE_BACK;
}

bool sim_class_has_no_guard(enum sim_class class)
{
    return class == SIM_CLASS_NO_GUARD || class == SIM_CLASS_TICKETS_NO_GUARD ||
           class == SIM_CLASS_READERS_NO_GUARD || class == SIM_CLASS_PERMITS_NO_GUARD;
}

const char *sim_fault_text(enum sim_fault_kind kind)
{
    static const char *const texts[] = {
#define SIM_FAULT_TEXT(name, classes, text) text,
        SIM_FAULTS(SIM_FAULT_TEXT)
    };
    return texts[kind];
}

static bool loses_memory(enum sim_fault_kind kind)
{
    return kind == SIM_FAULT_RESTART_EMPTY || kind == SIM_FAULT_RESTART_BACK;
}

bool sim_fault_is_in(enum sim_fault_kind kind, enum sim_class class)
{
#define IN(name) ((uint64_t)1 << SIM_CLASS_##name)
    static const uint64_t sets[] = {
#define SIM_FAULT_SET(name, classes, text) classes,
        SIM_FAULTS(SIM_FAULT_SET)
    };
    const uint64_t unpromised = ~(IN(CLOCK_FORWARD) - 1);
#undef IN
    const bool has_all =
        (class >= SIM_CLASS_ALL && class <= SIM_CLASS_PERMITS) || sim_class_is_fair(class) ||
        sim_class_is_native(class);
    /* The guard is of servers, so a slot must not leave one that has just lost its memory. */
    if (sim_class_has_slots(class) && kind < SIM_FAULT_SLOT_MOVES)
        return (sets[kind] & ~unpromised) != 0 && !loses_memory(kind);
    return has_all ? (sets[kind] & ~unpromised) != 0 : (sets[kind] >> class & 1) != 0;
}

uint64_t sim_random(struct sim_dice *dice)
{
    uint64_t z = dice->state += 0x9E3779B97F4A7C15u; /* SplitMix64 */
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t sim_below(struct sim_dice *dice, uint64_t limit)
{
    return sim_random(dice) % limit;
}

bool sim_one_in(struct sim_dice *dice, uint64_t count)
{
    return sim_below(dice, count) == 0;
}

static uint32_t one_of(struct sim_dice *dice, const uint32_t *choices, size_t count)
{
    return choices[sim_below(dice, count)];
}

#define ONE_OF(dice, ...) \
    one_of(dice, (const uint32_t[]){ __VA_ARGS__ }, \
           sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static struct sim_dice dice_of(uint64_t seed, unsigned salt)
{
    struct sim_dice dice = { seed * 0x9E3779B97F4A7C15u + salt };
    dice.state = sim_random(&dice);
    return dice;
}

/* If exclusion needs messages to more than one node, a world of one node shows little. */
static unsigned node_count_of(struct sim_dice *dice, enum sim_class class)
{
    return sim_class_is_promised(class) ? ONE_OF(dice, 1, 2, 3, 3, 3, 4, 5, 5, 5, 6, 7)
                                         : ONE_OF(dice, 3, 3, 4, 5);
}

/* A question and its answer take half the node timeout at most, or a healthy node would
 * count as dead. */
static uint64_t at_most(uint64_t value, uint64_t max)
{
    return value < max ? value : max;
}

static bool has_fault(const struct sim_options *o, enum sim_fault_kind kind)
{
    return o->fault_count > 0 && sim_fault_is_in(kind, o->class);
}

/* Wall clocks differ at the start, and by the time that clocks gain or lose while faults last. The
 * sum stays within the skew. */
static uint32_t skew_of(const struct sim_options *o)
{
    uint64_t skew_ms = o->wall_spread_ms + 1;
    if (has_fault(o, SIM_FAULT_RATE)) skew_ms += o->duration_us / SECOND * o->drift_ppm / 1000;
    if (has_fault(o, SIM_FAULT_STEP_BACK)) skew_ms += SIM_CLOCK_BACK_US / MS;
    return (uint32_t)skew_ms;
}

/* Wake-ups are kept from waiting clients by nothing, by a lack of senders, or by an ACL. */
static void draw_waiters(struct sim_dice *dice, struct sim_options *o)
{
    static const char *const refused[] = { "PUBLISH", "SUBSCRIBE", "ZADD" };
    const uint64_t die = sim_below(dice, 10);
    o->wake_ups = sim_one_in(dice, 3);
    o->silent = die == 0;
    o->noperm = die >= 1 && die <= 3 ? refused[die - 1] : NULL;
}

static void draw_holding(struct sim_dice *dice, struct sim_options *o)
{
    const bool all_with_ticket =
        sim_class_is_about_tickets(o->class) || o->class == SIM_CLASS_FENCED;
    o->wall_spread_ms = o->pace * ONE_OF(dice, 1, 20, 200, 500);
    o->skew_ms = skew_of(o);
    o->ticket_life_ms =
        o->ttl_max_ms + o->guard_ms + 2 * o->skew_ms + o->pace * ONE_OF(dice, 0, 1000, 100000);
    o->ticket_share = ONE_OF(dice, 0, 1, 2, 2, 4);
    if (all_with_ticket) o->ticket_share = 1;
    o->set_share = ONE_OF(dice, 0, 0, 2, 4);
    o->keep_share = ONE_OF(dice, 0, 0, 2, 4);
    o->keep_percent =
        ONE_OF(dice, REDLOCK_KEEP_PERCENT, REDLOCK_KEEP_PERCENT, 10, 60, REDLOCK_KEEP_PERCENT_MAX);
    draw_waiters(dice, o);
}

/* Nodes have been up for longer at the beginning than the longest of these may be old when
 * it is marked. */
static void draw_periods(struct sim_dice *dice, struct sim_options *o)
{
    o->period_ms = o->pace * ONE_OF(dice, REDLOCK_PERIOD_MS_MIN, 2000, 5000, 10000);
    if (sim_class_is_about_periods(o->class)) o->ticket_share = 0;
    else                                      o->until_done = sim_one_in(dice, 2);
}

/* Fair ones, and among them others; without the right to the queue nobody is served. */
static void draw_order(struct sim_dice *dice, struct sim_options *o)
{
    o->fair_share = ONE_OF(dice, 1, 1, 1, 2);
    o->lock_count = ONE_OF(dice, 1, 1, 2);
    o->set_share = 0;
    if (o->noperm && strcmp(o->noperm, "ZADD") == 0) o->noperm = NULL;
}

/* Locks that need scripts cannot be acquired where a quorum runs none. */
static void draw_native(struct sim_dice *dice, struct sim_options *o)
{
    unsigned with_scripts = 0;
    for (unsigned k = 0; k < o->node_count; k++) {
        if (sim_one_in(dice, 3)) with_scripts++;
        else                     o->native |= 1u << k;
    }
    if (with_scripts < redlock_quorum(o->node_count)) o->ticket_share = o->set_share = 0;
}

/* Half of the worlds have plain locks, the others one of the other kinds. */
static void draw_slots(struct sim_dice *dice, struct sim_options *o)
{
    const uint64_t die = sim_below(dice, 6);
    o->fault_count = SIM_FAULTS_MAX / 2 + o->fault_count / 2;
    o->cuts_wrong_shards = sim_one_in(dice, 2);
    /* Each MOVED costs a handshake, which takes long byte by byte. */
    if (o->in_pieces) o->duration_us = (uint64_t)o->pace * SECOND;
    if (die == 3) o->shared_share = ONE_OF(dice, 1, 2, 2, 3);
    if (die == 4) draw_order(dice, o);
    if (die == 5) o->permits = ONE_OF(dice, 1, 2, 2, 3, SIM_PERMITS_MAX);
    if (die >= 3 && o->noperm && strcmp(o->noperm, "ZADD") == 0) o->noperm = NULL;
}

struct sim_options sim_options_of(uint64_t seed, enum sim_class class)
{
    struct sim_dice dice = dice_of(seed, OPTIONS_SALT);
    const enum sim_class drawn = (enum sim_class)sim_below(&dice, 2 * (SIM_CLASS_ALL + 1));
    struct sim_options o = { .seed = seed, .class = class };
    if (class == SIM_CLASS_COUNT) /* Half of all worlds have it all. */
        o.class = drawn < SIM_CLASS_ALL ? drawn : SIM_CLASS_ALL;
    o.node_count = node_count_of(&dice, o.class);
    o.client_count = 2 + (unsigned)sim_below(&dice, SIM_CLIENTS_MAX - 1);
    o.lock_count = ONE_OF(&dice, 1, 1, 2, 3, SIM_LOCKS_MAX);
    o.pace = ONE_OF(&dice, 1, 2, 5, 10, 20);
    o.ttl_max_ms = o.pace * ONE_OF(&dice, 300, 1000, 2000, 3000);
    o.guard_ms = sim_class_has_no_guard(o.class) ? 0 : o.ttl_max_ms;
    o.drift_ppm = ONE_OF(&dice, 10000, 10000, 50001, 84000);
    o.node_timeout_ms = o.pace * ONE_OF(&dice, 20, 50, 200, 500);
    o.retry_ms = o.pace * ONE_OF(&dice, 30, 100, 200);
    o.receive_size = ONE_OF(&dice, REDLOCK_RECEIVE_MIN, REDLOCK_RECEIVE_SIZE);
    o.think_us = o.pace * ONE_OF(&dice, 50, 200, 400, 800) * MS;
    o.delay_us = at_most(ONE_OF(&dice, 50, 100, 1000, 5000), o.node_timeout_ms * MS / 8);
    o.jitter_us = o.class == SIM_CLASS_NONE
                      ? 0
                      : at_most(ONE_OF(&dice, 0, 100, 2000, 10000), o.node_timeout_ms * MS / 8);
    o.duration_us = (uint64_t)o.pace * ONE_OF(&dice, 5, 10, 30) * SECOND;
    o.fault_count =
        o.class == SIM_CLASS_NONE ? 0 : 4 + (unsigned)sim_below(&dice, SIM_FAULTS_MAX - 3);
    /* Between two restarts there must be time for a ticket. */
    if (o.class == SIM_CLASS_TICKETS_SKEWED) o.fault_count = 4 + o.fault_count % 8;
    o.save_every_us = o.pace * ONE_OF(&dice, 100, 300, 1000) * MS;
    o.restless = sim_one_in(&dice, 4);
    o.in_pieces = sim_one_in(&dice, 6);
    o.ticks_first = sim_one_in(&dice, 4);
    o.lag_us = ONE_OF(&dice, 0, 0, 100, 5 * MS);
    draw_holding(&dice, &o);
    if (sim_class_has_periods(o.class)) draw_periods(&dice, &o);
    o.keeps_memory = o.class < SIM_CLASS_ALL && o.class != SIM_CLASS_CRASH_LOST &&
                     o.class != SIM_CLASS_CRASH_BACK;
    if (sim_class_is_durable(o.class)) o.keeps_memory = false;
    if (o.class == SIM_CLASS_READERS || o.class == SIM_CLASS_PERMITS ||
        sim_class_is_fair(o.class))
        o.keeps_memory = sim_one_in(&dice, 2);
    /* Readers need it. */
    if (sim_class_has_readers(o.class) && o.noperm && strcmp(o.noperm, "ZADD") == 0)
        o.noperm = NULL;
    if (sim_class_has_readers(o.class)) o.shared_share = ONE_OF(&dice, 1, 2, 2, 3);
    if (sim_class_is_fair(o.class)) draw_order(&dice, &o);
    if (sim_class_is_native(o.class)) draw_native(&dice, &o);
    if (sim_class_has_slots(o.class)) {
        o.keeps_memory = true;
        draw_slots(&dice, &o);
    }
    if (sim_class_has_permits(o.class)) o.permits = ONE_OF(&dice, 1, 2, 2, 3, SIM_PERMITS_MAX);
    if (o.class == SIM_CLASS_NAMELESS) o.hides_replid = sim_one_in(&dice, 2);
    return o;
}

const char *sim_noperm(const struct sim_options *options, unsigned k)
{
    return options->native >> k & 1 ? "EVAL EVALSHA SCRIPT" : options->noperm;
}

const char *sim_newer(const struct sim_options *options, unsigned k)
{
    if (!sim_class_is_native(options->class)) return NULL;
    return k % 2 == 0 ? "DELEX IFEQ" : "DELIFEQ IFEQ";
}

void sim_print_options(const struct sim_options *o)
{
    printf("seed %llu, faults \"%s\": %u nodes, %u clients, %u locks, pace %u, TTL up to %u ms, "
           "guard %u ms, drift %u ppm, node timeout %u ms, retry %u ms, think %u us, delay %llu + "
           "%llu us, alarms %u us late, %llu ms, %u faults%s%s%s\n",
           (unsigned long long)o->seed, sim_class_text(o->class), o->node_count, o->client_count,
           o->lock_count, o->pace, o->ttl_max_ms, o->guard_ms, o->drift_ppm, o->node_timeout_ms,
           o->retry_ms, o->think_us, (unsigned long long)o->delay_us,
           (unsigned long long)o->jitter_us, o->lag_us, (unsigned long long)(o->duration_us / MS),
           o->fault_count, o->restless ? ", restless" : "", o->in_pieces ? ", in pieces" : "",
           o->ticks_first ? ", clock first" : "");
    printf(
        "one in %u with a ticket, %u a set, %u kept (0: none), at %u %% of the TTL; wall clocks "
        "differ by %u of %u ms, counters live %u ms; periods of %u ms%s; one in %u shared, %u "
        "fair; %u permits; nodes without scripts %x; wake-ups%s%s%s\n",
        o->ticket_share, o->set_share, o->keep_share, o->keep_percent, o->wall_spread_ms,
        o->skew_ms, o->ticket_life_ms, o->period_ms, o->until_done ? ", until done" : "",
        o->shared_share, o->fair_share, o->permits, o->native, o->wake_ups ? "" : " off",
        o->silent ? ", releases silent, refused " : ", refused ",
        o->noperm ? o->noperm : "nothing");
}

/* ---- The schedule of faults ---- */

/* Two in three are about slots, if they move. */
static enum sim_fault_kind draw_kind(struct sim_dice *dice, const struct sim_options *o)
{
    enum sim_fault_kind kind;
    if (sim_class_has_slots(o->class) && !sim_one_in(dice, 3))
        return SIM_FAULT_SLOT_MOVES + (enum sim_fault_kind)ONE_OF(dice, 0, 0, 0, 1, 2, 3, 3);
    do
        kind = (enum sim_fault_kind)sim_below(dice, SIM_FAULT_SLOT_MOVES);
    while (!sim_fault_is_in(kind, o->class) || (o->keeps_memory && loses_memory(kind)));
    return kind;
}

/* Mostly short, sometimes as long as a TTL or the guard, and longer. */
static uint64_t draw_length(struct sim_dice *dice, const struct sim_options *o)
{
    const uint64_t ttl_us = (uint64_t)o->ttl_max_ms * MS;
    switch (sim_below(dice, 4)) {
    case 0:  return 1 + sim_below(dice, 20 * MS);
    case 1:  return 1 + sim_below(dice, (uint64_t)o->node_timeout_ms * 4 * MS);
    case 2:  return 1 + sim_below(dice, ttl_us);
    default: return 1 + sim_below(dice, 2 * ttl_us);
    }
}

/* All of a fault is drawn, whatever its kind makes of it, so that the dice go on alike. */
static struct sim_fault draw_fault(struct sim_dice *dice, const struct sim_options *o)
{
    enum { WRONG_FOR = 8 };     /* A clock is not soon set right that nobody looks at. */
    struct sim_fault fault = { .kind = draw_kind(dice, o) };
    fault.at_us = sim_below(dice, o->duration_us);
    fault.lasts_us = draw_length(dice, o) * (fault.kind == SIM_FAULT_WALL_WRONG ? WRONG_FOR : 1);
    fault.client = (unsigned)sim_below(dice, o->client_count);
    fault.node = (unsigned)sim_below(dice, o->node_count);
    fault.amount = sim_random(dice) >> 1;
    return fault;
}

void sim_schedule(struct sim_world *world)
{
    struct sim_dice dice = dice_of(world->options.seed, FAULTS_SALT);
    for (unsigned i = 0; i < world->options.fault_count; i++)
        world->faults[i] = draw_fault(&dice, &world->options);
}
