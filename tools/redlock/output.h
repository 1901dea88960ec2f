/* How a program says what it has to say: in words on stderr, or with --json as JSON. Knows no
 * option, no node and no session. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "../../redlock/redlock.h"
#include "print.h"

/* The version of what --json prints: a field that is renamed, left out, or means something else
 * makes a new one; one more field, or one more word that a field may have, does not. */
enum { OUTPUT_JSON_VERSION = 1 };

enum log_form { LOG_NOWHERE, LOG_TEXT, LOG_JSON, LOG_SYSLOG };

struct output {
    const char *program;        /* "redlock" */
    const char *command;        /* "run". NULL: which one is not known yet. */
    bool quiet, verbose, json;
    bool runs;                  /* A program of the user's runs: stdout is its own. */
    bool has_no_ticket_option;  /* So no advice names it. */
    enum log_form log;
    const char *log_file;       /* Of syslog its socket. NULL: stderr, and of syslog /dev/log. */
    const char *holder;         /* As the log calls it. NULL: it does not. */
    unsigned name_count;
    const char *const *names;   /* Of the resources. */
    const char *resource;       /* All of them, for messages. */
};

/* All that is said from here on is said so. output must stay where it is. */
void output_begin(const struct output *output);

/* One line on stderr, "redlock: ..."; what a server or a user wrote in it is made printable. With
 * --json it is an object with a "note". */
void say(const char *format, ...) PRINT_LIKE(1, 2);

/* The same of the resources, whose names stand before it. Of a long text the end is cut off. */
void say_of_resource(const char *format, ...) PRINT_LIKE(1, 2);

/* Says what is wrong with what was asked for, and where help on the command is (NULL: on all); ends
 * the program with EXIT_TROUBLE. */
_Noreturn void output_refuse(const char *command, const char *format, va_list arguments);

/* Nothing can be done, and nothing was begun: why. */
void output_failure(enum redlock_status status, const char *text);

/* The same, since what was asked for is wrong. */
void output_mistake(const char *text);

/* The same, since a process of our own could not be begun. */
void output_system_failure(const char *what, int error);

/* Writes out what was printed on stdout. False: that was not possible, which is said:
 * what, and why. */
bool output_written(const char *what);

/* "OK", "TAKEN", ... */
const char *status_name(enum redlock_status status);

/* ---- JSON ---- */

/* How each object begins: {"version":...,"command":...,"resource":..., or, of several,
 * "resources":[...], and a comma. resource NULL: all of them. */
void output_json_head(FILE *file, const struct output *output, const char *resource);

/* The same, and "status":...,"code":...,"text":..., with a comma. text NULL: the status's own. */
void output_json_begin(FILE *file, const struct output *output, const char *resource,
                       enum redlock_status status, const char *text);

/* The same of a resource of any bytes that was found, with OK. */
void output_json_begin_bytes(FILE *file, const struct output *output, const void *resource,
                             size_t size, const char *text);

/* Where results are written, and that one is complete. */
FILE *output_json_file(const struct output *output);
void output_json_end(const struct output *output);

#endif
