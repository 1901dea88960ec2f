/* Strict order (S24, S25): fair locks, from the doorway to their turn. */
#include "kinds.h"

#include "../../../redlock/stake.h"

enum { TTL = 20000, WAIT = 200000, LEASE = WIRE_FAIR_LEASE_MS };

static struct redlock_request fair_request(uint32_t wait_ms)
{
    struct redlock_request request = story_request("door", TTL, wait_ms);

    request.kind = &redlock_fair;
    return request;
}

static enum redlock_status start_fair(struct cluster *cluster, unsigned client, uint32_t wait_ms)
{
    const struct redlock_request request = fair_request(wait_ms);

    return cluster_acquire(cluster, client, 0, &request);
}

#define START_FAIR(client, wait_ms) CHECK_INT(start_fair(cluster, (client), (wait_ms)), REDLOCK_OK)
#define FAIR(client, wait_ms) do { START_FAIR(client, wait_ms); UNTIL_DONE(client); } while (0)
/* Client 0 holds it, and clients 1 and 2 wait in that order. */
#define HOLD_AND_QUEUE \
    do { \
        FAIR(0, 0); \
        START_FAIR(1, WAIT); \
        RUN_MS(50); \
        START_FAIR(2, WAIT); \
        RUN_MS(50); \
    } while (0)
#define PHASE(client) (LOCK(client)->phase)
#define OOM "-OOM command not allowed when used memory > 'maxmemory'.\r\n"

static const struct model_key *queue_on(struct cluster *cluster, unsigned k)
{
    return model_find(NODE(k), 0, "door#queue", 10, cluster_node_now(cluster, k));
}

static unsigned queued_on(struct cluster *cluster, unsigned k)
{
    const struct model_key *queue = queue_on(cluster, k);

    return queue ? (unsigned)queue->entry_count : 0;
}

/* The largest turn in the queue of node k. */
static uint64_t last_turn_on(struct cluster *cluster, unsigned k)
{
    const struct model_key *queue = queue_on(cluster, k);
    uint64_t last = 0;

    for (size_t i = 0; queue && i < queue->entry_count; i++)
        if (queue->entries[i].score > last) last = queue->entries[i].score;
    return last;
}

static bool is_everywhere_empty(struct cluster *cluster)
{
    bool is_empty = cluster_count_keys(cluster, "door") == 0;

    for (unsigned k = 0; k < cluster->node_count; k++)
        is_empty = is_empty && queued_on(cluster, k) == 0;
    return is_empty;
}

static const struct model_call *last_poll(struct cluster *cluster, unsigned k)
{
    for (size_t i = NODE(k)->call_count; i > 0; i--)
        if (strcmp(NODE(k)->calls[i - 1].name, "ACQUIRE") == 0) return &NODE(k)->calls[i - 1];
    return NULL;
}

/* ---- What can be fair ---- */

TEST(a_fair_lock_is_one_resource_without_permits)
{
    struct redlock_name set[] = { { .bytes = "door", .size = 4 }, { .bytes = "gate", .size = 4 } };
    struct redlock_request request = fair_request(0);
    CLUSTER_COLD(3, 1, (void)0);

    request.permits = 2;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    request.permits = 0;
    request.set = set;
    request.set_count = 2;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_KIND);
    CHECK(IDLE(0));
}

TEST(a_fair_lock_is_linked_by_being_named_and_a_ticket_by_a_call)
{
    struct redlock_request request = fair_request(0);
    CLUSTER_COLD(3, 1, (void)0);

    cluster_client_is_plain(cluster, 0);
    request.ticket = true;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_BAD_CONFIG);
    request.ticket = false;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
}

TEST(a_fair_lock_with_a_ticket_needs_what_a_ticket_needs)
{
    struct redlock_request request = fair_request(0);
    CLUSTER(3);

    request.ticket = true;
    request.wall_us = (uint64_t)1 << 60;
    CHECK_INT(redlock_start_acquire(ENGINE(0), LOCK(0), &request, CLIENT_NOW(0)),
              REDLOCK_BAD_CLOCK);
}

/* A key of a fair lock beside its own would be overwritten. */
TEST(no_resource_ends_as_a_key_beside_a_fair_lock)
{
    CLUSTER(3);

    CHECK_INT(story_acquire(cluster, 0, 0, "door#queue", TTL, 0), REDLOCK_BAD_RESOURCE);
    CHECK_INT(story_acquire(cluster, 0, 0, "door#lease", TTL, 0), REDLOCK_BAD_RESOURCE);
    CHECK_INT(story_acquire(cluster, 0, 0, "door#grant", TTL, 0), REDLOCK_BAD_RESOURCE);
    CHECK_INT(story_acquire(cluster, 0, 0, "#queue", TTL, 0), REDLOCK_BAD_RESOURCE);
    CHECK_INT(story_acquire(cluster, 0, 0, "queue", TTL, 0), REDLOCK_OK);
}

/* ---- The doorway ---- */

TEST(where_nobody_is_queued_a_fair_lock_costs_one_round)
{
    CLUSTER(5);

    FAIR(0, WAIT);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_HELD(0);
    RUN_MS(5);
    for (unsigned k = 0; k < 5; k++) {
        CHECK_INT(CALLS(k, "ACQUIRE"), k == 0 ? CALLS(0, "ACQUIRE") : CALLS(k, "ACQUIRE"));
        CHECK_INT(last_poll(cluster, k)->turn, 0);
        CHECK_INT(queued_on(cluster, k), 0);
    }
    EXPECT_KEYS("door", 5);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(5);
    CHECK(is_everywhere_empty(cluster));
    CHECK(IDLE(0));
}

TEST(one_attempt_leaves_nothing_behind)
{
    CLUSTER_OF(3, 2, (void)0);

    FAIR(0, 0);
    FAIR(1, 0);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    CHECK(redlock_view_lock(LOCK(1)).free_in_ms > TTL - 100);
    RUN_MS(5);
    CHECK(IDLE(1));
    CHECK_INT(queued_on(cluster, 0), 0);
    RELEASE(0);
    RUN_MS(5);
    CHECK(is_everywhere_empty(cluster));
}

/* The refusals report its turn, and it takes its place at once. */
TEST(whoever_is_refused_at_the_doorway_is_queued_a_round_trip_later)
{
    CLUSTER_OF(5, 3, (void)0);

    kind_teach_scripts(cluster);
    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(5);
    START_FAIR(2, WAIT);
    RUN_MS(5);
    for (unsigned k = 0; k < 5; k++) {
        CHECK_INT(queued_on(cluster, k), 2);
        CHECK_INT(last_turn_on(cluster, k), 2);
        CHECK_INT(last_poll(cluster, k)->turn, 2);
        CHECK(last_poll(cluster, k)->queued);
    }
    EXPECT_STATUS(1, REDLOCK_PENDING);
    CHECK_INT(redlock_attempt_status(LOCK(1)), REDLOCK_TAKEN);
}

/* Two refusals of four nodes decide a round, but only three answers tell a turn. */
TEST(s25_a_turn_is_told_by_a_quorum_also_where_fewer_decide)
{
    CLUSTER_OF(4, 2, (void)0);

    kind_teach_scripts(cluster);
    FAIR(0, 0);
    RUN_MS(5);
    DELAY_US(2, 30000);
    DELAY_US(3, 30000);
    START_FAIR(1, WAIT);
    RUN_MS(20);
    CHECK_INT(last_poll(cluster, 0)->turn, 0);
    CHECK_INT(queued_on(cluster, 0), 0);
    RUN_MS(60);
    CHECK_INT(last_turn_on(cluster, 0), 1);
    CHECK_INT(queued_on(cluster, 1), 1);
}

/* A lock that asks a minority has learnt nothing, so it goes to the doorway again, and
 * takes no place. */
