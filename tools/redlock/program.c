#define _GNU_SOURCE
#include "program.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meter.h"
#include "numbers.h"
#include "options.h"
#include "print.h"
#include "text.h"

static const char help[] =
    "Usage: redlock COMMAND [OPTION]... RESOURCE ...\n"
    "A lock on independent Redis or Valkey servers, by the Redlock algorithm.\n\n"
    "  run RESOURCE -- COMMAND [ARG]...   run a command while the lock is held\n"
    "  acquire RESOURCE                   acquire the lock, print its token\n"
    "  extend RESOURCE TOKEN              start its TTL anew\n"
    "  release RESOURCE TOKEN             release it\n"
    "  keep --pid PID RESOURCE TOKEN      extend it while a process lives, then release it\n"
    "  status RESOURCE                    show who holds it, node by node\n"
    "  lead NAME -- COMMAND [ARG]...      run a command as the leader, again and again\n"
    "  leader NAME                        print the leader and its epoch\n"
    "  help COMMAND                       show its options\n"
    "By redlock-admin:\n"
    "  break RESOURCE --token TOKEN       take it from its holder\n"
    "  doctor                             look what is wrong with the nodes\n"
    "  ping                               how fast the nodes answer\n"
    "  watch RESOURCE...                  who has which lock, as it changes\n"
    "  scan [PATTERN]                     find locks that nobody ends\n"
    "  exporter                           tell Prometheus of the nodes\n\n"
    "The nodes are named by -n or by REDLOCK_NODES, separated by commas:\n"
    "  redlock run -n host1,host2,host3 backup -- ./backup.sh\n\n"
    "'redlock COMMAND --help' shows the options; 'man redlock' tells all.\n";

static const struct command_row command_rows[] = {
    { "run",
      "redlock run [OPTION]... RESOURCE [--] COMMAND [ARG]...",
      "Wait for the lock on RESOURCE, run COMMAND while it is held, release it.\n"
      "COMMAND finds REDLOCK_RESOURCE, REDLOCK_TOKEN, REDLOCK_TICKET and REDLOCK_VALID_MS in its\n"
      "environment, and of a permit REDLOCK_SLOT. Later holders have larger tickets: let what is\n"
      "locked refuse smaller ones.\n"
      "When the lock is lost, COMMAND is ended before another client can get it.",
      "that of COMMAND (128+N if signal N ended it), or\n"
      "  121  --once-per: it has run in this period already\n"
      "  122  too few nodes could vote; --once-per: or can tell whether it has run\n"
      "  123  the lock was lost, or may not be held longer, and COMMAND was ended\n"
      "  124  somebody else held the lock until --wait was over\n"
      "  125  redlock itself failed, or was called wrongly, or the nodes are set up wrongly\n"
      "  126  COMMAND cannot be executed\n"
      "  127  COMMAND was not found\n" },
    { "acquire", "redlock acquire [OPTION]... RESOURCE",
      "Acquire the lock on RESOURCE and print TOKEN:TICKET, by which it can be extended or\n"
      "released. Else it ends with the TTL. Later holders have larger tickets.",
      "0 acquired, 124 held by somebody else, 122 no quorum of nodes.\n" },
    { "extend", "redlock extend [OPTION]... RESOURCE TOKEN",
      "Start the TTL of the lock on RESOURCE that was acquired with TOKEN anew.",
      "0 extended, 123 TOKEN no longer holds it, 122 no quorum of nodes.\n" },
    { "release", "redlock release [OPTION]... RESOURCE TOKEN",
      "Release the lock on RESOURCE that was acquired with TOKEN.",
      "0 released on a quorum of nodes, 122 on fewer: they keep it until\n"
      "  its TTL ends, 123 TOKEN no longer held it.\n" },
    { "keep", "redlock keep [OPTION]... --pid PID RESOURCE TOKEN",
      "Extend the lock on RESOURCE that was acquired with TOKEN while the process PID lives, then\n"
      "release it. It is for scripts: redlock keep --pid $$ RESOURCE \"$token\" &",
      "0 released, 123 TOKEN does not hold it, or the lock was lost, 122 no\n"
      "  quorum of nodes.\n" },
    { "status", "redlock status [OPTION]... [RESOURCE]",
      "Show what each node knows of the lock on RESOURCE, and what the majority says; or list\n"
      "what is held, by redlock-admin.",
      "0 free, 124 not free, 122 too few nodes can tell, or may vote.\n" },
    { "lead", "redlock lead [OPTION]... NAME [--] COMMAND [ARG]...",
      "Wait until there is no leader of NAME, then lead: run COMMAND while the lock on NAME is\n"
      "held, and tell 'redlock leader' so. When the lead is lost, COMMAND is ended before there\n"
      "can be another leader, and redlock waits to lead again. COMMAND finds its epoch, which\n"
      "is larger than that of every leader before, in REDLOCK_TICKET.",
      "that of COMMAND (128+N if signal N ended it), or as redlock run has it.\n" },
    { "leader", "redlock leader [OPTION]... NAME",
      "Print the epoch and the name of the last leader of NAME that proclaimed itself. It says\n"
      "which leader there was; only the leader itself can know that it still leads.",
      "0 printed, 1 there is none, 122 no quorum of nodes answered.\n" },
    { NULL, NULL, NULL, NULL }
};

