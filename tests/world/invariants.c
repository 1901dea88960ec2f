#include "invariants.h"

#include "../../redlock/queue.h"
#include "../../redlock/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WALK_MAX = 8 };      /* Locks of the heap that are looked at in one call. */

/* One session. */
struct session {
    const struct redlock *engine;
    const struct redlock_node *node;
    unsigned k;
};

/* One lock, with its commands to all nodes and to each. */
struct books {
    const struct redlock *engine;
    const struct redlock_lock *lock;
    unsigned asked_count;           /* Commands that are not answered, of all nodes. */
};

/* One lock on one node. */
struct page {
    const struct redlock *engine;
    const struct redlock_lock *lock;
    const struct redlock_stake *stake;
    unsigned node;
    unsigned release_count;         /* Releases that are not answered. */
    /* The unanswered commands of the last round, as a set (see set_of). */
    unsigned asked_now;
};

static unsigned set_of(unsigned command)
{
    return 1u << command;
}

static bool has(unsigned set, unsigned number)
{
    return set >> number & 1;
}

/* ---- One lock, one node ---- */

/* There is never more than one at a time, or the first answer would be taken for the second. */
static bool a_release_is_under_way_where_the_stake_leaves(const struct page *page)
{
    return page->release_count == (page->stake->state == STAKE_LEAVING ? 1 : 0);
}

static bool the_mask_of_debts_agrees_with_the_stakes(const struct page *page)
{
    const bool is_owed = has(page->lock->owed, page->node),
               is_deferred = has(page->lock->deferred, page->node);
    return is_owed == (page->stake->state == STAKE_OWED) && (is_owed || !is_deferred);
}

/* The alarm is debt_at, see it_wakes_in_time(). */
static bool a_debt_has_a_command_or_an_alarm(const struct page *page)
{
    return page->stake->state != STAKE_OWED || has(page->lock->deferred, page->node) ||
           page->stake->want == REDLOCK_COMMAND_RELEASE;
}

static bool who_wants_something_of_a_node_stands_in_its_queue(const struct page *page)
{
    return has(page->lock->queued, page->node) == (page->stake->want != REDLOCK_COMMAND_NONE);
}

/* The queue's ends are among its locks, and neighbours know each other. */
static bool its_neighbours_in_the_queue_know_it(const struct page *page)
{
    const struct redlock_queue *queue = &page->engine->nodes[page->node].queue;
    const struct redlock_link *link = &page->lock->links[page->node];
    if (!has(page->lock->queued, page->node)) return true;
    const struct redlock_lock *before =
        link->previous ? link->previous->links[page->node].next : queue->first;
    const struct redlock_lock *behind =
        link->next ? link->next->links[page->node].previous : queue->last;
    return before == page->lock && behind == page->lock;
}

/* A token that may be placed at any other time is owed. A fair lock keeps its keys
 * while it waits. */
static bool only_who_tries_or_holds_has_something_placed(const struct page *page)
{
    const unsigned phases = set_of(REDLOCK_PHASE_ACQUIRING) | set_of(REDLOCK_PHASE_HELD) |
                            set_of(REDLOCK_PHASE_EXTENDING);
    const unsigned more = page->lock->kind->keeps_place ? set_of(REDLOCK_PHASE_WAITING) : 0;
    return page->stake->state != STAKE_PLACED || has(phases | more, page->lock->phase);
}

/* S24: from its first poll to the last, and then as the holder's. */
static bool what_a_fair_lock_has_placed_is_of_its_token(const struct page *page)
{
    const bool is_same =
        memcmp(page->stake->token, page->lock->token, sizeof page->lock->token) == 0;
    return !page->lock->kind->keeps_place || page->stake->state != STAKE_PLACED || is_same;
}

/* Two may be in the queue longer than the lock has a use for them. One is a WAIT, which is dropped
 * when its turn comes unless the lock waits then. The other is a PTTL of the last attempt, whose
 * answer is overwritten or not looked at, also when the lock has starved since. A release is wanted
 * at any time;
 * the holder's ACQUIRE is for a node that no longer votes, but may be lost later; and the last poll
 * of a fair lock that waits may still go out. */
