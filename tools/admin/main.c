/* The command redlock-admin. It has the commands of an operator for locks and nodes, beside redlock,
 * which runs it for the words that it knows.
 *
 * It shares with redlock the reading of a command line (program.c, options.c), the session and the
 * reports, see tools/redlock/main.c. Its own files are linked into redlock-admin alone. */
#include "../redlock/descriptors.h"
#include "admin.h"

/* The order is that of the commands after COMMAND_BREAK. */
static int (*const command_functions[])(struct session *, struct settings *) = {
    [0] = break_command,
    [COMMAND_DOCTOR - COMMAND_BREAK] = doctor_command,
    [COMMAND_PING - COMMAND_BREAK] = ping_command,
    [COMMAND_SCAN - COMMAND_BREAK] = scan_command,
    [COMMAND_HELD - COMMAND_BREAK] = scan_command,
    [COMMAND_EXPORTER - COMMAND_BREAK] = exporter_command,
    [COMMAND_WATCH - COMMAND_BREAK] = watch_command,
};

int main(int argc, char **argv)
{
    static struct settings settings;
    static struct session session;
    enum command command;

    occupy_descriptors();
    command = command_read(&settings, argc, argv);
    settings_read(&settings, command, argc - 1, argv + 1);
    return command_functions[command - COMMAND_BREAK](&session, &settings);
}
