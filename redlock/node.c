#include "node.h"

#include "handshake.h"
#include "native.h"

REDLOCK_STATIC_ASSERT(REDLOCK_ERROR_MAX >= 32 && REDLOCK_ERROR_MAX <= UINT8_MAX,
                      "an error's size is kept in a byte");
REDLOCK_STATIC_ASSERT(sizeof(struct resp_parser) <= sizeof(((struct redlock_node *)0)->parser),
                      "REDLOCK_PARSER_WORDS is too small");

/* S16: the most that a node may send. INFO has some 5,000 bytes. 64 x 64 x 64 short items are read
 * in a fraction of a second. */
static const struct resp_limits limits = {
    .line_max = 16384, .bulk_max = 65536, .elements_max = 64, .depth_max = 3
};

static struct resp_parser *parser_of(struct redlock_node *node)
{
    return (struct resp_parser *)(void *)node->parser;
}

/* True if it is a subscription. */
static bool is_for_wake_ups(const struct redlock_node *node)
{
    return node->is_subscription;
}

/* ---- Session ---- */

static void set_state(struct redlock_node *node, enum node_state state)
{
    static const uint8_t may_follow[] = {   /* The set of states that may follow each state. */
        [NODE_DISCONNECTED] = 1 << NODE_CONNECTING,
        [NODE_CONNECTING] = 1 << NODE_HANDSHAKE | 1 << NODE_CLOSING,
        [NODE_HANDSHAKE] = 1 << NODE_READY | 1 << NODE_CLOSING,
        [NODE_READY] = 1 << NODE_CLOSING,
        [NODE_CLOSING] = 1 << NODE_DISCONNECTED,
    };

    REDLOCK_CHECK(may_follow[node->state] >> state & 1);
    node->state = (uint8_t)state;
}

void node_init(struct redlock_node *node, bool is_subscription)
{
    node->is_subscription = is_subscription;
    node->trouble = REDLOCK_TROUBLE_NEW;
}

/* The time by which something must come from a node that is ready, and all that was asked for from
 * one that is not yet. Else it is given up. */
REDLOCK_OUTLINE static void expect_answer(struct redlock_node *node,
                                          const struct redlock_config *config, uint64_t now_us)
{
    unsigned timeouts = node->state == NODE_READY ? NODE_HANG_FACTOR : 1;

    node->alarm_at = now_us + config->node_timeout_ms * (uint64_t)(timeouts * 1000);
}

/* A session that was good has not failed when it is no longer needed, and may be back at once. */
static void end_unneeded(struct redlock_node *node)
{
    if (node->state == NODE_READY) node->failures = 0;
    node_give_up(node, REDLOCK_TROUBLE_NEW, NULL);
}

REDLOCK_STATIC_ASSERT((int)NODE_HANDSHAKE - (int)NODE_CONNECTING ==
                              (int)REASON_NO_HANDSHAKE - (int)REASON_NOT_CONNECTED &&
                          (int)NODE_READY - (int)NODE_CONNECTING ==
                              (int)REASON_NOT_ANSWERED - (int)REASON_NOT_CONNECTED,
                      "reasons of silence are in the order of the states");

static unsigned reason_of_silence(const struct redlock_node *node)
{
    return (unsigned)REASON_NOT_CONNECTED + node->state - (unsigned)NODE_CONNECTING;
}

bool node_tick(struct redlock_node *node, const struct redlock_config *config, bool is_needed,
               uint64_t now_us)
{
    bool overdue = now_us >= node->alarm_at;

    if (node->state == NODE_CLOSING) return false;
    if (node->state == NODE_DISCONNECTED) {
        if (!overdue || !is_needed) return false;
        set_state(node, NODE_CONNECTING);
        expect_answer(node, config, now_us);
        return false;
    }
    if (node->state == NODE_READY && node->asked_count == 0) overdue = false;
    if (overdue) node_give_up_for(node, REDLOCK_TROUBLE_SILENT, reason_of_silence(node));
    if (!overdue && !is_needed) end_unneeded(node);
    return overdue || !is_needed;
}

uint64_t node_wake_at(const struct redlock_node *node, bool is_needed)
{
    bool is_set = node->state == NODE_DISCONNECTED ? is_needed
                  : node->state == NODE_READY      ? node->asked_count > 0
                                                   : node->state != NODE_CLOSING;

    return is_set ? node->alarm_at : REDLOCK_NEVER;
}

