/* The beginnings and ends of the faults. */
#include "sim_world.h"

#include <stdio.h>
#include <string.h>

enum { MS = 1000, TROUBLES = 16 };

static struct model_node *node_of(struct sim_world *world, const struct sim_fault *fault)
{
    return &world->cluster->hosts[fault->node].node;
}

static struct cluster_link *link_of(struct sim_world *world, const struct sim_fault *fault)
{
    return &world->cluster->links[fault->client][fault->node];
}

/* The same fault, of the node that comes i nodes later. */
static struct sim_fault nth(const struct sim_world *world, const struct sim_fault *fault,
                            unsigned i)
{
    struct sim_fault other = *fault;
    other.node = (fault->node + i) % world->options.node_count;
    return other;
}

static void reset_all(struct cluster *cluster, unsigned node)
{
    for (unsigned c = 0; c < cluster->client_count; c++) cluster_reset(cluster, c, node, false);
}

/* Rates that differ from each other by no more than the drift factor, up to half of it
 * on each side. */
static int32_t rate_within(const struct sim_options *options, uint64_t amount)
{
    return (int32_t)(amount % (options->drift_ppm + 1)) - (int32_t)options->drift_ppm / 2;
}

static int32_t node_rate(const struct sim_options *options, uint64_t amount)
{
    if (options->class == SIM_CLASS_DRIFT_BEYOND)
        return (int32_t)(2 * options->drift_ppm + amount % 500000);
    return rate_within(options, amount);
}

/* ---- Nodes ---- */

/* Half of these faults are of one node, half of a quorum. */
static unsigned span_of(const struct sim_world *world, const struct sim_fault *fault)
{
    return fault->amount >> 40 & 1 ? redlock_quorum(world->options.node_count) : 1;
}

static void begin_trouble(struct sim_world *world, const struct sim_fault *fault)
{
    static const enum model_condition conditions[TROUBLES] = {
        MODEL_LOADING, MODEL_OUT_OF_MEMORY, MODEL_MISCONF, MODEL_NO_REPLICAS, MODEL_BUSY,
        MODEL_CLUSTER_DOWN
    };
    struct model_node *node = node_of(world, fault);
    if (node->newer) reset_all(world->cluster, fault->node);
    switch (fault->amount % TROUBLES) {
    case 6:
    case 14:
    case 15: node->role = MODEL_REPLICA; break;
    case 7:  node->mode = node->is_cluster ? "sentinel" : "cluster"; break;
    case 8:  node->noperm = "INFO"; break;
    case 9:  node->noperm = "EVAL"; break;
    case 10: node->noperm = "PUBLISH"; break;
    case 11: node->noperm = "SUBSCRIBE"; break;
    case 12: node->noperm = "ZADD ZPOPMIN ZREM"; break;
    case 13: node->noperm = "TIME"; break;
    default: node->condition = conditions[fault->amount % TROUBLES];
    }
    if (fault->amount / TROUBLES % 2 == 0) reset_all(world->cluster, fault->node);
}

static const char *right_mode(const struct model_node *node)
{
    return node->is_cluster ? "cluster" : "standalone";
}

bool sim_is_unfit(const struct model_node *node)
{
    const bool is_secret =
        node->noperm && (strcmp(node->noperm, "INFO") == 0 ||
                         (strcmp(node->noperm, "EVAL") == 0 && !node->newer));
    return node->role != MODEL_MASTER || is_secret || strcmp(node->mode, right_mode(node)) != 0;
}

static void end_trouble(struct sim_world *world, const struct sim_fault *fault)
{
    struct model_node *node = node_of(world, fault);
    /* A client asks once for a connection what the node can do. */
    if (sim_is_unfit(node) || node->newer) reset_all(world->cluster, fault->node);
    node->condition = MODEL_WELL;
    node->role = MODEL_MASTER;
    node->mode = right_mode(node);
    node->noperm = sim_noperm(&world->options, fault->node);
}

static void spread(struct sim_world *world, const struct sim_fault *fault,
                   void (*happens)(struct sim_world *world, const struct sim_fault *fault))
{
    for (unsigned i = 0; i < span_of(world, fault); i++) {
        const struct sim_fault one = nth(world, fault, i);
        happens(world, &one);
    }
}

