#!/bin/sh
# Fair locks are granted in strict order.
# shellcheck disable=SC2016,SC2154    # The expressions are perl's, and those of the shells that are run. What lib.sh defines.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

queued() { [ "$(most ZCARD "$1#queue")" = "$2" ]; }

# wait_for NAME NUMBER WORD...: in line as the NUMBERth when it returns; writes NUMBER into a file when it holds the lock. Sets $waiter.
wait_for() {
    fair_name=$1 fair_number=$2
    shift 2
    "$redlock" run --node-timeout "$patience" --guard 0 -t 30s --fair "$@" "$fair_name" -- \
        sh -c "printf %s $fair_number >>'$directory/order-$fair_name'" >"$directory/said-$fair_name-$fair_number" 2>&1 &
    waiter=$!
    begin $waiter
    within 20 queued "$fair_name" "$fair_number"
}
got_in() { [ "$(cat "$directory/order-$1" 2>/dev/null)" = "$2" ]; }

# Two die before the lock is released. One is gone; the other is stopped, so that its connections stand,
# and only the end of its lease shows that it no longer asks. The third one's fate is looked at below.
heads_die() {
    is 0 acquire --guard 0 -t 30s --fair b && printed=$(cat "$directory/out") && wait_for b 1 && echo "$waiter" >"$directory/sleeper" &&
    wait_for b 2 && killed=$waiter && wait_for b 3 && stop "$(cat "$directory/sleeper")" && kill -KILL "$killed" &&
    is 0 release --guard 0 b "$printed"
}
check 'three wait, of whom two die at the head' heads_die

in_order() {
    is 0 acquire --guard 0 -t 30s --fair a && printed=$(cat "$directory/out") && prints '^[0-9a-f]{40}/f:[0-9]+$' &&
    wait_for a 1 && wait_for a 2 --no-wake-ups && wait_for a 3 || return 1
    is 124 acquire --guard 0 --fair a && is 124 acquire --guard 0 a && is 0 extend --guard 0 -t 30s a "$printed" &&
    [ "$(most GET 'a#grant')" = 9007199254740991 ] && is 0 release --guard 0 a "$printed" && over "$waiter" &&
    got_in a 123 && gone a && queued a 0
}
check 'waiters get in in the order in which they came, called or not, and the token says that it is fair' in_order

# A client that waits without --fair is a stranger, and the same lock.
beside_plain() {
    is 0 acquire --guard 0 -t 30s c && printed=$(cat "$directory/out") && wait_for c 1 && is 124 acquire --guard 0 c &&
    is 123 extend --guard 0 -t 60s c "${printed%%:*}/f" && [ -z "$(most GET 'c#grant')" ] &&
    is 0 release --guard 0 c "$printed" && over "$waiter" && got_in c 1
}
check 'a plain client and a fair one exclude each other, and the release of the one calls the other' beside_plain

within_run() {
    is 0 run --guard 0 --fair --no-holder d -- sh -c 'echo "$REDLOCK_TOKEN"; "$0" extend --guard 0 d "$REDLOCK_TOKEN"; "$0" acquire --guard 0 --fair d; echo $?' \
        "$redlock" && prints '^[0-9a-f]{40}/f$' && prints '^124$' && gone d &&
    is 0 run --guard 0 --fair --once-per 1d e -- true && is 121 run --guard 0 --fair --once-per 1d e -- true &&
    is 0 lead --guard 0 --fair --once f -- true && gone e f
}
check 'run, lead and the mark of a period take it, and its command extends it by REDLOCK_TOKEN' within_run

traced() {
    is 0 acquire --guard 0 --trace=votes -t 60s --fair g && says 'EVALSHA acquire 1 g token=.* skew=10000 turn,round,renews,entry=0 1 0 ' &&
    is 0 release --guard 0 g "$(cat "$directory/out")" && is 0 acquire --guard 0 --json --fair g && json out '$j->{token} =~ m,/f$,'
}
check 'the trace names the place that a poll tells' traced

# The rules of the guide suffice, so nothing that is sent is refused.
acl_suffices() {
    # shellcheck disable=SC2046    # Rules are several words.
    everywhere ACL SETUSER least on '>secret' $(block acl) $(block acl-fair) >"$directory/acl" &&
    [ "$(grep -c '^OK$' "$directory/acl")" = 3 ] && least=$(echo "$nodes" | sed 's|127|redis://least:secret@127|g') &&
    is 0 acquire --guard 0 -n "$least" -t 60s --fair lock:door && printed=$(cat "$directory/out") &&
    wait_for lock:door 1 -n "$least" && is 124 acquire --guard 0 -n "$least" --fair lock:door &&
    is 0 extend --guard 0 -n "$least" lock:door "$printed" && is 0 release --guard 0 -n "$least" lock:door "$printed" &&
    over "$waiter" && gone lock:door && [ "$(everywhere ACL LOG | sort -u)" = '*0' ]
}
check 'the ACL rules suffice' acl_suffices

refused() {
    is 125 acquire --guard 0 --fair --permits 2 l && says '^redlock: --fair: strict order is of one RESOURCE' &&
    is 125 run --guard 0 --fair --shared l -- true && says '^redlock: --fair: strict order is of one RESOURCE' &&
    is 125 acquire --guard 0 --fair -r l -r m && says '^redlock: --fair: strict order is of one RESOURCE' &&
    is 125 release --guard 0 -s l "$(printf '%040d/f' 0)" && says '^redlock: --fair: strict order is of one RESOURCE' &&
    is 125 status --guard 0 --fair l && says "'--fair' for status" &&
    for end in queue lease grant; do
        is 125 acquire --guard 0 "l#$end" && says ": it ends in #$end" || return 1
    done
}
check 'what cannot be fair is refused, and the keys beside a fair lock are no resources' refused

head_is_dead() {
    within 20 got_in b 3 && go_on "$(cat "$directory/sleeper")" && within 20 got_in b 31
}
check 'a waiter that has died at the head holds the others up for its lease alone' head_is_dead
finish
