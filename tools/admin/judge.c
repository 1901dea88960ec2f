#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../redlock/text.h"

enum {
    MEMORY_UNSAFE = 95, MEMORY_WARNING = 80,        /* Percent of maxmemory. */
    CLIENTS_WARNING = 80,                           /* Percent of maxclients. */
    CLOCK_WARNING_US = 1000 * 1000,
    RATE_WARNING_PPM = 500,                         /* A kernel slews a clock so fast, unless told otherwise. */
    LATENCY_PART = 50,                              /* Of the TTL: a round trip that takes more is worth a word. */
    SLOW_CALL_US = 1000 * 1000,
    IDLE_S_MIN = 60,
    PUBSUB_MIN = 1024 * 1024,
    VERSION_MIN = 6
};

struct judging {
    const struct survey *survey;
    const struct judge_limits *limits;
    const struct survey_node *node;     /* NULL: of all. */
    unsigned k, check;
    struct findings *findings;
};

/* ---- What is found ---- */

static struct finding *add(struct judging *j, enum severity severity, const char *fix, const char *format, va_list arguments)
{
    struct finding *finding = &j->findings->all[j->findings->count++];
    char text[JUDGE_TEXT_MAX];

    *finding = (struct finding){ .check = (uint8_t)j->check, .node = (uint8_t)j->k, .severity = severity };
    (void)vsnprintf(text, sizeof text, format, arguments);
    (void)text_printable(finding->text, sizeof finding->text, text, strlen(text));
    (void)snprintf(finding->fix, sizeof finding->fix, "%s", fix);
    return finding;
}

/* fix: what is to be done. */
static void found(struct judging *j, enum severity severity, const char *fix, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 4, 5)))
#endif
    ;

static void found(struct judging *j, enum severity severity, const char *fix, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)add(j, severity, fix, format, arguments);
    va_end(arguments);
}

static void well(struct judging *j, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

static void well(struct judging *j, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)add(j, SEVERITY_OK, "", format, arguments);
    va_end(arguments);
}

