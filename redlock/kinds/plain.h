/* Plain locks, one resource or several, with a ticket or without. wire.h describes the work of the nodes. */
#ifndef REDLOCK_KINDS_PLAIN_H
#define REDLOCK_KINDS_PLAIN_H

#include "../kind.h"

/* The commands in the form that suits an engine's features. The first two are for one resource, sent by text or loaded in the
 * handshake. The third is for several and with wake-ups, and loaded. */
REDLOCK_PRIVATE const struct redlock_scripts *plain_scripts_for_one(void);
REDLOCK_PRIVATE const struct redlock_scripts *plain_scripts_for_one_loaded(void);
REDLOCK_PRIVATE const struct redlock_scripts *plain_scripts_for_all(void);

/* The part that loads them, for a handshake that has more to send. */
REDLOCK_PRIVATE const struct wire_loading *plain_loading(void);

/* A plain lock of several resources, or with a ticket, which a script acquires and sets again. */
REDLOCK_PRIVATE const struct redlock_kind *plain_scripted(void);

#endif
