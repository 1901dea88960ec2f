/* redlock_loop_epoll: a client in an epoll loop of Linux. The common contract of all adapters
 * is in redlock_loop.h.
 *
 *     redlock_loop_epoll_attach(&adapter, epoll_fd, data, &client, hook, context);
 *     ...
 *     count = epoll_wait(epoll_fd, events, ...);
 *     for each event that has this data: redlock_loop_epoll_dispatch(&adapter);
 *
 * Your set gets one descriptor, with data that you choose and for as long as the client is
 * attached, whatever becomes of connections. It stands for a set of the adapter's own, with the
 * sessions and a timer. The time that you give epoll_wait is therefore yours alone, and any loop
 * that can wait for a descriptor can wait for this one (redlock_loop_epoll_fd).
 *
 * Traps that are taken care of here:
 * - epoll forgets a closed descriptor only when no copy of it is left, and a child of fork() that
 *   lives on has copies. It then goes on reporting a connection that nobody can remove, for ever.
 *   Such a report is recognised by its number, and the adapter makes its set anew.
 * - A child that goes on to use your set changes the parent's, for both have the same one. Make
 *   another in the child; detach closes the child's copies of the adapter's descriptors, and leaves
 *   shared ones alone.
 *
 * It needs clocks of POSIX. With -std=c11 and the like define _POSIX_C_SOURCE 200809L, or
 * _GNU_SOURCE, before the first header. */
#ifndef REDLOCK_LOOP_EPOLL_H
#define REDLOCK_LOOP_EPOLL_H

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "redlock_loop.h"

#ifndef CLOCK_MONOTONIC
#error "redlock_loop_epoll.h: define _POSIX_C_SOURCE 200809L before the first header"
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { REDLOCK_LOOP_EPOLL_TIMER = 255 };    /* It replaces a session's number. */

/* Private, except loop. */
struct redlock_loop_epoll {
    struct redlock_loop loop;       /* It comes first, since an adapter is found by it. */
    int outer, inner, timer;        /* Your set, the sessions' set, and the timer in it. */
    epoll_data_t data;
    uint32_t watch_count;           /* Each watch has a number, */
    uint32_t numbers[REDLOCK_LOOP_SESSIONS];    /* so that a report of an older one is known. */
};

