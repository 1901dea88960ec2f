/* The stories that the literature tells about distributed locks, as timelines that a person can follow, each with the
 * verdict that is expected: does the exclusion hold, or is it one of the known limits? */
#include "sim.h"

#include "../../redlock/redlock_fence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    MS = 1000,
    TTL_MS = 10000,
    SETTLE_MS = 20,
    STORY_SEED = 1
};

struct stage {
    struct cluster *cluster;
    uint64_t begun_us;
    bool acted_blindly;         /* Somebody wrote although another held the lock. */
    bool has_tickets;
};

static const char names[] = "ABC";  /* Of the clients. */

__attribute__((format(printf, 2, 3)))
static void say(const struct stage *stage, const char *format, ...)
{
    va_list arguments;
    printf("%10.1f ms  ", (double)(stage->cluster->now_us - stage->begun_us) / 1000);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static struct stage open_stage_with(unsigned nodes, unsigned clients, uint32_t guard_ms, bool wake_ups)
{
    struct redlock_config config;
    redlock_config_init(&config);
    config.guard_ms = guard_ms;
    config.wake_ups = wake_ups;
    struct stage stage = { .cluster = cluster_new(nodes, clients, &config, STORY_SEED) };
    stage.cluster->no_promise = true; /* The story says who holds what; what counts is that no two do. */
    cluster_run_ms(stage.cluster, SETTLE_MS);
    stage.begun_us = stage.cluster->now_us;
    return stage;
}

static struct stage open_stage(unsigned nodes, unsigned clients, uint32_t guard_ms)
{
    return open_stage_with(nodes, clients, guard_ms, false);
}

/* ---- What happens ---- */

static void pass(const struct stage *stage, uint64_t ms)
{
    cluster_run_ms(stage->cluster, ms);
}

static void say_holds(const struct stage *stage, unsigned client)
{
    const uint64_t valid_us = cluster_valid_us(stage->cluster, client, 0);
    if (valid_us > 0)
        say(stage, "%c holds the lock, for another %.1f ms", names[client], (double)valid_us / 1000);
    else
        say(stage, "%c does not hold the lock", names[client]);
}

static void start(const struct stage *stage, unsigned client, uint32_t wait_ms)
{
    const struct redlock_request request = { .resource = "door", .resource_size = 4, .ttl_ms = TTL_MS, .wait_ms = wait_ms,
                                             .ticket = stage->has_tickets };
    (void)cluster_acquire(stage->cluster, client, 0, &request);
    say(stage, "%c asks all nodes for the lock, for %d ms", names[client], TTL_MS);
}

static void say_verdict(const struct stage *stage, unsigned client)
{
    const struct redlock_lock *lock = cluster_lock(stage->cluster, client, 0);
    for (unsigned k = 0; k < stage->cluster->node_count; k++)
        say(stage, "    node %u: %s", k, redlock_vote_text(redlock_vote_of(lock, k)));
    say(stage, "%c: %s", names[client], redlock_status_text(redlock_lock_status(lock)));
    say_holds(stage, client);
}

static void acquire(const struct stage *stage, unsigned client, uint32_t wait_ms)
{
    start(stage, client, wait_ms);
    (void)cluster_run_until_done(stage->cluster, client, 0);
    say_verdict(stage, client);
}

static void part(const struct stage *stage, unsigned client, unsigned node)
{
    say(stage, "the link from %c to node %u is cut", names[client], node);
    cluster_cut(stage->cluster, client, node, false);
    pass(stage, SETTLE_MS);
}

/* Says what became of it instead of the exclusion; 1: not what should. */
static unsigned close_on(const struct stage *stage, const char *verdict, bool is_right)
{
    if (cluster_is_broken(stage->cluster)) say(stage, "%s", stage->cluster->broken);
    is_right = is_right && !cluster_is_broken(stage->cluster);
    printf("    => %s; %s\n\n", verdict, is_right ? "as expected" : "NOT AS EXPECTED");
    cluster_free(stage->cluster);
    return !is_right;
}

/* Ends the story: was the exclusion kept, as it should? 1: no. */
static unsigned close_stage(const struct stage *stage, bool expected)
{
    const bool is_kept = !cluster_is_broken(stage->cluster) && !stage->acted_blindly;
    if (cluster_is_broken(stage->cluster)) say(stage, "%s", stage->cluster->broken);
    printf("    => exclusion %s%s; %s\n\n", is_kept ? "kept" : "broken", expected ? "" : ", a known limit",
           is_kept == expected ? "as expected" : "NOT AS EXPECTED");
    cluster_free(stage->cluster);
    return is_kept != expected;
}

static void title(const char *text)
{
    printf("== %s\n", text);
}

/* ---- The master that dies before it replicates ---- */

static unsigned master_dies(bool is_hidden)
{
    struct stage stage = open_stage(3, 2, REDLOCK_GUARD_MS);
    struct model_node *node = &stage.cluster->hosts[1].node;
    title(is_hidden ? "The master that dies before it replicates, behind a proxy that hides it"
                    : "The master that dies before it replicates, and everybody sees it");
    part(&stage, 0, 2);
    model_node_save(node);
    say(&stage, "node 1 replicates for the last time: the lock is not there yet");
    acquire(&stage, 0, 0);
    if (is_hidden) {
        say(&stage, "node 1 dies; its replica takes over behind the same connections");
        model_node_load(node);
    } else {
        say(&stage, "node 1 dies; connections break, and its replica answers with another run_id");
        cluster_node_down(stage.cluster, 1);
        cluster_node_up_from_disk(stage.cluster, 1);
        pass(&stage, 500);
    }
    acquire(&stage, 1, 0);
    return close_stage(&stage, !is_hidden);
}

/* ---- The node that restarts empty ---- */

static unsigned node_restarts_empty(bool is_guarded)
{
    struct stage stage = open_stage(3, 2, is_guarded ? REDLOCK_GUARD_MS : 0);
    title(is_guarded ? "The node that restarts empty, with the guard" : "The node that restarts empty, without the guard");
    part(&stage, 0, 2);
    acquire(&stage, 0, 0);
    say(&stage, "node 1 crashes and restarts with an empty memory");
    cluster_node_down(stage.cluster, 1);
    cluster_node_up(stage.cluster, 1, false);
    pass(&stage, 500);
    acquire(&stage, 1, 0);
    if (is_guarded) {
        say(&stage, "B goes on trying until A's lock has run out and the guard of node 1 has ended");
        acquire(&stage, 1, 60000);
    }
    return close_stage(&stage, is_guarded);
}

/* ---- The clock that jumps ---- */

static unsigned clock_jumps(int ms)
{
    struct stage stage = open_stage(3, 2, REDLOCK_GUARD_MS);
    title(ms > 0 ? "The clock that jumps forward" : "The clock that jumps back");
    part(&stage, 0, 2);
    acquire(&stage, 0, 0);
    say(&stage, "the wall clock of node 1 is stepped by %d ms", ms);
    cluster_step_node_clock(stage.cluster, 1, (int64_t)ms * MS);
    acquire(&stage, 1, 0);
    return close_stage(&stage, ms < 0);
}

/* ---- The long pause ---- */

static unsigned long_pause(bool asks)
{
    struct stage stage = open_stage(5, 2, REDLOCK_GUARD_MS);
    title(asks ? "The long pause, and the holder asks before it acts" : "The long pause, and the holder acts without asking");
    acquire(&stage, 0, 0);
    say(&stage, "A is stopped, by a garbage collector or SIGSTOP");
    stage.cluster->clients[0].frozen = true;
    pass(&stage, TTL_MS + 1000);
    acquire(&stage, 1, 0);
    stage.cluster->clients[0].frozen = false;
    say(&stage, "A goes on, and knows nothing of the pause");
    if (asks) {
        say_holds(&stage, 0);
        say(&stage, "so A does not write");
    } else {
        say(&stage, "A writes as the holder it was; only a ticket that the resource checks can stop it");
        stage.acted_blindly = cluster_valid_us(stage.cluster, 1, 0) > 0;
    }
    return close_stage(&stage, asks);
}

static bool is_admitted(const struct stage *stage, struct redlock_fence *fence, unsigned client, uint64_t ticket)
{
    const bool admits = redlock_fence_admit(fence, ticket);
    say(stage, "%c writes with the ticket %llu: %s", names[client], (unsigned long long)ticket,
        admits ? "the resource admits it" : "the resource refuses it, for it has seen a larger one");
    return admits;
}

static unsigned long_pause_at_a_fence(void)
{
    struct stage stage = open_stage(5, 2, REDLOCK_GUARD_MS);
    struct redlock_fence fence = { 0 };
    title("The long pause, and the holder acts without asking, on a resource that checks tickets");
    stage.has_tickets = true;
    acquire(&stage, 0, 0);
    const uint64_t ticket = redlock_ticket(cluster_lock(stage.cluster, 0, 0));
    const bool writes_first = is_admitted(&stage, &fence, 0, ticket);
    say(&stage, "A is stopped, by a garbage collector or SIGSTOP");
    stage.cluster->clients[0].frozen = true;
    pass(&stage, TTL_MS + 1000);
    acquire(&stage, 1, 0);
    const bool writes_then = is_admitted(&stage, &fence, 1, redlock_ticket(cluster_lock(stage.cluster, 1, 0)));
    stage.cluster->clients[0].frozen = false;
    say(&stage, "A goes on, and knows nothing of the pause");
    const bool writes_late = is_admitted(&stage, &fence, 0, ticket);
    return close_on(&stage, "the late write is kept out", writes_first && writes_then && !writes_late);
}

/* ---- The keeper that cannot go on ---- */

static unsigned keeper_loses_quorum(void)
{
    struct stage stage = open_stage(5, 2, REDLOCK_GUARD_MS);
    struct redlock_lock *lock = cluster_lock(stage.cluster, 0, 0);
    title("The keeper that loses its quorum, and says so before the end");
    acquire(&stage, 0, 0);
    (void)cluster_keep(stage.cluster, 0, 0, 0);
    say(&stage, "A keeps it");
    pass(&stage, 2 * TTL_MS);
    say_holds(&stage, 0);
    for (unsigned k = 0; k < 3; k++) part(&stage, 0, k);
    while (redlock_lock_status(lock) == REDLOCK_OK) pass(&stage, 1);
    say(&stage, "A is told: %s", redlock_status_text(redlock_lock_status(lock)));
    const uint64_t left_us = cluster_valid_us(stage.cluster, 0, 0);
    say_holds(&stage, 0);
    while (redlock_lock_status(lock) != REDLOCK_LOST) pass(&stage, 1);
    say(&stage, "A is told: %s", redlock_status_text(redlock_lock_status(lock)));
    acquire(&stage, 1, TTL_MS);
    return close_on(&stage, "A had time to stop its work before B began", left_us > (uint64_t)TTL_MS * MS / 4 &&
                    cluster_valid_us(stage.cluster, 0, 0) == 0 && cluster_valid_us(stage.cluster, 1, 0) > 0);
}

/* ---- The hand-over ---- */

static unsigned hand_over(void)
{
    struct stage stage = open_stage_with(5, 2, REDLOCK_GUARD_MS, true);
    title("The hand-over: a release wakes a waiting client");
    acquire(&stage, 0, 0);
    start(&stage, 1, TTL_MS);
    pass(&stage, SETTLE_MS);
    say(&stage, "B: %s; it takes an entry among the waiters of each node, and listens",
        redlock_status_text(redlock_attempt_status(cluster_lock(stage.cluster, 1, 0))));
    const uint64_t released_at = stage.cluster->now_us;
    (void)cluster_release(stage.cluster, 0, 0);
    say(&stage, "A releases the lock: each node tells the first client in its queue");
    (void)cluster_run_until_done(stage.cluster, 1, 0);
    say_verdict(&stage, 1);
    const uint64_t took_us = stage.cluster->now_us - released_at;
    say(&stage, "that took %.1f ms, and a round trip takes %.1f ms", (double)took_us / 1000, 2.0 * CLUSTER_DELAY_US / 1000);
    return close_on(&stage, "handed over within three round trips",
                    took_us <= 6 * CLUSTER_DELAY_US && cluster_valid_us(stage.cluster, 1, 0) > 0);
}

static unsigned pause_before_the_answers(void)
{
    struct stage stage = open_stage(5, 2, REDLOCK_GUARD_MS);
    title("The long pause, while the answers wait in the kernel");
    start(&stage, 0, 0);
    cluster_run_us(stage.cluster, CLUSTER_DELAY_US / 2);
    say(&stage, "A is stopped while its commands are on their way");
    stage.cluster->clients[0].frozen = true;
    pass(&stage, TTL_MS + 1000);
    say(&stage, "all nodes have granted; A's keys have run out since");
    acquire(&stage, 1, 0);
    stage.cluster->clients[0].frozen = false;
    say(&stage, "A goes on and reads five grants");
    (void)cluster_run_until_done(stage.cluster, 0, 0);
    say_verdict(&stage, 0);
    return close_stage(&stage, true);
}

/* ---- The suspended client ---- */

static unsigned suspended(bool counts)
{
    struct stage stage = open_stage(5, 2, REDLOCK_GUARD_MS);
    title(counts ? "The lid is closed, and the clock goes on (CLOCK_BOOTTIME)"
                 : "The lid is closed, and the clock stands still (CLOCK_MONOTONIC)");
    acquire(&stage, 0, 0);
    say(&stage, "A's machine is suspended");
    stage.cluster->clients[0].frozen = true;
    cluster_set_client_rate(stage.cluster, 0, counts ? 0 : -1000000);
    pass(&stage, TTL_MS + 1000);
    acquire(&stage, 1, 0);
    cluster_set_client_rate(stage.cluster, 0, 0);
    stage.cluster->clients[0].frozen = false;
    say(&stage, "A's machine resumes");
    say_holds(&stage, 0);
    return close_stage(&stage, counts);
}

/* ---- The split vote ---- */

/* Each client is next to one node and far from the others. */
static unsigned split_vote(void)
{
    struct stage stage = open_stage(3, 3, REDLOCK_GUARD_MS);
    unsigned winners = 0;
    title("The split vote");
    for (unsigned c = 0; c < 3; c++)
        for (unsigned k = 0; k < 3; k++) stage.cluster->links[c][k].delay_us = c == k ? 100 : 5000;
    for (unsigned c = 0; c < 3; c++) start(&stage, c, 5000);
    pass(&stage, 2);
    for (unsigned k = 0; k < 3; k++) {
        const char *token = cluster_key(stage.cluster, k, "door");
        say(&stage, "node %u has the token %.6s", k, token ? token : "of nobody");
    }
    pass(&stage, 25);
    for (unsigned c = 0; c < 3; c++)
        say(&stage, "%c: %s; releases what it has, and waits a random time", names[c],
            redlock_status_text(redlock_attempt_status(cluster_lock(stage.cluster, c, 0))));
    pass(&stage, 4000);
    for (unsigned c = 0; c < 3; c++) {
        say_holds(&stage, c);
        winners += cluster_valid_us(stage.cluster, c, 0) > 0;
    }
    return close_stage(&stage, winners == 1);
}

unsigned sim_tell_stories(void)
{
    unsigned wrong = 0;
    wrong += master_dies(true);
    wrong += master_dies(false);
    wrong += node_restarts_empty(false);
    wrong += node_restarts_empty(true);
    wrong += clock_jumps(TTL_MS + 1000);
    wrong += clock_jumps(-TTL_MS);
    wrong += long_pause(false);
    wrong += long_pause(true);
    wrong += long_pause_at_a_fence();
    wrong += pause_before_the_answers();
    wrong += suspended(false);
    wrong += suspended(true);
    wrong += split_vote();
    wrong += keeper_loses_quorum();
    wrong += hand_over();
    return wrong;
}
