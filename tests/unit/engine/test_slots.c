/* Managed nodes whose slots move. Each is a cluster of two shards behind one address, by
 * tests/world/model_slots.c, and an engine follows no redirect. So a shard that has no key of the
 * lock has no vote on it, and what is owed there stays owed. */
#include "../../world/story.h"

enum { TTL_MS = 10000, MASTERS = 3 };

#define DOOR "{s}door"
#define GATE "{s}gate"

/* Connected to shard 0 of each node, which has the slot. */
#define SHARDS_OF(clients, ...) \
    CLUSTER_COLD(MASTERS, clients, __VA_ARGS__); \
    cluster_declare_managed(cluster); \
    RUN_MS(STORY_SETTLE_MS)
#define SHARDS SHARDS_OF(1, (void)0)

#define SLOT_LEAVES(k) model_slot_leaves(NODE(k))
#define KEY_LEAVES(k) CHECK(model_slot_sends(NODE(k), 0, 0))
#define SLOT_ARRIVES(k) model_slot_arrives(NODE(k))
#define SLOT_RETURNS(k) model_slot_returns(NODE(k))
/* New connections to the node's address lead to the shard that has the slot. */
#define ADDRESS_FOLLOWS(k) \
    do { STORY_CLIENTS LINK(story_c, k)->shard = NODE(k)->owner; } while (0)

static const struct model_call *last_call(const struct model_node *node)
{
    return &node->calls[node->call_count - 1];
}

/* ---- A story ---- */

/* The shards that had the slot hand it on while the lock is held, key by key. Nobody gets what is
 * held, whichever shard is asked. The holder releases it where it is by then. */
