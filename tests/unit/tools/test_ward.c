/* The guardian of redlock run ends its processes before the validity ends (S19), whoever they are
 * and however late they are known. Time and processes are made up here. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

static int scripted_kill(pid_t pid, int number);
static pid_t scripted_getpgid(pid_t pid);
#define kill scripted_kill
#define getpgid scripted_getpgid
#include "../../../tools/redlock/ward.c"
#undef kill
#undef getpgid

#include "../../tap.h"

enum { COMMAND = 100, DAEMON = 300, SECOND = 1000000 };

static bool group_lives;
static size_t below;            /* Processes: the command, one in its group, a daemon. */
static int refusal;             /* The errno of signals to the group. */
static char said[256];          /* "group TERM, 300 TERM, ..." */

static const char *name_of(int number)
{
    return number == SIGTERM   ? "TERM"
           : number == SIGCONT ? "CONT"
           : number == SIGKILL ? "KILL"
                               : "?";
}

static void note(const char *who, int number)
{
    size_t used = strlen(said);

    (void)snprintf(said + used, sizeof said - used, "%s%s %s", used > 0 ? ", " : "", who,
                   name_of(number));
}

static int scripted_kill(pid_t pid, int number)
{
    char who[16];

    (void)snprintf(who, sizeof who, "%d", (int)pid);
    note(who, number);
    return 0;
}

static pid_t scripted_getpgid(pid_t pid)
{
    return pid < DAEMON ? COMMAND : pid;
}

int child_signal(const struct child *child, int number)
{
    (void)child;
    note("group", number);
    return refusal;
}

bool child_group_lives(struct child *child)
{
    (void)child;
    return group_lives;
}

size_t tree_list(pid_t pids[], size_t max)
{
    static const pid_t all[] = { COMMAND, COMMAND + 1, DAEMON };
    size_t count = below < max ? below : max;

    for (size_t i = 0; i < count; i++) pids[i] = all[sizeof all / sizeof all[0] - below + i];
    return count;
}

/* Valid until 10 s, with a grace of 2 s and a margin of 100 ms. */
static struct ward begin(void)
{
    group_lives = true;
    below = 3;
    refusal = 0;
    said[0] = '\0';
    return (struct ward){ .child = { .pid = COMMAND },
                          .is_all_below = true,
                          .grace_ms = 2000,
                          .margin_ms = 100,
                          .valid_until = 10 * SECOND };
}

static const char *look_at(struct ward *ward, uint64_t now_us)
{
    said[0] = '\0';
    ward_judge(ward, now_us);
    return said;
}

TEST(s19_sigterm_comes_a_grace_and_sigkill_a_margin_before_the_end)
{
    struct ward ward = begin();

    CHECK_INT(ward_next(&ward, 0), 7900000);
    CHECK_STR(look_at(&ward, 7899999), "");
    CHECK_STR(look_at(&ward, 7900000), "group TERM, 300 TERM, group CONT, 300 CONT");
    CHECK_INT(ward_next(&ward, 7900000), 9900000);
    CHECK_STR(look_at(&ward, 9899999), "");
    CHECK_STR(look_at(&ward, 9900000), "group KILL, 300 KILL");
}

TEST(s19_a_new_end_that_is_told_counts_and_an_ending_that_has_begun_goes_on)
{
    struct ward ward = begin();

    ward.valid_until = 20 * SECOND;
    CHECK_STR(look_at(&ward, 17899999), "");
    CHECK_INT(ward_next(&ward, 0), 17900000);
    CHECK_STR(look_at(&ward, 17900000), "group TERM, 300 TERM, group CONT, 300 CONT");
    ward.valid_until = 30 * SECOND;
    CHECK_STR(look_at(&ward, 19900000), "group KILL, 300 KILL");
}

TEST(s19_what_is_known_too_late_is_killed_at_once)
{
    struct ward ward = begin();

    CHECK_STR(look_at(&ward, 60 * SECOND),
              "group TERM, 300 TERM, group CONT, 300 CONT, group KILL, 300 KILL");
}

