/* The command redlock: a lock on independent Redis servers, for shells, cron and containers.
 *
 * To be read in this order: options.c (what was asked for), session.c (the loop), lock_commands.c, run.c with guardian.c (and
 * ward.c, tree.c, child.c, terminal.c, signals.c below it), status.c; then report.c and trace.c, which only tell. It knows the
 * public headers of the library. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"

static int (*const command_functions[COMMAND_COUNT])(struct session *, struct settings *) = {
    [COMMAND_RUN] = run_command,
    [COMMAND_ACQUIRE] = acquire_command,
    [COMMAND_EXTEND] = extend_command,
    [COMMAND_RELEASE] = release_command,
    [COMMAND_KEEP] = keep_command,
    [COMMAND_STATUS] = status_command,
    [COMMAND_LEAD] = lead_command,
    [COMMAND_LEADER] = leader_command,
};

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
    command = command_read(argc, argv);
    settings_read(&settings, command, argc - 1, argv + 1);
    return command_functions[command](&session, &settings);
}
