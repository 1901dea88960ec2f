/* One of several permits (S19). */
#include "../world/story.h"

enum { TTL = 10000, NODES = 5 };

static struct redlock_request permit_request(uint8_t permits, uint32_t wait_ms)
{
    struct redlock_request request = story_request("pool", TTL, wait_ms);

    request.permits = permits;
    return request;
}

static enum redlock_status start_permit(struct cluster *cluster, unsigned client, uint8_t permits, uint32_t wait_ms)
{
    const struct redlock_request request = permit_request(permits, wait_ms);

    return cluster_acquire(cluster, client, 0, &request);
}

#define START_PERMIT(client, permits, wait_ms) CHECK_INT(start_permit(cluster, (client), (permits), (wait_ms)), REDLOCK_OK)
#define PERMIT(client, permits) do { START_PERMIT(client, permits, 0); UNTIL_DONE(client); } while (0)

/* How many nodes have any of the slots. */
static unsigned slot_keys(struct cluster *cluster, unsigned slot)
{
    char name[16];

    snprintf(name, sizeof name, "pool:%u", slot);
    return cluster_count_keys(cluster, name);
}

static unsigned all_keys(struct cluster *cluster)
{
    unsigned count = 0;

    for (unsigned slot = 1; slot <= REDLOCK_PERMITS_MAX; slot++) count += slot_keys(cluster, slot);
    return count;
}

TEST(s19_a_permit_is_a_lock_of_one_of_so_many_slots)
{
    CLUSTER(NODES);

    PERMIT(0, 3);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
    CHECK(redlock_slot(LOCK(0)) >= 1 && redlock_slot(LOCK(0)) <= 3);
    RUN_MS(5);
    CHECK_INT(slot_keys(cluster, redlock_slot(LOCK(0))), NODES);
    CHECK_INT(all_keys(cluster), NODES);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(all_keys(cluster), 0);
    CHECK_INT(redlock_slot(LOCK(0)), 0);
    CHECK(IDLE(0));
}

TEST(s19_so_many_hold_one_and_the_next_is_refused)
{
    bool is_taken[6] = { false };
    CLUSTER_OF(NODES, 5, (void)0);

    for (unsigned c = 0; c < 4; c++) {
        PERMIT(c, 4);
        EXPECT_STATUS(c, REDLOCK_OK);
        CHECK(!is_taken[redlock_slot(LOCK(c))]);
        is_taken[redlock_slot(LOCK(c))] = true;
        RUN_MS(5);
    }
    PERMIT(4, 4);
    EXPECT_STATUS(4, REDLOCK_TAKEN);
    CHECK(redlock_free_in_ms(LOCK(4)) > TTL - 100 && redlock_free_in_ms(LOCK(4)) <= TTL);
    RELEASE(2);
    RUN_MS(5);
    PERMIT(4, 4);
    EXPECT_STATUS(4, REDLOCK_OK);
}

TAP_MAIN
