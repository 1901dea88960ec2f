/* Optional: shared locks (S21), and the change of a lock's role: a reader that is alone becomes a writer, a writer a reader (S22).
 * See wire.h. */
#ifndef REDLOCK_SHARED_PART_H
#define REDLOCK_SHARED_PART_H

#include "stake.h"

REDLOCK_PRIVATE const struct redlock_sharing *sharing_feature(void);

#endif
