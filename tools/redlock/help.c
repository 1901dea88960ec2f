#include "help.h"

#include <stdio.h>
#include <string.h>

enum { HELP_COLUMN = 26 };      /* Where the explanations begin. */

static const struct {
    const char *usage, *purpose, *exits;
} commands[COMMAND_COUNT] = {
    [COMMAND_RUN] = {
        "redlock run [OPTION]... RESOURCE [--] COMMAND [ARG]...\n"
        "       redlock run [OPTION]... -r RESOURCE [-r RESOURCE]... [--] COMMAND [ARG]...",
        "Wait for the lock on RESOURCE, run COMMAND while it is held, release it.\n"
        "COMMAND finds REDLOCK_RESOURCE, REDLOCK_TOKEN, REDLOCK_TICKET and REDLOCK_VALID_MS in its\n"
        "environment. Later holders have larger tickets: let what is locked refuse smaller ones.\n"
        "When the lock is lost, COMMAND is ended before another client can get it.",
        "Exit status: that of COMMAND (128+N if signal N ended it), or\n"
        "  121  --once-per: it has run in this period already\n"
        "  122  too few nodes could vote; --once-per: or can tell whether it has run\n"
        "  123  the lock was lost, or may not be held longer, and COMMAND was ended\n"
        "  124  somebody else held the lock until --wait was over\n"
        "  125  redlock itself failed, or was called wrongly, or the nodes are set up wrongly\n"
        "  126  COMMAND cannot be executed\n"
        "  127  COMMAND was not found\n"
    },
    [COMMAND_ACQUIRE] = {
        "redlock acquire [OPTION]... RESOURCE",
        "Acquire the lock on RESOURCE and print TOKEN:TICKET, by which it can be extended or\n"
        "released. Else it ends with the TTL. Later holders have larger tickets.",
        "Exit status: 0 acquired, 124 held by somebody else, 122 no quorum of nodes,\n"
        "  125 anything else; more in redlock(1).\n"
    },
    [COMMAND_EXTEND] = {
        "redlock extend [OPTION]... RESOURCE TOKEN",
        "Let the TTL of the lock on RESOURCE that was acquired with TOKEN begin anew.",
        "Exit status: 0 extended, 123 TOKEN no longer holds it, 122 no quorum of nodes,\n"
        "  125 anything else; more in redlock(1).\n"
    },
    [COMMAND_RELEASE] = {
        "redlock release [OPTION]... RESOURCE TOKEN",
        "Release the lock on RESOURCE that was acquired with TOKEN.",
        "Exit status: 0 released on a quorum of nodes, 122 on fewer: they keep it until\n"
        "  its TTL ends, 123 TOKEN no longer held it; more in redlock(1).\n"
    },
    [COMMAND_KEEP] = {
        "redlock keep [OPTION]... --pid PID RESOURCE TOKEN",
        "Extend the lock on RESOURCE that was acquired with TOKEN while the process PID lives, then\n"
        "release it. It is for scripts: redlock keep --pid $$ RESOURCE \"$token\" &",
        "Exit status: 0 released, 123 TOKEN does not hold it, or the lock was lost, 122 no\n"
        "  quorum of nodes, 125 anything else; more in redlock(1).\n"
    },
    [COMMAND_STATUS] = {
        "redlock status [OPTION]... RESOURCE",
        "Show what each node knows of the lock on RESOURCE, and what the majority says.",
        "Exit status: 0 free, 124 not free, 122 too few nodes can tell; more in redlock(1).\n"
    },
    [COMMAND_LEAD] = {
        "redlock lead [OPTION]... NAME [--] COMMAND [ARG]...",
        "Wait until there is no leader of NAME, then lead: run COMMAND while the lock on NAME is\n"
        "held, and tell 'redlock leader' so. When the lead is lost, COMMAND is ended before there\n"
        "can be another leader, and redlock waits to lead again. COMMAND finds its epoch, which\n"
        "is larger than that of every leader before, in REDLOCK_TICKET.",
        "Exit status: that of COMMAND (128+N if signal N ended it), or as redlock run has it.\n"
    },
    [COMMAND_LEADER] = {
        "redlock leader [OPTION]... NAME",
        "Print the epoch and the name of the last leader of NAME that proclaimed itself. It says\n"
        "which leader there was; only the leader itself can know that it still leads.",
        "Exit status: 0 printed, 1 there is none, 2 no quorum of nodes answered; more in\n"
        "  redlock(1).\n"
    },
};

static const char nodes_help[] =
    "Nodes: HOST  HOST:PORT  [V6]:PORT  unix:/PATH  redis://[USER[:PASSWORD]@]HOST[:PORT][/DB]\n"
    "Durations: 500ms, 10s, 1.5m, 2h, 1d.  Passwords: better from a file than in NODE.\n";

void version_print(void)
{
    (void)puts("redlock " REDLOCK_VERSION);
}

void help_print(void)
{
    (void)fputs("Usage: redlock COMMAND [OPTION]... RESOURCE ...\n"
                "A lock on independent Redis or Valkey servers, by the Redlock algorithm.\n\n"
                "  run RESOURCE -- COMMAND [ARG]...   run a command while the lock is held\n"
                "  acquire RESOURCE                   acquire the lock, print its token\n"
                "  extend RESOURCE TOKEN              let its TTL begin anew\n"
                "  release RESOURCE TOKEN             release it\n"
                "  keep --pid PID RESOURCE TOKEN      extend it while a process lives, then release it\n"
                "  status RESOURCE                    show who holds it, node by node\n"
                "  lead NAME -- COMMAND [ARG]...      run a command as the leader, again and again\n"
                "  leader NAME                        print the leader and its epoch\n"
                "  help COMMAND                       show its options\n\n"
                "The nodes are named by -n or by REDLOCK_NODES, separated by commas:\n"
                "  redlock run -n host1,host2,host3 backup -- ./backup.sh\n\n"
                "'redlock COMMAND --help' shows the options; 'man redlock' tells all.\n", stdout);
}

/* "  -n, --node NODE         help", the later lines of help below its first. */
static void print_row(const struct option_row *row)
{
    char letter[] = { '-', (char)row->letter, ',', '\0' };
    bool is_optional = row->argument && row->argument[0] == '[';
    int used = printf("  %3s --%s%s%s", row->letter < 256 ? letter : "", row->name,
                      is_optional ? "[=" : row->argument ? "=" : "", row->argument ? row->argument + is_optional : "");
    const char *line = row->help;

    if (used >= HELP_COLUMN) {
        (void)putchar('\n');
        used = 0;
    }
    while (line) {
        const char *end = strchr(line, '\n');
        (void)printf("%*s%.*s\n", HELP_COLUMN - used, "", end ? (int)(end - line) : (int)strlen(line), line);
        line = end ? end + 1 : NULL;
        used = 0;
    }
}

void help_print_command(enum command command)
{
    (void)printf("Usage: %s\n%s\n\n", commands[command].usage, commands[command].purpose);
    for (const struct option_row *row = option_rows; row->name; row++) {
        if (row->help && (row->commands & 1u << command)) print_row(row);
    }
    (void)printf("\n%s\n%s", nodes_help, commands[command].exits);
}
