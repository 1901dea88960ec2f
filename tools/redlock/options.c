#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "help.h"
#include "login.h"
#include "near.h"
#include "nodes.h"
#include "numbers.h"
#include "report.h"
#include "text.h"

/* Options without a short form. */
enum {
    OPTION_GRACE = 256, OPTION_MAX_HOLD, OPTION_GUARD, OPTION_DRIFT, OPTION_NODE_TIMEOUT, OPTION_RETRY, OPTION_TRUST_UNKNOWN,
    OPTION_USER, OPTION_PASSWORD_FILE, OPTION_PASSWORD, OPTION_JSON, OPTION_TRACE, OPTION_VERSION,
    OPTION_NO_TICKET, OPTION_SKEW, OPTION_NO_WAKE_UPS, OPTION_MAX_EXTENSIONS, OPTION_HOLD_AT_LEAST,
    OPTION_ONCE_PER, OPTION_RETRY_UNTIL_DONE, OPTION_ONCE_ANYWAY, OPTION_PID, OPTION_AS, OPTION_ONCE,
    OPTION_HOLDER, OPTION_NO_HOLDER, OPTION_WAIT_THROUGH_ERRORS
};

enum {
    IN_RUN = 1 << COMMAND_RUN, IN_ACQUIRE = 1 << COMMAND_ACQUIRE, IN_EXTEND = 1 << COMMAND_EXTEND,
    IN_RELEASE = 1 << COMMAND_RELEASE, IN_KEEP = 1 << COMMAND_KEEP, IN_STATUS = 1 << COMMAND_STATUS,
    IN_LEAD = 1 << COMMAND_LEAD, IN_LEADER = 1 << COMMAND_LEADER,
    IN_PROGRAM = IN_RUN | IN_LEAD,      /* Those that run one. */
    IN_ALL = (1 << COMMAND_COUNT) - 1,
    IN_LOCK = IN_ALL & ~(IN_STATUS | IN_LEADER)     /* Those that act on a lock: they share one set of options. */
};

