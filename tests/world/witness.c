#include "witness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RESOURCES_MAX = 64,     /* Names on one node, and their counters, */
    NAME_SIZE = 64,
    TEXT_SIZE = 2048,       /* and what is said of one. */
    LOCKS_MAX = 16          /* More than one client ever has. */
};

/* The last that was said of a key. */
struct saying {
    char name[NAME_SIZE];   /* "": this place is free. */
    char text[TEXT_SIZE];
    bool is_there;
};

struct told_node {
    struct cluster_clock clock;
    uint64_t started_us;    /* By its own clock. No other process there has it. */
    struct saying sayings[RESOURCES_MAX];
};

/* A lock that is held. Its names are in its memory, which may move, so they are copied. */
struct belief {
    char token[REDLOCK_TOKEN_TEXT + 1];     /* "": it is not held. */
    unsigned name_count;
    char names[REDLOCK_SET_MAX][NAME_SIZE];
    bool shared[REDLOCK_SET_MAX];
    uint64_t until, ticket;                 /* The end by the client's clock. */
    unsigned permits;
    uint8_t bytes[REDLOCK_TOKEN_SIZE];      /* Those of the token. */
};

/* A fair lock that is asked for. */
struct question {
    char token[REDLOCK_TOKEN_TEXT + 1];     /* "": none. */
    char name[NAME_SIZE];
};

struct told_client {
    struct cluster_clock clock;
    struct belief beliefs[LOCKS_MAX];
    struct question questions[LOCKS_MAX];
};

struct witness {
    struct cluster *cluster;
    struct told_node nodes[REDLOCK_NODES_MAX];
    struct told_client clients[CLUSTER_CLIENTS_MAX];
};