/* Its guard may not be over yet, by somebody's clock. */
static bool has_lately_restarted(const struct sim_world *world, unsigned node)
{
    const uint64_t guard_ms = world->options.guard_ms + 2 * (uint64_t)world->options.skew_ms;
    return world->reborn_at[node] > 0 &&
           world->cluster->now_us < world->reborn_at[node] + 2 * guard_ms * MS;
}

/* The address leads to a server that claims to be another node's. Its keys are neither's, but
 * nobody can tell. A server that has just lost its keys claims nothing, since a client that has
 * met the other one there would go on with it.
 * Half of them seem to have moved there, so the connections to the other node break after
 * a few answers. */
static void begin_twin(struct sim_world *world, const struct sim_fault *fault)
{
    const unsigned other = (fault->node + 1) % world->options.node_count;
    struct model_node *node = node_of(world, fault);
    if (has_lately_restarted(world, fault->node)) return;
    memcpy(node->run_id, world->cluster->hosts[other].node.run_id, sizeof node->run_id);
    for (unsigned c = 0; fault->amount & 1 && c < world->options.client_count; c++)
        world->cluster->links[c][other].to_client = (struct cluster_sever){
            true, (size_t)(fault->amount >> 1 & 63)
        };
    reset_all(world->cluster, fault->node);
}

static void end_twin(struct sim_world *world, const struct sim_fault *fault)
{
    struct model_node *node = node_of(world, fault);
    snprintf(node->run_id, sizeof node->run_id, "%040llx",
             (unsigned long long)(0xABCD000000000000u | fault->amount >> 16));
    reset_all(world->cluster, fault->node);
}

/* A server has crashed and lost all, and its clock was set right, so its uptime tells nothing.
 * There is no key yet that could expire too early; but a client that meets it for the first time
 * has nothing else to go by. */
static void step_newborn(struct sim_world *world, const struct sim_fault *fault)
{
    bool is_known = world->options.class == SIM_CLASS_CRASH_LOST && fault->amount & 1;
    for (unsigned c = 0; c < world->options.client_count; c++)
        is_known = is_known && world->said[c][fault->node].is_known;
    const uint64_t step_us = fault->amount % (4000 * (uint64_t)world->options.guard_ms + 1);
    if (!is_known) return;
    cluster_step_node_clock(world->cluster, fault->node, (int64_t)step_us);
    node_of(world, fault)->wall_offset_us -= (int64_t)step_us;  /* It tells the right time now. */
}

/* X(command, bytes, the command is executed, no server may answer that) */
#define NONSENSE(X)                                      \
    X("SET",     "+OKAY\r\n",                false, true)  \
    X("SET",     "+\r\n",                    false, true)  \
    X("SET",     "$2\r\nOK\r\n",            false, true)  \
    X("SET",     "*1\r\n+OK\r\n",           false, true)  \
    X("SET",     "-ERR done, but\r\n",      true,  false) \
    X("SET",     "-ERR not done\r\n",       false, false) \
    X("EVALSHA", ":-7\r\n",                  false, true)  \
    X("EVALSHA", "+OKAY\r\n",                false, true)  \
    X("EVALSHA", "-ERR done, but\r\n",      true,  false) \
    X("EVALSHA", "-ERR not done\r\n",       false, false) \
    X("*",       "+HELLO\r\n",               false, true)  \
    X("*",       "$70000\r\nendless",       false, true)  \
    X("*",       "HTTP/1.1 400\r\n\r\n",    false, true)

static const struct nonsense {
    struct model_answer answer;
    bool is_wrong;
} nonsense[] = {
#define NONSENSE_ROW(name, text, does, wrong) \
    { { .command = (name), \
        .bytes = (text), \
        .size = sizeof(text) - 1, \
        .times = 1, \
        .executes = (does) }, \
      wrong },
    NONSENSE(NONSENSE_ROW)
#undef NONSENSE_ROW
};

enum { NONSENSE_COUNT = sizeof nonsense / sizeof nonsense[0] };

/* Does the client wait for an answer that may be anything? So it does for one that it has given up,
 * since the node may answer it at any time. */
static bool has_question(const struct cluster_client *client, unsigned node)
{
    const struct redlock_node *session = &client->engine.nodes[node];
    for (unsigned i = 0; i < session->asked_count; i++) {
        const unsigned at = (session->asked_first + i) % client->engine.config.pipeline;
        if (session->asked[at].command == REDLOCK_COMMAND_QUESTION) return true;
    }
    return false;
}

