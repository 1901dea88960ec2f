/* A client of the chaos run. It acquires one or two of a few resources again and again, does a
 * guarded increment of the numbers that belong to them for as long as it may, and writes down what
 * it believes.
 * It may be killed or stopped at any moment.
 *
 *     chaos_client NODES DIRECTORY NUMBER SEED GUARD_MS SKEW_MS BEHIND_MS MANNER
 *
 * BEHIND_MS  its wall clock is so much slow; the nodes and the other clients are within
 *            SKEW_MS of it
 * MANNER     usual      most holds are brief
 *            patient    many are long: while somebody makes the nodes forget, he does not have to
 *                       be lucky
 *            careless   it does not ask whether its validity has ended, and often it has: a holder
 *                       as the README warns of
 *            steady     half of them are long, with a TTL that outlives a failover, and it works
 *                       more slowly
 *
 * Some resources are mostly shared. It then only reads the number, and now and then it becomes a
 * writer and increments it. One is fair, and of one there are several permits, each with a number
 * of its own. A long hold is kept by the library (redlock_keep). Some holds have a ticket. It then
 * writes that at first and at last, without asking whether it still may, and now and then it
 * oversleeps in between. It writes where a fence refuses late writers (DIRECTORY/NAME.fence), and
 * where nothing does (DIRECTORY/NAME.open).
 * One client in a few has no wake-ups and polls.
 *
 * Knows the library by its public headers.
 *
 * DIRECTORY/client.NUMBER.log has a line for each event, written at once by one write(), each
 * beginning with the time. NAMES is a resource, or two with a comma between them, or ~ and a
 * resource that is shared, or berth:2/3, the second of three permits that were asked for as berth;
 * TICKET is 0 when there is none. A reader that becomes a writer ends, asks and wins anew:
 *
 *     TIME listens | polls             it begins, with wake-ups or without
 *     TIME asks NAMES plain | ticketed it begins to acquire
 *     TIME loses NAMES STATUS          it gave up
 *     TIME wins NAMES TOKEN UNTIL TICKET   it believes from TIME on that it is alone, until UNTIL
 *     TIME keeps NAMES TOKEN           from now on the library is to extend the lock
 *     TIME looks NAMES TOKEN BEGUN STATUS  it let the library work from BEGUN to TIME, and was told
 *                                          what became of the lock
 *     TIME extends NAMES TOKEN UNTIL   that has been done
 *     TIME tries NAME TOKEN VALUE      still valid at TIME, it will write
 *                                      VALUE to DIRECTORY/NAME.counter
 *     TIME wrote NAME TOKEN VALUE      it has
 *     TIME reads NAME TOKEN VALUE      a reader, still valid at TIME, has read VALUE
 *     TIME shows NAME TOKEN TICKET     it asks the fence of the resource whether it may write
 *     TIME admitted | refused NAME TOKEN TICKET    that is the answer; admitted: and it has
 *     TIME puts NAME TOKEN TICKET      it writes where there is no fence
 *     TIME ends NAMES TOKEN            it stopped using the resources; only then does it release
 *                                      the lock
 *     TIME goes                        it was told to end, and does
 *
 * A client that can go on no longer says why on stderr and exits with status 2. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "../../redlock/redlock_client.h"
#include "../../redlock/redlock_fence.h"
#include "../../redlock/redlock_sentinel.h"
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
    /* There can thus be many holds to the last moment, when a wrong promise shows, and beyond. */
    SHORT_TTL_MS = 300,
    /* It sleeps this much longer than the TTL, and meanwhile others have their turns. */
    OVERSLEEP_US_MIN = 100000, OVERSLEEP_US_MAX = 500000,
    WAIT_MS_MIN = 1000, WAIT_MS_MAX = 4000,
    BRIEF_US_MAX = 1500,        /* A hold of the usual kind. */
    /* Only a client that waited so long overruns. Its round may have been slow, and
     * must be counted. */
    WAITED_US_MIN = 20000,
    /* The rest after a hold. A client that asks again at once would mostly hand over to itself. */
    REST_US_MAX = 3000,
    LONG_US_MIN = 200000, LONG_US_MAX = 2000000,
    /* How long the library works between two increments of a kept lock; */
    LOOK_MS_MAX = 20,
    /* or about as long as it lasts, when nobody but the library looks at the time. */
    SLEEP_PER_CENT = 30,
    /* Mostly it asks for one and the same, so that never all wait for one. */
    ROAM_PER_CENT = 10,
    PAIR_PER_CENT = 5,          /* Holds of two resources. */
    TICKET_PER_CENT = 30,
    SHARED_PER_CENT = 75,       /* Shared holds of a resource that may be shared, */
    UPGRADE_PER_CENT = 10,      /* and of these readers so many try to become writers. */
    POLLERS = 5,                /* One client of so many has no wake-ups. */
    NAMES_SIZE = 32,
    PONDER_US_MAX = 500,        /* Between reading a number and writing it, if the hold is brief. */
    CLOSE_MS = 1000,
    LINE_SIZE = 256
};

