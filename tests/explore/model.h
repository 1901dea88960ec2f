/* The effect of a command on a node. The effect of a script is taken from its text, so that a
 * broken script breaks the world. Nobody waits by subscription here, so no reader steps back
 * for a writer. */
#ifndef EXPLORE_MODEL_H
#define EXPLORE_MODEL_H

#include "world.h"

/* is_live: by a connection that stands. PTTL's answer plays no part in any decision of the engine,
 * so it may always be the same. */
struct reply model_execute(struct world *w, const struct bounds *bounds, unsigned k,
                           const struct command *command, bool is_live);

/* Keys whose time is over are gone, on all nodes. */
void model_expire(struct world *w, unsigned nodes);

/* A release by that token is executed. The second function forgets all. */
void model_release(struct model *node, unsigned token);
void model_clear(struct model *node);

/* Is a place in the queue that token's? */
bool model_queues(const struct model *node, unsigned token);

/* Is the key, that of a slot, or one of its readers' tokens this one? */
bool model_has(const struct model *node, unsigned token);

/* Do releases and extensions look whose key it is? */
bool model_compares(void);

#endif
