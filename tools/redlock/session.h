/* A client, one lock, and the loop that waits for nodes and signals at once. Knows no command and prints nothing, but for
 * the trace. */
#ifndef SESSION_H
#define SESSION_H

#include "options.h"
#include "trace.h"

enum {
    TROUBLE_TEXT_MAX = 160,
    SESSION_EVENTS = 512            /* Between two steps: of each node those of a few commands, and of a lost connection. */
};

/* What went wrong with a node in the last round. The engine tells a node's trouble as it is now, and forgets it with the next
 * good answer, such as that to the release behind a lost attempt. */
struct session_note {
    enum redlock_trouble trouble;
    bool is_voting;                 /* In trouble for tickets only. */
    bool came_late;                 /* It did not know a script, and said so when the round was over: it had no say. */
    char text[TROUBLE_TEXT_MAX];
};

struct session {
    const struct settings *settings;
    struct redlock_client client;
    struct redlock_lock lock;
    struct redlock_name set[REDLOCK_SET_MAX];   /* What it is about. The library puts them in order. */
    struct trace trace;
    struct redlock_event_ring events;           /* For log and metrics, if there is no trace: they see its own then. */
    struct redlock_event ring[SESSION_EVENTS];
    uint16_t met;                   /* Nodes that have been connected: a set. */
    uint64_t ticket;                /* The last one that was logged: a lock that is released has none. 0: none was. */
    uint32_t noted_round;           /* Of which the notes are. */
    struct session_note notes[REDLOCK_NODES_MAX];
    enum redlock_status fault;      /* Of redlock_step: nothing works any longer. OK: none. */
    int signal;                     /* That asked the program to end, or 0. */
    uint16_t missing;               /* The nodes that did not grant the last extension: a set. See votes.h. */
    bool began_well;                /* A quorum of nodes has voted since it waits for the lock. */
    int watched;                    /* A descriptor that session_wait() looks at as well, until it can be read. -1: none. */
};

/* Opens the client and begins to catch signals. settings->nodes is wiped. The mistake is set for some statuses, as by
 * redlock_open, and for SYSTEM says what was refused. After any status but OK there is nothing to close. */
enum redlock_status session_open(struct session *session, struct settings *settings, struct redlock_mistake *mistake);

/* Waits until something happens, or a signal comes, or until_us, and does what has become possible. */
void session_wait(struct session *session, uint64_t until_us);

/* The same for what no signal interrupts: one that comes is read afterwards. (Nobody reads it here, so it would end each wait.) */
void session_wait_undisturbed(struct session *session, uint64_t until_us);

/* Why the last attempt failed, as redlock_attempt_status has it, with two differences. A lock that is free, but for which too few
 * nodes give a ticket, since a wall clock is wrong, is not TAKEN: there is NO_QUORUM for it. A key that is of another type on too
 * many nodes is TAKEN: somebody's lock of another kind, such as Java's, or at least no lock for us. */
enum redlock_status session_attempt_status(const struct session *session);

/* Does at once what can be done; to be called after each redlock_start_... */
void session_step(struct session *session);

/* Reads the signals that have come; true when one of them asks the program to end: then session->signal is set. */
bool session_must_end(struct session *session);

/* Waits until each node has a vote or is known to have none, for a node timeout at most: for commands that tell of all nodes, or do
 * something on each. */
void session_connect_all(struct session *session);

/* The same, but only a moment longer once a quorum has a vote: for those that act on a lock. */
void session_connect(struct session *session);

/* Waits until the operation under way has ended. A signal that asks to end cancels it: CANCELLED, and session->signal. */
enum redlock_status session_finish(struct session *session);

/* After a verdict: waits a moment for the nodes that have not voted yet, so that the lock is known on as many as can be. */
void session_linger(struct session *session);

/* Gives back what is not held, pays what is owed for up to a node timeout, and closes. */
void session_close(struct session *session);

#endif
