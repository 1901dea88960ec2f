/* The state of the world, as JSON. Times are microseconds; those called ...At are since the
 * beginning, by true time.
 *
 *   now, steps, hash, settings{...}, quorum, broken ("": the engine's own books are right), future
 *   (actions that are still to come)
 *   nodes[]     id, down, paused, slowUs, clockUs (by its own clock), aheadUs (of the clock it
 *               began with), ratePpm, startedAgoUs, keys[]: name, type ("string", "list", "zset"),
 *               value, leftUs (-1: no TTL), owner (client, -1), entries[]
 *   clients[]   id, name, frozen, dead, clockUs, ratePpm, phase, status, attempt, token, ttlMs,
 *               validUs, ticket, kept, waits, holds, owed, wakesInUs, votes[] (of the last round),
 *               round{number, command, startedAgoUs, decided, granted, refused, unknown, notAsked},
 *               verdict{status, won, command, ttlMs, elapsedUs, driftUs, validityUs, granted,
 *               refused, unknown, notAsked, ticket, arithmetic} or null, nodes[]:
 *               {votes, ticketed, words}
 *   links[client][node]   toNode{cut, delayUs}, toClient{cut, delayUs}, connected, cut
 *   flights[]   id (of the message), client, node, to, arrivesAt, heldUp
 *   resource    checksTickets, givesTickets, largest, admitted, refused, holders[],
 *               last{...} or null
 *   accident    at, first, second, late, words; or null */
#include "world.h"

#include <stdio.h>
#include <string.h>

/* ---- Nodes ---- */

static void write_entries(struct text *text, const struct model_key *key)
{
    if (!key->is_sorted_set) return;
    json_open(text, "entries", '[');
    for (size_t i = 0; i < key->entry_count; i++) {
        json_open(text, NULL, '{');
        json_number(text, "score", (int64_t)key->entries[i].score);
        json_bytes(text, "member", key->entries[i].member, key->entries[i].size);
        json_close(text, '}');
    }
    json_close(text, ']');
}

/* One that has run out is not there, though the model may not have removed it yet. */
static void write_key(struct text *text, const struct stage *stage, const struct model_key *key,
                      uint64_t node_now_us)
{
    if (key->expires_ms > 0 && key->expires_ms * 1000 <= node_now_us) return;
    json_open(text, NULL, '{');
    json_bytes(text, "name", key->name, key->name_size);
    json_text(text, "type", key->is_sorted_set ? "zset" : key->is_list ? "list" : "string");
    json_bytes(text, "value", key->value, key->value ? key->value_size : 0);
    json_number(text, "leftUs",
                key->expires_ms > 0 ? (int64_t)(key->expires_ms * 1000 - node_now_us) : -1);
    json_number(text, "owner",
                key->value ? stage_owner_of(stage, (const char *)key->value, key->value_size) : -1);
    write_entries(text, key);
    json_close(text, '}');
}

static void write_node(struct text *text, const struct stage *stage, unsigned k)
{
    const struct cluster_host *host = &stage->cluster->hosts[k];
    const uint64_t now_us = cluster_node_now(stage->cluster, k);
    json_open(text, NULL, '{');
    json_number(text, "id", k);
    json_bool(text, "down", host->down);
    json_bool(text, "paused", host->node.hung);
    json_number(text, "slowUs", (int64_t)host->slow_us);
    json_number(text, "clockUs", (int64_t)now_us);
    json_number(text, "aheadUs",
                (int64_t)(now_us - stage->cluster->now_us - stage->node_offset_us[k]));
    json_number(text, "ratePpm", host->clock.fast_ppm);
    json_number(text, "startedAgoUs", (int64_t)(now_us - host->node.started_us));
    json_open(text, "keys", '[');
    for (size_t i = 0; i < host->node.key_count && !host->down; i++)
        write_key(text, stage, &host->node.keys[i], now_us);
    json_close(text, ']');
    json_close(text, '}');
}

