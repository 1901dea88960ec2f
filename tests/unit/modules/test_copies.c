/* Bytes that go to several nodes alike are encoded once (redlock_copies). This file looks at
 * the buffers. All stories and simulations use copies, and show that the engine does the
 * same as without. */
#include "../../../redlock/node.h"
#include "../../../redlock/queue.h"
#include "../../../redlock/wire.h"
#include "../../tap.h"

#include <stdio.h>
#include <string.h>

enum { N = 3, PIPELINE = 2 * REDLOCK_PIPELINE_MIN };

static struct redlock engine;
static struct redlock_node nodes[N];
static struct redlock_lock lock, other;
static uint64_t memory[REDLOCK_MEMORY_DEFAULT(N) / sizeof(uint64_t)];
static struct redlock_event ring[64];
static struct redlock_event_ring events;
static uint64_t now_us;

static void feed(void)
{
    uint8_t bytes[REDLOCK_ENTROPY_MAX];
    size_t wanted = redlock_entropy_wanted(&engine);

    memset(bytes, (int)(++now_us & 0xff), sizeof bytes);
    if (wanted > 0) redlock_add_entropy(&engine, bytes, wanted);
}

static void say(unsigned k, const char *text)
{
    size_t room;
    uint8_t *input = redlock_input(&engine, k, &room);

    memcpy(input, text, strlen(text));
    redlock_received(&engine, k, strlen(text), now_us);
}

/* The bytes sent to node k, as text. */
static const char *sent_to(unsigned k)
{
    static char texts[N][4096];
    size_t size, total = 0;
    const uint8_t *bytes;

    while (bytes = redlock_output(&engine, k, &size), size > 0) {
        memcpy(texts[k] + total, bytes, size);
        total += size;
        redlock_sent(&engine, k, size);
    }
    texts[k][total] = '\0';
    return texts[k];
}

static void begin(void)
{
    struct redlock_config config;

    redlock_config_init(&config);
    config.guard_ms = 0;
    config.pipeline = PIPELINE;
    now_us = 1000000;
    CHECK_INT(redlock_init(&engine, &config, nodes, N, memory, sizeof memory, now_us), REDLOCK_OK);
    redlock_use(&engine, &redlock_wake_ups);
    redlock_use(&engine, &redlock_copies);
    redlock_use_events(&engine, NULL, NULL, 0);
    feed();
    redlock_tick(&engine, now_us);
    for (unsigned k = 0; k < N; k++) {
        char text[256];
        redlock_connected(&engine, k, now_us);
        sent_to(k);
        snprintf(text, sizeof text,
                 "+OK\r\n$83\r\nrun_id:%040u\nredis_mode:standalone\nrole:master\r\n\r\n$-1\r\n"
                 "-NOPERM no\r\n-NOPERM no\r\n",
                 k + 1);
        say(k, text);
        CHECK(redlock_node_votes(&engine, k, now_us));
    }
    redlock_lock_init(&lock);
    redlock_lock_init(&other);
}

static void start(struct redlock_lock *which, const char *resource)
{
    const struct redlock_request request = {
        .resource = resource, .resource_size = strlen(resource), .ttl_ms = 10000
    };

    feed();
    CHECK_INT(redlock_start_acquire(&engine, which, &request, now_us), REDLOCK_OK);
}

/* All nodes grant it, and it is to be released. */
static void begin_release(void)
{
    start(&lock, "door");
    for (unsigned k = 0; k < N; k++) sent_to(k);
    for (unsigned k = 0; k < N; k++) say(k, "+OK\r\n");
    CHECK_INT(redlock_start_release(&engine, &lock, now_us), REDLOCK_OK);
}

/* How much lies in the send buffer of node k that was not sent. */
static unsigned waiting_for(unsigned k)
{
    return nodes[k].send_end - nodes[k].send_start;
}

TEST(the_first_output_encodes_for_all_nodes_and_all_get_the_same_bytes)
{
    size_t size;

    begin();
    start(&lock, "door");
    start(&other, "attic");
    redlock_output(&engine, 0, &size);
    CHECK(size > 0 && size == waiting_for(0));
    for (unsigned k = 1; k < N; k++) {
        CHECK_INT(waiting_for(k), size);
        CHECK_INT(nodes[k].asked_count, 2);
        CHECK(memcmp(nodes[k].send, nodes[0].send, size) == 0);
        CHECK(redlock_wants(&engine, k) & REDLOCK_WANT_SEND);
    }
    CHECK(strstr(sent_to(1), "\r\nattic\r\n"));
    for (unsigned k = 0; k < N; k++) sent_to(k);
    for (unsigned k = 0; k < N; k++) say(k, "+OK\r\n+OK\r\n");
    CHECK_INT(redlock_lock_status(&lock), REDLOCK_OK);
    CHECK_INT(redlock_view_lock(&other).confirmed, N);
}

TEST(a_node_that_has_something_to_send_gets_no_copy)
{
    size_t size, before;

    begin();
    start(&lock, "door");
    redlock_output(&engine, 0, &size);
    redlock_sent(&engine, 0, size);
    redlock_sent(&engine, 1, size - 1);
    before = waiting_for(2);
    start(&other, "attic");
    redlock_output(&engine, 0, &size);
    CHECK_INT(waiting_for(1), 1);
    CHECK_INT(waiting_for(2), before);
    CHECK_INT(nodes[1].asked_count, 1);
    CHECK(strstr(sent_to(1), "\r\nattic\r\n"));         /* It encodes for itself. */
    CHECK(strstr(sent_to(2), "\r\nattic\r\n"));
}

