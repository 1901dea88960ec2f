/* Nodes whose master sentinels name (S31), over a scripted net/. n0, n1 and n2 are sentinels, n3
 * and n4 masters. */
#include "scripted_client.h"

#include "../../../net/redlock_transport.h"
#include "../../../redlock/client.h"

enum { SENTINELS = 3, OLD = 3, NEW = 4, NOWHERE = 5, GUARD = 20000 };

static const char ADDRESS[] = "sentinel://n0,n1,n2/mymaster",
                  BEHIND_ANOTHER[] = "n4,sentinel://n0,n1,n2/mymaster";
static struct redlock_sentinels sentinels, other_sentinels;
static struct redlock_client other;
static struct redlock_lock other_door;
static struct redlock_mistake mistake;

static void name_master(unsigned first, unsigned last, const char *master, unsigned epoch)
{
    for (unsigned k = first; k <= last; k++) {
        net.hosts[k].node.master = master;
        net.hosts[k].node.epoch = epoch;
    }
}

/* All servers have been up for long, and the sentinels name the old master. */
static void begin(void)
{
    memset(&client, 0, sizeof client);      /* A test that failed has left them open. */
    memset(&other, 0, sizeof other);
    take_options();
    options.engine.guard_ms = GUARD;
    redlock_use_sentinels(&options, &sentinels);
    for (unsigned k = 0; k < SENTINELS; k++) {
        net.hosts[k].node.role = MODEL_SENTINEL;
        net.hosts[k].node.mode = "sentinel";
    }
    name_master(0, 2, "n3", 0);
    redlock_lock_init(&door);
    redlock_lock_init(&other_door);
}

static enum redlock_status open_at(const char *address)
{
    net.connected_sessions = 0;
    return redlock_open(&client, address, &options, &mistake);
}

#define WATCHED                                          \
    net_begin_world(5, 1);                               \
    begin();                                             \
    if (setjmp(net.escape) != 0) {                       \
        CHECK_STR(net.breach, "");                       \
        return;                                          \
    }                                                    \
    CHECK_INT(open_at(ADDRESS), REDLOCK_OK)

static bool has_key(unsigned k)
{
    return model_find(&net.hosts[k].node, 0, "door", 4, net.now_us) != NULL;
}

static bool has_time(unsigned k)
{
    return model_find(&net.hosts[k].node, 0, REDLOCK_PROMOTION_KEY, strlen(REDLOCK_PROMOTION_KEY),
                      net.now_us) != NULL;
}

static const char *words_about(unsigned k)
{
    static char text[REDLOCK_ERROR_MAX + 100];
    redlock_describe_node(&client.engine, k, net.now_us, text, sizeof text);
    return text;
}

static const char *words(void)
{
    return words_about(0);
}

static bool says(const char *part)
{
    return strstr(words(), part) != NULL;
}

/* It closes its connections, as a server does that ends. */
static void sentinels_leave(unsigned k)
{
    for (unsigned i = 0; i < net.line_count; i++)
        if (net.lines[i].node == k) net.lines[i].has_ended = true;
}

/* The failover: the new master was a replica, and has not heard of any lock; the old
 * one lives on. */
static void fail_over(unsigned last)
{
    model_node_promote(&net.hosts[NEW].node, 1729);
    name_master(0, last, "n4", 1);
}

/* ---- Which master ---- */

TEST(a_lock_is_taken_at_the_master_that_the_sentinels_name)
{
    WATCHED;
    CHECK_INT(redlock_fd_count(&client), 1 + SENTINELS);
    CHECK_STR(redlock_node_address(&client, 0), "sentinel:mymaster");
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK(has_key(OLD) && !has_key(NEW));
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CHECK(!has_key(OLD));
    CLOSE(0);
}

TEST(s31_a_majority_of_the_sentinels_is_enough_and_a_minority_is_not_believed)
{
    static const char *const others[] = { "n4", NULL };
    WATCHED;
    for (unsigned i = 0; i < 2; i++) {
        name_master(0, 0, others[i], 1);
        CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
        CHECK(has_key(OLD) && !has_key(NEW));
        CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    }
    node_kill(0);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    node_kill(1);
    name_master(2, 2, "n4", 1);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_NO_QUORUM);
    CHECK(says("1 of 3 sentinels name a master; n0:26379: connection refused"));
    CLOSE(0);
}

/* One may need somebody to mend it, while the others are only restarting. */
TEST(the_trouble_that_most_sentinels_have_is_told_and_of_as_many_the_first)
{
    WATCHED;
    name_master(0, 0, NULL, 0);
    node_hang(2);
    node_kill(1);
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK(says("0 of 3 sentinels name a master; n0:26379: it knows no master of that name"));
    node_kill(2);
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK(says("0 of 3 sentinels name a master; n1:26379: connection refused"));
    redlock_close(&client, 0);
    node_start(0);
    name_master(0, 0, "n3", 1);
    CHECK_INT(open_at("sentinel://n0/mymaster, sentinel://n1,n2/mymaster"), REDLOCK_OK);
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK_STR(words_about(1), "0 of 2 sentinels name a master; n1:26379: connection refused");
    CLOSE(0);
}

/* Nor is one that names a master alike to it, for neither has an error. */
TEST(of_as_many_sentinels_one_that_is_silent_is_not_told)
{
    WATCHED;
    node_hang(0);
    node_kill(1);
    CHECK(ACQUIRE(&door, 0) != REDLOCK_OK);
    CHECK_STR(words(), "1 of 3 sentinels name a master; n1:26379: connection refused");
    CLOSE(0);
}

