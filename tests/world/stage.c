#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MS = 1000,
    SETTLE_MS = 20,             /* All clients connect within this, at the cluster's own latency. */
    RING = 64                   /* Events of one client between two looks at them. */
};

/* ---- Setting up ---- */

struct stage_settings stage_defaults(void)
{
    return (struct stage_settings){ .seed = 1,
                                    .nodes = 5,
                                    .clients = 2,
                                    .ttl_ms = 10000,
                                    .drift_ppm = REDLOCK_DRIFT_PPM,
                                    .guard_ms = REDLOCK_GUARD_MS,
                                    .latency_us = CLUSTER_DELAY_US,
                                    .fence = true };
}

static uint64_t between(uint64_t low, uint64_t number, uint64_t high)
{
    return number < low ? low : number > high ? high : number;
}

static void bring_into_range(struct stage_settings *settings)
{
    settings->nodes = (unsigned)between(1, settings->nodes, STAGE_NODES_MAX);
    settings->clients = (unsigned)between(1, settings->clients, STAGE_CLIENTS_MAX);
    settings->ttl_ms = (uint32_t)between(10, settings->ttl_ms, 3600000);
    settings->wait_ms = (uint32_t)between(0, settings->wait_ms, 3600000);
    settings->drift_ppm = (uint32_t)between(0, settings->drift_ppm, REDLOCK_DRIFT_PPM_MAX);
    settings->guard_ms = (uint32_t)between(0, settings->guard_ms, 7200000);
    settings->latency_us = (uint32_t)between(1, settings->latency_us, 10000000);
    settings->jitter_us = (uint32_t)between(0, settings->jitter_us, 10000000);
}

static struct cluster *make_cluster(const struct stage_settings *settings)
{
    struct redlock_config config;
    redlock_config_init(&config);
    config.guard_ms = settings->guard_ms;
    config.drift_ppm = settings->drift_ppm;
    config.wake_ups = settings->wake_ups;
    struct cluster *cluster =
        cluster_new(settings->nodes, settings->clients, &config, settings->seed);
    /* Losses are to be seen, and the stage checks them itself. */
    cluster->no_promise = cluster->no_exclusion = true;
    cluster_run_ms(cluster, SETTLE_MS);
    return cluster;
}

static void set_link(struct stage *stage, unsigned client, unsigned node)
{
    struct cluster_link *link = &stage->cluster->links[client][node];
    cluster_heal(stage->cluster, client, node);
    link->to_node_us = link->to_client_us = 0;
    link->delay_us = stage->settings.latency_us;
    link->jitter_us = stage->settings.jitter_us;
}

static void use_events(struct stage *stage, unsigned client)
{
    redlock_use_events(&stage->cluster->clients[client].engine, &stage->rings[client],
                       stage->events + client * RING, RING);
}

static void saw_call(void *context, unsigned client);
static void saw_command(void *context, const struct cluster_connection *connection,
                        const struct model_call *call);
static void saw_message(void *context, const struct cluster_connection *connection,
                        const struct cluster_message *message);
static void saw_arrival(void *context, uint64_t message);

struct stage *stage_new(const struct stage_settings *settings,
                        const struct stage_observer *observer)
{
    struct stage *stage = calloc(1, sizeof *stage);
    if (!stage || !(stage->events = calloc(STAGE_CLIENTS_MAX * RING, sizeof *stage->events)))
        abort();
    stage->settings = *settings;
    bring_into_range(&stage->settings);
    stage->gives_tickets = stage->settings.tickets;
    stage->checks_tickets = stage->settings.fence;
    stage->cluster = make_cluster(&stage->settings);
    stage->begun_us = stage->cluster->now_us;
    stage->hash = 14695981039346656037u;
    for (unsigned k = 0; k < stage->settings.nodes; k++) {
        stage->node_offset_us[k] = cluster_node_now(stage->cluster, k) - stage->cluster->now_us;
        /* The time before the beginning is not shown. */
        stage->cluster->hosts[k].node.call_count = 0;
    }
    if (observer) stage->observer = *observer;
    stage->cluster->observer = (struct cluster_observer){
        stage, saw_command, saw_call, saw_message, saw_arrival
    };
    for (unsigned c = 0; c < stage->settings.clients; c++) {
        for (unsigned k = 0; k < stage->settings.nodes; k++) set_link(stage, c, k);
        use_events(stage, c);
    }
    return stage;
}

void stage_free(struct stage *stage)
{
    if (!stage) return;
    cluster_free(stage->cluster);
    free(stage->events);
    free(stage->actions);
    free(stage);
}

/* ---- Questions ---- */

uint64_t stage_now_us(const struct stage *stage)
{
    return stage->cluster->now_us - stage->begun_us;
}

char stage_client_name(unsigned client)
{
    return (char)('A' + client);
}

bool stage_holds(const struct stage *stage, unsigned client)
{
    return !stage->cluster->clients[client].dead && cluster_valid_us(stage->cluster, client, 0) > 0;
}

int stage_owner_of(const struct stage *stage, const char *token, size_t size)
{
    const unsigned count = stage->token_count < STAGE_TOKENS ? stage->token_count : STAGE_TOKENS;
    for (unsigned i = 0; size >= REDLOCK_TOKEN_TEXT && i < count; i++)
        if (memcmp(stage->tokens[i].text, token, REDLOCK_TOKEN_TEXT) == 0)
            return (int)stage->tokens[i].client;
    return -1;
}

