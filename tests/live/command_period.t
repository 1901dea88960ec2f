#!/bin/sh
# redlock run for jobs that several hosts begin has a lock that outlives its command.
# shellcheck disable=SC2016,SC2154    # The expressions are those of the shells that are run. Servers are set by their numbers.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

# ---- --hold-at-least ----

# lasts_about NAME LEAST MOST: a quorum of keys has so many milliseconds left.
lasts_about() {
    left_ms=$(lasts "$1")
    if [ "$left_ms" -lt "$2" ] || [ "$left_ms" -gt "$3" ]; then
        echo "$1 lasts for $left_ms ms"
        return 1
    fi
}

stays_held() {
    is 7 run --guard 0 --hold-at-least 60s -v door-1 -- sh -c 'exit 7' && says 'door-1: left held for another (5[0-9]|60)' &&
    lasts_about door-1 50000 62000 && is 124 run --guard 0 --wait 0 door-1 -- touch "$directory/ran" && [ ! -e "$directory/ran" ]
}
check 'a lock that is held at least for a time stays so when the command has ended' stays_held

is_long_enough() {
    is 0 run --guard 0 --hold-at-least 200ms door-2 -- sleep 0.5 && gone door-2
}
check 'if the command took that long it is released' is_long_enough

is_never_shortened() {
    is 0 run --guard 0 -t 60s --hold-at-least 5s door-3 -- true && lasts_about door-3 50000 60000
}
check 'what has longer to go already is left as it is' is_never_shortened

is_refused_over_the_guard() {
    is 125 run --hold-at-least 31s door-4 -- touch "$directory/ran" && says 'raise --guard' && [ ! -e "$directory/ran" ] &&
    is 125 run --hold-at-least 0 door-4 -- true && is 125 acquire --hold-at-least 1s door-4
}
check 'a time over the guard is refused, and says what to raise' is_refused_over_the_guard

# With the guard the TTL may be no longer than that, so that a time of nearly the guard gets a TTL of the guard.
is_within_the_guard() {
    is 0 run --guard 0 --hold-at-least 20s door-5 -- true && lasts_about door-5 15000 20400
}
check 'the drift is added to what is left' is_within_the_guard

# Its command leaves two servers that do not answer at first.
is_asked_again() {
    start run --guard 0 -t 4s --node-timeout 300ms --hold-at-least 20s door-8 -- sh -c 'kill -STOP "$@"; (sleep 1; kill -CONT "$@") >/dev/null 2>&1 &' \
        sh "$pid_1" "$pid_2"
    over "$started"
    status=$?
    on 1 CONT; on 2 CONT
    [ $status = 0 ] && ! says 'not held for all' >/dev/null && lasts_about door-8 15000 20400
}
check 'an extension that too few nodes answer is tried again' is_asked_again

is_lost_before() {
    is 123 run --guard 0 --hold-at-least 60s door-6 -- sh -c "$(for k in 0 1 2; do
        eval "echo \"perl -MIO::Socket::INET -e 'print {IO::Socket::INET->new(q(127.0.0.1:\$port_$k))} qq(DEL door-6\\\\r\\\\n)'\""
    done)" && says 'gone when the command ended'
}
check 'a lock that was deleted meanwhile is lost, and not left' is_lost_before

is_left_by_a_minority() {
    start run --guard 0 -t 3s --node-timeout 200ms --hold-at-least 60s door-7 -- sh -c 'touch "$0"; sleep 1' "$directory/begun-7"
    within 10 test -e "$directory/begun-7"
    on 0 STOP; on 1 STOP
    over "$started"
    status=$?
    on 0 CONT; on 1 CONT
    [ $status = 0 ] || { cat "$directory/err"; return 1; }
    says 'door-7: not held for all of --hold-at-least: '
}
check 'if no quorum extends it that is told, and the command keeps its status' is_left_by_a_minority

# ---- --once-per: of 30 days, since the test must not run across the end of one ----

jobs() { wc -l <"$directory/$1" | tr -d ' '; }

