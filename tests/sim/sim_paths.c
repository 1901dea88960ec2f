/* The simulator sees every command that a node executes and, after every call of an engine, the
 * answers of redlock.h to questions. It counts the rare paths from these, and checks whose
 * token is whose. */
#include "sim_world.h"

#include <stdlib.h>
#include <string.h>

const char *sim_path_text(enum sim_path path)
{
    static const char *const texts[] = {
#define SIM_PATH_TEXT(name, text) text,
        SIM_PATHS(SIM_PATH_TEXT)
    };
    return texts[path];
}

const char *sim_rule_text(enum sim_rule rule)
{
    static const char *const texts[] = {
#define SIM_RULE_TEXT(name, text) text,
        SIM_RULES(SIM_RULE_TEXT)
    };
    return texts[rule];
}

static unsigned count_bits(unsigned set)
{
    unsigned count = 0;
    for (; set != 0; set &= set - 1) count++;
    return count;
}

/* ---- Tokens ---- */

static uint64_t key_of(const char *token)
{
    uint64_t key = 14695981039346656037u; /* FNV-1a */
    for (; *token != '\0'; token++) key = (key ^ (uint8_t)*token) * 1099511628211u;
    return key | 1;
}

static struct sim_token *place_of(struct sim_token *tokens, size_t capacity, uint64_t key)
{
    size_t at = (size_t)(key >> 1 & (capacity - 1));
    while (tokens[at].key != 0 && tokens[at].key != key) at = (at + 1) & (capacity - 1);
    return &tokens[at];
}

static void grow_tokens(struct sim_world *world)
{
    const size_t capacity = world->token_capacity > 0 ? 2 * world->token_capacity : 1024;
    struct sim_token *grown = calloc(capacity, sizeof *grown);
    if (!grown) abort();
    for (size_t i = 0; i < world->token_capacity; i++)
        if (world->tokens[i].key != 0)
            *place_of(grown, capacity, world->tokens[i].key) = world->tokens[i];
    free(world->tokens);
    world->tokens = grown;
    world->token_capacity = capacity;
}

struct sim_token *sim_find_token(struct sim_world *world, const char *text)
{
    struct sim_token *token = world->token_count > 0
                                  ? place_of(world->tokens, world->token_capacity, key_of(text))
                                  : NULL;
    return token && token->key != 0 ? token : NULL;
}

struct sim_token *sim_token_of(struct sim_world *world, const char *text, unsigned client)
{
    if (2 * world->token_count >= world->token_capacity) grow_tokens(world);
    struct sim_token *token = place_of(world->tokens, world->token_capacity, key_of(text));
    if (token->key == 0) {
        *token = (struct sim_token){ .key = key_of(text), .client = client };
        world->token_count++;
    }
    return token;
}

/* ---- Commands ---- */

/* Is the attempt that this token signs still under way? */
static bool is_current(const struct sim_world *world, unsigned client,
                       const struct model_call *call)
{
    char text[REDLOCK_TOKEN_TEXT + 1];
    for (unsigned i = 0; i < world->options.lock_count; i++) {
        const struct redlock_lock *lock = cluster_lock(world->cluster, client, i);
        redlock_token(lock, text);
        if (strcmp(text, call->token) == 0) return redlock_lock_status(lock) == REDLOCK_PENDING;
    }
    return false;
}

/* S6 and S8: a token is one client's, and is sent to a node once. It is sent again only if the lock
 * was won and a node has lost it, or as a poll (S24). */
