/* Locks that are kept, against real servers, by a loop that a blocking program runs now and then,
 * and by the keeper's thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "clients.h"
#include "../../redlock/redlock_keeper.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    NODES = 3,
    SHORT_MS = 1500,        /* A TTL that is over several times in a test. */
    LONG_MS = 3 * SHORT_MS,
    THREADS = 4,
    MANY = 20
};

static struct server nodes[NODES];
static struct redlock_client alice, bob;
static struct redlock_keeper keeper;
static char node_list[128];

static bool is_taken(const char *resource)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    return redlock_acquire(&bob, &lock, resource, TTL_MS, 0) == REDLOCK_TAKEN;
}

static void take_away(const char *resource)
{
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "SET", resource, "stranger", "PX", "60000");
}

/* ---- In a blocking program without threads ---- */

static bool keep(struct redlock_client *c, struct redlock_lock *lock, uint32_t hold_ms)
{
    return redlock_keep(&c->engine, lock, hold_ms, redlock_now_us()) == REDLOCK_OK;
}

TEST(a_lock_is_kept_over_many_TTLs_while_the_loop_runs)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "kept", SHORT_MS, 0), REDLOCK_OK);
    CHECK(keep(&alice, &lock, 0));
    for (uint64_t until = clock_ms() + LONG_MS; clock_ms() < until;) {
        CHECK_STATUS(redlock_run_for(&alice, &lock, SHORT_MS / 5), REDLOCK_OK);
        CHECK(redlock_valid_ms(&lock) > 0);
        CHECK(is_taken("kept"));
    }
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
    CHECK(key_is_gone(nodes, NODES, "kept"));
}

TEST(a_lock_that_is_not_kept_ends_the_run_when_its_validity_ends)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_run_for(&alice, &lock, TTL_MS), REDLOCK_LOST);     /* Never held. */
    CHECK_STATUS(redlock_acquire(&alice, &lock, "unkept", 2000, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_run_for(&alice, &lock, TTL_MS), REDLOCK_LOST);
    CHECK_INT(redlock_valid_ms(&lock), 0);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_LOST);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_run_tells_of_a_lock_that_was_taken_away_while_it_is_still_valid_and_then_that_it_is_lost)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "stolen", 2 * SHORT_MS, 0), REDLOCK_OK);
    CHECK(keep(&alice, &lock, 0));
    take_away("stolen");
    CHECK_STATUS(redlock_run_for(&alice, &lock, TTL_MS), REDLOCK_TAKEN);
    CHECK(redlock_valid_ms(&lock) > 0);
    CHECK_STATUS(redlock_run_for(&alice, &lock, TTL_MS), REDLOCK_LOST);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_on_all(nodes, NODES, "stolen", "stranger"));
}

TEST(keeping_ends_when_the_time_to_hold_is_over)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "limited", SHORT_MS, 0), REDLOCK_OK);
    uint64_t begun_at = clock_ms();
    CHECK(keep(&alice, &lock, 2 * SHORT_MS));
    enum redlock_status status = REDLOCK_OK;
    while (status == REDLOCK_OK || status == REDLOCK_EXTENSION_LIMIT)
        status = redlock_run_for(&alice, &lock, TTL_MS);
    uint64_t took_ms = clock_ms() - begun_at;
    CHECK_STATUS(status, REDLOCK_LOST);
    CHECK(took_ms > SHORT_MS && took_ms < 3 * SHORT_MS);
    redlock_release(&alice, &lock, NULL);
    redlock_close(&alice, CLOSE_MS);
}

/* Returns the number of the first call that did not go as it should, or 0. */
static int keep_asleep(void)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    if (!join(&alice, node_list)) return 1;
    if (redlock_acquire(&alice, &lock, "asleep", SHORT_MS, 0) != REDLOCK_OK ||
        !keep(&alice, &lock, 0))
        return 2;
    raise(SIGSTOP);
    if (redlock_valid_ms(&lock) != 0) return 3;
    if (redlock_run_for(&alice, &lock, TTL_MS) != REDLOCK_LOST) return 4;
    if (redlock_release(&alice, &lock, NULL) != REDLOCK_LOST) return 5;
    redlock_close(&alice, CLOSE_MS);
    return 0;
}

