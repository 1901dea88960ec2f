#define _GNU_SOURCE
#include "session.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "meter.h"
#include "print.h"
#include "rights.h"
#include "signals.h"
#include "text.h"

enum {
    LINGER_US = 100 * 1000,
    LINGER_US_MIN = 20 * 1000,      /* Behind a verdict, and */
    LINGER_ROUNDS = 4,              /* so many times as long as it took, if that is more. */
    LINGER_PART = 10                /* But at most so much of the validity. */
};

/* An engine has one ring: that of the trace, if there is one. */
static void listen_to_events(struct session *session)
{
    const struct settings *settings = session->settings;

    assert(session->output == &settings->output);
    if (settings->trace) {
        trace_begin(&session->trace, &session->client, settings->trace);
        session->trace.news = &session->news;
    } else if (settings->output.log || settings->meter) {
        redlock_use_events(&session->client.engine, &session->events, session->ring,
                           SESSION_EVENTS);
        session->events.kinds =
            settings->meter ? REDLOCK_METRICS_EVENTS : REDLOCK_EVENT_BIT(REDLOCK_EVENT_READY);
    }
    if (settings->meter) settings->meter->begin(&session->client);
}

enum redlock_status session_open(struct session *session, struct settings *settings,
                                 struct redlock_mistake *mistake)
{
    enum redlock_status status;

    assert(settings->name_count <= REDLOCK_SET_MAX);
    memset(session, 0, sizeof *session);
    session->settings = settings;
    session->output = &settings->output;
    session->rights = rights_parts(settings);
    session->wants_ticket = settings->ticket;
    session->news.meter = settings->meter;
    session->watched = -1;
    redlock_lock_init(&session->lock);
    for (unsigned i = 0; i < settings->name_count; i++)
        session->set[i] = (struct redlock_name){
            .bytes = settings->names[i], .size = strlen(settings->names[i]),
            .shared = settings->is_shared[i]
        };
    if (settings->trace) {
        settings->options.trace = trace_traffic;
        settings->options.trace_context = &session->trace;
    }
    redlock_use_sentinels(&settings->options, &session->sentinels);
    status = redlock_open(&session->client, settings->nodes, &settings->options, mistake);
    if (status != REDLOCK_OK) return status;
    listen_to_events(session);
    if (signals_open()) return REDLOCK_OK;
    (void)print_text(mistake->text, sizeof mistake->text, "%s", text_system_error(errno));
    redlock_close(&session->client, 0);
    return REDLOCK_SYSTEM;
}

/* To adopt it asks no node. */
enum redlock_status session_check_name(struct session *session)
{
    static const char token[REDLOCK_TOKEN_TEXT + 1] = "0000000000000000000000000000000000000000";
    struct redlock *engine = &session->client.engine;
    struct redlock_request what;
    enum redlock_status status;

    assert(redlock_idle(&session->lock));
    redlock_request_init(&what);
    what.resource = session->set[0].bytes;
    what.resource_size = session->set[0].size;
    status = redlock_adopt(engine, &session->lock, &what, token, redlock_now_us());
    if (status == REDLOCK_OK) redlock_forget(engine, &session->lock);
    return status;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void heed_events(struct session *session)
{
    struct redlock_event event;

    while (redlock_next_event(&session->events, &event)) news_take(&session->news, &event);
}

static uint64_t lost_events(const struct session *session)
{
    return (session->settings->trace ? &session->trace.events : &session->events)->lost;
}

void session_step(struct session *session)
{
    enum redlock_status status = redlock_step(&session->client);

    assert(session->output);
    notes_take(session);
    if (status != REDLOCK_OK) session->fault = status;
    if (session->settings->trace) trace_flush(&session->trace);
    else                          heed_events(session);
    log_restarts(session);
    if (session->settings->meter) session->settings->meter->step(lost_events(session));
}

/* ---- Waiting ---- */

static struct pollfd watch_session(const struct redlock_client *client, unsigned k)
{
    unsigned events = redlock_events(client, k);

