/* Look-ups over a system that this test plays. It refuses, and counts what it has given and what it
 * gets back. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../../../net/redlock_net.h"
#include "../../tap.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- The system ---- */

static struct {
    int pair_error, thread_error, attributes_error;    /* The errno of each that fails. */
    int descriptors, attributes;                       /* Given, and not yet back. */
    bool was_bad;               /* Something came back that was not given, or twice. */
    bool was_detached, had_no_signals;                 /* The last thread's. */
    size_t stack_size;
} played;

static void play(void)
{
    memset(&played, 0, sizeof played);
    errno = 0;
}

static int fail(int error)
{
    errno = error;
    return -1;
}

static int play_socketpair(int family, int type, int protocol, int ends[2])
{
    ends[0] = ends[1] = INT_MAX;    /* It was there before, and is no descriptor. */
    if (played.pair_error != 0) return fail(played.pair_error);
    played.descriptors += 2;
    return socketpair(family, type, protocol, ends);
}

static void play_close(int fd)
{
    if (fd < 0) return;
    played.descriptors--;
    played.was_bad |= close(fd) != 0;
}

static int play_attr_init(pthread_attr_t *attributes)
{
    if (played.attributes_error != 0) return played.attributes_error;
    played.attributes++;
    return pthread_attr_init(attributes);
}

static int play_attr_destroy(pthread_attr_t *attributes)
{
    played.was_bad |= played.attributes < 1;
    return --played.attributes == 0 ? pthread_attr_destroy(attributes) : 0;
}

static bool are_all_blocked(void)
{
    sigset_t mask;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1 &&
           sigismember(&mask, SIGPIPE) == 1;
}

/* The thread has done all when it seems to be created. */
static int play_create(pthread_t *id, const pthread_attr_t *attributes, void *(*body)(void *),
                       void *context)
{
    int state = PTHREAD_CREATE_JOINABLE;
    if (played.thread_error != 0) return played.thread_error;
    if (attributes) (void)pthread_attr_getdetachstate(attributes, &state);
    if (attributes) (void)pthread_attr_getstacksize(attributes, &played.stack_size);
    played.was_detached = state == PTHREAD_CREATE_DETACHED;
    played.had_no_signals = are_all_blocked();
    *id = pthread_self();
    (void)body(context);
    return 0;
}

#define socketpair(family, type, protocol, ends) play_socketpair(family, type, protocol, ends)
#define net_close(fd) play_close(fd)
#define pthread_attr_init(attributes) play_attr_init(attributes)
#define pthread_attr_destroy(attributes) play_attr_destroy(attributes)
#define pthread_create(id, attributes, body, context) play_create(id, attributes, body, context)

#include "../../../net/net_resolve.c"

/* ---- Look-ups ---- */

/* A number needs no name server, wherever it is looked up. */
static const struct net_address some_host = { .kind = NET_TCP, .port = 6379, .host = "127.0.0.1" };

TEST(the_thread_of_a_look_up_is_small_takes_no_signals_and_ends_by_itself)
{
    struct net_resolved resolved;
    play();
    const int fd = net_resolve_begin(&some_host, &resolved);
    CHECK(fd >= 0);
    CHECK(played.was_detached && played.had_no_signals);
    CHECK_INT(played.stack_size, 512 * 1024);
    CHECK(net_resolve_end(fd, &resolved));
    CHECK_INT(resolved.code, 0);
    net_close(fd);
    CHECK(played.descriptors == 0 && played.attributes == 0 && !played.was_bad);
}

TEST(whoever_begins_a_look_up_keeps_its_own_signals)
{
    struct net_resolved resolved;
    sigset_t one, before, after;
    play();
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGUSR2);
    (void)pthread_sigmask(SIG_SETMASK, &one, &before);
    net_close(net_resolve_begin(&some_host, &resolved));
    (void)pthread_sigmask(SIG_SETMASK, &before, &after);
    CHECK_INT(sigismember(&after, SIGUSR2), 1);
    CHECK_INT(sigismember(&after, SIGUSR1), 0);
    CHECK_INT(sigismember(&after, SIGTERM), 0);
}

/* Begins a look-up that the system has no room for. */
static const char *why_no_look_up(void)
{
    struct net_resolved resolved;
    memset(&resolved, 0xff, sizeof resolved);
    const int fd = net_resolve_begin(&some_host, &resolved);
    const bool is_clean = played.descriptors == 0 && played.attributes == 0 && !played.was_bad;
    if (fd != -1 || resolved.count != 0) return "it has begun";
    return is_clean ? net_resolve_text(resolved.code) : "it has left something behind";
}

TEST(a_look_up_that_cannot_begin_leaves_nothing_behind_and_says_why)
{
    play();
    played.pair_error = ENFILE;
    CHECK_STR(why_no_look_up(), net_error_text(ENFILE));
    play();
    played.thread_error = EAGAIN;
    CHECK_STR(why_no_look_up(), "no thread can be started to look up its name");
    play();
    played.attributes_error = ENOMEM;
    CHECK_STR(why_no_look_up(), "no thread can be started to look up its name");
}

TEST(an_answer_that_can_never_be_read_is_a_failure_whatever_went_wrong_before)
{
    struct net_resolved resolved;
    int ends[2];
    play();
    CHECK(net_resolve_end(-1, &resolved));
    CHECK(resolved.code != 0 && resolved.count == 0);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    net_close(ends[1]);
    errno = EAGAIN;
    CHECK(net_resolve_end(ends[0], &resolved));
    CHECK(resolved.code != 0 && resolved.count == 0);
    net_close(ends[0]);
}

TAP_MAIN
