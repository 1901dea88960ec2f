#include "model_inside.h"

#include "../../redlock/redlock.h"

#include <stdio.h>
#include <string.h>

enum {
    DATABASES = 16,
    STRANGERS_WORDS_MAX = 10,   /* A server hangs up after a longer command before the login. */
    QUOTED_MAX = 128            /* Bytes of a name, and of arguments, that an error quotes. */
};

/* ---- Answers ---- */

void model_answer(const struct scene *scene, const char *text)
{
    model_bytes_add(&scene->session->out, text, strlen(text));
}

void model_answer_number(const struct scene *scene, int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, ":%lld\r\n", (long long)number);
    model_answer(scene, text);
}

void model_answer_bulk(const struct scene *scene, struct slice slice)
{
    char head[32];
    snprintf(head, sizeof head, "$%zu\r\n", slice.size);
    model_answer(scene, head);
    model_bytes_add(&scene->session->out, slice.data, slice.size);
    model_answer(scene, "\r\n");
}

void model_answer_error(const struct scene *scene, const char *error)
{
    model_answer(scene, error);
    model_answer(scene, "\r\n");
}

const char *const model_wrong_type =
    "-WRONGTYPE Operation against a key holding the wrong kind of value";
static const char *const read_only = "-READONLY You can't write against a read only replica.";
static const char *const misconf = "-MISCONF Redis is configured to save RDB snapshots, but it's "
                                   "currently unable to persist to disk. Commands that may modify "
                                   "the data set are disabled, because this instance is configured "
                                   "to report errors during writes if RDB snapshotting fails "
                                   "(stop-writes-on-bgsave-error option). Please check the Redis "
                                   "logs for details about the RDB error.";

const char *const model_master_down =
    "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n";

const char *model_why_no_write(const struct model_node *node, bool frees)
{
    if (node->role == MODEL_REPLICA) return read_only;
    switch (node->condition) {
    case MODEL_OUT_OF_MEMORY:
        return frees ? NULL : "-OOM command not allowed when used memory > 'maxmemory'.";
    case MODEL_MISCONF:       return misconf;
    case MODEL_NO_REPLICAS:   return "-NOREPLICAS Not enough good replicas to write.";
    default:                  return NULL;
    }
}

/* ---- Commands ---- */

/* The key that an argument names; NULL: there is none. */
static struct model_key *key_named(const struct scene *scene, unsigned argument)
{
    return key_find(scene->node, scene->session->database, scene->command->arguments[argument],
                    scene->now_us);
}

