/* The verbs of the engine's tests.
 *
 *     TEST(a_lost_attempt_is_released_even_where_no_answer_came)
 *     {
 *         CLUSTER(5); STALL(2); STALL(3); STALL(4);
 *         ACQUIRE(0, "door", 10000);   EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
 *         HEAL_ALL; RUN_MS(500);       EXPECT_KEY_ABSENT_ON_ALL("door");
 *     }
 *
 * They speak of a local variable named cluster, which CLUSTER declares and which ends
 * with its block.
 * By default a client's lock is its lock number 0, and a fault is between all clients and the node.
 * After every verb the test fails when something was broken that the cluster watches. */
#ifndef STORY_H
#define STORY_H

#include "../tap.h"
#include "cluster.h"

#include <stdlib.h>

enum {
    STORY_SEED = 1,
    STORY_SETTLE_MS = 20    /* Enough for connecting and the handshake. */
};

/* A plan that nothing has asked for shows a test that does not test what it says. */
static inline void story_end(struct cluster **cluster)
{
    for (unsigned k = 0; k < (*cluster)->node_count; k++) {
        const char *idle = model_node_idle_plan(&(*cluster)->hosts[k].node);
        if (idle)
            tap_complain(__FILE__, __LINE__, "nothing asked node %u for its planned answer to %s",
                         k, idle);
    }
    cluster_free(*cluster);
}

static inline struct redlock_request story_request(const char *resource, uint32_t ttl_ms,
                                                   uint32_t wait_ms)
{
    return (struct redlock_request){ .resource = resource,
                                     .resource_size = strlen(resource),
                                     .ttl_ms = ttl_ms,
                                     .wait_ms = wait_ms };
}

static inline enum redlock_status story_acquire(struct cluster *cluster, unsigned client,
                                                unsigned lock, const char *resource,
                                                uint32_t ttl_ms, uint32_t wait_ms)
{
    const struct redlock_request request = story_request(resource, ttl_ms, wait_ms);
    return cluster_acquire(cluster, client, lock, &request);
}

/* The node answers a command with these bytes, so many times; whether it executes it or not. */
static inline void story_plan(struct model_node *node, const char *command, const void *bytes,
                              size_t size, unsigned times, bool executes)
{
    model_node_plan(node, (struct model_answer){ .command = command,
                                                 .bytes = bytes,
                                                 .size = size,
                                                 .times = times,
                                                 .executes = executes });
}

/* ---- Beginning ---- */

/* Nodes and clients that have not exchanged a word. The code after them may change the config. */
#define CLUSTER_COLD(nodes, clients, ...) \
    struct redlock_config config; \
    redlock_config_init(&config); \
    __VA_ARGS__; \
    struct cluster *cluster __attribute__((cleanup(story_end))) = \
        cluster_new(nodes, clients, &config, STORY_SEED); \
    cluster->talks = getenv("STORY") != NULL; \
    STORY_GOES_ON

/* The same, connected. */
#define CLUSTER_OF(nodes, clients, ...) \
    CLUSTER_COLD(nodes, clients, __VA_ARGS__); \
    RUN_MS(STORY_SETTLE_MS)
#define CLUSTER(nodes) CLUSTER_OF(nodes, 1, (void)0)

#define STORY_GOES_ON TAP_CHECK(!cluster_is_broken(cluster), "%s", cluster->broken)

/* ---- Time ---- */

#define RUN_MS(ms) do { cluster_run_ms(cluster, (ms)); STORY_GOES_ON; } while (0)
#define RUN_US(us) do { cluster_run_us(cluster, (us)); STORY_GOES_ON; } while (0)

/* So many ms at most. */
#define RUN_WHILE(condition, limit_ms) \
    for (unsigned story_ms = 0; story_ms < (limit_ms) && (condition); story_ms++) RUN_MS(1)

#define UNTIL_DONE(client) UNTIL_LOCK_DONE(client, 0)
#define UNTIL_LOCK_DONE(client, lock) \
    do { \
        const bool story_done = cluster_run_until_done(cluster, (client), (lock)); \
        STORY_GOES_ON; \
        TAP_CHECK(story_done, "the operation of lock %u of client %u does not end", \
                  (unsigned)(lock), (unsigned)(client)); \
    } while (0)

/* ---- What a client does ---- */

#define START_ACQUIRE(client, resource, ttl_ms, wait_ms) \
    START_ACQUIRE_LOCK(client, 0, resource, ttl_ms, wait_ms)
#define START_ACQUIRE_LOCK(client, lock, resource, ttl_ms, wait_ms) \
    CHECK_INT(story_acquire(cluster, (client), (lock), (resource), (ttl_ms), (wait_ms)), REDLOCK_OK)
#define START_EXTEND(client, ttl_ms) \
    CHECK_INT(cluster_extend(cluster, (client), 0, (ttl_ms)), REDLOCK_OK)
#define START_RELEASE(client) CHECK_INT(cluster_release(cluster, (client), 0), REDLOCK_OK)

#define ACQUIRE(client, resource, ttl_ms) ACQUIRE_WAIT(client, resource, ttl_ms, 0)
#define ACQUIRE_WAIT(client, resource, ttl_ms, wait_ms) \
    do { START_ACQUIRE(client, resource, ttl_ms, wait_ms); UNTIL_DONE(client); } while (0)
#define EXTEND(client, ttl_ms) do { START_EXTEND(client, ttl_ms); UNTIL_DONE(client); } while (0)
#define RELEASE(client) do { START_RELEASE(client); UNTIL_DONE(client); } while (0)