/* The list names it nowhere. */
TEST(a_master_that_cannot_be_connected_to_is_named)
{
    WATCHED;
    redlock_close(&client, 0);
    CHECK_INT(open_at(BEHIND_ANOTHER), REDLOCK_OK);
    node_kill(OLD);
    node_kill(NEW);
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK_STR(words(), "connection refused");
    CHECK_STR(words_about(1), "its master n3:6379: connection refused");
    CLOSE(0);
}

TEST(s31_sentinels_that_do_not_agree_name_nobody)
{
    WATCHED;
    name_master(0, 0, "n4", 1);
    name_master(1, 1, NULL, 0);
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK(says("2 of 3 sentinels name a master; n1:26379: it knows no master of that name"));
    name_master(1, 1, "n2", 1);
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK(says("3 of 3 sentinels name masters, but no quorum the same"));
    name_master(1, 1, "n3", 2);
    /* The same server, but not since the same failover. */
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK(says("3 of 3 sentinels name masters, but no quorum the same"));
    CHECK(!has_key(OLD) && !has_key(NEW));
    CLOSE(0);
}

/* ---- Failovers ---- */

TEST(s31_an_old_master_that_lives_on_grants_and_extends_nothing_once_a_majority_names_another)
{
    WATCHED;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    fail_over(1);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_NO_QUORUM);
    CHECK_INT(redlock_run_for(&client, &door, 60000), REDLOCK_LOST);
    (void)redlock_release(&client, &door, NULL);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CHECK(says("was a replica (failover), met ") && !has_key(NEW));
    CLOSE(0);
}

TEST(s31_the_new_master_grants_when_all_locks_of_the_old_one_have_ended)
{
    WATCHED;
    redlock_close(&client, 0);
    net.has_trace = false;
    options.trace = NULL;
    CHECK_INT(open_at(ADDRESS), REDLOCK_OK);
    redlock_use_sentinels(&options, &other_sentinels);
    CHECK_INT(redlock_open(&other, ADDRESS, &options, NULL), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    fail_over(1);
    const uint64_t until = net.now_us + redlock_valid_us(&door, net.now_us);
    CHECK_INT(redlock_acquire(&other, &other_door, "door", 10000, 60000), REDLOCK_OK);
    CHECK(net.now_us > until);
    CHECK(has_key(NEW));
    redlock_close(&other, 0);
    CLOSE(0);
}

/* Sentinels that were made anew count failovers anew. */
TEST(s31_another_master_of_the_same_epoch_is_another)
{
    WATCHED;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    name_master(0, 2, "n4", 0);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_NO_QUORUM);
    CHECK(says("the sentinels name another master"));
    (void)redlock_connect(&client, 1000);
    CHECK_STR(sentinels.watched[0].master, "n4:6379");
    CLOSE(0);
}

/* ---- The age of a master ---- */

static void reopen(void)
{
    redlock_close(&client, 0);
    redlock_lock_init(&door);
    CHECK_INT(open_at(ADDRESS), REDLOCK_OK);
}

TEST(s31_a_client_that_comes_later_counts_the_guard_from_the_time_that_the_first_has_left)
{
    WATCHED;
    fail_over(2);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_NO_QUORUM);
    CHECK(has_time(NEW) && says("no vote for another 20 s"));
    net_pass(GUARD * MS - 1000 * MS);
    reopen();
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CHECK(says("no vote for another 1 s"));
    net_pass(1000 * MS);
    reopen();
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CLOSE(0);
}

TEST(s31_after_another_promotion_the_time_counts_no_longer)
{
    WATCHED;
    fail_over(2);
    (void)redlock_connect(&client, 1000);
    net_pass(GUARD * MS);
    model_node_promote(&net.hosts[NEW].node, 2001);
    reopen();
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CHECK(says("no vote for another 20 s"));
    net_pass(GUARD * MS - 1000 * MS);
    reopen();
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CLOSE(0);
}

/* It was cut off, and is named again before it was made a replica: no new history, the same run_id,
 * up for long. */
static void go_back(void)
{
    name_master(0, 2, "n3", 2);
}

TEST(s31_an_old_master_that_is_named_again_has_no_vote_for_the_guard)
{
    WATCHED;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    fail_over(2);
    net_pass(GUARD * MS / 2);
    go_back();
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK(says("no vote for another "));
    net_pass(GUARD * MS);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
    CLOSE(0);
}

TEST(s31_nor_has_it_for_a_client_that_knows_nothing_of_before)
{
    WATCHED;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    CHECK(has_time(OLD));
    net_pass(10 * GUARD * (uint64_t)MS);
    go_back();
    reopen();
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CHECK(says("no vote for another 20 s"));
    CLOSE(0);
}

/* The connection breaks when no failover was: the client knows the server for long. */
TEST(s31_a_connection_that_breaks_within_a_reign_costs_no_guard)
{
    WATCHED;
    fail_over(2);
    (void)redlock_connect(&client, 1000);
    net_pass(GUARD * MS);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    model_flush(&net.hosts[NEW].node);      /* The time that was left is gone, too. */
    node_cut(NEW);
    net_pass(200 * MS);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
    CLOSE(0);
}

TEST(s31_a_clock_that_was_set_back_costs_the_guard)
{
    WATCHED;
    fail_over(2);
    (void)redlock_connect(&client, 1000);
    net_pass(GUARD * MS);
    net.hosts[NEW].node.wall_offset_us -= 2 * (int64_t)GUARD * MS;
    reopen();
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CHECK(says("no vote for another 20 s"));
    CLOSE(0);
}

/* A client that knows the server for long, but not its new history. */
TEST(s31_a_client_that_knew_the_master_before_believes_no_more_than_the_time_that_was_left)
{
    WATCHED;
    fail_over(2);
    (void)redlock_connect(&client, 1000);
    net_pass(100 * GUARD * (uint64_t)MS);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    model_node_promote(&net.hosts[NEW].node, 2001);
    node_cut(NEW);
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK(says("no vote for another "));
    CLOSE(0);
}

