#include "story.h"

#include "ticket.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE_MAX = 160, ANSWER_MAX = 64, TICKET_TEXT = 16, PURPOSE_MAX = 48 };

static const char *command_name(unsigned kind, unsigned role)
{
    static const char *const names[] = {
        [REDLOCK_COMMAND_ACQUIRE] = "acquire script", [REDLOCK_COMMAND_RESTORE] = "restore script",
            [REDLOCK_COMMAND_EXTEND] = "extend script",
        [REDLOCK_COMMAND_RELEASE] = "release script", [REDLOCK_COMMAND_PTTL] = "PTTL"
    };

    if (kind == REDLOCK_COMMAND_ACQUIRE && role == ROLE_FAIR) return "poll";
    return kind == REDLOCK_COMMAND_ACQUIRE && role == ROLE_PLAIN ? "SET" : names[kind];
}

/* The tick that a wall clock showed, counted from the beginning of the story, and the
 * addition to it. */
static const char *ticket_text(char text[TICKET_TEXT], uint16_t number)
{
    int tick = number / TICKET_STEPS - WORLD_FIRST_TICK, more = number % TICKET_STEPS;

    if (more > 0) snprintf(text, TICKET_TEXT, "%d+%d", tick, more);
    else          snprintf(text, TICKET_TEXT, "%d", tick);
    return text;
}

static const char *says(const struct reply *reply, char text[ANSWER_MAX])
{
    char ticket[TICKET_TEXT];

    if (reply->others) return "others read";
    if (reply->slot > 0) {
        snprintf(text, ANSWER_MAX, "slot %u", reply->slot);
        return text;
    }
    if (reply->kind == REDLOCK_COMMAND_RESTORE && !reply->is_ahead)
        return reply->done ? "OK" : "taken";
    if (reply->kind != REDLOCK_COMMAND_ACQUIRE && !reply->is_ahead) return reply->done ? "1" : "0";
    if (reply->done)                 return "OK";
    if (reply->role == ROLE_FAIR) {
        snprintf(text, ANSWER_MAX, "rank %d, largest turn %u", reply->rank, reply->turn);
        return text;
    }
    if (reply->is_ahead)             return "that ticket is ahead of the clock";
    if (reply->counter == 0)         return reply->role == ROLE_PLAIN ? "nil" : "taken";
    snprintf(text, ANSWER_MAX, "%s, ticket %s was given", reply->is_taken ? "taken" : "too small",
             ticket_text(ticket, reply->counter));
    return text;
}

static char name(unsigned c)
{
    return (char)('A' + c);
}

/* The number of the token among its client's. */
static unsigned number_of(const struct bounds *bounds, unsigned token)
{
    return tokens_of(bounds, token_client(token)) - (token & 15);
}

/* The role that a script for shared locks is sent, and the token beside its own. */
static const char *purpose(char text[PURPOSE_MAX], const struct bounds *bounds,
                           const struct command *command)
{
    const char *as = command->role == ROLE_READER   ? " of a reader"
                     : command->role == ROLE_WRITER ? " of a writer"
                                                    : "";

    if (command->kind == REDLOCK_COMMAND_RELEASE && command->role != ROLE_PERMIT) as = "";
    if (command->other && command->other != command->token)
        snprintf(text, PURPOSE_MAX, "%s, beside %u", as, number_of(bounds, command->other));
    else if (command->poll > 0)
        snprintf(text, PURPOSE_MAX, " %u with turn %u%s", command->poll, command->turn,
                 command->renews ? ", that renews" : "");
    else if (command->slot > 0)  snprintf(text, PURPOSE_MAX, " of slot %u", command->slot);
    else                         snprintf(text, PURPOSE_MAX, "%s", as);
    return text;
}

static void tell_command(char *text, const struct bounds *bounds, const char *how,
                         const struct world *before, const struct world *after, struct event e,
                         const struct command *command)
{
    const struct model *was = &before->nodes[e.node], *is = &after->nodes[e.node];
    bool did = memcmp(was->queue, is->queue, sizeof was->queue) != 0 || was->grant != is->grant ||
               memcmp(was->keys, is->keys, sizeof was->keys) != 0 ||
               memcmp(was->readers, is->readers, sizeof was->readers) != 0;
    char with[TICKET_TEXT + 16] = "", ticket[TICKET_TEXT], how_so[PURPOSE_MAX];

    if (command->ticket)
        snprintf(with, sizeof with, " with ticket %s", ticket_text(ticket, command->ticket));
    snprintf(text, SENTENCE_MAX, "node %u executes %c's %s%s by token %u%s%s: %s", e.node,
             name(e.client), command_name(command->kind, command->role),
             purpose(how_so, bounds, command), number_of(bounds, command->token), with, how,
             did ? "done" : "nothing to do");
}

static void tell(char *text, const struct bounds *bounds, const struct world *before,
                 struct event e, const struct world *after)
{
    const struct link *link = &before->links[e.client][e.node];
    char said[ANSWER_MAX];