/* Options without a short form. */
enum {
    OPTION_GRACE = OPTION_OWN,
    OPTION_MAX_HOLD,
    OPTION_DRIFT,
    OPTION_RETRY,
    OPTION_SKEW,
    OPTION_NO_WAKE_UPS,
    OPTION_MAX_EXTENSIONS,
    OPTION_HOLD_AT_LEAST,
    OPTION_ONCE_PER,
    OPTION_RETRY_UNTIL_DONE,
    OPTION_ONCE_ANYWAY,
    OPTION_PID,
    OPTION_AS,
    OPTION_ONCE,
    OPTION_HOLDER,
    OPTION_NO_HOLDER,
    OPTION_WAIT_THROUGH_ERRORS,
    OPTION_PERMITS,
    OPTION_SHARED,
    OPTION_LOG,
    OPTION_LOG_FILE,
    OPTION_METRICS,
    OPTION_METRICS_LABEL,
    OPTION_REDISSON,
    OPTION_FAIR
};

enum {
    IN_RUN = 1 << COMMAND_RUN, IN_ACQUIRE = 1 << COMMAND_ACQUIRE, IN_EXTEND = 1 << COMMAND_EXTEND,
    IN_RELEASE = 1 << COMMAND_RELEASE, IN_KEEP = 1 << COMMAND_KEEP, IN_STATUS = 1 << COMMAND_STATUS,
    IN_LEAD = 1 << COMMAND_LEAD, IN_LEADER = 1 << COMMAND_LEADER,
    IN_PROGRAM = IN_RUN | IN_LEAD,      /* Those that run one. */
    IN_ALL = (1 << (COMMAND_LEADER + 1)) - 1,
    /* Those that act on a lock: they share one set of options. */
    IN_LOCK = IN_ALL & ~(IN_STATUS | IN_LEADER),
    IN_LOGGED = IN_LOCK & ~IN_EXTEND                /* Those by which a lock becomes another's. */
};

