/* Fair locks as a node sees them (S24, S25). The scripts run poll by poll on a model node, which
 * tests/live/test_model.c holds against a server. The schedule that needs the number of the round
 * runs with engines. */
#include "../../world/story.h"

#include "../../../redlock/wire.h"

#include <stdio.h>

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccc"
#define TTL "10000"

enum { SECOND = 1000000 };

/* A node and a connection to it. */
struct talk {
    struct model_node node;
    struct model_session session;
    uint64_t now_us;
    char said[200];
};

static void begin(struct talk *talk)
{
    *talk = (struct talk){ .now_us = 1000 * (uint64_t)SECOND };
    model_node_init(&talk->node, 1, talk->now_us);
    talk->node.by_hand = true;
    model_session_begin(&talk->node, &talk->session);
}

static void end(struct talk *talk)
{
    CHECK_STR(talk->node.breach, "");
    model_session_end(&talk->session);
    model_node_free(&talk->node);
}

static size_t add_word(char *bytes, size_t used, size_t size, const char *word)
{
    return used + (size_t)snprintf(bytes + used, size - used, "$%zu\r\n%s\r\n", strlen(word), word);
}

/* It runs by its text, for "door". The node's answer, with its line ends as bars. */
static const char *run(struct talk *talk, const char *script, const char *const *words,
                       unsigned count)
{
    char bytes[4096];
    size_t used = (size_t)snprintf(bytes, sizeof bytes, "*%u\r\n", 4 + count), size;

    used = add_word(bytes, used, sizeof bytes, "EVAL");
    used = add_word(bytes, used, sizeof bytes, script);
    used = add_word(bytes, used, sizeof bytes, "1");
    used = add_word(bytes, used, sizeof bytes, "door");
    for (unsigned i = 0; i < count; i++) used = add_word(bytes, used, sizeof bytes, words[i]);
    talk->session.out.size = 0;
    model_session_receive(&talk->node, &talk->session, bytes, used, talk->now_us);
    size = talk->session.out.size < sizeof talk->said - 1 ? talk->session.out.size
                                                          : sizeof talk->said - 1;
    memcpy(talk->said, talk->session.out.data, size);
    talk->said[size] = '\0';
    for (char *at = talk->said; *at != '\0'; at++)
        if (*at == '\r' || *at == '\n') *at = '|';
    return talk->said;
}

static const char *poll_with(struct talk *talk, const char *token, const char *ttl_ms,
                             const char *ticket, const char *place)
{
    return run(talk, WIRE_FAIR_ACQUIRE_SCRIPT,
               (const char *const[]){ token, ttl_ms, ticket, "100000", "1", place }, 6);
}

static const struct model_call *last_call(const struct talk *talk)
{
    return &talk->node.calls[talk->node.call_count - 1];
}

#define RUN(script, ...) \
    run(&talk, script, (const char *const[]){ __VA_ARGS__ }, \
        sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *))
#define POLL(token, place) poll_with(&talk, token, TTL, "0", place)
#define POLL_AHEAD(token, place) poll_with(&talk, token, TTL, "9007199254740991", place)
#define EXPECT_GRANT(token, place) CHECK_STR(POLL(token, place), "+OK||")
#define EXPECT_REFUSAL(token, place, words) CHECK(strstr(POLL(token, place), "|" words "|"))
#define LEAVE(token) RUN(WIRE_FAIR_RELEASE_SCRIPT, token, "")
#define KEY(name) model_find(&talk.node, 0, name, strlen(name), talk.now_us)
#define EXPECT_VALUE(name, text) \
    CHECK(KEY(name) && strcmp((const char *)KEY(name)->value, text) == 0)
#define LEFT_MS(name) ((int64_t)KEY(name)->expires_ms - (int64_t)(talk.now_us / 1000))

/* ---- The queue ---- */

TEST(s25_a_free_key_is_for_whoever_comes_while_nobody_is_queued)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "0 1 0 ");
    EXPECT_VALUE("door", A);
    CHECK(!KEY("door#queue") && !KEY("door#lease"));
    EXPECT_REFUSAL(B, "0 1 0 ", "0 10000 0 -1");
    CHECK(!KEY("door#queue"));
    end(&talk);
}

