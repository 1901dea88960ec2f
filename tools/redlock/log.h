/* The audit trail: a line for each transition of a lock, and none between them; as text, as JSON or
 * to syslog. Its fields have the names that --json has. A log that cannot be written is told once,
 * and never keeps a lock from being kept (S29): for each line the writer opens it, writes, and
 * closes it, so that a file that was moved away is made anew. A line goes out as a whole; or it is
 * dropped, and the next one tells how many were. */
#ifndef LOG_H
#define LOG_H

#include "notes.h"
#include "output.h"

enum log_transition {
    LOG_ACQUIRED,
    LOG_KEPT,           /* keep: it was acquired before, and is extended from now on. */
    LOG_DEGRADED,       /* A node no longer votes for it, */
    LOG_RESTORED,       /* and all of them do again. */
    LOG_RESTARTED,      /* A node has, or another server is there now. */
    LOG_LOST,
    LOG_LEFT,           /* It is extended no longer, and ends with its TTL. */
    LOG_RELEASED
};

/* If a log is wanted. text: why, or what more there is to say; NULL. */
void log_transition(struct session *session, enum log_transition what, const char *text);

/* The same of node k, if it is about one: text is its trouble then. */
void log_node(struct session *session, enum log_transition what, unsigned k, const char *text);

/* The same where there is no session any longer, in the guardian: nobody extends the lock, whose
 * command runs. */
void log_killed(const struct output *output, uint32_t valid_ms);

/* In the writer: a line, in which the number of those that were dropped before it is told
 * at that place. */
void log_deliver(const struct output *output, char *line, size_t size, size_t at, uint32_t dropped);

/* The nodes that have restarted since. To be called after each step. */
void log_restarts(struct session *session);

#endif
