/* A lock of its own that is acquired, extended and released, to see whether every node lets it, for
 * doctor --write. */
#ifndef TRIAL_H
#define TRIAL_H

#include "survey.h"

/* prefix: how the name begins; if nodes are managed, it gets braces unless it has some. Leaves
 * nothing on nodes that answer. survey: its nodes' trial and trial_text are set. */
void trial_run(struct session *session, const char *prefix, bool is_managed, struct survey *survey);

#endif
