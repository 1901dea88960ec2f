/* A client over the scripted net, and helpers that its tests share, see scripted_net.h. */
#ifndef SCRIPTED_CLIENT_H
#define SCRIPTED_CLIENT_H

#include "scripted_net.h"

enum { MS = 1000, NODE_TIMEOUT = REDLOCK_NODE_TIMEOUT_MS };

static struct redlock_client client;
static struct redlock_options options;
static struct redlock_lock door, gate;

/* ---- The world and what is always asked of it ---- */

static inline void take_options(void)
{
    redlock_options_init(&options);
    options.engine.wake_ups = false;
    options.trace = net_trace;
    options.around_wait = net_around_wait;
    options.interruptible = true;
    net.has_trace = net.has_around_wait = true;
}

static inline enum redlock_status open_client(void)
{
    char names[] = "n0,n1,n2,n3,n4";
    names[3 * net.node_count - 1] = '\0';
    redlock_lock_init(&door);
    redlock_lock_init(&gate);
    net.connected_sessions = 0;
    return redlock_open(&client, names, &options, NULL);
}

/* A call that would never return comes back here, and the test fails with the
 * text in net.breach. */
#define WORLD(nodes)                                     \
    net_begin_world((nodes), 1);                         \
    take_options();                                      \
    if (setjmp(net.escape) != 0) {                       \
        CHECK_STR(net.breach, "");                       \
        return;                                          \
    }

#define OPEN CHECK_INT(open_client(), REDLOCK_OK)
#define CLIENT(nodes) WORLD(nodes) OPEN

#define CLOSE(wait_ms)                                   \
    redlock_close(&client, (wait_ms));                   \
    CHECK_INT(net.open_count, 0);                        \
    CHECK_STR(net.breach, "")

#define ACQUIRE(lock, wait_ms) \
    redlock_acquire(&client, (lock), (lock) == &door ? "door" : "gate", 10000, (wait_ms))

/* The time since `since`, in whole milliseconds, without the time that the machine slept. */
static inline uint64_t taken_ms(uint64_t since)
{
    return (net.now_us - since) / MS;
}

/* On how many nodes does the key hold the lock's token, for as long as the lock is believed
 * to be valid? */
static inline unsigned held_on(const struct redlock_lock *lock, const char *name)
{
    const uint64_t until = net.now_us + redlock_valid_us(lock, net.now_us);
    char token[REDLOCK_TOKEN_TEXT + 1];
    unsigned count = 0;
    redlock_token(lock, token);
    for (unsigned k = 0; k < net.node_count; k++) {
        const struct model_key *key =
            model_find(&net.hosts[k].node, 0, name, strlen(name), net.now_us);
        if (!key || key->value_size < REDLOCK_TOKEN_TEXT ||
            memcmp(key->value, token, REDLOCK_TOKEN_TEXT) != 0)
            continue;
        count += key->expires_ms * MS >= until;
    }
    return count;
}

static inline unsigned keys(void)
{
    unsigned count = 0;
    for (unsigned k = 0; k < net.node_count; k++)
        for (size_t i = 0; i < net.hosts[k].node.key_count; i++)
            count += net.hosts[k].node.keys[i].expires_ms * MS > net.now_us;
    return count;
}

static inline bool is_quorum(unsigned count)
{
    return count >= redlock_quorum(net.node_count);
}

static inline void for_all(void (*does)(unsigned k))
{
    for (unsigned k = 0; k < net.node_count; k++) does(k);
}

static inline void all_welcome(enum net_welcome welcome)
{
    for (unsigned k = 0; k < net.node_count; k++) net.hosts[k].welcome = welcome;
}

/* Takes events out, of which there are some, each later than the one before or at the same time. */
static inline bool time_goes_on(struct redlock_event_ring *events)
{
    struct redlock_event event;
    uint64_t at_us = 0;
    while (redlock_next_event(events, &event)) {
        if (event.at_us < at_us) return false;
        at_us = event.at_us;
    }
    return at_us > 0;
}

/* ---- A loop of the caller's ---- */

struct loop {
    unsigned zeros;                 /* Turns in a row that did not wait, */
    unsigned zeros_max;             /* and the most there were. */
    bool steps_ready;               /* It steps by redlock_step_ready, otherwise by redlock_step. */
};

/* Between steps no descriptor changes; in a step another connection gets another number. */
static inline void check_descriptors(const int fds[], const uint64_t numbers[], unsigned count,
                                     bool has_stepped)
{
    for (unsigned k = 0; k < count; k++) {
        const int fd = redlock_fd(&client, k);
        if (!has_stepped && fd != fds[k]) net_break("descriptor %u changed where no step was", k);
        if (fd >= 0 && net_number_of(fd) == 0) net_break("descriptor %u is not open", k);
        if (fd >= 0 && fd == fds[k] && net_number_of(fd) != numbers[k])
            net_break("descriptor %u is another connection's by now, and has the old one's number",
                      k);
        if (redlock_events(&client, k) & ~(unsigned)(REDLOCK_READ | REDLOCK_WRITE))
            net_break("session %u waits for what no loop knows", k);
        if ((fd >= 0) != (redlock_events(&client, k) != 0))
            net_break("session %u waits for nothing", k);
    }
}

/* Waits like poll(), but no longer than until a time. */
static inline enum redlock_status loop_turn(struct loop *loop, uint64_t until_us)
{
    const unsigned count = redlock_fd_count(&client);
    struct net_wait waits[NET_WAIT_MAX];
    int fds[NET_WAIT_MAX];
    uint64_t numbers[NET_WAIT_MAX], wake_at = redlock_wake_at(&client.engine);
    unsigned ready = 0;
    for (unsigned k = 0; k < count; k++) {
        const unsigned events = redlock_events(&client, k);
        fds[k] = redlock_fd(&client, k);
        numbers[k] = net_number_of(fds[k]);
        waits[k] = (struct net_wait){ .fd = fds[k] };
        waits[k].events = (uint8_t)((events & REDLOCK_READ ? NET_READ : 0) |
                                    (events & REDLOCK_WRITE ? NET_WRITE : 0));
    }
    const int ms = redlock_poll_ms(&client);
    const uint64_t poll_until = ms < 0 ? UINT64_MAX : net.now_us + (uint64_t)ms * MS;
    if (ms < 0 && wake_at != REDLOCK_NEVER)
        net_break("the loop sleeps for ever, and something is due");
    if (ms > 0 && poll_until > wake_at && poll_until - wake_at >= MS)
        net_break("the loop sleeps over what is due");
    loop->zeros = ms == 0 ? loop->zeros + 1 : 0;
    if (loop->zeros > loop->zeros_max) loop->zeros_max = loop->zeros;
    net.has_around_wait = false;
    net_wait(waits, count, net_sooner(poll_until, until_us));
    check_descriptors(fds, numbers, count, false);
    for (unsigned k = 0; k < count; k++) ready |= (waits[k].ready != 0 ? 1u : 0u) << k;
    const enum redlock_status status =
        loop->steps_ready ? redlock_step_ready(&client, ready) : redlock_step(&client);
    check_descriptors(fds, numbers, count, true);
    return status;
}

static inline void loop_until(struct loop *loop, const struct redlock_lock *lock, uint64_t until_us)
{
    while (net.now_us < until_us && (!lock || redlock_lock_status(lock) == REDLOCK_PENDING))
        (void)loop_turn(loop, until_us);
}

#endif
