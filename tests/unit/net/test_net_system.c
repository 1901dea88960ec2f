/* The clock and its readers, on a machine that sleeps, on one that cannot tell the time, and with a
 * made-up time. The system's own calls are stood in for, for the thread that says so. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../../../net/redlock_net.h"
#include "../../../redlock/redlock_keeper.h"
#include "../../tap.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && \
    defined(__LP64__) /* Elsewhere the calls have other names, or the kernel other structures. */

enum { SECOND_US = 1000000, HOUR_S = 3600 };

struct machine {
    bool stands_in, is_broken;
    uint64_t awake_us, asleep_us;   /* How long it has been either. */
    unsigned poll_early_us;         /* poll's clock is so much ahead. */
    unsigned polls, vain_polls;     /* Vain: for no time at all. */
};

static _Thread_local struct machine machine;

static struct timespec moment(uint64_t us)
{
    return (struct timespec){ .tv_sec = (time_t)(us / SECOND_US),
                              .tv_nsec = (long)(us % SECOND_US) * 1000 };
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (!machine.stands_in) return (int)syscall(SYS_clock_gettime, id, now);
    if (machine.is_broken) {
        errno = EINVAL;
        return -1;
    }
    *now = moment(machine.awake_us + (id == CLOCK_BOOTTIME ? machine.asleep_us : 0));
    return 0;
}

int poll(struct pollfd *fds, nfds_t count, int ms)
{
    struct timespec limit = moment(ms > 0 ? (uint64_t)ms * 1000 : 0);

    if (!machine.stands_in) return ppoll(fds, count, ms < 0 ? NULL : &limit, NULL);
    machine.polls++;
    if (ms == 0) machine.vain_polls++;
    machine.awake_us += ms > 0 ? (uint64_t)ms * 1000 - machine.poll_early_us : 1;
    return 0;
}

static void stand_in(void)
{
    machine = (struct machine){ .stands_in = true, .awake_us = 1000 * (uint64_t)SECOND_US };
}

static void stand_back(void)
{
    machine.stands_in = false;
}

/* ---- The clock ---- */

TEST(time_goes_on_while_the_machine_sleeps)
{
    stand_in();
    uint64_t before = net_now_us();
    machine.asleep_us += HOUR_S * (uint64_t)SECOND_US;
    uint64_t behind = net_now_us();
    stand_back();
    CHECK_INT(behind - before, HOUR_S * (uint64_t)SECOND_US);
}

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

enum { IS_SO, IS_NOT_SO, CANNOT_TELL };

/* Runs in a namespace in which this machine has slept for a day, by the kernel's own word. */
static int ask_the_kernel(uint64_t before_us)
{
    int status = 0;
    FILE *offsets;

    if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0)
        return CANNOT_TELL;
    offsets = fopen("/proc/self/timens_offsets", "w");
    if (!offsets) return CANNOT_TELL;
    if (fputs("boottime 86400 0\n", offsets) < 0 || fclose(offsets) != 0) return CANNOT_TELL;
    pid_t child = fork();   /* The child is the first in there. */
    if (child == 0)
        _exit(net_now_us() >= before_us + 24 * HOUR_S * (uint64_t)SECOND_US ? IS_SO : IS_NOT_SO);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return CANNOT_TELL;
    return WEXITSTATUS(status);
}

TEST(time_has_gone_on_on_a_machine_that_the_kernel_says_has_slept)
{
    uint64_t before = net_now_us();
    int status = 0;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(ask_the_kernel(before));
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    if (WEXITSTATUS(status) == CANNOT_TELL) TAP_SKIP("no namespace for time may be made here");
    CHECK_INT(WEXITSTATUS(status), IS_SO);
}

/* S10: time that nobody can tell has run out. */
TEST(s10_a_clock_that_cannot_be_read_says_that_all_is_over)
{
    struct redlock_lock lock;
    uint64_t now, wall;
    uint32_t valid_ms, before_ms;

    redlock_lock_init(&lock);
    stand_in();
    lock.valid_from = 1;
    lock.valid_until = UINT64_MAX;
    before_ms = redlock_valid_ms(&lock);
    machine.is_broken = true;
    now = net_now_us();
    wall = net_wall_us();
    valid_ms = redlock_valid_ms(&lock);
    stand_back();
    CHECK(now == UINT64_MAX);
    CHECK_INT(wall, 0);                 /* A clock of 0 gives no ticket. */
    CHECK(before_ms > 0);
    CHECK_INT(valid_ms, 0);
}

