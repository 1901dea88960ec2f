/* A lock that waits, and its entries among the waiters of the nodes. A wake-up that it hears makes
 * the next attempt begin earlier. A wake-up grants nothing, and one that is not heard costs only
 * time. See wire.h. */
#ifndef REDLOCK_WAITER_H
#define REDLOCK_WAITER_H

#include "stake.h"

REDLOCK_PRIVATE const struct redlock_waking *waiter_feature(void);

#endif
