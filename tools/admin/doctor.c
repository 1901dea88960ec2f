/* doctor: finds the faults of the nodes, before they hurt. It asks (survey.c), judges
 * (judge.c) and prints. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../redlock/exit_status.h"
#include "../redlock/print.h"
#include "../redlock/report.h"
#include "../redlock/text.h"
#include "admin.h"
#include "checks.h"
#include "judge.h"
#include "ready.h"
#include "scan.h"
#include "survey.h"
#include "trial.h"

enum {
    /* Patience in node timeouts. A node that is slower than one is to be judged so. */
    PATIENCE = 4,
    RATE_US = 2 * 1000 * 1000       /* Between two looks at a clock. */
};

struct doctor {
    struct session *session;
    const struct settings *settings;
    const struct doctor_wishes *wishes;
    struct judge_limits limits;
    struct survey survey;
    struct findings findings;
    struct clock_log log;
};

/* ---- The verdict ---- */

static int exit_of_findings(const struct doctor *d)
{
    if (d->survey.reached < d->survey.quorum) return EXIT_UNREACHED;
    return d->findings.worst == SEVERITY_UNSAFE ? EXIT_UNSAFE
           : d->findings.worst == SEVERITY_OK   ? EXIT_SUCCESS
                                                : EXIT_WARNING;
}

/* Those that will have a vote, but not yet. */
static unsigned count_restarted(const struct doctor *d)
{
    unsigned count = 0;

    for (unsigned k = 0; k < d->survey.count; k++)
        count += d->survey.nodes[k].trouble == REDLOCK_TROUBLE_RESTARTED;
    return count;
}

static const char *describe_verdict(const struct doctor *d, char *text, size_t size)
{
    unsigned safe = d->findings.safe, count = d->survey.count, quorum = d->survey.quorum;
    int used = print_text(text, size, "%u of %u nodes safe, quorum %u: ", safe, count, quorum);

    text += used;
    size -= (size_t)used;
    if (d->survey.reached < quorum)
        (void)print_text(text, size, "only %u can be reached, so nobody can lock",
                         d->survey.reached);
    else if (safe < quorum)  (void)print_text(text, size, "too few to rely on a lock");
    else if (safe == quorum) (void)print_text(text, size, "the next failure stops the locks");
    else                     (void)print_text(text, size, "%u may fail", safe - quorum);
    if (count_restarted(d) > 0 && d->survey.reached >= quorum)
        (void)print_text(text + strlen(text), size - strlen(text),
                         "; %u restarted and cannot vote yet", count_restarted(d));
    return text - used;
}

/* ---- For people ---- */

static void print_place(const struct doctor *d, const struct finding *finding)
{
    if (finding->node == JUDGE_NO_NODE) (void)print("all nodes");
    else (void)print("node %u (%s)", finding->node, d->survey.nodes[finding->node].address);
}

static void print_finding(const struct doctor *d, const struct finding *finding)
{
    static const char *const words[] = { "ok", "UNKNOWN", "WARNING", "UNSAFE" };
    size_t size = strlen(finding->text);
    /* A server's words may be a sentence. */
    bool is_sentence = size > 0 && finding->text[size - 1] == '.';

    print_place(d, finding);
    (void)print("  %s  %s", words[finding->severity], finding->text);
    if (finding->fix[0] != '\0') (void)print("%s Fix: %s", is_sentence ? "" : ".", finding->fix);
    if (d->settings->output.verbose)
        (void)print("  [%u %s]", finding->check, judge_name(finding->check));
    (void)print("\n");
}

/* Findings that are printed one by one; the unknown ones of a node share a line. */
static bool is_shown(const struct doctor *d, const struct finding *finding)
{
    bool is_on_all = finding->node == JUDGE_NO_NODE;

    return d->settings->output.verbose ||
           finding->severity >= (is_on_all ? SEVERITY_UNKNOWN : SEVERITY_WARNING);
}

static bool is_told_together(const struct finding *finding, unsigned k)
{
    return finding->node == k && finding->severity == SEVERITY_UNKNOWN && !finding->is_left_out;
}

/* Each ACL rule that is missing, once. */
static void print_needs(const struct doctor *d, unsigned k)
{
    const char *told[JUDGE_CHECKS];
    unsigned count = 0;

    for (unsigned i = 0; i < d->findings.count; i++) {
        const struct finding *finding = &d->findings.all[i];
        unsigned at = 0;
        if (!is_told_together(finding, k) || !finding->needs) continue;
        while (at < count && strcmp(told[at], finding->needs) != 0) at++;
        if (at < count) continue;
        (void)print("%s %s", count == 0 ? ". Fix: ACL SETUSER <user>" : "", finding->needs);
        told[count++] = finding->needs;
    }
}

