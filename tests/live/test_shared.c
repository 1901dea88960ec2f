/* Shared locks against real servers. Tests the scripts, strangers' plain locks beside them, and the
 * leftovers of an ACL that lacks one of their commands. */
#define _XOPEN_SOURCE 700

#include "clients.h"

#include <pthread.h>

enum { NODES = 3, SHORT_MS = 2000 };

static struct server nodes[NODES];
static struct redlock_client alice, bob;
static char node_list[128];

static enum redlock_status read_it(struct redlock_client *c, struct redlock_lock *lock,
                                   const char *resource, uint32_t wait_ms)
{
    const struct redlock_request request = {
        .resource = resource, .resource_size = strlen(resource), .ttl_ms = TTL_MS,
        .wait_ms = wait_ms, .kind = &redlock_shared
    };

    redlock_lock_init(lock);
    return redlock_acquire_request(c, lock, &request);
}

static enum redlock_status write_it(struct redlock_client *c, struct redlock_lock *lock,
                                    const char *resource, uint32_t wait_ms)
{
    redlock_lock_init(lock);
    return redlock_acquire(c, lock, resource, TTL_MS, wait_ms);
}

static void close_both(void)
{
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

TEST(readers_hold_a_resource_at_once_and_leave_nothing)
{
    struct redlock_lock a, b, w;
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(read_it(&alice, &a, "door", 0), REDLOCK_OK);
    CHECK_STATUS(read_it(&bob, &b, "door", 0), REDLOCK_OK);
    CHECK_STATUS(write_it(&alice, &w, "door", 0), REDLOCK_TAKEN);
    CHECK_STATUS(redlock_extend(&alice, &a, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &a, NULL), REDLOCK_OK);
    CHECK(redlock_valid_ms(&b) > 0);
    CHECK_STATUS(redlock_extend(&bob, &b, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&bob, &b, NULL), REDLOCK_OK);
    close_both();
    CHECK(key_is_gone(nodes, NODES, "door") && key_is_gone(nodes, NODES, "door#readers"));
}

/* Any Redlock library sets it so. */
TEST(the_plain_lock_of_another_library_is_a_writer)
{
    struct redlock_lock a;
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    for (unsigned k = 0; k < NODES; k++)
        CHECK_STR(ASK(&nodes[k], "SET", "foreign", "stranger", "NX", "PX", "30000"), "OK");
    CHECK_STATUS(read_it(&alice, &a, "foreign", 0), REDLOCK_TAKEN);
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "DEL", "foreign");
    CHECK_STATUS(read_it(&alice, &a, "foreign", 0), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++)
        CHECK_SOON(redlock_run_for(&alice, NULL, 1) == REDLOCK_OK &&
                   strcmp(ASK(&nodes[k], "GET", "foreign"), "~shared") == 0);
    for (unsigned k = 0; k < NODES; k++)
        CHECK_STR(ASK(&nodes[k], "SET", "foreign", "stranger", "NX", "PX", "30000"), "(nil)");
    CHECK_STATUS(redlock_release(&alice, &a, NULL), REDLOCK_OK);
    close_both();
}

