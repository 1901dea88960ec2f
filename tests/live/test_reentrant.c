/* A lock that its owner enters again, against real servers, by one thread with a client, and by
 * several with a keeper. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "clients.h"
#include "../../redlock/redlock_reentrant.h"

#include <pthread.h>
#include <unistd.h>

enum {
    NODES = 3,
    SHORT_MS = 1500,        /* A TTL that is over several times in a test. */
    THREADS = 3,
    TURNS = 10,             /* Turns of each thread. */
    ME = 1, ANOTHER = 2
};

static struct server nodes[NODES];
static struct redlock_client alice, bob;
static struct redlock_keeper keeper;
static struct redlock_reentrant home;
static struct redlock_reentrant_kept shared;
static char node_list[128];

static struct redlock_request request_for(const char *resource, uint32_t ttl_ms)
{
    struct redlock_request request;
    redlock_request_init(&request);
    request.resource = resource;
    request.resource_size = strlen(resource);
    request.ttl_ms = ttl_ms;
    request.wait_ms = PATIENCE_MS;
    return request;
}

static bool start_keeper(void)
{
    const struct redlock_options options = throw_away_options();
    redlock_reentrant_kept_init(&shared);
    return redlock_keeper_start(&keeper, node_list, &options, NULL) == REDLOCK_OK;
}

/* Commands that locks use, on all nodes, since they were last counted. */
static unsigned commands(void)
{
    unsigned count = 0;
    for (unsigned k = 0; k < NODES; k++)
        count += executed(&nodes[k], "set") + executed(&nodes[k], "eval") +
                 executed(&nodes[k], "evalsha");
    return count;
}

static void count_anew(void)
{
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "CONFIG", "RESETSTAT");
}

TEST(inner_scopes_ask_no_node_and_the_lock_stays_until_the_outermost_one_ends)
{
    const struct redlock_request request = request_for("deep", TTL_MS);
    char token[REDLOCK_TOKEN_TEXT + 1];
    redlock_reentrant_init(&home);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_enter(&alice, &home, ME, &request), REDLOCK_OK);
    redlock_token(&home.lock, token);
    /* Reads the messages that the acquire left. */
    CHECK_STATUS(redlock_run_for(&alice, &home.lock, 100), REDLOCK_OK);
    count_anew();
    for (unsigned i = 0; i < 100; i++)
        CHECK_STATUS(redlock_enter(&alice, &home, ME, &request), REDLOCK_OK);
    CHECK_STATUS(redlock_enter(&alice, &home, ANOTHER, &request), REDLOCK_TAKEN);
    for (unsigned i = 0; i < 100; i++)
        CHECK_STATUS(redlock_leave(&alice, &home, ME, NULL), REDLOCK_OK);
    CHECK_INT(commands(), 0);
    CHECK(key_is_on_all(nodes, NODES, "deep", token));
    CHECK_STATUS(redlock_leave(&alice, &home, ME, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "deep"));
}

