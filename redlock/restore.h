/* Optional: a key that a node has lost is set again behind an extension, by the holder. */
#ifndef REDLOCK_RESTORE_H
#define REDLOCK_RESTORE_H

#include "stake.h"

REDLOCK_PRIVATE const struct redlock_restoring *restore_feature(void);

#endif
