/* Nodes that run no scripts, but know DELEX or DELIFEQ. Plain locks live there by commands of the
 * server's own, and other locks get no vote. */
#include "../../world/story.h"

enum { TTL_MS = 10000, MASTERS = 3 };

#define NO_SCRIPTS "EVAL EVALSHA SCRIPT"
#define DELEX "DELEX IFEQ"
#define DELIFEQ "DELIFEQ IFEQ"

static void refuse_scripts(struct model_node *node, const char *newer)
{
    node->noperm = NO_SCRIPTS;
    node->newer = newer;
}

/* All nodes refuse scripts, and know such commands. */
#define NATIVE_OF(clients, knows, ...) \
    CLUSTER_COLD(MASTERS, clients, __VA_ARGS__); \
    STORY_NODES refuse_scripts(NODE(story_k), (knows)); \
    RUN_MS(STORY_SETTLE_MS)
#define NATIVE(knows) NATIVE_OF(1, knows, (void)0)

static const struct model_call *last_call(const struct model_node *node)
{
    return &node->calls[node->call_count - 1];
}

/* ---- A plain lock ---- */

static void live_with(const char *knows)
{
    NATIVE(knows);
    TAP_CONTEXT("%s", knows);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1000);
    EXTEND(0, TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK(VALID_US(0) > 9800000);
    STORY_NODES CHECK(CALLS(story_k, "EXTEND") == 1 && last_call(NODE(story_k))->did);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    STORY_NODES CHECK_INT(CALLS(story_k, "EVALSHA") + CALLS(story_k, "EVAL"), 1); /* The first. */
}

TEST(s5_a_plain_lock_is_acquired_extended_and_released_without_a_script)
{
    live_with(DELEX);
    live_with(DELIFEQ);
}

#define LOOK_AT(k) redlock_view_node(ENGINE(0), (k), CLIENT_NOW(0))

