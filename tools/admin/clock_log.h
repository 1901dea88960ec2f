/* The nodes' clocks as the last run knew them, in a file, so that a clock that was stepped in
 * between is noticed. Knows neither nodes nor checks. */
#ifndef CLOCK_LOG_H
#define CLOCK_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "../../redlock/redlock_client.h"

struct clock_record {
    char address[REDLOCK_ADDRESS_MAX];
    uint64_t at_us;             /* redlock_now_us() then. */
    int64_t since_boot_us;      /* The node's wall clock less that. */
    uint64_t give_or_take_us;
    /* When it was first seen that the clock has been stepped since at_us; 0: it has not. */
    uint64_t stepped_at_us;
};

struct clock_log {
    unsigned count;
    struct clock_record records[REDLOCK_NODES_MAX];
};

/* Reads the file. A file that is not there, or that was written before this machine was started,
 * has nothing, since our clock has begun anew. False: it cannot be read; errno says why. */
bool clock_log_read(struct clock_log *log, const char *path);

/* Writes the file anew, as a whole or not at all. False: it cannot be written; errno says why. */
bool clock_log_write(struct clock_log *log, const char *path);

/* NULL: there is none. */
const struct clock_record *clock_log_find(const struct clock_log *log, const char *address);

#endif
