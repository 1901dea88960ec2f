/* The adapters for event loops (net/loops) with real servers. Each rule is tried with each loop.
 * LOOP=name: with that one alone.
 *
 * A rig is a client in a loop. "poll" is a loop of the test's own, which has an adapter of its own,
 * as any other loop may. It can be told to refuse descriptors. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "redlock_loop_epoll.h"
#include "redlock_loop_glib.h"
#include "redlock_loop_libev.h"
#include "redlock_loop_libuv.h"

#include "../live/clients.h"

/* A loop that spins makes 100,000. */
enum { NODES = 3, LOCKS_MAX = 50, TURN_MS = 200, LIMIT_MS = 60000, STEPS_MAX = 500 };

static struct server servers[NODES];

/* ---- Rigs ---- */

struct poll_adapter {
    struct redlock_loop loop;
    uint64_t wake_at;
    bool is_refusing;
};

struct rig {
    const struct loop_kind *kind;
    struct redlock_client client;
    struct redlock_lock locks[LOCKS_MAX];
    char names[LOCKS_MAX][24];
    union {
        struct redlock_loop loop;
        struct redlock_loop_epoll epoll;
        struct redlock_loop_libuv libuv;
        struct redlock_loop_libev libev;
        struct redlock_loop_glib glib;
        struct poll_adapter poll;
    } adapter;
    union {
        int epoll;
        uv_loop_t libuv;
        struct ev_loop *libev;
        GMainContext *glib;
    } loop;
    uv_timer_t uv_limit;
    ev_timer ev_limit;
    unsigned steps, ended, held;
    enum redlock_status status;         /* The status of the last step that was not OK. */
    bool is_closed;                     /* libuv has said so. */
    bool detaches;                      /* It detaches in the next hook. */
    /* Files in the hook, which get the numbers of closed descriptors. */
    bool opens;
    int files[256];
    unsigned file_count;
};

/* The tests' view of a loop. turn waits for TURN_MS at most. */
struct loop_kind {
    const char *name;
    void (*open)(struct rig *rig);
    void (*attach)(struct rig *rig);
    void (*turn)(struct rig *rig);
    void (*detach)(struct rig *rig);
    void (*after_fork)(struct rig *rig);
    void (*close)(struct rig *rig);
};

static void hook(void *context, enum redlock_status status)
{
    struct rig *rig = context;
    struct redlock_lock *lock;

    rig->steps++;
    if (status != REDLOCK_OK) rig->status = status;
    if (rig->opens && rig->file_count < 256)
        rig->files[rig->file_count++] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (status == REDLOCK_FORKED || status == REDLOCK_NOT_OPEN) return;
    while ((lock = redlock_next_done(&rig->client.engine)) != NULL) {
        rig->ended++;
        rig->held += redlock_valid_ms(lock) > 0;
    }
    if (!rig->detaches) return;
    rig->detaches = false;
    rig->kind->detach(rig);
}

/* ---- epoll ---- */

static void epoll_open(struct rig *rig) { rig->loop.epoll = epoll_create1(EPOLL_CLOEXEC); }

static void epoll_attach(struct rig *rig)
{
    epoll_data_t data = { .ptr = rig };
    struct redlock_loop_epoll *adapter = &rig->adapter.epoll;

    if (redlock_loop_epoll_attach(adapter, rig->loop.epoll, data, &rig->client, hook, rig) !=
        REDLOCK_OK)
        bail_out("epoll");
}

static void epoll_turn(struct rig *rig)
{
    struct epoll_event event;
    if (epoll_wait(rig->loop.epoll, &event, 1, TURN_MS) == 1)
        redlock_loop_epoll_dispatch(&rig->adapter.epoll);
}

static void epoll_detach(struct rig *rig) { redlock_loop_epoll_detach(&rig->adapter.epoll); }
static void epoll_after_fork(struct rig *rig) { (void)rig; }
static void epoll_close(struct rig *rig) { close(rig->loop.epoll); }

/* ---- libuv ---- */

static void libuv_limit(uv_timer_t *timer) { (void)timer; }
static void libuv_closed(void *context) { ((struct rig *)context)->is_closed = true; }

static void libuv_open(struct rig *rig)
{
    uv_loop_init(&rig->loop.libuv);
    uv_timer_init(&rig->loop.libuv, &rig->uv_limit);
}

static void libuv_attach(struct rig *rig)
{
    redlock_loop_libuv_attach(&rig->adapter.libuv, &rig->loop.libuv, &rig->client, hook, rig);
}

