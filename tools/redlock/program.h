/* What redlock can be told to do: its commands, their options, and their words. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "holding.h"

/* Reads argv and the environment. Passwords are overwritten in both, and taken out of the
 * environment. Returns only when all is well; help, --help and --version end the program as well,
 * and so does a word of redlock-admin, which is run. Both structures: unused memory. */
void program_read(struct settings *settings, struct holding *holding, int argc, char **argv);

#endif
