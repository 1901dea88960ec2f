/* Tests the client over a net/ that a script plays, for the contract of redlock_client.h,
 * call by call. */
#include "scripted_client.h"

/* ---- Opening ---- */

TEST(opening_connects_to_nothing_and_closing_leaves_nothing_open)
{
    CLIENT(3);
    CHECK_INT(net.opened, 2);       /* The self-pipe. */
    CHECK_INT(net.wait_count, 0);
    CLOSE(1000);
}

TEST(an_open_that_fails_leaves_no_descriptor_open)
{
    WORLD(3);
    net.is_full = true;
    CHECK_INT(open_client(), REDLOCK_SYSTEM);
    CHECK_INT(net.open_count, 0);
    net.is_full = false;
    net.is_starved = true;
    CHECK_INT(open_client(), REDLOCK_NO_ENTROPY);
    CHECK_INT(net.open_count, 0);
    CHECK_STR(net.breach, "");
}

/* ---- Connecting ---- */

/* An address may have a login of its own, and its user may have no name. */
TEST(each_node_gets_its_own_login)
{
    static const char *const users[] = { "ann", NULL, "bob" },
                      *const passwords[] = { "hush", "word", "tick" };
    WORLD(3);
    options.user = "bob";
    options.password = "tick";
    for (unsigned k = 0; k < 3; k++) {
        net.hosts[k].node.user = users[k];
        net.hosts[k].node.password = passwords[k];
    }
    CHECK_INT(redlock_open(&client, "redis://ann:hush@n0,redis://:word@n1,n2", &options, NULL),
              REDLOCK_OK);
    redlock_lock_init(&door);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    CHECK_INT(keys(), 3);
    CLOSE(0);
}

/* What the trace was told last of each session that came or went. */
static struct {
    char words[NET_NODES_MAX][REDLOCK_ERROR_MAX + 32];
    unsigned connected, ended[NET_NODES_MAX];
} told;

static void tell(void *context, uint64_t now_us, unsigned k, enum redlock_traffic what,
                 const void *data, size_t size)
{
    (void)context;
    (void)now_us;
    if (what != REDLOCK_CONNECTED && what != REDLOCK_DISCONNECTED) return;
    told.connected += what == REDLOCK_CONNECTED;
    told.ended[k] += what == REDLOCK_DISCONNECTED;
    (void)snprintf(told.words[k], sizeof told.words[k], "%s %.*s",
                   what == REDLOCK_CONNECTED ? "to" : "ended,", (int)size, (const char *)data);
}

#define WORLD_THAT_TELLS(nodes)                          \
    WORLD(nodes)                                         \
    memset(&told, 0, sizeof told);                       \
    net.has_trace = false;                               \
    options.trace = tell

TEST(the_trace_is_told_where_a_connection_leads_and_why_it_has_ended)
{
    WORLD_THAT_TELLS(3);
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_STR(told.words[0], "to n0:6379");
    CHECK_STR(told.words[1], "to n1:6379");
    node_kill(1);
    net.hosts[1].welcome = NET_REFUSES_AT_ONCE;
    net.hosts[2].node.answers[0] = (struct model_answer){
        .command = "*", .bytes = "", .times = 1, .closes = true
    };
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK_STR(told.words[1], "ended, connection refused");      /* It was tried again at once. */
    CHECK(ACQUIRE(&door, 0) != REDLOCK_PENDING);
    CHECK_STR(told.words[2], "ended, it closed the connection");
    CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
    CHECK_STR(told.words[1], "ended, connection refused");
    CHECK_INT(told.ended[1], net.hosts[1].connects);
    CLOSE(0);
}

/* A tick of the caller's own gives the connections up before they stand. */
TEST(a_connection_that_the_engine_has_given_up_is_not_used_when_it_stands)
{
    struct loop loop = { 0 };
    WORLD_THAT_TELLS(3);
    for (unsigned k = 0; k < 3; k++) net.hosts[k].delay_us = (NODE_TIMEOUT + 10) * MS / 2;
    OPEN;
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    net_pass(NODE_TIMEOUT * MS);
    redlock_tick(&client.engine, net.now_us);
    net_pass(20 * MS);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK_INT(told.connected, 0);
    for (unsigned k = 0; k < 3; k++) net.hosts[k].delay_us = 100;
    loop_until(&loop, NULL, net.now_us + 1000 * MS);
    CHECK_INT(told.connected, 3);
    CLOSE(0);
}

TEST(a_connect_returns_as_soon_as_every_node_has_a_vote)
{
    CLIENT(5);
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_connect(&client, 60000), REDLOCK_OK);
    CHECK(taken_ms(began) <= 1);
    CLOSE(0);
}

TEST(a_connect_does_not_wait_for_nodes_that_refuse)
{
    for (enum net_welcome welcome = NET_REFUSES_AT_ONCE; welcome <= NET_REFUSES_LATER; welcome++) {
        CLIENT(3);
        all_welcome(welcome);
        const uint64_t began = net.now_us;
        CHECK_INT(redlock_connect(&client, 60000), REDLOCK_NO_QUORUM);
        CHECK(taken_ms(began) <= 1);
        CLOSE(0);
    }
}

TEST(a_connect_ends_with_its_wait_or_with_the_nodes_timeout)
{
    CLIENT(3);
    all_welcome(NET_NEVER);
    uint64_t began = net.now_us;
    CHECK_INT(redlock_connect(&client, 200), REDLOCK_NO_QUORUM);
    CHECK_INT(taken_ms(began), 200);
    began = net.now_us;
    CHECK_INT(redlock_connect(&client, 60000), REDLOCK_NO_QUORUM);
    CHECK(taken_ms(began) <= NODE_TIMEOUT);
    began = net.now_us;
    CHECK_INT(redlock_connect(&client, 0), REDLOCK_NO_QUORUM);
    CHECK_INT(taken_ms(began), 0);
    CLOSE(60000);
}

TEST(a_connection_that_stands_at_once_is_used_at_once)
{
    CLIENT(3);
    all_welcome(NET_AT_ONCE);
    const uint64_t began = net.now_us;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(net.now_us - began, 4 * 100);     /* The handshake and the SET, there and back. */
    CLOSE(0);
}

TEST(the_step_that_begins_a_connection_that_stands_at_once_sends_on_it)
{
    CLIENT(3);
    all_welcome(NET_AT_ONCE);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK_INT(net.sent_count, 3);
    CLOSE(0);
}

TEST(the_next_address_of_a_name_is_tried_when_one_refuses)
{
    WORLD(3);
    for (unsigned k = 0; k < 3; k++) net.hosts[k].endpoint_count = k + 2;
    OPEN;
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK(taken_ms(began) <= 2);
    for (unsigned k = 0; k < 3; k++) {
        CHECK(redlock_node_votes(&client.engine, k, net.now_us));
        CHECK_INT(net.hosts[k].connects, k + 2);
    }
    CLOSE(0);
}

TEST(each_address_of_a_name_is_tried_once_before_the_pause)
{
    WORLD(1);
    net.hosts[0].endpoint_count = 4;
    net.hosts[0].welcome = NET_REFUSES_AT_ONCE;
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_NO_QUORUM);
    CHECK_INT(net.hosts[0].connects, 4);
    CLOSE(0);
}

TEST(without_descriptors_no_node_has_a_vote_and_with_them_they_have)
{
    char words[REDLOCK_ERROR_MAX];
    CLIENT(3);
    net.is_full = true;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    redlock_describe_node(&client.engine, 0, net.now_us, words, sizeof words);
    CHECK_STR(words, "too many open files in this process");
    net.is_full = false;
    CHECK_INT(ACQUIRE(&door, 5000), REDLOCK_OK);
    CHECK(is_quorum(held_on(&door, "door")));
    CLOSE(0);
}

/* The words come before the end of the connection, and sending fails by then. */
TEST(a_server_that_turns_us_away_is_quoted)
{
    char words[REDLOCK_ERROR_MAX];
    CLIENT(2);
    net.hosts[1].node.banner = "-ERR max number of clients reached\r\n";
    net.hosts[1].delay_us = 0;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_NO_QUORUM);
    redlock_describe_node(&client.engine, 1, net.now_us, words, sizeof words);
    CHECK_STR(words, "ERR max number of clients reached");
    CLOSE(0);
}

TEST(a_connection_that_is_lost_when_bytes_are_sent_is_lost_once)
{
    const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000
    };
    CLIENT(1);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    node_cut(0);
    CHECK_INT(redlock_step_ready(&client, 0), REDLOCK_OK);
    CHECK_INT(client.engine.nodes[0].failures, 1);
    CLOSE(0);
}

