/* The engine's own books, falsified one entry at a time. Each invariant notices the fault that
 * breaks it, and names it. */
#include "../../tap.h"
#include "../../world/invariants.h"
#include "../../world/story.h"

#include "../../../redlock/lock.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char text[160];

static bool hold(struct cluster *cluster)
{
    text[0] = '\0';
    return invariants_hold(&cluster->clients[0].engine, LOCK(0), text, sizeof text);
}

/* A falsified book stays false, so the next test begins with another cluster. */
#define EXPECT_BROKEN(invariant)                    \
    do {                                            \
        CHECK(!hold(cluster));                      \
        TAP_CHECK(strstr(text, invariant), "%s", text); \
    } while (0)

/* Held: node 0 and 1 have granted, the SET to node 2 is on its way. */
#define HELD_BY_TWO_OF_THREE CLUSTER(3); STALL(2); ACQUIRE(0, "door", 10000); CHECK(hold(cluster))

TEST(a_lock_of_which_nothing_was_asked_keeps_them_all)
{
    CLUSTER(3);
    CHECK(hold(cluster));
}

TEST(a_release_is_under_way_where_the_stake_leaves)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->stakes[2].state = STAKE_LEAVING;
    EXPECT_BROKEN("a_release_is_under_way_where_the_stake_leaves");
}

TEST(s17_what_was_adopted_is_not_removed)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->is_adopted = true;
    CHECK(hold(cluster));
    START_RELEASE(0);
    CHECK(hold(cluster));
    LOCK(0)->is_adopted = true;
    EXPECT_BROKEN("what_was_adopted_is_not_removed");
}

TEST(the_mask_of_debts_agrees_with_the_stakes)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->owed = 1;
    EXPECT_BROKEN("the_mask_of_debts_agrees_with_the_stakes");
    LOCK(0)->owed = 0;
    LOCK(0)->deferred = 1;
    EXPECT_BROKEN("the_mask_of_debts_agrees_with_the_stakes");
}

TEST(a_debt_has_a_command_or_an_alarm)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->stakes[2].state = STAKE_OWED;
    LOCK(0)->owed = 4;
    EXPECT_BROKEN("a_debt_has_a_command_or_an_alarm");
}

TEST(a_lock_that_wants_something_of_a_node_stands_in_its_queue)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->stakes[1].want = REDLOCK_COMMAND_RELEASE;
    EXPECT_BROKEN("who_wants_something_of_a_node_stands_in_its_queue");
    LOCK(0)->stakes[1].want = REDLOCK_COMMAND_NONE;
    LOCK(0)->queued |= 2;
    EXPECT_BROKEN("who_wants_something_of_a_node_stands_in_its_queue");
}

TEST(its_neighbours_in_the_queue_know_it)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RUN_MS(1);
    cluster_cut(cluster, 0, 2, false);
    RUN_MS(1);
    RELEASE(0);
    CHECK(ENGINE(0)->nodes[2].queue.last == LOCK(0));
    CHECK(hold(cluster));
    ENGINE(0)->nodes[2].queue.last = NULL;
    EXPECT_BROKEN("its_neighbours_in_the_queue_know_it");
}

TEST(only_a_lock_that_tries_or_holds_has_something_placed)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->phase = REDLOCK_PHASE_IDLE;
    EXPECT_BROKEN("only_who_tries_or_holds_has_something_placed");
}

TEST(what_is_wanted_fits_the_phase)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->stakes[1].want = REDLOCK_COMMAND_PTTL;
    LOCK(0)->queued |= 2;
    EXPECT_BROKEN("what_is_wanted_fits_the_phase");
}

TEST(a_lock_that_has_ended_gives_back_its_entry_among_the_waiters)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RELEASE(0);
    RUN_MS(5);
    CHECK(hold(cluster));
    LOCK(0)->entries = 1;
    EXPECT_BROKEN("who_has_ended_gives_back_his_entry_among_the_waiters");
}

TEST(a_round_waits_only_for_what_is_under_way)
{
    CLUSTER(3);
    STALL(1); STALL(2);
    START_ACQUIRE(0, "door", 10000, 0);
    RUN_MS(5);
    CHECK(hold(cluster));
    LOCK(0)->round.number++;
    EXPECT_BROKEN("the_round_waits_only_for_what_is_under_way");
}

TEST(an_extension_waits_only_for_what_is_under_way)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    STALL(1); STALL(2);
    START_EXTEND(0, 10000);
    CHECK(hold(cluster));
    RUN_MS(5);
    CHECK(hold(cluster));
    LOCK(0)->round.number++;
    EXPECT_BROKEN("the_round_waits_only_for_what_is_under_way");
}

