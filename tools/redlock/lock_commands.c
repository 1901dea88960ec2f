/* acquire, extend, release, keep: a lock that is handed from one process to the next
 * by its token. */
#include "commands.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exits.h"
#include "log.h"
#include "notify.h"
#include "print.h"
#include "process.h"
#include "publish.h"
#include "report.h"
#include "text.h"
#include "votes.h"

enum {
    /* What drift has beside its share, and a round of extensions may take. */
    HOLD_SPARE_MS = 10,
    /* Why it waits, if nothing changes; then after twice the time, */
    TELL_AGAIN_MS = 60 * 1000,
    TELL_AGAIN_MS_MAX = 3600 * 1000 /* up to an hour. */
};

/* ---- What the other commands share ---- */

/* If some are and some are not, extend and release have to be told which. */
static bool all_are_shared(const struct settings *settings)
{
    for (unsigned i = 0; i < settings->name_count; i++)
        if (!settings->is_shared[i]) return false;
    return true;
}

const char *kind_text(const struct session *session, char text[KIND_TEXT_MAX])
{
    unsigned slot = redlock_view_lock(&session->lock).slot;

    assert(slot <= REDLOCK_PERMITS_MAX);
    if (all_are_shared(session->settings)) return "/s";
    if (session->settings->redisson)       return "/j";
    if (session->settings->fair)           return "/f";
    text[0] = '\0';
    if (slot > 0) (void)print_text(text, KIND_TEXT_MAX, "/%u", (unsigned)(uint16_t)slot);
    return text;
}

/* That another holds the lock is what waiting is for, so it is told only to those who asked, and
 * when it is known for how long: nodes are asked behind the first attempt. */
static bool is_worth_telling(const struct session *session, enum redlock_status why)
{
    bool is_first = session->lock.round.number == 1;

    if (session->output->json) return false;
    if (why == REDLOCK_NO_QUORUM || why == REDLOCK_TOO_LATE) return true;
    return why == REDLOCK_TAKEN && session->output->verbose &&
           !(is_first && redlock_view_lock(&session->lock).free_in_ms == REDLOCK_UNTOLD);
}

/* What was told of a wait, and when it is told again if nothing changes. */
struct patience {
    enum redlock_status told;
    uint64_t tell_at;
    uint32_t pause_ms;
};

/* Says why it waits, when that has changed; and again, more and more rarely, while no quorum of
 * nodes can vote. */
static void watch_attempts(struct session *session, struct patience *patience)
{
    enum redlock_status why = notes_attempt_status(session);
    bool is_same = why == patience->told;
    uint64_t now = redlock_now_us();

    if (!is_worth_telling(session, why) ||
        (is_same && (why != REDLOCK_NO_QUORUM || now < patience->tell_at)))
        return;
    patience->pause_ms = !is_same                                 ? TELL_AGAIN_MS
                         : patience->pause_ms < TELL_AGAIN_MS_MAX ? 2 * patience->pause_ms
                                                                  : TELL_AGAIN_MS_MAX;
    patience->tell_at = now + (uint64_t)patience->pause_ms * 1000;
    patience->told = why;
    report_status(session, why);
    say_of_resource("waiting");
}

/* True if a quorum has refused no acquire, but at most that we stand in line. An answer that is no
 * vote leaves UNKNOWN. */
static bool may_be_granted(const struct session *session)
{
    unsigned count = session->client.engine.node_count, may = 0;
    uint64_t now = redlock_now_us();

    assert(count > 0);
    for (unsigned k = 0; k < count; k++)
        may += redlock_node_votes(&session->client.engine, k, now) &&
               !session->notes[k].lacks_scripts &&
               redlock_vote_of(&session->lock, k) != REDLOCK_VOTE_UNKNOWN;
    return may >= redlock_quorum(count);
}

/* Does the wait end here, since none of what keeps the nodes from voting mends itself? Not if it
 * began well, when a quorum said that the lock is held: then somebody who has changed a password
 * may be about to change it here. */
static bool is_hopeless(struct session *session)
{
    enum redlock_status why = notes_attempt_status(session);

    session->began_well |= why == REDLOCK_TAKEN || why == REDLOCK_TOO_LATE;
    if (session->began_well || session->settings->waits_through_errors) return false;
    return nodes_are_hopeless(session) && !may_be_granted(session);
}

/* How an acquire ended. Was it won in the very moment when a signal came, it is released. */
static enum redlock_status finish_acquire(struct session *session)
{
    enum redlock_status status = redlock_lock_status(&session->lock);

