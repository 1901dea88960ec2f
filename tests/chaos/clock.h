/* The servers' clocks go wrong like this (clock.c). They are fast for a while, then slowly return
 * to the right time, and so on. They are fast nearly all the time, and yet never further ahead than
 * a bound that does not grow with the run. A lock's drift has to cover the first, and its ticket's
 * skew the second. */
#ifndef CLOCK_H
#define CLOCK_H

enum {
    CLOCK_FAST_US = 20000000,
    /* 72,000 ppm slow, where it ran 9,000 ppm fast. An NTP daemon slews at up to 83,333. */
    CLOCK_BACK_US = 2500000
};

/* How far a clock that runs fast_ppm fast gets ahead. */
#define CLOCK_AHEAD_US(fast_ppm) (CLOCK_FAST_US / 1000000 * (fast_ppm))

#endif
