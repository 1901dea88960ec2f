/* There is no TLS: its options are refused, and redlock_open refuses addresses that ask for it. */
#include "tls.h"

#include <stddef.h>

void tls_read(struct settings *settings, const char *const given[TLS_FILES])
{
    if (given[0] || given[1] || given[2])
        refuse(settings, "there is no TLS here: 'make TLS=openssl' or TLS=mbedtls builds it in");
}

bool tls_open(struct settings *settings)
{
    (void)settings;
    return true;
}

void tls_close(void)
{
}

uint64_t tls_certificate_ends(unsigned k)
{
    (void)k;
    return 0;
}

const char *tls_version(void)
{
    return "";
}

const char *tls_advice(const char *text)
{
    (void)text;
    return NULL;
}

bool tls_is_lasting(const char *text)
{
    (void)text;
    return false;
}
