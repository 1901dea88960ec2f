/* What redlock-admin reads from the command line: the settings that all commands have, and what
 * each of its own is asked for. */
#ifndef ADMIN_PROGRAM_H
#define ADMIN_PROGRAM_H

#include "admin.h"

struct wishes {
    bool waits_for_loss;                /* break */
    uint32_t count, interval_ms;        /* ping: so many times, so often; watch: so often. */
    struct doctor_wishes doctor;
    struct exporter_wishes exporter;
    struct scan_wishes scan;
};

/* As that of redlock. */
void program_read(struct settings *settings, struct wishes *wishes, int argc, char **argv);

#endif
