/* Which nodes' votes a kept lock lacks: reported when one is lost, and when all are back, not with
 * each extension. */
#ifndef VOTES_H
#define VOTES_H

#include "session.h"

struct votes {
    /* The rounds behind the first are extensions; the last that was looked at. */
    uint32_t first_round, round;
    uint16_t pending;           /* The nodes that had not answered that one: a set. */
};

/* The lock is held, and is kept from now on. */
void votes_begin(struct votes *votes, struct session *session);

/* Looks at the last extension: notes in the session which nodes are missing, logs what has changed,
 * and says it unless with --verbose or --json. */
void votes_watch(struct votes *votes, struct session *session);

#endif
