/* The events as JSON, an array of objects, each with "at" (us) and "kind":
 *
 *   action    text                                                  what somebody does: as
 *                                                                   in a link
 *   refusal   text, words                                           that was not done, and why
 *   message   id, client, node, session, to ("node", "client"), arrives, bytes, commands, answers
 *             bytes are on their way; answers, of a node: "granted", "refused", "error", "done",
 *             one for each command
 *   arrived   id                                                    a message is there; one that is
 *                                                                   lost never is
 *   executed  client, node, command, key, did                       the node has executed a command
 *   engine    client, what, rule, and what belongs to it            an event of the engine's
 *                                                                   (redlock.h: enum
 *                                                                   redlock_event_kind)
 *   end       client, rule                                          validity has ended; nobody told
 *                                                                   the client (S10)
 *   write     client, ticket, admitted, held                        to the resource
 *   accident  first, second, words                                  two hold the resource
 *
 * Clients and nodes are numbers. rule is the rule of safety S1.. that the event obeys, 0: none. */
#include "world.h"

#include <stdio.h>
#include <string.h>

/* ---- Names ---- */

const char *name_of_command(enum redlock_command command)
{
    static const char *const names[] = {
        [REDLOCK_COMMAND_NONE] = "published",      [REDLOCK_COMMAND_AUTH] = "AUTH",
        [REDLOCK_COMMAND_SELECT] = "SELECT",       [REDLOCK_COMMAND_SETNAME] = "CLIENT",
        [REDLOCK_COMMAND_INFO] = "INFO",           [REDLOCK_COMMAND_EVAL] = "EVAL",
        [REDLOCK_COMMAND_TRIAL] = "EVAL",
        [REDLOCK_COMMAND_LOAD_RELEASE] = "SCRIPT", [REDLOCK_COMMAND_LOAD_EXTEND] = "SCRIPT",
        [REDLOCK_COMMAND_SUBSCRIBE] = "SUBSCRIBE", [REDLOCK_COMMAND_CANARY] = "GET",
        [REDLOCK_COMMAND_PROMOTION] = "EVAL",      [REDLOCK_COMMAND_NATIVE] = "DELEX",
        [REDLOCK_COMMAND_ACQUIRE] = "acquire",
        [REDLOCK_COMMAND_RESTORE] = "restore",     [REDLOCK_COMMAND_EXTEND] = "extend",
        [REDLOCK_COMMAND_RELEASE] = "release",     [REDLOCK_COMMAND_WAIT] = "wait",
        [REDLOCK_COMMAND_PTTL] = "PTTL",           [REDLOCK_COMMAND_GETRANGE] = "GETRANGE",
        [REDLOCK_COMMAND_QUESTION] = "question"
    };
    const char *name = command < sizeof names / sizeof *names ? names[command] : NULL;
    return name ? name : "other";
}

const char *name_of_phase(enum redlock_phase phase)
{
    static const char *const names[] = { [REDLOCK_PHASE_IDLE] = "idle",
                                         [REDLOCK_PHASE_WAITING] = "waiting",
                                         [REDLOCK_PHASE_NEEDS_ENTROPY] = "needs entropy",
                                         [REDLOCK_PHASE_ACQUIRING] = "acquiring",
                                         [REDLOCK_PHASE_ENDING] = "ending",
                                         [REDLOCK_PHASE_HELD] = "held",
                                         [REDLOCK_PHASE_EXTENDING] = "extending",
                                         [REDLOCK_PHASE_RELEASING] = "releasing",
                                         [REDLOCK_PHASE_INSPECTING] = "inspecting" };
    return names[phase];
}

