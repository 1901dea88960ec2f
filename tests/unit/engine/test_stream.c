/* The stream of events. Each kind is seen in a story, in order; events that do not fit are counted;
 * and nothing else changes. */
#include "../../../redlock/node.h"
#include "../../world/decoder.h"
#include "../../world/story.h"

#include <limits.h>

enum { N = 5, RING_SIZE = 2000 };

static struct redlock_event ring[RING_SIZE], seen[RING_SIZE];
static struct redlock_event_ring events;
static unsigned seen_count;

/* The events since the last look are in seen[]. */
static void look(void)
{
    for (seen_count = 0; seen_count < RING_SIZE && redlock_next_event(&events, &seen[seen_count]);)
        seen_count++;
}

/* The first event of a kind after the first so many; NULL: none. */
static const struct redlock_event *first_of(enum redlock_event_kind kind, unsigned from)
{
    for (unsigned i = from; i < seen_count; i++)
        if (seen[i].kind == kind) return &seen[i];
    return NULL;
}

static unsigned count_of(enum redlock_event_kind kind, enum redlock_command command)
{
    unsigned count = 0;
    for (unsigned i = 0; i < seen_count; i++)
        count += seen[i].kind == kind && seen[i].command == command;
    return count;
}

/* The first answer to that command. */
static const struct redlock_event *answer_to(enum redlock_command command)
{
    for (unsigned i = 0; i < seen_count; i++)
        if (seen[i].kind == REDLOCK_EVENT_HEARD && seen[i].command == command) return &seen[i];
    return NULL;
}

static enum redlock_trouble trouble_in(const struct redlock_event *event)
{
    switch (event->kind) {
    case REDLOCK_EVENT_HEARD:        return event->as.message.trouble;
    case REDLOCK_EVENT_DISCONNECTED: return event->as.trouble;
    default:                         return REDLOCK_TROUBLE_NONE;
    }
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
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_EVAL), N);
    CHECK_INT(count_of(REDLOCK_EVENT_READY, REDLOCK_COMMAND_NONE), N);
    CHECK(first_of(REDLOCK_EVENT_READY, 0)->as.is_new_server);
    CHECK(!seen[0].lock);
    unsigned sessions = 0;
    for (unsigned i = 0; i < seen_count; i++)
        if (seen[i].kind == REDLOCK_EVENT_CONNECTED) sessions |= 1u << seen[i].session;
    CHECK_INT(sessions, (1 << N) - 1);
}

TEST(whether_a_server_is_new_is_told_when_it_is_ready_alone)
{
    CLUSTER_COLD(1, 1, (void)0);
    WATCH;
    events.kinds =
        REDLOCK_EVENT_BIT(REDLOCK_EVENT_READY) | REDLOCK_EVENT_BIT(REDLOCK_EVENT_DISCONNECTED);
    for (look(); seen_count == 0; look()) CHECK(cluster_step(cluster, REDLOCK_NEVER));
    CHECK(seen[0].kind == REDLOCK_EVENT_READY && seen[0].as.is_new_server);
    redlock_disconnected(ENGINE(0), 0, NULL, seen[0].at_us);
    look();
    CHECK(seen[0].kind == REDLOCK_EVENT_DISCONNECTED);
    CHECK_INT(seen[0].as.trouble, REDLOCK_TROUBLE_CLOSED);
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
    CHECK_INT(seen[0].as.phase.phase, REDLOCK_PHASE_ACQUIRING);
    CHECK_INT(count_of(REDLOCK_EVENT_SENT, REDLOCK_COMMAND_ACQUIRE), N);
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_ACQUIRE), N);
    const struct redlock_event *verdict = first_of(REDLOCK_EVENT_VERDICT, 0);
    CHECK(verdict && verdict->lock == LOCK(0) && verdict->as.verdict.status == REDLOCK_OK);
    CHECK_INT(verdict->session, REDLOCK_NO_SESSION);
    CHECK(verdict > first_of(REDLOCK_EVENT_HEARD, 0) && verdict[-1].kind == REDLOCK_EVENT_HEARD &&
          verdict[-1].as.message.vote == REDLOCK_VOTE_GRANTED);
    CHECK_INT(verdict->as.verdict.ttl_ms, 10000);
    CHECK_INT(verdict->as.verdict.drift_us, 102000);
    CHECK_INT(verdict->as.verdict.elapsed_us, 2 * CLUSTER_DELAY_US);
    CHECK_INT(verdict->as.verdict.validity_us, 10000000 - 102000 - verdict->as.verdict.elapsed_us);
    CHECK_INT(__builtin_popcount(verdict->granted), 3);
    CHECK_INT(verdict[1].kind, REDLOCK_EVENT_PHASE);
    CHECK_INT(verdict[1].as.phase.phase, REDLOCK_PHASE_HELD);
    CHECK_INT(verdict[2].kind, REDLOCK_EVENT_ENDED);
    for (unsigned i = 1; i < seen_count; i++) CHECK(seen[i].at_us >= seen[i - 1].at_us);
    const struct redlock_event *refused = seen;
    while (refused < &seen[seen_count] &&
           (refused->kind != REDLOCK_EVENT_HEARD ||
            refused->as.message.answer != REDLOCK_ANSWER_REFUSED))
        refused++;
    CHECK(refused < &seen[seen_count] && refused->session == 4 &&
          refused->as.message.vote == REDLOCK_VOTE_REFUSED);
    for (unsigned i = 0; i < seen_count; i++) CHECK_INT(trouble_in(&seen[i]), REDLOCK_TROUBLE_NONE);
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
    CHECK_INT(first_of(REDLOCK_EVENT_ENDED, 0)->as.status, REDLOCK_OK);
}

