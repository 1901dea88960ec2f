#define _GNU_SOURCE
#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "options.h"

void occupy_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd) exit(EXIT_TROUBLE);
    }
}