static void libuv_turn(struct rig *rig)
{
    uv_update_time(&rig->loop.libuv);
    uv_timer_start(&rig->uv_limit, libuv_limit, TURN_MS, 0);
    uv_run(&rig->loop.libuv, UV_RUN_ONCE);
}

static void libuv_detach(struct rig *rig)
{
    redlock_loop_libuv_detach(&rig->adapter.libuv, libuv_closed, rig);
}
static void libuv_after_fork(struct rig *rig) { uv_loop_fork(&rig->loop.libuv); }

static void libuv_close(struct rig *rig)
{
    uv_close((uv_handle_t *)&rig->uv_limit, NULL);
    uv_run(&rig->loop.libuv, UV_RUN_DEFAULT);
    if (uv_loop_close(&rig->loop.libuv) != 0) bail_out("libuv has handles left");
    if (!rig->is_closed) bail_out("libuv's adapter was not closed");
}

/* ---- libev ---- */

static void libev_limit(struct ev_loop *ev, ev_timer *timer, int events)
{
    (void)ev, (void)timer, (void)events;
}
static void libev_open(struct rig *rig) { rig->loop.libev = ev_loop_new(EVFLAG_AUTO); }

static void libev_attach(struct rig *rig)
{
    redlock_loop_libev_attach(&rig->adapter.libev, rig->loop.libev, &rig->client, hook, rig);
}

static void libev_turn(struct rig *rig)
{
    ev_now_update(rig->loop.libev);
    ev_timer_init(&rig->ev_limit, libev_limit, TURN_MS / 1000.0, 0.0);
    ev_timer_start(rig->loop.libev, &rig->ev_limit);
    ev_run(rig->loop.libev, EVRUN_ONCE);
    ev_timer_stop(rig->loop.libev, &rig->ev_limit);
}

static void libev_detach(struct rig *rig) { redlock_loop_libev_detach(&rig->adapter.libev); }
static void libev_after_fork(struct rig *rig) { ev_loop_fork(rig->loop.libev); }
static void libev_close(struct rig *rig) { ev_loop_destroy(rig->loop.libev); }

/* ---- GLib ---- */

static gboolean glib_limit(gpointer data) { return (void)data, G_SOURCE_REMOVE; }
static void glib_open(struct rig *rig) { rig->loop.glib = g_main_context_new(); }
static void glib_attach(struct rig *rig)
{
    redlock_loop_glib_attach(&rig->adapter.glib, rig->loop.glib, &rig->client, hook, rig);
}

static void glib_turn(struct rig *rig)
{
    GSource *limit = g_timeout_source_new(TURN_MS);
    g_source_set_callback(limit, glib_limit, NULL, NULL);
    g_source_attach(limit, rig->loop.glib);
    g_main_context_iteration(rig->loop.glib, TRUE);
    g_source_destroy(limit);
    g_source_unref(limit);
}

static void glib_detach(struct rig *rig) { redlock_loop_glib_detach(&rig->adapter.glib); }
static void glib_after_fork(struct rig *rig) { (void)rig; }
static void glib_close(struct rig *rig) { g_main_context_unref(rig->loop.glib); }

/* ---- A loop of one's own ---- */

static bool poll_watch(struct redlock_loop *loop, unsigned k, struct redlock_loop_watch wanted)
{
    (void)k;        /* The watched descriptors are in loop->watches. */
    return wanted.fd < 0 || !((struct poll_adapter *)loop)->is_refusing;
}

static void poll_wake_in(struct redlock_loop *loop, int ms)
{
    ((struct poll_adapter *)loop)->wake_at =
        ms < 0 ? REDLOCK_NEVER : redlock_now_us() + (uint64_t)ms * 1000;
}

static void poll_attach(struct rig *rig)
{
    static const struct redlock_loop_calls calls = { poll_watch, poll_wake_in };
    redlock_loop_begin(&rig->adapter.loop, &calls, &rig->client, hook, rig);
}

static int poll_left(const struct rig *rig)
{
    const uint64_t at = rig->adapter.poll.wake_at, now = redlock_now_us();
    if (at == REDLOCK_NEVER || at > now + TURN_MS * 1000) return TURN_MS;
    return at <= now ? 0 : (int)((at - now + 999) / 1000);
}

