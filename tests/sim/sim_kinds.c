/* Counts readers, permits and fair locks, checks that no more permits are out than exist, and
 * records overtaking. The cluster checks that writers are alone, and that each slot
 * has one holder. */
#include "sim_world.h"

#include <string.h>

static struct redlock_lock *lock_of(const struct sim_world *world, const struct sim_actor *actor)
{
    return &world->cluster->clients[actor->client].locks[actor->lock].lock;
}

struct sim_store *sim_store_of(struct sim_world *world, const struct sim_actor *actor,
                               unsigned resource)
{
    return &world->stores[resource][actor->permits > 0
                                    ? redlock_view_lock(lock_of(world, actor)).slot : 0];
}

/* How many locks are held that are about one resource at least of this one's, itself among them? */
static unsigned count_held(const struct sim_world *world, const struct sim_actor *actor)
{
    unsigned held = 0;
    for (unsigned i = 0; i < world->actor_count; i++) {
        const struct sim_actor *other = &world->actors[i];
        held += (other->names & actor->names) && !world->cluster->clients[other->client].dead &&
                cluster_valid_us(world->cluster, other->client, other->lock) > 0;
    }
    return held;
}

void sim_kinds_saw_reader(struct sim_world *world, const struct sim_actor *actor)
{
    sim_count(world, SIM_PATH_WON_SHARED);
    if (actor->shared != actor->names) sim_count(world, SIM_PATH_WON_MIXED);
    else if (count_held(world, actor) > 1) sim_count(world, SIM_PATH_SHARED_TOGETHER);
}

void sim_kinds_saw_permit(struct sim_world *world, const struct sim_actor *actor)
{
    const unsigned slot = redlock_view_lock(lock_of(world, actor)).slot,
        held = count_held(world, actor);
    sim_demand(world, SIM_RULE_PERMITS,
               slot >= 1 && slot <= actor->permits &&
                   (world->cluster->no_exclusion || held <= actor->permits),
               "exclusion: client %u has slot %u of %s, and %u of %u permits are held",
               actor->client, slot, sim_resource(actor->lock), held, actor->permits);
    if (held > 1) sim_count(world, SIM_PATH_PERMITS_TOGETHER);
    if (held == actor->permits) sim_count(world, SIM_PATH_PERMITS_FULL);
}

/* A node knows a lock by its present token and the one before at most. */
static void supersede(struct sim_world *world, struct sim_actor *actor, const char *text)
{
    if (strcmp(actor->role_tokens[1], text) == 0) return;
    if (actor->role_tokens[0][0] != '\0')
        sim_token_of(world, actor->role_tokens[0], actor->client)->is_superseded = true;
    memcpy(actor->role_tokens[0], actor->role_tokens[1], sizeof actor->role_tokens[0]);
    memcpy(actor->role_tokens[1], text, sizeof actor->role_tokens[1]);
}

