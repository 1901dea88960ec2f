/* What all commands are asked for: which nodes, which lock, and how it is told. What one command
 * alone has is in holding.h, and for redlock-admin in its admin.h. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include "../../redlock/redlock_client.h"
#include "output.h"
#include "print.h"
#include "trace.h"

enum {
    LEADER_NAME_MAX = 200,          /* Bytes. */
    NODE_LISTS_MAX = REDLOCK_NODES_MAX + 1,
    NODES_TEXT_MAX = 16 * 1024,     /* 15 nodes with the longest names, users and passwords. */
    RESOURCES_TEXT_MAX = REDLOCK_RESOURCE_MAX + 2 * REDLOCK_SET_MAX + 1,
    /* A third of the default guard: a command that dies blocks the others for 10 s. */
    DEFAULT_TTL_MS = 10000
};

enum command {
    COMMAND_RUN,
    COMMAND_ACQUIRE,
    COMMAND_EXTEND,
    COMMAND_RELEASE,
    COMMAND_KEEP,
    COMMAND_STATUS,
    COMMAND_LEAD,
    COMMAND_LEADER,
    COMMAND_BREAK, /* From here on of redlock-admin. */
    COMMAND_DOCTOR,
    COMMAND_PING,
    COMMAND_SCAN,
    COMMAND_HELD, /* status, where no resource is named. */
    COMMAND_EXPORTER,
    COMMAND_WATCH,
    COMMAND_NONE
};

/* A part of the list of nodes. */
struct node_list {
    const char *file;       /* In argv or the environment; NULL: it is of no file. */
    size_t begin;           /* In settings.nodes. */
};

struct meter_feature;

struct settings {
    enum command command;
    struct output output;
    uint32_t ttl_ms;
    uint32_t wait_ms;                   /* REDLOCK_FOREVER */
    uint32_t once_per_ms;               /* run: the period has a mark. 0: it has none. */
    bool waits_through_errors;
    uint8_t busy_exit;
    bool shared;                        /* All resources are. */
    /* run, acquire: one of so many; status: so many are looked at. 0: none, a lock. */
    uint8_t permits;
    bool fair;                          /* In strict order. */
    bool redisson;                      /* The lock is one that Java services share. */
    bool ticket;                        /* status: that a node gives none is worth telling. */
    enum trace_mode trace;
    const struct meter_feature *meter;  /* NULL: none was asked for. */
    unsigned name_count, list_count;
    char *token;                        /* Points into argv. */
    struct redlock_options options;     /* For redlock_open; user and password included. */
    bool is_shared[REDLOCK_SET_MAX];    /* This resource is. */
    const char *names[REDLOCK_SET_MAX]; /* Of the resources, in argv. */
    char resources[RESOURCES_TEXT_MAX]; /* "a, b": cut to this size. */
    /* "a:3": of the permit that a token is of, and then names[0]. */
    char slot_name[REDLOCK_RESOURCE_MAX + 4];
    char user[REDLOCK_LOGIN_MAX + 1];
    char password[REDLOCK_LOGIN_MAX + 1];
    struct node_list lists[NODE_LISTS_MAX];
    /* Separated by commas. May contain passwords: wiped when the client is open. */
    char nodes[NODES_TEXT_MAX];
};

/* Says what is wrong and where help is, or with --json what is wrong in JSON; ends the program with
 * EXIT_TROUBLE. settings NULL: of the program as a whole. */
_Noreturn void refuse(const struct settings *settings, const char *format, ...) PRINT_LIKE(2, 3);

/* Adds a resource, whose name stays where it is. There is room. */
void settings_add_name(struct settings *settings, const char *name);

/* True if one of the resources is to be shared. */
static inline bool settings_is_any_shared(const struct settings *settings)
{
    bool is_any = false;

    for (unsigned i = 0; i < settings->name_count; i++) is_any |= settings->is_shared[i];
    return is_any;
}

/* One shared resource of several makes the lock a shared one. */
static inline const struct redlock_kind *settings_kind(const struct settings *settings)
{
    if (settings->redisson)    return &redlock_redisson;
    if (settings->fair)        return &redlock_fair;
    if (settings->permits > 0) return &redlock_permits;
    return settings_is_any_shared(settings) ? &redlock_shared : &redlock_plain;
}

/* Nobody needs the list of nodes and the password any longer. */
void settings_wipe_secrets(struct settings *settings);

#endif
