/* Where and when metrics are written. Trouble with the file is told once, and is never trouble with
 * the lock. */
#define _GNU_SOURCE
#include "meter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptors.h"
#include "labels.h"
#include "outbox.h"
#include "output.h"
#include "print.h"
#include "replace.h"
#include "text.h"

enum {
    INTERVAL_US = 15 * 1000 * 1000,     /* Between two writes at most, */
    PAUSE_US = 1000 * 1000,             /* and at least, but for the last. */
    SLOTS = 8,                          /* The lock, and those that it has left behind. */
    NO_STATUS = 256,
    PAGE_BYTES = 16384,
    FILE_MAX = 16 * PAGE_BYTES
};

/* Of the file; each goes to the writer by itself. */
enum { PIECE_FIRST = 1, PIECE_LAST = 2 };

static struct meter {
    const char *file;
    const struct redlock *engine;       /* NULL: there is none, or none any longer. */
    bool has_begun, is_news, has_failed;
    uint64_t written_at;                /* 0: not yet. */
    unsigned label_count;
    struct redlock_label labels[REDLOCK_LABELS_MAX];
    char resource[TEXT_MAX];            /* For the default label. */
    char names[REDLOCK_NODES_MAX][NODE_LABEL_MAX];
    const char *name_of[REDLOCK_NODES_MAX];
    struct redlock_metrics metrics;
    struct redlock_metered slots[SLOTS];
    unsigned exit_status;               /* Of the last run; NO_STATUS: not known. */
    uint64_t success_s;                 /* When one last ended with 0, since 1970; 0: not known. */
} meter;

/* ---- The file ---- */

static char file_text[FILE_MAX];        /* In the writer. */
static size_t file_size;

/* For every collector to read. (None reads the file while it has another name: that does not
 * end in ".prom".) */
static bool write_text(void *context, int fd)
{
    (void)context;
    return fchmod(fd, 0644) == 0 && write_all(fd, file_text, file_size);
}

static void replace(void)
{
    assert(meter.file);
    if (replace_file(meter.file, write_text, NULL) || meter.has_failed) return;
    meter.has_failed = true;
    say("--metrics: cannot write %s: %s", meter.file, text_system_error(errno));
}

/* Of a file of which a piece was dropped no other is written. */
static void meter_deliver(const char *text, size_t size, uint32_t mark, uint32_t dropped)
{
    assert(file_size <= FILE_MAX);
    if (mark & PIECE_FIRST) file_size = 0;
    else if (dropped > 0)   file_size = FILE_MAX;
    if (size < FILE_MAX - file_size) {
        memcpy(file_text + file_size, text, size);
        file_size += size;
    } else {
        file_size = FILE_MAX;
    }
    if ((mark & PIECE_LAST) && file_size < FILE_MAX) replace();
}

/* ---- From one run to the next ---- */

#define EXIT_STATUS "redlock_run_last_exit_status"
#define SUCCESS "redlock_run_last_success_timestamp_seconds"

/* Of the line "NAME{LABELS} NUMBER", if there is one. */
static uint64_t gauge_in(const char *text, const char *name, uint64_t otherwise)
{
    const char *line = strstr(text, name), *end = line ? strstr(line, "} ") : NULL;

    return end ? strtoull(end + 2, NULL, 10) : otherwise;
}

