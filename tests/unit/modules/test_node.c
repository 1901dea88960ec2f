/* One node's session, fed with bytes. Tests its reports, and the reports that it never makes. The
 * rest is in test_rules. */
#include "../../tap.h"

#include "../../../redlock/kinds/plain.h"
#include "../../../redlock/node.h"

#include <string.h>

static struct redlock r;
static struct redlock_node node;
static uint64_t memory[REDLOCK_MEMORY_DEFAULT(1) / sizeof(uint64_t) + 1];

static void connect_to_it(const struct redlock_login *login)
{
    struct redlock_config config;

    redlock_config_init(&config);
    config.guard_ms = 0;
    CHECK_INT(redlock_init(&r, &config, &node, 1, memory, sizeof memory, 0), REDLOCK_OK);
    redlock_use(&r, &redlock_loaded_scripts);
    if (login) CHECK_INT(redlock_set_login(&r, 0, login), REDLOCK_OK);
    redlock_tick(&r, 1);
    CHECK_INT(redlock_wants(&r, 0), REDLOCK_WANT_CONNECT);
    redlock_connected(&r, 0, 1);
}

static void send_all(void)
{
    size_t size;

    do {
        redlock_output(&r, 0, &size);
        redlock_sent(&r, 0, size);
    } while (size > 0);
}

static void finish_handshake(const struct redlock_login *login)
{
    connect_to_it(login);
    send_all();
}

static void hear(const char *bytes, uint64_t now_us)
{
    size_t room;
    uint8_t *input = redlock_input(&r, 0, &room);

    CHECK(strlen(bytes) <= room);
    memcpy(input, bytes, strlen(bytes));
    redlock_received(&r, 0, strlen(bytes), now_us);
}

static void check_words(enum redlock_trouble trouble, const char *expected)
{
    char words[200];

    redlock_describe_node(&r, 0, 2, words, sizeof words);
    CHECK_INT(redlock_view_node(&r, 0, 2).trouble, trouble);
    CHECK_STR(words, expected);
}

static void introduce_itself(uint64_t now_us)
{
    hear("+OK\r\n$91\r\nrun_id:604c9b58f3442cd30534fe62ea6e5478817ff1cc\r\nredis_mode:"
         "standalone\r\nrole:master\r\n"
         "x:yz\r\n\r\n",
         now_us);
    hear("$-1\r\n$40\r\n" WIRE_RELEASE_ONE_SHA1 "\r\n$40\r\n" WIRE_EXTEND_ONE_SHA1 "\r\n", now_us);
}

static void become_ready(void)
{
    finish_handshake(NULL);
    introduce_itself(2);
    CHECK(redlock_node_votes(&r, 0, 2));
}

TEST(a_password_is_not_repeated_when_a_server_that_does_not_know_AUTH_repeats_it)
{
    static const struct redlock_login login = { .user = "joe", .password = "secret" };

    finish_handshake(&login);
    hear("-ERR unknown command 'AUTH', with args beginning with: 'joe' 'secret' \r\n", 2);
    check_words(REDLOCK_TROUBLE_OTHER_ERROR, "ERR unknown command 'AUTH'");
}

/* Words of so many characters, which begin with the code of an error. */
static void write_words(char *words, size_t size)
{
    memset(words, 'x', size);
    memcpy(words, "ERR ", 4);
    words[size] = 0;
}

TEST(an_errors_words_are_cut_where_the_room_ends)
{
    char text[REDLOCK_ERROR_MAX + 1], reply[sizeof text + 4];

    for (size_t size = REDLOCK_ERROR_MAX - 1; size <= REDLOCK_ERROR_MAX; size++) {
        write_words(text, size);
        snprintf(reply, sizeof reply, "-%s\r\n", text);
        finish_handshake(NULL);
        hear("+OK\r\n", 2);
        hear(reply, 2);
        text[REDLOCK_ERROR_MAX - 1] = 0;
        check_words(REDLOCK_TROUBLE_OTHER_ERROR, text);
    }
}

TEST(what_a_transport_says_is_cut_where_the_room_ends)
{
    char why[REDLOCK_ERROR_MAX + 1];

    for (size_t size = REDLOCK_ERROR_MAX - 1; size <= REDLOCK_ERROR_MAX; size++) {
        write_words(why, size);
        finish_handshake(NULL);
        redlock_disconnected(&r, 0, why, 2);
        why[REDLOCK_ERROR_MAX - 1] = 0;
        check_words(REDLOCK_TROUBLE_UNREACHABLE, why);
    }
}

TEST(an_error_inside_an_array_is_not_told_of_the_node)
{
    finish_handshake(NULL);
    redlock_disconnected(&r, 0, "no route to host", 2);
    redlock_tick(&r, 10000000);
    redlock_connected(&r, 0, 10000000);
    send_all();
    hear("+OK\r\n$5\r\nx:y\r\n\r\n*2\r\n-ERR boo\r\n", 10000000);
    check_words(REDLOCK_TROUBLE_UNREACHABLE, "no route to host");
    hear(":0\r\n", 10000000);
    check_words(REDLOCK_TROUBLE_PROTOCOL,
                "not a Redis server: an answer of the wrong type in the handshake");
}

TEST(s11_a_clock_that_goes_back_does_not_end_the_guard)
{
    finish_handshake(NULL);
    r.config.guard_ms = REDLOCK_GUARD_MS;
    introduce_itself(100000000);
    CHECK(!redlock_node_votes(&r, 0, 100000000));
    CHECK(!redlock_node_votes(&r, 0, 50000000));
    CHECK(redlock_node_votes(&r, 0, 100000000 + (uint64_t)REDLOCK_GUARD_MS * 1000));
}

