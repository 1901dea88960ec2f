#include "trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

/* What a command is about, and so what its answer means. */
enum kind {
    KIND_OTHER,         /* Its answer is shown and not explained. */
    KIND_AUTH,          /* Its words, and what an error repeats of them, are secret. */
    KIND_INFO,          /* Its answer is long; some lines of it matter. */
    KIND_LOAD,
    KIND_SCRIPT,        /* One that is not known yet; its next word tells. */
    KIND_SET,
    KIND_ACQUIRE,       /* By the script: with a ticket, or several resources. */
    KIND_RESTORE,       /* Set again by its holder, by either. */
    KIND_EXTEND,
    KIND_RELEASE,
    KIND_WAIT,
    KIND_PTTL,
    KIND_SUBSCRIBE      /* What an ear says. */
};

/* The scripts: their names on the nodes, and how their texts begin. */
static const struct {
    enum kind kind;
    const char *sha1, *begins;
} scripts[] = {
    { KIND_ACQUIRE, "9aae8ee2ecfb3d7ac272f186836eb30de2fc1901", "local c,t,m,p=" },
    { KIND_RELEASE, "706100ef6203a7ced40b7fb570a5ee6ad715704d", "local c,p,n,w,e=" },
    { KIND_EXTEND, "83e13c0a01039ba3e3edd3dbdc1b5d5649050f1e", "local c=redis.call " },
    { KIND_WAIT, "0f8bb4b45c783820bad9115c6d6799fa49af7468", "local p=-2 " },
};

enum {
    SHOWN_MAX = 24,         /* Bytes of a word that are shown, but for ... */
    HEX_SIZE = 40,          /* tokens, run_ids and SHA-1s: long and alike, so their two ends are enough. */
    HEX_BEGIN = 6,
    HEX_END = 2,
    WIRE_WIDTH = 50,        /* Of the column for commands and replies. */
    LINE_MAX_SIZE = 1024
};

static const struct resp_limits limits = {
    .line_max = SIZE_MAX, .bulk_max = RESP_BULK_MAX, .elements_max = UINT32_MAX, .depth_max = RESP_DEPTH_MAX
};

static void reset_stream(struct trace_stream *stream)
{
    memset(stream, 0, sizeof *stream);
    resp_parser_init(&stream->parser, &limits);
}

static void reset_node(struct trace_node *node)
{
    reset_stream(&node->sent);
    reset_stream(&node->received);
    node->first = node->end;
}

void trace_init(struct trace *trace, struct redlock_client *client, const struct redlock_lock *lock)
{
    memset(trace, 0, sizeof *trace);
    trace->client = client;
    trace->lock = lock;
    trace->operation = "";
    for (unsigned k = 0; k < TRACE_SESSIONS_MAX; k++) reset_node(&trace->nodes[k]);
}

/* ---- Lines ---- */

static void write_out(struct trace *trace)
{
    (void)fwrite(trace->out, 1, trace->out_used, stderr);
    trace->out_used = 0;
}

__attribute__((format(printf, 2, 3)))
static void put(struct trace *trace, const char *format, ...)
{
    va_list arguments;

    if (sizeof trace->out - trace->out_used < LINE_MAX_SIZE) write_out(trace);
    va_start(arguments, format);
    (void)vsnprintf(trace->out + trace->out_used, LINE_MAX_SIZE, format, arguments);
    va_end(arguments);
    trace->out_used += strlen(trace->out + trace->out_used);
}

static void print_line(struct trace *trace, uint64_t now_us, const char *who, const char *text, const char *meaning)
{
    uint64_t since;

    if (trace->began_at == 0) {
        trace->began_at = now_us;
        put(trace, "      ms  node     (> sent, < received, = what came of it)\n");
    }
    if (now_us > trace->last_at) trace->last_at = now_us;   /* Bytes are told a moment after they came. */
    since = trace->last_at - trace->began_at;
    put(trace, "%4" PRIu64 ".%03" PRIu64 "  %s  %-*s%s%s\n", since / 1000, since % 1000, who, *meaning ? WIRE_WIDTH : 0, text,
        *meaning ? "  " : "", meaning);
}

