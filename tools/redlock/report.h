/* Results in words, with advice, and as JSON. Decides nothing. */
#ifndef REPORT_H
#define REPORT_H

#include <stdio.h>

#include "session.h"

/* One line on stderr, "redlock: ..."; what a server or a user wrote in it is made printable. */
void say(const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 1, 2)))
#endif
    ;

/* Writes out what was printed on stdout. False: that was not possible, which is said: what, and why. */
bool report_written(const char *what);

/* "OK", "TAKEN", ... */
const char *status_name(enum redlock_status status);

/* The client could not be opened: which entry of the list is wrong, and how. */
void report_mistake(const struct settings *settings, enum redlock_status status, const struct redlock_mistake *mistake);

/* With --json: nothing can be done, since the settings are wrong. */
void report_refusal(const struct settings *settings, const char *text);

/* How a resource's name ends that is the project's own, as "#ticket". NULL: it is nobody else's. */
const char *reserved_end(const char *name);

/* How the last operation ended, and which nodes are in trouble; with --quiet not that another holds the lock. */
void report_status(struct session *session, enum redlock_status status);

/* "acquired for 9.8 s, granted by 5 of 5 nodes so far", and which nodes are in trouble. */
void report_validity(struct session *session, const char *what);

/* By which two people see whether they name the same servers. */
void report_fingerprint(struct session *session);

/* A line for each node that is in trouble: which, what happened, what to do. */
void report_nodes(struct session *session);

/* The same after a release that has been waited for: who has not answered yet is among them. */
void report_unreleased(struct session *session);

/* A line for each node that did not grant the last extension: which, and why. */
void report_loss(struct session *session);

/* A line for each node that is known by now to be the same server as another. */
void report_same_servers(struct session *session);

/* The lock is kept without node k's vote: why, and what to do. */
void report_missing_vote(struct session *session, unsigned k);

/* {"resource":...,"status":...,"code":...,"text":..., and behind what the caller writes, members with a comma behind each,
 * "quorum":...,"nodes":[...]} and a line feed. */
void report_json_begin(FILE *file, const struct session *session, enum redlock_status status);
void report_json_end(FILE *file, struct session *session);

#endif
