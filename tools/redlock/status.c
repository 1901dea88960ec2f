/* status: what each node knows of a lock, and what the majority says. Reads only. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask_all.h"
#include "commands.h"
#include "exits.h"
#include "fingerprint.h"
#include "held.h"
#include "readers.h"
#include "report.h"
#include "text.h"

enum verdict {
    VERDICT_FREE,           /* On a quorum of nodes. */
    VERDICT_HELD,           /* By one and the same value on a quorum. */
    VERDICT_OTHER_TYPE,     /* By a key that is no string on a quorum: a lock of another kind, or none. */
    VERDICT_SPLIT,          /* None of these, though a quorum answered: clients are at it, or some nodes lost it. */
    VERDICT_NO_QUORUM       /* Of answers. */
};

static const char *const verdict_names[] = { "free", "held", "other type", "split", "no quorum" };

struct view {
    struct session *session;
    const char *resource;
    struct redlock_sight sights[REDLOCK_NODES_MAX];
    unsigned count, quorum;
    unsigned voters;        /* Nodes that have a vote now, */
    unsigned givers;        /* of these, if a ticket is wanted, those that give one, */
    unsigned grantors;      /* and of these those where it is free. */
    uint16_t refused;       /* Nodes whose refusal is noted, whatever their trouble is now: a set. */
    uint16_t barred;        /* Nodes that answer, but let nobody write: a set. Their refusals are noted, too. */
    enum verdict verdict;
    unsigned agreeing;      /* On how many nodes the verdict is true. */
    unsigned holder;        /* VERDICT_HELD: one of them, */
    struct held held;       /* and what is known of it. */
    bool is_shared;         /* VERDICT_HELD: by those, */
    struct readers readers; /* as far as nodes tell. */
    bool has_end;           /* VERDICT_HELD: it ends by itself, */
    uint32_t ends_in_ms;    /* as then fewer than a quorum have it. */
};

/* ---- The verdict ---- */

static size_t kept_size(const struct redlock_sight *sight)
{
    return sight->value_size < REDLOCK_TOKEN_TEXT ? sight->value_size : REDLOCK_TOKEN_TEXT;
}

static bool is_same(const struct redlock_sight *a, const struct redlock_sight *b)
{
    return a->exists && b->exists && a->is_string && b->is_string && a->value_size == b->value_size &&
           memcmp(a->value, b->value, kept_size(a)) == 0;
}

static unsigned count_same(const struct view *view, unsigned as)
{
    unsigned count = 0;

    for (unsigned k = 0; k < view->count; k++) count += is_same(&view->sights[k], &view->sights[as]);
    return count;
}

/* The longest time after which a quorum of its keys is still there: the quorum-th longest TTL. */
static void find_end(struct view *view)
{
    view->has_end = false;
    view->ends_in_ms = 0;
    for (unsigned k = 0; k < view->count; k++) {
        unsigned longer = 0;
        if (!is_same(&view->sights[k], &view->sights[view->holder]) || !view->sights[k].has_ttl) continue;
        for (unsigned j = 0; j < view->count; j++) {
            if (!is_same(&view->sights[j], &view->sights[view->holder])) continue;
            longer += !view->sights[j].has_ttl || view->sights[j].ttl_ms >= view->sights[k].ttl_ms;
        }
        if (longer < view->quorum || view->sights[k].ttl_ms < view->ends_in_ms) continue;
        view->has_end = true;
        view->ends_in_ms = view->sights[k].ttl_ms;
    }
}

static bool may_vote(const struct view *view, unsigned k)
{
    return redlock_node_votes(redlock_engine(&view->session->client), k, redlock_now_us()) && !(view->barred >> k & 1);
}

