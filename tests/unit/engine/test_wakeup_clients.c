/* Several clients wait for one lock on several nodes. Tests entries, wake-ups, and whom
 * they are for. */
#include "../../world/story.h"

static unsigned entries_on(struct cluster *cluster, unsigned k)
{
    const struct model_key *key =
        model_find(NODE(k), 0, "door#waiters", 12, cluster_node_now(cluster, k));

    return key ? (unsigned)key->entry_count : 0;
}

static bool has_flag(struct cluster *cluster, unsigned k)
{
    return model_find(NODE(k), 0, "door#waiters#waiters", 20, cluster_node_now(cluster, k)) != NULL;
}

static void check_flags(struct cluster *cluster, bool expected)
{
    for (unsigned k = 0; k < cluster->node_count; k++) CHECK_INT(has_flag(cluster, k), expected);
}

static void lose_flags(struct cluster *cluster)
{
    for (unsigned k = 0; k < cluster->node_count; k++) {
        const struct model_key *flag =
            model_find(NODE(k), 0, "door#waiters#waiters", 20, cluster_node_now(cluster, k));
        if (flag) model_evict(NODE(k), (size_t)(flag - NODE(k)->keys));
    }
}

/* Without a wake-up they would look again after the end of the test. */
TEST(each_of_two_that_wait_is_woken_by_a_release_of_its_own)
{
    CLUSTER_OF(3, 3, config.wake_ups = true; config.retry_ms = 60000);
    ACQUIRE(0, "door", 30000);
    START_ACQUIRE(1, "door", 30000, 200000);
    RUN_MS(50);
    START_ACQUIRE(2, "door", 30000, 200000);
    RUN_MS(50);
    check_flags(cluster, true);
    START_RELEASE(0);
    RUN_MS(50);
    EXPECT_STATUS(1, REDLOCK_OK);
    check_flags(cluster, true);
    START_RELEASE(1);
    RUN_MS(50);
    EXPECT_STATUS(2, REDLOCK_OK);
    START_RELEASE(2);
    RUN_MS(50);
    check_flags(cluster, false);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 0);
}

/* Eviction. A waiting client polls, and renews its entry, and the flag, when it has
 * looked in vain. */
TEST(a_flag_that_is_lost_costs_a_wake_up_and_not_the_lock)
{
    for (unsigned renews = 0; renews < 2; renews++) {
        TAP_CONTEXT("renewed %u times", renews);
        CLUSTER_OF(3, 2, config.wake_ups = true);
        ACQUIRE(0, "door", 30000);
        START_ACQUIRE(1, "door", 30000, 200000);
        RUN_MS(50);
        lose_flags(cluster);
        check_flags(cluster, false);
        if (renews) RUN_WHILE(!has_flag(cluster, 0), 25000);
        if (renews) RUN_MS(10);
        CHECK_INT(has_flag(cluster, 0), renews > 0);
        START_RELEASE(0);
        RUN_MS(renews ? 50 : 25000);
        EXPECT_STATUS(1, REDLOCK_OK);
    }
}

/* An entry that was given back leaves the flag, so the next release looks once in vain. */
TEST(a_flag_without_an_entry_wakes_nobody_and_goes_with_the_key)
{
    CLUSTER_OF(3, 2, config.wake_ups = true);
    ACQUIRE(0, "door", 30000);
    START_ACQUIRE(1, "door", 30000, 200000);
    RUN_MS(50);
    cluster_cancel(cluster, 1, 0);
    RUN_MS(50);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 0);
    check_flags(cluster, true);
    RELEASE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    check_flags(cluster, false);
    EXPECT_KEY_ABSENT_ON_ALL("door");
}

/* The release of a lost attempt is nobody's turn, so it leaves flags where they are. */
TEST(a_lost_attempt_lowers_no_flag)
{
    CLUSTER_OF(3, 3, config.wake_ups = true; config.retry_ms = 60000);
    ACQUIRE(0, "door", 30000);
    START_ACQUIRE(1, "door", 30000, 200000);
    RUN_MS(50);
    ACQUIRE(2, "door", 30000);
    EXPECT_STATUS(2, REDLOCK_TAKEN);
    check_flags(cluster, true);
    START_RELEASE(0);
    RUN_MS(50);
    EXPECT_STATUS(1, REDLOCK_OK);
}

