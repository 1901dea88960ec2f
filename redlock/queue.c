#include "queue.h"

bool queue_holds(const struct redlock_lock *lock, unsigned slot)
{
    return (lock->queued >> slot) & 1;
}

/* The pointers to the lock after `previous`, and to the one before `next`. NULL: there is none. */
static struct redlock_lock **place_behind(struct redlock_queue *queue,
                                          struct redlock_lock *previous, unsigned slot)
{
    return previous ? &previous->links[slot].next : &queue->first;
}

static struct redlock_lock **place_before(struct redlock_queue *queue, struct redlock_lock *next,
                                          unsigned slot)
{
    return next ? &next->links[slot].previous : &queue->last;
}

/* A lock that was made new while it waits for a node is found when it is added after itself, or
 * when another one is taken out from after it. A lock that has ended, and that nobody has been told
 * about, may be made new. */
void queue_add(struct redlock_queue *queue, struct redlock_lock *lock, unsigned slot)
{
    if (queue_holds(lock, slot)) return;
    REDLOCK_CHECK(slot == REDLOCK_NODES_MAX || queue->last != lock);
    lock->queued |= (uint16_t)(1u << slot);
    lock->links[slot] = (struct redlock_link){ .next = NULL, .previous = queue->last };
    *place_behind(queue, queue->last, slot) = lock;
    queue->last = lock;
}

void queue_remove(struct redlock_queue *queue, struct redlock_lock *lock, unsigned slot)
{
    struct redlock_link *link = &lock->links[slot];
    struct redlock_lock **place = place_behind(queue, link->previous, slot);

    if (!queue_holds(lock, slot)) return;
    REDLOCK_CHECK(slot == REDLOCK_NODES_MAX || *place == lock);
    lock->queued &= (uint16_t)~(1u << slot);
    *place = link->next;
    *place_before(queue, link->next, slot) = link->previous;
}

void queue_replace(struct redlock_queue *queue, struct redlock_lock *to, unsigned slot)
{
    struct redlock_link *link = &to->links[slot];

    if (!queue_holds(to, slot)) return;
    *place_behind(queue, link->previous, slot) = to;
    *place_before(queue, link->next, slot) = to;
}

/* A pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986): no lock wakes before the one above it.
 * heap_child is the first lock below, heap_next the sibling to the right, heap_previous the one to
 * the left, or the parent. */

/* Whatever siblings the two had, the lower one has others afterwards, and those of the upper one
 * are left to the caller. */
static struct redlock_lock *heap_join(struct redlock_lock *a, struct redlock_lock *b)
{
    if (!a) return b;
    if (!b) return a;
    REDLOCK_CHECK(a != b);
    if (b->wake_at < a->wake_at) {
        struct redlock_lock *swap = a;
        a = b;
        b = swap;
    }
    b->heap_previous = a;
    b->heap_next = a->heap_child;
    if (b->heap_next) b->heap_next->heap_previous = b;
    a->heap_child = b;
    return a;
}

/* Joins siblings, two by two from the left, then the results from the right. */
static struct redlock_lock *heap_join_all(struct redlock_lock *first)
{
    struct redlock_lock *pairs = NULL, *joined = NULL;

    while (first) {
        struct redlock_lock *a = first, *b = first->heap_next;
        first = b ? b->heap_next : NULL;
        a = heap_join(a, b);
        a->heap_next = pairs;
        pairs = a;
    }
    while (pairs) {
        struct redlock_lock *rest = pairs->heap_next;
        joined = heap_join(joined, pairs);
        pairs = rest;
    }
    return joined;
}

static void heap_remove(struct redlock_lock **heap, struct redlock_lock *lock)
{
    struct redlock_lock *children = heap_join_all(lock->heap_child);

    if (*heap == lock) {
        *heap = children;
    } else {
        if (lock->heap_previous->heap_child == lock)
            lock->heap_previous->heap_child = lock->heap_next;
        else lock->heap_previous->heap_next = lock->heap_next;
        if (lock->heap_next) lock->heap_next->heap_previous = lock->heap_previous;
        *heap = heap_join(*heap, children);
    }
    if (*heap) (*heap)->heap_next = (*heap)->heap_previous = NULL;
    lock->heap_child = lock->heap_next = lock->heap_previous = NULL;
    lock->in_heap = false;
}

void heap_set(struct redlock_lock **heap, struct redlock_lock *lock, uint64_t wake_at)
{
    if (lock->in_heap && lock->wake_at == wake_at) return;
    if (lock->in_heap) heap_remove(heap, lock);
    lock->wake_at = wake_at;
    if (wake_at == REDLOCK_NEVER) return;
    lock->in_heap = true;
    *heap = heap_join(*heap, lock);
    (*heap)->heap_next = (*heap)->heap_previous = NULL;
}

/* A digital search tree (Coffman, Eve 1970): at each lock one bit of the wanted number gives the
 * way down, from the lowest bit on. Numbers are given one after the other, so the tree is balanced
 * without any care, and no way is longer than the bits of a number. */

/* The place where the lock with the number hangs, or would. */
static struct redlock_lock **number_place(struct redlock_lock **at, uint32_t number)
{
    for (uint32_t bits = number; *at && (*at)->wait_number != number; bits >>= 1)
        at = &(*at)->use.below[bits & 1];
    return at;
}

struct redlock_lock *number_find(struct redlock_lock *first, uint32_t number)
{
    return *number_place(&first, number);
}

void number_add(struct redlock_lock **first, struct redlock_lock *lock)
{
    struct redlock_lock **place = number_place(first, lock->wait_number);

    if (*place) return;
    REDLOCK_CHECK(place != &lock->use.below[0] && place != &lock->use.below[1]);
    lock->use.below[0] = lock->use.below[1] = NULL;
    *place = lock;
}

/* Any lock below may take its place, since all of them share the bits that lead there. */
void number_remove(struct redlock_lock **first, struct redlock_lock *lock)
{
    struct redlock_lock **place = number_place(first, lock->wait_number), **leaf = place, *heir;

    if (*place != lock) return;
    while ((*leaf)->use.below[0] || (*leaf)->use.below[1])
        leaf = &(*leaf)->use.below[(*leaf)->use.below[0] == NULL];
    heir = *leaf;
    *leaf = NULL;
    if (heir == lock) return;
    copy_bytes(heir->use.below, lock->use.below, sizeof heir->use.below);
    *place = heir;
}
