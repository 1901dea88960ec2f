#include "scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../redlock/ask_all.h"
#include "admin_scripts.h"
#include "../redlock/print.h"
#include "removal.h"

enum {
    /* Keys of SCAN at a time, which keep a node busy for a fraction of a millisecond. */
    STEP_KEYS = 50,
    STEP_NUMBERS = 7,               /* Numbers behind the cursor that one step gives, */
    STEP_MAX = 48 * 1024,           /* bytes of names, */
    /* and of an answer, with the headers of the pieces in which it comes. */
    ANSWER_MAX = 80 * 1024,
    LOOK_NAMES_MAX = 200,           /* At a time, so that the answer has room. */
    CURSOR_MAX = 24,
    /* With these there are few questions, and few pieces. */
    SEND_SIZE = 16 * 1024, RECEIVE_SIZE = 16 * 1024,
    /* Bytes of names that are asked about at a time, since the script needs room as well. */
    LOOK_MAX = SEND_SIZE - 2048,
    TRIES_MAX = 3,                  /* Tries of a step, before a node is given up; */
    /* so long apart, and so long a node that did not answer is not asked about names. */
    PAUSE_US = 1000 * 1000,
    GLANCE_US = 200 * 1000,         /* At most between two calls of goes_on. */
    TOLD_SLOTS = 65536
};

static const char needs[] = "to scan takes ~PATTERN* +eval +scan +type +pttl +getrange +get "
                            "+exists +hexists +hlen +hkeys +zcount +zrange +zscore +time: ";

/* The scripts' files say what they answer. */
static const char step_script[] = SCAN_STEP_SCRIPT, look_script[] = SCAN_LOOK_SCRIPT,
                  known_script[] = SCAN_KNOWN_SCRIPT;

/* A question to one node, and its answer. */
struct line {
    struct redlock_question question;
    bool is_asked;
    uint8_t *bytes;         /* The answer as one string, in buffer; NULL: there is none. */
    size_t size, at;        /* Read so far. */
    uint64_t away_until;    /* It did not answer. */
    bool is_refused;        /* It never will. */
    uint8_t buffer[ANSWER_MAX];
};

/* Some names, packed as scripts take them, "size:name size:name...", without the blanks. */
struct names {
    size_t size, at;
    uint8_t bytes[STEP_MAX + CURSOR_MAX * 8];
};

struct name {
    const uint8_t *bytes;
    size_t size;
};

/* A finding that is to be looked at again. */
struct kept {
    uint64_t due_at, seen;
    size_t size;
    uint8_t name[];
};

struct scan {
    struct session *session;
    const struct scan_order *order;
    struct scan_counts *counts;
    unsigned count;
    uint64_t next_at;           /* The next step, by the rate. */
    bool is_ended;
    uint32_t step_keys;         /* Asked for at a time; 0: not even one key's name fits. */
    struct scan_counts node;    /* Counts for the node that is gone through. */
    char cursor[CURSOR_MAX];
    struct names step, rest, again;
    struct scan_sight sights[REDLOCK_NODES_MAX];
    struct kept *kept[SCAN_KEPT_MAX];
    unsigned kept_first;        /* counts->kept of them. */
    unsigned told_count;
    uint64_t told[TOLD_SLOTS];  /* Hashes of names; 0: free. */
    struct redlock_name arguments[6];
    struct line lines[REDLOCK_NODES_MAX];
};

/* ---- Waiting ---- */

static bool must_end(struct scan *s)
{
    bool has_signal = session_must_end(s->session);

    if (has_signal || s->session->fault) s->is_ended = true;
    if (!s->is_ended && s->order->goes_on && !s->order->goes_on(s->order->context, s->counts))
        s->is_ended = true;
    return s->is_ended;
}

static void wait_until(struct scan *s, uint64_t until)
{
    uint64_t now;

    while (!must_end(s) && (now = redlock_now_us()) < until)
        session_wait(s->session, until - now < GLANCE_US ? until : now + GLANCE_US);
}

