/* Rules that holding on adds, for tickets (S15) and what a resource does with them, for sets, the
 * keeper, and waiters. The checks look from outside, as in sim_rules.c. */
#include "sim_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MS = 1000,
    /* An extension may have to wait for other commands' answers, and for EVAL. */
    SAFE_HOPS = 12,
    SAFE_PERCENT = 60,          /* If it begins later, the drift leaves nothing of a short TTL. */
    NOBODY = UINT8_MAX
};

static const struct redlock_lock *lock_of(const struct sim_world *world,
                                          const struct sim_actor *actor)
{
    return &world->cluster->clients[actor->client].locks[actor->lock].lock;
}

static uint64_t now_of(const struct sim_world *world, unsigned client)
{
    return cluster_client_now(world->cluster, client);
}

static bool has(unsigned set, unsigned number)
{
    return set >> number & 1;
}

static const struct model_key *key_of(struct sim_world *world, unsigned node, const char *name)
{
    return model_find(&world->cluster->hosts[node].node, 0, name, strlen(name),
                      cluster_node_now(world->cluster, node));
}

const struct model_key *sim_key_beside(struct sim_world *world, unsigned node, unsigned resource,
                                       const char *suffix)
{
    char name[32];
    const char *const first = sim_resource(resource);
    const size_t size = strlen(first);
    memcpy(name, first, size);
    strcpy(name + size, suffix);
    return key_of(world, node, name);
}

const struct model_key *sim_slot_key(struct sim_world *world, unsigned node, unsigned resource,
                                     unsigned slot)
{
    static const char *const suffixes[] = { "", ":1", ":2", ":3", ":4" };
    _Static_assert(sizeof suffixes / sizeof *suffixes == SIM_PERMITS_MAX + 1, "one for each slot");
    return sim_key_beside(world, node, resource, suffixes[slot]);
}

/* ---- S15: tickets ---- */

/* Each is larger than the ticket of any earlier holder of one of the resources. Quorums meet in a
 * node that granted both, and granted the later one after the earlier. The order of holding is
 * therefore the same, also where attempts overlapped. A reader's is at least as large as every
 * earlier writer's, and smaller than every later writer's. Each slot of permits has tickets
 * of its own. */
static void check_ticket(struct sim_world *world, const struct sim_actor *actor, unsigned resource)
{
    const bool is_reader = has(actor->shared, resource);
    struct sim_store *store = sim_store_of(world, actor, resource);
    const uint64_t least =
        is_reader ? store->ticket
                  : (store->ticket > store->reader ? store->ticket : store->reader) + 1;
    if (store->ticket > 0 || store->reader > 0)
        sim_demand(world, SIM_RULE_S15_ORDER, actor->ticket >= least,
                   "S15: client %u wins %s with the ticket %llu after one with %llu", actor->client,
                   sim_resource(resource),
                   (unsigned long long)actor->ticket, (unsigned long long)least);
    if (!is_reader)                         store->ticket = actor->ticket;
    else if (actor->ticket > store->reader) store->reader = actor->ticket;
}

/* Two locks of one client are as much in each other's way as two clients' locks. */
static void check_alone(struct sim_world *world, const struct sim_actor *actor)
{
    for (unsigned i = 0; i < world->options.lock_count; i++) {
        const struct sim_actor *other = sim_actor_of(world, actor->client, i);
        if (other != actor && sim_clash(other, actor))
            sim_demand(world, SIM_RULE_EXCLUSION_ALONE,
                       cluster_valid_us(world->cluster, actor->client, i) == 0,
                       "exclusion: client %u wins %s with two locks", actor->client,
                       sim_resource(actor->lock));
    }
}

void sim_holding_saw_won(struct sim_world *world, struct sim_actor *actor)
{
    actor->ticket = redlock_ticket(lock_of(world, actor));
    actor->holding = ++world->win_count;
    sim_demand(world, SIM_RULE_S15_GIVEN, (actor->ticket > 0) == actor->has_ticket,
               "S15: client %u wins %s %s a ticket", actor->client, sim_resource(actor->lock),
               actor->has_ticket ? "without" : "with");
    for (unsigned i = 0; actor->has_ticket && i < SIM_LOCKS_MAX; i++)
        if (has(actor->names, i)) check_ticket(world, actor, i);
    if (!world->cluster->no_exclusion) check_alone(world, actor);
    if (actor->shared) sim_kinds_saw_reader(world, actor);
    if (actor->permits > 0) sim_kinds_saw_permit(world, actor);
    if (world->options.fair_share > 0) sim_kinds_saw_order(world, actor);
    if (actor->has_ticket) sim_count(world, SIM_PATH_WON_WITH_TICKET);
    if (actor->names & (actor->names - 1)) sim_count(world, SIM_PATH_WON_SET);
    if (actor->is_corrected) sim_count(world, SIM_PATH_WON_CORRECTED);
    if (actor->came_woken) sim_count(world, SIM_PATH_WON_WOKEN);
    sim_holding_writes(world, actor);
}

