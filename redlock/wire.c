#include "wire.h"

REDLOCK_STATIC_ASSERT(WIRE_WAITERS_LIFE_MS == 60000 && WIRE_WRITER_LIFE_MS == 20000, "scripts say them in digits");
REDLOCK_STATIC_ASSERT(WIRE_FAIR_LEASE_MS == 5000, "the poll says it in digits");

/* ---- Commands ---- */

static void write_hex(const uint8_t *bytes, size_t size, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
}

void wire_token_text(const uint8_t token[REDLOCK_TOKEN_SIZE], char text[REDLOCK_TOKEN_TEXT])
{
    write_hex(token, REDLOCK_TOKEN_SIZE, text);
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

bool wire_token_read(const char *text, size_t size, uint8_t token[REDLOCK_TOKEN_SIZE])
{
    uint8_t read[REDLOCK_TOKEN_SIZE];

    if (size != REDLOCK_TOKEN_TEXT) return false;
    for (size_t i = 0; i < REDLOCK_TOKEN_SIZE; i++) {
        int high = digit_value(text[2 * i]), low = digit_value(text[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        read[i] = (uint8_t)(high << 4 | low);
    }
    copy_bytes(token, read, sizeof read);
    return true;
}

/* The only resource, or the first of several: what commands with one key are about. */
static void put_resource(struct resp_writer *w, const struct wire_subject *s)
{
    resp_bytes(w, s->names[0].bytes, s->names[0].size);
}

size_t wire_value_text(const uint8_t token[REDLOCK_TOKEN_SIZE], const char *holder, char text[REDLOCK_VALUE_TEXT])
{
    size_t size = REDLOCK_TOKEN_TEXT;

    wire_token_text(token, text);
    if (!holder) return size;
    text[size++] = ' ';
    while (*holder != '\0' && size < REDLOCK_VALUE_TEXT) text[size++] = *holder++;
    return size;
}

static void put_value_of(struct resp_writer *w, const uint8_t *token, const char *holder)
{
    char text[REDLOCK_VALUE_TEXT];

    resp_bytes(w, text, wire_value_text(token, holder, text));
}

static void put_value(struct resp_writer *w, const struct wire_subject *s)
{
    put_value_of(w, s->token, s->holder);
}

/* S6: a release names what was put there. */
static void put_placed(struct resp_writer *w, const struct wire_subject *s)
{
    put_value_of(w, s->placed, s->holder);
}

enum { NAME_TEXT = 2 * REDLOCK_NAME_SIZE, ENTRY_ROOM = NAME_TEXT + 1 + RESP_DIGITS_MAX };

/* A lock's entry among the waiters: see wire.h. It ends where text ends; returns where it begins. */
static size_t write_entry(char text[ENTRY_ROOM], const uint8_t engine[REDLOCK_NAME_SIZE], uint32_t number)
{
    size_t at = NAME_TEXT + 1 + resp_decimal(text + NAME_TEXT + 1, number);

    text[--at] = ':';
    at -= NAME_TEXT;
    write_hex(engine, REDLOCK_NAME_SIZE, text + at);
    return at;
}

static void put_entry(struct resp_writer *w, const struct wire_subject *s)
{
    char text[ENTRY_ROOM];
    size_t at = write_entry(text, s->engine, s->wait_number);

    resp_bytes(w, text + at, sizeof text - at);
}

enum {
    SHA1_TEXT = 40,     /* Hex digits. */
    BEFORE_REST = sizeof "*11\r\n$7\r\nEVALSHA\r\n$40\r\n\r\n" - 1 + SHA1_TEXT,     /* Of a command by EVALSHA, and */
    AROUND_TEXT = sizeof "$1234\r\n\r\n" - 1      /* what is around the text of a script in one by EVAL. */
};
REDLOCK_STATIC_ASSERT(WIRE_LONGEST_MAX - BEFORE_REST + AROUND_TEXT <= WIRE_COMMAND_MAX,
                      "behind a text for which put_script_text() finds room there is room for the rest of any command");

/* A script goes out in one write with what is around it where the buffer has room for it and for the rest of any command; else it
 * is sent from where it lies. A command that found no room for its rest would wait for the buffer to empty, perhaps for ever: it
 * may be empty, and its size be just that. */
static void put_script_text(struct resp_writer *w, const char *text)
{
    size_t room = w->size - w->used;

    if (length_of(text, room) + REDLOCK_RESOURCE_MAX + WIRE_COMMAND_MAX + WIRE_HOLDER_ROOM <= room) resp_text(w, text);
    else                                                                       resp_apart(w, text);
}

/* EVALSHA, or EVAL, of a script with the resources as its keys; its arguments come behind them. */
static void put_script(struct resp_writer *w, const struct wire_row *script, enum wire_form form, const struct wire_subject *s)
{
    bool by_text = form == WIRE_BY_TEXT;

    resp_command(w, 3 + s->name_count + script->argument_count);
    resp_bytes(w, "EVALSHA", by_text ? sizeof "EVAL" - 1 : sizeof "EVALSHA" - 1);
    if (by_text) put_script_text(w, script->text);
    else         resp_bytes(w, script->sha1, SHA1_TEXT);
    resp_size(w, s->name_count);
    for (unsigned i = 0; i < s->name_count; i++) resp_bytes(w, s->names[i].bytes, s->names[i].size);
}

bool wire_put(struct resp_writer *w, const struct wire_row *row, enum wire_form form, const struct wire_subject *subject)
{
    if (row->text) put_script(w, row, form, subject);
    row->put(w, subject);
    return resp_end(w);
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

static bool text_is(const struct wire_reply *reply, const char *text)
{
    size_t length = wire_begins(reply->text, reply->text_size, text);

    return length > 0 && length == reply->text_size && !reply->text_cut;
}

/* ---- The table: a row for each command of a lock ---- */

/* Texts are arrays, not literals: those of all functions are in one section, which a linker keeps whole. */

static void put_set(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->ttl_ms > 0 && s->name_count == 1);
    resp_command(w, 6);
    resp_bytes(w, "SET", sizeof "SET" - 1);
    put_resource(w, s);
    put_value(w, s);
    resp_bytes(w, "NX", sizeof "NX" - 1);
    resp_bytes(w, "PX", sizeof "PX" - 1);
    resp_size(w, s->ttl_ms);
}

static const struct wire_row plain_acquire = { .put = put_set };

static void put_acquire(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->ttl_ms > 0 && s->ticket <= WIRE_TICKET_MAX);
    put_value(w, s);
    resp_size(w, s->ttl_ms);
    resp_number(w, (int64_t)s->ticket);
    resp_size(w, s->life_ms);
    resp_size(w, s->skew_ms);
}

const struct redlock_kind *wire_scripted_kind(void)
{
    static const char text[] = WIRE_ACQUIRE_SCRIPT, sha1[] = WIRE_ACQUIRE_SHA1;
    static const struct wire_row row = {
        .text = text, .sha1 = sha1, .put = put_acquire, .argument_count = 5, .read_refusal = wire_read_refusal
    };
    static const char restore_text[] = WIRE_RESTORE_SCRIPT, restore_sha1[] = WIRE_RESTORE_SHA1;
    static const struct wire_row restore = { .text = restore_text, .sha1 = restore_sha1, .put = put_acquire, .argument_count = 5 };
    static const struct redlock_kind kind = { .rows = { [KIND_ACQUIRE] = &row, [KIND_RESTORE] = &restore } };

    return &kind;
}

static void put_permit(struct resp_writer *w, struct redlock_permit permit)
{
    resp_size(w, permit.count);
    resp_size(w, permit.slot);
}

static void put_permit_restore(struct resp_writer *w, const struct wire_subject *s)
{
    put_acquire(w, s);
    put_permit(w, s->permit);
}

/* "": it has none. */
static void put_entry_if_any(struct resp_writer *w, const struct wire_subject *s)
{
    if (s->wait_number > 0) put_entry(w, s);
    else                    resp_text(w, "");
}

static void put_permit_acquire(struct resp_writer *w, const struct wire_subject *s)
{
    put_permit_restore(w, s);
    put_entry_if_any(w, s);
}

static void put_extend(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->ttl_ms > 0);       /* S7: PEXPIRE with 0 would delete the key. */
    put_value(w, s);
    resp_size(w, s->ttl_ms);
}

/* A client that has an entry among the waiters gives it back. */
static void put_wake(struct resp_writer *w, const struct wire_subject *s)
{
    put_placed(w, s);
    put_entry_if_any(w, s);
}

static void put_permit_extend(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->permit.slot > 0);
    put_extend(w, s);
    put_permit(w, s->permit);
}

