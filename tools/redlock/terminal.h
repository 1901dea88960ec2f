/* The terminal, if there is one: it stays with redlock's own process group, so that what the
 * keyboard sends (SIGINT, SIGTSTP) comes to the script around it as well, and is passed on. Only
 * when the command wants to read from the terminal it is given it, as a shell would. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>

struct terminal {
    int fd;             /* Of the terminal that controls both, or -1. */
    bool is_given;      /* The command was given it, */
    bool is_wanted;     /* and gets it again when both were stopped and go on. */
};

void terminal_open(struct terminal *terminal);

/* Gives the terminal to a process group, if it is this program's to give. */
bool terminal_give(struct terminal *terminal, pid_t group);

/* Takes it back, if that group has it. */
void terminal_take(struct terminal *terminal, pid_t group);

void terminal_close(struct terminal *terminal);

#endif