TEST(a_master_that_refuses_the_script_has_its_guard_each_time)
{
    WATCHED;
    fail_over(2);
    net.hosts[NEW].node.noperm = "GET";
    (void)redlock_connect(&client, 1000);
    CHECK(!has_time(NEW) && says("no vote for another 20 s"));
    net_pass(GUARD * MS);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
    CLOSE(0);
}

/* The answer to the script, behind that to EVAL of nothing. */
static void plan_answer(const char *answer)
{
    model_node_plan(
        &net.hosts[NEW].node,
        (struct model_answer){ .command = "EVAL", .bytes = "$-1\r\n", .size = 5, .times = 1 });
    model_node_plan(&net.hosts[NEW].node,
                    (struct model_answer){
                        .command = "EVAL", .bytes = answer, .size = strlen(answer), .times = 1 });
}

TEST(an_answer_to_the_script_that_is_none_ends_the_connection)
{
    WATCHED;
    fail_over(2);
    plan_answer("-NOAUTH Authentication required.\r\n");
    (void)redlock_connect(&client, 1000);
    CHECK(!has_time(NEW) && says("NOAUTH"));
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK(has_time(NEW));       /* By the next connection. */
    reopen();
    plan_answer("+OK\r\n");
    (void)redlock_connect(&client, 100);
    CHECK(says("an answer of the wrong type in the handshake"));
    CLOSE(0);
}

TEST(a_master_that_tells_nothing_of_itself_and_is_trusted_votes)
{
    WATCHED;
    redlock_close(&client, 0);
    options.engine.trust_unknown = true;
    net.hosts[NEW].node.noperm = "INFO";
    CHECK_INT(open_at(ADDRESS), REDLOCK_OK);
    fail_over(2);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
    CLOSE(0);
}

/* With subscriptions, which ask for no age. */
TEST(durable_nodes_and_masters_behind_sentinels_are_in_one_list)
{
    WATCHED;
    redlock_close(&client, 0);
    options.engine.wake_ups = true;
    net.has_trace = false;
    options.trace = NULL;
    CHECK_INT(open_at("redis://n4?durable=1 sentinel://n0,n1,n2/mymaster"), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    redlock_lock_init(&other_door);
    CHECK(redlock_acquire(&client, &other_door, "door", 10000, 300) != REDLOCK_OK);
    CHECK(has_time(OLD) && !has_time(NEW));
    CHECK(model_find(&net.hosts[NEW].node, 0, REDLOCK_CANARY, strlen(REDLOCK_CANARY), net.now_us));
    CLOSE(0);
}

TEST(nothing_is_left_on_a_master_that_was_no_replica_for_others_to_believe)
{
    WATCHED;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    net.hosts[OLD].node.started_us = net.now_us;    /* It is another process at the same address. */
    model_node_restart(&net.hosts[OLD].node, 77, true, net.now_us);
    node_cut(OLD);
    reopen();
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_NO_QUORUM);
    CHECK(says("restarted "));
    CLOSE(0);
}

/* The commands are on their way when the sentinels change their minds: the answers do not count. */
static void change_minds(unsigned last)
{
    fail_over(last);
}

TEST(s31_an_answer_that_comes_after_the_sentinels_have_named_another_master_does_not_count)
{
    for (uint64_t at = 0; at < 2000; at += 50) {
        WATCHED;
        CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
        net_plan(net.now_us + at, change_minds, 2);
        const uint64_t began = net.now_us;
        const enum redlock_status status = ACQUIRE(&door, 0);
        /* Else it was asked before. */
        CHECK(status != REDLOCK_OK || began + at + 400 >= net.now_us);
        CHECK(!has_key(NEW));
        CLOSE(0);
    }
}

TEST(s31_without_an_answer_of_the_sentinels_the_master_s_does_not_count)
{
    WATCHED;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for (unsigned k = 0; k < SENTINELS; k++) node_hang(k);
    CHECK(ACQUIRE(&door, 0) != REDLOCK_OK);
    CHECK_STR(words(), "0 of 3 sentinels name a master; n0:26379: no answer");
    CHECK(ACQUIRE(&door, 1000) != REDLOCK_OK);
    CHECK_STR(words(), "0 of 3 sentinels name a master; n0:26379: it does not answer");
    for (unsigned k = 0; k < SENTINELS; k++) node_wake(k);
    CHECK_INT(ACQUIRE(&door, 12000), REDLOCK_OK);
    CLOSE(0);
}

TEST(s31_descriptor_0_waits_for_the_sentinels_like_any_other)
{
    WATCHED;
    redlock_close(&client, 0);
    net.has_input = true;
    CHECK_INT(open_at(ADDRESS), REDLOCK_OK);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    net.has_input = false;
    node_cut(OLD);
    net_pass(200 * MS);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
    CHECK_INT(redlock_fd(&client, 0), 0);
    for (unsigned k = 0; k < SENTINELS; k++) node_hang(k);
    CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_NO_QUORUM);
    CLOSE(0);
}

TEST(s31_no_loop_looks_at_the_session_that_waits_for_the_sentinels_and_at_all_others)
{
    struct loop loop = { .steps_ready = true };
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 10000 };
    WATCHED;
    redlock_close(&client, 0);
    CHECK_INT(open_at(BEHIND_ANOTHER), REDLOCK_OK);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK(redlock_fd(&client, 0) >= 0);
    CHECK_INT(redlock_fd(&client, 1), -1);
    loop_until(&loop, &door, net.now_us + 1000 * MS);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
    CHECK(redlock_fd(&client, 1) >= 0);
    CLOSE(0);
}

