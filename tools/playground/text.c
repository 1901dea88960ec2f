#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_clear(struct text *text)
{
    text->size = 0;
    text_bytes(text, "", 0);
}

void text_bytes(struct text *text, const char *data, size_t size)
{
    if (text->capacity < text->size + size + 1) {
        text->capacity = 2 * (text->size + size) + 256;
        text->data = realloc(text->data, text->capacity);
        if (!text->data) abort();
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void text_put(struct text *text, const char *more)
{
    text_bytes(text, more, strlen(more));
}

static void put_string(struct text *text, const uint8_t *data, size_t size)
{
    char escape[8];
    text_put(text, "\"");
    for (size_t i = 0; i < size; i++) {
        if (data[i] >= ' ' && data[i] <= '~' && data[i] != '"' && data[i] != '\\') {
            text_bytes(text, (const char *)&data[i], 1);
            continue;
        }
        snprintf(escape, sizeof escape, "\\u00%02x", (unsigned)data[i]);
        text_put(text, escape);
    }
    text_put(text, "\"");
}

static void begin(struct text *text, const char *name)
{
    const char last = text->size > 0 ? text->data[text->size - 1] : '{';
    if (last != '{' && last != '[') text_put(text, ",");
    if (!name) return;
    put_string(text, (const uint8_t *)name, strlen(name));
    text_put(text, ":");
}

void json_open(struct text *text, const char *name, char bracket)
{
    begin(text, name);
    text_bytes(text, &bracket, 1);
}

void json_close(struct text *text, char bracket)
{
    text_bytes(text, &bracket, 1);
}

void json_number(struct text *text, const char *name, int64_t number)
{
    char digits[24];
    begin(text, name);
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    text_put(text, digits);
}

void json_bool(struct text *text, const char *name, bool value)
{
    begin(text, name);
    text_put(text, value ? "true" : "false");
}

void json_null(struct text *text, const char *name)
{
    begin(text, name);
    text_put(text, "null");
}

void json_bytes(struct text *text, const char *name, const void *data, size_t size)
{
    begin(text, name);
    put_string(text, data, size);
}

void json_text(struct text *text, const char *name, const char *value)
{
    json_bytes(text, name, value, strlen(value));
}
