#include "wire.h"

/* ---- Commands ---- */

void wire_write_hex(const uint8_t *bytes, size_t size, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
}

void wire_token_text(const uint8_t token[REDLOCK_TOKEN_SIZE], char text[REDLOCK_TOKEN_TEXT])
{
    wire_write_hex(token, REDLOCK_TOKEN_SIZE, text);
}

/* Below 0: it is none. */
static int digit_value(char c)
{
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c <= '9' ? c - '0' : -1;
}

bool wire_token_read(const char *text, size_t size, uint8_t token[REDLOCK_TOKEN_SIZE])
{
    if (size != REDLOCK_TOKEN_TEXT) return false;
    for (size_t i = 0; i < REDLOCK_TOKEN_TEXT; i++) {
        int digit = digit_value(text[i]);
        if (digit < 0) return false;
        /* The first digit pushes out what was there. */
        token[i / 2] = (uint8_t)(token[i / 2] << 4 | digit);
    }
    return true;
}

/* The only resource, or the first of several, for commands with one key. */
void wire_put_resource(struct resp_writer *w, const struct wire_subject *s)
{
    resp_bytes(w, s->names[0].bytes, s->names[0].size);
}

size_t wire_value_text(const uint8_t token[REDLOCK_TOKEN_SIZE], const char *holder,
                       char text[REDLOCK_VALUE_TEXT])
{
    size_t size = REDLOCK_TOKEN_TEXT;

    wire_token_text(token, text);
    if (!holder) return size;
    text[size++] = ' ';
    while (*holder != '\0' && size < REDLOCK_VALUE_TEXT) text[size++] = *holder++;
    return size;
}

REDLOCK_OUTLINE static void put_value_of(struct resp_writer *w, const uint8_t *token,
                                         const char *holder)
{
    char text[REDLOCK_VALUE_TEXT];

    resp_bytes(w, text, wire_value_text(token, holder, text));
}

void wire_put_value(struct resp_writer *w, const struct wire_subject *s)
{
    put_value_of(w, s->token, s->holder);
}

/* S6: a release names the value that was put there. */
void wire_put_placed(struct resp_writer *w, const struct wire_subject *s)
{
    put_value_of(w, s->placed, s->holder);
}

enum { NAME_TEXT = 2 * REDLOCK_NAME_SIZE };

/* A lock's entry among the waiters (see wire.h). It ends where text ends. Returns
 * where it begins. */
size_t wire_write_entry(char text[WIRE_ENTRY_ROOM], const uint8_t engine[REDLOCK_NAME_SIZE],
                        uint32_t number)
{
    size_t at = NAME_TEXT + 1 + resp_decimal(text + NAME_TEXT + 1, number);

    text[--at] = ':';
    at -= NAME_TEXT;
    wire_write_hex(engine, REDLOCK_NAME_SIZE, text + at);
    return at;
}

static void wire_put_entry(struct resp_writer *w, const struct wire_subject *s)
{
    char text[WIRE_ENTRY_ROOM];
    size_t at = wire_write_entry(text, s->engine, s->wait_number);

    resp_bytes(w, text + at, sizeof text - at);
}

enum {
    SHA1_TEXT = 40,     /* Hex digits. */
    /* The head of a command by EVALSHA, and */
    BEFORE_REST = sizeof "*11\r\n$7\r\nEVALSHA\r\n$40\r\n\r\n" - 1 + SHA1_TEXT,
    /* the bytes around the text of a script in one by EVAL. */
    AROUND_TEXT = sizeof "$1234\r\n\r\n" - 1
};
REDLOCK_STATIC_ASSERT(WIRE_LONGEST_MAX - BEFORE_REST + AROUND_TEXT <= WIRE_COMMAND_MAX,
                      "behind a text for which wire_put_script_text() finds room there is room for "
                      "the rest of any command");

/* A script is sent in one write with the bytes around it if the buffer has room for it and for the
 * rest of any command. Otherwise it is sent from its own place. A command that found no room for
 * its rest would wait for the buffer to empty, perhaps for ever, since the buffer may be empty, and
 * be no larger. */
void wire_put_script_text(struct resp_writer *w, const char *text)
{
    size_t room = w->size - w->used;

    if (length_of(text, room) + REDLOCK_RESOURCE_MAX + WIRE_COMMAND_MAX + WIRE_HOLDER_ROOM <= room)
        resp_text(w, text);
    else                                                                       resp_apart(w, text);
}

