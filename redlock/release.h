/* Releases a held lock, and keys that a lost attempt may have left. */
#ifndef REDLOCK_RELEASE_H
#define REDLOCK_RELEASE_H

#include "stake.h"

/* Begins to release a lock that was won or adopted. From now on it is not held, whatever
 * the nodes answer. */
REDLOCK_PRIVATE void release_begin(struct redlock *r, struct redlock_lock *lock);

/* Ends the release if it is decided. */
REDLOCK_PRIVATE void release_judge(struct redlock *r, struct redlock_lock *lock);

/* An answer to RELEASE. */
REDLOCK_PRIVATE void release_answer(struct redlock *r, const struct answer *a);

/* A lock whose validity has ended and that was not released ends now, since its keys would be in
 * the way. */
REDLOCK_PRIVATE void release_retire(struct redlock *r, struct redlock_lock *lock);

#endif
