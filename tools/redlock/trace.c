#include "trace.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outbox.h"
#include "print.h"
#include "text.h"

enum {
    /* Bytes of a word that are shown: of a fair lock's refusal all; but for ... */
    SHOWN_MAX = 32,
    /* tokens, run_ids and SHA-1s: long and alike, so their two ends are enough. */
    HEX_SIZE = 40,
    HEX_BEGIN = 6,
    HEX_END = 2,
    WIRE_WIDTH = 40,        /* Of the column for commands and replies. */
    LINE_MAX_SIZE = 1024
};

static const struct resp_limits limits = {
    .line_max = SIZE_MAX, .bulk_max = RESP_BULK_MAX, .elements_max = UINT32_MAX,
    .depth_max = RESP_DEPTH_MAX
};

static void reset_stream(struct trace_stream *stream)
{
    memset(stream, 0, sizeof *stream);
    resp_parser_init(&stream->parser, &limits);
}

static void reset_session(struct trace_session *session, bool is_blind)
{
    reset_stream(&session->sent);
    reset_stream(&session->received);
    session->first = session->end;
    session->is_blind = is_blind;
}

void trace_begin(struct trace *trace, struct redlock_client *client, enum trace_mode mode)
{
    assert(mode != TRACE_NOTHING);
    memset(trace, 0, sizeof *trace);
    trace->client = client;
    trace->node_count = client->engine.node_count;
    trace->mode = mode;
    trace->receiving = TRACE_SESSIONS_MAX;
    for (unsigned k = 0; k < TRACE_SESSIONS_MAX; k++) reset_session(&trace->sessions[k], false);
    redlock_use_events(&client->engine, &trace->events, trace->ring, TRACE_EVENTS);
}

/* ---- Lines ---- */

static void write_out(struct trace *trace)
{
    if (trace->out_used > 0) (void)outbox_put(OUTLET_STDERR, trace->out, trace->out_used, 0);
    trace->out_used = 0;
}

PRINT_LIKE(2, 3) static void put(struct trace *trace, const char *format, ...)
{
    va_list arguments;

    assert(trace->out_used <= sizeof trace->out);
    if (sizeof trace->out - trace->out_used < LINE_MAX_SIZE) write_out(trace);
    va_start(arguments, format);
    (void)print_text_list(trace->out + trace->out_used, LINE_MAX_SIZE, format, arguments);
    va_end(arguments);
    trace->out_used += strlen(trace->out + trace->out_used);
}

static void print_line(struct trace *trace, uint64_t at_us, const char *origin, const char *text,
                       const char *meaning)
{
    uint64_t since;

    assert(text && meaning);
    if (trace->began_at == 0) {
        trace->began_at = at_us;
        put(trace, "      ms  node     (> sent, < received, = what came of it)\n");
    }
    /* Bytes are told a moment after they left. */
    if (at_us > trace->last_at) trace->last_at = at_us;
    since = trace->last_at - trace->began_at;
    put(trace, "%4" PRIu64 ".%03" PRIu64 "  %s  %-*s%s%s\n", since / 1000, since % 1000, origin,
        *meaning ? WIRE_WIDTH : 0, text, *meaning ? "  " : "", meaning);
}

/* The second connection to a node, which hears of releases while somebody waits: "2e". */
static bool is_subscription(const struct trace *trace, unsigned k)
{
    return k >= trace->node_count;
}

static void print_node_line(struct trace *trace, uint64_t at_us, unsigned k, char direction,
                            const char *text, const char *meaning)
{
    char origin[16];

    assert(k < TRACE_SESSIONS_MAX);
    (void)print_text(origin, sizeof origin, "%4u%c %c", k % trace->node_count,
                     is_subscription(trace, k) ? 'e' : ' ', direction);
    print_line(trace, at_us, origin, text, meaning);
}

static void print_decided(struct trace *trace, uint64_t at_us, const char *text)
{
    print_line(trace, at_us, "      =", text, "");
}