static void do_auth(const struct scene *scene)
{
    const struct model_node *node = scene->node;
    const struct command *command = scene->command;
    const struct slice user = command->count == 3 ? command->arguments[1] : slice_of("default");
    const struct slice password = command->arguments[command->count - 1];
    if (!node->password && command->count == 2) {
        model_answer(
            scene,
            "-ERR AUTH <password> called without any password configured for the default user. Are "
            "you sure your configuration is correct?\r\n");
        return;
    }
    if (slice_is(user, node->user ? node->user : "default") &&
        (!node->password || slice_is(password, node->password))) {
        scene->session->logged_in = true;
        model_answer(scene, "+OK\r\n");
    } else { /* A session that was logged in stays so. */
        model_answer(scene, "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    }
}

static void do_select(const struct scene *scene)
{
    int64_t number;
    if (!slice_number(scene->command->arguments[1], &number)) {
        model_answer(scene, "-ERR value is not an integer or out of range\r\n");
    } else if (number < INT32_MIN || number > INT32_MAX) {
        model_answer(
            scene, "-ERR value is out of range, value must between -2147483648 and 2147483647\r\n");
    } else if (number != 0 && strcmp(scene->node->mode, "cluster") == 0) {
        model_answer(scene, "-ERR SELECT is not allowed in cluster mode\r\n");
    } else if (number < 0 || number >= DATABASES) {
        model_answer(scene, "-ERR DB index is out of range\r\n");
    } else {
        scene->session->database = (uint32_t)number;
        model_answer(scene, "+OK\r\n");
    }
}

/* EVAL return 0 */
static void do_nothing(const struct scene *scene)
{
    model_answer(scene,
                 scene->node->condition == MODEL_MASTER_DOWN ? model_master_down : "$-1\r\n");
}

static void do_setname(const struct scene *scene)
{
    model_answer(scene, "+OK\r\n");
}

static void uptime_line(const struct scene *scene, char *text, size_t size)
{
    const struct model_node *node = scene->node;
    const int64_t uptime =
        (int64_t)(scene->now_us / 1000000) - (int64_t)(node->started_us / 1000000);
    text[0] = '\0';
    if (!node->uptime_text)
        snprintf(text, size, "uptime_in_seconds:%lld\r\n", (long long)uptime);
    else if (node->uptime_text[0] != '\0')
        snprintf(text, size, "uptime_in_seconds:%s\r\n", node->uptime_text);
}

static void offset_line(const struct model_node *node, char *text, size_t size)
{
    text[0] = '\0';
    if (node->process_id != 0) return;
    if (node->second_offset == 0) snprintf(text, size, "second_repl_offset:-1\r\n");
    else
        snprintf(text, size, "second_repl_offset:%llu\r\n",
                 (unsigned long long)node->second_offset);
}

static void identity_lines(const struct model_node *node, char *text, size_t size)
{
    char run_id[MODEL_RUN_ID_TEXT + 1];
    model_shard_name(node, node->shard, run_id);
    if (node->process_id == 0)
        snprintf(text, size,
                 "process_id:6923\r\nprocess_supervised:systemd\r\nrun_id:%s\r\ntcp_port:6379\r\n",
                 run_id);
    else
        snprintf(
            text, size, "process_id:%u\r\ntcp_port:6379\r\n%s%s\r\n", node->process_id,
            node->hides_replid ? "" : "master_replid:", node->hides_replid ? "" : run_id);
}

/* INFO of a server with many listeners has about 1.5 KB, with long lines before and after the
 * relevant ones. */
static void do_info(const struct scene *scene)
{
    const struct model_node *node = scene->node;
    static const char *const roles[] = {
        [MODEL_MASTER] = "# Replication\r\nrole:master\r\n",
        [MODEL_REPLICA] = "# Replication\r\nrole:slave\r\n", [MODEL_SENTINEL] = ""
    };
    char text[MODEL_TEXT_MAX], identity[160], uptime[64], offset[48];
    identity_lines(node, identity, sizeof identity);
    uptime_line(scene, uptime, sizeof uptime);
    offset_line(node, offset, sizeof offset);
    snprintf(
        text, sizeof text,
        "# Server\r\nredis_version:7.0.15\r\nredis_git_sha1:00000000\r\nredis_git_dirty:0\r\n"
        "redis_build_id:ae4d7c971a948f0\r\nredis_mode:%s\r\nos:Linux 6.1.0-18-amd64 "
        "x86_64\r\narch_bits:64\r\n"
        "monotonic_clock:POSIX "
        "clock_gettime\r\nmultiplexing_api:epoll\r\natomicvar_api:c11-builtin\r\n"
        "gcc_version:12.2.0\r\n%sserver_time_usec:%llu\r\n"
        "%suptime_in_days:%d\r\nhz:10\r\nconfigured_hz:10\r\nlru_clock:87835\r\n"
        "executable:/usr/local/%0350d/redis-server\r\nconfig_file:/etc/redis/%0300d/redis.conf\r\n"
        "io_threads_active:0\r\nlistener0:name=tcp,bind=*,bind=-::*,port=6379\r\n"
        "listener1:name=unix,bind=/run/redis/%0200d.sock\r\n\r\n"
        "%sconnected_slaves:%u\r\n%srepl_backlog_active:0\r\n",
        node->role == MODEL_SENTINEL ? "sentinel" : node->mode, identity,
        (unsigned long long)scene->now_us, uptime, 0, 0, 0, 0,
        node->hides_role ? "" : roles[node->role], node->replica_count, offset);
    model_answer_bulk(scene, slice_of(text));
}

/* SET REDLOCK_CANARY value NX, of a durable node. */
static bool is_canary(const struct command *command)
{
    const struct slice *a = command->arguments;
    return command->count == 4 && slice_is(a[1], REDLOCK_CANARY) && a[2].size == 40 &&
           slice_is(a[3], "NX");
}

static void set_canary(const struct scene *scene)
{
    const struct slice *a = scene->command->arguments;
    const char *refusal = model_why_no_write(scene->node, false);
    if (refusal) {
        model_answer_error(scene, refusal);
    } else if (key_named(scene, 1)) {
        model_answer(scene, "$-1\r\n");
    } else {
        key_put(scene->node, scene->session->database, a[1], a[2]);
        model_answer(scene, "+OK\r\n");
    }
}

static void set_ttl(const struct scene *scene, struct model_key *key, int64_t ttl_ms)
{
    key->expires_ms = ms_of(scene->now_us) + (uint64_t)ttl_ms;
    if (key->longest_ms < (uint64_t)ttl_ms) key->longest_ms = (uint64_t)ttl_ms;
}

static struct slice value_of(const struct model_key *key)
{
    return (struct slice){ key->value, key->value_size };
}

/* SET key value IFEQ value PX ttl, as Redis 8.4 and Valkey 8.1 know it. It makes a TTL shorter as
 * well, which a lock must not do (S7). */
static void set_if_equal(const struct scene *scene)
{
    const struct slice *a = scene->command->arguments;
    const char *refusal = model_why_no_write(scene->node, false);
    struct model_key *key = key_named(scene, 1);
    int64_t ttl_ms;
    if (!model_is_listed(scene->node->newer, "IFEQ")) {
        model_answer(scene, "-ERR syntax error\r\n");
    } else if (refusal) {
        model_answer_error(scene, refusal);
    } else if (!slice_number(a[6], &ttl_ms) || ttl_ms <= 0 || !slices_equal(a[2], a[4])) {
        model_breach(scene->node, "a SET with IFEQ that is no extension");
        model_answer(scene, "-ERR invalid expire time in 'set' command\r\n");
    } else if (key && !key_is_string(key)) {
        model_answer_error(scene, model_wrong_type);
    } else if (!key || !slices_equal(value_of(key), a[4])) {
        model_answer(scene, "$-1\r\n");
    } else {
        if (key->longest_ms > (uint64_t)ttl_ms)
            model_breach(scene->node, "S7: an extension may make a TTL shorter");
        set_ttl(scene, key, ttl_ms);
        scene->call->did = true;
        model_answer(scene, "+OK\r\n");
    }
}

/* The end of both commands that compare and delete. */
static void delete_if_equal(const struct scene *scene, struct slice value, const char *wrong_type)
{
    struct model_key *key = key_named(scene, 1);
    const char *refusal = model_why_no_write(scene->node, true);
    const bool is_it = key && key_is_string(key) && slices_equal(value_of(key), value);
    if (refusal)                           model_answer_error(scene, refusal);
    else if (key && !key_is_string(key)) model_answer_error(scene, wrong_type);
    else                                   model_answer_number(scene, is_it);
    if (refusal || !is_it) return;
    key_remove(scene->node, key);
    scene->call->did = true;
}

static void do_delifeq(const struct scene *scene)
{
    delete_if_equal(scene, scene->command->arguments[2], model_wrong_type);
}

/* Without its condition it is DEL. */
static void do_delex(const struct scene *scene)
{
    const struct slice *a = scene->command->arguments;
    if (scene->command->count != 4 || !slice_is(a[2], "IFEQ")) {
        model_breach(scene->node, "a DELEX without IFEQ");
        model_answer(scene, "-ERR wrong number of arguments for 'delex' command\r\n");
        return;
    }
    delete_if_equal(scene, a[3],
                    "-ERR Key should be of string type if conditions are specified");
}

/* SET key value NX PX ttl, the only form that a lock may use, or with IFEQ. */
static void do_set(const struct scene *scene)
{
    const struct slice *a = scene->command->arguments;
    const char *refusal = model_why_no_write(scene->node, false);
    int64_t ttl_ms;
    if (is_canary(scene->command)) {
        set_canary(scene);
    } else if (scene->command->count == 7 && slice_is(a[3], "IFEQ") && slice_is(a[5], "PX")) {
        set_if_equal(scene);
    } else if (scene->command->count != 6 || !slice_is(a[3], "NX") || !slice_is(a[4], "PX")) {
        model_breach(scene->node, "a SET that is not SET key value NX PX ttl");
        model_answer(scene, "-ERR syntax error\r\n");
    } else if (refusal) {
        model_answer_error(scene, refusal);
    } else if (!slice_number(a[5], &ttl_ms)) {
        model_answer(scene, "-ERR value is not an integer or out of range\r\n");
    } else if (ttl_ms <= 0) {
        model_answer(scene, "-ERR invalid expire time in 'set' command\r\n");
    } else if (key_named(scene, 1)) {
        model_answer(scene, "$-1\r\n");
    } else {
        struct model_key *key = key_put(scene->node, scene->session->database, a[1], a[2]);
        set_ttl(scene, key, ttl_ms);
        scene->call->did = true;
        model_answer(scene, "+OK\r\n");
    }
}

/* sentinel.c of Redis 7.0, of whose 40 fields here are some. */
static void do_name_master(const struct scene *scene)
{
    const char *master = scene->node->master;
    char text[300], epoch[12];
    if (!master || !slice_is(scene->command->arguments[2], "mymaster")) {
        model_answer(scene, "-ERR No such master with that name\r\n");
        return;
    }
    snprintf(epoch, sizeof epoch, "%u", scene->node->epoch);
    snprintf(text, sizeof text,
             "*10\r\n$4\r\nname\r\n$8\r\nmymaster\r\n$2\r\nip\r\n$%u\r\n%s\r\n$4\r\nport\r\n$"
             "4\r\n6379\r\n"
             "$5\r\nflags\r\n$6\r\nmaster\r\n$12\r\nconfig-epoch\r\n$%u\r\n%s\r\n",
             (unsigned)strlen(master), master, (unsigned)strlen(epoch), epoch);
    model_answer(scene, text);
}

static void do_getrange(const struct scene *scene)
{
    const struct slice *a = scene->command->arguments;
    const struct model_key *key = key_named(scene, 1);
    int64_t from, to;
    if (key && !key_is_string(key)) {
        model_answer_error(scene, model_wrong_type);
    } else if (!slice_number(a[2], &from) || !slice_number(a[3], &to) || from < 0 || to < from) {
        model_answer(scene, "-ERR value is not an integer or out of range\r\n");
    } else {
        const size_t end = !key                               ? 0
                           : (size_t)to + 1 < key->value_size ? (size_t)to + 1
                                                              : key->value_size;
        const size_t start = (size_t)from < end ? (size_t)from : end;
        model_answer_bulk(scene, (struct slice){ end > 0 ? key->value + start : (const uint8_t *)"",
                                                 end - start });
    }
}

static void do_get(const struct scene *scene)
{
    const struct model_key *key = key_named(scene, 1);
    if (!key)
        model_answer(scene, "$-1\r\n");
    else if (!key_is_string(key))
        model_answer_error(scene, model_wrong_type);
    else
        model_answer_bulk(scene, (struct slice){ key->value, key->value_size });
}

static void do_strlen(const struct scene *scene)
{
    const struct model_key *key = key_named(scene, 1);
    if (key && !key_is_string(key))
        model_answer_error(scene, model_wrong_type);
    else
        model_answer_number(scene, key ? (int64_t)key->value_size : 0);
}

static void do_pttl(const struct scene *scene)
{
    const struct model_key *key = key_named(scene, 1);
    model_answer_number(scene, key ? key_pttl(key, scene->now_us) : -2);
}

/* S7: a key is removed by the script that compares, by nothing else. */
static void do_unfit(const struct scene *scene)
{
    model_breach(scene->node, "a command that changes a key without a look at its token");
    model_answer(scene, "-ERR not for a lock\r\n");
}

/* ---- Which command may be sent when ---- */

bool model_is_listed(const char *list, const char *name)
{
    const char *found = list ? strstr(list, name) : NULL;
    const size_t size = strlen(name);
    while (found &&
           ((found > list && found[-1] != ' ') || (found[size] != ' ' && found[size] != '\0')))
        found = strstr(found + 1, name);
    return found;
}
enum {
    EVEN_LOADING = 1,       /* Answered while the data set is loaded. */
    EVEN_STRANGER = 2,      /* Before the login. */
    EVEN_STALE = 4,         /* A replica allows it while its master is down. */
    ON_KEYS = 8,            /* Not by a cluster without its slots. */
    OF_SENTINEL = 16,       /* It knows no other. */
    NEWER = 32              /* Unknown to a server that does not list it. */
};

static const struct handler {
    const char *name;       /* "COMMAND" or "COMMAND|SUBCOMMAND" */
    int arity;              /* Words of it; negative: at least so many. */
    unsigned flags;
    void (*run)(const struct scene *scene);
} handlers[] = {
    { "AUTH",          -2, EVEN_LOADING | EVEN_STRANGER | EVEN_STALE | OF_SENTINEL, do_auth },
    { "SELECT",         2, EVEN_LOADING | EVEN_STALE,                               do_select },
    { "CLIENT|SETNAME", 3, EVEN_LOADING | EVEN_STALE | OF_SENTINEL,                 do_setname },
    { "INFO",          -1, EVEN_LOADING | EVEN_STALE | OF_SENTINEL,                 do_info },
    { "SCRIPT|LOAD",    3, EVEN_STALE,                                              model_do_load },
    { "SUBSCRIBE", -2, EVEN_LOADING | EVEN_STALE | OF_SENTINEL, model_do_subscribe },
    { "UNSUBSCRIBE", -1, EVEN_LOADING | EVEN_STALE | OF_SENTINEL, model_do_unsubscribe },
    { "SENTINEL|MASTER", 3, OF_SENTINEL, do_name_master },
    { "SET",           -3, ON_KEYS,                                                 do_set },
    { "GET",            2, ON_KEYS,                                                 do_get },
    { "GETRANGE",       4, ON_KEYS,                                                 do_getrange },
    { "STRLEN",         2, ON_KEYS,                                                 do_strlen },
    { "PTTL",           2, ON_KEYS,                                                 do_pttl },
    { "EVAL|return",    3, EVEN_STALE,                                              do_nothing },
    { "EVAL",          -3, ON_KEYS | EVEN_STALE,                                    model_do_eval },
    { "EVALSHA", -3, ON_KEYS | EVEN_STALE, model_do_evalsha },
    { "DELEX",         -2, ON_KEYS | NEWER,                                         do_delex },
    { "DELIFEQ",        3, ON_KEYS | NEWER,                                         do_delifeq },
    { "DEL",           -2, ON_KEYS,                                                 do_unfit },
    { "PEXPIRE",       -3, ON_KEYS,                                                 do_unfit },
};

static const struct handler *handler_of(const struct command *command)
{
    for (size_t i = 0; i < sizeof handlers / sizeof handlers[0]; i++) {
        const char *name = handlers[i].name, *bar = strchr(name, '|');
        const struct slice first = {
            (const uint8_t *)name, bar ? (size_t)(bar - name) : strlen(name)
        };
        const bool second_fits =
            !bar || (command->count > 1 && slice_is(command->arguments[1], bar + 1));
        if (second_fits && slices_equal(first, command->arguments[0])) return &handlers[i];
    }
    return NULL;
}

/* The part of a word that an error quotes ends before a NUL. */
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
        used +=
            (size_t)snprintf(quoted + used, sizeof quoted - used, "'%.*s' ",
                             quoted_size(words[i], QUOTED_MAX - used), (const char *)words[i].data);
    snprintf(text, sizeof text, "-ERR unknown command '%.*s', with args beginning with: %s",
             quoted_size(words[0], QUOTED_MAX), (const char *)words[0].data, quoted);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\r' || *c == '\n') *c = ' ';
    model_answer(scene, text);
    model_answer(scene, "\r\n");
}

/* The reason for which a command is not even looked at; NULL: none. */
static const char *why_refused(const struct model_node *node, const struct handler *handler)
{
    if (node->condition == MODEL_LOADING && !(handler->flags & EVEN_LOADING))
        return "-LOADING Redis is loading the dataset in memory\r\n";
    if (node->condition == MODEL_BUSY && !(handler->flags & EVEN_STRANGER))
        return "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN "
               "NOSAVE.\r\n";
    if (node->condition == MODEL_MASTER_DOWN && !(handler->flags & EVEN_STALE) &&
        strcmp(handler->name, "SET") != 0)
        return model_master_down;
    if (node->condition == MODEL_CLUSTER_DOWN && handler->flags & ON_KEYS)
        return "-CLUSTERDOWN Hash slot not served\r\n";
    return NULL;
}

/* The keys that the command declares. */
static unsigned declared_keys(const struct command *command, const struct handler *handler,
                              const struct slice **names)
{
    int64_t count = 1;
    const bool is_script = handler->run == model_do_eval || handler->run == model_do_evalsha;
    *names = command->arguments + (is_script ? 3 : 1);
    if (!(handler->flags & ON_KEYS)) return 0;
    if (is_script && (!slice_number(command->arguments[2], &count) || count < 0 ||
                      count + 3 > (int64_t)command->count))
        return 0;
    return (unsigned)count;
}

static bool has_arity(const struct command *command, int arity)
{
    return arity < 0 ? command->count >= (unsigned)-arity : command->count == (unsigned)arity;
}

static void execute_known(const struct scene *scene, const struct handler *handler)
{
    const struct model_node *node = scene->node;
    const struct slice *names = NULL;
    const unsigned count = has_arity(scene->command, handler->arity)
                               ? declared_keys(scene->command, handler, &names)
                               : 0;
    const char *refusal = why_refused(node, handler);
    const char *redirect = model_redirect(scene, names, count);
    char text[160], lower[16] = "", first[16];
    for (size_t i = 0; handler->name[i] != '\0'; i++) lower[i] = (char)(handler->name[i] | 0x20);
    if (handler->run == do_nothing) lower[sizeof "eval" - 1] = '\0';
    slice_text(scene->command->arguments[0], first, sizeof first);
    if (!has_arity(scene->command, handler->arity)) {
        snprintf(text, sizeof text, "-ERR wrong number of arguments for '%s' command\r\n", lower);
        model_answer(scene, text);
    } else if (!scene->session->logged_in && !(handler->flags & EVEN_STRANGER)) {
        if (scene->command->count > STRANGERS_WORDS_MAX)
            model_breach(scene->node,
                         "a command that is too long for a session that has not logged in");
        model_answer(scene, "-NOAUTH Authentication required.\r\n");
    } else if (model_is_listed(node->noperm, first)) {
        snprintf(text, sizeof text,
                 "-NOPERM this user has no permissions to run the '%s' command\r\n", lower);
        model_answer(scene, text);
    } else if (redirect) {
        scene->call->redirect = redirect;
        model_answer(scene, redirect);
    } else if (refusal) {
        model_answer(scene, refusal);
    } else if (scene->session->subscriber_of && handler->run != model_do_subscribe &&
               handler->run != model_do_unsubscribe) {
        model_breach(scene->node, "a command on a connection that has subscribed");
    } else {
        handler->run(scene);
    }
}

static bool does_know(const struct model_node *node, const struct handler *handler)
{
    if (node->role == MODEL_SENTINEL) return handler->flags & OF_SENTINEL;
    return !(handler->flags & NEWER) || model_is_listed(node->newer, handler->name);
}

void model_execute(const struct scene *scene)
{
    const struct handler *handler = handler_of(scene->command);
    if (!handler) model_breach(scene->node, "a command that the model does not know");
    if (handler && does_know(scene->node, handler))
        execute_known(scene, handler);
    else
        answer_unknown(scene);
}
