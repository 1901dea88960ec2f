/* An engine whose program has asked for no feature: no tickets, no sets, no wake-ups, no restoring.
 * Tests its refusals, and that it is a lock. */
#include "../../world/story.h"

#include "../../../redlock/wire.h"

#define CLUSTER_PLAIN(nodes, clients, ...) \
    CLUSTER_COLD(nodes, clients, __VA_ARGS__); \
    for (unsigned c = 0; c < (clients); c++) cluster_client_is_plain(cluster, c); \
    RUN_MS(STORY_SETTLE_MS)

enum { DOOR_TTL = 10000 };

TEST(a_plain_engine_refuses_a_ticket)
{
    CLUSTER_PLAIN(3, 1, (void)0);
    struct redlock_request request = story_request("door", DOOR_TTL, 0);
    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_CONFIG);
}

TEST(a_plain_engine_refuses_several_resources_and_takes_one_in_a_set)
{
    CLUSTER_PLAIN(3, 1, (void)0);
    struct redlock_name names[] = {
        { .bytes = "door", .size = 4 }, { .bytes = "gate", .size = 4 }
    };
    struct redlock_request request = { .set = names, .set_count = 2, .ttl_ms = DOOR_TTL };
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_SET);
    request.set_count = 1;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_plain_engine_shares_no_resource_of_a_set_of_one)
{
    CLUSTER_PLAIN(3, 1, (void)0);
    struct redlock_name name = { .bytes = "door", .size = 4, .shared = true };
    struct redlock_request request = { .set = &name, .set_count = 1, .ttl_ms = DOOR_TTL };
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    CHECK(IDLE(0));
}