TEST(a_release_waits_only_for_what_is_under_way)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    STALL(1); STALL(2);
    START_RELEASE(0);
    RUN_MS(5);
    CHECK(hold(cluster));
    LOCK(0)->round.granted = 0;
    EXPECT_BROKEN("the_round_waits_only_for_what_is_under_way");
}

TEST(a_question_that_is_waited_for_is_under_way)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->asking = 1;
    EXPECT_BROKEN("a_question_that_is_waited_for_is_under_way");
}

TEST(outstanding_is_what_was_asked)
{
    HELD_BY_TWO_OF_THREE;
    CHECK_INT(LOCK(0)->outstanding, 1);
    LOCK(0)->outstanding = 0;
    EXPECT_BROKEN("outstanding_is_what_was_asked");
    LOCK(0)->outstanding = 2;
    EXPECT_BROKEN("outstanding_is_what_was_asked");
}

TEST(a_lock_that_has_something_to_do_wakes_in_time)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_OK);
    CHECK(hold(cluster));
    const uint64_t until = LOCK(0)->valid_until;
    LOCK(0)->valid_until = LOCK(0)->wake_at - 1;
    EXPECT_BROKEN("it_wakes_in_time");
    LOCK(0)->valid_until = until;
    CHECK(hold(cluster));
    LOCK(0)->in_heap = false;
    EXPECT_BROKEN("it_wakes_in_time");
}

TEST(a_round_wakes_within_a_node_timeout)
{
    CLUSTER(3);
    STALL(1); STALL(2);
    START_ACQUIRE(0, "door", 10000, 0);
    RUN_MS(5);
    CHECK(hold(cluster));
    LOCK(0)->round.started_at--;
    EXPECT_BROKEN("it_wakes_in_time");
}

TEST(a_wait_wakes_within_its_time)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 10000);
    RUN_MS(20);
    CHECK(hold(cluster));
    LOCK(0)->wait_until = LOCK(0)->wake_at - 1;
    EXPECT_BROKEN("it_wakes_in_time");
}

TEST(a_wait_wakes_for_its_next_attempt)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 10000);
    RUN_MS(20);
    CHECK(hold(cluster));
    LOCK(0)->retry_at = LOCK(0)->wake_at - 1;
    EXPECT_BROKEN("it_wakes_in_time");
}

/* It looks at late debts as well as at the deadlines of the phase. */
TEST(a_debt_wakes_in_time)
{
    HELD_BY_TWO_OF_THREE;
    DOWN(2);
    HEAL(2);
    RELEASE(0);
    RUN_MS(5);
    CHECK(hold(cluster));
    CHECK(LOCK(0)->owed != 0);
    LOCK(0)->owed_until = LOCK(0)->wake_at - 1;
    EXPECT_BROKEN("it_wakes_in_time");
}

TEST(the_first_alarm_is_on_top)
{
    CLUSTER(3);
    STALL(1); STALL(2);
    START_ACQUIRE(0, "door", 10000, 0);
    START_ACQUIRE_LOCK(0, 1, "gate", 10000, 0);
    CHECK(hold(cluster));
    cluster_lock(cluster, 0, 0)->wake_at = 0;
    cluster->clients[0].engine.heap = cluster_lock(cluster, 0, 1);
    EXPECT_BROKEN("the_first_alarm_is_on_top");
}

TEST(a_waiting_lock_stands_in_line)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 10000);
    RUN_MS(20);
    CHECK_INT(LOCK(0)->phase, REDLOCK_PHASE_WAITING);
    CHECK(hold(cluster));
    LOCK(0)->queued &= (uint16_t)~bit_of(SLOT_DONE);
    EXPECT_BROKEN("who_waits_stands_in_line");
}

/* A falsified book stops the story, as after every other call, with the place of the mistake. */
TEST(the_cluster_looks_at_the_books_after_every_call)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->owed = 1;
    invariants_are_watched = false;
    CHECK_INT(cluster_extend(cluster, 0, 0, 10000), REDLOCK_OK);
    invariants_are_watched = true;
    CHECK(strstr(cluster->broken, "invariant: client 0, lock 0, node 0"));
}

/* ---- Sessions, and the engine ---- */

#define SESSION(k) (&ENGINE(0)->nodes[k])
#define EXPECT_BROKEN_SESSION(k, invariant)                                     \
    do {                                                                        \
        CHECK(!session_invariants_hold(ENGINE(0), (k), text, sizeof text));     \
        TAP_CHECK(strstr(text, invariant), "%s", text);                         \
        CHECK(!engine_invariants_hold(ENGINE(0), text, sizeof text));           \
        TAP_CHECK(strstr(text, invariant), "%s", text);                         \
    } while (0)
