#!/bin/sh
# shellcheck disable=SC1091,SC2016,SC2154    # What lib.sh defines. Commands are expanded by the shell that is led.
# lead and leader: there is one leader at a time, with larger epochs, and others can read it.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

# ---- What others read ----

proclaimed() {
    for k in 0 1 2; do ask "$k" SET "$1#leader" "$(eval "echo \"\$$((k + 2))\"")" >/dev/null; done
}
no_leader() {
    is 1 leader --guard 0 nobody && [ ! -s "$directory/out" ] &&
        is 1 leader --guard 0 --json nobody && prints '"verdict":"none".*"epoch":null,"leader":null'
}
largest_epoch_counts() {
    proclaimed old '17 alpha' '1700 beta of two' '99 gamma' && is 0 leader --guard 0 old && prints '^1700 beta of two$' &&
        is 0 leader --guard 0 --json old && prints '"verdict":"led","answers":3,"epoch":1700,"leader":"beta of two"'
}
nonsense_is_no_leader() {
    long=$(printf '%0201d' 0)
    proclaimed junk 'alpha 17' '' '17' && is 1 leader --guard 0 junk &&
        proclaimed junk '0 alpha' "17 $long" '99999999999999999 beta' && is 1 leader --guard 0 junk &&
        proclaimed junk "18 ${long#0}" '' '' && is 0 leader --guard 0 junk && prints "^18 ${long#0}\$"
}
controls_are_shown() {
    proclaimed evil "$(printf '3 a\033[31mb')" '' '' && is 0 leader --guard 0 evil && prints '^3 a\\x1b\[31mb$'
}
forgetful_nodes_cannot_tell() {
    proclaimed fresh '17 alpha' '' '' && is 122 leader --guard 1h fresh && says 'no quorum: 0 of 3 nodes can tell, quorum 2' &&
        says 'restarted .* no vote for another' && is 122 leader --guard 1h --json fresh && prints '"answers":0,"epoch":null,"leader":null'
}
refusals_are_told() {
    for k in 0 1 2; do ask "$k" ACL SETUSER deaf on nopass '~deaf' '&*' +@all >/dev/null; done
    REDLOCK_PASSWORD=any is 125 leader --guard 0 --user deaf deaf && says 'deaf: no quorum: 0 of 3 nodes can tell' &&
        says 'node 2 .*~RESOURCE#leader \+get: NOPERM .*ACL SETUSER <user> ' || return 1
    for k in 0 1 2; do ask "$k" LPUSH heap#leader x >/dev/null; done
    is 122 leader --guard 0 heap && says 'node 1 .*: WRONGTYPE '
}
# Nodes answer one after the other, so that a text written in two pieces is read in two, on a machine
# that is not too busy for that.
cat >"$directory/pieces" <<'END'
use strict;
use warnings;
use FakeNodes;
FakeNodes::serve(sub {
    my ($k) = @_;
    my $answer = FakeNodes::bulk('1700 beta of two');
    while ($answer ne '') {
        FakeNodes::say_later($k, substr $answer, 0, 8, '');
        select undef, undef, undef, 0.1;
    }
    return '';
}, @ARGV);
END
comes_in_pieces() {
    perl -Itests/live "$directory/pieces" "$redlock" leader --guard 0 --node-timeout "$patience" boss \
        >"$directory/out" 2>"$directory/err" || { cat "$directory/err"; return 1; }
    prints '^1700 beta of two$'
}
check 'where there is no leader, nothing is printed, status 1' no_leader
check 'an answer that comes in pieces is an answer' comes_in_pieces
check 'what a node refuses is told, and what to do' refusals_are_told
check 'of several leaders the one with the largest epoch is the last' largest_epoch_counts
check 'what is no epoch and name of up to 200 bytes is no leader' nonsense_is_no_leader
check 'a name cannot write control characters to a terminal' controls_are_shown
check 'nodes that may have forgotten a proclamation do not say that there is none' forgetful_nodes_cannot_tell

# ---- Leading ----

# leads NAME OPTION...: a candidate in the background, which writes its epoch each time that it leads, and waits.
leads() {
    as=$1
    shift
    : >"$directory/epochs-$as"
    rm -f "$directory/status-$as"
    {
        "$limit" $limit_s "$redlock" lead --guard 0 --node-timeout "$patience" --as "$as" "$@" boss -- \
            sh -c "echo \$REDLOCK_TICKET >>'$directory/epochs-$as'; exec sleep 100" >"$directory/out-$as" 2>"$directory/err-$as" &
        echo $! >"$directory/pid-$as"
        begin $!
        over $!
        echo $? >"$directory/status-$as"
    } >/dev/null 2>&1 &
    within 10 test -s "$directory/pid-$as"
}
pid_of() {
    cat "$directory/pid-$1"
}
has_ended() {
    [ -s "$directory/status-$1" ]
}
ended() {
    within 20 has_ended "$1"
}
has_led() {
    [ "$(wc -l <"$directory/epochs-$1")" -ge "$2" ]
}
epoch_of() {
    tail -n 1 "$directory/epochs-$1"
}
is_leader() {
    in_foreground leader --guard 0 --node-timeout "$patience" boss && prints "^$(epoch_of "$1") $1\$"
}
nobody_leads() {
    in_foreground leader --guard 0 --node-timeout "$patience" boss
    [ $? = 1 ]
}

