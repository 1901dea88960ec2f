/* Several resources, all or nothing; and the limits of a lock's resources. */
#include "../../world/story.h"

#include "../../../redlock/names.h"

enum { DOOR_TTL = 10000, HEAD = 8 };    /* Bytes that each name but the first adds. */

static struct redlock_request request_of(struct redlock_name *names, unsigned count,
                                         uint32_t wait_ms)
{
    return (struct redlock_request){
        .set = names, .set_count = count, .ttl_ms = DOOR_TTL, .wait_ms = wait_ms
    };
}

static enum redlock_status acquire_set(struct cluster *cluster, unsigned client,
                                       struct redlock_name *names, unsigned count)
{
    const struct redlock_request request = request_of(names, count, 0);

    return cluster_acquire(cluster, client, 0, &request);
}

#define NAME(text) { .bytes = (text), .size = sizeof(text) - 1 }
#define ACQUIRE_SET(client, names) \
    CHECK_INT(acquire_set(cluster, (client), (names), sizeof(names) / sizeof(names)[0]), \
              REDLOCK_OK); \
    UNTIL_DONE(client)

TEST(a_set_is_acquired_extended_and_released_together)
{
    CLUSTER(3);
    struct redlock_name names[] = { NAME("door"), NAME("attic"), NAME("cellar") };

    ACQUIRE_SET(0, names);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEYS("door", 3); EXPECT_KEYS("attic", 3); EXPECT_KEYS("cellar", 3);
    RUN_MS(DOOR_TTL / 2);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(DOOR_TTL / 2 + 1000);
    EXPECT_KEYS("door", 3); EXPECT_KEYS("attic", 3); EXPECT_KEYS("cellar", 3);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    EXPECT_KEY_ABSENT_ON_ALL("attic");
    EXPECT_KEY_ABSENT_ON_ALL("cellar");
}

TEST(a_set_with_one_resource_taken_is_not_acquired_and_leaves_nothing)
{
    static const char *const words[] = { "attic", "cellar", "door" };

    for (unsigned i = 0; i < 3; i++) {
        TAP_CONTEXT("%s is taken", words[i]);
        CLUSTER_OF(3, 2, (void)0);
        struct redlock_name names[] = { NAME("door"), NAME("attic"), NAME("cellar") };
        ACQUIRE(1, words[i], DOOR_TTL);
        RUN_MS(5);
        ACQUIRE_SET(0, names);
        EXPECT_STATUS(0, REDLOCK_TAKEN);
        CHECK(redlock_view_lock(LOCK(0)).free_in_ms > DOOR_TTL - 100 &&
              redlock_view_lock(LOCK(0)).free_in_ms <= DOOR_TTL);
        RUN_MS(50);
        for (unsigned j = 0; j < 3; j++) EXPECT_KEYS(words[j], i == j ? 3 : 0);
        EXPECT_HELD(1);
        CHECK(IDLE(0));
    }
}

/* Tried in every order in which six may be named, and with names that begin with one another. */
TEST(a_set_has_one_order_whoever_asks)
{
    static const char sorted[6][4] = { "a", "a\1", "aa", "aab", "b", "\xff" };
    unsigned order[6] = { 0, 1, 2, 3, 4, 5 };
    CLUSTER(1);

    for (unsigned seed = 0; seed < 720; seed++) {
        struct redlock_name names[6];
        unsigned rest = seed;
        TAP_CONTEXT("order %u", seed);
        for (unsigned i = 0; i < 6; i++) order[i] = i;
        for (unsigned i = 6; i > 1; rest /= i, i--) {
            const unsigned at = rest % i, swapped = order[i - 1];
            order[i - 1] = order[at];
            order[at] = swapped;
        }
        for (unsigned i = 0; i < 6; i++)
            names[i] = (struct redlock_name){
                .bytes = sorted[order[i]], .size = strlen(sorted[order[i]])
            };
        const struct redlock_request request = request_of(names, 6, 0);
        CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)), REDLOCK_OK);
        for (unsigned i = 0; i < 6; i++)
            CHECK_MEM(names[i].bytes, names[i].size, sorted[i], strlen(sorted[i]));
        redlock_forget(ENGINE(0), LOCK(0));
    }
}

