/* break: takes a lock from its holder, by its token and never by the name alone.
 *
 * It looks at the keys of the nodes, and removes from each of them the value that begins with the
 * token, compared as a whole, so another client's value that was set there meanwhile stays. If the
 * resource has a counter of tickets, it becomes one more than the largest, so that the next
 * holder's ticket is larger than the broken one's also where the counter had been lost. Waiting
 * clients are woken, as by a release.
 *
 * It does so twice, since a holder whose extension a quorum confirmed a moment before sets the key
 * again where it is gone already. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../redlock/ask_all.h"
#include "../redlock/exits.h"
#include "../redlock/print.h"
#include "../redlock/report.h"
#include "../redlock/text.h"
#include "admin.h"
#include "removal.h"

enum {
    /* Bytes of a value that can be broken. It is a token, or a value of other libraries. */
    VALUE_MAX = 400,
    /* The pause between two looks of --wait-loss is a tenth of the time left, */
    PAUSE_US_MIN = 100 * 1000,
    PAUSE_US_MAX = 2000 * 1000, /* within these. */
    /* A node's clock may differ from ours by so much of the time that passes, */
    CLOCK_PART = 100,
    CLOCK_SPARE_US = 2000,      /* and by this. */
    ROUNDS = 2,
    ROUNDS_APART_US = 20 * 1000 /* Longer than a command of the holder's is on its way. */
};
/* The largest ticket, when there is no larger one. */
#define COUNTER_MAX ((uint64_t)9007199254740991)

enum outcome { OUTCOME_UNKNOWN, OUTCOME_REMOVED, OUTCOME_ABSENT, OUTCOME_OTHER };

static const char *const outcome_names[] = { "unknown", "removed", "absent", "another's" };

/* The state of one node. */
struct spot {
    uint64_t seen_at;           /* The look that has seen the key last, and */
    /* its end there, unless it is extended, by our clock, at the latest and at the earliest; 0: it
     * was never seen. */
    uint64_t ends_by, ends_after;
    enum outcome outcome;
    bool has_answered, has_it;  /* Its answers to the last look. */
    bool was_absent;            /* A look before found it so. */
};

struct breaking {
    struct session *session;
    const struct settings *settings;
    bool is_patient;            /* It waits until the holder has let its TTL pass. */
    unsigned count, quorum;
    struct spot spots[REDLOCK_NODES_MAX];
    char value[VALUE_MAX + 1];  /* The value to remove, of size bytes; 0: it is nowhere. */
    size_t value_size;
    bool is_ambiguous, is_long; /* Several values begin so; one is longer than we can read. */
    bool is_endless;            /* A node has it without a TTL. */
    /* A node has it as readers share it, and their tokens are elsewhere. */
    bool is_shared;
    bool has_removed;           /* It was not left at looking. */
    unsigned answers, having;   /* Counts of the last look. */
    uint64_t began_at;          /* The last look. */
    uint64_t ticket;            /* The largest counter; 0: there is none, or it is not wanted. */
};

/* ---- Looking ---- */

static bool is_meant(const char *token, const struct redlock_item *item)
{
    size_t size = strlen(token);

    if (item->size < size || memcmp(item->bytes, token, size) != 0) return false;
    return item->size == size || size == REDLOCK_TOKEN_TEXT;
}

static const char shared[] = "~shared";      /* See redlock(7). */

static void see_value(struct breaking *b, struct spot *spot, const struct redlock_item *item)
{
    bool is_first = b->value_size == 0;

    if (item->type != REDLOCK_ITEM_BULK) return;
    b->is_shared |= item->size == sizeof shared - 1 && memcmp(item->bytes, shared, item->size) == 0;
    if (!is_meant(b->settings->token, item)) return;
    if (item->size > VALUE_MAX) {
        b->is_long = true;
        return;
    }
    if (is_first) memcpy(b->value, item->bytes, b->value_size = item->size);
    b->is_ambiguous |=
        b->value_size != item->size || memcmp(b->value, item->bytes, item->size) != 0;
    spot->has_it = true;
}

static uint64_t answers_until(const struct breaking *b)
{
    return redlock_now_us() + (uint64_t)b->settings->options.engine.node_timeout_ms * 1000;
}