/* A daemon may have closed its standard input, so that a socket or a look-up is descriptor 0. */
TEST(descriptor_0_is_one_like_any_other)
{
    for (volatile unsigned i = 0; i < 2; i++) {
        struct loop loop = { 0 };
        WORLD(1);
        net.hosts[0].is_name = i == 1;
        options.interruptible = false;
        OPEN;
        CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
        CHECK_INT(redlock_fd(&client, 0), i);   /* The look-up's is closed when the step is over. */
        CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
        node_cut(0);
        loop_until(&loop, NULL, net.now_us + 2000 * MS);
        CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
        node_hang(0);
        CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_NO_QUORUM);
        loop_until(&loop, NULL, net.now_us + 2000 * MS);
        CLOSE(0);
    }
}

/* The first address refuses late, the second connects at once and breaks with the first byte. */
TEST(a_connection_that_is_lost_in_the_step_in_which_it_replaced_another_is_closed)
{
    for (volatile unsigned pipes = 0; pipes <= 2; pipes += 2) {
        WORLD(3);
        for (unsigned k = 0; k < 3; k++) net.hosts[k].endpoint_count = 2;
        all_welcome(NET_AT_ONCE);
        net.breaks = 1000;
        options.interruptible = pipes > 0;      /* Otherwise a connection is descriptor 0. */
        OPEN;
        for (unsigned i = 0; i < 20; i++) {
            CHECK_INT(redlock_run_for(&client, NULL, 1000), REDLOCK_OK);
            CHECK(net.open_count <= pipes + 3);
        }
        CLOSE(0);
    }
}

/* S16: the others come first. */
TEST(a_step_takes_no_more_than_so_much_from_one_node)
{
    static char flood[40011];
    CLIENT(3);
    memset(flood, 'x', sizeof flood);
    memcpy(flood, "$40000\r\n", 8);
    memcpy(flood + 40008, "\r\n", 2);
    model_node_plan(
        &net.hosts[0].node,
        (struct model_answer){ .command = "INFO", .bytes = flood, .size = 40010, .times = 1 });
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    net_pass(1 * MS);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    net_pass(1 * MS);
    const size_t before = net.lines[0].arrived.size;
    CHECK(before > 40000);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK(net.lines[0].arrived.size < before && net.lines[0].arrived.size > before / 2);
    CLOSE(0);
}

/* ---- Acquiring ---- */

TEST(an_acquire_is_ok_when_a_quorum_holds_the_token_for_longer_than_it_is_valid)
{
    for (volatile unsigned nodes = 1; nodes <= NET_NODES_MAX; nodes++) {
        CLIENT(nodes);
        const uint64_t began = net.now_us;
        CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
        CHECK(is_quorum(held_on(&door, "door")));
        CHECK(redlock_valid_us(&door, net.now_us) <= 10000 * MS - 102 * MS);
        CHECK(redlock_valid_us(&door, net.now_us) >= 10000 * MS - 102 * MS - (net.now_us - began));
        CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
        CLOSE(1000);
        CHECK_INT(keys(), 0);
    }
}

TEST(bytes_may_come_and_go_one_by_one)
{
    for (unsigned again = 0; again <= 700; again += 700) {
        CLIENT(3);
        net.send_max = net.receive_max = 1;
        net.window = again > 0 ? 7 : 65536;
        net.again = again;
        CHECK_INT(ACQUIRE(&door, 10000), REDLOCK_OK);
        CHECK(is_quorum(held_on(&door, "door")));
        CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_OK);
        CHECK(is_quorum(held_on(&door, "door")));
        CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
        CLOSE(5000);
        CHECK_INT(keys(), 0);
    }
}

TEST(an_acquire_that_may_not_wait_takes_a_node_timeout_at_most)
{
    static void (*const faults[])(unsigned) = { node_hang, node_kill };
    for (unsigned i = 0; i < 2; i++) {
        CLIENT(3);
        CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
        for_all(faults[i]);
        const uint64_t began = net.now_us;
        CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
        CHECK(taken_ms(began) <= NODE_TIMEOUT);
        CHECK_INT(redlock_valid_us(&door, net.now_us), 0);
        CLOSE(0);
    }
}

TEST(a_lost_attempts_memory_is_the_callers_again)
{
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    node_hang(0);
    node_hang(1);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    memset(&door, 0xa5, sizeof door);
    for_all(node_wake);
    CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
    CHECK_INT(keys(), 0);
    for (size_t i = 0; i < sizeof door; i++) CHECK_INT(((const uint8_t *)&door)[i], 0xa5);
    CLOSE(0);
}

TEST(a_taken_lock_is_waited_for_and_had_when_it_is_free)
{
    CLIENT(3);
    for (unsigned k = 0; k < 3; k++)
        model_put(&net.hosts[k].node, "door", "rival", 3000, net.now_us);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_TAKEN);
    uint64_t began = net.now_us;
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_TIMEOUT);
    CHECK(taken_ms(began) >= 900 && taken_ms(began) <= 1000 + NODE_TIMEOUT);
    began = net.now_us;
    CHECK_INT(ACQUIRE(&door, REDLOCK_FOREVER), REDLOCK_OK);
    CHECK(taken_ms(began) >= 1000 && taken_ms(began) <= 5000);
    CLOSE(0);
}

/* The machine sleeps from the moment when the answers are there. They are read before the deadlines
 * are looked at. */
TEST(answers_that_are_there_count_before_the_deadlines_that_have_passed)
{
    for (volatile unsigned n = 1; n <= 5; n++) {
        struct redlock_request request = {
            .resource = "door", .resource_size = 4, .ttl_ms = 10000
        };
        struct redlock_sight sights[NET_NODES_MAX];
        CLIENT(n);
        CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
        CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, net.now_us), REDLOCK_OK);
        CHECK_INT(
            redlock_start_inspect(&client.engine, &gate, "gate", 4, sights, net.now_us),
            REDLOCK_OK);
        CHECK_INT(redlock_step(&client), REDLOCK_OK);
        net_pass(2000 * MS);
        CHECK_INT(redlock_step(&client), REDLOCK_OK);
        CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
        CHECK_INT(held_on(&door, "door"), n);
        CHECK_INT(redlock_lock_status(&gate), REDLOCK_OK);
        for (unsigned k = 0; k < n; k++) CHECK(sights[k].seen);
        CLOSE(0);
    }
}

/* One look at the clock judges the bytes of all connections, and one of them is lost before the
 * others are read. */
TEST(the_engines_time_does_not_go_back_in_a_step_in_which_a_connection_is_lost)
{
    for (volatile unsigned lost = 0; lost < 3; lost++) {
        struct redlock_request request = {
            .resource = "door", .resource_size = 4, .ttl_ms = 10000
        };
        struct redlock_event_ring events;
        struct redlock_event ring[64];
        CLIENT(3);
        CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
        redlock_use_events(&client.engine, &events, ring, 64);
        CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, net.now_us), REDLOCK_OK);
        CHECK_INT(redlock_step(&client), REDLOCK_OK);
        net_pass(20 * MS);
        node_kill(lost);
        net.creep_us = 1;
        CHECK_INT(redlock_step(&client), REDLOCK_OK);
        CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
        CHECK(time_goes_on(&events));
        redlock_use_events(&client.engine, NULL, NULL, 0);
        CLOSE(0);
    }
}

TEST(a_sleep_longer_than_the_ttl_is_too_late_and_nothing_is_held)
{
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 1000 };
    CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, net.now_us), REDLOCK_OK);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    net_pass(2000 * MS);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_TOO_LATE);
    CHECK_INT(redlock_valid_ms(&door), 0);
    CLOSE(0);
}

/* The first command of an operation must not be the one to find out, since its vote
 * would be unknown. */
TEST(connections_that_broke_in_a_long_silence_are_made_anew_before_they_are_used)
{
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for_all(node_cut);
    net_pass(200 * MS);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(held_on(&door, "door"), 3);
    CLOSE(0);
}

/* The SET that was lost may still be executed, so a node is asked again once two releases, a second
 * apart, have found nothing. With one node this second is lost; of several nodes a majority decides
 * at once. */
TEST(a_connection_that_broke_just_now_costs_a_lock_on_one_node_a_second)
{
    CLIENT(1);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    node_cut(0);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_TIMEOUT);
    net_pass(2000 * MS);
    node_cut(0);
    uint64_t since = net.now_us;
    CHECK_INT(ACQUIRE(&door, 2000), REDLOCK_OK);
    CHECK(taken_ms(since) <= 1200);
    CHECK_INT(held_on(&door, "door"), 1);
    CLOSE(0);
}