once() {
    is 0 run --guard 0 --once-per 30d job-1 -- sh -c 'sleep 0.2; echo ran >>"$0"' "$directory/job-1" && sleep 1 &&
    is 121 run --guard 0 --once-per 30d job-1 -- sh -c 'echo ran >>"$0"' "$directory/job-1" &&
    says 'job-1: already ran in this period [(][1-9][.0-9]* s ago, by [^ ]*:[0-9]+ sh[)]$' && [ "$(jobs job-1)" = 1 ] &&
    is 121 run --guard 0 -q --once-per 30d job-1 -- true && [ ! -s "$directory/err" ] &&
    is 121 run --guard 0 --json --once-per 30d job-1 -- true && json err '$j->{reason} eq "already ran" && $j->{exit} == 121' &&
    json err '$j->{mark}{status} eq "ALREADY" && $j->{mark}{by} =~ /:\d+ sh$/ && abs($j->{mark}{at_ms} / 1000 - time) < 60' &&
    json err '2 <= grep { $_->{vote} eq "refused" && $_->{trouble} =~ /another/ } @{$j->{mark}{nodes}}'
}
check 'of two hosts that are a second apart one runs the job of 0.2 s, and the other says who did' once

once_of_many() {
    for k in 1 2 3 4 5 6 7 8; do
        "$redlock" run --guard 0 --node-timeout 10s --once-per 30d job-2 -- sh -c 'echo ran >>"$0"' "$directory/job-2" \
            >"$directory/many-$k" 2>&1 &
        begin $!
        eval "many_$k=$!"
    done
    ended=
    for k in 1 2 3 4 5 6 7 8; do
        eval "over \$many_$k"
        ended="$ended $?"
    done
    if [ "$(jobs job-2)" != 1 ] || [ "$(echo "$ended" | tr ' ' '\n' | grep -c 121)" != 7 ]; then
        echo "$ended"
        cat "$directory"/many-*
        return 1
    fi
}
check 'of eight hosts that begin at once one runs it' once_of_many

fails_once() {
    is 7 run --guard 0 --once-per 30d job-3 -- sh -c 'exit 7' && is 121 run --guard 0 --once-per 30d job-3 -- true
}
check 'a job that has failed has run' fails_once

# The one host has no such command, and must not keep the other from it.
cannot_run() {
    : >"$directory/no-program"
    for words in './missing.sh 127' 'no-such-program 127' "$directory/no-program 126"; do
        is "${words##* }" run --guard 0 --once-per 1h rare "${words% *}" && says 'cannot run ' && [ -z "$(most GET 'rare#done')" ] || return 1
    done
    is 127 run --guard 0 --json --once-per 1h rare no-such-program && json err '$j->{reason} eq "command not run" && $j->{error} =~ /^No such/' || return 1
    (cd "$directory" && mkdir -p some && printf '#!/bin/sh\nexit 9\n' >rare.sh && chmod +x rare.sh && PATH=$PATH:some: exec "$redlock" run --guard 0 --once-per 1h rare rare.sh)
    [ $? = 9 ]
}
check 'a job that this host cannot run has not run' cannot_run

until_done() {
    is 7 run --guard 0 --once-per 30d --retry-until-done job-4 -- sh -c 'exit 7' &&
    is 0 run --guard 0 --once-per 30d --retry-until-done job-4 -- true &&
    is 121 run --guard 0 --once-per 30d --retry-until-done job-4 -- true && says 'already done in this period [(].* ago, by '
}
check 'with --retry-until-done it is run again until it has succeeded' until_done

is_cut_from_utc() {
    is 0 run --guard 0 --once-per 1d job-5 -- sh -c 'echo "$REDLOCK_PERIOD"' && [ $(($(cat "$directory/out") % 86400)) = 0 ] &&
    REDLOCK_PERIOD=x is 0 run --guard 0 job-5 -- sh -c 'echo "${REDLOCK_PERIOD-none}"' && prints '^none$'
}
check 'the command is told when its period began: a day begins at midnight, UTC' is_cut_from_utc

next_period() {
    is 0 run --guard 0 --once-per 2s job-6 -- true && sleep 2.1 && is 0 run --guard 0 --once-per 2s job-6 -- true
}
check 'in the next period it runs again' next_period

# A node remembers a month for three of them.
is_not_forgotten_early() {
    is 0 run --guard 0 --once-per 30d job-15 -- true && is 0 run --guard 0 --once-per 5s job-15 -- true &&
    lasts_about job-15#done $((89 * 86400000)) $((91 * 86400000)) && is 121 run --guard 0 --once-per 30d job-15 -- true
}
check 'a mark of five seconds does not make the servers forget that of a month' is_not_forgotten_early

