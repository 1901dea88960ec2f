#!/bin/sh
# redlock run for jobs that several hosts begin: a lock that outlives its command.
# shellcheck disable=SC2016    # The expressions are those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
tools/need script || exit 1

start_servers 3

# ---- --hold-at-least ----

# lasts_about NAME LEAST MOST: a quorum of keys has so many milliseconds left.
lasts_about() {
    left_ms=$(lasts "$1")
    [ "$left_ms" -ge "$2" ] && [ "$left_ms" -le "$3" ] || { echo "$1 lasts for $left_ms ms"; return 1; }
}

stays_held() {
    is 7 run --guard 0 --hold-at-least 60s -v door-1 -- sh -c 'exit 7' && says 'door-1: left held for another (5[0-9]|60)' &&
    lasts_about door-1 50000 62000 && is 124 run --guard 0 --wait 0 door-1 -- touch "$directory/ran" && [ ! -e "$directory/ran" ]
}
check 'a lock that is held at least for a time stays so when the command has ended' stays_held

is_long_enough() {
    is 0 run --guard 0 --hold-at-least 200ms door-2 -- sleep 0.5 && gone door-2
}
check 'if the command took that long it is released' is_long_enough

is_never_shortened() {
    is 0 run --guard 0 -t 60s --hold-at-least 5s door-3 -- true && lasts_about door-3 50000 60000
}
check 'what has longer to go already is left as it is' is_never_shortened

is_refused_over_the_guard() {
    is 125 run --hold-at-least 31s door-4 -- touch "$directory/ran" && says 'raise --guard' && [ ! -e "$directory/ran" ] &&
    is 125 run --hold-at-least 0 door-4 -- true && is 125 acquire --hold-at-least 1s door-4
}
check 'a time over the guard is refused, and says what to raise' is_refused_over_the_guard

# With the guard the TTL may be no longer than that, so that a time of nearly the guard gets a TTL of the guard.
is_within_the_guard() {
    is 0 run --guard 0 --hold-at-least 20s door-5 -- true && lasts_about door-5 15000 20400
}
check 'the drift is added to what is left' is_within_the_guard

is_lost_before() {
    is 123 run --guard 0 --hold-at-least 60s door-6 -- sh -c "$(for k in 0 1 2; do
        eval "echo \"perl -MIO::Socket::INET -e 'print {IO::Socket::INET->new(q(127.0.0.1:\$port_$k))} qq(DEL door-6\\\\r\\\\n)'\""
    done)" && says 'gone when the command ended'
}
check 'a lock that was deleted meanwhile is lost, and not left' is_lost_before

is_left_by_a_minority() {
    start run --guard 0 -t 3s --node-timeout 200ms --hold-at-least 60s door-7 -- sh -c 'touch "$0"; sleep 1' "$directory/begun-7"
    within 10 test -e "$directory/begun-7"
    on 0 STOP; on 1 STOP
    over "$started"
    status=$?
    on 0 CONT; on 1 CONT
    [ $status = 0 ] || { cat "$directory/err"; return 1; }
    says 'door-7: not held for all of --hold-at-least: '
}
check 'if no quorum extends it that is told, and the command keeps its status' is_left_by_a_minority

finish
