#include "ticket.h"

#include "../../redlock/lock.h"

#include <stdio.h>
#include <string.h>

enum { TICK_US = TICK_MS * 1000 };

uint16_t ticket_number(uint64_t ticket)
{
    uint64_t number = ticket / TICK_US * TICKET_STEPS + ticket % TICK_US;

    REDLOCK_CHECK(ticket % TICK_US < TICKET_STEPS && number <= UINT16_MAX);
    return (uint16_t)number;
}

uint64_t ticket_of(uint16_t number)
{
    return (uint64_t)(number / TICKET_STEPS) * TICK_US + number % TICKET_STEPS;
}

/* ---- What clients do ---- */

void ticket_begin(struct world *w, unsigned c)
{
    struct client *client = &w->clients[c];

    client->is_acquiring = true;
    client->floor = w->last_ticket;
    client->known = client->proposed_by = client->proposed_in = 0;
    client->was_ahead = false;
    memset(client->rivals, 0, sizeof client->rivals);
}

void ticket_sent(struct world *w, unsigned c, const struct command *command)
{
    struct client *client = &w->clients[c];
    bool is_known = command->ticket <= client->known;
    bool is_same_round =
        command->kind != REDLOCK_COMMAND_ACQUIRE || command->poll == client->proposed_in;

    if (command->ticket == 0) return;
    if (command->token == client->proposed_by && is_same_round) {
        if (command->ticket != client->proposed) w->breach = "one attempt proposes two tickets";
        return;
    }
    if (is_known && !client->was_ahead)
        w->breach = "a ticket is proposed that is not larger than all that the client knows of";
    client->proposed_by = command->token;
    client->proposed_in = command->poll;
    client->proposed = command->ticket;
    if (!is_known || client->was_ahead) client->known = command->ticket;
    client->was_ahead = false;
}

/* Tells a client that is acquiring that somebody else has acquired with that. */
static void note_rival(struct client *client, uint16_t ticket)
{
    for (unsigned i = 0; i < ATTEMPTS_MAX && client->is_acquiring; i++) {
        if (client->rivals[i] != 0) continue;
        client->rivals[i] = ticket;
        break;
    }
}

void ticket_win(struct world *w, unsigned c)
{
    struct client *client = &w->clients[c];
    uint16_t ticket = ticket_number(redlock_ticket(&client->lock));

    if (ticket <= client->floor)
        w->ticket_breach =
            "a ticket is not larger than that of a client that had acquired before this one began";
    for (unsigned i = 0; i < ATTEMPTS_MAX; i++)
        if (client->rivals[i] == ticket)
            w->ticket_breach = "two clients have acquired with the same ticket";
    for (unsigned other = 0; other < CLIENTS; other++)
        if (other != c) note_rival(&w->clients[other], ticket);
    if (ticket > w->last_ticket) w->last_ticket = ticket;
}

/* ---- What nodes do. The comparison is taken from the script's text, so that a broken script
 * breaks the world. ---- */

static bool is_too_small(uint16_t ticket, uint16_t counter)
{
    return strstr(WIRE_ACQUIRE_SCRIPT, "k<=tonumber(a)") ? ticket <= counter : ticket < counter;
}

/* A ticket that was made larger than the clock's time, by less than a tick, counts as on the clock
 * where the skew is 0. */
static bool is_ahead(const struct world *w, const struct bounds *bounds, unsigned k,
                     uint16_t ticket)
{
    unsigned most = (ticket_clock(w, bounds->node_walls[k]) + bounds->skew) * TICKET_STEPS;

    if (bounds->skew == 0) most += TICKET_STEPS - 1;
    return ticket > most && strstr(WIRE_ACQUIRE_SCRIPT, "if k>o[1]");
}

bool ticket_grant(const struct world *w, const struct bounds *bounds, unsigned k, uint16_t ticket,
                  struct reply *reply)
{
    const struct model *node = &w->nodes[k];

    reply->counter = node->counter;
    reply->is_taken = node->keys[0].token != 0;
    if (reply->is_taken || is_too_small(ticket, node->counter)) return false;
    reply->counter = 0;
    reply->is_ahead = is_ahead(w, bounds, k, ticket);
    return !reply->is_ahead;
}

bool ticket_poll(const struct world *w, const struct bounds *bounds, unsigned k,
                 const struct command *command, struct reply *reply)
{
    reply->counter = w->nodes[k].counter;
    reply->is_ahead = is_ahead(w, bounds, k, command->ticket);
    return !is_too_small(command->ticket, reply->counter) && !reply->is_ahead;
}

