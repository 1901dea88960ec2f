/* See libc.c. */
#ifndef PLAYGROUND_STDLIB_H
#define PLAYGROUND_STDLIB_H

#include <stddef.h>

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void free(void *memory);
_Noreturn void abort(void);
long long strtoll(const char *restrict text, char **restrict end, int base);
double strtod(const char *restrict text, char **restrict end);
unsigned long strtoul(const char *restrict text, char **restrict end, int base);

#endif
