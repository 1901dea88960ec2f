#include "waiter.h"

#include "events.h"
#include "names.h"
#include "native.h"
#include "queue.h"
#include "quorum.h"
#include "random.h"
#include "retry.h"

enum {
    PATIENCE_MAX = 5,       /* The pause between two attempts is doubled this often at most. */
    /* Subscriptions stay open this long after the last lock that lined up. */
    LISTEN_MS = 10000,
    /* A woken client gets this many times the last round's duration to take the lock. */
    YIELD_ROUNDS = 3
};

static bool has_name(const struct redlock *r)
{
    for (unsigned i = 0; i < REDLOCK_NAME_SIZE; i++)
        if (r->name[i] != 0) return true;
    return false;
}

static bool draw_name(struct redlock *r)
{
    REDLOCK_ASSERT(r->config.wake_ups);
    if (!has_name(r) && !draw_random(r, r->name, sizeof r->name)) return false;
    return has_name(r);
}

static bool is_open(const struct redlock *r, unsigned k)
{
    REDLOCK_ASSERT(k < r->node_count);
    return r->nodes[r->node_count + k].state == NODE_READY;
}

static const struct redlock_waiting *waiting_of(const struct redlock_lock *lock)
{
    static const struct redlock_waiting as_a_plain_lock = { .can_be_called = NULL };

    return lock->kind->waiting ? lock->kind->waiting : &as_a_plain_lock;
}

/* By the wall clock, or by its kind's order. */
static bool can_be_called(const struct redlock_lock *lock)
{
    const struct redlock_waiting *waiting = waiting_of(lock);

    return waiting->can_be_called ? waiting->can_be_called(lock) : lock->line.arrived_at != 0;
}

/* Opens the subscriptions, or keeps them open until its next attempt, for a lock that can wait. */
static bool begin_listening(struct redlock *r, struct redlock_lock *lock)
{
    if (!r->config.wake_ups || !can_be_called(lock) || !draw_name(r)) return false;
    REDLOCK_ASSERT(lock->wait_until != 0);      /* Otherwise nobody could call it. */
    r->listen_until =
        later(r->listen_until, later(lock->retry_at, r->now_us + (uint64_t)LISTEN_MS * 1000));
    /* Once more after 2^32 of them. */
    while (lock->wait_number == 0) lock->wait_number = ++r->wait_count;
    REDLOCK_ASSERT(has_name(r) && r->listen_until >= lock->retry_at);
    REDLOCK_ASSERT(lock->wait_number != 0);
    return true;
}

static void waiter_line_up(struct redlock *r, struct redlock_lock *lock, unsigned k)
{
    bool wants_entries = lock->wait_number != 0 && !lock->kind->keeps_place &&
                         lock->line.arrived_at != 0 && !lock->is_yielding;

    if (!wants_entries || !is_open(r, k) || r->nodes[k].state != NODE_READY) return;
    if (native_is(&r->nodes[k])) return;        /* It is a script's work. */
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING && lock->stakes[k].state == STAKE_NONE);
    /* It asks when the channel's subscription is confirmed. */
    if (waiting_of(lock)->listen) {
        waiting_of(lock)->listen(r, lock, k);
        return;
    }
    /* Perhaps by the script's text. */
    if (lock->stakes[k].want == REDLOCK_COMMAND_WAIT) return;
    REDLOCK_ASSERT(lock->stakes[k].want == REDLOCK_COMMAND_NONE ||
                   lock->stakes[k].want == REDLOCK_COMMAND_PTTL);
    lock->asking &= (uint16_t)~bit_of(k);
    stake_want(r, lock, k, REDLOCK_COMMAND_WAIT);
    REDLOCK_ASSERT(has_name(r) && lock->stakes[k].want == REDLOCK_COMMAND_WAIT);
}

static void line_up_everywhere(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING);
    for (unsigned k = 0; k < r->node_count; k++)
        if (lock->stakes[k].state == STAKE_NONE) waiter_line_up(r, lock, k);
}

/* True if it must be found by its number, if it has one. A lock that keeps its place must also be
 * found while it polls, since a node that called it meanwhile calls nobody again. */
