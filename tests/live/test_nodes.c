/* Real nodes in trouble, because they are down, frozen, restarted, misconfigured, full or busy.
 * Tests the verdict, the library's words about the node, and that nothing of ours is left
 * on it afterwards. */
#define _XOPEN_SOURCE 700

#include "clients.h"

#include <unistd.h>

enum {
    NODES = 3,
    /* Far below PATIENCE_MS, which a verdict that waits for a frozen node would take. */
    AT_ONCE_MS = 2000,
    HASTE_MS = 300          /* A node timeout for tests in which a node is meant to meet it. */
};

static struct server nodes[NODES];      /* Well before and after each test. */
static struct redlock_client alice, bob;
static char node_list[128];

/* A verdict by two good nodes, 0 and 1, and the one in trouble, s. */
static const char *list_with(const struct server *s)
{
    static char list[128];
    snprintf(list, sizeof list, "%s,127.0.0.1:%d", servers_list(nodes, 2), s->port);
    return list;
}

/* Takes and releases until the client has found out that the node is in that trouble. */
static bool finds_out(struct redlock_client *c, unsigned k, enum redlock_trouble expected)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    if (redlock_acquire(c, &lock, "finds-out", 1000, 0) == REDLOCK_OK)
        redlock_release(c, &lock, NULL);
    return trouble(c, k) == expected;
}

/* ---- Down ---- */

TEST(one_of_three_that_was_never_there_costs_one_vote_and_is_named)
{
    struct redlock_lock lock;
    const struct server nobody = { .port = refused_port() };
    unsigned confirmed = 0;
    redlock_lock_init(&lock);
    CHECK(open_client(&alice, list_with(&nobody)));
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "down", TTL_MS, 0), REDLOCK_OK);
    CHECK_INT(redlock_vote_of(&lock, 2), REDLOCK_VOTE_NOT_ASKED);
    CHECK_INT(trouble(&alice, 2), REDLOCK_TROUBLE_UNREACHABLE);
    CHECK_WORDS(&alice, 2, "connection refused");
    CHECK_STATUS(redlock_release(&alice, &lock, &confirmed), REDLOCK_OK);
    CHECK_INT(confirmed, 2);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_node_that_dies_under_a_lock_leaves_it_held_extendable_and_releasable)
{
    struct redlock_lock lock;
    unsigned confirmed = 0;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "dies", TTL_MS, 0), REDLOCK_OK);
    server_crash(&nodes[2]);
    CHECK(redlock_valid_ms(&lock) > 0);
    enum redlock_status extended = redlock_extend(&alice, &lock, 2 * TTL_MS);
    enum redlock_status released = redlock_release(&alice, &lock, &confirmed);
    server_restart(&nodes[2]);
    CHECK_STATUS(extended, REDLOCK_OK);
    CHECK_STATUS(released, REDLOCK_OK);
    CHECK_INT(confirmed, 2);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "dies"));
}

TEST(without_a_quorum_nothing_is_won_and_nothing_is_left_on_the_survivor)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    server_crash(&nodes[1]);
    server_crash(&nodes[2]);
    enum redlock_status status = redlock_acquire(&alice, &lock, "lonely", TTL_MS, 0);
    server_restart(&nodes[1]);
    server_restart(&nodes[2]);
    CHECK_STATUS(status, REDLOCK_NO_QUORUM);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "lonely"));
}

TEST(two_of_five_may_be_down_and_a_third_may_not)
{
    struct redlock_lock lock;
    char list[160];
    redlock_lock_init(&lock);
    snprintf(list, sizeof list, "127.0.0.1:%d,127.0.0.1:%d,%s", refused_port(), refused_port(),
             node_list);
    CHECK(open_client(&alice, list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "five", TTL_MS, 0), REDLOCK_OK);
    CHECK_INT(lock.round.node_count, 5);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    server_crash(&nodes[0]);
    enum redlock_status status = redlock_acquire(&alice, &lock, "five", TTL_MS, 0);
    server_restart(&nodes[0]);
    CHECK_STATUS(status, REDLOCK_NO_QUORUM);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "five"));
}

