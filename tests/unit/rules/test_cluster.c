/* The tests' own ground. Does the model node answer like redis-server, and does the cluster notice
 * what it watches for? The answers are those of redis-server 7.0.15. */
#include "../../world/story.h"

#include "../../../redlock/wire.h"

enum { NOW_US = 1790000000 };

struct talk {
    struct model_node node;
    struct model_session session;
    uint64_t now_us;
};

static void talk_end(struct talk *talk)
{
    model_session_end(&talk->session);
    model_node_free(&talk->node);
}

#define TALK                                                            \
    struct talk talk __attribute__((cleanup(talk_end))) = { .now_us = NOW_US }; \
    model_node_init(&talk.node, 1, NOW_US);                             \
    model_session_begin(&talk.node, &talk.session)

/* Says the words, parted by blanks, as a command, in pieces of that size, and reads the answer
 * as a text. */
static const char *say_in_pieces(struct talk *talk, const char *words, size_t piece)
{
    struct model_bytes bytes = { 0 };
    char head[32];
    unsigned count = 1;
    for (const char *c = words; *c != '\0'; c++) count += *c == ' ';
    snprintf(head, sizeof head, "*%u\r\n", count);
    model_bytes_add(&bytes, head, strlen(head));
    for (const char *word = words; word; word = strchr(word, ' ') ? strchr(word, ' ') + 1 : NULL) {
        const size_t size = strcspn(word, " ");
        snprintf(head, sizeof head, "$%zu\r\n", size);
        model_bytes_add(&bytes, head, strlen(head));
        model_bytes_add(&bytes, word, size);
        model_bytes_add(&bytes, "\r\n", 2);
    }
    model_bytes_drop(&talk->session.out, talk->session.out.size);
    for (size_t at = 0; at < bytes.size; at += piece) {
        const size_t size = piece < bytes.size - at ? piece : bytes.size - at;
        model_session_receive(&talk->node, &talk->session, bytes.data + at, size, talk->now_us);
    }
    model_bytes_free(&bytes);
    model_bytes_add(&talk->session.out, "", 1);
    return (const char *)talk->session.out.data;
}

static const char *say(struct talk *talk, const char *words)
{
    return say_in_pieces(talk, words, 1000000);
}

#define TOKEN "0123456789abcdef0123456789abcdef01234567"
#define OTHER "ffffffffffffffffffffffffffffffffffffffff"

/* ---- The model node ---- */

TEST(a_key_is_set_once_and_lives_for_its_ttl_in_whole_milliseconds)
{
    TALK;
    CHECK_STR(say(&talk, "SET a x NX PX 100"), "+OK\r\n");
    CHECK_STR(say(&talk, "SET a y NX PX 100"), "$-1\r\n");
    CHECK_STR(say(&talk, "GET a"), "$1\r\nx\r\n");
    CHECK_STR(say(&talk, "PTTL a"), ":100\r\n");
    talk.now_us += 100000;
    CHECK_STR(say(&talk, "PTTL a"), ":0\r\n");
    talk.now_us += 1000;
    CHECK_STR(say(&talk, "PTTL a"), ":-2\r\n");
    CHECK_STR(say(&talk, "SET a y NX PX 100"), "+OK\r\n");
    CHECK_STR(talk.node.breach, "");
}

TEST(a_ttl_that_is_none_is_refused_in_the_words_of_redis)
{
    TALK;
    CHECK_STR(say(&talk, "SET a x NX PX 0"), "-ERR invalid expire time in 'set' command\r\n");
    CHECK_STR(say(&talk, "SET a x NX PX -1"), "-ERR invalid expire time in 'set' command\r\n");
    CHECK_STR(say(&talk, "SET a x NX PX 1.5"), "-ERR value is not an integer or out of range\r\n");
    CHECK_STR(say(&talk, "GET a"), "$-1\r\n");
}

TEST(commands_in_pieces_of_any_size_are_the_same_commands)
{
    for (size_t piece = 1; piece < 40; piece++) {
        TALK;
        CHECK_STR(say_in_pieces(&talk, "SET a x NX PX 100", piece), "+OK\r\n");
        CHECK_STR(say_in_pieces(&talk, "GETRANGE a 0 40", piece), "$1\r\nx\r\n");
    }
}

