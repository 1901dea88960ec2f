/* Checks 0 to 6. Is it there, what is it, and are the nodes independent of each other? */
#include <inttypes.h>
#include <string.h>

#include "checks.h"

enum { VERSION_MIN = 6 };

#define SEE_MANAGED "see Managed endpoints in redlock(7)"

/* ---- The server ---- */

static const char *fix_of_reach(const struct survey_node *node)
{
    if (node->tls_fix) return node->tls_fix;
    if (node->trouble == REDLOCK_TROUBLE_DENIED)
        return "protected mode: give it a password (requirepass), or protected-mode no";
    if (node->trouble == REDLOCK_TROUBLE_NOAUTH)
        return "set REDLOCK_PASSWORD, or give --password-file";
    if (node->trouble == REDLOCK_TROUBLE_WRONGPASS) return "check the password and --user";
    return "see that the server runs, that the address is right, and the password";
}

void judge_reach(struct judging *j)
{
    const struct survey_node *node = j->node;
    const char *fix = fix_of_reach(node);

    if (node->is_reached) well(j, "answers");
    else
        found(j, node->is_tls_refused ? SEVERITY_UNSAFE : SEVERITY_WARNING, fix,
              "cannot be reached: %s", node->trouble_text);
}

void judge_version(struct judging *j)
{
    const char *version = text_of(j, FACT_VERSION);

    if (!version) return;
    if (j->node->has[FACT_VALKEY_VERSION]) well(j, "Valkey %s", j->node->told[FACT_VALKEY_VERSION]);
    else if (version[0] < '0' + VERSION_MIN && version[1] == '.')
        found(j, SEVERITY_UNSAFE, "install Redis 6.0 or newer, or Valkey", "Redis %s is too old",
              version);
    else well(j, "Redis %s", version);
}

static bool is_in_cluster_mode(const struct judging *j)
{
    return j->node->trouble == REDLOCK_TROUBLE_CLUSTER ||
           strcmp(j->node->told[FACT_MODE], "cluster") == 0;
}

static void judge_replicas(struct judging *j, uint64_t replicas)
{
    const char *fix =
        "take its replicas away, or with Sentinel name it sentinel://HOST,HOST,HOST/NAME";
    const char *plural = replicas == 1 ? "" : "s";
    bool is_watched = is_behind_sentinels(j->node);

    if (is_watched && replicas > 0)
        well(j, "a master behind sentinels, with %" PRIu64 " replica%s", replicas, plural);
    else if (is_watched)
        found(j, SEVERITY_WARNING, "give it a replica",
              "has no replica that its sentinels could promote");
    else if (replicas > 0 && is_managed(j) &&
             is_in_cluster_mode(j)) /* What is left of that, judge_mode tells. */
        well(j, "a master with %" PRIu64 " replica%s in its cluster", replicas, plural);
    else if (replicas > 0)
        found(j, SEVERITY_WARNING, is_managed(j) ? SEE_MANAGED : fix,
              "has %" PRIu64 " replica%s: a failover forgets locks", replicas, plural);
    else well(j, "a master without replicas");
}

static const char *fix_of_role(bool is_of_service, bool is_promoted)
{
    if (!is_promoted)
        return is_of_service ? "name its master, or the service's configuration endpoint: "
                               "redis://HOST?managed=1"
                             : "REPLICAOF NO ONE, or name a server that is none";
    return is_of_service ? "wait: each client does so by itself, for --guard, with a ticket and "
                           "twice --skew; let --wait be longer"
                         : "30 s (--guard) after the failover: CONFIG SET repl-backlog-ttl 1, "
                           "redis-cli --rdb FILE, 5 s later 3600; no replicas";
}

void judge_role(struct judging *j)
{
    const struct survey_node *node = j->node;
    bool is_replica =
        node->trouble == REDLOCK_TROUBLE_REPLICA || node->trouble == REDLOCK_TROUBLE_READONLY;
    uint64_t replicas, offset;
    const char *role = is_replica ? "slave" : text_of(j, FACT_ROLE);
    /* Its role is not ours to change. */
    bool is_of_service = is_managed(j) || is_in_cluster_mode(j);

    if (!role) return;
    if (strcmp(role, "master") != 0)
        found(j, SEVERITY_UNSAFE, fix_of_role(is_of_service, false),
              "is a replica: it has no vote");
    else if (survey_number(node, FACT_SECOND_OFFSET, &offset))      /* S30: -1 is no number. */
        found(j, SEVERITY_UNSAFE, fix_of_role(is_of_service, true),
              "was a replica: new clients give it no vote for the guard");
    else if (number_of(j, FACT_REPLICAS, &replicas)) judge_replicas(j, replicas);
}