TEST(commands_and_answers_tell_how_many_answers_are_to_come)
{
    CLUSTER(1);
    WATCH;
    START_ACQUIRE(0, "door", 10000, 0);
    START_ACQUIRE_LOCK(0, 1, "gate", 10000, 0);
    RUN_MS(5);
    look();
    unsigned to_come = 0;
    for (unsigned i = 0; i < seen_count; i++) {
        if (seen[i].kind == REDLOCK_EVENT_SENT) CHECK_INT(seen[i].as.message.to_come, ++to_come);
        if (seen[i].kind == REDLOCK_EVENT_HEARD) CHECK_INT(seen[i].as.message.to_come, --to_come);
        CHECK(to_come <= 2);
    }
    CHECK_INT(to_come, 0);
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_ACQUIRE), 2);
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
        errors += seen[i].kind == REDLOCK_EVENT_HEARD &&
                  seen[i].as.message.answer == REDLOCK_ANSWER_ERROR &&
                  seen[i].as.message.trouble == REDLOCK_TROUBLE_OOM && seen[i].session == 0;
    CHECK_INT(errors, 1);
    CHECK_INT(first_of(REDLOCK_EVENT_DISCONNECTED, 0)->session, 1);
    CHECK(first_of(REDLOCK_EVENT_DISCONNECTED, 0)->as.trouble != REDLOCK_TROUBLE_NONE);
    CHECK_INT(count_of(REDLOCK_EVENT_DISCONNECTED, REDLOCK_COMMAND_NONE), 1);
    CHECK_INT(count_of(REDLOCK_EVENT_UNANSWERED, REDLOCK_COMMAND_ACQUIRE), 1);
    CHECK(first_of(REDLOCK_EVENT_DISCONNECTED, 0) < first_of(REDLOCK_EVENT_UNANSWERED, 0));
    CHECK_INT(first_of(REDLOCK_EVENT_UNANSWERED, 0)->command, REDLOCK_COMMAND_ACQUIRE);
    CHECK_INT(first_of(REDLOCK_EVENT_UNANSWERED, 0)->as.message.vote, REDLOCK_VOTE_UNKNOWN);
}

TEST(a_node_that_falls_silent_is_told_once)
{
    CLUSTER(N);
    WATCH;
    HANG(1);
    START_ACQUIRE(0, "door", 10000, 0);
    RUN_MS(NODE_HANG_FACTOR * REDLOCK_NODE_TIMEOUT_MS + 5);
    look();
    CHECK_INT(count_of(REDLOCK_EVENT_DISCONNECTED, REDLOCK_COMMAND_NONE), 1);
    CHECK_INT(first_of(REDLOCK_EVENT_DISCONNECTED, 0)->as.trouble, REDLOCK_TROUBLE_SILENT);
}

TEST(a_server_that_may_not_vote_is_not_told_to_be_ready)
{
    CLUSTER_COLD(1, 1, (void)0);
    WATCH;
    NODE(0)->hides_role = true;
    RUN_MS(STORY_SETTLE_MS);
    look();
    CHECK(first_of(REDLOCK_EVENT_DISCONNECTED, 0) && !first_of(REDLOCK_EVENT_READY, 0));
    CHECK(count_of(REDLOCK_EVENT_DISCONNECTED, REDLOCK_COMMAND_NONE) <=
          count_of(REDLOCK_EVENT_CONNECTED, REDLOCK_COMMAND_NONE));
}

