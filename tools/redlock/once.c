#define _GNU_SOURCE
#include "once.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "exit_status.h"
#include "print.h"
#include "report.h"
#include "text.h"

/* ---- Which period ---- */

void once_is_due(struct once *once, const struct settings *settings, const struct holding *holding)
{
    const char *holder =
        settings->options.holder ? settings->options.holder : holding->default_holder;

    assert(settings->once_per_ms > 0);
    once->holding = holding;
    (void)print_text(once->who, sizeof once->who, "%s", holder);
    once->period = (struct redlock_period){
        .period_ms = settings->once_per_ms,
        .wall_us = redlock_wall_us(),
        .at_us = redlock_now_us(),
        .who = once->who,
        .takes_forgetful = holding->once_anyway,
    };
}

/* ---- Marks ---- */

/* One round. PENDING: a signal came, or nothing works any longer. */
static enum redlock_status ask_for_marks(struct once *once, struct session *session)
{
    struct redlock *engine = &session->client.engine;
    enum redlock_status status =
        redlock_start_mark(engine, &once->mark, &session->lock, &once->period, redlock_now_us());

    assert(once->period.period_ms > 0);
    if (status != REDLOCK_OK) return status;
    session_step(session);
    while ((status = redlock_mark_status(engine, &once->mark, redlock_now_us())) ==
           REDLOCK_PENDING) {
        if (session_must_end(session) || session->fault) break;
        session_wait(session, once->mark.until_us);
    }
    redlock_forget_mark(engine, &once->mark);
    return status;
}

static void pause_until(struct session *session, uint64_t until_us)
{
    while (redlock_now_us() < until_us && !session_must_end(session) && !session->fault)
        session_wait(session, until_us);
}

/* A node may have forgotten a mark. It stays so. */
static bool is_forgetful(const struct once *once, unsigned k)
{
    return once->mark.nodes[k].vote == REDLOCK_VOTE_NOT_ASKED &&
           once->mark.nodes[k].words[0] != '\0';
}

/* "BEHIND the clock of this node: 1795262400", in seconds, or AHEAD (see period_mark.lua). */
static bool is_of_clock(const char *words)
{
    return words && (strncmp(words, "BEHIND ", 7) == 0 || strncmp(words, "AHEAD ", 6) == 0);
}

/* Can another round do what this one could not? It sets no clock. */
static bool is_worth_another(const struct once *once, const struct session *session,
                             enum redlock_status status)
{
    unsigned count = session->client.engine.node_count, able = count;

    for (unsigned k = 0; k < count; k++)
        able -= is_forgetful(once, k) || is_of_clock(once->mark.nodes[k].words);
    return status == REDLOCK_NO_QUORUM && able >= redlock_quorum(count);
}

/* The lock is kept meanwhile. Nodes that do not answer may be back within the time that a lock
 * survives without them: a TTL. */
static enum redlock_status mark(struct once *once, struct session *session)
{
    const struct settings *settings = session->settings;
    struct redlock *engine = &session->client.engine;
    uint64_t pause_us = (uint64_t)settings->options.engine.retry_ms * 1000;
    uint64_t until = redlock_now_us() + (uint64_t)settings->ttl_ms * 1000;
    enum redlock_status status;

    assert(once->holding);
    if (once->holding->max_extensions > 0 &&
        redlock_keep(engine, &session->lock, 0, redlock_now_us()) != REDLOCK_OK)
        return REDLOCK_LOST;
    once->has_asked = true;
    for (;;) {
        once->status = status = ask_for_marks(once, session);
        if (!is_worth_another(once, session, status) || redlock_now_us() + pause_us >= until)
            return status;
        pause_until(session, redlock_now_us() + pause_us);
        if (session->signal || session->fault) return REDLOCK_PENDING;
    }
}

/* ---- In words ---- */

static unsigned count_votes(const struct once *once, const struct session *session,
                            enum redlock_vote vote)
{
    unsigned count = 0;

    for (unsigned k = 0; k < session->client.engine.node_count; k++)
        count += once->mark.nodes[k].vote == vote;
    return count;
}

/* " (12 s ago, by web2:4711 backup.sh)", or nothing, if no node has told. Clocks of two hosts: it
 * may seem to be in the future. */
static const char *describe_seen(const struct once *once, char *text, size_t size)
{
    uint64_t then_us = once->mark.seen_wall_us, now_us = redlock_wall_us();
    const char *who = once->mark.seen_who;
    char duration[TEXT_DURATION_MAX];

    assert(size > 0);
    text[0] = '\0';
    if (who)
        (void)print_text(text, size, " (%s ago%s%s)",
                         text_duration(duration, now_us > then_us ? (now_us - then_us) / 1000 : 0),
                         who[0] ? ", by " : "", who);
    return text;
}

/* That a quorum has another's mark is all that is known of one that has run; a mark on fewer nodes
 * may be of one that has not. */
static void say_already(const struct once *once, struct session *session)
{
    bool is_quorum = count_votes(once, session, REDLOCK_VOTE_REFUSED) >=
                     redlock_quorum(session->client.engine.node_count);
    char seen[REDLOCK_WHO_MAX + TEXT_DURATION_MAX + 16];

    if (session->output->quiet && !session->output->verbose) return;
    say_of_resource("%s%s%s",
                    is_quorum ? (once->holding->retry_until_done ? "already done in this period"
                                                                 : "already ran in this period")
                              : "somebody began in this period",
                    describe_seen(once, seen, sizeof seen), is_quorum ? "" : " and may have run");
}

