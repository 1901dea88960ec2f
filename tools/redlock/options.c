#define _GNU_SOURCE
#include "options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "exit_status.h"
#include "help.h"
#include "login.h"
#include "near.h"
#include "nodes.h"
#include "numbers.h"
#include "output.h"
#include "print.h"
#include "replace.h"
#include "tls.h"

/* ---- Values ---- */

_Noreturn static void refuse_duration(const struct reading *r, const char *option,
                                      enum number_error error, const char *too_long)
{
    const char *text = r->argument;

    assert(error != NUMBER_OK);
    switch (error) {
    case NUMBER_NO_UNIT:
        refuse(r->settings, "--%s: '%s' has no unit: write %sms, %ss, %sm, %sh or %sd", option,
               text, text, text, text, text, text);
    case NUMBER_BAD_UNIT:
        refuse(r->settings, "--%s: the unit of '%s' is none of ms, s, m, h, d", option, text);
    case NUMBER_TOO_FINE:
        refuse(r->settings, "--%s: '%s' is finer than a millisecond", option, text);
    case NUMBER_TOO_BIG:
        refuse(r->settings, "--%s: '%s' is too long: at most %s", option, text, too_long);
    default:
        refuse(r->settings, "--%s: '%s' is no duration: write it as 500ms, 10s, 1.5m, 2h or 1d",
               option, text);
    }
}

uint32_t reading_limited(const struct reading *r, const char *option, uint32_t ms_min,
                         uint32_t ms_max, const char *too_long)
{
    uint32_t ms = 0;
    enum number_error error = duration_read(r->argument, ms_max, &ms);

    assert(r->argument && ms_max > 0);
    if (error) refuse_duration(r, option, error, too_long);
    if (ms < ms_min) refuse(r->settings, "--%s: must be at least %u ms", option, ms_min);
    return ms;
}

uint32_t reading_duration(const struct reading *r, const char *option, uint32_t ms_min)
{
    return reading_limited(r, option, ms_min, REDLOCK_TTL_MS_MAX, "2147483647ms (24 days)");
}
_Static_assert(REDLOCK_TTL_MS_MAX == 2147483647, "a message says so");

uint32_t reading_hour(const struct reading *r, const char *option)
{
    return reading_limited(r, option, 1, REDLOCK_SKEW_MS_MAX, "1h");
}
_Static_assert(REDLOCK_SKEW_MS_MAX == 3600000 && REDLOCK_RETRY_MS_MAX == 3600000, "it is an hour");

uint32_t reading_number(const struct reading *r, const char *option)
{
    uint32_t number = 0;

    assert(r->argument);
    if (count_read(r->argument, REDLOCK_TTL_MS_MAX, &number) != NUMBER_OK)
        refuse(r->settings, "--%s: '%s' is no whole number of at most %d", option, r->argument,
               REDLOCK_TTL_MS_MAX);
    return number;
}

uint32_t reading_drift(const struct reading *r)
{
    uint32_t ppm = 0;

    assert(r->argument);
    if (ratio_read(r->argument, REDLOCK_DRIFT_PPM_MAX, &ppm) != NUMBER_OK)
        refuse(r->settings,
               "--drift: '%s' is no ratio of at most %d%%: write it as 1%%, 8.4%% or 84000ppm",
               r->argument, REDLOCK_DRIFT_PPM_MAX / 10000);
    return ppm;
}

static uint8_t read_exit_status(const struct reading *r)
{
    uint32_t number = 0;

    if (count_read(r->argument, UINT8_MAX, &number) != NUMBER_OK)
        refuse(r->settings, "--busy-exit: '%s' is no exit status: 0 to 255", r->argument);
    return (uint8_t)number;
}

static enum trace_mode read_trace(const struct reading *r)
{
    if (!r->argument || strcmp(r->argument, "votes") == 0) return TRACE_VOTES;
    if (strcmp(r->argument, "all") != 0)
        refuse(r->settings, "--trace: '%s' is neither 'all' nor 'votes'", r->argument);
    return TRACE_ALL;
}

bool is_of_name(char c)
{
    return (unsigned char)c >= ' ' && c != 127 && c != '"' && c != '\\';
}

const char *reading_name(const struct reading *r, const char *option, size_t size_max)
{
    size_t size = strlen(r->argument);

    assert(r->argument && size_max > 0);
    if (size == 0 || size > size_max)
        refuse(r->settings, "--%s: a name has 1 to %zu bytes", option, size_max);
    for (const char *c = r->argument; *c; c++)
        if (!is_of_name(*c))
            refuse(r->settings, "--%s: a name has no control characters, quotes and backslashes",
                   option);
    return r->argument;
}

const char *reading_file(const struct reading *r, const char *option)
{
    assert(r->argument);
    if (!is_replaceable(r->argument))
        refuse(r->settings, "--%s: '%s' is there, and is no regular file", option, r->argument);
    return r->argument;
}