TEST(without_random_bytes_nothing_is_acquired_and_the_lock_is_as_before)
{
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    /* The engine has random bytes at hand for four attempts. */
    for (unsigned i = 0; i < 4; i++) {
        CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
        CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    }
    net.is_starved = true;
    CHECK_INT(redlock_step(&client), REDLOCK_OK);       /* It wants none. */
    for (unsigned i = 0; i < 6; i++) {
        const enum redlock_status status = ACQUIRE(&gate, 5000);
        CHECK(status == REDLOCK_OK || status == REDLOCK_NO_ENTROPY);
        if (status == REDLOCK_OK) (void)redlock_release(&client, &gate, NULL);
    }
    CHECK_INT(ACQUIRE(&door, 5000), REDLOCK_NO_ENTROPY);
    CHECK(redlock_idle(&door));
    net.is_starved = false;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK(is_quorum(held_on(&door, "door")));
    CLOSE(1000);
}

TEST(the_system_is_asked_again_for_random_bytes_after_a_pause)
{
    const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000
    };
    CLIENT(1);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    while (redlock_entropy_wanted(&client.engine) == 0) {
        CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
        net.is_starved = true;
        CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    }
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    net_pass(1000 * MS);
    CHECK_INT(redlock_step(&client), REDLOCK_NO_ENTROPY);
    net.is_starved = false;
    net_pass(100 * MS - 1);
    CHECK_INT(redlock_step(&client), REDLOCK_NO_ENTROPY);
    net_pass(1);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CLOSE(0);
}

/* The engine has random bytes at hand for four attempts, and is fed as many at once. */
enum { BURST = 3 * REDLOCK_ENTROPY_MAX / REDLOCK_TOKEN_SIZE };
static struct redlock_lock burst[BURST];

static void begin_burst(uint32_t wait_ms)
{
    for (unsigned i = 0; i < BURST; i++) {
        const struct redlock_request request = {
            .resource = &"abcdefghijklmnop"[i], .resource_size = 1, .ttl_ms = 10000,
            .wait_ms = wait_ms
        };
        redlock_lock_init(&burst[i]);
        CHECK_INT(redlock_begin_acquire(&client, &burst[i], &request), REDLOCK_OK);
    }
}

static void expect_burst(void)
{
    for (unsigned i = 0; i < BURST; i++) {
        TAP_CONTEXT("lock %u", i);
        CHECK_INT(redlock_lock_status(&burst[i]), REDLOCK_OK);
        CHECK(redlock_valid_ms(&burst[i]) > 0);
        CHECK_INT(redlock_release(&client, &burst[i], NULL), REDLOCK_OK);
    }
}

TEST(a_loop_that_comes_late_has_random_bytes_for_every_lock)
{
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    begin_burst(5000);
    net_pass(2 * NODE_TIMEOUT * MS);
    CHECK_INT(redlock_run_for(&client, NULL, 5000), REDLOCK_OK);
    expect_burst();
    CLOSE(1000);
}

TEST(a_call_that_needs_random_bytes_has_them_behind_any_number_of_locks_that_were_begun)
{
    const struct redlock_request reader = {
        .kind = &redlock_shared, .resource = "gate", .resource_size = 4, .ttl_ms = 10000
    };
    CLIENT(3);
    CHECK_INT(redlock_acquire_request(&client, &gate, &reader), REDLOCK_OK);
    begin_burst(0);
    CHECK_INT(redlock_upgrade(&client, &gate), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 100), REDLOCK_OK);
    expect_burst();
    CLOSE(1000);
}

/* ---- Interrupting ---- */

static void interrupt(unsigned argument)
{
    (void)argument;
    redlock_interrupt(&client);
}

TEST(an_interrupt_ends_an_acquire_within_a_moment_and_what_it_had_is_released)
{
    CLIENT(3);
    model_put(&net.hosts[0].node, "door", "rival", 60000, net.now_us);
    model_put(&net.hosts[1].node, "door", "rival", 60000, net.now_us);
    net_plan(net.now_us + 700 * MS, interrupt, 0);
    const uint64_t began = net.now_us;
    CHECK_INT(ACQUIRE(&door, REDLOCK_FOREVER), REDLOCK_CANCELLED);
    CHECK_INT(taken_ms(began), 700);
    CHECK_INT(redlock_run_for(&client, NULL, 100), REDLOCK_OK);
    CHECK_INT(keys(), 2);
    CLOSE(0);
}

/* Nobody else may release it, since the program may not call the client again. */
TEST(what_a_cancelled_acquire_had_is_released_before_it_returns)
{
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    node_hang(0);
    node_hang(1);
    net_plan(net.now_us + 200 * MS, interrupt, 0);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_CANCELLED);
    CHECK_INT(keys(), 1);
    net_pass(1 * MS);
    CHECK_INT(keys(), 0);
    CLOSE(0);
}

TEST(an_interrupt_before_the_call_ends_the_next_one_once)
{
    CLIENT(3);
    redlock_interrupt(&client);
    redlock_interrupt(&client);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_CANCELLED);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
    redlock_interrupt(&client);
    CHECK_INT(redlock_run_for(&client, &door, 1000), REDLOCK_CANCELLED);
    redlock_interrupt(&client);
    node_kill(0);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_CANCELLED);
    CLOSE(0);
}

TEST(a_lock_that_has_ended_is_the_callers_again_when_its_next_acquire_is_cancelled_before_it_begins)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_keep(&client.engine, &door, 0, net.now_us), REDLOCK_OK);
    net_pass(20000 * MS);
    CHECK_INT(redlock_run_for(&client, &door, 0), REDLOCK_LOST);
    redlock_interrupt(&client);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_CANCELLED);
    memset(&door, 0xa5, sizeof door);
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    for (size_t i = 0; i < sizeof door; i++) CHECK_INT(((const uint8_t *)&door)[i], 0xa5);
    CLOSE(0);
}

TEST(an_interrupt_does_not_hide_that_a_lock_is_held)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    redlock_interrupt(&client);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_BAD_STATE);
    CHECK(redlock_valid_ms(&door) > 0);
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_CANCELLED);
    CLOSE(0);
}

TEST(an_interrupt_ends_no_extension_and_no_release_and_waits_for_the_next_call)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    redlock_interrupt(&client);
    CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_OK);
    unsigned confirmed;
    CHECK_INT(redlock_release(&client, &door, &confirmed), REDLOCK_OK);
    CHECK(is_quorum(confirmed));
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_CANCELLED);
    CLOSE(0);
}

TEST(a_client_that_is_not_interruptible_has_no_self_pipe)
{
    WORLD(3);
    options.interruptible = false;
    OPEN;
    CHECK_INT(net.opened, 0);
    redlock_interrupt(&client);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CLOSE(0);
}

TEST(signals_stretch_and_shorten_nothing)
{
    CLIENT(3);
    net.signals = 500;
    for_all(node_hang);
    uint64_t began = net.now_us;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CHECK(taken_ms(began) >= NODE_TIMEOUT - 1 && taken_ms(began) <= NODE_TIMEOUT);
    for_all(node_wake);
    CHECK_INT(ACQUIRE(&door, 5000), REDLOCK_OK);
    began = net.now_us;
    CHECK_INT(redlock_run_for(&client, NULL, 300), REDLOCK_OK);
    CHECK_INT(taken_ms(began), 300);
    CLOSE(0);
}

/* ---- Extending and releasing ---- */

TEST(an_extension_of_a_lock_that_has_ended_sends_nothing)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    net_pass(10000 * MS);
    CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_LOST);
    CHECK_INT(model_count_calls(&net.hosts[0].node, "EXTEND"), 0);
    CLOSE(0);
}

TEST(an_extension_takes_a_node_timeout_at_most_and_leaves_the_old_validity)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    node_hang(0);
    node_hang(2);
    const uint64_t began = net.now_us, valid_us = redlock_valid_us(&door, net.now_us);
    CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_NO_QUORUM);
    CHECK(taken_ms(began) <= NODE_TIMEOUT);
    CHECK_INT(redlock_valid_us(&door, net.now_us), valid_us - (net.now_us - began));
    CLOSE(0);
}

TEST(a_release_is_confirmed_by_a_quorum_and_the_rest_is_owed_in_the_client)
{
    unsigned confirmed = 99;
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    CHECK_INT(held_on(&door, "door"), 3);
    node_hang(1);
    CHECK_INT(redlock_release(&client, &door, &confirmed), REDLOCK_OK);
    CHECK_INT(confirmed, 2);
    CHECK_INT(redlock_valid_us(&door, net.now_us), 0);
    memset(&door, 0xa5, sizeof door);
    node_wake(1);
    CHECK_INT(redlock_run_for(&client, NULL, 2000), REDLOCK_OK);
    CHECK_INT(keys(), 0);
    CLOSE(0);
}

