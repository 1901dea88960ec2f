/* The engine's clock, from a counter of the hardware that runs freely. Copy this file.
 * Freestanding, and without a division of 64 bits.
 *
 * It does not count interrupts. While interrupts are masked for longer than a tick (a write to
 * flash, a critical section, a debugger) ticks are lost, the clock falls behind, and the engine
 * believes that a lock is valid when its keys are gone.
 *
 * The counter must be read more often than it wraps. See to that with the watchdog, or have the
 * hardware count 64 bits. It must go on while the processor sleeps. config.drift_ppm must include
 * the error of its rate. */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdint.h>

/* A tick takes numerator / denominator microseconds. numerator * denominator must fit
 * in 32 bits. */
struct counter {
    uint32_t numerator, denominator;
    uint32_t last;          /* Ticks when it was last read, */
    uint32_t rest;          /* and the remainder, in 1/denominator us, 0..denominator - 1. */
    uint64_t us;
};

static inline void counter_init(struct counter *c, uint32_t numerator, uint32_t denominator,
                                uint32_t ticks)
{
    *c = (struct counter){ .numerator = numerator, .denominator = denominator, .last = ticks };
}

/* Microseconds since counter_init, exactly, since nothing is rounded away, however often
 * it is asked.
 * ticks: the counter, read now. */
static inline uint64_t counter_us(struct counter *c, uint32_t ticks)
{
    const uint32_t passed = ticks - c->last;        /* Also when it wrapped, once. */
    const uint32_t parts = passed % c->denominator * c->numerator + c->rest;

    c->last = ticks;
    c->us += (uint64_t)(passed / c->denominator) * c->numerator + parts / c->denominator;
    c->rest = parts % c->denominator;
    return c->us;
}

#endif