TEST(s25_a_turn_is_not_told_by_a_minority)
{
    CLUSTER_OF(5, 2, (void)0);

    FAIR(0, 0);
    RUN_MS(5);
    for (unsigned k = 2; k < 5; k++) cluster_stall(cluster, 1, k);
    START_FAIR(1, WAIT);
    RUN_MS(3000);
    for (unsigned k = 0; k < 5; k++) CHECK_INT(queued_on(cluster, k), 0);
    CHECK_INT(last_poll(cluster, 0)->turn, 0);
    HEAL_ALL;
    RUN_MS(3000);
    for (unsigned k = 0; k < 5; k++) CHECK_INT(queued_on(cluster, k), 1);
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* Another node has seen more turns than the one that answers last. */
TEST(s25_a_turn_is_larger_than_the_largest_that_a_node_tells)
{
    CLUSTER_OF(3, 2, (void)0);

    kind_teach_scripts(cluster);
    FAIR(0, 0);
    RUN_MS(5);
    DOES_BUT_ANSWERS(0, "EVALSHA", "$12\r\n0 20000 41 0\r\n");
    LINK(1, 1)->delay_us = LINK(1, 2)->delay_us = 1000;
    START_FAIR(1, WAIT);
    RUN_MS(10);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(last_turn_on(cluster, k), 42);
}

/* It has no turn, so grants by a minority are in everybody's way. It gives them up between two
 * rounds, as a plain lock does. */
TEST(a_doorway_that_no_quorum_answers_keeps_nothing)
{
    CLUSTER_OF(3, 2, (void)0);

    DOWN(2);
    cluster_stall(cluster, 0, 1);
    START_FAIR(0, WAIT);
    RUN_MS(3000);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    CHECK_INT(redlock_attempt_status(LOCK(0)), REDLOCK_NO_QUORUM);
    ACQUIRE_WAIT(1, "door", TTL, 10000);
    EXPECT_STATUS(1, REDLOCK_OK);
    HEAL_ALL;
    RUN_MS(2000);
    CHECK_INT(queued_on(cluster, 0), 1);
    RELEASE(1);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(20);
    EXPECT_KEYS("door", 0);
    CHECK_INT(queued_on(cluster, 0), 0);
}

/* Firmware may use this. */
TEST(a_doorway_that_no_quorum_answers_keeps_nothing_without_wake_ups_either)
{
    uint8_t token[REDLOCK_TOKEN_SIZE];
    CLUSTER_COLD(3, 1, (void)0);

    cluster_client_is_plain(cluster, 0);
    RUN_MS(STORY_SETTLE_MS);
    DOWN(1);
    DOWN(2);
    START_FAIR(0, WAIT);
    memcpy(token, LOCK(0)->token, sizeof token);
    RUN_MS(3000);
    EXPECT_STATUS(0, REDLOCK_PENDING);
    CHECK(memcmp(token, LOCK(0)->token, sizeof token) != 0);
    HEAL_ALL;
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(20);
    CHECK(is_everywhere_empty(cluster));
}

/* Two of four nodes decide a round, and an answer may be missing for ever that would have made a
 * quorum of them. */
TEST(a_doorway_whose_answers_did_not_come_begins_anew)
{
    uint8_t token[REDLOCK_TOKEN_SIZE];
    unsigned polls;
    CLUSTER_OF(4, 2, (void)0);

    kind_teach_scripts(cluster);
    DOWN(3);
    cluster_stall(cluster, 0, 2);
    RIVAL(1, "door", 3000);
    START_FAIR(0, WAIT);
    RUN_MS(5);
    CHECK_INT(PHASE(0), REDLOCK_PHASE_WAITING);
    EXPECT_KEYS("door", 2);
    memcpy(token, LOCK(0)->token, sizeof token);
    polls = CALLS(0, "ACQUIRE");
    RUN_WHILE(CALLS(0, "ACQUIRE") == polls, 1000);
    CHECK_INT(CALLS(0, "ACQUIRE"), polls + 1);
    CHECK(memcmp(token, LOCK(0)->token, sizeof token) != 0);
    HEAL_ALL;
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(20);
    EXPECT_KEYS("door", 0);
}

/* Its number is nobody's until it waits again. A call would end its time for the bytes. */
TEST(a_lock_that_begins_anew_and_waits_for_random_bytes_is_not_called)
{
    struct wire_reply call = { .type = RESP_ARRAY, .integer = 3 };
    char text[60];
    CLUSTER_OF(3, 2, config.wake_ups = true);

    kind_teach_scripts(cluster);
    for (unsigned k = 1; k < 3; k++) ANSWERS(k, "EVALSHA", OOM);
    START_FAIR(1, WAIT);
    RUN_MS(20);
    cluster->clients[1].starved = true;
    ENGINE(1)->entropy_size = 0;
    RUN_WHILE(PHASE(1) != REDLOCK_PHASE_NEEDS_ENTROPY, 1000);
    CHECK_INT(PHASE(1), REDLOCK_PHASE_NEEDS_ENTROPY);
    CHECK(LOCK(1)->wait_number != 0);
    snprintf(text, sizeof text, "messageredlock:0123456789abcdef%u",
             (unsigned)LOCK(1)->wait_number);
    call.text = text;
    call.text_size = strlen(text);
    for (unsigned k = 0; k < 3; k++) ENGINE(1)->waking->hear(ENGINE(1), k, &call);
    RUN_MS(5);
    EXPECT_STATUS(1, REDLOCK_PENDING);
    cluster->clients[1].starved = false;
    STORY_NODES ANSWERS_AS_EVER(story_k);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

TEST(an_answer_that_comes_when_a_doorway_has_let_go_tells_no_turn)
{
    CLUSTER_OF(5, 1, config.retry_ms = 1000);

    kind_teach_scripts(cluster);
    for (unsigned k = 2; k < 5; k++) ANSWERS(k, "EVALSHA", OOM);
    RIVAL(1, "door", 1000);
    DELAY_US(1, 30000);
    START_FAIR(0, WAIT);
    RUN_MS(20);
    CHECK_INT(PHASE(0), REDLOCK_PHASE_WAITING);
    EXPECT_KEY_ABSENT(0, "door");
    RUN_MS(100);
    CHECK_INT(CALLS(1, "ACQUIRE"), 1);
    CHECK_INT(PHASE(0), REDLOCK_PHASE_WAITING);
    CHECK_INT(LOCK(0)->line.turn.number, 0);
}

/* ---- The queue ---- */

static void check_order(struct cluster *cluster, unsigned count)
{
    for (unsigned c = 1; c < count; c++) {
        START_RELEASE(c - 1);
        UNTIL_DONE(c);
        EXPECT_STATUS(c, REDLOCK_OK);
        EXPECT_HELD(c);
        for (unsigned later = c + 1; later < count; later++) EXPECT_STATUS(later, REDLOCK_PENDING);
        RUN_MS(20);
    }
    RELEASE(count - 1);
    RUN_MS(20);
    CHECK(is_everywhere_empty(cluster));
    for (unsigned c = 0; c < count; c++) CHECK(IDLE(c));
}

TEST(s25_waiters_get_in_in_the_order_in_which_they_came)
{
    for (unsigned wakes = 0; wakes < 2; wakes++) {
        TAP_CONTEXT("wake-ups: %u", wakes);
        CLUSTER_OF(3, 6, config.wake_ups = wakes > 0);
        FAIR(0, 0);
        for (unsigned c = 1; c < 6; c++) {
            START_FAIR(c, WAIT);
            RUN_MS(30);
        }
        check_order(cluster, 6);
    }
}

/* A client that comes when the resource is free, and the one whose turn it is has not asked
 * yet, is refused. */
TEST(s25_a_newcomer_does_not_get_in_before_those_that_are_queued)
{
    CLUSTER_OF(3, 3, (void)0);

    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(100);
    FREEZE(1);
    RELEASE(0);
    FAIR(2, 0);
    EXPECT_STATUS(2, REDLOCK_TAKEN);
    EXPECT_KEYS("door", 0);
    THAW(1);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* A client of another library, or one of ours that is not fair. */
TEST(a_plain_lock_excludes_a_fair_one_and_the_other_way_round)
{
    CLUSTER_OF(3, 2, (void)0);

    ACQUIRE(0, "door", TTL);
    START_FAIR(1, WAIT);
    RUN_MS(100);
    EXPECT_STATUS(1, REDLOCK_PENDING);
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    ACQUIRE(0, "door", TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
}

/* Without a wake-up the next in line would look when a third of the lease has passed. The release
 * calls it. */
TEST(a_release_calls_the_first_in_the_queue)
{
    CLUSTER_OF(3, 3, config.wake_ups = true; config.retry_ms = 60000);

    HOLD_AND_QUEUE;
    START_RELEASE(0);
    RUN_MS(5);
    EXPECT_STATUS(1, REDLOCK_OK);
    START_RELEASE(1);
    RUN_MS(5);
    EXPECT_STATUS(2, REDLOCK_OK);
}

/* One node's release is executed between its refusal and the other answers. Its call is heard while
 * the poll is under way. */
static void be_called_while_it_polls(unsigned moves)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);

    TAP_CONTEXT("it moves %u times before", moves);
    kind_teach_scripts(cluster);
    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    cluster_stall(cluster, 1, 2);       /* Two refusals are needed, */
    DELAY_US(1, 20000);                 /* and the second one takes its time. */
    for (unsigned i = 0; i < 3000 && PHASE(1) != REDLOCK_PHASE_ACQUIRING; i++) RUN_MS(1);
    CHECK_INT(PHASE(1), REDLOCK_PHASE_ACQUIRING);
    RUN_MS(22);
    CHECK_INT(PHASE(1), REDLOCK_PHASE_ACQUIRING);
    if (moves) cluster_move(cluster, 1, 1, 0);
    START_RELEASE(0);
    RUN_MS(150);
    EXPECT_LOCK_STATUS(1, moves, REDLOCK_OK);
}

TEST(a_call_that_comes_while_a_lock_polls_is_heard)
{
    for (unsigned moves = 0; moves < 2; moves++) be_called_while_it_polls(moves);
}

/* Two nodes have called it and one has granted it, when the last refusal comes; and another knows
 * of many that are before it. */
TEST(a_call_by_a_quorum_is_heard_whatever_another_node_says)
{
    CLUSTER_OF(5, 2, config.wake_ups = true; config.retry_ms = 60000);

    kind_teach_scripts(cluster);
    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    REMOVE_KEY(3, "door");
    DOES_BUT_ANSWERS(0, "EVALSHA", "$11\r\n0 20000 9 9\r\n");
    cluster_stall(cluster, 1, 4);
    DELAY_US(2, 20000);
    for (unsigned i = 0; i < 3000 && PHASE(1) != REDLOCK_PHASE_ACQUIRING; i++) RUN_MS(1);
    RUN_MS(22);
    CHECK_INT(PHASE(1), REDLOCK_PHASE_ACQUIRING);
    cluster_cut_subscription(cluster, 1, 2);
    START_RELEASE(0);
    RUN_MS(150);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* Somebody else's key is in the way, or a server with a mind of its own. */
TEST(a_refusal_with_a_turn_or_a_rank_out_of_reach_is_taken_for_the_last_there_is)
{
    static const char *const answers[] = {
        "$7\r\n0 20000\r\n", "$20\r\n0 20000 4294967295 0\r\n", "$15\r\n0 20000 7 70000\r\n",
        "$20\r\n0 20000 4294967296 0\r\n"
    };

    for (unsigned i = 0; i < 4; i++) {
        TAP_CONTEXT("answer %u", i);
        CLUSTER_OF(3, 1, config.wake_ups = true);
        char answer[40];
        snprintf(answer, sizeof answer, "$%zu%s", strlen(strchr(answers[i], '\n') + 1) - 2,
                 strchr(answers[i], '\r'));
        kind_teach_scripts(cluster);
        STORY_NODES ANSWERS(story_k, "EVALSHA", answer);
        START_FAIR(0, WAIT);
        RUN_MS(3000);
        STORY_NODES ANSWERS_AS_EVER(story_k);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RELEASE(0);
        RUN_MS(20);
        CHECK(is_everywhere_empty(cluster));
    }
}

/* Firmware may do without them, and the lock then looks by itself. */
TEST(a_fair_lock_needs_no_wake_ups)
{
    CLUSTER_COLD(3, 2, (void)0);

    for (unsigned c = 0; c < 2; c++) {
        cluster_client_is_plain(cluster, c);
    }
    RUN_MS(STORY_SETTLE_MS);
    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(200);
    CHECK_INT(queued_on(cluster, 0), 1);
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* Its entry, by which it is called, is part of its place. It therefore has one from the beginning,
 * or none. Without one it looks by itself, also when its engine has begun to listen
 * for another lock. */
TEST(a_lock_that_could_not_draw_a_name_is_in_the_queue_without_one)
{
    uint32_t rounds;
    CLUSTER_OF(3, 2, config.wake_ups = true);

    kind_teach_scripts(cluster);
    FAIR(0, 0);
    START_FAIR(1, WAIT);
    cluster->clients[1].starved = true;
    ENGINE(1)->entropy_size = 0;
    RUN_MS(5);
    cluster->clients[1].starved = false;
    RUN_MS(3000);
    CHECK_INT(LOCK(1)->wait_number, 0);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(queued_on(cluster, k), 1);
    RIVAL_ON_ALL("gate", 60000);
    START_ACQUIRE_LOCK(1, 1, "gate", TTL, WAIT);
    RUN_MS(1000);
    rounds = LOCK(1)->round.number;
    RUN_MS(3000);
    TAP_CHECK(LOCK(1)->round.number - rounds > 6, "%u rounds", LOCK(1)->round.number - rounds);
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* Others that waited for a plain lock are let pass by one that was released; a fair lock
 * has its turn. */
TEST(a_fair_lock_stands_aside_for_nobody)
{
    CLUSTER_OF(3, 2, config.wake_ups = true);

    ACQUIRE(0, "door", TTL);
    START_ACQUIRE(1, "door", TTL, WAIT);
    RUN_MS(100);
    RELEASE(0);
    RUN_MS(5);
    START_FAIR(0, WAIT);
    CHECK_INT(PHASE(0), REDLOCK_PHASE_ACQUIRING);
    UNTIL_DONE(1);
    RELEASE(1);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* One that has two before it does not. */
TEST(a_lock_that_was_not_called_looks_when_the_holders_time_ends)
{
    uint32_t rounds;
    CLUSTER_OF(3, 4, config.wake_ups = true; config.retry_ms = 10);

    FAIR(0, 0);
    for (unsigned c = 1; c < 4; c++) {
        START_FAIR(c, WAIT);
        RUN_MS(50);
    }
    FREEZE(0);
    RUN_MS(TTL - 200);
    EXPECT_STATUS(1, REDLOCK_PENDING);
    rounds = LOCK(3)->round.number;
    RUN_MS(300);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_STATUS(2, REDLOCK_PENDING);
    CHECK_INT(LOCK(3)->round.number, rounds);
}

/* The last answer comes when the round is lost already. */
TEST(a_lock_that_learns_late_how_many_are_before_it_does_not_look_when_the_holders_time_ends)
{
    static const char far[] = "$9\r\n0 600 9 9\r\n";
    uint32_t rounds;
    CLUSTER_OF(3, 1, config.wake_ups = true; config.retry_ms = 10);

    kind_teach_scripts(cluster);
    RIVAL_ON_ALL("door", 600);
    story_plan(NODE(2), "EVALSHA", far, sizeof far - 1, UINT32_MAX, true);
    LINK(0, 2)->delay_us = 20000;
    START_FAIR(0, WAIT);
    RUN_MS(100);
    CHECK_INT(PHASE(0), REDLOCK_PHASE_WAITING);
    CHECK_INT(LOCK(0)->line.turn.rank, 9);
    rounds = LOCK(0)->round.number;
    RUN_MS(600);
    CHECK_INT(LOCK(0)->round.number, rounds);
}

/* The second in line is woken where nobody hears the first, and waits for the end of
 * that one's lease. */
TEST(a_waiter_that_has_died_at_the_head_costs_its_lease_at_most)
{
    for (unsigned wakes = 0; wakes < 2; wakes++) {
        TAP_CONTEXT("wake-ups: %u", wakes);
        CLUSTER_OF(3, 3, config.wake_ups = wakes > 0);
        HOLD_AND_QUEUE;
        FREEZE(1);
        START_RELEASE(0);
        RUN_MS(LEASE / 2);
        EXPECT_STATUS(2, REDLOCK_PENDING);
        RUN_MS(LEASE / 2 + 500);
        EXPECT_STATUS(2, REDLOCK_OK);
        THAW(1);
        RUN_MS(1000);
        EXPECT_STATUS(1, REDLOCK_PENDING);
        START_RELEASE(2);
        UNTIL_DONE(1);
        EXPECT_STATUS(1, REDLOCK_OK);
    }
}

/* Places are renewed for as long as one waits, whether it is called or not. */
TEST(a_place_is_kept_for_as_long_as_its_client_waits)
{
    for (unsigned wakes = 0; wakes < 2; wakes++) {
        TAP_CONTEXT("wake-ups: %u", wakes);
        CLUSTER_OF(3, 3, config.wake_ups = wakes > 0; config.guard_ms = 0);
        struct redlock_request request = fair_request(0);
        request.ttl_ms = 100000;
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
        UNTIL_DONE(0);
        START_FAIR(1, WAIT);
        RUN_MS(50);
        START_FAIR(2, WAIT);
        for (unsigned i = 0; i < 30; i++) {
            RUN_MS(1000);
            for (unsigned k = 0; k < 3; k++) CHECK_INT(queued_on(cluster, k), 2);
        }
        check_order(cluster, 3);
    }
}

/* It is woken, and polls of a lock that is called are rare. */
TEST(a_lock_that_will_be_called_polls_three_times_in_a_lease)
{
    for (unsigned down = 0; down < 2; down++) {
        TAP_CONTEXT("down: %u", down);
        CLUSTER_OF(3, 2, config.wake_ups = true);
        if (down) DOWN(2);
        FAIR(0, 0);
        START_FAIR(1, WAIT);
        RUN_MS(500);
        const unsigned before = (unsigned)CALLS(0, "ACQUIRE");
        RUN_MS(2 * LEASE);
        CHECK(CALLS(0, "ACQUIRE") - before >= 6);
        CHECK(CALLS(0, "ACQUIRE") - before <= 9);
    }
}

/* Its subscriptions stay open. */
TEST(a_lock_that_has_waited_for_long_is_called)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);

    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(TTL - 1000);
    START_RELEASE(0);
    RUN_MS(5);
    EXPECT_STATUS(1, REDLOCK_OK);
}

TEST(locks_that_wait_for_one_queue_do_not_all_look_at_the_same_intervals)
{
    uint64_t started_at, last_us = 0;
    unsigned changes = 0;
    CLUSTER_OF(3, 2, config.wake_ups = true);

    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(500);
    for (unsigned i = 0; i < 5; i++) {
        const uint32_t rounds = LOCK(1)->round.number;
        started_at = LOCK(1)->round.started_at;
        RUN_WHILE(LOCK(1)->round.number == rounds, 2000);
        changes += LOCK(1)->round.started_at - started_at != last_us;
        last_us = LOCK(1)->round.started_at - started_at;
    }
    CHECK_INT(changes, 5);
}

/* A minority that is reached renews no place, or its waiter would hold up all others. */
TEST(a_waiter_that_reaches_a_minority_loses_its_place)
{
    CLUSTER_OF(5, 3, (void)0);

    HOLD_AND_QUEUE;
    for (unsigned k = 2; k < 5; k++) cluster_stall(cluster, 1, k);
    RUN_MS(LEASE + 2000);
    CHECK_INT(queued_on(cluster, 0), 1);
    START_RELEASE(0);
    UNTIL_DONE(2);
    EXPECT_STATUS(2, REDLOCK_OK);
    HEAL_ALL;
    START_RELEASE(2);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* It is asked for its place again before the lease is over. */
TEST(s25_a_round_that_no_quorum_answers_costs_no_turn)
{
    CLUSTER_OF(3, 3, (void)0);

    HOLD_AND_QUEUE;
    for (unsigned k = 1; k < 3; k++) cluster_stall(cluster, 1, k);
    RUN_WHILE(redlock_attempt_status(LOCK(1)) != REDLOCK_NO_QUORUM, 3000);
    CHECK_INT(redlock_attempt_status(LOCK(1)), REDLOCK_NO_QUORUM);
    HEAL_ALL;
    RUN_MS(2000);
    START_RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_STATUS(2, REDLOCK_PENDING);
}

/* Three that come at once have one node each. The first in the queues gets the others' nodes. */
TEST(grants_of_nodes_go_to_the_first_in_the_queue)
{
    for (unsigned wakes = 0; wakes < 2; wakes++) {
        TAP_CONTEXT("wake-ups: %u", wakes);
        CLUSTER_OF(3, 3, config.wake_ups = wakes > 0);
        kind_teach_scripts(cluster);
        for (unsigned c = 0; c < 3; c++)
            for (unsigned k = 0; k < 3; k++) LINK(c, k)->delay_us = k == c ? 100 : 2000;
        for (unsigned c = 0; c < 3; c++) START_FAIR(c, WAIT);
        RUN_MS(500);
        unsigned held = 0, winner = 0;
        for (unsigned c = 0; c < 3; c++)
            if (VALID_US(c) > 0) held++, winner = c;
        CHECK_INT(held, 1);
        CHECK(cluster_count_keys(cluster, "door") >= 2);
        RELEASE(winner);
        RUN_MS(500);
        for (unsigned c = 0; c < 3; c++)
            if (VALID_US(c) > 0) RELEASE(c);
        RUN_MS(500);
        for (unsigned c = 0; c < 3; c++)
            if (VALID_US(c) > 0) RELEASE(c);
        RUN_MS(500);
        CHECK(is_everywhere_empty(cluster));
    }
}

/* ---- The end ---- */

TEST(a_lock_that_gives_up_leaves_the_queues_and_calls_the_next)
{
    CLUSTER_OF(3, 3, config.wake_ups = true; config.retry_ms = 60000);

    FAIR(0, 0);
    START_FAIR(1, 300);
    RUN_MS(50);
    START_FAIR(2, WAIT);
    RUN_MS(50);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_TIMEOUT);
    CHECK_INT(redlock_attempt_status(LOCK(1)), REDLOCK_TAKEN);
    RUN_MS(5);
    CHECK(IDLE(1));
    for (unsigned k = 0; k < 3; k++) CHECK_INT(queued_on(cluster, k), 1);
    START_RELEASE(0);
    RUN_MS(5);
    EXPECT_STATUS(2, REDLOCK_OK);
}

/* Cancels it at each moment of a wait: at the doorway, while it polls, between two polls. */
TEST(a_lock_that_is_cancelled_leaves_the_queues_whenever_that_is)
{
    for (unsigned us = 0; us < 1200; us += 50) {
        TAP_CONTEXT("after %u us", us);
        CLUSTER_OF(3, 2, config.wake_ups = true);
        kind_teach_scripts(cluster);
        FAIR(0, 0);
        START_FAIR(1, WAIT);
        RUN_US(us);
        cluster_cancel(cluster, 1, 0);
        EXPECT_STATUS(1, REDLOCK_CANCELLED);
        RUN_MS(20);
        CHECK(IDLE(1));
        for (unsigned k = 0; k < 3; k++) CHECK_INT(queued_on(cluster, k), 0);
        RELEASE(0);
        FAIR(1, 0);
        EXPECT_STATUS(1, REDLOCK_OK);
    }
}

/* Places die with their leases, and no client is called that is gone. */
TEST(a_lock_that_is_forgotten_while_it_waits_is_nobody)
{
    for (unsigned us = 0; us < 1200; us += 100) {
        TAP_CONTEXT("after %u us", us);
        CLUSTER_OF(3, 3, config.wake_ups = true);
        kind_teach_scripts(cluster);
        FAIR(0, 0);
        START_FAIR(1, WAIT);
        RUN_US(us);
        cluster_forget(cluster, 1, 0);
        RUN_MS(50);
        START_FAIR(2, WAIT);
        RUN_MS(50);
        START_RELEASE(0);
        UNTIL_DONE(2);
        EXPECT_STATUS(2, REDLOCK_OK);
    }
}

TEST(a_lock_that_moves_while_it_waits_is_called_there)
{
    for (unsigned us = 0; us < 1200; us += 100) {
        TAP_CONTEXT("after %u us", us);
        CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);
        kind_teach_scripts(cluster);
        FAIR(0, 0);
        START_FAIR(1, WAIT);
        RUN_US(us);
        cluster_move(cluster, 1, 1, 0);
        RUN_MS(50);
        START_RELEASE(0);
        RUN_MS(10);
        EXPECT_LOCK_STATUS(1, 1, REDLOCK_OK);
    }
}

/* A round takes 1 ms. No other begins when the time is over, or would be before
 * another has passed. */
TEST(a_round_that_would_begin_when_the_time_to_wait_ends_is_not_begun)
{
    static const struct {
        uint32_t wait_ms;
        unsigned rounds;
    } cases[] = { { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 3 } };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        TAP_CONTEXT("%u ms", (unsigned)cases[i].wait_ms);
        CLUSTER_OF(3, 2, (void)0);
        kind_teach_scripts(cluster);
        FAIR(0, 0);
        RUN_MS(5);
        DELAY_ALL_US(500);
        const unsigned before = CALLS(0, "ACQUIRE");
        START_FAIR(1, cases[i].wait_ms);
        UNTIL_DONE(1);
        EXPECT_STATUS(1, REDLOCK_TIMEOUT);
        RUN_MS(5);
        CHECK_INT(CALLS(0, "ACQUIRE") - before, cases[i].rounds);
    }
}

TEST(locks_of_one_engine_are_in_the_order_in_which_they_came)
{
    enum { COUNT = 7 };
    CLUSTER_COLD(3, 1, config.wake_ups = true);
    struct redlock_request request = fair_request(WAIT);

    cluster_need_locks(cluster, 0, COUNT);
    RUN_MS(STORY_SETTLE_MS);
    FAIR(0, 0);
    for (unsigned i = 1; i < COUNT; i++) {
        CHECK_INT(cluster_acquire(cluster, 0, i, &request), REDLOCK_OK);
        RUN_MS(20);
    }
    for (unsigned i = 0; i + 1 < COUNT; i++) {
        CHECK_INT(cluster_release(cluster, 0, i), REDLOCK_OK);
        UNTIL_LOCK_DONE(0, i + 1);
        EXPECT_LOCK_STATUS(0, i + 1, REDLOCK_OK);
        for (unsigned j = i + 2; j < COUNT; j++) EXPECT_LOCK_STATUS(0, j, REDLOCK_PENDING);
        RUN_MS(10);
    }
}

/* ---- Faults ---- */

/* A poll of the node that it does not know, in any round. */
TEST(a_node_that_has_forgotten_the_script_is_sent_its_text_and_keeps_the_place)
{
    CLUSTER_OF(3, 2, (void)0);

    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    kind_flush_scripts(cluster);
    RUN_MS(LEASE + 1000);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(queued_on(cluster, k), 1);
    START_RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    RELEASE(1);
    RUN_MS(20);
    CHECK(is_everywhere_empty(cluster));
}

/* Its first answer decides that the round is lost. The one that makes a quorum of answers comes
 * later than any pause is long. */
TEST(a_place_is_kept_where_a_quorum_needs_a_node_that_is_far_away)
{
    CLUSTER_OF(3, 3, (void)0);

    LINK(1, 1)->delay_us = 120000;
    DOWN(2);
    RUN_MS(2000);
    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(3 * LEASE);
    for (unsigned k = 0; k < 2; k++) CHECK_INT(queued_on(cluster, k), 1);
    START_FAIR(2, WAIT);
    RUN_MS(LEASE);
    START_RELEASE(0);
    RUN_MS(2000);
    EXPECT_HELD(1);
    EXPECT_STATUS(2, REDLOCK_PENDING);
}

/* S14: nor is it asked again and again before it can have answered. */
TEST(s14_a_doorway_waits_for_a_node_that_is_far_away)
{
    unsigned polls;
    CLUSTER_OF(3, 2, (void)0);

    LINK(1, 1)->delay_us = 120000;
    DOWN(2);
    RUN_MS(2000);
    FAIR(0, 0);
    polls = CALLS(0, "ACQUIRE");
    LOCK(1)->woken = 7;     /* As of an earlier operation. */
    START_FAIR(1, WAIT);
    RUN_MS(460);
    for (unsigned k = 0; k < 2; k++) CHECK_INT(queued_on(cluster, k), 1);
    CHECK_INT(CALLS(0, "ACQUIRE"), polls + 2);      /* At the doorway, and for its place. */
}

/* A node that answers later than the next poll begins tells of a queue that may be gone. */
TEST(answers_to_an_older_poll_say_nothing_about_the_place)
{
    CLUSTER_OF(3, 4, config.node_timeout_ms = 4000);

    RUN_MS(1000);
    FAIR(0, 0);
    START_FAIR(2, WAIT);
    START_FAIR(3, WAIT);
    RUN_MS(100);
    LINK(1, 2)->delay_us = 1200000;
    START_FAIR(1, WAIT);
    /* The third node has seen a poll while two were before it, and says so a second later. */
    RUN_MS(1400);
    CHECK_INT(LOCK(1)->line.turn.rank, 2);
    for (unsigned c = 2; c < 4; c++) redlock_cancel(ENGINE(c), LOCK(c), CLIENT_NOW(c));
    RUN_MS(600);
    for (unsigned i = 0; i < 20; i++) {
        CHECK_INT(LOCK(1)->line.turn.rank, 0);
        RUN_MS(100);
    }
}

/* S5: it has the key there from the poll before. The command after NOSCRIPT ends the connection,
 * before the text can be sent. */
TEST(s5_a_fair_lock_whose_script_was_forgotten_releases_what_it_has_there)
{
    CLUSTER_OF(3, 2, (void)0);

    RUN_MS(1000);
    kind_teach_scripts(cluster);
    FAIR(0, 0);
    REMOVE_KEYS(1);
    START_FAIR(1, WAIT);
    RUN_MS(1000);
    CHECK(cluster_key(cluster, 1, "door") != NULL);
    ANSWERS_ONCE(1, "EVALSHA", "-NOSCRIPT x\r\n+OK\r\n");
    for (unsigned i = 0; i < 3000 && ENGINE(1)->nodes[1].trouble != REDLOCK_TROUBLE_PROTOCOL; i++)
        RUN_MS(1);
    EXPECT_TROUBLE(1, 1, REDLOCK_TROUBLE_PROTOCOL);
    DOWN(1);
    redlock_cancel(ENGINE(1), LOCK(1), CLIENT_NOW(1));
    RUN_MS(300);
    UP_KEEPING(1);
    RUN_MS(3000);
    EXPECT_KEY_ABSENT(1, "door");
}

TEST(s14_a_waiter_lets_as_much_time_pass_as_its_round_took)
{
    CLUSTER_OF(3, 2, config.node_timeout_ms = 2000; config.retry_ms = 10);

    RUN_MS(1000);
    FAIR(0, 0);
    for (unsigned k = 0; k < 3; k++) LINK(1, k)->delay_us = 200000;
    START_FAIR(1, WAIT);
    RUN_MS(3000);
    for (unsigned i = 0; i < 3; i++) {
        const struct redlock_round last = LOCK(1)->round;
        RUN_WHILE(LOCK(1)->round.number == last.number, 2000);
        CHECK(LOCK(1)->round.started_at - last.started_at >= 800000);
    }
}

/* Two of four answers are not a quorum, and no third will come. So nobody calls it, and its place
 * ends soon. */
TEST(a_waiter_looks_again_soon_where_a_quorum_of_answers_has_become_impossible)
{
    CLUSTER_OF(4, 2, config.wake_ups = true; config.node_timeout_ms = 4000; config.retry_ms = 10);

    kind_teach_scripts(cluster);
    FAIR(0, 0);
    RUN_MS(50);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    DOWN(3);
    LINK(1, 0)->delay_us = 40000;
    LINK(1, 1)->delay_us = 30000;
    ANSWERS_ONCE(0, "EVALSHA", OOM);
    RUN_WHILE(PHASE(1) != REDLOCK_PHASE_ACQUIRING, 3000);
    CHECK_INT(PHASE(1), REDLOCK_PHASE_ACQUIRING);
    RUN_MS(50);
    CHECK_INT(PHASE(1), REDLOCK_PHASE_WAITING);
    const uint32_t rounds = LOCK(1)->round.number;
    RUN_MS(150);
    CHECK(LOCK(1)->round.number > rounds);
}

/* It does not matter either that the round is lost when NOSCRIPT comes. */
TEST(a_node_that_has_forgotten_the_script_is_sent_its_text_when_the_round_is_lost_already)
{
    CLUSTER_OF(3, 2, (void)0);

    LINK(1, 1)->delay_us = 5000;
    DOWN(2);
    RUN_MS(1000);
    FAIR(0, 0);
    kind_teach_scripts(cluster);
    model_flush_scripts(NODE(1));
    START_FAIR(1, WAIT);
    RUN_MS(300);
    CHECK_INT(queued_on(cluster, 1), 1);
    START_RELEASE(0);
    RUN_MS(500);
    EXPECT_HELD(1);
}

/* The keeper begins at once here. It has its fields, and the poll that is still to go out
 * has its own. */
TEST(a_fair_lock_that_is_kept_polls_the_nodes_that_are_left_as_before)
{
    CLUSTER_OF(3, 1, (void)0);

    LINK(0, 2)->delay_us = 20000;
    RUN_MS(1000);
    kind_teach_scripts(cluster);
    model_flush_scripts(NODE(2));
    FAIR(0, 0);
    EXPECT_KEYS("door", 2);
    CHECK_INT(redlock_keep(ENGINE(0), LOCK(0), 0, CLIENT_NOW(0)), REDLOCK_OK);
    RUN_MS(300);
    EXPECT_HELD(0);
    EXPECT_KEYS("door", 3);
}

/* Client 1 waits. Its polls to node 1 over that many connections are not answered. */
static void lose_polls(struct cluster *cluster, unsigned connections)
{
    FAIR(0, 0);
    CHECK_INT(redlock_keep(ENGINE(0), LOCK(0), 0, CLIENT_NOW(0)), REDLOCK_OK);
    START_FAIR(1, REDLOCK_FOREVER);
    RUN_MS(50);
    for (unsigned i = 0; i < connections; i++) {
        cluster_stall(cluster, 1, 1);
        RUN_MS(300);
        RESET(1, 1);
        HEAL_ALL;
        RUN_MS(300);
    }
}

/* S5: polls of a connection that broke may still be executed after the release. It is therefore
 * sent again, until it has twice found nothing. They are not counted from 63 on. */
TEST(s5_polls_that_no_answer_tells_of_are_expected_behind_the_release)
{
    for (unsigned connections = 3; connections <= 103; connections += 100) {
        CLUSTER_OF(3, 2, (void)0);
        lose_polls(cluster, connections);
        CHECK(LOCK(1)->stakes[1].strays > 1 && LOCK(1)->stakes[1].strays <= STRAYS_COUNT);
        /* It stays, though one more was answered. */
        CHECK_INT(LOCK(1)->stakes[1].strays == STRAYS_COUNT, connections == 103);
        const unsigned before = (unsigned)CALLS(1, "RELEASE");
        cluster_cancel(cluster, 1, 0);
        RUN_MS(5000);
        CHECK(IDLE(1));
        CHECK_INT(CALLS(1, "RELEASE") - before, 2);
        CHECK_INT(queued_on(cluster, 1), 0);
    }
}

/* Node 1 has granted a poll, and executes the next one when the first release has found the key. */
TEST(s5_a_key_of_a_poll_that_was_answered_is_not_the_one_of_a_poll_that_was_not)
{
    CLUSTER_OF(3, 1, (void)0);

    RIVAL(0, "door", 60000);
    RIVAL(2, "door", 60000);
    START_FAIR(0, REDLOCK_FOREVER);
    RUN_MS(50);
    CHECK_STR(cluster_key(cluster, 1, "door") ? "ours" : NULL, "ours");
    CHECK_INT(LOCK(0)->stakes[1].strays, 0);
    DELAY_US(1, 400000);
    RUN_WHILE(LOCK(0)->stakes[1].strays == 0, 5000);
    cluster_reset(cluster, 0, 1, true);
    DELAY_US(1, 0);
    RUN_MS(100);
    cluster_cancel(cluster, 0, 0);
    RUN_MS(50);
    EXPECT_KEY_ABSENT(1, "door");
    RUN_MS(400);
    CHECK(cluster_key(cluster, 1, "door") != NULL);
    RUN_MS(2000);
    CHECK(IDLE(0));
    EXPECT_KEY_ABSENT(1, "door");
}

/* The key was there before, so whatever the node does, one release is enough. */
TEST(an_extension_of_a_fair_lock_that_no_answer_tells_of_is_no_stray)
{
    CLUSTER_OF(3, 1, (void)0);
    FAIR(0, 0);
    STALL(1);
    EXTEND(0, 10000);
    RESET(0, 1);
    HEAL_ALL;
    RUN_MS(300);
    EXPECT_HELD(0);
    CHECK_INT(LOCK(0)->stakes[1].strays, 0);
    RELEASE(0);
    RUN_MS(1000);
    CHECK_INT(CALLS(1, "RELEASE"), 1);
    EXPECT_KEY_ABSENT(1, "door");
}

/* Node 1 answers all of them, but late. */
TEST(a_fair_lock_may_have_more_polls_under_way_than_are_counted)
{
    CLUSTER_OF(3, 1, config.pipeline = 4 * STRAYS_COUNT; config.retry_ms = 10);

    kind_teach_scripts(cluster);
    RIVAL_ON_ALL("door", 60000);
    DELAY_US(1, 900000);
    START_FAIR(0, WAIT);
    RUN_MS(1700);
    CHECK(LOCK(0)->outstanding > STRAYS_COUNT);
    cluster_cancel(cluster, 0, 0);
    RUN_MS(10000);
    CHECK(IDLE(0));
    CHECK_INT(queued_on(cluster, 1), 0);
}

/* The refusal is in no words that could be read, for which a lock that tries would ask the node. */
TEST(a_node_that_grants_or_answers_when_the_lock_is_held_is_asked_nothing)
{
    CLUSTER(3);

    kind_teach_scripts(cluster);
    DELAY_US(1, 2000);
    DELAY_US(2, 5000);
    ANSWERS_ONCE(2, "EVALSHA", "$7\r\n0 20000\r\n");
    FAIR(0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RUN_MS(50);
    STORY_NODES CHECK_INT(CALLS(story_k, "PTTL"), 0);
}

TEST(the_debt_of_a_place_in_a_queue_is_owed_for_its_lease)
{
    struct redlock_request request = fair_request(300);
    CLUSTER_OF(3, 2, config.node_timeout_ms = 100);

    request.ttl_ms = 500;
    FAIR(0, 0);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    RUN_MS(50);
    CHECK_INT(queued_on(cluster, 2), 1);
    cluster_stall(cluster, 1, 2);
    UNTIL_DONE(1);
    RUN_MS(2000);
    CHECK(!IDLE(1));
    HEAL_ALL;
    RUN_MS(2000);
    CHECK(IDLE(1));
    CHECK_INT(queued_on(cluster, 2), 0);
}

/* A poll with it may be executed as late as its connection is given up. */
TEST(a_debt_is_owed_for_the_longest_ttl_also_if_the_lock_is_acquired_again_with_a_shorter_one)
{
    struct redlock_request request = fair_request(0);
    CLUSTER(3);

    kind_teach_scripts(cluster);
    cluster_stall(cluster, 0, 2);
    FAIR(0, 0);
    RELEASE(0);
    request.ttl_ms = 500;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    RELEASE(0);
    RUN_MS(TTL + 1000);
    CHECK(!IDLE(0));
    HEAL_ALL;
    RUN_MS(3000);
    CHECK(IDLE(0));
}

TEST(a_node_that_restarts_empty_takes_a_place_again_when_it_votes)
{
    CLUSTER_OF(3, 2, config.guard_ms = 25000);

    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    DOWN(2);
    UP(2);
    RUN_MS(1000);
    CHECK_INT(queued_on(cluster, 2), 0);
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* ---- Tickets ---- */

static struct redlock_request ticket_request(uint32_t wait_ms)
{
    struct redlock_request request = fair_request(wait_ms);

    request.ticket = true;
    return request;
}

TEST(fair_locks_with_tickets_get_larger_ones_in_their_order)
{
    CLUSTER_OF(3, 4, config.wake_ups = true);
    uint64_t last = 0;

    for (unsigned c = 0; c < 4; c++) {
        const struct redlock_request request = ticket_request(WAIT);
        CHECK_INT(cluster_acquire(cluster, c, 0, &request), REDLOCK_OK);
        RUN_MS(30);
    }
    for (unsigned c = 0; c < 4; c++) {
        UNTIL_DONE(c);
        EXPECT_STATUS(c, REDLOCK_OK);
        CHECK(redlock_ticket(LOCK(c)) > last);
        last = redlock_ticket(LOCK(c));
        RELEASE(c);
    }
}

/* Its wall clock is behind the last holder's. It learns that, keeps its place, and proposes
 * more at once. */
TEST(a_ticket_that_is_too_small_costs_a_round_and_not_the_place)
{
    CLUSTER_OF(3, 3, config.wake_ups = true; config.retry_ms = 60000);
    const struct redlock_request request = ticket_request(WAIT);

    cluster_set_client_wall(cluster, 0, 5000000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RELEASE(0);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    RUN_MS(10);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(redlock_ticket(LOCK(1)) > redlock_ticket(LOCK(0)));
}

static void raise_counter(struct cluster *cluster, unsigned long long counter)
{
    char text[24];

    snprintf(text, sizeof text, "%llu", counter);
    for (unsigned k = 0; k < cluster->node_count; k++)
        (void)model_put(NODE(k), "door#ticket", text, 0, cluster_node_now(cluster, k));
}

/* Nobody has the lock or is in line, so a try must not find it taken. It comes again once, from the
 * doorway on, and leaves nothing. */
TEST(a_try_whose_ticket_is_too_small_is_corrected_once)
{
    for (unsigned is_hopeless = 0; is_hopeless < 2; is_hopeless++) {
        CLUSTER_OF(3, 1, config.wake_ups = true; config.retry_ms = 60000);
        const struct redlock_request request = ticket_request(0);

        TAP_CONTEXT("%s", is_hopeless ? "the counter goes on" : "the counter stays");
        kind_teach_scripts(cluster);
        DELAY_ALL_US(1000);
        raise_counter(cluster, cluster_client_wall(cluster, 0) + 5000000);
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
        RUN_US(2100);
        EXPECT_STATUS(0, REDLOCK_PENDING);
        if (is_hopeless) raise_counter(cluster, cluster_client_wall(cluster, 0) + 9000000);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, is_hopeless ? REDLOCK_TAKEN : REDLOCK_OK);
        CHECK_INT(LOCK(0)->round.number, 2);
        RUN_MS(10);
        CHECK_INT(queued_on(cluster, 0), 0);
        EXPECT_KEYS("door", is_hopeless ? 0 : 3);
    }
}

/* Whatever its ticket is, somebody has the lock. */
TEST(a_try_comes_again_for_its_ticket_alone)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);
    const struct redlock_request request = ticket_request(0);

    FAIR(0, 0);
    raise_counter(cluster, cluster_client_wall(cluster, 1) + 5000000);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    CHECK_INT(LOCK(1)->round.number, 1);
}

/* At the doorway, and again in the queue, since somebody else was quicker. */
TEST(a_ticket_that_was_too_small_at_the_doorway_may_be_corrected_in_the_queue)
{
    CLUSTER_OF(3, 1, config.wake_ups = true; config.retry_ms = 60000);
    const struct redlock_request request = ticket_request(WAIT);

    kind_teach_scripts(cluster);
    DELAY_ALL_US(1000);
    raise_counter(cluster, cluster_client_wall(cluster, 0) + 5000000);
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    RUN_US(2100);
    CHECK(!LOCK(0)->line.turn.is_at_doorway);
    raise_counter(cluster, cluster_client_wall(cluster, 0) + 9000000);
    RUN_MS(10);
    EXPECT_STATUS(0, REDLOCK_OK);
}

/* No node can grant it anything. It takes no place, or it would be the first for a lease
 * at each hand-over. */
TEST(a_client_whose_wall_clock_is_ahead_holds_up_nobody)
{
    CLUSTER_OF(3, 3, config.wake_ups = true);
    const struct redlock_request request = ticket_request(WAIT);

    kind_teach_scripts(cluster);
    FAIR(0, 0);
    cluster_set_client_wall(cluster, 1, (int64_t)3600 * 1000000);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    RUN_MS(1000);
    START_FAIR(2, WAIT);
    RUN_MS(1000);
    CHECK_INT(queued_on(cluster, 0), 1);
    START_RELEASE(0);
    RUN_MS(20);
    EXPECT_STATUS(2, REDLOCK_OK);
    EXPECT_STATUS(1, REDLOCK_PENDING);
}

/* While it waited others have raised the counters. It learns that when it is the first and the
 * resource is free. */
TEST(a_ticket_that_is_too_small_in_the_queue_is_corrected_at_once)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);
    const struct redlock_request request = ticket_request(WAIT);
    uint64_t counter;

    FAIR(0, 0);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    RUN_MS(50);
    counter = cluster_client_wall(cluster, 1) + 5000000;
    raise_counter(cluster, counter);
    START_RELEASE(0);
    RUN_MS(10);
    EXPECT_STATUS(1, REDLOCK_OK);
    CHECK(redlock_ticket(LOCK(1)) > counter);
}

