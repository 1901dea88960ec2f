/* Durations and ratios of the command line. An accepted text has the value that a second, slower
 * reading gives; a refused one leaves the number alone.
 *
 * Input: four bytes of the largest number allowed, then the text. */
#include "fuzz.h"

#include "../../tools/redlock/numbers.c"

enum { TEXT_MAX = 64 };

/* The numbers are compared as they are where there are 128 bits, and modulo 2^64 elsewhere. */
#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 wide;
#else
typedef uint64_t wide;
#endif

/* The text as a number of quadrillionths, exactly. It has digits, a point and digits. Returns how
 * long it is; 0: not a number. */
static size_t read_slowly(const char *text, wide *number)
{
    const wide one = 1000000000000000u;
    wide place = one;
    size_t at = strspn(text, "0123456789"), behind;

    *number = 0;
    for (size_t i = 0; i < at; i++) *number = *number * 10 + (unsigned)(text[i] - '0');
    *number *= one;
    if (at == 0 || text[at] != '.') return at;
    behind = strspn(text + at + 1, "0123456789");
    for (size_t i = 0; i < behind; i++)
        *number += (place /= 10) * (unsigned)(text[at + 1 + i] - '0');
    return behind > 0 ? at + 1 + behind : at;
}

/* The size of the unit in the smallest; 0: none of the list "name=size ...". A number without a
 * unit may only be 0. */
static uint64_t unit_size(const char *unit, bool is_ratio)
{
    static const struct { const char *name; uint64_t size; bool is_ratio; } units[] = {
        { "ms", 1, false }, { "s", 1000, false }, { "m", 60000, false }, { "h", 3600000, false },
        { "d", 86400000, false },
        { "ppm", 1, true }, { "%", 10000, true },
    };

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (units[i].is_ratio == is_ratio && strcmp(units[i].name, unit) == 0) return units[i].size;
    return 0;
}

static void check_number(const char *text, uint32_t max, bool is_ratio)
{
    const uint32_t before = 0x5ca1ab1e;
    uint32_t number = before;
    enum number_error error =
        is_ratio ? ratio_read(text, max, &number) : duration_read(text, max, &number);
    wide slow;
    size_t length = read_slowly(text, &slow);
    uint64_t unit = unit_size(text + length, is_ratio);

    FUZZ_CHECK((unsigned)error <= NUMBER_TOO_BIG);
    if (error != NUMBER_OK) {
        FUZZ_CHECK(number == before);
        return;
    }
    FUZZ_CHECK(length > 0 && number <= max);
    FUZZ_CHECK(unit > 0 || (text[length] == '\0' && slow == 0));
    FUZZ_CHECK((wide)number * 1000000000000000u == slow * unit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, size };
    uint32_t max = 0;
    char text[TEXT_MAX + 1], *exact;

    for (unsigned i = 0; i < 4; i++) max = max << 8 | fuzz_byte(&input);
    if (input.size > TEXT_MAX) return 0;
    if (input.size > 0) memcpy(text, input.data, input.size);
    text[input.size] = '\0';
    exact = fuzz_copy(text, strlen(text) + 1);
    check_number(exact, max, false);
    check_number(exact, max, true);
    free(exact);
    return 0;
}
