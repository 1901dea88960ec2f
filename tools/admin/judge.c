#include "judging.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../redlock/rights.h"
#include "../redlock/text.h"

/* ---- What is found ---- */

static struct finding *add(struct judging *j, enum severity severity, const char *fix, const char *text)
{
    struct finding *finding = &j->findings->all[j->findings->count++];

    *finding = (struct finding){ .check = (uint8_t)j->check, .node = (uint8_t)j->k, .severity = severity };
    (void)text_printable(finding->text, sizeof finding->text, text, strlen(text));
    (void)snprintf(finding->fix, sizeof finding->fix, "%s", fix);
    return finding;
}

void found(struct judging *j, enum severity severity, const char *fix, const char *format, ...)
{
    char text[JUDGE_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)add(j, severity, fix, text);
}

void well(struct judging *j, const char *format, ...)
{
    char text[JUDGE_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)add(j, SEVERITY_OK, "", text);
}

void unknown(struct judging *j, const char *needs, const char *format, ...)
{
    char text[JUDGE_TEXT_MAX], fix[64] = "";
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (needs) (void)snprintf(fix, sizeof fix, "ACL SETUSER <user> %s", needs);
    add(j, SEVERITY_UNKNOWN, fix, text)->needs = needs;
}

void left_out(struct judging *j, const char *why)
{
    found(j, SEVERITY_UNKNOWN, "", "not looked at: %s", why);
    j->findings->all[j->findings->count - 1].is_left_out = true;
}

void hidden(struct judging *j, enum fact fact)
{
    enum question question = survey_question(fact);
    const char *const *words = survey_words[question];
    const char *first = words[0], *second = words[1] ? words[1] : "", *third = words[1] && words[2] ? words[2] : "";
    const char *needs = survey_rule(question);

    switch (survey_asked(j->node, fact)) {
    case ANSWER_REFUSED:
        unknown(j, needs, "%s %s%s%s is refused: needs %s", first, second, *third ? " " : "", third, needs);
        break;
    case ANSWER_ERROR:
        unknown(j, NULL, "%s %s%s%s: %s", first, second, *third ? " " : "", third, j->node->errors[question]);
        break;
    case ANSWER_GIVEN:
        unknown(j, NULL, "%s %s%s%s does not tell it", first, second, *third ? " " : "", third);
        break;
    case ANSWER_NONE:
        unknown(j, NULL, "not asked: %s", j->node->trouble ? j->node->trouble_text : "no answer in time");
        break;
    }
}

bool number_of(struct judging *j, enum fact fact, uint64_t *number)
{
    if (survey_number(j->node, fact, number)) return true;
    hidden(j, fact);
    return false;
}

const char *text_of(struct judging *j, enum fact fact)
{
    if (j->node->has[fact]) return j->node->told[fact];
    hidden(j, fact);
    return NULL;
}

const char *why_remember(const struct judging *j)
{
    if (j->limits->guard_ms == 0) return "there is no guard";
    return j->limits->durable >> j->k & 1 ? "it is declared durable" : NULL;
}

/* ---- All of it ---- */

struct check {
    const char *name, *meaning;
    void (*judge)(struct judging *j);
    bool is_on_all;
};

static const struct check checks[] = {
    [0] = { "reach", "A node that cannot be reached has no vote.", judge_reach, false },
    [1] = { "version", "Older servers do not know all commands that locks need.", judge_version, false },
    [2] = { "role", "A failover to a replica forgets locks.", judge_role, false },
    [3] = { "mode", "Members of a cluster are not independent.", judge_mode, false },
    [4] = { "same server", "A server that is named twice has one failure and two votes.", judge_same_server, false },
    [5] = { "fingerprint", "Clients that name other servers can have a majority of their own.", judge_fingerprint, true },
    [6] = { "count", "An even number of nodes gains nothing, and of fewer than three none may fail.", judge_count, true },
    [7] = { "eviction", "A server that is short of memory removes keys: locks, too.", judge_eviction, false },
    [8] = { "evicted", "A server that has removed keys may have removed locks.", judge_evicted, false },
    [9] = { "memory", "A server without memory grants nothing.", judge_memory, false },
    [10] = { "AOF", "Without a guard a server must remember locks over a restart.", judge_aof, false },
    [11] = { "fsync", "Without a guard a server must remember locks over a power cut.", judge_fsync, false },
    [12] = { "fsync in rewrites", "'appendfsync always' is not always so.", judge_rewrite, false },
    [13] = { "save", "A server that cannot save its data may refuse to be written to.", judge_save, false },
    [14] = { "up", "A server that has just restarted has no vote until the guard is over.", judge_up, false },
    [15] = { "clock", "Tickets are refused where wall clocks differ by more than the skew.", judge_clock, false },
    [16] = { "clock rate", "A server whose clock runs too fast ends locks before their time.", judge_rate, false },
    [17] = { "clock step", "A server whose clock is stepped forward ends locks before their time.", judge_step, false },
    [18] = { "latency", "A node that is slow has no say in time.", judge_latency, false },
    [19] = { "slow", "A call that takes long keeps the server from all others.", judge_slow, false },
    [20] = { "connections", "A server without room for connections has no vote.", judge_connections, false },
    [21] = { "idle timeout", "Idle connections that are closed are made anew: slower, not wrong.", judge_idle, false },
    [22] = { "flushes", "A server that was emptied has forgotten its locks.", judge_flushes, false },
    [23] = { "ACL", "A user that may not do what locks need cannot lock.", judge_access, false },
    [24] = { "scripts", "A server that keeps our scripts is told their names alone.", judge_scripts, false },
    [25] = { "subscriptions", "Clients that wait hear of releases by subscriptions.", judge_ears, false },
    [26] = { "loading", "A server that loads its data has no vote.", judge_loading, false },
    [27] = { "certificate", "A node whose certificate has ended cannot be connected to.", judge_certificate, false },
    [28] = { "vote", "A node that has no vote, or cannot be written to, counts as one that has failed.", judge_vote, false },
    [29] = { "canary", "A durable node without its canary is new, or has forgotten its locks.", judge_canary, false },
};
_Static_assert(sizeof checks / sizeof checks[0] == JUDGE_CHECKS, "there is room for all findings");