/* ---- Asking ---- */

/* A node that has restarted can report its keys; one that is another's copy has no word of its own,
 * and neither has one whose role is unknown. */
static bool counts(struct scan *s, unsigned k)
{
    enum redlock_trouble trouble =
        redlock_view_node(&s->session->client.engine, k, redlock_now_us()).trouble;

    return (trouble == REDLOCK_TROUBLE_NONE || trouble == REDLOCK_TROUBLE_RESTARTED) &&
           !s->lines[k].is_refused;
}

static bool has_restarted(struct scan *s, unsigned k)
{
    return redlock_view_node(&s->session->client.engine, k, redlock_now_us()).trouble ==
           REDLOCK_TROUBLE_RESTARTED;
}

static bool is_pending(const struct line *line)
{
    return line->is_asked && line->question.status == REDLOCK_PENDING;
}

/* The pieces of the string are moved together, over the headers between them. */
static void read_answer(struct scan *s, unsigned k)
{
    struct line *line = &s->lines[k];
    struct redlock_item item;

    while (!line->bytes && redlock_next_item(&line->question, &item)) {
        if (item.type == REDLOCK_ITEM_ERROR) {
            line->is_refused = removal_note_refusal(s->session, k, &item, needs);
            s->counts->refused |= (uint16_t)(line->is_refused << k);
        }
        if (item.type != REDLOCK_ITEM_BULK || item.depth != 0) return;
        memmove(line->buffer + line->size, item.bytes, item.size);
        line->size += item.size;
        if (item.last) line->bytes = line->buffer;
    }
}

static void hear(struct scan *s, unsigned k)
{
    struct line *line = &s->lines[k];

    line->bytes = NULL;
    line->size = line->at = 0;
    if (!line->is_asked) return;
    if (is_pending(line)) redlock_forget_question(&s->session->client.engine, &line->question);
    if (line->question.status == REDLOCK_OK && !line->question.is_cut) read_answer(s, k);
    if (!line->bytes) line->away_until = redlock_now_us() + PAUSE_US;
}

/* Puts the arguments to node k, and waits for its answer for a node timeout. */
static void ask(struct scan *s, unsigned k, unsigned arguments)
{
    struct line *line = &s->lines[k];
    uint64_t now = redlock_now_us(),
             until = now + (uint64_t)s->session->settings->options.engine.node_timeout_ms * 1000;

    line->is_asked =
        counts(s, k) && line->away_until <= now &&
        redlock_ask(&s->session->client.engine, &line->question, k, s->arguments,
                    arguments, line->buffer, sizeof line->buffer, now) == REDLOCK_OK;
    if (line->is_asked) session_step(s->session);
    while (is_pending(line) && redlock_now_us() < until && !s->session->fault)
        session_wait(s->session, until);
    hear(s, k);
}

static void set_argument(struct scan *s, unsigned i, const void *bytes, size_t size)
{
    s->arguments[i] = (struct redlock_name){ .bytes = bytes, .size = size };
}

static void set_text(struct scan *s, unsigned i, const char *text)
{
    set_argument(s, i, text, strlen(text));
}

/* ---- Reading ---- */

/* Reads a number, perhaps with a minus, from a script's text, and the byte after it. */
static bool read_number(const uint8_t *bytes, size_t size, size_t *at, int64_t *number)
{
    bool is_negative = *at < size && bytes[*at] == '-';
    size_t from = *at += is_negative;

    *number = 0;
    for (; *at < size && *at < from + 18 && bytes[*at] >= '0' && bytes[*at] <= '9'; ++*at)
        *number = *number * 10 + (bytes[*at] - '0');
    if (*at == from || *at == size) return false;
    if (is_negative) *number = -*number;
    ++*at;
    return true;
}

