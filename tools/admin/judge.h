/* The checks of nodes, by the nodes' reports about themselves. Asks nothing and prints nothing. */
#ifndef JUDGE_H
#define JUDGE_H

#include "judging.h"

/* Takes them from the settings. Call it before the session is opened, which wipes the
 * list of nodes. */
void judge_limits_init(struct judge_limits *limits, const struct settings *settings);

/* Judges every node by every check, in the order of the nodes; OK is a finding, too. */
void judge(const struct survey *survey, const struct judge_limits *limits,
           struct findings *findings);

/* "eviction"; its subject, in a sentence; "ok", "unknown", "warning", "unsafe". All are static. */
const char *judge_name(unsigned check);
const char *judge_meaning(unsigned check);
const char *severity_name(enum severity severity);

#endif
