/* TLS for a client of the servers that tests start, whose certificates it trusts. */
#ifndef OPEN_TLS_H
#define OPEN_TLS_H

#include <stdio.h>

#include "../../net/redlock_tls.h"
#include "../live/servers.h"
#include "../tap.h"

static struct redlock_tls *open_tls(void)
{
    char ca[SERVER_PATH_SIZE + 16], words[REDLOCK_TLS_WORDS];
    const struct redlock_tls_options options = { .ca = ca };
    struct redlock_tls *tls;

    snprintf(ca, sizeof ca, "%s/ca.crt", servers_certificates());
    tls = redlock_tls_open(&options, words, sizeof words);
    if (!tls) bail_out("redlock_tls_open: %s", words);
    return tls;
}

#endif
