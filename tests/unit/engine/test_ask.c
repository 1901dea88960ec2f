/* Questions to a node that belong to no lock. */
#include "../../world/story.h"

#include "../../../redlock/node.h"

enum { N = 5, BUFFER_SIZE = 4096, MANY = 100, TIMEOUTS_MS = 4 * REDLOCK_NODE_TIMEOUT_MS };

static uint8_t buffer[BUFFER_SIZE];

#define WORD(text) { .bytes = text, .size = sizeof text - 1 }

static const struct redlock_name ping[] = { WORD("PING") };
static const struct redlock_name info[] = { WORD("INFO"), WORD("server") };

static enum redlock_status ask(struct cluster *cluster, struct redlock_question *question,
                               unsigned k, const struct redlock_name *arguments, unsigned count)
{
    return redlock_ask(ENGINE(0), question, k, arguments, count, buffer, sizeof buffer,
                       CLIENT_NOW(0));
}

#define ASK(question, k, ...) \
    do { \
        static const struct redlock_name story_words[] = { __VA_ARGS__ }; \
        CHECK_INT(ask(cluster, (question), (k), story_words, \
                      sizeof story_words / sizeof story_words[0]), \
                  REDLOCK_OK); \
    } while (0)

#define EXPECT_QUESTION(question, expected) \
    CHECK_STR(redlock_status_text((question)->status), redlock_status_text(expected))

/* The present part of the reply as a text, "*2 +a :7 ". Each item has its depth in front if that is
 * not 0. */
