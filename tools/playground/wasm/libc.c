/* As much of a C library as the engine and tests/world need, for WebAssembly without any: memory,
 * texts, and the formats that occur in them. Nothing is printed. A failure that cannot go on traps,
 * which the page shows. */
#include "stdio.h"
#include "stdlib.h"
#include "string.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Bytes and texts ---- */

/* memcpy, memmove, memset and memcmp are those of tools/examples/wasm/lock.c, which is a part of
 * the module. */

void *memchr(const void *bytes, int byte, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        if (at[i] == (uint8_t)byte) return (void *)(uintptr_t)&at[i];
    return NULL;
}

size_t strlen(const char *text)
{
    size_t size = 0;
    while (text[size] != '\0') size++;
    return size;
}

int strncmp(const char *a, const char *b, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i] || a[i] == '\0') return (uint8_t)a[i] - (uint8_t)b[i];
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return strncmp(a, b, SIZE_MAX);
}

char *strchr(const char *text, int byte)
{
    for (; *text != (char)byte; text++)
        if (*text == '\0') return NULL;
    return (char *)text;
}

char *strstr(const char *text, const char *part)
{
    const size_t size = strlen(part);
    for (; *text != '\0'; text++)
        if (strncmp(text, part, size) == 0) return (char *)text;
    return size == 0 ? (char *)text : NULL;
}

char *strcat(char *restrict to, const char *restrict from)
{
    memcpy(to + strlen(to), from, strlen(from) + 1);
    return to;
}

static size_t span(const char *text, const char *bytes, bool wanted)
{
    size_t size = 0;
    while (text[size] != '\0' && (strchr(bytes, text[size]) != NULL) == wanted) size++;
    return size;
}

size_t strspn(const char *text, const char *bytes)
{
    return span(text, bytes, true);
}

size_t strcspn(const char *text, const char *bytes)
{
    return span(text, bytes, false);
}

/* ---- Memory: blocks of powers of two, of which those that were given back are used again ---- */

enum { HEADER = 16, SMALLEST = 5, CLASSES = 32, PAGE = 65536 };

struct block {
    struct block *next;         /* The list of blocks that were given back. */
    uint32_t class;
};

extern uint8_t __heap_base;
static struct block *given_back[CLASSES];
static uintptr_t fresh;     /* The beginning of memory that was never used. */

static struct block *new_block(uint32_t class)
{
    const uintptr_t size = (uintptr_t)1 << class, end = __builtin_wasm_memory_size(0) * PAGE;
    if (fresh == 0) fresh = ((uintptr_t)&__heap_base + HEADER - 1) / HEADER * HEADER;
    if (end - fresh < size &&
        __builtin_wasm_memory_grow(0, (size - (end - fresh) + PAGE - 1) / PAGE) == SIZE_MAX)
        abort();
    struct block *block = (struct block *)fresh;
    fresh += size;
    return block;
}

static uint32_t class_of(size_t size)
{
    uint32_t class = SMALLEST;
    while (((size_t)1 << class) < size + HEADER) class++;
    return class;
}

void *malloc(size_t size)
{
    if (size > (size_t)1 << 28) abort();
    const uint32_t class = class_of(size);
    struct block *block = given_back[class];
    if (block)
        given_back[class] = block->next;
    else
        block = new_block(class);
    block->class = class;
    return (uint8_t *)block + HEADER;
}

void free(void *memory)
{
    if (!memory) return;
    struct block *block = (struct block *)((uint8_t *)memory - HEADER);
    block->next = given_back[block->class];
    given_back[block->class] = block;
}

void *calloc(size_t count, size_t size)
{
    if (size > 0 && count > SIZE_MAX / size) abort();
    return memset(malloc(count * size), 0, count * size);
}

void *realloc(void *memory, size_t size)
{
    if (!memory) return malloc(size);
    const size_t room =
        ((size_t)1 << ((struct block *)((uint8_t *)memory - HEADER))->class) - HEADER;
    if (size <= room) return memory;
    void *larger = memcpy(malloc(size), memory, room);
    free(memory);
    return larger;
}

_Noreturn void abort(void)
{
    __builtin_trap();
}

/* ---- Numbers ---- */

static unsigned digit_of(char byte)
{
    if (byte >= '0' && byte <= '9') return (unsigned)(byte - '0');
    if (byte >= 'a' && byte <= 'f') return (unsigned)(byte - 'a') + 10;
    if (byte >= 'A' && byte <= 'F') return (unsigned)(byte - 'A') + 10;
    return 99;
}

long long strtoll(const char *restrict text, char **restrict stop, int base)
{
    const char *at = text;
    unsigned long long number = 0;
    const bool is_negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (digit_of(*at) >= (unsigned)base) at = text;
    for (; digit_of(*at) < (unsigned)base; at++) number = number * (unsigned)base + digit_of(*at);
    if (stop) *stop = (char *)at;
    return (long long)(is_negative ? 0 - number : number);
}

