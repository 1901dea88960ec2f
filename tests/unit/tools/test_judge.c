/* The doctor's checks of conditions that no server can easily be made to show, by INFO as text, and
 * by made-up nodes. */
#define _GNU_SOURCE
#include "../../../tools/admin/checks_access.c"
#include "../../../tools/admin/checks_clock.c"
#include "../../../tools/admin/checks_data.c"
#include "../../../tools/admin/checks_server.c"
#include "../../../tools/admin/clock_log.c"
#include "../../../tools/admin/facts.c"
#include "../../../tools/admin/judge.c"
#include "../../../tools/admin/judging.c"
#include "../../../tools/redlock/fingerprint.c"
#include "../../../tools/redlock/outbox.c"
#include "../../../tools/redlock/descriptors.c"
#include "../../../tools/redlock/print.c"
#include "../../../tools/redlock/replace.c"
#include "../../../tools/redlock/rights.c"
#include "../../../tools/redlock/text.c"

#include "../../tap.h"

enum { SECOND = 1000000 };

static struct survey survey;
static struct findings findings;
static struct judge_limits limits;

static const char good_info[] =
    "# "
    "Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:%040u\r\nuptime_in_seconds:"
    "9000\r\n\r\n"
    "# "
    "Persistence\r\nloading:0\r\nasync_loading:0\r\nrdb_last_bgsave_status:ok\r\naof_enabled:"
    "1\r\naof_last_write_status:ok\r\n"
    "aof_delayed_fsync:0\r\n# "
    "Memory\r\nused_memory:1000000\r\nused_memory_human:1M\r\nmaxmemory:0\r\n"
    "maxmemory_policy:noeviction\r\n# Stats\r\nevicted_keys:0\r\nrejected_connections:0\r\n"
    "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
    "# Clients\r\nconnected_clients:2\r\nmaxclients:10000\r\n";

static void tell_node(unsigned k, const char *info)
{
    survey_read_info(&survey.nodes[k], info, strlen(info));
}

/* The answer to a SET that no server executes. */
static void answer_probe(unsigned k, const char *words)
{
    struct redlock_item item = {
        .type = REDLOCK_ITEM_ERROR, .bytes = (const uint8_t *)words, .size = strlen(words)
    };

    read_refusal(&survey.nodes[k], QUESTION_WRITE, &item);
}

static void make_well(struct survey_node *node, unsigned k)
{
    static const char *const addresses[] = { "a:1", "b:1", "c:1", "d:1", "e:1" };
    static const struct { enum fact fact; const char *text; } facts[] = {
        { FACT_ROLE, "master" }, { FACT_APPENDFSYNC, "always" }, { FACT_FSYNC_ON_REWRITE, "no" },
        { FACT_SAVE, "" },
        { FACT_STOP_WRITES, "yes" }, { FACT_TIMEOUT, "0" },
        { FACT_OUTPUT_LIMIT, "normal 0 0 0 pubsub 33554432 8388608 60" },
        { FACT_CLIENTS_MEMORY, "0" }, { FACT_FLUSHES, "0" }, { FACT_SLOWEST_MEAN, "4" },
        { FACT_SLOW_CALL, "0" },
        { FACT_SCRIPT_ANSWER, "yes" },
        { FACT_SCRIPT_SHA, "e0e1f9fabfc9d4800c877a703b823ac0578ff8db" }, { FACT_USER, "default" }
    };
    char info[sizeof good_info + 40];

    node->address = addresses[k];
    node->is_reached = node->was_asked = node->votes = true;
    memset(node->answers, ANSWER_GIVEN, sizeof node->answers);
    memset(node->permissions, PERMISSION_GIVEN, sizeof node->permissions);
    node->dry_run = ANSWER_GIVEN;
    node->clock = (struct survey_clock){
        .is_known = true, .at_us = 5 * SECOND, .give_or_take_us = 100, .worst_us = 300
    };
    node->later = (struct survey_clock){
        .is_known = true, .at_us = 7 * SECOND, .give_or_take_us = 100, .worst_us = 300
    };
    (void)snprintf(info, sizeof info, good_info, k);
    survey_read_info(node, info, strlen(info));
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        tell(node, facts[i].fact, facts[i].text, strlen(facts[i].text));
}

static void make_all_well(unsigned count)
{
    memset(&survey, 0, sizeof survey);
    survey.count = survey.reached = count;
    survey.quorum = count / 2 + 1;
    survey.fingerprint = (struct fingerprint){ .text = "01234567", .known = count, .count = count };
    survey.has_permissions = true;
    for (unsigned k = 0; k < count; k++) {
        make_well(&survey.nodes[k], k);
        answer_probe(k, "ERR syntax error");
    }
    limits =
        (struct judge_limits){ .guard_ms = 30000,
                               .ttl_ms = 10000,
                               .drift_ppm = 10000,
                               .node_timeout_ms = 500,
                               .skew_ms = 10000,
                               .parts = RIGHTS_PART('l') | RIGHTS_PART('k') | RIGHTS_PART('v') |
                                        RIGHTS_PART('t') | RIGHTS_PART('w') };
}

/* The finding of a check about a node. */
static const struct finding *finding_of(unsigned check, unsigned k)
{
    static const struct finding none;

    judge(&survey, &limits, &findings);
    for (unsigned i = 0; i < findings.count; i++)
        if (findings.all[i].check == check && findings.all[i].node == k) return &findings.all[i];
    return &none;
}

#define EXPECT(check, as, words)                                            \
    do {                                                                    \
        const struct finding *finding = finding_of(check, 0);               \
        CHECK_STR(severity_name(finding->severity), severity_name(as));     \
        CHECK(strstr(finding->text, words) != NULL);                        \
    } while (0)

