/* redlock_loop_libuv: a client in a loop of libuv. The common contract of all adapters
 * is in redlock_loop.h.
 *
 *     redlock_loop_libuv_attach(&adapter, uv_default_loop(), &client, hook, context);
 *     uv_run(uv_default_loop(), UV_RUN_DEFAULT);
 *
 * The adapter keeps uv_run going until detach. libuv closes handles later, not at once, so the
 * adapter's memory is yours when detach has called closed(), from the loop, and uv_run returns no
 * earlier. The client is yours as soon as detach has returned.
 *
 * Traps that are taken care of here:
 * - A handle cannot get another descriptor. It must be closed, and its memory be used again only
 *   when that is over.
 * - epoll, which libuv has on Linux, forgets a closed descriptor only when no copy of it is left,
 *   and a child of fork() that lives on has copies. libuv would then turn without end. It is
 *   therefore given a copy of each descriptor, which is closed when the handle is. The cost is one
 *   more descriptor for each session.
 * - After an error of the socket (POLLERR) libuv stops the handle by itself.
 * - Timers count from the time of the last turn, so after a long callback they would come early.
 * - All that is ready in one turn of the loop is one step, not one for each descriptor.
 * - A child of fork() must call uv_loop_fork() first, as libuv demands; then the hook gets
 *   FORKED. */
#ifndef REDLOCK_LOOP_LIBUV_H
#define REDLOCK_LOOP_LIBUV_H

#include <fcntl.h>
#include <unistd.h>
#include <uv.h>

#include "redlock_loop.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Private. */
struct redlock_loop_libuv_poll {
    uv_poll_t handle;
    struct redlock_loop_libuv *adapter;
    bool is_open;               /* It is open until libuv has closed it. */
    /* A copy of the session's descriptor, until the handle is told to close. */
    int copy;
    struct redlock_loop_watch wanted;
};

/* Private, except loop. */
struct redlock_loop_libuv {
    struct redlock_loop loop;       /* It comes first, since an adapter is found by it. */
    uv_loop_t *uv;
    uv_timer_t timer;
    uv_check_t check;               /* Called when the descriptors of a turn have been reported. */
    unsigned ready;
    unsigned open_count;            /* Handles that are not closed yet. */
    void (*closed)(void *context);
    void *closed_context;
    struct redlock_loop_libuv_poll polls[REDLOCK_LOOP_SESSIONS];
};

/* Private. */
static inline void redlock_loop_libuv_turn(struct redlock_loop_libuv *adapter)
{
    const unsigned ready = adapter->ready;

    adapter->ready = 0;
    redlock_loop_turn(&adapter->loop, ready);
}

/* Private. */
static inline void redlock_loop_libuv_on_time(uv_timer_t *timer)
{
    redlock_loop_libuv_turn(REDLOCK_LOOP_CAST(struct redlock_loop_libuv *, timer->data));
}

/* Private. */
static inline void redlock_loop_libuv_on_check(uv_check_t *check)
{
    struct redlock_loop_libuv *adapter =
        REDLOCK_LOOP_CAST(struct redlock_loop_libuv *, check->data);

    if (adapter->ready != 0) redlock_loop_libuv_turn(adapter);
}

/* Private. After an error the handle is stopped. It is started again if the step leaves the
 * descriptor open. */
static inline void redlock_loop_libuv_on_ready(uv_poll_t *handle, int status, int events)
{
    struct redlock_loop_libuv_poll *poll =
        REDLOCK_LOOP_CAST(struct redlock_loop_libuv_poll *, handle->data);
    const unsigned k = REDLOCK_LOOP_NUMBER(unsigned, poll - poll->adapter->polls);

    (void)events;
    poll->adapter->ready |= 1u << k;
    if (status < 0) poll->adapter->loop.watches[k].events = 0;
}

/* Private. Returns -1 if there are no descriptors left. */
static inline int redlock_loop_libuv_copy(int fd)
{
#ifdef F_DUPFD_CLOEXEC
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
#else
    const int copy = dup(fd);

    if (copy >= 0) fcntl(copy, F_SETFD, FD_CLOEXEC);
    return copy;
#endif
}

/* Private. */
static inline bool redlock_loop_libuv_open(struct redlock_loop_libuv_poll *poll)
{
    poll->copy = redlock_loop_libuv_copy(poll->wanted.fd);
    if (poll->copy < 0) return false;
    if (uv_poll_init(poll->adapter->uv, &poll->handle, poll->copy) != 0) {
        close(poll->copy);
        return false;
    }
    poll->handle.data = poll;
    poll->is_open = true;
    poll->adapter->open_count++;
    return true;
}

/* Private. */
static inline bool redlock_loop_libuv_start(struct redlock_loop_libuv_poll *poll)
{
    const unsigned wanted = poll->wanted.events;
    const int events =
        (wanted & REDLOCK_READ ? UV_READABLE : 0) | (wanted & REDLOCK_WRITE ? UV_WRITABLE : 0);

    if (!poll->is_open && !redlock_loop_libuv_open(poll)) return false;
    return uv_poll_start(&poll->handle, events, redlock_loop_libuv_on_ready) == 0;
}

