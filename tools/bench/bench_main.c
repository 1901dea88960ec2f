/* The options, and their effects. */
#define _GNU_SOURCE
#include "bench.h"

#include "../../redlock/redlock.h"
#ifdef BENCH_TLS
#include "../../net/redlock_tls.h"
#endif

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: redlock-bench --nodes HOST:PORT,... [options]\n"
    "\n"
    "Acquires and releases locks, and prints what it took as one line of JSON, in microseconds.\n"
    "\n"
    "  --client NAME          redlock (default, by its event-loop face), redlock-events (which are "
    "read),\n"
    "                         redlock-metrics (those that metrics need), redlock-blocking, or raw: "
    "the same bytes by hand\n"
    "  --mode latency         one lock at a time: acquire a fresh key, release it, again "
    "(default)\n"
    "  --mode throughput      --concurrency W such loops at once, in one thread and over one "
    "connection a node\n"
    "  --mode contend         one contender on --key: hold --hold-us, release, wait --think-us, "
    "again;\n"
    "                         after a refusal wait --retry-ms, give or take --retry-jitter ms\n"
    "  --mode waiters         --concurrency W clients wait for --key: each holds it for --hold-us, "
    "and waits again;\n"
    "                         --wake-ups: they listen for releases, and do not only ask every "
    "--retry-ms;\n"
    "                         in as many processes, but not more than --processes P (8);\n"
    "                         --readers R of them share it; or they wait for one of --permits K; "
    "or --fair: in strict\n"
    "                         order; --far F: the first of them is F round trips away where the "
    "others are one\n"
    "  --mode keeper          --concurrency W locks are kept by one client\n"
    "  --events FILE          contend: a line \"id acquired release_began release_done\" for every "
    "lock,\n"
    "                         in nanoseconds of CLOCK_MONOTONIC; the id is --id\n"
    "  --seconds S            measured part (1), after a part of --warmup S that is not counted "
    "(0.2)\n"
    "  --cycles K             instead of --seconds: end after K cycles\n"
    "  --ttl MS               lock time (10000)\n"
    "  --ticket               acquire with a ticket\n"
    "  --node-timeout-ms MS   what one node may take (50)\n"
    "  --name NAME            what the JSON line calls the client\n"
#ifdef BENCH_TLS
    "  --tls-ca FILE          the CA of nodes at rediss://HOST:PORT, in the modes latency and "
    "throughput\n"
    "  --tls-library          by what: prints its name and version, and ends\n"
#endif
    "\n"
    "The restart guard is off: servers that are measured are mostly fresh, and thrown away. Use no "
    "others.\n";

enum {
    OPTION_CLIENT = 1,
    OPTION_NODES,
    OPTION_MODE,
    OPTION_CONCURRENCY,
    OPTION_KEY,
    OPTION_HOLD_US,
    OPTION_THINK_US,
    OPTION_RETRY_MS,
    OPTION_RETRY_JITTER,
    OPTION_EVENTS,
    OPTION_ID,
    OPTION_SECONDS,
    OPTION_WARMUP,
    OPTION_CYCLES,
    OPTION_TTL,
    OPTION_TICKET,
    OPTION_WAKE_UPS,
    OPTION_PROCESSES,
    OPTION_READERS,
    OPTION_PERMITS,
    OPTION_FAIR,
    OPTION_FAR,
    OPTION_NODE_TIMEOUT_MS,
    OPTION_NAME,
    OPTION_TLS_CA,
    OPTION_TLS_LIBRARY,
    OPTION_HELP
};

