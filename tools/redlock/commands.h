/* What redlock can be told to do. Each takes what was read from the command line, does it, and
 * returns the exit status. */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "holding.h"
#include "opening.h"

/* session: unused memory. */
int run_command(struct session *session, struct settings *settings, struct holding *holding);
int acquire_command(struct session *session, struct settings *settings);
int extend_command(struct session *session, struct settings *settings);
int release_command(struct session *session, struct settings *settings);
int keep_command(struct session *session, struct settings *settings, int pid);
int status_command(struct session *session, struct settings *settings);
int lead_command(struct session *session, struct settings *settings, struct holding *holding);
int leader_command(struct session *session, struct settings *settings);

/* Acquires what the settings say, and says meanwhile what it waits for. min_validity_ms: with less
 * left it is not won. extension_limit: of its keeper; 0: none. A signal may end it: CANCELLED. */
enum redlock_status acquire_lock(struct session *session, uint32_t min_validity_ms,
                                 uint32_t extension_limit);

/* What stands behind the token of a lock that is not plain, so that extend and release find it:
 * "/s", shared; "/f", fair; "/j", with Java; "/3", the third permit; or nothing. In
 * text, or static. */
enum { KIND_TEXT_MAX = 8 };
const char *kind_text(const struct session *session, char text[KIND_TEXT_MAX]);

/* Releases what the lock has, and waits for as many confirmations as come soon. A signal does not
 * end it. */
enum redlock_status release_lock(struct session *session);

/* What release_lock() returned; or NO_QUORUM if fewer than a quorum have confirmed it: this process
 * ends, so nobody will pay what is owed. */
enum redlock_status judge_release(const struct session *session, enum redlock_status status);

/* Says on how many nodes the lock was released, or why it was not. */
void report_release(struct session *session, enum redlock_status status);

/* Has a quorum answered to the last extension that our token is not there, so that none can succeed
 * any more? */
bool lock_is_refused(const struct session *session);

/* Sees to it that the lock, which is held, stays so until then, and leaves it to the nodes: nobody
 * releases it. OK; else why not: it has tried until the validity ended or a signal came. */
enum redlock_status leave_lock(struct session *session, uint64_t until_us);

#endif