TEST(a_release_that_nobody_answers_ends_within_a_node_timeout)
{
    unsigned confirmed = 99;
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    for_all(node_hang);
    const uint64_t began = net.now_us;
    (void)redlock_release(&client, &door, &confirmed);
    CHECK_INT(confirmed, 0);
    CHECK(taken_ms(began) <= NODE_TIMEOUT);
    CLOSE(0);
}

TEST(a_release_of_what_is_not_held_says_lost_and_confirms_nothing)
{
    unsigned confirmed = 99;
    CLIENT(3);
    CHECK_INT(redlock_release(&client, &door, &confirmed), REDLOCK_LOST);
    CHECK_INT(confirmed, 0);
    CLOSE(0);
}

TEST(a_release_of_an_attempt_that_was_lost_in_a_loop_takes_over_what_it_owes)
{
    const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000
    };
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for_all(node_hang);
    CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, net.now_us), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, NODE_TIMEOUT), REDLOCK_OK);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_NO_QUORUM);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_LOST);
    memset(&door, 0xa5, sizeof door);
    for_all(node_wake);
    CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
    CHECK_INT(keys(), 0);
    for (size_t i = 0; i < sizeof door; i++) CHECK_INT(((const uint8_t *)&door)[i], 0xa5);
    CLOSE(0);
}

TEST(all_locks_are_released_in_about_the_time_of_one)
{
    CLIENT(5);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    struct redlock_lock *const both[] = { &door, &gate };
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_release_all(&client, both, 2, 60000), REDLOCK_OK);
    CHECK_INT(net.now_us - began, 200);
    CHECK_INT(keys(), 0);
    CLOSE(0);
}

TEST(a_release_of_all_ends_with_its_wait_and_says_that_some_may_stay)
{
    for (uint32_t wait_ms = 0; wait_ms <= 300; wait_ms += 150) {
        CLIENT(3);
        CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
        CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
        node_hang(0);
        node_hang(1);
        struct redlock_lock *const both[] = { &door, &gate };
        const uint64_t began = net.now_us;
        CHECK_INT(redlock_release_all(&client, both, 2, wait_ms), REDLOCK_NO_QUORUM);
        CHECK_INT(taken_ms(began), wait_ms);
        memset(&door, 0xa5, sizeof door);
        memset(&gate, 0xa5, sizeof gate);
        for_all(node_wake);
        CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
        CHECK_INT(keys(), 0);
        CLOSE(0);
    }
}

/* ---- Running ---- */

TEST(a_run_lasts_as_long_as_it_was_told)
{
    static const uint32_t durations[] = { 0, 1, 77, 5000 };
    CLIENT(3);
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t began = net.now_us;
        CHECK_INT(redlock_run_for(&client, NULL, durations[i]), REDLOCK_OK);
        CHECK_INT(net.now_us - began, durations[i] * MS);
    }
    CLOSE(0);
}

TEST(a_run_returns_when_the_validity_ends_and_not_before)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    const uint64_t until = net.now_us + redlock_valid_us(&door, net.now_us);
    CHECK_INT(redlock_run_for(&client, &door, REDLOCK_FOREVER), REDLOCK_LOST);
    CHECK_INT(net.now_us, until);
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_run_for(&client, &door, 5000), REDLOCK_LOST);
    CHECK_INT(net.now_us, began);
    CLOSE(0);
}

TEST(a_run_keeps_what_is_kept_and_returns_when_its_status_changes)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_keep(&client.engine, &door, 0, net.now_us), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, &door, 60000), REDLOCK_OK);
    CHECK(is_quorum(held_on(&door, "door")));
    for_all(node_kill);
    CHECK_INT(redlock_run_for(&client, &door, 60000), REDLOCK_NO_QUORUM);
    CHECK(redlock_valid_ms(&door) > 1000);
    for_all(node_start);
    CHECK_INT(redlock_run_for(&client, &door, 60000), REDLOCK_OK);
    CHECK(redlock_valid_ms(&door) > 1000);
    CLOSE(0);
}

/* ---- Looking ---- */

TEST(an_inspection_tells_what_each_node_has_and_waits_for_none_beyond_its_timeout)
{
    struct redlock_sight sights[NET_NODES_MAX];
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    model_flush(&net.hosts[1].node);
    node_hang(2);
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_inspect(&client, "door", sights), REDLOCK_OK);
    CHECK(taken_ms(began) <= NODE_TIMEOUT);
    CHECK(sights[0].seen && sights[0].exists);
    CHECK(sights[1].seen && !sights[1].exists);
    CHECK(!sights[2].seen);
    CLOSE(0);
}

/* ---- Closing ---- */

TEST(a_close_pays_what_is_owed_to_nodes_that_answer_in_time)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    net.hosts[1].delay_us = 200 * MS;
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    const uint64_t began = net.now_us;
    CLOSE(5000);
    CHECK(taken_ms(began) <= 400);
    net_pass(200 * MS);
    CHECK_INT(keys(), 0);
}

TEST(a_close_ends_with_its_wait_and_waits_for_no_node_that_is_away)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    node_hang(1);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    uint64_t began = net.now_us;
    CLOSE(300);
    CHECK(taken_ms(began) <= 300);
    OPEN;
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    node_kill(2);
    CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 1000), REDLOCK_OK);
    began = net.now_us;
    CLOSE(60000);
    CHECK(taken_ms(began) <= NODE_TIMEOUT);
}

static void all_are(enum model_condition condition)
{
    for (unsigned k = 0; k < net.node_count; k++) net.hosts[k].node.condition = condition;
}

/* The next try would be due a second later. The first of two may be paid by then. */
TEST(a_close_tries_at_once_what_nodes_would_not_take)
{
    for (volatile unsigned paid = 0; paid < 2; paid++) {
        CLIENT(3);
        CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
        CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
        CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
        all_are(MODEL_MISCONF);
        (void)redlock_release(&client, &door, NULL);
        CHECK_INT(redlock_run_for(&client, NULL, 500), REDLOCK_OK);
        (void)redlock_release(&client, &gate, NULL);
        CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
        CHECK_INT(keys(), 6);
        all_are(MODEL_WELL);
        if (paid) CHECK_INT(redlock_run_for(&client, NULL, 600), REDLOCK_OK);
        CHECK_INT(keys(), paid ? 3 : 6);
        if (paid) redlock_part(&client, &door);     /* It makes room. */
        CLOSE(100);
        CHECK_INT(keys(), 0);
    }
}

/* Locks that are kept, waiting, owed to a node, extended, and acquired. */
enum former { KEPT, WAITING, OWED, EXTENDING, UNDER_WAY, FORMERS };

static void use_in_each_way(struct redlock_lock *locks)
{
    for (unsigned i = 0; i < FORMERS; i++) {
        const struct redlock_request request = {
            .resource = &"abcde"[i], .resource_size = 1, .ttl_ms = 10000,
            .wait_ms = i == WAITING ? REDLOCK_FOREVER : 0
        };
        redlock_lock_init(&locks[i]);
        CHECK_INT(redlock_begin_acquire(&client, &locks[i], &request), REDLOCK_OK);
        if (i == UNDER_WAY) continue;
        CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
        if (i == WAITING) continue;
        CHECK(redlock_valid_ms(&locks[i]) > 0);
        if (i == OWED) CHECK_INT(redlock_release(&client, &locks[i], NULL), REDLOCK_OK);
    }
    CHECK_INT(redlock_keep(&client.engine, &locks[KEPT], 0, net.now_us), REDLOCK_OK);
    CHECK_INT(redlock_start_extend(&client.engine, &locks[EXTENDING], 10000, net.now_us),
              REDLOCK_OK);
}

/* It would write through their links to others, which are gone, or never be idle again. */
TEST(a_client_that_is_opened_again_goes_on_with_its_locks)
{
    struct redlock_lock locks[FORMERS];
    CLIENT(3);
    for (unsigned k = 0; k < 3; k++) model_put(&net.hosts[k].node, "b", "rival", 60000, net.now_us);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    node_hang(2);
    use_in_each_way(locks);
    CLOSE(0);
    for (unsigned i = 0; i < FORMERS; i++) {
        const bool is_held = i == KEPT || i == EXTENDING;
        TAP_CONTEXT("lock %u", i);
        CHECK_INT(redlock_valid_ms(&locks[i]) > 0, is_held);
        CHECK(redlock_lock_status(&locks[i]) != REDLOCK_PENDING);
        CHECK_INT(redlock_idle(&locks[i]), !is_held);
        CHECK(!locks[i].is_kept);
    }
    node_wake(2);
    for (unsigned k = 0; k < 3; k++) model_remove(&net.hosts[k].node, "b");
    OPEN;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    for (unsigned i = 0; i < FORMERS; i++) {
        const bool is_held = i == KEPT || i == EXTENDING;
        TAP_CONTEXT("lock %u", i);
        CHECK_INT(redlock_extend(&client, &locks[i], 10000),
                  is_held ? REDLOCK_OK : REDLOCK_LOST);
        CHECK_INT(redlock_release(&client, &locks[i], NULL), is_held ? REDLOCK_OK : REDLOCK_LOST);
    }
    net_pass(10000 * MS);
    for (unsigned i = 0; i < FORMERS; i++) {
        const char name[] = { "abcde"[i], '\0' };
        TAP_CONTEXT("lock %u", i);
        CHECK_INT(redlock_acquire(&client, &locks[i], name, 10000, 0), REDLOCK_OK);
        CHECK_INT(redlock_release(&client, &locks[i], NULL), REDLOCK_OK);
        CHECK_INT(redlock_run_for(&client, NULL, 100), REDLOCK_OK);
        CHECK(redlock_idle(&locks[i]));
    }
    CLOSE(1000);
}

