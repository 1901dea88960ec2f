/* One of several permits of a resource (S20): each is a lock of its own, a slot. See wire.h. */
#ifndef REDLOCK_PERMITS_H
#define REDLOCK_PERMITS_H

#include "stake.h"

/* What permits add. */
struct redlock_permitting {
    /* Can one be asked for as the request says? OK, BAD_PERMITS. */
    enum redlock_status (*check)(const struct redlock_request *request);

    /* A node has granted a slot. */
    void (*count)(struct redlock *r, const struct answer *a);

    const struct redlock_kind *(*kind)(void);
    const struct wire_row *(*wait)(void);       /* To wait for one. */
};
REDLOCK_PRIVATE const struct redlock_permitting *permits_feature(void);

#endif