static bool what_is_wanted_fits_the_phase(const struct page *page)
{
    static const unsigned may_want[] = {
        [REDLOCK_PHASE_IDLE] = 1u << REDLOCK_COMMAND_WAIT | 1u << REDLOCK_COMMAND_PTTL,
        [REDLOCK_PHASE_WAITING] = 1u << REDLOCK_COMMAND_WAIT | 1u << REDLOCK_COMMAND_PTTL,
        [REDLOCK_PHASE_NEEDS_ENTROPY] = 1u << REDLOCK_COMMAND_WAIT | 1u << REDLOCK_COMMAND_PTTL,
        [REDLOCK_PHASE_ACQUIRING] =
            1u << REDLOCK_COMMAND_WAIT | 1u << REDLOCK_COMMAND_PTTL | 1u << REDLOCK_COMMAND_ACQUIRE,
        [REDLOCK_PHASE_ENDING] = 1u << REDLOCK_COMMAND_WAIT | 1u << REDLOCK_COMMAND_PTTL,
        [REDLOCK_PHASE_HELD] = 1u << REDLOCK_COMMAND_WAIT | 1u << REDLOCK_COMMAND_ACQUIRE |
                               1u << REDLOCK_COMMAND_RESTORE | 1u << REDLOCK_COMMAND_EXTEND,
        [REDLOCK_PHASE_EXTENDING] = 1u << REDLOCK_COMMAND_EXTEND,
        [REDLOCK_PHASE_RELEASING] = 1u << REDLOCK_COMMAND_WAIT,
        [REDLOCK_PHASE_INSPECTING] = 1u << REDLOCK_COMMAND_GETRANGE | 1u << REDLOCK_COMMAND_PTTL,
    };
    const unsigned more =
        page->lock->kind->keeps_place && page->lock->phase == REDLOCK_PHASE_WAITING
            ? set_of(REDLOCK_COMMAND_ACQUIRE)
            : 0;
    return has(may_want[page->lock->phase] | more | set_of(REDLOCK_COMMAND_NONE) |
                   set_of(REDLOCK_COMMAND_RELEASE),
               page->stake->want);
}

/* It is given back by the release that is owed; or, when the release under way is one of before
 * that leaves the entry alone, by another after it. */
static bool who_has_ended_gives_back_his_entry_among_the_waiters(const struct page *page)
{
    const bool gives_back = page->stake->state == STAKE_OWED || page->stake->state == STAKE_LEAVING;
    return page->lock->phase != REDLOCK_PHASE_IDLE || !has(page->lock->entries, page->node) ||
           gives_back;
}

/* S17: until its release is called. Then it is the caller's like any other. */
static bool what_was_adopted_is_not_removed(const struct page *page)
{
    const bool is_left_alone =
        page->stake->state == STAKE_NONE || page->stake->state == STAKE_PLACED;
    return !page->lock->is_adopted ||
           (is_left_alone && page->stake->want != REDLOCK_COMMAND_RELEASE);
}

/* An older release goes first, and a SET is sent when it has been answered. */
static bool will_vote_on_acquire(const struct page *page)
{
    const bool is_behind_a_release =
        page->stake->state == STAKE_LEAVING ||
        (page->stake->state == STAKE_OWED && !has(page->lock->deferred, page->node));
    return page->stake->want == REDLOCK_COMMAND_ACQUIRE ||
           has(page->asked_now, REDLOCK_COMMAND_ACQUIRE) || is_behind_a_release;
}

static bool will_vote(const struct page *page)
{
    switch (page->lock->phase) {
    case REDLOCK_PHASE_ACQUIRING: return will_vote_on_acquire(page);
    case REDLOCK_PHASE_EXTENDING: return page->stake->want == REDLOCK_COMMAND_EXTEND ||
    has(page->asked_now, REDLOCK_COMMAND_EXTEND);
    case REDLOCK_PHASE_RELEASING:
        return page->stake->want == REDLOCK_COMMAND_RELEASE || page->release_count > 0;
    default:              return true;      /* Votes are not waited for. */
    }
}

/* When its time is over it waits for the tick, and commands that it could not send in time are no
 * longer sent. */
static bool the_round_waits_only_for_what_is_under_way(const struct page *page)
{
    const bool is_over = page->engine->now_us >= page->lock->round.deadline_at;
    return will_vote(page) || is_over ||
           redlock_vote_of(page->lock, page->node) != REDLOCK_VOTE_PENDING;
}

static bool a_question_that_is_waited_for_is_under_way(const struct page *page)
{
    const unsigned questions = set_of(REDLOCK_COMMAND_PTTL) | set_of(REDLOCK_COMMAND_GETRANGE);
    return !has(page->lock->asking, page->node) || has(questions, page->stake->want) ||
           (page->asked_now & questions) != 0;
}