static void put_permit_wake(struct resp_writer *w, const struct wire_subject *s)
{
    put_wake(w, s);
    put_permit(w, s->permit);
}

/* No slot is that whose end wakes. */
static void put_permit_release(struct resp_writer *w, const struct wire_subject *s)
{
    put_placed(w, s);
    resp_text(w, "");
    put_permit(w, (struct redlock_permit){ .count = s->permit.count });
}

const struct redlock_kind *wire_permit_kind(void)
{
    static const char acquire_text[] = WIRE_PERMIT_ACQUIRE_SCRIPT, acquire_sha1[] = WIRE_PERMIT_ACQUIRE_SHA1;
    static const char restore_text[] = WIRE_PERMIT_RESTORE_SCRIPT, restore_sha1[] = WIRE_PERMIT_RESTORE_SHA1;
    static const char extend_text[] = WIRE_PERMIT_EXTEND_SCRIPT, extend_sha1[] = WIRE_PERMIT_EXTEND_SHA1;
    static const char release_text[] = WIRE_PERMIT_RELEASE_SCRIPT, release_sha1[] = WIRE_PERMIT_RELEASE_SHA1;
    static const struct wire_row acquire = {
        .text = acquire_text, .sha1 = acquire_sha1, .put = put_permit_acquire, .argument_count = 8,
        .read_refusal = wire_read_refusal, .lowest = 1, .highest = REDLOCK_PERMITS_MAX
    };
    static const struct wire_row restore = {
        .text = restore_text, .sha1 = restore_sha1, .put = put_permit_restore, .argument_count = 7
    };
    static const struct wire_row extend = {
        .text = extend_text, .sha1 = extend_sha1, .put = put_permit_extend, .argument_count = 4, .lowest = 0, .highest = 1
    };
    static const struct wire_row release = {
        .text = release_text, .sha1 = release_sha1, .put = put_permit_release, .argument_count = 4, .lowest = 0, .highest = 1
    };
    static const struct wire_row wake = {
        .text = release_text, .sha1 = release_sha1, .put = put_permit_wake, .argument_count = 4, .lowest = 0, .highest = 2
    };
    static const struct redlock_kind kind = {
        .rows = { [KIND_ACQUIRE] = &acquire, [KIND_RESTORE] = &restore, [KIND_EXTEND] = &extend, [KIND_RELEASE] = &release,
                  [KIND_WAKE] = &wake }
    };

    return &kind;
}

/* ---- What an engine has in common with its nodes ---- */

static const struct wire_row *loaded_by(enum wire_command command, const struct redlock_scripts *scripts)
{
    return scripts->plain.rows[command == WIRE_LOAD_RELEASE ? KIND_RELEASE : KIND_EXTEND];
}

static void put_load(struct resp_writer *w, enum wire_command command, const struct redlock_scripts *scripts)
{
    resp_command(w, 3);
    resp_text(w, "SCRIPT");
    resp_text(w, "LOAD");
    put_script_text(w, loaded_by(command, scripts)->text);
}

