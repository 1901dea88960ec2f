/* Do clients get the connections, the commands, and the time that they need? */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../redlock/print.h"
#include "../redlock/text.h"
#include "checks.h"

enum {
    CLIENTS_WARNING = 80,               /* Percent of maxclients. */
    SLOW_CALL_US = 1000 * 1000,
    IDLE_S_MIN = 60,
    DAY_S = 24 * 60 * 60,
    CERTIFICATE_DAYS = 30,
    PUBSUB_MIN = 1024 * 1024,
    LIST_MAX = 200                      /* Bytes of all rights that one kind of lock needs. */
};

#define GIVE_BACK "take rename-command for it out of the server's configuration, and restart it"

void judge_connections(struct judging *j)
{
    const char *fix = "raise maxclients, or find who keeps connections open";
    const char *past_fix =
        "raise maxclients, or find who keeps connections open; then CONFIG RESETSTAT";
    uint64_t rejected, clients, max, percent;

    if (j->node->trouble == REDLOCK_TROUBLE_MAX_CLIENTS) {
        found(j, SEVERITY_UNSAFE, fix, "takes no more connections: it has no vote");
        return;
    }
    if (!number_of(j, FACT_CLIENTS, &clients) || !number_of(j, FACT_MAX_CLIENTS, &max)) return;
    if (!number_of(j, FACT_REJECTED, &rejected)) return;
    percent = max > 0 ? clients * 100 / max : 0;
    if (percent >= 100)
        found(j, SEVERITY_UNSAFE, fix, "all of its %" PRIu64 " connections are in use", max);
    else if (percent > CLIENTS_WARNING)
        found(j, SEVERITY_WARNING, fix, "%" PRIu64 " %% of its connections are in use", percent);
    else if (rejected > 0)
        found(j, SEVERITY_WARNING, past_fix, "has refused %" PRIu64 " connections since it started",
              rejected);
    else well(j, "%" PRIu64 " of %" PRIu64 " connections are in use", clients, max);
}

/* A certificate that had ended when the node was connected to was refused, see judge_reach. */
void judge_certificate(struct judging *j)
{
    const char *fix =
        "give the node a new one; CONFIG SET tls-cert-file FILE loads it without a restart";
    uint64_t ends = j->node->certificate_ends, now = j->survey->wall_us / 1000000,
             days = ends > now ? (ends - now) / DAY_S : 0;
    char date[TEXT_TIME_MAX];

    if (ends == 0) return;
    (void)text_time(date, ends * 1000000);
    date[strlen("2025-01-31")] = '\0';
    if (ends <= now)
        found(j, SEVERITY_UNSAFE, fix,
              "its certificate has ended, on %s: no connection can be made anew", date);
    else if (days < CERTIFICATE_DAYS)
        found(j, SEVERITY_WARNING, fix, "its certificate ends in %" PRIu64 " day%s, on %s", days,
              days == 1 ? "" : "s", date);
    else well(j, "its certificate ends in %" PRIu64 " days, on %s", days, date);
}

void judge_slow(struct judging *j)
{
    const char *mean_fix = "keep such work elsewhere; then CONFIG RESETSTAT";
    const char *call_fix = "SLOWLOG GET shows it; keep such work elsewhere; then SLOWLOG RESET";
    const struct survey_node *node = j->node;
    uint64_t call, mean;
    char text[TEXT_DURATION_MAX];

    if (survey_number(node, FACT_SLOWEST_MEAN, &mean) && mean > SLOW_CALL_US) {
        found(j, SEVERITY_WARNING, mean_fix,
              "%s takes %s on average: the node stalls for all meanwhile",
              node->told[FACT_SLOWEST_NAME], text_duration(text, mean / 1000));
        return;
    }
    if (!number_of(j, FACT_SLOW_CALL, &call)) return;
    (void)text_duration(text, call / 1000);
    if (call > SLOW_CALL_US)
        found(j, SEVERITY_WARNING, call_fix,
              "a call of %s took %s: the node stalled for all meanwhile",
              node->told[FACT_SLOW_NAME], text);
    else if (!node->has[FACT_SLOWEST_MEAN]) hidden(j, FACT_SLOWEST_MEAN);
    else well(j, "no call among the last slow ones took longer than %s", text);
}

