/* The engine among hostile nodes. The fuzzer's bytes are a schedule. Time passes, connections come
 * and go, nodes answer correctly or anything else, in any pieces, and the caller uses locks in
 * every order that the contracts allow.
 *
 * The judge believes nothing that the engine says of itself. It reads the commands that leave and
 * the replies that come with a reader of its own, and holds against them:
 *
 *   - A lock has validity left only while a quorum has said exactly "+OK" to a SET of its token
 *     (S1, S3, S8), and never beyond TTL and drift from when the first of these SETs was written
 *     (S2); an extension moves that end only with a quorum of ":1" to it before the old end (S9); a
 *     release or the loss of the lock ends it at once.
 *   - Only commands that the contract names are written, which are known commands about known
 *     resources, with a token (S7).
 *   - After a tick, nothing is due before some later time; a node that wants to send has something
 *     to send, or stops wanting.
 *   - There is room to receive; a reply that is no RESP2 closes the connection.
 *   - The engine's own books agree with the commands under way (see tests/world/invariants.h). For
 *     once the judge looks inside.
 *   - No access beyond, or after the end of, the memory that the caller gave: locks, names and
 *     buffers are blocks of the heap with nothing to spare, given back as soon as the contract
 *     allows. (Sanitizer or valgrind.)
 *
 * Input: SETUP_SIZE bytes of configuration, then operations, see do_operation(). */
#include "fuzz.h"

#include "../../redlock/redlock.h"
#include "../../redlock/wire.h"
#include "../world/decoder.h"
#include "../world/invariants.h"

enum {
    NODES_MAX = 5,
    SESSIONS_MAX = 2 * NODES_MAX,
    LOCKS = 3,
    INPUT_MAX = 2048,       /* A longer schedule teaches nothing and costs speed. */
    /* Attempts and adoptions of one schedule. Those that come later are not begun. */
    TOKENS_MAX = 512,
    /* Commands that one node owes an answer to, more than every pipeline that
     * is configured here. */
    ASKED_MAX = 64,
    WIRE_MAX = 4096,        /* Bytes that are kept of one connection and direction. */
    REPLIES_MAX = 512,     /* Bytes of one reply of ours; INFO is the longest. */
    NAMES_MAX = 32          /* Names of one lock that have not been given back. */
};

#define WALL_US UINT64_C(1790000000000000)   /* When the engine's clock was 0. */

/* ---- The judge's books ---- */

/* The wire's record of one token. */
struct token {
    char text[REDLOCK_TOKEN_TEXT + 1];
    uint16_t set_by;            /* Nodes that said +OK to a SET of it. */
    /* The end of its worth, counted from the first SET that was written. */
    uint64_t set_until;
    uint32_t ttl_ms;
    uint64_t ticket;            /* 0: without. */
    /* Its lock was won, or adopted, so a later command that sets it restores. */
    bool is_held;
};

struct asked {
    enum redlock_command command;
    unsigned token;             /* Number in world.tokens. */
    unsigned slot, extension;   /* The lock of an EXTEND, and the number of the round. */
    bool scripted;              /* It acquires by the script. */
    bool native;                /* A command for a node that runs no scripts. */
    bool restores;              /* An ACQUIRE of the holder's is no vote. */
};

/* A lock of the caller's. */
struct slot {
    struct redlock_lock *lock;
    /* The operation under way can be ACQUIRE, EXTEND, RELEASE or GETRANGE (inspect); NONE: none. */
    enum redlock_command operation;
    void *names[NAMES_MAX];     /* Blocks that the engine may still read. */
    unsigned name_count;
    struct redlock_sight *sights;
    /* It is not to be held any more, because it was released, cancelled, lost or forgotten. */
    bool released;
    unsigned extension;         /* The round of its last one. */
    bool kept;                  /* It is kept by the keeper, so it may be extended at any time. */
    /* The time until which an adopted lock may be confirmed by an extension.
     * It promises nothing. */
    uint64_t adopted_until;
    uint64_t extended_until;    /* The end by extensions that a quorum confirmed. */
    /* The end if the present one is confirmed. 0: not one EXTEND of it was written yet. */
    uint64_t extending_until;
    uint16_t extended_by;
    uint32_t extend_ttl_ms;
};

struct peer {
    bool connected;
    struct asked asked[ASKED_MAX];
    unsigned asked_count;       /* Written to it and not answered. */
    /* The number of these for which we have put an answer on the wire. */
    unsigned said_count;
    /* Commands that the judge has read, but whose bytes have not all been sent. */
    uint8_t out[WIRE_MAX];
    size_t out_size;
    uint8_t wire[WIRE_MAX];     /* On its way to the engine. */
    size_t wire_size;
    uint8_t in[WIRE_MAX];       /* Bytes that the engine has got and that are no whole reply yet. */
    size_t in_size;
    /* It sent something that is not RESP2, or answered a question that nobody asked. */
    bool must_close;
    uint8_t identity;           /* Number of the server there. */
};

static struct world {
    struct fuzz_input input;
    struct redlock engine;
    struct redlock_config config;
    struct redlock_node *nodes;
    void *memory;
    unsigned node_count, session_count, quorum;
    uint64_t now_us, dice;
    bool gives_names_back;
    /* The clock did, so ends of validity cannot be compared with it any more. */
    bool went_back;
    struct peer peers[SESSIONS_MAX];
    struct slot slots[LOCKS];
    struct token tokens[TOKENS_MAX];
    unsigned token_count, adopted_count;
} w;

static const char *const resources[] = { "a", "door", "another resource" };

static void *get_memory(size_t size)
{
    void *memory = calloc(1, size + (size == 0));

    FUZZ_CHECK(memory != NULL);
    return memory;
}

/* S2, with 128 bits and no trick. */
static uint64_t validity_of(uint32_t ttl_ms)
{
    uint64_t drift = (uint64_t)ttl_ms * w.config.drift_ppm;     /* Drift in ns. */

    drift = drift / 1000 + (drift % 1000 != 0) + 2000;
    return drift < (uint64_t)ttl_ms * 1000 ? (uint64_t)ttl_ms * 1000 - drift : 0;
}

static unsigned bits(uint16_t set)
{
    unsigned count = 0;

    for (; set; set >>= 1) count += set & 1;
    return count;
}