TEST(s12_a_server_that_names_no_mode_has_no_vote)
{
    finish_handshake(NULL);
    hear("+OK\r\n$62\r\nrun_id:604c9b58f3442cd30534fe62ea6e5478817ff1cc\r\nrole:master\r\n\r\n", 2);
    hear("$-1\r\n$40\r\n" WIRE_RELEASE_ONE_SHA1 "\r\n$40\r\n" WIRE_EXTEND_ONE_SHA1 "\r\n", 2);
    CHECK(!redlock_node_votes(&r, 0, 2));
    check_words(REDLOCK_TROUBLE_NO_IDENTITY,
                "INFO names no run_id (nor what could stand in), no mode, or no role");
}

TEST(s16_a_server_that_loads_another_script_than_was_sent_has_no_vote)
{
    finish_handshake(NULL);
    hear("+OK\r\n$91\r\nrun_id:604c9b58f3442cd30534fe62ea6e5478817ff1cc\r\nredis_mode:"
         "standalone\r\nrole:master\r\n"
         "x:yz\r\n\r\n",
         2);
    hear("$-1\r\n$40\r\n" WIRE_EXTEND_ONE_SHA1 "\r\n", 2);
    CHECK_INT(redlock_view_node(&r, 0, 2).trouble, REDLOCK_TROUBLE_PROTOCOL);
}

TEST(s11_a_guard_that_would_end_after_the_end_of_time_does_not_end)
{
    const uint64_t late = REDLOCK_NEVER - 1000;

    finish_handshake(NULL);
    r.config.guard_ms = REDLOCK_GUARD_MS;
    introduce_itself(late);
    CHECK(redlock_wants(&r, 0) & REDLOCK_WANT_RECEIVE);
    CHECK_INT(redlock_view_node(&r, 0, late).trouble, REDLOCK_TROUBLE_RESTARTED);
    CHECK(!redlock_node_votes(&r, 0, late));
}

TEST(what_was_not_sent_when_a_connection_broke_is_not_sent_any_more)
{
    size_t size;

    connect_to_it(NULL);
    redlock_output(&r, 0, &size);
    CHECK(size > 0);
    hear("what?\r\n", 2);
    CHECK_INT(redlock_wants(&r, 0), REDLOCK_WANT_CLOSE);
    CHECK(redlock_output(&r, 0, &size));
    CHECK_INT(size, 0);
    redlock_disconnected(&r, 0, NULL, 3);
    redlock_output(&r, 0, &size);
    CHECK_INT(size, 0);
}

TEST(random_bytes_that_cancel_each_other_out_do_not_end_the_dice)
{
    finish_handshake(NULL);
    CHECK_INT(r.dice, 1);
    /* Mixed into a 1 it gives 0, from which only zeros would follow. */
    redlock_add_entropy(&r, "\1", 1);
    CHECK(r.dice != 0);
}

TEST(what_a_node_refused_is_remembered_until_it_does_the_same_thing_well)
{
    struct redlock_lock lock;
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 10000 };
    uint8_t entropy[REDLOCK_ENTROPY_MAX] = { 1, 2, 3 };
    size_t size;

    become_ready();
    redlock_add_entropy(&r, entropy, sizeof entropy);
    redlock_lock_init(&lock);
    CHECK_INT(redlock_start_acquire(&r, &lock, &request, 3), REDLOCK_OK);
    redlock_output(&r, 0, &size);
    hear("-OOM command not allowed\r\n", 4);
    CHECK_INT(redlock_lock_status(&lock), REDLOCK_NO_QUORUM);
    redlock_output(&r, 0, &size);
    hear(":0\r\n", 5);      /* The release that tidies up. */
    CHECK(redlock_idle(&lock));
    check_words(REDLOCK_TROUBLE_OOM, "OOM command not allowed");
    CHECK_INT(redlock_start_acquire(&r, &lock, &request, 6), REDLOCK_OK);
    redlock_output(&r, 0, &size);
    hear("+OK\r\n", 7);
    check_words(REDLOCK_TROUBLE_NONE, "ok");
}

TEST(s9_answers_to_an_extension_after_the_end_do_not_count_even_when_nobody_looked_at_the_clock)
{
    struct redlock_lock lock;
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 100 };
    uint8_t entropy[REDLOCK_ENTROPY_MAX] = { 1, 2, 3 };
    uint64_t end;
    size_t size;

    become_ready();
    redlock_add_entropy(&r, entropy, sizeof entropy);
    redlock_lock_init(&lock);
    CHECK_INT(redlock_start_acquire(&r, &lock, &request, 1000), REDLOCK_OK);
    redlock_output(&r, 0, &size);
    hear("+OK\r\n", 2000);
    end = 2000 + redlock_valid_us(&lock, 2000);
    CHECK_INT(redlock_start_extend(&r, &lock, 10000, end - 10), REDLOCK_OK);
    redlock_output(&r, 0, &size);
    hear(":1\r\n", end);    /* A process that was stopped reads first, before it ticks. */
    CHECK_INT(redlock_lock_status(&lock), REDLOCK_LOST);
    CHECK_INT(redlock_valid_us(&lock, end), 0);
}

