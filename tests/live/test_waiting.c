/* Waiting for a held lock, against real servers. A waiting client is woken by the release, and
 * anything that keeps him from hearing of it costs time, never the lock. The file also tests the
 * nodes' other memory of a resource, its tickets, and several held together. */
#define _XOPEN_SOURCE 700

#include "clients.h"

#include <pthread.h>

enum {
    NODES = 3,
    DURABLE = 3,
    /* A waiter that looks so rarely has the lock from a wake-up, or not at all. */
    NEVER_MS = REDLOCK_RETRY_MS_MAX,
    OFTEN_MS = 50
};

static struct server nodes[NODES];
static struct redlock_client alice, bob;
static char node_list[128];

/* ---- Wake-ups ---- */

static bool open_waiter(struct redlock_client *c, const char *list, uint32_t retry_ms)
{
    struct redlock_options options = throw_away_options();
    options.engine.retry_ms = retry_ms;
    return redlock_open(c, list, &options, NULL) == REDLOCK_OK;
}

/* How bob lets go of the lock that he holds, in a thread of his own. */
struct release {
    void (*how)(struct redlock_lock *lock);
    struct redlock_lock lock;
};

static void *let_go(void *release)
{
    struct release *r = release;
    nap_ms(300);
    r->how(&r->lock);
    return NULL;
}

/* Alice waits for what bob holds until he lets go. Returns after how many ms she has it; more than
 * PATIENCE_MS means not at all. */
static uint64_t hand_over(const char *resource, void (*how)(struct redlock_lock *lock))
{
    struct release release = { .how = how };
    struct redlock_lock wanted;
    pthread_t thread;
    uint64_t begun_at = clock_ms();

    redlock_lock_init(&release.lock);
    redlock_lock_init(&wanted);
    if (redlock_acquire(&bob, &release.lock, resource, TTL_MS, 0) != REDLOCK_OK) return UINT64_MAX;
    if (pthread_create(&thread, NULL, let_go, &release) != 0) bail_out("pthread_create");
    enum redlock_status status = redlock_acquire(&alice, &wanted, resource, TTL_MS, PATIENCE_MS);
    pthread_join(thread, NULL);
    redlock_release(&alice, &wanted, NULL);
    /* If it was taken from him, its memory ends here. */
    redlock_release(&bob, &release.lock, NULL);
    return status == REDLOCK_OK ? clock_ms() - begun_at : UINT64_MAX;
}

static void release_it(struct redlock_lock *lock)
{
    redlock_release(&bob, lock, NULL);
}

TEST(a_waiter_is_woken_by_the_release_and_needs_two_attempts)
{
    CHECK(open_waiter(&alice, node_list, NEVER_MS) && join(&bob, node_list));
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "CONFIG", "RESETSTAT");
    CHECK(hand_over("woken", release_it) < PATIENCE_MS);
    for (unsigned k = 0; k < NODES; k++) {
        const unsigned flags = executed(&nodes[k], "zadd") + executed(&nodes[k], "publish");
        CHECK(executed(&nodes[k], "set") <= 3 + flags);     /* Bob's, and two of alice's. */
    }
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "woken"));
    CHECK(key_is_gone(nodes, NODES, "woken#waiters"));
}

TEST(without_wake_ups_a_client_has_one_connection_to_each_node_and_gets_the_lock_by_looking)
{
    struct redlock_options options = throw_away_options();
    options.engine.wake_ups = false;
    CHECK_STATUS(redlock_open(&alice, node_list, &options, NULL), REDLOCK_OK);
    CHECK(join(&bob, node_list));
    CHECK_INT(alice.engine.session_count, NODES);
    CHECK(hand_over("not-woken", release_it) < PATIENCE_MS);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

/* Deletes the key like a library that knows nothing of waiters. */
static void delete_key(struct redlock_lock *lock)
{
    (void)lock;
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "DEL", "foreign");
}

TEST(a_lock_that_another_library_releases_without_a_word_is_had_by_looking)
{
    CHECK(open_waiter(&alice, node_list, OFTEN_MS) && join(&bob, node_list));
    CHECK(hand_over("foreign", delete_key) < PATIENCE_MS);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

static void deafen_and_release(struct redlock_lock *lock)
{
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "CLIENT", "KILL", "TYPE", "pubsub");
    redlock_release(&bob, lock, NULL);
}

