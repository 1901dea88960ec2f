#!/bin/sh
# shellcheck disable=SC2154    # Ports are set by their numbers.
# A master and its replica, watched by three sentinels, as one node (S31).
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

# The port option of a sentinel, and the scheme of the address. With TLS it talks so to all, and knows the others by that port.
sentinel_port() { echo "port $port"; }
sentinels=sentinel
replica_option=
if [ -n "$scheme" ]; then
    sentinels=sentinels
    replica_option='--tls-replication yes'
    sentinel_port() {
        printf '%s\n' 'port 0' "tls-port $port" "unixsocket $directory/$port" 'tls-replication yes' 'tls-auth-clients no' \
            "tls-cert-file $certificates/server.crt" "tls-key-file $certificates/server.key" "tls-ca-cert-file $certificates/ca.crt"
    }
fi

# start_sentinel NUMBER: on a free port; sets port_sNUMBER and pid_sNUMBER. It writes into its configuration.
start_sentinel() {
    until launch_sentinel "$1"; do
        [ $port -lt 31000 ] || { echo 'Bail out! a sentinel does not start'; exit 1; }
    done
    begin $pid
    eval "port_s$1=$port pid_s$1=$pid"
}
launch_sentinel() {
    port=$((port + 1))
    printf '%s\n' 'bind 127.0.0.1' "$(sentinel_port)" "dir $directory" "sentinel monitor mymaster 127.0.0.1 $port_0 2" \
        'sentinel down-after-milliseconds mymaster 500' 'sentinel failover-timeout mymaster 2000' >"$directory/sentinel-$port"
    "$server" "$directory/sentinel-$port" --sentinel >"$directory/log-$port" 2>&1 &
    pid=$!
    export port_new=$port
    within 20 is_up || { kill -KILL $pid; return 1; }
    kill -0 $pid
}
is_up() { [ "$(ask new PING)" = PONG ]; }

# shellcheck disable=SC2086    # It is two words, or none.
for k in 0 1; do start_server $replica_option; done
ask 1 REPLICAOF 127.0.0.1 "$port_0" >/dev/null
for k in 0 1 2; do start_sentinel $k; done
nodes=$sentinels://127.0.0.1:$port_s0,127.0.0.1:$port_s1,127.0.0.1:$port_s2/mymaster
export REDLOCK_NODES="$nodes"

# Each has to know the replica, and the two others, or they do not fail over.
know_each_other() {
    for k in 0 1 2; do
        [ "$(ask s$k SENTINEL REPLICAS mymaster)" = '*1' ] && [ "$(ask s$k SENTINEL SENTINELS mymaster)" = '*2' ] || return 1
    done
}
check 'sentinels know each other' within 30 know_each_other

acquires() { is "$1" acquire --guard "$2" --no-ticket -t 3s --wait "$3" door; }
holds() { [ -n "$(ask "$1" GET door)" ]; }

locks_at_the_master() {
    is 0 run --guard 0 door -- sh -c 'echo inside' && prints '^inside$' && acquires 0 0 0 && holds 0 && token=$(token) &&
    is 124 run --guard 0 --wait 0 -q door -- true && is 0 release --guard 0 door "$token" && ! holds 0
}
check 's31 a lock is taken at the master that the sentinels name' locks_at_the_master

says_what_is_missing() {
    stop "$pid_s0" "$pid_s1"
    is 122 acquire --guard 0 --node-timeout 2s --no-ticket door &&
    says 'node 0 \(sentinel:mymaster\): 1 of 3 sentinels name a master; 127\.0\.0\.1:[0-9]*: (it does not answer|no answer|no connection within the node timeout)'
    good=$?
    go_on "$pid_s0" "$pid_s1"
    [ $good = 0 ] && within 30 know_each_other
}
check 's31 without a majority of the sentinels nobody has a lock, and the message names one that does not answer' says_what_is_missing

# With a right to it a client that begins after a failover need not wait.
mark_is_allowed() {
    ask 0 ACL SETUSER app on '>pw' '~lock:*' '&redlock:*' +@all >/dev/null && is 1 doctor --guard 3s --ttl 3s --quick --check-user app --prefix lock: &&
    prints '^node 0 .*WARNING  the user may not use redlock:promoted: .* Fix: ACL SETUSER <user> ~redlock:promoted[*]$' &&
    ask 0 ACL SETUSER app '~redlock:promoted*' >/dev/null && is 1 doctor --guard 3s --ttl 3s --quick --check-user app --prefix lock: &&
    ! prints redlock:promoted >/dev/null
}
check 'doctor tells if a user may not leave the mark of a promotion' mark_is_allowed

kills_the_master() {
    acquires 0 0 0 || return 1
    kill -KILL "$pid_0"
    over "$pid_0"
    within 30 names_the_replica && acquires 122 3s 0 && says 'was a replica \(failover\), met [0-9]+ s ago, no vote for another' &&
    [ -n "$(ask 1 GET 'redlock:promoted#done#done')" ] && within 10 acquires 0 3s 0 && holds 1
}
names_the_replica() {
    "$redlock" status --guard 3s --no-ticket door 2>/dev/null | grep -q 'was a replica'
}
# None of the commands waits, so the guard is over for one that comes later than the first.
check 's30 s31 behind a failover the new master has no vote for the guard of the first command, and then it has' kills_the_master

wrong_addresses_are_explained() {
    is 125 acquire -n "$sentinels://127.0.0.1:$port_s0" door && says "the master's name is missing" &&
    is 122 acquire --guard 0 --no-ticket -n "$sentinels://127.0.0.1:$port_s0/other" door &&
    says 'sentinels name a master; .*it knows no master of that name' &&
    is 125 acquire --guard 0 --no-ticket -n "$sentinels://127.0.0.1:$port_1/mymaster" door && says "ERR unknown command"
}
check 'a wrong name, or a server that is no sentinel, is told' wrong_addresses_are_explained

entries_are_counted() {
    printf '# a comment\n%s://127.0.0.1:%s,127.0.0.1:%s/mymaster\n127.0.0.1:x\n' $sentinels "$port_s0" "$port_s1" >"$directory/list"
    is 125 acquire -n "@$directory/list" door && says "list:3: "
}
check 'commas between sentinels begin no entry of the list' entries_are_counted
finish