TEST(a_certificate_that_ends_within_30_days_is_told_and_one_that_has_ended_is_unsafe)
{
    enum { DAY = 24 * 60 * 60, NOW = 1735689600 };     /* 2025-01-01 */

    make_all_well(3);
    survey.wall_us = (uint64_t)NOW * SECOND;
    EXPECT(27, SEVERITY_OK, "");                        /* Without TLS nothing is said of it. */
    CHECK_STR(finding_of(27, 0)->text, "");
    survey.nodes[0].certificate_ends = NOW + 30 * DAY;
    EXPECT(27, SEVERITY_OK, "ends in 30 days, on 2025-01-31");
    survey.nodes[0].certificate_ends--;
    EXPECT(27, SEVERITY_WARNING, "ends in 29 days, on 2025-01-30");
    survey.nodes[0].certificate_ends = NOW + DAY;
    EXPECT(27, SEVERITY_WARNING, "ends in 1 day, on 2025-01-02");
    survey.nodes[0].certificate_ends = NOW + 1;
    EXPECT(27, SEVERITY_WARNING, "ends in 0 days, on 2025-01-01");
    survey.nodes[0].certificate_ends = NOW;
    EXPECT(27, SEVERITY_UNSAFE, "has ended, on 2025-01-01");
}

TEST(a_node_that_tls_cannot_reach_is_unsafe_if_waiting_does_not_mend_it)
{
    make_all_well(3);
    survey.nodes[0].is_reached = false;
    (void)snprintf(survey.nodes[0].trouble_text, sizeof survey.nodes[0].trouble_text,
                   "TLS: its certificate has expired");
    EXPECT(0, SEVERITY_WARNING, "cannot be reached: TLS: its certificate has expired");
    survey.nodes[0].tls_fix = "give the node a new one";
    survey.nodes[0].is_tls_refused = true;
    EXPECT(0, SEVERITY_UNSAFE, "cannot be reached: TLS: its certificate has expired");
    CHECK_STR(finding_of(0, 0)->fix, "give the node a new one");
}

TEST(a_server_with_which_all_is_well_has_no_fault)
{
    make_all_well(3);
    judge(&survey, &limits, &findings);
    for (unsigned i = 0; i < findings.count; i++)
        CHECK(findings.all[i].severity == SEVERITY_OK || findings.all[i].is_left_out);
    CHECK_INT(findings.safe, 3);
    CHECK_INT(findings.worst, SEVERITY_OK);
    CHECK_INT(findings.count, 2 + 3 * 26);
}

TEST(each_check_has_a_name_and_a_meaning)
{
    for (unsigned i = 0; i < JUDGE_CHECKS; i++)
        CHECK(judge_name(i) && judge_meaning(i)[strlen(judge_meaning(i)) - 1] == '.');
}

TEST(valkey_is_known_by_its_own_names)
{
    make_all_well(3);
    memset(survey.nodes[0].has, 0, sizeof survey.nodes[0].has);
    tell_node(0, "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\nserver_mode:"
                 "standalone\r\n");
    EXPECT(1, SEVERITY_OK, "Valkey 8.1.0");
    EXPECT(3, SEVERITY_OK, "stands alone");
}

TEST(redict_is_known_by_its_own_name_of_the_mode)
{
    make_all_well(3);
    memset(survey.nodes[0].has, 0, sizeof survey.nodes[0].has);
    tell_node(0, "redict_version:7.3.6\r\nredict_mode:standalone\r\nredis_version:7.2.4\r\n");
    EXPECT(3, SEVERITY_OK, "stands alone");
    tell_node(0, "redict_mode:cluster\r\n");
    EXPECT(3, SEVERITY_UNSAFE, "cluster");
}

static void tell_members(unsigned k, const char *lines)
{
    survey_read_members(&survey.nodes[k], lines, strlen(lines));
}

#define ID(letter) letter "123456789012345678901234567890123456789"

TEST(members_of_one_cluster_have_one_vote)
{
    make_all_well(3);
    tell_members(0, ID("b") " 127.0.0.1:1@2 myself,master - 0 0 1 connected 0-8191\n"
                    ID("c") " 127.0.0.1:2@3 master - 0 1 2 connected\n");
    tell_members(1,
                 ID("c") " 127.0.0.1:2@3 myself,master - 0 0 2 connected\n" ID(
                     "a") " :0@0 handshake - 0 0 0 connected\n" ID("b") " 127.0.0.1:1@2 master - 0 "
                                                                        "0 1 connected 0-8191");
    tell_members(2, ID("d") " 127.0.0.1:4@5 myself,master - 0 0 1 connected 0-16383\n\nnonsense\n");
    EXPECT(4, SEVERITY_UNSAFE, "is of one cluster with node 1, which has one vote");
    CHECK(strstr(finding_of(4, 0)->fix, "name one endpoint of each cluster") != NULL);
    CHECK(strstr(finding_of(4, 1)->text, "of one cluster with node 0") != NULL);
    CHECK_INT(finding_of(4, 2)->severity, SEVERITY_OK);
    CHECK_INT(findings.safe, 1);
    make_all_well(3);
    survey.nodes[0].answers[QUESTION_MEMBERS] = ANSWER_REFUSED;
    EXPECT(4, SEVERITY_UNKNOWN, "CLUSTER NODES is refused: needs +cluster|nodes");
    survey.nodes[0].answers[QUESTION_MEMBERS] = ANSWER_ERROR;       /* It is in no cluster. */
    EXPECT(4, SEVERITY_OK, "a server and a host of its own");
}