TEST(s9_an_extension_during_which_the_clock_goes_back_does_not_count)
{
    struct redlock_lock lock;
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 100 };
    uint8_t entropy[REDLOCK_ENTROPY_MAX] = { 1, 2, 3 };
    size_t size;

    become_ready();
    redlock_add_entropy(&r, entropy, sizeof entropy);
    redlock_lock_init(&lock);
    CHECK_INT(redlock_start_acquire(&r, &lock, &request, 1000), REDLOCK_OK);
    redlock_output(&r, 0, &size);
    hear("+OK\r\n", 2000);
    CHECK_INT(redlock_start_extend(&r, &lock, 10000, 3000), REDLOCK_OK);
    redlock_output(&r, 0, &size);
    hear(":1\r\n", 999);
    CHECK_INT(redlock_lock_status(&lock), REDLOCK_LOST);
    CHECK_INT(redlock_valid_us(&lock, 999), 0);
}

/* The transport takes nothing, so the question for the holder's time waits; and there are no random
 * bytes to go on with. */
TEST(a_lock_is_not_idle_while_a_question_about_it_waits_to_be_sent)
{
    struct redlock_lock lock;
    struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000, .wait_ms = 1000
    };
    uint8_t entropy[REDLOCK_TOKEN_SIZE] = { 1, 2, 3 };
    size_t size;

    become_ready();
    redlock_use(&r, &redlock_free_in);
    redlock_add_entropy(&r, entropy, sizeof entropy);
    redlock_lock_init(&lock);
    CHECK_INT(redlock_start_acquire(&r, &lock, &request, 1000), REDLOCK_OK);
    redlock_output(&r, 0, &size);
    redlock_sent(&r, 0, size);
    hear("$-1\r\n", 2000);
    redlock_tick(&r, 1001000);
    redlock_tick(&r, 1001000 + REDLOCK_NODE_TIMEOUT_MS * 1000);
    CHECK_INT(redlock_lock_status(&lock), REDLOCK_NO_ENTROPY);
    CHECK(!redlock_idle(&lock));
    redlock_output(&r, 0, &size);
    hear(":5000\r\n", 2000000);
    CHECK(redlock_idle(&lock));
    CHECK_INT(redlock_view_lock(&lock).free_in_ms, 5000);
}

TEST(nothing_is_sent_for_a_lock_that_is_idle)
{
    struct redlock_lock lock;
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 10000 };
    uint8_t entropy[REDLOCK_ENTROPY_MAX] = { 1, 2, 3 };
    size_t size;

    become_ready();
    redlock_use(&r, &redlock_free_in);
    redlock_add_entropy(&r, entropy, sizeof entropy);
    redlock_lock_init(&lock);
    CHECK_INT(redlock_start_acquire(&r, &lock, &request, 1000), REDLOCK_OK);
    redlock_output(&r, 0, &size);
    redlock_sent(&r, 0, size);
    /* Refused: PTTL waits to be sent, but the transport takes nothing. */
    hear("$-1\r\n", 2000);
    CHECK_INT(redlock_lock_status(&lock), REDLOCK_PENDING);
    CHECK(!redlock_idle(&lock));
    redlock_tick(&r, 1000 + REDLOCK_NODE_TIMEOUT_MS * 1000);
    CHECK_INT(redlock_lock_status(&lock), REDLOCK_TAKEN);
    CHECK(redlock_idle(&lock));
    lock.name.bytes = NULL;       /* Looks as if its name were gone. */
    redlock_output(&r, 0, &size);
    CHECK_INT(size, 0);
}

TEST(s16_a_bulk_string_over_the_limit_ends_the_connection)
{
    finish_handshake(NULL);
    hear("+OK\r\n$65536\r\n", 2);
    CHECK(!(redlock_wants(&r, 0) & REDLOCK_WANT_CLOSE));
    finish_handshake(NULL);
    hear("+OK\r\n$65537\r\n", 2);
    CHECK_INT(redlock_wants(&r, 0), REDLOCK_WANT_CLOSE);
    check_words(REDLOCK_TROUBLE_PROTOCOL, "not a Redis server: bulk string too big");
}

/* ---- A session by the calls of node.h ---- */

enum { TIMEOUT_US = REDLOCK_NODE_TIMEOUT_MS * 1000 };

/* A session of that state at time 0, with failed connections before it. */
static struct redlock_config begin_session(bool is_subscription, enum node_state state,
                                           unsigned failures)
{
    static struct redlock_asked ring[REDLOCK_PIPELINE];
    static uint8_t received[REDLOCK_RECEIVE_SIZE];
    struct redlock_config config;

    redlock_config_init(&config);
    memset(&node, 0, sizeof node);
    /* As memory that nobody has cleared. */
    memset(ring, REDLOCK_COMMAND_QUESTION, sizeof ring);
    node_init(&node, is_subscription);
    node.asked = ring;
    node.receive = received;
    if (state >= NODE_CONNECTING) node_tick(&node, &config, true, 0);
    if (state >= NODE_HANDSHAKE) node_connected(&node, &config, 0);
    if (state >= NODE_READY) node.state = NODE_READY;
    node.failures = (uint8_t)failures;
    return config;
}

TEST(a_session_that_nobody_needs_ends_and_is_a_success_only_if_it_was_ready)
{
    static const struct {
        enum node_state state;
        unsigned failures;
    } rows[] = { { NODE_CONNECTING, 6 }, { NODE_HANDSHAKE, 6 }, { NODE_READY, 1 } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct redlock_config config = begin_session(true, rows[i].state, 5);
        TAP_CONTEXT("row %zu", i);
        CHECK(node_tick(&node, &config, false, 0));
        CHECK_INT(node.failures, rows[i].failures);
        CHECK_INT(node.trouble, REDLOCK_TROUBLE_NEW);
    }
}

