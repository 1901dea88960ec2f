/* run: a command that runs while the lock is held, and no longer.
 *
 * While it runs the library's keeper extends the lock every third of its TTL, and when that fails again and again as long as
 * there is time:
 *
 *      acquired                                                           end of the validity
 *      |-------- extend -- again -- again --|---- grace ----|- margin -|
 *                                        SIGTERM         SIGKILL
 *
 * so that the command is dead before another client can have the lock. If that is known too late (redlock was stopped, or
 * the machine slept) both signals are sent at once. */
#define _GNU_SOURCE
#include "commands.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "child.h"
#include "report.h"
#include "signals.h"
#include "text.h"

enum {
    MARGIN_PART = 50,           /* Between SIGKILL and the end of the validity: a fiftieth of the TTL, */
    MARGIN_MS_MAX = 100,        /* at most this long. A kernel needs some time to end processes. */
    GROUP_LOOK_US = 20 * 1000   /* How often to see whether the rest of an ending group is gone: nobody tells. */
};

enum ending { NOT_ENDING, LOCK_LOST, HELD_TOO_LONG, EXTENDED_TOO_OFTEN };

struct run {
    struct session *session;
    const struct settings *settings;
    struct child child;
    enum redlock_status kept;       /* What the keeper told last: OK, or why not. */
    uint64_t valid_until;           /* Since the last extension that succeeded. */
    uint64_t hold_until;            /* --max-hold; REDLOCK_NEVER. */
    uint64_t leave_until;           /* --hold-at-least; 0. */
    enum ending ending;
    uint64_t kill_at;               /* When ending. */
    bool killed;
    bool is_gone;                   /* Its release found that the lock had been lost. */
};

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint32_t margin_ms(const struct settings *settings)
{
    uint32_t part = settings->ttl_ms / MARGIN_PART;

    return part < MARGIN_MS_MAX ? part : MARGIN_MS_MAX;
}

static uint64_t valid_until(const struct run *run, uint64_t now_us)
{
    return now_us + redlock_valid_us(&run->session->lock, now_us);
}

/* When SIGKILL is due at the latest, and SIGTERM. */
static uint64_t last_kill_at(const struct run *run, uint64_t now_us)
{
    uint64_t until = valid_until(run, now_us), margin_us = (uint64_t)margin_ms(run->settings) * 1000;

    return until > margin_us ? until - margin_us : 0;
}

static uint64_t last_term_at(const struct run *run, uint64_t now_us)
{
    uint64_t kill_at = last_kill_at(run, now_us), grace_us = (uint64_t)run->settings->grace_ms * 1000;

    return kill_at > grace_us ? kill_at - grace_us : 0;
}

/* ---- Ending the command ---- */

static void send_signal(struct run *run, int number)
{
    int error = child_signal(&run->child, number);

    if (error) say("%s: cannot send signal %d to the command: %s", run->settings->resource, number, strerror(error));
}

/* Has a quorum answered that our token is not there, so that no extension can succeed any more? (REDLOCK_TAKEN says less: too
 * few of those that answered have it, and the others may yet answer.) */
static bool is_forgotten(const struct run *run)
{
    return run->kept == REDLOCK_TAKEN && lock_is_refused(run->session);
}

static const char *reason_of(const struct run *run, uint64_t now_us)
{
    if (run->ending == HELD_TOO_LONG)
        return "held for --max-hold";
    if (run->ending == EXTENDED_TOO_OFTEN)
        return "extended as often as --max-extensions allows";
    if (is_forgotten(run))
        return "lost: too few nodes have our token any more (deleted, flushed, evicted or overwritten)";
    if (redlock_valid_us(&run->session->lock, now_us) == 0)
        return "lost: its validity has ended (was redlock stopped, or the machine asleep?)";
    return "lost: no quorum of nodes extended it in time";
}

