/* The list of nodes, from options, from the environment, and from files that they name. */
#ifndef NODES_H
#define NODES_H

#include "settings.h"

/* Adds a list to that of the settings: nodes, separated as redlock_open has it; or @ and the name
 * of a file that has such a list, on any number of lines, with comments from a # to the end of the
 * line. source names the list for messages. What is wrong ends the program; but entries are looked
 * at by redlock_open. */
void nodes_add(struct settings *settings, const char *source, const char *list);

/* Adds the list of REDLOCK_NODES where the command line named none. */
void nodes_read_variable(struct settings *settings);

/* Writes what is wrong with a node, and where it stands; returns text. */
const char *nodes_describe(const struct settings *settings, enum redlock_status status,
                           const struct redlock_mistake *mistake, char *text, size_t size);

#endif
