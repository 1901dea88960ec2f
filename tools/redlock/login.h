/* User and password: where they come from, and how they are kept out of sight. Knows no option but
 * their names. */
#ifndef LOGIN_H
#define LOGIN_H

#include "settings.h"

/* Makes what lies between "://" and the last "@" of a command line's word unreadable, in place:
 * ps(1) shows it. */
void login_hide(char *word);

/* Sets settings->user and ->password from user and password_file, which may be NULL, or else from
 * the environment. */
void login_read(struct settings *settings, const char *user, const char *password_file);

/* Fills text with what a file has, up to size bytes; returns how many. One that cannot be read ends
 * the program; what it is, for that. */
size_t login_read_file(const struct settings *settings, const char *what, const char *path,
                       char *text, size_t size);

/* Takes a variable that holds a secret out of the environment: the child must not inherit it, and
 * /proc must not show it. */
void login_forget_variable(const char *name, char *value);

#endif