static bool is_load_left_out(enum wire_command command, const struct redlock_login *login, bool is_subscription)
{
    (void)login;
    return is_subscription || command == WIRE_CANARY;
}

/* A script that was not loaded is sent when it is needed. */
static enum wire_answer read_load(struct redlock_node *node, const struct redlock_asked *asked,
                                  const struct redlock_scripts *scripts, const struct wire_reply *reply)
{
    enum wire_command command = (enum wire_command)asked->command;
    enum wire_answer meaning = wire_read_any(asked, reply);

    (void)node;
    if (command != WIRE_LOAD_RELEASE && command != WIRE_LOAD_EXTEND) return meaning;
    if (meaning == WIRE_GRANTED && !text_is(reply, loaded_by(command, scripts)->sha1)) return WIRE_WRONG;
    return meaning == WIRE_ERROR && wire_class(reply->text, reply->text_size) == REDLOCK_TROUBLE_NOPERM ? WIRE_GRANTED : meaning;
}

static const struct wire_loading loading_feature = { is_load_left_out, put_load, read_load };

const struct wire_loading *wire_loading(void)
{
    return &loading_feature;
}

static void put_subscribe(struct resp_writer *w, const uint8_t engine[REDLOCK_NAME_SIZE])
{
    char channel[sizeof "redlock:" - 1 + (size_t)2 * REDLOCK_NAME_SIZE] = "redlock:";

    write_hex(engine, REDLOCK_NAME_SIZE, channel + sizeof "redlock:" - 1);
    resp_command(w, 2);
    resp_text(w, "SUBSCRIBE");
    resp_bytes(w, channel, sizeof channel);
}

static const char extend_one_text[] = WIRE_EXTEND_ONE_SCRIPT, release_one_text[] = WIRE_RELEASE_ONE_SCRIPT;

const struct redlock_scripts *wire_scripts_for_one(void)
{
    static const struct wire_row extend = {
        .text = extend_one_text, .put = put_extend, .argument_count = 2, .lowest = 0, .highest = 1
    };
    static const struct wire_row release = {
        .text = release_one_text, .put = put_placed, .argument_count = 1, .lowest = -1, .highest = 1
    };
    static const struct redlock_scripts scripts = {
        .plain = { .rows = { [KIND_ACQUIRE] = &plain_acquire, [KIND_RESTORE] = &plain_acquire, [KIND_EXTEND] = &extend,
                             [KIND_RELEASE] = &release } }
    };

    return &scripts;
}

const struct redlock_scripts *wire_scripts_for_one_loaded(void)
{
    static const char extend_sha1[] = WIRE_EXTEND_ONE_SHA1, release_sha1[] = WIRE_RELEASE_ONE_SHA1;
    static const struct wire_row extend = {
        .text = extend_one_text, .sha1 = extend_sha1, .put = put_extend, .argument_count = 2, .lowest = 0, .highest = 1
    };
    static const struct wire_row release = {
        .text = release_one_text, .sha1 = release_sha1, .put = put_placed, .argument_count = 1, .lowest = -1, .highest = 1
    };
    static const struct redlock_scripts scripts = {
        .plain = { .rows = { [KIND_ACQUIRE] = &plain_acquire, [KIND_RESTORE] = &plain_acquire, [KIND_EXTEND] = &extend,
                             [KIND_RELEASE] = &release } },
        .loading = &loading_feature
    };

    return &scripts;
}

const struct redlock_scripts *wire_scripts_for_all(void)
{
    static const char extend_text[] = WIRE_EXTEND_SCRIPT, extend_sha1[] = WIRE_EXTEND_SHA1;
    static const char release_text[] = WIRE_RELEASE_SCRIPT, release_sha1[] = WIRE_RELEASE_SHA1;
    static const struct wire_row extend = {
        .text = extend_text, .sha1 = extend_sha1, .put = put_extend, .argument_count = 2, .lowest = 0, .highest = 1
    };
    static const struct wire_row release = {
        .text = release_text, .sha1 = release_sha1, .put = put_placed, .argument_count = 1, .lowest = -1, .highest = 1
    };
    static const struct wire_row wake = {
        .text = release_text, .sha1 = release_sha1, .put = put_wake, .argument_count = 2, .lowest = -1, .highest = 2
    };
    static const struct redlock_scripts scripts = {
        .plain = { .rows = { [KIND_ACQUIRE] = &plain_acquire, [KIND_RESTORE] = &plain_acquire, [KIND_EXTEND] = &extend,
                             [KIND_RELEASE] = &release, [KIND_WAKE] = &wake } },
        .loading = &loading_feature, .put_subscribe = put_subscribe
    };

    return &scripts;
}

static void put_wait(struct resp_writer *w, const struct wire_subject *s)
{
    put_entry(w, s);
    resp_number(w, (int64_t)s->arrived_at);
    resp_size(w, WIRE_WAITERS_LIFE_MS);
}

const struct wire_row *wire_wait(void)
{
    static const char text[] = WIRE_WAIT_SCRIPT, sha1[] = WIRE_WAIT_SHA1;
    static const struct wire_row row = { .text = text, .sha1 = sha1, .put = put_wait, .argument_count = 3 };

    return &row;
}

static void put_permit_wait(struct resp_writer *w, const struct wire_subject *s)
{
    put_wait(w, s);
    resp_size(w, s->permit.count);
}

const struct wire_row *wire_permit_wait(void)
{
    static const char text[] = WIRE_PERMIT_WAIT_SCRIPT, sha1[] = WIRE_PERMIT_WAIT_SHA1;
    static const struct wire_row row = { .text = text, .sha1 = sha1, .put = put_permit_wait, .argument_count = 4 };

    return &row;
}

