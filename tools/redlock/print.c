#include "print.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DIGITS_MAX = 20 };       /* Of a uint64_t. */

_Static_assert(sizeof(size_t) == sizeof(unsigned long), "%zu is read as %lu");

/* Where it goes. */
struct sink {
    FILE *file;         /* NULL: into text, */
    char *text;
    size_t size;        /* which has so much room. */
    size_t used;        /* Bytes so far, with those for which there was no room. */
};

static struct sink page;
static int failure;

/* One "%...": */
struct field {
    bool is_left, has_zeros;
    int width, precision;       /* precision < 0: there is none. */
    unsigned longs;             /* How many l; z is one. */
};

static void put_bytes(struct sink *sink, const char *bytes, size_t size)
{
    size_t room = sink->used < sink->size ? sink->size - sink->used : 0;

    if (sink->file && fwrite(bytes, 1, size, sink->file) < size) failure = errno;
    if (room > 0) memcpy(sink->text + sink->used, bytes, size < room ? size : room);
    sink->used += size;
}

static void put_padding(struct sink *sink, char c, size_t size, int width)
{
    for (; width > 0 && (size_t)width > size; width--) put_bytes(sink, &c, 1);
}

/* sign: "-", or "". */
static void put_field(struct sink *sink, const struct field *field, const char *sign,
                      const char *bytes, size_t size)
{
    size_t all = size + strlen(sign);
    bool has_zeros = field->has_zeros && !field->is_left;

    if (!has_zeros && !field->is_left) put_padding(sink, ' ', all, field->width);
    put_bytes(sink, sign, strlen(sign));
    if (has_zeros) put_padding(sink, '0', all, field->width);
    put_bytes(sink, bytes, size);
    if (field->is_left) put_padding(sink, ' ', all, field->width);
}

static void put_number(struct sink *sink, const struct field *field, const char *sign,
                       uint64_t number, unsigned base)
{
    char digits[DIGITS_MAX], *at = digits + sizeof digits;

    assert(base == 10 || base == 16);
    do *--at = "0123456789abcdef"[number % base];
    while ((number /= base) > 0);
    put_field(sink, field, sign, at, (size_t)(digits + sizeof digits - at));
}

static void put_string(struct sink *sink, const struct field *field, const char *text)
{
    const char *end = field->precision < 0 ? NULL : memchr(text, '\0', (size_t)field->precision);

    assert(text);
    put_field(sink, field, "", text,
              end || field->precision < 0 ? strlen(text) : (size_t)field->precision);
}

/* A va_list is an array in some ABIs, so it is handed on within a structure. */
struct arguments {
    va_list list;
};

/* Digits, or "*". */
static int read_size(const char **at, struct arguments *arguments)
{
    int size = 0;

    assert(*at && **at != '\0');
    if (**at == '*') {
        ++*at;
        return va_arg(arguments->list, int);
    }
    for (; **at >= '0' && **at <= '9'; ++*at) size = size * 10 + (**at - '0');
    return size;
}

static struct field read_field(const char **at, struct arguments *arguments)
{
    struct field field = { .precision = -1 };

    for (; **at == '-' || **at == '0'; ++*at) {
        field.is_left |= **at == '-';
        field.has_zeros |= **at == '0';
    }
    field.width = read_size(at, arguments);
    if (field.width < 0) {
        field.is_left = true;
        field.width = -field.width;
    }
    if (**at == '.') {
        ++*at;
        field.precision = read_size(at, arguments);
    }
    for (; **at == 'l' || **at == 'z' || **at == 'h'; ++*at) field.longs += **at != 'h';
    return field;
}

static uint64_t take_unsigned(struct arguments *arguments, unsigned longs)
{
    if (longs == 0) return va_arg(arguments->list, unsigned);
    return longs == 1 ? va_arg(arguments->list, unsigned long)
                      : va_arg(arguments->list, unsigned long long);
}

static int64_t take_signed(struct arguments *arguments, unsigned longs)
{
    if (longs == 0) return va_arg(arguments->list, int);
    return longs == 1 ? va_arg(arguments->list, long) : va_arg(arguments->list, long long);
}

static void put_signed(struct sink *sink, const struct field *field, int64_t number)
{
    put_number(sink, field, number < 0 ? "-" : "",
               number < 0 ? 0 - (uint64_t)number : (uint64_t)number, 10);
}

static void put_conversion(struct sink *sink, const struct field *field, char conversion,
                           struct arguments *arguments)
{
    char c;

    switch (conversion) {
    case 's': put_string(sink, field, va_arg(arguments->list, const char *)); break;
    case 'd': put_signed(sink, field, take_signed(arguments, field->longs)); break;
    case 'u': put_number(sink, field, "", take_unsigned(arguments, field->longs), 10); break;
    case 'x': put_number(sink, field, "", take_unsigned(arguments, field->longs), 16); break;
    case 'c':
        c = (char)va_arg(arguments->list, int);
        put_field(sink, field, "", &c, 1);
        break;
    default:
        assert(conversion == '%');
        put_bytes(sink, "%", 1);
        break;
    }
}

static int put_all(struct sink *sink, const char *format, struct arguments *arguments)
{
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");
        struct field field;
        put_bytes(sink, format, plain);
        format += plain;
        if (*format == '\0') break;
        format++;
        field = read_field(&format, arguments);
        put_conversion(sink, &field, *format++, arguments);
    }
    return (int)sink->used;
}

static int print_list(FILE *file, const char *format, va_list list)
{
    struct sink sink = { .file = file };
    struct arguments arguments;
    int size;

    va_copy(arguments.list, list);
    size = put_all(file ? &sink : &page, format, &arguments);
    va_end(arguments.list);
    return size;
}

void print_page(char *text, size_t size)
{
    page = (struct sink){ .text = text, .size = size };
}

size_t print_page_used(void)
{
    return page.used < page.size ? page.used : page.size;
}

int print_failure(void)
{
    return failure;
}

int print(const char *format, ...)
{
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = print_list(stdout, format, arguments);
    va_end(arguments);
    return size;
}

int print_to(FILE *file, const char *format, ...)
{
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = print_list(file, format, arguments);
    va_end(arguments);
    return size;
}

int print_text_list(char *text, size_t size, const char *format, va_list list)
{
    struct sink sink = { .text = text, .size = size > 0 ? size - 1 : 0 };
    struct arguments arguments;

    va_copy(arguments.list, list);
    (void)put_all(&sink, format, &arguments);
    va_end(arguments.list);
    if (size > 0) text[sink.used < size ? sink.used : size - 1] = '\0';
    return (int)sink.used;
}

int print_text(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    int used;

    va_start(arguments, format);
    used = print_text_list(text, size, format, arguments);
    va_end(arguments);
    return used;
}