TEST(a_node_that_is_not_managed_has_no_vote_in_a_cluster_beside_one_that_is)
{
    static struct settings settings;

    (void)strcpy(settings.nodes,
                 "a:1,redis://b?managed=1,redis://c?managed=0 redis://d/?durable=0&managed=1");
    judge_limits_init(&limits, &settings);
    CHECK_INT(limits.managed, 1 << 1 | 1 << 3);
    make_all_well(3);
    limits.managed = 1;
    tell_node(0, "redis_mode:cluster\r\n");
    tell_node(1, "redis_mode:cluster\r\n");
    EXPECT(3, SEVERITY_WARNING, "is in cluster mode: two may hold a lock");
    CHECK_INT(finding_of(3, 1)->severity, SEVERITY_UNSAFE);
    CHECK(strstr(finding_of(3, 1)->text, "is a member of a cluster: it has no vote") != NULL);
}

TEST(a_node_that_a_service_runs_gets_advice_that_can_be_followed_there)
{
    make_all_well(1);
    limits.managed = 1;
    tell_node(0, "redis_mode:cluster\r\nconnected_slaves:1\r\n");
    EXPECT(2, SEVERITY_OK, "a master with 1 replica in its cluster");
    CHECK_STR(finding_of(6, JUDGE_NO_NODE)->text,
              "1 node, which its service can replace by a replica");
    tell_node(0, "connected_slaves:0\r\n");
    CHECK_STR(finding_of(6, JUDGE_NO_NODE)->text, "1 node: none may fail");
    tell_node(0, "connected_slaves:1\r\n");
    tell_node(0, "redis_mode:standalone\r\n");
    EXPECT(2, SEVERITY_WARNING, "has 1 replica: a failover forgets locks");
    CHECK(strstr(finding_of(2, 0)->fix, "Managed endpoints") != NULL);
    tell_node(0, "second_repl_offset:1729\r\n");
    EXPECT(2, SEVERITY_UNSAFE, "was a replica: new clients give it no vote for the guard");
    CHECK_STR(finding_of(2, 0)->fix, "wait: each client does so by itself, for --guard, with a "
                                     "ticket and twice --skew; let --wait be longer");
    tell_node(0, "role:slave\r\n");
    EXPECT(2, SEVERITY_UNSAFE, "is a replica");
    CHECK_STR(finding_of(2, 0)->fix,
              "name its master, or the service's configuration endpoint: redis://HOST?managed=1");
    limits.managed = 0;
    CHECK_STR(finding_of(2, 0)->fix, "REPLICAOF NO ONE, or name a server that is none");
    tell_node(0, "redis_mode:cluster\r\n");
    CHECK(strstr(finding_of(2, 0)->fix, "name its master") != NULL);
    answer_probe(0, "CLUSTERDOWN Hash slot not served");
    CHECK_STR(finding_of(28, 0)->fix,
              "wait until one server has the slot; redis-cli --cluster check HOST:PORT");
}

TEST(a_promoted_server_is_unsafe_and_one_that_has_no_replicas_is_well)
{
    make_all_well(3);
    tell_node(0, "second_repl_offset:1729\r\n");
    EXPECT(2, SEVERITY_UNSAFE, "was a replica");
    CHECK_INT(findings.safe, 2);
    tell_node(0, "second_repl_offset:-1\r\n");
    EXPECT(2, SEVERITY_OK, "without replicas");
    tell_node(0, "connected_slaves:2\r\n");
    EXPECT(2, SEVERITY_WARNING, "2 replicas");
}

TEST(a_master_behind_sentinels_has_replicas)
{
    make_all_well(1);
    CHECK_STR(finding_of(6, JUDGE_NO_NODE)->text, "1 node: none may fail");
    survey.nodes[0].address = "sentinel:mymaster";
    CHECK_STR(finding_of(6, JUDGE_NO_NODE)->text, "1 node, whose master its sentinels replace");
    EXPECT(2, SEVERITY_WARNING, "no replica that its sentinels could promote");
    tell_node(0, "connected_slaves:2\r\n");
    EXPECT(2, SEVERITY_OK, "behind sentinels, with 2 replicas");
    tell_node(0, "second_repl_offset:1729\r\n");
    EXPECT(2, SEVERITY_UNSAFE, "was a replica");
    make_all_well(3);
    survey.nodes[2].address = "sentinel:mymaster";
    CHECK_STR(finding_of(6, JUDGE_NO_NODE)->text, "3 nodes, of which 1 may fail");
}

TEST(a_proxy_that_wants_a_key_for_each_script_runs_scripts)
{
    make_all_well(3);
    survey.nodes[0].answers[QUESTION_EVAL] = ANSWER_ERROR;
    (void)strcpy(survey.nodes[0].errors[QUESTION_EVAL],
                 "ERR This instance has Lua scripting support disabled");
    EXPECT(24, SEVERITY_UNSAFE, "runs no scripts");
    CHECK(strstr(finding_of(24, 0)->fix, "--lua") != NULL);
    (void)strcpy(survey.nodes[0].errors[QUESTION_EVAL],
                 "ERR Could not find scripting engine 'lua'");
    EXPECT(24, SEVERITY_UNSAFE, "runs no scripts");
    CHECK(strstr(finding_of(24, 0)->fix, "module lua") != NULL);
    (void)strcpy(survey.nodes[0].errors[QUESTION_EVAL],
                 "ERR for redis cluster, eval/evalsha number of keys can't be negative or zero");
    survey.nodes[0].answers[QUESTION_TRIAL] = ANSWER_ERROR;
    (void)strcpy(survey.nodes[0].errors[QUESTION_TRIAL],
                 "ERR bad lua script for redis cluster, all the keys that the script uses should "
                 "be passed using the KEYS array");
    EXPECT(24, SEVERITY_UNSAFE, "runs no scripts");
    CHECK_STR(finding_of(24, 0)->fix,
              "set script_check_enable to 0 there, or name its direct address");
    survey.nodes[0].answers[QUESTION_TRIAL] = ANSWER_REFUSED;   /* Its key is not allowed. */
    EXPECT(24, SEVERITY_OK, "loads scripts");
    survey.nodes[0].answers[QUESTION_TRIAL] = ANSWER_GIVEN;
    EXPECT(24, SEVERITY_OK, "loads scripts");
}