/* Each step looks at all sessions, whether their descriptors are ready or not. */
TEST(s31_an_answer_that_is_there_waits_for_the_sentinels)
{
    struct loop loop = { .steps_ready = false };
    WATCHED;
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 10000 };
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for (unsigned k = 0; k < SENTINELS; k++) net.hosts[k].delay_us = 5 * MS;
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    while (redlock_lock_status(&door) == REDLOCK_PENDING) (void)loop_turn(&loop, net.now_us + MS);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_OK);
    CHECK(net.now_us >= began + 10 * MS);
    CLOSE(0);
}

/* A batch waits until the answers to the one before it may be read, and they are read first. */
TEST(commands_that_follow_each_other_do_not_keep_the_answers_from_being_read)
{
    static struct redlock_lock locks[8];
    struct redlock_event_ring events;
    struct redlock_event ring[500];
    unsigned ended = 0;
    WATCHED;
    redlock_close(&client, 0);
    CHECK_INT(open_at("n4, sentinel://n0,n1,n2/mymaster"), REDLOCK_OK);
    redlock_use_events(&client.engine, &events, ring, 500);
    net.creep_us = 1;
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 10000 };
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for (unsigned i = 0; i < 8; i++) {
        redlock_lock_init(&locks[i]);
        CHECK_INT(redlock_begin_acquire(&client, &locks[i], &request), REDLOCK_OK);
        CHECK_INT(redlock_step(&client), REDLOCK_OK);
        net_pass(50);
    }
    for (unsigned i = 0; i < 8; i++) ended += redlock_lock_status(&locks[i]) != REDLOCK_PENDING;
    CHECK(ended > 0);
    CHECK(time_goes_on(&events));
    redlock_use_events(&client.engine, NULL, NULL, 0);
    CHECK_INT(redlock_run_for(&client, NULL, 1000), REDLOCK_OK);
    CLOSE(0);
}

TEST(a_loop_does_not_sleep_over_the_time_that_a_sentinel_has_to_answer)
{
    struct loop loop = { .steps_ready = false };
    WATCHED;
    redlock_close(&client, 0);
    node_kill(0);
    node_hang(1);
    CHECK_INT(open_at("sentinel://n0,n1,n2,n2,n2/mymaster"), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    loop_until(&loop, NULL, net.now_us + 10 * MS);
    CHECK(redlock_poll_ms(&client) > 0 && redlock_poll_ms(&client) < NODE_TIMEOUT);
    loop_until(&loop, NULL, net.now_us + 10000 * MS);
    CHECK_INT(redlock_fd(&client, 2), -1);
    CLOSE(0);
}

TEST(a_loop_does_not_sleep_over_the_time_that_a_majority_has_to_answer)
{
    struct loop loop = { .steps_ready = false };
    WATCHED;
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 10000 };
    redlock_close(&client, 0);
    CHECK_INT(open_at("n4, sentinel://n0,n1,n2/mymaster"), REDLOCK_OK);
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    for (unsigned k = 0; k < SENTINELS; k++) node_kill(k);
    loop_until(&loop, NULL, net.now_us + 10 * MS);
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    loop_until(&loop, &door, net.now_us + 1000 * MS);
    CHECK_INT(redlock_lock_status(&door), REDLOCK_NO_QUORUM);
    CHECK(net.now_us - began < NODE_TIMEOUT * MS);
    CLOSE(0);
}

TEST(a_loop_does_not_turn_for_sentinels_that_a_connection_has_waited_for_in_vain)
{
    struct loop loop = { .steps_ready = false };
    WATCHED;
    redlock_close(&client, 0);
    for (unsigned k = 0; k < SENTINELS; k++) node_hang(k);
    CHECK_INT(open_at("n4, sentinel://n0,n1,n2/mymaster"), REDLOCK_OK);
    loop_until(&loop, NULL, net.now_us + 1000 * MS);
    CHECK(loop.zeros_max <= 3);
    CLOSE(0);
}

/* ---- Sentinels that are no good ---- */

static void check_words_of(const char *answer, const char *expected)
{
    WATCHED;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);   /* What they have said before does not count. */
    CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
    net.receive_max = 7;
    for (unsigned k = 0; k < SENTINELS; k++)
        model_node_plan(&net.hosts[k].node, (struct model_answer){ .command = "SENTINEL",
                                                                   .bytes = answer,
                                                                   .size = strlen(answer),
                                                                   .times = UINT32_MAX });
    CHECK(ACQUIRE(&door, 500) != REDLOCK_OK);
    CHECK(says(expected));
    if (!says(expected)) printf("# %s\n", words());
    CLOSE(0);
}

#define NO_ADDRESS "n0:26379: its answer has no address, or no epoch"
#define FIELDS(host, port, epoch) \
    "*6\r\n$9\r\nip\r\n$9\r\n" host "\r\n$9\r\nport\r\n$9\r\n" port \
    "\r\n$9\r\nconfig-epoch\r\n$9\r\n" epoch "\r\n"

TEST(a_sentinel_is_quoted_as_far_as_there_is_room)
{
    static const size_t sizes[] = { 79, 80, 300 };
    for (volatile unsigned i = 0; i < 3; i++) {
        char answer[400] = "-ERR ";
        WATCHED;
        memset(answer + 5, 'x', sizes[i] - 4);
        strcpy(answer + 1 + sizes[i], "\r\n");
        for (unsigned k = 0; k < SENTINELS; k++)
            model_node_plan(&net.hosts[k].node,
                            (struct model_answer){ .command = "SENTINEL", .bytes = answer,
                                                   .size = strlen(answer), .times = UINT32_MAX });
        CHECK(ACQUIRE(&door, 200) != REDLOCK_OK);
        CHECK_INT(strlen(sentinels.list[0].error), 79);
        CLOSE(0);
    }
}