/* Before there is a writer, which has that memory to itself. */
static void remember(void)
{
    int fd = open(meter.file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t size = fd < 0 ? 0 : read(fd, file_text, sizeof file_text - 1);

    assert(meter.file);
    file_text[size > 0 ? size : 0] = '\0';
    meter.exit_status = (unsigned)gauge_in(file_text, "\n" EXIT_STATUS "{", NO_STATUS);
    meter.success_s = gauge_in(file_text, "\n" SUCCESS "{", 0);
    if (fd >= 0) (void)close(fd);
}

/* What the format has escapes for; that it is UTF-8 the library has seen. */
static void put_label(FILE *file, const char *before, const struct redlock_label *label)
{
    (void)print_to(file, "%s%s=\"", before, label->name);
    for (const char *c = label->value; *c; c++)
        if (*c == '\n')                   (void)print_to(file, "\\n");
        else if (*c == '"' || *c == '\\') (void)print_to(file, "\\%c", *c);
        else                              (void)print_to(file, "%c", *c);
    (void)print_to(file, "\"");
}

static void put_gauge(FILE *file, const char *name, const char *help, uint64_t value)
{
    assert(meter.label_count <= REDLOCK_LABELS_MAX);
    (void)print_to(file, "# HELP %s %s\n# TYPE %s gauge\n%s", name, help, name, name);
    for (unsigned i = 0; i < meter.label_count; i++)
        put_label(file, i == 0 ? "{" : ",", &meter.labels[i]);
    (void)print_to(file, "} %" PRIu64 "\n", value);
}

static bool send_runs(uint32_t marks)
{
    FILE *file = outbox_compose();

    if (meter.exit_status < NO_STATUS)
        put_gauge(file, EXIT_STATUS, "Of redlock, or of its command, when it last ended.",
                  meter.exit_status);
    put_gauge(file, SUCCESS, "When it last ended with 0, since 1970.", meter.success_s);
    return outbox_send(OUTLET_METRICS, marks | PIECE_LAST);
}

/* S29: handed to the writer, as far as it takes it. */
static void write_file(void)
{
    uint64_t now = redlock_now_us(), wall = redlock_wall_us();
    char page[PAGE_BYTES];
    size_t from = 0, taken, left;
    bool is_sent;

    assert(meter.has_begun);
    do {
        left =
            redlock_metrics_text(&meter.metrics, meter.engine, now, wall, from, page, sizeof page);
        taken = left < sizeof page ? left : sizeof page - 1;
        is_sent = outbox_put(OUTLET_METRICS, page, taken, from == 0 ? PIECE_FIRST : 0u);
        from += taken;
    } while (taken < left && is_sent);
    meter.is_news = !is_sent || !send_runs(0);
    meter.written_at = now;
}

/* ---- What is counted ---- */

/* The state has changed, of a lock or of a node: worth a file. */
static bool is_transition(const struct redlock_event *event)
{
    return event->kind == REDLOCK_EVENT_ENDED || event->kind == REDLOCK_EVENT_READY ||
           event->kind == REDLOCK_EVENT_DISCONNECTED;
}

static void meter_count(const struct redlock_event *event)
{
    assert(meter.has_begun);
    redlock_metrics_count(&meter.metrics, event);
    meter.is_news |= is_transition(event);
}

static void meter_give_up(const struct redlock_lock *lock)
{
    redlock_metrics_give_up(&meter.metrics, lock, redlock_now_us());
    meter.is_news = true;
}

static void name_nodes(const struct redlock_client *client)
{
    for (unsigned k = 0; k < client->engine.node_count; k++)
        meter.name_of[k] = node_label(client, k, meter.names[k]);
    meter.metrics.node_names = meter.name_of;
}

static void meter_begin(struct redlock_client *client)
{
    meter.engine = &client->engine;
    if (meter.has_begun) redlock_metrics_change(&meter.metrics, meter.engine);
    else                 redlock_metrics_init(&meter.metrics, meter.engine, meter.slots, SLOTS);
    meter.has_begun = true;
    if (redlock_metrics_set_labels(&meter.metrics, meter.labels, meter.label_count) != REDLOCK_OK)
        meter.label_count = 0;
    name_nodes(client);
}

static uint64_t meter_due_at(void)
{
    return meter.written_at + (meter.is_news ? PAUSE_US : INTERVAL_US);
}

static void meter_step(uint64_t lost)
{
    redlock_metrics_lost(&meter.metrics, lost);
    if (meter.written_at == 0 || redlock_now_us() >= meter_due_at()) write_file();
}

static void meter_end(uint64_t lost)
{
    assert(meter.has_begun);
    redlock_metrics_lost(&meter.metrics, lost);
    meter.engine = NULL;
    redlock_metrics_change(&meter.metrics, NULL);
}

/* Of a run whose client could not be opened there are no counts. */
static void meter_leave(int code)
{
    assert(code >= 0);
    meter.exit_status = (unsigned)code & 0xff;
    if (code == 0) meter.success_s = redlock_wall_us() / 1000000;
    if (meter.has_begun) write_file();
    else                 (void)send_runs(PIECE_FIRST);
}

/* ---- What the command line says ---- */

const struct meter_feature *meter_to(const char *file)
{
    static const struct meter_feature feature = {
        .begin = meter_begin, .count = meter_count, .give_up = meter_give_up,
        .step = meter_step, .due_at = meter_due_at, .end = meter_end, .leave = meter_leave,
        .deliver = meter_deliver
    };

    meter.file = file;
    remember();
    return &feature;
}

bool meter_add_label(const char *name, const char *value)
{
    if (meter.label_count == REDLOCK_LABELS_MAX) return false;
    meter.labels[meter.label_count] = (struct redlock_label){ name, value };
    if (redlock_metrics_set_labels(&meter.metrics, meter.labels, meter.label_count + 1) !=
        REDLOCK_OK)
        return false;
    meter.label_count++;
    return true;
}

void meter_set_default_label(const char *resource)
{
    if (meter.label_count > 0) return;
    (void)meter_add_label("resource", text_printable(meter.resource, sizeof meter.resource,
                                                     resource, strlen(resource)));
}
