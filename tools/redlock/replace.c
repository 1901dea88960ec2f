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

/* 0, or an errno. */
static int write_beside(const char *path, bool (*write)(void *context, int fd), void *context)
{
    int fd, error;

    (void)unlink(path);         /* Of another process with this number. */
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return errno;
    error = write(context, fd) ? 0 : errno;
    return close(fd) != 0 && !error ? errno : error;
}

bool replace_file(const char *path, bool (*write)(void *context, int fd), void *context)
{
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);    /* A limit on the size of files is an error like others. */
    char beside[PATH_BYTES];
    int error = ENAMETOOLONG;

    if (snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid()) < (int)sizeof beside) {
        error = write_beside(beside, write, context);
        if (!error && rename(beside, path) != 0) error = errno;
        if (error) (void)unlink(beside);
    }
    (void)signal(SIGXFSZ, was);
    errno = error;
    return !error;
}