/* The next command of the handshake that is not left out with this login. */
static void step_from(struct redlock_node *node, unsigned step,
                      const struct redlock_scripts *scripts)
{
    while (step != REDLOCK_COMMAND_READY &&
           handshake_leaves_out((enum redlock_command)step, node, scripts))
        step++;
    node->step = (uint8_t)step;
}

void node_connected(struct redlock_node *node, const struct redlock_config *config, uint64_t now_us)
{
    set_state(node, NODE_HANDSHAKE);
    expect_answer(node, config, now_us);
    clear_bytes(&node->identity, sizeof node->identity);
    node->reply.begun = false;
    node->send_start = node->send_end = node->receive_start = node->receive_end = 0;
    node->apart = NULL;
    resp_parser_init(parser_of(node), &limits);
    node->step = REDLOCK_COMMAND_AUTH;
}

void node_note(struct redlock_node *node, enum redlock_command command,
               enum redlock_trouble trouble, const char *text)
{
    size_t size = length_of(text, sizeof node->error - 1);

    node->noted = (uint8_t)command;
    node->trouble = (uint8_t)trouble;
    copy_bytes(node->error, text, size);
    node->error[size] = '\0';
}

void node_give_up(struct redlock_node *node, enum redlock_trouble trouble, const char *text)
{
    /* A cluster's node that has not the key of one lock may have those of others. It is asked again
     * soon whether it is a master. */
    unsigned failures_max = trouble == REDLOCK_TROUBLE_MOVED ? 1 : NODE_FAILURES_MAX;

    /* A good connection that was closed may be back at once. One that fell silent is
     * not waited for. */
    node->settled =
        node->state != NODE_READY || trouble == REDLOCK_TROUBLE_SILENT || node->failures > 0;
    if (node->failures < failures_max) node->failures++;
    set_state(node, NODE_CLOSING);
    node_note(node, REDLOCK_COMMAND_NONE, trouble, text);
}

void node_give_up_for(struct redlock_node *node, enum redlock_trouble trouble, unsigned detail)
{
    node_give_up(node, trouble, NULL);
    node->detail = (uint8_t)detail;
}

/* Time in units of 1024 us, modulo 2^32. After 51 days it is 0 again, for a moment. */
static uint32_t ticks_of(uint64_t now_us)
{
    return (uint32_t)(now_us >> 10);
}

void node_forgive(struct redlock_node *node, uint64_t now_us)
{
    bool is_young = ticks_of(now_us) - node->ready_at < NODE_YOUNG_MS;

    if (node->state == NODE_READY) node->failures = is_young && node->failures > 0;
}

void node_disconnected(struct redlock_node *node, uint64_t now_us, uint64_t delay_us)
{
    set_state(node, NODE_DISCONNECTED);
    node->alarm_at = node->settled ? now_us + delay_us : 0;     /* 0: at once. */
}

uint32_t node_half_delay_us(const struct redlock_node *node, unsigned failures_max)
{
    return NODE_DELAY_FIRST_MS * 500u
           << (node->failures < failures_max ? node->failures : failures_max);
}

/* A server has no vote for this long after its start. For tickets it is so much longer that every
 * honest wall clock has by then passed every ticket from before the start (see wire.h). */
REDLOCK_OUTLINE static uint64_t guard_us(const struct redlock_config *config, bool for_ticket)
{
    uint64_t guard_ms = config->guard_ms;

    if (for_ticket && guard_ms > 0) guard_ms += 2 * (uint64_t)config->ticket_skew_ms;
    return guard_ms * 1000;
}

/* The rest of the guard. A clock that goes back is no clock, so all of it is left. */
static uint64_t guard_left_us(const struct redlock_node *node, const struct redlock_config *config,
                              bool for_ticket, uint64_t now_us)
{
    /* Without: trusted (see note_server()). */
    uint64_t guard = node->has_run_id ? guard_us(config, for_ticket) : 0;
    uint64_t up = now_us >= node->met_at ? now_us - node->met_at + node->uptime_us : 0;

    return up < guard ? guard - up : 0;
}

bool node_votes(const struct redlock_node *node, const struct redlock_config *config,
                bool for_ticket, uint64_t now_us)
{
    return node->state == NODE_READY && guard_left_us(node, config, for_ticket, now_us) == 0;
}

uint64_t node_votes_at(const struct redlock_node *node, const struct redlock_config *config,
                       bool for_ticket, uint64_t now_us)
{
    return node->state == NODE_READY ? now_us + guard_left_us(node, config, for_ticket, now_us)
                                     : REDLOCK_NEVER;
}

