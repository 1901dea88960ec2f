/* The guards of redlock/redlock.hpp with real servers: door is acquired, entered twice and kept, and is free at the end of each. */
#include "redlock.hpp"

#include <stdio.h>

namespace {

redlock_client client, rival;
redlock_keeper keeper;
unsigned failed;

#define NEED(condition) (void)((condition) || (failed++, printf("line %d: %s\n", __LINE__, #condition)))

redlock_options fresh_options()
{
    redlock_options options;
    redlock_options_init(&options);
    options.engine.guard_ms = 0;
    options.engine.node_timeout_ms = 10000;
    return options;
}

const redlock_request a_door = redlocks::request("door", 30000);

bool is_free()
{
    redlock_lock lock;
    redlock_lock_init(&lock);
    return static_cast<bool>(redlocks::acquire(rival, lock, redlocks::request("door", 30000)));
}

redlock_status work(redlock_reentrant &home, unsigned more)
{
    auto held = redlocks::enter(client, home, a_door);
    if (!held) return held.status();
    return more > 0 ? work(home, more - 1) : held.status();
}

redlocks::guard take(redlock_lock &lock)
{
    return redlocks::acquire(client, lock, a_door);
}

void use_client()
{
    redlock_lock lock;
    redlock_reentrant home;
    redlock_lock_init(&lock);
    redlock_reentrant_init(&home);
    {
        redlocks::guard held;
        held = take(lock);
        NEED(held && held.valid_ms() > 0 && held.valid_ms() < 30000);
        NEED(!is_free());
    }
    NEED(is_free());
    NEED(work(home, 3) == REDLOCK_OK);
    NEED(is_free());
    {
        auto outer = redlocks::enter(client, home, a_door);
        NEED(work(home, 3) == REDLOCK_OK && outer && !is_free());
        NEED(outer.release() == REDLOCK_OK && is_free());
    }
}

void use_keeper()
{
    redlock_kept kept;
    redlock_reentrant_kept shared;
    redlock_kept_init(&kept);
    redlock_reentrant_kept_init(&shared);
    {
        auto held = redlocks::acquire(keeper, kept, a_door);
        NEED(held && !is_free());
    }
    NEED(is_free());
    {
        auto outer = redlocks::enter(keeper, shared, a_door);
        auto inner = redlocks::enter(keeper, shared, a_door);
        NEED(outer && inner && inner.release() == REDLOCK_OK && outer && !is_free());
        NEED(redlocks::enter(keeper, shared, a_door, 0, 1).status() == REDLOCK_TAKEN);
    }
    NEED(is_free());
}

}   /* namespace */

int main(int argc, char **argv)
{
    const redlock_options options = fresh_options();
    if (argc != 2) return 2;
    NEED(redlock_open(&client, argv[1], &options, nullptr) == REDLOCK_OK);
    NEED(redlock_open(&rival, argv[1], &options, nullptr) == REDLOCK_OK);
    NEED(redlock_keeper_start(&keeper, argv[1], &options, nullptr) == REDLOCK_OK);
    use_client();
    use_keeper();
    NEED(redlock_keeper_stop(&keeper, true, 10000) == REDLOCK_OK);
    redlock_close(&client, 10000);
    redlock_close(&rival, 10000);
    return failed > 0;
}
