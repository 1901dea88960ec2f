/* redlock.hpp: guards for C++11 and later, over the calls of redlock_client.h, redlock_keeper.h and redlock_reentrant.h. It is
 * header only, throws nothing, and needs neither exceptions nor RTTI nor the library of C++. The namespace is redlocks, since
 * redlock is a struct.
 *
 *     auto held = redlocks::acquire(client, door, redlocks::request("door", 10000, 2000));      (TTL, wait: ms)
 *     if (!held) return held.status();
 *     ...
 *                                                       released when held goes out of scope
 *
 * A guard refers to a client or keeper and to a lock, like std::unique_lock to a mutex. All of them outlive it, and the lock
 * stays where it is while the guard is moved. It belongs to one thread at a time, and so does its client.
 *
 * It is true while the lock is held, by the clock (S10), not because it was acquired. Ask it before every step that two clients
 * must not take. Its end releases, and may block like redlock_release. Its status is lost. The client owes the releases that a
 * node did not confirm and pays them later, or they end with their TTL. Call release() to learn the status. */
#ifndef REDLOCK_HPP
#define REDLOCK_HPP

#include "redlock_reentrant.h"

#include <string.h>

namespace redlocks {

/* A request with every other field at its default. The name is not copied (see redlock_request). */
inline redlock_request request(const char *resource, uint32_t ttl_ms, uint32_t wait_ms = 0) noexcept
{
    redlock_request made;
    redlock_request_init(&made);
    made.resource = resource;
    made.resource_size = strlen(resource);
    made.ttl_ms = ttl_ms;
    made.wait_ms = wait_ms;
    return made;
}

/* An owner for redlock_enter. No two threads have the same at a time. */
inline uint64_t this_thread() noexcept
{
    static thread_local char here;
    return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(&here));
}

/* The calls of C, with one name for each. Private. */
namespace detail {

inline redlock_status let_go(redlock_client *c, redlock_lock *lock, uint64_t, unsigned *confirmed) noexcept
{
    return redlock_release(c, lock, confirmed);
}

inline redlock_status let_go(redlock_keeper *keeper, redlock_kept *kept, uint64_t, unsigned *confirmed) noexcept
{
    return redlock_keeper_release(keeper, kept, confirmed);
}

inline redlock_status let_go(redlock_client *c, redlock_reentrant *lock, uint64_t owner, unsigned *confirmed) noexcept
{
    return redlock_leave(c, lock, owner, confirmed);
}

inline redlock_status let_go(redlock_keeper *keeper, redlock_reentrant_kept *kept, uint64_t owner, unsigned *confirmed) noexcept
{
    return redlock_keeper_leave(keeper, kept, owner, confirmed);
}

inline uint32_t valid_ms(redlock_client *, redlock_lock *lock) noexcept { return redlock_valid_ms(lock); }
inline uint32_t valid_ms(redlock_client *, redlock_reentrant *lock) noexcept { return redlock_valid_ms(&lock->lock); }
inline uint32_t valid_ms(redlock_keeper *keeper, redlock_kept *kept) noexcept { return redlock_view_kept(keeper, kept).valid_ms; }
inline uint32_t valid_ms(redlock_keeper *keeper, redlock_reentrant_kept *kept) noexcept
{
    return redlock_view_kept(keeper, &kept->kept).valid_ms;
}

inline uint64_t ticket(redlock_client *, redlock_lock *lock) noexcept { return redlock_ticket(lock); }
inline uint64_t ticket(redlock_client *, redlock_reentrant *lock) noexcept { return redlock_ticket(&lock->lock); }
inline uint64_t ticket(redlock_keeper *keeper, redlock_kept *kept) noexcept { return redlock_view_kept(keeper, kept).ticket; }
inline uint64_t ticket(redlock_keeper *keeper, redlock_reentrant_kept *kept) noexcept
{
    return redlock_view_kept(keeper, &kept->kept).ticket;
}

}   /* namespace detail */

