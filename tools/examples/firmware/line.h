/* A serial line that can hang up. It has sessions over raw bytes in both directions, for a
 * transport of the engine (the near side) and for the bridge to a server (the far side).
 * Copy this file.
 * Freestanding; no allocation; a few hundred bytes for each line.
 *
 * Raw bytes are not enough. When the engine closes a session because an answer did not come, that
 * answer may still come, and on a bare line it would be taken for the answer to the first command
 * of the next session. Nothing that belongs to one session may therefore be heard in another, and
 * any loss or change on the way must end the session, as TCP would.
 *
 * The wire. A frame stands between two END; two END with nothing between them are no frame. Within
 * a frame, END is written as ESC ESC_END and ESC as ESC ESC_ESC (as in RFC 1055), so an END is
 * never part of one.
 * After any byte that was lost, changed or added, the next END begins anew, and the damage
 * is one frame.
 *
 *     END  kind  session, 2 bytes  number  bytes ...  check, 4 bytes  END          low bytes first
 *
 *     kind     OPEN    near to far: a session begins. All that was before is over, also what is
 *                      still on its way.
 *              OPENED  far to near: the server is connected.
 *              DATA    either way: bytes of the stream, 1 to LINE_PAYLOAD_MAX of them.
 *              CLOSE   either way: the session is over, and the bytes say why; or the server could
 *                      not be connected.
 *     session  of OPEN a number that the near side has not used lately. Frames that name another
 *              than the last are not looked at; but a far side that knows of no session answers
 *              DATA with CLOSE, so that the near side learns of its restart.
 *     number   of DATA: 1, 2, ... 255, 0, 1, ... in each direction. A frame that is missing is
 *              noticed by the next.
 *     check    CRC-32 (0xEDB88320) of all of the frame before it.
 *
 * A damaged frame, or one out of turn, ends a session that stands. One that is lost without another
 * after it is noticed by the engine's own timeout, and so is an OPEN or OPENED that is lost. The
 * engine then begins a new session. Nothing is sent again. Both sides must be able to stop the
 * other (RTS and CTS, say), since a byte that finds no room is a lost byte.
 *
 * Use: give each byte that arrives to line_take(), but only while line_unread() is 0; send what
 * line_output() has; and on the side that is
 *     near   on WANT_CONNECT line_open(), on LINE_OPENED redlock_connected(), on LINE_LOST
 *            redlock_disconnected(), on WANT_CLOSE line_close(), and between these
 *            line_write() and line_read()
 *     far    on LINE_ASKED connect to the server, having closed the connection that there was, and
 *            then line_accept() or line_close(); on LINE_LOST close it; when the server
 *            closes it, line_close() */
#ifndef LINE_H
#define LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the stream in one frame, alike on both sides. */
#ifndef LINE_PAYLOAD_MAX
#define LINE_PAYLOAD_MAX 64
#endif

enum {
    LINE_HEAD = 4, LINE_CHECK = 4,
    LINE_FRAME_MAX = LINE_HEAD + LINE_PAYLOAD_MAX + LINE_CHECK,
    LINE_OUTPUT_MAX = 2 * LINE_FRAME_MAX + 2,       /* If every byte must be escaped. */

    LINE_END = 0xC0, LINE_ESC = 0xDB, LINE_ESC_END = 0xDC, LINE_ESC_ESC = 0xDD
};
_Static_assert(LINE_PAYLOAD_MAX >= 16 && LINE_PAYLOAD_MAX <= 1024,
               "sizes are kept in a uint16_t, and a reason should fit");

enum line_kind {
    LINE_KIND_OPEN = 'O',
    LINE_KIND_OPENED = 'A',
    LINE_KIND_DATA = 'D',
    LINE_KIND_CLOSE = 'C'
};

enum line_state { LINE_CLOSED, LINE_OPENING, LINE_OPEN };

/* The event that a byte has brought. */
enum line_event {
    LINE_NOTHING,       /* Nothing yet, or nothing that matters. */
    LINE_ASKED,         /* Far: a session is to begin; the one before, if there was one, is over. */
    LINE_OPENED,        /* Near: the session stands. */
    LINE_DATA,          /* There is something for line_read(). */
    LINE_LOST           /* The session is over, see line_why(). */
};