static void count_votes(struct view *view)
{
    const struct redlock *engine = redlock_engine(&view->session->client);

    for (unsigned k = 0; k < view->count; k++) {
        bool votes = may_vote(view, k);
        bool gives = votes && (!view->session->settings->ticket || redlock_node_gives_tickets(engine, k, redlock_now_us()));
        view->voters += votes;
        view->givers += gives;
        view->grantors += gives && view->sights[k].seen && !view->sights[k].exists;
    }
}

static void judge(struct view *view)
{
    unsigned seen = 0, absent = 0, others = 0;

    count_votes(view);
    for (unsigned k = 0; k < view->count; k++) {
        seen += view->sights[k].seen;
        absent += view->sights[k].seen && !view->sights[k].exists;
        others += view->sights[k].exists && !view->sights[k].is_string;
        if (count_same(view, k) > view->agreeing) {
            view->agreeing = count_same(view, k);
            view->holder = k;
        }
    }
    if (view->agreeing >= view->quorum) {
        view->verdict = VERDICT_HELD;
        find_end(view);
        return;
    }
    view->verdict = absent >= view->quorum ? VERDICT_FREE : others >= view->quorum ? VERDICT_OTHER_TYPE
                  : seen >= view->quorum   ? VERDICT_SPLIT : VERDICT_NO_QUORUM;
    view->agreeing = view->verdict == VERDICT_FREE ? absent : view->verdict == VERDICT_OTHER_TYPE ? others : seen;
}

/* What an attempt to acquire it would come to now. */
static enum redlock_status status_of(const struct view *view)
{
    switch (view->verdict) {
    case VERDICT_FREE:
        return view->givers < view->quorum ? REDLOCK_NO_QUORUM : view->grantors < view->quorum ? REDLOCK_TAKEN : REDLOCK_OK;
    case VERDICT_NO_QUORUM: return REDLOCK_NO_QUORUM;
    default:                return REDLOCK_TAKEN;
    }
}

/* ---- For people ---- */

static const char *value_text(const struct redlock_sight *sight, char *text, size_t size)
{
    size_t kept = kept_size(sight);

    if (!sight->is_readable) return "a value that we may not read";
    (void)text_printable(text, size, sight->value, kept);
    if (sight->value_size > kept) (void)snprintf(text + strlen(text), size - strlen(text), "...");
    return text;
}

/* By a program that gave its name: the token stands in the lines of the nodes. */
static void print_named_holder(const struct view *view)
{
    const struct held *held = &view->held;
    uint64_t now = redlock_wall_us();
    char name[4 * REDLOCK_HOLDER_MAX + 1], duration[TEXT_DURATION_MAX];

    (void)printf("held by %s", text_printable(name, sizeof name, held->name, strlen(held->name)));
    if (held->ticket > 0)                       (void)printf(", last ticket %" PRIu64, held->ticket);
    if (held->ticket > 0 && held->ticket < now) (void)printf(" (%s ago)", text_duration(duration, (now - held->ticket) / 1000));
    if (view->has_end) (void)printf(", free in at most %s", text_duration(duration, view->ends_in_ms));
    else               (void)fputs(", for ever (no TTL)", stdout);
    (void)printf(", on %u of %u nodes", view->agreeing, view->count);
}

static void print_shared(const struct view *view)
{
    char duration[TEXT_DURATION_MAX];

    if (view->readers.answers < view->quorum) (void)fputs("shared", stdout);
    else (void)printf("shared by %s%u", view->readers.are_more ? "more than " : "", view->readers.count);
    if (view->has_end) (void)printf(", free in at most %s", text_duration(duration, view->ends_in_ms));
    (void)printf(", on %u of %u nodes", view->agreeing, view->count);
}

