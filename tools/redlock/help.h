/* What --help and --version print. */
#ifndef HELP_H
#define HELP_H

#include "options.h"

void help_print(void);
void help_print_command(enum command command);
void version_print(void);

#endif
