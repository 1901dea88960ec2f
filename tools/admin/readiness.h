/* How far the nodes are from another one's restart: what ready.c knows of it, and what a scan for
 * locks calls. */
#ifndef READINESS_H
#define READINESS_H

#include "../redlock/session.h"
#include "judging.h"
#include "scan_order.h"

struct readiness {
    struct session *session;
    const struct judge_limits *limits;
    struct survey *survey;
    uint64_t until;
    char *why;
    /* It concerns the locks, and is found when all had been looked at. */
    bool is_of_locks;
    char first[64];                     /* The first lock that is not everywhere, printable. */
};

/* The time is over, a signal came, or nothing works any longer. */
bool readiness_must_end(const struct readiness *r);

/* For struct scan_order, whose context is a struct readiness: notes the first lock that is not on
 * all nodes. */
void readiness_note(void *context, const struct scan_finding *finding);
bool readiness_goes_on(void *context, const struct scan_counts *so_far);

#endif