TEST(half_of_an_even_number_is_no_quorum)
{
    struct redlock_lock lock;
    char list[160];
    redlock_lock_init(&lock);
    snprintf(list, sizeof list, "%s,127.0.0.1:%d,127.0.0.1:%d", servers_list(nodes, 2),
             refused_port(), refused_port());
    CHECK(open_client(&alice, list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "half", TTL_MS, 0), REDLOCK_NO_QUORUM);
    redlock_close(&alice, CLOSE_MS);
    snprintf(list, sizeof list, "%s,127.0.0.1:%d", node_list, refused_port());
    CHECK(open_client(&alice, list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "half", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "half"));
}

TEST(a_node_that_comes_back_votes_again)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    server_crash(&nodes[0]);
    server_crash(&nodes[1]);
    enum redlock_status without = redlock_acquire(&alice, &lock, "back", TTL_MS, 0);
    server_restart(&nodes[0]);
    server_restart(&nodes[1]);
    CHECK_STATUS(without, REDLOCK_NO_QUORUM);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "back", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++)
        CHECK_SOON(redlock_connect(&alice, 0) == REDLOCK_OK && votes(&alice, k));
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "back"));
}

/* ---- Frozen ---- */

TEST(a_frozen_node_delays_no_verdict_and_keeps_no_orphan_when_it_goes_on)
{
    struct redlock_lock lock;
    unsigned confirmed = 0;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    ASK(&nodes[2], "CONFIG", "RESETSTAT");
    server_freeze(&nodes[2]);
    uint64_t begun_at = clock_ms();
    enum redlock_status acquired = redlock_acquire(&alice, &lock, "frozen", TTL_MS, 0);
    enum redlock_vote vote = redlock_vote_of(&lock, 2);
    enum redlock_status extended = redlock_extend(&alice, &lock, 2 * TTL_MS);
    enum redlock_status released = redlock_release(&alice, &lock, &confirmed);
    uint64_t took_ms = clock_ms() - begun_at;
    server_thaw(&nodes[2]);
    CHECK_STATUS(acquired, REDLOCK_OK);
    CHECK_INT(vote, REDLOCK_VOTE_PENDING);
    CHECK_STATUS(extended, REDLOCK_OK);
    CHECK_STATUS(released, REDLOCK_OK);
    CHECK_INT(confirmed, 2);
    CHECK(took_ms < AT_ONCE_MS);
    redlock_close(&alice, CLOSE_MS);
    CHECK_INT(executed(&nodes[2], "set"), 1);       /* Late: the key was there. */
    CHECK(key_is_gone(nodes, NODES, "frozen"));
}

TEST(a_node_that_is_frozen_at_the_first_contact_delays_no_verdict)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    server_freeze(&nodes[0]);
    uint64_t begun_at = clock_ms();
    bool opened = open_client(&alice, node_list);
    enum redlock_status acquired = redlock_acquire(&alice, &lock, "cold", TTL_MS, 0);
    enum redlock_status released = redlock_release(&alice, &lock, NULL);
    uint64_t took_ms = clock_ms() - begun_at;
    server_thaw(&nodes[0]);
    CHECK(opened);
    CHECK_STATUS(acquired, REDLOCK_OK);
    CHECK_STATUS(released, REDLOCK_OK);
    CHECK(took_ms < AT_ONCE_MS);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "cold"));
}

TEST(a_frozen_quorum_costs_the_node_timeout_is_named_and_leaves_nothing)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(open_hasty_client(&alice, node_list, HASTE_MS));
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    server_freeze(&nodes[1]);
    server_freeze(&nodes[2]);
    enum redlock_status status = redlock_acquire(&alice, &lock, "frozen-quorum", TTL_MS, 0);
    enum redlock_vote vote = redlock_vote_of(&lock, 1);
    enum redlock_status again = redlock_acquire(&alice, &lock, "frozen-quorum", TTL_MS, 2000);
    enum redlock_trouble why = trouble(&alice, 1);
    server_thaw(&nodes[1]);
    server_thaw(&nodes[2]);
    CHECK_STATUS(status, REDLOCK_NO_QUORUM);
    CHECK_INT(vote, REDLOCK_VOTE_UNKNOWN);
    CHECK_STATUS(again, REDLOCK_TIMEOUT);
    CHECK_INT(why, REDLOCK_TROUBLE_SILENT);
    redlock_close(&alice, CLOSE_MS);
    CHECK_SOON(key_is_gone(nodes, NODES, "frozen-quorum"));
}