/* What is wrong with a list is told when it is known how. */
static void note_list(struct reading *r)
{
    assert(r->list_count <= NODE_LISTS_MAX);
    if (r->list_count == NODE_LISTS_MAX)
        refuse(r->settings, "--node: at most %d", REDLOCK_NODES_MAX);
    r->lists[r->list_count++] = r->argument;
}

/* COMMAND_NONE: of no command. */
_Noreturn static void show_and_exit(const struct program *program, enum command command, int letter,
                                    bool is_all)
{
    if (letter != 'h')                help_print_version(program);
    else if (command == COMMAND_NONE) help_print(program);
    else                              help_print_command(program, command, is_all);
    exit(output_written(letter == 'h' ? "the help" : "the version") ? EXIT_SUCCESS : EXIT_TROUBLE);
}

/* --help=all */
static bool asks_for_all(const struct reading *r)
{
    if (!r->argument) return false;
    if (strcmp(r->argument, "all") != 0)
        refuse(r->settings, "--help: '%s' is not 'all'", r->argument);
    return true;
}

/* False: it is an option of the program's own. */
static bool apply(struct reading *r, int letter)
{
    struct settings *settings = r->settings;
    struct redlock_config *engine = &settings->options.engine;

    switch (letter) {
    case 'n':                  note_list(r); break;
    case 'E':                  settings->busy_exit = read_exit_status(r); break;
    case OPTION_GUARD:         engine->guard_ms = reading_duration(r, "guard", 0); break;
    case OPTION_NODE_TIMEOUT:
        engine->node_timeout_ms = reading_duration(r, "node-timeout", 1);
        break;
    case OPTION_TRUST_UNKNOWN: engine->trust_unknown = true; break;
    case OPTION_USER:          r->user = r->argument; break;
    case OPTION_PASSWORD_FILE: r->password_file = r->argument; break;
    case OPTION_TLS_CA:
    case OPTION_TLS_CERT:
    case OPTION_TLS_KEY:       r->tls[letter - OPTION_TLS_CA] = r->argument; break;
    case OPTION_NO_TICKET:     settings->ticket = false; break;
    case OPTION_JSON:          r->is_json = true; break;
    case OPTION_TRACE:         settings->trace = read_trace(r); break;
    case 'v':                  settings->output.verbose = true; break;
    case 'h':
    case OPTION_VERSION: show_and_exit(r->program, settings->command, letter, asks_for_all(r));
    default:                   return false;
    }
    return true;
}

/* ---- Words ---- */

static bool has_option(const struct reading *r, const struct option_row *row)
{
    return !r->has_command || (row->commands & 1u << r->settings->command);
}

/* It must have an argument. One that may be left out is given by "=" alone. */
static bool takes_word(const struct option_row *row)
{
    return row->argument && row->argument[0] != '[';
}

/* Says that it is another command's, or which one may be meant. */
_Noreturn static void refuse_option(const struct reading *r, const char *word, int size)
{
    struct near near = near_begin(word + 2, (unsigned)size - 2);

    assert(size >= 2);
    for (const struct option_row *row = r->program->options; row->name; row++) {
        if (r->has_command && strlen(row->name) == near.wrong_size &&
            memcmp(row->name, near.wrong, near.wrong_size) == 0)
            refuse(r->settings, "unknown option '%.*s' for %s: another command has it", size, word,
                   r->settings->output.command);
        if (has_option(r, row)) near_try(&near, row->name);
    }
    if (near.right)
        refuse(r->settings, "unknown option '%.*s': did you mean '--%s'?", size, word, near.right);
    refuse(r->settings, "unknown option '%.*s'", size, word);
}

/* By its name, or by the beginning of one name alone. NULL: there is none, or there are several. */
static const struct option_row *find_long(const struct reading *r, const char *name, size_t size)
{
    const struct option_row *found = NULL;
    bool is_several = false;

    assert(r->program && name);
    for (const struct option_row *row = r->program->options; row->name; row++) {
        if (!has_option(r, row) || strncmp(row->name, name, size) != 0) continue;
        if (row->name[size] == '\0') return row;
        is_several |= found && found->letter != row->letter;
        found = row;
    }
    return is_several ? NULL : found;
}

/* What the options are that a word has, as far as they are known: is --json one of them, is -r or
 * -s, and is the next word an argument? */
struct glance {
    bool has_json, has_resource, takes_next;
};

static void glance_at(struct glance *glance, const struct option_row *row, bool is_last)
{
    glance->has_json |= row->letter == OPTION_JSON;
    glance->has_resource |= row->letter == 'r' || row->letter == 's';
    glance->takes_next = is_last && takes_word(row);
}

