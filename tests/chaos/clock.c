/* A wall clock that runs fast. Preloaded into a redis-server, it replaces libc's clock. Keys then
 * expire a little early, as on a machine whose clock is bad, but no worse than the drift that the
 * library allows for.
 *
 *     LD_PRELOAD=chaos_preload.so CHAOS_CLOCK=ORIGIN_US:FAST_PPM redis-server ...
 *
 * It was right at ORIGIN_US, runs fast for a while, slowly goes back to the right time, and begins
 * anew (clock.h). The origin is the same for all servers that are ever started, so a restart
 * is no step. */
#define _DEFAULT_SOURCE

#include "clock.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <sys/time.h>

static int64_t origin_us, fast_ppm;

__attribute__((constructor))
static void read_setting(void)
{
    const char *setting = getenv("CHAOS_CLOCK");
    char *end;
    if (setting == NULL) return;
    origin_us = strtoll(setting, &end, 10);
    if (*end == ':') fast_ppm = strtoll(end + 1, NULL, 10);
}

static int64_t ahead_us(int64_t now_us)
{
    int64_t phase_us = (now_us - origin_us) % (CLOCK_FAST_US + CLOCK_BACK_US);
    if (phase_us < CLOCK_FAST_US) return phase_us / 1000 * fast_ppm / 1000;
    return CLOCK_AHEAD_US(fast_ppm) * (CLOCK_FAST_US + CLOCK_BACK_US - phase_us) / CLOCK_BACK_US;
}

/* The one call that gives redis-server the time of day. */
int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) < 0) return -1;
    int64_t now_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
    now_us += ahead_us(now_us);
    *time = (struct timeval){ .tv_sec = now_us / 1000000, .tv_usec = now_us % 1000000 };
    return 0;
}
