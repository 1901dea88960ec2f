/* Monitors and threads, by POSIX threads. Knows nothing of locks or sockets. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "redlock_thread.h"

#ifndef REDLOCK_NO_THREADS

#include <pthread.h>
#include <signal.h>
#include <string.h>

struct thread_monitor {
    pthread_mutex_t mutex;
    pthread_cond_t told;
};

NET_STATIC_ASSERT(sizeof(struct thread_monitor) <= sizeof(struct net_monitor),
                  "a monitor must fit");
NET_STATIC_ASSERT(sizeof(pthread_t) <= sizeof(struct net_thread), "a thread must fit");

static struct thread_monitor *inside(struct net_monitor *monitor)
{
    return (struct thread_monitor *)(void *)monitor->words;
}

NET_API bool net_monitor_open(struct net_monitor *monitor)
{
    struct thread_monitor *m = inside(monitor);
    if (pthread_mutex_init(&m->mutex, NULL) != 0) return false;
    if (pthread_cond_init(&m->told, NULL) == 0) return true;
    (void)pthread_mutex_destroy(&m->mutex);
    return false;
}

NET_API void net_monitor_close(struct net_monitor *monitor)
{
    (void)pthread_cond_destroy(&inside(monitor)->told);
    (void)pthread_mutex_destroy(&inside(monitor)->mutex);
}

NET_API void net_monitor_enter(struct net_monitor *monitor)
{
    (void)pthread_mutex_lock(&inside(monitor)->mutex);
}

NET_API void net_monitor_leave(struct net_monitor *monitor)
{
    (void)pthread_mutex_unlock(&inside(monitor)->mutex);
}

NET_API void net_monitor_wait(struct net_monitor *monitor)
{
    (void)pthread_cond_wait(&inside(monitor)->told, &inside(monitor)->mutex);
}

NET_API void net_monitor_tell(struct net_monitor *monitor)
{
    (void)pthread_cond_broadcast(&inside(monitor)->told);
}

/* A thread inherits the signal mask of the one that starts it. */
NET_API bool net_thread_start(struct net_thread *thread, void *(*body)(void *context),
                              void *context)
{
    sigset_t none, before;
    pthread_t id;
    sigfillset(&none);
    if (pthread_sigmask(SIG_SETMASK, &none, &before) != 0) return false;
    int error = pthread_create(&id, NULL, body, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) return false;
    memcpy(thread->words, &id, sizeof id);
    return true;
}

NET_API void net_thread_join(struct net_thread *thread)
{
    pthread_t id;
    memcpy(&id, thread->words, sizeof id);
    (void)pthread_join(id, NULL);
}

#endif
