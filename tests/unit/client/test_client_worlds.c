/* Thousands of short worlds of one client over the scripted net, each from a seed. They make random
 * calls of the blocking face and of an event loop under random faults, and an oracle knows the
 * nodes' keys.
 *
 *     - a call takes no longer than its wait and the nodes' timeout, but for the time that the
 *     machine slept;
 *     - a lock that is held lies on a quorum of nodes until its validity ends, or longer;
 *     - the memory of a lock that is the caller's again is not touched;
 *     - when all faults are over, and all is released, nothing of ours is left on any node;
 *     - when the client is closed no descriptor is open; and what scripted_net.h and
 *     scripted_client.h watch for.
 *
 * A number as argument runs that world alone. */
#include "scripted_client.h"

enum {
    WORLDS = 6000, CALLS_MAX = 24, LOCKS = 3,
    SLACK_MS = 20,      /* Slack for a clock that creeps with each look. */
    POISON = 0xa5
};

static const char *const names[LOCKS] = { "door", "gate", "hall" };

struct place {
    struct redlock_lock lock;
    bool in_use;                    /* Otherwise it is full of poison. */
    /* The validity may have been shorter than was promised, since a node's key is gone. */
    bool has_ended;
};

static struct place places[LOCKS];
static uint64_t world;
static bool is_told;                /* Calls are printed. */
static unsigned rings;              /* Rings that no call has reported yet. */
static bool is_interrupting;
static struct loop loop;
static uint64_t held_count, cancelled_count, late_count;

#define FAIL_IF(condition, ...) do { if (condition) net_break(__VA_ARGS__); } while (0)

/* ---- Locks ---- */

static void poison(struct place *place)
{
    place->in_use = false;
    memset(&place->lock, POISON, sizeof place->lock);
}

static void take(struct place *place)
{
    const uint8_t *bytes = (const uint8_t *)&place->lock;
    if (place->in_use) return;
    for (size_t i = 0; i < sizeof place->lock; i++)
        FAIL_IF(bytes[i] != POISON, "memory that was the caller's again was written to");
    redlock_lock_init(&place->lock);
    place->in_use = true;
}

static unsigned number_of(const struct place *place)
{
    return (unsigned)(place - places);
}

static uint64_t valid_us(const struct place *place)
{
    return place->in_use ? redlock_valid_us(&place->lock, net.now_us) : 0;
}

static bool is_pending(const struct place *place)
{
    return place->in_use && redlock_lock_status(&place->lock) == REDLOCK_PENDING;
}

/* Promised keys are there. */
static void check_promises(void)
{
    for (unsigned i = 0; i < LOCKS; i++) {
        if (valid_us(&places[i]) == 0) continue;
        held_count++;
        FAIL_IF(!is_quorum(held_on(&places[i].lock, names[i])), "%s is held on %u nodes only",
                names[i], held_on(&places[i].lock, names[i]));
    }
}

/* ---- Calls and how long they take ---- */

struct call {
    const char *name;
    uint64_t began, suspended;
};

static struct call begin(const char *name)
{
    return (struct call){ name, net.now_us, net.suspended_us };
}

static void end(struct call call, enum redlock_status status, uint64_t ms)
{
    const uint64_t taken = net.now_us - call.began - (net.suspended_us - call.suspended);
    FAIL_IF(taken > (ms + SLACK_MS) * MS, "%s took %ju ms, not %ju", call.name,
            (uintmax_t)taken / MS, (uintmax_t)ms);
    FAIL_IF(status == REDLOCK_CANCELLED && rings == 0, "%s was cancelled by nobody", call.name);
    if (is_told) printf("#     %s: %d after %ju us\n", call.name, (int)status, (uintmax_t)taken);
    if (status == REDLOCK_CANCELLED) {
        cancelled_count++;
        rings = net.was_written;    /* Once more, when it had been heard. */
    }
    check_promises();
}

