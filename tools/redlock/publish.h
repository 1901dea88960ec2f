/* Whether nodes let this user publish: where they do not, a release wakes nobody, and nobody is
 * told of it. Asked by a client that waits, once, since waking is for such: plain
 * locks pay nothing. */
#ifndef PUBLISH_H
#define PUBLISH_H

#include "session.h"

/* To be called again and again while the lock is waited for: says once of each
 * node that refuses. */
void publish_watch(struct session *session);

/* The wait is over. */
void publish_end(struct session *session);

#endif