static const struct option_row option_rows[] = {
    OPTION_ROW_NODE(IN_ALL),
    { "resource", 'r', IN_ALL & ~(IN_STATUS | IN_LEAD | IN_LEADER), "RESOURCE",
      "instead of the word; repeated, up to 16 times: to be\nlocked all together or not at all" },
    { "resource", 'r', IN_STATUS, "RESOURCE",
      "instead of the word; may be repeated up to 16 times" },
    { "shared-resource", 's', IN_ALL & ~(IN_STATUS | IN_LEAD | IN_LEADER), "RESOURCE",
      "as -r, and this one is shared with others that ask for\nit so" },
    { "shared", OPTION_SHARED, IN_ALL & ~(IN_STATUS | IN_LEAD | IN_LEADER), NULL,
      "share the lock with others that ask for it so: a lock\nwithout it waits for all of them and "
      "keeps them out" },
    { "permits", OPTION_PERMITS, IN_RUN | IN_ACQUIRE, "NUMBER",
      "instead of the lock one of so many permits, of which\neach has one holder: 1 to 64" },
    { "permits", OPTION_PERMITS, IN_STATUS, "NUMBER",
      "show so many permits of RESOURCE, instead of a lock" },
    { "fair", OPTION_FAIR, IN_LOCK, NULL, "in strict order: nobody overtakes a waiter" },
    { "redisson", OPTION_REDISSON, IN_ALL & ~(IN_STATUS | IN_LEAD | IN_LEADER), NULL,
      "a lock that Java services share by Redisson: on one\nnode, without a ticket" },
    { "as", OPTION_AS, IN_LEAD, "TEXT",
      "what 'redlock leader' calls this leader\n(default: USER@HOST:PID)" },
    { "once", OPTION_ONCE, IN_LEAD, NULL,
      "end when the lead is lost, instead of waiting for it\nagain" },
    { "wait", 'w', IN_RUN, "DURATION",
      "how long to wait for the lock; 0: one attempt\n(default: forever)" },
    { "wait", 'w', IN_ACQUIRE, "DURATION",
      "how long to wait for the lock, or \"forever\"\n(default: 0, one attempt)" },
    { "wait-through-errors", OPTION_WAIT_THROUGH_ERRORS, IN_LOCK, NULL,
      "wait even if the nodes have errors that waiting does\nnot mend, as a wrong password" },
    OPTION_ROW_BUSY_EXIT(IN_ALL),
    { "ttl", 't', IN_RUN, "DURATION", "time to live; extended every third of it (default: 10s)" },
    { "ttl", 't', IN_LEAD, "DURATION", "time to live; extended every third of it (default: 15s)" },
    { "ttl", 't', IN_ACQUIRE | IN_EXTEND, "DURATION", "time to live (default: 10s)" },
    { "ttl", 't', IN_KEEP, "DURATION", "time to live; extended every third of it (default: 10s)" },
    { "pid", OPTION_PID, IN_KEEP, "PID",
      "extend the lock while this process lives, then release it" },
    { "grace", OPTION_GRACE, IN_PROGRAM, "DURATION",
      "between SIGTERM and SIGKILL when the lock is lost\n(default: 2s, at most half of the TTL)" },
    { "max-hold", OPTION_MAX_HOLD, IN_RUN, "DURATION",
      "end COMMAND after this time (default: no limit)" },
    { "max-extensions", OPTION_MAX_EXTENSIONS, IN_RUN, "NUMBER",
      "extend the lock so often at most, then end COMMAND\n(default: no limit)" },
    { "hold-at-least", OPTION_HOLD_AT_LEAST, IN_RUN, "DURATION",
      "leave the lock held when COMMAND has ended, until it\nhas been held for so long" },
    { "once-per", OPTION_ONCE_PER, IN_RUN, "PERIOD",
      "run COMMAND only if it has not yet run in this hour,\nday, ... (1h, 1d, ...: cut from "
      "UTC)" },
    { "retry-until-done", OPTION_RETRY_UNTIL_DONE, IN_RUN, NULL,
      "with --once-per: until it has exited with 0" },
    { "once-anyway", OPTION_ONCE_ANYWAY, IN_RUN, NULL,
      "with --once-per: rather twice than never, if servers\nrestarted within the period" },
    { "holder", OPTION_HOLDER, IN_PROGRAM | IN_ACQUIRE, "TEXT",
      "what 'redlock status' calls the holder (default of\nrun and lead: USER@HOST:PID COMMAND)" },
    { "no-holder", OPTION_NO_HOLDER, IN_PROGRAM, NULL,
      "nodes are not told which program holds the lock" },
    { "no-ticket", OPTION_NO_TICKET, (IN_LOCK | IN_STATUS) & ~IN_LEAD, NULL,
      "without a ticket: clocks need not be right" },
    { "skew", OPTION_SKEW, IN_ALL & ~IN_LEADER, "DURATION",
      "how far any two wall clocks may differ, for tickets\n(default: 10s)" },
    { "guard", OPTION_GUARD, IN_ALL, "DURATION",
      "no vote for servers that restarted less than this\nago (default: 30s; 0 for throw-away "
      "servers)" },
    { "drift", OPTION_DRIFT, IN_LOCK, "RATIO",
      "how fast a server's clock may run, as 8.4% or\n84000ppm (default: 1%)" },
    OPTION_ROW_NODE_TIMEOUT(IN_ALL),
    { "retry", OPTION_RETRY, IN_LOCK, "DURATION", "mean pause between attempts (default: 100ms)" },
    { "no-wake-ups", OPTION_NO_WAKE_UPS, IN_LOCK, NULL,
      "neither hear of releases nor tell of them, for\nservers whose ACL forbids pub/sub" },
    { "trust-unknown", OPTION_TRUST_UNKNOWN, IN_ALL, NULL,
      "servers that refuse INFO, or have no run_id, may vote" },
    OPTION_ROWS_OF_LOGIN(IN_ALL),
    { "metrics", OPTION_METRICS, IN_PROGRAM | IN_KEEP, "FILE",
      "write metrics for Prometheus (node_exporter) to FILE" },
    { "metrics-label", OPTION_METRICS_LABEL, IN_PROGRAM | IN_KEEP, "NAME=VALUE",
      "a label of these metrics; may be repeated (default:\nresource=RESOURCE)" },
    { "json", OPTION_JSON, IN_PROGRAM, NULL, "tell the result as a line of JSON on stderr" },
    OPTION_ROW_JSON(IN_ALL & ~IN_PROGRAM),
    { "log", OPTION_LOG, IN_LOGGED, "FORM",
      "tell on stderr when the lock is acquired, lost, released,\n...: a line of text or json; or "
      "tell it to syslog" },
    { "log-file", OPTION_LOG_FILE, IN_LOGGED, "FILE",
      "to the end of FILE; of syslog its socket\n(default: /dev/log)" },
    OPTION_ROW_TRACE(IN_ALL),
    { "quiet", 'q', IN_LOCK, NULL, "say nothing when somebody else holds the lock" },
    OPTION_ROWS_AT_THE_END(IN_ALL)
};

