/* Runs one world from its beginning to its end, first under faults and then, when all of them are
 * over, until everything has ended. */
#include "sim_world.h"

#include "../world/witness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORKS_AGAIN_MS = 30000,     /* Within this a lock with a ticket is acquired, if all is well. */
    MS = 1000,
    SECOND = 1000000,
    FLOOR_TTL_MS = 100,             /* Times the pace. */
    /* Memory to which a lock is moved and from which it comes back. */
    SPARE_LOCK = SIM_LOCKS_MAX,
    CALM_STEP_US = 20 * MS,
    CONNECTIONS_PER_LINK = 1,
    ACTORS_SALT = 16
};

#define SIM_SALT_STEP 0xA0761D6478BD642Fu

/* ---- Telling ---- */

void sim_count(struct sim_world *world, enum sim_path path)
{
    world->totals->paths[path]++;
}

void sim_mix(struct sim_world *world, uint64_t number)
{
    /* FNV-1a, byte by byte from the lowest, so it is the same on every machine. */
    for (unsigned i = 0; i < 8; i++)
        world->hash = (world->hash ^ (number >> 8 * i & 255)) * 1099511628211u;
}

void sim_mix_text(struct sim_world *world, const char *text)
{
    for (; *text != '\0'; text++) world->hash = (world->hash ^ (uint8_t)*text) * 1099511628211u;
}

static void break_rule(struct sim_world *world, const char *format, va_list arguments)
{
    if (!cluster_is_broken(world->cluster) && !world->cluster->witness)
        vsnprintf(world->cluster->broken, sizeof world->cluster->broken, format, arguments);
}

void sim_break(struct sim_world *world, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    break_rule(world, format, arguments);
    va_end(arguments);
}

void sim_demand(struct sim_world *world, enum sim_rule rule, bool holds, const char *format, ...)
{
    va_list arguments;
    world->totals->judged[rule]++;
    if (holds) return;
    va_start(arguments, format);
    break_rule(world, format, arguments);
    va_end(arguments);
}

void sim_tell(struct sim_world *world, const char *format, ...)
{
    struct sim_outcome *outcome = world->outcome;
    char *line = outcome->story[outcome->line_count++ % SIM_STORY_LINES];
    va_list arguments;
    if (!world->tells) return;
    const int used = snprintf(line, SIM_STORY_LINE, "%12.3f ms  ",
                              (double)(world->cluster->now_us - world->begun_us) / 1000);
    va_start(arguments, format);
    vsnprintf(line + used, SIM_STORY_LINE - (size_t)used, format, arguments);
    va_end(arguments);
}

/* Does the line speak of a resource, and the broken rule of another one? */
static bool is_beside_the_point(const struct sim_outcome *outcome, const char *line)
{
    bool names_other = false, names_same = false, names_any = false;
    for (unsigned i = 0; i < SIM_LOCKS_MAX; i++) {
        const bool is_named = strstr(line, sim_resource(i)) != NULL;
        const bool is_meant = strstr(outcome->broken, sim_resource(i)) != NULL;
        names_same = names_same || (is_meant && is_named);
        names_other = names_other || (!is_meant && is_named);
        names_any = names_any || is_meant;
    }
    return names_any && names_other && !names_same;
}

void sim_print_story(const struct sim_outcome *outcome)
{
    const unsigned end = outcome->line_count;
    unsigned first = end, told = 0;
    while (first > 0 && end - first < SIM_STORY_LINES && told < SIM_STORY_TOLD)
        told += !is_beside_the_point(outcome, outcome->story[--first % SIM_STORY_LINES]);
    if (first > 0) printf("  (%u lines before)\n", first);
    for (unsigned i = first; i < end; i++)
        if (!is_beside_the_point(outcome, outcome->story[i % SIM_STORY_LINES]))
            printf("  %s\n", outcome->story[i % SIM_STORY_LINES]);
    printf("  %12.3f ms  %s\n", (double)outcome->ended_us / 1000,
           outcome->broken[0] ? outcome->broken : "the end");
}

/* ---- Actors ---- */

/* Of the one world that runs: all names are of one slot. */
static bool has_braces;

const char *sim_resource(unsigned lock)
{
    static const char *const names[][SIM_LOCKS_MAX] = {
        { "door", "gate", "hall", "attic" }, { "{s}door", "{s}gate", "{s}hall", "{s}attic" }
    };
    return names[has_braces][lock];
}

struct sim_actor *sim_actor_of(struct sim_world *world, unsigned client, unsigned lock)
{
    return &world->actors[client * world->options.lock_count + lock];
}

