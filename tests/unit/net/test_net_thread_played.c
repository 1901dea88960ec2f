/* Monitors and threads over a system that this test plays. It refuses, and counts what it has given
 * and what it gets back. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../../../net/redlock_thread.h"
#include "../../tap.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

/* ---- The system ---- */

static struct {
    /* The errno of each that fails. */
    int mutex_error, condition_error, mask_error, thread_error;
    int mutexes, conditions, locks, threads;                      /* Given, and not yet back. */
    bool was_bad;             /* Something came back that was not given, or twice. */
    bool had_no_signals;      /* The last thread. */
} played;

static void play(void)
{
    memset(&played, 0, sizeof played);
}

/* Nothing is given if there is an error. */
static int give(const void *it, int error, int *count)
{
    (void)it;
    *count += error == 0;
    return error;
}

static int take_back(const void *it, int *count)
{
    (void)it;
    played.was_bad |= *count < 1;
    --*count;
    return 0;
}

static int play_mask(int how, const sigset_t *set, sigset_t *before)
{
    return played.mask_error != 0 ? played.mask_error : pthread_sigmask(how, set, before);
}

/* The thread has done all when it seems to be created. */
static int play_create(pthread_t *id, void *(*body)(void *), void *context)
{
    sigset_t mask;
    if (give(id, played.thread_error, &played.threads) != 0) return played.thread_error;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    played.had_no_signals = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1 &&
                            sigismember(&mask, SIGPIPE) == 1;
    *id = pthread_self();
    (void)body(context);
    return 0;
}

#define pthread_mutex_init(mutex, attributes) give(mutex, played.mutex_error, &played.mutexes)
#define pthread_mutex_destroy(mutex) take_back(mutex, &played.mutexes)
#define pthread_cond_init(told, attributes) give(told, played.condition_error, &played.conditions)
#define pthread_cond_destroy(told) take_back(told, &played.conditions)
#define pthread_mutex_lock(mutex) give(mutex, 0, &played.locks)
#define pthread_mutex_unlock(mutex) take_back(mutex, &played.locks)
#define pthread_sigmask(how, set, before) play_mask(how, set, before)
#define pthread_create(id, attributes, body, context) play_create(id, body, context)
#define pthread_join(id, result) take_back(&(id), &played.threads)

#include "../../../net/net_thread.c"

/* ---- Monitors ---- */

static struct net_monitor monitor;

static bool is_all_back(void)
{
    return played.mutexes == 0 && played.conditions == 0 && played.threads == 0 && !played.was_bad;
}

TEST(a_monitor_that_cannot_be_opened_leaves_nothing_behind)
{
    play();
    played.mutex_error = EAGAIN;
    CHECK(!net_monitor_open(&monitor));
    CHECK(is_all_back());
    play();
    played.condition_error = ENOMEM;
    CHECK(!net_monitor_open(&monitor));
    CHECK(is_all_back());
}

TEST(a_monitor_is_entered_left_and_closed_once)
{
    play();
    CHECK(net_monitor_open(&monitor));
    CHECK(played.mutexes == 1 && played.conditions == 1);
    net_monitor_enter(&monitor);
    CHECK_INT(played.locks, 1);
    net_monitor_leave(&monitor);
    CHECK_INT(played.locks, 0);
    net_monitor_close(&monitor);
    CHECK(is_all_back());
}

/* ---- Threads ---- */

static void *count(void *context)
{
    ++*(int *)context;
    return NULL;
}

/* The mask on the stack would block no signals then. */
static void clear_stack(void)
{
    volatile unsigned char bytes[4096];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = 0;
}

TEST(a_thread_takes_no_signals_whatever_was_on_the_stack_and_is_joined_once)
{
    struct net_thread thread;
    int runs = 0;
    play();
    clear_stack();
    CHECK(net_thread_start(&thread, count, &runs));
    CHECK(played.had_no_signals);
    CHECK_INT(runs, 1);
    net_thread_join(&thread);
    CHECK(is_all_back());
}

TEST(a_thread_that_does_not_start_is_said_and_none_starts_that_would_take_signals)
{
    struct net_thread thread;
    int runs = 0;
    play();
    played.thread_error = EAGAIN;
    CHECK(!net_thread_start(&thread, count, &runs));
    play();
    played.mask_error = EINVAL;
    CHECK(!net_thread_start(&thread, count, &runs));
    CHECK_INT(runs, 0);
    CHECK(is_all_back());
}

TAP_MAIN