static unsigned count_of(uint16_t nodes)
{
    unsigned count = 0;

    for (; nodes != 0; nodes >>= 1) count += nodes & 1;
    return count;
}

/* ---- Sessions ---- */

/* Why session k is in trouble, without what an error repeats of a command. */
static const char *describe_session(const struct trace *trace, unsigned k, uint64_t at_us,
                                    char text[TRACE_TEXT_MAX])
{
    char words[TRACE_TEXT_MAX / 2] = "";

    if (trace->client) redlock_describe_node(&trace->client->engine, k, at_us, words, sizeof words);
    (void)text_printable(text, TRACE_TEXT_MAX, words, strlen(words));
    text_cut_echo(text);
    return text;
}

static const char *address_of(const struct trace *trace, unsigned k)
{
    assert(trace->node_count > 0);
    return trace->client ? redlock_node_address(trace->client, k % trace->node_count) : "";
}

static void print_connected(struct trace *trace, const struct redlock_event *event)
{
    char text[REDLOCK_ADDRESS_MAX + TRACE_TEXT_MAX];

    assert(event->session < TRACE_SESSIONS_MAX);
    reset_session(&trace->sessions[event->session], false);
    if (trace->mode == TRACE_VOTES) return;
    (void)print_text(text, sizeof text, "connected to %s%s", address_of(trace, event->session),
                     is_subscription(trace, event->session) ? ", to hear of releases" : "");
    print_node_line(trace, event->at_us, event->session, '=', text, "");
}

static void print_disconnected(struct trace *trace, const struct redlock_event *event)
{
    char text[REDLOCK_ADDRESS_MAX + TRACE_TEXT_MAX + 2], why[TRACE_TEXT_MAX];
    bool was_needed = event->as.trouble != REDLOCK_TROUBLE_NEW;

    assert(event->session < TRACE_SESSIONS_MAX);
    (void)print_text(text, sizeof text, "%s: %s", address_of(trace, event->session),
                     was_needed ? describe_session(trace, event->session, event->at_us, why)
                                : "no longer needed");
    if (was_needed || trace->mode == TRACE_ALL)
        print_node_line(trace, event->at_us, event->session, '=', text, "");
    reset_session(&trace->sessions[event->session], false);
}

/* The handshake of a node, not of a subscription, says who it is. */
static void print_ready(struct trace *trace, const struct redlock_event *event)
{
    const uint8_t *run_id =
        trace->client ? redlock_view_node(&trace->client->engine, event->session,
                                          redlock_now_us()).run_id : NULL;
    char text[2 * TRACE_TEXT_MAX], state[TRACE_TEXT_MAX], id[48] = "";

    if (is_subscription(trace, event->session) || trace->mode == TRACE_VOTES) return;
    if (run_id)
        (void)print_text(id, sizeof id, ", run_id %02x%02x%02x..%02x", run_id[0], run_id[1],
                         run_id[2], run_id[REDLOCK_RUN_ID_SIZE - 1]);
    (void)print_text(text, sizeof text, "ready: %s%s%s",
                     describe_session(trace, event->session, event->at_us, state), id,
                     event->as.is_new_server || !run_id ? "" : " as before");
    print_node_line(trace, event->at_us, event->session, '=', text, "");
}

/* ---- Rounds ---- */

static const char *name_of(enum redlock_phase phase)
{
    switch (phase) {
    case REDLOCK_PHASE_ACQUIRING:  return "acquire";
    case REDLOCK_PHASE_EXTENDING:  return "extend";
    case REDLOCK_PHASE_RELEASING:  return "release";
    case REDLOCK_PHASE_INSPECTING: return "status";
    default:                       return NULL;
    }
}