static const short often[] = {
    'n',        'r',       OPTION_SHARED,        'w',        't',         'E', OPTION_ONCE_PER,
    OPTION_PID, OPTION_AS, OPTION_PASSWORD_FILE, OPTION_LOG, OPTION_JSON, 'v', 'h',
    0
};

static const struct program redlock = {
    .name = "redlock", .help = help, .first = COMMAND_RUN, .commands = command_rows,
    .options = option_rows, .often = often
};

enum { HOST_MAX = 256 };

/* What is being read, besides the settings. */
struct words {
    struct reading r;
    struct holding *holding;
    bool has_grace, no_holder, has_metrics_label;
};

/* ---- Values ---- */

static uint32_t read_period(const struct reading *r)
{
    return reading_limited(r, "once-per", REDLOCK_PERIOD_MS_MIN, REDLOCK_PERIOD_MS_MAX, "31d");
}

static int read_pid(const struct reading *r)
{
    uint32_t number = reading_number(r, "pid");

    assert(r->argument);
    if (number == 0) refuse(r->settings, "--pid: 0 is no process");
    return (int)number;
}

static uint32_t read_wait(const struct reading *r)
{
    assert(r->argument);
    return strcmp(r->argument, "forever") == 0 ? REDLOCK_FOREVER : reading_duration(r, "wait", 0);
}

static uint8_t read_permits(const struct reading *r)
{
    uint32_t number = 0;

    assert(r->argument);
    if (count_read(r->argument, REDLOCK_PERMITS_MAX, &number) != NUMBER_OK || number == 0)
        refuse(r->settings, "--permits: '%s' is no number of permits: 1 to %d", r->argument,
               REDLOCK_PERMITS_MAX);
    return (uint8_t)number;
}

static enum log_form read_log(const struct reading *r)
{
    /* As in enum log_form, from LOG_TEXT on. */
    static const char *const forms[] = { "text", "json", "syslog" };

    assert(r->argument);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(r->argument, forms[i]) == 0) return LOG_TEXT + (enum log_form)i;
    refuse(r->settings, "--log: '%s' is none of text, json, syslog", r->argument);
}

