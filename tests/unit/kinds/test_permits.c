/* One of several permits (S20). */
#include "kinds.h"

#include "../../../redlock/stake.h"
#include "../../../redlock/wire.h"

enum { TTL = 10000, NODES = 5, K = 4 };

static struct redlock_request permit_request(uint8_t permits, uint32_t wait_ms)
{
    struct redlock_request request = story_request("pool", TTL, wait_ms);

    request.kind = &redlock_permits;
    request.permits = permits;
    return request;
}

static enum redlock_status start_permit(struct cluster *cluster, unsigned client, uint8_t permits,
                                        uint32_t wait_ms)
{
    const struct redlock_request request = permit_request(permits, wait_ms);

    return cluster_acquire(cluster, client, 0, &request);
}

#define START_PERMIT(client, permits, wait_ms) \
    CHECK_INT(start_permit(cluster, (client), (permits), (wait_ms)), REDLOCK_OK)
#define PERMIT(client, permits) \
    do { \
        START_PERMIT(client, permits, 0); \
        UNTIL_DONE(client); \
    } while (0)
#define SLOT(client) redlock_view_lock(LOCK(client)).slot

static const char *slot_name(unsigned slot)
{
    static char name[16];

    snprintf(name, sizeof name, "pool:%u", slot);
    return name;
}

static unsigned slot_keys(struct cluster *cluster, unsigned slot)
{
    return cluster_count_keys(cluster, slot_name(slot));
}

static unsigned all_keys(struct cluster *cluster)
{
    unsigned count = 0;

    for (unsigned slot = 1; slot <= REDLOCK_PERMITS_MAX; slot++) count += slot_keys(cluster, slot);
    return count;
}

/* Node k has none of these slots free. */
static void take_slots(struct cluster *cluster, unsigned k, unsigned slots)
{
    for (unsigned slot = 1; slot <= K; slot++)
        if (slots >> slot & 1) RIVAL(k, slot_name(slot), 60000);
}

/* Each node has one slot free, of K, and knows all scripts. */
static void leave_free(struct cluster *cluster, const unsigned free_slots[NODES])
{
    kind_teach_scripts(cluster);
    for (unsigned k = 0; k < NODES; k++) take_slots(cluster, k, 0x1eu & ~(1u << free_slots[k]));
}

static const struct model_call *last_call(struct cluster *cluster, unsigned k, const char *name)
{
    for (size_t i = NODE(k)->call_count; i > 0; i--)
        if (strcmp(NODE(k)->calls[i - 1].name, name) == 0) return &NODE(k)->calls[i - 1];
    return NULL;
}

static unsigned call_count(struct cluster *cluster, unsigned k, const char *name)
{
    unsigned count = 0;

    for (size_t i = 0; i < NODE(k)->call_count; i++)
        count += strcmp(NODE(k)->calls[i].name, name) == 0;
    return count;
}

static void remove_key_of(struct cluster *cluster, unsigned k, unsigned slot)
{
    const char *name = slot_name(slot);

    for (size_t i = NODE(k)->key_count; i > 0; i--)
        if (NODE(k)->keys[i - 1].name_size == strlen(name) &&
            memcmp(NODE(k)->keys[i - 1].name, name, strlen(name)) == 0)
            model_evict(NODE(k), i - 1);
}

TEST(a_permit_with_a_ticket_needs_the_tickets)
{
    CLUSTER_COLD(3, 1, (void)0);
    cluster_client_is_plain(cluster, 0);
    RUN_MS(STORY_SETTLE_MS);
    struct redlock_request request = story_request("door", 10000, 0);
    request.kind = &redlock_permits;
    request.permits = 2;
    request.ticket = true;
    request.wall_us = 1;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_CONFIG);
}

TEST(s20_a_permit_is_a_lock_of_one_of_so_many_slots)
{
    CLUSTER(NODES);

    CHECK_INT(SLOT(0), 0);
    PERMIT(0, 3);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
    CHECK(SLOT(0) >= 1 && SLOT(0) <= 3);
    RUN_MS(5);
    CHECK_INT(slot_keys(cluster, SLOT(0)), NODES);
    CHECK_INT(all_keys(cluster), NODES);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(all_keys(cluster), 0);
    CHECK_INT(SLOT(0), 0);
    CHECK(IDLE(0));
}

TEST(s20_so_many_hold_one_and_the_next_is_refused)
{
    bool is_taken[K + 1] = { false };
    CLUSTER_OF(NODES, K + 1, (void)0);

    for (unsigned c = 0; c < K; c++) {
        PERMIT(c, K);
        EXPECT_STATUS(c, REDLOCK_OK);
        CHECK(!is_taken[SLOT(c)]);
        is_taken[SLOT(c)] = true;
        RUN_MS(5);
    }
    PERMIT(K, K);
    EXPECT_STATUS(K, REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(K)).free_in_ms > TTL - 100 &&
          redlock_view_lock(LOCK(K)).free_in_ms <= TTL);
    RELEASE(2);
    RUN_MS(5);
    PERMIT(K, K);
    EXPECT_STATUS(K, REDLOCK_OK);
}