TEST(a_wake_up_that_is_lost_costs_time_and_not_the_lock)
{
    CHECK(open_waiter(&alice, node_list, OFTEN_MS) && join(&bob, node_list));
    CHECK(hand_over("lost", deafen_and_release) < PATIENCE_MS);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

/* The list of nodes, for that user. */
static void list_for(const char *user, char list[256])
{
    list[0] = '\0';
    for (unsigned k = 0; k < NODES; k++) {
        size_t used = strlen(list);
        snprintf(list + used, 256 - used, "redis://%s:secret@127.0.0.1:%d ", user, nodes[k].port);
    }
}

TEST(where_the_ACL_forbids_wake_ups_the_lock_is_had_by_looking)
{
    char list[256];
    for (unsigned k = 0; k < NODES; k++)
        ASK(&nodes[k], "ACL", "SETUSER", "deaf", "reset", "on", ">secret", "~*", "+@all",
            "-publish", "-subscribe", "-zadd", "-zrem", "-zpopmin");
    list_for("deaf", list);
    CHECK(open_waiter(&alice, list, OFTEN_MS) && join(&bob, list));
    CHECK(hand_over("forbidden", release_it) < PATIENCE_MS);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "forbidden"));
}

/* The next holder, which may, wakes it. */
TEST(a_client_that_may_not_publish_takes_no_place_from_those_that_wait)
{
    char list[256];
    struct redlock_lock lock;
    for (unsigned k = 0; k < NODES; k++) {
        ASK(&nodes[k], "ACL", "SETUSER", "mute", "reset", "on", ">secret", "~*", "+@all",
            "-publish");
        ASK(&nodes[k], "ZADD", "silent#waiters", "1790000000000001", "0123456789abcdef:7");
        ASK(&nodes[k], "SET", "silent#waiters#waiters", "", "PX", "60000");
    }
    list_for("mute", list);
    CHECK(open_waiter(&alice, list, OFTEN_MS) && join(&bob, node_list));
    /* Or she acquires, and releases, on the first two. */
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "silent", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    for (unsigned k = 0; k < NODES; k++) {
        CHECK_STR(ASK(&nodes[k], "ZSCORE", "silent#waiters", "0123456789abcdef:7"),
                  "1790000000000001");
        /* It does not stay for ever either. */
        CHECK(strcmp(ASK(&nodes[k], "PTTL", "silent#waiters"), "-1") != 0);
        CHECK_STR(ASK(&nodes[k], "EXISTS", "silent#waiters#waiters"), "1");
    }
    CHECK_STATUS(redlock_acquire(&bob, &lock, "silent", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&bob, &lock, NULL), REDLOCK_OK);
    redlock_close(&bob, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "silent#waiters"));
}

TEST(an_entry_that_may_neither_be_published_nor_given_a_life_does_not_stay_for_ever)
{
    char list[256];
    struct redlock_lock lock;
    for (unsigned k = 0; k < NODES; k++) {
        ASK(&nodes[k], "ACL", "SETUSER", "tied", "reset", "on", ">secret", "~*", "+@all",
            "-publish", "-pexpire");
        ASK(&nodes[k], "ZADD", "tied#waiters", "1790000000000001", "0123456789abcdef:7");
        ASK(&nodes[k], "PEXPIRE", "tied#waiters", "60000");
        ASK(&nodes[k], "SET", "tied#waiters#waiters", "", "PX", "60000");
    }
    list_for("tied", list);
    CHECK(open_waiter(&alice, list, OFTEN_MS));
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "tied", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    for (unsigned k = 0; k < NODES; k++)
        CHECK(strcmp(ASK(&nodes[k], "PTTL", "tied#waiters"), "-1") != 0);
}

/* A node that was too slow gets the key with an extension, when its answer, which came too late for
 * that, has been read. */
static bool is_on_all_after_extending(struct redlock_client *client, struct redlock_lock *lock,
                                      const char *key)
{
    return redlock_extend(client, lock, TTL_MS) == REDLOCK_OK &&
           redlock_run_for(client, lock, 20) == REDLOCK_OK &&
           key_is_on_all(nodes, NODES, key, token_of(lock));
}