void sim_kinds_begins_change(struct sim_world *world, struct sim_actor *actor, bool has_begun)
{
    char text[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(lock_of(world, actor), text);
    /* No: the change has failed already. */
    const bool is_other = strcmp(actor->role_tokens[1], text) != 0;
    supersede(world, actor, text);
    struct sim_token *token = sim_token_of(world, text, actor->client);
    if (has_begun && is_other)
        sim_demand(world, SIM_RULE_S6_ROLE, token->first_at == 0,
                   "S6: client %u changes the role of %s by a token that it has used",
                   actor->client, sim_resource(actor->lock));
    token->lock = actor->lock;
    token->life = actor->life;
    if (token->first_at == 0)
        token->first_at = token->started_at = cluster_client_now(world->cluster, actor->client);
    if (token->ttl_ms < actor->ttl_ms) token->ttl_ms = actor->ttl_ms;
}

/* Without a connection a change ends in the call that begins it, perhaps with the status that the
 * lock had before, so nobody sees it end. */
void sim_kinds_note_role(struct sim_world *world, struct sim_actor *actor)
{
    const struct redlock_lock *lock = lock_of(world, actor);
    if (redlock_lock_status(lock) != REDLOCK_PENDING)
        actor->shared = redlock_view_lock(lock).is_shared ? actor->names : 0;
}

/* An upgrade is as if the lock had been won, with a token of its own; one that fails leaves a
 * reader as it was. A downgrade makes the lock a reader's at once, however many
 * nodes confirm it. */
void sim_kinds_saw_change(struct sim_world *world, struct sim_actor *actor)
{
    const struct redlock_lock *lock = lock_of(world, actor);
    const uint64_t now_us = cluster_client_now(world->cluster, actor->client),
                   before = actor->valid_until;
    const bool is_upgrade = actor->deed == SIM_UPGRADES,
               is_won = redlock_lock_status(lock) == REDLOCK_OK;
    sim_demand(world, SIM_RULE_UPGRADE_KEEPS,
               before <= now_us || now_us + redlock_valid_us(lock, now_us) >= before,
               "client %u loses %s by an upgrade or downgrade", actor->client,
               sim_resource(actor->lock));
    sim_demand(world, SIM_RULE_UPGRADE_KEEPS,
               redlock_view_lock(lock).is_shared == (!is_upgrade || !is_won),
               "client %u is in the wrong role for %s after a change of it", actor->client,
               sim_resource(actor->lock));
    actor->shared = redlock_view_lock(lock).is_shared ? actor->names : 0;
    if (!is_won && before > now_us && is_upgrade) sim_count(world, SIM_PATH_UPGRADE_REFUSED);
    if (!is_won) return;
    sim_count(world, is_upgrade ? SIM_PATH_UPGRADED : SIM_PATH_DOWNGRADED);
    redlock_token(lock, actor->token);
    actor->token_shared = actor->shared;
    sim_rules_saw_extended(world, actor, false);
    if (is_upgrade) sim_holding_saw_won(world, actor);
}

/* ---- Strict order ---- */

/* S24: a token is polled for again and again, each time in a newer round. Late polls
 * may be older. */
void sim_kinds_saw_poll(struct sim_world *world, const struct cluster_connection *connection,
                        const struct model_call *call, struct sim_token *token)
{
    const unsigned k = connection->node;
    if (token->polled[k] > 0 && !connection->client_left && !connection->ended)
        sim_demand(world, SIM_RULE_S24_ONCE, call->poll > token->polled[k],
                   "S24: client %u polls node %u for %s twice in a round", connection->client, k,
                   call->key);
    if (call->poll > token->polled[k]) token->polled[k] = call->poll;
    if (call->did) token->granted[k] = call->poll;
    if (call->joined) token->queued_at[k] = world->cluster->now_us;
    if (call->entry[0] != '\0' && !connection->client_left)
        sim_holding_saw_entry(world, connection->client, call->entry);
}

unsigned sim_kinds_granted_in(const struct sim_world *world, const struct sim_token *token,
                              uint32_t round)
{
    unsigned granted = 0;
    for (unsigned k = 0; k < world->options.node_count; k++)
        granted |= token->granted[k] == round ? 1u << k : 0;
    world->totals->judged[SIM_RULE_S24_ROUND]++;
    return granted;
}

static bool is_queued(struct sim_world *world, unsigned node, unsigned resource, const char *text)
{
    const struct model_key *queue = sim_key_beside(world, node, resource, "#queue");
    for (size_t i = 0; queue && i < queue->entry_count; i++)
        if (memcmp(queue->entries[i].member, text, REDLOCK_TOKEN_TEXT) == 0) return true;
    return false;
}

/* On how many nodes does it wait in the queue without a break since before then? */
static unsigned count_queued(struct sim_world *world, const struct sim_actor *actor,
                             uint64_t before_us)
{
    char text[REDLOCK_TOKEN_TEXT + 1];
    unsigned count = 0;
    redlock_token(lock_of(world, actor), text);
    const struct sim_token *token = sim_find_token(world, text);
    for (unsigned k = 0; token && k < world->options.node_count; k++) {
        const uint64_t since_us = token->queued_at[k];
        count += since_us > world->reborn_at[k] && since_us < before_us &&
                 is_queued(world, k, actor->lock, text);
    }
    return count;
}

static bool is_waiting(const struct sim_world *world, const struct sim_actor *actor)
{
    return actor->fair && actor->deed == SIM_ACQUIRES &&
           !world->cluster->clients[actor->client].dead &&
           redlock_lock_status(lock_of(world, actor)) == REDLOCK_PENDING;
}

/* S25. Plain locks may pass. */
void sim_kinds_saw_order(struct sim_world *world, const struct sim_actor *actor)
{
    if (!actor->fair) return;
    sim_count(world, SIM_PATH_WON_FAIR);
    if (actor->hurries > 0) sim_count(world, SIM_PATH_WON_IN_TURN);
    for (unsigned i = 0; i < world->actor_count; i++) {
        const struct sim_actor *other = &world->actors[i];
        if (other == actor || other->lock != actor->lock || !is_waiting(world, other)) continue;
        sim_demand(world, SIM_RULE_S25,
                   count_queued(world, other, actor->begun_at) <
                       redlock_quorum(world->options.node_count),
                   "S25: client %u passes client %u, which was queued for %s before it began",
                   actor->client, other->client, sim_resource(actor->lock));
    }
}