static void unknown(struct judging *j, const char *needs, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* needs: what an ACL must allow; NULL: it does not hide it. */
static void unknown(struct judging *j, const char *needs, const char *format, ...)
{
    va_list arguments;
    char fix[64] = "";

    va_start(arguments, format);
    if (needs) (void)snprintf(fix, sizeof fix, "ACL SETUSER <user> %s", needs);
    add(j, SEVERITY_UNKNOWN, fix, format, arguments)->needs = needs;
    va_end(arguments);
}

/* Nobody asked for it: option says how. */
static void left_out(struct judging *j, const char *why)
{
    found(j, SEVERITY_UNKNOWN, "", "not looked at: %s", why);
    j->findings->all[j->findings->count - 1].is_left_out = true;
}

/* Why a fact is not known. */
static void hidden(struct judging *j, enum fact fact)
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

/* False: it is not known, which is a finding. */
static bool number_of(struct judging *j, enum fact fact, uint64_t *number)
{
    if (survey_number(j->node, fact, number)) return true;
    hidden(j, fact);
    return false;
}

static const char *text_of(struct judging *j, enum fact fact)
{
    if (j->node->has[fact]) return j->node->told[fact];
    hidden(j, fact);
    return NULL;
}

/* ---- The server ---- */

static void judge_reach(struct judging *j)
{
    if (j->node->is_reached) well(j, "answers");
    else found(j, SEVERITY_WARNING, "see that the server runs, that the address is right, and the password",
               "cannot be reached: %s", j->node->trouble_text);
}

static void judge_version(struct judging *j)
{
    const char *version = text_of(j, FACT_VERSION);

    if (!version) return;
    if (j->node->has[FACT_VALKEY_VERSION]) well(j, "Valkey %s", j->node->told[FACT_VALKEY_VERSION]);
    else if (version[0] < '0' + VERSION_MIN && version[1] == '.')
        found(j, SEVERITY_UNSAFE, "install Redis 6.0 or newer, or Valkey", "Redis %s is too old", version);
    else well(j, "Redis %s", version);
}

static void judge_role(struct judging *j)
{
    const struct survey_node *node = j->node;
    enum fact fact = node->has[FACT_ROLE] ? FACT_ROLE : FACT_ROLE_IN_INFO;
    bool is_replica = node->trouble == REDLOCK_TROUBLE_REPLICA || node->trouble == REDLOCK_TROUBLE_READONLY;
    uint64_t replicas;
    const char *role = is_replica ? "slave" : text_of(j, fact);

    if (!role) return;
    if (strcmp(role, "master") != 0)
        found(j, SEVERITY_UNSAFE, "REPLICAOF NO ONE, or name a server that is none", "is a replica: it has no vote");
    else if (!number_of(j, FACT_REPLICAS, &replicas)) return;
    else if (replicas > 0)
        found(j, SEVERITY_WARNING, "take its replicas away", "has %" PRIu64 " replica%s: a failover forgets locks", replicas,
              replicas == 1 ? "" : "s");
    else well(j, "a master without replicas");
}

static void judge_mode(struct judging *j)
{
    bool is_cluster = j->node->trouble == REDLOCK_TROUBLE_CLUSTER, is_sentinel = j->node->trouble == REDLOCK_TROUBLE_SENTINEL;
    const char *mode = is_cluster ? "cluster" : is_sentinel ? "sentinel" : text_of(j, FACT_MODE);

    if (!mode) return;
    if (strcmp(mode, "standalone") == 0) well(j, "stands alone");
    else if (strcmp(mode, "sentinel") == 0)
        found(j, SEVERITY_UNSAFE, "name the servers, not their Sentinel", "is a Sentinel: it has no vote");
    else
        found(j, SEVERITY_UNSAFE, "cluster-enabled no, on a server of its own", "is a member of a %s: it has no vote", mode);
}

/* Without the port; all sockets in the file system are of one host. */
static size_t host_size(const char *address)
{
    const char *colon = strncmp(address, "unix:", 5) == 0 ? address + 5 : strrchr(address, ':');

    return colon ? (size_t)(colon - address) : strlen(address);
}

static bool is_same_host(const char *a, const char *b)
{
    return host_size(a) == host_size(b) && memcmp(a, b, host_size(a)) == 0;
}

static void judge_same_server(struct judging *j)
{
    const struct survey *survey = j->survey;
    const char *id = j->node->told[FACT_RUN_ID];

    if (j->node->trouble == REDLOCK_TROUBLE_SAME_SERVER) {
        found(j, SEVERITY_UNSAFE, "name each server once", "is the %s", j->node->trouble_text);
        return;
    }
    if (!text_of(j, FACT_RUN_ID)) return;
    for (unsigned i = 0; i < survey->count; i++) {
        if (i == j->k || strcmp(survey->nodes[i].told[FACT_RUN_ID], id) != 0) continue;
        found(j, SEVERITY_UNSAFE, "name each server once", "is the same server as node %u", i);
        return;
    }
    for (unsigned i = 0; i < survey->count; i++) {
        if (i == j->k || !is_same_host(survey->nodes[i].address, j->node->address)) continue;
        found(j, SEVERITY_WARNING, "put each node on a host of its own", "is on the host of node %u: one failure, two votes", i);
        return;
    }
    well(j, "a server and a host of its own");
}

/* ---- The list ---- */

static void judge_fingerprint(struct judging *j)
{
    const struct fingerprint *fingerprint = &j->survey->fingerprint;
    char words[FINGERPRINT_WORDS_MAX];

    if (fingerprint->known == fingerprint->count)
        well(j, "%s: the same wherever these nodes are used", fingerprint_describe(fingerprint, words));
    else
        unknown(j, NULL, "%s", fingerprint_describe(fingerprint, words));
}

static void judge_count(struct judging *j)
{
    unsigned count = j->survey->count, quorum = j->survey->quorum;

    if (count < 3)
        found(j, SEVERITY_WARNING, "3 or 5 nodes", "%u node%s: none may fail", count, count == 1 ? "" : "s");
    else if (count % 2 == 0)
        found(j, SEVERITY_WARNING, "one node more, or less", "%u nodes: no more may fail than of %u", count, count - 1);
    else well(j, "%u nodes, of which %u may fail", count, count - quorum);
}

/* ---- Memory ---- */

static void judge_eviction(struct judging *j)
{
    const char *policy = text_of(j, FACT_POLICY), *fix = "CONFIG SET maxmemory-policy noeviction";
    uint64_t max;

    if (!policy) return;
    if (strcmp(policy, "noeviction") == 0) well(j, "maxmemory-policy is noeviction");
    else if (!number_of(j, FACT_MAX_MEMORY, &max)) return;
    else if (max > 0) found(j, SEVERITY_UNSAFE, fix, "maxmemory-policy is %s: locks can be evicted", policy);
    else found(j, SEVERITY_WARNING, fix, "maxmemory-policy is %s: locks can be evicted once maxmemory is set", policy);
}

static void judge_evicted(struct judging *j)
{
    uint64_t count;

    if (!number_of(j, FACT_EVICTED, &count)) return;
    if (count > 0)
        found(j, SEVERITY_UNSAFE, "maxmemory-policy noeviction, and more memory; then CONFIG RESETSTAT",
              "has evicted %" PRIu64 " keys since it started: locks may have been among them", count);
    else well(j, "has evicted nothing");
}

static void judge_memory(struct judging *j)
{
    const char *fix = "raise maxmemory, or keep other data elsewhere";
    uint64_t used, max, percent;

    if (!number_of(j, FACT_MAX_MEMORY, &max) || !number_of(j, FACT_USED_MEMORY, &used)) return;
    percent = max >= 100 ? used / (max / 100) : 0;
    if (percent > MEMORY_UNSAFE)
        found(j, SEVERITY_UNSAFE, fix, "%" PRIu64 " %% of its memory is in use: soon it grants nothing (-OOM)", percent);
    else if (percent > MEMORY_WARNING) found(j, SEVERITY_WARNING, fix, "%" PRIu64 " %% of its memory is in use", percent);
    else if (max == 0)                 well(j, "no limit of memory");
    else                               well(j, "%" PRIu64 " %% of its memory is in use", percent);
}

/* ---- What it keeps ---- */

/* Is it to remember locks over a restart, instead of waiting until they have ended? */
static bool must_remember(const struct judging *j)
{
    return j->limits->guard_ms == 0;
}

static void judge_aof(struct judging *j)
{
    const char *write = j->node->told[FACT_AOF_WRITE];
    uint64_t is_on, delayed = 0;

    if (!number_of(j, FACT_AOF, &is_on)) return;
    (void)survey_number(j->node, FACT_AOF_DELAYED, &delayed);
    if (!is_on && must_remember(j))
        found(j, SEVERITY_UNSAFE, "CONFIG SET appendonly yes; or use a guard", "no AOF and no guard: a restart forgets locks");
    else if (is_on && strcmp(write, "err") == 0)
        found(j, SEVERITY_WARNING, "see its log, and whether its disk is full", "the last write of its AOF failed");
    else if (is_on && delayed > 0)
        found(j, SEVERITY_WARNING, "a disk that is less busy", "%" PRIu64 " fsyncs of its AOF were delayed: it stalls", delayed);
    else well(j, is_on ? "AOF is on" : "no AOF: the guard covers a restart");
}

static void judge_fsync(struct judging *j)
{
    const char *policy;

    if (!must_remember(j)) {
        well(j, "any appendfsync: the guard covers a restart");
        return;
    }
    policy = text_of(j, FACT_APPENDFSYNC);
    if (!policy) return;
    if (strcmp(policy, "always") == 0) well(j, "appendfsync is always");
    else found(j, SEVERITY_UNSAFE, "CONFIG SET appendfsync always; or use a guard",
               "appendfsync is %s and there is no guard: a power cut forgets locks", policy);
}

static void judge_rewrite(struct judging *j)
{
    const char *setting = text_of(j, FACT_FSYNC_ON_REWRITE);

    if (!setting) return;
    if (strcmp(setting, "yes") == 0)
        found(j, must_remember(j) ? SEVERITY_UNSAFE : SEVERITY_WARNING, "CONFIG SET no-appendfsync-on-rewrite no",
              "no-appendfsync-on-rewrite is yes: while the AOF is rewritten a power cut forgets locks");
    else well(j, "fsync goes on while the AOF is rewritten");
}

static void judge_save(struct judging *j)
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
        found(j, SEVERITY_WARNING, "see its log, and whether its disk is full; or CONFIG SET save \"\"",
              "the last save failed, so it refuses to be written to (-MISCONF)");
    else well(j, "the last save failed, but it can be written to");
}