/* ---- Shared locks ---- */

/* The role that the lock has, or takes, of each resource. */
static void put_modes(struct resp_writer *w, const struct wire_subject *s)
{
    char modes[REDLOCK_SET_MAX];

    for (unsigned i = 0; i < s->name_count; i++) modes[i] = s->names[i].shared ? 's' : 'x';
    resp_bytes(w, modes, s->name_count);
}

static void put_hex(struct resp_writer *w, const uint8_t token[REDLOCK_TOKEN_SIZE])
{
    char text[REDLOCK_TOKEN_TEXT];

    wire_token_text(token, text);
    resp_bytes(w, text, sizeof text);
}

static bool is_of_holder(const struct wire_subject *s)
{
    return s->phase == REDLOCK_PHASE_HELD || s->phase == REDLOCK_PHASE_EXTENDING;
}

/* When it arrived, among those that wait: whoever does not wait is the last. */
static void put_shared_acquire(struct resp_writer *w, const struct wire_subject *s)
{
    uint64_t arrived_at = s->arrived_at > 0 ? s->arrived_at : WIRE_TICKET_MAX;

    put_acquire(w, s);
    put_modes(w, s);
    resp_number(w, (int64_t)arrived_at);
}

/* A holder steps back for nobody; and shows no ticket, since a counter may have been raised by an attempt that failed. */
static void put_shared_restore(struct resp_writer *w, const struct wire_subject *s)
{
    struct wire_subject subject = *s;

    subject.ticket = 0;
    put_acquire(w, &subject);
    put_modes(w, s);
    resp_size(w, 0);
}

static void put_shared_extend(struct resp_writer *w, const struct wire_subject *s)
{
    put_extend(w, s);
    put_modes(w, s);
}

/* By the other token it was there in its other role. */
static void put_role(struct resp_writer *w, const struct wire_subject *s)
{
    put_shared_extend(w, s);
    put_hex(w, s->placed);
    resp_number(w, (int64_t)s->ticket);
    resp_size(w, s->life_ms);
    resp_size(w, s->skew_ms);
}

/* S6: while it is held, a release is of an older attempt. */
static void put_other(struct resp_writer *w, const struct wire_subject *s)
{
    put_hex(w, is_of_holder(s) ? s->placed : s->token);
}

static void put_release_both(struct resp_writer *w, const struct wire_subject *s)
{
    put_placed(w, s);
    resp_text(w, "-");
    put_other(w, s);
}

static void put_wake_both(struct resp_writer *w, const struct wire_subject *s)
{
    put_wake(w, s);
    put_other(w, s);
}

static const char shared_acquire_text[] = WIRE_SHARED_ACQUIRE_SCRIPT, shared_acquire_sha1[] = WIRE_SHARED_ACQUIRE_SHA1;
static const char shared_extend_text[] = WIRE_SHARED_EXTEND_SCRIPT, shared_extend_sha1[] = WIRE_SHARED_EXTEND_SHA1;
static const char shared_release_text[] = WIRE_SHARED_RELEASE_SCRIPT, shared_release_sha1[] = WIRE_SHARED_RELEASE_SHA1;

static const struct wire_row shared_acquire = {
    .text = shared_acquire_text, .sha1 = shared_acquire_sha1, .put = put_shared_acquire, .argument_count = 7,
    .read_refusal = wire_read_refusal
};
static const struct wire_row shared_restore = {
    .text = shared_acquire_text, .sha1 = shared_acquire_sha1, .put = put_shared_restore, .argument_count = 7
};
static const struct wire_row shared_extend = {
    .text = shared_extend_text, .sha1 = shared_extend_sha1, .put = put_shared_extend, .argument_count = 3, .lowest = 0, .highest = 1
};
static const struct wire_row shared_role = {
    .text = shared_extend_text, .sha1 = shared_extend_sha1, .put = put_role, .argument_count = 7, .lowest = -2, .highest = 1
};
static const struct wire_row shared_release = {
    .text = shared_release_text, .sha1 = shared_release_sha1, .put = put_placed, .argument_count = 1, .lowest = -1, .highest = 1
};
static const struct wire_row shared_wake = {
    .text = shared_release_text, .sha1 = shared_release_sha1, .put = put_wake, .argument_count = 2, .lowest = -1, .highest = 2
};
static const struct wire_row shared_release_both = {
    .text = shared_release_text, .sha1 = shared_release_sha1, .put = put_release_both, .argument_count = 3, .lowest = -1,
    .highest = 1
};
static const struct wire_row shared_wake_both = {
    .text = shared_release_text, .sha1 = shared_release_sha1, .put = put_wake_both, .argument_count = 3, .lowest = -1, .highest = 2
};

/* A writer's key is set again as that of any writer. */
const struct redlock_kind *wire_shared_kind(enum wire_shared which)
{
#define ROWS_OF_BOTH [KIND_EXTEND] = &shared_role, [KIND_RELEASE] = &shared_release_both, [KIND_WAKE] = &shared_wake_both
    static const struct redlock_kind kinds[WIRE_SHARED_KINDS] = {
        [WIRE_SHARED] = { .rows = { [KIND_ACQUIRE] = &shared_acquire, [KIND_RESTORE] = &shared_restore,
                                    [KIND_EXTEND] = &shared_extend, [KIND_RELEASE] = &shared_release,
                                    [KIND_WAKE] = &shared_wake } },
        [WIRE_UPGRADING] = { .rows = { ROWS_OF_BOTH } },
        [WIRE_UPGRADED] = { .rows = { ROWS_OF_BOTH } },
        [WIRE_UNDOING] = { .rows = { ROWS_OF_BOTH, [KIND_RESTORE] = &shared_restore } },
        [WIRE_CANCELLED] = { .rows = { ROWS_OF_BOTH, [KIND_RESTORE] = &shared_restore } },
        [WIRE_DOWNGRADED] = { .rows = { ROWS_OF_BOTH, [KIND_RESTORE] = &shared_restore } },
    };
#undef ROWS_OF_BOTH

    return &kinds[which];
}