/* S14: the answer of a slow node, after the one that decided that the round was lost, is no reason
 * to come at once a second time. */
TEST(a_ticket_is_corrected_at_once_only_once)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);
    const struct redlock_request request = ticket_request(WAIT);
    uint32_t rounds;

    FAIR(0, 0);
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    RUN_MS(50);
    for (unsigned k = 0; k < 3; k++) LINK(1, k)->delay_us = k == 2 ? 900 : 600;
    rounds = LOCK(1)->round.number;
    START_RELEASE(0);
    for (unsigned i = 1; i <= 100; i++) {
        raise_counter(cluster, cluster_client_wall(cluster, 1) + i * 1000000ull);
        RUN_MS(1);
    }
    EXPECT_STATUS(1, REDLOCK_PENDING);
    CHECK_INT(LOCK(1)->round.number - rounds, 2);
    redlock_cancel(ENGINE(1), LOCK(1), CLIENT_NOW(1));
}

/* S14: it has come again at once already; and in the time that is left there is no room
 * for another attempt. */
TEST(a_fair_lock_that_gives_up_while_its_ticket_is_too_small_asks_no_more)
{
    for (unsigned at_us = 50000; at_us < 60000; at_us += 100) {
        CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);
        const struct redlock_request request = ticket_request(60);
        uint8_t token[REDLOCK_TOKEN_SIZE];

        FAIR(0, 0);
        CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
        cluster_run_us(cluster, at_us);
        for (unsigned k = 0; k < 3; k++) LINK(1, k)->delay_us = k == 2 ? 900 : 600;
        memcpy(token, LOCK(1)->token, sizeof token);
        START_RELEASE(0);
        for (unsigned i = 1; i <= 20; i++) {
            raise_counter(cluster, cluster_client_wall(cluster, 1) + i * 1000000ull);
            cluster_run_us(cluster, 1000);
            STORY_GOES_ON;
        }
        EXPECT_STATUS(1, REDLOCK_TIMEOUT);
        CHECK(memcmp(token, LOCK(1)->token, sizeof token) == 0);
    }
}