/* A line for each that shares it, and for the one that waits to have it alone. */
static void print_readers(const struct readers *readers, unsigned count)
{
    uint64_t now = redlock_wall_us();
    char value[4 * REDLOCK_VALUE_TEXT + 1], duration[TEXT_DURATION_MAX];

    for (unsigned i = 0; i < readers->count; i++) {
        const struct reader *reader = &readers->readers[i];
        (void)printf("  shared by %s, %s left, on %u of %u nodes\n",
                     text_printable(value, sizeof value, reader->value, strlen(reader->value)),
                     text_duration(duration, reader->ends_in_ms), reader->nodes, count);
    }
    if (!readers->has_writer) return;
    (void)fputs("  somebody waits to have it alone", stdout);
    if (readers->writer_wall_us < now) (void)printf(", for %s", text_duration(duration, (now - readers->writer_wall_us) / 1000));
    (void)putchar('\n');
}

/* How many may vote, if not all do, and whether anybody can acquire it. */
static void print_voters(const struct view *view)
{
    if (view->voters < view->count || view->givers < view->quorum)
        (void)printf("; %u of %u may vote", view->voters, view->count);
    if (view->voters < view->quorum)
        (void)fputs(", so nobody can acquire it now", stdout);
    else if (view->givers < view->quorum)
        (void)printf(", %u give tickets, so nobody can acquire it with a ticket now", view->givers);
    else if (view->verdict == VERDICT_FREE && view->grantors < view->quorum)
        (void)printf(", %u where it is free, so nobody can acquire it now", view->grantors);
}

static void print_verdict(const struct view *view)
{
    char resource[TEXT_MAX], value[4 * REDLOCK_TOKEN_TEXT + 8], duration[TEXT_DURATION_MAX];

    (void)text_printable(resource, sizeof resource, view->resource, strlen(view->resource));
    (void)printf("%s: ", resource);
    switch (view->verdict) {
    case VERDICT_FREE:
        (void)printf("free on %u of %u nodes", view->agreeing, view->count);
        break;
    case VERDICT_HELD:
        if (view->is_shared)                 print_shared(view);
        else if (view->held.name[0] != '\0') print_named_holder(view);
        else (void)printf("held by %s %s%s on %u of %u nodes", value_text(&view->sights[view->holder], value, sizeof value),
                     view->has_end ? "for another " : "for ever (no TTL)",
                     view->has_end ? text_duration(duration, view->ends_in_ms) : "", view->agreeing, view->count);
        break;
    case VERDICT_OTHER_TYPE:
        (void)printf("held on %u of %u nodes by a key of another type: a lock of another kind, or none",
                     view->agreeing, view->count);
        break;
    case VERDICT_SPLIT:
        (void)printf("split: neither free nor held on a quorum; %u of %u nodes can tell", view->agreeing, view->count);
        break;
    case VERDICT_NO_QUORUM:
        (void)printf("no quorum: %u of %u nodes can tell", view->agreeing, view->count);
        break;
    }
    (void)printf(" (quorum %u)", view->quorum);
    print_voters(view);
    (void)putchar('\n');
}

static void print_sight(const struct redlock_sight *sight)
{
    char value[4 * REDLOCK_TOKEN_TEXT + 8], duration[TEXT_DURATION_MAX];

    if (!sight->exists)         (void)fputs("free", stdout);
    else if (!sight->is_string) (void)fputs("a key of another type", stdout);
    else if (is_shared_marker(sight)) (void)fputs("shared", stdout);
    else                        (void)printf("held by %s", value_text(sight, value, sizeof value));
    if (sight->exists && sight->has_ttl)       (void)printf(", %s left", text_duration(duration, sight->ttl_ms));
    else if (sight->exists)                    (void)fputs(", no TTL: it does not end by itself", stdout);
}

/* What is wrong with a node, or NULL. That its key is of another type the sight says. */
static const char *trouble_of(const struct view *view, unsigned k)
{
    enum redlock_trouble now = redlock_node_trouble(redlock_engine(&view->session->client), k, redlock_now_us());
    bool is_well = now == REDLOCK_TROUBLE_NONE || now == REDLOCK_TROUBLE_WRONGTYPE;

    if ((view->refused | view->barred) >> k & 1) return view->session->notes[k].text;
    if (view->sights[k].seen && is_well) return view->session->notes[k].is_voting ? view->session->notes[k].text : NULL;
    return is_well || now == REDLOCK_TROUBLE_NEW ? "no answer in time" : view->session->notes[k].text;
}