static unsigned find_token(const char text[REDLOCK_TOKEN_TEXT])
{
    for (unsigned i = w.token_count; i-- > 0;)
        if (memcmp(w.tokens[i].text, text, REDLOCK_TOKEN_TEXT) == 0) return i;
    FUZZ_CHECK(w.token_count < TOKENS_MAX);
    memcpy(w.tokens[w.token_count].text, text, REDLOCK_TOKEN_TEXT);
    return w.token_count++;
}

static struct token *token_of(const struct slot *slot)
{
    char text[REDLOCK_TOKEN_TEXT + 1];

    redlock_token(slot->lock, text);
    return &w.tokens[find_token(text)];
}

/* The end of the time that the wire allows this lock. */
static uint64_t promised_until(struct slot *slot)
{
    const struct token *token = token_of(slot);
    uint64_t until = bits(token->set_by) >= w.quorum ? token->set_until : 0;

    if (slot->released) return 0;
    return slot->extended_until > until ? slot->extended_until : until;
}

static bool may_extend(struct slot *slot)
{
    return w.went_back || w.now_us < promised_until(slot) || w.now_us < slot->adopted_until;
}

static void check_books(const struct redlock_lock *lock)
{
    char text[160];

    if (invariants_hold(&w.engine, lock, text, sizeof text)) return;
    fprintf(stderr, "invariant: %s\n", text);
    abort();
}

static void check_slot(struct slot *slot)
{
    uint64_t valid = redlock_valid_us(slot->lock, w.now_us), until;

    check_books(slot->lock);
    FUZZ_CHECK(redlock_view_lock(slot->lock).owed <= w.node_count &&
               redlock_view_lock(slot->lock).confirmed <= w.node_count);
    if (valid == 0) return;
    until = promised_until(slot);
    FUZZ_CHECK(until > 0);
    FUZZ_CHECK(w.went_back || (until > w.now_us && valid <= until - w.now_us));
    FUZZ_CHECK(!redlock_idle(slot->lock));
}

/* Its last round is one of the caller's or of the keeper's extensions. */
static void begin_extension(struct slot *slot, uint32_t ttl_ms)
{
    slot->extension = slot->lock->round.number;
    slot->extend_ttl_ms = ttl_ms;
    slot->extending_until = 0;
    slot->extended_by = 0;
}

/* An operation that was under way may have ended, and then its status must be true. */
static void note_end(struct slot *slot)
{
    enum redlock_status status = redlock_lock_status(slot->lock);

    if (slot->operation == REDLOCK_COMMAND_NONE || status == REDLOCK_PENDING) return;
    if (slot->operation == REDLOCK_COMMAND_ACQUIRE) {
        slot->released = status != REDLOCK_OK;
        FUZZ_CHECK(status != REDLOCK_OK || bits(token_of(slot)->set_by) >= w.quorum);
        FUZZ_CHECK(status != REDLOCK_OK || redlock_ticket(slot->lock) == token_of(slot)->ticket);
        token_of(slot)->is_held = status == REDLOCK_OK;
    }
    if (slot->operation == REDLOCK_COMMAND_EXTEND)
        FUZZ_CHECK(status != REDLOCK_OK || bits(slot->extended_by) >= w.quorum);
    slot->operation = REDLOCK_COMMAND_NONE;
}

/* "They must stay until the lock is idle or forgotten." */
static void give_names_back(struct slot *slot)
{
    while (slot->name_count > 0) free(slot->names[--slot->name_count]);
}

static void check_all(void)
{
    for (unsigned i = 0; i < LOCKS; i++) {
        note_end(&w.slots[i]);
        check_slot(&w.slots[i]);
        if (w.gives_names_back && redlock_idle(w.slots[i].lock)) give_names_back(&w.slots[i]);
    }
    for (unsigned k = 0; k < w.session_count; k++) {
        unsigned wants = redlock_wants(&w.engine, k);
        FUZZ_CHECK(!(wants & REDLOCK_WANT_CLOSE) || wants == REDLOCK_WANT_CLOSE);
        FUZZ_CHECK(!(wants & REDLOCK_WANT_CONNECT) || wants == REDLOCK_WANT_CONNECT);
        FUZZ_CHECK(!(wants & REDLOCK_WANT_SEND) || (wants & REDLOCK_WANT_RECEIVE));
        FUZZ_CHECK(!(wants & REDLOCK_WANT_RECEIVE) || w.peers[k].connected);
        FUZZ_CHECK(k >= w.node_count ||
                   redlock_node_votes(&w.engine, k, w.now_us) <= w.peers[k].connected);
    }
}

/* ---- What the engine writes ---- */

struct word {
    const char *text;
    size_t size;
};

enum { WORDS_MAX = 3 + REDLOCK_SET_MAX + 5 };

/* A number and CR LF. False: it is not complete. */
static bool read_count(const uint8_t *data, size_t size, size_t *at, char type, size_t *count)
{
    FUZZ_CHECK(*at >= size || data[*at] == (uint8_t)type);
    *count = 0;
    for (++*at; *at < size && data[*at] != '\r'; ++*at) {
        FUZZ_CHECK(data[*at] >= '0' && data[*at] <= '9' && *count < 100000);
        *count = *count * 10 + (size_t)(data[*at] - '0');
    }
    *at += 2;
    return *at <= size;
}

/* One command at the front of data. Returns its size, 0 when it is not complete. */
static size_t read_command(const uint8_t *data, size_t size, struct word words[WORDS_MAX],
                           size_t *word_count)
{
    size_t at = 0, length;

    if (!read_count(data, size, &at, '*', word_count)) return 0;
    FUZZ_CHECK(*word_count >= 1 && *word_count <= WORDS_MAX);
    for (size_t i = 0; i < *word_count; i++) {
        if (!read_count(data, size, &at, '$', &length) || at + length + 2 > size) return 0;
        words[i] = (struct word){ (const char *)data + at, length };
        at += length + 2;
        FUZZ_CHECK(data[at - 2] == '\r' && data[at - 1] == '\n');
    }
    return at;
}

static bool word_is(struct word word, const char *text)
{
    return word.size == strlen(text) && memcmp(word.text, text, word.size) == 0;
}

static bool is_resource(struct word word)
{
    for (size_t i = 0; i < sizeof resources / sizeof resources[0]; i++)
        if (word_is(word, resources[i])) return true;
    return false;
}

static uint32_t read_ttl(struct word word)
{
    uint64_t ttl = 0;

    FUZZ_CHECK(word.size >= 1 && word.size <= 10);
    for (size_t i = 0; i < word.size; i++) ttl = ttl * 10 + (uint64_t)(word.text[i] - '0');
    FUZZ_CHECK(ttl >= 1 && ttl <= REDLOCK_TTL_MS_MAX);
    FUZZ_CHECK(w.config.guard_ms == 0 || ttl <= w.config.guard_ms);     /* S11 */
    return (uint32_t)ttl;
}