const struct option_row option_rows[] = {
    { "node", 'n', IN_ALL, "NODE[,...]",
      "a server; repeat it, or separate them by commas;\n@FILE: those in FILE (default: REDLOCK_NODES)" },
    { "resource", 'r', IN_ALL & ~(IN_STATUS | IN_LEAD | IN_LEADER), "RESOURCE",
      "instead of the word; repeated, up to 16 times: to be\nlocked all together or not at all" },
    { "resource", 'r', IN_STATUS, "RESOURCE", "instead of the word; may be repeated up to 16 times" },
    { "as", OPTION_AS, IN_LEAD, "TEXT", "what 'redlock leader' calls this leader\n(default: USER@HOST:PID)" },
    { "once", OPTION_ONCE, IN_LEAD, NULL, "end when the lead is lost, instead of waiting for it\nagain" },
    { "wait", 'w', IN_RUN, "DURATION", "how long to wait for the lock; 0: one attempt\n(default: forever)" },
    { "wait", 'w', IN_ACQUIRE, "DURATION", "how long to wait for the lock, or \"forever\"\n(default: 0, one attempt)" },
    { "wait-through-errors", OPTION_WAIT_THROUGH_ERRORS, IN_LOCK, NULL,
      "wait even where only somebody can mend what is wrong\nwith the nodes, as a password" },
    { "busy-exit", 'E', IN_ALL, "NUMBER", "exit status when somebody else holds the lock\n(default: 124)" },
    { "ttl", 't', IN_RUN, "DURATION", "time to live; extended every third of it (default: 10s)" },
    { "ttl", 't', IN_LEAD, "DURATION", "time to live; extended every third of it (default: 15s)" },
    { "ttl", 't', IN_ACQUIRE | IN_EXTEND, "DURATION", "time to live (default: 10s)" },
    { "ttl", 't', IN_KEEP, "DURATION", "time to live; extended every third of it (default: 10s)" },
    { "pid", OPTION_PID, IN_KEEP, "PID", "extend the lock while this process lives, then release it" },
    { "grace", OPTION_GRACE, IN_PROGRAM, "DURATION",
      "between SIGTERM and SIGKILL when the lock is lost\n(default: 2s, at most half of the TTL)" },
    { "max-hold", OPTION_MAX_HOLD, IN_RUN, "DURATION", "end COMMAND after this time (default: no limit)" },
    { "max-extensions", OPTION_MAX_EXTENSIONS, IN_RUN, "NUMBER",
      "extend the lock so often at most, then end COMMAND\n(default: no limit)" },
    { "hold-at-least", OPTION_HOLD_AT_LEAST, IN_RUN, "DURATION",
      "leave the lock held when COMMAND has ended, until it\nhas been held for so long" },
    { "once-per", OPTION_ONCE_PER, IN_RUN, "PERIOD",
      "run COMMAND only if it has not yet run in this hour,\nday, ... (1h, 1d, ...: cut from UTC)" },
    { "retry-until-done", OPTION_RETRY_UNTIL_DONE, IN_RUN, NULL, "with --once-per: until it has exited with 0" },
    { "once-anyway", OPTION_ONCE_ANYWAY, IN_RUN, NULL,
      "with --once-per: rather twice than never, if servers\nrestarted within the period" },
    { "holder", OPTION_HOLDER, IN_PROGRAM | IN_ACQUIRE, "TEXT",
      "what 'redlock status' calls the holder (default of\nrun and lead: USER@HOST:PID COMMAND)" },
    { "no-holder", OPTION_NO_HOLDER, IN_PROGRAM, NULL, "nodes are not told which program holds the lock" },
    { "no-ticket", OPTION_NO_TICKET, IN_LOCK & ~IN_LEAD, NULL, "without a ticket: clocks need not be right" },
    { "skew", OPTION_SKEW, IN_ALL & ~IN_LEADER, "DURATION",
      "how far any two wall clocks may differ, for tickets\n(default: 10s)" },
    { "guard", OPTION_GUARD, IN_ALL, "DURATION",
      "no vote for servers that restarted less than this\nago (default: 30s; 0 for throw-away servers)" },
    { "drift", OPTION_DRIFT, IN_LOCK, "RATIO",
      "how fast a server's clock may run, as 8.4% or\n84000ppm (default: 1%)" },
    { "node-timeout", OPTION_NODE_TIMEOUT, IN_ALL, "DURATION", "how long one server may take (default: 500ms)" },
    { "retry", OPTION_RETRY, IN_LOCK, "DURATION", "mean pause between attempts (default: 100ms)" },
    { "no-wake-ups", OPTION_NO_WAKE_UPS, IN_LOCK, NULL,
      "neither hear of releases nor tell of them, for\nservers whose ACL forbids pub/sub" },
    { "trust-unknown", OPTION_TRUST_UNKNOWN, IN_ALL, NULL, "servers that refuse INFO or ROLE may vote" },
    { "user", OPTION_USER, IN_ALL, "NAME", "log in as NAME (default: REDLOCK_USER)" },
    { "password-file", OPTION_PASSWORD_FILE, IN_ALL, "FILE",
      "its first line is the password (default:\nREDLOCK_PASSWORD_FILE, then REDLOCK_PASSWORD)" },
    { "password", OPTION_PASSWORD, IN_ALL, "", NULL },
    { "json", OPTION_JSON, IN_PROGRAM, NULL, "tell the result as a line of JSON on stderr" },
    { "json", OPTION_JSON, IN_ALL & ~IN_PROGRAM, NULL, "print the result as a line of JSON" },
    { "trace", OPTION_TRACE, IN_ALL, "[votes]", "show what passes on stderr, vote by vote; with\n=votes without the handshakes" },
    { "quiet", 'q', IN_LOCK, NULL, "say nothing when somebody else holds the lock" },
    { "verbose", 'v', IN_ALL, NULL, "say on stderr what is being done" },
    { "help", 'h', IN_ALL, NULL, "show this help" },
    { "version", OPTION_VERSION, IN_ALL, NULL, "show the version" },
    { NULL, 0, 0, NULL, NULL }
};

