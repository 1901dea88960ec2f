/* status: what each node knows of a lock, and what the majority says. Reads only. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "exits.h"
#include "fingerprint.h"
#include "print.h"
#include "report.h"
#include "status.h"
#include "text.h"

/* ---- For people ---- */

const char *status_value_text(const struct redlock_sight *sight, char *text, size_t size)
{
    size_t kept = sight_kept(sight);

    assert(size > 0);
    if (!sight->is_readable) return "a value that we may not read";
    (void)text_printable(text, size, sight->value, kept);
    if (sight->value_size > kept) (void)print_text(text + strlen(text), size - strlen(text), "...");
    return text;
}

/* By a program that gave its name: the token stands in the lines of the nodes. */
static void print_named_holder(const struct view *view)
{
    const struct held *held = &view->held;
    uint64_t now = redlock_wall_us();
    char name[4 * REDLOCK_HOLDER_MAX + 1], duration[TEXT_DURATION_MAX];

    assert(held->name[0] != '\0');
    (void)print("held by %s", text_printable(name, sizeof name, held->name, strlen(held->name)));
    if (held->ticket > 0)                       (void)print(", last ticket %" PRIu64, held->ticket);
    if (held->ticket > 0 && held->ticket < now)
        (void)print(" (%s ago)", text_duration(duration, (now - held->ticket) / 1000));
    if (view->has_end)
        (void)print(", free in at most %s", text_duration(duration, view->ends_in_ms));
    else               (void)print(", for ever (no TTL)");
    (void)print(", on %u of %u nodes", view->agreeing, view->count);
}

static void print_shared(const struct view *view)
{
    char duration[TEXT_DURATION_MAX];

    assert(view->is_shared);
    if (view->readers.answers < view->quorum) (void)print("shared");
    else
        (void)print("shared by %s%u", view->readers.are_more ? "more than " : "",
                    view->readers.count);
    if (view->has_end)
        (void)print(", free in at most %s", text_duration(duration, view->ends_in_ms));
    (void)print(", on %u of %u nodes", view->agreeing, view->count);
}

/* A line for each that shares it, and for the one that waits to have it alone. */
static void print_readers(const struct readers *readers, unsigned count)
{
    uint64_t now = redlock_wall_us();
    char value[4 * REDLOCK_VALUE_TEXT + 1], duration[TEXT_DURATION_MAX];

    assert(count > 0);
    for (unsigned i = 0; i < readers->count; i++) {
        const struct reader *reader = &readers->readers[i];
        (void)print("  shared by %s, %s left, on %u of %u nodes\n",
                    text_printable(value, sizeof value, reader->value, strlen(reader->value)),
                    text_duration(duration, reader->ends_in_ms), reader->nodes, count);
    }
    if (!readers->has_writer) return;
    (void)print("  somebody waits to have it alone");
    if (readers->writer_wall_us < now)
        (void)print(", for %s", text_duration(duration, (now - readers->writer_wall_us) / 1000));
    (void)print("\n");
}

/* How many may vote, if not all do, and whether anybody can acquire it. */
static void print_voters(const struct view *view)
{
    if (view->voters < view->count || view->givers < view->quorum)
        (void)print("; %u of %u may vote", view->voters, view->count);
    if (view->givers < view->quorum && view->givers < view->voters)
        (void)print(", %u give tickets", view->givers);
    if (view->givers < view->quorum ||
        (view->verdict == VERDICT_FREE && view->grantors < view->quorum))
        (void)print(", so nobody can acquire it now");
}

void status_print_verdict(const struct view *view)
{
    char resource[TEXT_MAX], value[4 * REDLOCK_TOKEN_TEXT + 8], duration[TEXT_DURATION_MAX];

    assert(view->resource);
    (void)text_printable(resource, sizeof resource, view->resource, strlen(view->resource));
    (void)print("%s: ", resource);
    switch (view->verdict) {
    case VERDICT_FREE:
        (void)print("free on %u of %u nodes", view->agreeing, view->count);
        break;
    case VERDICT_HELD:
        if (view->is_shared)                 print_shared(view);
        else if (view->held.name[0] != '\0') print_named_holder(view);
        else
            (void)print("held by %s %s%s on %u of %u nodes",
                        status_value_text(&view->sights[view->holder], value, sizeof value),
                        view->has_end ? "for another " : "for ever (no TTL)",
                        view->has_end ? text_duration(duration, view->ends_in_ms) : "",
                        view->agreeing, view->count);
        break;
    case VERDICT_OTHER_TYPE:
        (void)print("held on %u of %u nodes by a key of another type: Redisson's lock, or none",
                    view->agreeing, view->count);
        break;
    case VERDICT_SPLIT:
        (void)print("split: neither free nor held on a quorum; %u of %u nodes can tell",
                    view->agreeing, view->count);
        break;
    case VERDICT_NO_QUORUM:
        (void)print("no quorum: %u of %u nodes can tell", view->agreeing, view->count);
        break;
    }
    (void)print(" (quorum %u)", view->quorum);
    print_voters(view);
}