/* Three nodes have granted, but no three the same slot. */
TEST(s20_grants_of_different_slots_are_not_added)
{
    static const unsigned free_slots[NODES] = { 1, 1, 2, 2, 3 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    PERMIT(0, K);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(SLOT(0), 0);
    EXPECT_NOT_HELD(0);
    RUN_MS(5);
    /* Only the rivals' are left, since all five grants were given up. */
    CHECK_INT(all_keys(cluster), NODES * (K - 1));
    CHECK(IDLE(0));
}

TEST(s20_a_quorum_of_one_slot_is_held_and_grants_of_others_are_given_up_at_once)
{
    static const unsigned free_slots[NODES] = { 2, 3, 2, 4, 2 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    PERMIT(0, K);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(SLOT(0), 2);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
    EXPECT_VOTE(0, 4, REDLOCK_VOTE_GRANTED);
    RUN_MS(5);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_REFUSED);
    EXPECT_VOTE(0, 3, REDLOCK_VOTE_REFUSED);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 3);
    EXPECT_KEY_ABSENT(1, "pool:3");
    EXPECT_KEY_ABSENT(3, "pool:4");
    EXPECT_HELD(0);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    for (unsigned k = 0; k < NODES; k++)
        CHECK_INT(call_count(cluster, k, "RESTORE"), free_slots[k] == 2 ? 0 : 1);
}

/* Node 0 has granted slot 2 in the first attempt. In the second it refuses, nodes 1 and 2 grant
 * that slot, and node 3 refuses last. */
TEST(s20_a_slot_of_an_earlier_attempt_is_not_counted)
{
    static const unsigned free_slots[NODES] = { 2, 2, 3, 3, 1 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    PERMIT(0, K);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(5);
    for (unsigned k = 0; k < NODES; k++) take_slots(cluster, k, 0x1e);
    for (unsigned k = 1; k < 3; k++) remove_key_of(cluster, k, 2);
    for (unsigned k = 1; k <= 3; k++) DELAY_US(k, (k + 1) * CLUSTER_DELAY_US);
    PERMIT(0, K);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    EXPECT_NOT_HELD(0);
}

/* Node 1 grants slot 3 behind the first attempt, which was lost, and when slot 2 is held by the
 * second, and extended or not. */
static void grant_an_earlier_slot(bool extends)
{
    static const unsigned free_slots[NODES] = { 2, 3, 2, 2, 0 };
    CLUSTER(NODES);

    TAP_CONTEXT("%s", extends ? "extended" : "held");
    kind_teach_scripts(cluster);
    for (unsigned k = 0; k < NODES; k++) take_slots(cluster, k, k == 1 ? 0x16 : 0x1e);
    cluster->links[0][1].to_client_us = 20000;
    PERMIT(0, K);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    for (unsigned k = 0; k < NODES; k++)
        if (free_slots[k] == 2) remove_key_of(cluster, k, 2);
    PERMIT(0, K);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(SLOT(0), 2);
    if (extends) EXTEND(0, TTL);
    RUN_MS(100);
    CHECK_INT(LOCK(0)->round.granted, 0xd);
    EXPECT_VOTE(0, 1, extends ? REDLOCK_VOTE_NOT_ASKED : REDLOCK_VOTE_PENDING);
    CHECK_INT(call_count(cluster, 1, "RESTORE"), 0);
    EXPECT_KEY_ABSENT(1, "pool:3");
    CHECK_INT(slot_keys(cluster, 2), NODES);    /* Two are the rival's. */
}

TEST(s8_a_slot_that_an_earlier_attempt_was_granted_is_not_moved)
{
    grant_an_earlier_slot(false);
    grant_an_earlier_slot(true);
}

/* The votes for it that come after the quorum count; those for another slot are given up
 * when they come. */
TEST(s20_a_grant_of_another_slot_that_comes_when_one_is_held_is_given_up)
{
    static const unsigned free_slots[NODES] = { 2, 3, 2, 2, 2 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    DELAY_US(1, 20000);
    DELAY_US(4, 20000);
    PERMIT(0, K);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(SLOT(0), 2);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_PENDING);
    RUN_MS(100);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_REFUSED);
    EXPECT_VOTE(0, 4, REDLOCK_VOTE_GRANTED);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 4);
    RUN_MS(100);
    EXPECT_KEY_ABSENT(1, "pool:3");
    CHECK_STR(cluster_key(cluster, 4, "pool:2") ? "ours" : NULL, "ours");
}

/* It is left until an extension moves it, or the lock's end. (A late release would delete the
 * extension's key, and three would hold two permits.) */