static const char *reply_of(struct redlock_question *question)
{
    static char text[BUFFER_SIZE + 64];
    static const char types[] = "+-:$_*~";
    struct redlock_item item;
    size_t used = 0;
    while (redlock_next_item(question, &item)) {
        const bool has_number =
            item.type == REDLOCK_ITEM_INTEGER || item.type == REDLOCK_ITEM_ARRAY;
        if (item.depth > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%u", item.depth);
        if (item.first)
            used += (size_t)snprintf(text + used, sizeof text - used, "%c", types[item.type]);
        if (has_number)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%lld", (long long)item.integer);
        used += (size_t)snprintf(text + used, sizeof text - used, "%.*s%s", (int)item.size,
                                 (const char *)item.bytes, item.last ? " " : "");
    }
    text[used] = '\0';
    return text;
}

#define EXPECT_REPLY(question, text) CHECK_STR(reply_of(question), text)

TEST(a_question_is_answered_item_by_item)
{
    struct redlock_question question;
    CLUSTER(N);
    ANSWERS(2, "PING", "*5\r\n+yes\r\n:-7\r\n$5\r\na\r\nbc\r\n$-1\r\n*2\r\n*-1\r\n-no\r\n");
    ASK(&question, 2, WORD("PING"));
    EXPECT_QUESTION(&question, REDLOCK_PENDING);
    RUN_MS(5);
    EXPECT_QUESTION(&question, REDLOCK_OK);
    EXPECT_REPLY(&question, "*5 1+yes 1:-7 1$a\r\nbc 1_ 1*2 2~ 2-no ");
    CHECK(!question.is_cut);
}

TEST(arguments_of_a_question_are_any_bytes)
{
    struct redlock_question question;
    CLUSTER(N);
    (void)model_put(NODE(0), "a b", "\r\nvalue", 0, cluster_node_now(cluster, 0));
    ASK(&question, 0, WORD("GETRANGE"), WORD("a b"), WORD("0"), WORD("40"));
    RUN_MS(5);
    EXPECT_QUESTION(&question, REDLOCK_OK);
    EXPECT_REPLY(&question, "$\r\nvalue ");
}

TEST(a_question_asked_before_the_first_connection_waits_for_it)
{
    struct redlock_question question;
    CLUSTER_COLD(N, 1, (void)0);
    ANSWERS(0, "PING", "+PONG\r\n");
    ASK(&question, 0, WORD("PING"));
    RUN_MS(5);
    EXPECT_QUESTION(&question, REDLOCK_OK);
    EXPECT_REPLY(&question, "+PONG ");
}

TEST(an_answer_to_a_question_is_no_vote_and_a_vote_is_no_answer)
{
    struct redlock_question questions[2 * N];
    CLUSTER(N);
    for (unsigned k = 0; k < N; k++) {
        ANSWERS(k, "PING", "+OK\r\n");
        if (k > 1) RIVAL(k, "door", 60000);
        ASK(&questions[k], k, WORD("PING"));
    }
    START_ACQUIRE(0, "door", 10000, 0);
    for (unsigned k = 0; k < N; k++) ASK(&questions[N + k], k, WORD("PING"));
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(5);
    EXPECT_KEYS("door", 3);
}

TEST(an_error_reply_to_a_question_says_nothing_of_the_node)
{
    struct redlock_question question;
    CLUSTER(N);
    ANSWERS(0, "PING", "-LOADING Redis is loading the dataset in memory\r\n");
    ASK(&question, 0, WORD("PING"));
    RUN_MS(5);
    EXPECT_REPLY(&question, "-LOADING Redis is loading the dataset in memory ");
    EXPECT_TROUBLE(0, 0, REDLOCK_TROUBLE_NONE);
    CHECK(VOTES(0, 0));
    CHECK_INT(LINK(0, 0)->connect_count, 1);
}

TEST(an_earlier_error_of_a_node_stays_when_a_question_is_answered)
{
    struct redlock_question question;
    CLUSTER(N);
    ANSWERS_ONCE(0, "SET", "-ERR something\r\n");
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    ANSWERS(0, "PING", "-x\r\n");
    ASK(&question, 0, WORD("PING"));
    RUN_MS(5);
    EXPECT_WORDS(0, 0, "ERR something");
}

TEST(more_questions_than_a_node_may_owe_answers_are_all_answered)
{
    static struct redlock_question questions[MANY];
    CLUSTER(N);
    ANSWERS(1, "PING", "+PONG\r\n");
    for (unsigned i = 0; i < MANY; i++) ASK(&questions[i], 1, WORD("PING"));
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(20);
    for (unsigned i = 0; i < MANY; i++) EXPECT_QUESTION(&questions[i], REDLOCK_OK);
}

TEST(the_answer_to_a_forgotten_question_is_dropped)
{
    struct redlock_question first, second, third;
    uint8_t other[64];
    CLUSTER(N);
    ANSWERS_ONCE(0, "PING", "+first\r\n");
    ANSWERS_ONCE(0, "PING", "+second\r\n");
    ANSWERS_ONCE(0, "PING", "+third\r\n");
    ASK(&first, 0, WORD("PING"));
    RUN_US(1);
    redlock_forget_question(ENGINE(0), &first);
    EXPECT_QUESTION(&first, REDLOCK_CANCELLED);
    memset(&first, 0xa5, sizeof first);
    ASK(&second, 0, WORD("PING"));
    CHECK_INT(redlock_ask(ENGINE(0), &third, 0, ping, 1, other, sizeof other, CLIENT_NOW(0)),
              REDLOCK_OK);
    RUN_MS(5);
    EXPECT_REPLY(&second, "+second ");
    EXPECT_REPLY(&third, "+third ");
    redlock_forget_question(ENGINE(0), &second);
    EXPECT_QUESTION(&second, REDLOCK_OK);
}

TEST(the_answer_to_the_only_question_is_dropped_when_it_is_forgotten)
{
    struct redlock_question first, second;
    CLUSTER(N);
    ANSWERS_ONCE(0, "PING", "+first\r\n");
    ANSWERS_ONCE(0, "PING", "+second\r\n");
    ACQUIRE(0, "door", 10000);
    ASK(&first, 0, WORD("PING"));
    ASK(&second, 0, WORD("PING"));
    START_RELEASE(0);
    RUN_US(1);
    redlock_forget_question(ENGINE(0), &second);
    redlock_forget_question(ENGINE(0), &first);
    RUN_MS(100);
    EXPECT_QUESTION(&first, REDLOCK_CANCELLED);
    EXPECT_QUESTION(&second, REDLOCK_CANCELLED);
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(a_question_that_is_forgotten_before_it_is_sent_is_not_sent)
{
    struct redlock_question question;
    CLUSTER_COLD(N, 1, (void)0);
    ASK(&question, 0, WORD("GETRANGE"), WORD("door"), WORD("0"), WORD("40"));
    redlock_forget_question(ENGINE(0), &question);
    RUN_MS(STORY_SETTLE_MS);
    CHECK_INT(CALLS(0, "GETRANGE"), 0);
}

TEST(what_does_not_fit_in_the_buffer_is_cut_and_told)
{
    struct redlock_question question;
    uint8_t small[80];
    CLUSTER(N);
    ANSWERS(0, "PING",
            "*4\r\n+one\r\n$60\r\n012345678901234567890123456789012345678901234567890123456789\r\n+"
            "two\r\n+three\r\n");
    CHECK_INT(redlock_ask(ENGINE(0), &question, 0, ping, 1, small, sizeof small, CLIENT_NOW(0)),
              REDLOCK_OK);
    RUN_MS(5);
    EXPECT_QUESTION(&question, REDLOCK_OK);
    CHECK(question.is_cut);
    EXPECT_REPLY(&question, "*4 1+one ");
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed >= 3, true);
}

TEST(a_reply_never_leaves_its_buffer)
{
    struct redlock_question question;
    uint8_t guarded[128];
    CLUSTER(N);
    ANSWERS(0, "PING", "+0123456789\r\n");
    for (size_t size = 0; size < 64; size++) {
        memset(guarded, 0xa5, sizeof guarded);
        CHECK_INT(redlock_ask(ENGINE(0), &question, 0, ping, 1, guarded, size, CLIENT_NOW(0)),
                  REDLOCK_OK);
        RUN_MS(5);
        EXPECT_QUESTION(&question, REDLOCK_OK);
        for (size_t i = size; i < sizeof guarded; i++) CHECK_INT(guarded[i], 0xa5);
        /* Its 10 bytes, and 24 at most. */
        CHECK(question.is_cut ? size < 34 : size >= 10);
    }
}

/* The smallest buffer in which the reply is not cut. */
static void find_room_for(const char *reply, size_t *least)
{
    struct redlock_question question;
    for (*least = 0; *least < BUFFER_SIZE; ++*least) {
        CLUSTER(1);
        ANSWERS(0, "PING", reply);
        CHECK_INT(redlock_ask(ENGINE(0), &question, 0, ping, 1, buffer, *least, CLIENT_NOW(0)),
                  REDLOCK_OK);
        RUN_MS(5);
        if (!question.is_cut) return;
    }
}

TEST(a_reply_needs_the_room_of_its_items_and_no_more)
{
    size_t empty, ten, two;
    find_room_for("*0\r\n", &empty);
    find_room_for("+0123456789\r\n", &ten);
    find_room_for("*1\r\n*0\r\n", &two);
    CHECK(empty > 0 && empty <= 24);
    CHECK_INT(ten, empty + 10);
    CHECK_INT(two, 2 * empty);
}

TEST(questions_to_several_nodes_get_their_own_answers_in_whatever_order_they_come)
{
    struct redlock_question questions[2];
    static uint8_t buffers[2][64];
    CLUSTER(N);
    DELAY_US(0, 50000);
    ANSWERS(0, "PING", "+late\r\n");
    ANSWERS(1, "PING", "+soon\r\n");
    for (unsigned k = 0; k < 2; k++)
        CHECK_INT(redlock_ask(ENGINE(0), &questions[k], k, ping, 1, buffers[k], sizeof buffers[k],
                              CLIENT_NOW(0)),
                  REDLOCK_OK);
    RUN_MS(20);
    EXPECT_QUESTION(&questions[0], REDLOCK_PENDING);
    EXPECT_QUESTION(&questions[1], REDLOCK_OK);
    EXPECT_REPLY(&questions[1], "+soon ");
    RUN_MS(200);
    EXPECT_QUESTION(&questions[0], REDLOCK_OK);
    EXPECT_REPLY(&questions[0], "+late ");
}

TEST(a_question_needs_no_buffer)
{
    struct redlock_question question;
    CLUSTER(N);
    ANSWERS(0, "PING", "+PONG\r\n");
    CHECK_INT(redlock_ask(ENGINE(0), &question, 0, ping, 1, NULL, 0, CLIENT_NOW(0)), REDLOCK_OK);
    RUN_MS(5);
    EXPECT_QUESTION(&question, REDLOCK_OK);
    CHECK(question.is_cut);
}

TEST(a_long_reply_passes_through_a_small_buffer_that_is_emptied_in_time)
{
    enum { LONG = 30000 };
    static char reply[LONG + 32];
    struct redlock_question question;
    struct redlock_item item;
    uint8_t small[128];
    size_t size = 0;
    CLUSTER(N);
    snprintf(reply, sizeof reply, "$%d\r\n%*s\r\n", LONG, LONG, "x");
    ANSWERS(0, "PING", reply);
    LINK(0, 0)->receive_max = 64;
    CHECK_INT(redlock_ask(ENGINE(0), &question, 0, ping, 1, small, sizeof small, CLIENT_NOW(0)),
              REDLOCK_OK);
    while (question.status == REDLOCK_PENDING && cluster_step(cluster, cluster->now_us + 1000000))
        while (redlock_next_item(&question, &item)) size += item.size;
    while (redlock_next_item(&question, &item)) size += item.size;
    EXPECT_QUESTION(&question, REDLOCK_OK);
    CHECK(!question.is_cut);
    CHECK_INT(size, LONG);
}

TEST(a_question_that_would_change_the_connection_is_refused)
{
    static const char *const words[] = {
        "SELECT", "select", "auth", "HELLO", "RESET", "QUIT", "MULTI", "EXEC", "DISCARD", "MONITOR",
        "SYNC", "PSYNC", "REPLCONF",
        "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE"
    };
    static const struct redlock_name skip[] = { WORD("cLiEnT"), WORD("rEpLy"), WORD("SKIP") };
    static const struct redlock_name list[] = { WORD("CLIENT"), WORD("LIST") };
    struct redlock_question question;
    CLUSTER(N);
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        const struct redlock_name name = { .bytes = words[i], .size = strlen(words[i]) };
        TAP_CONTEXT("%s", words[i]);
        CHECK_INT(ask(cluster, &question, 0, &name, 1), REDLOCK_BAD_QUESTION);
    }
    CHECK_INT(ask(cluster, &question, 0, skip, 3), REDLOCK_BAD_QUESTION);
    CHECK_INT(ask(cluster, &question, 0, list, 2), REDLOCK_OK);
}

