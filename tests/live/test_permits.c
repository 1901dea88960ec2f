/* Permits on real servers, for eight processes, with never more than three of them inside. */
#define _DEFAULT_SOURCE
#include "clients.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/mman.h>

enum { SERVERS = 5, CLIENTS = 8, PERMITS = 3, TURNS = 15, HOLD_MS = 3 };

/* Seen by all processes. */
struct inside {
    atomic_int count, most, of_slot[REDLOCK_PERMITS_MAX + 1], clashes;
};

static void enter(struct inside *inside, unsigned slot)
{
    const int now = atomic_fetch_add(&inside->count, 1) + 1;
    int most = atomic_load(&inside->most);

    while (now > most && !atomic_compare_exchange_weak(&inside->most, &most, now)) { }
    if (slot == 0 || atomic_fetch_add(&inside->of_slot[slot], 1) > 0)
        atomic_fetch_add(&inside->clashes, 1);
}

static void leave(struct inside *inside, unsigned slot)
{
    atomic_fetch_sub(&inside->of_slot[slot], 1);
    atomic_fetch_sub(&inside->count, 1);
}

/* The exit status is 0 if every turn came. */
static int take_turns(struct inside *inside, const char *nodes, uint8_t permits)
{
    static struct redlock_client client;
    struct redlock_lock lock;
    struct redlock_request request;

    redlock_request_init(&request);
    request.resource = "pool";
    request.resource_size = 4;
    request.ttl_ms = TTL_MS;
    request.wait_ms = 60000;
    request.kind = &redlock_permits;
    request.permits = permits;
    if (!open_client(&client, nodes)) return 1;
    redlock_lock_init(&lock);
    for (unsigned i = 0; i < TURNS; i++) {
        if (redlock_acquire_request(&client, &lock, &request) != REDLOCK_OK) return 2;
        const unsigned slot = redlock_view_lock(&lock).slot;
        enter(inside, slot);
        nap_ms(HOLD_MS);
        leave(inside, slot);
        if (redlock_release(&client, &lock, NULL) != REDLOCK_OK) return 3;
    }
    redlock_close(&client, CLOSE_MS);
    return 0;
}

static void contend(const uint8_t permits[CLIENTS], int most)
{
    struct server servers[SERVERS];
    struct inside *inside =
        mmap(NULL, sizeof *inside, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t processes[CLIENTS];

    if (inside == MAP_FAILED) bail_out("no shared memory");
    servers_start(servers, SERVERS, "");
    for (unsigned i = 0; i < CLIENTS; i++) {
        processes[i] = process_fork();
        if (processes[i] == 0)
            _exit(take_turns(inside, servers_list(servers, SERVERS), permits[i]));
    }
    for (unsigned i = 0; i < CLIENTS; i++) CHECK_INT(process_wait(processes[i]), 0);
    CHECK_INT(inside->clashes, 0);
    CHECK(inside->most <= most);
    CHECK(inside->most > 1);
    for (unsigned k = 0; k < SERVERS; k++)
        CHECK_STR(
            ASK(&servers[k], "EXISTS", "pool:1", "pool:2", "pool:3", "pool:4", "pool:#waiters"),
            "0");
    servers_end(servers, SERVERS);
    munmap(inside, sizeof *inside);
}

TEST(of_eight_clients_never_more_than_three_have_one_of_three_permits)
{
    static const uint8_t permits[CLIENTS] = { 3, 3, 3, 3, 3, 3, 3, 3 };

    contend(permits, PERMITS);
}

TEST(of_clients_with_different_numbers_never_more_than_the_largest_have_one)
{
    static const uint8_t permits[CLIENTS] = { 4, 3, 2, 1, 4, 3, 2, 1 };

    contend(permits, 4);
}

TAP_MAIN