__attribute__((format(printf, 5, 6))) static void
say(uint64_t at, const char *whose, unsigned number, uint64_t clock, const char *format, ...)
{
    va_list arguments;
    printf("%llu %s%u %llu ", (unsigned long long)at, whose, number, (unsigned long long)clock);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

/* ---- Clocks ---- */

static void look_at_clock(struct cluster_clock *told, const struct cluster_clock *clock,
                          const char *whose, unsigned number)
{
    if (told->true_us == clock->true_us && told->local_us == clock->local_us &&
        told->fast_ppm == clock->fast_ppm)
        return;
    *told = *clock;
    say(clock->true_us, whose, number, clock->local_us, "runs %d", (int)clock->fast_ppm);
}

static void look_at_clocks(struct witness *w)
{
    const struct cluster *cluster = w->cluster;
    for (unsigned k = 0; k < cluster->node_count; k++)
        look_at_clock(&w->nodes[k].clock, &cluster->hosts[k].clock, "node", k);
    for (unsigned c = 0; c < cluster->client_count; c++)
        look_at_clock(&w->clients[c].clock, &cluster->clients[c].clock, "client", c);
}

/* ---- Nodes ---- */

static bool ends_with(const struct model_key *key, const char *suffix)
{
    const size_t size = strlen(suffix);
    return key->name_size >= size && memcmp(key->name + key->name_size - size, suffix, size) == 0;
}

static void fit(size_t size, size_t room)
{
    if (size >= room) abort();
}

/* A number is appended, and before it so many bytes, up to the first blank. */
static void add_end(char *text, const uint8_t *bytes, size_t size, uint64_t number)
{
    const size_t used = strlen(text);
    const uint8_t *blank = memchr(bytes, ' ', size);
    if (blank) size = (size_t)(blank - bytes);
    fit(used + size + sizeof " 18446744073709551615 ", TEXT_SIZE);
    snprintf(text + used, TEXT_SIZE - used, " %.*s %llu", (int)size, (const char *)bytes,
             (unsigned long long)number);
}

/* A shared key outlasts its last reader. */
static void add_readers(const struct cluster_host *host, const struct model_key *key, char *text)
{
    const struct redlock_name name = { .bytes = key->name, .size = key->name_size };
    const struct model_key *readers = cluster_key_beside(host, name, REDLOCK_READERS_SUFFIX);
    snprintf(text, TEXT_SIZE, "%s", readers ? "s" : "");
    for (size_t i = 0; readers && i < readers->entry_count; i++) {
        const struct model_entry *reader = &readers->entries[i];
        add_end(text, reader->member, reader->size, cluster_reader_ends_ms(key, reader) * 1000);
    }
}

/* The tokens of those that wait in it, in no order. */
static void describe_queue(const struct model_key *key, uint64_t until_us, char *text)
{
    size_t used = (size_t)snprintf(text, TEXT_SIZE, " %llu", (unsigned long long)until_us);
    for (size_t i = 0; i < key->entry_count; i++) {
        fit(used + 1 + REDLOCK_TOKEN_TEXT, TEXT_SIZE);
        used += (size_t)snprintf(text + used, TEXT_SIZE - used, " %.*s", (int)REDLOCK_TOKEN_TEXT,
                                 (const char *)key->entries[i].member);
    }
}

/* False: nothing is said of such a key. A key that has no end has one far away. A queue is no
 * memory of a server, since each place in it is taken anew. */
static bool describe(const struct cluster_host *host, const struct model_key *key, bool is_memory,
                     char *text)
{
    const uint64_t until_us = key->expires_ms == 0 ? REDLOCK_NEVER : (key->expires_ms + 1) * 1000;
    const bool is_counter = ends_with(key, REDLOCK_TICKET_SUFFIX);
    if (ends_with(key, REDLOCK_QUEUE_SUFFIX) && key->is_sorted_set && !is_memory) {
        describe_queue(key, until_us, text);
        return true;
    }
    if (key->is_sorted_set || key->is_list || key->is_hash) return false;
    if (!is_counter && memchr(key->name, '#', key->name_size)) return false;
    snprintf(text, TEXT_SIZE, "%s", is_counter ? "" : "x");
    if (!is_counter && cluster_is_shared_key(key)) add_readers(host, key, text);
    else add_end(text, key->value, key->value_size, until_us);
    return true;
}

static struct saying *saying_about(struct told_node *told, const char *name)
{
    struct saying *place = NULL;
    for (unsigned i = 0; i < RESOURCES_MAX; i++) {
        if (strcmp(told->sayings[i].name, name) == 0) return &told->sayings[i];
        if (!place && told->sayings[i].name[0] == '\0') place = &told->sayings[i];
    }
    if (!place) abort();
    memcpy(place->name, name, strlen(name) + 1);
    return place;
}

/* A line about a key with that suffix names its resource. */
static bool say_suffixed(const struct witness *w, unsigned k, const struct saying *key,
                         const char *suffix, const char *verb, const char *nothing)
{
    const size_t size = strlen(key->name), suffix_size = strlen(suffix);
    if (size <= suffix_size || strcmp(key->name + size - suffix_size, suffix) != 0) return false;
    say(w->cluster->now_us, "node", k, cluster_node_now(w->cluster, k), "%s %.*s%s", verb,
        (int)(size - suffix_size), key->name, key->text[0] == '\0' ? nothing : key->text);
    return true;
}

/* A key that is gone has no text. */
static void say_key(const struct witness *w, unsigned k, const struct saying *key, bool is_memory)
{
    if (say_suffixed(w, k, key, REDLOCK_TICKET_SUFFIX, is_memory ? "recounts" : "counts", " 0 0"))
        return;
    if (say_suffixed(w, k, key, REDLOCK_QUEUE_SUFFIX, "queues", " 0")) return;
    say(w->cluster->now_us, "node", k, cluster_node_now(w->cluster, k), "%s %s %s",
        is_memory ? "recalls" : "has", key->name, key->text[0] == '\0' ? "nothing" : key->text);
}

static void say_changes(struct witness *w, unsigned k, bool is_memory)
{
    const struct cluster_host *host = &w->cluster->hosts[k];
    const struct model_node *node = &host->node;
    struct told_node *told = &w->nodes[k];
    char name[NAME_SIZE], text[TEXT_SIZE];
    for (unsigned i = 0; i < RESOURCES_MAX; i++) told->sayings[i].is_there = false;
    for (size_t i = 0; i < node->key_count; i++) {
        if (!describe(host, &node->keys[i], is_memory, text)) continue;
        fit(node->keys[i].name_size, sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)node->keys[i].name_size,
                 (const char *)node->keys[i].name);
        struct saying *saying = saying_about(told, name);
        saying->is_there = true;
        if (strcmp(saying->text, text) == 0) continue;
        memcpy(saying->text, text, sizeof text);
        say_key(w, k, saying, is_memory);
    }
    for (unsigned i = 0; i < RESOURCES_MAX; i++) {
        struct saying *saying = &told->sayings[i];
        if (saying->name[0] == '\0' || saying->is_there) continue;
        saying->text[0] = '\0';
        say_key(w, k, saying, is_memory);
        saying->name[0] = '\0';
    }
}

