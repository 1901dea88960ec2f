/* tools/examples/firmware/line.h: whatever a serial line loses, changes or keeps for too long, a
 * session hears a beginning of the bytes that the other side wrote in the same session,
 * and nothing else. */
#include "../../tap.h"
#include "../../../tools/examples/firmware/line.h"

enum { STREAM_MAX = 4096, FIRST_SESSION = 7 };

/* Two ends and the bytes that one of them has heard. */
struct pair {
    struct line near, far;
    uint8_t heard[STREAM_MAX];
    size_t heard_size;
    enum line_event last;       /* The last event other than NOTHING. */
};

static void pair_init(struct pair *pair)
{
    *pair = (struct pair){ .last = LINE_NOTHING };
    line_init(&pair->near, false, FIRST_SESSION - 1);
    line_init(&pair->far, true, 0);
}

static void hear(struct pair *pair, struct line *to, uint8_t byte)
{
    const enum line_event event = line_take(to, byte);
    if (event != LINE_NOTHING) pair->last = event;
    pair->heard_size +=
        line_read(to, &pair->heard[pair->heard_size], STREAM_MAX - pair->heard_size);
}

/* Takes from one end the bytes to send. */
static size_t take_output(struct line *from, uint8_t *wire)
{
    size_t size;
    const uint8_t *bytes = line_output(from, &size);
    memcpy(wire, bytes, size);
    line_sent(from, size);
    return size;
}

static void carry(struct pair *pair, struct line *from, struct line *to)
{
    uint8_t wire[LINE_OUTPUT_MAX];
    const size_t size = take_output(from, wire);
    for (size_t i = 0; i < size; i++) hear(pair, to, wire[i]);
}

static void begin_session(struct pair *pair)
{
    line_open(&pair->near);
    carry(pair, &pair->near, &pair->far);
    line_accept(&pair->far);
    carry(pair, &pair->far, &pair->near);
    pair->heard_size = 0;
}

static void say(struct pair *pair, const void *bytes, size_t size)
{
    const uint8_t *from = bytes;
    while (size > 0) {
        const size_t taken = line_write(&pair->near, from, size);
        carry(pair, &pair->near, &pair->far);
        from += taken;
        size -= taken;
    }
}

#define HEARS(pair, text)                                                       \
    do {                                                                        \
        (pair)->heard_size = 0;                                                 \
        say((pair), (text), strlen(text));                                      \
        CHECK_MEM((pair)->heard, (pair)->heard_size, (text), strlen(text));     \
    } while (0)

TEST(a_session_begins_when_the_far_side_says_that_the_server_is_connected)
{
    struct pair pair;
    pair_init(&pair);
    CHECK_INT(line_write(&pair.near, "x", 1), 0);
    line_open(&pair.near);
    carry(&pair, &pair.near, &pair.far);
    CHECK_INT(pair.last, LINE_ASKED);
    CHECK_INT(line_write(&pair.near, "x", 1), 0);
    line_accept(&pair.far);
    carry(&pair, &pair.far, &pair.near);
    CHECK_INT(pair.last, LINE_OPENED);
    HEARS(&pair, "PING\r\n");
    CHECK_INT(pair.last, LINE_DATA);
}

TEST(a_server_that_cannot_be_connected_is_told_with_the_reason)
{
    struct pair pair;
    pair_init(&pair);
    line_open(&pair.near);
    carry(&pair, &pair.near, &pair.far);
    line_close(&pair.far, "connection refused");
    carry(&pair, &pair.far, &pair.near);
    CHECK_INT(pair.last, LINE_LOST);
    CHECK_STR(line_why(&pair.near), "connection refused");
}

