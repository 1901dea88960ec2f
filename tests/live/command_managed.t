#!/bin/sh
# shellcheck disable=SC2016,SC2154    # Expressions are of perl; ports are set by their numbers.
# A node that is the one endpoint of a service in cluster mode: real servers, of one shard and of two, and a failover.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

# start_member: a server in cluster mode, which knows no other yet.
start_member() {
    mkdir "$directory/member-$count"
    start_server --cluster-enabled yes --cluster-config-file nodes.conf --dir "$directory/member-$count" --cluster-node-timeout 2000
}

# managed NUMBER...: the list of these servers, each as the endpoint of a service.
managed() {
    list=
    for k; do
        eval "list=\$list\${list:+,}redis://127.0.0.1:\$port_$k?managed=1"
    done
    echo "$list"
}

is_in_order() {
    ask "$1" CLUSTER INFO | grep -q 'cluster_state:ok'
}

start_member
start_member
start_member
# shellcheck disable=SC2046    # Numbers of slots.
ask 0 CLUSTER ADDSLOTS $(seq 0 16383) >/dev/null
within 20 is_in_order 0 || { echo 'Bail out! the cluster does not begin'; exit 1; }
one=$(managed 0)

refused_without() {
    is 125 run --guard 0 -n "127.0.0.1:$port_0" '{door}' -- true && says 'a member of a cluster.*managed=1'
}
check 'without managed=1 a member of a cluster has no vote, and the way out is told: 125' refused_without

each_kind() {
    for options in '--no-ticket' '' '--shared' '--fair' '--permits 2' '--no-wake-ups' '--once-per 1h'; do
        # shellcheck disable=SC2086    # Several words.
        is 0 run --guard 0 -n "$one" $options "{kind$options}" -- true || return 1
    done
    is 0 run --guard 0 -n "$one" -r '{set}a' -r '{set}b' -- true
}
check 'with it each kind of lock is acquired, by names with braces' each_kind

is_woken() {
    "$redlock" run --guard 0 -n "$one" --ttl 30s '{woken}' -- sh -c "until [ -e '$directory/enough' ]; do sleep 0.1; done" &
    holder=$!
    begin $holder
    within 20 is_held || return 1
    "$redlock" run --guard 0 -n "$one" --wait 60s '{woken}' -- true &
    waiter=$!
    begin $waiter
    within 20 has_waiter || return 1
    : >"$directory/enough"
    over $holder && over $waiter
}
is_held() {
    [ -n "$(ask 0 GET '{woken}')" ]
}
has_waiter() {
    [ "$(ask 0 ZCARD '{woken}#waiters')" = 1 ]
}
check 'one that waits is woken' is_woken

declared() {
    for address in "redis://127.0.0.1:$port_0/1?managed=1" "redis://127.0.0.1:$port_0?managed=1&durable=1"; do
        is 125 run --guard 0 -n "$address" '{door}' -- true && says 'a managed node has database 0, and is not durable' || return 1
    done
    is 125 run --guard 0 -n "redis://127.0.0.1:$port_1?managed=1,127.0.0.1:$port_0,127.0.0.1:$port_2" '{door}' -- true &&
        says 'node 1 .*a member of a cluster'
}
check 'each node is managed by its own address, without a database, and not durable' declared

without_braces() {
    is 125 run --guard 0 -n "$one" door -- true && says 'for a managed node it needs {braces}: write {door}' &&
    is 125 run --guard 0 -n "$one" -r '{a}' -r '{b}' -- true && says 'the same braces into each name' &&
    [ -z "$(ask 0 GET door)" ]
}
readers_too() {
    for command in status 'status --permits 2' leader watch 'break --token 0123456789012345678901234567890123456789'; do
        # shellcheck disable=SC2086    # Several words.
        is 125 $command --guard 0 -n "$one" door && says 'door: .*for a managed node it needs {braces}: write {door}$' || return 1
    done
    is 125 watch --guard 0 -n "$one" '{a}' door && says 'write {door}$' && is 125 status --guard 0 -n "$one" -r '{a}' -r door && says 'write {door}$' &&
        is 125 leader --guard 0 -n "$one" '{a}#ticket' && says ': it ends in #ticket$'
}
check 'a name without braces is refused before anything is sent: 125' without_braces
check 'status, leader, watch and break refuse it in the same words: 125' readers_too

