#!/bin/sh
# One of k permits. As many as k clients may hold one, each has a number, and its token says which.
# shellcheck disable=SC2016,SC2154    # The expressions are perl's, and those of the shells that are run. What lib.sh defines.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

value() { most GET "$1"; }

# slot: of the permit that acquire has printed.
slot() { sed -n 's,^[0-9a-f]*/\([0-9]*\).*,\1,p' "$directory/out"; }

as_many_as_k() {
    taken=
    for k in 1 2 3; do
        is 0 acquire --guard 0 -t 60s --permits 3 a || return 1
        taken="$taken $(slot)"
        [ "$(value "a:$(slot)")" = "$(cut -d / -f 1 "$directory/out")" ] || return 1
    done
    # shellcheck disable=SC2086    # Several words.
    [ "$(printf '%s\n' $taken | sort -u | tr -d '\n')" = 123 ] && is 124 acquire --guard 0 --permits 3 a &&
    is 124 run --guard 0 --permits 3 --wait 100ms a -- true && [ -z "$(value a)" ]
}
check 'as many as there are permits are acquired, each by its number, and not one beyond' as_many_as_k

# Nobody can tell whether a key with such a name is a permit.
are_listed() {
    is 0 acquire --guard 0 -t 60s other:65 && is 0 status --guard 0 && prints '^a:3 \(or permit 3 of a\): held: [0-9a-f]{40} on [23] of 3 nodes' && prints '^other:65: held[:,]' &&
    is 0 status --guard 0 --json && json out '$j->{resource} =~ /^(a:[123]|other:65)$/ || $j->{counts}{held} == 4'
}
check 'where locks are listed, permits are told by their number and name' are_listed

is_handed_on() {
    is 0 acquire --guard 0 -t 5s --permits 2 --holder Alice b && printed=$(cat "$directory/out") && number=$(slot) || return 1
    echo "$printed" | grep -Eq '^[0-9a-f]{40}/[12]:[0-9]+ Alice$' || { echo "$printed"; return 1; }
    is 0 extend --guard 0 -t 60s b "$printed" && [ "$(lasts "b:$number")" -gt 50000 ] &&
    is 0 release --guard 0 b "$printed" && says "^redlock: b:$number: released on [23] of 3 nodes$" && gone "b:$number" &&
    is 123 release --guard 0 b "$printed"
}
check 'the token says which permit it is of, and extend and release find it' is_handed_on

without_ticket() {
    is 0 acquire --guard 0 --no-ticket --permits 2 c && prints '^[0-9a-f]{40}/[12]$' && is 0 release --guard 0 c "$(cat "$directory/out")"
}
check 'without a ticket as well' without_ticket

environment() {
    is 0 run --guard 0 --no-holder --permits 1 d -- sh -c 'echo "$REDLOCK_RESOURCE $REDLOCK_SLOT"; echo "$REDLOCK_TOKEN"' &&
    [ "$(head -n 1 "$directory/out")" = 'd 1' ] && prints '^[0-9a-f]{40}/1$' && gone d:1 &&
    is 0 run --guard 0 --permits 1 d -- "$redlock" run --guard 0 e -- sh -c 'echo "[$REDLOCK_SLOT]"' && prints '^\[\]$'
}
check 'the command that is run finds its slot, and one within it that has a lock does not' environment

# Each holds a directory of its slot, which must not be there before.
no_more_than_k() {
    for k in 1 2 3 4 5 6 7 8 9; do
        "$redlock" run --guard 0 --node-timeout 10s --retry 10ms --permits 2 f -- \
            sh -c 'mkdir "$0-$REDLOCK_SLOT" && sleep 0.1 && rmdir "$0-$REDLOCK_SLOT" && echo "slot $REDLOCK_SLOT"' \
            "$directory/slot" >"$directory/slot-of-$k" 2>&1 &
        begin $!
        eval "runner_$k=$!"
    done
    for k in 1 2 3 4 5 6 7 8 9; do
        eval "over \$runner_$k" || { cat "$directory/slot-of-$k"; return 1; }
    done
    [ "$(cat "$directory"/slot-of-* | sort -u | tr '\n' ' ')" = 'slot 1 slot 2 ' ]
}
check 'of nine that want one of two at once each gets one, and no two the same' no_more_than_k

plain_lock_takes_one() {
    is 0 acquire --guard 0 -t 60s g:1 && is 0 acquire --guard 0 -t 60s --permits 2 g && [ "$(slot)" = 2 ] &&
    is 124 acquire --guard 0 --permits 2 g && is 0 acquire --guard 0 -t 60s --permits 3 g && [ "$(slot)" = 3 ]
}
check "a plain lock on a permit's name takes the permit; another number of permits shares those that both have" plain_lock_takes_one

status() {
    is 0 status --guard 0 --permits 2 h && prints '^h: 0 of 2 permits taken$' &&
    is 0 acquire --guard 0 -t 60s --permits 2 --holder Alice h && number=$(slot) &&
    is 0 status --guard 0 --permits 2 h && prints '^h: 1 of 2 permits taken$' && prints "^  h:$number: held by Alice, last ticket " &&
    prints "^  h:$((3 - number)): free on 3 of 3 nodes" &&
    is 0 acquire --guard 0 -t 60s --permits 2 h && is 124 status --guard 0 --permits 2 h && is 0 status --guard 0 --permits 3 h &&
    is 124 status --guard 0 --permits 2 --json h && [ "$(wc -l <"$directory/out")" -eq 1 ] &&
    json out '$j->{permits} == 2 && $j->{taken} == 2 && @{$j->{slots}} == 2 && $j->{slots}[0]{resource} eq "h:1" &&
              (grep { ($_->{holder} || "") eq "Alice" } @{$j->{slots}}) == 1'
}
check 'status tells how many are taken, and by whom' status

in_json() {
    is 0 acquire --guard 0 --permits 4 --json i && json out '$j->{slot} >= 1 && $j->{slot} <= 4 && $j->{token} =~ m,^[0-9a-f]{40}/$j->{slot}$,' &&
    is 0 acquire --guard 0 --json j && json out '!exists $j->{slot} && $j->{token} =~ /^[0-9a-f]{40}$/'
}
check 'the JSON has the slot' in_json

refused() {
    for number in 0 65 -1 x ''; do
        is 125 acquire --guard 0 --permits "$number" k && says 'is no number of permits: 1 to 64' || return 1
    done
    is 125 acquire --guard 0 --permits 2 -r k -r l && says '^redlock: --permits: of one RESOURCE: name one' &&
    is 125 run --guard 0 --permits 2 --once-per 1d k -- true && says '^redlock: --once-per: the mark of a period needs a lock' &&
    is 125 release --guard 0 -r k -r l "$(printf '%040d/2' 0)" && says 'the TOKEN is that of a permit' &&
    is 125 release --guard 0 k "$(printf '%040d/65' 0)" && says 'a token is 40 lower-case hex digits' &&
    is 125 lead --guard 0 --permits 2 k -- true && says "'--permits' for lead"
}
check 'what is no number of permits, or cannot have any, is refused' refused
finish