TEST(a_session_that_is_overdue_fails_once_though_nobody_needs_it)
{
    struct redlock_config config = begin_session(true, NODE_HANDSHAKE, 0);

    CHECK(node_tick(&node, &config, false, TIMEOUT_US));
    CHECK_INT(node.failures, 1);
    CHECK_INT(node.trouble, REDLOCK_TROUBLE_SILENT);
}

TEST(a_handshake_has_the_node_timeout_however_often_it_answers)
{
    finish_handshake(NULL);
    hear("+OK\r\n", TIMEOUT_US);
    redlock_tick(&r, TIMEOUT_US);
    CHECK_INT(redlock_view_node(&r, 0, 2).trouble, REDLOCK_TROUBLE_NEW);
    redlock_tick(&r, TIMEOUT_US + 1);
    check_words(REDLOCK_TROUBLE_SILENT, "connected, but no answer to the handshake");
}

TEST(a_good_connection_that_was_closed_may_be_back_at_once_unless_it_fell_silent_or_is_young)
{
    static const struct {
        enum redlock_trouble trouble;
        unsigned failures;
        uint64_t age_us;
        bool settled;
    } rows[] = {
        { REDLOCK_TROUBLE_CLOSED, 0, 0, false },
        { REDLOCK_TROUBLE_SILENT, 0, 0, true },
        { REDLOCK_TROUBLE_CLOSED, 1, NODE_YOUNG_MS * 1024 - 1, true },
        { REDLOCK_TROUBLE_CLOSED, 1, NODE_YOUNG_MS * 1024, false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_session(false, NODE_READY, rows[i].failures);
        TAP_CONTEXT("row %zu", i);
        node_forgive(&node, rows[i].age_us);
        node_give_up(&node, rows[i].trouble, NULL);
        CHECK_INT(node.settled, rows[i].settled);
    }
}

TEST(failures_are_counted_up_to_a_limit_which_for_a_key_that_has_moved_is_one)
{
    begin_session(false, NODE_HANDSHAKE, 1);
    node_give_up(&node, REDLOCK_TROUBLE_MOVED, NULL);
    CHECK_INT(node.failures, 1);
    begin_session(false, NODE_HANDSHAKE, NODE_FAILURES_MAX);
    node_give_up(&node, REDLOCK_TROUBLE_CLOSED, NULL);
    CHECK_INT(node.failures, NODE_FAILURES_MAX);
}

TEST(a_node_has_a_vote_when_it_is_ready_and_its_guard_is_over)
{
    struct redlock_config config = begin_session(false, NODE_HANDSHAKE, 0);

    CHECK(node_votes_at(&node, &config, false, 7) == REDLOCK_NEVER);
    config = begin_session(false, NODE_READY, 0);
    CHECK_INT(node_votes_at(&node, &config, false, 7), 7);
    node.has_run_id = 1;
    CHECK_INT(node_votes_at(&node, &config, false, 7), REDLOCK_GUARD_MS * 1000);
    CHECK(node_votes(&node, &config, false, REDLOCK_GUARD_MS * 1000));
    CHECK(!node_votes(&node, &config, false, REDLOCK_GUARD_MS * 1000 - 1));
}

/* Gives the session these bytes, and says whether they are a reply. */
static bool read_reply(const struct redlock_config *config, const char *bytes,
                       struct redlock_asked *asked, struct wire_reply *reply)
{
    struct redlock_question *questions = NULL;

    node.receive_end = (uint32_t)strlen(bytes);
    memcpy(node.receive, bytes, strlen(bytes));
    return node_next_reply(&node, config, plain_scripts_for_one_loaded(), 0, &questions, asked,
                           reply);
}

TEST(a_string_is_kept_up_to_the_room_for_it_and_then_is_cut)
{
    for (unsigned size = REDLOCK_LINE_MAX - 1; size <= REDLOCK_LINE_MAX + 1; size++) {
        struct redlock_config config = begin_session(false, NODE_READY, 0);
        struct redlock_asked asked = { .command = REDLOCK_COMMAND_GETRANGE };
        struct wire_reply reply;
        char bytes[REDLOCK_LINE_MAX + 20];

        TAP_CONTEXT("%u bytes", size);
        node_asked(&node, &config, 0, &asked);
        snprintf(bytes, sizeof bytes, "$%u\r\n%0*d\r\n", size, (int)size, 0);
        CHECK(read_reply(&config, bytes, &asked, &reply));
        CHECK_INT(reply.text_size, size < REDLOCK_LINE_MAX ? size : REDLOCK_LINE_MAX);
        CHECK_INT(reply.text_cut, size > REDLOCK_LINE_MAX);
        CHECK_INT(strlen(reply.text), reply.text_size);
    }
}

TEST(s16_a_value_of_several_lines_says_nothing_about_its_server)
{
    struct redlock_config config = begin_session(false, NODE_READY, 0);
    struct redlock_asked asked = { .command = REDLOCK_COMMAND_GETRANGE };
    struct wire_reply reply;

    node_asked(&node, &config, 0, &asked);
    CHECK(read_reply(&config, "$12\r\nrole:slave\nx\r\n", &asked, &reply));
    CHECK_STR(reply.text, "role:slave\nx");
    CHECK(!node.identity.has_role);
}

/* The ring of its questions is memory of the caller, which nobody has cleared. */
TEST(a_message_of_a_subscription_answers_no_question)
{
    struct redlock_config config = begin_session(true, NODE_READY, 0);
    struct redlock_asked asked = { .command = REDLOCK_COMMAND_READY };
    struct wire_reply reply;

    CHECK(read_reply(&config, "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", &asked, &reply));
    CHECK_INT(asked.command, REDLOCK_COMMAND_NONE);
    CHECK_INT(reply.integer, 3);
    CHECK_STR(reply.text, "abc");
}

static unsigned longest_line;

static void note_line(const char *line, size_t size, struct redlock_identity *identity)
{
    (void)line, (void)identity;
    if (size > longest_line) longest_line = (unsigned)size;
}

TEST(s16_a_line_of_INFO_is_cut_where_the_room_ends)
{
    struct redlock_scripts scripts = *plain_scripts_for_one_loaded();
    char bytes[200];

    scripts.read_info = note_line;
    finish_handshake(NULL);
    r.scripts = &scripts;
    snprintf(bytes, sizeof bytes, "+OK\r\n$%d\r\n%0*d\n\r\n", REDLOCK_LINE_MAX + 2,
             REDLOCK_LINE_MAX + 1, 0);
    hear(bytes, 2);
    CHECK_INT(longest_line, REDLOCK_LINE_MAX);
}

#define INFO_WITHOUT_RUN_ID "$36\r\nredis_mode:standalone\r\nrole:master\r\n\r\n"
#define INFO_OF_REPLICA "$12\r\nrole:slave\r\n\r\n"
#define SCRIPTS_LOADED "$40\r\n" WIRE_RELEASE_ONE_SHA1 "\r\n$40\r\n" WIRE_EXTEND_ONE_SHA1 "\r\n"

TEST(a_handshake_that_fails_is_one_failure)
{
    static const struct {
        const char *bytes;
        enum redlock_trouble trouble;
        const char *words;
    } rows[] = {
        { "-LOADING the dataset\r\n", REDLOCK_TROUBLE_LOADING, "LOADING the dataset" },
        { "+OK\r\n:1\r\n", REDLOCK_TROUBLE_PROTOCOL,
          "not a Redis server: an answer of the wrong type in the handshake" },
        { "+OK\r\n" INFO_OF_REPLICA "$-1\r\n" SCRIPTS_LOADED, REDLOCK_TROUBLE_REPLICA,
          "a replica, not a master" },
        { "-ERR unknown command\r\n" INFO_WITHOUT_RUN_ID "$-1\r\n" SCRIPTS_LOADED,
          REDLOCK_TROUBLE_NO_IDENTITY,
          "INFO names no run_id (nor what could stand in), no mode, or no role" },
        { "+OK\r\n+OK\r\n", REDLOCK_TROUBLE_PROTOCOL,
          "not a Redis server: an answer of the wrong type in the handshake" },
        { "+OK\r\n-\r\n", REDLOCK_TROUBLE_OTHER_ERROR, "an error reply without a word" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        TAP_CONTEXT("row %zu", i);
        finish_handshake(NULL);
        /* An answer is needed nevertheless, and that to CLIENT SETNAME is no answer to INFO. */
        r.config.trust_unknown = i == 3;
        hear(rows[i].bytes, 2);
        check_words(rows[i].trouble, rows[i].words);
        CHECK_INT(node.failures, 1);
    }
}

TEST(s16_an_answer_that_nobody_asked_for_is_one_failure)
{
    become_ready();
    hear(":1\r\n", 3);
    check_words(REDLOCK_TROUBLE_PROTOCOL, "not a Redis server: an answer that nobody asked for");
    CHECK_INT(node.failures, 1);
}

/* It knows neither DELEX nor DELIFEQ, and refuses scripts once more. */
static void refuse_all(const char *scripts)
{
    for (unsigned i = 0; i < 3; i++) {
        size_t size;
        (void)redlock_output(&r, 0, &size);
        CHECK(size > 0);
        redlock_sent(&r, 0, size);
        hear(i < 2 ? "-ERR unknown command\r\n" : scripts, 2);
    }
}

TEST(a_node_that_runs_no_scripts_may_be_asked_questions)
{
    for (unsigned asks_only = 0; asks_only < 2; asks_only++) {
        finish_handshake(NULL);
        r.config.asks_only = asks_only;
        hear("+OK\r\n$91\r\nrun_id:604c9b58f3442cd30534fe62ea6e5478817ff1cc\r\nredis_mode:"
             "standalone\r\nrole:master\r\n"
             "x:yz\r\n\r\n-NOPERM no EVAL\r\n" SCRIPTS_LOADED,
             2);
        refuse_all("-NOPERM no EVAL\r\n" SCRIPTS_LOADED);
        CHECK_INT(node.state == NODE_READY, asks_only);
    }
}

/* S5: what is acquired there could not be released. */
TEST(s5_a_managed_node_that_runs_none_of_our_scripts_has_no_vote_even_if_it_is_trusted)
{
    static const struct redlock_login login = { .managed = 1 };

    for (unsigned asks_only = 0; asks_only < 2; asks_only++) {
        finish_handshake(&login);
        r.config.asks_only = asks_only;
        r.config.trust_unknown = true;
        hear("+OK\r\n-ERR unknown command 'INFO'\r\n$-1\r\n-ERR bad lua script\r\n" SCRIPTS_LOADED,
             2);
        refuse_all("$-1\r\n-ERR bad lua script\r\n" SCRIPTS_LOADED);
        CHECK_INT(node.state == NODE_READY, asks_only);
        if (!asks_only) check_words(REDLOCK_TROUBLE_OTHER_ERROR, "ERR bad lua script");
    }
}

TEST(s11_a_run_id_of_zeros_is_new_at_the_first_contact)
{
    finish_handshake(NULL);
    r.config.guard_ms = REDLOCK_GUARD_MS;
    hear("+OK\r\n$91\r\nrun_id:0000000000000000000000000000000000000000\r\nredis_mode:"
         "standalone\r\nrole:master\r\n"
         "x:yz\r\n\r\n$-1\r\n" SCRIPTS_LOADED,
         100000000);
    CHECK_INT(node.state, NODE_READY);
    CHECK(!redlock_node_votes(&r, 0, 100000000));
}

/* ---- In words ---- */

static void check_description(const struct redlock_config *config, uint64_t now_us,
                              const char *expected)
{
    char words[200];

    node_describe(&node, config, now_us, words, sizeof words);
    CHECK_STR(words, expected);
}

TEST(a_nodes_trouble_has_its_words)
{
    static const struct {
        enum redlock_trouble trouble;
        unsigned detail;
        bool is_derived;
        const char *words;
    } rows[] = {
        { REDLOCK_TROUBLE_NONE, 0, false, "ok" },
        { REDLOCK_TROUBLE_NEW, 0, false, "not connected yet" },
        { REDLOCK_TROUBLE_CLOSED, 0, false, "it closed the connection" },
        { REDLOCK_TROUBLE_PROTOCOL, RESP_TOO_DEEP, false,
          "not a Redis server: arrays nested too deeply" },
        { REDLOCK_TROUBLE_SILENT, REASON_NOT_CONNECTED, false,
          "no connection within the node timeout" },
        { REDLOCK_TROUBLE_SAME_SERVER, 12, false, "same server as node 12" },
        { REDLOCK_TROUBLE_SAME_SERVER, 3, true,
          "same server as node 3, or both name no run_id, and the same process_id and tcp_port" },
        { REDLOCK_TROUBLE_REPLICA, 0, false, "a replica, not a master" },
        { REDLOCK_TROUBLE_CLUSTER, 0, false, "a member of a cluster, not an independent server" },
        { REDLOCK_TROUBLE_SENTINEL, 0, false, "a sentinel, not a server" },
        { REDLOCK_TROUBLE_NO_IDENTITY, 0, false,
          "INFO names no run_id (nor what could stand in), no mode, or no role" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct redlock_config config = begin_session(false, NODE_READY, 0);
        node.trouble = (uint8_t)rows[i].trouble;
        node.detail = (uint8_t)rows[i].detail;
        node.identity.is_derived = rows[i].is_derived;
        check_description(&config, 0, rows[i].words);
    }
}

TEST(a_guard_has_its_words_and_its_rest_is_rounded_up)
{
    static const struct {
        enum redlock_memory memory;
        unsigned uptime_s;
        uint64_t now_us;
        const char *words;
    } rows[] = {
        { REDLOCK_MEMORY_UNKNOWN, 0, 1500000,
          "restarted 1 s ago, no vote for another 29 s, no ticket for another 59 s" },
        { REDLOCK_MEMORY_UNKNOWN, 10, 1500000,
          "restarted 11 s ago, no vote for another 19 s, no ticket for another 49 s" },
        { REDLOCK_MEMORY_UNKNOWN, 0, 30000000, "restarted 30 s ago, no ticket for another 30 s" },
        { REDLOCK_MEMORY_LOST, 0, 30000000,
          "came back empty 30 s ago, no ticket for another 30 s" },
        { REDLOCK_MEMORY_FLUSHED, 0, 30000000, "was emptied 30 s ago, no ticket for another 30 s" },
        { REDLOCK_MEMORY_HIDDEN, 0, 30000000,
          "restarted 30 s ago, no ticket for another 30 s, as its redlock:canary is hidden" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct redlock_config config = begin_session(false, NODE_READY, 0);
        config.guard_ms = 30000;
        config.ticket_skew_ms = 15000;
        node.trouble = REDLOCK_TROUBLE_NONE;
        node.has_run_id = 1;
        node.uptime_us = rows[i].uptime_s * 1000000u;
        node.identity.memory = (uint8_t)rows[i].memory;
        check_description(&config, rows[i].now_us, rows[i].words);
    }
}

TEST(a_guard_does_not_hide_why_there_is_no_connection)
{
    struct redlock_config config = begin_session(false, NODE_READY, 0);

    node.has_run_id = 1;
    CHECK_INT(node_trouble(&node, &config, 0), REDLOCK_TROUBLE_RESTARTED);
    node_give_up(&node, REDLOCK_TROUBLE_UNREACHABLE, "no route to host");
    check_description(&config, 0, "no route to host");
}

TEST(an_errors_words_keep_the_arguments_of_a_command_without_a_password)
{
    struct redlock_config config = begin_session(false, NODE_READY, 0);

    node_note(&node, REDLOCK_COMMAND_EXTEND, REDLOCK_TROUBLE_NOSCRIPT, "NOPERM, with args");
    CHECK_INT(node_trouble(&node, &config, 0), REDLOCK_TROUBLE_NOSCRIPT);
    check_description(&config, 0, "NOPERM, with args");
}

/* ---- What an answer says of its node ---- */

static struct redlock_lock door;

/* The lock is held, and its extension sent. */
static void extend_door(void)
{
    static const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000
    };
    uint8_t entropy[REDLOCK_ENTROPY_MAX] = { 1, 2, 3 };

    become_ready();
    redlock_add_entropy(&r, entropy, sizeof entropy);
    redlock_lock_init(&door);
    CHECK_INT(redlock_start_acquire(&r, &door, &request, 3), REDLOCK_OK);
    send_all();
    hear("+OK\r\n", 4);
    CHECK_INT(redlock_start_extend(&r, &door, 10000, 5), REDLOCK_OK);
    send_all();
}

TEST(a_script_that_is_not_known_is_a_nodes_trouble_only_where_there_is_no_other)
{
    extend_door();
    hear("-NOSCRIPT No matching script.\r\n", 6);
    CHECK_INT(redlock_view_node(&r, 0, 6).trouble, REDLOCK_TROUBLE_NOSCRIPT);
    send_all();
    hear(":1\r\n", 7);
    CHECK_INT(redlock_view_node(&r, 0, 7).trouble, REDLOCK_TROUBLE_NONE);
    extend_door();
    hear("-OOM command not allowed\r\n", 6);
    CHECK_INT(redlock_start_extend(&r, &door, 10000, 7), REDLOCK_OK);
    send_all();
    hear("-NOSCRIPT No matching script.\r\n", 8);
    CHECK_INT(redlock_view_node(&r, 0, 8).trouble, REDLOCK_TROUBLE_OOM);
}

TEST(s16_an_answer_that_is_wrong_or_ends_the_session_is_one_failure)
{
    static const char *const answers[] = {
        "+OK\r\n", "-READONLY\r\n", "-READONLY You can't write\r\n"
    };

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        extend_door();
        node.failures = 0;
        hear(answers[i], 6);
        TAP_CONTEXT("%s", answers[i]);
        CHECK_INT(node.failures, i != 1);
    }
}

TEST(an_answer_ends_a_row_of_failures)
{
    extend_door();
    node.failures = 5;
    hear(":1\r\n", 6);
    CHECK_INT(node.failures, 0);
}

TEST(s16_a_text_that_reads_like_an_error_is_none)
{
    struct redlock_lock lock;
    struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000, .ticket = true
    };
    uint8_t entropy[REDLOCK_ENTROPY_MAX] = { 1, 2, 3 };

    become_ready();
    redlock_use(&r, &redlock_tickets);
    redlock_add_entropy(&r, entropy, sizeof entropy);
    redlock_lock_init(&lock);
    request.wall_us = 1;
    CHECK_INT(redlock_start_acquire(&r, &lock, &request, 3), REDLOCK_OK);
    send_all();
    hear("$9\r\nREADONLY \r\n", 4);
    CHECK_INT(node.state, NODE_READY);
}

/* ---- Engines of several sessions ---- */

static struct redlock_node nodes[4];
static uint64_t memory_of_four[REDLOCK_MEMORY_DEFAULT(4) / sizeof(uint64_t) + 1];

/* Two nodes, and a subscription for each. */
static void begin_engine(void)
{
    struct redlock_config config;

    redlock_config_init(&config);
    config.wake_ups = true;
    CHECK_INT(redlock_init(&r, &config, nodes, 2, memory_of_four, sizeof memory_of_four, 0),
              REDLOCK_OK);
}

TEST(a_node_is_busy_while_there_is_something_to_send)
{
    begin_engine();
    CHECK(!redlock_node_is_busy(&r, 0));
    redlock_tick(&r, 1);
    redlock_connected(&r, 1, 2);
    CHECK_INT(r.now_us, 2);
    for (unsigned k = 0; k < 2; k++) CHECK_INT(redlock_node_is_busy(&r, k), k);
}

TEST(a_run_id_is_told_that_a_server_has_named_or_that_tells_servers_apart)
{
    begin_engine();
    nodes[1].has_run_id = 1;
    for (unsigned trusts = 0; trusts < 2; trusts++)
        for (unsigned is_derived = 0; is_derived < 2; is_derived++) {
            r.config.trust_unknown = trusts;
            nodes[1].identity.is_derived = is_derived;
            TAP_CONTEXT("%u %u", trusts, is_derived);
            CHECK(!redlock_view_node(&r, 0, r.now_us).run_id);
            CHECK(redlock_view_node(&r, 1, r.now_us).run_id ==
                  (trusts && is_derived ? NULL : nodes[1].run_id));
        }
}

TEST(a_login_is_that_of_a_nodes_subscription_too)
{
    const struct redlock_login login = { .password = "secret" };

    begin_engine();
    CHECK_INT(redlock_set_login(&r, 1, &login), REDLOCK_OK);
    for (unsigned k = 0; k < 4; k++) CHECK_INT(nodes[k].login.password != NULL, k % 2);
    r.config.wake_ups = false;      /* Then there is nothing behind the nodes. */
    CHECK_INT(redlock_set_login(&r, 0, &login), REDLOCK_OK);
    CHECK(!nodes[2].login.password);
}

TEST(a_login_fits_into_the_send_buffer_with_the_words_around_it)
{
    char password[REDLOCK_SEND_MIN(1) + 1];
    const struct redlock_login login = { .password = password };

    begin_engine();
    r.config.send_size = REDLOCK_SEND_MIN(1);
    memset(password, 'x', sizeof password);
    password[REDLOCK_SEND_MIN(1)] = '\0';
    CHECK_INT(redlock_set_login(&r, 1, &login), REDLOCK_BAD_CONFIG);
    password[REDLOCK_SEND_MIN(1) / 2] = '\0';
    CHECK_INT(redlock_set_login(&r, 1, &login), REDLOCK_OK);
}

TEST(a_subscription_that_stands_ends_in_time)
{
    static const struct {
        enum node_state state;
        uint64_t at;
    } rows[] = { { NODE_DISCONNECTED, 0 },
                 { NODE_CONNECTING, 5000 },
                 { NODE_READY, 5000 },
                 { NODE_CLOSING, REDLOCK_NEVER } };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_engine();
        for (unsigned k = 0; k < 2; k++) nodes[k].state = NODE_CLOSING;
        nodes[2].state = NODE_CLOSING;
        nodes[3].state = (uint8_t)rows[i].state;
        if (rows[i].state == NODE_CONNECTING) nodes[3].alarm_at = 6000;
        r.listen_until = 5000;
        TAP_CHECK(redlock_wake_at(&r) == rows[i].at, "row %zu", i);
    }
}

