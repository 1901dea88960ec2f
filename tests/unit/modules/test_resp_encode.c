/* The writer of commands gives exact bytes, whole or not at all, and nothing beyond the buffer. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "../../../resp/resp.h"
#include "../../tap.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK_WRITTEN(w, text) CHECK_MEM((w)->data, (w)->used, text, sizeof(text) - 1)

TEST(a_command_is_an_array_of_bulk_strings)
{
    uint8_t out[64];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 3);
    resp_text(&w, "SET");
    resp_bytes(&w, "door", 4);
    resp_number(&w, 30000);
    CHECK(resp_end(&w));
    CHECK_WRITTEN(&w, "*3\r\n$3\r\nSET\r\n$4\r\ndoor\r\n$5\r\n30000\r\n");
}

TEST(an_argument_may_be_any_bytes)
{
    uint8_t out[64];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 1);
    resp_bytes(&w, "\0\r\n$\xff", 5);
    CHECK(resp_end(&w));
    CHECK_WRITTEN(&w, "*1\r\n$5\r\n\0\r\n$\xff\r\n");
}

TEST(an_argument_may_be_empty)
{
    uint8_t out[64];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 2);
    resp_bytes(&w, NULL, 0);
    resp_text(&w, "");
    CHECK(resp_end(&w));
    CHECK_WRITTEN(&w, "*2\r\n$0\r\n\r\n$0\r\n\r\n");
}

TEST(a_number_is_written_in_decimal_up_to_both_edges)
{
    static const struct {
        int64_t number;
        const char *written;
    } cases[] = {
        { 0, "*1\r\n$1\r\n0\r\n" },
        { 9, "*1\r\n$1\r\n9\r\n" },
        { 10, "*1\r\n$2\r\n10\r\n" },
        { -1, "*1\r\n$2\r\n-1\r\n" },
        { -10, "*1\r\n$3\r\n-10\r\n" },
        { 1234567890, "*1\r\n$10\r\n1234567890\r\n" },
        { INT64_MAX, "*1\r\n$19\r\n9223372036854775807\r\n" },
        { INT64_MIN, "*1\r\n$20\r\n-9223372036854775808\r\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t out[64];
        struct resp_writer w;
        resp_write_begin(&w, out, sizeof out, 0);
        resp_command(&w, 1);
        resp_number(&w, cases[i].number);
        CHECK(resp_end(&w));
        CHECK_MEM(out, w.used, cases[i].written, strlen(cases[i].written));
    }
}

TEST(a_size_is_written_as_the_same_number_is)
{
    static const size_t cases[] = { 0, 9, 10, 99, 100, 4294967295u, SIZE_MAX / 2 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t out[64], expected[64];
        struct resp_writer w, other;
        resp_write_begin(&w, out, sizeof out, 0);
        resp_command(&w, 1);
        resp_size(&w, cases[i]);
        CHECK(resp_end(&w));
        resp_write_begin(&other, expected, sizeof expected, 0);
        resp_command(&other, 1);
        resp_number(&other, (int64_t)cases[i]);
        CHECK(resp_end(&other));
        CHECK_MEM(out, w.used, expected, other.used);
    }
}

TEST(commands_are_appended_to_what_is_there)
{
    uint8_t out[64] = "earlier";
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 7);
    CHECK_WRITTEN(&w, "earlier");
    for (int i = 0; i < 2; i++) {
        resp_command(&w, 1);
        resp_text(&w, "PING");
        CHECK(resp_end(&w));
    }
    CHECK_WRITTEN(&w, "earlier*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n");
}

/* The buffer has exactly that size, so that a sanitizer sees a byte written after it. */
static void write_into(size_t size, const char *expected)
{
    uint8_t *out = malloc(size + (size == 0));
    struct resp_writer w;
    out[0] = 'x';
    resp_write_begin(&w, out, size, size > 0);
    resp_command(&w, 3);
    resp_text(&w, "GET");
    resp_number(&w, -7);
    resp_bytes(&w, "", 0);
    const bool whole = resp_end(&w), fits = size >= strlen(expected);
    const bool same =
        w.used == (fits ? strlen(expected) : size > 0) && memcmp(out, expected, w.used) == 0;
    free(out);
    CHECK_INT(whole, fits);
    CHECK_INT(w.full, !fits);
    CHECK(same);
}