/* Those of one kind in a circle, of which neighbours are pairs, come first. A permit is asked for
 * by another name than it has. */
static const struct resource {
    const char *name, *asked;
    const struct redlock_kind *kind;
} resources[] = {
    { "door", "door", &redlock_plain }, { "crane", "crane", &redlock_plain },
    { "signal", "signal", &redlock_shared },
    { "lathe", "lathe", &redlock_plain },   { "mill", "mill", &redlock_shared },
    { "gate", "gate", &redlock_fair },
    { "berth:1", "berth", &redlock_permits }, { "berth:2", "berth", &redlock_permits },
    { "berth:3", "berth", &redlock_permits }
};
enum {
    RESOURCES = sizeof resources / sizeof resources[0],
    CIRCLE = 5,
    FIRST_PERMIT = 6,
    PERMITS = 3
};

/* Limits of time. The guard of the run is longer than each TTL. */
struct pace {
    uint32_t ttl_ms_min, ttl_ms_max;
    /* If quick, shorter than most holds that are kept, or no loss would be reported. */
    uint32_t kept_ttl_ms;
    /* Shorter than most faults last, so that rounds go on without the node. */
    uint32_t node_timeout_ms;
    uint32_t retry_ms;
    /* As PONDER_US_MAX in a hold that is not brief, or the log would hold little else. */
    uint32_t ponder_us_max;
};

static const struct pace quick = {
    .ttl_ms_min = 500, .ttl_ms_max = 1500, .kept_ttl_ms = 500, .node_timeout_ms = 100,
    .retry_ms = 5, .ponder_us_max = 5000
};
static const struct pace slow = {
    .ttl_ms_min = 1500, .ttl_ms_max = 2000, .kept_ttl_ms = 2000, .node_timeout_ms = 200,
    .retry_ms = 50, .ponder_us_max = 50000
};

/* How often a hold is a long one, which is kept; one that overruns its time if it may; one with a
 * ticket that is slept away. */
struct manner {
    const char *name;
    uint32_t long_per_mille, overrun_per_mille, oversleep_per_mille;
    bool asks_the_time;
    const struct pace *pace;
};

static const struct manner manners[] = {
    { "usual", 2, 20, 3, true, &quick },
    { "patient", 50, 0, 0, true, &quick },
    { "careless", 0, 300, 0, false, &quick },
    { "steady", 500, 20, 3, true, &slow },
};
enum { MANNERS = sizeof manners / sizeof manners[0] };

struct member {
    int log;
    const struct manner *manner;
    /* Its wall clock is slow, so only the memory of the nodes makes its tickets large enough. */
    uint64_t behind_us;
    unsigned home;              /* The resource that it asks for most. */
    struct dice dice;
    struct counter counters[RESOURCES];
    /* These hold the ticket of the last writer. */
    struct counter fences[RESOURCES], opens[RESOURCES];
    struct redlock_sentinels sentinels;
    struct redlock_client client;
};

