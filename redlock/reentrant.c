/* A lock over a client that its owner may enter again. Only the outermost scope exchanges messages
 * with the nodes. */
#include "reentrant.h"

/* The refusals of redlock_acquire_request and redlock_release, for a scope that calls neither. */
static enum redlock_status check_client(const struct redlock_client *c)
{
    if (c->engine.node_count == 0) return REDLOCK_NOT_OPEN;
    return redlock_is_forked(c) ? REDLOCK_FORKED : REDLOCK_OK;
}

void redlock_reentrant_init(struct redlock_reentrant *reentrant)
{
    memset(reentrant, 0, sizeof *reentrant);
    redlock_lock_init(&reentrant->lock);
}

enum redlock_status redlock_enter(struct redlock_client *c, struct redlock_reentrant *reentrant,
                                  uint64_t owner, const struct redlock_request *request)
{
    enum redlock_status status = check_client(c);

    if (status != REDLOCK_OK) return status;
    if (reentrant->inside.depth > 0)
        return inside_again(&reentrant->inside, owner, &reentrant->lock, request);
    status = redlock_acquire_request(c, &reentrant->lock, request);
    if (status == REDLOCK_OK) inside_begin(&reentrant->inside, owner);
    return status;
}

enum redlock_status redlock_leave(struct redlock_client *c, struct redlock_reentrant *reentrant,
                                  uint64_t owner, unsigned *confirmed)
{
    enum redlock_status status = check_client(c);

    if (confirmed) *confirmed = 0;
    if (status != REDLOCK_OK) return status;
    if (!inside_is(&reentrant->inside, owner)) return REDLOCK_BAD_STATE;
    if (reentrant->inside.depth > 1) return inside_less(&reentrant->inside, &reentrant->lock);
    status = redlock_release(c, &reentrant->lock, confirmed);
    inside_end(&reentrant->inside, status);
    return status;
}