/* ---- Waiting ---- */

/* Returns whether poll was stood in for, since a library may call it by another name. */
static bool wait_for(uint64_t us, unsigned early_us, uint64_t *took_us)
{
    stand_in();
    machine.poll_early_us = early_us;
    uint64_t before = net_now_us();
    net_wait(NULL, 0, before + us);
    *took_us = net_now_us() - before;
    stand_back();
    return machine.polls > 0;
}

TEST(a_wait_is_rounded_up_and_asks_for_no_time_never)
{
    for (uint64_t us = 1; us < 5000; us += 37) {
        uint64_t took_us;
        TAP_CONTEXT("%u us", (unsigned)us);
        if (!wait_for(us, 0, &took_us)) TAP_SKIP("poll is called by another name");
        CHECK_INT(machine.vain_polls, 0);
        CHECK_INT(machine.polls, 1);
        CHECK(took_us >= us && took_us < us + 1000);
    }
}

TEST(a_wait_that_poll_ends_early_goes_on)
{
    for (uint64_t us = 1; us < 5000; us += 37) {
        uint64_t took_us;
        TAP_CONTEXT("%u us", (unsigned)us);
        if (!wait_for(us, 400, &took_us)) TAP_SKIP("poll is called by another name");
        CHECK_INT(machine.vain_polls, 0);
        CHECK(took_us >= us && took_us < us + 1000);
    }
}

TEST(a_wait_until_now_only_looks)
{
    uint64_t took_us;
    if (!wait_for(0, 0, &took_us)) TAP_SKIP("poll is called by another name");
    CHECK_INT(machine.polls, 1);
    CHECK_INT(machine.vain_polls, 1);
}

/* poll() does not count the time for which the machine sleeps. */
TEST(a_long_wait_looks_at_the_clock_each_second)
{
    uint64_t took_us;
    if (!wait_for(3 * SECOND_US, 0, &took_us)) TAP_SKIP("poll is called by another name");
    CHECK_INT(machine.polls, 3);
    CHECK_INT(took_us, 3 * SECOND_US);
}

/* The client has something to do in so many microseconds. How long may a loop sleep? */
static int sleep_before(uint64_t us)
{
    static struct redlock_client c;
    int ms = -2;

    stand_in();
    if (redlock_open(&c, "127.0.0.1:1", NULL, NULL) == REDLOCK_OK) {
        c.nodes[0].alarm_at = redlock_now_us() + us;
        ms = redlock_poll_ms(&c);
        redlock_close(&c, 0);
    }
    stand_back();
    return ms;
}

TEST(what_a_loop_may_sleep_is_rounded_up_and_a_second_at_most)
{
    CHECK_INT(sleep_before(0), 0);
    CHECK_INT(sleep_before(1), 1);
    CHECK_INT(sleep_before(999), 1);
    CHECK_INT(sleep_before(1000), 1);
    CHECK_INT(sleep_before(1001), 2);
    CHECK_INT(sleep_before(999001), 1000);
    CHECK_INT(sleep_before(1000001), 1000);
    CHECK_INT(sleep_before(86400000), 1000);
}

/* ---- A lock whose keeper has not looked at the clock ---- */

TEST(s10_a_kept_lock_is_lost_when_its_time_is_over_though_nobody_has_said_so)
{
    static struct redlock_keeper keeper;
    struct redlock_kept kept;
    enum redlock_status held, ended, unknown;

    CHECK_INT(redlock_keeper_start(&keeper, "127.0.0.1:1", NULL, NULL), REDLOCK_OK);
    redlock_kept_init(&kept);
    stand_in();
    kept.lock.status = REDLOCK_OK;
    kept.lock.valid_from = redlock_now_us();
    kept.lock.valid_until = redlock_now_us() + SECOND_US;
    held = redlock_view_kept(&keeper, &kept).status;
    machine.is_broken = true;
    unknown = redlock_view_kept(&keeper, &kept).status;
    machine.is_broken = false;
    machine.asleep_us += SECOND_US;
    ended = redlock_view_kept(&keeper, &kept).status;
    stand_back();
    redlock_keeper_stop(&keeper, false, 0);
    CHECK_INT(held, REDLOCK_OK);
    CHECK_INT(ended, REDLOCK_LOST);
    CHECK_INT(unknown, REDLOCK_LOST);
}

#else

TEST(time_goes_on_while_the_machine_sleeps)
{
    TAP_SKIP("the system's calls cannot be stood in for here");
}

#endif

TAP_MAIN
