/* How redlock_open reads a list of nodes. Nothing is connected, and no name is looked up. */
#include <string.h>

#include "../../../redlock/redlock_client.h"
#include "../../tap.h"

/* No call writes behind the client. */
static struct {
    struct redlock_client client;
    char behind;
} guarded;
#define client guarded.client
static struct redlock_mistake mistake;

static enum redlock_status open_list(const char *list)
{
    enum redlock_status status = redlock_open(&client, list, NULL, &mistake);
    TAP_CONTEXT("\"%s\"", list);
    return status;
}

static void expect_count(const char *list, unsigned count)
{
    CHECK_INT(open_list(list), REDLOCK_OK);
    CHECK_INT(client.engine.node_count, count);
    for (unsigned k = 0; k < count; k++) {
        char address[] = "127.0.0.1:1";
        address[10] = (char)('1' + k);
        CHECK_STR(redlock_node_address(&client, k), address);
    }
    redlock_close(&client, 0);
}

TEST(nodes_are_separated_by_commas_or_white_space)
{
    expect_count("127.0.0.1:1", 1);
    expect_count("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", 3);
    expect_count("127.0.0.1:1 127.0.0.1:2\n127.0.0.1:3", 3);
    expect_count(" \t127.0.0.1:1 , 127.0.0.1:2 ,127.0.0.1:3\r\n", 3);
    expect_count("127.0.0.1:1,\n    127.0.0.1:2,\n    127.0.0.1:3\n", 3);
}

TEST(an_address_that_asks_for_tls_is_refused_where_there_is_none_and_never_reached_without)
{
    static const char *const lists[] = {
        "127.0.0.1:1, rediss://127.0.0.1:2", "127.0.0.1:1, VALKEYS://user:hush@127.0.0.1:2"
    };

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        mistake = (struct redlock_mistake){ .node = 99 };
        CHECK_INT(open_list(lists[i]), REDLOCK_BAD_ADDRESS);
        CHECK_INT(mistake.node, 1);
        CHECK_INT(mistake.at, 13);
        CHECK(strstr(mistake.text, "'make TLS=openssl'") != NULL);
    }
}

/* "$H1,$H2,$H3,$H4,$H5" with two of them unset is no list of three, since its quorum of two shares
 * no node with the others' quorums. */
