/* The driver of a chaos run in which one node is a master behind sentinels (S31). It starts a
 * master, a replica and three sentinels, each in a place of its own, and clients in two houses, and
 * makes them fail over so many times. It judges nothing; tests/history/check reads
 * the clients' notes.
 *
 *     chaos_failovers CLIENT PRELOAD DIRECTORY FAILOVERS SEED MODE
 *
 * MODE   failovers  what is promised to be safe
 *        unguarded  no guard: a lock that the replica has never heard of, or that somebody still
 *                   has from the old master, is granted again
 *        credulous  each client names one sentinel only, in each house another. So nobody asks a
 *                   majority, and a sentinel that is cut off together with the old
 *                   master is believed
 *
 * A failover begins in one of three ways, by the dice:
 *
 *     killed     the link to the replica is cut, and then the master is killed. The replica lacks
 *                the last writes.
 *     cut off    the old master, one house, and one sentinel or none, are on one side, and all
 *                others are on the other. By the dice a house reaches both sides, and only the
 *                sentinels keep it from the old master. The link to the replica may be cut earlier.
 *                In most of the long cuts the new master is killed when the links heal. The old
 *                one, which was never a replica, is then named again, and lacks the locks that were
 *                granted meanwhile. That is a failover of its own.
 *     stopped    the master is stopped, and goes on after the failover with the commands that have
 *                come meanwhile.
 *
 * Then all links heal, a dead server starts as a master with its file or without, and the next
 * trouble begins when all agree and locks can be held again. DIRECTORY/events.log has a line
 * "fault: ..." for each, and a line "failover: ..." when a majority of the sentinels names the new
 * master, not counting one that is cut off. */
#define _XOPEN_SOURCE 700

#include "moment.h"
#include "world.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <sys/prctl.h>

enum {
    SERVERS = 2,                /* Nodes 0 and 1. */
    SENTINELS = 3,              /* The nodes after them. */
    MEMBERS = 10,               /* Every resource is the home of a member of each house. */
    LONGEST_TTL_MS = 2000,      /* Of steady clients. */
    GUARDED_MS = 2300,
    TICKET_GUARD_MS = GUARDED_MS + 2 * SKEW_MS,
    KILLED_PER_CENT = 35, STOPPED_PER_CENT = 15,    /* The others are cut off. */
    STEP_MS = 20,
    /* The time for which the replica hears nothing before the master dies. */
    UNHEARD_MS_MIN = 100, UNHEARD_MS_MAX = 600,
    DEAD_MS_MAX = 1000,         /* The time from a failover until the server starts or goes on. */
    SHORT_CUT_MS_MAX = 1000,    /* From a failover to the end of the cut: half of them; */
    /* the others. */
    LONG_CUT_MS_MIN = TICKET_GUARD_MS + 500, LONG_CUT_MS_MAX = TICKET_GUARD_MS + 1500,
    /* From a failover to the next trouble. */
    BUSY_MS_MIN = TICKET_GUARD_MS + 700, BUSY_MS_MAX = TICKET_GUARD_MS + 1500,
    PATIENCE_MS = 60000,        /* For a failover, and for agreement. Far more. */
    VALUE_SIZE = 64
};

_Static_assert((int)SERVERS + (int)SENTINELS == (int)NODES, "each node is one of them");
_Static_assert((int)MEMBERS <= (int)CREW, "each has a place in the crew");
_Static_assert(GUARDED_MS * 99 > LONGEST_TTL_MS * 100,
               "a guard outlives every TTL, whatever the clocks do");

static const struct mode {
    const char *name;
    uint32_t guard_ms;
    bool credulous;
} modes[] = {
    { "failovers", GUARDED_MS, false },
    { "unguarded", 0, false },
    { "credulous", GUARDED_MS, true },
};
enum { MODES = sizeof modes / sizeof modes[0] };

static const struct weather fine = { 0, 0 }, cut = { 0, EVERYTHING_PPM };

struct story {
    struct world *w;
    const struct mode *mode;
    unsigned master;            /* The server that all sentinels agreed on. */
    uint64_t failed_over_at_ms; /* The last time that the clients had a new master. */
    uint32_t failovers_left;
};

static uint32_t draw(struct story *s, uint32_t low, uint32_t high)
{
    return dice_between(&s->w->dice, low, high);
}

/* ---- Sentinels ---- */

static struct server *server(struct story *s, unsigned k)
{
    return &s->w->nodes[k].server;
}

static struct server *sentinel(struct story *s, unsigned i)
{
    return server(s, SERVERS + i);
}

