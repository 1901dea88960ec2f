/* See counter.h. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700

#include "counter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* Digits of any uint64_t, always all of them, so a write replaces the old number in one go. */
enum { DIGITS = 20 };

/* Without its file nobody could judge anything, so the run has failed. */
static void insist(int good, const char *what)
{
    if (good) return;
    perror(what);
    _exit(2);
}

struct counter counter_open(const char *path)
{
    return (struct counter){ open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) };
}

void counter_enter(struct counter c)
{
    int status;
    while ((status = flock(c.fd, LOCK_EX)) < 0 && errno == EINTR) {}
    insist(status == 0, "flock");
}

void counter_leave(struct counter c)
{
    insist(flock(c.fd, LOCK_UN) == 0, "flock");
}

uint64_t counter_get(struct counter c)
{
    char text[DIGITS + 1] = "";
    ssize_t size = pread(c.fd, text, DIGITS, 0);
    insist(size == DIGITS || size == 0, "reading a counter");
    return strtoull(text, NULL, 10);
}

void counter_set(struct counter c, uint64_t value)
{
    char text[DIGITS + 2];
    snprintf(text, sizeof text, "%0*" PRIu64 "\n", (int)DIGITS, value);
    insist(pwrite(c.fd, text, DIGITS + 1, 0) == DIGITS + 1, "writing a counter");
}