/* A stopped process takes SIGTERM when it goes on, not before. */
static void end_command(struct run *run, enum ending ending, uint64_t now_us)
{
    run->ending = ending;
    run->kill_at = sooner(now_us + (uint64_t)run->settings->grace_ms * 1000, last_kill_at(run, now_us));
    send_signal(run, SIGTERM);
    send_signal(run, SIGCONT);
    if (run->settings->json) return;
    say("%s: %s; the command is ended", run->settings->resource, reason_of(run, now_us));
    if (ending == LOCK_LOST) report_loss(run->session);
}

static void kill_command(struct run *run)
{
    run->killed = true;
    send_signal(run, SIGKILL);
}

/* ---- Keeping the lock ---- */

/* The keeper's own limit (S13) lies a TTL beyond --max-hold, so that the command has all of its grace. */
static void begin_keeping(struct run *run)
{
    const struct settings *settings = run->settings;
    uint32_t hold_ms = settings->max_hold_ms > 0 ? settings->max_hold_ms + settings->ttl_ms : 0;
    uint64_t now = redlock_now_us();

    run->valid_until = valid_until(run, now);
    if (settings->hold_at_least_ms > 0) run->leave_until = now + (uint64_t)settings->hold_at_least_ms * 1000;
    if (settings->max_hold_ms > 0) run->hold_until = now + (uint64_t)settings->max_hold_ms * 1000;
    if (settings->max_extensions > 0 &&
        redlock_keep(redlock_engine(&run->session->client), &run->session->lock, hold_ms, now) != REDLOCK_OK)
        run->valid_until = now;     /* It has ended meanwhile. */
}

/* The keeper tells when something changes; that it has extended the lock can be seen by its validity. */
static void watch_keeper(struct run *run, uint64_t now_us)
{
    enum redlock_status kept = redlock_lock_status(&run->session->lock);
    bool is_extended = valid_until(run, now_us) > run->valid_until, is_news = kept != run->kept;

    run->kept = kept;
    if (is_extended) run->valid_until = valid_until(run, now_us);
    if (!run->settings->verbose || run->ending != NOT_ENDING) return;
    if (is_extended) report_validity(run->session, "extended");
    if (!is_news || kept == REDLOCK_OK) return;
    say("%s: not extended: %s", run->settings->resource, redlock_status_text(kept));
    if (kept != REDLOCK_EXTENSION_LIMIT) report_nodes(run->session);
}

static bool is_extended_too_often(const struct run *run, uint64_t now_us)
{
    bool is_enough = run->kept == REDLOCK_EXTENSION_LIMIT || run->settings->max_extensions == 0;

    return is_enough && redlock_valid_us(&run->session->lock, now_us) > 0;
}

/* Why the command must end now, if it must. */
static enum ending ending_due(const struct run *run, uint64_t now_us)
{
    if (is_forgotten(run) || run->kept == REDLOCK_LOST) return LOCK_LOST;
    if (now_us >= last_term_at(run, now_us))            return is_extended_too_often(run, now_us) ? EXTENDED_TOO_OFTEN : LOCK_LOST;
    return now_us >= run->hold_until ? HELD_TOO_LONG : NOT_ENDING;
}

/* Does what time and the nodes' answers demand. */
static void keep_lock(struct run *run)
{
    uint64_t now = redlock_now_us();
    enum ending due;

    watch_keeper(run, now);
    if (run->ending != NOT_ENDING) {
        if (!run->killed && now >= run->kill_at) kill_command(run);
        return;
    }
    due = ending_due(run, now);
    if (due != NOT_ENDING) end_command(run, due, now);
    if (run->ending != NOT_ENDING && now >= run->kill_at) kill_command(run);
}

static uint64_t next_time(const struct run *run)
{
    uint64_t now = redlock_now_us();

    if (run->ending != NOT_ENDING) {
        if (run->child.has_ended) return now + GROUP_LOOK_US;
        return run->killed ? REDLOCK_NEVER : run->kill_at;
    }
    return sooner(last_term_at(run, now), run->hold_until);
}

/* ---- Signals and the terminal ---- */

