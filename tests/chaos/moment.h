/* The clock on which everybody in a chaos run writes down events. It counts microseconds, the same
 * for all processes, also those that were stopped or asleep. Linux only. */
#ifndef MOMENT_H
#define MOMENT_H

#include <stdint.h>
#include <time.h>

/* Read without the library's help, so that a mistake in its clock would show. */
static inline uint64_t moment_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

#endif
