/* The invariants that hold after every event. */
#ifndef EXPLORE_ORACLE_H
#define EXPLORE_ORACLE_H

#include "world.h"

/* NULL, or the broken rule, in words. */
const char *oracle(const struct world *w, const struct bounds *bounds);

#endif