    if (status == REDLOCK_PENDING) return session->fault;
    /* It was hopeless. */
    if (status == REDLOCK_CANCELLED && !session->signal) return REDLOCK_NO_QUORUM;
    if (status == REDLOCK_NO_QUORUM) return notes_attempt_status(session);
    if (status != REDLOCK_OK || !session->signal) return status;
    (void)release_lock(session);
    return REDLOCK_CANCELLED;
}

static struct redlock_request request_of(struct session *session)
{
    const struct settings *settings = session->settings;

    assert(settings->name_count > 0 && settings->name_count <= REDLOCK_SET_MAX);
    return (struct redlock_request){
        .kind = settings_kind(settings),
        .resource = session->set[0].bytes,
        .resource_size = session->set[0].size,
        .set = settings->name_count > 1 ? session->set : NULL,
        .set_count = settings->name_count,
    };
}

enum redlock_status acquire_lock(struct session *session, uint32_t min_validity_ms,
                                 uint32_t extension_limit)
{
    const struct settings *settings = session->settings;
    struct redlock *engine = &session->client.engine;
    struct redlock_request request = request_of(session);
    struct patience patience = { .told = REDLOCK_OK };
    enum redlock_status status;

    request.permits = settings->permits;
    request.ttl_ms = settings->ttl_ms;
    request.wait_ms = settings->wait_ms;
    request.min_validity_ms = min_validity_ms;
    request.extension_limit = extension_limit;
    request.ticket = settings->ticket;
    request.wall_us = redlock_wall_us();
    status = redlock_start_acquire(engine, &session->lock, &request, redlock_now_us());
    if (status != REDLOCK_OK) return status;
    session_step(session);
    while (redlock_lock_status(&session->lock) == REDLOCK_PENDING && !session->fault) {
        session_wait(session, REDLOCK_NEVER);
        if (session_must_end(session) || is_hopeless(session))
            redlock_cancel(engine, &session->lock, redlock_now_us());
        else if (redlock_lock_status(&session->lock) == REDLOCK_PENDING)
            watch_attempts(session, &patience);
        publish_watch(session);
    }
    publish_end(session);
    return finish_acquire(session);
}

enum redlock_status release_lock(struct session *session)
{
    enum redlock_status status;

    status = redlock_start_release(&session->client.engine, &session->lock, redlock_now_us());
    if (status != REDLOCK_OK) return status;
    session_step(session);
    while (redlock_lock_status(&session->lock) == REDLOCK_PENDING && !session->fault)
        session_wait_undisturbed(session, REDLOCK_NEVER);
    session_linger(session);
    return session->fault ? session->fault : redlock_lock_status(&session->lock);
}

/* The TTL by which the lock is held for so long, after the drift: at most the guard, and what a TTL
 * can be (S11). */
static uint32_t ttl_to_hold(const struct settings *settings, uint64_t hold_us)
{
    const struct redlock_config *engine = &settings->options.engine;
    uint64_t longest_ms = engine->guard_ms > 0 && engine->guard_ms < REDLOCK_TTL_MS_MAX
                              ? engine->guard_ms
                              : REDLOCK_TTL_MS_MAX;
    uint64_t ms = hold_us / 1000 * 1000000 / (1000000 - engine->drift_ppm) + HOLD_SPARE_MS;

    assert(engine->drift_ppm <= REDLOCK_DRIFT_PPM_MAX);
    return (uint32_t)(ms < longest_ms ? ms : longest_ms);
}

static enum redlock_status extend_once(struct session *session, uint32_t ttl_ms)
{
    enum redlock_status status = redlock_start_extend(&session->client.engine,
                                                      &session->lock, ttl_ms, redlock_now_us());

    assert(ttl_ms > 0 && ttl_ms <= REDLOCK_TTL_MS_MAX);
    if (status != REDLOCK_OK) return status;
    session_step(session);
    while (redlock_lock_status(&session->lock) == REDLOCK_PENDING && !session->fault)
        session_wait_undisturbed(session, REDLOCK_NEVER);
    return session->fault ? session->fault : redlock_lock_status(&session->lock);
}

bool lock_is_refused(const struct session *session)
{
    unsigned count = session->client.engine.node_count, refused = 0;

    assert(count > 0);
    for (unsigned k = 0; k < count; k++)
        refused += redlock_vote_of(&session->lock, k) == REDLOCK_VOTE_REFUSED;
    return refused > count - redlock_quorum(count);
}

/* Can another extension do what this one did not? */
static bool is_worth_another(struct session *session, enum redlock_status status)
{
    bool may_change = status == REDLOCK_NO_QUORUM || status == REDLOCK_TOO_LATE ||
                      (status == REDLOCK_TAKEN && !lock_is_refused(session));

    return may_change && !session_must_end(session);
}