/* Another server answers there. First all that it remembers is said. */
static void look_for_restarts(struct witness *w)
{
    for (unsigned k = 0; k < w->cluster->node_count; k++) {
        const struct model_node *node = &w->cluster->hosts[k].node;
        struct told_node *told = &w->nodes[k];
        if (told->started_us == node->started_us) continue;
        memset(told->sayings, 0, sizeof told->sayings);
        told->started_us = node->started_us;
        say_changes(w, k, true);
        say(w->cluster->now_us, "node", k, cluster_node_now(w->cluster, k), "restarts");
    }
}

/* ---- Clients ---- */

static void copy_names(struct belief *belief, const struct cluster_lock *lock)
{
    belief->name_count = cluster_name_count(lock);
    for (unsigned i = 0; i < belief->name_count; i++) {
        const struct redlock_name name = cluster_name(lock, i);
        fit(name.size, NAME_SIZE);
        snprintf(belief->names[i], NAME_SIZE, "%.*s", (int)name.size, (const char *)name.bytes);
        belief->shared[i] = cluster_reads(lock, i);
    }
}

/* How long it will be held by the client's clock; 0: it is not. */
static uint64_t believed_us(struct cluster *cluster, unsigned c, unsigned index)
{
    const struct cluster_client *client = &cluster->clients[c];
    return !client->dead && client->locks[index].in_use ? cluster_valid_us(cluster, c, index) : 0;
}

static struct belief belief_of(struct cluster *cluster, unsigned c, unsigned index)
{
    const struct cluster_lock *lock = &cluster->clients[c].locks[index];
    const uint64_t valid_us = believed_us(cluster, c, index);
    struct belief belief = { .token = "" };
    if (valid_us == 0) return belief;
    redlock_token(&lock->lock, belief.token);
    copy_names(&belief, lock);
    belief.until = cluster_client_now(cluster, c) + valid_us;
    memcpy(belief.bytes, lock->lock.token, sizeof belief.bytes);
    belief.ticket = redlock_ticket(&lock->lock);
    belief.permits = redlock_view_lock(&lock->lock).slot > 0 ? lock->lock.permit.count : 0;
    return belief;
}

static void say_holds(const struct witness *w, unsigned c, const struct belief *belief)
{
    char ticket[32] = "", permits[16] = "";
    if (belief->ticket > 0)
        snprintf(ticket, sizeof ticket, " ticket=%llu", (unsigned long long)belief->ticket);
    if (belief->permits > 0) snprintf(permits, sizeof permits, " of=%u", belief->permits);
    for (unsigned i = 0; i < belief->name_count; i++)
        say(w->cluster->now_us, "client", c, cluster_client_now(w->cluster, c),
            "holds %s %c %s %llu%s%s", belief->names[i], belief->shared[i] ? 's' : 'x',
            belief->token, (unsigned long long)belief->until, ticket, permits);
}

/* It "turns", and has another token, or "ends". */
static void say_over(const struct witness *w, unsigned c, const struct belief *belief,
                     const char *verb, const char *other)
{
    for (unsigned i = 0; i < belief->name_count; i++)
        say(w->cluster->now_us, "client", c, cluster_client_now(w->cluster, c), "%s %s %s%s%s",
            verb, belief->names[i], belief->token, other[0] != '\0' ? " " : "", other);
}

static bool beliefs_equal(const struct belief *a, const struct belief *b)
{
    return strcmp(a->token, b->token) == 0 && a->until == b->until && a->ticket == b->ticket &&
           memcmp(a->shared, b->shared, sizeof a->shared) == 0;
}

static bool has_token(const struct belief *beliefs, unsigned count, const char *token)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(beliefs[i].token, token) == 0) return true;
    return false;
}

static bool is_told(const struct belief *beliefs, unsigned count, const struct belief *belief)
{
    for (unsigned i = 0; i < count; i++)
        if (beliefs_equal(&beliefs[i], belief)) return true;
    return false;
}

/* Nearly always this is so, and all that follows takes time. */
static bool is_as_before(const struct witness *w, unsigned c, unsigned i,
                         const struct belief *before)
{
    const struct cluster_lock *lock = &w->cluster->clients[c].locks[i];
    const uint64_t valid_us = believed_us(w->cluster, c, i);
    if (valid_us == 0 || before->token[0] == '\0') return valid_us == 0 && before->token[0] == '\0';
    return before->until == cluster_client_now(w->cluster, c) + valid_us &&
           before->ticket == redlock_ticket(&lock->lock) &&
           before->shared[0] == cluster_reads(lock, 0) &&
           memcmp(before->bytes, lock->lock.token, sizeof before->bytes) == 0;
}

