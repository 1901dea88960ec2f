/* Bytes, durations and addresses as text: for people, who must not get a terminal's control codes,
 * and for machines (JSON). Knows no lock. */
#ifndef TEXT_H
#define TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TEXT_MAX = 4 * 512 + 1,     /* The longest resource with every byte escaped, and a NUL. */
    TEXT_DURATION_MAX = 32,
    TEXT_TIME_MAX = 48
};

/* Writes bytes for a person into text, cut to its size, always NUL-terminated: printable UTF-8 as
 * it is, any other byte as \xNN. size > 0. Returns text. */
const char *text_printable(char *text, size_t text_size, const void *bytes, size_t size);

/* Is it valid UTF-8 without control characters? */
bool text_is_plain(const char *text);

/* Writes "redlock: ..." and a line feed on stderr, as text_printable does. Of one that is too long,
 * as by a word of the user's, the middle is left out: what is wrong stands at the end. */
void text_say(const char *format, va_list arguments);

/* The words for an errno; with what to do where files are too many. A rare one is told by its
 * number, in memory of the next call's. */
const char *text_system_error(int error);

/* "1.5 s", "250 ms", "2 min 5 s": rounded down. Returns text. */
const char *text_duration(char text[TEXT_DURATION_MAX], uint64_t ms);

/* "2026-11-22T11:02:03.456Z": of a wall clock. Returns text. */
const char *text_time(char text[TEXT_TIME_MAX], uint64_t wall_us);

/* Microseconds as milliseconds, to three places unless they are zeros: "9897.769",
 * "102". Returns text. */
const char *text_ms(char text[TEXT_DURATION_MAX], uint64_t us);

/* Writes a JSON string with its quotes. A byte that is not part of valid UTF-8 becomes \u00NN. */
void json_string(FILE *file, const void *bytes, size_t size);

/* The same of a NUL-terminated text. */
void json_text(FILE *file, const char *text);

/* Cuts off what an error repeats of a command: a server that does not know AUTH by that name
 * answers "unknown command ..., with args beginning with: " and the password. */
void text_cut_echo(char *text);

/* Overwrites with zeros in a way that no compiler leaves out. */
void text_wipe(void *data, size_t size);

/* What to do about a server that lacks a command, or refuses each script of a kind, which no
 * waiting mends; NULL: the error is another one. */
const char *text_lasting_advice(const char *error);

#endif
