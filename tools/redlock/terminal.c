#define _GNU_SOURCE
#include "terminal.h"

#include <fcntl.h>
#include <unistd.h>

void terminal_open(struct terminal *terminal)
{
    *terminal = (struct terminal){ .fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) };
}

/* (A process in the background that calls tcsetpgrp is stopped by SIGTTOU, which is ignored.) */
bool terminal_give(struct terminal *terminal, pid_t group)
{
    if (terminal->fd < 0 || tcgetpgrp(terminal->fd) != getpgrp()) return false;
    terminal->is_given = terminal->is_wanted = tcsetpgrp(terminal->fd, group) == 0;
    return terminal->is_given;
}

void terminal_take(struct terminal *terminal, pid_t group)
{
    if (terminal->is_given && tcgetpgrp(terminal->fd) == group)
        (void)tcsetpgrp(terminal->fd, getpgrp());
    terminal->is_given = false;
}

void terminal_close(struct terminal *terminal)
{
    if (terminal->fd >= 0) (void)close(terminal->fd);
    terminal->fd = -1;
}
