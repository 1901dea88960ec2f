#!/bin/sh
# The table of servers that it works on, in redlock(7): each row is tried on a redis-server in that server's disguise.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

sed -n '/^\.\\" works on$/,/^\.El$/s/^\.It Li \([a-z-]*\) Ta \([a-z]*\) Ta .*/\1 \2/p' tools/man/redlock.7 >"$directory/rows"
start_server

# disguise_as PRODUCT: sets $disguised to a port.
disguise_as() {
    : >"$directory/port"
    tests/live/disguise.pl "$1" "$port_0" >"$directory/port" 2>/dev/null &
    disguise=$!
    begin $disguise
    until [ -s "$directory/port" ]; do
        kill -0 $disguise || exit 1
        sleep 0.05
    done
    read -r disguised <"$directory/port"
}

# try KIND OPTION...: acquires and releases twice, and leaves its exit status in a file.
try() {
    kind=$1
    shift
    for round in 1 2; do
        "$redlock" run --guard 1s -t 1s --skew 10ms --wait 10s -n "127.0.0.1:$disguised" "$@" -- true 2>"$directory/$kind.err"
        echo $? >"$directory/$kind.$round"
    done
}

try_all() {
    tries=
    for one in 'plain --no-ticket plain' 'set --no-ticket -r one -r two' 'ticket ticket' 'shared --shared shared' 'fair --fair fair' \
        'permits --permits 2 permits'; do
        # shellcheck disable=SC2086    # Several words.
        try $one &
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
        [ "$(cat "$directory/$kind.1" "$directory/$kind.2" | tr '\n' ' ')" = "$status $status " ] || {
            echo "$product: $kind ends with $(cat "$directory/$kind.1" "$directory/$kind.2"), not $status"
            cat "$directory/$kind.err"
            return 1
        }
    done
}

# said WORDS KIND...: each of them did so.
said() {
    phrase=$1
    shift
    for kind; do
        grep -q -e "$phrase" "$directory/$kind.err" || { echo "$product: $kind does not say '$phrase'"; cat "$directory/$kind.err"; return 1; }
    done
}

# What run says of a refusal, and doctor of the server; '-': nothing.
words_of() {
    case $1 in
    dragonfly) echo 'start Dragonfly with --default_lua_flags=allow-undeclared-keys|has no run_id: each client waits for the guard' ;;
    dragonfly-undeclared | kvrocks) echo '-|has no run_id: each client waits for the guard' ;;
    garnet) echo 'start Garnet with --lua|runs no scripts, so it has no vote: ERR This instance has Lua' ;;
    keydb-active) echo 'a replica, not a master|UNSAFE  .*replica' ;;
    cluster) echo 'a member of a cluster|UNSAFE  .*cluster' ;;
    *) echo '-|1 of 1 nodes safe' ;;
    esac
}

doctor_says() {
    "$redlock" doctor --guard 1s -t 1s -n "127.0.0.1:$disguised" >"$directory/doctor" 2>&1
    grep -q -e "$1" "$directory/doctor" || { echo "$product: doctor does not say '$1'"; cat "$directory/doctor"; return 1; }
}

each_row_is_true() {
    [ "$(wc -l <"$directory/rows")" -ge 10 ] || { echo 'the table is not there'; return 1; }
    while read -r product works; do
        words=$(words_of "$product")
        disguise_as "$product"
        try_all
        case $works in
        all)     ended 0 plain set ticket shared fair permits ;;
        plain)   ended 0 plain set && ended 125 ticket shared fair permits && said "${words%|*}" ticket shared fair permits ;;
        nothing) ended 125 plain set ticket shared fair permits && said "${words%|*}" plain set ticket shared fair permits ;;
        esac || return 1
        doctor_says "${words#*|}" || return 1
        kill "$disguise"
        over "$disguise" || :
    done <"$directory/rows"
}
check 'each server fares as redlock(7) says' each_row_is_true
finish