static void saw_set(struct sim_world *world, const struct cluster_connection *connection,
                    const struct model_call *call)
{
    struct sim_token *token = sim_token_of(world, call->token, connection->client);
    const uint8_t bit = (uint8_t)(1 << connection->node);
    const bool was_seen = token->seen & bit,
               is_poll = call->fair && strcmp(call->name, "ACQUIRE") == 0;
    if (token->seen > 0)
        sim_demand(world, SIM_RULE_S6_OWN, token->client == connection->client,
                   "S6: clients %u and %u use the same token", token->client, connection->client);
    if (was_seen && !is_poll)
        sim_demand(world, SIM_RULE_S6_ONCE,
                   count_bits(token->did) >= redlock_quorum(world->options.node_count),
                   "S6: client %u sends a token to node %u twice", connection->client,
                   connection->node);
    if (token->seen == 0) world->totals->attempts++;
    token->seen |= bit;
    token->connection[connection->node] = connection->number;
    if (call->did) token->shard[connection->node] = connection->session.shard;
    sim_rules_saw_set(world, connection, call, token);
    if (strcmp(call->name, "ACQUIRE") == 0) sim_holding_saw_acquire(world, connection, call, token);
    if (call->poll > 0) sim_kinds_saw_poll(world, connection, call, token);
    if (was_seen && !is_poll && call->ticket > 0) sim_holding_saw_restore(world, connection, call);
    if (!call->did) return;
    if (was_seen && !is_poll) { /* An extension has found it missing. */
        token->restored |= bit;
        sim_count(world, SIM_PATH_RESTORED);
    }
    token->did |= bit;
    if (connection->client_left) sim_count(world, SIM_PATH_STALE_SET);
    if ((was_seen && !is_poll) || is_current(world, connection->client, call)) return;
    token->late |= bit;
    sim_count(world, SIM_PATH_LATE_GRANT);
}

/* S7: nobody removes or extends another's key. */
static struct sim_token *check_owner(struct sim_world *world,
                                     const struct cluster_connection *connection,
                                     const struct model_call *call)
{
    struct sim_token *token = sim_token_of(world, call->token, connection->client);
    if (call->did)
        sim_demand(world, SIM_RULE_S7, token->client == connection->client,
                   "S7: client %u does %s to the key of client %u on node %u", connection->client,
                   call->name, token->client,
                   connection->node);
    return token;
}

static void saw_release(struct sim_world *world, const struct cluster_connection *connection,
                        const struct model_call *call)
{
    struct sim_token *token = check_owner(world, connection, call);
    const uint8_t bit = (uint8_t)(1 << connection->node);
    sim_rules_saw_release(world, connection, call, token);
    sim_holding_saw_release(world, connection, call, token);
    if (!call->did) {
        token->missed |= bit;
        return;
    }
    if (token->missed & bit) sim_count(world, SIM_PATH_RELEASED_TWICE);
    if (token->shard[connection->node] != connection->session.shard)
        sim_count(world, SIM_PATH_RELEASED_ELSEWHERE);
    if (token->late & bit) sim_count(world, SIM_PATH_LATE_GRANT_RELEASED);
    if (token->connection[connection->node] != connection->number)
        sim_count(world, SIM_PATH_DEBT_AFTER_RECONNECT);
}

/* An extension that turns a reader into a writer, or the other way round, sets a token that was not
 * there before. */
static void note_new_token(struct sim_world *world, const struct cluster_connection *connection,
                           const struct model_call *call, struct sim_token *token)
{
    const uint8_t bit = (uint8_t)(1 << connection->node);
    if (!call->did || token->did & bit) return;
    token->seen |= bit;
    token->did |= bit;
    token->shard[connection->node] = connection->session.shard;
    token->connection[connection->node] = connection->number;
    token->set_at[connection->node] = world->cluster->now_us;
    if (connection->client_left) token->stale |= bit;
}

static void saw_extend(struct sim_world *world, const struct cluster_connection *connection,
                       const struct model_call *call)
{
    struct sim_token *token = check_owner(world, connection, call);
    sim_rules_saw_extend(world, connection, call);
    note_new_token(world, connection, call, token);
    sim_holding_saw_extend(world, connection, call, token);
}

static void saw_script(struct sim_world *world, const struct cluster_connection *connection,
                       const struct model_call *call)
{
    uint8_t *unknown = &world->unknown_script[connection->client][connection->node];
    if (call->eval && *unknown > 0) {
        sim_count(world, SIM_PATH_NOSCRIPT_EVAL);
        if (strcmp(call->name, "ACQUIRE") == 0 && is_current(world, connection->client, call))
            sim_count(world, SIM_PATH_ACQUIRE_BY_EVAL);
        --*unknown;
    }
}