TEST(the_order_of_a_set_is_that_of_the_keys_on_the_wire)
{
    CLUSTER(1);
    struct redlock_name names[] = { NAME("door"), NAME("attic"), NAME("cellar") };

    ACQUIRE_SET(0, names);
    const struct model_call *call = &NODE(0)->calls[NODE(0)->call_count - 1];
    CHECK_STR(call->name, "ACQUIRE");
    CHECK_INT(call->key_count, 3);
    CHECK_STR(call->keys[0], "attic");
    CHECK_STR(call->keys[1], "cellar");
    CHECK_STR(call->keys[2], "door");
}

TEST(sets_that_overlap_both_get_their_turn)
{
    CLUSTER_OF(3, 2, (void)0);
    struct redlock_name first[] = { NAME("door"), NAME("attic") },
                        second[] = { NAME("cellar"), NAME("door") };

    for (unsigned i = 0; i < 10; i++) {
        const struct redlock_request a = request_of(first, 2, 30000),
                                     b = request_of(second, 2, 30000);
        CHECK_INT(cluster_acquire(cluster, 0, 0, &a), REDLOCK_OK);
        CHECK_INT(cluster_acquire(cluster, 1, 0, &b), REDLOCK_OK);
        for (unsigned ms = 0; ms < 30000 && redlock_lock_status(LOCK(0)) == REDLOCK_PENDING &&
                              redlock_lock_status(LOCK(1)) == REDLOCK_PENDING; ms++) RUN_MS(1);
        const unsigned winner = redlock_lock_status(LOCK(0)) == REDLOCK_OK ? 0 : 1;
        EXPECT_STATUS(winner, REDLOCK_OK);
        RELEASE(winner);
        UNTIL_DONE(1 - winner);
        EXPECT_STATUS(1 - winner, REDLOCK_OK);
        RELEASE(1 - winner);
        RUN_MS(100);
    }
}

TEST(a_resource_that_is_named_twice_is_refused_wherever_it_stands)
{
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < i; j++) {
            struct redlock_name names[] = { NAME("d"), NAME("b"), NAME("c"), NAME("a") };
            TAP_CONTEXT("%u is %u", i, j);
            CLUSTER(1);
            names[i] = names[j];
            CHECK_INT(acquire_set(cluster, 0, names, 4), REDLOCK_BAD_SET);
            EXPECT_STATUS(0, REDLOCK_LOST);
            CHECK(IDLE(0));
        }
}

static void acquire_so_many(unsigned count, enum redlock_status expected)
{
    CLUSTER(1);
    static const char letters[REDLOCK_SET_MAX + 2] = "abcdefghijklmnopq";
    struct redlock_name names[REDLOCK_SET_MAX + 1];

    TAP_CONTEXT("%u resources", count);
    for (unsigned i = 0; i <= REDLOCK_SET_MAX; i++)
        names[i] = (struct redlock_name){ .bytes = &letters[i], .size = 1 };
    CHECK_INT(acquire_set(cluster, 0, names, count), expected);
    if (expected != REDLOCK_OK) return;
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(NODE(0)->key_count, count);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(NODE(0)->key_count, 0);
}

TEST(a_set_has_1_to_16_resources)
{
    acquire_so_many(0, REDLOCK_BAD_SET);
    acquire_so_many(1, REDLOCK_OK);
    acquire_so_many(2, REDLOCK_OK);
    acquire_so_many(REDLOCK_SET_MAX, REDLOCK_OK);
    acquire_so_many(REDLOCK_SET_MAX + 1, REDLOCK_BAD_SET);
    acquire_so_many(UINT32_MAX, REDLOCK_BAD_SET);
}

