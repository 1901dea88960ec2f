/* S31: the part of the handshake that asks a watched node for the age of its master, by itself.
 * Tests what is sent, and what an answer makes of the guard. */
#include "../../tap.h"

#include "../../../redlock/native.h"
#include "../../../redlock/node.h"
#include "../../../redlock/promotion.h"

#include <string.h>

enum { NODES = 3, NOW_US = 5000000 };

static struct redlock r;
static struct redlock_node nodes[NODES];
static struct redlock_promotions promotions;
static uint64_t memory[REDLOCK_MEMORY_DEFAULT(NODES) / sizeof(uint64_t) + 1];

static void begin(void)
{
    CHECK_INT(redlock_init(&r, NULL, nodes, NODES, memory, sizeof memory, NOW_US), REDLOCK_OK);
    redlock_use_promotions(&r, &promotions);
}

TEST(the_age_is_asked_of_watched_nodes_and_the_rest_of_the_handshake_is_as_before)
{
    static const struct {
        enum redlock_command command;
        struct redlock_login login;
        bool is_subscription, is_left_out;
    } rows[] = {
        { REDLOCK_COMMAND_PROMOTION, { .watched = 1 }, false, false },
        { REDLOCK_COMMAND_PROMOTION, { .watched = 1 }, true, true },
        { REDLOCK_COMMAND_PROMOTION, { .durable = 1 }, false, true },
        { REDLOCK_COMMAND_CANARY, { .durable = 1 }, false, false },
        { REDLOCK_COMMAND_CANARY, { .durable = 1 }, true, true },
        { REDLOCK_COMMAND_CANARY, { .watched = 1 }, false, true },
        { REDLOCK_COMMAND_TRIAL, { .managed = 1 }, false, false },
        { REDLOCK_COMMAND_TRIAL, { .watched = 1 }, false, true },
        { REDLOCK_COMMAND_LOAD_RELEASE, { .watched = 0 }, false, false },
        { REDLOCK_COMMAND_LOAD_RELEASE, { .watched = 0 }, true, true },
    };

    begin();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct redlock_node node = {
            .login = rows[i].login, .is_subscription = rows[i].is_subscription
        };
        TAP_CHECK(r.scripts->loading->is_left_out(rows[i].command, &node) == rows[i].is_left_out,
                  "row %zu", i);
    }
}

/* What is written to node k, with its NUL. */
static const char *written(unsigned k, enum redlock_command command,
                           const struct redlock_scripts *scripts)
{
    struct resp_writer w;

    resp_write_begin(&w, nodes[k].send, r.config.send_size - 1, 0);
    scripts->loading->put(&w, command, &nodes[k], scripts);
    nodes[k].send[w.used] = '\0';
    return resp_end(&w) ? (const char *)nodes[k].send : "nothing whole";
}

TEST(each_node_is_asked_with_its_own_epoch)
{
    begin();
    for (unsigned k = 0; k < NODES; k++) redlock_set_epoch(&promotions, k, 7 + k);
    for (unsigned k = 0; k < NODES; k++) {
        const char end[] = { '$', '1', '\r', '\n', (char)('7' + k), '\r', '\n', '\0' };
        const char *text = written(k, REDLOCK_COMMAND_PROMOTION, r.scripts);
        CHECK_STR(text + strlen(text) - strlen(end), end);
    }
}

TEST(scripts_are_loaded_as_before)
{
    char before[2000];

    begin();
    CHECK(strlen(written(0, REDLOCK_COMMAND_LOAD_RELEASE, promotions.before)) < sizeof before);
    strcpy(before, (const char *)nodes[0].send);
    CHECK_STR(written(0, REDLOCK_COMMAND_LOAD_RELEASE, r.scripts), before);
}

/* One that runs no scripts is asked for its own commands, each of two in turn. */
TEST(each_node_is_asked_for_the_native_command_that_it_has_come_to)
{
    begin();
    nodes[0].identity.native = NATIVE_DELEX;
    nodes[1].identity.native = NATIVE_DELIFEQ;
    CHECK(strstr(written(0, REDLOCK_COMMAND_NATIVE, r.scripts), "DELEX") != NULL);
    CHECK(strstr(written(1, REDLOCK_COMMAND_NATIVE, r.scripts), "DELIFEQ") != NULL);
}