/* Pushes messages that nobody has asked for to everybody, but to a client that would take it for
 * the answer to a question, and the answer for that to its next command. */
static void push_nonsense(struct sim_world *world, unsigned node)
{
    static const char text[] = "+HELLO\r\n";
    struct cluster *cluster = world->cluster;
    for (size_t i = 0; i < cluster->connection_count; i++) {
        struct cluster_connection *connection = cluster->connections[i];
        if (connection->node != node || connection->node_left ||
            has_question(&cluster->clients[connection->client], node))
            continue;
        if (!connection->client_left)
            world->nonsense[connection->client][connection->line] = connection->number;
        cluster_push_to(cluster, connection, text, sizeof text - 1);
    }
}

static void talk_nonsense(struct sim_world *world, const struct sim_fault *fault)
{
    const unsigned choice = (unsigned)(fault->amount % (NONSENSE_COUNT + 2));
    if (choice >= NONSENSE_COUNT) {
        push_nonsense(world, fault->node);
        return;
    }
    model_node_plan(node_of(world, fault), nonsense[choice].answer);
    world->plans_nonsense[fault->node] = true;
}

static void fall_silent(struct sim_world *world, unsigned node)
{
    model_node_forget_plans(&world->cluster->hosts[node].node);
    world->plans_nonsense[node] = false;
}

static bool is_wrong(const void *bytes)
{
    for (unsigned i = 0; i < NONSENSE_COUNT; i++)
        if (nonsense[i].answer.bytes == bytes) return nonsense[i].is_wrong;
    return false;
}

/* The engine cannot know all possible answers to a question, so only bytes that are not RESP end
 * the connection then. */
void sim_saw_plan(struct sim_world *world, const struct cluster_connection *connection,
                  const struct model_call *call)
{
    const unsigned k = connection->node;
    const struct model_answer *plan = &world->cluster->hosts[k].node.answers[0];
    if (!world->plans_nonsense[k] || plan->times > 0) return;
    if (strcmp(call->name, "MARK") != 0 && is_wrong(plan->bytes))
        world->nonsense[connection->client][connection->line] = connection->number;
    fall_silent(world, k);
}

/* A replica returns in its place. Without any identity nobody would see that. */
static bool is_failover(struct sim_world *world, const struct sim_fault *fault)
{
    if (world->options.class == SIM_CLASS_PROMOTED) return true;
    return world->options.class == SIM_CLASS_NAMELESS && fault->kind == SIM_FAULT_RESTART_BACK &&
           !world->options.hides_replid;
}

static void node_returns(struct sim_world *world, const struct sim_fault *fault)
{
    if (fault->kind == SIM_FAULT_RESTART_BACK)
        cluster_node_up_from_disk(world->cluster, fault->node);
    else
        cluster_node_up(world->cluster, fault->node, fault->kind == SIM_FAULT_RESTART_KEPT);
    if (is_failover(world, fault))
        model_node_promote(node_of(world, fault), 1 + fault->amount % 100000);
    sim_rules_saw_restart(world, fault->node);
    if (fault->kind == SIM_FAULT_RESTART_EMPTY) step_newborn(world, fault);
}

static void evict(struct sim_world *world, const struct sim_fault *fault)
{
    struct model_node *node = node_of(world, fault);
    if (node->key_count > 0) model_evict(node, (size_t)(fault->amount % node->key_count));
}

static void flush(struct sim_world *world, const struct sim_fault *fault)
{
    model_flush(node_of(world, fault));
}

/* ---- Slots ---- */

/* Then the keys go back, and the slot stays. */
static bool turns_back(const struct sim_fault *fault)
{
    return fault->amount >> 30 & 1;
}

/* New connections lead there, those of one client or of all. Those that stand may break. */
static void lead(struct sim_world *world, const struct sim_fault *fault, unsigned shard)
{
    for (unsigned c = 0; c < world->options.client_count; c++) {
        if (c != fault->client && !(fault->amount >> 32 & 1)) continue;
        world->cluster->links[c][fault->node].shard = (uint8_t)shard;
        if (fault->amount >> 34 & 1) cluster_reset(world->cluster, c, fault->node, true);
    }
}