static void add_metrics_label(const struct reading *r)
{
    char *value = strchr(r->argument, '=');

    assert(r->argument);
    if (!value) refuse(r->settings, "--metrics-label: '%s' is not NAME=VALUE", r->argument);
    if (!text_is_plain(value))
        refuse(r->settings, "--metrics-label: a value is UTF-8 without control characters");
    *value++ = '\0';
    if (!meter_add_label(r->argument, value))
        refuse(r->settings,
               "--metrics-label: '%s' is no name of a label, or redlock's own, or there already, "
               "or one of more than %d",
               r->argument, REDLOCK_LABELS_MAX);
}

static void add_resource(const struct reading *r, bool is_shared)
{
    const char *option = is_shared ? "shared-resource" : "resource";
    struct settings *settings = r->settings;

    assert(settings->name_count <= REDLOCK_SET_MAX);
    if (r->has_resource)
        refuse(settings, "--%s: name all resources by it, or the only one by a word", option);
    if (settings->name_count == REDLOCK_SET_MAX)
        refuse(settings, "--%s: '%s' is one too many: at most %d", option, r->argument,
               REDLOCK_SET_MAX);
    for (unsigned i = 0; i < settings->name_count; i++)
        if (strcmp(settings->names[i], r->argument) == 0)
            refuse(settings, "--%s: '%s' is named twice", option, r->argument);
    settings->is_shared[settings->name_count] = is_shared;
    settings_add_name(settings, r->argument);
}

static void apply_limits(const struct reading *r, int letter)
{
    struct redlock_config *engine = &r->settings->options.engine;

    switch (letter) {
    case OPTION_DRIFT:       engine->drift_ppm = reading_drift(r); break;
    case OPTION_RETRY:       engine->retry_ms = reading_hour(r, "retry"); break;
    case OPTION_NO_WAKE_UPS: engine->wake_ups = false; engine->silent = true; break;
    case OPTION_SKEW:        engine->ticket_skew_ms = reading_hour(r, "skew"); break;
    default: break;
    }
}

/* How the lock is held: of run, lead and keep. */
static void apply_holding(struct words *w, int letter)
{
    const struct reading *r = &w->r;
    struct holding *holding = w->holding;

    switch (letter) {
    case OPTION_GRACE:
        holding->grace_ms = reading_duration(r, "grace", 0);
        w->has_grace = true;
        break;
    case OPTION_MAX_HOLD:       holding->max_hold_ms = reading_duration(r, "max-hold", 1); break;
    case OPTION_MAX_EXTENSIONS:
        holding->max_extensions = reading_number(r, "max-extensions");
        break;
    case OPTION_PID:            holding->pid = read_pid(r); break;
    case OPTION_HOLD_AT_LEAST:
        holding->hold_at_least_ms = reading_duration(r, "hold-at-least", 1);
        break;
    case OPTION_RETRY_UNTIL_DONE: holding->retry_until_done = true; break;
    case OPTION_ONCE_ANYWAY:    holding->once_anyway = true; break;
    case OPTION_AS:             holding->as = reading_name(r, "as", LEADER_NAME_MAX); break;
    case OPTION_ONCE:           holding->once = true; break;
    case OPTION_NO_HOLDER:      w->no_holder = true; break;
    case OPTION_METRICS_LABEL:  add_metrics_label(r); w->has_metrics_label = true; break;
    default:                    apply_limits(r, letter); break;
    }
}

static void apply(struct words *w, int letter)
{
    struct reading *r = &w->r;
    struct settings *settings = r->settings;

    switch (letter) {
    case 'r':                  add_resource(r, false); break;
    case 's':                  add_resource(r, true); break;
    case OPTION_SHARED:        settings->shared = true; break;
    case OPTION_PERMITS:       settings->permits = read_permits(r); break;
    case OPTION_FAIR:          settings->fair = true; break;
    case OPTION_REDISSON:      settings->redisson = true; break;
    case 'w':                  settings->wait_ms = read_wait(r); break;
    case 't':                  settings->ttl_ms = reading_duration(r, "ttl", 1); break;
    case OPTION_ONCE_PER:      settings->once_per_ms = read_period(r); break;
    case OPTION_WAIT_THROUGH_ERRORS: settings->waits_through_errors = true; break;
    case OPTION_LOG:           settings->output.log = read_log(r); break;
    case OPTION_LOG_FILE:      settings->output.log_file = r->argument; break;
    case OPTION_HOLDER:
        settings->options.holder = reading_name(r, "holder", REDLOCK_HOLDER_MAX);
        break;
    case OPTION_METRICS:       settings->meter = meter_to(reading_file(r, "metrics")); break;
    case 'q':                  settings->output.quiet = true; break;
    default:                   apply_holding(w, letter); break;
    }
}

