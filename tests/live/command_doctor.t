#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# redlock doctor: each check finds a server that has just that fault, and says that it does not know where the ACL hides it.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

# Servers with which all is well, even without a guard: each on a host of its own, and none forgets anything.
for k in 2 3 4; do
    start_server --bind 127.0.0.1 127.0.0.$k --appendonly yes --appendfsync always --appenddirname "aof-$k"
done
# shellcheck disable=SC2154
REDLOCK_NODES=127.0.0.2:$port_0,127.0.0.3:$port_1,127.0.0.4:$port_2
export REDLOCK_NODES

# doctor STATUS OPTION...: locks live so long that no round trip is worth a word.
doctor() {
    doctor_status=$1
    shift
    is "$doctor_status" doctor --guard 0 --ttl 10m --quick "$@"
}

# finds STATUS LINE COMMAND...: what the doctor says of server 0 when that has been sent to it; it is undone by undo().
finds() {
    finds_status=$1 finds_line=$2
    shift 2
    ask 0 "$@" >/dev/null && doctor "$finds_status" && prints "^node 0 \(127.0.0.2:$port_0\)  +$finds_line" && [ "$(grep -c '^node' "$directory/out")" = 1 ]
}

all_is_well() {
    doctor 0 && prints '^3 of 3 nodes safe, quorum 2: 1 may fail$' && prints '^fingerprint of the nodes: [0-9a-f]{8} \(3 of 3\)$' &&
    [ "$(wc -l <"$directory/out")" = 2 ] && doctor 0 -v && prints '^node 0 .*ok +maxmemory-policy is noeviction +\[7 eviction\]' &&
    prints '^node 2 .*ok +Redis [0-9.]+ +\[1 version\]'
}
check 'of nodes with which all is well only the verdict is said, and all that was looked at with --verbose' all_is_well

eviction() {
    finds 1 'WARNING  maxmemory-policy is allkeys-lru: .* once maxmemory is set\. Fix: CONFIG SET maxmemory-policy noeviction$' \
        CONFIG SET maxmemory-policy allkeys-lru &&
    finds 2 'UNSAFE +maxmemory-policy is allkeys-lru: locks can be evicted\. Fix: CONFIG SET maxmemory-policy noeviction$' \
        CONFIG SET maxmemory 1gb && prints '^2 of 3 nodes safe, quorum 2: the next failure stops the locks$' &&
    ask 0 CONFIG SET maxmemory-policy noeviction && ask 0 CONFIG SET maxmemory 0
}
check '7: a policy that evicts locks is unsafe, and worth a warning while there is no limit' eviction

nodes_are_away() {
    choose_refused_port
    is 1 doctor --quick --node-timeout 10s -n "127.0.0.2:$port_0,127.0.0.3:$port_1,127.0.0.4:$refused" &&
    prints "^node 2 \(127.0.0.4:$refused\)  WARNING  cannot be reached: connection refused\. Fix: " &&
    prints '^2 of 3 nodes safe, quorum 2: the next failure stops the locks$' &&
    is 3 doctor --quick --node-timeout 10s -n "127.0.0.2:$port_0,127.0.0.3:$refused,127.0.0.4:$refused" &&
    prints '^1 of 3 nodes safe, quorum 2: only 1 can be reached, so nobody can lock$'
}
check '0: a node that cannot be reached is a finding; without a quorum the exit status is 3' nodes_are_away

finish