/* The second connection to a node, which hears of releases while somebody waits: "2e". */
static bool is_ear(const struct trace *trace, unsigned k)
{
    return k >= redlock_node_count(trace->client);
}

static void print_node_line(struct trace *trace, uint64_t now_us, unsigned k, char direction, const char *text,
                            const char *meaning)
{
    bool ear = is_ear(trace, k);
    char who[16];

    (void)snprintf(who, sizeof who, "%4u%c %c", k % redlock_node_count(trace->client), ear ? 'e' : ' ', direction);
    print_line(trace, now_us, who, text, meaning);
}

static unsigned count_votes(const struct trace *trace, enum redlock_vote vote)
{
    unsigned count = 0;

    for (unsigned k = 0; k < redlock_node_count(trace->client); k++) count += redlock_vote_of(trace->lock, k) == vote;
    return count;
}

static void print_decided(struct trace *trace, uint64_t now_us, const char *text)
{
    print_line(trace, now_us, "      =", text, "");
}

/* ---- Rounds ---- */

static void print_beginning(struct trace *trace)
{
    const struct redlock_round *round = redlock_last_round(trace->lock);
    char text[TRACE_TEXT_MAX], ttl[48] = "";

    if (round->number == trace->begun) return;
    trace->begun = round->number;
    trace->begun_operation = trace->operation;
    if (round->ttl_ms > 0) (void)snprintf(ttl, sizeof ttl, ", TTL %" PRIu32 " ms", round->ttl_ms);
    (void)snprintf(text, sizeof text, "%s, round %" PRIu32 ": to %u nodes, quorum %u%s", trace->operation, round->number,
                   (unsigned)round->node_count, redlock_quorum(round->node_count), ttl);
    print_decided(trace, round->started_at, text);
}

/* The arithmetic of the algorithm: what is left of the TTL when the quorum has granted. */
static void describe_won(char *text, size_t size, const struct trace *trace, const struct redlock_round *round,
                         unsigned granted)
{
    bool has_ticket = strcmp(trace->begun_operation, "acquire") == 0 && redlock_ticket(trace->lock) > 0;
    char took[TEXT_DURATION_MAX], drift[TEXT_DURATION_MAX], left[TEXT_DURATION_MAX], ticket[32] = "";
    uint64_t took_us = round->decided_at - round->started_at, spent_us = took_us + round->drift_us;
    uint64_t ttl_us = (uint64_t)round->ttl_ms * 1000;

    if (has_ticket) (void)snprintf(ticket, sizeof ticket, ", ticket %" PRIu64, redlock_ticket(trace->lock));
    (void)snprintf(text, size, "%s %u/%u after %s ms: %" PRIu32 " - %s - %s = %s ms valid%s",
                   ttl_us > spent_us ? "won" : "too late,", granted, (unsigned)round->node_count, text_ms(took, took_us),
                   round->ttl_ms, took, text_ms(drift, round->drift_us),
                   ttl_us > spent_us ? text_ms(left, ttl_us - spent_us) : "0", ticket);
}

static void describe_lost(char *text, size_t size, const struct trace *trace, const struct redlock_round *round,
                          unsigned granted)
{
    char took[TEXT_DURATION_MAX];

    (void)snprintf(text, size, "lost %u/%u after %s ms: %u refused, %u unknown, %u not asked, %u pending; quorum %u", granted,
                   (unsigned)round->node_count, text_ms(took, round->decided_at - round->started_at),
                   count_votes(trace, REDLOCK_VOTE_REFUSED), count_votes(trace, REDLOCK_VOTE_UNKNOWN),
                   count_votes(trace, REDLOCK_VOTE_NOT_ASKED), count_votes(trace, REDLOCK_VOTE_PENDING),
                   redlock_quorum(round->node_count));
}