/* An extension never shortens, so a lock that is held for longer already stays so. */
enum redlock_status leave_lock(struct session *session, uint64_t until_us)
{
    uint64_t pause_us = (uint64_t)session->settings->options.engine.retry_ms * 1000;
    enum redlock_status status = REDLOCK_OK;

    assert(until_us != REDLOCK_NEVER);
    for (uint64_t now = redlock_now_us(); now + redlock_valid_us(&session->lock, now) < until_us;
         now = redlock_now_us()) {
        status = extend_once(session, ttl_to_hold(session->settings, until_us - now));
        if (!is_worth_another(session, status)) break;
        for (uint64_t next = redlock_now_us() + pause_us;
             redlock_now_us() < next && !session->fault;)
            session_wait_undisturbed(session, next);
    }
    session_linger(session);
    return status;
}

/* ---- Ends ---- */

/* It may be another program's: extend and release get it with the token. */
static void json_holder(const char *holder)
{
    assert(holder);
    (void)print("\"holder\":");
    json_text(stdout, holder);
    (void)print(",");
}

/* With members that only a lock has that is held. */
static void print_json(struct session *session, enum redlock_status status)
{
    const char *holder = session->settings->options.holder;
    struct redlock_lock_view view = redlock_view_lock(&session->lock);
    char token[REDLOCK_TOKEN_TEXT + 1], kind[KIND_TEXT_MAX];

    redlock_token(&session->lock, token);
    output_json_begin(stdout, &session->settings->output, NULL, status, NULL);
    if (status == REDLOCK_OK) {
        (void)print("\"token\":\"%s%s\",", token, kind_text(session, kind));
        if (holder) json_holder(holder);
        if (view.slot > 0) (void)print("\"slot\":%u,", view.slot);
        if (all_are_shared(session->settings)) (void)print("\"shared\":true,");
        if (redlock_ticket(&session->lock) > 0)
            (void)print("\"ticket\":%" PRIu64 ",", redlock_ticket(&session->lock));
        (void)print("\"valid_ms\":%u,\"confirmed\":%u,", (unsigned)redlock_valid_ms(&session->lock),
                    view.confirmed);
    }
    report_json_end(stdout, session);
}

/* One word, so that a script can keep it in a variable and hand it on as it is: extend and release
 * read the token alone, and the holder's name if there is one. */
static void print_token(const struct session *session)
{
    const char *holder = session->settings->options.holder;
    char token[REDLOCK_TOKEN_TEXT + 1];

    char kind[KIND_TEXT_MAX];

    redlock_token(&session->lock, token);
    (void)print("%s%s", token, kind_text(session, kind));
    if (redlock_ticket(&session->lock) > 0)
        (void)print(":%" PRIu64, redlock_ticket(&session->lock));
    (void)print("%s%s\n", holder ? " " : "", holder ? holder : "");
}

static enum redlock_status give_back(struct session *session, enum redlock_status why)
{
    assert(why != REDLOCK_OK);
    (void)release_lock(session);
    return why;
}

static enum redlock_status take_back(struct session *session, enum redlock_status why,
                                     const char *text)
{
    assert(text);
    say_of_resource("released, since %s", text);
    why = give_back(session, why);
    log_transition(session, LOG_RELEASED, text);
    return why;
}

/* S29: a pipe that is full, or a terminal that is halted, is waited for as long as the lock is
 * valid. That it is closed, the write will tell. */
static bool takes_words(struct session *session)
{
    struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLOUT };

    while (redlock_valid_ms(&session->lock) > 0 && !session_must_end(session))
        if (poll(&fd, 1, 100) > 0) return true;
    return false;
}

/* A token that nobody got is a lock that nobody can release: it is released again. So it is when
 * who reads was so slow that nothing is left of it. */
static enum redlock_status hand_over(struct session *session)
{
    static const char late[] = "nobody read the token in time";

    if (!takes_words(session)) return take_back(session, REDLOCK_TOO_LATE, late);
    if (session->output->json) print_json(session, REDLOCK_OK);
    else                       print_token(session);
    if (!output_written("the token"))
        return take_back(session, REDLOCK_SYSTEM, "nobody has the token");
    if (redlock_valid_ms(&session->lock) > 0) return REDLOCK_OK;
    return take_back(session, REDLOCK_TOO_LATE, late);
}

/* Waits for the other nodes, within the validity; but nodes, or this process, may
 * have been slow. */
