/* The wire, byte for byte. Tests the bytes that are sent, and the meaning of an answer. */
#include "../../tap.h"

#include "../../../redlock/handshake.h"
#include "../../../redlock/identity.h"
#include "../../../redlock/kinds/fair.h"
#include "../../../redlock/kinds/plain.h"
#include "../../../redlock/kinds/redisson.h"
#include "../../../redlock/kinds/shared.h"
#include "../../../redlock/native.h"
#include "../../../redlock/send.h"
#include "../../../redlock/wire.h"
#include "../../world/decoder.h"

#include <string.h>

static const uint8_t token[REDLOCK_TOKEN_SIZE] = { 0x00, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab,
                                                   0xcd, 0xef, 0xff, 0x10, 0x32, 0x54, 0x76,
                                                   0x98, 0xba, 0xdc, 0xfe, 0x80, 0x7f };
#define TOKEN_TEXT "000123456789abcdefff1032547698badcfe807f"

static struct wire_subject subject(void)
{
    static const struct redlock_name name = { .bytes = "a\r\nb", .size = 4 };

    return (struct wire_subject){
        .names = &name, .name_count = 1, .token = token, .placed = token, .ttl_ms = 10000
    };
}

/* The output has the bytes of the buffer and, where it belongs among them, the script
 * that lies apart. */
static void check_output(const struct resp_writer *w, const char *expected)
{
    const char *bytes = (const char *)w->data;
    char whole[1200];
    size_t before = w->apart ? w->apart_at : w->used,
           size = w->used + (w->apart ? w->apart_size : 0);

    memcpy(whole, bytes, before);
    if (w->apart) memcpy(whole + before, w->apart, w->apart_size);
    memcpy(whole + size - (w->used - before), bytes + before, w->used - before);
    CHECK_MEM(whole, size, expected, strlen(expected));
}

static void check_bytes_of(const struct wire_row *row, enum redlock_form form,
                           const struct wire_subject *s, const char *expected)
{
    char buffer[200];
    struct resp_writer w;

    resp_write_begin(&w, buffer, sizeof buffer, 0);
    CHECK(send_encode(&w, row, wire_form_of(row, form), s));
    check_output(&w, expected);
}

static void check_bytes(const struct wire_row *row, enum redlock_form form, const char *expected)
{
    struct wire_subject s = subject();

    check_bytes_of(row, form, &s, expected);
}

static const uint8_t engine_name[REDLOCK_NAME_SIZE] = {
    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef
};

static void check_handshake(enum redlock_command command, struct redlock_login login,
                            const char *expected)
{
    char buffer[200];
    struct redlock_node node = { .login = login };
    struct resp_writer w;

    resp_write_begin(&w, buffer, sizeof buffer, 0);
    CHECK(handshake_put(&w, command, &node, plain_scripts_for_all(), engine_name));
    check_output(&w, expected);
}

TEST(acquire_is_set_nx_px_as_every_redlock_library_sends_it)
{
    check_bytes(plain_scripts_for_one()->rows[KIND_ACQUIRE], REDLOCK_FORM_BY_SHA1,
                "*6\r\n$3\r\nSET\r\n$4\r\na\r\nb\r\n$40\r\n" TOKEN_TEXT
                "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n");
}

TEST(s7_extend_and_release_are_scripts_that_compare_the_token)
{
    check_bytes(plain_scripts_for_all()->rows[KIND_RELEASE], REDLOCK_FORM_BY_SHA1,
                "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_RELEASE_SHA1
                "\r\n$1\r\n1\r\n$4\r\na\r\nb\r\n$40\r\n"
                TOKEN_TEXT "\r\n");
    check_bytes(plain_scripts_for_all()->rows[KIND_EXTEND], REDLOCK_FORM_BY_SHA1,
                "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_EXTEND_SHA1
                "\r\n$1\r\n1\r\n$4\r\na\r\nb\r\n$40\r\n"
                TOKEN_TEXT "\r\n$5\r\n10000\r\n");
    check_bytes(plain_scripts_for_all()->rows[KIND_RELEASE], REDLOCK_FORM_BY_TEXT,
                "*5\r\n$4\r\nEVAL\r\n$751\r\n" WIRE_RELEASE_SCRIPT
                "\r\n$1\r\n1\r\n$4\r\na\r\nb\r\n$40\r\n"
                TOKEN_TEXT "\r\n");
    check_bytes(plain_scripts_for_all()->rows[KIND_EXTEND], REDLOCK_FORM_BY_TEXT,
                "*6\r\n$4\r\nEVAL\r\n$206\r\n" WIRE_EXTEND_SCRIPT
                "\r\n$1\r\n1\r\n$4\r\na\r\nb\r\n$40\r\n"
                TOKEN_TEXT "\r\n$5\r\n10000\r\n");
}

TEST(questions_about_a_key_only_read)
{
    check_bytes(wire_pttl(), REDLOCK_FORM_BY_SHA1, "*2\r\n$4\r\nPTTL\r\n$4\r\na\r\nb\r\n");
    check_bytes(wire_getrange(), REDLOCK_FORM_BY_SHA1,
                "*4\r\n$8\r\nGETRANGE\r\n$4\r\na\r\nb\r\n$1\r\n0\r\n$2\r\n40\r\n");
}

TEST(the_handshake_is_written_as_documented)
{
    struct redlock_node none = { 0 };

    check_handshake(REDLOCK_COMMAND_AUTH, (struct redlock_login){ .password = "p" },
                    "*2\r\n$4\r\nAUTH\r\n$1\r\np\r\n");
    check_handshake(REDLOCK_COMMAND_AUTH, (struct redlock_login){ .user = "u", .password = "" },
                   "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$0\r\n\r\n");
    check_handshake(REDLOCK_COMMAND_SELECT, (struct redlock_login){ .database = 15 },
                    "*2\r\n$6\r\nSELECT\r\n$2\r\n15\r\n");
    check_handshake(REDLOCK_COMMAND_SETNAME, none.login,
                    "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$7\r\nredlock\r\n");
    check_handshake(REDLOCK_COMMAND_INFO, none.login, "*1\r\n$4\r\nINFO\r\n");
    check_handshake(REDLOCK_COMMAND_EVAL, none.login,
                    "*3\r\n$4\r\nEVAL\r\n$6\r\nreturn\r\n$1\r\n0\r\n");
    check_handshake(REDLOCK_COMMAND_TRIAL, (struct redlock_login){ .managed = 1 },
                    "*5\r\n$4\r\nEVAL\r\n$751\r\n" WIRE_RELEASE_SCRIPT "\r\n$1\r\n1\r\n"
                    "$24\r\n" REDLOCK_CANARY "\r\n$1\r\n-\r\n");
    check_handshake(REDLOCK_COMMAND_LOAD_RELEASE, none.login,
                    "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$751\r\n" WIRE_RELEASE_SCRIPT "\r\n");
    check_handshake(REDLOCK_COMMAND_LOAD_EXTEND, none.login,
                    "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$206\r\n" WIRE_EXTEND_SCRIPT "\r\n");
}

TEST(a_script_goes_with_what_is_around_it_where_there_is_room)
{
    char buffer[2048];
    struct redlock_node none = { 0 };
    struct resp_writer w;

    resp_write_begin(&w, buffer, sizeof buffer, 0);
    for (enum redlock_command command = REDLOCK_COMMAND_SETNAME;
         command <= REDLOCK_COMMAND_LOAD_EXTEND; command++) {
        if (handshake_leaves_out(command, &none, plain_scripts_for_all())) continue;
        CHECK(handshake_put(&w, command, &none, plain_scripts_for_all(), engine_name));
        CHECK(!w.apart);
    }
}

