/* redlock_loop_libev: a client in a loop of libev. The common contract of all adapters
 * is in redlock_loop.h.
 *
 *     redlock_loop_libev_attach(&adapter, EV_DEFAULT, &client, hook, context);
 *     ev_run(EV_DEFAULT, 0);
 *
 * The adapter keeps ev_run going until detach.
 *
 * Traps that are taken care of here:
 * - The watcher of a closed descriptor must be stopped before another is started, since both may
 *   have the same number.
 * - All that is ready in one turn of the loop is one step, not one for each descriptor. The step
 *   has the lowest priority, so operations that your own watchers start in the same turn go out
 *   with it.
 * - A child of fork() must call ev_loop_fork() first, as libev demands; then the hook gets
 *   FORKED. */
#ifndef REDLOCK_LOOP_LIBEV_H
#define REDLOCK_LOOP_LIBEV_H

#include <ev.h>

#include "redlock_loop.h"

#if !EV_MULTIPLICITY
#error "redlock_loop_libev.h: needs loops as arguments, as libev has them (EV_MULTIPLICITY)"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Private, except loop. */
struct redlock_loop_libev {
    struct redlock_loop loop;       /* It comes first, since an adapter is found by it. */
    struct ev_loop *ev;
    ev_timer timer;
    ev_check check;                 /* Called when the descriptors of a turn have been reported. */
    ev_io watchers[REDLOCK_LOOP_SESSIONS];
    unsigned ready;
    bool is_due;                    /* Time has come. */
};

/* Private. */
static inline void redlock_loop_libev_on_ready(struct ev_loop *ev, ev_io *watcher, int events)
{
    struct redlock_loop_libev *adapter =
        REDLOCK_LOOP_CAST(struct redlock_loop_libev *, watcher->data);

    (void)ev;
    (void)events;
    adapter->ready |= 1u << (watcher - adapter->watchers);
}

/* Private. */
static inline void redlock_loop_libev_on_time(struct ev_loop *ev, ev_timer *timer, int events)
{
    (void)ev;
    (void)events;
    REDLOCK_LOOP_CAST(struct redlock_loop_libev *, timer->data)->is_due = true;
}

/* Private. */
static inline void redlock_loop_libev_on_check(struct ev_loop *ev, ev_check *check, int events)
{
    struct redlock_loop_libev *adapter =
        REDLOCK_LOOP_CAST(struct redlock_loop_libev *, check->data);
    const unsigned ready = adapter->ready;

    (void)ev;
    (void)events;
    if (ready == 0 && !adapter->is_due) return;
    adapter->ready = 0;
    adapter->is_due = false;
    redlock_loop_turn(&adapter->loop, ready);
}

/* Private. */
static inline bool redlock_loop_libev_watch(struct redlock_loop *loop, unsigned k,
                                            struct redlock_loop_watch wanted)
{
    struct redlock_loop_libev *adapter = REDLOCK_LOOP_CAST(struct redlock_loop_libev *, loop);
    const int events = (wanted.events & REDLOCK_READ ? EV_READ : 0) |
                       (wanted.events & REDLOCK_WRITE ? EV_WRITE : 0);
    ev_io *watcher = &adapter->watchers[k];

    ev_io_stop(adapter->ev, watcher);
    if (wanted.fd < 0) return true;
    ev_io_set(watcher, wanted.fd, events);
    ev_io_start(adapter->ev, watcher);
    return true;
}

/* Private. */
static inline void redlock_loop_libev_wake_in(struct redlock_loop *loop, int ms)
{
    struct redlock_loop_libev *adapter = REDLOCK_LOOP_CAST(struct redlock_loop_libev *, loop);

    ev_timer_stop(adapter->ev, &adapter->timer);
    if (ms < 0) return;
    ev_now_update(adapter->ev);     /* Otherwise it would count from the beginning of this turn. */
    ev_timer_set(&adapter->timer, ms / 1000.0, 0.0);
    ev_timer_start(adapter->ev, &adapter->timer);
}

/* Attaches the client to the loop. */
static inline void redlock_loop_libev_attach(struct redlock_loop_libev *adapter, struct ev_loop *ev,
                                             struct redlock_client *client, redlock_loop_hook *hook,
                                             void *context)
{
    static const struct redlock_loop_calls calls = {
        redlock_loop_libev_watch, redlock_loop_libev_wake_in
    };
    unsigned k;

    memset(adapter, 0, sizeof *adapter);
    adapter->ev = ev;
    ev_init(&adapter->timer, redlock_loop_libev_on_time);
    ev_init(&adapter->check, redlock_loop_libev_on_check);
    ev_set_priority(&adapter->check, EV_MINPRI);
    adapter->timer.data = adapter->check.data = adapter;
    for (k = 0; k < REDLOCK_LOOP_SESSIONS; k++) {
        ev_init(&adapter->watchers[k], redlock_loop_libev_on_ready);
        adapter->watchers[k].data = adapter;
    }
    ev_check_start(ev, &adapter->check);
    redlock_loop_begin(&adapter->loop, &calls, client, hook, context);
}

/* May be called in the hook. Then adapter and client are the caller's; without a client that is
 * attached it does nothing. */
static inline void redlock_loop_libev_detach(struct redlock_loop_libev *adapter)
{
    if (!redlock_loop_end(&adapter->loop)) return;
    ev_check_stop(adapter->ev, &adapter->check);
}

#ifdef __cplusplus
}
#endif
#endif
