/* Durations, counts and ratios as people write them. Knows no option. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum number_error {
    NUMBER_OK,
    NUMBER_MALFORMED,   /* Not digits, with perhaps a point and more digits. */
    NUMBER_NO_UNIT,
    NUMBER_BAD_UNIT,
    NUMBER_TOO_FINE,    /* Not a whole number of the smallest unit. */
    NUMBER_TOO_BIG      /* Over the most that was allowed. */
};

/* "500ms", "10s", "1.5m", "2h", "1d", "0". *ms is set only with NUMBER_OK. */
enum number_error duration_read(const char *text, uint32_t ms_max, uint32_t *ms);

/* "0", "12": a number of times. */
enum number_error count_read(const char *text, uint32_t max, uint32_t *count);

/* "1%", "8.4%", "84000ppm", "0", in millionths. */
enum number_error ratio_read(const char *text, uint32_t ppm_max, uint32_t *ppm);

#endif