TEST(one_node_of_three_wakes_nobody_two_do)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);
    ACQUIRE(0, "door", 30000);
    START_ACQUIRE(1, "door", 30000, 200000);
    RUN_MS(50);
    const unsigned tries = CALLS(0, "SET");
    cluster_stall(cluster, 0, 1);
    cluster_stall(cluster, 0, 2);
    START_RELEASE(0);
    RUN_MS(300);
    CHECK_INT(entries_on(cluster, 0), 0);
    CHECK_INT(CALLS(0, "SET"), tries);
    cluster_heal(cluster, 0, 1);
    RUN_MS(2);
    CHECK_INT(CALLS(0, "SET"), tries + 1);
    EXPECT_STATUS(1, REDLOCK_OK);
    cluster_heal(cluster, 0, 2);
}

/* On the third node the entry is all that there is of it. */
TEST(a_winner_gives_back_all_entries)
{
    CLUSTER_OF(3, 2, config.wake_ups = true);
    RIVAL_ON_ALL("door", 200);
    RIVAL(2, "door", 60000);
    START_ACQUIRE(1, "door", 10000, 20000);
    RUN_MS(100);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 1);
    UNTIL_DONE(1);
    EXPECT_STATUS(1, REDLOCK_OK);
    RUN_MS(10);
    RELEASE(1);
    RUN_MS(10);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 0);
    EXPECT_RIVAL_KEY(2, "door");
    CHECK(IDLE(1));
}

/* Node 2 has nothing else of it, since it has refused. */
TEST(a_release_waits_for_a_node_that_has_but_an_entry_and_asks_none_that_has_nothing)
{
    for (unsigned has_entry = 0; has_entry < 2; has_entry++) {
        CLUSTER_OF(3, 1, config.wake_ups = true);
        TAP_CONTEXT("%s", has_entry ? "an entry" : "nothing");
        RIVAL_ON_ALL("door", 200);
        RIVAL(2, "door", 60000);
        if (!has_entry) cluster_cut_subscription(cluster, 0, 2);
        START_ACQUIRE(0, "door", 10000, 20000);
        RUN_MS(100);
        STORY_NODES CHECK_INT(entries_on(cluster, story_k), story_k < 2 || has_entry);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, REDLOCK_OK);
        RUN_MS(10);
        const unsigned before = CALLS(2, "RELEASE");
        START_RELEASE(0);
        EXPECT_VOTE(0, 2, has_entry ? REDLOCK_VOTE_PENDING : REDLOCK_VOTE_REFUSED);
        RUN_MS(10);
        CHECK_INT(CALLS(2, "RELEASE"), before + has_entry);
    }
}

/* The script gives it back before it reports that. */
TEST(an_entry_is_given_back_once_where_the_key_has_another_type)
{
    CLUSTER_OF(3, 1, config.wake_ups = true);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 20000);
    RUN_MS(50);
    CHECK_INT(entries_on(cluster, 2), 1);
    REMOVE_KEY(2, "door");
    model_put(NODE(2), "door", "", 0, cluster_node_now(cluster, 2))->is_list = true;
    cluster_cancel(cluster, 0, 0);
    RUN_MS(10);
    EXPECT_TROUBLE(0, 2, REDLOCK_TROUBLE_WRONGTYPE);
    CHECK_INT(entries_on(cluster, 2), 0);
    CHECK(IDLE(0));
}

/* Node 2 tells late that an earlier release has woken somebody. */
TEST(a_lock_that_ran_out_stands_aside_for_as_long_as_its_last_round_took)
{
    CLUSTER_OF(3, 1, config.wake_ups = true);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    DEAFEN(2);
    DOES_BUT_ANSWERS(2, "EVALSHA", ":2\r\n");
    RELEASE(0);
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_OK);
    HEAL(2);
    RUN_MS(11000);
    EXPECT_NOT_HELD(0);
    START_ACQUIRE(0, "door", 10000, 20000);
    CHECK_INT(LOCK(0)->phase, REDLOCK_PHASE_WAITING);
    RUN_MS(1000);
    EXPECT_HELD(0);
}

