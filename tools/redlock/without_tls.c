/* There is no TLS: its options are refused, and redlock_open refuses addresses that ask for it. */
#include "tls.h"

#include <stddef.h>

void tls_read(const struct reading *r)
{
    if (r->tls_ca || r->tls_cert || r->tls_key)
        refuse(r->settings, "TLS is not built in: 'make TLS=openssl' (or TLS=mbedtls) makes a redlock that takes --tls-ca, --tls-cert "
               "and --tls-key");
}

const char *tls_library(void)
{
    return NULL;
}

const char *tls_advice(const char *text)
{
    (void)text;
    return NULL;
}
