/* The parser of replies. Its results are written down as text, an item like this and a blank
 * between two:
 *
 *     >>:12.      depth two, integer 12, and with it the reply ends
 *     $hello      a bulk string;  $hel~ ~lo  the same in two pieces;  $null  none
 *     *2          the head of an array */
#include "../../../resp/resp.h"
#include "../../tap.h"

#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define BYTES(text) (text), sizeof(text) - 1
#define CHECK_SAID(r, text) CHECK_MEM((r)->said, (r)->said_size, text, sizeof(text) - 1)

static const struct resp_limits roomy = {
    .line_max = 1000, .bulk_max = RESP_BULK_MAX, .elements_max = UINT32_MAX,
    .depth_max = RESP_DEPTH_MAX
};

/* ---- A reader of streams ---- */

struct reader {
    struct resp_parser parser;
    enum resp_status status;
    size_t taken;          /* Bytes of the stream that were consumed. */
    char said[1024];
    size_t said_size;
};

static void reader_init(struct reader *r, const struct resp_limits *limits)
{
    memset(r, 0, sizeof *r);
    resp_parser_init(&r->parser, limits);
}

static void say(struct reader *r, const void *text, size_t size)
{
    if (size > sizeof r->said - r->said_size) size = sizeof r->said - r->said_size;
    if (size > 0) memcpy(r->said + r->said_size, text, size);
    r->said_size += size;
}

static void say_value(struct reader *r, const struct resp_item *item)
{
    char number[24];
    const int length = snprintf(number, sizeof number, "%jd", (intmax_t)item->integer);
    if (item->type == RESP_NULL_BULK || item->type == RESP_NULL_ARRAY)
        say(r, BYTES("null"));
    else if (item->type == RESP_INTEGER || item->type == RESP_ARRAY)
        say(r, number, (size_t)length);
    else
        say(r, item->data, item->size);
}

static void say_item(struct reader *r, const struct resp_item *item)
{
    static const char letters[] = "+-:$$**"; /* The order is that of enum resp_type. */
    if (r->said_size > 0) say(r, " ", 1);
    for (int i = 0; i < item->depth; i++) say(r, ">", 1);
    say(r, item->first ? &letters[item->type] : "~", 1);
    say_value(r, item);
    if (!item->last) say(r, "~", 1);
    if (item->ends_reply) say(r, ".", 1);
}

/* Parses a copy that is just as large as the window, so that a sanitizer sees a read after it, and
 * that lies elsewhere each time. Returns whether there was an item. */
static bool reader_step(struct reader *r, const char *window, size_t size, bool full)
{
    struct resp_item item;
    size_t consumed;
    void *copy = malloc(size + (size == 0));
    memcpy(copy, window, size);
    r->status = resp_parse(&r->parser, copy, size, full, &consumed, &item);
    if (r->status == RESP_OK) say_item(r, &item);
    r->taken += consumed;
    free(copy);
    return r->status == RESP_OK;
}

/* The stream has come as far as arrived. */
static void reader_read(struct reader *r, const char *stream, size_t arrived)
{
    while (reader_step(r, stream + r->taken, arrived - r->taken, false))
        ;
}

/* The same through a buffer of window_size bytes, which is refilled as soon as it can be. */
static void reader_slide(struct reader *r, const char *stream, size_t size, size_t window_size)
{
    size_t before, left;
    do {
        before = r->taken;
        left = size - r->taken;
        reader_step(r, stream + r->taken, left < window_size ? left : window_size,
                    left >= window_size);
    } while (r->taken > before && r->status <= RESP_MORE);
}

/* ---- Every kind of reply ---- */