/* ---- One lock, all nodes ---- */

static bool outstanding_is_what_was_asked(const struct books *books)
{
    return books->lock->outstanding == books->asked_count;
}

/* The time at which it must have been woken even if nothing arrives by the network, computed from
 * its tasks and not from the alarm that it has set. A round lasts for a node timeout, a wait as
 * long as the caller requested (a ticket is corrected at once), and the end of a kept lock is
 * reported when it has ended. Within a wait the next attempt is held against the time that was
 * chosen for it, and debts against their own books. The tests of wake-ups and test_debts check
 * whether those are right. */
static uint64_t due_at(const struct redlock *engine, const struct redlock_lock *lock)
{
    uint64_t at = REDLOCK_NEVER;
    switch (lock->phase) {
    case REDLOCK_PHASE_IDLE:    break;
    case REDLOCK_PHASE_WAITING:
        at = sooner(lock->retry_at,
                    later(lock->wait_until, lock->is_corrected ? lock->round.decided_at : 0));
        break;
    case REDLOCK_PHASE_NEEDS_ENTROPY:  at = lock->retry_at; break;
    case REDLOCK_PHASE_HELD:    at = lock->is_kept ? lock->valid_until : REDLOCK_NEVER; break;
    default: at = lock->round.started_at + (uint64_t)engine->config.node_timeout_ms * 1000;
    }
    if (lock->deferred != 0) at = sooner(at, lock->debt_at);
    return lock->owed != 0 ? sooner(at, lock->owed_until) : at;
}

/* It may wake too early, and then it looks at itself and goes on sleeping. A point in time that has
 * passed is no breach, since nobody has called for the tick yet, which may be late. */
static bool it_wakes_in_time(const struct books *books)
{
    const uint64_t at = due_at(books->engine, books->lock);
    return at == REDLOCK_NEVER || (books->lock->in_heap && books->lock->wake_at <= at);
}

static bool the_first_alarm_is_on_top(const struct books *books)
{
    return !books->lock->in_heap || books->engine->heap->wake_at <= books->lock->wake_at;
}

/* A lock whose ticket was too small is exempt, since it tries again at once and
 * listens to nobody. */
static bool who_waits_stands_in_line(const struct books *books)
{
    const bool waits = books->lock->phase == REDLOCK_PHASE_WAITING && !books->lock->is_corrected;
    return !(waits || books->lock->phase == REDLOCK_PHASE_NEEDS_ENTROPY) ||
           has(books->lock->queued, SLOT_DONE);
}

/* The way down that the bits of its number say, see redlock/queue.c. */
static bool is_found(const struct redlock_lock *at, const struct redlock_lock *lock)
{
    for (uint32_t bits = lock->wait_number; at && at != lock; bits >>= 1)
        at = at->use.below[bits & 1];
    return at == lock;
}

/* It does not matter either for one that tries again at once; and a fair lock may be called while
 * it polls. */
static bool it_is_found_by_its_number_while_it_waits(const struct books *books)
{
    const struct redlock_lock *lock = books->lock;
    const bool waits = lock->phase == REDLOCK_PHASE_WAITING && lock->wait_number != 0;
    const bool polls = lock->kind->keeps_place && lock->phase == REDLOCK_PHASE_ACQUIRING;
    return waits == is_found(books->engine->listening, lock) || lock->is_corrected || polls;
}

/* A lock of another kind is in no order, and a fair one takes no entry among the waiters. */
static bool a_fair_lock_waits_in_strict_order(const struct books *books)
{
    const struct redlock_lock *lock = books->lock;
    return lock->kind != &redlock_fair ||
           (lock->entries == 0 && lock->permit.count == 0 && lock->name_count <= 1);
}

/* ---- One session ---- */

static bool its_buffers_are_read_from_start_to_end(const struct session *session)
{
    const struct redlock_node *node = session->node;
    const struct redlock_config *config = &session->engine->config;
    return node->send_start <= node->send_end && node->send_end <= config->send_size &&
           node->receive_start <= node->receive_end && node->receive_end <= config->receive_size;
}

static bool what_lies_apart_goes_out_between_the_bytes_to_be_sent(const struct session *session)
{
    const struct redlock_node *node = session->node;
    return !node->apart || (node->apart_left > 0 && node->send_start <= node->apart_at &&
                            node->apart_at <= node->send_end);
}

