/* The loop that waits for nodes and signals at once. Knows no command and prints nothing, but for
 * the trace. */
#ifndef SESSION_H
#define SESSION_H

#include "notes.h"
#include "settings.h"

/* Opens the client and begins to catch signals. The mistake is as by redlock_open, and for SYSTEM
 * says what was refused. After any status but OK there is nothing to close. */
enum redlock_status session_open(struct session *session, struct settings *settings,
                                 struct redlock_mistake *mistake);

/* OK: the first of its names may be that of a lock on these nodes. To be called while the session
 * has no lock. */
enum redlock_status session_check_name(struct session *session);

/* Waits until something happens, or a signal comes, or until_us, and does what
 * has become possible. */
void session_wait(struct session *session, uint64_t until_us);

/* The same for what no signal interrupts: one that comes is read afterwards. (Nobody reads it here,
 * so it would end each wait.) */
void session_wait_undisturbed(struct session *session, uint64_t until_us);

/* Does at once what can be done; to be called after each redlock_start_... */
void session_step(struct session *session);

/* Reads the signals that have come; true when one of them asks the program to end: then
 * session->signal is set. */
bool session_must_end(struct session *session);

/* Waits until each node has a vote or is known to have none, for a node timeout at most: for
 * commands that tell of all nodes, or do something on each. */
void session_connect_all(struct session *session);

/* The same, but only a moment longer once a quorum has a vote: for those that act on a lock. */
void session_connect(struct session *session);

/* Waits until the operation under way has ended. A signal that asks to end cancels it: CANCELLED,
 * and session->signal. */
enum redlock_status session_finish(struct session *session);

/* After a verdict: waits a moment for the nodes that have not voted yet, so that the lock is known
 * on as many as can be. */
void session_linger(struct session *session);

/* Gives back what is not held, pays what is owed for up to a node timeout, and closes. */
void session_close(struct session *session);

#endif
