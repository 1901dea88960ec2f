#include "program.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "../redlock/options.h"
#include "scan.h"

enum { FIX_APART_MS = 1000 };

static const char help[] =
    "Usage: redlock-admin COMMAND [OPTION]... [RESOURCE] ...\n"
    "What an operator does to locks and nodes on Redis or Valkey servers; 'redlock COMMAND' runs "
    "it, too.\n\n"
    "  break RESOURCE --token TOKEN       take a lock from its holder\n"
    "  doctor                             look what is wrong with the nodes\n"
    "  ping                               how fast the nodes answer\n"
    "  scan [PATTERN]                     what locks there are, and what is left of some\n"
    "  status                             what is held\n"
    "  exporter                           tell Prometheus of the nodes\n"
    "  watch RESOURCE...                  who has which lock, as it changes\n"
    "  help COMMAND                       show its options\n\n"
    "The nodes are named by -n or by REDLOCK_NODES, separated by commas.\n\n"
    "'redlock-admin COMMAND --help' shows the options; 'man redlock-admin' tells all.\n";

static const struct command_row command_rows[] = {
    { "break", "redlock break [OPTION]... --token TOKEN RESOURCE",
      "Take the lock on RESOURCE from its holder: remove exactly this TOKEN from all nodes, as\n"
      "'redlock status' shows it, and nothing else. It is for a holder that is dead. One that\n"
      "lives is not told: it finds out when it extends or releases, and until then, for what is\n"
      "left of its TTL, it works on BESIDE the next holder, unless what it works on refuses old\n"
      "tickets. With --wait-loss it never comes to that.",
      "0 broken, 123 TOKEN does not hold the lock, 124 --wait-loss: the holder\n"
      "  lives, 122 fewer than a quorum of nodes said that it is gone, 125 anything else.\n" },
    { "doctor", "redlock doctor [OPTION]...",
      "Look at what can make locks on these nodes unsafe, before it does: how each server is set\n"
      "up, its clock, its memory, what this user may do. It reads only, unless --write is given.\n"
      "What an ACL hides is unknown, and never well.",
      "0 all is well, 1 warnings, or something is unknown, 2 unsafe, 3 fewer\n"
      "  than a quorum of nodes can be reached, 125 wrong options; --wait: 0 another node may be\n"
      "  restarted, 1 not within the time.\n" },
    { "ping", "redlock ping [OPTION]...",
      "Show how long each node takes to answer, how far its clock is off, and what node timeout\n"
      "follows from that. It asks for the time, which every user of locks may do.",
      "0 a quorum of nodes answered, 122 fewer, 125 wrong options.\n" },
    { "scan", "redlock scan [OPTION]... [PATTERN]",
      "Go through the keys of all nodes, those that match PATTERN if there is one, and tell what\n"
      "needs somebody: locks without a TTL, splits, data in the way, TTLs over the guard; and\n"
      "what is left over, may be held, or is held on a part of the nodes alone. All that is told\n"
      "was so at two looks. Reads only, unless --fix is given: that removes what nobody holds,\n"
      "by its value, and never what may be held.",
      "0 nothing needs anybody, 1 something does, or a node could not be gone\n"
      "  through, 3 so many could not that there is no quorum of others, 125 anything else.\n" },
    { "status", "redlock status [OPTION]...",
      "List the locks that somebody has: all keys of all nodes are gone through, once. Of one\n"
      "lock 'redlock status RESOURCE' tells more.",
      "0 all are listed, 3 fewer than a quorum of nodes could be gone through,\n"
      "  125 anything else.\n" },
    { "exporter", "redlock exporter [OPTION]... --file FILE | --listen PORT | --once",
      "Ask the nodes again and again, and tell Prometheus how they are, what doctor finds and\n"
      "what scan counts: in FILE, for node_exporter's textfile collector, or over HTTP, at\n"
      "/metrics. It reads only. Alert rules and a dashboard are in share/redlock/monitoring.",
      "0 told to end; --once: written, whatever there is to tell; 125 wrong options,\n"
      "  or it could not be written.\n" },
    { "watch", "redlock watch [OPTION]... RESOURCE...",
      "Show who has the locks on up to 16 RESOURCEs, what each node knows of them, how long that\n"
      "lasts and how many wait: on a terminal as a table that is drawn again and again, elsewhere\n"
      "as a line for each change. Until a signal ends it. Reads only.",
      "128+N ended by signal N, 130 by Ctrl-C, 125 anything else.\n" },
    { NULL, NULL, NULL, NULL }
};

