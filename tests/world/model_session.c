#include "model_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* "*3\r\n" and "$12\r\n" fit; longer ones are not commands of ours. */
    LINE_MAX = 32,
    BULK_MAX = 4096
};

/* ---- Subscriptions ---- */

char *model_channel(struct model_session *session, struct slice channel)
{
    for (unsigned i = 0; i < session->channel_count; i++)
        if (slice_is(channel, session->channels[i])) return session->channels[i];
    return NULL;
}

/* The answer to SUBSCRIBE and UNSUBSCRIBE. */
static void tell_channels(const struct scene *scene, const char *what)
{
    char head[64];
    snprintf(head, sizeof head, "*3\r\n$%zu\r\n%s\r\n", strlen(what), what);
    model_answer(scene, head);
    model_answer_bulk(scene, scene->command->arguments[1]);
    model_answer_number(scene, scene->session->channel_count);
}

static void begin_to_subscribe(const struct scene *scene)
{
    struct model_session *session = scene->session;
    session->subscriber_of = scene->node;
    session->next_subscriber = scene->node->subscribers;
    scene->node->subscribers = session;
}

static void add_channel(struct model_session *session, struct slice channel)
{
    if (!session->channels)
        session->channels = calloc(MODEL_CHANNELS_MAX, sizeof session->channels[0]);
    if (!session->channels) abort();
    slice_text(channel, session->channels[session->channel_count++], sizeof session->channels[0]);
}

void model_do_subscribe(const struct scene *scene)
{
    struct model_session *session = scene->session;
    const struct slice channel = scene->command->arguments[1];
    const bool is_new = !model_channel(session, channel);
    if (scene->command->count != 2 || channel.size > MODEL_CHANNEL_MAX ||
        (is_new && session->channel_count == MODEL_CHANNELS_MAX)) {
        model_breach(scene->node, "a SUBSCRIBE to more than one channel, or to too many");
        return;
    }
    if (!session->subscriber_of) begin_to_subscribe(scene);
    if (is_new) add_channel(session, channel);
    tell_channels(scene, "subscribe");
}

void model_do_unsubscribe(const struct scene *scene)
{
    struct model_session *session = scene->session;
    char *channel = model_channel(session, scene->command->arguments[1]);
    if (scene->command->count != 2)
        model_breach(scene->node, "an UNSUBSCRIBE from more than one channel");
    if (channel)
        memmove(channel, session->channels[--session->channel_count], sizeof session->channels[0]);
    tell_channels(scene, "unsubscribe");
}

static void subscriber_closes(struct model_session *session)
{
    struct model_session **at;
    if (!session->subscriber_of) return;
    for (at = &session->subscriber_of->subscribers; *at != session; at = &(*at)->next_subscriber) {}
    *at = session->next_subscriber;
    session->subscriber_of = NULL;
}

/* ---- Planned answers and the log ---- */

static struct model_answer *plan_for(struct model_node *node, struct slice name)
{
    for (unsigned i = 0; i < MODEL_ANSWERS_MAX; i++) {
        struct model_answer *plan = &node->answers[i];
        if (plan->command && plan->times > 0 &&
            (slice_is(name, plan->command) || strcmp(plan->command, "*") == 0))
            return plan;
    }
    return NULL;
}

static void answer_as_planned(const struct scene *scene, struct model_answer *plan)
{
    const size_t before = scene->session->out.size;
    if (plan->executes) model_execute(scene);
    scene->session->out.size = before;
    model_bytes_add(&scene->session->out, plan->bytes, plan->size);
    scene->session->closing = scene->session->closing || plan->closes;
    plan->used = true;
    if (plan->times != UINT32_MAX) plan->times--;
}

static void log_keys(struct model_call *call, const struct command *command)
{
    int64_t count = 0;
    (void)slice_number(command->arguments[2], &count);
    while (call->key_count < MODEL_KEYS_MAX && (int64_t)call->key_count < count &&
           call->key_count + 3 < command->count) {
        slice_text(command->arguments[call->key_count + 3], call->keys[call->key_count],
                   sizeof call->keys[0]);
        call->key_count++;
    }
    memcpy(call->key, call->keys[0], sizeof call->key);
}

