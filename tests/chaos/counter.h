/* The locks of a chaos run protect a number in a file. It is incremented by reading it, waiting a
 * little, and writing it back one larger. If two do so at a time, one of the increments is lost.
 *
 * The file is locked (flock) while it is read and again while it is written, but never from the one
 * to the other, so it protects no increment. It does make a look at the clock one with the write
 * that follows it, since nobody can read in between. A real resource has the ticket for this, or a
 * late writer could not be told from a broken lock.
 *
 * Files of the same kind hold the ticket of the last writer, see client.c. */
#ifndef COUNTER_H
#define COUNTER_H

#include <stdint.h>

struct counter {
    int fd;
};

/* Opens the file, or makes one that holds 0. fd is -1 on failure, with errno set. */
struct counter counter_open(const char *path);

/* Each waits for those that are inside. */
void counter_enter(struct counter c);
void counter_leave(struct counter c);

/* Only inside. */
uint64_t counter_get(struct counter c);
void counter_set(struct counter c, uint64_t value);

#endif