/* Has it a vote in spite of its trouble, or does that say itself whether it has one? */
static bool votes_or_says_so(const struct view *view, unsigned k)
{
    return may_vote(view, k) || (!(view->barred >> k & 1) && view->session->notes[k].is_voting) ||
           view->session->notes[k].trouble == REDLOCK_TROUBLE_RESTARTED;
}

static void print_node(const struct view *view, unsigned k, int width)
{
    const char *trouble = trouble_of(view, k);
    bool seen = view->sights[k].seen;

    (void)printf("  node %-2u %-*s  ", k, width, redlock_node_address(&view->session->client, k));
    if (seen) print_sight(&view->sights[k]);
    if (trouble) (void)printf(!seen ? "%s" : votes_or_says_so(view, k) ? " (%s)" : " (no vote: %s)", trouble);
    (void)putchar('\n');
}

/* Once, behind all resources. */
static void print_fingerprint(struct session *session)
{
    struct fingerprint fingerprint = fingerprint_take(&session->client);
    char text[FINGERPRINT_WORDS_MAX];

    (void)puts(fingerprint_describe(&fingerprint, text));
}

static void print_view(const struct view *view)
{
    int width = 0;

    print_verdict(view);
    if (view->is_shared) print_readers(&view->readers, view->count);
    for (unsigned k = 0; k < view->count; k++) {
        int size = (int)strlen(redlock_node_address(&view->session->client, k));
        if (size > width) width = size;
    }
    for (unsigned k = 0; k < view->count; k++) print_node(view, k, width);
}

/* ---- For machines ---- */

static void json_ttl(bool has_ttl, uint32_t ttl_ms)
{
    if (has_ttl) (void)printf(",\"ttl_ms\":%" PRIu32, ttl_ms);
    else         (void)fputs(",\"ttl_ms\":null", stdout);
}

static const char *state_name(const struct redlock_sight *sight)
{
    return !sight->seen ? "unknown" : !sight->exists ? "free" : sight->is_string ? "held" : "other type";
}

static void json_value(const struct redlock_sight *sight)
{
    if (sight->is_readable) json_string(stdout, sight->value, kept_size(sight));
    else                    (void)fputs("null", stdout);
}

static void json_node(const struct view *view, unsigned k)
{
    const struct redlock_sight *sight = &view->sights[k];
    const char *trouble = trouble_of(view, k);

    (void)printf("%s{\"node\":%u,\"address\":", k > 0 ? "," : "", k);
    json_text(stdout, redlock_node_address(&view->session->client, k));
    (void)printf(",\"state\":\"%s\"", state_name(sight));
    if (sight->exists && sight->is_string) {
        (void)fputs(",\"value\":", stdout);
        json_value(sight);
    }
    if (sight->exists) json_ttl(sight->has_ttl, sight->ttl_ms);
    (void)printf(",\"votes\":%s,\"trouble\":", may_vote(view, k) ? "true" : "false");
    if (trouble) json_text(stdout, trouble);
    else         (void)fputs("null", stdout);
    (void)putchar('}');
}

/* Those that share it, and whether one waits to have it alone. */
static void json_readers(const struct readers *readers)
{
    (void)fputs(",\"shared\":true,\"readers\":[", stdout);
    for (unsigned i = 0; i < readers->count; i++) {
        (void)printf("%s{\"value\":", i > 0 ? "," : "");
        json_text(stdout, readers->readers[i].value);
        (void)printf(",\"ttl_ms\":%" PRIu32 ",\"agreeing\":%u}", readers->readers[i].ends_in_ms, readers->readers[i].nodes);
    }
    (void)printf("],\"more_readers\":%s,\"writer_waits_since\":", readers->are_more ? "true" : "false");
    if (readers->has_writer) (void)printf("%" PRIu64, readers->writer_wall_us);
    else                     (void)fputs("null", stdout);
}