/* Prints the verdict of the lock's last round, once. */
static void print_verdict(struct trace *trace)
{
    const struct redlock_round *round = redlock_last_round(trace->lock);
    unsigned granted = count_votes(trace, REDLOCK_VOTE_GRANTED);
    char text[TRACE_TEXT_MAX];

    if (round->number == 0) return;
    print_beginning(trace);
    if (round->number == trace->judged || round->decided_at == 0) return;
    trace->judged = round->number;
    if (strcmp(trace->operation, "status") == 0) return;
    if (round->ttl_ms == 0) {
        (void)snprintf(text, sizeof text, "released %u/%u", granted, (unsigned)round->node_count);
    } else if (granted >= redlock_quorum(round->node_count)) {
        describe_won(text, sizeof text, trace, round, granted);
    } else {
        describe_lost(text, sizeof text, trace, round, granted);
    }
    print_decided(trace, round->decided_at, text);
}

/* ---- Words ---- */

static void add_text(struct trace_stream *stream, const char *text)
{
    (void)snprintf(stream->text + stream->used, sizeof stream->text - stream->used, "%s", text);
    stream->used += strlen(stream->text + stream->used);
}

static bool is_hex(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (!strchr("0123456789abcdef", data[i]) || data[i] == '\0') return false;
    }
    return size == HEX_SIZE;
}

static void add_word(struct trace_stream *stream, const uint8_t *data, size_t size, bool is_whole)
{
    bool is_short = size <= SHOWN_MAX && is_whole, hex = is_hex(data, size);
    size_t begin = is_short ? size : hex ? HEX_BEGIN : size < SHOWN_MAX ? size : SHOWN_MAX;
    char text[4 * SHOWN_MAX + 1];

    if (stream->used > 0) add_text(stream, " ");
    add_text(stream, size > 0 ? text_printable(text, sizeof text, data, begin) : "\"\"");
    if (is_short) return;
    add_text(stream, "..");
    if (hex) add_text(stream, text_printable(text, sizeof text, data + size - HEX_END, HEX_END));
}

static bool begins_with(const struct resp_item *item, const char *word)
{
    return item->size >= strlen(word) && memcmp(item->data, word, strlen(word)) == 0;
}

static bool is_word(const struct resp_item *item, const char *word)
{
    return item->size == strlen(word) && begins_with(item, word);
}

static enum kind kind_of_script(const struct resp_item *item)
{
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        if (is_word(item, scripts[i].sha1) || begins_with(item, scripts[i].begins)) return scripts[i].kind;
    }
    return KIND_OTHER;
}

static enum kind kind_of(const struct resp_item *item)
{
    if (is_word(item, "AUTH"))                              return KIND_AUTH;
    if (is_word(item, "INFO"))                              return KIND_INFO;
    if (is_word(item, "SCRIPT"))                            return KIND_LOAD;
    if (is_word(item, "SET"))                               return KIND_SET;
    if (is_word(item, "PTTL"))                              return KIND_PTTL;
    if (is_word(item, "EVAL") || is_word(item, "EVALSHA"))  return KIND_SCRIPT;
    if (is_word(item, "SUBSCRIBE"))                         return KIND_SUBSCRIBE;
    return KIND_OTHER;
}

/* ---- Sent ---- */

static const char *purpose_of(enum kind kind)
{
    switch (kind) {
    case KIND_SET:
    case KIND_ACQUIRE:   return "acquire it, if nobody has it";
    case KIND_RESTORE:   return "set it again, if it is missing";
    case KIND_EXTEND:    return "extend it, if it is ours";
    case KIND_RELEASE:   return "release it, if it is ours";
    case KIND_WAIT:      return "stand in line for it";
    case KIND_PTTL:      return "how long will its holder have it?";
    case KIND_SUBSCRIBE: return "hear when our turn has come";
    default:             return "";
    }
}