TEST(a_lock_may_be_parted_from_after_the_close)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CLOSE(0);
    redlock_part(&client, &door);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_LOST);        /* It is new. */
    CHECK_INT(redlock_valid_ms(&door), 0);
    CHECK(redlock_idle(&door));
}

TEST(a_close_leaves_what_is_held_and_forgets_the_password)
{
    WORLD(3);
    options.password = "swordfish";
    CHECK_INT(redlock_open(&client, "redis://:swordfish@n0,n1,n2", &options, NULL), REDLOCK_OK);
    for (unsigned k = 0; k < 3; k++) net.hosts[k].node.password = "swordfish";
    redlock_lock_init(&door);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    CLOSE(1000);
    CHECK_INT(keys(), 3);
    const char *bytes = (const char *)&client;
    for (size_t i = 0; i + 9 <= sizeof client; i++) CHECK(memcmp(bytes + i, "swordfish", 9) != 0);
}

TEST(a_client_may_be_closed_twice)
{
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CLOSE(100);
    CLOSE(100);
}

TEST(a_client_that_was_closed_says_so_and_not_that_another_process_opened_it)
{
    struct redlock_lock *locks[] = { &door };
    struct redlock_sight sights[REDLOCK_NODES_MAX];
    CLIENT(3);
    CLOSE(0);
    CHECK(!redlock_is_forked(&client));
    CHECK_INT(redlock_connect(&client, 100), REDLOCK_NOT_OPEN);
    CHECK_INT(ACQUIRE(&door, 100), REDLOCK_NOT_OPEN);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_NOT_OPEN);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_NOT_OPEN);
    CHECK_INT(redlock_release_all(&client, locks, 1, 100), REDLOCK_NOT_OPEN);
    CHECK_INT(redlock_run_for(&client, NULL, 100), REDLOCK_NOT_OPEN);
    CHECK_INT(redlock_inspect(&client, "door", sights), REDLOCK_NOT_OPEN);
    CHECK_INT(redlock_step(&client), REDLOCK_NOT_OPEN);
    redlock_interrupt(&client);
    CHECK_STR(net.breach, "");
}

TEST(a_client_that_was_never_opened_closes_no_descriptor)
{
    static struct redlock_client never;
    WORLD(3);
    redlock_close(&never, 0);
    CHECK_INT(redlock_step(&never), REDLOCK_NOT_OPEN);
    CHECK_STR(net.breach, "");
}

TEST(an_open_client_is_not_opened_again_and_goes_on)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
    CHECK_INT(redlock_open(&client, "n0,n1,n2", &options, NULL), REDLOCK_ALREADY_OPEN);
    CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    CHECK_INT(keys(), 0);
    CLOSE(1000);
    OPEN;
    CLOSE(0);
}

TEST(a_lock_that_is_parted_from_while_it_is_acquired_is_given_up_and_released)
{
    struct loop loop = { 0 };
    struct redlock_request request;
    CLIENT(3);
    redlock_request_init(&request);
    request.resource = "door";
    request.resource_size = 4;
    request.ttl_ms = 10000;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, net.now_us), REDLOCK_OK);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    redlock_part(&client, &door);
    memset(&door, 0xa5, sizeof door);
    loop_until(&loop, NULL, net.now_us + 100 * MS);
    CHECK_INT(keys(), 0);
    CLOSE(1000);
}

TEST(redlock_next_done_never_names_a_lock_that_was_parted_from)
{
    struct loop loop = { 0 };
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    while (redlock_next_done(&client.engine)) { }
    redlock_part(&client, &door);
    loop_until(&loop, NULL, net.now_us + 100 * MS);
    CHECK_INT(keys(), 0);
    CHECK(redlock_next_done(&client.engine) == NULL);
    CLOSE(1000);
}

TEST(a_lock_whose_extension_says_lost_is_the_callers_again)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    net.now_us += 10000 * MS;
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_LOST);
    CHECK(redlock_idle(&door));
    memset(&door, 0xa5, sizeof door);
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    CLOSE(1000);
}

TEST(the_child_of_a_fork_sends_nothing_and_closes_what_it_has)
{
    struct redlock_sight sights[NET_NODES_MAX];
    struct redlock_lock *const locks[] = { &door };
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_keep(&client.engine, &door, 0, net.now_us), REDLOCK_OK);
    net.process++;
    const unsigned sent = net.sent_count;
    CHECK(redlock_is_forked(&client));
    CHECK_INT(redlock_connect(&client, 100), REDLOCK_FORKED);
    CHECK_INT(ACQUIRE(&gate, 100), REDLOCK_FORKED);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_FORKED);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_FORKED);
    CHECK_INT(redlock_release_all(&client, locks, 1, 100), REDLOCK_FORKED);
    CHECK_INT(redlock_run_for(&client, NULL, 100), REDLOCK_FORKED);
    CHECK_INT(redlock_inspect(&client, "door", sights), REDLOCK_FORKED);
    CHECK_INT(redlock_step(&client), REDLOCK_FORKED);
    CHECK_INT(redlock_step_ready(&client, 7), REDLOCK_FORKED);
    redlock_interrupt(&client);
    CHECK(!net.was_written);
    CLOSE(60000);
    CHECK_INT(net.sent_count, sent);
    CHECK_INT(keys(), 3);
    CHECK(door.in_heap && door.is_kept);        /* Its memory may be the parent's, too. */
}

/* ---- A loop of the caller's ---- */

#define START(lock, name, wait) \
    do { \
        const struct redlock_request start_request = { .resource = (name), \
                                                       .resource_size = strlen(name), \
                                                       .ttl_ms = 10000, \
                                                       .wait_ms = (wait), \
                                                       .wall_us = net_wall_us() }; \
        CHECK_INT( \
            redlock_start_acquire(&client.engine, (lock), &start_request, net.now_us), \
            REDLOCK_OK); \
    } while (0)

TEST(a_loop_that_polls_acquires_and_releases_and_never_spins)
{
    for (volatile unsigned i = 0; i < 4; i++) {
        WORLD(3);
        options.engine.wake_ups = i >= 2;
        OPEN;
        struct loop loop = { .steps_ready = i % 2 == 1 };
        START(&door, "door", 1000);
        loop_until(&loop, &door, net.now_us + 2000 * MS);
        CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
        CHECK(is_quorum(held_on(&door, "door")));
        CHECK_INT(redlock_start_release(&client.engine, &door, net.now_us), REDLOCK_OK);
        loop_until(&loop, &door, net.now_us + 2000 * MS);
        CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
        loop_until(&loop, NULL, net.now_us + 10 * MS);
        CHECK(redlock_idle(&door));
        CHECK_INT(keys(), 0);
        CHECK(loop.zeros_max <= 2);
        CLOSE(0);
    }
}

TEST(a_loop_with_nothing_to_do_sleeps)
{
    CLIENT(3);
    struct loop loop = { 0 };
    loop_until(&loop, NULL, net.now_us + 100 * MS);
    const uint64_t waits = net.wait_count;
    loop_until(&loop, NULL, net.now_us + 60000 * MS);
    CHECK(net.wait_count - waits <= 2);
    CLOSE(0);
}

/* Since poll() does not count the time for which the machine sleeps. */
TEST(a_loop_sleeps_for_no_longer_than_a_second)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_keep(&client.engine, &door, 0, net.now_us), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    CHECK_INT(redlock_poll_ms(&client), 1000);
    CLOSE(0);
}

