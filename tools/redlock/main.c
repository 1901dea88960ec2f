/* The command redlock: a lock on independent Redis servers, for shells, cron and containers.
 *
 * To be read in this order: options.c (what was asked for), session.c (the loop), lock_commands.c, run.c with child.c and
 * signals.c, status.c; then report.c and trace.c, which only tell. It knows the public headers of the library, and RESP for
 * the trace. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "help.h"
#include "report.h"

static int (*const command_functions[COMMAND_COUNT])(struct session *, struct settings *) = {
    [COMMAND_RUN] = run_command,
    [COMMAND_ACQUIRE] = acquire_command,
    [COMMAND_EXTEND] = extend_command,
    [COMMAND_RELEASE] = release_command,
    [COMMAND_STATUS] = status_command,
};

static int show(void (*print)(void), const char *what)
{
    print();
    return report_written(what) ? EXIT_SUCCESS : EXIT_TROUBLE;
}

/* A careless parent closes descriptors 0 to 2. The first that is opened would get their numbers: messages would go to a server,
 * or a token into a pipe of our own. What is printed on a closed stdout is still lost, and said to be: nothing can be written to
 * what is opened there. */
static void occupy_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd) exit(EXIT_TROUBLE);
    }
}

int main(int argc, char **argv)
{
    static struct settings settings;    /* Large, so not on the stack; nobody else sees them. */
    static struct session session;
    enum command command;

    occupy_descriptors();
    if (argc < 2) refuse(NULL, "a command is missing: run, acquire, extend, release or status");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return show(help_print, "the help");
    if (strcmp(argv[1], "--version") == 0) return show(version_print, "the version");
    command = command_find(argv[1]);
    if (command == COMMAND_COUNT) refuse(NULL, "'%s' is none of run, acquire, extend, release, status", argv[1]);
    settings_read(&settings, command, argc - 1, argv + 1);
    return command_functions[command](&session, &settings);
}
