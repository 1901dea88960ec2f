#include "events.h"

#include "round.h"

REDLOCK_STATIC_ASSERT((int)REDLOCK_COMMAND_NONE == (int)WIRE_NONE && (int)REDLOCK_COMMAND_AUTH == (int)WIRE_AUTH &&
                      (int)REDLOCK_COMMAND_SELECT == (int)WIRE_SELECT && (int)REDLOCK_COMMAND_SETNAME == (int)WIRE_SETNAME &&
                      (int)REDLOCK_COMMAND_INFO == (int)WIRE_INFO && (int)REDLOCK_COMMAND_ROLE == (int)WIRE_ROLE &&
                      (int)REDLOCK_COMMAND_LOAD_RELEASE == (int)WIRE_LOAD_RELEASE &&
                      (int)REDLOCK_COMMAND_LOAD_EXTEND == (int)WIRE_LOAD_EXTEND &&
                      (int)REDLOCK_COMMAND_SUBSCRIBE == (int)WIRE_SUBSCRIBE, "an event's command of the handshake is that of wire.h");
REDLOCK_STATIC_ASSERT((int)REDLOCK_COMMAND_ACQUIRE == (int)WIRE_ACQUIRE && (int)REDLOCK_COMMAND_RESTORE == (int)WIRE_RESTORE &&
                      (int)REDLOCK_COMMAND_EXTEND == (int)WIRE_EXTEND && (int)REDLOCK_COMMAND_RELEASE == (int)WIRE_RELEASE &&
                      (int)REDLOCK_COMMAND_WAIT == (int)WIRE_WAIT && (int)REDLOCK_COMMAND_PTTL == (int)WIRE_PTTL &&
                      (int)REDLOCK_COMMAND_GETRANGE == (int)WIRE_GETRANGE &&
                      (int)REDLOCK_COMMAND_QUESTION == (int)WIRE_QUESTION, "an event's command is that of wire.h");
REDLOCK_STATIC_ASSERT((int)REDLOCK_ANSWER_GRANTED == (int)WIRE_GRANTED && (int)REDLOCK_ANSWER_REFUSED == (int)WIRE_REFUSED &&
                      (int)REDLOCK_ANSWER_ERROR == (int)WIRE_ERROR && (int)REDLOCK_ANSWER_WRONG == (int)WIRE_WRONG,
                      "an event's answer is that of wire.h");

void event_note(const struct redlock *r, const struct redlock_lock *lock, enum redlock_event_kind kind, unsigned detail)
{
    if (r->events) r->events->part->note(r, lock, kind, detail);
}

/* When the ring is full the oldest stay, so that what is read has no holes but at its end. */
static void write_event(struct redlock_event_ring *events, const struct redlock_event *event)
{
    if (events->count == events->size) {
        events->lost++;
        return;
    }
    events->ring[(events->first + events->count) % events->size] = *event;
    events->count++;
}

static struct redlock_event begin_event(const struct redlock *r, const struct redlock_lock *lock, enum redlock_event_kind kind,
                                        unsigned session)
{
    return (struct redlock_event){ .at_us = r->now_us, .lock = lock, .kind = kind, .session = (uint8_t)session,
                                   .round = lock ? lock->round.number : 0 };
}

/* The arithmetic of a verdict: validity = ttl - elapsed - drift, and who voted how. */
REDLOCK_WRAPS static void add_arithmetic(struct redlock_event *event, const struct redlock_round *round, uint64_t now_us)
{
    event->command = (enum redlock_command)round->command;
    event->ttl_ms = round->ttl_ms;
    event->elapsed_us = now_us - round->started_at;
    event->drift_us = round->drift_us;
    event->validity_us = round_validity_us(round, now_us);
    event->granted = round->granted;
    event->refused = round->refused;
    event->unknown = round->unknown;
    event->not_asked = round->not_asked;
}

