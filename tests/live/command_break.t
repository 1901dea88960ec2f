#!/bin/sh
# shellcheck disable=SC1091,SC2016,SC2154    # What lib.sh defines. The expressions are perl's, and those of the shells that are run.
# redlock break takes a lock from its holder, by its token and never by its name.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 5
admin=$(dirname "$redlock")/redlock-admin

breaks_a_plain_lock() {
    is 0 acquire --guard 0 -t 1h --no-ticket door && token=$(token) &&
    is 0 break --guard 0 door --token "$token" && says '^redlock: door: broken: removed from 5 of 5 nodes$' &&
    says '^redlock: door: if its holder lives it is not told: until it extends or releases, for (59 min 59 s|60 min 0 s), it may work on' &&
    is_nowhere door && is_nowhere 'door#ticket' && is 0 acquire --guard 0 door
}
check 'a lock is removed from all nodes, and it is said what that means for a holder that lives' breaks_a_plain_lock

breaks_a_named_holder() {
    is 0 acquire --guard 0 -t 1h --holder 'backup of anna' named && token=$(token) && ticket=$(cut -d : -f 2 "$directory/out" | cut -d ' ' -f 1) &&
    is 124 status --guard 0 named && shown=$(sed -n 's/.*node 0 .*held by \([0-9a-f]*\).*/\1/p' "$directory/out") && [ "$shown" = "$token" ] &&
    is 0 break --guard 0 --token "$shown..." named && says 'if its holder, backup of anna, lives .* tickets below [0-9]+$' &&
    is_nowhere named && [ "$(most GET 'named#ticket')" = $((ticket + 1)) ] && [ "$(most PTTL 'named#ticket')" -gt 80000000 ] &&
    is 0 acquire --guard 0 named && [ "$(cut -d : -f 2 "$directory/out")" -gt $((ticket + 1)) ]
}
check "a holder's name need not be given, and the next ticket is larger by more than one" breaks_a_named_holder

# The token is all that acquire has printed, and behind that the options of acquire.
breaks_as_printed() {
    broken=$1
    shift
    is 0 acquire --guard 0 -t 1h "$@" printed && is 0 break --guard 0 --token "$(cat "$directory/out")" "$broken" &&
    says 'removed from 5 of 5 nodes' && is_nowhere "$broken"
}
breaks_each_kind() {
    breaks_as_printed printed --holder 'backup of anna' && breaks_as_printed printed --fair && breaks_as_printed printed:1 --permits 1 &&
    breaks_as_printed printed --no-ticket --holder bob
}
check 'a token is taken as acquire prints it, with kind, ticket and holder' breaks_each_kind

