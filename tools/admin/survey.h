/* Each node's report about itself, asked of all nodes at once, and read into facts. Judges nothing
 * (see judge.h).
 *
 *     static struct survey survey;                    It is large.
 *     survey_nodes(session, &wishes, &survey);        Asks; it takes some 25 round trips, and 2 s
 *                                                     more with wishes.rate.
 *     survey.nodes[k].told[FACT_USED_MEMORY]          "1048576", or "" if it was not told: then
 *                                                     survey_asked() says why.
 *
 * It needs no vote of the nodes, and writes nothing. Let the engine trust nodes that refuse INFO
 * (config.trust_unknown), or those cannot be asked anything. */
#ifndef SURVEY_H
#define SURVEY_H

#include "../redlock/session.h"
#include "facts.h"

/* The things to look at beside the facts. */
struct survey_wishes {
    uint32_t patience_ms;       /* How long one answer is waited for. */
    uint64_t rate_us;           /* A second look at each clock so long after the first. 0: none. */
    /* The user whose permissions are looked at. NULL: the asking user's. */
    const char *user;
    const char *key;            /* The key to look at. NULL: permissions are not looked at. */
    const char *channel;        /* The channel to look at. */
    unsigned parts;             /* Parts of the kind of lock, see rights.h. */
    /* A key for asking whether the node can be written to; nothing is written. */
    const char *probe;
    uint16_t durable;           /* Nodes whose canary is looked for, as a set. */
    /* Nodes that are asked, if there are several, of which cluster they are. */
    uint16_t managed;
};
#define SURVEY_PROBE "redlock:doctor:0"

/* Asks all nodes. CANCELLED: a signal ended it, and the answers to unasked questions are not known;
 * or the session's fault. */
enum redlock_status survey_nodes(struct session *session, const struct survey_wishes *wishes,
                                 struct survey *survey);

/* Takes one TIME into a look at a clock. It was asked at, and answered at now_us. False: the answer
 * is none. */
bool survey_take_time(struct survey_clock *clock, struct redlock_question *question,
                      uint64_t asked_at, uint64_t now_us);

#endif