static void print_beginning(struct trace *trace, const struct redlock_event *event)
{
    const struct redlock_event_phase *phase = &event->as.phase;
    const char *name = name_of(phase->phase);
    char text[TRACE_TEXT_MAX], ttl[48] = "";

    if (!name) return;
    trace->round = event->round;
    trace->not_asked = trace->unknown = 0;
    trace->extends = phase->phase == REDLOCK_PHASE_EXTENDING;
    if (phase->ttl_ms > 0) (void)print_text(ttl, sizeof ttl, ", TTL %" PRIu32 " ms", phase->ttl_ms);
    (void)print_text(text, sizeof text, "%s, round %" PRIu32 ": to %u nodes, quorum %u%s", name,
                     event->round, trace->node_count, redlock_quorum(trace->node_count), ttl);
    print_decided(trace, event->at_us, text);
}

/* Nodes that have no vote in the round are told once. */
static void print_not_asked(struct trace *trace, const struct redlock_event *event)
{
    uint16_t news =
        event->round == trace->round ? (uint16_t)(event->not_asked & ~trace->not_asked) : 0;
    char text[2 * TRACE_TEXT_MAX], why[TRACE_TEXT_MAX];

    trace->not_asked |= news;
    for (unsigned k = 0; k < trace->node_count; k++) {
        if (!(news >> k & 1)) continue;
        if (strcmp(describe_session(trace, k, event->at_us, why), "ok") == 0 && trace->extends)
            (void)print_text(why, sizeof why, "it has not granted the lock");
        (void)print_text(text, sizeof text, "not asked: %s", why);
        print_node_line(trace, event->at_us, k, '=', text, "");
    }
}

/* Those that were asked and let the time of the round pass; what an error or a lost connection
 * makes unknown was told with that. */
static void print_silent(struct trace *trace, const struct redlock_event *event)
{
    for (unsigned k = 0; k < trace->node_count; k++)
        if ((event->unknown & ~trace->unknown) >> k & 1)
            print_node_line(trace, event->at_us, k, '=',
                            "unknown: asked, but no answer in time; it may have been done", "");
}

/* The arithmetic of the algorithm: what is left of the TTL when the quorum has granted. */
static void describe_won(char *text, size_t size, const struct trace *trace,
                         const struct redlock_event *event)
{
    const struct redlock_event_verdict *verdict = &event->as.verdict;
    char took[TEXT_DURATION_MAX], drift[TEXT_DURATION_MAX], left[TEXT_DURATION_MAX],
        ticket[32] = "";

    assert(size > 0);
    if (verdict->ticket > 0 && event->command == REDLOCK_COMMAND_ACQUIRE)
        (void)print_text(ticket, sizeof ticket, ", ticket %" PRIu64, verdict->ticket);
    (void)print_text(text, size, "%s %u/%u: %" PRIu32 " - %s elapsed - %s drift = %s ms valid%s",
                     verdict->status == REDLOCK_OK ? "won" : "too late,", count_of(event->granted),
                     trace->node_count, verdict->ttl_ms, text_ms(took, verdict->elapsed_us),
                     text_ms(drift, verdict->drift_us), text_ms(left, verdict->validity_us),
                     ticket);
}

/* Pending votes may still be grants, but no longer enough of them. */
static void describe_lost(char *text, size_t size, const struct trace *trace,
                          const struct redlock_event *event)
{
    unsigned refused = count_of(event->refused), unknown = count_of(event->unknown),
             not_asked = count_of(event->not_asked);
    unsigned granted = count_of(event->granted),
             pending = trace->node_count - granted - refused - unknown - not_asked;
    char took[TEXT_DURATION_MAX];

    assert(size > 0);
    (void)print_text(text, size,
                     "lost after %s ms: %u granted, %u refused, %u unknown, %u not asked, %u "
                     "pending: %u of %u at most, quorum %u",
                     text_ms(took, event->as.verdict.elapsed_us), granted, refused, unknown,
                     not_asked, pending, granted + pending, trace->node_count,
                     redlock_quorum(trace->node_count));
}