TEST(a_client_that_has_waited_in_vain_or_was_cancelled_gives_back_all_entries)
{
    for (unsigned i = 0; i < 2; i++) {
        CLUSTER_OF(3, 1, config.wake_ups = true);
        RIVAL_ON_ALL("door", 60000);
        START_ACQUIRE(0, "door", 10000, 1000);
        RUN_MS(100);
        for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 1);
        if (i == 0) cluster_cancel(cluster, 0, 0);
        UNTIL_DONE(0);
        RUN_MS(10);
        for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 0);
        CHECK(IDLE(0));
    }
}

/* Node 2 is slow and its pipeline full. The release, which would give back the entry, waits while
 * the refusal is on its way. */
/* No node knows the script by which a writer gives its entry back. Each says so when the lock is
 * acquired again already. */
TEST(an_entry_is_given_back_although_the_lock_is_acquired_again_before_the_node_has_the_script)
{
    CLUSTER_OF(3, 2, config.wake_ups = true);
    ACQUIRE(0, "door", 10000);
    START_ACQUIRE(1, "door", 10000, 5000);
    RUN_MS(100);
    STORY_NODES CHECK_INT(entries_on(cluster, story_k), 1);
    cluster_cancel(cluster, 1, 0);
    RUN_US(CLUSTER_DELAY_US);
    ACQUIRE(1, "door", 10000);
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RUN_MS(100);
    STORY_NODES CHECK_INT(entries_on(cluster, story_k), 0);
    CHECK(IDLE(1));
}

TEST(an_entry_is_given_back_although_a_late_refusal_made_the_release_needless)
{
    char name[] = "gate 0";

    CLUSTER_OF(3, 1, config.wake_ups = true; config.pipeline = REDLOCK_PIPELINE_MIN;
               config.retry_ms = 20);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 20000);
    RUN_MS(100);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 1);
    DELAY_ALL_US(5000);
    DELAY_US(2, 200000);
    const unsigned tries = LOCK(0)->round.number;
    RUN_WHILE(LOCK(0)->round.number == tries, 1000);
    for (unsigned i = 1; i < REDLOCK_PIPELINE_MIN; i++, name[5]++)
        START_ACQUIRE_LOCK(0, i, name, 10000, 0);
    RUN_MS(50);
    cluster_cancel(cluster, 0, 0);
    RUN_MS(2000);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 0);
    EXPECT_RIVAL_KEY(2, "door");
    CHECK(IDLE(0));
}

/* Node 2 is slow, and the release of an attempt on its way to it, when the next attempt is won. Its
 * release still waits for node 1 when that one is answered. */
TEST(an_entry_is_given_back_at_once_although_the_release_waits_for_another_node)
{
    CLUSTER_OF(3, 1, config.wake_ups = true; config.node_timeout_ms = 5000; config.retry_ms = 20);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 10000, 20000);
    RUN_MS(100);
    STORY_NODES CHECK_INT(entries_on(cluster, story_k), 1);
    DELAY_US(2, 400000);
    const unsigned tries = LOCK(0)->round.number;
    RUN_WHILE(LOCK(0)->round.number == tries, 1000);
    RUN_MS(5);
    for (unsigned k = 0; k < 2; k++) REMOVE_KEY(k, "door");
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_PENDING);
    CHECK_INT(entries_on(cluster, 2), 1);
    STALL(1);
    START_RELEASE(0);
    RUN_MS(2000);                       /* The node does not know the script. */
    EXPECT_STATUS(0, REDLOCK_PENDING);
    CHECK_INT(entries_on(cluster, 2), 0);
}

/* It could not line up there. */
TEST(a_lost_connection_gives_no_entry_back_where_there_is_none)
{
    CLUSTER_OF(3, 1, config.wake_ups = true; config.retry_ms = 60000);
    RIVAL_ON_ALL("door", 60000);
    STALL(2);
    START_ACQUIRE(0, "door", 10000, 50000);
    RUN_MS(100);
    RESET(0, 2);
    cluster_cut_subscription(cluster, 0, 2);
    LINK(0, 2)->stalled = false;
    RUN_MS(3000);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
    const unsigned releases = CALLS(2, "RELEASE");
    cluster_cancel(cluster, 0, 0);
    RUN_MS(100);
    CHECK_INT(CALLS(2, "RELEASE"), releases);
    CHECK(IDLE(0));
}