TEST(client_and_reply_are_refused_only_together)
{
    static const struct redlock_name words[] = { WORD("CLIENT"), WORD("REPLY"), WORD("REPLY") };
    struct redlock_question question;
    CLUSTER(N);
    CHECK_INT(ask(cluster, &question, 0, words, 1), REDLOCK_OK);
    redlock_forget_question(ENGINE(0), &question);
    CHECK_INT(ask(cluster, &question, 0, words + 1, 2), REDLOCK_OK);
    redlock_forget_question(ENGINE(0), &question);
    CHECK_INT(ask(cluster, &question, 0, words, 2), REDLOCK_BAD_QUESTION);
}

TEST(a_question_that_cannot_be_sent_is_refused)
{
    static uint8_t bytes[REDLOCK_SEND_SIZE];
    const struct redlock_name words[9] = { WORD("ECHO") };
    struct redlock_name large[] = { WORD("ECHO"), { .bytes = bytes, .size = sizeof bytes } };
    struct redlock_question question;
    CLUSTER(N);
    CHECK_INT(ask(cluster, &question, N, ping, 1), REDLOCK_BAD_QUESTION);
    CHECK_INT(ask(cluster, &question, 0, words, 0), REDLOCK_BAD_QUESTION);
    CHECK_INT(ask(cluster, &question, 0, words, 9), REDLOCK_BAD_QUESTION);
    CHECK_INT(ask(cluster, &question, 0, large, 2), REDLOCK_BAD_QUESTION);
    large[1].size = SIZE_MAX;
    CHECK_INT(ask(cluster, &question, 0, large, 2), REDLOCK_BAD_QUESTION);
}

