/* Looks through all keys of the nodes for locks, and for leftovers of some. It reads only.
 *
 * It goes from node to node. Each step of SCAN gives some names, and all nodes are asked about them one
 * right after the other, so that their answers can be compared. A name is judged at the first node that
 * has it, and its state is forgotten at once. Only names that may need somebody are kept, with the hash
 * of their state, until they are looked at again. SCAN_KEPT_MAX of these fit, and if there is no room
 * it waits until the oldest is due. The memory is therefore the same for a thousand keys and for a
 * million, and nothing is dropped. */
#ifndef SCAN_H
#define SCAN_H

#include "../redlock/session.h"
#include "classes.h"

enum {
    SCAN_RATE = 10000,          /* Keys a second, unless set. */
    SCAN_IDLE_MS = 2000,        /* A queue is reported if its first has not asked for so long; it asks every 1.7 s. */
    SCAN_APART_MS = 3000,       /* The time between the two looks, unless set. It is longer than any attempt takes. */
    SCAN_KEPT_MAX = 16384,      /* Names that wait for their second look. */
    SCAN_TOLD_MAX = 49152,      /* SCAN may give a key twice; so many findings are known again. */
    SCAN_NAME_MAX = 1024        /* A longer name is no lock's. */
};

/* If a resource is on several nodes, each number counts it once. */
struct scan_counts {
    uint64_t classes[SCAN_CLASS_COUNT];     /* The classes that both looks agree on. */
    uint64_t names;             /* Given by SCAN, on all nodes together. */
    uint64_t hidden;            /* Names that a node does not let us read. */
    uint64_t changing;          /* Worth a line at the first look, and something else, or gone, at the second. */
    uint64_t kept;              /* Names that wait for their second look now. When it is over, the names
                                 * that were looked at only once. */
    uint64_t beside;            /* Keys beside locks, as "door#ticket", on the node that has most of them; */
    uint64_t tickets, orphans;  /* counters of tickets, and those of them whose lock is gone; */
    uint64_t long_names;        /* and keys whose name is too long. */
    unsigned nodes, scanned;    /* How many there are; how many were gone through to the end. */
    uint16_t refused;           /* Nodes whose ACL refused something, as a set. */
    uint16_t done;              /* Nodes that were gone through, as a set. Copies of others are not. */
    bool may_repeat;            /* There were so many findings that some may have been reported twice. */
};

struct scan_finding {
    const uint8_t *name;        /* Any bytes. */
    size_t name_size;
    const struct scan_sight *sights;    /* The sight of each node. */
    const struct scan_judgement *judgement;
};

struct scan_order {
    const char *pattern;        /* The pattern of SCAN's MATCH; NULL: all keys. */
    uint32_t rate;              /* Keys a second; 0: as fast as it goes. */
    uint32_t apart_ms;
    uint32_t guard_ms;          /* 0: TTLs may be as long as they like. */
    bool looks_once;            /* Each name is judged by one look, and reported whatever it is. */
    void *context;              /* The context of both. */
    void (*found)(void *context, const struct scan_finding *finding);           /* NULL: only the counts are wanted. */
    bool (*goes_on)(void *context, const struct scan_counts *so_far);           /* Called often. False ends it. NULL: it goes on. */
};

/* Call it before the session is opened. It gives it larger buffers, or scan_nodes() says BAD_CONFIG. Waiting clients
 * cannot be woken by way of such a session, nor are releases heard, since it has one connection to each node. */
void scan_prepare(struct settings *settings);

/* Connects if need be, and goes through all nodes that have a say. OK; NO_QUORUM: too few of them could be gone through; CANCELLED:
 * a signal or goes_on ended it; or session->fault. *counts is right as far as it went. Why a node has no say, or was not gone
 * through, stands in the session's notes. The memory that it uses is static, so there can be one at a time. */
enum redlock_status scan_nodes(struct session *session, const struct scan_order *order, struct scan_counts *counts);

#endif