static void print_unknown(const struct doctor *d, unsigned k)
{
    unsigned count = 0;

    for (unsigned i = 0; i < d->findings.count; i++) {
        const struct finding *finding = &d->findings.all[i];
        if (!is_told_together(finding, k)) continue;
        if (count++ == 0) {
            print_place(d, finding);
            (void)print("  UNKNOWN  could not be looked at: ");
        }
        (void)print("%s%s", count > 1 ? ", " : "", judge_name(finding->check));
    }
    if (count == 0) return;
    print_needs(d, k);
    (void)print("\n");
}

static void print_all(const struct doctor *d)
{
    char verdict[160], words[FINGERPRINT_WORDS_MAX];

    for (unsigned i = 0; i < d->findings.count; i++) {
        const struct finding *finding = &d->findings.all[i];
        if (is_shown(d, finding)) print_finding(d, finding);
    }
    for (unsigned k = 0; !d->settings->output.verbose && k < d->survey.count; k++) {
        if (d->survey.nodes[k].was_asked) print_unknown(d, k);
    }
    (void)print("%s\n", describe_verdict(d, verdict, sizeof verdict));
    (void)print("%s\n", fingerprint_describe(&d->survey.fingerprint, words));
}

/* ---- For machines ---- */

static void json_member(const char *name, const char *text)
{
    (void)print(",\"%s\":", name);
    if (text) json_text(stdout, text);
    else      (void)print("null");
}

static void json_finding(const struct doctor *d, const struct finding *finding)
{
    (void)print("{\"check\":%u,\"name\":\"%s\",\"node\":", finding->check,
                judge_name(finding->check));
    if (finding->node == JUDGE_NO_NODE) (void)print("null");
    else                                (void)print("%u", finding->node);
    json_member("address",
                finding->node == JUDGE_NO_NODE ? NULL : d->survey.nodes[finding->node].address);
    json_member("severity", severity_name(finding->severity));
    json_member("text", finding->text);
    json_member("meaning", judge_meaning(finding->check));
    json_member("fix", finding->fix[0] != '\0' ? finding->fix : NULL);
    json_member("needs", finding->needs);
    (void)print(",\"left_out\":%s}", finding->is_left_out ? "true" : "false");
}

static void json_told(const char *name, const struct survey_node *node, enum fact fact)
{
    json_member(name, node->has[fact] ? node->told[fact] : NULL);
}

static void json_clock(const struct survey_clock *clock)
{
    if (clock->is_known)
        (void)print(",\"clock_ahead_us\":%" PRId64 ",\"clock_give_or_take_us\":%" PRIu64
                    ",\"round_trip_us\":%" PRIu64,
                    clock->ahead_us, clock->give_or_take_us, clock->worst_us);
    else
        (void)print(
            ",\"clock_ahead_us\":null,\"clock_give_or_take_us\":null,\"round_trip_us\":null");
}

static void json_node(const struct doctor *d, unsigned k)
{
    const struct survey_node *node = &d->survey.nodes[k];

    (void)print("%s{\"node\":%u", k > 0 ? "," : "", k);
    json_member("address", node->address);
    (void)print(",\"reached\":%s,\"votes\":%s", node->is_reached ? "true" : "false",
                judge_vote_of(node, &d->limits) ? "true" : "false");
    json_told("server_version", node,
              node->has[FACT_VALKEY_VERSION] ? FACT_VALKEY_VERSION : FACT_VERSION);
    json_clock(&node->clock);
    if (node->certificate_ends > 0)
        (void)print(",\"certificate_ends\":%" PRIu64, node->certificate_ends);
    json_member("trouble", node->trouble ? node->trouble_text : NULL);
    (void)print("}");
}

static void print_json(const struct doctor *d)
{
    char verdict[160];

    output_json_begin(stdout, &d->settings->output, NULL, REDLOCK_OK,
                      describe_verdict(d, verdict, sizeof verdict));
    (void)print("\"exit\":%d,\"severity\":\"%s\",\"safe\":%u,\"reached\":%u,\"quorum\":%u",
                exit_of_findings(d), severity_name(d->findings.worst), d->findings.safe,
                d->survey.reached, d->survey.quorum);
    json_member("fingerprint", d->survey.fingerprint.known > 0 ? d->survey.fingerprint.text : NULL);
    (void)print(",\"findings\":[");
    for (unsigned i = 0; i < d->findings.count; i++) {
        if (i > 0) (void)print(",");
        json_finding(d, &d->findings.all[i]);
    }
    (void)print("],\"nodes\":[");
    for (unsigned k = 0; k < d->survey.count; k++) json_node(d, k);
    (void)print("]}\n");
}

/* ---- All of it ---- */

static const char *prefix_of(const struct doctor *d)
{
    return d->wishes->prefix ? d->wishes->prefix : "redlock:doctor:";
}

static enum redlock_status look(struct doctor *d)
{
    char key[REDLOCK_RESOURCE_MAX];
    struct survey_wishes wishes = {
        .patience_ms = d->settings->options.engine.node_timeout_ms,
        .rate_us = d->wishes->quick ? 0 : RATE_US, .user = d->wishes->check_user, .key = key,
        .probe = d->wishes->check_user ? SURVEY_PROBE : key,
        .channel = d->settings->redisson ? "redisson_lock__channel:{doctor}" : "redlock:doctor",
        .parts = d->limits.parts, .durable = d->limits.durable, .managed = d->limits.managed
    };
    enum redlock_status status;

