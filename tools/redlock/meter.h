/* The metrics of this process, in a file for node_exporter (--metrics). A session that has a meter
 * feeds it; a program whose sessions have none does not link it. */
#ifndef METER_H
#define METER_H

#include "../../redlock/redlock_client.h"
#include "../../redlock/redlock_metrics.h"

struct meter_feature {
    /* The client is open, and has not done a step. Of a second one (lead) counts are added to those
     * of the first. */
    void (*begin)(struct redlock_client *client);

    /* Each event of its engine, in their order. */
    void (*count)(const struct redlock_event *event);

    /* The lock is given up, and will be released: it is lost. */
    void (*give_up)(const struct redlock_lock *lock);

    /* Behind each step, and with how many events were lost in all: writes the file if it is time.
     * And when that is. */
    void (*step)(uint64_t lost);
    uint64_t (*due_at)(void);

    /* The client is closed. */
    void (*end)(uint64_t lost);

    /* The program ends with that exit status: writes the file as it will stay. */
    void (*leave)(int code);

    /* In the writer: a piece of the file; the last one has a mark. */
    void (*deliver)(const char *text, size_t size, uint32_t mark, uint32_t dropped);
};

/* Writes to that file, whose name stays where it is. From the one that is there it takes how the
 * last run ended, and when one last succeeded: between two runs of a cron job nobody else knows. */
const struct meter_feature *meter_to(const char *file);

/* A label of every metric, of memory that stays. False: its name is none, or is there already, or
 * there are too many. */
bool meter_add_label(const char *name, const char *value);

/* The label of a file for which none was given, so that those of several jobs can lie
 * in one directory. */
void meter_set_default_label(const char *resource);

#endif
