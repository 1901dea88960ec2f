/* What a program can be told to do: the tables of its commands and of their options. Help prints
 * them, options.c reads by them. */
#ifndef TABLES_H
#define TABLES_H

#include "settings.h"

/* Options without a short form: those that options.c reads for all programs, and what a program's
 * own begin with. */
enum {
    OPTION_GUARD = 256,
    OPTION_NODE_TIMEOUT,
    OPTION_TRUST_UNKNOWN,
    OPTION_USER,
    OPTION_PASSWORD_FILE,
    OPTION_PASSWORD,
    OPTION_JSON,
    OPTION_TRACE,
    OPTION_VERSION,
    OPTION_NO_TICKET,
    OPTION_TLS_CA,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_OWN
};

/* One option of the command line. */
struct option_row {
    const char *name;
    /* The short option's character, or a number over 255 for those without one. */
    int letter;
    unsigned commands;      /* Those that have it: a set of 1 << enum command. */
    /* What its argument is called; NULL: it has none; in brackets: it may be left out. */
    const char *argument;
    const char *help;       /* NULL: not shown. A line of it is at most 54 characters long. */
};

/* What all programs have, for these commands. */
#define OPTION_ROW_NODE(commands) \
    { "node", 'n', commands, "NODE[,...]", \
      "a server; repeat it, or separate them by commas;\n" \
      "@FILE: those in FILE (default: REDLOCK_NODES)" }
#define OPTION_ROW_BUSY_EXIT(commands) \
    { "busy-exit", 'E', commands, "NUMBER", \
      "exit status when somebody else holds the lock\n(default: 124)" }
#define OPTION_ROW_NODE_TIMEOUT(commands) \
    { "node-timeout", OPTION_NODE_TIMEOUT, commands, "DURATION", \
      "how long one server may take (default: 500ms)" }
#define OPTION_ROWS_OF_LOGIN(commands) \
    { "user", OPTION_USER, commands, "NAME", "log in as NAME (default: REDLOCK_USER)" }, \
    { "password-file", OPTION_PASSWORD_FILE, commands, "FILE", \
      "its first line is the password (default:\nREDLOCK_PASSWORD_FILE, then REDLOCK_PASSWORD)" }, \
    { "password", OPTION_PASSWORD, commands, "", NULL }, \
    { "tls-ca", OPTION_TLS_CA, commands, "FILE", \
      "CAs to trust (default: REDLOCK_TLS_CA, the system's)" }, \
    { "tls-cert", OPTION_TLS_CERT, commands, "FILE", \
      "our certificate (default: REDLOCK_TLS_CERT)" }, \
    { "tls-key", OPTION_TLS_KEY, commands, "FILE", "its key (default: REDLOCK_TLS_KEY)" }
#define OPTION_ROW_JSON(commands) \
    { "json", OPTION_JSON, commands, NULL, "print the result as a line of JSON" }
#define OPTION_ROW_TRACE(commands) \
    { "trace", OPTION_TRACE, commands, "[all]", \
      "show what passes on stderr, vote by vote; with\n=all the handshakes as well" }
#define OPTION_ROWS_AT_THE_END(commands) \
    { "verbose", 'v', commands, NULL, "say on stderr what is being done" }, \
    { "help", 'h', commands, "[all]", "show this help; with =all all options" }, \
    { "version", OPTION_VERSION, commands, NULL, "show the version" }, \
    { NULL, 0, 0, NULL, NULL }

/* exits: its exit statuses, in lines. */
struct command_row {
    const char *name, *usage, *purpose, *exits;
};

/* What a program has. */
struct program {
    const char *name, *help;
    enum command first;                 /* Of which command the first of these rows is. */
    const struct command_row *commands; /* Ends with a row whose name is NULL. */
    const struct option_row *options;   /* Ends with a row whose name is NULL. */
    /* Letters of the options that most people need, and 0: help on many shows those. */
    const short *often;
};

#endif
