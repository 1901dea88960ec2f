/* Names of nodes are looked up anew for each connection, by a thread for which nobody waits. Tests
 * the client over a scripted net/. */
#include "scripted_client.h"

enum { GUARD = REDLOCK_GUARD_MS };

/* Every address of the world is a name, whose look-up takes so long. */
static void name_all(uint64_t lookup_us)
{
    for (unsigned k = 0; k < net.node_count; k++) {
        net.hosts[k].is_name = true;
        net.hosts[k].lookup_us = lookup_us;
    }
}

static const char *words_of(unsigned k)
{
    static char words[REDLOCK_ERROR_MAX];
    redlock_describe_node(&client.engine, k, net.now_us, words, sizeof words);
    return words;
}

static bool votes(unsigned k)
{
    return redlock_node_votes(&client.engine, k, net.now_us);
}

static void run_for_ms(uint32_t ms)
{
    (void)redlock_run_for(&client, NULL, ms);
}

static void resolve_again(unsigned k)
{
    net.hosts[k].unresolved = 0;
}

/* ---- When ---- */

TEST(an_address_that_is_a_number_is_never_looked_up)
{
    CLIENT(3);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    for_all(node_cut);
    run_for_ms(1000);
    CHECK(votes(0) && votes(1) && votes(2));
    for (unsigned k = 0; k < 3; k++) CHECK_INT(net.hosts[k].lookups, 0);
    CLOSE(0);
}

TEST(opening_looks_nothing_up_and_a_closed_client_waits_for_no_name_server)
{
    WORLD(3);
    name_all(UINT64_MAX);
    OPEN;
    CHECK_INT(net.opened, 2);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK_INT(net.hosts[0].lookups, 1);
    const uint64_t began = net.now_us;
    CLOSE(0);
    CHECK_INT(net.now_us - began, 0);
}

TEST(a_name_is_looked_up_before_each_connection)
{
    WORLD(3);
    name_all(2 * MS);
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for (unsigned times = 1; times <= 3; times++) {
        for (unsigned k = 0; k < 3; k++) CHECK_INT(net.hosts[k].lookups, times);
        for_all(node_cut);
        run_for_ms(1000);
        CHECK(votes(0) && votes(1) && votes(2));
    }
    CLOSE(0);
}

/* S11: nobody knows what it may have forgotten. */
TEST(a_server_that_is_new_behind_a_name_is_found_and_has_no_vote_until_the_guard_is_over)
{
    WORLD(3);
    name_all(2 * MS);
    OPEN;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    node_move(2);
    run_for_ms(1000);
    CHECK_INT(redlock_view_node(&client.engine, 2, net.now_us).trouble, REDLOCK_TROUBLE_RESTARTED);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_OK);
    CHECK_INT(redlock_view_lock(&door).confirmed, 2);
    run_for_ms(GUARD);
    CHECK(votes(2));
    CLOSE(0);
}

TEST(a_lock_that_is_kept_outlives_all_its_servers_one_after_the_other)
{
    WORLD(3);
    name_all(2 * MS);
    OPEN;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_keep(&client.engine, &door, 0, net.now_us), REDLOCK_OK);
    for (unsigned k = 0; k < 3; k++) {
        node_move(k);
        CHECK_INT(redlock_run_for(&client, &door, GUARD + 5000), REDLOCK_OK);
        CHECK(votes(k));
    }
    CHECK_INT(held_on(&door, "door"), 3);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CLOSE(0);
}

/* ---- A name that has no address ---- */

TEST(a_name_without_an_address_is_a_node_without_a_vote_and_says_why)
{
    WORLD(3);
    name_all(MS);
    net.hosts[1].unresolved = NET_NO_HOST;
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_STR(words_of(1), "no such host");
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(held_on(&door, "door"), 2);
    CLOSE(0);
}

TEST(names_that_leave_no_quorum_are_looked_up_again_while_an_acquire_waits)
{
    WORLD(3);
    name_all(MS);
    for (unsigned k = 0; k < 3; k++) {
        net.hosts[k].unresolved = NET_NO_HOST;
        net_plan(net.now_us + 5000 * MS, resolve_again, k);
    }
    OPEN;
    const uint64_t began = net.now_us;
    CHECK_INT(ACQUIRE(&gate, 0), REDLOCK_NO_QUORUM);
    CHECK_INT(ACQUIRE(&door, 20000), REDLOCK_OK);
    CHECK(taken_ms(began) >= 5000 && taken_ms(began) < 9000);
    CHECK(net.hosts[0].lookups > 3 && net.hosts[0].lookups < 30);
    CLOSE(0);
}

TEST(an_older_address_does_when_the_name_server_says_nothing)
{
    WORLD(3);
    name_all(MS);
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    net.hosts[1].unresolved = NET_NO_SERVER;
    node_cut(1);
    run_for_ms(1000);
    CHECK(votes(1));
    CLOSE(0);
}

