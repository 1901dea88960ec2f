/* Contention under random faults, watched by the cluster, is a little of the simulator in each run
 * of the unit tests. */
#include "../../world/story.h"

enum { WORLD_CLIENTS_MAX = 4, WORLD_LOCKS = 2, WORLD_STEPS = 1000 };

static const char *const resources[WORLD_LOCKS] = { "door", "gate" };

static unsigned random_below(struct cluster *cluster, unsigned limit)
{
    return (unsigned)cluster_below(cluster, limit);
}

static void heal(struct cluster *cluster, bool memories_last)
{
    for (unsigned k = 0; k < cluster->node_count; k++)
        if (cluster->hosts[k].down) cluster_node_up(cluster, k, memories_last);
    cluster_heal_all(cluster);
}

static void disturb(struct cluster *cluster, bool memories_last)
{
    const unsigned c = random_below(cluster, cluster->client_count),
                   k = random_below(cluster, cluster->node_count);
    switch (random_below(cluster, 14)) {
    case 0: cluster_stall(cluster, c, k); break;
    case 1: cluster_reset(cluster, c, k, random_below(cluster, 2)); break;
    case 2: cluster_cut(cluster, c, k, random_below(cluster, 2)); break;
    case 3: cluster_node_hang(cluster, k); break;
    case 4: LINK(c, k)->delay_us = cluster_below(cluster, 300000); break;
    case 5: cluster->clients[c].frozen = !cluster->clients[c].frozen; break;
    case 6: LINK(c, k)->deaf = true; break;
    case 7: if (!cluster->hosts[k].down) cluster_node_down(cluster, k); break;
    case 8: if (cluster->hosts[k].down) cluster_node_up(cluster, k, memories_last); break;
    case 9: model_flush_scripts(NODE(k)); break;
    case 10:
        cluster_step_client_clock(cluster, c, (int64_t)cluster_below(cluster, 1000000));
        break; /* Forward only: */
    case 11:
        cluster_step_node_clock(cluster, k, -(int64_t)cluster_below(cluster, 100000));
        break; /* and back. */
    default: heal(cluster, memories_last); break;
    }
}

static uint32_t random_ttl(struct cluster *cluster)
{
    return 200 + random_below(cluster, 2800);
}

/* Does an operation that is possible at any moment, moving the lock to other memory and back, to
 * oblivion and back. */
static void shift_memory(struct cluster *cluster, unsigned c, unsigned i)
{
    if (random_below(cluster, 4) > 0) {
        cluster_move(cluster, c, WORLD_LOCKS + i, i);
        cluster_move(cluster, c, i, WORLD_LOCKS + i);
    } else {
        cluster_forget(cluster, c, i);
        redlock_lock_init(cluster_lock(cluster, c, i));
    }
}

static void act(struct cluster *cluster, unsigned c, unsigned i)
{
    struct redlock_lock *lock = cluster_lock(cluster, c, i);
    if (cluster->clients[c].frozen) return;
    if (random_below(cluster, 20) == 0) {
        shift_memory(cluster, c, i);
    } else if (redlock_lock_status(lock) == REDLOCK_PENDING) {
        if (random_below(cluster, 50) == 0) cluster_cancel(cluster, c, i);
    } else if (cluster_valid_us(cluster, c, i) == 0) {
        (void)story_acquire(cluster, c, i, resources[i], random_ttl(cluster),
                            random_below(cluster, 3000));
    } else if (random_below(cluster, 2) == 0) {
        (void)cluster_extend(cluster, c, i, random_ttl(cluster));
    } else {
        (void)cluster_release(cluster, c, i);
    }
}

/* The traits of a random world. */
struct world {
    uint64_t seed;
    unsigned node_count, client_count;
    bool memories_last, in_pieces;
};

/* If a node may lose a lock that it has just granted, a promise can be broken and no client knows.
 * The guard keeps the exclusion all the same. */
static void shape(struct cluster *cluster, const struct world *world)
{
    cluster->dice = world->seed;
    cluster->restless = world->seed & 1;
    cluster->no_promise = !world->memories_last;
    for (unsigned c = 0; c < world->client_count; c++)
        for (unsigned k = 0; k < world->node_count; k++) {
            LINK(c, k)->jitter_us = random_below(cluster, 2000);
            LINK(c, k)->send_max = LINK(c, k)->receive_max =
                world->in_pieces ? 1 + random_below(cluster, 40) : 0;
        }
}