/* ---- Words ---- */

static void read_options(struct words *w)
{
    int letter;

    while ((letter = reading_option(&w->r)) != 0) apply(w, letter);
}

/* Those of redlock-admin: beside this program, or in PATH. */
static const char *const admin_words[] = {
    "break", "doctor", "ping", "scan", "exporter", "watch", NULL
};

_Noreturn static void run_admin(char **argv, const char *word)
{
    static const char end[] = "-admin";
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - sizeof end);

    assert(word[0] != '\0');
    if (size > 0) {
        memcpy(path + size, end, sizeof end);
        (void)execv(path, argv);
    }
    (void)execvp("redlock-admin", argv);
    refuse(NULL,
           "'%s' is done by redlock-admin, which cannot be run: %s ('make install' puts it beside "
           "redlock)",
           word, text_system_error(errno));
}

static bool is_of_admin(const char *word)
{
    const char *const *known = admin_words;

    while (*known && strcmp(word, *known) != 0) known++;
    return *known != NULL;
}

/* "s": the lock is shared; "f": fair; "j": with Java; "3": it is the third permit, which on the
 * nodes is the lock "RESOURCE:3". False: none of these. */
static bool read_kind(struct settings *settings, const char *kind)
{
    uint32_t slot = 0;

    assert(settings->name_count > 0);
    if (strcmp(kind, "s") == 0) {
        settings->shared = true;
        return true;
    }
    if (strcmp(kind, "f") == 0) {
        settings->fair = true;
        return true;
    }
    if (strcmp(kind, "j") == 0) {
        settings->redisson = true;
        return true;
    }
    if (count_read(kind, REDLOCK_PERMITS_MAX, &slot) != NUMBER_OK || slot == 0) return false;
    if (settings->name_count > 1 || settings->shared || settings->is_shared[0])
        refuse(settings, "the TOKEN is that of a permit, of one RESOURCE that is not shared");
    (void)print_text(settings->slot_name, sizeof settings->slot_name, "%s:%u", settings->names[0],
                     (unsigned)slot);
    settings->names[0] = settings->slot_name;
    return true;
}

/* What acquire printed: the ticket behind the token is not asked for, but the holder is part of
 * what nodes compare. */
static char *read_token(struct settings *settings, char *word)
{
    char *blank = strchr(word, ' '), *colon, *slash;

    if (blank) {
        size_t size = strlen(blank + 1);
        if (size == 0 || size > REDLOCK_HOLDER_MAX)
            refuse(settings, "TOKEN: behind its blank stands the holder, 1 to %d bytes: give all "
                             "that 'redlock acquire' printed", REDLOCK_HOLDER_MAX);
        *blank = '\0';
        settings->options.holder = blank + 1;
    }
    colon = strchr(word, ':');
    if (colon && colon[1] != '\0' && colon[1 + strspn(colon + 1, "0123456789")] == '\0')
        *colon = '\0';
    slash = strchr(word, '/');
    if (slash && read_kind(settings, slash + 1)) *slash = '\0';
    return word;
}

static bool takes_token(enum command command)
{
    return command == COMMAND_EXTEND || command == COMMAND_RELEASE || command == COMMAND_KEEP;
}

static void read_token_word(struct words *w)
{
    struct reading *r = &w->r;

    if (!reading_has_more(r))
        refuse(r->settings, "the TOKEN is missing that 'redlock acquire' printed");
    r->settings->token = read_token(r->settings, r->argv[r->next++]);
    read_options(w);
}

