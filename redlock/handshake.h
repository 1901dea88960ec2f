/* The commands of the handshake, but for those that scripts load: see wire.h for what
 * each is answered. */
#ifndef REDLOCK_HANDSHAKE_H
#define REDLOCK_HANDSHAKE_H

#include "wire.h"

/* Appends a command of the handshake, whole or not at all: then false. */
REDLOCK_PRIVATE bool handshake_put(struct resp_writer *w, enum redlock_command command,
                                   const struct redlock_node *node,
                                   const struct redlock_scripts *scripts,
                                   const uint8_t engine[REDLOCK_NAME_SIZE]);

/* True when this step has nothing to say to this node with these scripts. */
REDLOCK_PRIVATE bool handshake_leaves_out(enum redlock_command command,
                                          const struct redlock_node *node,
                                          const struct redlock_scripts *scripts);

#endif
