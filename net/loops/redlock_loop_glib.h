/* redlock_loop_glib: a client in a main loop of GLib, 2.36 or newer. The common contract of all
 * adapters is in redlock_loop.h.
 *
 *     redlock_loop_glib_attach(&adapter, NULL, &client, hook, context);   NULL: the default one
 *     g_main_loop_run(loop);
 *
 * All sessions are one GSource, with the default priority, whose memory is GLib's. Detach before
 * the GMainContext ends.
 *
 * Traps that are taken care of here:
 * - GLib polls, so a descriptor that is closed must not stay in the source, or poll() would report
 *   it again and again.
 * - A ready time stays until another is set, and 0 means now. */
#ifndef REDLOCK_LOOP_GLIB_H
#define REDLOCK_LOOP_GLIB_H

#include <glib.h>

#include "redlock_loop.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
#define REDLOCK_LOOP_GLIB_BOTH static_cast<GIOCondition>(G_IO_IN | G_IO_OUT)
#else
#define REDLOCK_LOOP_GLIB_BOTH ((GIOCondition)(G_IO_IN | G_IO_OUT))
#endif

/* Private. */
struct redlock_loop_glib_source {
    GSource base;
    struct redlock_loop_glib *adapter;
};

/* Private, except loop. */
struct redlock_loop_glib {
    struct redlock_loop loop;       /* It comes first, since an adapter is found by it. */
    GSource *source;
    gpointer tags[REDLOCK_LOOP_SESSIONS];
};

/* Private. */
static inline bool redlock_loop_glib_watch(struct redlock_loop *loop, unsigned k,
                                           struct redlock_loop_watch wanted)
{
    struct redlock_loop_glib *adapter = REDLOCK_LOOP_CAST(struct redlock_loop_glib *, loop);
    static const GIOCondition conditions[4] = {
        G_IO_ERR, G_IO_IN, G_IO_OUT, REDLOCK_LOOP_GLIB_BOTH
    };

    if (adapter->tags[k]) g_source_remove_unix_fd(adapter->source, adapter->tags[k]);
    adapter->tags[k] = REDLOCK_LOOP_NULL;
    if (wanted.fd >= 0)
        adapter->tags[k] =
            g_source_add_unix_fd(adapter->source, wanted.fd, conditions[wanted.events & 3]);
    return true;
}

/* Private. */
static inline void redlock_loop_glib_wake_in(struct redlock_loop *loop, int ms)
{
    GSource *source = REDLOCK_LOOP_CAST(struct redlock_loop_glib *, loop)->source;

    g_source_set_ready_time(
        source, ms <= 0 ? ms : g_get_monotonic_time() + REDLOCK_LOOP_NUMBER(gint64, ms) * 1000);
}

/* Private. */
static inline gboolean redlock_loop_glib_dispatch(GSource *source, GSourceFunc callback,
                                                  gpointer data)
{
    struct redlock_loop_glib *adapter =
        REDLOCK_LOOP_CAST(struct redlock_loop_glib_source *, source)->adapter;
    unsigned ready = 0, k;

    (void)callback;
    (void)data;
    for (k = 0; k < REDLOCK_LOOP_SESSIONS; k++)
        if (adapter->tags[k] && g_source_query_unix_fd(source, adapter->tags[k]) != 0)
            ready |= 1u << k;
    redlock_loop_turn(&adapter->loop, ready);
    /* If the hook has detached the source is destroyed all the same. */
    return G_SOURCE_CONTINUE;
}

/* Attaches the client to a main context; NULL: the default one. */
static inline void redlock_loop_glib_attach(struct redlock_loop_glib *adapter,
                                            GMainContext *main_context,
                                            struct redlock_client *client, redlock_loop_hook *hook,
                                            void *context)
{
    static const struct redlock_loop_calls calls = {
        redlock_loop_glib_watch, redlock_loop_glib_wake_in
    };
    static GSourceFuncs functions = {
        REDLOCK_LOOP_NULL, REDLOCK_LOOP_NULL, redlock_loop_glib_dispatch, REDLOCK_LOOP_NULL,
        REDLOCK_LOOP_NULL, REDLOCK_LOOP_NULL
    };

    memset(adapter, 0, sizeof *adapter);
    adapter->source = g_source_new(&functions, sizeof(struct redlock_loop_glib_source));
    REDLOCK_LOOP_CAST(struct redlock_loop_glib_source *, adapter->source)->adapter = adapter;
    g_source_set_name(adapter->source, "redlock");
    g_source_attach(adapter->source, main_context);
    redlock_loop_begin(&adapter->loop, &calls, client, hook, context);
}

/* May be called in the hook. Then adapter and client are the caller's; without a client that is
 * attached it does nothing. */
static inline void redlock_loop_glib_detach(struct redlock_loop_glib *adapter)
{
    if (!redlock_loop_end(&adapter->loop)) return;
    g_source_destroy(adapter->source);
    g_source_unref(adapter->source);
}

#ifdef __cplusplus
}
#endif
#endif