/* A command is an array of bulk strings. Only the first piece of a long one is shown. */
static void read_command_item(struct trace_stream *stream, const struct resp_item *item)
{
    if (item->type == RESP_ARRAY || !item->first) return;
    if (stream->items++ == 0)              stream->kind = (uint8_t)kind_of(item);
    else if (stream->kind == KIND_SCRIPT)  stream->kind = (uint8_t)kind_of_script(item);
    if (stream->is_secret) return;
    add_word(stream, item->data, item->size, item->last);
    if (stream->kind != KIND_AUTH) return;
    add_text(stream, " ***");
    stream->is_secret = true;
}

static void end_command(struct trace *trace, uint64_t now_us, unsigned k)
{
    struct trace_node *node = &trace->nodes[k];
    enum kind kind = (enum kind)node->sent.kind;
    bool is_held = trace->begun_operation && strcmp(trace->begun_operation, "extend") == 0;

    if (is_held && (kind == KIND_SET || kind == KIND_ACQUIRE)) kind = KIND_RESTORE;
    print_node_line(trace, now_us, k, '>', node->sent.text, purpose_of(kind));
    node->asked[node->end++ % TRACE_ASKED_MAX] =
        (struct trace_asked){ .kind = (uint8_t)kind, .round = redlock_last_round(trace->lock)->number };
}

/* ---- Received ---- */

/* Of INFO's lines those that say who the server is. */
static void end_info_line(struct trace_stream *stream)
{
    static const char *const wanted[] = { "redis_mode:", "server_mode:", "run_id:", "uptime_in_seconds:" };

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t size = strlen(wanted[i]);
        if (stream->line_used < size || memcmp(stream->line, wanted[i], size) != 0) continue;
        if (stream->used > 0) add_text(stream, ", ");
        add_text(stream, wanted[i]);
        add_word(stream, (const uint8_t *)stream->line + size, stream->line_used - size, true);
    }
    stream->line_used = 0;
}

static void add_info(struct trace_stream *stream, const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\n') end_info_line(stream);
        else if (data[i] != '\r' && stream->line_used < sizeof stream->line) stream->line[stream->line_used++] = (char)data[i];
    }
}

static void add_line(struct trace_stream *stream, const struct resp_item *item)
{
    char text[TRACE_TEXT_MAX];

    (void)text_printable(text, sizeof text, item->data, item->size);
    text_cut_echo(text);
    add_text(stream, item->type == RESP_ERROR ? "-" : "+");
    add_text(stream, text);
}

/* Only the first piece of a long one is shown. */
static void add_string(struct trace_stream *stream, const struct resp_item *item, enum kind kind)
{
    if (kind == KIND_INFO && item->type == RESP_BULK) add_info(stream, item->data, item->size);
    else if (!item->first)                            return;
    else if (item->type == RESP_BULK)                 add_word(stream, item->data, item->size, item->last);
    else                                              add_line(stream, item);
}

static void read_reply_item(struct trace_stream *stream, const struct resp_item *item, enum kind kind)
{
    char number[24];

    if (stream->items++ == 0) stream->integer = item->type == RESP_INTEGER ? item->integer : 0;
    switch (item->type) {
    case RESP_SIMPLE:
    case RESP_ERROR:
    case RESP_BULK:
        add_string(stream, item, kind);
        break;
    case RESP_INTEGER:
        (void)snprintf(number, sizeof number, "%s%" PRId64, stream->used > 0 ? " " : ":", item->integer);
        add_text(stream, number);
        break;
    case RESP_NULL_BULK:
    case RESP_NULL_ARRAY:
        add_text(stream, "(nil)");
        break;
    case RESP_ARRAY:
        break;
    }
}

static void describe_pttl(int64_t ms, char *text, size_t size)
{
    char duration[TEXT_DURATION_MAX];

    if (ms >= 0)       (void)snprintf(text, size, "its holder has %s left", text_duration(duration, (uint64_t)ms));
    else if (ms == -1) (void)snprintf(text, size, "the key has no TTL");
    else               (void)snprintf(text, size, "there is no key");
}

