/* What all nodes know of a lock, looked at together, and what it amounts to. Reads only,
 * and prints nothing. */
#ifndef VIEW_H
#define VIEW_H

#include "held.h"
#include "readers.h"

enum verdict {
    VERDICT_FREE,           /* On a quorum of nodes. */
    VERDICT_HELD,           /* By one and the same value on a quorum. */
    /* By a key that is no string on a quorum: a lock of another kind, or none. */
    VERDICT_OTHER_TYPE,
    /* None of these, though a quorum answered: clients are at it, or some nodes lost it. */
    VERDICT_SPLIT,
    VERDICT_NO_QUORUM       /* Of answers. */
};

struct view {
    struct session *session;
    const char *resource;
    unsigned count, quorum;
    unsigned voters;        /* Nodes that have a vote now, */
    unsigned givers;        /* of these, if a ticket is wanted, those that give one, */
    unsigned grantors;      /* and of these those where it is free. */
    /* Nodes whose refusal is noted, whatever their trouble is now: a set. */
    uint16_t refused;
    /* Nodes that answer, but let nobody write: a set. Their refusals are noted, too. */
    uint16_t barred;
    enum verdict verdict;
    unsigned agreeing;      /* On how many nodes the verdict is true. */
    unsigned holder;        /* VERDICT_HELD: one of them. */
    bool has_end;           /* VERDICT_HELD: it ends by itself, */
    uint32_t ends_in_ms;    /* as then fewer than a quorum have it. */
    bool is_shared;         /* VERDICT_HELD: by those */
    struct readers readers; /* of whom nodes tell. */
    struct held held;       /* VERDICT_HELD: what is known of the holder. */
    struct redlock_sight sights[REDLOCK_NODES_MAX];
};

/* Each is a lock of its own, "RESOURCE:1" and so on. */
struct permits {
    struct view views[REDLOCK_PERMITS_MAX];
    char names[REDLOCK_PERMITS_MAX][REDLOCK_RESOURCE_MAX + 4];
    unsigned count, taken, known;
};

/* "free", "held", ... */
const char *view_verdict_name(const struct view *view);

/* Looks at a resource, which must stay where it is. Any status but OK: nothing is known. */
enum redlock_status view_look(struct view *view, struct session *session, const char *resource);

/* What an attempt to acquire it would come to now. */
enum redlock_status view_status(const struct view *view);

bool view_may_vote(const struct view *view, unsigned k);

/* What is wrong with a node, or NULL. That its key is of another type the sight says. */
const char *view_trouble(const struct view *view, unsigned k);

/* Do both nodes have the same value? */
bool view_is_same(const struct view *view, unsigned k, unsigned j);

/* Of a value so many bytes are known. */
size_t sight_kept(const struct redlock_sight *sight);

/* The same of its permits: of as many as the settings say. */
enum redlock_status permits_look(struct permits *permits, struct session *session,
                                 const char *resource);

/* OK: one is free, and a quorum can grant it. */
enum redlock_status permits_status(const struct permits *permits);

#endif
