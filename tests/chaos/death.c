/* A death that nobody misses. It is preloaded into a redis-server with clock.c.
 *
 * A server that SIGKILL ends may have answered a client and not yet told a connection that watches
 * it, which happens at one kill in two while it is busy (test_record). On SIGPWR it dies by
 * SIGKILL just the same, but where it waits for events next. Before that it writes what it owes to
 * anybody (beforeSleep in server.c of Redis). Redis 8.0 and Valkey 9.1 take SIGUSR2 themselves. */
#define _GNU_SOURCE

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/epoll.h>

static volatile sig_atomic_t is_to_die;

static void obey(int number)
{
    (void)number;
    is_to_die = 1;
}

__attribute__((constructor))
static void await_order(void)
{
    struct sigaction action = { .sa_handler = obey };
    sigaction(SIGPWR, &action, NULL);
}

/* The one call in which redis-server waits. */
int epoll_wait(int set, struct epoll_event *events, int count, int timeout_ms)
{
    if (is_to_die) kill(getpid(), SIGKILL);
    return epoll_pwait(set, events, count, timeout_ms, NULL);
}
