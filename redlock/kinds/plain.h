/* Plain locks, one resource or several, with a ticket or without. See wire.h for what the nodes do. */
#ifndef REDLOCK_KINDS_PLAIN_H
#define REDLOCK_KINDS_PLAIN_H

#include "../kind.h"

/* The commands in the form that suits an engine's features: for one resource, sent by text or loaded in the handshake; or for
 * several and with wake-ups, and loaded. */
REDLOCK_PRIVATE const struct redlock_scripts *plain_scripts_for_one(void);
REDLOCK_PRIVATE const struct redlock_scripts *plain_scripts_for_one_loaded(void);
REDLOCK_PRIVATE const struct redlock_scripts *plain_scripts_for_all(void);

/* What loads them, for a handshake that has more to say than that. */
REDLOCK_PRIVATE const struct wire_loading *plain_loading(void);

/* A plain lock of several resources, or with a ticket: it is acquired, and set again, by a script. */
REDLOCK_PRIVATE const struct redlock_kind *plain_scripted(void);

#endif
