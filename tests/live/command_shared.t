#!/bin/sh
# Shared locks. Readers are beside each other, a writer is alone.
# shellcheck disable=SC2016,SC2154    # The expressions are perl's, and those of the shells that are run. What lib.sh defines.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

value() { most GET "$1"; }
readers() { most ZCARD "$1#readers"; }

beside_each_other() {
    is 0 acquire --guard 0 -t 60s --shared a && first=$(cat "$directory/out") && is 0 acquire --guard 0 -t 60s --shared a &&
    second=$(cat "$directory/out") && [ "$(value a)" = '~shared' ] && [ "$(readers a)" = 2 ] && is 124 acquire --guard 0 a &&
    is 124 run --guard 0 --wait 100ms a -- true && is 0 release --guard 0 a "$first" && says '^redlock: a: released on [23] of 3 nodes$' &&
    is 124 acquire --guard 0 a && is 0 release --guard 0 a "$second" && gone a && is 0 acquire --guard 0 -t 60s a &&
    is 124 acquire --guard 0 --shared a
}
check 'readers hold it beside each other and keep a writer out until the last has released; a writer keeps readers out' beside_each_other

is_handed_on() {
    is 0 acquire --guard 0 -t 5s --shared --holder Alice b && printed=$(cat "$directory/out") &&
    prints '^[0-9a-f]{40}/s:[0-9]+ Alice$' && is 0 extend --guard 0 -t 60s b "$printed" && [ "$(lasts b)" -gt 50000 ] &&
    is 0 release --guard 0 b "$printed" && gone b && is 123 release --guard 0 b "$printed" && is 123 extend --guard 0 b "$printed"
}
check 'the token says that it is shared, and extend and release need not be told' is_handed_on

by_option() {
    is 0 acquire --guard 0 -t 5s --no-ticket --shared c && token=$(cut -d / -f 1 "$directory/out") &&
    is 0 extend --guard 0 -t 60s --shared c "$token" && [ "$(lasts c)" -gt 50000 ] && is 0 release --guard 0 -s c "$token" && gone c
}
check 'they may be told all the same' by_option

environment() {
    is 0 run --guard 0 --shared --no-holder d -- sh -c 'echo "$REDLOCK_RESOURCE"; echo "$REDLOCK_TOKEN"; "$0" run --guard 0 --shared d -- echo within
        "$0" acquire --guard 0 d; echo $?; exec "$0" extend --guard 0 d "$REDLOCK_TOKEN"' "$redlock" &&
    [ "$(head -n 1 "$directory/out")" = d ] && prints '^[0-9a-f]{40}/s$' && prints '^within$' && prints '^124$' && gone d
}
check 'run shares it, and its command extends it by REDLOCK_TOKEN' environment

has_readers() { [ "$(readers "$1")" != 0 ]; }
is_kept() {
    start run --guard 0 -t 2s --shared e -- sleep 4
    within 10 has_readers e || return 1
    sleep 3
    is 124 acquire --guard 0 e && is 0 acquire --guard 0 --shared e && is 0 release --guard 0 e "$(cat "$directory/out")" && over "$started" && gone e
}
check 'run keeps it for longer than its TTL' is_kept

mixed() {
    is 0 acquire --guard 0 -t 60s -r ledger -s account && printed=$(cat "$directory/out") && prints '^[0-9a-f]{40}:[0-9]+$' &&
    [ "$(value 'account#ticket')" = "${printed#*:}" ] && [ "$(value 'ledger#ticket')" = "${printed#*:}" ] &&
    [ "$(value account)" = '~shared' ] && [ "$(value ledger)" = "$(echo "$printed" | cut -d : -f 1)" ] &&
    is 0 acquire --guard 0 -t 60s --shared account && other=$(cat "$directory/out") && is 124 acquire --guard 0 account &&
    is 124 acquire --guard 0 --shared ledger && is 124 acquire --guard 0 -s ledger -s other && gone other &&
    is 0 extend --guard 0 -t 80s -s account -r ledger "$printed" && [ "$(lasts ledger)" -gt 70000 ] &&
    is 0 release --guard 0 -r ledger -s account "$printed" && gone ledger && [ "$(readers account)" = 1 ] &&
    is 0 release --guard 0 account "$other" && gone account
}
check 'several, some shared and some not: all or nothing' mixed

all_shared() {
    is 0 acquire --guard 0 -t 60s -s f -s g && prints '/s' && is 0 acquire --guard 0 -t 60s --shared -r f -r g && prints '/s' &&
    is 0 release --guard 0 -r f -r g "$(cat "$directory/out")" && [ "$(readers f)$(readers g)" = 11 ]
}
check 'several that are all shared' all_shared