void judge_idle(struct judging *j)
{
    uint64_t seconds;

    if (!number_of(j, FACT_TIMEOUT, &seconds)) return;
    if (seconds > 0 && seconds < IDLE_S_MIN)
        found(j, SEVERITY_WARNING, "CONFIG SET timeout 0",
              "timeout is %" PRIu64 " s: idle connections are closed, and made anew", seconds);
    else well(j, "idle connections stay");
}

/* A server that has EVAL may still refuse all scripts, as Garnet does by default. One without it is
 * told of by judge_access. A proxy such as Alibaba's refuses those that have no key, by which it
 * finds the shard, and may refuse any that has a key in a variable, as ours do. */
static bool runs_scripts(struct judging *j)
{
    const char *words = j->node->errors[QUESTION_EVAL], *fix;
    enum survey_answer answer = survey_asked(j->node, FACT_SCRIPT_ANSWER);

    if (j->node->lacks_scripts) {
        fix = text_lasting_advice(words);
        found(j, SEVERITY_WARNING,
              fix ? fix
                  : "ACL SETUSER <user> +eval +evalsha; or lock one RESOURCE with --no-ticket",
              "runs no scripts, so it has no vote but on plain locks: %s", words);
        return false;
    }
    if (strstr(words, "number of keys")) {
        words = j->node->errors[QUESTION_TRIAL];
        answer = j->node->answers[QUESTION_TRIAL];
    }
    if (answer != ANSWER_ERROR || strstr(words, "unknown command")) return true;
    fix = text_lasting_advice(words);
    found(j, SEVERITY_UNSAFE, fix ? fix : "see what it says",
          "runs no scripts, so it has no vote: %s", words);
    return false;
}

void judge_scripts(struct judging *j)
{
    static const char sha[] =
        "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"; /* The script is "return 1". */
    enum survey_answer answer = survey_asked(j->node, FACT_SCRIPT_SHA);
    const char *told;

    if (!runs_scripts(j)) return;
    if (answer == ANSWER_REFUSED || answer == ANSWER_ERROR) {
        found(j, SEVERITY_WARNING,
              answer == ANSWER_REFUSED ? "ACL SETUSER <user> +script|load" : GIVE_BACK,
              "SCRIPT LOAD is refused: scripts go out in full each time");
        return;
    }
    told = text_of(j, FACT_SCRIPT_SHA);
    if (!told) return;
    if (strcmp(told, sha) == 0) well(j, "loads scripts");
    else
        found(j, SEVERITY_WARNING, "is it a Redis server?",
              "gives scripts other names than Redis does: they go out in full");
}

/* "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60": the hard limit of
 * subscriptions. 0: none. */
static uint64_t pubsub_limit(const char *limits)
{
    const char *at = strstr(limits, "pubsub ");
    uint64_t limit = 0;

    for (at = at ? at + strlen("pubsub ") : ""; *at >= '0' && *at <= '9'; at++)
        limit = limit * 10 + (uint64_t)(*at - '0');
    return limit;
}

void judge_ears(struct judging *j)
{
    const char *limits = text_of(j, FACT_OUTPUT_LIMIT),
               *memory = j->node->told[FACT_CLIENTS_MEMORY];
    uint64_t limit;

    if (!limits) return;
    limit = pubsub_limit(limits);
    if (limit > 0 && limit < PUBSUB_MIN)
        found(j, SEVERITY_WARNING, "CONFIG SET client-output-buffer-limit \"pubsub 32mb 8mb 60\"",
              "subscriptions are closed at %" PRIu64 " bytes: clients that wait are woken late",
              limit);
    else if (*memory != '\0' && strcmp(memory, "0") != 0)
        found(j, SEVERITY_WARNING, "CONFIG SET maxmemory-clients 0",
              "maxmemory-clients is %s: connections can be closed to save memory", memory);
    else well(j, "subscriptions have room");
}

