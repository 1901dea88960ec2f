/* The engine's own books must hold between any two calls, whatever was called and whatever the
 * nodes answered.
 * A wrong book need not break a rule of safety at once. A round that waits for nothing ends by its
 * deadline, and a debt that nobody pays ends with its TTL. Nobody outside would see more than that
 * it takes long.
 *
 * Looks inside the engine, where everything else in this folder knows it by its public header, but
 * uses none of its code. */
#ifndef INVARIANTS_H
#define INVARIANTS_H

#include "../../redlock/redlock.h"

/* Tells whether the engine, in a build for tests, checks its own books at the end of each call
 * (redlock/private.h). It aborts the program then, with words on stderr. A test that falsifies them
 * looks away. */
extern bool invariants_are_watched;

/* The same for one session, and for the engine with all its sessions and some of the locks that it
 * must wake. */
bool session_invariants_hold(const struct redlock *engine, unsigned k, char *text, size_t size);
bool engine_invariants_hold(const struct redlock *engine, char *text, size_t size);

/* True when all of them hold of a lock that the engine knows, or that nobody has used yet. If not,
 * text reports the place and the fault. size > 0 */
bool invariants_hold(const struct redlock *engine, const struct redlock_lock *lock, char *text,
                     size_t size);

#endif