static void glance_at_letters(struct glance *glance, const struct reading *r, const char *letters)
{
    for (; *letters; letters++) {
        const struct option_row *row = r->program->options;
        while (row->name && (row->letter != *letters || !has_option(r, row))) row++;
        if (!row->name) return;
        glance_at(glance, row, letters[1] == '\0');
        if (takes_word(row)) return;
    }
}

static void glance_at_word(struct glance *glance, const struct reading *r, const char *word)
{
    size_t size = strcspn(word, "=");
    const struct option_row *row = word[1] == '-' ? find_long(r, word + 2, size - 2) : NULL;

    glance->takes_next = false;
    if (word[1] != '-')                             glance_at_letters(glance, r, word + 1);
    else if (row && (row->argument || !word[size])) glance_at(glance, row, word[size] == '\0');
}

/* Is --json among the options, wherever it stands? So what is wrong before it is told in JSON as
 * well. Of run it stands before the COMMAND. */
static bool asks_for_json(const struct reading *r)
{
    bool runs = r->settings->output.runs;
    struct glance glance = { false, false, false };

    for (int i = r->next; i < r->argc && !glance.has_json; i++) {
        const char *word = r->argv[i];
        bool is_end = strcmp(word, "--") == 0, is_operand = word[0] != '-' || word[1] == '\0';
        if ((is_end || is_operand) && runs && glance.has_resource) return false;
        if (is_end && !runs) return false;
        if (is_operand) glance.has_resource = true;
        if (is_end || is_operand) continue;
        glance_at_word(&glance, r, word);
        i += glance.takes_next;
    }
    return glance.has_json;
}

/* The argument of an option that must have one is the next word. */
static void take_argument(struct reading *r, const char *option, int size)
{
    assert(r->next <= r->argc);
    if (r->next == r->argc)
        refuse(r->settings, "an argument is missing behind '%.*s'", size, option);
    r->argument = r->argv[r->next++];
}

/* "--name", "--name=argument". What is behind "=" may be a secret: it is not repeated. */
static int read_long(struct reading *r, char *word)
{
    size_t size = strcspn(word, "=");
    const struct option_row *row = find_long(r, word + 2, size - 2);

    assert(word[0] == '-' && word[1] == '-');
    if (!row) refuse_option(r, word, (int)size);
    r->argument = word[size] == '=' ? word + size + 1 : NULL;
    if (r->argument && !row->argument)
        refuse(r->settings, "'%.*s' takes no argument", (int)size, word);
    if (!r->argument && takes_word(row)) take_argument(r, word, (int)size);
    return row->letter;
}

/* The next of "-qv", or the last, with its argument, of "-qnhost". */
static int read_letter(struct reading *r)
{
    const char option[] = { '-', *r->letters++ };
    const struct option_row *row = r->program->options;

    assert(option[1] != '\0');
    while (row->name && (row->letter != option[1] || !has_option(r, row))) row++;
    if (!row->name) refuse(r->settings, "unknown option '%.2s'", option);
    r->argument = NULL;
    if (!takes_word(row)) return row->letter;
    r->argument = r->letters;
    r->letters = NULL;
    if (*r->argument == '\0') take_argument(r, option, 2);
    return row->letter;
}

/* The next option's letter; 0 before an operand, and behind "--". */
static int next_option(struct reading *r)
{
    char *word;

    if (r->letters && *r->letters) return read_letter(r);
    word = r->next < r->argc ? r->argv[r->next] : NULL;
    if (r->has_ended || !word || word[0] != '-' || word[1] == '\0') return 0;
    r->next++;
    if (word[1] == '-' && word[2] != '\0') return read_long(r, word);
    r->has_ended = word[1] == '-';
    if (r->has_ended) return 0;
    r->letters = word + 1;
    return read_letter(r);
}

int reading_option(struct reading *r)
{
    int letter;

    assert(r->program);
    while ((letter = next_option(r)) != 0) {
        if (letter == OPTION_PASSWORD) {
            memset(r->argument, '*', strlen(r->argument));
            refuse(r->settings,
                   "everybody sees the command line: use --password-file or REDLOCK_PASSWORD");
        }
        if (!apply(r, letter)) break;
    }
    return letter;
}

bool reading_has_more(const struct reading *r)
{
    return r->next < r->argc;
}

void reading_resource(struct reading *r)
{
    if (!reading_has_more(r)) refuse(r->settings, "a RESOURCE is missing");
    settings_add_name(r->settings, r->argv[r->next++]);
    r->has_resource = true;
    /* The "--" that counts is that before COMMAND. */
    if (r->settings->output.runs) r->has_ended = false;
}

void reading_end(const struct reading *r)
{
    if (reading_has_more(r)) refuse(r->settings, "'%s' is one word too many", r->argv[r->next]);
}