TEST(a_script_is_sent_from_where_it_lies)
{
    char buffer[100];
    struct redlock_node none = { 0 };
    struct wire_subject s = subject();
    struct resp_writer w;

    resp_write_begin(&w, buffer, sizeof buffer, 0);
    CHECK(handshake_put(&w, REDLOCK_COMMAND_LOAD_RELEASE, &none, plain_scripts_for_all(),
                        engine_name));
    CHECK(w.apart != NULL && w.apart_size == strlen(WIRE_RELEASE_SCRIPT));
    CHECK_MEM(buffer, w.apart_at, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$751\r\n", w.apart_at);
    CHECK_MEM(buffer + w.apart_at, w.used - w.apart_at, "\r\n", 2);
    resp_write_begin(&w, buffer, 10, 1);    /* Too small for the bytes around it. */
    CHECK(!handshake_put(&w, REDLOCK_COMMAND_LOAD_RELEASE, &none, plain_scripts_for_all(),
                         engine_name));
    CHECK(!w.apart && w.used == 1);
    resp_write_begin(&w, buffer, sizeof buffer, 1);     /* It follows other bytes. */
    CHECK(send_encode(&w, plain_scripts_for_all()->rows[KIND_RELEASE], REDLOCK_FORM_BY_TEXT, &s));
    CHECK(w.apart != NULL && w.apart_at > 1);
}

/* S20: after the words of any lock come the number of permits, and the slot. */
TEST(a_permit_is_asked_for_by_the_name_of_the_resource_and_their_number)
{
    const struct redlock_kind *kind = &redlock_permits;
    const struct redlock_name name = { .bytes = "pool", .size = 4 };
    static const struct { enum wire_kind_row which; const char *sha1, *rest; } expected[] = {
        { KIND_ACQUIRE, WIRE_PERMIT_ACQUIRE_SHA1,
          "$5\r\n10000\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n$2\r\n10\r\n$1\r\n3\r\n"
          "$18\r\n0123456789abcdef:1\r\n" },
        { KIND_EXTEND, WIRE_PERMIT_EXTEND_SHA1, "$5\r\n10000\r\n$2\r\n10\r\n$1\r\n3\r\n" },
        { KIND_WAKE, WIRE_PERMIT_RELEASE_SHA1,
          "$18\r\n0123456789abcdef:1\r\n$2\r\n10\r\n$1\r\n3\r\n" },
        { KIND_RELEASE, WIRE_PERMIT_RELEASE_SHA1, "$0\r\n\r\n$2\r\n10\r\n$1\r\n0\r\n" },
    };

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct wire_row *row = kind->rows[expected[i].which];
        struct wire_subject s = {
            .names = &name, .name_count = 1, .token = token, .placed = token, .ttl_ms = 10000,
            .ticket = 7, .life_ms = 8, .skew_ms = 9, .engine = engine_name, .wait_number = 1,
            .permit = { .count = 10, .slot = 3 }
        };
        char buffer[300], text[300];
        struct resp_writer w;
        resp_write_begin(&w, buffer, sizeof buffer, 0);
        CHECK(send_encode(&w, row, REDLOCK_FORM_BY_SHA1, &s));
        snprintf(text, sizeof text,
                 "*%u\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$4\r\npool\r\n$40\r\n" TOKEN_TEXT
                 "\r\n%s",
                 4u + row->argument_count, expected[i].sha1, expected[i].rest);
        check_output(&w, text);
    }
}

TEST(a_lock_of_Redissons_is_asked_for_by_a_field_and_a_release_names_what_lies_there)
{
    static const uint8_t other[REDLOCK_TOKEN_SIZE] = {
        255, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255, 255, 255, 255
    };
    static const uint8_t least[REDLOCK_TOKEN_SIZE] = { 0 };
    const struct redlock_kind *kind = &redlock_redisson;
    struct wire_subject s = subject();

    s.token = least;
    s.placed = other;
    check_bytes_of(kind->rows[KIND_ACQUIRE], REDLOCK_FORM_BY_SHA1, &s,
                   "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_REDISSON_ACQUIRE_SHA1
                   "\r\n$1\r\n1\r\n$4\r\na\r\nb\r\n"
                   "$38\r\n00000000-0000-0000-0000-000000000000:0\r\n$5\r\n10000\r\n");
    check_bytes_of(kind->rows[KIND_EXTEND], REDLOCK_FORM_BY_SHA1, &s,
                   "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_REDISSON_EXTEND_SHA1
                   "\r\n$1\r\n1\r\n$4\r\na\r\nb\r\n"
                   "$38\r\n00000000-0000-0000-0000-000000000000:0\r\n$5\r\n10000\r\n");
    check_bytes_of(kind->rows[KIND_RELEASE], REDLOCK_FORM_BY_SHA1, &s,
                   "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" WIRE_REDISSON_RELEASE_SHA1
                   "\r\n$1\r\n1\r\n$4\r\na\r\nb\r\n"
                   "$47\r\nff010203-0405-0607-0809-0a0b0c0d0e0f:4294967295\r\n");
}

TEST(scripts_that_are_not_loaded_go_out_with_their_texts_and_no_sha1)
{
    const struct redlock_scripts *one = plain_scripts_for_one();
    struct redlock_node none = { 0 };

    CHECK(handshake_leaves_out(REDLOCK_COMMAND_LOAD_RELEASE, &none, one) &&
          handshake_leaves_out(REDLOCK_COMMAND_LOAD_EXTEND, &none, one));
    check_bytes(one->rows[KIND_RELEASE], REDLOCK_FORM_BY_SHA1,
                "*5\r\n$4\r\nEVAL\r\n$106\r\n" WIRE_RELEASE_ONE_SCRIPT "\r\n$1\r\n1\r\n"
                "$4\r\na\r\nb\r\n$40\r\n" TOKEN_TEXT "\r\n");
    check_bytes(one->rows[KIND_EXTEND], REDLOCK_FORM_BY_SHA1,
                "*6\r\n$4\r\nEVAL\r\n$155\r\n" WIRE_EXTEND_ONE_SCRIPT "\r\n$1\r\n1\r\n"
                "$4\r\na\r\nb\r\n$40\r\n" TOKEN_TEXT "\r\n$5\r\n10000\r\n");
}

TEST(nothing_is_said_about_a_login_or_a_database_that_is_not_there)
{
    struct redlock_node none = { 0 }, managed = { .login = { .managed = 1 } },
                        login = { .login = { .user = "u", .password = "p", .database = 1 } },
                        waker = { .login = { .managed = 1 }, .is_subscription = true };
    const struct redlock_scripts *all = plain_scripts_for_all();

    CHECK(handshake_leaves_out(REDLOCK_COMMAND_AUTH, &none, all) &&
          handshake_leaves_out(REDLOCK_COMMAND_SELECT, &none, all));
    CHECK(!handshake_leaves_out(REDLOCK_COMMAND_AUTH, &login, all) &&
          !handshake_leaves_out(REDLOCK_COMMAND_SELECT, &login, all));
    CHECK(!handshake_leaves_out(REDLOCK_COMMAND_INFO, &none, all) &&
          !handshake_leaves_out(REDLOCK_COMMAND_EVAL, &none, all));
    CHECK(handshake_leaves_out(REDLOCK_COMMAND_TRIAL, &none, all) &&
          handshake_leaves_out(REDLOCK_COMMAND_TRIAL, &waker, all) &&
          !handshake_leaves_out(REDLOCK_COMMAND_TRIAL, &managed, all));
}

/* S24, S25: the poll says turn, round, whether the place is renewed, and the entry, in one word; a
 * release names the entry. */
TEST(a_fair_lock_polls_with_its_turn_and_its_round_and_names_its_entry_to_the_end)
{
    const struct redlock_kind *kind = &redlock_fair;
    const struct redlock_name name = { .bytes = "door", .size = 4 };
    static const struct redlock_place waits = { .turn = 3, .poll = 12, .entry = 7, .renew = true },
                                      unheard = { .poll = 1 };
    static const struct {
        enum wire_kind_row which;
        const struct redlock_place *place;
        const char *sha1, *rest;
    } expected[] = {
        { KIND_ACQUIRE, &waits, WIRE_FAIR_ACQUIRE_SHA1,
          "$5\r\n10000\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n$25\r\n3 12 1 0123456789abcdef:7\r\n" },
        { KIND_ACQUIRE, &unheard, WIRE_FAIR_ACQUIRE_SHA1,
          "$5\r\n10000\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n$6\r\n0 1 0 \r\n" },
        { KIND_RESTORE, &waits, WIRE_FAIR_RESTORE_SHA1,
          "$5\r\n10000\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n" },
        { KIND_EXTEND, &waits, WIRE_FAIR_EXTEND_SHA1, "$5\r\n10000\r\n" },
        { KIND_RELEASE, &waits, WIRE_FAIR_RELEASE_SHA1, "$18\r\n0123456789abcdef:7\r\n" },
        { KIND_WAKE, &waits, WIRE_FAIR_RELEASE_SHA1, "$18\r\n0123456789abcdef:7\r\n$1\r\n1\r\n" },
        { KIND_WAKE, &unheard, WIRE_FAIR_RELEASE_SHA1, "$0\r\n\r\n$1\r\n1\r\n" },
    };

    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const struct wire_row *row = kind->rows[expected[i].which];
        struct wire_subject s = {
            .names = &name, .name_count = 1, .token = token, .placed = token, .ttl_ms = 10000,
            .ticket = 7, .life_ms = 8, .skew_ms = 9, .engine = engine_name, .wait_number = 1,
            .place = expected[i].place
        };
        char buffer[300], text[300];
        struct resp_writer w;
        resp_write_begin(&w, buffer, sizeof buffer, 0);
        CHECK(send_encode(&w, row, REDLOCK_FORM_BY_SHA1, &s));
        snprintf(text, sizeof text,
                 "*%u\r\n$7\r\nEVALSHA\r\n$40\r\n%s\r\n$1\r\n1\r\n$4\r\ndoor\r\n$40\r\n" TOKEN_TEXT
                 "\r\n%s",
                 4u + row->argument_count, expected[i].sha1, expected[i].rest);
        check_output(&w, text);
    }
}

static const struct redlock_place largest_place = {
    .turn = UINT32_MAX, .poll = UINT32_MAX, .entry = UINT32_MAX, .renew = true
};

