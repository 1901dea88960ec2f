/* The resource's side of tickets. */
#include "../../tap.h"

#include "../../../redlock/redlock_fence.h"

TEST(s15_a_fence_that_has_seen_nothing_admits_any_ticket_but_0)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        struct redlock_fence fence = { 0 };
        CHECK(redlock_fence_admit(&fence, (uint64_t)1 << bit, false));
    }
}

TEST(s15_a_late_holder_is_refused_and_changes_nothing)
{
    struct redlock_fence fence = { 0 };

    CHECK(redlock_fence_admit(&fence, 33, false));
    CHECK(redlock_fence_admit(&fence, 34, false));
    CHECK(!redlock_fence_admit(&fence, 33, false));
    CHECK(!redlock_fence_admit(&fence, 33, false));
    CHECK_INT(fence.largest, 34);
    CHECK(redlock_fence_admit(&fence, 34, false));
}

TEST(s15_one_holder_may_write_twice)
{
    struct redlock_fence fence = { 0 };

    CHECK(redlock_fence_admit(&fence, 33, false));
    CHECK(redlock_fence_admit(&fence, 33, false));
}

TEST(s15_readers_do_not_keep_each_other_out)
{
    struct redlock_fence fence = { 0 };

    CHECK(redlock_fence_admit(&fence, 33, false));
    CHECK(redlock_fence_admit(&fence, 35, true));
    CHECK(redlock_fence_admit(&fence, 34, true));
    CHECK(redlock_fence_admit(&fence, 33, true));
    CHECK_INT(fence.largest, 33);
    CHECK_INT(fence.largest_reader, 35);
}

TEST(s15_a_late_reader_is_refused)
{
    struct redlock_fence fence = { 0 };

    CHECK(!redlock_fence_admit(&fence, 0, true));
    CHECK(redlock_fence_admit(&fence, 34, false));
    CHECK(!redlock_fence_admit(&fence, 33, true));
    CHECK(!redlock_fence_admit(&fence, 0, true));
    CHECK_INT(fence.largest_reader, 0);
}

TEST(s15_a_reader_keeps_writers_out_that_came_before_it)
{
    struct redlock_fence fence = { 0 };

    CHECK(redlock_fence_admit(&fence, 33, false));
    CHECK(redlock_fence_admit(&fence, 34, true));
    CHECK(!redlock_fence_admit(&fence, 33, false));
    CHECK(!redlock_fence_admit(&fence, 34, false));
    CHECK(redlock_fence_admit(&fence, 35, false));
}

TEST(s15_a_writer_without_a_ticket_is_never_admitted)
{
    struct redlock_fence fence = { 0 };

    CHECK(!redlock_fence_admit(&fence, 0, false));
    CHECK(redlock_fence_admit(&fence, 1, false));
    CHECK(!redlock_fence_admit(&fence, 0, false));
    CHECK_INT(fence.largest, 1);
}

TEST(s15_tickets_beyond_what_a_double_holds_are_told_apart)
{
    struct redlock_fence fence = { 0 };

    CHECK(redlock_fence_admit(&fence, ((uint64_t)1 << 53) + 1, false));
    CHECK(!redlock_fence_admit(&fence, (uint64_t)1 << 53, false));
    CHECK(redlock_fence_admit(&fence, UINT64_MAX, false));
    CHECK(!redlock_fence_admit(&fence, UINT64_MAX - 1, false));
}

/* Tried in every order in which six writes with tickets 0 to 3 can arrive. */
TEST(s15_a_write_is_admitted_exactly_when_no_larger_ticket_came_before)
{
    enum { WRITES = 6, TICKETS = 4, ORDERS = 1 << (2 * WRITES) };    /* Two bits a ticket. */

    for (unsigned order = 0; order < ORDERS; order++) {
        struct redlock_fence fence = { 0 };
        uint64_t largest = 0;

        for (unsigned i = 0; i < WRITES; i++) {
            uint64_t ticket = order >> (2 * i) & (TICKETS - 1);
            CHECK_INT(redlock_fence_admit(&fence, ticket, false), ticket != 0 && ticket >= largest);
            if (ticket > largest) largest = ticket;
            CHECK_INT(fence.largest, largest);
        }
    }
}

TAP_MAIN