/* It is told to look often. Otherwise a failover would take several times as long. */
static void start_sentinel(struct story *s, unsigned i)
{
    static const char *const periods[][2] = {
        { "info-period", "200" }, { "ask-period", "200" }, { "publish-period", "200" },
        { "min-link-reconnect-period", "1000" },
        { "tilt-period", "1000" }
    };
    unsigned k = SERVERS + i;
    char here[NETWORK_ADDRESS_SIZE], there[NETWORK_ADDRESS_SIZE];
    network_address(k, here);
    network_address(0, there);
    snprintf(s->w->nodes[k].config, CONFIG_SIZE,
             "sentinel monitor mymaster %s %u 2\nsentinel down-after-milliseconds mymaster 500\n"
             "sentinel failover-timeout mymaster 1500\nprotected-mode no\nbind %s\n",
             there, (unsigned)server(s, 0)->port, here);
    node_start(s->w, k);
    for (unsigned p = 0; p < sizeof periods / sizeof periods[0]; p++) {
        const char *answer = ASK(server(s, k), "SENTINEL", "DEBUG", periods[p][0], periods[p][1]);
        if (strcmp(answer, "OK") != 0) bail_out("SENTINEL DEBUG %s: %s", periods[p][0], answer);
    }
}

/* True if a list of names and values, as sentinels send it, has this value. */
static bool has_value(const char *list, const char *name, const char *value)
{
    char pair[VALUE_SIZE];
    snprintf(pair, sizeof pair, " %s %s ", name, value);
    return strstr(list, pair) != NULL;
}

static bool names(struct story *s, unsigned i, unsigned k)
{
    char address[NETWORK_ADDRESS_SIZE];
    network_address(k, address);
    return has_value(ASK(sentinel(s, i), "SENTINEL", "MASTER", "mymaster"), "ip", address);
}

static bool majority_names(struct story *s, unsigned k, unsigned except)
{
    unsigned count = 0;
    for (unsigned i = 0; i < SENTINELS; i++) count += i != except && names(s, i, k);
    return count > SENTINELS / 2;
}

static bool is_content(struct story *s, unsigned i, unsigned master)
{
    const char *list = ASK(sentinel(s, i), "SENTINEL", "MASTER", "mymaster");
    if (!has_value(list, "flags", "master") || !has_value(list, "num-slaves", "1") ||
        !has_value(list, "num-other-sentinels", "2"))
        return false;
    list = ASK(sentinel(s, i), "SENTINEL", "REPLICAS", "mymaster");
    if (!has_value(list, "flags", "slave") || !has_value(list, "master-link-status", "ok"))
        return false;
    return names(s, i, master);
}

static bool all_agree(struct story *s, unsigned master)
{
    if (strstr(ASK(server(s, master), "INFO", "replication"), "role:master") == NULL) return false;
    if (strstr(ASK(server(s, !master), "INFO", "replication"), "master_link_status:up") == NULL)
        return false;
    for (unsigned i = 0; i < SENTINELS; i++)
        if (!is_content(s, i, master)) return false;
    return true;
}

/* ---- Time passes ---- */

/* No client ends unasked, which member_has_ended notes as a failure. */
static void step(struct story *s)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        if (member_has_ended(s->w, &s->w->crew[i])) member_start(s->w, &s->w->crew[i]);
    nap_ms(STEP_MS);
}

static void pass_until(struct story *s, uint64_t until_ms)
{
    while (clock_ms() < until_ms) step(s);
}

static void pass(struct story *s, uint32_t ms)
{
    pass_until(s, clock_ms() + ms);
}

static void await_failover(struct story *s, unsigned new, unsigned except)
{
    uint64_t begun_ms = clock_ms();
    while (!majority_names(s, new, except)) {
        if (clock_ms() > begun_ms + PATIENCE_MS)
            bail_out("no failover in %d s", PATIENCE_MS / 1000);
        step(s);
    }
    s->failed_over_at_ms = clock_ms();
    s->failovers_left--;
    world_note(s->w, "failover: server %u is the master, after %" PRIu64 " ms", new,
               s->failed_over_at_ms - begun_ms);
}

/* Returns the server that they agree on. Mostly it is the one expected. */
static void await_agreement(struct story *s, unsigned expected)
{
    uint64_t begun_ms = clock_ms();
    while (!all_agree(s, expected)) {
        if (all_agree(s, !expected)) {
            world_note(s->w, "unasked: server %u is the master again", !expected);
            s->failed_over_at_ms = clock_ms();
            expected = !expected;
            break;
        }
        if (clock_ms() > begun_ms + PATIENCE_MS)
            bail_out("no agreement in %d s", PATIENCE_MS / 1000);
        step(s);
    }
    s->master = expected;
    world_note(s->w, "agreed: after %" PRIu64 " ms", clock_ms() - begun_ms);
}