static const char *describe_clock(const char *words, char *text)
{
    int64_t ahead_ms = notes_ahead_ms(words);
    char duration[TEXT_DURATION_MAX];

    (void)print_text(text, TROUBLE_TEXT_MAX, "our wall clock is %s %s its",
                     text_duration(duration, (uint64_t)(ahead_ms < 0 ? -ahead_ms : ahead_ms)),
                     ahead_ms < 0 ? "behind" : "ahead of");
    return text;
}

/* Why node k has not taken the mark. The text has TROUBLE_TEXT_MAX bytes. */
static const char *describe_vote(const struct once *once, struct session *session, unsigned k,
                                 char *text)
{
    const char *words = once->mark.nodes[k].words;

    assert(k < session->client.engine.node_count);
    if (once->mark.nodes[k].vote == REDLOCK_VOTE_REFUSED) return "it has another's mark";
    if (is_of_clock(words)) return describe_clock(words, text);
    if (words && words[0] != '\0') return words;
    redlock_describe_node(&session->client.engine, k, redlock_now_us(), text, TROUBLE_TEXT_MAX);
    return strcmp(text, "ok") == 0 ? "it does not have the lock, or did not answer in time" : text;
}

static void say_votes(const struct once *once, struct session *session)
{
    char text[TROUBLE_TEXT_MAX];

    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        if (once->mark.nodes[k].vote == REDLOCK_VOTE_GRANTED) continue;
        report_with_advice(session, k, describe_vote(once, session, k, text),
                           is_of_clock(once->mark.nodes[k].words)
                               ? "set the clock that is wrong, by NTP"
                               : NULL);
    }
}

static bool any_is_forgetful(const struct once *once, const struct session *session)
{
    bool is_any = false;

    for (unsigned k = 0; k < session->client.engine.node_count; k++)
        is_any |= is_forgetful(once, k);
    return is_any;
}

static void say_no_quorum(const struct once *once, struct session *session)
{
    unsigned count = session->client.engine.node_count,
             refused = count_votes(once, session, REDLOCK_VOTE_REFUSED);
    char seen[REDLOCK_WHO_MAX + TEXT_DURATION_MAX + 16];

    assert(refused <= count);
    say_of_resource("no quorum of nodes takes a mark of this period (%u of %u, quorum %u)%s%s%s",
                    count_votes(once, session, REDLOCK_VOTE_GRANTED), count, redlock_quorum(count),
                    refused > 0 ? "; somebody began in it" : "",
                    refused > 0 ? describe_seen(once, seen, sizeof seen) : "",
                    refused > 0 ? " and may have run" : "");
    say_votes(once, session);
    if (any_is_forgetful(once, session))
        say_of_resource("to run rather twice than never: --once-anyway");
}

static void say_why(const struct once *once, struct session *session, enum redlock_status status)
{
    if (session->output->json || session->signal) return;
    if (status == REDLOCK_ALREADY)        say_already(once, session);
    else if (status == REDLOCK_NO_QUORUM) say_no_quorum(once, session);
    else if (status == REDLOCK_TOO_LATE)  say_of_resource("the period ended too long ago");
    else say_of_resource("%s", redlock_status_text(session->fault ? session->fault : status));
}

/* ---- For machines ---- */

static void json_vote(FILE *file, const struct once *once, struct session *session, unsigned k)
{
    enum redlock_vote vote = once->mark.nodes[k].vote;
    char text[TROUBLE_TEXT_MAX];

    (void)print_to(file, "%s{\"node\":%u,\"vote\":\"%s\",\"trouble\":", k > 0 ? "," : "", k,
                   report_vote_name(vote));
    if (vote == REDLOCK_VOTE_GRANTED) (void)print_to(file, "null");
    else                              json_text(file, describe_vote(once, session, k, text));
    (void)print_to(file, "}");
}

void once_json(FILE *file, const struct once *once, struct session *session)
{
    const char *who = once->mark.seen_who;

    if (!once->has_asked) return;
    (void)print_to(file, "\"mark\":{\"status\":\"%s\",", status_name(once->status));
    if (who) (void)print_to(file, "\"at_ms\":%" PRIu64 ",\"by\":", once->mark.seen_wall_us / 1000);
    if (who) json_text(file, who);
    (void)print_to(file, who ? ",\"nodes\":[" : "\"nodes\":[");
    for (unsigned k = 0; k < session->client.engine.node_count; k++)
        json_vote(file, once, session, k);
    (void)print_to(file, "]},");
}

/* ---- Before the command and behind it ---- */

int once_ask(struct once *once, struct session *session)
{
    enum redlock_status status;

    assert(!once->has_asked);
    once->period.looks_only = once->holding->retry_until_done;
    status = mark(once, session);
    if (session->signal) return EXIT_SIGNAL + session->signal;
    if (status != REDLOCK_OK) say_why(once, session, status);
    else if (session->output->verbose && !once->period.looks_only)
        say_of_resource("the period is marked on %u of %u nodes so far",
                        count_votes(once, session, REDLOCK_VOTE_GRANTED),
                        session->client.engine.node_count);
    switch (status) {
    case REDLOCK_OK:        return 0;
    case REDLOCK_ALREADY:   return EXIT_ALREADY;
    case REDLOCK_NO_QUORUM:
    case REDLOCK_TOO_LATE:
    case REDLOCK_LOST:      return EXIT_NO_QUORUM;
    default:                return EXIT_TROUBLE;
    }
}

void once_is_done(struct once *once, struct session *session)
{
    enum redlock_status status;

    assert(once->holding->retry_until_done);
    once->period.looks_only = false;
    status = mark(once, session);
    if (status == REDLOCK_OK) return;
    say_why(once, session, status);
    if (!session->output->json)
        say_of_resource("the command has succeeded, but that could not be marked: it may run again "
                        "in this period");
}
