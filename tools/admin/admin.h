/* What redlock-admin can be told to do, and what each command is asked for beyond the settings.
 * Each takes what was read from the command line, does it, and returns the exit status. */
#ifndef ADMIN_H
#define ADMIN_H

#include "../redlock/opening.h"

enum { PINGS_MAX = 10000 };

struct doctor_wishes {
    bool quick;                 /* It looks at no clock twice. */
    bool tries;                 /* A lock. */
    const char *state_file, *prefix, *check_user, *kind;    /* In argv. NULL: none was given. */
};

struct exporter_wishes {
    bool once;
    uint32_t interval_ms;
    uint32_t scan_interval_ms;  /* 0: it does not scan. */
    const char *file, *listen, *cluster;                    /* In argv; NULL: none. */
};

struct scan_wishes {
    const char *pattern;        /* Of names; NULL: all. */
    uint32_t rate, apart_ms;    /* Keys a second; between two looks. */
    bool fix, no_ttl, yes, only_counts, only_held;
};

/* session: unused memory. is_patient: it waits until the holder has let its TTL pass. */
int break_command(struct session *session, struct settings *settings, bool is_patient);
int doctor_command(struct session *session, struct settings *settings,
                   const struct doctor_wishes *wishes);
int ping_command(struct session *session, struct settings *settings, uint32_t count,
                 uint32_t interval_ms);
int watch_command(struct session *session, struct settings *settings, uint32_t interval_ms);
/* And what is held. */
int scan_command(struct session *session, struct settings *settings,
                 const struct scan_wishes *wishes);
int exporter_command(struct session *session, struct settings *settings,
                     const struct exporter_wishes *wishes);

#endif
