#!/bin/sh
# redlock run as the first process of a container reaps, passes signals on, and needs no init above it.
# shellcheck disable=SC2016    # The expressions are perl's, and those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

# That of BusyBox knows no --kill-child.
if ! unshare --pid --fork --mount-proc --kill-child true 2>/dev/null; then
    for rule in 'zombies' 'orphans of others' 'signals' 'the end of all' 'nothing is left to another'; do
        skip "as process 1: $rule" 'unshare (util-linux) makes no process namespace here'
    done
    finish
    exit
fi
start_servers 3

# first WORDS...: redlock as process 1, in the background; sets $started, of unshare, and $first, of redlock as seen from here.
first() {
    : >"$directory/out"
    : >"$directory/err"
    unshare --pid --fork --mount-proc --kill-child "$redlock" "$@" >"$directory/out" 2>"$directory/err" &
    started=$!
    begin $started
    first=
    within 10 find_first && find_first
}
find_first() {
    first=$(children_of "$started" redlock)
    [ -n "$first" ]
}

# Each of three children has a child that it leaves, which ends a little later. It prints the processes
# that are still there then.
no_zombies() {
    first run --guard 0 zombies -- perl -e '
        for (1 .. 3) { fork or do { fork or sleep 1; exit } }
        1 while wait > 0;
        sleep 3;
        print grep { (split)[2] eq "Z" } map { open my $file, "<", $_; $file ? <$file> : () } glob "/proc/[0-9]*/stat";
        exit 5' || return 1
    over "$started"
    [ $? = 5 ] && [ ! -s "$directory/out" ]
}
check 'as process 1: what the command leaves behind is reaped' no_zombies

# A process begun in the container from outside, and left behind there, becomes a child of process 1.
reaps_others() {
    first run --guard 0 others -- sh -c 'echo ready; until [ -e "$0" ]; do sleep 0.05; done; exit 6' "$directory/goes" || return 1
    within 10 prints ready || return 1
    nsenter -t "$first" -p sh -c 'for k in 1 2 3; do sh -c "sleep 1.5 & exit"; done'
    within 5 has_children || return 1
    within 10 has_no_zombie || return 1
    : >"$directory/goes"
    over "$started"
    [ $? = 6 ]
}
has_children() { children_of "$first" sleep | grep .; }
has_no_zombie() { ! is_gone "$first" && ! processes | awk -v parent="$first" '$2 == parent && ($3 ~ /Z/ || $4 == "sleep")' | grep .; }
if command -v nsenter >/dev/null; then check 'as process 1: orphans of others are reaped, too' reaps_others
else skip 'as process 1: orphans of others are reaped, too' 'there is no nsenter'
fi

passes_on() {
    first run --guard 0 signals -- sh -c 'trap "echo TERM; exit 9" TERM; trap "echo HUP" HUP; echo ready; while :; do sleep 0.05; done' || return 1
    within 10 prints ready || return 1
    kill -HUP "$first"
    within 5 prints HUP || return 1
    kill -TERM "$first"
    over "$started"
    [ $? = 9 ] && prints TERM && gone signals
}
check 'as process 1: signals are passed on, and the exit status is that of the command' passes_on

ends_while_waiting() {
    is 0 acquire --guard 0 -t 1h waited
    first run --guard 0 -v waited -- true || return 1
    within 10 says waiting || return 1
    kill -TERM "$first"
    over "$started"
    [ $? = 143 ]
}
check 'as process 1: SIGTERM ends the wait for the lock' ends_while_waiting

# Process 1 is another, which reaps its own child alone.
leaves_nothing() {
    timeout 60 unshare --pid --fork --mount-proc --kill-child perl -e '
        for (1 .. 3) { my $pid = fork // die; if ($pid == 0) { exec @ARGV or die } waitpid $pid, 0; $? == 0 or exit 3 }
        my @left = grep { (split)[2] eq "Z" } map { open my $file, "<", $_; $file ? <$file> : () } glob "/proc/[0-9]*/stat";
        print @left; exit @left' "$redlock" run --guard 0 left -- true
}
check 'below another process 1, which reaps nobody, it leaves no zombie' leaves_nothing
finish