void sim_holding_saw_loss(struct sim_world *world, struct sim_actor *actor)
{
    if (actor->came_woken) sim_count(world, SIM_PATH_WOKEN_IN_VAIN);
    actor->came_woken = false;
}

/* Before it began the last one was lost. */
void sim_holding_saw_attempt(struct sim_world *world, struct sim_actor *actor)
{
    sim_holding_saw_loss(world, actor);
    actor->came_woken = actor->is_woken;
    actor->is_woken = false;
}

/* How many of the resources are taken on the node? (After all that came in one
 * piece was executed.) */
static unsigned count_taken(struct sim_world *world, unsigned node, const struct model_call *call)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < call->key_count; i++)
        taken += key_of(world, node, call->keys[i]) != NULL;
    return taken;
}

/* No node remembers a ticket that is further ahead of its own clock than clocks may differ,
 * whoever's clock is wrong. */
static void check_ahead(struct sim_world *world, unsigned client, unsigned node,
                        const struct model_call *call)
{
    const uint64_t wall_us =
        call->at_us + (uint64_t)world->cluster->hosts[node].node.wall_offset_us;
    if (call->ticket > 0)
        sim_demand(world, SIM_RULE_S15_AHEAD,
                   call->ticket <= wall_us + (uint64_t)world->options.skew_ms * MS,
                   "S15: node %u takes a ticket of client %u that is too far ahead", node, client);
}

void sim_holding_saw_acquire(struct sim_world *world, const struct cluster_connection *connection,
                             const struct model_call *call, struct sim_token *token)
{
    const unsigned k = connection->node, taken = count_taken(world, k, call);
    if (call->did) {
        check_ahead(world, connection->client, k, call);
        return;
    }
    if (call->key_count > 1 && taken == 1) sim_count(world, SIM_PATH_SET_LOST_BY_ONE);
    if (!call->outdated) return;
    token->outdated |= (uint8_t)(1 << k);
    sim_count(world, SIM_PATH_TICKET_OUTDATED);
}

void sim_holding_saw_restore(struct sim_world *world, const struct cluster_connection *connection,
                             const struct model_call *call)
{
    /* Otherwise it may be the first SET, which comes late. */
    if (!connection->client_left && !connection->ended)
        sim_demand(world, SIM_RULE_S9_RESTORES, !call->outdated,
                   "S9: node %u refuses client %u its own key because of a counter",
                   connection->node, connection->client);
    if (call->raised) check_ahead(world, connection->client, connection->node, call);
    if (call->did && !call->raised) sim_count(world, SIM_PATH_RESTORED_TICKET);
}

/* ---- The resource's side of tickets ---- */

static void write_to(struct sim_world *world, const struct sim_actor *actor, unsigned resource)
{
    struct sim_store *store = sim_store_of(world, actor, resource);
    const bool holds = cluster_valid_us(world->cluster, actor->client, actor->lock) > 0;
    if (!redlock_fence_admit(&store->fence, actor->ticket, false)) {
        sim_count(world, SIM_PATH_LATE_WRITE_REFUSED);
        sim_demand(world, SIM_RULE_S15_REFUSED, !holds, "S15: %s refuses client %u, which holds it",
                   sim_resource(resource), actor->client);
        return;
    }
    if (store->holding > 0 || store->reading > 0)
        sim_demand(world, SIM_RULE_S15_ADMITTED,
                   actor->holding >= store->holding && actor->holding >= store->reading,
                   "S15: %s admits client %u, although a later holder has written to it or read it",
                   sim_resource(resource), actor->client);
    store->holding = actor->holding;
}

/* A reader keeps no other one out. */
static void read_from(struct sim_world *world, const struct sim_actor *actor, unsigned resource)
{
    struct sim_store *store = sim_store_of(world, actor, resource);
    const bool holds = cluster_valid_us(world->cluster, actor->client, actor->lock) > 0;
    if (!redlock_fence_admit(&store->fence, actor->ticket, true)) {
        sim_demand(world, SIM_RULE_S15_REFUSED, !holds, "S15: %s refuses client %u, which reads it",
                   sim_resource(resource), actor->client);
        return;
    }
    if (store->holding > 0)
        sim_demand(world, SIM_RULE_S15_ADMITTED, actor->holding >= store->holding,
                   "S15: %s admits client %u, although a later holder has written to it",
                   sim_resource(resource),
                   actor->client);
    if (actor->holding > store->reading) store->reading = actor->holding;
}

