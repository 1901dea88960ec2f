/* redlock_reentrant: a lock that its owner may enter again, and scopes that leave by themselves. It
 * is for code whose functions each take the lock and call each other. It is optional. A program
 * that does not call it links none of it.
 *
 *     redlock_enter(&client, &door, owner, &request);           acquires
 *         redlock_enter(&client, &door, owner, &request);       counts, and sends nothing
 *         redlock_leave(&client, &door, owner, NULL);           counts
 *     redlock_leave(&client, &door, owner, NULL);               releases
 *
 * Re-entrance is a matter of this process. The nodes know of one lock, with one token, one ticket
 * and one validity, at any depth. (Counts on the nodes would differ from node to node after a lost
 * answer, and no vote mends that.) So an inner scope is promised only the rest of the lock's
 * validity. If the validity is over it is LOST, even if the lock is free, since the outer scope has
 * missed that it lost it, and must leave first. The lock is never acquired anew behind its back.
 *
 * Owner:   any number that distinguishes the owner from all others of the process, for instance a
 *          task's, or the address of a thread-local variable. An owner that ends leaves first,
 *          since its number may come again.
 * Another: an owner that is not inside gets TAKEN at once, however long its request would wait. It
 *          gets TAKEN even if the validity is over, until the owner that is inside has left. Owners
 *          that are to wait for each other have a structure each, and contend for the resource on
 *          the nodes, like processes.
 * Memory:  the caller's. A structure must stay where it is from the first enter until the last
 *          leave, like a lock. After the client or the keeper was closed it is made ready anew.
 * Threads: struct redlock_reentrant belongs to the thread that its client belongs to. Any thread
 *          may use struct redlock_reentrant_kept, like all that is the keeper's.
 * Forks:   a child is inside nothing. It gets FORKED, and nothing is sent. */
#ifndef REDLOCK_REENTRANT_H
#define REDLOCK_REENTRANT_H

#include "redlock_keeper.h"

