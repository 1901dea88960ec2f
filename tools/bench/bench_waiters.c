/* Many waiters on one resource. Measures how long a hand-over takes, from a holder's release to the
 * next one's start; how many attempts an acquisition costs; and how evenly the waiters
 * get their turn.
 *
 * Each waiter is a client of its own, with its own connections. Eight waiters are eight processes,
 * or --processes; more of them share these, in an event loop each. Each holds the lock for
 * --hold-us, releases it, and waits for it again at once, so all but one of them are waiting at any
 * time, unless they share it. Their findings are put into memory that they share.
 *
 * The first --readers of them share the lock, the others are writers; with --permits K up to K hold
 * one at the same time. The figures are then how many hold at the same time, and the longest wait
 * of a reader and of a writer.
 *
 * A waiter is passed by another one whose wait began when it was queued, and that gets in before
 * it. When is it queued? A fair lock's is when a quorum has answered its second poll; of other
 * waiters, which have no turn, it is said two rounds after their first attempt was refused. With
 * --far F the first of all waiters is F round trips away where the others are one.
 *
 * The unit is a round trip in the same rhythm, just before and just after. It is the time that one
 * client needs to acquire, after a pause as long as the lock is held by the others. */
#define _GNU_SOURCE
#include "bench.h"

#include "../../redlock/redlock_client.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WAITERS_SESSIONS_MAX = REDLOCK_SESSIONS(BENCH_NODES_MAX, true),
    WAITERS_EVENTS = 256,           /* Taken from the kernel at once. */
    /* A process looks so often whether the others have come to an end. */
    WAITERS_GLANCE_MS = 50,
    WAITERS_ALONE = 100,            /* Round trips that are measured before, */
    WAITERS_ALONE_ALL = 200,        /* and after as well. */
    WAITERS_SESSION_BITS = 5,
    WAITERS_RATE_MAX = 100000,      /* Wins a second that there is memory for. */
    WAITERS_EVENTS_KEPT = 64,       /* Events of one waiter between two looks. */
    WAITERS_CLOSE_MS = 1000
};

_Static_assert(WAITERS_SESSIONS_MAX <= 1 << WAITERS_SESSION_BITS,
               "an event names a waiter and a session");

static const uint64_t WAITERS_NEVER = UINT64_MAX;

/* One waiter. Times are of bench_now_ns. */
struct waiter {
    unsigned number;                /* Its number among all. */
    struct redlock_client client;
    struct redlock_lock lock;
    /* The sessions as epoll knows them. */
    struct { int fd; unsigned events; } watched[WAITERS_SESSIONS_MAX];
    unsigned ready;                 /* Sessions with something to receive. */
    uint64_t step_at;               /* When its engine must be called. */
    uint64_t think_until;           /* The time until which it holds, or pauses; NEVER: neither. */
    uint64_t acquire_at;
    uint64_t queued_at;             /* NEVER: not yet. */
    uint64_t wins_before;           /* Wins of all, when it was queued. */
    bool is_holder;
    uint32_t round;                 /* The last one before it began to acquire. */
    uint32_t polled;                /* The last one that a quorum has answered, */
    unsigned polls;                 /* and so many of them in this wait. */
    struct bench_far *far;          /* NULL: it is near. */
    struct redlock_event_ring events;
    struct redlock_event ring[WAITERS_EVENTS_KEPT];     /* Commands that it has sent. */
};