static unsigned count_of(uint16_t set)
{
    unsigned count = 0;
    for (; set != 0; set &= (uint16_t)(set - 1)) count++;
    return count;
}

void stage_arithmetic(const struct stage *stage, const struct redlock_event *event, char *text,
                      size_t size)
{
    const struct redlock_event_verdict *verdict = &event->as.verdict;
    const unsigned long long tenths = (verdict->elapsed_us + 50) / 100,
                             drift = (verdict->drift_us + 50) / 100;
    const unsigned long long valid = verdict->validity_us / 100;
    snprintf(text, size, "%u - %llu.%llu - %llu.%llu = %llu.%llu ms valid, %u of %u",
             (unsigned)verdict->ttl_ms, tenths / 10, tenths % 10, drift / 10, drift % 10,
             valid / 10, valid % 10, count_of(event->granted), stage->settings.nodes);
}

/* ---- Hash: FNV-1a, byte by byte from the lowest, alike on every machine ---- */

static void mix(struct stage *stage, uint64_t number)
{
    for (unsigned i = 0; i < 8; i++)
        stage->hash = (stage->hash ^ (number >> 8 * i & 255)) * 1099511628211u;
}

static void mix_text(struct stage *stage, const char *text)
{
    for (; *text != '\0'; text++) stage->hash = (stage->hash ^ (uint8_t)*text) * 1099511628211u;
}

/* ---- Watching ---- */

/* Does its client still have it, held or asked for? However often others try, it must be known
 * whose key it is. */
