/* What a scan finds, as it finds it: for people and machines. What is left over is removed if that
 * is asked for, by its value and never by its name. */
#ifndef SHOW_H
#define SHOW_H

#include "../redlock/session.h"
#include "admin.h"
#include "scan_order.h"

struct show {
    struct session *session;
    const struct settings *settings;
    const struct scan_wishes *wishes;
    struct scan_counts counts;
    unsigned count;
    uint64_t shown_at, began_at;
    uint64_t told, needed;          /* Findings, and those that still need somebody. */
    uint64_t removable, endless;    /* Values that --fix would remove, and --fix --no-ttl. */
    uint64_t removed;               /* Findings whose removable values are all gone. */
    bool shows_progress, has_progress;
};

/* For struct scan_order, whose context is a struct show: how far it is, on a terminal; a finding; a
 * finding of a lock that somebody has. */
bool show_progress(void *context, const struct scan_counts *so_far);
void show_found(void *context, const struct scan_finding *finding);
void show_found_held(void *context, const struct scan_finding *finding);

/* Takes the line away that tells how far it is. */
void show_hide_progress(struct show *show);

#endif
