#define _GNU_SOURCE
#include "guardian.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/timerfd.h>
#endif

#include "descriptors.h"
#include "environment.h"
#include "exit_status.h"
#include "log.h"
#include "signals.h"
#include "tree.h"

/* Less than PIPE_BUF, so each is written whole or not at all. */
struct order {
    enum { ORDER_SET, ORDER_RUN, ORDER_VALID, ORDER_SIGNAL, ORDER_END } kind;
    int number;                         /* Of the signal. */
    uint64_t valid_until;               /* RUN, VALID */
    char text[ORDER_TEXT_MAX + 1];      /* SET: the variable. */
};

struct report {
    enum {
        REPORT_READY,
        REPORT_BEGUN,
        REPORT_RUNS,
        REPORT_STOPPED,
        REPORT_ENDED,
        REPORT_ENDING,
        REPORT_REFUSED,
        REPORT_GONE
    } kind;
    /* READY, RUNS, REFUSED: an errno. STOPPED: a signal. ENDED: of waitpid(). */
    int number;
    int signal;                         /* REFUSED: which. */
    pid_t pid;                          /* BEGUN: the command, which may not run yet. */
};

static bool send_message(int fd, const void *message, size_t size)
{
    ssize_t sent;

    assert(size <= PIPE_BUF);
    do sent = write(fd, message, size);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size;
}

/* 1: a message. 0: the other end is closed. -1: none yet. */
static int take_message(int fd, void *message, size_t size)
{
    ssize_t taken;

    assert(size <= PIPE_BUF);
    do taken = read(fd, message, size);
    while (taken < 0 && errno == EINTR);
    return taken == (ssize_t)size ? 1 : taken < 0 ? -1 : 0;
}

/* ---- In the guardian ---- */

struct guard {
    struct ward ward;
    const struct output *output;
    char **program;         /* The command. */
    int orders, reports, timer;
    bool has_begun;         /* The command, */
    bool is_starting;       /* and it is not known yet whether it runs. */
    bool is_ending_told, is_end_told, is_alone;
    unsigned set_count;
    char set[ORDER_SET_MAX][ORDER_TEXT_MAX + 1];    /* Variables of the environment. */
};

static void tell(const struct guard *guard, struct report report)
{
    assert(guard->reports >= 0);
    (void)send_message(guard->reports, &report, sizeof report);
}

/* Commands that end processes by name must be able to tell it from redlock. */
static void take_name(void)
{
#ifdef __linux__
    (void)prctl(PR_SET_NAME, "redlock-guard");
#endif
}

/* poll() does not count the time for which the machine sleeps, this clock does. Without it the end
 * would come too late then. */
static int open_timer(void)
{
#ifdef __linux__
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
#else
    return -1;
#endif
}

static void set_timer(int timer, uint64_t at_us)
{
#ifdef __linux__
    struct itimerspec at = {
        .it_value = { (time_t)(at_us / 1000000), (long)(at_us % 1000000) * 1000 }
    };

    (void)timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
#else
    (void)timer;
    (void)at_us;
#endif
}

static int timeout_ms(uint64_t now_us, uint64_t until_us)
{
    uint64_t ms = until_us <= now_us ? 0 : (until_us - now_us) / 1000 + 1;

    return until_us == REDLOCK_NEVER ? -1 : ms > INT_MAX ? INT_MAX : (int)ms;
}

/* What has come meanwhile is read before the time is judged: after a sleep it may be a new end. */
static void wait_for_orders(const struct guard *guard)
{
    uint64_t now = redlock_now_us(),
             until = guard->has_begun ? ward_next(&guard->ward, now) : REDLOCK_NEVER;
    struct pollfd fds[] = {
        { .fd = guard->is_alone ? -1 : guard->orders, .events = POLLIN },
        { .fd = signals_fd(), .events = POLLIN },
        { .fd = guard->timer, .events = POLLIN },
        { .fd = guard->is_starting ? guard->ward.child.report[0] : -1, .events = POLLIN },
    };

    if (guard->timer >= 0 && until != REDLOCK_NEVER) set_timer(guard->timer, until);
    (void)poll(fds, sizeof fds / sizeof fds[0], timeout_ms(now, until));
    while (signals_next() != 0) { }
}