static void print_verdict(struct trace *trace, const struct redlock_event *event)
{
    bool has_quorum = count_of(event->granted) >= redlock_quorum(trace->node_count);
    char text[TRACE_TEXT_MAX];

    assert(trace->node_count > 0);
    print_not_asked(trace, event);
    print_silent(trace, event);
    if (has_quorum) describe_won(text, sizeof text, trace, event);
    else            describe_lost(text, sizeof text, trace, event);
    print_decided(trace, event->at_us, text);
    trace->verdict = event->as.verdict.status;
}

/* How a release ended; and an acquire, when it ended otherwise than its last round. */
static void print_ended(struct trace *trace, const struct redlock_event *event)
{
    enum redlock_status status = event->as.status;
    char text[TRACE_TEXT_MAX];

    if (event->command == REDLOCK_COMMAND_RELEASE) {
        (void)print_text(text, sizeof text, "released %u/%u", count_of(event->granted),
                         trace->node_count);
        print_decided(trace, event->at_us, text);
    } else if (event->command == REDLOCK_COMMAND_ACQUIRE && status != REDLOCK_OK &&
               status != trace->verdict) {
        print_decided(trace, event->at_us, redlock_status_text(status));
    }
}

/* ---- Words ---- */

static void add_text(struct trace_stream *stream, const char *text)
{
    assert(stream->used < sizeof stream->text);
    while (*text != '\0' && stream->used < sizeof stream->text - 1)
        stream->text[stream->used++] = *text++;
    stream->text[stream->used] = '\0';
}

static bool is_hex(const uint8_t data[HEX_SIZE])
{
    for (size_t i = 0; i < HEX_SIZE; i++)
        if (!strchr("0123456789abcdef", data[i]) || data[i] == '\0') return false;
    return true;
}

static size_t line_size(const uint8_t *data, size_t size)
{
    const uint8_t *end = memchr(data, '\r', size);

    assert(data);
    return end ? (size_t)(end - data) : size;
}

/* Printable, and cut to so many bytes. */
static void add_bytes(struct trace_stream *stream, const uint8_t *data, size_t size)
{
    char text[4 * SHOWN_MAX + 1];

    assert(size <= SHOWN_MAX);
    add_text(stream, text_printable(text, sizeof text, data, size));
}

/* Of a long word the beginning; of several lines the first. */
static void add_plain(struct trace_stream *stream, const uint8_t *data, size_t size, bool is_whole)
{
    size_t line = line_size(data, size);
    bool is_short = line <= SHOWN_MAX && line == size && is_whole;

    add_bytes(stream, data, line < SHOWN_MAX ? line : SHOWN_MAX);
    if (!is_short) add_text(stream, "..");
}

/* A token may have its holder behind it. */
static void add_word(struct trace_stream *stream, const uint8_t *data, size_t size, bool is_whole)
{
    bool has_hex = size >= HEX_SIZE && is_hex(data) && (size == HEX_SIZE || data[HEX_SIZE] == ' ');

    if (has_hex) {
        add_bytes(stream, data, HEX_BEGIN);
        add_text(stream, "..");
        add_bytes(stream, data + HEX_SIZE - HEX_END, HEX_END);
        data += HEX_SIZE;
        size -= HEX_SIZE;
    }
    if (size > 0)      add_plain(stream, data, size, is_whole);
    else if (!has_hex) add_text(stream, "\"\"");
}

static void add_line(struct trace_stream *stream, const struct resp_item *item)
{
    char text[TRACE_TEXT_MAX];

    (void)text_printable(text, sizeof text, item->data, item->size);
    text_cut_echo(text);
    add_text(stream, item->type == RESP_ERROR ? "-" : "+");
    add_text(stream, text);
}

static void add_number(struct trace_stream *stream, int64_t integer)
{
    char number[24];

    (void)print_text(number, sizeof number, "%s%" PRId64, stream->words > 1 ? "" : ":", integer);
    add_text(stream, number);
}

