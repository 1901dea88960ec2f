/* Plain locks, one resource or several, with a ticket or without. wire.h describes the work
 * of the nodes. */
#ifndef REDLOCK_KINDS_PLAIN_H
#define REDLOCK_KINDS_PLAIN_H

#include "../kind.h"

/* The commands in the form that suits an engine's features. The first two are for one resource,
 * sent by text or loaded in the handshake. The third is for several and with
 * wake-ups, and loaded. */
REDLOCK_PRIVATE const struct redlock_scripts *plain_scripts_for_one(void);
REDLOCK_PRIVATE const struct redlock_scripts *plain_scripts_for_one_loaded(void);
REDLOCK_PRIVATE const struct redlock_scripts *plain_scripts_for_all(void);

/* The commands that load them, and their answers, for a handshake that has more to send. */
REDLOCK_PRIVATE bool plain_is_load_left_out(enum redlock_command command,
                                            const struct redlock_node *node);
/* The same where nodes may be durable. */
REDLOCK_PRIVATE bool plain_is_canary_left_out(enum redlock_command command,
                                              const struct redlock_node *node);
REDLOCK_PRIVATE void plain_put_load(struct resp_writer *w, enum redlock_command command,
                                    const struct redlock_node *node,
                                    const struct redlock_scripts *scripts);
REDLOCK_PRIVATE enum redlock_answer plain_read_load(struct redlock_node *node,
                                                    const struct redlock_asked *asked,
                                                    const struct redlock_scripts *scripts,
                                                    const struct wire_reply *reply);

/* A plain lock of several resources, or with a ticket, which a script acquires and sets again. */
REDLOCK_PRIVATE const struct redlock_kind *plain_scripted(void);

#endif