static enum redlock_status complete(struct session *session)
{
    session_linger(session);
    return redlock_valid_ms(&session->lock) > 0 ? REDLOCK_OK : give_back(session, REDLOCK_TOO_LATE);
}

static void report_failure(struct session *session, enum redlock_status status)
{
    assert(status != REDLOCK_OK);
    /* A loss is certain before all nodes are known. */
    if (status == REDLOCK_NO_QUORUM) session_connect(session);
    if (session->output->json) print_json(session, status);
    else if (session->signal == 0) report_status(session, status);
}

/* What was done is done, but who asked for JSON does not know it. */
static enum redlock_status judge_output(const struct session *session, enum redlock_status status)
{
    bool is_lost = session->output->json && !output_written("the result");

    return is_lost && status == REDLOCK_OK ? REDLOCK_SYSTEM : status;
}

/* The exit status is found before the client forgets its nodes; but a signal that
 * comes meanwhile counts. */
static int close_with(struct session *session, enum redlock_status status)
{
    int code = exit_of(session, status);

    close_session(session);
    return session->signal ? exit_of(session, REDLOCK_CANCELLED) : code;
}

/* ---- Commands ---- */

int acquire_command(struct session *session, struct settings *settings)
{
    enum redlock_status status = open_session(session, settings);

    if (status != REDLOCK_OK) return EXIT_TROUBLE;
    status = acquire_lock(session, 0, 0);
    if (status == REDLOCK_OK) status = complete(session);
    if (status == REDLOCK_OK) {
        log_transition(session, LOG_ACQUIRED, NULL);
        if (settings->output.verbose)    report_validity(session, "acquired");
        else if (!settings->output.json) report_same_servers(session);
        status = hand_over(session);
    } else {
        report_failure(session, status);
        status = judge_output(session, status);
    }
    return close_with(session, status);
}

/* Only nodes that are connected are asked to extend, or to release at once. */
static enum redlock_status adopt(struct session *session)
{
    struct redlock *engine = &session->client.engine;
    const struct redlock_request what = request_of(session);

    assert(session->settings->token);
    session_connect(session);
    return redlock_adopt(engine, &session->lock, &what, session->settings->token, redlock_now_us());
}

static enum redlock_status extend(struct session *session)
{
    enum redlock_status status = adopt(session);

    if (status == REDLOCK_OK)
        status = redlock_start_extend(&session->client.engine, &session->lock,
                                      session->settings->ttl_ms, redlock_now_us());
    return status == REDLOCK_OK ? session_finish(session) : status;
}

/* TAKEN: too few of the nodes that answered have the token. LOST if the others cannot change that;
 * else nobody knows. */
static enum redlock_status judge_extension(const struct session *session,
                                           enum redlock_status status)
{
    if (status != REDLOCK_TAKEN) return status;
    return lock_is_refused(session) ? REDLOCK_LOST : REDLOCK_NO_QUORUM;
}

static void report_extension(struct session *session, enum redlock_status status)
{
    assert(status != REDLOCK_TAKEN);
    if (session->output->json) {
        print_json(session, status);
    } else if (status == REDLOCK_OK) {
        if (session->output->verbose) report_validity(session, "extended");
    } else if (status == REDLOCK_LOST) {
        say_of_resource("not extended: the token does not hold it on a quorum of nodes");
        report_loss(session);
    } else {
        report_failure(session, status);
    }
}

int extend_command(struct session *session, struct settings *settings)
{
    enum redlock_status status = open_session(session, settings);

    if (status != REDLOCK_OK) return EXIT_TROUBLE;
    status = judge_extension(session, extend(session));
    report_extension(session, status);
    status = judge_output(session, status);
    return close_with(session, status);
}

enum redlock_status judge_release(const struct session *session, enum redlock_status status)
{
    unsigned count = session->client.engine.node_count;

    assert(count > 0);
    if (status != REDLOCK_OK) return status;
    return redlock_view_lock(&session->lock).confirmed < redlock_quorum(count) ? REDLOCK_NO_QUORUM
                                                                               : REDLOCK_OK;
}

void report_release(struct session *session, enum redlock_status status)
{
    if (session->output->json) {
        print_json(session, status);
        return;
    }
    if (status != REDLOCK_OK && status != REDLOCK_NO_QUORUM) {
        report_status(session, status);
        return;
    }
    say_of_resource("released on %u of %u nodes%s", redlock_view_lock(&session->lock).confirmed,
                    session->client.engine.node_count,
                    status == REDLOCK_OK ? "" : "; the others may keep it until its TTL ends");
    if (status != REDLOCK_OK || session->output->verbose) report_unreleased(session);
}