/* S19: not when the validity has ended. This process may have been stopped. */
static void begin_command(struct guard *guard, uint64_t valid_until)
{
    int error = ECANCELED;

    assert(!guard->has_begun);
    guard->ward.valid_until = valid_until;
    if (redlock_now_us() < valid_until) error = child_start(&guard->ward.child, guard->program);
    guard->has_begun = guard->is_starting = error == 0;
    tell(guard, (struct report){ .kind = error ? REPORT_RUNS : REPORT_BEGUN,
                                 .number = error,
                                 .pid = guard->ward.child.pid });
}

/* S28: meanwhile orders are obeyed, and the time is judged. */
static void look_after_start(struct guard *guard)
{
    int error;

    assert(!guard->is_starting || guard->has_begun);
    if (!guard->is_starting || !child_has_started(&guard->ward.child, &error)) return;
    guard->is_starting = false;
    if (error) guard->has_begun = false;
    tell(guard, (struct report){ .kind = REPORT_RUNS, .number = error });
}

static void tell_refusal(const struct guard *guard, int number, int error)
{
    assert(error >= 0);
    if (error)
        tell(guard, (struct report){ .kind = REPORT_REFUSED, .number = error, .signal = number });
}

static void set_variable(struct guard *guard, const char *variable)
{
    assert(guard->set_count < ORDER_SET_MAX);
    memcpy(guard->set[guard->set_count], variable, sizeof guard->set[0]);
    environment_put(guard->set[guard->set_count++]);
}

static void obey(struct guard *guard, const struct order *order)
{
    switch (order->kind) {
    case ORDER_SET:    set_variable(guard, order->text); break;
    case ORDER_RUN:    begin_command(guard, order->valid_until); break;
    case ORDER_VALID:  guard->ward.valid_until = order->valid_until; break;
    case ORDER_SIGNAL:
        tell_refusal(guard, order->number, child_signal(&guard->ward.child, order->number));
        break;
    case ORDER_END:
        if (!guard->ward.is_ending)
            tell_refusal(guard, SIGTERM, ward_end(&guard->ward, redlock_now_us()));
        break;
    }
}

/* Nobody extends the lock any longer, and nobody releases it. */
static void redlock_was_killed(struct guard *guard)
{
    uint64_t now = redlock_now_us();

    assert(!guard->is_alone);
    guard->is_alone = true;
    if (!guard->has_begun) _exit(EXIT_SUCCESS);
    if (guard->ward.is_ending) return;
    (void)ward_end(&guard->ward, now);
    ward_judge(&guard->ward, now);      /* S28: then it speaks, without waiting. */
    log_killed(guard->output, now < guard->ward.valid_until
                                  ? (uint32_t)((guard->ward.valid_until - now) / 1000)
                                  : 0);
    say_of_resource("redlock was killed; the command is ended");
}

static void take_orders(struct guard *guard)
{
    struct order order;
    int taken;

    if (guard->is_alone) return;
    while ((taken = take_message(guard->orders, &order, sizeof order)) > 0) obey(guard, &order);
    if (taken == 0) redlock_was_killed(guard);
}

static void look_after_command(struct guard *guard)
{
    struct ward *ward = &guard->ward;

    child_look(&ward->child);
    look_after_start(guard);
    if (!guard->has_begun) return;
    if (ward->child.stopped_by)
        tell(guard, (struct report){ .kind = REPORT_STOPPED, .number = ward->child.stopped_by });
    ward->child.stopped_by = 0;
    if (!ward->child.has_ended || ward->is_ending) ward_judge(ward, redlock_now_us());
    if (ward->is_ending && !guard->is_ending_told)
        tell(guard, (struct report){ .kind = REPORT_ENDING });
    guard->is_ending_told = ward->is_ending;
    if (ward->child.has_ended && !guard->is_end_told)
        tell(guard, (struct report){ .kind = REPORT_ENDED, .number = ward->child.status });
    guard->is_end_told = ward->child.has_ended;
}

