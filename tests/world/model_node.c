#include "model_node.h"

#include "../../redlock/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX = 32,              /* "*3\r\n", "$12\r\n": longer ones are no command of ours. */
    BULK_MAX = 4096,
    DATABASES = 16,
    STRANGERS_WORDS_MAX = 10,   /* With a longer command before the login a server hangs up. */
    TEXT_MAX = 2048,            /* Of an answer that is made up here. */
    QUOTED_MAX = 128            /* Bytes of a name, and of arguments, that an error quotes. */
};

enum script { SCRIPT_NONE, SCRIPT_ACQUIRE, SCRIPT_EXTEND, SCRIPT_EXTEND_ONE, SCRIPT_RELEASE, SCRIPT_RELEASE_ONE, SCRIPT_WAIT };

/* A text of a command or a key, not NUL-terminated. */
struct slice {
    const uint8_t *data;
    size_t size;
};

struct command {
    struct slice arguments[MODEL_ARGUMENTS_MAX];
    unsigned count;
};

/* What a command is executed in. */
struct scene {
    struct model_node *node;
    struct model_session *session;
    const struct command *command;
    struct model_call *call;
    uint64_t now_us;
};

/* ---- Bytes ---- */

static void *grow(void *data, size_t size)
{
    void *grown = realloc(data, size);
    if (!grown)
        abort();
    return grown;
}