enum {
    DEFAULT_PINGS = 20, DEFAULT_PING_INTERVAL_MS = 100,
    /* The exporter's interval, and the least one of watch as well. */
    DEFAULT_INTERVAL_MS = 15000, INTERVAL_MS_MIN = 100,
    WATCH_INTERVAL_MS = 1000,
    DEFAULT_SCAN_INTERVAL_MS = 300000,
    CLUSTER_NAME_MAX = 64
};

/* Options without a short form. */
enum {
    OPTION_TOKEN = OPTION_OWN,
    OPTION_WAIT_LOSS,
    OPTION_QUICK,
    OPTION_WRITE,
    OPTION_STATE,
    OPTION_PREFIX,
    OPTION_CHECK_USER,
    OPTION_DRIFT,
    OPTION_SKEW,
    OPTION_COUNT,
    OPTION_INTERVAL,
    OPTION_RATE,
    OPTION_APART,
    OPTION_COUNTS,
    OPTION_HELD,
    OPTION_FIX,
    OPTION_NO_TTL,
    OPTION_YES,
    OPTION_FILE,
    OPTION_LISTEN,
    OPTION_ONCE,
    OPTION_CLUSTER,
    OPTION_PERMITS,
    OPTION_SCAN_INTERVAL,
    OPTION_KIND
};

enum {
    IN_BREAK = 1 << COMMAND_BREAK,
    IN_DOCTOR = 1 << COMMAND_DOCTOR,
    IN_PING = 1 << COMMAND_PING,
    IN_SCAN = 1 << COMMAND_SCAN,
    IN_HELD = 1 << COMMAND_HELD,
    IN_WATCH = 1 << COMMAND_WATCH,
    IN_BOTH = IN_SCAN | IN_HELD,
    IN_EXPORTER = 1 << COMMAND_EXPORTER,
    IN_JUDGING = IN_DOCTOR | IN_EXPORTER,
    IN_LOCK = IN_BREAK | IN_JUDGING | IN_BOTH | IN_WATCH,
    IN_ALL = IN_LOCK | IN_PING
};

