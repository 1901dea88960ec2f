/* Fencing tokens, or tickets (S15), that a lock proposes to the nodes, and learns from nodes that
 * refuse. See wire.h. */
#ifndef REDLOCK_TICKET_H
#define REDLOCK_TICKET_H

#include "lock_state.h"

/* The part that tickets add. */
struct redlock_ticketing {
    /* OK if a ticket can be asked for by this request, else BAD_CONFIG or BAD_CLOCK. */
    enum redlock_status (*check)(const struct redlock *r, const struct redlock_request *request);

    /* Chooses the ticket of the next attempt. False: there is no number left. */
    bool (*propose)(const struct redlock *r, struct redlock_lock *lock);

    /* True if only a ticket that was too small lost the last attempt, for the first time, and the
     * time to wait, if there is one, is not over. */
    bool (*is_behind)(const struct redlock *r, const struct redlock_lock *lock);
};
REDLOCK_PRIVATE const struct redlock_ticketing *ticket_feature(void);

/* Forgets what earlier operations have seen. */
REDLOCK_PRIVATE void ticket_start(struct redlock_lock *lock, const struct redlock_request *request,
                                  uint64_t now_us);

/* A node has refused because it found our ticket too far ahead of its clock. */
REDLOCK_PRIVATE void ticket_found_ahead(struct redlock_lock *lock);

#endif
