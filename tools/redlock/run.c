/* run: a command that runs while the lock is held, and no longer.
 *
 * While it runs the library's keeper extends the lock every third of its TTL, and when that fails
 * again and again as long as there is time. Each new end of the validity is told to the guardian,
 * which ends the command before it (see ward.h), so that the command is dead before another client
 * can have the lock. */
#define _GNU_SOURCE
#include "commands.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "environment.h"
#include "exits.h"
#include "guardian.h"
#include "log.h"
#include "meter.h"
#include "notify.h"
#include "once.h"
#include "outbox.h"
#include "print.h"
#include "proclaim.h"
#include "report.h"
#include "signals.h"
#include "terminal.h"
#include "text.h"
#include "tree.h"
#include "votes.h"

enum {
    /* Between SIGKILL and the end of the validity: a fiftieth of the TTL, */
    MARGIN_PART = 50,
    MARGIN_MS_MAX = 100         /* at most this long. */
};

enum ending { NOT_ENDING, LOCK_LOST, HELD_TOO_LONG, EXTENDED_TOO_OFTEN, GUARDIAN_KILLED };

struct run {
    struct session *session;
    const struct settings *settings;
    const struct holding *holding;
    enum redlock_status kept;       /* What the keeper told last: OK, or why not. */
    uint64_t valid_until;           /* Since the last extension that succeeded. */
    uint64_t hold_until;            /* --max-hold; REDLOCK_NEVER. */
    uint64_t leave_until;           /* --hold-at-least; 0. */
    enum ending ending;
    bool has_run;                   /* The command. */
    const char *refusal;            /* Why it could not begin; NULL. */
    bool is_gone;                   /* Its release found that the lock had been lost. */
    bool was_told_to_end;           /* By a signal that was passed on. */
    bool is_within;                 /* Another redlock runs this one, or the script around it. */
    struct proclamation *lead;      /* Of lead; NULL. */
    struct votes votes;
    struct terminal terminal;
    struct guardian guardian;
    struct notifier notifier;
    struct once once;               /* --once-per */
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

/* When SIGTERM is due at the latest. */
static uint64_t last_term_at(const struct run *run, uint64_t now_us)
{
    uint64_t until = valid_until(run, now_us);
    uint64_t us = (uint64_t)(run->holding->grace_ms + margin_ms(run->settings)) * 1000;

    return until > us ? until - us : 0;
}

/* ---- Ending the command ---- */

/* Has a quorum answered that our token is not there, so that no extension can succeed any more?
 * (REDLOCK_TAKEN says less: too few of those that answered have it, and the others
 * may yet answer.) */
static bool is_forgotten(const struct run *run)
{
    return run->kept == REDLOCK_TAKEN && lock_is_refused(run->session);
}

static const char *reason_of(const struct run *run, uint64_t now_us)
{
    assert(run->ending != NOT_ENDING);
    if (run->ending == GUARDIAN_KILLED) return "the guardian was killed";
    if (run->ending == HELD_TOO_LONG) return "held for --max-hold";
    if (run->ending == EXTENDED_TOO_OFTEN) return "extended as often as --max-extensions allows";
    if (is_forgotten(run))
        return "lost: too few nodes still have our token (deleted, flushed, evicted or "
               "overwritten)";
    if (redlock_valid_us(&run->session->lock, now_us) == 0)
        return "lost: its validity has ended (was redlock stopped, or the machine asleep?)";
    return "lost: no quorum of nodes extended it in time";
}

static void end_command(struct run *run, enum ending ending, uint64_t now_us)
{
    assert(run->ending == NOT_ENDING && ending != NOT_ENDING);
    run->ending = ending;
    guardian_end(&run->guardian);
    notify(&run->notifier, run->lead ? NULL : "STOPPING=1",
           "Ending the command, for want of the lock:", run->settings->output.resource);
    if (ending == LOCK_LOST) log_transition(run->session, LOG_LOST, reason_of(run, now_us));
    if (ending == LOCK_LOST && run->settings->meter)
        run->settings->meter->give_up(&run->session->lock);
    if (run->settings->output.json) return;
    say_of_resource("%s; the command is ended", reason_of(run, now_us));
    if (ending == LOCK_LOST) report_loss(run->session);
}

/* ---- Keeping the lock ---- */

/* The keeper's own limit (S13) lies a TTL beyond --max-hold, so that the command has all
 * of its grace. */
static void begin_keeping(struct run *run)
{
    const struct holding *holding = run->holding;
    uint32_t hold_ms = holding->max_hold_ms > 0 ? holding->max_hold_ms + run->settings->ttl_ms : 0;
    uint64_t now = redlock_now_us();

    assert(!run->has_run);
    run->valid_until = valid_until(run, now);
    votes_begin(&run->votes, run->session);
    if (holding->hold_at_least_ms > 0)
        run->leave_until = now + (uint64_t)holding->hold_at_least_ms * 1000;
    if (holding->max_hold_ms > 0) run->hold_until = now + (uint64_t)holding->max_hold_ms * 1000;
    if (holding->max_extensions > 0 &&
        redlock_keep(&run->session->client.engine, &run->session->lock, hold_ms, now) !=
            REDLOCK_OK)
        run->valid_until = now;     /* It has ended meanwhile. */
}

/* The keeper tells when something changes; that it has extended the lock can be seen
 * by its validity. */
static void watch_keeper(struct run *run, uint64_t now_us)
{
    enum redlock_status kept = redlock_lock_status(&run->session->lock);
    bool is_extended = valid_until(run, now_us) > run->valid_until, is_news = kept != run->kept;

    run->kept = kept;
    if (is_extended) {
        run->valid_until = valid_until(run, now_us);
        guardian_extend(&run->guardian, run->valid_until);
        if (run->lead && run->has_run) proclaim_again(run->lead, run->session);
    }
    if (run->ending != NOT_ENDING) return;
    votes_watch(&run->votes, run->session);
    if (!run->settings->output.verbose) return;
    if (is_extended) report_validity(run->session, "extended");
    if (!is_news || kept == REDLOCK_OK) return;
    say_of_resource("not extended: %s", kept == REDLOCK_TAKEN ? "too few nodes still have our token"
                                                              : redlock_status_text(kept));
    if (kept == REDLOCK_TAKEN) report_loss(run->session);
    else if (kept != REDLOCK_EXTENSION_LIMIT) report_nodes(run->session);
}

static bool is_extended_too_often(const struct run *run, uint64_t now_us)
{
    bool is_enough = run->kept == REDLOCK_EXTENSION_LIMIT || run->holding->max_extensions == 0;

    return is_enough && redlock_valid_us(&run->session->lock, now_us) > 0;
}

/* Its time is over, by the guardian's clock or by ours. */
static enum ending ending_by_time(const struct run *run, uint64_t now_us)
{
    return is_extended_too_often(run, now_us) ? EXTENDED_TOO_OFTEN : LOCK_LOST;
}

/* Why the command must end now, if it must. */
static enum ending ending_due(const struct run *run, uint64_t now_us)
{
    assert(run->ending == NOT_ENDING);
    if (is_forgotten(run) || run->kept == REDLOCK_LOST) return LOCK_LOST;
    if (now_us >= last_term_at(run, now_us))            return ending_by_time(run, now_us);
    return now_us >= run->hold_until ? HELD_TOO_LONG : NOT_ENDING;
}

/* Does what time and the nodes' answers demand. */
static void keep_lock(struct run *run)
{
    uint64_t now = redlock_now_us();
    enum ending due;

    watch_keeper(run, now);
    due = run->ending == NOT_ENDING ? ending_due(run, now) : NOT_ENDING;
    if (due != NOT_ENDING) end_command(run, due, now);
}

static uint64_t next_time(const struct run *run)
{
    uint64_t now = redlock_now_us(), next = guardian_next(&run->guardian, now);

    return run->ending != NOT_ENDING
               ? next
               : sooner(next, sooner(last_term_at(run, now), run->hold_until));
}

/* ---- Signals and the terminal ---- */

/* Continued, by a shell's fg or bg: keep_lock() has seen to it that the lock is still held. */
static void continue_command(struct run *run)
{
    if (run->terminal.is_wanted) (void)terminal_give(&run->terminal, run->guardian.ward.child.pid);
    guardian_signal(&run->guardian, SIGCONT);
}

static void pass_signals_on(struct run *run)
{
    int number;

    while ((number = signals_next()) != 0) {
        if (number == SIGCHLD) continue;
        run->was_told_to_end |= signal_ends(number);
        if (number == SIGCONT) continue_command(run);
        else guardian_signal(&run->guardian, number);
    }
}

/* Stops as well, and the script around it, by the same signal: so the shell sees it, or another
 * redlock, which gives the terminal to what wanted to read from it: that is over in a moment. It
 * sends SIGCONT when all are to go on. */
static void stop_with_command(struct run *run, int number)
{
    char duration[TEXT_DURATION_MAX];

    assert(number > 0);
    bool is_asking = number != SIGTSTP && run->is_within;

    terminal_take(&run->terminal, run->guardian.ward.child.pid);
    if (!run->settings->output.json && !is_asking)
        say_of_resource("stopped; the lock is not extended meanwhile and ends in %s",
                        text_duration(duration, redlock_valid_ms(&run->session->lock)));
    signals_obey(number);
}

/* A command stopped by SIGSTOP was stopped on purpose: the lock is kept. One that wants the
 * terminal gets it. */
static void command_stopped(struct run *run, int number)
{
    assert(number > 0);
    if (number == SIGSTOP || run->ending != NOT_ENDING) return;
    if (number != SIGTSTP && terminal_give(&run->terminal, run->guardian.ward.child.pid))
        guardian_signal(&run->guardian, SIGCONT);
    else stop_with_command(run, number);
}

static void watch_start(struct run *run)
{
    if (run->has_run || !run->guardian.has_started || run->guardian.start_error) return;
    run->has_run = true;
    if (run->ending != NOT_ENDING) return;
    notify(&run->notifier, run->lead ? NULL : "READY=1",
           "Held, the command runs:", run->settings->output.resource);
    if (run->lead) proclaim_begin(run->lead, run->session, run->holding->as);
}

/* The guardian may have ended it by itself. */
static void watch_command(struct run *run)
{
    struct guardian *guardian = &run->guardian;
    uint64_t now = redlock_now_us();
    int stopped_by;

    guardian_look(guardian);
    watch_start(run);
    run->session->watched = guardian->reports;
    if (guardian->refused_error && !run->settings->output.json)
        say_of_resource("cannot send signal %d to the command: %s", guardian->refused_signal,
                        text_system_error(guardian->refused_error));
    guardian->refused_error = 0;
    if (run->ending == NOT_ENDING && guardian->was_killed) end_command(run, GUARDIAN_KILLED, now);
    else if (run->ending == NOT_ENDING && guardian->ward.is_ending)
        end_command(run, ending_by_time(run, now), now);
    stopped_by = guardian->ward.child.stopped_by;
    guardian->ward.child.stopped_by = 0;
    if (stopped_by) command_stopped(run, stopped_by);
}

static void supervise(struct run *run)
{
    begin_keeping(run);
    while (!run->guardian.is_gone && !run->guardian.start_error) {
        session_wait(run->session, next_time(run));
        /* First of all: nothing goes on, and no end counts, that comes after the validity. */
        keep_lock(run);
        pass_signals_on(run);
        watch_command(run);
    }
}

/* ---- All of it ---- */

/* Several: each on a line of its own. */
static void set_resources(const struct settings *settings)
{
    static char variable[sizeof "REDLOCK_RESOURCE" + REDLOCK_RESOURCE_MAX + 1];
    size_t used = 0;

    assert(settings->name_count > 0);
    for (unsigned i = 0; i < settings->name_count && used < sizeof variable; i++)
        used += (size_t)print_text(variable + used, sizeof variable - used, "%s%s",
                                   i > 0 ? "\n" : "REDLOCK_RESOURCE=", settings->names[i]);
    environment_put(variable);
}

/* By its beginning, in seconds since 1970: so that the command can name what it makes. */
static void set_period(const struct run *run)
{
    const struct redlock_period *period = &run->once.period;
    static char variable[sizeof "REDLOCK_PERIOD" + 21];

    assert(period->period_ms > 0);
    (void)print_text(variable, sizeof variable, "REDLOCK_PERIOD=%" PRIu64,
                     redlock_period_begins_ms(period->wall_us, period->period_ms) / 1000);
    environment_put(variable);
}

/* What is known before there is a lock. */
static int start_guardian(struct run *run, struct settings *settings)
{
    int error;

    assert(run->holding->program);
    run->is_within = getenv("REDLOCK_TOKEN") != NULL;
    set_resources(run->settings);
    /* That of a lock around this one. */
    if (!run->settings->ticket) environment_take("REDLOCK_TICKET");
    environment_take("REDLOCK_PERIOD");
    environment_take("REDLOCK_SLOT");
    if (run->settings->once_per_ms > 0) {
        once_is_due(&run->once, run->settings, run->holding);
        set_period(run);
    }
    terminal_open(&run->terminal);
    error = guardian_start(&run->guardian, settings, run->holding, margin_ms(settings));
    if (error) output_system_failure("the guardian of the command", error);
    else if (!tree_is_told())
        say_of_resource("without /proc what leaves the command's process group (setsid) is not "
                        "ended with it: mount /proc");
    return error;
}

static void set_environment(struct run *run)
{
    const struct redlock_lock *lock = &run->session->lock;
    char value[REDLOCK_VALUE_TEXT + 1], kind[KIND_TEXT_MAX];
    unsigned slot = redlock_view_lock(lock).slot;

    redlock_value(&run->session->client.engine, lock, value);
    guardian_set(&run->guardian, "REDLOCK_TOKEN=%.*s%s%s", REDLOCK_TOKEN_TEXT, value,
                 kind_text(run->session, kind), value + REDLOCK_TOKEN_TEXT);
    if (slot > 0) guardian_set(&run->guardian, "REDLOCK_SLOT=%u", slot);
    if (run->settings->ticket)
        guardian_set(&run->guardian, "REDLOCK_TICKET=%" PRIu64, redlock_ticket(lock));
    guardian_set(&run->guardian, "REDLOCK_VALID_MS=%" PRIu32, redlock_valid_ms(lock));
}

/* The exit status that tells why the command does not run. */
static int report_start(struct run *run, int error)
{
    const struct settings *settings = run->settings;

    assert(error != 0);
    run->refusal = error == ECANCELED
                       ? "lost: its validity had ended before the command could begin"
                   : error == ESRCH ? "the guardian was killed"
                                    : text_system_error(error);
    if (!settings->output.json && error == ECANCELED) say_of_resource("%s", run->refusal);
    else if (!settings->output.json)
        say("cannot run %s: %s", run->holding->program[0], run->refusal);
    if (error == ECANCELED) return EXIT_LOST;
    if (error == ESRCH) return EXIT_TROUBLE;
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* Lets it begin, and sees it through: its start is one event among others, for it may take longer
 * than the lock is valid. */
static int run_to_its_end(struct run *run)
{
    bool is_refused;

    assert(!run->has_run);
    set_environment(run);
    signals_catch_more();
    if (!guardian_run(&run->guardian, valid_until(run, redlock_now_us())))
        return report_start(run, ESRCH);
    run->session->watched = run->guardian.reports;
    supervise(run);
    is_refused = run->guardian.start_error && run->ending == NOT_ENDING;
    return is_refused ? report_start(run, run->guardian.start_error) : 0;
}

/* The keyboard's signal was meant for the script around the command as well, but the command had
 * the terminal. */
static void pass_interrupt_back(const struct run *run)
{
    int status = run->guardian.ward.child.status,
        number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    if (!run->terminal.is_given || (number != SIGINT && number != SIGQUIT)) return;
    (void)signal(number, SIG_IGN);
    (void)kill(0, number);
}

/* With --retry-until-done a period is marked when the command has done what it is for. */
static void mark_if_done(struct run *run)
{
    bool is_done = run->ending == NOT_ENDING && child_exit_status(&run->guardian.ward.child) == 0;

    if (run->holding->retry_until_done && is_done) once_is_done(&run->once, run->session);
}

/* Is the lock to be held longer than the command took? */
static bool is_to_be_left(const struct run *run)
{
    uint64_t now = redlock_now_us();

    return run->ending == NOT_ENDING && now < run->leave_until &&
           redlock_valid_us(&run->session->lock, now) > 0;
}

/* The lock stays behind, held by nobody, until --hold-at-least is over. */
static void leave_held(struct run *run)
{
    enum redlock_status status = leave_lock(run->session, run->leave_until);
    char duration[TEXT_DURATION_MAX];

    assert(run->leave_until > 0);
    outbox_may_wait(true);
    run->kept = status;
    run->is_gone = is_forgotten(run);
    log_transition(run->session, run->is_gone ? LOG_LOST : LOG_LEFT,
                   status == REDLOCK_OK ? NULL : redlock_status_text(status));
    if (run->is_gone || run->settings->output.json) return;
    if (status != REDLOCK_OK) {
        say_of_resource("not held for all of --hold-at-least: %s", redlock_status_text(status));
        report_loss(run->session);
    } else if (run->settings->output.verbose) {
        say_of_resource("left held for another %s",
                        text_duration(duration, redlock_valid_ms(&run->session->lock)));
    }
}

/* What is lost already is only tidied up. */
static void log_end(const struct run *run, enum redlock_status status)
{
    const char *why = run->ending != NOT_ENDING ? reason_of(run, redlock_now_us()) : NULL;

    if (run->ending == LOCK_LOST) return;
    if (run->is_gone) log_transition(run->session, LOG_LOST, "it was gone when the command ended");
    else
        log_transition(run->session, LOG_RELEASED,
                       status == REDLOCK_OK ? why : redlock_status_text(status));
}

static void release_held(struct run *run)
{
    enum redlock_status status = judge_release(run->session, release_lock(run->session));

    outbox_may_wait(true);
    run->is_gone = status == REDLOCK_LOST;
    log_end(run, status);
    if (run->is_gone || run->settings->output.json) return;
    if (status != REDLOCK_OK || (run->ending == NOT_ENDING && run->settings->output.verbose))
        report_release(run->session, status);
}

/* What the command did is worth nothing when the lock was gone at its end. */
static int finish_run(struct run *run)
{
    pass_interrupt_back(run);
    terminal_take(&run->terminal, run->guardian.ward.child.pid);
    mark_if_done(run);
    if (run->lead && run->has_run) proclaim_resign(run->lead, run->session);
    if (is_to_be_left(run)) leave_held(run);
    else                    release_held(run);
    if (run->ending == GUARDIAN_KILLED) return EXIT_TROUBLE;
    if (run->ending != NOT_ENDING) return EXIT_LOST;
    if (!run->is_gone) return child_exit_status(&run->guardian.ward.child);
    if (!run->settings->output.json) say_of_resource("lost: it was gone when the command ended");
    return EXIT_LOST;
}

static int run_with_lock(struct run *run)
{
    int code = run->settings->once_per_ms > 0 ? once_ask(&run->once, run->session) : 0;

    if (code == 0) code = run_to_its_end(run);
    if (code) {
        release_held(run);
        /* The exit status tells already why the command does not run. */
        run->is_gone = false;
        return code;
    }
    notify(&run->notifier, "STOPPING=1", "The command has ended:", run->settings->output.resource);
    return finish_run(run);
}

static void tell_json(struct session *session, enum redlock_status status, const struct run *run,
                      int code)
{
    static const char *const endings[] = {      /* enum ending */
        "command ended", "lock lost", "max-hold", "max-extensions", "guardian killed"
    };
    const char *reason = status != REDLOCK_OK && !run->refusal ? "not acquired"
                       : run->is_gone ? "lock lost"
                       : run->has_run ? endings[run->ending] : code == EXIT_ALREADY ? "already ran"
                       : code == EXIT_NO_QUORUM ? "not marked" : "command not run";
    FILE *file;

    assert(run->ending <= GUARDIAN_KILLED);
    if (status == REDLOCK_OK && (run->is_gone || run->ending == LOCK_LOST)) status = REDLOCK_LOST;
    file = outbox_compose();
    output_json_begin(file, &session->settings->output, NULL, status, NULL);
    (void)print_to(file, "\"exit\":%d,\"reason\":\"%s\",", code, reason);
    if (run->refusal) (void)print_to(file, "\"error\":\"%s\",", run->refusal);
    if (run->settings->once_per_ms > 0) once_json(file, &run->once, session);
    report_json_end(file, session);
    (void)outbox_send(OUTLET_STDERR, 0);
}

static uint32_t extension_limit(const struct holding *holding)
{
    return holding->max_extensions < UINT32_MAX ? holding->max_extensions : 0;
}

/* A mark of a period that this host cannot live up to would keep all others from it. Looked for
 * while there is no lock, since the file system may hang (S29). */
static int find_program(const struct run *run)
{
    return run->settings->once_per_ms > 0 ? child_find(run->holding->program[0]) : 0;
}

/* Acquires, runs, releases. */
static int run_in_session(struct run *run)
{
    struct session *session = run->session;
    const struct settings *settings = run->settings;
    enum redlock_status status = REDLOCK_SYSTEM;
    int code, error = find_program(run);

    notify(&run->notifier, NULL, "Waiting for the lock:", settings->output.resource);
    if (error == 0)
        status = acquire_lock(session, run->holding->grace_ms + margin_ms(settings),
                              extension_limit(run->holding));
    if (error != 0) {
        code = report_start(run, error);
    } else if (status == REDLOCK_OK) {
        log_transition(session, LOG_ACQUIRED, NULL);
        if (settings->output.verbose)    report_validity(session, "acquired");
        else if (!settings->output.json) report_same_servers(session);
        code = run_with_lock(run);
    } else {
        outbox_may_wait(true);
        if (status == REDLOCK_NO_QUORUM) session_connect(session);
        code = exit_of(session, status);
        if (!settings->output.json && session->signal == 0) report_status(session, status);
    }
    if (settings->output.json) tell_json(session, status, run, code);
    if (run->lead) proclaim_end(run->lead, session);
    close_session(session);
    return code;
}

/* The guardian comes first: what it needs is there before there is a lock, and it
 * inherits no connection. */
static int run_once(struct run *run, struct settings *settings)
{
    int code = EXIT_TROUBLE;

    assert(run->hold_until == REDLOCK_NEVER);
    outbox_may_wait(false);
    if (start_guardian(run, settings) != 0) return EXIT_TROUBLE;
    if (open_session(run->session, settings) == REDLOCK_OK) code = run_in_session(run);
    guardian_close(&run->guardian);
    terminal_close(&run->terminal);
    return code;
}

int run_command(struct session *session, struct settings *settings, struct holding *holding)
{
    struct run run = {
        .session = session, .settings = settings, .holding = holding, .hold_until = REDLOCK_NEVER
    };

    notify_open(&run.notifier);
    return run_once(&run, settings);
}

/* Each lead is a run of its own, of a session and a guardian of its own: nothing of the last one is
 * left, but the settings. Between two of them there is no lock and no command, so that a signal may
 * end the program as it likes. */
int lead_command(struct session *session, struct settings *settings, struct holding *holding)
{
    static struct settings given;
    static struct proclamation lead;
    struct notifier notifier;
    struct run run;
    int code;

    assert(holding->program && holding->program[0]);
    given = *settings;
    notify_open(&notifier);
    /* A candidate that waits is in service. */
    notify(&notifier, "READY=1", "Waits to lead:", settings->output.resource);
    for (;;) {
        run = (struct run){
            .session = session, .settings = settings, .holding = holding,
            .hold_until = REDLOCK_NEVER
        };
        run.notifier = notifier;
        run.lead = &lead;
        holding->given = &given;
        code = run_once(&run, settings);
        if (code != EXIT_LOST || holding->once || run.was_told_to_end) return code;
        signals_close();
        given.waits_through_errors = true;      /* The nodes could vote. */
        *settings = given;
    }
}