/* The common knowledge of all processes. */
struct findings {
    _Atomic uint64_t measure_from, measure_until;   /* 0: not yet known. */
    _Atomic uint64_t release_at;    /* When the last release began. */
    _Atomic uint64_t won, attempts; /* Counts of the measured part; */
    _Atomic uint64_t holders, most; /* Present holders; the most of them at the same time. */
    /* For writers and for readers, the longest wait, in nanoseconds; wins. */
    _Atomic uint64_t longest[2], wins[2];
    _Atomic uint64_t passed_most;   /* The most others that passed in one wait. */
    _Atomic uint64_t commands;      /* Sent. */
    _Atomic uint64_t cpu_us;        /* CPU time of all waiters in it, */
    double servers_us;              /* and of all nodes. */
    uint64_t far_ns;                /* A round trip of the first of all takes so much longer. */
    uint64_t capacity;
    _Atomic uint64_t shares[BENCH_CONCURRENCY_MAX];
    /* For each win, nanoseconds since the release, and those of its own round. */
    uint32_t *handovers, *rounds;
    /* Microseconds of each win, followed by those of each waiter that waits in the end, or 0. */
    uint32_t *waits;
    _Atomic uint64_t *begun;        /* For each win, the time since which it was waited for. */
};

/* Those of one process. */
struct waiters {
    const struct bench_options *options;
    struct findings *findings;
    int epoll;
    unsigned first, count;          /* The waiters from `first` on. */
    struct waiter **all;
    bool is_alone;
    unsigned alone_count;
    uint32_t *alone;                /* WAITERS_ALONE round trips, in nanoseconds. */
    /* CPU time before the measured part; NEVER until that has begun. */
    uint64_t cpu_us;
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "redlock-bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- One waiter's connections ---- */

static void open_waiter(const struct waiters *w, struct waiter *one)
{
    struct redlock_options o;
    struct redlock_mistake mistake = { .text = "" };
    enum redlock_status status;

    redlock_options_init(&o);
    o.engine.guard_ms = 0;
    o.engine.node_timeout_ms = w->options->node_timeout_ms;
    o.engine.wake_ups = w->options->wake_ups;
    o.engine.retry_ms = (uint32_t)(w->options->retry_ns / 1000000);
    if (one->far) {
        o.transport = &bench_far_transport;
        o.transport_context = one->far;
    }
    status = redlock_open(&one->client, w->options->nodes, &o, &mistake);
    if (status == REDLOCK_OK) status = redlock_connect(&one->client, BENCH_CONNECT_MS);
    if (status != REDLOCK_OK) fail("a waiter does not connect", redlock_status_text(status));
    redlock_lock_init(&one->lock);
    redlock_use_events(&one->client.engine, &one->events, one->ring, WAITERS_EVENTS_KEPT);
    one->events.kinds = REDLOCK_EVENT_BIT(REDLOCK_EVENT_SENT);
    one->think_until = WAITERS_NEVER;
    for (unsigned k = 0; k < WAITERS_SESSIONS_MAX; k++) one->watched[k].fd = -1;
}

static bool is_measured(const struct waiters *w, uint64_t now)
{
    return !w->is_alone && now >= w->findings->measure_from && now < w->findings->measure_until;
}

static void count_commands(const struct waiters *w, struct waiter *one)
{
    struct redlock_event event;
    unsigned sent = 0;

    while (redlock_next_event(&one->events, &event)) sent++;
    if (one->events.lost > 0) fail("the ring of events", "is too small");
    if (is_measured(w, bench_now_ns())) w->findings->commands += sent;
}

static void watch(const struct waiters *w, unsigned number, unsigned k)
{
    struct waiter *one = w->all[number];
    int fd = redlock_fd(&one->client, k);
    unsigned events = redlock_events(&one->client, k);
    struct epoll_event event = {
        .events = (events & REDLOCK_READ ? EPOLLIN : 0u) | (events & REDLOCK_WRITE ? EPOLLOUT : 0u),
        .data = { .u32 = number << WAITERS_SESSION_BITS | k },
    };

    if (fd == one->watched[k].fd && events == one->watched[k].events) return;
    if (fd >= 0 && epoll_ctl(w->epoll, EPOLL_CTL_MOD, fd, &event) != 0 &&
        epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        fail("epoll_ctl", "refused");
    one->watched[k].fd = fd;
    one->watched[k].events = events;
}

/* Lets the waiter's client do its work, and learns when it must be called again. */
static void step(const struct waiters *w, unsigned number)
{
    struct waiter *one = w->all[number];
    struct redlock *r = &one->client.engine;
    enum redlock_status status = redlock_step_ready(&one->client, one->ready);
    uint64_t at, now;

    if (status != REDLOCK_OK) fail("redlock_step_ready", redlock_status_text(status));
    one->ready = 0;
    count_commands(w, one);
    for (unsigned k = 0; k < r->session_count; k++) watch(w, number, k);
    at = redlock_poll_ms(&one->client) == 0 ? 0 : redlock_wake_at(r);
    now = redlock_now_us();
    one->step_at =
        at == REDLOCK_NEVER ? WAITERS_NEVER : bench_now_ns() + (at > now ? at - now : 0) * 1000;
}

/* ---- What it does ---- */

static bool is_reader(const struct waiters *w, const struct waiter *one)
{
    return !w->is_alone && one->number < w->options->readers;
}

static const struct redlock_kind *kind_of(const struct waiters *w, const struct waiter *one)
{
    if (w->is_alone)             return &redlock_plain;
    if (w->options->permits > 0) return &redlock_permits;
    if (w->options->fair)        return &redlock_fair;
    return is_reader(w, one) ? &redlock_shared : &redlock_plain;
}

static void acquire(struct waiters *w, struct waiter *one)
{
    struct redlock_request request = {
        .resource = w->options->key, .resource_size = strlen(w->options->key),
        .ttl_ms = w->options->ttl_ms, .wait_ms = REDLOCK_FOREVER, .wall_us = bench_wall_us(),
        .kind = kind_of(w, one), .permits = w->is_alone ? 0 : (uint8_t)w->options->permits,
    };
    enum redlock_status status;

    one->acquire_at = bench_now_ns();
    one->queued_at = WAITERS_NEVER;
    one->polls = 0;
    one->round = one->polled = one->lock.round.number;
    status = redlock_start_acquire(&one->client.engine, &one->lock, &request, redlock_now_us());
    if (status != REDLOCK_OK) fail("redlock_start_acquire", redlock_status_text(status));
}

static void release(struct waiters *w, struct waiter *one)
{
    w->findings->holders -= !w->is_alone;
    w->findings->release_at = bench_now_ns();
    enum redlock_status status =
        redlock_start_release(&one->client.engine, &one->lock, redlock_now_us());
    if (status != REDLOCK_OK) fail("redlock_start_release", redlock_status_text(status));
}

/* Attempts since it last began. Lost ones count when they are made, whoever wins. */
static void count_attempts(struct waiters *w, struct waiter *one)
{
    uint32_t round = one->lock.round.number;

    if (is_measured(w, bench_now_ns())) w->findings->attempts += round - one->round;
    one->round = round;
}

/* Raises it to the number, if that is larger. */
static void raise_to(_Atomic uint64_t *largest, uint64_t number)
{
    uint64_t old = *largest;

    while (number > old && !atomic_compare_exchange_weak(largest, &old, number)) { }
}

static unsigned count_bits(unsigned set)
{
    unsigned count = 0;

    for (; set != 0; set &= set - 1) count++;
    return count;
}

/* Looks whether it is queued now. A round that is not seen makes that later, which is in favour of
 * those that pass it. */
static void note_queued(struct waiters *w, struct waiter *one)
{
    const struct redlock_round *round = &one->lock.round;
    unsigned answers = count_bits(round->granted | round->refused),
             wanted = w->options->fair ? 2 : 1;

    if (one->queued_at != WAITERS_NEVER || round->number == one->polled || round->decided_at == 0)
        return;
    if (answers < redlock_quorum(w->options->node_count)) return;
    one->polled = round->number;
    if (++one->polls < wanted) return;
    one->queued_at = bench_now_ns() +
                     (w->options->fair ? 0 : 2 * (round->decided_at - round->started_at) * 1000);
    one->wins_before = w->findings->won;
}

/* How many of the wins since it was queued, up to this one, went to others that began to wait later
 * than it was queued? */
static void count_passes(struct findings *f, struct waiter *one, uint64_t until)
{
    uint64_t passes = 0;

    if (until > f->capacity) until = f->capacity;
    for (uint64_t i = one->wins_before; one->queued_at != WAITERS_NEVER && i < until; i++)
        passes += f->begun[i] > one->queued_at;
    raise_to(&f->passed_most, passes);
}

/* A wait that has no end counts as long as it was seen. */
static void count_waiting(struct waiters *w, struct waiter *one)
{
    struct findings *f = w->findings;
    uint64_t now = bench_now_ns(), end = now < f->measure_until ? now : f->measure_until,
             waited = end - one->acquire_at;

    if (one->is_holder || one->acquire_at >= end || f->won == 0) return;
    count_passes(f, one, f->won);
    raise_to(&f->longest[is_reader(w, one)], waited);
    f->waits[f->capacity + one->number] = (uint32_t)(waited / 1000);
}

static void count_win(struct waiters *w, struct waiter *one, uint64_t now)
{
    const struct redlock_round *round = &one->lock.round;
    struct findings *f = w->findings;
    uint64_t took = now - f->release_at, sample = f->won++;

    raise_to(&f->most, f->holders);
    raise_to(&f->longest[is_reader(w, one)], now - one->acquire_at);
    f->wins[is_reader(w, one)]++;
    count_passes(f, one, sample);
    if (sample >= f->capacity) return;
    f->begun[sample] = one->acquire_at;
    f->waits[sample] = (uint32_t)((now - one->acquire_at) / 1000);
    f->handovers[sample] = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    f->rounds[sample] = (uint32_t)(round->decided_at - round->started_at) * 1000;
    f->shares[one->number]++;
}

static void take(struct waiters *w, struct waiter *one, uint64_t now)
{
    one->is_holder = true;
    w->findings->holders += !w->is_alone;
    one->think_until = now + (w->is_alone ? 0 : w->options->hold_ns);
    if (w->is_alone && w->alone_count < WAITERS_ALONE)
        w->alone[w->alone_count++] = (uint32_t)(now - one->acquire_at);
    if (is_measured(w, now)) count_win(w, one, now);
}

/* An acquire or a release has ended. */
static void advance(struct waiters *w, struct waiter *one)
{
    uint64_t now = bench_now_ns();

    if (!one->is_holder) count_attempts(w, one);
    if (!one->is_holder) note_queued(w, one);
    if (!redlock_next_done(&one->client.engine)) return;
    if (one->is_holder) {
        one->is_holder = false;
        if (w->is_alone) one->think_until = now + w->options->hold_ns;
        else             acquire(w, one);
    } else if (redlock_lock_status(&one->lock) == REDLOCK_OK) {
        take(w, one, now);
    } else {
        fail("a waiter gets nothing", redlock_status_text(redlock_lock_status(&one->lock)));
    }
    one->step_at = 0;
}

/* A hold, or a pause, is over. */
static void resume(struct waiters *w, struct waiter *one)
{
    one->think_until = WAITERS_NEVER;
    if (one->is_holder) release(w, one);
    else                acquire(w, one);
    one->step_at = 0;
}

/* ---- The loop ---- */

static uint64_t next_time(const struct waiters *w, uint64_t until_ns)
{
    for (unsigned i = 0; i < w->count; i++) {
        if (w->all[i]->step_at < until_ns) until_ns = w->all[i]->step_at;
        if (w->all[i]->think_until < until_ns) until_ns = w->all[i]->think_until;
    }
    return until_ns;
}

/* A client that has something to receive is served at once, in the order in which the kernel
 * reports them. */
static void serve_ready(struct waiters *w)
{
    struct epoll_event events[WAITERS_EVENTS];
    int count = epoll_wait(w->epoll, events, WAITERS_EVENTS, 0);

    for (int i = 0; i < count; i++) {
        unsigned number = events[i].data.u32 >> WAITERS_SESSION_BITS;
        w->all[number]->ready |= 1u << (events[i].data.u32 & ((1u << WAITERS_SESSION_BITS) - 1));
        step(w, number);
        advance(w, w->all[number]);
    }
}

static void serve_due(struct waiters *w)
{
    uint64_t now = bench_now_ns();

    for (unsigned i = 0; i < w->count; i++) {
        if (w->all[i]->think_until <= now) resume(w, w->all[i]);
        if (w->all[i]->step_at > now) continue;
        step(w, i);
        advance(w, w->all[i]);
    }
}

static uint64_t cpu_time_us(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static bool is_complete(const struct waiters *w)
{
    return w->is_alone ? w->alone_count == WAITERS_ALONE
                       : w->findings->won >= w->findings->capacity;
}

static void run(struct waiters *w, uint64_t until_ns)
{
    for (uint64_t now; (now = bench_now_ns()) < until_ns && !is_complete(w);) {
        struct pollfd polled = { .fd = w->epoll, .events = POLLIN };
        uint64_t glance = now + (uint64_t)WAITERS_GLANCE_MS * 1000000;
        if (w->cpu_us == WAITERS_NEVER && is_measured(w, now)) w->cpu_us = cpu_time_us();
        serve_due(w);
        if (bench_poll(&polled, 1, next_time(w, glance < until_ns ? glance : until_ns)) > 0)
            serve_ready(w);
    }
}

/* ---- One process ---- */

static void open_all(struct waiters *w)
{
    w->all = calloc(w->count, sizeof(struct waiter *));
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!w->all || w->epoll < 0) fail("waiters", "no memory or descriptors");
    for (unsigned i = 0; i < w->count; i++) {
        w->all[i] = calloc(1, sizeof *w->all[i]);
        if (!w->all[i]) fail("waiters", "no memory");
        w->all[i]->number = w->first + i;
        if (!w->is_alone && w->options->far > 1 && w->first + i == 0)
            w->all[i]->far = bench_far_new(w->findings->far_ns);
        open_waiter(w, w->all[i]);
    }
}

/* Held locks and waits are given back. */
static void close_all(struct waiters *w)
{
    for (unsigned i = 0; i < w->count; i++) {
        struct waiter *one = w->all[i];
        redlock_cancel(&one->client.engine, &one->lock, redlock_now_us());
        (void)redlock_start_release(&one->client.engine, &one->lock, redlock_now_us());
        redlock_close(&one->client, WAITERS_CLOSE_MS);
        free(one->far);
        free(one);
    }
    free(w->all);
    (void)close(w->epoll);
}

/* Runs in the parent, while there are no others. */
static void measure_alone(const struct bench_options *options, struct findings *findings,
                          uint32_t *alone)
{
    struct waiters w = {
        .options = options, .findings = findings, .count = 1, .is_alone = true, .alone = alone
    };

    open_all(&w);
    resume(&w, w.all[0]);
    run(&w, bench_now_ns() + UINT64_C(60) * 1000000000);
    close_all(&w);
    if (w.alone_count < WAITERS_ALONE)
        fail("one waiter", "has not acquired a free lock often enough in a minute");
}

/* Tells by `opened` that it is ready; begins when `begin` is closed at the other end. */
static _Noreturn void be_child(struct waiters *w, int opened, int begin)
{
    char byte = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    open_all(w);
    if (write(opened, &byte, 1) != 1 || read(begin, &byte, 1) != 0)
        fail("a process", "has no parent");
    for (unsigned i = 0; i < w->count; i++) resume(w, w->all[i]);
    run(w, w->findings->measure_until);
    if (w->cpu_us != WAITERS_NEVER) w->findings->cpu_us += cpu_time_us() - w->cpu_us;
    for (unsigned i = 0; i < w->count; i++) count_waiting(w, w->all[i]);
    close_all(w);
    exit(0);
}

/* ---- All processes ---- */

static unsigned begin_children(const struct bench_options *options, struct findings *findings,
                               const int opened[2], const int begin[2])
{
    unsigned count =
        options->concurrency < options->processes ? options->concurrency : options->processes;

    for (unsigned i = 0; i < count; i++) {
        unsigned first = options->concurrency * i / count,
                 next = options->concurrency * (i + 1) / count;
        struct waiters w = {
            .options = options, .findings = findings, .first = first, .count = next - first,
            .cpu_us = WAITERS_NEVER
        };
        pid_t pid = fork();
        if (pid < 0) fail("fork", "refused");
        if (pid > 0) continue;
        (void)close(begin[1]);
        be_child(&w, opened[1], begin[0]);
    }
    return count;
}

/* All children have opened their clients, and now they begin, all at once. */
static void let_begin(const struct bench_options *options, struct findings *findings,
                      unsigned count, int opened, const int begin[2])
{
    double seconds = options->cycles > 0 ? BENCH_SECONDS_MAX : options->seconds;
    char byte;

    for (unsigned i = 0; i < count; i++)
        if (read(opened, &byte, 1) != 1) fail("a process of waiters", "has failed");
    findings->measure_from = bench_now_ns() + (uint64_t)(options->warmup * 1e9);
    findings->measure_until = findings->measure_from + (uint64_t)(seconds * 1e9);
    (void)close(begin[0]);
    (void)close(begin[1]);
}

/* Watches until the measured part is over, or a child has come to its end. Returns when. */
static uint64_t watch_servers(struct findings *f, struct bench_servers *servers)
{
    siginfo_t ended = { .si_pid = 0 };
    double before_us;

    while (bench_now_ns() < f->measure_from) (void)bench_poll(NULL, 0, f->measure_from);
    before_us = bench_servers_cpu_us(servers);
    while (bench_now_ns() < f->measure_until && ended.si_pid == 0) {
        uint64_t glance = bench_now_ns() + (uint64_t)WAITERS_GLANCE_MS * 1000000;
        (void)bench_poll(NULL, 0, glance < f->measure_until ? glance : f->measure_until);
        (void)waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT);
    }
    f->servers_us = bench_servers_cpu_us(servers) - before_us;
    return bench_now_ns();
}

/* False: some child has failed. */
static bool wait_for_children(unsigned count)
{
    bool is_well = true;
    int status;

    for (unsigned i = 0; i < count; i++)
        is_well &= wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return is_well;
}

/* Figures of permits, and of readers beside writers. */
static void print_kinds(const struct bench_options *options, const struct findings *f,
                        double seconds)
{
    double held_s = (double)f->won * (double)options->hold_ns / 1e9;

    if (options->permits == 0 && options->readers == 0) return;
    printf(",\"permits\":%u,\"readers\":%u,\"most_at_once\":%" PRIu64 ",\"reader_wins\":%" PRIu64
           ",\"writer_wins\":%" PRIu64 ",\"reader_longest_ms\":%.3f,\"writer_longest_ms\":%.3f",
           options->permits, options->readers, f->most, f->wins[1], f->wins[0],
           (double)f->longest[1] / 1e6, (double)f->longest[0] / 1e6);
    if (options->permits > 0) printf(",\"held_share\":%.3f", held_s / seconds / options->permits);
}

/* Figures of the waits, with the order of service, and the cost for everybody. */
static void print_order(const struct bench_options *options, struct findings *f, uint64_t won)
{
    uint64_t waits = won, longest = f->longest[0] > f->longest[1] ? f->longest[0] : f->longest[1];
    unsigned starved = 0;

    for (unsigned i = 0; i < options->concurrency; i++) {
        starved += f->shares[i] == 0;
        if (f->waits[f->capacity + i] > 0) f->waits[waits++] = f->waits[f->capacity + i];
    }
    /* The samples are microseconds, so the figures called microseconds below are milliseconds. */
    bench_sort(f->waits, waits);
    printf(",\"far\":%u,\"far_us\":%.3f,\"wait_p50_ms\":%.3f,\"wait_p99_ms\":%.3f,\"wait_longest_"
           "ms\":%.3f,\"passed_most\":%" PRIu64
           ",\"starved\":%u,\"commands\":%.3f,\"server_cpu_us\":%.3f",
           options->far, (double)f->far_ns / 1e3, bench_percentile_us(f->waits, waits, 50),
           bench_percentile_us(f->waits, waits, 99), (double)longest / 1e6, f->passed_most, starved,
           (double)f->commands / (double)won, f->servers_us / (double)won);
}

static void print(const struct bench_options *options, struct findings *f, uint64_t ended_at,
                  double round_trip_us)
{
    uint64_t won = f->won < f->capacity ? f->won : f->capacity, least = UINT64_MAX;
    uint64_t until = ended_at < f->measure_until ? ended_at : f->measure_until;
    double seconds = (double)(until - f->measure_from) / 1e9;

    for (unsigned i = 0; i < options->concurrency; i++)
        least = f->shares[i] < least ? f->shares[i] : least;
    bench_sort(f->handovers, won);
    bench_sort(f->rounds, won);
    printf("{\"client\":\"redlock\",\"mode\":\"waiters\",\"n\":%u,\"concurrency\":%u,\"wake_ups\":%"
           "d,\"fair\":%d,\"seconds\":%.6f",
           options->node_count, options->concurrency, options->wake_ups, options->fair, seconds);
    printf(",\"cycles\":%" PRIu64
           ",\"cycles_per_s\":%.1f,\"round_trip_us\":%.3f,\"attempts\":%" PRIu64,
           won, (double)won / seconds, round_trip_us, f->attempts);
    if (won > 0)
        printf(",\"handover_p50_us\":%.3f,\"handover_p99_us\":%.3f,\"attempt_p50_us\":%.3f,"
               "\"rounds\":%.3f,\"least_share\":%.3f,"
               "\"cpu_us\":%.3f",
               bench_percentile_us(f->handovers, won, 50),
               bench_percentile_us(f->handovers, won, 99), bench_percentile_us(f->rounds, won, 50),
               (double)f->attempts / (double)won,
               (double)least * options->concurrency / (double)won, (double)f->cpu_us / (double)won);
    if (won > 0) print_order(options, f, won);
    print_kinds(options, f, seconds);
    printf("}\n");
}

/* All possible or requested wins fit. */
static struct findings *share_findings(const struct bench_options *o)
{
    uint64_t capacity = o->cycles > 0 ? o->cycles : (uint64_t)(o->seconds * WAITERS_RATE_MAX) + 1;
    size_t size = sizeof(struct findings) +
                  (size_t)capacity * (sizeof(uint64_t) + 3 * sizeof(uint32_t)) +
                  o->concurrency * sizeof(uint32_t);
    struct findings *findings =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (findings == MAP_FAILED) fail("waiters", "no memory");
    findings->capacity = capacity;
    findings->begun = (_Atomic uint64_t *)(findings + 1);   /* The same address in every child. */
    findings->handovers = (uint32_t *)(findings->begun + capacity);
    findings->rounds = findings->handovers + capacity;
    findings->waits = findings->rounds + capacity;
    return findings;
}

void bench_waiters(const struct bench_options *options)
{
    struct findings *findings = share_findings(options);
    uint32_t alone[WAITERS_ALONE_ALL];
    struct bench_servers *servers;
    int opened[2], begin[2];
    uint64_t ended_at;
    unsigned count;

    measure_alone(options, findings, alone);
    bench_sort(alone, WAITERS_ALONE);
    findings->far_ns =
        (uint64_t)(bench_percentile_us(alone, WAITERS_ALONE, 50) * 1000) * (options->far - 1);
    if (pipe(opened) != 0 || pipe(begin) != 0) fail("pipe", "refused");
    count = begin_children(options, findings, opened, begin);
    (void)close(opened[1]);
    servers = bench_servers_open(options);
    let_begin(options, findings, count, opened[0], begin);
    (void)close(opened[0]);
    ended_at = watch_servers(findings, servers);
    bench_servers_close(servers);
    if (!wait_for_children(count)) fail("a process of waiters", "has failed");
    measure_alone(options, findings, alone + WAITERS_ALONE);
    bench_sort(alone, WAITERS_ALONE_ALL);
    print(options, findings, ended_at, bench_percentile_us(alone, WAITERS_ALONE_ALL, 50));
}
