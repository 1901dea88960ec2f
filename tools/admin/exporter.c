/* exporter: asks the nodes on an interval (rounds.c), and scans them more rarely. It reads only. */
#include <stdlib.h>

#include "../redlock/exit_status.h"
#include "../redlock/report.h"
#include "admin.h"
#include "judge.h"
#include "rounds.h"
#include "scan.h"

/* It waits for a node so many times as long as a lock does, since a slow node is a figure, too. */
enum { PATIENCE = 4 };

static void scan(struct exporter *e)
{
    struct scan_order order = {
        .rate = SCAN_RATE, .apart_ms = SCAN_APART_MS, .guard_ms = e->limits.guard_ms, .context = e,
        .goes_on = rounds_go_on
    };
    static struct scan_counts counts;
    uint64_t began_at = redlock_now_us();
    enum redlock_status status = scan_nodes(e->session, &order, &counts);

    e->next_scan_at = began_at + (uint64_t)e->wishes->scan_interval_ms * 1000;
    if (rounds_must_end(e)) return;
    e->has_scanned = status == REDLOCK_OK;
    e->counts = counts;
    e->scan_us = redlock_now_us() - began_at;
    e->scanned_wall_us = redlock_wall_us();
}

static void wait_until(struct exporter *e, uint64_t until)
{
    while (redlock_now_us() < until && !e->session->fault && !session_must_end(e->session))
        session_wait(e->session, until);
}

static bool is_scan_due(const struct exporter *e)
{
    return e->wishes->scan_interval_ms > 0 && redlock_now_us() >= e->next_scan_at;
}

/* The scan comes after the first figures, which nobody is to wait for. */
static void run(struct exporter *e)
{
    do {
        rounds_take(e);
        if (is_scan_due(e) && !rounds_must_end(e)) scan(e);
        wait_until(e, e->next_round_at);
    } while (!rounds_must_end(e));
}

static void run_once(struct exporter *e)
{
    rounds_ask_nodes(e);
    if (e->wishes->scan_interval_ms > 0 && !rounds_must_end(e)) scan(e);
    if (!rounds_must_end(e)) rounds_hand_out(e);
}

/* ---- All of it ---- */

/* The session gets more patience and more trust than locks have, so that nodes that those do
 * without can be examined. */
static void prepare(struct exporter *e, struct settings *settings,
                    const struct exporter_wishes *wishes)
{
    struct redlock_config *engine = &settings->options.engine;

    judge_limits_init(&e->limits, settings);
    if (!wishes->once) e->limits.log = &e->clocks;
    scan_prepare(settings);
    engine->trust_unknown = true;
    if (engine->node_timeout_ms < REDLOCK_TTL_MS_MAX / PATIENCE)
        engine->node_timeout_ms *= PATIENCE;
    e->settings = settings;
    e->wishes = wishes;
    if (wishes->cluster) e->labels[0] = (struct figures_label){ "cluster", wishes->cluster };
}

static bool listen_if_asked(struct exporter *e)
{
    char why[HTTP_WHY_MAX];

    if (!e->wishes->listen) return true;
    e->http = http_open(e->wishes->listen, why);
    if (!e->http) say("cannot listen on %s: %s", e->wishes->listen, why);
    else if (!http_start(e->http))
        say("cannot listen on %s: the system gives no thread", e->wishes->listen);
    else {
        say("listens on http://%s/metrics", http_address(e->http));
        return true;
    }
    return false;
}

static int export(struct exporter *e)
{
    for (unsigned k = 0; k < e->session->client.engine.node_count; k++)
        (void)node_label(&e->session->client, k, e->names[k]);
    if (!listen_if_asked(e)) return EXIT_TROUBLE;
    if (e->wishes->once) run_once(e);
    else                 run(e);
    if (e->session->fault) {
        report_status(e->session, e->session->fault);
        return EXIT_TROUBLE;
    }
    if (e->wishes->once && e->session->signal) return EXIT_SIGNAL + e->session->signal;
    return e->wishes->once && e->has_failed ? EXIT_TROUBLE : EXIT_SUCCESS;
}

int exporter_command(struct session *session, struct settings *settings,
                     const struct exporter_wishes *wishes)
{
    static struct exporter exporter;        /* Large. */
    int code;

    prepare(&exporter, settings, wishes);
    exporter.session = session;
    if (open_session(session, settings) != REDLOCK_OK) return EXIT_TROUBLE;
    code = export(&exporter);
    http_close(exporter.http);
    close_session(session);
    return code;
}