static void ring(unsigned argument)
{
    (void)argument;
    rings++;
    is_interrupting = false;
    redlock_interrupt(&client);
}

static void ring_later(void)
{
    if (is_interrupting) return;
    is_interrupting = true;
    net_plan(net.now_us + net_below(2000) * MS, ring, 0);
}

static uint32_t some_ms(void)
{
    static const uint32_t some[] = { 0, 1, 30, 300, 1500 };
    return some[net_below(5)];
}

/* ---- The blocking face ---- */

static void acquire(struct place *place)
{
    static const uint32_t ttls[] = { 400, 2000, 15000 };
    const unsigned i = number_of(place);
    struct redlock_request request = { .resource = names[i], .resource_size = 4 };
    if (valid_us(place) > 0 || is_pending(place)) return;
    take(place);
    request.ttl_ms = ttls[net_below(3)];
    request.wait_ms = some_ms();
    request.ticket = net_below(4) == 0;
    if (net_below(6) == 0) request.wait_ms = REDLOCK_FOREVER;
    if (request.wait_ms == REDLOCK_FOREVER) ring_later();
    const struct call call = begin("acquire");
    const enum redlock_status status = redlock_acquire_request(&client, &place->lock, &request);
    const uint64_t wait_ms = request.wait_ms == REDLOCK_FOREVER ? 2000 : request.wait_ms;
    end(call, status, wait_ms + 2 * NODE_TIMEOUT);
    if (status == REDLOCK_OK) {
        FAIL_IF(redlock_valid_us(&place->lock, call.began) > request.ttl_ms * 990u,
                "more validity than the TTL gives");
        FAIL_IF(request.ticket && redlock_ticket(&place->lock) == 0, "no ticket");
    } else if (status == REDLOCK_BAD_STATE) {
        FAIL_IF(true, "an acquire in a bad state");
    } else {
        late_count += status == REDLOCK_TOO_LATE;
        FAIL_IF(valid_us(place) > 0, "held after %s", redlock_status_text(status));
        poison(place);
    }
}

static void extend(struct place *place)
{
    static const uint32_t ttls[] = { 1000, 4000, 20000 };
    if (!place->in_use || is_pending(place)) return;
    const uint64_t before = place->lock.valid_until;
    const struct call call = begin("extend");
    const uint32_t ttl_ms = ttls[net_below(3)];
    const enum redlock_status status = redlock_extend(&client, &place->lock, ttl_ms);
    end(call, status, NODE_TIMEOUT);
    FAIL_IF(redlock_lock_status(&place->lock) == REDLOCK_PENDING, "an extension did not end");
    FAIL_IF(status == REDLOCK_OK && valid_us(place) == 0 && before > net.now_us,
            "extended, and not held");
    FAIL_IF(place->lock.valid_until != 0 && place->lock.valid_until < before,
            "an extension has shortened it");
}

static unsigned gone_from(const struct place *place)
{
    return net.node_count - held_on(&place->lock, names[number_of(place)]);
}

static void release(struct place *place)
{
    unsigned confirmed = 99;
    if (!place->in_use || is_pending(place)) return;
    const struct call call = begin("release");
    const enum redlock_status status = redlock_release(&client, &place->lock, &confirmed);
    end(call, status, NODE_TIMEOUT);
    FAIL_IF(valid_us(place) > 0, "held after a release");
    FAIL_IF(confirmed > gone_from(place), "%u nodes have confirmed, and from %u it is gone",
            confirmed, gone_from(place));
    poison(place);
}

static void release_all(uint32_t wait_ms)
{
    struct redlock_lock *locks[LOCKS];
    size_t count = 0;
    for (unsigned i = 0; i < LOCKS; i++)
        if (places[i].in_use) locks[count++] = &places[i].lock;
    const struct call call = begin("release_all");
    end(call, redlock_release_all(&client, locks, count, wait_ms), wait_ms);
    for (unsigned i = 0; i < LOCKS; i++)
        if (places[i].in_use) poison(&places[i]);
}

