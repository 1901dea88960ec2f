/* Queues, the heap and the tree of locks, held against plain arrays through random operations. */
#include "../../tap.h"

#include "../../../redlock/queue.h"

#include <string.h>

enum { LOCKS = 200, STEPS = 200000 };

static struct redlock_lock locks[LOCKS];

static uint32_t dice(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* The model of a queue is the numbers of locks in order. */
struct model {
    unsigned items[LOCKS], count;
};

static void model_remove(struct model *model, unsigned lock)
{
    for (unsigned i = 0; i < model->count; i++)
        if (model->items[i] == lock) {
            memmove(&model->items[i], &model->items[i + 1],
                    (model->count - i - 1) * sizeof model->items[0]);
            model->count--;
            return;
        }
}

static bool model_holds(const struct model *model, unsigned lock)
{
    for (unsigned i = 0; i < model->count; i++)
        if (model->items[i] == lock) return true;
    return false;
}

static void check_queue(const struct redlock_queue *queue, const struct model *model, unsigned slot)
{
    const struct redlock_lock *lock = queue->first, *previous = NULL;

    for (unsigned i = 0; i < model->count; i++) {
        CHECK(lock == &locks[model->items[i]]);
        CHECK(lock->links[slot].previous == previous);
        previous = lock;
        lock = lock->links[slot].next;
    }
    CHECK(lock == NULL);
    CHECK(queue->last == previous);
}

TEST(a_queue_keeps_the_order_whatever_is_taken_out_of_its_middle)
{
    struct redlock_queue queue = { 0 };
    struct model model = { .count = 0 };
    uint32_t seed = 1;

    memset(locks, 0, sizeof locks);
    for (unsigned step = 0; step < 20000; step++) {
        unsigned i = dice(&seed) % LOCKS;
        if (dice(&seed) % 2) {
            if (!model_holds(&model, i)) model.items[model.count++] = i;
            queue_add(&queue, &locks[i], REDLOCK_NODES_MAX);
        } else {
            model_remove(&model, i);
            queue_remove(&queue, &locks[i], REDLOCK_NODES_MAX);
        }
        CHECK_INT(queue_holds(&locks[i], REDLOCK_NODES_MAX), model_holds(&model, i));
        if (step % 64 == 0) check_queue(&queue, &model, REDLOCK_NODES_MAX);
    }
}

TEST(a_lock_can_wait_in_the_queues_of_all_nodes_at_once)
{
    struct redlock_queue queues[REDLOCK_NODES_MAX + 1] = { { 0 } };

    memset(locks, 0, sizeof locks);
    for (unsigned slot = 0; slot <= REDLOCK_NODES_MAX; slot++)
        for (unsigned i = 0; i < 3; i++) queue_add(&queues[slot], &locks[(i + slot) % 3], slot);
    for (unsigned slot = 0; slot <= REDLOCK_NODES_MAX; slot++) {
        queue_remove(&queues[slot], &locks[slot % 3], slot);
        CHECK(queues[slot].first == &locks[(slot + 1) % 3]);
        CHECK(queues[slot].last == &locks[(slot + 2) % 3]);
    }
}

/* Three locks, and one of them has moved. They are seen from both ends, and with another that comes
 * after them. The memory that the moved one left is overwritten, as it is the caller's again. */
static void check_copy(unsigned victim)
{
    struct redlock_queue queue = { 0 };
    struct redlock_lock copy, *expected[4];

    memset(locks, 0, sizeof locks);
    for (unsigned i = 0; i < 3; i++) queue_add(&queue, &locks[i], 2);
    copy = locks[victim];
    queue_replace(&queue, &copy, 2);
    memset(&locks[victim], 0xDD, sizeof locks[victim]);
    queue_add(&queue, &locks[3], 2);
    for (unsigned i = 0; i < 4; i++) expected[i] = i == victim ? &copy : &locks[i];
    CHECK(queue.first == expected[0] && queue.last == expected[3]);
    for (unsigned i = 0; i < 4; i++) {
        CHECK(expected[i]->links[2].next == (i < 3 ? expected[i + 1] : NULL));
        CHECK(expected[i]->links[2].previous == (i > 0 ? expected[i - 1] : NULL));
    }
    for (unsigned i = 0; i < 4; i++) {
        CHECK(queue.first == expected[i] && queue.last == expected[3]);
        queue_remove(&queue, expected[i], 2);
    }
    CHECK(!queue.first && !queue.last);
}

TEST(a_copy_takes_the_place_of_a_lock_in_a_queue)
{
    for (unsigned victim = 0; victim < 3; victim++) check_copy(victim);
}

TEST(the_copy_of_the_only_lock_is_first_and_last)
{
    struct redlock_queue queue = { 0 };
    struct redlock_lock copy;

    memset(locks, 0, sizeof locks);
    queue_add(&queue, &locks[0], 2);
    copy = locks[0];
    queue_replace(&queue, &copy, 2);
    CHECK(queue.first == &copy && queue.last == &copy);
}

TEST(the_heap_gives_the_earliest_whatever_was_put_moved_and_taken_out)
{
    struct redlock_lock *heap = NULL;
    uint64_t at[LOCKS];
    uint32_t seed = 7;

    memset(locks, 0, sizeof locks);
    for (unsigned i = 0; i < LOCKS; i++) at[i] = REDLOCK_NEVER;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = dice(&seed) % LOCKS;
        uint64_t least = REDLOCK_NEVER;

        at[i] = dice(&seed) % 3 == 0 ? REDLOCK_NEVER : dice(&seed) % 1000;
        heap_set(&heap, &locks[i], at[i]);
        CHECK_INT(locks[i].in_heap, at[i] != REDLOCK_NEVER);
        for (unsigned j = 0; j < LOCKS; j++) least = at[j] < least ? at[j] : least;
        CHECK_INT(heap ? heap->wake_at : REDLOCK_NEVER, least);
        CHECK(!heap || (!heap->heap_next && !heap->heap_previous));
    }
}