static const struct option_row option_rows[] = {
    OPTION_ROW_NODE(IN_ALL),
    { "token", OPTION_TOKEN, IN_BREAK, "TOKEN",
      "whose lock it is: 40 hex digits, or all of the value of\nthe key" },
    { "wait-loss", OPTION_WAIT_LOSS, IN_BREAK, NULL,
      "wait until its TTL has passed; if the holder extends it\nmeanwhile it lives, and keeps it" },
    { "rate", OPTION_RATE, IN_BOTH, "NUMBER",
      "keys a second that are gone through (default: 10000;\n0: as fast as it goes)" },
    { "apart", OPTION_APART, IN_SCAN, "DURATION", "between the two looks (default: 3s)" },
    { "count", OPTION_COUNTS, IN_SCAN, NULL,
      "print how many there are of each class, and nothing\nelse" },
    { "held", OPTION_HELD, IN_SCAN, NULL, "list what is held, as 'redlock status' does" },
    { "fix", OPTION_FIX, IN_SCAN, NULL, "remove what is left over and has a TTL" },
    { "no-ttl", OPTION_NO_TTL, IN_SCAN, NULL,
      "with --fix: what has no TTL as well, each after a\nquestion" },
    { "yes", OPTION_YES, IN_SCAN, NULL, "with --no-ttl: no question" },
    OPTION_ROW_BUSY_EXIT(IN_BREAK),
    { "no-ticket", OPTION_NO_TICKET, IN_BREAK, NULL, "leave the counter of tickets as it is" },
    { "no-ticket", OPTION_NO_TICKET, IN_DOCTOR, NULL, "with --write: a lock without a ticket" },
    { "count", OPTION_COUNT, IN_PING, "NUMBER", "how often each node is asked (default: 20)" },
    { "interval", OPTION_INTERVAL, IN_PING, "DURATION",
      "from one time to the next (default: 100ms)" },
    { "write", OPTION_WRITE, IN_DOCTOR, NULL, "try a lock on a key of its own as well" },
    { "prefix", OPTION_PREFIX, IN_DOCTOR, "TEXT",
      "how the key's name begins (default: redlock:doctor:),\nfor users that may use others only" },
    { "check-user", OPTION_CHECK_USER, IN_DOCTOR, "NAME",
      "look what this user may do (default: the one of --user)" },
    { "kind", OPTION_KIND, IN_DOCTOR, "KIND",
      "look whether the user may use locks of this kind:\nshared, fair, permits or redisson "
      "(default: plain ones)" },
    { "state", OPTION_STATE, IN_DOCTOR, "FILE",
      "notice clocks that were stepped since the last run,\nwhich has left in FILE how they went" },
    { "file", OPTION_FILE, IN_EXPORTER, "FILE", "write into FILE, which is replaced as a whole" },
    { "listen", OPTION_LISTEN, IN_EXPORTER, "PORT",
      "answer HTTP on this port of the loopback; of another\naddress: ADDRESS:PORT, [V6]:PORT, or "
      "*:PORT, of all" },
    { "interval", OPTION_INTERVAL, IN_EXPORTER, "DURATION",
      "ask the nodes so often (default: 15s)" },
    { "scan-interval", OPTION_SCAN_INTERVAL, IN_EXPORTER, "DURATION",
      "count their locks, as scan does, so often (default: 5m;\n0: never)" },
    { "once", OPTION_ONCE, IN_EXPORTER, NULL,
      "ask them once; without FILE the figures are printed" },
    { "cluster", OPTION_CLUSTER, IN_EXPORTER, "NAME",
      "label all figures so, to tell several clusters of nodes\napart" },
    { "interval", OPTION_INTERVAL, IN_WATCH, "DURATION",
      "from one look to the next (default: 1s)" },
    { "permits", OPTION_PERMITS, IN_WATCH, "NUMBER",
      "show so many permits of each RESOURCE, instead of a lock" },
    { "no-ticket", OPTION_NO_TICKET, IN_WATCH, NULL,
      "locks without tickets: who may vote on these?" },
    { "guard", OPTION_GUARD, IN_WATCH, "DURATION",
      "no vote for servers that restarted less than this ago\n(default: 30s)" },
    { "wait", 'w', IN_DOCTOR, "DURATION",
      "wait until another node may be restarted: all vote,\ngive tickets, and have every lock that "
      "is held" },
    { "quick", OPTION_QUICK, IN_DOCTOR, NULL,
      "without the second look at the clocks, after 2 seconds" },
    { "guard", OPTION_GUARD, IN_BREAK, "DURATION",
      "as of redlock's commands; to break a lock takes no vote" },
    { "guard", OPTION_GUARD, IN_BOTH, "DURATION",
      "tell which TTLs are longer; a node that has restarted\nsince may have forgotten a lock "
      "(default: 30s)" },
    { "guard", OPTION_GUARD, IN_JUDGING, "DURATION",
      "judge by this guard (default: 30s; 0: the nodes forget\nnothing)" },
    { "ttl", 't', IN_JUDGING, "DURATION", "judge by locks of this TTL (default: 10s)" },
    { "drift", OPTION_DRIFT, IN_JUDGING, "RATIO", "judge by this drift of clocks (default: 1%)" },
    { "skew", OPTION_SKEW, IN_JUDGING, "DURATION", "judge by this skew of clocks (default: 10s)" },
    OPTION_ROW_NODE_TIMEOUT(IN_ALL),
    { "trust-unknown", OPTION_TRUST_UNKNOWN, IN_LOCK, NULL, "servers that refuse INFO count" },
    OPTION_ROWS_OF_LOGIN(IN_ALL),
    OPTION_ROW_JSON(IN_ALL & ~IN_EXPORTER),
    OPTION_ROW_TRACE(IN_ALL),
    OPTION_ROWS_AT_THE_END(IN_ALL)
};