TEST(a_set_of_one_is_a_plain_lock)
{
    CLUSTER(1);
    struct redlock_name names[] = { NAME("door") };

    ACQUIRE_SET(0, names);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(CALLS(0, "SET"), 1);
    CHECK_INT(CALLS(0, "ACQUIRE"), 0);
    RELEASE(0);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* Two names, of that many bytes. */
static enum redlock_status acquire_two(size_t first, size_t second, uint16_t resource_max)
{
    struct redlock_config config;
    static struct redlock r;
    static struct redlock_node node;
    static uint64_t memory[REDLOCK_MEMORY_DEFAULT(1) / sizeof(uint64_t)];
    static char bytes[2][REDLOCK_RESOURCE_MAX + 1];
    struct redlock_name names[2] = {
        { .bytes = bytes[0], .size = first }, { .bytes = bytes[1], .size = second }
    };
    const struct redlock_request request = request_of(names, 2, 0);
    struct redlock_lock lock;

    memset(bytes[0], 'a', sizeof bytes[0]);
    memset(bytes[1], 'b', sizeof bytes[1]);
    redlock_config_init(&config);
    config.resource_max = resource_max;
    redlock_lock_init(&lock);
    if (redlock_init(&r, &config, &node, 1, memory, sizeof memory, 1000) != REDLOCK_OK)
        return REDLOCK_PENDING;
    redlock_use(&r, &redlock_sets);
    return redlock_start_acquire(&r, &lock, &request, 1000);
}

TEST(names_have_512_bytes_together_when_all_but_the_first_count_8_more)
{
    CHECK_INT(acquire_two(1, REDLOCK_RESOURCE_MAX - HEAD - 1, REDLOCK_RESOURCE_MAX), REDLOCK_OK);
    CHECK_INT(acquire_two(1, REDLOCK_RESOURCE_MAX - HEAD, REDLOCK_RESOURCE_MAX),
              REDLOCK_BAD_RESOURCE);
    CHECK_INT(acquire_two(REDLOCK_RESOURCE_MAX - HEAD - 1, 1, REDLOCK_RESOURCE_MAX), REDLOCK_OK);
    CHECK_INT(acquire_two(REDLOCK_RESOURCE_MAX - HEAD, 1, REDLOCK_RESOURCE_MAX),
              REDLOCK_BAD_RESOURCE);
    CHECK_INT(acquire_two(REDLOCK_RESOURCE_MAX, 1, REDLOCK_RESOURCE_MAX), REDLOCK_BAD_RESOURCE);
    CHECK_INT(acquire_two(1, SIZE_MAX, REDLOCK_RESOURCE_MAX), REDLOCK_BAD_RESOURCE);
    CHECK_INT(acquire_two(1, 0, REDLOCK_RESOURCE_MAX), REDLOCK_BAD_RESOURCE);
    CHECK_INT(acquire_two(2, 2, 4 + HEAD), REDLOCK_OK);         /* A configuration may set less, */
    CHECK_INT(acquire_two(2, 3, 4 + HEAD), REDLOCK_BAD_RESOURCE);
    CHECK_INT(acquire_two(1, 1, HEAD), REDLOCK_BAD_RESOURCE);   /* also too little for two names. */
}

TEST(a_set_has_one_ticket_for_all_of_its_resources)
{
    CLUSTER_OF(3, 2, (void)0);
    struct redlock_name names[] = { NAME("door"), NAME("attic") };
    struct redlock_request set = request_of(names, 2, 0),
                           attic = story_request("attic", DOOR_TTL, 1000);

    set.ticket = attic.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &set), REDLOCK_OK);
    UNTIL_DONE(0);
    RUN_MS(5);
    const uint64_t ticket = redlock_ticket(LOCK(0));
    CHECK(ticket > 0);
    EXPECT_KEYS("door#ticket", 3); EXPECT_KEYS("attic#ticket", 3);
    RELEASE(0);
    cluster_set_client_wall(cluster, 1, -9000000);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &attic), REDLOCK_OK);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(redlock_ticket(LOCK(1)) > ticket);
}

