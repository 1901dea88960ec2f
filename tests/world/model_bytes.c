#include "model_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Bytes ---- */

void *model_grow(void *data, size_t size)
{
    void *grown = realloc(data, size);
    if (!grown) abort();
    return grown;
}

void model_bytes_add(struct model_bytes *bytes, const void *data, size_t size)
{
    if (size == 0) return;
    if (bytes->size + size > bytes->capacity) {
        bytes->capacity = 2 * (bytes->size + size);
        bytes->data = model_grow(bytes->data, bytes->capacity);
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void model_bytes_drop(struct model_bytes *bytes, size_t size)
{
    bytes->size -= size;
    if (bytes->size > 0) memmove(bytes->data, bytes->data + size, bytes->size);
}

void model_bytes_free(struct model_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct model_bytes){ 0 };
}

struct slice slice_of(const char *text)
{
    return (struct slice){ (const uint8_t *)text, strlen(text) };
}

bool slice_is(struct slice a, const char *text)
{
    return a.size == strlen(text) && memcmp(a.data, text, a.size) == 0;
}

bool slices_equal(struct slice a, struct slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

void slice_text(struct slice slice, char *text, size_t size)
{
    const size_t count = slice.size < size ? slice.size : size - 1;
    memcpy(text, slice.data, count);
    text[count] = '\0';
}

uint8_t *slice_copy(struct slice slice)
{
    uint8_t *copy = model_grow(NULL, slice.size + 1);
    memcpy(copy, slice.data, slice.size);
    copy[slice.size] = '\0';
    return copy;
}

struct slice slice_word(struct slice *text)
{
    size_t size = 0;
    while (size < text->size && text->data[size] != ' ') size++;
    const struct slice word = { text->data, size };
    text->data += size < text->size ? size + 1 : size;
    text->size -= size < text->size ? size + 1 : size;
    return word;
}

/* As string2ll: no sign but a minus, no zeros in front, and it fits. */
bool slice_number(struct slice slice, int64_t *number)
{
    const bool is_negative = slice.size > 1 && slice.data[0] == '-';
    const size_t first = is_negative, digits = slice.size - first;
    uint64_t value = 0;
    if (digits == 0 || digits > 19 || (slice.data[first] == '0' && slice.size > 1)) return false;
    for (size_t i = first; i < slice.size; i++) {
        if (slice.data[i] < '0' || slice.data[i] > '9') return false;
        value = value * 10 + slice.data[i] - '0';
    }
    if (value > (uint64_t)INT64_MAX + is_negative) return false;
    *number = is_negative ? -(int64_t)(value - 1) - 1 : (int64_t)value;
    return true;
}

/* ---- SHA-1, to know whether the library's constants are right ---- */

static uint32_t rotate(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

static void sha1_block(uint32_t h[5], const uint8_t *block)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (unsigned i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               block[3];
    for (unsigned i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (unsigned i = 0; i < 80; i++) {
        const uint32_t f = i < 20              ? (b & c) | (~b & d)
                           : i < 40 || i >= 60 ? b ^ c ^ d
                                               : (b & c) | (b & d) | (c & d);
        const uint32_t k = i < 20   ? 0x5A827999u
                           : i < 40 ? 0x6ED9EBA1u
                           : i < 60 ? 0x8F1BBCDCu
                                    : 0xCA62C1D6u;
        const uint32_t next = rotate(a, 5) + f + e + k + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

void sha1_text(struct slice input, char text[MODEL_SHA_TEXT + 1])
{
    uint32_t h[5] = { 0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u, 0xC3D2E1F0u };
    uint8_t last[128] = { 0 };
    const size_t whole = input.size / 64 * 64, rest = input.size - whole,
                 padded = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64) sha1_block(h, input.data + i);
    memcpy(last, input.data + whole, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[padded - 1 - i] = (uint8_t)((uint64_t)input.size * 8 >> 8 * i);
    for (size_t i = 0; i < padded; i += 64) sha1_block(h, last + i);
    for (unsigned i = 0; i < 5; i++) snprintf(text + 8 * i, 9, "%08x", (unsigned)h[i]);
}