TEST(s25_a_free_key_is_for_the_first_in_the_queue_alone)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "0 1 0 ");
    EXPECT_REFUSAL(B, "1 2 1 ", "0 10000 1 0");
    CHECK_STR(LEAVE(A), ":1||");
    EXPECT_REFUSAL(C, "0 1 0 ", "0 5000 1 -1");
    EXPECT_REFUSAL(C, "2 2 1 ", "0 5000 2 1");
    EXPECT_GRANT(B, "1 3 1 ");
    end(&talk);
}

TEST(turns_that_are_equal_are_ordered_by_the_tokens)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(C, "0 1 0 ");
    EXPECT_REFUSAL(B, "1 2 1 ", "0 10000 1 0");
    EXPECT_REFUSAL(A, "1 2 1 ", "0 10000 1 0");
    EXPECT_REFUSAL(B, "1 3 1 ", "0 10000 1 1");
    end(&talk);
}

TEST(a_node_takes_its_grant_back_from_a_client_that_is_no_longer_the_first)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(B, "1 2 1 ");
    EXPECT_REFUSAL(A, "1 2 1 ", "0 10000 1 0");
    EXPECT_REFUSAL(B, "1 3 1 ", "0 5000 1 1");
    CHECK(!KEY("door") && !KEY("door#grant"));
    EXPECT_GRANT(A, "1 3 1 ");
    end(&talk);
}

TEST(a_doorway_that_was_granted_gives_way_to_whoever_was_queued_meanwhile)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "0 1 0 ");
    EXPECT_REFUSAL(B, "1 2 1 ", "0 10000 1 0");
    EXPECT_REFUSAL(A, "0 2 0 ", "0 5000 1 -1");
    CHECK(!KEY("door"));
    end(&talk);
}

TEST(a_place_is_neither_taken_nor_renewed_by_a_client_that_reaches_a_minority)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "0 1 0 ");
    EXPECT_REFUSAL(B, "1 2 0 ", "0 10000 0 -1");
    EXPECT_REFUSAL(B, "1 3 1 ", "0 10000 1 0");
    talk.now_us += 4 * SECOND;
    EXPECT_REFUSAL(B, "1 4 0 ", "0 6000 1 0");
    talk.now_us += 1 * SECOND;
    EXPECT_REFUSAL(B, "1 5 0 ", "0 5000 0 -1");
    end(&talk);
}

TEST(a_place_that_was_not_renewed_ends_with_its_lease)
{
    struct talk talk;
    begin(&talk);
    EXPECT_REFUSAL(B, "7 1 0 ", "0 -2 0 -1");
    EXPECT_GRANT(A, "1 2 1 ");
    CHECK_STR(LEAVE(A), ":1||");
    EXPECT_GRANT(A, "1 3 1 ");
    talk.now_us += 3 * SECOND;
    EXPECT_REFUSAL(B, "2 3 1 ", "0 7000 2 1");
    talk.now_us += 2 * SECOND;
    EXPECT_REFUSAL(C, "0 1 0 ", "0 5000 2 -1");
    CHECK(KEY("door#queue")->entry_count == 1 && KEY("door#lease")->entry_count == 1);
    talk.now_us += 6 * SECOND;
    CHECK(!KEY("door#queue") && !KEY("door#lease") && !KEY("door"));
    end(&talk);
}

TEST(a_place_without_a_lease_holds_up_nobody)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "1 2 1 ");
    CHECK_STR(LEAVE(A), ":1||");
    EXPECT_REFUSAL(B, "2 2 0 ", "0 -2 0 -1");
    EXPECT_GRANT(A, "1 3 1 ");
    CHECK_STR(LEAVE(B), ":-1||");
    model_remove(&talk.node, "door#lease");
    EXPECT_REFUSAL(B, "2 3 1 ", "0 10000 2 0");
    end(&talk);
}

/* If clocks step by less than a lease it is waited for. */
TEST(a_lease_from_before_the_clock_stepped_back_holds_up_nobody)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "0 1 0 ");
    EXPECT_REFUSAL(B, "1 2 1 ", "0 10000 1 0");
    CHECK_STR(LEAVE(A), ":1||");
    talk.now_us -= 4 * SECOND;
    EXPECT_REFUSAL(C, "0 1 0 ", "0 9000 1 -1");
    talk.now_us -= 2 * SECOND;
    EXPECT_GRANT(C, "0 2 0 ");
    CHECK(!KEY("door#queue") && !KEY("door#lease"));
    EXPECT_REFUSAL(B, "1 3 1 ", "0 10000 1 0");
    end(&talk);
}

