/* RESP2, the protocol of Redis and Valkey, as a writer of commands and a pull parser of replies.
 *
 * Knows bytes and nothing else (no sockets, no locks, no clock). Includes
 * freestanding headers only.
 * Memory:  the caller's. Nothing is allocated, nothing is global, no byte of a reply is copied.
 * Threads: one writer or parser belongs to one thread at a time; different ones know nothing of
 * each other.
 * Errors:  a mistake of the peer is a status. A caller's bug is named in the contract
 *          that it breaks.
 *
 * To ask, and to read the answers, of which "have" bytes have come into "in":
 *
 *     resp_write_begin(&w, out, sizeof out, 0);
 *     resp_command(&w, 2);  resp_text(&w, "GET");  resp_bytes(&w, key, key_size);
 *     if (resp_end(&w)) send_all(out, w.used);
 *
 *     resp_parser_init(&p, &limits);
 *     do {
 *         status = resp_parse(&p, in, have, have == sizeof in, &consumed, &item);
 *         if (status == RESP_OK) use(&item);               // Its data points into "in", so before
 *                                                          the memmove.
 *         memmove(in, in + consumed, have -= consumed);
 *         if (status == RESP_MORE) have += receive(in + have, sizeof in - have);
 *     } while (status == RESP_OK || status == RESP_MORE);
 *     close_because(resp_status_text(status)); */
#ifndef RESP_H
#define RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef RESP_API
#define RESP_API extern /* "static" where one file includes the others (the unity build). */
#endif

/* ---- Commands ---- */

enum { RESP_DIGITS_MAX = 20 }; /* UINT64_MAX has 20 digits, and so has INT64_MIN with its sign. */

/* Writes a number in decimal so that it ends where text ends; returns where it begins. */
RESP_API size_t resp_decimal(char text[RESP_DIGITS_MAX], uint64_t number);

/* Appends commands to a buffer of the caller's, each whole or not at all. The caller may read it,
 * not write it. */
struct resp_writer {
    uint8_t *data;
    size_t size;
    size_t used;        /* Bytes of data that are written, an unfinished command included. */
    size_t whole;       /* Bytes of finished commands among these, where resp_end falls back to. */
    unsigned missing;   /* Arguments announced and not yet written. */
    bool full;          /* The command, or after resp_end the last command, did not fit. */
    bool miscounted;    /* It has more arguments than announced, or none. */
    const char *apart;  /* See resp_apart. NULL: nothing is apart. */
    size_t apart_size, apart_at;
};

/* Writes into data, which holds size bytes, after the first used ones (used <= size). The buffer
 * must outlive the writing. Call it again after moving or sending bytes of it. */
RESP_API void resp_write_begin(struct resp_writer *w, void *data, size_t size, size_t used);

/* Starts a command of that many arguments, the command's name included. There is at least 1, as a
 * server leaves an empty command unanswered. A command that was started and not
 * ended is dropped. */
RESP_API void resp_command(struct resp_writer *w, unsigned arguments);

/* Each writes one argument, either any bytes (data may be NULL when size is 0), or a NUL-terminated
 * text, or a number in decimal. The arguments are copied. From the first byte that does not fit
 * until resp_end they do nothing. */
RESP_API void resp_bytes(struct resp_writer *w, const void *data, size_t size);
RESP_API void resp_text(struct resp_writer *w, const char *text);
RESP_API void resp_number(struct resp_writer *w, int64_t number);
/* Needs no division of 64 bits where a size has 32. */
RESP_API void resp_size(struct resp_writer *w, size_t number);

/* Like resp_text, but the text itself is not copied. It belongs between the bytes before and after
 * apart_at, and the caller sends it from where it lies. It is meant for long constant texts and
 * small buffers; once in a buffer. */
RESP_API void resp_apart(struct resp_writer *w, const char *text);

/* Ends the command. True: it is in the buffer, whole. False: w->used is as it was before
 * resp_command, and the bytes after that mean nothing. It did not fit (w->full), or its arguments
 * were not as many as announced, which is the caller's bug. */
RESP_API bool resp_end(struct resp_writer *w);

/* ---- Replies ---- */

enum {
    /* Arrays within arrays. Each costs 4 bytes in every parser. */
    RESP_DEPTH_MAX = 6,
    /* The limit of Redis itself by default, which fits a size_t of 32 bits. */
    RESP_BULK_MAX = 512 * 1024 * 1024,
    /* ":-9223372036854775808\r\n", the longest thing that never comes in pieces. */
    RESP_WINDOW_MIN = 23
};

/* The most that the peer may send. Beyond it is an error, found before memory or time is
 * spent on it. */
