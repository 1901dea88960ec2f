/* Corners: rare schedules that once broke a rule, or wasted time. Each was found by reading or by
 * random faults. */
#include "../../world/story.h"

/* More retries are due at once than there are random bytes for. All get their turn, and
 * the tick ends. */
TEST(s6_more_retries_than_random_bytes_do_not_hang_the_tick)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    cluster_need_locks(cluster, 0, 12);
    for (unsigned i = 0; i < 12; i++) START_ACQUIRE_LOCK(0, i, "door", 10000, 5000);
    RUN_MS(20);
    FREEZE(0); RUN_MS(1000); THAW(0);
    RUN_MS(10000);
}

TEST(s6_a_retry_without_random_bytes_does_not_hang_the_tick)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 5000);
    RUN_MS(20);
    cluster->clients[0].starved = true;
    memset(cluster->clients[0].engine.entropy, 0, 1); cluster->clients[0].engine.entropy_size = 0;
    RUN_MS(3000);
}

/* The time that an adopted lock had left is not known, so none of it is promised. */
TEST(s9_a_short_extension_of_an_adopted_lock_promises_no_more_than_itself)
{
    CLUSTER_OF(3, 2, (void)0);
    char token[41];
    ACQUIRE(0, "door", 200);
    EXPECT_STATUS(0, REDLOCK_OK);
    redlock_token(LOCK(0), token);
    RUN_MS(150);
    cluster->no_promise = true; cluster->no_exclusion = true;
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    EXTEND(1, 100);
    EXPECT_STATUS(1, REDLOCK_OK);
    TAP_CHECK(VALID_US(1) <= 100000, "valid for %llu us after an extension with 100 ms",
              (unsigned long long)VALID_US(1));
}

TEST(s9_an_adopted_lock_and_a_rival_do_not_both_hold)
{
    CLUSTER_OF(3, 3, (void)0);
    char token[41];
    cluster->no_promise = cluster->no_exclusion = true;
    ACQUIRE(0, "door", 200);
    redlock_token(LOCK(0), token);
    RUN_MS(150);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    EXTEND(1, 100);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(150);
    ACQUIRE(2, "door", 10000);
    EXPECT_STATUS(2, REDLOCK_OK);
    TAP_CHECK(!(VALID_US(1) > 0 && VALID_US(2) > 0), "two hold: %llu and %llu us",
              (unsigned long long)VALID_US(1), (unsigned long long)VALID_US(2));
}

TEST(s9_an_adopted_lock_whose_extension_fails_is_not_held)
{
    CLUSTER(3);
    cluster->no_promise = true;
    CHECK_INT(cluster_adopt(cluster, 0, 0, "door", "0123456789abcdef0123456789abcdef01234567"),
              REDLOCK_OK);
    EXTEND(0, 1000); EXPECT_STATUS(0, REDLOCK_TAKEN);
    EXPECT_NOT_HELD(0);
}

/* Nobody reported the TTL of an adopted lock, but it is not over the guard. */
TEST(s5_a_debt_of_an_adopted_lock_ends_with_the_guard)
{
    CLUSTER_OF(3, 2, (void)0);
    char token[41];
    cluster->no_promise = cluster->no_exclusion = true;
    ACQUIRE(0, "door", 30000);
    redlock_token(LOCK(0), token);
    DOWN(2);
    CHECK_INT(cluster_adopt(cluster, 1, 0, "door", token), REDLOCK_OK);
    EXTEND(1, 30000); EXPECT_STATUS(1, REDLOCK_OK);
    RELEASE(1);
    RUN_MS(3600000);
    CHECK_INT(redlock_view_lock(LOCK(1)).owed, 0);
}

