/* Rounds of the exporter: asks the nodes, and hands out what they say of themselves, what doctor
 * finds and what the last scan counted, in the text format of Prometheus: into a file, or
 * over HTTP (http.c). */
#ifndef ROUNDS_H
#define ROUNDS_H

#include "../redlock/labels.h"
#include "../redlock/session.h"
#include "admin.h"
#include "figures.h"
#include "http.h"
#include "judging.h"
#include "scan_order.h"

/* A node's memory from round to round. */
struct past {
    char run_id[SURVEY_TEXT_MAX];   /* "": it has never reported one. */
    uint64_t restarts;
};

struct exporter {
    struct session *session;
    const struct settings *settings;
    const struct exporter_wishes *wishes;
    struct judge_limits limits;
    struct figures_label labels[2];     /* Labels of every figure. */
    struct survey survey;
    struct findings findings;
    struct clock_log clocks;        /* The clocks of the round before. */
    struct past past[REDLOCK_NODES_MAX];
    char names[REDLOCK_NODES_MAX][NODE_LABEL_MAX];
    struct scan_counts counts;      /* Counts of the last scan, */
    bool has_scanned;               /* if it came to an end. */
    uint64_t scan_us, scanned_wall_us, next_scan_at;
    uint64_t round_us, next_round_at;
    struct http *http;              /* NULL: it does not listen. */
    bool is_told;                   /* The failure to write the file was reported. */
    bool has_failed;
};

/* A signal came, or nothing works any longer. */
bool rounds_must_end(const struct exporter *e);

/* Half of a round, and all of it. */
void rounds_ask_nodes(struct exporter *e);
void rounds_hand_out(struct exporter *e);
void rounds_take(struct exporter *e);

/* For struct scan_order, whose context is a struct exporter: takes rounds while it scans. */
bool rounds_go_on(void *context, const struct scan_counts *so_far);

#endif
