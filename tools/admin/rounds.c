#define _GNU_SOURCE
#include "rounds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "../redlock/descriptors.h"
#include "../redlock/output.h"
#include "../redlock/print.h"
#include "../redlock/replace.h"
#include "../redlock/text.h"
#include "checks.h"
#include "judge.h"
#include "survey.h"

/* ---- What the nodes said ---- */

/* The session trusts unknown nodes, so as to look at them; locks may not. */
static bool votes(const struct exporter *e, const struct survey_node *node)
{
    return judge_vote_of(node, &e->limits);
}

static const char *const trouble_names[] = {
    "", "new", "unreachable", "closed", "silent", "protocol", "restarted", "same_server", "replica",
    "cluster", "sentinel",
    "no_identity", "noauth", "wrongpass", "noperm", "loading", "readonly", "moved", "clusterdown",
    "oom", "misconf", "masterdown",
    "noreplicas", "busy", "noscript", "wrongtype", "max_clients", "denied", "ahead", "other_error"
};
_Static_assert(sizeof trouble_names / sizeof *trouble_names == REDLOCK_TROUBLE_OTHER_ERROR + 1,
               "each trouble has a name");

/* "NOREPLICAS Not enough good replicas to write.": most troubles are named by the word that a
 * server has for them. */
static const char *name_of_words(const char *words)
{
    size_t size = strcspn(words, " ");

    for (unsigned i = 1; i < REDLOCK_TROUBLE_OTHER_ERROR; i++)
        if (strlen(trouble_names[i]) == size && strncasecmp(trouble_names[i], words, size) == 0)
            return trouble_names[i];
    return trouble_names[REDLOCK_TROUBLE_OTHER_ERROR];
}

static const char *trouble_name(const struct exporter *e, const struct survey_node *node)
{
    const char *barrier = survey_barrier(node);

    if (judge_is_nameless(node, &e->limits)) return trouble_names[REDLOCK_TROUBLE_NO_IDENTITY];
    return node->votes && barrier ? name_of_words(barrier) : trouble_names[node->trouble];
}

static void note_restarts(struct exporter *e)
{
    for (unsigned k = 0; k < e->survey.count; k++) {
        const struct survey_node *node = &e->survey.nodes[k];
        struct past *past = &e->past[k];
        if (!node->has[FACT_RUN_ID]) continue;
        past->restarts +=
            past->run_id[0] != '\0' && strcmp(past->run_id, node->told[FACT_RUN_ID]) != 0;
        (void)print_text(past->run_id, sizeof past->run_id, "%s", node->told[FACT_RUN_ID]);
    }
}

/* ---- Figures of nodes ---- */

static void write_of_node(const struct exporter *e, struct figures *f, unsigned k, uint64_t number)
{
    figures_number(f, number, (struct figures_label[]){ { "node", e->names[k] }, { NULL, NULL } });
}

static void write_us_of_node(const struct exporter *e, struct figures *f, unsigned k, int64_t us)
{
    figures_us(f, us, (struct figures_label[]){ { "node", e->names[k] }, { NULL, NULL } });
}

static void write_fact(const struct exporter *e, struct figures *f, enum fact fact,
                       const char *name, const char *type, const char *help)
{
    uint64_t number;

    figures_metric(f, name, type, help);
    for (unsigned k = 0; k < e->survey.count; k++)
        if (survey_number(&e->survey.nodes[k], fact, &number)) write_of_node(e, f, k, number);
}

static void write_votes(const struct exporter *e, struct figures *f)
{
    figures_metric(f, "redlock_node_up", "gauge", "Does the node answer?");
    for (unsigned k = 0; k < e->survey.count; k++)
        write_of_node(e, f, k, e->survey.nodes[k].is_reached);
    figures_metric(f, "redlock_node_votes", "gauge", "Has the node a vote?");
    for (unsigned k = 0; k < e->survey.count; k++)
        write_of_node(e, f, k, votes(e, &e->survey.nodes[k]));
    figures_metric(f, "redlock_node_trouble", "gauge",
                   "Why a node has no vote, or its last error.");
    for (unsigned k = 0; k < e->survey.count; k++) {
        const char *trouble = trouble_name(e, &e->survey.nodes[k]);
        if (*trouble != '\0')
            figures_number(f, 1,
                           (struct figures_label[]){
                               { "node", e->names[k] }, { "trouble", trouble }, { NULL, NULL } });
    }
}

