/* May another node be restarted? It may not before the last one votes again, gives tickets, and has
 * every lock that is held. Until then a holder has no more than a quorum, and loses its lock with
 * the next node. */
#ifndef READY_H
#define READY_H

#include "judge.h"

enum { READY_WHY_MAX = 320 };

enum ready {
    READY_YES,
    READY_NOT_YET,      /* It is not so within the time either. */
    READY_NEVER         /* Waiting does not mend it, since an ACL hides the locks. */
};

/* Looks again and again until it is so, for wait_ms at most, and says what it waits for if it is to
 * be verbose. *survey is the last look; why gives the obstacle at that time. The session is one
 * that scan_prepare() was asked for. It ends with a signal, or a fault of the session. */
enum ready ready_wait(struct session *session, const struct judge_limits *limits, uint32_t wait_ms,
                      struct survey *survey, char why[READY_WHY_MAX]);

#endif
