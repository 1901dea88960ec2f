/* A lock that waits, and its entries among the waiters of the nodes: what is heard there makes the next attempt begin earlier.
 * What is heard grants nothing; what is not heard costs time. See wire.h. */
#ifndef REDLOCK_WAITER_H
#define REDLOCK_WAITER_H

#include "stake.h"

REDLOCK_PRIVATE const struct redlock_waking *waiter_feature(void);

#endif
