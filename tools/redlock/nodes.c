#define _GNU_SOURCE
#include "nodes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "login.h"
#include "print.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* ---- Where each entry stands ---- */

static void note_entry(struct settings *settings, const char *file, unsigned line)
{
    assert(line > 0);
    if (settings->node_count < sizeof settings->origins / sizeof settings->origins[0])
        settings->origins[settings->node_count++] = (struct node_origin){ file, line };
}

/* Commas between the hosts of sentinels end no entry: the place behind those. */
static const char *skip_hosts(const char *entry)
{
    static const char scheme[] = "sentinel://";

    if (strncasecmp(entry, scheme, sizeof scheme - 1) != 0) return entry;
    return entry + sizeof scheme - 1 + strcspn(entry + sizeof scheme - 1, "/ \t\n\r");
}

/* As redlock_open counts them: a comma that has no entry before or behind it makes an empty one,
 * which it refuses. */
static void note_entries(struct settings *settings, const char *list, const char *file)
{
    bool has_entry = false, has_comma = false;
    unsigned line = 1;

    for (const char *at = list; *at != '\0'; at++) {
        bool begins =
            !is_blank(*at) && *at != ',' && (at == list || is_blank(at[-1]) || at[-1] == ',');
        if (begins || (*at == ',' && !has_entry)) note_entry(settings, file, line);
        if (begins) has_entry = true;
        if (begins && skip_hosts(at) > at) at = skip_hosts(at) - 1;
        if (*at == ',') has_entry = false;
        if (*at == ',' || begins) has_comma = *at == ',';
        line += *at == '\n';
    }
    if (has_comma) note_entry(settings, file, line);
}

/* ---- Files ---- */

/* A # begins a comment where an entry could begin: within one it may be part of a password. */
static void blank_comments(char *list)
{
    for (char *at = list; *at != '\0'; at++) {
        if (*at != '#' || (at > list && !is_blank(at[-1]) && at[-1] != ',')) continue;
        while (at[0] != '\0' && at[0] != '\n') *at++ = ' ';
        at--;
    }
}

/* A list that was cut short would have a smaller quorum (S1). */
static void read_list(const struct settings *settings, const char *source, const char *path,
                      char *list, size_t size)
{
    size_t used;

    assert(size > 0);
    if (*path == '\0') refuse(settings, "%s: '@' names no file", source);
    used = login_read_file(settings, "the list of nodes", path, list, size);
    if (used == size) refuse(settings, "the list of nodes in %s is too long", path);
    list[used] = '\0';
    if (strlen(list) < used)
        refuse(settings, "the list of nodes %s has a byte 0: it is no text", path);
    blank_comments(list);
    if (strspn(list, " \t\r\n") == used) refuse(settings, "the list of nodes %s names none", path);
}

void nodes_add(struct settings *settings, const char *source, const char *list)
{
    size_t used = strlen(settings->nodes), room = NODES_TEXT_MAX - used, size = strlen(list);
    const char *file = list[0] == '@' ? list + 1 : NULL;
    char *to = settings->nodes + used;

    assert(used < NODES_TEXT_MAX);
    /* Of an unset variable, for one. */
    if (size == 0) refuse(settings, "%s: the list is empty", source);
    if (room < size + 2) refuse(settings, "the list of nodes is too long");
    if (used > 0) {
        *to++ = ',';
        room--;
    }
    if (file) read_list(settings, source, file, to, room);
    else      memcpy(to, list, size + 1);
    note_entries(settings, to, file);
}

void nodes_read_variable(struct settings *settings)
{
    char *value = getenv("REDLOCK_NODES");

    if (!value) return;
    if (settings->nodes[0] == '\0' && *value != '\0') nodes_add(settings, "REDLOCK_NODES", value);
    if (strchr(value, '@') && *value != '@') login_forget_variable("REDLOCK_NODES", value);
}

const char *nodes_describe(const struct settings *settings, enum redlock_status status,
                           const struct redlock_mistake *mistake, char *text, size_t size)
{
    bool is_counted = mistake->node < settings->node_count;
    const struct node_origin *origin = is_counted ? &settings->origins[mistake->node] : NULL;

    assert(size > 0);
    if (origin && origin->file)
        (void)print_text(text, size, "%s:%u: %s", origin->file, origin->line, mistake->text);
    else if (status == REDLOCK_BAD_ADDRESS)
        (void)print_text(text, size, "node %u of the list, byte %zu: %s", mistake->node,
                         mistake->at, mistake->text);
    else
        (void)print_text(text, size, "node %u of the list: %s", mistake->node, mistake->text);
    return text;
}