TEST(a_holder_that_was_stopped_finds_its_kept_lock_not_held_and_leaves_that_of_the_next_alone)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    pid_t sleeper = process_fork();
    if (sleeper == 0) _exit(keep_asleep());
    process_await_stop(sleeper);
    CHECK(join(&bob, node_list));
    CHECK_STATUS(redlock_acquire(&bob, &lock, "asleep", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    /* A node may have had the other's key for longer. */
    CHECK_STATUS(redlock_extend(&bob, &lock, TTL_MS), REDLOCK_OK);
    CHECK_SOON(key_is_on_all(nodes, NODES, "asleep", token_of(&lock)));
    process_continue(sleeper);
    CHECK_INT(process_wait(sleeper), 0);
    CHECK(key_is_on_all(nodes, NODES, "asleep", token_of(&lock)));
    CHECK_STATUS(redlock_release(&bob, &lock, NULL), REDLOCK_OK);
    redlock_close(&bob, CLOSE_MS);
}

/* ---- By the keeper's thread ---- */

static bool start_keeper(void)
{
    const struct redlock_options options = throw_away_options();
    return redlock_keeper_start(&keeper, node_list, &options, NULL) == REDLOCK_OK;
}

static enum redlock_status take(struct redlock_kept *kept, const char *resource, uint32_t ttl_ms,
                                uint32_t wait_ms)
{
    const struct redlock_request request = {
        .resource = resource, .resource_size = strlen(resource), .ttl_ms = ttl_ms,
        .wait_ms = wait_ms, .ticket = true
    };
    redlock_kept_init(kept);
    return redlock_keeper_acquire(&keeper, kept, &request, 0);
}

TEST(the_keeper_keeps_many_locks_while_the_program_sleeps)
{
    static struct redlock_kept kept[MANY];
    static char names[MANY][16];
    unsigned confirmed = 0;
    CHECK(start_keeper() && join(&bob, node_list));
    for (unsigned i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "kept-%u", i);
        CHECK_STATUS(take(&kept[i], names[i], SHORT_MS, PATIENCE_MS), REDLOCK_OK);
        CHECK(redlock_view_kept(&keeper, &kept[i]).ticket > 0);
    }
    nap_ms(LONG_MS);
    for (unsigned i = 0; i < MANY; i++) {
        CHECK(redlock_view_kept(&keeper, &kept[i]).valid_ms > 0);
        CHECK_STATUS(redlock_view_kept(&keeper, &kept[i]).status, REDLOCK_OK);
        CHECK(is_taken(names[i]));
    }
    CHECK_STATUS(redlock_keeper_release(&keeper, &kept[0], &confirmed), REDLOCK_OK);
    CHECK(confirmed >= redlock_quorum(NODES));
    CHECK_INT(redlock_view_kept(&keeper, &kept[0]).valid_ms, 0);
    CHECK_STATUS(redlock_keeper_release(&keeper, &kept[0], NULL), REDLOCK_LOST);
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    for (unsigned i = 0; i < MANY; i++) CHECK(key_is_gone(nodes, NODES, names[i]));
    redlock_close(&bob, CLOSE_MS);
}

TEST(a_keeper_that_is_stopped_without_releasing_abandons_its_locks)
{
    struct redlock_kept kept;
    CHECK(start_keeper() && join(&bob, node_list));
    CHECK_STATUS(take(&kept, "abandoned", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_keeper_stop(&keeper, false, CLOSE_MS), REDLOCK_OK);
    CHECK(is_taken("abandoned"));
    redlock_close(&bob, CLOSE_MS);
}

TEST(a_keeper_that_is_stopped_releases_more_locks_than_a_client_keeps_the_debts_of)
{
    enum { COUNT = REDLOCK_PARTED_MAX + 1 };
    static struct redlock_kept kept[COUNT];
    static char names[COUNT][16];
    CHECK(start_keeper());
    for (unsigned i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "one-of-%u", i);
        CHECK_STATUS(take(&kept[i], names[i], TTL_MS, PATIENCE_MS), REDLOCK_OK);
    }
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    for (unsigned i = 0; i < COUNT; i++) CHECK(key_is_gone(nodes, NODES, names[i]));
}

TEST(a_keeper_that_cannot_release_in_time_says_so_when_it_is_stopped)
{
    struct redlock_kept kept;
    CHECK(start_keeper());
    CHECK_STATUS(take(&kept, "unreleased", SHORT_MS, PATIENCE_MS), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++) server_freeze(&nodes[k]);
    uint64_t begun_at = clock_ms();
    enum redlock_status status = redlock_keeper_stop(&keeper, true, 100);
    uint64_t took_ms = clock_ms() - begun_at;
    for (unsigned k = 0; k < NODES; k++) server_thaw(&nodes[k]);
    CHECK_STATUS(status, REDLOCK_NO_QUORUM);
    CHECK(took_ms < PATIENCE_MS);
    CHECK_SOON(key_is_gone(nodes, NODES, "unreleased"));
}

