#!/bin/sh
# shellcheck disable=SC2154    # Ports are set by their numbers.
# The table of servers that it works on, in redlock(7): each row is tried on a redis-server in that server's disguise.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

sed -n '/^\.\\" works on$/,/^\.El$/s/^\.It Li \([a-z-]*\) Ta \([a-z]*\) Ta .*/\1 \2/p' tools/man/redlock.7 >"$directory/rows"
start_server
LUA=$(tools/need --print lua5.4) || exit 1
export LUA

# disguise_as PRODUCT: sets $disguised to a port.
disguise_as() {
    : >"$here/port"
    tests/live/disguise.pl "$1" "$port_0" >"$here/port" 2>/dev/null &
    disguise=$!
    begin $disguise
    until [ -s "$here/port" ]; do
        kill -0 $disguise || exit 1
        sleep 0.05
    done
    read -r disguised <"$here/port"
}

# try KIND OPTION...: acquires and releases twice, and leaves its exit status in a file. If another Lua runs the scripts, the
# second is held for longer than its TTL, so it has been extended.
try() {
    kind=$1 ttl=30s lasts=0
    shift
    for round in 1 2; do
        "$redlock" run --guard 0 -t $ttl --node-timeout 10s --wait 60s -n "$address" "$@" -- sleep $lasts 2>"$here/$kind.err"
        echo $? >"$here/$kind.$round"
        case $product in dragonfly | garnet-lua | *-scriptless) ttl=10s lasts=11 ;; esac
    done
}

try_all() {
    tries=
    for one in 'plain --no-ticket' "set --no-ticket -r {$product}-one -r" 'ticket' 'shared --shared' 'fair --fair' 'permits --permits 2'; do
        # shellcheck disable=SC2086    # Several words.
        try $one "{$product}-${one%% *}" &
        tries="$tries $!"
    done
    # shellcheck disable=SC2086    # Several numbers of processes.
    wait $tries
}

# ended STATUS KIND...: each of them did so, both times.
ended() {
    status=$1
    shift
    for kind; do
        [ "$(cat "$here/$kind.1" "$here/$kind.2" | tr '\n' ' ')" = "$status $status " ] || {
            echo "$product: $kind ends with $(cat "$here/$kind.1" "$here/$kind.2"), not $status"
            cat "$here/$kind.err"
            return 1
        }
    done
}

# said WORDS KIND...: each of them did so.
said() {
    phrase=$1
    shift
    for kind; do
        grep -q -e "$phrase" "$here/$kind.err" || { echo "$product: $kind does not say '$phrase'"; cat "$here/$kind.err"; return 1; }
    done
}

# What run says of a refusal, and doctor of the server; '-': nothing.
words_of() {
    case $1 in
    dragonfly-old) echo 'only a plain lock works there, with --no-ticket|has no run_id: each client waits for the guard' ;;
    dragonfly | kvrocks) echo '-|has no run_id: each client waits for the guard' ;;
    garnet) echo 'start Garnet with --lua|runs no scripts, so it has no vote: ERR This instance has Lua' ;;
    valkey-without-lua) echo 'has no vote but on plain locks (lock one RESOURCE with --no-ticket|WARNING  runs no scripts, .*: ERR Could not find scripting engine.*load its module lua' ;;
    alibaba-proxy) echo 'set script_check_enable to 0 there|UNSAFE  runs no scripts, so it has no vote: ERR bad lua' ;;
    *-scriptless) echo 'has no vote but on plain locks (lock one RESOURCE with --no-ticket|WARNING  runs no scripts, so it has no vote but on plain' ;;
    upstash) echo 'INFO names no run_id|UNSAFE  has no vote: INFO names no run_id' ;;
    keydb-active) echo 'a replica, not a master|UNSAFE  .*replica' ;;
    cluster) echo '-|WARNING  is in cluster mode' ;;
    *) echo '-|1 of 1 nodes safe' ;;
    esac
}

doctor_says() {
    grep -q -e "$1" "$here/doctor" || { echo "$product: doctor does not say '$1'"; cat "$here/doctor"; return 1; }
}

# is_true PRODUCT WORKS: the row.
is_true() {
    product=$1
    here=$directory/$product
    words=$(words_of "$product")
    mkdir "$here"
    disguise_as "$product"
    address=redis://127.0.0.1:$disguised
    case $product in cluster | azure | alibaba*) address="$address?managed=1" ;; esac
    "$redlock" doctor --guard 30s -t 30s --node-timeout 10s -n "$address" >"$here/doctor" 2>&1 &
    doctor=$!
    try_all
    wait $doctor
    kill "$disguise"
    case $2 in
    all)     ended 0 plain set ticket shared fair permits ;;
    plain)   ended 0 plain set && ended 125 ticket shared fair permits && said "${words%|*}" ticket shared fair permits ;;
    one)     ended 0 plain && ended 125 set ticket shared fair permits && said "${words%|*}" set ticket shared fair permits ;;
    nothing) ended 125 plain set ticket shared fair permits && said "${words%|*}" plain set ticket shared fair permits ;;
    esac && doctor_says "${words#*|}" && echo true >"$here/is_true"
}

# Two at a time: 0, or 1, is the first row of those that go one after the other.
try_half() {
    number=0
    while read -r product works; do
        number=$((number + 1))
        [ $((number % 2)) = "$1" ] || continue
        is_true "$product" "$works" >"$directory/$product.said" 2>&1
    done <"$directory/rows"
}

each_row_is_true() {
    [ "$(wc -l <"$directory/rows")" -ge 15 ] || { echo 'the table is not there'; return 1; }
    try_half 0 &
    half=$!
    try_half 1
    wait $half
    while read -r product works; do
        [ -e "$directory/$product/is_true" ] || { cat "$directory/$product.said"; return 1; }
    done <"$directory/rows"
}
# It refuses that the client stands in line meanwhile.
guard_is_waited_for() {
    here=$directory
    disguise_as dragonfly
    "$redlock" run --no-ticket --guard 2s -t 2s --node-timeout 10s --wait 60s -n "127.0.0.1:$disguised" new -- true 2>"$directory/new.err" &&
        said 'has no run_id, so a failover would not show, met .* no vote for another' new
    status=$?
    kill "$disguise"
    return $status
}

check 'each server fares as redlock(7) says' each_row_is_true
check 'a server without a run_id votes when the guard is over' guard_is_waited_for
finish