TEST(s27_another_slot_that_is_granted_too_late_is_not_released_by_the_token_that_is_held)
{
    static const unsigned free_slots[NODES] = { 2, 3, 2, 2, 2 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    DELAY_US(1, 20000);
    PERMIT(0, K);
    CHECK_INT(SLOT(0), 2);
    cluster->links[0][1].to_client_us = 1000 * cluster->config.node_timeout_ms;
    RUN_MS(2 * cluster->config.node_timeout_ms);
    CHECK(!last_call(cluster, 1, "RELEASE"));
    CHECK(cluster_key(cluster, 1, "pool:3"));
    EXPECT_HELD(0);
    cluster->links[0][1].to_client_us = 0;
    remove_key_of(cluster, 1, 2);
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(200);
    EXPECT_KEY_ABSENT(1, "pool:3");
    CHECK_INT(slot_keys(cluster, 2), NODES);
    CHECK(!last_call(cluster, 1, "RELEASE"));
    RELEASE(0);
    RUN_MS(200);
    CHECK_INT(slot_keys(cluster, 2), 0);
    CHECK(IDLE(0));
}

/* Otherwise the node would take a slot for free that is held, and grant it to clients that cannot
 * have a quorum of it. */
TEST(s20_a_node_that_has_granted_another_slot_gets_the_one_that_is_held)
{
    static const unsigned free_slots[NODES] = { 2, 3, 2, 2, 2 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    DELAY_US(1, 20000);
    PERMIT(0, K);
    CHECK_INT(SLOT(0), 2);
    RUN_MS(25);
    CHECK(cluster_key(cluster, 1, "pool:3"));
    remove_key_of(cluster, 1, 2);
    RUN_MS(60);
    EXPECT_KEY_ABSENT(1, "pool:3");
    CHECK_INT(slot_keys(cluster, 2), NODES);
    EXPECT_HELD(0);
    RELEASE(0);
    RUN_MS(100);
    CHECK_INT(slot_keys(cluster, 2), 0);
    CHECK(IDLE(0));
}

/* Nothing is waited for when the slot that leads cannot have a quorum any more. */
TEST(s20_it_is_lost_as_soon_as_no_slot_can_have_a_quorum)
{
    static const unsigned free_slots[NODES] = { 1, 2, 3, 4, 4 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    STALL(4);
    START_PERMIT(0, K, 0);
    RUN_MS(2);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
}

TEST(s20_it_is_not_lost_while_one_slot_can)
{
    static const unsigned free_slots[NODES] = { 4, 2, 4, 3, 4 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    DELAY_US(4, 50000);
    START_PERMIT(0, K, 0);
    RUN_MS(20);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(SLOT(0), 4);
}

/* No node answers, but all have granted, each another slot, so the token may be on any of them. */
TEST(s4_the_release_of_what_is_unknown_looks_at_every_slot)
{
    static const unsigned free_slots[NODES] = { 1, 2, 3, 4, 4 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    for (unsigned k = 0; k < NODES; k++) DEAFEN(k);
    START_PERMIT(0, K, 0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK_INT(all_keys(cluster), NODES * K);
    HEAL_ALL;
    RUN_MS(5000);
    CHECK_INT(all_keys(cluster), NODES * (K - 1));
    CHECK(IDLE(0));
}

/* Clients with a token each are on every slot. The holder's is released, and the others' stay. */
TEST(s7_a_release_removes_no_slot_of_others)
{
    CLUSTER_OF(NODES, 3, (void)0);

    for (unsigned c = 0; c < 3; c++) PERMIT(c, 3);
    RUN_MS(5);
    RELEASE(1);
    RUN_MS(5);
    CHECK_INT(all_keys(cluster), 2 * NODES);
    EXPECT_HELD(0);
    EXPECT_HELD(2);
}

TEST(s9_what_is_extended_is_the_slot_that_is_held)
{
    CLUSTER(NODES);

    PERMIT(0, K);
    RUN_MS(TTL / 2);
    const unsigned slot = SLOT(0);
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(SLOT(0), slot);
    RUN_MS(TTL / 2 + 1000);
    EXPECT_HELD(0);
    CHECK_INT(slot_keys(cluster, slot), NODES);
    CHECK_INT(all_keys(cluster), NODES);
    START_EXTEND(0, 1000);      /* S7: it never shortens. */
    UNTIL_DONE(0);
    RUN_MS(2000);
    CHECK_INT(slot_keys(cluster, slot), NODES);
}

/* S20: a node that has lost the key, or had granted another, gets the key of the slot that is held,
 * and no other. */
TEST(s20_a_key_that_is_set_again_is_that_of_the_slot_that_is_held)
{
    static const unsigned free_slots[NODES] = { 2, 2, 2, 2, 3 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    PERMIT(0, K);
    RUN_MS(5);
    CHECK_INT(SLOT(0), 2);
    REMOVE_KEYS(0);
    REMOVE_KEYS(4);
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(slot_keys(cluster, 2), NODES);
    EXPECT_KEY_ABSENT(0, "pool:1");
    EXPECT_KEY_ABSENT(4, "pool:3");
    CHECK_STR(last_call(cluster, 4, "RESTORE")->key, "pool:2");
}

/* The answer of node 4 was lost with its connection, so its grant is not known. */
TEST(s20_an_extension_gives_up_another_slot_that_was_not_known_of)
{
    static const unsigned free_slots[NODES] = { 2, 2, 2, 2, 3 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    DEAFEN(4);
    PERMIT(0, K);
    RUN_MS(5);
    CHECK_INT(SLOT(0), 2);
    CHECK(cluster_key(cluster, 4, "pool:3"));
    RESET(0, 4);
    HEAL(4);
    RUN_MS(100);
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEY_ABSENT(4, "pool:3");
    EXPECT_RIVAL_KEY(4, "pool:2");
    EXPECT_HELD(0);
}

/* Its late grant and its refusal of an extension say the same. If two restores were on their way, a
 * release would remove one. */
TEST(s20_a_node_that_grants_another_slot_while_it_is_asked_to_extend_gets_one_restore)
{
    static const unsigned free_slots[NODES] = { 2, 3, 2, 2, 2 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    DELAY_US(1, 20000);
    PERMIT(0, K);
    CHECK_INT(SLOT(0), 2);
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_PENDING);
    RUN_MS(200);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_REFUSED);
    CHECK_INT(call_count(cluster, 1, "RESTORE"), 1);
    EXPECT_KEY_ABSENT(1, "pool:3");
    EXPECT_HELD(0);
}

/* It has nothing of ours, so there is nothing to move. */
TEST(s20_a_node_that_refuses_when_a_slot_is_held_is_asked_for_no_other)
{
    CLUSTER(NODES);

    kind_teach_scripts(cluster);
    take_slots(cluster, 1, 0x1e);
    DELAY_US(1, 20000);
    PERMIT(0, K);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_PENDING);
    RUN_MS(200);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_REFUSED);
    CHECK_INT(call_count(cluster, 1, "RESTORE"), 0);
    CHECK(!last_call(cluster, 1, "RELEASE"));
}

/* This happens if a node's restart is found while its grant is on the way. */
TEST(s20_a_node_that_grants_another_slot_and_is_not_asked_to_extend_gives_it_up)
{
    static const unsigned free_slots[NODES] = { 2, 3, 2, 2, 2 };
    struct redlock_node *node;
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    DELAY_US(1, 20000);
    PERMIT(0, K);
    CHECK_INT(SLOT(0), 2);
    node = &ENGINE(0)->nodes[1];
    node->met_at = CLIENT_NOW(0);
    node->uptime_us = 0;
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_NOT_ASKED);
    RUN_MS(200);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_NOT_ASKED);      /* S8: it has answered the acquire. */
    EXPECT_KEY_ABSENT(1, "pool:3");
    EXPECT_HELD(0);
}

/* The lock may be held still, so no release is sent by its token (S27). The late grant is given up
 * with the lock. */
TEST(s27_a_node_that_grants_another_slot_behind_a_lost_extension_keeps_it_until_the_lock_ends)
{
    static const unsigned free_slots[NODES] = { 2, 3, 2, 2, 2 };
    CLUSTER(NODES);

    leave_free(cluster, free_slots);
    DELAY_US(1, 20000);
    PERMIT(0, K);
    CHECK_INT(SLOT(0), 2);
    for (unsigned k = 2; k < NODES; k++) REMOVE_KEYS(k);
    EXTEND(0, TTL);
    CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
    RUN_MS(200);
    CHECK(!last_call(cluster, 1, "RELEASE"));
    RELEASE(0);
    RUN_MS(200);
    EXPECT_KEY_ABSENT(1, "pool:3");
}

/* S6, S20: the order is made of the token. All nodes therefore have the same, and another attempt
 * has another. */
TEST(s20_all_nodes_have_the_same_order_and_each_attempt_another)
{
    bool is_seen[K + 1] = { false };
    CLUSTER(NODES);

    for (unsigned i = 0; i < 40; i++) {
        PERMIT(0, K);
        EXPECT_STATUS(0, REDLOCK_OK);
        CHECK_INT(redlock_view_lock(LOCK(0)).confirmed >= 3, true);
        is_seen[SLOT(0)] = true;
        RUN_MS(5);
        CHECK_INT(slot_keys(cluster, SLOT(0)), NODES);
        RELEASE(0);
        RUN_MS(5);
    }
    for (unsigned slot = 1; slot <= K; slot++) CHECK(is_seen[slot]);
}

TEST(a_stranger_that_locks_a_slot_takes_a_permit)
{
    CLUSTER_OF(NODES, 3, (void)0);

    ACQUIRE(2, "pool:1", TTL);
    EXPECT_STATUS(2, REDLOCK_OK);
    RUN_MS(5);
    PERMIT(0, 2);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(SLOT(0), 2);
    PERMIT(1, 2);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RELEASE(2);
    RUN_MS(5);
    PERMIT(1, 2);
    EXPECT_STATUS(1, REDLOCK_OK);
    ACQUIRE(2, "pool:2", TTL);
    EXPECT_STATUS(2, REDLOCK_TAKEN);
    ACQUIRE(2, "pool", TTL);    /* It is another resource. */
    EXPECT_STATUS(2, REDLOCK_OK);
}

TEST(clients_with_different_numbers_of_permits_share_the_slots_that_both_have)
{
    CLUSTER_OF(NODES, 4, (void)0);

    for (unsigned c = 0; c < 3; c++) PERMIT(c, 3);
    RUN_MS(5);
    PERMIT(3, 2);               /* Lowered, while all three are held: */
    EXPECT_STATUS(3, REDLOCK_TAKEN);
    RUN_MS(5);
    for (unsigned c = 0; c < 3; c++) if (SLOT(c) == 3) RELEASE(c);
    RUN_MS(5);
    PERMIT(3, 2);               /* the slots above it end with their holders. */
    EXPECT_STATUS(3, REDLOCK_TAKEN);
    RUN_MS(5);
    PERMIT(3, 3);
    EXPECT_STATUS(3, REDLOCK_OK);
    CHECK_INT(SLOT(3), 3);
}

/* A key of another type on a slot is not ours, and in nobody's way but that slot's. */
TEST(another_kind_of_key_on_a_slot_takes_that_slot_alone)
{
    CLUSTER(NODES);

    for (unsigned k = 0; k < NODES; k++) {
        RIVAL(k, "pool:1", 600000);
        NODE(k)->keys[NODE(k)->key_count - 1].is_list = true;
    }
    PERMIT(0, 2);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(SLOT(0), 2);
    RUN_MS(5);
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(slot_keys(cluster, 2), 0);
    CHECK(IDLE(0));
    STALL(0); STALL(1); STALL(2);
    PERMIT(0, 2);
    HEAL_ALL;
    RUN_MS(5000);
    CHECK_INT(slot_keys(cluster, 2), 0);
    CHECK(IDLE(0));
}

TEST(permits_are_1_to_64_of_one_resource)
{
    struct redlock_name names[] = {
        { .bytes = "pool", .size = 4 }, { .bytes = "door", .size = 4 }
    };
    struct redlock_request request = permit_request(REDLOCK_PERMITS_MAX + 1, 0);
    CLUSTER(NODES);

    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request.permits = UINT8_MAX;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request.permits = 0;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request.permits = 2;
    request.set = names;
    request.set_count = 2;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request = permit_request(REDLOCK_PERMITS_MAX, 0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(SLOT(0) >= 1 && SLOT(0) <= REDLOCK_PERMITS_MAX);
}

TEST(other_kinds_have_no_permits)
{
    const struct redlock_kind *const kinds[] = {
        NULL, &redlock_plain, &redlock_shared, &redlock_fair
    };
    struct redlock_request request = story_request("pool", TTL, 0);
    CLUSTER(NODES);

    request.permits = 1;
    for (unsigned i = 0; i < 2 * (sizeof kinds / sizeof kinds[0]); i++) {
        request.kind = kinds[i / 2];
        request.ticket = i % 2 > 0;
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    }
    CHECK(IDLE(0));
}

/* What a slot is, only its name says. */
TEST(a_permit_is_adopted_as_a_plain_lock)
{
    CLUSTER(NODES);

    CHECK_INT(cluster_adopt_as(cluster, 0, 0, &redlock_permits, "pool",
                               "0123456789abcdef0123456789abcdef01234567"),
              REDLOCK_BAD_KIND);
    CHECK(IDLE(0));
}

/* Its debts are on the keys of slots, or are not. */
TEST(a_lock_that_owes_for_permits_is_not_used_for_others_before_it_is_idle)
{
    const struct redlock_request plain = story_request("pool", TTL, 0);
    const struct redlock_request same = permit_request(K, 0), more = permit_request(K + 1, 0);
    CLUSTER(NODES);

    PERMIT(0, K);
    RUN_MS(5);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &plain), REDLOCK_BAD_STATE);
    EXPECT_HELD(0);
    HANG(2);
    RELEASE(0);
    CHECK(!IDLE(0));
    CHECK_INT(cluster_acquire(cluster, 0, 0, &plain), REDLOCK_BAD_STATE);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &more), REDLOCK_BAD_STATE);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &same), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RESUME(2);
    RUN_MS(5000);
    CHECK(IDLE(0));
    ACQUIRE(0, "pool", TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(SLOT(0), 0);
    EXPECT_KEYS("pool", 4 + 1);
}

