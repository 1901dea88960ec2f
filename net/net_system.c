/* The clock, the random bytes and the process. Knows no sockets.
 *
 * The clock must count the time a machine is suspended, or a lock would outlive a laptop's sleep:
 *
 *   Linux             CLOCK_BOOTTIME       counts it (CLOCK_MONOTONIC does not)
 *   macOS             CLOCK_MONOTONIC_RAW  counts it, and is never slewed
 *   OpenBSD           CLOCK_MONOTONIC      counts it
 *   FreeBSD, others   CLOCK_MONOTONIC      may not: FreeBSD has had no clock that does. Hold no
 *                                          lock over a suspend. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
/* On 32 bits fstat refuses a file whose number has more, /dev/urandom's for one. */
#define _FILE_OFFSET_BITS 64
#endif

#include "redlock_net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

#if defined(__linux__) && !defined(CLOCK_BOOTTIME)
#error "define _GNU_SOURCE before the first #include"
#endif

#if defined(__linux__)
enum { SYSTEM_CLOCK_ID = CLOCK_BOOTTIME };
#elif defined(__APPLE__)
enum { SYSTEM_CLOCK_ID = CLOCK_MONOTONIC_RAW };
#else
enum { SYSTEM_CLOCK_ID = CLOCK_MONOTONIC };
#endif

NET_API uint64_t net_now_us(void)
{
    struct timespec now;
    if (clock_gettime(SYSTEM_CLOCK_ID, &now) != 0) return UINT64_MAX;
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

NET_API uint64_t net_wall_us(void)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || now.tv_sec < 0) return 0;
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* --- Random bytes --- */

/* "shall not exceed {GETENTROPY_MAX}", which POSIX.1-2024 lets be no less. */
enum { SYSTEM_ENTROPY_MAX = 256 };

/* Opens a device of random bytes, or returns -1. A plain file in its place (a careless chroot) is
 * not random. The calls refuse a descriptor that open has not given, here and below. */
static int system_open_device(const char *path)
{
    int fd;
    struct stat status = { 0 };    /* MSan does not know that fstat of 64 bits writes. */
    do fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    while (fd < 0 && errno == EINTR);
    if (fstat(fd, &status) == 0 && S_ISCHR(status.st_mode)) return fd;
    (void)close(fd);
    return -1;
}

/* Before a kernel has gathered enough, /dev/urandom gives weak bytes; /dev/random is not readable
 * until then. */
static bool system_wait_for_seed(void)
{
    struct pollfd device = { .fd = system_open_device("/dev/random"), .events = POLLIN };
    if (device.fd < 0) return false;
    int ready;
    do ready = poll(&device, 1, -1);
    while (ready < 0 && (errno == EINTR || errno == EAGAIN));
    (void)close(device.fd);
    return (device.revents & POLLIN) != 0;
}

static bool system_read_all(int fd, unsigned char *data, size_t size)
{
    while (size > 0) {
        ssize_t taken = read(fd, data, size);
        if (taken < 0 && errno == EINTR) continue;
        if (taken <= 0) return false;
        data += taken;
        size -= (size_t)taken;
    }
    return true;
}

/* Serves a kernel before Linux 3.17, or a sandbox, without the system call. */
static bool system_entropy_from_device(unsigned char *data, size_t size)
{
    if (!system_wait_for_seed()) return false;
    int fd = system_open_device("/dev/urandom");
    bool is_full = system_read_all(fd, data, size);
    (void)close(fd);
    return is_full;
}

NET_API bool net_entropy(void *data, size_t size)
{
    unsigned char *bytes = (unsigned char *)data;
    memset(data, 0, size);    /* MSan does not know that getentropy writes. */
    while (size > 0) {
        size_t part = size < SYSTEM_ENTROPY_MAX ? size : SYSTEM_ENTROPY_MAX;
        if (getentropy(bytes, part) != 0) return system_entropy_from_device(bytes, size);
        bytes += part;
        size -= part;
    }
    return true;
}

NET_API int64_t net_process(void)
{
    return getpid();
}
