/* Functional contracts, for Frama-C's WP: what the arithmetic says is the formula, for all numbers.
 * They stand here and not in the sources, so that these need no reader who knows ACSL. */
#include "../../redlock/quorum.h"
#include "../../redlock/redlock.h"

/*@ lemma whole: \forall integer q, a; 0 <= q && 0 <= a ==> (1000 * q + a) / 1000 == q + a / 1000;
    lemma division: \forall integer t; 0 <= t ==> 1000 * (t / 1000) + t % 1000 == t;
    lemma spread: \forall integer q, r, p; 1000 * (q * p) + r * p == (1000 * q + r) * p;
    lemma parts: \forall integer t, p; 0 <= t && 0 <= p ==>
        1000 * ((t / 1000) * p) + (t % 1000) * p == t * p; */

/* Step 3 of the algorithm. */
/*@ requires 1 <= node_count <= REDLOCK_NODES_MAX;
    assigns \nothing;
    ensures \result == node_count / 2 + 1; */
unsigned quorum_of(unsigned node_count);

/* The millionths of the TTL, rounded up to whole microseconds, and two milliseconds. */
/*@ requires drift_ppm <= REDLOCK_DRIFT_PPM_MAX;
    assigns \nothing;
    ensures \result == (ttl_ms * drift_ppm + 999) / 1000 + 2000; */
uint64_t drift_us(uint32_t ttl_ms, uint32_t drift_ppm);

/* What is left, or nothing. */
/*@ assigns \nothing;
    ensures drift + elapsed_us <= 1000 * ttl_ms ==> \result == 1000 * ttl_ms - drift - elapsed_us;
    ensures drift + elapsed_us >= 1000 * ttl_ms ==> \result == 0; */
uint64_t validity_us(uint32_t ttl_ms, uint64_t elapsed_us, uint64_t drift);

#include "../../redlock/quorum.c"

#include "../../redlock/round.h"

/* The nodes of a set, counted; tests/unit/modules/test_round.c counts all 65536 sets. */
/*@ axiomatic Sets {
      logic integer count(integer votes);
      axiom not_negative: \forall integer votes; 0 <= count(votes);
    } */

/*@ assigns \nothing;
    ensures \result == count(votes); */
unsigned round_count(uint16_t votes);

/*@ logic integer voters(struct redlock_round *round) =
        round->granted | round->refused | round->unknown | round->not_asked;
    predicate is_sound(struct redlock_round *round) =
        \valid_read(round) && 1 <= round->node_count <= REDLOCK_NODES_MAX &&
        count(voters(round)) <= round->node_count && count(round->granted) <= round->node_count;
    logic integer left(struct redlock_round *round, integer now_us) =
        \max(0, 1000 * round->ttl_ms - round->drift_us - (uint64_t)(now_us - round->started_at)); */

/*@ requires \valid_read(round);
    assigns \nothing;
    ensures \result == voters(round); */
static uint16_t voters_of(const struct redlock_round *round);

/*@ requires is_sound(round);
    assigns \nothing;
    ensures \result == round->node_count - count(voters(round)); */
unsigned round_pending(const struct redlock_round *round);

/*@ requires \valid_read(round);
    assigns \nothing;
    ensures \result == left(round, now_us); */
uint64_t round_validity_us(const struct redlock_round *round, uint64_t now_us);

/* Step 3 of the algorithm: "if and only if the client was able to acquire the lock in the majority
 * of the instances, and the total time elapsed to acquire the lock is less than lock validity
 * time". Lost is what can no longer be won. */
/*@ requires is_sound(round);
    assigns \nothing;
    ensures \result == VERDICT_WON <==>
        count(round->granted) >= round->node_count / 2 + 1 && left(round, now_us) > 0 &&
        left(round, now_us) >= min_validity_us;
    ensures \result == VERDICT_LOST <==>
        left(round, now_us) == 0 || left(round, now_us) < min_validity_us ||
        (count(round->granted) < round->node_count / 2 + 1 &&
         count(round->granted) + round->node_count - count(voters(round)) <
             round->node_count / 2 + 1); */
enum verdict round_verdict(const struct redlock_round *round, uint64_t now_us,
                           uint64_t min_validity_us);

#include "../../redlock/round.c"