# Node 0 has forgotten the counter, and others might, so all of them get the larger one.
raises_lost_counters() {
    is 0 acquire --guard 0 -t 1h counted && token=$(cat "$directory/out") && ticket=${token##*:} &&
    ask 0 DEL 'counted#ticket' >/dev/null && ask 1 SET 'counted#ticket' $((ticket + 7000)) >/dev/null &&
    is 0 break --guard 0 --token "$token" counted && is_at 'counted#ticket' $((ticket + 7001)) 0 1 2 3 4 &&
    is 0 acquire --guard 0 -t 1h uncounted && token=$(cat "$directory/out") && ticket=${token##*:} &&
    is 0 break --no-ticket --token "$token" uncounted && is_at 'uncounted#ticket' "$ticket" 0 1 2
}
check 'each node gets a counter that is larger than the largest; --no-ticket leaves them' raises_lost_counters

refuses() {
    is 0 acquire --guard 0 -t 1h kept && token=$(token) || return 1
    is 125 break --guard 0 kept && says "^redlock: --token is missing: .*'redlock status kept' shows its token" &&
    says "^Try 'redlock-admin break --help' for more information" && is 125 break --guard 0 --token '' kept &&
    is 125 break --guard 0 --token "$token" && says 'a RESOURCE is missing' &&
    is 125 break --guard 0 --token 17 'kept#ticket' && says 'ends in #ticket' && is 125 break --guard 0 --token 17 '' &&
    is 123 break --guard 0 --token 0123456789012345678901234567890123456789 kept && says 'kept: not broken: this token holds it on no node' &&
    is 123 break --guard 0 --token "${token%????}" kept && is 123 break --guard 0 --token "$token" other && [ "$(most GET kept)" = "$token" ]
}
check 'without the token, or with another, or a part of it, nothing is removed' refuses

# A rival got node 4, and another library's value is no token of ours.
leaves_others_alone() {
    is 0 acquire --guard 0 -t 1h rival && token=$(token) && ask 4 SET rival somebody >/dev/null &&
    is 0 break --guard 0 -v --token "$token" rival && says 'broken: removed from 4 of 5 nodes' && is_at rival somebody 4 && is_at rival '' 0 1 2 3 &&
    is 0 break --guard 0 --json --token somebody rival && json out '$j->{removed} == 1 && $j->{status} eq "OK" && !defined $j->{left_ms}' &&
    is_nowhere rival
}
check 'what another client has set stays; any value can be named' leaves_others_alone

several_begin_so() {
    token=0123456789012345678901234567890123456789
    ask 0 SET two "$token a" >/dev/null && ask 1 SET two "$token b" >/dev/null && is 125 break --guard 0 --token $token two &&
    says 'several values begin so' && is 0 break --guard 0 --token "$token a" two && is_at two '' 0 && is_at two "$token b" 1 &&
    ask 2 SET long "$(printf '%0600d' 0)" >/dev/null && is 125 break --guard 0 --token "$(printf '%040d' 0)" long && says 'too long for a token' &&
    [ -n "$(ask 2 GET long)" ]
}
check 'of several values that begin so none is removed' several_begin_so

of_another_kind() {
    everywhere ZADD shared 1 0123456789012345678901234567890123456789 >/dev/null
    is 122 break --guard 0 --token 0123456789012345678901234567890123456789 shared && says 'node 0 .*WRONGTYPE.*a lock of another kind' &&
    [ "$(most ZCARD shared)" = 1 ]
}
check 'a lock of another kind is left alone' of_another_kind

# Readers are in a set beside the key.
of_readers() {
    is 0 acquire --guard 0 -t 60s --shared read && token=$(sed 's,/.*,,' "$directory/out") && is 0 acquire --guard 0 -t 60s --shared read &&
    is 123 break --guard 0 --token "$token" read && says "not broken: it is shared: .* 'redlock release' .* with /s behind the 40 digits" &&
    is 124 status --guard 0 read && prints 'shared by 2' && is 0 release --guard 0 read "$token/s" && is 124 status --guard 0 read &&
    prints 'shared by 1'
}
check 'of a reader it says what takes its part away' of_readers

ends_the_holder() {
    start run --guard 0 -t 3s held -- sh -c 'echo "$REDLOCK_TOKEN"; exec sleep 100'
    within 10 prints '^[0-9a-f]{40} ' || return 1
    token=$(cut -d ' ' -f 1 "$directory/out")
    "$redlock" break --guard 0 --token "$token" held 2>"$directory/said" || return 1
    over "$started"
    status=$?
    cat "$directory/said"
    [ $status = 123 ] && says 'held: lost: too few nodes still have our token' && is_nowhere held
}
check 'a holder that lives finds out when it extends' ends_the_holder

wakes_a_waiter() {
    is 0 acquire --guard 0 -t 1h awaited && token=$(token)
    start run --guard 0 --retry 30s awaited -- echo mine
    within 10 test "$(most ZCARD 'awaited#waiters')" = 1 || sleep 2
    "$redlock" break --guard 0 --token "$token" awaited 2>/dev/null && within 10 prints mine && over "$started"
}
check 'a client that waits is woken' wakes_a_waiter

nodes_are_away() {
    is 0 acquire --guard 0 -t 1h away && token=$(token) && on 4 STOP
    is 0 break --node-timeout 2s --token "$token" away -v && says 'removed from 4 of 5 nodes' && says 'node 4 .*no answer' && ! says 'restarted'
    good=$?
    on 3 STOP && on 2 STOP
    is 122 break --node-timeout 2s --token "$token" away && says 'away: not broken: too few nodes answered' &&
    says 'node 3 \(127.0.0.1:[0-9]+\): .*no answer.* \(it hangs'
    good=$((good + $?))
    is 122 break --node-timeout 2s --json --token "$token" away && json out '$j->{removed} == 0 && $j->{nodes}[3]{outcome} eq "unknown"'
    good=$((good + $?))
    on 2 CONT && on 3 CONT && on 4 CONT
    [ $good = 0 ]
}
check 'nodes that do not answer are named; without a quorum it is not done' nodes_are_away

waits_for_a_dead_holder() {
    start run --guard 0 -t 3s dead -- sh -c 'echo "$REDLOCK_TOKEN"; exec sleep 100'
    within 10 prints '^[0-9a-f]{40} ' || return 1
    token=$(cut -d ' ' -f 1 "$directory/out")
    kill -KILL "$started"
    over "$started"
    is 0 break --guard 0 --wait-loss --token "$token" dead && says 'dead: waits for up to [0-9.]+ m?s until its holder has lost it' &&
    says 'dead: lost by its holder, its TTL has passed: removed from' && ! says 'it may work on' && is_nowhere dead
}
check '--wait-loss waits until the TTL has passed' waits_for_a_dead_holder

finds_a_living_holder() {
    start run --guard 0 -t 3s alive -- sh -c 'echo "$REDLOCK_TOKEN"; exec sleep 100'
    within 10 prints '^[0-9a-f]{40} ' || return 1
    value=$(cat "$directory/out")
    "$redlock" break --guard 0 --node-timeout 10s --wait-loss --token "${value%% *}" alive 2>"$directory/said"
    status=$?
    [ "$(most GET alive)" = "$value" ] && [ $status = 124 ] && grep -q 'alive: not broken: its holder lives, and has extended it' "$directory/said"
    good=$?
    cat "$directory/said"
    "$redlock" break --guard 0 --node-timeout 10s --wait-loss -E 7 --json --token "${value%% *}" alive >"$directory/said" 2>&1
    [ $? = 7 ] && grep -q '"status":"TAKEN".*"removed":0' "$directory/said" && [ $good = 0 ]
    good=$?
    kill -TERM "$started"
    over "$started"
    return $good
}
check '--wait-loss leaves a lock alone whose holder extends it' finds_a_living_holder

finds_a_release() {
    is 0 acquire --guard 0 -t 1h freed && token=$(token)
    "$redlock" break --guard 0 --node-timeout 10s --wait-loss --token "$token" freed 2>"$directory/said" &
    breaker=$!
    begin $breaker
    within 10 grep -q 'waits for up to' "$directory/said" || return 1
    "$redlock" release --guard 0 freed "$token" 2>/dev/null
    over $breaker
    [ $? = 123 ] && grep -q 'freed: not broken: its holder has released it meanwhile' "$directory/said"
}
check '--wait-loss tells that the holder has released it' finds_a_release

for_ever() {
    everywhere SET eternal 0123456789012345678901234567890123456789 >/dev/null
    is 125 break --guard 0 --wait-loss --token 0123456789012345678901234567890123456789 eternal && says 'the key has no TTL' &&
    is 0 break --guard 0 --token 0123456789012345678901234567890123456789 eternal && says 'for ever, it may work on'
}
check 'a key without a TTL has no loss to wait for' for_ever

is_ended_by_a_signal() {
    is 0 acquire --guard 0 -t 1h long-wait && token=$(token)
    "$redlock" break --guard 0 --node-timeout 10s --wait-loss --token "$token" long-wait 2>"$directory/said" &
    breaker=$!
    begin $breaker
    within 10 grep -q 'waits for up to' "$directory/said" || return 1
    kill -TERM $breaker
    over $breaker
    [ $? = 143 ] && [ "$(most GET long-wait)" = "$token" ]
}
check 'a signal ends the waiting, and nothing is removed' is_ended_by_a_signal

needs_only_its_acl() {
    words=$(sed -n '/^\.\\" acl-break/,/^\.Ed/p' tools/man/redlock.7 | sed -n '/^[~&+]/p')
    # shellcheck disable=SC2086    # Several words.
    for k in 0 1 2 3 4; do ask $k ACL SETUSER breaker reset on '>pw' $words >/dev/null || return 1; done
    is 0 acquire --guard 0 -t 1h lock:a && token=$(cat "$directory/out") || return 1
    REDLOCK_USER=breaker REDLOCK_PASSWORD=pw is 0 break --guard 0 --token "$token" lock:a && says 'removed from 5 of 5 nodes' &&
    [ "$(ask 0 ACL LOG)" = '*0' ] && is 0 acquire --guard 0 -t 1h lock:b && token=$(cat "$directory/out") || return 1
    for k in 0 1 2 3 4; do ask $k ACL SETUSER breaker -eval >/dev/null; done
    REDLOCK_USER=breaker REDLOCK_PASSWORD=pw is 125 break --guard 0 --token "$token" lock:b &&
    says 'node 0 .*to break a lock takes ~RESOURCE[*] .*[+]eval: NOPERM' || return 1
    for k in 0 1 2 3 4; do ask $k ACL SETUSER breaker +eval -del >/dev/null; done
    REDLOCK_USER=breaker REDLOCK_PASSWORD=pw is 125 break --guard 0 --token "$token" lock:b &&
    says 'node 0 .*to break a lock takes ~RESOURCE[*] .*[+]eval: ERR (The user executing the script|ACL failure in script)'
}
check 'the guide says what its user must be allowed' needs_only_its_acl

# ---- How redlock finds it ----

is_found() {
    mkdir "$directory/beside" "$directory/alone" "$directory/path" && cp "$redlock" "$directory/beside/redlock" &&
    cp "$redlock" "$directory/alone/redlock" && printf '#!/bin/sh\necho "beside: $*"\n' >"$directory/beside/redlock-admin" &&
    printf '#!/bin/sh\necho "path: $*"\n' >"$directory/path/redlock-admin" && chmod +x "$directory"/*/redlock-admin || return 1
    [ "$("$directory/beside/redlock" -n a break door --token x)" = 'beside: -n a break door --token x' ] &&
    [ "$(PATH=$directory/path:$PATH "$directory/alone/redlock" break door)" = 'path: break door' ] &&
    [ "$(PATH=$directory/path:$PATH "$directory/alone/redlock" help break)" = 'path: help break' ] &&
    env PATH=/nonexistent "$directory/alone/redlock" break door >"$directory/out" 2>"$directory/err"
    [ $? = 125 ] && says "^redlock: 'break' is done by redlock-admin, which cannot be run: No such file .*'make install' puts it beside redlock" &&
    is 125 braek && says "did you mean 'break'\?"
}
check 'redlock finds redlock-admin beside itself, or in PATH, or says where to get it' is_found

has_help() {
    "$admin" help >"$directory/out" && prints '^  break RESOURCE' && "$admin" --version | grep -q '^redlock-admin [0-9]' &&
    "$admin" break --help >"$directory/out" && prints '--wait-loss' && prints 'works on BESIDE the next holder' && is 0 break --help && prints '--token' &&
    ! "$admin" run door -- true 2>"$directory/err" && says "'run' is none of break"
}
check 'redlock-admin has its own help' has_help

finish