void sim_holding_writes(struct sim_world *world, struct sim_actor *actor)
{
    for (unsigned i = 0; actor->ticket > 0 && i < SIM_LOCKS_MAX; i++)
        if (has(actor->names, i)) (has(actor->shared, i) ? read_from : write_to)(world, actor, i);
}

/* ---- The keeper ---- */

/* Do all nodes answer, and soon enough? A kept lock is then not lost. */
static bool answers_in_time(const struct sim_world *world, const struct sim_actor *actor)
{
    const struct sim_options *o = &world->options;
    const bool all_well = o->class == SIM_CLASS_NONE || o->class == SIM_CLASS_SCRIPTS_FLUSHED ||
                          o->class == SIM_CLASS_WALL_AHEAD;
    const uint64_t ttl_us = (uint64_t)actor->ttl_ms * MS;
    const uint64_t needed_us = SAFE_HOPS * (o->delay_us + o->jitter_us) + 2 * (uint64_t)o->lag_us;
    const uint64_t lost_us =
        ttl_us / 1000 * o->drift_ppm / 1000 + 3 * MS + ttl_us / 100 * o->keep_percent;
    return all_well && o->keep_percent <= SAFE_PERCENT && ttl_us > lost_us + needed_us &&
           cluster_valid_us(world->cluster, actor->client, actor->lock) > needed_us;
}

void sim_holding_begins(struct sim_world *world, struct sim_actor *actor, uint32_t hold_ms)
{
    actor->is_kept = true;
    actor->keep_until = hold_ms > 0 ? now_of(world, actor->client) + (uint64_t)hold_ms * MS : 0;
    actor->keep_is_safe =
        hold_ms == 0 && actor->extension_limit == 0 && answers_in_time(world, actor);
    actor->ended_tick = UINT64_MAX;
}

void sim_holding_ends(struct sim_actor *actor)
{
    actor->is_kept = actor->keep_is_safe = false;
}

/* S13 */
void sim_holding_saw_extended(struct sim_world *world, const struct sim_actor *actor,
                              uint64_t before, uint64_t until)
{
    sim_count(world, SIM_PATH_KEPT);
    sim_demand(world, SIM_RULE_S13_TOLD, actor->is_kept,
               "S13: client %u extends %s although nobody told it to", actor->client,
               sim_resource(actor->lock));
    if (actor->keep_until > 0)
        sim_demand(world, SIM_RULE_S13_TIME, until <= before || until <= actor->keep_until,
                   "S13: client %u keeps %s for longer than it may", actor->client,
                   sim_resource(actor->lock));
}

/* Is said what has become of it, when nobody asked? */
static void saw_news(struct sim_world *world, struct sim_actor *actor, enum redlock_status status)
{
    if (status == REDLOCK_TAKEN) sim_count(world, SIM_PATH_EXTENSION_TAKEN);
    if (status == REDLOCK_NO_QUORUM) sim_count(world, SIM_PATH_EXTENSION_NO_QUORUM);
    switch (status) {
    case REDLOCK_OK:              sim_count(world, SIM_PATH_KEEPER_RECOVERED); break;
    case REDLOCK_EXTENSION_LIMIT: sim_count(world, SIM_PATH_KEEPER_LIMIT); break;
    case REDLOCK_LOST:            sim_count(world, SIM_PATH_KEEPER_LOST); break;
    default:                      sim_count(world, SIM_PATH_KEEPER_FAILED); break;
    }
    sim_mix(world, status);
    sim_tell(world, "client %u keeps %s: %s", actor->client, sim_resource(actor->lock),
             redlock_status_text(status));
    if (status == REDLOCK_EXTENSION_LIMIT || status == REDLOCK_LOST) sim_holding_ends(actor);
}

/* At the first tick after the end of validity at the latest. */
static void must_tell_of_end(struct sim_world *world, struct sim_actor *actor,
                             enum redlock_status status)
{
    const uint64_t ticks = world->cluster->clients[actor->client].tick_count;
    if (actor->ended_tick == UINT64_MAX) actor->ended_tick = ticks;
    sim_demand(world, SIM_RULE_KEEPER_TELLS, status == REDLOCK_LOST || ticks <= actor->ended_tick,
               "client %u does not say that it has lost %s, which it kept", actor->client,
               sim_resource(actor->lock));
}

