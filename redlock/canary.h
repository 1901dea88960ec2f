/* What the canary of a durable node says, and the handshake that asks for it: see canary.c. Knows
 * no node's session. */
#ifndef REDLOCK_CANARY_H
#define REDLOCK_CANARY_H

#include "wire.h"

/* The purpose of the last question about a canary on this connection. */
enum canary_step { CANARY_NOT_ASKED, CANARY_IS_SET, CANARY_IS_READ };

/* If we may not see the canary, we cannot know. The node is like any other, whose guard begins with
 * a restart. */
REDLOCK_PRIVATE void canary_hide(struct redlock_durable *d, unsigned k);

/* The handshake of an engine whose scripts are the first that its struct redlock_durable has. */
REDLOCK_PRIVATE const struct wire_loading *canary_loading(void);

#endif
