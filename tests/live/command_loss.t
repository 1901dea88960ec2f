#!/bin/sh
# redlock run when the lock is lost: ends the command before another client can have the lock.
# shellcheck disable=SC2016    # The expressions are perl's, and those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 5
patience=500ms      # Nodes hang here, and that is to be noticed.

stop_three() {
    for k in 0 1 2; do on $k STOP; done
}
continue_three() {
    for k in 0 1 2; do on $k CONT; done
}

# A command that writes down when it gets SIGTERM, and goes on; every 10 ms it writes down that it lives.
cat >"$directory/stubborn" <<'END'
#!/usr/bin/env perl
use Time::HiRes qw(time sleep);
open my $term, '>', "$ARGV[0]-term";
open my $life, '>', "$ARGV[0]-life";
select((select($term), $| = 1)[0]);
select((select($life), $| = 1)[0]);
$SIG{TERM} = sub { print $term time, "\n" };
print "ready\n" if $| = 1;
while (1) { print $life time, "\n"; sleep 0.01 }
END
chmod +x "$directory/stubborn"

first_line() { head -n 1 "$directory/$1"; }
last_line() { tail -n 1 "$directory/$1"; }

# after A B: B - A in ms.
after() {
    perl -e 'printf "%d\n", 1000 * ($ARGV[1] - $ARGV[0])' "$1" "$2"
}

# A busy machine may lose a tenth of a second, so one right try in three is enough.
in_one_of_three() {
    "$@" || "$@" || "$@"
}

# ---- A quorum is gone ----

# The TTL is 2 s, so it is valid for 1.978 s from the last extension; SIGTERM comes 0.54 s before the end of that, SIGKILL
# 0.04 s before. Measures the grace between both, and that both are before the end.
quorum_dies() {
    start run --guard 0 -t 2s --grace 500ms door-1 -- "$directory/stubborn" "$directory/one"
    within 10 prints ready || return 1
    stop_three
    stopped=$(perl -MTime::HiRes=time -e 'print time')
    over "$started"
    status=$?
    continue_three
    term=$(first_line one-term) last=$(last_line one-life)
    echo "status $status; SIGTERM after $(after "$stopped" "$term") ms, the end after $(after "$stopped" "$last") ms"
    [ $status = 123 ] && [ "$(after "$stopped" "$last")" -lt 1978 ] && [ "$(after "$term" "$last")" -ge 400 ]
}
loss_is_told() {
    says 'door-1: lost: no quorum of nodes extended it in time; the command is ended' &&
    says 'node 0 \(127.0.0.1:[0-9]+\): .*answer' &&
    says 'node 2 ' && ! says 'node [34] ' >/dev/null
}
check 'when a quorum dies the command gets SIGTERM, and SIGKILL before the validity ends: 123' in_one_of_three quorum_dies
check 'the message says which nodes failed, and why' loss_is_told

ends_on_term() {
    start run --guard 0 -t 1s --json door-2 -- sh -c 'trap "exit 0" TERM; echo ready; while :; do sleep 0.02; done'
    within 10 prints ready || return 1
    stop_three
    over "$started"
    status=$?
    continue_three
    [ $status = 123 ] && json err '$j->{exit} == 123 && $j->{reason} eq "lock lost" && $j->{status} eq "LOST"' &&
    json err '"0 1 2" eq join " ", map { $_->{node} } grep { ($_->{trouble} // "") =~ /no answer/ } @{$j->{nodes}}' &&
    ! says '^redlock:' >/dev/null
}
check 'a command that ends well on SIGTERM had lost its lock all the same: 123, and JSON says it' ends_on_term

whole_group_ends() {
    start run --guard 0 -t 1s door-3 -- sh -c '(trap "" TERM; echo ready; while :; do sleep 0.02; done) & echo $!; wait'
    within 10 prints ready || return 1
    child=$(grep '[0-9]' "$directory/out")
    stop_three
    over "$started"
    status=$?
    continue_three
    [ $status = 123 ] && within 10 is_gone "$child"
}
check 'what the command has begun, and what ignores SIGTERM, is ended as well' whole_group_ends