TEST(why_there_is_no_majority_is_told_as_far_as_there_is_room)
{
    char address[400] = "sentinel://n0";
    WATCHED;
    redlock_close(&client, 0);
    memset(address + 13, 'x', 200);
    strcpy(address + 213, ",n1,n2/mymaster");
    CHECK_INT(open_at(address), REDLOCK_OK);
    for (unsigned k = 0; k < SENTINELS; k++) node_kill(k);
    CHECK(ACQUIRE(&door, 200) != REDLOCK_OK);
    CHECK(says("0 of 3 sentinels name a master; n0xxx"));
    CHECK_STR(mistake.text, "");
    CLOSE(0);
}

/* Another port than the one that is meant is that of nobody here, and no look-up asks for it. */
TEST(an_answer_is_read_in_each_form_that_it_may_have)
{
    static char many[2000] = "*90\r\n";
    static const struct { const char *answer, *master; } cases[] = {
        { FIELDS("n3", "6379", "0"), "n3:6379" },
        { FIELDS("a3::1", "6379", "18446744073709551"), "[a3::1]:6379" },
        { FIELDS("n3", "0000637x", "0"), "n3:637" },    /* As much as has room. */
        { many, "n3:6379" }
    };
    for (unsigned i = 0; i < 42; i++) strcat(many, "$1\r\na\r\n$1\r\nb\r\n");
    strcat(many, &FIELDS("n3", "6379", "0")[4]);
    for (volatile unsigned i = 0; i < 4; i++) {
        WATCHED;
        for (unsigned k = 0; k < SENTINELS; k++)
            model_node_plan(&net.hosts[k].node, (struct model_answer){
                .command = "SENTINEL", .bytes = cases[i].answer,
                .size = strlen(cases[i].answer), .times = UINT32_MAX });
        (void)redlock_connect(&client, 1000);
        CHECK_STR(sentinels.watched[0].master, cases[i].master);
        CLOSE(0);
    }
}

TEST(a_sentinel_that_answers_nonsense_says_so)
{
    static char long_answer[1000];
    memset(long_answer, 'x', sizeof long_answer - 1);
    long_answer[0] = '+';
    check_words_of("-NOAUTH Authentication required.\r\n",
                   "n0:26379: NOAUTH Authentication required.");
    check_words_of("-ERR unknown command 'SENTINEL'\r\n",
                   "n0:26379: ERR unknown command 'SENTINEL'");
    check_words_of("*6\r\n$2\r\nip\r\n$2\r\nn3\r\n$4\r\nport\r\n$5\r\n66666\r\n$12\r\nconfig-"
                   "epoch\r\n$1\r\n0\r\n",
                   NO_ADDRESS);
    check_words_of("*4\r\n$2\r\nip\r\n$2\r\nn3\r\n$4\r\nport\r\n$4\r\n6379\r\n", NO_ADDRESS);
    check_words_of("*6\r\n$2\r\nip\r\n$2\r\nn3\r\n$4\r\nport\r\n$4\r\n6379\r\n$12\r\nconfig-"
                   "epoch\r\n$2\r\n-1\r\n",
                   NO_ADDRESS);
    check_words_of("*2\r\n$4\r\nname\r\n$8\r\nmymaster\r\n",
                   "n0:26379: it knows no master of that name");
    check_words_of("*-1\r\n", "n0:26379: its answer has no fields, or too many");
    check_words_of("*400\r\n", "n0:26379: its answer has no fields, or too many");
    check_words_of("-ERR No such master with that name\r\n+OK\r\n",
                   "n0:26379: an answer that nobody asked for");
    check_words_of("\r\n", "n0:26379: an empty answer");
    check_words_of("-NOAUTH x\n", "n0:26379: NOAUTH x");
    check_words_of(FIELDS("unix", "/tmp/x", "0"), NO_ADDRESS);
    check_words_of(FIELDS("n3", "6379", "1a"), NO_ADDRESS);
    check_words_of(FIELDS("n3", "6379", "184467440737095516160"), NO_ADDRESS);
    check_words_of("*4294967302\r\n", "n0:26379: its answer has no fields, or too many");
    check_words_of(long_answer, "n0:26379: its answer is too long");
}

TEST(a_login_is_for_the_sentinels)
{
    WATCHED;
    redlock_close(&client, 0);
    for (unsigned k = 0; k < SENTINELS; k++) {
        net.hosts[k].node.user = "watch";
        net.hosts[k].node.password = "pw@1";
    }
    CHECK_INT(open_at("sentinel://watch:pw%401@n0,n1:26379,n2/mymaster"), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_OK);
    CHECK_INT(model_count_calls(&net.hosts[0].node, "AUTH"), 1);
    CLOSE(0);
    CHECK_INT(open_at("sentinel://watch:bad@n0,n1,n2/mymaster"), REDLOCK_OK);
    redlock_lock_init(&door);
    CHECK(ACQUIRE(&door, 500) != REDLOCK_OK);
    CHECK(says("WRONGPASS"));
    CLOSE(0);
    CHECK_INT(open_at("sentinel://watch:swordfish@n0/m"), REDLOCK_OK);
    CLOSE(0);
    const char *bytes = (const char *)&sentinels;
    for (size_t i = 0; i + 9 <= sizeof sentinels; i++)
        CHECK(memcmp(bytes + i, "swordfish", 9) != 0);
}

TEST(a_login_may_be_a_password_alone)
{
    static const char sent[] = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n*3\r\n";
    WATCHED;
    redlock_close(&client, 0);
    model_node_plan(&net.hosts[0].node, (struct model_answer){
        .command = "AUTH", .bytes = "\r\n", .size = 2, .times = UINT32_MAX });
    CHECK_INT(open_at("sentinel://:pw@n0/mymaster"), REDLOCK_OK);
    CHECK(ACQUIRE(&door, 50) != REDLOCK_OK);
    CHECK(strncmp(sentinels.list[0].send, sent, sizeof sent - 1) == 0);
    CHECK(says("n0:26379: an empty answer"));
    CLOSE(0);
}