/* ---- Held ---- */

TEST(a_fair_lock_is_extended_restored_and_kept_as_any_other)
{
    CLUSTER_OF(5, 2, config.wake_ups = true);

    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    RELEASE(0);
    UNTIL_DONE(1);
    REMOVE_KEY(3, "door");
    EXTEND(1, TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(5);
    EXPECT_KEYS("door", 5);
    CHECK_INT(redlock_keep(ENGINE(1), LOCK(1), 0, CLIENT_NOW(1)), REDLOCK_OK);
    RUN_MS(2 * TTL);
    EXPECT_HELD(1);
    RELEASE(1);
    RUN_MS(5);
    CHECK(is_everywhere_empty(cluster));
}

/* Nobody calls it any more, so it has no place among those that are called. */
TEST(a_fair_lock_that_waited_is_kept_where_it_moves)
{
    CLUSTER_OF(3, 2, config.wake_ups = true);

    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    RELEASE(0);
    UNTIL_DONE(1);
    CHECK_INT(redlock_keep(ENGINE(1), LOCK(1), 0, CLIENT_NOW(1)), REDLOCK_OK);
    cluster_move(cluster, 1, 1, 0);
    CHECK(ENGINE(1)->listening == NULL);
    RUN_MS(2 * TTL);
    CHECK(cluster_valid_us(cluster, 1, 1) > 0);
}

/* After an extension no poll of the acquisition changes anything. A client that takes the lock over
 * must therefore extend it as a fair one. */
TEST(a_fair_lock_is_taken_over_as_one)
{
    CLUSTER_OF(3, 3, config.wake_ups = true);
    char token[REDLOCK_TOKEN_TEXT + 1];

    cluster->no_exclusion = true;       /* Both are the same holder. */
    cluster->no_promise = true;
    FAIR(0, 0);
    redlock_token(LOCK(0), token);
    CHECK_INT(cluster_adopt_as(cluster, 1, 0, &redlock_fair, "door", token), REDLOCK_OK);
    cluster->no_promise = false;
    EXTEND(1, TTL);
    EXPECT_STATUS(1, REDLOCK_OK);
    for (unsigned k = 0; k < 3; k++)
        CHECK(model_find(NODE(k), 0, "door#grant", 10, cluster_node_now(cluster, k))->value_size ==
              16);
    START_FAIR(2, WAIT);
    RUN_MS(50);
    START_RELEASE(1);
    RUN_MS(10);
    EXPECT_STATUS(2, REDLOCK_OK);
}

/* It is fair still when it is acquired after that. */
TEST(a_fair_lock_that_was_adopted_in_vain_is_acquired)
{
    CLUSTER_OF(3, 2, (void)0);

    cluster->no_promise = true;
    CHECK_INT(cluster_adopt_as(cluster, 0, 0, &redlock_fair, "door",
                               "0123456789abcdef0123456789abcdef01234567"),
              REDLOCK_OK);
    EXTEND(0, TTL);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    cluster->no_promise = false;
    FAIR(0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    CHECK_INT(queued_on(cluster, 0), 1);
    RELEASE(0);
    UNTIL_DONE(1);
}

/* A debt keeps the order in which its lock was acquired, with a place in a queue or without. */
TEST(a_lock_that_owes_is_not_acquired_in_another_order)
{
    CLUSTER_OF(3, 2, (void)0);

    FAIR(0, 0);
    STALL(2);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    cluster_cancel(cluster, 1, 0);
    RUN_MS(50);
    CHECK(!IDLE(1));
    CHECK_INT(story_acquire(cluster, 1, 0, "door", TTL, 0), REDLOCK_BAD_STATE);
    START_FAIR(1, 0);
}

TEST(a_fair_lock_takes_no_other_role)
{
    CLUSTER_COLD(3, 1, (void)0);

    RUN_MS(STORY_SETTLE_MS);
    FAIR(0, 0);
    CHECK_INT(redlock_start_downgrade(ENGINE(0), LOCK(0), CLIENT_NOW(0)), REDLOCK_BAD_KIND);
    CHECK_INT(redlock_start_upgrade(ENGINE(0), LOCK(0), CLIENT_NOW(0)), REDLOCK_BAD_KIND);
}

/* ---- What it costs ---- */

static void set_distance(struct cluster *cluster, unsigned client, unsigned one_way_ms)
{
    for (unsigned k = 0; k < cluster->node_count; k++)
        cluster->links[client][k].delay_us = one_way_ms * 1000;
}

/* The first goes from the release to the nodes and from there to the subscription; the second is
 * the poll. One of these clients is five times as far away as the others. It takes two round trips
 * between near ones, and at most three for the far one. Each wants the lock again as soon as its
 * release has ended, and nobody gets in between. */
TEST(a_hand_over_in_strict_order_takes_two_round_trips)
{
    CLUSTER_OF(5, 5, config.wake_ups = true; config.retry_ms = 60000);

    kind_teach_scripts(cluster);
    for (unsigned i = 0; i < 5; i++) set_distance(cluster, i, i == 3 ? 5 : 1);
    FAIR(0, 0);
    for (unsigned i = 1; i < 5; i++) {
        START_FAIR(i, WAIT);
        RUN_MS(50);
    }
    for (unsigned i = 1; i < 25; i++) {
        unsigned last = (i - 1) % 5, next = i % 5,
                 takes_ms = (last == 3 ? 5u : 1u) + 3 * (next == 3 ? 5u : 1u);
        bool is_back = false;
        TAP_CONTEXT("hand-over %u", i);
        START_RELEASE(last);
        for (unsigned ms = 0; ms < 50; ms++) {
            if (ms < takes_ms) EXPECT_STATUS(next, REDLOCK_PENDING);
            if (ms > takes_ms) EXPECT_STATUS(next, REDLOCK_OK);
            if (!is_back && (is_back = IDLE(last))) START_FAIR(last, WAIT);
            RUN_MS(1);
        }
    }
}

/* If a dead one is the first, its lease would end when the clock shows the same time again. */
TEST(a_dead_head_is_waited_for_no_longer_where_the_clocks_of_nodes_step_back)
{
    for (unsigned stepped = 1; stepped <= 3; stepped += 2) {
        CLUSTER_OF(3, 3, (void)0);

        HOLD_AND_QUEUE;
        cluster_client_dies(cluster, 1);
        for (unsigned k = 0; k < stepped; k++) NODE_CLOCK_STEPS_MS(k, -600000);
        RELEASE(0);
        RUN_MS(2 * LEASE);
        EXPECT_STATUS(2, REDLOCK_OK);
        RELEASE(2);
        RUN_MS(20);
        CHECK(is_everywhere_empty(cluster));
    }
}

/* On the node whose clock has stepped it takes its place again, with its turn. */
TEST(s25_a_waiter_keeps_its_turn_where_the_clock_of_a_node_steps_back)
{
    CLUSTER_OF(3, 3, (void)0);

    FAIR(0, 0);
    START_FAIR(1, WAIT);
    RUN_MS(50);
    NODE_CLOCK_STEPS_MS(0, -600000);
    START_FAIR(2, WAIT);
    RUN_MS(LEASE);
    CHECK_INT(queued_on(cluster, 0), 2);
    RELEASE(0);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    EXPECT_STATUS(2, REDLOCK_PENDING);
    RELEASE(1);
    UNTIL_DONE(2);
    EXPECT_STATUS(2, REDLOCK_OK);
}

/* The memory of nodes has an entry for each client that waits, and nothing when they have died,
 * whoever comes then or does not. */
TEST(what_dead_engines_leave_in_a_queue_is_gone_after_their_lease)
{
    static const char *const beside[] = { "door#queue", "door#lease", "door#grant" };
    CLUSTER_OF(3, 5, config.wake_ups = true);

    kind_teach_scripts(cluster);
    FAIR(0, 0);
    for (unsigned i = 1; i < 5; i++) START_FAIR(i, WAIT);
    RUN_MS(2 * LEASE);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(queued_on(cluster, k), 4);
    for (unsigned i = 1; i < 5; i++) FREEZE(i);
    RELEASE(0);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(queued_on(cluster, k), 4);
    RUN_MS(LEASE);
    for (unsigned k = 0; k < 3; k++)
        for (unsigned i = 0; i < 3; i++)
            CHECK(!model_find(NODE(k), 0, beside[i], 10, cluster_node_now(cluster, k)));
    CHECK(is_everywhere_empty(cluster));
    FAIR(0, 0);
    EXPECT_STATUS(0, REDLOCK_OK);
}

TAP_MAIN
