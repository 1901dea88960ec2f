#!/bin/sh
# S29: no message blocks while a lock is held or waited for, if nobody reads standard error, a terminal
# is halted, or a log hangs.
# shellcheck disable=SC2016,SC2154    # Expressions are the shells' that are run; ports and pids are set by their numbers.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
options='--guard 0 --node-timeout 300ms -t 2s'

# A pipe that is full, and nobody reads. It is descriptor 7, until the end.
mkfifo "$directory/pipe"
exec 7<>"$directory/pipe"
fill() { perl -MFcntl -e 'fcntl STDOUT, F_SETFL, O_NONBLOCK; 1 while syswrite STDOUT, "x" x 4096; 1 while syswrite STDOUT, "x"; fcntl STDOUT, F_SETFL, 0' >&7; }
fill

# unread WORDS...: redlock in the background, whose stderr nobody reads.
unread() {
    "$redlock" "$@" >"$directory/out" 2>&7 &
    unread=$!
    begin $unread
}
# still_held NAME: another client gets nothing, now and a TTL later.
still_held() { is 124 acquire --guard 0 "$1" && sleep 3 && is 124 acquire --guard 0 "$1"; }

# shellcheck disable=SC2086    # Options are several words.
keeps() {
    sleep 60 &
    script=$!
    begin $script
    is 0 acquire --guard 0 -t 2s kept || return 1
    unread keep $options "$@" --pid $script kept "$(token)"
    sleep 1
    on 2 STOP
    sleep 1
    still_held kept
    set -- $?
    on 2 CONT
    kill -KILL $script
    [ "$1" = 0 ] && over $unread && gone kept
}
check 'keep keeps the lock when nobody reads that a node is away' keeps
check 'nor what passes' keeps -v --trace

# shellcheck disable=SC2086
runs() {
    unread run $options "$@" run -- sleep 60
    within 10 is_held run && still_held run && kill -TERM $unread || return 1
    over $unread
    got=$?
    [ $got = 143 ] && gone run
}
check 'run keeps the lock when nobody reads what passes, and heeds SIGTERM' runs -v --trace
check 'nor its log on standard error' runs --log json --json

# shellcheck disable=SC2086
waits() {
    is 0 acquire --guard 0 -t 3s waited && unread run $options -v --trace waited -- touch "$directory/waited" && within 20 [ -e "$directory/waited" ] && over $unread
}
check 'a waiter gets the lock when nobody reads why it waits' waits

# The guardian after redlock was killed. The command ignores SIGTERM, and must be gone with the lock.
# shellcheck disable=SC2086
guards() {
    rm -f "$directory/command"
    unread run $options --grace 500ms "$@" guarded -- sh -c 'trap "" TERM HUP; echo $$ >"$0/command.new"; mv "$0/command.new" "$0/command"; while :; do sleep 0.2; done' "$directory"
    within 10 [ -e "$directory/command" ] || return 1
    sleep 1
    kill -KILL $unread
    over $unread
    within 10 is 0 acquire --guard 0 -t 1s guarded && is_gone "$(cat "$directory/command")"
}
check 'the guardian of a redlock that was killed ends the command in time, whoever reads' guards -v --log text

# The writer stays with the words that nobody reads, and ends by a signal once redlock and the guardian are gone.
# shellcheck disable=SC2086
leaves_a_writer() {
    rm -f "$directory/let"
    unread run $options "$@" left -- sh -c 'until [ -e "$0" ]; do sleep 0.05; done' "$directory/let"
    within 10 has_writer $unread || return 1
    left=$(children_of $unread redlock-writer)
    kill -TERM "$left" && touch "$directory/let" && over $unread || return 1
    ! is_gone "$left" && kill -TERM "$left"
    within 10 ended_by_signal "$left"
}
has_writer() { [ -n "$(children_of "$1" redlock-writer)" ]; }
ended_by_signal() { is_gone "$1" || { kill -TERM "$1"; false; }; }
if [ "$(uname)" = Linux ]; then
    check 'what nobody reads is kept by a process that a signal ends when redlock is gone, and not before' leaves_a_writer -v
    check 'so are the words of that process' leaves_a_writer --log text --log-file "$directory"
else
    skip 'what nobody reads is kept by a process that a signal ends when redlock is gone, and not before' 'processes have no names here'
    skip 'so are the words of that process' 'processes have no names here'