/* The locks that wait for its vote are turned away behind that. */
TEST(a_server_that_has_no_vote_yet_is_told_to_be_ready_before_anything_else)
{
    CLUSTER(1);
    DOWN(0); UP(0);
    START_ACQUIRE(0, "door", 10000, 0);
    WATCH;
    RUN_MS(5);
    look();
    CHECK(first_of(REDLOCK_EVENT_READY, 0) && first_of(REDLOCK_EVENT_VERDICT, 0));
    CHECK(first_of(REDLOCK_EVENT_READY, 0) < first_of(REDLOCK_EVENT_VERDICT, 0));
}

TEST(a_restart_is_told_and_the_same_server_again_is_not)
{
    CLUSTER(N);
    WATCH;
    RESET(0, 0);
    RUN_MS(100);
    look();
    CHECK(first_of(REDLOCK_EVENT_READY, 0) && !first_of(REDLOCK_EVENT_READY, 0)->as.is_new_server);
    DOWN(0);
    UP(0);
    RUN_MS(5000);
    look();
    CHECK(first_of(REDLOCK_EVENT_READY, 0) && first_of(REDLOCK_EVENT_READY, 0)->as.is_new_server);
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
    CHECK_INT(answer_to(REDLOCK_COMMAND_NONE)->as.message.answer, REDLOCK_ANSWER_GRANTED);
    CHECK(count_of(REDLOCK_EVENT_WOKEN, REDLOCK_COMMAND_NONE) <=
          count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_NONE));
}

TEST(a_question_is_told_without_a_vote)
{
    static const struct redlock_name ping = { .bytes = "PING", .size = 4 };
    struct redlock_question questions[2];
    CLUSTER(N);
    WATCH;
    ANSWERS(1, "PING", "-ERR unknown command 'PING'\r\n");
    for (unsigned i = 0; i < 2; i++)
        CHECK_INT(redlock_ask(ENGINE(0), &questions[i], 1, &ping, 1, NULL, 0, CLIENT_NOW(0)),
                  REDLOCK_OK);
    RUN_MS(5);
    look();
    CHECK_INT(count_of(REDLOCK_EVENT_SENT, REDLOCK_COMMAND_QUESTION), 2);
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_QUESTION), 2);
    const struct redlock_event *heard = answer_to(REDLOCK_COMMAND_QUESTION);
    CHECK_INT(heard->as.message.vote, REDLOCK_VOTE_PENDING);
    CHECK_INT(heard->as.message.answer, REDLOCK_ANSWER_GRANTED);   /* Any answer will do. */
    CHECK_INT(heard->as.message.to_come, 1);
}

TEST(what_does_not_fit_in_the_ring_is_counted_and_the_oldest_stay)
{
    struct redlock_event event;
    CLUSTER(N);
    redlock_use_events(ENGINE(0), &events, ring, 2);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    CHECK(events.lost > 10);
    CHECK(redlock_next_event(&events, &event) && event.kind == REDLOCK_EVENT_PHASE);
    CHECK_INT(event.as.phase.phase, REDLOCK_PHASE_ACQUIRING);
    CHECK(redlock_next_event(&events, &event) && event.kind == REDLOCK_EVENT_SENT);
    CHECK(!redlock_next_event(&events, &event));
    const uint64_t lost = events.lost;
    redlock_use_events(ENGINE(0), NULL, NULL, 0);
    RELEASE(0);
    CHECK(!redlock_next_event(&events, &event) && events.lost == lost);
}

TEST(only_the_kinds_of_events_that_are_wanted_are_told)
{
    static struct redlock_lock elsewhere;
    CLUSTER(N);
    WATCH;
    events.kinds =
        REDLOCK_EVENT_BIT(REDLOCK_EVENT_VERDICT) | REDLOCK_EVENT_BIT(REDLOCK_EVENT_ENDED);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    redlock_lock_init(&elsewhere);
    redlock_move(ENGINE(0), &elsewhere, LOCK(0), "door");
    redlock_move(ENGINE(0), LOCK(0), &elsewhere, "door");
    RELEASE(0);
    look();
    CHECK_INT(seen_count, 3);
    CHECK(seen[0].kind == REDLOCK_EVENT_VERDICT && seen[1].kind == REDLOCK_EVENT_ENDED &&
          seen[2].kind == REDLOCK_EVENT_ENDED);
    CHECK_INT(events.lost, 0);
    events.kinds = REDLOCK_EVENTS_ALL;
    ACQUIRE(0, "door", 10000);
    look();
    CHECK(count_of(REDLOCK_EVENT_SENT, REDLOCK_COMMAND_ACQUIRE) >= N / 2 + 1);
    RELEASE(0);
}

