/* ping: measures how long each node takes to answer, and how far its clock is off, and derives a
 * node timeout. It asks for the time, which every user of locks may do. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../redlock/exit_status.h"
#include "../redlock/output.h"
#include "../redlock/print.h"
#include "../redlock/text.h"
#include "admin.h"
#include "survey.h"

enum {
    TIMES_WORST = 4,            /* The proposal is so many times the worst round trip, */
    /* and at least this, since a server that forks to save its data is busy for a moment. */
    PROPOSAL_MS_MIN = 50,
    PROPOSAL_MS_MAX = 60 * 1000
};

/* One node's answers. */
struct track {
    struct redlock_question question;
    uint8_t reply[512];
    bool is_pending;
    uint64_t asked_at;
    unsigned sent, answered;    /* Questions that were not answered in time are lost, */
    /* and those that could not be sent, since there is no connection, or the node
     * did not answer. */
    unsigned unsent;
    /* and so are those during which it owes an answer, unless that comes. */
    unsigned skipped;
    struct survey_clock clock;
    uint32_t trips_us[PINGS_MAX];
};

struct pinging {
    struct session *session;
    const struct settings *settings;
    uint32_t times, interval_ms;    /* So many times it asks, so often. */
    unsigned count, answering;
    uint32_t worst_us, proposal_ms;
    struct track tracks[REDLOCK_NODES_MAX];
};

/* ---- Asking ---- */

static void end_question(struct track *track, bool is_answered)
{
    if (!is_answered) track->unsent += track->skipped;
    track->skipped = 0;
    track->is_pending = false;
}

static void take_answer(struct track *track)
{
    enum redlock_status status = track->question.status;
    uint64_t now = redlock_now_us(), trip = now - track->asked_at;
    bool is_answered;

    if (!track->is_pending || status == REDLOCK_PENDING) return;
    is_answered = status == REDLOCK_OK &&
                  survey_take_time(&track->clock, &track->question, track->asked_at, now);
    end_question(track, is_answered);
    if (is_answered)
        track->trips_us[track->answered++] = trip < UINT32_MAX ? (uint32_t)trip : UINT32_MAX;
}

/* The next question, unless the node owes an answer. */
static void ask_node(struct pinging *p, unsigned k, const struct redlock_name *words)
{
    struct track *track = &p->tracks[k];
    uint64_t now = redlock_now_us();

    if (track->is_pending) {
        track->skipped++;
        return;
    }
    track->asked_at = now;
    track->is_pending = redlock_ask(&p->session->client.engine, &track->question, k, words,
                                    1, track->reply, sizeof track->reply, now) == REDLOCK_OK;
    if (track->is_pending) track->sent++;
    else                   track->unsent++;
}

static bool is_any_pending(const struct pinging *p)
{
    for (unsigned k = 0; k < p->count; k++)
        if (p->tracks[k].is_pending) return true;
    return false;
}

/* Listens until that time, or until nothing is to be waited for. */
static void hear_until(struct pinging *p, uint64_t until, bool whole)
{
    while (!session_must_end(p->session) && !p->session->fault && (whole || is_any_pending(p)) &&
           redlock_now_us() < until) {
        session_wait(p->session, until);
        for (unsigned k = 0; k < p->count; k++) take_answer(&p->tracks[k]);
    }
}

static void ping_all(struct pinging *p)
{
    static const struct redlock_name words[] = { { .bytes = "TIME", .size = 4 } };

    for (unsigned i = 0; i < p->times && !p->session->signal && !p->session->fault; i++) {
        uint64_t next_at = redlock_now_us() + (uint64_t)p->interval_ms * 1000;
        for (unsigned k = 0; k < p->count; k++) ask_node(p, k, words);
        session_step(p->session);
        if (i + 1 < p->times) hear_until(p, next_at, true);
    }
    hear_until(p, redlock_now_us() + (uint64_t)p->settings->options.engine.node_timeout_ms * 1000,
               false);
    for (unsigned k = 0; k < p->count; k++) {
        if (!p->tracks[k].is_pending) continue;
        redlock_forget_question(&p->session->client.engine, &p->tracks[k].question);
        if (p->session->signal) p->tracks[k].sent--;       /* It has not had its time. */
        end_question(&p->tracks[k], p->session->signal != 0);
    }
}

