/* A schedule as something that a person can follow. */
#ifndef EXPLORE_STORY_H
#define EXPLORE_STORY_H

#include "world.h"

/* Prints one line for an event, the world before it, and the world after. */
void story_tell(unsigned number, const struct world *before, struct event event,
                const struct world *after, const struct bounds *bounds);

#endif
