/* Checks the README's rules of safety, S1 to S16, from outside, by the commands that nodes execute
 * and the answers of redlock.h to questions. Each is computed here once more, by no code
 * of the engine. */
#include "sim_world.h"

#include <string.h>

enum {
    MS = 1000,
    SECOND = 1000000,
    DRIFT_FIXED_US = 2000,      /* S2 */
    /* S5: of a SET that may be executed late a release is tried so often. */
    RELEASES_OF_STALE = 2,
    TRAVELS_US = 500000,      /* On its way between shards a key's TTL does not run. */
    SAME_PAUSES_MAX = 6,        /* S14: so many alike in a row are no accident. */
    /* A client that is paused in its handshake learns the node's identity late. */
    SLOW_HANDSHAKE_TTLS = 5
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

static unsigned count_bits(unsigned set)
{
    unsigned count = 0;
    for (; set != 0; set &= set - 1) count++;
    return count;
}

static bool has(unsigned set, unsigned node)
{
    return set >> node & 1;
}

/* ---- Where a token lies ---- */

static bool stands(const struct cluster *cluster, uint64_t number)
{
    for (size_t i = 0; i < cluster->connection_count; i++)
        if (cluster->connections[i]->number == number)
            return !cluster->connections[i]->client_left && !cluster->connections[i]->ended;
    return false;
}

/* Is the debt still good by which a token would be removed from the node? It is until the TTL has
 * passed since the attempt began, or since the connection was closed, by the client's clock; and
 * since the SET was answered, as it was if nothing is under way on its connection. */
static bool is_owed(struct sim_world *world, const struct sim_token *token, unsigned node,
                    uint64_t expires_ms)
{
    const bool may_step = sim_fault_is_in(SIM_FAULT_STEP_BACK, world->options.class);
    uint64_t slack_us = 2 * MS + (may_step ? SIM_CLOCK_BACK_US : 0);
    uint64_t sent_at = token->started_at;
    if (sent_at == 0) return false;
    if (sim_class_has_slots(world->options.class)) slack_us += TRAVELS_US;
    /* A fair lock's later rounds have the same token. */
    if (token->left_at[node] > 0 && token->left_at[node] < sent_at) sent_at = token->left_at[node];
    if (now_of(world, token->client) < sent_at + (uint64_t)token->ttl_ms * MS) return true;
    return stands(world->cluster, token->connection[node]) &&
           expires_ms * MS > cluster_node_now(world->cluster, node) + slack_us;
}

/* Is that a token of this actor that it must know of? NULL: it is not. A SET that came late, after
 * all releases, and one that came back from a node's disk, are not its fault. */
static const struct sim_token *known(struct sim_world *world, const struct sim_actor *actor,
                                     unsigned node, const char *text, uint64_t expires_ms)
{
    const struct sim_token *token = sim_find_token(world, text);
    if (!token || token->client != actor->client || token->lock != actor->lock ||
        token->life != actor->life)
        return NULL;
    if (token->is_superseded) return NULL;
    const bool is_known = is_owed(world, token, node, expires_ms) && has(token->did, node) &&
                          world->reborn_at[node] <= token->set_at[node] &&
                          !(has(token->stale, node) && token->misses[node] >= RELEASES_OF_STALE);
    return is_known ? token : NULL;
}

/* A reader is a member of the readers, for as long as its score says. */
static const struct sim_token *left_among_readers(struct sim_world *world,
                                                  const struct sim_actor *actor, unsigned node,
                                                  unsigned resource)
{
    const struct model_key *marker = sim_slot_key(world, node, resource, 0);
    /* Without the marker the readers are nothing. */
    const struct model_key *readers =
        marker ? sim_key_beside(world, node, resource, "#readers") : NULL;
    const struct sim_token *token = NULL;
    for (size_t i = 0; readers && !token && i < readers->entry_count; i++) {
        if (readers->entries[i].score * MS <= cluster_node_now(world->cluster, node)) continue;
        char text[REDLOCK_TOKEN_TEXT + 1] = "";
        memcpy(text, readers->entries[i].member, REDLOCK_TOKEN_TEXT);
        token = known(world, actor, node, text, readers->entries[i].score);
    }
    return token;
}

/* Looks in the resource's key, in a slot's key, and among its readers. */
static const struct sim_token *left_in(struct sim_world *world, const struct sim_actor *actor,
                                       unsigned node, unsigned resource)
{
    const struct sim_token *token = left_among_readers(world, actor, node, resource);
    for (unsigned slot = 0; slot <= SIM_PERMITS_MAX && !token; slot++) {
        const struct model_key *key = sim_slot_key(world, node, resource, slot);
        if (key && key->value)
            token = known(world, actor, node, (const char *)key->value, key->expires_ms);
    }
    return token;
}

/* Looks in each resource that it may have been about. */
static const struct sim_token *token_left(struct sim_world *world, const struct sim_actor *actor,
                                          unsigned node)
{
    const struct sim_token *token = NULL;
    for (unsigned i = 0; i < SIM_LOCKS_MAX && !token; i++) token = left_in(world, actor, node, i);
    return token;
}

/* S5 */
static void check_idle(struct sim_world *world, struct sim_actor *actor)
{
    const bool is_idle = redlock_idle(lock_of(world, actor));
    for (unsigned k = 0; is_idle && !actor->was_idle && k < world->options.node_count; k++)
        sim_demand(world, SIM_RULE_S5, !token_left(world, actor, k),
                   "S5: client %u forgets its token on node %u, which keeps %s from others",
                   actor->client, k,
                   sim_resource(actor->lock));
    if (is_idle && !actor->was_idle) sim_holding_saw_idle(world, actor->client);
    actor->was_idle = is_idle;
}

/* ---- Which nodes are asked ---- */

/* S11, and S15 for tickets: the node's uptime may run too fast by the drift. */
static void check_guard(struct sim_world *world, unsigned client, unsigned node,
                        const struct model_call *call)
{
    const uint64_t for_ticket_ms =
        call->ticket > 0 && world->options.guard_ms > 0 ? 2 * (uint64_t)world->options.skew_ms : 0;
    const uint64_t guard_us = (world->options.guard_ms + for_ticket_ms) * MS,
                   restarted_at = world->restarted_at[client][node];
    const uint64_t slack_us = guard_us / 1000 * world->options.drift_ppm / 1000 + MS;
    if (restarted_at > 0)
        sim_demand(
            world, SIM_RULE_S11_GUARD, now_of(world, client) + slack_us >= restarted_at + guard_us,
            "S11: client %u asks node %u for a vote on %s, which has restarted within the guard",
            client, node, call->key);
}

void sim_rules_saw_restart(struct sim_world *world, unsigned node)
{
    world->reborn_at[node] = world->cluster->now_us;
    /* S23 */
    if (sim_class_is_durable(world->options.class) &&
        cluster_key(world->cluster, node, REDLOCK_CANARY))
        return;
    for (unsigned c = 0; c < world->options.client_count; c++)
        world->restarted_at[c][node] = now_of(world, c);
}

/* A server without a run_id that was met within seconds of its start may be taken for one that has
 * restarted since. */
static bool is_young(const struct sim_world *world, unsigned node)
{
    const uint64_t born_at = world->reborn_at[node] > 0 ? world->reborn_at[node] : world->begun_us;
    return world->cluster->now_us < born_at + 3 * SECOND;
}

/* Two sessions of one client may lead to two shards of a node, and the client reads either answer
 * last. */
static bool is_at_two_shards(const struct sim_world *world,
                             const struct cluster_connection *connection)
{
    for (size_t i = 0; i < world->cluster->connection_count; i++) {
        const struct cluster_connection *other = world->cluster->connections[i];
        if (other->client == connection->client && other->node == connection->node &&
            !other->client_left && other->session.shard != connection->session.shard)
            return true;
    }
    return false;
}

static void note_run_id(struct sim_world *world, const struct cluster_connection *connection)
{
    struct sim_said *said = &world->said[connection->client][connection->node];
    char run_id[MODEL_RUN_ID_TEXT + 1];
    model_shard_name(&world->cluster->hosts[connection->node].node, connection->session.shard,
                     run_id);
    if (strcmp(said->run_id, run_id) != 0) said->is_known = said->is_young = false;
    if (said->is_young) said->is_known = false;
    memcpy(said->run_id, run_id, sizeof said->run_id);
    if (is_at_two_shards(world, connection)) said->run_id[0] = '\0';
    if (said->is_known) return;
    said->changed_at = now_of(world, connection->client);
    said->is_young |=
        world->options.class == SIM_CLASS_NAMELESS && is_young(world, connection->node);
}

void sim_rules_saw_handshake(struct sim_world *world, const struct cluster_connection *connection,
                             const struct model_call *call)
{
    const struct model_node *node = &world->cluster->hosts[connection->node].node;
    struct sim_said *said = &world->said[connection->client][connection->node];
    if (said->connection != connection->number) said->is_unfit = false;
    said->connection = connection->number;
    if (strcmp(call->name, "INFO") == 0) note_run_id(world, connection);
    if (sim_is_unfit(node)) said->is_unfit = true;
}

/* S11: and one that has not restarted keeps its vote. */
static void check_vote(struct sim_world *world, unsigned client, unsigned node)
{
    const struct redlock *engine = &world->cluster->clients[client].engine;
    const uint64_t now_us = now_of(world, client),
                   ttl_us = (uint64_t)world->options.ttl_max_ms * MS;
    const enum redlock_trouble trouble = redlock_view_node(engine, node, now_us).trouble;
    struct sim_said *said = &world->said[client][node];
    if (trouble != REDLOCK_TROUBLE_RESTARTED && !redlock_node_votes(engine, node, now_us)) return;
    said->is_known = true;
    if (trouble == REDLOCK_TROUBLE_RESTARTED)
        sim_demand(world, SIM_RULE_S11_VOTE,
                   now_us <= said->changed_at + (uint64_t)world->options.guard_ms * MS +
                                 SLOW_HANDSHAKE_TTLS * ttl_us + SECOND,
                   "S11: client %u gives node %u no vote, although it has not restarted", client,
                   node);
}

/* S16: the connection is closed as soon as that has been read. */
static void check_nonsense(struct sim_world *world, unsigned client, unsigned line)
{
    const uint64_t number = world->nonsense[client][line];
    const struct cluster *cluster = world->cluster;
    const struct cluster_connection *connection = NULL;
    for (size_t i = 0; number > 0 && i < cluster->connection_count; i++)
        if (cluster->connections[i]->number == number) connection = cluster->connections[i];
    if (connection && !connection->client_left && !connection->ended) {
        if (connection->to_client.count > 0 || connection->arrived.size > 0) return;
        const bool closes =
            redlock_wants(&cluster->clients[client].engine, line) & REDLOCK_WANT_CLOSE;
        sim_demand(world, SIM_RULE_S16, closes,
                   "S16: client %u keeps a connection to node %u by which nonsense came", client,
                   connection->node);
        sim_count(world, SIM_PATH_NONSENSE);
    }
    world->nonsense[client][line] = 0;
}

void sim_rules_look_at_node(struct sim_world *world, unsigned client, unsigned node)
{
    check_vote(world, client, node);
    for (unsigned line = node; line < world->cluster->line_count; line += world->options.node_count)
        check_nonsense(world, client, line);
}

/* ---- What is sent ---- */

/* An attempt has begun, and none of its bytes has left. */
static void note_attempt(struct sim_world *world, struct sim_actor *actor)
{
    const struct redlock_lock *lock = lock_of(world, actor);
    char text[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(lock, text);
    struct sim_token *token = sim_token_of(world, text, actor->client);
    memcpy(actor->attempt, text, sizeof actor->attempt);
    token->lock = actor->lock;
    token->life = actor->life;
    token->started_at = lock->round.started_at;
    if (actor->fair) token->first_at = 0;       /* The first arrival in this round. */
}

static void note_set(struct sim_world *world, const struct cluster_connection *connection,
                     const struct model_call *call, struct sim_token *token)
{
    if (token->first_at == 0) {
        token->first_at = now_of(world, token->client);
        token->ttl_ms = (uint32_t)call->ttl_ms;
    }
    if (!call->did) return;
    token->set_at[connection->node] = world->cluster->now_us;
    token->left_at[connection->node] = connection->client_left ? connection->left_at : 0;
    if (connection->client_left) token->stale |= (uint8_t)(1 << connection->node);
}

/* Has the node a vote, by which the lock is acquired or extended? */
static void check_asked(struct sim_world *world, const struct cluster_connection *connection,
                        const struct model_call *call)
{
    const unsigned c = connection->client, k = connection->node;
    if (world->said[c][k].connection == connection->number)
        sim_demand(world, SIM_RULE_S12_UNFIT, !world->said[c][k].is_unfit,
                   "S12: client %u asks node %u for a vote on %s, which is no master of its own, "
                   "or does not say",
                   c, k, call->key);
    check_guard(world, c, k, call);
}

void sim_rules_saw_set(struct sim_world *world, const struct cluster_connection *connection,
                       const struct model_call *call, struct sim_token *token)
{
    const unsigned c = connection->client, k = connection->node;
    note_set(world, connection, call, token);
    if (!sim_class_is_promised(world->options.class) || connection->client_left ||
        connection->ended)
        return; /* A late answer was right when it was sent. */
    const struct sim_token *left =
        call->did ? NULL : token_left(world, sim_actor_of(world, c, token->lock), k);
    if (!call->did)
        sim_demand(world, SIM_RULE_S6_OLDER, !left || left == token,
                   "S6: client %u sends a SET of %s to node %u, where an older token of the same "
                   "lock may lie",
                   c, call->key, k);
    check_asked(world, connection, call);
}

/* An extension needs votes as well. */
void sim_rules_saw_extend(struct sim_world *world, const struct cluster_connection *connection,
                          const struct model_call *call)
{
    if (sim_class_is_promised(world->options.class) && !connection->client_left &&
        !connection->ended)
        check_asked(world, connection, call);
}

static void note_miss(struct sim_token *token, unsigned node)
{
    if (token && token->misses[node] < UINT8_MAX) token->misses[node]++;
}

/* S9: a held token stays in place; S27: a held slot is not released by its own token. A token that
 * was adopted may have been released by the client that had it before. */
void sim_rules_saw_release(struct sim_world *world, const struct cluster_connection *connection,
                           const struct model_call *call, struct sim_token *token)
{
    const struct sim_actor *actor = sim_actor_of(world, connection->client, token->lock);
    char text[REDLOCK_TOKEN_TEXT + 1];
    if (!call->did) {
        note_miss(token, connection->node);
        note_miss(sim_find_token(world, call->other), connection->node);
    }
    redlock_token(lock_of(world, actor), text);
    if (actor->valid_until > now_of(world, actor->client))
        sim_demand(world, SIM_RULE_S9_LEAVES,
                   token->life != actor->life || strcmp(text, call->token) != 0,
                   "S9: client %u removes its token from node %u although it holds %s",
                   actor->client, connection->node,
                   sim_resource(actor->lock));
}

/* ---- What is counted and promised ---- */

/* S2, in whole microseconds and rounded against the holder: a round may promise no
 * more than this. */
static uint64_t promised_until(const struct sim_world *world, const struct redlock_round *round,
                               uint32_t ttl_ms)
{
    const uint64_t ttl_us = (uint64_t)ttl_ms * MS,
                   drift = (ttl_us * world->options.drift_ppm + SECOND - 1) / SECOND;
    const uint64_t lost = drift + DRIFT_FIXED_US;
    return round->started_at + (ttl_us > lost ? ttl_us - lost : 0);
}

/* S1, S3, S8: a quorum of nodes has done it, not merely answered. */
static void check_grants(struct sim_world *world, const struct sim_actor *actor, unsigned granted,
                         unsigned did)
{
    const unsigned n = world->options.node_count;
    sim_demand(world, SIM_RULE_S1, count_bits(granted) >= n / 2 + 1,
               "S1: client %u takes %u votes of %u nodes on %s for a quorum", actor->client,
               count_bits(granted), n,
               sim_resource(actor->lock));
    for (unsigned k = 0; k < n; k++)
        if (has(granted, k))
            sim_demand(world, SIM_RULE_S3, has(did, k),
                       "S3: client %u counts a vote of node %u on %s, which has not done what it "
                       "was asked",
                       actor->client, k, sim_resource(actor->lock));
}

/* S12: compares the answers of the two on the connection that asked them. */
static void check_servers(struct sim_world *world, const struct sim_actor *actor,
                          const struct sim_token *token, unsigned granted)
{
    const struct sim_said *said = world->said[actor->client];
    for (unsigned j = 0; j < world->options.node_count; j++)
        for (unsigned k = 0; k < j; k++)
            if (said[j].run_id[0] != '\0' && strcmp(said[j].run_id, said[k].run_id) == 0)
                sim_demand(
                    world, SIM_RULE_S12_TWIN,
                    !has(granted, j) || !has(granted, k) ||
                        said[j].connection != token->connection[j] ||
                        said[k].connection != token->connection[k],
                    "S12: client %u counts two votes of one server on %s, as nodes %u and %u",
                    actor->client, sim_resource(actor->lock), k, j);
}

void sim_rules_saw_won(struct sim_world *world, const struct sim_actor *actor)
{
    const struct redlock_lock *lock = lock_of(world, actor);
    const struct redlock_round *round = &lock->round;
    const uint64_t now_us = now_of(world, actor->client), valid_us = redlock_valid_us(lock, now_us);
    char text[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(lock, text);
    const struct sim_token *token = sim_token_of(world, text, actor->client);
    check_grants(world, actor, round->granted,
                 actor->fair ? sim_kinds_granted_in(world, token, round->number) : token->did);
    check_servers(world, actor, token, round->granted);
    sim_demand(world, SIM_RULE_S2_CLOCK, token->first_at >= round->started_at,
               "S2: client %u reads the clock for %s after it has sent", actor->client,
               sim_resource(actor->lock));
    sim_demand(
        world, SIM_RULE_S2_LEFT, valid_us > 0 && valid_us >= (uint64_t)actor->min_validity_ms * MS,
        "S2: client %u wins %s with too little left", actor->client, sim_resource(actor->lock));
    sim_demand(world, SIM_RULE_S2_WON,
               now_us + valid_us <= promised_until(world, round, actor->ttl_ms),
               "S2: client %u takes %s for longer than TTL, drift and elapsed time allow",
               actor->client, sim_resource(actor->lock));
    sim_demand(world, SIM_RULE_S10_ENDS,
               redlock_valid_us(lock, round->started_at - 1) == 0 &&
                   redlock_valid_us(lock, now_us + valid_us) == 0,
               "S10: client %u holds %s before its beginning or after its end", actor->client,
               sim_resource(actor->lock));
}

/* Which nodes have extended it since the round began? */
static unsigned extended_since(const struct sim_world *world, const struct sim_token *token,
                               uint64_t started_at)
{
    unsigned extended = 0;
    for (unsigned k = 0; k < world->options.node_count; k++)
        extended |= token->extended_at[k] >= started_at ? 1u << k : 0;
    return extended;
}

void sim_rules_saw_extended(struct sim_world *world, struct sim_actor *actor, bool by_keeper)
{
    const struct redlock_lock *lock = lock_of(world, actor);
    const struct redlock_round *round = &lock->round;
    const uint64_t now_us = now_of(world, actor->client),
                   until = now_us + redlock_valid_us(lock, now_us);
    /* The keeper's last one may be shorter. */
    const uint32_t ttl_ms = by_keeper ? round->ttl_ms : actor->ttl_ms;
    const uint64_t before = actor->adopted ? 0 : actor->valid_until,
                   promised = promised_until(world, round, ttl_ms);
    char text[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(lock, text);
    const struct sim_token *token = sim_token_of(world, text, actor->client);
    check_grants(world, actor, round->granted, extended_since(world, token, round->started_at));
    if (round->granted & token->restored) sim_count(world, SIM_PATH_RESTORED_COUNTS);
    if (by_keeper) sim_holding_saw_extended(world, actor, before, until);
    if (by_keeper)
        sim_demand(world, SIM_RULE_S13_TTL, ttl_ms <= actor->ttl_ms,
                   "S13: client %u keeps %s with a longer TTL than it has", actor->client,
                   sim_resource(actor->lock));
    if (!actor->adopted) {
        sim_demand(world, SIM_RULE_S9_HELD, before > now_us,
                   "S9: client %u extends %s, which was not held any more", actor->client,
                   sim_resource(actor->lock));
        sim_demand(world, SIM_RULE_S9_KEEPS, until >= before,
                   "S9: client %u loses by an extension of %s what it was promised", actor->client,
                   sim_resource(actor->lock));
    }
    sim_demand(world, SIM_RULE_S2_EXTENDED,
               now_us < promised && until <= (before > promised ? before : promised),
               "S2: client %u extends %s for longer than TTL, drift and elapsed time allow",
               actor->client, sim_resource(actor->lock));
    actor->extension_count++;
    if (actor->extension_limit > 0)
        sim_demand(world, SIM_RULE_S13_LIMIT, actor->extension_count <= actor->extension_limit,
                   "S13: client %u extends %s more often than the limit", actor->client,
                   sim_resource(actor->lock));
}

/* A ticket that was too small is corrected at once, but not twice in a row. It must be immediate,
 * unless the client was prevented, which makes the pause no shorter. */
static bool is_correction(struct sim_world *world, const struct sim_actor *actor)
{
    const struct redlock_round *round = &lock_of(world, actor)->round;
    const struct sim_token *token = sim_find_token(world, actor->attempt);
    const uint64_t took_us = actor->round_decided_at - actor->round_at;
    if (actor->attempts == 0 || !token || token->outdated == 0 || actor->is_corrected) return false;
    /* Like any attempt, it found the lock taken. */
    if (round->started_at - actor->round_decided_at >= took_us) return false;
    const bool is_late =
        round->started_at > actor->round_decided_at + 2 * (uint64_t)world->options.lag_us;
    if (is_late && world->cluster->clients[actor->client].hindered_at < actor->round_decided_at)
        return false;
    sim_count(world, SIM_PATH_TICKET_CORRECTED);
    return true;
}

/* S14: a new attempt has begun; the one before it is known from the last look. */
void sim_rules_saw_attempt(struct sim_world *world, struct sim_actor *actor)
{
    const struct redlock_round *round = &lock_of(world, actor)->round;
    const struct sim_token *before = sim_find_token(world, actor->attempt);
    const bool was_outdated = before && before->outdated != 0;
    const uint64_t decided_at = actor->round_decided_at;
    /* A client in the queue is in nobody's way. */
    const unsigned at_once = actor->fair ? 1u + actor->has_ticket : 0;
    const bool takes_place =
        actor->hurries < at_once && round->started_at - decided_at < decided_at - actor->round_at;
    const bool is_corrected = !takes_place && is_correction(world, actor);
    note_attempt(world, actor);
    actor->is_corrected = is_corrected;
    actor->hurries += actor->attempts > 0 && takes_place;
    if (actor->attempts > 0 && takes_place) return;
    if (actor->attempts == 0 || decided_at == 0 || is_corrected) return;
    const uint64_t took_us = decided_at - actor->round_at,
                   pause_us = round->started_at - decided_at - took_us;
    sim_demand(world, SIM_RULE_S14_PAUSE, round->started_at - decided_at >= took_us,
               "S14: client %u tries %s again sooner than the last round took", actor->client,
               sim_resource(actor->lock));
    /* A woken client comes as soon as it may; so does a correction, which an alarm that rings late
     * makes look like any attempt. */
    actor->same_pauses = pause_us == actor->pause_us && !actor->is_woken && !was_outdated
                             ? actor->same_pauses + 1
                             : 0;
    actor->pause_us = pause_us;
    if (!actor->is_woken && !actor->fair)
        sim_demand(world, SIM_RULE_S14_DICE, actor->same_pauses < SAME_PAUSES_MAX,
                   "S14: the pauses of client %u before %s are all alike", actor->client,
                   sim_resource(actor->lock));
}

void sim_rules_look_at_lock(struct sim_world *world, struct sim_actor *actor)
{
    const struct redlock_lock *lock = lock_of(world, actor);
    const struct redlock_round *round = &lock->round;
    const uint64_t now_us = now_of(world, actor->client), valid_us = redlock_valid_us(lock, now_us);
    const unsigned votes = count_bits(round->granted) + count_bits(round->refused) +
                           count_bits(round->unknown) + count_bits(round->not_asked);
    if (votes > 0)
        sim_demand(world, SIM_RULE_S8,
                   votes == count_bits((unsigned)(round->granted | round->refused | round->unknown |
                                                  round->not_asked)),
                   "S8: client %u counts a node's vote on %s twice", actor->client,
                   sim_resource(actor->lock));
    actor->valid_until = valid_us > 0 ? now_us + valid_us : 0;
    actor->round_decided_at = round->decided_at;
    if (sim_class_is_promised(world->options.class)) check_idle(world, actor);
}