TEST(a_word_that_is_like_a_refused_one_is_asked)
{
    static const struct redlock_name words[] = { WORD("EXE\x7f"), WORD("EXE~"), WORD("EXE"),
                                                WORD("EXECS") };
    struct redlock_question question;
    CLUSTER(N);
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        CHECK_INT(ask(cluster, &question, 0, &words[i], 1), REDLOCK_OK);
        redlock_forget_question(ENGINE(0), &question);
    }
}

/* The number of arguments has 4 bytes, and each argument up to 13 around its own. */
TEST(arguments_that_leave_no_room_for_the_next_are_refused)
{
    static uint8_t bytes[REDLOCK_SEND_SIZE];
    for (unsigned last = 0; last < 2; last++) {
        struct redlock_name large[] = { WORD("ECHO"), { .bytes = bytes, .size = sizeof bytes },
                                        { .bytes = "x", .size = last } };
        struct redlock_question question;
        unsigned refused = 0;
        CLUSTER(N);
        for (; ask(cluster, &question, 0, large, 3) != REDLOCK_OK; large[1].size--) refused++;
        CHECK_INT(refused, 4 + 13 + 4 + 13 + 13 + last);
        redlock_forget_question(ENGINE(0), &question);
    }
}

TEST(the_numbers_of_questions_begin_anew_when_they_are_used_up)
{
    struct redlock_question last, first;
    CLUSTER(N);
    ENGINE(0)->question_count = UINT32_MAX - 1;
    ASK(&last, 0, WORD("GET"), WORD("door"));
    ASK(&first, 0, WORD("GET"), WORD("door"));
    CHECK_INT(last.number, UINT32_MAX);
    CHECK_INT(first.number, 0);
    RUN_MS(10);
    CHECK_INT(last.status, REDLOCK_OK);
    CHECK_INT(first.status, REDLOCK_OK);
}

