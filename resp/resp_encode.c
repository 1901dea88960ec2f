/* Writes commands into a buffer of the caller's:  *2\r\n  $3\r\nGET\r\n  $4\r\ndoor\r\n
 * A command is an array of bulk strings, whatever its arguments mean. Knows no command by name. */
#include "resp.h"

enum { HEAD = 3, END = 2 }; /* Bytes of a head besides its digits; those after an argument. */

/* True for so many bytes and those around them. Once something did not fit nothing more is written,
 * or a smaller thing after it would leave a hole. */
static bool writer_has_room(struct resp_writer *w, size_t size, size_t around)
{
    if (size > w->size || around > w->size - size || w->used > w->size - size - around)
        w->full = true;
    return !w->full;
}

/* ---- What is written to where there is room; each returns where the next byte belongs. ---- */

/* Like memcpy(), and no larger than a call of it for firmware that does not link it otherwise.
 * Compilers that optimize for speed call it. */
static uint8_t *put_bytes(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
    for (size_t i = 0; i < size; i++) to[i] = from[i];
    return to + size;
}

/* A number that fits in the registers of a small processor, for which a division of 64 bits is 700
 * bytes of code. */
static unsigned digits_of(size_t number)
{
    unsigned digits = 1;
    for (; number > 9; number /= 10) digits++;
    return digits;
}

static uint8_t *put_digits(uint8_t *to, size_t number, unsigned digits)
{
    for (unsigned at = digits - 1; at > 0; number /= 10) to[at--] = (uint8_t)('0' + number % 10);
    to[0] = (uint8_t)('0' + (uint8_t)number);     /* The rest is the first of them. */
    return to + digits;
}

static uint8_t *put_end(uint8_t *to)
{
    to[0] = '\r';
    to[1] = '\n';
    return to + END;
}

/* "*2\r\n", or "$4\r\n" and room after it for so many bytes and their end. NULL: it
 * does not fit. */
static uint8_t *writer_put_head(struct resp_writer *w, char type, size_t number, size_t size)
{
    const unsigned digits = digits_of(number);
    uint8_t *to;
    //@ split digits;
    if (!writer_has_room(w, size, digits + HEAD + END)) return NULL;
    to = w->data + w->used;
    to[0] = (uint8_t)type;
    w->used += digits + HEAD;
    return put_end(put_digits(to + 1, number, digits));
}

/* ---- Public ---- */

RESP_API size_t resp_decimal(char text[RESP_DIGITS_MAX], uint64_t number)
{
    size_t begin = RESP_DIGITS_MAX;
    do {
        text[--begin] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return begin;
}

RESP_API void resp_write_begin(struct resp_writer *w, void *data, size_t size, size_t used)
{
    w->data = (uint8_t *)data;
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
    (void)writer_put_head(w, '*', arguments, 0);
}

/* The next argument's head, if it was announced and there is room for the argument, of which so
 * much is written here. NULL: not. */
static uint8_t *begin_argument(struct resp_writer *w, size_t size, size_t here)
{
    if (w->missing == 0) w->miscounted = true;
    else                 w->missing--;
    return w->miscounted ? NULL : writer_put_head(w, '$', size, here);
}

static void end_argument(struct resp_writer *w, uint8_t *to)
{
    w->used = (size_t)(put_end(to) - w->data);
}

RESP_API void resp_bytes(struct resp_writer *w, const void *data, size_t size)
{
    uint8_t *to = begin_argument(w, size, size);
    if (to) end_argument(w, put_bytes(to, (const uint8_t *)data, size));
}

/* Counted here, since strlen is not among the functions that a freestanding libc promises. */
static size_t text_size(const char *text, size_t max)
{
    size_t size = 0;
    while (size < max && text[size] != '\0') size++;
    return size;
}

RESP_API void resp_text(struct resp_writer *w, const char *text)
{
    resp_bytes(w, text, text_size(text, w->size)); /* So many do not fit, as they need a head. */
}

RESP_API void resp_apart(struct resp_writer *w, const char *text)
{
    const size_t size = text_size(text, SIZE_MAX);
    uint8_t *to = begin_argument(w, size, 0);
    if (!to) return;
    w->apart = text;
    w->apart_size = size;
    w->apart_at = w->used;
    end_argument(w, to);
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
    uint8_t text[RESP_DIGITS_MAX];
    const unsigned digits = digits_of(number);
    //@ split digits;
    put_digits(text, number, digits);
    resp_bytes(w, text, digits);
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
