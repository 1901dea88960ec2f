/* How a lock is held: what run and lead are asked for, and keep, beyond what all commands have. */
#ifndef HOLDING_H
#define HOLDING_H

#include "settings.h"

enum {
    DEFAULT_LEAD_TTL_MS = 15000,    /* A leader that dies is missed for so long. */
    DEFAULT_GRACE_MS = 2000,        /* Or a quarter of the TTL, if that is less. */
    /* The grace is at most half of the TTL: the other half is for extending. */
    GRACE_PART = 2
};

struct holding {
    uint32_t grace_ms;
    uint32_t max_hold_ms;               /* 0: no limit. */
    uint32_t hold_at_least_ms;          /* 0: the lock is released when the command has ended. */
    uint32_t max_extensions;            /* UINT32_MAX: no limit. */
    bool retry_until_done, once_anyway; /* Of --once-per. */
    bool once;                          /* lead: ends with the first loss. */
    int pid;                            /* keep: of the process while which the lock is extended. */
    const char *as;                     /* lead: the leader's name, in argv or in default_name. */
    char default_name[REDLOCK_HOLDER_MAX + 1], default_holder[REDLOCK_HOLDER_MAX + 1];
    char **program;                     /* Of run, NULL-terminated: points into argv. */
    /* lead: a copy of the settings, for the next lead. NULL: there is none. */
    struct settings *given;
};

#endif