TEST(a_question_waits_while_a_script_is_on_its_way_from_where_it_lies)
{
    static const char script[] = "return 1";
    struct redlock_question question;
    CLUSTER(N);
    struct redlock_node *node = &ENGINE(0)->nodes[0];
    const uint32_t end = node->send_end;
    ASK(&question, 0, WORD("PING"));
    node->apart = script;
    question.feature->put(ENGINE(0), 0);
    CHECK_INT(node->send_end, end);
    CHECK(!question.is_sent);
    node->apart = NULL;
    redlock_forget_question(ENGINE(0), &question);
}

TEST(a_question_goes_on_when_another_nodes_connection_ends)
{
    struct redlock_question first, second;
    CLUSTER(N);
    ANSWERS_ONCE(0, "PING", "+first\r\n");
    ASK(&first, 0, WORD("PING"));
    ASK(&second, 1, WORD("PING"));
    cluster_cut(cluster, 0, 1, false);
    RUN_MS(100);
    EXPECT_QUESTION(&first, REDLOCK_OK);
    EXPECT_QUESTION(&second, REDLOCK_NO_ANSWER);
}

/* The largest that is taken is sent, whatever else is in the buffer. */
TEST(a_question_of_any_length_that_is_taken_is_answered)
{
    static uint8_t bytes[REDLOCK_SEND_SIZE];
    struct redlock_name large[] = { WORD("ECHO"), { .bytes = bytes, .size = sizeof bytes } };
    struct redlock_question question, other;
    CLUSTER(N);
    ANSWERS(0, "ECHO", "+done\r\n");
    while (ask(cluster, &question, 0, large, 2) != REDLOCK_OK) large[1].size--;
    CHECK(large[1].size > REDLOCK_SEND_SIZE - 100);
    CHECK_INT(ask(cluster, &other, 0, large, 2), REDLOCK_OK);
    ACQUIRE(0, "door", 10000);
    RUN_MS(20);
    EXPECT_QUESTION(&question, REDLOCK_OK);
    EXPECT_QUESTION(&other, REDLOCK_OK);
}

TEST(a_node_without_a_connection_gives_no_answer_at_once)
{
    struct redlock_question question;
    CLUSTER(N);
    DOWN(1);
    RUN_MS(1000);
    CHECK_INT(ask(cluster, &question, 1, ping, 1), REDLOCK_NO_ANSWER);
}

TEST(questions_that_were_not_sent_wait_for_the_next_connection)
{
    static struct redlock_question questions[MANY];
    CLUSTER(N);
    ANSWERS(1, "PING", "+PONG\r\n");
    for (unsigned i = 0; i < MANY; i++) ASK(&questions[i], 1, WORD("PING"));
    RUN_US(1);
    RESET(0, 1);
    RUN_MS(100);
    EXPECT_QUESTION(&questions[0], REDLOCK_NO_ANSWER);
    EXPECT_QUESTION(&questions[MANY - 1], REDLOCK_OK);
}

