/* Counts events. A lock's start time and validity, which its events do not report, are kept in
 * slots, a hash table with open addressing, in which a lock that leaves makes room for
 * those after it. */
#include "metrics.h"

REDLOCK_STATIC_ASSERT((int)REDLOCK_METRICS_OUTCOMES == OUTCOME_ERROR + 1 &&
                          (int)REDLOCK_METRICS_VOTES == METRIC_LATE + 1,
                      "there is a counter of each");

const uint32_t *metrics_times(void)
{
    static const uint32_t us[REDLOCK_METRICS_TIMES] = {
        500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000,
        5000000, 10000000, 30000000, 60000000, 300000000
    };

    return us;
}

const uint32_t *metrics_trips(void)
{
    static const uint32_t us[REDLOCK_METRICS_TRIPS] = {
        100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000
    };

    return us;
}

const uint32_t *metrics_parts(void)
{
    static const uint32_t millionths[REDLOCK_METRICS_PARTS] = {
        50000, 100000, 200000, 330000, 500000, 660000, 800000, 900000, 1000000
    };

    return millionths;
}

static void observe(uint64_t *histogram, const uint32_t *ends, unsigned count, uint64_t value)
{
    unsigned i = 0;

    while (i < count && value > ends[i]) i++;
    histogram[i]++;
    histogram[count + 1] += value;
}

