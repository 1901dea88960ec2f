#define _GNU_SOURCE
#include "replace.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "print.h"

enum { PATH_BYTES = PATH_MAX + 32 };

bool is_replaceable(const char *path)
{
    struct stat status;

    return lstat(path, &status) != 0 || S_ISREG(status.st_mode);
}

/* 0, or an errno. A file system that has no way to do so makes no promise: EINVAL. */
static int write_all_of_it(int fd, bool (*write)(void *context, int fd), void *context)
{
    int error = write(context, fd) && (fsync(fd) == 0 || errno == EINVAL) ? 0 : errno;

    return close(fd) != 0 && !error ? errno : error;
}

/* Of containers that share a folder several processes may have this number. */
static bool name_beside(char *beside, size_t size, const char *path)
{
    struct timespec now;

    assert(size > 0);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return print_text(beside, size, "%s.%ld.%ld", path, (long)getpid(), now.tv_nsec) < (int)size;
}

static int replace(const char *path, bool (*write)(void *context, int fd), void *context)
{
    char beside[PATH_BYTES];
    int fd, error;

    if (!name_beside(beside, sizeof beside, path)) return ENAMETOOLONG;
    fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) return errno;
    error = write_all_of_it(fd, write, context);
    if (!error && rename(beside, path) != 0) error = errno;
    if (error) (void)unlink(beside);
    return error;
}

bool replace_file(const char *path, bool (*write)(void *context, int fd), void *context)
{
    /* A limit on the size of files is an error like others. */
    void (*was)(int) = signal(SIGXFSZ, SIG_IGN);
    int error = replace(path, write, context);

    assert(path && write);
    (void)signal(SIGXFSZ, was);
    errno = error;
    return !error;
}