const struct wire_row *wire_release_of_waiter(void)
{
    return &shared_wake;
}

static void put_shared_wait(struct resp_writer *w, const struct wire_subject *s)
{
    put_wait(w, s);
    put_modes(w, s);
}

const struct wire_row *wire_shared_wait(void)
{
    static const char text[] = WIRE_SHARED_WAIT_SCRIPT, sha1[] = WIRE_SHARED_WAIT_SHA1;
    static const struct wire_row row = { .text = text, .sha1 = sha1, .put = put_shared_wait, .argument_count = 4 };

    return &row;
}

/* ---- Fair locks ---- */

enum { PLACE_ROOM = RESP_DIGITS_MAX + 1 + RESP_DIGITS_MAX + 1 + 1 + 1 + ENTRY_ROOM };

/* A number and a blank in front of what begins there; returns where they begin. */
static size_t write_before(char text[PLACE_ROOM], size_t at, uint32_t number)
{
    text[--at] = ' ';
    return at - RESP_DIGITS_MAX + resp_decimal(text + at - RESP_DIGITS_MAX, number);
}

/* Of the same length in each command of one lock, whatever a wake-up has made of its number meanwhile. "": it has none. */
static size_t write_place_entry(char text[ENTRY_ROOM], const struct wire_subject *s)
{
    return s->place->entry > 0 ? write_entry(text, s->engine, s->place->entry) : ENTRY_ROOM;
}

/* One word, since the longest command of all may not be longer. */
static void put_place(struct resp_writer *w, const struct wire_subject *s)
{
    char text[PLACE_ROOM];
    size_t at = PLACE_ROOM - ENTRY_ROOM + write_place_entry(text + PLACE_ROOM - ENTRY_ROOM, s);

    REDLOCK_CHECK(!s->place->renew || s->place->turn > 0);
    text[--at] = ' ';
    text[--at] = (char)('0' + s->place->renew);
    at = write_before(text, at, s->place->poll);
    at = write_before(text, at, s->place->turn);
    resp_bytes(w, text + at, sizeof text - at);
}

static void put_poll(struct resp_writer *w, const struct wire_subject *s)
{
    put_acquire(w, s);
    put_place(w, s);
}

static void put_leave(struct resp_writer *w, const struct wire_subject *s)
{
    char text[ENTRY_ROOM];
    size_t at = write_place_entry(text, s);

    put_placed(w, s);
    resp_bytes(w, text + at, sizeof text - at);
}

static void put_leave_and_wake(struct resp_writer *w, const struct wire_subject *s)
{
    put_leave(w, s);
    resp_text(w, "1");
}

static bool read_poll_refusal(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl);

const struct redlock_kind *wire_fair_kind(void)
{
    static const char acquire_text[] = WIRE_FAIR_ACQUIRE_SCRIPT, acquire_sha1[] = WIRE_FAIR_ACQUIRE_SHA1;
    static const char restore_text[] = WIRE_FAIR_RESTORE_SCRIPT, restore_sha1[] = WIRE_FAIR_RESTORE_SHA1;
    static const char extend_text[] = WIRE_FAIR_EXTEND_SCRIPT, extend_sha1[] = WIRE_FAIR_EXTEND_SHA1;
    static const char release_text[] = WIRE_FAIR_RELEASE_SCRIPT, release_sha1[] = WIRE_FAIR_RELEASE_SHA1;
    static const struct wire_row acquire = {
        .text = acquire_text, .sha1 = acquire_sha1, .put = put_poll, .argument_count = 6, .read_refusal = read_poll_refusal
    };
    static const struct wire_row restore = {
        .text = restore_text, .sha1 = restore_sha1, .put = put_acquire, .argument_count = 5
    };
    static const struct wire_row extend = {
        .text = extend_text, .sha1 = extend_sha1, .put = put_extend, .argument_count = 2, .lowest = 0, .highest = 1
    };
    static const struct wire_row release = {
        .text = release_text, .sha1 = release_sha1, .put = put_leave, .argument_count = 2, .lowest = -1, .highest = 1
    };
    static const struct wire_row wake = {
        .text = release_text, .sha1 = release_sha1, .put = put_leave_and_wake, .argument_count = 3, .lowest = -1, .highest = 2
    };
    static const struct redlock_kind kind = {
        .rows = { [KIND_ACQUIRE] = &acquire, [KIND_RESTORE] = &restore, [KIND_EXTEND] = &extend, [KIND_RELEASE] = &release,
                  [KIND_WAKE] = &wake }
    };

    return &kind;
}

/* ---- Redisson's (S26) ---- */

static const char channel_prefix[] = "redisson_lock__channel:";

enum { CHANNEL_MAX = sizeof channel_prefix - 1 + 2 + REDLOCK_RESOURCE_MAX };

static bool has_brace(const struct redlock_name *name)
{
    const char *bytes = (const char *)name->bytes;
    size_t i = 0;

    while (i < name->size && bytes[i] != '{') i++;
    return i < name->size;
}

/* As Redisson calls it; returns its size. */
static size_t channel_of(const struct redlock_name *name, char text[CHANNEL_MAX])
{
    size_t size = sizeof channel_prefix - 1;
    bool is_bare = has_brace(name);

    copy_bytes(text, channel_prefix, size);
    if (!is_bare) text[size++] = '{';
    copy_bytes(text + size, name->bytes, name->size);
    size += name->size;
    if (!is_bare) text[size++] = '}';
    return size;
}