/* A caller may tell the engine the time, and what it wants then no descriptor reports. */
TEST(a_loop_does_not_sleep_over_what_a_tick_of_the_caller_s_has_begun)
{
    const struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000
    };
    struct loop loop = { 0 };
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    node_hang(1);
    loop_until(&loop, &door, net.now_us + 1000 * MS);
    net_pass(4 * NODE_TIMEOUT * MS);
    redlock_tick(&client.engine, net.now_us);
    CHECK(redlock_wants(&client.engine, 1) & REDLOCK_WANT_CLOSE);
    CHECK_INT(redlock_poll_ms(&client), 0);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    net_pass(5000 * MS);
    redlock_tick(&client.engine, net.now_us);
    CHECK(redlock_wants(&client.engine, 1) & REDLOCK_WANT_CONNECT);
    CHECK_INT(redlock_poll_ms(&client), 0);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK(redlock_poll_ms(&client) > 0);
    CLOSE(0);
}

/* A lock of the same client has it, so that nobody else is woken. */
TEST(who_waits_is_woken_by_a_release)
{
    struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000, .wait_ms = 60000
    };
    WORLD(3);
    options.engine.wake_ups = true;
    OPEN;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_begin_acquire(&client, &gate, &request), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 2), REDLOCK_OK);
    CHECK_INT(redlock_lock_status(&gate), REDLOCK_OK);
    CLOSE(0);
}

/* The system gives numbers of closed descriptors anew at once, and the loop must not take one for
 * the other. */
TEST(a_connection_that_replaces_another_within_a_step_has_another_number)
{
    for (unsigned i = 0; i < 2; i++) {
        CLIENT(3);
        struct loop loop = { .steps_ready = i == 1 };
        loop_until(&loop, NULL, net.now_us + 100 * MS);
        for (unsigned n = 0; n < 20; n++) {
            for (unsigned k = 0; k < 3; k++)
                net.hosts[k].welcome = n % 2 == 0 ? NET_AT_ONCE : NET_LATER;
            for_all(node_cut);
            loop_until(&loop, NULL, net.now_us + 500 * MS);
        }
        CHECK(net.hosts[0].connects > 5);
        CLOSE(0);
    }
}

TEST(steps_send_at_once_what_was_begun)
{
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    START(&door, "door", 0);
    const unsigned sent = net.sent_count;
    CHECK_INT(redlock_step_ready(&client, 0), REDLOCK_OK);
    CHECK_INT(net.sent_count, sent + 3);
    CLOSE(0);
}

TEST(a_step_sends_what_does_not_fit_into_the_buffer_at_once)
{
    static struct redlock_lock locks[100];
    CLIENT(1);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for (unsigned i = 0; i < 100; i++) {
        redlock_lock_init(&locks[i]);
        START(&locks[i], "door", 0);
    }
    CHECK_INT(redlock_step_ready(&client, 0), REDLOCK_OK);
    CHECK(!(redlock_wants(&client.engine, 0) & REDLOCK_WANT_SEND));
    CHECK_INT(redlock_run_for(&client, NULL, 1000), REDLOCK_OK);
    CLOSE(0);
}

TEST(a_step_that_knows_what_is_ready_receives_from_nothing_else)
{
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    START(&door, "door", 0);
    CHECK_INT(redlock_step_ready(&client, 0), REDLOCK_OK);
    net_pass(1 * MS);
    CHECK_INT(redlock_step_ready(&client, 1), REDLOCK_OK);
    CHECK_INT(redlock_vote_of(&door, 0), REDLOCK_VOTE_GRANTED);
    CHECK_INT(redlock_vote_of(&door, 1), REDLOCK_VOTE_PENDING);
    CHECK_INT(redlock_step_ready(&client, 4), REDLOCK_OK);
    CHECK_INT(redlock_vote_of(&door, 1), REDLOCK_VOTE_PENDING);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
    CLOSE(0);
}

/* ---- Debts that find no room ---- */

TEST(a_lock_whose_debts_find_no_room_is_counted)
{
    static struct redlock_lock locks[REDLOCK_PARTED_MAX + 3];
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for_all(node_hang);
    for (unsigned i = 0; i < REDLOCK_PARTED_MAX + 3; i++) {
        redlock_lock_init(&locks[i]);
        CHECK_INT(redlock_adopt(&client.engine, &locks[i],
                                &(struct redlock_request){ .resource = "door", .resource_size = 4 },
                                "0123456789012345678901234567890123456789",
                                net.now_us), REDLOCK_OK);
        CHECK_INT(redlock_start_release(&client.engine, &locks[i], net.now_us), REDLOCK_OK);
    }
    CHECK_INT(redlock_run_for(&client, NULL, NODE_TIMEOUT), REDLOCK_OK);
    for (unsigned i = 0; i < REDLOCK_PARTED_MAX + 3; i++) redlock_part(&client, &locks[i]);
    CHECK_INT(client.given_up, 3);
    memset(locks, 0xa5, sizeof locks);
    for_all(node_wake);
    CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CHECK_INT(client.given_up, 3);
    CLOSE(1000);
}

TEST(a_debt_that_is_paid_makes_room_for_another)
{
    CLIENT(3);
    net.hosts[2].delay_us = 5 * MS;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for (unsigned i = 0; i < REDLOCK_PARTED_MAX + 5; i++) {
        CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
        CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
        CHECK_INT(redlock_run_for(&client, NULL, 30), REDLOCK_OK);
    }
    CHECK_INT(client.given_up, 0);
    CLOSE(1000);
}

/* How often the engine has forgotten a lock since the events were last read. */
static unsigned forgotten(struct redlock_event_ring *events)
{
    struct redlock_event event;
    unsigned count = 0;
    while (redlock_next_event(events, &event)) count += event.kind == REDLOCK_EVENT_FORGOTTEN;
    return count;
}

/* Metrics count locks by these events. */
TEST(a_lock_that_was_parted_from_is_forgotten_once_when_it_is_idle)
{
    struct redlock_event_ring events;
    struct redlock_event ring[256];
    CLIENT(3);
    redlock_use_events(&client.engine, &events, ring, 256);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    net.hosts[2].delay_us = 5 * MS;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 30), REDLOCK_OK);
    CHECK_INT(forgotten(&events), 0);       /* It has moved, and owed something. */
    redlock_part(&client, &gate);
    CHECK_INT(forgotten(&events), 2);
    redlock_part(&client, &gate);
    CHECK_INT(forgotten(&events), 1);
    CLOSE(0);
}

/* The set is sorted in place, and its names are the caller's too. */
TEST(a_debts_names_are_the_clients_own)
{
    for (volatile unsigned i = 0; i < 3; i++) {
        /* No copy of it is in the lock. */
        char name[REDLOCK_NAME_COPY_MAX + 1], names[3][8] = { "hallway", "garage", "loft" };
        struct redlock_name set[] = {
            { .bytes = names[0], .size = 7, .shared = i == 2 },
            { .bytes = names[1], .size = 6 },
            { .bytes = names[2], .size = 4 }
        };
        struct redlock_request request = {
            .resource = name, .resource_size = sizeof name, .ttl_ms = 10000
        };
        CLIENT(3);
        memset(name, 'n', sizeof name);
        if (i >= 1) request.set = set, request.set_count = 3;
        if (i == 2) request.kind = &redlock_shared;
        CHECK_INT(redlock_acquire_request(&client, &door, &request), REDLOCK_OK);
        CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
        node_kill(1);
        CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
        memset(name, 'x', sizeof name);
        memset(names, 'x', sizeof names);
        memset(set, 0, sizeof set);
        node_start(1);
        CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
        CHECK_INT(keys(), 0);
        CLOSE(0);
    }
}

/* A loop that forgets the wall clock would get no ticket, and be woken by nobody. */
TEST(what_a_loop_begins_has_the_wall_clock)
{
    struct redlock_request request;
    CLIENT(3);
    redlock_request_init(&request);
    request.resource = "door";
    request.resource_size = 4;
    request.ttl_ms = 10000;
    request.wait_ms = 1000;
    request.ticket = true;
    CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, redlock_now_us()),
              REDLOCK_BAD_CLOCK);
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    CHECK_INT(request.wall_us, 0);      /* The caller's is left as it is. */
    CHECK(door.line.arrived_at > 0 && door.line.arrived_at <= redlock_wall_us());
    CHECK_INT(redlock_run_for(&client, NULL, 100), REDLOCK_OK);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
    CHECK(redlock_ticket(&door) > 0);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    request.wall_us = redlock_wall_us() - 1000 * MS;    /* The caller's goes before the client's. */
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    CHECK_INT(door.line.arrived_at, request.wall_us);
    CHECK_INT(redlock_run_for(&client, NULL, 100), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CLOSE(1000);
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_NOT_OPEN);
}

/* ---- Copies of names ---- */

/* The key of that name, by a request, for bytes that are not a text. */
static enum redlock_status acquire_bytes(const void *name, size_t size)
{
    const struct redlock_request request = {
        .resource = name, .resource_size = size, .ttl_ms = 10000
    };
    return redlock_acquire_request(&client, &door, &request);
}

