/* Exit statuses: the same numbers for all commands. Decides nothing else. */
#ifndef EXITS_H
#define EXITS_H

#include "exit_status.h"
#include "notes.h"

/* How an operation that ended so ends the program:
 *
 *      0    done; status: free
 *      121  the command has run in this period already
 *      122  no quorum of nodes could vote, or answered in time
 *      123  the lock is not held, or no longer
 *      124  somebody else holds it, or --busy-exit
 *      125  waiting does not mend it: a mistake of ours, of the nodes' settings or of the system's
 *      128  and the number of the signal that ended it */
int exit_of(const struct session *session, enum redlock_status status);

/* Have so many nodes a trouble that waiting does not mend that no quorum of others is left? */
bool nodes_are_hopeless(const struct session *session);

#endif