/* Behind the resource. */
static void json_view(const struct view *view)
{
    struct fingerprint fingerprint = fingerprint_take(&view->session->client);

    (void)printf("\"verdict\":\"%s\",\"agreeing\":%u,\"voters\":%u,\"ticket_givers\":", verdict_names[view->verdict],
                 view->agreeing, view->voters);
    if (view->session->settings->ticket) (void)printf("%u", view->givers);
    else                                 (void)fputs("null", stdout);
    (void)printf(",\"can_acquire\":%s,\"quorum\":%u", status_of(view) == REDLOCK_OK ? "true" : "false", view->quorum);
    if (view->verdict == VERDICT_HELD) {
        (void)fputs(",\"value\":", stdout);
        json_value(&view->sights[view->holder]);
        json_ttl(view->has_end, view->ends_in_ms);
        (void)fputs(",\"holder\":", stdout);
        if (view->held.name[0] != '\0') json_text(stdout, view->held.name);
        else                            (void)fputs("null", stdout);
        if (view->held.ticket > 0) (void)printf(",\"ticket\":%" PRIu64, view->held.ticket);
        if (view->is_shared) json_readers(&view->readers);
    }
    (void)fputs(",\"fingerprint\":", stdout);
    if (fingerprint.known > 0) json_text(stdout, fingerprint.text);
    else                       (void)fputs("null", stdout);
    (void)printf(",\"fingerprint_of\":%u,\"nodes\":[", fingerprint.known);
    for (unsigned k = 0; k < view->count; k++) json_node(view, k);
    (void)fputs("]}", stdout);
}

/* ---- All of it ---- */

/* Asks all nodes, and notes what they refuse and is_refusal() takes for one. Returns the set of these nodes. */
static uint16_t note_refusals(struct view *view, const char *const *words, unsigned count,
                              bool (*is_refusal)(const struct view *view, unsigned k, const struct redlock_item *item))
{
    static struct ask_all all;
    struct session *session = view->session;
    struct redlock_item item;
    uint16_t set = 0;

    all = (struct ask_all){ 0 };
    for (unsigned i = 0; i < count; i++) ask_all_argument(&all, words[i]);
    ask_all_begin(&all, session);
    ask_all_wait(&all, session, redlock_now_us() + (uint64_t)session->settings->options.engine.node_timeout_ms * 1000);
    for (unsigned k = 0; k < view->count; k++) {
        if (ask_all_answer(&all, k, &item) || item.type != REDLOCK_ITEM_ERROR || !is_refusal(view, k, &item)) continue;
        item_note_refusal(&item, &session->notes[k], "");
        set |= (uint16_t)(1u << k);
    }
    ask_all_end(&all, session);
    return set;
}

static bool is_unseen(const struct view *view, unsigned k, const struct redlock_item *item)
{
    (void)item;
    return !view->sights[k].seen;
}

/* Of a node that restarted within the guard the engine tells that, and not what it answered: it is asked again. */
static void find_refusals(struct view *view)
{
    const char *words[] = { "PTTL", view->resource };
    bool is_hidden = false;

    for (unsigned k = 0; k < view->count; k++)
        is_hidden |= !view->sights[k].seen && view->session->notes[k].trouble == REDLOCK_TROUBLE_RESTARTED;
    if (is_hidden) view->refused |= note_refusals(view, words, 2, is_unseen);
}

static bool item_begins(const struct redlock_item *item, const char *text)
{
    return item->size >= strlen(text) && memcmp(item->bytes, text, strlen(text)) == 0;
}