/* S3: a slot that there is not is none. */
TEST(s3_a_slot_beyond_the_number_of_permits_is_no_grant)
{
    CLUSTER(3);

    for (unsigned k = 0; k < 3; k++)
        DOES_BUT_ANSWERS(k, "EVAL", ":3\r\n"), DOES_BUT_ANSWERS(k, "EVALSHA", "-NOSCRIPT x\r\n");
    PERMIT(0, 2);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_NOT_HELD(0);
    RUN_MS(50);
    CHECK_INT(all_keys(cluster), 0);
    CHECK(IDLE(0));
}

TEST(s15_a_ticket_of_a_permit_is_that_of_its_slot)
{
    uint64_t last[3] = { 0 };
    CLUSTER_OF(NODES, 2, (void)0);
    struct redlock_request request = permit_request(2, 1000);

    request.ticket = true;
    for (unsigned i = 0; i < 12; i++) {
        CHECK_INT(cluster_acquire(cluster, i % 2, 0, &request), REDLOCK_OK);
        UNTIL_DONE(i % 2);
        EXPECT_STATUS(i % 2, REDLOCK_OK);
        CHECK(redlock_ticket(LOCK(i % 2)) > last[SLOT(i % 2)]);
        last[SLOT(i % 2)] = redlock_ticket(LOCK(i % 2));
        RUN_MS(5);
        EXPECT_KEYS(SLOT(i % 2) == 1 ? "pool:1#ticket" : "pool:2#ticket", NODES);
        EXTEND(i % 2, TTL);
        EXPECT_STATUS(i % 2, REDLOCK_OK);
        RELEASE(i % 2);
        RUN_MS(5);
    }
    EXPECT_KEY_ABSENT_ON_ALL("pool#ticket");
}