bool ticket_restore(const struct world *w, const struct bounds *bounds, unsigned k,
                    const struct command *command, struct reply *reply)
{
    const struct model *node = &w->nodes[k];
    unsigned token = node->keys[0].token;

    reply->is_taken =
        token != 0 && token != command->token && strstr(WIRE_RESTORE_SCRIPT, "if v and v~=t then");
    reply->is_ahead = !reply->is_taken && command->ticket > node->counter &&
                      is_ahead(w, bounds, k, command->ticket);
    return !reply->is_taken && !reply->is_ahead;
}

void ticket_say(const struct reply *reply, char *text, size_t size)
{
    char refusal[40];

    snprintf(refusal, sizeof refusal, "%llu %d", (unsigned long long)ticket_of(reply->counter),
             reply->is_taken ? 1 : -2);
    if (reply->done)          snprintf(text, size, "+OK\r\n");
    else if (reply->is_ahead) snprintf(text, size, "-AHEAD of the clock\r\n");
    else                      snprintf(text, size, "$%zu\r\n%s\r\n", strlen(refusal), refusal);
}

/* ---- In the digest ---- */

static void note(struct ticket_order *order, uint16_t number)
{
    unsigned i = order->count;

    if (number == 0 || number >= order->clock * TICKET_STEPS) return;
    while (i > 0 && order->old[i - 1] > number) i--;
    if (i > 0 && order->old[i - 1] == number) return;
    REDLOCK_CHECK(order->count < sizeof order->old / sizeof order->old[0]);
    memmove(order->old + i + 1, order->old + i, (order->count - i) * sizeof order->old[0]);
    order->old[i] = number;
    order->count++;
}

static void note_link(struct ticket_order *order, const struct link *link)
{
    for (unsigned i = 0; i < link->command_count; i++) note(order, link->commands[i].ticket);
    for (unsigned i = 0; i < link->stale_count; i++) note(order, link->stale[i].ticket);
    for (unsigned i = 0; i < link->answer_count; i++) note(order, link->answers[i].counter);
}

bool ticket_is_live(const struct client *client)
{
    unsigned phase = client->lock.phase;

    return !client->is_out && phase != REDLOCK_PHASE_IDLE && phase != REDLOCK_PHASE_ENDING &&
           phase != REDLOCK_PHASE_RELEASING;
}

bool ticket_last_matters(const struct world *w)
{
    return w->clients[0].attempts > 0 || w->clients[1].attempts > 0 || w->clients[2].attempts > 0;
}

static void note_client(struct ticket_order *order, const struct client *client)
{
    if (ticket_is_live(client)) note(order, ticket_number(client->lock.ticket));
    if (!client->is_acquiring) return;
    note(order, ticket_number(client->lock.ticket_seen));
    note(order, client->known);
    note(order, client->floor);
    for (unsigned i = 0; i < ATTEMPTS_MAX; i++) note(order, client->rivals[i]);
}

void ticket_order(struct ticket_order *order, const struct world *w, const struct bounds *bounds)
{
    unsigned slowest = bounds->walls[0] < bounds->walls[1] ? bounds->walls[0] : bounds->walls[1];

    for (unsigned k = 0; k < bounds->nodes; k++)
        if (bounds->node_walls[k] < slowest) slowest = bounds->node_walls[k];
    order->count = 0;
    order->clock = ticket_clock(w, slowest);
    if (ticket_last_matters(w)) note(order, w->last_ticket);
    for (unsigned k = 0; k < bounds->nodes; k++) note(order, w->nodes[k].counter);
    for (unsigned c = 0; c < clients_of(bounds); c++) {
        note_client(order, &w->clients[c]);
        for (unsigned k = 0; k < bounds->nodes; k++) note_link(order, &w->links[c][k]);
    }
}

uint16_t ticket_place(const struct ticket_order *order, uint16_t number)
{
    enum { NEW = 1 << 15 };

    if (number == 0) return 0;
    if (number >= order->clock * TICKET_STEPS)
        return (uint16_t)(NEW + number - order->clock * TICKET_STEPS);
    for (unsigned i = 0; i < order->count; i++)
        if (order->old[i] == number) return (uint16_t)(i + 1);
    REDLOCK_CHECK(false);
    return 0;
}
