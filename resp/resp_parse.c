/* Reads replies, one item at a time, from a window that slides over the stream. Strict: text that
 * Redis would not write is an error, at its first byte.
 *
 *     +OK\r\n                 -ERR text\r\n       :-12\r\n          lines
 *     $5\r\nhello\r\n         $-1\r\n                               bulk string, null
 *     *2\r\n<value><value>    *-1\r\n                               array, null
 *
 * The text of a string stays in the window until it is whole, and p->scanned remembers how far it
 * was looked at. A number whose line is cut off is read anew from its type byte. It is never more
 * than RESP_WINDOW_MIN bytes, and so nothing but strings and open arrays needs a memory. */
#include "resp.h"

/* The rest of the caller's window. Bytes before "at" were found good, but are not taken yet. */
struct resp_window {
    const uint8_t *data;
    size_t size;
    size_t at;
    size_t taken; /* Bytes in front of data that are done with. */
    bool full;
};

/* The limits of a number, and the status for one outside them. */
struct resp_number_rule {
    uint64_t max;
    uint64_t min_magnitude; /* The least number allowed is -min_magnitude. */
    enum resp_status bad;
    enum resp_status over; /* Above max. (Below the least is bad.) */
};

/* ---- The window ---- */

static bool window_ends(const struct resp_window *w)
{
    return w->at == w->size;
}

static bool window_shows(const struct resp_window *w, char byte)
{
    return w->at < w->size && w->data[w->at] == (uint8_t)byte;
}

static void window_take(struct resp_window *w)
{
    w->data += w->at;
    w->size -= w->at;
    w->taken += w->at;
    w->at = 0;
}

/* Reads CR LF. no_cr and no_lf are the errors if another byte is in its place. */
static enum resp_status window_end_line(struct resp_window *w, enum resp_status no_cr,
                                        enum resp_status no_lf)
{
    if (window_ends(w)) return RESP_MORE;
    if (!window_shows(w, '\r')) return no_cr;
    w->at++;
    if (window_ends(w)) return RESP_MORE;
    if (!window_shows(w, '\n')) return no_lf;
    w->at++;
    return RESP_OK;
}

/* ---- Numbers ---- */

/* Sets *sum to sum * 10 + digit; false, and *sum as it was, if that might overflow. */
static bool append_digit(uint64_t *sum, unsigned digit)
{
    if (*sum > (UINT64_MAX - 9) / 10) return false;
    *sum = *sum * 10 + digit;
    return true;
}

/* Reads [-]digits CR LF as Redis writes them, where one zero is not followed by digits, and
 * is not negative. */
static enum resp_status read_number(struct resp_window *w, const struct resp_number_rule *rule,
                                    int64_t *number)
{
    const bool negative = window_shows(w, '-');
    const uint64_t max = negative ? rule->min_magnitude : rule->max;
    uint64_t magnitude = 0;
    size_t first;

    if (negative) w->at++;
    for (first = w->at; !window_ends(w); w->at++) {
        /* A byte below '0' becomes one over 200. */
        const uint8_t digit = (uint8_t)(w->data[w->at] - '0');
        if (digit > 9) break;
        if (magnitude == 0 && (w->at > first || (negative && digit == 0))) return rule->bad;
        if (!append_digit(&magnitude, digit) || magnitude > max)
            return negative ? rule->bad : rule->over;
    }
    if (w->at == first) return window_ends(w) ? RESP_MORE : rule->bad;
    /* One less before the cast, because the magnitude of INT64_MIN is no int64_t. */
    *number = negative ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
    return window_end_line(w, rule->bad, RESP_BAD_LINE);
}

/* ---- Items ---- */

/* A value is complete, and with it every array whose last element it was. True: so is the reply. */
static bool close_value(struct resp_parser *p)
{
    while (p->depth > 0 && --p->open[p->depth - 1] == 0) p->depth--;
    return p->depth == 0;
}

/* Hands out a value that is no string. An array with elements stays open until the last of
 * them is complete. */
