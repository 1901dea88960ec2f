/* The faults of a chaos run, and when each begins and ends. */
#ifndef FAULTS_H
#define FAULTS_H

#include "world.h"

/* Name, whether it needs links, and its description. */
#define FAULTS(X) \
    X(SERVER_EMPTIED, false, "server killed, restarted empty") \
    X(SERVER_KILLED, false, "server killed, restarted with its AOF") \
    X(MAJORITY_EMPTIED, false, "majority of the servers killed in turn, restarted empty") \
    X(SERVER_STOPPED, false, "server stopped by SIGSTOP, and continued") \
    X(LINK_CUT, true, "link cut in both directions") \
    X(LINK_DEAF, true, "link cut in one direction") \
    X(LINK_SLOW, true, "link delayed") \
    X(LINK_LOSSY, true, "link losing packets") \
    X(HOUSE_SLOW, true, "all links of half of the clients delayed") \
    X(SCRIPT_FLUSH, false, "SCRIPT FLUSH") \
    X(CLIENT_KILL, false, "CLIENT KILL of all connections of a server") \
    X(MEMBER_KILLED, false, "client process killed and replaced") \
    X(MEMBER_STOPPED, false, "client process stopped for longer than its TTL")

enum fault {
#define FAULT_ENUM(name, needs_links, words) FAULT_##name,
    FAULTS(FAULT_ENUM)
#undef FAULT_ENUM
    FAULT_COUNT
};

/* A node's present fault; it has one at a time. */
struct trouble {
    bool suffers;
    enum fault fault;
    uint64_t heals_at;
    uint64_t well_at;       /* After a restart it has no vote until the guard is over. */
};

struct faults {
    struct world *world;
    uint64_t next_at;
    uint64_t majority_at;       /* Not before, the majority forgets once more. */
    unsigned counts[FAULT_COUNT];
    struct trouble troubles[NODES];
    uint64_t fine_at[HOUSES];   /* 0: it is not slow. */
    uint64_t wakes_at[CREW];    /* 0: not stopped. */
};

/* Notes which classes of faults this world can have. */
void faults_begin(struct faults *f, struct world *w);

/* Ends faults that are over and begins those that are due. Call it every few milliseconds. */
void faults_step(struct faults *f);

/* Ends all that is under way. */
void faults_end(struct faults *f);

#endif
