/* The remaining time of the holder of a lock that was refused, as nodes report it, with the refusal
 * or after PTTL. */
#ifndef REDLOCK_HOLDER_H
#define REDLOCK_HOLDER_H

#include "stake.h"

REDLOCK_PRIVATE const struct redlock_holding *holder_feature(void);

#endif
