/* The arithmetic of majority, drift and validity. */
#include "../../tap.h"

#include "../../../redlock/quorum.h"
#include "../../../redlock/redlock.h"

#include <stdio.h>
#include <string.h>

TEST(s1_a_quorum_is_more_than_half_of_the_configured_nodes)
{
    for (unsigned n = 1; n <= 15; n++) {
        unsigned quorum = quorum_of(n);
        CHECK(2 * quorum > n);
        CHECK(2 * (quorum - 1) <= n);
        CHECK_INT(redlock_quorum(n), quorum);
    }
}

TEST(s1_two_quorums_of_any_number_of_nodes_share_a_node)
{
    for (unsigned n = 1; n <= 10; n++)
        for (unsigned a = 0; a < 1u << n; a++)
            for (unsigned b = 0; b < 1u << n; b++) {
                bool both = (unsigned)__builtin_popcount(a) >= quorum_of(n) &&
                            (unsigned)__builtin_popcount(b) >= quorum_of(n);
                CHECK(!both || (a & b) != 0);
            }
}

/* A quorum has granted. So many of its keys may be lost before the nodes that are free are a quorum
 * as well. */
static unsigned keys_to_lose(unsigned n)
{
    unsigned lost = 0;

    while (n - (quorum_of(n) - lost) < quorum_of(n)) lost++;
    return lost - 1;
}

TEST(s1_the_guide_says_what_each_number_of_nodes_survives)
{
    static char guide[200000];
    FILE *in = fopen("tools/man/redlock.7", "r");

    CHECK(in != NULL);
    CHECK(fread(guide, 1, sizeof guide - 1, in) > 0 && feof(in));
    fclose(in);
    for (unsigned n = 1; n <= 7; n++) {
        char row[60];
        snprintf(row, sizeof row, "\n.It %u Ta %u Ta %u Ta %u\n", n, quorum_of(n), n - quorum_of(n),
                 keys_to_lose(n));
        CHECK(strstr(guide, row) != NULL);
    }
}

TEST(s2_drift_is_the_factor_and_two_milliseconds_rounded_against_us)
{
    CHECK_INT(drift_us(10000, 10000), 100000 + 2000);   /* 1 % of 10 s, and 2 ms. */
    CHECK_INT(drift_us(1, 10000), 10 + 2000);
    CHECK_INT(drift_us(1, 1), 1 + 2000);                /* 0.001 us counts as 1. */
    CHECK_INT(drift_us(1, 999), 1 + 2000);
    CHECK_INT(drift_us(1, 1001), 2 + 2000);
    CHECK_INT(drift_us(1000, 0), 2000);
    CHECK_INT(drift_us(30000, 83333), 2499990 + 2000);  /* chrony's largest slew is 2.5 s of 30. */
}

TEST(s2_drift_of_the_longest_ttl_and_largest_factor_does_not_overflow)
{
    CHECK_INT(drift_us(REDLOCK_TTL_MS_MAX, REDLOCK_DRIFT_PPM_MAX), 1073741823500 + 2000);
    CHECK_INT(drift_us(UINT32_MAX, 1000000), 4294967295000 + 2000);
}

TEST(s2_validity_is_ttl_minus_elapsed_minus_drift)
{
    CHECK_INT(validity_us(10000, 231, 102000), 10000000 - 231 - 102000);
    CHECK_INT(validity_us(10000, 0, 102000), 9898000);
}

TEST(s2_the_drift_is_taken_away_never_added)
{
    for (uint32_t ttl = 1; ttl < 3000; ttl++)
        for (uint64_t elapsed = 0; elapsed < 4000000; elapsed += 99991)
            CHECK(validity_us(ttl, elapsed, drift_us(ttl, 10000)) + elapsed <=
                      (uint64_t)ttl * 1000 ||
                  validity_us(ttl, elapsed, drift_us(ttl, 10000)) == 0);
}

TEST(s2_nothing_is_left_from_the_last_microsecond_on)
{
    CHECK_INT(validity_us(10, 10000 - 2100 - 1, 2100), 1);
    CHECK_INT(validity_us(10, 10000 - 2100, 2100), 0);
    CHECK_INT(validity_us(10, 10000 - 2100 + 1, 2100), 0);
}

TEST(s2_a_ttl_that_the_drift_eats_leaves_nothing)
{
    CHECK_INT(validity_us(2, 0, drift_us(2, 10000)), 0);
    CHECK_INT(validity_us(3, 0, drift_us(3, 10000)), 970);
    CHECK_INT(validity_us(0, 0, 0), 0);
}

TEST(s2_a_clock_that_went_back_leaves_nothing)
{
    uint64_t started_at = 1000;

    CHECK_INT(validity_us(10000, started_at - 1 - started_at, 102000), 0);
    CHECK_INT(validity_us(10000, UINT64_MAX, 0), 0);
    CHECK_INT(validity_us(UINT32_MAX, UINT64_MAX, UINT64_MAX), 0);
}

TAP_MAIN
