/* Writes commands into a buffer of the caller's:  *2\r\n  $3\r\nGET\r\n  $4\r\ndoor\r\n
 * A command is an array of bulk strings, whatever its arguments mean. Knows no command by name. */
#include "resp.h"

/* Like memcpy(), and no larger than a call of it for firmware that does not link it otherwise. Compilers that optimize for speed
 * call it. */
static void writer_copy(struct resp_writer *w, const uint8_t *restrict from, size_t size)
{
    uint8_t *restrict to = w->data + w->used;
    for (size_t i = 0; i < size; i++) to[i] = from[i];
    w->used += size;
}

/* Once something did not fit nothing more is written, or a smaller thing behind it would leave a hole. */
static void writer_put(struct resp_writer *w, const void *data, size_t size)
{
    if (size > w->size || w->used > w->size - size) w->full = true;
    if (!w->full) writer_copy(w, data, size);
}

RESP_API size_t resp_decimal(char text[RESP_DIGITS_MAX], uint64_t number)
{
    size_t begin = RESP_DIGITS_MAX;
    do {
        text[--begin] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return begin;
}

/* The same within the registers of a small processor, for which a division of 64 bits is 700 bytes of code. */
static size_t decimal_of_size(char text[RESP_DIGITS_MAX], size_t number)
{
    size_t begin = RESP_DIGITS_MAX;
    do {
        text[--begin] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return begin;
}

/* "*2\r\n", "$4\r\n": put in one piece, since a command has one for each argument. */
static void writer_put_head(struct resp_writer *w, char type, size_t number)
{
    char head[1 + RESP_DIGITS_MAX + 2];
    const size_t begin = decimal_of_size(head + 1, number); /* One before the digits. */
    head[begin] = type;
    head[RESP_DIGITS_MAX + 1] = '\r';
    head[RESP_DIGITS_MAX + 2] = '\n';
    writer_put(w, head + begin, sizeof head - begin);
}

RESP_API void resp_write_begin(struct resp_writer *w, void *data, size_t size, size_t used)
{
    w->data = data;
    w->size = size;
    w->used = used;
    w->whole = used;
    w->missing = 0;
    w->full = false;
    w->miscounted = false;
    w->apart = NULL;
    w->apart_size = 0;
    w->apart_at = 0;
}

RESP_API void resp_command(struct resp_writer *w, unsigned arguments)
{
    w->used = w->whole;
    w->missing = arguments;
    w->full = false;
    w->miscounted = arguments == 0;
    w->apart = NULL;
    writer_put_head(w, '*', arguments);
}

/* False: one too many. */
static bool writer_count(struct resp_writer *w)
{
    if (w->missing == 0)
        w->miscounted = true;
    else
        w->missing--;
    return !w->miscounted;
}

RESP_API void resp_bytes(struct resp_writer *w, const void *data, size_t size)
{
    if (!writer_count(w)) return;
    writer_put_head(w, '$', size);
    writer_put(w, data, size);
    writer_put(w, "\r\n", 2);
}

/* Counted here: strlen is not among the functions that a freestanding libc promises. */
static size_t text_size(const char *text, size_t max)
{
    size_t size = 0;
    while (size < max && text[size] != '\0') size++;
    return size;
}

RESP_API void resp_text(struct resp_writer *w, const char *text)
{
    resp_bytes(w, text, text_size(text, w->size + 1)); /* What is longer cannot fit. */
}

RESP_API void resp_apart(struct resp_writer *w, const char *text)
{
    if (!writer_count(w)) return;
    w->apart = text;
    w->apart_size = text_size(text, SIZE_MAX);
    writer_put_head(w, '$', w->apart_size);
    w->apart_at = w->used;
    writer_put(w, "\r\n", 2);
}

RESP_API void resp_number(struct resp_writer *w, int64_t number)
{
    char text[RESP_DIGITS_MAX];
    /* One more before the minus, because INT64_MIN has no positive twin. */
    size_t begin = resp_decimal(text, number < 0 ? (uint64_t)-(number + 1) + 1 : (uint64_t)number);
    if (number < 0) text[--begin] = '-';
    resp_bytes(w, text + begin, RESP_DIGITS_MAX - begin);
}

RESP_API void resp_size(struct resp_writer *w, size_t number)
{
    char text[RESP_DIGITS_MAX];
    const size_t begin = decimal_of_size(text, number);
    resp_bytes(w, text + begin, RESP_DIGITS_MAX - begin);
}

RESP_API bool resp_end(struct resp_writer *w)
{
    const bool good = !w->full && !w->miscounted && w->missing == 0 && w->used > w->whole;
    if (good)
        w->whole = w->used;
    else
        w->apart = NULL;
    w->used = w->whole;
    w->missing = 0;
    return good;
}
