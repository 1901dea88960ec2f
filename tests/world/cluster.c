#include "cluster.h"
#include "invariants.h"
#include "witness.h"

#include "../../redlock/kinds/redisson.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRUE_START_US = 1000,
    /* The machine was booted a moment ago, so times near 0 must be no trouble. */
    CLIENT_START_US = 5000000,
    CLIENT_SPREAD_US = 777777,          /* Clients' clocks have nothing to do with each other. */
    NODE_UPTIME_US = 1000000000,
    LOCKS_DEFAULT = 4,
    /* More locks than these are looked at now and then, not after every call. */
    SWEEP_LOCKS_MAX = 16,
    SWEEP_EVERY = 64,
    TALK_BYTES_MAX = 160
};

#define NODE_START_US UINT64_C(1790000000000000) /* A node's clock is the time of day, */
/* and this much apart from node to node for the ends of keys; */
#define NODE_SPREAD_US 1000003
#define WALL_START_US NODE_START_US              /* but TIME's answer is the same. */

/* ---- Telling ---- */

__attribute__((format(printf, 2, 3)))
static void break_rule(struct cluster *cluster, const char *format, ...)
{
    va_list arguments;
    if (cluster->broken[0] != '\0') return;
    va_start(arguments, format);
    vsnprintf(cluster->broken, sizeof cluster->broken, format, arguments);
    va_end(arguments);
}

