/* User and password: where they come from, and how they are kept out of sight. Knows no option but their names. */
#ifndef LOGIN_H
#define LOGIN_H

#include "options.h"

/* Makes what lies between "://" and the last "@" of a command line's word unreadable, in place: ps(1) shows it. */
void login_hide(char *word);

/* Sets settings->user and ->password from user and password_file, which may be NULL, or else from the environment. */
void login_read(struct settings *settings, const char *user, const char *password_file);

/* Sets settings->nodes from REDLOCK_NODES where the command line named none. */
void login_read_nodes(struct settings *settings);

#endif
