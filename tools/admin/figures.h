/* Figures in the text format of Prometheus, in memory. Knows no node.
 *
 * (The library has a writer as well, for the metrics of locks in redlock_metrics.h. It needs no
 * libc and no memory, and gives its text in pages. This one has negative numbers, any labels, and
 * values that must be made printable. One for both would be public functions of the library that no
 * user of locks has a use for.) */
#ifndef FIGURES_H
#define FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { FIGURES_LABELS_MAX = 8 };

struct figures_label {
    const char *name, *value;
};

struct figures {
    FILE *file;
    char *text;                 /* size bytes, when it is ended. */
    size_t size;
    const char *name;           /* The name of the metric that was begun. */
    /* Labels of every line; up to one whose name is NULL. */
    const struct figures_label *labels;
};

/* labels must stay. False: there is no memory. */
bool figures_begin(struct figures *figures, const struct figures_label *labels);

/* Begins one metric, "gauge" or "counter", with a sentence that explains it. Its lines follow. */
void figures_metric(struct figures *figures, const char *name, const char *type, const char *help);

/* A line of it, with a number, or seconds. labels: of this line; NULL: none; values
 * are any text. */
void figures_number(struct figures *figures, uint64_t number, const struct figures_label *labels);
void figures_us(struct figures *figures, int64_t us, const struct figures_label *labels);

/* True: figures->text is complete. */
bool figures_end(struct figures *figures);

/* Gives the text back. */
void figures_free(struct figures *figures);

#endif