static const short often[] = { 'n',
                               OPTION_WRITE,
                               OPTION_CHECK_USER,
                               OPTION_KIND,
                               OPTION_STATE,
                               OPTION_QUICK,
                               'w',
                               OPTION_COUNTS,
                               OPTION_HELD,
                               OPTION_FIX,
                               OPTION_NO_TTL,
                               OPTION_YES,
                               OPTION_FILE,
                               OPTION_LISTEN,
                               OPTION_INTERVAL,
                               OPTION_SCAN_INTERVAL,
                               OPTION_ONCE,
                               OPTION_CLUSTER,
                               OPTION_PASSWORD_FILE,
                               OPTION_JSON,
                               'v',
                               'h',
                               0 };

static const struct program admin = {
    .name = "redlock-admin", .help = help, .first = COMMAND_BREAK, .commands = command_rows,
    .options = option_rows, .often = often
};

/* What is being read. */
struct words {
    struct reading r;
    struct wishes *wishes;
};

static void set_defaults(struct settings *settings, struct wishes *wishes)
{
    settings->ticket = settings->command != COMMAND_SCAN && settings->command != COMMAND_HELD;
    settings->ttl_ms = DEFAULT_TTL_MS;
    *wishes = (struct wishes){ .count = DEFAULT_PINGS };
    wishes->interval_ms =
        settings->command == COMMAND_WATCH ? WATCH_INTERVAL_MS : DEFAULT_PING_INTERVAL_MS;
    wishes->exporter.interval_ms = DEFAULT_INTERVAL_MS;
    wishes->exporter.scan_interval_ms = DEFAULT_SCAN_INTERVAL_MS;
    wishes->scan.rate = SCAN_RATE;
    wishes->scan.apart_ms = SCAN_APART_MS;
}

static uint32_t read_count(const struct reading *r)
{
    uint32_t number = reading_number(r, "count");

    if (number == 0 || number > PINGS_MAX)
        refuse(r->settings, "--count: '%s' is none of 1 to %d", r->argument, PINGS_MAX);
    return number;
}

static uint32_t read_interval(const struct reading *r)
{
    return reading_duration(r, "interval",
                            r->settings->command == COMMAND_PING ? 1 : INTERVAL_MS_MIN);
}

static uint8_t read_permits(const struct reading *r)
{
    uint32_t number = reading_number(r, "permits");

    if (number == 0 || number > REDLOCK_PERMITS_MAX)
        refuse(r->settings, "--permits: '%s' is no number of permits: 1 to %d", r->argument,
               REDLOCK_PERMITS_MAX);
    return (uint8_t)number;
}

static void read_kind(const struct reading *r)
{
    struct settings *settings = r->settings;
    const char *kind = r->argument;

    settings->shared = strcmp(kind, "shared") == 0;
    settings->fair = strcmp(kind, "fair") == 0;
    settings->permits = strcmp(kind, "permits") == 0;
    settings->redisson = strcmp(kind, "redisson") == 0;
    if (!settings->shared && !settings->fair && settings->permits == 0 && !settings->redisson)
        refuse(settings, "--kind: '%s' is none of shared, fair, permits, redisson", kind);
}

static void apply_scan(struct words *w, int letter)
{
    struct scan_wishes *scan = &w->wishes->scan;

    switch (letter) {
    case OPTION_RATE:   scan->rate = reading_number(&w->r, "rate"); break;
    case OPTION_APART:  scan->apart_ms = reading_duration(&w->r, "apart", 1); break;
    case OPTION_COUNTS: scan->only_counts = true; break;
    case OPTION_HELD:   scan->only_held = true; break;
    case OPTION_FIX:    scan->fix = true; break;
    case OPTION_NO_TTL: scan->no_ttl = true; break;
    case OPTION_YES:    scan->yes = true; break;
    default: break;
    }
}