/* A clock that is behind learns the largest counter of a free slot, and tries again at once. */
TEST(s15_a_ticket_too_small_for_every_free_slot_is_corrected_at_once)
{
    CLUSTER_OF(NODES, 2, (void)0);
    struct redlock_request request = permit_request(1, 1000);

    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RUN_MS(5);
    const uint64_t ticket = redlock_ticket(LOCK(0));
    RELEASE(0);
    RUN_MS(5);
    cluster_set_client_wall(cluster, 1, -5000000);
    const uint64_t before_us = CLIENT_NOW(1);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(CLIENT_NOW(1) - before_us < 5000);
    CHECK(redlock_ticket(LOCK(1)) > ticket);
}

TEST(s15_the_same_ticket_of_a_slot_is_given_once)
{
    CLUSTER_OF(NODES, 2, (void)0);
    struct redlock_request request = permit_request(1, 1000);

    request.ticket = true;
    request.wall_us = cluster_client_wall(cluster, 0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    CHECK_INT(redlock_ticket(LOCK(0)), request.wall_us);
    RUN_MS(5);
    RELEASE(0);
    RUN_MS(5);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(redlock_ticket(LOCK(1)) > request.wall_us);
}

/* S17: another process releases it as the plain lock of its slot. */
TEST(a_permit_is_adopted_as_the_lock_of_its_slot)
{
    char token[REDLOCK_TOKEN_TEXT + 1];
    CLUSTER_OF(NODES, 2, (void)0);

    PERMIT(0, K);
    RUN_MS(5);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt(cluster, 1, 0, slot_name(SLOT(0)), token), REDLOCK_OK);
    cluster->no_exclusion = true;       /* They hold the same. */
    EXTEND(1, TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK_INT(SLOT(1), 0);
    cluster_forget(cluster, 0, 0);
    RELEASE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(all_keys(cluster), 0);
}

TEST(a_period_is_not_marked_by_the_holder_of_a_permit)
{
    const struct redlock_period period = { .period_ms = 60000, .wall_us = 60000000000, .at_us = 1 };
    struct redlock_mark mark;
    CLUSTER(NODES);

    PERMIT(0, K);
    CHECK_INT(redlock_start_mark(ENGINE(0), &mark, LOCK(0), &period, CLIENT_NOW(0)),
              REDLOCK_BAD_KIND);
}

/* ---- Those who wait ---- */

#define LISTENING(clients) CLUSTER_OF(3, clients, config.wake_ups = true; config.retry_ms = 10000)

/* The second that it waits for would be long if nothing woke it. */
TEST(a_release_of_any_slot_wakes_one_that_waits_and_tells_it_which)
{
    for (unsigned leaves = 0; leaves < 2; leaves++) {
        LISTENING(4);
        TAP_CONTEXT("holder %u leaves", leaves);
        PERMIT(0, 2);
        PERMIT(1, 2);
        START_PERMIT(2, 2, 60000);
        RUN_MS(50);
        START_PERMIT(3, 2, 60000);
        RUN_MS(50);
        EXPECT_KEYS("pool:#waiters", 3);
        EXPECT_KEY_ABSENT_ON_ALL("pool#waiters");
        const unsigned slot = SLOT(leaves);
        RELEASE(leaves);
        RUN_MS(3);
        EXPECT_STATUS(2, REDLOCK_OK);
        CHECK_INT(SLOT(2), slot);
        EXPECT_STATUS(3, REDLOCK_PENDING);
        RELEASE(1 - leaves);
        RUN_MS(3);
        EXPECT_STATUS(3, REDLOCK_OK);
        RELEASE(2);
        RELEASE(3);
        RUN_MS(10);
        EXPECT_KEY_ABSENT_ON_ALL("pool:#waiters");
    }
}

/* It asks only for the slot that the wake-up names. Another may be free, but is another's turn. Ten
 * times, since by chance it would take the right one. */
TEST(one_that_is_woken_asks_for_the_slot_it_was_told_of_alone)
{
    LISTENING(3);

    for (unsigned i = 0; i < 10; i++) {
        PERMIT(0, 3);
        PERMIT(1, 3);
        const unsigned slot = SLOT(1), third = 6 - SLOT(0) - SLOT(1);
        for (unsigned k = 0; k < 3; k++) RIVAL(k, slot_name(third), 600000);
        START_PERMIT(2, 3, 60000);
        RUN_MS(50);
        for (unsigned k = 0; k < 3; k++) remove_key_of(cluster, k, third);
        RELEASE(1);
        RUN_MS(50);
        EXPECT_STATUS(2, REDLOCK_OK);
        CHECK_INT(SLOT(2), slot);
        RELEASE(0);
        RELEASE(2);
        RUN_MS(50);
    }
}

/* Nobody ever held the slot that was granted beside it, so no release wakes for it. Node 4's answer
 * was lost, so it is not moved. */
TEST(a_grant_that_is_given_up_wakes_nobody)
{
    static const unsigned free_slots[NODES] = { 2, 2, 2, 2, 3 };
    CLUSTER_OF(NODES, 2, config.wake_ups = true; config.retry_ms = 10000);

    leave_free(cluster, free_slots);
    for (unsigned k = 0; k < NODES; k++) RIVAL(k, slot_name(free_slots[k]), 60000);
    START_PERMIT(1, K, 60000);
    RUN_MS(50);
    EXPECT_KEYS("pool:#waiters", NODES);
    for (unsigned k = 0; k < NODES; k++) remove_key_of(cluster, k, free_slots[k]);
    LINK(0, 4)->deaf = true;
    PERMIT(0, K);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(SLOT(0), 2);
    RUN_MS(5);
    RESET(0, 4);
    cluster_heal(cluster, 0, 4);
    RUN_MS(100);
    EXPECT_STATUS(1, REDLOCK_PENDING);
    RELEASE(0);
    RUN_MS(2000);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK_INT(SLOT(1), 2);
    EXPECT_KEY_ABSENT(4, "pool:3");
    for (size_t i = 0; i < NODE(4)->call_count; i++)
        if (strcmp(NODE(4)->calls[i].key, "pool:3") == 0) CHECK_STR(NODE(4)->calls[i].woken, "");
}

/* Between the refusal and its entry a slot was given up. Nobody wakes it for that, so the nodes
 * tell it with the entry. */
TEST(one_that_lines_up_when_a_slot_is_free_already_tries_again_at_once)
{
    LISTENING(3);

    PERMIT(0, 2);
    PERMIT(1, 2);
    DELAY_ALL_US(2000);
    START_PERMIT(2, 2, 60000);
    RUN_MS(1);
    START_RELEASE(0);
    RUN_MS(60);
    EXPECT_STATUS(2, REDLOCK_OK);
}

/* A client whose wake-up names a slot beyond its own number of permits asks for those
 * that it has. */
TEST(a_slot_beyond_its_own_permits_is_not_asked_for)
{
    LISTENING(4);

    for (unsigned c = 0; c < 3; c++) PERMIT(c, 3);
    START_PERMIT(3, 2, 60000);
    RUN_MS(50);
    for (unsigned c = 0; c < 3; c++) if (SLOT(c) == 3) RELEASE(c);
    RUN_MS(50);
    EXPECT_STATUS(3, REDLOCK_PENDING);
    for (unsigned c = 0; c < 3; c++) if (SLOT(c) > 0) { RELEASE(c); break; }
    RUN_MS(100);
    EXPECT_STATUS(3, REDLOCK_OK);
    CHECK(SLOT(3) >= 1 && SLOT(3) <= 2);
}

/* Or another's release would wake it while it holds, instead of one that waits. It is as patient as
 * before, since it may have taken a slot that another was woken for. */
TEST(one_that_takes_a_permit_by_itself_is_no_longer_in_line)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 100);

    PERMIT(0, 1);
    RIVAL(0, slot_name(2), 60000); RIVAL(1, slot_name(2), 60000); RIVAL(2, slot_name(2), 60000);
    START_PERMIT(1, 2, 60000);
    RUN_MS(20);
    EXPECT_KEYS("pool:#waiters", 3);
    for (unsigned k = 0; k < 3; k++) remove_key_of(cluster, k, 2);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(1);
    EXPECT_KEY_ABSENT_ON_ALL("pool:#waiters");
    CHECK(LOCK(1)->refusals > 0);
}