/* ---- What happens to nodes and links ---- */

#define NODE(k) (&cluster->hosts[k].node)
#define LINK(client, k) (&cluster->links[client][k])
#define STORY_CLIENTS for (unsigned story_c = 0; story_c < cluster->client_count; story_c++)
#define STORY_NODES for (unsigned story_k = 0; story_k < cluster->node_count; story_k++)

#define DOWN(k) cluster_node_down(cluster, (k))
/* It comes back with an empty memory. */
#define UP(k) cluster_node_up(cluster, (k), false)
#define UP_KEEPING(k) cluster_node_up(cluster, (k), true)
#define HANG(k) cluster_node_hang(cluster, (k))
#define RESUME(k) cluster_node_resume(cluster, (k))
#define STALL(k) do { STORY_CLIENTS cluster_stall(cluster, story_c, (k)); } while (0)
#define HEAL(k) do { STORY_CLIENTS cluster_heal(cluster, story_c, (k)); } while (0)
#define HEAL_ALL cluster_heal_all(cluster)
#define DEAFEN(k) do { STORY_CLIENTS LINK(story_c, k)->deaf = true; } while (0)
#define RESET(client, k) cluster_reset(cluster, (client), (k), false)
#define DELAY_US(k, us) do { STORY_CLIENTS LINK(story_c, k)->delay_us = (us); } while (0)
#define DELAY_ALL_US(us) do { STORY_NODES DELAY_US(story_k, us); } while (0)
#define FREEZE(client) (cluster->clients[client].frozen = true)
#define THAW(client) (cluster->clients[client].frozen = false)
#define CLIENT_CLOCK_STEPS_MS(client, ms) \
    cluster_step_client_clock(cluster, (client), (int64_t)(ms)*1000)
#define NODE_CLOCK_STEPS_MS(k, ms) cluster_step_node_clock(cluster, (k), (int64_t)(ms) * 1000)

/* Another client sets a key; ttl_ms 0: for ever. */
#define RIVAL(k, resource, ttl_ms) \
    (void)model_put(NODE(k), (resource), "rival", (ttl_ms), cluster_node_now(cluster, (k)))
#define RIVAL_ON_ALL(resource, ttl_ms) \
    do { \
        STORY_NODES RIVAL(story_k, resource, ttl_ms); \
    } while (0)
#define REMOVE_KEYS(k) model_flush(NODE(k))
#define REMOVE_KEY(k, resource) model_remove(NODE(k), (resource))

/* From now on the node answers a command with that reply and does not execute it. */
#define ANSWERS(k, name, reply) \
    story_plan(NODE(k), (name), (reply), strlen(reply), UINT32_MAX, false)
#define ANSWERS_AS_EVER(k) model_node_forget_plans(NODE(k))

/* Once; and it executes the command nevertheless, or does not. */
#define DOES_BUT_ANSWERS(k, name, reply) \
    story_plan(NODE(k), (name), (reply), strlen(reply), 1, true)
#define ANSWERS_ONCE(k, name, reply) story_plan(NODE(k), (name), (reply), strlen(reply), 1, false)

/* ---- What is expected ---- */

#define LOCK(client) cluster_lock(cluster, (client), 0)
#define ENGINE(client) (&cluster->clients[client].engine)
#define CLIENT_NOW(client) cluster_client_now(cluster, (client))
#define VALID_US(client) cluster_valid_us(cluster, (client), 0)
#define IDLE(client) redlock_idle(LOCK(client))
#define VOTES(client, k) redlock_node_votes(ENGINE(client), (k), CLIENT_NOW(client))
#define CALLS(k, name) model_count_calls(NODE(k), (name))

/* A status by its name, since a number says little when a test fails. */
#define EXPECT_STATUS(client, status) EXPECT_LOCK_STATUS(client, 0, status)
#define EXPECT_LOCK_STATUS(client, lock, status)                                                   \
    CHECK_STR(redlock_status_text(redlock_lock_status(cluster_lock(cluster, (client), (lock)))),  \
              redlock_status_text(status))
#define EXPECT_HELD(client) CHECK(VALID_US(client) > 0)
#define EXPECT_NOT_HELD(client) CHECK_INT(VALID_US(client), 0)
#define EXPECT_VOTE(client, k, vote) \
    CHECK_STR(redlock_vote_text(redlock_vote_of(LOCK(client), (k))), redlock_vote_text(vote))
#define EXPECT_TROUBLE(client, k, expected) \
    CHECK_INT(redlock_view_node(ENGINE(client), (k), CLIENT_NOW(client)).trouble, (expected))
#define EXPECT_KEY_ABSENT(k, resource) CHECK_STR(cluster_key(cluster, (k), (resource)), NULL)
#define EXPECT_RIVAL_KEY(k, resource) CHECK_STR(cluster_key(cluster, (k), (resource)), "rival")
#define EXPECT_KEYS(resource, count) CHECK_INT(cluster_count_keys(cluster, (resource)), (count))
#define EXPECT_KEY_ABSENT_ON_ALL(resource) EXPECT_KEYS(resource, 0)

/* The text about a node contains these words. */
#define EXPECT_WORDS(client, k, words) \
    do { \
        char story_text[200]; \
        redlock_describe_node(ENGINE(client), (k), CLIENT_NOW(client), story_text, \
                              sizeof story_text); \
        TAP_CHECK(strstr(story_text, (words)), "node %u is described as \"%s\", not with \"%s\"", \
                  (unsigned)(k), story_text, (words)); \
    } while (0)

#endif
