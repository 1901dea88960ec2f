/* Results of a session in words, with advice, and as JSON. Knows no settings,
 * and decides nothing. */
#ifndef REPORT_H
#define REPORT_H

#include <stdio.h>

#include "notes.h"
#include "output.h"

/* How the last operation ended, and which nodes are in trouble; with --quiet not that another holds
 * the lock. With --json an object that has no more than that. */
void report_status(struct session *session, enum redlock_status status);

/* Why nothing could be seen of one of several resources; JSON goes to stdout. */
void report_blind(struct session *session, const char *resource, enum redlock_status status);

/* "acquired for 9.8 s, granted by 5 of 5 nodes so far", and which nodes are in trouble. */
void report_validity(struct session *session, const char *what);

/* By which two people see whether they name the same servers. */
void report_fingerprint(struct session *session);

/* A line about node k. advice may be NULL. */
void report_with_advice(const struct session *session, unsigned k, const char *text,
                        const char *advice);

/* A line for each node that is in trouble: which, what happened, what to do. */
void report_nodes(struct session *session);

/* The same after a release that has been waited for: who has not answered yet is among them. */
void report_unreleased(struct session *session);

/* A line for each node that did not grant the last extension: which, and why. */
void report_loss(struct session *session);

/* A line for each node that is known by now to be the same server as another. */
void report_same_servers(struct session *session);

/* What can be done where node k is in trouble, of which text is the words; or NULL. */
const char *report_advice(const struct session *session, unsigned k, const char *text);

/* The lock is kept without node k's vote: why; and what can be done, or NULL. */
const char *report_why_missing(const struct session *session, unsigned k, const char **advice);
void report_missing_vote(struct session *session, unsigned k);

/* Behind what the caller writes, members with a comma behind each: "quorum":...,"nodes":[...]} and
 * a line feed. */
void report_json_end(FILE *file, struct session *session);

/* Of a node: the vote that counts at an end. One that has not come by then may come to be, so
 * nobody knows it. */
const char *report_vote_name(enum redlock_vote vote);

#endif