static void note_command(struct sim_world *world, const struct cluster_connection *connection,
                         const struct model_call *call)
{
    sim_mix(world, world->cluster->now_us);
    sim_mix(world, (uint64_t)connection->client << 16 | connection->node << 8 | call->did);
    sim_mix_text(world, call->name);
    sim_mix_text(world, call->token);
    if (call->token[0] != '\0')
        sim_tell(world, "node %u: %s of client %u, %s, token %.6s%s, %lld ms: %s%s",
                 connection->node, call->name, connection->client, call->key, call->token,
                 call->entry, (long long)call->ttl_ms, call->did ? "done" : "not done",
                 connection->client_left ? " (its connection is closed)" : "");
}

static void note_slot(struct sim_world *world, const struct model_call *call)
{
    const char *redirect = call->redirect ? call->redirect : "";
    if (strncmp(redirect, "-MOVED", 6) == 0) sim_count(world, SIM_PATH_REDIRECT_MOVED);
    if (strncmp(redirect, "-ASK", 4) == 0) sim_count(world, SIM_PATH_REDIRECT_ASK);
    if (strncmp(redirect, "-TRYAGAIN", 9) == 0) sim_count(world, SIM_PATH_REDIRECT_TRYAGAIN);
    if (call->stopped) sim_count(world, SIM_PATH_STOPPED_HALFWAY);
}

static void saw_by_name(struct sim_world *world, const struct cluster_connection *connection,
                        const struct model_call *call)
{
    if (strcmp(call->name, "SET") == 0)
        saw_set(world, connection, call);
    else if (strcmp(call->name, "ACQUIRE") == 0 || strcmp(call->name, "RESTORE") == 0)
        saw_script(world, connection, call), saw_set(world, connection, call);
    else if (strcmp(call->name, "WAIT") == 0)
        saw_script(world, connection, call), sim_holding_saw_wait(world, connection, call);
    else if (strcmp(call->name, "RELEASE") == 0)
        saw_script(world, connection, call), saw_release(world, connection, call);
    else if (strcmp(call->name, "EXTEND") == 0)
        saw_script(world, connection, call), saw_extend(world, connection, call);
    else if (strcmp(call->name, "INFO") == 0)
        sim_rules_saw_handshake(world, connection, call);
    else if (strcmp(call->name, "EVALSHA") == 0)
        sim_count(world, SIM_PATH_NOSCRIPT),
            world->unknown_script[connection->client][connection->node]++;
}

void sim_saw_command(void *context, const struct cluster_connection *connection,
                     const struct model_call *call)
{
    struct sim_world *world = context;
    world->totals->commands++;
    sim_saw_plan(world, connection, call);
    note_command(world, connection, call);
    note_slot(world, call);
    if (connection->client_left) sim_count(world, SIM_PATH_STALE_COMMAND);
    /* A managed node is asked whether it runs a release script, by a key that is nobody's. */
    if (strncmp(call->key, REDLOCK_CANARY, MODEL_CALL_KEY_MAX) != 0)
        saw_by_name(world, connection, call);
    sim_slot_goes_on(world, connection->node);
}

/* ---- How operations ended ---- */

/* Several tokens on the nodes, and none on a quorum. */
static bool is_split(struct sim_world *world, unsigned lock)
{
    struct cluster *cluster = world->cluster;
    unsigned most = 0, present = 0;
    for (unsigned k = 0; k < cluster->node_count; k++) {
        const char *value = cluster_key(cluster, k, sim_resource(lock));
        unsigned alike = 0;
        for (unsigned j = 0; value && j < cluster->node_count; j++) {
            const char *other = cluster_key(cluster, j, sim_resource(lock));
            alike += other && strcmp(other, value) == 0;
        }
        present += value != NULL;
        most = alike > most ? alike : most;
    }
    return most > 0 && most < present && most < redlock_quorum(cluster->node_count);
}