_Noreturn static void stand_guard(struct guard *guard)
{
    while (!guard->has_begun || !ward_is_gone(&guard->ward, redlock_now_us())) {
        wait_for_orders(guard);
        take_orders(guard);
        look_after_command(guard);
    }
    tell(guard, (struct report){ .kind = REPORT_GONE });
    _exit(EXIT_SUCCESS);
}

static int prepare_guard(struct guard *guard)
{
    int error;

    (void)setpgid(0, 0);
    take_name();
    tree_adopt_orphans();
    if (!signals_open()) return errno;
    signals_catch_more();
    error = child_prepare(&guard->ward.child);
    if (error) return error;
    guard->timer = open_timer();
#ifdef __linux__
    if (guard->timer < 0 && errno != ENOSYS) return errno;
#endif
    return 0;
}

_Noreturn static void become_guardian(const struct output *output, const struct holding *holding,
                                      uint32_t margin_ms, int orders, int reports)
{
    struct guard guard = {
        .output = output, .program = holding->program, .orders = orders, .reports = reports,
        .timer = -1
    };
    int error = prepare_guard(&guard);

    assert(holding->program && orders >= 0 && reports >= 0);
    guard.ward.is_all_below = true;
    guard.ward.grace_ms = holding->grace_ms;
    guard.ward.margin_ms = margin_ms;
    tell(&guard, (struct report){ .kind = REPORT_READY, .number = error });
    if (error) _exit(EXIT_TROUBLE);
    stand_guard(&guard);
}

/* ---- In redlock ---- */

static void note_report(struct guardian *guardian, const struct report *report)
{
    struct ward *ward = &guardian->ward;

    assert(report->kind <= REPORT_GONE);
    switch (report->kind) {
    case REPORT_READY:   break;
    case REPORT_BEGUN:   ward->child.pid = report->pid; break;
    case REPORT_STOPPED: ward->child.stopped_by = report->number; break;
    case REPORT_ENDING:  ward->is_ending = true; break;
    case REPORT_GONE:    guardian->is_gone = true; break;
    case REPORT_RUNS:
        guardian->has_started = true;
        guardian->start_error = report->number;
        break;
    case REPORT_ENDED:
        ward->child.has_ended = true;
        ward->child.status = report->number;
        break;
    case REPORT_REFUSED:
        guardian->refused_signal = report->signal;
        guardian->refused_error = report->number;
        break;
    }
}

/* A guardian that sleeps guards nothing. Orphans come to this process where it is the first of its
 * namespace, or the guardian was killed. */
static void look_after_guardian(struct guardian *guardian)
{
    pid_t pid;
    int status;

    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != guardian->pid) child_take(&guardian->ward.child, pid, status);
        else if (WIFSTOPPED(status)) (void)kill(pid, SIGCONT);
        else guardian->pid = 0;
    }
}

/* Waits for the first report. Returns its errno, or that of its not coming. */
static int await_report(struct guardian *guardian)
{
    struct pollfd fd = { .fd = guardian->reports, .events = POLLIN };
    struct report report;
    int taken;

    assert(guardian->pid > 0);
    while ((taken = take_message(guardian->reports, &report, sizeof report)) < 0) {
        (void)poll(&fd, 1, 100);
        look_after_guardian(guardian);
    }
    return taken == 0 ? ESRCH : report.number;
}

static int open_pipes(int orders[2], int reports[2])
{
    int error;

    if (!open_pipe(orders)) return errno;
    if (open_pipe(reports)) return 0;
    error = errno;
    (void)close(orders[0]);
    (void)close(orders[1]);
    return error;
}

/* What this process began before, as a shell does that became redlock, is no part
 * of the command. */
static bool has_children(void)
{
    pid_t pid;

    return tree_list(&pid, 1) > 0;
}

