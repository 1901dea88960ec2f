/* A lock of its own that is acquired, extended and released, to see whether every node lets it, for
 * doctor --write. */
#ifndef TRIAL_H
#define TRIAL_H

#include "survey.h"

/* prefix: how the name begins. Leaves nothing on nodes that answer. survey: its nodes' trial and
 * trial_text are set. */
void trial_run(struct session *session, const char *prefix, struct survey *survey);

#endif
