/* S23: durable nodes, and the canary that identifies them. The guard is GUARD_MS, and for tickets 2
 * SKEW_MS more. */
#include "../../world/story.h"

enum {
    N = 3,
    GUARD_MS = 30000,
    SKEW_MS = 10000,
    FULL_MS = GUARD_MS + 2 * SKEW_MS,
    TTL_MS = 10000,
    SETTLE_MS = 3500
};

static const char canary[] = "0123456789abcdef0123456789abcdef01234567",
                  another[] = "76543210fedcba9876543210fedcba9876543210";

#define ALL ((1u << N) - 1)
#define CANARY REDLOCK_CANARY

/* All nodes are declared durable, have run for 1000 s and have a canary already. */
#define DURABLE_OF(clients, ...) \
    CLUSTER_COLD(N, clients, config.guard_ms = GUARD_MS; config.ticket_skew_ms = SKEW_MS; \
                 __VA_ARGS__); \
    cluster_declare_durable(cluster, ALL)
#define PUT_CANARY(k, value) \
    (void)model_put(NODE(k), CANARY, (value), 0, cluster_node_now(cluster, (k)))
#define DURABLE(clients)                                       \
    DURABLE_OF(clients, (void)0);                              \
    STORY_NODES PUT_CANARY(story_k, canary);                   \
    RUN_MS(STORY_SETTLE_MS)

#define MEMORY(client, k) cluster->clients[client].durable.canaries[(k)].memory
#define GIVES_TICKETS(client, k) \
    redlock_view_node(ENGINE(client), (k), CLIENT_NOW(client)).gives_tickets

/* Time for the connection to be made anew, and for the steps after it. */
#define SETTLE RUN_MS(SETTLE_MS)

static void restart(struct cluster *cluster, unsigned k, bool keeps)
{
    DOWN(k);
    RUN_MS(100);
    if (keeps) UP_KEEPING(k);
    else       UP(k);
    SETTLE;
}

/* ---- The canary ---- */

TEST(s23_the_first_client_for_which_a_node_has_a_full_vote_sets_a_canary_and_all_learn_it)
{
    DURABLE_OF(3, (void)0);
    RUN_MS(1000);
    for (unsigned k = 0; k < N; k++) {
        CHECK(cluster_key(cluster, k, CANARY) &&
              strlen(cluster_key(cluster, k, CANARY)) == REDLOCK_TOKEN_TEXT);
        CHECK_INT(model_find(NODE(k), 0, CANARY, strlen(CANARY), cluster_node_now(cluster, k))
                      ->expires_ms,
                  0);
        for (unsigned c = 0; c < 3; c++) CHECK_INT(MEMORY(c, k), REDLOCK_MEMORY_KEPT);
    }
    restart(cluster, 1, true);
    for (unsigned c = 0; c < 3; c++) CHECK(VOTES(c, 1));
}

TEST(s23_a_canary_that_was_set_is_not_asked_for)
{
    DURABLE_OF(1, (void)0);
    RUN_MS(1000);
    CHECK_INT(CALLS(0, "SET"), 1);
    CHECK_INT(CALLS(0, "GET"), 1);      /* In the handshake. */
}

TEST(s23_no_canary_is_set_within_the_guard_and_none_on_locks_that_have_no_tickets_yet)
{
    DURABLE_OF(1, (void)0);
    DOWN(0);
    UP(0);      /* Just started, and empty. */
    RUN_MS(FULL_MS - 3000);
    ACQUIRE(0, "door", TTL_MS);
    RELEASE(0);
    RUN_MS(1000);
    CHECK(VOTES(0, 0) && !GIVES_TICKETS(0, 0));
    EXPECT_KEY_ABSENT(0, CANARY);
    CHECK(cluster_key(cluster, 1, CANARY) != NULL);
    RUN_MS(5000);
    ACQUIRE(0, "door", TTL_MS);
    SETTLE;
    CHECK(cluster_key(cluster, 0, CANARY) != NULL);
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
}

