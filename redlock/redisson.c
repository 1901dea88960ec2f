#include "redisson.h"

/* S26: of one node. Over several, a Java holder looks at no clock while it takes them one after the other, and ignores what becomes
 * of its extensions, so that a quorum of such locks is no promise. A ticket would be no other program's: Java counts its own. */
static enum redlock_status redisson_check(const struct redlock *r, const struct redlock_request *request)
{
    bool is_more = request->ticket || request->permits > 0 || request->set || request->shared;

    return r->node_count > 1 || is_more ? REDLOCK_BAD_REDISSON : REDLOCK_OK;
}

const struct redlock_bridging *redisson_feature(void)
{
    static const struct redlock_bridging feature = { .check = redisson_check, .kind = wire_redisson_kind };

    return &feature;
}