static const struct {
    const char *stream;
    size_t size;
    const char *said;
} replies[] = {
    { BYTES("+OK\r\n"), "+OK." },
    { BYTES("+\r\n"), "+." },
    { BYTES("+a b\t\xc3\xa9\r\n"), "+a b\t\xc3\xa9." },
    { BYTES("-ERR no such thing\r\n"), "-ERR no such thing." },
    { BYTES("-\r\n"), "-." },
    { BYTES(":0\r\n"), ":0." },
    { BYTES(":1\r\n"), ":1." },
    { BYTES(":-1\r\n"), ":-1." },
    { BYTES(":1000\r\n"), ":1000." },
    { BYTES(":9223372036854775807\r\n"), ":9223372036854775807." },
    { BYTES(":-9223372036854775807\r\n"), ":-9223372036854775807." },
    { BYTES(":-9223372036854775808\r\n"), ":-9223372036854775808." },
    { BYTES("$5\r\nhello\r\n"), "$hello." },
    { BYTES("$10\r\n0123456789\r\n"), "$0123456789." },
    { BYTES("$0\r\n\r\n"), "$." },
    { BYTES("$2\r\n\r\n\r\n"), "$\r\n." },
    { BYTES("$7\r\n+OK\r\n:1\r\n"), "$+OK\r\n:1." },
    { BYTES("$-1\r\n"), "$null." },
    { BYTES("*0\r\n"), "*0." },
    { BYTES("*-1\r\n"), "*null." },
    { BYTES("*1\r\n:7\r\n"), "*1 >:7." },
    { BYTES("*3\r\n$1\r\na\r\n$-1\r\n-no\r\n"), "*3 >$a >$null >-no." },
    { BYTES("*2\r\n*0\r\n*-1\r\n"), "*2 >*0 >*null." },
    { BYTES("*1\r\n*1\r\n*1\r\n*0\r\n"), "*1 >*1 >>*1 >>>*0." },
    { BYTES("*1\r\n*1\r\n*1\r\n+x\r\n"), "*1 >*1 >>*1 >>>+x." },
    { BYTES("*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n*1\r\n:2\r\n"), "*2 >*2 >>:1 >>*0 >*1 >>*1 >>>:2." },
    { BYTES("*2\r\n*1\r\n$1\r\na\r\n$1\r\nb\r\n"), "*2 >*1 >>$a >$b." },
    { BYTES("*3\r\n$6\r\nmaster\r\n:3129659\r\n*0\r\n"), "*3 >$master >:3129659 >*0." },
    { BYTES("+OK\r\n:1\r\n$1\r\na\r\n*1\r\n:2\r\n+OK\r\n"), "+OK. :1. $a. *1 >:2. +OK." },
};

static void check_said(const struct reader *r, size_t reply)
{
    CHECK_INT(r->status, RESP_MORE);
    CHECK_INT(r->taken, replies[reply].size);
    CHECK_MEM(r->said, r->said_size, replies[reply].said, strlen(replies[reply].said));
}

/* The stream comes in three parts, of which any may be empty. */
static void read_in_three(size_t reply, size_t first, size_t second)
{
    struct reader r;
    reader_init(&r, &roomy);
    reader_read(&r, replies[reply].stream, first);
    reader_read(&r, replies[reply].stream, second);
    reader_read(&r, replies[reply].stream, replies[reply].size);
    check_said(&r, reply);
}

TEST(every_kind_of_reply_is_read)
{
    for (size_t i = 0; i < COUNT(replies); i++) {
        TAP_CONTEXT("reply %zu: %s", i, replies[i].said);
        read_in_three(i, replies[i].size, replies[i].size);
    }
}

TEST(every_reply_may_be_split_in_two_and_in_three_anywhere)
{
    for (size_t i = 0; i < COUNT(replies); i++)
        for (size_t second = 0; second <= replies[i].size; second++)
            for (size_t first = 0; first <= second; first++) {
                TAP_CONTEXT("reply %zu: %s, split at %zu and %zu", i, replies[i].said, first,
                            second);
                read_in_three(i, first, second);
            }
}

TEST(every_reply_may_come_byte_by_byte)
{
    for (size_t i = 0; i < COUNT(replies); i++) {
        struct reader r;
        TAP_CONTEXT("reply %zu: %s", i, replies[i].said);
        reader_init(&r, &roomy);
        for (size_t arrived = 0; arrived <= replies[i].size; arrived++)
            reader_read(&r, replies[i].stream, arrived);
        check_said(&r, i);
    }
}

TEST(a_bulk_string_may_hold_a_nul_byte)
{
    struct reader r;
    reader_init(&r, &roomy);
    reader_read(&r, BYTES("$3\r\na\0b\r\n"));
    CHECK_SAID(&r, "$a\0b.");
}

static void check_integer(const char *stream, enum resp_type type, int64_t expected)
{
    struct resp_parser p;
    struct resp_item item;
    size_t consumed;
    resp_parser_init(&p, &roomy);
    CHECK_INT(resp_parse(&p, stream, strlen(stream), false, &consumed, &item), RESP_OK);
    CHECK_INT(consumed, strlen(stream));
    CHECK_INT(item.type, type);
    CHECK_INT(item.integer, expected);
}

TEST(an_item_carries_the_number_that_its_contract_says)
{
    check_integer(":-12\r\n", RESP_INTEGER, -12);
    check_integer("*4294967295\r\n", RESP_ARRAY, UINT32_MAX);
    check_integer("$3\r\nabc\r\n", RESP_BULK, 3);
    check_integer("$-1\r\n", RESP_NULL_BULK, -1);
    check_integer("*-1\r\n", RESP_NULL_ARRAY, -1);
    check_integer("+12\r\n", RESP_SIMPLE, 0);
    check_integer("-12\r\n", RESP_ERROR, 0);
}

