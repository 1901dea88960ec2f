/* A node's memory, and its records of locks over a restart. */
#include <inttypes.h>
#include <string.h>

#include "../redlock/text.h"
#include "checks.h"

enum { MEMORY_UNSAFE = 95, MEMORY_WARNING = 80 };      /* Percent of maxmemory. */

/* ---- Memory ---- */

void judge_eviction(struct judging *j)
{
    const char *policy = text_of(j, FACT_POLICY), *fix = "CONFIG SET maxmemory-policy noeviction";
    uint64_t max;

    if (!policy) return;
    if (strcmp(policy, "noeviction") == 0) well(j, "maxmemory-policy is noeviction");
    else if (!number_of(j, FACT_MAX_MEMORY, &max)) return;
    else if (max > 0)
        found(j, SEVERITY_UNSAFE, fix, "maxmemory-policy is %s: locks can be evicted", policy);
    else
        found(j, SEVERITY_WARNING, fix,
              "maxmemory-policy is %s: locks can be evicted once maxmemory is set", policy);
}

void judge_evicted(struct judging *j)
{
    uint64_t count;

    if (!number_of(j, FACT_EVICTED, &count)) return;
    if (count > 0)
        found(j, SEVERITY_UNSAFE,
              "maxmemory-policy noeviction, and more memory; then CONFIG RESETSTAT",
              "has evicted %" PRIu64 " keys since it started: locks may have been among them",
              count);
    else well(j, "has evicted nothing");
}

void judge_memory(struct judging *j)
{
    const char *fix = "raise maxmemory, or keep other data elsewhere";
    uint64_t used, max, percent;

    if (!number_of(j, FACT_MAX_MEMORY, &max) || !number_of(j, FACT_USED_MEMORY, &used)) return;
    percent = max >= 100 ? used / (max / 100) : 0;
    if (percent > MEMORY_UNSAFE)
        found(j, SEVERITY_UNSAFE, fix,
              "%" PRIu64 " %% of its memory is in use: soon it grants nothing (-OOM)", percent);
    else if (percent > MEMORY_WARNING)
        found(j, SEVERITY_WARNING, fix, "%" PRIu64 " %% of its memory is in use", percent);
    else if (max == 0)                 well(j, "no limit of memory");
    else                               well(j, "%" PRIu64 " %% of its memory is in use", percent);
}

/* ---- What it keeps ---- */

void judge_aof(struct judging *j)
{
    const char *write = j->node->told[FACT_AOF_WRITE];
    uint64_t is_on, delayed = 0;

    if (!number_of(j, FACT_AOF, &is_on)) return;
    (void)survey_number(j->node, FACT_AOF_DELAYED, &delayed);
    if (!is_on && why_remember(j))
        found(j, SEVERITY_UNSAFE, "CONFIG SET appendonly yes; or use the guard",
              "no AOF, and %s: a restart forgets locks", why_remember(j));
    else if (is_on && strcmp(write, "err") == 0)
        found(j, SEVERITY_WARNING, "see its log, and whether its disk is full",
              "the last write of its AOF failed");
    else if (is_on && delayed > 0)
        found(j, SEVERITY_WARNING, "a disk that is less busy",
              "%" PRIu64 " fsyncs of its AOF were delayed: it stalls", delayed);
    else well(j, is_on ? "AOF is on" : "no AOF: the guard covers a restart");
}

void judge_fsync(struct judging *j)
{
    const char *policy;

    if (!why_remember(j)) {
        well(j, "any appendfsync: the guard covers a restart");
        return;
    }
    policy = text_of(j, FACT_APPENDFSYNC);
    if (!policy) return;
    if (strcmp(policy, "always") == 0) well(j, "appendfsync is always");
    else found(j, SEVERITY_UNSAFE, "CONFIG SET appendfsync always; or use the guard",
               "appendfsync is %s, and %s: a power cut forgets locks", policy, why_remember(j));
}

void judge_rewrite(struct judging *j)
{
    const char *setting = text_of(j, FACT_FSYNC_ON_REWRITE);

    if (!setting) return;
    if (strcmp(setting, "yes") == 0)
        found(j, why_remember(j) ? SEVERITY_UNSAFE : SEVERITY_WARNING,
              "CONFIG SET no-appendfsync-on-rewrite no",
              "no-appendfsync-on-rewrite is yes: while the AOF is rewritten a power cut forgets "
              "locks");
    else well(j, "fsync goes on while the AOF is rewritten");
}

void judge_save(struct judging *j)
{
    const char *status = text_of(j, FACT_RDB_SAVE), *points, *stops;

    if (!status) return;
    if (strcmp(status, "err") != 0) {
        well(j, "the last save succeeded");
        return;
    }
    points = text_of(j, FACT_SAVE);
    stops = points && *points ? text_of(j, FACT_STOP_WRITES) : points;
    if (!stops) return;
    if (strcmp(stops, "yes") == 0)
        found(j, SEVERITY_WARNING,
              "see its log, and whether its disk is full; or CONFIG SET save \"\"",
              "the last save failed, so it refuses to be written to (-MISCONF)");
    else well(j, "the last save failed, but it can be written to");
}

void judge_loading(struct judging *j)
{
    uint64_t loading, async = 0;
    bool is_loading = j->node->trouble == REDLOCK_TROUBLE_LOADING;

    if (!is_loading && !number_of(j, FACT_LOADING, &loading)) return;
    (void)survey_number(j->node, FACT_ASYNC_LOADING, &async);
    if (is_loading || loading > 0 || async > 0)
        found(j, SEVERITY_WARNING, "wait", "is loading its data: it has no vote until then");
    else well(j, "has its data");
}

void judge_flushes(struct judging *j)
{
    uint64_t count;

    if (!number_of(j, FACT_FLUSHES, &count)) return;
    if (count > 0)
        found(j, SEVERITY_UNSAFE, "find out who does that; then CONFIG RESETSTAT",
              "was emptied %" PRIu64
              " time%s since it started (FLUSHALL, FLUSHDB, SWAPDB): locks were forgotten",
              count, count == 1 ? "" : "s");
    else well(j, "was never emptied");
}

/* S23: the canary is set by the first client that locks when the guard is over, and a node that has
 * it is believed to remember. */
void judge_canary(struct judging *j)
{
    if (!(j->limits->durable >> j->k & 1) || j->limits->guard_ms == 0) return;
    if (survey_asked(j->node, FACT_CANARY) != ANSWER_GIVEN)
        hidden(j, FACT_CANARY);
    else if (!j->node->has[FACT_CANARY])
        found(j, SEVERITY_UNSAFE,
              "unless it is new, find out where its data went; then take any lock when the guard "
              "is over: that sets it",
              "is declared durable, but has no redlock:canary: it is new, or came back without its "
              "data, and forgot locks");
    else well(j, "has its canary");
}
