/* The file:    redlock-clocks 2 BOOT_ID
 *              AT SINCE_BOOT GIVE_OR_TAKE STEPPED_AT ADDRESS          a line for each node */
#define _GNU_SOURCE
#include "clock_log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../redlock/descriptors.h"
#include "../redlock/print.h"
#include "../redlock/replace.h"

enum { BOOT_ID_MAX = 64, RECORD_TEXT_MAX = REDLOCK_ADDRESS_MAX + 100 };

/* Another one after each start of the machine; "-" where the system has none. */
static void read_boot_id(char id[BOOT_ID_MAX])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (!file || !fgets(id, BOOT_ID_MAX, file)) (void)print_text(id, BOOT_ID_MAX, "-");
    id[strcspn(id, "\n")] = '\0';
    if (file) (void)fclose(file);
}

/* Without its line feed. False: there is none, or it is too long. */
static bool read_line(FILE *file, char line[RECORD_TEXT_MAX])
{
    size_t size;

    if (!fgets(line, RECORD_TEXT_MAX, file)) return false;
    size = strlen(line);
    if (size == 0 || line[size - 1] != '\n') return false;
    line[size - 1] = '\0';
    return true;
}

static bool read_record(const char *line, struct clock_record *record)
{
    char *at;

    record->at_us = strtoull(line, &at, 10);
    record->since_boot_us = strtoll(at, &at, 10);
    record->give_or_take_us = strtoull(at, &at, 10);
    record->stepped_at_us = strtoull(at, &at, 10);
    if (*at != ' ' || at[1] == '\0' || strlen(at + 1) >= sizeof record->address) return false;
    (void)print_text(record->address, sizeof record->address, "%s", at + 1);
    return true;
}

static void read_records(struct clock_log *log, FILE *file)
{
    char line[RECORD_TEXT_MAX], id[BOOT_ID_MAX], head[RECORD_TEXT_MAX];

    read_boot_id(id);
    (void)print_text(head, sizeof head, "redlock-clocks 2 %s", id);
    if (!read_line(file, line) || strcmp(line, head) != 0) return;
    while (log->count < REDLOCK_NODES_MAX && read_line(file, line))
        log->count += read_record(line, &log->records[log->count]);
}

bool clock_log_read(struct clock_log *log, const char *path)
{
    FILE *file = fopen(path, "re");
    bool is_read;

    log->count = 0;
    if (!file) return errno == ENOENT;
    read_records(log, file);
    is_read = !ferror(file);
    (void)fclose(file);
    return is_read;
}

/* What print_text() returned: a line that is cut would be read as another. */
static bool write_line(int fd, const char *line, int size)
{
    return size < RECORD_TEXT_MAX && write_all(fd, line, (size_t)size);
}

static bool write_records(void *context, int fd)
{
    const struct clock_log *log = context;
    char id[BOOT_ID_MAX], line[RECORD_TEXT_MAX];
    bool is_written;

    read_boot_id(id);
    is_written = write_line(fd, line, print_text(line, sizeof line, "redlock-clocks 2 %s\n", id));
    for (unsigned i = 0; is_written && i < log->count; i++)
        is_written = write_line(fd, line,
                                print_text(line, sizeof line,
                                           "%" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %s\n",
                                           log->records[i].at_us, log->records[i].since_boot_us,
                                           log->records[i].give_or_take_us,
                                           log->records[i].stepped_at_us, log->records[i].address));
    return is_written;
}

bool clock_log_write(struct clock_log *log, const char *path)
{
    return replace_file(path, write_records, log);
}

const struct clock_record *clock_log_find(const struct clock_log *log, const char *address)
{
    for (unsigned i = 0; i < log->count; i++)
        if (strcmp(log->records[i].address, address) == 0) return &log->records[i];
    return NULL;
}