TEST(a_line_after_a_bulk_string_does_not_inherit_its_size)
{
    struct resp_parser p;
    struct resp_item item;
    size_t consumed;
    resp_parser_init(&p, &roomy);
    CHECK_INT(resp_parse(&p, BYTES("$3\r\nabc\r\n"), false, &consumed, &item), RESP_OK);
    CHECK_INT(resp_parse(&p, BYTES("+OK\r\n"), false, &consumed, &item), RESP_OK);
    CHECK_INT(item.integer, 0);
}

TEST(the_head_of_a_bulk_string_is_consumed_before_its_bytes_have_come)
{
    struct resp_parser p;
    struct resp_item item;
    size_t consumed;
    resp_parser_init(&p, &roomy);
    CHECK_INT(resp_parse(&p, BYTES("$5\r\nhel"), false, &consumed, &item), RESP_MORE);
    CHECK_INT(consumed, 4);
    CHECK_INT(resp_parse(&p, BYTES("hello\r"), false, &consumed, &item), RESP_MORE);
    CHECK_INT(consumed, 0);
    CHECK_INT(resp_parse(&p, BYTES("hello\r\n"), false, &consumed, &item), RESP_OK);
    CHECK_INT(consumed, 7);
}

TEST(an_empty_window_may_have_no_address)
{
    struct resp_parser p;
    struct resp_item item;
    size_t consumed = 1;
    resp_parser_init(&p, &roomy);
    CHECK_INT(resp_parse(&p, NULL, 0, true, &consumed, &item), RESP_MORE);
    CHECK_INT(consumed, 0);
    CHECK_INT(resp_parse(&p, BYTES("+"), true, &consumed, &item), RESP_MORE);
    CHECK_INT(resp_parse(&p, NULL, 0, true, &consumed, &item), RESP_MORE);
    CHECK_INT(resp_parse(&p, BYTES("\r\n"), true, &consumed, &item), RESP_OK);
}

/* ---- Errors ---- */

/* One past each of these is in the table below, at each of these is in the test after it. */
static const struct resp_limits tight = {
    .line_max = 4, .bulk_max = 12, .elements_max = 10, .depth_max = 2
};