TEST(s23_without_a_guard_no_canary_is_set)
{
    DURABLE_OF(1, config.guard_ms = 0);
    RUN_MS(1000);
    EXPECT_KEYS(CANARY, 0);
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_NONE);
}

TEST(s23_nodes_that_are_not_declared_durable_are_not_asked)
{
    CLUSTER_COLD(N, 1, (void)0);
    cluster_declare_durable(cluster, 1);
    RUN_MS(1000);
    CHECK(cluster_key(cluster, 0, CANARY) != NULL);
    EXPECT_KEYS(CANARY, 1);
    CHECK_INT(CALLS(1, "GET"), 0);
    CHECK_INT(MEMORY(0, 1), REDLOCK_MEMORY_UNKNOWN);
    DOWN(1);
    UP_KEEPING(1);
    SETTLE;
    CHECK(!VOTES(0, 1));
}

static enum redlock_status acquire_by_name(struct cluster *cluster, unsigned client,
                                           const char *name)
{
    struct redlock_request request = story_request(name, TTL_MS, 0);

    request.ticket = true;
    return cluster_acquire(cluster, client, 0, &request);
}

/* Its value would be taken for a canary, its end for a memory that was lost, and the canary for a
 * lock that never ends. */
TEST(s23_no_lock_has_the_name_of_the_canary_nor_one_that_keeps_something_there)
{
    DURABLE(1);
    CHECK_INT(acquire_by_name(cluster, 0, CANARY), REDLOCK_BAD_RESOURCE);
    CHECK_INT(acquire_by_name(cluster, 0, "redlock:canary#done"), REDLOCK_BAD_RESOURCE);
    CHECK_INT(acquire_by_name(cluster, 0, "redlock:canary"), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(5);
    STORY_NODES CHECK_STR(cluster_key(cluster, story_k, CANARY), canary);
    for (unsigned k = 0; k < N; k++) restart(cluster, k, true);
    for (unsigned k = 0; k < N; k++) CHECK(VOTES(0, k) && MEMORY(0, k) == REDLOCK_MEMORY_KEPT);
}

TEST(s23_a_key_that_holds_something_else_is_no_canary_and_stays)
{
    DURABLE_OF(1, (void)0);
    PUT_CANARY(0, "0123456789abcdef0123456789abcdef0123456");
    PUT_CANARY(1, "0123456789ABCDEF0123456789ABCDEF01234567");
    PUT_CANARY(2, "0123456789abcdef0123456789abcdef01234567.");
    SETTLE;
    for (unsigned k = 0; k < N; k++) {
        CHECK_INT(MEMORY(0, k), REDLOCK_MEMORY_NONE);
        CHECK(VOTES(0, k));
        restart(cluster, k, true);
        CHECK(!VOTES(0, k));
    }
}

/* It begins like an error after which a node is asked again. */
TEST(s23_a_key_that_holds_the_text_of_an_error_is_no_canary)
{
    DURABLE_OF(1, (void)0);
    PUT_CANARY(0, "LOADING Redis is loading the dataset in memory");
    SETTLE;
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_NONE);
}

/* ---- Each row of the table ---- */

TEST(s23_at_the_first_contact_a_canary_is_believed)
{
    DURABLE_OF(1, (void)0);
    for (unsigned k = 0; k < N; k++) {
        PUT_CANARY(k, canary);
        DOWN(k);
        UP_KEEPING(k);      /* Up for no time at all. */
    }
    RUN_MS(STORY_SETTLE_MS);
    for (unsigned k = 0; k < N; k++) CHECK(VOTES(0, k) && GIVES_TICKETS(0, k));
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s23_at_the_first_contact_a_node_without_a_canary_is_as_any_other)
{
    DURABLE_OF(1, (void)0);
    DOWN(0);
    UP(0);
    RUN_MS(STORY_SETTLE_MS);
    CHECK(!VOTES(0, 0) && VOTES(0, 1));
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_RESTARTED);
    EXPECT_WORDS(0, 0, "restarted ");
}