/* So many names, together as long as they may be. */
static void name_all(struct wire_subject *s, struct redlock_name *names,
                     const uint8_t bytes[REDLOCK_RESOURCE_MAX], unsigned count)
{
    enum { OTHER = 20 };

    for (unsigned i = 0; i < count; i++)
        names[i] = (struct redlock_name){
            .bytes = bytes,
            .size = i > 0 ? OTHER
                          : REDLOCK_RESOURCE_MAX - (count - 1) * (size_t)(OTHER + WIRE_NAME_HEAD)
        };
    s->name_count = count;
}

TEST(the_longest_command_fits_where_the_limit_says_so)
{
    uint8_t bytes[REDLOCK_RESOURCE_MAX] = { 0 };
    char buffer[REDLOCK_SEND_MIN(REDLOCK_RESOURCE_MAX)];
    struct redlock_name names[REDLOCK_SET_MAX];
    size_t longest = 0;
    struct wire_subject s = {
        .names = names, .token = token, .placed = token, .ttl_ms = REDLOCK_TTL_MS_MAX,
        .ticket = WIRE_TICKET_MAX, .life_ms = UINT32_MAX, .skew_ms = REDLOCK_SKEW_MS_MAX,
        .engine = engine_name, .wait_number = UINT32_MAX, .arrived_at = WIRE_TICKET_MAX,
        .permit = { .count = REDLOCK_PERMITS_MAX, .slot = REDLOCK_PERMITS_MAX },
        .place = &largest_place
    };
    struct resp_writer w;

    for (unsigned i = 0; i < 4 * ROW_COUNT; i++) {
        const struct listed_row listed = row_at((enum row)(i / 4));
        const struct wire_row *row = listed.row;
        enum redlock_form form =
            wire_form_of(row, i & 1 ? REDLOCK_FORM_BY_TEXT : REDLOCK_FORM_BY_SHA1);
        const bool of_set = i & 2 && listed.takes_sets;
        TAP_CONTEXT("%s, of %s", listed.name, of_set ? "16" : "1");
        name_all(&s, names, bytes, of_set ? REDLOCK_SET_MAX : 1);
        resp_write_begin(&w, buffer, sizeof buffer, 0);
        CHECK(send_encode(&w, row, form, &s));
        CHECK(w.used <= WIRE_LONGEST_MAX + sizeof bytes);
        CHECK(w.used <= WIRE_COMMAND_MAX + sizeof bytes || i / 4 >= ROW_PERMIT_ACQUIRE);
        if (w.used > longest) longest = w.used;
        resp_write_begin(&w, buffer, w.used - 1, 0);
        CHECK(!send_encode(&w, row, form, &s));
        CHECK_INT(w.used, 0);
    }
    CHECK_INT(longest, WIRE_LONGEST_MAX + sizeof bytes);
}

static bool fits(const struct wire_row *row, enum redlock_form form, const struct wire_subject *s,
                 size_t size, size_t used)
{
    static char buffer[8192];
    struct resp_writer w;

    resp_write_begin(&w, buffer, size, used);
    return send_encode(&w, row, form, s);
}

/* Otherwise a command that does not fit after others would never fit, if the buffer is
 * just so large.
 * It would wait for a buffer to empty that is empty. */
TEST(a_command_by_text_fits_wherever_what_is_around_its_script_does)
{
    uint8_t bytes[REDLOCK_RESOURCE_MAX] = { 0 };
    char holder[REDLOCK_HOLDER_MAX + 1];
    struct redlock_name names[REDLOCK_SET_MAX];
    struct wire_subject s = {
        .names = names, .token = token, .placed = token, .ttl_ms = REDLOCK_TTL_MS_MAX,
        .ticket = WIRE_TICKET_MAX, .life_ms = UINT32_MAX, .skew_ms = REDLOCK_SKEW_MS_MAX,
        .engine = engine_name, .wait_number = UINT32_MAX, .arrived_at = WIRE_TICKET_MAX,
        .permit = { .count = REDLOCK_PERMITS_MAX, .slot = REDLOCK_PERMITS_MAX },
        .place = &largest_place
    };

    memset(holder, 'x', sizeof holder - 1);
    holder[sizeof holder - 1] = '\0';
    for (unsigned i = 0; i < 4 * ROW_COUNT; i++) {
        const struct listed_row listed = row_at((enum row)(i / 4));
        enum redlock_form form = wire_form_of(listed.row, REDLOCK_FORM_BY_TEXT);
        const bool of_set = i & 1 && listed.takes_sets;
        if (form != REDLOCK_FORM_BY_TEXT) continue;
        TAP_CONTEXT("%s, of %s, holder %s", listed.name, of_set ? "16" : "1",
                    i & 2 ? "named" : "not named");
        s.holder = i & 2 ? holder : NULL;
        name_all(&s, names, bytes, of_set ? REDLOCK_SET_MAX : 1);
        size_t around = 0,
               size = strlen(listed.row->text) + 2 * REDLOCK_SEND_MIN(REDLOCK_RESOURCE_MAX);
        while (!fits(listed.row, form, &s, around, 0)) around++;
        CHECK(around <= REDLOCK_SEND_MIN(REDLOCK_RESOURCE_MAX) + (s.holder ? WIRE_HOLDER_ROOM : 0));
        for (size_t used = 0; used <= size; used++)
            TAP_CHECK(fits(listed.row, form, &s, size, used) == (size - used >= around),
                      "not behind %zu of %zu bytes", used, size);
    }
}

TEST(a_token_is_forty_lower_case_hex_digits_and_nothing_else)
{
    char text[REDLOCK_TOKEN_TEXT];
    uint8_t back[REDLOCK_TOKEN_SIZE];

    wire_token_text(token, text);
    CHECK_MEM(text, sizeof text, TOKEN_TEXT, 40);
    CHECK(!wire_token_read(TOKEN_TEXT, 39, back));
    CHECK(!wire_token_read(TOKEN_TEXT "0", 41, back));
    CHECK(!wire_token_read("000123456789ABCDEFFF1032547698badcfe807f", 40, back));
    CHECK(!wire_token_read("00012345678gabcdefff1032547698badcfe807f", 40, back));
    CHECK(!wire_token_read("00012345678`abcdefff1032547698badcfe807f", 40, back));
    CHECK(!wire_token_read("000123456789abcdefff1032547698badcfe807 ", 40, back));
    CHECK(wire_token_read(TOKEN_TEXT, 40, back));
    CHECK_MEM(back, sizeof back, token, sizeof token);
}

/* ---- Answers ---- */

#define TEXT(kind, words) { .type = kind, .text = words, .text_size = sizeof words - 1 }
#define NUMBER(value) { .type = RESP_INTEGER, .integer = value, .text = "" }
#define BARE(kind) { .type = kind, .integer = -1, .text = "" }

