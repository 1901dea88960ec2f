/* Two processes fight for one resource on five real nodes while nodes are frozen, connections
 * killed and scripts flushed. A third process judges from outside whether they ever held it at the
 * same time. It uses the times that each wrote down on one clock, and a plain counter in shared
 * memory that only the holder may touch. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE

#include "clients.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    NODES = 5,
    RIVALS = 2,
    ROUNDS = 10000,             /* Rounds of both together. */
    ROUNDS_EACH = ROUNDS / RIVALS,
    /* A holder goes away without a release so often, and its rival waits for the end. */
    ABANDON_EVERY = 250,
    ABANDONED_TTL_MS = 40,
    EXTEND_EVERY = 10,
    RIVAL_WAIT_MS = 60000
};

/* The start and the end of the time that a rival was promised to be alone, in microseconds of the
 * library's clock. */
struct holding {
    uint64_t from, until;
};

/* Shared by all processes. */
struct arena {
    /* Read, changed and written back without any other protection. */
    volatile uint64_t counter;
    volatile bool one_is_done;
    uint64_t increments[RIVALS];                /* How often each did so. */
    uint32_t count[RIVALS];
    struct holding holdings[RIVALS][ROUNDS_EACH];
};

static struct arena *arena;
static struct server nodes[NODES];

static void clear_arena(void)
{
    if (arena == NULL)
        arena =
            mmap(NULL, sizeof *arena, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED) bail_out("mmap");
    memset(arena, 0, sizeof *arena);
}

/* ---- The checker, which knows nothing of locks ---- */