static const struct option OPTIONS[] = {
    { "client", required_argument, NULL, OPTION_CLIENT },
    { "nodes", required_argument, NULL, OPTION_NODES },
    { "mode", required_argument, NULL, OPTION_MODE },
    { "concurrency", required_argument, NULL, OPTION_CONCURRENCY },
    { "key", required_argument, NULL, OPTION_KEY },
    { "hold-us", required_argument, NULL, OPTION_HOLD_US },
    { "think-us", required_argument, NULL, OPTION_THINK_US },
    { "retry-ms", required_argument, NULL, OPTION_RETRY_MS },
    { "retry-jitter", required_argument, NULL, OPTION_RETRY_JITTER },
    { "events", required_argument, NULL, OPTION_EVENTS },
    { "id", required_argument, NULL, OPTION_ID },
    { "seconds", required_argument, NULL, OPTION_SECONDS },
    { "warmup", required_argument, NULL, OPTION_WARMUP },
    { "cycles", required_argument, NULL, OPTION_CYCLES },
    { "ttl", required_argument, NULL, OPTION_TTL },
    { "ticket", no_argument, NULL, OPTION_TICKET },
    { "wake-ups", no_argument, NULL, OPTION_WAKE_UPS },
    { "processes", required_argument, NULL, OPTION_PROCESSES },
    { "readers", required_argument, NULL, OPTION_READERS },
    { "permits", required_argument, NULL, OPTION_PERMITS },
    { "fair", no_argument, NULL, OPTION_FAIR },
    { "far", required_argument, NULL, OPTION_FAR },
    { "node-timeout-ms", required_argument, NULL, OPTION_NODE_TIMEOUT_MS },
    { "name", required_argument, NULL, OPTION_NAME },
#ifdef BENCH_TLS
    { "tls-ca", required_argument, NULL, OPTION_TLS_CA },
    { "tls-library", no_argument, NULL, OPTION_TLS_LIBRARY },
#endif
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

static const struct bench_client *const CLIENTS[] = { &bench_redlock, &bench_redlock_events,
                                                      &bench_redlock_metrics,
                                                      &bench_redlock_blocking, &bench_raw };

enum { CLIENT_COUNT = sizeof CLIENTS / sizeof *CLIENTS };

static _Noreturn void refuse(const char *what, const char *value)
{
    fprintf(stderr, "redlock-bench: %s: %s (see --help)\n", what, value);
    exit(2);
}

/* A number of 0 or more, such as 0.25. */
static double read_number(const char *text, double max)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= 0 && number <= max))
        refuse("not a number, or out of range", text);
    return number;
}

static uint64_t read_count(const char *text, uint64_t max)
{
    double number = read_number(text, (double)max);
    if (number < 1 || number != (double)(uint64_t)number)
        refuse("not a whole number from 1 on", text);
    return (uint64_t)number;
}

static enum bench_mode read_mode(const char *text)
{
    if (strcmp(text, "latency") == 0) return BENCH_LATENCY;
    if (strcmp(text, "throughput") == 0) return BENCH_THROUGHPUT;
    if (strcmp(text, "contend") == 0) return BENCH_CONTEND;
    if (strcmp(text, "waiters") == 0) return BENCH_WAITERS;
    if (strcmp(text, "keeper") == 0) return BENCH_KEEPER;
    refuse("no such mode", text);
}

static const struct bench_client *find_client(const char *name)
{
    for (size_t i = 0; i < CLIENT_COUNT; i++)
        if (strcmp(CLIENTS[i]->name, name) == 0) return CLIENTS[i];
    refuse("no such client", name);
}