/* A lock is known by its token, since it may have moved in memory. */
static void look_at_locks(struct witness *w, unsigned c)
{
    struct belief now[LOCKS_MAX], *before = w->clients[c].beliefs;
    const unsigned count = w->cluster->clients[c].lock_count;
    unsigned same = 0;
    if (count > LOCKS_MAX) abort();
    while (same < count && is_as_before(w, c, same, &before[same])) same++;
    if (same == count) return;
    for (unsigned i = 0; i < count; i++) now[i] = belief_of(w->cluster, c, i);
    for (unsigned i = 0; i < count; i++) {
        if (before[i].token[0] == '\0' || has_token(now, count, before[i].token)) continue;
        const bool has_turned =
            now[i].name_count == 1 && strcmp(now[i].names[0], before[i].names[0]) == 0;
        say_over(w, c, &before[i], has_turned ? "turns" : "ends", now[i].token);
    }
    for (unsigned i = 0; i < count; i++)
        if (now[i].token[0] != '\0' && !is_told(before, count, &now[i])) say_holds(w, c, &now[i]);
    memcpy(before, now, count * sizeof now[0]);
}

/* What is asked for is known by its token as well, and begins anew with another one. */
static void look_at_questions(struct witness *w, unsigned c)
{
    const struct cluster_client *client = &w->cluster->clients[c];
    const uint64_t at = w->cluster->now_us, clock = cluster_client_now(w->cluster, c);
    for (unsigned i = 0; i < client->lock_count; i++) {
        const struct cluster_lock *lock = &client->locks[i];
        struct question now = { .token = "" }, *before = &w->clients[c].questions[i];
        const bool asks = !client->dead && lock->in_use && lock->lock.kind == &redlock_fair &&
                          (lock->lock.phase == REDLOCK_PHASE_ACQUIRING ||
                           lock->lock.phase == REDLOCK_PHASE_WAITING);
        if (asks) redlock_token(&lock->lock, now.token);
        if (strcmp(now.token, before->token) == 0) continue;
        if (before->token[0] != '\0')
            say(at, "client", c, clock, "quits %s %s", before->name, before->token);
        if (asks)
            snprintf(now.name, sizeof now.name, "%.*s", (int)lock->lock.name.size,
                     (const char *)lock->lock.name.bytes);
        if (asks) say(at, "client", c, clock, "asks %s %s", now.name, now.token);
        *before = now;
    }
}

void witness_saw_deed(struct witness *w, unsigned client, const char *verb,
                      struct redlock_name resource, uint64_t period_ms, const char *token)
{
    say(w->cluster->now_us, "client", client, cluster_client_now(w->cluster, client),
        "%s %.*s %llu %s", verb, (int)resource.size, (const char *)resource.bytes,
        (unsigned long long)period_ms, token);
}

/* ---- All of it ---- */

void witness_begin(struct cluster *cluster, const char *name)
{
    struct witness *w = calloc(1, sizeof *w);
    if (!w) abort();
    w->cluster = cluster;
    cluster->witness = w;
    printf("world %s nodes=%u guard_ms=%u skew_ms=%u drift_ppm=%u durable=%u\n", name,
           cluster->node_count, (unsigned)cluster->config.guard_ms,
           (unsigned)cluster->config.ticket_skew_ms, (unsigned)cluster->config.drift_ppm,
           (unsigned)cluster->durables);
    for (unsigned k = 0; k < cluster->node_count; k++)
        w->nodes[k].started_us = cluster->hosts[k].node.started_us;
    witness_saw_call(w);
}

void witness_saw_call(struct witness *w)
{
    look_at_clocks(w);
    look_for_restarts(w);
    for (unsigned c = 0; c < w->cluster->client_count; c++) {
        look_at_locks(w, c);
        look_at_questions(w, c);
    }
}

void witness_saw_node(struct witness *w, unsigned node)
{
    witness_saw_call(w);
    say_changes(w, node, false);
}

void witness_end(struct witness *w)
{
    if (!w) return;
    witness_saw_call(w);
    printf("%llu end\n", (unsigned long long)w->cluster->now_us);
    free(w);
}