/* ---- Questions ---- */

bool node_can_ask(const struct redlock_node *node, const struct redlock_config *config)
{
    return node->asked_count < config->pipeline;
}

struct redlock_asked *node_asked_at(struct redlock_node *node, const struct redlock_config *config,
                                    unsigned i)
{
    unsigned at = (unsigned)node->asked_first + i;

    return &node->asked[at < config->pipeline ? at : at - config->pipeline];
}

void node_asked(struct redlock_node *node, const struct redlock_config *config, uint64_t now_us,
                const struct redlock_asked *asked)
{
    REDLOCK_CHECK(node_can_ask(node, config));
    /* A handshake has further rounds if something was refused in the first (see native.c). */
    if (node->asked_count == 0) expect_answer(node, config, now_us);
    *node_asked_at(node, config, node->asked_count) = *asked;
    node->asked_count++;
}

bool node_take_asked(struct redlock_node *node, const struct redlock_config *config,
                     struct redlock_asked *asked)
{
    if (node->asked_count == 0) return false;
    *asked = node->asked[node->asked_first];
    node->asked_count--;
    node->asked_first++;
    if (node->asked_first == config->pipeline) node->asked_first = 0;
    return true;
}

void node_put_handshake(struct redlock_node *node, const struct redlock_config *config,
                        const struct redlock_scripts *scripts,
                        const uint8_t engine[REDLOCK_NAME_SIZE], uint64_t now_us)
{
    struct resp_writer w;

    node_begin_writing(node, config, &w);
    step_from(node, node->step, scripts);
    while (node->step != REDLOCK_COMMAND_READY && node_can_ask(node, config) && !w.apart) {
        struct redlock_asked asked = { .command = node->step };
        if (!handshake_put(&w, (enum redlock_command)node->step, node, scripts, engine)) break;
        node_asked(node, config, now_us, &asked);
        step_from(node, node->step + 1u, scripts);
    }
    node_written(node, &w);
}

/* ---- Sending ---- */

REDLOCK_OUTLINE void node_begin_writing(const struct redlock_node *node,
                                        const struct redlock_config *config, struct resp_writer *w)
{
    resp_write_begin(w, node->send, config->send_size, node->send_end);
}

void node_written(struct redlock_node *node, const struct resp_writer *w)
{
    node->send_end = (uint32_t)w->used;
    node->apart = w->apart;
    node->apart_at = (uint32_t)w->apart_at;
    node->apart_left = (uint16_t)w->apart_size;
}

REDLOCK_OUTLINE const uint8_t *node_output(const struct redlock_node *node, size_t *size)
{
    bool is_before = node->apart && node->send_start < node->apart_at;

    if (node->apart && !is_before) {
        *size = node->apart_left;
        return (const uint8_t *)node->apart;
    }
    *size = (is_before ? node->apart_at : node->send_end) - node->send_start;
    return node->send + node->send_start;
}

void node_sent(struct redlock_node *node, size_t size)
{
    if (node->apart && node->send_start == node->apart_at) {
        REDLOCK_CHECK(size <= node->apart_left);
        node->apart += size;
        node->apart_left = (uint16_t)(node->apart_left - size);
        if (node->apart_left == 0) node->apart = NULL;
    } else {
        REDLOCK_CHECK(size <= (node->apart ? node->apart_at : node->send_end) - node->send_start);
        node->send_start += (uint32_t)size;
    }
}

/* ---- Answers ---- */

/* INFO is too long to be kept, so it is read line by line as it arrives. */
static void read_info(struct redlock_node *node, const struct redlock_scripts *scripts,
                      const uint8_t *data, size_t size)
{
    struct redlock_reply *reply = &node->reply;

    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\n') {
            scripts->read_info(reply->text, reply->text_size, &node->identity);
            reply->text_size = 0;
        } else if (data[i] != '\r' && reply->text_size < REDLOCK_LINE_MAX) {
            reply->text[reply->text_size++] = (char)data[i];
        }
    }
}

/* Appends as much as fits. */
static void append_bytes(struct redlock_reply *reply, const uint8_t *data, size_t size)
{
    size_t room = REDLOCK_LINE_MAX - (size_t)reply->text_size;
    size_t kept = size < room ? size : room;

    copy_bytes(reply->text + reply->text_size, data, kept);
    reply->text_size = (uint8_t)(reply->text_size + kept);
    if (kept < size) reply->text_cut = true;
}

