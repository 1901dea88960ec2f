/* Every connection severed after every byte, in each direction, during every operation.
 *
 * Five nodes; on node 0 lies a rival's key, so the lock needs three of the other four. Whatever is severed: the status is
 * right, the holder never believes more than a quorum keeps (the cluster watches), the rival's key stays, and soon after
 * the healing nothing of ours is left. */
#include "../sim/story.h"

enum { N = 5, DOOR_TTL = 10000, RECOVERY_MS = 8000, BYTES_MAX = 10000 };

enum operation { FIRST_ACQUIRE, ACQUIRE_AGAIN, EXTENSION, RELEASE_IT };

static const char *const operation_names[] = { "the first acquire", "an acquire", "an extension", "a release" };

struct cut {
    enum operation operation;
    unsigned mask;          /* Which nodes. */
    bool to_node;           /* The direction in which bytes are counted. */
    bool lasts;             /* New connections are refused until the healing. */
    size_t after;           /* Bytes that still pass. */
};

static void arm(struct cluster *cluster, const struct cut *cut)
{
    for (unsigned k = 0; k < N; k++) {
        if (!(cut->mask >> k & 1))
            continue;
        *(cut->to_node ? &LINK(0, k)->to_node : &LINK(0, k)->to_client) = (struct cluster_sever){ true, cut->after };
        LINK(0, k)->cut = cut->lasts;
    }
}

/* False: so many bytes never passed, the test is over. */
static bool has_cut(struct cluster *cluster, const struct cut *cut)
{
    for (unsigned k = 0; k < N; k++)
        if (cut->mask >> k & 1 && (LINK(0, k)->to_node.armed || LINK(0, k)->to_client.armed))
            return false;
    return true;
}

static bool is_minority(unsigned mask)
{
    return (mask & (mask - 1)) == 0; /* One node: three of the four that are free stay. */
}

static void acquire_severed(struct cluster *cluster, const struct cut *cut)
{
    arm(cluster, cut);
    ACQUIRE(0, "door", DOOR_TTL);
    if (is_minority(cut->mask))
        EXPECT_STATUS(0, REDLOCK_OK);
    const enum redlock_status status = redlock_lock_status(LOCK(0));
    CHECK(status == REDLOCK_OK || status == REDLOCK_NO_QUORUM || status == REDLOCK_TAKEN);
    CHECK_INT(VALID_US(0) > 0, status == REDLOCK_OK);
}

static void extend_severed(struct cluster *cluster, const struct cut *cut)
{
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(500);
    const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
    arm(cluster, cut);
    EXTEND(0, DOOR_TTL);
    if (is_minority(cut->mask))
        EXPECT_STATUS(0, REDLOCK_OK);
    if (redlock_lock_status(LOCK(0)) == REDLOCK_OK) {
        CHECK(CLIENT_NOW(0) + VALID_US(0) > until);
    } else {
        EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
        CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until);
    }
    RUN_MS(1000);
    EXPECT_HELD(0);
    CHECK(cluster_count_keys(cluster, "door") == N); /* The rival's and ours: nothing was given back. */
}

static void release_severed(struct cluster *cluster, const struct cut *cut)
{
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    arm(cluster, cut);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    if (is_minority(cut->mask))
        CHECK(redlock_confirmed(LOCK(0)) >= 3);
    EXPECT_NOT_HELD(0);
}

static void sever(const struct cut *cut, bool *was_cut)
{
    CLUSTER_COLD(N, 1, (void)0);
    TAP_CONTEXT("%s, nodes %x, %s severed after %zu bytes%s", operation_names[cut->operation], cut->mask,
                cut->to_node ? "to the node" : "to the client", cut->after, cut->lasts ? " for a while" : "");
    RIVAL(0, "door", 600000);
    if (cut->operation != FIRST_ACQUIRE)
        RUN_MS(STORY_SETTLE_MS);
    switch (cut->operation) {
    case FIRST_ACQUIRE:
    case ACQUIRE_AGAIN: acquire_severed(cluster, cut); break;
    case EXTENSION:     extend_severed(cluster, cut); break;
    case RELEASE_IT:    release_severed(cluster, cut); break;
    }
    RUN_MS(1);
    *was_cut = has_cut(cluster, cut);
    RUN_MS(cut->lasts ? 1000 : 0);
    HEAL_ALL;
    if (VALID_US(0) > 0)
        RELEASE(0);
    RUN_MS(RECOVERY_MS);
    EXPECT_RIVAL_KEY(0, "door");
    EXPECT_KEYS("door", 1);
    CHECK_INT(redlock_owed(LOCK(0)), 0);
    CHECK(IDLE(0));
    for (unsigned k = 0; k < N; k++)
        CHECK(VOTES(0, k));
}

/* After 0, 1, 2, ... bytes, until the operation is over before that. */
static void sever_everywhere(enum operation operation, bool lasts)
{
    static const unsigned masks[] = { 1 << 1, 1 << 4, 3 << 2, 15 << 1 }; /* Node 0 refuses: it is asked little. */
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++)
        for (unsigned to_node = 0; to_node < 2; to_node++) {
            struct cut cut = { operation, masks[m], to_node, lasts, 0 };
            bool was_cut = true;
            for (; was_cut && cut.after < BYTES_MAX; cut.after++)
                sever(&cut, &was_cut);
            CHECK(cut.after > 4 && cut.after < BYTES_MAX);
        }
}

TEST(an_acquire_survives_that_connections_end_after_any_byte)
{
    sever_everywhere(ACQUIRE_AGAIN, false);
    sever_everywhere(ACQUIRE_AGAIN, true);
}

TEST(the_first_acquire_survives_that_connections_end_after_any_byte_of_the_handshake)
{
    sever_everywhere(FIRST_ACQUIRE, false);
}

TEST(an_extension_survives_that_connections_end_after_any_byte)
{
    sever_everywhere(EXTENSION, false);
    sever_everywhere(EXTENSION, true);
}

TEST(a_release_survives_that_connections_end_after_any_byte)
{
    sever_everywhere(RELEASE_IT, false);
    sever_everywhere(RELEASE_IT, true);
}

TAP_MAIN
