#include "kinds.h"

#include "names.h"
#include "permits.h"
#include "ticket.h"

static bool is_shared(const struct redlock_request *request)
{
    return request->set ? names_are_shared(request->set, request->set_count) : request->shared;
}

static enum redlock_status check_features(const struct redlock *r, const struct redlock_request *request)
{
    enum redlock_status status = REDLOCK_OK;

    if (request->redisson) return r->bridging ? r->bridging->check(r, request) : REDLOCK_BAD_CONFIG;
    if (request->ticket) status = r->ticketing ? r->ticketing->check(r, request) : REDLOCK_BAD_CONFIG;
    if (is_shared(request) && !r->sharing) return REDLOCK_BAD_CONFIG;
    if (request->fair && status == REDLOCK_OK) return r->ordering ? r->ordering->check(request) : REDLOCK_BAD_CONFIG;
    if (status != REDLOCK_OK || request->permits == 0) return status;
    if (is_shared(request)) return REDLOCK_BAD_PERMITS;
    return r->permitting ? r->permitting->check(request) : REDLOCK_BAD_CONFIG;
}

/* A reader's key is removed by another script than a writer's. What has run out on all nodes owes nothing. */
static bool owes_in_another_role(const struct redlock *r, const struct redlock_lock *lock, const struct redlock_request *request)
{
    const struct redlock_name name = { .bytes = request->resource, .size = request->resource_size, .shared = request->shared };
    bool has_run_out = lock->owed == 0 && lock->outstanding == 0 && r->now_us >= lock->owed_until;

    if (!r->sharing || has_run_out) return false;
    return !names_have_same_roles(lock, request->set ? request->set : &name, request->set ? request->set_count : 1);
}

/* The keys of permits are others than those of a lock with that name, Redisson's are hashes, and a fair lock is in queues; and what
 * is owed by two tokens is paid before there is a third. */
static bool owes_as_another_kind(const struct redlock *r, const struct redlock_lock *lock, const struct redlock_request *request)
{
    bool is_of_two = r->sharing && r->sharing->has_two_tokens(lock);
    bool is_other = lock->permit.count != request->permits || is_bridged(r, lock) != request->redisson ||
                    lock->is_fair != request->fair;

    return !lock_is_idle(lock) && (is_other || is_of_two || owes_in_another_role(r, lock, request));
}

static const struct redlock_kind *kind_of(const struct redlock *r, const struct redlock_request *request)
{
    if (request->redisson)                     return r->bridging->kind();
    if (request->fair)                         return r->ordering->kind();
    if (is_shared(request))                    return r->sharing->kind();
    if (request->permits > 0)                  return r->permitting->kind();
    if (request->set && request->set_count > 1) return r->sets->kind();
    return request->ticket ? r->ticketing->kind() : &r->scripts->plain;
}

enum redlock_status kinds_choose(const struct redlock *r, struct redlock_lock *lock, const struct redlock_request *request)
{
    enum redlock_status status = check_features(r, request);

    if (status != REDLOCK_OK)                return status;
    if (owes_as_another_kind(r, lock, request)) return REDLOCK_BAD_STATE;
    lock->kind = kind_of(r, request);
    lock->permit = (struct redlock_permit){ .count = request->permits };
    lock->is_fair = request->fair;
    return REDLOCK_OK;
}