/* Each of two slots is free on two of five nodes. */
TEST(one_in_line_whose_votes_were_split_asks_for_the_slot_of_most_alone)
{
    static const unsigned free_slots[NODES] = { 2, 2, 3, 3, 0 };
    CLUSTER_OF(NODES, 1, config.wake_ups = true; config.retry_ms = 100);

    kind_teach_scripts(cluster);
    for (unsigned k = 0; k < NODES; k++) take_slots(cluster, k, 0x1eu);
    START_PERMIT(0, K, 60000);
    RUN_MS(20);
    EXPECT_KEYS("pool:#waiters", NODES);
    for (unsigned k = 0; k < 4; k++) remove_key_of(cluster, k, free_slots[k]);
    while (LOCK(0)->round.granted == 0) RUN_US(50);
    while (LOCK(0)->phase != REDLOCK_PHASE_WAITING) RUN_US(50);
    const unsigned slot = LOCK(0)->permit.slot;
    CHECK(slot == 2 || slot == 3);
    CHECK(LOCK(0)->retry_at - CLIENT_NOW(0) < 10000);
    for (unsigned k = 0; k < NODES; k++) remove_key_of(cluster, k, 4);
    while (LOCK(0)->phase != REDLOCK_PHASE_ACQUIRING) RUN_US(50);
    CHECK_INT(LOCK(0)->permit.slot, slot);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* Slots are free on so many of five nodes, and the others refuse for their holders. */
static void split_votes(unsigned free_nodes, bool is_in_line, bool asks_for_one)
{
    CLUSTER_OF(NODES, 1, config.wake_ups = is_in_line; config.retry_ms = 100);

    kind_teach_scripts(cluster);
    for (unsigned k = 0; k < NODES; k++) take_slots(cluster, k, 0x1eu);
    START_PERMIT(0, K, 60000);
    RUN_MS(20);
    for (unsigned k = 0; k < free_nodes; k++) remove_key_of(cluster, k, k % 2 ? 2 : 3);
    while (LOCK(0)->round.granted == 0) RUN_US(50);
    while (LOCK(0)->phase != REDLOCK_PHASE_WAITING) RUN_US(50);
    TAP_CONTEXT("%u nodes%s", free_nodes, is_in_line ? ", in line" : "");
    CHECK_INT(LOCK(0)->permit.slot != 0, asks_for_one);
}

TEST(only_one_in_line_whose_votes_were_split_by_a_quorum_asks_for_one_slot)
{
    split_votes(3, true, true);
    split_votes(2, true, false);
    split_votes(3, false, false);
}

static void name_slot(struct cluster *cluster, unsigned client, unsigned k, uint8_t slot)
{
    struct redlock *r = ENGINE(client);
    char text[64];

    snprintf(text, sizeof text, "messageredlock:0123456789abcdef%u@%u",
             (unsigned)LOCK(client)->wait_number, slot);
    r->waking->hear(
        r, k,
        &(struct wire_reply){
            .type = RESP_ARRAY, .integer = 3, .text = text, .text_size = strlen(text) });
}

/* When the lock takes its entry. */
static void say_that_one_is_free(struct cluster *cluster, unsigned client, unsigned k)
{
    const struct wire_reply reply = { .type = RESP_INTEGER, .integer = -2 };
    const struct answer answer = {
        .lock = LOCK(client), .k = k, .command = REDLOCK_COMMAND_WAIT,
        .meaning = REDLOCK_ANSWER_GRANTED, .current = true, .reply = &reply
    };

    ENGINE(client)->waking->answer(ENGINE(client), &answer);
}

TEST(one_that_nodes_tell_of_several_slots_asks_for_that_of_most)
{
    enum { FREE = 255 };
    static const struct { uint8_t named[4], asked; } cases[] = {
        { { 2, 2, 1 }, 2 }, { { 1, 2, 2 }, 2 }, { { 2, 1, 2 }, 2 }, { { 9, 9, 2 }, 0 },
        { { 2, 2, 2 }, 2 }, { { 2, 1 }, 0 },
        { { FREE, 2, 2 }, 2 }, { { FREE, FREE, 2, 2 }, 0 },
    };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CLUSTER_OF(5, 3, config.wake_ups = true; config.retry_ms = 10000);
        TAP_CONTEXT("case %u", i);
        for (unsigned c = 0; c < 2; c++) PERMIT(c, 2);
        START_PERMIT(2, 2, 60000);
        RUN_MS(50);
        for (unsigned k = 0; k < 4; k++) {
            if (cases[i].named[k] == FREE)   say_that_one_is_free(cluster, 2, k);
            else if (cases[i].named[k] != 0) name_slot(cluster, 2, k, cases[i].named[k]);
        }
        CHECK_INT(LOCK(2)->permit.slot, cases[i].asked);
    }
}