struct line {
    bool is_far;
    uint8_t state;                      /* enum line_state */
    uint8_t sent, heard;                /* The number of the last DATA in each direction. */
    uint16_t session;
    bool is_escaped, is_damaged;        /* State of the frame that is being received. */
    uint16_t in_size;
    uint16_t unread_start, unread_end;  /* Bytes of DATA in it. */
    uint16_t out_start, out_end;
    const char *why;
    uint8_t in[LINE_FRAME_MAX];
    uint8_t out[LINE_OUTPUT_MAX];
};

/* ---- A frame ---- */

static inline uint32_t line_check(const uint8_t *bytes, size_t size)
{
    uint32_t check = UINT32_MAX;
    for (size_t i = 0; i < size; i++) {
        check ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            check = (check >> 1) ^ (check & 1 ? UINT32_C(0xEDB88320) : 0);
    }
    return ~check;
}

static inline size_t line_escape(uint8_t *out, uint8_t byte)
{
    if (byte != LINE_END && byte != LINE_ESC) return out[0] = byte, 1;
    out[0] = LINE_ESC;
    out[1] = byte == LINE_END ? LINE_ESC_END : LINE_ESC_ESC;
    return 2;
}

/* Writes the frame whose head and bytes are in frame[0..size), with room for its check; returns its
 * size on the wire. */
static inline size_t line_encode(uint8_t out[LINE_OUTPUT_MAX], uint8_t *frame, size_t size)
{
    const uint32_t check = line_check(frame, size);
    size_t used = 0;

    for (unsigned i = 0; i < LINE_CHECK; i++) frame[size + i] = (uint8_t)(check >> 8 * i);
    out[used++] = LINE_END;
    for (size_t i = 0; i < size + LINE_CHECK; i++) used += line_escape(&out[used], frame[i]);
    out[used++] = LINE_END;
    return used;
}

/* True when frame[0..size), without END and escapes, is one. */
static inline bool line_is_frame(const uint8_t *frame, size_t size)
{
    uint32_t check = 0;
    if (size < LINE_HEAD + LINE_CHECK || size > LINE_FRAME_MAX) return false;
    for (unsigned i = 0; i < LINE_CHECK; i++)
        check |= (uint32_t)frame[size - LINE_CHECK + i] << 8 * i;
    return line_check(frame, size - LINE_CHECK) == check;
}

/* ---- Both sides ---- */

/* session: of the near side a number that is another after each reset, a random one for instance;
 * of the far side any. */
static inline void line_init(struct line *line, bool is_far, uint16_t session)
{
    *line = (struct line){ .is_far = is_far, .session = session };
}

/* The bytes to send, and how many of them were sent. */
static inline const uint8_t *line_output(const struct line *line, size_t *size)
{
    *size = (size_t)(line->out_end - line->out_start);
    return &line->out[line->out_start];
}

static inline void line_sent(struct line *line, size_t size)
{
    line->out_start = (uint16_t)(line->out_start + size);
}

/* Replaces the bytes that have not been sent. A frame whose first part has left is then a damaged
 * one, of a session that is over. */
static inline void line_put(struct line *line, enum line_kind kind, const void *bytes, size_t size)
{
    uint8_t frame[LINE_FRAME_MAX] = {
        (uint8_t)kind, (uint8_t)line->session, (uint8_t)(line->session >> 8), line->sent
    };
    const uint8_t *from = bytes;

    for (size_t i = 0; i < size; i++) frame[LINE_HEAD + i] = from[i];
    line->out_start = 0;
    line->out_end = (uint16_t)line_encode(line->out, frame, LINE_HEAD + size);
}

/* Takes up to size bytes of the stream. Returns how many. It is 0 while there is output,
 * or no session. */
static inline size_t line_write(struct line *line, const void *bytes, size_t size)
{
    if (line->state != LINE_OPEN || line->out_start != line->out_end || size == 0) return 0;
    if (size > LINE_PAYLOAD_MAX) size = LINE_PAYLOAD_MAX;
    line->sent++;
    line_put(line, LINE_KIND_DATA, bytes, size);
    return size;
}

static inline size_t line_unread(const struct line *line)
{
    return (size_t)(line->unread_end - line->unread_start);
}

/* Gives up to room bytes of the stream; returns how many. */
static inline size_t line_read(struct line *line, void *bytes, size_t room)
{
    uint8_t *to = bytes;
    size_t size = line_unread(line) < room ? line_unread(line) : room;
    for (size_t i = 0; i < size; i++) to[i] = line->in[line->unread_start++];
    return size;
}

static inline void line_begin(struct line *line, enum line_state state)
{
    line->state = (uint8_t)state;
    line->sent = line->heard = 0;
    line->unread_start = line->unread_end = 0;
}

