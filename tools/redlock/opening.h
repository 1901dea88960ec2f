/* How a command opens its session, and closes it. */
#ifndef OPENING_H
#define OPENING_H

#include "session.h"

/* Opens the session, or says what is wrong. */
enum redlock_status open_session(struct session *session, struct settings *settings);

/* With --verbose it tells first which nodes these are: by then most of them have said it. */
void close_session(struct session *session);

#endif
