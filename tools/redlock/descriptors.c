#define _GNU_SOURCE
#include "descriptors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "exit_status.h"

void occupy_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd &&
            open("/", O_RDONLY) != fd)
            exit(EXIT_TROUBLE);
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

/* A pipe that can be written takes PIPE_BUF bytes without waiting. A terminal may be halted in the
 * midst of them, and is waited for. */
size_t write_patiently(int fd, const char *bytes, size_t size, int patience_ms)
{
    struct pollfd polled = { .fd = fd, .events = POLLOUT };
    size_t used = 0;

    assert(fd >= 0);
    while (used < size) {
        size_t piece = size - used < PIPE_BUF ? size - used : PIPE_BUF;
        int ready = poll(&polled, 1, patience_ms);
        ssize_t written = ready > 0 ? write(fd, bytes + used, piece) : -1;
        if (ready == 0) errno = EAGAIN;
        if (written > 0) used += (size_t)written;
        else if (written < 0 && errno != EINTR) break;
    }
    return used;
}

bool write_all(int fd, const char *bytes, size_t size)
{
    return write_patiently(fd, bytes, size, -1) == size;
}