/* There is a resource of which no two may be held, whichever slots they got. */
bool sim_clash(const struct sim_actor *a, const struct sim_actor *b)
{
    return a->permits <= 1 && b->permits <= 1 &&
           (a->names & b->names & ~(a->shared & b->shared)) != 0;
}

bool sim_others_hold(const struct sim_world *world, const struct sim_actor *actor)
{
    for (unsigned i = 0; i < world->actor_count; i++) {
        const struct sim_actor *other = &world->actors[i];
        if (other != actor && sim_clash(other, actor) &&
            !world->cluster->clients[other->client].dead &&
            cluster_valid_us(world->cluster, other->client, other->lock) > 0)
            return true;
    }
    return false;
}

/* Lists resources in no particular order, since the engine sorts them. Returns how many. */
static unsigned list_names(unsigned names, unsigned shared, struct redlock_name list[SIM_LOCKS_MAX])
{
    unsigned count = 0;
    for (unsigned i = 0; i < SIM_LOCKS_MAX; i++)
        if (names >> i & 1)
            list[count++] = (struct redlock_name){
                .bytes = sim_resource(i), .size = strlen(sim_resource(i)), .shared = shared >> i & 1
            };
    return count;
}

static uint32_t draw_ttl(const struct sim_world *world, struct sim_dice *dice)
{
    const uint32_t floor = FLOOR_TTL_MS * world->options.pace;
    return floor + (uint32_t)sim_below(dice, world->options.ttl_max_ms - floor + 1);
}

static uint32_t draw_wait(const struct sim_world *world, struct sim_dice *dice)
{
    switch (sim_below(dice, 3)) {
    case 0:  return sim_one_in(dice, 4) ? REDLOCK_FOREVER : 0;
    case 1:  return 0;
    default: return (uint32_t)sim_below(dice, world->options.ttl_max_ms);
    }
}

static void release(struct sim_world *world, struct sim_actor *actor)
{
    actor->deed = SIM_RELEASES;
    /* Nobody adopts a token that was given back, since a release may still be under way. */
    actor->token[0] = '\0';
    sim_holding_ends(actor);
    sim_periods_forget(world, actor);
    (void)cluster_release(world->cluster, actor->client, actor->lock);
    sim_demand(world, SIM_RULE_S10_RELEASED,
               cluster_valid_us(world->cluster, actor->client, actor->lock) == 0,
               "S10: client %u still holds %s after it has released it", actor->client,
               sim_resource(actor->lock));
}

static void note_request(struct sim_world *world, struct sim_actor *actor,
                         const struct redlock_request *request)
{
    const struct redlock_lock *lock = cluster_lock(world->cluster, actor->client, actor->lock);
    sim_periods_forget(world, actor);
    sim_periods_note_due(world, actor);
    actor->deed = SIM_ACQUIRES;
    actor->begun_at = world->cluster->now_us;
    actor->fair = request->kind == &redlock_fair;
    actor->permits = request->permits;
    actor->hurries = 0;
    actor->attempts = 0;
    actor->guarded = 0;
    /* The last round belonged to another token. */
    actor->round_at = lock->round.started_at;
    actor->failed_to_extend = actor->adopted = false;
    actor->ttl_ms = request->ttl_ms;
    actor->min_validity_ms = request->min_validity_ms;
    actor->extension_limit = request->extension_limit;
    actor->extension_count = 0;
    actor->has_ticket = request->ticket;
    actor->is_corrected = actor->is_woken = actor->came_woken = false;
    actor->ticket = 0;
    sim_holding_ends(actor);
}

static bool draw_share(struct sim_dice *dice, unsigned share)
{
    const bool is_one = sim_one_in(dice, share > 0 ? share : 1);
    return share > 0 && is_one;
}

/* The lock's own resource, and with it some others. Debts of the last time belong to
 * the same resources. */
static unsigned draw_names(const struct sim_world *world, struct sim_actor *actor)
{
    const bool is_set = draw_share(&actor->dice, world->options.set_share);
    const unsigned others = (unsigned)sim_below(&actor->dice, 1u << SIM_LOCKS_MAX);
    if (!redlock_idle(cluster_lock(world->cluster, actor->client, actor->lock)))
        return actor->names;
    return 1u << actor->lock | (is_set ? others : 0);
}

/* Chooses which of its names the lock shares. Debts of the last time may be of another kind. */
static unsigned draw_shared(const struct sim_world *world, struct sim_actor *actor)
{
    unsigned shared = 0;
    const bool is_idle = redlock_idle(cluster_lock(world->cluster, actor->client, actor->lock));
    for (unsigned i = 0; world->options.shared_share > 0 && i < SIM_LOCKS_MAX; i++)
        if (draw_share(&actor->dice, world->options.shared_share)) shared |= 1u << i;
    return is_idle ? shared & actor->names : actor->shared;
}

