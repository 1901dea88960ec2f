/* printf(3) for whole numbers and texts: %s %c %d %u %x %%, with widths, precisions, '-' and '0',
 * and the lengths h, l, ll, z. A libc links five times as much for its own, most of it for numbers
 * with a point and for wide characters. */
#ifndef PRINT_H
#define PRINT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __GNUC__
#define PRINT_LIKE(format_at, arguments_at) __attribute__((format(printf, format_at, arguments_at)))
#else
#define PRINT_LIKE(format_at, arguments_at)
#endif

/* Begins a page of the caller's, which is the file NULL: what is printed to that goes behind what
 * is there, as far as there is room, without a NUL. print_page_used() is the number of bytes. */
void print_page(char *text, size_t size);

size_t print_page_used(void);

/* errno of the last write to a file that failed. 0: none did. musl drops the bytes that it could
 * not write, and fflush(3) succeeds after that. */
int print_failure(void);

/* As printf, fprintf and snprintf: they return how many bytes there are, of a text how many there
 * would be with room for all. */
int print(const char *format, ...) PRINT_LIKE(1, 2);
int print_to(FILE *file, const char *format, ...) PRINT_LIKE(2, 3);
int print_text(char *text, size_t size, const char *format, ...) PRINT_LIKE(3, 4);
int print_text_list(char *text, size_t size, const char *format, va_list list) PRINT_LIKE(3, 0);

#endif