static bool is_in_use(const struct stage *stage, unsigned place)
{
    char text[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(cluster_lock(stage->cluster, stage->tokens[place].client, 0), text);
    return strcmp(stage->tokens[place].text, text) == 0;
}

static void note_token(struct stage *stage, unsigned client)
{
    char text[REDLOCK_TOKEN_TEXT + 1];
    redlock_token(cluster_lock(stage->cluster, client, 0), text);
    if (stage_owner_of(stage, text, REDLOCK_TOKEN_TEXT) >= 0) return;
    while (is_in_use(stage, stage->token_count % STAGE_TOKENS)) stage->token_count++;
    const unsigned place = stage->token_count++ % STAGE_TOKENS;
    memcpy(stage->tokens[place].text, text, sizeof text);
    stage->tokens[place].client = client;
}

static enum redlock_vote vote_in(const struct redlock_event *event)
{
    return event->kind == REDLOCK_EVENT_HEARD || event->kind == REDLOCK_EVENT_UNANSWERED
               ? event->as.message.vote
               : REDLOCK_VOTE_PENDING;
}

static enum redlock_status status_in(const struct redlock_event *event)
{
    switch (event->kind) {
    case REDLOCK_EVENT_VERDICT: return event->as.verdict.status;
    case REDLOCK_EVENT_ENDED:   return event->as.status;
    default:                    return REDLOCK_OK;
    }
}

static void note_event(struct stage *stage, unsigned client, const struct redlock_event *event)
{
    mix(stage, stage_now_us(stage));
    mix(stage, (uint64_t)client << 32 | (uint64_t)event->kind << 24 |
                   (uint64_t)event->session << 16 | (uint64_t)vote_in(event) << 8 |
                   status_in(event));
    if (event->kind == REDLOCK_EVENT_SENT && event->command == REDLOCK_COMMAND_ACQUIRE)
        note_token(stage, client);
    if (event->kind != REDLOCK_EVENT_VERDICT) return;
    stage->verdict[client] = *event;
    if (event->as.verdict.status != REDLOCK_OK) return;
    stage->won[client] = *event;
    if (event->command == REDLOCK_COMMAND_ACQUIRE) stage->won_at_us[client] = stage_now_us(stage);
}

static void saw_call(void *context, unsigned client)
{
    struct stage *stage = context;
    struct redlock_event event;
    while (redlock_next_event(&stage->rings[client], &event)) {
        note_event(stage, client, &event);
        if (stage->observer.saw_event)
            stage->observer.saw_event(stage->observer.context, client, &event);
    }
}

static void saw_command(void *context, const struct cluster_connection *connection,
                        const struct model_call *call)
{
    struct stage *stage = context;
    mix(stage, stage_now_us(stage));
    mix(stage, (uint64_t)connection->client << 16 | connection->node << 8 | call->did);
    mix_text(stage, call->name);
    mix_text(stage, call->token);
    if (stage->observer.saw_command)
        stage->observer.saw_command(stage->observer.context, connection, call);
}

/* Bytes that the client has encoded are reported before bytes that it sends. */
static void saw_message(void *context, const struct cluster_connection *connection,
                        const struct cluster_message *message)
{
    struct stage *stage = context;
    if (message->to_node) saw_call(stage, connection->client);
    if (stage->observer.saw_message)
        stage->observer.saw_message(stage->observer.context, connection, message);
}

static void saw_arrival(void *context, uint64_t message)
{
    const struct stage *stage = context;
    if (stage->observer.saw_arrival) stage->observer.saw_arrival(stage->observer.context, message);
}

/* ---- Accidents ---- */

/* A node that granted the lock to both, and why it no longer had it of the first; -1:
 * there is none. */
static int shared_node(const struct stage *stage, unsigned first, unsigned second)
{
    const unsigned both = stage->won[first].granted & stage->won[second].granted;
    for (unsigned k = 0; k < stage->settings.nodes; k++)
        if ((both >> k & 1) != 0 && stage->forgot[k]) return (int)k;
    return -1;
}

static void explain(struct stage *stage, unsigned first, unsigned second)
{
    struct stage_accident *accident = &stage->accident;
    const char a = stage_client_name(first), b = stage_client_name(second);
    const char slow = stage->slept[first] ? a : b;
    const int node = shared_node(stage, first, second);
    if (accident->is_late_write && stage->checks_tickets && stage->last_write.ticket > 0)
        snprintf(accident->words, sizeof accident->words,
                 "%c wrote without asking whether it still held the lock, and the resource has "
                 "seen no larger ticket: %c has a smaller one, or has not shown it.",
                 a, b);
    else if (accident->is_late_write)
        snprintf(accident->words, sizeof accident->words,
                 "%c wrote without asking whether it still held the lock, and the resource did not "
                 "check a ticket.",
                 a);
    else if (stage->slept[first] || stage->slept[second])
        snprintf(accident->words, sizeof accident->words,
                 "%c's clock %s, so %c believes that it has the lock when its keys have run out.",
                 slow, stage->slept[first] ? stage->slept[first] : stage->slept[second], slow);
    else if (node >= 0)
        snprintf(accident->words, sizeof accident->words,
                 "Node %d is in both quorums. It granted the key to %c; then %s; so it granted it "
                 "to %c, too.",
                 node, a, stage->forgot[node], b);
    else
        snprintf(accident->words, sizeof accident->words,
                 "%c and %c both hold it, and no reason is known.", a, b);
}

static void note_accident(struct stage *stage, unsigned first, unsigned second, bool is_late_write)
{
    if (stage->accident.happened) return;
    stage->accident = (struct stage_accident){
        .happened = true, .at_us = stage_now_us(stage), .first = first, .second = second,
        .is_late_write = is_late_write
    };
    explain(stage, first, second);
    if (stage->observer.saw_accident) stage->observer.saw_accident(stage->observer.context);
}

/* The one that held it first is named first. */
static void look_for_two(struct stage *stage)
{
    for (unsigned b = 0; b < stage->settings.clients; b++)
        for (unsigned a = 0; a < stage->settings.clients; a++)
            if (a != b && stage_holds(stage, a) && stage_holds(stage, b) && stage->held[a] &&
                !stage->held[b])
                note_accident(stage, a, b, false);
}

static void look(struct stage *stage)
{
    look_for_two(stage);
    for (unsigned c = 0; c < stage->settings.clients; c++) {
        const bool holds = stage_holds(stage, c);
        const bool ended =
            stage->held[c] && !holds &&
            redlock_lock_status(cluster_lock(stage->cluster, c, 0)) != REDLOCK_PENDING &&
            !redlock_idle(cluster_lock(stage->cluster, c, 0)) && !stage->cluster->clients[c].dead;
        stage->held[c] = holds;
        if (ended && stage->observer.saw_end) stage->observer.saw_end(stage->observer.context, c);
    }
}

/* ---- Time ---- */

/* The first end among the resource's holders, by the cluster's time. */
static uint64_t first_end(const struct stage *stage)
{
    uint64_t first = REDLOCK_NEVER;
    for (unsigned c = 0; c < stage->settings.clients; c++) {
        const uint64_t end =
            stage_holds(stage, c) ? cluster_valid_until(stage->cluster, c, 0) : REDLOCK_NEVER;
        if (end < first) first = end;
    }
    return first;
}

/* A step without an event has drawn from the dice of the next turn, which must not count. */
static bool step_at_most(struct stage *stage, uint64_t until_us)
{
    struct cluster *cluster = stage->cluster;
    const uint64_t dice = cluster->dice;
    stage->step_count++;        /* The reports about it belong to it. */
    const bool has_happened = cluster_step(cluster, until_us);
    if (!has_happened) {
        stage->step_count--;
        cluster->dice = dice;
    }
    look(stage);
    return has_happened;
}

/* The end of a validity is no event of the cluster's; the stage looks at it when it comes
 * nevertheless, and so reports it at its own time. */
static bool step(struct stage *stage, uint64_t until_us)
{
    if (until_us < stage->cluster->now_us) return false;
    for (uint64_t end; (end = first_end(stage)) < until_us;)
        if (step_at_most(stage, end)) return true;
    return step_at_most(stage, until_us);
}

bool stage_step(struct stage *stage, uint64_t until_us)
{
    return step(stage, stage->begun_us + until_us);
}

void stage_run_until(struct stage *stage, uint64_t until_us)
{
    while (stage_step(stage, until_us)) { }
}

void stage_run_until_done(struct stage *stage, unsigned client)
{
    const struct redlock_lock *lock = cluster_lock(stage->cluster, client, 0);
    const uint64_t until_us = stage->cluster->now_us + (uint64_t)CLUSTER_PATIENCE_MS * MS;
    while (redlock_lock_status(lock) == REDLOCK_PENDING && step(stage, until_us)) { }
    stage_run_until(stage, stage_now_us(stage));
}

uint64_t stage_moves(const struct stage *stage)
{
    return stage->step_count + stage->action_count;
}

/* ---- What a client does ---- */

static const char *text_of(enum redlock_status status)
{
    return status == REDLOCK_OK ? "" : redlock_status_text(status);
}

static const char *why_not_awake(const struct stage *stage, unsigned client)
{
    const struct cluster_client *owner = &stage->cluster->clients[client];
    return owner->dead ? "it has ended" : owner->frozen ? "it is stopped" : "";
}

static const char *act_acquire(struct stage *stage, const struct stage_action *action)
{
    const uint32_t wait_ms = action->value > 0
                                 ? (uint32_t)between(0, (uint64_t)action->value, 3600000)
                                 : stage->settings.wait_ms;
    const struct redlock_request request = {
        .resource = STAGE_RESOURCE, .resource_size = sizeof STAGE_RESOURCE - 1,
        .ttl_ms = stage->settings.ttl_ms, .wait_ms = wait_ms, .ticket = stage->gives_tickets
    };
    return text_of(cluster_acquire(stage->cluster, action->client, 0, &request));
}

static const char *act_extend(struct stage *stage, const struct stage_action *action)
{
    return text_of(cluster_extend(stage->cluster, action->client, 0, stage->settings.ttl_ms));
}

static const char *act_keep(struct stage *stage, const struct stage_action *action)
{
    return text_of(cluster_keep(stage->cluster, action->client, 0, 0));
}

static const char *act_release(struct stage *stage, const struct stage_action *action)
{
    return text_of(cluster_release(stage->cluster, action->client, 0));
}

static bool is_admitted(struct stage *stage, uint64_t ticket)
{
    if (!stage->checks_tickets) return true;
    return ticket == 0 ? stage->fence.largest == 0
        : redlock_fence_admit(&stage->fence, ticket, false);
}

/* Another client that holds it, or has written since this one won it; -1: none. */
static int rival_of(const struct stage *stage, unsigned client)
{
    const struct stage_write *write = &stage->last_write;
    for (unsigned c = 0; c < stage->settings.clients; c++)
        if (c != client && stage_holds(stage, c)) return (int)c;
    return write->admitted && write->client != client && write->at_us >= stage->won_at_us[client]
               ? (int)write->client
               : -1;
}

static void write_to_resource(struct stage *stage, unsigned client)
{
    struct stage_write *write = &stage->last_write;
    const uint64_t ticket = redlock_ticket(cluster_lock(stage->cluster, client, 0));
    const int rival = rival_of(stage, client);
    *write = (struct stage_write){
        stage_now_us(stage), ticket, client, is_admitted(stage, ticket), stage_holds(stage, client)
    };
    mix(stage, ticket << 1 | write->admitted);
    *(write->admitted ? &stage->admitted_count : &stage->refused_count) += 1;
    if (stage->observer.saw_write) stage->observer.saw_write(stage->observer.context, write);
    if (write->admitted && !write->held && rival >= 0)
        note_accident(stage, client, (unsigned)rival, true);
}

static const char *act_write(struct stage *stage, const struct stage_action *action)
{
    if (!stage_holds(stage, action->client))
        return "it asks, and does not hold the lock, so it does not write";
    write_to_resource(stage, action->client);
    return "";
}

static const char *act_write_blindly(struct stage *stage, const struct stage_action *action)
{
    if (stage->won[action->client].kind != REDLOCK_EVENT_VERDICT)
        return "it has never held the lock";
    write_to_resource(stage, action->client);
    return "";
}

static const char *act_freeze(struct stage *stage, const struct stage_action *action)
{
    stage->cluster->clients[action->client].frozen = true;
    return "";
}

static const char *act_suspend(struct stage *stage, const struct stage_action *action)
{
    stage->cluster->clients[action->client].frozen = true;
    if (action->value == 0) {
        cluster_set_client_rate(stage->cluster, action->client, -1000000);
        stage->slept[action->client] = "stood still while its machine was suspended";
    }
    return "";
}

static const char *act_wake(struct stage *stage, const struct stage_action *action)
{
    struct cluster_client *client = &stage->cluster->clients[action->client];
    if (client->dead) return "it has ended";
    if (!client->frozen) return "it is awake";
    client->frozen = false;
    if (client->clock.fast_ppm == -1000000)
        cluster_set_client_rate(stage->cluster, action->client, 0);
    return "";
}

static const char *act_crash(struct stage *stage, const struct stage_action *action)
{
    if (stage->cluster->clients[action->client].dead) return "it has ended";
    cluster_client_dies(stage->cluster, action->client);
    return "";
}

static const char *act_return(struct stage *stage, const struct stage_action *action)
{
    if (!stage->cluster->clients[action->client].dead) return "it runs";
    stage->cluster->clients[action->client].frozen = false;
    cluster_set_client_rate(stage->cluster, action->client, 0);
    stage->won[action->client] = stage->verdict[action->client] = (struct redlock_event){
        .at_us = 0
    };
    stage->slept[action->client] = NULL;
    cluster_client_returns(stage->cluster, action->client);
    use_events(stage, action->client);
    return "";
}

static const char *act_client_rate(struct stage *stage, const struct stage_action *action)
{
    const int64_t ppm = action->value < -900000  ? -900000
                        : action->value > 900000 ? 900000
                                                 : action->value;
    cluster_set_client_rate(stage->cluster, action->client, (int32_t)ppm);
    if (ppm != 0) stage->slept[action->client] = "ran otherwise than the clocks of the nodes";
    return "";
}

/* ---- What happens to a node ---- */

static struct cluster_host *host_of(struct stage *stage, const struct stage_action *action)
{
    return &stage->cluster->hosts[action->node];
}

static const char *act_kill(struct stage *stage, const struct stage_action *action)
{
    if (host_of(stage, action)->down) return "it is down";
    cluster_node_down(stage->cluster, action->node);
    return "";
}

/* A process that was stopped is not, when it is another one. */
static void restart(struct stage *stage, unsigned node, bool keeps_keys)
{
    cluster_node_down(stage->cluster, node);
    stage->cluster->hosts[node].node.hung = false;
    cluster_node_up(stage->cluster, node, keeps_keys);
}

static const char *act_empty(struct stage *stage, const struct stage_action *action)
{
    restart(stage, action->node, false);
    stage->forgot[action->node] =
        stage->settings.guard_ms > 0
            ? "it restarted with an empty memory"
            : "it restarted with an empty memory, and votes again without a guard";
    return "";
}

static const char *act_restart(struct stage *stage, const struct stage_action *action)
{
    restart(stage, action->node, true);
    return "";
}

static const char *act_pause(struct stage *stage, const struct stage_action *action)
{
    if (host_of(stage, action)->down) return "it is down";
    cluster_node_hang(stage->cluster, action->node);
    return "";
}

static const char *act_resume(struct stage *stage, const struct stage_action *action)
{
    if (!host_of(stage, action)->node.hung) return "it is not paused";
    cluster_node_resume(stage->cluster, action->node);
    return "";
}

static const char *act_slow(struct stage *stage, const struct stage_action *action)
{
    host_of(stage, action)->slow_us =
        action->value > 0 ? between(0, (uint64_t)action->value, 60000000) : 0;
    return "";
}

static const char *act_step_clock(struct stage *stage, const struct stage_action *action)
{
    const int64_t ms = action->value < -86400000  ? -86400000
                       : action->value > 86400000 ? 86400000
                                                  : action->value;
    cluster_step_node_clock(stage->cluster, action->node, ms * MS);
    if (ms > 0)
        stage->forgot[action->node] =
            "its clock was stepped forward, so that the key ended too early";
    return "";
}

static const char *act_node_rate(struct stage *stage, const struct stage_action *action)
{
    const int64_t ppm = action->value < -900000  ? -900000
                        : action->value > 900000 ? 900000
                                                 : action->value;
    cluster_set_node_rate(stage->cluster, action->node, (int32_t)ppm);
    if (ppm > (int64_t)stage->settings.drift_ppm)
        stage->forgot[action->node] = "its clock ran faster than the drift allows";
    return "";
}

static const char *act_flush(struct stage *stage, const struct stage_action *action)
{
    if (host_of(stage, action)->down) return "it is down";
    model_flush(&host_of(stage, action)->node);
    stage->forgot[action->node] = "FLUSHALL removed the key";
    return "";
}

static const char *act_evict(struct stage *stage, const struct stage_action *action)
{
    if (!cluster_key(stage->cluster, action->node, STAGE_RESOURCE)) return "it has no such key";
    model_remove(&host_of(stage, action)->node, STAGE_RESOURCE);
    stage->forgot[action->node] = "it evicted the key, since its memory was full";
    return "";
}

/* Another library, whose clients compare no token. */
static const char *act_delete(struct stage *stage, const struct stage_action *action)
{
    if (!cluster_key(stage->cluster, action->node, STAGE_RESOURCE)) return "it has no such key";
    model_remove(&host_of(stage, action)->node, STAGE_RESOURCE);
    stage->forgot[action->node] = "a client without a token deleted the key";
    return "";
}

static const char *act_prolong(struct stage *stage, const struct stage_action *action)
{
    const char *value = cluster_key(stage->cluster, action->node, STAGE_RESOURCE);
    const uint64_t ms = between(1, action->value > 0 ? (uint64_t)action->value : 1, 3600000);
    char copy[STAGE_WORDS];
    if (!value) return "it has no such key";
    snprintf(copy, sizeof copy, "%s", value);
    model_put(&host_of(stage, action)->node, STAGE_RESOURCE, copy, ms,
              cluster_node_now(stage->cluster, action->node));
    stage->forgot[action->node] =
        "a client that compares no token sent a PEXPIRE, so that the key ended too early";
    return "";
}

static const char *act_replicate(struct stage *stage, const struct stage_action *action)
{
    model_node_save(&host_of(stage, action)->node);
    return "";
}

/* The replica was there long before its master died. */
static const char *act_fail_over(struct stage *stage, const struct stage_action *action)
{
    cluster_node_down(stage->cluster, action->node);
    cluster_node_up_from_disk(stage->cluster, action->node);
    model_node_promote(&host_of(stage, action)->node, 1729);
    stage->forgot[action->node] = "it died, and its replica, which took over, had not got the key";
    return "";
}

static const char *act_hide_fail_over(struct stage *stage, const struct stage_action *action)
{
    model_node_load(&host_of(stage, action)->node);
    stage->forgot[action->node] =
        "it died, and its replica, which took over behind a proxy, had not got the key";
    return "";
}

/* ---- What happens to a link ---- */

static struct cluster_link *link_of(struct stage *stage, const struct stage_action *action)
{
    return &stage->cluster->links[action->client][action->node];
}

static const char *act_cut(struct stage *stage, const struct stage_action *action)
{
    cluster_cut(stage->cluster, action->client, action->node, false);
    return "";
}

static const char *act_cut_to(struct stage *stage, const struct stage_action *action)
{
    link_of(stage, action)->mute = true;
    return "";
}

static const char *act_cut_from(struct stage *stage, const struct stage_action *action)
{
    link_of(stage, action)->deaf = true;
    return "";
}

static uint64_t delay_of(const struct stage_action *action)
{
    return action->value > 0 ? between(0, (uint64_t)action->value, 60000000) : 0;
}

static const char *act_delay_to(struct stage *stage, const struct stage_action *action)
{
    link_of(stage, action)->to_node_us = delay_of(action);
    return "";
}

static const char *act_delay_from(struct stage *stage, const struct stage_action *action)
{
    link_of(stage, action)->to_client_us = delay_of(action);
    return "";
}

static const char *act_distance(struct stage *stage, const struct stage_action *action)
{
    link_of(stage, action)->delay_us = delay_of(action);
    return "";
}

static const char *act_heal(struct stage *stage, const struct stage_action *action)
{
    set_link(stage, action->client, action->node);
    return "";
}

static const char *act_tickets(struct stage *stage, const struct stage_action *action)
{
    stage->gives_tickets = action->value != 0;
    return "";
}

static const char *act_fence(struct stage *stage, const struct stage_action *action)
{
    stage->checks_tickets = action->value != 0;
    return "";
}

/* ---- Actions ---- */

/* The arguments after the name: c a client, n a node, v a number, o one that may be missing. Those
 * of a client that must be awake are written with C. */
static const struct verb {
    const char *name, *takes;
    const char *(*act)(struct stage *stage, const struct stage_action *action);
} verbs[STAGE_VERBS] = {
    [STAGE_ACQUIRE] = { "acquire", "Co", act_acquire },
    [STAGE_EXTEND] = { "extend", "C", act_extend },
    [STAGE_KEEP] = { "keep", "C", act_keep },
    [STAGE_RELEASE] = { "release", "C", act_release },
    [STAGE_WRITE] = { "write", "C", act_write },
    [STAGE_WRITE_BLINDLY] = { "blind", "C", act_write_blindly },
    [STAGE_FREEZE] = { "freeze", "C", act_freeze },
    [STAGE_SUSPEND] = { "suspend", "Cv", act_suspend },
    [STAGE_WAKE] = { "wake", "c", act_wake },
    [STAGE_CRASH] = { "crash", "c", act_crash },
    [STAGE_RETURN] = { "return", "c", act_return },
    [STAGE_CLIENT_RATE] = { "pace", "cv", act_client_rate },
    [STAGE_KILL] = { "kill", "n", act_kill },
    [STAGE_EMPTY] = { "empty", "n", act_empty },
    [STAGE_RESTART] = { "restart", "n", act_restart },
    [STAGE_PAUSE] = { "pause", "n", act_pause },
    [STAGE_RESUME] = { "resume", "n", act_resume },
    [STAGE_SLOW] = { "slow", "nv", act_slow },
    [STAGE_STEP_CLOCK] = { "step", "nv", act_step_clock },
    [STAGE_NODE_RATE] = { "rate", "nv", act_node_rate },
    [STAGE_FLUSH] = { "flush", "n", act_flush },
    [STAGE_EVICT] = { "evict", "n", act_evict },
    [STAGE_REPLICATE] = { "replicate", "n", act_replicate },
    [STAGE_FAIL_OVER] = { "failover", "n", act_fail_over },
    [STAGE_HIDE_FAIL_OVER] = { "proxy", "n", act_hide_fail_over },
    [STAGE_CUT] = { "cut", "cn", act_cut },
    [STAGE_CUT_TO] = { "cutto", "cn", act_cut_to },
    [STAGE_CUT_FROM] = { "cutfrom", "cn", act_cut_from },
    [STAGE_DELAY_TO] = { "delayto", "cnv", act_delay_to },
    [STAGE_DELAY_FROM] = { "delayfrom", "cnv", act_delay_from },
    [STAGE_DISTANCE] = { "far", "cnv", act_distance },
    [STAGE_HEAL] = { "heal", "cn", act_heal },
    [STAGE_TICKETS] = { "tickets", "v", act_tickets },
    [STAGE_FENCE] = { "fence", "v", act_fence },
    [STAGE_DELETE] = { "del", "n", act_delete },
    [STAGE_PROLONG] = { "pexpire", "nv", act_prolong },
};

static void remember(struct stage *stage, const struct stage_action *action)
{
    if (stage->action_count == stage->action_capacity) {
        stage->action_capacity = 2 * stage->action_capacity + 16;
        stage->actions = realloc(stage->actions, stage->action_capacity * sizeof *stage->actions);
        if (!stage->actions) abort();
    }
    stage->actions[stage->action_count++] = *action;
}

static const char *do_action(struct stage *stage, const struct stage_action *action)
{
    const struct verb *verb = &verbs[action->verb];
    const char *why = "";
    if (action->client >= stage->settings.clients || action->node >= stage->settings.nodes)
        return "there is none";
    if (strchr(verb->takes, 'C')) why = why_not_awake(stage, action->client);
    return why[0] != '\0' ? why : verb->act(stage, action);
}

const char *stage_act(struct stage *stage, struct stage_action action)
{
    stage_run_until(stage, stage_now_us(stage));
    action.at_us = stage_now_us(stage);
    remember(stage, &action);
    mix(stage, action.at_us);
    mix(stage, (uint64_t)action.verb << 16 | action.client << 8 | action.node);
    mix(stage, (uint64_t)action.value);
    if (stage->observer.saw_action) stage->observer.saw_action(stage->observer.context, &action);
    const char *words = do_action(stage, &action);
    if (words[0] != '\0' && stage->observer.saw_refusal)
        stage->observer.saw_refusal(stage->observer.context, &action, words);
    look(stage);
    return words;
}

/* ---- Links: reading ---- */

struct reader {
    const char *at, *end;
};

static bool takes(struct reader *reader, char byte)
{
    if (reader->at == reader->end || *reader->at != byte) return false;
    reader->at++;
    return true;
}

static bool read_number(struct reader *reader, int64_t *number)
{
    const bool is_negative = takes(reader, '-');
    const char *begin = reader->at;
    uint64_t sum = 0;
    for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++)
        sum = sum * 10 + (uint64_t)(*reader->at - '0');
    *number = is_negative ? -(int64_t)sum : (int64_t)sum;
    return reader->at > begin && reader->at - begin <= 15;
}