fi

# Nobody reads the log. Opening it does not wait, but its pipe is full.
mkfifo "$directory/log"
exec 8<>"$directory/log"
perl -MFcntl -e 'fcntl STDOUT, F_SETFL, O_NONBLOCK; 1 while syswrite STDOUT, "x" x 4096; 1 while syswrite STDOUT, "x"; fcntl STDOUT, F_SETFL, 0' >&8
check 'nor does a log that nobody reads' guards --log-file "$directory/log"

# ---- The token ----

# Its pipe is full, and is 7, as above.
hands_over() {
    "$redlock" acquire --guard 0 -t 2s "$@" token >&7 2>"$directory/err" &
    acquire=$!
    begin $acquire
    within 10 is_gone "$acquire" || return 1
    over $acquire
    [ $? = 122 ] && says 'token: released, since nobody read the token in time' && gone token
}
check 'acquire waits for a reader of its token as long as the lock is valid, and then releases it' hands_over
check 'and so it does with --json' hands_over --json

# ---- What was dropped ----

# The writer is stopped, and gets so many messages that its socket is full. The command ends only after
# the writer has caught up, for otherwise the last words may be dropped as well.
dropped='redlock: [0-9]+ messages were dropped here, for nobody read them$'
writer_of() { children_of "$1" redlock-writer; }
counts() {
    "$redlock" run --guard 0 --node-timeout 300ms -t 300ms --grace 50ms --trace told -- sh -c 'until [ -e "$0" ]; do sleep 0.05; done' "$directory/enough" \
        >"$directory/out" 2>"$directory/err" &
    run=$!
    begin $run
    within 10 is_held told && stop "$(writer_of $run)" || return 1
    sleep 12
    is_held told || return 1
    go_on "$(tail -n 1 "$directory/stopped")"
    within 10 says "$dropped" || return 1
    touch "$directory/enough"
    over $run && says 'released [0-9]/3'
}
if [ "$(uname)" = Linux ]; then check 'what was dropped is counted, and told when somebody reads again' counts
else skip 'what was dropped is counted' 'only Linux names the process that writes'
fi

# A file system that hangs. The writer of log and metrics does not come back from it.
hangs() {
    "$redlock" run --guard 0 --node-timeout 300ms -t 2s "$@" hung -- sleep 6 >"$directory/out" 2>"$directory/err" &
    run=$!
    begin $run
    within 10 is_held hung && stop "$(writer_of $run)" && still_held hung
    set -- $?
    go_on "$(tail -n 1 "$directory/stopped")"
    over $run && [ "$1" = 0 ]
}
if [ "$(uname)" = Linux ]; then
    check 'a file of metrics that hangs costs no lock' hangs --metrics "$directory/hung.prom"
    check 'nor does a log' hangs -v --log-file "$directory/hung.log"
else
    skip 'a file of metrics, or a log, that hangs' 'only Linux names the process that writes'
fi

# The signal goes to redlock, its writer and its command at once, as from a terminal.
interrupted() {
    perl -e 'setpgrp; exec @ARGV' "$redlock" run --guard 0 -v -t 2s group -- sleep 60 >"$directory/out" 2>"$directory/err" &
    run=$!
    begin $run
    within 10 is_held group && kill -TERM "-$run" && ! over $run && says 'released on [23] of 3'
}
check 'a signal to all of its group does not keep the last words from being written' interrupted

writer_killed() {
    start run --guard 0 -v -t 2s lonely -- sleep 4
    within 10 is_held lonely && kill -KILL "$(writer_of "$started")" && over "$started"
}
# Nor does a message get lost that somebody could read.
writer_killed_before_the_end() {
    start run --guard 0 -t 2s --json silent -- sleep 2
    within 10 is_held silent && kill -KILL "$(writer_of "$started")" && over "$started" && json err '$j->{exit} == 0'
}
if [ "$(uname)" = Linux ]; then
    check 'a writer that was killed costs no lock, and no exit status' writer_killed
    check 'without a writer the last words are written if that needs no waiting' writer_killed_before_the_end
else skip 'a writer that was killed' 'only Linux names the process that writes'
fi

# Somebody reads at last, and the writers that waited for that end.
cat <&7 >"$directory/read" &
begin $!
cat <&8 >"$directory/read" &
begin $!
sleep 1

finish
