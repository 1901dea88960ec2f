#include "help.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "print.h"
#include "tls.h"

enum {
    HELP_COLUMN = 26,           /* Where the explanations begin. */
    MANY_OPTIONS = 20           /* Of more those that most people need are shown. */
};

static const char nodes_help[] =
    "Nodes: HOST  HOST:PORT  [V6]:PORT  unix:/PATH  redis[s]://[USER:PASSWORD@]HOST[:PORT][/DB]\n"
    "Durations: 500ms, 10s, 1.5m, 2h, 1d.  Passwords: better from a file than in NODE.\n";

void help_print_version(const struct program *program)
{
    (void)print("%s " REDLOCK_VERSION "%s\n", program->name, tls_version());
}

void help_print(const struct program *program)
{
    (void)print("%s", program->help);
}

/* "  -n, --node NODE         help", the later lines of help below its first. */
static void print_row(const struct option_row *row)
{
    char letter[] = { '-', (char)row->letter, ',', '\0' };
    bool is_optional = row->argument && row->argument[0] == '[';
    int used = print("  %3s --%s%s%s", row->letter < 256 ? letter : "", row->name,
                     is_optional     ? "[="
                     : row->argument ? "="
                                     : "",
                     row->argument ? row->argument + is_optional : "");
    const char *line = row->help;

    assert(row->help);
    if (used >= HELP_COLUMN) {
        (void)print("\n");
        used = 0;
    }
    while (line) {
        const char *end = strchr(line, '\n');
        (void)print("%*s%.*s\n", HELP_COLUMN - used, "",
                    end ? (int)(end - line) : (int)strlen(line), line);
        line = end ? end + 1 : NULL;
        used = 0;
    }
}

static bool is_shown(const struct option_row *row, enum command command)
{
    return row->help && (row->commands & 1u << command);
}

static unsigned count_options(const struct program *program, enum command command)
{
    unsigned count = 0;

    for (const struct option_row *row = program->options; row->name; row++)
        count += is_shown(row, command);
    return count;
}

static bool is_needed_often(const struct program *program, const struct option_row *row)
{
    const short *letter = program->often;

    while (*letter != 0 && *letter != row->letter) letter++;
    return *letter != 0;
}

void help_print_command(const struct program *program, enum command command, bool is_all)
{
    const struct command_row *words = &program->commands[command - program->first];
    unsigned count = count_options(program, command);
    bool is_short = !is_all && count > MANY_OPTIONS;

    assert(command >= program->first && command < COMMAND_NONE);
    (void)print("Usage: %s\n%s\n\n", words->usage, words->purpose);
    for (const struct option_row *row = program->options; row->name; row++) {
        if (is_shown(row, command) && (!is_short || is_needed_often(program, row))) print_row(row);
    }
    if (is_short)
        (void)print("\nThese are the options that most people need; --help=all shows all %u.\n",
                    count);
    (void)print("\n%s\nExit status: %s%s(1) has all of them.\n", nodes_help, words->exits,
                program->name);
}