static void judge_up(struct judging *j)
{
    uint64_t guard = j->limits->guard_ms, tickets = guard + 2 * (uint64_t)j->limits->skew_ms, up;
    char duration[TEXT_DURATION_MAX], up_text[TEXT_DURATION_MAX];

    if (!number_of(j, FACT_UPTIME, &up)) return;
    up = up > 0 ? (up - 1) * 1000 : 0;
    (void)text_duration(up_text, up);
    if (guard > 0 && up < guard)
        found(j, SEVERITY_WARNING, "wait", "restarted %s ago: no vote for another %s", up_text,
              text_duration(duration, guard - up));
    else if (guard > 0 && up < tickets)
        found(j, SEVERITY_WARNING, "wait", "restarted %s ago: no ticket for another %s", up_text,
              text_duration(duration, tickets - up));
    else well(j, "up for %s", up_text);
}

static void judge_loading(struct judging *j)
{
    uint64_t loading, async = 0;
    bool is_loading = j->node->trouble == REDLOCK_TROUBLE_LOADING;

    if (!is_loading && !number_of(j, FACT_LOADING, &loading)) return;
    (void)survey_number(j->node, FACT_ASYNC_LOADING, &async);
    if (is_loading || loading > 0 || async > 0)
        found(j, SEVERITY_WARNING, "wait", "is loading its data: it has no vote until then");
    else well(j, "has its data");
}