TEST(a_command_is_written_whole_or_not_at_all_in_a_buffer_of_any_size)
{
    static const char expected[] = "x*3\r\n$3\r\nGET\r\n$2\r\n-7\r\n$0\r\n\r\n";
    for (size_t size = 0; size <= sizeof expected + 10; size++) {
        TAP_CONTEXT("%zu bytes", size);
        write_into(size, expected);
    }
}

TEST(a_command_that_does_not_fit_leaves_those_before_it)
{
    uint8_t out[20];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 1);
    resp_text(&w, "PING");
    CHECK(resp_end(&w));
    resp_command(&w, 1);
    resp_text(&w, "PING");
    CHECK(!resp_end(&w));
    CHECK(w.full);
    CHECK_WRITTEN(&w, "*1\r\n$4\r\nPING\r\n");
}

TEST(behind_what_did_not_fit_a_smaller_argument_is_not_written_either)
{
    uint8_t out[20];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 2);
    resp_text(&w, "much too long to fit");
    resp_text(&w, "a");
    CHECK(!resp_end(&w));
    CHECK(w.full);
    CHECK_INT(w.used, 0);
}

TEST(after_a_command_that_did_not_fit_a_smaller_one_may)
{
    uint8_t out[20];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 1);
    resp_text(&w, "much too long to fit");
    CHECK(!resp_end(&w));
    resp_command(&w, 1);
    resp_text(&w, "PING");
    CHECK(resp_end(&w));
    CHECK(!w.full);
    CHECK_WRITTEN(&w, "*1\r\n$4\r\nPING\r\n");
}

TEST(a_size_that_would_overflow_does_not_fit)
{
    uint8_t out[64];
    for (size_t less = 0; less < 100; less++) {
        struct resp_writer w;
        resp_write_begin(&w, out, sizeof out, 3);
        resp_command(&w, 1);
        resp_bytes(&w, "", SIZE_MAX - less);
        CHECK(!resp_end(&w));
        CHECK_INT(w.used, 3);
    }
}

static void write_arguments(unsigned announced, unsigned written)
{
    uint8_t out[64];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, announced);
    for (unsigned i = 0; i < written; i++) resp_text(&w, "a");
    CHECK_INT(resp_end(&w), announced == written && announced > 0);
    CHECK(!w.full);
    CHECK_INT(w.used > 0, announced == written && announced > 0);
}

TEST(a_command_with_another_number_of_arguments_than_announced_or_none_is_not_written)
{
    for (unsigned announced = 0; announced < 5; announced++)
        for (unsigned written = 0; written < 5; written++) write_arguments(announced, written);
}

TEST(a_command_that_was_not_ended_is_dropped_by_the_next)
{
    uint8_t out[64];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 2);
    resp_text(&w, "GET");
    resp_command(&w, 1);
    resp_text(&w, "PING");
    CHECK(resp_end(&w));
    CHECK_WRITTEN(&w, "*1\r\n$4\r\nPING\r\n");
}

TEST(outside_a_command_nothing_is_written)
{
    uint8_t out[64];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_text(&w, "before the first");
    CHECK_INT(w.used, 0);
    CHECK(!resp_end(&w));
    resp_command(&w, 2);
    resp_text(&w, "one of two");
    CHECK(!resp_end(&w));
    resp_text(&w, "too late");
    CHECK_INT(w.used, 0);
    CHECK(!resp_end(&w));
    resp_command(&w, 1);
    resp_text(&w, "PING");
    CHECK(resp_end(&w));
    CHECK(!resp_end(&w));
    CHECK_WRITTEN(&w, "*1\r\n$4\r\nPING\r\n");
}