static void log_script(struct model_call *call, const struct model_node *node,
                       const struct command *command)
{
    static const char *const names[] = {
        NULL, "ACQUIRE", "RESTORE", "EXTEND", "EXTEND", "RELEASE", "RELEASE", "MARK", "PROMOTION",
        "ACQUIRE", "RESTORE", "EXTEND", "RELEASE", "WAIT", "ACQUIRE", "EXTEND", "RELEASE", "WAIT",
        "ACQUIRE", "RESTORE", "EXTEND", "RELEASE", "ACQUIRE", "EXTEND", "RELEASE"
    };
    char sha[MODEL_SHA_TEXT + 1];
    enum model_script script = model_script_of(command->arguments[1]);
    int64_t ticket = 0;
    slice_text(command->arguments[1], sha, sizeof sha);
    call->eval = script != MODEL_SCRIPT_NONE;
    if (script == MODEL_SCRIPT_NONE) script = model_script_loaded(node, sha);
    if (script != MODEL_SCRIPT_NONE) snprintf(call->name, sizeof call->name, "%s", names[script]);
    log_keys(call, command);
    const unsigned first = 3 + call->key_count;
    if (command->count > first)
        slice_text(command->arguments[first], call->token, sizeof call->token);
    if (command->count > first + 1)
        (void)slice_number(command->arguments[first + 1], &call->ttl_ms);
    if (command->count > first + 1 &&
        (script == MODEL_SCRIPT_RELEASE || script == MODEL_SCRIPT_PERMIT_RELEASE ||
         script == MODEL_SCRIPT_SHARED_RELEASE || script == MODEL_SCRIPT_FAIR_RELEASE))
        slice_text(command->arguments[first + 1], call->entry, sizeof call->entry);
    const bool has_ticket =
        script == MODEL_SCRIPT_ACQUIRE || script == MODEL_SCRIPT_RESTORE ||
        script == MODEL_SCRIPT_PERMIT_ACQUIRE || script == MODEL_SCRIPT_PERMIT_RESTORE ||
        script == MODEL_SCRIPT_SHARED_ACQUIRE || script == MODEL_SCRIPT_FAIR_ACQUIRE ||
        script == MODEL_SCRIPT_FAIR_RESTORE;
    call->fair = script >= MODEL_SCRIPT_FAIR_ACQUIRE && script <= MODEL_SCRIPT_FAIR_RELEASE;
    if (has_ticket && command->count > first + 2 &&
        slice_number(command->arguments[first + 2], &ticket))
        call->ticket = (uint64_t)ticket;
}

/* Commands of the server's own, which have the names of what they do to a lock, but for SET. The
 * question whether a node has them is none of these. */
static void log_native(struct model_call *call, const struct command *command)
{
    const struct slice *a = command->arguments;
    const bool is_extension = strcmp(call->name, "SET") == 0 && command->count == 7,
               is_release = strncmp(call->name, "DEL", 3) == 0 && command->count >= 3 &&
                            !slice_is(a[command->count - 1], "-");
    if (command->count == 6 && strcmp(call->name, "SET") == 0) {
        slice_text(a[2], call->token, sizeof call->token);
        (void)slice_number(a[5], &call->ttl_ms);
    } else if (is_extension) {
        snprintf(call->name, sizeof call->name, "EXTEND");
        slice_text(a[2], call->token, sizeof call->token);
        (void)slice_number(a[6], &call->ttl_ms);
    } else if (is_release) {
        snprintf(call->name, sizeof call->name, "RELEASE");
        slice_text(a[command->count - 1], call->token, sizeof call->token);
    }
}

