/* What locks want to say goes out: each command is encoded from the lock's own fields, by the rows of its kind. Calls hooks of
 * kinds, so no kind may call it. */
#ifndef REDLOCK_SEND_H
#define REDLOCK_SEND_H

#include "stake.h"

/* Appends a command of a lock, whole or not at all: then false. A script for which there is little room stays where it lies, see
 * resp_apart. */
REDLOCK_PRIVATE bool send_encode(struct resp_writer *w, const struct wire_row *row, enum wire_form form,
                                 const struct wire_subject *subject);

/* Encodes for node k what the locks in its queue want, as much as there is room for. */
REDLOCK_PRIVATE void send_fill(struct redlock *r, unsigned k);

/* From now on the same is done also for other nodes that want to be sent the same bytes and have nothing else to send. */
REDLOCK_PRIVATE void send_use_copies(struct redlock *r);

#endif
