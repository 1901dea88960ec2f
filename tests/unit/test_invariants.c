/* The engine's own books, falsified one entry at a time: each invariant notices what breaks it, and names it. */
#include "../tap.h"
#include "../world/invariants.h"
#include "../world/story.h"

#include "../../redlock/lock.h"

#include <string.h>

static char text[160];

static bool hold(struct cluster *cluster)
{
    text[0] = '\0';
    return invariants_hold(&cluster->clients[0].engine, LOCK(0), text, sizeof text);
}

/* A falsified book stays false: the next test begins with another cluster. */
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
    LOCK(0)->late = 1;
    EXPECT_BROKEN("the_mask_of_debts_agrees_with_the_stakes");
}

TEST(a_debt_has_a_command_or_an_alarm)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->stakes[2].state = STAKE_OWED;
    LOCK(0)->owed = 4;
    EXPECT_BROKEN("a_debt_has_a_command_or_an_alarm");
}

TEST(who_wants_something_of_a_node_stands_in_its_queue)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->stakes[1].want = WIRE_RELEASE;
    EXPECT_BROKEN("who_wants_something_of_a_node_stands_in_its_queue");
    LOCK(0)->stakes[1].want = WIRE_NONE;
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

TEST(only_who_tries_or_holds_has_something_placed)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->phase = PHASE_IDLE;
    EXPECT_BROKEN("only_who_tries_or_holds_has_something_placed");
}

TEST(what_is_wanted_fits_the_phase)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->stakes[1].want = WIRE_PTTL;
    LOCK(0)->queued |= 2;
    EXPECT_BROKEN("what_is_wanted_fits_the_phase");
}

TEST(who_has_ended_gives_back_his_place_among_the_waiters)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 10000);
    RELEASE(0);
    RUN_MS(5);
    CHECK(hold(cluster));
    LOCK(0)->waits = 1;
    EXPECT_BROKEN("who_has_ended_gives_back_his_place_among_the_waiters");
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
    LOCK(0)->told = 1;
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

TEST(who_has_something_to_do_wakes_in_time)
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

/* What is late is looked at as well as what the phase waits for. */
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

TEST(who_waits_stands_in_line)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 10000);
    RUN_MS(20);
    CHECK_INT(LOCK(0)->phase, PHASE_WAITING);
    CHECK(hold(cluster));
    LOCK(0)->queued &= (uint16_t)~bit_of(SLOT_DONE);
    EXPECT_BROKEN("who_waits_stands_in_line");
}

/* As after every other call: a falsified book stops the story, with the place of the mistake. */
TEST(the_cluster_looks_at_the_books_after_every_call)
{
    HELD_BY_TWO_OF_THREE;
    LOCK(0)->owed = 1;
    CHECK_INT(cluster_extend(cluster, 0, 0, 10000), REDLOCK_OK);
    CHECK(strstr(cluster->broken, "invariant: client 0, lock 0, node 0"));
}

TAP_MAIN