/* ---- Clocks ---- */

static uint64_t size_of(int64_t number)
{
    return number < 0 ? -(uint64_t)number : (uint64_t)number;
}

/* How many nodes' clocks differ from ours by about as much as this one's: if most do, it is ours that is wrong. */
static bool is_our_clock(const struct judging *j)
{
    unsigned count = 0, known = 0;

    for (unsigned k = 0; k < j->survey->count; k++) {
        const struct survey_clock *clock = &j->survey->nodes[k].clock;
        known += clock->is_known;
        count += clock->is_known && size_of(clock->ahead_us - j->node->clock.ahead_us) < CLOCK_WARNING_US;
    }
    return known > 1 && count > known / 2;
}

static void judge_clock(struct judging *j)
{
    const struct survey_clock *clock = &j->node->clock;
    uint64_t off = size_of(clock->ahead_us), least = off > clock->give_or_take_us ? off - clock->give_or_take_us : 0;
    const char *fix = is_our_clock(j) ? "set this machine's clock, by NTP: most nodes agree with each other"
                                      : "set its clock, by NTP: slewing, not stepping";
    const char *way = clock->ahead_us < 0 ? "behind" : "ahead of";
    char text[TEXT_DURATION_MAX];

    if (!clock->is_known) {
        unknown(j, j->node->is_reached && !j->node->trouble ? "+time" : NULL, "TIME has no answer");
        return;
    }
    (void)text_duration(text, off / 1000);
    if (least > (uint64_t)j->limits->skew_ms * 1000)
        found(j, SEVERITY_UNSAFE, fix, "its clock is %s %s this machine's, more than the skew: tickets are refused", text, way);
    else if (least > CLOCK_WARNING_US) found(j, SEVERITY_WARNING, fix, "its clock is %s %s this machine's", text, way);
    else well(j, "its clock is %s %s this machine's", text, way);
}

/* How much faster than our clock a node's has run between two looks, in millionths, and how far that may be wrong. */
static void judge_rate(struct judging *j)
{
    const struct survey_clock *first = &j->node->clock, *later = &j->node->later;
    int64_t us = (int64_t)(later->at_us - first->at_us), ppm, give_or_take, limit = j->limits->drift_ppm;

    if (!later->is_known && j->survey->is_quick) {
        left_out(j, "--quick");
        return;
    }
    if (!later->is_known || us <= 0) {
        unknown(j, j->node->is_reached && !j->node->trouble ? "+time" : NULL, "TIME has no answer");
        return;
    }
    ppm = (later->since_boot_us - first->since_boot_us) * 1000000 / us;
    give_or_take = (int64_t)(first->give_or_take_us + later->give_or_take_us) * 1000000 / us;
    if (ppm - give_or_take > limit)
        found(j, SEVERITY_UNSAFE, "let its clock be slewed more slowly, or give --drift",
              "its clock runs %" PRId64 " ppm too fast: locks end before their time", ppm);
    else if (ppm + give_or_take > limit)
        unknown(j, NULL, "its clock runs at our rate, give or take %" PRId64 " ppm: more than the drift", give_or_take);
    else if (ppm - give_or_take > RATE_WARNING_PPM || ppm + give_or_take < -RATE_WARNING_PPM)
        found(j, SEVERITY_WARNING, "see how its clock is set, and this machine's", "its clock is slewed: %" PRId64 " ppm", ppm);
    else well(j, "its clock runs at the rate of ours, give or take %" PRId64 " ppm", give_or_take + (ppm < 0 ? -ppm : ppm));
}

/* ---- Others ---- */