static bool read_counted(const uint8_t *bytes, size_t size, size_t *at, struct name *counted)
{
    int64_t length;

    if (!read_number(bytes, size, at, &length) || length < 0 || (uint64_t)length > size - *at)
        return false;
    *counted = (struct name){ .bytes = bytes + *at, .size = (size_t)length };
    *at += counted->size;
    return true;
}

static bool next_name(struct names *names, struct name *name)
{
    return names->at < names->size && read_counted(names->bytes, names->size, &names->at, name);
}

static void pack(struct names *names, const uint8_t *name, size_t size)
{
    names->size += (size_t)print_text((char *)names->bytes + names->size, CURSOR_MAX, "%zu:", size);
    memcpy(names->bytes + names->size, name, size);
    names->size += size;
}

static enum scan_type type_of(uint8_t letter)
{
    switch (letter) {
    case 's':
    case 'S': return SIGHT_STRING;
    case 'm': return SIGHT_SHARED;
    case 'r': return SIGHT_REDISSON;
    case 'q': return SIGHT_QUEUE;
    case 'o':
    case 'O': return SIGHT_OTHER;
    default:  return SIGHT_UNKNOWN;
    }
}

/* The next of the node's answer. */
static void read_sight(struct line *line, struct scan_sight *sight)
{
    uint8_t letter = line->bytes && line->at < line->size ? line->bytes[line->at++] : '!';
    struct name value;
    int64_t number;

    *sight = (struct scan_sight){ .type = letter == '-' ? SIGHT_ABSENT : type_of(letter) };
    if (sight->type == SIGHT_ABSENT || sight->type == SIGHT_UNKNOWN) return;
    if (!read_number(line->bytes, line->size, &line->at, &sight->ttl_ms) ||
        !read_number(line->bytes, line->size, &line->at, &number) ||
        !read_counted(line->bytes, line->size, &line->at, &value) || value.size > SCAN_VALUE_KEPT) {
        sight->type = SIGHT_UNKNOWN;
        line->bytes = NULL;
        return;
    }
    sight->has_ticket = letter == 'S' || letter == 'O';
    if (sight->type == SIGHT_SHARED) sight->readers = (uint32_t)number;
    else                             sight->queued = (uint32_t)number;
    memcpy(sight->value, value.bytes, sight->value_size = (uint8_t)value.size);
}

/* Reads all nodes' states of the next name. Why one of them does not tell its own: '!' or '>'; 0:
 * they all do. */
static uint8_t read_sights(struct scan *s)
{
    uint8_t why = 0;

    for (unsigned k = 0; k < s->count; k++) {
        struct line *line = &s->lines[k];
        uint8_t letter = line->bytes && line->at < line->size ? line->bytes[line->at] : 0;
        if (letter == '!' || (letter == '>' && why == 0)) why = letter;
        read_sight(line, &s->sights[k]);
        if (s->sights[k].type == SIGHT_ABSENT && has_restarted(s, k))
            s->sights[k].type = SIGHT_FORGOTTEN;
    }
    return why;
}

/* ---- Hashes: FNV-1a ---- */

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_of_name(const struct name *name)
{
    uint64_t hash = hash_bytes(14695981039346656037u, name->bytes, name->size);

    return hash != 0 ? hash : 1;
}

/* Two looks see the same if types, values and their consequences are the same. */
static uint64_t hash_of_sights(const struct scan *s, uint32_t classes)
{
    uint64_t hash = hash_bytes(14695981039346656037u, &classes, sizeof classes);

    for (unsigned k = 0; k < s->count; k++) {
        hash = hash_bytes(hash, &s->sights[k].type, sizeof s->sights[k].type);
        hash = hash_bytes(hash, s->sights[k].value, s->sights[k].value_size);
    }
    return hash;
}

/* The place of the name, its own, or the free one where it belongs; NULL: there is no
 * room for more. */
