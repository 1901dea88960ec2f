/* The RESP parser reports the same items whatever comes, and in whatever pieces it comes. The
 * encoder's output is read back.
 *
 * Input: one byte of limits, one that seeds the pieces, then the stream. */
#include "fuzz.h"

#include "../../resp/resp.h"

enum {
    STREAM_MAX = 4096,
    /* Each step consumes something, or takes more bytes in, or ends. */
    STEPS_MAX = 4 * STREAM_MAX + 16,
    SMALL_WINDOW = RESP_WINDOW_MIN + 9
};

/* The report about a stream, whatever the pieces. It is a hash of all items, and of the text of a
 * string byte by byte. */
struct story {
    uint64_t hash;
    uint64_t items, replies, taken;
    enum resp_status status;
};

static void tell(struct story *story, uint64_t word)
{
    story->hash = (story->hash ^ word) * 1099511628211u;
    story->hash ^= story->hash >> 29;
}

/* The rules that hold for any single item. */
static void check_item(const struct resp_item *item, const uint8_t *window, size_t size,
                       const struct resp_limits *limits)
{
    bool is_string =
        item->type == RESP_SIMPLE || item->type == RESP_ERROR || item->type == RESP_BULK;

    FUZZ_CHECK(item->depth <= limits->depth_max && item->depth <= RESP_DEPTH_MAX);
    if (is_string) {
        FUZZ_CHECK(item->data >= window && item->size <= (size_t)(window + size - item->data));
        FUZZ_CHECK(item->size > 0 || item->last);
        if (item->type == RESP_BULK)
            FUZZ_CHECK(item->integer >= 0 && (uint64_t)item->integer <= limits->bulk_max);
        else FUZZ_CHECK(item->size <= limits->line_max && item->integer == 0);
    } else {
        FUZZ_CHECK(item->first && item->last && item->data == NULL && item->size == 0);
    }
    if (item->type == RESP_ARRAY) {
        FUZZ_CHECK(item->integer >= 0 && item->integer <= limits->elements_max &&
                   item->depth < limits->depth_max);
        FUZZ_CHECK(item->integer == 0 || !item->ends_reply);
    }
    FUZZ_CHECK(!item->ends_reply || item->last);
}

static void tell_item(struct story *story, const struct resp_item *item)
{
    if (item->first) {
        story->items++;
        tell(story, (uint64_t)item->type << 8 | item->depth);
        tell(story, (uint64_t)item->integer);
    }
    for (size_t i = 0; i < item->size; i++) tell(story, 0x100u | item->data[i]);
    if (item->last) tell(story, 0x200);
    if (item->ends_reply) {
        story->replies++;
        tell(story, 0x300);
    }
}

/* The way the stream comes in, as so many new bytes at a time, into a window of that size. */
struct pieces {
    size_t window_max;
    uint32_t dice;      /* 0: always one byte. */
    bool all;           /* The whole stream at once. */
};

static size_t next_piece(struct pieces *pieces, size_t left, size_t room)
{
    size_t size = 1;

    if (pieces->all) size = left;
    else if (pieces->dice != 0) {
        pieces->dice ^= pieces->dice << 13, pieces->dice ^= pieces->dice >> 17,
            pieces->dice ^= pieces->dice << 5;
        size = 1 + pieces->dice % 17;
    }
    if (size > left) size = left;
    return size < room ? size : room;
}

static struct story read_stream(const uint8_t *stream, size_t size,
                                const struct resp_limits *limits, struct pieces pieces)
{
    /* The window slides over it, and has the bytes that have come so far. */
    static uint8_t buffer[STREAM_MAX];
    uint8_t *window = buffer;
    struct story story = { .hash = 14695981039346656037u };
    struct resp_parser parser;
    size_t have = 0, came = 0;

    resp_parser_init(&parser, limits);
    for (unsigned step = 0;; step++) {
        struct resp_item item;
        size_t consumed;
        bool full = have == pieces.window_max;

        FUZZ_CHECK(step < STEPS_MAX);
        story.status = resp_parse(&parser, window, have, full, &consumed, &item);
        FUZZ_CHECK(consumed <= have);
        if (full && pieces.window_max >= RESP_WINDOW_MIN)
            FUZZ_CHECK(consumed > 0 || story.status > RESP_MORE);
        if (story.status == RESP_OK) {
            check_item(&item, window, have, limits);
            tell_item(&story, &item);
        }
        story.taken += consumed;
        have -= consumed;
        window += consumed;
        if (story.status == RESP_OK) continue;
        if (story.status != RESP_MORE) {
            FUZZ_CHECK(resp_parse(&parser, window, have, full, &consumed, &item) == story.status &&
                       consumed == 0);
            break;
        }
        if (came == size) break;
        consumed = next_piece(&pieces, size - came, pieces.window_max - have);
        memcpy(window + have, stream + came, consumed);
        have += consumed;
        came += consumed;
    }
    tell(&story, story.status);
    return story;
}