TEST(a_poll_sees_to_so_many_leases_from_before_a_step_and_no_more)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "0 1 0 ");
    for (unsigned i = 0; i < 70; i++) {
        char entry[8], place[16];
        snprintf(entry, sizeof entry, "%u", 10 + i);
        snprintf(place, sizeof place, "1 2 1 %s", entry);
        CHECK(strstr(POLL(B, place), "|0 10000 1 "));
    }
    CHECK_STR(LEAVE(A), ":1||");
    talk.now_us -= 3600 * (uint64_t)SECOND / 4;
    CHECK(strstr(POLL(C, "0 1 0 "), "|0 905000 1 -1|"));
    CHECK_INT(KEY("door#queue")->entry_count, 6);
    EXPECT_GRANT(C, "0 2 0 ");
    end(&talk);
}

TEST(a_ticket_that_is_too_small_costs_neither_the_place_nor_the_key)
{
    struct talk talk;
    begin(&talk);
    CHECK_STR(poll_with(&talk, A, TTL, "7", "1 1 1 "), "+OK||");
    CHECK(strstr(poll_with(&talk, A, TTL, "7", "1 2 1 "), "|7 -2 1 0|"));
    EXPECT_VALUE("door", A);
    CHECK_STR(poll_with(&talk, A, TTL, "8", "1 3 1 "), "+OK||");
    EXPECT_VALUE("door#ticket", "8");
    end(&talk);
}

/* It can be granted nothing, and at the head it would hold up all others. */
TEST(a_ticket_that_is_ahead_costs_the_place_and_the_key)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "0 1 0 ");
    EXPECT_REFUSAL(B, "1 2 1 ", "0 10000 1 0");
    EXPECT_REFUSAL(C, "2 2 1 ", "0 10000 2 1");
    CHECK(strncmp(POLL_AHEAD(B, "1 3 1 "), "-AHEAD", 6) == 0);
    CHECK_INT(KEY("door#queue")->entry_count, 1);
    CHECK_INT(KEY("door#lease")->entry_count, 1);
    CHECK_STR(LEAVE(A), ":1||");
    EXPECT_GRANT(C, "2 3 1 ");
    CHECK(strncmp(POLL_AHEAD(C, "2 2 1 "), "$", 1) == 0);       /* S24 */
    EXPECT_VALUE("door", C);
    CHECK(strncmp(POLL_AHEAD(C, "2 4 1 "), "-AHEAD", 6) == 0);
    CHECK_INT(talk.node.key_count, 0);
    end(&talk);
}

TEST(s7_no_command_shortens_the_key)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "0 1 0 ");
    CHECK_STR(poll_with(&talk, A, "100", "0", "0 2 0 "), "+OK||");
    CHECK_INT(LEFT_MS("door"), 10000);
    CHECK_STR(RUN(WIRE_FAIR_EXTEND_SCRIPT, A, "100"), ":1||");
    CHECK_STR(RUN(WIRE_FAIR_RESTORE_SCRIPT, A, "100", "0", "0", "0"), "+OK||");
    CHECK_INT(LEFT_MS("door"), 10000);
    CHECK_STR(RUN(WIRE_FAIR_EXTEND_SCRIPT, A, "20000"), ":1||");
    CHECK_INT(LEFT_MS("door"), 20000);
    CHECK_INT(LEFT_MS("door#grant"), 20000);
    end(&talk);
}

/* Its token ends like a fair lock's, so the grant would close the door to fair locks for a TTL. */
TEST(a_plain_locks_key_is_not_extended_as_a_fair_locks)
{
    struct talk talk;
    begin(&talk);
    (void)model_put(&talk.node, "door", A, 10000, talk.now_us);
    CHECK_STR(RUN(WIRE_FAIR_EXTEND_SCRIPT, A, "20000"), ":0||");
    CHECK_INT(LEFT_MS("door"), 10000);
    CHECK(!KEY("door#grant"));
    end(&talk);
}

TEST(s7_nothing_of_anothers_is_extended_set_again_or_removed)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "0 1 0 ");
    CHECK_STR(RUN(WIRE_FAIR_EXTEND_SCRIPT, B, TTL), ":0||");
    CHECK_STR(RUN(WIRE_FAIR_RESTORE_SCRIPT, B, TTL, "0", "0", "0"), "$5||taken||");
    CHECK_STR(LEAVE(B), ":-1||");
    EXPECT_VALUE("door", A);
    EXPECT_VALUE("door#grant", "1");
    end(&talk);
}