/* The slot whose lock has that token; NULL: none has. */
static struct slot *slot_of(unsigned token)
{
    for (unsigned i = 0; i < LOCKS; i++)
        if (token_of(&w.slots[i]) == &w.tokens[token]) return &w.slots[i];
    return NULL;
}

/* SET resource token NX PX ttl, or the script with the same. The holder may set its keys again
 * where they are missing. */
static void note_set(struct word token_word, struct word ttl_word, uint64_t ticket,
                     struct asked *asked)
{
    uint32_t ttl_ms = read_ttl(ttl_word);
    struct token *token;

    FUZZ_CHECK(token_word.size == REDLOCK_TOKEN_TEXT);
    asked->token = find_token(token_word.text);
    token = &w.tokens[asked->token];
    asked->restores = token->is_held;
    if (token->is_held) {
        struct slot *slot = slot_of(asked->token);
        FUZZ_CHECK(slot && !slot->released && ticket == token->ticket);
        return;
    }
    if (token->ttl_ms == 0) {
        token->ttl_ms = ttl_ms;
        token->ticket = ticket;
        token->set_until = w.now_us + validity_of(ttl_ms);
    }
    /* S15: the same to all nodes. */
    FUZZ_CHECK(token->ttl_ms == ttl_ms && token->ticket == ticket);
}

/* The arguments are token and ttl. The lock is being extended by its holder, or at any time by the
 * keeper; or by a command to a slow node after the verdict, within the round. */
static void note_extend(const struct word *arguments, struct asked *asked)
{
    uint32_t ttl_ms = read_ttl(arguments[1]);
    struct slot *slot;
    bool is_late;

    asked->token = find_token(arguments[0].text);
    slot = slot_of(asked->token);
    FUZZ_CHECK(slot && !slot->released);
    asked->slot = (unsigned)(slot - w.slots);
    asked->extension = slot->lock->round.number;
    is_late = slot->extension == asked->extension && w.now_us < slot->lock->round.deadline_at;
    FUZZ_CHECK(slot->operation == REDLOCK_COMMAND_EXTEND || slot->kept || is_late);
    if (slot->extension != asked->extension) begin_extension(slot, ttl_ms);
    FUZZ_CHECK(ttl_ms == slot->extend_ttl_ms);
    if (slot->extending_until == 0) slot->extending_until = w.now_us + validity_of(ttl_ms);
}

static uint64_t read_number(struct word word)
{
    uint64_t number = 0;

    FUZZ_CHECK(word.size >= 1 && word.size <= 16);
    for (size_t i = 0; i < word.size; i++) {
        FUZZ_CHECK(word.text[i] >= '0' && word.text[i] <= '9');
        number = number * 10 + (uint64_t)(word.text[i] - '0');
    }
    return number;
}

/* EVALSHA|EVAL script n resource... argument... */
static enum redlock_command script_of(const struct word *words, size_t count, struct asked *asked)
{
    bool is_eval = word_is(words[0], "EVAL");
    size_t names = count > 3 ? (size_t)read_number(words[2]) : 0;
    const struct word *arguments = words + 3 + names;
    enum row row = row_by_name(is_eval ? REDLOCK_FORM_BY_TEXT : REDLOCK_FORM_BY_SHA1, words[1].text,
                               words[1].size);
    bool gives_back = count - 3 - names == row_at(ROW_WAKE).row->argument_count;

    FUZZ_CHECK((is_eval || word_is(words[0], "EVALSHA")) && names >= 1 &&
               names <= REDLOCK_SET_MAX && count > 3 + names);
    for (size_t i = 0; i < names; i++) FUZZ_CHECK(is_resource(words[3 + i]));
    FUZZ_CHECK(row != ROW_COUNT);
    if ((row == ROW_RELEASE || row == ROW_SHARED_RELEASE) && gives_back) row = ROW_WAKE;
    FUZZ_CHECK(count - 3 - names == row_at(row).row->argument_count);
    FUZZ_CHECK(row == ROW_WAIT ? w.config.wake_ups && read_number(arguments[1]) > 0
                               : arguments[0].size == REDLOCK_TOKEN_TEXT);
    if (row == ROW_ACQUIRE || row == ROW_RESTORE)
        note_set(arguments[0], arguments[1], read_number(arguments[2]), asked);
    if (row == ROW_EXTEND) note_extend(arguments, asked);
    FUZZ_CHECK(row != ROW_RESTORE || asked->restores);
    asked->scripted = row == ROW_ACQUIRE;
    return row_at(row).command;
}

/* DELEX resource IFEQ token, DELIFEQ resource token, or SET resource token IFEQ token PX ttl. The
 * first two are a question if the token is none. */
static enum redlock_command native_of(const struct word *words, size_t count, struct asked *asked)
{
    const struct word extension[] = { words[2], words[count - 1] };
    bool is_set = word_is(words[0], "SET");
    size_t condition = is_set ? 3 : 2;

    asked->native = true;
    FUZZ_CHECK(count == (is_set ? 7u : word_is(words[0], "DELEX") ? 4u : 3u));
    FUZZ_CHECK(count == 3 || word_is(words[condition], "IFEQ"));
    if (word_is(words[count - 1], "-")) return REDLOCK_COMMAND_NATIVE;
    FUZZ_CHECK(is_resource(words[1]));
    if (!is_set) return REDLOCK_COMMAND_RELEASE;
    FUZZ_CHECK(words[2].size == words[4].size &&
               memcmp(words[2].text, words[4].text, words[2].size) == 0 && word_is(words[5], "PX"));
    note_extend(extension, asked);
    return REDLOCK_COMMAND_EXTEND;
}

static enum redlock_command command_of(const struct word *words, size_t count, struct asked *asked)
{
    static const struct {
        const char *first, *second;
        enum redlock_command command;
    } handshakes[] = {
        { "AUTH", NULL, REDLOCK_COMMAND_AUTH },
        { "SELECT", NULL, REDLOCK_COMMAND_SELECT },
        { "CLIENT", "SETNAME", REDLOCK_COMMAND_SETNAME },
        { "INFO", NULL, REDLOCK_COMMAND_INFO },
        { "EVAL", "return", REDLOCK_COMMAND_EVAL },
        { "SUBSCRIBE", NULL, REDLOCK_COMMAND_SUBSCRIBE },
    };
    enum row row = row_by_name(REDLOCK_FORM_PLAIN, words[0].text, words[0].size);

