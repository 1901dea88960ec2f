/* A client of the chaos run: acquires one of a few resources again and again, does a guarded increment of the number that
 * belongs to it for as long as it may, and writes down what it believes. It may be killed or stopped at any moment.
 *
 *     chaos_client NODES DIRECTORY NUMBER SEED GUARD_MS MANNER
 *
 * MANNER   usual      most holds are brief
 *          patient    many are long: while somebody makes the nodes forget, he does not have to be lucky
 *          careless   it does not ask whether its validity has ended, and often it has: a holder as the README warns of
 *
 * Knows the library by its public header.
 *
 * DIRECTORY/client.NUMBER.log has a line for each event, written at once by one write(), each beginning with the time:
 *
 *     TIME asks RESOURCE               it begins to acquire
 *     TIME loses RESOURCE STATUS       it gave up
 *     TIME wins RESOURCE TOKEN UNTIL   it believes from TIME on that it is alone, until UNTIL
 *     TIME extends RESOURCE TOKEN UNTIL
 *     TIME tries RESOURCE TOKEN VALUE  still valid at TIME, it will write VALUE to DIRECTORY/RESOURCE.counter
 *     TIME wrote RESOURCE TOKEN VALUE  it has
 *     TIME ends RESOURCE TOKEN         it stopped using the resource; only then does it release the lock
 *     TIME goes                        it was told to end, and does
 *
 * A client that can go on no longer says why on stderr and exits with status 2. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "../../redlock/redlock_client.h"
#include "counter.h"
#include "dice.h"
#include "moment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TTL_MS_MIN = 500, TTL_MS_MAX = 1500,        /* The guard of the run is longer. */
    OVERRUN_TTL_MS = 300,       /* Short: so there can be many holds to the last moment, when a wrong promise shows. */
    WAIT_MS_MIN = 1000, WAIT_MS_MAX = 4000,
    NODE_TIMEOUT_MS = 100,      /* Shorter than most faults last, so that rounds go on without the node. */
    RETRY_MS = 5,
    BRIEF_US_MAX = 1500,        /* A hold of the usual kind. */
    WAITED_US_MIN = 20000,      /* Only who waited so long overruns: his round may have been a slow one, and must be counted. */
    REST_US_MAX = 3000,         /* After a hold: who asks again at once would mostly hand over to himself. */
    LONG_US_MIN = 200000, LONG_US_MAX = 4000000,
    ROAM_PER_CENT = 10,         /* Mostly it asks for one and the same, so that never all wait for one. */
    PONDER_US_MAX = 500,        /* Between reading a number and writing it; */
    LONG_PONDER_US_MAX = 5000,  /* in a hold that is not brief, or the log would hold little else. */
    CLOSE_MS = 1000,
    LINE_SIZE = 256
};

static const char *const resources[] = { "door", "crane", "signal" };
enum { RESOURCES = sizeof resources / sizeof resources[0] };

/* How often a hold is a long one, which is extended, several times as a rule, or one that overruns its time if it may. */
struct manner {
    const char *name;
    uint32_t long_per_mille, overrun_per_mille;
    bool asks_the_time;
};

static const struct manner manners[] = {
    { "usual", 1, 50, true },
    { "patient", 50, 0, true },
    { "careless", 0, 300, false },
};
enum { MANNERS = sizeof manners / sizeof manners[0] };

struct member {
    int log;
    const struct manner *manner;
    unsigned home;              /* The resource that it asks for most. */
    struct dice dice;
    struct counter counters[RESOURCES];
    struct redlock_client client;
};

/* One acquired lock. */
struct holding {
    struct redlock_lock lock;
    unsigned which;             /* Of the resources. */
    uint32_t ttl_ms;
    uint32_t time_us;           /* For which the resource is wanted. */
    bool extends, overruns;
    char token[REDLOCK_TOKEN_TEXT + 1];
};

static volatile sig_atomic_t told_to_end;

static void on_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

__attribute__((noreturn, format(printf, 1, 2)))
static void give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _exit(2);
}

/* One line of the log, whole or, where a SIGKILL falls into the write, cut. */
__attribute__((format(printf, 3, 4)))
static void note(const struct member *m, uint64_t at, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    int size = snprintf(line, sizeof line, "%" PRIu64 " ", at);
    va_start(arguments, format);
    size += vsnprintf(line + size, sizeof line - (size_t)size, format, arguments);
    va_end(arguments);
    line[size++] = '\n';
    if (write(m->log, line, (size_t)size) != size) give_up("writing the log: %s", strerror(errno));
}

static void nap_us(uint32_t us)
{
    const struct timespec time = { .tv_sec = us / 1000000, .tv_nsec = (long)(us % 1000000) * 1000 };
    nanosleep(&time, NULL);
}

/* ---- While it holds a lock ---- */

static bool may_act(const struct member *m, const struct holding *h, uint64_t now)
{
    return !m->manner->asks_the_time || redlock_valid_us(&h->lock, now) > 0;
}

static void note_validity(const struct member *m, const struct holding *h, const char *verb)
{
    uint64_t now = moment_us();
    note(m, now, "%s %s %s %" PRIu64, verb, resources[h->which], h->token, now + redlock_valid_us(&h->lock, now));
}

static void increment(struct member *m, const struct holding *h)
{
    struct counter counter = m->counters[h->which];
    counter_enter(counter);
    uint64_t value = counter_get(counter) + 1;
    counter_leave(counter);

    nap_us(dice_between(&m->dice, 0, h->time_us > BRIEF_US_MAX ? LONG_PONDER_US_MAX : PONDER_US_MAX));

    counter_enter(counter);
    uint64_t now = moment_us();
    if (may_act(m, h, now)) {
        note(m, now, "tries %s %s %" PRIu64, resources[h->which], h->token, value);
        counter_set(counter, value);
        note(m, moment_us(), "wrote %s %s %" PRIu64, resources[h->which], h->token, value);
    }
    counter_leave(counter);
}

