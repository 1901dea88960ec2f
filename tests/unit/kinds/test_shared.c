/* Shared locks. Readers are beside each other, and none beside a writer (S21); a reader becomes a
 * writer, and a writer a reader (S22). The clients are engines that use all features. */
#include "../../world/story.h"

#include "../../../redlock/kinds/shared.h"
#include "../../../redlock/lock_state.h"

enum { DOOR_TTL = 10000 };

static struct redlock_request shared_request(uint32_t wait_ms)
{
    struct redlock_request request = story_request("door", DOOR_TTL, wait_ms);

    request.kind = &redlock_shared;
    return request;
}

static enum redlock_status start_shared(struct cluster *cluster, unsigned client, uint32_t wait_ms)
{
    const struct redlock_request request = shared_request(wait_ms);

    return cluster_acquire(cluster, client, 0, &request);
}

/* Clients that all use shared locks. */
#define SHARING(nodes, clients) SHARING_WITH(nodes, clients, (void)0)
#define SHARING_WITH(nodes, clients, ...)                        \
    CLUSTER_COLD(nodes, clients, __VA_ARGS__);                   \
    RUN_MS(STORY_SETTLE_MS)

#define START_SHARED(client, wait_ms) \
    CHECK_INT(start_shared(cluster, (client), (wait_ms)), REDLOCK_OK)
#define SHARED(client) do { START_SHARED(client, 0); UNTIL_DONE(client); } while (0)
#define NO_KEYS() STORY_NODES CHECK_INT(living_keys(cluster, story_k), 0)

/* Those of node k that have not run out. */
static unsigned living_keys(const struct cluster *cluster, unsigned k)
{
    const struct model_node *node = &cluster->hosts[k].node;
    unsigned count = 0;

    for (size_t i = 0; i < node->key_count; i++)
        count += node->keys[i].expires_ms == 0 ||
                 cluster_node_now(cluster, k) / 1000 <= node->keys[i].expires_ms;
    return count;
}

/* Is there, on node k, such a key beside "door"? */
static bool is_there(struct cluster *cluster, unsigned k, const char *name)
{
    return model_find(NODE(k), 0, name, strlen(name), cluster_node_now(cluster, k)) != NULL;
}

TEST(readers_hold_a_resource_at_once_and_the_last_one_leaves_nothing)
{
    SHARING(3, 3);
    for (unsigned c = 0; c < 3; c++) {
        SHARED(c);
        EXPECT_STATUS(c, REDLOCK_OK);
        CHECK(redlock_view_lock(LOCK(c)).is_shared);
    }
    for (unsigned c = 0; c < 3; c++) EXPECT_HELD(c);
    CHECK_STR(cluster_key(cluster, 0, "door"), "~shared");
    for (unsigned c = 0; c < 3; c++) {
        RELEASE(c);
        EXPECT_STATUS(c, REDLOCK_OK);
        RUN_MS(5);
        EXPECT_KEYS("door", c < 2 ? 3 : 0);
        CHECK(!redlock_view_lock(LOCK(c)).is_shared);   /* It is idle. */
    }
    NO_KEYS();
}