/* ---- Failovers ---- */

static void set_link(struct story *s, unsigned one, unsigned other, struct weather weather)
{
    network_set(&s->w->network, one, other, weather);
    network_set(&s->w->network, other, one, weather);
}

static void heal(struct story *s)
{
    for (unsigned one = 0; one < NODES + HOUSES; one++)
        for (unsigned other = 0; other < one; other++) set_link(s, one, other, fine);
}

/* The connection of the dead process would carry the last writes after all, so the link heals after
 * the failover. */
static void kill_master(struct story *s, unsigned old)
{
    uint32_t unheard_ms = draw(s, UNHEARD_MS_MIN, UNHEARD_MS_MAX);
    world_note(s->w, "fault: killed: server %u, %u ms after the link to the replica was cut", old,
               unheard_ms);
    set_link(s, old, !old, cut);
    pass(s, unheard_ms);
    server_crash(server(s, old));
    await_failover(s, !old, SENTINELS);
    pass(s, draw(s, 0, DEAD_MS_MAX));
    node_restart(s->w, old, draw(s, 0, 1));
}

/* Cuts the links from one side, which is the old master and perhaps a sentinel, to the other. */
static void part(struct story *s, unsigned old, unsigned stale)
{
    for (unsigned k = 0; k < NODES; k++) {
        if (k == old || k == SERVERS + stale) continue;
        set_link(s, old, k, cut);
        if (stale < SENTINELS) set_link(s, SERVERS + stale, k, cut);
    }
}

static void part_house(struct story *s, unsigned house, unsigned old, unsigned stale,
                       bool reaches_old, bool reaches_new)
{
    for (unsigned k = 0; k < NODES; k++) {
        bool is_old_side = k == old || k == SERVERS + stale;
        if (is_old_side ? !reaches_old : !reaches_new) set_link(s, place_of_house(house), k, cut);
    }
}

static void stop_master(struct story *s, unsigned old)
{
    world_note(s->w, "fault: stopped: server %u", old);
    server_freeze(server(s, old));
    await_failover(s, !old, SENTINELS);
    pass(s, draw(s, 0, DEAD_MS_MAX));
    server_thaw(server(s, old));
}

/* The sentinel that is cut off together with a house, or SENTINELS. It is the one that the house
 * believes, if that is credulous. */
static unsigned draw_stale(struct story *s, unsigned house)
{
    if (s->mode->credulous) return house;
    switch (draw(s, 0, 3)) {
    case 0:
        return SENTINELS;
    case 1:
        return draw(s, 0, SENTINELS - 1);
    default:
        return house;
    }
}

/* The new master dies too early to make a replica of the old one, when clients may
 * have locks there. */
static void return_to(struct story *s, unsigned old, unsigned stale)
{
    heal(s);
    world_note(s->w, "fault: named again: server %u, since server %u is killed", old, !old);
    server_crash(server(s, !old));
    await_failover(s, old, stale);
    pass(s, draw(s, 0, DEAD_MS_MAX));
    node_restart(s->w, !old, draw(s, 0, 1));
}

/* Returns the master in the end. */
static unsigned cut_master_off(struct story *s, unsigned old)
{
    unsigned house = draw(s, 0, HOUSES - 1), stale = draw_stale(s, house);
    bool one_reaches_both = draw(s, 0, 1), other_reaches_both = draw(s, 0, 2) == 0;
    bool long_cut = s->mode->credulous || draw(s, 0, 1);
    uint32_t unheard_ms = draw(s, 0, 1) ? draw(s, UNHEARD_MS_MIN, UNHEARD_MS_MAX) : 0;
    char with[VALUE_SIZE] = "no sentinel";
    if (stale < SENTINELS) snprintf(with, sizeof with, "sentinel %u", stale);
    world_note(
        s->w,
        "fault: cut off: server %u with %s and house %u%s%s%s, %u ms after the link to the replica",
        old, with, house, one_reaches_both ? ", which reaches all" : "",
        other_reaches_both ? "; the other house reaches all" : "", long_cut ? "; long" : "",
        unheard_ms);
    set_link(s, old, !old, cut);
    pass(s, unheard_ms);
    part(s, old, stale);
    part_house(s, house, old, stale, true, one_reaches_both);
    part_house(s, !house, old, stale, other_reaches_both, true);
    await_failover(s, !old, stale);
    pass(s, long_cut ? draw(s, LONG_CUT_MS_MIN, LONG_CUT_MS_MAX) : draw(s, 0, SHORT_CUT_MS_MAX));
    if (!long_cut || s->failovers_left == 0 || draw(s, 0, 2) == 0) return !old;
    return_to(s, old, stale);
    return old;
}