TEST(a_subscription_that_does_not_come_to_stand_is_given_up_when_it_is_needed_no_more)
{
    CLUSTER_OF(3, 1, config.wake_ups = true; config.node_timeout_ms = 60000);
    enum { SUBSCRIPTION = 3 };  /* The subscription of node 0. */

    RIVAL_ON_ALL("door", 1000000);
    START_ACQUIRE(0, "door", 10000, 5000);
    for (unsigned us = 0;
         us < 1000 && !(redlock_wants(ENGINE(0), SUBSCRIPTION) & REDLOCK_WANT_RECEIVE); us++)
        RUN_US(1);
    STALL(0);
    RUN_MS(9000);
    /* It names itself to nobody. */
    CHECK_INT(redlock_wants(ENGINE(0), SUBSCRIPTION), REDLOCK_WANT_RECEIVE);
    cluster_cancel(cluster, 0, 0);
    RUN_MS(11000);
    CHECK_INT(redlock_wants(ENGINE(0), SUBSCRIPTION), 0);
}

/* It was closed again and again because nobody waited any more. It has not failed so often. */
TEST(a_subscription_that_was_needed_no_more_opens_at_once_when_it_is_needed)
{
    CLUSTER_OF(3, 1, config.wake_ups = true; config.retry_ms = 60000);
    RIVAL_ON_ALL("door", 1000000);
    for (unsigned i = 0; i < 12; i++) {
        TAP_CONTEXT("the time before that: %u", i);
        START_ACQUIRE(0, "door", 10000, 5000);
        RUN_MS(10);
        for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 1);
        cluster_cancel(cluster, 0, 0);
        RUN_MS(10100);
    }
}

/* Or a crowd that loses would wake each other without end. */
TEST(the_release_of_a_lost_attempt_wakes_nobody)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", 30000, 200000);
    RUN_MS(50);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 1);
    (void)model_put(NODE(2), "door", "rival", 1, cluster_node_now(cluster, 2));
    RUN_MS(5);
    const unsigned releases = CALLS(2, "RELEASE");
    ACQUIRE(1, "door", 30000);          /* It gets node 2 only, and lets go of it. */
    EXPECT_STATUS(1, REDLOCK_TAKEN);
    RUN_MS(50);
    CHECK_INT(CALLS(2, "RELEASE"), releases + 1);
    CHECK_INT(entries_on(cluster, 2), 1);
}

/* The first node cannot be reached, and is owed a release. The others do not know the script. */
TEST(an_entry_is_taken_by_the_scripts_text_whatever_another_node_is_owed)
{
    CLUSTER_OF(3, 1, config.wake_ups = true; config.retry_ms = 60000);
    RIVAL_ON_ALL("door", 1000000);
    DELAY_US(1, 20000);
    DELAY_US(2, 20000);
    DEAFEN(0);
    START_ACQUIRE(0, "door", 10000, 200000);
    RUN_MS(50);
    cluster_cut(cluster, 0, 0, true);
    RUN_MS(300);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 1);
    for (unsigned k = 1; k < 3; k++) CHECK_INT(entries_on(cluster, k), 1);
}

/* On node 2 the answer to the entry comes when the next attempt is lost, together with the refusal
 * of that. */
TEST(s8_what_an_entry_of_an_earlier_round_was_told_is_not_counted_with_the_answers_to_this_one)
{
    CLUSTER_OF(3, 1, config.wake_ups = true);
    RIVAL_ON_ALL("door", 600000);
    /* The scripts are known, and the subscriptions open. */
    START_ACQUIRE(0, "door", 10000, 60000);
    RUN_MS(40);
    cluster_cancel(cluster, 0, 0);
    RUN_MS(5);
    ANSWERS_ONCE(2, "EVALSHA", ":100\r\n");
    START_ACQUIRE(0, "door", 10000, 60000);
    for (unsigned us = 0; us < 1000 && CALLS(2, "WAIT") < 2; us++) RUN_US(1);
    LINK(0, 2)->deaf = true;
    ANSWERS_ONCE(0, "EVALSHA", ":100\r\n");
    const uint32_t round = LOCK(0)->round.number;
    RUN_WHILE(LOCK(0)->round.number == round, 1000);
    RUN_MS(2);
    CHECK_INT(LOCK(0)->phase, REDLOCK_PHASE_WAITING);
    LINK(0, 2)->deaf = false;
    for (unsigned us = 0; us < 1000 && redlock_vote_of(LOCK(0), 2) != REDLOCK_VOTE_REFUSED; us++)
        RUN_US(1);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_REFUSED);
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms > 500000);
}

