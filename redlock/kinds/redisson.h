/* A lock that Java services share, like Redisson's RLock (S26). redisson.c describes the work of
 * the nodes. */
#ifndef REDLOCK_KINDS_REDISSON_H
#define REDLOCK_KINDS_REDISSON_H

#include "../kind.h"

/* A subscription hears answers and messages from Redisson's channels. */
enum redisson_heard {
    REDISSON_HEARD_NOTHING,
    REDISSON_HEARD_MESSAGE,
    REDISSON_HEARD_SUBSCRIBED,
    REDISSON_HEARD_UNSUBSCRIBED
};
REDLOCK_PRIVATE enum redisson_heard redisson_read_heard(const struct wire_reply *reply);

/* Appends SUBSCRIBE, or UNSUBSCRIBE, for it. False: it did not fit, and nothing was appended. */
REDLOCK_PRIVATE bool redisson_put_subscription(struct resp_writer *w, bool begins,
                                               const struct redlock_name *name);

/* True if it may have been about that resource's channel. Only the beginning of a long
 * name is compared. */
REDLOCK_PRIVATE bool redisson_is_heard_of(const struct wire_reply *reply, enum redisson_heard heard,
                                          const struct redlock_name *name);

/* Most bytes of a token in Redisson's form of an owner. */
enum { REDISSON_FIELD = 36 + 1 + 10 };

/* Writes that field, without a NUL, and returns its size. */
REDLOCK_PRIVATE size_t redisson_field(const uint8_t token[REDLOCK_TOKEN_SIZE],
                                      char text[REDISSON_FIELD]);

#endif