static const char *name_of_kind(enum redlock_event_kind kind)
{
    static const char *const names[] = { [REDLOCK_EVENT_CONNECTED] = "connected",
                                         [REDLOCK_EVENT_READY] = "ready",
                                         [REDLOCK_EVENT_DISCONNECTED] = "disconnected",
                                         [REDLOCK_EVENT_SENT] = "sent",
                                         [REDLOCK_EVENT_HEARD] = "heard",
                                         [REDLOCK_EVENT_UNANSWERED] = "unanswered",
                                         [REDLOCK_EVENT_PHASE] = "phase",
                                         [REDLOCK_EVENT_VERDICT] = "verdict",
                                         [REDLOCK_EVENT_OWED] = "owed",
                                         [REDLOCK_EVENT_CLEARED] = "cleared",
                                         [REDLOCK_EVENT_WOKEN] = "woken",
                                         [REDLOCK_EVENT_ENDED] = "ended",
                                         [REDLOCK_EVENT_MOVED] = "moved",
                                         [REDLOCK_EVENT_FORGOTTEN] = "forgotten",
                                         [REDLOCK_EVENT_EMPTIED] = "emptied" };
    return names[kind];
}

/* The server's name for a command, where a plain SET acquires a lock. */
static const char *name_of_call(const struct model_call *call, char text[16])
{
    static const char *const ours[] = { "ACQUIRE", "RESTORE", "EXTEND", "RELEASE", "WAIT" };
    if (strcmp(call->name, "SET") == 0) return "acquire";
    for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strcmp(call->name, ours[i]) != 0) continue;
        for (size_t b = 0; b <= strlen(ours[i]); b++)
            text[b] = (char)(ours[i][b] == '\0' ? '\0' : ours[i][b] + ('a' - 'A'));
        return text;
    }
    return call->name;
}

/* ---- Rules ---- */

static unsigned rule_of_answer(const struct redlock_event *event)
{
    const struct redlock_event_message *message = &event->as.message;
    if (message->answer == REDLOCK_ANSWER_WRONG) return 16;
    if (event->command == REDLOCK_COMMAND_RELEASE) return 7;
    if (event->command == REDLOCK_COMMAND_EXTEND)
        return message->answer == REDLOCK_ANSWER_ERROR ? 4 : 9;
    if (event->command != REDLOCK_COMMAND_ACQUIRE) return 0;
    if (message->vote == REDLOCK_VOTE_PENDING) return 8;
    return message->answer == REDLOCK_ANSWER_ERROR ? 4 : message->ticket > 0 ? 15 : 3;
}

static unsigned rule_of_verdict(const struct redlock_event *event)
{
    const struct redlock_event_verdict *verdict = &event->as.verdict;
    if (verdict->status == REDLOCK_TOO_LATE) return 2;
    if (event->command == REDLOCK_COMMAND_EXTEND) return 9;
    return verdict->status == REDLOCK_OK ? (verdict->ticket > 0 ? 15 : 2) : 1;
}

static unsigned rule_of_phase(const struct redlock_event *event)
{
    switch (event->as.phase.phase) {
    case REDLOCK_PHASE_ACQUIRING: return 6;
    case REDLOCK_PHASE_WAITING:   return 14;
    case REDLOCK_PHASE_RELEASING: return 5;
    case REDLOCK_PHASE_EXTENDING: return 9;
    default:                      return 0;
    }
}

static unsigned rule_of_trouble(enum redlock_trouble trouble)
{
    if (trouble == REDLOCK_TROUBLE_PROTOCOL) return 16;
    if (trouble == REDLOCK_TROUBLE_RESTARTED) return 11;
    return trouble >= REDLOCK_TROUBLE_SAME_SERVER && trouble <= REDLOCK_TROUBLE_NO_IDENTITY ? 12
                                                                                            : 0;
}

static unsigned rule_of(const struct redlock_event *event)
{
    switch (event->kind) {
    case REDLOCK_EVENT_HEARD:        return rule_of_answer(event);
    case REDLOCK_EVENT_VERDICT:      return rule_of_verdict(event);
    case REDLOCK_EVENT_PHASE:        return rule_of_phase(event);
    case REDLOCK_EVENT_UNANSWERED:   return 4;
    case REDLOCK_EVENT_OWED:
    case REDLOCK_EVENT_CLEARED:      return 5;
    case REDLOCK_EVENT_READY:        return event->as.is_new_server ? 11 : 0;
    case REDLOCK_EVENT_DISCONNECTED: return rule_of_trouble(event->as.trouble);
    case REDLOCK_EVENT_SENT:         return event->command == REDLOCK_COMMAND_RELEASE ? 7 : 0;
    case REDLOCK_EVENT_ENDED:        return event->as.status == REDLOCK_EXTENSION_LIMIT ? 13 : 0;
    default:                         return 0;
    }
}