static bool hear(struct breaking *b, struct ask_all *all, unsigned k, struct redlock_item *item)
{
    if (ask_all_answer(all, k, item)) return true;
    if (item->type == REDLOCK_ITEM_ERROR)
        item_note_refusal(
            item, &b->session->notes[k],
            "to break a lock takes ~RESOURCE* +getrange +pttl +get +set +del +eval: ");
    return false;
}

/* A node that may have forgotten a lock can still be freed of one; one that is another's copy has
 * no word of its own. */
static bool counts(struct breaking *b, unsigned k)
{
    enum redlock_trouble trouble =
        redlock_view_node(&b->session->client.engine, k, redlock_now_us()).trouble;

    return trouble == REDLOCK_TROUBLE_NONE || trouble == REDLOCK_TROUBLE_RESTARTED;
}

static void see_node(struct breaking *b, unsigned k, struct ask_all *value, struct ask_all *ttl)
{
    struct spot *spot = &b->spots[k];
    struct redlock_item item;

    spot->has_it = false;
    spot->has_answered = hear(b, value, k, &item);
    if (!spot->has_answered) return;
    b->answers += counts(b, k);
    see_value(b, spot, &item);
    b->having += spot->has_it;
    spot->was_absent |= !spot->has_it;
    if (!spot->has_it || !hear(b, ttl, k, &item) || item.type != REDLOCK_ITEM_INTEGER) return;
    b->is_endless |= item.integer == -1;
    if (item.integer <= 0) return;
    spot->seen_at = b->began_at;
    spot->ends_by = redlock_now_us() + (uint64_t)item.integer * 1000;
    spot->ends_after = b->began_at + (uint64_t)item.integer * 1000;
}

/* Looks at each node's value, and its time. */
static void look(struct breaking *b)
{
    static struct ask_all value, ttl;
    char last[16];
    uint64_t until;

    value = ttl = (struct ask_all){ 0 };
    b->answers = b->having = 0;
    b->began_at = redlock_now_us();
    (void)print_text(last, sizeof last, "%d", VALUE_MAX);        /* One more than there may be. */
    ask_all_argument(&value, "GETRANGE");
    ask_all_argument(&value, b->settings->names[0]);
    ask_all_argument(&value, "0");
    ask_all_argument(&value, last);
    ask_all_argument(&ttl, "PTTL");
    ask_all_argument(&ttl, b->settings->names[0]);
    session_connect_all(b->session);
    ask_all_begin(&value, b->session);
    ask_all_begin(&ttl, b->session);
    until = answers_until(b);
    ask_all_wait(&value, b->session, until);
    ask_all_wait(&ttl, b->session, until);
    for (unsigned k = 0; k < b->count; k++) see_node(b, k, &value, &ttl);
    ask_all_end(&value, b->session);
    ask_all_end(&ttl, b->session);
}

static void find_ticket(struct breaking *b)
{
    static struct ask_all all;
    char counter[REDLOCK_RESOURCE_MAX + sizeof REDLOCK_TICKET_SUFFIX];
    struct redlock_item item;

    all = (struct ask_all){ 0 };
    (void)print_text(counter, sizeof counter, "%s%s", b->settings->names[0], REDLOCK_TICKET_SUFFIX);
    ask_all_argument(&all, "GET");
    ask_all_argument(&all, counter);
    ask_all_begin(&all, b->session);
    ask_all_wait(&all, b->session, answers_until(b));
    for (unsigned k = 0; k < b->count; k++)
        if (hear(b, &all, k, &item) && item_number(&item) > b->ticket)
            b->ticket = item_number(&item);
    ask_all_end(&all, b->session);
}

/* It waits unless a signal comes. */
static void wait_until(struct breaking *b, uint64_t until)
{
    while (redlock_now_us() < until && !session_must_end(b->session) && !b->session->fault)
        session_wait(b->session, until);
}

/* ---- --wait-loss ---- */

/* The latest time at which the last node loses it, unless it is extended. */
static uint64_t last_end(const struct breaking *b)
{
    uint64_t last = 0;

    for (unsigned k = 0; k < b->count; k++)
        if (b->spots[k].ends_by > last) last = b->spots[k].ends_by;
    return last;
}

/* How far a node's clock and ours may differ by then. */
static uint64_t clock_spare(uint64_t us)
{
    return us / CLOCK_PART + CLOCK_SPARE_US;
}