/* "counter ms", by the script: the largest ticket there, and the PTTL. What it is not the engine does not accept either. */
static void describe_refusal(const struct trace_asked *asked, const char *reply, char *text, size_t size)
{
    char *behind;
    unsigned long long counter = strtoull(reply, &behind, 10);
    long long ms = strtoll(behind, NULL, 10);

    if (asked->kind == KIND_SET)         (void)snprintf(text, size, "somebody has it");
    else if (asked->kind == KIND_EXTEND) (void)snprintf(text, size, "it is not ours");
    else if (ms != -2)                   describe_pttl(ms, text, size);
    else (void)snprintf(text, size, "it is free, but the ticket must be larger than %llu", counter);
}

static bool is_error(const char *reply, const char *word)
{
    return reply[0] == '-' && strncmp(reply + 1, word, strlen(word)) == 0;
}

static void describe_error(const char *reply, char *text, size_t size)
{
    if (is_error(reply, "NOSCRIPT "))   (void)snprintf(text, size, "it does not know the script, and gets its text");
    else if (is_error(reply, "AHEAD ")) (void)snprintf(text, size, "unknown: the ticket is too far ahead of its clock");
    else                                (void)snprintf(text, size, "unknown");
}

static void describe_vote(const struct trace *trace, unsigned k, const struct trace_asked *asked, const char *reply, char *text,
                          size_t size)
{
    const struct redlock_round *round = redlock_last_round(trace->lock);
    enum redlock_vote vote = redlock_vote_of(trace->lock, k);
    bool is_late = asked->round != round->number || vote == REDLOCK_VOTE_PENDING;
    char why[TRACE_TEXT_MAX / 4 * 3];

    if (is_error(reply, is_late ? "NOSCRIPT " : "")) {
        describe_error(reply, text, size);
    } else if (is_late) {
        (void)snprintf(text, size, "after the verdict");
    } else if (vote == REDLOCK_VOTE_GRANTED) {
        (void)snprintf(text, size, "granted, %u/%u", count_votes(trace, vote), (unsigned)round->node_count);
    } else if (vote == REDLOCK_VOTE_REFUSED) {
        describe_refusal(asked, reply, why, sizeof why);
        (void)snprintf(text, size, "refused%s%s", *why ? ": " : "", why);
    } else {
        (void)snprintf(text, size, "%s", redlock_vote_text(vote));
    }
}

/* It has no vote. */
static void describe_restored(const char *reply, char *text, size_t size)
{
    if (reply[0] == '-') describe_error(reply, text, size);
    else                 (void)snprintf(text, size, "%s", reply[0] == '+' ? "it is there again" : "it is not missing");
}

static const char *describe_release(int64_t answer)
{
    switch (answer) {
    case 2:  return "it was ours, and is removed; who waits longest is told";
    case 1:  return "it was ours, and is removed";
    case 0:  return "nothing was there";
    default: return "another's, and left alone";
    }
}

static void describe_reply(const struct trace *trace, unsigned k, const struct trace_asked *asked,
                           const struct trace_stream *reply, char *text, size_t size)
{
    bool is_number = reply->text[0] == ':';

    text[0] = '\0';
    switch ((enum kind)asked->kind) {
    case KIND_SET:
    case KIND_ACQUIRE:
    case KIND_EXTEND:  describe_vote(trace, k, asked, reply->text, text, size); break;
    case KIND_RESTORE: describe_restored(reply->text, text, size); break;
    case KIND_RELEASE:
    case KIND_WAIT:
    case KIND_PTTL:
        if (is_error(reply->text, ""))          describe_error(reply->text, text, size);
        else if (!is_number)                    text[0] = '\0';
        else if (asked->kind == KIND_RELEASE)   (void)snprintf(text, size, "%s", describe_release(reply->integer));
        else                                    describe_pttl(reply->integer, text, size);
        break;
    case KIND_LOAD:
        if (!is_error(reply->text, "")) (void)snprintf(text, size, "a script's name: its SHA-1");
        break;
    case KIND_OTHER:
        if (is_ear(trace, k) && strncmp(reply->text, "message ", 8) == 0) (void)snprintf(text, size, "our turn has come");
        break;
    default:           break;
    }
}