doctor_warns() {
    "$redlock" doctor --guard 0 --quick -n "$one" >"$directory/said" 2>&1
    cat "$directory/said"
    grep -q 'WARNING  is in cluster mode: two may hold a lock if a failover leaves the old master granting' "$directory/said" &&
        ! grep -q 'has no vote' "$directory/said"
}
check 'doctor tells what is left' doctor_warns

doctor_tries() {
    is 2 doctor --guard 0 --quick --write -v -n "$one" && prints 'ok  (the user may do all that locks need|a lock was acquired, extended)' &&
        [ "$(calls_of pexpire)" -gt "$calls" ] && [ "$(ask 0 EVAL "return #redis.call('keys', 'redlock:doctor:*')" 0)" = 0 ]
}
calls_of() {
    ask 0 EVAL "return redis.call('info', 'commandstats'):match('cmdstat_' .. ARGV[1] .. ':calls=(%d+)') or '0'" 0 "$1"
}
calls=$(calls_of pexpire)
check 'doctor --write tries a lock there, by a name with braces' doctor_tries

# ---- Two shards: {a} has slot 15495, {b} has slot 3300 ----

# shellcheck disable=SC2046    # Numbers of slots.
ask 0 CLUSTER DELSLOTS $(seq 8192 16383) >/dev/null
# shellcheck disable=SC2046
ask 1 CLUSTER ADDSLOTS $(seq 8192 16383) >/dev/null
ask 0 CLUSTER MEET 127.0.0.1 "$port_1" >/dev/null
both_are_in_order() {
    is_in_order 0 && is_in_order 1
}
within 20 both_are_in_order || { echo 'Bail out! the two shards do not begin'; exit 1; }

other_shard() {
    is 125 run --guard 0 -n "$one" '{a}' -- true && says "MOVED 15495 127.0.0.1:$port_1 .name the server of that address" &&
    is 0 run --guard 0 -n "$(managed 1)" '{a}' -- true && is 0 run --guard 0 -n "$one" '{b}' -- true
}
check 'a shard that has not the resource refuses it, and names the one that has: 125' other_shard
watches_other_shard() {
    grep -q "{a}: no quorum: .*; node 0: MOVED 15495 127.0.0.1:$port_1 .name the server of that address" "$directory/out"
}
readers_of_other_shard() {
    is 125 leader --guard 0 -n "$one" '{a}' && says "MOVED 15495 127.0.0.1:$port_1 .name the server of that address" &&
    is 125 break --guard 0 -n "$one" '{a}' --token 0123456789012345678901234567890123456789 &&
    says "MOVED 15495 127.0.0.1:$port_1 .name the server of that address" &&
    is 125 status --guard 0 -n "$one" '{a}' && prints "MOVED 15495 127.0.0.1:$port_1" || return 1
    start watch --guard 0 -n "$one" --interval 100ms '{a}'
    within 20 watches_other_shard || { cat "$directory/out"; return 1; }
    kill -TERM "$started"
    over "$started" || true
}
check 'leader, break, status and watch name it as well' readers_of_other_shard

# The slot of {a} is on its way from the second server to the first, and so are a value, which has arrived, and a key beside it.
slot_moves() {
    ask 1 SET '{a}moved' value PX 3600000 >/dev/null
    ask 1 ZADD '{a}moved#waiters' 1 x >/dev/null
    ask 1 SET '{a}stays' value PX 3600000 >/dev/null
    ask 0 CLUSTER SETSLOT 15495 IMPORTING "$(ask 1 CLUSTER MYID)" >/dev/null
    ask 1 CLUSTER SETSLOT 15495 MIGRATING "$(ask 0 CLUSTER MYID)" >/dev/null
    [ "$(ask 1 MIGRATE 127.0.0.1 "$port_0" '{a}moved' 0 5000)" = OK ]
}
slot_stays() {
    ask 0 MIGRATE 127.0.0.1 "$port_1" '{a}moved' 0 5000 >/dev/null
    ask 0 CLUSTER SETSLOT 15495 STABLE >/dev/null
    ask 1 CLUSTER SETSLOT 15495 STABLE >/dev/null
    ask 1 DEL '{a}stays' >/dev/null
}
# A command with one key, and one with several.
refused_meanwhile() {
    is 122 acquire --guard 0 --no-ticket -n "$(managed 1)" '{a}moved' && says 'ASK 15495 .*wait until one server has the slot' &&
        is 122 acquire --guard 0 --no-ticket -n "$(managed 1)" -r '{a}stays' -r '{a}moved' && says 'TRYAGAIN .*wait until one server has the slot'
}
scan_tells_of_the_slot() {
    slot_moves && is 1 scan --guard 0 -n "$one" '{a}*' && says '^redlock: 1 keys were not seen, since their slot moves' &&
    ! grep 'must not be read' "$directory/err" && is 1 scan --guard 0 --json -n "$(managed 1)" '{a}*' && json out '$j->{moving} > 0 && $j->{hidden} == 0' &&
    refused_meanwhile
    seen=$?
    slot_stays
    return $seen
}
check 'while a slot moves, scan blames it, not the rights' scan_tells_of_the_slot

# ---- A failover ----

ask 0 CLUSTER MEET 127.0.0.1 "$port_2" >/dev/null
within 20 is_in_order 2 || { echo 'Bail out! the third server does not join'; exit 1; }

members_of_one() {
    is 125 run --guard 0 -n "$(managed 0 1 2)" '{a}' -- true && says 'MOVED 15495'
}
check 'members of one cluster, named as three nodes, are no quorum: 125' members_of_one

doctor_sees_one_cluster() {
    is 2 doctor --guard 30s --quick -n "$(managed 0 1)" &&
        prints '^node 0 .*UNSAFE  is of one cluster with node 1, .*Fix: name one endpoint of each cluster' && prints '^0 of 2 nodes safe' &&
        ! "$redlock" doctor --quick -n "$one" | grep 'of one cluster'
}
check 'doctor tells that they are of one cluster, and what to do: 2' doctor_sees_one_cluster

# tells WORD: of the replication of the third server.
tells() {
    ask 2 EVAL "return redis.call('info', 'replication'):match(ARGV[1] .. ':(%a+)') or ''" 0 "$1"
}
follows() {
    [ "$(tells master_link_status)" = up ]
}
is_master() {
    [ "$(tells role)" = master ]
}
replicates() {
    [ "$(ask 2 CLUSTER REPLICATE "$(ask 0 CLUSTER MYID)")" = OK ]
}
within 20 replicates || { echo 'Bail out! nobody replicates'; exit 1; }
within 20 follows || { echo 'Bail out! nothing is replicated'; exit 1; }

promoted() {
    is 125 run --guard 0 -n "$(managed 2)" '{b}' -- true && says 'a replica, not a master .*of a cluster the master' &&
        is 2 doctor --guard 30s --quick -n "$(managed 2)" && prints 'is a replica: it has no vote. Fix: name its master, or' || return 1
    ask 2 CLUSTER FAILOVER TAKEOVER >/dev/null
    within 20 is_master || return 1
    is 122 run --guard 60s --wait 0 -n "$(managed 2)" '{b}' -- true && says 'was a replica .failover., met .* no vote for another' &&
    is 2 doctor --guard 60s --quick -n "$(managed 2)" && prints 'was a replica: .*Fix: wait: each client does so by itself'
}
check 'a replica that was promoted has no vote for the guard' promoted
finish