#define EXPECT_BROKEN_ENGINE(invariant)                                 \
    do {                                                                \
        CHECK(!engine_invariants_hold(ENGINE(0), text, sizeof text));   \
        TAP_CHECK(strstr(text, invariant), "%s", text);                 \
    } while (0)

TEST(an_engine_that_holds_a_lock_keeps_them_all)
{
    HELD_BY_TWO_OF_THREE;
    CHECK(engine_invariants_hold(ENGINE(0), text, sizeof text));
}

TEST(its_buffers_are_read_from_start_to_end)
{
    HELD_BY_TWO_OF_THREE;
    SESSION(1)->send_end = SESSION(1)->send_start;
    SESSION(1)->send_start++;
    EXPECT_BROKEN_SESSION(1, "its_buffers_are_read_from_start_to_end");
    SESSION(1)->send_start--;
    SESSION(1)->receive_end = REDLOCK_RECEIVE_SIZE + 1;
    EXPECT_BROKEN_SESSION(1, "its_buffers_are_read_from_start_to_end");
}

TEST(what_lies_apart_goes_out_between_the_bytes_to_be_sent)
{
    HELD_BY_TWO_OF_THREE;
    SESSION(1)->apart = "script";
    EXPECT_BROKEN_SESSION(1, "what_lies_apart_goes_out_between_the_bytes_to_be_sent");
}

TEST(what_is_asked_fits_in_the_pipeline)
{
    HELD_BY_TWO_OF_THREE;
    SESSION(2)->asked_first = REDLOCK_PIPELINE;
    EXPECT_BROKEN_SESSION(2, "what_is_asked_fits_in_the_pipeline");
}

TEST(an_answer_is_waited_for_on_a_connection_alone)
{
    HELD_BY_TWO_OF_THREE;
    SESSION(2)->state = NODE_DISCONNECTED;
    EXPECT_BROKEN_SESSION(2, "an_answer_is_waited_for_on_a_connection_alone");
    SESSION(2)->state = NODE_HANDSHAKE;
    EXPECT_BROKEN_SESSION(2, "only_a_node_that_is_ready_is_asked_for_locks");
}

TEST(a_subscription_is_behind_the_nodes)
{
    HELD_BY_TWO_OF_THREE;
    SESSION(1)->is_subscription = true;
    EXPECT_BROKEN_SESSION(1, "a_subscription_is_behind_the_nodes_and_no_lock_stands_in_its_queue");
}

TEST(the_ends_of_a_nodes_queue_are_ends)
{
    CLUSTER(3);
    DOWN(2);
    RUN_MS(1);
    START_ACQUIRE(0, "door", 10000, 0);
    RUN_MS(1);
    RELEASE(0);
    SESSION(1)->queue.first = LOCK(0);
    EXPECT_BROKEN_SESSION(1, "the_ends_of_its_queue_are_ends");
}

TEST(the_engine_has_room_for_what_it_keeps)
{
    HELD_BY_TWO_OF_THREE;
    ENGINE(0)->session_count = 2;
    EXPECT_BROKEN_ENGINE("a_subscription_belongs_to_each_node_or_to_none");
    ENGINE(0)->session_count = 3;
    ENGINE(0)->entropy_size = REDLOCK_ENTROPY_MAX + 1;
    EXPECT_BROKEN_ENGINE("it_keeps_no_more_random_bytes_than_there_is_room_for");
}

TEST(the_top_of_the_heap_is_below_no_lock)
{
    CLUSTER(3);
    STALL(1); STALL(2);
    START_ACQUIRE(0, "door", 10000, 0);
    LOCK(0)->in_heap = false;
    EXPECT_BROKEN_ENGINE("the_top_of_the_heap_is_below_no_lock");
    LOCK(0)->in_heap = true;
    LOCK(0)->owed = 1;
    EXPECT_BROKEN_ENGINE("the_mask_of_debts_agrees_with_the_stakes");
}

#ifndef REDLOCK_NO_CHECKS
/* Runs in a process of its own, which ends by that. */
TEST(the_engine_looks_at_its_books_at_the_end_of_its_calls)
{
    for (unsigned call = 0; call < 3; call++) {
        int status = 0;
        HELD_BY_TWO_OF_THREE;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            size_t size;
            (void)close(2);
            if (call == 0) {
                LOCK(0)->owed = 1;
                CHECK_INT(redlock_start_extend(ENGINE(0), LOCK(0), 10000, CLIENT_NOW(0)),
                          REDLOCK_OK);
            }
            if (call == 1)
                SESSION(2)->asked_first = REDLOCK_PIPELINE,
                (void)redlock_output(ENGINE(0), 2, &size);
            if (call == 2) ENGINE(0)->session_count = 2, redlock_tick(ENGINE(0), CLIENT_NOW(0));
            _exit(0);
        }
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}
#endif

TAP_MAIN
