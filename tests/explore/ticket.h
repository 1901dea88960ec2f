/* Tickets in the small worlds (S15), as numbers that fit in a world, and the rules for them. */
#ifndef EXPLORE_TICKET_H
#define EXPLORE_TICKET_H

#include "world.h"

/* A ticket is the tick that a wall clock showed, and fewer than so many more (16 * tick + more). */
enum { TICKET_STEPS = 16 };

/* The time of a wall clock that is so many ticks ahead of the slowest one. */
static inline unsigned ticket_clock(const struct world *w, unsigned ahead)
{
    return (unsigned)(world_now_us(w) / (TICK_MS * 1000) + ahead);
}

/* The number of a ticket, and back; 0: none. */
uint16_t ticket_number(uint64_t ticket);
uint64_t ticket_of(uint16_t number);

/* A client begins to acquire; sends a command; has acquired. Notes in the world any rule that is
 * broken by that. */
void ticket_begin(struct world *w, unsigned c);
void ticket_sent(struct world *w, unsigned c, const struct command *command);
void ticket_win(struct world *w, unsigned c);

/* A node executes the acquire script, with a ticket, where the key is free or not. It grants, or
 * has written the reason into the reply. */
bool ticket_grant(const struct world *w, const struct bounds *bounds, unsigned k, uint16_t ticket,
                  struct reply *reply);

/* The same for a fair lock's poll, as far as the ticket is concerned. It may be granted. */
bool ticket_poll(const struct world *w, const struct bounds *bounds, unsigned k,
                 const struct command *command, struct reply *reply);

/* The same for the holder's script that sets its key again. */
bool ticket_restore(const struct world *w, const struct bounds *bounds, unsigned k,
                    const struct command *command, struct reply *reply);

/* The script's answer. */
void ticket_say(const struct reply *reply, char *text, size_t size);

/* ---- In the digest ---- */

/* All tickets that a world still knows and no wall clock shows any more, in order. Only their order
 * still matters, since every new one is larger. */
struct ticket_order {
    uint16_t old[128];
    unsigned count, clock;      /* The time of the slowest wall clock. */
};

void ticket_order(struct ticket_order *order, const struct world *w, const struct bounds *bounds);

/* Looks whether these will be used again: the ticket of the client's engine, and the largest that
 * was given. */
bool ticket_is_live(const struct client *client);
bool ticket_last_matters(const struct world *w);

/* The same for tickets with the same future. */
uint16_t ticket_place(const struct ticket_order *order, uint16_t number);

#endif
