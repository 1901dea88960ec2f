/* Results in words, with advice, and as JSON. Decides nothing. */
#ifndef REPORT_H
#define REPORT_H

#include <stdio.h>

#include "session.h"

/* The version of what --json prints: a field that is renamed, left out, or means something else makes a new one; one more field,
 * or one more word that a field may have, does not. */
enum { REPORT_JSON_VERSION = 1 };

/* How all that is said from here on is told: with --json as JSON. settings must stay where they are. */
void report_begin(const struct settings *settings);
bool report_is_json(void);

/* One line on stderr, "redlock: ..."; what a server or a user wrote in it is made printable. With --json it is an object with a
 * "note". */
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

/* A process of our own could not be begun. */
void report_system(const struct settings *settings, const char *what, int error);

/* With --json: nothing can be done, since the settings are wrong. */
void report_refusal(const char *text);

/* How a resource's name ends that is the project's own, as "#ticket". NULL: it is nobody else's. */
const char *reserved_end(const char *name);

/* How the last operation ended, and which nodes are in trouble; with --quiet not that another holds the lock. With --json an
 * object that has no more than that. */
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

/* The lock is kept without node k's vote: why; and what can be done, or NULL. */
const char *report_why_missing(const struct session *session, unsigned k, const char **advice);
void report_missing_vote(struct session *session, unsigned k);

/* How each object begins: {"version":...,"command":...,"resource":..., or, of several, "resources":[...], and a comma. NULL: all
 * that the settings name. */
void report_json_head(FILE *file, const struct settings *settings, const char *resource);

/* The same, and "status":...,"code":...,"text":..., with a comma. text NULL: the status's own. */
void report_json_begin(FILE *file, const struct settings *settings, const char *resource, enum redlock_status status,
                       const char *text);

/* The same of a resource of any bytes that was found, with OK. */
void report_json_begin_bytes(FILE *file, const struct settings *settings, const void *resource, size_t size, const char *text);

/* Behind what the caller writes, members with a comma behind each: "quorum":...,"nodes":[...]} and a line feed. */
void report_json_end(FILE *file, struct session *session);

/* Of a node: the vote that counts at an end. One that has not come by then may come to be, so nobody knows it. */
const char *report_vote_name(enum redlock_vote vote);

#endif