static const struct {
    const char *stream;
    size_t size;
    enum resp_status status;
    size_t offset;
} errors[] = {
    /* No RESP2 at all. */
    { BYTES("HTTP/1.1 400 Bad Request\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES("\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES("\n"), RESP_BAD_TYPE, 0 },
    { BYTES("\0"), RESP_BAD_TYPE, 0 },
    { BYTES("\xff"), RESP_BAD_TYPE, 0 },
    { BYTES("\xab"), RESP_BAD_TYPE, 0 }, /* '+' with the top bit set. */
    { BYTES("+OK\r\nx"), RESP_BAD_TYPE, 5 },
    { BYTES("*2\r\n:1\r\n2\r\n"), RESP_BAD_TYPE, 8 },
    /* RESP3. */
    { BYTES("_\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES("#t\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES(",1.5\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES("(1\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES("!1\r\nx\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES("=5\r\ntxt:x\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES("%0\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES("~0\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES(">0\r\n"), RESP_BAD_TYPE, 0 },
    { BYTES("|0\r\n"), RESP_BAD_TYPE, 0 },
    /* Lines. */
    { BYTES("+OK\n"), RESP_BAD_LINE, 3 },
    { BYTES("+\n"), RESP_BAD_LINE, 1 },
    { BYTES("+OK\rx"), RESP_BAD_LINE, 4 },
    { BYTES("+OK\r\r\n"), RESP_BAD_LINE, 4 },
    { BYTES("-\rx"), RESP_BAD_LINE, 2 },
    { BYTES("-a\nb\r\n"), RESP_BAD_LINE, 2 },
    { BYTES("+abcd\n"), RESP_BAD_LINE, 5 },
    { BYTES(":1\rx"), RESP_BAD_LINE, 3 },
    { BYTES("$1\r1"), RESP_BAD_LINE, 3 },
    { BYTES("$-1\r\r"), RESP_BAD_LINE, 4 },
    { BYTES("*1\r*"), RESP_BAD_LINE, 3 },
    { BYTES("+abcde\r\n"), RESP_LINE_TOO_LONG, 5 },
    { BYTES("-abcde\r\n"), RESP_LINE_TOO_LONG, 5 },
    /* Integers. */
    { BYTES(":\r\n"), RESP_BAD_INTEGER, 1 },
    { BYTES(":-\r\n"), RESP_BAD_INTEGER, 2 },
    { BYTES(":+1\r\n"), RESP_BAD_INTEGER, 1 },
    { BYTES(": 1\r\n"), RESP_BAD_INTEGER, 1 },
    { BYTES(":--1\r\n"), RESP_BAD_INTEGER, 2 },
    { BYTES(":12a"), RESP_BAD_INTEGER, 3 },
    { BYTES(":1.5\r\n"), RESP_BAD_INTEGER, 2 },
    { BYTES(":1-\r\n"), RESP_BAD_INTEGER, 2 },
    { BYTES(":1\n"), RESP_BAD_INTEGER, 2 },
    { BYTES(":/"), RESP_BAD_INTEGER, 1 },   /* The byte before '0'. */
    { BYTES("::"), RESP_BAD_INTEGER, 1 },   /* The byte after '9'. */
    { BYTES(":\xb1"), RESP_BAD_INTEGER, 1 }, /* '1' with the top bit set. */
    { BYTES(":00\r\n"), RESP_BAD_INTEGER, 2 },
    { BYTES(":01\r\n"), RESP_BAD_INTEGER, 2 },
    { BYTES(":-0\r\n"), RESP_BAD_INTEGER, 2 },
    { BYTES(":-01\r\n"), RESP_BAD_INTEGER, 2 },
    { BYTES(":9223372036854775808\r\n"), RESP_BAD_INTEGER, 19 },
    { BYTES(":9223372036854775810\r\n"), RESP_BAD_INTEGER, 19 },
    { BYTES(":92233720368547758070\r\n"), RESP_BAD_INTEGER, 20 },
    { BYTES(":-9223372036854775809\r\n"), RESP_BAD_INTEGER, 20 },
    { BYTES(":-92233720368547758080\r\n"), RESP_BAD_INTEGER, 21 },
    { BYTES(":18446744073709551617\r\n"), RESP_BAD_INTEGER, 20 },
    { BYTES(":99999999999999999999\r\n"), RESP_BAD_INTEGER, 19 },
    /* Bulk strings. */
    { BYTES("$\r\n"), RESP_BAD_LENGTH, 1 },
    { BYTES("$-\r\n"), RESP_BAD_LENGTH, 2 },
    { BYTES("$-2\r\n"), RESP_BAD_LENGTH, 2 },
    { BYTES("$-0\r\n"), RESP_BAD_LENGTH, 2 },
    { BYTES("$-10\r\n"), RESP_BAD_LENGTH, 3 },
    { BYTES("$+1\r\n"), RESP_BAD_LENGTH, 1 },
    { BYTES("$01\r\n"), RESP_BAD_LENGTH, 2 },
    { BYTES("$1x\r\n"), RESP_BAD_LENGTH, 2 },
    { BYTES("$?\r\n"), RESP_BAD_LENGTH, 1 },
    { BYTES("$13\r\n"), RESP_BULK_TOO_BIG, 2 },
    { BYTES("$20\r\n"), RESP_BULK_TOO_BIG, 2 },
    { BYTES("$100\r\n"), RESP_BULK_TOO_BIG, 3 },
    { BYTES("$4294967297\r\n"), RESP_BULK_TOO_BIG, 2 },
    { BYTES("$18446744073709551617\r\n"), RESP_BULK_TOO_BIG, 2 },
    { BYTES("$1\r\nab\r\n"), RESP_BAD_BULK_END, 5 },
    { BYTES("$1\r\na\n"), RESP_BAD_BULK_END, 5 },
    { BYTES("$1\r\na\rb"), RESP_BAD_BULK_END, 6 },
    { BYTES("$0\r\na"), RESP_BAD_BULK_END, 4 },
    { BYTES("$0\r\n\r\r"), RESP_BAD_BULK_END, 5 },
    { BYTES("$2\r\n\r\n$1"), RESP_BAD_BULK_END, 6 },
    /* Arrays. */
    { BYTES("*\r\n"), RESP_BAD_LENGTH, 1 },
    { BYTES("*-\r\n"), RESP_BAD_LENGTH, 2 },
    { BYTES("*-2\r\n"), RESP_BAD_LENGTH, 2 },
    { BYTES("*-11\r\n"), RESP_BAD_LENGTH, 3 },
    { BYTES("*-18446744073709551615\r\n"), RESP_BAD_LENGTH, 3 },
    { BYTES("*01\r\n"), RESP_BAD_LENGTH, 2 },
    { BYTES("*1 \r\n"), RESP_BAD_LENGTH, 2 },
    { BYTES("*11\r\n"), RESP_TOO_MANY_ELEMENTS, 2 },
    { BYTES("*4294967296\r\n"), RESP_TOO_MANY_ELEMENTS, 2 },
    { BYTES("*2\r\n:1\r\n*11\r\n"), RESP_TOO_MANY_ELEMENTS, 10 },
    { BYTES("*1\r\n*1\r\n*1\r\n"), RESP_TOO_DEEP, 8 },
    { BYTES("*1\r\n*1\r\n*0\r\n"), RESP_TOO_DEEP, 8 },
    { BYTES("*1\r\n*1\r\n*-1\r\n"), RESP_TOO_DEEP, 8 },
    { BYTES("*2\r\n*0\r\n*2\r\n:1\r\n*"), RESP_TOO_DEEP, 16 },
};

static void check_error(size_t error, size_t arrived, const struct reader *r)
{
    const bool is_there = arrived > errors[error].offset;
    TAP_CONTEXT("error %zu, %zu of \"%.40s\"", error, arrived, errors[error].stream);
    CHECK_INT(r->status, is_there ? errors[error].status : RESP_MORE);
    if (is_there) CHECK_INT(r->taken, errors[error].offset);
}

TEST(an_error_is_reported_as_soon_as_its_byte_is_there_and_not_before)
{
    for (size_t i = 0; i < COUNT(errors); i++)
        for (size_t arrived = 0; arrived <= errors[i].size; arrived++) {
            struct reader r;
            reader_init(&r, &tight);
            reader_read(&r, errors[i].stream, arrived);
            check_error(i, arrived, &r);
        }
}

TEST(an_error_is_the_same_byte_by_byte)
{
    for (size_t i = 0; i < COUNT(errors); i++) {
        struct reader r;
        reader_init(&r, &tight);
        for (size_t arrived = 0; arrived <= errors[i].size && r.taken < errors[i].offset;
             arrived++) {
            reader_read(&r, errors[i].stream, arrived);
            check_error(i, arrived, &r);
        }
    }
}

TEST(an_error_is_the_same_through_a_small_window)
{
    for (size_t i = 0; i < COUNT(errors); i++)
        for (size_t window = RESP_WINDOW_MIN; window < RESP_WINDOW_MIN + 8; window++) {
            struct reader r;
            reader_init(&r, &tight);
            reader_slide(&r, errors[i].stream, errors[i].size, window);
            check_error(i, errors[i].size, &r);
        }
}

/* A string that is cut off comes in pieces then, but none comes before an error that is there. */
TEST(an_error_is_the_same_where_the_window_is_full)
{
    for (size_t i = 0; i < COUNT(errors); i++) {
        struct reader roomy_one, full_one;
        const char *stream = errors[i].stream;
        const size_t size = errors[i].size;
        TAP_CONTEXT("error %zu of \"%.40s\"", i, stream);
        reader_init(&roomy_one, &tight);
        reader_init(&full_one, &tight);
        reader_read(&roomy_one, stream, size);
        while (reader_step(&full_one, stream + full_one.taken, size - full_one.taken, true))
            ;
        check_error(i, size, &full_one);
        CHECK_MEM(full_one.said, full_one.said_size, roomy_one.said, roomy_one.said_size);
    }
}

TEST(after_an_error_nothing_is_read_any_more)
{
    struct resp_parser p;
    struct resp_item item;
    size_t consumed;
    resp_parser_init(&p, &roomy);
    CHECK_INT(resp_parse(&p, BYTES(":12a"), false, &consumed, &item), RESP_BAD_INTEGER);
    CHECK_INT(consumed, 3);
    CHECK_INT(resp_parse(&p, BYTES("+OK\r\n"), false, &consumed, &item), RESP_BAD_INTEGER);
    CHECK_INT(consumed, 0);
    CHECK_INT(resp_parse(&p, BYTES("+OK\r\n"), true, &consumed, &item), RESP_BAD_INTEGER);
    CHECK_INT(consumed, 0);
}

TEST(the_item_is_untouched_where_there_is_none)
{
    static const char *const streams[] = {
        "", "+O", "$5\r\nhel", "$5\r\nhello\r", "*", ":1", "x", "$1\r\nabc", "+\n"
    };
    for (size_t i = 0; i < COUNT(streams); i++) {
        struct resp_parser p;
        struct resp_item item, before;
        size_t consumed;
        memset(&item, 0xa5, sizeof item);
        memcpy(&before, &item, sizeof item);
        resp_parser_init(&p, &roomy);
        CHECK(resp_parse(&p, streams[i], strlen(streams[i]), false, &consumed, &item) != RESP_OK);
        CHECK_MEM(&item, sizeof item, &before, sizeof before);
    }
}

TEST(every_status_has_a_text_of_its_own)
{
    for (int a = RESP_OK; a <= RESP_TOO_DEEP + 1; a++)
        for (int b = RESP_OK; b < a; b++)
            CHECK(strcmp(resp_status_text((enum resp_status)a),
                         resp_status_text((enum resp_status)b)) != 0);
    CHECK_STR(resp_status_text((enum resp_status)(RESP_TOO_DEEP + 1)), "unknown status");
}

/* ---- Limits ---- */

static void check_limited(const struct resp_limits *limits, const char *stream, const char *said)
{
    struct reader r;
    reader_init(&r, limits);
    reader_read(&r, stream, strlen(stream));
    CHECK_INT(r.status, RESP_MORE);
    CHECK_MEM(r.said, r.said_size, said, strlen(said));
}

/* One past them it is an error, see the errors. */
TEST(at_its_limits_a_reply_is_read)
{
    check_limited(&tight, "+abcd\r\n", "+abcd.");
    check_limited(&tight, "-abcd\r\n", "-abcd.");
    check_limited(&tight, "$12\r\nabcdefghijkl\r\n", "$abcdefghijkl.");
    check_limited(&tight, "*10\r\n", "*10");
    check_limited(&tight, "*1\r\n*2\r\n:1\r\n:2\r\n", "*1 >*2 >>:1 >>:2.");
}

TEST(with_all_limits_zero_only_what_is_empty_is_read)
{
    const struct resp_limits none = { 0 };
    check_limited(&none, "+\r\n-\r\n:1\r\n$0\r\n\r\n$-1\r\n", "+. -. :1. $. $null.");
}

static void check_refused(const struct resp_limits *limits, const char *stream,
                          enum resp_status status, size_t offset)
{
    struct reader r;
    reader_init(&r, limits);
    reader_read(&r, stream, strlen(stream));
    CHECK_INT(r.status, status);
    CHECK_INT(r.taken, offset);
}

TEST(with_all_limits_zero_what_is_not_empty_is_refused)
{
    const struct resp_limits none = { 0 };
    check_refused(&none, "+a", RESP_LINE_TOO_LONG, 1);
    check_refused(&none, "$1", RESP_BULK_TOO_BIG, 1);
    check_refused(&none, "*0\r\n", RESP_TOO_DEEP, 0);
    const struct resp_limits empty_array = { .depth_max = 1 };
    check_limited(&empty_array, "*0\r\n*-1\r\n", "*0. *null.");
    check_refused(&empty_array, "*1", RESP_TOO_MANY_ELEMENTS, 1);
}

TEST(a_limit_above_the_highest_is_lowered_to_it)
{
    const struct resp_limits endless = { SIZE_MAX, SIZE_MAX, UINT32_MAX, UINT8_MAX };
    check_limited(&endless, "$536870912\r\n", "");
    check_refused(&endless, "$536870913\r\n", RESP_BULK_TOO_BIG, 9);
    check_limited(&endless, "*4294967295\r\n", "*4294967295");
    check_refused(&endless, "*4294967296\r\n", RESP_TOO_MANY_ELEMENTS, 10);
}

TEST(a_bomb_of_nested_arrays_is_refused_at_the_depth_allowed)
{
    char bomb[400];
    for (size_t i = 0; i < sizeof bomb; i += 4) memcpy(bomb + i, "*9\r\n", 4);
    for (uint8_t depth = 0; depth <= RESP_DEPTH_MAX + 1; depth++) {
        const struct resp_limits limits = { .elements_max = 9, .depth_max = depth };
        struct reader r;
        reader_init(&r, &limits);
        reader_read(&r, bomb, sizeof bomb);
        CHECK_INT(r.status, RESP_TOO_DEEP);
        CHECK_INT(r.taken, 4 * (size_t)(depth < RESP_DEPTH_MAX ? depth : RESP_DEPTH_MAX));
    }
}

/* ---- Pieces ---- */

/* A string whose size alone matters, as a reply. Returns the reply's size. */
static size_t make_string(char *reply, char type, size_t size)
{
    size_t at = 0;
    reply[at++] = type;
    if (type == '$') at += (size_t)sprintf(reply + at, "%zu\r\n", size);
    for (size_t i = 0; i < size; i++) reply[at++] = (char)('a' + i % 23);
    memcpy(reply + at, "\r\n", 2);
    return at + 2;
}

/* Every piece must be in its place, and no call may be without effect. */
static void read_in_pieces(const char *reply, size_t reply_size, size_t size, size_t window)
{
    const char *text = reply + reply_size - 2 - size;
    struct resp_parser p;
    struct resp_item item = { .last = false };
    size_t at = 0, read = 0;
    resp_parser_init(&p, &(struct resp_limits){ .line_max = size, .bulk_max = size });
    while (!item.last) {
        const size_t there = reply_size - at < window ? reply_size - at : window;
        size_t consumed;
        const enum resp_status status =
            resp_parse(&p, reply + at, there, there == window, &consumed, &item);
        CHECK(status == RESP_OK || status == RESP_MORE);
        CHECK(consumed > 0 || (status == RESP_MORE && there < window));
        at += consumed;
        if (status == RESP_MORE) continue;
        CHECK_INT(item.first, read == 0);
        CHECK(item.size > 0 || item.last);
        CHECK_MEM(item.data, item.size, text + read, item.size);
        CHECK_INT(item.integer, reply[0] == '$' ? size : 0);
        CHECK_INT(item.ends_reply, item.last);
        read += item.size;
        CHECK_INT(item.last, read == size && at == reply_size);
    }
    CHECK_INT(read, size);
}

TEST(a_string_larger_than_the_window_comes_in_pieces)
{
    static const char types[] = { '+', '-', '$' };
    for (size_t type = 0; type < sizeof types; type++)
        for (size_t size = 0; size < 150; size++)
            for (size_t window = RESP_WINDOW_MIN; window < 64; window++) {
                char reply[200];
                const size_t reply_size = make_string(reply, types[type], size);
                TAP_CONTEXT("%zu bytes of %c in a window of %zu", size, types[type], window);
                read_in_pieces(reply, reply_size, size, window);
            }
}

TEST(five_million_bytes_pass_through_a_hundred)
{
    enum { SIZE = 5000000 };
    char *reply = malloc(SIZE + 100);
    read_in_pieces(reply, make_string(reply, '$', SIZE), SIZE, 100);
    free(reply);
}

TEST(a_string_that_fits_comes_in_one_piece_even_in_a_full_window)
{
    struct reader r;
    reader_init(&r, &roomy);
    reader_slide(&r, BYTES("$19\r\n0123456789abcdefghi\r\n+0123456789abcdefghi\r\n"), 26);
    CHECK_SAID(&r, "$0123456789abcdefghi. +0123456789abcdefghi.");
}

TEST(pieces_know_where_they_belong)
{
    struct reader r;
    reader_init(&r, &roomy);
    reader_slide(
        &r,
        BYTES("*2\r\n*1\r\n$30\r\n0123456789abcdefghij0123456789\r\n-0123456789abcdefghij0123\r\n"),
        23);
    CHECK_SAID(&r, "*2 >*1 >>$0123456789abcdefgh~ >>~ij0123456789 >-0123456789abcdefghij01~ >~23.");
}

/* The window ends between the CR and the LF of a line, so the bytes before them are handed out
 * without them. */
TEST(a_line_cut_between_cr_and_lf_ends_with_an_empty_piece)
{
    struct resp_parser p;
    struct resp_item item;
    size_t consumed;
    resp_parser_init(&p, &roomy);
    CHECK_INT(resp_parse(&p, BYTES("+abc\r"), true, &consumed, &item), RESP_OK);
    CHECK_INT(consumed, 4);
    CHECK(item.first && !item.last && !item.ends_reply && item.size == 3);
    CHECK_INT(resp_parse(&p, BYTES("\r\n"), true, &consumed, &item), RESP_OK);
    CHECK_INT(consumed, 2);
    CHECK(!item.first && item.last && item.ends_reply && item.size == 0);
}

TEST(the_limit_of_a_line_counts_all_its_pieces)
{
    const struct resp_limits limits = { .line_max = 50 };
    char reply[100];
    struct reader r;
    reader_init(&r, &limits);
    reader_slide(&r, reply, make_string(reply, '-', 50), RESP_WINDOW_MIN);
    CHECK_INT(r.status, RESP_MORE);
    CHECK_INT(r.taken, 53);
    reader_init(&r, &limits);
    reader_slide(&r, reply, make_string(reply, '-', 51), RESP_WINDOW_MIN);
    CHECK_INT(r.status, RESP_LINE_TOO_LONG);
    CHECK_INT(r.taken, 51);
}

/* A second look would find the line feeds that are put where a byte was looked at. */
TEST(no_byte_of_a_string_is_looked_at_twice)
{
    static const char types[] = { '+', '$' };
    for (size_t type = 0; type < sizeof types; type++) {
        char reply[600];
        struct resp_parser p;
        struct resp_item item;
        const size_t size = make_string(reply, types[type], 500), head = size - 502;
        size_t consumed;
        resp_parser_init(&p, &roomy);
        CHECK_INT(resp_parse(&p, reply, head, false, &consumed, &item), RESP_MORE);
        CHECK_INT(consumed, head);
        for (size_t arrived = head; arrived < size; arrived++) {
            CHECK_INT(resp_parse(&p, reply + head, arrived - head, false, &consumed, &item),
                      RESP_MORE);
            memset(reply + head, '\n', arrived - head < 500 ? arrived - head : 500);
        }
        CHECK_INT(resp_parse(&p, reply + head, 502, false, &consumed, &item), RESP_OK);
        CHECK_INT(item.size, 500);
    }
}

/* ---- Random streams: whole, byte by byte, and through a small window they mean the same ---- */

enum { STREAM_MAX = 64, MUTANTS = 1000000 };

struct meaning {
    uint64_t values;   /* A hash of the complete values. */
    uint64_t pending;  /* The same with the pieces of a string that is not complete. */
    size_t taken;
    enum resp_status status;
    bool stuck;        /* A full window, and no progress. */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x9e3779b97f4a7c15u;
}

static void add_meaning(struct meaning *m, const struct resp_item *item)
{
    if (item->first)
        m->pending = mix(mix(mix(m->values, item->type), item->depth), (uint64_t)item->integer);
    for (size_t i = 0; i < item->size; i++) m->pending = mix(m->pending, item->data[i]);
    if (item->last) m->values = mix(m->pending, item->ends_reply);
}

/* The stream comes step bytes at a time into a buffer of window bytes. */
static struct meaning meaning_of(const uint8_t *stream, size_t size, size_t step, size_t window)
{
    static const struct resp_limits limits = {
        .line_max = 30, .bulk_max = 40, .elements_max = 5, .depth_max = 3
    };
    struct meaning m = { 0 };
    struct resp_parser p;
    size_t arrived = 0;
    resp_parser_init(&p, &limits);
    do {
        const bool full = arrived - m.taken == window;
        struct resp_item item;
        size_t consumed;
        m.status = resp_parse(&p, stream + m.taken, arrived - m.taken, full, &consumed, &item);
        m.taken += consumed;
        m.stuck |= full && m.status <= RESP_MORE && consumed == 0;
        if (m.status == RESP_OK) add_meaning(&m, &item);
        if (m.status == RESP_MORE && arrived == size) break;
        for (size_t i = 0;
             m.status == RESP_MORE && i < step && arrived < size && arrived - m.taken < window; i++)
            arrived++;
    } while (m.status <= RESP_MORE && !m.stuck);
    return m;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state >> 16; /* The low bits are the weakest. */
}

/* A reply or two of the table, with up to three bytes replaced by ones that mean something
 * to the parser. */
static size_t make_mutant(uint8_t stream[STREAM_MAX], uint64_t *random)
{
    static const char bytes[] = "\r\n\r\n+-:$*0123456789a";
    size_t size = 0;
    for (uint64_t i = 0; i < 1 + next_random(random) % 2; i++) {
        const size_t reply = (size_t)(next_random(random) % COUNT(replies));
        if (replies[reply].size > STREAM_MAX - size) break;
        memcpy(stream + size, replies[reply].stream, replies[reply].size);
        size += replies[reply].size;
    }
    for (uint64_t i = next_random(random) % 4; i > 0; i--)
        stream[next_random(random) % size] =
            (uint8_t)bytes[next_random(random) % (sizeof bytes - 1)];
    return size;
}

static void check_same(const struct meaning *a, const struct meaning *b)
{
    CHECK(!b->stuck);
    CHECK_INT(a->status, b->status);
    CHECK(a->values == b->values);
    if (a->status != RESP_MORE) CHECK_INT(a->taken, b->taken);
}

TEST(a_million_mutated_streams_mean_the_same_however_they_come)
{
    uint64_t random = 20240229;
    size_t outcomes[RESP_TOO_DEEP + 1] = { 0 };
    for (unsigned i = 0; i < MUTANTS; i += tap_sample()) {
        uint8_t stream[STREAM_MAX];
        const size_t size = make_mutant(stream, &random);
        const struct meaning whole = meaning_of(stream, size, size, SIZE_MAX);
        const struct meaning other = i % 2 ? meaning_of(stream, size, 1, SIZE_MAX)
                                           : meaning_of(stream, size, size, RESP_WINDOW_MIN);
        check_same(&whole, &other);
        outcomes[whole.status]++;
    }
    for (size_t status = RESP_MORE; status < COUNT(outcomes); status++)
        CHECK(outcomes[status] > 0 || tap_sample() > 7); /* Each way to end was taken. */
}

TAP_MAIN
