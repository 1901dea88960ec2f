#include "opening.h"

#include <assert.h>

#include "nodes.h"
#include "report.h"
#include "tls.h"

/* Which entry of the list is wrong, and how; of some statuses no more is known. */
static void report_mistake(const struct settings *settings, enum redlock_status status,
                           const struct redlock_mistake *mistake)
{
    char text[1024];

    assert(status != REDLOCK_OK);
    if (mistake->text[0] == '\0')      output_failure(status, redlock_status_text(status));
    else if (status == REDLOCK_SYSTEM) output_failure(status, mistake->text);
    else output_failure(status, nodes_describe(settings, status, mistake, text, sizeof text));
}

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
    if (session->output->verbose) {
        session_connect(session);       /* The fingerprint is of all nodes that answer. */
        report_fingerprint(session);
    }
    session_close(session);
    tls_close();
}
