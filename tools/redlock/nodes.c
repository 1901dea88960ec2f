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
    assert(settings->list_count < NODE_LISTS_MAX);
    settings->lists[settings->list_count++] =
        (struct node_list){ file, (size_t)(to - settings->nodes) };
}

void nodes_read_variable(struct settings *settings)
{
    char *value = getenv("REDLOCK_NODES");

    if (!value) return;
    if (settings->nodes[0] == '\0' && *value != '\0') nodes_add(settings, "REDLOCK_NODES", value);
    if (strchr(value, '@') && *value != '@') login_forget_variable("REDLOCK_NODES", value);
}

/* The part of the list in which that byte stands. */
static const struct node_list *list_of(const struct settings *settings, size_t at)
{
    unsigned i = settings->list_count;

    assert(i > 0);
    while (i > 1 && settings->lists[i - 1].begin > at) i--;
    return &settings->lists[i - 1];
}

static unsigned line_of(const struct settings *settings, const struct node_list *list, size_t at)
{
    unsigned line = 1;

    for (size_t i = list->begin; i < at; i++) line += settings->nodes[i] == '\n';
    return line;
}

const char *nodes_describe(const struct settings *settings, enum redlock_status status,
                           const struct redlock_mistake *mistake, char *text, size_t size)
{
    const struct node_list *list = list_of(settings, mistake->at);

    assert(size > 0);
    if (mistake->node == REDLOCK_NO_NODE)
        (void)print_text(text, size, "%s", mistake->text);
    else if (list->file)
        (void)print_text(text, size, "%s:%u: %s", list->file,
                         line_of(settings, list, mistake->at), mistake->text);
    else if (status != REDLOCK_BAD_ADDRESS)
        (void)print_text(text, size, "node %u of the list: %s", mistake->node, mistake->text);
    else
        (void)print_text(text, size, "node %u of the list, byte %zu: %s", mistake->node,
                         mistake->at, mistake->text);
    return text;
}
