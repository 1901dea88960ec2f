/* limit SECONDS PROGRAM WORD...: becomes the program, which SIGALRM ends when it takes longer.
 *
 * A shell acts upon a signal of its own only when a hung command is over, so the limit is the
 * command's. A shell makes its commands in the background ignore SIGINT and SIGQUIT; here
 * they do not. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    unsigned long seconds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;

    if (seconds == 0 || seconds > 3600) {
        fprintf(stderr, "usage: limit SECONDS PROGRAM WORD..., with 1 to 3600 seconds\n");
        return 2;
    }
    alarm((unsigned)seconds);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    execvp(argv[2], argv + 2);
    fprintf(stderr, "limit: %s: %s\n", argv[2], strerror(errno));
    return 127;
}