/* 0 if a clock has gone back. */
static uint64_t between(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

/* Twenty binary digits of the quotient, one after the other, since a division of 64 bits would be
 * 700 bytes on a small processor. */
static uint32_t millionths_of(uint64_t part, uint64_t whole)
{
    uint32_t digits = 0;

    if (part >= whole) return 1000000;
    for (unsigned i = 0; i < 20; i++) {
        part <<= 1;
        digits = digits << 1 | (part >= whole);
        if (part >= whole) part -= whole;
    }
    return (uint32_t)((uint64_t)digits * (1000000 >> 6) >> 14);
}

unsigned metrics_count_of(uint16_t nodes)
{
    unsigned count = 0;

    for (; nodes != 0; nodes = (uint16_t)(nodes & (nodes - 1))) count++;
    return count;
}

static enum metrics_outcome outcome_of(enum redlock_status status)
{
    switch (status) {
    case REDLOCK_OK:        return OUTCOME_OK;
    case REDLOCK_TAKEN:     return OUTCOME_TAKEN;
    case REDLOCK_NO_QUORUM: return OUTCOME_NO_QUORUM;
    case REDLOCK_TOO_LATE:  return OUTCOME_TOO_LATE;
    case REDLOCK_LOST:      return OUTCOME_LOST;
    case REDLOCK_TIMEOUT:   return OUTCOME_TIMEOUT;
    case REDLOCK_CANCELLED: return OUTCOME_CANCELLED;
    default:                return OUTCOME_ERROR;
    }
}

/* ---- Slots ---- */

/* The place where the search for it begins. */
REDLOCK_WRAPS static uint32_t home_of(const struct redlock_metrics *m,
                                      const struct redlock_lock *lock)
{
    uint32_t hash = (uint32_t)((uintptr_t)lock >> 3) * UINT32_C(2654435761);

    return (uint32_t)((uint64_t)hash * m->slot_count >> 32);
}

static uint32_t behind(const struct redlock_metrics *m, uint32_t at)
{
    return at + 1 < m->slot_count ? at + 1 : 0;
}

/* Its slot, or the free one where it would be. NULL: it has none, and all are in use. */
static struct redlock_metered *look_up(const struct redlock_metrics *m,
                                       const struct redlock_lock *lock)
{
    uint32_t at = home_of(m, lock);

    for (uint32_t i = 0; i < m->slot_count; i++, at = behind(m, at))
        if (m->slots[at].lock == lock || !m->slots[at].lock) return &m->slots[at];
    return NULL;
}

static struct redlock_metered *find(const struct redlock_metrics *m,
                                    const struct redlock_lock *lock)
{
    struct redlock_metered *slot = lock ? look_up(m, lock) : NULL;

    return slot && slot->lock ? slot : NULL;
}

/* A slot for a lock that has none. */
static struct redlock_metered *take_slot(const struct redlock_metrics *m,
                                         const struct redlock_lock *lock)
{
    struct redlock_metered *slot = look_up(m, lock);

    if (slot) {
        clear_bytes(slot, sizeof *slot);
        slot->lock = lock;
    }
    return slot;
}

/* True if the search for the lock at `from` passes the place at `to` before it finds it. */
static bool may_move(const struct redlock_metrics *m, uint32_t from, uint32_t to)
{
    uint32_t home = home_of(m, m->slots[from].lock);

    return to <= from ? home <= to || home > from : home <= to && home > from;
}

/* The locks after it that it has pushed on move up. */
static void remove_slot(struct redlock_metrics *m, const struct redlock_metered *slot)
{
    uint32_t hole = (uint32_t)(slot - m->slots), at = behind(m, hole);

    for (; at != hole && m->slots[at].lock; at = behind(m, at)) {
        if (!may_move(m, at, hole)) continue;
        m->slots[hole] = m->slots[at];
        hole = at;
        m->slots[at].lock = NULL;
    }
    m->slots[hole].lock = NULL;
}

/* ---- Votes ---- */

static void count_vote(struct redlock_metrics *m, struct redlock_metered *lock, unsigned k,
                       enum metrics_vote vote)
{
    if (lock && lock->voted >> k & 1) return;
    if (lock) lock->voted |= (uint16_t)(1u << k);
    m->votes[k][vote]++;
}

static void count_votes(struct redlock_metrics *m, struct redlock_metered *lock, unsigned nodes,
                        enum metrics_vote vote)
{
    for (unsigned k = 0; k < m->node_count; k++)
        if (nodes >> k & 1) count_vote(m, lock, k, vote);
}

/* A vote without an answer, since the node was not asked, or has not answered in time. */
static void count_silent_votes(struct redlock_metrics *m, struct redlock_metered *lock,
                               const struct redlock_event *event)
{
    if (!lock || !lock->is_voting) return;
    count_votes(m, lock, event->not_asked, METRIC_NOT_ASKED);
    count_votes(m, lock, event->unknown, METRIC_UNKNOWN);
}

/* The lock goes on, so answers that are missing from its last round are no votes
 * any longer (S8). */
static void end_voting(struct redlock_metrics *m, struct redlock_metered *lock)
{
    if (lock->is_voting) count_votes(m, lock, UINT16_MAX, METRIC_LATE);
    lock->is_voting = false;
    lock->voted = 0;
}

static void count_answer(struct redlock_metrics *m, struct redlock_metered *lock,
                         const struct redlock_event *event)
{
    bool is_asked =
        event->command == REDLOCK_COMMAND_ACQUIRE || event->command == REDLOCK_COMMAND_EXTEND;
    enum redlock_vote vote = event->as.message.vote;

    if (lock && event->command == REDLOCK_COMMAND_WAIT && event->as.message.number == -2)
        lock->woken |= (uint16_t)(1u << event->session);
    if (!is_asked || vote == REDLOCK_VOTE_PENDING) return;
    count_vote(m, lock, event->session,
               vote == REDLOCK_VOTE_GRANTED   ? METRIC_GRANTED
               : vote == REDLOCK_VOTE_REFUSED ? METRIC_REFUSED
                                              : METRIC_UNKNOWN);
}

/* ---- Nodes ---- */

static void begin_trip(struct redlock_metrics *m, const struct redlock_event *event)
{
    struct redlock_trip *trip = &m->nodes[event->session];

    if (trip->to_come > 0 || !event->lock) return;
    trip->to_come = event->as.message.to_come;
    trip->began_at = event->at_us;
}

static void end_trip(struct redlock_metrics *m, const struct redlock_event *event)
{
    struct redlock_trip *trip = &m->nodes[event->session];

    if (trip->to_come == 0 || --trip->to_come > 0) return;
    observe(m->trips[event->session], metrics_trips(), REDLOCK_METRICS_TRIPS,
            between(trip->began_at, event->at_us));
}

static void count_node(struct redlock_metrics *m, const struct redlock_event *event)
{
    struct redlock_trip *node = &m->nodes[event->session];

    node->to_come = 0;
    node->is_up = event->kind == REDLOCK_EVENT_READY;
    if (!node->is_up) return;
    if (event->as.is_new_server && node->was_met) m->restarts[event->session]++;
    node->was_met = true;
}

/* ---- Locks ---- */

static void end_hold(struct redlock_metrics *m, struct redlock_metered *lock, uint64_t at_us)
{
    if (!lock->is_held) return;
    lock->is_held = false;
    if (at_us > lock->valid_until) at_us = lock->valid_until;
    observe(m->holds, metrics_times(), REDLOCK_METRICS_TIMES, between(lock->held_at, at_us));
}

/* An extension that is under way has failed. */
static void lose(struct redlock_metrics *m, struct redlock_metered *lock, uint64_t at_us)
{
    if (lock->phase == REDLOCK_PHASE_EXTENDING && lock->failure == LOSS_EXPIRED)
        lock->failure = LOSS_NO_QUORUM;
    m->losses[lock->failure]++;
    end_hold(m, lock, at_us);
}

/* S10: nobody need report that. */
static void look_at_clock(struct redlock_metrics *m, struct redlock_metered *lock, uint64_t at_us)
{
    if (lock->is_held && at_us >= lock->valid_until) lose(m, lock, at_us);
}

static void forget(struct redlock_metrics *m, struct redlock_metered *lock, uint64_t at_us)
{
    end_hold(m, lock, at_us);
    end_voting(m, lock);
    remove_slot(m, lock);
}

static void forget_if_over(struct redlock_metrics *m, struct redlock_metered *lock, uint64_t at_us)
{
    bool is_busy = lock->phase != REDLOCK_PHASE_IDLE || lock->is_acquiring || lock->releasing;

    if (!is_busy && lock->owed == 0) forget(m, lock, at_us);
}

enum { RELEASING_HELD = 1, RELEASING_LOST = 2 };

static bool begins_to_acquire(const struct redlock_metered *lock, enum redlock_phase phase)
{
    return !lock->is_acquiring &&
           (phase == REDLOCK_PHASE_WAITING || phase == REDLOCK_PHASE_NEEDS_ENTROPY ||
            phase == REDLOCK_PHASE_ACQUIRING);
}

static void begin_round(struct redlock_metrics *m, struct redlock_metered *lock,
                        enum redlock_phase phase)
{
    bool is_heard = metrics_count_of(lock->woken) >= redlock_quorum(m->node_count);

    if (lock->phase == REDLOCK_PHASE_WAITING)
        m->wake_ups[is_heard ? WAKE_UP_HEARD : WAKE_UP_TIMER]++;
    end_voting(m, lock);
    lock->is_voting = phase != REDLOCK_PHASE_RELEASING;
    lock->woken = 0;
}

static void enter_phase(struct redlock_metrics *m, struct redlock_metered *lock,
                        const struct redlock_event *event)
{
    enum redlock_phase phase = event->as.phase.phase;

    if (begins_to_acquire(lock, phase)) {
        lock->is_acquiring = true;
        lock->failure = LOSS_EXPIRED;
        lock->began_at = event->at_us;
    }
    if (phase == REDLOCK_PHASE_ACQUIRING || phase == REDLOCK_PHASE_EXTENDING ||
        phase == REDLOCK_PHASE_RELEASING)
        begin_round(m, lock, phase);
    if (phase == REDLOCK_PHASE_RELEASING)
        lock->releasing = lock->is_held ? RELEASING_HELD : RELEASING_LOST;
    if (phase == REDLOCK_PHASE_RELEASING || phase == REDLOCK_PHASE_IDLE)
        end_hold(m, lock, event->at_us);
    lock->phase = (uint8_t)phase;
    forget_if_over(m, lock, event->at_us);
}

static void count_phase(struct redlock_metrics *m, struct redlock_metered *lock,
                        const struct redlock_event *event)
{
    enum redlock_phase phase = event->as.phase.phase;
    bool is_new = phase != REDLOCK_PHASE_IDLE && phase != REDLOCK_PHASE_INSPECTING;

    if (!lock && is_new) lock = take_slot(m, event->lock);
    if (lock)                                      enter_phase(m, lock, event);
    else if (is_new && event->command != REDLOCK_COMMAND_NONE) m->untracked_rounds++;
}

static void hold(struct redlock_metered *lock, const struct redlock_event *event)
{
    uint64_t until = event->at_us + event->as.verdict.validity_us;

    if (!lock->is_held) lock->held_at = event->at_us;
    if (!lock->is_held || lock->valid_until < until) lock->valid_until = until;
    lock->is_held = true;
    lock->failure = LOSS_EXPIRED;
}

static void count_extension(struct redlock_metrics *m, struct redlock_metered *lock,
                            const struct redlock_event *event)
{
    const struct redlock_event_verdict *verdict = &event->as.verdict;

    m->extensions[outcome_of(verdict->status)]++;
    if (!lock || !lock->is_held) return;
    observe(
        m->parts_left, metrics_parts(), REDLOCK_METRICS_PARTS,
        millionths_of(between(event->at_us, lock->valid_until), (uint64_t)verdict->ttl_ms * 1000));
    lock->failure = verdict->status == REDLOCK_TAKEN ? LOSS_REFUSED : LOSS_NO_QUORUM;
}

/* Until it is held, the reason why the last attempt was lost. */
static void count_attempt(struct redlock_metrics *m, struct redlock_metered *lock,
                          enum redlock_status status)
{
    m->attempts[outcome_of(status)]++;
    if (lock) lock->failure = status == REDLOCK_NO_QUORUM ? LOSS_NO_QUORUM : LOSS_EXPIRED;
}

static void count_verdict(struct redlock_metrics *m, struct redlock_metered *lock,
                          const struct redlock_event *event)
{
    const struct redlock_event_verdict *verdict = &event->as.verdict;

    count_silent_votes(m, lock, event);
    if (event->command == REDLOCK_COMMAND_ACQUIRE) count_attempt(m, lock, verdict->status);
    else                                           count_extension(m, lock, event);
    if (verdict->ticket > 0) m->ticket = verdict->ticket;
    if (verdict->status == REDLOCK_OK && !lock) lock = take_slot(m, event->lock);
    if (verdict->status == REDLOCK_OK && lock)  hold(lock, event);
}

static void end_release(struct redlock_metrics *m, struct redlock_metered *lock,
                        const struct redlock_event *event)
{
    bool is_confirmed = metrics_count_of(event->granted) >= redlock_quorum(m->node_count);

    if (event->as.status == REDLOCK_LOST) {
        m->releases[RELEASE_LOST]++;
        if (lock->releasing == RELEASING_HELD) m->losses[LOSS_REFUSED]++;
    } else {
        m->releases[is_confirmed ? RELEASE_CONFIRMED : RELEASE_OWED]++;
    }
    lock->releasing = 0;
}

/* Other events report the end of keeping, or of an extension. */
static void count_end(struct redlock_metrics *m, struct redlock_metered *lock,
                      const struct redlock_event *event)
{
    enum redlock_status status = event->as.status;
    bool lacks_votes = lock && status == REDLOCK_TIMEOUT && lock->failure == LOSS_NO_QUORUM;

    if (!lock) return;
    if (event->command == REDLOCK_COMMAND_ACQUIRE || event->command == REDLOCK_COMMAND_EXTEND)
        count_silent_votes(m, lock, event);
    if (lock->is_acquiring)
        observe(m->acquires[outcome_of(lacks_votes ? REDLOCK_NO_QUORUM : status)],
                metrics_times(), REDLOCK_METRICS_TIMES, between(lock->began_at, event->at_us));
    lock->is_acquiring = false;
    if (lock->releasing) end_release(m, lock, event);
    forget_if_over(m, lock, event->at_us);
}

static void set_owed(struct redlock_metrics *m, struct redlock_metered *lock,
                     const struct redlock_event *event)
{
    uint16_t bit = (uint16_t)(1u << event->session);

    if (!lock) return;
    if (event->kind == REDLOCK_EVENT_OWED) lock->owed |= bit;
    else                                   lock->owed &= (uint16_t)~bit;
    forget_if_over(m, lock, event->at_us);
}

static void move(struct redlock_metrics *m, const struct redlock_event *event)
{
    struct redlock_metered *from, *to = find(m, event->lock), moved;

    if (to) remove_slot(m, to);
    from = find(m, event->as.was);
    if (!from) return;
    moved = *from;
    moved.lock = event->lock;
    remove_slot(m, from);
    *look_up(m, event->lock) = moved;
}

/* ---- The public calls ---- */

static bool is_about_node(const struct redlock_event *event)
{
    return event->kind == REDLOCK_EVENT_READY || event->kind == REDLOCK_EVENT_DISCONNECTED ||
           event->kind == REDLOCK_EVENT_SENT || event->kind == REDLOCK_EVENT_HEARD ||
           event->kind == REDLOCK_EVENT_UNANSWERED;
}

/* Operations under way are not known any longer. */
static void forget_all(struct redlock_metrics *m)
{
    for (uint32_t i = 0; i < m->slot_count; i++) m->slots[i].lock = NULL;
    for (unsigned k = 0; k < m->node_count; k++) m->nodes[k].to_come = 0;
}

void redlock_metrics_change(struct redlock_metrics *m, const struct redlock *r)
{
    forget_all(m);
    m->lost_seen = 0;
    for (unsigned k = 0; k < m->node_count; k++) {
        m->nodes[k].was_met = r && redlock_view_node(r, k, r->now_us).run_id != NULL;
        m->nodes[k].is_up = m->nodes[k].was_met && (redlock_wants(r, k) & REDLOCK_WANT_RECEIVE);
    }
}

void redlock_metrics_init(struct redlock_metrics *m, const struct redlock *r,
                          struct redlock_metered *slots, size_t slot_count)
{
    clear_bytes(m, sizeof *m);
    m->slots = slots;
    m->slot_count = (uint32_t)slot_count;
    m->node_count = (uint8_t)r->node_count;
    redlock_metrics_change(m, r);
}

void redlock_metrics_count(struct redlock_metrics *m, const struct redlock_event *event)
{
    struct redlock_metered *lock = find(m, event->lock);

    if (is_about_node(event) && event->session >= m->node_count) return;     /* A subscription. */
    if (lock) look_at_clock(m, lock, event->at_us);
    if (event->kind == REDLOCK_EVENT_HEARD) end_trip(m, event);
    switch (event->kind) {
    case REDLOCK_EVENT_SENT:         begin_trip(m, event); break;
    case REDLOCK_EVENT_HEARD:
    case REDLOCK_EVENT_UNANSWERED:   count_answer(m, lock, event); break;
    case REDLOCK_EVENT_READY:
    case REDLOCK_EVENT_DISCONNECTED: count_node(m, event); break;
    case REDLOCK_EVENT_PHASE:        count_phase(m, lock, event); break;
    case REDLOCK_EVENT_VERDICT:      count_verdict(m, lock, event); break;
    case REDLOCK_EVENT_OWED:
    case REDLOCK_EVENT_CLEARED:      set_owed(m, lock, event); break;
    case REDLOCK_EVENT_WOKEN:
        if (lock) lock->woken |= (uint16_t)(1u << event->session);
        break;
    case REDLOCK_EVENT_ENDED:        count_end(m, lock, event); break;
    case REDLOCK_EVENT_MOVED:        move(m, event); break;
    case REDLOCK_EVENT_FORGOTTEN:    if (lock) forget(m, lock, event->at_us); break;
    default:                         break;
    }
}

void redlock_metrics_give_up(struct redlock_metrics *m, const struct redlock_lock *lock,
                             uint64_t now_us)
{
    struct redlock_metered *metered = find(m, lock);

    if (metered && metered->is_held) lose(m, metered, now_us);
}

void redlock_metrics_lost(struct redlock_metrics *m, uint64_t lost)
{
    if (lost == m->lost_seen) return;
    /* Otherwise it is another ring. */
    m->lost_events += lost - (lost > m->lost_seen ? m->lost_seen : 0);
    m->lost_seen = lost;
    forget_all(m);
}