/* ---- Clients ---- */

static void write_sets(struct text *text, uint16_t granted, uint16_t refused, uint16_t unknown,
                       uint16_t not_asked)
{
    json_number(text, "granted", granted);
    json_number(text, "refused", refused);
    json_number(text, "unknown", unknown);
    json_number(text, "notAsked", not_asked);
}

static void write_round(struct text *text, const struct redlock_lock *lock, uint64_t now_us)
{
    const struct redlock_round *round = &lock->round;
    json_open(text, "round", '{');
    json_number(text, "number", round->number);
    json_text(text, "command",
              round->number > 0 ? name_of_command((enum redlock_command)round->command) : "");
    json_number(text, "startedAgoUs",
                round->number > 0 ? (int64_t)(now_us - round->started_at) : 0);
    json_bool(text, "decided", round->decided_at > 0);
    write_sets(text, round->granted, round->refused, round->unknown, round->not_asked);
    json_close(text, '}');
}

static void write_verdict(struct text *text, const struct stage *stage,
                          const struct redlock_event *event)
{
    const struct redlock_event_verdict *verdict = &event->as.verdict;
    char arithmetic[120];
    if (event->kind != REDLOCK_EVENT_VERDICT) {
        json_null(text, "verdict");
        return;
    }
    stage_arithmetic(stage, event, arithmetic, sizeof arithmetic);
    json_open(text, "verdict", '{');
    json_text(text, "status", redlock_status_text(verdict->status));
    json_bool(text, "won", verdict->status == REDLOCK_OK);
    json_text(text, "command", name_of_command(event->command));
    json_number(text, "ttlMs", verdict->ttl_ms);
    json_number(text, "elapsedUs", (int64_t)verdict->elapsed_us);
    json_number(text, "driftUs", (int64_t)verdict->drift_us);
    json_number(text, "validityUs", (int64_t)verdict->validity_us);
    json_number(text, "ticket", (int64_t)verdict->ticket);
    json_text(text, "arithmetic", arithmetic);
    write_sets(text, event->granted, event->refused, event->unknown, event->not_asked);
    json_close(text, '}');
}

static void write_its_nodes(struct text *text, const struct stage *stage, unsigned c)
{
    const struct redlock *engine = &stage->cluster->clients[c].engine;
    const uint64_t now_us = cluster_client_now(stage->cluster, c);
    char words[160];
    json_open(text, "nodes", '[');
    for (unsigned k = 0; k < stage->settings.nodes; k++) {
        redlock_describe_node(engine, k, now_us, words, sizeof words);
        json_open(text, NULL, '{');
        json_bool(text, "votes", redlock_node_votes(engine, k, now_us));
        json_bool(text, "ticketed", redlock_view_node(engine, k, now_us).gives_tickets);
        json_text(text, "words", words);
        json_close(text, '}');
    }
    json_close(text, ']');
}

