#include "model_node.h"

#include "../../redlock/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX = 32,              /* "*3\r\n", "$12\r\n": longer ones are no command of ours. */
    BULK_MAX = 4096,
    DATABASES = 16,
    TEXT_MAX = 2048,            /* Of an answer that is made up here. */
    QUOTED_MAX = 128            /* Bytes of a name, and of arguments, that an error quotes. */
};

enum script { SCRIPT_NONE, SCRIPT_RELEASE, SCRIPT_EXTEND };

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
    if (key && key->is_list) {
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
    else if (key->is_list)
        answer_error(scene, wrong_type, NULL);
    else
        answer_bulk(scene, (struct slice){ key->value, key->value_size });
}

static void do_strlen(const struct scene *scene)
{
    const struct model_key *key = key_named(scene, 1);
    if (key && key->is_list)
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

/* True when the ACL keeps a script from that command, which is then told. */
static bool is_forbidden(const struct scene *scene, const char *command, const char *sha)
{
    const bool forbidden = is_listed(scene->node->noperm, command);
    if (forbidden)
        answer_error(scene, "-ERR The user executing the script can't run this command or subcommand", sha);
    return forbidden;
}

static enum script script_of(struct slice text)
{
    if (slice_is(text, WIRE_RELEASE_SCRIPT))
        return SCRIPT_RELEASE;
    if (slice_is(text, WIRE_EXTEND_SCRIPT))
        return SCRIPT_EXTEND;
    return SCRIPT_NONE;
}

static void script_load(struct model_node *node, struct slice text, char sha[MODEL_SHA_TEXT + 1])
{
    sha1_text(text, sha);
    for (unsigned i = 0; i < node->script_count; i++)
        if (strcmp(node->script_shas[i], sha) == 0)
            return;
    if (script_of(text) == SCRIPT_NONE || node->script_count == MODEL_SCRIPTS_MAX) {
        breach(node, "a script that the model does not know");
        return;
    }
    node->script_kinds[node->script_count] = (uint8_t)script_of(text);
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

/* No Lua is executed here, but a script that does not compare, or that may shorten, does as it says. */
static bool release_compares(void)
{
    return strstr(WIRE_RELEASE_SCRIPT, "if v==ARGV[1] then") != NULL;
}

static bool extend_only_lengthens(void)
{
    return strstr(WIRE_EXTEND_SCRIPT, "p<tonumber(ARGV[2])") != NULL;
}

static bool key_has(const struct model_key *key, struct slice value)
{
    return key->value_size == value.size && memcmp(key->value, value.data, value.size) == 0;
}

/* WIRE_RELEASE_SCRIPT */
static void do_release(const struct scene *scene, struct model_key *key, struct slice token, const char *sha)
{
    const char *refusal = why_no_write(scene->node, true);
    if (is_forbidden(scene, "GET", sha))
        return;
    if (key && key->is_list) {
        answer_error(scene, wrong_type, NULL);
    } else if (!key || (release_compares() && !key_has(key, token))) {
        answer_number(scene, key ? -1 : 0);
    } else if (is_forbidden(scene, "DEL", sha)) {
        return;
    } else if (refusal) {
        answer_error(scene, refusal, sha);
    } else {
        key_remove(scene->node, key);
        scene->call->did = true;
        answer_number(scene, 1);
    }
}

/* WIRE_EXTEND_SCRIPT */
static void do_extend(const struct scene *scene, struct model_key *key, struct slice token, int64_t ttl_ms, const char *sha)
{
    const char *refusal = why_no_write(scene->node, true);
    if (ttl_ms <= 0)
        breach(scene->node, "a TTL of 0 or less in a script");
    if (is_forbidden(scene, "GET", sha))
        return;
    if (key && key->is_list) {
        answer_error(scene, wrong_type, sha);
    } else if (!key || !key_has(key, token)) {
        answer_number(scene, 0);
    } else if (!is_forbidden(scene, "PTTL", sha)) {
        const int64_t left = key_pttl(key, scene->now_us);
        const bool lengthens = left >= 0 && (left < ttl_ms || !extend_only_lengthens());
        if (lengthens && is_forbidden(scene, "PEXPIRE", sha))
            return;
        if (lengthens && refusal) {
            answer_error(scene, refusal, sha);
            return;
        }
        if (lengthens)
            key->expires_ms = ms_of(scene->now_us) + (uint64_t)ttl_ms;
        scene->call->did = true;
        answer_number(scene, 1);
    }
}

/* That no stale data will do is found out as late as here: EVAL has loaded the script, EVALSHA may not have found it. */
static void run_script(const struct scene *scene, enum script script, const char *sha)
{
    const struct command *command = scene->command;
    const bool fits = (command->count == 6 || (script == SCRIPT_RELEASE && command->count == 5)) &&
                      slice_is(command->arguments[2], "1");
    int64_t ttl_ms = 0;
    if (!fits || (script == SCRIPT_EXTEND && !slice_number(command->arguments[5], &ttl_ms))) {
        breach(scene->node, "a script with the wrong arguments");
        answer(scene, "-ERR wrong arguments\r\n");
        return;
    }
    if (scene->node->condition == MODEL_MASTER_DOWN) {
        answer(scene, master_down);
        return;
    }
    struct model_key *key = key_named(scene, 3);
    if (script == SCRIPT_RELEASE)
        do_release(scene, key, command->arguments[4], sha);
    else
        do_extend(scene, key, command->arguments[4], ttl_ms, sha);
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
        answer(scene, "-NOAUTH Authentication required.\r\n");
    } else if (is_listed(node->noperm, first)) {
        snprintf(text, sizeof text, "-NOPERM this user has no permissions to run the '%s' command\r\n", lower);
        answer(scene, text);
    } else if (refusal) {
        answer(scene, refusal);
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

static void log_script(struct model_call *call, const struct model_node *node, const struct command *command)
{
    char sha[MODEL_SHA_TEXT + 1];
    enum script script = script_of(command->arguments[1]);
    slice_text(command->arguments[1], sha, sizeof sha);
    call->eval = script != SCRIPT_NONE;
    if (script == SCRIPT_NONE)
        script = script_loaded(node, sha);
    if (script != SCRIPT_NONE)
        snprintf(call->name, sizeof call->name, "%s", script == SCRIPT_RELEASE ? "RELEASE" : "EXTEND");
    slice_text(command->arguments[3], call->key, sizeof call->key);
    if (command->count >= 5)
        slice_text(command->arguments[4], call->token, sizeof call->token);
    if (command->count >= 6)
        (void)slice_number(command->arguments[5], &call->ttl_ms);
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