    for (size_t i = 0; i < sizeof handshakes / sizeof handshakes[0]; i++)
        if (word_is(words[0], handshakes[i].first) &&
            (!handshakes[i].second || word_is(words[1], handshakes[i].second)))
            return handshakes[i].command;
    if (word_is(words[0], "SCRIPT")) {
        FUZZ_CHECK(count == 3 && word_is(words[1], "LOAD"));
        return word_is(words[2], WIRE_RELEASE_SCRIPT) ? REDLOCK_COMMAND_LOAD_RELEASE
                                                      : REDLOCK_COMMAND_LOAD_EXTEND;
    }
    if (word_is(words[0], "DELEX") || word_is(words[0], "DELIFEQ") ||
        (row == ROW_SET && count == 7))
        return native_of(words, count, asked);
    if (row == ROW_COUNT) return script_of(words, count, asked);
    FUZZ_CHECK(is_resource(words[1]));
    if (row == ROW_SET) {
        FUZZ_CHECK(count == 6 && word_is(words[3], "NX") && word_is(words[4], "PX"));
        note_set(words[2], words[5], 0, asked);
    }
    return row_at(row).command;
}

/* All that is written for session k and not sent, as far as the engine knows it. A script may lie
 * apart, between two pieces of its send buffer. */
static size_t look_at_output(unsigned k, uint8_t all[WIRE_MAX])
{
    const struct redlock_node *node = &w.nodes[k];
    size_t end = node->apart ? node->apart_at : node->send_end, size = end - node->send_start;

    FUZZ_CHECK(node->send_end - node->send_start + node->apart_left <= WIRE_MAX);
    memcpy(all, node->send + node->send_start, size);
    if (!node->apart) return size;
    memcpy(all + size, node->apart, node->apart_left);
    memcpy(all + size + node->apart_left, node->send + end, node->send_end - end);
    return size + node->apart_left + node->send_end - end;
}

/* Reads the bytes that were written for session k since the last time, and books the commands.
 * These are whole, but the piece that is to be sent now may be a part of them. */
static void read_output(unsigned k, const uint8_t *piece, size_t size)
{
    static uint8_t all[WIRE_MAX];
    struct peer *peer = &w.peers[k];
    struct word words[WORDS_MAX];
    size_t all_size = look_at_output(k, all), at = peer->out_size, word_count, command_size;

    FUZZ_CHECK(size <= all_size && memcmp(piece, all, size) == 0);
    /* Written bytes stay as they were. */
    FUZZ_CHECK(at <= all_size && memcmp(peer->out, all, at) == 0);
    for (; at < all_size; at += command_size) {
        struct asked *asked = &peer->asked[peer->asked_count++];
        command_size = read_command(all + at, all_size - at, words, &word_count);
        FUZZ_CHECK(command_size > 0 && peer->asked_count <= w.config.pipeline);
        *asked = (struct asked){ 0 };
        asked->command = command_of(words, word_count, asked);
        FUZZ_CHECK(k < w.node_count ? asked->command != REDLOCK_COMMAND_SUBSCRIBE
                                    : asked->command < REDLOCK_COMMAND_READY);
    }
    memcpy(peer->out, all, all_size);
    peer->out_size = all_size;
}

/* ---- What the nodes say ---- */

enum { INCOMPLETE = 0, MALFORMED = -1 };

/* The end of the CR LF after data + at; 0: it is not there. */
static size_t line_end(const uint8_t *data, size_t size, size_t at)
{
    while (at + 1 < size && !(data[at] == '\r' && data[at + 1] == '\n')) at++;
    return at + 1 < size ? at + 2 : 0;
}

/* The size of the reply at the front of data, or one of the above. It is more generous than the
 * engine, which is no harm, since this counts everything that the engine counts. */
static ptrdiff_t reply_size(const uint8_t *data, size_t size)
{
    size_t at = 0;

    for (uint64_t values = 1; values > 0; values--) {
        size_t end;
        long long number;
        if (at == size) return INCOMPLETE;
        if (!memchr("+-:$*", data[at], 5)) return MALFORMED;
        end = line_end(data, size, at);
        if (end == 0) return INCOMPLETE;
        number = strtoll((const char *)data + at + 1, NULL, 10);
        if (number > UINT32_MAX) number = UINT32_MAX;
        if (data[at] == '*' && number > 0) values += (uint64_t)number;
        if (data[at] == '$' && number >= 0) end += (size_t)number + 2;
        if (end > size) return INCOMPLETE;
        at = end;
    }
    return (ptrdiff_t)at;
}

static void note_extended(unsigned k, const struct asked *asked)
{
    struct slot *slot = &w.slots[asked->slot];

    if (slot->released || slot->extension != asked->extension ||
        token_of(slot) != &w.tokens[asked->token])
        return;
    if ((slot->operation != REDLOCK_COMMAND_EXTEND && !slot->kept) || !may_extend(slot)) return;
    slot->extended_by |= (uint16_t)(1u << k);
    if (bits(slot->extended_by) >= w.quorum && slot->extending_until > slot->extended_until)
        slot->extended_until = slot->extending_until;
}

static bool is_reply(const uint8_t *data, size_t size, const char *reply)
{
    return size == strlen(reply) && memcmp(data, reply, size) == 0;
}

/* Node k has answered its first question. */
static void note_answer(unsigned k, const uint8_t *reply, size_t size)
{
    struct peer *peer = &w.peers[k];
    struct asked asked = peer->asked[0];

    if (peer->asked_count == 0) {
        /* A subscription hears messages that it has not asked for. */
        peer->must_close = k < w.node_count;
        return;
    }
    memmove(peer->asked, peer->asked + 1, --peer->asked_count * sizeof peer->asked[0]);
    if (peer->said_count > 0) peer->said_count--;
    if (asked.command == REDLOCK_COMMAND_ACQUIRE && !asked.restores &&
        is_reply(reply, size, "+OK\r\n"))
        w.tokens[asked.token].set_by |= (uint16_t)(1u << k);
    if (asked.command == REDLOCK_COMMAND_EXTEND &&
        is_reply(reply, size, asked.native ? "+OK\r\n" : ":1\r\n"))
        note_extended(k, &asked);
}

/* Bytes that the engine is about to receive from node k. The last byte of in[] stays a
 * NUL, for strtoll. */