/* Has the node the key for longer than it could have without an extension, or has it again? Nobody
 * knows how long an answer was on its way, but at most as long as the look took. */
static bool is_extended(const struct breaking *b, const struct spot *before, const struct spot *now)
{
    uint64_t look_us = redlock_now_us() - b->began_at;

    if (!now->has_it || before->ends_by == 0) return now->has_it && before->was_absent;
    return before->was_absent || now->ends_by > before->ends_by + look_us +
                                                    clock_spare(redlock_now_us() - before->seen_at);
}

static bool any_is_extended(const struct breaking *b, const struct spot before[])
{
    for (unsigned k = 0; k < b->count; k++)
        if (is_extended(b, &before[k], &b->spots[k])) return true;
    return false;
}

/* Is it gone before its time, on some node? Then it was not its time that made it go. */
static bool is_early(const struct breaking *b)
{
    for (unsigned k = 0; k < b->count; k++) {
        const struct spot *spot = &b->spots[k];
        if (b->began_at + clock_spare(redlock_now_us() - spot->seen_at) < spot->ends_after)
            return true;
    }
    return false;
}

static void pause_before(struct breaking *b, uint64_t end)
{
    uint64_t now = redlock_now_us(), left_us = end > now ? end - now : 0, pause_us = left_us / 10;

    if (pause_us < PAUSE_US_MIN) pause_us = PAUSE_US_MIN;
    if (pause_us > PAUSE_US_MAX) pause_us = PAUSE_US_MAX;
    if (pause_us > left_us) pause_us = left_us + CLOCK_SPARE_US;
    wait_until(b, now + pause_us);
}

/* The next look. PENDING: it is held still, and nobody has extended it. */
static enum redlock_status look_again(struct breaking *b)
{
    struct spot before[REDLOCK_NODES_MAX];

    pause_before(b, last_end(b));
    if (b->session->signal) return REDLOCK_CANCELLED;
    if (b->session->fault) return b->session->fault;
    memcpy(before, b->spots, sizeof before);
    look(b);
    if (any_is_extended(b, before)) return REDLOCK_TAKEN;
    if (b->answers < b->quorum || b->having > 0) return REDLOCK_PENDING;
    return is_early(b) ? REDLOCK_LOST : REDLOCK_OK;
}

/* OK: the time is over that the last extension gave it. TAKEN: its holder lives. LOST:
 * it was released. */
static enum redlock_status wait_for_loss(struct breaking *b)
{
    enum redlock_status status = REDLOCK_PENDING;
    uint64_t now = redlock_now_us(), end = last_end(b);
    char duration[TEXT_DURATION_MAX];

    if (!b->settings->output.json)
        say("%s: waits for up to %s until its holder has lost it", b->settings->output.resource,
            text_duration(duration, end > now ? (end - now) / 1000 : 0));
    while (status == REDLOCK_PENDING && redlock_now_us() < last_end(b) + CLOCK_SPARE_US)
        status = look_again(b);
    return status == REDLOCK_PENDING ? REDLOCK_OK : status;
}

/* ---- Removing ---- */

static void judge_node(struct breaking *b, unsigned k, struct ask_all *all)
{
    struct spot *spot = &b->spots[k];
    struct redlock_item item;

    if (!hear(b, all, k, &item) || item.type != REDLOCK_ITEM_INTEGER ||
        spot->outcome == OUTCOME_REMOVED)
        return;
    spot->outcome = item.integer > 0    ? OUTCOME_REMOVED
                    : item.integer == 0 ? OUTCOME_ABSENT
                                        : OUTCOME_OTHER;
}

static void remove_once(struct breaking *b, const char *ticket, const char *life)
{
    static struct ask_all all;

    all = (struct ask_all){ 0 };
    ask_all_argument(&all, "EVAL");
    ask_all_argument(&all, removal_script);
    ask_all_argument(&all, "1");
    ask_all_argument(&all, b->settings->names[0]);
    ask_all_bytes(&all, b->value, b->value_size);
    ask_all_argument(&all, ticket);
    ask_all_argument(&all, life);
    ask_all_begin(&all, b->session);
    ask_all_wait(&all, b->session, answers_until(b));
    for (unsigned k = 0; k < b->count; k++) judge_node(b, k, &all);
    ask_all_end(&all, b->session);
}