/* ---- The command ---- */

/* COMMAND_NONE: there is none of that name. */
static enum command find_command(const struct program *program, const char *word)
{
    assert(program->commands);
    for (const struct command_row *row = program->commands; row->name; row++)
        if (strcmp(row->name, word) == 0)
            return program->first + (enum command)(row - program->commands);
    return COMMAND_NONE;
}

void reading_refuse_command(const struct program *program, const char *word,
                            const char *const *others)
{
    struct near near = near_begin(word, (unsigned)strlen(word));
    char list[128] = "";

    for (const struct command_row *row = program->commands; row->name; row++) {
        size_t used = strlen(list);
        near_try(&near, row->name);
        (void)print_text(list + used, sizeof list - used, "%s%s",
                         row > program->commands ? ", " : "", row->name);
    }
    for (; others && *others; others++) near_try(&near, *others);
    if (near.right) refuse(NULL, "'%s' is none of %s: did you mean '%s'?", word, list, near.right);
    refuse(NULL, "'%s' is none of %s", word, list);
}

/* help, help COMMAND. Returns the word if it is no command of this program. */
static const char *show_help(const struct program *program, int count, char **words)
{
    enum command command = COMMAND_NONE;

    if (count > 1) refuse(NULL, "'%s' is one word too many", words[1]);
    if (count > 0 && strcmp(words[0], "help") != 0) {
        command = find_command(program, words[0]);
        if (command == COMMAND_NONE) return words[0];
    }
    show_and_exit(program, command, 'h', false);
}

enum command reading_begin(struct reading *r, const struct program *program,
                           struct settings *settings, int argc, char **argv, const char **word)
{
    int letter;

    memset(settings, 0, sizeof *settings);
    *r = (struct reading){
        .program = program, .settings = settings, .argc = argc, .argv = argv, .next = 1
    };
    settings->command = COMMAND_NONE;
    settings->output.program = program->name;
    settings->output.json = asks_for_json(r);
    output_begin(&settings->output);
    while ((letter = next_option(r)) != 0) {
        if (letter == 'h' || letter == OPTION_VERSION)
            show_and_exit(program, COMMAND_NONE, letter, asks_for_all(r));
    }
    if (r->next >= argc || r->has_ended)
        refuse(NULL, "a command is missing: '%s help' lists them", program->name);
    *word = argv[r->next];
    if (strcmp(*word, "help") == 0) {
        *word = show_help(program, argc - r->next - 1, argv + r->next + 1);
        return COMMAND_NONE;
    }
    return find_command(program, *word);
}

/* The command comes to the front: options that stand before it stand behind it then. */
void reading_begin_command(struct reading *r, enum command command, bool runs)
{
    struct settings *settings = r->settings;
    char **argv = r->argv, *word = argv[r->next];

    assert(command < COMMAND_NONE);
    memmove(argv + 2, argv + 1, (size_t)(r->next - 1) * sizeof *argv);
    argv[1] = word;
    *r = (struct reading){
        .program = r->program, .settings = settings, .has_command = true, .argc = r->argc - 1,
        .argv = argv + 1, .next = 1
    };
    settings->command = command;
    settings->output.command = word;
    settings->output.runs = runs;
    settings->output.json = asks_for_json(r);
    redlock_options_init(&settings->options);
    /* Those acquire nothing. */
    settings->options.engine.asks_only = command == COMMAND_STATUS || command >= COMMAND_BREAK;
    settings->busy_exit = EXIT_NOT_ACQUIRED;
}

/* ---- All of it ---- */

static void join_resources(struct settings *settings)
{
    size_t used = 0;

    settings->output.resource =
        settings->name_count == 1 ? settings->names[0] : settings->resources;
    for (unsigned i = 0; i < settings->name_count && used < sizeof settings->resources; i++)
        used += (size_t)print_text(settings->resources + used, sizeof settings->resources - used,
                                   "%s%s", i > 0 ? ", " : "", settings->names[i]);
}

static void read_nodes(struct reading *r)
{
    for (unsigned i = 0; i < r->list_count; i++) {
        nodes_add(r->settings, "--node", r->lists[i]);
        if (r->lists[i][0] != '@') login_hide(r->lists[i]);
    }
    nodes_read_variable(r->settings);
    if (r->settings->nodes[0] == '\0')
        refuse(r->settings,
               "no nodes are named: give -n HOST:PORT for each server, or set REDLOCK_NODES");
}

void reading_settle(struct reading *r)
{
    struct settings *settings = r->settings;

    assert(r->has_command);
    settings->output.json = r->is_json;
    read_nodes(r);
    login_read(settings, r->user, r->password_file);
    tls_read(settings, r->tls);
    /* Nothing is said in words then. */
    if (settings->output.json) settings->output.verbose = false;
    join_resources(settings);
}