static void write_lock(struct text *text, const struct stage *stage, unsigned c)
{
    const struct redlock_lock *lock = cluster_lock(stage->cluster, c, 0);
    char token[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(lock, token);
    json_text(text, "phase", name_of_phase((enum redlock_phase)lock->phase));
    json_text(text, "status", redlock_status_text(redlock_lock_status(lock)));
    json_text(text, "attempt", redlock_status_text(redlock_attempt_status(lock)));
    json_bool(text, "pending", redlock_lock_status(lock) == REDLOCK_PENDING);
    json_text(text, "token", lock->round.number > 0 ? token : "");
    json_number(text, "ttlMs", lock->ttl_ms);
    json_number(text, "validUs",
                stage_holds(stage, c) ? (int64_t)cluster_valid_us(stage->cluster, c, 0) : 0);
    json_number(text, "ticket", (int64_t)redlock_ticket(lock));
    json_bool(text, "kept", lock->is_kept);
    json_bool(text, "holds", stage_holds(stage, c));
    json_number(text, "owed", redlock_view_lock(lock).owed);
    json_open(text, "votes", '[');
    for (unsigned k = 0; k < stage->settings.nodes; k++)
        json_text(text, NULL, redlock_vote_text(redlock_vote_of(lock, k)));
    json_close(text, ']');
    write_round(text, lock, cluster_client_now(stage->cluster, c));
}

static void write_client(struct text *text, const struct stage *stage, unsigned c)
{
    const struct cluster_client *client = &stage->cluster->clients[c];
    const uint64_t now_us = cluster_client_now(stage->cluster, c),
                   wakes_at = redlock_wake_at(&client->engine);
    const char name[2] = { stage_client_name(c), '\0' };
    json_open(text, NULL, '{');
    json_number(text, "id", c);
    json_text(text, "name", name);
    json_bool(text, "frozen", client->frozen);
    json_bool(text, "dead", client->dead);
    json_number(text, "clockUs", (int64_t)now_us);
    json_number(text, "ratePpm", client->clock.fast_ppm);
    json_number(text, "wakesInUs",
                wakes_at == REDLOCK_NEVER ? -1
                : wakes_at > now_us       ? (int64_t)(wakes_at - now_us)
                                          : 0);
    write_lock(text, stage, c);
    write_verdict(text, stage, &stage->verdict[c]);
    write_its_nodes(text, stage, c);
    json_close(text, '}');
}

/* ---- Links and what is on its way ---- */

static bool is_connected(const struct cluster *cluster, unsigned client, unsigned node)
{
    for (size_t i = 0; i < cluster->connection_count; i++) {
        const struct cluster_connection *connection = cluster->connections[i];
        if (connection->client == client && connection->line == node && !connection->client_left)
            return connection->open && !connection->ended;
    }
    return false;
}

static void write_direction(struct text *text, const char *name, bool is_cut, uint64_t delay_us)
{
    json_open(text, name, '{');
    json_bool(text, "cut", is_cut);
    json_number(text, "delayUs", (int64_t)delay_us);
    json_close(text, '}');
}

static void write_link(struct text *text, const struct cluster *cluster, unsigned c, unsigned k)
{
    const struct cluster_link *link = &cluster->links[c][k];
    json_open(text, NULL, '{');
    write_direction(text, "toNode", link->cut || link->mute, link->delay_us + link->to_node_us);
    write_direction(text, "toClient", link->cut || link->deaf,
                    link->delay_us + link->to_client_us + cluster->hosts[k].slow_us);
    json_bool(text, "cut", link->cut);
    json_bool(text, "connected", is_connected(cluster, c, k));
    json_close(text, '}');
}

static void write_links(struct text *text, const struct stage *stage)
{
    json_open(text, "links", '[');
    for (unsigned c = 0; c < stage->settings.clients; c++) {
        json_open(text, NULL, '[');
        for (unsigned k = 0; k < stage->settings.nodes; k++) write_link(text, stage->cluster, c, k);
        json_close(text, ']');
    }
    json_close(text, ']');
}

static void write_pipe(struct text *text, const struct stage *stage,
                       const struct cluster_connection *connection, bool to_node)
{
    const struct cluster_pipe *pipe = to_node ? &connection->to_node : &connection->to_client;
    const struct cluster_link *link = &stage->cluster->links[connection->client][connection->node];
    for (size_t i = 0; i < pipe->count; i++) {
        if (pipe->segments[i].end) continue;
        json_open(text, NULL, '{');
        json_number(text, "id", (int64_t)pipe->segments[i].number);
        json_number(text, "client", connection->client);
        json_number(text, "node", connection->node);
        json_text(text, "to", to_node ? "node" : "client");
        json_number(text, "arrivesAt", (int64_t)(pipe->segments[i].at - stage->begun_us));
        json_bool(text, "heldUp", to_node ? link->mute : link->deaf);
        json_close(text, '}');
    }
}

static void write_flights(struct text *text, const struct stage *stage)
{
    json_open(text, "flights", '[');
    for (size_t i = 0; i < stage->cluster->connection_count; i++) {
        write_pipe(text, stage, stage->cluster->connections[i], true);
        write_pipe(text, stage, stage->cluster->connections[i], false);
    }
    json_close(text, ']');
}

/* ---- The resource, and all of it ---- */

static void write_last(struct text *text, const struct stage *stage)
{
    const struct stage_write *last = &stage->last_write;
    if (stage->admitted_count + stage->refused_count == 0) {
        json_null(text, "last");
        return;
    }
    json_open(text, "last", '{');
    json_number(text, "at", (int64_t)last->at_us);
    json_number(text, "client", last->client);
    json_number(text, "ticket", (int64_t)last->ticket);
    json_bool(text, "admitted", last->admitted);
    json_bool(text, "held", last->held);
    json_close(text, '}');
}

static void write_resource(struct text *text, const struct stage *stage)
{
    json_open(text, "resource", '{');
    json_text(text, "name", STAGE_RESOURCE);
    json_bool(text, "checksTickets", stage->checks_tickets);
    json_bool(text, "givesTickets", stage->gives_tickets);
    json_number(text, "largest", (int64_t)stage->fence.largest);
    json_number(text, "admitted", stage->admitted_count);
    json_number(text, "refused", stage->refused_count);
    json_open(text, "holders", '[');
    for (unsigned c = 0; c < stage->settings.clients; c++)
        if (stage_holds(stage, c)) json_number(text, NULL, c);
    json_close(text, ']');
    write_last(text, stage);
    json_close(text, '}');
}

static void write_accident(struct text *text, const struct stage *stage)
{
    const struct stage_accident *accident = &stage->accident;
    if (!accident->happened) {
        json_null(text, "accident");
        return;
    }
    json_open(text, "accident", '{');
    json_number(text, "at", (int64_t)accident->at_us);
    json_number(text, "first", accident->first);
    json_number(text, "second", accident->second);
    json_bool(text, "late", accident->is_late_write);
    json_text(text, "words", accident->words);
    json_close(text, '}');
}

static void write_settings(struct text *text, const struct stage_settings *settings)
{
    json_open(text, "settings", '{');
    json_number(text, "n", settings->nodes);
    json_number(text, "c", settings->clients);
    json_number(text, "seed", (int64_t)settings->seed);
    json_number(text, "ttl", settings->ttl_ms);
    json_number(text, "wait", settings->wait_ms);
    json_number(text, "drift", settings->drift_ppm);
    json_number(text, "guard", settings->guard_ms);
    json_number(text, "latency", settings->latency_us);
    json_number(text, "jitter", settings->jitter_us);
    json_number(text, "tickets", settings->tickets);
    json_number(text, "fence", settings->fence);
    json_number(text, "wakeups", settings->wake_ups);
    json_close(text, '}');
}

void state_write(struct text *text, const struct playground *world)
{
    const struct stage *stage = world->stage;
    char hash[20];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)stage->hash);
    json_open(text, NULL, '{');
    json_number(text, "now", (int64_t)stage_now_us(stage));
    json_number(text, "steps", (int64_t)stage->step_count);
    json_text(text, "hash", hash);
    write_settings(text, &stage->settings);
    json_number(text, "quorum", redlock_quorum(stage->settings.nodes));
    json_text(text, "broken", stage->cluster->broken);
    json_number(text, "future", (int64_t)(world->script_count - world->script_done));
    json_open(text, "nodes", '[');
    for (unsigned k = 0; k < stage->settings.nodes; k++) write_node(text, stage, k);
    json_close(text, ']');
    json_open(text, "clients", '[');
    for (unsigned c = 0; c < stage->settings.clients; c++) write_client(text, stage, c);
    json_close(text, ']');
    write_links(text, stage);
    write_flights(text, stage);
    write_resource(text, stage);
    write_accident(text, stage);
    json_close(text, '}');
}
