/* Firmware that takes a lock, extends it and releases it. tools/size counts the part of the core
 * that a linker keeps for that. Its clock, its random bytes and its transport are registers of no
 * real machine. */
#include "redlock.h"

enum { NODES = 5, RESOURCE = 32, SEND = REDLOCK_SEND_MIN(RESOURCE), RECEIVE = REDLOCK_RECEIVE_MIN };

static volatile struct {
    uint64_t clock_us;
    uint8_t random, is_open, is_connected, byte;
} registers[NODES];

static struct redlock engine;
static struct redlock_node nodes[NODES];
static struct redlock_lock lock;
static uint64_t
    memory[REDLOCK_MEMORY(NODES, REDLOCK_PIPELINE_MIN, SEND, RECEIVE) / sizeof(uint64_t)];

static void send_to(unsigned k)
{
    size_t size;
    const uint8_t *bytes = redlock_output(&engine, k, &size);

    for (size_t i = 0; i < size; i++) registers[k].byte = bytes[i];
    redlock_sent(&engine, k, size);
}

static void receive_from(unsigned k)
{
    size_t room;
    uint8_t *bytes = redlock_input(&engine, k, &room);

    bytes[0] = registers[k].byte;
    redlock_received(&engine, k, 1, registers[0].clock_us);
}

static void serve(unsigned k)
{
    unsigned wants = redlock_wants(&engine, k);

    if (wants & REDLOCK_WANT_CLOSE) redlock_disconnected(&engine, k, NULL, registers[0].clock_us);
    if (wants & REDLOCK_WANT_CONNECT) {
        registers[k].is_open = 1;
        if (registers[k].is_connected) redlock_connected(&engine, k, registers[0].clock_us);
    }
    if (wants & REDLOCK_WANT_SEND) send_to(k);
    if (wants & REDLOCK_WANT_RECEIVE) receive_from(k);
}

static bool has_ended_well(void)
{
    while (redlock_lock_status(&lock) == REDLOCK_PENDING) {
        for (size_t wanted = redlock_entropy_wanted(&engine); wanted > 0; wanted--) {
            uint8_t byte = registers[0].random;
            redlock_add_entropy(&engine, &byte, 1);
        }
        for (unsigned k = 0; k < NODES; k++) serve(k);
        if (registers[0].clock_us >= redlock_wake_at(&engine))
            redlock_tick(&engine, registers[0].clock_us);
    }
    return redlock_lock_status(&lock) == REDLOCK_OK;
}

int main(void)
{
    struct redlock_request request;
    struct redlock_config config;

    redlock_request_init(&request);
    request.resource = "door";
    request.resource_size = 4;
    request.ttl_ms = 10000;
    request.wait_ms = 2000;
    redlock_config_init(&config);
    config.wake_ups = false;
    config.resource_max = RESOURCE;
    config.pipeline = REDLOCK_PIPELINE_MIN;
    config.send_size = SEND;
    config.receive_size = RECEIVE;
    redlock_lock_init(&lock);
    if (redlock_init(&engine, &config, nodes, NODES, memory, sizeof memory,
                     registers[0].clock_us) != REDLOCK_OK)
        return 1;
    if (redlock_start_acquire(&engine, &lock, &request, registers[0].clock_us) != REDLOCK_OK ||
        !has_ended_well())
        return 1;
    while (redlock_valid_us(&lock, registers[0].clock_us) > 5000000) { }
#ifndef WITHOUT_EXTENSION
    if (redlock_start_extend(&engine, &lock, 10000, registers[0].clock_us) == REDLOCK_OK)
        (void)has_ended_well();
#endif
    if (redlock_start_release(&engine, &lock, registers[0].clock_us) == REDLOCK_OK)
        (void)has_ended_well();
    return redlock_idle(&lock) ? 0 : 1;
}