static void keep(struct place *place)
{
    if (valid_us(place) == 0 || is_pending(place)) return;
    CHECK(redlock_keep(&client.engine, &place->lock, net_below(2) == 0 ? 0 : 3000,
                       net.now_us) == REDLOCK_OK);
}

static void run(const struct place *place)
{
    const struct redlock_lock *lock = place->in_use && net_below(2) == 0 ? &place->lock : NULL;
    const uint32_t for_ms = some_ms();
    const struct call call = begin("run_for");
    const enum redlock_status status = redlock_run_for(&client, lock, for_ms);
    /* The lock's own status is CANCELLED where an extension was. */
    end(call, lock && redlock_lock_status(lock) == status ? REDLOCK_OK : status, for_ms);
    FAIL_IF(!lock && status == REDLOCK_OK && net.now_us - call.began < (uint64_t)for_ms * MS,
            "a run was too short");
    FAIL_IF(lock && status == REDLOCK_LOST && valid_us(place) > 0, "lost, and held");
}

static void inspect(unsigned i)
{
    struct redlock_sight sights[NET_NODES_MAX];
    const struct call call = begin("inspect");
    end(call, redlock_inspect(&client, names[i], sights), NODE_TIMEOUT);
}

static void connect_for(uint32_t wait_ms)
{
    const struct call call = begin("connect");
    const enum redlock_status status = redlock_connect(&client, wait_ms);
    unsigned votes = 0;
    end(call, status, wait_ms);
    for (unsigned k = 0; k < net.node_count; k++)
        votes += redlock_node_votes(&client.engine, k, net.now_us);
    FAIL_IF(status == REDLOCK_OK && !is_quorum(votes), "connected to %u", votes);
}

/* ---- A loop ---- */

static void start(struct place *place)
{
    struct redlock_request request = {
        .resource = names[number_of(place)], .resource_size = 4, .ttl_ms = 5000
    };
    const uint64_t now = redlock_now_us();
    if (is_pending(place)) {
        redlock_cancel(&client.engine, &place->lock, now);
    } else if (valid_us(place) > 0) {
        CHECK((net_below(2) == 0 ? redlock_start_release(&client.engine, &place->lock, now)
                                 : redlock_start_extend(&client.engine, &place->lock, 8000,
                                                        now)) == REDLOCK_OK);
    } else if (!place->in_use) {
        take(place);
        request.wait_ms = some_ms();
        request.wall_us = redlock_wall_us();
        FAIL_IF(redlock_start_acquire(&client.engine, &place->lock, &request, now) !=
                    REDLOCK_OK,
                "not begun");
    }
}

/* Those that have ended are handed over. */
static void part_ended(void)
{
    for (unsigned i = 0; i < LOCKS; i++) {
        if (!places[i].in_use || is_pending(&places[i]) ||
            redlock_valid_us(&places[i].lock, redlock_now_us()) > 0)
            continue;
        redlock_part(&client, &places[i].lock);
        poison(&places[i]);
    }
}

static void loop_for(uint32_t ms)
{
    const uint64_t until = net.now_us + (uint64_t)ms * MS;
    net.has_around_wait = false;
    loop = (struct loop){ .steps_ready = net_below(2) == 0, .zeros_max = 0 };
    while (net.now_us < until) {
        (void)loop_turn(&loop, until);
        check_promises();
    }
    net.has_around_wait = true;
    FAIL_IF(loop.zeros_max > 8, "a loop was told %u times to step at once", loop.zeros_max);
    part_ended();
}

/* ---- Faults ---- */

static void rival(unsigned k)
{
    const char *name = names[net_below(LOCKS)];
    const struct model_key *key = model_find(&net.hosts[k].node, 0, name, 4, net.now_us);
    if (!key) model_put(&net.hosts[k].node, name, "rival", 1 + net_below(3000), net.now_us);
}