static void poll_turn(struct rig *rig)
{
    struct pollfd fds[REDLOCK_LOOP_SESSIONS];
    unsigned ready = 0;

    for (unsigned k = 0; k < REDLOCK_LOOP_SESSIONS; k++) {
        const struct redlock_loop_watch watch = rig->adapter.loop.watches[k];
        fds[k] = (struct pollfd){ .fd = watch.fd };
        fds[k].events = (short)((watch.events & REDLOCK_READ ? POLLIN : 0) |
                                (watch.events & REDLOCK_WRITE ? POLLOUT : 0));
    }
    poll(fds, REDLOCK_LOOP_SESSIONS, poll_left(rig));
    for (unsigned k = 0; k < REDLOCK_LOOP_SESSIONS; k++) ready |= fds[k].revents ? 1u << k : 0;
    if (ready != 0 || rig->adapter.poll.wake_at <= redlock_now_us())
        redlock_loop_turn(&rig->adapter.loop, ready);
}

static void poll_detach(struct rig *rig) { redlock_loop_end(&rig->adapter.loop); }
static void poll_nothing(struct rig *rig) { (void)rig; }

static const struct loop_kind kinds[] = {
    { "epoll", epoll_open, epoll_attach, epoll_turn, epoll_detach, epoll_after_fork, epoll_close },
    { "libuv", libuv_open, libuv_attach, libuv_turn, libuv_detach, libuv_after_fork, libuv_close },
    { "libev", libev_open, libev_attach, libev_turn, libev_detach, libev_after_fork, libev_close },
    { "glib", glib_open, glib_attach, glib_turn, glib_detach, glib_after_fork, glib_close },
    { "poll", poll_nothing, poll_attach, poll_turn, poll_detach, poll_nothing, poll_nothing },
};

/* ---- Verbs ---- */

static struct rig *current;         /* A child, which ends at once, does not lose it. */

/* It is on the heap, so valgrind and ASan find an access that is too late. */
static struct rig *rig_begin(const struct loop_kind *kind)
{
    struct rig *rig = calloc(1, sizeof *rig);

    if (!rig || !open_client(&rig->client, servers_list(servers, NODES))) bail_out("no client");
    current = rig;
    rig->kind = kind;
    for (unsigned i = 0; i < LOCKS_MAX; i++) redlock_lock_init(&rig->locks[i]);
    kind->open(rig);
    kind->attach(rig);
    return rig;
}

static void rig_end(struct rig *rig)
{
    struct redlock_lock *locks[LOCKS_MAX];

    rig->kind->detach(rig);
    for (unsigned i = 0; i < LOCKS_MAX; i++) locks[i] = &rig->locks[i];
    redlock_release_all(&rig->client, locks, LOCKS_MAX, CLOSE_MS);
    redlock_close(&rig->client, CLOSE_MS);
    rig->kind->close(rig);
    for (unsigned i = 0; i < rig->file_count; i++) close(rig->files[i]);
    free(rig);
    current = NULL;
}