static bool is_moving(const struct sim_world *world)
{
    for (unsigned k = 0; k < world->options.node_count; k++)
        if (world->cluster->hosts[k].node.migrates) return true;
    return false;
}

static void saw_won(struct sim_world *world, struct sim_actor *actor,
                    const struct redlock_round *round)
{
    const unsigned granted = count_bits(round->granted), n = world->options.node_count;
    world->totals->won++;
    redlock_token(cluster_lock(world->cluster, actor->client, actor->lock), actor->token);
    actor->token_names = actor->names;
    actor->token_shared = actor->shared;
    sim_rules_saw_won(world, actor);
    sim_holding_saw_won(world, actor);
    if (granted == n) sim_count(world, SIM_PATH_WON_BY_ALL);
    if (granted == redlock_quorum(n)) sim_count(world, SIM_PATH_WON_EXACTLY);
    if (round->unknown | round->not_asked) sim_count(world, SIM_PATH_WON_WITHOUT_NODE);
    if (actor->attempts > 1) sim_count(world, SIM_PATH_WON_AFTER_RETRY);
    if (actor->guarded & round->granted) sim_count(world, SIM_PATH_GUARD_ENDS_IN_WAIT);
    if (world->abandoned[actor->lock]) sim_count(world, SIM_PATH_WON_EXPIRED);
    if (is_moving(world)) sim_count(world, SIM_PATH_WON_IN_MOVE);
    world->abandoned[actor->lock] = false;
}

static void saw_acquired(struct sim_world *world, struct sim_actor *actor,
                         const struct redlock_lock *lock)
{
    const struct redlock_round *round = &lock->round;
    switch (redlock_lock_status(lock)) {
    case REDLOCK_OK:        saw_won(world, actor, round); return;
    case REDLOCK_TAKEN:     sim_count(world, SIM_PATH_TAKEN); break;
    case REDLOCK_NO_QUORUM: sim_count(world, SIM_PATH_NO_QUORUM); break;
    case REDLOCK_TIMEOUT:   sim_count(world, SIM_PATH_TIMEOUT); break;
    case REDLOCK_TOO_LATE:  sim_count(world, SIM_PATH_TOO_LATE); break;
    case REDLOCK_CANCELLED:
        sim_count(world, round->granted ? SIM_PATH_CANCEL_WITH_GRANTS : SIM_PATH_CANCEL_BETWEEN);
        return;
    default:
        break;
    }
    sim_holding_saw_loss(world, actor);
    if (redlock_attempt_status(lock) == REDLOCK_TOO_LATE &&
        redlock_lock_status(lock) == REDLOCK_TIMEOUT)
        sim_count(world, SIM_PATH_TOO_LATE);
    if (is_split(world, actor->lock)) sim_count(world, SIM_PATH_SPLIT_VOTE);
    if (redlock_view_lock(lock).free_in_ms < REDLOCK_UNTOLD)
        sim_count(world, SIM_PATH_TOLD_WHEN_FREE);
}

static void saw_extended(struct sim_world *world, struct sim_actor *actor,
                         const struct redlock_lock *lock)
{
    const enum redlock_status status = redlock_lock_status(lock);
    const bool is_held = cluster_valid_us(world->cluster, actor->client, actor->lock) > 0;
    if (status == REDLOCK_OK) {
        world->totals->extended++;
        sim_rules_saw_extended(world, actor, false);
        sim_count(world, SIM_PATH_EXTENDED);
        if (actor->failed_to_extend) sim_count(world, SIM_PATH_EXTENSION_AFTER_FAIL);
        if (actor->adopted) sim_count(world, SIM_PATH_ADOPTED);
    } else if (actor->adopted) {
        sim_count(world, SIM_PATH_ADOPTED_IN_VAIN);
    } else if (status == REDLOCK_NO_QUORUM && is_held) {
        sim_count(world, SIM_PATH_EXTENSION_NO_QUORUM);
    } else if (status == REDLOCK_TAKEN) {
        sim_count(world, SIM_PATH_EXTENSION_TAKEN);
    } else if (status == REDLOCK_LOST) {
        sim_count(world, SIM_PATH_EXTENSION_TOO_LATE);
    }
    actor->failed_to_extend = status != REDLOCK_OK && is_held;
    actor->adopted = false;
}

