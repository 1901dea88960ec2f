#!/bin/sh
# Tickets. Tests what the command does with them, and its messages when a clock or a restart stands in their way.
# shellcheck disable=SC2016    # The expressions are perl's, and those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
: "${CC:=cc}"
tools/need "${CC%% *}" || exit 1

start_servers 3

ticket() { cut -d : -f 2 "$directory/out"; }

# A wall clock that is wrong by CLOCK_AHEAD seconds. A sanitizer must not mind which library is loaded first.
cat >"$directory/clock.c" <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time)
{
    const char *ahead = getenv("CLOCK_AHEAD");
    long result = syscall(SYS_clock_gettime, clock, time);
    if (clock == CLOCK_REALTIME && ahead) time->tv_sec += atoll(ahead);
    return (int)result;
}
END
# shellcheck disable=SC2086    # The compiler may be several words.
$CC -shared -fPIC -o "$directory/clock.so" "$directory/clock.c" || exit 1
cat >"$directory/redlock" <<END
#!/bin/sh
export LD_PRELOAD="$directory/clock.so" ASAN_OPTIONS="verify_asan_link_order=0:\$ASAN_OPTIONS"
exec "$redlock" "\$@"
END
chmod +x "$directory/redlock"
right=$redlock

# wrong_by SECONDS STATUS WORDS...: as is(), with that clock.
wrong_by() {
    redlock=$directory/redlock CLOCK_AHEAD=$1
    export CLOCK_AHEAD
    shift
    is "$@"
    set -- $?
    redlock=$right
    unset CLOCK_AHEAD
    return "$1"
}

# ---- The ticket ----

grows() {
    last=$(date +%s)000000
    for _ in 1 2 3; do
        is 0 acquire --guard 0 door && [ "$(ticket)" -gt "$last" ] && [ "$(most GET door#ticket)" = "$(ticket)" ] &&
        last=$(ticket) && is 0 release --guard 0 door "$(cat "$directory/out")" || return 1
    done
    [ "$last" -lt $(($(date +%s) + 1))000000 ]
}
check 'each holder has a larger ticket than the one before, near the wall clock in microseconds' grows

handed_on() {
    is 0 acquire --guard 0 door-1 && printed=$(cat "$directory/out") || return 1
    is 0 extend --guard 0 door-1 "$printed" && is 0 extend --guard 0 door-1 "${printed%:*}" &&
    is 125 extend --guard 0 door-1 "$printed:" && is 125 extend --guard 0 door-1 "${printed}x" &&
    is 125 release --guard 0 door-1 "${printed%:*}:" && is 0 release --guard 0 door-1 "$printed"
}
check 'extend and release take what acquire has printed, or the token alone' handed_on

in_json() {
    is 0 acquire --guard 0 --json door-2 && json out '$j->{ticket} > time * 1e6 - 60e6 && $j->{token} =~ /^[0-9a-f]{40}$/' &&
    is 0 acquire --guard 0 --json --no-ticket door-3 && json out '!exists $j->{ticket} && $j->{status} eq "OK"' &&
    is 0 acquire --guard 0 -v door-4 && says "door-4: acquired for .*, with ticket $(ticket)\$"
}
check 'the ticket is in the JSON, and is said with --verbose' in_json

in_environment() {
    is 0 run --guard 0 --no-holder door-5 -- sh -c 'echo "$REDLOCK_TOKEN:$REDLOCK_TICKET"' && prints '^[0-9a-f]{40}:[0-9]{16}$' &&
    [ "$(most GET door-5#ticket)" = "$(ticket)" ]
}
check 'the command that is run finds its ticket in REDLOCK_TICKET' in_environment

none() {
    is 0 acquire --guard 0 --no-ticket --trace door-6 && prints '^[0-9a-f]{40}$' && says '> +SET door-6 .* NX PX 10000 ' &&
    is_nowhere door-6#ticket &&
    REDLOCK_TICKET=5 is 0 run --guard 0 --no-ticket door-7 -- sh -c 'echo "has ${REDLOCK_TICKET-none}"' && prints '^has none$'
}
check '--no-ticket is a plain SET, and the command does not take the ticket of a lock around it for its own' none

both_exclude() {
    is 0 acquire --guard 0 door-8 && is 124 acquire --guard 0 --no-ticket door-8 &&
    is 0 acquire --guard 0 --no-ticket door-9 && is 124 acquire --guard 0 door-9
}
check 'a lock with a ticket and one without exclude each other' both_exclude