/* Turns the loop until that is so. */
#define RUN_UNTIL(rig, condition)                                                               \
    do {                                                                                        \
        const uint64_t run_until = clock_ms() + LIMIT_MS;                                       \
        while (!(condition) && clock_ms() < run_until) (rig)->kind->turn(rig);                  \
        TAP_CHECK(condition, "not even after %d s: %s", LIMIT_MS / 1000, #condition);            \
    } while (0)

/* Turns the loop for so long. */
static void run_for(struct rig *rig, uint64_t ms)
{
    for (const uint64_t until = clock_ms() + ms; clock_ms() < until;) rig->kind->turn(rig);
}

static bool all_vote(struct rig *rig)
{
    for (unsigned k = 0; k < NODES; k++)
        if (!votes(&rig->client, k)) return false;
    return true;
}

/* Lock number i, without a word to the loop. */
static enum redlock_status start(struct rig *rig, unsigned i, uint32_t wait_ms)
{
    struct redlock_request request;

    redlock_request_init(&request);
    snprintf(rig->names[i], sizeof rig->names[i], "%s %u", rig->kind->name, i);
    request.resource = rig->names[i];
    request.resource_size = strlen(rig->names[i]);
    request.ttl_ms = TTL_MS;
    request.wait_ms = wait_ms;
    request.wall_us = redlock_wall_us();
    return redlock_start_acquire(&rig->client.engine, &rig->locks[i], &request, redlock_now_us());
}

#define FOR_EACH_KIND(kind) \
    for (const struct loop_kind *kind = kinds; kind < kinds + sizeof kinds / sizeof kinds[0]; \
         kind++) \
        if (is_wanted(kind))

static bool is_wanted(const struct loop_kind *kind)
{
    const char *loop = getenv("LOOP");

    if (servers[0].pid == 0) servers_start(servers, NODES, "");
    TAP_CONTEXT("%s", kind->name);
    return !loop || strcmp(loop, kind->name) == 0;
}

/* ---- Rules ---- */

static void take_fifty_locks(const struct loop_kind *kind)
{
    struct rig *rig = rig_begin(kind);

    RUN_UNTIL(rig, all_vote(rig));
    for (unsigned i = 0; i < LOCKS_MAX; i++) CHECK_STATUS(start(rig, i, 0), REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    rig->steps = 0;
    RUN_UNTIL(rig, rig->ended == LOCKS_MAX);
    CHECK_INT(rig->held, LOCKS_MAX);
    TAP_CHECK(rig->steps < STEPS_MAX, "%u steps", rig->steps);
    for (unsigned i = 0; i < LOCKS_MAX; i++)
        CHECK_STATUS(
            redlock_start_release(&rig->client.engine, &rig->locks[i], redlock_now_us()),
            REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, rig->ended == 2 * LOCKS_MAX);
    rig_end(rig);
}

TEST(fifty_locks_are_acquired_and_released)
{
    FOR_EACH_KIND(kind) take_fifty_locks(kind);
}

static void wait_in_line(const struct loop_kind *kind)
{
    static struct redlock_client rival;
    struct redlock_lock lock;
    struct rig *rig = rig_begin(kind);
    char name[24];

    redlock_lock_init(&lock);
    snprintf(name, sizeof name, "%s 0", kind->name);
    CHECK(join(&rival, servers_list(servers, NODES)));
    CHECK_STATUS(redlock_acquire(&rival, &lock, name, TTL_MS, 0), REDLOCK_OK);
    RUN_UNTIL(rig, all_vote(rig));
    CHECK_STATUS(start(rig, 0, REDLOCK_FOREVER), REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, redlock_attempt_status(&rig->locks[0]) == REDLOCK_TAKEN);
    run_for(rig, 300);
    rig->steps = 0;
    run_for(rig, 500);
    TAP_CHECK(rig->steps < STEPS_MAX, "%u steps in half a second of waiting", rig->steps);
    CHECK_INT(rig->ended, 0);
    CHECK_STATUS(redlock_release(&rival, &lock, NULL), REDLOCK_OK);
    RUN_UNTIL(rig, rig->held == 1);
    TAP_CHECK(rig->steps < STEPS_MAX, "%u steps", rig->steps);
    redlock_close(&rival, CLOSE_MS);
    CHECK_STATUS(
        redlock_start_release(&rig->client.engine, &rig->locks[0], redlock_now_us()),
        REDLOCK_OK);
    rig_end(rig);
}

TEST(a_lock_that_waits_is_woken_and_does_not_spin)
{
    FOR_EACH_KIND(kind) wait_in_line(kind);
}

static void lose_a_server(const struct loop_kind *kind, bool opens)
{
    struct rig *rig = rig_begin(kind);

    rig->opens = opens;
    RUN_UNTIL(rig, all_vote(rig));
    CHECK_STATUS(start(rig, 0, 0), REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, rig->held == 1);
    server_crash(&servers[1]);
    RUN_UNTIL(rig, !votes(&rig->client, 1));
    CHECK_STATUS(redlock_start_extend(&rig->client.engine, &rig->locks[0], TTL_MS,
                                      redlock_now_us()),
                 REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, rig->held == 2);
    rig->steps = 0;
    run_for(rig, 300);
    TAP_CHECK(rig->steps < STEPS_MAX, "%u steps while a server was away", rig->steps);
    server_restart(&servers[1]);
    RUN_UNTIL(rig, all_vote(rig));
    CHECK_STATUS(
        redlock_start_release(&rig->client.engine, &rig->locks[0], redlock_now_us()),
        REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, redlock_idle(&rig->locks[0]));
    rig->steps = 0;
    run_for(rig, 300);
    TAP_CHECK(rig->steps < STEPS_MAX, "%u steps when all is quiet", rig->steps);
    rig_end(rig);
}

TEST(a_server_that_is_killed_and_restarted_is_found_again)
{
    FOR_EACH_KIND(kind) lose_a_server(kind, false);
}

TEST(the_hook_may_open_files_with_the_numbers_of_closed_descriptors)
{
    FOR_EACH_KIND(kind) lose_a_server(kind, true);
}

static void detach_inside(const struct loop_kind *kind)
{
    struct rig *rig = rig_begin(kind);
    unsigned steps;

    RUN_UNTIL(rig, all_vote(rig));
    CHECK_STATUS(start(rig, 0, 0), REDLOCK_OK);
    rig->detaches = true;
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, !rig->detaches);
    steps = rig->steps;
    run_for(rig, 50);
    CHECK_INT(rig->steps, steps);
    if (strcmp(kind->name, "libuv") == 0) RUN_UNTIL(rig, rig->is_closed);
    kind->attach(rig);
    RUN_UNTIL(rig, rig->held == 1);
    rig_end(rig);
}

TEST(the_hook_may_detach_and_the_client_be_attached_anew)
{
    FOR_EACH_KIND(kind) detach_inside(kind);
}

/* Runs in the child, whose exit status gives the hook's argument. */
static void go_on_in_child(struct rig *rig)
{
    rig->kind->after_fork(rig);
    rig->steps = 0;
    redlock_loop_wake(&rig->adapter.loop);
    redlock_loop_turn(&rig->adapter.loop, 0);
    rig->kind->detach(rig);
    redlock_close(&rig->client, 0);
    _exit(rig->status == REDLOCK_FORKED && rig->steps == 1 ? 0 : 1);
}

static void fork_off(const struct loop_kind *kind)
{
    struct rig *rig = rig_begin(kind);
    pid_t child;

    RUN_UNTIL(rig, all_vote(rig));
    child = process_fork();
    if (child == 0) go_on_in_child(rig);
    CHECK_INT(process_wait(child), 0);
    CHECK_STATUS(start(rig, 0, 0), REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, rig->held == 1);
    rig_end(rig);
}

TEST(a_child_is_told_that_it_is_one_and_the_parent_goes_on)
{
    FOR_EACH_KIND(kind) fork_off(kind);
}

/* Neither the adapter nor its loop is called again and again. */
static void live_on_as_child(const struct loop_kind *kind)
{
    struct rig *rig = rig_begin(kind);
    clock_t used;
    pid_t child;

    RUN_UNTIL(rig, all_vote(rig));
    child = process_fork();
    if (child == 0) for (;;) pause();
    server_crash(&servers[2]);
    RUN_UNTIL(rig, !votes(&rig->client, 2));
    rig->steps = 0;
    used = clock();
    run_for(rig, 300);
    used = clock() - used;
    TAP_CHECK(rig->steps < STEPS_MAX, "%u steps while a child has copies of what was closed",
              rig->steps);
    TAP_CHECK(used < CLOCKS_PER_SEC * 3 / 20, "%ld us of CPU in 300 ms meanwhile",
              (long)(used * 1000000 / CLOCKS_PER_SEC));
    server_restart(&servers[2]);
    RUN_UNTIL(rig, all_vote(rig));
    CHECK_STATUS(start(rig, 0, 0), REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, rig->held == 1);
    kill(child, SIGKILL);
    process_wait(child);
    rig_end(rig);
}

TEST(descriptors_that_a_child_has_copies_of_do_no_harm)
{
    FOR_EACH_KIND(kind) live_on_as_child(kind);
}

static void close_under_the_loop(const struct loop_kind *kind)
{
    struct rig *rig = rig_begin(kind);

    RUN_UNTIL(rig, all_vote(rig));
    redlock_close(&rig->client, 0);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, rig->status == REDLOCK_NOT_OPEN);
    rig->steps = 0;
    run_for(rig, 50);
    CHECK_INT(rig->steps, 0);
    rig_end(rig);
}

