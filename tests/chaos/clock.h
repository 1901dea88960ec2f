/* How the servers' clocks go wrong (clock.c): fast for a while, then slowly back to the right time, and so on. So they are fast
 * nearly all the time, and yet never further ahead than a bound that does not grow with the run: the first is what the drift
 * of a lock has to cover, the second the skew of its ticket. */
#ifndef CLOCK_H
#define CLOCK_H

enum {
    CLOCK_FAST_US = 20000000,
    CLOCK_BACK_US = 2500000     /* 72,000 ppm slow, where it ran 9,000 ppm fast. An NTP daemon slews at up to 83,333. */
};

/* How far a clock that runs fast_ppm fast gets ahead. */
#define CLOCK_AHEAD_US(fast_ppm) (CLOCK_FAST_US / 1000000 * (fast_ppm))

#endif