/* The nodes have forgotten the reader, and a stranger has a key there whose value is empty. */
TEST(s7_a_reader_extends_no_strangers_key_though_its_value_is_empty)
{
    struct redlock_lock a;
    CHECK(join(&alice, node_list));
    CHECK_STATUS(read_it(&alice, &a, "empty", 0), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++)
        CHECK_SOON(redlock_run_for(&alice, NULL, 1) == REDLOCK_OK &&
                   strcmp(ASK(&nodes[k], "GET", "empty"), "~shared") == 0);
    for (unsigned k = 0; k < NODES; k++)
        CHECK_STR(ASK(&nodes[k], "SET", "empty", "", "PX", "30000"), "OK");
    CHECK_STATUS(redlock_extend(&alice, &a, TTL_MS), REDLOCK_TAKEN);
    for (unsigned k = 0; k < NODES; k++) CHECK_STR(ASK(&nodes[k], "GET", "empty"), "");
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_reader_becomes_a_writer_and_a_reader_again)
{
    struct redlock_lock a, b;
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(read_it(&alice, &a, "role", 0), REDLOCK_OK);
    CHECK_STATUS(read_it(&bob, &b, "role", 0), REDLOCK_OK);
    CHECK_STATUS(redlock_upgrade(&alice, &a), REDLOCK_TAKEN);
    CHECK(redlock_view_lock(&a).is_shared && redlock_valid_ms(&a) > 0);
    CHECK_STATUS(redlock_release(&bob, &b, NULL), REDLOCK_OK);
    redlock_close(&bob, CLOSE_MS);
    CHECK(join(&bob, node_list));
    CHECK_STATUS(redlock_upgrade(&alice, &a), REDLOCK_OK);
    CHECK(!redlock_view_lock(&a).is_shared);
    CHECK_STATUS(redlock_extend(&alice, &a, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(read_it(&bob, &b, "role", 0), REDLOCK_TAKEN);
    CHECK_STATUS(redlock_downgrade(&alice, &a), REDLOCK_OK);
    CHECK_STATUS(read_it(&bob, &b, "role", PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &a, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&bob, &b, NULL), REDLOCK_OK);
    close_both();
    CHECK(key_is_gone(nodes, NODES, "role") && key_is_gone(nodes, NODES, "role#readers"));
}

TEST(several_resources_are_read_and_written_together)
{
    struct redlock_name first[] = {
        { .bytes = "ledger", .size = 6 }, { .bytes = "account", .size = 7, .shared = true }
    };
    struct redlock_name second[] = {
        { .bytes = "account", .size = 7, .shared = true }, { .bytes = "book", .size = 4 }
    };
    const struct redlock_request one = {
        .kind = &redlock_shared, .set = first, .set_count = 2, .ttl_ms = TTL_MS
    };
    const struct redlock_request other = {
        .kind = &redlock_shared, .set = second, .set_count = 2, .ttl_ms = TTL_MS
    };
    struct redlock_lock a, b, w;
    redlock_lock_init(&a);
    redlock_lock_init(&b);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_acquire_request(&alice, &a, &one), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire_request(&bob, &b, &other), REDLOCK_OK);
    CHECK_STATUS(write_it(&bob, &w, "account", 0), REDLOCK_TAKEN);
    CHECK_STATUS(redlock_extend(&alice, &a, TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &a, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&bob, &b, NULL), REDLOCK_OK);
    close_both();
    CHECK(key_is_gone(nodes, NODES, "account") && key_is_gone(nodes, NODES, "ledger"));
}

static struct redlock_lock held;

static void *let_go(void *unused)
{
    (void)unused;
    nap_ms(300);
    redlock_release(&bob, &held, NULL);
    return NULL;
}

/* A client that looks so rarely has the lock from a wake-up, or not at all. */
TEST(a_waiting_writer_is_woken_by_the_last_reader_and_a_waiting_reader_by_a_writer)
{
    struct redlock_options options = throw_away_options();
    struct redlock_lock wanted;
    options.engine.retry_ms = REDLOCK_RETRY_MS_MAX;
    for (unsigned writes = 0; writes < 2; writes++) {
        pthread_t thread;
        CHECK_STATUS(redlock_open(&alice, node_list, &options, NULL), REDLOCK_OK);
        CHECK(join(&bob, node_list));
        CHECK_STATUS(writes ? read_it(&bob, &held, "woken", 0) : write_it(&bob, &held, "woken", 0),
                     REDLOCK_OK);
        if (pthread_create(&thread, NULL, let_go, NULL) != 0) bail_out("pthread_create");
        CHECK_STATUS(writes ? write_it(&alice, &wanted, "woken", PATIENCE_MS)
                            : read_it(&alice, &wanted, "woken", PATIENCE_MS),
                     REDLOCK_OK);
        pthread_join(thread, NULL);
        CHECK_STATUS(redlock_release(&alice, &wanted, NULL), REDLOCK_OK);
        close_both();
        CHECK(key_is_gone(nodes, NODES, "woken#writer"));
    }
}

/* Lua does not roll back, so any change that was made when a command was refused must
 * end by itself. */
static void everything_with(const char *list)
{
    struct redlock_lock a, b;
    enum redlock_status status;
    CHECK(join(&alice, list) && join(&bob, node_list));
    if (read_it(&alice, &a, "acl", 0) == REDLOCK_OK) {
        status = redlock_extend(&alice, &a, TTL_MS);
        if (status != REDLOCK_LOST) status = redlock_upgrade(&alice, &a);
        if (status == REDLOCK_OK) status = redlock_downgrade(&alice, &a);
        if (status != REDLOCK_LOST) (void)redlock_release(&alice, &a, NULL);
    }
    if (write_it(&bob, &b, "acl2", 0) == REDLOCK_OK) {
        if (read_it(&alice, &a, "acl2", 200) == REDLOCK_OK) (void)redlock_release(&alice, &a, NULL);
        (void)redlock_release(&bob, &b, NULL);
    }
    if (read_it(&bob, &b, "acl3", 0) == REDLOCK_OK) {
        if (write_it(&alice, &a, "acl3", 200) == REDLOCK_OK)
            (void)redlock_release(&alice, &a, NULL);
        (void)redlock_release(&bob, &b, NULL);
    }
    redlock_close(&alice, 0);
    redlock_close(&bob, CLOSE_MS);
}

static void nothing_stays_for_ever(const char *lacking)
{
    static const char script[] = "local n=0 for _,k in ipairs(redis.call('keys','acl*')) do "
                                 "if redis.call('pttl',k)==-1 then n=n+1 end end return n";
    TAP_CONTEXT("without %s", lacking);
    for (unsigned k = 0; k < NODES; k++) {
        CHECK_STR(ASK(&nodes[k], "EVAL", script, "0"), "0");
        ASK(&nodes[k], "FLUSHALL");
    }
}

TEST(where_an_ACL_lacks_a_command_of_the_scripts_nothing_stays_for_ever)
{
    static const char *const commands[] = {
        "get", "set", "del", "pttl", "time", "zadd", "zrem", "zscore", "zcard", "zrevrange",
        "zremrangebyscore", "zpopmin", "pexpire", "pexpireat", "publish"
    };
    for (unsigned i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        char list[256] = "", without[40];
        snprintf(without, sizeof without, "-%s", commands[i]);
        for (unsigned k = 0; k < NODES; k++) {
            const size_t used = strlen(list);
            ASK(&nodes[k], "ACL", "SETUSER", "lacks", "reset", "on", ">secret", "~*", "&*", "+@all",
                without);
            snprintf(list + used, sizeof list - used, "redis://lacks:secret@127.0.0.1:%d ",
                     nodes[k].port);
        }
        everything_with(list);
        nothing_stays_for_ever(commands[i]);
    }
}

int main(int argc, char **argv)
{
    servers_start(nodes, NODES, "");
    snprintf(node_list, sizeof node_list, "%s", servers_list(nodes, NODES));
    return tap_run_all(argc, argv);
}