/* Ends the session; why, in words that are cut to one frame, is sent to the other side. */
static inline void line_close(struct line *line, const char *why)
{
    size_t size = 0;
    while (size < LINE_PAYLOAD_MAX && why[size] != '\0') size++;
    line_begin(line, LINE_CLOSED);
    line_put(line, LINE_KIND_CLOSE, why, size);
}

/* Why the session was lost, for a person; until the next byte is taken. */
static inline const char *line_why(const struct line *line)
{
    return line->why;
}

/* ---- The near side begins, the far side answers ---- */

static inline void line_open(struct line *line)
{
    line->session++;
    line_begin(line, LINE_OPENING);
    line_put(line, LINE_KIND_OPEN, NULL, 0);
}

static inline void line_accept(struct line *line)
{
    line_begin(line, LINE_OPEN);
    line_put(line, LINE_KIND_OPENED, NULL, 0);
}

/* ---- What has arrived ---- */

static inline enum line_event line_lose(struct line *line, const char *why)
{
    line_begin(line, LINE_CLOSED);
    line->why = why;
    return LINE_LOST;
}

static inline enum line_event line_take_open(struct line *line, uint16_t session)
{
    if (!line->is_far) return LINE_NOTHING;
    line->session = session;
    line_begin(line, LINE_OPENING);
    return LINE_ASKED;
}

static inline enum line_event line_take_opened(struct line *line)
{
    if (line->is_far || line->state != LINE_OPENING) return LINE_NOTHING;
    line_begin(line, LINE_OPEN);
    return LINE_OPENED;
}

static inline enum line_event line_take_data(struct line *line, size_t end)
{
    if (line->state != LINE_OPEN) return LINE_NOTHING;
    if (line->in[3] != (uint8_t)(line->heard + 1))
        return line_lose(line, "bytes were lost on the line");
    line->heard++;
    line->unread_start = LINE_HEAD;
    line->unread_end = (uint16_t)end;
    return LINE_DATA;
}

/* The words stand in the frame, whose check makes room for a NUL. */
static inline enum line_event line_take_close(struct line *line, size_t end)
{
    if (line->state == LINE_CLOSED) return LINE_NOTHING;
    line->in[end] = '\0';
    return line_lose(line, (const char *)&line->in[LINE_HEAD]);
}

/* DATA of a session that this far side does not know. */
static inline enum line_event line_refuse(struct line *line, uint16_t session)
{
    line->session = session;
    line_close(line, "no such session");
    return LINE_NOTHING;
}

static inline enum line_event line_take_frame(struct line *line, size_t size)
{
    const uint16_t session = (uint16_t)(line->in[1] | line->in[2] << 8);
    const size_t end = size - LINE_CHECK;

    if (line->in[0] == LINE_KIND_OPEN) return line_take_open(line, session);
    if (line->is_far && line->in[0] == LINE_KIND_DATA && line->state == LINE_CLOSED)
        return line_refuse(line, session);
    if (session != line->session) return LINE_NOTHING;
    switch (line->in[0]) {
    case LINE_KIND_OPENED: return line_take_opened(line);
    case LINE_KIND_DATA:   return line_take_data(line, end);
    case LINE_KIND_CLOSE:  return line_take_close(line, end);
    default:               return LINE_NOTHING;
    }
}

static inline enum line_event line_take_end(struct line *line)
{
    const size_t size = line->in_size;
    const bool is_whole = !line->is_damaged && !line->is_escaped && line_is_frame(line->in, size);

    line->in_size = 0;
    line->is_damaged = line->is_escaped = false;
    if (is_whole) return line_take_frame(line, size);
    return size > 0 && line->state == LINE_OPEN ? line_lose(line, "a frame was damaged on the line")
                                                : LINE_NOTHING;
}

/* Takes one byte that has arrived. Only while nothing is unread. */
static inline enum line_event line_take(struct line *line, uint8_t byte)
{
    if (byte == LINE_END) return line_take_end(line);
    if (line->is_escaped) {
        line->is_damaged |= byte != LINE_ESC_END && byte != LINE_ESC_ESC;
        byte = byte == LINE_ESC_END ? LINE_END : LINE_ESC;
    } else if (byte == LINE_ESC) {
        line->is_escaped = true;
        return LINE_NOTHING;
    }
    line->is_escaped = false;
    if (line->in_size < LINE_FRAME_MAX) line->in[line->in_size++] = byte;
    else line->is_damaged = true;
    return LINE_NOTHING;
}

#endif
