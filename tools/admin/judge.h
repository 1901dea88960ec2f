/* The checks of nodes, by the nodes' reports about themselves. Asks nothing and prints nothing. */
#ifndef JUDGE_H
#define JUDGE_H

#include "clock_log.h"
#include "survey.h"

enum severity {
    SEVERITY_OK,
    SEVERITY_UNKNOWN,   /* It could not be looked at, and that is not well. */
    SEVERITY_WARNING,   /* Nothing is broken by it, but less may fail now; or something will be. */
    SEVERITY_UNSAFE     /* Two may hold a lock at once by it; or, as it is set up, the node will never have a vote. */
};

enum {
    JUDGE_NO_NODE = 255,
    JUDGE_CHECKS = 30,                              /* Number 0 is whether the node answers at all. */
    JUDGE_ON_ALL = 4,                               /* Findings that are about no single node, at most. */
    JUDGE_FINDINGS_MAX = JUDGE_CHECKS * REDLOCK_NODES_MAX + JUDGE_ON_ALL,
    JUDGE_TEXT_MAX = 256
};

struct finding {
    uint8_t check;                  /* Its number, see judge_name. */
    uint8_t node;                   /* JUDGE_NO_NODE: it is about all of them. */
    enum severity severity;
    bool is_left_out;               /* UNKNOWN, because nobody asked for it. */
    const char *needs;              /* UNKNOWN: the rule that an ACL would have to allow, such as "+info".
                                     * NULL: that is not the reason. */
    char text[JUDGE_TEXT_MAX];      /* "maxmemory-policy is allkeys-lru: locks can be evicted". A server's
                                     * words in it are made printable. */
    char fix[JUDGE_TEXT_MAX];       /* "CONFIG SET maxmemory-policy noeviction"; "" where nothing is to be done. */
};

struct findings {
    unsigned count;
    unsigned safe;                  /* Nodes that vote, or have just restarted and will; and have no UNSAFE finding. */
    enum severity worst;            /* The worst of the checks that were not left out. */
    struct finding all[JUDGE_FINDINGS_MAX];
};

/* Values that clients of these nodes count on. */
struct judge_limits {
    uint32_t guard_ms, ttl_ms, drift_ppm, node_timeout_ms, skew_ms;
    uint16_t durable;               /* Nodes that are declared to forget nothing over a restart, whatever
                                     * the guard, as a set. */
    unsigned parts;                 /* Parts of the kind of lock, see rights.h. */
    bool trusts_unknown;            /* Nodes that refuse INFO or ROLE have a vote. */
    const struct clock_log *log;    /* Clock readings of an earlier run; NULL: none kept. */
};

/* Takes them from the settings. Call it before the session is opened, which wipes the list of nodes. */
void judge_limits_init(struct judge_limits *limits, const struct settings *settings);

/* Judges every node by every check, in the order of the nodes; OK is a finding, too. */
void judge(const struct survey *survey, const struct judge_limits *limits, struct findings *findings);

/* Puts the present clock readings into the log, to be compared with at the next look; for a node that
 * does not answer, the earlier ones. The trace of a step stays for an hour, for which the step is found
 * again, since an alert takes its time. */
void judge_note_clocks(const struct survey *survey, const struct judge_limits *limits, struct clock_log *log);

/* Does a lock count on this node? It has a vote, even with clients that do not trust a node that says
 * nothing of itself, as the session that asks does; and it lets itself be written to. */
bool judge_vote_of(const struct survey_node *node, const struct judge_limits *limits);

/* Would it, if it were not that it says nothing of itself? */
bool judge_is_nameless(const struct survey_node *node, const struct judge_limits *limits);

/* "eviction"; its subject, in a sentence; "ok", "unknown", "warning", "unsafe". All are static. */
const char *judge_name(unsigned check);
const char *judge_meaning(unsigned check);
const char *severity_name(enum severity severity);

#endif