static void add_value(struct trace_stream *stream, const struct resp_item *item)
{
    switch (item->type) {
    case RESP_SIMPLE:
    case RESP_ERROR:      add_line(stream, item); break;
    case RESP_INTEGER:    add_number(stream, item->integer); break;
    case RESP_NULL_BULK:
    case RESP_NULL_ARRAY: add_text(stream, "(nil)"); break;
    default:              add_word(stream, item->data, item->size, item->last); break;
    }
}

enum { WORD_SCRIPT = 1, WORD_COUNT, WORD_KEYS };    /* Of EVAL and EVALSHA: by number. */

/* Where those of permits have their number those of shared locks say of each resource whether it is
 * shared ("s") or not ("x"), and to acquire one when the client came; a poll of a fair lock has its
 * place there, and its release, which ends so, the word that the next client is to be called. */
static const char *name_argument(struct trace_stream *stream, unsigned number,
                                 const struct resp_item *item)
{
    const char *name = redlock_argument_name(stream->command, number - WORD_KEYS - stream->keys);

    assert(number >= WORD_KEYS + stream->keys);
    if (stream->is_of_shared)
        return stream->command == REDLOCK_COMMAND_ACQUIRE && name ? "arrived" : NULL;
    if (!name || *name != 'p' || item->size == 0) return name;      /* permits */
    stream->is_of_shared = *item->data == 's' || *item->data == 'x';
    stream->is_of_fair = memchr(item->data, ' ', item->size) != NULL;
    if (stream->is_of_shared) return "modes";
    if (stream->is_of_fair)   return "turn,round,renews,entry";
    return stream->command == REDLOCK_COMMAND_RELEASE && number + 1 == stream->count ? "calls-next"
                                                                                     : name;
}

/* A script is shown by its name, and its arguments with theirs: EVALSHA acquire 1 door
 * token=5f3a12..9c ttl=10000 */
static void add_word_of_script(struct trace_stream *stream, unsigned number,
                               const struct resp_item *item)
{
    const char *name = NULL;

    if (number == WORD_SCRIPT) {
        add_text(stream, redlock_script_name(stream->command));
        return;
    }
    /* CR LF end it. */
    if (number == WORD_COUNT) stream->keys = (unsigned)strtoul((const char *)item->data, NULL, 10);
    if (number >= WORD_KEYS + stream->keys) name = name_argument(stream, number, item);
    if (name) add_text(stream, name);
    if (name) add_text(stream, "=");
    add_value(stream, item);
}

/* Only the first piece of a long one is shown. Of AUTH the words are secret. */
static void add_item(struct trace_stream *stream, const struct resp_item *item)
{
    unsigned number = stream->words;
    bool is_secret = stream->command == REDLOCK_COMMAND_AUTH;

    if (item->type == RESP_ARRAY) {
        stream->count = (unsigned)item->integer;
        return;
    }
    if (!item->first) return;
    stream->words++;
    if (is_secret && number > 0) return;
    if (number > 0) add_text(stream, " ");
    if (stream->form != REDLOCK_FORM_PLAIN) add_word_of_script(stream, number, item);
    else                                    add_value(stream, item);
    if (is_secret) add_text(stream, " ***");
}

static void begin_message(struct trace_stream *stream)
{
    stream->words = stream->keys = 0;
    stream->is_of_shared = stream->is_of_fair = false;
    stream->used = 0;
    stream->text[0] = '\0';
}

/* Reads one more command or reply: true when the text has it. Takes what it has read off bytes.
 * What is no RESP ends in nothing: the engine closes the connection. */
static bool read_message(struct trace_stream *stream, const uint8_t **bytes, size_t *size)
{
    for (;;) {
        size_t room = TRACE_WINDOW - stream->have, taken = *size < room ? *size : room, consumed;
        struct resp_item item;
        enum resp_status status;

        memcpy(stream->window + stream->have, *bytes, taken);
        stream->have += taken;
        *bytes += taken;
        *size -= taken;
        status = resp_parse(&stream->parser, stream->window, stream->have,
                            stream->have == TRACE_WINDOW, &consumed, &item);
        if (status == RESP_OK) add_item(stream, &item);
        stream->have -= consumed;
        memmove(stream->window, stream->window + consumed, stream->have);
        if (status == RESP_OK && item.ends_reply) return true;
        if (status == RESP_MORE && *size > 0) continue;
        if (status != RESP_OK) return false;
    }
}