static void read_input(unsigned k, const uint8_t *data, size_t size)
{
    struct peer *peer = &w.peers[k];
    ptrdiff_t reply;

    memcpy(peer->in + peer->in_size, data, size);
    peer->in_size += size;
    while (!peer->must_close && (reply = reply_size(peer->in, peer->in_size)) != INCOMPLETE) {
        if (reply == MALFORMED) {
            peer->must_close = true;
            return;
        }
        note_answer(k, peer->in, (size_t)reply);
        peer->in_size -= (size_t)reply;
        memmove(peer->in, peer->in + reply, peer->in_size);
    }
}

/* The reply that a server would give when all is well. */
static const char *right_answer(unsigned k, const struct asked *asked)
{
    static char text[REPLIES_MAX];
    char info[256];

    switch (asked->command) {
    case REDLOCK_COMMAND_INFO:
        snprintf(info, sizeof info,
                 "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%040x\r\n"
                 "uptime_in_seconds:100000\r\nrole:master\r\n",
                 w.peers[k].identity);
        snprintf(text, sizeof text, "$%zu\r\n%s\r\n", strlen(info), info);
        return text;
    case REDLOCK_COMMAND_EVAL:         return "$-1\r\n";
    case REDLOCK_COMMAND_LOAD_RELEASE: return "$40\r\n" WIRE_RELEASE_SHA1 "\r\n";
    case REDLOCK_COMMAND_LOAD_EXTEND:  return "$40\r\n" WIRE_EXTEND_SHA1 "\r\n";
    case REDLOCK_COMMAND_SUBSCRIBE:    return "*3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n";
    case REDLOCK_COMMAND_EXTEND:       return asked->native ? "+OK\r\n" : ":1\r\n";
    case REDLOCK_COMMAND_NATIVE:       return ":0\r\n";
    case REDLOCK_COMMAND_RELEASE:      return ":1\r\n";
    case REDLOCK_COMMAND_WAIT:
    case REDLOCK_COMMAND_PTTL:         return ":1234\r\n";
    case REDLOCK_COMMAND_GETRANGE:     return "$40\r\n0123456789abcdef0123456789abcdef01234567\r\n";
    default:                return "+OK\r\n";
    }
}

static const char *refusal(const struct asked *asked)
{
    switch (asked->command) {
    case REDLOCK_COMMAND_INFO:
        return "$62\r\nredis_mode:standalone\r\nrun_id:too-short\r\nuptime_in_seconds:0\r\n\r\n";
    case REDLOCK_COMMAND_EVAL:     return "-ERR unknown command 'EVAL'\r\n";
    case REDLOCK_COMMAND_ACQUIRE:
        return asked->scripted ? "$21\r\n1790000000000001 1000\r\n" : "$-1\r\n";
    case REDLOCK_COMMAND_RESTORE:  return "$5\r\ntaken\r\n";
    case REDLOCK_COMMAND_EXTEND:   return asked->native ? "$-1\r\n" : ":0\r\n";
    case REDLOCK_COMMAND_PTTL:     return ":-2\r\n";
    case REDLOCK_COMMAND_GETRANGE: return "$0\r\n\r\n";
    default:            return ":0\r\n";
    }
}

/* Errors, and answers that belong nowhere. */
static const char *const other_answers[] = {
    ":-1\r\n", "-NOSCRIPT No matching script. Please use EVAL.\r\n",
    "-WRONGTYPE Operation against a key\r\n",
    "-NOPERM this user has no permissions\r\n", "-NOAUTH Authentication required.\r\n",
    "-BUSY Redis is busy\r\n",
    "-LOADING Redis is loading\r\n", "-READONLY You can't write\r\n",
    "-ERR unknown command, with args beginning with: 'x'\r\n",
    "-OOM command not allowed\r\n", "-\r\n", "+QUEUED\r\n", "+OK \r\n", "$2\r\nOK\r\n", ":1\r\n",
    "*0\r\n", "*-1\r\n",
    "*2\r\n$8\r\nsentinel\r\n*0\r\n",
    "$66\r\nredis_mode:cluster\r\nrun_id:0123456789012345678901234567890123456789\r\n\r\n",
    "$41\r\n01234567890123456789012345678901234567890\r\n", ":9223372036854775807\r\n", "$-1\r\n",
    "+OK\r\n+OK\r\n", "%1\r\n", "\n",
    ":2\r\n", "-AHEAD of the clock of this node: 1\r\n", "$4\r\n0 -2\r\n",
    "$21\r\n9007199254740991 1000\r\n"
};

/* A release's message to a subscription. */
static void wake_up(struct peer *peer, unsigned number)
{
    char text[80];

    snprintf(text, sizeof text,
             "*3\r\n$7\r\nmessage\r\n$24\r\nredlock:0123456789abcdef\r\n$1\r\n%u\r\n", number % 10);
    if (peer->wire_size + strlen(text) > WIRE_MAX || !peer->connected) return;
    memcpy(peer->wire + peer->wire_size, text, strlen(text));
    peer->wire_size += strlen(text);
}

/* Puts on node k's wire its answer to the first command that it has not answered. */
static void answer(unsigned k, unsigned choice)
{
    struct peer *peer = &w.peers[k];
    const struct asked *asked = &peer->asked[peer->said_count];
    const char *text =
        choice == 0 ? right_answer(k, asked)
        : choice == 1
            ? refusal(asked)
            : other_answers[(choice - 2) % (sizeof other_answers / sizeof other_answers[0])];

    if (k >= w.node_count && peer->asked_count == 0) wake_up(peer, choice);
    if (peer->said_count >= peer->asked_count || peer->wire_size + strlen(text) > WIRE_MAX) return;
    memcpy(peer->wire + peer->wire_size, text, strlen(text));
    peer->wire_size += strlen(text);
    peer->said_count++;
}

/* ---- The transport ---- */

static void hang_up(unsigned k, const char *why)
{
    uint8_t identity = w.peers[k].identity;

    redlock_disconnected(&w.engine, k, why, w.now_us);
    memset(&w.peers[k], 0, sizeof w.peers[k]);
    w.peers[k].identity = identity;
}

static void connect_node(unsigned k)
{
    unsigned wants = redlock_wants(&w.engine, k);

    if (wants == REDLOCK_WANT_CLOSE) hang_up(k, NULL);
    if (wants != REDLOCK_WANT_CONNECT) return;
    w.peers[k].connected = true;
    redlock_connected(&w.engine, k, w.now_us);
}