TEST(nodes_with_scripts_and_without_make_one_quorum)
{
    CLUSTER_COLD(5, 1, (void)0);
    refuse_scripts(NODE(0), DELEX);
    refuse_scripts(NODE(1), DELIFEQ);
    refuse_scripts(NODE(2), DELEX);
    RUN_MS(STORY_SETTLE_MS);
    redlock_use(ENGINE(0), &redlock_copies);
    STORY_NODES CHECK_INT(LOOK_AT(story_k).lacks_scripts, story_k < 3);
    STORY_NODES CHECK_INT(LOOK_AT(story_k).gives_tickets, story_k >= 3);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(10);
    EXTEND(0, TTL_MS);
    RUN_MS(10);
    EXPECT_STATUS(0, REDLOCK_OK);
    STORY_NODES EXPECT_VOTE(0, story_k, REDLOCK_VOTE_GRANTED);
    RELEASE(0);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TEST(s7_a_rivals_key_is_neither_extended_nor_released)
{
    NATIVE(DELEX);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(10);
    STORY_NODES REMOVE_KEY(story_k, "door");
    RIVAL_ON_ALL("door", TTL_MS);
    cluster->no_promise = true;
    EXTEND(0, TTL_MS);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    STORY_NODES EXPECT_RIVAL_KEY(story_k, "door");
}

TEST(a_node_without_scripts_has_a_timeout_for_each_round_of_its_handshake)
{
    CLUSTER_COLD(MASTERS, 1, config.node_timeout_ms = 100);
    STORY_NODES refuse_scripts(NODE(story_k), DELIFEQ);
    STORY_NODES DELAY_US(story_k, 24000);       /* And back. It answers three times. */
    RUN_MS(1000);
    STORY_NODES EXPECT_TROUBLE(0, story_k, REDLOCK_TROUBLE_NONE);
}

/* ---- S7: SET with IFEQ may make a TTL shorter ---- */

TEST(s7_no_other_ttl_than_the_locks_is_sent_to_a_node_without_scripts)
{
    static const uint32_t others[] = { TTL_MS - 1, TTL_MS + 1 };

    for (unsigned i = 0; i < 2; i++) {
        NATIVE(DELIFEQ);
        TAP_CONTEXT("%u ms", others[i]);
        ACQUIRE(0, "door", TTL_MS);
        RUN_MS(10);
        EXTEND(0, others[i]);
        EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
        EXPECT_HELD(0);
        STORY_NODES CHECK_INT(CALLS(story_k, "EXTEND"), 0);
        EXTEND(0, TTL_MS);              /* Nothing else was sent to anybody. */
        EXPECT_STATUS(0, REDLOCK_OK);
        EXTEND(0, others[i]);           /* Nor is it what a keeper sends. */
        CHECK_INT(redlock_keep(ENGINE(0), LOCK(0), 0, CLIENT_NOW(0)), REDLOCK_OK);
        RUN_MS(5 * TTL_MS);
        EXPECT_HELD(0);
        RELEASE(0);
    }
}

TEST(s7_once_another_ttl_was_sent_to_some_node_no_ttl_is_sent_to_one_without_scripts)
{
    CLUSTER_COLD(MASTERS, 1, (void)0);
    refuse_scripts(NODE(0), DELEX);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(10);
    for (unsigned i = 0; i < 2; i++) {
        EXTEND(0, 2 * TTL_MS);          /* Equal to the longest, the second time. */
        EXPECT_STATUS(0, REDLOCK_OK);
        EXPECT_VOTE(0, 0, REDLOCK_VOTE_NOT_ASKED);
    }
    RELEASE(0);
    RUN_MS(10);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    ACQUIRE(0, "door", 2 * TTL_MS);     /* By another token. */
    RUN_MS(10);
    EXTEND(0, 2 * TTL_MS);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
}

TEST(s7_an_adopted_lock_whose_ttl_nobody_knows_is_only_released)
{
    NATIVE_OF(3, DELEX, config.guard_ms = TTL_MS);
    char token[REDLOCK_TOKEN_TEXT + 1];

    cluster->no_exclusion = cluster->no_promise = true;
    RUN_MS(2 * TTL_MS);
    ACQUIRE(0, "door", TTL_MS / 2);
    RUN_MS(1);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    EXTEND(1, TTL_MS);                  /* The longest that may have been sent. */
    EXPECT_STATUS(1, REDLOCK_NO_QUORUM);
    STORY_NODES CHECK_INT(CALLS(story_k, "EXTEND"), 0);
    CHECK_INT(cluster_adopt(cluster, 2, 0, "door", token), REDLOCK_OK);
    RELEASE(2);
    EXPECT_STATUS(2, REDLOCK_OK);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* ---- Locks that need scripts ---- */

TEST(a_ticket_and_a_set_get_no_vote_where_no_script_runs)
{
    struct redlock_name names[] = { { .bytes = "a", .size = 1 }, { .bytes = "b", .size = 1 } };
    struct redlock_request with_ticket = story_request("door", TTL_MS, 0),
                           of_set = { .set = names, .set_count = 2, .ttl_ms = TTL_MS };
    const struct redlock_request *requests[] = { &with_ticket, &of_set };

    NATIVE(DELEX);
    with_ticket.ticket = true;
    with_ticket.wall_us = CLIENT_NOW(0);
    for (unsigned i = 0; i < 2; i++) {
        TAP_CONTEXT("request %u", i);
        CHECK_INT(cluster_acquire(cluster, 0, 0, requests[i]), REDLOCK_OK);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
        STORY_NODES EXPECT_VOTE(0, story_k, REDLOCK_VOTE_NOT_ASKED);
        CHECK(IDLE(0));
    }
    STORY_NODES CHECK_INT(CALLS(story_k, "ACQUIRE") + CALLS(story_k, "EVALSHA"), 0);
}

/* The lock waits for the handshake. */
TEST(a_ticket_that_waits_for_a_node_learns_that_it_runs_no_scripts)
{
    struct redlock_request request = story_request("door", TTL_MS, 0);

    CLUSTER_COLD(1, 1, (void)0);
    refuse_scripts(NODE(0), DELEX);
    request.ticket = true;
    request.wall_us = CLIENT_NOW(0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_NOT_ASKED);
}

TEST(a_waiter_takes_no_entry_there_and_tries_again_by_itself)
{
    NATIVE_OF(2, DELEX, config.wake_ups = true);
    ACQUIRE(0, "door", TTL_MS);
    START_ACQUIRE(1, "door", TTL_MS, 60000);
    RUN_MS(2000);
    STORY_NODES CHECK_INT(CALLS(story_k, "WAIT") + CALLS(story_k, "EVALSHA"), 0);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* Its keys stay until their TTLs end, since DELEX knows neither sets nor other kinds. */
TEST(s7_a_lock_that_a_script_has_acquired_is_released_by_no_other_command)
{
    struct redlock_name names[] = { { .bytes = "a", .size = 1 }, { .bytes = "b", .size = 1 } };
    struct redlock_request of_set = { .set = names, .set_count = 2, .ttl_ms = TTL_MS },
                           of_reader = story_request("a", TTL_MS, 0);
    const struct redlock_request *requests[] = { &of_set, &of_reader };
    size_t before[MASTERS];

    of_reader.kind = &redlock_shared;
    for (unsigned i = 0; i < 2; i++) {
        CLUSTER(MASTERS);
        TAP_CONTEXT("request %u", i);
        CHECK_INT(cluster_acquire(cluster, 0, 0, requests[i]), REDLOCK_OK);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        STORY_NODES refuse_scripts(NODE(story_k), DELEX);
        STORY_NODES RESET(0, story_k);
        RUN_MS(1000);
        STORY_NODES before[story_k] = NODE(story_k)->key_count;
        START_RELEASE(0);
        RUN_MS(TTL_MS / 2);
        STORY_NODES CHECK_INT(NODE(story_k)->key_count, before[story_k]);
        CHECK(redlock_view_lock(LOCK(0)).owed > 0);
    }
}

/* ---- What a node knows ---- */

TEST(s5_a_node_that_knows_neither_command_has_no_vote_and_its_refusal_of_scripts_is_told)
{
    CLUSTER_COLD(1, 1, (void)0);
    refuse_scripts(NODE(0), NULL);
    RUN_MS(STORY_SETTLE_MS);
    CHECK(!VOTES(0, 0));
    EXPECT_WORDS(0, 0, "'eval'");
    CHECK(CALLS(0, "DELEX") > 0 && CALLS(0, "DELIFEQ") > 0);
}

TEST(only_a_refusal_makes_a_client_ask_for_other_commands)
{
    static const char *const troubles[] = {
        "-OOM command not allowed when used memory > 'maxmemory'.\r\n", "-MISCONF Redis is\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n", "$3\r\nabc\r\n"
    };

    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++) {
        CLUSTER_COLD(1, 1, (void)0);
        TAP_CONTEXT("%s", troubles[i]);
        NODE(0)->newer = DELEX;
        ANSWERS(0, "EVAL", troubles[i]);
        RUN_MS(STORY_SETTLE_MS);
        CHECK(!VOTES(0, 0));
        CHECK_INT(CALLS(0, "DELEX"), 0);
    }
}

TEST(a_service_that_knows_no_scripts_is_asked_as_well)
{
    CLUSTER_COLD(1, 1, (void)0);
    NODE(0)->newer = DELIFEQ;
    ANSWERS(0, "EVAL", "-ERR unknown command 'EVAL', with args beginning with: 'return' '0' \r\n");
    RUN_MS(STORY_SETTLE_MS);
    CHECK(VOTES(0, 0));
    ACQUIRE(0, "door", TTL_MS);
    RELEASE(0);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* The key is the canary's, to which a user may have no right. */
TEST(an_error_about_the_key_shows_that_the_command_is_known)
{
    static const struct { const char *answer; bool is_known; } answers[] = {
        { "-NOPERM No permissions to access a key\r\n", true },
        { "-MOVED 1234 10.0.0.1:6379\r\n", true },
        { "-NOPERM this user has no permissions to access one of the keys used as arguments\r\n",
          true },
        { "-NOPERM User u has no permissions to run the 'delex' command\r\n", false },
        { "-NOPERM u has no ACL permissions\r\n", false },      /* Dragonfly. */
        { "-ERR syntax error\r\n", false },
        { ":0\r\n", true },
    };

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        CLUSTER_COLD(1, 1, (void)0);
        TAP_CONTEXT("%s", answers[i].answer);
        refuse_scripts(NODE(0), NULL);
        ANSWERS(0, "DELEX", answers[i].answer);
        RUN_MS(STORY_SETTLE_MS);
        CHECK_INT(VOTES(0, 0), answers[i].is_known);
        CHECK_INT(CALLS(0, "DELIFEQ") > 0, !answers[i].is_known);
    }
}

TEST(s5_a_right_to_neither_command_gives_no_vote)
{
    CLUSTER_COLD(1, 1, (void)0);
    refuse_scripts(NODE(0), NULL);
    ANSWERS(0, "DELIFEQ", "-NOPERM User u has no permissions to run the 'delifeq' command\r\n");
    RUN_MS(STORY_SETTLE_MS);
    CHECK(!VOTES(0, 0));
}

TEST(a_replica_is_asked_no_more)
{
    CLUSTER_COLD(1, 1, (void)0);
    refuse_scripts(NODE(0), DELEX);
    NODE(0)->role = MODEL_REPLICA;
    RUN_MS(STORY_SETTLE_MS);
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_REPLICA);
    CHECK_INT(CALLS(0, "DELEX"), 0);
}

TEST(another_answer_or_one_that_ends_any_session_ends_this_one)
{
    static const struct { const char *answer; enum redlock_trouble trouble; } answers[] = {
        { "+OK\r\n", REDLOCK_TROUBLE_PROTOCOL },
        { ":1\r\n", REDLOCK_TROUBLE_PROTOCOL },     /* It has deleted something. */
        { "-NOAUTH Authentication required.\r\n", REDLOCK_TROUBLE_NOAUTH },
    };

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        CLUSTER_COLD(1, 1, (void)0);
        TAP_CONTEXT("%s", answers[i].answer);
        refuse_scripts(NODE(0), DELEX);
        ANSWERS(0, "DELEX", answers[i].answer);
        RUN_MS(STORY_SETTLE_MS);
        EXPECT_TROUBLE(0, 0, answers[i].trouble);
        CHECK_INT(CALLS(0, "DELIFEQ"), 0);
    }
}

TEST(each_connection_asks_anew)
{
    NATIVE(DELEX);
    STORY_NODES NODE(story_k)->noperm = NULL;
    STORY_NODES RESET(0, story_k);
    RUN_MS(1000);
    ACQUIRE(0, "door", TTL_MS);
    EXTEND(0, TTL_MS / 2);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    STORY_NODES CHECK(CALLS(story_k, "DELEX") == 1);
}

TEST(a_short_pipeline_asks_in_its_turn)
{
    NATIVE_OF(1, DELIFEQ, config.pipeline = REDLOCK_PIPELINE_MIN);
    STORY_NODES CHECK_INT(CALLS(story_k, "SCRIPT"), 2);
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

TAP_MAIN