static void lead_to_owner(struct sim_world *world, const struct sim_fault *fault)
{
    lead(world, fault, node_of(world, fault)->owner);
}

static void lead_astray(struct sim_world *world, const struct sim_fault *fault)
{
    lead(world, fault, 1u - node_of(world, fault)->owner);
}

/* Most addresses follow the slot. */
static void follow(struct sim_world *world, const struct sim_fault *fault)
{
    if (fault->amount >> 35 & 7) lead_to_owner(world, fault);
}

static void begin_move(struct sim_world *world, const struct sim_fault *fault)
{
    struct model_node *node = node_of(world, fault);
    if (node->migrates) return;
    model_slot_leaves(node);
    world->slot_dice[fault->node].state = fault->amount;
    world->slot_pace[fault->node] = 1 + (unsigned)(fault->amount % 12);
}

void sim_slot_goes_on(struct sim_world *world, unsigned node)
{
    enum { UNDER_WAY_MS = 4 };
    struct model_node *at = &world->cluster->hosts[node].node;
    struct sim_dice *dice = &world->slot_dice[node];
    if (!at->migrates || !sim_one_in(dice, world->slot_pace[node])) return;
    const uint64_t number = sim_random(dice) >> 1, late_ms = sim_below(dice, UNDER_WAY_MS);
    (void)model_slot_sends(at, number, late_ms);
}

static void end_move(struct sim_world *world, const struct sim_fault *fault)
{
    struct model_node *node = node_of(world, fault);
    if (!node->migrates) return;
    if (turns_back(fault)) model_slot_returns(node);
    else                   model_slot_arrives(node);
    follow(world, fault);
}

static void jump(struct sim_world *world, const struct sim_fault *fault)
{
    struct model_node *node = node_of(world, fault);
    if (node->migrates) return;
    model_slot_arrives(node);
    follow(world, fault);
}

static void begin_unserved(struct sim_world *world, const struct sim_fault *fault)
{
    node_of(world, fault)->is_unserved = true;
}

static void end_unserved(struct sim_world *world, const struct sim_fault *fault)
{
    node_of(world, fault)->is_unserved = false;
}

void sim_slots_rest(struct sim_world *world)
{
    struct cluster *cluster = world->cluster;
    for (size_t i = 0; i < cluster->connection_count; i++) {
        const struct cluster_connection *connection = cluster->connections[i];
        const unsigned owner = cluster->hosts[connection->node].node.owner;
        if (world->options.cuts_wrong_shards && !connection->client_left &&
            connection->session.shard != owner)
            cluster_reset(cluster, connection->client, connection->node, true);
    }
    for (unsigned c = 0; c < world->options.client_count; c++)
        for (unsigned k = 0; k < world->options.node_count; k++)
            cluster->links[c][k].shard = cluster->hosts[k].node.owner;
}

static void crash(struct sim_world *world, const struct sim_fault *fault)
{
    cluster_node_down(world->cluster, fault->node);
}

static void fail_over(struct sim_world *world, const struct sim_fault *fault)
{
    model_node_load(node_of(world, fault));
}

/* A key that one node has lost breaks the exclusion; a ticket, or a mark, is forgotten when all
 * nodes have done so. */
static void forget_on(struct sim_world *world, const struct sim_fault *fault,
                      void (*happens)(struct sim_world *world, const struct sim_fault *fault))
{
    const bool is_lasting = sim_class_is_about_tickets(world->options.class) ||
                            sim_class_is_about_periods(world->options.class);
    const unsigned count = is_lasting ? world->options.node_count : 1;
    for (unsigned i = 0; i < count; i++) {
        const struct sim_fault one = nth(world, fault, i);
        happens(world, &one);
    }
}

void sim_save_memories(struct sim_world *world)
{
    struct cluster *cluster = world->cluster;
    world->saved_at = cluster->now_us;
    for (unsigned k = 0; k < cluster->node_count; k++)
        if (!cluster->hosts[k].down) model_node_save(&cluster->hosts[k].node);
}

/* ---- Clients ---- */

static void fall_asleep(struct sim_world *world, unsigned client)
{
    world->cluster->clients[client].frozen = true;
    for (unsigned i = 0; i < world->options.lock_count; i++)
        sim_actor_of(world, client, i)->slept_valid =
            cluster_valid_us(world->cluster, client, i) > 0;
}

