/* redlock_fence: the resource's side of a ticket (redlock_ticket in redlock.h), which elsewhere is called a fencing token. It needs
 * nothing else of redlock, neither the library nor the servers.
 *
 * A holder that slept past the end of its lock does not know it, and its late write may arrive while the next holder is at
 * work. The next holder's ticket is larger. So a resource that remembers the largest ticket can refuse what comes late:
 *
 *     with the resource's own mutex, or in its own transaction:
 *         if (!redlock_fence_admit(&fence, ticket)) refuse;
 *         write;
 *
 * Three things make it hold, and the resource sees to them:
 * - The question and the write are one step, under one mutex or in one transaction. Else the holder may sleep in between.
 * - The fence is stored beside what it protects, and as durably: with each write, or before it.
 * - A holder shows its ticket at its first access, even if that is a read. From then on earlier holders are refused, but no
 *   sooner: what was read before may still be overtaken by a late write.
 *
 * Memory:  the caller's. A fence is one number, to be stored and read back as such; {0}, when there is none yet.
 * Threads: nothing is global and nothing is locked: see above. */
#ifndef REDLOCK_FENCE_H
#define REDLOCK_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct redlock_fence {
    uint64_t largest;   /* Ticket that was admitted; 0: none yet. Below 2^53, so that scripts and JSON hold it exactly. */
};

/* True when no larger ticket has been here: then this one is remembered. An equal one is admitted, since a holder may write as
 * often as it likes; 0, which is no ticket, never is. False: nothing has changed. */
static inline bool redlock_fence_admit(struct redlock_fence *fence, uint64_t ticket)
{
    if (ticket == 0 || ticket < fence->largest) return false;
    fence->largest = ticket;
    return true;
}

#ifdef __cplusplus
}
#endif
#endif
