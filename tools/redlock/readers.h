/* Which clients share a lock, as far as nodes tell, and whether one waits to have it alone. */
#ifndef READERS_H
#define READERS_H

#include "session.h"

enum { READERS_SHOWN_MAX = 16 };

struct reader {
    /* Its token, and behind a blank its name if it gave one. */
    char value[REDLOCK_VALUE_TEXT + 1];
    uint32_t ends_in_ms;                    /* The longest that a node keeps it for. */
    unsigned nodes;                         /* On so many of them. */
};

struct readers {
    unsigned count;
    bool are_more;                  /* A node has more of them than it was asked to tell. */
    bool has_writer;                /* One waits to have it alone: */
    uint64_t writer_wall_us;        /* since then, by its wall clock. */
    unsigned answers;               /* Nodes that told. */
    /* Those on a quorum of nodes: the others are attempts, or what is left of them. */
    struct reader readers[READERS_SHOWN_MAX];
};

/* Is this what nodes store in place of a token while a lock is shared? */
bool is_shared_marker(const struct redlock_sight *sight);

/* Asks all nodes, for a node timeout at most. */
void readers_look(struct readers *readers, struct session *session, const char *resource);

#endif
