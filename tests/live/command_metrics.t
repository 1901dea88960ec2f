#!/bin/sh
# shellcheck disable=SC1091,SC2016,SC2154    # What lib.sh defines. Commands are expanded by the shells that are run.
# --metrics: a run's report to node_exporter, in a file that is always whole.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 5
file=$directory/run.prom

# tells SERIES VALUE: the file has that line.
tells() {
    grep -Fqx -e "redlock_$1 $2" "$file" || { echo "no line redlock_$1 $2:"; grep -F "redlock_${1%%\{*}" "$file"; return 1; }
}
# A node by its number, with the label that a file has for which none was given.
node() {
    eval "echo \"{node=\\\"127.0.0.1:\$port_$1\\\",\$2resource=\\\"job\\\"}\""
}
is_well_formed() {
    [ "$(head -c 27 "$file")" = '# HELP redlock_build_info V' ] && grep -q '^redlock_metrics_untracked_rounds_total.* 0$' "$file" &&
        [ -z "$(tail -c 1 "$file" | tr -d '\n')" ] || return 1
    ! command -v promtool >/dev/null || [ -z "$(promtool check metrics <"$file" 2>&1)" ]
}
# The temporary files have other names.
is_alone() {
    [ "$(find "$directory" -name 'run.prom*' | wc -l)" -eq 1 ] && [ -n "$(find "$file" -perm 644)" ]
}

# A run that cannot write its file, more than once. It takes a while, and nobody waits for it until the end.
{
    "$redlock" run --guard 0 --node-timeout 10s --metrics "$directory/nowhere/run.prom" homeless -- sleep 2.5 2>"$directory/homeless"
    echo $? >"$directory/status"
} >/dev/null &
begin $!

tells_a_run() {
    rm -f "$file"
    (umask 077 && is 0 run --guard 0 --metrics "$file" job -- true) && is_alone && is_well_formed || return 1
    tells 'held{resource="job"}' 0 && tells 'waiting{resource="job"}' 0 && tells 'debts{resource="job"}' 0 &&
        tells 'attempts_total{outcome="ok",resource="job"}' 1 && tells 'acquire_seconds_count{outcome="ok",resource="job"}' 1 &&
        tells 'hold_seconds_count{resource="job"}' 1 && tells 'releases_total{outcome="confirmed",resource="job"}' 1 &&
        tells 'lost_total{reason="expired",resource="job"}' 0 && tells 'metrics_lost_events_total{resource="job"}' 0 &&
        ! grep -q 'redlock_node_up{' "$file"
}
check 'what is left behind a run is a file with its counts, of no lock, for all to read' tells_a_run

is_there_while_held() {
    rm -f "$file"
    start run --guard 0 --ttl 3s --metrics "$file" job -- sh -c 'until [ -e "$0" ]; do sleep 0.1; done' "$directory/end-1"
    within 10 tells 'held{resource="job"}' 1 && within 10 tells "node_up$(node 3)" 1 && is_well_formed || return 1
    on 4 KILL
    within 10 tells "node_up$(node 4)" 0 && within 10 tells "node_votes$(node 4)" 0 && tells "node_votes$(node 3)" 1 || return 1
    within 10 is_in_trouble 4
    : >"$directory/end-1"
    over "$started" && tells 'held{resource="job"}' 0 && tells 'lost_total{reason="no_quorum",resource="job"}' 0 &&
        tells "node_restarts_total$(node 4)" 0 && tells "votes_total$(node 0 'vote="unknown",')" 0 && is_well_formed
}
is_in_trouble() {
    tells "node_trouble$(node "$1" 'trouble="unreachable",')" 1
}
check 'while the lock is held the file tells so, and which node has been killed' is_there_while_held

