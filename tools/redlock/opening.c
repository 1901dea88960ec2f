#include "opening.h"

#include "report.h"
#include "tls.h"

enum redlock_status open_session(struct session *session, struct settings *settings)
{
    struct redlock_mistake mistake;
    enum redlock_status status;

    if (!tls_open(settings)) return REDLOCK_SYSTEM;
    status = session_open(session, settings, &mistake);
    if (status != REDLOCK_OK) report_mistake(settings, status, &mistake);
    return status;
}

void close_session(struct session *session)
{
    if (session->settings->verbose) {
        session_connect(session);       /* The fingerprint is of all nodes that answer. */
        report_fingerprint(session);
    }
    session_close(session);
    tls_close();
}
