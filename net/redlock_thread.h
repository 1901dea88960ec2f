/* Threads, for redlock/keeper_thread.c and nothing else, so a program that does not use the keeper
 * links none of this.
 *
 * A monitor is a lock and a signal in one. The thread that has entered has the data to itself;
 * while it waits another can enter. The threads are POSIX threads. With REDLOCK_NO_THREADS defined
 * there is nothing here. */
#ifndef REDLOCK_THREAD_H
#define REDLOCK_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#ifndef REDLOCK_NO_THREADS

/* See redlock_net.h. */
#ifndef NET_API
#define NET_API extern
#endif
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define NET_STATIC_ASSERT(condition, words) _Static_assert(condition, words)
#else
#define NET_STATIC_ASSERT(condition, words) extern char net_static_assert[(condition) ? 1 : -1]
#endif

/* Complete so that they can be placed; their content belongs to net_thread.c. They must stay where
 * they were opened. */
struct net_monitor {
    /* A mutex and a condition, aligned like 64 bits. They have 112 bytes on
     * macOS, less elsewhere. */
    uint64_t words[16];
};

struct net_thread {
    uint64_t words[2];
};

/* Returns false when the system has no room for one, and then there is nothing to close. Closed
 * when nobody is in it, or comes. */
NET_API bool net_monitor_open(struct net_monitor *monitor);
NET_API void net_monitor_close(struct net_monitor *monitor);

NET_API void net_monitor_enter(struct net_monitor *monitor);
NET_API void net_monitor_leave(struct net_monitor *monitor);

/* Leaves, until somebody tells (or for no reason, so check your condition and wait
 * again), and enters. */
NET_API void net_monitor_wait(struct net_monitor *monitor);

/* Wakes all waiting threads. The caller must have entered. */
NET_API void net_monitor_tell(struct net_monitor *monitor);

/* Runs body(context) in a thread of its own, which takes no signals, since they are for the
 * program's threads.
 * False: the thread could not be started. The caller owes a join, which waits until the
 * body has returned. */
NET_API bool net_thread_start(struct net_thread *thread, void *(*body)(void *context),
                              void *context);
NET_API void net_thread_join(struct net_thread *thread);

#endif
#endif