static enum resp_status give_value(struct resp_parser *p, struct resp_window *w,
                                   struct resp_item *item, enum resp_type type, int64_t integer)
{
    item->type = type;
    item->depth = p->depth;
    item->first = true;
    item->last = true;
    item->ends_reply = false;
    item->data = NULL;
    item->size = 0;
    item->integer = integer;
    if (type == RESP_ARRAY && integer > 0)
        p->open[p->depth++] = (uint32_t)integer;
    else
        item->ends_reply = close_value(p);
    window_take(w);
    return RESP_OK;
}

/* Hands out the first size bytes of the window, which belong to the current string. */
static enum resp_status give_piece(struct resp_parser *p, struct resp_window *w,
                                   struct resp_item *item, size_t size, bool last)
{
    item->type = (enum resp_type)p->string_type;
    item->depth = p->depth;
    item->first = p->left == p->total;
    item->last = last;
    item->data = w->data;
    item->size = size;
    item->integer = p->string_type == RESP_BULK ? (int64_t)p->total : 0;
    p->left -= size;
    p->scanned = 0;
    p->in_string = !last;
    if (!last)
        w->at = size; /* A CR after it waits for its LF. */
    item->ends_reply = last && close_value(p);
    window_take(w);
    return RESP_OK;
}

/* ---- Strings ---- */

/* Moves to the CR of a line, or as far as the window goes. */
static enum resp_status scan_line(struct resp_parser *p, struct resp_window *w)
{
    //@ loop invariant w->at <= w->size;
    for (w->at = p->scanned; w->at < w->size && !window_shows(w, '\r'); w->at++) {
        if (window_shows(w, '\n')) return RESP_BAD_LINE;
        if (w->at == p->left) return RESP_LINE_TOO_LONG;
    }
    p->scanned = w->at;
    return RESP_OK;
}

/* Moves past the last byte of a bulk string, or as far as the window goes. */
static enum resp_status scan_bulk(const struct resp_parser *p, struct resp_window *w)
{
    w->at = p->left < w->size ? p->left : w->size;
    return RESP_OK;
}

static enum resp_status read_string(struct resp_parser *p, struct resp_window *w,
                                    struct resp_item *item)
{
    const bool bulk = p->string_type == RESP_BULK;
    const enum resp_status bad_end = bulk ? RESP_BAD_BULK_END : RESP_BAD_LINE;
    enum resp_status status = bulk ? scan_bulk(p, w) : scan_line(p, w);
    const size_t size = w->at;

    if (status == RESP_OK) status = window_end_line(w, bad_end, bad_end);
    if (status == RESP_OK || (status == RESP_MORE && w->full && size > 0))
        return give_piece(p, w, item, size, status == RESP_OK);
    return status;
}

/* The head of a string is read, and the string follows in the window. */
static enum resp_status begin_string(struct resp_parser *p, struct resp_window *w,
                                     struct resp_item *item, enum resp_type type, size_t total)
{
    //@ split w->at;
    window_take(w);
    p->in_string = true;
    p->string_type = (uint8_t)type;
    p->total = total;
    p->left = total;
    return read_string(p, w, item);
}

/* ---- Heads: type byte and number ---- */

/* The number after a type byte, either an integer or a size of at most max. */
static enum resp_status read_counted(struct resp_parser *p, struct resp_window *w,
                                     struct resp_item *item, enum resp_type type, uint64_t max,
                                     enum resp_status over)
{
    const bool integer = type == RESP_INTEGER;
    const struct resp_number_rule rule = { max, integer ? (uint64_t)INT64_MAX + 1 : 1,
                                           integer ? RESP_BAD_INTEGER : RESP_BAD_LENGTH, over };
    int64_t number = 0;
    const enum resp_status status = read_number(w, &rule, &number);
    if (status != RESP_OK) return status;
    if (type == RESP_BULK && number >= 0)
        return begin_string(p, w, item, RESP_BULK, (size_t)number);
    if (!integer && number < 0) type = type == RESP_BULK ? RESP_NULL_BULK : RESP_NULL_ARRAY;
    return give_value(p, w, item, type, number);
}

