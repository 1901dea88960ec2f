/* The command redlock-admin. It has the commands of an operator for locks and nodes, beside
 * redlock, which runs it for the words that it knows.
 *
 * It shares with redlock the reading of a command line (program.c, options.c), the session and the
 * reports, see tools/redlock/main.c. Its own files are linked into redlock-admin alone. */
#include "../redlock/descriptors.h"
#include "program.h"

static int run(struct session *session, struct settings *settings, const struct wishes *wishes)
{
    switch (settings->command) {
    case COMMAND_BREAK:    return break_command(session, settings, wishes->waits_for_loss);
    case COMMAND_DOCTOR:   return doctor_command(session, settings, &wishes->doctor);
    case COMMAND_PING: return ping_command(session, settings, wishes->count, wishes->interval_ms);
    case COMMAND_EXPORTER: return exporter_command(session, settings, &wishes->exporter);
    case COMMAND_WATCH:    return watch_command(session, settings, wishes->interval_ms);
    default:               return scan_command(session, settings, &wishes->scan);
    }
}

int main(int argc, char **argv)
{
    static struct settings settings;
    static struct session session;
    struct wishes wishes;

    occupy_descriptors();
    program_read(&settings, &wishes, argc, argv);
    return run(&session, &settings, &wishes);
}
