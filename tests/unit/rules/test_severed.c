/* Every connection severed after every byte, in each direction, while a lock of any kind is
 * acquired, extended, released. */
#include "severed.h"

enum { N = SEVERED_NODES, LOST = SEVERED_LOST, DOOR_TTL = SEVERED_DOOR_TTL };

static bool is_minority(unsigned mask)
{
    return (mask & (mask - 1)) == 0; /* One node is cut, so three of the four that are free stay. */
}

static void acquire_severed(struct cluster *cluster, const struct cut *cut)
{
    arm(cluster, cut);
    ACQUIRE_KIND(0, cut->kind, DOOR_TTL);
    if (is_minority(cut->mask)) EXPECT_STATUS(0, REDLOCK_OK);
    const enum redlock_status status = redlock_lock_status(LOCK(0));
    CHECK(status == REDLOCK_OK || status == REDLOCK_NO_QUORUM || status == REDLOCK_TAKEN);
    CHECK_INT(VALID_US(0) > 0, status == REDLOCK_OK);
}

static void extend(struct cluster *cluster, const struct cut *cut, bool must_succeed)
{
    const uint64_t until = CLIENT_NOW(0) + VALID_US(0);
    arm(cluster, cut);
    EXTEND(0, DOOR_TTL);
    if (must_succeed) EXPECT_STATUS(0, REDLOCK_OK);
    if (redlock_lock_status(LOCK(0)) == REDLOCK_OK) {
        CHECK(CLIENT_NOW(0) + VALID_US(0) > until);
    } else {
        CHECK(redlock_lock_status(LOCK(0)) == REDLOCK_NO_QUORUM ||
              redlock_lock_status(LOCK(0)) == REDLOCK_TAKEN);
        CHECK_INT(CLIENT_NOW(0) + VALID_US(0), until);
    }
    RUN_MS(1000);
    EXPECT_HELD(0);
}

static void extend_severed(struct cluster *cluster, const struct cut *cut)
{
    ACQUIRE_KIND(0, cut->kind, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(500);
    extend(cluster, cut, is_minority(cut->mask));
    /* The rival's and ours are there, so nothing was given back. */
    EXPECT_KEYS(kind_key(cut->kind), N);
}

/* The other three confirm, and the one that has lost the key gets it again. */
static void restore_severed(struct cluster *cluster, const struct cut *cut)
{
    ACQUIRE_KIND(0, cut->kind, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(500);
    REMOVE_KEYS(LOST);
    extend(cluster, cut, cut->mask == 1 << LOST);
}

/* At the latest with the next extension. */
static void restore_again(struct cluster *cluster)
{
    RUN_MS(SEVERED_RECONNECT_MS);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(10);
    EXPECT_KEYS(redlock_view_lock(LOCK(0)).slot > 0 ? "door:1" : "door", N);
}

static void release_severed(struct cluster *cluster, const struct cut *cut)
{
    ACQUIRE_KIND(0, cut->kind, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    arm(cluster, cut);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    if (is_minority(cut->mask)) CHECK(redlock_view_lock(LOCK(0)).confirmed >= 3);
    EXPECT_NOT_HELD(0);
}

enum { FIRST_ACQUIRE, ACQUIRE_IT, EXTEND_IT, RESTORE_IT, RELEASE_IT };

static const struct operation operations[] = {
    [FIRST_ACQUIRE] = { "the first acquire", acquire_severed, .is_first = true },
    [ACQUIRE_IT] = { "an acquire", acquire_severed, .client = 0 },
    [EXTEND_IT] = { "an extension", extend_severed, .client = 0 },
    [RESTORE_IT] = { "an extension with a key lost", restore_severed, restore_again, .client = 0 },
    [RELEASE_IT] = { "a release", release_severed, .client = 0 },
};

TEST(an_acquire_survives_that_connections_end_after_any_byte)
{
    sever_every_kind(&operations[ACQUIRE_IT]);
}

TEST(the_first_acquire_survives_that_connections_end_after_any_byte_of_the_handshake)
{
    sever_in_every_way(&operations[FIRST_ACQUIRE], KIND_PLAIN);
}

TEST(an_extension_survives_that_connections_end_after_any_byte)
{
    sever_every_kind(&operations[EXTEND_IT]);
}

TEST(an_extension_that_sets_a_lost_key_again_survives_that_connections_end_after_any_byte)
{
    sever_every_kind(&operations[RESTORE_IT]);
}

TEST(a_release_survives_that_connections_end_after_any_byte)
{
    sever_every_kind(&operations[RELEASE_IT]);
}

TAP_MAIN