# Between runs the status is the last one's, and the time is the last success's.
remembers() {
    rm -f "$file"
    is 7 run --guard 0 --metrics "$file" --metrics-label 'text=a "b" \c' job -- sh -c 'exit 7' &&
        tells 'run_last_exit_status{text="a \"b\" \\c"}' 7 && tells 'run_last_success_timestamp_seconds{text="a \"b\" \\c"}' 0 && is_well_formed || return 1
    is 0 run --guard 0 --metrics "$file" job -- true && tells 'run_last_exit_status{resource="job"}' 0 || return 1
    at=$(sed -n 's/^redlock_run_last_success_timestamp_seconds{.*} //p' "$file") now=$(date +%s)
    [ $((now - at)) -ge 0 ] && [ $((now - at)) -lt 100 ] && sleep 1 || return 1
    is 122 run --guard 0 --metrics "$file" --wait 0 -n "127.0.0.1:$refused" job -- true &&
        tells 'run_last_exit_status{resource="job"}' 122 && tells 'run_last_success_timestamp_seconds{resource="job"}' "$at" &&
        tells 'acquire_seconds_count{outcome="no_quorum",resource="job"}' 1 || return 1
    is 122 run --guard 0 --metrics "$file" --wait 1s -n "127.0.0.1:$refused" job -- true &&
        tells 'acquire_seconds_count{outcome="no_quorum",resource="job"}' 1 && tells 'acquire_seconds_count{outcome="timeout",resource="job"}' 0
}
choose_refused_port
check 'how the last run ended, and when one last succeeded, stays from one run to the next' remembers

# A reader that looks as often as it can, while many runs write.
is_never_half_written() {
    perl -e '
        my ($reads, $bad) = (0, 0);
        until (-e "$ARGV[0].end") {
            open my $in, "<", $ARGV[0] or next;
            local $/;
            my $text = <$in>;
            $reads++;
            $bad++ unless $text =~ /\A# HELP redlock_build_info .*\nredlock_run_last_success_timestamp_seconds\{.*\} \d+\n\z/s;
        }
        print "$reads reads, $bad bad\n";
        exit($bad > 0 || $reads < 20)' "$file" >"$directory/reads" 2>&1 &
    reader=$!
    begin $reader
    for _ in 1 2 3 4 5 6; do is 0 run --guard 0 --metrics "$file" job -- true || return 1; done
    : >"$file.end"
    over $reader || { cat "$directory/reads"; return 1; }
    rm -f "$file.end"
    is_alone
}
check 'whoever reads the file finds a whole one' is_never_half_written

is_told_of_a_rival() {
    take_rival && is 124 run --guard 0 --wait 300ms --metrics "$file" rival -- true && tells 'held{resource="rival"}' 0 &&
        tells 'acquire_seconds_count{outcome="timeout",resource="rival"}' 1 && tells 'attempts_total{outcome="ok",resource="rival"}' 0
}
take_rival() {
    is 0 acquire --guard 0 --ttl 20s rival
}
check 'a lock that was not acquired is told' is_told_of_a_rival

goes_on_counting() {
    start lead --guard 0 --ttl 3s --metrics "$file" throne -- sleep 100
    within 10 tells 'held{resource="throne"}' 1 || return 1
    for k in 0 1 2 3; do ask $k DEL throne >/dev/null; done
    within 15 tells 'attempts_total{outcome="ok",resource="throne"}' 2 && within 10 tells 'held{resource="throne"}' 1 &&
        tells 'lost_total{reason="refused",resource="throne"}' 1 || return 1
    kill -TERM "$started"
    over "$started"
    tells 'held{resource="throne"}' 0 && tells 'lost_total{reason="refused",resource="throne"}' 1
}
check 'a lead that is lost is told with the reason, and the next one goes on counting' goes_on_counting

is_beside_a_trace() {
    is 0 run --guard 0 --trace=votes --metrics "$file" job -- true && says 'granted, 3/5' &&
        tells 'attempts_total{outcome="ok",resource="job"}' 1 && tells 'releases_total{outcome="confirmed",resource="job"}' 1
}
check 'a trace leaves it all events' is_beside_a_trace