static const struct {
    enum redlock_command command;
    struct wire_reply reply;
    enum redlock_answer answer;
} answers[] = {
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_ACQUIRE, BARE(RESP_NULL_BULK), REDLOCK_ANSWER_REFUSED },
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_ERROR, "OK"), REDLOCK_ANSWER_ERROR },
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_SIMPLE, ""), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_SIMPLE, "O"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_SIMPLE, "ok"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_SIMPLE, "XK"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_SIMPLE, "OK "), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_SIMPLE, "OKAY"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_SIMPLE, "QUEUED"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE, TEXT(RESP_BULK, "OK"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE,
      { .type = RESP_SIMPLE, .text = "OK", .text_size = 2, .text_cut = true },
      REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE, NUMBER(1), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE, BARE(RESP_NULL_ARRAY), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_ACQUIRE,
      { .type = RESP_ARRAY, .text = "OK", .text_size = 2 },
      REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_EXTEND, NUMBER(1), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_EXTEND, NUMBER(0), REDLOCK_ANSWER_REFUSED },
    { REDLOCK_COMMAND_EXTEND, NUMBER(2), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_EXTEND, NUMBER(-1), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_EXTEND, TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_EXTEND, TEXT(RESP_BULK, "1"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_EXTEND, BARE(RESP_NULL_BULK), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_EXTEND, TEXT(RESP_ERROR, "NOSCRIPT "), REDLOCK_ANSWER_ERROR },
    { REDLOCK_COMMAND_RELEASE, NUMBER(1), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_RELEASE, NUMBER(0), REDLOCK_ANSWER_REFUSED },
    { REDLOCK_COMMAND_RELEASE, NUMBER(-1), REDLOCK_ANSWER_REFUSED },
    { REDLOCK_COMMAND_RELEASE, NUMBER(-2), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_RELEASE, NUMBER(2), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_RELEASE, NUMBER(3), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_RELEASE, BARE(RESP_NULL_BULK), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_PTTL, NUMBER(5000), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_PTTL, NUMBER(-1), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_PTTL, NUMBER(-2), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_PTTL, NUMBER(-3), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_PTTL, TEXT(RESP_BULK, "1"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_GETRANGE, TEXT(RESP_BULK, ""), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_GETRANGE, BARE(RESP_NULL_BULK), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_AUTH, TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_AUTH, NUMBER(1), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_SELECT, TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_SETNAME, TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_INFO, TEXT(RESP_BULK, ""), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_INFO, TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_EVAL, BARE(RESP_NULL_BULK), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_EVAL, TEXT(RESP_ERROR, "ERR unknown command"), REDLOCK_ANSWER_ERROR },
    { REDLOCK_COMMAND_EVAL, TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_LOAD_RELEASE, TEXT(RESP_BULK, WIRE_RELEASE_SHA1), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_LOAD_EXTEND, TEXT(RESP_BULK, WIRE_EXTEND_SHA1), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_LOAD_EXTEND, TEXT(RESP_SIMPLE, WIRE_EXTEND_SHA1), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_SUBSCRIBE,
      { .type = RESP_ARRAY, .integer = 3, .text = "" },
      REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_SUBSCRIBE,
      { .type = RESP_ARRAY, .integer = 2, .text = "" },
      REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_SUBSCRIBE,
      { .type = RESP_BULK, .integer = 3, .text = "" },
      REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_CANARY, TEXT(RESP_BULK, "x"), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_CANARY, BARE(RESP_NULL_BULK), REDLOCK_ANSWER_REFUSED },
    { REDLOCK_COMMAND_CANARY, TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_CANARY, NUMBER(1), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_CANARY, TEXT(RESP_ERROR, "NOPERM"), REDLOCK_ANSWER_ERROR },
    { REDLOCK_COMMAND_WAIT, NUMBER(-2), REDLOCK_ANSWER_GRANTED },
    { REDLOCK_COMMAND_WAIT, NUMBER(-3), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_WAIT, TEXT(RESP_BULK, "1"), REDLOCK_ANSWER_WRONG },
    { REDLOCK_COMMAND_NONE, TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_WRONG },
};

/* The meaning of a reply to a command that was asked as one of these rows. */
static enum redlock_answer read_answer(enum redlock_command command, const struct wire_row *row,
                                       const struct wire_reply *reply)
{
    const struct redlock_asked asked = {
        .command = (uint8_t)command, .form = (uint8_t)wire_form_of(row, REDLOCK_FORM_BY_SHA1),
        .lowest = row->lowest, .highest = row->highest
    };

    return wire_read_any(&asked, reply);
}

/* The handshake has no rows. */
static const struct wire_row *row_for(enum redlock_command command)
{
    if (command == REDLOCK_COMMAND_RELEASE) return plain_scripts_for_all()->rows[KIND_WAKE];
    return command == REDLOCK_COMMAND_EXTEND ? plain_scripts_for_all()->rows[KIND_EXTEND] :
                                    plain_scripts_for_one()->rows[KIND_ACQUIRE];
}

TEST(s3_only_ok_to_the_acquire_and_one_from_a_script_are_grants)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        TAP_CONTEXT("row %zu", i);
        CHECK_INT(read_answer(answers[i].command, row_for(answers[i].command), &answers[i].reply),
                  answers[i].answer);
    }
}

static enum redlock_answer read_loaded(const struct redlock_scripts *scripts,
                                       enum redlock_command command, const struct wire_reply *reply)
{
    struct redlock_asked asked = { .command = (uint8_t)command };
    struct redlock_node node = { .login.managed = 1, .identity.native = NATIVE_NONE };

    return scripts->loading->read(&node, &asked, scripts, reply);
}

TEST(what_was_loaded_must_be_the_script_that_was_sent)
{
    const struct wire_reply refused = TEXT(RESP_ERROR, "ERR unknown command"),
                            failed = TEXT(RESP_ERROR, "LOADING its data");
    const struct redlock_scripts *one = plain_scripts_for_one_loaded(),
                                 *all = plain_scripts_for_all();
    const struct wire_reply release = TEXT(RESP_BULK, WIRE_RELEASE_SHA1),
                            extend_one = TEXT(RESP_BULK, WIRE_EXTEND_ONE_SHA1);
    const struct wire_reply longer = TEXT(RESP_BULK, WIRE_RELEASE_SHA1 "0"), number = NUMBER(1);

    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_LOAD_RELEASE, &longer), REDLOCK_ANSWER_WRONG);
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_LOAD_RELEASE, &release), REDLOCK_ANSWER_GRANTED);
    CHECK_INT(read_loaded(one, REDLOCK_COMMAND_LOAD_RELEASE, &release), REDLOCK_ANSWER_WRONG);
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_LOAD_EXTEND, &release), REDLOCK_ANSWER_WRONG);
    CHECK_INT(read_loaded(one, REDLOCK_COMMAND_LOAD_EXTEND, &extend_one), REDLOCK_ANSWER_GRANTED);
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_LOAD_EXTEND, &extend_one), REDLOCK_ANSWER_WRONG);
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_INFO, &extend_one), REDLOCK_ANSWER_GRANTED);
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_LOAD_EXTEND, &refused),
              REDLOCK_ANSWER_GRANTED);      /* It is sent when it is needed. */
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_LOAD_EXTEND, &failed), REDLOCK_ANSWER_ERROR);
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_INFO, &refused), REDLOCK_ANSWER_ERROR);
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_LOAD_EXTEND, &number), REDLOCK_ANSWER_WRONG);
}

/* Alibaba's, which means that scripts with keys are run. The trial shows whether ours are. */
TEST(only_the_script_without_keys_may_be_refused_for_that)
{
    const struct wire_reply keyless = TEXT(
        RESP_ERROR, "ERR for redis cluster, eval/evalsha number of keys can't be negative or zero");
    const struct wire_reply said = TEXT(RESP_SIMPLE, "number of keys");
    const struct redlock_scripts *all = plain_scripts_for_all();

    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_EVAL, &keyless), REDLOCK_ANSWER_GRANTED);
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_INFO, &keyless), REDLOCK_ANSWER_ERROR);
    CHECK_INT(read_loaded(all, REDLOCK_COMMAND_EVAL, &said), REDLOCK_ANSWER_WRONG);
    /* No trial follows to a node that is not managed. The refusal is final where no other command
     * will do. */
    CHECK_INT(all->loading->read(&(struct redlock_node){ .identity.native = NATIVE_NONE },
                                 &(struct redlock_asked){ .command = REDLOCK_COMMAND_EVAL }, all,
                                 &keyless),
              REDLOCK_ANSWER_ERROR);
}