/* ---- Sent ---- */

/* A waiter for Redisson's lock only asks how long it lasts. */
static const char *purpose_of(const struct trace_stream *stream)
{
    bool is_plain_wait =
        stream->command == REDLOCK_COMMAND_WAIT && stream->form == REDLOCK_FORM_PLAIN;

    switch (is_plain_wait ? REDLOCK_COMMAND_PTTL : stream->command) {
    case REDLOCK_COMMAND_SUBSCRIBE: return "hear when our turn has come";
    case REDLOCK_COMMAND_ACQUIRE:
        return stream->is_of_fair ? "acquire it in our turn" : "acquire it, if it is free";
    case REDLOCK_COMMAND_RESTORE:   return "set it again, if it is missing";
    case REDLOCK_COMMAND_EXTEND:    return "extend it, if it is ours";
    case REDLOCK_COMMAND_RELEASE:   return "release it, if it is ours";
    case REDLOCK_COMMAND_WAIT:      return "stand in line for it";
    case REDLOCK_COMMAND_PTTL:      return "how long will its holder have it?";
    case REDLOCK_COMMAND_GETRANGE:  return "whose token is there?";
    case REDLOCK_COMMAND_QUESTION:  return "may we? no vote";
    default:                        return "";
    }
}

static bool is_shown(const struct trace *trace, enum redlock_command command)
{
    bool is_handshake = command != REDLOCK_COMMAND_NONE && command < REDLOCK_COMMAND_ACQUIRE;

    return trace->mode == TRACE_ALL || !is_handshake;
}

/* Its words are printed when they leave: in the order of the events. */
static void note_sent(struct trace *trace, const struct redlock_event *event)
{
    struct trace_session *session = &trace->sessions[event->session];

    assert(event->session < TRACE_SESSIONS_MAX);
    print_not_asked(trace, event);
    session->asked[session->end++ % TRACE_SENT_MAX] = (struct trace_sent){
        (uint8_t)event->command, (uint8_t)event->as.message.form
    };
}

static void read_sent(struct trace *trace, uint64_t now_us, unsigned k, const uint8_t *bytes,
                      size_t size)
{
    struct trace_session *session = &trace->sessions[k];
    struct trace_stream *stream = &session->sent;

    assert(k < TRACE_SESSIONS_MAX);
    while (!session->is_blind && session->first != session->end) {
        struct trace_sent asked = session->asked[session->first % TRACE_SENT_MAX];
        stream->command = (enum redlock_command)asked.command;
        stream->form = (enum redlock_form)asked.form;
        if (!read_message(stream, &bytes, &size)) return;
        if (is_shown(trace, stream->command))
            print_node_line(trace, now_us, k, '>', stream->text, purpose_of(stream));
        begin_message(stream);
        session->first++;
    }
}

/* ---- Received ---- */

/* What an answer means is a text of its own, or is written into one. */
static const char *describe_pttl(int64_t ms, char text[TRACE_TEXT_MAX])
{
    char duration[TEXT_DURATION_MAX];

    if (ms == -1) return "the key has no TTL";
    if (ms < 0)   return "there is no key";
    (void)print_text(text, TRACE_TEXT_MAX, "its holder has %s left",
                     text_duration(duration, (uint64_t)ms));
    return text;
}

/* Only a script tells of the holder, or of the largest ticket. */
static const char *describe_refusal(const struct redlock_event *event, char text[TRACE_TEXT_MAX])
{
    int64_t number = event->as.message.number;
    uint64_t ticket = event->as.message.ticket;

    if (event->command == REDLOCK_COMMAND_EXTEND) return "it is not ours";
    if (number == 0 && ticket == 0)               return "somebody has it";
    if (number != -2)                             return describe_pttl(number, text);
    (void)print_text(text, TRACE_TEXT_MAX,
                     "it is free, but the ticket must be larger than %" PRIu64, ticket);
    return text;
}

