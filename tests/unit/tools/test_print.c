/* The commands' printf: it says what libc's does, of all that they ask it for. */
#define _GNU_SOURCE
#include "../../../tools/redlock/print.c"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../tap.h"

enum { ROOM = 128 };

/* Both print the same, and say that they did, with room for all, for a part and for nothing. */
#define SAME(...)                                                                     \
    do {                                                                              \
        char ours[ROOM], theirs[ROOM];                                                \
        for (size_t size = 0; size <= ROOM; size++) {                                 \
            memset(ours, '#', sizeof ours);                                           \
            memset(theirs, '#', sizeof theirs);                                       \
            CHECK(print_text(ours, size, __VA_ARGS__) == snprintf(theirs, size, __VA_ARGS__)); \
            CHECK(memcmp(ours, theirs, sizeof ours) == 0);                            \
        }                                                                             \
    } while (0)

TEST(whole_numbers_are_as_libc_prints_them)
{
    SAME("%d %d %d", 0, INT_MAX, INT_MIN);
    SAME("%u %x", UINT_MAX, UINT_MAX);
    SAME("%ld %lu", LONG_MIN, ULONG_MAX);
    SAME("%lld %llu", LLONG_MIN, ULLONG_MAX);
    SAME("%" PRIu64 " %" PRId64, UINT64_MAX, INT64_MIN);
    SAME("%" PRIu32 " %" PRIx32 " %zu", UINT32_MAX, UINT32_MAX, SIZE_MAX);
}

TEST(widths_and_zeros_are)
{
    SAME("%4d|%04d|%-4d|", -7, -7, -7);
    SAME("%03u%02x%016llx", 5u, 0xau, 0xbeefULL);
    SAME("%2d%1u", 12345, 678u);
    SAME("%*d|%*d|", 6, 42, -6, 42);
    SAME("%08" PRIx32, (uint32_t)0xab);
}

TEST(texts_are)
{
    SAME("%s%s", "", "door");
    SAME("%8s|%-8s|%3s", "door", "door", "door");
    SAME("%.3s|%.20s|%.0s|", "door", "door", "door");
    SAME("%.*s|%*s|%-*.*s|", 2, "door", 7, "door", 9, 3, "door");
    SAME("%c%c %% 100%%", 'a', '\0');
    SAME("%s", "a text that is longer than the room of this test is for most of its sizes");
    SAME("no field");
}

/* A precision says how many bytes may be looked at: there need not be an end behind them. */
TEST(no_byte_behind_the_precision_is_read)
{
    char *bytes = malloc(3), text[ROOM];

    if (!bytes) abort();
    memcpy(bytes, "abc", 3);
    CHECK(print_text(text, sizeof text, "%.3s%.*s", bytes, 1, bytes) == 4);
    CHECK(strcmp(text, "abca") == 0);
    free(bytes);
}

TEST(a_file_gets_the_same)
{
    FILE *file = tmpfile();
    char text[ROOM];

    if (!file) abort();
    CHECK(print_to(file, "%s %5u\n", "door", 42u) == 11);
    rewind(file);
    CHECK(fgets(text, sizeof text, file) && strcmp(text, "door    42\n") == 0);
    (void)fclose(file);
}

TEST(why_a_file_got_nothing_is_kept)
{
    int ends[2];
    FILE *file;

    if (pipe(ends) != 0 || !(file = fdopen(ends[1], "w"))) abort();
    (void)close(ends[0]);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)setvbuf(file, NULL, _IONBF, 0);
    CHECK(print_failure() == 0);
    CHECK(print_to(file, "door") == 4);
    errno = 0;
    CHECK(print_failure() == EPIPE);
    (void)fclose(file);
}

TAP_MAIN