# ---- A restart ----

# The servers have been up for the guard, but not for the guard and twice the skew.
up_for_the_guard() { "$redlock" acquire --guard 3s -t 3s --no-ticket --node-timeout $patience "door-$1-$(date +%s%N)"; }
restarted() {
    within 20 up_for_the_guard 10 || return 1
    sleep 2     # A quorum has; the last server may have started a second later, as its uptime is reported in whole ones.
    set -- --guard 3s -t 3s --skew 30s --node-timeout $patience
    is 122 acquire "$@" door-11 && says 'no quorum: .*\(0 of 3, quorum 2\)' &&
    says 'node 2 \(127.0.0.1:[0-9]+\): restarted [0-9]+ s ago, no ticket for another [3-6][0-9] s \(wait; .*--no-ticket' &&
    is 122 run "$@" --wait 0 door-11 -- true && says 'no ticket for another' &&
    is 122 acquire "$@" --json door-11 &&
    json out '2 <= grep { $_->{vote} eq "not asked" && $_->{trouble} =~ /no ticket for another/ } @{$j->{nodes}}' &&
    is 0 acquire "$@" --no-ticket door-11
}
status_of_restarted() {
    is 122 status --guard 3s --skew 30s --node-timeout $patience door-12 && prints '^door-12: free on 3 of 3' &&
    prints 'node 1 .* free \(restarted [0-9]+ s ago, no ticket for another [0-9]+ s\)$' &&
    is 122 status --guard 3s --skew 30s --node-timeout $patience --json door-12 && json out '$j->{nodes}[1]{trouble} =~ /no ticket for another/'
}
check 'after a restart tickets come later than votes, and the message says when' restarted
check 'status says how long a node gives no ticket yet' status_of_restarted

# ---- Wrong clocks ----

too_far_ahead() {
    wrong_by 60 122 acquire --guard 0 door-13 &&
    says 'node [0-2] \(127.0.0.1:[0-9]+\): our wall clock is (59|6[0-9])\.[0-9] s ahead of its.* \(set the clock that is wrong, by NTP; .*--no-ticket' &&
    wrong_by 60 0 acquire --guard 0 --no-ticket door-13 && wrong_by 60 0 acquire --guard 0 --skew 2m door-14
}
check 'a clock that is too far ahead gets no ticket, and the message says by how much and what to do' too_far_ahead

behind() {
    is 0 acquire --guard 0 -t 2s door-15 && last=$(ticket) &&
    wrong_by -3600 0 acquire --guard 0 --wait 10s door-15 && [ "$(ticket)" -gt "$last" ]
}
check 'a clock that lags behind gets a ticket that is larger than the last all the same' behind

# It waits for nobody, so it takes no TTL, and says what is wrong.
behind_and_does_not_wait() {
    is 0 run --guard 0 door-18 -- true && wrong_by -8 0 run --guard 0 --wait 0 door-18 -- true &&
    wrong_by -60 122 run --guard 0 -t 1h --once-per 1d door-19 -- true &&
    says 'node [0-2] \(127.0.0.1:[0-9]+\): our wall clock is (59|60)\.[0-9] s behind its \(set the clock that is wrong, by NTP\)$' &&
    wrong_by 60 122 run --guard 0 -t 1h --no-ticket --once-per 1d door-19 -- true && says 'our wall clock is 6[01]\.[0-9] s ahead of its'
}
check 'one try finds a lock free that is free, and a period is not marked by a wrong clock, which is told at once' behind_and_does_not_wait

poisoned() {
    everywhere SET door-16#ticket $(($(date +%s) + 1000))000000 PX 60000 >/dev/null
    is 122 acquire --guard 0 --wait 3s door-16 && says 'node [0-2] .*the last ticket is too far ahead of its wall clock' &&
    says 'no quorum' && ! grep 'somebody else' "$directory/err" &&
    is 0 acquire --guard 0 --no-ticket door-16
}
check 'a ticket that was given by a wrong clock is told from a clock of ours that is wrong, and from a holder' poisoned

before_1970() {
    now=$(date +%s)
    wrong_by -$((now + 1000)) 125 acquire --guard 0 door-17 && says "wall clock .*wrong \(set this machine's clock; .*--no-ticket" &&
    wrong_by -$((now + 1000)) 125 run --guard 0 door-17 -- true && wrong_by -$((now + 1000)) 0 run --guard 0 --no-ticket door-17 -- true
}
check 'a clock that is none is told, and does no harm without a ticket' before_1970

finish
