/* --once-per: which period it is, whether this program may begin in it, and who else has. Knows the
 * lock and its marks, and no command that is run. */
#ifndef ONCE_H
#define ONCE_H

#include <stdio.h>

#include "holding.h"
#include "session.h"

struct once {
    const struct holding *holding;
    struct redlock_period period;
    struct redlock_mark mark;
    char who[REDLOCK_WHO_MAX + 1];
    bool has_asked;
    enum redlock_status status;     /* Of the last marks that were asked for. */
};

/* The job is due: names the period by the wall clock of this moment. */
void once_is_due(struct once *once, const struct settings *settings, const struct holding *holding);

/* With the lock held, before the command: 0 if it may run; otherwise the exit status, and a message
 * has said why not. A signal may end it. */
int once_ask(struct once *once, struct session *session);

/* --retry-until-done: the command has done it. If that cannot be marked it is said, since others
 * will do it again. */
void once_is_done(struct once *once, struct session *session);

/* Writes on stderr what nodes have answered, as a member of a JSON object, with a comma behind it,
 * or nothing if they were not asked. */
void once_json(FILE *file, const struct once *once, struct session *session);

#endif