static void apply_exporter(struct words *w, int letter)
{
    struct exporter_wishes *exporter = &w->wishes->exporter;
    const struct reading *r = &w->r;

    switch (letter) {
    case OPTION_INTERVAL:
        exporter->interval_ms = reading_duration(r, "interval", INTERVAL_MS_MIN);
        break;
    case OPTION_FILE:          exporter->file = reading_file(r, "file"); break;
    case OPTION_LISTEN:        exporter->listen = r->argument; break;
    case OPTION_ONCE:          exporter->once = true; break;
    case OPTION_SCAN_INTERVAL:
        exporter->scan_interval_ms = reading_duration(r, "scan-interval", 0);
        break;
    case OPTION_CLUSTER: exporter->cluster = reading_name(r, "cluster", CLUSTER_NAME_MAX); break;
    default: break;
    }
}

static void apply_doctor(struct words *w, int letter)
{
    struct doctor_wishes *doctor = &w->wishes->doctor;
    const struct reading *r = &w->r;

    switch (letter) {
    case OPTION_WRITE:      doctor->tries = true; break;
    case OPTION_PREFIX:     doctor->prefix = r->argument; break;
    case OPTION_CHECK_USER: doctor->check_user = r->argument; break;
    case OPTION_KIND:       doctor->kind = r->argument; read_kind(r); break;
    case OPTION_STATE:      doctor->state_file = reading_file(r, "state"); break;
    case OPTION_QUICK:      doctor->quick = true; break;
    default: break;
    }
}

/* What is left is one command's own. */
static void apply_own(struct words *w, int letter)
{
    switch (w->r.settings->command) {
    case COMMAND_DOCTOR:   apply_doctor(w, letter); break;
    case COMMAND_EXPORTER: apply_exporter(w, letter); break;
    case COMMAND_SCAN:
    case COMMAND_HELD:     apply_scan(w, letter); break;
    default: break;
    }
}

static void apply(struct words *w, int letter)
{
    struct reading *r = &w->r;
    struct settings *settings = r->settings;

    switch (letter) {
    case OPTION_TOKEN:     settings->token = r->argument; break;
    case OPTION_WAIT_LOSS: w->wishes->waits_for_loss = true; break;
    case OPTION_COUNT:     w->wishes->count = read_count(r); break;
    case OPTION_PERMITS:   settings->permits = read_permits(r); break;
    case 'w':              settings->wait_ms = reading_duration(r, "wait", 1); break;
    case 't':              settings->ttl_ms = reading_duration(r, "ttl", 1); break;
    case OPTION_DRIFT:     settings->options.engine.drift_ppm = reading_drift(r); break;
    case OPTION_SKEW:      settings->options.engine.ticket_skew_ms = reading_hour(r, "skew"); break;
    case OPTION_INTERVAL:
        if (settings->command == COMMAND_EXPORTER) apply_exporter(w, letter);
        else                                       w->wishes->interval_ms = read_interval(r);
        break;
    default: apply_own(w, letter); break;
    }
}

/* The token is as it was shown by status, where it may have been cut, or by acquire, where the kind
 * of lock and the ticket stand before the holder. */
static void trim_token(char *token)
{
    size_t digits = strspn(token, "0123456789abcdef");
    char *rest = token + digits, *holder = strchr(rest, ' ');

    if (digits != REDLOCK_TOKEN_TEXT || *rest == '\0') return;
    if (holder && strchr("/:", *rest)) memmove(rest, holder, strlen(holder) + 1);
    else if (strchr("/:.,", *rest))    *rest = '\0';
}

/* ---- What stands behind a command's name, and what follows from it ---- */

static void read_options(struct words *w)
{
    int letter;

    while ((letter = reading_option(&w->r)) != 0) apply(w, letter);
}

static void read_resource(struct words *w)
{
    reading_resource(&w->r);
    read_options(w);
}

static void read_pattern(struct words *w)
{
    struct reading *r = &w->r;

    if (!reading_has_more(r)) return;
    w->wishes->scan.pattern = r->argv[r->next++];
    read_options(w);
}