/* A holder that asks finds out that it slept too long; one that does not ask writes to a resource
 * that is another's by now. */
static void wake_up(struct sim_world *world, unsigned client)
{
    world->cluster->clients[client].frozen = false;
    world->cluster->clients[client].hindered_at = cluster_client_now(world->cluster, client);
    for (unsigned i = 0; i < world->options.lock_count; i++) {
        struct sim_actor *actor = sim_actor_of(world, client, i);
        if (!actor->slept_valid || cluster_valid_us(world->cluster, client, i) > 0) continue;
        sim_count(world, SIM_PATH_WOKE_TOO_LATE);
        /* The client writes without a check, so the resource itself must refuse it. */
        sim_holding_writes(world, actor);
        if (world->options.class == SIM_CLASS_ACTS_WITHOUT_ASKING && sim_others_hold(world, actor))
            sim_break(world,
                      "exclusion: client %u acts on %s without asking whether it still holds it: "
                      "another client does",
                      client, sim_resource(i));
    }
    sim_look_at(world, client);
}

static void die(struct sim_world *world, unsigned client)
{
    for (unsigned i = 0; i < world->options.lock_count; i++)
        if (cluster_valid_us(world->cluster, client, i) > 0) world->abandoned[i] = true;
    cluster_client_dies(world->cluster, client);
}

static void come_back(struct sim_world *world, unsigned client)
{
    memset(world->said[client], 0, sizeof world->said[client]);
    cluster_client_returns(world->cluster, client);
    for (unsigned i = 0; i < world->options.lock_count; i++)
        sim_actor_forgets(world, sim_actor_of(world, client, i));
}

/* The lasting error of a client's wall clock, and how far it is ahead beyond that. */
static void set_wall(struct sim_world *world, unsigned client, int64_t ahead_us)
{
    world->has_wild_wall[client] = ahead_us != 0;
    cluster_set_client_wall(world->cluster, client, world->wall_skew_us[client] + ahead_us);
}

static void begin_wild_wall(struct sim_world *world, const struct sim_fault *fault)
{
    const uint64_t skew_us = (uint64_t)world->options.skew_ms * MS,
                   guard_us = (uint64_t)world->options.guard_ms * MS;
    int64_t ahead_us = (int64_t)(2 * skew_us + fault->amount % (10 * skew_us));
    if (fault->kind == SIM_FAULT_WALL_WRONG && fault->amount >> 41 & 1)
        ahead_us = -ahead_us - (int64_t)(4 * guard_us);
    set_wall(world, fault->client, ahead_us);
}

/* The clock is right again. An acquire that has begun with the wrong one goes on with it, so
 * whoever sets it begins anew. */
static void end_wild_wall(struct sim_world *world, unsigned client)
{
    set_wall(world, client, 0);
    for (unsigned i = 0; !world->cluster->clients[client].dead && i < world->options.lock_count;
         i++) {
        const struct sim_actor *actor = sim_actor_of(world, client, i);
        if (actor->has_ticket && actor->deed == SIM_ACQUIRES)
            cluster_cancel(world->cluster, client, i);
    }
}

/* ---- All of them ---- */

static void part(struct sim_world *world, const struct sim_fault *fault, bool begins)
{
    for (unsigned k = 0; k < world->options.node_count; k++) {
        if (!(fault->amount >> k & 1)) continue;
        if (!begins)
            cluster_heal(world->cluster, fault->client, k);
        else if (fault->amount >> 20 & 1)
            cluster_cut(world->cluster, fault->client, k, fault->amount >> 21 & 1);
        else
            cluster_stall(world->cluster, fault->client, k);
    }
}

static void slow_down(struct sim_world *world, const struct sim_fault *fault)
{
    link_of(world, fault)->delay_us =
        fault->amount % ((uint64_t)world->options.node_timeout_ms * 1500);
}

static void speed_up(struct sim_world *world, const struct sim_fault *fault)
{
    link_of(world, fault)->delay_us = world->options.delay_us;
}

/* Bytes that were sent while the link was slow arrive when the next connection has
 * long been used. */
static void overtake(struct sim_world *world, const struct sim_fault *fault)
{
    speed_up(world, fault);
    cluster_reset(world->cluster, fault->client, fault->node, true);
}