static void read_option(struct bench_options *o, int option, const char *value)
{
    const double hour_us = 3600e6, day_ms = 86400e3;
    switch (option) {
    case OPTION_CLIENT:          o->client = value; break;
    case OPTION_NODES:           o->nodes = value; break;
    case OPTION_MODE:            o->mode = read_mode(value); break;
    case OPTION_CONCURRENCY:
        o->concurrency = (unsigned)read_count(value, BENCH_CONCURRENCY_MAX);
        break;
    case OPTION_KEY:             o->key = value; break;
    case OPTION_HOLD_US:         o->hold_ns = (uint64_t)(read_number(value, hour_us) * 1e3); break;
    case OPTION_THINK_US:        o->think_ns = (uint64_t)(read_number(value, hour_us) * 1e3); break;
    case OPTION_RETRY_MS:        o->retry_ns = (uint64_t)(read_number(value, day_ms) * 1e6); break;
    case OPTION_RETRY_JITTER:
        o->retry_jitter_ns = (uint64_t)(read_number(value, day_ms) * 1e6);
        break;
    case OPTION_EVENTS:          o->events = value; break;
    case OPTION_ID:              o->id = value; break;
    case OPTION_SECONDS:         o->seconds = read_number(value, BENCH_SECONDS_MAX); break;
    case OPTION_WARMUP:          o->warmup = read_number(value, BENCH_SECONDS_MAX); break;
    case OPTION_CYCLES:          o->cycles = read_count(value, BENCH_CYCLES_MAX); break;
    case OPTION_TTL:             o->ttl_ms = (uint32_t)read_count(value, INT32_MAX); break;
    case OPTION_TICKET:          o->ticket = true; break;
    case OPTION_WAKE_UPS:        o->wake_ups = true; break;
    case OPTION_PROCESSES: o->processes = (unsigned)read_count(value, BENCH_CONCURRENCY_MAX); break;
    case OPTION_READERS: o->readers = (unsigned)read_count(value, BENCH_CONCURRENCY_MAX); break;
    case OPTION_PERMITS: o->permits = (unsigned)read_count(value, REDLOCK_PERMITS_MAX); break;
    case OPTION_FAIR:            o->fair = true; break;
    case OPTION_FAR:             o->far = (unsigned)read_count(value, 1000); break;
    case OPTION_NODE_TIMEOUT_MS: o->node_timeout_ms = (uint32_t)read_count(value, INT32_MAX); break;
    case OPTION_NAME:            o->name = value; break;
#ifdef BENCH_TLS
    case OPTION_TLS_CA:          o->tls = &bench_tls; o->tls_ca = value; break;
    case OPTION_TLS_LIBRARY:     puts(redlock_tls_library()); exit(0);
#endif
    case OPTION_HELP:            fputs(USAGE, stdout); exit(0);
    default:                     exit(2);   /* getopt has said why. */
    }
}

static unsigned count_nodes(const char *nodes)
{
    unsigned count = 1;
    for (; *nodes != '\0'; nodes++) count += *nodes == ',';
    return count;
}

static void read_options(struct bench_options *o, int argc, char **argv)
{
    int option;
    while ((option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1)
        read_option(o, option, optarg);
    if (optind < argc) refuse("not an option", argv[optind]);
    if (!o->nodes) refuse("missing", "--nodes");
    if (*o->key == '\0' || strlen(o->key) > BENCH_KEY_MAX)
        refuse("a key has 1 to 512 bytes", o->key);
    o->node_count = count_nodes(o->nodes);
    if (o->node_count > BENCH_NODES_MAX) refuse("more than 15 nodes", o->nodes);
    if (o->readers > o->concurrency || (o->readers > 0 && o->permits > 0))
        refuse("too many, or beside --permits", "--readers");
    if (o->fair && o->readers + o->permits > 0) refuse("beside --readers or --permits", "--fair");
    if (o->mode == BENCH_LATENCY || o->mode == BENCH_CONTEND) o->concurrency = 1;
}

/* Opened ahead of time, so that a run is not wasted. NULL without --events. */
static FILE *open_events(const struct bench_options *o)
{
    if (!o->events || o->mode != BENCH_CONTEND) return NULL;
    FILE *events = fopen(o->events, "w");
    if (!events) {
        perror(o->events);
        exit(1);
    }
    return events;
}

/* One of the modes that every client has. */
static int run_client(const struct bench_options *options, struct bench_figures *figures)
{
    const struct bench_client *client = find_client(options->client);
    FILE *events = open_events(options);
    void *context = client->open(options);
    if (!context) return 1;
    bench_loop(client, context, options, figures, events);
    client->close(context);
    if (events && fclose(events) != 0) {
        perror(options->events);
        return 1;
    }
    bench_figures_print(figures, options);
    return 0;
}

int main(int argc, char **argv)
{
    struct bench_options options = {
        .client = "redlock", .key = "bench", .id = "0", .concurrency = 1, .processes = 8, .far = 1,
        .ttl_ms = 10000, .node_timeout_ms = 50, .retry_ns = 100000000, .retry_jitter_ns = 50000000,
        .seconds = 1, .warmup = 0.2,
    };
    struct bench_figures figures;
    int status = 0;
    read_options(&options, argc, argv);
    if (!bench_figures_init(&figures, &options)) {
        fprintf(stderr, "redlock-bench: no memory for that many samples\n");
        return 1;
    }
    switch (options.mode) {
    case BENCH_WAITERS: bench_waiters(&options); break;
    case BENCH_KEEPER:  bench_keeper(&options, &figures); break;
    default:            status = run_client(&options, &figures);
    }
    bench_figures_free(&figures);
    return status;
}