static void begin_reply(struct redlock_reply *reply, const struct resp_item *item)
{
    reply->begun = true;
    reply->type = (uint8_t)item->type;
    reply->integer = item->integer;
    reply->text_cut = false;
    reply->text_size = 0;
}

REDLOCK_OUTLINE static void keep_item(struct redlock_node *node,
                                      const struct redlock_scripts *scripts,
                                      const struct resp_item *item, enum redlock_command command)
{
    struct redlock_reply *reply = &node->reply;

    if (!reply->begun) begin_reply(reply, item);
    if (command == REDLOCK_COMMAND_INFO) read_info(node, scripts, item->data, item->size);
    else                                 append_bytes(reply, item->data, item->size);
}

static void hand_out(struct redlock_node *node, struct wire_reply *out)
{
    struct redlock_reply *reply = &node->reply;

    *out = (struct wire_reply){
        .type = (enum resp_type)reply->type,
        .integer = reply->integer,
        .text = reply->text,
        .text_size = reply->text_size,
        .text_cut = reply->text_cut,
    };
    reply->text[reply->text_size] = '\0';
    reply->begun = false;
}

/* The question that the next reply answers. */
static enum redlock_command command_of(const struct redlock_node *node)
{
    return node->asked_count > 0 ? (enum redlock_command)node->asked[node->asked_first].command
                                 : REDLOCK_COMMAND_NONE;
}

REDLOCK_OUTLINE bool node_next_reply(struct redlock_node *node, const struct redlock_config *config,
                                     const struct redlock_scripts *scripts, uint64_t now_us,
                                     struct redlock_question **questions,
                                     struct redlock_asked *asked, struct wire_reply *reply)
{
    while (node->state == NODE_HANDSHAKE || node->state == NODE_READY) {
        struct resp_item item;
        enum redlock_command command;
        size_t consumed;
        /* The buffer is always reported as full, so that a string is delivered as soon as its bytes
         * are there, and none is too long. */
        enum resp_status status =
            resp_parse(parser_of(node), node->receive + node->receive_start,
                       node->receive_end - node->receive_start, true, &consumed, &item);
        node->receive_start += (uint32_t)consumed;
        if (status == RESP_MORE) return false;
        if (status != RESP_OK) {
            node_give_up_for(node, REDLOCK_TROUBLE_PROTOCOL, status);
            return false;
        }
        if (node->asked_count == 0 && !is_for_wake_ups(node)) {
            node_give_up_for(node, REDLOCK_TROUBLE_PROTOCOL, REASON_NOT_ASKED);
            return false;
        }
        command = command_of(node);
        if (command != REDLOCK_COMMAND_QUESTION) keep_item(node, scripts, &item, command);
        else if (*questions)
            (*questions)->feature->read(questions, node->asked[node->asked_first].round, &item);
        if (!item.ends_reply) continue;
        if (node->state == NODE_READY) expect_answer(node, config, now_us);
        hand_out(node, reply);
        if (!node_take_asked(node, config, asked))
            *asked = (struct redlock_asked){ .command = REDLOCK_COMMAND_NONE };
        return true;
    }
    return false;
}

/* True if the session may go on although this command was refused, in whatever words. If the
 * configuration allows it, the server may be unknown (S12). A name is a courtesy. */
static bool is_tolerated(struct redlock_node *node, const struct redlock_config *config,
                         enum redlock_command command, enum redlock_trouble trouble)
{
    if (wire_ends_session(trouble)) return false;
    if (command == REDLOCK_COMMAND_EVAL || command == REDLOCK_COMMAND_TRIAL)
        return config->asks_only;
    if (command == REDLOCK_COMMAND_INFO) node->identity.unknown = config->trust_unknown;
    return command == REDLOCK_COMMAND_SETNAME || node->identity.unknown;
}

bool node_read_handshake(struct redlock_node *node, const struct redlock_config *config,
                         const struct redlock_scripts *scripts, uint64_t now_us,
                         const struct redlock_asked *asked, const struct wire_reply *reply)
{
    enum redlock_command command = (enum redlock_command)asked->command;
    enum redlock_trouble trouble;

    switch (scripts->loading ? scripts->loading->read(node, asked, scripts, reply)
                             : wire_read(asked, reply)) {
    case REDLOCK_ANSWER_GRANTED:
        if (node->login.managed && node->identity.trouble == REDLOCK_TROUBLE_CLUSTER)
            node->identity.trouble = REDLOCK_TROUBLE_NONE;
        if (command == REDLOCK_COMMAND_INFO && scripts->identify)
            scripts->identify(node, config, now_us);
        return true;
    case REDLOCK_ANSWER_ERROR:
        trouble = wire_class(reply->text, reply->text_size);
        if (is_tolerated(node, config, command, trouble)) return true;
        /* A sentinel knows no scripts. Its kind is a better reason than its refusal. */
        if (node->identity.trouble) trouble = (enum redlock_trouble)node->identity.trouble;
        node_give_up(node, trouble, reply->text);
        return false;
    default:
        node_give_up_for(node, REDLOCK_TROUBLE_PROTOCOL, REASON_WRONG_HANDSHAKE);
        return false;
    }
}