static void sever(struct cluster_link *link, uint64_t amount)
{
    struct cluster_sever *direction = amount & 1 ? &link->to_node : &link->to_client;
    *direction = (struct cluster_sever){ true, (size_t)(amount >> 1 & 255) };
}

/* Does one like it last on the same thing? Then this one does not happen. */
static bool is_in_the_way(const struct sim_world *world, const struct sim_fault *fault)
{
    const struct cluster_host *host = &world->cluster->hosts[fault->node];
    const struct cluster_client *client = &world->cluster->clients[fault->client];
    switch (fault->kind) {
    case SIM_FAULT_RESTART_KEPT:
    case SIM_FAULT_RESTART_EMPTY:
    case SIM_FAULT_RESTART_BACK: return host->down;
    case SIM_FAULT_HANG:         return host->node.hung;
    case SIM_FAULT_TROUBLE: return host->node.condition != MODEL_WELL || sim_is_unfit(&host->node);
    case SIM_FAULT_TWIN:         return world->options.node_count < 2;
    case SIM_FAULT_CLIENT_RATE:
    case SIM_FAULT_PAUSE:
    case SIM_FAULT_SUSPEND:
    case SIM_FAULT_CLIENT_CRASH: return client->frozen || client->dead;
    case SIM_FAULT_WALL_AHEAD:
    case SIM_FAULT_WALL_WRONG:   return world->has_wild_wall[fault->client];
    case SIM_FAULT_NONSENSE:     return host->down || world->plans_nonsense[fault->node];
    case SIM_FAULT_SLOT_MOVES:
    case SIM_FAULT_SLOT_JUMPS:   return host->node.migrates;
    case SIM_FAULT_SLOT_UNSERVED: return host->node.is_unserved;
    default:                     return false;
    }
}

static void tell_fault(struct sim_world *world, const struct sim_fault *fault, const char *what)
{
    sim_tell(world, "%s: %s (client %u, node %u)", what, sim_fault_text(fault->kind), fault->client,
             fault->node);
}

void sim_fault_begin(struct sim_world *world, unsigned i)
{
    struct sim_fault *f = &world->faults[i];
    struct cluster *cluster = world->cluster;
    f->is_past = is_in_the_way(world, f);
    f->is_on = !f->is_past;
    if (f->is_past) return;
    world->totals->faults[f->kind]++;
    sim_mix(world, i);
    tell_fault(world, f, "fault begins");
    switch (f->kind) {
    case SIM_FAULT_LATE:
    case SIM_FAULT_DELAY:        spread(world, f, slow_down); break;
    case SIM_FAULT_PIECES:
        link_of(world, f)->send_max = link_of(world, f)->receive_max = 1 + (size_t)(f->amount % 40);
        break;
    case SIM_FAULT_RESET:        cluster_reset(cluster, f->client, f->node, f->amount & 1); break;
    case SIM_FAULT_CUT:          cluster_cut(cluster, f->client, f->node, f->amount & 1); break;
    case SIM_FAULT_STALL:        cluster_stall(cluster, f->client, f->node); break;
    case SIM_FAULT_DEAF:         link_of(world, f)->deaf = true; break;
    case SIM_FAULT_PARTITION:    part(world, f, true); break;
    case SIM_FAULT_HANG:         cluster_node_hang(cluster, f->node); break;
    case SIM_FAULT_SEVER:        sever(link_of(world, f), f->amount); break;
    case SIM_FAULT_RESTART_KEPT:
    case SIM_FAULT_RESTART_EMPTY:
    case SIM_FAULT_RESTART_BACK: forget_on(world, f, crash); break;
    case SIM_FAULT_RATE:
        cluster_set_node_rate(cluster, f->node, node_rate(&world->options, f->amount));
        break;
    case SIM_FAULT_CLIENT_RATE:
        cluster_set_client_rate(cluster, f->client, rate_within(&world->options, f->amount));
        break;
    case SIM_FAULT_STEP_BACK:
        cluster_step_node_clock(cluster, f->node,
                                -(int64_t)(f->amount % (SIM_CLOCK_BACK_US / SIM_FAULTS_MAX)));
        break;
    case SIM_FAULT_STEP_FORWARD:
        cluster_step_node_clock(
            cluster, f->node, (int64_t)(f->amount % (2000 * (uint64_t)world->options.ttl_max_ms)));
        break;
    case SIM_FAULT_PAUSE:        fall_asleep(world, f->client); break;
    case SIM_FAULT_SUSPEND:
        fall_asleep(world, f->client);
        if (world->options.class == SIM_CLASS_SUSPEND_UNCOUNTED)
            cluster_set_client_rate(cluster, f->client, -1000000);
        break;
    case SIM_FAULT_CLIENT_CRASH: die(world, f->client); break;
    case SIM_FAULT_SCRIPT_FLUSH: model_flush_scripts(node_of(world, f)); break;
    case SIM_FAULT_TROUBLE:      spread(world, f, begin_trouble); break;
    case SIM_FAULT_TWIN:         begin_twin(world, f); break;
    case SIM_FAULT_NONSENSE:     talk_nonsense(world, f); break;
    case SIM_FAULT_SUBSCRIPTION_CUT: cluster_cut_subscription(cluster, f->client, f->node); break;
    case SIM_FAULT_WALL_AHEAD:
    case SIM_FAULT_WALL_WRONG:   begin_wild_wall(world, f); break;
    case SIM_FAULT_FAILOVER:     forget_on(world, f, fail_over); break;
    case SIM_FAULT_EVICTION:     evict(world, f); break;
    case SIM_FAULT_FLUSHALL:     forget_on(world, f, flush); break;
    case SIM_FAULT_SLOT_MOVES:   spread(world, f, begin_move); break;
    case SIM_FAULT_SLOT_JUMPS:   spread(world, f, jump); break;
    case SIM_FAULT_SLOT_UNSERVED: spread(world, f, begin_unserved); break;
    case SIM_FAULT_ADDRESS:      spread(world, f, lead_astray); break;
    case SIM_FAULT_COUNT:        break;
    }
}