TEST(an_older_address_does_not_when_there_is_no_such_host_any_more)
{
    WORLD(3);
    name_all(MS);
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    net.hosts[1].unresolved = NET_NO_HOST;
    node_cut(1);
    run_for_ms(1000);
    CHECK(!votes(1));
    CHECK_STR(words_of(1), "no such host");
    CLOSE(0);
}

TEST(a_look_up_that_cannot_be_begun_is_the_nodes_trouble_and_is_tried_again)
{
    WORLD(3);
    name_all(MS);
    OPEN;
    net.is_full = true;
    CHECK_INT(redlock_connect(&client, 100), REDLOCK_NO_QUORUM);
    for (unsigned k = 0; k < 3; k++) CHECK_STR(words_of(k), "too many open files");
    net.is_full = false;
    CHECK_INT(ACQUIRE(&door, 5000), REDLOCK_OK);
    CLOSE(0);
}

/* ---- A name server that is slow ---- */

TEST(a_name_server_that_hangs_costs_the_other_nodes_nothing)
{
    WORLD(3);
    net.hosts[1].is_name = true;
    net.hosts[1].lookup_us = UINT64_MAX;
    OPEN;
    const uint64_t began = net.now_us;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK(taken_ms(began) <= 1);
    run_for_ms(10000);
    CHECK_INT(net.hosts[1].lookups, 1);
    CHECK_STR(words_of(1), "the name server is slow, or does not answer");
    CLOSE(0);
}

TEST(a_name_that_takes_longer_than_a_node_may_is_known_to_the_next_connection)
{
    for (volatile unsigned every = 0; every < 40; every++) {
        WORLD(3);
        TAP_CONTEXT("%u", every);
        name_all((uint64_t)(NODE_TIMEOUT + 97 * every) * MS);
        OPEN;
        CHECK_INT(ACQUIRE(&door, 20000), REDLOCK_OK);
        for (unsigned k = 0; k < 3; k++) CHECK_INT(net.hosts[k].lookups, 1);
        CLOSE(0);
    }
}

TEST(a_node_is_tried_at_its_older_address_while_its_name_is_looked_up)
{
    for (volatile unsigned is_0 = 0; is_0 < 2; is_0++) {
        WORLD(3);
        name_all(MS);
        net.has_input = is_0;
        OPEN;
        CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
        net.hosts[1].lookup_us = 5000 * MS;
        node_cut(1);
        run_for_ms(10);
        net.has_input = false;      /* The connection is descriptor 0, but the look-up is not. */
        run_for_ms(2000);
        CHECK(votes(1) && (redlock_fd(&client, 1) == 0) == is_0);
        CHECK_INT(net.hosts[1].lookups, 2);
        run_for_ms(4000);           /* The look-up ends, and nobody needs it. */
        node_cut(1);
        run_for_ms(2000);
        CHECK(votes(1));
        CHECK_INT(net.hosts[1].lookups, 3);
        CLOSE(0);
    }
}

TEST(names_may_take_more_or_less_time)
{
    WORLD(3);
    name_all(MS);
    net.hosts[1].lookup_us = 5 * MS;
    net.hosts[2].lookup_us = 9 * MS;
    OPEN;
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_INT(taken_ms(began), 9);
    CLOSE(0);
}

/* The look-up goes on while the node refuses at its older address. */
TEST(a_name_is_looked_up_once_at_a_time)
{
    WORLD(3);
    name_all(MS);
    OPEN;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    net.hosts[1].lookup_us = UINT64_MAX;
    node_kill(1);
    net.hosts[1].welcome = NET_REFUSES_AT_ONCE;
    const unsigned connects = net.hosts[1].connects;
    run_for_ms(10000);
    CHECK(net.hosts[1].connects > connects + 2);
    CHECK_INT(net.hosts[1].lookups, 2);
    CLOSE(0);
}

/* S11: the connection that uses it may end at once. */
TEST(a_name_that_was_known_late_is_used_for_one_connection)
{
    WORLD(3);
    struct loop loop = { 0 };
    name_all(455 * MS);
    OPEN;
    loop_until(&loop, NULL, net.now_us + 451 * MS);
    net_pass(5 * MS);
    all_welcome(NET_REFUSES_AT_ONCE);
    loop_until(&loop, NULL, net.now_us + 2000 * MS);
    CHECK(net.hosts[0].connects > 0 && net.hosts[0].lookups > 1);
    CLOSE(0);
}

/* The connection has been given up, and the next one is not due yet. */
TEST(what_was_looked_up_long_ago_is_looked_up_again)
{
    WORLD(3);
    struct loop loop = { 0 };
    name_all(455 * MS);
    OPEN;
    loop_until(&loop, NULL, net.now_us + 451 * MS);
    CHECK_STR(words_of(0), "the name server is slow, or does not answer");
    net_pass(5 * MS);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    net_pass(60000 * MS);       /* The program does something else. */
    loop_until(&loop, NULL, net.now_us + 10 * MS);
    CHECK_INT(net.hosts[0].lookups, 2);
    CLOSE(0);
}

