/* What the engine does and finds out, for a ring of the caller's. Below the locks: it looks at them, and changes nothing. Without a
 * ring each place is one look at a pointer, and what writes events is not linked if redlock_use_events is not called. */
#ifndef REDLOCK_EVENTS_H
#define REDLOCK_EVENTS_H

#include "private.h"
#include "redlock.h"
#include "wire.h"

struct redlock_eventing {
    /* detail: the session, the phase or the status that the kind of event is about. */
    void (*note)(const struct redlock *r, const struct redlock_lock *lock, enum redlock_event_kind kind, unsigned detail);

    /* All that has been asked of session k behind the first so many. */
    void (*sent)(const struct redlock *r, unsigned k, unsigned before);

    /* The answer to that; reply NULL: there will be none. */
    void (*heard)(const struct redlock *r, unsigned k, const struct redlock_asked *asked, const struct wire_reply *reply);

    /* A lock is in other memory from now on. */
    void (*moved)(const struct redlock *r, const struct redlock_lock *to, const struct redlock_lock *from);
};

REDLOCK_PRIVATE void event_note(const struct redlock *r, const struct redlock_lock *lock, enum redlock_event_kind kind,
                                unsigned detail);

#endif
