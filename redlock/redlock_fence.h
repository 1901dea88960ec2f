/* redlock_fence: the resource's side of a fencing token, here called ticket (redlock_ticket in
 * redlock.h). It needs nothing else of redlock, neither the library nor the servers.
 *
 * A holder that slept past the end of its lock does not know it, and its late write may arrive
 * while the next holder is at work. The next holder's ticket is larger. So a resource that
 * remembers the largest ticket can refuse late writes:
 *
 *     with the resource's own mutex, or in its own transaction:
 *         if (!redlock_fence_admit(&fence, ticket, false)) refuse;
 *         write;
 *
 * Three rules make it safe, and the resource must obey them.
 * - The question and the write are one step, under one mutex or in one transaction. Otherwise the
 *   holder may sleep in between.
 * - The fence is stored beside the protected data, and as durably, with each write, or before it.
 * - A holder shows its ticket at its first access, even if that is a read. From then on earlier
 *   holders are refused, but no sooner. A late write may still overtake data that were read before.
 *
 * For a reader (redlock_shared in redlock.h) the last argument is true. Readers do not keep one
 * another out, but each keeps out writers that held the lock before it, whose late writes would
 * change the data that it reads.
 *
 * Memory:  the caller's. A fence is two numbers, to be stored and read back as such, {0} if there
 *          are none yet. Without readers the second stays 0.
 * Threads: nothing is global and nothing is locked (see above). */
#ifndef REDLOCK_FENCE_H
#define REDLOCK_FENCE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct redlock_fence {
    /* Largest ticket of a writer that was admitted; 0: none yet. Below 2^53, so that scripts and
     * JSON hold it exactly. */
    uint64_t largest;
    uint64_t largest_reader;    /* The same for readers. */
};

/* True if no larger ticket has been here. This one is then remembered. An equal ticket is admitted,
 * since a holder may write as often as it likes, unless it is a reader's, since that came after a
 * writer with it. A reader is admitted if no writer with a larger ticket has been here. 0, which is
 * no ticket, is never admitted. False: nothing has changed. */
static inline bool redlock_fence_admit(struct redlock_fence *fence, uint64_t ticket, bool is_reader)
{
    uint64_t *largest = is_reader ? &fence->largest_reader : &fence->largest;

    if (ticket == 0 || ticket < fence->largest) return false;
    if (!is_reader && ticket <= fence->largest_reader) return false;
    if (ticket > *largest) *largest = ticket;
    return true;
}

#ifdef __cplusplus
}
#endif
#endif
