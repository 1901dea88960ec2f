#include "world.h"

#include "../../redlock/lock.h"
#include "../world/decoder.h"
#include "model.h"
#include "ticket.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 12, HANDSHAKE_MAX = 4096, TICK_US = TICK_MS * 1000 };

static const char resource[] = "r";

static void fail(const char *why)
{
    fprintf(stderr, "explore: %s\n", why);
    abort();
}

unsigned token_number(const uint8_t *token)
{
    return token[0];
}

/* ---- Commands, as they come out of an engine ---- */

struct word {
    const char *text;
    size_t size;
};

/* Reads one command; returns its size, or 0 when there is none, or not all of it. */
static size_t read_command(const uint8_t *data, size_t size, struct word words[WORDS_MAX])
{
    static const struct resp_limits limits = {
        .bulk_max = HANDSHAKE_MAX, .elements_max = WORDS_MAX, .depth_max = 1
    };
    struct resp_parser parser;
    struct resp_item item = { 0 };
    size_t used = 0, consumed;

    memset(words, 0, WORDS_MAX * sizeof words[0]);
    resp_parser_init(&parser, &limits);
    for (unsigned i = 0; !item.ends_reply; i++) {
        enum resp_status status =
            resp_parse(&parser, data + used, size - used, true, &consumed, &item);
        if (status == RESP_MORE) return 0;
        if (status != RESP_OK) fail("not a command");
        used += consumed;
        if (i > 0) words[i - 1] = (struct word){ (const char *)item.data, item.size };
    }
    return used;
}

static bool is_word(struct word word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.text, text, word.size) == 0;
}

static uint64_t read_number(struct word word)
{
    uint64_t number = 0;

    for (size_t i = 0; i < word.size; i++) number = number * 10 + (uint64_t)(word.text[i] - '0');
    return number;
}

static uint8_t read_ticks(struct word word)
{
    return (uint8_t)(read_number(word) / TICK_MS);
}

static uint8_t read_token(struct word word)
{
    uint8_t token[REDLOCK_TOKEN_SIZE];

    if (!wire_token_read(word.text, word.size, token)) fail("not a token");
    return (uint8_t)token_number(token);
}

/* Which script for shared locks is it? A lock that has changed its role names its other token. A
 * command that sets a key again goes before all that wait. */
static void understand_shared(struct command *command, enum row row, const struct word *arguments)
{
    struct word modes = row == ROW_SHARED_ACQUIRE ? arguments[5] : arguments[2], none = { 0 };
    struct word other = row == ROW_SHARED_ACQUIRE  ? none
                        : row == ROW_SHARED_EXTEND ? arguments[3]
                                                   : arguments[2];

    command->role = ROLE_READER;
    if (row != ROW_SHARED_RELEASE && !is_word(modes, "s")) command->role = ROLE_WRITER;
    if (row == ROW_SHARED_ACQUIRE && is_word(arguments[6], "0"))
        command->kind = REDLOCK_COMMAND_RESTORE;
    if (other.size > 0) command->other = read_token(other);
}

static void understand_permit(struct command *command, enum row row, const struct word *arguments)
{
    unsigned slot = row == ROW_PERMIT_EXTEND || row == ROW_PERMIT_RELEASE ? 3 : 6;

    command->role = ROLE_PERMIT;
    if (row == ROW_PERMIT_EXTEND || row == ROW_PERMIT_RESTORE)
        command->slot = (uint8_t)read_number(arguments[slot]);
}

/* "turn round renew entry" */
static void understand_fair(struct command *command, const struct word *arguments)
{
    unsigned turn, poll, renews;
    char text[80] = "";

    command->role = ROLE_FAIR;
    if (command->kind != REDLOCK_COMMAND_ACQUIRE) return;
    if (arguments[5].size >= sizeof text) fail("a place that is too long");
    memcpy(text, arguments[5].text, arguments[5].size);
    if (sscanf(text, "%u %u %u ", &turn, &poll, &renews) != 3 || turn >= UINT8_MAX ||
        poll >= POLL_CLOSED || renews > 1)
        fail("a place out of range");
    command->turn = (uint8_t)turn;
    command->poll = (uint8_t)poll;
    command->renews = renews == 1;
}

static struct command understand(const struct word words[WORDS_MAX], uint16_t now)
{
    bool is_script = is_word(words[0], "EVALSHA");
    const struct word name = words[is_script], *arguments = words + (is_script ? 4 : 2);
    enum row row =
        row_by_name(is_script ? REDLOCK_FORM_BY_SHA1 : REDLOCK_FORM_PLAIN, name.text, name.size);
    struct command command = { .sent_at = now };

