/* TLS to the nodes at rediss:// addresses: tools/tls/with_tls.c where "make TLS=..." has built it
 * in, otherwise without_tls.c. */
#ifndef TLS_H
#define TLS_H

#include "settings.h"

enum { TLS_FILES = 3 };

/* What the options, and else the environment, say of it: settings->options get a transport, where a
 * node asks for one. What is wrong is said and ends the program, as by refuse(). given: --tls-ca,
 * --tls-cert, --tls-key, or NULL for each. */
void tls_read(struct settings *settings, const char *const given[TLS_FILES]);

/* Reads the files that they name, for the session that is to be opened: a process that is begun
 * before has no key. False: that cannot be, and was said. */
bool tls_open(struct settings *settings);

/* Behind the session. */
void tls_close(void);

/* When the certificate of node k ends, as redlock_tls_certificate_ends. 0: it is not talked
 * to by TLS. */
uint64_t tls_certificate_ends(unsigned k);

/* What stands behind the version: ", with TLS by" what, with its version; nothing, if it is not
 * built in. */
const char *tls_version(void);

/* What can be done against what a node says (redlock_describe_node), if it is about
 * TLS; otherwise NULL. */
const char *tls_advice(const char *text);

/* Is it something that waiting does not mend: a certificate that is refused, a version that is not
 * spoken there? Not if the node may be about to restart, or a clock to be set. */
bool tls_is_lasting(const char *text);

#endif