keeps_too() {
    is 0 acquire --guard 0 kept || return 1
    token=$(cat "$directory/out")
    sleep 100 >/dev/null 2>&1 &
    holder=$!
    begin $holder
    start keep --guard 0 --metrics "$file" --pid "$holder" kept "$token"
    within 10 tells 'held{resource="kept"}' 1 || return 1
    kill -KILL "$holder"
    over "$started" && tells 'held{resource="kept"}' 0 && tells 'releases_total{outcome="confirmed",resource="kept"}' 1
}
check 'keep tells the same of a lock that a script acquired' keeps_too

# ---- What is wrong ----

is_told_once() {
    within 15 [ -s "$directory/status" ] && [ "$(cat "$directory/status")" = 0 ] && cp "$directory/homeless" "$directory/err" &&
    says "^redlock: --metrics: cannot write $directory/nowhere/run.prom: No such file or directory\$" &&
        [ "$(grep -c metrics "$directory/err")" -eq 1 ]
}
check 'a directory that is not there is told once, and the lock is held' is_told_once

is_told_when_full() {
    rm -f "$file"
    (ulimit -f 4 && patiently in_foreground run --guard 0 --metrics "$file" job -- true) || { cat "$directory/err"; return 1; }
    says 'cannot write .*: File too large' && [ "$(find "$directory" -name 'run.prom*' | wc -l)" -eq 0 ]
}
check 'a file that does not fit is told, leaves nothing behind, and costs no lock' is_told_when_full

labels_are_told() {
    is 0 run --guard 0 --metrics "$file" --metrics-label 'job=a "b\c' --metrics-label env=prod job -- true && is_well_formed &&
        tells 'held{job="a \"b\\c",env="prod"}' 0 && ! grep -q 'resource=' "$file"
}
check 'labels that are given take the place of the resource' labels_are_told

names_are_told_as_they_can_be() {
    is 0 run --guard 0 --metrics "$file" "$(printf 'a\377b')" -- true && is_well_formed && tells 'held{resource="a\\xffb"}' 0 &&
        is 0 run --guard 0 --metrics "$file" -r b -r a -- true && is_well_formed && tells 'held{resource="b, a"}' 0
}
check 'a resource that is no UTF-8 is told in one that is' names_are_told_as_they_can_be

mistakes_are_refused() {
    is 125 run --metrics "$file" --metrics-label x job -- true && says "'x' is not NAME=VALUE" &&
        is 125 run --metrics "$file" --metrics-label le=1 job -- true && says "'le' is no name of a label, or redlock's own" &&
        is 125 run --metrics "$file" --metrics-label a=1 --metrics-label a=2 job -- true && says "'a' .* there already" &&
        is 125 run --metrics "$file" --metrics-label "a=$(printf '\377')" job -- true && says 'UTF-8' &&
        is 125 run --metrics "$file" --metrics-label "a=$(printf 'x\ty')" job -- true && says 'control characters' &&
        is 125 run --metrics-label a=1 job -- true && says -- '--metrics is missing' &&
        is 125 run --metrics /dev/null job -- true && says "'/dev/null' is there, and is no regular file" &&
        is 125 run --metrics "$directory" job -- true && says 'no regular file' &&
        is 125 acquire --metrics "$file" job && says "metrics"
}
check 'labels and files that cannot be are refused before anything has begun' mistakes_are_refused

# Last, since only two of the five are left. The command is ended before the validity is over, and then the lock is released.
loss_is_told() {
    start run --guard 0 --ttl 3s --metrics "$file" last -- sleep 100
    within 10 tells 'held{resource="last"}' 1 || return 1
    on 2 KILL
    on 3 KILL
    over "$started"
    [ $? = 123 ] && tells 'held{resource="last"}' 0 && tells 'lost_total{reason="no_quorum",resource="last"}' 1
}
check 'a run that ends since no quorum extends its lock has lost it' loss_is_told

finish