/* Selectors come with Redis 7. */
TEST(a_key_of_a_set_that_may_not_be_removed_keeps_no_other_from_being_removed)
{
    char list[256];
    struct redlock_name names[] = {
        { .bytes = "left", .size = 4 }, { .bytes = "right", .size = 5 }
    };
    const struct redlock_request request = {
        .set = names, .set_count = 2, .ttl_ms = TTL_MS, .wait_ms = PATIENCE_MS
    };
    struct redlock_lock lock, adopted;
    for (unsigned k = 0; k < NODES; k++) {
        const char *answer = ASK(&nodes[k], "ACL", "SETUSER", "half", "reset", "on", ">secret",
                                 "~left*", "~right*", "&*", "+@all", "-del", "(~right* +@all)");
        if (strcmp(answer, "OK") != 0) return;
    }
    list_for("half", list);
    CHECK(join(&alice, list) && join(&bob, node_list));
    redlock_lock_init(&lock);
    redlock_lock_init(&adopted);
    CHECK_STATUS(redlock_acquire_request(&bob, &lock, &request), REDLOCK_OK);
    CHECK_SOON(is_on_all_after_extending(&bob, &lock, "right"));
    CHECK_STATUS(redlock_adopt(&alice.engine, &adopted,
                               &(struct redlock_request){ .set = names, .set_count = 2 },
                               token_of(&lock), redlock_now_us()), REDLOCK_OK);
    (void)redlock_release(&alice, &adopted, NULL);
    redlock_close(&alice, 0);
    CHECK(key_is_gone(nodes, NODES, "right"));
    for (unsigned k = 0; k < NODES; k++) CHECK_STR(ASK(&nodes[k], "EXISTS", "left"), "1");
    (void)redlock_release(&bob, &lock, NULL);
    redlock_close(&bob, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "left"));
}

/* Nobody would ever look for one without a flag. */
TEST(a_client_that_may_give_a_place_no_life_takes_none_and_leaves_nothing_for_ever)
{
    char list[256];
    struct redlock_lock lock, late;
    for (unsigned k = 0; k < NODES; k++)
        ASK(&nodes[k], "ACL", "SETUSER", "brief", "reset", "on", ">secret", "~*", "&*", "+@all",
            "-pexpire");
    list_for("brief", list);
    CHECK(open_waiter(&alice, list, OFTEN_MS) && join(&bob, node_list));
    redlock_lock_init(&lock);
    redlock_lock_init(&late);
    CHECK_STATUS(redlock_acquire(&bob, &lock, "brief", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&alice, &late, "brief", TTL_MS, 2 * OFTEN_MS), REDLOCK_TIMEOUT);
    for (unsigned k = 0; k < NODES; k++) {
        CHECK_STR(ASK(&nodes[k], "EXISTS", "brief#waiters"), "0");
        CHECK(strcmp(ASK(&nodes[k], "PTTL", "brief#waiters#waiters"), "-1") != 0);
    }
    redlock_close(&alice, CLOSE_MS);
    CHECK_STATUS(redlock_release(&bob, &lock, NULL), REDLOCK_OK);
    redlock_close(&bob, CLOSE_MS);
}

/* An ACL for one lock said so before there were flags. The release looks at the
 * waiters without one. */
TEST(where_the_ACL_names_the_keys_but_not_the_flag_a_release_releases_and_wakes)
{
    char list[256];
    struct redlock_lock lock;
    for (unsigned k = 0; k < NODES; k++) {
        ASK(&nodes[k], "ACL", "SETUSER", "exact", "reset", "on", ">secret", "~exact",
            "~exact#waiters", "&*", "+@all");
        ASK(&nodes[k], "ZADD", "exact#waiters", "1790000000000001", "0123456789abcdef:7");
    }
    list_for("exact", list);
    CHECK(open_waiter(&alice, list, OFTEN_MS));
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "exact", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "exact"));
    unsigned taken_out = 0;     /* Nobody listened. A node that was slow never had the lock. */
    for (unsigned k = 0; k < NODES; k++)
        taken_out += strcmp(ASK(&nodes[k], "EXISTS", "exact#waiters"), "0") == 0;
    CHECK(taken_out > NODES / 2);
}

/* ---- Tickets ---- */

/* The ticket of a lock that is acquired and released; 0: it was not available. wall_us 0: the wall
 * clock as it is. */
static uint64_t draw_ticket(struct redlock_client *c, uint64_t wall_us)
{
    const struct redlock_request request = {
        .resource = "numbered", .resource_size = strlen("numbered"), .ttl_ms = TTL_MS,
        .wait_ms = PATIENCE_MS, .ticket = true, .wall_us = wall_us
    };
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    if (redlock_acquire_request(c, &lock, &request) != REDLOCK_OK) return 0;
    uint64_t ticket = redlock_ticket(&lock);
    redlock_release(c, &lock, NULL);
    return ticket;
}