TEST(s23_a_node_that_comes_back_with_the_canary_that_was_known_votes_at_once)
{
    DURABLE(1);
    ACQUIRE(0, "door", TTL_MS);
    for (unsigned k = 0; k < N; k++) DOWN(k);
    RUN_MS(1000);
    for (unsigned k = 0; k < N; k++) UP_KEEPING(k);
    SETTLE;
    for (unsigned k = 0; k < N; k++) CHECK(VOTES(0, k) && GIVES_TICKETS(0, k));
    EXTEND(0, TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* The rest of the time is the pause before the connection is made anew, and the one before
 * the next attempt. */
TEST(s30_the_canary_of_a_promoted_server_says_nothing)
{
    DURABLE_OF(1, (void)0);
    RUN_MS(1000);
    CHECK(cluster_key(cluster, 1, CANARY) != NULL);
    cluster_node_down(cluster, 1);
    RUN_MS(100);
    /* Its replica, which had the canary, and not the last writes. */
    cluster_node_up(cluster, 1, true);
    NODE(1)->second_offset = 1729;
    SETTLE;
    CHECK(!VOTES(0, 1));
    RUN_MS(FULL_MS);
    CHECK(VOTES(0, 1));
}

TEST(s30_a_canary_is_no_reason_to_believe_the_uptime_of_a_promoted_server)
{
    DURABLE_OF(1, (void)0);
    STORY_NODES PUT_CANARY(story_k, canary);
    NODE(1)->second_offset = 1729;
    RUN_MS(STORY_SETTLE_MS);
    CHECK(VOTES(0, 0) && !VOTES(0, 1) && VOTES(0, 2));
    RUN_MS(FULL_MS);
    CHECK(VOTES(0, 1));
}

TEST(s23_a_client_that_waits_has_the_lock_within_a_second_of_the_moment_when_a_majority_is_back)
{
    unsigned ms = 0;

    for (unsigned i = 0; i < 40; i++) {
        TAP_CONTEXT("time %u", i);
        DURABLE_OF(1, config.wake_ups = i % 2);
        STORY_NODES PUT_CANARY(story_k, canary);
        RUN_MS(STORY_SETTLE_MS);
        DOWN(0); DOWN(1);
        START_ACQUIRE(0, "door", TTL_MS, 60000);
        RUN_MS(16000 + 137 * i);
        EXPECT_STATUS(0, REDLOCK_PENDING);
        UP_KEEPING(0); UP_KEEPING(1);
        for (ms = 0; ms < 10000 && VALID_US(0) == 0; ms++) RUN_MS(1);
        TAP_CHECK(ms < 1000, "%u ms", ms);
    }
}

TEST(s23_a_node_that_comes_back_empty_begins_the_full_guard_and_that_is_told)
{
    struct redlock_event_ring events;
    struct redlock_event ring[16], event;
    unsigned emptied = 0;
    DURABLE(1);
    redlock_use_events(ENGINE(0), &events, ring, 16);
    events.kinds = REDLOCK_EVENT_BIT(REDLOCK_EVENT_EMPTIED);
    restart(cluster, 2, false);
    CHECK(!VOTES(0, 2) && VOTES(0, 1));
    CHECK_INT(MEMORY(0, 2), REDLOCK_MEMORY_LOST);
    EXPECT_WORDS(0, 2, "came back empty ");
    EXPECT_WORDS(0, 2, " s ago, no vote for another ");
    while (redlock_next_event(&events, &event)) emptied += event.session == 2;
    CHECK_INT(emptied, 1);
    RESET(0, 2);
    SETTLE;
    /* It is reported once, but does not become another trouble. */
    EXPECT_WORDS(0, 2, "came back empty ");
    CHECK(!redlock_next_event(&events, &event));
    redlock_use_events(ENGINE(0), NULL, NULL, 0);
    RUN_MS(GUARD_MS - 4 * SETTLE_MS);
    CHECK(!VOTES(0, 2));
    RUN_MS(4 * SETTLE_MS);
    CHECK(VOTES(0, 2));
    RUN_MS(FULL_MS - GUARD_MS);
    ACQUIRE(0, "door", TTL_MS);
    SETTLE;
    CHECK_INT(MEMORY(0, 2), REDLOCK_MEMORY_KEPT);
    restart(cluster, 2, true);
    CHECK(VOTES(0, 2));
}

TEST(s23_a_node_that_comes_back_with_another_canary_begins_the_full_guard)
{
    DURABLE(1);
    DOWN(0);
    UP(0);
    PUT_CANARY(0, another);     /* Another durable server has its name. */
    SETTLE;
    CHECK(!VOTES(0, 0));
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_LOST);
    restart(cluster, 0, true);  /* The canary is known by now, so the guard of before goes on. */
    CHECK(!VOTES(0, 0));
    RUN_MS(GUARD_MS);
    CHECK(VOTES(0, 0));
}

TEST(s23_a_canary_that_was_not_known_before_a_restart_says_nothing)
{
    DURABLE_OF(1, (void)0);
    NODE(0)->noperm = "SET";
    RUN_MS(STORY_SETTLE_MS);
    CHECK(VOTES(0, 0));
    NODE(0)->noperm = NULL;
    DOWN(0);
    UP(0);
    PUT_CANARY(0, canary);
    SETTLE;
    CHECK(!VOTES(0, 0));
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
    restart(cluster, 0, true);
    CHECK(!VOTES(0, 0));
}

TEST(s23_a_node_that_was_flushed_begins_the_full_guard_when_that_is_seen_and_that_is_told)
{
    struct redlock_event_ring events;
    struct redlock_event ring[16], event;
    DURABLE(1);
    redlock_use_events(ENGINE(0), &events, ring, 16);
    events.kinds = REDLOCK_EVENT_BIT(REDLOCK_EVENT_EMPTIED);
    RESET(0, 1);        /* It has kept its memory. */
    REMOVE_KEYS(0);
    CHECK(VOTES(0, 0));
    RESET(0, 0);
    SETTLE;
    CHECK(!VOTES(0, 0));
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_FLUSHED);
    EXPECT_WORDS(0, 0, "was emptied ");
    CHECK(redlock_next_event(&events, &event) && event.session == 0);
    CHECK(!redlock_next_event(&events, &event));
    redlock_use_events(ENGINE(0), NULL, NULL, 0);
    RESET(0, 0);
    SETTLE;
    CHECK(!VOTES(0, 0));
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_FLUSHED);
    RUN_MS(GUARD_MS);
    CHECK(VOTES(0, 0));
}