static void look_at_kept(struct sim_world *world, struct sim_actor *actor,
                         enum redlock_status status)
{
    const struct cluster_client *client = &world->cluster->clients[actor->client];
    const uint64_t now_us = now_of(world, actor->client),
                   valid_us = redlock_valid_us(lock_of(world, actor), now_us);
    /* The end of keeping is news also when, within one tick, the caller's own extension failed and
     * the keeper's was due. */
    const bool is_news = actor->status != REDLOCK_PENDING || status == REDLOCK_EXTENSION_LIMIT;
    if (actor->is_named && status != REDLOCK_PENDING && is_news) saw_news(world, actor, status);
    if (actor->keep_is_safe)
        sim_demand(world, SIM_RULE_KEEPER_KEEPS, valid_us > 0,
                   "client %u loses %s, which it keeps, although all nodes answer in time",
                   actor->client,
                   sim_resource(actor->lock));
    if (!actor->is_kept) return;
    if (valid_us == 0)
        must_tell_of_end(world, actor, status);
    else
        sim_demand(world, SIM_RULE_KEEPER_WAKES,
                   redlock_wake_at(&client->engine) <= now_us + valid_us,
                   "client %u would not be called before the end of %s, which it keeps",
                   actor->client, sim_resource(actor->lock));
}

/* redlock_next_done names every operation that ends. */
static void look_at_done(struct sim_world *world, struct sim_actor *actor,
                         enum redlock_status status)
{
    const bool has_changed = status != actor->status && status != REDLOCK_PENDING;
    if (has_changed)
        sim_demand(world, SIM_RULE_TOLD, actor->is_named,
                   "client %u is not told what became of %s: %s", actor->client,
                   sim_resource(actor->lock), redlock_status_text(status));
}

void sim_holding_look_at_lock(struct sim_world *world, struct sim_actor *actor)
{
    const enum redlock_status status = redlock_lock_status(lock_of(world, actor));
    look_at_done(world, actor, status);
    if (actor->is_kept) look_at_kept(world, actor, status);
    actor->is_named = false;
}

void sim_holding_saw_extend(struct sim_world *world, const struct cluster_connection *connection,
                            const struct model_call *call, struct sim_token *token)
{
    const unsigned k = connection->node;
    if (!connection->client_left && !token->is_adopted)
        sim_demand(world, SIM_RULE_EXTENDS_FIRST,
                   token->released_on[k] == 0 || connection->number < token->released_on[k],
                   "client %u extends %s on node %u behind its release", connection->client,
                   call->key, k);
    if (call->did) token->extended_at[k] = now_of(world, connection->client);
}

/* ---- Waiters ---- */

/* The number of the lock in an entry "name-of-the-subscriptions:number", or NOBODY. */
static uint8_t *entry_owner(struct sim_world *world, unsigned client, const char *entry)
{
    return &world->entries[client][strtoul(entry + 17, NULL, 10) % SIM_ENTRIES];
}

static struct sim_actor *waiter_of(struct sim_world *world, const char *entry)
{
    for (unsigned c = 0; c < world->options.client_count; c++)
        if (world->subscriptions[c][0] != '\0' && strncmp(entry, world->subscriptions[c], 16) == 0)
            return *entry_owner(world, c, entry) != NOBODY
                       ? sim_actor_of(world, c, *entry_owner(world, c, entry))
                       : NULL;
    return NULL;
}

/* Whose entry is that? Nobody's, when its lock was forgotten while it was on the way. */
static uint8_t lock_with(struct sim_world *world, unsigned client, const char *entry)
{
    for (unsigned i = 0; i < world->options.lock_count; i++)
        if (lock_of(world, sim_actor_of(world, client, i))->wait_number ==
            strtoul(entry + 17, NULL, 10))
            return (uint8_t)i;
    return NOBODY;
}

void sim_holding_saw_entry(struct sim_world *world, unsigned client, const char *entry)
{
    memcpy(world->subscriptions[client], entry, 16);
    *entry_owner(world, client, entry) = lock_with(world, client, entry);
}

void sim_holding_saw_wait(struct sim_world *world, const struct cluster_connection *connection,
                          const struct model_call *call)
{
    if (!call->did || connection->client_left) return;
    sim_count(world, SIM_PATH_LINED_UP);
    sim_holding_saw_entry(world, connection->client, call->token);
}

