#!/bin/sh
# shellcheck disable=SC2154    # Ports are set by their numbers.
# The machine sleeps. redlock's clock counts that, poll() does not. The test imitates a real suspend,
# since none is available in a test.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

what='behind a suspend that leaves seconds of the validity the lock is extended in time'
cat >"$directory/sleep.c" <<'C'
/* The clocks that count a suspend are ahead by the number of seconds in the file $SLEPT. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
    int status = (int)syscall(SYS_clock_gettime, id, now), fd;
    char text[16] = "";

    if (status != 0 || (id != CLOCK_BOOTTIME && id != CLOCK_REALTIME)) return status;
    fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("SLEPT"), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) now->tv_sec += atoi(text);
    if (fd >= 0) close(fd);
    return 0;
}
C
echo 0 >"$directory/slept"

# sleeper WORDS...: redlock in the background, on a machine that will sleep.
sleeper() { SLEPT=$directory/slept LD_PRELOAD=$directory/sleep.so "$redlock" "$@"; }

# A static redlock, and some sanitizers, know nothing of a library that comes before.
can_sleep() {
    [ "$(uname)" = Linux ] && "${CC:-cc}" -shared -fPIC -o "$directory/sleep.so" "$directory/sleep.c" 2>/dev/null || return 1
    sleeper --version >/dev/null 2>&1 && echo 7 >"$directory/slept" &&
        sleeper status --guard 0 --json -n "127.0.0.1:$port_0" slept >"$directory/out" 2>&1 && echo 0 >"$directory/slept"
}
start_servers 3

# A TTL of 30 s is extended every 10 s. A second after an extension it sleeps for 24. The lock has 5 s
# left, and poll() would wait for 9.
sleeps() {
    sleep 120 &
    script=$!
    begin $script
    is 0 acquire --guard 0 -t 30s kept || return 1
    kept=$(token)
    sleeper keep --guard 0 --trace -t 30s --pid $script kept "$kept" >"$directory/keep" 2>&1 &
    keep=$!
    begin $keep
    sleeper run --guard 0 --trace -t 30s ran -- sleep 60 >"$directory/run" 2>&1 &
    run=$!
    begin $run
    within 20 is_held ran && within 20 grep -q "extend, round" "$directory/keep" && sleep 1 || return 1
    echo 24 >"$directory/slept"
    sleep 9
    kill -0 $keep && kill -0 $run && ! grep "lost" "$directory/keep" "$directory/run" && grep -q "extend, round" "$directory/run"
    good=$?
    [ $good = 0 ] || cat "$directory/keep" "$directory/run"
    kill -TERM $run $script
    over $run
    return $good
}
if can_sleep; then check "$what" sleeps; else skip "$what" 'its clock cannot be set here'; fi
finish
