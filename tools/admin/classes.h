/* The keys of one name, on all nodes, amount to a held lock, to leftovers of one, or to something
 * that needs somebody. A pure function over the nodes' answers. Knows no connection. */
#ifndef CLASSES_H
#define CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../redlock/redlock.h"

/* A resource may be of several classes, such as held and degraded. The gravest stand first. A name
 * is used for a metric's label and in JSON; words are for people. Levels: counted only; worth a
 * line; needs somebody. */
#define SCAN_CLASSES(X) \
    X(NO_TTL, "no_ttl", NEEDED, "has no TTL: it does not end by itself") \
    X(BESIDE_NO_TTL, "beside_no_ttl", NEEDED, "a key beside a lock has no TTL") \
    X(IN_THE_WAY, "in_the_way", NEEDED, "other data has the name of a lock") \
    X(SPLIT, "split", NEEDED, "split: clients hold it on some nodes each, and nobody on a quorum") \
    X(SHARED_ODD, "shared_odd", NEEDED, \
      "shared, but its readers and its mark do not fit together") \
    X(TTL_OVER_GUARD, "ttl_over_guard", NEEDED, "its TTL is longer than the guard") \
    X(MAYBE_HELD, "maybe_held", TOLD, \
      "may be held: the nodes that cannot tell could make it a quorum") \
    X(LEFTOVER, "leftover", TOLD, "left over: nobody holds it, and it ends by itself") \
    X(DEGRADED, "degraded", TOLD, "held, but not on all nodes") \
    X(TTL_UNLIKE, "ttl_unlike", TOLD, "its TTL differs from node to node") \
    X(QUEUE_IDLE, "queue_idle", TOLD, \
      "the first of this queue no longer asks, and has its place until its lease ends") \
    X(HELD, "held", COUNTED, "held") \
    X(SHARED, "shared", COUNTED, "shared") \
    X(REDISSON, "redisson", COUNTED, "a lock of Redisson's") \
    X(DATA, "data", COUNTED, "no lock")

enum scan_class {
#define SCAN_CLASS(name, label, level, words) SCAN_##name,
    SCAN_CLASSES(SCAN_CLASS)
#undef SCAN_CLASS
    SCAN_CLASS_COUNT
};

enum scan_level { SCAN_COUNTED, SCAN_TOLD, SCAN_NEEDED };

/* Bytes of a value; a longer one is no lock's. */
enum { SCAN_VALUE_KEPT = REDLOCK_VALUE_TEXT + 1 };

enum scan_type {
    SIGHT_UNKNOWN,      /* The node did not answer, or its answer does not count. */
    /* It has no such key; but it has restarted within the guard, and may have had one. */
    SIGHT_FORGOTTEN,
    SIGHT_ABSENT,
    SIGHT_STRING,
    /* The mark of a shared lock, with its readers beside it; expired ones do not count. */
    SIGHT_SHARED,
    SIGHT_REDISSON,     /* A hash such as Redisson's locks are. */
    SIGHT_QUEUE,        /* The mark of a fair lock, beside it. */
    SIGHT_OTHER         /* A key of another type. */
};

/* One node's keys under a name. */
struct scan_sight {
    enum scan_type type;
    /* There is a counter of tickets beside a key that may be data, so the name is one of locks. */
    bool has_ticket;
    int64_t ttl_ms;             /* -1: none. QUEUE: until the lease of the first ends. */
    uint32_t readers;           /* SHARED */
    uint32_t queued;            /* STRING, QUEUE: so many are in the queue of a fair lock. */
    /* STRING: a longer value is cut to SCAN_VALUE_KEPT. QUEUE: the first, and when
     * its lease ends. */
    uint8_t value_size;
    uint8_t value[SCAN_VALUE_KEPT];
};

struct scan_judgement {
    /* A set of 1 << enum scan_class. 0: there is nothing, or no longer. */
    uint32_t classes;
    unsigned answers;           /* Nodes that know. */
    /* The value of node best is on so many nodes, as on no more of another. 0: there
     * is no value. */
    unsigned best, agreeing;
    bool has_end;               /* It ends by itself: */
    uint32_t ends_in_ms;        /* by then fewer than a quorum have it. */
    /* Nodes, one for each value that cannot be held, since so few have it, and so
     * few cannot tell. */
    uint16_t removable;
    uint16_t endless;           /* Likewise, but of values without a TTL, whose owner may live. */
};

/* The last word for two classes or more is the gravest one's. SCAN_CLASS_COUNT: of none. */
enum scan_class scan_gravest(uint32_t classes);
enum scan_level scan_level_of(enum scan_class class);
const char *scan_label(enum scan_class class);
const char *scan_words(enum scan_class class);

/* Does the value look like a lock's signature? It has 40 hex digits, alone or with a name after
 * them, or is a token of other Redlock libraries. */
bool scan_is_token(const uint8_t *value, size_t size);

/* Have both nodes the same value, or both the mark of a shared lock? */
bool scan_is_same(const struct scan_sight *a, const struct scan_sight *b);

/* is_beside: the name belongs to a key beside a lock, like "door#ticket". guard_ms 0: TTLs may be
 * as long as they like. */
void scan_judge(struct scan_judgement *judgement, const struct scan_sight sights[], unsigned count,
                bool is_beside, uint32_t guard_ms);

#endif
