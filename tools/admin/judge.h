/* What is wrong with nodes, by what they say of themselves: the checks. Asks nothing and prints nothing. */
#ifndef JUDGE_H
#define JUDGE_H

#include "judging.h"

/* Those of the settings: before the session is opened, which wipes the list of nodes. */
void judge_limits_init(struct judge_limits *limits, const struct settings *settings);

/* Judges every node by every check, in the order of the nodes; OK is a finding, too. */
void judge(const struct survey *survey, const struct judge_limits *limits, struct findings *findings);

/* "eviction"; what it is about, in a sentence; "ok", "unknown", "warning", "unsafe": static. */
const char *judge_name(unsigned check);
const char *judge_meaning(unsigned check);
const char *severity_name(enum severity severity);

#endif
