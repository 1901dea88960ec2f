/* What the encoder writes, the parser reads back: all heads of bulk strings that there are, by
 * trying them; and all commands of a few words of a few bytes, where the bytes that mean something
 * to the parser are in every place. After a head both count bytes, whatever their
 * number and content.
 *
 *     heads WORKERS       exit status 0: so it is */
#define _POSIX_C_SOURCE 200809L

#include "../../resp/resp_encode.c"
#include "../../resp/resp_parse.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARRAY_MAX = 1 << 20, WORDS_MAX = 3, BYTES_MAX = 2, HEAD_MAX = HEAD + RESP_DIGITS_MAX };

static const struct resp_limits limits = {
    .bulk_max = RESP_BULK_MAX, .elements_max = UINT32_MAX, .depth_max = 1
};
static const char alphabet[] = "\r\n$*1";
enum { LETTERS = sizeof alphabet - 1 };

static void fail(const char *what, uint64_t number)
{
    fprintf(stderr, "%s: %llu\n", what, (unsigned long long)number);
    _exit(1);
}

/* A head that is read alone leaves the parser in a string of that size. */
static void try_head(char type, size_t number)
{
    uint8_t text[HEAD_MAX];
    struct resp_writer w;
    struct resp_parser p;
    struct resp_item item;
    size_t consumed;
    resp_write_begin(&w, text, sizeof text, 0);
    if (!writer_put_head(&w, type, number, 0)) fail("a head does not fit", number);
    resp_parser_init(&p, &limits);
    const enum resp_status status = resp_parse(&p, text, w.used, false, &consumed, &item);
    const bool is_array =
        status == RESP_OK && item.type == RESP_ARRAY && (uint64_t)item.integer == number;
    const bool is_string = status == RESP_MORE && p.in_string && p.string_type == RESP_BULK &&
                           p.total == number && p.left == number;
    if (consumed != w.used || !(type == '*' ? is_array : is_string))
        fail(type == '*' ? "arguments" : "bytes", number);
}

static void try_heads(unsigned part, unsigned parts)
{
    for (size_t number = part; number <= RESP_BULK_MAX; number += parts) try_head('$', number);
    for (size_t number = part; number <= ARRAY_MAX; number += parts) try_head('*', number);
}

/* Number i of the words of up to BYTES_MAX bytes. */
static size_t word_of(unsigned i, uint8_t bytes[BYTES_MAX])
{
    size_t size = 0;
    for (unsigned count = 1; i >= count; i -= count, count *= LETTERS) size++;
    for (size_t at = 0; at < size; at++, i /= LETTERS) bytes[at] = (uint8_t)alphabet[i % LETTERS];
    return size;
}

/* All of it is in the window. */
static void try_command(unsigned count, const unsigned *which)
{
    uint8_t text[64], word[BYTES_MAX];
    struct resp_writer w;
    struct resp_parser p;
    struct resp_item item;
    size_t at, consumed;
    resp_write_begin(&w, text, sizeof text, 0);
    resp_command(&w, count);
    for (unsigned i = 0; i < count; i++) resp_bytes(&w, word, word_of(which[i], word));
    if (!resp_end(&w)) fail("a command does not fit", count);
    resp_parser_init(&p, &limits);
    if (resp_parse(&p, text, w.used, true, &at, &item) != RESP_OK || item.type != RESP_ARRAY ||
        item.integer != (int64_t)count)
        fail("the head of a command", count);
    for (unsigned i = 0; i < count; i++, at += consumed) {
        const size_t size = word_of(which[i], word);
        if (resp_parse(&p, text + at, w.used - at, true, &consumed, &item) != RESP_OK ||
            item.type != RESP_BULK || !item.first || !item.last || item.size != size ||
            memcmp(item.data, word, size) != 0 || item.ends_reply != (i + 1 == count))
            fail("a word of a command", which[i]);
    }
    if (at != w.used) fail("bytes are left", w.used - at);
}

static void try_commands(void)
{
    enum { WORDS = 1 + LETTERS + LETTERS * LETTERS };
    unsigned which[WORDS_MAX];
    for (unsigned i = 0; i < WORDS * WORDS * WORDS; i++) {
        for (unsigned k = 0, rest = i; k < WORDS_MAX; k++, rest /= WORDS) which[k] = rest % WORDS;
        for (unsigned count = 1; count <= WORDS_MAX; count++) try_command(count, which);
    }
}

int main(int argc, char **argv)
{
    const unsigned workers = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    int status, bad = 0;
    try_commands();
    try_head('$', RESP_BULK_MAX);
    for (unsigned i = 0; i < workers; i++) {
        const pid_t pid = fork();
        if (pid < 0) fail("no worker", i);
        if (pid > 0) continue;
        try_heads(i, workers);
        _exit(0);
    }
    while (wait(&status) > 0) bad |= status;
    return bad != 0;
}