static bool read_client(struct reader *reader, unsigned *client)
{
    if (reader->at == reader->end || *reader->at < 'A' || *reader->at >= 'A' + STAGE_CLIENTS_MAX)
        return false;
    *client = (unsigned)(*reader->at++ - 'A');
    return true;
}

static bool read_node(struct reader *reader, unsigned *node)
{
    if (reader->at == reader->end || *reader->at < '0' || *reader->at >= '0' + STAGE_NODES_MAX)
        return false;
    *node = (unsigned)(*reader->at++ - '0');
    return true;
}

static bool read_what_it_takes(struct reader *reader, const char *what, struct stage_action *action)
{
    for (; *what != '\0'; what++) {
        if (!takes(reader, '.')) return *what == 'o';
        if (*what == 'c' || *what == 'C') {
            if (!read_client(reader, &action->client)) return false;
        } else if (*what == 'n') {
            if (!read_node(reader, &action->node)) return false;
        } else if (!read_number(reader, &action->value)) {
            return false;
        }
    }
    return true;
}

bool stage_read_verb(const char *text, size_t size, enum stage_verb *verb)
{
    for (unsigned i = 0; i < STAGE_VERBS; i++) {
        if (strlen(verbs[i].name) != size || memcmp(verbs[i].name, text, size) != 0) continue;
        *verb = (enum stage_verb)i;
        return true;
    }
    return false;
}