/* S5: a lock on a node that refuses the release could not be released. */
TEST(s5_a_trial_fails_if_the_script_is_refused_and_not_if_its_key_is)
{
    const struct { struct wire_reply reply; enum redlock_answer answer; } rows[] = {
        { NUMBER(0), REDLOCK_ANSWER_GRANTED },
        { NUMBER(-1), REDLOCK_ANSWER_GRANTED },
        { TEXT(RESP_SIMPLE, "OK"), REDLOCK_ANSWER_WRONG },
        { TEXT(RESP_ERROR, "ERR bad lua script for redis cluster"), REDLOCK_ANSWER_ERROR },
        { TEXT(RESP_ERROR, "LOADING its data"), REDLOCK_ANSWER_ERROR },
        { TEXT(RESP_ERROR, "NOPERM this user has no permissions"), REDLOCK_ANSWER_GRANTED },
        { TEXT(RESP_ERROR, "MOVED 866 127.0.0.1:7001"), REDLOCK_ANSWER_GRANTED },
        { TEXT(RESP_ERROR, "WRONGTYPE Operation"), REDLOCK_ANSWER_GRANTED },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        TAP_CHECK(read_loaded(plain_scripts_for_one_loaded(), REDLOCK_COMMAND_TRIAL,
                              &rows[i].reply) == rows[i].answer, "row %zu", i);
}

TEST(s16_a_release_that_was_not_to_wake_anybody_cannot_have_done_so)
{
    const struct wire_reply one = NUMBER(1), two = NUMBER(2);

    CHECK_INT(read_answer(REDLOCK_COMMAND_RELEASE, row_at(ROW_WAKE).row, &two),
              REDLOCK_ANSWER_GRANTED);
    CHECK_INT(read_answer(REDLOCK_COMMAND_RELEASE, row_at(ROW_RELEASE).row, &two),
              REDLOCK_ANSWER_WRONG);
    CHECK_INT(read_answer(REDLOCK_COMMAND_RELEASE, row_at(ROW_RELEASE_ONE).row, &two),
              REDLOCK_ANSWER_WRONG);
    CHECK_INT(read_answer(REDLOCK_COMMAND_RELEASE, row_at(ROW_RELEASE_ONE).row, &one),
              REDLOCK_ANSWER_GRANTED);
}

TEST(s3_the_acquire_script_refuses_with_a_text_and_grants_with_ok_alone)
{
    const struct wire_reply refusal = TEXT(RESP_BULK, "5 1000"), ok = TEXT(RESP_SIMPLE, "OK"),
                            null = BARE(RESP_NULL_BULK);
    const struct wire_reply bulk_ok = TEXT(RESP_BULK, "OK"), one = NUMBER(1);

    for (enum redlock_command command = REDLOCK_COMMAND_ACQUIRE; command <= REDLOCK_COMMAND_RESTORE;
         command++) {
        CHECK_INT(read_answer(command, plain_scripted()->rows[KIND_ACQUIRE], &ok),
                  REDLOCK_ANSWER_GRANTED);
        CHECK_INT(read_answer(command, plain_scripted()->rows[KIND_ACQUIRE], &refusal),
                  REDLOCK_ANSWER_REFUSED);
        CHECK_INT(read_answer(command, plain_scripted()->rows[KIND_ACQUIRE], &bulk_ok),
                  REDLOCK_ANSWER_REFUSED);
        CHECK_INT(read_answer(command, plain_scripted()->rows[KIND_ACQUIRE], &null),
                  REDLOCK_ANSWER_WRONG);
        CHECK_INT(read_answer(command, plain_scripted()->rows[KIND_ACQUIRE], &one),
                  REDLOCK_ANSWER_WRONG);
        CHECK_INT(read_answer(command, plain_scripts_for_one()->rows[KIND_ACQUIRE], &refusal),
                  REDLOCK_ANSWER_WRONG);
    }
}

/* S20 */
TEST(s3_the_number_of_a_slot_that_there_can_be_is_a_grant_of_a_permit_and_nothing_else)
{
    const struct wire_reply refusal = TEXT(RESP_BULK, "5 1000"), ok = TEXT(RESP_SIMPLE, "OK"),
                            null = BARE(RESP_NULL_BULK);
    const struct wire_row *row = redlock_permits.rows[KIND_ACQUIRE],
                          *restore = redlock_permits.rows[KIND_RESTORE];

    for (int64_t slot = -1; slot <= REDLOCK_PERMITS_MAX + 1; slot++) {
        const struct wire_reply number = NUMBER(slot);
        const bool is_slot = slot >= 1 && slot <= REDLOCK_PERMITS_MAX;
        CHECK_INT(read_answer(REDLOCK_COMMAND_ACQUIRE, row, &number),
                  is_slot ? REDLOCK_ANSWER_GRANTED : REDLOCK_ANSWER_WRONG);
        CHECK_INT(read_answer(REDLOCK_COMMAND_RESTORE, restore, &number), REDLOCK_ANSWER_WRONG);
    }
    CHECK_INT(read_answer(REDLOCK_COMMAND_ACQUIRE, row, &refusal), REDLOCK_ANSWER_REFUSED);
    CHECK_INT(read_answer(REDLOCK_COMMAND_ACQUIRE, row, &ok), REDLOCK_ANSWER_WRONG);
    CHECK_INT(read_answer(REDLOCK_COMMAND_ACQUIRE, row, &null), REDLOCK_ANSWER_WRONG);
    CHECK_INT(read_answer(REDLOCK_COMMAND_RESTORE, restore, &ok), REDLOCK_ANSWER_GRANTED);
}

static const struct {
    struct wire_reply reply;
    bool is_refusal;
    uint64_t counter;
    int64_t pttl;
} refusals[] = {
    { TEXT(RESP_BULK, "0 -2"), true, 0, -2 },
    { TEXT(RESP_BULK, "9007199254740991 4294967295"), true, 9007199254740991, 4294967295 },
    { TEXT(RESP_BULK, "1 -1"), true, 1, -1 },
    { TEXT(RESP_BULK, "1 0"), true, 1, 0 },
    { TEXT(RESP_BULK, "9007199254740992 0"), false, 0, 0 },
    { TEXT(RESP_BULK, "1 4294967296"), false, 0, 0 },
    { TEXT(RESP_BULK, "1 -3"), false, 0, 0 },
    { TEXT(RESP_BULK, "1 -"), false, 0, 0 },
    { TEXT(RESP_BULK, "1 "), false, 0, 0 },
    { TEXT(RESP_BULK, "1"), false, 0, 0 },
    { TEXT(RESP_BULK, " 1"), false, 0, 0 },
    { TEXT(RESP_BULK, ""), false, 0, 0 },
    { TEXT(RESP_BULK, "1 2 3"), false, 0, 0 },
    { TEXT(RESP_BULK, "-1 2"), false, 0, 0 },
    { TEXT(RESP_BULK, "1e3 2"), false, 0, 0 },
    { TEXT(RESP_SIMPLE, "1 2"), false, 0, 0 },
    { { .type = RESP_BULK, .text = "1 2", .text_size = 3, .text_cut = true }, false, 0, 0 },
};

TEST(a_refusal_tells_a_ticket_below_2_to_the_53_and_a_PTTL_or_nothing)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        uint64_t counter = 7;
        int64_t pttl = 7;
        TAP_CONTEXT("%s", refusals[i].reply.text);
        CHECK_INT(wire_read_refusal(&refusals[i].reply, &counter, &pttl), refusals[i].is_refusal);
        if (!refusals[i].is_refusal) continue;
        CHECK_INT(counter, refusals[i].counter);
        CHECK_INT(pttl, refusals[i].pttl);
    }
}

/* S25: the text that a doorway learns from. The first two words are as in any refusal. */
TEST(a_refused_poll_tells_of_the_largest_turn_and_a_rank_or_of_nothing)
{
    static const struct {
        struct wire_reply reply;
        bool is_refusal;
        uint32_t turn;
        int32_t rank;
    } polls[] = {
        { TEXT(RESP_BULK, "0 -2 0 -1"), true, 0, -1 },
        { TEXT(RESP_BULK, "7 10000 4294967295 -2"), true, UINT32_MAX, -2 },
        { TEXT(RESP_BULK, "9007199254740991 -1 12 0"), true, 12, 0 },
        { TEXT(RESP_BULK, "0 -2 3 999999"), true, 3, WIRE_FAIR_RANK_MAX },
        { TEXT(RESP_BULK, "0 -2 3 1000000"), false, 0, 0 },
        { TEXT(RESP_BULK, "0 -2 3 -3"), false, 0, 0 },
        { TEXT(RESP_BULK, "0 -2 4294967296 0"), false, 0, 0 },
        { TEXT(RESP_BULK, "0 -2 -1 0"), false, 0, 0 },
        { TEXT(RESP_BULK, "0 -2 inf 0"), false, 0, 0 },
        { TEXT(RESP_BULK, "0 -2 1"), false, 0, 0 },
        { TEXT(RESP_BULK, "0 -2 1 "), false, 0, 0 },
        { TEXT(RESP_BULK, "0 -2 1 0 0"), false, 0, 0 },
        { TEXT(RESP_BULK, "0 -2"), false, 0, 0 },
        { TEXT(RESP_BULK, ""), false, 0, 0 },
        { TEXT(RESP_SIMPLE, "0 -2 1 0"), false, 0, 0 },
        { { .type = RESP_BULK, .text = "0 -2 1 0", .text_size = 8, .text_cut = true },
          false,
          0,
          0 },
        { TEXT(RESP_BULK, "10 -2"), false, 0, 0 },
    };
    const struct wire_row *row = redlock_fair.rows[KIND_ACQUIRE];

    for (size_t i = 0; i < sizeof polls / sizeof polls[0]; i++) {
        uint32_t turn = 5;
        int32_t rank = 5;
        uint64_t counter = 5;
        int64_t pttl = 5;
        TAP_CONTEXT("%s", polls[i].reply.text);
        CHECK_INT(fair_read_place(&polls[i].reply, &turn, &rank), polls[i].is_refusal);
        CHECK_INT(turn, polls[i].is_refusal ? polls[i].turn : 5);
        CHECK_INT(rank, polls[i].is_refusal ? polls[i].rank : 5);
        if (polls[i].is_refusal) CHECK(row->read_refusal(&polls[i].reply, &counter, &pttl));
    }
    CHECK(row->read_refusal(&polls[1].reply, &(uint64_t){ 0 }, &(int64_t){ 0 }));
    CHECK(!row->read_refusal(&polls[9].reply, &(uint64_t){ 0 }, &(int64_t){ 0 }));
    CHECK(!row->read_refusal(&polls[12].reply, &(uint64_t){ 0 }, &(int64_t){ 0 }));
}