static void log_release(struct session *session, enum redlock_status status)
{
    const char *text = status == REDLOCK_OK ? NULL : redlock_status_text(status);

    if (status == REDLOCK_LOST) log_transition(session, LOG_LOST, text);
    if (status == REDLOCK_OK || status == REDLOCK_NO_QUORUM)
        log_transition(session, LOG_RELEASED, text);
}

int release_command(struct session *session, struct settings *settings)
{
    enum redlock_status status = open_session(session, settings);

    if (status != REDLOCK_OK) return EXIT_TROUBLE;
    status = adopt(session);
    if (status == REDLOCK_OK) status = release_lock(session);
    status = judge_release(session, status);
    log_release(session, status);
    report_release(session, status);
    status = judge_output(session, status);
    return close_with(session, status);
}

/* ---- Keep ---- */

/* Is it lost, by the clock or by what the nodes answered? Else what they answered is told. */
static bool is_lost(struct session *session, struct votes *votes, uint64_t now_us)
{
    if (redlock_valid_us(&session->lock, now_us) == 0 || lock_is_refused(session)) return true;
    votes_watch(votes, session);
    return false;
}

/* Until the process ends: OK, the lock is held still; or LOST. A signal ends it: CANCELLED. */
static enum redlock_status keep_for(struct session *session, struct process *process)
{
    const struct redlock_lock *lock = &session->lock;
    uint64_t now = redlock_now_us();
    enum redlock_status status = redlock_keep(&session->client.engine, &session->lock, 0, now);
    struct votes votes;

    assert(process->pid > 0);
    votes_begin(&votes, session);
    while (status == REDLOCK_OK && process_lives(process)) {
        uint64_t next = process_next(process, now), end = now + redlock_valid_us(lock, now);
        session_wait(session, next < end ? next : end);
        now = redlock_now_us();
        if (session_must_end(session)) return REDLOCK_CANCELLED;
        if (session->fault) return session->fault;
        if (is_lost(session, &votes, now)) return REDLOCK_LOST;
    }
    return status;
}

static enum redlock_status release_kept(struct session *session)
{
    enum redlock_status status = judge_release(session, release_lock(session));

    log_release(session, status);
    if (session->output->json || session->output->verbose || status != REDLOCK_OK)
        report_release(session, status);
    return status;
}

/* What is not released here ends with its TTL. */
static void report_keeping(struct session *session, const struct process *process,
                           enum redlock_status status)
{
    const char *why = lock_is_refused(session) ? "on too many nodes our token is gone"
                                               : "no quorum of nodes extended it in time";
    char duration[TEXT_DURATION_MAX];

    assert(status != REDLOCK_OK);
    log_transition(session, status == REDLOCK_LOST ? LOG_LOST : LOG_LEFT,
                   status == REDLOCK_LOST ? why : NULL);
    if (session->output->json) {
        print_json(session, status);
    } else if (status == REDLOCK_LOST) {
        say_of_resource("lost: %s; process %ld goes on without it", why, (long)process->pid);
        report_loss(session);
    } else if (status == REDLOCK_CANCELLED) {
        say_of_resource("no longer extended, ends in %s",
                        text_duration(duration, redlock_valid_ms(&session->lock)));
    } else {
        report_failure(session, status);
    }
}

/* A process that has ended already is one that has ended: the lock is released. */
static enum redlock_status keep(struct session *session, struct process *process,
                                const struct notifier *notifier)
{
    enum redlock_status status = judge_extension(session, extend(session));

    if (status != REDLOCK_OK) {
        report_extension(session, status);
        return status;
    }
    notify(notifier, "READY=1", "Held, and kept:", session->output->resource);
    log_transition(session, LOG_KEPT, NULL);
    if (session->output->verbose) report_validity(session, "kept");
    session->watched = process->fd;
    status = keep_for(session, process);
    session->watched = -1;
    notify(notifier, "STOPPING=1", "No longer kept:", session->output->resource);
    if (status == REDLOCK_OK) return release_kept(session);
    report_keeping(session, process, status);
    return status;
}

int keep_command(struct session *session, struct settings *settings, int pid)
{
    struct process process;
    struct notifier notifier;
    enum redlock_status status;

    assert(pid > 0);
    notify_open(&notifier);
    process_open(&process, pid);
    status = open_session(session, settings);
    if (status != REDLOCK_OK) return EXIT_TROUBLE;
    status = judge_output(session, keep(session, &process, &notifier));
    process_close(&process);
    return close_with(session, status);
}