    if (row == ROW_COUNT) fail("a command that is in no row of the table");
    command.kind = (uint8_t)row_at(row).command;
    if (row != ROW_PTTL) command.token = read_token(arguments[0]);
    switch (row) {
    case ROW_SHARED_ACQUIRE:
    case ROW_SHARED_EXTEND:
    case ROW_SHARED_RELEASE: understand_shared(&command, row, arguments); break;
    case ROW_PERMIT_ACQUIRE:
    case ROW_PERMIT_RESTORE:
    case ROW_PERMIT_EXTEND:
    case ROW_PERMIT_RELEASE: understand_permit(&command, row, arguments); break;
    case ROW_FAIR_ACQUIRE:
    case ROW_FAIR_RESTORE:
    case ROW_FAIR_EXTEND:
    case ROW_FAIR_RELEASE:   understand_fair(&command, arguments); break;
    case ROW_ACQUIRE:
    case ROW_RESTORE:
    case ROW_EXTEND:
    case ROW_SET:
    case ROW_RELEASE:
    case ROW_PTTL:           break;
    default:                 fail("a command that no node of this world knows");
    }
    if (row == ROW_SET)              command.ttl = read_ticks(arguments[3]);
    else if (command.kind != REDLOCK_COMMAND_RELEASE && row != ROW_PTTL)
        command.ttl = read_ticks(arguments[1]);
    if (row == ROW_ACQUIRE || row == ROW_RESTORE || row == ROW_FAIR_ACQUIRE ||
        row == ROW_FAIR_RESTORE)
        command.ticket = ticket_number(read_number(arguments[2]));
    return command;
}

/* ---- Links ---- */

static void take_first_command(struct link *link)
{
    link->command_count--;
    memmove(link->commands, link->commands + 1, link->command_count * sizeof link->commands[0]);
    memset(&link->commands[link->command_count], 0, sizeof link->commands[0]);
}

static struct reply take_first_answer(struct link *link)
{
    struct reply answer = link->answers[0];

    link->answer_count--;
    memmove(link->answers, link->answers + 1, link->answer_count * sizeof link->answers[0]);
    memset(&link->answers[link->answer_count], 0, sizeof link->answers[0]);
    return answer;
}

static void take_stale(struct link *link, unsigned i)
{
    link->stale_count--;
    memmove(link->stale + i, link->stale + i + 1, (link->stale_count - i) * sizeof link->stale[0]);
    memset(&link->stale[link->stale_count], 0, sizeof link->stale[0]);
}

static uint64_t rank(const struct command *command)
{
    uint64_t place = (uint64_t)command->turn << 16 | (uint64_t)command->poll << 8 | command->renews;
    unsigned what = (unsigned)command->kind << 4 | command->role,
             with = (unsigned)command->slot << 4 | command->ttl;

    return place << 32 | (unsigned)command->token << 24 | (unsigned)command->other << 16 |
           what << 8 | with;
}

/* Stale commands are executed in any order, or never, so they are kept sorted. Two releases of one
 * token do no more than one, since the one that comes before the SET, or second, does nothing. */
static bool add_stale(struct link *link, const struct command *command)
{
    unsigned i = 0;

    while (i < link->stale_count && rank(&link->stale[i]) < rank(command)) i++;
    if (i < link->stale_count && command->kind == REDLOCK_COMMAND_RELEASE &&
        rank(&link->stale[i]) == rank(command))
        return true;
    if (link->stale_count == STALE_MAX) return false;
    memmove(link->stale + i + 1, link->stale + i, (link->stale_count - i) * sizeof link->stale[0]);
    link->stale[i] = *command;
    link->stale[i].sent_at = 0;     /* Long ago, whenever it was. */
    link->stale_count++;
    return true;
}

static bool is_set(const struct command *command)
{
    return command->kind == REDLOCK_COMMAND_ACQUIRE || command->kind == REDLOCK_COMMAND_RESTORE;
}

static unsigned tokens_named(const struct command *command)
{
    return token_bit(command->token) | token_bit(command->other);
}

static unsigned tokens_on(const struct model *node, unsigned c)
{
    unsigned tokens = 0;

    for (unsigned i = 0; i < PERMITS_MAX; i++)
        if (token_client(node->keys[i].token) == c) tokens |= token_bit(node->keys[i].token);
    for (unsigned i = 0; i < READERS_MAX; i++)
        if (token_client(node->readers[i].token) == c) tokens |= token_bit(node->readers[i].token);
    for (unsigned i = 0; i < QUEUE_MAX; i++)
        if (token_client(node->queue[i].token) == c) tokens |= token_bit(node->queue[i].token);
    return tokens;
}

/* With what is there already, what may this command put there? A new role brings a new token. */
static unsigned tokens_brought(const struct command *command, unsigned tokens)
{
    if (is_set(command)) return token_bit(command->token);
    return command->kind == REDLOCK_COMMAND_EXTEND && (tokens_named(command) & tokens)
               ? token_bit(command->token)
               : 0;
}

/* The tokens of the client that are on the node, or may come there. */
static unsigned tokens_to_come(const struct world *w, unsigned c, unsigned k)
{
    const struct link *link = &w->links[c][k];
    unsigned tokens = tokens_on(&w->nodes[k], c), before;

    do {
        before = tokens;
        for (unsigned i = 0; i < link->command_count; i++)
            tokens |= tokens_brought(&link->commands[i], tokens);
        for (unsigned i = 0; i < link->stale_count; i++)
            tokens |= tokens_brought(&link->stale[i], tokens);
    } while (tokens != before);
    return tokens;
}

/* A command that could not do anything any more, whenever it is executed. A script that compares
 * does nothing with a token that is not there and cannot come. */
static bool is_futile(const struct world *w, const struct bounds *bounds, unsigned c, unsigned k,
                      const struct command *command)
{
    if (command->kind == REDLOCK_COMMAND_PTTL) return true;
    if (bounds->distrust) return false;
    if (is_set(command) || !model_compares()) return false;
    return !(tokens_named(command) & tokens_to_come(w, c, k));
}