static void fail_over(struct story *s)
{
    unsigned old = s->master, new = !old, kind = draw(s, 1, 100);
    if (kind <= KILLED_PER_CENT)                         kill_master(s, old);
    else if (kind <= KILLED_PER_CENT + STOPPED_PER_CENT) stop_master(s, old);
    else                                                 new = cut_master_off(s, old);
    heal(s);
    world_note(s->w, "healed");
    await_agreement(s, new);
    pass_until(s, s->failed_over_at_ms + draw(s, BUSY_MS_MIN, BUSY_MS_MAX));
}

/* ---- The run ---- */

static void start_servers(struct story *s)
{
    char address[NETWORK_ADDRESS_SIZE], port[8];
    for (unsigned k = 0; k < SERVERS; k++) {
        node_configure(s->w, k);
        node_start(s->w, k);
    }
    network_address(0, address);
    snprintf(port, sizeof port, "%u", (unsigned)server(s, 0)->port);
    ASK(server(s, 1), "REPLICAOF", address, port);
    for (unsigned i = 0; i < SENTINELS; i++) start_sentinel(s, i);
}

/* All sentinels, or the only one that a house believes. */
static void list_sentinels(struct story *s, unsigned house)
{
    size_t size = (size_t)snprintf(s->w->list, LIST_SIZE, "sentinel://");
    for (unsigned i = 0; i < SENTINELS; i++) {
        char address[NETWORK_ADDRESS_SIZE];
        if (s->mode->credulous && i != house) continue;
        network_address(SERVERS + i, address);
        const char *comma = s->w->list[size - 1] == '/' ? "" : ",";
        size += (size_t)snprintf(s->w->list + size, LIST_SIZE - size, "%s%s:%u", comma, address,
                                 (unsigned)sentinel(s, i)->port);
    }
    snprintf(s->w->list + size, LIST_SIZE - size, "/mymaster");
}

static void start_members(struct story *s)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        s->w->crew[i].house = i % HOUSES;
        list_sentinels(s, i % HOUSES);
        member_start(s->w, &s->w->crew[i]);
    }
}

static void run(struct story *s)
{
    struct world *w = s->w;
    world_open_places(w);
    if (w->no_network)
        bail_out("no network of its own, which needs root (CAP_SYS_ADMIN, CAP_NET_ADMIN) and "
                 "/dev/net/tun: %s",
                 w->no_network);
    /* Nothing goes on when the process that started it is killed. */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    start_servers(s);
    await_agreement(s, 0);
    start_members(s);
    world_note(w, "begins: %d servers, %d sentinels, %d clients, guard %" PRIu32 " ms", SERVERS,
               SENTINELS, MEMBERS, w->guard_ms);
    pass(s, BUSY_MS_MAX + 2000);        /* A server reports its age in whole seconds. */
    clock_measure(w, 0);
    while (s->failovers_left > 0) fail_over(s);
    world_note(w, "over: the clients are told to end");
    crew_end(w);
    world_note(w, "ends");
}

static const struct mode *mode_of(const char *name)
{
    for (unsigned i = 0; i < MODES; i++)
        if (strcmp(modes[i].name, name) == 0) return &modes[i];
    bail_out("there is no mode \"%s\"", name);
}

static uint32_t whole_number(const char *text, const char *what)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value == 0 || value > UINT32_MAX)
        bail_out("%s must be a number from 1 to %" PRIu32 ", not \"%s\"", what, UINT32_MAX, text);
    return (uint32_t)value;
}

int main(int argc, char **argv)
{
    static struct world world;
    if (argc != 7) bail_out("usage: chaos_failovers CLIENT PRELOAD DIRECTORY FAILOVERS SEED MODE");
    struct story story = { .w = &world, .mode = mode_of(argv[6]) };
    world.client = argv[1];
    world.preload = argv[2];
    world.directory = argv[3];
    world.guard_ms = story.mode->guard_ms;
    world.manner = "steady";
    world.dice.state = whole_number(argv[5], "the seed");
    story.failovers_left = whole_number(argv[4], "the number of failovers");
    run(&story);
    return 0;
}