int guardian_start(struct guardian *guardian, struct settings *settings,
                   const struct holding *holding, uint32_t margin_ms)
{
    int orders[2] = { -1, -1 }, reports[2] = { -1, -1 }, error = open_pipes(orders, reports);

    assert(holding->program && holding->program[0]);
    if (error) return error;
    *guardian = (struct guardian){ .orders = orders[1], .reports = reports[0] };
    guardian->ward = (struct ward){
        .is_all_below = !has_children(), .grace_ms = holding->grace_ms, .margin_ms = margin_ms
    };
    guardian->pid = fork();
    error = guardian->pid < 0 ? errno : 0;
    if (guardian->pid == 0) {
        (void)close(orders[1]);
        (void)close(reports[0]);
        settings_wipe_secrets(settings);
        if (holding->given) settings_wipe_secrets(holding->given);
        become_guardian(&settings->output, holding, margin_ms, orders[0], reports[1]);
    }
    (void)close(orders[0]);
    (void)close(reports[1]);
    if (!error) error = await_report(guardian);
    tree_adopt_orphans();
    if (error) guardian_close(guardian);
    return error;
}

static bool give_order(const struct guardian *guardian, const struct order *order)
{
    return send_message(guardian->orders, order, sizeof *order);
}

void guardian_set(struct guardian *guardian, const char *format, ...)
{
    struct order order = { .kind = ORDER_SET };
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = print_text_list(order.text, sizeof order.text, format, arguments);
    va_end(arguments);
    assert(strchr(order.text, '='));
    if (size < (int)sizeof order.text) (void)give_order(guardian, &order);
}

bool guardian_run(struct guardian *guardian, uint64_t valid_until)
{
    struct order order = { .kind = ORDER_RUN, .valid_until = valid_until };

    assert(!guardian->has_started);
    guardian->ward.valid_until = valid_until;
    return give_order(guardian, &order);
}

/* (If the pipe is full, the guardian has been stopped for long, and acts on an end that
 * is too early.) */
void guardian_extend(struct guardian *guardian, uint64_t valid_until)
{
    struct order order = { .kind = ORDER_VALID, .valid_until = valid_until };

    guardian->ward.valid_until = valid_until;
    (void)give_order(guardian, &order);
}

static void note_refusal(struct guardian *guardian, int number, int error)
{
    assert(number > 0);
    if (!error) return;
    guardian->refused_signal = number;
    guardian->refused_error = error;
}

void guardian_signal(struct guardian *guardian, int number)
{
    struct order order = { .kind = ORDER_SIGNAL, .number = number };

    assert(number > 0);
    if (guardian->was_killed)
        note_refusal(guardian, number, child_signal(&guardian->ward.child, number));
    else                      (void)give_order(guardian, &order);
}

void guardian_end(struct guardian *guardian)
{
    struct order order = { .kind = ORDER_END };

    if (!guardian->was_killed) (void)give_order(guardian, &order);
    else if (!guardian->ward.is_ending)
        note_refusal(guardian, SIGTERM, ward_end(&guardian->ward, redlock_now_us()));
}

/* Whatever the guardian has begun is begun again. */
static void take_over(struct guardian *guardian)
{
    assert(!guardian->was_killed);
    (void)close(guardian->reports);
    guardian->reports = -1;
    guardian->was_killed = true;
    /* It may have begun: then it is below this process. */
    guardian->ward.child.has_ended |= guardian->ward.child.pid == 0;
    guardian->ward.is_ending = false;
    guardian_end(guardian);
}

void guardian_look(struct guardian *guardian)
{
    struct report report;
    int taken = -1;

    while (!guardian->was_killed &&
           (taken = take_message(guardian->reports, &report, sizeof report)) > 0)
        note_report(guardian, &report);
    look_after_guardian(guardian);
    if (taken == 0 && !guardian->is_gone) take_over(guardian);
    if (!guardian->was_killed) return;
    ward_judge(&guardian->ward, redlock_now_us());
    guardian->is_gone = ward_is_gone(&guardian->ward, redlock_now_us());
}

uint64_t guardian_next(const struct guardian *guardian, uint64_t now_us)
{
    return guardian->was_killed ? ward_next(&guardian->ward, now_us) : REDLOCK_NEVER;
}

void guardian_close(struct guardian *guardian)
{
    (void)close(guardian->orders);
    if (guardian->reports >= 0) (void)close(guardian->reports);
    if (guardian->pid <= 0) return;
    (void)kill(guardian->pid, SIGCONT);
    while (waitpid(guardian->pid, NULL, 0) < 0 && errno == EINTR) { }
}
