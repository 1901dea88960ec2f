/* The command redlock: a lock on independent Redis servers, for shells, cron and containers.
 *
 * To be read in this order: program.c with options.c (what was asked for), session.c (the loop), lock_commands.c, run.c with
 * guardian.c (and ward.c, tree.c, child.c, terminal.c, signals.c below it), view.c with status.c; then report.c (and
 * rights.c below it), log.c and trace.c, which only tell.
 * It knows the public headers of the library. */
#include "commands.h"
#include "descriptors.h"
#include "meter.h"
#include "report.h"
#include "writer.h"

/* Holders and waiters must not wait until their words are read (S29). */
static bool needs_writer(enum command command)
{
    return command != COMMAND_STATUS && command != COMMAND_LEADER;
}

static int begin_writer(const struct settings *settings)
{
    int error = writer_begin(settings);

    if (error) report_system(settings, "the process that writes", error);
    return error;
}

static int (*const command_functions[])(struct session *, struct settings *) = {
    [COMMAND_RUN] = run_command,
    [COMMAND_ACQUIRE] = acquire_command,
    [COMMAND_EXTEND] = extend_command,
    [COMMAND_RELEASE] = release_command,
    [COMMAND_KEEP] = keep_command,
    [COMMAND_STATUS] = status_command,
    [COMMAND_LEAD] = lead_command,
    [COMMAND_LEADER] = leader_command,
};

int main(int argc, char **argv)
{
    static struct settings settings;    /* Large, so not on the stack; nobody else sees them. */
    static struct session session;
    enum command command;
    int code;

    occupy_descriptors();
    command = command_read(&settings, argc, argv);
    settings_read(&settings, command, argc - 1, argv + 1);
    if (needs_writer(command) && begin_writer(&settings) != 0) return EXIT_TROUBLE;
    code = command_functions[command](&session, &settings);
    if (settings.meter) settings.meter->leave(code);
    writer_end();
    return code;
}