static void write_clocks(const struct exporter *e, struct figures *f)
{
    figures_metric(f, "redlock_node_clock_offset_seconds", "gauge",
                   "By how much its wall clock is ahead of ours.");
    for (unsigned k = 0; k < e->survey.count; k++)
        if (e->survey.nodes[k].clock.is_known)
            write_us_of_node(e, f, k, e->survey.nodes[k].clock.ahead_us);
    figures_metric(f, "redlock_node_latency_seconds", "gauge", "The longest of a few round trips.");
    for (unsigned k = 0; k < e->survey.count; k++)
        if (e->survey.nodes[k].clock.is_known)
            write_us_of_node(e, f, k, (int64_t)e->survey.nodes[k].clock.worst_us);
}

static void write_facts(const struct exporter *e, struct figures *f)
{
    figures_metric(f, "redlock_node_restarts_total", "counter",
                   "Another server than before, or a restart.");
    for (unsigned k = 0; k < e->survey.count; k++) write_of_node(e, f, k, e->past[k].restarts);
    write_fact(e, f, FACT_UPTIME, "redlock_node_uptime_seconds", "gauge",
               "Since the server was started.");
    write_fact(e, f, FACT_USED_MEMORY, "redlock_node_memory_used_bytes", "gauge",
               "Memory that the server uses.");
    write_fact(e, f, FACT_MAX_MEMORY, "redlock_node_memory_max_bytes", "gauge",
               "Memory that it may use; 0 is no limit.");
    write_fact(e, f, FACT_EVICTED, "redlock_node_evicted_keys_total", "counter",
               "Keys that the server has evicted.");
    write_fact(e, f, FACT_CLIENTS, "redlock_node_clients", "gauge", "Connections to the server.");
    write_fact(e, f, FACT_REJECTED, "redlock_node_rejected_connections_total", "counter",
               "Connections that it had no room for.");
}

/* ---- Figures of doctor and scan ---- */

/* A check that was skipped, since nobody asked for it, is no finding. */
static bool is_finding(const struct finding *finding)
{
    return !finding->is_left_out;
}

static void write_findings(const struct exporter *e, struct figures *f)
{
    static const enum severity severities[] = {
        SEVERITY_OK, SEVERITY_UNKNOWN, SEVERITY_WARNING, SEVERITY_UNSAFE
    };

    figures_metric(f, "redlock_doctor_findings", "gauge",
                   "Checks of redlock doctor, by how they ended.");
    for (size_t i = 0; i < sizeof severities / sizeof *severities; i++) {
        uint64_t count = 0;
        for (unsigned n = 0; n < e->findings.count; n++)
            count +=
                is_finding(&e->findings.all[n]) && e->findings.all[n].severity == severities[i];
        figures_number(f, count,
                       (struct figures_label[]){ { "severity", severity_name(severities[i]) },
                                                 { NULL, NULL } });
    }
}

/* A check may have several findings on a node, and a series is there once. */
static bool is_repeated(const struct exporter *e, unsigned n)
{
    const struct finding *finding = &e->findings.all[n];

    for (unsigned i = 0; i < n; i++) {
        const struct finding *other = &e->findings.all[i];
        if (!is_finding(other) || other->severity != finding->severity) continue;
        if (other->check == finding->check && other->node == finding->node) return true;
    }
    return false;
}

static void write_each_finding(const struct exporter *e, struct figures *f)
{
    figures_metric(f, "redlock_doctor_finding", "gauge",
                   "A check that did not end well; of all nodes together: no node.");
    for (unsigned n = 0; n < e->findings.count; n++) {
        const struct finding *finding = &e->findings.all[n];
        const char *node = finding->node == JUDGE_NO_NODE ? "" : e->names[finding->node];
        if (finding->severity == SEVERITY_OK || !is_finding(finding) || is_repeated(e, n)) continue;
        figures_number(f, 1,
                       (struct figures_label[]){ { "node", node },
                                                 { "check", judge_name(finding->check) },
                                                 { "severity", severity_name(finding->severity) },
                                                 { NULL, NULL } });
    }
}

