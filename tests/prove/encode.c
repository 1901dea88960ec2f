/* Commands are written into buffers of every size from 0 to SIZE_TOP, from texts and bytes of every
 * size up to TEXT_MAX. Some of these are longer than the buffer with their heads,
 * and some shorter. */
#include "any.h"
#include "../../resp/resp_encode.c"

enum { SIZE_TOP = 32, TEXT_MAX = 12 };

static uint8_t buffer[SIZE_TOP];
static char text[TEXT_MAX + 1];
static uint8_t bytes[TEXT_MAX];
static struct resp_writer writer;

/* Any writer that resp_write_begin and any calls since may have left, of a buffer of so many bytes.
 * Its caller promises that no more of it is used than there is (used <= size, whole <= size), and
 * each entry asserts it afterwards. */
static void any_writer(size_t size)
{
    size_t used = any_size(size);

    resp_write_begin(&writer, buffer + SIZE_TOP - size, size, any_size(size));
    writer.used = used;
    writer.whole = any_size(size);
    writer.missing = any_u32(UINT32_MAX);
    writer.full = any_bool();
    writer.miscounted = any_bool();
}

/* Any text that ends within its array. */
static const char *any_text(void)
{
    Frama_C_make_unknown(text, TEXT_MAX);
    text[TEXT_MAX] = '\0';
    return text;
}

/* Begins with any number of arguments. */
void prove_command(void)
{
    size_t size = any_size(SIZE_TOP);
    //@ split size;
    any_writer(size);
    resp_command(&writer, any_u32(UINT32_MAX));
    //@ assert writer.used <= size;
}

/* NULL may stand for no bytes. */
void prove_bytes(void)
{
    size_t size = any_size(SIZE_TOP), bytes_size = any_size(TEXT_MAX);
    //@ split size;
    //@ split bytes_size;
    any_writer(size);
    Frama_C_make_unknown((char *)bytes, sizeof bytes);
    resp_bytes(&writer, bytes_size == 0 && any_bool() ? NULL : bytes + TEXT_MAX - bytes_size,
               bytes_size);
    //@ assert writer.used <= size;
}

void prove_text(void)
{
    size_t size = any_size(SIZE_TOP);
    //@ split size;
    any_writer(size);
    resp_text(&writer, any_text());
    //@ assert writer.used <= size;
}

void prove_apart(void)
{
    size_t size = any_size(SIZE_TOP);
    //@ split size;
    any_writer(size);
    resp_apart(&writer, any_text());
    //@ assert writer.used <= size && writer.apart_size <= TEXT_MAX;
}

/* Each of the 2^64. */
void prove_number(void)
{
    size_t size = any_size(SIZE_TOP);
    //@ split size;
    any_writer(size);
    resp_number(&writer, (int64_t)any_u64(UINT64_MAX));
    //@ assert writer.used <= size;
}

void prove_size(void)
{
    size_t size = any_size(SIZE_TOP);
    //@ split size;
    any_writer(size);
    resp_size(&writer, any_size(SIZE_MAX));
    //@ assert writer.used <= size;
}

void prove_end(void)
{
    size_t size = any_size(SIZE_TOP);
    //@ split size;
    any_writer(size);
    resp_end(&writer);
    //@ assert writer.used <= size && writer.whole <= size;
}