TEST(a_lock_that_a_keeper_holds_or_a_request_that_is_wrong_is_refused_at_once)
{
    struct redlock_request request = {
        .resource = "twice", .resource_size = strlen("twice"), .ttl_ms = TTL_MS, .ticket = true,
        .wall_us = redlock_wall_us()
    };
    struct redlock_kept kept;
    CHECK(start_keeper());
    redlock_kept_init(&kept);
    CHECK_STATUS(redlock_keeper_acquire(&keeper, &kept, &request, 0), REDLOCK_OK);
    CHECK_INT(redlock_view_kept(&keeper, &kept).ticket, request.wall_us);
    CHECK_STATUS(redlock_keeper_acquire(&keeper, &kept, &request, 0), REDLOCK_BAD_STATE);
    redlock_keeper_cancel(&keeper, &kept);  /* There is nothing to be cancelled. */
    CHECK_STATUS(redlock_view_kept(&keeper, &kept).status, REDLOCK_OK);
    CHECK_STATUS(redlock_keeper_release(&keeper, &kept, NULL), REDLOCK_OK);
    request.ttl_ms = 0;
    CHECK_STATUS(redlock_keeper_acquire(&keeper, &kept, &request, 0), REDLOCK_BAD_TTL);
    CHECK_INT(redlock_view_kept(&keeper, &kept).valid_ms, 0);
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    CHECK(key_is_gone(nodes, NODES, "twice"));
}

#if defined(__linux__) && \
    defined(__LP64__) /* Elsewhere the call has another name, or the kernel another structure. */

/* This thread finds that so much time has passed when it learns that the lock is won. */
static _Thread_local struct {
    const struct redlock_lock *lock;
    time_t seconds;
} sleeps_through;

int clock_gettime(clockid_t id, struct timespec *now)
{
    *now = (struct timespec){ 0 };      /* MSan does not know that a system call writes. */
    int result = (int)syscall(SYS_clock_gettime, id, now);
    if (sleeps_through.lock && redlock_lock_status(sleeps_through.lock) == REDLOCK_OK)
        now->tv_sec += sleeps_through.seconds;
    return result;
}

/* S10: a lock that was won, and has ended before its holder knew, is none. */
TEST(s10_a_lock_that_a_thread_learns_of_when_it_is_over_was_won_too_late)
{
    struct redlock_request request = {
        .resource = "overslept", .resource_size = 9, .ttl_ms = TTL_MS
    };
    struct redlock_kept kept;
    redlock_kept_init(&kept);
    CHECK(start_keeper());
    sleeps_through.lock = &kept.lock;
    sleeps_through.seconds = TTL_MS / 1000;
    enum redlock_status status = redlock_keeper_acquire(&keeper, &kept, &request, 0);
    sleeps_through.lock = NULL;
    CHECK_STATUS(status, REDLOCK_TOO_LATE);
    CHECK_INT(redlock_view_kept(&keeper, &kept).valid_ms, 0);
    CHECK_SOON(key_is_gone(nodes, NODES, "overslept"));
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
}

#endif

TEST(the_keeper_learns_that_a_lock_is_lost)
{
    struct redlock_kept kept;
    CHECK(start_keeper());
    CHECK_STATUS(take(&kept, "robbed", SHORT_MS, PATIENCE_MS), REDLOCK_OK);
    take_away("robbed");
    CHECK_SOON(redlock_view_kept(&keeper, &kept).status == REDLOCK_LOST);
    CHECK_INT(redlock_view_kept(&keeper, &kept).valid_ms, 0);
    CHECK_STATUS(redlock_keeper_release(&keeper, &kept, NULL), REDLOCK_LOST);
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    CHECK(key_is_on_all(nodes, NODES, "robbed", "stranger"));
}

TEST(the_keeper_extends_in_the_gaps_of_a_node_that_fails)
{
    struct redlock_kept kept;
    struct redlock_options options = throw_away_options();
    options.engine.node_timeout_ms = 200;
    CHECK_STATUS(redlock_keeper_start(&keeper, node_list, &options, NULL), REDLOCK_OK);
    CHECK_STATUS(take(&kept, "gaps", SHORT_MS, PATIENCE_MS), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++) {
        server_freeze(&nodes[k]);
        nap_ms(SHORT_MS / 2);
        server_thaw(&nodes[k]);
    }
    CHECK(redlock_view_kept(&keeper, &kept).valid_ms > 0);
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    CHECK_SOON(key_is_gone(nodes, NODES, "gaps"));
}

struct errand {
    unsigned wins;
    struct redlock_kept kept;
};

static int inside;