waits() {
    is 0 acquire --guard 0 -t 60s --shared h && first=$(cat "$directory/out") || return 1
    "$redlock" run --guard 0 -w 60s h -- true &
    begin $!
    waiter=$!
    within 10 has_writer h && is 124 status --guard 0 h && prints '^h: shared by 1, free in at most [0-9.]+ s, on [23] of 3 nodes' &&
    prints "^  shared by $(echo "$first" | cut -d / -f 1), [0-9.]+ s left, on [23] of 3 nodes" && prints '^  somebody waits to have it alone' &&
    is 0 release --guard 0 h "$first" && over "$waiter"
}
has_writer() { [ -n "$(value "$1#writer")" ]; }
check 'status shows readers and the writer that waits, whom the last release wakes' waits

# A reader that one node has is none, the longest of its lives counts, and of two writers the one that came first.
nodes_differ() {
    is 0 acquire --guard 0 -t 60s --shared differ && token=$(cut -d / -f 1 "$directory/out") && now=$(date +%s) &&
    ask 0 ZADD 'differ#readers' $((now + 500))000 "$token" >/dev/null && ask 1 ZADD 'differ#readers' $((now + 90))000 "$token" >/dev/null &&
    ask 2 ZADD 'differ#readers' $((now + 70))000 "$token" >/dev/null &&
    ask 2 ZADD 'differ#readers' $((now + 500))000 "$(printf '%040d' 9)" >/dev/null &&
    ask 0 SET 'differ#writer' "$((now - 50))000000 x" >/dev/null && ask 2 SET 'differ#writer' "$((now - 20))000000 y" >/dev/null &&
    is 124 status --guard 0 --json differ &&
    json out '@{$j->{readers}} == 1 && $j->{readers}[0]{ttl_ms} > 400000 && $j->{writer_waits_since} == '"$((now - 50))000000"
}
check 'where nodes differ a quorum makes a reader, the longest of its lives counts, and the writer that came first' nodes_differ

in_json() {
    is 0 acquire --guard 0 -t 60s --json --shared --holder Alice i && json out '$j->{shared} && $j->{token} =~ m,^[0-9a-f]{40}/s$,' &&
    is 0 acquire --guard 0 -t 60s --shared i && is 124 status --guard 0 --json i && [ "$(wc -l <"$directory/out")" -eq 1 ] &&
    json out '$j->{verdict} eq "held" && $j->{shared} && @{$j->{readers}} == 2 && !$j->{more_readers} && !defined $j->{writer_waits_since} &&
              (grep { $_->{value} =~ /^[0-9a-f]{40} Alice$/ && $_->{ttl_ms} > 1000 && $_->{agreeing} >= 2 } @{$j->{readers}}) == 1' &&
    is 0 acquire --guard 0 --json -t 60s j && json out '!exists $j->{shared}' && is 124 status --guard 0 --json j && json out '!exists $j->{shared}'
}
check 'the JSON tells of readers' in_json

many() {
    for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
        is 0 acquire --guard 0 -t 60s --no-ticket --shared --holder "a rather long name of reader number $k, to fill the answer" k || return 1
    done
    is 124 status --guard 0 k && prints '^k: shared by more than 16, ' && [ "$(grep -c '^  shared by ' "$directory/out")" = 16 ]
}
check 'status shows sixteen of many' many

# The rules of the guide suffice, so nothing that is sent is refused.
acl_suffices() {
    # shellcheck disable=SC2046    # Rules are several words.
    everywhere ACL SETUSER least on '>secret' $(block acl) $(block acl-shared) >"$directory/acl" &&
    [ "$(grep -c '^OK$' "$directory/acl")" = 3 ] && least=$(echo "$nodes" | sed 's|127|redis://least:secret@127|g') &&
    is 0 acquire --guard 0 -n "$least" -t 60s --shared lock:door && token=$(cat "$directory/out") &&
    is 0 acquire --guard 0 -n "$least" -t 60s --shared lock:door && other=$(cat "$directory/out") &&
    is 124 acquire --guard 0 -n "$least" --wait 300ms lock:door && is 0 extend --guard 0 -n "$least" lock:door "$token" &&
    is 124 status --guard 0 -n "$least" lock:door && prints '^lock:door: shared by 2, ' &&
    is 0 release --guard 0 -n "$least" lock:door "$token" && is 0 release --guard 0 -n "$least" lock:door "$other" &&
    is 0 run --guard 0 -n "$least" -r lock:door -s lock:gate -- true && ! grep -q NOPERM "$directory/err" &&
    [ "$(everywhere ACL LOG | sort -u)" = '*0' ]
}
check 'the ACL rules suffice' acl_suffices

traced() {
    is 0 acquire --guard 0 --trace=votes -t 60s --shared m && says 'EVALSHA acquire 1 m token=.* modes=s arrived=[0-9]+ ' &&
    printed=$(cat "$directory/out") && is 0 extend --guard 0 --trace=votes m "$printed" && says 'EVALSHA extend 1 m token=.* modes=s' &&
    is 0 acquire --guard 0 --trace=votes --permits 2 n && says 'EVALSHA acquire 1 n token=.* permits=2 slot='
}
check 'the trace names what the scripts of shared locks are told' traced

reserved() {
    for end in readers writer; do
        is 125 acquire --guard 0 "l#$end" && says ": it ends in #$end" || return 1
    done
}
check 'the keys beside a shared lock are no resources' reserved

refused() {
    is 125 acquire --guard 0 --shared --permits 2 l && says '^redlock: --permits: a permit has one holder, and is not shared' &&
    is 125 run --guard 0 --shared --once-per 1d l -- true && says '^redlock: --once-per: the mark of a period needs a lock of its own' &&
    is 125 acquire --guard 0 -r l -s l && says "^redlock: --shared-resource: 'l' is named twice" &&
    is 125 lead --guard 0 --shared l -- true && says "'--shared' for lead" &&
    is 125 release --guard 0 -s l "$(printf '%040d/2' 0)" && says 'of one RESOURCE that is not shared'
}
check 'what cannot be shared is refused' refused
finish