TEST(a_reason_that_is_longer_than_a_frame_is_cut)
{
    char reason[LINE_PAYLOAD_MAX + 9];
    struct pair pair;
    memset(reason, 'r', sizeof reason - 1);
    reason[sizeof reason - 1] = '\0';
    pair_init(&pair);
    begin_session(&pair);
    line_close(&pair.far, reason);
    carry(&pair, &pair.far, &pair.near);
    CHECK_INT(strlen(line_why(&pair.near)), LINE_PAYLOAD_MAX);
}

TEST(all_bytes_arrive_as_they_were_written_in_both_directions)
{
    uint8_t all[1024];
    struct pair pair;
    for (unsigned i = 0; i < sizeof all; i++)
        all[i] = (uint8_t)(i % 3 ? i : LINE_END + i % 2 * (LINE_ESC - LINE_END));
    pair_init(&pair);
    begin_session(&pair);
    say(&pair, all, sizeof all);
    CHECK_MEM(pair.heard, pair.heard_size, all, sizeof all);
    pair.heard_size = 0;
    for (size_t i = 0; i < sizeof all;) {
        i += line_write(&pair.far, &all[i], sizeof all - i);
        carry(&pair, &pair.far, &pair.near);
    }
    CHECK_MEM(pair.heard, pair.heard_size, all, sizeof all);
}

TEST(a_stream_may_be_longer_than_frames_have_numbers)
{
    struct pair pair;
    pair_init(&pair);
    begin_session(&pair);
    for (int i = 0; i < 600; i++) HEARS(&pair, "x");
    CHECK_INT(pair.last, LINE_DATA);
}

TEST(what_has_not_left_yet_is_not_overwritten_by_more)
{
    struct pair pair;
    pair_init(&pair);
    begin_session(&pair);
    CHECK_INT(line_write(&pair.near, "one", 3), 3);
    CHECK_INT(line_write(&pair.near, "two", 3), 0);
    line_sent(&pair.near, 1);
    CHECK_INT(line_write(&pair.near, "two", 3), 0);
}

TEST(what_is_read_in_small_pieces_is_whole)
{
    struct pair pair;
    uint8_t wire[LINE_OUTPUT_MAX], piece[4];
    pair_init(&pair);
    begin_session(&pair);
    CHECK_INT(line_write(&pair.near, "sevenum", 7), 7);
    const size_t size = take_output(&pair.near, wire);
    for (size_t i = 0; i < size; i++) (void)line_take(&pair.far, wire[i]);
    CHECK_INT(line_unread(&pair.far), 7);
    CHECK_INT(line_read(&pair.far, piece, sizeof piece), 4);
    CHECK_MEM(piece, 4, "seve", 4);
    CHECK_INT(line_read(&pair.far, piece, sizeof piece), 3);
    CHECK_MEM(piece, 3, "num", 3);
    CHECK_INT(line_unread(&pair.far), 0);
}

/* ---- Hanging up ---- */

TEST(an_answer_that_comes_after_its_session_is_not_heard_in_the_next)
{
    struct pair pair;
    uint8_t late[LINE_OUTPUT_MAX];
    pair_init(&pair);
    begin_session(&pair);
    CHECK_INT(line_write(&pair.far, "+OK\r\n", 5), 5);
    /* It is on its way while the near side gives up. */
    const size_t size = take_output(&pair.far, late);
    line_close(&pair.near, "no answer");
    line_open(&pair.near);
    for (size_t i = 0; i < size; i++) hear(&pair, &pair.near, late[i]);
    CHECK_INT(pair.heard_size, 0);
    carry(&pair, &pair.near, &pair.far);
    line_accept(&pair.far);
    carry(&pair, &pair.far, &pair.near);
    for (size_t i = 0; i < size; i++) hear(&pair, &pair.near, late[i]);
    CHECK_INT(pair.heard_size, 0);
    HEARS(&pair, "GET door\r\n");
}