TEST(a_client_that_was_closed_too_early_is_left_alone)
{
    FOR_EACH_KIND(kind) close_under_the_loop(kind);
}

TEST(what_the_loop_refuses_to_watch_is_looked_at_nevertheless)
{
    const struct loop_kind *own = &kinds[sizeof kinds / sizeof kinds[0] - 1];
    struct rig *rig;

    if (!is_wanted(own)) TAP_SKIP("not with this loop");
    rig = rig_begin(own);
    rig->adapter.poll.is_refusing = true;
    RUN_UNTIL(rig, all_vote(rig));
    CHECK_STATUS(rig->status, REDLOCK_SYSTEM);
    CHECK_STATUS(start(rig, 0, 0), REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, rig->held == 1);
    TAP_CHECK(rig->steps < STEPS_MAX, "%u steps", rig->steps);
    rig->adapter.poll.is_refusing = false;
    RUN_UNTIL(rig, rig->adapter.loop.refused == 0);
    CHECK_STATUS(
        redlock_start_release(&rig->client.engine, &rig->locks[0], redlock_now_us()),
        REDLOCK_OK);
    redlock_loop_wake(&rig->adapter.loop);
    RUN_UNTIL(rig, redlock_idle(&rig->locks[0]));
    rig_end(rig);
}

TAP_MAIN