enum { HOST_MAX = 256, ROWS_MAX = sizeof option_rows / sizeof option_rows[0] };

static const char *const names[COMMAND_COUNT] = { "run", "acquire", "extend", "release", "keep", "status", "lead", "leader" };

const char *command_name(enum command command)
{
    return names[command];
}

bool command_runs(enum command command)
{
    return command == COMMAND_RUN || command == COMMAND_LEAD;
}

static enum command find_command(const char *word)
{
    enum command command = COMMAND_RUN;

    while (command < COMMAND_COUNT && strcmp(names[command], word) != 0) command++;
    return command;
}

void refuse(const char *command, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    text_say(format, arguments);
    va_end(arguments);
    (void)fprintf(stderr, "Try 'redlock %s%s--help' for more information.\n", command ? command : "", command ? " " : "");
    exit(EXIT_TROUBLE);
}

/* ---- Values ---- */

/* What getopt_long needs, made from the rows of one command. */
struct syntax {
    const char *command;
    bool has_ended;         /* "--" was read: there are no more options. */
    struct option longs[ROWS_MAX];
    char shorts[2 + 2 * ROWS_MAX + 1];
};

/* What was given and is used only when all has been read. */
struct given {
    const char *user, *password_file;
    bool grace, no_holder;
    bool resource;          /* As a word. */
};

static void refuse_number(const struct syntax *syntax, const char *option, const char *text, enum number_error error)
{
    switch (error) {
    case NUMBER_NO_UNIT:
        refuse(syntax->command, "--%s: '%s' has no unit: write %sms, %ss, %sm, %sh or %sd", option,
               text, text, text, text, text, text);
    case NUMBER_BAD_UNIT:
        refuse(syntax->command, "--%s: the unit of '%s' is none of ms, s, m, h, d", option, text);
    case NUMBER_TOO_FINE:
        refuse(syntax->command, "--%s: '%s' is finer than a millisecond", option, text);
    case NUMBER_TOO_BIG:
        refuse(syntax->command, "--%s: '%s' is too long: at most %dms (24 days)", option, text, REDLOCK_TTL_MS_MAX);
    default:
        refuse(syntax->command, "--%s: '%s' is no duration: write it as 500ms, 10s, 1.5m, 2h or 1d", option, text);
    }
}

static uint32_t read_duration(const struct syntax *syntax, const char *option, uint32_t ms_min)
{
    uint32_t ms = 0;
    enum number_error error = duration_read(optarg, REDLOCK_TTL_MS_MAX, &ms);

    if (error) refuse_number(syntax, option, optarg, error);
    if (ms < ms_min) refuse(syntax->command, "--%s: must be at least %u ms", option, ms_min);
    return ms;
}

static uint32_t read_period(const struct syntax *syntax)
{
    uint32_t ms = 0;
    enum number_error error = duration_read(optarg, REDLOCK_PERIOD_MS_MAX, &ms);

    if (error == NUMBER_TOO_BIG) refuse(syntax->command, "--once-per: '%s' is too long: at most 31d", optarg);
    if (error) refuse_number(syntax, "once-per", optarg, error);
    if (ms < REDLOCK_PERIOD_MS_MIN) refuse(syntax->command, "--once-per: must be at least %d ms", REDLOCK_PERIOD_MS_MIN);
    return ms;
}

static uint32_t read_number(const struct syntax *syntax, const char *option)
{
    uint32_t number = 0;

    if (count_read(optarg, REDLOCK_TTL_MS_MAX, &number) != NUMBER_OK)
        refuse(syntax->command, "--%s: '%s' is no whole number of at most %d", option, optarg, REDLOCK_TTL_MS_MAX);
    return number;
}

static int read_pid(const struct syntax *syntax)
{
    uint32_t number = read_number(syntax, "pid");

    if (number == 0) refuse(syntax->command, "--pid: 0 is no process");
    return (int)number;
}