static enum resp_status read_value(struct resp_parser *p, struct resp_window *w,
                                   struct resp_item *item)
{
    if (window_ends(w)) return RESP_MORE;
    switch (w->data[w->at++]) {
    case '+': return begin_string(p, w, item, RESP_SIMPLE, p->limits.line_max);
    case '-': return begin_string(p, w, item, RESP_ERROR, p->limits.line_max);
    case ':': return read_counted(p, w, item, RESP_INTEGER, INT64_MAX, RESP_BAD_INTEGER);
    case '$': return read_counted(p, w, item, RESP_BULK, p->limits.bulk_max, RESP_BULK_TOO_BIG);
    case '*':
        if (p->depth < p->limits.depth_max)
            return read_counted(p, w, item, RESP_ARRAY, p->limits.elements_max,
                                RESP_TOO_MANY_ELEMENTS);
        w->at--;
        return RESP_TOO_DEEP;
    default: w->at--; return RESP_BAD_TYPE;
    }
}

/* ---- Public ---- */

/* The invariant between two calls. (tests/prove/parse.c has that the arrays in use of open[] have
 * elements to come.) */
/*@ predicate is_sound(struct resp_parser *p) =
      p->depth <= RESP_DEPTH_MAX && p->limits.depth_max <= RESP_DEPTH_MAX &&
      p->limits.bulk_max <= RESP_BULK_MAX && p->string_type <= RESP_BULK &&
      p->string_type != RESP_INTEGER; */

//@ ensures is_sound(p);
RESP_API void resp_parser_init(struct resp_parser *p, const struct resp_limits *limits)
{
    p->limits = *limits;
    p->scanned = 0;
    p->depth = 0;
    p->string_type = RESP_SIMPLE;
    p->in_string = false;
    p->error = RESP_OK;
    if (p->limits.bulk_max > RESP_BULK_MAX) p->limits.bulk_max = RESP_BULK_MAX;
    if (p->limits.depth_max > RESP_DEPTH_MAX) p->limits.depth_max = RESP_DEPTH_MAX;
}

/*@ requires is_sound(p) && p->scanned <= size && \valid_read((uint8_t *)data + (0 .. size - 1));
    ensures is_sound(p);
    ensures *consumed <= size; */
RESP_API enum resp_status resp_parse(struct resp_parser *p, const void *data, size_t size,
                                     bool buffer_full, size_t *consumed, struct resp_item *item)
{
    struct resp_window w = { (const uint8_t *)data, size, 0, 0, buffer_full };
    enum resp_status status = (enum resp_status)p->error;

    *consumed = 0;
    if (status != RESP_OK) return status;
    status = p->in_string ? read_string(p, &w, item) : read_value(p, &w, item);
    *consumed = w.taken;
    if (status == RESP_OK || status == RESP_MORE) return status;
    *consumed += w.at; /* The good bytes before the bad one. */
    p->error = (uint8_t)status;
    return status;
}

#define RESP_TEXTS(X)                                                                           \
    X(RESP_OK, "ok")                                                                            \
    X(RESP_MORE, "more bytes needed")                                                           \
    X(RESP_BAD_TYPE, "not a RESP2 type byte")                                                   \
    X(RESP_BAD_LINE, "CR without LF, or LF without CR")                                         \
    X(RESP_BAD_INTEGER, "malformed integer")                                                    \
    X(RESP_BAD_LENGTH, "malformed length")                                                      \
    X(RESP_BAD_BULK_END, "bulk string does not end with CR LF")                                 \
    X(RESP_LINE_TOO_LONG, "line too long")                                                      \
    X(RESP_BULK_TOO_BIG, "bulk string too big")                                                 \
    X(RESP_TOO_MANY_ELEMENTS, "array has too many elements")                                    \
    X(RESP_TOO_DEEP, "arrays nested too deeply")

/* They are one object, not literals, since gcc puts those that a switch returns where --gc-sections
 * cannot tell what uses them. */
static const struct {
#define RESP_FIELD(name, text) char of_##name[sizeof(text)];
    RESP_TEXTS(RESP_FIELD)
#undef RESP_FIELD
} resp_texts = {
#define RESP_FIELD(name, text) text,
    RESP_TEXTS(RESP_FIELD)
#undef RESP_FIELD
};

RESP_API const char *resp_status_text(enum resp_status status)
{
    switch (status) {
#define RESP_CASE(name, text) case name: return resp_texts.of_##name;
    RESP_TEXTS(RESP_CASE)
#undef RESP_CASE
    }
    return "unknown status";
}
