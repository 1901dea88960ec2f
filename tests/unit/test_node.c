/* One node's session, fed with bytes. Tests its reports, and the reports that it never makes. The
 * rest is in test_rules. */
#include "../tap.h"

#include "../../redlock/node.h"

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
    redlock_use_loaded_scripts(&r);
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
    CHECK_INT(redlock_node_trouble(&r, 0, 2), trouble);
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
    CHECK_INT(redlock_node_trouble(&r, 0, 2), REDLOCK_TROUBLE_PROTOCOL);
}

TEST(s11_a_guard_that_would_end_after_the_end_of_time_does_not_end)
{
    const uint64_t late = REDLOCK_NEVER - 1000;

    finish_handshake(NULL);
    r.config.guard_ms = REDLOCK_GUARD_MS;
    introduce_itself(late);
    CHECK(redlock_wants(&r, 0) & REDLOCK_WANT_RECEIVE);
    CHECK_INT(redlock_node_trouble(&r, 0, late), REDLOCK_TROUBLE_RESTARTED);
    CHECK(!redlock_node_votes(&r, 0, late));
}

TEST(what_was_not_sent_when_a_connection_broke_is_not_sent_any_more)
{
    size_t size;

    connect_to_it(NULL);
    hear("what?\r\n", 2);
    CHECK_INT(redlock_wants(&r, 0), REDLOCK_WANT_CLOSE);
    redlock_output(&r, 0, &size);
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
    redlock_use_free_in(&r);
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
    CHECK_INT(redlock_free_in_ms(&lock), 5000);
}

TEST(nothing_is_sent_for_a_lock_that_is_idle)
{
    struct redlock_lock lock;
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 10000 };
    uint8_t entropy[REDLOCK_ENTROPY_MAX] = { 1, 2, 3 };
    size_t size;

    become_ready();
    redlock_use_free_in(&r);
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

TAP_MAIN