/* S3 */
TEST(s3_of_a_fair_lock_only_ok_is_a_grant)
{
    const struct wire_reply ok = TEXT(RESP_SIMPLE, "OK"), refusal = TEXT(RESP_BULK, "0 -2 1 0");
    const struct wire_reply one = NUMBER(1), null = BARE(RESP_NULL_BULK);
    const struct wire_row *poll = redlock_fair.rows[KIND_ACQUIRE],
                          *restore = redlock_fair.rows[KIND_RESTORE];

    for (unsigned i = 0; i < 2; i++) {
        CHECK_INT(read_answer(i ? REDLOCK_COMMAND_RESTORE : REDLOCK_COMMAND_ACQUIRE,
                              i ? restore : poll, &ok),
                  REDLOCK_ANSWER_GRANTED);
        CHECK_INT(read_answer(i ? REDLOCK_COMMAND_RESTORE : REDLOCK_COMMAND_ACQUIRE,
                              i ? restore : poll, &refusal),
                  REDLOCK_ANSWER_REFUSED);
        CHECK_INT(read_answer(i ? REDLOCK_COMMAND_RESTORE : REDLOCK_COMMAND_ACQUIRE,
                              i ? restore : poll, &one),
                  REDLOCK_ANSWER_WRONG);
        CHECK_INT(read_answer(i ? REDLOCK_COMMAND_RESTORE : REDLOCK_COMMAND_ACQUIRE,
                              i ? restore : poll, &null),
                  REDLOCK_ANSWER_WRONG);
    }
}

#define HEARD(words, items, cut) \
    { \
        .type = RESP_ARRAY, .integer = (items), .text = (words), .text_size = sizeof(words) - 1, \
        .text_cut = (cut) \
    }

TEST(s16_a_wake_up_is_a_message_with_a_number_and_perhaps_a_slot_and_nothing_else)
{
    static const struct wire_reply good[] = {
        HEARD("1", 3, false), HEARD("4294967295", 3, false), HEARD("0", 3, false),
        HEARD("7@3", 3, false), HEARD("4294967295@64", 3, false), HEARD("7s", 3, false)
    };
    static const struct wire_reply bad[] = {
        HEARD("4294967296", 3, false),
        HEARD("", 3, false),
        HEARD("-1", 3, false),
        HEARD("1 ", 3, false),
        HEARD("1", 2, false),
        HEARD("1", 4, false),
        HEARD("1", 3, true),
        TEXT(RESP_BULK, "1"),
        NUMBER(1),
        HEARD("1@65", 3, false),
        HEARD("1@", 3, false),
        HEARD("@1", 3, false),
        HEARD("1@3@3", 3, false),
        HEARD("1@3 ", 3, false),
        HEARD("1@-1", 3, false),
        HEARD("4294967296@1", 3, false),
        HEARD("s", 3, false),
        HEARD("7@s", 3, false),
        HEARD("7s@3", 3, false),
        HEARD("7ss", 3, false),
        { .type = RESP_BULK, .integer = 3, .text = "123", .text_size = 3 }
    };
    static const uint32_t numbers[] = { 1, UINT32_MAX, 0, 7, UINT32_MAX, 7 };
    static const uint8_t slots[] = { 0, 0, 0, 3, REDLOCK_PERMITS_MAX, 0 };
    uint32_t number;
    uint8_t slot;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK(wire_read_wake_up(&good[i], &number, &slot));
        CHECK_INT(number, numbers[i]);
        CHECK_INT(slot, slots[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        TAP_CONTEXT("row %zu", i);
        number = slot = 7;
        CHECK(!wire_read_wake_up(&bad[i], &number, &slot));
        CHECK(number == 7 && slot == 7);
    }
}

/* Otherwise a message on another channel would be taken for a number. */
TEST(s16_a_wake_up_is_heard_on_the_channel_of_an_engine_and_nowhere_else)
{
    static const struct wire_reply good = HEARD("messageredlock:0123456789abcdef7@3", 3, false);
    static const struct wire_reply bad[] = { HEARD("messageredlock:0123456789abcdef", 3, false),
                                             HEARD("messageredlock:", 3, false),
                                             HEARD("message", 3, false),
                                             HEARD("7", 3, false),
                                             HEARD("messageredisson_lock__channel:{a}0", 3, false),
                                             HEARD("subscriberedlock:0123456789abcdef7", 3,
                                                   false) };

    CHECK_INT(wire_before_wake_up(&good), 31);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_INT(wire_before_wake_up(&bad[i]), 0);
}

static void check_listening(bool begins, const char *name, const char *expected)
{
    const struct redlock_name of = { .bytes = name, .size = strlen(name) };
    char buffer[200];
    struct resp_writer w;

    resp_write_begin(&w, buffer, sizeof buffer, 0);
    CHECK(redisson_put_subscription(&w, begins, &of));
    check_output(&w, expected);
    resp_write_begin(&w, buffer, strlen(expected) - 1, 0);
    CHECK(!redisson_put_subscription(&w, begins, &of));
    CHECK_INT(w.used, 0);
}

TEST(redissons_channel_has_the_name_in_braces_unless_it_has_some)
{
    check_listening(true, "a", "*2\r\n$9\r\nSUBSCRIBE\r\n$26\r\nredisson_lock__channel:{a}\r\n");
    check_listening(false, "a",
                    "*2\r\n$11\r\nUNSUBSCRIBE\r\n$26\r\nredisson_lock__channel:{a}\r\n");
    check_listening(true, "a{", "*2\r\n$9\r\nSUBSCRIBE\r\n$25\r\nredisson_lock__channel:a{\r\n");
    check_listening(true, "{a}", "*2\r\n$9\r\nSUBSCRIBE\r\n$26\r\nredisson_lock__channel:{a}\r\n");
}

TEST(what_is_heard_of_redissons_channel_is_about_the_names_that_it_may_have)
{
    static const struct {
        struct wire_reply reply;
        enum redisson_heard heard;
        bool of_a, of_ab;
    } replies[] = {
        { HEARD("messageredisson_lock__channel:{a}0", 3, false), REDISSON_HEARD_MESSAGE, true,
          false },
        { HEARD("messageredisson_lock__channel:{ab}", 3, false), REDISSON_HEARD_MESSAGE, false,
          true },
        { HEARD("messageredisson_lock__channel:{", 3, true), REDISSON_HEARD_MESSAGE, true, true },
        { HEARD("messageredisson_lock__channel:{", 3, false), REDISSON_HEARD_MESSAGE, false,
          false },
        { HEARD("messageredisson_lock__channel:{a", 3, true), REDISSON_HEARD_MESSAGE, true, true },
        { HEARD("subscriberedisson_lock__channel:{a}", 3, false), REDISSON_HEARD_SUBSCRIBED, true,
          false },
        { HEARD("unsubscriberedisson_lock__channel:{ab}", 3, false), REDISSON_HEARD_UNSUBSCRIBED,
          false, true },
        { HEARD("messageredisson_lock__channel", 3, true), REDISSON_HEARD_NOTHING, false, false },
        { HEARD("messageredisson_lock__channel:{a}0", 4, false), REDISSON_HEARD_NOTHING, false,
          false },
        { HEARD("messageredlock:0123456789abcdef7", 3, false), REDISSON_HEARD_NOTHING, false,
          false },
        { HEARD("", 3, false), REDISSON_HEARD_NOTHING, false, false },
        { HEARD("redisson_lock__channel:{a}0", 3, false), REDISSON_HEARD_NOTHING, false, false },
        { { .type = RESP_ERROR,
            .integer = 3,
            .text = "messageredisson_lock__channel:{a}0",
            .text_size = 34 },
          REDISSON_HEARD_NOTHING,
          false,
          false },
        { { .type = RESP_ARRAY,
            .integer = 3,
            .text = "messageredisson_lock__channel:{a}0",
            .text_size = 29 },
          REDISSON_HEARD_NOTHING,
          false,
          false },
    };
    const struct redlock_name a = { .bytes = "a", .size = 1 }, ab = { .bytes = "ab", .size = 2 };

    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        TAP_CONTEXT("row %zu", i);
        CHECK_INT(redisson_read_heard(&replies[i].reply), replies[i].heard);
        if (replies[i].heard == REDISSON_HEARD_NOTHING) continue;
        CHECK_INT(redisson_is_heard_of(&replies[i].reply, replies[i].heard, &a), replies[i].of_a);
        CHECK_INT(redisson_is_heard_of(&replies[i].reply, replies[i].heard, &ab), replies[i].of_ab);
    }
}

