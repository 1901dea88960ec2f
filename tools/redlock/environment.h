/* The environment of this process, and so of what it begins. libc's setenv() and unsetenv() can do
 * more, for 2 KB of a static program. */
#ifndef ENVIRONMENT_H
#define ENVIRONMENT_H

/* Sets a variable: "NAME=VALUE", whose bytes must stay where they are. Without memory it
 * is not set. */
void environment_put(char *variable);

/* Takes it away, if it is there. */
void environment_take(const char *name);

#endif