static bool anybody_holds(struct cluster *cluster)
{
    for (unsigned c = 0; c < cluster->client_count; c++)
        for (unsigned i = 0; i < WORLD_LOCKS; i++)
            if (cluster_valid_us(cluster, c, i) > 0) return true;
    return false;
}

/* All faults are over, so everything must end, and nothing be left. */
static void calm_down(struct cluster *cluster, bool memories_last)
{
    heal(cluster, memories_last);
    DELAY_ALL_US(CLUSTER_DELAY_US);
    for (unsigned c = 0; c < cluster->client_count; c++) {
        THAW(c);
        for (unsigned i = 0; i < WORLD_LOCKS; i++) {
            cluster_cancel(cluster, c, i);
            /* LOST: it was not even acquired. */
            const enum redlock_status status = cluster_release(cluster, c, i);
            CHECK(status == REDLOCK_OK || status == REDLOCK_LOST);
        }
    }
    RUN_MS(10000);
    for (unsigned i = 0; i < WORLD_LOCKS; i++) {
        EXPECT_KEY_ABSENT_ON_ALL(resources[i]);
        for (unsigned c = 0; c < cluster->client_count; c++)
            CHECK(redlock_idle(cluster_lock(cluster, c, i)));
    }
    for (unsigned c = 0; c < cluster->client_count; c++) {
        ACQUIRE(c, "door", 3000);
        EXPECT_STATUS(c, REDLOCK_OK);
        RELEASE(c);
        RUN_MS(10);
    }
}

static uint64_t fingerprint(const struct cluster *cluster)
{
    uint64_t hash = cluster->step_count;
    for (unsigned k = 0; k < cluster->node_count; k++)
        for (size_t i = 0; i < cluster->hosts[k].node.call_count; i++) {
            const struct model_call *call = &cluster->hosts[k].node.calls[i];
            hash = (hash ^ call->at_us) * 1099511628211u;
            for (const char *c = call->token; *c != '\0'; c++)
                hash = (hash ^ (uint8_t)*c) * 1099511628211u;
        }
    return hash;
}

struct outcome {
    uint64_t print;     /* Hash of everything that the nodes saw. */
    unsigned held;      /* Steps in which a lock was held. */
};

static void live_through(const struct world *world, struct outcome *outcome)
{
    CLUSTER_OF(world->node_count, world->client_count, config.guard_ms = 3000;
               config.receive_size = world->in_pieces ? REDLOCK_RECEIVE_MIN : REDLOCK_RECEIVE_SIZE;
               config.pipeline = REDLOCK_PIPELINE_MIN);
    outcome->held = 0;
    shape(cluster, world);
    for (unsigned step = 0; step < WORLD_STEPS; step++) {
        TAP_CONTEXT("seed %u, %u nodes, %u clients, at %u us", (unsigned)world->seed,
                    world->node_count, world->client_count, (unsigned)cluster->now_us);
        if (random_below(cluster, 4) == 0) disturb(cluster, world->memories_last);
        act(cluster, random_below(cluster, cluster->client_count),
            random_below(cluster, WORLD_LOCKS));
        RUN_US(random_below(cluster, 40000));
        outcome->held += anybody_holds(cluster);
    }
    calm_down(cluster, world->memories_last);
    outcome->print = fingerprint(cluster);
}

static struct world world_of(uint64_t seed)
{
    return (struct world){ seed, 1 + (unsigned)(seed * 7 % 6), 2 + (unsigned)(seed % 3),
                           seed % 4 < 2, seed % 5 == 0 };
}

TEST(under_random_faults_no_two_hold_and_afterwards_everything_ends_well)
{
    struct outcome outcome;
    unsigned held = 0, worlds = 0;
    for (uint64_t seed = 1; seed <= 100; seed += tap_sample(), worlds++) {
        const struct world world = world_of(seed);
        live_through(&world, &outcome);
        held += outcome.held;
    }
    CHECK(held > (worlds < 100 ? worlds : 10000)); /* It was not only quiet. */
}

TEST(the_same_inputs_give_the_same_outputs_to_the_bit)
{
    for (uint64_t seed = 1; seed <= 10; seed += tap_sample()) {
        const struct world world = world_of(seed);
        struct outcome first = { 0 }, second = { 0 };
        live_through(&world, &first);
        live_through(&world, &second);
        CHECK(first.print == second.print && first.print != 0);
    }
}

TAP_MAIN
