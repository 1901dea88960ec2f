/* The arithmetic, for every TTL, rate and clock. */
#include "any.h"
#include "../../redlock/quorum.c"
#include "../../redlock/redlock.h"

/* S1: two majorities meet. */
void prove_quorum(void)
{
    for (unsigned n = 1; n <= 15; n++) {
        unsigned quorum = quorum_of(n);
        //@ assert quorum <= n && quorum + quorum > n;
    }
}

/* Nothing wraps around. A larger rate is refused by redlock_init, and would wrap, since 999 *
 * 4299267 does not fit in 32 bits. */
void prove_drift(void)
{
    uint32_t ttl_ms = any_u32(UINT32_MAX), drift_ppm = any_u32(REDLOCK_DRIFT_PPM_MAX);
    uint64_t drift = drift_us(ttl_ms, drift_ppm);
    //@ assert drift >= DRIFT_FIXED_US;
}

/* No subtraction wraps around, so the validity is not more than the TTL; these TTLs
 * say it aloud. */
static void check_validity(uint32_t ttl_ms, uint64_t elapsed_us, uint64_t drift)
{
    uint64_t valid_us = validity_us(ttl_ms, elapsed_us, drift), ttl_us = (uint64_t)ttl_ms * 1000;
    //@ assert valid_us <= ttl_us;
}

void prove_validity(void)
{
    uint64_t elapsed_us = any_u64(UINT64_MAX), drift = any_u64(UINT64_MAX);

    validity_us(any_u32(UINT32_MAX), elapsed_us, drift);
    for (unsigned bit = 0; bit < 32; bit++) check_validity(1u << bit, elapsed_us, drift);
    check_validity(0, elapsed_us, drift);
    check_validity(UINT32_MAX, elapsed_us, drift);
}