TEST(a_node_that_has_been_asked_enough_gets_no_copy)
{
    static struct redlock_lock locks[PIPELINE];

    begin();
    for (unsigned i = 0; i < PIPELINE; i++) {
        redlock_lock_init(&locks[i]);
        start(&locks[i], "door");
        sent_to(0);
        say(0, "+OK\r\n");
        sent_to(1);
    }
    start(&lock, "attic");
    CHECK(strstr(sent_to(0), "\r\nattic\r\n"));
    CHECK_INT(nodes[1].asked_count, PIPELINE);
    CHECK_INT(waiting_for(1), 0);
    CHECK(nodes[1].queue.first == &lock);
}

TEST(a_node_that_is_not_connected_or_has_another_lock_to_serve_first_gets_no_copy)
{
    size_t size;

    begin();
    redlock_disconnected(&engine, 2, "gone", now_us);
    start(&other, "attic");
    other.stakes[0].want = REDLOCK_COMMAND_NONE;
    queue_remove(&nodes[0].queue, &other, 0);
    start(&lock, "door");
    redlock_output(&engine, 0, &size);
    CHECK(size > 0);
    CHECK_INT(waiting_for(1), 0);
    CHECK_INT(nodes[1].asked_count, 0);
    CHECK_INT(nodes[2].asked_count, 0);
}

/* S6: the token sent to a node at the last attempt may be another one. */
TEST(a_release_that_names_another_token_is_no_copy)
{
    size_t size;

    begin();
    begin_release();
    lock.stakes[1].token[REDLOCK_TOKEN_SIZE - 1] ^= 1;
    redlock_output(&engine, 0, &size);
    CHECK_INT(waiting_for(1), 0);
    CHECK_INT(waiting_for(2), size);
    CHECK(strcmp(sent_to(1), sent_to(2)) != 0);
}

TEST(an_acquire_is_a_copy_whatever_token_was_sent_there_before)
{
    size_t size;

    begin();
    start(&lock, "door");
    lock.stakes[1].token[REDLOCK_TOKEN_SIZE - 1] ^= 1;
    redlock_output(&engine, 0, &size);
    CHECK_INT(waiting_for(1), size);
}

/* The other way round, and without the first node. */
TEST(only_what_gives_no_entry_back_is_a_copy_of_what_gives_none_back)
{
    size_t size;

    begin();
    begin_release();
    lock.entries = 1u << 0;
    lock.wait_number = 7;
    redlock_output(&engine, 1, &size);
    CHECK(size > 0);
    CHECK_INT(waiting_for(0), 0);
    CHECK_INT(waiting_for(2), size);
}

TEST(a_release_that_gives_an_entry_back_or_goes_by_text_is_no_copy)
{
    const char *text;
    size_t size;

    begin();
    begin_release();
    lock.stakes[1].form = REDLOCK_FORM_BY_TEXT;
    lock.entries = 1u << 2;
    lock.wait_number = 7;
    redlock_output(&engine, 0, &size);
    CHECK(size > 0);
    CHECK_INT(waiting_for(1), 0);
    CHECK_INT(waiting_for(2), 0);
    text = sent_to(1);
    CHECK(strstr(text, "EVAL\r\n") && !strstr(text, ":7\r\n"));     /* There is no entry there. */
    CHECK(strstr(sent_to(2), ":7\r\n"));
}

TEST(what_waits_in_the_same_queue_for_another_command_is_no_copy)
{
    size_t size;

    begin();
    start(&lock, "door");
    for (unsigned k = 0; k < N; k++) sent_to(k);
    for (unsigned k = 0; k < 2; k++) say(k, "+OK\r\n");
    CHECK_INT(nodes[2].asked_count, 1);
    CHECK_INT(redlock_start_extend(&engine, &lock, 10000, now_us), REDLOCK_OK);
    lock.stakes[2].want = REDLOCK_COMMAND_ACQUIRE;
    redlock_output(&engine, 0, &size);
    CHECK_INT(waiting_for(1), size);
    CHECK_INT(nodes[2].asked_count, 1);
}

TEST(a_script_that_lies_apart_is_no_copy)
{
    size_t size;

    begin();
    begin_release();
    for (unsigned k = 0; k < N; k++) lock.stakes[k].form = REDLOCK_FORM_BY_TEXT;
    engine.config.send_size = 500;
    redlock_output(&engine, 0, &size);
    CHECK(nodes[0].apart != NULL);
    CHECK_INT(waiting_for(1), 0);
    CHECK(strstr(sent_to(1), "EVAL\r\n"));
}

TEST(each_copy_is_told_as_sent)
{
    struct redlock_event event;
    unsigned count = 0, sessions = 0;

    begin();
    redlock_use_events(&engine, &events, ring, 64);
    start(&lock, "door");
    for (unsigned k = 0; k < N; k++) sent_to(k);
    while (redlock_next_event(&events, &event)) {
        if (event.kind != REDLOCK_EVENT_SENT) continue;
        CHECK(event.lock == &lock && event.command == REDLOCK_COMMAND_ACQUIRE);
        sessions |= 1u << event.session;
        count++;
    }
    CHECK_INT(count, N);
    CHECK_INT(sessions, 7);
}

TAP_MAIN
