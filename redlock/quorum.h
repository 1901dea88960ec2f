/* The arithmetic of Redlock: majority, drift, validity. Knows numbers, nothing else. */
#ifndef REDLOCK_QUORUM_H
#define REDLOCK_QUORUM_H

#include "private.h"

#include <stdint.h>

enum { DRIFT_FIXED_US = 2000 };     /* Two milliseconds: a node counts in whole ones, and so may be off by one at both ends. */

/* Step 3 of the algorithm: "in the majority of the instances", of all that are configured (S1). */
REDLOCK_PRIVATE unsigned quorum_of(unsigned node_count);

/* How much less than ttl_ms a node's clock may count while ours counts ttl_ms: the given millionths of it, rounded up, and
 * the fixed part (S2). */
REDLOCK_PRIVATE uint64_t drift_us(uint32_t ttl_ms, uint32_t drift_ppm);

/* What is left of a TTL, elapsed and drift subtracted; 0 when nothing is. Never wraps: a clock that went back gives an
 * enormous elapsed time, and so 0. */
REDLOCK_PRIVATE uint64_t validity_us(uint32_t ttl_ms, uint64_t elapsed_us, uint64_t drift);

#endif