TEST(what_a_node_is_that_has_no_vote_is_named)
{
    make_all_well(3);
    survey.nodes[0].trouble = REDLOCK_TROUBLE_SENTINEL;
    EXPECT(3, SEVERITY_UNSAFE, "Sentinel");
    survey.nodes[0].trouble = REDLOCK_TROUBLE_MAX_CLIENTS;
    EXPECT(20, SEVERITY_UNSAFE, "no more connections");
    survey.nodes[0].trouble = REDLOCK_TROUBLE_READONLY;
    EXPECT(2, SEVERITY_UNSAFE, "replica");
    survey.nodes[0].trouble = REDLOCK_TROUBLE_LOADING;
    EXPECT(26, SEVERITY_WARNING, "loading");
    CHECK_INT(findings.safe, 2);
    survey.nodes[0].trouble = REDLOCK_TROUBLE_NONE;
    survey.nodes[0].is_reached = false;
    EXPECT(0, SEVERITY_WARNING, "cannot be reached");
    CHECK_INT(findings.count, 2 + 2 * 26 + 1);
}

static bool is_there(unsigned check, unsigned k)
{
    return finding_of(check, k)->text[0] != '\0';
}

TEST(a_node_that_refuses_to_be_written_to_is_unsafe_and_has_no_vote)
{
    static const struct { const char *words, *fix; } barriers[] = {
        { "NOREPLICAS Not enough good replicas to write.", "min-replicas-to-write 0" },
        { "MISCONF Redis is configured to save RDB snapshots", "disk is full" },
        { "OOM command not allowed when used memory > 'maxmemory'.", "raise maxmemory" },
        { "ERR unknown command 'SET', with args beginning with: 'a'", "take rename-command" },
        { "MISCONF Errors writing to the AOF file: No space left on device", "disk is full" },
        { "WHATEVER", "see what it says" },
    };

    for (size_t i = 0; i < sizeof barriers / sizeof barriers[0]; i++) {
        make_all_well(3);
        answer_probe(0, barriers[i].words);
        EXPECT(28, SEVERITY_UNSAFE, barriers[i].words);
        CHECK(strstr(finding_of(28, 0)->fix, barriers[i].fix) != NULL);
        CHECK(!judge_vote_of(&survey.nodes[0], &limits) &&
              judge_vote_of(&survey.nodes[1], &limits));
        CHECK_INT(findings.safe, 2);
        /* It will not get one by waiting either. */
        survey.nodes[0].trouble = REDLOCK_TROUBLE_RESTARTED;
        survey.nodes[0].votes = false;
        EXPECT(28, SEVERITY_UNSAFE, barriers[i].words);
        CHECK_INT(findings.safe, 2);
    }
}

TEST(whether_a_node_can_be_written_to_may_be_unknown)
{
    make_all_well(3);
    answer_probe(0,
                 "NOPERM this user has no permissions to access one of the keys used as arguments");
    EXPECT(28, SEVERITY_UNKNOWN, "needs +set ~redlock:doctor:*");
    CHECK_INT(findings.safe, 3);
    survey.nodes[0].answers[QUESTION_WRITE] = ANSWER_GIVEN;
    EXPECT(28, SEVERITY_UNKNOWN, "no answer");
    survey.nodes[0].answers[QUESTION_WRITE] = ANSWER_NONE;
    EXPECT(28, SEVERITY_UNKNOWN, "no answer");
    answer_probe(0, "ERR syntax error");
    EXPECT(28, SEVERITY_OK, "can be written to");
}

static void take_vote(unsigned k, enum redlock_trouble trouble, const char *text)
{
    survey.nodes[k].votes = false;
    survey.nodes[k].trouble = trouble;
    (void)snprintf(survey.nodes[k].trouble_text, sizeof survey.nodes[k].trouble_text, "%s", text);
}

TEST(a_node_that_is_reached_and_has_no_vote_is_not_safe_unless_it_has_just_restarted)
{
    /* A script is told of a command that is not there by Redis 7.0 and by Valkey 9.1. */
    static const char *const in_scripts[] = {
        "ERR Unknown Redis command called from script script: 1a8c, on @user_script:2.",
        "ERR Unknown command called from script script: on @user_script:2.",
    };

    make_all_well(3);
    take_vote(0, REDLOCK_TROUBLE_OTHER_ERROR, "ERR unknown command 'EVAL'");
    EXPECT(28, SEVERITY_UNSAFE, "has no vote: ERR unknown command 'EVAL'");
    CHECK(strstr(finding_of(28, 0)->fix, "rename-command") != NULL);
    CHECK_INT(findings.safe, 2);
    for (size_t i = 0; i < sizeof in_scripts / sizeof in_scripts[0]; i++) {
        take_vote(0, REDLOCK_TROUBLE_OTHER_ERROR, in_scripts[i]);
        EXPECT(28, SEVERITY_UNSAFE, in_scripts[i]);
        CHECK(strstr(finding_of(28, 0)->fix, "name servers that have it") != NULL);
    }
    take_vote(0, REDLOCK_TROUBLE_NO_IDENTITY, "does not say who it is");
    EXPECT(28, SEVERITY_UNSAFE, "has no vote: does not say who it is");
    take_vote(0, REDLOCK_TROUBLE_CLOSED, "connection closed");
    EXPECT(28, SEVERITY_WARNING, "has no vote now: connection closed");
    CHECK_INT(findings.safe, 2);
    take_vote(0, REDLOCK_TROUBLE_REPLICA, "replica");
    CHECK(!is_there(28, 0) && is_there(2, 0));
    CHECK_INT(findings.safe, 2);
    take_vote(0, REDLOCK_TROUBLE_RESTARTED, "restarted 3 s ago");
    CHECK(!is_there(28, 0));
    CHECK_INT(findings.safe, 3);
}