const char *judge_name(unsigned check)
{
    return checks[check].name;
}

const char *judge_meaning(unsigned check)
{
    return checks[check].meaning;
}

const char *severity_name(enum severity severity)
{
    static const char *const names[] = { "ok", "unknown", "warning", "unsafe" };

    return names[severity];
}

/* "redis://host?durable=1": entries are separated by commas or blanks. */
static uint16_t find_durable(const char *list)
{
    static const char ends[] = ", \t\r\n";
    unsigned durable = 0;

    list += strspn(list, ends);
    for (unsigned k = 0; *list != '\0' && k < REDLOCK_NODES_MAX; k++) {
        size_t size = strcspn(list, ends);
        const char *word = strstr(list, "durable=1");
        if (word && word < list + size && (word[-1] == '?' || word[-1] == '&')) durable |= 1u << k;
        list += size + strspn(list + size, ends);
    }
    return (uint16_t)durable;
}

void judge_limits_init(struct judge_limits *limits, const struct settings *settings)
{
    const struct redlock_config *engine = &settings->options.engine;

    *limits = (struct judge_limits){
        .guard_ms = engine->guard_ms, .ttl_ms = settings->ttl_ms, .drift_ppm = engine->drift_ppm,
        .node_timeout_ms = engine->node_timeout_ms, .skew_ms = engine->ticket_skew_ms, .trusts_unknown = engine->trust_unknown,
        .durable = find_durable(settings->nodes), .parts = rights_parts(settings)
    };
}

static void run_checks(struct judging *j)
{
    for (unsigned i = 0; i < JUDGE_CHECKS; i++) {
        if (checks[i].is_on_all != !j->node) continue;
        if (i > 0 && j->node && !j->node->is_reached) continue;     /* The check of the reach reports all of that. */
        j->check = i;
        checks[i].judge(j);
    }
}

bool is_unsafe(const struct findings *findings, unsigned k)
{
    for (unsigned i = 0; i < findings->count; i++)
        if (findings->all[i].node == k && findings->all[i].severity == SEVERITY_UNSAFE) return true;
    return false;
}

bool judge_is_nameless(const struct survey_node *node, const struct judge_limits *limits)
{
    return !limits->trusts_unknown && node->votes && (!node->has[FACT_RUN_ID] || !node->has[FACT_ROLE]);
}

bool judge_vote_of(const struct survey_node *node, const struct judge_limits *limits)
{
    return node->votes && !judge_is_nameless(node, limits) && !survey_barrier(node);
}

static bool is_safe(const struct judging *j)
{
    const struct survey_node *node = j->node;
    bool will_vote = node->trouble == REDLOCK_TROUBLE_RESTARTED;

    return node->is_reached && node->trouble != REDLOCK_TROUBLE_LOADING && !is_unsafe(j->findings, j->k) &&
           (judge_vote_of(node, j->limits) || will_vote);
}

void judge(const struct survey *survey, const struct judge_limits *limits, struct findings *findings)
{
    struct judging j = { .survey = survey, .limits = limits, .k = JUDGE_NO_NODE, .findings = findings };

    findings->count = findings->safe = 0;
    findings->worst = SEVERITY_OK;
    run_checks(&j);
    for (unsigned k = 0; k < survey->count; k++) {
        j.node = &survey->nodes[k];
        j.k = k;
        run_checks(&j);
        findings->safe += is_safe(&j);
    }
    for (unsigned i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->all[i];
        if (!finding->is_left_out && finding->severity > findings->worst) findings->worst = finding->severity;
    }
}
