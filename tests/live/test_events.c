/* The event-loop face against real servers, in loops around poll() and, on Linux, epoll. Tests one
 * lock and five hundred at once, waiting, giving up, and that a loop with nothing to do sleeps. */
#define _XOPEN_SOURCE 700

#include "clients.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/epoll.h>
#endif

enum {
    NODES = 3,
    SESSIONS_MAX = REDLOCK_SESSIONS(REDLOCK_NODES_MAX, true),
    MANY = 500,
    MANY_PIPELINE = 3 * MANY,
    MANY_SEND_SIZE = 65536,
    MANY_RECEIVE_SIZE = 4096
};

static struct server nodes[NODES];
static struct redlock_client alice, bob;
static char node_list[128];

/* ---- Loops. Each does one turn: waits for at most wait_ms, then steps. ---- */

static int shorter(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static enum redlock_status poll_turn(struct redlock_client *c, int wait_ms)
{
    struct pollfd fds[SESSIONS_MAX];
    unsigned count = c->engine.session_count;
    for (unsigned k = 0; k < count; k++) {
        unsigned events = redlock_events(c, k);
        fds[k].fd = redlock_fd(c, k);
        fds[k].events =
            (short)((events & REDLOCK_READ ? POLLIN : 0) | (events & REDLOCK_WRITE ? POLLOUT : 0));
    }
    poll(fds, count, shorter(redlock_poll_ms(c), wait_ms));
    return redlock_step(c);
}

#ifdef __linux__
/* The kernel's watches, as it was set. It forgets closed descriptors by itself. */
struct watch {
    int epoll;
    int fds[SESSIONS_MAX];
    unsigned events[SESSIONS_MAX];
    /* How often the kernel knew that a descriptor was not the one it looked like. */
    unsigned refused;
};

static void watch_session(struct watch *w, struct redlock_client *c, unsigned k)
{
    int fd = redlock_fd(c, k);
    unsigned events = redlock_events(c, k);
    struct epoll_event event = { (events & REDLOCK_READ ? (uint32_t)EPOLLIN : 0u)
                               | (events & REDLOCK_WRITE ? (uint32_t)EPOLLOUT : 0u), { .u32 = k } };
    if (fd >= 0 &&
        epoll_ctl(w->epoll, fd == w->fds[k] ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) < 0)
        w->refused++;
    w->fds[k] = fd;
    w->events[k] = events;
}

static enum redlock_status epoll_turn(struct watch *w, struct redlock_client *c, int wait_ms)
{
    struct epoll_event events[SESSIONS_MAX];
    unsigned ready = 0;
    for (unsigned k = 0; k < c->engine.session_count; k++)
        if (redlock_fd(c, k) != w->fds[k] || redlock_events(c, k) != w->events[k])
            watch_session(w, c, k);
    int count = epoll_wait(w->epoll, events, SESSIONS_MAX, shorter(redlock_poll_ms(c), wait_ms));
    for (int i = 0; i < count; i++) ready |= 1u << events[i].data.u32;
    return redlock_step_ready(c, ready);
}
#endif

/* Turns until the lock's operation has ended. Returns how. */
static enum redlock_status finish(struct redlock_client *c, struct redlock_lock *lock)
{
    uint64_t until = clock_ms() + 2 * PATIENCE_MS;
    redlock_step(c);
    while (redlock_lock_status(lock) == REDLOCK_PENDING && clock_ms() < until) poll_turn(c, 1000);
    return redlock_lock_status(lock);
}

/* Turns for that long. Returns how many it took. */
static unsigned turn_for(struct redlock_client *c, unsigned ms)
{
    unsigned turns = 0;
    uint64_t until = clock_ms() + ms;
    for (; clock_ms() < until; turns++) poll_turn(c, (int)(until - clock_ms()));
    return turns;
}

static enum redlock_status acquire(struct redlock_client *c, struct redlock_lock *lock,
                                   const char *resource, uint32_t ttl_ms, uint32_t wait_ms)
{
    const struct redlock_request request = {
        .resource = resource, .resource_size = strlen(resource), .ttl_ms = ttl_ms,
        .wait_ms = wait_ms
    };
    enum redlock_status status =
        redlock_start_acquire(&c->engine, lock, &request, redlock_now_us());
    return status == REDLOCK_OK ? finish(c, lock) : status;
}

static enum redlock_status extend(struct redlock_client *c, struct redlock_lock *lock,
                                  uint32_t ttl_ms)
{
    enum redlock_status status = redlock_start_extend(&c->engine, lock, ttl_ms, redlock_now_us());
    return status == REDLOCK_OK ? finish(c, lock) : status;
}

static enum redlock_status release(struct redlock_client *c, struct redlock_lock *lock)
{
    enum redlock_status status = redlock_start_release(&c->engine, lock, redlock_now_us());
    return status == REDLOCK_OK ? finish(c, lock) : status;
}

static bool becomes_idle(struct redlock_client *c, const struct redlock_lock *lock)
{
    uint64_t until = clock_ms() + PATIENCE_MS;
    while (!redlock_idle(lock) && clock_ms() < until) poll_turn(c, 10);
    return redlock_idle(lock);
}

/* ---- One lock ---- */

TEST(a_poll_loop_acquires_extends_and_releases)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(acquire(&alice, &lock, "poll", TTL_MS, 0), REDLOCK_OK);
    CHECK(redlock_valid_us(&lock, redlock_now_us()) > 0);
    CHECK_STATUS(acquire(&alice, &lock, "poll", TTL_MS, 0), REDLOCK_BAD_STATE);
    CHECK_STATUS(extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    CHECK(redlock_valid_ms(&lock) > TTL_MS);
    CHECK_STATUS(release(&alice, &lock), REDLOCK_OK);
    CHECK(becomes_idle(&alice, &lock));
    CHECK_INT(redlock_view_lock(&lock).confirmed, NODES);
    CHECK_SOON(key_is_gone(nodes, NODES, "poll"));
    redlock_close(&alice, CLOSE_MS);
}

#ifdef __linux__
static enum redlock_status finish_with_epoll(struct watch *w, struct redlock_client *c,
                                             struct redlock_lock *lock)
{
    uint64_t until = clock_ms() + 2 * PATIENCE_MS;
    redlock_step(c);
    while (redlock_lock_status(lock) == REDLOCK_PENDING && clock_ms() < until)
        epoll_turn(w, c, 1000);
    return redlock_lock_status(lock);
}

TEST(an_epoll_loop_acquires_and_releases_across_reconnects)
{
    struct watch w = { .epoll = epoll_create1(EPOLL_CLOEXEC) };
    struct redlock_lock lock;
    const struct redlock_request request = {
        .resource = "epoll", .resource_size = strlen("epoll"), .ttl_ms = TTL_MS,
        .wait_ms = PATIENCE_MS
    };
    redlock_lock_init(&lock);
    memset(w.fds, -1, sizeof w.fds);
    CHECK(w.epoll >= 0 && open_client(&alice, node_list));
    for (unsigned i = 0; i < 3; i++) {
        CHECK_STATUS(
            redlock_start_acquire(&alice.engine, &lock, &request, redlock_now_us()),
            REDLOCK_OK);
        CHECK_STATUS(finish_with_epoll(&w, &alice, &lock), REDLOCK_OK);
        CHECK_STATUS(redlock_start_release(&alice.engine, &lock, redlock_now_us()), REDLOCK_OK);
        CHECK_STATUS(finish_with_epoll(&w, &alice, &lock), REDLOCK_OK);
        for (unsigned k = 0; k < NODES; k++)
            ASK(&nodes[k], "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    }
    CHECK_INT(w.refused, 0);
    redlock_close(&alice, CLOSE_MS);
    close(w.epoll);
}

/* Gives node k of a client another address that is tried first, and where nobody listens, like a
 * name that leads to ::1 and 127.0.0.1. */
static bool put_dead_address_first(struct redlock_client *c, unsigned k)
{
    char address[32];
    struct redlock_target *target = &c->targets[k];
    snprintf(address, sizeof address, "127.0.0.1:%u", refused_port());
    if (!open_client(&bob, address)) return false;
    memcpy(target->endpoints[1], target->endpoints[0], sizeof target->endpoints[0]);
    memcpy(target->endpoints[0], bob.targets[0].endpoints[0], sizeof target->endpoints[0]);
    target->endpoint_count = 2;
    redlock_close(&bob, CLOSE_MS);
    return true;
}

TEST(an_epoll_loop_gets_from_one_address_of_a_name_to_the_next)
{
    struct watch w = { .epoll = epoll_create1(EPOLL_CLOEXEC) };
    struct redlock_lock lock;
    const struct redlock_request request = {
        .resource = "next", .resource_size = strlen("next"), .ttl_ms = TTL_MS
    };
    redlock_lock_init(&lock);
    memset(w.fds, -1, sizeof w.fds);
    CHECK(w.epoll >= 0 && open_client(&alice, node_list));
    for (unsigned k = 0; k < NODES; k++) CHECK(put_dead_address_first(&alice, k));
    CHECK_STATUS(redlock_start_acquire(&alice.engine, &lock, &request, redlock_now_us()),
                 REDLOCK_OK);
    CHECK_STATUS(finish_with_epoll(&w, &alice, &lock), REDLOCK_OK);
    CHECK_INT(w.refused, 0);
    CHECK_STATUS(redlock_start_release(&alice.engine, &lock, redlock_now_us()), REDLOCK_OK);
    CHECK_STATUS(finish_with_epoll(&w, &alice, &lock), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    close(w.epoll);
}
#else
TEST(an_epoll_loop_gets_from_one_address_of_a_name_to_the_next)
{
    TAP_SKIP("this system has no epoll");
}
TEST(an_epoll_loop_acquires_and_releases_across_reconnects)
{
    TAP_SKIP("this system has no epoll");
}
#endif

/* A listener with a queue of one, which is full, so the next client gets through when the
 * first is gone. */
struct crowd {
    int listener, other;
    char address[32];
};

static bool gather(struct crowd *crowd)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof address;
    crowd->listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(crowd->listener, (struct sockaddr *)&address, size) < 0 ||
        listen(crowd->listener, 0) < 0)
        return false;
    if (getsockname(crowd->listener, (struct sockaddr *)&address, &size) < 0) return false;
    crowd->other = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(crowd->other, (struct sockaddr *)&address, size) < 0) return false;
    snprintf(crowd->address, sizeof crowd->address, "127.0.0.1:%u", ntohs(address.sin_port));
    return true;
}

/* Waits until the client's connection stands. */
static bool let_through(const struct crowd *crowd, struct redlock_client *c)
{
    struct pollfd fd = { .fd = redlock_fd(c, 0), .events = POLLOUT };
    close(accept(crowd->listener, NULL, NULL));
    return poll(&fd, 1, 2 * PATIENCE_MS) == 1;
}

static void disperse(const struct crowd *crowd)
{
    close(crowd->other);
    close(crowd->listener);
}

/* A tick of the program's own gives it up. */
TEST(a_connection_that_the_engine_gave_up_between_two_steps_does_no_harm)
{
    enum { NODE_TIMEOUT_MS = 500 };
    struct crowd crowd;
    CHECK(gather(&crowd));
    CHECK(open_hasty_client(&alice, crowd.address, NODE_TIMEOUT_MS));
    CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
    CHECK_INT(redlock_events(&alice, 0), REDLOCK_WRITE);
    nap_ms(NODE_TIMEOUT_MS + 100);
    CHECK(let_through(&crowd, &alice));
    redlock_tick(&alice.engine, redlock_now_us());
    CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
    CHECK(!redlock_node_votes(&alice.engine, 0, redlock_now_us()));
    redlock_close(&alice, 0);
    disperse(&crowd);
}

/* The first piece of the handshake is answered by a reset, which the second meets. The server's
 * earlier words are there to be read. */
TEST(a_server_that_turns_us_away_before_we_have_said_all_is_quoted)
{
    static const char words[] = "-ERR max number of clients reached\r\n";
    struct crowd crowd;
    CHECK(gather(&crowd));
    CHECK(open_client(&alice, crowd.address));
    CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
    CHECK(let_through(&crowd, &alice));
    int server = accept(crowd.listener, NULL, NULL);
    CHECK(send(server, words, strlen(words), MSG_NOSIGNAL) == (ssize_t)strlen(words));
    close(server);
    CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
    CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
    CHECK_INT(trouble(&alice, 0), REDLOCK_TROUBLE_MAX_CLIENTS);
    redlock_close(&alice, 0);
    disperse(&crowd);
}

TEST(an_operation_that_has_ended_is_told_once)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(open_client(&alice, node_list));
    CHECK(redlock_next_done(&alice.engine) == NULL);
    CHECK_STATUS(acquire(&alice, &lock, "done", TTL_MS, 0), REDLOCK_OK);
    CHECK(redlock_next_done(&alice.engine) == &lock);
    CHECK(redlock_next_done(&alice.engine) == NULL);
    CHECK_STATUS(release(&alice, &lock), REDLOCK_OK);
    CHECK(redlock_next_done(&alice.engine) == &lock);
    CHECK(redlock_next_done(&alice.engine) == NULL);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_released_lock_can_be_parted_with_and_its_memory_used_again)
{
    struct redlock_lock *lock = malloc(sizeof *lock);
    char *name = malloc(16);
    if (lock == NULL || name == NULL) bail_out("malloc");
    redlock_lock_init(lock);
    strcpy(name, "parted");
    CHECK(open_client(&alice, node_list));
    CHECK_STATUS(acquire(&alice, lock, name, TTL_MS, 0), REDLOCK_OK);
    server_freeze(&nodes[0]);
    enum redlock_status released = release(&alice, lock);
    redlock_part(&alice, lock);
    free(lock);
    free(name);
    server_thaw(&nodes[0]);
    CHECK_STATUS(released, REDLOCK_OK);
    redlock_close(&alice, PATIENCE_MS);
    CHECK_SOON(key_is_gone(nodes, NODES, "parted"));
}