struct resp_limits {
    size_t line_max;        /* Bytes of a simple string or an error, between type byte and CR. */
    size_t bulk_max;        /* Bytes of a bulk string. Lowered to RESP_BULK_MAX. */
    /* Elements of one array. (A whole reply has at most their depth_max-th power.) */
    uint32_t elements_max;
    /* Arrays within arrays. 0: no array, not even a null one. Lowered to RESP_DEPTH_MAX. */
    uint8_t depth_max;
};

enum resp_type {
    RESP_SIMPLE,        /* +text\r\n */
    RESP_ERROR,         /* -text\r\n */
    RESP_INTEGER,       /* :-?digits\r\n */
    RESP_BULK,          /* $size\r\n, size bytes, \r\n */
    RESP_NULL_BULK,     /* $-1\r\n */
    RESP_ARRAY,         /* *count\r\n, count values */
    RESP_NULL_ARRAY     /* *-1\r\n */
};

/* Numbers are as Redis writes them, with no '+', no leading zero, no "-0", and
 * nothing outside int64_t. */
enum resp_status {
    RESP_OK,                    /* There is an item. */
    RESP_MORE,                  /* More bytes are needed. */
    /* A value begins with none of + - : $ * (RESP3, or no Redis at all). */
    RESP_BAD_TYPE,
    RESP_BAD_LINE,              /* A CR without LF or a LF without CR in a line. */
    RESP_BAD_INTEGER,           /* An integer is not written as above. */
    RESP_BAD_LENGTH,            /* A length is not written as above, or negative and not -1. */
    RESP_BAD_BULK_END,          /* No CR LF after the bytes of a bulk string. */
    RESP_LINE_TOO_LONG,         /* Over line_max. */
    RESP_BULK_TOO_BIG,          /* Over bulk_max. */
    RESP_TOO_MANY_ELEMENTS,     /* Over elements_max. */
    RESP_TOO_DEEP               /* An array that lies in depth_max others. */
};

/* One value of a reply, or a piece of one. An array comes as its head; its elements follow as items
 * of their own. */
struct resp_item {
    enum resp_type type;
    /* 0: the reply itself; 1: an element of it; 2: an element of such an element; ... */
    uint8_t depth;
    /* The position of this piece in its string. Both: the whole. Always both for an item that
     * is no string. */
    bool first, last;
    /* With this item the reply is complete; the next item belongs to the next reply. */
    bool ends_reply;
    /* SIMPLE, ERROR, BULK: size bytes within the window that was given. Otherwise NULL. */
    const uint8_t *data;
    size_t size;            /* Not 0, except in the last piece. */
    /* INTEGER: it. ARRAY: its elements. BULK: size of the whole string. Nulls: -1. Lines: 0. */
    int64_t integer;
};

/* Between two replies it can be thrown away; within one it is the only memory of the
 * earlier bytes. Private. */
struct resp_parser {
    struct resp_limits limits;
    /* Elements still to come of each array that is not complete, outermost first. */
    uint32_t open[RESP_DEPTH_MAX];
    /* The size of a string while within it. A line's is not known yet and is line_max. */
    size_t total;
    /* Within a string, total without the bytes that were handed out. */
    size_t left;
    /* Within a line, bytes at the window's start that need no second look. */
    size_t scanned;
    uint8_t depth;                  /* How many of open[] are in use. */
    uint8_t string_type;            /* Within a string, its enum resp_type. */
    bool in_string;                 /* Its head was read, its last piece not yet handed out. */
    uint8_t error;                  /* Sticky: an enum resp_status, or RESP_OK. */
};

/* Makes p ready for the first byte of a connection. The limits are copied. */
RESP_API void resp_parser_init(struct resp_parser *p, const struct resp_limits *limits);

/* Reads the next item from the window of size bytes at data. They are the bytes not consumed by the
 * call before, and those that came after them. The window may have moved in memory. Always sets
 * *consumed to the number of bytes at its start that are done with.
 *
 * RESP_OK     *item is set. Its data points into the window, so it must be used before the window's
 *             bytes are moved.
 *             There may be more items in the window: call again with the rest.
 * RESP_MORE   Come back with more bytes. Some may have been consumed even so (a
 *             bulk string's head).
 * otherwise   The stream is broken for good, at the first byte that cannot be right, as soon as
 *             that is in the window.
 *             *consumed counts the good bytes before it. Every later call returns the same, with
 *             *consumed 0.
 * *item is touched only with RESP_OK.
 *
 * A string comes in one piece, and therefore needs a window that holds it and its CR LF, unless
 * buffer_full says that the window will not grow. The present part of it is then handed out
 * as a piece.
 * The very last piece may be empty. With buffer_full and RESP_WINDOW_MIN bytes or more every call
 * consumes something or reports an error. */
RESP_API enum resp_status resp_parse(struct resp_parser *p, const void *data, size_t size,
                                     bool buffer_full, size_t *consumed, struct resp_item *item);

/* An English phrase for a log, of static lifetime. */
RESP_API const char *resp_status_text(enum resp_status status);

#endif