static void disconnect_node(unsigned k, const char *why)
{
    if (redlock_wants(&w.engine, k) != 0) hang_up(k, why);
}

/* Sends up to max bytes. */
static void send_some(unsigned k, size_t max)
{
    unsigned wants = redlock_wants(&w.engine, k);
    const uint8_t *data;
    size_t size;

    if (!(wants & REDLOCK_WANT_SEND)) return;
    data = redlock_output(&w.engine, k, &size);
    /* Or a loop would spin. */
    FUZZ_CHECK(size > 0 || !(redlock_wants(&w.engine, k) & REDLOCK_WANT_SEND));
    read_output(k, data, size);
    for (unsigned j = 0; j < w.node_count; j++)         /* Copies may have gone to others. */
        if (w.peers[j].connected && j != k) read_output(j, data, 0);
    if (size > max) size = max;
    redlock_sent(&w.engine, k, size);
    w.peers[k].out_size -= size;
    memmove(w.peers[k].out, w.peers[k].out + size, w.peers[k].out_size);
}

/* Hands up to max bytes of node k's wire to the engine. */
static void deliver(unsigned k, size_t max)
{
    struct peer *peer = &w.peers[k];
    size_t room, size = peer->wire_size < max ? peer->wire_size : max;
    uint8_t *into;

    if (size == 0 || !(redlock_wants(&w.engine, k) & REDLOCK_WANT_RECEIVE)) return;
    into = redlock_input(&w.engine, k, &room);
    FUZZ_CHECK(room > 0 && room <= w.config.receive_size);
    if (size > room) size = room;
    if (peer->in_size + size >= WIRE_MAX) {     /* A reply that the judge cannot follow. */
        hang_up(k, "too long");
        return;
    }
    memcpy(into, peer->wire, size);
    read_input(k, peer->wire, size);
    peer->wire_size -= size;
    memmove(peer->wire, peer->wire + size, peer->wire_size);
    redlock_received(&w.engine, k, size, w.now_us);
    FUZZ_CHECK(!peer->must_close || redlock_wants(&w.engine, k) == REDLOCK_WANT_CLOSE);
}

static void say_raw(unsigned k, size_t max)
{
    struct peer *peer = &w.peers[k];
    const uint8_t *bytes;
    size_t size = fuzz_bytes(&w.input, max, &bytes);

    if (size == 0 || peer->wire_size + size > WIRE_MAX) return;
    memcpy(peer->wire + peer->wire_size, bytes, size);
    peer->wire_size += size;
}

/* ---- Time ---- */

static void feed(void)
{
    uint8_t bytes[REDLOCK_ENTROPY_MAX];
    size_t wanted = redlock_entropy_wanted(&w.engine);

    for (size_t i = 0; i < wanted; i++) {
        w.dice = w.dice * 6364136223846793005u + 1442695040888963407u;
        bytes[i] = (uint8_t)(w.dice >> 56);
    }
    /* Few attempts are left, since none begins without random bytes. */
    if (wanted > 0 && w.token_count + 16 < TOKENS_MAX)
        redlock_add_entropy(&w.engine, bytes, wanted);
}

static void tick(void)
{
    redlock_tick(&w.engine, w.now_us);
    FUZZ_CHECK(w.now_us > UINT64_MAX / 2 || redlock_wake_at(&w.engine) > w.now_us);
}

/* An instant is never the same twice, so that a promise that ends "now" is told from one
 * that ends later. */
static void pass(uint64_t us)
{
    if (w.now_us < UINT64_MAX / 4) w.now_us += us + 1;
}

static void sleep_until_due(void)
{
    uint64_t at = redlock_wake_at(&w.engine);

    if (at < UINT64_MAX / 4 && at > w.now_us) w.now_us = at;
    tick();
}

/* The clock goes back, or cannot be read for a moment. */
static void break_clock(unsigned how)
{
    uint64_t before = w.now_us;

    if (how & 1) {
        w.now_us = UINT64_MAX;
        tick();
        for (unsigned i = 0; i < LOCKS; i++)
            FUZZ_CHECK(redlock_valid_us(w.slots[i].lock, w.now_us) == 0);
        w.now_us = before;
    } else {
        w.now_us -= w.now_us / 2;
    }
    w.went_back = true;
    redlock_tick(&w.engine, w.now_us);
}

/* ---- Locks ---- */

static const uint32_t durations_ms[] = {
    1000, 3, 10, 100, 500, 30000, 1, 0, 4, 60000, REDLOCK_TTL_MS_MAX, UINT32_MAX
};

static uint32_t some_ms(unsigned choice)
{
    return durations_ms[choice % (sizeof durations_ms / sizeof durations_ms[0])];
}

/* A block with the name and not a byte more. NULL: the lock has too many already. */
static void *lend_name(struct slot *slot, unsigned choice, size_t *size)
{
    const char *name = resources[choice % (sizeof resources / sizeof resources[0])];

    if (slot->name_count == NAMES_MAX) return NULL;
    *size = strlen(name);
    return slot->names[slot->name_count++] = fuzz_copy(name, *size);
}

/* The same for several. There is a block with the set, and one for each name. */
static struct redlock_name *lend_set(struct slot *slot, unsigned first, unsigned count)
{
    struct redlock_name *set;

    if (slot->name_count + count + 1 > NAMES_MAX) return NULL;
    slot->names[slot->name_count++] = set = get_memory(count * sizeof *set);
    for (unsigned i = 0; i < count; i++) set[i].bytes = lend_name(slot, first + i, &set[i].size);
    return set;
}

static void acquire(struct slot *slot)
{
    uint8_t how = fuzz_byte(&w.input), times = fuzz_byte(&w.input);
    struct redlock_request request = {
        .ttl_ms = some_ms(times & 15),
        .wait_ms = some_ms((times >> 4) + 7),
        .min_validity_ms = how & 4 ? some_ms(how >> 4) : 0,
        .extension_limit = how & 8 ? 1 : 0,
        .ticket = how & 64,
        .wall_us = how & 128 ? 0 : WALL_US + w.now_us,
        .set_count = 1 + (how >> 4 & 3),
    };

    if ((how & 3) == 3) request.set = lend_set(slot, times, request.set_count);
    else                request.resource = lend_name(slot, how & 3, &request.resource_size);
    if ((!request.resource && !request.set) || w.token_count + 16 >= TOKENS_MAX) return;
    if (redlock_start_acquire(&w.engine, slot->lock, &request, w.now_us) != REDLOCK_OK) return;
    FUZZ_CHECK(slot->operation == REDLOCK_COMMAND_NONE);
    slot->operation = REDLOCK_COMMAND_ACQUIRE;
    slot->released = slot->kept = false;
    slot->adopted_until = slot->extended_until = 0;
}