TEST(a_lock_travels_with_its_slot_and_is_released_where_it_has_arrived)
{
    SHARDS_OF(2, (void)0);
    ACQUIRE(0, DOOR, TTL_MS);
    RUN_MS(10);
    EXPECT_HELD(0);

    STORY_NODES SLOT_LEAVES(story_k);
    ACQUIRE(1, DOOR, TTL_MS);               /* The key is where it was. */
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    EXTEND(0, TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);

    STORY_NODES KEY_LEAVES(story_k);
    ACQUIRE(1, DOOR, TTL_MS);               /* ASK: it is elsewhere, and nothing can be set. */
    EXPECT_STATUS(1, REDLOCK_NO_QUORUM);
    RUN_MS(10);
    STORY_NODES EXPECT_TROUBLE(1, story_k, REDLOCK_TROUBLE_CLUSTERDOWN);
    EXPECT_KEYS(DOOR, MASTERS);

    STORY_NODES { SLOT_ARRIVES(story_k); ADDRESS_FOLLOWS(story_k); }
    ACQUIRE(1, DOOR, TTL_MS);               /* MOVED. */
    EXPECT_STATUS(1, REDLOCK_NO_QUORUM);
    EXPECT_HELD(0);
    RELEASE(0);                             /* MOVED, so all three are owed. */
    RUN_MS(3000);
    EXPECT_KEY_ABSENT_ON_ALL(DOOR);         /* The other shards have been asked since. */
    CHECK(IDLE(0));
    ACQUIRE(1, DOOR, TTL_MS);               /* It has not met these servers, so it waits for */
    EXPECT_STATUS(1, REDLOCK_NO_QUORUM);    /* the guard, and has the lock after it. */
    RUN_MS(REDLOCK_GUARD_MS);
    ACQUIRE(1, DOOR, TTL_MS);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* ---- Answers ---- */

static void refuse_with(const char *answer)
{
    SHARDS;
    TAP_CONTEXT("%s", answer);
    STORY_NODES ANSWERS_ONCE(story_k, "SET", answer);
    ACQUIRE(0, DOOR, TTL_MS);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    for (unsigned k = 0; k < MASTERS; k++)
        CHECK(redlock_vote_of(LOCK(0), k) != REDLOCK_VOTE_GRANTED &&
              redlock_vote_of(LOCK(0), k) != REDLOCK_VOTE_REFUSED);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL(DOOR);
}

TEST(s3_no_redirect_of_a_set_is_a_vote)
{
    refuse_with("-MOVED 15495 10.0.0.2:6379\r\n");
    refuse_with("-ASK 15495 10.0.0.2:6379\r\n");
    refuse_with("-TRYAGAIN Multiple keys request during rehashing of slot\r\n");
    refuse_with("-CLUSTERDOWN Hash slot not served\r\n");
}

/* The key left before the release came, and comes back when the move is given up. */
TEST(s5_ask_is_no_proof_that_nothing_is_there)
{
    SHARDS;
    ACQUIRE(0, DOOR, TTL_MS);
    RUN_MS(10);
    STORY_NODES { SLOT_LEAVES(story_k); KEY_LEAVES(story_k); }
    RELEASE(0);
    RUN_MS(1000);
    EXPECT_KEYS(DOOR, MASTERS);
    CHECK(!IDLE(0));
    STORY_NODES SLOT_RETURNS(story_k);
    RUN_MS(2000);
    EXPECT_KEY_ABSENT_ON_ALL(DOOR);
    CHECK(IDLE(0));
}

TEST(s5_moved_is_no_proof_that_nothing_is_there)
{
    SHARDS;
    ACQUIRE(0, DOOR, TTL_MS);
    RUN_MS(10);
    STORY_NODES SLOT_ARRIVES(story_k);      /* At once, and the address does not follow. */
    RELEASE(0);
    RUN_MS(3000);
    EXPECT_KEYS(DOOR, MASTERS);
    CHECK(!IDLE(0));
    STORY_NODES SLOT_ARRIVES(story_k);      /* And back. */
    RUN_MS(1000);
    EXPECT_KEY_ABSENT_ON_ALL(DOOR);
    CHECK(IDLE(0));
}

/* A debt to a shard that nobody can reach ends with the TTL of what is owed. */
TEST(what_is_owed_to_another_shard_is_owed_no_longer_than_its_ttl)
{
    SHARDS;
    ACQUIRE(0, DOOR, 1000);
    RUN_MS(10);
    STORY_NODES SLOT_ARRIVES(story_k);
    RELEASE(0);
    RUN_MS(3000);
    CHECK(IDLE(0));
    EXPECT_KEY_ABSENT_ON_ALL(DOOR);
}

/* One of the two keys of a set has left. */
TEST(a_set_of_which_a_part_has_left_is_kept_and_released_later)
{
    struct redlock_name set[] = { { .bytes = DOOR, .size = sizeof DOOR - 1 },
                                  { .bytes = GATE, .size = sizeof GATE - 1 } };
    SHARDS;
    const struct redlock_request request = { .set = set, .set_count = 2, .ttl_ms = TTL_MS };
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(10);
    STORY_NODES { SLOT_LEAVES(story_k); KEY_LEAVES(story_k); }
    EXTEND(0, TTL_MS);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    STORY_NODES CHECK(strncmp(last_call(NODE(story_k))->redirect, "-TRYAGAIN", 9) == 0);
    EXPECT_HELD(0);
    RELEASE(0);
    EXPECT_KEYS(GATE, MASTERS);
    STORY_NODES SLOT_RETURNS(story_k);
    RUN_MS(2000);
    EXPECT_KEY_ABSENT_ON_ALL(DOOR);
    EXPECT_KEY_ABSENT_ON_ALL(GATE);
}

/* ---- Scripts that are stopped halfway ---- */

/* The last of the readers has left them, so their key is gone, and a shard whose slot moves refuses
 * each command with a key that is not there. The script ends before it removes the readers' marker,
 * which keeps writers out for no longer than its TTL. */
TEST(s21_a_reader_whose_release_is_stopped_halfway_keeps_writers_out_for_its_ttl_at_most)
{
    SHARDS_OF(2, (void)0);
    struct redlock_request request = story_request(DOOR, 2000, 0);
    request.kind = &redlock_shared;
    request.set = &(struct redlock_name){ .bytes = DOOR, .size = sizeof DOOR - 1, .shared = true };
    request.set_count = 1;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(10);
    STORY_NODES SLOT_LEAVES(story_k);
    START_RELEASE(0);
    RUN_MS(20);
    STORY_NODES CHECK(last_call(NODE(story_k))->stopped || CALLS(story_k, "RELEASE") > 1);
    EXPECT_KEYS(DOOR, MASTERS);
    STORY_NODES SLOT_RETURNS(story_k);
    ACQUIRE_WAIT(1, DOOR, TTL_MS, 5000);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* ---- What a move must not do ---- */

/* A slot must not leave a server that has just lost its keys, since the guard is of the server. It
 * is a known limit (redlock(7), "Managed endpoints"). */
TEST(s11_the_guard_is_of_servers_and_a_slot_that_leaves_one_takes_none_along)
{
    SHARDS_OF(2, (void)0);
    cluster->no_exclusion = cluster->no_promise = true;
    /* B knows both shards of node 1, and A has nodes 0 and 1. */
    STORY_NODES LINK(1, story_k)->shard = 1;
    for (unsigned k = 0; k < MASTERS; k++) RESET(1, k);
    RUN_MS(REDLOCK_GUARD_MS + 1000);
    cluster_stall(cluster, 0, 2);
    ACQUIRE(0, DOOR, TTL_MS);
    RUN_MS(10);
    EXPECT_HELD(0);
    REMOVE_KEYS(1);                         /* Shard 0 has restarted without its keys, */
    STORY_NODES SLOT_ARRIVES(story_k);      /* and gives its slot to shard 1. */
    ACQUIRE(1, DOOR, TTL_MS);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_HELD(0);
}

TAP_MAIN
