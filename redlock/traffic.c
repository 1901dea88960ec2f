/* Optional: events of what is sent and heard. A refusal is read as the kind of its lock has it, so
 * that no kind may call this. */
#include "events.h"
#include "kind.h"
#include "node.h"
#include "round.h"
#include "stake.h"

static struct redlock_event *begin_message(const struct redlock *r, unsigned k,
                                           const struct redlock_asked *asked,
                                           enum redlock_event_kind kind, unsigned to_come)
{
    struct redlock_event *event = event_begin(r, asked->lock, kind, k);

    if (event) {
        event->command = (enum redlock_command)asked->command;
        event->as.message = (struct redlock_event_message){
            .form = (enum redlock_form)asked->form, .to_come = (uint16_t)to_come
        };
    }
    return event;
}

static void write_sent(const struct redlock *r, unsigned k, unsigned before)
{
    struct redlock_node *node = &r->nodes[k];

    if (!event_is_wanted(r, REDLOCK_EVENT_SENT)) return;
    for (unsigned i = before; i < node->asked_count; i++) {
        const struct redlock_asked *asked = node_asked_at(node, &r->config, i);
        struct redlock_event *event = begin_message(r, k, asked, REDLOCK_EVENT_SENT, i + 1u);
        if (event && event->lock) event_add_votes(event, &event->lock->round);
    }
}

/* A refusal by the script that acquires reports the holder's time and ticket. */
static void read_detail(const struct redlock *r, struct redlock_event *event,
                        const struct redlock_asked *asked, const struct wire_reply *reply)
{
    struct redlock_event_message *message = &event->as.message;
    const struct wire_row *row = event->command == REDLOCK_COMMAND_ACQUIRE && asked->lock
                                     ? kind_row(r, asked->lock, KIND_ACQUIRE)
                                     : NULL;

    if (reply->type == RESP_INTEGER) message->number = reply->integer;
    else if (row && row->read_refusal)
        (void)row->read_refusal(reply, &message->ticket, &message->number);
}

static void read_answer(const struct redlock *r, struct redlock_event *event,
                        const struct redlock_asked *asked, const struct wire_reply *reply)
{
    struct redlock_event_message *message = &event->as.message;

    if (asked->command == REDLOCK_COMMAND_QUESTION || asked->command == REDLOCK_COMMAND_NONE)
        return;
    message->answer = (enum redlock_answer)wire_read_any(asked, reply);
    if (message->answer == REDLOCK_ANSWER_ERROR)
        message->trouble = wire_trouble(reply->text, reply->text_size);
    read_detail(r, event, asked, reply);
}

/* A node that is to get the text of the script is asked again. */
static enum redlock_vote vote_by(const struct redlock *r, const struct redlock_event *event,
                                 const struct wire_reply *reply)
{
    const struct redlock_event_message *message = &event->as.message;

    if (!reply) return REDLOCK_VOTE_UNKNOWN;
    if (message->answer == REDLOCK_ANSWER_ERROR && message->form == REDLOCK_FORM_BY_SHA1 &&
        r->hashing->class_of(reply) == REDLOCK_TROUBLE_NOSCRIPT)
        return REDLOCK_VOTE_PENDING;
    return wire_vote(event->command, message->answer, message->trouble);
}

/* S8: a vote belongs to the round under way, or the last one, if it answers that round's command
 * and the node has not voted. Inspection needs no votes. */
static void add_vote(const struct redlock *r, struct redlock_event *event,
                     const struct redlock_asked *asked, const struct wire_reply *reply)
{
    struct redlock_round round = asked->lock->round;

    if (asked->round != round.number || asked->command != round.command ||
        asked->command == REDLOCK_COMMAND_GETRANGE)
        return;
    if (round_vote_of(&round, event->session) == REDLOCK_VOTE_PENDING)
        event->as.message.vote = vote_by(r, event, reply);
    round_vote(&round, event->session, event->as.message.vote);
    event_add_votes(event, &round);
}

static void write_heard(const struct redlock *r, unsigned k, const struct redlock_asked *asked,
                        const struct wire_reply *reply)
{
    struct redlock_event *event =
        begin_message(r, k, asked, reply ? REDLOCK_EVENT_HEARD : REDLOCK_EVENT_UNANSWERED,
                      r->nodes[k].asked_count);

    if (!event) return;
    if (reply) read_answer(r, event, asked, reply);
    if (asked->lock) add_vote(r, event, asked, reply);
}

void redlock_use_events(struct redlock *r, struct redlock_event_ring *events,
                        struct redlock_event *ring, size_t count)
{
    static const struct redlock_eventing feature = {
        .note = event_write_note, .sent = write_sent, .heard = write_heard,
        .moved = event_write_moved
    };

    if (events)
        *events = (struct redlock_event_ring){
            .feature = &feature, .ring = ring, .size = count, .kinds = REDLOCK_EVENTS_ALL
        };
    r->events = events;
}

/* ---- Names, for people ---- */

enum { SCRIPT_WORDS_MAX = 60 };         /* Bytes of all words of a script. */

/* Word i = 0.. of the names of the script and of its arguments, with those of permits, which are
 * the last. "" follows them. */
static const char *script_word(enum redlock_command command, unsigned i)
{
    const char *word;

    switch (command) {
    case REDLOCK_COMMAND_ACQUIRE:
        word = "acquire\0token\0ttl\0ticket\0life\0skew\0permits\0slot\0entry\0";
        break;
    case REDLOCK_COMMAND_RESTORE:
        word = "restore\0token\0ttl\0ticket\0life\0skew\0permits\0slot\0";
        break;
    case REDLOCK_COMMAND_EXTEND:
        word = "extend\0token\0ttl\0permits\0slot\0ticket\0life\0skew\0";
        break;
    case REDLOCK_COMMAND_RELEASE: word = "release\0token\0entry\0permits\0slot\0"; break;
    case REDLOCK_COMMAND_WAIT:    word = "wait\0entry\0arrived\0life\0permits\0"; break;
    default:                      word = ""; break;
    }
    for (; i > 0 && *word != '\0'; i--) word = next_text(word, SCRIPT_WORDS_MAX);
    return word;
}

const char *redlock_script_name(enum redlock_command command)
{
    const char *name = script_word(command, 0);

    return *name != '\0' ? name : NULL;
}

const char *redlock_argument_name(enum redlock_command command, unsigned i)
{
    const char *name = i < SCRIPT_WORDS_MAX ? script_word(command, 1 + i) : "";

    return *name != '\0' ? name : NULL;
}
