#define _GNU_SOURCE
#include "replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = PATH_MAX + 16 };

bool is_replaceable(const char *path)
{
    struct stat status;

    return lstat(path, &status) != 0 || S_ISREG(status.st_mode);
}

static bool write_beside(const char *path, bool (*write)(void *context, int fd), void *context)
{
    int fd, error;
    bool is_written;

    (void)unlink(path);         /* Of another process with this number. */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return false;
    is_written = write(context, fd);
    error = errno;
    if (close(fd) != 0 && is_written) return false;
    errno = error;
    return is_written;
}

static bool write_and_rename(const char *path, bool (*write)(void *context, int fd), void *context)
{
    char beside[PATH_BYTES];
    int error;

    if (snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid()) >= (int)sizeof beside) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (write_beside(beside, write, context) && rename(beside, path) == 0) return true;
    error = errno;
    (void)unlink(beside);
    errno = error;
    return false;
}

bool replace_file(const char *path, bool (*write)(void *context, int fd), void *context)
{
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);    /* A limit on the size of files is an error like others. */
    bool is_replaced = write_and_rename(path, write, context);
    int error = errno;

    (void)signal(SIGXFSZ, was);
    errno = error;
    return is_replaced;
}
