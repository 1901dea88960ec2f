/* redlock_loop: shared by the adapters for event loops, and the base of an adapter for another
 * loop. A program includes the adapter of its loop, redlock_loop_epoll.h, redlock_loop_libuv.h,
 * redlock_loop_libev.h or redlock_loop_glib.h. Header only, nothing to link but redlock
 * and the loop.
 *
 *     attach      from now on the loop steps the client: at once, whenever a descriptor is ready,
 *                 and in time
 *     hook        is called after each step, with the step's status. Ask
 *                 redlock_next_done(&client->engine) which operations have ended,
 *                 and start others
 *     wake        after redlock_start_... (or its kind) outside of the hook: then the operation
 *                 begins at once, not some time later
 *     detach      the loop forgets the client; then redlock_close()
 *
 * Between attach and detach only the adapter steps the client, so there must be no redlock_step,
 * and no call of the blocking face, to which redlock_close belongs. Descriptors change in steps and
 * nowhere else, and the adapter compares them after each. A socket that was opened two steps later
 * may have the same number, and would be taken for the old one.
 *
 * The hook may do what it likes with its locks, and may detach; then close the client, free it and
 * the adapter (but libuv's has to wait), or attach anew. It is not called again while it runs. Its
 * status, which with the first three is the status of a step that was made:
 *     OK             all is well
 *     NO_ENTROPY     as redlock_step says
 *     SYSTEM         the loop refuses to watch a descriptor, for want of memory mostly. That is
 *                    tried again, and meanwhile the session is looked at every tenth of a second
 *     FORKED         this is a child of fork(): nothing is watched any longer. Detach; then
 *                    redlock_close() closes its copies
 *     NOT_OPEN       the client is not open, or was closed while it was attached: nothing is
 *                    watched any longer. Detach
 *
 * Memory:  the caller's. An adapter and its client must stay where they are until detach, libuv's
 *          beyond that.
 * Threads: adapter, client and locks belong to the thread that runs the loop. */
#ifndef REDLOCK_LOOP_H
#define REDLOCK_LOOP_H

#include "redlock_client.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#define REDLOCK_LOOP_CAST(type, pointer) reinterpret_cast<type>(pointer)
#define REDLOCK_LOOP_NUMBER(type, number) static_cast<type>(number)
#define REDLOCK_LOOP_NULL nullptr
#else
#define REDLOCK_LOOP_CAST(type, pointer) ((type)(pointer))
#define REDLOCK_LOOP_NUMBER(type, number) ((type)(number))
#define REDLOCK_LOOP_NULL NULL
#endif

enum { REDLOCK_LOOP_SESSIONS = REDLOCK_FDS_MAX, REDLOCK_LOOP_RETRY_MS = 100 };

typedef void redlock_loop_hook(void *context, enum redlock_status status);

/* The events that the loop waits for. */
struct redlock_loop_watch {
    int fd;                     /* -1: nothing. */
    unsigned events;            /* REDLOCK_READ, REDLOCK_WRITE or both. */
};

/* The base of an adapter. The fields are the adapter's, and read-only for it unless
 * it says otherwise. */
struct redlock_loop {
    struct redlock_client *client;      /* NULL: none is attached. */
    redlock_loop_hook *hook;
    void *context;
    const struct redlock_loop_calls *calls;
    /* Not NULL: the hook is being called. Becomes true when that detaches. */
    bool *is_gone;
    unsigned refused;                   /* Sessions whose descriptors the loop has refused. */
    struct redlock_loop_watch watches[REDLOCK_LOOP_SESSIONS];   /* The loop's watches. */
};

/* The calls of an adapter. */
struct redlock_loop_calls {
    /* Lets the loop wait for session k as wanted, from now on, instead of loop->watches[k], whose
     * descriptor is closed by now if it is not the wanted one. False: it refuses; then it waits for
     * nothing of session k. */
    bool (*watch)(struct redlock_loop *loop, unsigned k, struct redlock_loop_watch wanted);

    /* redlock_loop_turn is to be called in so many ms, and no earlier for this reason; 0: soon, but
     * not from within this call; -1: at no time. Earlier values no longer count. */
    void (*wake_in)(struct redlock_loop *loop, int ms);
};

/* Private. */
static inline struct redlock_loop_watch redlock_loop_wanted(const struct redlock_loop *loop,
                                                            unsigned k)
{
    struct redlock_loop_watch wanted = { -1, redlock_events(loop->client, k) };

    if (wanted.events != 0) wanted.fd = redlock_fd(loop->client, k);
    return wanted;
}

/* Private. */
static inline void redlock_loop_set(struct redlock_loop *loop, unsigned k,
                                    struct redlock_loop_watch wanted)
{
    const struct redlock_loop_watch none = { -1, 0 };
    bool is_watched = loop->calls->watch(loop, k, wanted);

    loop->watches[k] = is_watched ? wanted : none;
    loop->refused = is_watched ? loop->refused & ~(1u << k) : loop->refused | 1u << k;
}