unsigned long strtoul(const char *restrict text, char **restrict stop, int base)
{
    return (unsigned long)strtoll(text, stop, base);
}

/* Only whole numbers are compared here. */
double strtod(const char *restrict text, char **restrict stop)
{
    return (double)strtoll(text, stop, 10);
}

/* ---- Formats ---- */

/* The place where vsnprintf writes, and how much there was to write. */
struct target {
    char *text;
    size_t size, used;
};

/* One conversion. */
struct conversion {
    bool fills_zeros, is_left;
    int width, precision;       /* -1: none. */
    unsigned longs;             /* 2: 64 bits. */
};

static void put(struct target *target, char byte)
{
    if (target->used + 1 < target->size) target->text[target->used] = byte;
    target->used++;
}

static void put_padded(struct target *target, const struct conversion *how, const char *bytes,
                       size_t size)
{
    const size_t width = how->width > 0 ? (size_t)how->width : 0;
    for (size_t i = size; i < width && !how->is_left; i++)
        put(target, how->fills_zeros ? '0' : ' ');
    for (size_t i = 0; i < size; i++) put(target, bytes[i]);
    for (size_t i = size; i < width && how->is_left; i++) put(target, ' ');
}

static void put_text(struct target *target, const struct conversion *how, const char *text)
{
    size_t size = 0;
    while ((how->precision < 0 || size < (size_t)how->precision) && text[size] != '\0') size++;
    put_padded(target, how, text, size);
}

static void put_number(struct target *target, const struct conversion *how,
                       unsigned long long number, unsigned base, bool minus)
{
    char digits[24];
    size_t at = sizeof digits;
    struct conversion rest = *how;
    do digits[--at] = "0123456789abcdef"[number % base]; while ((number /= base) > 0);
    if (minus && how->fills_zeros) {
        put(target, '-');
        rest.width--;
    } else if (minus) {
        digits[--at] = '-';
    }
    put_padded(target, &rest, digits + at, sizeof digits - at);
}

/* A number of digits, or an argument. */
static const char *read_count(const char *format, int *count, va_list *arguments)
{
    *count = 0;
    if (*format == '*') {
        *count = va_arg(*arguments, int);
        return format + 1;
    }
    for (; *format >= '0' && *format <= '9'; format++) *count = *count * 10 + (*format - '0');
    return format;
}

static const char *read_conversion(const char *format, struct conversion *how, va_list *arguments)
{
    *how = (struct conversion){ .precision = -1 };
    for (; *format == '0' || *format == '-'; format++)
        *(*format == '0' ? &how->fills_zeros : &how->is_left) = true;
    format = read_count(format, &how->width, arguments);
    if (*format == '.') format = read_count(format + 1, &how->precision, arguments);
    for (; *format == 'l' || *format == 'z'; format++) how->longs += *format == 'l';
    return format;
}

static void put_signed(struct target *target, const struct conversion *how, long long number)
{
    put_number(target, how,
               number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number, 10,
               number < 0);
}

static void convert(struct target *target, char what, const struct conversion *how,
                    va_list *arguments)
{
    const bool is_long = how->longs == 2;
    switch (what) {
    case '%': put(target, '%'); break;
    case 'c': put(target, (char)va_arg(*arguments, int)); break;
    case 's': put_text(target, how, va_arg(*arguments, const char *)); break;
    case 'd':
        put_signed(target, how, is_long ? va_arg(*arguments, long long) : va_arg(*arguments, int));
        break;
    case 'u':
    case 'x':
        put_number(target, how,
                   is_long ? va_arg(*arguments, unsigned long long) : va_arg(*arguments, unsigned),
                   what == 'u' ? 10 : 16, false);
        break;
    default: abort();
    }
}

int vsnprintf(char *restrict text, size_t size, const char *restrict format, va_list arguments)
{
    struct target target = { text, size, 0 };
    struct conversion how;
    va_list rest;
    va_copy(rest, arguments);
    for (; *format != '\0'; format++) {
        if (*format != '%') {
            put(&target, *format);
            continue;
        }
        format = read_conversion(format + 1, &how, &rest);
        convert(&target, *format, &how, &rest);
    }
    va_end(rest);
    if (size > 0) text[target.used < size ? target.used : size - 1] = '\0';
    return (int)target.used;
}

int snprintf(char *restrict text, size_t size, const char *restrict format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int used = vsnprintf(text, size, format, arguments);
    va_end(arguments);
    return used;
}

int vprintf(const char *restrict format, va_list arguments)
{
    (void)format;
    (void)arguments;
    return 0;
}

int printf(const char *restrict format, ...)
{
    (void)format;
    return 0;
}

int fprintf(FILE *restrict file, const char *restrict format, ...)
{
    (void)file;
    (void)format;
    return 0;
}

int putchar(int byte)
{
    return byte;
}

int puts(const char *text)
{
    (void)text;
    return 0;
}
