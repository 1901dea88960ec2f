/* Breadth first through all worlds that can be reached, so that the first breach found has the
 * shortest schedule. */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include "world.h"

#include <stddef.h>

struct limits {
    size_t memory;              /* Bytes for all that the search keeps. */
    unsigned seconds;           /* Limit of processor time. */
    unsigned depth;
    bool talks;                 /* Prints a line for each layer. */
    /* Checks the digest itself. Each world is expanded even if another one had its digest. Slow. */
    bool compares;
};

enum outcome {
    /* Every world within the bounds was seen, and nothing was broken. */
    OUTCOME_EXHAUSTED,
    OUTCOME_BREACH,             /* Its schedule has been printed. */
    OUTCOME_LIMITED             /* Nothing was broken as far as was seen, but a limit was met. */
};

struct figures {
    uint64_t states, transitions;   /* States: those expanded. */
    unsigned calm;              /* The most ticks of calm until a client that asked has held. */
    unsigned depth;             /* Events to the deepest state that was seen, or to the breach. */
    size_t memory;              /* At its most. */
    double seconds;
    const char *limit;          /* The limit that was met; NULL: none. */
    const char *breach;
};

enum outcome search(const struct bounds *bounds, const struct limits *limits,
                    struct figures *figures);

#endif
