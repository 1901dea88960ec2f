/* Shared locks: readers beside each other, and none beside a writer. The clients are engines that use all features. */
#include "../world/story.h"

enum { DOOR_TTL = 10000 };

static struct redlock_request shared_request(uint32_t wait_ms)
{
    struct redlock_request request = story_request("door", DOOR_TTL, wait_ms);

    request.shared = true;
    return request;
}

static enum redlock_status start_shared(struct cluster *cluster, unsigned client, uint32_t wait_ms)
{
    const struct redlock_request request = shared_request(wait_ms);

    return cluster_acquire(cluster, client, 0, &request);
}

/* Clients of which all use shared locks. */
#define SHARING(nodes, clients) SHARING_WITH(nodes, clients, (void)0)
#define SHARING_WITH(nodes, clients, ...)                        \
    CLUSTER_COLD(nodes, clients, __VA_ARGS__);                   \
    STORY_CLIENTS redlock_use_shared(ENGINE(story_c));           \
    RUN_MS(STORY_SETTLE_MS)

#define START_SHARED(client, wait_ms) CHECK_INT(start_shared(cluster, (client), (wait_ms)), REDLOCK_OK)
#define SHARED(client) do { START_SHARED(client, 0); UNTIL_DONE(client); } while (0)
#define NO_KEYS() STORY_NODES CHECK_INT(NODE(story_k)->key_count, 0)

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
        CHECK(redlock_is_shared(LOCK(c)));
    }
    for (unsigned c = 0; c < 3; c++) EXPECT_HELD(c);
    CHECK_STR(cluster_key(cluster, 0, "door"), "~shared");
    for (unsigned c = 0; c < 3; c++) {
        RELEASE(c);
        EXPECT_STATUS(c, REDLOCK_OK);
        RUN_MS(5);
        EXPECT_KEYS("door", c < 2 ? 3 : 0);
    }
    NO_KEYS();
}

TEST(a_writer_keeps_readers_out_and_readers_keep_a_writer_out)
{
    SHARING(3, 2);
    ACQUIRE(0, "door", DOOR_TTL);
    SHARED(1);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    CHECK(redlock_free_in_ms(LOCK(1)) > 9000 && redlock_free_in_ms(LOCK(1)) <= 10000);
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

/* By a client that knows of no shared locks, as every Redlock library's. */
TEST(a_plain_client_is_a_writer)
{
    CLUSTER_COLD(3, 2, (void)0);
    cluster_client_is_plain(cluster, 1);
    redlock_use_shared(ENGINE(0));
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

TEST(a_shared_lock_is_refused_by_an_engine_that_does_not_use_them)
{
    CLUSTER_COLD(3, 1, (void)0);
    cluster_client_is_plain(cluster, 0);
    struct redlock_name names[] = { { .bytes = "a", .size = 1 }, { .bytes = "b", .size = 1, .shared = true } };
    const struct redlock_request one = shared_request(0), set = { .set = names, .set_count = 2, .ttl_ms = DOOR_TTL };

    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &one, CLIENT_NOW(0)), REDLOCK_BAD_CONFIG);
    CHECK_INT(redlock_start_upgrade(ENGINE(0), LOCK(0), CLIENT_NOW(0)), REDLOCK_BAD_CONFIG);
    redlock_use_sets(ENGINE(0));
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &set, CLIENT_NOW(0)), REDLOCK_BAD_CONFIG);
}

/* The marker lives as long as the longest of them. */
TEST(s7_no_reader_shortens_the_time_of_another)
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

/* What one release leaves is the time of those that still read. */
TEST(a_release_shortens_the_key_to_the_longest_that_is_left)
{
    SHARING(3, 2);
    struct redlock_request brief = shared_request(0);

    SHARED(0);
    brief.ttl_ms = 1000;
    CHECK_INT(cluster_acquire(cluster, 1, 0, &brief), REDLOCK_OK);
    UNTIL_DONE(1);
    RELEASE(0);
    RUN_MS(5);
    STORY_NODES CHECK(model_find(NODE(story_k), 0, "door", 4, cluster_node_now(cluster, story_k))->expires_ms <=
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

/* "~shared" that somebody removed, for example: what is beside it lets nobody in. */
TEST(without_the_key_nobody_is_a_reader)
{
    SHARING(1, 2);
    cluster->no_promise = cluster->no_exclusion = true;
    SHARED(0);
    struct model_key *key = (struct model_key *)(uintptr_t)model_find(NODE(0), 0, "door", 4, cluster_node_now(cluster, 0));
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

TEST(a_set_has_resources_that_are_shared_and_others_that_are_not)
{
    SHARING(3, 3);
    struct redlock_name first[] = { { .bytes = "ledger", .size = 6 }, { .bytes = "account", .size = 7, .shared = true } };
    struct redlock_name second[] = { { .bytes = "account", .size = 7, .shared = true }, { .bytes = "book", .size = 4 } };
    struct redlock_name third[] = { { .bytes = "account", .size = 7 }, { .bytes = "shelf", .size = 5, .shared = true } };
    const struct redlock_request a = { .set = first, .set_count = 2, .ttl_ms = DOOR_TTL };
    const struct redlock_request b = { .set = second, .set_count = 2, .ttl_ms = DOOR_TTL };
    const struct redlock_request c = { .set = third, .set_count = 2, .ttl_ms = DOOR_TTL };

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

/* Of a set one ticket would be too small for what is written, or too large for what is read. */
TEST(s15_a_set_with_a_shared_resource_has_no_ticket)
{
    SHARING(3, 1);
    struct redlock_name names[] = { { .bytes = "a", .size = 1 }, { .bytes = "b", .size = 1, .shared = true } };
    struct redlock_request set = { .set = names, .set_count = 2, .ttl_ms = DOOR_TTL, .ticket = true, .wall_us = 1 };

    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &set, CLIENT_NOW(0)), REDLOCK_BAD_SET);
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
    CHECK_INT(redlock_adopt_set(ENGINE(0), LOCK(0), &name, 1, token, CLIENT_NOW(0)), REDLOCK_OK);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    NO_KEYS();
}

TAP_MAIN
