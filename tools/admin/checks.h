/* The checks: a function for each, which finds something, be it that all is well.
 * checks_*.c have them. */
#ifndef CHECKS_H
#define CHECKS_H

#include "judging.h"

void judge_reach(struct judging *j);
void judge_version(struct judging *j);
void judge_role(struct judging *j);
void judge_mode(struct judging *j);
void judge_same_server(struct judging *j);
void judge_fingerprint(struct judging *j);
void judge_count(struct judging *j);
void judge_eviction(struct judging *j);
void judge_evicted(struct judging *j);
void judge_memory(struct judging *j);
void judge_aof(struct judging *j);
void judge_fsync(struct judging *j);
void judge_rewrite(struct judging *j);
void judge_save(struct judging *j);
void judge_up(struct judging *j);
void judge_clock(struct judging *j);
void judge_rate(struct judging *j);
void judge_step(struct judging *j);
void judge_latency(struct judging *j);
void judge_slow(struct judging *j);
void judge_connections(struct judging *j);
void judge_idle(struct judging *j);
void judge_flushes(struct judging *j);
void judge_access(struct judging *j);
void judge_scripts(struct judging *j);
void judge_ears(struct judging *j);
void judge_loading(struct judging *j);
void judge_certificate(struct judging *j);      /* Nothing, without TLS. */
void judge_canary(struct judging *j);           /* Nothing, unless it is declared durable. */
/* Finds nothing if it has no vote for a reason that is reported. It runs after the
 * checks that report. */
void judge_vote(struct judging *j);

/* Puts the present clock readings into the log, to be compared with at the next look; for a node
 * that does not answer, the earlier ones. The trace of a step stays for an hour, for which the step
 * is found again, since an alert takes its time. */
void judge_note_clocks(const struct survey *survey, const struct judge_limits *limits,
                       struct clock_log *log);

#endif