static void end_reply(struct trace *trace, uint64_t now_us, unsigned k)
{
    struct trace_node *node = &trace->nodes[k];
    struct trace_asked asked = { KIND_OTHER, 0 };
    char meaning[TRACE_TEXT_MAX];

    if (node->first != node->end) asked = node->asked[node->first++ % TRACE_ASKED_MAX];
    describe_reply(trace, k, &asked, &node->received, meaning, sizeof meaning);
    print_node_line(trace, now_us, k, '<', node->received.text, meaning);
}

/* ---- Bytes ---- */

static enum kind kind_awaited(const struct trace_node *node)
{
    return node->first == node->end ? KIND_OTHER : (enum kind)node->asked[node->first % TRACE_ASKED_MAX].kind;
}

static void read_item(struct trace *trace, uint64_t now_us, unsigned k, bool is_sent, const struct resp_item *item)
{
    struct trace_node *node = &trace->nodes[k];
    struct trace_stream *stream = is_sent ? &node->sent : &node->received;

    if (is_sent) read_command_item(stream, item);
    else         read_reply_item(stream, item, kind_awaited(node));
    if (!item->ends_reply) return;
    if (is_sent) end_command(trace, now_us, k);
    else         end_reply(trace, now_us, k);
    stream->items = 0;
    stream->is_secret = false;
    stream->used = 0;
    stream->text[0] = '\0';
}

/* What lies in the window, as far as it is complete. What is no RESP is not shown: the engine closes the connection. */
static void read_window(struct trace *trace, uint64_t now_us, unsigned k, bool is_sent)
{
    struct trace_stream *stream = is_sent ? &trace->nodes[k].sent : &trace->nodes[k].received;
    enum resp_status status;

    do {
        struct resp_item item;
        size_t consumed;
        status = resp_parse(&stream->parser, stream->window, stream->have, stream->have == TRACE_WINDOW, &consumed, &item);
        if (status == RESP_OK) read_item(trace, now_us, k, is_sent, &item);
        stream->have -= consumed;
        memmove(stream->window, stream->window + consumed, stream->have);
    } while (status == RESP_OK);
    if (status != RESP_MORE) stream->have = 0;
}

static void read_bytes(struct trace *trace, uint64_t now_us, unsigned k, bool is_sent, const uint8_t *data, size_t size)
{
    struct trace_stream *stream = is_sent ? &trace->nodes[k].sent : &trace->nodes[k].received;

    while (size > 0) {
        size_t room = TRACE_WINDOW - stream->have;
        size_t taken = size < room ? size : room;
        memcpy(stream->window + stream->have, data, taken);
        stream->have += taken;
        data += taken;
        size -= taken;
        read_window(trace, now_us, k, is_sent);
    }
}

void trace_traffic(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what, const void *data, size_t size)
{
    struct trace *trace = context;
    const char *address = redlock_node_address(trace->client, k % redlock_node_count(trace->client));
    char text[REDLOCK_ADDRESS_MAX + TRACE_TEXT_MAX + 2], printable[TRACE_TEXT_MAX];

    if (redlock_last_round(trace->lock)->number > 0) print_beginning(trace);
    switch (what) {
    case REDLOCK_CONNECTED:
        (void)snprintf(text, sizeof text, "connected to %s%s", address, is_ear(trace, k) ? ", to hear of releases" : "");
        print_node_line(trace, now_us, k, '=', text, "");
        break;
    case REDLOCK_DISCONNECTED:
        (void)text_printable(printable, sizeof printable, data ? data : "", data ? size : 0);
        text_cut_echo(printable);
        (void)snprintf(text, sizeof text, "%s: %s", address, printable);
        print_node_line(trace, now_us, k, '=', text, "");
        reset_node(&trace->nodes[k]);
        break;
    case REDLOCK_SENT:
    case REDLOCK_RECEIVED:
        read_bytes(trace, now_us, k, what == REDLOCK_SENT, data, size);
        break;
    }
    print_verdict(trace);
}

void trace_flush(struct trace *trace)
{
    print_verdict(trace);
    write_out(trace);
}