static bool is_called(const struct redlock_lock *lock)
{
    return lock->phase == REDLOCK_PHASE_WAITING ||
           (lock->phase == REDLOCK_PHASE_ACQUIRING && lock->kind->keeps_place);
}

static void waiter_enlist(struct redlock *r, struct redlock_lock *lock)
{
    if (is_called(lock) && lock->wait_number != 0) number_add(&r->listening, lock);
    REDLOCK_ASSERT(!is_called(lock) || lock->wait_number == 0 ||
                   number_find(r->listening, lock->wait_number));
}

static void waiter_leave(struct redlock *r, struct redlock_lock *lock)
{
    if (lock->phase == REDLOCK_PHASE_WAITING && waiting_of(lock)->unlisten)
        waiting_of(lock)->unlisten(r, lock);
    number_remove(&r->listening, lock);
    REDLOCK_ASSERT(lock->wait_number == 0 || number_find(r->listening, lock->wait_number) != lock);
}

static void waiter_move(struct redlock *r, struct redlock_lock *to)
{
    waiter_enlist(r, to);
    if (to->phase == REDLOCK_PHASE_WAITING && waiting_of(to)->listen) line_up_everywhere(r, to);
}

static void wait_for_turn(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING && queue_holds(lock, SLOT_DONE));
    (void)begin_listening(r, lock);     /* Without a number it only waits. */
    waiter_enlist(r, lock);
    line_up_everywhere(r, lock);
}

static bool is_brief(const struct redlock_lock *lock)
{
    return waiting_of(lock)->is_brief && waiting_of(lock)->is_brief(lock);
}

static void waiter_begin(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING && !lock->is_corrected &&
                   !lock->is_yielding);
    retry_expect_votes(r, lock);
    if (is_brief(lock)) waiter_enlist(r, lock);     /* It tries again at once, by itself. */
    else                wait_for_turn(r, lock);
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING && lock_queue(r, lock) == &r->waiting);
}

/* A node that is not there, or not yet, may appear at any moment. A node that reports its trouble
 * keeps it for longer. */
static bool is_away(const struct redlock_node *node)
{
    bool is_unheard = node->trouble <= REDLOCK_TROUBLE_SILENT;

    return is_unheard || wire_begins(node->error, sizeof node->error, "LOADING ") > 0;
}

/* Without a connected quorum nobody can get a lock, and everybody waits for connections. A wake-up
 * is of no use then. */
static unsigned waiter_failures_max(const struct redlock *r, unsigned session)
{
    unsigned ready = 0;

    if (session >= r->node_count || !is_away(&r->nodes[session])) return NODE_FAILURES_MAX;
    for (unsigned k = 0; k < r->node_count; k++) ready += r->nodes[k].state == NODE_READY;
    return ready < quorum_of(r->node_count) ? NODE_FAILURES_HURRIED : NODE_FAILURES_MAX;
}

static void votes_change(struct redlock *r)
{
    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING && lock_queue(r, lock) == &r->waiting);
        retry_expect_votes(r, lock);
        lock_reschedule(r, lock);
    }
}

static void waiter_give_back(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->entries != 0 && lock->wait_number != 0);
    if (waiting_of(lock)->listen) lock->entries = 0;      /* It had no entries on the nodes. */
    for (unsigned k = 0; k < r->node_count; k++)
        if (has_entry(lock, k) && lock->stakes[k].state == STAKE_NONE) stake_owe(r, lock, k);
    lock->owed_until = later(lock->owed_until, timeout_at(r));
    REDLOCK_ASSERT(lock->owed_until >= timeout_at(r));
}

static void waiter_keep_entry(struct redlock_lock *lock, unsigned k)
{
    if (lock->wait_number != 0 && !lock->kind->keeps_place) lock->entries |= bit_of(k);
}

static void waiter_has_woken(struct redlock_lock *lock)
{
    lock->yields_to = names_hash(lock);
    REDLOCK_ASSERT(lock->yields_to != 0);
}

/* The pause is doubled so often, but not beyond the life of the entries among the waiters and of
 * the hint that a writer waits, which each attempt renews. */
