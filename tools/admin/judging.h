/* Findings, and how a check makes one. A check judges one node, whose answers
 * struct judging has. */
#ifndef JUDGING_H
#define JUDGING_H

#include "../redlock/print.h"
#include "clock_log.h"
#include "facts.h"

enum severity {
    SEVERITY_OK,
    SEVERITY_UNKNOWN,   /* It could not be looked at, and that is not well. */
    SEVERITY_WARNING,   /* Nothing is broken by it, but less may fail now; or something will be. */
    /* Two may hold a lock at once by it; or, as it is set up, the node will never have a vote. */
    SEVERITY_UNSAFE
};

enum {
    JUDGE_NO_NODE = 255,
    /* Number 0 is whether the node answers at all. */
    JUDGE_CHECKS = 30,
    /* Findings that are about no single node, at most. */
    JUDGE_ON_ALL = 4,
    JUDGE_FINDINGS_MAX = JUDGE_CHECKS * REDLOCK_NODES_MAX + JUDGE_ON_ALL,
    JUDGE_TEXT_MAX = 256
};

struct finding {
    uint8_t check;                  /* Its number, see judge_name. */
    uint8_t node;                   /* JUDGE_NO_NODE: it is about all of them. */
    enum severity severity;
    bool is_left_out;               /* UNKNOWN, because nobody asked for it. */
    /* UNKNOWN: the rule that an ACL would have to allow, such as "+info". NULL: that is
     * not the reason. */
    const char *needs;
    /* "maxmemory-policy is allkeys-lru: locks can be evicted". A server's words in it
     * are made printable. */
    char text[JUDGE_TEXT_MAX];
    /* "CONFIG SET maxmemory-policy noeviction"; "" where nothing is to be done. */
    char fix[JUDGE_TEXT_MAX];
};

struct findings {
    unsigned count;
    /* Nodes that vote, or have just restarted and will; and have no UNSAFE finding. */
    unsigned safe;
    enum severity worst;            /* The worst of the checks that were not left out. */
    struct finding all[JUDGE_FINDINGS_MAX];
};

/* Values that clients of these nodes count on. */
struct judge_limits {
    uint32_t guard_ms, ttl_ms, drift_ppm, node_timeout_ms, skew_ms;
    /* Nodes that are declared to forget nothing over a restart, whatever the guard, as a set. */
    uint16_t durable;
    /* Nodes that are declared to be the endpoint of a service, as a set. */
    uint16_t managed;
    unsigned parts;                 /* Parts of the kind of lock, see rights.h. */
    bool trusts_unknown;            /* Nodes that refuse INFO have a vote. */
    const struct clock_log *log;    /* Clock readings of an earlier run; NULL: none kept. */
};

struct judging {
    const struct survey *survey;
    const struct judge_limits *limits;
    const struct survey_node *node;     /* NULL: of all. */
    unsigned k, check;
    struct findings *findings;
};

/* ---- What is found ---- */

/* fix: the remedy. */
void found(struct judging *j, enum severity severity, const char *fix, const char *format, ...)
    PRINT_LIKE(4, 5);

/* All is well. */
void well(struct judging *j, const char *format, ...) PRINT_LIKE(2, 3);

/* needs: the rule that an ACL must allow; NULL: it does not hide it. */
void unknown(struct judging *j, const char *needs, const char *format, ...) PRINT_LIKE(3, 4);

/* Notes that nobody asked for it, and why. */
void left_out(struct judging *j, const char *why);

/* Has the node been found unsafe so far? */
bool is_unsafe(const struct findings *findings, unsigned k);

/* Why a fact is not known. */
void hidden(struct judging *j, enum fact fact);

/* ---- What the node told ---- */

/* False or NULL means that it is not known, and that was found. */
bool number_of(struct judging *j, enum fact fact, uint64_t *number);
const char *text_of(struct judging *j, enum fact fact);

/* Is it to remember locks over a restart, instead of waiting until they have ended? Then why, in
 * words; else NULL. */
const char *why_remember(const struct judging *j);

/* Is it declared to be the endpoint of a service? */
bool is_managed(const struct judging *j);

/* Does it have the name that the library gives to a node whose master sentinels name? */
bool is_behind_sentinels(const struct survey_node *node);

/* Does a lock count on this node? It has a vote, even with clients that do not trust a node that
 * says nothing of itself, as the session that asks does; and it lets itself be written to. */
bool judge_vote_of(const struct survey_node *node, const struct judge_limits *limits);

/* Would it, if it were not that it says nothing of itself? */
bool judge_is_nameless(const struct survey_node *node, const struct judge_limits *limits);

#endif