static bool read_action(struct reader *reader, struct stage_action *action)
{
    size_t size = 0;
    while (reader->at + size < reader->end && reader->at[size] >= 'a' && reader->at[size] <= 'z')
        size++;
    if (!stage_read_verb(reader->at, size, &action->verb)) return false;
    reader->at += size;
    return read_what_it_takes(reader, verbs[action->verb].takes, action);
}

bool stage_read_action(const char *text, size_t size, struct stage_action *action)
{
    struct reader reader = { text, text + size };
    *action = (struct stage_action){ .at_us = 0 };
    return read_action(&reader, action) && reader.at == reader.end;
}

static bool read_actions(struct reader *reader, struct stage_action *actions, size_t max,
                         size_t *count)
{
    uint64_t before_us = 0;
    do {
        struct stage_action action = { .at_us = 0 };
        int64_t at_us;
        if (!read_number(reader, &at_us) || !takes(reader, ':') || !read_action(reader, &action))
            return false;
        if (*count == max || at_us < 0 || (uint64_t)at_us < before_us) return false;
        action.at_us = before_us = (uint64_t)at_us;
        actions[(*count)++] = action;
    } while (takes(reader, ','));
    return true;
}

/* The settings by their names in a link; in the order in which they are written. */
enum { SETTINGS = 12 };
static const char *const setting_names[SETTINGS] = {
    "n", "c", "seed", "ttl", "wait", "drift", "guard", "latency", "jitter", "tickets", "fence",
    "wakeups"
};

