/* Shared by the fuzz targets. A target is one file with LLVMFuzzerTestOneInput, which is called
 * with bytes of any kind and stops the program when a rule is broken. libFuzzer invents the bytes
 * (tests/fuzz/run); test_corpus_*.c of tests/unit replay those that were kept, with any compiler
 * and without a fuzzer. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program with a word about the broken rule. The fuzzer and the replay take that
 * for a crash. */
#define FUZZ_CHECK(condition)                                                             \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);       \
            abort();                                                                      \
        }                                                                                 \
    } while (0)

/* The fuzzer's bytes, taken from the front. Zeros follow their end. */
struct fuzz_input {
    const uint8_t *data;
    size_t size;
};

static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    if (input->size == 0) return 0;
    input->size--;
    return *input->data++;
}

/* Up to max bytes. Returns how many there were; *bytes points to them. */
static inline size_t fuzz_bytes(struct fuzz_input *input, size_t max, const uint8_t **bytes)
{
    size_t size = input->size < max ? input->size : max;

    *bytes = input->data;
    input->data += size;
    input->size -= size;
    return size;
}

/* A copy in memory of its own and of just its size, so that a sanitizer or valgrind sees a read
 * after its end. */
static inline void *fuzz_copy(const void *data, size_t size)
{
    void *copy = malloc(size + (size == 0));

    FUZZ_CHECK(copy != NULL);
    if (size > 0) memcpy(copy, data, size);
    return copy;
}

#endif