static const char *describe_error(const struct redlock_event *event)
{
    const struct redlock_event_message *message = &event->as.message;
    bool is_vote =
        event->command == REDLOCK_COMMAND_ACQUIRE || event->command == REDLOCK_COMMAND_EXTEND;

    if (message->trouble == REDLOCK_TROUBLE_NOSCRIPT && message->form == REDLOCK_FORM_BY_SHA1)
        return "it does not know the script, and gets its text";
    if (message->trouble == REDLOCK_TROUBLE_AHEAD)
        return "unknown: the ticket is too far ahead of its clock";
    return is_vote && message->vote == REDLOCK_VOTE_PENDING ? "too late for its round" : "unknown";
}

/* The reply to a poll of a fair lock goes on behind the ticket and the time: with the last turn in
 * its queue, and the rank. */
static const char *describe_refused(const char *reply, const char *why, char text[TRACE_TEXT_MAX])
{
    const char *left = strchr(reply, ' '), *turn = left ? strchr(left + 1, ' ') : NULL;
    const char *names = turn ? "; last turn, before us (-1: all):" : "";

    assert(reply && why);
    (void)print_text(text, TRACE_TEXT_MAX, "refused: %.99s%s%.32s", why, names, turn ? turn : "");
    return text;
}

static const char *describe_vote(const struct trace *trace, const struct redlock_event *event,
                                 char text[TRACE_TEXT_MAX])
{
    enum redlock_vote vote = event->as.message.vote;
    char why[TRACE_TEXT_MAX];

    if (vote == REDLOCK_VOTE_REFUSED)
        return describe_refused(trace->sessions[event->session].received.text,
                                describe_refusal(event, why), text);
    if (vote != REDLOCK_VOTE_GRANTED)
        return vote == REDLOCK_VOTE_PENDING ? "too late for its round" : "unknown";
    (void)print_text(text, TRACE_TEXT_MAX, "granted, %u/%u", count_of(event->granted),
                     trace->node_count);
    return text;
}

static const char *describe_release(int64_t answer)
{
    switch (answer) {
    case 2:  return "it was ours, and is removed; a waiting client is told";
    case 1:  return "it was ours, and is removed";
    case 0:  return "nothing was there";
    default: return "another's, and left alone";
    }
}

/* Of one that is no error. */
static const char *describe_answer(const struct trace *trace, const struct redlock_event *event,
                                   char text[TRACE_TEXT_MAX])
{
    const struct redlock_event_message *message = &event->as.message;

    switch (event->command) {
    case REDLOCK_COMMAND_LOAD_RELEASE:
    case REDLOCK_COMMAND_LOAD_EXTEND: return "a script's name: its SHA-1";
    case REDLOCK_COMMAND_ACQUIRE:
    case REDLOCK_COMMAND_EXTEND:      return describe_vote(trace, event, text);
    case REDLOCK_COMMAND_RESTORE:
        return message->answer == REDLOCK_ANSWER_GRANTED ? "it is there again"
                                                         : "it is not missing";
    case REDLOCK_COMMAND_RELEASE:     return describe_release(message->number);
    case REDLOCK_COMMAND_WAIT:
    case REDLOCK_COMMAND_PTTL:        return describe_pttl(message->number, text);
    default:                          return "";
    }
}

