/* redlock-bench: how long acquiring and releasing takes, and how many cycles of both fit
 * in a second.
 *
 *   bench_main.c      options, and the JSON line
 *   bench_loop.c      latency, throughput, contend: what is done with a client, and when the clock
 *                     is read
 *   bench_waiters.c   many waiters on one resource, with wake-ups and without, in strict order
 *   bench_far.c       one of them far away;  bench_servers.c: what the nodes spend
 *   bench_keeper.c    many locks that are kept
 *   bench_figures.c   samples, percentiles, CPU time and memory
 *   bench_redlock.c   three clients with the library: its blocking face, its event-loop face, that
 *                     with events. Public headers only
 *   bench_raw.c       the reference without it: the same bytes, sent by hand;
 *                     bench_scripts.h: its scripts
 *
 * With TLS, "make TLS=openssl bench", the reference's calls for it are in bench_openssl.c,
 * or in bench_mbedtls.c.
 *
 * The modes see every client through struct bench_client, so all are timed by the same
 * lines of code. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum {
    /* The most that the algorithm's users use; redlock's limit as well. */
    BENCH_NODES_MAX = 15,
    BENCH_CONCURRENCY_MAX = 4096,   /* Three commands a lock can then be counted in 16 bits. */
    BENCH_KEY_MAX = 512,
    /* The longest time until every node has answered or failed, before anything is timed. */
    BENCH_CONNECT_MS = 10000,
    BENCH_CYCLES_MAX = 10000000,
    /* Memory for the samples of so many cycles or seconds can be had. */
    BENCH_SECONDS_MAX = 600
};

enum bench_mode { BENCH_LATENCY, BENCH_THROUGHPUT, BENCH_CONTEND, BENCH_WAITERS, BENCH_KEEPER };

struct bench_options {
    const char *client, *nodes, *key, *events, *id, *name;
    const struct bench_tls *tls;    /* NULL: for no node. */
    /* Then the file with the CA of the nodes at rediss:// addresses. */
    const char *tls_ca;
    enum bench_mode mode;
    unsigned node_count;
    /* Loops, waiters or kept locks at once; 1 in the other modes. */
    unsigned concurrency;
    unsigned processes;             /* Processes that waiters are spread over. */
    unsigned readers;               /* The number of waiters that share the lock. */
    unsigned permits;               /* They wait for one of so many permits; 0: for a lock. */
    uint32_t ttl_ms, node_timeout_ms;
    uint64_t hold_ns, think_ns, retry_ns, retry_jitter_ns;
    double seconds, warmup;
    uint64_t cycles;                /* 0: end after `seconds`. */
    bool ticket;                    /* Acquire with one. */
    bool wake_ups;                  /* Waiters listen, and do not only ask now and then. */
    bool fair;                      /* They are served in strict order. */
    /* The first of them is so many round trips away; 1: as near as the others. */
    unsigned far;
};

/* ---- Clients ---- */

/* One loop of acquire and release. */
struct bench_slot {
    unsigned number;                /* Counts from 0. */
    /* The key to acquire. Changed by the mode between two cycles. */
    char key[BENCH_KEY_MAX + 1];
    size_t key_size;
    bool won;                       /* Set by the client to how the last acquire ended. */
    /* The rest is the mode's. Wanted: since acquire_at, be it held or not. */
    bool is_held, is_wanted;
    uint64_t acquire_at, acquired_at, release_at;   /* Nanoseconds of bench_now_ns. */
};

/* A way to lock. acquire and release begin; next reports the end of one. */
struct bench_client {
    const char *name;

    /* Connects to the nodes of the options. NULL: it was said on stderr why not. */
    void *(*open)(const struct bench_options *options);

    /* One attempt to get slot->key. At its end slot->won is set; the leftovers of a lost attempt
     * are cleaned up unasked. */
    void (*acquire)(void *context, struct bench_slot *slot);

    /* Releases a lock that was won. Ends when a quorum has confirmed it, or no longer can. */
    void (*release)(void *context, struct bench_slot *slot);