TEST(a_ring_that_is_read_in_between_goes_round)
{
    struct redlock_event event;
    uint64_t last = 0;
    unsigned count = 0;
    CLUSTER(N);
    redlock_use_events(ENGINE(0), &events, ring, 50);
    for (unsigned i = 0; i < 20; i++) {
        ACQUIRE(0, "door", 10000);
        for (unsigned taken = 0; taken < 25 && redlock_next_event(&events, &event);
             taken++, count++) {
            CHECK(event.at_us >= last);
            last = event.at_us;
        }
        RELEASE(0);
        RUN_MS(5);
    }
    CHECK(count >= 400);
}

TEST(a_move_that_does_not_fit_is_counted)
{
    static struct redlock_lock elsewhere;
    CLUSTER(N);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    redlock_use_events(ENGINE(0), &events, ring, 1);
    redlock_lock_init(&elsewhere);
    redlock_move(ENGINE(0), &elsewhere, LOCK(0), "door");
    redlock_move(ENGINE(0), LOCK(0), &elsewhere, "door");
    CHECK_INT(events.lost, 1);
}

TEST(a_round_is_told_with_its_number_and_ttl_before_anything_is_sent)
{
    CLUSTER(N);
    WATCH;
    ACQUIRE(0, "door", 10000);
    EXTEND(0, 20000);
    RELEASE(0);
    look();
    unsigned rounds = 0;
    for (unsigned i = 0; i < seen_count; i++) {
        if (seen[i].kind != REDLOCK_EVENT_PHASE || seen[i].command == REDLOCK_COMMAND_NONE)
            continue;
        CHECK_INT(seen[i].round, ++rounds);
        CHECK_INT(seen[i].as.phase.phase,
                  rounds == 1 ? REDLOCK_PHASE_ACQUIRING :
                  rounds == 2 ? REDLOCK_PHASE_EXTENDING : REDLOCK_PHASE_RELEASING);
        CHECK_INT(seen[i].command, rounds == 1 ? REDLOCK_COMMAND_ACQUIRE :
                                   rounds == 2 ? REDLOCK_COMMAND_EXTEND : REDLOCK_COMMAND_RELEASE);
        CHECK_INT(seen[i].as.phase.ttl_ms, rounds == 1 ? 10000 : rounds == 2 ? 20000 : 0);
        CHECK(rounds == 3 || seen[i].as.phase.drift_us == (rounds == 1 ? 102000 : 202000));
    }
    CHECK_INT(rounds, 3);
}

TEST(an_extension_that_replaces_one_under_way_is_told_as_a_round_of_its_own)
{
    CLUSTER(N);
    ACQUIRE(0, "door", 10000);
    CHECK_INT(redlock_keep(ENGINE(0), LOCK(0), 0, CLIENT_NOW(0)), REDLOCK_OK);
    for (unsigned k = 0; k < N; k++) STALL(k);
    RUN_MS(3400);               /* The keeper's extension is under way. */
    WATCH;
    START_EXTEND(0, 20000);
    look();
    CHECK_INT(first_of(REDLOCK_EVENT_PHASE, 0)->as.phase.phase, REDLOCK_PHASE_EXTENDING);
    CHECK_INT(first_of(REDLOCK_EVENT_PHASE, 0)->as.phase.ttl_ms, 20000);
    CHECK_INT(first_of(REDLOCK_EVENT_PHASE, 0)->round, 3);
}

TEST(the_votes_so_far_are_told_with_each_vote_and_who_is_not_asked_with_the_first_command)
{
    CLUSTER(N);
    DOWN(4);
    RUN_MS(2000);
    WATCH;
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    look();
    CHECK_INT(first_of(REDLOCK_EVENT_SENT, 0)->not_asked, 1 << 4);
    unsigned granted = 0;
    for (unsigned i = 0; i < seen_count; i++) {
        if (seen[i].kind != REDLOCK_EVENT_HEARD) continue;
        CHECK_INT(__builtin_popcount(seen[i].granted), ++granted);
        CHECK(seen[i].granted >> seen[i].session & 1);
        CHECK_INT(seen[i].not_asked, 1 << 4);
    }
    CHECK_INT(granted, 4);
}

TEST(the_end_of_a_release_is_told_with_its_votes)
{
    CLUSTER(N);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    REMOVE_KEYS(0);
    WATCH;
    RELEASE(0);
    look();
    const struct redlock_event *ended = first_of(REDLOCK_EVENT_ENDED, 0);
    CHECK(ended && ended->command == REDLOCK_COMMAND_RELEASE && ended->as.status == REDLOCK_OK);
    CHECK_INT(__builtin_popcount(ended->granted), 3);
    CHECK_INT(ended->refused & ~1, 0);
}