TEST(a_node_that_says_nothing_of_itself_votes_only_where_it_is_trusted)
{
    make_all_well(3);
    survey.nodes[0].has[FACT_ROLE] = false;
    CHECK(!judge_vote_of(&survey.nodes[0], &limits));
    CHECK(is_there(28, 0) && findings.safe == 2);
    limits.trusts_unknown = true;
    CHECK(judge_vote_of(&survey.nodes[0], &limits));
    EXPECT(28, SEVERITY_OK, "votes");
    CHECK_INT(findings.safe, 3);
}

/* The answer of ACL DRYRUN about the first need with that rule. */
static void answer_dry_run(unsigned k, const char *rule, const char *words)
{
    struct redlock_item item = {
        .type = REDLOCK_ITEM_ERROR, .bytes = (const uint8_t *)words, .size = strlen(words)
    };
    unsigned need = 0;

    while (strcmp(survey_needs[need].rule, rule) != 0) need++;
    read_no_permission(&survey.nodes[k], need, &item);
}

TEST(a_command_that_the_server_lacks_is_not_forgotten_over_the_next)
{
    make_all_well(3);
    answer_dry_run(0, "+evalsha", "ERR Command 'EVALSHA' not found");
    EXPECT(23, SEVERITY_WARNING,
           "the server has no evalsha: scripts go out in full, at the second try");
    CHECK_INT(findings.safe, 3);
    CHECK_INT(survey.nodes[0].dry_run, ANSWER_GIVEN);
    make_all_well(3);
    answer_dry_run(0, "+publish", "ERR Command 'PUBLISH' not found");
    EXPECT(23, SEVERITY_WARNING, "the server has no publish: clients that wait");
    make_all_well(3);
    answer_dry_run(0, "+evalsha", "ERR something else");
    CHECK_INT(survey.nodes[0].dry_run, ANSWER_GIVEN);
    survey.nodes[1].dry_run = ANSWER_NONE;
    answer_dry_run(1, "+set", "ERR Unknown subcommand or wrong number of arguments for 'DRYRUN'.");
    CHECK_INT(survey.nodes[1].dry_run, ANSWER_ERROR);
    answer_dry_run(1, "+set",
                   "NOPERM this user has no permissions to run the 'acl|dryrun' command");
    CHECK_INT(survey.nodes[1].dry_run, ANSWER_REFUSED);
}

static bool has_need(const char *right)
{
    for (unsigned i = 0; survey_needs[i].rule; i++)
        if (strcmp(survey_needs[i].rule, right) == 0) return true;
    return false;
}

TEST(each_command_that_locks_need_is_asked_for)
{
    static char list[ADVICE_MAX];

    (void)rights_list(list, ~0u, 0);
    for (char *right = strtok(list, " "); right; right = strtok(NULL, " ")) {
        /* Nothing depends on a client's name; SCRIPT has a check of its own; GETRANGE
         * is for status. */
        bool is_left_out = strcmp(right, "+client|setname") == 0 ||
                           strcmp(right, "+script|load") == 0 || strcmp(right, "+getrange") == 0;
        TAP_CONTEXT("%s", right);
        CHECK(*right != '+' || has_need(right) != is_left_out);
    }
    for (unsigned i = 0; survey_needs[i].rule; i++) CHECK(rights_of(survey_needs[i].rule) != 0);
    CHECK_INT(rights_of("+ze"), 0);
}

/* Each kind of lock gets the whole list for a user that may do nothing, and no word of commands
 * that it does without. */
TEST(all_that_a_kind_of_lock_needs_is_told_at_once)
{
    static const struct { char letter; const char *with, *without; } kinds[] = {
        { 'k', " +get ", "+zadd" }, { 's', " +zremrangebyscore ", "+zrank" },
        { 'f', " +zrank ", "+zcard" },
        { 'n', " +time", "+zscore" }, { 'j', " +hexists ", "+zadd" }
    };

    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        TAP_CONTEXT("%c", kinds[i].letter);
        make_all_well(3);
        if (kinds[i].letter == 'j')
            limits.parts &= ~(RIGHTS_PART('k') | RIGHTS_PART('t') | RIGHTS_PART('w'));
        limits.parts |= RIGHTS_PART(kinds[i].letter);
        survey.nodes[0].dry_run = ANSWER_GIVEN;
        memset(survey.nodes[0].permissions, PERMISSION_REFUSED, sizeof survey.nodes[0].permissions);
        EXPECT(23, SEVERITY_UNSAFE, kinds[i].with);
        EXPECT(23, SEVERITY_UNSAFE, ": it cannot lock");
        CHECK(strstr(finding_of(23, 0)->text, kinds[i].without) == NULL);
    }
}