TEST(s21_a_writer_keeps_readers_out_and_readers_keep_a_writer_out)
{
    SHARING(3, 2);
    ACQUIRE(0, "door", DOOR_TTL);
    SHARED(1);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(1)).free_in_ms > 9000 &&
          redlock_view_lock(LOCK(1)).free_in_ms <= 10000);
    RELEASE(0);
    RUN_MS(5);
    SHARED(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RELEASE(1);
    RUN_MS(5);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* The client knows of no shared locks, like every Redlock library's. */
TEST(a_plain_client_is_a_writer)
{
    CLUSTER_COLD(3, 2, (void)0);
    cluster_client_is_plain(cluster, 1);
    RUN_MS(STORY_SETTLE_MS);
    SHARED(0);
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RELEASE(0);
    RUN_MS(5);
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    SHARED(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RELEASE(1);
    RUN_MS(5);
    NO_KEYS();
}

TEST(a_set_with_a_shared_resource_is_a_shared_lock)
{
    SHARING(3, 1);
    struct redlock_name names[] = {
        { .bytes = "a", .size = 1 }, { .bytes = "b", .size = 1, .shared = true }
    };
    struct redlock_request request = { .set = names, .set_count = 2, .ttl_ms = DOOR_TTL };

    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request.kind = &redlock_plain;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request.kind = &redlock_shared;
    request.permits = 1;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request.permits = 0;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
}

/* The marker lives as long as the longest of them. */
TEST(s21_no_reader_shortens_the_time_of_another)
{
    SHARING(3, 3);
    struct redlock_request brief = shared_request(0);

    SHARED(0);
    brief.ttl_ms = 1000;
    CHECK_INT(cluster_acquire(cluster, 1, 0, &brief), REDLOCK_OK);
    UNTIL_DONE(1);
    EXTEND(1, 500);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(2000);
    EXPECT_NOT_HELD(1);
    EXPECT_HELD(0);
    ACQUIRE(2, "door", DOOR_TTL);
    EXPECT_STATUS(2, REDLOCK_TAKEN);
    RUN_MS(9000);
    ACQUIRE(2, "door", DOOR_TTL);
    EXPECT_STATUS(2, REDLOCK_OK);
}

TEST(s9_a_reader_extends_its_own_time_and_is_refused_when_it_is_gone)
{
    SHARING(3, 2);
    SHARED(0);
    SHARED(1);
    RUN_MS(8000);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5000);
    EXPECT_HELD(0);
    EXPECT_NOT_HELD(1);
    cluster->no_promise = true;
    REMOVE_KEYS(0); REMOVE_KEYS(1);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
}

/* One release leaves the time of the remaining readers. */
TEST(s21_a_release_shortens_the_key_to_the_longest_that_is_left)
{
    SHARING(3, 2);
    struct redlock_request brief = shared_request(0);

    SHARED(0);
    brief.ttl_ms = 1000;
    CHECK_INT(cluster_acquire(cluster, 1, 0, &brief), REDLOCK_OK);
    UNTIL_DONE(1);
    RELEASE(0);
    RUN_MS(5);
    STORY_NODES CHECK(
        model_find(NODE(story_k), 0, "door", 4, cluster_node_now(cluster, story_k))->expires_ms <=
        cluster_node_now(cluster, story_k) / 1000 + 1000);
}

TEST(a_reader_is_kept_until_it_is_released)
{
    SHARING(3, 2);
    SHARED(0);
    CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_OK);
    RUN_MS(60000);
    EXPECT_HELD(0);
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

TEST(a_node_that_has_lost_a_readers_key_gets_it_again)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    REMOVE_KEYS(2);
    EXTEND(0, DOOR_TTL);
    RUN_MS(5);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEYS("door", 3);
    CHECK(is_there(cluster, 2, "door#readers"));
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

/* Somebody removed "~shared", for example. The keys beside it let nobody in. */
TEST(s21_without_the_key_nobody_is_a_reader)
{
    SHARING(1, 2);
    cluster->no_promise = cluster->no_exclusion = true;
    SHARED(0);
    struct model_key *key = (struct model_key *)(uintptr_t)model_find(NODE(0), 0, "door", 4,
                                                                      cluster_node_now(cluster, 0));
    model_evict(NODE(0), (size_t)(key - NODE(0)->keys));
    SHARED(1);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RELEASE(1);
    CHECK(!is_there(cluster, 0, "door"));
}

TEST(s5_a_lost_attempt_to_read_is_released_where_it_was_granted)
{
    SHARING(3, 1);
    RIVAL(0, "door", 60000); RIVAL(1, "door", 60000);
    SHARED(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(10);
    CHECK_INT(NODE(2)->key_count, 0);
    EXPECT_RIVAL_KEY(0, "door");
}

/* Its acquire was never executed there, or is no longer. */
TEST(s21_a_release_takes_out_no_other_reader)
{
    SHARING(3, 2);
    SHARED(0);
    RUN_MS(5);

    for (unsigned k = 0; k < 3; k++)
        ANSWERS_ONCE(k, "EVALSHA", k < 2 ? "$4\r\n0 -1\r\n" : "-ERR no\r\n");
    SHARED(1);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RUN_MS(50);
    EXPECT_KEYS("door", 3);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_set_has_resources_that_are_shared_and_others_that_are_not)
{
    SHARING(3, 3);
    struct redlock_name first[] = {
        { .bytes = "ledger", .size = 6 }, { .bytes = "account", .size = 7, .shared = true }
    };
    struct redlock_name second[] = {
        { .bytes = "account", .size = 7, .shared = true }, { .bytes = "book", .size = 4 }
    };
    struct redlock_name third[] = {
        { .bytes = "account", .size = 7 }, { .bytes = "shelf", .size = 5, .shared = true }
    };
    const struct redlock_request a = {
        .kind = &redlock_shared, .set = first, .set_count = 2, .ttl_ms = DOOR_TTL
    };
    const struct redlock_request b = {
        .kind = &redlock_shared, .set = second, .set_count = 2, .ttl_ms = DOOR_TTL
    };
    const struct redlock_request c = {
        .kind = &redlock_shared, .set = third, .set_count = 2, .ttl_ms = DOOR_TTL
    };

    CHECK_INT(cluster_acquire(cluster, 0, 0, &a), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &b), REDLOCK_OK);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK_INT(cluster_acquire(cluster, 2, 0, &c), REDLOCK_OK);
    UNTIL_DONE(2);
    EXPECT_STATUS(2, REDLOCK_TAKEN);
    RUN_MS(5);
    EXPECT_KEYS("shelf", 0);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RELEASE(1);
    RUN_MS(5);
    NO_KEYS();
}

/* A reader that another process acquired, known by its token. */
TEST(a_reader_is_adopted_by_its_token_in_a_set_of_one)
{
    SHARING(3, 1);
    struct redlock_name name = { .bytes = "door", .size = 4, .shared = true };
    char token[REDLOCK_TOKEN_TEXT + 1];

    SHARED(0);
    redlock_token(LOCK(0), token);
    RUN_MS(5);
    cluster_forget(cluster, 0, 0);
    redlock_lock_init(LOCK(0));
    CHECK_INT(redlock_adopt(ENGINE(0), LOCK(0),
                            &(struct redlock_request){
                                .kind = &redlock_shared, .set = &name, .set_count = 1 },
                            token, CLIENT_NOW(0)),
              REDLOCK_OK);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

/* Its key has no token, so the script of the mark would not find it. */
TEST(a_reader_marks_no_period_and_a_writer_that_was_one_does)
{
    SHARING(3, 1);
    static struct redlock_mark mark;
    const struct redlock_period period = { .period_ms = 60000, .wall_us = 1, .at_us = 0 };

    SHARED(0);
    CHECK_INT(redlock_start_mark(ENGINE(0), &mark, LOCK(0), &period, CLIENT_NOW(0)),
              REDLOCK_BAD_KIND);
    CHECK_INT(redlock_start_upgrade(ENGINE(0), LOCK(0), CLIENT_NOW(0)), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_start_mark(ENGINE(0), &mark, LOCK(0), &period, CLIENT_NOW(0)), REDLOCK_OK);
    redlock_forget_mark(ENGINE(0), &mark);
    CHECK_INT(redlock_start_downgrade(ENGINE(0), LOCK(0), CLIENT_NOW(0)), REDLOCK_OK);
    UNTIL_DONE(0);
    CHECK_INT(redlock_start_mark(ENGINE(0), &mark, LOCK(0), &period, CLIENT_NOW(0)),
              REDLOCK_BAD_KIND);
}

/* ---- Another role ---- */

static enum redlock_status start_upgrade(struct cluster *cluster, unsigned client)
{
    const enum redlock_status status =
        redlock_start_upgrade(ENGINE(client), LOCK(client), CLIENT_NOW(client));

    if (status == REDLOCK_OK) cluster->clients[client].locks[0].believed_until = 0;
    return status;
}

static enum redlock_status start_downgrade(struct cluster *cluster, unsigned client)
{
    return redlock_start_downgrade(ENGINE(client), LOCK(client), CLIENT_NOW(client));
}

#define UPGRADE(client) \
    do { \
        CHECK_INT(start_upgrade(cluster, (client)), REDLOCK_OK); \
        UNTIL_DONE(client); \
    } while (0)
#define DOWNGRADE(client) \
    do { \
        CHECK_INT(start_downgrade(cluster, (client)), REDLOCK_OK); \
        UNTIL_DONE(client); \
    } while (0)

TEST(a_reader_that_is_alone_becomes_a_writer_with_another_token)
{
    SHARING(3, 2);
    char before[REDLOCK_TOKEN_TEXT + 1], after[REDLOCK_TOKEN_TEXT + 1];

    SHARED(0);
    redlock_token(LOCK(0), before);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    redlock_token(LOCK(0), after);
    CHECK(!redlock_view_lock(LOCK(0)).is_shared && strcmp(before, after) != 0);
    STORY_NODES CHECK_STR(cluster_key(cluster, story_k, "door"), after);
    SHARED(1);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(!redlock_view_lock(LOCK(0)).is_shared);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

TEST(s22_two_readers_that_would_write_are_both_refused_and_go_on_reading)
{
    SHARING(3, 2);
    SHARED(0);
    SHARED(1);
    for (unsigned c = 0; c < 2; c++) {
        UPGRADE(c);
        EXPECT_STATUS(c, REDLOCK_TAKEN);
        EXPECT_HELD(c);
        CHECK(redlock_view_lock(LOCK(c)).is_shared);
        EXTEND(c, DOOR_TTL);
        EXPECT_STATUS(c, REDLOCK_OK);
    }
    RELEASE(1);
    RUN_MS(5);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

/* Commands of the first one that are still on their way must not undo the second. */
TEST(s6_each_upgrade_has_a_token_of_its_own)
{
    SHARING(3, 2);
    char first[REDLOCK_TOKEN_TEXT + 1], second[REDLOCK_TOKEN_TEXT + 1];

    SHARED(0);
    SHARED(1);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    redlock_token(LOCK(0), first);
    UNTIL_DONE(0);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    redlock_token(LOCK(0), second);
    UNTIL_DONE(0);
    CHECK(strcmp(first, second) != 0);
}

/* One node has granted it. Its token there is a reader's again before the upgrade has failed. */
TEST(s22_an_upgrade_that_fails_leaves_the_reader_as_it_was)
{
    SHARING(3, 2);
    char token[REDLOCK_TOKEN_TEXT + 1], again[REDLOCK_TOKEN_TEXT + 1];

    SHARED(0);
    RUN_MS(5);
    redlock_token(LOCK(0), token);
    for (unsigned k = 0; k < 2; k++) ANSWERS_ONCE(k, "EVAL", ":0\r\n");
    const unsigned rounds = LOCK(0)->round.number;
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(LOCK(0)->round.number, rounds + 2);     /* It was undone once. */
    RUN_MS(5);
    redlock_token(LOCK(0), again);
    CHECK_STR(again, token);
    STORY_NODES CHECK_STR(cluster_key(cluster, story_k, "door"), "~shared");
    EXPECT_HELD(0);
    SHARED(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    RELEASE(0);
    RELEASE(1);
    RUN_MS(5);
    NO_KEYS();
}

/* A node that knew the lock by no token says nothing about the one that it had. */
TEST(s22_an_upgrade_that_fails_leaves_the_reader_its_token_whatever_node_was_away)
{
    for (unsigned k = 0; k < 3; k++) {
        SHARING(3, 1);
        char token[REDLOCK_TOKEN_TEXT + 1], again[REDLOCK_TOKEN_TEXT + 1];
        TAP_CONTEXT("node %u", k);
        cluster_cut(cluster, 0, k, false);
        RUN_MS(200);
        SHARED(0);
        redlock_token(LOCK(0), token);
        RUN_MS(5);
        ANSWERS_ONCE((k + 1) % 3, "EVAL", ":-1\r\n");
        UPGRADE(0);
        EXPECT_STATUS(0, REDLOCK_TAKEN);
        redlock_token(LOCK(0), again);
        CHECK_STR(again, token);
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
    }
}

/* Tried when the answer is lost, or the node is away, when it is undone. */
TEST(s5_an_upgrade_of_which_nothing_is_known_is_undone_by_an_extension_or_a_release)
{
    for (unsigned extends = 0; extends < 2; extends++) {
        SHARING(3, 2);
        SHARED(0);
        RUN_MS(5);
        for (unsigned k = 0; k < 2; k++) ANSWERS_ONCE(k, "EVAL", ":-1\r\n");
        DEAFEN(2);
        UPGRADE(0);
        EXPECT_STATUS(0, REDLOCK_TAKEN);
        HEAL(2);
        RUN_MS(2000);
        if (extends) EXTEND(0, DOOR_TTL);
        RUN_MS(100);
        if (extends) STORY_NODES CHECK_STR(cluster_key(cluster, story_k, "door"), "~shared");
        RELEASE(0);
        RUN_MS(100);
        NO_KEYS();
    }
}

static void hold_briefly(struct cluster *cluster)
{
    struct redlock_request brief = shared_request(0);

    brief.ttl_ms = 300;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &brief), REDLOCK_OK);
    UNTIL_DONE(0);
}

TEST(s10_an_upgrade_whose_answers_come_after_the_validity_leaves_nothing_held)
{
    SHARING(3, 1);

    hold_briefly(cluster);
    STALL(0); STALL(1); STALL(2);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    RUN_MS(1000);
    HEAL_ALL;
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_NOT_HELD(0);
    CHECK_INT(cluster_release(cluster, 0, 0), REDLOCK_OK);
    RUN_MS(2000);
    NO_KEYS();
    CHECK(IDLE(0));
}

/* The reader is lost, whatever became of the upgrade. */
TEST(s10_a_reader_whose_validity_ends_while_its_upgrade_is_undone_is_lost)
{
    SHARING(3, 1);

    hold_briefly(cluster);
    RUN_MS(5);
    for (unsigned k = 0; k < 2; k++) ANSWERS_ONCE(k, "EVAL", ":-1\r\n");
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    while (LOCK(0)->kind != shared_kind(SHARED_UNDOING)) RUN_US(10);
    STORY_NODES STALL(story_k);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    EXPECT_NOT_HELD(0);
}

TEST(an_upgrade_that_is_cancelled_leaves_a_reader)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    RUN_US(150);
    redlock_cancel(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    EXPECT_STATUS(0, REDLOCK_CANCELLED);
    CHECK(redlock_view_lock(LOCK(0)).is_shared);
    EXPECT_HELD(0);
    RUN_MS(5);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    STORY_NODES CHECK_STR(cluster_key(cluster, story_k, "door"), "~shared");
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

/* The next extension says what becomes of itself, and not of the upgrade. */
TEST(an_upgrade_that_is_cancelled_while_it_is_undone_leaves_a_reader)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    for (unsigned k = 0; k < 2; k++) ANSWERS_ONCE(k, "EVAL", ":0\r\n");
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    while (LOCK(0)->kind != shared_kind(SHARED_UNDOING)) RUN_US(10);
    redlock_cancel(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    EXPECT_STATUS(0, REDLOCK_CANCELLED);
    CHECK(redlock_view_lock(LOCK(0)).is_shared);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

TEST(a_writer_that_was_a_reader_is_one_behind_an_extension_that_was_cancelled)
{
    SHARING(3, 1);
    SHARED(0);
    UPGRADE(0);
    START_EXTEND(0, DOOR_TTL);
    redlock_cancel(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    CHECK(!redlock_view_lock(LOCK(0)).is_shared);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(!redlock_view_lock(LOCK(0)).is_shared);
}

TEST(s22_a_downgrade_lets_readers_in_and_no_writer_in_between)
{
    SHARING(3, 3);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    DOWNGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(redlock_view_lock(LOCK(0)).is_shared);
    SHARED(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    ACQUIRE(2, "door", DOOR_TTL);
    EXPECT_STATUS(2, REDLOCK_TAKEN);
    RELEASE(0);
    RELEASE(1);
    RUN_MS(5);
    NO_KEYS();
}

/* It has sent no script before, so its nodes know none. */
TEST(s22_a_downgraded_lock_of_an_engine_without_features_is_released)
{
    CLUSTER_COLD(3, 1, (void)0);
    cluster_client_is_plain(cluster, 0);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", DOOR_TTL);
    DOWNGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

/* Node 2 has the writer's key. Its answer says nothing about that, or it was never asked. */
TEST(s22_a_release_names_both_tokens_where_nobody_knows_the_role)
{
    for (unsigned is_plain = 0; is_plain < 2; is_plain++)
        for (unsigned is_cut = 0; is_cut < 2; is_cut++) {
            CLUSTER_COLD(3, 1, (void)0);
            TAP_CONTEXT("%s, %s", is_plain ? "a plain engine" : "all features",
                        is_cut ? "not asked" : "an error");
            if (is_plain) cluster_client_is_plain(cluster, 0);
            RUN_MS(STORY_SETTLE_MS);
            ACQUIRE(0, "door", DOOR_TTL);
            RUN_MS(5);
            if (is_cut) STALL(2);
            else        ANSWERS_ONCE(2, "EVAL", "-ERR no\r\n");
            DOWNGRADE(0);
            EXPECT_STATUS(0, REDLOCK_OK);
            RUN_MS(5);
            if (is_cut) RESET(0, 2);
            HEAL(2);
            RUN_MS(100);
            CHECK(cluster_key(cluster, 2, "door") &&
                  strcmp(cluster_key(cluster, 2, "door"), "~shared") != 0);
            RELEASE(0);
            RUN_MS(5);
            NO_KEYS();
        }
}

/* Node 0 alone has told its role. Node 1 may be a writer's yet, and node 2 has another's key. */
TEST(s5_no_role_is_changed_that_only_a_minority_knows)
{
    SHARING(3, 1);
    RIVAL(2, "door", 60000);
    SHARED(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    RUN_US(50);
    redlock_cancel(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    STALL(1);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_BAD_STATE);
}

TEST(s13_a_role_is_changed_within_the_limit_of_extensions)
{
    SHARING(3, 1);
    struct redlock_request request = shared_request(0);
    request.extension_limit = 1;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(start_downgrade(cluster, 0), REDLOCK_EXTENSION_LIMIT);
}

/* Upgraded and downgraded in turn; at each step a release leaves nothing. */
TEST(roles_change_as_often_as_one_likes)
{
    for (unsigned changes = 0; changes < 6; changes++) {
        SHARING(3, 1);
        SHARED(0);
        for (unsigned i = 0; i < changes; i++) {
            if (i % 2 == 0) UPGRADE(0);
            else            DOWNGRADE(0);
            EXPECT_STATUS(0, REDLOCK_OK);
            CHECK(redlock_view_lock(LOCK(0)).is_shared == (i % 2 == 1));
        }
        RELEASE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(5);
        NO_KEYS();
    }
}

/* Its NOSCRIPT would come when the next change has begun, and the lock's name there
 * would be forgotten. */
TEST(s5_a_node_that_is_slow_and_has_forgotten_the_scripts_takes_part_in_each_change_of_role)
{
    for (unsigned changes = 0; changes < 6; changes++) {
        SHARING(3, 1);
        SHARED(0);
        RUN_MS(5);
        DELAY_US(2, 20000);
        for (unsigned i = 0; i < changes; i++) {
            model_flush_scripts(NODE(2));
            if (i % 2 == 0) UPGRADE(0);
            else            DOWNGRADE(0);
            EXPECT_STATUS(0, REDLOCK_OK);
        }
        RELEASE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(500);
        NO_KEYS();
    }
}

TEST(a_role_is_changed_of_one_resource_that_is_held_in_the_other_one)
{
    SHARING(3, 1);
    struct redlock_name names[] = {
        { .bytes = "a", .size = 1, .shared = true }, { .bytes = "b", .size = 1, .shared = true }
    };
    struct redlock_request request = {
        .kind = &redlock_shared, .set = names, .set_count = 2, .ttl_ms = DOOR_TTL
    };

    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_LOST);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_BAD_STATE);
    UNTIL_DONE(0);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_BAD_SET);
    RELEASE(0);
    RUN_MS(5);
    request = shared_request(0);
    request.extension_limit = 1;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    CHECK_INT(start_downgrade(cluster, 0), REDLOCK_BAD_STATE);
    EXTEND(0, DOOR_TTL);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_EXTENSION_LIMIT);
    RUN_MS(DOOR_TTL);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_LOST);
}

TEST(a_lock_that_a_node_may_know_in_another_role_is_idle_before_it_is_acquired_again)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    cluster_stall(cluster, 0, 2);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(DOOR_TTL);
    CHECK_INT(start_shared(cluster, 0, 0), REDLOCK_BAD_STATE);
    (void)cluster_release(cluster, 0, 0);
    cluster_heal_all(cluster);
    RUN_MS(2 * DOOR_TTL);
    SHARED(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* It is a reader again, but node 2 has its first token. */
TEST(s6_a_lock_that_a_node_may_know_by_another_token_is_idle_before_it_is_acquired_again)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    cluster_stall(cluster, 0, 2);
    UPGRADE(0);
    DOWNGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(DOOR_TTL);
    CHECK_INT(start_shared(cluster, 0, 0), REDLOCK_BAD_STATE);
}

TEST(a_lock_whose_role_all_nodes_know_is_acquired_again_as_any_other)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    UPGRADE(0);
    RUN_MS(2 * DOOR_TTL);
    SHARED(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* The answer to the SET is missing, which says nothing about the role. */
TEST(a_lock_whose_role_all_nodes_know_is_acquired_again_though_they_never_answered_the_first_SET)
{
    SHARING(3, 1);
    SHARED(0);      /* The nodes know the script from now on. */
    RELEASE(0);
    RUN_MS(5);
    DEAFEN(2);
    SHARED(0);
    RUN_MS(1);
    RESET(0, 2);
    HEAL(2);
    RUN_MS(1000);
    UPGRADE(0);
    RUN_MS(5);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_GRANTED);
    RUN_MS(2 * DOOR_TTL);
    SHARED(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* The script of a plain lock would leave a reader's key, which would be believed gone. */
TEST(s5_what_a_reader_owes_is_paid_before_the_lock_is_a_writer_and_the_other_way_round)
{
    for (unsigned is_reader = 0; is_reader < 2; is_reader++) {
        SHARING(3, 1);
        struct redlock_request request = shared_request(0);
        request.kind = is_reader ? &redlock_shared : &redlock_plain;
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
        UNTIL_DONE(0);
        RUN_MS(5);
        cluster_cut(cluster, 0, 1, false);
        cluster_cut(cluster, 0, 2, false);
        RUN_MS(200);
        RELEASE(0);
        request.kind = is_reader ? &redlock_plain : &redlock_shared;
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_STATE);
        HEAL_ALL;
        RUN_MS(5000);
        CHECK(IDLE(0));
        NO_KEYS();
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
    }
}

/* One resource of a set, the first or the second, and another is shared before and after. */
static void owe_a_set(bool is_second)
{
    SHARING(3, 1);
    struct redlock_name names[2] = {
        { .bytes = "account", .size = 7, .shared = true }, { .bytes = "door", .size = 4 }
    };
    struct redlock_name other[2];
    struct redlock_request request = {
        .kind = &redlock_shared, .set = names, .set_count = 2, .ttl_ms = DOOR_TTL
    };
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    cluster_cut(cluster, 0, 1, false);
    CHECK_INT(redlock_start_release(ENGINE(0), LOCK(0), CLIENT_NOW(0)), REDLOCK_OK);
    RUN_MS(100);
    other[!is_second] = (struct redlock_name){ .bytes = "account", .size = 7, .shared = true };
    other[is_second] = (struct redlock_name){ .bytes = "door", .size = 4, .shared = true };
    request.set = other;
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)),
              REDLOCK_BAD_STATE);
    HEAL_ALL;
    RUN_MS(5000);
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_OK);
}

TEST(s5_what_a_set_owes_is_paid_before_one_of_its_resources_is_in_another_role)
{
    owe_a_set(false);
    owe_a_set(true);
}

/* The keys have run out, though nobody has said so, and nothing can be owed. */
TEST(a_lock_that_ran_out_is_acquired_in_another_role_when_no_node_can_have_it)
{
    SHARING(3, 1);
    SHARED(0);
    struct redlock_request request = shared_request(0);
    request.kind = &redlock_plain;
    RUN_US(LOCK(0)->owed_until - CLIENT_NOW(0) - 1);
    EXPECT_NOT_HELD(0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_STATE);
    RUN_US(1);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* Its SET is on its way to node 2, where its TTL has not begun. */
TEST(s5_a_lock_that_ran_out_is_not_acquired_in_another_role_while_a_node_may_yet_get_it)
{
    SHARING_WITH(3, 1, config.node_timeout_ms = 1000);
    struct redlock_request request = shared_request(0);
    request.ttl_ms = 300;
    DELAY_US(2, 450000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RUN_MS(400);
    CHECK(CLIENT_NOW(0) > LOCK(0)->owed_until);
    request.kind = &redlock_plain;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_STATE);
}

/* The release of an older attempt names that one's token, and not the one that makes the
 * lock a writer. */
TEST(s6_a_debt_of_an_older_attempt_is_paid_during_an_upgrade)
{
    SHARING(3, 1);
    char token[REDLOCK_TOKEN_TEXT + 1];
    for (unsigned k = 0; k < 2; k++) RIVAL(k, "door", 50);
    DOES_BUT_ANSWERS(2, "EVAL", "-ERR not now\r\n");
    SHARED(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    redlock_token(LOCK(0), token);
    ANSWERS(2, "EVALSHA", "-ERR not now\r\n");
    RUN_MS(100);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    CHECK(is_there(cluster, 2, "door#readers"));
    SHARED(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(700);
    const unsigned before = (unsigned)CALLS(2, "RELEASE");
    ANSWERS_AS_EVER(2);
    DELAY_US(0, 200000); DELAY_US(1, 200000);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    RUN_MS(350);
    CHECK_INT(redlock_lock_status(LOCK(0)), REDLOCK_PENDING);
    CHECK(CALLS(2, "RELEASE") > before);
    CHECK_STR(NODE(2)->calls[NODE(2)->call_count - 1].token, token);
    CHECK_STR(NODE(2)->calls[NODE(2)->call_count - 1].other, token);
    EXPECT_KEY_ABSENT(2, "door");
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
}

/* A change of its role is no SET that may set a key behind the release. */
TEST(a_release_that_finds_nothing_is_the_last_though_a_change_of_role_may_come)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    DEAFEN(2);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RESET(0, 2);
    HEAL(2);
    RUN_MS(100);
    cluster->no_promise = true;
    REMOVE_KEYS(2);
    RELEASE(0);
    RUN_MS(5);
    CHECK(IDLE(0));
}

/* Two of three connections break under an upgrade, which is undone, and only then executed. */
TEST(s22_an_upgrade_that_arrives_when_it_is_undone_costs_the_reader_nothing)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(100);
    DELAY_US(1, 300000); DELAY_US(2, 300000);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    RUN_MS(5);
    for (unsigned k = 1; k < 3; k++) {
        cluster_reset(cluster, 0, k, true);
        DELAY_US(k, CLUSTER_DELAY_US);
    }
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK(redlock_view_lock(LOCK(0)).is_shared);
    RUN_MS(500);
    EXPECT_HELD(0);
    for (unsigned i = 0; i < 3; i++) {
        EXTEND(0, DOOR_TTL);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(100);
    }
    STORY_NODES CHECK_STR(cluster_key(cluster, story_k, "door"), "~shared");
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_BAD_STATE);
    RELEASE(0);
    RUN_MS(100);
    CHECK(IDLE(0));
    NO_KEYS();
}

/* Node 0 has told that it knows the lock as a reader, which says nothing about node 2, whose
 * pipeline was full. */
TEST(s22_an_upgrade_that_one_node_executes_when_the_others_have_forgotten_it_leaves_nothing)
{
    char name[] = "gate 0";

    SHARING_WITH(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN);
    SHARED(0);
    RUN_MS(5);
    DELAY_US(2, 300000);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    for (unsigned i = 1; i < REDLOCK_PIPELINE_MIN; i++, name[5]++)
        START_ACQUIRE_LOCK(0, i, name, DOOR_TTL, 0);
    RUN_US(50);
    redlock_cancel(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    cluster_reset(cluster, 0, 2, true);
    DELAY_US(2, CLUSTER_DELAY_US);
    RUN_MS(100);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(500);
    CHECK(cluster_key(cluster, 2, "door") &&
          strcmp(cluster_key(cluster, 2, "door"), "~shared") != 0);
    RELEASE(0);
    RUN_MS(100);
    EXPECT_KEYS("door", 0);
}

/* The role of the lock is known there, since only extensions in that role were not answered. */
TEST(a_lost_extension_in_a_role_that_a_quorum_knows_keeps_no_token_for_another)
{
    SHARING(3, 1);
    SHARED(0);
    UPGRADE(0);
    RUN_MS(5);
    for (unsigned k = 1; k < 3; k++) DEAFEN(k);
    START_EXTEND(0, DOOR_TTL);
    RUN_MS(1);
    for (unsigned k = 1; k < 3; k++) RESET(0, k);
    HEAL_ALL;
    UNTIL_DONE(0);
    RUN_MS(100);
    DOWNGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* The upgrade that was cancelled may be executed yet. */
TEST(s22_an_upgrade_behind_one_that_was_cancelled_waits_for_an_extension)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    RUN_US(50);
    redlock_cancel(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_BAD_STATE);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

TEST(s22_an_upgrade_behind_one_that_was_cancelled_waits_for_an_extension_that_succeeds)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    RUN_US(50);
    redlock_cancel(ENGINE(0), LOCK(0), CLIENT_NOW(0));
    STORY_NODES cluster_stall(cluster, 0, story_k);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_BAD_STATE);
}

/* The writer's SET is on its way to node 2, which misses the downgrade. The upgrade gives the node
 * the token of no third role: the key of the first is released there. */
TEST(s5_a_node_that_has_missed_a_change_of_role_is_released_before_the_next)
{
    for (unsigned has_answered = 0; has_answered < 2; has_answered++) {
        SHARING(3, 1);
        TAP_CONTEXT("the SET was %s", has_answered ? "answered" : "not answered");
        if (!has_answered) HANG(2);
        ACQUIRE(0, "door", DOOR_TTL);
        RUN_MS(5);
        HANG(2);
        cluster_reset(cluster, 0, 2, true);
        DOWNGRADE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(1000);
        RESUME(2);
        RUN_MS(1000);
        CHECK(cluster_key(cluster, 2, "door") &&
              strcmp(cluster_key(cluster, 2, "door"), "~shared") != 0);
        UPGRADE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(5000);
        EXPECT_KEY_ABSENT(2, "door");
        EXPECT_HELD(0);
        RELEASE(0);
        RUN_MS(5000);
        NO_KEYS();
    }
}

/* Node 2 is slow, and has not answered another lock's extension. */
TEST(s5_what_another_lock_has_asked_is_no_change_of_role)
{
    SHARING(3, 1);
    START_ACQUIRE_LOCK(0, 1, "gate", DOOR_TTL, 0);
    UNTIL_LOCK_DONE(0, 1);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    HANG(2);
    cluster_reset(cluster, 0, 2, true);
    DOWNGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1000);
    RESUME(2);
    RUN_MS(1000);
    DELAY_US(2, 20000);
    CHECK_INT(cluster_extend(cluster, 0, 1, DOOR_TTL), REDLOCK_OK);
    RUN_MS(1);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1000);
    EXPECT_KEY_ABSENT(2, "door");
}

