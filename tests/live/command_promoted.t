#!/bin/sh
# shellcheck disable=SC2016,SC2154    # The scripts are Lua's. Ports are set by their numbers.
# A failover under the same address. The master dies before it has replicated, and its replica is promoted (S30).
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_server --repl-diskless-sync-delay 0       # 0: the master,
start_server                                    # 1: its replica,
start_server                                    # 2: and a server with no history but its own.

# fact NUMBER NAME: as INFO tells it.
fact() { ask "$1" EVAL 'return string.match(redis.call("INFO"), ARGV[1] .. ":(%w+)")' 0 "$2"; }
up_for() { [ "$(fact "$1" uptime_in_seconds)" -ge "$2" ]; }
is_linked() { [ "$(fact 1 master_link_status)" = up ]; }
acquires() { is "$1" acquire --guard 5s --no-ticket -t 5s --wait "$2" -n "127.0.0.1:$3" door; }

ask 1 REPLICAOF 127.0.0.1 "$port_0" >/dev/null
two_holders() {
    within 30 is_linked && within 30 up_for 0 7 && within 30 up_for 1 7 && within 30 up_for 2 7 || return 1
    ask 1 REPLICAOF 127.0.0.1 1 >/dev/null      # It loses its link, and misses the lock.
    acquires 0 0 "$port_0" || return 1
    kill -KILL "$pid_0"
    over "$pid_0"
    ask 1 REPLICAOF NO ONE >/dev/null
    up_for 1 7 && acquires 122 0 "$port_1" && says 'no vote for another [0-9]+ s' && acquires 0 0 "$port_2"
}
check 's30 behind a failover nobody has the lock of a holder that the replica has not heard of, however long that has been up' two_holders

check 'a client that waits has it when the guard is over' acquires 0 20s "$port_1"
finish
