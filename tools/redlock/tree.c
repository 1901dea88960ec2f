#define _GNU_SOURCE
#include "tree.h"

#ifdef __linux__

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "print.h"

void tree_adopt_orphans(void)
{
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static pid_t spared;            /* 0: none. */

void tree_spare(pid_t pid)
{
    assert(pid > 0);
    spared = pid;
}

bool tree_is_told(void)
{
    return access("/proc/thread-self/children", R_OK) == 0;     /* Since Linux 3.17: proc(5). */
}

/* Appends the numbers in a file: "17 18 ", in pieces that may end within a number. */
static size_t add_numbers(int fd, pid_t pids[], size_t count, size_t max)
{
    char piece[512];
    ssize_t size;
    pid_t number = 0;

    assert(count <= max);
    while ((size = read(fd, piece, sizeof piece)) > 0) {
        for (ssize_t i = 0; i < size; i++) {
            bool is_digit = piece[i] >= '0' && piece[i] <= '9';
            if (!is_digit && number > 0 && number != spared && count < max) pids[count++] = number;
            number = is_digit ? number * 10 + (piece[i] - '0') : 0;
        }
    }
    return count;
}

/* Appends what one thread has begun. */
static size_t add_children_of_thread(pid_t pid, const char *thread, pid_t pids[], size_t count,
                                     size_t max)
{
    char path[64];
    int fd;

    (void)print_text(path, sizeof path, "/proc/%ld/task/%.20s/children", (long)pid, thread);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return count;
    count = add_numbers(fd, pids, count, max);
    (void)close(fd);
    return count;
}

static size_t add_children(pid_t pid, pid_t pids[], size_t count, size_t max)
{
    char path[64];
    struct dirent *entry;
    DIR *threads;

    (void)print_text(path, sizeof path, "/proc/%ld/task", (long)pid);
    threads = opendir(path);
    while (threads && (entry = readdir(threads)) != NULL)
        if (entry->d_name[0] != '.')
            count = add_children_of_thread(pid, entry->d_name, pids, count, max);
    if (threads) (void)closedir(threads);
    return count;
}

/* The list is its own queue: behind a process come its children. */
size_t tree_list(pid_t pids[], size_t max)
{
    size_t count = add_children(getpid(), pids, 0, max);

    for (size_t i = 0; i < count; i++) count = add_children(pids[i], pids, count, max);
    return count;
}

#else

void tree_adopt_orphans(void)
{
}

void tree_spare(pid_t pid)
{
    (void)pid;
}

bool tree_is_told(void)
{
    return true;
}

size_t tree_list(pid_t pids[], size_t max)
{
    (void)pids;
    (void)max;
    return 0;
}

#endif
