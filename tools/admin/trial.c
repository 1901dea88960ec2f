#define _GNU_SOURCE
#include "trial.h"

#include <string.h>
#include <sys/random.h>

#include "../redlock/ask_all.h"
#include "../redlock/print.h"

/* The extension is twice that, since an extension that changes nothing would try nothing. */
enum { TRIAL_TTL_MS = 5000 };

struct trial {
    struct session *session;
    struct survey *survey;
    char name[REDLOCK_RESOURCE_MAX + sizeof REDLOCK_TICKET_SUFFIX];
};

/* PREFIX and 16 hex digits, which nobody else has. */
static void choose_name(struct trial *t, const char *prefix, bool has_braces)
{
    const char *format = has_braces ? "%.480s{%016llx}" : "%.480s%016llx";
    uint64_t random = redlock_now_us();

    /* If it fails the time is as good, since nothing depends on it. */
    (void)!getrandom(&random, sizeof random, 0);
    (void)print_text(t->name, REDLOCK_RESOURCE_MAX, format, prefix, (unsigned long long)random);
}

static uint64_t patience_us(const struct trial *t)
{
    return (uint64_t)t->session->settings->options.engine.node_timeout_ms * 1000;
}

/* Every node is to have its time, though a quorum has decided. */
static void hear_all(struct trial *t)
{
    uint64_t until = redlock_now_us() + patience_us(t);
    unsigned k = 0;

    while (!t->session->fault && redlock_now_us() < until) {
        for (k = 0;
             k < t->survey->count && redlock_vote_of(&t->session->lock, k) != REDLOCK_VOTE_PENDING;
             k++) {}
        if (k == t->survey->count || session_must_end(t->session)) return;
        session_wait(t->session, until);
    }
}

/* Notes how the nodes took one operation. One refusal of a node counts, whatever it says
 * to the next. */
static void note_votes(struct trial *t, const char *operation)
{
    hear_all(t);
    for (unsigned k = 0; k < t->survey->count; k++) {
        struct survey_node *node = &t->survey->nodes[k];
        enum redlock_vote vote = redlock_vote_of(&t->session->lock, k);
        const struct session_note *note = &t->session->notes[k];
        if (node->trial != REDLOCK_VOTE_PENDING && node->trial != REDLOCK_VOTE_GRANTED) continue;
        if (vote == REDLOCK_VOTE_PENDING) vote = REDLOCK_VOTE_UNKNOWN;
        /* It is no fault of the node. */
        if (note->trouble == REDLOCK_TROUBLE_MOVED) vote = REDLOCK_VOTE_NOT_ASKED;
        node->trial = vote;
        if (vote != REDLOCK_VOTE_GRANTED)
            (void)print_text(node->trial_text, sizeof node->trial_text, "%s: %.120s", operation,
                             note->trouble ? note->text : "no answer in time");
    }
}

/* It granted the lock, but too few others did for the rest of it. */
static void leave_untried(struct survey_node *node)
{
    if (node->trial != REDLOCK_VOTE_GRANTED) return;
    node->trial = REDLOCK_VOTE_NOT_ASKED;
    (void)print_text(node->trial_text, sizeof node->trial_text, "too few nodes granted it");
}

/* False: there is nothing to be released. */
static bool acquire_and_extend(struct trial *t, uint32_t ttl_ms)
{
    struct redlock *engine = &t->session->client.engine;
    struct redlock_lock *lock = &t->session->lock;
    struct redlock_request request;

    redlock_request_init(&request);
    request.resource = t->name;
    request.resource_size = strlen(t->name);
    request.ttl_ms = ttl_ms;
    request.ticket = t->session->settings->ticket;
    request.wall_us = redlock_wall_us();
    if (redlock_start_acquire(engine, lock, &request, redlock_now_us()) != REDLOCK_OK) return false;
    (void)session_finish(t->session);
    note_votes(t, "to acquire");
    if (redlock_valid_us(lock, redlock_now_us()) == 0) {
        for (unsigned k = 0; k < t->survey->count; k++) leave_untried(&t->survey->nodes[k]);
        return false;
    }
    if (redlock_start_extend(engine, lock, 2 * ttl_ms, redlock_now_us()) != REDLOCK_OK) return true;
    (void)session_finish(t->session);
    note_votes(t, "to extend");
    return true;
}

/* It would stay for a day. */
static void remove_counter(struct trial *t)
{
    static struct ask_all all;
    uint64_t until = redlock_now_us() + patience_us(t);

    all = (struct ask_all){ 0 };
    (void)print_text(t->name + strlen(t->name), sizeof REDLOCK_TICKET_SUFFIX, "%s",
                     REDLOCK_TICKET_SUFFIX);
    ask_all_argument(&all, "DEL");
    ask_all_argument(&all, t->name);
    ask_all_begin(&all, t->session);
    ask_all_wait(&all, t->session, until);
    ask_all_end(&all, t->session);
}

void trial_run(struct session *session, const char *prefix, bool is_managed, struct survey *survey)
{
    static struct trial t;      /* The name must stay until the session is closed. */
    uint32_t guard_ms = session->settings->options.engine.guard_ms;

    t.session = session;
    t.survey = survey;
    choose_name(&t, prefix, is_managed && !strchr(prefix, '{'));
    if (acquire_and_extend(&t, guard_ms > 0 && guard_ms < 2 * TRIAL_TTL_MS ? guard_ms / 2
                                                                           : TRIAL_TTL_MS) &&
        redlock_start_release(&session->client.engine, &session->lock, redlock_now_us()) ==
            REDLOCK_OK) {
        (void)session_finish(session);
        note_votes(&t, "to release");
    }
    if (session->settings->ticket) remove_counter(&t);
}
