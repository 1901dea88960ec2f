/* Which kind of lock a request is for: a plain one, or what features add. */
#ifndef REDLOCK_KINDS_H
#define REDLOCK_KINDS_H

#include "stake.h"

/* May the lock be what is asked for? Then it becomes that, OK; else nothing has changed. BAD_CONFIG: a feature was not asked for;
 * BAD_STATE: what the lock owes is owed as another kind; and what the features say. */
REDLOCK_PRIVATE enum redlock_status kinds_choose(const struct redlock *r, struct redlock_lock *lock,
                                                 const struct redlock_request *request);

#endif
