/* A test harness in one header. Prints TAP, the Test Anything Protocol, which people and test
 * runners read alike.
 *
 *     TEST(a_test_is_named_after_its_rule) { CHECK_INT(1 + 1, 2); }
 *     TAP_MAIN
 *
 * The tests run in source order; the arguments of the program pick those whose names contain one of
 * them. A check that fails ends the function it stands in, which returns void. If a helper fails,
 * the helper ends, and the test fails all the same. */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    /* Complaints of one test. A helper that fails in a loop would bury the first failure. */
    TAP_COMPLAINTS_MAX = 5,
    TAP_BYTES_MAX = 64,     /* Shown of each side of a CHECK_MEM. */
    TAP_NAME_MAX = 160
};

struct tap_test {
    const char *name;
    void (*run)(void);
    struct tap_test *next;
};

static struct {
    struct tap_test *first, **end;
    int checks;          /* Checks of the running test. */
    int complaints;      /* Complaints of these checks. */
    const char *skipped; /* Why it was. */
    char context[160];   /* See TAP_CONTEXT. */
    bool is_sampled;     /* See tap_sample. */
} tap;

#define TEST(name)                                               \
    static void test_##name(void);                               \
    __attribute__((constructor)) static void add_##name(void)    \
    {                                                            \
        static struct tap_test test = { #name, test_##name, 0 }; \
        tap_add(&test);                                          \
    }                                                            \
    static void test_##name(void)

#define TAP_CHECK(good, ...)                               \
    do {                                                   \
        tap.checks++;                                      \
        if (!(good)) {                                     \
            tap_complain(__FILE__, __LINE__, __VA_ARGS__); \
            return;                                        \
        }                                                  \
    } while (0)

#define CHECK(condition) TAP_CHECK(condition, "%s", #condition)

/* Takes any integer type. Compared as intmax_t, so -1 equals UINTMAX_MAX. */
#define CHECK_INT(actual, expected) \
    do { \
        const intmax_t tap_a = (intmax_t)(actual), tap_e = (intmax_t)(expected); \
        TAP_CHECK(tap_a == tap_e, "%s is %jd, not %jd (%s)", #actual, tap_a, tap_e, #expected); \
    } while (0)

#define CHECK_STR(actual, expected)                                                       \
    do {                                                                                  \
        const char *tap_a = (actual), *tap_e = (expected);                                \
        TAP_CHECK(tap_a && tap_e ? strcmp(tap_a, tap_e) == 0 : tap_a == tap_e,            \
                  "%s is \"%s\", not \"%s\"", #actual, tap_text(tap_a), tap_text(tap_e)); \
    } while (0)

#define CHECK_MEM(actual, actual_size, expected, expected_size) \
    do { \
        if (!tap_same(__FILE__, __LINE__, #actual " is not " #expected, (actual), (actual_size), \
                      (expected), (expected_size))) \
            return; \
    } while (0)

/* Ends the function it stands in; the test counts as skipped unless a check has failed. */
#define TAP_SKIP(reason)        \
    do {                        \
        tap.skipped = (reason); \
        return;                 \
    } while (0)

/* The tested case, in a loop over cases. It is printed with a failure. Its arguments are
 * those of printf. */
#define TAP_CONTEXT(...) (void)snprintf(tap.context, sizeof tap.context, __VA_ARGS__)

#define TAP_MAIN int main(int argc, char **argv) { return tap_run_all(argc, argv); }

/* SAMPLE=7 in the environment makes a test run one in seven of the worlds, cuts and the like that
 * differ by a number alone, where each takes long, as under valgrind. The program says so, and
 * tests/run which programs did. */
static inline unsigned tap_sample(void)
{
    const char *text = getenv("SAMPLE");
    const int step = text ? atoi(text) : 1;
    if (step <= 1) return 1;
    if (!tap.is_sampled) printf("# sampled: one world in %d\n", step);
    tap.is_sampled = true;
    return (unsigned)step;
}

static inline const char *tap_text(const char *text)
{
    return text ? text : "(NULL)";
}

static inline void tap_add(struct tap_test *test)
{
    *(tap.end ? tap.end : &tap.first) = test;
    tap.end = &test->next;
}

__attribute__((format(printf, 3, 4)))
static inline void tap_complain(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    if (++tap.complaints > TAP_COMPLAINTS_MAX) return;
    printf("# %s:%d: ", file, line);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    if (tap.context[0] != '\0') printf("\n#     with %s", tap.context);
    putchar('\n');
}

static inline void tap_show(const char *label, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    if (tap.complaints > TAP_COMPLAINTS_MAX) return;
    printf("#     %s%zu bytes \"", label, size);
    for (size_t i = 0; i < size && i < TAP_BYTES_MAX; i++)
        if (bytes[i] >= ' ' && bytes[i] <= '~' && bytes[i] != '\\')
            putchar(bytes[i]);
        else
            printf("\\x%02x", bytes[i]);
    puts(size > TAP_BYTES_MAX ? "\"..." : "\"");
}

static inline bool tap_same(const char *file, int line, const char *complaint, const void *actual,
                            size_t actual_size, const void *expected, size_t expected_size)
{
    tap.checks++;
    if (actual_size == expected_size &&
        (actual_size == 0 || memcmp(actual, expected, actual_size) == 0))
        return true;
    tap_complain(file, line, "%s", complaint);
    tap_show("is:     ", actual, actual_size);
    tap_show("is not: ", expected, expected_size);
    return false;
}

static inline void tap_title(char title[TAP_NAME_MAX], const char *name)
{
    snprintf(title, TAP_NAME_MAX, "%s", name);
    for (char *c = title; *c != '\0'; c++)
        if (*c == '_') *c = ' ';
}

/* No argument picks all. Underscores in an argument may be written as spaces. */
static inline bool tap_picked(const struct tap_test *test, int argc, char **argv)
{
    char title[TAP_NAME_MAX];
    tap_title(title, test->name);
    for (int i = 1; i < argc; i++)
        if (strstr(test->name, argv[i]) || strstr(title, argv[i])) return true;
    return argc < 2;
}

static inline bool tap_run(const struct tap_test *test, int number)
{
    char title[TAP_NAME_MAX];
    tap_title(title, test->name);
    tap.checks = tap.complaints = 0;
    tap.skipped = NULL;
    tap.context[0] = '\0';
    test->run();
    if (tap.checks == 0 && !tap.skipped)
        tap_complain(__FILE__, __LINE__, "this test has checked nothing, so it could not fail");
    if (tap.complaints > TAP_COMPLAINTS_MAX)
        printf("# ... and %d more\n", tap.complaints - TAP_COMPLAINTS_MAX);
    printf("%s %d - %s", tap.complaints > 0 ? "not ok" : "ok", number, title);
    if (tap.skipped && tap.complaints == 0) printf(" # SKIP %s", tap.skipped);
    putchar('\n');
    return tap.complaints == 0;
}

/* Returns the exit status. It is 0 if all that were picked are well. No test at all is a failure,
 * or a typing error would pass. */
static inline int tap_run_all(int argc, char **argv)
{
    int count = 0, number = 0;
    bool good = true;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* Output before a crash is seen. */
    for (const struct tap_test *test = tap.first; test; test = test->next)
        count += tap_picked(test, argc, argv);
    printf("1..%d\n", count);
    for (const struct tap_test *test = tap.first; test; test = test->next)
        if (tap_picked(test, argc, argv)) good &= tap_run(test, ++number);
    return good && count > 0 ? 0 : 1;
}

#endif