TEST(a_connection_to_a_sentinel_serves_for_any_number_of_questions_and_may_rest)
{
    static const size_t sizes[] = { 0, 7 };
    for (volatile unsigned i = 0; i < 2; i++) {
        WATCHED;
        net.send_max = net.receive_max = sizes[i];
        for (unsigned n = 0; n < 40; n++) {
            if (n == 20) CHECK_INT(redlock_run_for(&client, NULL, 10000), REDLOCK_OK);
            CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
            CHECK_INT(redlock_release(&client, &door, NULL), REDLOCK_OK);
        }
        for (unsigned k = 0; k < SENTINELS; k++) CHECK_INT(net.hosts[k].connects, 1);
        CHECK_INT(net.hosts[OLD].connects, 1);
        CLOSE(0);
    }
}

TEST(a_sentinel_whose_connection_stands_at_once_is_asked_at_once)
{
    struct loop loop = { .steps_ready = false };
    WATCHED;
    struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = 10000 };
    all_welcome(NET_AT_ONCE);
    const uint64_t began = net.now_us;
    CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
    loop_until(&loop, &door, net.now_us + 1000 * MS);
    CHECK(taken_ms(began) <= 2);
    CLOSE(0);
}

TEST(a_sentinel_that_was_good_is_back_at_once_and_one_that_refuses_is_asked_after_a_pause)
{
    struct loop loop = { .steps_ready = false };
    WATCHED;
    CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
    node_cut(0);
    node_cut(1);
    net_pass(10 * MS);
    const uint64_t began = net.now_us;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK(taken_ms(began) <= 2);
    for (unsigned k = 0; k < SENTINELS; k++) {
        node_kill(k);
        net.hosts[k].connects = 0;
    }
    struct redlock_request request = {
        .resource = "gate", .resource_size = 4, .ttl_ms = 10000, .wait_ms = 5000,
        .wall_us = net_wall_us()
    };
    redlock_lock_init(&gate);
    CHECK_INT(redlock_begin_acquire(&client, &gate, &request), REDLOCK_OK);
    loop_until(&loop, &gate, net.now_us + 1000 * MS);
    CHECK(net.hosts[0].connects >= 2 && net.hosts[0].connects <= 5);
    CLOSE(0);
}

TEST(an_answer_that_was_cut_off_does_not_go_on_in_the_next_connection)
{
    WATCHED;
    redlock_close(&client, 0);
    CHECK_INT(open_at("sentinel://n0/mymaster"), REDLOCK_OK);
    net.hosts[0].connects = 0;
    model_node_plan(&net.hosts[0].node, (struct model_answer){
        .command = "SENTINEL", .bytes = "*10\r\n$4\r\n", .size = 9, .times = 1 });
    (void)redlock_connect(&client, 10);
    sentinels_leave(0);
    CHECK_INT(redlock_step(&client), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 2000), REDLOCK_OK);
    CHECK_INT(net.hosts[0].connects, 2);
    CLOSE(0);
}

TEST(a_sentinel_that_cannot_be_connected_to_is_told_when_the_node_s_time_is_over)
{
    WATCHED;
    net.hosts[0].welcome = net.hosts[1].welcome = NET_NEVER;
    CHECK(ACQUIRE(&door, 0) != REDLOCK_OK);
    CHECK_STR(words(), "1 of 3 sentinels name a master; n0:26379: no connection within the node "
                       "timeout");
    CLOSE(0);
}

/* What the first sentinel has done is told. */
TEST(the_trouble_of_a_sentinel_is_told)
{
    static const char *const troubles[] = {
        "it does not answer", "no connection within the node timeout", "it closed the connection"
    };
    for (volatile unsigned i = 0; i < 3; i++) {
        WATCHED;
        if (i == 0) node_hang(0);
        if (i == 1) net.hosts[0].welcome = NET_NEVER;
        node_kill(1);
        CHECK_INT(redlock_connect(&client, 1000), i < 2 ? REDLOCK_NO_QUORUM : REDLOCK_OK);
        if (i == 2) sentinels_leave(0);
        CHECK_INT(redlock_run_for(&client, NULL, i < 2 ? 1000 : 0), REDLOCK_OK);
        CHECK_STR(sentinels.list[0].error, troubles[i]);
        CLOSE(0);
    }
}

TEST(connections_to_sentinels_may_break_after_any_byte)
{
    for (size_t bytes = 0; bytes < 80; bytes++) {
        WATCHED;
        for (unsigned k = 0; k < 2; k++)
            net.hosts[k].sever_to_client = net.hosts[k].sever_to_node = bytes;
        CHECK(ACQUIRE(&door, 1000) != REDLOCK_BAD_STATE);
        for (unsigned k = 0; k < 2; k++)
            net.hosts[k].sever_to_client = net.hosts[k].sever_to_node = SIZE_MAX;
        for (unsigned k = 0; k < 2; k++) node_cut(k);
        redlock_lock_init(&door);
        CHECK_INT(ACQUIRE(&door, 12000), REDLOCK_OK);
        CLOSE(0);
    }
}

TEST(sentinels_whose_connections_have_all_ended_are_connected_again)
{
    WATCHED;
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    for (unsigned k = 0; k < SENTINELS; k++) node_cut(k);
    CHECK_INT(redlock_run_for(&client, NULL, 1000), REDLOCK_OK);
    CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_OK);
    node_cut(OLD);
    CHECK_INT(redlock_run_for(&client, NULL, 1000), REDLOCK_OK);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_OK);
    CLOSE(0);
}