TEST(s23_a_node_whose_canary_has_become_another_was_flushed)
{
    DURABLE(1);
    REMOVE_KEYS(0);
    PUT_CANARY(0, another);
    RESET(0, 0);
    SETTLE;
    CHECK(!VOTES(0, 0));
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_FLUSHED);
    RUN_MS(GUARD_MS);
    RESET(0, 0);
    SETTLE;
    CHECK(VOTES(0, 0));
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
}

TEST(s23_a_connection_that_is_made_anew_changes_nothing)
{
    DURABLE(1);
    for (unsigned i = 0; i < 3; i++) {
        RESET(0, 0);
        SETTLE;
        CHECK(VOTES(0, 0) && GIVES_TICKETS(0, 0));
        CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
    }
    CHECK_INT(CALLS(0, "SET"), 0);
}

/* The same server, with its canary, votes in the round that waits for its connection. */
TEST(s23_a_connection_that_is_made_anew_costs_no_vote)
{
    DURABLE(1);
    RIVAL(2, "door", TTL_MS);
    cluster_reset(cluster, 0, 1, false);
    RUN_US(CLUSTER_DELAY_US + 1);
    START_ACQUIRE(0, "door", TTL_MS, 0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_GRANTED);
}

/* S12: a vote that the server may have had in this round, before it restarted, does
 * not count twice. */
