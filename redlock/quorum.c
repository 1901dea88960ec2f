#include "quorum.h"

unsigned quorum_of(unsigned node_count)
{
    return node_count / 2 + 1;
}

uint64_t drift_us(uint32_t ttl_ms, uint32_t drift_ppm)
{
    /* ttl_ms * 1000 us * ppm / 10^6, rounded against us (S2). Thousands and remainder are computed
     * separately, so that no division of 64 bits is needed. 999 * 10^6 fits in 32. */
    return (uint64_t)(ttl_ms / 1000) * drift_ppm + (ttl_ms % 1000 * drift_ppm + 999) / 1000 +
           DRIFT_FIXED_US;
}

uint64_t validity_us(uint32_t ttl_ms, uint64_t elapsed_us, uint64_t drift)
{
    uint64_t ttl_us = (uint64_t)ttl_ms * 1000, promised_us;

    if (drift >= ttl_us) return 0;
    promised_us = ttl_us - drift;
    return elapsed_us < promised_us ? promised_us - elapsed_us : 0;
}
