#include "opening.h"

#include <assert.h>

#include "nodes.h"
#include "print.h"
#include "report.h"
#include "text.h"
#include "tls.h"

/* Which entry of the list is wrong, and how; of some statuses no more is known. */
static void report_mistake(const struct settings *settings, enum redlock_status status,
                           const struct redlock_mistake *mistake)
{
    char text[1024];

    assert(status != REDLOCK_OK);
    if (mistake->text[0] == '\0') output_failure(status, redlock_status_text(status));
    else output_failure(status, nodes_describe(settings, status, mistake, text, sizeof text));
}

/* S26. Of redlock-admin it is about rights alone. */
static enum redlock_status check_redisson(struct session *session,
                                          const struct settings *settings,
                                          struct redlock_mistake *mistake)
{
    unsigned count = session->client.engine.node_count;

    assert(count > 0);
    if (!settings->redisson || settings->command >= COMMAND_BREAK || count == 1) return REDLOCK_OK;
    (void)print_text(mistake->text, sizeof mistake->text,
                     "--redisson: of one node, and these are %u: over several, Java's lock "
                     "promises nothing",
                     count);
    session_close(session);
    return REDLOCK_BAD_KIND;
}

enum redlock_status open_session(struct session *session, struct settings *settings)
{
    struct redlock_mistake mistake;
    enum redlock_status status;

    if (!tls_open(settings)) return REDLOCK_SYSTEM;
    status = session_open(session, settings, &mistake);
    if (status == REDLOCK_OK) status = check_redisson(session, settings, &mistake);
    if (status != REDLOCK_OK) report_mistake(settings, status, &mistake);
    text_wipe(settings->nodes, sizeof settings->nodes);
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
