#!/bin/sh
# The command of each processor in $PROCESSORS, which tests/processors/run has built, takes locks on three real servers.
cd "$(dirname "$0")/../.." || exit 1
REDLOCK=/bin/true
. tests/live/lib.sh

start_servers 3
# Tried by numbers, and by a name that is looked up.
by_name=$(echo "$nodes" | sed 's/127\.0\.0\.1/localhost/g')

asked() {
    "$program" "$@" 2>"$directory/said" || { status=$?; cat "$directory/said" >&2; return $status; }
}

runs_a_command() {
    [ "$(asked run --guard 0 --node-timeout 10s -n "$1" door -- echo mine)" = mine ]
}

acquires_extends_and_releases() {
    token=$(asked acquire --guard 0 --node-timeout 10s --ttl 60s -n "$nodes" door) || return 1
    "$program" run --guard 0 --node-timeout 10s --wait 0 -q -n "$nodes" door -- echo mine
    [ $? = 124 ] || { echo 'it was not refused while another had it'; return 1; }
    asked extend --guard 0 --node-timeout 10s --ttl 60s -n "$nodes" door "$token" &&
        asked release --guard 0 --node-timeout 10s -n "$nodes" door "$token" && [ -z "$(ask 0 get door)" ]
}

for name in $PROCESSORS; do
    program=$BUILD/redlock-$name
    check "a command runs under a lock on $name" runs_a_command "$nodes"
    check "servers are found by name on $name" runs_a_command "$by_name"
    check "a lock is acquired, refused to another, extended and released on $name" acquires_extends_and_releases
done
finish