static void read_words(struct words *w)
{
    struct reading *r = &w->r;
    struct settings *settings = r->settings;

    assert(w->holding);
    read_options(w);
    if (settings->command == COMMAND_STATUS && settings->name_count == 0 && !reading_has_more(r))
        run_admin(r->argv - 1, "status");
    if (settings->name_count == 0) {
        reading_resource(r);
        read_options(w);
    }
    if (settings->output.runs) {
        if (!reading_has_more(r))
            refuse(settings, "a COMMAND to run is missing behind the RESOURCE");
        w->holding->program = r->argv + r->next;
        return;
    }
    if (takes_token(settings->command)) read_token_word(w);
    reading_end(r);
    if (settings->command == COMMAND_KEEP && w->holding->pid == 0)
        refuse(settings, "--pid is missing: while which process?");
}

/* ---- All of it ---- */

static void set_defaults(struct settings *settings, struct holding *holding)
{
    enum command command = settings->command;
    bool runs = settings->output.runs;

    *holding = (struct holding){ .max_extensions = UINT32_MAX };
    settings->output.has_no_ticket_option = command == COMMAND_LEAD;
    settings->ttl_ms = command == COMMAND_LEAD ? DEFAULT_LEAD_TTL_MS : DEFAULT_TTL_MS;
    settings->wait_ms = runs ? REDLOCK_FOREVER : 0;
    settings->ticket = runs || command == COMMAND_ACQUIRE || command == COMMAND_STATUS;
}

