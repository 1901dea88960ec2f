/* A few digits by which two people see whether they name the same servers: their lists may be in
 * another order, and by other names. Nobody else can notice that they do not (S1). */
#ifndef FINGERPRINT_H
#define FINGERPRINT_H

#include "../../redlock/redlock_client.h"

enum { FINGERPRINT_TEXT = 8 };      /* Hex digits. */

struct fingerprint {
    char text[FINGERPRINT_TEXT + 1];
    /* Of so many nodes it stands: those that have said which server they are. */
    unsigned known;
    unsigned count;     /* Nodes. Only where all are known it can be compared. */
};

/* Made of the number of nodes and the run_ids known by now, in whatever order. A server has another
 * one after a restart. */
struct fingerprint fingerprint_take(struct redlock_client *client);

/* "fingerprint of the nodes: 1a2b3c4d (5 of 5)"; of fewer, that the others are missing; of 0, none:
 * nothing has no print. Returns text. */
enum { FINGERPRINT_WORDS_MAX = 128 };
const char *fingerprint_describe(const struct fingerprint *fingerprint,
                                 char text[FINGERPRINT_WORDS_MAX]);

#endif