TEST(a_node_that_is_to_get_the_text_of_a_script_has_not_voted)
{
    CLUSTER(1);
    ACQUIRE(0, "door", 10000);
    WATCH;
    ANSWERS_ONCE(0, "EVALSHA", "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    EXTEND(0, 10000);
    look();
    const struct redlock_event *unknown = answer_to(REDLOCK_COMMAND_EXTEND);
    CHECK(unknown && unknown->as.message.trouble == REDLOCK_TROUBLE_NOSCRIPT &&
          unknown->as.message.vote == REDLOCK_VOTE_PENDING && !unknown->unknown);
    const struct redlock_event *sent = first_of(REDLOCK_EVENT_SENT, (unsigned)(unknown - seen));
    CHECK(sent && sent->as.message.form == REDLOCK_FORM_BY_TEXT);
    const struct redlock_event *known = first_of(REDLOCK_EVENT_HEARD, (unsigned)(sent - seen));
    CHECK(known && known->as.message.form == REDLOCK_FORM_BY_TEXT &&
          known->as.message.vote == REDLOCK_VOTE_GRANTED && known->granted == 1);
}

TEST(what_names_a_script_and_is_no_error_is_a_vote)
{
    CLUSTER(1);
    ACQUIRE(0, "door", 10000);
    WATCH;
    ANSWERS_ONCE(0, "EVALSHA", "$20\r\nNOSCRIPT No matching\r\n");
    EXTEND(0, 10000);
    look();
    const struct redlock_event *heard = answer_to(REDLOCK_COMMAND_EXTEND);
    CHECK(heard && heard->as.message.answer == REDLOCK_ANSWER_WRONG &&
          heard->as.message.vote == REDLOCK_VOTE_UNKNOWN);
}

TEST(a_node_that_does_not_know_the_text_of_a_script_votes_unknown)
{
    CLUSTER(1);
    ACQUIRE(0, "door", 10000);
    WATCH;
    ANSWERS(0, "EVALSHA", "-NOSCRIPT No matching script. Please use EVAL.\r\n");
    ANSWERS(0, "EVAL", "-NOSCRIPT There are no scripts here.\r\n");
    EXTEND(0, 10000);
    look();
    const struct redlock_event *last = answer_to(REDLOCK_COMMAND_EXTEND);
    last = first_of(REDLOCK_EVENT_HEARD, (unsigned)(last + 1 - seen));
    CHECK(last && last->as.message.form == REDLOCK_FORM_BY_TEXT &&
          last->as.message.vote == REDLOCK_VOTE_UNKNOWN && last->unknown == 1);
}

TEST(a_key_of_another_type_is_told_as_a_release_refused)
{
    CLUSTER(1);
    ACQUIRE(0, "door", 10000);
    WATCH;
    ANSWERS_ONCE(0, "EVALSHA",
                 "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    RELEASE(0);
    look();
    const struct redlock_event *heard = answer_to(REDLOCK_COMMAND_RELEASE);
    CHECK(heard && heard->as.message.answer == REDLOCK_ANSWER_ERROR &&
          heard->as.message.vote == REDLOCK_VOTE_REFUSED && heard->refused == 1);
}

TEST(a_key_of_another_type_is_told_as_an_extension_unknown)
{
    CLUSTER(1);
    ACQUIRE(0, "door", 10000);
    WATCH;
    ANSWERS_ONCE(0, "EVALSHA",
                 "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    EXTEND(0, 10000);
    look();
    const struct redlock_event *heard = answer_to(REDLOCK_COMMAND_EXTEND);
    CHECK(heard && heard->as.message.trouble == REDLOCK_TROUBLE_WRONGTYPE &&
          heard->as.message.vote == REDLOCK_VOTE_UNKNOWN);
}

TEST(a_refusal_for_a_lock_that_was_forgotten_is_told_without_it)
{
    CLUSTER(1);
    cluster->no_promise = true;
    RIVAL(0, "door", 60000);
    WATCH;
    START_ACQUIRE(0, "door", 10000, 0);
    RUN_US(1);
    cluster_forget(cluster, 0, 0);
    RUN_MS(5);
    look();
    const struct redlock_event *heard = answer_to(REDLOCK_COMMAND_ACQUIRE);
    CHECK(heard && !heard->lock && heard->as.message.answer == REDLOCK_ANSWER_REFUSED);
}

TEST(s8_an_answer_behind_the_end_of_its_round_is_told_as_no_vote)
{
    CLUSTER(N);
    for (unsigned k = 2; k < N; k++)
        DELAY_US(k, 600000);        /* Longer than a round. */
    WATCH;
    ACQUIRE(0, "door", 10000);
    EXPECT_STATUS(0, REDLOCK_NO_QUORUM);
    RUN_MS(3000);
    look();
    unsigned late = 0;
    for (unsigned i = 0; i < seen_count; i++) {
        if (seen[i].kind != REDLOCK_EVENT_HEARD || seen[i].session < 2 ||
            seen[i].command != REDLOCK_COMMAND_ACQUIRE)
            continue;
        CHECK_INT(seen[i].as.message.vote, REDLOCK_VOTE_PENDING);
        CHECK_INT(seen[i].as.message.answer, REDLOCK_ANSWER_GRANTED);
        CHECK_INT(__builtin_popcount(seen[i].unknown), 3);
        late++;
    }
    CHECK_INT(late, 3);
}

/* Node 4 is asked again before its first answer comes. */
TEST(s8_an_answer_to_an_earlier_extension_is_told_as_no_vote)
{
    CLUSTER(N);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    DELAY_US(4, 100000);
    WATCH;
    EXTEND(0, 10000);
    EXTEND(0, 10000);
    RUN_MS(1000);
    look();
    unsigned votes = 0, heard = 0;
    for (unsigned i = 0; i < seen_count; i++) {
        if (seen[i].kind != REDLOCK_EVENT_HEARD || seen[i].session != 4) continue;
        votes += seen[i].as.message.vote == REDLOCK_VOTE_GRANTED;
        heard++;
    }
    CHECK_INT(heard, 2);
    CHECK_INT(votes, 1);
}

TEST(s8_an_answer_to_an_inspection_is_told_as_no_vote)
{
    struct redlock_sight sights[N];
    CLUSTER(N);
    WATCH;
    (void)model_put(NODE(0), "door", "7 5000", 0, cluster_node_now(cluster, 0));
    CHECK_INT(cluster_inspect(cluster, 0, 0, "door", sights), REDLOCK_OK);
    RUN_MS(5);
    look();
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_GETRANGE), N);
    CHECK_INT(count_of(REDLOCK_EVENT_HEARD, REDLOCK_COMMAND_PTTL), N);
    CHECK_INT(first_of(REDLOCK_EVENT_PHASE, 0)->as.phase.phase, REDLOCK_PHASE_INSPECTING);
    CHECK_INT(first_of(REDLOCK_EVENT_PHASE, 0)->command, REDLOCK_COMMAND_GETRANGE);
    /* The value that looks like a refusal is none. */
    for (unsigned i = 0; i < seen_count; i++) {
        CHECK_INT(seen[i].granted, 0);
        if (seen[i].kind != REDLOCK_EVENT_HEARD) continue;
        CHECK(seen[i].command == REDLOCK_COMMAND_PTTL || seen[i].as.message.number == 0);
        CHECK_INT(seen[i].as.message.vote, REDLOCK_VOTE_PENDING);
    }
}

TEST(what_a_refusal_says_of_the_holder_is_told)
{
    CLUSTER_OF(1, 2, (void)0);
    ACQUIRE(1, "door", 10000);
    WATCH;
    ACQUIRE(0, "door", 10000);
    look();
    const struct redlock_event *heard = answer_to(REDLOCK_COMMAND_PTTL);
    CHECK(heard && heard->as.message.number > 9000 && heard->as.message.number <= 10000);
    RELEASE(1);
    look();
}

TEST(what_a_refusal_by_a_script_says_of_holder_and_ticket_is_told)
{
    CLUSTER_OF(1, 2, (void)0);
    struct redlock_request request = story_request("door", 10000, 0);
    request.ticket = true;
    request.wall_us = 1000000000;
    CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
    UNTIL_DONE(1);
    WATCH;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    look();
    const struct redlock_event *heard = answer_to(REDLOCK_COMMAND_ACQUIRE);
    CHECK(heard && heard->as.message.answer == REDLOCK_ANSWER_REFUSED);
    CHECK(heard->as.message.number > 9000 && heard->as.message.number <= 10000);
    CHECK(heard->as.message.ticket == redlock_ticket(LOCK(1)) && heard->as.message.ticket > 0);
    CHECK_INT(first_of(REDLOCK_EVENT_VERDICT, 0)->as.verdict.ticket, 0);
}

/* The script is the one that acquires, and refuses in the same words. */
TEST(a_refusal_to_set_a_key_again_is_told_without_its_holder)
{
    CLUSTER(3);
    struct redlock_request request = story_request("door", 10000, 0);
    request.kind = &redlock_shared;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    RUN_MS(5);
    REMOVE_KEYS(2);
    RIVAL(2, "door", 5000);
    WATCH;
    EXTEND(0, 10000);
    RUN_MS(5);
    look();
    const struct redlock_event *heard = answer_to(REDLOCK_COMMAND_RESTORE);
    CHECK(heard && heard->session == 2 && heard->as.message.answer == REDLOCK_ANSWER_REFUSED);
    CHECK_INT(heard->as.message.number, 0);
}

TEST(each_script_and_each_of_its_arguments_has_a_name)
{
    unsigned most[32] = { 0 };      /* The scripts of a command. */
    for (unsigned i = 0; i < ROW_COUNT; i++) {
        const struct listed_row listed = row_at((enum row)i);
        const enum redlock_command command = (enum redlock_command)listed.command;
        if (!listed.row->text) continue;
        CHECK(strncmp(listed.name, redlock_script_name(command),
                      strlen(redlock_script_name(command))) == 0);
        for (unsigned j = 0; j < listed.row->argument_count; j++)
            CHECK(redlock_argument_name(command, j));
        if (listed.row->argument_count > most[command]) most[command] = listed.row->argument_count;
    }
    for (unsigned command = 0; command < 32; command++)
        CHECK(!redlock_argument_name((enum redlock_command)command, most[command]));
    CHECK_STR(redlock_script_name(REDLOCK_COMMAND_RESTORE), "restore");
    CHECK_STR(redlock_argument_name(REDLOCK_COMMAND_ACQUIRE, 4), "skew");
    CHECK(!redlock_script_name(REDLOCK_COMMAND_PTTL) &&
          !redlock_argument_name(REDLOCK_COMMAND_INFO, 0) &&
          !redlock_argument_name(REDLOCK_COMMAND_ACQUIRE, UINT_MAX));
}

TEST(the_form_of_a_command_is_told)
{
    CLUSTER(1);
    WATCH;
    ACQUIRE(0, "door", 10000);
    EXTEND(0, 10000);
    look();
    CHECK_INT(answer_to(REDLOCK_COMMAND_ACQUIRE)->as.message.form, REDLOCK_FORM_PLAIN);
    CHECK_INT(answer_to(REDLOCK_COMMAND_EXTEND)->as.message.form, REDLOCK_FORM_BY_SHA1);
}

TEST(a_ticket_is_told_with_the_verdict)
{
    CLUSTER(N);
    struct redlock_request request = story_request("door", 10000, 0);
    request.ticket = true;
    request.wall_us = 1000000000;
    WATCH;
    CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
    UNTIL_DONE(0);
    look();
    CHECK(first_of(REDLOCK_EVENT_VERDICT, 0)->as.verdict.ticket == redlock_ticket(LOCK(0)) &&
          redlock_ticket(LOCK(0)) > 0);
    RELEASE(0);
    RUN_MS(5);
    /* Whoever adopts a lock does not know its ticket. */
    const char token[] = "0123456789abcdef0123456789abcdef01234567";
    STORY_NODES model_put(NODE(story_k), "door", token, 10000, cluster_node_now(cluster, story_k));
    CHECK_INT(cluster_adopt(cluster, 0, 0, "door", token), REDLOCK_OK);
    look();
    EXTEND(0, 10000);
    look();
    CHECK(first_of(REDLOCK_EVENT_VERDICT, 0) &&
          first_of(REDLOCK_EVENT_VERDICT, 0)->as.verdict.ticket == 0);
}

TEST(a_lock_that_is_moved_is_told_by_both_addresses_and_then_by_the_new_one)
{
    static struct redlock_lock elsewhere;
    CLUSTER(N);
    ACQUIRE(0, "door", 10000);
    RUN_MS(5);
    WATCH;
    redlock_lock_init(&elsewhere);
    redlock_move(ENGINE(0), &elsewhere, LOCK(0), "door");
    look();
    CHECK_INT(seen_count, 1);
    CHECK_INT(seen[0].kind, REDLOCK_EVENT_MOVED);
    CHECK(seen[0].lock == &elsewhere && seen[0].as.was == LOCK(0));
    CHECK_INT(seen[0].session, REDLOCK_NO_SESSION);
    CHECK_INT(redlock_start_release(ENGINE(0), &elsewhere, CLIENT_NOW(0)), REDLOCK_OK);
    RUN_MS(5);
    look();
    CHECK(first_of(REDLOCK_EVENT_ENDED, 0) && first_of(REDLOCK_EVENT_ENDED, 0)->lock == &elsewhere);
    redlock_forget(ENGINE(0), &elsewhere);
    look();
    CHECK_INT(seen_count, 1);
    CHECK_INT(seen[0].kind, REDLOCK_EVENT_FORGOTTEN);
    CHECK(seen[0].lock == &elsewhere);
    redlock_move(ENGINE(0), LOCK(0), &elsewhere, "door");
}

/* ---- What is told once ---- */

/* The events of these kinds since the last look, each by its letter: of a phase the first of its
 * name, of a verdict V, of an end E, of a debt O. */
static const char *letters(uint32_t kinds)
{
    static const char phases[] = {
        [REDLOCK_PHASE_IDLE] = 'i',          [REDLOCK_PHASE_WAITING] = 'w',
        [REDLOCK_PHASE_NEEDS_ENTROPY] = 'n', [REDLOCK_PHASE_ACQUIRING] = 'a',
        [REDLOCK_PHASE_ENDING] = 'e',        [REDLOCK_PHASE_HELD] = 'h',
        [REDLOCK_PHASE_EXTENDING] = 'x',     [REDLOCK_PHASE_RELEASING] = 'r'
    };
    static char text[64];
    size_t size = 0;

    look();
    for (unsigned i = 0; i < seen_count && size + 1 < sizeof text; i++) {
        if (!(kinds & REDLOCK_EVENT_BIT(seen[i].kind))) continue;
        text[size++] = seen[i].kind == REDLOCK_EVENT_PHASE     ? phases[seen[i].as.phase.phase]
                       : seen[i].kind == REDLOCK_EVENT_VERDICT ? 'V'
                       : seen[i].kind == REDLOCK_EVENT_ENDED   ? 'E'
                                                               : 'O';
    }
    text[size] = '\0';
    return text;
}

#define STEPS (REDLOCK_EVENT_BIT(REDLOCK_EVENT_PHASE) | REDLOCK_EVENT_BIT(REDLOCK_EVENT_VERDICT) | \
               REDLOCK_EVENT_BIT(REDLOCK_EVENT_ENDED))