first_leads() {
    leads alpha --ttl 30s && within 10 has_led alpha 1 && within 10 is_leader alpha
}
second_waits() {
    leads beta --ttl 3s && sleep 1 && ! has_led beta 1 && is_leader alpha
}
# Long before the TTL of the first one is over.
resigns() {
    kill -TERM "$(pid_of alpha)"
    ended alpha || return 1
    grep -q '^143$' "$directory/status-alpha" && within 10 has_led beta 1 && within 10 is_leader beta && [ "$(epoch_of beta)" -gt "$(epoch_of alpha)" ]
}
# Its TTL is 3 s; it proclaims itself again with each extension.
is_proclaimed_again() {
    sleep 4
    is_leader beta && [ "$(everywhere PTTL "boss#leader" | sort -n | head -n 1)" -gt 0 ]
}
loses_and_leads_again() {
    before=$(epoch_of beta)
    ask 0 DEL boss >/dev/null && ask 1 DEL boss >/dev/null && ask 2 DEL boss >/dev/null
    within 20 has_led beta 2 && within 10 is_leader beta && [ "$(epoch_of beta)" -gt "$before" ] &&
        grep -q 'boss: lost' "$directory/err-beta"
}
# It sleeps past the end of its lead, and then cannot overwrite its successor.
sleeper_is_deposed() {
    leads gamma --ttl 30s && sleep 1 && stop "$(pid_of beta)" && within 20 has_led gamma 1 &&
        within 10 is_leader gamma && go_on "$(pid_of beta)" && sleep 2 && is_leader gamma && ! has_led beta 3
}
# The command is deaf to its messages, and then the lead is lost.
told_while_it_loses() {
    "$limit" $limit_s "$redlock" lead --guard 0 --node-timeout "$patience" --ttl 3s told -- \
        sh -c 'trap "" TERM; echo >>"$1"; while :; do sleep 0.1; done' sh "$directory/told" >"$directory/out-told" 2>"$directory/err-told" &
    begin $!
    told=$!
    within 10 test -s "$directory/told" && kill -TERM $told && sleep 0.3 && everywhere DEL told >/dev/null || return 1
    over $told
    [ $? = 123 ] && grep -q 'told: lost' "$directory/err-told" && [ "$(wc -l <"$directory/told")" -eq 1 ]
}
# As in a failover. Whoever has led knows that the nodes can vote.
waits_through_replicas() {
    leads delta --ttl 3s && within 10 has_led delta 1 || return 1
    for k in 0 1; do ask $k REPLICAOF 127.0.0.1 1 >/dev/null; done
    within 20 grep -q 'a replica, not a master' "$directory/err-delta" && sleep 1 && ! has_ended delta || return 1
    for k in 0 1; do ask $k REPLICAOF NO ONE >/dev/null; done
    within 20 has_led delta 2 && kill -TERM "$(pid_of delta)" && ended delta
}
nobody_is_left() {
    kill -TERM "$(pid_of beta)" && kill -INT "$(pid_of gamma)" && ended beta && ended gamma && within 10 nobody_leads && gone boss 'boss#leader'
}
check 'the first candidate leads, and is proclaimed by name with the epoch that its command has' first_leads
check 'a second candidate waits' second_waits
check 'a leader that is told to end resigns: the next one leads at once, with a larger epoch' resigns
check 'a leader is proclaimed as long as it leads' is_proclaimed_again
check 'a leader that lost its lead ends its command and leads again, with a larger epoch' loses_and_leads_again
check 'a leader that slept past its end does not overwrite its successor' sleeper_is_deposed
check 'a leader that was told to end, and loses its lead, does not lead again' told_while_it_loses
check 'when all have resigned there is no leader, and nothing is left' nobody_is_left
check 'a leader that lost its lead since its nodes became replicas waits until they are none' waits_through_replicas

once_ends() {
    leads delta --once --ttl 3s && within 10 has_led delta 1 || return 1
    for k in 0 1 2; do ask $k DEL boss >/dev/null; done
    within 20 has_ended delta && grep -q '^123$' "$directory/status-delta"
}
command_ends() {
    is 7 lead --guard 0 boss -- sh -c 'exit 7' && within 10 nobody_leads
}
check 'with --once the first loss is the end, status 123' once_ends
check 'a command that ends by itself ends the lead, with its status' command_ends

names_are_checked() {
    name=$(printf '%0200d' 0)
    is 0 lead --guard 0 --as "$name" boss -- true && is 125 lead --guard 0 --as "0$name" boss -- true &&
        says 'a name has 1 to 200 bytes' && is 125 lead --as '' boss -- true && is 125 lead --as "$(printf 'a\nb')" boss -- true &&
        says 'no control characters' && is 125 lead --no-ticket boss -- true && is 125 leader '' &&
        is 1 leader --guard 0 "$(printf '%0512d' 0)" && is 125 leader --guard 0 "$(printf '%0513d' 0)"
}
check 'a leader has a name of 1 to 200 bytes, and a ticket' names_are_checked

on 1 KILL
on 2 KILL
no_quorum() {
    is 122 leader --guard 0 boss && says 'no quorum: 1 of 3 nodes can tell, quorum 2' &&
        is 122 leader --guard 0 --json boss && prints '"verdict":"no quorum","answers":1,"epoch":null'
}
check 'what a minority of the nodes says is told to nobody' no_quorum
finish