static struct model_call *log_call(struct model_node *node, const struct command *command,
                                   uint64_t now_us)
{
    if (node->call_count == node->call_capacity) {
        node->call_capacity = 2 * node->call_capacity + 32;
        node->calls = model_grow(node->calls, node->call_capacity * sizeof *node->calls);
    }
    struct model_call *call = &node->calls[node->call_count++];
    *call = (struct model_call){ .at_us = now_us };
    slice_text(command->arguments[0], call->name, sizeof call->name);
    if (command->count >= 4 && strncmp(call->name, "EVAL", 4) == 0)
        log_script(call, node, command);
    else if (command->count >= 2)
        slice_text(command->arguments[1], call->key, sizeof call->key);
    log_native(call, command);
    return call;
}

unsigned model_count_calls(const struct model_node *node, const char *name)
{
    unsigned count = 0;
    for (size_t i = 0; i < node->call_count; i++) count += strcmp(node->calls[i].name, name) == 0;
    return count;
}

void model_node_plan(struct model_node *node, struct model_answer answer)
{
    for (unsigned i = 0; i < MODEL_ANSWERS_MAX; i++) {
        if (node->answers[i].command && node->answers[i].times > 0) continue;
        node->answers[i] = answer;
        return;
    }
    abort();
}

void model_node_forget_plans(struct model_node *node)
{
    memset(node->answers, 0, sizeof node->answers);
}

const char *model_node_idle_plan(const struct model_node *node)
{
    for (unsigned i = 0; i < MODEL_ANSWERS_MAX; i++) {
        const struct model_answer *plan = &node->answers[i];
        if (plan->command && (!plan->used || (plan->times > 0 && plan->times != UINT32_MAX)))
            return plan->command;
    }
    return NULL;
}

/* ---- What becomes of a token ---- */

/* FNV-1a. The slot of another token with the same number is taken over. */
static struct model_past *past_of(struct model_node *node, unsigned client, const char *token)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325) + client;
    for (const char *at = token; *at != '\0'; at++)
        hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001B3);
    struct model_past *past = &node->pasts[(hash ^ hash >> 32) % MODEL_TOKENS_MAX];
    if (past->token != hash) *past = (struct model_past){ .token = hash };
    return past;
}

static bool is_poll(const char *name)
{
    return strcmp(name, "SET") == 0 || strcmp(name, "ACQUIRE") == 0 || strcmp(name, "RESTORE") == 0;
}

/* A poll after the release is removed by nobody, or by that release if it arrives late and the lock
 * is held. */
static void watch_token(struct model_node *node, const struct model_session *session,
                        const char *name, const char *token)
{
    struct model_past *past = past_of(node, session->client, token);
    const bool polls = is_poll(name), releases = strcmp(name, "RELEASE") == 0;
    if (polls && session->number > past->polled_in) past->polled_in = session->number;
    if (releases && (past->released_in == 0 || session->number < past->released_in))
        past->released_in = session->number;
    const bool is_late = polls && past->released_in > 0 && past->released_in <= session->number;
    if (is_late || (past->released_in > 0 && past->released_in < past->polled_in))
        model_breach(node, "a poll by a token behind the release of that token");
}

static void watch_tokens(struct model_node *node, const struct model_session *session,
                         const struct model_call *call)
{
    if (node->by_hand || call->token[0] == '\0') return;
    watch_token(node, session, call->name, call->token);
    if (call->other[0] != '\0') watch_token(node, session, call->name, call->other);
}

/* ---- From bytes to commands ---- */

enum reading { READ_WHOLE, READ_MORE, READ_WRONG };

/* "*3\r\n" or "$5\r\n" at *at, which is moved past it. */
static enum reading read_head(const struct model_bytes *in, size_t *at, char type, int64_t *number)
{
    size_t end = *at;
    while (end < in->size && in->data[end] != '\r' && end - *at < LINE_MAX) end++;
    if (end > *at && in->data[*at] != (uint8_t)type) return READ_WRONG;
    if (end - *at == LINE_MAX) return READ_WRONG;
    if (end + 1 >= in->size) return READ_MORE;
    if (in->data[end + 1] != '\n' ||
        !slice_number((struct slice){ in->data + *at + 1, end - *at - 1 }, number))
        return READ_WRONG;
    *at = end + 2;
    return READ_WHOLE;
}

