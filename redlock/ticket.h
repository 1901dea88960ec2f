/* Tickets (S15): what a lock proposes to the nodes, and what it learns from those that refuse. See wire.h. */
#ifndef REDLOCK_TICKET_H
#define REDLOCK_TICKET_H

#include "lock_state.h"

/* Can tickets be asked for as the request says? OK, BAD_CONFIG, BAD_CLOCK. */
REDLOCK_PRIVATE enum redlock_status ticket_check(const struct redlock *r, const struct redlock_request *request);

/* Forgets what earlier operations have seen. */
REDLOCK_PRIVATE void ticket_start(struct redlock_lock *lock, const struct redlock_request *request, uint64_t now_us);

/* Chooses the ticket of the next attempt; a lock without one needs none. False: there is no number left. */
REDLOCK_PRIVATE bool ticket_propose(const struct redlock *r, struct redlock_lock *lock);

/* A node has refused: it told of its largest ticket; it found ours too far ahead of its clock. */
REDLOCK_PRIVATE void ticket_seen(struct redlock_lock *lock, uint64_t counter);
REDLOCK_PRIVATE void ticket_found_ahead(struct redlock_lock *lock);

/* Was the last attempt lost for no other reason than a ticket that was too small, for the first time, and is there time to wait? */
REDLOCK_PRIVATE bool ticket_is_behind(const struct redlock *r, const struct redlock_lock *lock);

#endif