static uint8_t read_exit_status(const struct syntax *syntax)
{
    uint32_t number = 0;

    if (count_read(optarg, UINT8_MAX, &number) != NUMBER_OK)
        refuse(syntax->command, "--busy-exit: '%s' is no exit status: 0 to 255", optarg);
    return (uint8_t)number;
}

static uint32_t read_skew(const struct syntax *syntax)
{
    uint32_t ms = read_duration(syntax, "skew", 1);

    if (ms > REDLOCK_SKEW_MS_MAX) refuse(syntax->command, "--skew: '%s' is too long: at most 1h", optarg);
    return ms;
}

static uint32_t read_wait(const struct syntax *syntax)
{
    return strcmp(optarg, "forever") == 0 ? REDLOCK_FOREVER : read_duration(syntax, "wait", 0);
}

static uint32_t read_drift(const struct syntax *syntax)
{
    uint32_t ppm = 0;

    if (ratio_read(optarg, REDLOCK_DRIFT_PPM_MAX, &ppm) != NUMBER_OK)
        refuse(syntax->command, "--drift: '%s' is no ratio of at most %d%%: write it as 1%%, 8.4%% or 84000ppm", optarg,
               REDLOCK_DRIFT_PPM_MAX / 10000);
    return ppm;
}

static enum trace_mode read_trace(const struct syntax *syntax)
{
    if (!optarg || strcmp(optarg, "all") == 0) return TRACE_ALL;
    if (strcmp(optarg, "votes") != 0) refuse(syntax->command, "--trace: '%s' is neither 'all' nor 'votes'", optarg);
    return TRACE_VOTES;
}

/* A name is shown as it is, on one line, and in quotes. */
static bool is_of_name(char c)
{
    return (unsigned char)c >= ' ' && c != 127 && c != '"' && c != '\\';
}

static const char *read_name(const struct syntax *syntax, const char *option, size_t size_max)
{
    size_t size = strlen(optarg);

    if (size == 0 || size > size_max) refuse(syntax->command, "--%s: a name has 1 to %zu bytes", option, size_max);
    for (const char *c = optarg; *c; c++)
        if (!is_of_name(*c)) refuse(syntax->command, "--%s: a name has no control characters, quotes and backslashes", option);
    return optarg;
}

static void add_nodes(struct settings *settings, char *list)
{
    nodes_add(settings, "--node", list);
    if (list[0] != '@') login_hide(list);
}

static void add_resource(const struct syntax *syntax, struct settings *settings, const struct given *given)
{
    if (given->resource) refuse(syntax->command, "--resource: name all resources by it, or the only one by a word");
    if (settings->name_count == REDLOCK_SET_MAX)
        refuse(syntax->command, "--resource: '%s' is one too many: at most %d", optarg, REDLOCK_SET_MAX);
    for (unsigned i = 0; i < settings->name_count; i++)
        if (strcmp(settings->names[i], optarg) == 0) refuse(syntax->command, "--resource: '%s' is named twice", optarg);
    settings->names[settings->name_count++] = optarg;
}

static void apply_limits(const struct syntax *syntax, struct settings *settings, int letter)
{
    struct redlock_config *engine = &settings->options.engine;

    switch (letter) {
    case OPTION_GUARD:         engine->guard_ms = read_duration(syntax, "guard", 0); break;
    case OPTION_DRIFT:         engine->drift_ppm = read_drift(syntax); break;
    case OPTION_NODE_TIMEOUT:  engine->node_timeout_ms = read_duration(syntax, "node-timeout", 1); break;
    case OPTION_RETRY:         engine->retry_ms = read_duration(syntax, "retry", 1); break;
    case OPTION_TRUST_UNKNOWN: engine->trust_unknown = true; break;
    case OPTION_NO_WAKE_UPS:   engine->wake_ups = false; engine->silent = true; break;
    case OPTION_SKEW:          engine->ticket_skew_ms = read_skew(syntax); break;
    default: break;
    }
}