/* ---- What the user may do ---- */

static bool is_needed(const struct judging *j, unsigned need, enum survey_purpose purpose,
                      enum survey_permission permission)
{
    return j->node->permissions[need] == permission &&
           survey_purpose(&survey_needs[need], j->limits->parts) == purpose;
}

/* Each rule for this purpose for which that is so, from so many bytes on, with a blank before it.
 * Returns how many. */
static unsigned list_needs(const struct judging *j, enum survey_purpose purpose,
                           enum survey_permission permission, unsigned from, char list[LIST_MAX])
{
    unsigned count = 0;

    list[0] = '\0';
    for (unsigned i = 0; survey_needs[i].rule; i++) {
        if (!is_needed(j, i, purpose, permission)) continue;
        (void)print_text(list + strlen(list), LIST_MAX - strlen(list), " %s",
                         survey_needs[i].rule + from);
        count++;
    }
    return count;
}

static unsigned list_refused(const struct judging *j, enum survey_purpose purpose,
                             char list[LIST_MAX])
{
    return list_needs(j, purpose, PERMISSION_REFUSED, 0, list);
}

/* The names of commands, without the plus sign of the rule. */
static unsigned list_absent(const struct judging *j, enum survey_purpose purpose,
                            char list[LIST_MAX])
{
    return list_needs(j, purpose, PERMISSION_NO_COMMAND, 1, list);
}

/* Is a key of this purpose, or a channel, refused? */
static bool is_name_refused(const struct judging *j, enum survey_purpose purpose, bool is_channel)
{
    for (unsigned i = 0; survey_needs[i].rule; i++) {
        const char *name = survey_needs[i].words[1];
        bool is_of_channel = name && strcmp(name, SURVEY_CHANNEL) == 0;
        if (is_of_channel == is_channel && is_needed(j, i, purpose, PERMISSION_KEY_REFUSED))
            return true;
    }
    return false;
}

/* Without a guard nothing depends on a node's memory of itself. */
static bool is_canary_refused(const struct judging *j)
{
    bool is_wanted = (j->limits->durable >> j->k & 1) && j->limits->guard_ms > 0;

    return is_wanted && is_name_refused(j, FOR_MEMORY, false);
}

/* S31: the mark of when the master was first met since its promotion. */
static bool is_promotion_refused(const struct judging *j)
{
    return is_behind_sentinels(j->node) && j->limits->guard_ms > 0 &&
           is_name_refused(j, FOR_FAILOVERS, false);
}

/* Judges the rights for speed and for wake-ups, if all others are there. */
static void judge_comforts(struct judging *j)
{
    char list[LIST_MAX], fix[JUDGE_TEXT_MAX];

    if (list_refused(j, FOR_SPEED, list) > 0) {
        found(j, SEVERITY_WARNING, "ACL SETUSER <user> +evalsha",
              "the user lacks +evalsha: scripts go out in full, at the second try");
    } else if (list_absent(j, FOR_SPEED, list) > 0) {
        found(j, SEVERITY_WARNING, GIVE_BACK,
              "the server has no evalsha: scripts go out in full, at the second try");
    } else if (list_refused(j, FOR_WAKE_UPS, list) > 0) {
        (void)print_text(fix, sizeof fix, "ACL SETUSER <user>%s", list);
        found(j, SEVERITY_WARNING, fix, "the user lacks%s: clients that wait are woken late", list);
    } else if (list_absent(j, FOR_WAKE_UPS, list) > 0) {
        found(j, SEVERITY_WARNING, GIVE_BACK,
              "the server has no%s: clients that wait are woken late", list);
    } else if (is_name_refused(j, FOR_WAKE_UPS, true) && j->node->trial != REDLOCK_VOTE_GRANTED) {
        found(j, SEVERITY_WARNING, "ACL SETUSER <user> &redlock:*",
              "the user may not use the channels redlock:*: clients that wait are woken late");
    } else {
        well(j, "the user may do all that locks need");
    }
}