    switch ((enum event_kind)e.kind) {
    case EVENT_TIME:    snprintf(text, SENTENCE_MAX, "a tick passes"); break;
    case EVENT_WAKE: snprintf(text, SENTENCE_MAX, "%c looks at the clock", name(e.client)); break;
    case EVENT_ACQUIRE: snprintf(text, SENTENCE_MAX, "%c begins to acquire", name(e.client)); break;
    case EVENT_EXTEND:  snprintf(text, SENTENCE_MAX, "%c begins to extend", name(e.client)); break;
    case EVENT_UPGRADE: snprintf(text, SENTENCE_MAX, "%c begins to upgrade", name(e.client)); break;
    case EVENT_DOWNGRADE:
        snprintf(text, SENTENCE_MAX, "%c begins to downgrade", name(e.client));
        break;
    case EVENT_RELEASE: snprintf(text, SENTENCE_MAX, "%c begins to release", name(e.client)); break;
    case EVENT_CANCEL:  snprintf(text, SENTENCE_MAX, "%c gives up", name(e.client)); break;
    case EVENT_EXECUTE: tell_command(text, bounds, "", before, after, e, &link->commands[0]); break;
    case EVENT_STALE:
        tell_command(text, bounds, " (late)", before, after, e, &link->stale[e.which]);
        break;
    case EVENT_ANSWER:
        snprintf(text, SENTENCE_MAX, "%c reads node %u's answer to its %s: %s", name(e.client),
                 e.node, command_name(link->answers[0].kind, link->answers[0].role),
                 says(&link->answers[0], said));
        break;
    case EVENT_LOSE:
        snprintf(text, SENTENCE_MAX, "%c's connection to node %u breaks", name(e.client), e.node);
        break;
    case EVENT_CONNECT:
        snprintf(text, SENTENCE_MAX, "%c connects to node %u again", name(e.client), e.node);
        break;
    case EVENT_CRASH:
        snprintf(text, SENTENCE_MAX, "node %u crashes and is back, %s", e.node,
                 bounds->keeps ? "with its memory" : "empty");
        break;
    case EVENT_GAIN:
        snprintf(text, SENTENCE_MAX, "the clock of node %u gains a tick", e.node);
        break;
    case EVENT_DIE:     snprintf(text, SENTENCE_MAX, "%c dies", name(e.client)); break;
    case EVENT_VANISH:
        snprintf(text, SENTENCE_MAX, "%c's token on node %u vanishes: released", name(e.client),
                 e.node);
        break;
    }
}

static bool is_valid(const struct world *w, unsigned c)
{
    return redlock_valid_us(&w->clients[c].lock, world_now_us(w)) > 0;
}

static bool is_pending(const struct world *w, unsigned c)
{
    return redlock_lock_status(&w->clients[c].lock) == REDLOCK_PENDING;
}

static void tell_key(const struct bounds *bounds, const struct key *key)
{
    if (key->token == 0) printf(" -   ");
    else
        printf(" %c%u<%-2u", name(token_client(key->token)), number_of(bounds, key->token),
               key->expires_at);
}

/* Readers in parentheses, and until when the key stays for them. */
static void tell_readers(const struct bounds *bounds, const struct model *node)
{
    printf(" (");
    for (unsigned i = 0; i < READERS_MAX && node->readers[i].token != 0; i++)
        tell_key(bounds, &node->readers[i]);
    printf(")<%-2u", node->keys[0].expires_at);
}

/* The round in which the key was granted, and the queue. */
static void tell_queue(const struct bounds *bounds, const struct model *node)
{
    printf("@%u(", node->grant);
    for (unsigned i = 0; i < QUEUE_MAX && node->queue[i].token != 0; i++)
        printf("%s%c%u:%u<%u", i > 0 ? " " : "", name(token_client(node->queue[i].token)),
               number_of(bounds, node->queue[i].token), node->queue[i].turn, node->queue[i].until);
    printf(")");
}

static void tell_keys(const struct world *w, const struct bounds *bounds)
{
    for (unsigned k = 0; k < bounds->nodes; k++) {
        const struct model *node = &w->nodes[k];
        char ticket[TICKET_TEXT];
        if (k > 0 && bounds->permits > 0) printf(" |");
        if (node->keys[0].token == TOKEN_SHARED) tell_readers(bounds, node);
        else                                     tell_key(bounds, &node->keys[0]);
        for (unsigned i = 1; i < bounds->permits; i++) tell_key(bounds, &node->keys[i]);
        if (bounds->fair) tell_queue(bounds, node);
        if (bounds->tickets)
            printf(" #%-4s", node->counter ? ticket_text(ticket, node->counter) : "-");
    }
}

static void tell_change(const struct world *before, const struct world *after, unsigned c)
{
    const struct redlock_lock *lock = &after->clients[c].lock;
    uint64_t ticket = redlock_ticket(lock);
    bool reads = redlock_view_lock(lock).is_shared,
        read = redlock_view_lock(&before->clients[c].lock).is_shared;
    char text[TICKET_TEXT];

    if (is_valid(after, c) && (!is_valid(before, c) || reads != read)) {
        printf(" [%c %s until %u", name(c), reads ? "reads" : "holds",
               after->now + world_valid_ticks(after, c));
        if (lock->permit.slot) printf(" slot %u", lock->permit.slot);
        if (ticket) printf(" with ticket %s", ticket_text(text, ticket_number(ticket)));
        printf("]");
    }
    if (!is_valid(after, c) && is_valid(before, c))
        printf(" [%c %s no longer]", name(c), read ? "reads" : "holds");
    if (!is_pending(after, c) && is_pending(before, c))
        printf(" [%c: %s]", name(c),
               redlock_status_text(redlock_lock_status(&after->clients[c].lock)));
}

void story_tell(unsigned number, const struct world *before, struct event event,
                const struct world *after, const struct bounds *bounds)
{
    char text[SENTENCE_MAX];

    tell(text, bounds, before, event, after);
    printf("  %3u  t=%-2u ", number, after->now);
    tell_keys(after, bounds);
    printf("  %s", text);
    for (unsigned c = 0; c < clients_of(bounds); c++) tell_change(before, after, c);
    printf("\n");
}