minority_dies() {
    start run --guard 0 -t 4s -v door-4 -- sleep 6
    within 10 says 'acquired' || return 1
    on 0 STOP && on 1 STOP
    over "$started"
    status=$?
    on 0 CONT && on 1 CONT
    [ $status = 0 ]
}
check 'a minority that dies does no harm' minority_dies

quorum_returns() {
    start run --guard 0 -t 6s -v door-5 -- sleep 7
    within 10 says 'acquired' || return 1
    stop_three
    within 10 says 'not extended: no quorum'
    continue_three
    over "$started" && says 'not extended: no quorum'
}
check 'an extension that failed is tried again while there is time' quorum_returns

# One of five nodes says no and two say nothing, so three of four could still say yes.
forgotten_by_one() {
    start run --guard 0 -t 6s -v door-f -- sleep 7
    within 10 says 'acquired' || return 1
    ask 4 DEL door-f >/dev/null
    on 0 STOP && on 1 STOP
    within 10 says 'not extended: '
    on 0 CONT && on 1 CONT
    over "$started" && says 'not extended: '
}
check 'a lock that one node has forgotten is not lost because others are silent for a while' forgotten_by_one

# ---- Without -v ----

# lines COUNT PATTERN: so many lines of stderr match.
lines() {
    [ "$(grep -Ec -e "$2" "$directory/err")" -eq "$1" ] || { echo "not $1 lines match $2:"; cat "$directory/err"; return 1; }
}

# A command that ends when the file is there.
until_told='until [ -e "$0" ]; do sleep 0.05; done'

# is_at_all NAME: every server has it.
is_at_all() { [ "$(everywhere EXISTS "$1" | sort -u)" = 1 ]; }

# Within the TTL its key is there still when it answers again. (A lock with a ticket does not come back
# to a node that has lost the key, but not the last ticket; see wire.h.)
votes_are_told_by_lead() {
    start lead --once --guard 0 -t 6s --node-timeout 1s door-l -- sh -c "$until_told" "$directory/told-l"
    within 10 is_at_all door-l && on 2 STOP || return 1
    within 10 says 'door-l: kept without node 2 ' || return 1
    on 2 CONT
    within 10 says 'door-l: kept with all 5 nodes again' || return 1
    : >"$directory/told-l"
    over "$started" && lines 2 .
}

votes_are_told() {
    start "$@" door-v -- sh -c "$until_told" "$directory/told-v"
    within 10 is_at_all door-v && sleep 2 && lines 0 . || return 1
    on 2 STOP
    within 10 says 'door-v: kept without node 2 \(127.0.0.1:[0-9]+\): .+ \(.+\)' || return 1
    sleep 1
    on 2 CONT
    within 10 says 'door-v: kept with all 5 nodes again' || return 1
    ask 4 DEL door-v >/dev/null
    within 10 says 'door-v: kept without node 4 .*our token is gone' || return 1
    within 10 lines 2 'kept with all 5 nodes again' || return 1
    : >"$directory/told-v"
    over "$started" && lines 2 'kept without' && lines 2 "kept with all 5 nodes again" && lines 4 .
}
check 'run says once that a node is without the lock, and once that it is back' votes_are_told run --no-ticket --guard 0 -t 4s --node-timeout 1s
check 'lead says the same' votes_are_told_by_lead

keep_tells_votes() {
    token=$("$redlock" acquire --no-ticket --guard 0 -t 4s --node-timeout 10s door-k) && within 10 is_at_all door-k || return 1
    sleep 100 >/dev/null 2>&1 &
    holder=$!
    begin $holder
    start keep --guard 0 -t 4s --node-timeout 1s --pid "$holder" door-k "$token"
    sleep 1
    on 2 STOP
    within 10 says 'door-k: kept without node 2 ' || return 1
    on 2 CONT
    within 10 says 'door-k: kept with all 5 nodes again' || return 1
    kill -KILL "$holder"
    over "$started" && lines 2 .
}
check 'keep says the same' keep_tells_votes

no_words_in_json() {
    start run --guard 0 -t 1s --json door-j -- sleep 3
    within 10 is_at_all door-j && on 2 STOP || return 1
    sleep 2
    on 2 CONT
    over "$started" && lines 1 . && json err '$j->{reason} eq "command ended"'
}
check 'with --json none of it is said' no_words_in_json

