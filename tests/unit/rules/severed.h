/* Connections severed after every byte, in each direction, during an operation. The tests of that
 * share this file.
 *
 * Node 0 has a rival's key, so of five nodes the lock needs three of the other four. Two clients
 * with subscriptions make the worlds large, so they have three nodes, and need both of the others.
 * Whatever is severed, the status is right, the holder never believes more than a quorum keeps and
 * no two hold (the cluster watches), the rival's key stays, and soon after the healing nothing of
 * ours is left. */
#ifndef SEVERED_H
#define SEVERED_H

#include "../kinds/kinds.h"

#include <stdlib.h>

enum {
    SEVERED_NODES = 5, SEVERED_NODES_LISTENING = 3,
    SEVERED_LOST = 1,                               /* The node that loses a key. */
    SEVERED_ALL = 15 << 1, SEVERED_HALF = 3 << 2,   /* Among nodes 1 to 4. */
    SEVERED_DOOR_TTL = 10000, SEVERED_RECOVERY_MS = 8000, SEVERED_RECONNECT_MS = 4500,
    SEVERED_BYTES_MAX = 10000
};

struct cut;

struct operation {
    const char *name;
    /* Arms the cut where it begins to count, and goes on until the operation is over; and also any
     * work that is due after the healing. */
    void (*begins)(struct cluster *cluster, const struct cut *cut);
    void (*ends)(struct cluster *cluster);  /* NULL: nothing. */
    unsigned client;        /* The client whose connections are severed. */
    bool is_first;          /* Nothing is connected yet. */
    bool listens;           /* Client 0 waits for client 1, with subscriptions. */
};

struct cut {
    const struct operation *operation;
    enum kind kind;
    /* No node knows the scripts any more, so each is answered with NOSCRIPT and sent as EVAL. */
    bool is_flushed;
    unsigned mask;          /* The severed nodes. */
    bool to_node;           /* The direction in which bytes are counted. */
    bool lasts;             /* New connections are refused until the healing. */
    size_t after;           /* Bytes that still pass. */
};

static inline void arm(struct cluster *cluster, const struct cut *cut)
{
    const unsigned c = cut->operation->client;
    if (cut->is_flushed) kind_flush_scripts(cluster);
    for (unsigned k = 0; k < cluster->node_count; k++) {
        if (!(cut->mask >> k & 1)) continue;
        *(cut->to_node ? &LINK(c, k)->to_node : &LINK(c, k)->to_client) = (struct cluster_sever){
            true, cut->after
        };
        LINK(c, k)->cut = cut->lasts;
    }
}

/* False: so many bytes never passed, the test is over. */
static inline bool has_cut(struct cluster *cluster, const struct cut *cut)
{
    const unsigned c = cut->operation->client;
    for (unsigned k = 0; k < cluster->node_count; k++)
        if (cut->mask >> k & 1 && (LINK(c, k)->to_node.armed || LINK(c, k)->to_client.armed))
            return false;
    return true;
}

static inline void sever(const struct cut *cut, bool *was_cut)
{
    const struct operation *operation = cut->operation;
    CLUSTER_COLD(operation->listens ? SEVERED_NODES_LISTENING : SEVERED_NODES,
                 operation->listens ? 2 : 1, config.wake_ups = operation->listens);
    TAP_CONTEXT("%s of %s%s, nodes %x, %s severed after %zu bytes%s", operation->name,
                kind_names[cut->kind], cut->is_flushed ? " behind SCRIPT FLUSH" : "", cut->mask,
                cut->to_node ? "to the node" : "to the client", cut->after,
                cut->lasts ? " for a while" : "");
    RIVAL(0, "door", 600000);
    RIVAL(0, "door:1", 600000);
    if (!cut->is_flushed) kind_teach_scripts(cluster);
    if (!operation->is_first) RUN_MS(STORY_SETTLE_MS);
    operation->begins(cluster, cut);
    RUN_MS(1);
    *was_cut = has_cut(cluster, cut);
    RUN_MS(cut->lasts ? 1000 : 0);
    HEAL_ALL;
    if (operation->ends) operation->ends(cluster);
    if (VALID_US(0) > 0) RELEASE(0);
    RUN_MS(SEVERED_RECOVERY_MS);
    EXPECT_RIVAL_KEY(0, "door");
    EXPECT_KEYS("door", 1);
    EXPECT_RIVAL_KEY(0, "door:1");
    EXPECT_KEYS("door:1", 1);
    EXPECT_KEY_ABSENT_ON_ALL("door:#waiters");
    EXPECT_KEY_ABSENT_ON_ALL("gate");
    EXPECT_KEY_ABSENT_ON_ALL("door#waiters");
    EXPECT_KEY_ABSENT_ON_ALL("gate#waiters");
    for (unsigned c = 0; c < cluster->client_count; c++) {
        CHECK_INT(redlock_view_lock(LOCK(c)).owed, 0);
        CHECK(IDLE(c));
        for (unsigned k = 0; k < cluster->node_count; k++) CHECK(VOTES(c, k));
    }
}

/* After 0, 1, 2, ... bytes, or some of these, until the operation is over before that. */
static inline void sever_everywhere(struct cut cut)
{
    const size_t step = tap_sample();
    bool was_cut = true;
    for (cut.after = 0; was_cut && cut.after < SEVERED_BYTES_MAX; cut.after += step)
        sever(&cut, &was_cut);
    CHECK(cut.after > 4 && cut.after < SEVERED_BYTES_MAX);
}

/* All nodes but the one that refuses, which is asked little; one; and half of them. Commands with
 * the text of a script are long, so one way is enough for them. */
static const struct cut ways[] = {
    { .mask = SEVERED_ALL },
    { .mask = SEVERED_ALL, .lasts = true },
    { .mask = SEVERED_ALL, .is_flushed = true },
    { .mask = 1 << SEVERED_LOST },
    { .mask = SEVERED_HALF, .lasts = true },
};

static inline void sever_in_every_way(const struct operation *operation, enum kind kind)
{
    for (unsigned i = 0; i < 2 * sizeof ways / sizeof ways[0]; i++) {
        struct cut cut = ways[i / 2];
        cut.operation = operation;
        cut.kind = kind;
        cut.to_node = i % 2;
        /* There must be a connection before one can be severed. */
        if (!cut.lasts || !operation->is_first) sever_everywhere(cut);
    }
}

static inline void sever_every_kind(const struct operation *operation)
{
    /* Waiting and waking do not depend on tickets. */
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        if (!operation->listens || kind != KIND_TICKET)
            sever_in_every_way(operation, (enum kind)kind);
}

#endif