bool node_handshake_is_over(const struct redlock_node *node)
{
    REDLOCK_CHECK(node->state == NODE_HANDSHAKE);
    return node->step == REDLOCK_COMMAND_READY && node->asked_count == 0;
}

/* S12: only a stand-alone master that gives its identity has a vote, or a managed one. */
static bool check_identity(struct redlock_node *node)
{
    const struct redlock_identity *identity = &node->identity;

    if (identity->trouble != REDLOCK_TROUBLE_NONE) {
        node_give_up(node, (enum redlock_trouble)identity->trouble, NULL);
        return false;
    }
    if (identity->unknown || (identity->has_run_id && identity->has_mode && identity->has_role))
        return true;
    node_give_up(node, REDLOCK_TROUBLE_NO_IDENTITY, NULL);
    return false;
}

/* S11: a server that we have not seen before begins its guard now. At the very first contact there
 * is nothing to compare with, so its uptime is believed, less one second, since it counts whole
 * seconds of a wall clock. S30: the uptime of a server that has taken over the history of another
 * run (see wire.h) is not believed, since it may lack the last writes. */
REDLOCK_OUTLINE static void begin_guard(struct redlock_node *node, uint64_t now_us)
{
    const struct redlock_identity *identity = &node->identity;

    node->met_at = now_us;
    node->uptime_us = 0;
    if (!node->has_run_id && !identity->history && identity->uptime_s > 0)
        node->uptime_us = (uint64_t)(identity->uptime_s - 1) * 1000000;
}

/* A server that is not asked for its identity votes at once, since the configuration trusts it. A
 * subscription has no vote. */
static void note_server(struct redlock_node *node, uint64_t now_us)
{
    const struct redlock_identity *identity = &node->identity;
    bool seen =
        node->has_run_id && are_same_bytes(node->run_id, identity->run_id, sizeof node->run_id);

    if (!identity->has_run_id) return;
    /* S30: if its history differs from the one before, it was a replica meanwhile, and another
     * server voted in its place. */
    if (!seen || (identity->history && identity->history != node->has_run_id))
        begin_guard(node, now_us);
    copy_bytes(node->run_id, identity->run_id, sizeof node->run_id);
    node->has_run_id = identity->history | 1;
}

REDLOCK_WRAPS void node_end_handshake(struct redlock_node *node, uint64_t now_us)
{
    if (!is_for_wake_ups(node) && !check_identity(node)) return;
    note_server(node, now_us);
    set_state(node, NODE_READY);
    node->ready_at = ticks_of(now_us);
    node->settled = true;
    node->trouble = REDLOCK_TROUBLE_NONE;
}

/* ---- In words ---- */

enum redlock_trouble node_trouble(const struct redlock_node *node,
                                  const struct redlock_config *config, uint64_t now_us)
{
    if (node->state == NODE_READY && guard_left_us(node, config, false, now_us) > 0)
        return REDLOCK_TROUBLE_RESTARTED;
    /* Also where EVALSHA was refused. */
    if (node->trouble == REDLOCK_TROUBLE_NOSCRIPT) return REDLOCK_TROUBLE_NOSCRIPT;
    if (node->trouble >= REDLOCK_TROUBLE_NOAUTH)
        return wire_trouble(node->error, sizeof node->error);
    return (enum redlock_trouble)node->trouble;
}

struct words {
    char *text;
    size_t size, used;
};

static void add_words(struct words *w, const char *text)
{
    while (*text != '\0' && w->used + 1 < w->size) w->text[w->used++] = *text++;
    w->text[w->used] = '\0';
}

static void add_number(struct words *w, uint64_t number)
{
    char text[RESP_DIGITS_MAX + 1] = { 0 };

    add_words(w, text + resp_decimal(text, number));
}

