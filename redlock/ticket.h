/* Tickets (S15): what a lock proposes to the nodes, and what it learns from those that refuse. See wire.h. */
#ifndef REDLOCK_TICKET_H
#define REDLOCK_TICKET_H

#include "lock_state.h"

/* What tickets add. */
struct redlock_ticketing {
    /* Can a ticket be asked for as the request says? OK, BAD_CONFIG, BAD_CLOCK. */
    enum redlock_status (*check)(const struct redlock *r, const struct redlock_request *request);

    /* Chooses the ticket of the next attempt. False: there is no number left. */
    bool (*propose)(const struct redlock *r, struct redlock_lock *lock);

    /* Was the last attempt lost for no other reason than a ticket that was too small, for the first time, and is there time to
     * wait? */
    bool (*is_behind)(const struct redlock *r, const struct redlock_lock *lock);
};
REDLOCK_PRIVATE const struct redlock_ticketing *ticket_feature(void);

/* Forgets what earlier operations have seen. */
REDLOCK_PRIVATE void ticket_start(struct redlock_lock *lock, const struct redlock_request *request, uint64_t now_us);

/* A node has refused: it found our ticket too far ahead of its clock. */
REDLOCK_PRIVATE void ticket_found_ahead(struct redlock_lock *lock);

#endif