TEST(a_set_is_adopted_by_its_token_in_any_order)
{
    CLUSTER_OF(3, 1, (void)0);
    struct redlock_name names[] = { NAME("door"), NAME("attic") },
                        again[] = { NAME("attic"), NAME("door") };
    char token[REDLOCK_TOKEN_TEXT + 1];

    ACQUIRE_SET(0, names);
    redlock_token(LOCK(0), token);
    RUN_MS(5);
    cluster_forget(cluster, 0, 0);
    redlock_lock_init(LOCK(0));
    CHECK_INT(redlock_adopt(ENGINE(0), LOCK(0),
                            &(struct redlock_request){ .set = again, .set_count = 2 }, token,
                            CLIENT_NOW(0)),
              REDLOCK_OK);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_ticket(LOCK(0)), 0);
    RELEASE(0);
    RUN_MS(5);
    EXPECT_KEY_ABSENT_ON_ALL("door"); EXPECT_KEY_ABSENT_ON_ALL("attic");
}

TEST(a_set_that_lacks_one_resource_on_a_quorum_is_not_extended)
{
    CLUSTER(3);
    cluster->no_promise = true;
    struct redlock_name names[] = { NAME("door"), NAME("attic") };

    ACQUIRE_SET(0, names);
    for (unsigned k = 0; k < 2; k++) REMOVE_KEYS(k), RIVAL(k, "door", 60000);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
}

TEST(a_set_that_is_moved_is_released_from_where_it_is_now)
{
    CLUSTER(3);
    struct redlock_name names[] = { NAME("door"), NAME("attic") };

    ACQUIRE_SET(0, names);
    RUN_MS(5);
    cluster_move(cluster, 0, 1, 0);
    CHECK_INT(cluster_release(cluster, 0, 1), REDLOCK_OK);
    UNTIL_LOCK_DONE(0, 1);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEY_ABSENT_ON_ALL("door"); EXPECT_KEY_ABSENT_ON_ALL("attic");
    CHECK(redlock_idle(cluster_lock(cluster, 0, 1)));
}

/* "Nothing has changed" includes the caller's set, since another lock may be about it. */
TEST(a_set_that_is_refused_is_left_in_its_order)
{
    CLUSTER(3);
    struct redlock_name names[] = { NAME("door"), NAME("attic") },
                        twice[] = { NAME("door"), NAME("attic"), NAME("door") };
    const struct redlock_request request = request_of(names, 2, 0),
                                 doubled = request_of(twice, 3, 0);

    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &doubled, CLIENT_NOW(0)), REDLOCK_BAD_SET);
    CHECK_STR(twice[0].bytes, "door");
    CHECK_STR(twice[1].bytes, "attic");
    CHECK_STR(twice[2].bytes, "door");
    START_ACQUIRE(0, "cellar", DOOR_TTL, 0);
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)),
              REDLOCK_BAD_STATE);
    CHECK_STR(names[0].bytes, "door"); CHECK_STR(names[1].bytes, "attic");
    UNTIL_DONE(0);
    HANG(2);
    RELEASE(0);
    CHECK(!IDLE(0));
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)),
              REDLOCK_BAD_STATE);
    CHECK_STR(names[0].bytes, "door"); CHECK_STR(names[1].bytes, "attic");
}

/* Until it is idle, a lock keeps its resources. */
TEST(a_lock_that_owes_for_a_set_is_not_used_for_another)
{
    CLUSTER(3);
    struct redlock_name names[] = { NAME("door"), NAME("attic") },
                        others[] = { NAME("door"), NAME("cellar") };
    struct redlock_name same[] = { NAME("door"), NAME("attic") };
    const struct redlock_request one = story_request("attic", DOOR_TTL, 0);

    ACQUIRE_SET(0, names);
    HANG(2);
    RUN_MS(5);
    RELEASE(0);
    CHECK(!IDLE(0));
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &one, CLIENT_NOW(0)), REDLOCK_BAD_STATE);
    const struct redlock_request other = request_of(others, 2, 0), again = request_of(same, 2, 0);
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &other, CLIENT_NOW(0)), REDLOCK_BAD_STATE);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &again), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* ---- Names, by the calls of names.h ---- */

#define SHARED(text) { .bytes = (text), .size = sizeof(text) - 1, .shared = true }

