/* A text that grows, and JSON in it. */
#ifndef PLAYGROUND_TEXT_H
#define PLAYGROUND_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *data;                 /* NUL-terminated. */
    size_t size, capacity;
};

void text_clear(struct text *text);
void text_bytes(struct text *text, const char *data, size_t size);
void text_put(struct text *text, const char *more);

/* Members of an object, or, with name NULL, elements of an array, with the comma before it where
 * one is needed. */
void json_open(struct text *text, const char *name, char bracket);      /* '{' or '[' */
void json_close(struct text *text, char bracket);                       /* '}' or ']' */
void json_number(struct text *text, const char *name, int64_t number);
void json_bool(struct text *text, const char *name, bool value);
void json_null(struct text *text, const char *name);
void json_text(struct text *text, const char *name, const char *value);
/* Each byte is one character. */
void json_bytes(struct text *text, const char *name, const void *data, size_t size);

#endif