/* Private. Tells the loop about changes. Old descriptors go first, since a number may stand for
 * another session's descriptor by now. */
static inline void redlock_loop_sync(struct redlock_loop *loop)
{
    const unsigned count = redlock_fd_count(loop->client);
    const struct redlock_loop_watch none = { -1, 0 };
    unsigned k;

    for (k = 0; k < count; k++)
        if (loop->watches[k].fd >= 0 && loop->watches[k].fd != redlock_loop_wanted(loop, k).fd)
            redlock_loop_set(loop, k, none);
    for (k = 0; k < count; k++) {
        const struct redlock_loop_watch wanted = redlock_loop_wanted(loop, k);
        if (wanted.fd < 0) loop->refused &= ~(1u << k);
        else if (wanted.fd != loop->watches[k].fd || wanted.events != loop->watches[k].events)
            redlock_loop_set(loop, k, wanted);
    }
}

/* Private. */
static inline void redlock_loop_sleep(struct redlock_loop *loop)
{
    int ms = redlock_poll_ms(loop->client);

    if (loop->refused != 0 && (ms < 0 || ms > REDLOCK_LOOP_RETRY_MS)) ms = REDLOCK_LOOP_RETRY_MS;
    loop->calls->wake_in(loop, ms);
}

/* Private. */
static inline void redlock_loop_watch_nothing(struct redlock_loop *loop)
{
    const struct redlock_loop_watch none = { -1, 0 };
    unsigned k;

    for (k = 0; k < REDLOCK_LOOP_SESSIONS; k++)
        if (loop->watches[k].fd >= 0) redlock_loop_set(loop, k, none);
    loop->refused = 0;
    loop->calls->wake_in(loop, -1);
}

/* Private. Is there something to be sent on a connection that stands? */
static inline bool redlock_loop_has_output(const struct redlock_loop *loop)
{
    const unsigned both = REDLOCK_READ | REDLOCK_WRITE;
    unsigned k;

    for (k = 0; k < redlock_fd_count(loop->client); k++)
        if (redlock_events(loop->client, k) == both) return true;
    return false;
}

/* Private. One step, and the hook. False: nothing is left to be done. */
static inline bool redlock_loop_step(struct redlock_loop *loop, unsigned ready)
{
    enum redlock_status status = redlock_step_ready(loop->client, ready | loop->refused);
    const bool is_over = status == REDLOCK_FORKED || status == REDLOCK_NOT_OPEN;
    bool is_gone = false;

    if (is_over) redlock_loop_watch_nothing(loop);
    else
        redlock_loop_sync(
            loop); /* Before the hook opens files, which may get numbers of closed ones. */
    if (status == REDLOCK_OK && loop->refused != 0) status = REDLOCK_SYSTEM;
    loop->is_gone = &is_gone;
    loop->hook(loop->context, status);
    if (is_gone) return false;
    loop->is_gone = REDLOCK_LOOP_NULL;
    return !is_over;
}

/* ---- For adapters ---- */

/* Attaches: *loop is set up anew, and soon comes the first step. */
static inline void redlock_loop_begin(struct redlock_loop *loop,
                                      const struct redlock_loop_calls *calls,
                                      struct redlock_client *client, redlock_loop_hook *hook,
                                      void *context)
{
    unsigned k;

    memset(loop, 0, sizeof *loop);
    loop->client = client;
    loop->hook = hook;
    loop->context = context;
    loop->calls = calls;
    for (k = 0; k < REDLOCK_LOOP_SESSIONS; k++) loop->watches[k].fd = -1;
    calls->wake_in(loop, 0);
}

/* Detaches. The adapter must then remove its watches. False: nothing was attached. */
static inline bool redlock_loop_end(struct redlock_loop *loop)
{
    if (!loop->client) return false;
    if (loop->is_gone) *loop->is_gone = true;
    redlock_loop_watch_nothing(loop);
    loop->is_gone = REDLOCK_LOOP_NULL;
    loop->client = REDLOCK_LOOP_NULL;
    return true;
}

/* Call it when time has come or descriptors are ready; bit k of ready stands for session k.
 * Operations that the hook starts are sent at once. When it returns the adapter may be gone, or
 * attached anew.
 * Called from within the hook it does nothing. */
static inline void redlock_loop_turn(struct redlock_loop *loop, unsigned ready)
{
    if (!loop->client || loop->is_gone || !redlock_loop_step(loop, ready)) return;
    if (redlock_loop_has_output(loop) && !redlock_loop_step(loop, 0)) return;
    redlock_loop_sync(loop);
    redlock_loop_sleep(loop);
}

/* ---- For programs ---- */

/* The next step comes as soon as the loop turns. Call it after redlock_start_..., redlock_part or
 * redlock_cancel outside of the hook; within the hook it changes
 * nothing. Adapter: &adapter.loop. */
static inline void redlock_loop_wake(struct redlock_loop *loop)
{
    if (loop->client) loop->calls->wake_in(loop, 0);
}

#ifdef __cplusplus
}
#endif
#endif