TEST(a_channel_that_a_user_may_not_use_delays_it_or_is_needed_to_lock)
{
    make_all_well(3);
    survey.nodes[0].dry_run = ANSWER_GIVEN;
    for (unsigned i = 0; survey_needs[i].rule; i++)
        if (strstr(survey_needs[i].rule, "scribe") || strstr(survey_needs[i].rule, "publish"))
            survey.nodes[0].permissions[i] = PERMISSION_KEY_REFUSED;
    EXPECT(23, SEVERITY_WARNING, "may not use the channels redlock:*");
    limits.parts = RIGHTS_PART('l') | RIGHTS_PART('j') | RIGHTS_PART('v');
    EXPECT(23, SEVERITY_UNSAFE, "may not use Redisson's channels: it cannot lock");
}

TEST(a_user_that_the_server_does_not_know_is_unsafe)
{
    make_all_well(3);
    survey.nodes[0].dry_run = ANSWER_NONE;
    answer_dry_run(0, "+set", "ERR User 'apq' not found");
    EXPECT(23, SEVERITY_UNSAFE, "User 'apq' not found");
    survey.has_permissions = false;
    EXPECT(23, SEVERITY_UNKNOWN, "not looked at");
    CHECK(finding_of(23, 0)->is_left_out);
}

/* The user's rights to the canary; it may do all the rest. */
static void allow_canary(unsigned k, enum survey_permission permission)
{
    for (unsigned i = 0; survey_needs[i].rule; i++)
        if (survey_purpose(&survey_needs[i], limits.parts) == FOR_MEMORY)
            survey.nodes[k].permissions[i] = (uint8_t)permission;
}

TEST(a_user_that_may_not_use_the_canary_of_a_durable_node_is_worth_a_warning)
{
    make_all_well(3);
    survey.nodes[0].dry_run = ANSWER_GIVEN;
    allow_canary(0, PERMISSION_KEY_REFUSED);
    EXPECT(23, SEVERITY_OK, "may do all");
    limits.durable = 1;
    EXPECT(23, SEVERITY_WARNING, "may not use redlock:canary");
    CHECK_STR(finding_of(23, 0)->fix, "ACL SETUSER <user> ~redlock:canary*");
    limits.guard_ms = 0;
    EXPECT(23, SEVERITY_OK, "may do all");
}

TEST(a_durable_node_without_its_canary_is_new_or_has_forgotten)
{
    make_all_well(3);
    judge(&survey, &limits, &findings);
    CHECK_STR(finding_of(29, 0)->text, "");
    limits.durable = 1;
    survey.nodes[0].answers[QUESTION_CANARY] = ANSWER_GIVEN;
    EXPECT(29, SEVERITY_UNSAFE, "but has no redlock:canary");
    tell(&survey.nodes[0], FACT_CANARY, "0123", 4);
    EXPECT(29, SEVERITY_OK, "has its canary");
    survey.nodes[0].answers[QUESTION_CANARY] = ANSWER_REFUSED;
    EXPECT(29, SEVERITY_UNKNOWN, "is refused: needs +get ~redlock:canary*");
    limits.guard_ms = 0;
    judge(&survey, &limits, &findings);
    CHECK_STR(finding_of(29, 0)->text, "");
}

TEST(memory_is_judged_in_percent)
{
    make_all_well(3);
    tell_node(0, "maxmemory:1000000\nused_memory:800000\n");
    EXPECT(9, SEVERITY_OK, "80 %");
    tell_node(0, "used_memory:810000\n");
    EXPECT(9, SEVERITY_WARNING, "81 %");
    tell_node(0, "used_memory:960000\n");
    EXPECT(9, SEVERITY_UNSAFE, "96 %");
}

TEST(an_aof_that_fails_or_stalls_is_worth_a_warning)
{
    make_all_well(3);
    tell_node(0, "aof_delayed_fsync:17\r\n");
    EXPECT(10, SEVERITY_WARNING, "17 fsyncs");
    tell_node(0, "aof_last_write_status:err\r\n");
    EXPECT(10, SEVERITY_WARNING, "last write");
    limits.guard_ms = 0;
    tell_node(0, "aof_enabled:0\r\n");
    EXPECT(10, SEVERITY_UNSAFE, "no AOF");
}

TEST(a_node_that_is_declared_durable_must_remember_whatever_the_guard_is)
{
    static struct settings settings;

    (void)strcpy(settings.nodes, "a:1,redis://b/1?durable=0 redis://:durable=1@c, "
                                 "redis+unix:///s?db=1&durable=1\nredis://e?durable=1");
    judge_limits_init(&limits, &settings);
    CHECK_INT(limits.durable, 1 << 3 | 1 << 4);
    make_all_well(3);
    tell_node(0, "uptime_in_seconds:3\r\n");
    EXPECT(14, SEVERITY_WARNING, "no vote");
    limits.durable = 1;
    EXPECT(14, SEVERITY_OK, "it is declared durable");
    EXPECT(11, SEVERITY_OK, "always");
    tell(&survey.nodes[0], FACT_APPENDFSYNC, "everysec", 8);
    EXPECT(11, SEVERITY_UNSAFE, "appendfsync is everysec, and it is declared durable");
    tell_node(0, "aof_enabled:0\r\n");
    EXPECT(10, SEVERITY_UNSAFE, "a restart forgets locks");
}

TEST(a_save_that_failed_is_worth_a_warning_only_if_writes_are_refused)
{
    make_all_well(3);
    tell_node(0, "rdb_last_bgsave_status:err\r\n");
    EXPECT(13, SEVERITY_OK, "can be written to");
    tell(&survey.nodes[0], FACT_SAVE, "3600 1", 6);
    EXPECT(13, SEVERITY_WARNING, "MISCONF");
    survey.nodes[0].has[FACT_STOP_WRITES] = false;
    survey.nodes[0].answers[QUESTION_STOP_WRITES] = ANSWER_REFUSED;
    EXPECT(13, SEVERITY_UNKNOWN, "needs +config|get");
}