static void *run_errands(void *context)
{
    struct errand *errand = context;
    for (unsigned i = 0; i < 25; i++) {
        if (take(&errand->kept, "errands", TTL_MS, REDLOCK_FOREVER) != REDLOCK_OK) return NULL;
        errand->wins += __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) == 1;
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        if (redlock_keeper_release(&keeper, &errand->kept, NULL) != REDLOCK_OK) return NULL;
    }
    return NULL;
}

TEST(threads_that_share_a_keeper_exclude_each_other)
{
    static struct errand errands[THREADS];
    pthread_t threads[THREADS];
    CHECK(start_keeper());
    for (unsigned i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, run_errands, &errands[i]), 0);
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++) CHECK_INT(errands[i].wins, 25);
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    CHECK(key_is_gone(nodes, NODES, "errands"));
}

/* A lock that one thread acquires, and that another takes from it. */
struct hand_over {
    struct redlock_kept kept;
    enum redlock_status status;
};

static void *acquire_for_another(void *context)
{
    struct hand_over *over = context;
    const struct redlock_request request = {
        .resource = "handed", .resource_size = strlen("handed"), .ttl_ms = TTL_MS,
        .wait_ms = PATIENCE_MS
    };
    over->status = redlock_keeper_acquire(&keeper, &over->kept, &request, 0);
    return NULL;
}

static void *release_at_last(void *context)
{
    struct hand_over *over = context;
    enum redlock_status status;
    do status = redlock_keeper_release(&keeper, &over->kept, NULL);
    while (status == REDLOCK_BAD_STATE);
    return NULL;
}

static bool is_overwritten(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0xa5) return false;
    return true;
}

/* The lock's memory is this thread's from its release on. The other one, woken but not there yet,
 * must not look at it. */
static bool is_left_alone_after_release(struct hand_over *over)
{
    pthread_t thread;
    enum redlock_status status;
    redlock_kept_init(&over->kept);
    if (pthread_create(&thread, NULL, acquire_for_another, over) != 0) return false;
    do status = redlock_keeper_release(&keeper, &over->kept, NULL);
    while (status == REDLOCK_BAD_STATE || status == REDLOCK_LOST);
    memset(&over->kept, 0xa5, sizeof over->kept);
    pthread_join(thread, NULL);
    return status == REDLOCK_OK && over->status == REDLOCK_OK &&
           is_overwritten(&over->kept, sizeof over->kept);
}

TEST(a_lock_is_not_released_before_the_thread_that_acquires_it_knows)
{
    static struct hand_over over;
    CHECK(start_keeper());
    for (unsigned i = 0; i < 1000; i++) {
        bool is_left_alone = is_left_alone_after_release(&over);
        CHECK(is_left_alone);
        if (!is_left_alone) break;
    }
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    CHECK(key_is_gone(nodes, NODES, "handed"));
}

/* If two release the same lock, one does, and until it has returned the other one is refused. */
TEST(a_lock_that_two_threads_release_is_not_the_callers_before_both_have_done_with_it)
{
    static struct hand_over over;
    pthread_t thread;
    CHECK(start_keeper());
    for (unsigned i = 0; i < 1000; i++) {
        CHECK_STATUS(take(&over.kept, "handed", TTL_MS, PATIENCE_MS), REDLOCK_OK);
        CHECK_INT(pthread_create(&thread, NULL, release_at_last, &over), 0);
        release_at_last(&over);
        CHECK(!over.kept.is_listed && redlock_idle(&over.kept.lock));
        pthread_join(thread, NULL);
    }
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    CHECK(key_is_gone(nodes, NODES, "handed"));
}

struct waiter {
    struct redlock_kept kept;
    enum redlock_status status;
};

static void *wait_in_vain(void *context)
{
    struct waiter *waiter = context;
    const struct redlock_request request = {
        .resource = "in-vain", .resource_size = strlen("in-vain"), .ttl_ms = TTL_MS,
        .wait_ms = REDLOCK_FOREVER
    };
    waiter->status = redlock_keeper_acquire(&keeper, &waiter->kept, &request, 0);
    return NULL;
}

static bool begins_to_wait(struct waiter *waiter)
{
    uint64_t until = clock_ms() + PATIENCE_MS;
    while (redlock_view_kept(&keeper, &waiter->kept).status != REDLOCK_PENDING &&
           clock_ms() < until)
        nap_ms(10);
    return redlock_view_kept(&keeper, &waiter->kept).status == REDLOCK_PENDING;
}