static void drop_futile(struct world *w, const struct bounds *bounds, unsigned c, unsigned k)
{
    struct link *link = &w->links[c][k];

    for (unsigned i = 0; i < link->stale_count;) {
        if (is_futile(w, bounds, c, k, &link->stale[i])) take_stale(link, i);
        else i++;
    }
}

/* The connection is gone. Its answers will not be read, and its commands may still be executed if
 * they are kept. */
static void break_link(struct world *w, const struct bounds *bounds, unsigned c, unsigned k,
                       bool keeps)
{
    struct link *link = &w->links[c][k];

    for (unsigned i = 0; keeps && i < link->command_count; i++)
        if (!is_futile(w, bounds, c, k, &link->commands[i]) && !add_stale(link, &link->commands[i]))
            w->is_full = true;
    memset(link->commands, 0, sizeof link->commands);
    memset(link->answers, 0, sizeof link->answers);
    link->command_count = link->answer_count = 0;
    link->is_open = link->is_broken = false;
}

/* ---- Clients ---- */

static void receive(struct world *w, unsigned c, unsigned k, const char *text)
{
    struct client *client = &w->clients[c];
    size_t left = strlen(text), room;

    while (left > 0) {
        uint8_t *input = redlock_input(&client->engine, k, &room);
        size_t size = left < room ? left : room;
        memcpy(input, text, size);
        text += size;
        left -= size;
        redlock_received(&client->engine, k, size, world_now_us(w));
    }
    memset(client->nodes[k].receive, 0, REDLOCK_RECEIVE_MIN);   /* Read bytes are no state. */
}

/* A SET that belongs to no attempt. An extension was won, and a key is set again. That must be
 * before the old validity ends. */
static void check_restore(struct world *w, const struct client *client,
                          const struct command *command)
{
    if (!is_set(command) || client->lock.round.command != REDLOCK_COMMAND_EXTEND) return;
    if (w->now >= client->promised_until)
        w->breach = "a key was set again when the old validity had ended";
}

/* Nobody would remove a place that is polled for after the release. */
static void check_release(struct world *w, struct link *link, const struct command *command)
{
    if (is_set(command) && link->released & tokens_named(command))
        w->breach = "a poll was sent behind the release of its token";
    if (command->kind == REDLOCK_COMMAND_RELEASE) link->released |= (uint16_t)tokens_named(command);
}

/* Puts into the link the bytes that the engine has to send. Bytes that have left are no state. */
static bool transmit(struct world *w, unsigned c, unsigned k)
{
    struct client *client = &w->clients[c];
    struct link *link = &w->links[c][k];
    struct word words[WORDS_MAX];
    size_t size, used, at = 0;
    const uint8_t *bytes = redlock_output(&client->engine, k, &size);

    while ((used = read_command(bytes + at, size - at, words)) > 0) {
        struct command command = understand(words, w->now);
        if (link->command_count == COMMANDS_MAX) fail("more commands than the pipeline holds");
        check_restore(w, client, &command);
        check_release(w, link, &command);
        ticket_sent(w, c, &command);
        if (!link->is_broken) link->commands[link->command_count++] = command;
        at += used;
    }
    redlock_sent(&client->engine, k, size);
    redlock_output(&client->engine, k, &used);
    memset(client->nodes[k].send, 0, size);
    return size > 0;
}

/* Answered commands are no state. */
static void scrub(struct client *client, unsigned k)
{
    struct redlock_node *node = &client->nodes[k];

    node->reply = (struct redlock_reply){ 0 };
    for (unsigned i = node->asked_count; i < PIPELINE; i++)
        node->asked[(node->asked_first + i) % PIPELINE] = (struct redlock_asked){ 0 };
}

/* Sends to all nodes before it closes one, so that it makes no difference which of
 * them is which. */
static bool transmit_all(struct world *w, const struct bounds *bounds, unsigned c)
{
    bool is_busy = false;

    for (unsigned k = 0; k < bounds->nodes; k++)
        if (redlock_wants(&w->clients[c].engine, k) & REDLOCK_WANT_SEND)
            is_busy |= transmit(w, c, k);
    return is_busy;
}

static bool close_what_is_given_up(struct world *w, const struct bounds *bounds, unsigned c)
{
    bool is_busy = false;

    for (unsigned k = 0; k < bounds->nodes; k++) {
        if (!(redlock_wants(&w->clients[c].engine, k) & REDLOCK_WANT_CLOSE)) continue;
        break_link(w, bounds, c, k, bounds->late >= 2);
        redlock_disconnected(&w->clients[c].engine, k, NULL, world_now_us(w));
        is_busy = true;
    }
    return is_busy;
}

/* Does what a transport does at once (close, send). It also acts as a caller, fetching results and
 * looking at the clock. */