/* Another process, which has read the written keys. */
static void restart(unsigned k)
{
    if (net.hosts[k].node.hung) return;
    node_kill(k);
    model_node_restart(&net.hosts[k].node, 100 + net_below(1000000), true, net.now_us);
    if (net_below(2) == 0) node_start(k);
}

static void fault(void)
{
    static const uint64_t delays[] = { 50, 100, 3000, 120000, 400000 };
    const unsigned k = (unsigned)net_below(net.node_count);
    struct net_host *host = &net.hosts[k];
    switch (net_below(11)) {
    case 0:  node_hang(k); break;
    case 1:  node_wake(k); break;
    case 2:  node_kill(k); break;
    case 3:  node_start(k); break;
    case 4:  node_cut(k); break;
    case 5:  restart(k); break;
    case 6:  host->welcome = (enum net_welcome)net_below(5); break;
    case 7:  host->delay_us = delays[net_below(5)]; break;
    case 8:
        host->sever_to_node = net_below(2) == 0 ? SIZE_MAX : (size_t)(1 + net_below(3000));
        break;
    case 9:
        host->sever_to_client = net_below(2) == 0 ? SIZE_MAX : (size_t)(1 + net_below(6000));
        break;
    default: rival(k); break;
    }
}

/* Faults of our own machine. Most worlds have few of them. */
static void own_faults(void)
{
    if (net_below(3) == 0) net.send_max = (size_t)(1 + net_below(60));
    if (net_below(3) == 0) net.receive_max = (size_t)(1 + net_below(60));
    if (net_below(4) == 0) net.window = (size_t)(100 + net_below(2000));
    if (net_below(3) == 0) net.again = (unsigned)net_below(300);
    if (net_below(4) == 0) net.breaks = (unsigned)net_below(20);
    if (net_below(4) == 0) net.signals = (unsigned)net_below(300);
    if (net_below(8) == 0) net.blind = (unsigned)net_below(200);
    if (net_below(4) == 0) net.suspends = (unsigned)net_below(20);
    if (net_below(6) == 0) net.full = (unsigned)net_below(300);
    if (net_below(6) == 0) net.no_entropy = (unsigned)net_below(500);
    net.creep_us = net_below(3);
    net.new_numbers = net_below(2) == 0;
}

static void heal(void)
{
    net.send_max = net.receive_max = 0;
    net.again = net.breaks = net.signals = net.blind = net.suspends = net.full = net.no_entropy = 0;
    for (unsigned k = 0; k < net.node_count; k++) {
        net.hosts[k].welcome = NET_LATER;
        net.hosts[k].delay_us = 100;
        net.hosts[k].sever_to_node = net.hosts[k].sever_to_client = SIZE_MAX;
        node_wake(k);
        node_start(k);
    }
}

/* ---- Worlds ---- */

static void call_something(void)
{
    struct place *place = &places[net_below(LOCKS)];
    const uint64_t what = net_below(16);
    if (is_told)
        printf("# %ju us: call %ju of %s\n", (uintmax_t)net.now_us, (uintmax_t)what,
               names[number_of(place)]);
    switch (what) {
    case 0:  connect_for(some_ms()); break;
    case 1: case 2: case 3: acquire(place); break;
    case 4:  extend(place); break;
    case 5:  release(place); break;
    case 6:  if (net_below(3) == 0) release_all(some_ms()); break;
    case 7:  keep(place); break;
    case 8:  run(place); break;
    case 9:  inspect(number_of(place)); break;
    case 10: start(place); break;
    case 11: loop_for(some_ms()); break;
    case 12: if (net_below(3) == 0) ring(0); break;
    case 13: net_pass(net_below(1500) * MS); break;
    default: fault(); break;
    }
}