void wire_put_script(struct resp_writer *w, const struct wire_row *script, enum redlock_form form,
                     const struct wire_subject *s)
{
    bool by_text = form == REDLOCK_FORM_BY_TEXT;

    resp_command(w, 3 + s->name_count + script->argument_count);
    resp_bytes(w, "EVALSHA", by_text ? sizeof "EVAL" - 1 : sizeof "EVALSHA" - 1);
    if (by_text) wire_put_script_text(w, script->text);
    else         resp_bytes(w, script->sha1, SHA1_TEXT);
    resp_size(w, s->name_count);
    for (unsigned i = 0; i < s->name_count; i++) resp_bytes(w, s->names[i].bytes, s->names[i].size);
}

/* ---- Texts ---- */

size_t wire_begins(const char *text, size_t size, const char *expected)
{
    size_t i = 0;

    while (expected[i] != '\0') {
        if (i == size || text[i] != expected[i]) return 0;
        i++;
    }
    return i;
}

bool wire_text_is(const struct wire_reply *reply, const char *text)
{
    size_t length = wire_begins(reply->text, reply->text_size, text);

    /* A text that was cut is longer than each that we look for. */
    return length > 0 && length == reply->text_size;
}

bool wire_says(const struct wire_reply *reply, const char *words)
{
    size_t at = 0;

    while (at < reply->text_size && !wire_begins(reply->text + at, reply->text_size - at, words))
        at++;
    return at < reply->text_size;
}

/* ---- Arguments that several commands have ---- */

void wire_put_grant(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->ttl_ms > 0 && s->ticket <= WIRE_TICKET_MAX);
    wire_put_value(w, s);
    resp_size(w, s->ttl_ms);
    resp_number(w, (int64_t)s->ticket);
    resp_size(w, s->life_ms);
    resp_size(w, s->skew_ms);
}

void wire_put_entry_if_any(struct resp_writer *w, const struct wire_subject *s)
{
    if (s->wait_number > 0) wire_put_entry(w, s);
    else                    resp_text(w, "");
}

void wire_put_extend(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->ttl_ms > 0);       /* S7: PEXPIRE with 0 would delete the key. */
    wire_put_value(w, s);
    resp_size(w, s->ttl_ms);
}

/* A client that has an entry among the waiters gives it back. */
void wire_put_wake(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_placed(w, s);
    wire_put_entry_if_any(w, s);
}

void wire_put_wait(struct resp_writer *w, const struct wire_subject *s)
{
    wire_put_entry(w, s);
    resp_number(w, (int64_t)s->arrived_at);
    resp_size(w, WIRE_WAITERS_LIFE_MS);
}

void wire_put_modes(struct resp_writer *w, const struct wire_subject *s)
{
    char modes[REDLOCK_SET_MAX];

    for (unsigned i = 0; i < s->name_count; i++) modes[i] = s->names[i].shared ? 's' : 'x';
    resp_bytes(w, modes, s->name_count);
}

/* ---- Questions about a key ---- */

void wire_put_pttl(struct resp_writer *w, const struct wire_subject *s)
{
    resp_command(w, 2);
    resp_text(w, "PTTL");
    wire_put_resource(w, s);
}

const struct wire_row *wire_pttl(void)
{
    static const struct wire_row row = { .put = wire_put_pttl };

    return &row;
}

static void put_getrange(struct resp_writer *w, const struct wire_subject *s)
{
    resp_command(w, 4);
    resp_text(w, "GETRANGE");
    wire_put_resource(w, s);
    resp_size(w, 0);
    resp_size(w, WIRE_VALUE_MAX - 1);
}

const struct wire_row *wire_getrange(void)
{
    static const struct wire_row row = { .put = put_getrange };

    return &row;
}

/* ---- Answers ---- */

static enum redlock_answer read_ok(const struct wire_reply *reply)
{
    bool is_ok =
        reply->text_size == 2 && !reply->text_cut && reply->text[0] == 'O' && reply->text[1] == 'K';

    return reply->type == RESP_SIMPLE && is_ok ? REDLOCK_ANSWER_GRANTED : REDLOCK_ANSWER_WRONG;
}

/* A refusal that reports no ticket is one as well, since somebody else may use
 * the counter's key. */
static bool is_refusal(const struct redlock_asked *asked, const struct wire_reply *reply)
{
    return reply->type == (asked->form != REDLOCK_FORM_PLAIN ? RESP_BULK : RESP_NULL_BULK);
}