static const struct {
    const char *text;
    enum redlock_trouble trouble;
    bool ends_session;
} errors[] = {
    /* The text is that of redis-server 7.0.15. */
    { "NOAUTH Authentication required.", REDLOCK_TROUBLE_NOAUTH, true },
    { "WRONGPASS invalid username-password pair or user is disabled.", REDLOCK_TROUBLE_WRONGPASS,
      false },
    { "ERR invalid password", REDLOCK_TROUBLE_WRONGPASS, false },
    { "NOPERM this user has no permissions to run the 'info' command", REDLOCK_TROUBLE_NOPERM,
      false },
    { "ERR The user executing the script can't run this command or subcommand script: 1a8c",
      REDLOCK_TROUBLE_NOPERM, false },
    { "ERR ACL failure in script: User bob has no permissions to run the 'time' command",
      REDLOCK_TROUBLE_NOPERM, false },
    { "LOADING Redis is loading the dataset in memory", REDLOCK_TROUBLE_LOADING, true },
    { "READONLY You can't write against a read only replica.", REDLOCK_TROUBLE_READONLY, true },
    { "MOVED 3999 127.0.0.1:6381", REDLOCK_TROUBLE_MOVED, true },
    { "ASK 3999 127.0.0.1:6381", REDLOCK_TROUBLE_CLUSTERDOWN, false },
    { "TRYAGAIN Multiple keys request during rehashing of slot", REDLOCK_TROUBLE_CLUSTERDOWN,
      false },
    { "CLUSTERDOWN Hash slot not served", REDLOCK_TROUBLE_CLUSTERDOWN, true },
    { "OOM command not allowed when used memory > 'maxmemory'.", REDLOCK_TROUBLE_OOM, false },
    { "MISCONF Redis is configured to save RDB snapshots, but ...", REDLOCK_TROUBLE_MISCONF,
      false },
    { "MASTERDOWN Link with MASTER is down", REDLOCK_TROUBLE_MASTERDOWN, true },
    { "NOREPLICAS Not enough good replicas to write.", REDLOCK_TROUBLE_NOREPLICAS, false },
    { "BUSY Redis is busy running a script.", REDLOCK_TROUBLE_BUSY, false },
    { "NOSCRIPT No matching script. Please use EVAL.", REDLOCK_TROUBLE_NOSCRIPT, false },
    { "WRONGTYPE Operation against a key holding the wrong kind of value",
      REDLOCK_TROUBLE_WRONGTYPE, false },
    { "ERR max number of clients reached", REDLOCK_TROUBLE_MAX_CLIENTS, true },
    { "DENIED Redis is running in protected mode because ...", REDLOCK_TROUBLE_DENIED, true },
    { "ERR unknown command 'SET'", REDLOCK_TROUBLE_OTHER_ERROR, false },
    { "NOAUTHENTICATION", REDLOCK_TROUBLE_OTHER_ERROR, false },
    { "OOM", REDLOCK_TROUBLE_OTHER_ERROR, false },
    { "", REDLOCK_TROUBLE_OTHER_ERROR, false },
};

TEST(every_kind_of_error_reply_has_its_own_name)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        TAP_CONTEXT("%s", errors[i].text);
        CHECK_INT(wire_trouble(errors[i].text, strlen(errors[i].text)), errors[i].trouble);
    }
}

/* The classes that the engine acts on, without knowing all their names. */
TEST(an_error_reply_is_classed_by_what_the_engine_does_about_it)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        enum redlock_trouble class_of_error = wire_class(errors[i].text, strlen(errors[i].text)),
                             trouble = errors[i].trouble;
        bool is_known = trouble == REDLOCK_TROUBLE_NOSCRIPT ||
                        trouble == REDLOCK_TROUBLE_WRONGTYPE || trouble == REDLOCK_TROUBLE_AHEAD;
        TAP_CONTEXT("%s", errors[i].text);
        CHECK_INT(wire_ends_session(class_of_error), errors[i].ends_session);
        if (!errors[i].ends_session)
            CHECK_INT(class_of_error, is_known ? trouble : REDLOCK_TROUBLE_OTHER_ERROR);
    }
}

static struct redlock_identity info(const char *line)
{
    struct redlock_identity identity = { 0 };

    wire_read_info(line, strlen(line), &identity);
    return identity;
}

TEST(s11_an_uptime_that_is_missing_negative_or_absurd_is_none)
{
    CHECK_INT(info("uptime_in_seconds:86400").uptime_s, 86400);
    CHECK_INT(info("uptime_in_seconds:1576800000").uptime_s, 1576800000);     /* 50 years. */
    CHECK_INT(info("uptime_in_seconds:1576800001").uptime_s, 0);
    CHECK_INT(info("uptime_in_seconds:-3600").uptime_s, 0);
    CHECK_INT(info("uptime_in_seconds:").uptime_s, 0);
    CHECK_INT(info("uptime_in_seconds:12s").uptime_s, 0);
    CHECK_INT(info("uptime_in_seconds:99999999999999999999999999").uptime_s, 0);
    CHECK_INT(info("uptime_in_days:3").uptime_s, 0);
    CHECK_INT(info("1234567").uptime_s, 0);
}

TEST(s30_a_history_that_was_taken_over_is_told_from_none_and_from_the_next)
{
    CHECK_INT(info("second_repl_offset:-1").history, 0);
    CHECK_INT(info("second_repl_offset:N/A").history, 0);
    CHECK_INT(info("second_repl_offset_of_mine:7").history, 0);
    /* Nonsense is no reason to believe an uptime. */
    CHECK(info("second_repl_offset:").history > 0);
    for (unsigned i = 0; i < 200; i++) {
        char line[2][40];
        snprintf(line[0], sizeof line[0], "second_repl_offset:%u", i);
        snprintf(line[1], sizeof line[1], "second_repl_offset:%u", i + 1);
        CHECK(info(line[0]).history > 1);       /* 1: none, where a node is remembered. */
        CHECK(info(line[0]).history != info(line[1]).history);
        snprintf(line[1], sizeof line[1], "second_repl_offset:%u", i + 10);
        CHECK(info(line[0]).history != info(line[1]).history);
    }
    CHECK(info("second_repl_offset:18446744073709551615").history > 1);
}

TEST(s12_what_a_server_is_comes_from_its_run_id_its_mode_and_its_role)
{
    CHECK(info("run_id:" TOKEN_TEXT).has_run_id);
    CHECK_MEM(info("run_id:" TOKEN_TEXT).run_id, 20, token, 20);
    CHECK(!info("run_id:0123").has_run_id);
    CHECK(info("redis_mode:standalone").has_mode && !info("redis_mode:standalone").trouble);
    CHECK(info("server_mode:standalone").has_mode && info("valkey_mode:standalone").has_mode);
    CHECK_INT(info("redict_mode:cluster").trouble, REDLOCK_TROUBLE_CLUSTER);
    CHECK_INT(info("redis_mode:cluster").trouble, REDLOCK_TROUBLE_CLUSTER);
    CHECK_INT(info("redis_mode:sentinel").trouble, REDLOCK_TROUBLE_SENTINEL);
    CHECK_INT(info("redis_mode:something new").trouble, REDLOCK_TROUBLE_CLUSTER);
    /* It is as long as a known one. */
    CHECK_INT(info("redis_mode:standalonE").trouble, REDLOCK_TROUBLE_CLUSTER);
    CHECK_INT(info("redis_mode:sentineL").trouble, REDLOCK_TROUBLE_CLUSTER);
    CHECK(info("role:master").has_role && !info("role:master").trouble);
    CHECK_INT(info("role:slave").trouble, REDLOCK_TROUBLE_REPLICA);
    CHECK_INT(info("role:active-replica").trouble, REDLOCK_TROUBLE_REPLICA);    /* KeyDB */
    CHECK(!info("connected_slaves:0").has_role);
}

/* What stands in for the run_id of a server that names none. NULL: nothing does. */
static struct redlock_identity derived(const char *first, const char *second, const char *third)
{
    static const struct redlock_config config = { .guard_ms = 1000 };
    const char *const lines[] = { first, second, third };
    struct redlock_node node = { 0 };

    for (size_t i = 0; i < 3; i++) identity_read_info(lines[i], strlen(lines[i]), &node.identity);
    identity_conclude(&node, &config, 1);
    return node.identity;
}

TEST(s12_a_server_without_a_run_id_is_known_by_its_process_its_port_and_its_replid)
{
    static const char pid[] = "process_id:1", port[] = "tcp_port:6666",
                      replid[] = "master_replid:" TOKEN_TEXT;
    const struct redlock_identity one = derived(pid, port, replid);

    CHECK(one.is_derived);
    CHECK_MEM(derived(pid, port, replid).run_id, 20, one.run_id, 20);
    CHECK(memcmp(derived("process_id:2", port, replid).run_id, one.run_id, 20) != 0);
    CHECK(memcmp(derived(pid, "tcp_port:6667", replid).run_id, one.run_id, 20) != 0);
    CHECK(memcmp(derived(pid, port, "hz:10").run_id, one.run_id, 20) != 0);
    CHECK(derived("hz:10", "hz:10", replid).is_derived &&
          derived("hz:10", pid, "hz:10").is_derived);
    CHECK(!derived("hz:10", port, "process_ids:1").has_run_id);
}

/* Another node may still ask whether the first server was here (S12). */
TEST(s12_the_server_before_is_known_until_the_handshake_of_the_next_is_over)
{
    static const struct redlock_config config = { .guard_ms = 1000 };
    const struct redlock_identity first = derived("process_id:1", "hz:10", "hz:10");

    for (unsigned process = 1; process <= 2; process++) {
        struct redlock_node node = { .has_run_id = 1 };
        char line[20];
        size_t size = (size_t)snprintf(line, sizeof line, "process_id:%u", process);

        memcpy(node.run_id, first.run_id, sizeof node.run_id);
        identity_read_info(line, size, &node.identity);
        identity_conclude(&node, &config, 1);
        CHECK_INT(memcmp(node.run_id, first.run_id, sizeof node.run_id) == 0, process == 2);
    }
}