/* COMMAND_COUNT: of none. */
_Noreturn static void show_and_exit(enum command command, int letter)
{
    if (letter != 'h')                 version_print();
    else if (command == COMMAND_COUNT) help_print();
    else                               help_print_command(command);
    exit(report_written(letter == 'h' ? "the help" : "the version") ? EXIT_SUCCESS : EXIT_TROUBLE);
}

static void apply(const struct syntax *syntax, struct settings *settings, struct given *given, int letter)
{
    switch (letter) {
    case 'n':                  add_nodes(settings, optarg); break;
    case 'r':                  add_resource(syntax, settings, given); break;
    case 'w':                  settings->wait_ms = read_wait(syntax); break;
    case 't':                  settings->ttl_ms = read_duration(syntax, "ttl", 1); break;
    case OPTION_GRACE:         settings->grace_ms = read_duration(syntax, "grace", 0); given->grace = true; break;
    case OPTION_MAX_HOLD:      settings->max_hold_ms = read_duration(syntax, "max-hold", 1); break;
    case OPTION_MAX_EXTENSIONS: settings->max_extensions = read_number(syntax, "max-extensions"); break;
    case OPTION_PID:           settings->pid = read_pid(syntax); break;
    case OPTION_HOLD_AT_LEAST: settings->hold_at_least_ms = read_duration(syntax, "hold-at-least", 1); break;
    case OPTION_ONCE_PER:      settings->once_per_ms = read_period(syntax); break;
    case OPTION_RETRY_UNTIL_DONE: settings->retry_until_done = true; break;
    case OPTION_ONCE_ANYWAY:   settings->once_anyway = true; break;
    case OPTION_USER:          given->user = optarg; break;
    case OPTION_PASSWORD_FILE: given->password_file = optarg; break;
    case OPTION_NO_TICKET:     settings->ticket = false; break;
    case 'E':                  settings->busy_exit = read_exit_status(syntax); break;
    case OPTION_WAIT_THROUGH_ERRORS: settings->waits_through_errors = true; break;
    case OPTION_JSON:          settings->json = true; break;
    case OPTION_TRACE:         settings->trace = read_trace(syntax); break;
    case OPTION_AS:            settings->as = read_name(syntax, "as", LEADER_NAME_MAX); break;
    case OPTION_HOLDER:        settings->options.holder = read_name(syntax, "holder", REDLOCK_HOLDER_MAX); break;
    case OPTION_NO_HOLDER:     given->no_holder = true; break;
    case OPTION_ONCE:          settings->once = true; break;
    case 'q':                  settings->quiet = true; break;
    case 'v':                  settings->verbose = true; break;
    case 'h':
    case OPTION_VERSION:       show_and_exit(settings->command, letter);
    default:                   apply_limits(syntax, settings, letter); break;
    }
}

/* ---- Words ---- */

/* As getopt_long has it. An argument in brackets need not be given. */
static int argument_of(const struct option_row *row)
{
    return !row->argument ? no_argument : row->argument[0] == '[' ? optional_argument : required_argument;
}

/* Has a row that is another command's been taken already? */
static bool has_option(const struct syntax *syntax, const char *name)
{
    const struct option *option = syntax->longs;

    while (option->name && strcmp(option->name, name) != 0) option++;
    return option->name != NULL;
}

/* COMMAND_COUNT: the options of all commands. */
static void make_syntax(struct syntax *syntax, enum command command)
{
    struct option *next = syntax->longs;
    char *letter = syntax->shorts;
    bool is_any = command == COMMAND_COUNT;

    memset(syntax, 0, sizeof *syntax);
    syntax->command = is_any ? NULL : command_name(command);
    *letter++ = '+';        /* Stop at the first operand: a program's options are its own. */
    *letter++ = ':';        /* Tell a missing argument from an unknown option. */
    for (const struct option_row *row = option_rows; row->name; row++) {
        if (is_any ? has_option(syntax, row->name) : !(row->commands & 1u << command)) continue;
        *next++ = (struct option){ row->name, argument_of(row), NULL, row->letter };
        if (row->letter > 255) continue;
        *letter++ = (char)row->letter;
        if (row->argument) *letter++ = ':';
    }
}