TEST(a_guard_that_is_shorter_than_locks_last_is_unsafe)
{
    make_all_well(3);
    limits.ttl_ms = limits.guard_ms;
    EXPECT(14, SEVERITY_OK, "up for");
    limits.ttl_ms++;
    EXPECT(14, SEVERITY_UNSAFE, "its guard, 30.0 s, is shorter than locks last");
    CHECK_INT(findings.safe, 0);
    limits.guard_ms = 0;
    EXPECT(14, SEVERITY_OK, "there is no guard");
}

TEST(what_is_advised_ends_the_finding)
{
    make_all_well(3);
    tell_node(0, "rejected_connections:3\r\n");
    EXPECT(20, SEVERITY_WARNING, "has refused 3");
    CHECK(strstr(finding_of(20, 0)->fix, "then CONFIG RESETSTAT") != NULL);
    tell(&survey.nodes[0], FACT_SLOW_CALL, "2000000", 7);
    EXPECT(19, SEVERITY_WARNING, "took 2.0 s");
    CHECK(strstr(finding_of(19, 0)->fix, "then SLOWLOG RESET") != NULL);
    tell(&survey.nodes[0], FACT_SLOWEST_MEAN, "2000000", 7);
    CHECK(strstr(finding_of(19, 0)->fix, "then CONFIG RESETSTAT") != NULL);
    survey.nodes[0].is_reached = false;
    survey.nodes[0].trouble = REDLOCK_TROUBLE_DENIED;
    CHECK(strstr(finding_of(0, 0)->fix, "protected-mode no") != NULL);
    survey.nodes[0].trouble = REDLOCK_TROUBLE_WRONGPASS;
    CHECK(strstr(finding_of(0, 0)->fix, "--user") != NULL);
    survey.nodes[0].trouble = REDLOCK_TROUBLE_NOAUTH;
    CHECK(strstr(finding_of(0, 0)->fix, "REDLOCK_PASSWORD") != NULL);
}

TEST(a_server_that_restarted_has_no_vote_for_the_guard_and_no_ticket_for_longer)
{
    make_all_well(3);
    tell_node(0, "uptime_in_seconds:11\r\n");
    EXPECT(14, SEVERITY_WARNING, "no vote for another 20.0 s");
    tell_node(0, "uptime_in_seconds:41\r\n");
    EXPECT(14, SEVERITY_WARNING, "no ticket for another 10.0 s");
    tell_node(0, "uptime_in_seconds:51\r\n");
    EXPECT(14, SEVERITY_OK, "up for 50.0 s");
    tell_node(0, "uptime_in_seconds:-3600\r\n");
    EXPECT(14, SEVERITY_UNKNOWN, "does not tell");
}

TEST(if_most_nodes_agree_with_each_other_it_is_our_clock_that_is_wrong)
{
    make_all_well(3);
    for (unsigned k = 0; k < 3; k++)
        survey.nodes[k].clock.ahead_us = -20 * SECOND - (int64_t)k * 1000;
    EXPECT(15, SEVERITY_UNSAFE, "20.0 s behind");
    CHECK(strstr(finding_of(15, 0)->fix, "this machine's clock") != NULL);
    survey.nodes[1].clock.ahead_us = survey.nodes[2].clock.ahead_us = 0;
    CHECK(strstr(finding_of(15, 0)->fix, "set its clock") != NULL);
}

TEST(what_a_round_trip_hides_of_a_clock_is_no_fault_of_it)
{
    make_all_well(3);
    survey.nodes[0].clock.ahead_us = 1500 * 1000;
    EXPECT(15, SEVERITY_WARNING, "1.5 s ahead");
    survey.nodes[0].clock.give_or_take_us = 600 * 1000;
    EXPECT(15, SEVERITY_OK, "within 2100 ms");
}

TEST(the_rate_of_a_clock_is_judged_by_the_drift)
{
    make_all_well(3);
    survey.nodes[0].later.since_boot_us = 1500;
    EXPECT(16, SEVERITY_WARNING, "750 ppm");
    survey.nodes[0].later.since_boot_us = 84000;
    EXPECT(16, SEVERITY_UNSAFE, "42000 ppm too fast");
    limits.drift_ppm = 84000;
    EXPECT(16, SEVERITY_WARNING, "42000 ppm");
    survey.nodes[0].clock.give_or_take_us = 200000;
    EXPECT(16, SEVERITY_UNKNOWN, "more than the drift");
    survey.nodes[0].clock.give_or_take_us = 100;
    survey.nodes[0].later.since_boot_us = -84000;
    EXPECT(16, SEVERITY_WARNING, "-42000 ppm");
}

/* One look later by that much of our time, in which its clock has gone by so much more. */
static void look_later(uint64_t us, int64_t more_us)
{
    survey.nodes[0].clock.at_us += us;
    survey.nodes[0].clock.since_boot_us += more_us;
}