/* The SET has reached node 2, and the release cannot yet. */
TEST(a_release_that_a_frozen_node_cannot_confirm_is_paid_by_close)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "debt", TTL_MS, 0), REDLOCK_OK);
    CHECK_SOON(key_is_on_all(nodes, NODES, "debt", token_of(&lock)));
    server_freeze(&nodes[2]);
    enum redlock_status released = redlock_release(&alice, &lock, NULL);
    server_thaw(&nodes[2]);
    CHECK_STATUS(released, REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "debt"));
}

/* A node that keeps its keys on disk, so that the lock is still there when it is back. */
TEST(a_release_owed_to_a_node_that_is_down_is_paid_when_it_is_back)
{
    struct redlock_lock lock;
    struct server durable;
    redlock_lock_init(&lock);
    servers_start(&durable, 1, "appendonly yes\nappendfsync always\n");
    CHECK(join(&alice, list_with(&durable)));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "durable-debt", TTL_MS, 0), REDLOCK_OK);
    CHECK_SOON(key_is(&durable, "durable-debt", token_of(&lock)));
    server_crash(&durable);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    server_restart(&durable);
    CHECK(!key_is_gone(&durable, 1, "durable-debt"));
    CHECK_SOON(redlock_connect(&alice, 0) == REDLOCK_OK &&
               key_is_gone(&durable, 1, "durable-debt"));
    redlock_close(&alice, CLOSE_MS);
    servers_end(&durable, 1);
}

TEST(a_node_that_answers_writes_late_is_like_a_frozen_one)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    ASK(&nodes[2], "CLIENT", "PAUSE", "3000", "WRITE");
    uint64_t begun_at = clock_ms();
    CHECK_STATUS(redlock_acquire(&alice, &lock, "paused", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    CHECK(clock_ms() - begun_at < AT_ONCE_MS);
    ASK(&nodes[2], "CLIENT", "UNPAUSE");
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "paused"));
}

/* ---- Restarted: the guard (S11) ---- */

TEST(servers_started_a_moment_ago_have_no_vote_under_the_default_guard)
{
    struct server fresh[NODES];
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    servers_start(fresh, NODES, "");
    CHECK_STATUS(redlock_open(&alice, servers_list(fresh, NODES), NULL, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_NO_QUORUM);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "fresh", TTL_MS, 0), REDLOCK_NO_QUORUM);
    for (unsigned k = 0; k < NODES; k++) {
        CHECK_INT(redlock_vote_of(&lock, k), REDLOCK_VOTE_NOT_ASKED);
        CHECK_INT(trouble(&alice, k), REDLOCK_TROUBLE_RESTARTED);
        CHECK_WORDS(&alice, k, "restarted ");
        CHECK_WORDS(&alice, k, "no vote for another ");
    }
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(fresh, NODES, "fresh"));
    servers_end(fresh, NODES);
}

enum { GUARD_MS = 2000 };

/* Opens with a guard, and waits until the servers are older than that. */
static bool open_guarded_client(struct redlock_client *c)
{
    struct redlock_options options = throw_away_options();
    options.engine.guard_ms = GUARD_MS;
    if (redlock_open(c, node_list, &options, NULL) != REDLOCK_OK) return false;
    for (uint64_t until = clock_ms() + PATIENCE_MS; clock_ms() < until; nap_ms(20))
        if (redlock_connect(c, PATIENCE_MS) == REDLOCK_OK && votes(c, 0) && votes(c, 1) &&
            votes(c, 2))
            return true;
    return false;
}

TEST(a_restarted_node_has_no_vote_until_its_guard_is_over)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(open_guarded_client(&alice));
    server_restart(&nodes[2]);
    CHECK_SOON(finds_out(&alice, 2, REDLOCK_TROUBLE_RESTARTED));
    CHECK(!votes(&alice, 2));
    CHECK_WORDS(&alice, 2, "restarted ");
    CHECK_WORDS(&alice, 2, "no vote for another ");
    CHECK_STATUS(redlock_acquire(&alice, &lock, "guarded", GUARD_MS, 0), REDLOCK_OK);
    CHECK_INT(redlock_vote_of(&lock, 2), REDLOCK_VOTE_NOT_ASKED);
    redlock_release(&alice, &lock, NULL);
    CHECK_SOON(key_is_gone(&nodes[2], 1, "guarded"));
    CHECK_SOON(votes(&alice, 2));
    CHECK_WORDS(&alice, 2, "no ticket for another ");
    redlock_close(&alice, CLOSE_MS);
}