/* Says that it is another command's, or which one may be meant. */
_Noreturn static void refuse_option(const struct syntax *syntax, const char *word, int size)
{
    struct near near = near_begin(word + 2, (unsigned)size - 2);

    for (const struct option_row *row = option_rows; row->name; row++) {
        if (strlen(row->name) == near.wrong_size && memcmp(row->name, near.wrong, near.wrong_size) == 0)
            refuse(syntax->command, "unknown option '%.*s' for %s: another command has it", size, word, syntax->command);
    }
    for (const struct option *option = syntax->longs; option->name; option++) near_try(&near, option->name);
    if (near.right) refuse(syntax->command, "unknown option '%.*s': did you mean '--%s'?", size, word, near.right);
    refuse(syntax->command, "unknown option '%.*s'", size, word);
}

/* The word as it was written, up to "=": what is behind it may be a secret. */
static void refuse_word(const struct syntax *syntax, int problem, const char *word)
{
    const char *what = problem == ':' ? "an argument is missing behind" : "unknown option";
    int size = (int)strcspn(word, "=");

    if (word[0] != '-' || word[1] != '-') refuse(syntax->command, "%s '-%c'", what, optopt);
    if (problem == '?') refuse_option(syntax, word, size);
    refuse(syntax->command, "%s '%.*s'", what, size, word);
}

/* The next option's letter, or -1 before an operand. Once getopt_long() has seen "--" it cannot be called again, so that is
 * found here. */
static int next_option(struct syntax *syntax, int argc, char **argv)
{
    if (!syntax->has_ended && optind < argc && strcmp(argv[optind], "--") == 0) {
        syntax->has_ended = true;
        optind++;
    }
    return syntax->has_ended ? -1 : getopt_long(argc, argv, syntax->shorts, syntax->longs, NULL);
}

static void read_options(struct syntax *syntax, struct settings *settings, struct given *given, int argc, char **argv)
{
    int letter;

    while ((letter = next_option(syntax, argc, argv)) != -1) {
        if (letter == '?' || letter == ':') refuse_word(syntax, letter, argv[optind - 1]);
        if (letter == OPTION_PASSWORD) {
            memset(optarg, '*', strlen(optarg));
            refuse(syntax->command, "everybody sees the command line: use --password-file or REDLOCK_PASSWORD");
        }
        apply(syntax, settings, given, letter);
    }
}

/* ---- The command ---- */

_Noreturn static void refuse_command(const char *word)
{
    struct near near = near_begin(word, (unsigned)strlen(word));
    char list[128] = "";

    for (unsigned i = 0; i < COMMAND_COUNT; i++) {
        near_try(&near, names[i]);
        (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "", names[i]);
    }
    if (near.right) refuse(NULL, "'%s' is none of %s: did you mean '%s'?", word, list, near.right);
    refuse(NULL, "'%s' is none of %s", word, list);
}

/* help, help COMMAND */
_Noreturn static void help_and_exit(int count, char **words)
{
    enum command command = count > 0 && strcmp(words[0], "help") != 0 ? find_command(words[0]) : COMMAND_COUNT;

    if (count > 1) refuse(NULL, "'%s' is one word too many", words[1]);
    if (count > 0 && command == COMMAND_COUNT && strcmp(words[0], "help") != 0) refuse_command(words[0]);
    show_and_exit(command, 'h');
}

enum command command_read(int argc, char **argv)
{
    struct syntax syntax;
    enum command command;
    char *word;
    int letter;

    make_syntax(&syntax, COMMAND_COUNT);
    opterr = 0;
    while ((letter = next_option(&syntax, argc, argv)) != -1) {
        if (letter == '?' || letter == ':') refuse_word(&syntax, letter, argv[optind - 1]);
        if (letter == 'h' || letter == OPTION_VERSION) show_and_exit(COMMAND_COUNT, letter);
    }
    if (optind >= argc || syntax.has_ended) refuse(NULL, "a command is missing: 'redlock help' lists them");
    word = argv[optind];
    if (strcmp(word, "help") == 0) help_and_exit(argc - optind - 1, argv + optind + 1);
    command = find_command(word);
    if (command == COMMAND_COUNT) refuse_command(word);
    memmove(argv + 2, argv + 1, (size_t)(optind - 1) * sizeof *argv);
    argv[1] = word;
    optind = 1;
    return command;
}