static enum redlock_answer read_script(const struct redlock_asked *asked,
                                       const struct wire_reply *reply)
{
    if (reply->type != RESP_INTEGER) return REDLOCK_ANSWER_WRONG;
    if (reply->integer < asked->lowest || reply->integer > asked->highest)
        return REDLOCK_ANSWER_WRONG;
    return reply->integer >= 1 ? REDLOCK_ANSWER_GRANTED : REDLOCK_ANSWER_REFUSED;
}

static enum redlock_answer granted_if(bool right)
{
    return right ? REDLOCK_ANSWER_GRANTED : REDLOCK_ANSWER_WRONG;
}

enum redlock_answer wire_read(const struct redlock_asked *asked, const struct wire_reply *reply)
{
    if (reply->type == RESP_ERROR) return REDLOCK_ANSWER_ERROR;
    switch (asked->command) {
    case REDLOCK_COMMAND_NONE:         return REDLOCK_ANSWER_WRONG;
    case REDLOCK_COMMAND_INFO:         return granted_if(reply->type == RESP_BULK);
    case REDLOCK_COMMAND_EVAL:         return granted_if(reply->type == RESP_NULL_BULK);
    case REDLOCK_COMMAND_WAIT:
    case REDLOCK_COMMAND_PTTL:
        return granted_if(reply->type == RESP_INTEGER && reply->integer >= -2);
    case REDLOCK_COMMAND_GETRANGE:     return granted_if(reply->type == RESP_BULK);
    case REDLOCK_COMMAND_ACQUIRE:
    case REDLOCK_COMMAND_RESTORE:
        if (is_refusal(asked, reply)) return REDLOCK_ANSWER_REFUSED;
        break;
    case REDLOCK_COMMAND_EXTEND:       /* Without a script (see native.c). */
        if (asked->form == REDLOCK_FORM_PLAIN && reply->type == RESP_NULL_BULK)
            return REDLOCK_ANSWER_REFUSED;
        break;
    default:                           break;
    }
    /* S3: only +OK is a grant, or one of the numbers of a script that answers with numbers (a
     * permit's slot, for instance). */
    return asked->lowest == asked->highest ? read_ok(reply) : read_script(asked, reply);
}

enum redlock_answer wire_read_any(const struct redlock_asked *asked, const struct wire_reply *reply)
{
    if (reply->type == RESP_ERROR) return REDLOCK_ANSWER_ERROR;
    switch (asked->command) {
    case REDLOCK_COMMAND_LOAD_RELEASE:
    case REDLOCK_COMMAND_LOAD_EXTEND:  return granted_if(reply->type == RESP_BULK);
    case REDLOCK_COMMAND_TRIAL:
    case REDLOCK_COMMAND_NATIVE:       return granted_if(reply->type == RESP_INTEGER);
    case REDLOCK_COMMAND_SUBSCRIBE:
        return granted_if(reply->type == RESP_ARRAY && reply->integer == 3);
    case REDLOCK_COMMAND_CANARY:
        return reply->type == RESP_NULL_BULK ? REDLOCK_ANSWER_REFUSED
                                             : granted_if(reply->type == RESP_BULK);
    default:                           return wire_read(asked, reply);
    }
}

/* Reads decimal digits, and nothing else, of a number up to max < 2^60. */
bool wire_read_decimal(const char *text, size_t size, uint64_t max, uint64_t *number)
{
    uint64_t sum = 0;

    if (size == 0) return false;
    //@ loop invariant sum <= max;
    for (size_t i = 0; i < size; i++) {
        uint8_t digit = (uint8_t)(text[i] - '0');       /* A byte below '0' becomes a large one. */
        if (digit > 9) return false;
        sum = sum * 10 + digit;
        if (sum > max) return false;
    }
    *number = sum;
    return true;
}

bool wire_read_refusal(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl)
{
    const char *text = reply->text;
    size_t size = reply->text_size, blank = 0;
    bool is_negative;
    uint64_t ms = 0;

    if (reply->type != RESP_BULK || reply->text_cut) return false;
    while (blank < size && text[blank] != ' ') blank++;
    if (blank == size || !wire_read_decimal(text, blank, WIRE_TICKET_MAX, counter)) return false;
    //@ split blank;
    text += blank + 1;
    size -= blank + 1;
    is_negative = size > 0 && text[0] == '-';
    if (!wire_read_decimal(text + is_negative, size - is_negative, is_negative ? 2 : UINT32_MAX,
                           &ms))
        return false;
    *pttl = is_negative ? -(int64_t)ms : (int64_t)ms;
    return true;
}

