#include "plain.h"

#include "../identity.h"
#include "../native.h"
#include "texts.h"

REDLOCK_STATIC_ASSERT(WIRE_WAITERS_LIFE_MS == 60000, "the wait script says it in digits");

/* Texts are arrays, not literals, since the literals of all functions are in one section, which a
 * linker keeps whole. */

static void put_set(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->ttl_ms > 0 && s->name_count == 1);
    resp_command(w, 6);
    resp_bytes(w, "SET", sizeof "SET" - 1);
    wire_put_resource(w, s);
    wire_put_value(w, s);
    resp_bytes(w, "NX", sizeof "NX" - 1);
    resp_bytes(w, "PX", sizeof "PX" - 1);
    resp_size(w, s->ttl_ms);
}

static const struct wire_row plain_acquire = { .put = put_set };

const struct redlock_kind redlock_plain = { .rows = NULL };

const struct redlock_kind *plain_scripted(void)
{
    static const char text[] = WIRE_ACQUIRE_SCRIPT, sha1[] = WIRE_ACQUIRE_SHA1;
    static const struct wire_row row = {
        .text = text, .sha1 = sha1, .put = wire_put_grant, .argument_count = 5,
        .read_refusal = wire_read_refusal
    };
    static const char restore_text[] = WIRE_RESTORE_SCRIPT, restore_sha1[] = WIRE_RESTORE_SHA1;
    static const struct wire_row restore = {
        .text = restore_text, .sha1 = restore_sha1, .put = wire_put_grant, .argument_count = 5
    };
    static const struct wire_row *const rows[KIND_ROWS] = {
        [KIND_ACQUIRE] = &row, [KIND_RESTORE] = &restore
    };
    static const struct redlock_kind kind = { .rows = rows };

    return &kind;
}

/* ---- Scripts that an engine shares with its nodes ---- */

static bool is_load(enum redlock_command command)
{
    return command == REDLOCK_COMMAND_LOAD_RELEASE || command == REDLOCK_COMMAND_LOAD_EXTEND;
}

static const struct wire_row *loaded_by(enum redlock_command command,
                                        const struct redlock_scripts *scripts)
{
    return scripts->rows[command == REDLOCK_COMMAND_LOAD_EXTEND ? KIND_EXTEND : KIND_RELEASE];
}

bool plain_is_load_left_out(enum redlock_command command, const struct redlock_node *node)
{
    switch (command) {
    case REDLOCK_COMMAND_TRIAL:     return node->is_subscription || !node->login.managed;
    case REDLOCK_COMMAND_NATIVE:    return !native_is(node);
    case REDLOCK_COMMAND_CANARY:
    case REDLOCK_COMMAND_PROMOTION: return true;
    default:                        return node->is_subscription;
    }
}

bool plain_is_canary_left_out(enum redlock_command command, const struct redlock_node *node)
{
    return (command == REDLOCK_COMMAND_CANARY) ? (node->is_subscription || !node->login.durable)
                                               : plain_is_load_left_out(command, node);
}

static void put_trial(struct resp_writer *w, const char *release)
{
    resp_command(w, 5);
    resp_text(w, "EVAL");
    wire_put_script_text(w, release);
    resp_text(w, "1");
    resp_text(w, REDLOCK_CANARY);
    resp_text(w, "-");      /* No token, so a key that is there stays. */
}

static void put_load(struct resp_writer *w, const char *script)
{
    resp_command(w, 3);
    resp_text(w, "SCRIPT");
    resp_text(w, "LOAD");
    wire_put_script_text(w, script);
}

void plain_put_load(struct resp_writer *w, enum redlock_command command,
                    const struct redlock_node *node, const struct redlock_scripts *scripts)
{
    const char *script = loaded_by(command, scripts)->text;

    switch (command) {
    case REDLOCK_COMMAND_TRIAL:  put_trial(w, script); break;
    case REDLOCK_COMMAND_NATIVE: native_put_question(w, node); break;
    default:                     put_load(w, script);
    }
}

/* A proxy before a cluster may run scripts, but none without keys: "ERR for redis cluster,
 * eval/evalsha number of keys can't be negative or zero" (Alibaba's). The trial decides, which has
 * one. Its key may be another shard's, or not allowed to the user, but a refusal of its script
 * begins with ERR. A script that was not loaded is sent when it is needed. */
static bool is_no_matter(const struct redlock_node *node, enum redlock_command command,
                         const struct wire_reply *reply)
{
    enum redlock_trouble trouble = wire_class(reply->text, reply->text_size);
    bool is_err = wire_begins(reply->text, reply->text_size, "ERR ") > 0;
    bool is_trial = command == REDLOCK_COMMAND_TRIAL;
    bool is_left_to_trial = (command == REDLOCK_COMMAND_EVAL) && node->login.managed;
    bool may_fail = is_load(command) || (is_err ? is_left_to_trial : is_trial);

    return (is_trial && (trouble == REDLOCK_TROUBLE_MOVED)) ||
           (may_fail && !wire_ends_session(trouble));
}