static uint64_t longer_pause_us(const struct redlock *r, uint64_t pause_us, unsigned doublings)
{
    REDLOCK_ASSERT(doublings <= PATIENCE_MAX);
    while (doublings > 0 && r->config.retry_ms << doublings > WIRE_WRITER_LIFE_MS / 2) doublings--;
    REDLOCK_ASSERT(pause_us << doublings >> doublings == pause_us);
    return pause_us << doublings;
}

static uint64_t waiter_lengthen(const struct redlock *r, struct redlock_lock *lock,
                                uint64_t pause_us)
{
    bool has_entries = round_count(lock->entries) >= quorum_of(r->node_count);
    uint64_t longer_us = longer_pause_us(r, pause_us, has_entries ? lock->refusals : 0);

    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_ACQUIRING && lock->refusals <= PATIENCE_MAX);
    if (lock->refusals < PATIENCE_MAX) lock->refusals++;
    REDLOCK_ASSERT(longer_us >= pause_us);      /* S14 */
    return longer_us;
}

/* Stays silent for one round, so that the woken client can take the lock while the nodes and the
 * machine have nothing else to do. */
static bool waiter_yield(struct redlock *r, struct redlock_lock *lock)
{
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_IDLE);
    if (lock->yields_to != names_hash(lock)) lock->refusals = 0;
    if (lock->yields_to != names_hash(lock) || lock->kind->keeps_place) return false;
    /* Closed subscriptions open meanwhile, if it has never waited. */
    if (!begin_listening(r, lock)) return false;
    lock->is_yielding = true;
    lock->attempt_status = REDLOCK_TAKEN;
    lock->retry_at = sooner(r->now_us + retry_round_us(lock), lock->wait_until);
    for (unsigned k = 0; k < r->node_count; k++) lock->stakes[k].holder_ms = REDLOCK_UNTOLD;
    retry_wait(r, lock);
    wait_for_turn(r, lock);
    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING && lock->retry_at <= lock->wait_until);
    return true;
}

static void stop_yielding(struct redlock *r, struct redlock_lock *lock)
{
    uint64_t pause_us = longer_pause_us(r, retry_pause_us(r), lock->refusals);

    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING && lock->is_yielding);
    lock->is_yielding = false;
    lock->retry_at =
        sooner(r->now_us + YIELD_ROUNDS * retry_round_us(lock) + pause_us, lock->wait_until);
    line_up_everywhere(r, lock);
    REDLOCK_ASSERT(lock->retry_at <= lock->wait_until);
}

static bool waiter_tick(struct redlock *r, struct redlock_lock *lock)
{
    bool begins = !lock->is_yielding || lock_is_woken(r, lock);

    REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING && r->now_us >= lock->retry_at);
    if (!lock_is_woken(r, lock) && waiting_of(lock)->not_called) waiting_of(lock)->not_called(lock);
    REDLOCK_ASSERT(lock->retry_at <= lock->wait_until || lock->is_corrected);
    if (!begins)                       stop_yielding(r, lock);
    else if (!lock->kind->keeps_place) waiter_leave(r, lock);
    REDLOCK_ASSERT(begins || !lock->is_yielding);
    return begins;
}

/* True if node k refused the last attempt because somebody had the resource. If not, a free
 * resource is no news. The next attempt would fail for the same reason (no vote, an error, the
 * ticket), and, begun at once, so would the one after that. */
static bool was_taken(const struct redlock *r, const struct redlock_lock *lock,
                      const struct answer *a)
{
    REDLOCK_ASSERT(a->current && lock->phase == REDLOCK_PHASE_WAITING);
    return round_vote_of(&lock->round, a->k) == REDLOCK_VOTE_REFUSED &&
           (!kind_row(r, lock, KIND_ACQUIRE)->read_refusal || (lock->taken & bit_of(a->k)));
}

/* Node k reports that it is the lock's turn. */
static void be_woken(struct redlock_lock *lock, unsigned k, uint8_t slot)
{
    REDLOCK_ASSERT(is_called(lock));
    if (waiting_of(lock)->called) waiting_of(lock)->called(lock, slot);
    lock->woken |= bit_of(k);
    REDLOCK_ASSERT(lock->permit.slot <= lock->permit.count);
}