/* ---- All words of a command ---- */

/* What acquire printed: the ticket behind the token is not asked for, but the holder is part of what nodes compare. */
static char *read_token(struct settings *settings, char *word)
{
    char *blank = strchr(word, ' '), *colon;

    if (blank) {
        *blank = '\0';
        settings->options.holder = blank + 1;
    }
    colon = strchr(word, ':');

    if (colon && colon[1] != '\0' && colon[1 + strspn(colon + 1, "0123456789")] == '\0') *colon = '\0';
    return word;
}

static void read_resource(struct syntax *syntax, struct settings *settings, struct given *given, int argc, char **argv)
{
    if (optind >= argc) refuse(syntax->command, "a RESOURCE is missing");
    settings->names[settings->name_count++] = argv[optind++];
    given->resource = true;
    if (command_runs(settings->command)) syntax->has_ended = false;    /* The "--" that counts is that before COMMAND. */
    read_options(syntax, settings, given, argc, argv);
}

static void read_words(struct syntax *syntax, struct settings *settings, struct given *given, int argc, char **argv)
{
    bool has_token = settings->command == COMMAND_EXTEND || settings->command == COMMAND_RELEASE ||
                     settings->command == COMMAND_KEEP;

    read_options(syntax, settings, given, argc, argv);
    if (settings->name_count == 0) read_resource(syntax, settings, given, argc, argv);
    if (command_runs(settings->command)) {
        if (optind >= argc) refuse(syntax->command, "a COMMAND to run is missing behind the RESOURCE");
        settings->program = argv + optind;
        return;
    }
    if (has_token) {
        if (optind >= argc) refuse(syntax->command, "the TOKEN is missing that 'redlock acquire' printed");
        settings->token = read_token(settings, argv[optind++]);
        read_options(syntax, settings, given, argc, argv);
    }
    if (optind < argc) refuse(syntax->command, "'%s' is one word too many", argv[optind]);
    if (settings->command == COMMAND_KEEP && settings->pid == 0) refuse(syntax->command, "--pid is missing: while which process?");
}

/* ---- All of it ---- */

static void set_defaults(struct settings *settings, enum command command)
{
    memset(settings, 0, sizeof *settings);
    settings->command = command;
    redlock_options_init(&settings->options);
    settings->ttl_ms = command == COMMAND_LEAD ? DEFAULT_LEAD_TTL_MS : DEFAULT_TTL_MS;
    settings->max_extensions = UINT32_MAX;
    settings->wait_ms = command_runs(command) ? REDLOCK_FOREVER : 0;
    settings->ticket = command_runs(command) || command == COMMAND_ACQUIRE || command == COMMAND_STATUS;
    settings->busy_exit = EXIT_NOT_ACQUIRED;
}

static void join_resources(struct settings *settings)
{
    size_t used = 0;

    settings->resource = settings->name_count == 1 ? settings->names[0] : settings->resources;
    for (unsigned i = 0; i < settings->name_count && used < sizeof settings->resources; i++)
        used += (size_t)snprintf(settings->resources + used, sizeof settings->resources - used, "%s%s", i > 0 ? ", " : "",
                                 settings->names[i]);
}

