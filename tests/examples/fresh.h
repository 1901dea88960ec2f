/* Included before each example. The servers of the tests began just now, and within the guard of
 * the defaults they have no vote. Nodes may also take as long as a busy machine does. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE     /* Examples that need it say so themselves, but after this. */
#endif

#include "redlock_keeper.h"

static inline struct redlock_options fresh_options(const struct redlock_options *given)
{
    struct redlock_options options;

    if (given) options = *given;
    else       redlock_options_init(&options);
    options.engine.guard_ms = 0;
    options.engine.node_timeout_ms = 10000;
    return options;
}

static inline enum redlock_status open_fresh(struct redlock_client *c, const char *nodes,
                                             const struct redlock_options *given,
                                             struct redlock_mistake *mistake)
{
    const struct redlock_options options = fresh_options(given);
    return redlock_open(c, nodes, &options, mistake);
}

static inline enum redlock_status start_fresh(struct redlock_keeper *keeper, const char *nodes,
                                              const struct redlock_options *given,
                                              struct redlock_mistake *mistake)
{
    const struct redlock_options options = fresh_options(given);
    return redlock_keeper_start(keeper, nodes, &options, mistake);
}

/* For examples that drive the engine. */
static inline enum redlock_status init_fresh(struct redlock *r, const struct redlock_config *given,
                                             struct redlock_node *nodes, unsigned count,
                                             void *memory, size_t size, uint64_t now_us)
{
    struct redlock_config config;

    if (given) config = *given;
    else       redlock_config_init(&config);
    config.guard_ms = 0;
    config.node_timeout_ms = 10000;
    return redlock_init(r, &config, nodes, count, memory, size, now_us);
}

#undef redlock_open
#undef redlock_keeper_start
#undef redlock_init
#define redlock_open open_fresh
#define redlock_keeper_start start_fresh
#define redlock_init init_fresh