TEST(each_feature_brings_what_it_needs)
{
    static const struct redlock_feature *const features[] = {
        &redlock_tickets, &redlock_sets, &redlock_wake_ups
    };

    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        begin_engine();
        redlock_use(&r, features[i]);
        TAP_CHECK(r.hashing && r.holding, "row %zu", i);
    }
}

TEST(the_part_for_promotions_need_not_be_cleared_and_loads_scripts)
{
    struct redlock_promotions promotions;

    begin_engine();
    memset(&promotions, 0xff, sizeof promotions);
    redlock_use_promotions(&r, &promotions);
    CHECK(r.hashing && promotions.before == plain_scripts_for_one_loaded());
    CHECK(r.scripts->identify != NULL && r.scripts->loading != promotions.before->loading);
    redlock_set_epoch(&promotions, 1, 5);
    for (unsigned k = 0; k < 4; k++) CHECK_INT(promotions.reigns[k].epoch, k == 1 ? 5 : 0);
}

TEST(each_call_that_has_the_time_tells_the_engine)
{
    static const char token[] = "0123456789abcdef0123456789abcdef01234567";
    const struct redlock_request request = { .resource = "door", .resource_size = 4 };
    struct redlock_lock lock;
    struct redlock_sight sights[2];
    char value[REDLOCK_VALUE_TEXT + 1];

    begin_engine();
    redlock_lock_init(&lock);
    lock.entries = 1;       /* As of an earlier operation. */
    CHECK_INT(redlock_start_inspect(&r, &lock, "door", 4, sights, 10), REDLOCK_OK);
    CHECK_INT(r.now_us, 10);
    CHECK(lock.entries == 0 && r.heap == &lock);
    redlock_cancel(&r, &lock, 11);
    CHECK_INT(r.now_us, 11);
    CHECK(!r.heap);
    CHECK(redlock_idle(&lock) && !redlock_copy_name(&lock));
    lock.extension_limit = lock.extension_count = 1;
    lock.ticket = 9;
    CHECK_INT(redlock_adopt(&r, &lock, &request, token, 12), REDLOCK_OK);
    CHECK_INT(r.now_us, 12);
    redlock_pay(&r, &lock, 13);
    CHECK_INT(r.now_us, 13);
    CHECK_INT(redlock_start_extend(&r, &lock, 10000, 11), REDLOCK_LOST);
    CHECK_INT(redlock_start_extend(&r, &lock, 10000, 14), REDLOCK_OK);
    memset(value, 'x', sizeof value);
    redlock_value(&r, &lock, value);
    CHECK_STR(value, token);
    CHECK_INT(redlock_ticket(&lock), 0);
    lock.yields_to = 7;
    redlock_forget(&r, &lock);
    CHECK_INT(lock.yields_to, 7);
}

