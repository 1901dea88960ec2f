/* Interruptions of a program that holds locks or waits for them, against real servers. They are
 * signals, other threads, its own end, fork() and exec(). */
#define _XOPEN_SOURCE 700

#include "clients.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    NODES = 3,
    HELD = 8,
    MANY = 100,             /* More locks than a client can keep the debts of. */
    DESCRIPTORS_MAX = 256   /* Those of this program are lower. */
};

static struct server nodes[NODES];
static struct redlock_client alice, bob;
static char node_list[128];

static bool join_interruptible(struct redlock_client *c)
{
    struct redlock_options options = throw_away_options();
    options.interruptible = true;
    return redlock_open(c, node_list, &options, NULL) == REDLOCK_OK &&
           redlock_connect(c, PATIENCE_MS) == REDLOCK_OK;
}

/* ---- A wait is given up ---- */

static void give_to_stranger(const char *key)
{
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "SET", key, "stranger", "PX", "60000");
}

static void *interrupt_a_little_later(void *client)
{
    nap_ms(200);
    redlock_interrupt(client);
    return NULL;
}

TEST(another_thread_ends_a_wait_and_nothing_is_left_of_it)
{
    struct redlock_lock lock;
    pthread_t thread;
    redlock_lock_init(&lock);
    CHECK(join_interruptible(&alice));
    give_to_stranger("waited-for");
    CHECK_INT(pthread_create(&thread, NULL, interrupt_a_little_later, &alice), 0);
    uint64_t begun_at = clock_ms();
    enum redlock_status status =
        redlock_acquire(&alice, &lock, "waited-for", TTL_MS, REDLOCK_FOREVER);
    uint64_t took_ms = clock_ms() - begun_at;
    pthread_join(thread, NULL);
    CHECK_STATUS(status, REDLOCK_CANCELLED);
    CHECK(took_ms < PATIENCE_MS);
    redlock_close(&alice, CLOSE_MS);
    CHECK(key_is_on_all(nodes, NODES, "waited-for", "stranger"));
    CHECK(key_is_gone(nodes, NODES, "waited-for#waiters"));
}

TEST(another_thread_ends_the_wait_for_connections)
{
    struct redlock_options options = throw_away_options();
    pthread_t thread;
    options.interruptible = true;
    CHECK_STATUS(redlock_open(&alice, node_list, &options, NULL), REDLOCK_OK);
    for (unsigned k = 0; k < NODES; k++) server_freeze(&nodes[k]);
    bool is_begun = pthread_create(&thread, NULL, interrupt_a_little_later, &alice) == 0;
    enum redlock_status status = redlock_connect(&alice, PATIENCE_MS);
    if (is_begun) pthread_join(thread, NULL);
    for (unsigned k = 0; k < NODES; k++) server_thaw(&nodes[k]);
    CHECK(is_begun);
    CHECK_STATUS(status, REDLOCK_CANCELLED);
    CHECK_STATUS(redlock_connect(&alice, PATIENCE_MS), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

static void interrupt_alice(int number)
{
    (void)number;
    redlock_interrupt(&alice);
}

/* With SA_RESTART, and to whichever thread, so the self-pipe ends the wait, not EINTR. */
static void set_alarm_ms(unsigned ms)
{
    struct sigaction action = { .sa_handler = interrupt_alice, .sa_flags = SA_RESTART };
    struct itimerval timer = { { 0, 0 }, { (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

TEST(a_signal_handler_ends_a_wait)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join_interruptible(&alice));
    give_to_stranger("signalled");
    set_alarm_ms(200);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "signalled", TTL_MS, REDLOCK_FOREVER),
                 REDLOCK_CANCELLED);
    redlock_close(&alice, CLOSE_MS);
}

/* Two of three nodes do not answer, so that a grant of the third is there when the acquire
 * is given up. */
TEST(what_an_interrupted_acquire_had_is_released)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join_interruptible(&alice));
    server_freeze(&nodes[1]);
    server_freeze(&nodes[2]);
    set_alarm_ms(300);
    enum redlock_status status = redlock_acquire(&alice, &lock, "partly", TTL_MS, REDLOCK_FOREVER);
    CHECK_SOON(key_is_gone(nodes, 1, "partly"));
    server_thaw(&nodes[1]);
    server_thaw(&nodes[2]);
    redlock_close(&alice, CLOSE_MS);
    CHECK_STATUS(status, REDLOCK_CANCELLED);
    CHECK_SOON(key_is_gone(nodes, NODES, "partly"));
}