/* It can be moved, not copied. */
template <class Place, class Lock> class basic_guard {
public:
    /* A guard of nothing has the status LOST. */
    basic_guard() noexcept : place_(nullptr), lock_(nullptr), owner_(0), status_(REDLOCK_LOST) { }

    /* A guard of a lock that was acquired, or could not be, with this status. */
    basic_guard(Place &place, Lock &lock, redlock_status status, uint64_t owner = 0) noexcept
        : place_(&place), lock_(status == REDLOCK_OK ? &lock : nullptr), owner_(owner), status_(status)
    {
    }

    basic_guard(const basic_guard &) = delete;
    basic_guard &operator=(const basic_guard &) = delete;

    /* The other one then guards nothing. */
    basic_guard(basic_guard &&other) noexcept
        : place_(other.place_), lock_(other.lock_), owner_(other.owner_), status_(other.status_)
    {
        other.lock_ = nullptr;
        other.status_ = REDLOCK_LOST;
    }

    /* Releases its earlier lock first. */
    basic_guard &operator=(basic_guard &&other) noexcept
    {
        if (this == &other) return *this;
        (void)release();
        place_ = other.place_;
        lock_ = other.lock_;
        owner_ = other.owner_;
        status_ = other.status_;
        other.lock_ = nullptr;
        other.status_ = REDLOCK_LOST;
        return *this;
    }

    ~basic_guard() noexcept { (void)release(); }

    /* True if it is held now, for a millisecond or more. */
    explicit operator bool() const noexcept { return valid_ms() > 0; }

    /* OK: held now. LOST: it was held, or it guards nothing. Any other status: why it could not be acquired. */
    redlock_status status() const noexcept { return status_ == REDLOCK_OK && valid_ms() == 0 ? REDLOCK_LOST : status_; }

    uint32_t valid_ms() const noexcept { return lock_ ? detail::valid_ms(place_, lock_) : 0; }

    uint64_t ticket() const noexcept { return lock_ ? detail::ticket(place_, lock_) : 0; }

    /* Releases now, like redlock_release, redlock_leave and their kind, and then guards nothing. But after BAD_STATE, FORKED and
     * NOT_OPEN nothing has changed. LOST: there was nothing to release. */
    redlock_status release(unsigned *confirmed = nullptr) noexcept
    {
        redlock_status status = REDLOCK_LOST;
        if (confirmed) *confirmed = 0;
        if (!lock_) return status;
        status = detail::let_go(place_, lock_, owner_, confirmed);
        if (status != REDLOCK_OK && status != REDLOCK_LOST) return status;
        lock_ = nullptr;
        status_ = REDLOCK_LOST;
        return status;
    }

private:
    Place *place_;
    Lock *lock_;                /* nullptr: none. */
    uint64_t owner_;
    redlock_status status_;
};

using guard = basic_guard<redlock_client, redlock_lock>;
using kept_guard = basic_guard<redlock_keeper, redlock_kept>;
using reentrant_guard = basic_guard<redlock_client, redlock_reentrant>;
using reentrant_kept_guard = basic_guard<redlock_keeper, redlock_reentrant_kept>;

/* Like redlock_acquire_request and redlock_keeper_acquire. */
REDLOCK_MUST_CHECK
inline guard acquire(redlock_client &c, redlock_lock &lock, const redlock_request &request) noexcept
{
    return guard(c, lock, redlock_acquire_request(&c, &lock, &request));
}

REDLOCK_MUST_CHECK
inline kept_guard acquire(redlock_keeper &keeper, redlock_kept &kept, const redlock_request &request, uint32_t hold_ms = 0) noexcept
{
    return kept_guard(keeper, kept, redlock_keeper_acquire(&keeper, &kept, &request, hold_ms));
}

/* Like redlock_enter and redlock_keeper_enter. Each guard is a scope. */
REDLOCK_MUST_CHECK
inline reentrant_guard enter(redlock_client &c, redlock_reentrant &lock, const redlock_request &request,
                             uint64_t owner = this_thread()) noexcept
{
    return reentrant_guard(c, lock, redlock_enter(&c, &lock, owner, &request), owner);
}

REDLOCK_MUST_CHECK
inline reentrant_kept_guard enter(redlock_keeper &keeper, redlock_reentrant_kept &kept, const redlock_request &request,
                                  uint32_t hold_ms = 0, uint64_t owner = this_thread()) noexcept
{
    return reentrant_kept_guard(keeper, kept, redlock_keeper_enter(&keeper, &kept, owner, &request, hold_ms), owner);
}

}   /* namespace redlocks */

#endif