TEST(s23_a_node_that_comes_back_with_its_memory_counts_from_the_next_round_on)
{
    DURABLE(1);
    STALL(1);
    STALL(2);
    START_ACQUIRE(0, "door", TTL_MS, 0);
    RUN_MS(1);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
    DOWN(1);
    UP_KEEPING(1);
    HEAL(1);
    RUN_MS(100);
    CHECK(VOTES(0, 1));
    CHECK(redlock_vote_of(LOCK(0), 1) != REDLOCK_VOTE_GRANTED);
    UNTIL_DONE(0);
    HEAL_ALL;
    SETTLE;
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_GRANTED);
}

/* ---- What a node refuses, half an answer, none ---- */

TEST(s23_a_node_that_hides_its_canary_is_as_any_other)
{
    DURABLE_OF(1, (void)0);
    NODE(1)->noperm = "GET";
    NODE(2)->noperm = "SET";
    RUN_MS(STORY_SETTLE_MS);
    CHECK_INT(MEMORY(0, 1), REDLOCK_MEMORY_HIDDEN);
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
    CHECK(VOTES(0, 1) && VOTES(0, 2));
    RUN_MS(1000);
    CHECK_INT(MEMORY(0, 2), REDLOCK_MEMORY_HIDDEN);
    restart(cluster, 1, true);
    restart(cluster, 2, true);
    CHECK(!VOTES(0, 1) && !VOTES(0, 2));
    EXPECT_WORDS(0, 1, "as its redlock:canary is hidden");
    NODE(1)->noperm = NULL;
    RESET(0, 1);
    SETTLE;
    CHECK_INT(MEMORY(0, 1), REDLOCK_MEMORY_NONE);
    CHECK(!VOTES(0, 1));
}

/* It may have been another one meanwhile. */
TEST(s23_a_canary_that_was_hidden_is_no_longer_known)
{
    DURABLE(1);
    restart(cluster, 0, true);
    CHECK(VOTES(0, 0) && MEMORY(0, 0) == REDLOCK_MEMORY_KEPT);
    NODE(1)->noperm = "GET";
    RESET(0, 1);
    SETTLE;
    CHECK_INT(MEMORY(0, 1), REDLOCK_MEMORY_HIDDEN);
    NODE(1)->noperm = NULL;
    restart(cluster, 1, true);
    CHECK(!VOTES(0, 1));
    CHECK_INT(MEMORY(0, 1), REDLOCK_MEMORY_KEPT);
}

TEST(s23_an_answer_that_is_no_canary_and_no_error_ends_the_connection)
{
    static const char *const answers[] = { ":1\r\n", "+OK\r\n", "*0\r\n" };
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        DURABLE(1);
        ANSWERS(0, "GET", answers[i]);
        RESET(0, 0);
        SETTLE;
        CHECK(!VOTES(0, 0));
        EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_PROTOCOL);
        ANSWERS_AS_EVER(0);
        SETTLE;
        CHECK(VOTES(0, 0));
    }
}

TEST(s23_a_node_that_cannot_tell_now_is_asked_again)
{
    DURABLE(1);
    ANSWERS_ONCE(0, "GET", "-LOADING Redis is loading the dataset in memory\r\n");
    RESET(0, 0);
    SETTLE;
    CHECK(VOTES(0, 0));
    CHECK_INT(CALLS(0, "GET"), 3);
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
}

/* After each byte of the handshake of a node that comes back, empty or not. */
TEST(s23_a_handshake_that_breaks_off_changes_nothing)
{
    for (unsigned keeps = 0; keeps < 2; keeps++) {
        for (size_t after = 0; after < 900; after += 7) {
            DURABLE(1);
            DOWN(0);
            if (keeps) UP_KEEPING(0);
            else       UP(0);
            LINK(0, 0)->to_client = (struct cluster_sever){ true, after };
            SETTLE;
            TAP_CONTEXT("%zu bytes of a server that %s", after, keeps ? "remembers" : "is empty");
            CHECK_INT(VOTES(0, 0), keeps);
            CHECK_INT(MEMORY(0, 0), keeps ? REDLOCK_MEMORY_KEPT : REDLOCK_MEMORY_LOST);
        }
    }
}

/* The connection breaks around the SET of the canary; a SET that was not sent must not be sent to a
 * server that is empty. */
