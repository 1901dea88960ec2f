/* How a command line is read, and what makes a program of it: its commands, their options and their words. redlock and
 * redlock-admin share options.c, and each has a program.c. */
#ifndef READING_H
#define READING_H

#include "options.h"

enum { READING_LISTS_MAX = REDLOCK_NODES_MAX + 1, TLS_FILES = 3 };

/* Options without a short form: those that options.c reads for all programs, and what a program's own begin with. */
enum {
    OPTION_GUARD = 256, OPTION_NODE_TIMEOUT, OPTION_TRUST_UNKNOWN, OPTION_USER, OPTION_PASSWORD_FILE, OPTION_PASSWORD, OPTION_JSON,
    OPTION_TRACE, OPTION_VERSION, OPTION_NO_TICKET, OPTION_TLS_CA, OPTION_TLS_CERT, OPTION_TLS_KEY, OPTION_OWN
};

/* One option of the command line. */
struct option_row {
    const char *name;
    int letter;             /* The short option's character, or a number over 255 for those without one. */
    unsigned commands;      /* Those that have it: a set of 1 << enum command. */
    const char *argument;   /* What its argument is called; NULL: it has none; in brackets: it may be left out. */
    const char *help;       /* NULL: not shown. A line of it is at most 54 characters long. */
};

/* What all programs have, for these commands. */
#define OPTION_ROW_NODE(commands)                                                                               \
    { "node", 'n', commands, "NODE[,...]",                                                                      \
      "a server; repeat it, or separate them by commas;\n@FILE: those in FILE (default: REDLOCK_NODES)" }
#define OPTION_ROW_BUSY_EXIT(commands)                                                                          \
    { "busy-exit", 'E', commands, "NUMBER", "exit status when somebody else holds the lock\n(default: 124)" }
#define OPTION_ROW_NODE_TIMEOUT(commands)                                                                       \
    { "node-timeout", OPTION_NODE_TIMEOUT, commands, "DURATION", "how long one server may take (default: 500ms)" }
#define OPTION_ROWS_OF_LOGIN(commands)                                                                          \
    { "user", OPTION_USER, commands, "NAME", "log in as NAME (default: REDLOCK_USER)" },                        \
    { "password-file", OPTION_PASSWORD_FILE, commands, "FILE",                                                  \
      "its first line is the password (default:\nREDLOCK_PASSWORD_FILE, then REDLOCK_PASSWORD)" },              \
    { "password", OPTION_PASSWORD, commands, "", NULL },                                                        \
    { "tls-ca", OPTION_TLS_CA, commands, "FILE", "CAs to trust (default: REDLOCK_TLS_CA, the system's)" }, \
    { "tls-cert", OPTION_TLS_CERT, commands, "FILE", "our certificate (default: REDLOCK_TLS_CERT)" },           \
    { "tls-key", OPTION_TLS_KEY, commands, "FILE", "its key (default: REDLOCK_TLS_KEY)" }
#define OPTION_ROW_JSON(commands)                                                                               \
    { "json", OPTION_JSON, commands, NULL, "print the result as a line of JSON" }
#define OPTION_ROW_TRACE(commands)                                                                              \
    { "trace", OPTION_TRACE, commands, "[votes]", "show what passes on stderr, vote by vote; with\n=votes without the handshakes" }
#define OPTION_ROWS_AT_THE_END(commands)                                                                        \
    { "verbose", 'v', commands, NULL, "say on stderr what is being done" },                                     \
    { "help", 'h', commands, NULL, "show this help" },                                                          \
    { "version", OPTION_VERSION, commands, NULL, "show the version" },                                          \
    { NULL, 0, 0, NULL, NULL }

struct command_row {
    const char *name, *usage, *purpose, *exits;
};

/* A command line that is being read. What was given and is used only when all has been read is kept here. */
struct reading {
    struct settings *settings;  /* NULL: that is what is looked for. */
    int argc, next;             /* The next word is argv[next]. */
    char **argv;
    char *letters;              /* What is left of a word of short options; NULL: nothing. */
    char *argument;             /* Of the last option. */
    bool has_ended;             /* "--" was read: there are no more options. */
    bool has_resource;          /* As a word. */
    bool is_json;               /* --json was read. */
    bool has_grace, no_holder;
    const char *user, *password_file;
    const char *tls[TLS_FILES];         /* --tls-ca, --tls-cert, --tls-key */
    char *lists[READING_LISTS_MAX];     /* Of nodes. */
    unsigned list_count;
};

/* ---- What a program has ---- */

extern const char program_name[], program_help[];
extern const struct command_row command_rows[];         /* Ends with a row whose name is NULL. */
extern const enum command program_first;                /* Of which command the first of these rows is. */
extern const struct option_row option_rows[];           /* Ends with a row whose name is NULL. */

/* Another program may know the word; returns if it does not. *near hears of all words that it would have known. */
struct near;
void program_try_others(char **argv, const char *word, struct near *near);

/* What is so unless the command line says otherwise. */
void program_set_defaults(struct settings *settings);

/* An option of its own. */
void program_apply(struct reading *r, int letter);

/* All that stands behind the command's name. */
void program_read_words(struct reading *r);

/* What follows from it. */
void program_settle(struct reading *r);

/* ---- What options.c does for it ---- */

/* The argument of the option that was read; or says what is wrong with it. */
uint32_t reading_duration(const struct reading *r, const char *option, uint32_t ms_min);
uint32_t reading_number(const struct reading *r, const char *option);
uint32_t reading_skew(const struct reading *r);
uint32_t reading_drift(const struct reading *r);
const char *reading_name(const struct reading *r, const char *option, size_t size_max);
const char *reading_file(const struct reading *r, const char *option);      /* That will be replaced. */

/* A name is shown as it is, on one line, and in quotes. */
bool is_of_name(char c);

/* At most ms_max; too_long: how it is said of a longer one. */
uint32_t reading_limited(const struct reading *r, const char *option, uint32_t ms_max, const char *too_long);

/* Reads options up to the next operand. */
void reading_options(struct reading *r);

/* Reads a RESOURCE, and the options behind it. */
void reading_resource(struct reading *r);

/* Is there a word left? */
bool reading_has_more(const struct reading *r);

/* Says that a word is left, if one is. */
void reading_end(const struct reading *r);

#endif
