#include "judge.h"

#include <string.h>

#include "../redlock/rights.h"
#include "../redlock/settings.h"
#include "checks.h"

struct check {
    const char *name, *meaning;
    void (*judge)(struct judging *j);
    bool is_on_all;
};

static const struct check checks[] = {
    [0] = { "reach", "A node that cannot be reached has no vote.", judge_reach, false },
    [1] = { "version", "Older servers do not know all commands that locks need.", judge_version,
            false },
    [2] = { "role", "A failover to a replica forgets locks.", judge_role, false },
    [3] = { "mode", "Members of a cluster are not independent.", judge_mode, false },
    [4] = { "same server", "A server that is named twice has one failure and two votes.",
            judge_same_server, false },
    [5] = { "fingerprint", "Clients that name other servers can have a majority of their own.",
            judge_fingerprint, true },
    [6] = { "count",
            "An even number of nodes gains nothing, and of fewer than three none may fail.",
            judge_count, true },
    [7] = { "eviction", "A server that is short of memory removes keys: locks, too.",
            judge_eviction, false },
    [8] = { "evicted", "A server that has removed keys may have removed locks.", judge_evicted,
            false },
    [9] = { "memory", "A server without memory grants nothing.", judge_memory, false },
    [10] = { "AOF", "Without a guard a server must remember locks over a restart.", judge_aof,
             false },
    [11] = { "fsync", "Without a guard a server must remember locks over a power cut.", judge_fsync,
             false },
    [12] = { "fsync in rewrites", "'appendfsync always' is not always so.", judge_rewrite, false },
    [13] = { "save", "A server that cannot save its data may refuse to be written to.", judge_save,
             false },
    [14] = { "up", "A server that has just restarted has no vote until the guard is over.",
             judge_up, false },
    [15] = { "clock", "Tickets are refused where wall clocks differ by more than the skew.",
             judge_clock, false },
    [16] = { "clock rate", "A server whose clock runs too fast ends locks before their time.",
             judge_rate, false },
    [17] = { "clock step", "A server whose clock is stepped forward ends locks before their time.",
             judge_step, false },
    [18] = { "latency", "A node that is slow has no say in time.", judge_latency, false },
    [19] = { "slow", "A call that takes long keeps the server from all others.", judge_slow,
             false },
    [20] = { "connections", "A server without room for connections has no vote.", judge_connections,
             false },
    [21] = { "idle timeout", "Idle connections that are closed are made anew: slower, not wrong.",
             judge_idle, false },
    [22] = { "flushes", "A server that was emptied has forgotten its locks.", judge_flushes,
             false },
    [23] = { "ACL", "A user that may not do what locks need cannot lock.", judge_access, false },
    [24] = { "scripts", "A server that keeps our scripts is told their names alone.", judge_scripts,
             false },
    [25] = { "subscriptions", "Clients that wait hear of releases by subscriptions.", judge_ears,
             false },
    [26] = { "loading", "A server that loads its data has no vote.", judge_loading, false },
    [27] = { "certificate", "A node whose certificate has ended cannot be connected to.",
             judge_certificate, false },
    [28] = { "vote",
             "A node that has no vote, or cannot be written to, counts as one that has failed.",
             judge_vote, false },
    [29] = { "canary", "A durable node without its canary is new, or has forgotten its locks.",
             judge_canary, false },
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
static uint16_t find_declared(const char *list, const char *flag)
{
    static const char ends[] = ", \t\r\n";
    unsigned nodes = 0;

    list += strspn(list, ends);
    for (unsigned k = 0; *list != '\0' && k < REDLOCK_NODES_MAX; k++) {
        size_t size = strcspn(list, ends);
        const char *word = strstr(list, flag);
        if (word && word < list + size && (word[-1] == '?' || word[-1] == '&')) nodes |= 1u << k;
        list += size + strspn(list + size, ends);
    }
    return (uint16_t)nodes;
}

void judge_limits_init(struct judge_limits *limits, const struct settings *settings)
{
    const struct redlock_config *engine = &settings->options.engine;

    *limits = (struct judge_limits){
        .guard_ms = engine->guard_ms, .ttl_ms = settings->ttl_ms, .drift_ppm = engine->drift_ppm,
        .node_timeout_ms = engine->node_timeout_ms, .skew_ms = engine->ticket_skew_ms,
        .trusts_unknown = engine->trust_unknown,
        .durable = find_declared(settings->nodes, "durable=1"),
        .managed = find_declared(settings->nodes, "managed=1"), .parts = rights_parts(settings)
    };
}

static void run_checks(struct judging *j)
{
    for (unsigned i = 0; i < JUDGE_CHECKS; i++) {
        if (checks[i].is_on_all != !j->node) continue;
        /* The check of the reach reports all of that. */
        if (i > 0 && j->node && !j->node->is_reached) continue;
        j->check = i;
        checks[i].judge(j);
    }
}

static bool is_safe(const struct judging *j)
{
    const struct survey_node *node = j->node;
    bool will_vote = node->trouble == REDLOCK_TROUBLE_RESTARTED;

    return node->is_reached && node->trouble != REDLOCK_TROUBLE_LOADING &&
           !is_unsafe(j->findings, j->k) && (judge_vote_of(node, j->limits) || will_vote);
}

void judge(const struct survey *survey, const struct judge_limits *limits,
           struct findings *findings)
{
    struct judging j = {
        .survey = survey, .limits = limits, .k = JUDGE_NO_NODE, .findings = findings
    };

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
        if (!finding->is_left_out && finding->severity > findings->worst)
            findings->worst = finding->severity;
    }
}