TEST(s16_the_subscription_that_hears_what_is_no_wake_up_is_closed_and_no_other)
{
    CLUSTER_OF(3, 1, config.wake_ups = true; config.retry_ms = 60000);
    RIVAL_ON_ALL("door", 1000000);
    START_ACQUIRE(0, "door", 10000, 200000);
    RUN_MS(50);
    CHECK(cluster->lines[0][3 + 1]);
    model_bytes_add(&cluster->lines[0][3 + 1]->session.out, "+PONG\r\n", 7);
    cluster_publish(cluster, 1, "nobody", "");
    RUN_MS(1);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(LINK(0, k)->connect_count, k == 1 ? 3 : 2);
}

static unsigned entries_taken(struct cluster *cluster)
{
    return CALLS(0, "WAIT") + CALLS(1, "WAIT") + CALLS(2, "WAIT");
}

/* Two clients take turns. The one that releases waits again at once, but takes its entries when the
 * other has the lock. A round trip takes 2 ms. */
TEST(a_woken_client_finds_idle_nodes)
{
    CLUSTER_OF(3, 2, config.wake_ups = true; config.retry_ms = 60000);
    DELAY_ALL_US(1000);
    ACQUIRE(0, "door", 30000);
    START_ACQUIRE(1, "door", 30000, 200000);
    RUN_MS(50);
    for (unsigned turn = 0; turn < 4; turn++) {
        const unsigned holder = turn % 2, next = 1 - holder, taken = entries_taken(cluster);
        RELEASE(holder);
        START_ACQUIRE(holder, "door", 30000, 200000);
        UNTIL_DONE(next);
        EXPECT_STATUS(next, REDLOCK_OK);
        CHECK_INT(entries_taken(cluster), taken);
        /* The first opens its subscriptions before, and the second teaches a script. */
        RUN_MS(turn < 2 ? 50 : 2);
        CHECK_INT(entries_taken(cluster), taken + 3);
    }
}

/* A subscription is a connection of its own, and logs in as the other one does. */
TEST(a_client_that_waits_at_nodes_with_a_login_is_woken_like_any_other)
{
    CLUSTER_COLD(3, 2, config.wake_ups = true; config.retry_ms = 60000);
    const struct redlock_login login = { .user = "alice", .password = "secret" };
    for (unsigned k = 0; k < 3; k++) {
        NODE(k)->user = login.user;
        NODE(k)->password = login.password;
        for (unsigned c = 0; c < 2; c++)
            CHECK_INT(redlock_set_login(ENGINE(c), k, &login), REDLOCK_OK);
    }
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(0, "door", 30000);
    START_ACQUIRE(1, "door", 30000, 25000);
    RUN_MS(50);
    for (unsigned k = 0; k < 3; k++) CHECK_INT(entries_on(cluster, k), 1);
    RELEASE(0);
    RUN_MS(5);
    EXPECT_STATUS(1, REDLOCK_OK);
}

/* All nodes have restarted empty. No release wakes anybody, and a client that has waited for long
 * polls rarely. */
TEST(when_the_guard_ends_and_a_quorum_may_vote_again_a_waiting_client_tries_within_two_pauses)
{
    enum { GUARD_MS = 6000, HOLD_TTL = 5000 };

    for (unsigned i = 0; i < 10; i++) {
        TAP_CONTEXT("restart %u", i);
        CLUSTER_OF(3, 2, config.wake_ups = true; config.guard_ms = GUARD_MS);
        cluster->no_promise = true;
        ACQUIRE(0, "door", HOLD_TTL);
        CHECK_INT(cluster_keep(cluster, 0, 0, 0), REDLOCK_OK);
        START_ACQUIRE(1, "door", HOLD_TTL, 60000);
        RUN_MS(8000 + 137 * i);
        EXPECT_STATUS(1, REDLOCK_PENDING);
        DOWN(0); DOWN(1); DOWN(2);
        RUN_MS(10);
        UP(0); UP(1); UP(2);
        RUN_WHILE(!(VOTES(1, 0) + VOTES(1, 1) + VOTES(1, 2) >= 2), 10000);
        RUN_MS(2 * (REDLOCK_RETRY_MS + REDLOCK_RETRY_MS / 2));
        EXPECT_STATUS(1, REDLOCK_OK);
    }
}

