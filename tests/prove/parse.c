#include "any.h"
#include "../../resp/resp_parse.c"

/* Sizes from 0 to these. WINDOW_MAX has room for the longest number, its type byte and the bytes
 * after it; a string that is read already needs less. tests/prove/faults makes do
 * with little windows. */
#ifdef LITTLE_WINDOWS
enum { WINDOW_MAX = 8, STRING_MAX = 8, LITTLE = 4 };
#else
enum { WINDOW_MAX = 24, STRING_MAX = 14, LITTLE = 10 };
#endif
enum { NUMBER_MAX = 23, ROOM = 24 };

/* The window lies at its end, so that a byte after it is out of bounds. */
static uint8_t window[ROOM];
static struct resp_parser parser;
static struct resp_item item;

static void *any_window(size_t size)
{
    Frama_C_make_unknown((char *)window, sizeof window);
    return window + ROOM - size;
}

/* Any parser of any limits, between two values. It assumes the state that resp_parser_init sees to,
 * and is_sound describes. It is left open whether open arrays have elements to come,
 * but in prove_arrays. */
static void any_parser(void)
{
    struct resp_limits limits;

    limits.line_max = any_size(SIZE_MAX);
    limits.bulk_max = any_size(SIZE_MAX);
    limits.elements_max = any_u32(UINT32_MAX);
    limits.depth_max = any_u8(UINT8_MAX);
    resp_parser_init(&parser, &limits);
    parser.depth = any_u8(RESP_DEPTH_MAX);
    for (unsigned i = 0; i < RESP_DEPTH_MAX; i++) parser.open[i] = any_u32(UINT32_MAX);
    parser.total = any_size(SIZE_MAX);
    parser.left = any_size(SIZE_MAX);
    parser.string_type = any_bool() ? RESP_BULK : any_u8(RESP_ERROR);
}

static void parse(size_t size)
{
    size_t consumed;
    enum resp_status status =
        resp_parse(&parser, any_window(size), size, any_bool(), &consumed, &item);

    //@ assert status <= RESP_TOO_DEEP;
    if (status == RESP_OK && item.data != NULL) {
        //@ assert \valid_read(item.data + (0 .. item.size - 1));
    }
}

/* A value begins, with any bytes and any limits. */
void prove_value(void)
{
    size_t size = any_size(WINDOW_MAX);

    //@ split size;
    any_parser();
    parse(size);
}

/* A string goes on, or an error is remembered. The scanned bytes of a line are in the window still,
 * as resp_parse requires its caller to give again everything that was not consumed. (type INTEGER
 * stands for the error.) */
void prove_string(void)
{
    size_t size = any_size(STRING_MAX);
    uint8_t type = any_u8(RESP_BULK);

    //@ split size;
    //@ split type;
    any_parser();
    if (type == RESP_INTEGER) {
        parser.error = any_u8(RESP_TOO_DEEP);
    } else {
        parser.in_string = true;
        parser.string_type = type;
        if (type != RESP_BULK) parser.scanned = any_size(size);
    }
    parse(size);
}

/* The parser hands out no more bytes of a string than the string has, so `left` never goes below 0.
 * LITTLE + 1 stands for more than any window. Arrays have a proof of their own. At most `left`
 * bytes can have been scanned, because scan_line() stops there. */
void prove_left(void)
{
    uint8_t type = any_bool() ? RESP_BULK : any_u8(RESP_ERROR);
    size_t size = any_size(LITTLE), left = any_size(LITTLE + 1);

    any_parser();
    //@ split size;
    //@ split type;
    //@ split left;
    parser.depth = 0;
    parser.in_string = true;
    parser.string_type = type;
    parser.left = left;
    if (left > LITTLE) parser.left = Frama_C_size_t_interval(left, SIZE_MAX);
    if (type != RESP_BULK) parser.scanned = any_size(left < size ? left : size);
    parse(size);
    //@ assert left > LITTLE || parser.left <= left;
}

/* Arrays open and close. None is deeper than the limit, and all that are open have
 * elements to come.
 * Both are assumed before, and proven after it; read_value asks for the depth before
 * it opens one. */
void prove_arrays(void)
{
    uint8_t depth = any_u8(RESP_DEPTH_MAX);
    struct resp_window w = { window, 0, 0, 0, false };
    int64_t elements = (int64_t)any_u32(UINT32_MAX);

    //@ split depth;
    any_parser();
    parser.depth = depth;
    if (parser.limits.depth_max < depth) parser.limits.depth_max = depth;
    for (unsigned i = 0; i < depth; i++) parser.open[i] = any_u32(UINT32_MAX - 1) + 1;
    if (any_bool() && depth < parser.limits.depth_max) {
        give_value(&parser, &w, &item, RESP_ARRAY, elements);
    } else {
        give_value(&parser, &w, &item, RESP_NULL_ARRAY, -1);
    }
    //@ assert parser.depth <= parser.limits.depth_max;
    for (unsigned i = 0; i < parser.depth; i++) {
        //@ assert parser.open[i] >= 1;
    }
}

/* A number has the value of its digits, or is an error, and nothing wraps around. The rules are
 * those of read_counted. An integer may be as small as INT64_MIN, a length -1. */
void prove_number(void)
{
    size_t size = any_size(NUMBER_MAX);
    struct resp_window w = { any_window(0), 0, 0, 0, any_bool() };
    struct resp_number_rule rule = { any_u64(INT64_MAX), any_bool() ? 1 : (uint64_t)INT64_MAX + 1,
                                     RESP_BAD_LENGTH, RESP_BULK_TOO_BIG };
    int64_t number = 0;

    //@ split size;
    //@ split rule.min_magnitude;
    w.data -= size;
    w.size = size;
    read_number(&w, &rule, &number);
    //@ assert rule.min_magnitude > 1 || number >= -1;
    //@ assert w.at <= size;
}

/* Every status has a text. */
void prove_text(void)
{
    const char *text = NULL;
    for (unsigned i = 0; i < 256; i++) text = resp_status_text((enum resp_status)i);

    //@ assert \valid_read(text);
}