static void saw_released(struct sim_world *world, const struct redlock_lock *lock)
{
    world->totals->released++;
    if (redlock_lock_status(lock) == REDLOCK_LOST)
        sim_count(world, SIM_PATH_RELEASED_LOST);
    else if (redlock_view_lock(lock).owed > 0)
        sim_count(world, SIM_PATH_RELEASED_PARTLY);
}

static void saw_end(struct sim_world *world, struct sim_actor *actor,
                    const struct redlock_lock *lock)
{
    static const char *const deeds[] = { "acquire", "extend", "release", "upgrade", "downgrade" };
    sim_mix(world, redlock_lock_status(lock));
    sim_tell(world, "client %u: %s %s: %s", actor->client, deeds[actor->deed],
             sim_resource(actor->lock), redlock_status_text(redlock_lock_status(lock)));
    switch (actor->deed) {
    case SIM_ACQUIRES: saw_acquired(world, actor, lock); break;
    case SIM_EXTENDS:  saw_extended(world, actor, lock); break;
    case SIM_RELEASES: saw_released(world, lock); break;
    case SIM_UPGRADES:
    case SIM_DOWNGRADES: sim_kinds_saw_change(world, actor); break;
    }
}

/* ---- After every call ---- */

static void watch_attempt(struct sim_world *world, struct sim_actor *actor,
                          const struct redlock_lock *lock)
{
    const struct redlock *engine = &world->cluster->clients[actor->client].engine;
    const uint64_t now_us = cluster_client_now(world->cluster, actor->client);
    const struct redlock_round *round = &lock->round;
    if (round->started_at == actor->round_at) return;
    sim_rules_saw_attempt(world, actor);
    sim_holding_saw_attempt(world, actor);
    actor->round_at = round->started_at;
    actor->attempts++;
    for (unsigned k = 0; k < world->options.node_count; k++)
        if (redlock_view_node(engine, k, now_us).trouble == REDLOCK_TROUBLE_RESTARTED)
            actor->guarded |= (uint16_t)(1 << k);
}

static void watch_validity(struct sim_world *world, struct sim_actor *actor)
{
    const bool is_valid = cluster_valid_us(world->cluster, actor->client, actor->lock) > 0;
    if (is_valid != actor->was_valid)
        sim_tell(world, "client %u %s %s", actor->client, is_valid ? "holds" : "no longer holds",
                 sim_resource(actor->lock));
    if (!is_valid && actor->was_valid && actor->deed != SIM_RELEASES) {
        sim_count(world, SIM_PATH_RAN_OUT);
        world->abandoned[actor->lock] = true;
    }
    actor->was_valid = is_valid;
}

/* The lock is valid for longer though nobody asked for it. */
static void watch_keeper(struct sim_world *world, struct sim_actor *actor)
{
    const uint64_t now_us = cluster_client_now(world->cluster, actor->client);
    const uint64_t valid_us = cluster_valid_us(world->cluster, actor->client, actor->lock);
    if (valid_us == 0 || now_us + valid_us <= actor->valid_until) return;
    world->totals->extended++;
    sim_rules_saw_extended(world, actor, true);
}

static void look_at_lock(struct sim_world *world, struct sim_actor *actor)
{
    const struct redlock_lock *lock = cluster_lock(world->cluster, actor->client, actor->lock);
    const enum redlock_status status = redlock_lock_status(lock);
    const unsigned owed = redlock_idle(lock) ? 0 : redlock_view_lock(lock).owed;
    if (status != REDLOCK_PENDING && actor->status != REDLOCK_PENDING) watch_keeper(world, actor);
    sim_holding_look_at_lock(world, actor);
    if (status == REDLOCK_PENDING && actor->deed == SIM_ACQUIRES) watch_attempt(world, actor, lock);
    if (status != REDLOCK_PENDING && actor->status == REDLOCK_PENDING) saw_end(world, actor, lock);
    actor->status = status;
    watch_validity(world, actor);
    sim_rules_look_at_lock(world, actor);
    if (owed == 0 && actor->owed > 0) sim_count(world, SIM_PATH_DEBTS_GONE);
    actor->owed = owed;
}