release_is_not_confirmed() {
    start "$@" -t 30s --guard 0 door-u -- sh -c 'echo ready; sleep 1'
    within 10 prints ready || return 1
    stop_three
    over "$started"
    status=$?
    continue_three
    [ $status = 0 ] && says 'door-u: released on 2 of 5 nodes; the others may keep it until its TTL ends' && says 'node 2 .* no answer in time'
}
check 'a release that no quorum has confirmed is told at the end of run' release_is_not_confirmed run
check 'and at the end of lead' release_is_not_confirmed lead --once

# ---- The key is gone ----

# It flushes again and again, since an extension between two flushes sets a key again.
flushed() {
    start run --guard 0 -t 3s --node-timeout 2s door-6 -- "$directory/stubborn" "$directory/six"
    within 10 prints ready || return 1
    tries=0
    while kill -0 "$started" 2>/dev/null && [ $((tries += 1)) -lt 200 ]; do
        for k in 0 1 2; do ask $k FLUSHALL; done
    done >/dev/null
    over "$started"
    [ $? = 123 ] && says 'door-6: lost: too few nodes still have our token' &&
    says 'node 1 .* our token is gone'
}
check 'a lock that a quorum has forgotten is lost at the next extension' flushed

# Its answer is not known when the next extension begins.
late_is_told() {
    start run --guard 0 -t 3s --node-timeout 20s door-8 -- sh -c 'echo ready; sleep 4'
    within 10 prints ready && on 4 STOP || return 1
    over "$started"
    good=$?
    on 4 CONT
    [ $good = 0 ] && says 'door-8: kept without node 4 .*no answer'
}
check 'a node that is late is told when the next extension begins' late_is_told

# Three of five have no vote any longer, so the others are not asked: that would be in vain.
nobody_is_blamed() {
    start run --no-ticket --guard 0 -t 3s --node-timeout 1s door-9 -- sleep 8
    within 10 is_at_all door-9 || return 1
    for k in 0 1 2; do ask $k REPLICAOF 127.0.0.1 1 >/dev/null; done
    over "$started"
    lost=$?
    for k in 0 1 2; do ask $k REPLICAOF NO ONE >/dev/null; done
    [ $lost = 123 ] && says 'door-9: kept without node 0 .*replica' && lines 0 'node [34] '
}
check 'a node that was not asked is not said to be late' nobody_is_blamed

gone_at_the_end() {
    start run --guard 0 -t 30s --log-file "$directory/log" door-7 -- sh -c 'echo ready; sleep 1'
    within 10 prints ready || return 1
    everywhere FLUSHALL >/dev/null
    over "$started"
    [ $? = 123 ] && says 'door-7: lost: it was gone when the command ended' && grep -q 'event="lost" .*it was gone when the command ended' "$directory/log"
}
check 'a lock that was gone when the command ended is 123' gone_at_the_end

# ---- redlock sleeps ----

# Nodes that never had the lock, since their counter of tickets was larger, are well; so is a client
# that takes a lock that is gone.
never_granted() {
    for k in 3 4; do ask $k SET door-n#ticket $(($(date +%s) + 5))000000 PX 60000 >/dev/null; done
    start run --guard 0 -v --trace -t 2s door-n -- sleep 20
    within 10 says 'granted by 3 of 5 nodes' && ask 0 DEL door-n >/dev/null || return 1
    over "$started"
    [ $? = 123 ] && says 'not extended: too few nodes still have our token$' && says 'node 0 .* our token is gone' &&
    says 'node 4 .*: it has not granted the lock, so it was not asked$' && says '4  = +not asked: it has not granted the lock$' &&
    ! grep -E 'hangs|held by somebody else|not asked: ok' "$directory/err"
}
check 'nodes that never had the lock are not said to hang, nor is a lock that is gone said to be held' never_granted