/* Alice, who cannot reach node 2, holds 0 and 1; node 1 forgets it. Does bob get nodes 1 and 2? */
static enum redlock_status rival_after_restart(uint32_t guard_ms)
{
    static struct redlock_lock held, wanted;
    const struct server nobody = { .port = refused_port() };
    struct redlock_options options = throw_away_options();
    redlock_lock_init(&held);
    redlock_lock_init(&wanted);
    options.engine.guard_ms = guard_ms;
    if (!open_client(&alice, list_with(&nobody))) return REDLOCK_PENDING;
    if (redlock_acquire(&alice, &held, "forgotten", TTL_MS, 0) != REDLOCK_OK)
        return REDLOCK_PENDING;
    server_restart(&nodes[1]);
    if (redlock_open(&bob, node_list, &options, NULL) != REDLOCK_OK) return REDLOCK_PENDING;
    redlock_connect(&bob, PATIENCE_MS);
    enum redlock_status status = redlock_acquire(&bob, &wanted, "forgotten", GUARD_MS, 0);
    if (redlock_valid_ms(&held) == 0) status = REDLOCK_PENDING;
    if (status == REDLOCK_OK) redlock_release(&bob, &wanted, NULL);
    redlock_release(&alice, &held, NULL);
    redlock_close(&bob, CLOSE_MS);
    redlock_close(&alice, CLOSE_MS);
    return status;
}

TEST(a_restarted_node_helps_a_rival_to_a_second_quorum_without_the_guard_and_not_with_it)
{
    CHECK(open_guarded_client(&alice));     /* The other two are old enough. */
    redlock_close(&alice, CLOSE_MS);
    CHECK_STATUS(rival_after_restart(GUARD_MS), REDLOCK_TAKEN);
    CHECK_STATUS(rival_after_restart(0), REDLOCK_OK);
}

TEST(a_lock_that_a_quorum_has_forgotten_cannot_be_extended)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "amnesia", TTL_MS, 0), REDLOCK_OK);
    server_restart(&nodes[0]);
    server_restart(&nodes[1]);
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_TAKEN);
    CHECK_SOON(key_is_gone(nodes, 2, "amnesia"));
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "amnesia"));
}

TEST(a_restart_with_an_append_only_file_keeps_the_lock)
{
    struct server durable;
    struct redlock_lock lock;
    unsigned confirmed = 0;
    redlock_lock_init(&lock);
    servers_start(&durable, 1, "appendonly yes\nappendfsync always\n");
    CHECK(open_client(&alice, servers_list(&durable, 1)));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "durable", TTL_MS, 0), REDLOCK_OK);
    server_restart(&durable);
    CHECK(key_is(&durable, "durable", token_of(&lock)));
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, &confirmed), REDLOCK_OK);
    CHECK_INT(confirmed, 1);
    redlock_close(&alice, CLOSE_MS);
    servers_end(&durable, 1);
}

/* ---- Not a node of its own (S12) ---- */

TEST(the_same_server_twice_has_one_vote_and_both_are_named)
{
    struct redlock_lock lock;
    char list[256];
    redlock_lock_init(&lock);
    snprintf(list, sizeof list, "127.0.0.1:%d,127.0.0.1:%d,unix:%s", nodes[0].port, nodes[1].port,
             nodes[0].socket);
    CHECK(open_client(&alice, list));
    redlock_connect(&alice, HASTE_MS);
    CHECK(!(votes(&alice, 0) && votes(&alice, 2)));
    unsigned named = trouble(&alice, 2) == REDLOCK_TROUBLE_SAME_SERVER ? 2 : 0;
    CHECK_INT(trouble(&alice, named), REDLOCK_TROUBLE_SAME_SERVER);
    CHECK_WORDS(&alice, named, named == 2 ? "same server as node 0" : "same server as node 2");
    server_crash(&nodes[1]);
    enum redlock_status status = redlock_acquire(&alice, &lock, "twins", TTL_MS, 0);
    server_restart(&nodes[1]);
    CHECK_STATUS(status, REDLOCK_NO_QUORUM);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, 1, "twins"));
}

/* Two nodes carry the lock; the third, in trouble from the start, has no vote, is named, and is
 * left alone. */