/* ---- Writing ---- */

static struct text *begin(struct playground *world, const char *kind)
{
    struct text *text = &world->events;
    json_open(text, NULL, '{');
    json_number(text, "at", (int64_t)stage_now_us(world->stage));
    json_text(text, "kind", kind);
    return text;
}

static void write_votes(struct text *text, const struct redlock_event *event)
{
    json_number(text, "round", event->round);
    json_number(text, "granted", event->granted);
    json_number(text, "refused", event->refused);
    json_number(text, "unknown", event->unknown);
    json_number(text, "notAsked", event->not_asked);
}

static void write_answer(struct text *text, const struct redlock_event *event)
{
    static const char *const answers[] = { "granted", "refused", "error", "wrong" };
    const struct redlock_event_message *message = &event->as.message;
    if (event->kind == REDLOCK_EVENT_HEARD) json_text(text, "answer", answers[message->answer]);
    if (event->kind == REDLOCK_EVENT_HEARD && event->command == REDLOCK_COMMAND_PTTL)
        json_number(text, "number", message->number);
    json_text(text, "vote", redlock_vote_text(message->vote));
    write_votes(text, event);
}

static void write_verdict(struct text *text, const struct playground *world,
                          const struct redlock_event *event)
{
    const struct redlock_event_verdict *verdict = &event->as.verdict;
    char arithmetic[120];
    stage_arithmetic(world->stage, event, arithmetic, sizeof arithmetic);
    json_text(text, "status", redlock_status_text(verdict->status));
    json_bool(text, "won", verdict->status == REDLOCK_OK);
    json_number(text, "ttlMs", verdict->ttl_ms);
    json_number(text, "elapsedUs", (int64_t)verdict->elapsed_us);
    json_number(text, "driftUs", (int64_t)verdict->drift_us);
    json_number(text, "validityUs", (int64_t)verdict->validity_us);
    json_text(text, "arithmetic", arithmetic);
    write_votes(text, event);
}

static uint64_t ticket_in(const struct redlock_event *event)
{
    switch (event->kind) {
    case REDLOCK_EVENT_HEARD:   return event->as.message.ticket;
    case REDLOCK_EVENT_VERDICT: return event->as.verdict.ticket;
    default:                    return 0;
    }
}

static void write_what_belongs(struct text *text, const struct playground *world,
                               const struct redlock_event *event)
{
    if (event->session != REDLOCK_NO_SESSION)
        json_number(text, "node", event->session % world->settings.nodes);
    if (event->session != REDLOCK_NO_SESSION)
        json_bool(text, "subscription", event->session >= world->settings.nodes);
    if (event->command != REDLOCK_COMMAND_NONE)
        json_text(text, "command", name_of_command(event->command));
    if (event->kind == REDLOCK_EVENT_HEARD || event->kind == REDLOCK_EVENT_UNANSWERED)
        write_answer(text, event);
    if (event->kind == REDLOCK_EVENT_VERDICT) write_verdict(text, world, event);
    if (event->kind == REDLOCK_EVENT_PHASE)
        json_text(text, "phase", name_of_phase(event->as.phase.phase));
    if (event->kind == REDLOCK_EVENT_ENDED)
        json_text(text, "status", redlock_status_text(event->as.status));
    if (ticket_in(event) > 0) json_number(text, "ticket", (int64_t)ticket_in(event));
    if (event->kind == REDLOCK_EVENT_READY) json_bool(text, "isNewServer", event->as.is_new_server);
}

/* ---- What the stage tells ---- */

static void add_name(struct text *names, const char *name)
{
    json_text(names, NULL, name);
}

static void saw_event(void *context, unsigned client, const struct redlock_event *event)
{
    struct playground *world = context;
    if (event->kind == REDLOCK_EVENT_SENT)
        add_name(&world->sent[client][event->session], name_of_command(event->command));
    if (event->kind == REDLOCK_EVENT_DISCONNECTED) text_clear(&world->sent[client][event->session]);
    if (world->is_muted) return;
    struct text *text = begin(world, "engine");
    json_number(text, "client", client);
    json_text(text, "what", name_of_kind(event->kind));
    json_number(text, "rule", rule_of(event));
    write_what_belongs(text, world, event);
    json_close(text, '}');
}