TEST(a_release_takes_what_is_there_by_the_token_whatever_the_entry)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "1 1 1 0123456789abcdef:7");
    EXPECT_REFUSAL(B, "2 1 1 0123456789abcdef:8", "0 10000 2 1");
    CHECK_STR(LEAVE(A), ":1||");
    CHECK(!KEY("door") && !KEY("door#grant"));
    CHECK_INT(KEY("door#queue")->entry_count, 1);
    CHECK_INT(KEY("door#lease")->entry_count, 1);
    CHECK_STR(LEAVE(B), ":0||");
    CHECK_INT(talk.node.key_count, 0);
    end(&talk);
}

/* It says no to commands that may need memory, unless the script has written something before. */
TEST(s24_a_node_that_is_out_of_memory_extends_and_releases_nevertheless)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(A, "1 1 1 0123456789abcdef:4");
    talk.node.condition = MODEL_OUT_OF_MEMORY;
    CHECK_STR(RUN(WIRE_FAIR_EXTEND_SCRIPT, A, "20000"), ":1||");
    CHECK_INT(LEFT_MS("door"), 20000);
    EXPECT_VALUE("door#grant", "9007199254740991");
    CHECK_INT(LEFT_MS("door#grant"), 20000);
    CHECK(*POLL(B, "0 1 0 ") == '$');
    CHECK_STR(LEAVE(A), ":1||");
    CHECK(strncmp(POLL(B, "0 2 0 "), "-OOM", 4) == 0);
    end(&talk);
}

/* Lua does not roll back, so changes made before a command was refused end by themselves. */
TEST(where_an_acl_lacks_a_command_nothing_stays_for_ever)
{
    static const char *const commands[] = {
        "GET", "SET", "DEL", "PTTL", "TIME", "ZADD", "ZREM", "ZSCORE", "ZRANK", "ZRANGE",
        "ZREVRANGE", "ZRANGEBYSCORE", "ZPOPMIN", "PEXPIRE", "PUBLISH"
    };
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct talk talk;
        unsigned refused = 0;
        begin(&talk);
        talk.node.noperm = commands[i];
        TAP_CONTEXT("without %s", commands[i]);
        refused += *POLL(A, "0 1 0 ") == '-';
        refused += *poll_with(&talk, B, TTL, "1", "1 2 1 0123456789abcdef:4") == '-';
        refused += *RUN(WIRE_FAIR_EXTEND_SCRIPT, A, "20000") == '-';
        refused += *RUN(WIRE_FAIR_RESTORE_SCRIPT, A, "20000", "1", "100000", "1") == '-';
        refused += *RUN(WIRE_FAIR_RELEASE_SCRIPT, A, "", "1") == '-';
        refused += *poll_with(&talk, B, TTL, "5", "1 3 1 0123456789abcdef:4") == '-';
        refused += *POLL(A, "1 3 1 ") == '-';
        talk.now_us += 6 * SECOND;
        refused += *POLL(C, "2 1 1 ") == '-';
        /* Errors in redis.pcall() are ignored. */
        CHECK(refused > 0 || strstr("ZREM ZPOPMIN PUBLISH", commands[i]));
        for (size_t j = 0; j < talk.node.key_count; j++) CHECK(talk.node.keys[j].expires_ms > 0);
        end(&talk);
    }
}

/* The simulator counts from then on how long a place is waited for. */
TEST(the_log_has_no_place_that_a_node_refused_to_give)
{
    struct talk talk;
    begin(&talk);
    talk.node.noperm = "PEXPIRE";
    CHECK(*POLL(A, "1 2 1 ") == '-');
    CHECK(!last_call(&talk)->queued && !last_call(&talk)->joined);
    talk.node.noperm = NULL;
    EXPECT_GRANT(A, "1 3 1 ");
    CHECK(last_call(&talk)->queued && last_call(&talk)->joined);
    EXPECT_GRANT(A, "1 4 1 ");
    CHECK(last_call(&talk)->queued && !last_call(&talk)->joined);
    end(&talk);
}

/* ---- S24: rounds ---- */

