/* redlock/redlock.hpp over calls of C that a script plays: what a guard asks of them, how often and in which order. Prints TAP. */
#include "../../../redlock/redlock.hpp"

#include <stdio.h>
#include <string.h>

/* ---- What the library is said to do ---- */

namespace {

struct script {
    redlock_status acquires, releases;
    uint32_t valid_ms;
    unsigned acquired, released, depth;
    const void *last_lock;
    uint64_t last_owner;
    uint32_t last_hold_ms, last_ttl_ms, last_wait_ms;
} play;

redlock_status acquire_one(const void *lock, uint64_t owner, const redlock_request *request)
{
    play.last_lock = lock;
    play.last_owner = owner;
    play.last_ttl_ms = request->ttl_ms;
    play.last_wait_ms = request->wait_ms;
    play.acquired++;
    if (play.acquires == REDLOCK_OK) play.depth++;
    return play.acquires;
}

redlock_status release_one(const void *lock, uint64_t owner, unsigned *confirmed)
{
    play.last_lock = lock;
    play.last_owner = owner;
    play.released++;
    if (confirmed) *confirmed = 3;
    if (play.releases == REDLOCK_OK || play.releases == REDLOCK_LOST) play.depth--;
    return play.releases;
}

}   /* namespace */

extern "C" {

void redlock_request_init(redlock_request *request) { memset(request, 0, sizeof *request); }

redlock_status redlock_acquire_request(redlock_client *, redlock_lock *lock, const redlock_request *request)
{
    return acquire_one(lock, 0, request);
}

redlock_status redlock_release(redlock_client *, redlock_lock *lock, unsigned *confirmed)
{
    return release_one(lock, 0, confirmed);
}

uint32_t redlock_valid_ms(const redlock_lock *) { return play.valid_ms; }
uint64_t redlock_ticket(const redlock_lock *) { return 7; }

redlock_status redlock_keeper_acquire(redlock_keeper *, redlock_kept *kept, const redlock_request *request, uint32_t hold_ms)
{
    play.last_hold_ms = hold_ms;
    return acquire_one(kept, 0, request);
}

redlock_status redlock_keeper_release(redlock_keeper *, redlock_kept *kept, unsigned *confirmed)
{
    return release_one(kept, 0, confirmed);
}

redlock_kept_view redlock_view_kept(redlock_keeper *, redlock_kept *)
{
    redlock_kept_view view = redlock_kept_view();
    view.valid_ms = play.valid_ms;
    view.ticket = 8;
    return view;
}

redlock_status redlock_enter(redlock_client *, redlock_reentrant *lock, uint64_t owner, const redlock_request *request)
{
    return acquire_one(lock, owner, request);
}

redlock_status redlock_leave(redlock_client *, redlock_reentrant *lock, uint64_t owner, unsigned *confirmed)
{
    return release_one(lock, owner, confirmed);
}

redlock_status redlock_keeper_enter(redlock_keeper *, redlock_reentrant_kept *kept, uint64_t owner, const redlock_request *request,
                                    uint32_t hold_ms)
{
    play.last_hold_ms = hold_ms;
    return acquire_one(kept, owner, request);
}

redlock_status redlock_keeper_leave(redlock_keeper *, redlock_reentrant_kept *kept, uint64_t owner, unsigned *confirmed)
{
    return release_one(kept, owner, confirmed);
}

}   /* extern "C" */

/* ---- The tests ---- */