/* ---- What it means ---- */

static int compare_trips(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* The round trip that so many percent of the sorted ones do not exceed. answered > 0. */
static uint32_t percentile(const struct track *track, unsigned percent)
{
    return track->trips_us[(track->answered * percent + 99) / 100 - 1];
}

/* Two digits are enough, as in 50, 60, ... 100, 110, ..., 1000, 1100. */
static uint32_t round_up(uint32_t ms)
{
    uint32_t unit = 10;

    while (ms > 100 * unit) unit *= 10;
    return (ms + unit - 1) / unit * unit;
}

static void conclude(struct pinging *p)
{
    uint64_t ms;

    for (unsigned k = 0; k < p->count; k++) {
        struct track *track = &p->tracks[k];
        qsort(track->trips_us, track->answered, sizeof track->trips_us[0], compare_trips);
        p->answering += track->answered > 0;
        if (track->answered > 0 && percentile(track, 100) > p->worst_us)
            p->worst_us = percentile(track, 100);
    }
    ms = ((uint64_t)p->worst_us * TIMES_WORST + 999) / 1000;
    p->proposal_ms = ms < PROPOSAL_MS_MIN   ? PROPOSAL_MS_MIN
                     : ms > PROPOSAL_MS_MAX ? PROPOSAL_MS_MAX
                                            : round_up((uint32_t)ms);
}

static unsigned lost(const struct track *track)
{
    return track->sent + track->unsent - track->answered;
}

/* Why it has no connection; NULL: it has one. */
static const char *trouble_of(const struct pinging *p, unsigned k, char text[TROUBLE_TEXT_MAX])
{
    struct redlock *engine = &p->session->client.engine;
    uint64_t now = redlock_now_us();
    enum redlock_trouble trouble = redlock_view_node(engine, k, now).trouble;

    if (trouble == REDLOCK_TROUBLE_NONE || trouble == REDLOCK_TROUBLE_RESTARTED) return NULL;
    redlock_describe_node(engine, k, now, text, TROUBLE_TEXT_MAX);
    text_cut_echo(text);
    return text;
}

/* ---- For people ---- */

static void print_trip(const char *name, uint64_t us)
{
    char text[TEXT_DURATION_MAX];

    (void)print("  %s %s ms", name, text_ms(text, us));
}

static void print_clock(const struct survey_clock *clock)
{
    uint64_t off = clock->ahead_us < 0 ? -(uint64_t)clock->ahead_us : (uint64_t)clock->ahead_us;
    char text[TEXT_DURATION_MAX], give_or_take[TEXT_DURATION_MAX];

    (void)print("  clock %s ms %s, give or take %s ms", text_ms(text, off),
                clock->ahead_us < 0 ? "behind" : "ahead",
                text_ms(give_or_take, clock->give_or_take_us));
}

static void print_node(const struct pinging *p, unsigned k)
{
    const struct track *track = &p->tracks[k];
    char text[TROUBLE_TEXT_MAX], printable[4 * TROUBLE_TEXT_MAX];
    const char *trouble = trouble_of(p, k, text);

    (void)print("node %u (%s)", k, redlock_node_address(&p->session->client, k));
    if (track->answered > 0) {
        print_trip("p50", percentile(track, 50));
        print_trip("p99", percentile(track, 99));
        print_trip("worst", percentile(track, 100));
    }
    (void)print("  lost %u of %u", lost(track), track->sent + track->unsent);
    if (track->answered > 0) print_clock(&track->clock);
    if (trouble)
        (void)print("  (%s)",
                    text_printable(printable, sizeof printable, trouble, strlen(trouble)));
    (void)print("\n");
}

static void print_proposal(const struct pinging *p)
{
    char worst[TEXT_DURATION_MAX];

    if (p->answering == 0) {
        (void)print("no node answered, so there is no node timeout to be proposed\n");
        return;
    }
    (void)print(
        "--node-timeout %" PRIu32
        "ms: %d times the worst round trip, %s ms, and at least %d ms, for a server that is "
        "busy for a moment (now %" PRIu32 "ms)\n",
        p->proposal_ms, TIMES_WORST, text_ms(worst, p->worst_us), PROPOSAL_MS_MIN,
        p->settings->options.engine.node_timeout_ms);
}

/* ---- For machines ---- */

static void json_track(const struct track *track)
{
    if (track->answered > 0)
        (void)print(",\"p50_us\":%" PRIu32 ",\"p99_us\":%" PRIu32 ",\"worst_us\":%" PRIu32
                    ",\"clock_ahead_us\":%" PRId64 ",\"clock_give_or_take_us\":%" PRIu64,
                    percentile(track, 50), percentile(track, 99), percentile(track, 100),
                    track->clock.ahead_us, track->clock.give_or_take_us);
    else
        (void)fputs(",\"p50_us\":null,\"p99_us\":null,\"worst_us\":null,\"clock_ahead_us\":null,"
                    "\"clock_give_or_take_us\":null",
                    stdout);
}

static void json_node(const struct pinging *p, unsigned k)
{
    const struct track *track = &p->tracks[k];
    char text[TROUBLE_TEXT_MAX];
    const char *trouble = trouble_of(p, k, text);

    (void)print("%s{\"node\":%u,\"address\":", k > 0 ? "," : "", k);
    json_text(stdout, redlock_node_address(&p->session->client, k));
    (void)print(",\"answered\":%u,\"lost\":%u", track->answered, lost(track));
    json_track(track);
    (void)print(",\"trouble\":");
    if (trouble) json_text(stdout, trouble);
    else         (void)print("null");
    (void)print("}");
}

static void print_json(const struct pinging *p, enum redlock_status status)
{
    output_json_begin(stdout, &p->settings->output, NULL, status, NULL);
    if (p->answering > 0) (void)print("\"node_timeout_ms\":%" PRIu32, p->proposal_ms);
    else                  (void)print("\"node_timeout_ms\":null");
    (void)print(",\"quorum\":%u,\"nodes\":[", redlock_quorum(p->count));
    for (unsigned k = 0; k < p->count; k++) json_node(p, k);
    (void)print("]}\n");
}

/* ---- All of it ---- */

static int ping_in_session(struct pinging *p)
{
    enum redlock_status status;

    p->count = p->session->client.engine.node_count;
    session_connect_all(p->session);
    ping_all(p);
    conclude(p);
    status = p->answering < redlock_quorum(p->count) ? REDLOCK_NO_QUORUM : REDLOCK_OK;
    if (p->settings->output.json) {
        print_json(p, status);
    } else {
        for (unsigned k = 0; k < p->count; k++) print_node(p, k);
        print_proposal(p);
    }
    if (!output_written("the result")) return EXIT_TROUBLE;
    if (p->session->signal) return EXIT_SIGNAL + p->session->signal;
    return p->session->fault ? EXIT_TROUBLE : status == REDLOCK_OK ? EXIT_SUCCESS : EXIT_NO_QUORUM;
}

/* Nodes that refuse INFO answer all the same. */
int ping_command(struct session *session, struct settings *settings, uint32_t count,
                 uint32_t interval_ms)
{
    static struct pinging pinging;      /* Large. */
    int code;

    settings->options.engine.trust_unknown = true;
    pinging.session = session;
    pinging.settings = settings;
    pinging.times = count;
    pinging.interval_ms = interval_ms;
    if (open_session(session, settings) != REDLOCK_OK) return EXIT_TROUBLE;
    code = ping_in_session(&pinging);
    close_session(session);
    return code;
}