TEST(a_lock_that_is_moved_in_the_middle_of_everything_goes_on)
{
    struct redlock_lock here, there;
    char name[] = "moved", other_name[] = "moved";
    const struct redlock_request request = {
        .resource = name, .resource_size = strlen(name), .ttl_ms = TTL_MS
    };
    redlock_lock_init(&here);
    redlock_lock_init(&there);
    CHECK(open_client(&alice, node_list));
    CHECK_STATUS(redlock_start_acquire(&alice.engine, &here, &request, redlock_now_us()),
                 REDLOCK_OK);
    redlock_step(&alice);
    redlock_move(&alice.engine, &there, &here, other_name);
    memset(&here, 0xff, sizeof here);
    memset(name, 'x', sizeof name);
    CHECK_STATUS(finish(&alice, &there), REDLOCK_OK);
    CHECK_STATUS(release(&alice, &there), REDLOCK_OK);
    CHECK(becomes_idle(&alice, &there));
    CHECK(key_is_gone(nodes, NODES, "moved"));
    redlock_close(&alice, CLOSE_MS);
}

TEST(inspect_goes_through_a_loop_too)
{
    struct redlock_lock lock;
    struct redlock_sight sights[NODES];
    redlock_lock_init(&lock);
    CHECK(open_client(&alice, node_list));
    ASK(&nodes[1], "SET", "sight", "value", "PX", "5000");
    CHECK_STATUS(redlock_start_inspect(&alice.engine, &lock, "sight", strlen("sight"),
                                       sights, redlock_now_us()),
                 REDLOCK_OK);
    CHECK_STATUS(finish(&alice, &lock), REDLOCK_OK);
    CHECK(sights[0].seen && !sights[0].exists);
    CHECK(sights[1].exists);
    CHECK_STR(sights[1].value, "value");
    redlock_close(&alice, CLOSE_MS);
}