TEST(an_interrupt_that_finds_no_wait_ends_the_next_one_and_no_more_than_that)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join_interruptible(&alice));
    redlock_interrupt(&alice);
    redlock_interrupt(&alice);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "next", TTL_MS, 0), REDLOCK_CANCELLED);
    CHECK_SOON(key_is_gone(nodes, NODES, "next"));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "next", TTL_MS, 0), REDLOCK_OK);
    redlock_interrupt(&alice);
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_run_for(&alice, &lock, PATIENCE_MS), REDLOCK_CANCELLED);
    CHECK_STATUS(redlock_run_for(&alice, &lock, 10), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_client_that_is_not_interruptible_or_is_closed_takes_no_notice)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    redlock_interrupt(&alice);
    CHECK_STATUS(redlock_acquire(&alice, &lock, "deaf", TTL_MS, 0), REDLOCK_OK);
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_interrupt(&alice);
}

/* ---- Closing with locks held ---- */

static struct redlock_lock locks[MANY], *all[MANY];
static char names[MANY][16];

static bool hold(struct redlock_client *c, unsigned count)
{
    bool good = true;
    for (unsigned i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "held-%u", i);
        redlock_lock_init(&locks[i]);
        all[i] = &locks[i];
        good &= redlock_acquire(c, &locks[i], names[i], TTL_MS, 0) == REDLOCK_OK;
    }
    return good;
}

static unsigned keys_left(const struct server *s)
{
    unsigned count = 99;
    (void)sscanf(ASK(s, "EVAL", "return #redis.call('KEYS', 'held-*')", "0"), "%u", &count);
    return count;
}

static void delete_keys(void)
{
    for (unsigned k = 0; k < NODES; k++) ASK(&nodes[k], "FLUSHALL");
}

TEST(locks_that_are_held_when_the_client_is_closed_are_abandoned_not_released)
{
    CHECK(join(&alice, node_list));
    CHECK(hold(&alice, HELD));
    redlock_close(&alice, CLOSE_MS);
    for (unsigned k = 0; k < NODES; k++) CHECK_INT(keys_left(&nodes[k]), HELD);
    delete_keys();
}

TEST(all_locks_are_released_together_more_than_a_client_keeps_the_debts_of)
{
    CHECK(join(&alice, node_list));
    CHECK(hold(&alice, MANY));
    CHECK_STATUS(redlock_release_all(&alice, all, MANY, PATIENCE_MS), REDLOCK_OK);
    CHECK_INT(alice.given_up, 0);
    for (unsigned i = 0; i < MANY; i++) CHECK_INT(redlock_valid_ms(&locks[i]), 0);
    for (unsigned k = 0; k < NODES; k++) CHECK_INT(keys_left(&nodes[k]), 0);
    redlock_close(&alice, 0);
}

