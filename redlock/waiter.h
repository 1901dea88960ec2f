/* A lock that waits, and its places among the waiters of the nodes: what is heard there makes the next attempt begin earlier.
 * What is heard grants nothing; what is not heard costs time. See wire.h. */
#ifndef REDLOCK_WAITER_H
#define REDLOCK_WAITER_H

#include "stake.h"

/* What waiting adds. */
struct redlock_waiting {
    /* An attempt was lost and the lock waits for the next one: it takes places, if it may listen. */
    void (*begin)(struct redlock *r, struct redlock_lock *lock);

    /* The lock's release has woken another client. */
    void (*has_woken)(struct redlock_lock *lock);

    /* The lock is to be acquired. After its release woke another client it stands aside for a while, and takes places then, so that the woken client
     * can take it. False: it has no reason to, or cannot. */
    bool (*yield)(struct redlock *r, struct redlock_lock *lock);

    /* The time that it waited for has come. False: not yet for an attempt. */
    bool (*tick)(struct redlock *r, struct redlock_lock *lock);

    /* A lock that waited no longer does, or not here: its number is nobody's. */
    void (*leave)(struct redlock *r, struct redlock_lock *lock);

    /* It waits in other memory: to is a copy of what has left. */
    void (*move)(struct redlock *r, struct redlock_lock *to);

    /* Takes a place among the waiters of node k, if the lock listens, and k's subscription stands. */
    void (*line_up)(struct redlock *r, struct redlock_lock *lock, unsigned k);

    /* An answer to WAIT. */
    void (*answer)(struct redlock *r, const struct answer *a);

    /* Node k's ear has subscribed; it has heard something. */
    void (*ear_opens)(struct redlock *r, unsigned k);
    void (*hear)(struct redlock *r, unsigned k, const struct wire_reply *reply);
};
REDLOCK_PRIVATE const struct redlock_waiting *waiter_part(void);

#endif
