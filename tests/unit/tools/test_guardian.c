/* The guardian's own decisions, by a made-up clock and command. A command begins within the
 * validity, or never (S19). */
#define _GNU_SOURCE
#include <stdint.h>

static uint64_t scripted_now_us(void);
#define redlock_now_us scripted_now_us
#include "../../../tools/redlock/descriptors.c"
#include "../../../tools/redlock/environment.c"
#include "../../../tools/redlock/print.c"
#include "../../../tools/redlock/guardian.c"
#undef redlock_now_us

#include "../../tap.h"

enum { SECOND = 1000000, COMMAND = 100 };

static uint64_t now_us;
static unsigned begun;          /* Commands. */
static int exec_error;          /* EAGAIN: it is not known yet. */

static uint64_t scripted_now_us(void)
{
    return now_us;
}

/* ---- What the guardian calls ---- */

int child_prepare(struct child *child)
{
    *child = (struct child){ 0 };
    return 0;
}

int child_start(struct child *child, char **program)
{
    (void)program;
    child->pid = COMMAND;
    begun++;
    return 0;
}

bool child_has_started(struct child *child, int *error)
{
    (void)child;
    *error = exec_error;
    return exec_error != EAGAIN;
}

void child_take(struct child *child, pid_t pid, int status)
{
    (void)child;
    (void)pid;
    (void)status;
}

void child_look(struct child *child)
{
    (void)child;
}

int child_signal(const struct child *child, int number)
{
    (void)child;
    (void)number;
    return 0;
}

int ward_end(struct ward *ward, uint64_t at_us)
{
    (void)at_us;
    ward->is_ending = true;
    return 0;
}

void ward_judge(struct ward *ward, uint64_t at_us)
{
    if (at_us >= ward->valid_until) ward->is_ending = true;
}

uint64_t ward_next(const struct ward *ward, uint64_t at_us)
{
    (void)at_us;
    return ward->valid_until;
}

bool ward_is_gone(struct ward *ward, uint64_t at_us)
{
    (void)at_us;
    return ward->child.has_ended;
}

bool signals_open(void) { return true; }
void signals_catch_more(void) { }
int signals_fd(void) { return -1; }
int signals_next(void) { return 0; }
void tree_adopt_orphans(void) { }

size_t tree_list(pid_t pids[], size_t max)
{
    (void)pids;
    (void)max;
    return 0;
}

void settings_wipe_secrets(struct settings *settings)
{
    memset(settings->password, 0, sizeof settings->password);
}

void log_killed(const struct output *output, uint32_t valid_ms)
{
    (void)output;
    (void)valid_ms;
}

void say_of_resource(const char *format, ...)
{
    (void)format;
}

/* ---- The rules ---- */

/* A guardian whose reports the test reads at *told. */
static struct guard make_guard(int *told)
{
    static struct output output;
    int ends[2];

    begun = 0;
    exec_error = EAGAIN;
    if (!open_pipe(ends)) abort();
    *told = ends[0];
    return (struct guard){ .output = &output, .orders = -1, .reports = ends[1], .timer = -1 };
}

static struct report next_report(int told)
{
    struct report report = { .number = -1 };

    if (take_message(told, &report, sizeof report) <= 0) report.number = -1;
    return report;
}

static void close_guard(const struct guard *guard, int told)
{
    (void)close(guard->reports);
    (void)close(told);
}

TEST(s19_a_command_begins_within_the_validity_or_never)
{
    for (uint64_t late = 0; late <= 2; late++) {
        int told;
        struct guard guard = make_guard(&told);
        struct report report;

        now_us = 9 * SECOND + late;
        obey(&guard, &(struct order){ .kind = ORDER_RUN, .valid_until = 9 * SECOND + 1 });
        report = next_report(told);
        CHECK_INT(begun, late == 0);
        CHECK_INT(report.kind, late == 0 ? REPORT_BEGUN : REPORT_RUNS);
        CHECK_INT(report.number, late == 0 ? 0 : ECANCELED);
        CHECK_INT(guard.has_begun, late == 0);
        close_guard(&guard, told);
    }
}

TEST(s28_a_start_that_waits_is_looked_after_like_a_command_that_runs)
{
    int told;
    struct guard guard = make_guard(&told);

    now_us = 1 * SECOND;
    obey(&guard, &(struct order){ .kind = ORDER_RUN, .valid_until = 3 * SECOND });
    CHECK_INT(next_report(told).pid, COMMAND);
    obey(&guard, &(struct order){ .kind = ORDER_VALID, .valid_until = 5 * SECOND });
    now_us = 4 * SECOND;
    look_after_command(&guard);
    CHECK(!guard.ward.is_ending);
    now_us = 5 * SECOND;
    look_after_command(&guard);
    CHECK(guard.ward.is_ending);
    CHECK_INT(next_report(told).kind, REPORT_ENDING);
    exec_error = 0;
    look_after_command(&guard);
    CHECK_INT(next_report(told).kind, REPORT_RUNS);
    close_guard(&guard, told);
}

TEST(what_cannot_be_executed_is_told_by_its_errno)
{
    int told;
    struct guard guard = make_guard(&told);

    now_us = 1 * SECOND;
    obey(&guard, &(struct order){ .kind = ORDER_RUN, .valid_until = 3 * SECOND });
    CHECK_INT(next_report(told).kind, REPORT_BEGUN);
    exec_error = ENOENT;
    look_after_command(&guard);
    CHECK_INT(next_report(told).number, ENOENT);
    CHECK(!guard.has_begun);
    close_guard(&guard, told);
}

TAP_MAIN
