/* The keeper extends a lock that is held, again and again, until it is released, lost, or kept for
 * long enough (S13). Its extension is a round like any other, but quiet. The caller sees no
 * operation under way, and gets a report only if something changes. */
#ifndef REDLOCK_KEEPING_H
#define REDLOCK_KEEPING_H

#include "lock_state.h"

/* The part that keeping adds. */
struct redlock_keeping {
    /* The keeper's next extension, after one that has just begun the lock's validity. */
    void (*schedule)(struct redlock *r, struct redlock_lock *lock);

    /* The lock is held, and its time may have come. */
    void (*tick)(struct redlock *r, struct redlock_lock *lock);

    /* An extension that the keeper began has ended. */
    void (*extended)(struct redlock *r, struct redlock_lock *lock, enum redlock_status status);
};
REDLOCK_PRIVATE const struct redlock_keeping *keeper_feature(void);

/* From now on it is kept, for hold_ms (0: no limit). */
REDLOCK_PRIVATE void keeper_begin(struct redlock *r, struct redlock_lock *lock, uint32_t hold_ms);

#endif