static void serve(struct world *w, const struct bounds *bounds, unsigned c)
{
    struct client *client = &w->clients[c];
    bool is_busy = true;

    while (is_busy) {
        is_busy = transmit_all(w, bounds, c);
        is_busy |= close_what_is_given_up(w, bounds, c);
        if (!bounds->pauses && redlock_wake_at(&client->engine) <= world_now_us(w)) {
            redlock_tick(&client->engine, world_now_us(w));
            is_busy = true;
        }
    }
    while (redlock_next_done(&client->engine)) { }
    for (unsigned k = 0; k < bounds->nodes; k++) scrub(client, k);
    /* Delays are drawn anew from the same state; within a tick they are alike. */
    client->engine.dice = 1;
}

/* An attempt was refused, but not because of its ticket. */
static const char *refusal_of(const struct reply *answer)
{
    return answer->role == ROLE_PLAIN ? "$-1\r\n" : "$3\r\n0 1\r\n";
}

/* Without tickets it makes no difference why it was refused. */
static void say_place(const struct bounds *bounds, const struct reply *answer, char *text,
                      size_t size)
{
    char words[48];
    bool is_free = bounds->tickets && !answer->is_taken;

    snprintf(words, sizeof words, "%llu %d %u %d", (unsigned long long)ticket_of(answer->counter),
             is_free ? -2 : 1, answer->turn, answer->rank);
    snprintf(text, size, "$%zu\r\n%s\r\n", strlen(words), words);
}

static void say(const struct bounds *bounds, const struct reply *answer, char *text, size_t size)
{
    const char *said = answer->done ? ":1\r\n" : answer->others ? ":-1\r\n" : ":0\r\n";

    if (answer->kind == REDLOCK_COMMAND_ACQUIRE && answer->role == ROLE_FAIR && !answer->done &&
        !answer->is_ahead) {
        say_place(bounds, answer, text, size);
        return;
    }
    if (answer->kind == REDLOCK_COMMAND_ACQUIRE && bounds->tickets) {
        ticket_say(answer, text, size);
        return;
    }
    if (answer->kind == REDLOCK_COMMAND_ACQUIRE)
        said = answer->done ? "+OK\r\n" : refusal_of(answer);
    if (answer->kind == REDLOCK_COMMAND_RESTORE)
        said = answer->done ? "+OK\r\n" : "$5\r\ntaken\r\n";
    if (answer->kind == REDLOCK_COMMAND_RESTORE && answer->is_ahead)
        said = "-AHEAD of the clock\r\n";
    if (answer->slot > 0) snprintf(text, size, ":%u\r\n", answer->slot);
    else                  snprintf(text, size, "%s", said);
}

static void deliver(struct world *w, const struct bounds *bounds, unsigned c, unsigned k)
{
    struct reply answer = take_first_answer(&w->links[c][k]);
    struct client *client = &w->clients[c];
    char text[64];

    if (answer.kind == REDLOCK_COMMAND_ACQUIRE && bounds->tickets) {
        bool is_current = ring_at(client, k, 0)->round == client->lock.round.number;
        if (client->is_acquiring && is_current && answer.counter > client->known)
            client->known = answer.counter;
        if (client->is_acquiring && is_current && answer.is_ahead) client->was_ahead = true;
    }
    say(bounds, &answer, text, sizeof text);
    receive(w, c, k, text);
    serve(w, bounds, c);
}

static void execute_next(struct world *w, const struct bounds *bounds, unsigned c, unsigned k)
{
    struct link *link = &w->links[c][k];
    struct command command = link->commands[0];

    take_first_command(link);
    link->answers[link->answer_count++] = model_execute(w, bounds, k, &command, true);
}

/* PTTL reads only, and is asked after a refusal, when nothing else is under way, so it is answered
 * in the same moment. */
static void answer_questions(struct world *w, const struct bounds *bounds, unsigned c)
{
    for (unsigned k = 0; k < bounds->nodes; k++) {
        struct link *link = &w->links[c][k];
        while (link->command_count > 0 && link->commands[0].kind == REDLOCK_COMMAND_PTTL)
            execute_next(w, bounds, c, k);
        while (link->answer_count > 0 && link->answers[0].kind == REDLOCK_COMMAND_PTTL)
            deliver(w, bounds, c, k);
    }
}

/* ---- Clients that are out ---- */

/* Can it never hold the lock again? */
static bool is_past(const struct world *w, const struct client *client)
{
    const struct redlock_lock *lock = &client->lock;

    if (client->attempts > 0 || lock->phase == REDLOCK_PHASE_WAITING) return false;
    if (lock->phase == REDLOCK_PHASE_ACQUIRING || lock->phase == REDLOCK_PHASE_EXTENDING)
        return false;
    return redlock_valid_us(lock, world_now_us(w)) == 0;
}

/* Only the sent commands that could do harm stay. */
static void take_out(struct world *w, const struct bounds *bounds, unsigned c)
{
    w->clients[c].is_out = true;
    /* It may have waited for random bytes, which do not come. */
    w->clients[c].is_acquiring = false;
    for (unsigned k = 0; k < bounds->nodes; k++) {
        struct link *link = &w->links[c][k];
        break_link(w, bounds, c, k, true);
        for (unsigned i = 0; i < link->stale_count;) {
            if (link->stale[i].kind == REDLOCK_COMMAND_RELEASE) take_stale(link, i);
            else i++;
        }
    }
}