/* The pipeline of node 2 is full, so that it misses a change of the lock whose SET it has yet
 * to answer. */
TEST(s5_a_set_that_was_not_answered_is_no_change_of_role)
{
    char name[] = "gate 0";

    SHARING_WITH(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN);
    DELAY_US(2, 300000);
    ACQUIRE(0, "door", DOOR_TTL);
    for (unsigned i = 1; i < REDLOCK_PIPELINE_MIN; i++, name[5]++)
        START_ACQUIRE_LOCK(0, i, name, DOOR_TTL, 0);
    RUN_US(1);
    DOWNGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(REDLOCK_NODE_TIMEOUT_MS + 50);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(2000);
    EXPECT_KEY_ABSENT(2, "door");
    EXPECT_HELD(0);
}

/* Node 2 is slow, and another lock's command is behind the change of the role, or before it. */
TEST(s5_a_change_of_role_that_was_not_answered_is_one_whatever_else_was_asked)
{
    for (unsigned is_before = 0; is_before < 2; is_before++) {
        SHARING(3, 1);
        TAP_CONTEXT("%s", is_before ? "before" : "behind");
        ACQUIRE(0, "door", DOOR_TTL);
        RUN_MS(5);
        DELAY_US(2, 20000);
        if (is_before) START_ACQUIRE_LOCK(0, 1, "gate", DOOR_TTL, 0);
        RUN_US(1);
        DOWNGRADE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        if (!is_before) START_ACQUIRE_LOCK(0, 1, "gate", DOOR_TTL, 0);
        RUN_US(1);
        UPGRADE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(500);
        EXPECT_KEYS("door", 3);
        RELEASE(0);
        CHECK_INT(cluster_release(cluster, 0, 1), REDLOCK_OK);
        RUN_MS(500);
        NO_KEYS();
    }
}