TEST(tickets_increase_over_clients_whose_clocks_differ_and_over_restarts_that_remember)
{
    static struct server durable[DURABLE];
    char list[128];
    uint64_t ahead_us = redlock_wall_us() + REDLOCK_SKEW_MS / 2 * 1000, last = 0;
    servers_start(durable, DURABLE, "appendonly yes\nappendfsync always\n");
    snprintf(list, sizeof list, "%s", servers_list(durable, DURABLE));
    for (unsigned i = 0; i < 3; i++) {
        TAP_CONTEXT("turn %u", i);
        CHECK(join(&alice, list) && join(&bob, list));
        uint64_t first = draw_ticket(&alice, ahead_us), second = draw_ticket(&bob, 0),
                 third = draw_ticket(&alice, 0);
        CHECK(first > last && second > first && third > second);
        CHECK(third > ahead_us);
        last = third;
        redlock_close(&alice, CLOSE_MS);
        redlock_close(&bob, CLOSE_MS);
        for (unsigned k = 0; k < DURABLE; k++) server_restart(&durable[k]);
    }
    servers_end(durable, DURABLE);
}

TEST(a_lock_with_a_ticket_and_one_without_exclude_each_other)
{
    const struct redlock_request request = {
        .resource = "mixed", .resource_size = strlen("mixed"), .ttl_ms = TTL_MS, .ticket = true
    };
    struct redlock_lock numbered, plain;
    redlock_lock_init(&numbered);
    redlock_lock_init(&plain);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_acquire_request(&alice, &numbered, &request), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&bob, &plain, "mixed", TTL_MS, 0), REDLOCK_TAKEN);
    CHECK_STATUS(redlock_release(&alice, &numbered, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&bob, &plain, "mixed", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    CHECK_INT(redlock_ticket(&plain), 0);
    CHECK_STATUS(redlock_acquire_request(&alice, &numbered, &request), REDLOCK_TAKEN);
    CHECK_STATUS(redlock_release(&bob, &plain, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
}

/* ---- Sets ---- */

TEST(several_resources_are_had_together_or_not_at_all)
{
    struct redlock_name set[] = { { .bytes = "set:c", .size = 5 }, { .bytes = "set:a", .size = 5 },
                                  { .bytes = "set:b", .size = 5 } };
    const struct redlock_request all = { .set = set, .set_count = 3, .ttl_ms = TTL_MS };
    struct redlock_lock one, three;
    redlock_lock_init(&one);
    redlock_lock_init(&three);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &one, "set:b", TTL_MS, 0), REDLOCK_OK);
    CHECK_SOON(key_is_on_all(nodes, NODES, "set:b", token_of(&one)));
    CHECK_STATUS(redlock_acquire_request(&bob, &three, &all), REDLOCK_TAKEN);
    CHECK_SOON(key_is_gone(nodes, NODES, "set:a") && key_is_gone(nodes, NODES, "set:c"));
    CHECK_STATUS(redlock_release(&alice, &one, NULL), REDLOCK_OK);
    CHECK_SOON(key_is_gone(nodes, NODES, "set:b"));
    CHECK_STATUS(redlock_acquire_request(&bob, &three, &all), REDLOCK_OK);
    for (unsigned i = 0; i < 3; i++)
        CHECK_SOON(key_is_on_all(nodes, NODES, set[i].bytes, token_of(&three)));
    CHECK_STATUS(redlock_acquire(&alice, &one, "set:c", TTL_MS, 0), REDLOCK_TAKEN);
    CHECK_STATUS(redlock_extend(&bob, &three, 2 * TTL_MS), REDLOCK_OK);
    CHECK_SOON(pttl(&nodes[0], "set:a") > TTL_MS && pttl(&nodes[0], "set:c") > TTL_MS);
    CHECK_STATUS(redlock_release(&bob, &three, NULL), REDLOCK_OK);
    redlock_close(&bob, CLOSE_MS);
    for (unsigned i = 0; i < 3; i++) CHECK(key_is_gone(nodes, NODES, set[i].bytes));
    redlock_close(&alice, CLOSE_MS);
}

TEST(the_same_resource_twice_is_no_set)
{
    struct redlock_name set[] = {
        { .bytes = "twin", .size = 4 }, { .bytes = "other", .size = 5 },
        { .bytes = "twin", .size = 4 }
    };
    const struct redlock_request request = { .set = set, .set_count = 3, .ttl_ms = TTL_MS };
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire_request(&alice, &lock, &request), REDLOCK_BAD_SET);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "twin") && key_is_gone(nodes, NODES, "other"));
}

int main(int argc, char **argv)
{
    servers_start(nodes, NODES, "");
    snprintf(node_list, sizeof node_list, "%s", servers_list(nodes, NODES));
    return tap_run_all(argc, argv);
}