static void extend(struct slot *slot)
{
    uint32_t ttl_ms = some_ms(fuzz_byte(&w.input));

    if (redlock_start_extend(&w.engine, slot->lock, ttl_ms, w.now_us) != REDLOCK_OK) return;
    FUZZ_CHECK(may_extend(slot) && slot->operation == REDLOCK_COMMAND_NONE);
    slot->operation = REDLOCK_COMMAND_EXTEND;
    begin_extension(slot, ttl_ms);
}

static void keep(struct slot *slot)
{
    uint32_t hold_ms = some_ms(fuzz_byte(&w.input));

    if (redlock_keep(&w.engine, slot->lock, hold_ms, w.now_us) != REDLOCK_OK) return;
    FUZZ_CHECK(may_extend(slot) && !slot->released);
    slot->kept = true;
}

static void release(struct slot *slot)
{
    if (redlock_start_release(&w.engine, slot->lock, w.now_us) != REDLOCK_OK) return;
    FUZZ_CHECK(slot->operation == REDLOCK_COMMAND_NONE ||
               slot->operation == REDLOCK_COMMAND_EXTEND);
    slot->operation = REDLOCK_COMMAND_RELEASE;
    slot->released = true;
    slot->kept = false;
}

static void inspect(struct slot *slot)
{
    size_t size;
    void *name = lend_name(slot, fuzz_byte(&w.input), &size);

    if (!name || redlock_start_inspect(&w.engine, slot->lock, name, size, slot->sights, w.now_us) !=
                     REDLOCK_OK)
        return;
    FUZZ_CHECK(slot->operation == REDLOCK_COMMAND_NONE);
    slot->operation = REDLOCK_COMMAND_GETRANGE;
}

/* Uses its own last token, or one that nobody had. No two locks have the same, or the judge would
 * mistake one for the other. */
static void adopt(struct slot *slot)
{
    uint8_t how = fuzz_byte(&w.input);
    char text[REDLOCK_TOKEN_TEXT + 1];
    size_t size;
    void *name = lend_name(slot, how & 3, &size);

    if (!name || w.token_count + 16 >= TOKENS_MAX) return;
    redlock_token(slot->lock, text);
    if ((how & 4) || strspn(text, "0") == strlen(text))
        snprintf(text, sizeof text, "%040x", ++w.adopted_count);
    if (how & 8) text[how >> 4] = '!';
    if (redlock_adopt(&w.engine, slot->lock,
                      &(struct redlock_request){ .resource = name, .resource_size = size }, text,
                      w.now_us) != REDLOCK_OK)
        return;
    FUZZ_CHECK(!(how & 8) && slot->operation == REDLOCK_COMMAND_NONE);
    slot->released = slot->kept = false;
    slot->extended_until = 0;
    token_of(slot)->is_held = true;
    slot->adopted_until = w.now_us + (uint64_t)w.config.node_timeout_ms * 1000;
}

static void cancel(struct slot *slot)
{
    redlock_cancel(&w.engine, slot->lock, w.now_us);
    FUZZ_CHECK(redlock_lock_status(slot->lock) != REDLOCK_PENDING);
}

/* The lock's memory and name are the caller's again, which gives them back at once. */
static void forget(struct slot *slot)
{
    redlock_forget(&w.engine, slot->lock);
    FUZZ_CHECK(redlock_valid_us(slot->lock, w.now_us) == 0 && redlock_idle(slot->lock));
    free(slot->lock);
    give_names_back(slot);
    slot->lock = get_memory(sizeof *slot->lock);
    redlock_lock_init(slot->lock);
    slot->operation = REDLOCK_COMMAND_NONE;
    slot->released = true;
    free(slot->sights);
    slot->sights = get_memory(w.node_count * sizeof *slot->sights);
}

static void move(struct slot *slot)
{
    const struct redlock_lock *from = slot->lock;
    struct redlock_lock *to = get_memory(sizeof *to);
    struct slot lent = { .name_count = 0 };
    void *name = NULL;

    const struct redlock_name *from_set = (const struct redlock_name *)from->name.bytes;

    if (slot->name_count > 0 && from->name_count > 1) {
        struct redlock_name *set = get_memory(from->name_count * sizeof *set);
        lent.names[lent.name_count++] = name = set;
        for (unsigned i = 0; i < from->name_count; i++) {
            set[i] = (struct redlock_name){
                .bytes = fuzz_copy(from_set[i].bytes, from_set[i].size), .size = from_set[i].size
            };
            lent.names[lent.name_count++] = (void *)(uintptr_t)set[i].bytes;
        }
    } else if (slot->name_count > 0) {
        lent.names[lent.name_count++] = name = fuzz_copy(from->name.bytes, from->name.size);
    }
    redlock_move(&w.engine, to, slot->lock, name);
    free(slot->lock);
    give_names_back(slot);
    slot->lock = to;
    memcpy(slot->names, lent.names, sizeof slot->names);
    slot->name_count = lent.name_count;
}

static void next_done(void)
{
    const struct redlock_lock *lock = redlock_next_done(&w.engine);

    if (!lock) return;
    FUZZ_CHECK(lock == w.slots[0].lock || lock == w.slots[1].lock || lock == w.slots[2].lock);
    FUZZ_CHECK(redlock_lock_status(lock) != REDLOCK_PENDING);
}

static void ask_everything(void)
{
    for (unsigned k = 0; k < w.node_count; k++) {
        char words[2 * REDLOCK_ERROR_MAX], few[3];
        redlock_describe_node(&w.engine, k, w.now_us, words, sizeof words);
        redlock_describe_node(&w.engine, k, w.now_us, few, sizeof few);
        FUZZ_CHECK(strlen(words) < sizeof words && strncmp(words, few, strlen(few)) == 0);
        (void)redlock_view_node(&w.engine, k, w.now_us).trouble;
        for (unsigned i = 0; i < LOCKS; i++)
            FUZZ_CHECK((unsigned)redlock_vote_of(w.slots[i].lock, k) <= REDLOCK_VOTE_NOT_ASKED);
    }
    for (unsigned i = 0; i < LOCKS; i++) (void)redlock_view_lock(w.slots[i].lock).free_in_ms;
}

/* ---- The schedule ---- */

