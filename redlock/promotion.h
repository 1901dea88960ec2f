/* The age of a promoted master, and the handshake that asks for it: see promotion.c. Knows no
 * node's session. */
#ifndef REDLOCK_PROMOTION_H
#define REDLOCK_PROMOTION_H

#include "wire.h"

/* The handshake of an engine whose scripts are the first that its struct redlock_promotions has. */
REDLOCK_PRIVATE const struct wire_loading *promotion_loading(void);

#endif