/* Nodes must remember a ticket for longer than its lock may be anywhere. */
static void set_ticket_life(struct settings *settings)
{
    struct redlock_config *engine = &settings->options.engine;
    uint64_t ms =
        (uint64_t)settings->ttl_ms + engine->guard_ms + 2 * (uint64_t)engine->ticket_skew_ms;

    assert(settings->ttl_ms > 0);
    if (ms > engine->ticket_life_ms)
        engine->ticket_life_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static void set_grace(const struct settings *settings, struct holding *holding, bool was_given)
{
    uint64_t drift_ms = (uint64_t)settings->ttl_ms * settings->options.engine.drift_ppm / 1000000;
    uint32_t valid_ms = settings->ttl_ms - (uint32_t)drift_ms, quarter = valid_ms / 4;

    if (!was_given) holding->grace_ms = quarter < DEFAULT_GRACE_MS ? quarter : DEFAULT_GRACE_MS;
    if (holding->grace_ms > valid_ms / GRACE_PART)
        refuse(settings,
               "--grace: %u ms is more than half of the TTL (%u ms, after the drift), which leaves "
               "no time to extend the lock: make --grace shorter or --ttl longer",
               holding->grace_ms, valid_ms);
}

/* S11: what is left of it may be all of it, and goes out as a TTL. */
static void check_hold(const struct settings *settings, const struct holding *holding)
{
    uint32_t guard_ms = settings->options.engine.guard_ms;

    if (guard_ms > 0 && holding->hold_at_least_ms > guard_ms)
        refuse(settings,
               "--hold-at-least: %u ms is more than the guard (%u ms), which every holder on these "
               "nodes must share: raise --guard",
               holding->hold_at_least_ms, guard_ms);
}

/* Whoever waits for longer than the period is late for it. */
static void set_period(struct settings *settings, const struct holding *holding)
{
    if (settings->once_per_ms == 0) {
        if (holding->retry_until_done)
            refuse(settings, "--retry-until-done: of which period? --once-per is missing");
        if (holding->once_anyway)
            refuse(settings, "--once-anyway: of which period? --once-per is missing");
        return;
    }
    if (settings->name_count > 1)
        refuse(settings, "--once-per: the mark of a period is one RESOURCE's: name one");
    if (settings->permits > 0 || settings->is_shared[0] || settings->redisson)
        refuse(settings, "--once-per: the mark of a period needs a lock of its own: neither "
                         "--shared, --permits nor --redisson");
    if (settings->wait_ms > settings->once_per_ms) settings->wait_ms = settings->once_per_ms;
}

static void mend_name(char *name)
{
    for (; *name; name++)
        if (!is_of_name(*name)) *name = '?';
}

/* What people call this program: "user@host:pid". */
static void set_name(struct holding *holding)
{
    char host[HOST_MAX] = "";
    const char *user = getenv("LOGNAME");

    if (!user || *user == '\0') user = getenv("USER");
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    (void)print_text(holding->default_name, sizeof holding->default_name, "%.20s%s%.20s:%ld",
                     user ? user : "", user && user[0] != '\0' ? "@" : "", host, (long)getpid());
    mend_name(holding->default_name);
    if (!holding->as) holding->as = holding->default_name;
}

/* "user@host:pid command", cut to what there is room for. */
static void set_holder(struct settings *settings, struct holding *holding, bool is_told)
{
    const char *slash = strrchr(holding->program[0], '/'),
               *program = slash ? slash + 1 : holding->program[0];
    char *to = holding->default_holder, *end = to + sizeof holding->default_holder - 1;

    assert(holding->program && holding->program[0]);
    for (const char *from = holding->default_name; *from && to < end; from++) *to++ = *from;
    if (to < end) *to++ = ' ';
    while (*program && to < end) *to++ = *program++;
    *to = '\0';
    mend_name(holding->default_holder);
    if (is_told && !settings->options.holder) settings->options.holder = holding->default_holder;
    if (!is_told) settings->options.holder = NULL;
}

/* In a set each resource has its own kind, unless all of them are shared. */
static void set_kinds(struct settings *settings)
{
    bool is_any_shared = false;

    assert(settings->name_count > 0);
    for (unsigned i = 0; i < settings->name_count; i++)
        is_any_shared |= settings->is_shared[i] |= settings->shared;
    if (settings->fair &&
        (is_any_shared || settings->permits > 0 || settings->redisson || settings->name_count > 1))
        refuse(settings, "--fair: strict order is of one RESOURCE, which is not shared, has no "
                         "permits and is not Redisson's");
    if (settings->permits == 0) return;
    if (is_any_shared) refuse(settings, "--permits: a permit has one holder, and is not shared");
    if (settings->name_count > 1 && settings->command != COMMAND_STATUS)
        refuse(settings, "--permits: of one RESOURCE: name one");
}

/* S26. What runs by default tells who it is and has a ticket, and does without both here. */
static void set_redisson(struct words *w)
{
    struct settings *settings = w->r.settings;
    bool is_one = settings->name_count == 1 && settings->permits == 0 && !settings->is_shared[0];

    if (!settings->redisson) return;
    if (!is_one)
        refuse(
            settings,
            "--redisson: of one RESOURCE, which is neither shared nor has permits: as Java has it");
    if (settings->options.holder && !takes_token(settings->command))
        refuse(
            settings,
            "--holder: a lock with Java has no room for it: who holds it is a UUID and a number");
    settings->options.holder = NULL;
    settings->ticket = false;
    w->no_holder = true;
}

static void set_output(struct settings *settings)
{
    struct output *output = &settings->output;

    if (output->log_file && !output->log)               output->log = LOG_TEXT;
    if (!output->log_file && output->log == LOG_SYSLOG) output->log_file = "/dev/log";
    output->holder = settings->options.holder;
}

static void settle(struct words *w)
{
    struct settings *settings = w->r.settings;
    struct holding *holding = w->holding;

    set_kinds(settings);
    set_redisson(w);
    set_ticket_life(settings);
    if (settings->output.runs) {
        set_name(holding);
        set_holder(settings, holding, !w->no_holder);
        set_grace(settings, holding, w->has_grace);
    }
    check_hold(settings, holding);
    set_period(settings, holding);
    set_output(settings);
    if (settings->meter) meter_set_default_label(settings->output.resource);
    else if (w->has_metrics_label)
        refuse(settings, "--metrics-label: of which metrics? --metrics is missing");
}

void program_read(struct settings *settings, struct holding *holding, int argc, char **argv)
{
    struct words w = { .holding = holding };
    const char *word;
    enum command command = reading_begin(&w.r, &redlock, settings, argc, argv, &word);

    if (command == COMMAND_NONE && is_of_admin(word)) run_admin(argv, word);
    if (command == COMMAND_NONE) reading_refuse_command(&redlock, word, admin_words);
    reading_begin_command(&w.r, command, command == COMMAND_RUN || command == COMMAND_LEAD);
    set_defaults(settings, holding);
    read_words(&w);
    reading_settle(&w.r);
    settle(&w);
}
