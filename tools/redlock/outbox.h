/* All that is told, on its way out. Where a lock is held or waited for no word may block (S29): so
 * it goes to a process of its own, see writer.h, as far as there is room, and what finds none is
 * counted and told later. Elsewhere it is written at once. */
#ifndef OUTBOX_H
#define OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum outlet { OUTLET_STDERR, OUTLET_LOG, OUTLET_METRICS, OUTLET_COUNT };

enum { OUTBOX_PIECE_MAX = 64 * 1024 };

/* What goes through the socket, as a whole or not at all. */
struct outbox_head {
    uint32_t outlet, dropped;   /* dropped: so many pieces for it before this one. */
    /* A number between the two ends: where in a line the log tells what was dropped, ... */
    uint32_t mark;
};

/* From here on all goes to the process at the other end of *reader. False: errno says why. */
bool outbox_open(int *reader);

/* From here on it is written at once again. */
void outbox_leave(void);

/* In that process: from here on write() gets it. */
void outbox_write_by(void (*write)(const char *bytes, size_t size));

/* Where a piece can be composed: one at a time. */
FILE *outbox_compose(void);

/* What has been composed goes on its way; false: there was no room. */
bool outbox_send(enum outlet outlet, uint32_t mark);

/* The same of bytes. */
bool outbox_put(enum outlet outlet, const void *bytes, size_t size, uint32_t mark);

/* Is no lock held or waited for here? Then messages are written at once if the other process was
 * killed, for which they may wait. */
void outbox_may_wait(bool may);

/* Have all processes at the other end of this one ended? */
bool outbox_is_over(int end);

/* Nothing comes any more. Waits until all of it is written, or until_us. True: the process at the
 * other end has ended. */
bool outbox_close(uint64_t until_us);

#endif