TEST(each_lost_attempt_is_told_with_its_verdict)
{
    for (unsigned is_fair = 0; is_fair < 2; is_fair++) {
        CLUSTER_OF(N, 2, (void)0);
        struct redlock_request request = story_request("door", 10000, is_fair ? 20000 : 0);
        TAP_CONTEXT("%s", is_fair ? "fair" : "plain");
        request.kind = is_fair ? &redlock_fair : NULL;
        CHECK_INT(cluster_acquire(cluster, 1, 0, &request), REDLOCK_OK);
        UNTIL_DONE(1);
        RUN_MS(5);
        WATCH;
        CHECK_INT(cluster_acquire(cluster, 0, 0, &request), REDLOCK_OK);
        RUN_MS(3);
        CHECK_STR(letters(STEPS), is_fair ? "aVwaVw" : "aVeiE");
    }
}

TEST(a_lock_that_ran_out_is_told_to_be_idle_before_it_is_acquired_again)
{
    CLUSTER(N);
    ACQUIRE(0, "door", 1000);
    RUN_MS(2000);
    WATCH;
    ACQUIRE(0, "door", 1000);
    CHECK_STR(letters(STEPS), "iaVhE");
}

/* Client 1 reads as well, or the answers come too late. */
TEST(an_upgrade_that_fails_is_told_and_so_is_what_undoes_it)
{
    for (unsigned is_late = 0; is_late < 2; is_late++) {
        CLUSTER_OF(N, 2, (void)0);
        struct redlock_request request = story_request("door", 300, 0);
        TAP_CONTEXT("%s", is_late ? "late" : "another reader");
        request.kind = &redlock_shared;
        for (unsigned c = is_late; c < 2; c++) {
            CHECK_INT(cluster_acquire(cluster, 1 - c, 0, &request), REDLOCK_OK);
            UNTIL_DONE(1 - c);
        }
        RUN_MS(5);
        if (is_late) STORY_NODES STALL(story_k);
        WATCH;
        CHECK_INT(cluster_upgrade(cluster, 0, 0), REDLOCK_OK);
        UNTIL_DONE(0);
        EXPECT_STATUS(0, is_late ? REDLOCK_LOST : REDLOCK_TAKEN);
        CHECK_STR(letters(STEPS), is_late ? "xVhE" : "xVxVhE");
        CHECK_INT(first_of(REDLOCK_EVENT_VERDICT, 0)->as.verdict.status,
                  redlock_lock_status(LOCK(0)));
    }
}

/* It has entries among the waiters as well as keys. */
TEST(each_debt_of_a_lock_that_has_waited_is_told_once)
{
    CLUSTER_OF(N, 2, config.wake_ups = true);
    ACQUIRE(1, "door", 10000);
    START_ACQUIRE(0, "door", 10000, 60000);
    RUN_MS(50);
    RELEASE(1);
    RUN_MS(50);
    EXPECT_HELD(0);
    WATCH;
    START_RELEASE(0);
    CHECK_STR(letters(REDLOCK_EVENT_BIT(REDLOCK_EVENT_OWED)), "OOOOO");
}

static void tell_story(bool is_watched, uint64_t *steps, uint64_t *dice, uint64_t *until,
                       size_t *calls)
{
    CLUSTER_COLD(N, 2, config.wake_ups = true);
    if (is_watched) WATCH;
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