TEST(the_scripts_of_the_wire_are_known_by_text_and_by_sha)
{
    TALK;
    CHECK_STR(say(&talk, "EVALSHA " WIRE_RELEASE_SHA1 " 1 a " TOKEN),
              "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    char sha[REDLOCK_TOKEN_TEXT + 9];
    static const char *const texts[] = { WIRE_RELEASE_SCRIPT, WIRE_EXTEND_SCRIPT };
    static const char *const shas[] = { WIRE_RELEASE_SHA1, WIRE_EXTEND_SHA1 };
    for (unsigned i = 0; i < 2; i++) {
        char command[1000];
        const int size =
            snprintf(command, sizeof command, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                     strlen(texts[i]), texts[i]);
        model_bytes_drop(&talk.session.out, talk.session.out.size);
        model_session_receive(&talk.node, &talk.session, command, (size_t)size, talk.now_us);
        snprintf(sha, sizeof sha, "$40\r\n%s\r\n", shas[i]);
        CHECK_MEM(talk.session.out.data, talk.session.out.size, sha, strlen(sha));
    }
    CHECK_STR(say(&talk, "EVALSHA " WIRE_EXTEND_SHA1 " 1 a " TOKEN " 500"), ":0\r\n");
    CHECK_STR(say(&talk, "SET a " TOKEN " NX PX 100"), "+OK\r\n");
    CHECK_STR(say(&talk, "EVALSHA " WIRE_EXTEND_SHA1 " 1 a " OTHER " 500"), ":0\r\n");
    CHECK_STR(say(&talk, "PTTL a"), ":100\r\n");
    CHECK_STR(say(&talk, "EVALSHA " WIRE_EXTEND_SHA1 " 1 a " TOKEN " 500"), ":1\r\n");
    CHECK_STR(say(&talk, "PTTL a"), ":500\r\n");
    CHECK_STR(say(&talk, "EVALSHA " WIRE_EXTEND_SHA1 " 1 a " TOKEN " 100"), ":1\r\n");
    CHECK_STR(say(&talk, "PTTL a"), ":500\r\n");
    CHECK_STR(say(&talk, "EVALSHA " WIRE_RELEASE_SHA1 " 1 a " OTHER), ":-1\r\n");
    CHECK_STR(say(&talk, "EVALSHA " WIRE_RELEASE_SHA1 " 1 a " TOKEN), ":1\r\n");
    CHECK_STR(say(&talk, "EVALSHA " WIRE_RELEASE_SHA1 " 1 a " TOKEN), ":0\r\n");
    CHECK_STR(talk.node.breach, "");
}

TEST(a_server_with_a_password_lets_nobody_in_without_it)
{
    TALK;
    talk.node.password = "secret";
    model_session_begin(&talk.node, &talk.session);
    CHECK_STR(say(&talk, "INFO server"), "-NOAUTH Authentication required.\r\n");
    CHECK_STR(say(&talk, "AUTH guess"),
              "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    CHECK_STR(say(&talk, "AUTH default secret"), "+OK\r\n");
    CHECK_STR(say(&talk, "PTTL a"), ":-2\r\n");
}

TEST(databases_are_kept_apart)
{
    TALK;
    CHECK_STR(say(&talk, "SET a x NX PX 100"), "+OK\r\n");
    CHECK_STR(say(&talk, "SELECT 1"), "+OK\r\n");
    CHECK_STR(say(&talk, "PTTL a"), ":-2\r\n");
    CHECK_STR(say(&talk, "SELECT 16"), "-ERR DB index is out of range\r\n");
}

static void load(struct talk *talk, const char *script)
{
    char command[4096];
    const int size =
        snprintf(command, sizeof command, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                 strlen(script), script);
    model_session_receive(&talk->node, &talk->session, command, (size_t)size, talk->now_us);
}

static void swap_sessions(struct talk *talk, struct model_session *other)
{
    const struct model_session kept = talk->session;
    talk->session = *other;
    *other = kept;
}

/* They were sent in this order, in two sessions, and are executed in it, or the other way round. */
static void expect_order(const char *first, const char *second, bool is_late, const char *breach)
{
    struct model_session next;
    TALK;
    TAP_CONTEXT("%s, %s%s", first, second, is_late ? ", the first one late" : "");
    load(&talk, WIRE_RELEASE_SCRIPT);
    model_session_begin(&talk.node, &next);
    if (!is_late) (void)say(&talk, first);
    swap_sessions(&talk, &next);
    (void)say(&talk, second);
    swap_sessions(&talk, &next);
    if (is_late) (void)say(&talk, first);
    model_session_end(&next);
    CHECK_STR(talk.node.breach, breach);
}

TEST(a_poll_by_a_token_behind_the_release_of_that_token_is_noticed_whatever_is_executed_first)
{
    static const char release[] = "EVALSHA " WIRE_RELEASE_SHA1 " 1 a " TOKEN;
    for (unsigned is_late = 0; is_late < 2; is_late++) {
        expect_order(release, "SET a " TOKEN " NX PX 100", is_late,
                     "a poll by a token behind the release of that token");
        expect_order(release, "SET a " OTHER " NX PX 100", is_late, "");
        expect_order("SET a " TOKEN " NX PX 100", release, is_late, "");
    }
}

static void expect_breach(const char *words)
{
    TALK;
    TAP_CONTEXT("%s", words);
    (void)say(&talk, words);
    CHECK(talk.node.breach[0] != '\0');
}

TEST(what_a_lock_may_not_do_is_noticed)
{
    expect_breach("DEL a");
    expect_breach("PEXPIRE a 100");
    expect_breach("SET a x");
    expect_breach("SET a x PX 100 NX");
    expect_breach("SET a x XX PX 100");
    expect_breach("FLUSHALL");
    expect_breach("EVAL redis 1 a");
}

TEST(bytes_that_are_no_command_are_noticed)
{
    static const char *const wrong[] = {
        "GET a\r\n", "*1\r\n:1\r\n", "*0\r\n", "*1\r\n$-1\r\n", "*1\r\n$1\r\nab\r\n",
        "*99999999999\r\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        TALK;
        TAP_CONTEXT("%s", wrong[i]);
        model_session_receive(&talk.node, &talk.session, wrong[i], strlen(wrong[i]), NOW_US);
        CHECK(talk.node.breach[0] != '\0');
        CHECK(talk.session.closing);
    }
}

TEST(what_is_published_reaches_the_sessions_that_have_subscribed)
{
    static const char heard[] =
        "*3\r\n$7\r\nmessage\r\n$24\r\nredlock:0123456789abcdef\r\n$1\r\n7\r\n";
    TALK;
    static const char subscribe[] = "*2\r\n$9\r\nSUBSCRIBE\r\n$24\r\nredlock:0123456789abcdef\r\n";
    struct model_session subscription;
    model_session_begin(&talk.node, &subscription);
    model_session_receive(&talk.node, &subscription, subscribe, sizeof subscribe - 1, NOW_US);
    model_bytes_drop(&subscription.out, subscription.out.size);
    const char *const texts[] = { WIRE_WAIT_SCRIPT, WIRE_RELEASE_SCRIPT };
    for (unsigned i = 0; i < 2; i++) {
        char command[1500];
        const int size =
            snprintf(command, sizeof command, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                     strlen(texts[i]), texts[i]);
        model_session_receive(&talk.node, &talk.session, command, (size_t)size, NOW_US);
    }
    CHECK_STR(say(&talk, "SET a " TOKEN " NX PX 100"), "+OK\r\n");
    CHECK_STR(say(&talk, "EVALSHA " WIRE_WAIT_SHA1 " 1 a 0123456789abcdef:7 5 60000 x"),
              ":100\r\n");
    CHECK_STR(say(&talk, "EVALSHA " WIRE_WAIT_SHA1 " 1 a fedcba9876543210:1 4 60000 x"),
              ":100\r\n");
    CHECK_STR(say(&talk, "EVALSHA " WIRE_RELEASE_SHA1 " 1 a " TOKEN " x"), ":2\r\n");
    CHECK_MEM(subscription.out.data, subscription.out.size, heard, strlen(heard));
    model_session_end(&subscription);
    CHECK(!talk.node.subscribers);
    CHECK_STR(talk.node.breach, "");
}

/* ---- The cluster ---- */

TEST(a_promise_that_the_nodes_do_not_keep_is_noticed)
{
    CLUSTER(3);
    for (unsigned k = 0; k < 3; k++)
        cluster_set_node_rate(cluster, k, 84000); /* Beyond the drift of 1 %. */
    CHECK_INT(story_acquire(cluster, 0, 0, "door", 10000, 0), REDLOCK_OK);
    cluster_run_ms(cluster, 1);
    CHECK(strstr(cluster->broken, "promise"));
}

TEST(two_holders_are_noticed)
{
    CLUSTER_OF(3, 2, (void)0);
    ACQUIRE(0, "door", 10000);
    for (unsigned k = 0; k < 3; k++)
        REMOVE_KEYS(k); /* FLUSHALL: no client can know. */
    CHECK_INT(story_acquire(cluster, 1, 0, "door", 10000, 0), REDLOCK_OK);
    cluster_run_ms(cluster, 1);
    CHECK(strstr(cluster->broken, "exclusion"));
}

TEST(time_runs_on_while_nothing_happens_and_clocks_go_their_own_way)
{
    CLUSTER_OF(1, 2, (void)0);
    const uint64_t first = CLIENT_NOW(0), second = CLIENT_NOW(1),
                   node = cluster_node_now(cluster, 0);
    cluster_set_node_rate(cluster, 0, -100000);
    CLIENT_CLOCK_STEPS_MS(1, 5000);
    RUN_MS(1000);
    CHECK_INT(CLIENT_NOW(0) - first, 1000000);
    CHECK_INT(CLIENT_NOW(1) - second, 6000000);
    CHECK_INT(cluster_node_now(cluster, 0) - node, 900000);
}

TEST(what_is_stalled_arrives_when_it_is_healed_and_what_is_cut_does_not)
{
    CLUSTER(2);
    STALL(0);
    START_ACQUIRE(0, "door", 10000, 0);
    RUN_MS(10);
    CHECK_INT(CALLS(0, "SET"), 0);
    CHECK_INT(CALLS(1, "SET"), 1);
    HEAL(0);
    RUN_MS(10);
    CHECK_INT(CALLS(0, "SET"), 1);
    DELAY_ALL_US(1000);
    START_RELEASE(0);
    RUN_US(500);
    cluster_cut(cluster, 0, 0, false);
    cluster_cut(cluster, 0, 1, true);
    RUN_MS(10);
    CHECK_INT(CALLS(0, "RELEASE"), 0);
    CHECK_INT(CALLS(1, "RELEASE"), 1);
}

TEST(a_set_is_watched_in_each_of_its_resources)
{
    CLUSTER_OF(3, 2, (void)0);
    struct redlock_name names[] = {
        { .bytes = "door", .size = 4 }, { .bytes = "attic", .size = 5 }
    };
    const struct redlock_request request = { .set = names, .set_count = 2, .ttl_ms = 10000 };
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_MS(10);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(cluster_count_keys(cluster, "door") + cluster_count_keys(cluster, "attic"), 6);
    for (unsigned k = 0; k < 3; k++) REMOVE_KEYS(k);
    CHECK_INT(story_acquire(cluster, 1, 0, "door", 10000, 0), REDLOCK_OK);
    cluster_run_ms(cluster, 1);
    CHECK(strstr(cluster->broken, "exclusion"));
}

TEST(a_promise_that_the_nodes_keep_for_some_resources_of_a_set_only_is_noticed)
{
    CLUSTER(3);
    struct redlock_name names[] = {
        { .bytes = "door", .size = 4 }, { .bytes = "attic", .size = 5 }
    };
    const struct redlock_request request = { .set = names, .set_count = 2, .ttl_ms = 10000 };
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_MS(10);
    for (unsigned k = 0; k < 3; k++)
        model_put(NODE(k), "attic", "another's", 60000, cluster_node_now(cluster, k));
    cluster->clients[0].locks[0].believed_until = 0; /* It is then looked at again. */
    CHECK_INT(cluster_extend(cluster, 0, 0, 10000), REDLOCK_OK);
    CHECK(strstr(cluster->broken, "promise"));
}

TEST(a_ticket_beyond_the_clocks_of_the_nodes_is_refused)
{
    CLUSTER_OF(3, 2, (void)0);
    struct redlock_request request = story_request("door", 10000, 0);
    request.ticket = true;
    cluster_set_client_wall(cluster, 0, 11000000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_MS(10);
    CHECK_INT(redlock_view_node(&cluster->clients[0].engine, 0, CLIENT_NOW(0)).trouble,
              REDLOCK_TROUBLE_AHEAD);
    cluster_set_client_wall(cluster, 1, 9000000);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    RUN_MS(10);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(redlock_ticket(cluster_lock(cluster, 1, 0)) > 0);
}

TEST(a_release_wakes_a_waiter_by_its_subscription)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 5000);
    ACQUIRE(0, "door", 30000);
    START_ACQUIRE(1, "door", 30000, 20000);
    RUN_MS(50);
    const unsigned tries = CALLS(0, "SET");
    CHECK(CALLS(0, "WAIT") > 0);
    START_RELEASE(0);
    RUN_MS(5);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK_INT(CALLS(0, "SET"), tries + 1);
}

/* The first goes to the nodes and from them to the subscription; the second is the attempt. A round
 * trip takes 2 ms here. */
TEST(a_hand_over_takes_two_round_trips)
{
    CLUSTER_OF(5, 3, config.wake_ups = true; config.retry_ms = 5000);
    DELAY_ALL_US(1000);
    ACQUIRE(0, "door", 30000);
    START_ACQUIRE(1, "door", 30000, 20000);
    START_ACQUIRE(2, "door", 30000, 20000);
    RUN_MS(50);
    START_RELEASE(0);
    RUN_MS(3);
    EXPECT_STATUS(1, REDLOCK_PENDING);
    EXPECT_STATUS(2, REDLOCK_PENDING);
    RUN_MS(2);
    CHECK(redlock_lock_status(cluster_lock(cluster, 1, 0)) == REDLOCK_OK ||
          redlock_lock_status(cluster_lock(cluster, 2, 0)) == REDLOCK_OK);
}

static void acquire_with_ticket(struct cluster *cluster, unsigned client, uint64_t wall_us,
                                uint32_t wait_ms)
{
    struct redlock_request request = story_request("door", 10000, wait_ms);

    request.ticket = true;
    request.wall_us = wall_us;
    CHECK_INT(cluster_acquire(cluster, client, 0, &request), REDLOCK_OK);
    UNTIL_DONE(client);
}

/* Was it the key or the counter? If several commands arrive in one piece, nobody can tell by
 * looking afterwards. */
TEST(an_acquire_that_a_counter_alone_refused_is_told_from_others)
{
    CLUSTER_OF(1, 2, (void)0);
    acquire_with_ticket(cluster, 0, 2000000, 0);
    acquire_with_ticket(cluster, 1, 1000000, 0);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RELEASE(0);
    acquire_with_ticket(cluster, 1, 1000000, 1000);
    EXPECT_STATUS(1, REDLOCK_OK);

    const struct model_call *last[2] = { NULL, NULL };
    unsigned outdated = 0;
    for (size_t i = 0; i < NODE(0)->call_count; i++) {
        if (strcmp(NODE(0)->calls[i].name, "ACQUIRE") != 0) continue;
        outdated += NODE(0)->calls[i].outdated;
        last[0] = last[1];
        last[1] = &NODE(0)->calls[i];
    }
    CHECK_INT(outdated, 1);
    CHECK(last[0] && last[0]->outdated && last[1]->did);
}

TEST(a_kept_lock_is_held_beyond_its_TTL)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_OK);
    RUN_MS(5000);
    CHECK(cluster_valid_us(cluster, 0, 0) > 0);
}

/* The caller is made to have asked for less than the engine believes. */
TEST(an_engine_that_sleeps_through_what_it_was_asked_for_is_found_out)
{
    CLUSTER_OF(3, 1, config.retry_ms = 5000);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 10000);
    RUN_MS(100);
    cluster->clients[0].locks[0].waits_until = 0;
    cluster_cancel(cluster, 0, 1);
    TAP_CHECK(strstr(cluster->broken, "alarm: client 0"), "%s", cluster->broken);
}

TEST(a_kept_lock_that_nobody_wakes_for_is_found_out)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    cluster->clients[0].locks[0].is_kept = true;
    cluster_cancel(cluster, 0, 1);
    TAP_CHECK(strstr(cluster->broken, "alarm: client 0"), "%s", cluster->broken);
}

TAP_MAIN