/* As OOM, NOREPLICAS, MISCONF; or the command has another name there. A node without a vote has said why. */
static bool is_barrier(const struct view *view, unsigned k, const struct redlock_item *item)
{
    return may_vote(view, k) && (!item_begins(item, "ERR ") || item_begins(item, "ERR unknown command"));
}

/* A SET with NX and XX is refused by all servers, as the syntax error that it is, and changes nothing. But a server that cannot
 * write says that first; or that this user may not, which is told, and bars no other. */
static void find_barriers(struct view *view)
{
    const char *words[] = { "SET", view->resource, "-", "NX", "XX" };
    uint16_t set = note_refusals(view, words, 5, is_barrier);

    for (unsigned k = 0; k < view->count; k++) {
        if (view->session->notes[k].trouble == REDLOCK_TROUBLE_NOPERM) view->refused |= (uint16_t)(set & 1u << k);
        else                                                           view->barred |= (uint16_t)(set & 1u << k);
    }
}

static enum redlock_status look(struct session *session, struct view *view)
{
    enum redlock_status status;

    status = redlock_start_inspect(redlock_engine(&session->client), &session->lock, view->resource, strlen(view->resource),
                                   view->sights, redlock_now_us());
    if (status == REDLOCK_OK) status = session_finish(session);
    session_connect(session);       /* The round is over a moment before it is certain that a node hangs. */
    if (status != REDLOCK_OK) return status;
    find_barriers(view);
    find_refusals(view);    /* The last: while it is waited the engine's words of the guard would come in place of them. */
    return status;
}

/* Only behind a token there can be a name. */
static void look_at_holder(struct view *view)
{
    const struct redlock_sight *sight = &view->sights[view->holder];

    view->is_shared = view->verdict == VERDICT_HELD && is_shared_marker(sight);
    if (view->is_shared) readers_look(&view->readers, view->session, view->resource);
    if (view->verdict == VERDICT_HELD && sight->value_size > REDLOCK_TOKEN_TEXT)
        held_look(&view->held, view->session, view->resource, sight->value);
}

static void print_json(const struct view *view)
{
    report_json_begin(stdout, view->session->settings, view->resource, status_of(view), NULL);
    json_view(view);
    (void)putchar('\n');
}

/* Nothing was seen. */
static void report_blind(struct session *session, const char *resource, enum redlock_status status)
{
    if (session->settings->json) {
        report_json_begin(stdout, session->settings, resource, status, NULL);
        report_json_end(stdout, session);
    } else if (!session->signal) {
        say("%s: %s", resource, redlock_status_text(status));
    }
}

/* Looks at one resource and tells what is seen: its exit status, or what went wrong. */
static enum redlock_status show(struct session *session, const char *resource)
{
    unsigned count = redlock_node_count(&session->client);
    struct view view = { .session = session, .resource = resource, .count = count, .quorum = redlock_quorum(count) };
    enum redlock_status status = look(session, &view);

    if (status == REDLOCK_OK) {
        judge(&view);
        look_at_holder(&view);
        if (session->settings->json) print_json(&view);
        else                         print_view(&view);
        status = report_written("the result") ? status_of(&view) : REDLOCK_SYSTEM;
    } else {
        report_blind(session, resource, status);
    }
    redlock_forget(redlock_engine(&session->client), &session->lock);
    return status;
}

/* ---- Permits ---- */

/* Each is a lock of its own, "RESOURCE:1" and so on. */
struct permits {
    struct view views[REDLOCK_PERMITS_MAX];
    char names[REDLOCK_PERMITS_MAX][REDLOCK_RESOURCE_MAX + 4];
    unsigned count, taken, known;
};

static enum redlock_status look_at_permits(struct permits *permits, struct session *session, const char *resource)
{
    unsigned nodes = redlock_node_count(&session->client);
    enum redlock_status status = REDLOCK_OK;