TEST(s17_a_node_of_an_adopted_lock_that_has_missed_a_change_of_role_is_left)
{
    SHARING(3, 2);
    char token[REDLOCK_TOKEN_TEXT + 1];

    ACQUIRE(0, "door", DOOR_TTL);
    redlock_token(LOCK(0), token);
    RUN_MS(5);
    cluster_forget(cluster, 0, 0);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    EXTEND(1, DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(5);
    HANG(2);
    RESET(1, 2);
    DOWNGRADE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(1000);
    RESUME(2);
    RUN_MS(1000);
    UPGRADE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(1000);
    CHECK(cluster_key(cluster, 2, "door") &&
          strncmp(cluster_key(cluster, 2, "door"), token, REDLOCK_TOKEN_TEXT) == 0);
}

/* It may know the lock by its present token, which a release of the older one would leave there. */
TEST(s5_a_node_whose_answer_to_a_change_of_role_was_lost_takes_part_in_the_next)
{
    SHARING(3, 1);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    DEAFEN(2);
    DOWNGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RESET(0, 2);
    HEAL(2);
    RUN_MS(100);
    CHECK_STR(cluster_key(cluster, 2, "door"), "~shared");
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEYS("door", 3);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

/* Otherwise the token that lies there would be forgotten for one that never came. */
TEST(s5_a_role_of_which_no_quorum_has_heard_is_not_changed_before_an_extension)
{
    SHARING(3, 1);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    STORY_NODES DEAFEN(story_k);
    DOWNGRADE(0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    STORY_NODES HEAL(story_k);
    RUN_MS(3000);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_BAD_STATE);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(redlock_view_lock(LOCK(0)).is_shared);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

/* Node 2 has lost the reader's key and refuses the upgrade for another reason. The reader's token
 * may lie there yet (S6), until the node says that it does not. */
TEST(s22_a_key_is_not_set_again_in_one_role_where_the_lock_may_be_known_in_the_other)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    REMOVE_KEYS(2);
    ANSWERS_ONCE(2, "EVAL", ":-1\r\n");
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEYS("door", 2);
    EXTEND(0, DOOR_TTL);
    RUN_MS(5);
    EXPECT_KEYS("door", 3);
}

TEST(s22_a_key_is_set_again_in_the_role_that_the_lock_has_now)
{
    SHARING(3, 2);
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    DOWNGRADE(0);
    RUN_MS(5);
    REMOVE_KEYS(2);
    EXTEND(0, DOOR_TTL);
    RUN_MS(5);
    STORY_NODES CHECK_STR(cluster_key(cluster, story_k, "door"), "~shared");
    UPGRADE(0);
    RUN_MS(5);
    REMOVE_KEYS(1);
    EXTEND(0, DOOR_TTL);
    RUN_MS(5);
    EXPECT_KEYS("door", 3);
    STORY_NODES CHECK(!is_there(cluster, story_k, "door#readers"));
}

TEST(s22_a_node_that_was_away_when_a_reader_was_acquired_gets_the_writers_key)
{
    SHARING(3, 1);
    cluster_cut(cluster, 0, 2, false);
    RUN_MS(200);
    SHARED(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    HEAL_ALL;
    RUN_MS(3000);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEYS("door", 3);
}

/* The caller's wish goes before the keeper's extension. */
TEST(a_reader_that_is_kept_becomes_a_writer_in_the_middle_of_an_extension)
{
    SHARING(3, 1);
    SHARED(0);
    CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_OK);
    while (LOCK(0)->phase != REDLOCK_PHASE_EXTENDING) RUN_US(50);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(!redlock_view_lock(LOCK(0)).is_shared);
}

TEST(a_copy_of_a_lock_changes_no_role)
{
    SHARING(3, 1);
    SHARED(0);
    struct redlock_lock copy = *LOCK(0);
    CHECK_INT(redlock_start_upgrade(ENGINE(0), &copy, CLIENT_NOW(0)), REDLOCK_BAD_LOCK);
}

TEST(a_role_is_not_changed_without_random_bytes_for_another_token)
{
    SHARING(3, 1);
    SHARED(0);
    RUN_MS(5);
    cluster->clients[0].starved = true;
    ENGINE(0)->entropy_size = 0;
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_NO_ENTROPY);
    CHECK(redlock_view_lock(LOCK(0)).is_shared);
    EXPECT_HELD(0);
}

/* The node takes the reader out before it learns that it may not look at its clock. */
TEST(a_reader_that_has_gone_is_in_the_log_whatever_its_release_met_then)
{
    SHARING(1, 1);
    SHARED(0);
    EXPECT_HELD(0);
    NODE(0)->noperm = "TIME";
    RELEASE(0);
    RUN_MS(100);
    const struct model_call *call = &NODE(0)->calls[NODE(0)->call_count - 1];
    CHECK_STR(call->name, "RELEASE");
    CHECK(call->did);
    CHECK(!is_there(cluster, 0, "door#readers"));
}

/* The wall clocks of all are near the end of the range of tickets. */
TEST(s15_an_upgrade_has_no_ticket_that_is_too_large)
{
    SHARING(3, 1);
    const uint64_t last_us = (uint64_t)1 << 53, near_us = last_us - 2000;
    struct redlock_request request = shared_request(0);
    STORY_NODES cluster->hosts[story_k].node.wall_offset_us =
        (int64_t)(near_us - cluster_node_now(cluster, story_k));
    request.ticket = true;
    request.wall_us = near_us;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_BAD_CLOCK);
    CHECK(redlock_view_lock(LOCK(0)).is_shared);
}