/* An answer to node 1, which is asked in the handshake. */
static enum redlock_answer answer(const struct wire_reply *reply)
{
    const struct redlock_asked asked = { .command = REDLOCK_COMMAND_PROMOTION };

    return r.scripts->loading->read(&nodes[1], &asked, r.scripts, reply);
}

#define TEXT(kind, words) { .type = kind, .text = words, .text_size = sizeof words - 1 }
#define NUMBER(value) { .type = RESP_INTEGER, .integer = value, .text = "" }

TEST(an_error_costs_the_guard_and_nothing_else_unless_it_would_end_any_session)
{
    static const struct {
        struct wire_reply reply;
        enum redlock_answer answer;
        uint64_t uptime_us;
    } rows[] = {
        { NUMBER(7), REDLOCK_ANSWER_GRANTED, 7000 },
        { NUMBER(1), REDLOCK_ANSWER_GRANTED, 1000 },
        { NUMBER(0), REDLOCK_ANSWER_GRANTED, 0 },
        { NUMBER(-1), REDLOCK_ANSWER_GRANTED, 0 },
        { TEXT(RESP_ERROR, "NOPERM no EVAL"), REDLOCK_ANSWER_GRANTED, 0 },
        { TEXT(RESP_ERROR, "READONLY "), REDLOCK_ANSWER_ERROR, 0 },
        { TEXT(RESP_BULK, "READONLY "), REDLOCK_ANSWER_WRONG, 0 },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin();
        TAP_CONTEXT("row %zu", i);
        redlock_set_epoch(&promotions, 1, 1);
        nodes[1].identity.has_run_id = true;
        CHECK_INT(answer(&rows[i].reply), rows[i].answer);
        CHECK_INT(nodes[1].uptime_us, rows[i].uptime_us);
        CHECK_INT(promotions.reigns[1].met_epoch, rows[i].answer == REDLOCK_ANSWER_GRANTED);
        CHECK_INT(nodes[1].met_at, rows[i].answer == REDLOCK_ANSWER_GRANTED ? NOW_US : 0);
    }
}

TEST(without_a_failover_or_a_run_id_the_servers_own_words_count)
{
    const struct wire_reply age = NUMBER(7);

    for (unsigned has_run_id = 0; has_run_id < 2; has_run_id++) {
        begin();
        redlock_set_epoch(&promotions, 1, !has_run_id);
        nodes[1].identity.has_run_id = has_run_id;
        CHECK_INT(answer(&age), REDLOCK_ANSWER_GRANTED);
        CHECK_INT(nodes[1].has_run_id, 0);
    }
}

/* It was met 3 ms ago, and had been up for 2 ms. */
TEST(a_master_is_as_old_as_it_says_or_as_is_known_of_it_in_this_epoch)
{
    static const struct {
        int64_t age_ms;
        uint64_t met_epoch;
        uint8_t had_run_id, run_id;     /* The first byte. */
        uint64_t uptime_us;
        bool is_bereft;
    } rows[] = {
        { 1, 2, 1, 'a', 5000, false },
        { 6, 2, 1, 'a', 6000, false },
        { 1, 1, 1, 'a', 1000, false },      /* Another epoch, */
        { 1, 2, 3, 'a', 1000, false },      /* another history, */
        { 1, 2, 1, 'b', 1000, true },       /* another server, */
        { 1, 2, 0, 'a', 1000, false },      /* no server yet. */
        { 1, 2, 0, 'b', 1000, false },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct wire_reply age = NUMBER(rows[i].age_ms);
        struct redlock_node *node = &nodes[1];

        begin();
        TAP_CONTEXT("row %zu", i);
        redlock_set_epoch(&promotions, 1, 2);
        promotions.reigns[1].met_epoch = rows[i].met_epoch;
        node->has_run_id = rows[i].had_run_id;
        node->run_id[0] = rows[i].run_id;
        node->met_at = NOW_US - 3000;
        node->uptime_us = 2000;
        node->identity.has_run_id = true;
        node->identity.run_id[0] = 'a';
        CHECK_INT(answer(&age), REDLOCK_ANSWER_GRANTED);
        CHECK_INT(node->uptime_us, rows[i].uptime_us);
        CHECK_INT(node->is_bereft, rows[i].is_bereft);
        CHECK_INT(node->has_run_id, 1);
        CHECK_INT(node->run_id[0], 'a');
        CHECK_INT(promotions.reigns[1].met_epoch, 2);
    }
}

TAP_MAIN