TEST(the_bytes_of_a_short_name_may_be_reused_as_soon_as_it_is_acquired)
{
    static const size_t sizes[] = { 1, 4, REDLOCK_NAME_COPY_MAX - 1, REDLOCK_NAME_COPY_MAX };
    for (volatile unsigned i = 0; i < 4; i++) {
        char name[REDLOCK_NAME_COPY_MAX];
        unsigned confirmed = 0;
        CLIENT(3);
        memset(name, 'n', sizeof name);
        CHECK_INT(acquire_bytes(name, sizes[i]), REDLOCK_OK);
        memset(name, 'x', sizeof name);
        CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_OK);
        memset(name, 'n', sizeof name);
        CHECK_INT(model_find(&net.hosts[0].node, 0, name, sizes[i], net.now_us) != NULL, 1);
        memset(name, 'x', sizeof name);
        CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
        CHECK_INT(redlock_release(&client, &door, &confirmed), REDLOCK_OK);
        CHECK(is_quorum(confirmed));
        CLOSE(1000);
        CHECK_INT(keys(), 0);
    }
}

TEST(a_longer_name_and_a_set_are_the_callers_and_not_copied)
{
    char name[REDLOCK_NAME_COPY_MAX + 1];
    struct redlock_name set[] = { { .bytes = "gate", .size = 4 }, { .bytes = "hall", .size = 4 } };
    const struct redlock_request request = { .set = set, .set_count = 2, .ttl_ms = 10000 };
    CLIENT(3);
    memset(name, 'n', sizeof name);
    CHECK_INT(acquire_bytes(name, sizeof name), REDLOCK_OK);
    CHECK(!redlock_copy_name(&door));
    CHECK(door.name.bytes == name);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CHECK(!redlock_copy_name(&door));       /* Idle: its name may be gone. */
    CHECK_INT(redlock_acquire_request(&client, &door, &request), REDLOCK_OK);
    CHECK(!redlock_copy_name(&door));
    CHECK(door.name.bytes == set);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CLOSE(1000);
    CHECK_INT(keys(), 0);
}

/* The lock's earlier content does not matter: i is 0 for a long name, 1 for a set, 2 for a long
 * name of a lock that an event loop acquired. */
TEST(a_name_that_is_not_copied_and_has_changed_is_refused_and_nothing_is_lost)
{
    for (volatile unsigned i = 0; i < 3; i++) {
        char name[REDLOCK_NAME_COPY_MAX + 1], hall[] = "hallway";
        struct redlock_name set[] = {
            { .bytes = "gate", .size = 4 }, { .bytes = hall, .size = sizeof hall - 1 }
        };
        struct redlock_request request = {
            .resource = name, .resource_size = sizeof name, .ttl_ms = 10000
        };
        char *changed = i == 1 ? hall + sizeof hall - 2 : name + sizeof name - 1, was;
        CLIENT(3);
        memset(name, 'n', sizeof name);
        if (i == 1) request.set = set, request.set_count = 2;
        for (unsigned round = 0; round < 2; round++) {
            if (i == 2) {
                CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
                CHECK_INT(redlock_run_for(&client, NULL, 100), REDLOCK_OK);
                CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_OK);
            } else CHECK_INT(redlock_acquire_request(&client, &door, &request), REDLOCK_OK);
            was = *changed;
            *changed = 'x';
            CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_BAD_RESOURCE);
            CHECK_INT(redlock_upgrade(&client, &door), REDLOCK_BAD_RESOURCE);
            CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_BAD_RESOURCE);
            CHECK(redlock_valid_us(&door, redlock_now_us()) > 0);
            *changed = was;
            CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_OK);
            CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
            *changed = (char)('a' + round);         /* Another name in the same bytes. */
        }
        CLOSE(1000);
        CHECK_INT(keys(), 0);
    }
}

/* As tools that look for memory that was never set leave it. */
TEST(a_lock_that_was_never_made_ready_is_refused)
{
    static const uint8_t fills[] = { 0xa5, 0xcd, 0xff };

    CLIENT(3);
    for (unsigned i = 0; i < sizeof fills; i++) {
        memset(&door, fills[i], sizeof door);
        CHECK_INT(ACQUIRE(&door, 0), REDLOCK_BAD_LOCK);
        CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_BAD_LOCK);
        CHECK_INT(redlock_upgrade(&client, &door), REDLOCK_BAD_LOCK);
        CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_BAD_LOCK);
    }
    redlock_lock_init(&door);
    CLOSE(1000);
}

TEST(a_copied_name_moves_with_its_lock)
{
    char name[] = "door";
    CLIENT(3);
    CHECK_INT(redlock_acquire(&client, &door, name, 10000, 0), REDLOCK_OK);
    redlock_move(&client.engine, &gate, &door, name);
    memset(name, 'x', 4);
    memset(&door, 0xa5, sizeof door);
    CHECK_INT(redlock_extend(&client, &gate, 20000), REDLOCK_OK);
    CHECK(is_quorum(held_on(&gate, "door")));
    CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    CLOSE(1000);
    CHECK_INT(keys(), 0);
}

TEST(the_name_of_an_adopted_lock_is_copied_when_it_is_extended)
{
    char name[] = "door", token[REDLOCK_TOKEN_TEXT + 1];
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    redlock_token(&door, token);
    redlock_forget(&client.engine, &door);
    CHECK_INT(redlock_adopt(&client.engine, &gate,
                            &(struct redlock_request){ .resource = name, .resource_size = 4 },
                            token, net.now_us),
              REDLOCK_OK);
    CHECK_INT(redlock_extend(&client, &gate, 20000), REDLOCK_OK);
    memset(name, 'x', 4);
    CHECK_INT(redlock_release(&client, &gate, NULL), REDLOCK_OK);
    CLOSE(1000);
    CHECK_INT(keys(), 0);
}

/* The engine does not copy unless it is asked either, since a lock there may be one of 100,000. */
TEST(the_engine_copies_a_name_when_it_is_asked)
{
    char name[] = "door";
    const struct redlock_request request = {
        .resource = name, .resource_size = 4, .ttl_ms = 10000
    };
    struct loop loop = { 0 };
    CLIENT(3);
    CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, net.now_us), REDLOCK_OK);
    CHECK(door.name.bytes == name);
    CHECK(redlock_copy_name(&door));
    memset(name, 'x', 4);
    loop_until(&loop, &door, net.now_us + 1000 * MS);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
    CHECK(is_quorum(held_on(&door, "door")));
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CLOSE(1000);
}

/* ---- Other calls that wait ---- */

TEST(a_reader_becomes_a_writer_and_a_reader_again)
{
    const struct redlock_request request = {
        .kind = &redlock_shared, .resource = "door", .resource_size = 4, .ttl_ms = 10000
    };
    CLIENT(3);
    CHECK_INT(redlock_acquire_request(&client, &door, &request), REDLOCK_OK);
    CHECK_INT(redlock_upgrade(&client, &door), REDLOCK_OK);
    CHECK_INT(redlock_acquire_request(&client, &gate, &request), REDLOCK_TAKEN);
    CHECK_INT(redlock_downgrade(&client, &door), REDLOCK_OK);
    CHECK_INT(redlock_acquire_request(&client, &gate, &request), REDLOCK_OK);
    CHECK_INT(redlock_upgrade(&client, &door), REDLOCK_TAKEN);
    CLOSE(1000);
    CHECK_INT(redlock_upgrade(&client, &door), REDLOCK_NOT_OPEN);
    CHECK_INT(redlock_downgrade(&client, &door), REDLOCK_NOT_OPEN);
}

TEST(a_question_is_asked_of_its_node_alone_and_waited_for)
{
    static const struct redlock_name words[] = {
        { .bytes = "GET", .size = 3 }, { .bytes = "door", .size = 4 }
    };
    struct redlock_question question = { 0 };
    char reply[100];
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_INT(redlock_ask_node(&client, &question, 9, words, 2, reply, sizeof reply),
              REDLOCK_BAD_QUESTION);
    node_hang(1);
    CHECK_INT(redlock_ask_node(&client, &question, 0, words, 2, reply, sizeof reply), REDLOCK_OK);
    CHECK_INT(redlock_ask_node(&client, &question, 1, words, 2, reply, sizeof reply),
              REDLOCK_NO_ANSWER);
    node_wake(1);
    CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
    node_hang(1);
    net_plan(net.now_us + 20 * MS, interrupt, 0);
    CHECK_INT(redlock_ask_node(&client, &question, 1, words, 2, reply, sizeof reply),
              REDLOCK_CANCELLED);
    memset(&question, 0xa5, sizeof question);
    CHECK_INT(redlock_run_for(&client, NULL, 4 * NODE_TIMEOUT), REDLOCK_OK);
    for (size_t i = 0; i < sizeof question; i++) CHECK_INT(((const uint8_t *)&question)[i], 0xa5);
    question = (struct redlock_question){ 0 };
    CLOSE(0);
    CHECK_INT(redlock_ask_node(&client, &question, 0, words, 2, reply, sizeof reply),
              REDLOCK_NOT_OPEN);
}