#ifdef __cplusplus
extern "C" {
#define REDLOCK_SCOPE_NULL nullptr
#else
#define REDLOCK_SCOPE_NULL NULL
#endif

/* See ABI in redlock.h. */
#define redlock_reentrant_init REDLOCK_WITH_LAYOUT(redlock_reentrant_init)
#define redlock_reentrant_kept_init REDLOCK_WITH_LAYOUT(redlock_reentrant_kept_init)

/* The owner that is inside, and its depth. Private. */
struct redlock_inside {
    uint64_t owner;             /* Valid if the depth is not 0. */
    uint32_t depth;
};

/* Over a client. While an owner is inside, lock may be given to all calls that ask about a lock
 * (redlock_valid_ms, redlock_ticket), to redlock_extend, redlock_keep and redlock_run_for, but not
 * to calls that acquire, release, part or forget it. */
struct redlock_reentrant {
    struct redlock_lock lock;
    struct redlock_inside inside;
};

/* Over a keeper. kept may be given to redlock_view_kept and redlock_keeper_cancel. */
struct redlock_reentrant_kept {
    struct redlock_kept kept;
    struct redlock_inside inside;
};

/* Make it ready for its first use, with nobody inside. */
void redlock_reentrant_init(struct redlock_reentrant *reentrant);
void redlock_reentrant_kept_init(struct redlock_reentrant_kept *reentrant);

/* With nobody inside, it is like redlock_acquire_request, or redlock_keeper_acquire with hold_ms.
 * OK: the owner is inside, at depth 1. After any other status nobody is inside, and the next enter
 * begins anew.
 * If the owner that is inside calls it, no byte is sent. OK: one deeper. LOST: the validity is
 * over. TOO_LATE: less is left of it than request->min_validity_ms (redlock_extend it, and try
 * again). BAD_STATE: the held lock does not satisfy the request, because one of the resources is
 * none of the lock's, or is shared and is wanted alone (redlock_upgrade), or a ticket is asked for
 * and it has none, or one is a permit and the other is not. Nothing else of an inner request is
 * looked at, so a longer TTL has no effect. After any status but OK the depth is as before.
 * TAKEN: another owner is inside, or on its way in or out. */
REDLOCK_MUST_CHECK
enum redlock_status redlock_enter(struct redlock_client *c, struct redlock_reentrant *reentrant,
                                  uint64_t owner, const struct redlock_request *request);
REDLOCK_MUST_CHECK
enum redlock_status redlock_keeper_enter(struct redlock_keeper *keeper,
                                         struct redlock_reentrant_kept *reentrant, uint64_t owner,
                                         const struct redlock_request *request, uint32_t hold_ms);

/* Leaving an inner scope makes the owner one less deep, and no byte is sent. OK, or LOST, which is
 * the same, but the validity is over, and perhaps was before the scope had done its work. The
 * outermost scope is left like by redlock_release or redlock_keeper_release. After OK and LOST
 * nobody is inside, and the memory is the caller's again. *confirmed (may be NULL) gets the number
 * of nodes that have confirmed it, or 0 for an inner scope. Nothing has changed after BAD_STATE
 * (nobody is inside, or another owner, or an operation is under way on the lock),
 * FORKED and NOT_OPEN. */
enum redlock_status redlock_leave(struct redlock_client *c, struct redlock_reentrant *reentrant,
                                  uint64_t owner, unsigned *confirmed);
enum redlock_status redlock_keeper_leave(struct redlock_keeper *keeper,
                                         struct redlock_reentrant_kept *reentrant, uint64_t owner,
                                         unsigned *confirmed);

/* ---- Scopes, unless REDLOCK_WITHOUT_SCOPES is defined, for instance where the calls above are
 * compiled ---- */

#ifndef REDLOCK_WITHOUT_SCOPES
/* A scope within a block, which it leaves at the end of the block, in any way
 * (return, break, goto).
 *
 *     REDLOCK_SCOPED(scope, &client, &door, owner, &request);
 *     if (scope.status != REDLOCK_OK) return scope.status;
 *     ...
 *     return REDLOCK_OK;                  released after this, unless an outer scope holds it
 *
 * REDLOCK_SCOPED is defined for compilers that know __attribute__((cleanup)), such as gcc and
 * clang. If it is not defined, or the program must look at the end, redlock_scope_begin and
 * redlock_scope_end do the same by hand. Neither longjmp nor exit ends a scope. An exception does
 * in code that is built with -fexceptions.
 *
 * Leaving may block like redlock_release. Its status is written to *ended at the end of the block,
 * if that is not NULL then. A release that failed has no other effect. The client owes the releases
 * that a node did not confirm and pays them later, as after redlock_release, or they end with their
 * TTL. LOST there means that the scope perhaps did work without holding the lock. */
struct redlock_scope {
    enum redlock_status status;         /* The status of entering. */
    /* The caller's memory, which lives longer than the scope. NULL at first. */
    enum redlock_status *ended;
    struct redlock_client *client;      /* Private, from here on. */
    struct redlock_reentrant *reentrant;
    struct redlock_keeper *keeper;
    struct redlock_reentrant_kept *kept;
    /* redlock_keeper_leave, or NULL, so that a program without keepers links none. */
    enum redlock_status (*keeper_leave)(struct redlock_keeper *keeper,
                                        struct redlock_reentrant_kept *kept, uint64_t owner,
                                        unsigned *confirmed);
    uint64_t owner;
    bool is_inside;
};

static inline struct redlock_scope redlock_scope_begin(struct redlock_client *c,
                                                       struct redlock_reentrant *reentrant,
                                                       uint64_t owner,
                                                       const struct redlock_request *request)
{
    struct redlock_scope scope = {
        REDLOCK_OK, REDLOCK_SCOPE_NULL, c, reentrant, REDLOCK_SCOPE_NULL, REDLOCK_SCOPE_NULL,
        REDLOCK_SCOPE_NULL, owner, false
    };

    scope.status = redlock_enter(c, reentrant, owner, request);
    scope.is_inside = scope.status == REDLOCK_OK;
    return scope;
}

static inline struct redlock_scope
redlock_keeper_scope_begin(struct redlock_keeper *keeper, struct redlock_reentrant_kept *kept,
                           uint64_t owner, const struct redlock_request *request, uint32_t hold_ms)
{
    struct redlock_scope scope = {
        REDLOCK_OK, REDLOCK_SCOPE_NULL, REDLOCK_SCOPE_NULL, REDLOCK_SCOPE_NULL, keeper, kept,
        redlock_keeper_leave, owner, false
    };

    scope.status = redlock_keeper_enter(keeper, kept, owner, request, hold_ms);
    scope.is_inside = scope.status == REDLOCK_OK;
    return scope;
}

/* Leaves now. The end of the block then does nothing, and neither does a second call, which returns
 * BAD_STATE, like for a scope that was never inside. Otherwise like redlock_leave. If leaving has
 * changed nothing, it is tried again at the end of the block. */
static inline enum redlock_status redlock_scope_end(struct redlock_scope *scope)
{
    enum redlock_status status;

    if (!scope->is_inside) return REDLOCK_BAD_STATE;
    if (scope->keeper_leave)
        status = scope->keeper_leave(scope->keeper, scope->kept, scope->owner, REDLOCK_SCOPE_NULL);
    else status = redlock_leave(scope->client, scope->reentrant, scope->owner, REDLOCK_SCOPE_NULL);
    scope->is_inside = status != REDLOCK_OK && status != REDLOCK_LOST;
    if (scope->ended) *scope->ended = status;
    return status;
}

#if defined(__has_attribute)
#if __has_attribute(cleanup)
#define REDLOCK_CLEANUP __attribute__((cleanup(redlock_scope_end)))
#endif
#elif defined(__GNUC__)
#define REDLOCK_CLEANUP __attribute__((cleanup(redlock_scope_end)))
#endif
#ifdef REDLOCK_CLEANUP
#define REDLOCK_SCOPED(name, client, reentrant, owner, request) \
    REDLOCK_CLEANUP struct redlock_scope name = \
        redlock_scope_begin(client, reentrant, owner, request)
#define REDLOCK_KEEPER_SCOPED(name, keeper, reentrant, owner, request, hold_ms) \
    REDLOCK_CLEANUP struct redlock_scope name = \
        redlock_keeper_scope_begin(keeper, reentrant, owner, request, hold_ms)
#endif
#endif

#ifdef __cplusplus
}
#endif
#endif
