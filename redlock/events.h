/* The engine's actions and findings, for a ring of the caller's. It is below the locks, looks at
 * them, and changes nothing. Without a ring each place costs the test of a pointer, and the
 * functions that write events are not linked if redlock_use_events is not called. */
#ifndef REDLOCK_EVENTS_H
#define REDLOCK_EVENTS_H

#include "private.h"
#include "redlock.h"

struct redlock_eventing {
    /* detail is the session, the phase or the status, by the kind of event. */
    void (*note)(const struct redlock *r, const struct redlock_lock *lock,
                 enum redlock_event_kind kind, unsigned detail);

    /* All questions that session k was asked after the first so many. */
    void (*sent)(const struct redlock *r, unsigned k, unsigned before);

    /* The answer to one. If reply is NULL, there will be none. */
    void (*heard)(const struct redlock *r, unsigned k, const struct redlock_asked *asked,
                  const struct wire_reply *reply);

    /* A lock is in other memory from now on. */
    void (*moved)(const struct redlock *r, const struct redlock_lock *to,
                  const struct redlock_lock *from);
};

/* Is the kind asked for? A new event of it, for a lock and a session; NULL: it is not
 * wanted, or lost. */
REDLOCK_PRIVATE bool event_is_wanted(const struct redlock *r, enum redlock_event_kind kind);
REDLOCK_PRIVATE struct redlock_event *event_begin(const struct redlock *r,
                                                  const struct redlock_lock *lock,
                                                  enum redlock_event_kind kind, unsigned session);
REDLOCK_PRIVATE void event_add_votes(struct redlock_event *event,
                                     const struct redlock_round *round);

/* What the engine's calls note and move is written by these, if there is a ring. */
REDLOCK_PRIVATE void event_write_note(const struct redlock *r, const struct redlock_lock *lock,
                                      enum redlock_event_kind kind, unsigned detail);
REDLOCK_PRIVATE void event_write_moved(const struct redlock *r, const struct redlock_lock *to,
                                       const struct redlock_lock *from);

REDLOCK_PRIVATE void event_note(const struct redlock *r, const struct redlock_lock *lock,
                                enum redlock_event_kind kind, unsigned detail);

#endif