TEST(a_master_whose_sentinels_did_not_answer_is_asked_for_again)
{
    WATCHED;
    redlock_close(&client, 0);
    CHECK_INT(open_at(BEHIND_ANOTHER), REDLOCK_OK);
    for (unsigned k = 0; k < SENTINELS; k++) node_hang(k);
    CHECK_INT(redlock_run_for(&client, NULL, 2000), REDLOCK_OK);
    for (unsigned k = 0; k < SENTINELS; k++) node_wake(k);
    CHECK_INT(redlock_run_for(&client, NULL, 5000), REDLOCK_OK);
    CHECK(redlock_node_votes(&client.engine, 1, net.now_us));
    CLOSE(0);
}

/* The name of the new master has no address, and the old one's is not the new one's. */
TEST(a_master_s_name_is_looked_up_and_no_other_master_s_address_is_used_for_it)
{
    for (volatile unsigned i = 0; i < 2; i++) {
        WATCHED;
        redlock_close(&client, 0);
        CHECK_INT(open_at(i == 0 ? ADDRESS : BEHIND_ANOTHER), REDLOCK_OK);
        for (unsigned k = 0; k <= NOWHERE; k++) net.hosts[k].is_name = true;
        CHECK_INT(redlock_connect(&client, 1000), REDLOCK_OK);
        CHECK_INT(net.hosts[OLD].connects, 1);
        name_master(0, 2, "n5", 1);
        net.hosts[NOWHERE].unresolved = NET_NO_SERVER;
        CHECK(ACQUIRE(&door, 0) != REDLOCK_PENDING);
        CHECK_INT(redlock_run_for(&client, NULL, 3000), REDLOCK_OK);
        CHECK_INT(net.hosts[OLD].connects, 1);
        CHECK(net.hosts[NOWHERE].lookups > 0 && net.hosts[NOWHERE].connects == 0);
        CLOSE(0);
    }
}

/* ---- In a loop, and beside other nodes ---- */

TEST(a_loop_of_the_caller_s_waits_for_the_sentinels_too)
{
    for (volatile unsigned i = 0; i < 3; i++) {
        struct loop loop = { .steps_ready = true };
        WATCHED;
        redlock_close(&client, 0);
        if (i == 2) node_kill(NEW);
        CHECK_INT(open_at(i == 0 ? ADDRESS : BEHIND_ANOTHER), REDLOCK_OK);
        struct redlock_request request = {
            .resource = "door", .resource_size = 4, .ttl_ms = 10000
        };
        CHECK_INT(redlock_begin_acquire(&client, &door, &request), REDLOCK_OK);
        loop_until(&loop, &door, net.now_us + 1000 * MS);
        CHECK_INT(redlock_lock_status(&door), i == 2 ? REDLOCK_NO_QUORUM : REDLOCK_OK);
        CHECK(loop.zeros_max <= 3);
        CHECK_STR(net.breach, "");
        CLOSE(0);
    }
}

TEST(each_master_has_its_own_sentinels)
{
    WATCHED;
    redlock_close(&client, 0);
    name_master(1, 2, "n4", 7);
    net.hosts[NEW].node.started_us = 0;
    CHECK_INT(open_at("sentinel://n0/mymaster, sentinel://n1,n2/mymaster"), REDLOCK_OK);
    CHECK_STR(redlock_node_address(&client, 0), "sentinel:mymaster");
    (void)redlock_connect(&client, 1000);
    CHECK_STR(sentinels.watched[0].master, "n3:6379");
    CHECK_STR(sentinels.watched[1].master, "n4:6379");
    CHECK(redlock_node_votes(&client.engine, 0, net.now_us));
    CHECK(!redlock_node_votes(&client.engine, 1, net.now_us));
    net_pass(GUARD * MS);
    CHECK_INT(ACQUIRE(&door, 1000), REDLOCK_OK);
    CHECK(has_key(OLD) && has_key(NEW));
    node_kill(1);
    CHECK_INT(redlock_extend(&client, &door, 10000), REDLOCK_NO_QUORUM);
    CHECK_INT(redlock_vote_of(&door, 0), REDLOCK_VOTE_GRANTED);
    CLOSE(0);
}

TEST(the_name_of_a_master_is_looked_up_once_for_a_connection)
{
    WATCHED;
    net.hosts[OLD].is_name = true;
    net.hosts[OLD].lookup_us = 5 * MS;
    for (unsigned i = 0; i < 20; i++) {
        CHECK_INT(redlock_step(&client), REDLOCK_OK);
        net_pass(MS / 2);
    }
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK_INT(net.hosts[OLD].lookups, 1);
    CLOSE(0);
}

TEST(a_master_behind_sentinels_is_one_of_several_nodes)
{
    WATCHED;
    redlock_close(&client, 0);
    CHECK_INT(open_at("n4, sentinel://n0,n1,n2/mymaster"), REDLOCK_OK);
    CHECK_INT(client.engine.node_count, 2);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK(has_key(OLD) && has_key(NEW));
    /* No majority has sent anybody to a server that is named by its address. */
    CHECK(has_time(OLD) && !has_time(NEW));
    for (unsigned k = 0; k < SENTINELS; k++) node_hang(k);
    CHECK_INT(redlock_extend(&client, &door, 20000), REDLOCK_NO_QUORUM);
    CHECK_INT(redlock_vote_of(&door, 0), REDLOCK_VOTE_GRANTED);
    CLOSE(0);
}

/* ---- Addresses ---- */

static void check_refused(const char *address, size_t at, const char *text)
{
    CHECK_INT(open_at(address), REDLOCK_BAD_ADDRESS);
    CHECK_INT(mistake.at, at);
    CHECK(strstr(mistake.text, text) != NULL);
    if (!strstr(mistake.text, text)) printf("# %s: %s\n", address, mistake.text);
}