/* One that has failed leaves a reader as it was. */
static void end_upgrade(struct world *w, unsigned c, enum redlock_status status)
{
    struct client *client = &w->clients[c];
    bool is_valid = redlock_valid_us(&client->lock, world_now_us(w)) > 0,
         reads = redlock_view_lock(&client->lock).is_shared;

    client->is_upgrading = false;
    if (status == REDLOCK_OK && reads)
        w->breach = "an upgrade was granted, and its client still reads";
    if (status != REDLOCK_OK && (!reads || (!is_valid && w->now < client->promised_until)))
        w->breach = "an upgrade that failed has taken from the reader what it had";
}

static void finish_step(struct world *w, const struct bounds *bounds, unsigned c)
{
    struct client *client = &w->clients[c];
    enum redlock_status status;

    serve(w, bounds, c);
    answer_questions(w, bounds, c);
    status = redlock_lock_status(&client->lock);
    if (client->is_acquiring && status != REDLOCK_PENDING) {
        client->is_acquiring = false;
        if (status == REDLOCK_OK) ticket_win(w, c);
    }
    if (client->is_upgrading && status != REDLOCK_PENDING) end_upgrade(w, c, status);
    if (bounds->brief && is_past(w, &w->clients[c])) take_out(w, bounds, c);
}

/* ---- The handshake ---- */

static void answer_handshake(struct world *w, unsigned c, unsigned k,
                             const struct word words[WORDS_MAX])
{
    char info[160], text[200];

    snprintf(
        info, sizeof info,
        "run_id:%038x%02x\r\nuptime_in_seconds:1000000\r\nredis_mode:standalone\r\nrole:master\r\n",
        k + 1, w->nodes[k].crashes);
    if (is_word(words[0], "CLIENT"))    strcpy(text, "+OK\r\n");
    else if (is_word(words[0], "INFO"))
        snprintf(text, sizeof text, "$%zu\r\n%s\r\n", strlen(info), info);
    else if (is_word(words[1], "return")) strcpy(text, "$-1\r\n");
    else if (is_word(words[2], WIRE_EXTEND_SCRIPT))
        snprintf(text, sizeof text, "$40\r\n%s\r\n", WIRE_EXTEND_SHA1);
    else snprintf(text, sizeof text, "$40\r\n%s\r\n", WIRE_RELEASE_SHA1);
    receive(w, c, k, text);
}

/* Takes all that the engine has to send now, which may come in pieces, since a script is sent from
 * where it lies. */
static size_t take_output(struct redlock *engine, unsigned k, uint8_t bytes[HANDSHAKE_MAX])
{
    size_t size, total = 0;
    const uint8_t *output;

    while (output = redlock_output(engine, k, &size), size > 0) {
        if (size > HANDSHAKE_MAX - total) fail("a handshake that is too long");
        memcpy(bytes + total, output, size);
        total += size;
        redlock_sent(engine, k, size);
    }
    return total;
}

/* The whole handshake is one event, since nothing of a lock is on the connection during it. */
static void finish_handshake(struct world *w, unsigned c, unsigned k)
{
    struct client *client = &w->clients[c];
    struct link *link = &w->links[c][k];

    redlock_connected(&client->engine, k, world_now_us(w));
    while (client->nodes[k].state == NODE_HANDSHAKE) {
        uint8_t bytes[HANDSHAKE_MAX];
        struct word words[WORDS_MAX];
        size_t used, size = take_output(&client->engine, k, bytes);
        if (size == 0) fail("the handshake does not go on");
        for (size_t at = 0; (used = read_command(bytes + at, size - at, words)) > 0; at += used)
            answer_handshake(w, c, k, words);
    }
    memset(client->nodes[k].send, 0, REDLOCK_SEND_MIN(8));
    link->is_open = true;
}

/* ---- Setting up ---- */

/* Tokens are drawn from the end, so the last one has the number 0. They differ in one byte only, so
 * that snapshots are small. */
static void give_tokens(struct client *client, unsigned c, unsigned count)
{
    uint8_t token[REDLOCK_TOKEN_SIZE] = { 0 };

    for (unsigned i = 0; i < count; i++) {
        token[0] = (uint8_t)(16 * (c + 1) + i);
        redlock_add_entropy(&client->engine, token, sizeof token);
    }
}

static void init_client(struct world *w, const struct bounds *bounds, unsigned c)
{
    struct client *client = &w->clients[c];
    struct redlock_config config;

    redlock_config_init(&config);
    config.guard_ms = bounds->guard * TICK_MS;
    config.drift_ppm = bounds->drift_ppm;
    config.node_timeout_ms = bounds->timeout_ms;
    config.retry_ms = 1;
    config.ticket_skew_ms = bounds->skew > 0 ? bounds->skew * TICK_MS : 1;
    config.resource_max = 8;
    config.pipeline = PIPELINE;
    config.send_size = REDLOCK_SEND_MIN(8);
    config.receive_size = REDLOCK_RECEIVE_MIN;
    if (redlock_init(&client->engine, &config, client->nodes, bounds->nodes, client->memory,
                     sizeof client->memory, world_now_us(w)) != REDLOCK_OK)
        fail("redlock_init");
    redlock_use(&client->engine, &redlock_tickets);
    redlock_use(&client->engine, &redlock_sets);
    redlock_use(&client->engine, &redlock_restore);
    redlock_use(&client->engine, &redlock_wake_ups);
    redlock_lock_init(&client->lock);
    give_tokens(client, c, tokens_of(bounds, c));
    client->attempts = (uint8_t)bounds->attempts[c];
    client->extensions = (uint8_t)bounds->extensions[c];
    client->upgrades = (uint8_t)bounds->upgrades[c];
    client->downgrades = (uint8_t)bounds->downgrades[c];
    redlock_tick(&client->engine, world_now_us(w));
    for (unsigned k = 0; k < bounds->nodes; k++) finish_handshake(w, c, k);
    serve(w, bounds, c);
}

