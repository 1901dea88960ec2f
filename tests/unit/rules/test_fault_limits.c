/* Some faults no client can survive, or only with a margin. Known failures happen here in the same
 * way, and no earlier. A client that reaches a quorum also gets its turn, whatever others reach. */
#include "../kinds/kinds.h"

enum { N = 5, QUORUM = 3, TTL_MS = 10000, RECONNECT_MS = 500 };

/* ---- How many keys may be lost ---- */

static void flush(struct cluster *cluster, unsigned k)
{
    REMOVE_KEYS(k);
}

static void evict(struct cluster *cluster, unsigned k)
{
    model_evict(NODE(k), 0);
}

static void step_forward(struct cluster *cluster, unsigned k)
{
    NODE_CLOCK_STEPS_MS(k, TTL_MS + 1000);
}

static void step_back(struct cluster *cluster, unsigned k)
{
    NODE_CLOCK_STEPS_MS(k, -TTL_MS);
}

/* Fails over to a replica that has got nothing yet, with the same connections. */
static void fail_over(struct cluster *cluster, unsigned k)
{
    model_node_load(NODE(k));
}

static void restart_empty(struct cluster *cluster, unsigned k)
{
    DOWN(k);
    UP(k);
}

static void restart_keeping(struct cluster *cluster, unsigned k)
{
    DOWN(k);
    UP_KEEPING(k);
}

static const struct cause {
    const char *name;
    void (*happens)(struct cluster *cluster, unsigned k);
    bool is_guarded;
    bool loses;     /* A vote for others, though the holder's validity goes on. */
} causes[] = {
    { "FLUSHALL", flush, true, true },
    { "an eviction", evict, true, true },
    { "a clock stepped forward", step_forward, true, true },
    { "a clock stepped back", step_back, true, false },
    { "a failover that nobody sees", fail_over, true, true },
    { "a restart with an empty memory, without the guard", restart_empty, false, true },
    { "a restart with an empty memory, with the guard", restart_empty, true, false },
    { "a restart with the old memory, without the guard", restart_keeping, false, false },
};

/* The lock is granted by so many nodes, and then it happens to so many of these. */
static void lose_keys(const struct cause *cause, unsigned granted, unsigned lost)
{
    CLUSTER_OF(N, 2, config.guard_ms = cause->is_guarded ? REDLOCK_GUARD_MS : 0);
    TAP_CONTEXT("%s on %u nodes of the %u that granted", cause->name, lost, granted);
    cluster->no_promise = cluster->no_exclusion = true;
    for (unsigned k = granted; k < N; k++) cluster_cut(cluster, 0, k, false);
    RUN_MS(5);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEYS("door", granted);
    for (unsigned k = 0; k < lost; k++) cause->happens(cluster, k);
    RUN_MS(RECONNECT_MS);
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_HELD(0);
    CHECK_INT(VALID_US(1) > 0, cause->loses && lost > granted - QUORUM);
}

TEST(as_many_keys_may_be_lost_as_there_are_grants_beyond_the_quorum_and_no_more)
{
    for (size_t c = 0; c < sizeof causes / sizeof causes[0]; c++)
        for (unsigned granted = QUORUM; granted <= N; granted++)
            for (unsigned lost = 0; lost <= granted; lost++) lose_keys(&causes[c], granted, lost);
}

/* ---- What a server says of its own age ---- */

/* The uptime is wall clock. A server that has forgotten everything, and whose clock is stepped
 * forward before a client sees it for the first time, therefore seems to be older than the guard. A
 * client that has seen it before is not deceived. */
static void restart_and_step(bool is_first_contact, bool is_stepped)
{
    CLUSTER_OF(3, 2, (void)0);
    TAP_CONTEXT("first contact: %d, clock stepped: %d", is_first_contact, is_stepped);
    cluster->no_promise = cluster->no_exclusion = true;
    cluster_cut(cluster, 0, 2, false);
    RUN_MS(5);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    restart_empty(cluster, 1);
    if (is_stepped) NODE_CLOCK_STEPS_MS(1, REDLOCK_GUARD_MS + 10000);
    if (is_first_contact) {
        cluster_client_dies(cluster, 1);
        cluster_client_returns(cluster, 1);
    }
    RUN_MS(RECONNECT_MS);
    ACQUIRE(1, "door", TTL_MS);
    EXPECT_HELD(0);
    CHECK_INT(VALID_US(1) > 0, is_first_contact && is_stepped);
}

TEST(s11_a_clock_stepped_behind_a_restart_deceives_only_clients_that_have_never_seen_the_server)
{
    for (unsigned i = 0; i < 4; i++) restart_and_step(i & 1, i & 2);
}

/* ---- Which client reaches which nodes ---- */

enum {
    CLIENTS = 3,
    NODES = 3,
    LINKS = CLIENTS * NODES,
    HOLD_MS = 10,
    TURN_MS = 60000,
    WALL_STEP_US = 3000000
};

static bool reaches_quorum(unsigned links, unsigned c)
{
    const unsigned reached = links >> c * NODES & 7;
    return (reached & (reached - 1)) != 0;
}

/* Bit c * NODES + k is set if client c reaches node k. Clients that reach no quorum
 * try without end.
 * Each client's wall clock is behind the one before, and tickets increase nevertheless (S15). */
static void take_turns(unsigned links, enum kind kind)
{
    bool had_it[CLIENTS] = { false };
    unsigned waiting = 0;
    uint64_t last_ticket = 0;
    CLUSTER_COLD(NODES, CLIENTS, config.wake_ups = true);
    TAP_CONTEXT("%s, links %03o", kind_names[kind], links);
    for (unsigned i = 0; i < LINKS; i++) LINK(i / NODES, i % NODES)->cut = !(links >> i & 1);
    for (unsigned c = 0; c < CLIENTS; c++) {
        cluster_set_client_wall(cluster, c, -(int64_t)c * WALL_STEP_US);
        CHECK_INT(kind_acquire(cluster, c, kind, TTL_MS, REDLOCK_FOREVER), REDLOCK_OK);
        waiting += reaches_quorum(links, c);
    }
    for (unsigned ms = 0; ms < TURN_MS && waiting > 0; ms += HOLD_MS) {
        RUN_MS(HOLD_MS);
        for (unsigned c = 0; c < CLIENTS; c++) {
            if (had_it[c] || VALID_US(c) == 0) continue;
            CHECK(kind != KIND_TICKET || redlock_ticket(LOCK(c)) > last_ticket);
            last_ticket = redlock_ticket(LOCK(c));
            had_it[c] = true;
            waiting--;
            START_RELEASE(c);
        }
    }
    for (unsigned c = 0; c < CLIENTS; c++) CHECK_INT(had_it[c], reaches_quorum(links, c));
}

TEST(whoever_reaches_a_quorum_has_his_turn_whatever_others_reach)
{
    for (unsigned links = 0; links < 1 << LINKS; links++) take_turns(links, KIND_PLAIN);
}

TEST(whoever_reaches_a_quorum_has_his_turn_with_a_ticket_or_a_set_too)
{
    for (unsigned kind = KIND_PLAIN; kind < KIND_COUNT; kind++)
        for (unsigned links = 7; links < 1 << LINKS; links += 7) take_turns(links, (enum kind)kind);
}

TAP_MAIN