static uint64_t *told_slot(struct scan *s, const struct name *name)
{
    uint64_t hash = hash_of_name(name), i = hash % TOLD_SLOTS;

    while (s->told[i] != 0 && s->told[i] != hash) i = (i + 1) % TOLD_SLOTS;
    return s->told[i] == hash || s->told_count < SCAN_TOLD_MAX ? &s->told[i] : NULL;
}

static bool is_told(struct scan *s, const struct name *name)
{
    const uint64_t *slot = told_slot(s, name);

    return slot && *slot != 0;
}

static void remember_told(struct scan *s, const struct name *name)
{
    uint64_t *slot = told_slot(s, name);

    if (!slot) {
        s->counts->may_repeat = true;
        return;
    }
    *slot = hash_of_name(name);
    s->told_count++;
}

/* ---- Judging ---- */

static bool is_beside(const struct name *name)
{
    static const char *const ends[] = { REDLOCK_TICKET_SUFFIX,  REDLOCK_WAITERS_SUFFIX,
                                        REDLOCK_LEADER_SUFFIX,  REDLOCK_DONE_SUFFIX,
                                        REDLOCK_READERS_SUFFIX, REDLOCK_WRITER_SUFFIX,
                                        REDLOCK_QUEUE_SUFFIX,   REDLOCK_LEASE_SUFFIX,
                                        REDLOCK_GRANT_SUFFIX };

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t size = strlen(ends[i]);
        if (name->size >= size && memcmp(name->bytes + name->size - size, ends[i], size) == 0)
            return true;
    }
    return false;
}

static void count(struct scan *s, uint32_t classes)
{
    for (unsigned class = 0; class < SCAN_CLASS_COUNT; class++)
        s->counts->classes[class] += classes >> class & 1;
}

static void tell(struct scan *s, const struct name *name, const struct scan_judgement *judgement)
{
    struct scan_finding finding = {
        .name = name->bytes, .name_size = name->size, .sights = s->sights, .judgement = judgement
    };

    if (s->order->found) s->order->found(s->order->context, &finding);
}

static struct kept *new_kept(const struct name *name)
{
    struct kept *kept = malloc(sizeof *kept + name->size);

    if (!kept) return NULL;
    kept->size = name->size;
    memcpy(kept->name, name->bytes, name->size);
    return kept;
}

/* Without memory it is reported at once, rather than never. */
static void keep(struct scan *s, const struct name *name, const struct scan_judgement *judgement)
{
    struct kept *kept = s->counts->kept < SCAN_KEPT_MAX ? new_kept(name) : NULL;

    if (!kept) {
        count(s, judgement->classes);
        tell(s, name, judgement);
        return;
    }
    kept->due_at = redlock_now_us() + (uint64_t)s->order->apart_ms * 1000;
    kept->seen = hash_of_sights(s, judgement->classes);
    s->kept[(s->kept_first + s->counts->kept++) % SCAN_KEPT_MAX] = kept;
}

/* An earlier node has it, and it was judged there. */
static bool is_known(const struct scan *s, const struct name *name)
{
    for (unsigned k = 0; k < s->count; k++)
        if (s->counts->done >> k & 1 && s->sights[k].type > SIGHT_ABSENT) return !is_beside(name);
    return false;
}

static void judge(struct scan *s, struct scan_judgement *judgement, const struct name *name)
{
    scan_judge(judgement, s->sights, s->count, is_beside(name), s->order->guard_ms);
}

/* The first look. */
static void look_at(struct scan *s, const struct name *name)
{
    struct scan_judgement judgement;
    uint8_t why = read_sights(s);

    if (is_known(s, name)) return;
    s->counts->hidden += why == '!';
    s->counts->moving += why == '>';
    judge(s, &judgement, name);
    if (s->order->looks_once || s->order->apart_ms < SCAN_IDLE_MS)
        judgement.classes &= ~(1u << SCAN_QUEUE_IDLE);
    if (judgement.classes == 0 || is_told(s, name)) return;
    if (!s->order->looks_once && scan_level_of(scan_gravest(judgement.classes)) > SCAN_COUNTED) {
        keep(s, name, &judgement);
        return;
    }
    count(s, judgement.classes);
    if (s->order->looks_once) tell(s, name, &judgement);
}

