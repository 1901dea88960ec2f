/* The processes below this one: its children, their children, and, where it is their subreaper,
 * what they have left behind. */
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* From now on a process below this one whose parent has ended becomes a child of this one, not of
 * init: so a daemon does, too. Only Linux can do that; elsewhere nothing happens. */
void tree_adopt_orphans(void);

/* A process that is no part of it, although it is below this one. */
void tree_spare(pid_t pid);

/* False: this system could tell, but /proc is not mounted, or its kernel lacks
 * CONFIG_PROC_CHILDREN: tree_list() finds nobody. */
bool tree_is_told(void);

/* Fills pids with the processes below this one, the nearest first, zombies among them, up to max.
 * Returns how many. 0 where the system does not tell: only Linux does, in /proc. */
size_t tree_list(pid_t pids[], size_t max);

#endif
