#!/bin/sh
# redlock keep: extends a lock that a script acquired while the script lives.
# shellcheck disable=SC2016    # The expressions are perl's, and those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 5
patience=1s

# holder SECONDS: a process; sets $holder.
holder() {
    sleep "$1" >/dev/null 2>&1 &
    holder=$!
    begin $holder
}
take() {
    is 0 acquire --guard 0 -t 3s "$1" && token=$(cat "$directory/out")
}

keeps_and_releases() {
    take kept || return 1
    holder 100
    start keep --guard 0 -t 3s --pid "$holder" kept "$token"
    sleep 4
    within 10 is_at kept "${token%:*}" 0 1 2 3 4 || return 1
    kill -KILL "$holder"
    over "$started" && gone kept && [ ! -s "$directory/err" ]
}
check 'a lock is extended while the process lives, and released when it has ended, in silence' keeps_and_releases

has_ended_before() {
    take early || return 1
    holder 0
    over "$holder"
    is 0 keep --guard 0 -v --pid "$holder" early "$token" && says 'early: released on [345] of 5 nodes' && gone early
}
check 'when the process has ended already the lock is released' has_ended_before

as_in_a_script() {
    "$redlock" acquire --guard 0 --no-ticket -t 3s --node-timeout 10s script >"$directory/token" || return 1
    sh -c '"$0" keep --guard 0 -t 3s --pid $$ script "$(cat "$1")" & sleep 4; "$0" status --guard 0 --node-timeout 10s script' "$redlock" "$directory/token" \
        >"$directory/out" 2>&1
    prints 'held by' && gone script
}
check 'a script may begin it in the background for itself' as_in_a_script

is_not_ours() {
    take mine || return 1
    holder 100
    is 123 keep --guard 0 --pid "$holder" mine 0123456789012345678901234567890123456789 && says 'mine: not extended: the token does not hold it' &&
    is 125 keep --guard 0 --pid "$holder" mine no-token && is 122 keep --guard 10m --pid "$holder" mine "$token" &&
    is 125 keep mine "$token" && says 'pid is missing' && is 125 keep --pid 0 mine "$token" && says '0 is no process' &&
    is 125 keep --pid x mine "$token" && is 125 keep --pid 1 mine && says 'TOKEN is missing'
}
check 'exit statuses are those of extend' is_not_ours

is_lost() {
    take flushed || return 1
    holder 100
    start keep --guard 0 -t 3s -v --pid "$holder" flushed "$token"
    within 10 says 'flushed: kept for' || return 1
    everywhere FLUSHALL >/dev/null
    over "$started"
    [ $? = 123 ] && says 'flushed: lost: on too many nodes our token is gone; process .* goes on without it' || return 1
    take silent || return 1
    start keep --guard 0 -t 3s --json --pid "$holder" silent "$token"
    sleep 2
    for k in 0 1 2; do on $k STOP; done
    over "$started"
    status=$?
    for k in 0 1 2; do on $k CONT; done
    [ $status = 123 ] && json out '$j->{status} eq "LOST" && $j->{code} == 5'
}
check 'a lock that is lost meanwhile is told: 5' is_lost

is_signalled() {
    take signal || return 1
    holder 100
    start keep --guard 0 -t 2s --pid "$holder" signal "$token"
    sleep 0.5
    kill -TERM "$started"
    over "$started"
    [ $? = 143 ] && says 'signal: no longer extended, ends in [1-9]' && [ "$(most GET signal)" = "${token%:*}" ] && within 5 is_nowhere signal
}
check 'a signal ends it: the lock is left to its TTL, since the process lives' is_signalled

finish