bool wire_put_listening(struct resp_writer *w, bool begins, const struct redlock_name *name)
{
    static const char words[] = "UNSUBSCRIBE";
    char channel[CHANNEL_MAX];

    resp_command(w, 2);
    resp_text(w, words + (begins ? 2 : 0));
    resp_bytes(w, channel, channel_of(name, channel));
    return resp_end(w);
}

/* In the order of enum wire_heard. */
static const char heard_words[][sizeof "unsubscribe"] = { "", "message", "subscribe", "unsubscribe" };

enum wire_heard wire_read_heard(const struct wire_reply *reply)
{
    if (reply->type != RESP_ARRAY || reply->integer != 3) return WIRE_HEARD_NOTHING;
    for (unsigned i = WIRE_HEARD_MESSAGE; i <= WIRE_HEARD_UNSUBSCRIBED; i++) {
        size_t size = wire_begins(reply->text, reply->text_size, heard_words[i]);
        if (size > 0 && wire_begins(reply->text + size, reply->text_size - size, channel_prefix)) return (enum wire_heard)i;
    }
    return WIRE_HEARD_NOTHING;
}

bool wire_is_heard_of(const struct wire_reply *reply, enum wire_heard heard, const struct redlock_name *name)
{
    char channel[CHANNEL_MAX];
    size_t before = wire_begins(reply->text, reply->text_size, heard_words[heard]), size = channel_of(name, channel);
    size_t told = reply->text_size - before;

    if (told < size && !reply->text_cut) return false;
    return are_same_bytes(reply->text + before, channel, told < size ? told : size);
}

/* S6: of the attempt's token, whose first 16 bytes are the UUID and the last 4 the number. */
size_t wire_redisson_field(const uint8_t token[REDLOCK_TOKEN_SIZE], char text[REDLOCK_REDISSON_FIELD])
{
    enum { UUID_BYTES = 16 };
    char digits[RESP_DIGITS_MAX];
    uint32_t number = 0;
    size_t size = 0, at;

    for (unsigned i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text[size++] = '-';
        write_hex(token + i, 1, text + size);
        size += 2;
    }
    text[size++] = ':';
    for (unsigned i = UUID_BYTES; i < REDLOCK_TOKEN_SIZE; i++) number = number << 8 | token[i];
    at = resp_decimal(digits, number);
    copy_bytes(text + size, digits + at, sizeof digits - at);
    return size + sizeof digits - at;
}

static void put_redisson_field(struct resp_writer *w, const uint8_t token[REDLOCK_TOKEN_SIZE])
{
    char text[REDLOCK_REDISSON_FIELD];

    resp_bytes(w, text, wire_redisson_field(token, text));
}

static void put_redisson(struct resp_writer *w, const struct wire_subject *s)
{
    REDLOCK_CHECK(s->ttl_ms > 0 && s->name_count == 1);     /* S7: PEXPIRE with 0 would delete the key. */
    put_redisson_field(w, s->token);
    resp_size(w, s->ttl_ms);
}

static void put_redisson_release(struct resp_writer *w, const struct wire_subject *s)
{
    put_redisson_field(w, s->placed);
}

/* A restore is what a node gets that has lost what a quorum holds, so the only node gets none; it would be a grant like another. */
const struct redlock_kind *wire_redisson_kind(void)
{
    static const char acquire_text[] = WIRE_REDISSON_ACQUIRE_SCRIPT, acquire_sha1[] = WIRE_REDISSON_ACQUIRE_SHA1;
    static const char extend_text[] = WIRE_REDISSON_EXTEND_SCRIPT, extend_sha1[] = WIRE_REDISSON_EXTEND_SHA1;
    static const char release_text[] = WIRE_REDISSON_RELEASE_SCRIPT, release_sha1[] = WIRE_REDISSON_RELEASE_SHA1;
    static const struct wire_row acquire = {
        .text = acquire_text, .sha1 = acquire_sha1, .put = put_redisson, .argument_count = 2, .read_refusal = wire_read_refusal
    };
    static const struct wire_row extend = {
        .text = extend_text, .sha1 = extend_sha1, .put = put_redisson, .argument_count = 2, .lowest = 0, .highest = 1
    };
    static const struct wire_row release = {
        .text = release_text, .sha1 = release_sha1, .put = put_redisson_release, .argument_count = 1, .lowest = -1, .highest = 2
    };
    static const struct redlock_kind kind = {
        .rows = { [KIND_ACQUIRE] = &acquire, [KIND_RESTORE] = &acquire, [KIND_EXTEND] = &extend, [KIND_RELEASE] = &release,
                  [KIND_WAKE] = &release }
    };

    return &kind;
}

static void put_pttl(struct resp_writer *w, const struct wire_subject *s)
{
    resp_command(w, 2);
    resp_text(w, "PTTL");
    put_resource(w, s);
}

const struct wire_row *wire_pttl(void)
{
    static const struct wire_row row = { .put = put_pttl };

    return &row;
}

static void put_getrange(struct resp_writer *w, const struct wire_subject *s)
{
    resp_command(w, 4);
    resp_text(w, "GETRANGE");
    put_resource(w, s);
    resp_size(w, 0);
    resp_size(w, WIRE_VALUE_MAX - 1);
}

const struct wire_row *wire_getrange(void)
{
    static const struct wire_row row = { .put = put_getrange };

    return &row;
}

/* ---- The handshake ---- */

/* A command of words without blanks. */
static void put_words(struct resp_writer *w, unsigned count, const char *words)
{
    resp_command(w, count);
    for (size_t size; count > 0; count--, words += size + 1) {
        for (size = 0; words[size] > ' ';) size++;
        resp_bytes(w, words, size);
    }
}

static void put_select(struct resp_writer *w, uint32_t database)
{
    resp_command(w, 2);
    resp_text(w, "SELECT");
    resp_size(w, database);
}

