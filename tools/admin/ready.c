#include "ready.h"

#include <inttypes.h>
#include <string.h>

#include "../redlock/output.h"
#include "../redlock/print.h"
#include "readiness.h"
#include "scan.h"
#include "survey.h"

enum { BETWEEN_US = 1000 * 1000 };      /* Two looks. */

/* ---- Nodes ---- */

static bool is_node_ready(const struct readiness *r, unsigned k)
{
    const struct survey_node *node = &r->survey->nodes[k];

    return judge_vote_of(node, r->limits) && node->gives_tickets;
}

static void tell_node(struct readiness *r, unsigned k)
{
    const struct survey_node *node = &r->survey->nodes[k];
    const char *words = survey_barrier(node);

    if (!words && judge_is_nameless(node, r->limits)) words = "it says nothing of itself: +info";
    if (!words)
        words = strcmp(node->trouble_text, "ok") != 0 ? node->trouble_text : "no answer in time";
    (void)print_text(r->why, READY_WHY_MAX, "node %u (%s) %s: %s", k, node->address,
                     judge_vote_of(node, r->limits) ? "gives no ticket" : "has no vote", words);
}

static bool are_nodes_ready(struct readiness *r)
{
    struct survey_wishes wishes = {
        .patience_ms = r->session->settings->options.engine.node_timeout_ms, .probe = SURVEY_PROBE
    };

    if (survey_nodes(r->session, &wishes, r->survey) != REDLOCK_OK) return false;
    for (unsigned k = 0; k < r->survey->count; k++) {
        if (is_node_ready(r, k)) continue;
        tell_node(r, k);
        r->is_of_locks = false;
        return false;
    }
    return true;
}

/* ---- Locks ---- */

/* A node that was not gone through, and why. */
static enum ready tell_unscanned(struct readiness *r, const struct scan_counts *counts)
{
    unsigned k = 0;
    const struct session_note *note;

    while (k + 1 < r->survey->count && counts->done >> k & 1) k++;
    note = &r->session->notes[k];
    (void)print_text(r->why, READY_WHY_MAX, "node %u (%s) was not gone through for locks: %s", k,
                     r->survey->nodes[k].address, note->trouble ? note->text : "no answer in time");
    return counts->refused >> k & 1 ? READY_NEVER : READY_NOT_YET;
}

static enum ready look_for_locks(struct readiness *r)
{
    struct scan_order order = {
        .rate = SCAN_RATE, .apart_ms = SCAN_APART_MS, .guard_ms = r->limits->guard_ms, .context = r,
        .found = readiness_note, .goes_on = readiness_goes_on
    };
    static struct scan_counts counts;
    uint64_t few;

    r->first[0] = '\0';
    (void)scan_nodes(r->session, &order, &counts);
    few = counts.classes[SCAN_DEGRADED] + counts.classes[SCAN_MAYBE_HELD];
    if (few > 0)
        (void)print_text(r->why, READY_WHY_MAX, "%" PRIu64 " lock%s held, but not on all nodes: %s",
                         few, few == 1 ? " is" : "s are", r->first);
    else if (readiness_must_end(r) && !r->is_of_locks)
        (void)print_text(r->why, READY_WHY_MAX, "there was no time to look at all locks");
    else if (readiness_must_end(r)) return READY_NOT_YET;
    else if (counts.hidden > 0)
        (void)print_text(r->why, READY_WHY_MAX,
                         "%" PRIu64 " keys cannot be read: redlock(7) has the ACL of scan",
                         counts.hidden);
    else if (counts.moving > 0)
        (void)print_text(r->why, READY_WHY_MAX,
                         "the slot of %" PRIu64 " keys moves to another server", counts.moving);
    else if (counts.scanned < r->survey->count) return tell_unscanned(r, &counts);
    else return READY_YES;
    r->is_of_locks = few > 0;
    return few == 0 && counts.hidden > 0 ? READY_NEVER : READY_NOT_YET;
}

/* ---- Both ---- */

static void wait_a_moment(struct readiness *r)
{
    uint64_t next = redlock_now_us() + BETWEEN_US;

    if (next > r->until) next = r->until;
    while (redlock_now_us() < next && !readiness_must_end(r)) session_wait(r->session, next);
}

enum ready ready_wait(struct session *session, const struct judge_limits *limits, uint32_t wait_ms,
                      struct survey *survey, char why[READY_WHY_MAX])
{
    struct readiness r = { .session = session, .limits = limits, .survey = survey, .why = why,
                           .until = redlock_now_us() + (uint64_t)wait_ms * 1000 };
    enum ready ready;

    (void)print_text(why, READY_WHY_MAX, "the nodes were not all asked");
    for (;;) {
        ready = are_nodes_ready(&r) ? look_for_locks(&r) : READY_NOT_YET;
        if (ready != READY_NOT_YET || readiness_must_end(&r)) return ready;
        if (session->output->verbose) say("waits: %s", why);
        wait_a_moment(&r);
    }
}