static void check_has_no_vote(const struct server *s, enum redlock_trouble expected,
                              const char *part)
{
    struct redlock_lock lock;
    /* Each has its own, so that a test that fails does not make the next one fail. */
    char resource[32];
    snprintf(resource, sizeof resource, "no-vote-%d", s->port);
    redlock_lock_init(&lock);
    CHECK(open_client(&alice, list_with(s)));
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&alice, &lock, resource, TTL_MS, 0), REDLOCK_OK);
    CHECK_INT(redlock_vote_of(&lock, 2), REDLOCK_VOTE_NOT_ASKED);
    CHECK(!votes(&alice, 2));
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    CHECK_INT(trouble(&alice, 2), expected);
    CHECK_WORDS(&alice, 2, part);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_replica_has_no_vote)
{
    struct server replica;
    char config[64];
    snprintf(config, sizeof config, "replicaof 127.0.0.1 %d\n", nodes[0].port);
    servers_start(&replica, 1, config);
    check_has_no_vote(&replica, REDLOCK_TROUBLE_REPLICA, "replica");
    servers_end(&replica, 1);
}

TEST(a_member_of_a_cluster_has_no_vote)
{
    struct server member;
    char config[64];
    snprintf(config, sizeof config, "cluster-enabled yes\ncluster-port %d\n", free_port());
    servers_start(&member, 1, config);
    check_has_no_vote(&member, REDLOCK_TROUBLE_CLUSTER, "cluster");
    servers_end(&member, 1);
}

TEST(a_sentinel_has_no_vote)
{
    struct server sentinel;
    servers_start(&sentinel, 1, "sentinel resolve-hostnames no\n");
    check_has_no_vote(&sentinel, REDLOCK_TROUBLE_SENTINEL, "entinel");
    servers_end(&sentinel, 1);
}

TEST(a_full_server_has_no_vote)
{
    struct server full;
    if (servers_speak_tls()) TAP_SKIP("a full server says nothing before the handshake");
    servers_start(&full, 1, "maxclients 1\n");
    int fd = TELL(&full, "PING");
    check_has_no_vote(&full, REDLOCK_TROUBLE_MAX_CLIENTS, "max number of clients");
    close(fd);
    servers_end(&full, 1);
}

TEST(a_server_in_protected_mode_has_no_vote)
{
    struct server shut;
    struct server stranger = { 0 };
    servers_start(&shut, 1, "protected-mode yes\n");
    stranger.port = stranger_start(&shut);
    if (stranger.port == 0) TAP_SKIP("no address of this machine is foreign to the server");
    check_has_no_vote(&stranger, REDLOCK_TROUBLE_DENIED, "DENIED");
    servers_end(&shut, 1);
}

TEST(a_server_that_loads_its_data_has_no_vote_until_it_is_done)
{
    struct server slow;
    static const char fill[] = "for i = 1, 300 do redis.call('SET', i, string.rep('x', 2000)) end";
    servers_start(
        &slow, 1,
        "key-load-delay 30000\nloading-process-events-interval-bytes 1024\nrdbcompression no\n");
    ASK(&slow, "EVAL", fill, "0");
    CHECK_STR(ASK(&slow, "SAVE"), "OK");
    server_crash(&slow);
    server_launch(&slow);
    CHECK_SOON(strncmp(ASK(&slow, "PING"), "-LOADING", 8) == 0);
    check_has_no_vote(&slow, REDLOCK_TROUBLE_LOADING, "LOADING");
    CHECK_STR(ASK(&slow, "CONFIG", "SET", "key-load-delay", "0"), "OK");
    CHECK_SOON(strcmp(ASK(&slow, "PING"), "PONG") == 0);
    CHECK(join(&alice, list_with(&slow)));
    redlock_close(&alice, CLOSE_MS);
    servers_end(&slow, 1);
}

TEST(a_server_that_speaks_no_RESP_has_no_vote)
{
    const struct server web = {
        .port = impostor_start("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    };
    check_has_no_vote(&web, REDLOCK_TROUBLE_PROTOCOL, "RESP");
}

/* ---- Commands that fail ---- */

/* One node, whose SETs fail, alone. The vote is unknown, the kind is known, the
 * text is reported. */
static void check_set_fails(const struct server *s, enum redlock_trouble expected, const char *part)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "fails", TTL_MS, 0), REDLOCK_NO_QUORUM);
    CHECK_INT(redlock_vote_of(&lock, 0), REDLOCK_VOTE_UNKNOWN);
    CHECK_INT(trouble(&alice, 0), expected);
    CHECK_WORDS(&alice, 0, part);
    CHECK_SOON(key_is_gone(s, 1, "fails"));
}

static void check_set_works(void)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "works", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
}

