/* What the command line and the environment ask for. Knows the syntax of both; acts on nothing.
 *
 * What is wrong with them is said on stderr, and ends the program with EXIT_TROUBLE: nothing has been begun by then. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "../../redlock/redlock_client.h"
#include "trace.h"

/* Exit statuses: see exits.h. */
enum {
    EXIT_NO_LEADER = 1,         /* leader: there is none. */
    EXIT_WARNING = 1,           /* doctor: there are warnings, */
    EXIT_UNSAFE = 2,            /* or worse, */
    EXIT_UNREACHED = 3,         /* or no quorum of nodes can be reached. */
    EXIT_ALREADY = 121,         /* It has run in this period already. */
    EXIT_NO_QUORUM = 122,       /* No quorum of nodes could vote, or answered. */
    EXIT_LOST = 123,            /* The lock is not held, or no longer; run: the command was ended. */
    EXIT_NOT_ACQUIRED = 124,    /* Somebody else has it; --busy-exit says otherwise. */
    EXIT_TROUBLE = 125,         /* Bad usage, or redlock itself failed. */
    EXIT_NOT_EXECUTABLE = 126,  /* run */
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128           /* And the signal's number. */
};

enum {
    LEADER_NAME_MAX = 200,          /* Bytes. */
    NODES_TEXT_MAX = 16 * 1024,     /* 15 nodes with the longest names, users and passwords. */
    RESOURCES_TEXT_MAX = REDLOCK_RESOURCE_MAX + 2 * REDLOCK_SET_MAX + 1,
    DEFAULT_TTL_MS = 10000,         /* A third of the default guard: a command that dies blocks the others for 10 s. */
    DEFAULT_LEAD_TTL_MS = 15000,    /* A leader that dies is missed for so long. */
    DEFAULT_GRACE_MS = 2000,        /* Or a quarter of the TTL, if that is less. */
    GRACE_PART = 2                  /* The grace is at most half of the TTL: the other half is for extending. */
};

enum command {
    COMMAND_RUN, COMMAND_ACQUIRE, COMMAND_EXTEND, COMMAND_RELEASE, COMMAND_KEEP, COMMAND_STATUS, COMMAND_LEAD, COMMAND_LEADER,
    COMMAND_BREAK,      /* From here on of redlock-admin. */
    COMMAND_DOCTOR, COMMAND_PING,
    COMMAND_SCAN,
    COMMAND_HELD,       /* status, where no resource is named. */
    COMMAND_EXPORTER,
    COMMAND_WATCH,
    COMMAND_NONE
};

enum log_form { LOG_NOWHERE, LOG_TEXT, LOG_JSON, LOG_SYSLOG };

/* Where an entry of the list of nodes stands. */
struct node_origin {
    const char *file;       /* In argv or the environment; NULL: in no file. */
    unsigned line;
};

struct meter_feature;

struct settings {
    enum command command;
    struct redlock_options options;     /* For redlock_open; user and password included. */
    uint32_t ttl_ms;
    uint32_t wait_ms;                   /* REDLOCK_FOREVER */
    uint32_t grace_ms;
    uint32_t max_hold_ms;               /* 0: no limit. */
    uint32_t hold_at_least_ms;          /* 0: the lock is released when the command has ended. */
    uint32_t once_per_ms;               /* 0: as often as it is called. */
    uint32_t max_extensions;            /* UINT32_MAX: no limit. */
    bool runs;                          /* A program of the user's while the lock is held. */
    bool quiet, verbose, json;
    bool waits_through_errors;
    uint8_t busy_exit;
    bool retry_until_done, once_anyway; /* Of --once-per. */
    bool once;                          /* lead: ends with the first loss. */
    bool shared;                        /* All resources are. */
    bool is_shared[REDLOCK_SET_MAX];    /* This one is. */
    uint8_t permits;                    /* run, acquire: one of so many; status: so many are looked at. 0: none, a lock. */
    bool fair;                          /* In strict order. */
    bool redisson;                      /* The lock is one that Java services share. */
    bool ticket;                        /* status: that a node gives none is worth telling. */
    enum trace_mode trace;
    enum log_form log;
    const char *log_file;               /* Of syslog its socket. NULL: stderr, and of syslog /dev/log. */
    const struct meter_feature *meter;  /* NULL: none was asked for. */
    bool has_metrics_label;
    int pid;                            /* keep: of the process while which the lock is extended. */
    unsigned name_count, node_count;
    const char *names[REDLOCK_SET_MAX]; /* Of the resources, in argv. */
    const char *resource;               /* All of them, for messages. */
    char *token;                        /* Points into argv. */
    uint32_t count, interval_ms;        /* ping: so many times, so often; exporter: so often. */
    const char *file, *listen, *cluster;    /* exporter: in argv; NULL: none. */
    uint32_t scan_interval_ms;          /* 0: it does not scan. */
    bool quick, tries;                  /* doctor: looks at no clock twice; tries a lock. */
    const char *state_file, *prefix, *check_user, *kind;    /* doctor: in argv. NULL: none was given. */
    bool waits_for_loss;                /* break: until the holder has let its TTL pass. */
    const char *pattern;                /* scan: of names; NULL: all. */
    uint32_t rate, apart_ms;            /* scan: keys a second; between two looks. */
    bool fix, no_ttl, yes, only_counts, only_held;  /* scan */
    const char *as;                     /* lead: the leader's name, in argv or in default_name. The holder's is in options. */
    char default_name[REDLOCK_HOLDER_MAX + 1], default_holder[REDLOCK_HOLDER_MAX + 1];
    char **program;                     /* Of run, NULL-terminated: points into argv. */
    char resources[RESOURCES_TEXT_MAX]; /* "a, b": cut to this size. */
    char slot_name[REDLOCK_RESOURCE_MAX + 4];   /* "a:3": of the permit that a token is of, and then names[0]. */
    char user[REDLOCK_LOGIN_MAX + 1];
    char password[REDLOCK_LOGIN_MAX + 1];
    struct node_origin origins[REDLOCK_NODES_MAX + 1];  /* Of the nodes, of which there are node_count; of more the first. */
    struct settings *given;             /* lead: a copy, for the next lead. NULL: there is none. */
    char nodes[NODES_TEXT_MAX];         /* Separated by commas. May contain passwords: wiped when the client is open. */
};

/* "run", "acquire", ... */
const char *command_name(enum command command);

/* Finds the command in argv, and brings it to the front: options that stand before it stand behind it then. Returns only with a
 * command; help, --help and --version before one end the program as well. settings: unused memory. */
enum command command_read(struct settings *settings, int argc, char **argv);

/* Reads argv (of which argv[0] is the command's name) and the environment. Passwords are overwritten in both, and taken
 * out of the environment. Returns only when all is well; --help and --version end the program as well. */
void settings_read(struct settings *settings, enum command command, int argc, char **argv);

/* Says what is wrong and where help is, or with --json what is wrong in JSON; ends the program with EXIT_TROUBLE. settings NULL: of
 * the program as a whole. */
_Noreturn void refuse(const struct settings *settings, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;

#endif