/* The entry was taken when the resource was free already, since the release came before it. An
 * entry that is to be taken anew is first asked for without the script. A release that is on its
 * way gives back the entry of a wait that was cancelled, and so the answer is of that one, although
 * no round was between. */
static void waiter_answer(struct redlock *r, const struct answer *a)
{
    struct redlock_lock *lock = a->lock;
    bool is_waiting = a->current && lock->phase == REDLOCK_PHASE_WAITING &&
                      lock->stakes[a->k].state != STAKE_LEAVING &&
                      lock->stakes[a->k].want == REDLOCK_COMMAND_NONE;

    REDLOCK_ASSERT(a->command == REDLOCK_COMMAND_WAIT && r->config.wake_ups);
    if (is_waiting && stake_sends_text(r, a)) return;
    if (a->meaning == REDLOCK_ANSWER_ERROR) lock->entries &= (uint16_t)~bit_of(a->k);
    if (a->meaning != REDLOCK_ANSWER_GRANTED || !a->current || lock->phase != REDLOCK_PHASE_WAITING)
        return;
    REDLOCK_ASSERT(lock->wait_number != 0 && lock->line.arrived_at != 0);
    lock->stakes[a->k].holder_ms = retry_ms_of(a->reply->integer);
    if (a->reply->integer == -2 && was_taken(r, lock, a)) be_woken(lock, a->k, 0);
    retry_hurry(r, lock);
}

/* Both lines to the node are needed to wait there, and either may come last. */
static void waiter_stands(struct redlock *r, unsigned session)
{
    unsigned k = session < r->node_count ? session : session - r->node_count;

    REDLOCK_ASSERT(r->nodes[session].state == NODE_READY && k < r->node_count);
    if (session < r->node_count) votes_change(r);
    for (struct redlock_lock *lock = r->waiting.first; lock; lock = lock->links[SLOT_DONE].next) {
        REDLOCK_ASSERT(lock->phase == REDLOCK_PHASE_WAITING);
        if (lock->stakes[k].state == STAKE_NONE) waiter_line_up(r, lock, k);
    }
}

/* Its entry is gone, but another one may be there, for another of its resources or taken since. All
 * of them will be given back. */
static void hear_turn(struct redlock *r, unsigned k, uint32_t wait_number, uint8_t slot)
{
    struct redlock_lock *lock = number_find(r->listening, wait_number);

    if (!lock) return;
    REDLOCK_ASSERT(is_called(lock) && lock->wait_number == wait_number);
    be_woken(lock, k, slot);
    event_note(r, lock, REDLOCK_EVENT_WOKEN, k);
    retry_hurry(r, lock);
    lock_reschedule(r, lock);
    REDLOCK_ASSERT(lock->woken & bit_of(k));
}

/* S16: a subscription hears entries whose turn it is, on its own channel, messages of a kind's
 * channel, and nothing else. */
static void waiter_heard(struct redlock *r, unsigned k, const struct wire_reply *reply)
{
    size_t before = wire_before_wake_up(reply);
    struct wire_reply message = *reply;
    uint32_t wait_number;
    uint8_t slot;

    REDLOCK_ASSERT(k < r->node_count && r->nodes[r->node_count + k].is_subscription);
    REDLOCK_ASSERT(has_name(r));        /* The name of its channel. */
    message.text += before;
    message.text_size -= before;
    if (before > 0 && wire_read_wake_up(&message, &wait_number, &slot))
        hear_turn(r, k, wait_number, slot);
    else if (!r->hear_channel || !r->hear_channel(r, k, reply))
        node_give_up_for(&r->nodes[r->node_count + k], REDLOCK_TROUBLE_PROTOCOL, REASON_NO_WAKE_UP);
}

const struct redlock_waking *waiter_feature(void)
{
    static const struct redlock_waking feature = {
        .begin = waiter_begin, .has_woken = waiter_has_woken, .yield = waiter_yield,
        .tick = waiter_tick, .leave = waiter_leave, .move = waiter_move, .line_up = waiter_line_up,
        .answer = waiter_answer, .lengthen = waiter_lengthen, .give_back = waiter_give_back,
        .keep_entry = waiter_keep_entry, .failures_max = waiter_failures_max,
        .stands = waiter_stands, .hear = waiter_heard
    };

    return &feature;
}
