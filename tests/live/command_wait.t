#!/bin/sh
# Waiting. A waiting client is woken by the release; tests also the rules that an ACL must have for all of that.
# shellcheck disable=SC2016    # The expressions are perl's.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

# It must be so on a quorum, since a late server has its entry with the next attempt.
is_in_line() { [ "$(everywhere ZCARD "$1#waiters" | grep -c '[1-9]')" -ge 2 ]; }

# It looks by itself only every 20 s or so.
is_woken() {
    is 0 acquire --guard 0 -t 60s door && printed=$(cat "$directory/out") || return 1
    start acquire --guard 0 --wait 60s --retry 40s --trace=all door
    within 10 is_in_line door || return 1
    "$redlock" release --guard 0 --trace door "$printed" 2>"$directory/release" || return 1
    begun=$(date +%s)
    over "$started" && [ $(($(date +%s) - begun)) -lt 10 ]
}
trace_of_waiter() {
    says ' [0-2]e =  connected to 127.0.0.1:[0-9]+, to hear of releases' &&
    says ' [0-2]e > +SUBSCRIBE redlock:[0-9a-f]{16} +hear when our turn has come' &&
    says ' [0-2]  > +EVALSHA wait 1 door entry=[0-9a-f]{16}:[0-9]+ arrived=[0-9]{16} life=[0-9]+ modes=x +stand in line for it' &&
    says ' [0-2]e < +message redlock:[0-9a-f]{16} [0-9]+$' && says ' [0-2]  = +our turn has come$' &&
    grep -Eq '< +:2 +it was ours, and is removed; a waiting client is told' "$directory/release"
}
check 'a waiting client is woken by the release' is_woken
check 'the trace tells of it' trace_of_waiter

run_is_woken() {
    start run --guard 0 -t 60s door-1 -- sh -c 'echo $$; sleep 1'
    within 10 prints '[0-9]' || return 1
    first=$started
    start run --guard 0 --retry 40s door-1 -- echo 'second is in'
    within 10 is_in_line door-1 && within 10 prints 'second is in' && over "$first" && over "$started"
}
check 'redlock run is woken by the end of another' run_is_woken

# ---- --no-wake-ups ----

is_deaf() {
    is 0 acquire --guard 0 -t 60s door-2 && printed=$(cat "$directory/out") || return 1
    is 124 acquire --guard 0 --wait 500ms --no-wake-ups --trace=all door-2 && ! grep -e SUBSCRIBE -e 'in line' "$directory/err" &&
    [ "$(ask 0 EXISTS door-2#waiters)" = 0 ] && is 0 release --guard 0 --no-wake-ups --trace=all door-2 "$printed" &&
    says '> +EVALSHA release 1 door-2 token=[0-9a-f]+\.\.[0-9a-f]+ +release it'
}
is_dumb() {
    is 0 acquire --guard 0 -t 60s door-3 && printed=$(cat "$directory/out") || return 1
    start acquire --guard 0 --wait 60s --retry 40s door-3
    within 10 is_in_line door-3 && is 0 release --guard 0 --no-wake-ups door-3 "$printed" && sleep 0.5 && kill -0 "$started" || return 1
    kill -TERM "$started"
    over "$started"
    [ $? = 143 ] && [ "$(ask 0 EXISTS door-3#waiters)" = 0 ]
}
check '--no-wake-ups hears nothing, and leaves no entry in the queue' is_deaf
check '--no-wake-ups tells nobody' is_dumb

# ---- ACLs: on one server, by a user that may do what the message says, and nothing else ----

# shellcheck disable=SC2154    # Set by its number.
one=127.0.0.1:$port_0
secret=Tr0ub4dor

# as WORDS...: runs redlock by that user, with the option $extra where the command knows it. "by=exec as
# WORDS... &" is a process that is redlock itself, so a signal to it does not end a shell in its place.
extra=
by=
as() {
    command=$1
    shift
    case $extra$command in
    --no-*extend | --no-*status | --no-ticketrelease) ;;
    ?*) [ -z "$extra" ] || set -- "$extra" "$@" ;;
    esac
    $by "$redlock" "$command" --node-timeout "$patience" --user least --password-file "$directory/password" --guard 0 -n "$one" "$@"
}

# The client that waits is in line, or the server has refused something.
is_seen() { [ "$(ask 0 ZCARD hut#waiters)" -gt 0 ] || ! log_is_empty; }

