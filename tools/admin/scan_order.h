/* What a scan is asked for, and what it tells while it goes on. */
#ifndef SCAN_ORDER_H
#define SCAN_ORDER_H

#include "classes.h"

enum {
    SCAN_RATE = 10000,          /* Keys a second, unless set. */
    /* A queue is reported if its first has not asked for so long; it asks every 1.7 s. */
    SCAN_IDLE_MS = 2000,
    /* The time between the two looks, unless set. It is longer than any attempt takes. */
    SCAN_APART_MS = 3000,
    SCAN_KEPT_MAX = 16384,      /* Names that wait for their second look. */
    SCAN_TOLD_MAX = 49152,      /* SCAN may give a key twice; so many findings are known again. */
    SCAN_NAME_MAX = 1024        /* A longer name is no lock's. */
};

/* If a resource is on several nodes, each number counts it once. */
struct scan_counts {
    uint64_t classes[SCAN_CLASS_COUNT];     /* The classes that both looks agree on. */
    uint64_t names;             /* Given by SCAN, on all nodes together. */
    uint64_t hidden;            /* Names that a node does not let us read. */
    uint64_t moving;            /* Names whose slot moves, or is another server's. */
    /* Worth a line at the first look, and something else, or gone, at the second. */
    uint64_t changing;
    /* Names that wait for their second look now. When it is over, the names that were looked at
     * only once. */
    uint64_t kept;
    /* Keys beside locks, as "door#ticket", on the node that has most of them; */
    uint64_t beside;
    uint64_t tickets, orphans;  /* counters of tickets, and those of them whose lock is gone; */
    uint64_t long_names;        /* and keys whose name is too long. */
    unsigned nodes, scanned;    /* How many there are; how many were gone through to the end. */
    uint16_t refused;           /* Nodes whose ACL refused something, as a set. */
    /* Nodes that were gone through, as a set. Copies of others are not. */
    uint16_t done;
    /* There were so many findings that some may have been reported twice. */
    bool may_repeat;
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
    /* NULL: only the counts are wanted. */
    void (*found)(void *context, const struct scan_finding *finding);
    /* Called often. False ends it. NULL: it goes on. */
    bool (*goes_on)(void *context, const struct scan_counts *so_far);
};

#endif