/* The key that it waited for has run out meanwhile. */
TEST(when_a_quorum_that_was_cut_off_is_back_a_waiting_client_tries_within_two_pauses)
{
    for (unsigned i = 0; i < 10; i++) {
        TAP_CONTEXT("cut %u", i);
        CLUSTER_OF(3, 1, config.wake_ups = true);
        RIVAL_ON_ALL("door", 12000);
        START_ACQUIRE(0, "door", 10000, 100000);
        RUN_MS(8000 + 137 * i);
        for (unsigned k = 0; k < 3; k++) cluster_cut(cluster, 0, k, false);
        RUN_MS(20000);
        HEAL_ALL;
        RUN_WHILE(!(VOTES(0, 0) + VOTES(0, 1) + VOTES(0, 2) >= 2), 10000);
        RUN_MS(2 * (REDLOCK_RETRY_MS + REDLOCK_RETRY_MS / 2));
        EXPECT_STATUS(0, REDLOCK_OK);
    }
}

/* Both of its lines break, and the one for commands, on which the node says first that it is not
 * ready, is back last. A release meanwhile has called nobody, or has taken its entry. */
TEST(a_client_that_waits_lines_up_again_also_if_its_subscription_is_back_first)
{
    for (unsigned released_meanwhile = 0; released_meanwhile < 2; released_meanwhile++) {
        TAP_CONTEXT("%u", released_meanwhile);
        CLUSTER_OF(1, 2, config.wake_ups = true; config.retry_ms = 20000);
        ACQUIRE(0, "door", 30000);
        START_ACQUIRE(1, "door", 30000, 600000);
        RUN_MS(100);
        ANSWERS_ONCE(0, "INFO", "-LOADING Redis is loading the dataset in memory\r\n");
        cluster_reset(cluster, 1, 0, false);
        if (released_meanwhile) START_RELEASE(0);
        RUN_MS(6000);
        if (!released_meanwhile) START_RELEASE(0);
        RUN_MS(5);
        EXPECT_STATUS(1, REDLOCK_OK);
    }
}

/* Each holds the lock for 1 ms, and is done. How often one of them has tried, on the average, and
 * how often it took an entry. */
static void crowd(unsigned clients, unsigned locks, double tries_max)
{
    CLUSTER_OF(3, clients, config.wake_ups = true);
    unsigned left = clients * locks, tries = 0;
    for (unsigned c = 0; c < clients; c++) {
        cluster_need_locks(cluster, c, locks);
        for (unsigned i = 0; i < locks; i++) START_ACQUIRE_LOCK(c, i, "door", 10000, 100000);
    }
    for (unsigned ms = 0; ms < 10000 && left > 0; ms++) {
        RUN_MS(1);
        for (unsigned c = 0; c < clients; c++)
            for (unsigned i = 0; i < locks; i++)
                if (cluster_valid_us(cluster, c, i) > 0)
                    left -= cluster_release(cluster, c, i) == REDLOCK_OK;
    }
    CHECK_INT(left, 0);
    for (unsigned k = 0; k < 3; k++) tries += CALLS(k, "SET");
    TAP_CHECK(tries <= tries_max * 3 * clients * locks, "%u times by %u clients with %u locks",
              tries / 3, clients, locks);
}

/* They are woken one after the other, and not each time some other one was. In a crowd of 512 a
 * lock tries no more than twice as often as in one of 64. */
TEST(of_a_crowd_that_waits_each_tries_a_few_times)
{
    crowd(16, 4, 3);
    crowd(1, 64, 3);
    crowd(16, 32, 5);
    crowd(1, tap_sample() > 1 ? 128 : 512, 5);
}

TAP_MAIN