TEST(s15_a_wall_clock_that_is_too_late_for_a_ticket_is_nothing_to_an_upgrade_without_one)
{
    SHARING(3, 1);
    struct redlock_request request = shared_request(0);
    request.wall_us = (uint64_t)1 << 60;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* A writer before it had a ticket that is ahead of this reader's clock. */
TEST(s15_an_upgrade_has_a_larger_ticket_than_the_reader_whatever_its_clock_says)
{
    SHARING(3, 2);
    const uint64_t wall_us = cluster_node_now(cluster, 0) +
                             (uint64_t)cluster->hosts[0].node.wall_offset_us;
    struct redlock_request request = story_request("door", DOOR_TTL, 0);
    request.ticket = true;
    request.wall_us = wall_us + 1000000;
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    UNTIL_DONE(1);
    RELEASE(1);
    RUN_MS(5);
    request = shared_request(1000);
    request.ticket = true;
    request.wall_us = wall_us;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    const uint64_t first = redlock_ticket(LOCK(0));
    CHECK(first > wall_us + 900000);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(redlock_ticket(LOCK(0)) > first);
}

/* Node 2 has restarted. It votes again after the guard, and on tickets only after twice the skew
 * besides. */
static void change_beside_a_forgetful_node(bool has_ticket, bool is_upgrade)
{
    SHARING_WITH(3, 1, config.ticket_skew_ms = 3000; config.guard_ms = DOOR_TTL);
    struct redlock_request request =
        is_upgrade ? shared_request(0) : story_request("door", DOOR_TTL, 0);
    TAP_CONTEXT("%s, %s", has_ticket ? "ticket" : "no ticket", is_upgrade ? "up" : "down");
    request.ticket = has_ticket;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RUN_MS(5);
    CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_OK);
    cluster_node_down(cluster, 2);
    cluster_node_up(cluster, 2, false);
    RUN_MS(DOOR_TTL + 2000);
    CHECK(redlock_node_votes(ENGINE(0), 2, CLIENT_NOW(0)) &&
          !redlock_view_node(ENGINE(0), 2, CLIENT_NOW(0)).gives_tickets);
    const uint64_t ticket = redlock_ticket(LOCK(0));
    const unsigned calls = (unsigned)CALLS(2, "EXTEND");
    if (is_upgrade) UPGRADE(0);
    else            DOWNGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    const bool is_asked = !has_ticket || !is_upgrade;
    CHECK_INT(redlock_vote_of(LOCK(0), 2) != REDLOCK_VOTE_NOT_ASKED, is_asked);
    CHECK_INT(CALLS(2, "EXTEND") > calls, is_asked);
    CHECK_INT(redlock_ticket(LOCK(0)) > ticket, !is_asked);
}

