#define _GNU_SOURCE
#include "descriptors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "exit_status.h"

void occupy_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd) exit(EXIT_TROUBLE);
    }
}

static bool prepare_pipe_end(int fd)
{
    return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

bool open_pipe(int ends[2])
{
    int error;

    if (pipe(ends) != 0) return false;
    if (prepare_pipe_end(ends[0]) && prepare_pipe_end(ends[1])) return true;
    error = errno;
    (void)close(ends[0]);
    (void)close(ends[1]);
    errno = error;
    return false;
}

bool write_all(int fd, const char *bytes, size_t size)
{
    assert(fd >= 0);
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno != EINTR) return false;
        if (written <= 0) continue;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}