/* Continued, by a shell's fg or bg: keep_lock() has seen to it that the lock is still held. */
static void continue_child(struct run *run)
{
    if (run->child.wants_terminal) (void)child_give_terminal(&run->child);
    send_signal(run, SIGCONT);
}

static void pass_signals_on(struct run *run)
{
    int number;

    while ((number = signals_next()) != 0) {
        if (number == SIGCHLD) continue;
        if (number == SIGCONT) continue_child(run);
        else send_signal(run, number);
    }
}

/* Stops as well, so that the shell sees it; it sends SIGCONT when both are to go on. */
static void stop_with_child(struct run *run)
{
    char duration[TEXT_DURATION_MAX];

    child_take_terminal(&run->child);
    if (!run->settings->json)
        say("%s: stopped; the lock is not extended meanwhile and ends in %s", run->settings->resource,
            text_duration(duration, redlock_valid_ms(&run->session->lock)));
    signals_obey(SIGTSTP);
}

/* A command stopped by SIGSTOP was stopped on purpose: the lock is kept. A child that wants the terminal gets it. */
static void child_stopped(struct run *run, int number)
{
    if (number == SIGSTOP || run->ending != NOT_ENDING) return;
    if (number != SIGTSTP && child_give_terminal(&run->child)) send_signal(run, SIGCONT);
    else stop_with_child(run);
}

/* Waits for the whole group when it is ended for want of the lock: what is left of it would go on without. */
static bool is_over(const struct run *run)
{
    return run->child.has_ended && (run->ending == NOT_ENDING || run->killed || !child_group_lives(&run->child));
}

static void supervise(struct run *run)
{
    begin_keeping(run);
    while (!is_over(run)) {
        session_wait(run->session, next_time(run));
        keep_lock(run);         /* First of all: nothing goes on, and no end counts, that comes after the validity. */
        pass_signals_on(run);
        child_look(&run->child);
        if (run->child.stopped_by) child_stopped(run, run->child.stopped_by);
    }
}

/* ---- All of it ---- */

/* Several: each on a line of its own. */
static void set_resources(const struct settings *settings)
{
    char lines[REDLOCK_RESOURCE_MAX + 1];
    size_t used = 0;

    for (unsigned i = 0; i < settings->name_count && used < sizeof lines; i++)
        used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%s", i > 0 ? "\n" : "", settings->names[i]);
    (void)setenv("REDLOCK_RESOURCE", lines, 1);
}

static void set_environment(const struct session *session)
{
    char token[REDLOCK_TOKEN_TEXT + 1], ticket[24], valid[16];

    redlock_token(&session->lock, token);
    (void)snprintf(valid, sizeof valid, "%" PRIu32, redlock_valid_ms(&session->lock));
    set_resources(session->settings);
    (void)setenv("REDLOCK_TOKEN", token, 1);
    (void)snprintf(ticket, sizeof ticket, "%" PRIu64, redlock_ticket(&session->lock));
    if (session->settings->ticket) (void)setenv("REDLOCK_TICKET", ticket, 1);
    else                           (void)unsetenv("REDLOCK_TICKET");    /* That of a lock around this one. */
    (void)setenv("REDLOCK_VALID_MS", valid, 1);
}