redlock_sleeps() {
    start run --guard 0 -t 1s door-8 -- "$directory/stubborn" "$directory/eight"
    within 10 prints ready || return 1
    stop "$started" || return 1
    sleep 2.5
    continued=$(perl -MTime::HiRes=time -e 'print time')
    go_on "$started"
    over "$started"
    status=$? last=$(last_line eight-life)
    echo "status $status; the end came $(after "$last" "$continued") ms before SIGCONT"
    [ $status = 123 ] && says 'door-8: lost: its validity has ended' && [ "$(after "$last" "$continued")" -gt 300 ]
}
check 'when redlock is stopped the command ends before the validity does, and redlock says so when it goes on' redlock_sleeps

end_comes_too_late() {
    start run --guard 0 -t 1s door-9 -- sh -c 'echo ready; sleep 1.2'
    within 10 prints ready || return 1
    stop "$started" || return 1
    sleep 2
    go_on "$started"
    over "$started"
    [ $? = 123 ]
}
check 'a command that ended while nobody looked after the lock is 123' end_comes_too_late

# Everything stops, as with the machine, and somebody else gets the lock meanwhile.
whole_machine_sleeps() {
    start run --guard 0 -t 1s door-s -- sh -c 'echo "$$ $REDLOCK_TICKET"; trap "" TERM; while :; do sleep 0.02; done'
    within 10 prints '[0-9] ' || return 1
    # shellcheck disable=SC2046    # Two words.
    set -- $(cat "$directory/out")
    guardian=$(children_of "$started" redlock-guard)
    stop "$started" "$guardian" "-$1" || return 1
    printed=$("$redlock" acquire --guard 0 --wait 10s -t 60s door-s)
    go_on "-$1" "$guardian" "$started" || return 1
    over "$started"
    [ $? = 123 ] && says 'door-s: lost: its validity has ended' && is_gone "$1" &&
    [ "${printed%:*}" = "$(most GET door-s)" ] && [ "${printed#*:}" -gt "$2" ]
}
check 'a holder that slept finds the lock lost, ends the command, and leaves alone what another has' whole_machine_sleeps

# ---- --max-hold ----

held_too_long() {
    start run --guard 0 -t 3s --grace 500ms --max-hold 700ms door-10 -- "$directory/stubborn" "$directory/ten"
    over "$started"
    status=$? term=$(first_line ten-term) begun=$(first_line ten-life) last=$(last_line ten-life)
    echo "SIGTERM after $(after "$begun" "$term") ms, SIGKILL $(after "$term" "$last") ms later"
    [ $status = 123 ] && says 'door-10: held for --max-hold; the command is ended' &&
    [ "$(after "$term" "$last")" -ge 400 ] &&
    [ "$(after "$begun" "$term")" -lt 1700 ] && gone door-10 &&
    is 123 run --guard 0 --max-hold 100ms --json door-10 -- sleep 100 &&
    json err '$j->{reason} eq "max-hold" && $j->{exit} == 123' &&
    is 6 run --guard 0 --max-hold 10s door-10 -- sh -c 'exit 6'
}
check '--max-hold ends the command in the same way, and says so: 123' in_one_of_three held_too_long

no_grace() {
    is 123 run --guard 0 --grace 0 --max-hold 300ms door-11 -- "$directory/stubborn" "$directory/eleven"
    term=$(first_line eleven-term) last=$(last_line eleven-life)
    [ -z "$term" ] || [ "$(after "$term" "$last")" -lt 1000 ]
}
check 'without a grace SIGKILL follows at once' no_grace

# ---- --max-extensions ----

extended_too_often() {
    start run --guard 0 -t 3s --grace 200ms --max-extensions 2 -v door-12 -- "$directory/stubborn" "$directory/twelve"
    over "$started"
    [ $? = 123 ] && says 'door-12: extended as often as --max-extensions allows; the command is ended' &&
    [ "$(grep -c 'door-12: extended for' "$directory/err")" -eq 2 ] && gone door-12 &&
    is 123 run --guard 0 -t 500ms --max-extensions 0 --json door-12 -- sleep 100 &&
    json err '$j->{reason} eq "max-extensions" && $j->{exit} == 123' &&
    is 6 run --guard 0 -t 3s --max-extensions 9 door-12 -- sh -c 'sleep 4; exit 6'
}
check '--max-extensions ends the command when the last of them is used up: 123' extended_too_often

finish
