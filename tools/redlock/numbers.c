#include "numbers.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t size;
};

/* A decimal number: digits, of which the last ones are behind the point, and what comes
 * behind it all. */
struct decimal {
    uint64_t digits;
    uint64_t scale;     /* 10 to the power of the digits behind the point. */
    const char *rest;
};

enum {
    DIGITS_MAX = 11,        /* So many digits, of days, fit into 64 bits as ms. */
    MINUTE_MS = 60000,
    HOUR_MS = 60 * MINUTE_MS,
    DAY_MS = 24 * HOUR_MS
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static enum number_error read_decimal(const char *text, struct decimal *decimal)
{
    size_t count = 0;
    bool behind_point = false;

    *decimal = (struct decimal){ .scale = 1, .rest = text };
    if (!is_digit(*text)) return NUMBER_MALFORMED;
    for (; is_digit(*text) || (*text == '.' && !behind_point && is_digit(text[1])); text++) {
        if (*text == '.') {
            behind_point = true;
            continue;
        }
        if (++count > DIGITS_MAX) return NUMBER_TOO_BIG;
        decimal->digits = decimal->digits * 10 + (uint64_t)(*text - '0');
        if (behind_point) decimal->scale *= 10;
    }
    decimal->rest = text;
    return NUMBER_OK;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
    assert(units && name);
    for (; units->name; units++) {
        if (strcmp(units->name, name) == 0) return units;
    }
    return NULL;
}

/* A plain 0 needs no unit: it is the same in all. */
static enum number_error number_read(const char *text, const struct unit *units, uint32_t max,
                                     uint32_t *number)
{
    struct decimal decimal;
    enum number_error error = read_decimal(text, &decimal);
    const struct unit *unit;
    uint64_t product;

    assert(units->name);
    if (error) return error;
    unit = find_unit(units, decimal.rest);
    if (!unit && *decimal.rest == '.')  return NUMBER_MALFORMED;
    if (!unit && *decimal.rest != '\0') return NUMBER_BAD_UNIT;
    if (!unit && decimal.digits > 0)    return NUMBER_NO_UNIT;
    product = decimal.digits * (unit ? unit->size : 1);
    if (product % decimal.scale != 0)   return NUMBER_TOO_FINE;
    if (product / decimal.scale > max)  return NUMBER_TOO_BIG;
    *number = (uint32_t)(product / decimal.scale);
    return NUMBER_OK;
}

enum number_error duration_read(const char *text, uint32_t ms_max, uint32_t *ms)
{
    static const struct unit units[] = {
        { "ms", 1 }, { "s", 1000 }, { "m", MINUTE_MS }, { "h", HOUR_MS }, { "d", DAY_MS },
        { NULL, 0 }
    };

    assert(ms_max > 0);
    return number_read(text, units, ms_max, ms);
}

enum number_error count_read(const char *text, uint32_t max, uint32_t *count)
{
    static const struct unit units[] = { { "", 1 }, { NULL, 0 } };

    return number_read(text, units, max, count);
}

enum number_error ratio_read(const char *text, uint32_t ppm_max, uint32_t *ppm)
{
    static const struct unit units[] = { { "ppm", 1 }, { "%", 10000 }, { NULL, 0 } };

    return number_read(text, units, ppm_max, ppm);
}
