#include "exits.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "settings.h"
#include "text.h"
#include "tls.h"

/* Another sentinel than the one that is named may be back by itself, and name the master. */
static bool is_of_few_sentinels(const char *text)
{
    return strstr(text, " sentinels name ") && text[0] != '0';
}

/* A wrong password is right only after somebody has done something; a node that is down may be back
 * by itself. */
static bool is_lasting(const struct session_note *note)
{
    switch (note->trouble) {
    case REDLOCK_TROUBLE_PROTOCOL:
    case REDLOCK_TROUBLE_SAME_SERVER:
    case REDLOCK_TROUBLE_REPLICA:
    case REDLOCK_TROUBLE_CLUSTER:
    case REDLOCK_TROUBLE_SENTINEL:
    case REDLOCK_TROUBLE_NO_IDENTITY:
    case REDLOCK_TROUBLE_NOAUTH:
    case REDLOCK_TROUBLE_WRONGPASS:
    case REDLOCK_TROUBLE_NOPERM:
    case REDLOCK_TROUBLE_READONLY:
    case REDLOCK_TROUBLE_MOVED:
    case REDLOCK_TROUBLE_DENIED:   return true;
    case REDLOCK_TROUBLE_NOSCRIPT:
        return false; /* Also where EVALSHA is refused, since EVAL is tried. */
    default:
        return (tls_is_lasting(note->text) || text_lasting_advice(note->text)) &&
               !is_of_few_sentinels(note->text);
    }
}

bool nodes_are_hopeless(const struct session *session)
{
    unsigned count = session->client.engine.node_count, lasting = 0;

    assert(count > 0);
    for (unsigned k = 0; k < count; k++) lasting += is_lasting(&session->notes[k]);
    return lasting > count - redlock_quorum(count);
}

/* If a wait began well, somebody may be mending the trouble. */
static int exit_without_quorum(const struct session *session)
{
    bool is_patient = session->began_well || session->settings->waits_through_errors;

    return !is_patient && nodes_are_hopeless(session) ? EXIT_TROUBLE : EXIT_NO_QUORUM;
}

int exit_of(const struct session *session, enum redlock_status status)
{
    if (session->signal) return EXIT_SIGNAL + session->signal;
    if (status == REDLOCK_TIMEOUT) status = notes_attempt_status(session);
    switch (status) {
    case REDLOCK_OK:              return EXIT_SUCCESS;
    case REDLOCK_TAKEN:           return session->settings->busy_exit;
    case REDLOCK_PENDING:
    case REDLOCK_NO_QUORUM:       return exit_without_quorum(session);
    case REDLOCK_TOO_LATE:        return EXIT_NO_QUORUM;
    case REDLOCK_LOST:
    case REDLOCK_EXTENSION_LIMIT: return EXIT_LOST;
    case REDLOCK_ALREADY:         return EXIT_ALREADY;
    default:                      return EXIT_TROUBLE;
    }
}