static void get_numbers(const struct stage_settings *settings, uint64_t numbers[SETTINGS])
{
    const uint64_t all[SETTINGS] = {
        settings->nodes, settings->clients, settings->seed, settings->ttl_ms, settings->wait_ms,
        settings->drift_ppm, settings->guard_ms, settings->latency_us, settings->jitter_us,
        settings->tickets, settings->fence, settings->wake_ups
    };
    memcpy(numbers, all, sizeof all);
}

static struct stage_settings of_numbers(const uint64_t numbers[SETTINGS])
{
    struct stage_settings settings = {
        .nodes = (unsigned)between(0, numbers[0], 99),
        .clients = (unsigned)between(0, numbers[1], 99), .seed = numbers[2],
        .ttl_ms = (uint32_t)between(0, numbers[3], UINT32_MAX),
        .wait_ms = (uint32_t)between(0, numbers[4], UINT32_MAX),
        .drift_ppm = (uint32_t)between(0, numbers[5], UINT32_MAX),
        .guard_ms = (uint32_t)between(0, numbers[6], UINT32_MAX),
        .latency_us = (uint32_t)between(0, numbers[7], UINT32_MAX),
        .jitter_us = (uint32_t)between(0, numbers[8], UINT32_MAX), .tickets = numbers[9] != 0,
        .fence = numbers[10] != 0, .wake_ups = numbers[11] != 0
    };
    bring_into_range(&settings);
    return settings;
}

