#!/bin/sh
# Several resources in one lock, all or nothing.
# shellcheck disable=SC2016    # The expressions are perl's, and those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

value() { most GET "$1"; }

whole_set() {
    is 0 acquire --guard 0 -r b -r a -r c && printed=$(cat "$directory/out") || return 1
    for name in a b c; do
        [ "$(value $name):$(value $name#ticket)" = "$printed" ] || return 1
    done
    is 0 extend --guard 0 -t 60s -r a -r c -r b "$printed" && [ "$(lasts a)" -gt 50000 ] && [ "$(lasts c)" -gt 50000 ] &&
    is 0 release --guard 0 -r c -r b -r a "$printed" && says '^redlock: c, b, a: released on [23] of 3 nodes$' &&
    gone a b c
}
check 'all are acquired by one token and one ticket, extended and released, in whatever order they are named' whole_set

nothing() {
    is 0 acquire --guard 0 -t 60s e && is 124 acquire --guard 0 -r d -r e -r f && says '^redlock: d, e, f: held by somebody else' &&
    gone d f && is 124 run --guard 0 --wait 100ms -r d -r e -- true && gone d &&
    is 0 acquire --guard 0 -t 60s -r d -r f && is 124 acquire --guard 0 f
}
check 'where one is taken none is acquired' nothing

without_ticket() {
    is 0 acquire --guard 0 --no-ticket -r g -r h && prints '^[0-9a-f]{40}$' && [ "$(value g)" = "$(cat "$directory/out")" ] &&
    [ "$(value h)" = "$(value g)" ] && [ -z "$(value g#ticket)$(value h#ticket)" ]
}
check 'without a ticket as well' without_ticket

environment() {
    is 0 run --guard 0 --no-holder -r 'i j' -r k -- sh -c 'echo "$REDLOCK_RESOURCE"; echo "$REDLOCK_TOKEN:$REDLOCK_TICKET"' &&
    [ "$(head -n 2 "$directory/out")" = "$(printf 'i j\nk')" ] && [ "$(tail -n 1 "$directory/out" | cut -d : -f 2)" = "$(value k#ticket)" ] &&
    is 4 run --guard 0 -r k sh -c 'exit 4' --json && is 5 run -r k --guard 0 -r l -- sh -c 'exit 5' && gone k l
}
check 'the command that is run finds each on a line of REDLOCK_RESOURCE, and its options are its own' environment

has_value() { [ -n "$(value "$1")" ]; }
is_kept() {
    start run --guard 0 -t 4s -v -r m -r n -- sh -c 'until [ -e "$0" ]; do sleep 0.1; done' "$directory/is-kept"
    within 10 has_value m || return 1
    sleep 5
    is_held=$(value m)
    [ -n "$is_held" ] && [ "$is_held" = "$(value n)" ] && : >"$directory/is-kept" && over "$started"
}
check 'run keeps all of them' is_kept

# Six that want two in one order, and six in the other. Each holds a directory that must not be there before.
no_deadlock() {
    for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
        [ $((k % 2)) = 0 ] && order='-r left -r right' || order='-r right -r left'
        # shellcheck disable=SC2086    # Two options.
        "$redlock" run --guard 0 --node-timeout 10s --retry 10ms $order -- sh -c 'mkdir "$0" && sleep 0.05 && rmdir "$0" && echo well' \
            "$directory/alone" >"$directory/alone-$k" 2>&1 &
        begin $!
        eval "runner_$k=$!"
    done
    for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
        eval "over \$runner_$k" || return 1
        [ "$(cat "$directory/alone-$k")" = well ] || { cat "$directory/alone-$k"; return 1; }
    done
}
check 'clients that name two in different orders exclude each other and do not wait for ever' no_deadlock

in_json() {
    is 0 acquire --guard 0 --json -r o -r 'p"' && json out '"@{$j->{resources}}" eq q(o p") && !exists $j->{resource} && $j->{ticket}' &&
    is 124 acquire --guard 0 --json -r o && json out '$j->{resource} eq "o" && !exists $j->{resources}'
}
check 'the JSON lists several, and tells of one as ever' in_json

in_turn() {
    is 0 acquire --guard 0 -t 60s s && is 124 status --guard 0 -r r -r s -r t && prints '^r: free on 3 of 3' &&
    prints "^s: held by $(value s) " && prints '^t: free on 3 of 3' && is 0 status --guard 0 -r r -r t &&
    is 124 status --guard 0 --json -r s -r r && [ "$(wc -l <"$directory/out")" -eq 2 ] &&
    json out '$j->{resource} eq "r" && $j->{verdict} eq "free"' && is 125 status --guard 0 -r '' -r r && ! prints free >/dev/null
}
check 'status shows each in turn, and its exit status is the worst of them' in_turn

# ---- Limits ----

# names COUNT SIZE: so many options, for names of that size.
names() {
    for k in $(seq 1 "$1"); do printf -- "-r %0$2d " "$k"; done
}
# shellcheck disable=SC2046    # Options are several words.
limits() {
    is 0 acquire --guard 0 $(names 16 2) && [ "$(value 16)" = "$(token)" ] &&
    is 0 release --guard 0 $(names 16 2) "$(cat "$directory/out")" && gone 16 &&
    is 125 acquire --guard 0 $(names 17 2) && says "'17' is one too many: at most 16" &&
    is 0 acquire --guard 0 $(names 2 252) && is 125 acquire --guard 0 $(names 2 253) &&
    says ': 2 bytes too long, all names together, each but the first with 8 bytes more$'
}
check 'there may be 16 of them, with 512 bytes together, and not more' limits

finish