TEST(names_that_were_noted_are_not_noted_anew_by_the_same_attempt)
{
    char name[REDLOCK_NAME_COPY_MAX + 1];
    const struct redlock_request request = { .resource = name, .resource_size = sizeof name };
    struct redlock_lock lock;

    begin_engine();
    redlock_lock_init(&lock);
    memset(name, 'x', sizeof name);
    CHECK_INT(redlock_adopt(&r, &lock, &request, "0123456789abcdef0123456789abcdef01234567", 12),
              REDLOCK_OK);
    (void)redlock_copy_name(&lock);
    CHECK(redlock_has_its_names(&lock));
    name[0] = 'y';
    (void)redlock_copy_name(&lock);
    CHECK(!redlock_has_its_names(&lock));
    redlock_forget(&r, &lock);
}

TEST(the_largest_set_has_names_that_may_have_changed)
{
    static char bytes[REDLOCK_SET_MAX][2];
    struct redlock_name set[REDLOCK_SET_MAX];
    struct redlock_request request = { .set = set, .set_count = REDLOCK_SET_MAX };
    struct redlock_lock lock;

    begin_engine();
    redlock_use(&r, &redlock_sets);
    redlock_lock_init(&lock);
    for (unsigned i = 0; i < REDLOCK_SET_MAX; i++) {
        bytes[i][0] = (char)('a' + i);
        set[i] = (struct redlock_name){ .bytes = bytes[i], .size = 1 };
    }
    CHECK_INT(redlock_adopt(&r, &lock, &request, "0123456789abcdef0123456789abcdef01234567", 12),
              REDLOCK_OK);
    (void)redlock_copy_name(&lock);
    CHECK(redlock_has_its_names(&lock));
    bytes[3][0] = 'x';
    CHECK(!redlock_has_its_names(&lock));
    redlock_forget(&r, &lock);
}

TAP_MAIN
