/* Reads the commands of an engine back from their words. All tests share this decoder, which uses
 * the table of redlock/wire.c and lists it. The model server knows what a command does, and the
 * test knows whether it was right to send it. */
#ifndef DECODER_H
#define DECODER_H

#include "../../redlock/wire.h"

/* All rows of the table. Two of them are one script, which may be called with an argument more. */
enum row {
    ROW_SET,
    ROW_ACQUIRE,
    ROW_RESTORE,
    ROW_EXTEND,
    ROW_EXTEND_ONE,
    ROW_RELEASE,
    ROW_WAKE,
    ROW_RELEASE_ONE,
    ROW_PTTL,
    ROW_GETRANGE,
    ROW_PERMIT_ACQUIRE,
    ROW_PERMIT_RESTORE,
    ROW_PERMIT_EXTEND,
    ROW_PERMIT_RELEASE,
    ROW_PERMIT_WAKE,
    ROW_PERMIT_WAIT,
    ROW_SHARED_ACQUIRE,
    ROW_SHARED_RESTORE,
    ROW_SHARED_EXTEND,
    ROW_SHARED_ROLE,
    ROW_SHARED_RELEASE,
    ROW_SHARED_WAKE,
    ROW_SHARED_RELEASE_BOTH,
    ROW_SHARED_WAKE_BOTH,
    ROW_WAIT,
    ROW_FAIR_ACQUIRE,
    ROW_FAIR_RESTORE,
    ROW_FAIR_EXTEND,
    ROW_FAIR_RELEASE,
    ROW_FAIR_WAKE,
    ROW_REDISSON_ACQUIRE,
    ROW_REDISSON_EXTEND,
    ROW_REDISSON_RELEASE,
    ROW_COUNT
};

/* Their names, their purposes, whether they take several resources; and the row itself. */
struct listed_row {
    const char *name;
    enum redlock_command command;
    bool takes_sets;
    const struct wire_row *row;
};
struct listed_row row_at(enum row number);

/* The row of a command, found by the server's name for it, or by the SHA-1 or the text of a script.
 * The first of those that have it. ROW_COUNT: none. */
enum row row_by_name(enum redlock_form form, const void *name, size_t size);

#endif