static void check_nothing_is_left(void)
{
    for (unsigned k = 0; k < net.node_count; k++) {
        for (unsigned i = 0; i < LOCKS; i++) {
            const struct model_key *key =
                model_find(&net.hosts[k].node, 0, names[i], 4, net.now_us);
            FAIL_IF(key && key->value_size >= REDLOCK_TOKEN_TEXT, "%s is left on node %u", names[i],
                    k);
        }
    }
}

static void end_healed(void)
{
    heal();
    rings++;        /* It may still be to come. */
    while (redlock_run_for(&client, NULL, 3000) == REDLOCK_CANCELLED) {}
    release_all(2000);
    while (redlock_run_for(&client, NULL, 3000) == REDLOCK_CANCELLED) {}
    check_nothing_is_left();
    FAIL_IF(client.given_up > 0, "given up");
}

static void end_forked(void)
{
    const unsigned sent = net.sent_count;
    net.process++;
    FAIL_IF(redlock_step(&client) != REDLOCK_FORKED ||
                redlock_connect(&client, 1000) != REDLOCK_FORKED,
            "not forked");
    redlock_close(&client, 1000);
    FAIL_IF(net.sent_count != sent, "a child has sent something");
}

static void close_client(void)
{
    const uint32_t wait_ms = some_ms();
    const struct call call = begin("close");
    redlock_close(&client, wait_ms);
    for (unsigned i = 0; i < LOCKS; i++)
        if (places[i].in_use) poison(&places[i]);
    end(call, REDLOCK_OK, wait_ms);
}

static void begin_world(uint64_t seed)
{
    static const unsigned counts[] = { 1, 2, 3, 3, 3, 5 };
    net_begin_world(3, seed);
    net_begin_world(counts[net_below(6)], seed);
    take_options();
    options.engine.wake_ups = net_below(2) == 0;
    options.engine.guard_ms = net_below(2) == 0 ? 0 : REDLOCK_GUARD_MS;
    world = seed;
    rings = 0;
    is_interrupting = false;
    for (unsigned i = 0; i < LOCKS; i++) poison(&places[i]);
}

static void run_world(uint64_t seed)
{
    begin_world(seed);
    if (setjmp(net.escape) != 0) return;
    FAIL_IF(open_client() != REDLOCK_OK, "not opened");
    own_faults();
    for (unsigned n = 4 + (unsigned)net_below(CALLS_MAX - 4); n > 0 && net.breach[0] == '\0'; n--)
        call_something();
    switch (net_below(4)) {
    case 0:  end_forked(); break;
    case 1:  close_client(); break;
    default: end_healed(); close_client(); break;
    }
    FAIL_IF(net.open_count != 0, "%u descriptors are left open", net.open_count);
    for (unsigned i = 0; i < LOCKS; i++) take(&places[i]);
}

static void check_world(uint64_t seed)
{
    run_world(seed);
    TAP_CONTEXT("world %ju", (uintmax_t)seed);
    CHECK_STR(net.breach, "");
}

TEST(no_random_world_breaks_what_the_client_promises)
{
    for (uint64_t seed = 1; seed <= WORLDS && tap.complaints < 3; seed += tap_sample())
        check_world(seed);
}

/* A generator that makes nothing happen would let everything pass. */
TEST(the_worlds_have_seen_locks_that_were_held_and_calls_that_were_cancelled)
{
    const unsigned worlds = WORLDS / tap_sample();
    CHECK(held_count > worlds);
    CHECK(cancelled_count > worlds / 20);
    CHECK(worlds < WORLDS || late_count > WORLDS / 1000);   /* Too rare to be in every sample. */
}

int main(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] < '0' || argv[1][0] > '9') return tap_run_all(argc, argv);
    is_told = true;
    run_world(strtoull(argv[1], NULL, 10));
    printf("world %ju: %s\n", (uintmax_t)world, net.breach[0] != '\0' ? net.breach : "well");
    return net.breach[0] != '\0';
}