enum redlock_answer plain_read_load(struct redlock_node *node, const struct redlock_asked *asked,
                                    const struct redlock_scripts *scripts,
                                    const struct wire_reply *reply)
{
    enum redlock_command command = (enum redlock_command)asked->command;
    enum redlock_answer meaning = wire_read_any(asked, reply);

    if (command == REDLOCK_COMMAND_NATIVE) return native_read_answer(node, reply);
    if (meaning == REDLOCK_ANSWER_ERROR &&
        (is_no_matter(node, command, reply) || native_is_begun(node, command, reply)))
        return REDLOCK_ANSWER_GRANTED;
    if (meaning == REDLOCK_ANSWER_GRANTED && is_load(command) &&
        !wire_text_is(reply, loaded_by(command, scripts)->sha1))
        return REDLOCK_ANSWER_WRONG;
    return meaning;
}

static const struct wire_loading loading_feature = {
    plain_is_load_left_out, plain_put_load, plain_read_load
};

static void put_subscribe(struct resp_writer *w, const uint8_t engine[REDLOCK_NAME_SIZE])
{
    char channel[sizeof "redlock:" - 1 + (size_t)2 * REDLOCK_NAME_SIZE] = "redlock:";

    wire_write_hex(engine, REDLOCK_NAME_SIZE, channel + sizeof "redlock:" - 1);
    resp_command(w, 2);
    resp_text(w, "SUBSCRIBE");
    resp_bytes(w, channel, sizeof channel);
}

static const char extend_one_text[] = WIRE_EXTEND_ONE_SCRIPT,
                  release_one_text[] = WIRE_RELEASE_ONE_SCRIPT;

const struct redlock_scripts *plain_scripts_for_one(void)
{
    static const struct wire_row extend = {
        .text = extend_one_text, .put = wire_put_extend, .argument_count = 2, .lowest = 0,
        .highest = 1
    };
    static const struct wire_row release = {
        .text = release_one_text, .put = wire_put_placed, .argument_count = 1, .lowest = -1,
        .highest = 1
    };
    static const struct redlock_scripts scripts = {
        .rows = { [KIND_ACQUIRE] = &plain_acquire, [KIND_RESTORE] = &plain_acquire,
                  [KIND_EXTEND] = &extend, [KIND_RELEASE] = &release },
        .read_info = wire_read_info
    };

    return &scripts;
}

const struct redlock_scripts *plain_scripts_for_one_loaded(void)
{
    static const char extend_sha1[] = WIRE_EXTEND_ONE_SHA1, release_sha1[] = WIRE_RELEASE_ONE_SHA1;
    static const struct wire_row extend = {
        .text = extend_one_text, .sha1 = extend_sha1, .put = wire_put_extend, .argument_count = 2,
        .lowest = 0, .highest = 1
    };
    static const struct wire_row release = {
        .text = release_one_text, .sha1 = release_sha1, .put = wire_put_placed, .argument_count = 1,
        .lowest = -1, .highest = 1
    };
    static const struct redlock_scripts scripts = {
        .rows = { [KIND_ACQUIRE] = &plain_acquire, [KIND_RESTORE] = &plain_acquire,
                  [KIND_EXTEND] = &extend, [KIND_RELEASE] = &release },
        .loading = &loading_feature, .read_info = identity_read_info, .identify = identity_conclude
    };

    return &scripts;
}

/* Every waiter gives its role, so that later readers are placed after a writer. */
static void put_plain_wait(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_wait(w, s);
    wire_put_modes(w, s);
}

/* A waiting writer's hint goes with its entry, so the script of shared locks gives
 * the entry back. */
const struct redlock_scripts *plain_scripts_for_all(void)
{
    static const char wait_text[] = WIRE_WAIT_SCRIPT, wait_sha1[] = WIRE_WAIT_SHA1;
    static const char extend_text[] = WIRE_EXTEND_SCRIPT, extend_sha1[] = WIRE_EXTEND_SHA1;
    static const char release_text[] = WIRE_RELEASE_SCRIPT, release_sha1[] = WIRE_RELEASE_SHA1;
    static const struct wire_row extend = {
        .text = extend_text, .sha1 = extend_sha1, .put = wire_put_extend, .argument_count = 2,
        .lowest = 0, .highest = 1
    };
    static const struct wire_row release = {
        .text = release_text, .sha1 = release_sha1, .put = wire_put_placed, .argument_count = 1,
        .lowest = -1, .highest = 1
    };
    static const struct wire_row wake = {
        .text = release_text, .sha1 = release_sha1, .put = wire_put_wake, .argument_count = 2,
        .lowest = -1, .highest = 2
    };
    static const struct wire_row give_back = {
        .text = shared_release_text, .sha1 = shared_release_sha1, .put = wire_put_wake,
        .argument_count = 2, .lowest = -1, .highest = 2
    };
    static const struct wire_row wait = {
        .text = wait_text, .sha1 = wait_sha1, .put = put_plain_wait, .argument_count = 4
    };
    static const struct redlock_scripts scripts = {
        .rows = { [KIND_ACQUIRE] = &plain_acquire, [KIND_RESTORE] = &plain_acquire,
                  [KIND_EXTEND] = &extend, [KIND_RELEASE] = &release, [KIND_WAKE] = &wake,
                  [KIND_GIVE_BACK] = &give_back, [KIND_WAIT] = &wait },
        .loading = &loading_feature, .read_info = identity_read_info, .identify = identity_conclude,
        .put_subscribe = put_subscribe
    };

    return &scripts;
}