static void write_note(const struct redlock *r, const struct redlock_lock *lock, enum redlock_event_kind kind, unsigned detail)
{
    struct redlock_event event = begin_event(r, lock, kind, lock ? REDLOCK_NO_SESSION : detail);

    switch (kind) {
    case REDLOCK_EVENT_OWED:
    case REDLOCK_EVENT_CLEARED:
    case REDLOCK_EVENT_WOKEN:        event.session = (uint8_t)detail; break;
    case REDLOCK_EVENT_DISCONNECTED: event.trouble = (enum redlock_trouble)r->nodes[detail].trouble; break;
    case REDLOCK_EVENT_READY:        event.is_new_server = r->nodes[detail].has_run_id && r->nodes[detail].met_at == r->now_us; break;
    case REDLOCK_EVENT_PHASE:        event.phase = (enum redlock_phase)detail; break;
    case REDLOCK_EVENT_VERDICT:
        REDLOCK_CHECK(lock);
        add_arithmetic(&event, &lock->round, r->now_us);
        event.status = (enum redlock_status)detail;
        break;
    case REDLOCK_EVENT_ENDED:        event.status = (enum redlock_status)detail; break;
    default:                         break;
    }
    write_event(r->events, &event);
}

/* Is an answer to that a vote on the round under way, or the last one (S8)? */
static bool is_voting(const struct redlock_asked *asked)
{
    return asked->lock && asked->round == asked->lock->round.number && asked->command == asked->lock->round.command;
}

static void write_sent(const struct redlock *r, unsigned k, unsigned before)
{
    const struct redlock_node *node = &r->nodes[k];

    for (unsigned i = before; i < node->asked_count; i++) {
        unsigned at = (node->asked_first + i) % r->config.pipeline;
        struct redlock_event event = begin_event(r, node->asked[at].lock, REDLOCK_EVENT_SENT, k);
        event.command = (enum redlock_command)node->asked[at].command;
        event.with_text = node->asked[at].eval;
        write_event(r->events, &event);
    }
}

static enum redlock_vote vote_by(enum redlock_answer answer)
{
    return answer == REDLOCK_ANSWER_GRANTED   ? REDLOCK_VOTE_GRANTED
           : answer == REDLOCK_ANSWER_REFUSED ? REDLOCK_VOTE_REFUSED
                                              : REDLOCK_VOTE_UNKNOWN;
}

static void read_answer(struct redlock_event *event, const struct redlock_asked *asked, const struct wire_reply *reply)
{
    if (asked->command == WIRE_QUESTION || asked->command == WIRE_NONE) return;
    event->answer = (enum redlock_answer)wire_read(asked, reply);
    if (event->answer == REDLOCK_ANSWER_ERROR) event->trouble = wire_trouble(reply->text, reply->text_size);
}

static void write_heard(const struct redlock *r, unsigned k, const struct redlock_asked *asked, const struct wire_reply *reply)
{
    struct redlock_event event = begin_event(r, asked->lock, reply ? REDLOCK_EVENT_HEARD : REDLOCK_EVENT_UNANSWERED, k);

    event.command = (enum redlock_command)asked->command;
    event.with_text = asked->eval;
    if (reply) read_answer(&event, asked, reply);
    if (is_voting(asked)) event.vote = reply ? vote_by(event.answer) : REDLOCK_VOTE_UNKNOWN;
    write_event(r->events, &event);
}

void redlock_use_events(struct redlock *r, struct redlock_event_ring *events, struct redlock_event *ring, size_t count)
{
    static const struct redlock_eventing part = { .note = write_note, .sent = write_sent, .heard = write_heard };

    if (events) *events = (struct redlock_event_ring){ .part = &part, .ring = ring, .size = count };
    r->events = events;
}

bool redlock_next_event(struct redlock_event_ring *events, struct redlock_event *event)
{
    if (events->count == 0) return false;
    *event = events->ring[events->first];
    events->first = (events->first + 1) % events->size;
    events->count--;
    return true;
}

uint64_t redlock_lost_events(const struct redlock_event_ring *events)
{
    return events->lost;
}