TEST(s24_a_poll_of_an_older_round_changes_nothing)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(B, "1 5 1 ");
    EXPECT_REFUSAL(A, "1 2 1 ", "0 10000 1 0");
    talk.now_us += 1 * SECOND;
    EXPECT_REFUSAL(B, "1 4 1 ", "0 4000 1 -2");
    EXPECT_REFUSAL(B, "0 1 0 ", "0 4000 1 -2");
    EXPECT_VALUE("door", B);
    EXPECT_VALUE("door#grant", "5");
    CHECK_INT(LEFT_MS("door"), 9000);
    end(&talk);
}

TEST(s24_an_extension_makes_every_poll_an_old_one)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(B, "1 5 1 ");
    EXPECT_REFUSAL(A, "1 2 1 ", "0 10000 1 0");
    CHECK_STR(RUN(WIRE_FAIR_EXTEND_SCRIPT, B, TTL), ":1||");
    EXPECT_REFUSAL(B, "1 6 1 ", "0 5000 1 -2");
    EXPECT_VALUE("door", B);
    end(&talk);
}

TEST(s24_a_key_that_was_set_again_is_given_away_by_no_poll)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(B, "1 5 1 ");
    CHECK_STR(RUN(WIRE_FAIR_RESTORE_SCRIPT, B, TTL, "0", "0", "0"), "+OK||");
    EXPECT_REFUSAL(A, "1 2 1 ", "0 10000 1 0");
    EXPECT_REFUSAL(B, "1 6 1 ", "0 5000 1 -2");
    EXPECT_VALUE("door", B);
    end(&talk);
}

TEST(s24_where_nobody_knows_in_which_round_a_key_was_granted_every_poll_is_old)
{
    struct talk talk;
    begin(&talk);
    EXPECT_GRANT(B, "1 5 1 ");
    model_remove(&talk.node, "door#grant");
    EXPECT_REFUSAL(B, "1 9 1 ", "0 -2 1 -2");
    EXPECT_VALUE("door", B);
    end(&talk);
}

/* ---- With engines ---- */

static void start(struct cluster *cluster, unsigned client)
{
    struct redlock_request request = story_request("door", 20000, 60000);

    request.kind = &redlock_fair;
    CHECK_INT(cluster_acquire(cluster, client, 0, &request), REDLOCK_OK);
}

/* The first client's doorway to node 1 is on its way for long, and its connection breaks. It comes
 * back, and a later round is granted by nodes 0 and 1. Then the second client is queued; and then
 * the late poll arrives, which says that the first one is not the head. Without the number of the
 * round node 1 would give the key away, and nodes 1 and 2 make a second holder. */
TEST(s24_a_late_poll_gives_no_key_away_and_so_makes_no_second_holder)
{
    CLUSTER_OF(3, 2, config.node_timeout_ms = 1000);
    cluster_cut(cluster, 0, 2, false);
    start(cluster, 0);
    RUN_US(150);
    CHECK_INT(CALLS(1, "EVALSHA"), 1);
    LINK(0, 1)->delay_us = 3 * SECOND;      /* That is for the text of the script from now on. */
    RUN_MS(100);
    CHECK_INT(CALLS(0, "ACQUIRE"), 1);
    CHECK_INT(CALLS(1, "ACQUIRE"), 0);
    cluster_reset(cluster, 0, 1, true);
    LINK(0, 1)->delay_us = 100;
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    const unsigned polls = CALLS(1, "ACQUIRE");
    start(cluster, 1);
    RUN_MS(1000);
    CHECK(CALLS(1, "ACQUIRE") > polls);
    CHECK_STR(cluster_key(cluster, 1, "door"), cluster_key(cluster, 0, "door"));
    RUN_MS(4000);
    CHECK_STR(cluster_key(cluster, 1, "door"), cluster_key(cluster, 0, "door"));
    EXPECT_HELD(0);
    EXPECT_NOT_HELD(1);
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* The same holds for any lock, see retry_begin. A round takes 100 ms here, and 100 more for the
 * text of the script. The third would come 50 ms after the second. */
TEST(s14_the_last_round_of_a_fair_lock_comes_no_sooner_than_the_one_before_took)
{
    struct redlock_request request = story_request("door", 20000, 350);

    request.kind = &redlock_fair;
    CLUSTER_OF(1, 1, config.node_timeout_ms = 1000);
    RIVAL_ON_ALL("door", 60000);
    DELAY_ALL_US(50000);
    RUN_MS(1000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TIMEOUT);
    RUN_MS(1000);
    CHECK_INT(CALLS(0, "ACQUIRE"), 2);
    CHECK(IDLE(0));
}

TAP_MAIN
