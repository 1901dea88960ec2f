/* The stream of events: each kind is seen in a story, in order; what does not fit is counted; and nothing else changes. */
#include "../world/story.h"

enum { N = 5, RING_SIZE = 2000 };

static struct redlock_event ring[RING_SIZE], seen[RING_SIZE];
static struct redlock_event_ring events;
static unsigned seen_count;

/* What has happened since the last look is in seen[]. */
static void look(void)
{
    for (seen_count = 0; seen_count < RING_SIZE && redlock_next_event(&events, &seen[seen_count]);)
        seen_count++;
}

/* Of a kind, the first behind the first so many; NULL: none. */
static const struct redlock_event *first_of(enum redlock_event_kind kind, unsigned from)
{
    for (unsigned i = from; i < seen_count; i++)
        if (seen[i].kind == kind)
            return &seen[i];
    return NULL;
}

static unsigned count_of(enum redlock_event_kind kind, enum redlock_command command)
{
    unsigned count = 0;
    for (unsigned i = 0; i < seen_count; i++)
        count += seen[i].kind == kind && seen[i].command == command;
    return count;
}

#define WATCH redlock_use_events(ENGINE(0), &events, ring, RING_SIZE)

TEST(a_connection_and_its_handshake_are_told)
{
    CLUSTER_COLD(N, 1, (void)0);
    WATCH;
    RUN_MS(STORY_SETTLE_MS);
    look();
    CHECK_INT(seen[0].kind, REDLOCK_EVENT_CONNECTED);
    CHECK_INT(count_of(REDLOCK_EVENT_CONNECTED, REDLOCK_COMMAND_NONE), N);
    CHECK_INT(count_of(REDLOCK_EVENT_SENT, REDLOCK_COMMAND_INFO), N);
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_ROLE), N);
    CHECK_INT(count_of(REDLOCK_EVENT_READY, REDLOCK_COMMAND_NONE), N);
    CHECK(first_of(REDLOCK_EVENT_READY, 0)->is_new_server);
    CHECK(!seen[0].lock);
}

TEST(an_acquire_is_told_in_the_order_in_which_it_happens_with_its_arithmetic)
{
    CLUSTER(N);
    WATCH;
    RIVAL(4, "door", 60000);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    look();
    CHECK_INT(seen[0].kind, REDLOCK_EVENT_PHASE);
    CHECK_INT(seen[0].phase, REDLOCK_PHASE_ACQUIRING);
    CHECK_INT(count_of(REDLOCK_EVENT_SENT, REDLOCK_COMMAND_ACQUIRE), N);
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_ACQUIRE), N);
    const struct redlock_event *verdict = first_of(REDLOCK_EVENT_VERDICT, 0);
    CHECK(verdict && verdict->lock == LOCK(0) && verdict->status == REDLOCK_OK);
    CHECK(verdict > first_of(REDLOCK_EVENT_HEARD, 0) && verdict[-1].vote == REDLOCK_VOTE_GRANTED);
    CHECK_INT(verdict->ttl_ms, 10000);
    CHECK_INT(verdict->drift_us, 102000);
    CHECK_INT(verdict->elapsed_us, 2 * CLUSTER_DELAY_US);
    CHECK_INT(verdict->validity_us, 10000000 - 102000 - verdict->elapsed_us);
    CHECK_INT(__builtin_popcount(verdict->granted), 3);
    CHECK_INT(verdict[1].phase, REDLOCK_PHASE_HELD);
    CHECK_INT(verdict[2].kind, REDLOCK_EVENT_ENDED);
    for (unsigned i = 1; i < seen_count; i++)
        CHECK(seen[i].at_us >= seen[i - 1].at_us);
    const struct redlock_event *refused = seen;
    while (refused < &seen[seen_count] && refused->answer != REDLOCK_ANSWER_REFUSED)
        refused++;
    CHECK(refused < &seen[seen_count] && refused->session == 4 && refused->vote == REDLOCK_VOTE_REFUSED);
}

TEST(an_extension_a_release_and_its_debts_are_told)
{
    CLUSTER(N);
    ACQUIRE(0, "door", 10000);
    WATCH;
    EXTEND(0, 10000);
    RELEASE(0);
    RUN_MS(5);
    look();
    CHECK_INT(first_of(REDLOCK_EVENT_VERDICT, 0)->command, REDLOCK_COMMAND_EXTEND);
    CHECK_INT(count_of(REDLOCK_EVENT_OWED, REDLOCK_COMMAND_NONE), N);
    CHECK_INT(count_of(REDLOCK_EVENT_CLEARED, REDLOCK_COMMAND_NONE), N);
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_RELEASE), N);
    CHECK_INT(first_of(REDLOCK_EVENT_ENDED, 0)->status, REDLOCK_OK);
}