TEST(a_step_of_a_clock_is_told_for_an_hour)
{
    struct clock_log log = { 0 };

    make_all_well(3);
    limits.log = &log;
    survey.nodes[0].clock.at_us = SECOND;
    judge_note_clocks(&survey, &limits, &log);
    CHECK_INT(log.count, 3);
    EXPECT(17, SEVERITY_OK, "not stepped");
    look_later(15 * SECOND, -20 * SECOND);
    EXPECT(17, SEVERITY_WARNING, "19.9 s within the last 15.0 s");
    judge_note_clocks(&survey, &limits, &log);
    survey.nodes[0].clock.is_known = false;
    judge_note_clocks(&survey, &limits, &log);
    CHECK_INT(log.count, 3);
    survey.nodes[0].clock.is_known = true;
    look_later((uint64_t)3600 * SECOND - 1, 0);
    judge_note_clocks(&survey, &limits, &log);
    EXPECT(17, SEVERITY_WARNING, "stepped by");
    look_later(1, 0);
    EXPECT(17, SEVERITY_WARNING, "stepped by");
    judge_note_clocks(&survey, &limits, &log);
    EXPECT(17, SEVERITY_OK, "not stepped");
    look_later(15 * SECOND, 10 * SECOND);
    EXPECT(17, SEVERITY_UNSAFE, "forward within the last 15.0 s: keys ended early");
}

TEST(a_node_that_is_slower_than_the_node_timeout_is_unsafe)
{
    make_all_well(3);
    survey.nodes[0].later.worst_us = 501 * 1000;
    EXPECT(18, SEVERITY_UNSAFE, "501 ms");
    survey.nodes[0].later.worst_us = 201 * 1000;
    EXPECT(18, SEVERITY_WARNING, "1/50 of the TTL");
}

TEST(commands_that_empty_a_server_are_counted_unless_they_were_refused)
{
    make_all_well(3);
    tell_node(
        0, "cmdstat_flushall:calls=3,usec=9,usec_per_call=3.00,rejected_calls=0,failed_calls=1\r\n"
           "cmdstat_swapdb:calls=1,usec=9,usec_per_call=9.00,rejected_calls=0,failed_calls=0\r\n"
           "cmdstat_get:calls=7,usec=9,usec_per_call=1.28,rejected_calls=0,failed_calls=0\r\n");
    EXPECT(22, SEVERITY_UNSAFE, "3 times");
    tell_node(0, "cmdstat_keys:calls=2,usec=3000000,usec_per_call=1500000.00,rejected_calls=0,"
                 "failed_calls=0\r\n");
    EXPECT(19, SEVERITY_WARNING, "keys takes 1.5 s on average");
}

TEST(a_fact_that_is_too_long_or_no_number_is_unknown)
{
    char line[600];

    make_all_well(3);
    memset(survey.nodes[0].has, 0, sizeof survey.nodes[0].has);
    memset(survey.nodes[0].told, 0, sizeof survey.nodes[0].told);
    (void)snprintf(
        line, sizeof line,
        "evicted_keys:%0200d\r\nmaxmemory_policy:%0200d\r\nmaxmemory:x\r\n:\r\nused_memory\r\n", 0,
        0);
    tell_node(0, line);
    for (unsigned i = 7; i <= 9; i++) EXPECT(i, SEVERITY_UNKNOWN, "does not tell");
    tell_node(0, "evicted_keys:99999999999999999999999\r\n");
    EXPECT(8, SEVERITY_UNKNOWN, "does not tell");
}

TEST(why_a_fact_is_unknown_is_told)
{
    make_all_well(3);
    survey.nodes[0].has[FACT_TIMEOUT] = false;
    memset(survey.nodes[0].told[FACT_TIMEOUT], 0, SURVEY_TEXT_MAX);
    survey.nodes[0].answers[QUESTION_TIMEOUT] = ANSWER_ERROR;
    (void)strcpy(survey.nodes[0].errors[QUESTION_TIMEOUT], "ERR unknown command 'CONFIG'");
    EXPECT(21, SEVERITY_UNKNOWN, "CONFIG GET timeout: ERR unknown command");
    CHECK(finding_of(21, 0)->needs == NULL);
    survey.nodes[0].answers[QUESTION_TIMEOUT] = ANSWER_NONE;
    EXPECT(21, SEVERITY_UNKNOWN, "no answer in time");
    survey.nodes[0].answers[QUESTION_TIMEOUT] = ANSWER_REFUSED;
    CHECK_STR(finding_of(21, 0)->needs, "+config|get");
    CHECK_INT(findings.worst, SEVERITY_UNKNOWN);
}

TEST(before_redis_7_only_a_trial_says_what_a_user_may_do)
{
    make_all_well(3);
    survey.nodes[0].dry_run = ANSWER_ERROR;
    EXPECT(23, SEVERITY_UNKNOWN, "--write");
    survey.nodes[0].trial = REDLOCK_VOTE_GRANTED;
    EXPECT(23, SEVERITY_OK, "acquired, extended and released");
    survey.nodes[0].trial = REDLOCK_VOTE_NOT_ASKED;
    EXPECT(23, SEVERITY_UNKNOWN, "no lock was tried");
}

static bool are_one_host(const char *a, const char *b)
{
    return is_same_host(&(struct survey_node){ .address = a },
                        &(struct survey_node){ .address = b });
}

TEST(two_sockets_and_one_name_with_two_ports_are_one_host)
{
    CHECK(are_one_host("unix:/a", "unix:/b"));
    CHECK(are_one_host("[::1]:7000", "[::1]:7001"));
    CHECK(!are_one_host("host1:6379", "host2:6379"));
    CHECK(!are_one_host("unix:/a", "unix"));
}

TEST(two_names_by_which_connections_lead_to_one_address_are_one_host)
{
    struct survey_node a = { .address = "host1:6379" }, b = { .address = "host2:6379" };

    CHECK(!is_same_host(&a, &b));
    memcpy(a.host, "192.0.2.1", sizeof "192.0.2.1");
    CHECK(!is_same_host(&a, &b));
    memcpy(b.host, a.host, sizeof b.host);
    CHECK(is_same_host(&a, &b));
    b.host[0]++;
    CHECK(!is_same_host(&a, &b));
}

TAP_MAIN