static void check_wait_ends(void (*end)(struct waiter *waiter))
{
    struct waiter waiter;
    pthread_t thread;
    take_away("in-vain");
    redlock_kept_init(&waiter.kept);
    CHECK(start_keeper());
    CHECK_INT(pthread_create(&thread, NULL, wait_in_vain, &waiter), 0);
    bool has_waited = begins_to_wait(&waiter);
    nap_ms(300);
    uint32_t valid_ms = redlock_view_kept(&keeper, &waiter.kept).valid_ms;
    end(&waiter);
    pthread_join(thread, NULL);
    CHECK_STATUS(waiter.status, REDLOCK_CANCELLED);
    CHECK(has_waited);
    CHECK_INT(valid_ms, 0);
    /* It was stopped. */
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_NOT_OPEN);
    CHECK_STATUS(redlock_view_kept(&keeper, &waiter.kept).status, REDLOCK_NOT_OPEN);
}

static void cancel_and_stop(struct waiter *waiter)
{
    redlock_keeper_cancel(&keeper, &waiter->kept);
    redlock_keeper_stop(&keeper, true, CLOSE_MS);
}

static void stop(struct waiter *waiter)
{
    (void)waiter;
    redlock_keeper_stop(&keeper, true, CLOSE_MS);
}

TEST(a_wait_ends_when_another_thread_cancels_it) { check_wait_ends(cancel_and_stop); }

TEST(a_wait_ends_when_the_keeper_is_stopped) { check_wait_ends(stop); }

/* Returns the number of the first call that did not go as it should, or 0. */
static int use_as_child(struct redlock_kept *kept)
{
    struct redlock_kept other;
    if (take(&other, "child", TTL_MS, 0) != REDLOCK_FORKED) return 1;
    if (redlock_view_kept(&keeper, kept).valid_ms != 0) return 2;
    if (redlock_view_kept(&keeper, kept).status != REDLOCK_FORKED) return 3;
    if (redlock_keeper_release(&keeper, kept, NULL) != REDLOCK_FORKED) return 4;
    if (redlock_view_kept(&keeper, kept).ticket != 0) return 5;
    redlock_keeper_cancel(&keeper, kept);
    if (redlock_keeper_stop(&keeper, true, CLOSE_MS) != REDLOCK_FORKED) return 6;
    return 0;
}

TEST(a_child_holds_none_of_its_parents_kept_locks_and_does_them_no_harm)
{
    struct redlock_kept kept;
    CHECK(start_keeper());
    CHECK_STATUS(take(&kept, "parents", SHORT_MS, PATIENCE_MS), REDLOCK_OK);
    pid_t child = process_fork();
    if (child == 0) _exit(use_as_child(&kept));
    CHECK_INT(process_wait(child), 0);
    nap_ms(2 * SHORT_MS);
    CHECK(redlock_view_kept(&keeper, &kept).valid_ms > 0);
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
    CHECK(key_is_gone(nodes, NODES, "parents"));
}

static volatile sig_atomic_t handled;
static pthread_t handled_by;

static void note_thread(int number)
{
    (void)number;
    handled_by = pthread_self();
    handled = 1;
}

TEST(the_keepers_thread_takes_no_signals)
{
    sigset_t user, before;
    struct sigaction action = { .sa_handler = note_thread };
    sigemptyset(&user);
    sigaddset(&user, SIGUSR1);
    sigaction(SIGUSR1, &action, NULL);
    CHECK(start_keeper());
    pthread_sigmask(SIG_BLOCK, &user, &before);
    kill(getpid(), SIGUSR1);        /* The only thread that might take it now is the keeper's. */
    nap_ms(100);
    CHECK_INT(handled, 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    CHECK_SOON(handled == 1);
    CHECK(pthread_equal(handled_by, pthread_self()));
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
}

TEST(a_keeper_that_runs_is_not_started_again)
{
    struct redlock_kept kept;
    CHECK(start_keeper());
    CHECK_STATUS(take(&kept, "once", TTL_MS, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_keeper_start(&keeper, node_list, NULL, NULL), REDLOCK_ALREADY_OPEN);
    CHECK_STATUS(redlock_keeper_release(&keeper, &kept, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_keeper_stop(&keeper, true, CLOSE_MS), REDLOCK_OK);
}

TEST(a_wrong_list_of_nodes_starts_no_keeper)
{
    struct redlock_mistake mistake = { .node = 99 };
    CHECK_STATUS(redlock_keeper_start(&keeper, "127.0.0.1:70000", NULL, &mistake),
                 REDLOCK_BAD_ADDRESS);
    CHECK_INT(mistake.node, 0);
}

int main(int argc, char **argv)
{
    servers_start(nodes, NODES, "");
    snprintf(node_list, sizeof node_list, "%s", servers_list(nodes, NODES));
    return tap_run_all(argc, argv);
}