/* One request of each kind (plain, with Java, fair, shared, one of two permits), each with a
 * ticket, too, if it may have one. */
static struct redlock_request request_of_kind(unsigned kind)
{
    static const char *const names[] = {
        "held", "held-with-Java", "held-in-order", "held-shared", "held-permit"
    };
    static const struct redlock_kind *const kinds[] = {
        &redlock_plain, &redlock_redisson, &redlock_fair, &redlock_shared, &redlock_permits
    };
    struct redlock_request request;
    redlock_request_init(&request);
    request.resource = names[kind];
    request.resource_size = strlen(names[kind]);
    request.ttl_ms = TTL_MS;
    request.kind = kinds[kind];
    request.permits = kind == 4 ? 2 : 0;
    request.ticket = kind > 1;
    return request;
}

TEST(out_of_memory_is_named_and_a_held_lock_of_any_kind_can_be_extended_and_released)
{
    enum { KINDS = 5 };
    struct redlock_lock locks[KINDS];
    struct server full;
    servers_start(&full, 1, "maxmemory-policy noeviction\n");
    CHECK(open_client(&alice, servers_list(&full, 1)));
    for (unsigned i = 0; i < KINDS; i++) {
        struct redlock_request request = request_of_kind(i);
        redlock_lock_init(&locks[i]);
        CHECK_STATUS(redlock_acquire_request(&alice, &locks[i], &request), REDLOCK_OK);
    }
    ASK(&full, "CONFIG", "SET", "maxmemory", "1");
    check_set_fails(&full, REDLOCK_TROUBLE_OOM, "OOM");
    for (unsigned i = 0; i < KINDS; i++) {
        TAP_CONTEXT("kind %u", i);
        CHECK_STATUS(redlock_extend(&alice, &locks[i], 2 * TTL_MS), REDLOCK_OK);
        CHECK_STATUS(redlock_extend(&alice, &locks[i], TTL_MS), REDLOCK_OK);
    }
    for (unsigned i = 0; i < KINDS; i++)
        CHECK_STATUS(redlock_release(&alice, &locks[i], NULL), REDLOCK_OK);
    CHECK_SOON(key_is_gone(&full, 1, "held"));
    CHECK_SOON(key_is_gone(&full, 1, "held-in-order"));
    ASK(&full, "CONFIG", "SET", "maxmemory", "0");
    check_set_works();
    redlock_close(&alice, CLOSE_MS);
    servers_end(&full, 1);
}

/* The release is refused too, and paid when the server can save again, by later calls
 * or by closing. */
static void check_misconf(bool calls)
{
    struct redlock_lock lock;
    struct server broken;
    redlock_lock_init(&lock);
    servers_start(&broken, 1, "save 3600 1\n");
    CHECK(open_client(&alice, servers_list(&broken, 1)));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "saved", TTL_MS, 0), REDLOCK_OK);
    CHECK_INT(rmdir(broken.directory), 0);
    ASK(&broken, "BGSAVE");
    CHECK_SOON(strstr(ASK(&broken, "INFO", "persistence"), "rdb_last_bgsave_status:err") != NULL);
    check_set_fails(&broken, REDLOCK_TROUBLE_MISCONF, "MISCONF");
    redlock_release(&alice, &lock, NULL);
    CHECK(!key_is_gone(&broken, 1, "saved"));
    ASK(&broken, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no");
    check_set_works();
    if (calls)
        CHECK_SOON(redlock_connect(&alice, 0) == REDLOCK_OK && key_is_gone(&broken, 1, "saved"));
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(&broken, 1, "saved"));
    servers_end(&broken, 1);
}

TEST(a_server_that_cannot_save_is_named_and_a_refused_release_is_paid_by_later_calls)
{
    check_misconf(true);
}

TEST(a_refused_release_is_paid_by_close)
{
    check_misconf(false);
}

TEST(a_master_without_enough_replicas_is_named)
{
    struct server lonely;
    servers_start(&lonely, 1, "min-replicas-to-write 1\n");
    CHECK(open_client(&alice, servers_list(&lonely, 1)));
    check_set_fails(&lonely, REDLOCK_TROUBLE_NOREPLICAS, "NOREPLICAS");
    ASK(&lonely, "CONFIG", "SET", "min-replicas-to-write", "0");
    check_set_works();
    redlock_close(&alice, CLOSE_MS);
    servers_end(&lonely, 1);
}