    *permits = (struct permits){ .count = session->settings->permits };
    for (unsigned i = 0; i < permits->count && status == REDLOCK_OK; i++) {
        struct view *view = &permits->views[i];
        (void)snprintf(permits->names[i], sizeof permits->names[i], "%s:%u", resource, i + 1);
        *view = (struct view){ .session = session, .resource = permits->names[i], .count = nodes, .quorum = redlock_quorum(nodes) };
        status = look(session, view);
        if (status == REDLOCK_OK) {
            judge(view);
            look_at_holder(view);
            permits->taken += view->verdict != VERDICT_FREE && view->verdict != VERDICT_NO_QUORUM;
            permits->known += view->verdict != VERDICT_NO_QUORUM;
        }
        redlock_forget(redlock_engine(&session->client), &session->lock);
    }
    return status;
}

/* OK: one is free, and a quorum can grant it. */
static enum redlock_status status_of_permits(const struct permits *permits)
{
    enum redlock_status status = permits->known < permits->count ? REDLOCK_NO_QUORUM : REDLOCK_TAKEN;

    for (unsigned i = 0; i < permits->count; i++)
        if (status_of(&permits->views[i]) == REDLOCK_OK) return REDLOCK_OK;
    return permits->taken < permits->known ? REDLOCK_NO_QUORUM : status;
}

static void print_permits(const struct permits *permits, const char *resource)
{
    char name[TEXT_MAX];

    (void)printf("%s: ", text_printable(name, sizeof name, resource, strlen(resource)));
    if (permits->known < permits->count)
        (void)printf("of %u permits %u are known to be taken; of %u too few nodes can tell", permits->count, permits->taken,
                     permits->count - permits->known);
    else
        (void)printf("%u of %u permits taken", permits->taken, permits->count);
    if (permits->taken < permits->known && status_of_permits(permits) != REDLOCK_OK)
        (void)fputs(", but nobody can acquire one now", stdout);
    (void)putchar('\n');
    for (unsigned i = 0; i < permits->count; i++) {
        (void)fputs("  ", stdout);
        print_verdict(&permits->views[i]);
    }
}

static void json_permits(const struct permits *permits, struct session *session, const char *resource)
{
    report_json_begin(stdout, session->settings, resource, status_of_permits(permits), NULL);
    (void)printf("\"permits\":%u,\"taken\":%u,\"slots\":[", permits->count, permits->taken);
    for (unsigned i = 0; i < permits->count; i++) {
        (void)fputs(i > 0 ? ",{\"resource\":" : "{\"resource\":", stdout);
        json_text(stdout, permits->names[i]);
        (void)putchar(',');
        json_view(&permits->views[i]);
    }
    (void)puts("]}");
}

static enum redlock_status show_permits(struct session *session, const char *resource)
{
    static struct permits permits;
    enum redlock_status status = look_at_permits(&permits, session, resource);

    if (status != REDLOCK_OK) {
        report_blind(session, resource, status);
        return status;
    }
    if (session->settings->json) json_permits(&permits, session, resource);
    else                         print_permits(&permits, resource);
    return report_written("the result") ? status_of_permits(&permits) : REDLOCK_SYSTEM;
}

/* One after the other. The worst is the exit status: not free, no quorum, something wrong. */
int status_command(struct session *session, struct settings *settings)
{
    enum redlock_status worst = open_session(session, settings), status;
    int code;

    if (worst != REDLOCK_OK) return EXIT_TROUBLE;
    for (unsigned i = 0; i < settings->name_count && worst <= REDLOCK_NO_QUORUM && !session->signal; i++) {
        status = settings->permits > 0 ? show_permits(session, settings->names[i]) : show(session, settings->names[i]);
        if (status > worst) worst = status;
    }
    if (!settings->json && !session->signal && worst <= REDLOCK_NO_QUORUM) print_fingerprint(session);
    if (worst != REDLOCK_SYSTEM && !report_written("the result")) worst = REDLOCK_SYSTEM;
    code = exit_of(session, worst);
    session_close(session);
    return code;
}
