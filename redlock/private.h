/* Things that the files below the public headers share, such as linkage, checks, and the length of
 * a text. Knows nothing about locks. */
#ifndef REDLOCK_PRIVATE_H
#define REDLOCK_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Private functions are visible between files, for the unit tests. The unity files
 * make them static. */
#ifndef REDLOCK_PRIVATE
#define REDLOCK_PRIVATE extern
#endif

/* A broken assumption stops the program at once, since a lock that goes on in a wrong state is
 * worse than none. Faults of a network or a caller are never checked this way. */
#if defined(REDLOCK_NO_CHECKS)
#define REDLOCK_CHECK(condition) ((void)sizeof(condition))
#elif defined(__GNUC__)
#define REDLOCK_CHECK(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define REDLOCK_CHECK(condition) do { while (!(condition)) { } } while (0)
#endif

/* Builds for tests (REDLOCK_TEST_BUILD, as the Makefile makes libredlock_parts.a) check more,
 * namely the assumptions and the results of a function, and the engine's books, at the end of each
 * call of the engine and whenever a lock has been judged. tests/world/invariants.c checks the
 * books, and reports faults. Any other build has none of it. */
#if defined(REDLOCK_TEST_BUILD) && !defined(REDLOCK_NO_CHECKS)
struct redlock;
struct redlock_lock;
void redlock_look_at_lock(const struct redlock *r, const struct redlock_lock *lock);
void redlock_look_at_session(const struct redlock *r, unsigned k);
void redlock_look_at_engine(const struct redlock *r);
void redlock_is_broken(const char *file, int line, const char *condition);
#define REDLOCK_ASSERT(condition) \
    ((condition) ? (void)0 : redlock_is_broken(__FILE__, __LINE__, #condition))
#define REDLOCK_LOOK_AT_LOCK(r, lock) redlock_look_at_lock(r, lock)
#define REDLOCK_LOOK_AT_SESSION(r, k) redlock_look_at_session(r, k)
#define REDLOCK_LOOK_AT_ENGINE(r) redlock_look_at_engine(r)
#else
#define REDLOCK_ASSERT(condition) ((void)sizeof(condition))
#define REDLOCK_LOOK_AT_LOCK(r, lock) ((void)0)
#define REDLOCK_LOOK_AT_SESSION(r, k) ((void)0)
#define REDLOCK_LOOK_AT_ENGINE(r) ((void)0)
#endif

/* A condition that must hold at compile time. C99 has no word for it, and compilers for C99 warn of
 * C11's word. */
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define REDLOCK_STATIC_ASSERT(condition, words) _Static_assert(condition, words)
#else
#define REDLOCK_STATIC_ASSERT(condition, words) \
    extern char redlock_static_assert[(condition) ? 1 : -1]
#endif

/* A function whose unsigned arithmetic may wrap, for a hash, dice, or a time when the clock goes
 * back or cannot be read. clang's -fsanitize=integer, which takes every wrap for a mistake, lets
 * these pass. */
#if defined(__clang__)
#define REDLOCK_WRAPS __attribute__((no_sanitize("integer")))
#else
#define REDLOCK_WRAPS
#endif

/* A function that stays separate although it is short, or called from one place, since the code
 * would be larger if it were merged with its caller. Measured one by one with tools/size. */
#if defined(__GNUC__)
#define REDLOCK_OUTLINE __attribute__((noinline))
#else
#define REDLOCK_OUTLINE
#endif

/* One of the small functions below. Not every file uses all of them, and this
 * silences clang's warning. */
#if defined(__GNUC__)
#define REDLOCK_INLINE static inline __attribute__((unused))
#else
#define REDLOCK_INLINE static inline
#endif

/* Like memcpy, memset to 0 and memcmp() == 0. They are loops, which compilers turn into calls if
 * they optimize for speed. Firmware that does not use the libc functions otherwise would link 560
 * bytes for them, and the copied and compared bytes are few. */
REDLOCK_INLINE void copy_bytes(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *restrict bytes = (uint8_t *)to;
    const uint8_t *restrict source = (const uint8_t *)from;

    for (size_t i = 0; i < size; i++) bytes[i] = source[i];
}

REDLOCK_INLINE void clear_bytes(void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) ((uint8_t *)bytes)[i] = 0;
}

REDLOCK_INLINE bool are_same_bytes(const void *a, const void *b, size_t size)
{
    const uint8_t *left = (const uint8_t *)a, *right = (const uint8_t *)b;
    size_t i = 0;

    while (i < size && left[i] == right[i]) i++;
    return i == size;
}

/* The length of a text, at most max. NULL has none. (strlen is not among the functions that a
 * freestanding libc promises.) */
REDLOCK_INLINE size_t length_of(const char *text, size_t max)
{
    size_t length = 0;

    while (text && length < max && text[length] != '\0') length++;
    return length;
}

/* The next of texts that stand one behind the other, each with its NUL. */
REDLOCK_INLINE const char *next_text(const char *text, size_t max)
{
    return &text[length_of(text, max) + 1u];
}

#endif