static bool read_setting(struct reader *reader, const char *name, size_t size,
                         uint64_t numbers[SETTINGS])
{
    int64_t number;
    for (unsigned i = 0; i < SETTINGS; i++) {
        if (strlen(setting_names[i]) != size || memcmp(setting_names[i], name, size) != 0) continue;
        if (!read_number(reader, &number) || number < 0) return false;
        numbers[i] = (uint64_t)number;
        return true;
    }
    return false;
}

static bool read_field(struct reader *reader, uint64_t numbers[SETTINGS],
                       struct stage_action *actions, size_t max, size_t *count)
{
    const char *name = reader->at;
    while (reader->at < reader->end && *reader->at != '=') reader->at++;
    const size_t size = (size_t)(reader->at - name);
    if (!takes(reader, '=')) return false;
    if (size == 2 && memcmp(name, "do", 2) == 0)
        return reader->at == reader->end || read_actions(reader, actions, max, count);
    return read_setting(reader, name, size, numbers);
}

bool stage_read_link(const char *link, struct stage_settings *settings,
                     struct stage_action *actions, size_t max, size_t *count,
                     char words[STAGE_WORDS])
{
    struct reader reader = { link, link + strlen(link) };
    const struct stage_settings defaults = stage_defaults();
    uint64_t numbers[SETTINGS];
    get_numbers(&defaults, numbers);
    *count = 0;
    words[0] = '\0';
    while (reader.at < reader.end) {
        if (!read_field(&reader, numbers, actions, max, count) ||
            (reader.at < reader.end && !takes(&reader, '&'))) {
            snprintf(words, STAGE_WORDS, "not understood from here: %.40s", reader.at);
            return false;
        }
    }
    *settings = of_numbers(numbers);
    return true;
}