/* An actor whose lock is forgotten cannot give its entries back. */
void sim_holding_forgets(struct sim_world *world, const struct sim_actor *actor)
{
    for (unsigned i = 0; i < SIM_ENTRIES; i++)
        if (world->entries[actor->client][i] == actor->lock)
            world->entries[actor->client][i] = NOBODY;
}

/* A wake-up is no grant. The lock's votes show whether it is won. */
static void saw_woken(struct sim_world *world, const struct model_call *call)
{
    struct sim_actor *actor = waiter_of(world, call->woken);
    if (!actor || actor->status != REDLOCK_PENDING || actor->deed != SIM_ACQUIRES) return;
    sim_count(world, SIM_PATH_WOKEN);
    actor->is_woken = true;
    if (lock_of(world, actor)->round.decided_at == 0) sim_count(world, SIM_PATH_WOKEN_IN_ATTEMPT);
}

void sim_holding_saw_release(struct sim_world *world, const struct cluster_connection *connection,
                             const struct model_call *call, struct sim_token *token)
{
    const struct sim_actor *actor = sim_actor_of(world, connection->client, token->lock);
    const bool is_other_slot =
        actor->permits > 0 &&
        redlock_valid_us(lock_of(world, actor), now_of(world, actor->client)) > 0;
    if (!connection->client_left && !is_other_slot)
        token->released_on[connection->node] = connection->number;
    if (call->entry[0] != '\0' && !call->fair) sim_count(world, SIM_PATH_ENTRY_GIVEN_BACK);
    if (call->woken[0] != '\0') saw_woken(world, call);
}

static bool is_idle(const struct sim_world *world, unsigned client)
{
    for (unsigned i = 0; i < world->options.lock_count; i++)
        if (!redlock_idle(&world->cluster->clients[client].locks[i].lock)) return false;
    return true;
}

static bool has_entry(struct sim_world *world, const struct model_key *waiters, unsigned client)
{
    for (size_t i = 0; waiters && i < waiters->entry_count; i++) {
        const struct model_entry *entry = &waiters->entries[i];
        char text[MODEL_ENTRY_MAX + 1] = "";
        memcpy(text, entry->member, entry->size);
        if (strncmp(text, world->subscriptions[client], 16) == 0 &&
            *entry_owner(world, client, text) != NOBODY)
            return true;
    }
    return false;
}

/* If nothing is lost, every entry is given back by the time that the engine knows of no
 * lock any more. */
void sim_holding_saw_idle(struct sim_world *world, unsigned client)
{
    if (world->options.class != SIM_CLASS_NONE || world->subscriptions[client][0] == '\0' ||
        !is_idle(world, client))
        return;
    for (unsigned k = 0; k < world->options.node_count; k++)
        for (unsigned i = 0; i < SIM_LOCKS_MAX; i++)
            sim_demand(world, SIM_RULE_ENTRY_GIVEN_BACK,
                       !has_entry(world, sim_key_beside(world, k, i, "#waiters"), client),
                       "client %u keeps an entry among the waiters for %s on node %u", client,
                       sim_resource(i), k);
}

/* Elsewhere they run out. */
static void must_leave_no_entry(struct sim_world *world, unsigned node, unsigned resource)
{
    static const char *const suffixes[] = {
        "#waiters", "#readers", "#writer", "#queue", "#lease", "#grant"
    };
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        sim_demand(world, SIM_RULE_NO_ENTRY_LEFT,
                   !sim_key_beside(world, node, resource, suffixes[i]), "%s%s is left on node %u",
                   sim_resource(resource), suffixes[i], node);
}

void sim_holding_must_leave_no_key(struct sim_world *world)
{
    for (unsigned k = 0; k < world->options.node_count; k++)
        for (unsigned i = 0; i < SIM_LOCKS_MAX; i++) {
            for (unsigned slot = 0; slot <= SIM_PERMITS_MAX; slot++)
                sim_demand(world, SIM_RULE_NO_KEY_LEFT, !sim_slot_key(world, k, i, slot),
                           "a key of %s is left on node %u", sim_resource(i), k);
            must_leave_no_entry(world, k, i);
        }
}

/* ---- Nodes ---- */

void sim_holding_look_at_node(struct sim_world *world, unsigned client, unsigned node)
{
    const struct redlock *engine = &world->cluster->clients[client].engine;
    const uint64_t now_us = now_of(world, client);
    const bool is_guarded = redlock_node_votes(engine, node, now_us) &&
                            !redlock_view_node(engine, node, now_us).gives_tickets;
    if (is_guarded && !world->gives_no_tickets[client][node])
        sim_count(world, SIM_PATH_TICKET_GUARDED);
    world->gives_no_tickets[client][node] = is_guarded;
}