/* It is owed by a node that is away, which has no vote on tickets. */
TEST(s5_a_debt_of_an_older_attempt_is_paid_behind_an_upgrade_with_a_ticket)
{
    SHARING(3, 1);
    struct redlock_request request = shared_request(0);
    request.ticket = true;
    for (unsigned k = 0; k < 2; k++) RIVAL(k, "door", 50);
    DOES_BUT_ANSWERS(2, "EVAL", "-ERR not now\r\n");
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    ANSWERS(2, "EVALSHA", "-ERR not now\r\n");
    RUN_MS(100);
    CHECK(is_there(cluster, 2, "door#readers"));
    ANSWERS_AS_EVER(2);
    DOWN(2);
    RUN_MS(1500);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    cluster_node_up(cluster, 2, true);
    RUN_MS(3000);
    CHECK(!is_there(cluster, 2, "door#readers"));
    EXPECT_HELD(0);
}

TEST(s15_a_node_that_may_have_forgotten_its_counter_has_no_vote_on_an_upgrade_with_a_ticket)
{
    for (unsigned i = 0; i < 4; i++) change_beside_a_forgetful_node(i & 1, i & 2);
}

/* ---- Waiting ---- */

#define WAKING(nodes, clients) SHARING_WITH(nodes, clients, config.wake_ups = true)