void world_init(struct world *w, const struct bounds *bounds)
{
    memset(w, 0, sizeof *w);
    w->losses = (uint8_t)bounds->losses;
    w->crashes = (uint8_t)bounds->crashes;
    w->cancels = (uint8_t)bounds->cancels;
    w->deaths = (uint8_t)bounds->deaths;
    for (unsigned k = 0; k < bounds->nodes; k++) w->nodes[k].gains = (uint8_t)bounds->gains;
    for (unsigned c = 0; c < clients_of(bounds); c++) init_client(w, bounds, c);
}

/* ---- What may happen ---- */

struct list {
    struct event *events;
    unsigned count;
};

static void list_add(struct list *list, enum event_kind kind, unsigned c, unsigned k,
                     unsigned which)
{
    if (list->count == EVENTS_MAX) fail("too many events");
    list->events[list->count++] = (struct event){
        (uint8_t)kind, (uint8_t)c, (uint8_t)k, (uint8_t)which
    };
}

/* A role in which no quorum knows the lock is not changed before an extension, for instance after
 * an upgrade that was given up. */
static bool is_known_to_quorum(const struct redlock_lock *lock, unsigned nodes)
{
    unsigned known = 0;

    for (unsigned k = 0; k < nodes; k++)
        known += lock->stakes[k].state == STAKE_PLACED &&
                 memcmp(lock->stakes[k].token, lock->token, sizeof lock->token) == 0;
    return known > nodes / 2;
}

static void list_acts(struct list *list, const struct world *w, const struct bounds *bounds,
                      unsigned c)
{
    const struct client *client = &w->clients[c];
    bool is_valid = redlock_valid_us(&client->lock, world_now_us(w)) > 0;
    bool is_pending = redlock_lock_status(&client->lock) == REDLOCK_PENDING;
    bool was_won =
        client->lock.phase == REDLOCK_PHASE_HELD || client->lock.phase == REDLOCK_PHASE_EXTENDING;
    bool reads = redlock_view_lock(&client->lock).is_shared;
    bool may_change = !is_pending && is_valid && is_known_to_quorum(&client->lock, bounds->nodes);

    if (bounds->pauses && redlock_wake_at(&client->engine) <= world_now_us(w))
        list_add(list, EVENT_WAKE, c, 0, 0);
    if (!is_pending && !is_valid && client->attempts > 0) list_add(list, EVENT_ACQUIRE, c, 0, 0);
    if (!is_pending && is_valid && client->extensions > 0) list_add(list, EVENT_EXTEND, c, 0, 0);
    if (may_change && reads && client->upgrades > 0) list_add(list, EVENT_UPGRADE, c, 0, 0);
    if (may_change && !reads && client->downgrades > 0) list_add(list, EVENT_DOWNGRADE, c, 0, 0);
    if (was_won) list_add(list, EVENT_RELEASE, c, 0, 0);
    if (is_pending && w->cancels > 0) list_add(list, EVENT_CANCEL, c, 0, 0);
    if (w->deaths > 0 && client->lock.phase != REDLOCK_PHASE_IDLE)
        list_add(list, EVENT_DIE, c, 0, 0);
}

static void list_link(struct list *list, const struct world *w, unsigned c, unsigned k)
{
    const struct link *link = &w->links[c][k];

    if (link->command_count > 0) list_add(list, EVENT_EXECUTE, c, k, 0);
    if (link->answer_count > 0) list_add(list, EVENT_ANSWER, c, k, 0);
    if (link->is_open && (link->is_broken || w->losses > 0)) list_add(list, EVENT_LOSE, c, k, 0);
    if (redlock_wants(&w->clients[c].engine, k) & REDLOCK_WANT_CONNECT)
        list_add(list, EVENT_CONNECT, c, k, 0);
}

static void list_left_behind(struct list *list, const struct world *w, unsigned c, unsigned k)
{
    unsigned tokens = tokens_on(&w->nodes[k], c);

    for (unsigned i = 0; tokens >> i != 0; i++)
        if (tokens >> i & 1) list_add(list, EVENT_VANISH, c, k, 16 * (c + 1) + i);
}

unsigned world_events(const struct world *w, const struct bounds *bounds,
                      struct event events[EVENTS_MAX])
{
    struct list list = { events, 0 };