TEST(an_error_and_a_lost_connection_are_told_with_the_reason)
{
    CLUSTER(N);
    WATCH;
    ANSWERS_ONCE(0, "SET", "-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    STALL(1);
    START_ACQUIRE(0, "door", 10000, 0);
    RUN_MS(5);
    RESET(0, 1);
    RUN_MS(5);
    look();
    unsigned errors = 0;
    for (unsigned i = 0; i < seen_count; i++)
        errors += seen[i].answer == REDLOCK_ANSWER_ERROR && seen[i].trouble == REDLOCK_TROUBLE_OOM && seen[i].session == 0;
    CHECK_INT(errors, 1);
    CHECK_INT(first_of(REDLOCK_EVENT_DISCONNECTED, 0)->session, 1);
    CHECK(first_of(REDLOCK_EVENT_DISCONNECTED, 0)->trouble != REDLOCK_TROUBLE_NONE);
    CHECK_INT(first_of(REDLOCK_EVENT_UNANSWERED, 0)->command, REDLOCK_COMMAND_ACQUIRE);
    CHECK_INT(first_of(REDLOCK_EVENT_UNANSWERED, 0)->vote, REDLOCK_VOTE_UNKNOWN);
}

TEST(a_restart_is_told_and_the_same_server_again_is_not)
{
    CLUSTER(N);
    WATCH;
    RESET(0, 0);
    RUN_MS(100);
    look();
    CHECK(first_of(REDLOCK_EVENT_READY, 0) && !first_of(REDLOCK_EVENT_READY, 0)->is_new_server);
    DOWN(0);
    UP(0);
    RUN_MS(5000);
    look();
    CHECK(first_of(REDLOCK_EVENT_READY, 0) && first_of(REDLOCK_EVENT_READY, 0)->is_new_server);
}

TEST(a_wake_up_is_told)
{
    CLUSTER_OF(N, 2, config.wake_ups = true);
    WATCH;
    ACQUIRE(1, "door", 10000);
    START_ACQUIRE(0, "door", 10000, 60000);
    RUN_MS(50);
    RELEASE(1);
    RUN_MS(50);
    look();
    CHECK(first_of(REDLOCK_EVENT_WOKEN, 0) && first_of(REDLOCK_EVENT_WOKEN, 0)->lock == LOCK(0));
    CHECK(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_NONE) > 0);
}

TEST(a_question_is_told_without_a_vote)
{
    static const struct redlock_name ping = { "PING", 4 };
    struct redlock_question question;
    CLUSTER(N);
    WATCH;
    ANSWERS(0, "PING", "+PONG\r\n");
    CHECK_INT(redlock_ask(ENGINE(0), &question, 0, &ping, 1, NULL, 0, CLIENT_NOW(0)), REDLOCK_OK);
    RUN_MS(5);
    look();
    CHECK_INT(count_of(REDLOCK_EVENT_SENT, REDLOCK_COMMAND_QUESTION), 1);
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_QUESTION), 1);
    CHECK_INT(first_of(REDLOCK_EVENT_HEARD, 0)->vote, REDLOCK_VOTE_PENDING);
}

TEST(what_does_not_fit_in_the_ring_is_counted_and_the_oldest_stay)
{
    struct redlock_event event;
    CLUSTER(N);
    redlock_use_events(ENGINE(0), &events, ring, 2);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    CHECK(redlock_lost_events(&events) > 10);
    CHECK(redlock_next_event(&events, &event) && event.phase == REDLOCK_PHASE_ACQUIRING);
    CHECK(redlock_next_event(&events, &event) && event.kind == REDLOCK_EVENT_SENT);
    CHECK(!redlock_next_event(&events, &event));
    const uint64_t lost = redlock_lost_events(&events);
    redlock_use_events(ENGINE(0), NULL, NULL, 0);
    RELEASE(0);
    CHECK(!redlock_next_event(&events, &event) && redlock_lost_events(&events) == lost);
}

static void tell_story(bool is_watched, uint64_t *steps, uint64_t *dice, uint64_t *until, size_t *calls)
{
    CLUSTER_COLD(N, 2, config.wake_ups = true);
    if (is_watched)
        WATCH;
    RUN_MS(STORY_SETTLE_MS);
    ACQUIRE(1, "door", 10000);
    START_ACQUIRE(0, "door", 10000, 60000);
    RUN_MS(50);
    RELEASE(1);
    DOWN(0);
    UNTIL_DONE(0);
    EXPECT_STATUS(0, REDLOCK_OK);
    UP(0);
    EXTEND(0, 20000);
    *until = CLIENT_NOW(0) + VALID_US(0);
    RELEASE(0);
    RUN_MS(1000);
    *steps = cluster->step_count;
    *dice = cluster->dice;
    *calls = NODE(1)->call_count;
}

TEST(with_a_ring_everything_else_is_as_without)
{
    uint64_t steps[2], dice[2], until[2];
    size_t calls[2];
    tell_story(false, &steps[0], &dice[0], &until[0], &calls[0]);
    tell_story(true, &steps[1], &dice[1], &until[1], &calls[1]);
    look();
    CHECK(seen_count > 50);
    CHECK_INT(steps[0], steps[1]);
    CHECK(dice[0] == dice[1] && until[0] == until[1] && calls[0] == calls[1]);
}

TAP_MAIN
