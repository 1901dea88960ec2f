/* clang brings no C library for WebAssembly, and this is all of one that the engine needs. The
 * functions are in lock.c. */
#ifndef EXAMPLE_STRING_H
#define EXAMPLE_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int byte, size_t count);
int memcmp(const void *a, const void *b, size_t count);

#endif
