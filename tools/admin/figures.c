#define _GNU_SOURCE
#include "figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../redlock/print.h"
#include "../redlock/text.h"

enum { VALUE_MAX = 1024 };

bool figures_begin(struct figures *figures, const struct figures_label *labels)
{
    *figures = (struct figures){ .labels = labels };
    figures->file = open_memstream(&figures->text, &figures->size);
    return figures->file != NULL;
}

void figures_metric(struct figures *figures, const char *name, const char *type, const char *help)
{
    figures->name = name;
    (void)print_to(figures->file, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* The format takes UTF-8, and three characters are escaped. */
static void write_value(FILE *file, const char *value)
{
    char printable[VALUE_MAX];

    (void)text_printable(printable, sizeof printable, value, strlen(value));
    for (const char *c = printable; *c; c++) {
        if (*c == '"' || *c == '\\') (void)fputc('\\', file);
        (void)fputc(*c, file);
    }
}

static void write_labels(FILE *file, const struct figures_label *labels, bool *is_open)
{
    for (; labels && labels->name; labels++) {
        (void)print_to(file, "%c%s=\"", *is_open ? ',' : '{', labels->name);
        write_value(file, labels->value);
        (void)fputc('"', file);
        *is_open = true;
    }
}

static void begin_line(struct figures *figures, const struct figures_label *labels)
{
    bool is_open = false;

    (void)fputs(figures->name, figures->file);
    write_labels(figures->file, labels, &is_open);
    write_labels(figures->file, figures->labels, &is_open);
    (void)fputs(is_open ? "} " : " ", figures->file);
}

void figures_number(struct figures *figures, uint64_t number, const struct figures_label *labels)
{
    begin_line(figures, labels);
    (void)print_to(figures->file, "%" PRIu64 "\n", number);
}

void figures_us(struct figures *figures, int64_t us, const struct figures_label *labels)
{
    uint64_t size = us < 0 ? 0 - (uint64_t)us : (uint64_t)us;

    begin_line(figures, labels);
    (void)print_to(figures->file, "%s%" PRIu64 ".%06" PRIu64 "\n", us < 0 ? "-" : "",
                   size / 1000000, size % 1000000);
}

bool figures_end(struct figures *figures)
{
    bool is_whole = !ferror(figures->file);

    return fclose(figures->file) == 0 && is_whole;
}

void figures_free(struct figures *figures)
{
    free(figures->text);
    figures->text = NULL;
}
