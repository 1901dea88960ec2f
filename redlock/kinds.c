#include "kinds.h"

#include "names.h"
#include "permits.h"
#include "ticket.h"

static enum redlock_status check_features(const struct redlock *r, const struct redlock_request *request)
{
    enum redlock_status status = REDLOCK_OK;

    if (request->ticket) status = r->ticketing ? r->ticketing->check(r, request) : REDLOCK_BAD_CONFIG;
    if (status != REDLOCK_OK || request->permits == 0) return status;
    return r->permitting ? r->permitting->check(request) : REDLOCK_BAD_CONFIG;
}

/* The keys of permits are others than those of a lock with that name. */
static bool owes_as_another_kind(const struct redlock_lock *lock, const struct redlock_request *request)
{
    return !lock_is_idle(lock) && lock->permit.count != request->permits;
}

static const struct redlock_kind *kind_of(const struct redlock *r, const struct redlock_request *request)
{
    if (request->permits > 0)                  return r->permitting->kind();
    if (request->set && request->set_count > 1) return r->sets->kind();
    return request->ticket ? r->ticketing->kind() : &r->scripts->plain;
}

enum redlock_status kinds_choose(const struct redlock *r, struct redlock_lock *lock, const struct redlock_request *request)
{
    enum redlock_status status = check_features(r, request);

    if (status != REDLOCK_OK)                return status;
    if (owes_as_another_kind(lock, request)) return REDLOCK_BAD_STATE;
    lock->kind = kind_of(r, request);
    lock->permit = (struct redlock_permit){ .count = request->permits };
    return REDLOCK_OK;
}