    /* A slot whose operation has ended, each once; waits for it until until_ns. NULL: the
     * time has come. */
    struct bench_slot *(*next)(void *context, uint64_t until_ns);

    /* Finishes operations that are still on their way, and disconnects. */
    void (*close)(void *context);
};

extern const struct bench_client bench_raw, bench_redlock, bench_redlock_events,
    bench_redlock_metrics, bench_redlock_blocking;

/* ---- TLS ---- */

/* The reference's calls for TLS in place of the socket's calls. */
struct bench_tls {
    /* Shakes hands on a socket that does not block. Returns a session, or NULL if that has failed,
     * or took longer than until_ns. */
    void *(*connect)(const char *ca, int fd, const char *host, uint64_t until_ns);

    /* These answer as send and recv do, with EAGAIN. Bytes that were to be sent and were not come
     * again, from the same place. poll announces the bytes that receive leaves, unless it has
     * filled all of the size. */
    ssize_t (*send)(void *session, const void *data, size_t size);
    ssize_t (*receive)(void *session, void *data, size_t size);

    /* Leaves the socket open. */
    void (*hang_up)(void *session);
};

/* Only builds with TLS, which define BENCH_TLS, have it. */
extern const struct bench_tls bench_tls;

/* ---- Beside the waiters ---- */

/* Carries a client's bytes so that each round trip takes so much longer. One for each client. NULL:
 * no memory. */
struct redlock_transport;
struct bench_far;
extern const struct redlock_transport bench_far_transport;
struct bench_far *bench_far_new(uint64_t round_trip_ns);       /* Free it by free. */

/* Asks the nodes for the CPU time that they have used so far, all of them together. */
struct bench_servers;
struct bench_servers *bench_servers_open(const struct bench_options *options);
double bench_servers_cpu_us(struct bench_servers *servers);
void bench_servers_close(struct bench_servers *servers);

/* ---- Figures ---- */

/* Samples are nanoseconds, up to 4.29 s each, all of them kept so that percentiles are exact. */
struct bench_figures {
    uint32_t *acquire, *release, *cycle;
    size_t capacity, memory_size;   /* The capacity of each kind, in samples; of all, in bytes. */
    uint64_t cycles, fail, attempts;
    uint64_t began_at, ended_at;
    /* CPU time, the process's when the measured part began, its own when it has ended. */
    uint64_t user_us, system_us;
    long rss_kb, hwm_kb;            /* Without the memory of the samples. */
};

/* Takes memory for as many cycles as there can be, and touches it, so that no page fault falls into
 * the measured part. */
bool bench_figures_init(struct bench_figures *f, const struct bench_options *options);

/* Encloses the measured part. */
void bench_figures_begin(struct bench_figures *f);
void bench_figures_end(struct bench_figures *f, uint64_t now_ns);

/* Counts the slot's cycle, whose release ended at now_ns. */
void bench_figures_add(struct bench_figures *f, const struct bench_slot *slot, uint64_t now_ns);

/* The JSON line. Sorts the samples. */
void bench_figures_print(struct bench_figures *f, const struct bench_options *options);

void bench_figures_free(struct bench_figures *f);

/* Sorts samples; and finds the smallest of sorted ones that at least percent of 100 are not above.
 * count > 0 */
void bench_sort(uint32_t *samples, uint64_t count);
double bench_percentile_us(const uint32_t *sorted, uint64_t count, unsigned percent);

/* ---- The rest ---- */

/* CLOCK_MONOTONIC; and CLOCK_REALTIME in microseconds. */
uint64_t bench_now_ns(void);
uint64_t bench_wall_us(void);

/* Sleeps in poll until something can be done with one of the descriptors or until_ns is reached. */
struct pollfd;
int bench_poll(struct pollfd *polled, unsigned count, uint64_t until_ns);

/* Runs the mode and fills in the figures. events is their destination, or NULL. */
void bench_loop(const struct bench_client *client, void *context,
                const struct bench_options *options, struct bench_figures *figures, FILE *events);

/* These two run a mode that no client but redlock has, and print its line. */
void bench_waiters(const struct bench_options *options);
void bench_keeper(const struct bench_options *options, struct bench_figures *figures);

#endif
