/* A session: a client, one lock, and notes on the nodes, since the engine forgets what went wrong in the last round. Reports and
 * log read it; session.h has the loop that drives it. */
#ifndef NOTES_H
#define NOTES_H

#include "../../redlock/redlock_sentinel.h"

#include "news.h"
#include "trace.h"

struct output;
struct settings;

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
    const struct output *output;                /* Of the settings. */
    unsigned rights;                            /* What an ACL must allow: see rights_parts(). */
    bool wants_ticket;                          /* A node that votes and gives none is in trouble. */
    bool began_well;                            /* A quorum of nodes has voted since it waits for the lock. */
    uint16_t missing;                           /* The nodes that did not grant the last extension: a set. See votes.h. */
    enum redlock_status fault;                  /* Of redlock_step: nothing works any longer. OK: none. */
    int signal;                                 /* That asked the program to end, or 0. */
    int watched;                                /* A descriptor that session_wait() watches, too, until it can be read. -1: none. */
    uint32_t noted_round;                       /* Of which the notes are. */
    uint64_t ticket;                            /* The last one that was logged: a lock that is released has none. 0: none was. */
    struct redlock_client client;
    struct redlock_sentinels sentinels;         /* Of the client. */
    struct redlock_lock lock;
    struct redlock_name set[REDLOCK_SET_MAX];   /* What it is about. The library puts them in order. */
    struct trace trace;
    struct redlock_event_ring events;           /* For log and metrics, if there is no trace: they see its own then. */
    struct redlock_event ring[SESSION_EVENTS];
    struct news news;
    struct session_note notes[REDLOCK_NODES_MAX];
};

/* Takes note of the nodes that are in trouble now. To be called after each step. */
void notes_take(struct session *session);

/* Why the last attempt failed, as redlock_attempt_status has it, with two differences. A lock that is free, but for which too few
 * nodes give a ticket, since a wall clock is wrong, is not TAKEN: there is NO_QUORUM for it. A key that is of another type on too
 * many nodes is TAKEN: somebody's lock of another kind, such as Java's, or at least no lock for us. */
enum redlock_status notes_attempt_status(const struct session *session);

#endif