/* The second. */
static void look_at_again(struct scan *s, const struct name *name, uint64_t seen)
{
    struct scan_judgement judgement;

    (void)read_sights(s);
    judge(s, &judgement, name);
    if (is_told(s, name)) return;
    if (scan_level_of(scan_gravest(judgement.classes)) == SCAN_COUNTED) {
        count(s, judgement.classes);
        s->counts->changing++;
    } else if (hash_of_sights(s, judgement.classes) != seen) {
        s->counts->changing++;
    } else {
        count(s, judgement.classes);
        remember_told(s, name);
        tell(s, name, &judgement);
    }
}

/* ---- Looking at names ---- */

/* The next names, as many as one question takes. *from is where they begin. */
static size_t next_chunk(struct names *names, const uint8_t **from)
{
    size_t begin = names->at, end = begin;
    struct name name;

    for (unsigned i = 0;
         i < LOOK_NAMES_MAX && next_name(names, &name) && names->at - begin <= LOOK_MAX; i++)
        end = names->at;
    names->at = end;
    *from = names->bytes + begin;
    return end - begin;
}

/* Asks one node after the other. While one is kept busy the others make a quorum, and no lock has
 * to wait. */
static void ask_about(struct scan *s, const uint8_t *names, size_t size)
{
    static char last[8];

    (void)print_text(last, sizeof last, "%d", SCAN_VALUE_KEPT - 1);
    set_text(s, 0, "EVAL");
    set_text(s, 1, look_script);
    set_text(s, 2, "0");
    set_argument(s, 3, names, size);
    set_text(s, 4, last);
    for (unsigned k = 0; k < s->count; k++) ask(s, k, 5);
}

static void ask_which_are_known(struct scan *s, unsigned k, const uint8_t *names, size_t size)
{
    set_text(s, 0, "EVAL");
    set_text(s, 1, known_script);
    set_text(s, 2, "0");
    set_argument(s, 3, names, size);
    ask(s, k, 4);
}

static bool next_is_known(struct line *line)
{
    return line->bytes && line->at < line->size && line->bytes[line->at++] == '1';
}

/* Most names of a node are on the node before it as well, and were judged there. Only the others,
 * and keys beside locks, go on. */
static void leave_out_known(struct scan *s, unsigned before, struct names *names,
                            struct names *rest)
{
    const uint8_t *from;
    size_t size, begin = names->at;
    struct name name;

    rest->size = rest->at = 0;
    while ((size = next_chunk(names, &from)) > 0) {
        size_t end = names->at;
        ask_which_are_known(s, before, from, size);
        for (names->at = end - size; names->at < end && next_name(names, &name);) {
            bool is_known = next_is_known(&s->lines[before]);
            if (is_beside(&name) || !is_known) pack(rest, name.bytes, name.size);
        }
    }
    names->at = begin;
}

static void look_again(struct scan *s);

/* There must be room for all that may have to be looked at again. */
static void make_room(struct scan *s)
{
    while (s->counts->kept + LOOK_NAMES_MAX > SCAN_KEPT_MAX && !s->is_ended) {
        wait_until(s, s->kept[s->kept_first]->due_at);
        look_again(s);
    }
}

static void look_at_names(struct scan *s, struct names *names)
{
    const uint8_t *from;
    size_t size;
    struct name name;

    while (!s->is_ended && (size = next_chunk(names, &from)) > 0) {
        size_t end = names->at;
        make_room(s);
        ask_about(s, from, size);
        for (names->at = end - size; names->at < end && next_name(names, &name);) look_at(s, &name);
    }
}