TEST(a_command_of_which_a_part_had_left_is_not_heard_in_the_next_session)
{
    for (size_t left = 0; left < 20; left++) {
        struct pair pair;
        pair_init(&pair);
        begin_session(&pair);
        CHECK_INT(line_write(&pair.near, "DEL door\r\n", 10), 10);
        size_t size;
        const uint8_t *bytes = line_output(&pair.near, &size);
        for (size_t i = 0; i < left && i < size; i++) hear(&pair, &pair.far, bytes[i]);
        begin_session(&pair);
        HEARS(&pair, "GET door\r\n");
    }
}

TEST(a_near_side_that_opens_again_is_asked_for_anew_and_need_not_have_closed)
{
    struct pair pair;
    pair_init(&pair);
    begin_session(&pair);
    line_open(&pair.near);
    carry(&pair, &pair.near, &pair.far);
    CHECK_INT(pair.last, LINE_ASKED);
    CHECK_INT(line_write(&pair.far, "x", 1), 0);
}

TEST(a_far_side_that_restarted_says_that_the_session_is_over)
{
    struct pair pair;
    pair_init(&pair);
    begin_session(&pair);
    line_init(&pair.far, true, 0);
    say(&pair, "GET door\r\n", 10);
    CHECK_INT(pair.heard_size, 0);
    carry(&pair, &pair.far, &pair.near);
    CHECK_INT(pair.last, LINE_LOST);
    CHECK_STR(line_why(&pair.near), "no such session");
}

TEST(a_close_that_comes_late_does_not_end_the_next_session)
{
    struct pair pair;
    uint8_t late[LINE_OUTPUT_MAX];
    pair_init(&pair);
    begin_session(&pair);
    line_close(&pair.far, "closed");
    const size_t size = take_output(&pair.far, late);
    begin_session(&pair);
    for (size_t i = 0; i < size; i++) hear(&pair, &pair.near, late[i]);
    HEARS(&pair, "x");
    CHECK(pair.last == LINE_DATA);
}

TEST(the_near_side_is_never_asked_and_the_far_side_never_told_that_it_is_open)
{
    struct pair pair;
    uint8_t wire[LINE_OUTPUT_MAX];
    pair_init(&pair);
    line_open(&pair.far);
    carry(&pair, &pair.far, &pair.near);
    CHECK_INT(pair.last, LINE_NOTHING);
    line_open(&pair.near);
    carry(&pair, &pair.near, &pair.far);
    pair.near.session = pair.far.session;
    line_accept(&pair.near);
    const size_t size = take_output(&pair.near, wire);
    pair.last = LINE_NOTHING;
    for (size_t i = 0; i < size; i++) hear(&pair, &pair.far, wire[i]);
    CHECK_INT(pair.last, LINE_NOTHING);
}

/* ---- What a line does to bytes ---- */

static const char words[] = "*3\r\n$3\r\nSET\r\n$4\r\ndoor\r\n$5\r\n\xC0\xDB\xDC\xDD\xC0\r\n";

enum { FRAMES = 4, WIRE_MAX = FRAMES * LINE_OUTPUT_MAX };

/* The words in several frames, as one run of bytes. */
static size_t write_wire(struct pair *pair, uint8_t wire[WIRE_MAX])
{
    size_t used = 0, size = sizeof words - 1;
    for (unsigned i = 0; i < FRAMES; i++) {
        (void)line_write(&pair->near, &words[size * i / FRAMES],
                         size * (i + 1) / FRAMES - size * i / FRAMES);
        used += take_output(&pair->near, &wire[used]);
    }
    return used;
}

static bool is_beginning(const struct pair *pair)
{
    return pair->heard_size < sizeof words && memcmp(pair->heard, words, pair->heard_size) == 0;
}

/* After this place the wire misses so many bytes, or has one that is changed or added. A beginning
 * is then heard, and after it the session is lost, at the next frame if there is one. A new session
 * hears all. */
