#include "events.h"

#include "round.h"

void event_note(const struct redlock *r, const struct redlock_lock *lock,
                enum redlock_event_kind kind, unsigned detail)
{
    if (r->events) r->events->feature->note(r, lock, kind, detail);
}

/* The next place of the ring. NULL: it is full. The oldest events stay, so that a reader finds
 * holes only at the end. */
static struct redlock_event *take_place(struct redlock_event_ring *events)
{
    size_t at = events->first + events->count;

    if (events->count == events->size) {
        events->lost++;
        return NULL;
    }
    events->count++;
    return &events->ring[at < events->size ? at : at - events->size];
}

bool event_is_wanted(const struct redlock *r, enum redlock_event_kind kind)
{
    return r->events->kinds & REDLOCK_EVENT_BIT(kind);
}

struct redlock_event *event_begin(const struct redlock *r, const struct redlock_lock *lock,
                                  enum redlock_event_kind kind, unsigned session)
{
    struct redlock_event *event = event_is_wanted(r, kind) ? take_place(r->events) : NULL;

    if (event)
        *event = (struct redlock_event){
            .at_us = r->now_us, .lock = lock, .kind = kind, .session = (uint8_t)session,
            .round = lock ? lock->round.number : 0
        };
    return event;
}

void event_add_votes(struct redlock_event *event, const struct redlock_round *round)
{
    event->granted = round->granted;
    event->refused = round->refused;
    event->unknown = round->unknown;
    event->not_asked = round->not_asked;
}

/* Its command, and the vote of each node. */
static void add_round(struct redlock_event *event, const struct redlock_round *round)
{
    event->command = (enum redlock_command)round->command;
    event_add_votes(event, round);
}

REDLOCK_WRAPS static void add_verdict(struct redlock_event *event, const struct redlock_lock *lock,
                                      enum redlock_status status, uint64_t now_us)
{
    event->as.verdict = (struct redlock_event_verdict){
        .status = status, .ttl_ms = lock->round.ttl_ms, .drift_us = lock->round.drift_us,
        .elapsed_us = now_us - lock->round.started_at,
        .validity_us = round_validity_us(&lock->round, now_us),
        .ticket = lock->has_ticket && status == REDLOCK_OK ? lock->ticket : 0
    };
}

static bool begins_round(enum redlock_phase phase)
{
    return phase == REDLOCK_PHASE_ACQUIRING || phase == REDLOCK_PHASE_EXTENDING ||
           phase == REDLOCK_PHASE_RELEASING || phase == REDLOCK_PHASE_INSPECTING;
}

static void add_phase(struct redlock_event *event, const struct redlock_round *round,
                      enum redlock_phase phase)
{
    event->as.phase = (struct redlock_event_phase){ .phase = phase };
    if (begins_round(phase)) {
        event->command = (enum redlock_command)round->command;
        event->as.phase.ttl_ms = round->ttl_ms;
        event->as.phase.drift_us = round->drift_us;
    }
}

/* The facts about a lock. */
static void add_note(struct redlock_event *event, const struct redlock_lock *lock, unsigned detail,
                     uint64_t now_us)
{
    switch (event->kind) {
    case REDLOCK_EVENT_PHASE:
        add_phase(event, &lock->round, (enum redlock_phase)detail);
        break;
    case REDLOCK_EVENT_VERDICT:
        add_round(event, &lock->round);
        add_verdict(event, lock, (enum redlock_status)detail, now_us);
        break;
    case REDLOCK_EVENT_ENDED:
        add_round(event, &lock->round);
        event->as.status = (enum redlock_status)detail;
        break;
    case REDLOCK_EVENT_FORGOTTEN: break;
    default:                    event->session = (uint8_t)detail; break;
    }
}

static void add_session(struct redlock_event *event, const struct redlock_node *node,
                        uint64_t now_us)
{
    switch (event->kind) {
    case REDLOCK_EVENT_READY: event->as.is_new_server = node->met_at == now_us; break;
    case REDLOCK_EVENT_DISCONNECTED:
        event->as.trouble = (enum redlock_trouble)node->trouble;
        break;
    default: break;
    }
}

void event_write_note(const struct redlock *r, const struct redlock_lock *lock,
                      enum redlock_event_kind kind, unsigned detail)
{
    struct redlock_event *event = event_begin(r, lock, kind, lock ? REDLOCK_NO_SESSION : detail);

    if (!event) return;
    if (lock) add_note(event, lock, detail, r->now_us);
    else      add_session(event, &r->nodes[detail], r->now_us);
}

void event_write_moved(const struct redlock *r, const struct redlock_lock *to,
                       const struct redlock_lock *from)
{
    struct redlock_event *event = event_begin(r, to, REDLOCK_EVENT_MOVED, REDLOCK_NO_SESSION);

    if (event) event->as.was = from;
}

bool redlock_next_event(struct redlock_event_ring *events, struct redlock_event *event)
{
    if (events->count == 0) return false;
    *event = events->ring[events->first];
    events->first = events->first + 1 < events->size ? events->first + 1 : 0;
    events->count--;
    /* The same places are used again, since they are in the cache. */
    if (events->count == 0) events->first = 0;
    return true;
}
