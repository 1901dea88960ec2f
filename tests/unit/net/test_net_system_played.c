/* The clock and the random bytes of a system that this test plays. It refuses, interrupts and gives
 * little at a time, and whatever succeeds leaves errno as a signal of before has. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif

#include "../../../net/redlock_net.h"
#include "../../tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

enum { PIECE = 100, FROM_CALL = 0xee };

/* ---- The system ---- */

struct system {
    struct timespec time;
    int clock_error;
    int calls;                      /* How often getentropy is there. */
    const char *missing, *plain;    /* A device that is not there, and one that is a plain file. */
    int first;                      /* Descriptor. 0: as where the standard input is closed. */
    int interruptions;              /* So many before each call succeeds. */
    int interruption;               /* The errno of them. */
    int poll_error, read_error;
    short revents;
    size_t readable;                /* Bytes that the device gives before it ends. */
};

static struct system played;
static struct {
    int interrupted, open;
    bool is_plain, was_bad;         /* Bad: something was closed that was not open. */
    unsigned char byte;
} seen;

static void play(struct system system)
{
    played = system;
    memset(&seen, 0, sizeof seen);
}

static int fail(int error)
{
    errno = error;
    return -1;
}

static int succeed(int result)
{
    seen.interrupted = 0;
    errno = EINTR;
    return result;
}

static bool is_interrupted(void)
{
    return seen.interrupted < played.interruptions && ++seen.interrupted > 0;
}

static int play_clock(struct timespec *now)
{
    if (played.clock_error != 0) return fail(played.clock_error);
    *now = played.time;
    return 0;
}

static int play_getentropy(void *data, size_t size)
{
    if (size > 256) return fail(EIO);
    if (played.calls-- <= 0) return fail(ENOSYS);
    memset(data, FROM_CALL, size);
    return succeed(0);
}

static int play_open(const char *path)
{
    if (is_interrupted()) return fail(EINTR);
    if (played.missing && strcmp(path, played.missing) == 0) return fail(ENOENT);
    seen.is_plain = played.plain && strcmp(path, played.plain) == 0;
    return succeed(played.first + seen.open++);
}

static bool is_open(int fd)
{
    return fd >= played.first && fd < played.first + seen.open;
}

static int play_fstat(int fd, struct stat *status)
{
    if (!is_open(fd)) return fail(EBADF);
    status->st_mode = seen.is_plain ? S_IFREG : S_IFCHR;
    return succeed(0);
}

static int play_poll(struct pollfd *device)
{
    if (is_interrupted()) return fail(played.interruption);
    if (played.poll_error != 0) return fail(played.poll_error);
    device->revents = played.revents;
    return succeed(1);
}

static ssize_t play_read(int fd, unsigned char *data, size_t size)
{
    const size_t most = size < PIECE ? size : PIECE;
    const size_t taken = most < played.readable ? most : played.readable;
    if (!is_open(fd)) return fail(EBADF);
    if (is_interrupted()) return fail(EINTR);
    if (played.read_error != 0) return fail(played.read_error);
    for (size_t i = 0; i < taken; i++) data[i] = ++seen.byte;
    played.readable -= taken;
    return succeed((int)taken);
}

static int play_close(int fd)
{
    if (fd < 0) return fail(EBADF);
    seen.was_bad |= !is_open(fd);
    seen.open--;
    return 0;
}

#define clock_gettime(id, now) play_clock(now)
#define getentropy(data, size) play_getentropy(data, size)
#define open(path, flags) play_open(path)
#define fstat(fd, status) play_fstat(fd, status)
#define poll(device, count, ms) play_poll(device)
#define read(fd, data, size) play_read(fd, data, size)
#define close(fd) play_close(fd)

#include "../../../net/net_system.c"

/* ---- The clock ---- */

TEST(both_clocks_are_read_to_the_microsecond)
{
    play((struct system){ .time = { .tv_sec = 1, .tv_nsec = 999999999 } });
    CHECK_INT(net_now_us(), 1999999);
    CHECK_INT(net_wall_us(), 1999999);
    play((struct system){ .time = { .tv_nsec = 5000 } });
    CHECK_INT(net_now_us(), 5);
    CHECK_INT(net_wall_us(), 5);
}

TEST(a_wall_clock_that_shows_a_time_before_1970_or_none_shows_0)
{
    play((struct system){ .time = { .tv_sec = -1 } });
    CHECK_INT(net_wall_us(), 0);
    play((struct system){ .time = { .tv_sec = 1 }, .clock_error = EINVAL });
    CHECK_INT(net_wall_us(), 0);
}

/* ---- Random bytes ---- */

enum { SIZE = 600, ROOM = SIZE + 8 };

static const struct system device = { .revents = POLLIN, .readable = SIZE };

/* Nothing is left open, and nothing closed twice. */
static bool is_tidy(void)
{
    return seen.open == 0 && !seen.was_bad;
}

/* So many bytes come from the call, then those of the device, one by one, and nothing behind. */
static void check_bytes(struct system system, size_t of_call)
{
    unsigned char bytes[ROOM];
    memset(bytes, 0xaa, sizeof bytes);
    play(system);
    CHECK(net_entropy(bytes, SIZE));
    CHECK(is_tidy());
    for (size_t i = 0; i < ROOM; i++)
        CHECK_INT(bytes[i], i >= SIZE ? 0xaa
                            : i < of_call
                                ? FROM_CALL
                                : (unsigned char)(i - of_call + 1));
}

TEST(random_bytes_come_from_the_call_in_pieces_that_it_takes)
{
    check_bytes((struct system){ .calls = 3 }, SIZE);
}

TEST(where_the_call_gives_none_or_no_more_the_rest_comes_from_the_device)
{
    struct system system = device;
    check_bytes(system, 0);
    system.calls = 1;
    check_bytes(system, 256);
}

TEST(signals_interrupt_no_random_bytes)
{
    struct system system = device;
    system.first = 7;
    system.interruptions = 3;
    system.interruption = EINTR;
    check_bytes(system, 0);
    system.interruption = EAGAIN;    /* It says so where a signal has nothing to do with it. */
    check_bytes(system, 0);
}

static void check_refusal(const char *trouble, struct system system)
{
    unsigned char bytes[SIZE];
    TAP_CONTEXT("%s", trouble);
    play(system);
    CHECK(!net_entropy(bytes, sizeof bytes));
    CHECK(is_tidy());
}

TEST(without_a_device_that_gives_enough_there_are_no_random_bytes_and_nothing_stays_open)
{
    struct system system = device;
    system.missing = "/dev/random";
    check_refusal("no /dev/random", system);
    system.missing = "/dev/urandom";
    check_refusal("no /dev/urandom", system);
    system = device;
    system.plain = "/dev/random";
    check_refusal("a plain file for /dev/random", system);
    system.plain = "/dev/urandom";
    check_refusal("a plain file for /dev/urandom", system);
    system = device;
    system.poll_error = ENOMEM;
    check_refusal("no memory to wait for the seed", system);
    system = device;
    system.revents = POLLERR;
    check_refusal("no seed", system);
    system = device;
    system.readable = SIZE - 1;
    check_refusal("a byte too few", system);
    system = device;
    system.read_error = EIO;
    check_refusal("a device that cannot be read", system);
}

TAP_MAIN