static void read_resources(struct words *w)
{
    do {
        if (w->r.settings->name_count == REDLOCK_SET_MAX)
            refuse(w->r.settings, "at most %d RESOURCEs", REDLOCK_SET_MAX);
        read_resource(w);
    } while (reading_has_more(&w->r));
}

static void read_words(struct words *w)
{
    read_options(w);
    switch (w->r.settings->command) {
    case COMMAND_BREAK: read_resource(w); break;
    case COMMAND_SCAN:  read_pattern(w); break;
    case COMMAND_WATCH: read_resources(w); break;
    default: break;
    }
    reading_end(&w->r);
}

static void settle_break(const struct settings *settings)
{
    if (!settings->token || settings->token[0] == '\0')
        refuse(settings,
               "--token is missing: a lock is never broken by its name alone; 'redlock status %s' "
               "shows its token",
               settings->names[0]);
    trim_token(settings->token);
}

/* A value is removed after two looks, so far apart that no attempt of a client that lives can be
 * under way. */
static void settle_scan(const struct settings *settings, const struct scan_wishes *scan)
{
    if (scan->fix + scan->only_counts + scan->only_held > 1)
        refuse(settings, "of --fix, --count and --held give one");
    if (scan->no_ttl && !scan->fix)
        refuse(settings, "--no-ttl: of what --fix removes; --fix is missing");
    if (scan->yes && !scan->no_ttl)     refuse(settings, "--yes: only --fix --no-ttl asks");
    if (scan->fix && scan->apart_ms < FIX_APART_MS)
        refuse(settings,
               "--apart: with --fix at least 1 s, and longer than any client's attempt takes");
    if (scan->no_ttl && !scan->yes && (settings->output.json || !isatty(STDIN_FILENO)))
        refuse(settings,
               "--no-ttl asks before it removes anything, which takes a terminal; or give --yes");
}

/* It waits for the conditions that clients need, and looks at nothing else. */
static void settle_doctor(const struct settings *settings, const struct doctor_wishes *doctor)
{
    bool has_more = doctor->tries || doctor->quick || doctor->state_file || doctor->check_user ||
                    doctor->prefix || doctor->kind;

    if (settings->wait_ms > 0 && has_more)
        refuse(settings, "--wait looks at votes and locks alone: without --write, --quick, "
                         "--state, --check-user, --kind and "
                         "--prefix");
    if (doctor->kind && doctor->tries)
        refuse(settings, "--kind and --write do not go together: what it tries is a plain lock");
}

static void settle_exporter(const struct settings *settings, const struct exporter_wishes *exporter)
{
    if (exporter->once && exporter->listen)
        refuse(settings, "--once and --listen do not go together: nobody could ask in time");
    if (!exporter->once && !exporter->file && !exporter->listen)
        refuse(settings, "where to? give --file FILE, --listen PORT, or both; or --once to have "
                         "the figures printed");
    if (exporter->file && exporter->file[0] == '\0') refuse(settings, "--file: the name is empty");
}

static void settle(struct words *w)
{
    const struct settings *settings = w->r.settings;

    switch (settings->command) {
    case COMMAND_BREAK:    settle_break(settings); break;
    case COMMAND_DOCTOR:   settle_doctor(settings, &w->wishes->doctor); break;
    case COMMAND_SCAN:     settle_scan(settings, &w->wishes->scan); break;
    case COMMAND_HELD:     w->wishes->scan.only_held = true; break;
    case COMMAND_EXPORTER: settle_exporter(settings, &w->wishes->exporter); break;
    default: break;
    }
}

void program_read(struct settings *settings, struct wishes *wishes, int argc, char **argv)
{
    struct words w = { .wishes = wishes };
    const char *word;
    enum command command = reading_begin(&w.r, &admin, settings, argc, argv, &word);

    if (command == COMMAND_NONE) reading_refuse_command(&admin, word, NULL);
    assert(command >= COMMAND_BREAK);
    reading_begin_command(&w.r, command, false);
    set_defaults(settings, wishes);
    read_words(&w);
    reading_settle(&w.r);
    settle(&w);
}
