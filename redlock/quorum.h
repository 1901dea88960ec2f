/* The arithmetic of Redlock computes majority, drift and validity. Knows numbers, nothing else. */
#ifndef REDLOCK_QUORUM_H
#define REDLOCK_QUORUM_H

#include "private.h"

#include <stdint.h>

/* Two milliseconds. A node counts in whole ones, and may be off by one at both ends. */
enum { DRIFT_FIXED_US = 2000 };

/* Step 3 of the algorithm: "in the majority of the instances", which are all that
 * are configured (S1). */
REDLOCK_PRIVATE unsigned quorum_of(unsigned node_count);

/* A node's clock may differ from ours by this much while ours counts ttl_ms. It is the given
 * millionths of it, rounded up, and the fixed part (S2). */
REDLOCK_PRIVATE uint64_t drift_us(uint32_t ttl_ms, uint32_t drift_ppm);

/* The rest of a TTL after elapsed and drift are subtracted, or 0. It never wraps. A clock that went
 * back gives an enormous elapsed time, and so 0. */
REDLOCK_PRIVATE uint64_t validity_us(uint32_t ttl_ms, uint64_t elapsed_us, uint64_t drift);

#endif
