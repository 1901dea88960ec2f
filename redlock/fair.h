/* Strict order: a fair lock, from the doorway to its turn. See wire.h for what the nodes do. */
#ifndef REDLOCK_FAIR_H
#define REDLOCK_FAIR_H

#include "stake.h"

REDLOCK_PRIVATE const struct redlock_ordering *fair_feature(void);

#endif