static bool what_is_asked_fits_in_the_pipeline(const struct session *session)
{
    const struct redlock_node *node = session->node;
    return node->asked_count <= session->engine->config.pipeline &&
           node->asked_first < session->engine->config.pipeline;
}

static bool an_answer_is_waited_for_on_a_connection_alone(const struct session *session)
{
    return session->node->asked_count == 0 || session->node->state == NODE_HANDSHAKE ||
           session->node->state == NODE_READY;
}

static bool only_a_node_that_is_ready_is_asked_for_locks(const struct session *session)
{
    const struct redlock_node *node = session->node;
    unsigned at = node->asked_first;
    for (unsigned i = 0; i < node->asked_count; i++) {
        if (node->asked[at].lock && (node->state != NODE_READY || node->is_subscription))
            return false;
        at = at + 1 < session->engine->config.pipeline ? at + 1 : 0;
    }
    return true;
}

static bool
a_subscription_is_behind_the_nodes_and_no_lock_stands_in_its_queue(const struct session *session)
{
    return session->node->is_subscription == (session->k >= session->engine->node_count) &&
           (!session->node->is_subscription || !session->node->queue.first);
}

static bool the_ends_of_its_queue_are_ends(const struct session *session)
{
    const struct redlock_queue *queue = &session->node->queue;
    if (!queue->first || !queue->last) return !queue->first && !queue->last;
    return !queue->first->links[session->k].previous && !queue->last->links[session->k].next;
}

/* ---- The engine ---- */

static bool it_keeps_no_more_random_bytes_than_there_is_room_for(const struct redlock *engine)
{
    return engine->entropy_size <= REDLOCK_ENTROPY_MAX;
}

static bool a_subscription_belongs_to_each_node_or_to_none(const struct redlock *engine)
{
    return engine->session_count == REDLOCK_SESSIONS(engine->node_count, engine->config.wake_ups);
}

static bool the_top_of_the_heap_is_below_no_lock(const struct redlock *engine)
{
    return !engine->heap ||
           (engine->heap->in_heap && !engine->heap->heap_next && !engine->heap->heap_previous);
}

/* ---- All of them ---- */

/* The name of the first that is broken; NULL: none is. */
#define DEMAND(name, subject) do { if (!name(subject)) return #name; } while (0)

static const char *broken_on(const struct page *page)
{
    DEMAND(a_release_is_under_way_where_the_stake_leaves, page);
    DEMAND(the_mask_of_debts_agrees_with_the_stakes, page);
    DEMAND(a_debt_has_a_command_or_an_alarm, page);
    DEMAND(who_wants_something_of_a_node_stands_in_its_queue, page);
    DEMAND(only_who_tries_or_holds_has_something_placed, page);
    DEMAND(what_a_fair_lock_has_placed_is_of_its_token, page);
    DEMAND(what_is_wanted_fits_the_phase, page);
    DEMAND(who_has_ended_gives_back_his_entry_among_the_waiters, page);
    DEMAND(what_was_adopted_is_not_removed, page);
    DEMAND(the_round_waits_only_for_what_is_under_way, page);
    DEMAND(a_question_that_is_waited_for_is_under_way, page);
    DEMAND(its_neighbours_in_the_queue_know_it, page);
    return NULL;
}

static const char *broken_in(const struct books *books)
{
    DEMAND(outstanding_is_what_was_asked, books);
    DEMAND(it_wakes_in_time, books);
    DEMAND(the_first_alarm_is_on_top, books);
    DEMAND(who_waits_stands_in_line, books);
    DEMAND(it_is_found_by_its_number_while_it_waits, books);
    DEMAND(a_fair_lock_waits_in_strict_order, books);
    return NULL;
}

static const char *phase_text(unsigned phase)
{
    static const char *const texts[] = {
        "idle", "waiting", "needs entropy", "acquiring", "ending", "held", "extending", "releasing",
        "inspecting"
    };
    return texts[phase];
}

static void note_asked(struct page *page, const struct redlock_asked *asked)
{
    if (asked->round == page->lock->round.number) page->asked_now |= set_of(asked->command);
    page->release_count += asked->command == REDLOCK_COMMAND_RELEASE;
}

/* Reads the ring of commands that the node owes answers to. */
static struct page page_of(struct books *books, unsigned k)
{
    const struct redlock_node *node = &books->engine->nodes[k];
    struct page page = {
        .engine = books->engine, .lock = books->lock, .stake = &books->lock->stakes[k], .node = k
    };
    unsigned at = node->asked_first;
    for (unsigned i = 0; i < node->asked_count; i++) {
        if (node->asked[at].lock == books->lock) {
            note_asked(&page, &node->asked[at]);
            books->asked_count++;
        }
        at = at + 1 < books->engine->config.pipeline ? at + 1 : 0;
    }
    return page;
}