TEST(a_plain_engine_acquires_extends_and_releases)
{
    CLUSTER_PLAIN(5, 2, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEYS("door", 5);
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* The first node says that it has lost the key before a quorum has confirmed the lock, the last
 * after that. */
TEST(a_plain_engine_sets_no_key_again)
{
    enum { EARLY, LATE = 4 };
    CLUSTER_PLAIN(5, 1, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    REMOVE_KEYS(EARLY);
    REMOVE_KEYS(LATE);
    DELAY_US(LATE, 2000);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(STORY_SETTLE_MS);
    EXPECT_VOTE(0, EARLY, REDLOCK_VOTE_REFUSED);
    EXPECT_VOTE(0, LATE, REDLOCK_VOTE_REFUSED);
    EXPECT_KEYS("door", 3);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* More than its pipeline and its buffers hold, and scripts that are sent from where they lie. */
TEST(a_plain_engine_with_many_locks_sends_what_fits_and_the_rest_behind_it)
{
    enum { MANY = 40 };
    CLUSTER_PLAIN(3, 1, config.pipeline = 16; config.resource_max = 64;
                  config.send_size = REDLOCK_SEND_MIN(64));
    char name[16];
    cluster_need_locks(cluster, 0, MANY);
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "lock-%u", i);
        START_ACQUIRE_LOCK(0, i, name, DOOR_TTL, 0);
    }
    RUN_MS(50);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
        CHECK_INT(cluster_extend(cluster, 0, i, DOOR_TTL), REDLOCK_OK);
    }
    RUN_MS(50);
    for (unsigned i = 0; i < MANY; i++) {
        EXPECT_LOCK_STATUS(0, i, REDLOCK_OK);
        CHECK_INT(cluster_release(cluster, 0, i), REDLOCK_OK);
    }
    RUN_MS(50);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(NODE(k)->key_count, 0);
}

TEST(s7_a_plain_engine_extends_and_releases_its_own_token_only)
{
    CLUSTER_PLAIN(3, 1, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    for (unsigned k = 0; k < 3; k++) RIVAL(k, "door", DOOR_TTL);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_KEYS("door", 3);
}

/* How many calls of that name every node got, and how many of them with the text of a script. */
static void check_calls(struct cluster *cluster, const char *name, unsigned count,
                        unsigned with_text)
{
    for (unsigned k = 0; k < cluster->node_count; k++) {
        const struct model_node *node = NODE(k);
        unsigned texts = 0;
        for (size_t i = 0; i < node->call_count; i++)
            texts += strcmp(node->calls[i].name, name) == 0 && node->calls[i].eval;
        TAP_CONTEXT("%s on node %u", name, k);
        CHECK_INT(model_count_calls(node, name), count);
        CHECK_INT(texts, with_text);
    }
}

static void hold_extend_and_release(struct cluster *cluster)
{
    ACQUIRE(0, "door", DOOR_TTL);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(a_plain_engine_loads_no_scripts_and_sends_them_with_their_texts)
{
    CLUSTER_PLAIN(3, 1, (void)0);
    hold_extend_and_release(cluster);
    check_calls(cluster, "SCRIPT", 0, 0);
    check_calls(cluster, "EXTEND", 1, 1);
    check_calls(cluster, "RELEASE", 1, 1);
}

TEST(an_engine_that_asks_for_loaded_scripts_loads_them_and_names_them_by_their_SHA_1s)
{
    CLUSTER_COLD(3, 1, (void)0);
    cluster_client_is_plain(cluster, 0);
    redlock_use(ENGINE(0), &redlock_loaded_scripts);
    RUN_MS(STORY_SETTLE_MS);
    hold_extend_and_release(cluster);
    check_calls(cluster, "SCRIPT", 2, 0);
    check_calls(cluster, "EXTEND", 1, 0);
    check_calls(cluster, "RELEASE", 1, 0);
}

TEST(scripts_for_sets_stay_when_loaded_scripts_are_asked_for_as_well)
{
    CLUSTER_COLD(3, 1, (void)0);
    cluster_client_is_plain(cluster, 0);
    redlock_use(ENGINE(0), &redlock_sets);
    redlock_use(ENGINE(0), &redlock_loaded_scripts);
    RUN_MS(STORY_SETTLE_MS);
    struct redlock_name names[] = {
        { .bytes = "door", .size = 4 }, { .bytes = "gate", .size = 4 }
    };
    struct redlock_request request = { .set = names, .set_count = 2, .ttl_ms = DOOR_TTL };
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("gate");
    check_calls(cluster, "RELEASE", 1, 0);
}

TEST(a_node_that_knows_no_script_for_a_ticket_gets_its_text_though_none_are_loaded)
{
    CLUSTER_COLD(3, 1, (void)0);
    cluster_client_is_plain(cluster, 0);
    redlock_use(ENGINE(0), &redlock_tickets);
    RUN_MS(STORY_SETTLE_MS);
    struct redlock_request request = story_request("door", DOOR_TTL, 0);
    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(redlock_ticket(&cluster->clients[0].locks[0].lock) > 0);
    check_calls(cluster, "SCRIPT", 0, 0);
    check_calls(cluster, "ACQUIRE", 1, 1);
}

TEST(a_plain_engine_answers_NOSCRIPT_with_the_script_for_one_resource)
{
    CLUSTER_COLD(3, 1, (void)0);
    cluster_client_is_plain(cluster, 0);
    redlock_use(ENGINE(0), &redlock_loaded_scripts);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", DOOR_TTL);
    for (unsigned k = 0; k < 3; k++) NODE(k)->script_count = 0;
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    for (unsigned k = 0; k < 3; k++) NODE(k)->script_count = 0;
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(a_plain_engine_and_one_with_all_features_exclude_each_other)
{
    CLUSTER_COLD(3, 2, (void)0);
    cluster_client_is_plain(cluster, 0);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RELEASE(0);
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
}

TEST(a_plain_engine_says_what_keeps_a_node_from_voting)
{
    CLUSTER_PLAIN(3, 1, (void)0);
    NODE(0)->condition = MODEL_OUT_OF_MEMORY;
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_OOM);
}

TEST(s5_a_plain_engine_pays_its_debts)
{
    CLUSTER_PLAIN(5, 1, (void)0);
    STALL(2); STALL(3); STALL(4);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    HEAL_ALL;
    RUN_MS(5000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(a_plain_engine_that_waits_can_be_forgotten_and_moved)
{
    CLUSTER_PLAIN(3, 2, (void)0);
    ACQUIRE(0, "door", 300);
    struct redlock_request request = story_request("door", DOOR_TTL, 5000);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    CHECK_INT(cluster_acquire(cluster, 1, 1, &request), REDLOCK_OK);
    RUN_MS(20);
    cluster_forget(cluster, 1, 1);
    cluster_move(cluster, 1, 2, 0);
    RUN_MS(2000);
    CHECK_INT(redlock_lock_status(&cluster->clients[1].locks[2].lock), REDLOCK_OK);
}

TEST(a_plain_engine_owes_a_release_that_failed_or_was_not_answered)
{
    CLUSTER_PLAIN(3, 1, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    ANSWERS_ONCE(0, "EVAL", "-OOM command not allowed\r\n");
    STALL(1);
    START_RELEASE(0);
    RUN_MS(1);
    RESET(0, 1);
    HEAL(1);
    RUN_MS(5000);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(IDLE(0));
}

TEST(a_plain_engine_asks_how_long_the_holder_has_left_if_it_is_told_to)
{
    CLUSTER_PLAIN(3, 1, (void)0);
    RIVAL_ON_ALL("door", 5000);
    struct redlock_request request = story_request("door", DOOR_TTL, 0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(redlock_view_lock(LOCK(0)).free_in_ms, REDLOCK_UNTOLD);
    CHECK_INT(CALLS(0, "PTTL"), 0);
    redlock_use(ENGINE(0), &redlock_free_in);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms > 4900 &&
          redlock_view_lock(LOCK(0)).free_in_ms <= 5000);
    CHECK_INT(CALLS(0, "PTTL"), 1);
}

TEST(an_engine_with_sets_alone_wakes_others_and_does_not_stand_aside)
{
    CLUSTER_COLD(3, 2, config.wake_ups = true; config.retry_ms = 60000);
    cluster_client_is_plain(cluster, 0);
    redlock_use(ENGINE(0), &redlock_sets);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", DOOR_TTL);
    struct redlock_request request = story_request("door", DOOR_TTL, 30000);
    request.wall_us = 1800000000000000;
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    RUN_MS(1000);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1000);
    EXPECT_STATUS(1, REDLOCK_OK);
}

TEST(a_plain_engine_opens_no_second_connections_though_there_are_sessions_for_them)
{
    CLUSTER_PLAIN(3, 2, config.wake_ups = true);
    ACQUIRE(0, "door", DOOR_TTL);
    struct redlock_request request = story_request("door", DOOR_TTL, 1000);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_TIMEOUT);
    for (unsigned k = 3; k < 6; k++) CHECK_INT(redlock_wants(ENGINE(1), k), 0);
}

TEST(a_plain_engine_inspects)
{
    CLUSTER_PLAIN(1, 1, (void)0);
    struct redlock_sight sights[1];
    RIVAL(0, "door", 5000);
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    UNTIL_DONE(0);
    CHECK(sights[0].has_ttl && sights[0].ttl_ms > 4000);
    CHECK_STR(sights[0].value, "rival");
}

TAP_MAIN
