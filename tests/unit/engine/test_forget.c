/* Forgets a lock in every phase. The memory is overwritten, and the engine goes on with
 * the other lock. */
#include "../../../redlock/lock_state.h"
#include "../../../redlock/queue.h"
#include "../../world/story.h"

enum { DOOR_TTL = 10000 };

static void expect_other_lock_works(struct cluster *cluster)
{
    START_ACQUIRE_LOCK(0, 1, "gate", DOOR_TTL, 10000);
    UNTIL_LOCK_DONE(0, 1);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
    CHECK_INT(cluster_release(cluster, 0, 1), REDLOCK_OK);
    UNTIL_LOCK_DONE(0, 1);
    EXPECT_LOCK_STATUS(0, 1, REDLOCK_OK);
    RUN_MS(1);
    EXPECT_KEY_ABSENT_ON_ALL("gate");
}

TEST(a_lock_can_be_forgotten_at_any_moment_of_an_acquire)
{
    for (unsigned at_us = 0; at_us <= 3000; at_us += 25) {
        CLUSTER_COLD(3, 1, (void)0);
        TAP_CONTEXT("after %u us", at_us);
        for (unsigned k = 0; k < 3; k++) DELAY_US(k, 100 + 250 * k);
        START_ACQUIRE(0, "door", DOOR_TTL, 5000);
        RUN_US(at_us);
        cluster_forget(cluster, 0, 0);
        expect_other_lock_works(cluster);
        RUN_MS(DOOR_TTL + 10);
        EXPECT_KEY_ABSENT_ON_ALL("door");
    }
}

TEST(a_forgotten_lock_keeps_the_facts_about_its_last_operation)
{
    CLUSTER(3);
    char before[REDLOCK_TOKEN_TEXT + 1], after[REDLOCK_TOKEN_TEXT + 1];
    for (unsigned k = 0; k < 3; k++) RIVAL(k, "door", 20000 * (k + 1));
    ACQUIRE(0, "door", DOOR_TTL);
    RUN_MS(5);
    redlock_token(LOCK(0), before);
    redlock_forget(ENGINE(0), LOCK(0));
    redlock_token(LOCK(0), after);
    CHECK_STR(after, before);
    EXPECT_STATUS(0, REDLOCK_TAKEN);
    CHECK_INT(redlock_attempt_status(LOCK(0)), REDLOCK_TAKEN);
    EXPECT_VOTE(0, 2, REDLOCK_VOTE_REFUSED);
    CHECK(redlock_view_lock(LOCK(0)).free_in_ms > 39000 &&
          redlock_view_lock(LOCK(0)).free_in_ms <= 40000);
}

enum { OTHER, REFUSED, EXTENDED, WAITS, ALL };

/* A lock was refused, and nobody has been told. Then node 1 answers nothing any longer. An
 * inspection is over without it. The keeper's extension of a lock is under way. */
static void begin_all(struct cluster *cluster, bool inspects)
{
    static const char *const names[] = { "door", "barred", "gate", "barred" };
    static struct redlock_sight sights[3];
    cluster->clients[0].keeps_done = true;
    for (unsigned k = 0; k < 3; k++) RIVAL(k, "barred", 60000);
    for (unsigned i = REFUSED; i < ALL; i++) {
        START_ACQUIRE_LOCK(0, i, names[i], i == EXTENDED ? 1500 : DOOR_TTL,
                           i == WAITS ? REDLOCK_FOREVER : 0);
        RUN_MS(50);
        STALL(1);
        if (i > REFUSED || !inspects) continue;
        CHECK_INT(cluster_inspect(cluster, 0, OTHER, names[OTHER], sights), REDLOCK_OK);
        RUN_MS(REDLOCK_NODE_TIMEOUT_MS + 1);
    }
    CHECK_INT(redlock_keep(ENGINE(0), cluster_lock(cluster, 0, EXTENDED), 0, CLIENT_NOW(0)),
              REDLOCK_OK);
    RUN_WHILE(!cluster_lock(cluster, 0, EXTENDED)->is_quiet, 10000);
}

static void expect_none_linked(const struct redlock *r)
{
    CHECK(!r->heap && !r->done.first);
    for (unsigned k = 0; k < 3; k++) {
        const struct redlock_node *node = &r->nodes[k];
        CHECK(!node->queue.first);
        for (unsigned i = 0; i < node->asked_count; i++)
            CHECK(!node->asked[(node->asked_first + i) % r->config.pipeline].lock);
    }
}