static void put_auth(struct resp_writer *w, const struct redlock_login *login)
{
    resp_command(w, login->user ? 3 : 2);
    resp_text(w, "AUTH");
    if (login->user) resp_text(w, login->user);
    resp_text(w, login->password);
}

bool wire_put_handshake(struct resp_writer *w, enum wire_command command, const struct redlock_login *login,
                       const struct redlock_scripts *scripts, const uint8_t engine[REDLOCK_NAME_SIZE])
{
    switch (command) {
    case WIRE_AUTH:         put_auth(w, login); break;
    case WIRE_SELECT:       put_select(w, login->database); break;
    case WIRE_SETNAME:      put_words(w, 3, "CLIENT SETNAME redlock"); break;
    case WIRE_INFO:         put_words(w, 1, "INFO"); break;
    case WIRE_ROLE:         put_words(w, 1, "ROLE"); break;
    case WIRE_SUBSCRIBE:    scripts->put_subscribe(w, engine); break;
    default:                scripts->loading->put(w, command, scripts);
    }
    return resp_end(w);
}

bool wire_is_left_out(enum wire_command command, const struct redlock_login *login, const struct redlock_scripts *scripts,
                      bool is_subscription)
{
    switch (command) {
    case WIRE_AUTH:      return !login->password;
    case WIRE_SETNAME:   return false;
    case WIRE_SUBSCRIBE: return !is_subscription;
    case WIRE_SELECT:    return is_subscription || login->database == 0;
    case WIRE_INFO:
    case WIRE_ROLE:      return is_subscription;
    default:             return !scripts->loading || scripts->loading->is_left_out(command, login, is_subscription);
    }
}

/* ---- Answers ---- */

static enum wire_answer read_ok(const struct wire_reply *reply)
{
    bool is_ok = reply->text_size == 2 && !reply->text_cut && reply->text[0] == 'O' && reply->text[1] == 'K';

    return reply->type == RESP_SIMPLE && is_ok ? WIRE_GRANTED : WIRE_WRONG;
}

/* A refusal that tells of no ticket is one as well: somebody uses the counter's key for what is his. */
static bool is_refusal(const struct redlock_asked *asked, const struct wire_reply *reply)
{
    return reply->type == (asked->form != WIRE_PLAIN ? RESP_BULK : RESP_NULL_BULK);
}

static enum wire_answer read_script(const struct redlock_asked *asked, const struct wire_reply *reply)
{
    if (reply->type != RESP_INTEGER || reply->integer < asked->lowest || reply->integer > asked->highest) return WIRE_WRONG;
    return reply->integer >= 1 ? WIRE_GRANTED : WIRE_REFUSED;
}

static enum wire_answer granted_if(bool right)
{
    return right ? WIRE_GRANTED : WIRE_WRONG;
}

enum wire_answer wire_read(const struct redlock_asked *asked, const struct wire_reply *reply)
{
    if (reply->type == RESP_ERROR) return WIRE_ERROR;
    switch (asked->command) {
    case WIRE_NONE:         return WIRE_WRONG;
    case WIRE_INFO:         return granted_if(reply->type == RESP_BULK);
    case WIRE_ROLE:         return granted_if(reply->type == RESP_ARRAY && reply->integer >= 2 && reply->text_size > 0);
    case WIRE_WAIT:
    case WIRE_PTTL:         return granted_if(reply->type == RESP_INTEGER && reply->integer >= -2);
    case WIRE_GETRANGE:     return granted_if(reply->type == RESP_BULK);
    case WIRE_ACQUIRE:
    case WIRE_RESTORE:      if (is_refusal(asked, reply)) return WIRE_REFUSED; break;
    default:                break;
    }
    /* S3: only +OK is a grant, or, of a script that tells numbers (of a permit: which slot), one of those. */
    return asked->lowest == asked->highest ? read_ok(reply) : read_script(asked, reply);
}

enum wire_answer wire_read_any(const struct redlock_asked *asked, const struct wire_reply *reply)
{
    if (reply->type == RESP_ERROR) return WIRE_ERROR;
    switch (asked->command) {
    case WIRE_LOAD_RELEASE:
    case WIRE_LOAD_EXTEND:  return granted_if(reply->type == RESP_BULK);
    case WIRE_SUBSCRIBE:    return granted_if(reply->type == RESP_ARRAY && reply->integer == 3);
    case WIRE_CANARY:       return reply->type == RESP_NULL_BULK ? WIRE_REFUSED : granted_if(reply->type == RESP_BULK);
    default:                return wire_read(asked, reply);
    }
}

/* Decimal digits, and nothing else, of a number up to max < 2^60. */
static bool read_decimal(const char *text, size_t size, uint64_t max, uint64_t *number)
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
    if (blank == size || !read_decimal(text, blank, WIRE_TICKET_MAX, counter)) return false;
    //@ split blank;
    text += blank + 1;
    size -= blank + 1;
    is_negative = size > 0 && text[0] == '-';
    if (!read_decimal(text + is_negative, size - is_negative, is_negative ? 2 : UINT32_MAX, &ms)) return false;
    *pttl = is_negative ? -(int64_t)ms : (int64_t)ms;
    return true;
}

/* "counter ms turn rank": where the first two words end. 0: there are no four. */
static size_t first_two_words(const struct wire_reply *reply)
{
    size_t blanks[3] = { 0 };
    unsigned count = 0;

    if (reply->type != RESP_BULK || reply->text_cut) return 0;
    for (size_t i = 0; i < reply->text_size; i++) {
        if (reply->text[i] != ' ') continue;
        if (count == 3) return 0;
        blanks[count++] = i;
    }
    return count == 3 ? blanks[1] : 0;
}

static bool read_poll_refusal(const struct wire_reply *reply, uint64_t *counter, int64_t *pttl)
{
    struct wire_reply two = *reply;

    two.text_size = first_two_words(reply);
    return wire_read_refusal(&two, counter, pttl);
}

