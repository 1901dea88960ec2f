#include "ticket.h"

#include "names.h"

/* S15: without a valid wall clock there is no ticket. A counter must outlive every attempt from
 * before a restart by as much as wall clocks may differ, like a node's guard. A plain lock has no
 * permits, with a ticket or without. */
static enum redlock_status ticket_check(const struct redlock *r,
                                        const struct redlock_request *request)
{
    uint64_t life_min_ms =
        (uint64_t)request->ttl_ms + r->config.guard_ms + 2 * (uint64_t)r->config.ticket_skew_ms;

    if (request->permits > 0 && (!request->kind || request->kind == &redlock_plain))
        return REDLOCK_BAD_KIND;
    if (r->config.ticket_life_ms < life_min_ms) return REDLOCK_BAD_CONFIG;
    return request->wall_us > 0 && request->wall_us <= WIRE_TICKET_MAX ? REDLOCK_OK
                                                                       : REDLOCK_BAD_CLOCK;
}

/* Readers may have the same ticket. A lock that also writes another resource may not, since the
 * number belongs to both resources. */
static bool may_have_the_same(const struct redlock_lock *lock)
{
    bool is_reader = true;

    for (unsigned i = 0; i < lock->name_count; i++)
        is_reader = is_reader && names_of(lock)[i].shared;
    return is_reader;
}

/* The offset of the wall clock wraps if there is none. */
REDLOCK_WRAPS void ticket_start(struct redlock_lock *lock, const struct redlock_request *request,
                                uint64_t now_us)
{
    lock->has_ticket = request->ticket;
    lock->ticket = lock->ticket_seen = 0;
    lock->is_corrected = lock->is_ahead = false;
    lock->wall_offset_us = request->wall_us - now_us;
}

/* S15: more than the wall clock, than every counter that a node reported, and than the last
 * proposal. But a node with a wrong clock may report a counter that all others find too far ahead.
 * After that only the wall clock counts, for one attempt. */
REDLOCK_WRAPS static bool ticket_propose(const struct redlock *r, struct redlock_lock *lock)
{
    uint64_t wall = r->now_us + lock->wall_offset_us, seen = later(lock->ticket, lock->ticket_seen);
    bool is_too_far = lock->is_ahead || seen >= WIRE_TICKET_MAX;

    REDLOCK_CHECK(has_ticket(lock));
    lock->ticket_seen = 0;      /* The ticket is no less, unless it is too far. */
    lock->is_ahead = false;
    lock->ticket = is_too_far ? wall : later(wall, seen + !may_have_the_same(lock));
    return lock->ticket <= WIRE_TICKET_MAX;
}

void ticket_found_ahead(struct redlock_lock *lock)
{
    lock->is_ahead = lock->ticket > lock->round.started_at + lock->wall_offset_us;
}

static bool ticket_is_behind(const struct redlock *r, const struct redlock_lock *lock)
{
    bool is_outdated =
        lock->ticket_seen >= lock->ticket + may_have_the_same(lock) && lock->taken == 0;

    return is_outdated && !lock->is_corrected &&
           (r->now_us < lock->wait_until || lock->wait_until == 0);
}

const struct redlock_ticketing *ticket_feature(void)
{
    static const struct redlock_ticketing feature = {
        .check = ticket_check, .propose = ticket_propose, .is_behind = ticket_is_behind
    };

    return &feature;
}
