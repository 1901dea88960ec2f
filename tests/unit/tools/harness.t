#!/bin/sh
# A program under tests/run or tests/limited that hangs, stops its children, or leaves them behind costs
# its limit, and nothing is left of it.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

export GRACE_S=1
unset AGAIN
made=$(mktemp -d) || exit 1
# Removes everything that a failing harness has left.
# shellcheck disable=SC2046    # The process ids are several words.
clean_up() {
    kill -KILL $(cat "$made"/*.pid 2>/dev/null) 2>/dev/null
    rm -rf "$made"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck disable=SC2016    # That is for the program.
# program NAME: from stdin. Within it "note NAME" writes down the number of the process that was begun last.
program() {
    { printf '#!/bin/sh\nmade=%s\nnote() { echo $! >"$made/$1.pid"; }\n' "$made"; cat; } >"$made/$1" && chmod 755 "$made/$1"
}

# The first two hold the pipe of the third, which waits for one that nobody will continue.
program hangs <<'END'
trap 'echo ended >"$made/trap"; exit 1' TERM
echo '1..2'
echo 'ok 1 - begun'
sleep 300 & note stopped
kill -STOP $!
perl -MPOSIX -e 'fork and exit; setsid; $SIG{TERM} = "IGNORE"; open F, ">", shift; print F "$$\n"; close F; sleep 300' "$made/daemon.pid"
wait
END
program leaves <<'END'
echo 'ok 1 - begun'
echo '1..1'
sleep 300 >/dev/null 2>&1 & note left
END
program waits <<'END'
echo 'ok 1 - begun'
sleep 300 & note waiting
wait
END
program counts <<'END'
echo '1..1'
echo 'ok 1 - the next one is run'
END
program talks <<'END'
yes "ok" & note talking
wait
END

# is_gone NAME: it had begun, and is no longer there, or dead and not yet buried.
is_gone() {
    read -r number <"$made/$1.pid" || return 1
    ! kill -0 "$number" 2>/dev/null || grep -q ') Z ' "/proc/$number/stat" 2>/dev/null
}
within() {
    left=$(($1 * 20))
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || { echo "it never came to be: $*"; return 1; }
        sleep 0.05
    done
}
has_begun() { [ -s "$made/$1.pid" ]; }

# alone COMMAND...: it may take a minute, whoever holds its pipe.
alone() {
    "$@" >"$made/said" 2>&1 &
    runner=$!
    if within 60 is_over; then wait $runner; else kill -KILL $runner; cat "$made/said"; return 99; fi
}
is_over() { ! kill -0 "$runner" 2>/dev/null; }
says() { grep -q -e "$1" "$made/said" || { cat "$made/said"; return 1; }; }

ends_what_hangs() {
    LIMIT_S=2 alone tests/run "$made/hangs" "$made/counts"
    [ $? = 1 ] && says 'it took more than 2 s' && says '^2 passed, 1 failed$'
}
check 'a program that stops a child of its own is ended at the limit, and the next one is run' ends_what_hangs
check 'it could clean up' test -s "$made/trap"
check 'what it had stopped is gone' within 5 is_gone stopped
check 'so is what left its session and ignores SIGTERM' is_gone daemon

leaves_something() {
    alone tests/run "$made/leaves"
    [ $? = 1 ] && says '# it left running: sleep 300' && says '^1 passed, 1 failed$' && is_gone left
}
check 'a program that leaves a process behind has failed, and it is gone' leaves_something

mkdir "$made/live"
program live/once <<'END'
echo '1..1'
mkdir "$made/tried" 2>/dev/null && printf 'not '
echo 'ok 1 - the second time'
END
program live/never <<'END'
echo '1..1'
echo 'not ok 1 - at any time'
END

once_is_forgiven() {
    alone tests/run "$made/live/once" "$made/live/never"
    [ $? = 1 ] && says "^failed beside others, and passed alone: $made/live/once\$" && says '^1 passed, 1 failed$' &&
        [ "$(grep -c '^   not ok 1 - at any time' "$made/said")" = 2 ]
}
check 'a live program that failed beside others is run again alone, and named' once_is_forgiven
is_strict() {
    rmdir "$made/tried"
    AGAIN=no alone tests/run "$made/live/once" "$made/live/never"
    [ $? = 1 ] && says '^0 passed, 2 failed$'
}
check 'with AGAIN=no it is not' is_strict
fails_alone() {
    rmdir "$made/tried"
    alone tests/run "$made/live/once"
    [ $? = 1 ] && says '^0 passed, 1 failed$'
}
check 'nor is one that was alone' fails_alone

# ended_by SIGNAL STATUS PROGRAM NAME: the harness gets the signal when the program has begun the process with that name.
ended_by() {
    rm -f "$made/$4.pid"
    # A shell lets its background processes ignore SIGINT.
    perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' tests/run "$made/$3" >"$made/said" 2>&1 &
    runner=$!
    within 30 has_begun "$4" && kill -"$1" $runner || return 1
    wait $runner 2>/dev/null
    [ $? = "$2" ] || return 1
    if [ "$1" = KILL ]; then within 30 is_gone "$4"; else is_gone "$4"; fi
}
check 'Ctrl-C ends all before the harness ends' ended_by INT 130 waits waiting
check 'so does SIGTERM' ended_by TERM 143 waits waiting
check 'SIGTERM ends a program that talks to nobody' ended_by TERM 143 talks talking
check 'and if the harness is killed all ends a little later' ended_by KILL 137 waits waiting

# ends STATUS COMMAND...
ends() {
    expected=$1
    shift
    tests/limited 30 "$@"
    got=$?
    [ $got = "$expected" ] || { echo "status $got, not $expected"; return 1; }
}
check 'the status is that of the program' ends 7 sh -c 'exit 7'
# shellcheck disable=SC2016    # It is for the other shell.
check 'or tells the signal that it died of' ends 134 sh -c 'kill -ABRT $$'
all_is_passed_on() { [ "$(tests/limited 30 perl -e 'print "x" x 300000' | wc -c)" -eq 300000 ]; }
check 'all that it prints is passed on' all_is_passed_on

# ---- What a person has set ----

variables() { sed -n 's/.*"\(REDLOCK_[A-Z_]*\)".*/\1/p' tools/redlock/*.c tools/admin/*.c | sort -u; }
# A program runs with all variables that the commands read or set, and two of the tests' own.
forgets_variables() {
    [ "$(variables | grep -c .)" -ge 8 ] || return 1
    # shellcheck disable=SC2046    # Settings are several words.
    env $(variables | sed 's/$/=x/') NOTIFY_SOCKET=/nowhere REDLOCK=here REDLOCK_TEST_TLS= sh -c '. tools/environment.sh; env' >"$made/variables"
    [ "$(grep -E '^(REDLOCK|NOTIFY)' "$made/variables" | sort | tr '\n' ' ')" = 'REDLOCK=here REDLOCK_TEST_TLS= ' ] || { cat "$made/variables"; return 1; }
}
check 'what a person has in the environment is not for tests, demo and benchmark' forgets_variables
all_forget_them() {
    for file in tests/live/lib.sh tools/bench/servers.sh tools/examples/firmware/run; do
        grep -qE '^\. (.*/)?tools/environment\.sh$' "$file" || { echo "$file"; return 1; }
    done
}
check 'all that starts servers for the command forgets it' all_forget_them
finish