/* ---- Links: writing ---- */

struct writer {
    char *text;
    size_t size, used;
};

static void put(struct writer *writer, const char *text)
{
    for (; *text != '\0'; text++, writer->used++)
        if (writer->used + 1 < writer->size) writer->text[writer->used] = *text;
    if (writer->size > 0)
        writer->text[writer->used < writer->size ? writer->used : writer->size - 1] = '\0';
}

static void put_number(struct writer *writer, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    put(writer, text);
}

static void put_action(struct writer *writer, const struct stage_action *action)
{
    const struct verb *verb = &verbs[action->verb];
    put(writer, verb->name);
    for (const char *what = verb->takes; *what != '\0'; what++) {
        const char name[2] = {
            *what == 'n' ? (char)('0' + action->node) : stage_client_name(action->client), '\0'
        };
        if (*what == 'o' && action->value == 0) continue;
        put(writer, ".");
        if (*what == 'v' || *what == 'o')
            put_number(writer, action->value);
        else
            put(writer, name);
    }
}

void stage_write_action(const struct stage_action *action, char *text, size_t size)
{
    struct writer writer = { text, size, 0 };
    put_action(&writer, action);
}

size_t stage_write_link(const struct stage_settings *settings, const struct stage_action *actions,
                        size_t count, char *text, size_t size)
{
    const struct stage_settings defaults = stage_defaults();
    struct writer writer = { text, size, 0 };
    uint64_t numbers[SETTINGS], usual[SETTINGS];
    get_numbers(settings, numbers);
    get_numbers(&defaults, usual);
    put(&writer, "");
    for (unsigned i = 0; i < SETTINGS; i++) {
        /* Nodes, clients and seed are always written. */
        if (numbers[i] == usual[i] && i > 2) continue;
        put(&writer, writer.used > 0 ? "&" : "");
        put(&writer, setting_names[i]);
        put(&writer, "=");
        put_number(&writer, (int64_t)numbers[i]);
    }
    for (size_t i = 0; i < count; i++) {
        put(&writer, i == 0 ? "&do=" : ",");
        put_number(&writer, (int64_t)actions[i].at_us);
        put(&writer, ":");
        put_action(&writer, &actions[i]);
    }
    return writer.used;
}