static void saw_command(void *context, const struct cluster_connection *connection,
                        const struct model_call *call)
{
    struct playground *world = context;
    char name[16];
    struct text *names = &world->answered[connection->client][connection->line];
    add_name(names, name_of_call(call, name));
    add_name(names, call->did ? "granted" : "refused");
    if (world->is_muted) return;
    struct text *text = begin(world, "executed");
    json_number(text, "client", connection->client);
    json_number(text, "node", connection->node);
    json_text(text, "command", name_of_call(call, name));
    json_text(text, "key", call->key);
    json_bool(text, "did", call->did);
    json_close(text, '}');
}

/* The notes of a session since its last message; for answers each command stands
 * before its result. */
static void write_noted(struct text *text, const char *name, struct text *noted)
{
    json_open(text, name, '[');
    text_bytes(text, noted->data ? noted->data : "", noted->size);
    json_close(text, ']');
    text_clear(noted);
}

static void saw_message(void *context, const struct cluster_connection *connection,
                        const struct cluster_message *message)
{
    struct playground *world = context;
    const unsigned c = connection->client, s = connection->line;
    struct text *noted = message->to_node ? &world->sent[c][s] : &world->answered[c][s];
    if (world->is_muted || message->size == 0) {
        text_clear(noted);
        return;
    }
    struct text *text = begin(world, "message");
    json_number(text, "id", (int64_t)message->number);
    json_number(text, "client", c);
    json_number(text, "node", connection->node);
    json_bool(text, "subscription", s >= world->settings.nodes);
    json_text(text, "to", message->to_node ? "node" : "client");
    json_number(text, "arrives", (int64_t)(message->arrives_at - world->stage->begun_us));
    json_bytes(text, "bytes", message->data, message->size);
    write_noted(text, message->to_node ? "commands" : "answers", noted);
    json_close(text, '}');
}

static void saw_arrival(void *context, uint64_t message)
{
    struct playground *world = context;
    if (world->is_muted) return;
    struct text *text = begin(world, "arrived");
    json_number(text, "id", (int64_t)message);
    json_close(text, '}');
}

static void write_action(struct playground *world, const char *kind,
                         const struct stage_action *action, const char *words)
{
    char name[64];
    if (world->is_muted) return;
    struct text *text = begin(world, kind);
    stage_write_action(action, name, sizeof name);
    json_text(text, "text", name);
    if (words) json_text(text, "words", words);
    json_close(text, '}');
}

static void saw_action(void *context, const struct stage_action *action)
{
    write_action(context, "action", action, NULL);
}

static void saw_refusal(void *context, const struct stage_action *action, const char *words)
{
    write_action(context, "refusal", action, words);
}

static void saw_write(void *context, const struct stage_write *write)
{
    struct playground *world = context;
    if (world->is_muted) return;
    struct text *text = begin(world, "write");
    json_number(text, "client", write->client);
    json_number(text, "ticket", (int64_t)write->ticket);
    json_bool(text, "admitted", write->admitted);
    json_bool(text, "held", write->held);
    json_close(text, '}');
}

static void saw_end(void *context, unsigned client)
{
    struct playground *world = context;
    if (world->is_muted) return;
    struct text *text = begin(world, "end");
    json_number(text, "client", client);
    json_number(text, "rule", 10);
    json_close(text, '}');
}

static void saw_accident(void *context)
{
    struct playground *world = context;
    const struct stage_accident *accident = &world->stage->accident;
    if (world->is_muted) return;
    struct text *text = begin(world, "accident");
    json_number(text, "first", accident->first);
    json_number(text, "second", accident->second);
    json_text(text, "words", accident->words);
    json_close(text, '}');
}

struct stage_observer events_observer(struct playground *world)
{
    return (
        struct stage_observer){ world,       saw_event, saw_command, saw_message,  saw_action,
                                saw_refusal, saw_write, saw_end,     saw_accident, saw_arrival };
}
