/* The library's part in a fight, see fight.t. Knows the public headers only.
 *
 *     interop_ours KIND NODES fight RESOURCE DIRECTORY     KIND: plain (and it polls), ticket, set
 *                                                          (of RESOURCE and one of
 *                                                        its own)
 *     interop_ours inside WHO DIRECTORY                    for "redlock run": what a
 *                                                          holder does, once */
#define _XOPEN_SOURCE 700

#include "../../redlock/redlock_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    TTL_MS = 20000,
    SHORT_TTL_MS = 100,
    WAIT_MS = 60000,
    LEFT_EVERY = 10,            /* A holder goes away so often without a release, */
    EXTENDED_EVERY = 5,         /* and so often it extends. */
    /* Theirs wake nobody, so whoever looks more often has it more often. */
    RETRY_MS = 5,
    PAUSE_MS = 10               /* The longest pause between one time and the next. */
};

/* The arguments of "fight". */
struct fighter {
    struct redlock_client client;
    struct redlock_lock lock;
    struct redlock_name set[2];
    const char *kind, *resource, *directory;
};

_Noreturn static void fail(const char *what)
{
    printf("%s\n", what);
    exit(1);
}

/* The clock that Node's hrtime and Python's monotonic read. */
static uint64_t now_us(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) < 0) fail("clock_gettime");
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static FILE *open_in(const char *directory, const char *name, const char *mode)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, mode);
    if (file == NULL) fail(path);
    return file;
}

static void nap_us(unsigned us)
{
    const struct timespec nap = { .tv_nsec = (long)us * 1000 };
    nanosleep(&nap, NULL);
}

/* Reads, sleeps and writes. If two do so at a time, one of the increments is lost. */
static void increment(const char *directory)
{
    uint64_t value = 0;
    FILE *file = open_in(directory, "counter", "r");
    if (fscanf(file, "%" SCNu64, &value) != 1) fail("the counter is no number");
    fclose(file);
    nap_us(1000);
    file = open_in(directory, "counter", "w");
    fprintf(file, "%" PRIu64 "\n", value + 1);
    fclose(file);
}

static void write_down(const char *directory, const char *who, uint64_t from, uint64_t until,
                       unsigned increments)
{
    FILE *file = open_in(directory, "journal", "a");
    fprintf(file, "%s %" PRIu64 " %" PRIu64 " %u\n", who, from, until, increments);
    fclose(file);
}

static void inside(const char *who, const char *directory)
{
    uint64_t from = now_us();
    increment(directory);
    increment(directory);
    write_down(directory, who, from, now_us(), 2);
}

static enum redlock_status acquire(struct fighter *f, uint32_t ttl_ms)
{
    struct redlock_request request = {
        .resource = f->resource, .resource_size = strlen(f->resource), .ttl_ms = ttl_ms,
        .wait_ms = WAIT_MS, .ticket = strcmp(f->kind, "plain") != 0
    };
    f->set[0] = (struct redlock_name){ .bytes = f->resource, .size = strlen(f->resource) };
    f->set[1] = (struct redlock_name){ .bytes = "of our own", .size = strlen("of our own") };
    if (strcmp(f->kind, "set") == 0) {
        request.set = f->set;
        request.set_count = 2;
    }
    return redlock_acquire_request(&f->client, &f->lock, &request);
}

static void hold_and_leave(struct fighter *f)
{
    if (acquire(f, SHORT_TTL_MS) != REDLOCK_OK) fail("not acquired");
    uint64_t from = now_us();
    write_down(f->directory, f->kind, from, from + redlock_valid_us(&f->lock, redlock_now_us()), 0);
    redlock_forget(&f->client.engine, &f->lock);
    redlock_lock_init(&f->lock);
}

static void hold_and_release(struct fighter *f, bool extends)
{
    if (acquire(f, TTL_MS) != REDLOCK_OK) fail("not acquired");
    uint64_t from = now_us();
    increment(f->directory);
    /* A node that dies may take a bare quorum with it. */
    bool is_held = !extends || redlock_extend(&f->client, &f->lock, TTL_MS) == REDLOCK_OK;
    if (is_held) increment(f->directory);
    write_down(f->directory, f->kind, from, now_us(), is_held ? 2 : 1);
    if (redlock_release(&f->client, &f->lock, NULL) != REDLOCK_OK) fail("not released");
}

static bool is_over(const char *directory)
{
    char path[512];
    snprintf(path, sizeof path, "%s/stop", directory);
    return access(path, F_OK) == 0;
}

static void fight(const char *nodes, struct fighter *f)
{
    struct redlock_options options;
    redlock_options_init(&options);
    /* The servers were started a moment ago, and all is thrown away. */
    options.engine.guard_ms = 0;
    options.engine.retry_ms = RETRY_MS;
    options.engine.wake_ups = strcmp(f->kind, "plain") != 0;
    redlock_lock_init(&f->lock);
    if (redlock_open(&f->client, nodes, &options, NULL) != REDLOCK_OK) fail("not opened");
    srand((unsigned)getpid());
    for (unsigned number = 0; !is_over(f->directory); number++) {
        if (number % LEFT_EVERY == LEFT_EVERY - 1) hold_and_leave(f);
        else hold_and_release(f, number % EXTENDED_EVERY == 0);
        nap_us((unsigned)rand() % (PAUSE_MS * 1000));
    }
    redlock_close(&f->client, 1000);
}

int main(int argc, char **argv)
{
    static struct fighter fighter;
    if (argc == 6 && strcmp(argv[3], "fight") == 0) {
        fighter.kind = argv[1];
        fighter.resource = argv[4];
        fighter.directory = argv[5];
        fight(argv[2], &fighter);
    } else if (argc == 4 && strcmp(argv[1], "inside") == 0) {
        inside(argv[2], argv[3]);
    } else {
        fail("see the head of tests/interop/ours.c");
    }
    return 0;
}