static enum redlock_status start_writer(struct cluster *cluster, unsigned client, uint32_t wait_ms)
{
    const struct redlock_request request = story_request("door", DOOR_TTL, wait_ms);

    return cluster_acquire(cluster, client, 0, &request);
}

TEST(a_release_wakes_all_readers_up_to_the_next_writer)
{
    WAKING(3, 5);
    ACQUIRE(0, "door", DOOR_TTL);
    for (unsigned c = 1; c < 5; c++) {
        CHECK_INT(c == 3 ? start_writer(cluster, c, 60000) : start_shared(cluster, c, 60000),
                  REDLOCK_OK);
        RUN_MS(10);
    }
    RELEASE(0);
    RUN_MS(3);
    EXPECT_HELD(1); EXPECT_HELD(2);
    EXPECT_NOT_HELD(3); EXPECT_NOT_HELD(4);
    RELEASE(1);
    RUN_MS(3);
    EXPECT_NOT_HELD(3);
    RELEASE(2);
    RUN_MS(3);
    EXPECT_HELD(3);
    RELEASE(3);
    RUN_MS(3);
    EXPECT_HELD(4);
    RELEASE(4);
}

/* It takes one place out, a reader's, and that one wakes the others. */
TEST(the_release_of_a_client_that_knows_no_readers_wakes_them_all)
{
    CLUSTER_COLD(3, 4, config.wake_ups = true);
    for (unsigned c = 1; c < 4; c++)    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", DOOR_TTL);
    for (unsigned c = 1; c < 4; c++) START_SHARED(c, 60000);
    RUN_MS(50);
    RELEASE(0);
    RUN_MS(5);
    for (unsigned c = 1; c < 4; c++) EXPECT_HELD(c);
    for (unsigned c = 1; c < 4; c++) RELEASE(c);
    RUN_MS(50);
    STORY_NODES CHECK(!is_there(cluster, story_k, "door#waiters") &&
                      !is_there(cluster, story_k, "door#readers"));
}

TEST(a_writer_that_waits_stops_readers_that_came_later_and_only_those)
{
    WAKING(3, 4);
    SHARED(0);
    CHECK_INT(start_writer(cluster, 1, 60000), REDLOCK_OK);
    RUN_MS(10);
    SHARED(2);
    EXPECT_STATUS(2, REDLOCK_TAKEN);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    cluster_set_client_wall(cluster, 3, -1000000);      /* It came earlier, by its clock. */
    START_SHARED(3, 60000);
    RUN_MS(5);
    EXPECT_HELD(3);
    RELEASE(0);
    RELEASE(3);
    RUN_MS(5);
    EXPECT_HELD(1);
    RELEASE(1);
    RUN_MS(5);
    SHARED(2);
    EXPECT_STATUS(2, REDLOCK_OK);
}

/* Nothing is there of it any longer that would keep a reader out. */
TEST(a_writer_that_gives_up_waiting_stops_nobody)
{
    WAKING(3, 3);
    SHARED(0);
    CHECK_INT(start_writer(cluster, 1, 60000), REDLOCK_OK);
    RUN_MS(10);
    START_SHARED(2, 60000);
    RUN_MS(10);
    EXPECT_NOT_HELD(2);
    cluster_cancel(cluster, 1, 0);
    RUN_MS(5);
    EXPECT_HELD(2);
}

/* A reader comes every ten seconds and stays for 100; a writer comes soon after the first. */
static void write_among_readers(uint32_t retry_ms)
{
    enum { READERS = 11, READS_S = 100, LIMIT_S = 1000 };
    struct redlock_request request = shared_request(LIMIT_S * 1000);
    unsigned ends_at[READERS + 1] = { 0 }, second = 0;

    SHARING_WITH(3, READERS + 1, config.wake_ups = true, config.retry_ms = retry_ms,
                 config.guard_ms = 60000);
    request.ttl_ms = 60000;     /* Nobody can say when they will be gone. */
    for (; second < LIMIT_S && VALID_US(0) == 0; second++) {
        unsigned c = 1 + second / 10 % READERS;
        if (second == 2) (void)start_writer(cluster, 0, LIMIT_S * 1000);
        if (second % 10 == 0 && ends_at[c] == 0 &&
            cluster_acquire(cluster, c, 0, &request) == REDLOCK_OK)
            ends_at[c] = LIMIT_S;
        for (unsigned i = 1; i <= READERS; i++) {
            if (ends_at[i] == LIMIT_S && VALID_US(i) > 0 &&
                cluster_keep(cluster, i, 0, 0) == REDLOCK_OK)
                ends_at[i] = second + READS_S;
            if (ends_at[i] > second || ends_at[i] == 0) continue;
            (void)cluster_release(cluster, i, 0);
            ends_at[i] = 0;
        }
        RUN_MS(1000);
    }
    TAP_CHECK(second < LIMIT_S, "with a pause of %u ms it waits for ever", (unsigned)retry_ms);
}

/* Its report of waiting lasts for its longest pauses, until it reports again. */
TEST(a_stream_of_readers_does_not_keep_a_writer_out)
{
    static const uint32_t retries[] = { 200, 300, 1000, 7000, 10000 };

    for (unsigned i = 0; i < sizeof retries / sizeof retries[0]; i++)
        write_among_readers(retries[i]);
}

TEST(a_writer_that_dies_stops_readers_for_some_seconds_only)
{
    WAKING(3, 3);
    SHARED(0);
    CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_OK);
    CHECK_INT(start_writer(cluster, 1, 60000), REDLOCK_OK);
    RUN_MS(10);
    cluster_client_dies(cluster, 1);
    START_SHARED(2, 60000);
    RUN_MS(19000);
    EXPECT_NOT_HELD(2);
    RUN_MS(5000);
    EXPECT_HELD(2);
}