void judge_mode(struct judging *j)
{
    bool is_cluster = j->node->trouble == REDLOCK_TROUBLE_CLUSTER,
         is_sentinel = j->node->trouble == REDLOCK_TROUBLE_SENTINEL;
    const char *mode = is_cluster ? "cluster" : is_sentinel ? "sentinel" : text_of(j, FACT_MODE);

    if (!mode) return;
    if (strcmp(mode, "standalone") == 0) well(j, "stands alone");
    else if (strcmp(mode, "sentinel") == 0)
        found(j, SEVERITY_UNSAFE, "name its master: sentinel://HOST,HOST,HOST/NAME",
              "is a Sentinel: it has no vote");
    else if (is_managed(j))
        found(j, SEVERITY_WARNING, SEE_MANAGED,
              "is in %s mode: two may hold a lock if a failover leaves the old master granting",
              mode);
    else
        found(j, SEVERITY_UNSAFE,
              "a server of its own; or the one endpoint of a service: redis://HOST?managed=1",
              "is a member of a %s: it has no vote", mode);
}

/* Without the port; all sockets in the file system are of one host. */
static size_t host_size(const char *address)
{
    const char *colon = strncmp(address, "unix:", 5) == 0 ? address + 5 : strrchr(address, ':');

    return colon ? (size_t)(colon - address) : strlen(address);
}

/* Compares the list's names, and the addresses of the connections. */
static bool is_same_host(const struct survey_node *a, const struct survey_node *b)
{
    size_t size = host_size(a->address);

    if (a->host[0] != '\0' && strcmp(a->host, b->host) == 0) return true;
    return size == host_size(b->address) && memcmp(a->address, b->address, size) == 0;
}

/* S12: of each name one master grants the lock, and the others of its cluster refuse. False:
 * nothing of that was found. */
static bool judge_same_cluster(struct judging *j)
{
    const struct survey *survey = j->survey;
    const char *cluster = j->node->told[FACT_CLUSTER];

    for (unsigned i = 0; j->node->has[FACT_CLUSTER] && i < survey->count; i++) {
        if (i == j->k || strcmp(survey->nodes[i].told[FACT_CLUSTER], cluster) != 0) continue;
        found(
            j, SEVERITY_UNSAFE,
            "name one endpoint of each cluster: alone, or one of three if each is another service",
            "is of one cluster with node %u, which has one vote: of a name the one grants the "
            "lock, the other answers MOVED",
            i);
        return true;
    }
    if (survey_asked(j->node, FACT_CLUSTER) != ANSWER_REFUSED) return false;
    hidden(j, FACT_CLUSTER);
    return true;
}

void judge_same_server(struct judging *j)
{
    const struct survey *survey = j->survey;
    const char *id = j->node->told[FACT_RUN_ID];

    if (j->node->trouble == REDLOCK_TROUBLE_SAME_SERVER) {
        found(j, SEVERITY_UNSAFE, "name each server once", "is the %s", j->node->trouble_text);
        return;
    }
    if (!j->node->has[FACT_RUN_ID] &&
        (j->node->has[FACT_PROCESS_ID] || j->node->has[FACT_REPLID])) {
        found(j, SEVERITY_WARNING, "if none of the nodes has a replica: --trust-unknown",
              "has no run_id: each client waits for the guard at its first contact, since a "
              "failover would not show");
        return;
    }
    if (!text_of(j, FACT_RUN_ID)) return;
    for (unsigned i = 0; i < survey->count; i++) {
        if (i == j->k || strcmp(survey->nodes[i].told[FACT_RUN_ID], id) != 0) continue;
        found(j, SEVERITY_UNSAFE, "name each server once", "is the same server as node %u", i);
        return;
    }
    if (judge_same_cluster(j)) return;
    for (unsigned i = 0; i < survey->count; i++) {
        if (i == j->k || !is_same_host(&survey->nodes[i], j->node)) continue;
        found(j, SEVERITY_WARNING, "put each node on a host of its own",
              "is on the host of node %u: one failure, two votes", i);
        return;
    }
    well(j, "a server and a host of its own");
}

/* ---- The list ---- */

void judge_fingerprint(struct judging *j)
{
    const struct fingerprint *fingerprint = &j->survey->fingerprint;
    char words[FINGERPRINT_WORDS_MAX];

    if (fingerprint->known == fingerprint->count)
        well(j, "%s: the same wherever these nodes are used",
             fingerprint_describe(fingerprint, words));
    else
        unknown(j, NULL, "%s", fingerprint_describe(fingerprint, words));
}

static bool has_replicas(const struct survey_node *node)
{
    uint64_t replicas;

    return survey_number(node, FACT_REPLICAS, &replicas) && replicas > 0;
}

void judge_count(struct judging *j)
{
    unsigned count = j->survey->count, quorum = j->survey->quorum;

    if (count == 1 && is_behind_sentinels(&j->survey->nodes[0]))
        well(j, "1 node, whose master its sentinels replace");
    else if (count == 1 && (j->limits->managed & 1) && has_replicas(&j->survey->nodes[0]))
        well(j, "1 node, which its service can replace by a replica");
    else if (count < 3)
        found(j, SEVERITY_WARNING, "3 or 5 nodes", "%u node%s: none may fail", count,
              count == 1 ? "" : "s");
    else if (count % 2 == 0)
        found(j, SEVERITY_WARNING, "one node more, or less",
              "%u nodes: no more may fail than of %u", count, count - 1);
    else well(j, "%u nodes, of which %u may fail", count, count - quorum);
}
