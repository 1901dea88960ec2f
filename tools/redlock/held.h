/* Which program holds a lock, as far as nodes tell: its name, which stands behind the token, and
 * the resource's last ticket. */
#ifndef HELD_H
#define HELD_H

#include "session.h"

struct held {
    char name[REDLOCK_HOLDER_MAX + 1];      /* "": none was given. */
    /* 0: none is known. It may be an earlier holder's, if this one has none. */
    uint64_t ticket;
};

/* Asks all nodes about a resource that is held by that token, for a node timeout at most. */
void held_look(struct held *held, struct session *session, const char *resource, const char *token);

#endif
