/* How long the holder of a lock that was refused has left, as nodes tell: with the refusal, or asked by PTTL. */
#ifndef REDLOCK_HOLDER_H
#define REDLOCK_HOLDER_H

#include "stake.h"

REDLOCK_PRIVATE const struct redlock_holding *holder_feature(void);

#endif