static int by_start(const void *a, const void *b)
{
    const struct holding *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

static unsigned count_overlaps(struct holding *all, size_t count)
{
    unsigned overlaps = 0;
    uint64_t latest_end = 0;
    qsort(all, count, sizeof *all, by_start);
    for (size_t i = 0; i < count; i++) {
        overlaps += all[i].from < latest_end;
        if (all[i].until > latest_end) latest_end = all[i].until;
    }
    return overlaps;
}

enum { NO_FAULT = 0, OVERLAP = 1, LOST_INCREMENT = 2 };

static int judge(void)
{
    static struct holding all[ROUNDS];
    size_t count = 0;
    uint64_t increments = 0;
    for (unsigned r = 0; r < RIVALS; r++) {
        memcpy(all + count, arena->holdings[r], arena->count[r] * sizeof *all);
        count += arena->count[r];
        increments += arena->increments[r];
    }
    return (count_overlaps(all, count) > 0 ? OVERLAP : 0) |
           (arena->counter != increments ? LOST_INCREMENT : 0);
}

/* Runs in a process of its own. */
static int verdict_from_outside(void)
{
    pid_t checker = process_fork();
    if (checker == 0) _exit(judge());
    return process_wait(checker);
}

TEST(the_checker_sees_an_overlap)
{
    clear_arena();
    arena->holdings[0][0] = (struct holding){ 10, 20 };
    arena->holdings[0][1] = (struct holding){ 40, 90 };
    arena->holdings[1][0] = (struct holding){ 20, 40 };
    arena->holdings[1][1] = (struct holding){ 90, 91 };
    arena->count[0] = arena->count[1] = 2;
    CHECK_INT(verdict_from_outside(), NO_FAULT);
    arena->holdings[1][1].from = 89;
    CHECK_INT(verdict_from_outside(), OVERLAP);
}

TEST(the_checker_sees_a_lost_increment)
{
    clear_arena();
    arena->counter = 2;
    arena->increments[0] = arena->increments[1] = 1;
    CHECK_INT(verdict_from_outside(), NO_FAULT);
    arena->counter = 1;
    CHECK_INT(verdict_from_outside(), LOST_INCREMENT);
}

/* ---- A rival ---- */

/* Not atomic, and slow enough for another to come in between. */
static void increment(unsigned rival)
{
    uint64_t read = arena->counter;
    for (volatile unsigned i = 0; i < 200; i++) {}
    arena->counter = read + 1;
    arena->increments[rival]++;
}

static void write_down(unsigned rival, uint64_t from, uint64_t until)
{
    arena->holdings[rival][arena->count[rival]++] = (struct holding){ from, until };
}

/* The holder dies, as far as the nodes can tell. Its promise lasts to the end of its validity. */
static bool hold_and_abandon(struct redlock_client *c, struct redlock_lock *lock, unsigned rival,
                             const char *resource)
{
    if (redlock_acquire(c, lock, resource, ABANDONED_TTL_MS, RIVAL_WAIT_MS) != REDLOCK_OK)
        return false;
    uint64_t from = redlock_now_us(), valid_us = redlock_valid_us(lock, from);
    write_down(rival, from, from + valid_us);
    redlock_forget(&c->engine, lock);
    redlock_lock_init(lock);
    return true;
}

static bool hold_and_release(struct redlock_client *c, struct redlock_lock *lock, unsigned rival,
                             const char *resource, bool extends)
{
    if (redlock_acquire(c, lock, resource, TTL_MS, RIVAL_WAIT_MS) != REDLOCK_OK) return false;
    uint64_t from = redlock_now_us();
    increment(rival);
    if (extends) {
        /* The promise stands in any case. */
        enum redlock_status ignored = redlock_extend(c, lock, 2 * TTL_MS);
        (void)ignored;
        increment(rival);
    }
    uint64_t until = redlock_now_us();
    bool was_held = redlock_valid_us(lock, until) > 0;
    write_down(rival, from, until);
    return redlock_release(c, lock, NULL) == REDLOCK_OK && was_held;
}

/* Returns 0 when all rounds were won and kept. Rival 1 begins its list with the last node, so that
 * votes split. */
static int fight(unsigned rival, const char *resource)
{
    static struct redlock_client client;
    struct redlock_options options = throw_away_options();
    struct redlock_lock lock;
    char list[256] = "";
    for (unsigned k = 0; k < NODES; k++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "127.0.0.1:%d ",
                 nodes[rival == 0 ? k : NODES - 1 - k].port);
    options.engine.retry_ms = 1;
    redlock_lock_init(&lock);
    if (redlock_open(&client, list, &options, NULL) != REDLOCK_OK) return 1;
    for (unsigned i = 0; i < ROUNDS_EACH; i++) {
        bool good = i % ABANDON_EVERY == ABANDON_EVERY - 1
            ? hold_and_abandon(&client, &lock, rival, resource)
            : hold_and_release(&client, &lock, rival, resource, i % EXTEND_EVERY == 0);
        if (!good) return 2;
    }
    redlock_close(&client, CLOSE_MS);
    return 0;
}

/* ---- The fight ---- */

/* Never more than one node at a time is in trouble, for a moment that is short against the TTL. */
static void make_trouble(unsigned turn)
{
    struct server *s = &nodes[turn % NODES];
    switch (turn / NODES % 3) {
    case 0:
        server_freeze(s);
        nap_ms(15);
        server_thaw(s);
        break;
    case 1:
        ASK(s, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
        break;
    default:
        ASK(s, "SCRIPT", "FLUSH");
    }
    nap_ms(10);
}

static pid_t start_rival(unsigned rival, const char *resource)
{
    pid_t pid = process_fork();
    if (pid != 0) return pid;
    int status = fight(rival, resource);
    arena->one_is_done = true;
    _exit(status);
}

static void run_fight(const char *resource_of_0, const char *resource_of_1, bool trouble)
{
    unsigned turns = 0;
    uint64_t until = clock_ms() + RIVAL_WAIT_MS;    /* A bound in case both crash. */
    clear_arena();
    pid_t rivals[RIVALS] = { start_rival(0, resource_of_0), start_rival(1, resource_of_1) };
    while (trouble && !arena->one_is_done && clock_ms() < until) make_trouble(turns++);
    for (unsigned r = 0; r < RIVALS; r++) CHECK_INT(process_wait(rivals[r]), 0);
    if (trouble) CHECK(turns > 3 * NODES);
}

TEST(two_processes_that_fight_for_ten_thousand_rounds_never_hold_it_at_the_same_time)
{
    run_fight("prize", "prize", true);
    CHECK_INT(arena->count[0] + arena->count[1], ROUNDS);
    CHECK_INT(verdict_from_outside(), NO_FAULT);
}

/* Without this the test above would prove nothing. It shows that the same fight without a common
 * lock is seen to be one. */
TEST(two_processes_with_different_locks_are_seen_to_hold_at_the_same_time)
{
    run_fight("prize-of-one", "prize-of-the-other", false);
    CHECK(verdict_from_outside() & OVERLAP);
}

int main(int argc, char **argv)
{
    servers_start(nodes, NODES, "");
    return tap_run_all(argc, argv);
}
