/* What --help and --version print. */
#ifndef HELP_H
#define HELP_H

#include "tables.h"

void help_print(const struct program *program);
void help_print_version(const struct program *program);

/* is_all: with all options, be they many. */
void help_print_command(const struct program *program, enum command command, bool is_all);

#endif