/* An argument may come from where nobody has counted, so a sanitizer sees a byte read beyond what
 * could matter. */
TEST(a_text_that_stays_apart_counts_as_one_argument)
{
    uint8_t out[64];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 2);
    resp_text(&w, "EVAL");
    resp_apart(&w, "return 1");
    CHECK(resp_end(&w));
    CHECK_STR(w.apart, "return 1");
    CHECK_INT(w.apart_size, 8);
    CHECK_WRITTEN(&w, "*2\r\n$4\r\nEVAL\r\n$8\r\n\r\n");
    CHECK_INT(w.apart_at, w.used - 2);
    resp_command(&w, 1);
    resp_text(&w, "PING");
    resp_apart(&w, "one too many");
    CHECK(!resp_end(&w));
    CHECK(w.miscounted);
}

/* The text has no NUL, and behind it is a page that nobody may read. */
TEST(a_text_is_read_no_further_than_to_where_it_cannot_fit)
{
    uint8_t out[32];
    struct resp_writer w;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages =
        mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    memset(pages, 't', page);
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 1);
    resp_text(&w, pages + page - sizeof out);
    CHECK(!resp_end(&w));
    CHECK_INT(w.used, 0);
    munmap(pages, 2 * page);
}

static void check_item(struct resp_parser *p, const struct resp_writer *w, size_t *at,
                       const struct resp_item *expected)
{
    struct resp_item item;
    size_t consumed;
    CHECK_INT(resp_parse(p, w->data + *at, w->used - *at, false, &consumed, &item), RESP_OK);
    *at += consumed;
    CHECK_INT(item.type, expected->type);
    CHECK_INT(item.integer, expected->integer);
    CHECK_INT(item.ends_reply, expected->ends_reply);
    CHECK_MEM(item.data, item.size, expected->data, expected->size);
}

/* The arguments begin one byte apart and are 0, 37, 74, ... bytes long. */
static void write_and_read(const uint8_t *bytes, unsigned arguments)
{
    const struct resp_limits limits = { .bulk_max = 1000, .elements_max = 100, .depth_max = 1 };
    uint8_t out[4096];
    struct resp_writer w;
    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, arguments);
    for (unsigned i = 0; i < arguments; i++) resp_bytes(&w, bytes + i, i * 37);
    CHECK(resp_end(&w));

    struct resp_parser p;
    size_t at = 0;
    resp_parser_init(&p, &limits);
    check_item(&p, &w, &at, &(struct resp_item){ .type = RESP_ARRAY, .integer = arguments });
    for (unsigned i = 0; i < arguments; i++)
        check_item(&p, &w, &at,
                   &(struct resp_item){ .type = RESP_BULK,
                                        .integer = i * 37,
                                        .data = bytes + i,
                                        .size = i * 37,
                                        .ends_reply = i + 1 == arguments });
    CHECK_INT(at, w.used);
}

TEST(what_was_written_is_read_back)
{
    uint8_t bytes[512];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7); /* Every byte there is. */
    for (unsigned arguments = 1; arguments <= 12; arguments++) {
        TAP_CONTEXT("%u arguments", arguments);
        write_and_read(bytes, arguments);
    }
}

TEST(a_text_may_stay_apart_from_its_head_and_end)
{
    char out[64];
    struct resp_writer w;

    resp_write_begin(&w, out, sizeof out, 0);
    resp_command(&w, 2);
    resp_text(&w, "ECHO");
    resp_apart(&w, "far away");
    CHECK(resp_end(&w));
    CHECK_STR(w.apart, "far away");
    CHECK_INT(w.apart_size, 8);
    CHECK_MEM(out, w.used, "*2\r\n$4\r\nECHO\r\n$8\r\n\r\n", 20);
    CHECK_INT(w.apart_at, 18);
    resp_command(&w, 1);
    resp_text(&w, "PING");
    resp_apart(&w, "one argument too many");
    CHECK(!resp_end(&w));
    CHECK(!w.apart);
}

TAP_MAIN