/* The life of its key would end with it; a writer waits. */
TEST(a_reader_sets_its_key_again_past_a_writer_that_waits)
{
    WAKING(3, 2);
    SHARED(0);
    CHECK_INT(start_writer(cluster, 1, 60000), REDLOCK_OK);
    RUN_MS(10);
    struct model_key *key = (struct model_key *)(uintptr_t)model_find(NODE(2), 0, "door", 4,
                                                                      cluster_node_now(cluster, 2));
    model_evict(NODE(2), (size_t)(key - NODE(2)->keys));
    EXTEND(0, DOOR_TTL);
    RUN_MS(5);
    EXPECT_KEYS("door", 3);
}

/* ---- Tickets ---- */

static uint64_t acquire_ticket(struct cluster *cluster, unsigned client, bool is_shared)
{
    struct redlock_request request =
        is_shared ? shared_request(0) : story_request("door", DOOR_TTL, 0);

    request.ticket = true;
    if (cluster_acquire(cluster, client, 0, &request) != REDLOCK_OK ||
        !cluster_run_until_done(cluster, client, 0))
        return 0;
    return redlock_ticket(LOCK(client));
}

TEST(s15_a_reader_has_the_ticket_of_the_last_writer_or_a_larger_one_and_the_next_writer_more)
{
    SHARING(3, 3);
    const uint64_t first = acquire_ticket(cluster, 0, false);
    CHECK(first > 0);
    RELEASE(0);
    RUN_MS(5);
    const uint64_t one = acquire_ticket(cluster, 1, true), other = acquire_ticket(cluster, 2, true);
    CHECK(one >= first && other >= first);
    RELEASE(1);
    RELEASE(2);
    RUN_MS(5);
    const uint64_t last = acquire_ticket(cluster, 0, false);
    CHECK(last > one && last > other);
}

/* A wall clock that is so far behind proposes a ticket that is known to be too small. */
enum { BEHIND_US = 1000000 };

/* The ticket with which the client gets two resources if its wall clock says so; 0: it does not
 * within 20 ms. */
static uint64_t set_ticket(struct cluster *cluster, unsigned client, bool is_account_shared,
                           bool is_door_shared, uint64_t wall_us)
{
    struct redlock_name names[] = { { .bytes = "account", .size = 7, .shared = is_account_shared },
                                    { .bytes = "door", .size = 4, .shared = is_door_shared } };
    const struct redlock_request request = {
        .kind = is_account_shared || is_door_shared ? &redlock_shared : &redlock_plain,
        .set = names, .set_count = 2, .ttl_ms = DOOR_TTL, .wait_ms = 20, .ticket = true,
        .wall_us = wall_us
    };
    const uint64_t before = CLIENT_NOW(client);

    if (cluster_acquire(cluster, client, 0, &request) != REDLOCK_OK ||
        !cluster_run_until_done(cluster, client, 0))
        return 0;
    return CLIENT_NOW(client) - before < 20000 ? redlock_ticket(LOCK(client)) : 0;
}

/* One number is for both. It is newer than anything read of the resource that it writes, and at
 * least as new as anything written to the other. */
TEST(s15_of_a_set_the_ticket_is_larger_than_that_of_every_reader_of_what_it_writes)
{
    SHARING(3, 3);
    const uint64_t read = acquire_ticket(cluster, 0, true);
    RELEASE(0);
    RUN_MS(5);
    CHECK(read > 0 && set_ticket(cluster, 1, true, false, read) > read);
    EXPECT_STATUS(1, REDLOCK_OK);
    const uint64_t written = redlock_ticket(LOCK(1));
    RELEASE(1);
    RUN_MS(5);
    CHECK(set_ticket(cluster, 2, true, false, written - BEHIND_US) == written + 1);
    RELEASE(2);
    RUN_MS(5);
    CHECK(set_ticket(cluster, 0, false, true, written - BEHIND_US) == written + 2);
}

TEST(s15_of_a_set_the_ticket_may_be_that_of_the_last_writer_of_what_it_reads)
{
    SHARING(3, 3);
    const uint64_t written = acquire_ticket(cluster, 0, false);
    RELEASE(0);
    RUN_MS(5);
    CHECK(written > 0 && set_ticket(cluster, 1, false, true, written) == written);
    EXPECT_STATUS(1, REDLOCK_OK);
    RELEASE(1);
    RUN_MS(5);
    CHECK(set_ticket(cluster, 2, true, true, written - BEHIND_US) == written);
    EXPECT_STATUS(2, REDLOCK_OK);
    RELEASE(2);
    RUN_MS(5);
    CHECK(acquire_ticket(cluster, 0, false) > written);
}

/* No counter reports the writer any longer, but its key is there. */
TEST(s15_a_reader_has_a_larger_ticket_than_the_last_writer_where_counters_have_run_out)
{
    SHARING_WITH(3, 2, config.guard_ms = DOOR_TTL; config.ticket_skew_ms = 1000;
                 config.ticket_life_ms = 2 * DOOR_TTL + 2000);
    const uint64_t first = acquire_ticket(cluster, 0, false);
    CHECK(first > 0);
    RELEASE(0);
    RUN_MS(2 * DOOR_TTL + 3000);
    NO_KEYS();
    CHECK(acquire_ticket(cluster, 1, true) > first);
}

/* The counter belongs to a writer that had no quorum. */
TEST(s9_a_reader_gets_its_key_again_whatever_the_counter_there)
{
    SHARING(3, 2);
    const uint64_t ticket = acquire_ticket(cluster, 0, true);
    CHECK(ticket > 0);
    RUN_MS(5);
    REMOVE_KEYS(2);
    (void)acquire_ticket(cluster, 1, false);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RUN_MS(5);
    CHECK(is_there(cluster, 2, "door#ticket"));
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    STORY_NODES CHECK_STR(cluster_key(cluster, story_k, "door"), "~shared");
    CHECK(redlock_ticket(LOCK(0)) == ticket);
}

TEST(s15_an_upgrade_has_a_larger_ticket_and_one_that_fails_the_old_one)
{
    SHARING(3, 2);
    const uint64_t first = acquire_ticket(cluster, 0, true);
    CHECK(first > 0);
    CHECK(acquire_ticket(cluster, 1, true) > 0);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK(redlock_ticket(LOCK(0)) == first);
    RELEASE(1);
    RUN_MS(5);
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(redlock_ticket(LOCK(0)) > first);
}

TEST(s15_the_counter_of_an_upgrade_lives_like_that_of_a_writer_and_is_held_against_the_nodes_clock)
{
    enum { LIFE_MS = 100000, SKEW_MS = 1000 };
    SHARING_WITH(3, 1, config.ticket_life_ms = LIFE_MS; config.ticket_skew_ms = SKEW_MS;
                 config.guard_ms = DOOR_TTL);
    CHECK(acquire_ticket(cluster, 0, true) > 0);
    RUN_MS(5);
    cluster->hosts[2].node.wall_offset_us -= 2 * SKEW_MS * 1000;
    UPGRADE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_AHEAD);
    const struct model_key *key =
        model_find(NODE(0), 0, "door#ticket", 11, cluster_node_now(cluster, 0));
    CHECK(key && key->expires_ms > cluster_node_now(cluster, 0) / 1000 + LIFE_MS - 1000);
}

/* No node has counted the one that it asks for. A store that took it would refuse
 * the next writer. */
TEST(s15_a_reader_that_asks_to_be_a_writer_has_its_own_ticket_until_it_is_one)
{
    SHARING(3, 1);
    const uint64_t first = acquire_ticket(cluster, 0, true);
    CHECK(first > 0);
    RUN_MS(5);
    CHECK_INT(start_upgrade(cluster, 0), REDLOCK_OK);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    EXPECT_HELD(0);
    CHECK(redlock_ticket(LOCK(0)) == first);
    RUN_MS(5);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(redlock_ticket(LOCK(0)) > first);
}

TAP_MAIN
