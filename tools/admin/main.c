/* The command redlock-admin: what an operator does to locks and nodes, beside redlock, which runs it for the words that it knows.
 *
 * It shares with redlock how a command line is read (program.c, options.c), the session and the reports: see tools/redlock/main.c.
 * What it has of its own is linked into redlock-admin alone. */
#include "../redlock/descriptors.h"
#include "admin.h"

int main(int argc, char **argv)
{
    static struct settings settings;
    static struct session session;

    occupy_descriptors();
    settings_read(&settings, command_read(argc, argv), argc - 1, argv + 1);
    return break_command(&session, &settings);
}