TEST(an_inner_scope_that_comes_too_late_does_not_take_the_lock_that_is_a_rivals_by_now)
{
    const struct redlock_request request = request_for("late", SHORT_MS);
    struct redlock_lock rival;
    redlock_reentrant_init(&home);
    redlock_lock_init(&rival);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_enter(&alice, &home, ME, &request), REDLOCK_OK);
    /* Waits for the end of it. */
    CHECK_STATUS(redlock_acquire(&bob, &rival, "late", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_enter(&alice, &home, ME, &request), REDLOCK_LOST);
    CHECK_STATUS(redlock_release(&bob, &rival, NULL), REDLOCK_OK);
    /* A quorum has confirmed the release; now all nodes have. */
    redlock_close(&bob, CLOSE_MS);
    /* It is free, and still not the outer scope's. */
    CHECK_STATUS(redlock_enter(&alice, &home, ME, &request), REDLOCK_LOST);
    CHECK(key_is_gone(nodes, NODES, "late"));
    CHECK_STATUS(redlock_leave(&alice, &home, ME, NULL), REDLOCK_LOST);
    CHECK_STATUS(redlock_enter(&alice, &home, ME, &request), REDLOCK_OK);
    CHECK_STATUS(redlock_leave(&alice, &home, ME, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

static int use_as_child(void)
{
    const struct redlock_request request = request_for("parents", TTL_MS);
    if (redlock_enter(&alice, &home, ME, &request) != REDLOCK_FORKED) return 1;
    if (redlock_leave(&alice, &home, ME, NULL) != REDLOCK_FORKED) return 2;
    redlock_close(&alice, 0);
    return redlock_enter(&alice, &home, ME, &request) == REDLOCK_NOT_OPEN ? 0 : 3;
}

TEST(a_child_leaves_its_parent_inside)
{
    const struct redlock_request request = request_for("parents", TTL_MS);
    char token[REDLOCK_TOKEN_TEXT + 1];
    redlock_reentrant_init(&home);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_enter(&alice, &home, ME, &request), REDLOCK_OK);
    redlock_token(&home.lock, token);
    pid_t child = process_fork();
    if (child == 0) _exit(use_as_child());
    CHECK_INT(process_wait(child), 0);
    CHECK(key_is_on_all(nodes, NODES, "parents", token));
    CHECK_STATUS(redlock_leave(&alice, &home, ME, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

/* The thread that is inside reads and writes these, so a second thread would be a data race. */
static unsigned inside, together, depths;

static enum redlock_status go_deep(uint64_t owner, unsigned more)
{
    const struct redlock_request request = request_for("shared", SHORT_MS);
    enum redlock_status status = redlock_keeper_enter(&keeper, &shared, owner, &request, 0);
    if (status != REDLOCK_OK) return status;
    depths++;
    if (more > 0) status = go_deep(owner, more - 1);
    if (redlock_keeper_leave(&keeper, &shared, owner, NULL) != REDLOCK_OK) status = REDLOCK_LOST;
    return status;
}

static void *take_turns(void *context)
{
    const uint64_t owner = (uint64_t)(uintptr_t)context;
    const struct redlock_request request = request_for("shared", SHORT_MS);
    for (unsigned turns = 0; turns < TURNS;) {
        const enum redlock_status status =
            redlock_keeper_enter(&keeper, &shared, owner, &request, 0);
        if (status == REDLOCK_OK) {
            together += ++inside != 1;
            if (go_deep(owner, 4) == REDLOCK_OK) turns++;
            inside--;
            (void)redlock_keeper_leave(&keeper, &shared, owner, NULL);
        }
        nap_ms(1);
    }
    return NULL;
}

TEST(threads_that_share_one_lock_are_inside_one_after_the_other)
{
    pthread_t threads[THREADS];
    CHECK(start_keeper());
    inside = together = depths = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, take_turns, (void *)(i + 1)), 0);
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    CHECK_INT(together, 0);
    CHECK_INT(inside, 0);
    CHECK_INT(depths, 5 * TURNS * THREADS);
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    CHECK(key_is_gone(nodes, NODES, "shared"));
}

TEST(a_lock_that_is_kept_may_be_entered_again_after_many_TTLs)
{
    const struct redlock_request request = request_for("shared", SHORT_MS);
    CHECK(start_keeper());
    CHECK_STATUS(redlock_keeper_enter(&keeper, &shared, ME, &request, 0), REDLOCK_OK);
    nap_ms(3 * SHORT_MS);
    CHECK_STATUS(redlock_keeper_enter(&keeper, &shared, ANOTHER, &request, 0), REDLOCK_TAKEN);
    CHECK_STATUS(redlock_keeper_enter(&keeper, &shared, ME, &request, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_keeper_leave(&keeper, &shared, ME, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_keeper_leave(&keeper, &shared, ME, NULL), REDLOCK_OK);
    CHECK_SOON(key_is_gone(nodes, NODES, "shared"));
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
}

#ifdef REDLOCK_SCOPED

static enum redlock_status work_in_scopes(unsigned more)
{
    const struct redlock_request request = request_for("scoped", TTL_MS);
    REDLOCK_SCOPED(scope, &alice, &home, ME, &request);
    if (scope.status != REDLOCK_OK) return scope.status;
    return more > 0                           ? work_in_scopes(more - 1)
           : redlock_valid_ms(&home.lock) > 0 ? REDLOCK_OK
                                              : REDLOCK_LOST;
}

TEST(a_scope_that_returns_has_released)
{
    redlock_reentrant_init(&home);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(work_in_scopes(3), REDLOCK_OK);
    CHECK_STATUS(redlock_leave(&alice, &home, ME, NULL), REDLOCK_BAD_STATE);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "scoped"));
    CHECK_STATUS(work_in_scopes(3), REDLOCK_NOT_OPEN);
}

#endif

int main(int argc, char **argv)
{
    servers_start(nodes, NODES, "");
    snprintf(node_list, sizeof node_list, "%s", servers_list(nodes, NODES));
    return tap_run_all(argc, argv);
}
