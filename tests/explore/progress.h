/* Liveness. "Eventually it is always possible to acquire a lock, even if the client that locked a
 * resource crashes or gets partitioned", says the algorithm's page. So calm is tried from each
 * state that the search meets. Nothing breaks from then on, no message is late, nobody begins to
 * ask, and clients that ask do so for ever. Each of them must then hold the lock within the ticks
 * that struct bounds allows, or it starves.
 *
 * Calm comes in sorts. Its messages arrive in the order of the clients and nodes, or in the reverse
 * one. A holder releases at once, or holds on until its TTL ends. All nodes answer, or the last one
 * never does. Commands to the first one arrive at once, or a tick later, where clients wait that
 * long. In each sort the world has one future, so what is known of a state is known of all that
 * lead to it. */
#ifndef EXPLORE_PROGRESS_H
#define EXPLORE_PROGRESS_H

#include "digest.h"
#include "world.h"

enum {
    /* The bits of a sort. */
    CALM_REVERSE = 1, CALM_HOLDS_ON = 2, CALM_MUTE = 4, CALM_SLOW = 8,
    WALK_MAX = 1024             /* Steps; a world that takes more never comes to rest. */
};

struct walk {
    struct event events[WALK_MAX];
    unsigned count;
};

/* From a state of this digest on, all that ask hold within so many ticks. */
struct known {
    struct digest digest;
    unsigned ticks;
};

/* Open addressing; the digest 0, 0 stands for an empty slot. All of it is 0 at first. */
struct progress {
    struct known *slots;
    size_t size, count;
    unsigned most;              /* The most ticks that anybody waited. */
    /* Lets it happen in the world; a breach, or NULL. */
    const char *(*step)(const struct bounds *bounds, struct event event);
};

/* The bits that the sorts of calm in this world may have. */
unsigned progress_sorts(const struct bounds *bounds);

/* Clients that ask do so for ever from here on. (Worlds in which they always do have no end.) */
void progress_begin(struct world *w, const struct bounds *bounds);

/* Goes on from the world, in calm of that sort. Returns NULL, or what was broken; then the walk has
 * led there. */
const char *progress_walk(struct progress *p, struct world *w, const struct bounds *bounds,
                          unsigned calm, struct walk *walk);
void progress_clear(struct progress *p);

#endif
