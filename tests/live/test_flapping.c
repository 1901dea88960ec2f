/* Connections that break all the time, since somebody kills every client of every server twenty
 * times a second. No holder may lose its lock by that, and nobody may wait for ever. RUNS=200 makes
 * more of it than is needed every day. */
#define _XOPEN_SOURCE 700

#include "clients.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    NODES = 3,
    KILL_EVERY_MS = 50,
    HOLD_TTL_MS = 2000,
    HELD_MS = 3 * HOLD_TTL_MS,
    HOLD_MS = 5,
    WAIT_MS = 20000,
    RUNS = 20,              /* Locks of each of two that contend. */
    ALL_ENDED = 0, NOT_OPENED = 1, NOT_ACQUIRED = 2
};

static struct server nodes[NODES];
static char node_list[128];

static unsigned runs(void)
{
    const char *text = getenv("RUNS");
    return text ? (unsigned)strtoul(text, NULL, 10) : RUNS;
}

static struct redlock_options hasty_options(void)
{
    struct redlock_options options;
    redlock_options_init(&options);
    options.engine.guard_ms = 0;
    return options;
}

static pid_t start_killing(void)
{
    pid_t pid = process_fork();
    while (pid == 0) {
        for (unsigned k = 0; k < NODES; k++) {
            (void)ASK(&nodes[k], "CLIENT", "KILL", "TYPE", "normal");
            (void)ASK(&nodes[k], "CLIENT", "KILL", "TYPE", "pubsub");
        }
        nap_ms(KILL_EVERY_MS);
    }
    return pid;
}

static void stop_killing(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)process_wait(pid);
}

/* Does as "redlock run", again and again. */
static int run_all(void)
{
    static struct redlock_client client;
    const struct redlock_options options = hasty_options();
    struct redlock_lock lock;
    redlock_lock_init(&lock);
    if (redlock_open(&client, node_list, &options, NULL) != REDLOCK_OK) return NOT_OPENED;
    for (unsigned i = 0; i < runs(); i++) {
        enum redlock_status status =
            redlock_acquire(&client, &lock, "contended", HOLD_TTL_MS, WAIT_MS);
        if (status != REDLOCK_OK) {
            printf("# run %u: %s\n", i, redlock_status_text(status));
            fflush(stdout);
            return NOT_ACQUIRED;
        }
        nap_ms(HOLD_MS);
        (void)redlock_release(&client, &lock, NULL);
    }
    redlock_close(&client, CLOSE_MS);
    return ALL_ENDED;
}

static pid_t start_running(void)
{
    pid_t pid = process_fork();
    if (pid == 0) _exit(run_all());
    return pid;
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = { .si_pid = 0 };
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

TEST(connections_that_are_killed_twenty_times_a_second_cost_no_holder_its_lock_and_every_run_ends)
{
    static struct redlock_client client;
    const struct redlock_options options = hasty_options();
    struct redlock_lock lock;
    servers_start(nodes, NODES, "");
    snprintf(node_list, sizeof node_list, "%s", servers_list(nodes, NODES));
    redlock_lock_init(&lock);
    CHECK_STATUS(redlock_open(&client, node_list, &options, NULL), REDLOCK_OK);
    CHECK_STATUS(redlock_acquire(&client, &lock, "held", HOLD_TTL_MS, WAIT_MS), REDLOCK_OK);
    CHECK_STATUS(redlock_keep(&client.engine, &lock, 0, redlock_now_us()), REDLOCK_OK);

    const uint64_t began = clock_ms();
    const pid_t killer = start_killing(), runners[] = { start_running(), start_running() };
    bool is_held = true, are_running = true;
    while (is_held && (are_running || clock_ms() - began < HELD_MS)) {
        (void)redlock_run_for(&client, &lock, 20);
        is_held = redlock_valid_ms(&lock) > 0;
        are_running = !has_ended(runners[0]) || !has_ended(runners[1]);
    }
    printf("# twice %u runs, held for %u ms\n", runs(), (unsigned)(clock_ms() - began));
    for (unsigned i = 0; i < 2; i++) CHECK_INT(process_wait(runners[i]), ALL_ENDED);
    stop_killing(killer);
    CHECK(is_held);
    (void)redlock_release(&client, &lock, NULL);
    redlock_close(&client, CLOSE_MS);
    servers_end(nodes, NODES);
}

TAP_MAIN