TEST(a_period_is_marked_once_and_nodes_that_are_away_are_waited_for)
{
    const struct redlock_period period = { .period_ms = 60000, .who = "web2" };
    struct redlock_period missed = period;
    struct redlock_mark mark = { 0 };
    CLIENT(3);
    missed.at_us = net_now_us() - 120000 * MS;      /* The job was due two periods ago. */
    missed.wall_us = net_wall_us() - 120000 * MS;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_mark_period(&client, &mark, &gate, &period, 0), REDLOCK_LOST);
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_OK);
    CHECK_INT(redlock_mark_period(&client, &mark, &door, &period, 0), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_mark_period(&client, &mark, &door, &period, 1000), REDLOCK_ALREADY);
    for_all(node_kill);
    uint64_t began = net.now_us;
    CHECK_INT(redlock_mark_period(&client, &mark, &gate, &period, 0), REDLOCK_NO_QUORUM);
    CHECK(taken_ms(began) <= NODE_TIMEOUT);
    net_plan(net.now_us + 100 * MS, interrupt, 0);
    began = net.now_us;
    CHECK_INT(redlock_mark_period(&client, &mark, &gate, &period, 2000), REDLOCK_CANCELLED);
    CHECK_INT(taken_ms(began), 100);
    began = net.now_us;
    CHECK_INT(redlock_mark_period(&client, &mark, &gate, &period, 500), REDLOCK_NO_QUORUM);
    CHECK(taken_ms(began) >= 500 && taken_ms(began) <= 500 + NODE_TIMEOUT);
    for (unsigned k = 0; k < 3; k++) net_plan(net.now_us + 300 * MS, node_start, k);
    CHECK_INT(redlock_mark_period(&client, &mark, &gate, &period, 5000), REDLOCK_OK);
    CHECK_INT(redlock_extend(&client, &gate, 10000), REDLOCK_OK);
    CHECK_INT(redlock_mark_period(&client, &mark, &gate, &missed, 0), REDLOCK_TOO_LATE);
    const unsigned sent = net.sent_count;
    interrupt(0);
    CHECK_INT(redlock_mark_period(&client, &mark, &gate, &period, 0), REDLOCK_CANCELLED);
    CHECK_INT(net.sent_count, sent);
    for_all(node_hang);
    net_plan(net.now_us + 20 * MS, interrupt, 0);
    began = net.now_us;
    CHECK_INT(redlock_mark_period(&client, &mark, &gate, &period, 5000), REDLOCK_CANCELLED);
    CHECK_INT(taken_ms(began), 20);
    memset(&mark, 0xa5, sizeof mark);
    for_all(node_wake);
    CHECK_INT(redlock_run_for(&client, NULL, 100), REDLOCK_OK);
    for (size_t i = 0; i < sizeof mark; i++) CHECK_INT(((const uint8_t *)&mark)[i], 0xa5);
    mark = (struct redlock_mark){ 0 };
    CLOSE(0);
    CHECK_INT(redlock_mark_period(&client, &mark, &gate, &period, 0), REDLOCK_NOT_OPEN);
}

/* The other lock was never acquired. */
TEST(a_release_of_all_says_whether_a_quorum_knows)
{
    for (volatile unsigned dead = 0; dead < 3; dead++) {
        struct redlock_lock *const both[] = { &gate, &door };
        CLIENT(3);
        CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
        CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
        for (unsigned k = 0; k < dead; k++) node_kill(k);
        CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
        CHECK_INT(redlock_release_all(&client, both, 2, 5000),
                  dead < 2 ? REDLOCK_OK : REDLOCK_NO_QUORUM);
        CHECK_INT(keys(), dead);
        CLOSE(0);
    }
}

TEST(a_release_of_all_that_may_not_wait_is_sent_all_the_same)
{
    struct redlock_lock *const one[] = { &door };
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    const unsigned sent = net.sent_count;
    CHECK_INT(redlock_release_all(&client, one, 1, 0), REDLOCK_NO_QUORUM);
    CHECK_INT(net.sent_count, sent + 3);
    CLOSE(1000);
}

TEST(a_release_of_all_gives_up_what_waits_and_waits_for_nodes_that_answer_late)
{
    struct redlock_lock *const both[] = { &door, &gate };
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    START(&gate, "door", 60000);
    CHECK_INT(redlock_run_for(&client, &gate, 50), REDLOCK_PENDING);
    net.hosts[2].delay_us = 10 * MS;
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_release_all(&client, both, 2, 60000), REDLOCK_OK);
    CHECK(taken_ms(began) <= 50);
    CHECK_INT(keys(), 0);
    CLOSE(0);
}

/* Whatever may be left of it ends with its TTL. */
TEST(a_release_of_all_counts_a_lock_as_gone_whose_validity_has_ended)
{
    struct redlock_lock *const one[] = { &door };
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_run_for(&client, NULL, 10), REDLOCK_OK);
    for_all(node_hang);
    net_pass(redlock_valid_us(&door, net.now_us));
    CHECK_INT(redlock_release_all(&client, one, 1, 0), REDLOCK_OK);
    CHECK_INT(keys(), 3);
    CLOSE(0);
}

/* A quorum has granted it, and confirmed no release. */
TEST(a_release_of_all_does_not_take_the_votes_of_an_acquire_for_those_of_a_release)
{
    struct redlock_request request = {
        .resource = "door", .resource_size = 4, .ttl_ms = 10000, .min_validity_ms = 9000
    };
    struct redlock_lock *const one[] = { &door };
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    net_pass(2000 * MS);
    for_all(node_hang);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_TOO_LATE);
    CHECK_INT(redlock_view_lock(&door).confirmed, 3);
    CHECK_INT(redlock_release_all(&client, one, 1, 0), REDLOCK_NO_QUORUM);
    CHECK_INT(keys(), 3);
    CLOSE(0);
}

TEST(the_engines_time_does_not_go_back_after_a_long_silence)
{
    struct redlock_event_ring events;
    struct redlock_event ring[64];
    CLIENT(3);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    redlock_use_events(&client.engine, &events, ring, 64);
    net_pass(200 * MS);
    net.creep_us = 1;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK(time_goes_on(&events));
    CLOSE(0);
}

TEST(what_cannot_be_inspected_is_refused)
{
    struct redlock_sight sights[NET_NODES_MAX];
    CLIENT(3);
    CHECK_INT(redlock_inspect(&client, "", sights), REDLOCK_BAD_RESOURCE);
    CLOSE(0);
}

/* ---- Severed behind every byte ---- */

static void sever_everywhere(size_t to_node, size_t to_client, unsigned mask)
{
    for (unsigned k = 0; k < net.node_count; k++) {
        net.hosts[k].sever_to_node = mask >> k & 1 ? to_node : SIZE_MAX;
        net.hosts[k].sever_to_client = mask >> k & 1 ? to_client : SIZE_MAX;
    }
}

/* Each first connection breaks; the next ones hold. */
static void acquire_severed(size_t after, bool to_node, unsigned mask)
{
    CLIENT(3);
    sever_everywhere(to_node ? after : SIZE_MAX, to_node ? SIZE_MAX : after, mask);
    TAP_CONTEXT("severed after %zu bytes to the %s of nodes %u", after, to_node ? "node" : "client",
                mask);
    (void)redlock_step(&client);
    sever_everywhere(SIZE_MAX, SIZE_MAX, 0);
    const uint64_t began = net.now_us;
    const enum redlock_status status = ACQUIRE(&door, 0);
    CHECK(taken_ms(began) <= 2 * NODE_TIMEOUT);
    CHECK(status == REDLOCK_OK || status == REDLOCK_NO_QUORUM);
    if (mask == 1) CHECK_INT(status, REDLOCK_OK);
    if (status == REDLOCK_OK) CHECK(is_quorum(held_on(&door, "door")));
    if (status == REDLOCK_OK) (void)redlock_release(&client, &door, NULL);
    memset(&door, 0xa5, sizeof door);
    CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
    CHECK_INT(keys(), 0);
    CLOSE(0);
}

TEST(connections_that_break_behind_any_byte_leave_nothing_behind)
{
    for (size_t after = 0; after < 1400; after += (after < 600 ? 3 : 7) * tap_sample())
        for (unsigned i = 0; i < 4; i++) acquire_severed(after, i % 2 == 0, i < 2 ? 1 : 3);
}

TAP_MAIN