    for (unsigned c = 0; c < clients_of(bounds); c++) {
        if (!w->clients[c].is_out) list_acts(&list, w, bounds, c);
        for (unsigned k = 0; k < bounds->nodes; k++) {
            if (!w->clients[c].is_out) list_link(&list, w, c, k);
            else                       list_left_behind(&list, w, c, k);
            for (unsigned i = 0; i < w->links[c][k].stale_count; i++)
                list_add(&list, EVENT_STALE, c, k, i);
        }
    }
    for (unsigned k = 0; k < bounds->nodes; k++) {
        bool has_keys = w->nodes[k].keys[0].token != 0 || w->nodes[k].keys[1].token != 0;
        if (w->crashes > 0)                         list_add(&list, EVENT_CRASH, 0, k, 0);
        if (w->nodes[k].gains > 0 && has_keys)      list_add(&list, EVENT_GAIN, 0, k, 0);
    }
    list_add(&list, EVENT_TIME, 0, 0, 0);
    return list.count;
}

/* ---- Letting it happen ---- */

bool world_is_queued(const struct world *w, const struct bounds *bounds, unsigned c)
{
    const struct client *client = &w->clients[c];
    unsigned count = 0;

    if (client->is_out || (client->lock.phase != REDLOCK_PHASE_ACQUIRING &&
                           client->lock.phase != REDLOCK_PHASE_WAITING)) return false;
    for (unsigned k = 0; k < bounds->nodes; k++)
        count += model_queues(&w->nodes[k], token_number(client->lock.token));
    return count >= bounds->nodes / 2 + 1;
}

/* S25: these may not be passed. */
static void get_behind(struct world *w, const struct bounds *bounds, unsigned c)
{
    for (unsigned other = 0; other < clients_of(bounds); other++)
        if (other != c && world_is_queued(w, bounds, other))
            w->clients[c].behind[other] = (uint8_t)token_number(w->clients[other].lock.token);
}

/* A client that has lost its place, or left, may be passed. Has one been that may not? */
static void look_who_passes(struct world *w, const struct bounds *bounds, unsigned c)
{
    struct client *client = &w->clients[c];

    for (unsigned other = 0; other < clients_of(bounds); other++) {
        bool is_same = client->behind[other] == token_number(w->clients[other].lock.token);
        if (client->behind[other] == 0) continue;
        if (!is_same || !world_is_queued(w, bounds, other)) client->behind[other] = 0;
        else if (client->lock.phase == REDLOCK_PHASE_HELD)
            w->order_breach = "a client has passed one that was queued before it began";
    }
    if (client->lock.phase == REDLOCK_PHASE_HELD || client->lock.phase == REDLOCK_PHASE_IDLE)
        memset(client->behind, 0, sizeof client->behind);
}

static const struct redlock_kind *kind_of(const struct bounds *bounds, unsigned c)
{
    if (bounds->permits > 0) return &redlock_permits;
    if (bounds->fair)        return &redlock_fair;
    return bounds->reads[c] ? &redlock_shared : &redlock_plain;
}

static void acquire(struct world *w, const struct bounds *bounds, unsigned c)
{
    struct client *client = &w->clients[c];
    struct redlock_request request = {
        .resource = resource,
        .resource_size = sizeof resource - 1,
        .ttl_ms = bounds->ttl * TICK_MS,
        .wait_ms = bounds->wait * TICK_MS,
        .ticket = bounds->tickets,
        .kind = kind_of(bounds, c),
        .permits = (uint8_t)bounds->permits,
        .wall_us = (uint64_t)ticket_clock(w, bounds->walls[c]) * TICK_US,
    };

    client->attempts = bounds->wait && !bounds->fair ? 0 : (uint8_t)(client->attempts - 1);
    client->lost = 0;
    if (bounds->tickets) ticket_begin(w, c);
    if (redlock_start_acquire(&client->engine, &client->lock, &request, world_now_us(w)) !=
        REDLOCK_OK)
        w->breach = "redlock_start_acquire refuses an idle lock";
    if (bounds->fair) get_behind(w, bounds, c);
}

static void extend(struct world *w, const struct bounds *bounds, unsigned c)
{
    struct client *client = &w->clients[c];

    client->extensions--;
    client->promised_until = (uint16_t)(w->now + world_valid_ticks(w, c));
    if (redlock_start_extend(&client->engine, &client->lock, bounds->extend_ttl * TICK_MS,
                             world_now_us(w)) != REDLOCK_OK)
        w->breach = "redlock_start_extend refuses a lock that is held";
}

/* A change of role goes out as text, for nodes that do not know the script. These know all. */
static void send_by_sha1(struct client *client)
{
    for (unsigned k = 0; k < NODES_MAX; k++)
        if (client->lock.stakes[k].want == REDLOCK_COMMAND_EXTEND)
            client->lock.stakes[k].form = REDLOCK_FORM_BY_SHA1;
}

static void change(struct world *w, unsigned c, bool is_upgrade)
{
    struct client *client = &w->clients[c];
    enum redlock_status status;

    client->promised_until = (uint16_t)(w->now + world_valid_ticks(w, c));
    if (is_upgrade) {
        client->is_upgrading = true;
        client->upgrades--;
        status = redlock_start_upgrade(&client->engine, &client->lock, world_now_us(w));
    } else {
        client->downgrades--;
        status = redlock_start_downgrade(&client->engine, &client->lock, world_now_us(w));
    }
    if (status != REDLOCK_OK) w->breach = "a lock that is held may not change its role";
    send_by_sha1(client);
}

static void release(struct world *w, unsigned c)
{
    struct client *client = &w->clients[c];

    client->is_upgrading = false;
    if (redlock_start_release(&client->engine, &client->lock, world_now_us(w)) != REDLOCK_OK)
        w->breach = "redlock_start_release refuses a lock that was won";
}

