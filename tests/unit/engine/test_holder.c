/* A holder's name follows the token in the value of each key. Tests the bytes that go out, the
 * comparison, and the refusals. */
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

static const char name[] = "web2:4711 backup.sh";

static bool is_held_by(struct cluster *cluster, unsigned nodes, const char *holder)
{
    char expected[REDLOCK_TOKEN_TEXT + 1 + 2 * REDLOCK_HOLDER_MAX];

    redlock_token(LOCK(0), expected);
    if (holder)
        (void)snprintf(expected + REDLOCK_TOKEN_TEXT, sizeof expected - REDLOCK_TOKEN_TEXT, " %s",
                       holder);
    for (unsigned k = 0; k < nodes; k++)
        if (!cluster_key(cluster, k, "door") ||
            strcmp(cluster_key(cluster, k, "door"), expected) != 0)
            return false;
    return true;
}

TEST(the_holder_stands_behind_the_token_and_is_compared_with_it)
{
    CLUSTER_OF(3, 2, (void)0);
    CHECK_INT(redlock_use_holder(ENGINE(0), name), REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(is_held_by(cluster, 3, name));
    ACQUIRE(1, "door", DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(a_lock_with_a_ticket_has_a_holder_as_well)
{
    CLUSTER_OF(3, 1, (void)0);
    CHECK_INT(redlock_use_holder(ENGINE(0), name), REDLOCK_OK);
    struct redlock_request request = story_request("door", DOOR_TTL, 0);
    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(is_held_by(cluster, 3, name));
    RELEASE(0);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s9_an_extension_restores_the_whole_value)
{
    CLUSTER_OF(3, 1, (void)0);
    CHECK_INT(redlock_use_holder(ENGINE(0), name), REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    REMOVE_KEYS(1);
    EXTEND(0, DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(100);
    CHECK(is_held_by(cluster, 3, name));
}

TEST(without_a_holder_the_value_is_the_token)
{
    CLUSTER_OF(3, 1, (void)0);
    ACQUIRE(0, "door", DOOR_TTL);
    CHECK(is_held_by(cluster, 3, NULL));
}

TEST(s17_a_lock_is_adopted_by_an_engine_with_the_same_holder_alone)
{
    CLUSTER_OF(3, 3, (void)0);
    char token[REDLOCK_TOKEN_TEXT + 1];
    cluster->no_exclusion = cluster->no_promise = true;     /* All are the same holder. */
    CHECK_INT(redlock_use_holder(ENGINE(0), name), REDLOCK_OK);
    CHECK_INT(redlock_use_holder(ENGINE(1), name), REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt(cluster, 2, 0, "door", token), REDLOCK_OK);
    EXTEND(2, DOOR_TTL);
    EXPECT_STATUS(2, REDLOCK_TAKEN);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    EXTEND(1, DOOR_TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    RELEASE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(a_holder_has_1_to_63_bytes_and_no_control_characters)
{
    CLUSTER_OF(3, 1, (void)0);
    char longest[REDLOCK_HOLDER_MAX + 2];
    memset(longest, 'x', sizeof longest);
    longest[REDLOCK_HOLDER_MAX + 1] = '\0';
    CHECK_INT(redlock_use_holder(ENGINE(0), longest), REDLOCK_BAD_CONFIG);
    CHECK_INT(redlock_use_holder(ENGINE(0), ""), REDLOCK_BAD_CONFIG);
    CHECK_INT(redlock_use_holder(ENGINE(0), "a\nb"), REDLOCK_BAD_CONFIG);
    CHECK_INT(redlock_use_holder(ENGINE(0), "a\x7f" "b"), REDLOCK_BAD_CONFIG);
    ACQUIRE(0, "door", DOOR_TTL);
    CHECK(is_held_by(cluster, 3, NULL));
    RELEASE(0);
    longest[REDLOCK_HOLDER_MAX] = '\0';
    CHECK_INT(redlock_use_holder(ENGINE(0), longest), REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(is_held_by(cluster, 3, longest));
}

TEST(a_holder_needs_65_bytes_more_to_send)
{
    for (unsigned more = REDLOCK_HOLDER_MAX + 1; more <= REDLOCK_HOLDER_MAX + 2; more++) {
        CLUSTER_OF(1, 1, config.send_size = REDLOCK_SEND_MIN(config.resource_max) + more);
        CHECK_INT(redlock_use_holder(ENGINE(0), name),
                  more == REDLOCK_HOLDER_MAX + 2 ? REDLOCK_OK : REDLOCK_BAD_CONFIG);
    }
}

TEST(s18_a_mark_is_set_where_the_whole_value_stands)
{
    CLUSTER_OF(3, 1, (void)0);
    struct redlock_mark mark;
    struct redlock_period period = { .period_ms = 60000, .takes_forgetful = true };
    CHECK_INT(redlock_use_holder(ENGINE(0), name), REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    period.wall_us = cluster_client_wall(cluster, 0);
    period.at_us = CLIENT_NOW(0);
    CHECK_INT(redlock_start_mark(ENGINE(0), &mark, LOCK(0), &period, CLIENT_NOW(0)), REDLOCK_OK);
    RUN_MS(100);
    CHECK_INT(redlock_mark_status(ENGINE(0), &mark, CLIENT_NOW(0)), REDLOCK_OK);
}

TEST(a_name_may_have_bytes_of_utf_8)
{
    CLUSTER_OF(1, 1, (void)0);
    CHECK_INT(redlock_use_holder(ENGINE(0), "b\xc3\xbcro"), REDLOCK_OK);
    ACQUIRE(0, "door", DOOR_TTL);
    CHECK(is_held_by(cluster, 1, "b\xc3\xbcro"));
}

TAP_MAIN
