/* Files that are written anew as a whole: a reader finds the old one or the new one, and the old
 * one stays if there is trouble. */
#ifndef REPLACE_H
#define REPLACE_H

#include <stdbool.h>

/* False: something is there that must not be replaced, as a directory, a device, or a link to what
 * another has made. */
bool is_replaceable(const char *path);

/* The new one is made beside it, as path, the number of this process and a time, and is what
 * write() writes there; it is on the disk before it has the name. It can be read as the umask has
 * it, unless write() changes that. False: errno says why, and nothing is left. */
bool replace_file(const char *path, bool (*write)(void *context, int fd), void *context);

#endif
