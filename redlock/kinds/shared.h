/* Shared locks (S21), and locks that have changed their role or are about to (S22). shared.c
 * describes the work of the nodes. */
#ifndef REDLOCK_KINDS_SHARED_H
#define REDLOCK_KINDS_SHARED_H

#include "../kind.h"

/* A reader that has never been a writer has the kind redlock_shared. A node may know any other by
 * either of two tokens. */
enum shared_role {
    SHARED_UPGRADING, SHARED_UPGRADED, SHARED_UNDOING, SHARED_DOWNGRADED, SHARED_ROLES
};
REDLOCK_PRIVATE const struct redlock_kind *shared_kind(enum shared_role role);

/* The lock has that role from now on. */
REDLOCK_PRIVATE void shared_become(struct redlock_lock *lock, enum shared_role role);

/* It has another token from now on. Nodes that have something of it have its old token. */
REDLOCK_PRIVATE void shared_change_token(struct redlock *r, struct redlock_lock *lock,
                                         const uint8_t token[REDLOCK_TOKEN_SIZE]);

#endif