TEST(a_master_that_becomes_a_replica_loses_its_vote)
{
    struct server demoted;
    char port[8];
    servers_start(&demoted, 1, "");
    CHECK(open_client(&alice, servers_list(&demoted, 1)));
    check_set_works();
    snprintf(port, sizeof port, "%d", nodes[0].port);
    ASK(&demoted, "REPLICAOF", "127.0.0.1", port);
    CHECK_SOON(finds_out(&alice, 0, REDLOCK_TROUBLE_REPLICA));
    ASK(&demoted, "REPLICAOF", "NO", "ONE");
    check_set_works();
    redlock_close(&alice, CLOSE_MS);
    servers_end(&demoted, 1);
}

TEST(a_busy_script_is_named_and_the_node_votes_again_after_it)
{
    struct redlock_lock lock;
    struct server busy;
    redlock_lock_init(&lock);
    servers_start(&busy, 1, "lua-time-limit 10\n");
    CHECK(open_client(&alice, servers_list(&busy, 1)));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "during", TTL_MS, 0), REDLOCK_OK);
    int fd = TELL(&busy, "EVAL", "while true do end", "0");
    CHECK_SOON(strncmp(ASK(&busy, "PING"), "-BUSY", 5) == 0);
    struct redlock_lock refused;
    redlock_lock_init(&refused);
    CHECK_STATUS(redlock_acquire(&alice, &refused, "fails", TTL_MS, 0), REDLOCK_NO_QUORUM);
    CHECK_INT(trouble(&alice, 0), REDLOCK_TROUBLE_BUSY);
    CHECK_WORDS(&alice, 0, "BUSY");
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_NO_QUORUM);
    CHECK(redlock_valid_ms(&lock) > 0);
    CHECK_STR(ASK(&busy, "SCRIPT", "KILL"), "OK");
    close(fd);
    check_set_works();
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(&busy, 1, "during"));
    servers_end(&busy, 1);
}

TEST(a_lock_that_became_a_list_is_lost_and_the_list_survives)
{
    struct redlock_lock lock;
    unsigned confirmed = 99;
    redlock_lock_init(&lock);
    CHECK(open_client(&alice, servers_list(nodes, 1)));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "turned", TTL_MS, 0), REDLOCK_OK);
    ASK(&nodes[0], "DEL", "turned");
    ASK(&nodes[0], "RPUSH", "turned", "a");
    CHECK_STATUS(redlock_extend(&alice, &lock, TTL_MS), REDLOCK_NO_QUORUM);
    CHECK_WORDS(&alice, 0, "WRONGTYPE");
    redlock_release(&alice, &lock, &confirmed);
    CHECK_INT(confirmed, 0);
    redlock_close(&alice, CLOSE_MS);
    CHECK_STR(ASK(&nodes[0], "LLEN", "turned"), "1");
}

TEST(a_password_that_is_changed_takes_the_vote_at_the_next_connection)
{
    struct server changed;
    servers_start(&changed, 1, "requirepass old\n");
    char address[64];
    snprintf(address, sizeof address, "redis://:old@127.0.0.1:%d", changed.port);
    CHECK(open_client(&alice, address));
    check_set_works();
    ASK(&changed, "CONFIG", "SET", "requirepass", "new");
    ASK(&changed, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    CHECK_SOON(finds_out(&alice, 0, REDLOCK_TROUBLE_WRONGPASS));
    ASK(&changed, "CONFIG", "SET", "requirepass", "old");
    check_set_works();
    redlock_close(&alice, CLOSE_MS);
    servers_end(&changed, 1);
}

TEST(a_user_that_loses_a_right_is_named_and_what_is_held_is_kept)
{
    struct redlock_lock lock;
    struct server strict;
    char address[64];
    redlock_lock_init(&lock);
    servers_start(&strict, 1, "user worker on >x ~* +@all\n");
    snprintf(address, sizeof address, "redis://worker:x@127.0.0.1:%d", strict.port);
    CHECK(open_client(&alice, address));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "right", TTL_MS, 0), REDLOCK_OK);
    ASK(&strict, "ACL", "SETUSER", "worker", "-set");
    check_set_fails(&strict, REDLOCK_TROUBLE_NOPERM, "NOPERM");
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    servers_end(&strict, 1);
}

int main(int argc, char **argv)
{
    servers_start(nodes, NODES, "");
    snprintf(node_list, sizeof node_list, "%s", servers_list(nodes, NODES));
    return tap_run_all(argc, argv);
}
