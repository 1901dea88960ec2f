/* See libc.c. Nothing is printed. */
#ifndef PLAYGROUND_STDIO_H
#define PLAYGROUND_STDIO_H

#include <stdarg.h>
#include <stddef.h>

typedef struct playground_file FILE;
#define stderr ((FILE *)0)

int vsnprintf(char *restrict text, size_t size, const char *restrict format, va_list arguments);
int snprintf(char *restrict text, size_t size, const char *restrict format, ...)
    __attribute__((format(printf, 3, 4)));
int vprintf(const char *restrict format, va_list arguments);
int printf(const char *restrict format, ...);
int fprintf(FILE *restrict file, const char *restrict format, ...);
int putchar(int byte);
int puts(const char *text);

#endif
