/* The commands of redlock-admin. Each takes the values read from the command line, does it, and returns the exit status. */
#ifndef ADMIN_H
#define ADMIN_H

#include "../redlock/opening.h"

/* session: unused memory. */
int break_command(struct session *session, struct settings *settings);
int doctor_command(struct session *session, struct settings *settings);
int ping_command(struct session *session, struct settings *settings);
int watch_command(struct session *session, struct settings *settings);

enum { PINGS_MAX = 10000 };
int scan_command(struct session *session, struct settings *settings);      /* And status, for held locks. */
int exporter_command(struct session *session, struct settings *settings);

#endif
