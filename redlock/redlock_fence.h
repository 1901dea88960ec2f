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
 * A reader (redlock_shared in redlock.h) with a ticket asks redlock_fence_admit_reader: readers beside each other do not keep one
 * another out, but each keeps out writers that held the lock before it, whose late writes would change what it reads.
 *
 * Memory:  the caller's. A fence is two numbers, to be stored and read back as such; {0}, when there are none yet. Without readers
 *          the second stays 0.
 * Threads: nothing is global and nothing is locked: see above. */
#ifndef REDLOCK_FENCE_H
#define REDLOCK_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct redlock_fence {
    uint64_t largest;           /* Ticket that was admitted, of a writer; 0: none yet. Below 2^53, so that scripts and JSON hold
                                 * it exactly. */
    uint64_t largest_reader;    /* The same of a reader. */
};

/* True when no larger ticket has been here: then this one is remembered. An equal one is admitted, since a holder may write as
 * often as it likes, unless it is a reader's, since that came after a writer with it; 0, which is no ticket, never is. False:
 * nothing has changed. */
static inline bool redlock_fence_admit(struct redlock_fence *fence, uint64_t ticket)
{
    if (ticket < fence->largest || ticket <= fence->largest_reader) return false;
    fence->largest = ticket;
    return true;
}

/* The same of a reader: true when no writer with a larger ticket has been here. */
static inline bool redlock_fence_admit_reader(struct redlock_fence *fence, uint64_t ticket)
{
    if (ticket == 0 || ticket < fence->largest) return false;
    if (ticket > fence->largest_reader) fence->largest_reader = ticket;
    return true;
}

#ifdef __cplusplus
}
#endif
#endif
