/* Locks wait in queues, for a node or for the caller, in a heap, for a time, and in a tree, for
 * their number to be called. All hang on links within the locks, so that they need no memory and
 * know no limit. Knows nothing about a lock's purpose. */
#ifndef REDLOCK_QUEUE_H
#define REDLOCK_QUEUE_H

#include "private.h"
#include "redlock.h"

/* Appends a lock to a queue by its link number slot. A lock that is in it stays in its place. */
REDLOCK_PRIVATE void queue_add(struct redlock_queue *queue, struct redlock_lock *lock,
                               unsigned slot);

/* Takes a lock out. A lock that is not in the queue stays out. */
REDLOCK_PRIVATE void queue_remove(struct redlock_queue *queue, struct redlock_lock *lock,
                                  unsigned slot);

REDLOCK_PRIVATE bool queue_holds(const struct redlock_lock *lock, unsigned slot);

/* Puts to, a copy of from, in its place. */
REDLOCK_PRIVATE void queue_replace(struct redlock_queue *queue, struct redlock_lock *to,
                                   unsigned slot);

/* Puts a lock into the heap to be woken at wake_at, or moves it there. REDLOCK_NEVER
 * takes it out. */
REDLOCK_PRIVATE void heap_set(struct redlock_lock **heap, struct redlock_lock *lock,
                              uint64_t wake_at);

/* The lock with that wait_number in the tree whose first lock is first. NULL: there is none. */
REDLOCK_PRIVATE struct redlock_lock *number_find(struct redlock_lock *first, uint32_t number);

/* Puts a lock into the tree by its wait_number, unless that number is there. number_remove takes a
 * lock out. A lock that is not there stays out. */
REDLOCK_PRIVATE void number_add(struct redlock_lock **first, struct redlock_lock *lock);
REDLOCK_PRIVATE void number_remove(struct redlock_lock **first, struct redlock_lock *lock);

#endif