/* The other lock is known by one of its commands alone, which is not answered, or not sent. */
TEST(when_all_locks_are_forgotten_none_is_linked_and_what_is_held_stays_so)
{
    for (unsigned inspects = 0; inspects < 2; inspects++) {
        CLUSTER(3);
        struct redlock *r = ENGINE(0);
        struct redlock_lock *other = cluster_lock(cluster, 0, OTHER);
        begin_all(cluster, inspects);
        CHECK(r->heap && r->done.first);
        queue_remove(&r->done, other, REDLOCK_NODES_MAX);
        CHECK(!other->in_heap && other->queued == 0 && (other->outstanding > 0) == inspects);
        if (inspects) r->nodes[1].asked[r->nodes[1].asked_first].lock = NULL;
        else queue_add(&r->nodes[2].queue, other, 2);
        redlock_forget(r, NULL);
        expect_none_linked(r);
        for (unsigned i = 0; i < ALL; i++) {
            const struct redlock_lock *lock = cluster_lock(cluster, 0, i);
            TAP_CONTEXT("lock %u", i);
            CHECK(!lock->in_heap && lock->queued == 0 && lock->outstanding == 0);
            CHECK(redlock_lock_status(lock) != REDLOCK_PENDING);
            CHECK_INT(redlock_valid_us(lock, r->now_us) > 0, i == EXTENDED);
            CHECK_INT(lock->phase, i == EXTENDED ? REDLOCK_PHASE_HELD : REDLOCK_PHASE_IDLE);
        }
    }
}

/* It is still in the engine's list of ended locks, and may be in another's by now. */
TEST(all_locks_may_be_forgotten_after_one_that_has_ended_was_made_new)
{
    for (unsigned is_anothers = 0; is_anothers < 2; is_anothers++) {
        CLUSTER(3);
        cluster->clients[0].keeps_done = true;
        ACQUIRE(0, "door", DOOR_TTL);
        const uintptr_t bond = LOCK(0)->bond + 1;
        redlock_lock_init(LOCK(0));
        if (is_anothers) {
            LOCK(0)->bond = bond;
            LOCK(0)->queued = 1 << REDLOCK_NODES_MAX;
        }
        redlock_forget(ENGINE(0), NULL);
        CHECK_INT(LOCK(0)->bond, is_anothers ? bond : 0);
    }
}

TEST(an_idle_lock_owes_nothing_of_its_earlier_operations)
{
    CLUSTER(3);
    ACQUIRE(0, "door", 3 * DOOR_TTL);
    RELEASE(0);
    RUN_MS(5);
    CHECK(IDLE(0));
    HANG(2);
    ACQUIRE(0, "door", 1000);
    RELEASE(0);
    CHECK(redlock_view_lock(LOCK(0)).owed > 0);
    RUN_MS(5000);
    CHECK_INT(redlock_view_lock(LOCK(0)).owed, 0);
}

TEST(a_lock_can_be_forgotten_while_it_waits)
{
    CLUSTER(3);
    RIVAL_ON_ALL("door", 60000);
    START_ACQUIRE(0, "door", DOOR_TTL, REDLOCK_FOREVER);
    RUN_MS(20);
    cluster_forget(cluster, 0, 0);
    expect_other_lock_works(cluster);
}

TEST(a_lock_can_be_forgotten_while_it_is_extended_or_released)
{
    for (unsigned at_us = 0; at_us <= 400; at_us += 50)
        for (unsigned releasing = 0; releasing < 2; releasing++) {
            CLUSTER(3);
            TAP_CONTEXT("%s, after %u us", releasing ? "released" : "extended", at_us);
            ACQUIRE(0, "door", DOOR_TTL);
            if (releasing)
                START_RELEASE(0);
            else
                START_EXTEND(0, DOOR_TTL);
            RUN_US(at_us);
            cluster_forget(cluster, 0, 0);
            expect_other_lock_works(cluster);
        }
}

TEST(a_lock_can_be_forgotten_while_it_is_held_or_owed_and_no_byte_is_sent)
{
    for (unsigned owed = 0; owed < 2; owed++) {
        CLUSTER(3);
        ACQUIRE(0, "door", DOOR_TTL);
        RUN_MS(1);
        if (owed) {
            HANG(2);
            RELEASE(0);
        }
        const size_t calls = NODE(0)->call_count;
        cluster_forget(cluster, 0, 0);
        RUN_MS(5000);
        CHECK_INT(NODE(0)->call_count, calls);
        HEAL_ALL;
        expect_other_lock_works(cluster);
    }
}

TEST(a_lock_that_is_done_and_not_fetched_can_be_forgotten)
{
    CLUSTER(3);
    cluster->clients[0].keeps_done = true;
    ACQUIRE(0, "door", DOOR_TTL);
    cluster_forget(cluster, 0, 0);
    CHECK(redlock_next_done(ENGINE(0)) == NULL);
}

TEST(a_forgotten_lock_can_be_used_anew)
{
    CLUSTER(3);
    START_ACQUIRE(0, "door", 1000, 0);
    RUN_US(50);
    redlock_forget(ENGINE(0), LOCK(0));
    redlock_lock_init(LOCK(0));
    START_ACQUIRE(0, "gate", DOOR_TTL, 0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    EXPECT_KEYS("gate", 3);
    RUN_MS(1100);
    EXPECT_KEY_ABSENT_ON_ALL("door");
    EXPECT_HELD(0);
}

TAP_MAIN