static int start_command(struct run *run)
{
    int error;

    set_environment(run->session);
    signals_catch_more();
    error = child_start(&run->child, run->settings->program);
    if (error) say("cannot run %s: %s", run->settings->program[0], text_system_error(error));
    return error == 0 ? 0 : error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* The keyboard's signal was meant for the script around the command as well, but the command had the terminal. */
static void pass_interrupt_back(const struct run *run)
{
    int number = WIFSIGNALED(run->child.status) ? WTERMSIG(run->child.status) : 0;

    if (!run->child.has_terminal || (number != SIGINT && number != SIGQUIT)) return;
    (void)signal(number, SIG_IGN);
    (void)kill(0, number);
}

/* Is the lock to be held longer than the command took? */
static bool is_to_be_left(const struct run *run)
{
    uint64_t now = redlock_now_us();

    return run->ending == NOT_ENDING && now < run->leave_until && redlock_valid_us(&run->session->lock, now) > 0;
}

/* The lock stays behind, held by nobody, until --hold-at-least is over. */
static void leave_held(struct run *run)
{
    enum redlock_status status = leave_lock(run->session, run->leave_until);
    char duration[TEXT_DURATION_MAX];

    run->kept = status;
    run->is_gone = is_forgotten(run);
    if (run->is_gone || run->settings->json) return;
    if (status != REDLOCK_OK) {
        say("%s: not held for all of --hold-at-least: %s", run->settings->resource, redlock_status_text(status));
        report_loss(run->session);
    } else if (run->settings->verbose) {
        say("%s: left held for another %s", run->settings->resource,
            text_duration(duration, redlock_valid_ms(&run->session->lock)));
    }
}

static void release_held(struct run *run)
{
    run->is_gone = release_lock(run->session) == REDLOCK_LOST;
    if (!run->is_gone && run->ending == NOT_ENDING && run->settings->verbose)
        say("%s: released on %u of %u nodes", run->settings->resource, redlock_confirmed(&run->session->lock),
            redlock_node_count(&run->session->client));
}

/* What the command did is worth nothing when the lock was gone at its end. */
static int finish_run(struct run *run)
{
    pass_interrupt_back(run);
    child_take_terminal(&run->child);
    if (is_to_be_left(run)) leave_held(run);
    else                    release_held(run);
    if (run->ending != NOT_ENDING) return EXIT_LOST;
    if (!run->is_gone) return child_exit_status(&run->child);
    if (!run->settings->json) say("%s: lost: it was gone when the command ended", run->settings->resource);
    return EXIT_LOST;
}

static int run_with_lock(struct run *run)
{
    int code = start_command(run);

    if (code) {
        (void)release_lock(run->session);
        return code;
    }
    supervise(run);
    return finish_run(run);
}

/* How a lock that was not acquired ends the program. */
static int exit_without_lock(const struct session *session, enum redlock_status status)
{
    if (session->signal) return EXIT_SIGNAL + session->signal;
    switch (status) {
    case REDLOCK_TAKEN:
    case REDLOCK_NO_QUORUM:
    case REDLOCK_TIMEOUT:
    case REDLOCK_TOO_LATE: return EXIT_NOT_ACQUIRED;
    default:               return EXIT_TROUBLE;
    }
}

static void tell_json(struct session *session, enum redlock_status status, const struct run *run, int code)
{
    static const char *const endings[] = { "command ended", "lock lost", "max-hold", "max-extensions" };   /* enum ending */
    char more[128];
    const char *reason = status != REDLOCK_OK ? "not acquired"
                       : run->is_gone ? "lock lost" : run->child.has_ended ? endings[run->ending] : "command not run";

    if (status == REDLOCK_OK && (run->is_gone || run->ending == LOCK_LOST)) status = REDLOCK_LOST;
    (void)snprintf(more, sizeof more, "\"exit\":%d,\"reason\":\"%s\",", code, reason);
    report_json(stderr, session, status, more);
}

int run_command(struct session *session, struct settings *settings)
{
    struct run run = { .session = session, .settings = settings, .hold_until = REDLOCK_NEVER };
    enum redlock_status status = open_session(session, settings);
    int code;

    if (status != REDLOCK_OK) return EXIT_TROUBLE;
    status = acquire_lock(session, settings->grace_ms + margin_ms(settings));
    if (status == REDLOCK_OK) {
        if (settings->verbose) report_validity(session, "acquired");
        code = run_with_lock(&run);
    } else {
        code = exit_without_lock(session, status);
        if (status == REDLOCK_NO_QUORUM) session_connect(session);
        if (!settings->json && session->signal == 0) report_status(session, status);
    }
    if (settings->json) tell_json(session, status, &run, code);
    close_session(session);
    return code;
}