#define SURVIVES(missing, has_byte, byte) \
    do { \
        struct pair pair; \
        uint8_t wire[WIRE_MAX]; \
        pair_init(&pair); \
        begin_session(&pair); \
        const size_t size = write_wire(&pair, wire); \
        for (size_t i = 0; i < place; i++) hear(&pair, &pair.far, wire[i]); \
        if (has_byte) hear(&pair, &pair.far, (byte)); \
        for (size_t i = place + (missing); i < size; i++) hear(&pair, &pair.far, wire[i]); \
        CHECK(is_beginning(&pair)); \
        hear(&pair, &pair.far, LINE_END); \
        CHECK(is_beginning(&pair)); \
        begin_session(&pair); \
        HEARS(&pair, words); \
    } while (0)

static size_t wire_size(void)
{
    struct pair pair;
    uint8_t wire[WIRE_MAX];
    pair_init(&pair);
    begin_session(&pair);
    return write_wire(&pair, wire);
}

TEST(whatever_bytes_are_lost_a_beginning_is_heard_and_the_next_session_is_whole)
{
    for (size_t place = 0; place < wire_size(); place++)
        for (size_t missing = 1; missing < 60; missing++) {
            TAP_CONTEXT("%zu bytes lost at %zu", missing, place);
            SURVIVES(missing, false, 0);
        }
}

TEST(whatever_byte_is_changed_a_beginning_is_heard_and_the_next_session_is_whole)
{
    for (size_t place = 0; place < wire_size(); place++)
        for (unsigned byte = 0; byte < 256; byte++) {
            TAP_CONTEXT("byte %zu is %02x", place, byte);
            SURVIVES(1, true, (uint8_t)byte);
        }
}

TEST(whatever_byte_is_added_a_beginning_is_heard_and_the_next_session_is_whole)
{
    for (size_t place = 0; place < wire_size(); place++)
        for (unsigned byte = 0; byte < 256; byte++) {
            TAP_CONTEXT("%02x before byte %zu", byte, place);
            SURVIVES(0, true, (uint8_t)byte);
        }
}

TEST(a_frame_that_is_missing_is_noticed_by_the_next)
{
    struct pair pair;
    uint8_t lost[LINE_OUTPUT_MAX];
    pair_init(&pair);
    begin_session(&pair);
    HEARS(&pair, "one");
    CHECK_INT(line_write(&pair.near, "two", 3), 3);
    (void)take_output(&pair.near, lost);
    say(&pair, "three", 5);
    CHECK_MEM(pair.heard, pair.heard_size, "one", 3);
    CHECK_INT(pair.last, LINE_LOST);
    CHECK_STR(line_why(&pair.far), "bytes were lost on the line");
}

TEST(a_damaged_frame_ends_a_session_that_stands_and_no_other)
{
    struct pair pair;
    pair_init(&pair);
    hear(&pair, &pair.far, 'x');
    hear(&pair, &pair.far, LINE_END);
    CHECK_INT(pair.last, LINE_NOTHING);
    begin_session(&pair);
    hear(&pair, &pair.far, 'x');
    hear(&pair, &pair.far, LINE_END);
    CHECK_INT(pair.last, LINE_LOST);
    CHECK_STR(line_why(&pair.far), "a frame was damaged on the line");
}

TEST(noise_of_any_length_is_one_damaged_frame)
{
    struct pair pair;
    pair_init(&pair);
    for (int i = 0; i < 3 * LINE_FRAME_MAX; i++) hear(&pair, &pair.far, 'x');
    begin_session(&pair);
    HEARS(&pair, "x");
}

TEST(a_frame_of_a_kind_that_nobody_knows_is_not_looked_at)
{
    struct pair pair;
    pair_init(&pair);
    begin_session(&pair);
    line_put(&pair.near, (enum line_kind)'?', "x", 1);
    carry(&pair, &pair.near, &pair.far);
    HEARS(&pair, "x");
}

TEST(the_check_is_the_common_crc_32)
{
    CHECK_INT(line_check((const uint8_t *)"123456789", 9), 0xCBF43926);
}

TAP_MAIN
