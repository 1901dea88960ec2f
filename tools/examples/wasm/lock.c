/* The engine for lock.mjs, as WebAssembly. JavaScript calls it with numbers, since it has those.
 * Times are microseconds in a double, which holds them exactly for 285 years. See lock.mjs for how
 * to build it, and string.h for functions that a bare compiler does not bring along. */
#include "redlock.h"

#include <string.h>

enum { NODES_MAX = 5, SEND = REDLOCK_SEND_MIN(64), RECEIVE = 256 };

static struct redlock engine;
static struct redlock_node nodes[NODES_MAX];
static uint64_t
    memory[REDLOCK_MEMORY(NODES_MAX, REDLOCK_PIPELINE_MIN, SEND, RECEIVE) / sizeof(uint64_t) + 1];
static struct redlock_lock lock;
static char name[64];
static uint8_t entropy[REDLOCK_ENTROPY_MAX];
static size_t size;             /* Size of the last result. */

#define EXPORT(function) __attribute__((export_name(#function))) function

int EXPORT(open)(unsigned count, unsigned guard_ms, double now)
{
    struct redlock_config config;

    redlock_config_init(&config);
    config.guard_ms = guard_ms;
    config.resource_max = sizeof name;
    config.pipeline = REDLOCK_PIPELINE_MIN;
    config.send_size = SEND;
    config.receive_size = RECEIVE;
    redlock_lock_init(&lock);
    if (count > NODES_MAX) return REDLOCK_BAD_NODE_COUNT;
    return (int)redlock_init(&engine, &config, nodes, count, memory, sizeof memory, (uint64_t)now);
}

/* ---- What a transport needs ---- */

unsigned EXPORT(wants)(unsigned k) { return redlock_wants(&engine, k); }
void EXPORT(connected)(unsigned k, double now) { redlock_connected(&engine, k, (uint64_t)now); }
void EXPORT(disconnected)(unsigned k, double now)
{
    redlock_disconnected(&engine, k, NULL, (uint64_t)now);
}
const uint8_t *EXPORT(output)(unsigned k) { return redlock_output(&engine, k, &size); }
void EXPORT(sent)(unsigned k, size_t count) { redlock_sent(&engine, k, count); }
uint8_t *EXPORT(input)(unsigned k) { return redlock_input(&engine, k, &size); }
void EXPORT(received)(unsigned k, size_t count, double now)
{
    redlock_received(&engine, k, count, (uint64_t)now);
}
size_t EXPORT(returned_size)(void) { return size; }

/* ---- Time and random bytes ---- */

double EXPORT(wake_at)(void) { return (double)redlock_wake_at(&engine); }
void EXPORT(tick)(double now) { redlock_tick(&engine, (uint64_t)now); }
uint8_t *EXPORT(entropy_buffer)(void) { return entropy; }
size_t EXPORT(entropy_wanted)(void) { return redlock_entropy_wanted(&engine); }
void EXPORT(add_entropy)(size_t count) { redlock_add_entropy(&engine, entropy, count); }

/* ---- The lock ---- */

char *EXPORT(name_buffer)(void) { return name; }

int EXPORT(acquire)(unsigned name_size, unsigned ttl_ms, unsigned wait_ms, double now)
{
    struct redlock_request request = {
        .resource = name, .resource_size = name_size, .ttl_ms = ttl_ms, .wait_ms = wait_ms
    };
    return (int)redlock_start_acquire(&engine, &lock, &request, (uint64_t)now);
}

int EXPORT(extend)(unsigned ttl_ms, double now)
{
    return (int)redlock_start_extend(&engine, &lock, ttl_ms, (uint64_t)now);
}
int EXPORT(release)(double now)
{
    return (int)redlock_start_release(&engine, &lock, (uint64_t)now);
}
int EXPORT(status)(void) { return (int)redlock_lock_status(&lock); }
const char *EXPORT(status_text)(int status)
{
    return redlock_status_text((enum redlock_status)status);
}
double EXPORT(valid_us)(double now) { return (double)redlock_valid_us(&lock, (uint64_t)now); }
int EXPORT(is_idle)(void) { return redlock_idle(&lock); }

/* ---- The four functions that the engine needs of a C library. With -mbulk-memory the first three
 * are instructions. ---- */

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    return __builtin_memcpy(to, from, count);
}
void *memmove(void *to, const void *from, size_t count)
{
    return __builtin_memmove(to, from, count);
}
void *memset(void *to, int byte, size_t count) { return __builtin_memset(to, byte, count); }

int memcmp(const void *a, const void *b, size_t count)
{
    const unsigned char *x = a, *y = b;

    for (; count > 0 && *x == *y; count--) x++, y++;
    return count > 0 ? *x - *y : 0;
}