/* An answer is told with its words, which end in the bytes at hand. */
static void print_heard(struct trace *trace, const struct redlock_event *event)
{
    struct trace_session *session = &trace->sessions[event->session];
    struct trace_stream *stream = &session->received;
    bool is_of_lock = event->command >= REDLOCK_COMMAND_ACQUIRE;
    enum redlock_answer answer = event->as.message.answer;
    char text[TRACE_TEXT_MAX];
    const char *meaning = "";

    assert(event->session < TRACE_SESSIONS_MAX);
    if (event->round == trace->round) trace->unknown = event->unknown;
    if (session->is_blind || event->session != trace->receiving) return;
    if (!read_message(stream, &trace->bytes, &trace->size)) return;
    if (answer == REDLOCK_ANSWER_WRONG)      meaning = "no answer to that";
    else if (answer != REDLOCK_ANSWER_ERROR) meaning = describe_answer(trace, event, text);
    else if (is_of_lock)                     meaning = describe_error(event);
    if (is_shown(trace, event->command))
        print_node_line(trace, event->at_us, event->session, '<', stream->text, meaning);
    begin_message(stream);
}

/* ---- Events and bytes ---- */

static void print_event(struct trace *trace, const struct redlock_event *event)
{
    switch (event->kind) {
    case REDLOCK_EVENT_CONNECTED:    print_connected(trace, event); break;
    case REDLOCK_EVENT_READY:        print_ready(trace, event); break;
    case REDLOCK_EVENT_DISCONNECTED: print_disconnected(trace, event); break;
    case REDLOCK_EVENT_SENT:         note_sent(trace, event); break;
    case REDLOCK_EVENT_HEARD:        print_heard(trace, event); break;
    case REDLOCK_EVENT_PHASE:        print_beginning(trace, event); break;
    case REDLOCK_EVENT_VERDICT:      print_verdict(trace, event); break;
    case REDLOCK_EVENT_ENDED:        print_ended(trace, event); break;
    case REDLOCK_EVENT_WOKEN:
        print_node_line(trace, event->at_us, event->session, '=', "our turn has come", "");
        break;
    case REDLOCK_EVENT_UNANSWERED:
        if (event->round == trace->round) trace->unknown = event->unknown;
        if (event->as.message.vote == REDLOCK_VOTE_UNKNOWN)
            print_node_line(trace, event->at_us, event->session, '=',
                            "no answer: unknown, it may have been done", "");
        break;
    default:                         break;
    }
}

/* Bytes whose events are lost are not shown: which of them are secret is not known. */
static void note_lost(struct trace *trace)
{
    uint64_t lost = trace->events.lost - trace->lost;
    char text[TRACE_TEXT_MAX];

    if (lost == 0) return;
    trace->lost += lost;
    (void)print_text(text, sizeof text,
                     "%" PRIu64 " events lost: what passes is not shown until the next connection",
                     lost);
    print_decided(trace, trace->last_at, text);
    for (unsigned k = 0; k < TRACE_SESSIONS_MAX; k++) reset_session(&trace->sessions[k], true);
}

static void print_events(struct trace *trace)
{
    struct redlock_event event;

    while (redlock_next_event(&trace->events, &event)) {
        print_event(trace, &event);
        if (trace->news) news_take(trace->news, &event);
    }
    note_lost(trace);
}

static void read_received(struct trace *trace, unsigned k, const uint8_t *bytes, size_t size)
{
    assert(k < TRACE_SESSIONS_MAX);
    trace->receiving = k;
    trace->bytes = bytes;
    trace->size = size;
    print_events(trace);
    if (!trace->sessions[k].is_blind)
        (void)read_message(&trace->sessions[k].received, &trace->bytes, &trace->size);
    trace->receiving = TRACE_SESSIONS_MAX;
}

void trace_traffic(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what,
                   const void *data, size_t size)
{
    struct trace *trace = context;

    assert(context);
    if (what == REDLOCK_RECEIVED) read_received(trace, k, data, size);
    else                          print_events(trace);
    if (what == REDLOCK_SENT)     read_sent(trace, now_us, k, data, size);
}

void trace_flush(struct trace *trace)
{
    print_events(trace);
    write_out(trace);
}

void trace_end(struct trace *trace)
{
    trace->client = NULL;
    trace_flush(trace);
}