TEST(the_heap_takes_a_lock_at_time_0)
{
    struct redlock_lock *heap = NULL;

    memset(locks, 0, sizeof locks);
    heap_set(&heap, &locks[0], 0);
    CHECK(heap == &locks[0] && locks[0].in_heap);
}

/* Most calls of the engine set the time that a lock has already. */
TEST(a_lock_that_is_set_to_the_time_that_it_has_does_not_move_in_the_heap)
{
    struct redlock_lock *heap = NULL, *top;

    memset(locks, 0, sizeof locks);
    for (unsigned i = 0; i < 3; i++) heap_set(&heap, &locks[i], 5);
    top = heap;
    heap_set(&heap, top, 5);
    CHECK(heap == top);
}

TEST(the_heap_sorts_many_locks)
{
    struct redlock_lock *heap = NULL;
    uint64_t last = 0;
    uint32_t seed = 3;

    memset(locks, 0, sizeof locks);
    for (unsigned i = 0; i < LOCKS; i++) heap_set(&heap, &locks[i], dice(&seed));
    for (unsigned i = 0; i < LOCKS; i++) {
        CHECK(heap != NULL && heap->wake_at >= last);
        last = heap->wake_at;
        heap_set(&heap, heap, REDLOCK_NEVER);
    }
    CHECK(heap == NULL);
}

static unsigned depth_of(const struct redlock_lock *lock)
{
    unsigned left = lock ? depth_of(lock->use.below[0]) : 0,
             right = lock ? depth_of(lock->use.below[1]) : 0;

    return lock ? 1 + (left > right ? left : right) : 0;
}

TEST(a_lock_is_found_by_its_number_whoever_came_and_went)
{
    struct redlock_lock *first = NULL;
    bool is_there[LOCKS] = { false };
    uint32_t seed = 5;

    memset(locks, 0, sizeof locks);
    for (unsigned i = 0; i < LOCKS; i++) locks[i].wait_number = i % 2 ? i : UINT32_MAX - i * 65536;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = 1 + dice(&seed) % (LOCKS - 1), j = 1 + dice(&seed) % (LOCKS - 1);
        is_there[i] = dice(&seed) % 2;
        if (is_there[i]) number_add(&first, &locks[i]);
        else             number_remove(&first, &locks[i]);
        CHECK(number_find(first, locks[j].wait_number) == (is_there[j] ? &locks[j] : NULL));
        CHECK(number_find(first, 0) == NULL);
    }
    CHECK(depth_of(first) <= 33);
    for (unsigned i = 1; i < LOCKS; i++) number_remove(&first, &locks[i]);
    CHECK(first == NULL);
}

TEST(a_number_is_found_in_few_steps_among_many_given_in_a_row)
{
    struct redlock_lock *first = NULL;

    memset(locks, 0, sizeof locks);
    for (unsigned i = 0; i < LOCKS; i++) {
        locks[i].wait_number = 1000 + i;
        number_add(&first, &locks[i]);
    }
    CHECK(depth_of(first) <= 10);       /* 2^8 > LOCKS, and a way is uneven by little. */
}

TEST(a_number_that_is_taken_stays_with_the_lock_that_had_it)
{
    struct redlock_lock *first = NULL;

    memset(locks, 0, sizeof locks);
    locks[0].wait_number = locks[1].wait_number = 7;
    number_add(&first, &locks[0]);
    number_add(&first, &locks[1]);
    CHECK(number_find(first, 7) == &locks[0]);
    number_remove(&first, &locks[1]);
    CHECK(number_find(first, 7) == &locks[0]);
}

TAP_MAIN
