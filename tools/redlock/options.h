/* How a command line and the environment are read into settings, by the tables of a program: its
 * commands and their options. Knows the syntax of both; acts on nothing. redlock and redlock-admin
 * share it, and each has a program.c, which reads word after word.
 *
 * What is wrong with them is said on stderr, and ends the program with EXIT_TROUBLE: nothing has
 * been begun by then. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "tables.h"
#include "tls.h"

/* A command line that is being read. What was given and is used only when all has been read
 * is kept here. */
struct reading {
    const struct program *program;
    struct settings *settings;
    /* Else that is what is looked for: each option of the program is one. */
    bool has_command;
    int argc, next;             /* The next word is argv[next]. */
    char **argv;
    char *letters;              /* What is left of a word of short options; NULL: nothing. */
    char *argument;             /* Of the last option. */
    bool has_ended;             /* "--" was read: there are no more options. */
    bool has_resource;          /* As a word. */
    bool is_json;               /* --json was read. */
    const char *user, *password_file;
    const char *tls[TLS_FILES];         /* --tls-ca, --tls-cert, --tls-key */
    char *lists[NODE_LISTS_MAX];        /* Of nodes. */
    unsigned list_count;
};

/* ---- The command ---- */

/* Begins, and finds the command in argv. COMMAND_NONE: the program has none of the name that *word
 * is set to then; another one may have it. Help, --help and --version end the program. settings:
 * unused memory. */
enum command reading_begin(struct reading *r, const struct program *program,
                           struct settings *settings, int argc, char **argv, const char **word);

/* Says that the word is no command, and which may be meant. others: words of another program, and
 * NULL at the end; NULL: none. */
_Noreturn void reading_refuse_command(const struct program *program, const char *word,
                                      const char *const *others);

/* Turns to the command's own line. settings have the command and the library's defaults by then,
 * and are zero otherwise. runs: the command runs a program of the user's, whose words follow. */
void reading_begin_command(struct reading *r, enum command command, bool runs);

/* ---- Its words ---- */

/* Reads on until an option of the program's own and returns its letter; its argument is in the
 * reading. 0: an operand follows, or nothing. */
int reading_option(struct reading *r);

/* Reads a RESOURCE. */
void reading_resource(struct reading *r);

/* Is there a word left? */
bool reading_has_more(const struct reading *r);

/* Says that a word is left, if one is. */
void reading_end(const struct reading *r);

/* All words have been read: reads nodes, password and user, and settles what follows from them. */
void reading_settle(struct reading *r);

/* ---- Values ---- */

/* The argument of the option that was read; or says what is wrong with it. */
uint32_t reading_duration(const struct reading *r, const char *option, uint32_t ms_min);
uint32_t reading_number(const struct reading *r, const char *option);
uint32_t reading_hour(const struct reading *r, const char *option);     /* At most one. */
uint32_t reading_drift(const struct reading *r);
const char *reading_name(const struct reading *r, const char *option, size_t size_max);
/* That will be replaced. */
const char *reading_file(const struct reading *r, const char *option);

/* A name is shown as it is, on one line, and in quotes. */
bool is_of_name(char c);

/* ms_min to ms_max; too_long: how it is said of a longer one. */
uint32_t reading_limited(const struct reading *r, const char *option, uint32_t ms_min,
                         uint32_t ms_max, const char *too_long);

#endif
