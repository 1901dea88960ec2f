/* A lock that Java services share, as Redisson's RLock has it (S26). redisson.c says what the nodes do. */
#ifndef REDLOCK_KINDS_REDISSON_H
#define REDLOCK_KINDS_REDISSON_H

#include "../kind.h"

/* What a subscription hears of Redisson's channels: an answer, or a message. */
enum redisson_heard { REDISSON_HEARD_NOTHING, REDISSON_HEARD_MESSAGE, REDISSON_HEARD_SUBSCRIBED, REDISSON_HEARD_UNSUBSCRIBED };
REDLOCK_PRIVATE enum redisson_heard redisson_read_heard(const struct wire_reply *reply);

/* Appends SUBSCRIBE, or UNSUBSCRIBE, for it; whole or not at all: then false. */
REDLOCK_PRIVATE bool redisson_put_subscription(struct resp_writer *w, bool begins, const struct redlock_name *name);

/* May it have been about that resource's channel? Of a long name only the beginning is compared. */
REDLOCK_PRIVATE bool redisson_is_heard_of(const struct wire_reply *reply, enum redisson_heard heard,
                                          const struct redlock_name *name);

enum { REDISSON_FIELD = 36 + 1 + 10 };      /* Bytes of a token as Redisson writes to whom a lock belongs, at most. */

/* That field, without a NUL; its size. */
REDLOCK_PRIVATE size_t redisson_field(const uint8_t token[REDLOCK_TOKEN_SIZE], char text[REDISSON_FIELD]);

#endif