/* If a line is cut by the end of the stream, a full window may have reported a piece of it already,
 * and then only the reports before are the same. Everything else ends alike. */
static void check_same(const struct story *a, const struct story *b, bool exactly)
{
    FUZZ_CHECK(a->status == b->status);
    FUZZ_CHECK(a->replies == b->replies);
    if (!exactly && a->status != RESP_OK) return;
    FUZZ_CHECK(a->items == b->items && a->hash == b->hash && a->taken == b->taken);
}

/* A window that is always called full hands a string out in pieces; in the end the reports are the
 * same, unless the stream ended or broke in the middle of a string. */
static void check_parser(const uint8_t *stream, size_t size, const struct resp_limits *limits,
                         uint32_t dice)
{
    const struct story whole =
        read_stream(stream, size, limits, (struct pieces){ .window_max = STREAM_MAX, .all = true });
    const struct story bytes =
        read_stream(stream, size, limits, (struct pieces){ .window_max = STREAM_MAX });
    const struct story pieces = read_stream(
        stream, size, limits, (struct pieces){ .window_max = STREAM_MAX, .dice = dice });
    const struct story small = read_stream(
        stream, size, limits, (struct pieces){ .window_max = SMALL_WINDOW, .dice = dice });

    check_same(&whole, &bytes, true);
    check_same(&whole, &pieces, true);
    check_same(&whole, &small, false);
}

/* A written command is read back as an array of bulk strings, and nothing is written
 * beyond the buffer. */
static void check_encoder(const uint8_t *bytes, size_t size)
{
    const struct resp_limits limits = {
        .line_max = 0, .bulk_max = STREAM_MAX, .elements_max = 8, .depth_max = 1
    };
    size_t first = size / 3, second = size - first, room = size + 64, consumed, at = 0;
    int64_t number = (int64_t)(((uint64_t)size << 32 | second) * 0x9e3779b97f4a7c15u);
    uint8_t *out = malloc(room);
    struct resp_writer w;
    struct resp_parser parser;
    struct resp_item item;
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)number);

    FUZZ_CHECK(out != NULL);
    resp_write_begin(&w, out, size > 0 && bytes[0] & 1 ? room : size, 0);
    resp_command(&w, 3);
    resp_bytes(&w, bytes, first);
    resp_number(&w, number);
    resp_bytes(&w, bytes + first, second);
    if (resp_end(&w)) {
        resp_parser_init(&parser, &limits);
        FUZZ_CHECK(resp_parse(&parser, out, w.used, false, &consumed, &item) == RESP_OK &&
                   item.integer == 3);
        at += consumed;
        FUZZ_CHECK(resp_parse(&parser, out + at, w.used - at, false, &consumed, &item) == RESP_OK &&
                   item.size == first && memcmp(item.data, bytes, first) == 0);
        at += consumed;
        FUZZ_CHECK(resp_parse(&parser, out + at, w.used - at, false, &consumed, &item) == RESP_OK &&
                   item.size == length && memcmp(item.data, digits, length) == 0);
        at += consumed;
        FUZZ_CHECK(resp_parse(&parser, out + at, w.used - at, false, &consumed, &item) == RESP_OK &&
                   item.size == second && item.ends_reply &&
                   memcmp(item.data, bytes + first, second) == 0 && at + consumed == w.used);
    } else {
        FUZZ_CHECK(w.used == 0 && w.full && !w.miscounted);
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct resp_limits choices[] = {
        { .line_max = 1000, .bulk_max = 1000, .elements_max = 1000, .depth_max = 8 },
        /* Those of redlock. */
        { .line_max = 16384, .bulk_max = 65536, .elements_max = 4096, .depth_max = 3 },
        { .line_max = 40, .bulk_max = 40, .elements_max = 2, .depth_max = 1 },
        { .line_max = SIZE_MAX, .bulk_max = SIZE_MAX, .elements_max = UINT32_MAX,
          .depth_max = UINT8_MAX },
        { .line_max = 0, .bulk_max = 0, .elements_max = 0, .depth_max = 0 },
    };
    struct fuzz_input input = { data, size };
    struct resp_limits limits = choices[fuzz_byte(&input) % (sizeof choices / sizeof choices[0])];
    uint32_t dice = fuzz_byte(&input) * 2654435761u + 1;

    if (input.size > STREAM_MAX) return 0;
    check_parser(input.data, input.size, &limits, dice);
    check_encoder(input.data, input.size);
    return 0;
}