/* One node's word is not enough to be woken, and is forgotten when the lock asks by itself. */
TEST(one_that_one_node_tells_of_a_slot_asks_for_any)
{
    CLUSTER_OF(5, 3, config.wake_ups = true; config.retry_ms = 100);

    for (unsigned c = 0; c < 2; c++) PERMIT(c, 2);
    START_PERMIT(2, 2, 60000);
    RUN_MS(50);
    name_slot(cluster, 2, 0, 2);
    CHECK_INT(LOCK(2)->permit.slot, 2);
    while (LOCK(2)->phase != REDLOCK_PHASE_ACQUIRING) RUN_US(50);
    CHECK_INT(LOCK(2)->permit.slot, 0);
    while (LOCK(2)->phase != REDLOCK_PHASE_WAITING) RUN_US(50);
    name_slot(cluster, 2, 0, 1);
    CHECK_INT(LOCK(2)->permit.slot, 1);
}

TEST(one_whose_time_is_over_gives_its_entry_back)
{
    LISTENING(2);

    PERMIT(0, 1);
    START_PERMIT(1, 1, 300);
    RUN_MS(100);
    EXPECT_KEYS("pool:#waiters", 3);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_TIMEOUT);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("pool:#waiters");
    CHECK(IDLE(1));
}

TAP_MAIN