TEST(locks_that_are_not_held_are_no_obstacle_to_a_release_of_all)
{
    struct redlock_lock taken, *bobs = &taken;
    CHECK(join(&alice, node_list) && join(&bob, node_list));
    CHECK(hold(&alice, 4));
    CHECK_STATUS(redlock_release(&alice, &locks[0], NULL), REDLOCK_OK);
    redlock_lock_init(&taken);
    CHECK_STATUS(redlock_acquire(&bob, &taken, "held-2", TTL_MS, 0), REDLOCK_TAKEN);
    CHECK_STATUS(redlock_release_all(&bob, &bobs, 1, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release_all(&alice, &all[2], 2, PATIENCE_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_release_all(&alice, NULL, 0, PATIENCE_MS), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
    redlock_close(&bob, CLOSE_MS);
    delete_keys();
}

TEST(an_acquire_under_way_is_cancelled_by_a_release_of_all)
{
    const struct redlock_request request = {
        .resource = "held-back", .resource_size = strlen("held-back"), .ttl_ms = TTL_MS,
        .wait_ms = REDLOCK_FOREVER
    };
    struct redlock_lock lock, *only = &lock;
    redlock_lock_init(&lock);
    CHECK(join(&alice, node_list));
    CHECK_STATUS(redlock_start_acquire(&alice.engine, &lock, &request, redlock_now_us()),
                 REDLOCK_OK);
    CHECK_STATUS(redlock_step(&alice), REDLOCK_OK);
    CHECK_STATUS(redlock_release_all(&alice, &only, 1, PATIENCE_MS), REDLOCK_OK);
    CHECK_INT(redlock_valid_ms(&lock), 0);
    for (unsigned k = 0; k < NODES; k++) CHECK_INT(keys_left(&nodes[k]), 0);
    redlock_close(&alice, CLOSE_MS);
}

TEST(a_release_of_all_ends_in_its_time_where_no_quorum_answers_and_says_so)
{
    CHECK(join(&alice, node_list));
    CHECK(hold(&alice, HELD));
    server_freeze(&nodes[0]);
    server_freeze(&nodes[1]);
    uint64_t begun_at = clock_ms();
    enum redlock_status status = redlock_release_all(&alice, all, HELD, 300);
    uint64_t took_ms = clock_ms() - begun_at;
    redlock_close(&alice, 0);
    server_thaw(&nodes[0]);
    server_thaw(&nodes[1]);
    CHECK_STATUS(status, REDLOCK_NO_QUORUM);
    CHECK(took_ms >= 300 && took_ms < PATIENCE_MS / 2);
    CHECK_INT(keys_left(&nodes[2]), 0);
    delete_keys();
}

/* ---- fork() and exec() ---- */

static unsigned connections_of(const struct server *s)
{
    unsigned count = 0;
    const char *line = strstr(ASK(s, "INFO", "stats"), "total_connections_received:");
    if (line) (void)sscanf(line, "total_connections_received:%u", &count);
    return count;
}

/* Each ASK is a connection of its own, so one lies between the two counts. */
TEST(a_child_that_closes_its_copy_ends_neither_connections_nor_locks_of_its_parent)
{
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    CHECK(join_interruptible(&alice));
    CHECK_STATUS(redlock_acquire(&alice, &lock, "parents", TTL_MS, 0), REDLOCK_OK);
    unsigned before = connections_of(&nodes[0]);
    pid_t child = process_fork();
    if (child == 0) {
        redlock_close(&alice, CLOSE_MS);
        _exit(0);
    }
    CHECK_INT(process_wait(child), 0);
    CHECK_STATUS(redlock_extend(&alice, &lock, 2 * TTL_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_run_for(&alice, &lock, 50), REDLOCK_OK);
    CHECK_INT(connections_of(&nodes[0]), before + 1);
    CHECK_SOON(key_is_on_all(nodes, NODES, "parents", token_of(&lock)));
    CHECK_STATUS(redlock_release(&alice, &lock, NULL), REDLOCK_OK);
    redlock_close(&alice, CLOSE_MS);
}

/* Counts the descriptors that have come since was[] was filled, and those of them that would
 * outlive exec(). */
static unsigned count_new(const bool was[DESCRIPTORS_MAX], unsigned *inherited)
{
    unsigned count = 0;
    *inherited = 0;
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags < 0 || was[fd]) continue;
        count++;
        *inherited += (flags & FD_CLOEXEC) == 0;
    }
    return count;
}

TEST(no_descriptor_outlives_exec)
{
    struct redlock_lock lock;
    bool was[DESCRIPTORS_MAX];
    unsigned inherited;
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) was[fd] = fcntl(fd, F_GETFD) >= 0;
    redlock_lock_init(&lock);
    CHECK(join_interruptible(&alice));
    give_to_stranger("exec");
    /* Opens the subscriptions. */
    CHECK_STATUS(redlock_acquire(&alice, &lock, "exec", TTL_MS, 1000), REDLOCK_TIMEOUT);
    CHECK_INT(count_new(was, &inherited), 2 * NODES + 2);
    CHECK_INT(inherited, 0);
    redlock_close(&alice, CLOSE_MS);
    CHECK_INT(count_new(was, &inherited), 0);
}

int main(int argc, char **argv)
{
    servers_start(nodes, NODES, "");
    snprintf(node_list, sizeof node_list, "%s", servers_list(nodes, NODES));
    return tap_run_all(argc, argv);
}
