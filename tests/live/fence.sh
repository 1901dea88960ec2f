# shellcheck shell=sh disable=SC2154    # What lib.sh defines.
# Shared by the tests of fencing. Use: . tests/live/fence.sh; make $directory/write, write_bare, stored;
# check_the_store; finish
#
# Three programs are a store to these tests. They are programs that a user would write, and are given
# $STORE and $REDLOCK_TICKET:
#     write TEXT         puts the text into the store, unless that has seen a larger ticket; prints 1, or 0: refused
#     write_bare TEXT    the same without a ticket; prints 1
#     stored             prints the text
. tests/live/lib.sh

start_servers 3
library=${BUILD:-build}/libredlock.a
: "${CC:=cc}"

# holder [--pause] COMMAND...: acquires a lock of 300 ms with a ticket, and becomes the command. With --pause it falls asleep in
# between, as any process may.
cat >"$directory/holder.c" <<'END_OF_C'
#define _POSIX_C_SOURCE 200809L
#include "redlock/redlock_client.h"
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t wall_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
    static struct redlock_client client;
    static struct redlock_lock lock;
    bool pause = argc > 1 && strcmp(argv[1], "--pause") == 0;
    struct redlock_request request = { .resource = "account", .resource_size = 7, .ttl_ms = 300, .wait_ms = 20000,
                                       .ticket = true, .wall_us = wall_us() };
    struct redlock_options options;
    enum redlock_status status;
    char ticket[24];

    redlock_options_init(&options);
    options.engine.guard_ms = 0;    /* The servers started just now. */
    options.engine.retry_ms = 20;
    status = redlock_open(&client, getenv("REDLOCK_NODES"), &options, NULL);
    redlock_lock_init(&lock);
    if (status == REDLOCK_OK) status = redlock_acquire_request(&client, &lock, &request);
    if (status != REDLOCK_OK) {
        fprintf(stderr, "holder: %s\n", redlock_status_text(status));
        return 125;
    }
    snprintf(ticket, sizeof ticket, "%" PRIu64, redlock_ticket(&lock));
    setenv("REDLOCK_TICKET", ticket, 1);
    if (pause) raise(SIGSTOP);
    execvp(argv[pause ? 2 : 1], argv + (pause ? 2 : 1));
    return 127;
}
END_OF_C

compile_holder() {
    # shellcheck disable=SC2086    # Flags are several words.
    $CC -std=c11 -Wall -Wextra -Werror ${SANITIZE:+-fsanitize=$SANITIZE} -I. -o "$directory/holder" "$directory/holder.c" \
        "$library"
}

# program NAME: makes a program of its input.
program() {
    cat >"$directory/$1"
    chmod 755 "$directory/$1"
}

# The holder is paused until its lock has ended, the next one has acquired and written, and writes then.
# The fate of the late write is in $directory/late, as 1 or 0.
is_overtaken() {
    "$limit" $limit_s "$directory/holder" --pause "$directory/$1" 'the paused one' >"$directory/late" 2>&1 &
    paused=$!
    begin $paused
    within 10 is_stopped $paused || return 1
    "$directory/holder" "$directory/$1" 'the next one' >"$directory/next"
    kill -CONT $paused
    over $paused
    contains next 1
}

contains() {
    [ "$(cat "$directory/$1")" = "$2" ] || { echo "$1 is not $2:"; cat "$directory/$1"; return 1; }
}
has_stored() {
    "$directory/stored" >"$directory/text"
    contains text "$1"
}

writes_twice() {
    program twice <<END
#!/bin/sh
"$directory/write" one && "$directory/write" another
END
    "$directory/holder" "$directory/twice" >"$directory/both"
    contains both "$(printf '1\n1')" && has_stored another
}

check_the_store() {
    check 'the holder compiles' compile_holder
    check 'one holder may write twice' writes_twice
    check 'a paused holder is overtaken by the next one, who writes' is_overtaken write
    check 'the late write is refused' contains late 0
    check 'what the next holder wrote stays' has_stored 'the next one'
    check 'without tickets a paused holder is overtaken as well' is_overtaken write_bare
    check 'the same late write gets through' contains late 1
    check 'what the next holder wrote is gone' has_stored 'the paused one'
}
