/* Addresses: texts of any bytes of every size from 0 to TEXT_MAX, each beside the end of its array.
 * Libc's strchr, strlen, strspn, strcspn, memcmp and inet_pton behave as Frama-C's specifications
 * of them say. */
#include "any.h"
#include "../../net/net_address.c"

enum { TEXT_MAX = 14, COPY_MAX = 4 };

static char text[TEXT_MAX];
static struct net_address address;
static struct net_error error;

/* Any port is taken for the default but 0, which is a caller's bug and trapped. */
void prove_parse(void)
{
    size_t size = any_size(TEXT_MAX);

    Frama_C_make_unknown(text, sizeof text);
    //@ split size;
    net_parse_address(text + TEXT_MAX - size, size, (uint16_t)(any_u16(UINT16_MAX - 1) + 1),
                      &address, &error);
}

/* A copy that may be too small for its text; prove_parse shows that for a host of more
 * than 255 bytes.
 * Any span within the text. */
void prove_copy(void)
{
    struct address_text all = { text, TEXT_MAX, any_bool(), &error };
    struct address_span span = { any_size(TEXT_MAX), any_size(TEXT_MAX) };
    char copy[COPY_MAX + 1];

    Frama_C_make_unknown(text, sizeof text);
    address_copy(&all, span, copy, COPY_MAX, "too long");
}
