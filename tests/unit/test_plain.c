/* What a core says that is built without tickets, sets, wake-ups and the keeper (REDLOCK_PLAIN); and one that has them. */
#include "../tap.h"

#include "../../redlock/private.h"
#include "../../redlock/redlock.h"

enum { WALL_S = 1800000000, SESSIONS = REDLOCK_SESSIONS(1, true) };

static struct redlock r;
static struct redlock_node nodes[SESSIONS];
static struct redlock_lock lock;
static uint64_t memory[REDLOCK_MEMORY_DEFAULT(SESSIONS) / sizeof(uint64_t)];

static enum redlock_status init(bool wake_ups)
{
    struct redlock_config config;

    redlock_config_init(&config);
    config.wake_ups = wake_ups;
    return redlock_init(&r, &config, nodes, 1, memory, sizeof memory, 0);
}

static enum redlock_status start(struct redlock_request request)
{
    (void)init(false);
    redlock_lock_init(&lock);
    request.ttl_ms = 10000;
    request.wall_us = (uint64_t)WALL_S * 1000000;
    return redlock_start_acquire(&r, &lock, &request, 0);
}

TEST(one_resource_without_a_ticket_is_for_every_core)
{
    struct redlock_name name = { "door", 4 };

    CHECK_INT(start((struct redlock_request){ .resource = "door", .resource_size = 4 }), REDLOCK_OK);
    CHECK_INT(start((struct redlock_request){ .set = &name, .set_count = 1 }), REDLOCK_OK);
}

TEST(a_plain_core_refuses_a_ticket)
{
    CHECK_INT(start((struct redlock_request){ .resource = "door", .resource_size = 4, .ticket = true }),
              WITH_TICKETS ? REDLOCK_OK : REDLOCK_BAD_CONFIG);
}

TEST(a_plain_core_refuses_several_resources)
{
    struct redlock_name names[] = { { "door", 4 }, { "gate", 4 } };

    CHECK_INT(start((struct redlock_request){ .set = names, .set_count = 2 }), WITH_TICKETS ? REDLOCK_OK : REDLOCK_BAD_SET);
}

TEST(a_plain_core_refuses_wake_ups)
{
    CHECK_INT(init(true), WITH_WAITERS ? REDLOCK_OK : REDLOCK_BAD_CONFIG);
}

TAP_MAIN