/* Is it a fair one? Debts of the last time may be of another kind. */
static bool draw_fair(const struct sim_world *world, struct sim_actor *actor)
{
    const bool is_fair = draw_share(&actor->dice, world->options.fair_share);
    return redlock_idle(cluster_lock(world->cluster, actor->client, actor->lock)) ? is_fair
                                                                                  : actor->fair;
}

static const struct redlock_kind *draw_kind(const struct sim_world *world, struct sim_actor *actor)
{
    const bool is_fair = world->options.fair_share > 0 && draw_fair(world, actor);
    if (actor->permits > 0) return &redlock_permits;
    if (is_fair)            return &redlock_fair;
    return actor->shared != 0 ? &redlock_shared : &redlock_plain;
}

/* Does the engine wait, without having tried? */
static bool is_yielding(const struct sim_world *world, const struct sim_actor *actor)
{
    const struct redlock_lock *lock = cluster_lock(world->cluster, actor->client, actor->lock);
    return redlock_lock_status(lock) == REDLOCK_PENDING &&
           redlock_attempt_status(lock) == REDLOCK_TAKEN &&
           lock->round.started_at !=
               cluster_client_now(world->cluster, actor->client);
}

static void acquire(struct sim_world *world, struct sim_actor *actor)
{
    const char *name = sim_resource(actor->lock);
    const uint32_t ttl_ms = draw_ttl(world, &actor->dice), wait_ms = draw_wait(world, &actor->dice);
    struct redlock_name list[SIM_LOCKS_MAX];
    if (actor->has_changed &&
        !redlock_idle(cluster_lock(world->cluster, actor->client, actor->lock)))
        return;
    actor->has_changed = false;
    actor->permits = world->options.permits;
    actor->names = actor->permits > 0 ? 1u << actor->lock : draw_names(world, actor);
    actor->shared = draw_shared(world, actor);
    const unsigned count = list_names(actor->names, actor->shared, list);
    struct redlock_request request = {
        .resource = name,
        .resource_size = strlen(name),
        .ttl_ms = ttl_ms,
        .wait_ms = wait_ms,
        .set = count > 1 ? list : NULL,
        .set_count = count,
        .permits = (uint8_t)actor->permits,
        .ticket = draw_share(&actor->dice, world->options.ticket_share),
        .min_validity_ms = sim_one_in(&actor->dice, 4) ? ttl_ms / 4 : 0,
        .extension_limit =
            sim_one_in(&actor->dice, 4) ? 1 + (uint32_t)sim_below(&actor->dice, 3) : 0,
    };
    request.kind = draw_kind(world, actor);
    if (actor->owed > 0) sim_count(world, SIM_PATH_REUSED_WITH_DEBTS);
    if (cluster_lock(world->cluster, actor->client, actor->lock)->is_adopted)
        actor->life++;      /* S17: a lock that was adopted in vain is left. */
    note_request(world, actor, &request);
    const enum redlock_status status =
        cluster_acquire(world->cluster, actor->client, actor->lock, &request);
    if (status == REDLOCK_BAD_STATE && actor->maybe_held)
        release(world, actor);
    else if (status != REDLOCK_OK)
        sim_break(world, "client %u may not acquire %s: %s", actor->client, name,
                  redlock_status_text(status));
    else if (is_yielding(world, actor))
        sim_count(world, SIM_PATH_YIELDED);
    actor->maybe_held = false;
}

/* S11: a TTL that the guard does not cover is refused. */
static void ask_for_too_much(struct sim_world *world, struct sim_actor *actor)
{
    const char *name = sim_resource(actor->lock);
    const struct redlock_request request = { .resource = name, .resource_size = strlen(name),
                                             .ttl_ms = world->options.guard_ms + 1 };
    /* Needs no name any more. */
    const bool is_idle = redlock_idle(cluster_lock(world->cluster, actor->client, actor->lock));
    if (world->options.guard_ms == 0 || !is_idle) return;
    const enum redlock_status status =
        cluster_acquire(world->cluster, actor->client, actor->lock, &request);
    sim_demand(world, SIM_RULE_S11_TTL, status == REDLOCK_TTL_OVER_GUARD,
               "S11: client %u gets %s for longer than the guard", actor->client, name);
}

/* S9: a lock that has ended is not extended. */
static void extend_too_late(struct sim_world *world, struct sim_actor *actor)
{
    if (actor->maybe_held) return;
    const enum redlock_status status =
        cluster_extend(world->cluster, actor->client, actor->lock, world->options.ttl_max_ms);
    sim_demand(world, SIM_RULE_S9_ENDED, status != REDLOCK_OK,
               "S9: client %u may extend %s, which it does not hold", actor->client,
               sim_resource(actor->lock));
}