/* Judges the answers of ACL DRYRUN. */
static void judge_permissions(struct judging *j)
{
    const struct survey_node *node = j->node;
    char list[LIST_MAX], fix[JUDGE_TEXT_MAX];

    if (node->no_user[0] != '\0') {
        found(j, SEVERITY_UNSAFE, "see how the name is written; ACL LIST shows the users",
              "%s: nobody locks by this name", node->no_user);
    } else if (list_absent(j, FOR_LOCKS, list) > 0) {
        found(j, SEVERITY_UNSAFE, GIVE_BACK, "the server has no%s: nobody can lock there", list);
    } else if (list_refused(j, FOR_LOCKS, list) > 0) {
        (void)print_text(fix, sizeof fix, "ACL SETUSER <user>%s", list);
        found(j, SEVERITY_UNSAFE, fix, "the user lacks%s: it cannot lock", list);
    } else if (!j->limits->trusts_unknown && list_refused(j, FOR_A_VOTE, list) > 0) {
        (void)print_text(fix, sizeof fix,
                         "ACL SETUSER <user>%s; or --trust-unknown for all clients", list);
        found(j, SEVERITY_UNSAFE, fix, "the user lacks%s: the node has no vote", list);
    } else if (is_canary_refused(j)) {
        found(j, SEVERITY_WARNING, "ACL SETUSER <user> ~redlock:canary*",
              "the user may not use redlock:canary: the node is declared durable, but has no vote "
              "for the guard after a restart");
    } else if (is_promotion_refused(j)) {
        found(j, SEVERITY_WARNING, "ACL SETUSER <user> ~redlock:promoted*",
              "the user may not use redlock:promoted: after a failover each new client waits for "
              "the guard");
    } else if (is_name_refused(j, FOR_LOCKS, true)) {
        found(j, SEVERITY_UNSAFE, "ACL SETUSER <user> &redisson_lock__channel*",
              "the user may not use Redisson's channels: it cannot lock");
    } else if (is_name_refused(j, FOR_LOCKS, false) && node->trial != REDLOCK_VOTE_GRANTED) {
        unknown(j, NULL,
                "the user may use other keys than this one: say by --prefix how the names of its "
                "locks begin");
    } else {
        judge_comforts(j);
    }
}

/* Without ACL DRYRUN. */
static void judge_trial(struct judging *j)
{
    const struct survey_node *node = j->node;
    bool is_hidden =
        node->dry_run == ANSWER_REFUSED || node->answers[QUESTION_WHOAMI] == ANSWER_REFUSED;

    if (node->trial == REDLOCK_VOTE_GRANTED)
        well(j, "a lock was acquired, extended and released");
    else if (is_hidden)
        unknown(
            j, "+acl|whoami +acl|dryrun",
            "ACL DRYRUN is refused: needs +acl|whoami +acl|dryrun; or --write, which tries a lock");
    else
        unknown(
            j, NULL,
            "ACL DRYRUN, which Redis has since 7.0, has no answer; --write tries a lock instead");
}