TEST(s1_an_empty_entry_is_refused_and_its_place_is_told)
{
    static const struct {
        const char *list;
        unsigned node;
        size_t at;
    } cases[] = {
        { ",", 0, 0 },
        { ",127.0.0.1:1", 0, 0 },
        { "  ,127.0.0.1:1", 0, 2 },
        { "127.0.0.1:1,", 1, 12 },
        { "127.0.0.1:1, \n", 1, 14 },
        { "127.0.0.1:1,,127.0.0.1:2", 1, 12 },
        { "127.0.0.1:1, ,127.0.0.1:2", 1, 13 },
        { "127.0.0.1:1 ,\t, 127.0.0.1:2", 1, 14 },
        { "127.0.0.1:1,127.0.0.1:2,,,127.0.0.1:5", 2, 24 },
        { "127.0.0.1:1 127.0.0.1:2,", 2, 24 },
        { "1.1.1.10 1.1.1.11 1.1.1.12 1.1.1.13 1.1.1.14 1.1.1.15 1.1.1.16 1.1.1.17 1.1.1.18 "
          "1.1.1.19 1.1.1.20 1.1.1.21 1.1.1.22 1.1.1.23 1.1.1.24,",
          15, 135 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_INT(open_list(cases[i].list), REDLOCK_BAD_ADDRESS);
        CHECK_INT(mistake.node, cases[i].node);
        CHECK_INT(mistake.at, cases[i].at);
        TAP_CHECK(strstr(mistake.text, "empty"), "\"%s\"", mistake.text);
        CHECK_INT(redlock_open(&client, cases[i].list, NULL, NULL), REDLOCK_BAD_ADDRESS);
    }
}

TEST(a_host_may_be_called_as_a_scheme)
{
    CHECK_INT(open_list("sentinel,sentinels:26379"), REDLOCK_OK);
    CHECK_STR(redlock_node_address(&client, 1), "sentinels:26379");
    redlock_close(&client, 0);
}

TEST(a_list_of_nothing_is_no_list)
{
    CHECK_INT(open_list(""), REDLOCK_BAD_NODE_COUNT);
    CHECK_INT(open_list(" \n\t "), REDLOCK_BAD_NODE_COUNT);
    CHECK_INT(open_list(NULL), REDLOCK_BAD_NODE_COUNT);
}

/* The mistake of an earlier call does not stay. */
TEST(a_status_that_says_all_has_no_words_beside_it)
{
    struct redlock_options options;
    redlock_options_init(&options);
    options.engine.retry_ms = 0;
    CHECK_INT(open_list("127.0.0.1:x"), REDLOCK_BAD_ADDRESS);
    CHECK_INT(redlock_open(&client, "127.0.0.1:1", &options, &mistake), REDLOCK_BAD_CONFIG);
    CHECK_INT(mistake.node, REDLOCK_NO_NODE);
    CHECK_STR(mistake.text, "");
}

TEST(a_node_too_many_is_refused)
{
    char list[16 * REDLOCK_NODES_MAX] = "";
    for (unsigned k = 0; k < REDLOCK_NODES_MAX; k++) strcat(list, "127.0.0.1:1,");
    const size_t size = strlen(list);
    for (unsigned i = 0; i < 3; i++) {
        static const char *const last[] = { "", ",127.0.0.1:1", ",sentinel://127.0.0.1/m" };
        strcpy(list + size - 1, last[i]);
        CHECK_INT(open_list(list), i == 0 ? REDLOCK_OK : REDLOCK_BAD_NODE_COUNT);
        redlock_close(&client, 0);
    }
}

/* The first node's login is in its address. */
TEST(a_user_without_a_password_is_refused_and_no_password_stays)
{
    struct redlock_options options;
    const char *bytes = (const char *)&client;
    redlock_options_init(&options);
    options.user = "ann";
    CHECK_INT(redlock_open(&client, "redis://:swordfish@127.0.0.1:1,127.0.0.1:2", &options,
                           &mistake), REDLOCK_BAD_CONFIG);
    CHECK_INT(mistake.node, 1);
    CHECK_INT(mistake.at, 31);
    CHECK(strstr(mistake.text, "a user needs a password") != NULL);
    for (size_t i = 0; i + 9 <= sizeof client; i++) CHECK(memcmp(bytes + i, "swordfish", 9) != 0);
}

TEST(one_durable_node_is_enough_to_look_after)
{
    CHECK_INT(open_list("127.0.0.1:1,127.0.0.1:2"), REDLOCK_OK);
    CHECK(client.durable.r == NULL);
    redlock_close(&client, 0);
    CHECK_INT(open_list("127.0.0.1:1,redis://127.0.0.1:2?durable=1"), REDLOCK_OK);
    CHECK(client.durable.r == &client.engine);
    redlock_close(&client, 0);
}

TEST(a_holder_that_is_none_is_refused)
{
    static char far_too_long[sizeof guarded + 1];
    struct redlock_options options;
    char longest[REDLOCK_HOLDER_MAX + 2];
    memset(far_too_long, 'x', sizeof guarded);
    memset(longest, 'x', sizeof longest);
    longest[REDLOCK_HOLDER_MAX + 1] = '\0';
    redlock_options_init(&options);
    const char *const wrong[] = { "", "two\nlines", far_too_long, longest };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        options.holder = wrong[i];
        CHECK_INT(redlock_open(&client, "127.0.0.1:1", &options, &mistake), REDLOCK_BAD_CONFIG);
        TAP_CHECK(strstr(mistake.text, "1 to 63 bytes"), "\"%s\"", mistake.text);
        CHECK_INT(mistake.node, REDLOCK_NO_NODE);
    }
    CHECK_INT(guarded.behind, 0);
    longest[REDLOCK_HOLDER_MAX] = '\0';
    CHECK_INT(redlock_open(&client, "127.0.0.1:1", &options, NULL), REDLOCK_OK);
    redlock_close(&client, 0);
}

TAP_MAIN