/* ---- Waiting and giving up ---- */

TEST(a_waiting_acquire_gets_the_lock_in_the_same_loop_in_which_it_is_released)
{
    struct redlock_lock first, second;
    const struct redlock_request request = {
        .resource = "same-loop", .resource_size = strlen("same-loop"), .ttl_ms = TTL_MS,
        .wait_ms = REDLOCK_FOREVER
    };
    redlock_lock_init(&first);
    redlock_lock_init(&second);
    CHECK(open_client(&alice, node_list));
    CHECK_STATUS(acquire(&alice, &first, "same-loop", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_start_acquire(&alice.engine, &second, &request, redlock_now_us()),
                 REDLOCK_OK);
    turn_for(&alice, 100);
    CHECK_STATUS(redlock_lock_status(&second), REDLOCK_PENDING);
    CHECK_STATUS(redlock_attempt_status(&second), REDLOCK_TAKEN);
    CHECK_STATUS(release(&alice, &first), REDLOCK_OK);
    CHECK_STATUS(finish(&alice, &second), REDLOCK_OK);
    CHECK_STATUS(release(&alice, &second), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

/* Two clients in one loop. The waiter's own retries come too late to give it the lock. */
TEST(a_waiting_acquire_is_woken_in_a_loop_over_all_sessions)
{
    struct redlock_lock held, wanted;
    struct redlock_options options = throw_away_options();
    const struct redlock_request request = {
        .resource = "woken", .resource_size = strlen("woken"), .ttl_ms = TTL_MS,
        .wait_ms = REDLOCK_FOREVER, .wall_us = redlock_wall_us()
    };
    options.engine.retry_ms = REDLOCK_RETRY_MS_MAX;
    redlock_lock_init(&held);
    redlock_lock_init(&wanted);
    CHECK_STATUS(redlock_open(&alice, node_list, &options, NULL), REDLOCK_OK);
    CHECK(open_client(&bob, node_list));
    CHECK_INT(alice.engine.session_count, 2 * NODES);
    CHECK_STATUS(acquire(&bob, &held, "woken", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_start_acquire(&alice.engine, &wanted, &request, redlock_now_us()),
                 REDLOCK_OK);
    turn_for(&alice, 100);
    CHECK_STATUS(redlock_lock_status(&wanted), REDLOCK_PENDING);
    CHECK_STATUS(release(&bob, &held), REDLOCK_OK);
    uint64_t released_at = clock_ms();
    CHECK_STATUS(finish(&alice, &wanted), REDLOCK_OK);
    CHECK(clock_ms() - released_at < TTL_MS / 2);
    CHECK_STATUS(release(&alice, &wanted), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

/* Loops did so before there were wake-ups. Nobody waits for the descriptors after those of the
 * nodes, and they stay closed. */
TEST(a_loop_over_the_nodes_alone_needs_no_wake_ups)
{
    struct redlock_lock held, wanted;
    redlock_lock_init(&held);
    redlock_lock_init(&wanted);
    CHECK(open_client(&alice, node_list) && open_client(&bob, node_list));
    CHECK_STATUS(acquire(&bob, &held, "nodes-alone", 500, 0), REDLOCK_OK);
    CHECK_STATUS(acquire(&alice, &wanted, "nodes-alone", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    for (unsigned k = NODES; k < 2 * NODES; k++) CHECK_INT(redlock_fd(&alice, k), -1);
    CHECK_STATUS(release(&alice, &wanted), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

TEST(a_cancelled_acquire_leaves_nothing)
{
    struct redlock_lock lock;
    const struct redlock_request request = {
        .resource = "cancelled", .resource_size = strlen("cancelled"), .ttl_ms = TTL_MS,
        .wait_ms = REDLOCK_FOREVER
    };
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "CONFIG", "RESETSTAT");
    CHECK_STATUS(redlock_start_acquire(&alice.engine, &lock, &request, redlock_now_us()),
                 REDLOCK_OK);
    redlock_step(&alice);       /* The SETs are on their way. */
    if (redlock_lock_status(&lock) == REDLOCK_PENDING) {
        redlock_cancel(&alice.engine, &lock, redlock_now_us());
        CHECK_STATUS(redlock_lock_status(&lock), REDLOCK_CANCELLED);
    } else {
        redlock_start_release(&alice.engine, &lock, redlock_now_us());
    }
    CHECK_INT(redlock_valid_ms(&lock), 0);
    CHECK(becomes_idle(&alice, &lock));
    for (unsigned k = 0; k < NODES; k++) CHECK_INT(executed(&nodes[k], "set"), 1);
    CHECK_SOON(key_is_gone(nodes, NODES, "cancelled"));
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_waiting_acquire_that_is_cancelled_ends_at_once)
{
    struct redlock_lock lock;
    const struct redlock_request request = {
        .resource = "queue", .resource_size = strlen("queue"), .ttl_ms = TTL_MS,
        .wait_ms = REDLOCK_FOREVER
    };
    redlock_lock_init(&lock);
    CHECK(open_client(&alice, node_list));
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "SET", "queue", "stranger", "PX", "10000");
    CHECK_STATUS(redlock_start_acquire(&alice.engine, &lock, &request, redlock_now_us()),
                 REDLOCK_OK);
    turn_for(&alice, 100);
    CHECK_STATUS(redlock_lock_status(&lock), REDLOCK_PENDING);
    redlock_cancel(&alice.engine, &lock, redlock_now_us());
    CHECK_STATUS(redlock_lock_status(&lock), REDLOCK_CANCELLED);
    CHECK(becomes_idle(&alice, &lock));
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_on_all(nodes, NODES, "queue", "stranger"));
}

TEST(a_lock_forgotten_in_the_middle_does_not_disturb_the_next)
{
    struct redlock_lock lock;
    const struct redlock_request request = {
        .resource = "forgotten", .resource_size = strlen("forgotten"), .ttl_ms = 500
    };
    CHECK(join(&alice, node_list));
    for (unsigned i = 0; i < 10; i++) {
        redlock_lock_init(&lock);
        CHECK_STATUS(
            redlock_start_acquire(&alice.engine, &lock, &request, redlock_now_us()),
            REDLOCK_OK);
        redlock_step(&alice);
        redlock_forget(&alice.engine, &lock);
        memset(&lock, 0xff, sizeof lock);
    }
    redlock_lock_init(&lock);
    CHECK_STATUS(acquire(&alice, &lock, "remembered", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(release(&alice, &lock), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

/* ---- Sleeping ---- */

enum { TURNS_OF_A_SLEEPER = 40 };    /* Turns in 300 ms. One that spins takes thousands. */

TEST(a_loop_that_has_just_begun_something_does_not_sleep_before_it_has_connected)
{
    struct redlock_lock lock;
    const struct redlock_request request = {
        .resource = "begun", .resource_size = strlen("begun"), .ttl_ms = TTL_MS
    };
    redlock_lock_init(&lock);
    CHECK(open_client(&alice, node_list));
    CHECK_STATUS(redlock_start_acquire(&alice.engine, &lock, &request, redlock_now_us()),
                 REDLOCK_OK);
    CHECK_INT(redlock_poll_ms(&alice), 0);
    CHECK_INT(redlock_fd(&alice, 0), -1);
    CHECK_STATUS(finish(&alice, &lock), REDLOCK_OK);
    CHECK(redlock_poll_ms(&alice) != 0);
    CHECK_STATUS(release(&alice, &lock), REDLOCK_OK);
    CHECK(becomes_idle(&alice, &lock));
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_loop_with_nothing_to_do_sleeps)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(open_client(&alice, node_list));
    CHECK_STATUS(acquire(&alice, &lock, "sleep", TTL_MS, 0), REDLOCK_OK);
    CHECK(turn_for(&alice, 300) < TURNS_OF_A_SLEEPER);
    CHECK_STATUS(release(&alice, &lock), REDLOCK_OK);
    CHECK(becomes_idle(&alice, &lock));
    CHECK(turn_for(&alice, 300) < TURNS_OF_A_SLEEPER);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_loop_with_a_dead_node_and_a_frozen_one_sleeps)
{
    struct redlock_lock lock;
    char list[160];
    redlock_lock_init(&lock);
    snprintf(list, sizeof list, "127.0.0.1:%d,%s", refused_port(), node_list);
    CHECK(open_hasty_client(&alice, list, 1500));
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    server_freeze(&nodes[2]);
    enum redlock_status status = acquire(&alice, &lock, "troubled-sleep", TTL_MS, 0);
    unsigned turns = turn_for(&alice, 300);
    server_thaw(&nodes[2]);
    CHECK_STATUS(status, REDLOCK_NO_QUORUM);    /* Two of four. */
    CHECK(turns < TURNS_OF_A_SLEEPER);
    redlock_close(&alice, PATIENCE_MS);
}

TEST(a_loop_that_waits_for_a_lock_sleeps_between_its_attempts)
{
    struct redlock_lock lock;
    struct redlock_options options = throw_away_options();
    const struct redlock_request request = {
        .resource = "patience", .resource_size = strlen("patience"), .ttl_ms = TTL_MS,
        .wait_ms = REDLOCK_FOREVER
    };
    options.engine.retry_ms = 100;
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_open(&alice, node_list, &options, NULL), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++)
        ASK(&nodes[k], "SET", "patience", "stranger", "PX", "10000");
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_start_acquire(&alice.engine, &lock, &request, redlock_now_us()),
                 REDLOCK_OK);
    redlock_step(&alice);
    CHECK(turn_for(&alice, 300) < 2 * TURNS_OF_A_SLEEPER);
    redlock_cancel(&alice.engine, &lock, redlock_now_us());
    redlock_close(&alice, CLOSE_MS);
}

/* ---- Many locks at once ---- */

static struct redlock_lock many[MANY];
static char names[MANY][32];
static uint64_t many_memory[REDLOCK_MEMORY(REDLOCK_SESSIONS(NODES, true), MANY_PIPELINE,
                                           MANY_SEND_SIZE, MANY_RECEIVE_SIZE) /
                                8 +
                            1];

static struct redlock_options roomy_options(void)
{
    struct redlock_options options = throw_away_options();
    options.engine.pipeline = MANY_PIPELINE;
    options.engine.send_size = MANY_SEND_SIZE;
    options.engine.receive_size = MANY_RECEIVE_SIZE;
    options.memory = many_memory;
    options.memory_size = sizeof many_memory;
    return options;
}

static bool start_all(const char *prefix, uint32_t wait_ms)
{
    bool good = true;
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "%s-%u", prefix, i);
        redlock_lock_init(&many[i]);
        const struct redlock_request request = {
            .resource = names[i], .resource_size = strlen(names[i]), .ttl_ms = TTL_MS,
            .wait_ms = wait_ms
        };
        good &= redlock_start_acquire(&alice.engine, &many[i], &request,
                                      redlock_now_us()) == REDLOCK_OK;
    }
    return good;
}

/* Turns until all have ended. Returns how many ended like that. */
static unsigned finish_all(enum redlock_status expected)
{
    unsigned good = 0;
    for (unsigned i = 0; i < MANY; i++) good += finish(&alice, &many[i]) == expected;
    return good;
}

static bool keys_are(const struct server *s, const char *prefix, unsigned expected)
{
    char script[128], number[16];
    snprintf(script, sizeof script, "return #redis.call('KEYS', '%s-*')", prefix);
    snprintf(number, sizeof number, "%u", expected);
    return strcmp(ASK(s, "EVAL", script, "0"), number) == 0;
}

static void check_all_at_once(const char *prefix)
{
    CHECK(start_all(prefix, 0));
    CHECK_INT(finish_all(REDLOCK_OK), MANY);
    for (unsigned k = 0; k < NODES; k++)
        CHECK_SOON(keys_are(&nodes[k], prefix, MANY) || (poll_turn(&alice, 1), false));
    for (unsigned i = 0; i < MANY; i++)
        CHECK_STATUS(redlock_start_release(&alice.engine, &many[i], redlock_now_us()), REDLOCK_OK);
    CHECK_INT(finish_all(REDLOCK_OK), MANY);
    for (unsigned i = 0; i < MANY; i++) CHECK(becomes_idle(&alice, &many[i]));
    for (unsigned k = 0; k < NODES; k++) CHECK(keys_are(&nodes[k], prefix, 0));
}

TEST(five_hundred_locks_are_acquired_and_released_at_once)
{
    const struct redlock_options options = roomy_options();
    CHECK_STATUS(redlock_open(&alice, node_list, &options, NULL), REDLOCK_OK);
    check_all_at_once("roomy");
    unsigned told = 0;
    while (redlock_next_done(&alice.engine) != NULL) told++;
    CHECK_INT(told, MANY);
    redlock_close(&alice, CLOSE_MS);
}

TEST(five_hundred_locks_queue_where_the_buffers_hold_only_some)
{
    CHECK(open_client(&alice, node_list));
    check_all_at_once("queueing");
    redlock_close(&alice, CLOSE_MS);
}

TEST(five_hundred_locks_of_two_rivals_have_one_holder_each)
{
    struct redlock_lock rival;
    CHECK(open_client(&alice, node_list) && open_client(&bob, node_list));
    CHECK(start_all("rivalled", 0));
    CHECK_INT(finish_all(REDLOCK_OK), MANY);
    for (unsigned i = 0; i < MANY; i += 25) {
        redlock_lock_init(&rival);
        CHECK_STATUS(acquire(&bob, &rival, names[i], TTL_MS, 0), REDLOCK_TAKEN);
        CHECK(becomes_idle(&bob, &rival));
    }
    for (unsigned i = 0; i < MANY; i++) CHECK_STATUS(release(&alice, &many[i]), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

TEST(a_node_that_dies_among_five_hundred_locks_takes_none_with_it)
{
    const struct redlock_options options = roomy_options();
    CHECK_STATUS(redlock_open(&alice, node_list, &options, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    CHECK(start_all("dying", PATIENCE_MS));
    redlock_step(&alice);
    server_crash(&nodes[0]);
    unsigned won = finish_all(REDLOCK_OK);
    for (unsigned i = 0; i < MANY; i++)
        redlock_start_release(&alice.engine, &many[i], redlock_now_us());
    unsigned released = finish_all(REDLOCK_OK);
    server_restart(&nodes[0]);
    CHECK_INT(won, MANY);
    CHECK_INT(released, MANY);
    for (unsigned i = 0; i < MANY; i++) redlock_forget(&alice.engine, &many[i]);
    redlock_close(&alice, CLOSE_MS);
    for (unsigned k = 1; k < NODES; k++) CHECK(keys_are(&nodes[k], "dying", 0));
}

/* ---- Descriptors ---- */

static int spare[FD_SETSIZE + 16];
static unsigned spare_count;

static void take_descriptors(void)
{
    while (spare_count < sizeof spare / sizeof *spare &&
           (spare[spare_count] = open("/dev/null", O_RDONLY)) >= 0)
        spare_count++;
}

static void give_descriptors(void)
{
    while (spare_count > 0) close(spare[--spare_count]);
}

static bool allow_descriptors(rlim_t count)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = count;
    return (limit.rlim_max == RLIM_INFINITY || count <= limit.rlim_max) &&
           setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

TEST(descriptors_may_be_larger_than_select_could_take)
{
    struct redlock_lock lock;
    if (!allow_descriptors(FD_SETSIZE + 100))
        TAP_SKIP("no more than 1024 descriptors are allowed here");
    redlock_lock_init(&lock);
    take_descriptors();
    bool opened = open_client(&alice, node_list);
    enum redlock_status status = redlock_acquire(&alice, &lock, "large", TTL_MS, 0);
    int fd = redlock_fd(&alice, 0);
    enum redlock_status released = redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
    give_descriptors();
    CHECK(opened);
    CHECK(fd >= FD_SETSIZE);
    CHECK_STATUS(status, REDLOCK_OK);
    CHECK_STATUS(released, REDLOCK_OK);
}

TEST(without_descriptors_no_node_can_be_reached_and_with_them_all_can)
{
    if (servers_speak_tls()) TAP_SKIP("without descriptors the CA certificates cannot be read");
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(allow_descriptors(256));
    take_descriptors();
    bool opened = open_client(&alice, node_list);
    enum redlock_status status = redlock_acquire(&alice, &lock, "no-files", TTL_MS, 0);
    char why[256];
    snprintf(why, sizeof why, "%s", words(&alice, 0));
    give_descriptors();
    CHECK(opened);
    CHECK_STATUS(status, REDLOCK_NO_QUORUM);
    CHECK(strstr(why, "too many open files"));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "no-files", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

int main(int argc, char **argv)
{
    servers_start(nodes, NODES, "");
    snprintf(node_list, sizeof node_list, "%s", servers_list(nodes, NODES));
    return tap_run_all(argc, argv);
}
