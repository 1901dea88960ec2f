/* What --help and --version print. */
#ifndef HELP_H
#define HELP_H

#include "options.h"

/* One option of the command line. The commands that have it: a set of 1 << enum command. */
struct option_row {
    const char *name;
    int letter;             /* The short option's character, or a number over 255 for those without one. */
    unsigned commands;
    const char *argument;   /* What its argument is called; NULL: it has none; in brackets: it may be left out. */
    const char *help;       /* NULL: not shown. A line of it is at most 54 characters long. */
};

/* Ends with a row whose name is NULL. */
extern const struct option_row option_rows[];

void help_print(void);
void help_print_command(enum command command);
void version_print(void);

#endif
