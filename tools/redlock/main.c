/* The command redlock: a lock on independent Redis servers, for shells, cron and containers.
 *
 * To be read in this order: program.c with options.c (what was asked for: settings.h), session.c
 * (the loop), lock_commands.c, run.c with guardian.c (and ward.c, tree.c, child.c, terminal.c,
 * signals.c below it), view.c with status.c; then output.c, report.c (and rights.c below it), log.c
 * and trace.c, which only tell.
 * It knows the public headers of the library. */
#include "commands.h"

#include <assert.h>
#include "descriptors.h"
#include "exit_status.h"
#include "meter.h"
#include "program.h"
#include "writer.h"

/* Holders and waiters must not wait until their words are read (S29). */
static bool needs_writer(enum command command)
{
    assert(command < COMMAND_BREAK);
    return command != COMMAND_STATUS && command != COMMAND_LEADER;
}

static int begin_writer(const struct settings *settings)
{
    int error = writer_begin(settings);

    if (error) output_system_failure("the process that writes", error);
    return error;
}

static int run(struct session *session, struct settings *settings, struct holding *holding)
{
    assert(settings->command < COMMAND_BREAK);
    switch (settings->command) {
    case COMMAND_RUN:     return run_command(session, settings, holding);
    case COMMAND_ACQUIRE: return acquire_command(session, settings);
    case COMMAND_EXTEND:  return extend_command(session, settings);
    case COMMAND_RELEASE: return release_command(session, settings);
    case COMMAND_KEEP:    return keep_command(session, settings, holding->pid);
    case COMMAND_STATUS:  return status_command(session, settings);
    case COMMAND_LEAD:    return lead_command(session, settings, holding);
    default:              return leader_command(session, settings);
    }
}

int main(int argc, char **argv)
{
    static struct settings settings;    /* Large, so not on the stack; nobody else sees them. */
    static struct holding holding;
    static struct session session;
    int code;

    occupy_descriptors();
    program_read(&settings, &holding, argc, argv);
    if (needs_writer(settings.command) && begin_writer(&settings) != 0) return EXIT_TROUBLE;
    code = run(&session, &settings, &holding);
    if (settings.meter) settings.meter->leave(code);
    writer_end();
    return code;
}