TEST(s23_a_canary_that_is_not_answered_is_set_again_by_the_next_connection_if_it_may_be)
{
    for (unsigned keeps = 0; keeps < 2; keeps++) {
        for (uint64_t us = 0; us < 1200; us += 50) {
            DURABLE_OF(1, (void)0);
            DELAY_ALL_US(100);
            RUN_US(us);
            DOWN(0);
            if (keeps) UP_KEEPING(0);
            else       UP(0);
            SETTLE;
            TAP_CONTEXT("%u us, %s", (unsigned)us, keeps ? "with its memory" : "empty");
            if (!keeps) EXPECT_KEY_ABSENT(0, CANARY);
            RUN_MS(FULL_MS);
            ACQUIRE(0, "door", TTL_MS);
            RUN_MS(1000);
            CHECK(cluster_key(cluster, 0, CANARY) != NULL);
            CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
        }
    }
}

/* It waits behind questions that have used up what the node may owe. The server returns empty
 * before it is sent. */
TEST(s23_a_canary_that_was_not_sent_is_not_set_on_a_server_that_returns_empty)
{
    static const struct redlock_name ping = { .bytes = "PING", .size = 4 };
    static struct redlock_question questions[2 * REDLOCK_PIPELINE];
    DURABLE_OF(1, (void)0);
    ANSWERS(0, "PING", "+PONG\r\n");
    for (unsigned i = 0; i < 2 * REDLOCK_PIPELINE; i++)
        CHECK_INT(redlock_ask(ENGINE(0), &questions[i], 0, &ping, 1, NULL, 0, CLIENT_NOW(0)),
                  REDLOCK_OK);
    while (cluster->clients[0].durable.canaries[0].question.status != REDLOCK_PENDING)
        CHECK(cluster_step(cluster, cluster->now_us + 1000000));
    CHECK_INT(CALLS(0, "SET"), 0);
    DOWN(0);
    UP(0);
    SETTLE;
    CHECK_INT(questions[2 * REDLOCK_PIPELINE - 1].status, REDLOCK_OK);
    EXPECT_KEY_ABSENT(0, CANARY);
    CHECK(!VOTES(0, 0));
}

/* Another client has set it. The answer to the question for it comes in pieces. */
TEST(s23_a_canary_that_comes_in_pieces_is_known)
{
    DURABLE_OF(2, (void)0);
    for (unsigned c = 0; c < 2; c++) LINK(c, 0)->receive_max = 10;
    RUN_MS(1000);
    for (unsigned c = 0; c < 2; c++) CHECK_INT(MEMORY(c, 0), REDLOCK_MEMORY_KEPT);
    CHECK_INT(CALLS(0, "GET"), 3);
}

/* The pieces that there is room for have as many bytes as a canary. */
TEST(s23_a_key_that_begins_like_a_canary_and_is_longer_is_none)
{
    DURABLE_OF(1, (void)0);
    PUT_CANARY(0, "0123456789abcdef0123456789abcdef0123456789abcdef01");
    LINK(0, 0)->receive_max = 9;
    RUN_MS(1000);
    CHECK_INT(CALLS(0, "GET"), 2);
    CHECK(cluster->clients[0].durable.canaries[0].question.is_cut);
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_NONE);
}

/* The caller comes to read it only when the server has returned empty. */
TEST(s23_an_answer_of_an_earlier_connection_makes_no_canary_known)
{
    DURABLE_OF(1, (void)0);
    const struct redlock_canary *own = &cluster->clients[0].durable.canaries[0];
    while (own->question.status != REDLOCK_PENDING)
        CHECK(cluster_step(cluster, cluster->now_us + 1000000));
    cluster->durables = 0;      /* Nobody tends them now. */
    RUN_MS(5);
    CHECK_INT(own->question.status, REDLOCK_OK);
    DOWN(0);
    UP(0);
    SETTLE;
    cluster->durables = ALL;
    ACQUIRE(0, "door", TTL_MS);
    CHECK(!VOTES(0, 0));
    CHECK(!own->is_known && own->memory != REDLOCK_MEMORY_KEPT);
}