static enum reading read_argument(const struct model_bytes *in, size_t *at, struct slice *argument)
{
    int64_t size;
    const enum reading head = read_head(in, at, '$', &size);
    if (head != READ_WHOLE) return head;
    if (size < 0 || size > BULK_MAX) return READ_WRONG;
    if (in->size - *at < (size_t)size + 2) return READ_MORE;
    *argument = (struct slice){ in->data + *at, (size_t)size };
    *at += (size_t)size + 2;
    return memcmp(argument->data + size, "\r\n", 2) == 0 ? READ_WHOLE : READ_WRONG;
}

/* Reads one command; *used is its size. */
static enum reading read_command(const struct model_bytes *in, struct command *command,
                                 size_t *used)
{
    int64_t count;
    *used = 0;
    enum reading reading = read_head(in, used, '*', &count);
    if (reading == READ_WHOLE && (count < 1 || count > MODEL_ARGUMENTS_MAX)) return READ_WRONG;
    for (command->count = 0; reading == READ_WHOLE && command->count < (unsigned)count;
         command->count++)
        reading = read_argument(in, used, &command->arguments[command->count]);
    return reading;
}

static void take_command(struct model_node *node, struct model_session *session,
                         const struct command *command, uint64_t now_us)
{
    node->executes = node->is_cluster;
    node->shard = session->shard;
    struct scene scene = { node, session, command, log_call(node, command, now_us), now_us };
    struct model_answer *plan = plan_for(node, command->arguments[0]);
    if (plan)
        answer_as_planned(&scene, plan);
    else
        model_execute(&scene);
    node->executes = false;
    watch_tokens(node, session, scene.call);
}

void model_session_receive(struct model_node *node, struct model_session *session, const void *data,
                           size_t size, uint64_t now_us)
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
        model_breach(node, "bytes that are no command");
        session->closing = true;
    }
}

/* ---- Life ---- */

void model_breach(struct model_node *node, const char *what)
{
    if (node->breach[0] == '\0') snprintf(node->breach, sizeof node->breach, "%s", what);
}

void model_session_begin(struct model_node *node, struct model_session *session)
{
    *session = (struct model_session){
        .logged_in = !node->password, .number = ++node->session_count
    };
    if (node->banner) {
        model_bytes_add(&session->out, node->banner, strlen(node->banner));
        session->closing = true;
    }
}

void model_session_end(struct model_session *session)
{
    subscriber_closes(session);
    model_bytes_free(&session->in);
    model_bytes_free(&session->out);
    free(session->channels);
    session->channels = NULL;
    session->channel_count = 0;
}

static void name_process(struct model_node *node, uint64_t number, uint64_t now_us)
{
    snprintf(node->run_id, sizeof node->run_id, "%016llx%024llx",
             (unsigned long long)(number * 0x9E3779B97F4A7C15u), (unsigned long long)number);
    node->started_us = now_us;
}

void model_node_init(struct model_node *node, uint64_t number, uint64_t now_us)
{
    *node = (struct model_node){ .mode = "standalone" };
    name_process(node, number, now_us);
}

void model_node_restart(struct model_node *node, uint64_t number, bool keeps_keys, uint64_t now_us)
{
    if (!keeps_keys) model_flush(node);
    model_flush_scripts(node);
    name_process(node, number, now_us);
    node->second_offset = 0;
    node->uptime_text = NULL;
}

void model_node_promote(struct model_node *node, uint64_t offset)
{
    node->second_offset = offset;
    node->uptime_text = "86400";
}

void model_node_free(struct model_node *node)
{
    model_flush(node);
    model_forget_saved(node);
    free(node->keys);
    free(node->calls);
}