bool invariants_hold(const struct redlock *engine, const struct redlock_lock *lock, char *text,
                     size_t size)
{
    struct books books = { .engine = engine, .lock = lock };
    const char *phase = phase_text(lock->phase), *broken;
    for (unsigned k = 0; k < engine->node_count; k++) {
        const struct page page = page_of(&books, k);
        broken = broken_on(&page);
        if (!broken) continue;
        snprintf(text, size, "node %u, %s, state %u, want %u: not so: %s", k, phase,
                 page.stake->state, page.stake->want, broken);
        return false;
    }
    broken = broken_in(&books);
    if (broken) snprintf(text, size, "%s: not so: %s", phase, broken);
    return !broken;
}

static const char *broken_of(const struct session *session)
{
    DEMAND(its_buffers_are_read_from_start_to_end, session);
    DEMAND(what_lies_apart_goes_out_between_the_bytes_to_be_sent, session);
    DEMAND(what_is_asked_fits_in_the_pipeline, session);
    DEMAND(an_answer_is_waited_for_on_a_connection_alone, session);
    DEMAND(only_a_node_that_is_ready_is_asked_for_locks, session);
    DEMAND(a_subscription_is_behind_the_nodes_and_no_lock_stands_in_its_queue, session);
    DEMAND(the_ends_of_its_queue_are_ends, session);
    return NULL;
}

bool session_invariants_hold(const struct redlock *engine, unsigned k, char *text, size_t size)
{
    const struct session session = { .engine = engine, .node = &engine->nodes[k], .k = k };
    const char *broken = broken_of(&session);
    if (broken)
        snprintf(text, size, "session %u, state %u: not so: %s", k, session.node->state, broken);
    return !broken;
}

static const char *broken_at(const struct redlock *engine)
{
    DEMAND(it_keeps_no_more_random_bytes_than_there_is_room_for, engine);
    DEMAND(a_subscription_belongs_to_each_node_or_to_none, engine);
    DEMAND(the_top_of_the_heap_is_below_no_lock, engine);
    return NULL;
}

/* Walks down the heap by its first children, so that it sees the locks that are due soon. */
static bool locks_of_the_heap_hold(const struct redlock *engine, char *text, size_t size)
{
    const struct redlock_lock *lock = engine->heap;
    for (unsigned i = 0; i < WALK_MAX && lock; i++) {
        if (!invariants_hold(engine, lock, text, size)) return false;
        lock = lock->heap_child;
    }
    return true;
}

bool engine_invariants_hold(const struct redlock *engine, char *text, size_t size)
{
    const char *broken = broken_at(engine);
    if (broken) {
        snprintf(text, size, "engine: not so: %s", broken);
        return false;
    }
    for (unsigned k = 0; k < engine->session_count; k++)
        if (!session_invariants_hold(engine, k, text, size)) return false;
    return locks_of_the_heap_hold(engine, text, size);
}

/* ---- At the end of the engine's own calls ---- */

bool invariants_are_watched = true;

static void demand(bool hold, const char *text)
{
    if (hold) return;
    fprintf(stderr, "# invariant: %s\n", text);
    abort();
}

void redlock_look_at_lock(const struct redlock *engine, const struct redlock_lock *lock);
void redlock_look_at_lock(const struct redlock *engine, const struct redlock_lock *lock)
{
    char text[160];
    demand(!invariants_are_watched || invariants_hold(engine, lock, text, sizeof text), text);
}

void redlock_look_at_session(const struct redlock *engine, unsigned k);
void redlock_look_at_session(const struct redlock *engine, unsigned k)
{
    char text[160];
    demand(!invariants_are_watched || session_invariants_hold(engine, k, text, sizeof text), text);
}

void redlock_look_at_engine(const struct redlock *engine);
void redlock_look_at_engine(const struct redlock *engine)
{
    char text[160];
    demand(!invariants_are_watched || engine_invariants_hold(engine, text, sizeof text), text);
}

void redlock_is_broken(const char *file, int line, const char *condition);
void redlock_is_broken(const char *file, int line, const char *condition)
{
    fprintf(stderr, "# %s:%d: not so: %s\n", file, line, condition);
    abort();
}