/* The engine has had nothing to do for a long time. */
TEST(the_time_for_an_answer_begins_with_the_question)
{
    struct redlock_question question;
    size_t size;
    CLUSTER(N);
    const uint64_t now_us = CLIENT_NOW(0) + (uint64_t)TIMEOUTS_MS * 2000;
    CHECK_INT(redlock_ask(ENGINE(0), &question, 0, ping, 1, buffer, sizeof buffer, now_us),
              REDLOCK_OK);
    CHECK(redlock_output(ENGINE(0), 0, &size) && size > 0);
    CHECK(redlock_wake_at(ENGINE(0)) > now_us);
    redlock_forget_question(ENGINE(0), &question);
}

TEST(a_question_ends_when_its_node_does_not_answer_in_time)
{
    struct redlock_question question;
    CLUSTER(N);
    HANG(0);
    ASK(&question, 0, WORD("PING"));
    RUN_MS(TIMEOUTS_MS - 100);
    EXPECT_QUESTION(&question, REDLOCK_PENDING);
    RUN_MS(200);
    EXPECT_QUESTION(&question, REDLOCK_NO_ANSWER);
}

TEST(a_question_ends_when_the_connection_it_waits_for_does_not_come)
{
    struct redlock_question question;
    CLUSTER_COLD(N, 1, (void)0);
    STALL(0);
    ASK(&question, 0, WORD("PING"));
    RUN_MS(2 * REDLOCK_NODE_TIMEOUT_MS + 100);
    EXPECT_QUESTION(&question, REDLOCK_NO_ANSWER);
}

/* S16 */
TEST(a_reply_that_is_over_a_limit_or_no_reply_ends_the_question_and_the_connection)
{
    static const char *const replies[] = {
        "*65\r\n", "$65537\r\n", "?\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n"
    };
    struct redlock_question question;
    for (unsigned i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        CLUSTER(N);
        ANSWERS(0, "PING", replies[i]);
        ASK(&question, 0, WORD("PING"));
        RUN_MS(5);
        EXPECT_QUESTION(&question, REDLOCK_NO_ANSWER);
        CHECK_INT(LINK(0, 0)->connect_count, 2);
    }
}

/* A server answers twice. The second answer is taken for that to the lock's command, which it does
 * not suit (S16). */
TEST(a_second_answer_to_a_question_is_no_grant)
{
    struct redlock_question question;
    CLUSTER(N);
    ANSWERS(0, "PING", "+PONG\r\n+PONG\r\n");
    RIVAL(0, "door", 60000);
    ASK(&question, 0, WORD("PING"));
    RUN_US(1);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_UNKNOWN);
}

/* ---- Severed ---- */

static void sever(bool to_node, size_t after, bool is_cold, bool *was_cut)
{
    struct redlock_question questions[3];
    CLUSTER_COLD(N, 1, (void)0);
    TAP_CONTEXT("%s, %s severed after %zu bytes", is_cold ? "cold" : "warm",
                to_node ? "to the node" : "to the client", after);
    if (!is_cold) RUN_MS(STORY_SETTLE_MS);
    *(to_node ? &LINK(0, 0)->to_node : &LINK(0, 0)->to_client) = (struct cluster_sever){
        true, after
    };
    ANSWERS(0, "PING", "*2\r\n$4\r\npong\r\n:12\r\n");
    for (unsigned i = 0; i < 3; i++)
        CHECK_INT(ask(cluster, &questions[i], 0, i == 1 ? info : ping, i == 1 ? 2 : 1), REDLOCK_OK);
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(TIMEOUTS_MS + 2000);
    for (unsigned i = 0; i < 3; i++)
        CHECK(questions[i].status == REDLOCK_OK || questions[i].status == REDLOCK_NO_ANSWER);
    CHECK(!ENGINE(0)->questions);
    RELEASE(0);
    RUN_MS(1000);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    CHECK(VOTES(0, 0));
    ANSWERS_AS_EVER(0);        /* It may have been severed before a PING came. */
    *was_cut = !LINK(0, 0)->to_node.armed && !LINK(0, 0)->to_client.armed;
}

TEST(questions_end_and_locks_go_on_when_the_connection_ends_after_any_byte)
{
    for (unsigned i = 0; i < 4; i++) {
        bool was_cut = true;
        size_t after = 0;
        for (; was_cut && after < BUFFER_SIZE; after += tap_sample())
            sever(i & 1, after, i & 2, &was_cut);
        CHECK(after > 100 && after < BUFFER_SIZE);
    }
}

TAP_MAIN