/* A server that does not know AUTH repeats its arguments in the error, with the password. */
static void add_error(struct words *w, const struct redlock_node *node)
{
    const char *at = node->error;

    if (*at == '\0') add_words(w, "an error reply without a word");
    while (*at != '\0' &&
           (node->noted != REDLOCK_COMMAND_NONE || !wire_begins(at, SIZE_MAX, ", with args"))) {
        const char character[] = { *at++, '\0' };
        add_words(w, character);
    }
}

static void describe_guard_left(uint64_t left_us, const char *text, struct words *w)
{
    if (left_us == 0) return;
    add_words(w, text);
    add_number(w, (left_us + 999999) / 1000000);
    add_words(w, " s");
}

static void describe_guard(const struct redlock_node *node, const struct redlock_config *config,
                           uint64_t now_us, struct words *w)
{
    add_words(w, node->identity.memory == REDLOCK_MEMORY_LOST      ? "came back empty "
                 : node->identity.memory == REDLOCK_MEMORY_FLUSHED ? "was emptied "
                 : node->identity.history    ? "was a replica (failover), met "
                 : node->identity.is_derived ? "has no run_id, so a failover would not show, met "
                                             : "restarted ");
    add_number(w, (now_us - node->met_at + node->uptime_us) / 1000000);
    add_words(w, " s ago");
    describe_guard_left(guard_left_us(node, config, false, now_us), ", no vote for another ", w);
    describe_guard_left(guard_left_us(node, config, true, now_us), ", no ticket for another ", w);
    if (node->identity.memory == REDLOCK_MEMORY_HIDDEN)
        add_words(w, ", as its redlock:canary is hidden");
}

/* Of a node that has a vote. */
static void describe_vote(const struct redlock_node *node, struct words *w)
{
    add_words(w, native_is(node) ? "runs no scripts, so it has no vote but on plain locks" : "ok");
}

static const char *reason_text(unsigned reason)
{
    /* The order is that of enum node_reason. They are arrays, not pointers to literals, since a
     * linker can leave arrays out. */
    static const char texts[][sizeof "an answer of the wrong type in the handshake"] = {
        "no connection within the node timeout",
        "connected, but no answer to the handshake",
        "connected, but it does not answer",
        "an answer that nobody asked for",
        "an answer of the wrong type",
        "an answer of the wrong type in the handshake",
        "a subscription received what is no wake-up",
    };

    return reason < REASON_NOT_CONNECTED ? resp_status_text((enum resp_status)reason)
                                         : texts[reason - REASON_NOT_CONNECTED];
}

void node_describe(const struct redlock_node *node, const struct redlock_config *config,
                   uint64_t now_us, char *text, size_t size)
{
    struct words w = { .text = text, .size = size };
    bool gives_tickets = node_votes(node, config, true, now_us);

    REDLOCK_CHECK(size > 0);
    switch (node_trouble(node, config, now_us)) {
    case REDLOCK_TROUBLE_NONE:
        if (gives_tickets) describe_vote(node, &w);
        else               describe_guard(node, config, now_us, &w);
        break;
    case REDLOCK_TROUBLE_NEW:         add_words(&w, "not connected yet"); break;
    case REDLOCK_TROUBLE_CLOSED:      add_words(&w, "it closed the connection"); break;
    case REDLOCK_TROUBLE_PROTOCOL:
        add_words(&w, "not a Redis server: "), add_words(&w, reason_text(node->detail));
        break;
    case REDLOCK_TROUBLE_SILENT:      add_words(&w, reason_text(node->detail)); break;
    case REDLOCK_TROUBLE_RESTARTED:   describe_guard(node, config, now_us, &w); break;
    case REDLOCK_TROUBLE_SAME_SERVER:
        add_words(&w, "same server as node ");
        add_number(&w, node->detail);
        if (node->identity.is_derived)
            add_words(&w, ", or both name no run_id, and the same process_id and tcp_port");
        break;
    case REDLOCK_TROUBLE_REPLICA:     add_words(&w, "a replica, not a master"); break;
    case REDLOCK_TROUBLE_CLUSTER:
        add_words(&w, "a member of a cluster, not an independent server");
        break;
    case REDLOCK_TROUBLE_SENTINEL:    add_words(&w, "a sentinel, not a server"); break;
    case REDLOCK_TROUBLE_NO_IDENTITY:
        add_words(&w, "INFO names no run_id (nor what could stand in), no mode, or no role");
        break;
    default:
        add_error(&w, node);
        break;
    }
}