void sim_fault_end(struct sim_world *world, unsigned i)
{
    struct sim_fault *f = &world->faults[i];
    struct cluster *cluster = world->cluster;
    f->is_on = false;
    f->is_past = true;
    sim_mix(world, i);
    switch (f->kind) {
    case SIM_FAULT_DELAY:        spread(world, f, speed_up); break;
    case SIM_FAULT_LATE:         spread(world, f, overtake); break;
    case SIM_FAULT_PIECES: link_of(world, f)->send_max = link_of(world, f)->receive_max = 0; break;
    case SIM_FAULT_CUT:
    case SIM_FAULT_STALL:
    case SIM_FAULT_DEAF:
    case SIM_FAULT_SUBSCRIPTION_CUT:
    case SIM_FAULT_SEVER:        cluster_heal(cluster, f->client, f->node); break;
    case SIM_FAULT_PARTITION:    part(world, f, false); break;
    case SIM_FAULT_HANG:         cluster_node_resume(cluster, f->node); break;
    case SIM_FAULT_RESTART_KEPT:
    case SIM_FAULT_RESTART_EMPTY:
    case SIM_FAULT_RESTART_BACK: forget_on(world, f, node_returns); break;
    case SIM_FAULT_RATE:         cluster_set_node_rate(cluster, f->node, 0); break;
    case SIM_FAULT_CLIENT_RATE:  cluster_set_client_rate(cluster, f->client, 0); break;
    case SIM_FAULT_PAUSE:        wake_up(world, f->client); break;
    case SIM_FAULT_SUSPEND:
        if (world->options.class == SIM_CLASS_SUSPEND_UNCOUNTED)
            cluster_set_client_rate(cluster, f->client, 0);
        wake_up(world, f->client);
        break;
    case SIM_FAULT_CLIENT_CRASH: come_back(world, f->client); break;
    case SIM_FAULT_TROUBLE:      spread(world, f, end_trouble); break;
    case SIM_FAULT_TWIN:         end_twin(world, f); break;
    case SIM_FAULT_SLOT_MOVES:   spread(world, f, end_move); break;
    case SIM_FAULT_SLOT_UNSERVED: spread(world, f, end_unserved); break;
    case SIM_FAULT_ADDRESS:      spread(world, f, lead_to_owner); break;
    case SIM_FAULT_NONSENSE:     fall_silent(world, f->node); break;
    case SIM_FAULT_WALL_AHEAD:
    case SIM_FAULT_WALL_WRONG:   end_wild_wall(world, f->client); break;
    default:                     return;     /* Over in a moment. */
    }
    tell_fault(world, f, "fault ends");
}