/* What is behind a name, or before it, does not count. */
TEST(names_are_sorted_by_bytes_and_one_that_begins_with_another_is_behind_it)
{
    static const char ab[] = "ab", az[] = "az";
    struct redlock_name names[] = {
        NAME("b"), { .bytes = ab, .size = 2 }, NAME("abc"), { .bytes = az, .size = 1 }
    };
    static const char *const sorted[] = { "a", "ab", "abc", "b" };

    for (unsigned turn = 0; turn < 4; turn++) {
        struct redlock_name set[4];
        for (unsigned i = 0; i < 4; i++) set[i] = names[(i + turn) % 4];
        names_feature()->sort(set, 4);
        for (unsigned i = 0; i < 4; i++)
            CHECK_MEM(set[i].bytes, set[i].size, sorted[i], strlen(sorted[i]));
    }
}

TEST(a_name_is_reserved_by_its_own_end)
{
    static const char text[] = "door" REDLOCK_TICKET_SUFFIX;
    const struct redlock_name whole = NAME("door" REDLOCK_TICKET_SUFFIX);
    const struct redlock_name end = { .bytes = text + 5, .size = whole.size - 5 };

    CHECK(!name_is_proper(&whole, 20));
    CHECK(name_is_proper(&end, 20));
}

TEST(a_set_is_the_same_if_each_of_its_names_is_there_and_has_its_role)
{
    struct redlock_name ours[] = { SHARED("attic"), NAME("door") };
    const struct redlock_name same[] = { NAME("door"), SHARED("attic") },
                              other[] = { NAME("attic"), NAME("gate") };
    const struct redlock_name roles[] = { SHARED("door"), SHARED("attic") },
                              writers[] = { NAME("attic"), NAME("door") };
    const struct redlock_lock lock = { .name = { .bytes = ours }, .name_count = 2 };

    CHECK(names_feature()->are_same(ours, same, 2) && names_feature()->are_same(ours, roles, 2));
    CHECK(!names_feature()->are_same(ours, other, 2));
    CHECK(names_have_same_roles(&lock, same, 2));
    CHECK(!names_have_same_roles(&lock, roles, 2) && !names_have_same_roles(&lock, writers, 2));
}

TEST(a_hash_is_of_all_bytes_of_a_name)
{
    const struct redlock_lock one = { .name = NAME("ab"), .name_count = 1 },
                              other = { .name = NAME("ac"), .name_count = 1 };

    CHECK(names_hash(&one) != names_hash(&other));
}

TEST(the_names_of_a_set_fit_together_with_a_head_for_each_but_the_first)
{
    const struct redlock_name names[] = { NAME("a"), NAME("cellar"), NAME("door") };
    struct redlock r = { .config.resource_max = 1 + HEAD + 6 + HEAD + 4 };

    CHECK_INT(names_feature()->check(&r, names, 3, false), REDLOCK_OK);
    r.config.resource_max--;
    CHECK_INT(names_feature()->check(&r, names, 3, false), REDLOCK_BAD_RESOURCE);
}

TEST(the_names_of_a_managed_set_have_the_same_braces_wherever_they_are)
{
    static const struct {
        struct redlock_name names[2];
        enum redlock_status status;
    } rows[] = {
        { { NAME("attic{a}"), NAME("door{a}x") }, REDLOCK_OK },
        { { NAME("{a}attic"), NAME("door{a}{b}") }, REDLOCK_OK },
        { { NAME("attic{a}"), NAME("door{b}") }, REDLOCK_BAD_RESOURCE },
        { { NAME("attic{a}"), NAME("door") }, REDLOCK_BAD_RESOURCE },
        { { NAME("attic"), NAME("door") }, REDLOCK_BAD_RESOURCE },
        { { NAME("attic{}"), NAME("door{}") }, REDLOCK_BAD_RESOURCE },
        { { NAME("attic{a"), NAME("door{a") }, REDLOCK_BAD_RESOURCE },
        { { NAME("attic}{a}"), NAME("door{a}") }, REDLOCK_OK },
    };
    const struct redlock r = { .config = { .resource_max = 100, .managed = true } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        TAP_CHECK(names_feature()->check(&r, rows[i].names, 2, false) == rows[i].status, "row %zu",
                  i);
}

TAP_MAIN