TEST(an_address_that_is_wrong_is_refused_with_its_place)
{
    /* As many bytes of a host as the longest address may have, with its login. */
    enum { MOST = NET_ADDRESS_TEXT_SIZE + 3 * (NET_USER_MAX + NET_PASSWORD_MAX) + 1 };
    static char long_name[200] = "sentinel://n0/", long_host[MOST + 20] = "sentinel://";
    WATCHED;
    redlock_close(&client, 0);
    check_refused("sentinel://n0,n1,n2", 19, "the master's name is missing");
    check_refused("sentinel://n0,n1,n2/", 20, "the master's name is missing");
    check_refused("sentinel://n0/my*master", 14,
                  "the master's name is missing, or not 1 to 64 letters");
    check_refused("sentinel://n0/m?managed=1", 15, "has no options");
    check_refused("sentinel://n0?durable=1,n1/m", 13, "has no options");
    check_refused("sentinel://n0,,n2/m", 14, "a comma too many");
    check_refused("sentinel:///m", 11, "a comma too many, or no sentinel");
    check_refused("sentinel://", 11, "the master's name is missing");
    check_refused("sentinel:// n0/m", 11, "the master's name is missing");
    check_refused("sentinel\x1a//n0/m", 8, "control bytes");
    check_refused("sentinel://n0,n1:0/m", 17, "port");
    check_refused("n4,sentinel://n0,n1:x/m", 20, "port");
    check_refused("sentinel://user:p%zz@n0/m", 17, "%");
    memset(long_host + 11, 'h', MOST);
    strcpy(long_host + 11 + MOST, "/m");
    CHECK_INT(open_at(long_host), REDLOCK_BAD_ADDRESS);
    CHECK_STR(mistake.text, "the host is too long: 255 bytes at most");
    strcpy(long_host + 11 + MOST, "h/m");
    check_refused(long_host, 11, "a sentinel's host or login is too long");
    memset(long_name + 14, 'm', 64);
    CHECK_INT(open_at(long_name), REDLOCK_OK);
    redlock_close(&client, 0);
    long_name[14 + 64] = 'm';
    check_refused(long_name, 14, "not 1 to 64 letters");
    CHECK_INT(open_at("SENTINEL://n0/m"), REDLOCK_OK);
    redlock_close(&client, 0);
    CHECK_INT(open_at("n0"), REDLOCK_OK);
    CHECK(client.sentinels == NULL);    /* It needs nothing of them. */
    redlock_close(&client, 0);
    check_refused("sentinels://n0/m", 0, "there is no TLS here");
    check_refused("sentinelss://n0/m", 0, "unknown scheme");
    options.transport = &(struct redlock_transport){ .has_addresses = false };
    check_refused("sentinel://n0/m", 0, "sentinels need a transport with addresses");
    options.transport = NULL;
    options.sentinels = NULL;
    check_refused("sentinel://n0/m", 0, "redlock_use_sentinels");
}

/* ---- TLS ---- */

static unsigned secure_peers;           /* Bit k: it has connected to server k. */
static char secure_hosts[SENTINELS + 2][8];

/* Sockets, instead of TLS. */
static int connect_and_note(void *context, unsigned k, const struct redlock_peer *peer,
                            bool *connected)
{
    secure_peers |= 1u << peer->node;
    (void)snprintf(secure_hosts[peer->node], sizeof secure_hosts[0], "%s", peer->host);
    return client_sockets()->connect(context, k, peer, connected);
}

TEST(tls_is_for_the_sentinels_and_for_the_master_that_they_name)
{
    static struct redlock_transport secure;
    WATCHED;
    redlock_close(&client, 0);
    secure = *client_sockets();
    secure.connect = connect_and_note;
    secure_peers = 0;
    options.secure_transport = &secure;
    options.secure_context = &client;
    options.engine.wake_ups = true;
    CHECK_INT(open_at("n4,Sentinels://n0,n1,n2/mymaster"), REDLOCK_OK);
    CHECK_INT(ACQUIRE(&door, 0), REDLOCK_OK);
    CHECK(has_key(OLD) && has_key(NEW));
    CHECK_INT(secure_peers, 0x1e);
    CHECK_STR(secure_hosts[1], "n3");
    CHECK_STR(secure_hosts[2], "n0");
    CHECK_STR(secure_hosts[4], "n2");
    CLOSE(0);
}

/* ---- Limits ---- */

/* Sixteen sentinels, and sixteen descriptors of others, are the most. */
TEST(limits_are_told_at_the_first_one_too_many)
{
    char address[400] = "sentinel://n0";
    WATCHED;
    redlock_close(&client, 0);
    for (unsigned k = 1; k < REDLOCK_SENTINELS_MAX; k++) strcat(address, ",n0");
    strcat(address, "/m");
    CHECK_INT(open_at(address), REDLOCK_OK);
    redlock_close(&client, 0);
    options.engine.wake_ups = true;
    for (unsigned k = 1; k < 8; k++) strcat(address, ",n0");
    CHECK_INT(open_at(address), REDLOCK_OK);
    CHECK_INT(redlock_fd_count(&client), REDLOCK_FDS_MAX);
    redlock_close(&client, 0);
    strcat(address, ",n0");
    CHECK_INT(open_at(address), REDLOCK_BAD_CONFIG);
    CHECK(strstr(mistake.text, "more than 32 descriptors") != NULL);
    strcpy(address, "sentinel://n0");
    for (unsigned k = 1; k <= REDLOCK_SENTINELS_MAX; k++) strcat(address, ",n0");
    strcat(address, "/m");
    check_refused(address, 13 + 3 * 15 + 1, "too many sentinels");
}

TAP_MAIN