static void print_sight(const struct redlock_sight *sight)
{
    char value[4 * REDLOCK_TOKEN_TEXT + 8], duration[TEXT_DURATION_MAX];

    if (!sight->exists)               (void)print("free");
    else if (!sight->is_string)       (void)print("a key of another type");
    else if (is_shared_marker(sight)) (void)print("shared");
    else (void)print("held by %s", status_value_text(sight, value, sizeof value));
    if (sight->exists && sight->has_ttl)
        (void)print(", %s left", text_duration(duration, sight->ttl_ms));
    else if (sight->exists)              (void)print(", no TTL: it does not end by itself");
}

/* Has it a vote in spite of its trouble, or does that say itself whether it has one? */
static bool votes_or_says_so(const struct view *view, unsigned k)
{
    assert(k < view->count);
    return view_may_vote(view, k) ||
           (!(view->barred >> k & 1) && view->session->notes[k].is_voting) ||
           view->session->notes[k].trouble == REDLOCK_TROUBLE_RESTARTED;
}

static void print_node(const struct view *view, unsigned k, int width)
{
    const char *trouble = view_trouble(view, k);
    bool seen = view->sights[k].seen;

    assert(k < view->count);
    (void)print("  node %-2u %-*s  ", k, width, redlock_node_address(&view->session->client, k));
    if (seen) print_sight(&view->sights[k]);
    if (trouble)
        (void)print(!seen ? "%s" : votes_or_says_so(view, k) ? " (%s)" : " (no vote: %s)", trouble);
    (void)print("\n");
}

/* Once, behind all resources. */
static void print_fingerprint(struct session *session)
{
    struct fingerprint fingerprint = fingerprint_take(&session->client);
    char text[FINGERPRINT_WORDS_MAX];

    (void)print("%s\n", fingerprint_describe(&fingerprint, text));
}

static void print_view(const struct view *view)
{
    int width = 0;

    status_print_verdict(view);
    (void)print("\n");
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
    if (has_ttl) (void)print(",\"ttl_ms\":%" PRIu32, ttl_ms);
    else         (void)print(",\"ttl_ms\":null");
}

static const char *state_name(const struct redlock_sight *sight)
{
    return !sight->seen       ? "unknown"
           : !sight->exists   ? "free"
           : sight->is_string ? "held"
                              : "other type";
}

static void json_value(const struct redlock_sight *sight)
{
    if (sight->is_readable) json_string(stdout, sight->value, sight_kept(sight));
    else                    (void)print("null");
}

static void json_node(const struct view *view, unsigned k)
{
    const struct redlock_sight *sight = &view->sights[k];
    const char *trouble = view_trouble(view, k);

    assert(k < view->count);
    (void)print("%s{\"node\":%u,\"address\":", k > 0 ? "," : "", k);
    json_text(stdout, redlock_node_address(&view->session->client, k));
    (void)print(",\"state\":\"%s\"", state_name(sight));
    if (sight->exists && sight->is_string) {
        (void)print(",\"value\":");
        json_value(sight);
    }
    if (sight->exists) json_ttl(sight->has_ttl, sight->ttl_ms);
    (void)print(",\"votes\":%s,\"trouble\":", view_may_vote(view, k) ? "true" : "false");
    if (trouble) json_text(stdout, trouble);
    else         (void)print("null");
    (void)print("}");
}

/* Those that share it, and whether one waits to have it alone. */
static void json_readers(const struct readers *readers)
{
    (void)print(",\"shared\":true,\"readers\":[");
    for (unsigned i = 0; i < readers->count; i++) {
        (void)print("%s{\"value\":", i > 0 ? "," : "");
        json_text(stdout, readers->readers[i].value);
        (void)print(",\"ttl_ms\":%" PRIu32 ",\"agreeing\":%u}", readers->readers[i].ends_in_ms,
                    readers->readers[i].nodes);
    }
    (void)print("],\"more_readers\":%s,\"writer_waits_since\":",
                readers->are_more ? "true" : "false");
    if (readers->has_writer) (void)print("%" PRIu64, readers->writer_wall_us);
    else                     (void)print("null");
}