static struct kept *take_kept(struct scan *s)
{
    struct kept *kept = s->kept[s->kept_first];

    s->kept_first = (s->kept_first + 1) % SCAN_KEPT_MAX;
    s->counts->kept--;
    return kept;
}

/* At those that are due. */
static void look_again(struct scan *s)
{
    struct kept *due[LOOK_NAMES_MAX];
    unsigned taken = 0;

    s->again.size = s->again.at = 0;
    while (taken < LOOK_NAMES_MAX && s->counts->kept > 0 &&
           s->kept[s->kept_first]->due_at <= redlock_now_us() &&
           s->again.size + SCAN_NAME_MAX + CURSOR_MAX < LOOK_MAX) {
        due[taken] = take_kept(s);
        pack(&s->again, due[taken]->name, due[taken]->size);
        taken++;
    }
    if (taken > 0) ask_about(s, s->again.bytes, s->again.size);
    for (unsigned i = 0; i < taken; i++) {
        struct name name = { .bytes = due[i]->name, .size = due[i]->size };
        look_at_again(s, &name, due[i]->seen);
        free(due[i]);
    }
}

/* ---- Going through a node ---- */

static bool read_cursor(struct scan *s, struct line *line)
{
    size_t size = 0;

    while (line->at < line->size && line->bytes[line->at] != ' ' && size < CURSOR_MAX - 1)
        s->cursor[size++] = (char)line->bytes[line->at++];
    s->cursor[size] = '\0';
    return line->at++ < line->size;
}

static void keep_largest(uint64_t *most, uint64_t number)
{
    if (number > *most) *most = number;
}

/* Adds the step's counts of keys that are only counted. */
static void add_counts(struct scan *s, const int64_t numbers[])
{
    s->counts->names += (uint64_t)numbers[0];
    s->counts->hidden += (uint64_t)numbers[1];
    s->counts->moving += (uint64_t)numbers[2];
    keep_largest(&s->counts->beside, s->node.beside += (uint64_t)numbers[3]);
    keep_largest(&s->counts->tickets, s->node.tickets += (uint64_t)numbers[4]);
    keep_largest(&s->counts->orphans, s->node.orphans += (uint64_t)numbers[5]);
    keep_largest(&s->counts->long_names, s->node.long_names += (uint64_t)numbers[6]);
}

/* How many keys the step was about; 0: the answer is none. */
static uint32_t read_step(struct scan *s, struct line *line)
{
    int64_t numbers[STEP_NUMBERS];

    if (!read_cursor(s, line)) return 0;
    for (unsigned i = 0; i < STEP_NUMBERS; i++)
        if (!read_number(line->bytes, line->size, &line->at, &numbers[i])) return 0;
    add_counts(s, numbers);
    s->step.at = 0;
    s->step.size = line->size - line->at;
    memcpy(s->step.bytes, line->bytes + line->at, s->step.size);
    return numbers[0] > s->step_keys ? (uint32_t)numbers[0] : s->step_keys;
}

static bool is_too_much(const struct line *line)
{
    return line->bytes && line->size == 4 && memcmp(line->bytes, "more", 4) == 0;
}

static void ask_for_names(struct scan *s, unsigned k)
{
    char keys[12];

    do {
        (void)print_text(keys, sizeof keys, "%" PRIu32, s->step_keys);
        set_text(s, 0, "EVAL");
        set_text(s, 1, step_script);
        set_text(s, 2, "0");
        set_text(s, 3, s->cursor);
        set_text(s, 4, s->order->pattern ? s->order->pattern : "*");
        set_text(s, 5, keys);
        ask(s, k, 6);
        if (!is_too_much(&s->lines[k])) return;
        s->step_keys = s->step_keys > 1 ? s->step_keys / 2 : 0;
    } while (s->step_keys > 0);
    s->lines[k].bytes = NULL;
}

