/* One of several permits of a resource (S20): each is a lock of its own, a slot. See wire.h. */
#ifndef REDLOCK_PERMITS_H
#define REDLOCK_PERMITS_H

#include "stake.h"

REDLOCK_PRIVATE const struct redlock_permitting *permits_feature(void);

#endif
