/* What locks want to say goes out: each command is encoded from the lock's own fields, by the rows
 * of its kind. Calls hooks of kinds, so no kind may call it. */
#ifndef REDLOCK_SEND_H
#define REDLOCK_SEND_H

#include "stake.h"

/* Appends a command of a lock, whole or not at all: then false. A script for which there is little
 * room stays where it lies, see resp_apart. */
REDLOCK_PRIVATE bool send_encode(struct resp_writer *w, const struct wire_row *row,
                                 enum redlock_form form, const struct wire_subject *subject);

/* Encodes the commands for node k that the locks in its queue want, as many as there
 * is room for. */
REDLOCK_PRIVATE void send_fill(struct redlock *r, unsigned k);

/* From now on the encoding also serves other nodes that are to be sent the same bytes
 * and nothing else. */
REDLOCK_PRIVATE void send_use_copies(struct redlock *r);

#endif