# The servers are up for longer than such a guard, but not for 30 days. (Nothing is known of a node that is late.)
votes_by_now() { "$redlock" acquire --guard 3s -t 3s --no-ticket --node-timeout $patience "job-7-$(date +%s%N)"; }
is_forgetful() {
    within 20 votes_by_now
    set -- --guard 3s -t 3s --no-ticket --node-timeout $patience --once-per 30d
    is 122 run "$@" job-7 -- touch "$directory/ran" && says 'no quorum of nodes takes a mark' &&
    [ "$(grep -c 'node [0-2] .*restarted within the period' "$directory/err")" -ge 2 ] && says 'rather twice than never: --once-anyway' && [ ! -e "$directory/ran" ] &&
    is 122 run "$@" --json job-7 -- true && json err '$j->{reason} eq "not marked"' &&
    json err '$j->{mark}{status} eq "NO_QUORUM" && 2 <= grep { $_->{trouble} =~ /restarted within the period/ } @{$j->{mark}{nodes}}' &&
    is 0 run "$@" --once-anyway job-7 -- true &&
    is 121 run "$@" --once-anyway job-7 -- true
}
check 'if too many servers may have forgotten nobody runs, but with --once-anyway' is_forgetful

may_have_run() {
    ask 0 SET job-8#done '9007199254740000 00 1 web2:1 other' >"$directory/out"
    on 1 STOP
    is 122 run --guard 0 -t 3s --node-timeout 1s --once-per 30d job-8 -- touch "$directory/ran"
    good=$?
    on 1 CONT
    [ $good = 0 ] && says 'somebody began in it [(].* ago, by web2:1 other[)] and may have run' && says "node 0 .*: it has another's mark" &&
    [ ! -e "$directory/ran" ] &&
    ask 2 SET job-8#done '9007199254740000 00 1 web2:1 other' >"$directory/out" &&
    is 121 run --guard 0 --once-per 30d job-8 -- true && says 'job-8: already ran in this period'
}
check 'of a mark on a minority it is said that its owner may have run' may_have_run

# A TTL of 3 s, with 400 ms in between, has eight rounds or fewer; without a pause hundreds.
rounds_have_pauses() {
    ask 0 SET job-p#done '9007199254740000 00 1 web2:1 other' >"$directory/out" && ask 2 CONFIG RESETSTAT >"$directory/out" && on 1 STOP || return 1
    is 122 run --guard 0 -t 3s --node-timeout 300ms --retry 400ms --once-per 30d job-p -- true
    good=$?
    on 1 CONT
    rounds=$(ask 2 EVAL 'return redis.call("INFO", "commandstats"):match("cmdstat_eval:calls=(%d+)")' 0)
    echo "$rounds rounds"
    [ $good = 0 ] && [ "$rounds" -ge 2 ] && [ "$rounds" -le 20 ]
}
check 'between two rounds of marks there is a pause' rounds_have_pauses

is_refused() {
    is 125 run --guard 0 --once-per 999ms job-9 -- true && says 'at least 1000 ms' && is 125 run --once-per 32d job-9 -- true &&
    says 'at most 31d' && is 125 run --once-per 1 job-9 -- true && is 125 run --retry-until-done job-9 -- true &&
    says 'once-per is missing' && is 125 run --once-anyway job-9 -- true && is 125 run --once-per 1h -r job-9 -r job-10 -- true &&
    says 'name one' && is 125 acquire --once-per 1h job-9
}
check 'what is no period, or of no period, is refused' is_refused

waits_no_longer() {
    is 0 acquire --guard 0 -t 1h job-11 && is 124 run --guard 0 --once-per 1s job-11 -- true
}
check 'a job waits no longer for the lock than a period' waits_no_longer

# With a TTL of a minute it would ask for marks for so long.
is_interrupted_in_marking() {
    everywhere SET job-12#done mine >"$directory/out"
    start run --guard 0 -t 60s --once-per 30d job-12 -- touch "$directory/ran"
    sleep 1
    kill -TERM "$started"
    over "$started"
    [ $? = 143 ] && gone job-12 && [ ! -e "$directory/ran" ] && [ "$(ask 0 GET job-12#done)" = mine ]
}
check 'a signal ends it while it marks, and the lock is released' is_interrupted_in_marking

stutters() {
    on 1 STOP; on 2 STOP
    start run --guard 0 --node-timeout 30s --wait 0 --once-per 30d job-13 -- true
    sleep 0.5
    on 1 CONT; on 2 CONT
    over "$started"
}
check 'servers that stutter are waited for' stutters

is_both() {
    is 0 run --guard 0 --once-per 30d --hold-at-least 60s job-14 -- true && lasts_about job-14 50000 62000 &&
    is 124 run --guard 0 --wait 0 --once-per 30d job-14 -- true
}
check 'a job may run once per period and hold its lock for longer as well' is_both

finish