/* One step, tried several times. */
static bool step(struct scan *s, unsigned k)
{
    for (unsigned tries = 0; tries < TRIES_MAX && s->step_keys > 0 && counts(s, k) && !s->is_ended;
         tries++) {
        uint32_t keys;
        wait_until(s, s->lines[k].away_until);
        ask_for_names(s, k);
        keys = s->lines[k].bytes ? read_step(s, &s->lines[k]) : 0;
        if (keys == 0) continue;
        s->next_at += s->order->rate > 0 ? (uint64_t)keys * 1000000 / s->order->rate : 0;
        if (s->next_at < redlock_now_us()) s->next_at = redlock_now_us();
        return true;
    }
    return false;
}

/* Waits until the next step, by the rate; due looks are made meanwhile. */
static void wait_for_step(struct scan *s)
{
    while (!s->is_ended && redlock_now_us() < s->next_at) {
        uint64_t due_at = s->counts->kept > 0 ? s->kept[s->kept_first]->due_at : s->next_at;
        wait_until(s, due_at < s->next_at ? due_at : s->next_at);
        if (!s->is_ended) look_again(s);
    }
    (void)must_end(s);
}

/* before: a node that has been gone through, or the node itself. */
static bool go_through(struct scan *s, unsigned k, unsigned before)
{
    s->node = (struct scan_counts){ .nodes = 0 };
    (void)strcpy(s->cursor, "0");
    s->step_keys = STEP_KEYS;
    do {
        wait_for_step(s);
        if (s->is_ended || !step(s, k)) return false;
        if (before != k) leave_out_known(s, before, &s->step, &s->rest);
        look_at_names(s, before != k ? &s->rest : &s->step);
        look_again(s);
    } while (strcmp(s->cursor, "0") != 0);
    return !s->is_ended;
}

static void go_through_all(struct scan *s)
{
    unsigned before = REDLOCK_NODES_MAX;

    for (unsigned k = 0; k < s->count && !s->is_ended; k++) {
        if (!counts(s, k) || !go_through(s, k, before < s->count ? before : k)) continue;
        s->counts->done |= (uint16_t)(1u << k);
        s->counts->scanned++;
        before = k;
    }
    while (!s->is_ended) {
        const struct kept *next = s->counts->kept > 0 ? s->kept[s->kept_first] : NULL;
        if (!next) break;
        wait_until(s, next->due_at);
        if (!s->is_ended) look_again(s);
    }
}

/* ---- All of it ---- */

void scan_prepare(struct settings *settings)
{
    static uint64_t
        memory[REDLOCK_MEMORY(REDLOCK_NODES_MAX, REDLOCK_PIPELINE, SEND_SIZE, RECEIVE_SIZE) /
                   sizeof(uint64_t) +
               1];

    settings->options.memory = memory;
    settings->options.memory_size = sizeof memory;
    settings->options.engine.send_size = SEND_SIZE;
    settings->options.engine.receive_size = RECEIVE_SIZE;
    settings->options.engine.wake_ups = false;
}

enum redlock_status scan_nodes(struct session *session, const struct scan_order *order,
                               struct scan_counts *counts)
{
    static struct scan scan;
    struct scan *s = &scan;
    uint64_t kept;

    if (session->settings->options.engine.send_size < SEND_SIZE) return REDLOCK_BAD_CONFIG;
    memset(s, 0, sizeof *s);
    s->session = session;
    s->order = order;
    s->counts = counts;
    s->count = session->client.engine.node_count;
    *counts = (struct scan_counts){ .nodes = s->count };
    session_connect_all(session);       /* A key on the last one would not be found. */
    go_through_all(s);
    for (kept = counts->kept; counts->kept > 0;) free(take_kept(s));
    counts->kept = kept;
    if (session->fault) return session->fault;
    if (s->is_ended)    return REDLOCK_CANCELLED;
    return counts->scanned < redlock_quorum(s->count) ? REDLOCK_NO_QUORUM : REDLOCK_OK;
}
