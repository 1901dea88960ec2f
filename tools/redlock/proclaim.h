/* What a leader says of itself, in the key NAME#leader of each node where its token holds NAME:
 * "epoch name". */
#ifndef PROCLAIM_H
#define PROCLAIM_H

#include "ask_all.h"

struct proclamation {
    struct ask_all proclaim, resign;
    char value[REDLOCK_VALUE_TEXT + 1], epoch[24], ttl[16];
};

/* Makes the proclamation of the lock that is held, with its token and its ticket, and sends it. The
 * texts of the settings stay. */
void proclaim_begin(struct proclamation *p, struct session *session, const char *as);

/* Sends it again to each node that has answered the last one. */
void proclaim_again(struct proclamation *p, struct session *session);

/* Takes it back, before the lock is released. Waits for nothing: a release that is sent after it
 * arrives after it. */
void proclaim_resign(struct proclamation *p, struct session *session);

/* The lock is given up or lost: what is not answered is no longer waited for. */
void proclaim_end(struct proclamation *p, struct session *session);

#endif
