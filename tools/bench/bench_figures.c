/* Samples, percentiles, CPU time and memory; and the line that tells them. */
#define _GNU_SOURCE
#include "bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* Cycles a second that there is memory for, several times as many as fit through the loopback of a
 * large machine. A run that needs more ends early rather than forget samples. */
enum { FIGURES_RATE_MAX = 200000 };

uint64_t bench_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_wall_us(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* ---- Memory ---- */

bool bench_figures_init(struct bench_figures *f, const struct bench_options *options)
{
    memset(f, 0, sizeof *f);
    f->capacity = options->cycles > 0 ? (size_t)options->cycles
                                      : (size_t)(options->seconds * FIGURES_RATE_MAX) + 1;
    f->memory_size = 3 * f->capacity * sizeof(uint32_t);
    uint32_t *memory = malloc(f->memory_size);
    if (!memory) return false;
    memset(memory, 0xff, f->memory_size);
    f->acquire = memory;
    f->release = memory + f->capacity;
    f->cycle = memory + 2 * f->capacity;
    return true;
}

void bench_figures_free(struct bench_figures *f)
{
    free(f->acquire);   /* All three are in one piece. */
}

/* ---- The measured part ---- */

static uint64_t time_us(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

void bench_figures_begin(struct bench_figures *f)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    f->user_us = time_us(usage.ru_utime);
    f->system_us = time_us(usage.ru_stime);
    f->began_at = bench_now_ns();
}

/* A line such as "VmRSS:      1234 kB" of /proc/self/status, or -1. */
static long memory_kb(const char *what)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[128];
    long kb = -1;
    if (!status) return -1;
    while (kb < 0 && fgets(line, sizeof line, status))
        if (strncmp(line, what, strlen(what)) == 0) kb = strtol(line + strlen(what), NULL, 10);
    (void)fclose(status);
    return kb;
}

/* The samples are the benchmark's, not the client's, and all of their pages are there. */
static long memory_of_client_kb(const struct bench_figures *f, const char *what)
{
    long kb = memory_kb(what), samples_kb = (long)(f->memory_size / 1024);
    return kb > samples_kb ? kb - samples_kb : -1;
}

void bench_figures_end(struct bench_figures *f, uint64_t now_ns)
{
    struct rusage usage;
    f->ended_at = now_ns;
    (void)getrusage(RUSAGE_SELF, &usage);
    f->user_us = time_us(usage.ru_utime) - f->user_us;
    f->system_us = time_us(usage.ru_stime) - f->system_us;
    f->rss_kb = memory_of_client_kb(f, "VmRSS:");
    f->hwm_kb = memory_of_client_kb(f, "VmHWM:");
}

static uint32_t sample_of(uint64_t began_at, uint64_t ended_at)
{
    uint64_t ns = ended_at - began_at;
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

void bench_figures_add(struct bench_figures *f, const struct bench_slot *slot, uint64_t now_ns)
{
    if (f->cycles == f->capacity) return;
    f->acquire[f->cycles] = sample_of(slot->acquire_at, slot->acquired_at);
    f->release[f->cycles] = sample_of(slot->release_at, now_ns);
    f->cycle[f->cycles] = sample_of(slot->acquire_at, now_ns);
    f->cycles++;
}

/* ---- The line ---- */

static int compare_samples(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void bench_sort(uint32_t *samples, uint64_t count)
{
    qsort(samples, (size_t)count, sizeof *samples, compare_samples);
}

/* Takes the nearest rank. */
double bench_percentile_us(const uint32_t *sorted, uint64_t count, unsigned percent)
{
    uint64_t rank = (count * percent + 99) / 100;
    return sorted[rank - 1] / 1000.0;
}

static void print_samples(const char *kind, uint32_t *samples, uint64_t count)
{
    bench_sort(samples, count);
    printf(",\"%s_p50_us\":%.3f,\"%s_p99_us\":%.3f,\"%s_max_us\":%.3f", kind,
           bench_percentile_us(samples, count, 50), kind, bench_percentile_us(samples, count, 99),
           kind, bench_percentile_us(samples, count, 100));
}

/* Quotes a name that a user chose. */
static void print_text(const char *label, const char *text)
{
    printf("%s\"", label);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text >= ' ') putchar(*text);
    }
    putchar('"');
}

static void print_per_cycle(struct bench_figures *f)
{
    print_samples("acq", f->acquire, f->cycles);
    print_samples("rel", f->release, f->cycles);
    print_samples("cyc", f->cycle, f->cycles);
    printf(",\"cpu_user_us\":%.3f,\"cpu_sys_us\":%.3f", (double)f->user_us / (double)f->cycles,
           (double)f->system_us / (double)f->cycles);
}

void bench_figures_print(struct bench_figures *f, const struct bench_options *options)
{
    static const char *const modes[] = { "latency", "throughput", "contend", "waiters", "keeper" };
    double seconds = (double)(f->ended_at - f->began_at) / 1e9;
    print_text("{\"client\":", options->name ? options->name : options->client);
    print_text(",\"mode\":", modes[options->mode]);
    printf(",\"n\":%u,\"concurrency\":%u,\"seconds\":%.6f,\"cycles\":%" PRIu64
           ",\"cycles_per_s\":%.1f",
           options->node_count, options->concurrency, seconds, f->cycles,
           seconds > 0 ? (double)f->cycles / seconds : 0.0);
    printf(",\"fail\":%" PRIu64 ",\"attempts\":%" PRIu64, f->fail, f->attempts);
    if (f->cycles > 0) print_per_cycle(f);
    if (f->rss_kb > 0) printf(",\"rss_kb\":%ld,\"hwm_kb\":%ld", f->rss_kb, f->hwm_kb);
    printf("}\n");
}