TEST(s19_an_ending_that_is_asked_for_has_its_grace_within_the_validity)
{
    struct ward early = begin(), late = begin();

    CHECK_INT(ward_end(&early, SECOND), 0);
    CHECK_INT(ward_next(&early, SECOND), 3 * SECOND);
    CHECK_INT(ward_end(&late, 9 * SECOND), 0);
    CHECK_INT(ward_next(&late, 9 * SECOND), 9900000);
}

TEST(s19_it_is_killed_again_and_again_until_nothing_is_left)
{
    struct ward ward = begin();

    (void)ward_end(&ward, SECOND);
    CHECK_STR(look_at(&ward, 3 * SECOND), "group KILL, 300 KILL");
    CHECK_INT(ward_next(&ward, 3 * SECOND), 3005000);
    ward.child.has_ended = true;
    CHECK(!ward_is_gone(&ward, 3 * SECOND));
    group_lives = false;
    CHECK(!ward_is_gone(&ward, 3 * SECOND));
    below = 1;
    CHECK_STR(look_at(&ward, 3005000), "group KILL, 300 KILL");
    below = 0;
    CHECK(ward_is_gone(&ward, 3005000));
}

TEST(what_cannot_be_killed_is_waited_for_until_the_validity_ends_but_the_command_always)
{
    struct ward ward = begin();

    (void)ward_end(&ward, SECOND);
    (void)look_at(&ward, 3 * SECOND);
    CHECK(!ward_is_gone(&ward, 60 * SECOND));
    ward.child.has_ended = true;
    CHECK(!ward_is_gone(&ward, 10 * SECOND - 1));
    CHECK(ward_is_gone(&ward, 10 * SECOND));
}

TEST(what_ends_by_itself_may_leave_processes_behind)
{
    struct ward ward = begin();

    CHECK(!ward_is_gone(&ward, SECOND));
    ward.child.has_ended = true;
    CHECK(ward_is_gone(&ward, SECOND));
}

TEST(the_rest_of_a_command_that_ended_on_sigterm_is_looked_at_often_and_killed_in_time)
{
    struct ward ward = begin();

    (void)ward_end(&ward, SECOND);
    ward.child.has_ended = true;
    CHECK_INT(ward_next(&ward, SECOND), SECOND + 5000);
    CHECK_INT(ward_next(&ward, 2999999), 3 * SECOND);
    CHECK(!ward_is_gone(&ward, 2 * SECOND));
    CHECK_STR(look_at(&ward, 3 * SECOND), "group KILL, 300 KILL");
}

/* The list is empty if there is no /proc. */
TEST(what_is_not_listed_is_waited_for_until_the_validity_ends)
{
    struct ward ward = begin();

    (void)ward_end(&ward, SECOND);
    ward.child.has_ended = ward.child.has_siblings = true;
    group_lives = false;
    below = 0;
    (void)look_at(&ward, 3 * SECOND);
    CHECK(!ward_is_gone(&ward, 10 * SECOND - 1));
    CHECK(ward_is_gone(&ward, 10 * SECOND));
    ward.child.has_siblings = false;
    CHECK(ward_is_gone(&ward, 3 * SECOND));
}

TEST(where_other_processes_are_below_too_only_the_group_is_ended)
{
    struct ward ward = begin();

    ward.is_all_below = false;
    ward.child.has_siblings = true;
    CHECK_STR(look_at(&ward, 60 * SECOND), "group TERM, group CONT, group KILL");
    ward.child.has_ended = true;
    group_lives = false;
    CHECK(ward_is_gone(&ward, 9 * SECOND));
}

TEST(a_group_that_cannot_be_signalled_is_told)
{
    struct ward ward = begin();

    refusal = 1;
    CHECK_INT(ward_end(&ward, SECOND), 1);
}

TEST(a_validity_shorter_than_grace_and_margin_is_over_from_the_beginning)
{
    struct ward ward = begin();

    ward.valid_until = SECOND;
    CHECK_INT(ward_next(&ward, 0), 0);
    CHECK_STR(look_at(&ward, 0), "group TERM, 300 TERM, group CONT, 300 CONT");
    CHECK_INT(ward_next(&ward, 0), 900000);
}

TAP_MAIN