/* Private. */
static inline void redlock_loop_libuv_count_closed(struct redlock_loop_libuv *adapter)
{
    if (--adapter->open_count == 0 && adapter->closed) adapter->closed(adapter->closed_context);
}

/* Private. The session may have another descriptor by now, which waits for the handle. */
static inline void redlock_loop_libuv_on_poll_closed(uv_handle_t *handle)
{
    struct redlock_loop_libuv_poll *poll =
        REDLOCK_LOOP_CAST(struct redlock_loop_libuv_poll *, handle->data);
    struct redlock_loop_libuv *adapter = poll->adapter;

    poll->is_open = false;
    if (poll->wanted.fd >= 0 && !redlock_loop_libuv_start(poll)) {
        /* The next step tries it again. */
        adapter->loop.watches[poll - adapter->polls].fd = -1;
        redlock_loop_wake(&adapter->loop);
    }
    redlock_loop_libuv_count_closed(adapter);
}

/* Private. */
static inline void redlock_loop_libuv_on_closed(uv_handle_t *handle)
{
    redlock_loop_libuv_count_closed(REDLOCK_LOOP_CAST(struct redlock_loop_libuv *, handle->data));
}

/* Private. libuv uses the copy no longer after this call. */
static inline void redlock_loop_libuv_stop(struct redlock_loop_libuv_poll *poll)
{
    uv_close(REDLOCK_LOOP_CAST(uv_handle_t *, &poll->handle), redlock_loop_libuv_on_poll_closed);
    close(poll->copy);
}

/* Private. A handle is of one descriptor for its life. */
static inline bool redlock_loop_libuv_watch(struct redlock_loop *loop, unsigned k,
                                            struct redlock_loop_watch wanted)
{
    struct redlock_loop_libuv *adapter = REDLOCK_LOOP_CAST(struct redlock_loop_libuv *, loop);
    struct redlock_loop_libuv_poll *poll = &adapter->polls[k];
    uv_handle_t *handle = REDLOCK_LOOP_CAST(uv_handle_t *, &poll->handle);
    const bool is_other = poll->wanted.fd != wanted.fd;

    poll->wanted = wanted;
    if (poll->is_open && is_other && !uv_is_closing(handle)) redlock_loop_libuv_stop(poll);
    if (wanted.fd < 0 || (poll->is_open && uv_is_closing(handle)) || redlock_loop_libuv_start(poll))
        return true;
    poll->wanted.fd = -1;
    if (poll->is_open) redlock_loop_libuv_stop(poll);
    return false;
}

/* Private. */
static inline void redlock_loop_libuv_wake_in(struct redlock_loop *loop, int ms)
{
    struct redlock_loop_libuv *adapter = REDLOCK_LOOP_CAST(struct redlock_loop_libuv *, loop);

    if (ms < 0) {
        uv_timer_stop(&adapter->timer);
        return;
    }
    uv_update_time(adapter->uv);
    uv_timer_start(&adapter->timer, redlock_loop_libuv_on_time, REDLOCK_LOOP_NUMBER(uint64_t, ms),
                   0);
}

/* Attaches the client to the loop. */
static inline void redlock_loop_libuv_attach(struct redlock_loop_libuv *adapter, uv_loop_t *uv,
                                             struct redlock_client *client, redlock_loop_hook *hook,
                                             void *context)
{
    static const struct redlock_loop_calls calls = {
        redlock_loop_libuv_watch, redlock_loop_libuv_wake_in
    };
    unsigned k;

    memset(adapter, 0, sizeof *adapter);
    for (k = 0; k < REDLOCK_LOOP_SESSIONS; k++) {
        adapter->polls[k].adapter = adapter;
        adapter->polls[k].wanted.fd = -1;
    }
    adapter->uv = uv;
    uv_timer_init(uv, &adapter->timer);
    uv_check_init(uv, &adapter->check);
    adapter->timer.data = adapter->check.data = adapter;
    adapter->open_count = 2;
    uv_check_start(&adapter->check, redlock_loop_libuv_on_check);
    redlock_loop_begin(&adapter->loop, &calls, client, hook, context);
}

/* May be called in the hook. Then the client is the caller's; the adapter when closed(context) is
 * called (NULL: it is not), from within uv_run. Without a client that is attached
 * it does nothing. */
static inline void redlock_loop_libuv_detach(struct redlock_loop_libuv *adapter,
                                             void (*closed)(void *context), void *context)
{
    if (!redlock_loop_end(&adapter->loop)) return;
    adapter->closed = closed;
    adapter->closed_context = context;
    uv_close(REDLOCK_LOOP_CAST(uv_handle_t *, &adapter->timer), redlock_loop_libuv_on_closed);
    uv_close(REDLOCK_LOOP_CAST(uv_handle_t *, &adapter->check), redlock_loop_libuv_on_closed);
}

#ifdef __cplusplus
}
#endif
#endif