/* One acquired lock. */
struct holding {
    struct redlock_lock lock;
    unsigned which, count;      /* So many of the resources, from this one on. */
    struct redlock_name set[2];
    char names[NAMES_SIZE];
    uint32_t ttl_ms;
    uint32_t time_us;           /* The time for which the resource is wanted. */
    bool is_kept, overruns, oversleeps, has_ticket;
    const struct redlock_kind *kind;
    uint64_t until;             /* The end that was last written down. */
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

/* A healthy library answers this, whatever becomes of the nodes. */
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

/* ---- While it holds a lock ---- */

static bool may_act(const struct member *m, const struct holding *h, uint64_t now)
{
    return !m->manner->asks_the_time || redlock_valid_us(&h->lock, now) > 0;
}

static bool is_reader(const struct holding *h)
{
    return h->kind == &redlock_shared;
}

/* The number of the i-th of its resources. */
static unsigned resource_of(const struct holding *h, unsigned i)
{
    return i > 0 ? (h->which + i) % CIRCLE : h->which;
}

static void increment_one(struct member *m, const struct holding *h, unsigned which)
{
    struct counter counter = m->counters[which];
    counter_enter(counter);
    uint64_t value = counter_get(counter) + 1;
    counter_leave(counter);

    nap_us(dice_between(
        &m->dice, 0, h->time_us > BRIEF_US_MAX ? m->manner->pace->ponder_us_max : PONDER_US_MAX));

    counter_enter(counter);
    uint64_t now = moment_us();
    if (may_act(m, h, now)) {
        note(m, now, "tries %s %s %" PRIu64, resources[which].name, h->token, value);
        counter_set(counter, value);
        note(m, moment_us(), "wrote %s %s %" PRIu64, resources[which].name, h->token, value);
    }
    counter_leave(counter);
}

static void increment(struct member *m, const struct holding *h)
{
    for (unsigned i = 0; i < h->count; i++) increment_one(m, h, resource_of(h, i));
}

/* The number that it has read counts if it is valid after that. */
static void read_one(struct member *m, const struct holding *h)
{
    counter_enter(m->counters[h->which]);
    uint64_t value = counter_get(m->counters[h->which]);
    counter_leave(m->counters[h->which]);
    uint64_t now = moment_us();
    if (may_act(m, h, now))
        note(m, now, "reads %s %s %" PRIu64, resources[h->which].name, h->token, value);
    nap_us(dice_between(&m->dice, 0, PONDER_US_MAX));
}

static void work(struct member *m, const struct holding *h)
{
    if (is_reader(h)) read_one(m, h);
    else              increment(m, h);
}

static void use(struct member *m, const struct holding *h)
{
    uint64_t leave_at = moment_us() + h->time_us;
    while (may_act(m, h, moment_us()) && moment_us() < leave_at && !told_to_end) work(m, h);
}

/* ---- While the library keeps it ---- */

/* If the library has extended it. */
static void note_extension(const struct member *m, struct holding *h)
{
    uint64_t now = moment_us(), left_us = redlock_valid_us(&h->lock, now);
    if (left_us == 0 || now + left_us == h->until) return;
    h->until = now + left_us;
    note(m, now, "extends %s %s %" PRIu64, h->names, h->token, h->until);
}

static enum redlock_status look(struct member *m, struct holding *h, uint32_t for_ms)
{
    uint64_t begun_at = moment_us();
    enum redlock_status status = redlock_run_for(&m->client, &h->lock, for_ms);
    insist_on_a_verdict(status, "keep");
    note(m, moment_us(), "looks %s %s %" PRIu64 " %d", h->names, h->token, begun_at, (int)status);
    note_extension(m, h);
    return status;
}

/* It goes on until the library tells that the lock is lost, and does not ask. (Only an increment
 * asks, as always.) */
static void use_kept(struct member *m, struct holding *h)
{
    uint64_t now = moment_us(), leave_at = now + h->time_us;
    bool sleeps = dice_between(&m->dice, 1, 100) <= SLEEP_PER_CENT;
    enum redlock_status status = redlock_keep(&m->client.engine, &h->lock, 0, now);
    insist_on_a_verdict(status, "keep");
    if (status == REDLOCK_OK) note(m, moment_us(), "keeps %s %s", h->names, h->token);
    while (status != REDLOCK_LOST && now < leave_at && !told_to_end) {
        status = look(m, h, sleeps ? h->ttl_ms : dice_between(&m->dice, 0, LOOK_MS_MAX));
        work(m, h);
        now = moment_us();
    }
}

/* ---- With a ticket ---- */

/* It writes the ticket, so the file is fence and content in one, and the one is stored
 * with the other. */
static void write_behind_fence(const struct member *m, const struct holding *h, unsigned which)
{
    struct counter file = m->fences[which];
    uint64_t ticket = redlock_ticket(&h->lock);
    counter_enter(file);
    struct redlock_fence fence = { .largest = counter_get(file) };
    note(m, moment_us(), "shows %s %s %" PRIu64, resources[which].name, h->token, ticket);
    bool is_admitted = redlock_fence_admit(&fence, ticket, false);
    if (is_admitted) counter_set(file, fence.largest);
    note(m, moment_us(), "%s %s %s %" PRIu64, is_admitted ? "admitted" : "refused",
         resources[which].name, h->token, ticket);
    counter_leave(file);
}

static void write_in_the_open(const struct member *m, const struct holding *h, unsigned which)
{
    struct counter file = m->opens[which];
    uint64_t ticket = redlock_ticket(&h->lock);
    counter_enter(file);
    note(m, moment_us(), "puts %s %s %" PRIu64, resources[which].name, h->token, ticket);
    counter_set(file, ticket);
    counter_leave(file);
}

/* It does not ask whether the lock is still held. */
static void write_with_ticket(const struct member *m, const struct holding *h)
{
    for (unsigned i = 0; h->has_ticket && i < h->count; i++) {
        write_behind_fence(m, h, resource_of(h, i));
        write_in_the_open(m, h, resource_of(h, i));
    }
}

/* ---- Its life ---- */

static void note_win(const struct member *m, struct holding *h)
{
    uint64_t now = moment_us();
    unsigned slot = redlock_view_lock(&h->lock).slot;
    if (slot > 0) {
        h->which = FIRST_PERMIT + slot - 1;
        snprintf(h->names, sizeof h->names, "%s/%d", resources[h->which].name, (int)PERMITS);
    }
    redlock_token(&h->lock, h->token);
    h->until = now + redlock_valid_us(&h->lock, now);
    note(m, now, "wins %s %s %" PRIu64 " %" PRIu64, h->names, h->token, h->until,
         redlock_ticket(&h->lock));
}

static bool acquire(struct member *m, struct holding *h)
{
    const struct redlock_request request = {
        .resource = h->set[0].bytes, .resource_size = h->set[0].size,
        .set = h->count > 1 ? h->set : NULL, .set_count = h->count > 1 ? h->count : 0,
        .ttl_ms = h->ttl_ms, .wait_ms = dice_between(&m->dice, WAIT_MS_MIN, WAIT_MS_MAX),
        .ticket = h->has_ticket, .kind = h->kind,
        .permits = h->kind == &redlock_permits ? PERMITS : 0,
        .wall_us = redlock_wall_us() - m->behind_us
    };
    note(m, moment_us(), "asks %s %s", h->names, h->has_ticket ? "ticketed" : "plain");
    enum redlock_status status = redlock_acquire_request(&m->client, &h->lock, &request);
    insist_on_a_verdict(status, "acquire");
    if (status == REDLOCK_OK)
        note_win(m, h);
    else
        note(m, moment_us(), "loses %s %d", h->names, (int)status);
    return status == REDLOCK_OK;
}

/* Two neighbours in a circle, so each pair has a resource in common with two others. */
static void draw_resources(struct member *m, struct holding *h)
{
    bool roams = dice_between(&m->dice, 1, 100) <= ROAM_PER_CENT;
    h->which = roams ? dice_between(&m->dice, 0, RESOURCES - 1) : m->home;
    h->count = h->which < CIRCLE && dice_between(&m->dice, 1, 100) <= PAIR_PER_CENT ? 2 : 1;
    for (unsigned i = 0; i < h->count; i++) {
        const char *name = resources[resource_of(h, i)].asked;
        size_t size = strlen(h->names);
        h->set[i] = (struct redlock_name){ .bytes = name, .size = strlen(name) };
        snprintf(h->names + size, sizeof h->names - size, "%s%s", i > 0 ? "," : "", name);
    }
}

/* A reader has no ticket here, and is not late. A writer of what may be read has a plain lock. */
static void draw_kind(struct member *m, struct holding *h)
{
    bool reads = h->count == 1 && !h->overruns && !h->oversleeps;
    h->kind = resources[h->which].kind;
    if (!is_reader(h)) return;
    if (!reads || dice_between(&m->dice, 1, 100) > SHARED_PER_CENT) {
        h->kind = &redlock_plain;
        return;
    }
    h->has_ticket = false;
    snprintf(h->names, sizeof h->names, "~%s", resources[h->which].name);
}

/* The kind of hold, and its length. */
static void draw_plan(struct member *m, struct holding *h)
{
    const struct manner *manner = m->manner;
    uint32_t kind = dice_between(&m->dice, 1, 1000);
    uint32_t kept = manner->long_per_mille, overrun = kept + manner->overrun_per_mille;
    draw_resources(m, h);
    h->is_kept = kind <= kept;
    h->overruns = kind > kept && kind <= overrun;
    h->oversleeps = kind > overrun && kind <= overrun + manner->oversleep_per_mille;
    h->has_ticket = h->oversleeps || dice_between(&m->dice, 1, 100) <= TICKET_PER_CENT;
    h->ttl_ms = h->overruns || h->oversleeps ? SHORT_TTL_MS
                : h->is_kept
                    ? manner->pace->kept_ttl_ms
                    : dice_between(&m->dice, manner->pace->ttl_ms_min, manner->pace->ttl_ms_max);
    h->time_us = h->is_kept ? dice_between(&m->dice, LONG_US_MIN, LONG_US_MAX)
                            : dice_between(&m->dice, 0, BRIEF_US_MAX);
    draw_kind(m, h);
}

static void oversleep(struct member *m, const struct holding *h)
{
    nap_us(1000 * h->ttl_ms + dice_between(&m->dice, OVERSLEEP_US_MIN, OVERSLEEP_US_MAX));
}

/* If nobody else reads. Otherwise it reads on. */
static void become_writer(struct member *m, struct holding *h)
{
    enum redlock_status status = redlock_upgrade(&m->client, &h->lock);
    insist_on_a_verdict(status, "upgrade");
    if (status != REDLOCK_OK) return;
    note(m, moment_us(), "ends %s %s", h->names, h->token);
    h->kind = &redlock_plain;
    snprintf(h->names, sizeof h->names, "%s", resources[h->which].name);
    note(m, moment_us(), "asks %s plain", h->names);
    note_win(m, h);
    use(m, h);
}

static void acquire_use_release(struct member *m)
{
    struct holding h = { 0 };
    draw_plan(m, &h);
    redlock_lock_init(&h.lock);
    uint64_t asked_at = moment_us();
    if (!acquire(m, &h)) return;
    if (h.overruns && moment_us() - asked_at >= WAITED_US_MIN) h.time_us = 2000 * h.ttl_ms;
    write_with_ticket(m, &h);
    if (h.oversleeps)   oversleep(m, &h);
    else if (h.is_kept) use_kept(m, &h);
    else                use(m, &h);
    if (is_reader(&h) && !h.is_kept && dice_between(&m->dice, 1, 100) <= UPGRADE_PER_CENT)
        become_writer(m, &h);
    write_with_ticket(m, &h);
    note(m, moment_us(), "ends %s %s", h.names, h.token);
    insist_on_a_verdict(redlock_release(&m->client, &h.lock, NULL), "release");
    nap_us(dice_between(&m->dice, 0, REST_US_MAX));
}

static const struct manner *manner_of(const char *name)
{
    for (unsigned i = 0; i < MANNERS; i++)
        if (strcmp(manners[i].name, name) == 0) return &manners[i];
    give_up("there is no manner \"%s\"", name);
}

static struct counter open_counter(const char *directory, const char *resource, const char *kind)
{
    char path[LINE_SIZE];
    snprintf(path, sizeof path, "%s/%s.%s", directory, resource, kind);
    struct counter counter = counter_open(path);
    if (counter.fd < 0) give_up("%s: %s", path, strerror(errno));
    return counter;
}

static void open_files(struct member *m, const char *directory, const char *number)
{
    char path[LINE_SIZE];
    snprintf(path, sizeof path, "%s/client.%s.log", directory, number);
    m->log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (m->log < 0) give_up("%s: %s", path, strerror(errno));
    for (unsigned i = 0; i < RESOURCES; i++) {
        m->counters[i] = open_counter(directory, resources[i].name, "counter");
        m->fences[i] = open_counter(directory, resources[i].name, "fence");
        m->opens[i] = open_counter(directory, resources[i].name, "open");
    }
}

static uint32_t number_of(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

static void open_client(struct member *m, const char *nodes, const char *guard_ms,
                        const char *skew_ms, bool wake_ups)
{
    struct redlock_options options;
    struct redlock_mistake mistake;
    redlock_options_init(&options);
    options.engine.guard_ms = number_of(guard_ms);
    options.engine.ticket_skew_ms = number_of(skew_ms);
    options.engine.node_timeout_ms = m->manner->pace->node_timeout_ms;
    options.engine.retry_ms = m->manner->pace->retry_ms;
    options.engine.wake_ups = wake_ups;
    if (strncmp(nodes, "sentinel:", strlen("sentinel:")) == 0)
        redlock_use_sentinels(&options, &m->sentinels);
    enum redlock_status status = redlock_open(&m->client, nodes, &options, &mistake);
    if (status != REDLOCK_OK) give_up("%s: %s", nodes, redlock_status_text(status));
}

int main(int argc, char **argv)
{
    static struct member member;    /* Large. */
    const struct sigaction end = { .sa_handler = on_signal };
    if (argc != 9)
        give_up(
            "usage: chaos_client NODES DIRECTORY NUMBER SEED GUARD_MS SKEW_MS BEHIND_MS MANNER");
    sigaction(SIGTERM, &end, NULL);
    bool listens = number_of(argv[3]) % POLLERS != 0;
    member.manner = manner_of(argv[8]);
    member.behind_us = 1000 * (uint64_t)number_of(argv[7]);
    member.dice.state = strtoull(argv[4], NULL, 10);
    member.home = number_of(argv[3]) % RESOURCES;
    open_files(&member, argv[2], argv[3]);
    open_client(&member, argv[1], argv[5], argv[6], listens);
    note(&member, moment_us(), listens ? "listens" : "polls");
    while (!told_to_end) acquire_use_release(&member);
    redlock_close(&member.client, CLOSE_MS);
    note(&member, moment_us(), "goes");
    return 0;
}