static unsigned count_outcomes(struct breaking *b, enum outcome outcome)
{
    unsigned count = 0;

    for (unsigned k = 0; k < b->count; k++) count += b->spots[k].outcome == outcome;
    return count;
}

/* OK: a quorum of nodes have it no longer. */
static enum redlock_status remove_all(struct breaking *b)
{
    char ticket[24], life[16];
    unsigned without = 0;

    b->has_removed = true;
    if (b->settings->ticket) find_ticket(b);
    if (b->ticket > 0 && b->ticket < COUNTER_MAX) b->ticket++;
    (void)print_text(ticket, sizeof ticket, "%" PRIu64, b->ticket);
    (void)print_text(life, sizeof life, "%" PRIu32, b->settings->options.engine.ticket_life_ms);
    for (unsigned i = 0; i < ROUNDS && !b->session->signal && !b->session->fault; i++) {
        if (i > 0) wait_until(b, redlock_now_us() + ROUNDS_APART_US);
        remove_once(b, ticket, life);
    }
    for (unsigned k = 0; k < b->count; k++)
        without += b->spots[k].outcome != OUTCOME_UNKNOWN && counts(b, k);
    return without >= b->quorum ? REDLOCK_OK : REDLOCK_NO_QUORUM;
}

/* Judges whether there is anything to break, and whether its value is known. */
static enum redlock_status judge_look(const struct breaking *b)
{
    if (b->session->signal) return REDLOCK_CANCELLED;
    if (b->session->fault) return b->session->fault;
    if (b->is_ambiguous || b->is_long) return REDLOCK_BAD_TOKEN;
    if (b->having == 0) return b->answers < b->quorum ? REDLOCK_NO_QUORUM : REDLOCK_LOST;
    return b->is_patient && b->is_endless ? REDLOCK_BAD_STATE : REDLOCK_OK;
}

static enum redlock_status break_lock(struct breaking *b)
{
    enum redlock_status status;

    look(b);
    status = judge_look(b);
    if (status == REDLOCK_OK && b->is_patient) status = wait_for_loss(b);
    return status == REDLOCK_OK ? remove_all(b) : status;
}

/* ---- In words ---- */

static const char *describe(const struct breaking *b, enum redlock_status status)
{
    switch (status) {
    case REDLOCK_OK:        return "broken";
    case REDLOCK_TAKEN:     return "not broken: its holder lives, and has extended it";
    case REDLOCK_LOST:
        if (b->is_shared)
            return "not broken: it is shared: if this is the token of one of its readers, 'redlock "
                   "release' takes that one's part "
                   "away, with /s behind the 40 digits";
        return b->value_size > 0 ? "not broken: its holder has released it meanwhile"
                                 : "not broken: this token holds it on no node";
    case REDLOCK_BAD_TOKEN:
        return b->is_long
                   ? "not broken: the value of the key is too long for a token"
                   : "not broken: several values begin so: give all of the one that is meant";
    case REDLOCK_BAD_STATE:
        return "not broken: the key has no TTL, so there is no loss to wait for: leave out "
               "--wait-loss";
    case REDLOCK_NO_QUORUM:
        return b->has_removed
                   ? "no quorum of nodes said that it is gone; the others may keep it"
                   : "not broken: too few nodes answered, and none of them has this token";
    default:                return redlock_status_text(status);
    }
}

/* The name that follows the token; NULL: none. */
static const char *holder_of(const struct breaking *b)
{
    return b->value_size > REDLOCK_TOKEN_TEXT + 1 && b->value[REDLOCK_TOKEN_TEXT] == ' '
               ? b->value + REDLOCK_TOKEN_TEXT + 1
               : NULL;
}

/* A holder that lives may believe for so long that it holds it. 0: no longer. */
static uint64_t left_ms(const struct breaking *b)
{
    uint64_t now = redlock_now_us(), end = last_end(b);

    return end > now ? (end - now) / 1000 : 0;
}

/* Only nodes that did not do their part are reported; others' lack of a vote says nothing here. */
static void say_nodes(struct breaking *b)
{
    for (unsigned k = 0; k < b->count; k++) {
        struct session_note *note = &b->session->notes[k];
        bool is_done =
            b->has_removed ? b->spots[k].outcome != OUTCOME_UNKNOWN : b->spots[k].has_answered;
        if (is_done) note->trouble = REDLOCK_TROUBLE_NONE;
        else if (note->trouble == REDLOCK_TROUBLE_NONE)
            say("node %u (%s): no answer in time (it hangs, or the network does; if it is only "
                "slow: --node-timeout)",
                k, redlock_node_address(&b->session->client, k));
    }
    report_nodes(b->session);
}

