#include "publish.h"

#include <assert.h>
#include <string.h>

#include "ask_all.h"
#include "report.h"

static struct ask_all all;      /* One process waits for one lock at a time. */

/* On a channel that nobody hears. The empty message is none that a waiting client would take for
 * its own either. */
static void begin(struct session *session)
{
    assert(all.argument_count == 0);
    ask_all_argument(&all, "PUBLISH");
    ask_all_argument(&all, "redlock:");
    ask_all_argument(&all, "");
    ask_all_begin(&all, session);
}

/* An answer is read once. */
static void hear(struct session *session, unsigned k)
{
    struct redlock_item item;

    assert(k < REDLOCK_NODES_MAX);
    if (!all.is_asked[k] || all.questions[k].status == REDLOCK_PENDING) return;
    if (!ask_all_answer(&all, k, &item) && item.type == REDLOCK_ITEM_ERROR && item.size > 7 &&
        memcmp(item.bytes, "NOPERM ", 7) == 0)
        report_with_advice(session, k, "a release wakes nobody there, so it is noticed late",
                    "allow it: +publish &redlock:*; or, without it: --no-wake-ups");
    all.is_asked[k] = false;
}

void publish_watch(struct session *session)
{
    const struct settings *settings = session->settings;
    bool is_waiting = redlock_attempt_status(&session->lock) == REDLOCK_TAKEN;

    if (!settings->options.engine.wake_ups || settings->wait_ms == 0 || settings->output.json ||
        settings->redisson)
        return;
    if (all.argument_count == 0 && is_waiting) begin(session);
    for (unsigned k = 0; k < session->client.engine.node_count; k++) hear(session, k);
}

void publish_end(struct session *session)
{
    ask_all_end(&all, session);
    all.argument_count = 0;
}
