/* A lock that Java services share, as Redisson's RLock has it (S26). See wire.h. */
#ifndef REDLOCK_REDISSON_H
#define REDLOCK_REDISSON_H

#include "stake.h"

REDLOCK_PRIVATE const struct redlock_bridging *redisson_feature(void);

#endif
