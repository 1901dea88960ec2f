/* Pseudo-random numbers that a seed repeats (splitmix64). */
#ifndef DICE_H
#define DICE_H

#include <stdint.h>

struct dice {
    uint64_t state; /* Any number will do as a seed. */
};

static inline uint64_t dice_roll(struct dice *d)
{
    uint64_t x = d->state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Both ends included. low <= high. */
static inline uint32_t dice_between(struct dice *d, uint32_t low, uint32_t high)
{
    return low + (uint32_t)(dice_roll(d) % ((uint64_t)high - low + 1));
}

#endif