TEST(s23_a_canary_that_is_gone_when_it_is_asked_for_is_set_by_the_next_connection)
{
    DURABLE_OF(1, (void)0);
    ANSWERS_ONCE(0, "SET", "$-1\r\n");
    RUN_MS(1000);
    CHECK_INT(CALLS(0, "GET"), 2);      /* Once in the handshake, and once for this. */
    EXPECT_KEY_ABSENT(0, CANARY);
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_NONE);
    RESET(0, 0);
    SETTLE;
    CHECK(cluster_key(cluster, 0, CANARY) != NULL);
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
}

TEST(s23_without_random_bytes_no_canary_is_set)
{
    DURABLE_OF(1, (void)0);
    cluster_client_returns(cluster, 0);
    cluster->clients[0].starved = true;
    cluster->clients[0].engine.entropy_size = 0;
    RUN_MS(1000);
    EXPECT_KEYS(CANARY, 0);
    cluster->clients[0].starved = false;
    ACQUIRE(0, "door", TTL_MS);
    RUN_MS(1000);
    EXPECT_KEYS(CANARY, N);
}

TEST(s23_subscriptions_do_not_ask_for_it)
{
    DURABLE_OF(2, config.wake_ups = true);
    for (unsigned k = 0; k < N; k++) PUT_CANARY(k, canary);
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", TTL_MS);
    START_ACQUIRE(1, "door", TTL_MS, 5000);
    RUN_MS(1000);
    for (unsigned k = 0; k < N; k++) CHECK_INT(CALLS(k, "GET"), 2);
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* A server that nobody can identify has no guard (S12). */
TEST(s23_a_server_that_does_not_say_who_it_is_gets_no_canary)
{
    DURABLE_OF(1, config.trust_unknown = true);
    for (unsigned k = 0; k < N; k++) NODE(k)->noperm = "INFO";
    RUN_MS(1000);
    EXPECT_KEYS(CANARY, 0);
    CHECK(VOTES(0, 0));
}

TEST(s23_what_a_server_that_no_longer_says_who_it_is_has_lost_is_not_judged)
{
    DURABLE_OF(1, config.trust_unknown = true);
    RUN_MS(1000);
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
    NODE(0)->noperm = "INFO";
    REMOVE_KEYS(0);
    RESET(0, 0);
    SETTLE;
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
    NODE(0)->noperm = NULL;
    RESET(0, 0);
    SETTLE;
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_FLUSHED);
}

TEST(s23_a_node_without_scripts_may_be_durable)
{
    DURABLE_OF(1, (void)0);
    NODE(0)->noperm = "EVAL EVALSHA SCRIPT";
    NODE(0)->newer = "DELEX IFEQ";
    RUN_MS(1000);
    CHECK(VOTES(0, 0));
    CHECK_INT(MEMORY(0, 0), REDLOCK_MEMORY_KEPT);
}

/* Without tickets, sets and wake-ups, and with the texts of scripts at hand. */
TEST(s23_firmware_may_use_it_alone)
{
    DURABLE_OF(1, (void)0);
    cluster_client_is_plain(cluster, 0);
    for (unsigned k = 0; k < N; k++) PUT_CANARY(k, canary);
    RUN_MS(STORY_SETTLE_MS);
    restart(cluster, 0, true);
    CHECK(VOTES(0, 0));
    ACQUIRE(0, "door", TTL_MS);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(s23_without_the_part_the_declaration_means_nothing)
{
    CLUSTER_COLD(N, 1, (void)0);
    for (unsigned k = 0; k < N; k++) {
        const struct redlock_login login = { .durable = true };
        CHECK_INT(redlock_set_login(ENGINE(0), k, &login), REDLOCK_OK);
        PUT_CANARY(k, canary);
    }
    RUN_MS(STORY_SETTLE_MS);
    restart(cluster, 0, true);
    CHECK(!VOTES(0, 0));
    CHECK_INT(CALLS(0, "GET"), 0);
}

TAP_MAIN