/* A SET waits unread at a node. Its TTL has not begun, and the release after it is still owed. */
TEST(s5_a_debt_does_not_end_while_its_set_is_not_answered)
{
    CLUSTER_OF(3, 1, config.pipeline = 4);
    cluster_need_locks(cluster, 0, 6);
    cluster->no_promise = true;
    HANG(2);
    START_ACQUIRE_LOCK(0, 1, "a", 10000, 0); UNTIL_LOCK_DONE(0, 1);
    START_ACQUIRE_LOCK(0, 2, "b", 10000, 0); UNTIL_LOCK_DONE(0, 2);
    START_ACQUIRE_LOCK(0, 3, "c", 10000, 0); UNTIL_LOCK_DONE(0, 3);
    ACQUIRE(0, "door", 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    RELEASE(0);
    RUN_MS(1200);
    RESUME(2);
    RUN_MS(100);
    CHECK(IDLE(0));
    EXPECT_KEY_ABSENT(2, "door");
}

TEST(s8_an_old_refusal_says_nothing_about_a_newer_set)
{
    CLUSTER_OF(3, 1, config.pipeline = 4);
    cluster_need_locks(cluster, 0, 6);
    cluster->no_promise = true;
    RIVAL(2, "door", 100000);
    DEAFEN(2);
    /* three other locks first, then door: four outstanding at node 2 */
    START_ACQUIRE_LOCK(0, 1, "a", 10000, 0);
    UNTIL_LOCK_DONE(0, 1);
    START_ACQUIRE_LOCK(0, 2, "b", 10000, 0);
    UNTIL_LOCK_DONE(0, 2);
    START_ACQUIRE_LOCK(0, 3, "c", 10000, 0);
    UNTIL_LOCK_DONE(0, 3);
    ACQUIRE(0, "door", 300);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(1);
    RELEASE(0);
    RUN_MS(310);                     /* the debt on node 2 has run out */
    REMOVE_KEYS(2);
    START_ACQUIRE(0, "door", 10000, 0);
    LINK(0, 2)->receive_max = 5;
    LINK(0, 2)->deaf = false;
    cluster_heal(cluster, 0, 2);
    LINK(0, 2)->receive_max = 5;
    UNTIL_DONE(0);
    RUN_MS(100);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(1000);
    CHECK(IDLE(0));
    EXPECT_KEY_ABSENT(2, "door");
}

TEST(s5_a_release_tries_at_once_what_was_put_off)
{
    CLUSTER(3);
    RIVAL(0, "door", 60000); RIVAL(1, "door", 60000);
    ANSWERS_ONCE(2, "EVALSHA", "-MISCONF no\r\n");
    ACQUIRE(0, "door", 10000); EXPECT_STATUS(0, REDLOCK_TAKEN);
    RUN_MS(10);
    REMOVE_KEYS(0); REMOVE_KEYS(1);
    ACQUIRE(0, "door", 10000); EXPECT_STATUS(0, REDLOCK_OK);
    REMOVE_KEYS(1);
    uint64_t t = cluster->now_us;
    RELEASE(0);
    CHECK(cluster->now_us - t < 100000);
}

/* One server under two addresses, of which only one is connected at a time. */
TEST(s12_a_server_votes_once_in_a_round_even_when_another_node_leads_to_it)
{
    CLUSTER_COLD(3, 2, (void)0);
    cluster->no_promise = cluster->no_exclusion = true;
    char token[41] = "0123456789abcdef0123456789abcdef01234567";
    memcpy(NODE(1)->run_id, NODE(0)->run_id, sizeof NODE(0)->run_id);
    model_put(NODE(0), "door", token, 100000, cluster_node_now(cluster, 0));
    model_put(NODE(1), "door", token, 100000, cluster_node_now(cluster, 1));
    LINK(0, 1)->delay_us = 20000;
    CHECK_INT(cluster_adopt(cluster, 0, 0, "door", token), REDLOCK_OK);
    START_EXTEND(0, 10000);
    RUN_MS(10);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
    cluster_cut(cluster, 0, 0, false);
    UNTIL_DONE(0);
    CHECK(redlock_lock_status(LOCK(0)) != REDLOCK_OK);
}

/* Its address leads to another server from then on. */
static void move_server(struct cluster *cluster, unsigned from, unsigned to)
{
    memcpy(NODE(to)->run_id, NODE(from)->run_id, sizeof NODE(to)->run_id);
    NODE(from)->run_id[0] = NODE(from)->run_id[0] == 'f' ? '0' : 'f';
}

/* Node 1 hears nothing, and node 2 is just being connected anew, when node 0's server votes on an
 * extension; then it moves to node 2's address. No guard keeps it from voting there, too. */
static void extend_while_the_server_moves(struct cluster *cluster)
{
    START_EXTEND(0, 10000);
    RUN_MS(2);
    EXPECT_VOTE(0, 0, REDLOCK_VOTE_GRANTED);
    RESET(0, 0);
    move_server(cluster, 0, 2);
    UNTIL_DONE(0);
    CHECK(VOTES(0, 0) && VOTES(0, 2));
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_NOT_ASKED);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    HEAL(1);
    RUN_MS(10);
    EXTEND(0, 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* Held, with node 2 slow and node 1 silent. */
static void hold_with_one_node(struct cluster *cluster)
{
    cluster->no_promise = true;
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    STALL(1);
    DELAY_US(2, 20000);
}

TEST(s12_a_server_votes_once_in_a_round_even_when_it_has_moved_to_another_node)
{
    CLUSTER_OF(3, 1, config.guard_ms = 0);
    hold_with_one_node(cluster);
    RESET(0, 2);
    RUN_MS(1);
    extend_while_the_server_moves(cluster);
}

/* It was node 2's server when that was connected last, and node 0's meanwhile. */
TEST(s12_a_server_votes_once_in_a_round_even_when_it_has_moved_back)
{
    CLUSTER_OF(3, 1, config.guard_ms = 0);
    hold_with_one_node(cluster);
    move_server(cluster, 2, 0);
    RESET(0, 0);
    RESET(0, 2);
    RUN_MS(2);
    CHECK(VOTES(0, 0) && !VOTES(0, 2));
    extend_while_the_server_moves(cluster);
}

/* It does not wait for an answer that cannot come any more. */
TEST(an_attempt_does_not_wait_for_a_node_that_will_not_release)
{
    CLUSTER(3);
    RIVAL(0, "door", 60000);
    RIVAL(1, "door", 60000);
    DELAY_US(2, 5000);
    ANSWERS(2, "EVALSHA", "-MISCONF no\r\n");
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    REMOVE_KEYS(0);
    START_ACQUIRE(0, "door", 10000, 0);
    uint64_t t = cluster->now_us;
    UNTIL_DONE(0);
    CHECK(cluster->now_us - t < 100000);
}

/* Node 2 is slow. The release of the first attempt is on its way to it when the others win and soon
 * release the second; one of them has died. The answer of node 2 shows that there is nothing to
 * wait for. */
static void release_behind_an_older_one(const char *reply, enum redlock_vote vote)
{
    CLUSTER(3);
    RIVAL(0, "door", 20);
    RIVAL(1, "door", 20);
    DELAY_US(2, 150000);
    if (reply) ANSWERS(2, "EVALSHA", reply);
    ACQUIRE_WAIT(0, "door", 10000, 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_PENDING);
    DOWN(1);
    RUN_MS(1);
    START_RELEASE(0);
    uint64_t t = cluster->now_us;
    UNTIL_DONE(0);
    CHECK(cluster->now_us - t < 300000);
    EXPECT_VOTE(0, 2, vote);
    CHECK_INT(redlock_view_lock(LOCK(0)).confirmed, 1);
}

TEST(a_release_waits_for_no_more_than_an_older_one_to_be_answered)
{
    release_behind_an_older_one(NULL, REDLOCK_VOTE_REFUSED);
    release_behind_an_older_one("-MISCONF no\r\n", REDLOCK_VOTE_UNKNOWN);
}

/* Node 2 is slow. Its pipeline is full with the acquires of lock 0, which a rival there has,
 * and of others.
 * Further commands to it wait, while the answer is already on its way that there is nothing
 * of lock 0. */
static void acquire_through_a_full_pipeline(struct cluster *cluster, uint32_t wait_ms)
{
    char name[] = "gate 0";

    DELAY_US(2, 150000);
    RIVAL(2, "door", 200);
    START_ACQUIRE(0, "door", 10000, wait_ms);
    for (unsigned i = 1; i < REDLOCK_PIPELINE_MIN; i++, name[5]++)
        START_ACQUIRE_LOCK(0, i, name, 10000, 0);
}

TEST(a_release_does_not_wait_for_a_node_that_refused_meanwhile)
{
    CLUSTER_OF(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN);
    acquire_through_a_full_pipeline(cluster, 0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    DOWN(1);
    RUN_MS(1);
    START_RELEASE(0);
    RUN_MS(310);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(an_extension_does_not_wait_for_a_node_that_refused_meanwhile)
{
    CLUSTER_OF(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN; config.node_timeout_ms = 2000);
    cluster->no_promise = true;
    acquire_through_a_full_pipeline(cluster, 0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    REMOVE_KEYS(1);
    START_EXTEND(0, 10000);
    RUN_MS(700);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
}

TEST(an_attempt_asks_a_node_again_that_refused_the_last_one_late)
{
    CLUSTER_OF(3, 1, config.pipeline = REDLOCK_PIPELINE_MIN; config.node_timeout_ms = 2000);
    RIVAL(0, "door", 20);
    RIVAL(1, "door", 60000);
    acquire_through_a_full_pipeline(cluster, 1000);
    RUN_MS(700);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_GRANTED);
}

TEST(an_attempt_does_not_wait_for_a_dead_node_with_a_debt)
{
    CLUSTER(3);
    RIVAL(0, "door", 60000);
    RIVAL(1, "door", 60000);
    DELAY_US(2, 5000);
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    REMOVE_KEYS(0);
    DOWN(2);
    START_ACQUIRE(0, "door", 10000, 0);
    uint64_t t = cluster->now_us;
    UNTIL_DONE(0);
    CHECK(cluster->now_us - t < 100000);
}

TEST(a_node_that_knows_no_script_ever_is_not_asked_for_ever)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    ANSWERS(2, "EVALSHA", "-NOSCRIPT no\r\n");
    ANSWERS(2, "EVAL", "-NOSCRIPT no\r\n");
    START_RELEASE(0);
    UNTIL_DONE(0);
    uint64_t calls = cluster->clients[0].call_count;
    RUN_MS(100);
    CHECK(cluster->clients[0].call_count - calls < 50);
}

/* Servers close connections that are silent for long, and that is no failure. */
TEST(connections_that_were_closed_for_their_silence_cost_no_votes)
{
    CLUSTER(3);
    for (int i = 0; i < 6; i++) {
        for (unsigned k = 0; k < 3; k++) cluster_reset(cluster, 0, k, false);
        RUN_MS(60000);
        CHECK(VOTES(0, 0));
    }
    for (unsigned k = 0; k < 3; k++) RESET(0, k);
    RUN_US(1000);
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* Before the command was sent. The first node's connection stands. */
TEST(an_extension_that_was_not_sent_waits_for_a_connection_that_breaks)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RUN_MS(20);
    START_EXTEND(0, 10000);
    for (unsigned k = 1; k < 3; k++) redlock_disconnected(ENGINE(0), k, NULL, CLIENT_NOW(0));
    EXPECT_VOTE(0, 1, REDLOCK_VOTE_PENDING);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_PENDING);
}

TEST(an_extension_waits_for_a_connection_that_has_just_broken)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    for (unsigned k = 0; k < 3; k++) cluster_reset(cluster, 0, k, false);
    EXTEND(0, 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* A lock that has ended and was not released. */
TEST(an_inspection_of_an_ended_lock_does_not_spoil_its_next_acquire)
{
    CLUSTER(3);
    struct redlock_sight sights[3];
    ACQUIRE(0, "door", 100);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(200);
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_BAD_STATE);
    ACQUIRE(0, "door", 1000);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TEST(an_ended_lock_can_be_used_for_another_resource_once_it_is_released)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 100);
    RUN_MS(200);
    CHECK(!IDLE(0));
    const struct redlock_request q = story_request("window", 1000, 0);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &q), REDLOCK_BAD_STATE);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_LOST);
    RUN_MS(10);
    CHECK(IDLE(0));
    CHECK_INT(cluster_acquire(cluster, 0, 0, &q), REDLOCK_OK);
}