/* The end of the first two words of "counter ms turn rank". 0: there are no four. */
size_t wire_first_two_words(const struct wire_reply *reply)
{
    size_t end = 0;
    unsigned blanks = 0;

    for (size_t i = 0; i < reply->text_size; i++) {
        if (reply->text[i] != ' ') continue;
        blanks++;
        if (blanks == 2) end = i;
    }
    return blanks == 3 ? end : 0;
}

bool wire_read_poll_refusal(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl)
{
    struct wire_reply two = *reply;

    two.text_size = wire_first_two_words(reply);
    return wire_read_refusal(&two, counter, pttl);
}

size_t wire_before_wake_up(const struct wire_reply *reply)
{
    static const char begins[] = "messageredlock:";
    enum { SIZE = sizeof begins - 1 + (size_t)2 * REDLOCK_NAME_SIZE };

    if (!wire_begins(reply->text, reply->text_size, begins)) return 0;
    return reply->text_size > SIZE ? (size_t)SIZE : 0;
}

bool wire_read_wake_up(const struct wire_reply *reply, uint32_t *wait_number, uint8_t *slot)
{
    const char *text = reply->text;
    size_t size = reply->text_size, at = 0;
    bool is_reader;
    uint64_t number = 0, of_slot = 0;

    if (reply->type != RESP_ARRAY || reply->integer != 3 || reply->text_cut) return false;
    while (at < size && text[at] != '@') at++;
    //@ split at;
    is_reader = at == size && size > 0 && text[size - 1] == 's';
    if (!wire_read_decimal(text, at - is_reader, UINT32_MAX, &number)) return false;
    if (at < size &&
        !wire_read_decimal(text + at + 1, size - at - 1, REDLOCK_PERMITS_MAX, &of_slot))
        return false;
    *wait_number = (uint32_t)number;
    *slot = (uint8_t)of_slot;
    return true;
}

static enum redlock_trouble read_mode(const char *mode, size_t size)
{
    if (size == 10 && wire_begins(mode, size, "standalone")) return REDLOCK_TROUBLE_NONE;
    if (size == 8 && wire_begins(mode, size, "sentinel"))    return REDLOCK_TROUBLE_SENTINEL;
    return REDLOCK_TROUBLE_CLUSTER;
}

REDLOCK_OUTLINE void wire_read_info(const char *line, size_t size,
                                    struct redlock_identity *identity)
{
    uint64_t uptime_s = 0;
    size_t at, key = wire_begins(line, size, "run_id:");

    if (size < 7) return;
    if (key) identity->has_run_id = wire_token_read(line + key, size - key, identity->run_id);
    key = wire_begins(line, size, "uptime_in_seconds:");
    /* S11: a missing, negative or absurd number is none. */
    if (key && wire_read_decimal(line + key, size - key, WIRE_UPTIME_MAX, &uptime_s))
        identity->uptime_s = (uint32_t)uptime_s;
    /* S30: -1 is none, and so is Garnet's N/A. The last two digits tell one failover from the next.
     * The result is odd, so that it is never 0. */
    key = wire_begins(line, size, "second_repl_offset:");
    if (key && line[size - 2] != '-' && line[size - 1] != 'A')
        identity->history = (uint8_t)(line[size - 2] * 20 + line[size - 1] * 2 + 1);
    key = wire_begins(line, size, "role:");
    if (key) {
        identity->has_role = true;
        if (size != key + 6 || !wire_begins(line + key, 6, "master"))
            identity->trouble = REDLOCK_TROUBLE_REPLICA;
    }
    /* redis_mode; server_mode or valkey_mode, Valkey's names for it; redict_mode, Redict's. */
    at = line[5] == '_' ? 5 : 6;
    key = wire_begins(line + at, size - at, "_mode:");
    if (!key) return;
    identity->has_mode = true;
    if (!identity->trouble)
        identity->trouble = (uint8_t)read_mode(line + at + key, size - at - key);
}

/* The beginnings of errors, in Redis' own words. The first word is a code since 2.6, except ERR,
 * and then follows as much as tells them apart. */