bool wire_read_fair_refusal(const struct wire_reply *reply, uint32_t *turn, int32_t *rank)
{
    size_t at = first_two_words(reply) + 1, blank = at;
    bool is_negative;
    uint64_t largest = 0, number = 0;

    if (at == 1) return false;
    while (reply->text[blank] != ' ') blank++;
    if (!read_decimal(reply->text + at, blank - at, UINT32_MAX, &largest)) return false;
    at = blank + 1;
    is_negative = at < reply->text_size && reply->text[at] == '-';
    at += is_negative;
    if (!read_decimal(reply->text + at, reply->text_size - at, is_negative ? 2 : WIRE_FAIR_RANK_MAX, &number)) return false;
    *turn = (uint32_t)largest;
    *rank = is_negative ? -(int32_t)number : (int32_t)number;
    return true;
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
    if (!read_decimal(text, at - is_reader, UINT32_MAX, &number)) return false;
    if (at < size && !read_decimal(text + at + 1, size - at - 1, REDLOCK_PERMITS_MAX, &of_slot)) return false;
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

void wire_read_info(const char *line, size_t size, struct redlock_identity *identity)
{
    uint64_t uptime_s = 0;
    size_t at, key = wire_begins(line, size, "run_id:");

    if (size < 7) return;
    if (key) identity->has_run_id = wire_token_read(line + key, size - key, identity->run_id);
    key = wire_begins(line, size, "uptime_in_seconds:");
    /* S11: missing, negative or absurd is none. */
    if (key && read_decimal(line + key, size - key, WIRE_UPTIME_MAX, &uptime_s)) identity->uptime_s = (uint32_t)uptime_s;
    /* S30: -1 is none. The last two digits tell one failover from the next; odd, so that it is never 0. */
    key = wire_begins(line, size, "second_repl_offset:");
    if (key && line[size - 2] != '-') identity->history = (uint8_t)(line[size - 2] * 20 + line[size - 1] * 2 + 1);
    /* redis_mode, and server_mode or valkey_mode, as Valkey calls it. */
    at = line[5] == '_' ? 5 : 6;
    key = wire_begins(line + at, size - at, "_mode:");
    if (!key) return;
    identity->has_mode = true;
    identity->trouble = (uint8_t)read_mode(line + at + key, size - at - key);
}

void wire_read_role(const struct wire_reply *reply, struct redlock_identity *identity)
{
    if (text_is(reply, "master")) identity->is_master = true;
    else if (text_is(reply, "sentinel")) identity->trouble = REDLOCK_TROUBLE_SENTINEL;
    else identity->trouble = REDLOCK_TROUBLE_REPLICA;
}

/* What errors begin with, in Redis' own words: the first is a code since 2.6, but for ERR; then as much as tells them apart. */
static const struct {
    char begins[15];        /* An array, not a pointer: nothing to relocate, so it stays in read-only memory. */
    uint8_t trouble;
} troubles[] = {
    { "NOAUTH ", REDLOCK_TROUBLE_NOAUTH },
    { "WRONGPASS ", REDLOCK_TROUBLE_WRONGPASS },
    { "ERR invalid pa", REDLOCK_TROUBLE_WRONGPASS },    /* "... password", before 6.0 */
    { "NOPERM ", REDLOCK_TROUBLE_NOPERM },
    { "ERR The user e", REDLOCK_TROUBLE_NOPERM },       /* "... executing the script can't run this command", 7.0 */
    { "ERR ACL failur", REDLOCK_TROUBLE_NOPERM },       /* "... failure in script", 7.2 and Valkey */
    { "LOADING ", REDLOCK_TROUBLE_LOADING },
    { "READONLY ", REDLOCK_TROUBLE_READONLY },
    { "MOVED ", REDLOCK_TROUBLE_MOVED },
    { "ASK ", REDLOCK_TROUBLE_MOVED },
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
        if (wire_begins(text, size, troubles[i].begins)) return (enum redlock_trouble)troubles[i].trouble;
    }
    return REDLOCK_TROUBLE_OTHER_ERROR;
}

/* What ends a session comes first; each a text and its NUL. Much smaller than rows of the same length. */
enum redlock_trouble wire_class(const char *text, size_t size)
{
    static const char begins[] = "NOAUTH \0LOADING \0READONLY \0MOVED \0ASK \0CLUSTERDOWN \0MASTERDOWN \0ERR max number\0DENIED \0"
                                 "NOPERM \0ERR The user e\0ERR ACL failur\0NOSCRIPT \0WRONGTYPE \0AHEAD \0";
    static const uint8_t classes[] = {
        REDLOCK_TROUBLE_NOAUTH, REDLOCK_TROUBLE_NOAUTH, REDLOCK_TROUBLE_NOAUTH, REDLOCK_TROUBLE_NOAUTH, REDLOCK_TROUBLE_NOAUTH,
        REDLOCK_TROUBLE_NOAUTH, REDLOCK_TROUBLE_NOAUTH, REDLOCK_TROUBLE_NOAUTH, REDLOCK_TROUBLE_NOAUTH,
        REDLOCK_TROUBLE_NOPERM, REDLOCK_TROUBLE_NOPERM, REDLOCK_TROUBLE_NOPERM,
        REDLOCK_TROUBLE_NOSCRIPT, REDLOCK_TROUBLE_WRONGTYPE, REDLOCK_TROUBLE_AHEAD, REDLOCK_TROUBLE_OTHER_ERROR
    };
    const char *at = begins;
    unsigned row = 0;

    while (*at != '\0' && !wire_begins(text, size, at)) {
        at += length_of(at, sizeof begins) + 1;
        row++;
    }
    return (enum redlock_trouble)classes[row];
}