    (void)print_text(key, sizeof key, "%.480s0", prefix_of(d));
    status = survey_nodes(d->session, &wishes, &d->survey);
    if (status == REDLOCK_OK && d->wishes->tries)
        trial_run(d->session, prefix_of(d), d->limits.managed != 0, &d->survey);
    return d->session->signal ? REDLOCK_CANCELLED : status;
}

/* Keeps them for the next run. False: it was not written, and that was said. */
static bool keep_clocks(struct doctor *d)
{
    judge_note_clocks(&d->survey, &d->limits, &d->log);
    if (clock_log_write(&d->log, d->wishes->state_file)) return true;
    say("the state file %s could not be written: %s", d->wishes->state_file,
        text_system_error(errno));
    return false;
}

static int examine(struct doctor *d)
{
    enum redlock_status status = look(d);
    bool is_kept;

    if (d->session->signal) return EXIT_SIGNAL + d->session->signal;
    if (status != REDLOCK_OK) {
        report_status(d->session, status);
        return EXIT_TROUBLE;
    }
    judge(&d->survey, &d->limits, &d->findings);
    is_kept = !d->wishes->state_file || keep_clocks(d);
    if (d->settings->output.json) print_json(d);
    else                          print_all(d);
    if (!output_written("the findings")) return EXIT_TROUBLE;
    return is_kept || exit_of_findings(d) > EXIT_WARNING ? exit_of_findings(d) : EXIT_TROUBLE;
}

/* Tells whether the next node may be restarted; why is the obstacle. */
static void print_ready(const struct doctor *d, enum ready ready, int code, const char *why)
{
    char duration[TEXT_DURATION_MAX];
    bool is_ready = ready == READY_YES;

    if (d->settings->output.json) {
        output_json_begin(stdout, &d->settings->output, NULL,
                          is_ready ? REDLOCK_OK : REDLOCK_TIMEOUT, is_ready ? NULL : why);
        (void)print("\"exit\":%d,\"ready\":%s}\n", code, is_ready ? "true" : "false");
    } else if (is_ready) {
        (void)print("all %u nodes vote, give tickets, and have every lock that is held\n",
                    d->survey.count);
    } else if (ready == READY_NEVER) {
        say("whether another node may be restarted cannot be told: %s", why);
    } else {
        say("waited for %s, and no other node may be restarted yet: %s",
            text_duration(duration, d->settings->wait_ms), why);
    }
}

static int exit_of_ready(const struct doctor *d, enum ready ready)
{
    if (ready == READY_YES)   return EXIT_SUCCESS;
    if (ready == READY_NEVER) return EXIT_TROUBLE;
    return d->survey.reached < d->survey.quorum ? EXIT_UNREACHED : EXIT_WARNING;
}

static int wait_until_ready(struct doctor *d)
{
    char why[READY_WHY_MAX];
    enum ready ready = ready_wait(d->session, &d->limits, d->settings->wait_ms, &d->survey, why);

    if (d->session->signal) return EXIT_SIGNAL + d->session->signal;
    if (d->session->fault) {
        report_status(d->session, d->session->fault);
        return EXIT_TROUBLE;
    }
    print_ready(d, ready, exit_of_ready(d, ready), why);
    return output_written("the findings") ? exit_of_ready(d, ready) : EXIT_TROUBLE;
}

/* The session gets more patience and more trust than locks have, so that nodes that those do
 * without can be examined. */
static void prepare(struct doctor *d, struct settings *settings, const struct doctor_wishes *wishes)
{
    struct redlock_config *engine = &settings->options.engine;

    judge_limits_init(&d->limits, settings);
    if (wishes->state_file) {
        if (!clock_log_read(&d->log, wishes->state_file))
            refuse(settings, "--state: %s cannot be read: %s", wishes->state_file,
                   text_system_error(errno));
        d->limits.log = &d->log;
    }
    if (settings->wait_ms > 0) scan_prepare(settings);
    engine->trust_unknown = true;
    if (engine->node_timeout_ms < REDLOCK_TTL_MS_MAX / PATIENCE)
        engine->node_timeout_ms *= PATIENCE;
    d->settings = settings;
    d->wishes = wishes;
}

int doctor_command(struct session *session, struct settings *settings,
                   const struct doctor_wishes *wishes)
{
    static struct doctor doctor;    /* Large. */
    int code;

    prepare(&doctor, settings, wishes);
    doctor.session = session;
    if (open_session(session, settings) != REDLOCK_OK) return EXIT_TROUBLE;
    code = settings->wait_ms > 0 ? wait_until_ready(&doctor) : examine(&doctor);
    session_close(session);
    return code;
}
