#!/bin/sh
# S28: a command whose exec() waits, like one on a file system that hangs. Its start is one event among others.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

# hold FILE: whoever opens it waits, exec() too, until the lease is broken after 45 s (or whatever /proc/sys/fs/lease-break-time says).
hold() {
    perl -MFcntl -e '
        $| = 1; $SIG{IO} = "IGNORE"; alarm 50;
        open my $file, "<", $ARGV[0] or die;
        fcntl $file, 1024, F_WRLCK or die "F_SETLEASE: $!\n";
        print "held\n"; sleep' "$1" >"$directory/lease" 2>&1 &
    lease=$!
    begin $lease
    within 10 [ -s "$directory/lease" ] && grep -q held "$directory/lease"
}

printf '#!/bin/sh\ntouch "%s"\n' "$directory/began" >"$directory/late"
chmod +x "$directory/late"
if [ "$(uname)" != Linux ] || ! hold "$directory/late"; then
    skip 'a start that waits' 'no file can be held here by a lease, so that its exec() waits'
    finish
    exit
fi
start_servers 3

# in_time NAME OPTION...: begins it; it has the lock, and its exec() waits.
in_time() {
    "$redlock" run --guard 0 --no-ticket -t 2s --grace 500ms "$@" -- "$directory/late" >"$directory/out" 2>"$directory/err" &
    run=$!
    begin $run
    within 20 is_held "$1"
}
ends_with() {
    over "$run"
    got=$?
    if [ $got != "$1" ] || [ -e "$directory/began" ]; then echo "exit status $got"; cat "$directory/err"; return 1; fi
}

kept() { in_time kept && sleep 4 && is_held kept && kill -TERM "$run" && ends_with 143 && gone kept; }
check 'while a start waits the lock is extended, and SIGTERM is heeded' kept

lost() {
    in_time lost || return 1
    for each in 0 1 2; do on $each STOP; done
    ends_with 123
    set -- $?
    for each in 0 1 2; do on $each CONT; done
    return "$1"
}
check 'what has not begun when the validity ends is killed' lost

killed() {
    in_time killed && kill -KILL "$run" || return 1
    over "$run"
    gone killed && [ ! -e "$directory/began" ]
}
check 'nor does it begin behind a redlock that was killed' killed

never() {
    kill -KILL "$lease" && ! over "$lease"
    sleep 1
    [ ! -e "$directory/began" ]
}
check 'none of them begins when the file can be opened again' never

other_starts() {
    is 127 run --guard 0 door /nonexistent/program && says 'cannot run /nonexistent/program: No such file' &&
    is 126 run --guard 0 door / && is 0 run --guard 0 door -- "$directory/late" && [ -e "$directory/began" ]
}
check 'what cannot be run is told as ever, and what can runs' other_starts

finish
