/* Several resources in one lock: all or nothing, each once, in one order. */
#include "../sim/story.h"

enum { TTL = 10000 };

#define NAME(text) { (text), sizeof (text) - 1 }

/* A request for the set, which is sorted in place. */
static struct redlock_request of(struct redlock_name *set, unsigned count)
{
    return (struct redlock_request){ .set = set, .set_count = count, .ttl_ms = TTL };
}

#define TAKE_SET(client, request) do {                                          \
        CHECK_INT(cluster_acquire(cluster, (client), 0, (request)), REDLOCK_OK); \
        UNTIL_DONE(client);                                                      \
    } while (0)

TEST(a_set_is_acquired_and_released_together)
{
    struct redlock_name set[] = { NAME("roof"), NAME("door"), NAME("gate") };
    struct redlock_request request = of(set, 3);
    CLUSTER(3);
    TAKE_SET(0, &request);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
    EXPECT_KEYS("door", 3);
    EXPECT_KEYS("gate", 3);
    EXPECT_KEYS("roof", 3);
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    EXPECT_KEY_ABSENT_ON_ALL("gate");
    EXPECT_KEY_ABSENT_ON_ALL("roof");
    CHECK(IDLE(0));
}

TEST(a_set_with_one_resource_that_is_taken_gets_none)
{
    struct redlock_name set[] = { NAME("door"), NAME("gate"), NAME("roof") };
    struct redlock_request request = of(set, 3);
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(1, "roof", TTL);
    TAKE_SET(0, &request);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK(redlock_free_in_ms(LOCK(0)) <= TTL && redlock_free_in_ms(LOCK(0)) > TTL - 100);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    EXPECT_KEY_ABSENT_ON_ALL("gate");
    EXPECT_KEYS("roof", 3);
}

TEST(a_set_and_a_plain_lock_exclude_each_other)
{
    struct redlock_name set[] = { NAME("door"), NAME("gate") };
    struct redlock_request request = of(set, 2);
    CLUSTER_OF(3, 2, (void)0);
    TAKE_SET(0, &request);
    ACQUIRE(1, "gate", TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
}

TEST(an_extension_of_a_set_counts_where_all_of_it_is_ours)
{
    struct redlock_name set[] = { NAME("door"), NAME("gate") };
    struct redlock_request request = of(set, 2);
    CLUSTER(3);
    TAKE_SET(0, &request);
    cluster->no_promise = true;
    for (unsigned k = 0; k < 2; k++) model_evict(NODE(k), 0);
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_REFUSED);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_GRANTED);
}

TEST(a_set_has_one_form_on_the_wire_however_it_is_named)
{
    struct redlock_name set[] = { NAME("doors"), NAME("roof"), NAME("door"), NAME("b"), NAME("gate") };
    static const char *const sorted[] = { "b", "door", "doors", "gate", "roof" };
    struct redlock_request request = of(set, 5);
    CLUSTER(1);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    for (unsigned i = 0; i < 5; i++)
        CHECK_MEM(LOCK(0)->set[i].bytes, LOCK(0)->set[i].size, sorted[i], strlen(sorted[i]));
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_set_names_no_resource_twice)
{
    struct redlock_name twice[] = { NAME("door"), NAME("gate"), NAME("door") };
    struct redlock_request request = of(twice, 3);
    CLUSTER(1);
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_BAD_SET);
    CHECK(IDLE(0));
}

TEST(a_set_has_1_to_16_resources)
{
    static const char letters[] = "abcdefghijklmnopq";
    struct redlock_name set[REDLOCK_SET_MAX + 1];
    struct redlock_request request = of(set, 0);
    CLUSTER(1);
    for (unsigned i = 0; i <= REDLOCK_SET_MAX; i++) set[i] = (struct redlock_name){ letters + i, 1 };
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_BAD_SET);
    request.set_count = REDLOCK_SET_MAX + 1;
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_BAD_SET);
    request.set_count = REDLOCK_SET_MAX;
    TAKE_SET(0, &request);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    request.set_count = 1;
    TAKE_SET(0, &request);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEYS("a", 1);
}

/* Each name but one costs 8 bytes more. */
TEST(the_names_of_a_set_are_together_no_longer_than_one_may_be)
{
    static const char bytes[40] = "0123456789012345678901234567890123456789";
    struct redlock_name set[] = { { bytes, 20 }, { bytes + 1, 12 } };
    struct redlock_request request = of(set, 2);
    CLUSTER_OF(1, 1, config.resource_max = 40);
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_OK);
    cluster_cancel(cluster, 0, 0);
    redlock_forget(ENGINE(0), LOCK(0));
    set[1].size++;
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_BAD_RESOURCE);
    set[0].size = 33;       /* Nothing is left for the head of the second. */
    set[1].size = 1;
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_BAD_RESOURCE);
}

TEST(a_set_can_be_moved_with_its_names)
{
    struct redlock_name set[] = { NAME("door"), NAME("gate") };
    struct redlock_request request = of(set, 2);
    CLUSTER(3);
    TAKE_SET(0, &request);
    cluster_move(cluster, 0, 1, 0);
    CHECK_INT(cluster_release(cluster, 0, 1), REDLOCK_OK);
    UNTIL_LOCK_DONE(0, 1);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    EXPECT_KEY_ABSENT_ON_ALL("gate");
}

TEST(a_set_is_adopted_by_its_token)
{
    struct redlock_name set[] = { NAME("gate"), NAME("door") }, names[] = { NAME("door"), NAME("gate") };
    struct redlock_request request = of(set, 2);
    struct redlock_lock heir;
    char token[REDLOCK_TOKEN_TEXT + 1];
    CLUSTER_OF(3, 2, (void)0);
    TAKE_SET(0, &request);
    redlock_token(LOCK(0), token);
    redlock_lock_init(&heir);
    CHECK_INT(redlock_adopt_set(ENGINE(1), &heir, names, 2, "none", CLIENT_NOW(1)), REDLOCK_BAD_TOKEN);
    CHECK_INT(redlock_adopt_set(ENGINE(1), &heir, names, 2, token, CLIENT_NOW(1)), REDLOCK_OK);
    CHECK_INT(redlock_start_release(ENGINE(1), &heir, CLIENT_NOW(1)), REDLOCK_OK);
    cluster->no_promise = true;
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    EXPECT_KEY_ABSENT_ON_ALL("gate");
    redlock_forget(ENGINE(1), &heir);
}

TAP_MAIN