/* All of its nodes may run no scripts, and be owed another TTL (see redlock_start_extend). */
static bool asks_nobody(const struct sim_world *world, const struct sim_actor *actor)
{
    const struct redlock_lock *lock = cluster_lock(world->cluster, actor->client, actor->lock);
    for (unsigned k = 0; k < world->options.node_count; k++)
        if (redlock_vote_of(lock, k) != REDLOCK_VOTE_NOT_ASKED) return false;
    return true;
}

static void extend(struct sim_world *world, struct sim_actor *actor)
{
    const uint32_t ttl_ms = draw_ttl(world, &actor->dice);
    char token[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(cluster_lock(world->cluster, actor->client, actor->lock), token);
    sim_token_of(world, token, actor->client)->is_adopted |= actor->adopted;
    actor->deed = SIM_EXTENDS;
    actor->keep_is_safe = false;    /* It may not be safe with that TTL. */
    const enum redlock_status status =
        cluster_extend(world->cluster, actor->client, actor->lock, ttl_ms);
    if (status == REDLOCK_EXTENSION_LIMIT) sim_count(world, SIM_PATH_EXTENSION_LIMIT);
    if (status == REDLOCK_OK && !asks_nobody(world, actor)) actor->ttl_ms = ttl_ms;
}

/* A reader of one resource becomes its writer, and the other way round. */
static void change_mode(struct sim_world *world, struct sim_actor *actor)
{
    const bool is_reader = actor->shared != 0;
    if (actor->names & (actor->names - 1)) return;
    actor->deed = is_reader ? SIM_UPGRADES : SIM_DOWNGRADES;
    actor->keep_is_safe = false;
    actor->has_changed = true;
    sim_kinds_begins_change(world, actor, false);       /* It goes from its token to another one. */
    (void)(is_reader ? cluster_upgrade(world->cluster, actor->client, actor->lock)
                     : cluster_downgrade(world->cluster, actor->client, actor->lock));
    sim_kinds_begins_change(world, actor, true);
    sim_kinds_note_role(world, actor);
}

static bool is_pending(const struct sim_world *world, const struct sim_actor *actor)
{
    return redlock_lock_status(cluster_lock(world->cluster, actor->client, actor->lock)) ==
           REDLOCK_PENDING;
}

/* Does an operation that is possible at any moment, moving the lock to other memory and back. */
static void move(struct sim_world *world, struct sim_actor *actor)
{
    if (is_pending(world, actor)) sim_count(world, SIM_PATH_MOVED_IN_FLIGHT);
    cluster_move(world->cluster, actor->client, SPARE_LOCK, actor->lock);
    cluster_move(world->cluster, actor->client, actor->lock, SPARE_LOCK);
}

static void forget(struct sim_world *world, struct sim_actor *actor)
{
    if (is_pending(world, actor)) sim_count(world, SIM_PATH_FORGOTTEN_IN_FLIGHT);
    sim_periods_forget(world, actor);
    cluster_forget(world->cluster, actor->client, actor->lock);
    redlock_lock_init(cluster_lock(world->cluster, actor->client, actor->lock));
    sim_actor_forgets(world, actor);
}

/* A client that has crashed, or lost its memory of the lock, still knows the token that it had. */
static void adopt(struct sim_world *world, struct sim_actor *actor)
{
    struct redlock_name list[SIM_LOCKS_MAX];
    const unsigned count = list_names(actor->token_names, actor->token_shared, list);
    const struct redlock_kind *kind = actor->token_shared ? &redlock_shared : &redlock_plain;
    if (world->options.permits > 0 || world->options.fair_share > 0 ||
        !redlock_idle(cluster_lock(world->cluster, actor->client, actor->lock)))
        return;     /* Its names are still needed. */
    const enum redlock_status status =
        count > 1 ? cluster_adopt_set(world->cluster, actor->client, actor->lock, kind, list, count,
                                      actor->token)
                  : cluster_adopt_as(world->cluster, actor->client, actor->lock, kind,
                                     sim_resource(actor->lock), actor->token);
    if (status != REDLOCK_OK) return;
    actor->names = actor->token_names;
    actor->shared = actor->token_shared;
    actor->adopted = actor->maybe_held = true;
    actor->has_ticket = false;
    actor->ticket = 0;
    actor->extension_limit = 0;
    extend(world, actor);
}

static void cancel(struct sim_world *world, struct sim_actor *actor)
{
    cluster_cancel(world->cluster, actor->client, actor->lock);
}

static void act_pending(struct sim_world *world, struct sim_actor *actor)
{
    const uint64_t die = sim_below(&actor->dice, 40);
    if (die < 2)
        move(world, actor);
    else if (die == 2)
        forget(world, actor);
    else if (die < 6)
        cancel(world, actor);
    else if (die < 12 && actor->deed == SIM_EXTENDS) {
        sim_count(world, SIM_PATH_RELEASE_IN_EXTENSION);
        release(world, actor);
    }
}

/* It is kept with a limit of time, or without. */
static void keep(struct sim_world *world, struct sim_actor *actor)
{
    const bool is_limited = sim_one_in(&actor->dice, 3);
    const uint32_t hold_ms =
        1 + (uint32_t)sim_below(&actor->dice, 4 * (uint64_t)world->options.ttl_max_ms);
    sim_holding_begins(world, actor, is_limited ? hold_ms : 0);
    if (cluster_keep(world->cluster, actor->client, actor->lock, is_limited ? hold_ms : 0) !=
        REDLOCK_OK)
        sim_break(world, "client %u may not keep %s, which it holds", actor->client,
                  sim_resource(actor->lock));
}

static void act_held(struct sim_world *world, struct sim_actor *actor)
{
    /* A kept lock is held for longer. */
    const uint64_t die = sim_below(&actor->dice, actor->is_kept ? 80 : 40);
    sim_holding_writes(world, actor);
    if (sim_periods_act(world, actor)) return;
    if (!actor->is_kept && draw_share(&actor->dice, world->options.keep_share))
        keep(world, actor);
    else if (die < 14)
        release(world, actor);
    else if (die < 28)
        extend(world, actor);
    else if (die == 28)
        forget(world, actor);
    else if (die == 29)
        move(world, actor);
    else if (die < 36 && world->options.shared_share > 0)
        change_mode(world, actor);
}

static void act_idle(struct sim_world *world, struct sim_actor *actor)
{
    const uint64_t die = sim_below(&actor->dice, 40);
    if (die == 0 && actor->token[0] != '\0')
        adopt(world, actor);
    else if (die == 1)
        forget(world, actor);
    else if (die == 2)
        release(world, actor);
    else if (die == 3)
        ask_for_too_much(world, actor);
    else if (die == 4)
        extend_too_late(world, actor);
    else
        acquire(world, actor);
}

static bool is_awake(const struct sim_world *world, const struct sim_actor *actor)
{
    const struct cluster_client *client = &world->cluster->clients[actor->client];
    return !client->frozen && !client->dead;
}

/* Some deeds follow at once, so that they meet earlier ones still under way. */
static uint64_t draw_pause(const struct sim_world *world, struct sim_dice *dice)
{
    if (sim_one_in(dice, 4)) return 1 + sim_below(dice, 2 * world->options.delay_us + 1);
    return 1 + sim_below(dice, 2 * (uint64_t)world->options.think_us);
}

static void act(struct sim_world *world, struct sim_actor *actor)
{
    actor->next_at = world->cluster->now_us + draw_pause(world, &actor->dice);
    if (!is_awake(world, actor)) return;
    if (is_pending(world, actor))
        act_pending(world, actor);
    else if (cluster_valid_us(world->cluster, actor->client, actor->lock) > 0)
        act_held(world, actor);
    else
        act_idle(world, actor);
}

/* ---- Under faults ---- */

/* The next thing to happen is an actor's deed, or a fault's begin or end. */
struct next {
    uint64_t at;
    struct sim_actor *actor;
    unsigned fault;
    bool ends;
};

static void consider_fault(struct sim_world *world, struct next *next, unsigned i)
{
    const struct sim_fault *fault = &world->faults[i];
    const uint64_t begins_at = world->begun_us + fault->at_us;
    const uint64_t at = fault->is_on ? begins_at + fault->lasts_us : begins_at;
    if (world->fault_masked[i] || fault->is_past || at >= next->at) return;
    *next = (struct next){ at, NULL, i, fault->is_on };
}

static struct next find_next(struct sim_world *world, uint64_t until_us)
{
    struct next next = { until_us, NULL, SIM_FAULTS_MAX, false };
    for (unsigned i = 0; i < world->options.fault_count; i++) consider_fault(world, &next, i);
    for (unsigned i = 0; i < world->actor_count; i++)
        if (!world->actors[i].masked && world->actors[i].next_at < next.at)
            next = (struct next){
                world->actors[i].next_at, &world->actors[i], SIM_FAULTS_MAX, false
            };
    return next;
}

static void run_until(struct sim_world *world, uint64_t until_us)
{
    while (cluster_step(world->cluster, until_us)) { }
}

static void save_in_time(struct sim_world *world)
{
    if (world->cluster->now_us >= world->saved_at + world->options.save_every_us)
        sim_save_memories(world);
}

static void live(struct sim_world *world)
{
    const uint64_t end_us = world->begun_us + world->options.duration_us;
    const bool saves = sim_fault_is_in(SIM_FAULT_RESTART_BACK, world->options.class) ||
                       sim_fault_is_in(SIM_FAULT_FAILOVER, world->options.class);
    while (!cluster_is_broken(world->cluster) && world->cluster->now_us < end_us) {
        const struct next next = find_next(world, end_us);
        run_until(world, next.at);
        if (cluster_is_broken(world->cluster)) return;
        if (saves) save_in_time(world);
        if (next.actor)
            act(world, next.actor);
        else if (next.fault < SIM_FAULTS_MAX && next.ends)
            sim_fault_end(world, next.fault);
        else if (next.fault < SIM_FAULTS_MAX)
            sim_fault_begin(world, next.fault);
    }
}

/* ---- When all faults are over ---- */

static void end_faults(struct sim_world *world)
{
    struct cluster *cluster = world->cluster;
    for (unsigned i = 0; i < world->options.fault_count; i++)
        if (world->faults[i].is_on) sim_fault_end(world, i);
    cluster_heal_all(cluster);
    if (sim_class_has_slots(world->options.class)) sim_slots_rest(world);
}

static bool is_at_rest(struct sim_world *world)
{
    bool rests = true;
    for (unsigned i = 0; i < world->actor_count; i++) {
        struct sim_actor *actor = &world->actors[i];
        if (is_pending(world, actor))
            rests = false;
        else if (cluster_valid_us(world->cluster, actor->client, actor->lock) > 0)
            release(world, actor), rests = false;
    }
    return rests;
}

/* The longest that a key, an entry among the waiters, a guard, or a pause between
 * connections may last. */
static uint64_t heal_us(const struct sim_options *options)
{
    return (uint64_t)(2 * options->ttl_max_ms + 2 * options->guard_ms +
                      20 * options->node_timeout_ms + 4 * options->skew_ms) *
               MS +
           20 * SECOND + 70 * SECOND + SIM_CLOCK_BACK_US;
}

static void must_come_to_rest(struct sim_world *world)
{
    struct cluster *cluster = world->cluster;
    const uint64_t until_us =
        cluster->now_us + heal_us(&world->options) + (uint64_t)world->options.pace * 60 * SECOND;
    while (!is_at_rest(world) && !cluster_is_broken(cluster)) {
        sim_demand(world, SIM_RULE_LIVENESS, cluster->now_us < until_us,
                   "liveness: an operation does not end although all faults are over");
        run_until(world, cluster->now_us + CALM_STEP_US * world->options.pace);
    }
}

static void must_leave_nothing(struct sim_world *world)
{
    struct cluster *cluster = world->cluster;
    /* A lock whose validity has ended was not yet released. */
    for (unsigned i = 0; i < world->actor_count; i++) release(world, &world->actors[i]);
    run_until(world, cluster->now_us + heal_us(&world->options));
    for (unsigned i = 0; i < world->actor_count; i++) {
        const struct sim_actor *actor = &world->actors[i];
        sim_demand(world, SIM_RULE_IDLE,
                   redlock_idle(cluster_lock(cluster, actor->client, actor->lock)),
                   "client %u: the engine still knows something of %s", actor->client,
                   sim_resource(actor->lock));
    }
    sim_holding_must_leave_no_key(world);
    sim_demand(world, SIM_RULE_FEW_CONNECTIONS,
               cluster->connection_count <= (size_t)world->options.client_count *
                                                world->options.node_count * CONNECTIONS_PER_LINK,
               "%u connections are left", (unsigned)cluster->connection_count);
}

/* One attempt is enough. A ticket may take some, since the clock may be behind the last holder's,
 * whose release may be under way. */
static void must_work_again(struct sim_world *world)
{
    struct cluster *cluster = world->cluster;
    const bool ticket = world->options.ticket_share > 0;
    /* A client may still be connected to a shard that has the slot no longer. */
    const uint32_t guard_ms = sim_class_has_slots(world->options.class)
                                  ? world->options.guard_ms + 2 * world->options.skew_ms
                                  : 0;
    const struct redlock_request request = {
        .resource = sim_resource(0), .resource_size = strlen(sim_resource(0)),
        .ttl_ms = world->options.ttl_max_ms, .permits = (uint8_t)world->options.permits,
        .kind = world->options.permits > 0 ? &redlock_permits : NULL,
        .wait_ms = guard_ms + (ticket || guard_ms > 0 ? WORKS_AGAIN_MS : 0), .ticket = ticket
    };
    for (unsigned c = 0; c < world->options.client_count && !cluster_is_broken(cluster); c++) {
        struct sim_actor *actor = sim_actor_of(world, c, 0);
        note_request(world, actor, &request);
        actor->names = 1;
        actor->shared = 0;
        (void)cluster_acquire(cluster, c, 0, &request);
        for (uint32_t ms = 0; ms <= request.wait_ms; ms += CLUSTER_PATIENCE_MS)
            (void)cluster_run_until_done(cluster, c, 0);
        sim_demand(world, SIM_RULE_WORKS_AGAIN, cluster_valid_us(cluster, c, 0) > 0,
                   "client %u cannot acquire although all is well: %s", c,
                   redlock_status_text(redlock_lock_status(cluster_lock(cluster, c, 0))));
        release(world, actor);
        (void)cluster_run_until_done(cluster, c, 0);
        run_until(world,
                  cluster->now_us + 4 * (world->options.delay_us + world->options.jitter_us) + MS);
    }
}

static void calm_down(struct sim_world *world)
{
    end_faults(world);
    must_come_to_rest(world);
    must_leave_nothing(world);
    must_work_again(world);
}

/* ---- Beginning and end ---- */

static struct redlock_config config_of(const struct sim_options *options)
{
    struct redlock_config config;
    redlock_config_init(&config);
    config.guard_ms = options->guard_ms;
    config.drift_ppm = options->drift_ppm;
    config.node_timeout_ms = options->node_timeout_ms;
    config.retry_ms = options->retry_ms;
    config.receive_size = options->receive_size;
    config.pipeline = options->in_pieces ? REDLOCK_PIPELINE_MIN : REDLOCK_PIPELINE;
    config.ticket_skew_ms = options->skew_ms;
    config.ticket_life_ms = options->ticket_life_ms;
    config.keep_percent = (uint8_t)options->keep_percent;
    config.wake_ups = options->wake_ups;
    config.silent = options->silent;
    return config;
}

/* Up to the spread between any two. */
static int64_t draw_wall_skew(struct cluster *cluster, const struct sim_options *options)
{
    const uint64_t spread_us = (uint64_t)options->wall_spread_ms * MS;
    return (int64_t)cluster_below(cluster, spread_us + 1) - (int64_t)(spread_us / 2);
}

static void set_walls(struct sim_world *world)
{
    struct cluster *cluster = world->cluster;
    for (unsigned c = 0; c < cluster->client_count; c++) {
        world->wall_skew_us[c] = draw_wall_skew(cluster, &world->options);
        cluster_set_client_wall(cluster, c, world->wall_skew_us[c]);
    }
    for (unsigned k = 0; k < cluster->node_count; k++) {
        cluster->hosts[k].node.wall_offset_us += draw_wall_skew(cluster, &world->options);
        cluster->hosts[k].node.noperm = sim_noperm(&world->options, k);
        cluster->hosts[k].node.newer = sim_newer(&world->options, k);
    }
}

static void shape_network(struct sim_world *world)
{
    const struct sim_options *options = &world->options;
    for (unsigned c = 0; c < options->client_count; c++)
        for (unsigned k = 0; k < options->node_count; k++) {
            struct cluster_link *link = &world->cluster->links[c][k];
            link->delay_us = options->delay_us;
            link->jitter_us = options->jitter_us;
            link->send_max = link->receive_max =
                options->in_pieces ? 1 + (size_t)cluster_below(world->cluster, 40) : 0;
        }
}

static void place_actors(struct sim_world *world, const struct sim_plan *plan)
{
    world->actor_count = world->options.client_count * world->options.lock_count;
    for (unsigned i = 0; i < world->actor_count; i++) {
        struct sim_actor *actor = &world->actors[i];
        actor->client = i / world->options.lock_count;
        actor->lock = i % world->options.lock_count;
        actor->dice.state = plan->seed * 0xD1342543DE82EF95u + ACTORS_SALT + i;
        actor->masked = plan->actor_masked[i];
        actor->status = REDLOCK_LOST;
        actor->next_at =
            world->begun_us + plan->quiet_us + sim_below(&actor->dice, world->options.think_us);
    }
}

static void call_witness(struct sim_world *world)
{
    char name[32];
    snprintf(name, sizeof name, "%llu/%u", (unsigned long long)world->options.seed,
             (unsigned)world->options.class);
    witness_begin(world->cluster, name);
}

static void begin(struct sim_world *world, const struct sim_plan *plan)
{
    const struct redlock_config config = config_of(&world->options);
    struct cluster *cluster = cluster_new(world->options.node_count, world->options.client_count,
                                          &config, plan->seed + plan->salt * SIM_SALT_STEP);
    world->cluster = cluster;
    world->begun_us = cluster->now_us;
    cluster->step_max = SIM_STEPS_MAX;
    cluster->restless = world->options.restless;
    cluster->no_promise = !world->options.keeps_memory;
    cluster->no_exclusion = sim_class_is_about_tickets(world->options.class) ||
                            sim_class_is_about_periods(world->options.class);
    for (unsigned k = 0; k < cluster->node_count && world->options.class == SIM_CLASS_NAMELESS;
         k++) {
        cluster->hosts[k].node.process_id = 1 + k;
        cluster->hosts[k].node.hides_replid = world->options.hides_replid;
    }
    for (unsigned c = 0; c < cluster->client_count; c++) {
        cluster->clients[c].lag_us = world->options.lag_us;
        cluster->clients[c].ticks_first = world->options.ticks_first;
        cluster->clients[c].keeps_done = true;
        cluster_need_locks(cluster, c, SIM_LOCKS_MAX + 1);
    }
    if (sim_class_has_slots(world->options.class)) cluster_declare_managed(cluster);
    if (sim_class_is_durable(world->options.class))
        cluster_declare_durable(cluster, (uint16_t)((1u << cluster->node_count) - 1));
    shape_network(world);
    set_walls(world);
    place_actors(world, plan);
    memcpy(world->fault_masked, plan->fault_masked, sizeof world->fault_masked);
    sim_schedule(world);
    cluster->observer = (struct cluster_observer){
        world, sim_saw_command, sim_saw_call, NULL, NULL
    };
    if (plan->has_witness) call_witness(world);
}

/* Faults that are not promised to be safe break the exclusion or the order of tickets,
 * and nothing else. */
static bool is_expected(const struct sim_world *world)
{
    const char *broken = world->cluster->broken;
    const bool is_order = strncmp(broken, "S15: ", 5) == 0,
               is_exclusion = strncmp(broken, "exclusion: ", 11) == 0;
    if (sim_class_is_promised(world->options.class)) return false;
    if (sim_class_is_about_periods(world->options.class)) return strncmp(broken, "S18: ", 5) == 0;
    return is_order || (is_exclusion && !sim_class_is_about_tickets(world->options.class));
}

static void conclude(struct sim_world *world)
{
    struct sim_outcome *outcome = world->outcome;
    struct sim_totals *totals = world->totals;
    const bool is_broken = cluster_is_broken(world->cluster);
    sim_mix(world, world->cluster->now_us);
    outcome->options = world->options;
    outcome->hash = world->hash;
    outcome->ended_us = world->cluster->now_us - world->begun_us;
    outcome->fault_count = world->options.fault_count;
    outcome->actor_count = world->actor_count;
    memcpy(outcome->broken, world->cluster->broken, sizeof outcome->broken);
    totals->worlds++;
    totals->simulated_us += outcome->ended_us;
    totals->steps += world->cluster->step_count;
    totals->judged[SIM_RULE_EXCLUSION] += world->cluster->exclusion_count;
    totals->judged[SIM_RULE_PROMISE] += world->cluster->promise_count;
    totals->judged[SIM_RULE_INVARIANTS] += world->cluster->invariant_count;
    totals->unexpected += is_broken && !is_expected(world);
    if (is_broken && totals->violations++ == 0) totals->first_seed = world->options.seed;
}

void sim_run(const struct sim_plan *plan, struct sim_totals *totals, struct sim_outcome *outcome)
{
    static struct sim_world world; /* Too large for the stack; one at a time. */
    memset(outcome, 0, sizeof *outcome);
    world = (struct sim_world){
        .options = sim_options_of(plan->seed, plan->class), .hash = 14695981039346656037u,
        .tells = plan->tells, .totals = totals, .outcome = outcome
    };
    has_braces = sim_class_has_slots(world.options.class);
    begin(&world, plan);
    live(&world);
    if (!cluster_is_broken(world.cluster) && sim_class_is_promised(world.options.class))
        calm_down(&world);
    conclude(&world);
    witness_end(world.cluster->witness);
    cluster_free(world.cluster);
    free(world.tokens);
    free(world.runs);
}

void sim_totals_add(struct sim_totals *sum, const struct sim_totals *part)
{
    const bool is_earlier =
        sum->violations == 0 || (part->violations > 0 && part->first_seed < sum->first_seed);
    const uint64_t first = is_earlier ? part->first_seed : sum->first_seed;
    const uint64_t *from = (const uint64_t *)(const void *)part;
    uint64_t *to = (uint64_t *)(void *)sum;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) to[i] += from[i];
    sum->first_seed = first;
}