bool world_protects(const struct world *w, unsigned c, unsigned k)
{
    const struct redlock_lock *lock = &w->clients[c].lock;
    const struct model *node = &w->nodes[k];
    bool is_reader = lock->name.shared || redlock_view_lock(lock).is_shared;

    if (token_number(lock->token) == 0) return false;
    if (lock->permit.slot > 0)
        return node->keys[lock->permit.slot - 1].token == token_number(lock->token);
    if (lock->permit.count > 0) return model_has(node, token_number(lock->token));
    if (!is_reader) return node->keys[0].token == token_number(lock->token);
    return tokens_on(node, c) != 0;
}

static void crash(struct world *w, const struct bounds *bounds, unsigned k)
{
    for (unsigned c = 0; c < clients_of(bounds); c++) {
        struct link *link = &w->links[c][k];
        struct client *client = &w->clients[c];
        if (world_protects(w, c, k) && !bounds->keeps) client->lost |= (uint16_t)(1u << k);
        memset(link->commands, 0, sizeof link->commands);
        memset(link->stale, 0, sizeof link->stale);
        link->command_count = link->stale_count = 0;
        link->is_broken = link->is_open;
    }
    w->crashes--;
    w->nodes[k].crashes++;
    if (bounds->keeps) return;
    model_clear(&w->nodes[k]);
}

static void lose(struct world *w, const struct bounds *bounds, unsigned c, unsigned k)
{
    if (!w->links[c][k].is_broken) w->losses--;
    break_link(w, bounds, c, k, bounds->late >= 1);
    redlock_disconnected(&w->clients[c].engine, k, NULL, world_now_us(w));
}

static void execute_stale(struct world *w, const struct bounds *bounds, unsigned c, unsigned k,
                          unsigned i)
{
    struct command command = w->links[c][k].stale[i];

    take_stale(&w->links[c][k], i);
    model_execute(w, bounds, k, &command, false);
}

static void pass_time(struct world *w, const struct bounds *bounds)
{
    w->now++;
    model_expire(w, bounds->nodes);
    for (unsigned c = 0; c < clients_of(bounds); c++) {
        if (w->clients[c].is_out) continue;
        if (!bounds->pauses) redlock_tick(&w->clients[c].engine, world_now_us(w));
        finish_step(w, bounds, c);
    }
}

static void gain_of(struct key *key)
{
    if (key->token != 0) key->expires_at--;
    key->is_prompt = false;
}

static void gain(struct world *w, const struct bounds *bounds, unsigned k)
{
    w->nodes[k].gains--;
    for (unsigned i = 0; i < PERMITS_MAX; i++) gain_of(&w->nodes[k].keys[i]);
    for (unsigned i = 0; i < READERS_MAX; i++) gain_of(&w->nodes[k].readers[i]);
    for (unsigned i = 0; i < QUEUE_MAX; i++)
        if (w->nodes[k].queue[i].token != 0) w->nodes[k].queue[i].until--;
    model_expire(w, bounds->nodes);
}

static void apply_to_client(struct world *w, const struct bounds *bounds, struct event e)
{
    struct redlock *engine = &w->clients[e.client].engine;

    switch ((enum event_kind)e.kind) {
    case EVENT_WAKE:    redlock_tick(engine, world_now_us(w)); break;
    case EVENT_ACQUIRE: acquire(w, bounds, e.client); break;
    case EVENT_EXTEND:  extend(w, bounds, e.client); break;
    case EVENT_UPGRADE: change(w, e.client, true); break;
    case EVENT_DOWNGRADE: change(w, e.client, false); break;
    case EVENT_RELEASE: release(w, e.client); break;
    case EVENT_CANCEL:
        w->cancels--;
        redlock_cancel(engine, &w->clients[e.client].lock, world_now_us(w));
        break;
    case EVENT_ANSWER:  deliver(w, bounds, e.client, e.node); break;
    case EVENT_LOSE:    lose(w, bounds, e.client, e.node); break;
    case EVENT_CONNECT: finish_handshake(w, e.client, e.node); break;
    default:            fail("no such event");
    }
    finish_step(w, bounds, e.client);
}

void world_apply(struct world *w, const struct bounds *bounds, struct event e)
{
    switch ((enum event_kind)e.kind) {
    case EVENT_TIME:    pass_time(w, bounds); break;
    case EVENT_EXECUTE: execute_next(w, bounds, e.client, e.node); break;
    case EVENT_STALE:   execute_stale(w, bounds, e.client, e.node, e.which); break;
    case EVENT_CRASH:   crash(w, bounds, e.node); break;
    case EVENT_GAIN:    gain(w, bounds, e.node); break;
    case EVENT_DIE:     w->deaths--; take_out(w, bounds, e.client); break;
    case EVENT_VANISH:  model_release(&w->nodes[e.node], e.which); break;
    default:            apply_to_client(w, bounds, e);
    }
    for (unsigned c = 0; c < clients_of(bounds); c++) {
        if (bounds->fair) look_who_passes(w, bounds, c);
        for (unsigned k = 0; k < bounds->nodes; k++) drop_futile(w, bounds, c, k);
    }
}
