/* What the files below the public headers share: linkage, checks, the length of a text. Knows nothing of locks. */
#ifndef REDLOCK_PRIVATE_H
#define REDLOCK_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Private functions are visible between files, for the unit tests; the unity files make them static. */
#ifndef REDLOCK_PRIVATE
#define REDLOCK_PRIVATE extern
#endif

/* A broken assumption stops the program at the spot: a lock that goes on with a wrong idea of itself is worse than none.
 * What a network or a caller may do wrong is never checked this way. */
#if defined(REDLOCK_NO_CHECKS)
#define REDLOCK_CHECK(condition) ((void)sizeof(condition))
#elif defined(__GNUC__)
#define REDLOCK_CHECK(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define REDLOCK_CHECK(condition) do { while (!(condition)) { } } while (0)
#endif

/* Builds for tests (REDLOCK_TEST_BUILD, as the Makefile makes libredlock_parts.a) look at more: at what a function takes for
 * granted and what it leaves behind; and, at the end of each call of the engine and whenever a lock has been judged, at the
 * engine's books. tests/world/invariants.c does that, and says what is wrong. In any other build all of it is nothing. */
#if defined(REDLOCK_TEST_BUILD) && !defined(REDLOCK_NO_CHECKS)
struct redlock;
struct redlock_lock;
void redlock_look_at_lock(const struct redlock *r, const struct redlock_lock *lock);
void redlock_look_at_session(const struct redlock *r, unsigned k);
void redlock_look_at_engine(const struct redlock *r);
void redlock_is_broken(const char *file, int line, const char *condition);
#define REDLOCK_ASSERT(condition) ((condition) ? (void)0 : redlock_is_broken(__FILE__, __LINE__, #condition))
#define REDLOCK_LOOK_AT_LOCK(r, lock) redlock_look_at_lock(r, lock)
#define REDLOCK_LOOK_AT_SESSION(r, k) redlock_look_at_session(r, k)
#define REDLOCK_LOOK_AT_ENGINE(r) redlock_look_at_engine(r)
#else
#define REDLOCK_ASSERT(condition) ((void)sizeof(condition))
#define REDLOCK_LOOK_AT_LOCK(r, lock) ((void)0)
#define REDLOCK_LOOK_AT_SESSION(r, k) ((void)0)
#define REDLOCK_LOOK_AT_ENGINE(r) ((void)0)
#endif

/* What must be so when it is compiled. C99 has no word for it, and compilers that are asked for C99 warn of that of C11. */
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define REDLOCK_STATIC_ASSERT(condition, words) _Static_assert(condition, words)
#else
#define REDLOCK_STATIC_ASSERT(condition, words) extern char redlock_static_assert[(condition) ? 1 : -1]
#endif

/* A function whose unsigned arithmetic may wrap: a hash, dice, or a time when the clock goes back or cannot be read. clang's
 * -fsanitize=integer, which takes every wrap for a mistake, lets these pass. */
#if defined(__clang__)
#define REDLOCK_WRAPS __attribute__((no_sanitize("integer")))
#else
#define REDLOCK_WRAPS
#endif

/* A function that stays one although it is short, or called from one place: merged with its caller the whole would be larger.
 * Measured one by one with tools/size. */
#if defined(__GNUC__)
#define REDLOCK_OUTLINE __attribute__((noinline))
#else
#define REDLOCK_OUTLINE
#endif

/* One of the small functions below, of which not every file uses each: clang warns of those in the file that it compiles. */
#if defined(__GNUC__)
#define REDLOCK_INLINE static inline __attribute__((unused))
#else
#define REDLOCK_INLINE static inline
#endif

/* As memcpy, memset to 0 and memcmp() == 0. Loops, which compilers turn into calls if they optimize for speed: for firmware
 * that does not use these functions otherwise they would be 560 bytes, and what is copied and compared is short. */
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

/* The length of a text, at most max. NULL has none. (strlen is not among the functions that a freestanding libc promises.) */
REDLOCK_INLINE size_t length_of(const char *text, size_t max)
{
    size_t length = 0;

    while (text && length < max && text[length] != '\0') length++;
    return length;
}

#endif