static const struct {
    /* An array, not a pointer, so that there is nothing to relocate and it stays
     * in read-only memory. */
    char begins[15];
    uint8_t trouble;
} troubles[] = {
    { "NOAUTH ", REDLOCK_TROUBLE_NOAUTH },
    { "WRONGPASS ", REDLOCK_TROUBLE_WRONGPASS },
    { "ERR invalid pa", REDLOCK_TROUBLE_WRONGPASS }, /* "... password", before 6.0 */
    { "NOPERM ", REDLOCK_TROUBLE_NOPERM },
    { "ERR The user e",
      REDLOCK_TROUBLE_NOPERM }, /* "... executing the script can't run this command", 7.0 */
    { "ERR ACL failur", REDLOCK_TROUBLE_NOPERM }, /* "... failure in script", 7.2 and Valkey */
    { "LOADING ", REDLOCK_TROUBLE_LOADING },
    { "READONLY ", REDLOCK_TROUBLE_READONLY },
    { "MOVED ", REDLOCK_TROUBLE_MOVED },
    /* The slot is on its way to another server. */
    { "ASK ", REDLOCK_TROUBLE_CLUSTERDOWN },
    /* Some of several keys have arrived there. */
    { "TRYAGAIN ", REDLOCK_TROUBLE_CLUSTERDOWN },
    { "CLUSTERDOWN ", REDLOCK_TROUBLE_CLUSTERDOWN },
    { "OOM ", REDLOCK_TROUBLE_OOM },
    { "MISCONF ", REDLOCK_TROUBLE_MISCONF },
    { "MASTERDOWN ", REDLOCK_TROUBLE_MASTERDOWN },
    { "NOREPLICAS ", REDLOCK_TROUBLE_NOREPLICAS },
    { "BUSY ", REDLOCK_TROUBLE_BUSY },
    { "NOSCRIPT ", REDLOCK_TROUBLE_NOSCRIPT },
    { "WRONGTYPE ", REDLOCK_TROUBLE_WRONGTYPE },
    { "ERR max number", REDLOCK_TROUBLE_MAX_CLIENTS },
    { "AHEAD ", REDLOCK_TROUBLE_AHEAD },
    { "DENIED ", REDLOCK_TROUBLE_DENIED },
};

enum redlock_trouble wire_trouble(const char *text, size_t size)
{
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        if (wire_begins(text, size, troubles[i].begins))
            return (enum redlock_trouble)troubles[i].trouble;
    }
    return REDLOCK_TROUBLE_OTHER_ERROR;
}

/* Errors that end a session are first. Each is a text and its NUL, much smaller than rows of the
 * same length. */
enum redlock_trouble wire_class(const char *text, size_t size)
{
    static const char begins[] =
        "NOAUTH \0LOADING \0READONLY \0CLUSTERDOWN \0MASTERDOWN \0ERR max number\0DENIED \0"
        "MOVED \0NOSCRIPT \0WRONGTYPE \0AHEAD \0";
    static const uint8_t classes[] = { REDLOCK_TROUBLE_NOAUTH,   REDLOCK_TROUBLE_NOAUTH,
                                       REDLOCK_TROUBLE_NOAUTH,   REDLOCK_TROUBLE_NOAUTH,
                                       REDLOCK_TROUBLE_NOAUTH,   REDLOCK_TROUBLE_NOAUTH,
                                       REDLOCK_TROUBLE_NOAUTH,   REDLOCK_TROUBLE_MOVED,
                                       REDLOCK_TROUBLE_NOSCRIPT, REDLOCK_TROUBLE_WRONGTYPE,
                                       REDLOCK_TROUBLE_AHEAD,    REDLOCK_TROUBLE_OTHER_ERROR };
    const char *at = begins;
    unsigned row = 0;

    while (*at != '\0' && !wire_begins(text, size, at)) {
        at = next_text(at, sizeof begins);
        row++;
    }
    return (enum redlock_trouble)classes[row];
}

/* S4: all that is neither yes nor no is unknown. For a release, a key of another type is as
 * good as "gone". */
enum redlock_vote wire_vote(enum redlock_command command, enum redlock_answer answer,
                            enum redlock_trouble trouble)
{
    if (answer == REDLOCK_ANSWER_GRANTED) return REDLOCK_VOTE_GRANTED;
    if (answer == REDLOCK_ANSWER_REFUSED) return REDLOCK_VOTE_REFUSED;
    if (command == REDLOCK_COMMAND_RELEASE && trouble == REDLOCK_TROUBLE_WRONGTYPE)
        return REDLOCK_VOTE_REFUSED;
    return REDLOCK_VOTE_UNKNOWN;
}