TEST(s10_an_ended_lock_does_not_become_valid_again_when_the_clock_goes_back)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 1000);
    RUN_MS(2000);
    START_ACQUIRE(0, "door", 1000, 0);
    cluster_cancel(cluster, 0, 0);
    CHECK_INT(redlock_valid_us(LOCK(0), CLIENT_NOW(0) - 1500000), 0);
}

TEST(the_memory_that_redlock_memory_names_is_enough_for_every_pipeline)
{
    static uint64_t memory[REDLOCK_MEMORY(3, 9, 800, 99) / sizeof(uint64_t) + 1];
    static struct redlock_node nodes[3];
    struct redlock_config config;
    struct redlock r;
    redlock_config_init(&config);
    config.send_size = 799;
    config.receive_size = 93;
    for (config.pipeline = REDLOCK_PIPELINE_MIN; config.pipeline <= 9; config.pipeline++) {
        const size_t size =
            REDLOCK_MEMORY(3, config.pipeline, config.send_size, config.receive_size);
        CHECK_INT(redlock_init(&r, &config, nodes, 3, memory, size - 1, 0), REDLOCK_BAD_MEMORY);
        CHECK_INT(redlock_init(&r, &config, nodes, 3, memory, size, 0), REDLOCK_OK);
        CHECK((uint8_t *)(nodes[2].asked + config.pipeline) <= (uint8_t *)memory + size);
        CHECK(nodes[2].send + config.send_size <= (uint8_t *)memory + size);
        CHECK(nodes[2].receive + config.receive_size <= (uint8_t *)memory + size);
    }
}

TAP_MAIN