/* Explains the effect on a holder that is not dead. */
static void say_what_it_means(struct breaking *b)
{
    const char *holder = holder_of(b);
    char duration[TEXT_DURATION_MAX], tickets[96] = "";

    if (b->ticket > 0)
        (void)print_text(tickets, sizeof tickets,
                         ", unless what it works on refuses tickets below %" PRIu64, b->ticket);
    if (b->is_endless || left_ms(b) > 0)
        say("%s: if its holder%s%s%s lives it is not told: until it extends or releases, for %s, "
            "it may work on beside the next holder%s",
            b->settings->output.resource, holder ? ", " : "", holder ? holder : "",
            holder ? "," : "", b->is_endless ? "ever" : text_duration(duration, left_ms(b)),
            tickets);
}

static void say_result(struct breaking *b, enum redlock_status status)
{
    unsigned removed = count_outcomes(b, OUTCOME_REMOVED);

    if (status == REDLOCK_OK)
        say("%s: %s: removed from %u of %u nodes", b->settings->output.resource,
            b->is_patient ? "lost by its holder, its TTL has passed" : "broken", removed, b->count);
    else
        say("%s: %s", b->settings->output.resource, describe(b, status));
    if (removed > 0) say_what_it_means(b);
    if (status == REDLOCK_NO_QUORUM ||
        (status == REDLOCK_OK && (b->settings->output.verbose || removed < b->having)))
        say_nodes(b);
}

/* ---- For machines ---- */

static void json_spot(struct breaking *b, unsigned k)
{
    const struct session_note *note = &b->session->notes[k];
    bool is_well = b->spots[k].outcome != OUTCOME_UNKNOWN || note->trouble == REDLOCK_TROUBLE_NONE;

    (void)print("%s{\"node\":%u,\"address\":", k > 0 ? "," : "", k);
    json_text(stdout, redlock_node_address(&b->session->client, k));
    (void)print(",\"outcome\":\"%s\",\"trouble\":", outcome_names[b->spots[k].outcome]);
    if (is_well) (void)print("null");
    else         json_text(stdout, note->text);
    (void)print("}");
}

static void print_json(struct breaking *b, enum redlock_status status)
{
    const char *holder = holder_of(b);

    output_json_begin(stdout, &b->settings->output, NULL, status, describe(b, status));
    (void)print("\"holder\":");
    if (holder) json_text(stdout, holder);
    else        (void)print("null");
    (void)print(",\"removed\":%u,\"left_ms\":", count_outcomes(b, OUTCOME_REMOVED));
    if (b->is_endless) (void)print("null");
    else               (void)print("%" PRIu64, left_ms(b));
    if (b->ticket > 0) (void)print(",\"ticket\":%" PRIu64, b->ticket);
    (void)print(",\"quorum\":%u,\"nodes\":[", b->quorum);
    for (unsigned k = 0; k < b->count; k++) json_spot(b, k);
    (void)print("]}\n");
}

/* ---- All of it ---- */

static int break_in_session(struct session *session, const struct settings *settings,
                            bool is_patient)
{
    unsigned count = session->client.engine.node_count;
    struct breaking b = {
        .session = session, .settings = settings, .is_patient = is_patient, .count = count,
        .quorum = redlock_quorum(count)
    };
    enum redlock_status status;

    status = session_check_name(session);
    if (status != REDLOCK_OK) {
        report_status(session, status);
        return EXIT_TROUBLE;
    }
    status = break_lock(&b);
    if (settings->output.json) print_json(&b, status);
    else if (!session->signal) say_result(&b, status);
    if (!output_written("the result") && status == REDLOCK_OK) status = REDLOCK_SYSTEM;
    return exit_of(session, status);
}

int break_command(struct session *session, struct settings *settings, bool is_patient)
{
    int code;

    if (open_session(session, settings) != REDLOCK_OK) return EXIT_TROUBLE;
    code = break_in_session(session, settings, is_patient);
    close_session(session);
    return code;
}