void judge_access(struct judging *j)
{
    const struct survey_node *node = j->node;
    enum survey_answer info =
        j->limits->trusts_unknown ? ANSWER_GIVEN : node->answers[QUESTION_INFO_SERVER];

    if (info == ANSWER_ERROR)
        found(j, SEVERITY_UNSAFE, GIVE_BACK "; or --trust-unknown for all clients",
              "the server has no info: the node has no vote");
    else if (info == ANSWER_REFUSED)
        found(j, SEVERITY_UNSAFE, "ACL SETUSER <user> +info; or --trust-unknown for all clients",
              "the user may not ask for INFO: the node has no vote");
    else if (node->trial == REDLOCK_VOTE_REFUSED || node->trial == REDLOCK_VOTE_UNKNOWN)
        found(j, SEVERITY_UNSAFE, "see what it says; redlock(7) has the ACL",
              "a lock was tried in vain: %s", node->trial_text);
    else if (node->trial == REDLOCK_VOTE_NOT_ASKED)
        unknown(j, NULL, "no lock was tried: %s", node->trial_text);
    else if (!j->survey->has_permissions)
        left_out(j, "only redlock doctor asks what a user may do");
    else if (node->dry_run == ANSWER_GIVEN || node->no_user[0] != '\0')
        judge_permissions(j);
    else
        judge_trial(j);
}

/* ---- Its vote ---- */

/* The remedy, by the first word of the server's message. */
static const char *fix_of_barrier(const char *words)
{
    static const struct { const char *begins, *fix; } fixes[] = {
        { "NOREPLICAS ", "CONFIG SET min-replicas-to-write 0: a node of locks has no replicas" },
        { "MISCONF ", "see its log, and whether its disk is full" },
        { "OOM ", "raise maxmemory, or keep other data elsewhere" },
        { "BUSY ", "SCRIPT KILL" },
        { "CLUSTERDOWN ",
          "wait until one server has the slot; redis-cli --cluster check HOST:PORT" },
        { "ERR unknown command", GIVE_BACK },
    };

    for (size_t i = 0; i < sizeof fixes / sizeof fixes[0]; i++)
        if (strncmp(words, fixes[i].begins, strlen(fixes[i].begins)) == 0) return fixes[i].fix;
    return "see what it says";
}

/* Has it none because it waits for its guard or its data, as judge_up and judge_loading tell, or is
 * it unsafe by another check? */
static bool is_vote_explained(const struct judging *j)
{
    enum redlock_trouble trouble = j->node->trouble;

    return trouble == REDLOCK_TROUBLE_RESTARTED || trouble == REDLOCK_TROUBLE_LOADING ||
           is_unsafe(j->findings, j->k);
}

static void judge_no_vote(struct judging *j)
{
    const struct survey_node *node = j->node;
    bool is_passing =
        node->trouble < REDLOCK_TROUBLE_RESTARTED || node->trouble == REDLOCK_TROUBLE_BUSY;
    bool is_gone = strstr(node->trouble_text, "unknown command");
    const char *fix = is_gone ? GIVE_BACK : text_lasting_advice(node->trouble_text);

    if (is_passing)
        found(j, SEVERITY_WARNING, "see its log, and run this again", "has no vote now: %s",
              node->trouble ? node->trouble_text : "no answer in time");
    else
        found(j, SEVERITY_UNSAFE, fix ? fix : "see what it says", "has no vote: %s",
              node->trouble_text);
}

void judge_vote(struct judging *j)
{
    const struct survey_node *node = j->node;
    const char *barrier = survey_barrier(node), *needs = survey_rule(QUESTION_WRITE);
    bool is_replica =
        node->trouble == REDLOCK_TROUBLE_REPLICA || node->trouble == REDLOCK_TROUBLE_READONLY;

    if (barrier && !is_replica)
        found(j, SEVERITY_UNSAFE, fix_of_barrier(barrier),
              "refuses to be written to, so nobody gets its vote: %s", barrier);
    else if (!judge_vote_of(node, j->limits)) {
        if (!is_vote_explained(j)) judge_no_vote(j);
    } else if (node->answers[QUESTION_WRITE] == ANSWER_REFUSED)
        unknown(j, needs, "whether it can be written to is refused: needs %s", needs);
    else if (node->answers[QUESTION_WRITE] != ANSWER_ERROR)
        unknown(j, NULL, "has no answer to whether it can be written to");
    else well(j, "votes, and can be written to");
}
