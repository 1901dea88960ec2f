/* What the files below the public headers share: linkage, checks, the length of a text. Knows no word of locks. */
#ifndef REDLOCK_PRIVATE_H
#define REDLOCK_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

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

/* What a plain core is built without (see REDLOCK_PLAIN in redlock.h). These are constants, so the compiler drops what asks for
 * one that is false. Tickets stand for sets as well: both are acquired by a script. */
#ifdef REDLOCK_PLAIN
enum { WITH_KEEPER = false, WITH_WAITERS = false, WITH_TICKETS = false };
#else
enum { WITH_KEEPER = true, WITH_WAITERS = true, WITH_TICKETS = true };
#endif

/* The length of a text, at most max. NULL has none. (strlen is not among the functions that a freestanding libc promises.) */
static inline size_t length_of(const char *text, size_t max)
{
    size_t length = 0;

    while (text && length < max && text[length] != '\0') length++;
    return length;
}

#endif
