#!/bin/sh
# shellcheck disable=SC2016,SC2154    # The expressions are perl's. Ports are set by their numbers.
# Durable nodes (S23) are servers with appendfsync always, of which a majority is killed and comes back.
# The guard is the default.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

canary=0123456789abcdef0123456789abcdef01234567

# revive NUMBER: starts the server again that had that number, on its port and with its data.
revive() {
    eval "again=\$port_$1"
    mkdir -p "$directory/data-$again"
    "$server" --bind 127.0.0.1 --port "$again" --dir "$directory/data-$again" --logfile "$directory/log-$again" --save '' \
        --appendonly yes --appendfsync always >/dev/null 2>&1 &
    begin $!
    eval "pid_$1=$!"
    within 20 ask "$1" TIME
}
# kill_server NUMBER: and waits for its end.
kill_server() {
    eval "killed=\$pid_$1"
    kill -KILL "$killed"
    over "$killed"
}
# Their data is in folders of their own, so the port must be known first.
start_durable() {
    for k in 0 1 2; do
        start_server
        kill_server $k
        revive $k || exit 1
        ask $k SET 'redlock:canary#done#done' $canary >/dev/null
    done
    nodes="redis://127.0.0.1:$port_0?durable=1,redis://127.0.0.1:$port_1/?durable=1,redis://127.0.0.1:$port_2?durable=1"
    export REDLOCK_NODES="$nodes"
}
now_ms() { perl -MTime::HiRes=time -e 'printf "%d\n", 1000 * time'; }

start_durable

# They have just been started, so that without a canary there would be no vote for half a minute.
votes_at_once() {
    is 0 acquire --node-timeout $patience -t 20s first && is 124 status --node-timeout $patience first &&
    is 122 acquire --node-timeout $patience -n "127.0.0.1:$port_0,127.0.0.1:$port_1" second && says 'restarted .* no vote for another'
}
check 'durable nodes with a canary vote as soon as they are up, and the same nodes not declared so do not' votes_at_once

# A client that is there all the while. It has a lock, and waits for another, while a majority is away for three seconds.
majority_returns() {
    token=$("$redlock" acquire --node-timeout $patience -t 1s third) || return 1
    kill_server 0
    kill_server 1
    start acquire --node-timeout 2s --wait 60s -t 20s third
    sleep 3
    revive 0 && revive 1 || return 1
    back=$(now_ms)
    within 20 test -s "$directory/out" || return 1
    took=$(($(now_ms) - back))
    echo "# a lock is acquired $took ms after the majority is back" >&3
    wait "$started" && [ $took -lt 10000 ] && [ "$(cut -d : -f 1 "$directory/out")" != "$token" ]
}
exec 3>&1
check 'behind a majority that was killed and came back a lock is acquired long before the guard would be over' majority_returns

comes_back_empty() {
    kill_server 2
    rm -rf "$directory/data-$port_2"
    revive 2 && is 2 doctor --quick --node-timeout $patience &&
    prints '^node 2 .*UNSAFE  is declared durable, but has no redlock:canary: it is new, or came back without its data' &&
    ! prints '^node [01] .*canary' >/dev/null && is 0 acquire --node-timeout $patience -t 20s fifth &&
    is 0 status --node-timeout $patience sixth && prints 'node 2 .*free \(restarted [0-9]+ s ago, no vote for another' &&
    prints '^sixth: free on 3 of 3 nodes \(quorum 2\); 2 of 3 may vote$'
}
check 'a node that comes back without its data has no vote' comes_back_empty

hidden() {
    ask 0 ACL SETUSER hidden reset on '>pw' '~*' '&*' +@all resetkeys '~door*' >/dev/null
    REDLOCK_USER=hidden REDLOCK_PASSWORD=pw is 122 acquire --node-timeout $patience -n "redis://127.0.0.1:$port_0?durable=1" door &&
    says 'no vote for another [0-9]+ s, .*as its redlock:canary is hidden'
}
check 'where the ACL hides the canary the guard is as ever, and the message says why' hidden

wrong() {
    is 125 status -n 'redis://host?durable=yes' door && says 'after the host come /database and \?durable=1, or \?managed=1, or nothing'
}
check 'a declaration that is not understood is refused' wrong
finish