/* ---- In a loop of the caller's ---- */

TEST(a_loop_is_woken_by_the_answer_of_the_name_server)
{
    for (unsigned steps_ready = 0; steps_ready < 2; steps_ready++) {
        WORLD(3);
        struct loop loop = { .steps_ready = steps_ready };
        name_all(123 * MS);
        OPEN;
        const uint64_t began = net.now_us;
        struct redlock_request request = {
            .resource = "door", .resource_size = 4, .ttl_ms = 10000
        };
        CHECK_INT(redlock_start_acquire(&client.engine, &door, &request, net.now_us), REDLOCK_OK);
        loop_until(&loop, &door, net.now_us + 2000 * MS);
        CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
        CHECK_INT(taken_ms(began), 123);
        CHECK(loop.zeros_max <= 2);
        CLOSE(0);
    }
}

/* Tried for subscriptions, too, and with addresses that refuse, in every order of events. */
TEST(a_loop_finds_its_descriptors_as_promised_whatever_names_do)
{
    for (unsigned seed = 1; seed <= 60; seed++) {
        WORLD(3);
        TAP_CONTEXT("seed %u", seed);
        struct loop loop = { .steps_ready = seed & 1 };
        net.dice = seed;
        net.new_numbers = seed & 2;
        options.interruptible = seed & 4;
        options.engine.wake_ups = true;
        for (unsigned k = 0; k < 3; k++) {
            net.hosts[k].is_name = true;
            net.hosts[k].endpoint_count = 1 + (unsigned)net_below(3);
            net.hosts[k].lookup_us = net_below(2) == 0 ? net_below(1000) : net_below(1500 * MS);
        }
        OPEN;
        for (unsigned turn = 0; turn < 12; turn++) {
            const unsigned k = (unsigned)net_below(3);
            struct redlock_request request = {
                .resource = "door", .resource_size = 4, .ttl_ms = 1000, .wait_ms = 500
            };
            request.wall_us = net_wall_us();
            net.hosts[k].unresolved = (int)net_below(6) > 2 ? 0 : (int)net_below(3);
            if (net_below(2) == 0) node_move(k);
            if (redlock_lock_status(&door) != REDLOCK_PENDING &&
                redlock_valid_us(&door, net.now_us) == 0)
                CHECK_INT(
                    redlock_start_acquire(&client.engine, &door, &request, net.now_us),
                    REDLOCK_OK);
            loop_until(&loop, NULL, net.now_us + net_below(700 * MS));
            CHECK_STR(net.breach, "");
        }
        redlock_forget(&client.engine, &door);
        CLOSE(0);
    }
}

/* The look-up goes on after the connection that the loop waits for; then both end in one step. */
TEST(a_connection_that_ends_in_the_step_in_which_its_late_name_is_known_leaves_no_other_its_number)
{
    for (volatile unsigned is_0 = 0; is_0 < 2; is_0++) {
        WORLD(3);
        struct loop loop = { 0 };
        name_all(MS);
        net.has_input = is_0;
        OPEN;
        loop_until(&loop, NULL, net.now_us + 1000 * MS);
        net.hosts[1].lookup_us = 5000 * MS;
        node_cut(1);
        loop_until(&loop, NULL, net.now_us + 10 * MS);
        net.has_input = false;      /* The connection is descriptor 0, but the look-up is not. */
        loop_until(&loop, NULL, net.now_us + 2000 * MS);
        CHECK(votes(1) && (redlock_fd(&client, 1) == 0) == is_0);
        node_cut(1);
        net_pass(8000 * MS);        /* The program does something else. */
        loop_until(&loop, NULL, net.now_us + 6000 * MS);
        CHECK_STR(net.breach, "");
        CHECK(votes(1));
        CHECK_INT(net.hosts[1].lookups, 3);
        CLOSE(0);
    }
}

/* A tick of the caller's own gives the connection up; the answer comes in the same step. */
TEST(an_answer_that_comes_when_the_engine_has_given_up_is_kept_for_the_next_connection)
{
    WORLD(3);
    struct loop loop = { 0 };
    name_all(NODE_TIMEOUT * MS);
    OPEN;
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    net_pass(NODE_TIMEOUT * MS);
    redlock_tick(&client.engine, net.now_us);
    loop_until(&loop, NULL, net.now_us + 1000 * MS);
    CHECK(votes(0) && votes(1) && votes(2));
    CHECK_INT(net.hosts[0].lookups, 1);
    CLOSE(0);
}

TEST(a_child_of_a_fork_closes_what_its_parent_looks_up)
{
    WORLD(3);
    name_all(UINT64_MAX);
    OPEN;
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    net.process++;
    CLOSE(1000);
}

TAP_MAIN