/* Private. */
static inline bool redlock_loop_epoll_add(int set, int fd, uint32_t events, epoll_data_t data)
{
    struct epoll_event event;

    event.events = events;
    event.data = data;
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Private. The set's mark of session k, whose low 8 bits are its number. */
static inline uint64_t redlock_loop_epoll_mark(const struct redlock_loop_epoll *adapter, unsigned k)
{
    return REDLOCK_LOOP_NUMBER(uint64_t, adapter->numbers[k]) << 8 | k;
}

/* Private. */
static inline bool redlock_loop_epoll_watch(struct redlock_loop *loop, unsigned k,
                                            struct redlock_loop_watch wanted)
{
    struct redlock_loop_epoll *adapter = REDLOCK_LOOP_CAST(struct redlock_loop_epoll *, loop);
    const int old = loop->watches[k].fd;
    struct epoll_event event;

    if (redlock_is_forked(loop->client)) return true;
    event.events = 0;
    if (wanted.events & REDLOCK_READ) event.events |= EPOLLIN;
    if (wanted.events & REDLOCK_WRITE) event.events |= EPOLLOUT;
    if (old >= 0 && old == wanted.fd) {
        event.data.u64 = redlock_loop_epoll_mark(adapter, k);
        if (epoll_ctl(adapter->inner, EPOLL_CTL_MOD, old, &event) == 0) return true;
    }
    /* Fails where it is closed, which is as good. */
    if (old >= 0) epoll_ctl(adapter->inner, EPOLL_CTL_DEL, old, &event);
    if (wanted.fd < 0) return true;
    adapter->numbers[k] = ++adapter->watch_count;
    event.data.u64 = redlock_loop_epoll_mark(adapter, k);
    return redlock_loop_epoll_add(adapter->inner, wanted.fd, event.events, event.data);
}

/* Private. Setting the timer also takes back that it has run out. 0 would stop it. */
static inline void redlock_loop_epoll_wake_in(struct redlock_loop *loop, int ms)
{
    struct itimerspec time;

    if (redlock_is_forked(loop->client)) return;
    memset(&time, 0, sizeof time);
    if (ms >= 0) time.it_value.tv_sec = ms / 1000;
    if (ms >= 0) time.it_value.tv_nsec = ms == 0 ? 1 : ms % 1000 * 1000000l;
    timerfd_settime(REDLOCK_LOOP_CAST(struct redlock_loop_epoll *, loop)->timer, 0, &time,
                    REDLOCK_LOOP_NULL);
}

/* Private. The clock of redlock counts suspend, too. */
static inline int redlock_loop_epoll_timer(void)
{
    int fd = -1;

#ifdef CLOCK_BOOTTIME
    fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
#endif
    return fd >= 0 ? fd : timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

/* Private. A set with the timer in it, which is in yours; or -1. */
static inline int redlock_loop_epoll_set(const struct redlock_loop_epoll *adapter)
{
    const int set = epoll_create1(EPOLL_CLOEXEC);
    epoll_data_t timer;

    timer.u64 = REDLOCK_LOOP_EPOLL_TIMER;
    if (set < 0) return -1;
    if (redlock_loop_epoll_add(set, adapter->timer, EPOLLIN, timer) &&
        (adapter->outer < 0 || redlock_loop_epoll_add(adapter->outer, set, EPOLLIN, adapter->data)))
        return set;
    close(set);
    return -1;
}

/* Private. Closes the set of the sessions. */
static inline void redlock_loop_epoll_drop_set(const struct redlock_loop_epoll *adapter,
                                               bool is_shared)
{
    struct epoll_event event;

    if (!is_shared && adapter->outer >= 0)
        epoll_ctl(adapter->outer, EPOLL_CTL_DEL, adapter->inner, &event);
    close(adapter->inner);
}

/* Private. The old set reports closed descriptors. Without another one that goes on, which costs
 * time and breaks nothing. */
static inline void redlock_loop_epoll_renew(struct redlock_loop_epoll *adapter)
{
    const int set = redlock_loop_epoll_set(adapter);
    unsigned k;

    if (set < 0) return;
    redlock_loop_epoll_drop_set(adapter, false);
    adapter->inner = set;
    for (k = 0; k < REDLOCK_LOOP_SESSIONS; k++) adapter->loop.watches[k].fd = -1;
}

/* Attaches the client to your set, in which it has this data. If epoll_fd is -1, it is in no set;
 * then wait until redlock_loop_epoll_fd is readable in any other way; it may be another descriptor
 * after each dispatch.
 * SYSTEM: no descriptors or no memory for that; nothing is attached. */
REDLOCK_MUST_CHECK
static inline enum redlock_status redlock_loop_epoll_attach(struct redlock_loop_epoll *adapter,
                                                            int epoll_fd, epoll_data_t data,
                                                            struct redlock_client *client,
                                                            redlock_loop_hook *hook, void *context)
{
    static const struct redlock_loop_calls calls = {
        redlock_loop_epoll_watch, redlock_loop_epoll_wake_in
    };

    memset(adapter, 0, sizeof *adapter);
    adapter->outer = epoll_fd;
    adapter->data = data;
    adapter->timer = redlock_loop_epoll_timer();
    if (adapter->timer < 0) return REDLOCK_SYSTEM;
    adapter->inner = redlock_loop_epoll_set(adapter);
    if (adapter->inner < 0) {
        close(adapter->timer);
        return REDLOCK_SYSTEM;
    }
    redlock_loop_begin(&adapter->loop, &calls, client, hook, context);
    return REDLOCK_OK;
}

/* Readable when redlock_loop_epoll_dispatch is to be called. */
static inline int redlock_loop_epoll_fd(const struct redlock_loop_epoll *adapter)
{
    return adapter->inner;
}

/* Call it when your set reports the data that the client was attached with. */
static inline void redlock_loop_epoll_dispatch(struct redlock_loop_epoll *adapter)
{
    struct epoll_event events[REDLOCK_LOOP_SESSIONS + 1];
    bool is_stale = false;
    unsigned ready = 0;
    int count, i;

    if (!adapter->loop.client || adapter->loop.is_gone) return;
    count = epoll_wait(adapter->inner, events, REDLOCK_LOOP_SESSIONS + 1, 0);
    for (i = 0; i < count; i++) {
        const unsigned k = events[i].data.u64 & 255;
        if (k == REDLOCK_LOOP_EPOLL_TIMER) continue;
        if (adapter->loop.watches[k].fd >= 0 &&
            events[i].data.u64 == redlock_loop_epoll_mark(adapter, k))
            ready |= 1u << k;
        else is_stale = true;
    }
    if (is_stale && !redlock_is_forked(adapter->loop.client)) redlock_loop_epoll_renew(adapter);
    redlock_loop_turn(&adapter->loop, ready);
}

/* May be called in the hook. Then adapter and client are the caller's; without a client that is
 * attached it does nothing. */
static inline void redlock_loop_epoll_detach(struct redlock_loop_epoll *adapter)
{
    const bool is_shared = adapter->loop.client && redlock_is_forked(adapter->loop.client);

    if (!redlock_loop_end(&adapter->loop)) return;
    redlock_loop_epoll_drop_set(adapter, is_shared);
    close(adapter->timer);
}

#ifdef __cplusplus
}
#endif
#endif