static void count_trouble(struct sim_world *world, enum redlock_trouble trouble)
{
    switch (trouble) {
    case REDLOCK_TROUBLE_RESTARTED:   sim_count(world, SIM_PATH_GUARDED); break;
    case REDLOCK_TROUBLE_SAME_SERVER: sim_count(world, SIM_PATH_TWIN_REFUSED); break;
    case REDLOCK_TROUBLE_REPLICA:     sim_count(world, SIM_PATH_REPLICA_REFUSED); break;
    case REDLOCK_TROUBLE_READONLY:    sim_count(world, SIM_PATH_READONLY); break;
    case REDLOCK_TROUBLE_LOADING:     sim_count(world, SIM_PATH_LOADING); break;
    case REDLOCK_TROUBLE_OOM:         sim_count(world, SIM_PATH_OUT_OF_MEMORY); break;
    case REDLOCK_TROUBLE_MISCONF:     sim_count(world, SIM_PATH_MISCONF); break;
    case REDLOCK_TROUBLE_BUSY:        sim_count(world, SIM_PATH_BUSY); break;
    case REDLOCK_TROUBLE_UNREACHABLE: sim_count(world, SIM_PATH_UNREACHABLE); break;
    case REDLOCK_TROUBLE_AHEAD:       sim_count(world, SIM_PATH_AHEAD); break;
    case REDLOCK_TROUBLE_SILENT:      sim_count(world, SIM_PATH_SILENT); break;
    default:                          break;
    }
}

static void look_at_nodes(struct sim_world *world, unsigned client)
{
    const struct redlock *engine = &world->cluster->clients[client].engine;
    const uint64_t now_us = cluster_client_now(world->cluster, client);
    for (unsigned k = 0; k < world->options.node_count; k++) {
        const enum redlock_trouble trouble = redlock_view_node(engine, k, now_us).trouble;
        if (trouble != world->troubles[client][k]) count_trouble(world, trouble);
        world->troubles[client][k] = (uint8_t)trouble;
        sim_rules_look_at_node(world, client, k);
        sim_holding_look_at_node(world, client, k);
    }
}

void sim_look_at(struct sim_world *world, unsigned client)
{
    /* It is not just elsewhere in memory. */
    for (unsigned i = 0; i < world->options.lock_count; i++)
        if (world->cluster->clients[client].locks[i].in_use)
            look_at_lock(world, sim_actor_of(world, client, i));
    look_at_nodes(world, client);
}

/* Which locks have ended since the last call? */
static void note_done(struct sim_world *world, unsigned client)
{
    const struct redlock_lock *done;
    while ((done = redlock_next_done(&world->cluster->clients[client].engine)))
        for (unsigned i = 0; i < world->options.lock_count; i++)
            if (done == cluster_lock(world->cluster, client, i))
                sim_actor_of(world, client, i)->is_named = true;
}

void sim_saw_call(void *context, unsigned client)
{
    note_done(context, client);
    sim_look_at(context, client);
}

void sim_actor_forgets(struct sim_world *world, struct sim_actor *actor)
{
    const struct redlock_lock *lock = cluster_lock(world->cluster, actor->client, actor->lock);
    actor->status = redlock_lock_status(lock);
    actor->was_valid = actor->failed_to_extend = actor->adopted = actor->slept_valid = false;
    sim_holding_ends(actor);
    sim_holding_forgets(world, actor);
    actor->is_named = actor->is_marking = actor->has_begun = false;
    actor->ticket = 0;
    actor->owed = 0;
    actor->life++;
    actor->valid_until = 0;
    actor->was_idle = true;
}