    return (struct pollfd){
        .fd = redlock_fd(client, k),
        .events =
            (short)((events & REDLOCK_READ ? POLLIN : 0) | (events & REDLOCK_WRITE ? POLLOUT : 0)),
    };
}

/* What poll() takes: rounded up, so that it does not wake just before the time. */
static int timeout_ms(const struct session *session, uint64_t until_us)
{
    int node_ms = redlock_poll_ms(&session->client);
    uint64_t now = redlock_now_us();
    uint64_t ms = until_us <= now ? 0 : (until_us - now) / 1000 + 1;

    if (until_us == REDLOCK_NEVER) return node_ms;
    if (ms > INT_MAX) ms = INT_MAX;
    return node_ms >= 0 && node_ms < (int)ms ? node_ms : (int)ms;
}

/* Descriptors that are open, and no others: poll() refuses more entries than a process
 * may have descriptors. */
static nfds_t add_watch(struct pollfd *fds, nfds_t count, struct pollfd fd)
{
    assert(count < REDLOCK_FDS_MAX + 2);
    if (fd.fd >= 0) fds[count++] = fd;
    return count;
}

/* signals: a descriptor, or -1. A watched one at its end would be reported again and again. */
static void wait_for(struct session *session, int signals, uint64_t until_us)
{
    struct pollfd fds[REDLOCK_FDS_MAX + 2];
    unsigned sessions = redlock_fd_count(&session->client);
    struct pollfd *watched = &fds[0];
    nfds_t count;

    assert(sessions <= REDLOCK_FDS_MAX);
    if (session->settings->meter) until_us = sooner(until_us, session->settings->meter->due_at());
    *watched = (struct pollfd){ .fd = session->watched, .events = POLLIN };
    fds[1] = (struct pollfd){ .fd = signals, .events = POLLIN };
    count = 2;
    for (unsigned k = 0; k < sessions; k++)
        count = add_watch(fds, count, watch_session(&session->client, k));
    /* If it fails, what it would have told is found out. */
    (void)poll(fds, count, timeout_ms(session, until_us));
    if (watched->revents != 0 && !(watched->revents & POLLIN)) session->watched = -1;
    session_step(session);
}

void session_wait(struct session *session, uint64_t until_us)
{
    wait_for(session, signals_fd(), until_us);
}

void session_wait_undisturbed(struct session *session, uint64_t until_us)
{
    wait_for(session, -1, until_us);
}

bool session_must_end(struct session *session)
{
    int number;

    while ((number = signals_next()) != 0) {
        if (signal_ends(number) && session->signal == 0) session->signal = number;
    }
    return session->signal != 0;
}

enum redlock_status session_finish(struct session *session)
{
    session_step(session);
    while (redlock_lock_status(&session->lock) == REDLOCK_PENDING) {
        if (session->fault) return session->fault;
        session_wait(session, REDLOCK_NEVER);
        if (session_must_end(session))
            redlock_cancel(&session->client.engine, &session->lock, redlock_now_us());
    }
    return redlock_lock_status(&session->lock);
}

static void connect_nodes(struct session *session, bool is_quorum_enough)
{
    struct redlock *engine = &session->client.engine;
    unsigned count = session->client.engine.node_count, settled = 0, voting = 0;
    uint64_t begin = redlock_now_us(),
             until = begin + (uint64_t)session->settings->options.engine.node_timeout_ms * 1000;

    assert(count > 0);
    session_step(session);
    while (!session->fault && redlock_now_us() < until) {
        settled = voting = 0;
        for (unsigned k = 0; k < count; k++) {
            settled += redlock_view_node(engine, k, engine->now_us).is_settled;
            voting += redlock_node_votes(engine, k, redlock_now_us());
        }
        if (settled == count || session_must_end(session)) return;
        if (is_quorum_enough && voting >= redlock_quorum(count))
            until = sooner(until, begin + LINGER_US);
        session_wait(session, until);
    }
}

void session_connect_all(struct session *session)
{
    connect_nodes(session, false);
}

void session_connect(struct session *session)
{
    connect_nodes(session, true);
}

static bool is_vote_outstanding(const struct session *session)
{
    for (unsigned k = 0; k < session->client.engine.node_count; k++) {
        if (redlock_vote_of(&session->lock, k) == REDLOCK_VOTE_PENDING) return true;
    }
    return false;
}

/* A node that hangs must not cost more than one that answers: those that do answer about as soon as
 * the quorum did. */
static uint64_t patience_us(const struct session *session, uint64_t now_us)
{
    const struct redlock_round *round = &session->lock.round;
    uint64_t us = LINGER_ROUNDS * (round->decided_at - round->started_at),
             valid_us = redlock_valid_us(&session->lock, now_us);

    us = sooner(us < LINGER_US_MIN ? LINGER_US_MIN : us, LINGER_US);
    return valid_us > 0 ? sooner(us, valid_us / LINGER_PART) : us;
}

void session_linger(struct session *session)
{
    uint64_t now = redlock_now_us(), until = now + patience_us(session, now);

    while (is_vote_outstanding(session) && redlock_now_us() < until && !session->fault)
        session_wait_undisturbed(session, until);
}

void session_close(struct session *session)
{
    bool owes = redlock_view_lock(&session->lock).owed > 0;

    assert(session->settings);
    if (redlock_valid_us(&session->lock, redlock_now_us()) == 0)
        redlock_part(&session->client, &session->lock);
    redlock_close(&session->client, owes ? session->settings->options.engine.node_timeout_ms : 0);
    if (session->settings->trace) trace_end(&session->trace);
    else                          heed_events(session);
    if (session->settings->meter) session->settings->meter->end(lost_events(session));
}