/* Nodes must remember a ticket for longer than its lock may be anywhere. */
static void settle_ticket_life(struct settings *settings)
{
    struct redlock_config *engine = &settings->options.engine;
    uint64_t ms = (uint64_t)settings->ttl_ms + engine->guard_ms + 2 * (uint64_t)engine->ticket_skew_ms;

    if (ms > engine->ticket_life_ms) engine->ticket_life_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static void settle_grace(struct settings *settings, bool was_given)
{
    uint64_t drift_ms = (uint64_t)settings->ttl_ms * settings->options.engine.drift_ppm / 1000000;
    uint32_t valid_ms = settings->ttl_ms - (uint32_t)drift_ms, quarter = valid_ms / 4;

    if (!was_given) settings->grace_ms = quarter < DEFAULT_GRACE_MS ? quarter : DEFAULT_GRACE_MS;
    if (settings->grace_ms > valid_ms / GRACE_PART)
        refuse(command_name(settings->command),
               "--grace: %u ms is more than half of the TTL (%u ms, after the drift), which leaves no time to extend the lock: "
               "make --grace shorter or --ttl longer", settings->grace_ms, valid_ms);
}

/* S11: what is left of it may be all of it, and goes out as a TTL. */
static void check_hold(const struct settings *settings)
{
    uint32_t guard_ms = settings->options.engine.guard_ms;

    if (guard_ms > 0 && settings->hold_at_least_ms > guard_ms)
        refuse(command_name(settings->command),
               "--hold-at-least: %u ms is more than the guard (%u ms), which every holder on these nodes must share: raise --guard",
               settings->hold_at_least_ms, guard_ms);
}

/* Whoever waits for longer than the period is late for it. */
static void settle_period(struct settings *settings)
{
    const char *command = command_name(settings->command);

    if (settings->once_per_ms == 0) {
        if (settings->retry_until_done) refuse(command, "--retry-until-done: of which period? --once-per is missing");
        if (settings->once_anyway)      refuse(command, "--once-anyway: of which period? --once-per is missing");
        return;
    }
    if (settings->name_count > 1) refuse(command, "--once-per: the mark of a period is one RESOURCE's: name one");
    if (settings->wait_ms > settings->once_per_ms) settings->wait_ms = settings->once_per_ms;
}

static void mend_name(char *name)
{
    for (; *name; name++)
        if (!is_of_name(*name)) *name = '?';
}

/* What people call this program: "user@host:pid". */
static void settle_name(struct settings *settings)
{
    char host[HOST_MAX] = "";
    const char *user = getenv("LOGNAME");

    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    (void)snprintf(settings->default_name, sizeof settings->default_name, "%.20s%s%.20s:%ld", user ? user : "",
                   user && user[0] != '\0' ? "@" : "", host, (long)getpid());
    mend_name(settings->default_name);
    if (!settings->as) settings->as = settings->default_name;
}

/* "user@host:pid command", cut to what there is room for. */
static void settle_holder(struct settings *settings, bool is_told)
{
    const char *slash = strrchr(settings->program[0], '/'), *program = slash ? slash + 1 : settings->program[0];
    char *to = settings->default_holder, *end = to + sizeof settings->default_holder - 1;

    for (const char *from = settings->default_name; *from && to < end; from++) *to++ = *from;
    if (to < end) *to++ = ' ';
    while (*program && to < end) *to++ = *program++;
    *to = '\0';
    mend_name(settings->default_holder);
    if (is_told && !settings->options.holder) settings->options.holder = settings->default_holder;
    if (!is_told) settings->options.holder = NULL;
}

void settings_read(struct settings *settings, enum command command, int argc, char **argv)
{
    struct syntax syntax;
    struct given given = { 0 };

    set_defaults(settings, command);
    make_syntax(&syntax, command);
    read_words(&syntax, settings, &given, argc, argv);
    login_read_nodes(settings);
    if (settings->nodes[0] == '\0')
        refuse(syntax.command, "no nodes are named: give -n HOST:PORT for each server, or set REDLOCK_NODES");
    login_read(settings, given.user, given.password_file);
    if (settings->json) settings->verbose = false;      /* Nothing is said in words then. */
    join_resources(settings);
    settle_ticket_life(settings);
    if (command_runs(command)) {
        settle_name(settings);
        settle_holder(settings, !given.no_holder);
        settle_grace(settings, given.grace);
    }
    check_hold(settings);
    settle_period(settings);
}
