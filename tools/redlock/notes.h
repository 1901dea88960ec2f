/* A session: a client, one lock, and notes on the nodes, since the engine forgets what went wrong
 * in the last round. Reports and log read it; session.h has the loop that drives it. */
#ifndef NOTES_H
#define NOTES_H

#include "../../redlock/redlock_sentinel.h"

#include "news.h"
#include "trace.h"

struct output;
struct settings;

enum {
    TROUBLE_TEXT_MAX = 160,
    /* Between two steps: of each node those of a few commands, and of a lost connection. */
    SESSION_EVENTS = 512
};

/* What went wrong with a node in the last round. The engine tells a node's trouble as it is now,
 * and forgets it with the next good answer, such as that to the release behind a lost attempt. */
struct session_note {
    enum redlock_trouble trouble;
    bool is_voting;                 /* In trouble for tickets only. */
    bool lacks_scripts;             /* It runs none, and the lock needs them. */
    /* It did not know a script, and said so when the round was over: it had no say. */
    bool came_late;
    char text[TROUBLE_TEXT_MAX];
};

struct session {
    const struct settings *settings;
    const struct output *output;                /* Of the settings. */
    unsigned rights;                            /* What an ACL must allow: see rights_parts(). */
    /* A node that votes and gives none is in trouble. */
    bool wants_ticket;
    /* A quorum of nodes has voted since it waits for the lock. */
    bool began_well;
    /* The nodes that did not grant the last extension: a set. See votes.h. */
    uint16_t missing;
    /* Of redlock_step: nothing works any longer. OK: none. */
    enum redlock_status fault;
    int signal;                                 /* That asked the program to end, or 0. */
    /* A descriptor that session_wait() watches, too, until it can be read. -1: none. */
    int watched;
    uint32_t noted_round;                       /* Of which the notes are. */
    /* The last one that was logged: a lock that is released has none. 0: none was. */
    uint64_t ticket;
    struct redlock_client client;
    struct redlock_sentinels sentinels;         /* Of the client. */
    struct redlock_lock lock;
    /* What it is about. The library puts them in order. */
    struct redlock_name set[REDLOCK_SET_MAX];
    struct trace trace;
    /* For log and metrics, if there is no trace: they see its own then. */
    struct redlock_event_ring events;
    struct redlock_event ring[SESSION_EVENTS];
    struct news news;
    struct session_note notes[REDLOCK_NODES_MAX];
};

/* Takes note of the nodes that are in trouble now. To be called after each step. */
void notes_take(struct session *session);

/* Why the last attempt failed, as redlock_attempt_status has it, with two differences. A lock that
 * is free, but for which too few nodes give a ticket, since a wall clock is wrong, is not TAKEN:
 * there is NO_QUORUM for it. A key that is of another type on too many nodes is TAKEN: somebody's
 * lock of another kind, such as Java's, or at least no lock for us. */
enum redlock_status notes_attempt_status(const struct session *session);

/* By how many ms our wall clock is ahead of that of a node which has told its own, in seconds,
 * behind the last colon. Without one 0. */
int64_t notes_ahead_ms(const char *words);

#endif