__attribute__((format(printf, 2, 3)))
static void talk(const struct cluster *cluster, const char *format, ...)
{
    va_list arguments;
    if (!cluster->talks) return;
    printf("# %9llu us: ", (unsigned long long)cluster->now_us);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static void talk_bytes(const struct cluster *cluster, const struct cluster_connection *connection,
                       char arrow, const uint8_t *data, size_t size)
{
    if (!cluster->talks) return;
    printf("# %9llu us: client %u %c node %u: ", (unsigned long long)cluster->now_us,
           connection->client, arrow, connection->node);
    for (size_t i = 0; i < size && i < TALK_BYTES_MAX; i++)
        if (data[i] >= ' ' && data[i] <= '~')
            putchar(data[i]);
        else
            printf("\\x%02x", data[i]);
    puts(size > TALK_BYTES_MAX ? "..." : "");
}

/* ---- Clocks and dice ---- */

static uint64_t clock_read(const struct cluster_clock *clock, uint64_t true_us)
{
    const int64_t passed = (int64_t)(true_us - clock->true_us), second = 1000000;
    const int64_t gained =
        passed / second * clock->fast_ppm + passed % second * clock->fast_ppm / second;
    return clock->local_us + (uint64_t)(passed + gained);
}

/* The first moment at which the clock reads local_us or more. */
static uint64_t clock_when(const struct cluster_clock *clock, uint64_t local_us)
{
    if (local_us <= clock->local_us) return clock->true_us;
    if (clock->fast_ppm <= -1000000) return REDLOCK_NEVER;
    const uint64_t away = local_us - clock->local_us, pace = (uint64_t)(1000000 + clock->fast_ppm);
    uint64_t true_us = clock->true_us + away / pace * 1000000 + away % pace * 1000000 / pace;
    while (clock_read(clock, true_us) < local_us) true_us++;
    return true_us;
}

static void clock_set(struct cluster_clock *clock, uint64_t true_us, int64_t step_us,
                      int32_t fast_ppm)
{
    const uint64_t local_us = clock_read(clock, true_us) + (uint64_t)step_us;
    *clock = (struct cluster_clock){ true_us, local_us, fast_ppm };
}

uint64_t cluster_client_now(const struct cluster *cluster, unsigned client)
{
    return clock_read(&cluster->clients[client].clock, cluster->now_us);
}

uint64_t cluster_node_now(const struct cluster *cluster, unsigned node)
{
    return clock_read(&cluster->hosts[node].clock, cluster->now_us);
}

static void tell_witness(const struct cluster *cluster)
{
    if (cluster->witness) witness_saw_call(cluster->witness);
}

void cluster_step_client_clock(struct cluster *cluster, unsigned client, int64_t us)
{
    struct cluster_clock *clock = &cluster->clients[client].clock;
    clock_set(clock, cluster->now_us, us, clock->fast_ppm);
    tell_witness(cluster);
}

void cluster_step_node_clock(struct cluster *cluster, unsigned node, int64_t us)
{
    struct cluster_clock *clock = &cluster->hosts[node].clock;
    clock_set(clock, cluster->now_us, us, clock->fast_ppm);
    tell_witness(cluster);
}

void cluster_set_node_rate(struct cluster *cluster, unsigned node, int32_t fast_ppm)
{
    clock_set(&cluster->hosts[node].clock, cluster->now_us, 0, fast_ppm);
    tell_witness(cluster);
}

void cluster_set_client_rate(struct cluster *cluster, unsigned client, int32_t fast_ppm)
{
    clock_set(&cluster->clients[client].clock, cluster->now_us, 0, fast_ppm);
    tell_witness(cluster);
}

uint64_t cluster_client_wall(const struct cluster *cluster, unsigned client)
{
    return cluster_client_now(cluster, client) + (uint64_t)cluster->clients[client].wall_offset_us;
}

static uint64_t client_start_us(unsigned client)
{
    return CLIENT_START_US + (uint64_t)client * CLIENT_SPREAD_US;
}

void cluster_set_client_wall(struct cluster *cluster, unsigned client, int64_t skew_us)
{
    cluster->clients[client].wall_offset_us =
        (int64_t)(WALL_START_US - client_start_us(client)) + skew_us;
}

/* SplitMix64 */
uint64_t cluster_random(struct cluster *cluster)
{
    uint64_t z = cluster->dice += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t cluster_below(struct cluster *cluster, uint64_t limit)
{
    return cluster_random(cluster) % limit;
}

/* ---- Pipes and connections ---- */

static void *need(void *memory)
{
    if (!memory) abort();
    return memory;
}

static struct cluster_link *link_of(struct cluster *cluster,
                                    const struct cluster_connection *connection)
{
    return &cluster->links[connection->client][connection->node];
}

/* One way, in that direction. */
static uint64_t delay_of(struct cluster *cluster, const struct cluster_connection *connection,
                         bool to_node)
{
    const struct cluster_link *link = &cluster->links[connection->client][connection->node];
    const uint64_t more_us =
        to_node ? link->to_node_us : link->to_client_us + cluster->hosts[connection->node].slow_us;
    return link->delay_us + more_us +
           (link->jitter_us > 0 ? cluster_below(cluster, link->jitter_us + 1) : 0);
}

/* Puts bytes on their way, or, with size 0, the end of all bytes. TCP keeps their order, whatever
 * the delay. */
static void pipe_put(struct cluster *cluster, struct cluster_connection *connection, bool to_node,
                     const void *data, size_t size)
{
    struct cluster_pipe *pipe = to_node ? &connection->to_node : &connection->to_client;
    uint64_t at = cluster->now_us + delay_of(cluster, connection, to_node);
    if (pipe->count > 0 && pipe->segments[pipe->count - 1].at > at)
        at = pipe->segments[pipe->count - 1].at;
    if (pipe->count == pipe->capacity) {
        pipe->capacity = 2 * pipe->capacity + 8;
        pipe->segments = need(realloc(pipe->segments, pipe->capacity * sizeof *pipe->segments));
    }
    const struct cluster_message message = { ++cluster->message_count, at, to_node, data, size };
    pipe->segments[pipe->count++] = (struct cluster_segment){ at, message.number, size, size == 0 };
    model_bytes_add(&pipe->bytes, data, size);
    if (cluster->observer.saw_message)
        cluster->observer.saw_message(cluster->observer.context, connection, &message);
}

static void pipe_drop_first(struct cluster_pipe *pipe)
{
    model_bytes_drop(&pipe->bytes, pipe->segments[0].size);
    memmove(pipe->segments, pipe->segments + 1, --pipe->count * sizeof *pipe->segments);
}

static void pipe_clear(struct cluster_pipe *pipe)
{
    model_bytes_free(&pipe->bytes);
    free(pipe->segments);
    *pipe = (struct cluster_pipe){ .count = 0 };
}

static void connection_begin(struct cluster *cluster, unsigned client, unsigned line)
{
    const unsigned node = line % cluster->node_count;
    struct cluster_connection *connection = need(calloc(1, sizeof *connection));
    struct cluster_link *link = &cluster->links[client][node];
    if (cluster->connection_count == cluster->connection_capacity) {
        cluster->connection_capacity = 2 * cluster->connection_capacity + 8;
        cluster->connections = need(realloc(
            cluster->connections, cluster->connection_capacity * sizeof *cluster->connections));
    }
    cluster->connections[cluster->connection_count++] = connection;
    connection->client = client;
    connection->node = node;
    connection->line = line;
    connection->number = ++cluster->connect_count;
    cluster->lines[client][line] = connection;
    connection->node_left = true;
    connection->connect_at = cluster->now_us + 2 * link->delay_us;
    if (link->connect_count < CLUSTER_CONNECTS_MAX)
        link->connected_at[link->connect_count] = cluster->now_us;
    link->connect_count++;
    talk(cluster, "client %u connects to node %u%s", client, node,
         line == node ? "" : " with a subscription");
}

static void connection_free(struct cluster *cluster, size_t index)
{
    struct cluster_connection *connection = cluster->connections[index];
    pipe_clear(&connection->to_node);
    pipe_clear(&connection->to_client);
    model_bytes_free(&connection->arrived);
    model_session_end(&connection->session);
    free(connection);
    cluster->connections[index] = cluster->connections[--cluster->connection_count];
}

/* The node's end is gone: nothing arrives there any more. */
static void node_leaves(struct cluster_connection *connection)
{
    if (!connection->node_left) model_session_end(&connection->session);
    connection->node_left = true;
    pipe_clear(&connection->to_node);
}

/* The client has closed its end, or ended. The bytes that it sent arrive, and then the end. */
static void client_leaves(struct cluster *cluster, struct cluster_connection *connection)
{
    connection->client_left = true;
    connection->left_at = cluster_client_now(cluster, connection->client);
    cluster->lines[connection->client][connection->line] = NULL;
    pipe_clear(&connection->to_client);
    model_bytes_free(&connection->arrived);
    if (!connection->node_left) pipe_put(cluster, connection, true, NULL, 0);
}

/* The client's end breaks. The client reads what has arrived, and then learns why there
 * is no more. */
static void client_learns_end(struct cluster_connection *connection, const char *why)
{
    pipe_clear(&connection->to_client);
    connection->ended = true;
    connection->why = why;
}

/* The node's end is gone; the client learns of it at once, unless nothing gets through to it. */
static void connection_breaks(struct cluster *cluster, struct cluster_connection *connection)
{
    const struct cluster_link *link = link_of(cluster, connection);
    node_leaves(connection);
    connection->why = "connection reset by peer";
    if (connection->client_left) return;
    if (link->stalled || link->deaf)
        pipe_put(cluster, connection, false, NULL, 0);
    else
        client_learns_end(connection, connection->why);
}

/* ---- What a node does with its connections ---- */

/* Sends the session's bytes; closes when it wants to. */
static void session_flush(struct cluster *cluster, struct cluster_connection *connection)
{
    struct model_session *session = &connection->session;
    const bool heard = !connection->client_left && !connection->ended;
    if (heard && session->out.size > 0) {
        talk_bytes(cluster, connection, '<', session->out.data, session->out.size);
        pipe_put(cluster, connection, false, session->out.data, session->out.size);
    }
    session->out.size = 0;
    if (!session->closing) return;
    if (heard) pipe_put(cluster, connection, false, NULL, 0);
    node_leaves(connection);
}

/* Tells the observer the commands that the node has executed since its log was empty. */
static void show_commands(struct cluster *cluster, const struct cluster_connection *connection)
{
    struct model_node *node = &cluster->hosts[connection->node].node;
    if (!cluster->observer.saw_command) return;
    for (size_t i = 0; i < node->call_count; i++)
        cluster->observer.saw_command(cluster->observer.context, connection, &node->calls[i]);
    node->call_count = 0;
}

/* Delivers the node's messages to sessions other than the one whose command published them. */
static void flush_subscribers(struct cluster *cluster, unsigned node)
{
    for (size_t i = 0; i < cluster->connection_count; i++) {
        struct cluster_connection *connection = cluster->connections[i];
        if (connection->node == node && !connection->node_left && connection->session.out.size > 0)
            session_flush(cluster, connection);
    }
}

static void session_feed(struct cluster *cluster, struct cluster_connection *connection,
                         const void *data, size_t size)
{
    struct model_node *node = &cluster->hosts[connection->node].node;
    model_session_receive(node, &connection->session, data, size,
                          cluster_node_now(cluster, connection->node));
    if (node->breach[0] != '\0' && !cluster->witness)
        break_rule(cluster, "node %u: %s", connection->node, node->breach);
    show_commands(cluster, connection);
    if (cluster->witness) witness_saw_node(cluster->witness, connection->node);
    session_flush(cluster, connection);
    if (node->subscribers) flush_subscribers(cluster, connection->node);
}

static void connection_opens(struct cluster *cluster, struct cluster_connection *connection)
{
    const struct cluster_host *host = &cluster->hosts[connection->node];
    const struct cluster_link *link = link_of(cluster, connection);
    if (host->down || link->cut ||
        (link->subscriptions_cut && connection->line >= cluster->node_count)) {
        connection->ended = true;
        connection->why = host->down ? "connection refused" : "network is unreachable";
        return;
    }
    connection->open = true;
    connection->node_left = false;
    model_session_begin(&cluster->hosts[connection->node].node, &connection->session);
    connection->session.client = connection->client;
    connection->session.shard = link->shard;
    session_flush(cluster, connection);
}

/* How many of the next size bytes still pass; the connection breaks after them when *breaks. */
static size_t sever_allows(struct cluster_sever *sever, size_t size, bool *breaks)
{
    *breaks = sever->armed && sever->after <= size;
    if (!sever->armed) return size;
    const size_t allowed = *breaks ? sever->after : size;
    sever->after -= allowed;
    sever->armed = !*breaks;
    return allowed;
}

static void tell_arrival(struct cluster *cluster, const struct cluster_segment *segment)
{
    if (cluster->observer.saw_arrival)
        cluster->observer.saw_arrival(cluster->observer.context, segment->number);
}

static void arrive_at_node(struct cluster *cluster, struct cluster_connection *connection)
{
    const struct cluster_segment segment = connection->to_node.segments[0];
    bool breaks;
    if (segment.end) {
        node_leaves(connection);
        return;
    }
    tell_arrival(cluster, &segment);
    const size_t size = sever_allows(&link_of(cluster, connection)->to_node, segment.size, &breaks);
    session_feed(cluster, connection, connection->to_node.bytes.data, size);
    if (!connection->node_left) pipe_drop_first(&connection->to_node);
    if (breaks) { /* Its earlier answers still arrive. */
        node_leaves(connection);
        connection->why = "connection reset by peer";
        pipe_put(cluster, connection, false, NULL, 0);
    }
}

static void arrive_at_client(struct cluster *cluster, struct cluster_connection *connection)
{
    const struct cluster_segment segment = connection->to_client.segments[0];
    bool breaks;
    if (segment.end) {
        client_learns_end(connection, connection->why);
        return;
    }
    tell_arrival(cluster, &segment);
    const size_t size =
        sever_allows(&link_of(cluster, connection)->to_client, segment.size, &breaks);
    model_bytes_add(&connection->arrived, connection->to_client.bytes.data, size);
    pipe_drop_first(&connection->to_client);
    if (breaks) connection_breaks(cluster, connection);
}

/* ---- Watching ---- */

/* The part of a resource's name, or of a set's names, that is shown. */
static int told_size(const struct cluster_lock *lock)
{
    return lock->resource_size < 20 ? (int)lock->resource_size : 20;
}

unsigned cluster_name_count(const struct cluster_lock *lock)
{
    return lock->set_count > 0 ? lock->set_count : 1;
}

struct redlock_name cluster_name(const struct cluster_lock *lock, unsigned number)
{
    if (lock->set_count > 0) return lock->set[number];
    return (struct redlock_name){ .bytes = lock->resource,
                                  .size = lock->resource_size + lock->slot_size };
}

/* A client with a permit holds the lock of its slot, so ":3" follows the name then. */
static void name_slot(struct cluster_lock *lock)
{
    const bool may_have = lock->in_use && lock->lock.permit.count > 0;
    const unsigned slot = may_have ? redlock_view_lock(&lock->lock).slot : 0;
    char text[8];
    lock->slot_size = 0;
    if (slot == 0 || lock->resource_size > REDLOCK_RESOURCE_MAX) return;
    lock->slot_size = (size_t)snprintf(text, sizeof text, ":%u", slot);
    memcpy(lock->resource + lock->resource_size, text, lock->slot_size);
}

static bool names_equal(struct redlock_name a, struct redlock_name b)
{
    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

bool cluster_reads(const struct cluster_lock *lock, unsigned number)
{
    return lock->set_count > 0 ? lock->set[number].shared
        : redlock_view_lock(&lock->lock).is_shared;
}

/* They share one resource at least, and are not both readers of it. */
static bool locks_meet(const struct cluster_lock *a, const struct cluster_lock *b)
{
    for (unsigned i = 0; i < cluster_name_count(a); i++)
        for (unsigned j = 0; j < cluster_name_count(b); j++)
            if (names_equal(cluster_name(a, i), cluster_name(b, j)) &&
                !(cluster_reads(a, i) && cluster_reads(b, j)))
                return true;
    return false;
}

static void watch_exclusion(struct cluster *cluster, unsigned client,
                            const struct cluster_lock *lock)
{
    for (unsigned c = 0; c < cluster->client_count; c++) {
        const struct cluster_client *other = &cluster->clients[c];
        for (unsigned i = 0; c != client && !other->dead && i < other->lock_count; i++) {
            const struct cluster_lock *rival = &other->locks[i];
            if (!rival->in_use || !locks_meet(rival, lock)) continue;
            cluster->exclusion_count++;
            if (cluster_valid_us(cluster, c, i) > 0)
                break_rule(cluster, "exclusion: clients %u and %u both hold %.*s", client, c,
                           told_size(lock), (const char *)lock->resource);
        }
    }
}

/* The token in Redisson's form. */
static bool is_field_of(const struct model_key *key, const char *token)
{
    char text[REDISSON_FIELD + 1];
    snprintf(text, sizeof text, "%.8s-%.4s-%.4s-%.4s-%.12s:%lu", token, token + 8, token + 12,
             token + 16, token + 20, strtoul(token + 32, NULL, 16));
    return key->value_size == strlen(text) && memcmp(key->value, text, key->value_size) == 0;
}

/* A holder's name may follow the token. */
static bool is_value_of(const struct model_key *key, const char *token)
{
    if (key->is_hash) return is_field_of(key, token);
    return key->value_size >= REDLOCK_TOKEN_TEXT &&
           memcmp(key->value, token, REDLOCK_TOKEN_TEXT) == 0 &&
           (key->value_size == REDLOCK_TOKEN_TEXT || key->value[REDLOCK_TOKEN_TEXT] == ' ');
}

/* The true time until which the host keeps the token in the key of that name; 0: it does not. */
static uint64_t name_kept_until(const struct cluster_host *host, struct redlock_name name,
                                const char *token)
{
    for (size_t i = 0; i < host->node.key_count; i++) {
        const struct model_key *key = &host->node.keys[i];
        if (key->name_size == name.size && memcmp(key->name, name.bytes, key->name_size) == 0 &&
            is_value_of(key, token))
            return clock_when(&host->clock, (key->expires_ms + 1) * 1000);
    }
    return 0;
}

const struct model_key *cluster_key_beside(const struct cluster_host *host,
                                           struct redlock_name name, const char *suffix)
{
    const size_t more = strlen(suffix);
    for (size_t i = 0; i < host->node.key_count; i++) {
        const struct model_key *key = &host->node.keys[i];
        if (key->name_size == name.size + more && memcmp(key->name, name.bytes, name.size) == 0 &&
            memcmp(key->name + name.size, suffix, more) == 0)
            return key;
    }
    return NULL;
}

bool cluster_is_shared_key(const struct model_key *key)
{
    return key->value_size == 7 && memcmp(key->value, "~shared", 7) == 0;
}

uint64_t cluster_reader_ends_ms(const struct model_key *key, const struct model_entry *reader)
{
    return key->expires_ms > 0 && key->expires_ms < reader->score ? key->expires_ms : reader->score;
}

/* The true time until which the host keeps writers out for the reader with that token; 0:
 * it does not. */
static uint64_t reader_kept_until(const struct cluster_host *host, struct redlock_name name,
                                  const char *token)
{
    const struct model_key *key = cluster_key_beside(host, name, "");
    const struct model_key *readers = cluster_key_beside(host, name, REDLOCK_READERS_SUFFIX);
    if (!key || !cluster_is_shared_key(key)) return 0;
    for (size_t i = 0; readers && i < readers->entry_count; i++) {
        const struct model_entry *entry = &readers->entries[i];
        if (entry->size >= REDLOCK_TOKEN_TEXT &&
            memcmp(entry->member, token, REDLOCK_TOKEN_TEXT) == 0)
            return clock_when(&host->clock, cluster_reader_ends_ms(key, entry) * 1000);
    }
    return 0;
}

/* A reader is kept by the key of a writer that it was, or was to become, as well. */
static uint64_t role_kept_until(const struct cluster_host *host, const struct cluster_lock *lock,
                                unsigned k, unsigned i, const char *token)
{
    char text[REDLOCK_TOKEN_TEXT + 1] = "";
    uint64_t until = name_kept_until(host, cluster_name(lock, i), token), other;
    if (!cluster_reads(lock, i)) return until;
    for (unsigned b = 0; b < REDLOCK_TOKEN_SIZE; b++)
        snprintf(text + 2 * b, 3, "%02x", lock->lock.stakes[k].token[b]);
    other = name_kept_until(host, cluster_name(lock, i), text);
    if (other > until) until = other;
    other = reader_kept_until(host, cluster_name(lock, i), token);
    if (other > until) until = other;
    other = reader_kept_until(host, cluster_name(lock, i), text);
    return other > until ? other : until;
}

/* The true time until which node k keeps the lock's token for all of its resources; 0:
 * it does not. */
static uint64_t kept_until(struct cluster *cluster, unsigned k, const struct cluster_lock *lock,
                           const char *token)
{
    uint64_t until = REDLOCK_NEVER;
    for (unsigned i = 0; i < cluster_name_count(lock); i++) {
        const uint64_t of_name = role_kept_until(&cluster->hosts[k], lock, k, i, token);
        if (of_name < until) until = of_name;
    }
    return until;
}

/* Checked when the belief changes. A quorum of nodes will keep the token for as long as
 * the holder believes. */
static void watch_promise(struct cluster *cluster, unsigned client, const struct cluster_lock *lock)
{
    const uint64_t until = clock_when(&cluster->clients[client].clock, lock->believed_until);
    char token[REDLOCK_TOKEN_TEXT + 1];
    unsigned kept = 0;
    cluster->promise_count++;
    redlock_token(&lock->lock, token);
    for (unsigned k = 0; k < cluster->node_count; k++)
        kept += kept_until(cluster, k, lock, token) >= until;
    if (kept < cluster->node_count / 2 + 1)
        break_rule(
            cluster,
            "promise: client %u believes to hold %.*s for %llu us, which %u of %u nodes keep",
            client, told_size(lock), (const char *)lock->resource,
            (unsigned long long)(until - cluster->now_us), kept, cluster->node_count);
}

static void watch_books(struct cluster *cluster, unsigned client, unsigned index)
{
    const struct cluster_client *owner = &cluster->clients[client];
    char text[160];
    if (!owner->locks[index].in_use || cluster->witness) return;
    cluster->invariant_count++;
    if (!invariants_hold(&owner->engine, &owner->locks[index].lock, text, sizeof text))
        break_rule(cluster, "invariant: client %u, lock %u, %s", client, index, text);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The latest time at which the engine must wake for the lock, by the public header. A round lasts
 * for a node timeout, a wait as long as requested, and a kept lock is extended, or reported as
 * lost, before it ends. */
static uint64_t due_at(struct cluster *cluster, unsigned client, struct cluster_lock *lock)
{
    const struct redlock_round *round = &lock->lock.round;
    const uint64_t round_ends_at =
        round->started_at + (uint64_t)cluster->config.node_timeout_ms * 1000;
    const uint64_t now_us = cluster_client_now(cluster, client),
                   valid_us = redlock_valid_us(&lock->lock, now_us);
    if (redlock_lock_status(&lock->lock) == REDLOCK_PENDING)
        return round->decided_at == 0
                   ? round_ends_at
                   : later(lock->waits_until, later(round_ends_at, round->decided_at));
    lock->is_kept = lock->is_kept && valid_us > 0 &&
                    redlock_lock_status(&lock->lock) != REDLOCK_EXTENSION_LIMIT;
    return lock->is_kept ? now_us + valid_us : REDLOCK_NEVER;
}

/* Uses the alarm that the client gets. A lock that waits for random bytes is not judged, since
 * nobody reports when that began. */
static void watch_alarm(struct cluster *cluster, unsigned client, unsigned index)
{
    struct cluster_client *owner = &cluster->clients[client];
    struct cluster_lock *lock = &owner->locks[index];
    const uint64_t wakes_at = redlock_wake_at(&owner->engine);
    if (!lock->in_use || owner->starved || redlock_entropy_wanted(&owner->engine) > 0) return;
    const uint64_t at = due_at(cluster, client, lock);
    if (wakes_at > later(at, cluster_client_now(cluster, client)))
        break_rule(cluster, "alarm: client %u sleeps for %llu us, and lock %u needs it in %lld us",
                   client, (unsigned long long)(wakes_at - cluster_client_now(cluster, client)),
                   index, (long long)(at - cluster_client_now(cluster, client)));
}

static void watch_lock(struct cluster *cluster, unsigned client, unsigned index)
{
    struct cluster_lock *lock = &cluster->clients[client].locks[index];
    const uint64_t valid_us = lock->in_use ? cluster_valid_us(cluster, client, index) : 0;
    const uint64_t until = cluster_client_now(cluster, client) + valid_us;
    name_slot(lock);
    if (valid_us == 0 || cluster->witness) return;
    if (!cluster->no_exclusion) watch_exclusion(cluster, client, lock);
    if (until == lock->believed_until) return;
    lock->believed_until = until;
    talk(cluster, "client %u holds lock %u for %llu us", client, index,
         (unsigned long long)valid_us);
    if (!cluster->no_promise) watch_promise(cluster, client, lock);
}

static void feed_entropy(struct cluster *cluster, struct cluster_client *client)
{
    uint8_t bytes[8];
    if (redlock_entropy_wanted(&client->engine) > REDLOCK_ENTROPY_MAX - REDLOCK_TOKEN_SIZE)
        client->hindered_at = cluster_client_now(cluster, (unsigned)(client - cluster->clients));
    while (!client->starved && redlock_entropy_wanted(&client->engine) > 0) {
        const uint64_t random = cluster_random(cluster);
        for (unsigned i = 0; i < sizeof bytes; i++) /* The same on every machine. */
            bytes[i] = (uint8_t)(random >> 8 * i);
        redlock_add_entropy(&client->engine, bytes, sizeof bytes);
    }
}

/* Does and checks all that follows each call of the engine. */
static void after_call(struct cluster *cluster, unsigned c)
{
    struct cluster_client *client = &cluster->clients[c];
    const struct redlock_lock *done;
    if (cluster->durables && !client->dead) redlock_tend_durable(&client->durable);
    feed_entropy(cluster, client);
    while (!client->keeps_done && (done = redlock_next_done(&client->engine)))
        if (redlock_lock_status(done) == REDLOCK_PENDING)
            break_rule(cluster, "redlock_next_done gave a lock whose operation has not ended");
    client->call_count++;
    if (cluster->observer.saw_call) cluster->observer.saw_call(cluster->observer.context, c);
    const bool is_watched =
        client->lock_count <= SWEEP_LOCKS_MAX || client->call_count % SWEEP_EVERY == 0;
    for (unsigned i = 0; is_watched && i < client->lock_count; i++) {
        watch_books(cluster, c, i);
        watch_alarm(cluster, c, i);
        watch_lock(cluster, c, i);
    }
    tell_witness(cluster);
}

/* The wants that make sense with a connection in that state. */
static void watch_wants(struct cluster *cluster, unsigned c, unsigned k, unsigned wants,
                        const struct cluster_connection *connection)
{
    const unsigned busy = REDLOCK_WANT_SEND | REDLOCK_WANT_RECEIVE;
    if (wants & ~(busy | REDLOCK_WANT_CONNECT | REDLOCK_WANT_CLOSE))
        break_rule(cluster, "client %u wants what is not in the contract of session %u: %u", c, k,
                   wants);
    if (wants & REDLOCK_WANT_CONNECT && wants & busy)
        break_rule(cluster, "client %u wants to use its connection to node %u before it has one", c,
                   k);
    if (!connection && wants & (busy | REDLOCK_WANT_CLOSE))
        break_rule(cluster, "client %u wants %u of a connection to node %u that does not exist", c,
                   wants, k);
}

/* ---- What a client owes its engine ---- */

static void do_close(struct cluster *cluster, struct cluster_connection *connection)
{
    const unsigned c = connection->client, k = connection->node;
    talk(cluster, "client %u closes the connection to node %u", c, k);
    client_leaves(cluster, connection);
    redlock_disconnected(&cluster->clients[c].engine, connection->line, NULL,
                         cluster_client_now(cluster, c));
}

static void do_tell_opened(struct cluster *cluster, struct cluster_connection *connection)
{
    connection->connect_at = 0;
    redlock_connected(&cluster->clients[connection->client].engine, connection->line,
                      cluster_client_now(cluster, connection->client));
}

static void do_tell_ended(struct cluster *cluster, struct cluster_connection *connection)
{
    const unsigned c = connection->client, k = connection->node;
    const char *why = connection->why;
    talk(cluster, "client %u learns that the connection to node %u ended: %s", c, k,
         why ? why : "closed");
    client_leaves(cluster, connection);
    redlock_disconnected(&cluster->clients[c].engine, connection->line, why,
                         cluster_client_now(cluster, c));
}

static size_t at_most(size_t size, size_t max)
{
    return max > 0 && size > max ? max : size;
}

static void do_receive(struct cluster *cluster, struct cluster_connection *connection)
{
    struct redlock *engine = &cluster->clients[connection->client].engine;
    size_t room = 0;
    uint8_t *input = redlock_input(engine, connection->line, &room);
    if (!input || room == 0) {
        break_rule(cluster, "redlock_input of node %u has no room", connection->node);
        return;
    }
    size_t size = at_most(connection->arrived.size, link_of(cluster, connection)->receive_max);
    size = at_most(size, room);
    memcpy(input, connection->arrived.data, size);
    model_bytes_drop(&connection->arrived, size);
    redlock_received(engine, connection->line, size,
                     cluster_client_now(cluster, connection->client));
}

/* True when bytes have left. */
static bool do_send(struct cluster *cluster, struct cluster_connection *connection)
{
    struct redlock *engine = &cluster->clients[connection->client].engine;
    const struct cluster_link *link = link_of(cluster, connection);
    size_t size = 0;
    const uint8_t *output = redlock_output(engine, connection->line, &size);
    if (size > 0 && !output) {
        break_rule(cluster, "redlock_output of node %u gives bytes that are nowhere",
                   connection->node);
        return false;
    }
    size = at_most(size, link->send_max);
    if (link->window > 0) size = at_most(size, link->window - connection->to_node.bytes.size);
    if (size == 0) return false;
    talk_bytes(cluster, connection, '>', output, size);
    if (!connection->node_left) pipe_put(cluster, connection, true, output, size);
    redlock_sent(engine, connection->line, size);
    return true;
}

static bool can_send(struct cluster *cluster, const struct cluster_connection *connection)
{
    const size_t window = link_of(cluster, connection)->window;
    return window == 0 || connection->to_node.bytes.size < window;
}

enum deed { DEED_NONE, DEED_IDLE, DEED_DONE };

/* Does one thing that client c owes its engine for its session k, if there is any. */
static enum deed serve_line(struct cluster *cluster, unsigned c, unsigned k)
{
    struct cluster_connection *connection = cluster->lines[c][k];
    const unsigned wants = redlock_wants(&cluster->clients[c].engine, k);
    watch_wants(cluster, c, k, wants, connection);
    if (!connection) {
        if (!(wants & REDLOCK_WANT_CONNECT)) return DEED_NONE;
        connection_begin(cluster, c, k);
        return DEED_DONE;
    }
    if (wants & REDLOCK_WANT_CLOSE)
        do_close(cluster, connection);
    else if (connection->open && connection->connect_at > 0)
        do_tell_opened(cluster, connection);
    else if (wants & REDLOCK_WANT_RECEIVE && connection->arrived.size > 0)
        do_receive(cluster, connection);
    else if (connection->ended)
        do_tell_ended(cluster, connection);
    else if (wants & REDLOCK_WANT_SEND && can_send(cluster, connection)) {
        if (!do_send(cluster, connection)) {
            after_call(cluster, c);
            return DEED_IDLE;
        }
    } else {
        return DEED_NONE;
    }
    after_call(cluster, c);
    return DEED_DONE;
}

static void tick(struct cluster *cluster, unsigned c)
{
    struct cluster_client *client = &cluster->clients[c];
    client->tick_count++;
    redlock_tick(&client->engine, cluster_client_now(cluster, c));
    after_call(cluster, c);
}

static bool is_asleep(const struct cluster_client *client)
{
    return client->frozen || client->dead;
}

static bool is_due(const struct cluster *cluster, unsigned c)
{
    return redlock_wake_at(&cluster->clients[c].engine) <= cluster_client_now(cluster, c);
}

/* Does the next thing that any client owes its engine. Chance decides whose turn it is. */
static enum deed serve(struct cluster *cluster)
{
    const unsigned count = cluster->client_count * cluster->line_count;
    const unsigned start = (unsigned)cluster_below(cluster, count);
    unsigned c = start / cluster->line_count, k = start % cluster->line_count;
    for (unsigned i = 0; i < count; i++, k++) {
        if (k == cluster->line_count) {
            k = 0;
            c = (c + 1) % cluster->client_count;
        }
        enum deed deed;
        if (is_asleep(&cluster->clients[c])) continue;
        const bool is_first = i == 0 || k == 0; /* The first lock of this client. */
        if (is_first) feed_entropy(cluster, &cluster->clients[c]);
        if (is_first && cluster->clients[c].ticks_first && is_due(cluster, c)) {
            tick(cluster, c);
            return DEED_IDLE;
        }
        deed = serve_line(cluster, c, k);
        if (deed != DEED_NONE) return deed;
    }
    return DEED_NONE;
}

/* ---- Events ---- */

struct event {
    uint64_t at;
    /* Index of the connection, or connection_count for the client's tick. */
    size_t connection;
    unsigned client;
    void (*happens)(struct cluster *cluster, struct cluster_connection *connection);
};

/* If two events have the same time, one is chosen at random. */
static void offer(struct cluster *cluster, struct event *next, struct event event)
{
    if (event.at < cluster->now_us)
        event.at = cluster->now_us; /* It was held up. */
    if (event.at < next->at ||
        (event.at == next->at && event.at != REDLOCK_NEVER && cluster_random(cluster) & 1))
        *next = event;
}

static void offer_connection(struct cluster *cluster, struct event *next, size_t index)
{
    struct cluster_connection *connection = cluster->connections[index];
    const struct cluster_link *link = link_of(cluster, connection);
    const bool hung = cluster->hosts[connection->node].node.hung;
    const struct cluster_pipe *to_node = &connection->to_node, *to_client = &connection->to_client;
    if (link->stalled) return;
    if (!connection->open && !connection->ended && !link->mute)
        offer(cluster, next, (struct event){ connection->connect_at, index, 0, connection_opens });
    if (to_node->count > 0 && !link->mute && !(hung && to_node->segments[0].end))
        offer(cluster, next, (struct event){ to_node->segments[0].at, index, 0, arrive_at_node });
    if (to_client->count > 0 && !link->deaf)
        offer(cluster, next,
              (struct event){ to_client->segments[0].at, index, 0, arrive_at_client });
}

static struct event next_event(struct cluster *cluster)
{
    struct event next = { .at = REDLOCK_NEVER };
    for (size_t i = 0; i < cluster->connection_count; i++) offer_connection(cluster, &next, i);
    for (unsigned c = 0; c < cluster->client_count; c++) {
        const struct cluster_client *client = &cluster->clients[c];
        const uint64_t wake_at =
            is_asleep(client) ? REDLOCK_NEVER : redlock_wake_at(&client->engine);
        if (wake_at != REDLOCK_NEVER)
            offer(
                cluster, &next,
                (struct event){ clock_when(&client->clock, wake_at) + client->lag_us, 0, c, NULL });
    }
    return next;
}

static void bury_connections(struct cluster *cluster)
{
    for (size_t i = cluster->connection_count; i-- > 0;)
        if (cluster->connections[i]->client_left && cluster->connections[i]->node_left)
            connection_free(cluster, i);
}

static void count_idle(struct cluster *cluster)
{
    if (++cluster->idle_steps > CLUSTER_IDLE_STEPS_MAX)
        break_rule(cluster,
                   "busy loop: the engine calls for attention without end, and nothing moves");
}

static void happen(struct cluster *cluster, const struct event *event)
{
    if (event->at > cluster->now_us) cluster->idle_steps = 0;
    cluster->now_us = event->at;
    if (event->happens) {
        event->happens(cluster, cluster->connections[event->connection]);
    } else {
        tick(cluster, event->client);
        count_idle(cluster);
    }
}

static void be_restless(struct cluster *cluster)
{
    const unsigned c = (unsigned)cluster_below(cluster, cluster->client_count);
    if (!is_asleep(&cluster->clients[c]) && cluster_below(cluster, 4) == 0) tick(cluster, c);
}

static void count_step(struct cluster *cluster)
{
    if (++cluster->step_count == cluster->step_max)
        break_rule(cluster, "livelock: still at work after %llu steps",
                   (unsigned long long)cluster->step_max);
}

bool cluster_step(struct cluster *cluster, uint64_t until_us)
{
    count_step(cluster);
    if (cluster_is_broken(cluster)) return false;
    if (cluster->restless) be_restless(cluster);
    bury_connections(cluster);
    switch (serve(cluster)) {
    case DEED_DONE:
        cluster->idle_steps = 0;
        return true;
    case DEED_IDLE:
        count_idle(cluster);
        return true;
    case DEED_NONE:
        break;
    }
    const struct event event = next_event(cluster);
    if (event.at > until_us) {
        cluster->now_us = until_us;
        return false;
    }
    happen(cluster, &event);
    return true;
}

void cluster_run_us(struct cluster *cluster, uint64_t us)
{
    const uint64_t until_us = cluster->now_us + us;
    while (cluster_step(cluster, until_us)) { }
}

void cluster_run_ms(struct cluster *cluster, uint64_t ms)
{
    cluster_run_us(cluster, ms * 1000);
}

bool cluster_run_until_done(struct cluster *cluster, unsigned client, unsigned lock)
{
    const struct redlock_lock *waited = &cluster->clients[client].locks[lock].lock;
    const uint64_t until_us = cluster->now_us + (uint64_t)CLUSTER_PATIENCE_MS * 1000;
    while (redlock_lock_status(waited) == REDLOCK_PENDING)
        if (!cluster_step(cluster, until_us)) return false;
    return true;
}

/* ---- Locks ---- */

static struct redlock *engine_of(struct cluster *cluster, unsigned client)
{
    return &cluster->clients[client].engine;
}

void cluster_need_locks(struct cluster *cluster, unsigned client, unsigned count)
{
    struct cluster_client *owner = &cluster->clients[client];
    free(owner->locks);
    owner->locks = need(calloc(count, sizeof *owner->locks));
    owner->lock_count = count;
    for (unsigned i = 0; i < count; i++) redlock_lock_init(&owner->locks[i].lock);
}

struct redlock_lock *cluster_lock(struct cluster *cluster, unsigned client, unsigned lock)
{
    return &cluster->clients[client].locks[lock].lock;
}

/* The copy of a resource's name that stays as long as the lock. */
static const uint8_t *keep_name(struct cluster_lock *lock, const void *resource, size_t size)
{
    lock->in_use = true;
    lock->set_count = 0;
    lock->resource_size = size;
    if (size <= sizeof lock->resource) memcpy(lock->resource, resource, size);
    return lock->resource;
}

/* The same of a set; one that is too large for any lock is the caller's own. */
static struct redlock_name *keep_set(struct cluster_lock *lock, struct redlock_name *set,
                                     unsigned count)
{
    lock->in_use = true;
    lock->set_count = 0;
    lock->resource_size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (i == REDLOCK_SET_MAX || set[i].size > sizeof lock->resource - lock->resource_size)
            return set;
        uint8_t *bytes = lock->resource + lock->resource_size;
        memcpy(bytes, set[i].bytes, set[i].size);
        lock->set[i] = (struct redlock_name){
            .bytes = bytes, .size = set[i].size, .shared = set[i].shared
        };
        lock->resource_size += set[i].size;
    }
    lock->set_count = count;
    return lock->set;
}

enum redlock_status cluster_acquire(struct cluster *cluster, unsigned client, unsigned lock,
                                    const struct redlock_request *request)
{
    struct cluster_client *owner = &cluster->clients[client];
    struct cluster_lock *taken = &owner->locks[lock];
    struct redlock_request copy = *request;
    if (request->set)
        copy.set = keep_set(taken, request->set, request->set_count);
    else
        copy.resource = keep_name(taken, request->resource, request->resource_size);
    if (copy.wall_us == 0 && (copy.ticket || cluster->config.wake_ups))
        copy.wall_us = cluster_client_wall(cluster, client);
    const enum redlock_status status = redlock_start_acquire(&owner->engine, &taken->lock, &copy,
                                                             cluster_client_now(cluster, client));
    if (status == REDLOCK_OK) {
        taken->is_kept = false;
        taken->waits_until =
            request->wait_ms == REDLOCK_FOREVER
                ? REDLOCK_NEVER
                : cluster_client_now(cluster, client) + (uint64_t)request->wait_ms * 1000;
    }
    after_call(cluster, client);
    return status;
}

enum redlock_status cluster_extend(struct cluster *cluster, unsigned client, unsigned lock,
                                   uint32_t ttl_ms)
{
    const enum redlock_status status =
        redlock_start_extend(engine_of(cluster, client), cluster_lock(cluster, client, lock),
                             ttl_ms, cluster_client_now(cluster, client));
    after_call(cluster, client);
    return status;
}

enum redlock_status cluster_upgrade(struct cluster *cluster, unsigned client, unsigned lock)
{
    const enum redlock_status status =
        redlock_start_upgrade(engine_of(cluster, client), cluster_lock(cluster, client, lock),
                              cluster_client_now(cluster, client));
    after_call(cluster, client);
    return status;
}

enum redlock_status cluster_downgrade(struct cluster *cluster, unsigned client, unsigned lock)
{
    const enum redlock_status status =
        redlock_start_downgrade(engine_of(cluster, client), cluster_lock(cluster, client, lock),
                                cluster_client_now(cluster, client));
    after_call(cluster, client);
    return status;
}

enum redlock_status cluster_keep(struct cluster *cluster, unsigned client, unsigned lock,
                                 uint32_t hold_ms)
{
    const enum redlock_status status =
        redlock_keep(engine_of(cluster, client), cluster_lock(cluster, client, lock), hold_ms,
                     cluster_client_now(cluster, client));
    if (status == REDLOCK_OK) cluster->clients[client].locks[lock].is_kept = true;
    after_call(cluster, client);
    return status;
}

enum redlock_status cluster_release(struct cluster *cluster, unsigned client, unsigned lock)
{
    const enum redlock_status status =
        redlock_start_release(engine_of(cluster, client), cluster_lock(cluster, client, lock),
                              cluster_client_now(cluster, client));
    after_call(cluster, client);
    return status;
}

enum redlock_status cluster_inspect(struct cluster *cluster, unsigned client, unsigned lock,
                                    const char *resource, struct redlock_sight *sights)
{
    struct cluster_lock *looker = &cluster->clients[client].locks[lock];
    const uint8_t *name = keep_name(looker, resource, strlen(resource));
    const enum redlock_status status =
        redlock_start_inspect(engine_of(cluster, client), &looker->lock, name, strlen(resource),
                              sights, cluster_client_now(cluster, client));
    after_call(cluster, client);
    return status;
}

static enum redlock_status adopt(struct cluster *cluster, unsigned client, unsigned lock,
                                 const struct redlock_request *what, const char *token)
{
    const enum redlock_status status =
        redlock_adopt(engine_of(cluster, client), cluster_lock(cluster, client, lock), what, token,
                      cluster_client_now(cluster, client));
    after_call(cluster, client);
    return status;
}

enum redlock_status cluster_adopt_as(struct cluster *cluster, unsigned client, unsigned lock,
                                     const struct redlock_kind *kind, const char *resource,
                                     const char *token)
{
    struct cluster_lock *heir = &cluster->clients[client].locks[lock];
    const struct redlock_request what = {
        .kind = kind, .resource = keep_name(heir, resource, strlen(resource)),
        .resource_size = strlen(resource)
    };
    return adopt(cluster, client, lock, &what, token);
}

enum redlock_status cluster_adopt(struct cluster *cluster, unsigned client, unsigned lock,
                                  const char *resource, const char *token)
{
    return cluster_adopt_as(cluster, client, lock, &redlock_plain, resource, token);
}

enum redlock_status cluster_adopt_set(struct cluster *cluster, unsigned client, unsigned lock,
                                      const struct redlock_kind *kind, struct redlock_name *set,
                                      unsigned count, const char *token)
{
    struct cluster_lock *heir = &cluster->clients[client].locks[lock];
    const struct redlock_request what = {
        .kind = kind, .set = keep_set(heir, set, count), .set_count = count
    };
    return adopt(cluster, client, lock, &what, token);
}

void cluster_cancel(struct cluster *cluster, unsigned client, unsigned lock)
{
    redlock_cancel(engine_of(cluster, client), cluster_lock(cluster, client, lock),
                   cluster_client_now(cluster, client));
    after_call(cluster, client);
}

/* Its memory is overwritten, so that code that still looks at it is found out. */
void cluster_forget(struct cluster *cluster, unsigned client, unsigned lock)
{
    struct cluster_lock *forgotten = &cluster->clients[client].locks[lock];
    redlock_forget(engine_of(cluster, client), &forgotten->lock);
    memset(forgotten, 0xDD, sizeof *forgotten);
    forgotten->in_use = forgotten->is_kept = false;
    after_call(cluster, client);
}

void cluster_move(struct cluster *cluster, unsigned client, unsigned to, unsigned from)
{
    struct cluster_client *owner = &cluster->clients[client];
    struct cluster_lock *source = &owner->locks[from], *target = &owner->locks[to];
    const bool is_set = source->set_count > 0;
    if (is_set)
        keep_set(target, source->set, source->set_count);
    else
        keep_name(target, source->resource, source->resource_size);
    target->believed_until = source->believed_until;
    target->waits_until = source->waits_until;
    target->is_kept = source->is_kept;
    redlock_move(&owner->engine, &target->lock, &source->lock,
                 /* A set of one is a resource. */
                 source->set_count > 1 ? (const void *)target->set : target->resource);
    memset(source, 0xDD, sizeof *source);
    source->in_use = source->is_kept = false;
    after_call(cluster, client);
}

uint64_t cluster_valid_us(const struct cluster *cluster, unsigned client, unsigned lock)
{
    return redlock_valid_us(&cluster->clients[client].locks[lock].lock,
                            cluster_client_now(cluster, client));
}

uint64_t cluster_valid_until(const struct cluster *cluster, unsigned client, unsigned lock)
{
    const uint64_t valid_us = cluster_valid_us(cluster, client, lock);
    const uint64_t end = cluster_client_now(cluster, client) + valid_us;
    return valid_us == 0 ? REDLOCK_NEVER : clock_when(&cluster->clients[client].clock, end);
}

/* ---- Faults ---- */

void cluster_node_down(struct cluster *cluster, unsigned node)
{
    cluster->hosts[node].down = true;
    for (size_t i = 0; i < cluster->connection_count; i++)
        if (cluster->connections[i]->node == node && cluster->connections[i]->open)
            connection_breaks(cluster, cluster->connections[i]);
}

static void start_again(struct cluster *cluster, unsigned node, bool keeps_keys)
{
    cluster->hosts[node].down = false;
    model_node_restart(&cluster->hosts[node].node, ++cluster->process_count, keeps_keys,
                       cluster_node_now(cluster, node));
}

void cluster_node_up(struct cluster *cluster, unsigned node, bool keeps_keys)
{
    start_again(cluster, node, keeps_keys);
    tell_witness(cluster);
}

void cluster_node_up_from_disk(struct cluster *cluster, unsigned node)
{
    start_again(cluster, node, false);
    model_node_load(&cluster->hosts[node].node);
    tell_witness(cluster);
}

void cluster_node_hang(struct cluster *cluster, unsigned node)
{
    cluster->hosts[node].node.hung = true;
}

void cluster_node_resume(struct cluster *cluster, unsigned node)
{
    cluster->hosts[node].node.hung = false;
    for (size_t i = 0; i < cluster->connection_count; i++)
        if (cluster->connections[i]->node == node && !cluster->connections[i]->node_left)
            session_feed(cluster, cluster->connections[i], NULL, 0);
}

void cluster_publish(struct cluster *cluster, unsigned node, const char *channel,
                     const char *message)
{
    (void)model_publish(&cluster->hosts[node].node, channel, message);
    for (size_t i = 0; i < cluster->connection_count; i++)
        if (cluster->connections[i]->node == node && !cluster->connections[i]->node_left)
            session_flush(cluster, cluster->connections[i]);
}

void cluster_push_to(struct cluster *cluster, struct cluster_connection *connection,
                     const void *bytes, size_t size)
{
    model_bytes_add(&connection->session.out, bytes, size);
    session_flush(cluster, connection);
}

void cluster_push(struct cluster *cluster, unsigned node, const void *bytes, size_t size)
{
    for (size_t i = 0; i < cluster->connection_count; i++) {
        struct cluster_connection *connection = cluster->connections[i];
        if (connection->node == node && !connection->node_left)
            cluster_push_to(cluster, connection, bytes, size);
    }
}

static void reset_line(struct cluster *cluster, unsigned client, unsigned line, bool arrives)
{
    struct cluster_connection *connection = cluster->lines[client][line];
    if (!connection) return;
    client_learns_end(connection, "connection reset by peer");
    if (!arrives) node_leaves(connection);
}

void cluster_reset(struct cluster *cluster, unsigned client, unsigned node, bool arrives)
{
    for (unsigned line = node; line < cluster->line_count; line += cluster->node_count)
        reset_line(cluster, client, line, arrives);
}

void cluster_cut(struct cluster *cluster, unsigned client, unsigned node, bool arrives)
{
    cluster_reset(cluster, client, node, arrives);
    cluster->links[client][node].cut = true;
}

void cluster_cut_subscription(struct cluster *cluster, unsigned client, unsigned node)
{
    if (cluster->line_count > cluster->node_count)
        reset_line(cluster, client, cluster->node_count + node, false);
    cluster->links[client][node].subscriptions_cut = true;
}

void cluster_stall(struct cluster *cluster, unsigned client, unsigned node)
{
    cluster->links[client][node].stalled = true;
}

void cluster_heal(struct cluster *cluster, unsigned client, unsigned node)
{
    struct cluster_link *link = &cluster->links[client][node];
    link->stalled = link->deaf = link->mute = link->cut = link->subscriptions_cut = false;
    link->to_node.armed = link->to_client.armed = false;
}

void cluster_heal_all(struct cluster *cluster)
{
    for (unsigned k = 0; k < cluster->node_count; k++) {
        for (unsigned c = 0; c < cluster->client_count; c++) cluster_heal(cluster, c, k);
        if (cluster->hosts[k].node.hung) cluster_node_resume(cluster, k);
        if (cluster->hosts[k].down) cluster_node_up(cluster, k, false);
    }
}

void cluster_client_dies(struct cluster *cluster, unsigned client)
{
    cluster->clients[client].dead = true;
    for (size_t i = 0; i < cluster->connection_count; i++)
        if (cluster->connections[i]->client == client && !cluster->connections[i]->client_left)
            client_leaves(cluster, cluster->connections[i]);
}

/* ---- Questions ---- */

const char *cluster_key(struct cluster *cluster, unsigned node, const char *name)
{
    const uint64_t now_us = cluster_node_now(cluster, node);
    const struct model_key *key =
        model_find(&cluster->hosts[node].node, 0, name, strlen(name), now_us);
    return key ? (const char *)key->value : NULL;
}

unsigned cluster_count_keys(struct cluster *cluster, const char *name)
{
    unsigned count = 0;
    for (unsigned k = 0; k < cluster->node_count; k++)
        count += cluster_key(cluster, k, name) ? 1 : 0;
    return count;
}

bool cluster_is_broken(struct cluster *cluster)
{
    return cluster->broken[0] != '\0';
}

/* ---- Setting up ---- */

static void use_all_features(struct redlock *engine)
{
    redlock_use(engine, &redlock_tickets);
    redlock_use(engine, &redlock_sets);
    redlock_use(engine, &redlock_wake_ups);
    redlock_use(engine, &redlock_copies);
    redlock_use(engine, &redlock_restore);
}

static void log_in(struct cluster *cluster, unsigned c, unsigned k,
                   const struct redlock_login *login)
{
    if (redlock_set_login(&cluster->clients[c].engine, k, login) != REDLOCK_OK)
        break_rule(cluster, "a login is refused");
}

static void use_durable(struct cluster *cluster, unsigned c)
{
    struct cluster_client *client = &cluster->clients[c];
    for (unsigned k = 0; k < cluster->node_count; k++) {
        const struct redlock_login login = { .durable = (cluster->durables >> k & 1) != 0 };
        log_in(cluster, c, k, &login);
    }
    memset(&client->durable, 0xa5, sizeof client->durable);     /* It may be any memory. */
    redlock_use_durable(&client->engine, &client->durable);
}

static void use_managed(struct cluster *cluster, unsigned c)
{
    const struct redlock_login login = { .managed = true };
    for (unsigned k = 0; k < cluster->node_count; k++) log_in(cluster, c, k, &login);
}

void cluster_declare_managed(struct cluster *cluster)
{
    cluster->managed = true;
    for (unsigned c = 0; c < cluster->client_count; c++) use_managed(cluster, c);
    for (unsigned k = 0; k < cluster->node_count; k++) {
        cluster->hosts[k].node.is_cluster = true;
        cluster->hosts[k].node.mode = "cluster";
    }
}

void cluster_declare_durable(struct cluster *cluster, uint16_t nodes)
{
    cluster->durables = nodes;
    for (unsigned c = 0; c < cluster->client_count; c++) use_durable(cluster, c);
}

static void engine_begin(struct cluster *cluster, unsigned c, unsigned lock_count)
{
    struct cluster_client *client = &cluster->clients[c];
    const struct redlock_config *config = &cluster->config;
    const size_t size = REDLOCK_MEMORY(cluster->line_count, config->pipeline, config->send_size,
                                       config->receive_size);
    free(client->memory);
    client->memory = need(malloc(size));
    if (redlock_init(&client->engine, config, client->nodes, cluster->node_count, client->memory,
                     size, cluster_client_now(cluster, c)) != REDLOCK_OK)
        break_rule(cluster, "redlock_init refuses what it must take");
    if (!client->plain) use_all_features(&client->engine);
    if (cluster->durables) use_durable(cluster, c);
    if (cluster->managed) use_managed(cluster, c);
    cluster_need_locks(cluster, c, lock_count);
}

void cluster_client_returns(struct cluster *cluster, unsigned client)
{
    cluster->clients[client].dead = false;
    engine_begin(cluster, client, cluster->clients[client].lock_count);
    after_call(cluster, client);
}

void cluster_client_is_plain(struct cluster *cluster, unsigned client)
{
    cluster->clients[client].plain = true;
    engine_begin(cluster, client, cluster->clients[client].lock_count);
}

static void client_begin(struct cluster *cluster, unsigned c)
{
    cluster->clients[c].clock = (struct cluster_clock){ cluster->now_us, client_start_us(c), 0 };
    cluster_set_client_wall(cluster, c, 0);
    engine_begin(cluster, c, LOCKS_DEFAULT);
    for (unsigned k = 0; k < cluster->node_count; k++)
        cluster->links[c][k].delay_us = CLUSTER_DELAY_US;
}

static void host_begin(struct cluster *cluster, unsigned k)
{
    struct cluster_host *host = &cluster->hosts[k];
    host->clock = (struct cluster_clock){
        cluster->now_us, NODE_START_US + NODE_SPREAD_US * (uint64_t)k, 0
    };
    model_node_init(&host->node, ++cluster->process_count,
                    cluster_node_now(cluster, k) - NODE_UPTIME_US);
    host->node.wall_offset_us = -NODE_SPREAD_US * (int64_t)k;
}

struct cluster *cluster_new(unsigned node_count, unsigned client_count,
                            const struct redlock_config *config, uint64_t seed)
{
    struct cluster *cluster = need(calloc(1, sizeof *cluster));
    struct redlock_config defaults;
    redlock_config_init(&defaults);
    cluster->now_us = TRUE_START_US;
    cluster->dice = seed;
    cluster->config = config ? *config : defaults;
    cluster->node_count = node_count;
    cluster->client_count = client_count;
    cluster->line_count = REDLOCK_SESSIONS(node_count, cluster->config.wake_ups);
    for (unsigned k = 0; k < node_count; k++) host_begin(cluster, k);
    for (unsigned c = 0; c < client_count; c++) {
        client_begin(cluster, c);
        after_call(cluster, c);
    }
    return cluster;
}

void cluster_free(struct cluster *cluster)
{
    if (!cluster) return;
    while (cluster->connection_count > 0) connection_free(cluster, 0);
    free(cluster->connections);
    for (unsigned k = 0; k < cluster->node_count; k++) model_node_free(&cluster->hosts[k].node);
    for (unsigned c = 0; c < cluster->client_count; c++) {
        free(cluster->clients[c].locks);
        free(cluster->clients[c].memory);
    }
    free(cluster);
}