namespace {

redlock_client client;
redlock_keeper keeper;
redlock_lock door, gate;
redlock_kept kept;
redlock_reentrant home;
redlock_reentrant_kept shared;
unsigned count, failed;
bool is_well;

#define NEED(condition)                                                          \
    do {                                                                         \
        if (!(condition)) {                                                      \
            printf("# line %d: %s\n", __LINE__, #condition);                     \
            is_well = false;                                                     \
        }                                                                        \
    } while (0)

void begin()
{
    play = script();
    play.valid_ms = 9898;
    is_well = true;
}

void point(const char *name)
{
    count++;
    failed += is_well ? 0 : 1;
    printf("%s %u - %s\n", is_well ? "ok" : "not ok", count, name);
}

const redlock_request a_door = redlocks::request("door", 10000, 2000);

void ends_with_its_block()
{
    begin();
    {
        auto held = redlocks::acquire(client, door, a_door);
        NEED(held);
        NEED(held.status() == REDLOCK_OK && held.valid_ms() == 9898 && held.ticket() == 7);
        NEED(play.acquired == 1 && play.released == 0 && play.last_lock == &door);
        NEED(play.last_ttl_ms == 10000 && play.last_wait_ms == 2000 && a_door.resource_size == 4);
    }
    NEED(play.released == 1 && play.depth == 0);
    point("a guard releases at the end of its block");
}

void releases_nothing_that_it_has_not()
{
    begin();
    play.acquires = REDLOCK_TIMEOUT;
    {
        auto held = redlocks::acquire(client, door, a_door);
        NEED(!held);
        NEED(held.status() == REDLOCK_TIMEOUT && held.valid_ms() == 0 && held.ticket() == 0);
        NEED(held.release() == REDLOCK_LOST);
    }
    NEED(play.acquired == 1 && play.released == 0);
    point("a lock that could not be acquired is not released");
}

void is_held_by_the_clock()
{
    begin();
    {
        auto held = redlocks::acquire(client, door, a_door);
        play.valid_ms = 0;
        play.releases = REDLOCK_LOST;
        NEED(!held && held.status() == REDLOCK_LOST);
    }
    NEED(play.released == 1);       /* A lock whose validity has ended still belongs to the client. */
    point("s10 a guard is false when the validity has ended, and still gives the lock back");
}

redlocks::guard make(redlock_lock &lock)
{
    auto held = redlocks::acquire(client, lock, a_door);
    return held;
}

void moves()
{
    begin();
    {
        redlocks::guard outer;
        NEED(!outer && outer.status() == REDLOCK_LOST);
        {
            redlocks::guard inner = make(door);
            redlocks::guard next(static_cast<redlocks::guard &&>(inner));
            NEED(!inner && inner.status() == REDLOCK_LOST && inner.release() == REDLOCK_LOST);
            NEED(next);
            outer = static_cast<redlocks::guard &&>(next);
            NEED(!next && outer && play.released == 0);
        }
        NEED(play.released == 0);
        redlocks::guard &same = outer;
        outer = static_cast<redlocks::guard &&>(same);
        NEED(outer && play.released == 0);
        outer = make(gate);
        NEED(outer && play.released == 1 && play.last_lock == &door && play.depth == 1);
    }
    NEED(play.released == 2 && play.last_lock == &gate && play.depth == 0);
    point("a guard that is moved releases once, where it has come to, and what the target had before");
}

void releases_by_hand()
{
    begin();
    unsigned confirmed = 0;
    {
        auto held = redlocks::acquire(client, door, a_door);
        play.releases = REDLOCK_BAD_STATE;
        NEED(held.release(&confirmed) == REDLOCK_BAD_STATE && held);
        play.releases = REDLOCK_OK;
        NEED(held.release(&confirmed) == REDLOCK_OK && confirmed == 3);
        NEED(!held && held.status() == REDLOCK_LOST);
        NEED(held.release(&confirmed) == REDLOCK_LOST && confirmed == 0);
    }
    NEED(play.released == 2 && play.depth == 0);
    point("a release by hand is the only one, unless it could not begin");
}

void keeps()
{
    begin();
    {
        auto held = redlocks::acquire(keeper, kept, a_door, 500);
        NEED(held && held.status() == REDLOCK_OK && held.ticket() == 8 && play.last_lock == &kept && play.last_hold_ms == 500);
    }
    NEED(play.released == 1 && play.last_lock == &kept);
    point("a guard of a lock that is kept");
}

void enters()
{
    begin();
    {
        auto outer = redlocks::enter(client, home, a_door);
        NEED(outer && outer.ticket() == 7 && play.last_owner == redlocks::this_thread() && play.last_owner != 0);
        auto inner = redlocks::enter(client, home, a_door, 42);
        NEED(inner && play.last_owner == 42 && play.depth == 2);
        NEED(inner.release() == REDLOCK_OK && play.last_owner == 42);
    }
    NEED(play.released == 2 && play.depth == 0 && play.last_owner == redlocks::this_thread());
    begin();
    {
        auto outer = redlocks::enter(keeper, shared, a_door, 500);
        NEED(outer && outer.ticket() == 8 && play.last_hold_ms == 500 && play.last_owner == redlocks::this_thread());
        auto inner = redlocks::enter(keeper, shared, a_door, 0, 43);
        NEED(inner && play.last_owner == 43 && play.last_lock == &shared);
    }
    NEED(play.released == 2 && play.depth == 0);
    point("guards of a lock that is entered again leave with the owner that they entered with");
}

/* What a template can ask of a type, without the library of C++. */
template <class T> T &&value() noexcept;
template <class To, class From, class = decltype(To(value<From>()))> constexpr bool is_made(int) { return true; }
template <class To, class From> constexpr bool is_made(long) { return false; }
template <class T> void take(T);
template <class To, class From, class = decltype(take<To>(value<From>()))> constexpr bool converts(int) { return true; }
template <class To, class From> constexpr bool converts(long) { return false; }

template <class Guard> constexpr bool is_proper()
{
    return is_made<Guard, Guard>(0) && !is_made<Guard, const Guard &>(0) && is_made<bool, const Guard &>(0) &&
           !converts<bool, const Guard &>(0) && !converts<int, const Guard &>(0) && noexcept(Guard(value<Guard>()));
}

static_assert(is_proper<redlocks::guard>() && is_proper<redlocks::kept_guard>(), "moved, not copied; bool only when asked");
static_assert(is_proper<redlocks::reentrant_guard>() && is_proper<redlocks::reentrant_kept_guard>(), "likewise");

}   /* namespace */

int main()
{
    ends_with_its_block();
    releases_nothing_that_it_has_not();
    is_held_by_the_clock();
    moves();
    releases_by_hand();
    keeps();
    enters();
    printf("1..%u\n", count);
    return failed > 0;
}