TEST(s12_nothing_stands_in_for_a_run_id_that_is_there)
{
    static const char run_id[] = "run_id:" TOKEN_TEXT;
    const struct redlock_identity first = derived(run_id, "process_id:1", "tcp_port:6379");
    const struct redlock_identity last = derived("process_id:1", "master_replid:0", run_id);

    CHECK(!first.is_derived && !last.is_derived);
    CHECK_MEM(first.run_id, 20, token, 20);
    CHECK_MEM(last.run_id, 20, token, 20);
    CHECK(derived("process_id:1", "run_id:0123", "hz:10").is_derived);
}

TEST(s12_a_role_is_a_whole_word)
{
    CHECK_INT(info("role:masterful").trouble, REDLOCK_TROUBLE_REPLICA);
    CHECK_INT(info("role:masteR").trouble, REDLOCK_TROUBLE_REPLICA);
    CHECK_INT(info("role:maste").trouble, REDLOCK_TROUBLE_REPLICA);
    CHECK_INT(info("role:ab").trouble, REDLOCK_TROUBLE_REPLICA);
    CHECK_INT(info("role: master").trouble, REDLOCK_TROUBLE_REPLICA);
}

TEST(s12_a_role_and_a_mode_do_not_excuse_each_other)
{
    struct redlock_identity identity = { 0 };

    wire_read_info("redis_mode:cluster", 18, &identity);
    wire_read_info("role:master", 11, &identity);
    CHECK_INT(identity.trouble, REDLOCK_TROUBLE_CLUSTER);
    identity = (struct redlock_identity){ 0 };
    wire_read_info("role:slave", 10, &identity);
    wire_read_info("redis_mode:standalone", 21, &identity);
    CHECK_INT(identity.trouble, REDLOCK_TROUBLE_REPLICA);
}

TEST(s12_a_mode_is_a_whole_word)
{
    static const char *const modes[] = {
        "standalones", "standalone ", "standalone-sentinel", "standalon", "standalone\tx"
    };

    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        char line[64];
        TAP_CONTEXT("%s", modes[i]);
        snprintf(line, sizeof line, "redis_mode:%s", modes[i]);
        CHECK_INT(info(line).trouble, REDLOCK_TROUBLE_CLUSTER);
    }
    CHECK_INT(info("redis_mode:sentinels").trouble, REDLOCK_TROUBLE_CLUSTER);
}

/* The lines of an INFO are read one after the other in the same memory. */
TEST(s12_what_is_behind_a_line_says_nothing)
{
    for (size_t size = 0; size < sizeof "redis_mode:" - 1; size++) {
        struct redlock_identity identity = { 0 };
        wire_read_info("redis_mode:cluster", size, &identity);
        TAP_CHECK(!identity.has_mode, "of %zu bytes", size);
    }
}

TEST(a_text_is_another_one_that_is_as_long_and_says_what_lies_within)
{
    const struct wire_reply none = TEXT(RESP_BULK, ""), word = TEXT(RESP_BULK, "evalsha");
    const struct wire_reply cut = { .type = RESP_ERROR, .text = "no evalsha", .text_size = 4 };

    CHECK(wire_text_is(&word, "evalsha") && !wire_text_is(&word, "eval") &&
          !wire_text_is(&word, "evalsha1"));
    CHECK(!wire_text_is(&none, "evalsha"));
    CHECK(wire_says(&word, "sha") && wire_says(&cut, "o e") && !wire_says(&cut, "ev") &&
          !wire_says(&none, "e"));
}

/* Each is the small number after it, modulo 2^64, or comes to it when single digits wrap. */
TEST(s16_no_number_begins_anew_behind_2_to_the_64)
{
    static const char *const numbers[] = {
        "18446744073709551616", "18446744073709551617", "184467440737095516170",
        "36893488147419103233", "340282366920938463463374607431768211457"
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const size_t size = strlen(numbers[i]);
        char uptime[64], refusal[64];
        uint32_t wait_number = 0;
        uint8_t slot;
        uint64_t counter;
        int64_t pttl;

        TAP_CONTEXT("%s", numbers[i]);
        snprintf(uptime, sizeof uptime, "uptime_in_seconds:%s", numbers[i]);
        CHECK_INT(info(uptime).uptime_s, 0);
        CHECK(!wire_read_wake_up(
            &(struct wire_reply){
                .type = RESP_ARRAY, .integer = 3, .text = numbers[i], .text_size = size },
            &wait_number, &slot));
        snprintf(refusal, sizeof refusal, "%s 5", numbers[i]);
        CHECK(!wire_read_refusal(
            &(struct wire_reply){ .type = RESP_BULK, .text = refusal, .text_size = size + 2 },
            &counter, &pttl));
        snprintf(refusal, sizeof refusal, "5 %s", numbers[i]);
        CHECK(!wire_read_refusal(
            &(struct wire_reply){ .type = RESP_BULK, .text = refusal, .text_size = size + 2 },
            &counter, &pttl));
    }
}

TEST(a_value_has_room_for_the_longest_holder_and_no_more)
{
    char text[REDLOCK_VALUE_TEXT], holder[REDLOCK_HOLDER_MAX + 2];
    memset(holder, 'x', sizeof holder);
    holder[REDLOCK_HOLDER_MAX + 1] = '\0';
    CHECK_INT(wire_value_text(token, holder, text), REDLOCK_VALUE_TEXT);
    CHECK_INT(wire_value_text(token, holder + 1, text), REDLOCK_VALUE_TEXT);
    CHECK_INT(wire_value_text(token, holder + 2, text), REDLOCK_VALUE_TEXT - 1);
    CHECK_INT(wire_value_text(token, NULL, text), REDLOCK_TOKEN_TEXT);
}

/* ---- The tables of commands ---- */

/* A script without a SHA-1 would be sent whole each time, and an answer out of its range
 * would be believed. */
static void check_rows(const struct wire_row *const *rows, int lowest_release, int lowest_extend)
{
    for (unsigned i = 0; i < KIND_ROWS; i++) {
        const struct wire_row *row = rows[i];

        TAP_CONTEXT("row %u of %d", i, lowest_extend);
        if (!row) continue;
        CHECK_INT(row->text != NULL, row->sha1 != NULL);
        if (i == KIND_EXTEND) CHECK_INT(row->lowest, lowest_extend);
        if (i == KIND_EXTEND) CHECK_INT(row->highest, 1);
        if (i == KIND_RELEASE || i == KIND_WAKE) CHECK_INT(row->lowest, lowest_release);
        if (i == KIND_WAKE) CHECK_INT(row->highest, 2);
    }
}

TEST(every_script_of_a_kind_has_a_sha1_and_the_range_of_its_answers)
{
    for (unsigned role = 0; role < SHARED_ROLES; role++) {
        const struct redlock_kind *kind = shared_kind((enum shared_role)role);
        check_rows(kind->rows, -1, -2);
        CHECK_INT(kind->rows[KIND_RELEASE]->highest, 1);
        CHECK(kind->rows[KIND_GIVE_BACK] == kind->rows[KIND_WAKE]);
    }
    check_rows(redlock_shared.rows, -1, 0);
    check_rows(redlock_fair.rows, -1, 0);
    check_rows(redlock_permits.rows, 0, 0);
    check_rows(redlock_redisson.rows, -1, 0);
    check_rows(plain_scripted()->rows, -1, 0);
    check_rows(plain_scripts_for_one_loaded()->rows, -1, 0);
    check_rows(plain_scripts_for_all()->rows, -1, 0);
    CHECK_INT(redlock_shared.rows[KIND_RELEASE]->highest, 1);
    CHECK_INT(redlock_fair.rows[KIND_RELEASE]->highest, 1);
    CHECK(redlock_shared.rows[KIND_GIVE_BACK] == redlock_shared.rows[KIND_WAKE]);
    CHECK(redlock_fair.rows[KIND_GIVE_BACK] == redlock_fair.rows[KIND_WAKE]);
    CHECK(redlock_permits.rows[KIND_GIVE_BACK] == redlock_permits.rows[KIND_WAKE]);
}

/* Where no script sets a key again, the command that acquires does. */
TEST(a_key_is_set_again_in_all_forms_of_an_engine)
{
    CHECK(redlock_redisson.rows[KIND_RESTORE] == redlock_redisson.rows[KIND_ACQUIRE]);
    CHECK(plain_scripts_for_one()->rows[KIND_RESTORE] ==
          plain_scripts_for_one()->rows[KIND_ACQUIRE]);
    CHECK(plain_scripts_for_one_loaded()->rows[KIND_RESTORE] ==
          plain_scripts_for_one_loaded()->rows[KIND_ACQUIRE]);
    CHECK(plain_scripts_for_all()->rows[KIND_RESTORE] ==
          plain_scripts_for_all()->rows[KIND_ACQUIRE]);
    CHECK(!plain_scripts_for_one()->identify);
    CHECK(plain_scripts_for_one_loaded()->identify && plain_scripts_for_all()->identify);
}

TAP_MAIN