static void write_scan(const struct exporter *e, struct figures *f)
{
    if (!e->has_scanned) return;
    figures_metric(f, "redlock_scan_keys", "gauge",
                   "Locks on the nodes and what is left of them, by class.");
    for (unsigned i = 0; i < SCAN_CLASS_COUNT; i++)
        figures_number(f, e->counts.classes[i],
                       (struct figures_label[]){ { "class", scan_label((enum scan_class)i) },
                                                 { NULL, NULL } });
    figures_metric(f, "redlock_scan_hidden_keys", "gauge",
                   "Keys that a node does not let us read.");
    figures_number(f, e->counts.hidden, NULL);
    figures_metric(f, "redlock_scan_nodes", "gauge", "Nodes that were scanned.");
    figures_number(f, e->counts.scanned, NULL);
    figures_metric(f, "redlock_scan_duration_seconds", "gauge", "How long the last scan took.");
    figures_us(f, (int64_t)e->scan_us, NULL);
    figures_metric(f, "redlock_scan_timestamp_seconds", "gauge",
                   "When the last scan ended, since 1970.");
    figures_us(f, (int64_t)e->scanned_wall_us, NULL);
}

static void write_figures(const struct exporter *e, struct figures *f)
{
    figures_metric(f, "redlock_build_info", "gauge", "Version of redlock.");
    figures_number(f, 1,
                   (struct figures_label[]){ { "version", redlock_version() }, { NULL, NULL } });
    figures_metric(f, "redlock_updated_timestamp_seconds", "gauge",
                   "When these metrics were written, since 1970.");
    figures_us(f, (int64_t)redlock_wall_us(), NULL);
    figures_metric(f, "redlock_exporter_duration_seconds", "gauge",
                   "How long the nodes were asked.");
    figures_us(f, (int64_t)e->round_us, NULL);
    write_votes(e, f);
    write_clocks(e, f);
    write_facts(e, f);
    write_findings(e, f);
    write_each_finding(e, f);
    write_scan(e, f);
}

/* ---- Handing out ---- */

/* Every collector can read it. */
static bool write_file(void *context, int fd)
{
    const struct figures *f = context;

    return fchmod(fd, 0644) == 0 && write_all(fd, f->text, f->size);
}

/* A repeated failure is reported once. */
static void hand_out_file(struct exporter *e, struct figures *f)
{
    bool is_written = replace_file(e->wishes->file, write_file, f);

    if (!is_written && !e->is_told)
        say("cannot write %s: %s", e->wishes->file, text_system_error(errno));
    if (is_written && e->is_told) say("%s can be written again", e->wishes->file);
    e->is_told = !is_written;
    e->has_failed = !is_written;
}

void rounds_hand_out(struct exporter *e)
{
    struct figures f;

    if (!figures_begin(&f, e->labels)) return;
    write_figures(e, &f);
    if (figures_end(&f)) {
        if (e->wishes->file) hand_out_file(e, &f);
        if (e->http) (void)http_give(e->http, f.text, f.size);
        if (!e->wishes->file && !e->http) {
            (void)print("%.*s", (int)f.size, f.text);
            e->has_failed = !output_written("the figures");
        }
    }
    figures_free(&f);
}

/* ---- Rounds ---- */

bool rounds_must_end(const struct exporter *e)
{
    return e->session->fault || e->session->signal;
}

void rounds_ask_nodes(struct exporter *e)
{
    const struct survey_wishes wishes = {
        .patience_ms = e->settings->options.engine.node_timeout_ms, .probe = SURVEY_PROBE,
        .durable = e->limits.durable, .managed = e->limits.managed
    };
    uint64_t began_at = redlock_now_us(), interval_us = (uint64_t)e->wishes->interval_ms * 1000;

    e->next_round_at = began_at + interval_us;
    if (survey_nodes(e->session, &wishes, &e->survey) != REDLOCK_OK) return;
    e->round_us = redlock_now_us() - began_at;
    note_restarts(e);
    judge(&e->survey, &e->limits, &e->findings);
    judge_note_clocks(&e->survey, &e->limits, &e->clocks);
}

void rounds_take(struct exporter *e)
{
    rounds_ask_nodes(e);
    if (!rounds_must_end(e)) rounds_hand_out(e);
}

/* A scan may take longer than an interval. */
bool rounds_go_on(void *context, const struct scan_counts *so_far)
{
    struct exporter *e = context;

    (void)so_far;
    if (!e->wishes->once && redlock_now_us() >= e->next_round_at) rounds_take(e);
    return !rounds_must_end(e);
}