void model_bytes_add(struct model_bytes *bytes, const void *data, size_t size)
{
    if (size == 0)
        return;
    if (bytes->size + size > bytes->capacity) {
        bytes->capacity = 2 * (bytes->size + size);
        bytes->data = grow(bytes->data, bytes->capacity);
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void model_bytes_drop(struct model_bytes *bytes, size_t size)
{
    bytes->size -= size;
    if (bytes->size > 0)
        memmove(bytes->data, bytes->data + size, bytes->size);
}

void model_bytes_free(struct model_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct model_bytes){ 0 };
}

static struct slice slice_of(const char *text)
{
    return (struct slice){ (const uint8_t *)text, strlen(text) };
}

static bool slice_is(struct slice a, const char *text)
{
    return a.size == strlen(text) && memcmp(a.data, text, a.size) == 0;
}

static bool slices_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static void slice_text(struct slice slice, char *text, size_t size)
{
    const size_t count = slice.size < size ? slice.size : size - 1;
    memcpy(text, slice.data, count);
    text[count] = '\0';
}

/* A decimal number as Redis takes it: no sign but '-', no leading zero, nothing else. */
static bool slice_number(struct slice slice, int64_t *number)
{
    char text[24], again[24];
    if (slice.size == 0 || slice.size >= sizeof text)
        return false;
    slice_text(slice, text, sizeof text);
    *number = strtoll(text, NULL, 10);
    snprintf(again, sizeof again, "%lld", (long long)*number);
    return strcmp(text, again) == 0;
}

static void breach(struct model_node *node, const char *what)
{
    if (node->breach[0] == '\0')
        snprintf(node->breach, sizeof node->breach, "%s", what);
}

/* ---- SHA-1, to know whether the library's constants are right ---- */

static uint32_t rotate(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

static void sha1_block(uint32_t h[5], const uint8_t *block)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (unsigned i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < 80; i++) {
        const uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
        const uint32_t k = i < 20 ? 0x5A827999u : i < 40 ? 0x6ED9EBA1u : i < 60 ? 0x8F1BBCDCu : 0xCA62C1D6u;
        const uint32_t next = rotate(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

static void sha1_text(struct slice input, char text[MODEL_SHA_TEXT + 1])
{
    uint32_t h[5] = { 0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u, 0xC3D2E1F0u };
    uint8_t last[128] = { 0 };
    const size_t whole = input.size / 64 * 64, rest = input.size - whole, padded = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64)
        sha1_block(h, input.data + i);
    memcpy(last, input.data + whole, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[padded - 1 - i] = (uint8_t)((uint64_t)input.size * 8 >> 8 * i);
    for (size_t i = 0; i < padded; i += 64)
        sha1_block(h, last + i);
    for (unsigned i = 0; i < 5; i++)
        snprintf(text + 8 * i, 9, "%08x", (unsigned)h[i]);
}

/* ---- Keys ---- */

static uint32_t hash_of(uint32_t database, const uint8_t *name, size_t size)
{
    uint32_t hash = 2166136261u ^ database; /* FNV-1a */
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ name[i]) * 16777619u;
    return hash;
}

static uint64_t ms_of(uint64_t us)
{
    return us / 1000;
}

static void key_remove(struct model_node *node, struct model_key *key)
{
    free(key->name);
    free(key->value);
    free(key->places);
    *key = node->keys[--node->key_count];
}

/* A key lives as long as the clock, in whole milliseconds, is not past its end. */
static struct model_key *key_find(struct model_node *node, uint32_t database, struct slice name, uint64_t now_us)
{
    const uint32_t hash = hash_of(database, name.data, name.size);
    for (size_t i = 0; i < node->key_count; i++) {
        struct model_key *key = &node->keys[i];
        if (key->hash != hash || key->database != database || key->name_size != name.size ||
            memcmp(key->name, name.data, name.size) != 0)
            continue;
        if (key->expires_ms == 0 || ms_of(now_us) <= key->expires_ms)
            return key;
        key_remove(node, key);
        return NULL;
    }
    return NULL;
}

static uint8_t *copy_of(struct slice slice)
{
    uint8_t *copy = grow(NULL, slice.size + 1);
    memcpy(copy, slice.data, slice.size);
    copy[slice.size] = '\0';
    return copy;
}

static struct model_key *key_put(struct model_node *node, uint32_t database, struct slice name, struct slice value)
{
    if (node->key_count == node->key_capacity) {
        node->key_capacity = 2 * node->key_capacity + 8;
        node->keys = grow(node->keys, node->key_capacity * sizeof *node->keys);
    }
    struct model_key *key = &node->keys[node->key_count++];
    *key = (struct model_key){ .hash = hash_of(database, name.data, name.size), .database = database,
                               .name_size = name.size, .name = copy_of(name),
                               .value_size = value.size, .value = copy_of(value) };
    return key;
}

static bool is_string(const struct model_key *key)
{
    return !key->is_list && !key->is_sorted_set;
}

static int64_t key_pttl(const struct model_key *key, uint64_t now_us)
{
    return key->expires_ms == 0 ? -1 : (int64_t)(key->expires_ms - ms_of(now_us));
}

const struct model_key *model_find(struct model_node *node, uint32_t database, const void *name, size_t name_size,
                                   uint64_t now_us)
{
    return key_find(node, database, (struct slice){ name, name_size }, now_us);
}

struct model_key *model_put(struct model_node *node, const char *name, const char *value, uint64_t ttl_ms, uint64_t now_us)
{
    struct model_key *key = key_find(node, 0, slice_of(name), now_us);
    if (key)
        key_remove(node, key);
    key = key_put(node, 0, slice_of(name), slice_of(value));
    key->expires_ms = ttl_ms == 0 ? 0 : ms_of(now_us) + ttl_ms;
    return key;
}

void model_flush(struct model_node *node)
{
    while (node->key_count > 0)
        key_remove(node, &node->keys[0]);
}

void model_flush_scripts(struct model_node *node)
{
    node->script_count = 0;
}

void model_evict(struct model_node *node, size_t index)
{
    key_remove(node, &node->keys[index]);
}

static void forget_saved(struct model_node *node)
{
    for (size_t i = 0; i < node->saved_count; i++) {
        free(node->saved[i].name);
        free(node->saved[i].value);
        free(node->saved[i].places);
    }
    free(node->saved);
    node->saved = NULL;
    node->saved_count = 0;
}

static struct model_key key_copy(const struct model_key *key)
{
    struct model_key copy = *key;
    copy.name = copy_of((struct slice){ key->name, key->name_size });
    copy.value = copy_of((struct slice){ key->value, key->value_size });
    copy.places = grow(NULL, (key->place_count + 1) * sizeof *copy.places);
    if (key->place_count > 0)
        memcpy(copy.places, key->places, key->place_count * sizeof *copy.places);
    return copy;
}

void model_node_save(struct model_node *node)
{
    forget_saved(node);
    node->saved = grow(NULL, (node->key_count + 1) * sizeof *node->saved);
    node->saved_count = node->key_count;
    for (size_t i = 0; i < node->key_count; i++)
        node->saved[i] = key_copy(&node->keys[i]);
}

void model_node_load(struct model_node *node)
{
    model_flush(node);
    if (node->key_capacity < node->saved_count) {
        node->key_capacity = node->saved_count;
        node->keys = grow(node->keys, node->key_capacity * sizeof *node->keys);
    }
    node->key_count = node->saved_count;
    for (size_t i = 0; i < node->saved_count; i++)
        node->keys[i] = key_copy(&node->saved[i]);
}

/* ---- Answers ---- */

static void answer(const struct scene *scene, const char *text)
{
    model_bytes_add(&scene->session->out, text, strlen(text));
}

static void answer_number(const struct scene *scene, int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, ":%lld\r\n", (long long)number);
    answer(scene, text);
}

static void answer_bulk(const struct scene *scene, struct slice slice)
{
    char head[32];
    snprintf(head, sizeof head, "$%zu\r\n", slice.size);
    answer(scene, head);
    model_bytes_add(&scene->session->out, slice.data, slice.size);
    answer(scene, "\r\n");
}

/* An error that a script met is told with the script's name behind it. */
static void answer_error(const struct scene *scene, const char *error, const char *sha)
{
    answer(scene, error);
    if (sha) {
        answer(scene, " script: ");
        answer(scene, sha);
        answer(scene, ", on @user_script:1.");
    }
    answer(scene, "\r\n");
}

static const char *const wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
static const char *const read_only = "-READONLY You can't write against a read only replica.";
static const char *const misconf =
    "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Commands that may "
    "modify the data set are disabled, because this instance is configured to report errors during writes if RDB "
    "snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details about the RDB error.";

static const char *const master_down =
    "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n";

/* Why a write is refused; NULL: it is not. frees: it needs no memory. */
static const char *why_no_write(const struct model_node *node, bool frees)
{
    if (node->role == MODEL_REPLICA)
        return read_only;
    switch (node->condition) {
    case MODEL_OUT_OF_MEMORY: return frees ? NULL : "-OOM command not allowed when used memory > 'maxmemory'.";
    case MODEL_MISCONF:       return misconf;
    case MODEL_NO_REPLICAS:   return "-NOREPLICAS Not enough good replicas to write.";
    default:                  return NULL;
    }
}

/* ---- Commands ---- */

/* The key that an argument names; NULL: there is none. */
static struct model_key *key_named(const struct scene *scene, unsigned argument)
{
    return key_find(scene->node, scene->session->database, scene->command->arguments[argument], scene->now_us);
}

static void do_auth(const struct scene *scene)
{
    const struct model_node *node = scene->node;
    const struct command *command = scene->command;
    const struct slice user = command->count == 3 ? command->arguments[1] : slice_of("default");
    const struct slice password = command->arguments[command->count - 1];
    if (!node->password && command->count == 2) {
        answer(scene, "-ERR AUTH <password> called without any password configured for the default user. "
                      "Are you sure your configuration is correct?\r\n");
        return;
    }
    if (slice_is(user, node->user ? node->user : "default") && (!node->password || slice_is(password, node->password))) {
        scene->session->logged_in = true;
        answer(scene, "+OK\r\n");
    } else {    /* Who was logged in stays so. */
        answer(scene, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    }
}

static void do_select(const struct scene *scene)
{
    int64_t number;
    if (!slice_number(scene->command->arguments[1], &number)) {
        answer(scene, "-ERR value is not an integer or out of range\r\n");
    } else if (number < INT32_MIN || number > INT32_MAX) {
        answer(scene, "-ERR value is out of range, value must between -2147483648 and 2147483647\r\n");
    } else if (number != 0 && strcmp(scene->node->mode, "cluster") == 0) {
        answer(scene, "-ERR SELECT is not allowed in cluster mode\r\n");
    } else if (number < 0 || number >= DATABASES) {
        answer(scene, "-ERR DB index is out of range\r\n");
    } else {
        scene->session->database = (uint32_t)number;
        answer(scene, "+OK\r\n");
    }
}

static void do_setname(const struct scene *scene)
{
    answer(scene, "+OK\r\n");
}

static void uptime_line(const struct scene *scene, char *text, size_t size)
{
    const struct model_node *node = scene->node;
    const int64_t uptime = (int64_t)(scene->now_us / 1000000) - (int64_t)(node->started_us / 1000000);
    text[0] = '\0';
    if (!node->uptime_text)
        snprintf(text, size, "uptime_in_seconds:%lld\r\n", (long long)uptime);
    else if (node->uptime_text[0] != '\0')
        snprintf(text, size, "uptime_in_seconds:%s\r\n", node->uptime_text);
}

/* A server with many listeners: about 1.5 KB, with long lines in front of and behind those that matter. */
static void do_info(const struct scene *scene)
{
    const struct model_node *node = scene->node;
    char text[TEXT_MAX], uptime[64];
    uptime_line(scene, uptime, sizeof uptime);
    snprintf(text, sizeof text,
             "# Server\r\nredis_version:7.0.15\r\nredis_git_sha1:00000000\r\nredis_git_dirty:0\r\n"
             "redis_build_id:ae4d7c971a948f0\r\nredis_mode:%s\r\nos:Linux 6.1.0-18-amd64 x86_64\r\narch_bits:64\r\n"
             "monotonic_clock:POSIX clock_gettime\r\nmultiplexing_api:epoll\r\natomicvar_api:c11-builtin\r\n"
             "gcc_version:12.2.0\r\nprocess_id:6923\r\nprocess_supervised:systemd\r\nrun_id:%s\r\ntcp_port:6379\r\n"
             "server_time_usec:%llu\r\n%suptime_in_days:%d\r\nhz:10\r\nconfigured_hz:10\r\nlru_clock:87835\r\n"
             "executable:/usr/local/%0350d/redis-server\r\nconfig_file:/etc/redis/%0300d/redis.conf\r\n"
             "io_threads_active:0\r\nlistener0:name=tcp,bind=*,bind=-::*,port=6379\r\n"
             "listener1:name=unix,bind=/run/redis/%0200d.sock\r\n\r\n",
             node->mode, node->run_id, (unsigned long long)scene->now_us, uptime, 0, 0, 0, 0);
    answer_bulk(scene, slice_of(text));
}

static void do_role(const struct scene *scene)
{
    char head[64];
    switch (scene->node->role) {
    case MODEL_MASTER:
        snprintf(head, sizeof head, "*3\r\n$6\r\nmaster\r\n:5\r\n*%u\r\n", scene->node->replica_count);
        answer(scene, head);
        for (unsigned i = 0; i < scene->node->replica_count; i++)
            answer(scene, "*3\r\n$9\r\n127.0.0.1\r\n$4\r\n6380\r\n$1\r\n5\r\n");
        break;
    case MODEL_REPLICA:
        answer(scene, "*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:6380\r\n$9\r\nconnected\r\n:5\r\n");
        break;
    case MODEL_SENTINEL:
        answer(scene, "*2\r\n$8\r\nsentinel\r\n*1\r\n$8\r\nmymaster\r\n");
        break;
    }
}

/* SET key value NX PX ttl, the only form that a lock may use. */
static void do_set(const struct scene *scene)
{
    const struct slice *a = scene->command->arguments;
    const char *refusal = why_no_write(scene->node, false);
    int64_t ttl_ms;
    if (scene->command->count != 6 || !slice_is(a[3], "NX") || !slice_is(a[4], "PX")) {
        breach(scene->node, "a SET that is not SET key value NX PX ttl");
        answer(scene, "-ERR syntax error\r\n");
    } else if (refusal) {
        answer_error(scene, refusal, NULL);
    } else if (!slice_number(a[5], &ttl_ms)) {
        answer(scene, "-ERR value is not an integer or out of range\r\n");
    } else if (ttl_ms <= 0) {
        answer(scene, "-ERR invalid expire time in 'set' command\r\n");
    } else if (key_named(scene, 1)) {
        answer(scene, "$-1\r\n");
    } else {
        struct model_key *key = key_put(scene->node, scene->session->database, a[1], a[2]);
        key->expires_ms = ms_of(scene->now_us) + (uint64_t)ttl_ms;
        scene->call->did = true;
        answer(scene, "+OK\r\n");
    }
}

static void do_getrange(const struct scene *scene)
{
    const struct slice *a = scene->command->arguments;
    const struct model_key *key = key_named(scene, 1);
    int64_t from, to;
    if (key && !is_string(key)) {
        answer_error(scene, wrong_type, NULL);
    } else if (!slice_number(a[2], &from) || !slice_number(a[3], &to) || from < 0 || to < from) {
        answer(scene, "-ERR value is not an integer or out of range\r\n");
    } else {
        const size_t end = !key ? 0 : (size_t)to + 1 < key->value_size ? (size_t)to + 1 : key->value_size;
        const size_t start = (size_t)from < end ? (size_t)from : end;
        answer_bulk(scene, (struct slice){ end > 0 ? key->value + start : (const uint8_t *)"", end - start });
    }
}

static void do_get(const struct scene *scene)
{
    const struct model_key *key = key_named(scene, 1);
    if (!key)
        answer(scene, "$-1\r\n");
    else if (!is_string(key))
        answer_error(scene, wrong_type, NULL);
    else
        answer_bulk(scene, (struct slice){ key->value, key->value_size });
}

static void do_strlen(const struct scene *scene)
{
    const struct model_key *key = key_named(scene, 1);
    if (key && !is_string(key))
        answer_error(scene, wrong_type, NULL);
    else
        answer_number(scene, key ? (int64_t)key->value_size : 0);
}

static void do_pttl(const struct scene *scene)
{
    const struct model_key *key = key_named(scene, 1);
    answer_number(scene, key ? key_pttl(key, scene->now_us) : -2);
}

/* S7: a key is removed by the script that compares, by nothing else. */
static void do_unfit(const struct scene *scene)
{
    breach(scene->node, "a command that changes a key without a look at its token");
    answer(scene, "-ERR not for a lock\r\n");
}

/* ---- Scripts ---- */

static bool is_listed(const char *list, const char *name)
{
    const char *found = list ? strstr(list, name) : NULL;
    const size_t size = strlen(name);
    while (found && ((found > list && found[-1] != ' ') || (found[size] != ' ' && found[size] != '\0')))
        found = strstr(found + 1, name);
    return found;
}

static enum script script_of(struct slice text)
{
    if (slice_is(text, WIRE_ACQUIRE_SCRIPT))
        return SCRIPT_ACQUIRE;
    if (slice_is(text, WIRE_EXTEND_SCRIPT))
        return SCRIPT_EXTEND;
    if (slice_is(text, WIRE_RELEASE_SCRIPT))
        return SCRIPT_RELEASE;
    if (slice_is(text, WIRE_WAIT_SCRIPT))
        return SCRIPT_WAIT;
    if (slice_is(text, WIRE_EXTEND_ONE_SCRIPT))
        return SCRIPT_EXTEND_ONE;
    if (slice_is(text, WIRE_RELEASE_ONE_SCRIPT))
        return SCRIPT_RELEASE_ONE;
    return SCRIPT_NONE;
}

/* Knows by its text what it has: that is faster than its SHA-1. */
static void script_load(struct model_node *node, struct slice text, char sha[MODEL_SHA_TEXT + 1])
{
    const enum script kind = script_of(text);
    for (unsigned i = 0; i < node->script_count; i++)
        if (node->script_kinds[i] == kind) {
            memcpy(sha, node->script_shas[i], MODEL_SHA_TEXT + 1);
            return;
        }
    sha1_text(text, sha);
    if (kind == SCRIPT_NONE || node->script_count == MODEL_SCRIPTS_MAX) {
        breach(node, "a script that the model does not know");
        return;
    }
    node->script_kinds[node->script_count] = (uint8_t)kind;
    memcpy(node->script_shas[node->script_count++], sha, MODEL_SHA_TEXT + 1);
}

static enum script script_loaded(const struct model_node *node, const char *sha)
{
    for (unsigned i = 0; i < node->script_count; i++)
        if (strcmp(node->script_shas[i], sha) == 0)
            return node->script_kinds[i];
    return SCRIPT_NONE;
}

static void do_load(const struct scene *scene)
{
    char sha[MODEL_SHA_TEXT + 1];
    script_load(scene->node, scene->command->arguments[2], sha);
    answer_bulk(scene, slice_of(sha));
}

/* A script that runs. It may be refused a write, but not after it has done one: it is not stopped halfway. */
struct run {
    const struct scene *scene;
    const char *sha;
    const struct slice *keys, *arguments;
    unsigned key_count, argument_count;
    bool has_written;
    const char *error;          /* What its last call came to; NULL: no error. */
};

enum effect { READS, FREES, ADDS }; /* FREES: or writes what needs no memory. */

/* redis.call() or redis.pcall() of that command: does it get as far as to be executed? */
static bool may_call(struct run *run, const char *command, enum effect effect)
{
    const struct model_node *node = run->scene->node;
    const bool is_write = effect != READS;
    run->error = is_write && !run->has_written ? why_no_write(node, effect == FREES) : NULL;
    if (is_listed(node->noperm, command))
        run->error = "-ERR The user executing the script can't run this command or subcommand";
    run->has_written = run->has_written || (is_write && !run->error);
    return !run->error;
}

/* An error that redis.call() met ends the script. */
static void raise_error(const struct run *run)
{
    answer_error(run->scene, run->error, run->sha);
}

static struct model_key *run_key(const struct run *run, struct slice name)
{
    return key_find(run->scene->node, run->scene->session->database, name, run->scene->now_us);
}

static void run_remove(const struct run *run, struct model_key *key)
{
    key_remove(run->scene->node, key);
}

/* value->data NULL: there is none. */
static bool call_get(struct run *run, struct slice name, struct slice *value)
{
    const struct model_key *key = run_key(run, name);
    if (!may_call(run, "GET", READS))
        return false;
    if (key && !is_string(key))
        run->error = wrong_type;
    *value = key ? (struct slice){ key->value, key->value_size } : (struct slice){ NULL, 0 };
    return !run->error;
}

static bool call_pttl(struct run *run, struct slice name, int64_t *left_ms)
{
    const struct model_key *key = run_key(run, name);
    *left_ms = key ? key_pttl(key, run->scene->now_us) : -2;
    return may_call(run, "PTTL", READS);
}

static bool call_del(struct run *run, struct slice name)
{
    struct model_key *key = run_key(run, name);
    if (!may_call(run, "DEL", FREES))
        return false;
    if (key)
        run_remove(run, key);
    return true;
}

static bool call_set(struct run *run, struct slice name, struct slice value, int64_t ttl_ms)
{
    struct model_key *key = run_key(run, name);
    if (!may_call(run, "SET", ADDS))
        return false;
    if (key)
        run_remove(run, key);
    key = key_put(run->scene->node, run->scene->session->database, name, value);
    key->expires_ms = ms_of(run->scene->now_us) + (uint64_t)ttl_ms;
    return true;
}

static bool call_pexpire(struct run *run, struct slice name, int64_t ttl_ms)
{
    struct model_key *key = run_key(run, name);
    if (!may_call(run, "PEXPIRE", FREES))
        return false;
    if (key)
        key->expires_ms = ms_of(run->scene->now_us) + (uint64_t)ttl_ms;
    return true;
}

/* ---- Scripts: the waiters ---- */

/* "resource#ticket", "resource#waiters". The bytes are the caller's to free. */
static struct slice name_with(struct slice resource, const char *suffix)
{
    uint8_t *bytes = grow(NULL, resource.size + strlen(suffix) + 1);
    memcpy(bytes, resource.data, resource.size);
    memcpy(bytes + resource.size, suffix, strlen(suffix) + 1);
    return (struct slice){ bytes, resource.size + strlen(suffix) };
}

static void slice_free(struct slice slice)
{
    free((void *)(uintptr_t)slice.data);
}

static struct model_place *place_find(struct model_key *key, struct slice member)
{
    for (size_t i = 0; i < key->place_count; i++)
        if (slices_equal((struct slice){ key->places[i].member, key->places[i].size }, member))
            return &key->places[i];
    return NULL;
}

/* A set without a member is none. */
static void place_remove(const struct run *run, struct model_key *key, struct model_place *place)
{
    *place = key->places[--key->place_count];
    if (key->place_count == 0)
        run_remove(run, key);
}

static void place_put(struct model_key *key, struct slice member, uint64_t score)
{
    struct model_place *place = place_find(key, member);
    if (!place) {
        key->places = grow(key->places, (key->place_count + 1) * sizeof *key->places);
        place = &key->places[key->place_count++];
    }
    place->score = score;
    place->size = member.size;
    memcpy(place->member, member.data, member.size);
}

/* By score, and then by the bytes. */
static bool place_is_before(const struct model_place *a, const struct model_place *b)
{
    const int order = memcmp(a->member, b->member, a->size < b->size ? a->size : b->size);
    if (a->score != b->score)
        return a->score < b->score;
    return order != 0 ? order < 0 : a->size < b->size;
}

/* The key of a sorted set, for a command that would be executed. NULL: there is none, or run->error. */
static struct model_key *sorted_set(struct run *run, struct slice name)
{
    struct model_key *key = run_key(run, name);
    if (!key || key->is_sorted_set)
        return key;
    run->error = wrong_type;
    return NULL;
}

static bool call_zadd(struct run *run, struct slice name, uint64_t score, struct slice member)
{
    if (!may_call(run, "ZADD", ADDS))
        return false;
    struct model_key *key = sorted_set(run, name);
    if (!key && !run->error) {
        key = key_put(run->scene->node, run->scene->session->database, name, slice_of(""));
        key->is_sorted_set = true;
    }
    if (key)
        place_put(key, member, score);
    return key != NULL;
}

static void call_zrem(struct run *run, struct slice name, struct slice member)
{
    struct model_key *key = may_call(run, "ZREM", FREES) ? sorted_set(run, name) : NULL;
    struct model_place *place = key ? place_find(key, member) : NULL;
    if (place)
        place_remove(run, key, place);
}

/* False: there was none, or an error. */
static bool call_zpopmin(struct run *run, struct slice name, struct model_place *first)
{
    struct model_key *key = may_call(run, "ZPOPMIN", FREES) ? sorted_set(run, name) : NULL;
    if (!key)
        return false;
    struct model_place *least = &key->places[0];
    for (size_t i = 1; i < key->place_count; i++)
        if (place_is_before(&key->places[i], least))
            least = &key->places[i];
    *first = *least;
    place_remove(run, key, least);
    return true;
}

/* How many have heard it. */
static unsigned publish(struct model_node *node, struct slice channel, struct slice message)
{
    unsigned heard = 0;
    char head[96];
    for (struct model_session *ear = node->ears; ear; ear = ear->next_ear) {
        if (!slice_is(channel, ear->channel))
            continue;
        snprintf(head, sizeof head, "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n", channel.size, ear->channel, message.size);
        model_bytes_add(&ear->out, head, strlen(head));
        model_bytes_add(&ear->out, message.data, message.size);
        model_bytes_add(&ear->out, "\r\n", 2);
        heard++;
    }
    return heard;
}

/* What is published of a place "0123456789abcdef:7" is "7", to "redlock:0123456789abcdef". Who hears it, 0: nobody, or an
 * error. */
static unsigned call_publish(struct run *run, const struct model_place *place)
{
    char text[MODEL_PLACE_MAX + 1], channel[sizeof "redlock:" + 16];
    slice_text((struct slice){ place->member, place->size }, text, sizeof text);
    snprintf(channel, sizeof channel, "redlock:%.16s", text);
    const struct slice message = slice_of(place->size > 17 ? text + 17 : "");
    return may_call(run, "PUBLISH", READS) ? publish(run->scene->node, slice_of(channel), message) : 0;
}

/* ---- Scripts: what they do ---- */

/* The larger of two PTTLs; none at all is the largest. */
static int64_t longer_pttl(int64_t a, int64_t b)
{
    const int64_t cut = b < UINT32_MAX ? b : UINT32_MAX;
    return a != -1 && (cut == -1 || cut > a) ? cut : a;
}

/* As Lua compares it. False: it is no number. */
static bool lua_number(struct slice text, double *number)
{
    char *end;
    *number = strtod((const char *)text.data, &end);
    return end != (const char *)text.data && end[strspn(end, " \t\r\n\v\f")] == '\0';
}

/* No Lua is executed here, but a script in which a rule is broken does as it says. */
static bool acquire_looks_at_each(void)
{
    return strstr(WIRE_ACQUIRE_SCRIPT, "if p~=-1 and (v==-1 or v>p) then p=v end") != NULL;
}

static bool acquire_wants_more(void)
{
    return strstr(WIRE_ACQUIRE_SCRIPT, "t<=tonumber(m)") != NULL;
}

static bool release_compares(void)
{
    return strstr(WIRE_RELEASE_SCRIPT, "if v==ARGV[1] then") != NULL;
}

static bool extend_only_lengthens(void)
{
    return strstr(WIRE_EXTEND_SCRIPT, "p<tonumber(ARGV[2])") != NULL;
}

/* Of all the keys: the largest counter, as the text that it is, and the longest PTTL. */
static bool acquire_looks(struct run *run, bool has_ticket, struct slice *largest, double *counter, int64_t *left_ms)
{
    for (unsigned i = 0; i < run->key_count; i++) {
        struct slice value = { NULL, 0 }, name = name_with(run->keys[i], "#ticket");
        int64_t pttl;
        double number = 0;
        const bool done = call_pttl(run, run->keys[i], &pttl) && (!has_ticket || call_get(run, name, &value));
        slice_free(name);
        if (!done)
            return false;
        *left_ms = acquire_looks_at_each() ? longer_pttl(*left_ms, pttl) : pttl;
        if (value.data && !lua_number(value, &number)) {
            run->error = "-ERR user_script:1: attempt to compare number with nil";
            return false;
        }
        if (value.data && number > *counter) {
            *counter = number;
            *largest = value;
        }
    }
    return true;
}

static bool acquire_sets(struct run *run, bool has_ticket, int64_t ttl_ms, int64_t life_ms)
{
    for (unsigned i = 0; i < run->key_count; i++) {
        const struct slice name = name_with(run->keys[i], "#ticket");
        const bool done = (!has_ticket || call_set(run, name, run->arguments[2], life_ms)) &&
                          call_set(run, run->keys[i], run->arguments[0], ttl_ms);
        slice_free(name);
        if (!done)
            return false;
    }
    return true;
}

static void acquire_refuses(const struct run *run, struct slice largest, int64_t left_ms)
{
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "%.*s %lld", (int)largest.size, (const char *)largest.data, (long long)left_ms);
    answer_bulk(run->scene, slice_of(text));
}

/* Is the ticket too small for the counter? */
static bool is_outdated(int64_t ticket, double counter)
{
    return ticket > 0 && (acquire_wants_more() ? (double)ticket <= counter : (double)ticket < counter);
}

/* WIRE_ACQUIRE_SCRIPT */
static void do_acquire(struct run *run)
{
    const struct scene *scene = run->scene;
    const uint64_t wall_us = scene->now_us + (uint64_t)scene->node->wall_offset_us;
    int64_t ttl_ms = 0, ticket = 0, life_ms = 0, skew_ms = 0, left_ms = -2;
    struct slice largest = slice_of("0");
    double counter = 0;
    if (!slice_number(run->arguments[1], &ttl_ms) || !slice_number(run->arguments[2], &ticket) || ttl_ms <= 0 ||
        !slice_number(run->arguments[3], &life_ms) || !slice_number(run->arguments[4], &skew_ms) || ticket < 0)
        breach(scene->node, "an acquire script with arguments out of range");
    if (!acquire_looks(run, ticket > 0, &largest, &counter, &left_ms)) {
        raise_error(run);
    } else if (left_ms != -2 || is_outdated(ticket, counter)) {
        scene->call->outdated = left_ms == -2;
        acquire_refuses(run, largest, left_ms);
    } else if (!may_call(run, "TIME", READS)) {
        raise_error(run);
    } else if ((uint64_t)ticket > wall_us + (uint64_t)skew_ms * 1000) {
        char text[80];
        snprintf(text, sizeof text, "-AHEAD of the clock of this node: %llu\r\n", (unsigned long long)(wall_us / 1000000));
        answer(scene, text);
    } else if (!acquire_sets(run, ticket > 0, ttl_ms, life_ms)) {
        raise_error(run);
    } else {
        scene->call->did = true;
        answer(scene, "+OK\r\n");
    }
}

/* Takes the first place out, and the next where nobody listens. What may not be published goes back. */
static bool release_wakes(struct run *run, struct slice waiters)
{
    struct model_place first;
    while (call_zpopmin(run, waiters, &first)) {
        const struct slice member = { first.member, first.size };
        if (call_publish(run, &first)) {
            slice_text(member, run->scene->call->woken, sizeof run->scene->call->woken);
            return true;
        }
        if (run->error) {
            (void)call_zadd(run, waiters, first.score, member);
            (void)call_pexpire(run, waiters, WIRE_WAITERS_LIFE_MS);
            return false;
        }
    }
    return false;
}

/* What the release script does to one key. */
enum release { RELEASE_DONE, RELEASE_NOTHING, RELEASE_OTHERS, RELEASE_ERROR, RELEASE_RAISED };

static enum release release_key(struct run *run, struct slice name, struct slice waiters, bool *woke)
{
    struct slice value = { NULL, 0 };
    const bool wakes = run->argument_count == 2;
    const char *error = call_get(run, name, &value) ? NULL : run->error;
    if (wakes && run->arguments[1].size > 0)
        call_zrem(run, waiters, run->arguments[1]);
    run->error = error;
    if (error)
        return RELEASE_ERROR;
    if (!value.data)
        return RELEASE_NOTHING;
    if (release_compares() && !slices_equal(value, run->arguments[0]))
        return RELEASE_OTHERS;
    if (!call_del(run, name))
        return RELEASE_RAISED;
    run->scene->call->did = true;
    *woke = (wakes && release_wakes(run, waiters)) || *woke;
    return RELEASE_DONE;
}

/* WIRE_RELEASE_SCRIPT */
static void do_release(struct run *run)
{
    const char *error = NULL;
    int number = 1;
    bool woke = false;
    for (unsigned i = 0; i < run->key_count; i++) {
        const struct slice waiters = name_with(run->keys[i], "#waiters");
        const enum release release = release_key(run, run->keys[i], waiters, &woke);
        slice_free(waiters);
        if (release == RELEASE_RAISED) {
            raise_error(run);
            return;
        }
        if (release == RELEASE_ERROR)
            error = run->error;
        else if (release == RELEASE_OTHERS)
            number = -1;
        else if (release == RELEASE_NOTHING && number > 0)
            number = 0;
    }
    if (error) /* As it came from redis.pcall(). */
        answer_error(run->scene, error, NULL);
    else
        answer_number(run->scene, number > 0 && woke ? number + 1 : number);
}

/* WIRE_RELEASE_ONE_SCRIPT */
static void do_release_one(struct run *run)
{
    struct slice value = { NULL, 0 };
    if (!call_get(run, run->keys[0], &value)) {
        raise_error(run);
        return;
    }
    if (!value.data || !slices_equal(value, run->arguments[0])) {
        answer_number(run->scene, value.data ? -1 : 0);
        return;
    }
    if (!call_del(run, run->keys[0])) {
        raise_error(run);
        return;
    }
    run->scene->call->did = true;
    answer_number(run->scene, 1);
}

/* False: not all of the keys hold the token, or run->error. */
static bool extend_holds_all(struct run *run)
{
    struct slice value;
    for (unsigned i = 0; i < run->key_count; i++)
        if (!call_get(run, run->keys[i], &value) || !value.data || !slices_equal(value, run->arguments[0]))
            return false;
    return true;
}

static bool extend_lengthens(struct run *run, int64_t ttl_ms)
{
    int64_t left_ms;
    for (unsigned i = 0; i < run->key_count; i++) {
        if (!call_pttl(run, run->keys[i], &left_ms))
            return false;
        if (left_ms >= 0 && (left_ms < ttl_ms || !extend_only_lengthens()) && !call_pexpire(run, run->keys[i], ttl_ms))
            return false;
    }
    return true;
}

/* WIRE_EXTEND_SCRIPT */
static void do_extend(struct run *run)
{
    int64_t ttl_ms = 0;
    if (!slice_number(run->arguments[1], &ttl_ms) || ttl_ms <= 0)
        breach(run->scene->node, "a TTL of 0 or less in a script");
    const bool holds = extend_holds_all(run);
    if (run->error || (holds && !extend_lengthens(run, ttl_ms))) {
        raise_error(run);
        return;
    }
    run->scene->call->did = holds;
    answer_number(run->scene, holds);
}

/* WIRE_WAIT_SCRIPT */
static void do_wait(struct run *run)
{
    int64_t arrived_at = 0, life_ms = 0, longest_ms = -2, left_ms;
    if (!slice_number(run->arguments[1], &arrived_at) || !slice_number(run->arguments[2], &life_ms) ||
        run->arguments[0].size > MODEL_PLACE_MAX) {
        breach(run->scene->node, "a wait script with arguments out of range");
        return;
    }
    for (unsigned i = 0; i < run->key_count; i++) {
        if (!call_pttl(run, run->keys[i], &left_ms)) {
            raise_error(run);
            return;
        }
        const struct slice waiters = name_with(run->keys[i], "#waiters");
        const bool has_place = call_zadd(run, waiters, (uint64_t)arrived_at, run->arguments[0]);
        if (has_place)
            (void)call_pexpire(run, waiters, life_ms);
        slice_free(waiters);
        if (!has_place) {
            raise_error(run);
            return;
        }
        longest_ms = longer_pttl(longest_ms, left_ms);
    }
    run->scene->call->did = true;
    answer_number(run->scene, longest_ms);
}

static const struct {
    unsigned least, most;       /* Arguments behind the keys. */
    void (*run)(struct run *run);
} scripts[] = {
    [SCRIPT_ACQUIRE] = { 5, 5, do_acquire },
    [SCRIPT_EXTEND] = { 2, 2, do_extend },
    [SCRIPT_EXTEND_ONE] = { 2, 2, do_extend },
    [SCRIPT_RELEASE] = { 1, 2, do_release },
    [SCRIPT_RELEASE_ONE] = { 1, 1, do_release_one },
    [SCRIPT_WAIT] = { 3, 3, do_wait },
};

/* That no stale data will do is found out as late as here: EVAL has loaded the script, EVALSHA may not have found it. */
static void run_script(const struct scene *scene, enum script script, const char *sha)
{
    const struct command *command = scene->command;
    struct run run = { .scene = scene, .sha = sha, .keys = command->arguments + 3 };
    int64_t key_count = 0;
    const bool is_number = slice_number(command->arguments[2], &key_count);
    if (script != SCRIPT_NONE && is_number && key_count >= 1 && key_count + 3 <= (int64_t)command->count) {
        run.key_count = (unsigned)key_count;
        run.arguments = run.keys + key_count;
        run.argument_count = command->count - 3 - run.key_count;
    }
    if (run.key_count == 0 || run.key_count > MODEL_KEYS_MAX || run.argument_count < scripts[script].least ||
        run.argument_count > scripts[script].most) {
        breach(scene->node, "a script with the wrong arguments");
        answer(scene, "-ERR wrong arguments\r\n");
    } else if (scene->node->condition == MODEL_MASTER_DOWN) {
        answer(scene, master_down);
    } else {
        scripts[script].run(&run);
    }
}

static void do_eval(const struct scene *scene)
{
    char sha[MODEL_SHA_TEXT + 1];
    script_load(scene->node, scene->command->arguments[1], sha);
    run_script(scene, script_of(scene->command->arguments[1]), sha);
}

static void do_evalsha(const struct scene *scene)
{
    char sha[MODEL_SHA_TEXT + 1];
    slice_text(scene->command->arguments[1], sha, sizeof sha);
    const enum script script = script_loaded(scene->node, sha);
    if (script == SCRIPT_NONE)
        answer(scene, "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    else
        run_script(scene, script, sha);
}

/* ---- Ears ---- */

static void do_subscribe(const struct scene *scene)
{
    struct model_session *session = scene->session;
    const struct slice channel = scene->command->arguments[1];
    if (scene->command->count != 2 || session->ear_of || channel.size > MODEL_CHANNEL_MAX) {
        breach(scene->node, "a SUBSCRIBE to more than one channel");
        return;
    }
    slice_text(channel, session->channel, sizeof session->channel);
    session->ear_of = scene->node;
    session->next_ear = scene->node->ears;
    scene->node->ears = session;
    answer(scene, "*3\r\n$9\r\nsubscribe\r\n");
    answer_bulk(scene, channel);
    answer(scene, ":1\r\n");
}

static void ear_closes(struct model_session *session)
{
    struct model_session **at;
    if (!session->ear_of)
        return;
    for (at = &session->ear_of->ears; *at != session; at = &(*at)->next_ear) { }
    *at = session->next_ear;
    session->ear_of = NULL;
}

/* ---- Who may do what when ---- */

enum {
    EVEN_LOADING = 1,       /* Answered while the data set is loaded. */
    EVEN_STRANGER = 2,      /* Before the login. */
    EVEN_STALE = 4,         /* By a replica whose master is down. */
    ON_KEYS = 8,            /* Not by a cluster without its slots. */
    OF_SENTINEL = 16        /* It knows no other. */
};

static const struct handler {
    const char *name;       /* "COMMAND" or "COMMAND|SUBCOMMAND" */
    int arity;              /* Words of it; negative: or more. */
    unsigned flags;
    void (*run)(const struct scene *scene);
} handlers[] = {
    { "AUTH",          -2, EVEN_LOADING | EVEN_STRANGER | EVEN_STALE | OF_SENTINEL, do_auth },
    { "SELECT",         2, EVEN_LOADING | EVEN_STALE,                               do_select },
    { "CLIENT|SETNAME", 3, EVEN_LOADING | EVEN_STALE | OF_SENTINEL,                 do_setname },
    { "INFO",          -1, EVEN_LOADING | EVEN_STALE | OF_SENTINEL,                 do_info },
    { "ROLE",           1, EVEN_LOADING | EVEN_STALE | OF_SENTINEL,                 do_role },
    { "SCRIPT|LOAD",    3, EVEN_STALE,                                              do_load },
    { "SUBSCRIBE",     -2, EVEN_LOADING | EVEN_STALE | OF_SENTINEL,                 do_subscribe },
    { "SET",           -3, ON_KEYS,                                                 do_set },
    { "GET",            2, ON_KEYS,                                                 do_get },
    { "GETRANGE",       4, ON_KEYS,                                                 do_getrange },
    { "STRLEN",         2, ON_KEYS,                                                 do_strlen },
    { "PTTL",           2, ON_KEYS,                                                 do_pttl },
    { "EVAL",          -3, ON_KEYS | EVEN_STALE,                                    do_eval },
    { "EVALSHA",       -3, ON_KEYS | EVEN_STALE,                                    do_evalsha },
    { "DEL",           -2, ON_KEYS,                                                 do_unfit },
    { "PEXPIRE",       -3, ON_KEYS,                                                 do_unfit },
};

static const struct handler *handler_of(const struct command *command)
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++) {
        const char *name = handlers[i].name, *bar = strchr(name, '|');
        const struct slice first = { (const uint8_t *)name, bar ? (size_t)(bar - name) : strlen(name) };
        const bool second_fits = !bar || (command->count > 1 && slice_is(command->arguments[1], bar + 1));
        if (second_fits && slices_equal(first, command->arguments[0]))
            return &handlers[i];
    }
    return NULL;
}

/* What an error quotes of a word: not behind a NUL. */
static int quoted_size(struct slice word, size_t most)
{
    return (int)(word.size < most ? word.size : most);
}

static void answer_unknown(const struct scene *scene)
{
    const struct slice *words = scene->command->arguments;
    char quoted[QUOTED_MAX + 8] = "", text[2 * QUOTED_MAX + 80];
    size_t used = 0;
    for (unsigned i = 1; i < scene->command->count && used < QUOTED_MAX; i++)
        used += (size_t)snprintf(quoted + used, sizeof quoted - used, "'%.*s' ", quoted_size(words[i], QUOTED_MAX - used),
                                 (const char *)words[i].data);
    snprintf(text, sizeof text, "-ERR unknown command '%.*s', with args beginning with: %s",
             quoted_size(words[0], QUOTED_MAX), (const char *)words[0].data, quoted);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\r' || *c == '\n')
            *c = ' ';
    answer(scene, text);
    answer(scene, "\r\n");
}

/* The reason for which a command is not even looked at; NULL: none. */
static const char *why_refused(const struct model_node *node, const struct handler *handler)
{
    if (node->condition == MODEL_LOADING && !(handler->flags & EVEN_LOADING))
        return "-LOADING Redis is loading the dataset in memory\r\n";
    if (node->condition == MODEL_BUSY && !(handler->flags & EVEN_STRANGER))
        return "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.\r\n";
    if (node->condition == MODEL_MASTER_DOWN && !(handler->flags & EVEN_STALE) && strcmp(handler->name, "SET") != 0)
        return master_down;
    if (node->condition == MODEL_CLUSTER_DOWN && handler->flags & ON_KEYS)
        return "-CLUSTERDOWN Hash slot not served\r\n";
    return NULL;
}

static bool has_arity(const struct command *command, int arity)
{
    return arity < 0 ? command->count >= (unsigned)-arity : command->count == (unsigned)arity;
}

static void execute_known(const struct scene *scene, const struct handler *handler)
{
    const struct model_node *node = scene->node;
    const char *refusal = why_refused(node, handler);
    char text[160], lower[16] = "", first[16];
    for (size_t i = 0; handler->name[i] != '\0'; i++)
        lower[i] = (char)(handler->name[i] | 0x20);
    slice_text(scene->command->arguments[0], first, sizeof first);
    if (!has_arity(scene->command, handler->arity)) {
        snprintf(text, sizeof text, "-ERR wrong number of arguments for '%s' command\r\n", lower);
        answer(scene, text);
    } else if (!scene->session->logged_in && !(handler->flags & EVEN_STRANGER)) {
        if (scene->command->count > STRANGERS_WORDS_MAX)
            breach(scene->node, "a command that is too long for one who has not logged in");
        answer(scene, "-NOAUTH Authentication required.\r\n");
    } else if (is_listed(node->noperm, first)) {
        snprintf(text, sizeof text, "-NOPERM this user has no permissions to run the '%s' command\r\n", lower);
        answer(scene, text);
    } else if (refusal) {
        answer(scene, refusal);
    } else if (scene->session->ear_of && handler->run != do_subscribe) {
        breach(scene->node, "a command on a connection that has subscribed");
    } else {
        handler->run(scene);
    }
}

static void execute(const struct scene *scene)
{
    const struct handler *handler = handler_of(scene->command);
    if (!handler)
        breach(scene->node, "a command that the model does not know");
    if (handler && (scene->node->role != MODEL_SENTINEL || handler->flags & OF_SENTINEL))
        execute_known(scene, handler);
    else
        answer_unknown(scene);
}

/* ---- Planned answers and the log ---- */

static struct model_answer *plan_for(struct model_node *node, struct slice name)
{
    for (unsigned i = 0; i < MODEL_ANSWERS_MAX; i++) {
        struct model_answer *plan = &node->answers[i];
        if (plan->command && plan->times > 0 && (slice_is(name, plan->command) || strcmp(plan->command, "*") == 0))
            return plan;
    }
    return NULL;
}

static void answer_as_planned(const struct scene *scene, struct model_answer *plan)
{
    const size_t before = scene->session->out.size;
    if (plan->executes)
        execute(scene);
    scene->session->out.size = before;
    model_bytes_add(&scene->session->out, plan->bytes, plan->size);
    scene->session->closing = scene->session->closing || plan->closes;
    if (plan->times != UINT32_MAX)
        plan->times--;
}

static void log_keys(struct model_call *call, const struct command *command)
{
    int64_t count = 0;
    (void)slice_number(command->arguments[2], &count);
    while (call->key_count < MODEL_KEYS_MAX && (int64_t)call->key_count < count && call->key_count + 3 < command->count) {
        slice_text(command->arguments[call->key_count + 3], call->keys[call->key_count], sizeof call->keys[0]);
        call->key_count++;
    }
    memcpy(call->key, call->keys[0], sizeof call->key);
}

static void log_script(struct model_call *call, const struct model_node *node, const struct command *command)
{
    static const char *const names[] = { NULL, "ACQUIRE", "EXTEND", "EXTEND", "RELEASE", "RELEASE", "WAIT" };
    char sha[MODEL_SHA_TEXT + 1];
    enum script script = script_of(command->arguments[1]);
    int64_t ticket = 0;
    slice_text(command->arguments[1], sha, sizeof sha);
    call->eval = script != SCRIPT_NONE;
    if (script == SCRIPT_NONE)
        script = script_loaded(node, sha);
    if (script != SCRIPT_NONE)
        snprintf(call->name, sizeof call->name, "%s", names[script]);
    log_keys(call, command);
    const unsigned first = 3 + call->key_count;
    if (command->count > first)
        slice_text(command->arguments[first], call->token, sizeof call->token);
    if (command->count > first + 1)
        (void)slice_number(command->arguments[first + 1], &call->ttl_ms);
    if (command->count > first + 1 && script == SCRIPT_RELEASE)
        slice_text(command->arguments[first + 1], call->place, sizeof call->place);
    if (script == SCRIPT_ACQUIRE && command->count > first + 2 && slice_number(command->arguments[first + 2], &ticket))
        call->ticket = (uint64_t)ticket;
}

static struct model_call *log_call(struct model_node *node, const struct command *command, uint64_t now_us)
{
    if (node->call_count == node->call_capacity) {
        node->call_capacity = 2 * node->call_capacity + 32;
        node->calls = grow(node->calls, node->call_capacity * sizeof *node->calls);
    }
    struct model_call *call = &node->calls[node->call_count++];
    *call = (struct model_call){ .at_us = now_us };
    slice_text(command->arguments[0], call->name, sizeof call->name);
    if (command->count >= 4 && strncmp(call->name, "EVAL", 4) == 0)
        log_script(call, node, command);
    else if (command->count >= 2)
        slice_text(command->arguments[1], call->key, sizeof call->key);
    if (command->count == 6 && strcmp(call->name, "SET") == 0) {
        slice_text(command->arguments[2], call->token, sizeof call->token);
        (void)slice_number(command->arguments[5], &call->ttl_ms);
    }
    return call;
}

unsigned model_count_calls(const struct model_node *node, const char *name)
{
    unsigned count = 0;
    for (size_t i = 0; i < node->call_count; i++)
        count += strcmp(node->calls[i].name, name) == 0;
    return count;
}

void model_node_plan(struct model_node *node, struct model_answer answer)
{
    for (unsigned i = 0; i < MODEL_ANSWERS_MAX; i++) {
        if (node->answers[i].command && node->answers[i].times > 0)
            continue;
        node->answers[i] = answer;
        return;
    }
    abort();
}

void model_node_forget_plans(struct model_node *node)
{
    memset(node->answers, 0, sizeof node->answers);
}

/* ---- From bytes to commands ---- */

enum reading { READ_WHOLE, READ_MORE, READ_WRONG };

/* "*3\r\n" or "$5\r\n" at *at, which is moved behind it. */
static enum reading read_head(const struct model_bytes *in, size_t *at, char type, int64_t *number)
{
    size_t end = *at;
    while (end < in->size && in->data[end] != '\r' && end - *at < LINE_MAX)
        end++;
    if (end > *at && in->data[*at] != (uint8_t)type)
        return READ_WRONG;
    if (end - *at == LINE_MAX)
        return READ_WRONG;
    if (end + 1 >= in->size)
        return READ_MORE;
    if (in->data[end + 1] != '\n' || !slice_number((struct slice){ in->data + *at + 1, end - *at - 1 }, number))
        return READ_WRONG;
    *at = end + 2;
    return READ_WHOLE;
}

static enum reading read_argument(const struct model_bytes *in, size_t *at, struct slice *argument)
{
    int64_t size;
    const enum reading head = read_head(in, at, '$', &size);
    if (head != READ_WHOLE)
        return head;
    if (size < 0 || size > BULK_MAX)
        return READ_WRONG;
    if (in->size - *at < (size_t)size + 2)
        return READ_MORE;
    *argument = (struct slice){ in->data + *at, (size_t)size };
    *at += (size_t)size + 2;
    return memcmp(argument->data + size, "\r\n", 2) == 0 ? READ_WHOLE : READ_WRONG;
}

/* Reads one command; *used is what it took. */
static enum reading read_command(const struct model_bytes *in, struct command *command, size_t *used)
{
    int64_t count;
    *used = 0;
    enum reading reading = read_head(in, used, '*', &count);
    if (reading == READ_WHOLE && (count < 1 || count > MODEL_ARGUMENTS_MAX))
        return READ_WRONG;
    for (command->count = 0; reading == READ_WHOLE && command->count < (unsigned)count; command->count++)
        reading = read_argument(in, used, &command->arguments[command->count]);
    return reading;
}

static void take_command(struct model_node *node, struct model_session *session, const struct command *command,
                         uint64_t now_us)
{
    struct scene scene = { node, session, command, log_call(node, command, now_us), now_us };
    struct model_answer *plan = plan_for(node, command->arguments[0]);
    if (plan)
        answer_as_planned(&scene, plan);
    else
        execute(&scene);
}

void model_session_receive(struct model_node *node, struct model_session *session, const void *data, size_t size,
                           uint64_t now_us)
{
    struct command command;
    enum reading reading = READ_WHOLE;
    size_t used;
    model_bytes_add(&session->in, data, size);
    while (!node->hung && !session->closing && reading == READ_WHOLE && session->in.size > 0) {
        reading = read_command(&session->in, &command, &used);
        if (reading == READ_WHOLE) {
            take_command(node, session, &command, now_us);
            model_bytes_drop(&session->in, used);
        }
    }
    if (reading == READ_WRONG) {
        breach(node, "bytes that are no command");
        session->closing = true;
    }
}

/* ---- Life ---- */

void model_session_begin(struct model_node *node, struct model_session *session)
{
    *session = (struct model_session){ .logged_in = !node->password };
    if (node->greeting) {
        model_bytes_add(&session->out, node->greeting, strlen(node->greeting));
        session->closing = true;
    }
}

void model_session_end(struct model_session *session)
{
    ear_closes(session);
    model_bytes_free(&session->in);
    model_bytes_free(&session->out);
}

static void name_process(struct model_node *node, uint64_t number, uint64_t now_us)
{
    snprintf(node->run_id, sizeof node->run_id, "%016llx%024llx", (unsigned long long)(number * 0x9E3779B97F4A7C15u),
             (unsigned long long)number);
    node->started_us = now_us;
}

void model_node_init(struct model_node *node, uint64_t number, uint64_t now_us)
{
    *node = (struct model_node){ .mode = "standalone" };
    name_process(node, number, now_us);
}

void model_node_restart(struct model_node *node, uint64_t number, bool keeps_keys, uint64_t now_us)
{
    if (!keeps_keys)
        model_flush(node);
    model_flush_scripts(node);
    name_process(node, number, now_us);
}

void model_node_free(struct model_node *node)
{
    model_flush(node);
    forget_saved(node);
    free(node->keys);
    free(node->calls);
}