# Every command, while a client waits. Nothing is known to the server before.
story() {
    ask 0 DEL hut hut#waiters >/dev/null
    ask 0 SCRIPT FLUSH >/dev/null
    printed=$(as acquire -t 10s hut) || return 1
    as extend -t 20s hut "$printed" || return 1
    by='exec' as run --wait 5s --retry "$1" hut -- true &
    runner=$!
    begin $runner
    if [ "$extra" = --no-wake-ups ]; then sleep 0.25; else within 5 is_seen; fi
    as status hut >/dev/null
    # One that went on waiting would take the lock away from the next story.
    if ! { as release hut "$printed" 2>/dev/null && over $runner; }; then
        kill $runner 2>/dev/null
        over $runner
        return 1
    fi
    printed=$(as acquire -t 10s --no-ticket hut) || return 1
    as acquire --no-ticket --wait 200ms --retry 50ms hut 2>/dev/null
    as release hut "$printed" 2>/dev/null
}
log_is_empty() { [ "$(ask 0 ACL LOG)" = '*0' ]; }

echo $secret >"$directory/password"
ask 0 ACL SETUSER least on ">$secret" >/dev/null
as acquire hut 2>"$directory/advice"
rules=$(sed -n 's/.*NOPERM .*ACL SETUSER <user> \(~[^;]*\);.*/\1/p' "$directory/advice" | sed 's/RESOURCE/hut/g')

# allow RULE...: these alone. The name in CLIENT LIST is a courtesy, and its refusal would be in the log.
allow() {
    [ "$(ask 0 ACL SETUSER least reset on ">$secret" "$@")" = OK ] && ask 0 ACL LOG RESET >/dev/null
}
advice_suffices() {
    cat "$directory/advice"
    # shellcheck disable=SC2086    # Rules are several words.
    allow $rules && story 40s && log_is_empty
}
check 'the rules that the message about NOPERM names suffice for everything' advice_suffices

# Without one of them the server refuses something.
each_is_needed() {
    needed=0
    for rule in $rules; do
        # shellcheck disable=SC2046    # The other rules.
        allow $(for other in $rules; do [ "$other" = "$rule" ] || echo "$other"; done) || return 1
        story 100ms >"$directory/story" 2>&1
        ! log_is_empty || { echo "nothing is refused without $rule:"; cat "$directory/story"; return 1; }
        needed=$((needed + 1))
    done
    [ $needed -ge 20 ]
}
check 'each of these rules is needed' each_is_needed

# INFO is asked for in any case.
less_suffices() {
    for extra in --trust-unknown --no-ticket --no-wake-ups; do
        without=$(sed -n "s/.*; without \(.*\): $extra.*/\1/p" "$directory/advice" | sed 's/RESOURCE/hut/g')
        [ -n "$without" ] || return 1
        # shellcheck disable=SC2046    # The other rules.
        allow $(for other in $rules; do case " $without " in *" $other "*) ;; *) echo "$other" ;; esac; done) || return 1
        story 100ms || return 1
        [ $extra = --trust-unknown ] || log_is_empty || return 1
    done
}
check 'options do without some of them, as the message says' less_suffices

# Hand-overs are slower then, and the release says nothing of it.
missing_publish_is_told() {
    # shellcheck disable=SC2046    # The other rules.
    allow $(for other in $rules; do [ "$other" = +publish ] || echo "$other"; done) && ask 0 DEL hut >/dev/null || return 1
    extra=
    as acquire -t 60s hut >/dev/null && ! as acquire --wait 700ms --retry 50ms hut 2>"$directory/err" &&
        says 'node 0 \(127.0.0.1:[0-9]*\): a release wakes nobody there, .*allow it: [+]publish &redlock:[*]; or, .*--no-wake-ups' &&
        [ "$(grep -c publish "$directory/err")" = 1 ] || return 1
    for option in --no-wake-ups --json --wait=0; do
        ! as acquire --wait 300ms "$option" hut >/dev/null 2>"$directory/err" && ! grep publish "$directory/err" || return 1
    done
    # shellcheck disable=SC2086    # Several words.
    allow $rules && ! as acquire --wait 300ms hut 2>"$directory/err" && ! grep publish "$directory/err" && log_is_empty
}
check 'a client that waits says once which nodes do not let it publish' missing_publish_is_told

finish