static void judge_latency(struct judging *j)
{
    const struct survey_clock *clock = &j->node->clock;
    uint64_t worst = clock->worst_us > j->node->later.worst_us ? clock->worst_us : j->node->later.worst_us;
    char text[TEXT_DURATION_MAX];

    if (!clock->is_known) {
        unknown(j, j->node->is_reached && !j->node->trouble ? "+time" : NULL, "TIME has no answer");
        return;
    }
    (void)text_ms(text, worst);
    if (worst > (uint64_t)j->limits->node_timeout_ms * 1000)
        found(j, SEVERITY_UNSAFE, "a node that is nearer, or --node-timeout ('redlock ping' proposes one)",
              "a round trip took %s ms: longer than the node timeout, so it has no say", text);
    else if (worst > (uint64_t)j->limits->ttl_ms * 1000 / LATENCY_PART)
        found(j, SEVERITY_WARNING, "a node that is nearer, or a longer TTL",
              "a round trip took %s ms: more than 1/%d of the TTL", text, LATENCY_PART);
    else well(j, "round trips of up to %s ms", text);
}

static void judge_connections(struct judging *j)
{
    const char *fix = "raise maxclients, or find who keeps connections open";
    uint64_t rejected, clients, max, percent;

    if (j->node->trouble == REDLOCK_TROUBLE_MAX_CLIENTS) {
        found(j, SEVERITY_UNSAFE, fix, "takes no more connections: it has no vote");
        return;
    }
    if (!number_of(j, FACT_CLIENTS, &clients) || !number_of(j, FACT_MAX_CLIENTS, &max)) return;
    if (!number_of(j, FACT_REJECTED, &rejected)) return;
    percent = max > 0 ? clients * 100 / max : 0;
    if (percent >= 100)                 found(j, SEVERITY_UNSAFE, fix, "all of its %" PRIu64 " connections are in use", max);
    else if (percent > CLIENTS_WARNING) found(j, SEVERITY_WARNING, fix, "%" PRIu64 " %% of its connections are in use", percent);
    else if (rejected > 0) found(j, SEVERITY_WARNING, fix, "has refused %" PRIu64 " connections since it started", rejected);
    else                   well(j, "%" PRIu64 " of %" PRIu64 " connections are in use", clients, max);
}

static void judge_flushes(struct judging *j)
{
    uint64_t count;

    if (!number_of(j, FACT_FLUSHES, &count)) return;
    if (count > 0)
        found(j, SEVERITY_UNSAFE, "find out who does that; then CONFIG RESETSTAT",
              "was emptied %" PRIu64 " time%s since it started (FLUSHALL, FLUSHDB, SWAPDB): locks were forgotten", count,
              count == 1 ? "" : "s");
    else well(j, "was never emptied");
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
    [18] = { "latency", "A node that is slow has no say in time.", judge_latency, false },
    [20] = { "connections", "A server without room for connections has no vote.", judge_connections, false },
    [22] = { "flushes", "A server that was emptied has forgotten its locks.", judge_flushes, false },
    [26] = { "loading", "A server that loads its data has no vote.", judge_loading, false },
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

void judge_limits_init(struct judge_limits *limits, const struct settings *settings)
{
    const struct redlock_config *engine = &settings->options.engine;

    *limits = (struct judge_limits){
        .guard_ms = engine->guard_ms, .ttl_ms = settings->ttl_ms, .drift_ppm = engine->drift_ppm,
        .node_timeout_ms = engine->node_timeout_ms, .skew_ms = engine->ticket_skew_ms, .trusts_unknown = engine->trust_unknown
    };
}

static void run_checks(struct judging *j)
{
    for (unsigned i = 0; i < JUDGE_CHECKS; i++) {
        if (!checks[i].judge || checks[i].is_on_all != !j->node) continue;
        if (i > 0 && j->node && !j->node->is_reached) continue;     /* That says all. */
        j->check = i;
        checks[i].judge(j);
    }
}

static bool is_safe(const struct survey *survey, const struct findings *findings, unsigned k)
{
    for (unsigned i = 0; i < findings->count; i++)
        if (findings->all[i].node == k && findings->all[i].severity == SEVERITY_UNSAFE) return false;
    return survey->nodes[k].is_reached && survey->nodes[k].trouble != REDLOCK_TROUBLE_LOADING;
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
        findings->safe += is_safe(survey, findings, k);
    }
    for (unsigned i = 0; i < findings->count; i++) {
        const struct finding *finding = &findings->all[i];
        if (!finding->is_left_out && finding->severity > findings->worst) findings->worst = finding->severity;
    }
}