/* Everybody behaves well for a while. Connections are made, and all is sent,
 * answered and delivered. */
static void behave(unsigned nodes, unsigned choice)
{
    for (unsigned turn = 0; turn < 4; turn++) {
        pass(50);
        tick();
        for (unsigned k = 0; k < w.session_count; k++) {
            if (!(nodes >> k % w.node_count & 1)) continue;
            connect_node(k);
            send_some(k, SIZE_MAX);
            while (w.peers[k].said_count < w.peers[k].asked_count) {
                unsigned said = w.peers[k].said_count;
                bool is_handshake = w.peers[k].asked[said].command < REDLOCK_COMMAND_READY;
                answer(k, is_handshake ? 0 : choice);
                if (w.peers[k].said_count == said) break;
            }
            for (unsigned i = 0; i < 64 && w.peers[k].wire_size > 0; i++) deliver(k, SIZE_MAX);
            check_all();
        }
        feed();
    }
}

static void use_lock(struct slot *slot, unsigned what)
{
    switch (what) {
    case 0:  acquire(slot); break;
    case 1:  extend(slot); break;
    case 2:  release(slot); break;
    case 3:  cancel(slot); break;
    case 4:  inspect(slot); break;
    case 5:  adopt(slot); break;
    case 6:  forget(slot); break;
    case 7:  move(slot); break;
    case 10: keep(slot); break;
    case 8:  redlock_pay(&w.engine, slot->lock, w.now_us); break;
    default: next_done(); break;
    }
}

/* One byte selects the operation, and its node or lock; further bytes follow. */
static void do_operation(void)
{
    uint8_t byte = fuzz_byte(&w.input);
    unsigned k = (byte >> 4) % w.session_count;

    switch (byte & 15) {
    case 0:  pass((uint64_t)fuzz_byte(&w.input) << (byte >> 3 & 30)); tick(); break;
    case 1:  sleep_until_due(); break;
    case 2:  pass(0); connect_node(k); break;
    case 3:  pass(0); disconnect_node(k, byte & 128 ? "connection refused" : NULL); break;
    case 4:  send_some(k, byte & 128 ? fuzz_byte(&w.input) : SIZE_MAX); break;
    case 5:  answer(k, fuzz_byte(&w.input)); break;
    case 6:  pass(0); deliver(k, byte & 128 ? fuzz_byte(&w.input) : SIZE_MAX); break;
    case 7:  say_raw(k, fuzz_byte(&w.input) % 64); pass(0); deliver(k, SIZE_MAX); break;
    case 8:
    case 9:
    case 10:
        pass(0);
        use_lock(&w.slots[(byte & 15) - 8], byte >> 4 == 10 ? 10 : (byte >> 4) % 10);
        break;
    case 11: behave(byte >> 4 | 1u, 0); break;
    case 12: behave((byte >> 3 | byte >> 4) & 31u, fuzz_byte(&w.input)); break;
    case 13: feed(); break;
    case 14: if ((byte >> 4) < 12) ask_everything(); else break_clock(byte >> 4); break;
    default: w.peers[k].identity = fuzz_byte(&w.input); break;
    }
    check_all();
}

/* ---- Setting up ---- */

static void configure(void)
{
    uint8_t sizes = fuzz_byte(&w.input), times = fuzz_byte(&w.input), flags = fuzz_byte(&w.input);

    w.node_count = 1 + sizes % NODES_MAX;
    w.quorum = w.node_count / 2 + 1;
    redlock_config_init(&w.config);
    w.config.resource_max = 64;
    w.config.send_size = REDLOCK_SEND_MIN(64) + (sizes & 16 ? 1200u : 0u);
    w.config.receive_size = REDLOCK_RECEIVE_MIN + (sizes >> 5) * 17u;
    w.config.pipeline = (uint16_t)(REDLOCK_PIPELINE_MIN + (sizes & 8 ? 12 : 0));
    w.config.guard_ms = times & 1 ? 60000 : 0;
    w.config.node_timeout_ms = times & 2 ? 3 : 500;
    w.config.retry_ms = times & 4 ? 1 : 100;
    w.config.drift_ppm = times & 8 ? 84000 : times & 16 ? 0 : REDLOCK_DRIFT_PPM;
    w.config.trust_unknown = flags & 1;
    w.config.wake_ups = flags & 8;
    w.config.silent = flags & 16;
    w.config.keep_percent = flags & 32 ? 90 : REDLOCK_KEEP_PERCENT;
    w.session_count = REDLOCK_SESSIONS(w.node_count, w.config.wake_ups);
    w.gives_names_back = flags & 2;
    w.now_us = flags & 4 ? 0 : 1790000000000u;
    w.dice = flags | 1;
}

static void begin(void)
{
    static const struct redlock_login login = {
        .user = "joe", .password = "secret", .database = 3
    };
    size_t size;

    configure();
    size = REDLOCK_MEMORY(w.session_count, w.config.pipeline, w.config.send_size,
                          w.config.receive_size);
    w.memory = get_memory(size);
    w.nodes = get_memory(w.session_count * sizeof *w.nodes);
    FUZZ_CHECK(redlock_init(&w.engine, &w.config, w.nodes, w.node_count, w.memory, size,
                            w.now_us) == REDLOCK_OK);
    redlock_use(&w.engine, &redlock_tickets);
    redlock_use(&w.engine, &redlock_sets);
    redlock_use(&w.engine, &redlock_restore);
    redlock_use(&w.engine, &redlock_wake_ups);
    redlock_use(&w.engine, &redlock_copies);
    FUZZ_CHECK(redlock_set_login(&w.engine, 0, &login) == REDLOCK_OK);
    for (unsigned k = 0; k < w.session_count; k++) w.peers[k].identity = (uint8_t)(k + 1);
    for (unsigned i = 0; i < LOCKS; i++) {
        w.slots[i].lock = get_memory(sizeof *w.slots[i].lock);
        w.slots[i].sights = get_memory(w.node_count * sizeof *w.slots[i].sights);
        redlock_lock_init(w.slots[i].lock);
    }
    feed();
}

static void end(void)
{
    for (unsigned i = 0; i < LOCKS; i++) {
        free(w.slots[i].lock);
        free(w.slots[i].sights);
        give_names_back(&w.slots[i]);
    }
    free(w.nodes);
    free(w.memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX) return 0;
    memset(&w, 0, sizeof w);
    w.input = (struct fuzz_input){ data, size };
    begin();
    while (w.input.size > 0) do_operation();
    end();
    return 0;
}
