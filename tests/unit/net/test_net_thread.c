/* Tests net/net_thread.c by itself, for the properties that the keeper counts on. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../../../net/redlock_thread.h"
#include "../../tap.h"

#include <pthread.h>
#include <signal.h>

static void *look_at_mask(void *context)
{
    (void)pthread_sigmask(SIG_SETMASK, NULL, context);
    return NULL;
}

TEST(a_thread_takes_no_signals_and_leaves_those_of_whoever_begins_it_alone)
{
    static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE };
    struct net_thread thread;
    sigset_t inside, own;
    sigemptyset(&inside);
    CHECK(net_thread_start(&thread, look_at_mask, &inside));
    net_thread_join(&thread);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &own);
    for (unsigned i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        CHECK_INT(sigismember(&inside, signals[i]), 1);
        CHECK_INT(sigismember(&own, signals[i]), 0);
    }
}

static struct net_monitor monitor;
static int turn;

static void *takes_turns(void *unused)
{
    net_monitor_enter(&monitor);
    while (turn < 10) {
        if (turn % 2 == 1) turn++, net_monitor_tell(&monitor);
        else net_monitor_wait(&monitor);
    }
    net_monitor_leave(&monitor);
    return unused;
}

TEST(two_threads_take_turns_by_telling_each_other)
{
    struct net_thread thread;
    CHECK(net_monitor_open(&monitor));
    CHECK(net_thread_start(&thread, takes_turns, NULL));
    net_monitor_enter(&monitor);
    while (turn < 10) {
        if (turn % 2 == 0) turn++, net_monitor_tell(&monitor);
        else net_monitor_wait(&monitor);
    }
    net_monitor_leave(&monitor);
    net_thread_join(&thread);
    net_monitor_close(&monitor);
    CHECK_INT(turn, 10);
}

TAP_MAIN