static void extend(struct member *m, struct holding *h)
{
    if (redlock_extend(&m->client, &h->lock, h->ttl_ms) == REDLOCK_OK) note_validity(m, h, "extends");
}

static void use(struct member *m, struct holding *h)
{
    uint64_t leave_at = moment_us() + h->time_us;
    while (may_act(m, h, moment_us()) && moment_us() < leave_at && !told_to_end) {
        if (h->extends && redlock_valid_ms(&h->lock) < h->ttl_ms / 2) extend(m, h);
        increment(m, h);
    }
}

/* ---- Its life ---- */

/* What a healthy library answers, whatever becomes of the nodes. */
static void insist_on_a_verdict(enum redlock_status status, const char *what)
{
    switch (status) {
    case REDLOCK_OK:
    case REDLOCK_TAKEN:
    case REDLOCK_NO_QUORUM:
    case REDLOCK_TIMEOUT:
    case REDLOCK_TOO_LATE:
    case REDLOCK_LOST:
        return;
    default:
        give_up("%s: %s", what, redlock_status_text(status));
    }
}

static bool acquire(struct member *m, struct holding *h)
{
    const char *resource = resources[h->which];
    uint32_t wait_ms = dice_between(&m->dice, WAIT_MS_MIN, WAIT_MS_MAX);
    note(m, moment_us(), "asks %s", resource);
    enum redlock_status status = redlock_acquire(&m->client, &h->lock, resource, h->ttl_ms, wait_ms);
    insist_on_a_verdict(status, "acquire");
    if (status == REDLOCK_OK) {
        redlock_token(&h->lock, h->token);
        note_validity(m, h, "wins");
    } else {
        note(m, moment_us(), "loses %s %d", resource, (int)status);
    }
    return status == REDLOCK_OK;
}

/* What it wants, and for how long. */
static void draw_plan(struct member *m, struct holding *h)
{
    const struct manner *manner = m->manner;
    bool roams = dice_between(&m->dice, 1, 100) <= ROAM_PER_CENT;
    uint32_t kind = dice_between(&m->dice, 1, 1000);
    h->which = roams ? dice_between(&m->dice, 0, RESOURCES - 1) : m->home;
    h->ttl_ms = dice_between(&m->dice, TTL_MS_MIN, TTL_MS_MAX);
    h->extends = kind <= manner->long_per_mille;
    h->overruns = !h->extends && kind <= manner->long_per_mille + manner->overrun_per_mille;
    if (h->overruns) h->ttl_ms = OVERRUN_TTL_MS;
    h->time_us = h->extends ? dice_between(&m->dice, LONG_US_MIN, LONG_US_MAX) : dice_between(&m->dice, 0, BRIEF_US_MAX);
}

static void acquire_use_release(struct member *m)
{
    struct holding h = { 0 };
    draw_plan(m, &h);
    redlock_lock_init(&h.lock);
    uint64_t asked_at = moment_us();
    if (!acquire(m, &h)) return;
    if (h.overruns && moment_us() - asked_at >= WAITED_US_MIN) h.time_us = 2000 * h.ttl_ms;
    use(m, &h);
    note(m, moment_us(), "ends %s %s", resources[h.which], h.token);
    insist_on_a_verdict(redlock_release(&m->client, &h.lock, NULL), "release");
    nap_us(dice_between(&m->dice, 0, REST_US_MAX));
}

static const struct manner *manner_of(const char *name)
{
    for (unsigned i = 0; i < MANNERS; i++)
        if (strcmp(manners[i].name, name) == 0) return &manners[i];
    give_up("there is no manner \"%s\"", name);
}

static void open_files(struct member *m, const char *directory, const char *number)
{
    char path[LINE_SIZE];
    snprintf(path, sizeof path, "%s/client.%s.log", directory, number);
    m->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (m->log < 0) give_up("%s: %s", path, strerror(errno));
    for (unsigned i = 0; i < RESOURCES; i++) {
        snprintf(path, sizeof path, "%s/%s.counter", directory, resources[i]);
        m->counters[i] = counter_open(path);
        if (m->counters[i].fd < 0) give_up("%s: %s", path, strerror(errno));
    }
}

static void open_client(struct member *m, const char *nodes, const char *guard_ms)
{
    struct redlock_options options;
    struct redlock_mistake mistake;
    redlock_options_init(&options);
    options.engine.guard_ms = (uint32_t)strtoul(guard_ms, NULL, 10);
    options.engine.node_timeout_ms = NODE_TIMEOUT_MS;
    options.engine.retry_ms = RETRY_MS;
    enum redlock_status status = redlock_open(&m->client, nodes, &options, &mistake);
    if (status != REDLOCK_OK) give_up("%s: %s", nodes, redlock_status_text(status));
}

int main(int argc, char **argv)
{
    static struct member member;    /* Large. */
    const struct sigaction end = { .sa_handler = on_signal };
    if (argc != 7) give_up("usage: chaos_client NODES DIRECTORY NUMBER SEED GUARD_MS MANNER");
    sigaction(SIGTERM, &end, NULL);
    member.manner = manner_of(argv[6]);
    member.dice.state = strtoull(argv[4], NULL, 10);
    member.home = (unsigned)strtoul(argv[3], NULL, 10) % RESOURCES;
    open_files(&member, argv[2], argv[3]);
    open_client(&member, argv[1], argv[5]);
    while (!told_to_end) acquire_use_release(&member);
    redlock_close(&member.client, CLOSE_MS);
    note(&member, moment_us(), "goes");
    return 0;
}