void status_json(const struct view *view)
{
    struct fingerprint fingerprint = fingerprint_take(&view->session->client);

    (void)print("\"verdict\":\"%s\",\"agreeing\":%u,\"voters\":%u,\"ticket_givers\":",
                view_verdict_name(view), view->agreeing, view->voters);
    if (view->session->settings->ticket) (void)print("%u", view->givers);
    else                                 (void)print("null");
    (void)print(",\"can_acquire\":%s,\"quorum\":%u",
                view_status(view) == REDLOCK_OK ? "true" : "false", view->quorum);
    if (view->verdict == VERDICT_HELD) {
        (void)print(",\"value\":");
        json_value(&view->sights[view->holder]);
        json_ttl(view->has_end, view->ends_in_ms);
        (void)print(",\"holder\":");
        if (view->held.name[0] != '\0') json_text(stdout, view->held.name);
        else                            (void)print("null");
        if (view->held.ticket > 0) (void)print(",\"ticket\":%" PRIu64, view->held.ticket);
        if (view->is_shared) json_readers(&view->readers);
    }
    (void)print(",\"fingerprint\":");
    if (fingerprint.known > 0) json_text(stdout, fingerprint.text);
    else                       (void)print("null");
    (void)print(",\"fingerprint_of\":%u,\"nodes\":[", fingerprint.known);
    for (unsigned k = 0; k < view->count; k++) json_node(view, k);
    (void)print("]}");
}

static void print_json(const struct view *view)
{
    output_json_begin(stdout, &view->session->settings->output, view->resource, view_status(view),
                      NULL);
    status_json(view);
    (void)print("\n");
}

/* Looks at one resource and tells what is seen: its exit status, or what went wrong. */
static enum redlock_status show(struct session *session, const char *resource)
{
    struct view view;
    enum redlock_status status = view_look(&view, session, resource);

    if (status == REDLOCK_OK) {
        if (session->output->json) print_json(&view);
        else                       print_view(&view);
        if (!session->output->json && view.verdict == VERDICT_FREE && strchr(resource, '*'))
            say("%s is the name of one lock: 'redlock scan PATTERN' finds those of several",
                resource);
        status = output_written("the result") ? view_status(&view) : REDLOCK_SYSTEM;
    } else {
        report_blind(session, resource, status);
    }
    return status;
}

/* ---- Permits ---- */

static void print_permits(const struct permits *permits, const char *resource)
{
    char name[TEXT_MAX];

    assert(permits->known <= permits->count);
    (void)print("%s: ", text_printable(name, sizeof name, resource, strlen(resource)));
    if (permits->known < permits->count)
        (void)print("of %u permits %u are known to be taken; of %u too few nodes can tell",
                    permits->count, permits->taken, permits->count - permits->known);
    else
        (void)print("%u of %u permits taken", permits->taken, permits->count);
    if (permits->taken < permits->known && permits_status(permits) != REDLOCK_OK)
        (void)print(", but nobody can acquire one now");
    (void)print("\n");
    for (unsigned i = 0; i < permits->count; i++) {
        (void)print("  ");
        status_print_verdict(&permits->views[i]);
        (void)print("\n");
    }
}

void status_json_permits(const struct permits *permits)
{
    assert(permits->count > 0);
    (void)print("\"permits\":%u,\"taken\":%u,\"slots\":[", permits->count, permits->taken);
    for (unsigned i = 0; i < permits->count; i++) {
        (void)print("%s{\"resource\":", i > 0 ? "," : "");
        json_text(stdout, permits->names[i]);
        (void)print(",");
        status_json(&permits->views[i]);
    }
    (void)print("]}");
}

static void print_json_of_permits(const struct permits *permits, struct session *session,
                                  const char *resource)
{
    output_json_begin(stdout, &session->settings->output, resource, permits_status(permits), NULL);
    status_json_permits(permits);
    (void)print("\n");
}

static enum redlock_status show_permits(struct session *session, const char *resource)
{
    static struct permits permits;
    enum redlock_status status = permits_look(&permits, session, resource);

    if (status != REDLOCK_OK) {
        report_blind(session, resource, status);
        return status;
    }
    if (session->output->json) print_json_of_permits(&permits, session, resource);
    else                       print_permits(&permits, resource);
    return output_written("the result") ? permits_status(&permits) : REDLOCK_SYSTEM;
}

/* One after the other. The worst is the exit status: not free, no quorum, something wrong. */
int status_command(struct session *session, struct settings *settings)
{
    enum redlock_status worst = open_session(session, settings), status;
    int code;

    if (worst != REDLOCK_OK) return EXIT_TROUBLE;
    for (unsigned i = 0; i < settings->name_count && worst <= REDLOCK_NO_QUORUM && !session->signal;
         i++) {
        status = settings->permits > 0 ? show_permits(session, settings->names[i])
                                       : show(session, settings->names[i]);
        if (status > worst) worst = status;
    }
    if (!settings->output.json && !session->signal && worst <= REDLOCK_NO_QUORUM)
        print_fingerprint(session);
    if (worst != REDLOCK_SYSTEM && !output_written("the result")) worst = REDLOCK_SYSTEM;
    code = exit_of(session, worst);
    session_close(session);
    return code;
}
