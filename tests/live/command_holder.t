#!/bin/sh
# shellcheck disable=SC1091,SC2016,SC2154    # What lib.sh defines. Commands are expanded by the shell that is run.
# The holder's program stands after the token. Tests its name there and in status.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
: >"$directory/job"
chmod +x "$directory/job"
cat >"$directory/job" <<'END'
#!/bin/sh
"$1" status --guard 0 door
"$1" status --guard 0 --json door
exit 0
END

run_names_its_command() {
    LOGNAME='' USER=otto is 0 run --guard 0 door -- "$directory/job" "$redlock" && prints '^door: held by otto@[^ ]*:[0-9]+ job' &&
    LOGNAME=anna is 0 run --guard 0 door -- "$directory/job" "$redlock" &&
        prints '^door: held by anna@[^ ]*:[0-9]+ job, last ticket [0-9]+ \([0-9.]+ m?s ago\), free in at most [0-9.]+ s, on [23] of 3 nodes' &&
        prints '"verdict":"held".*"holder":"anna@[^ ]*:[0-9]+ job","ticket":[0-9]+'
}
run_without() {
    is 0 run --guard 0 --no-holder door -- "$directory/job" "$redlock" && prints '^door: held by [0-9a-f]{40} for another ' &&
        prints '"holder":null'
}
run_with_another() {
    is 0 run --guard 0 --no-ticket --holder 'the night job' door -- "$directory/job" "$redlock" && prints '^door: held by the night job'
}
the_command_can_extend() {
    is 0 run --guard 0 door -- sh -c '"$1" extend --guard 0 door "$REDLOCK_TOKEN" && "$1" release --guard 0 door "$REDLOCK_TOKEN"; :' \
        sh "$redlock" || [ "$got" = 123 ] || return 1
    says 'door: released on [23] of 3 nodes'
}
acquire_hands_it_on() {
    is 0 acquire --guard 0 --ttl 20s --holder 'deploy of anna' gate && prints '^[0-9a-f]{40}:[0-9]+ deploy of anna$' &&
        token=$(cat "$directory/out") && is 124 status --guard 0 gate && prints '^gate: held by deploy of anna, ' &&
        is 123 extend --guard 0 gate "${token%% *}" && is 0 extend --guard 0 gate "$token" && is 0 release --guard 0 gate "$token" &&
        gone gate
}
json_has_both() {
    is 0 acquire --guard 0 --json --holder 'deploy of anna' json && prints '"token":"[0-9a-f]{40}","holder":"deploy of anna","ticket":[0-9]+'
}
acquire_has_none() {
    is 0 acquire --guard 0 --no-ticket plain && prints '^[0-9a-f]{40}$' && [ "$(most GET plain)" = "$(cat "$directory/out")" ]
}
names_are_checked() {
    name=$(printf '%063d' 0)
    is 0 run --guard 0 --holder "$name" long -- true && is 125 run --guard 0 --holder "0$name" long -- true && says '1 to 63 bytes' &&
        is 125 acquire --holder '' long && is 125 acquire --holder 'a"b' long && says 'no control characters, quotes and backslashes' &&
        is 125 acquire --holder "$(printf 'a\tb')" long
}
# A minority has another's name, and an older ticket.
nodes_differ() {
    token=$(printf '%040d' 7)
    ask 0 SET apart "$token alpha" >/dev/null && ask 1 SET apart "$token alpha" >/dev/null && ask 2 SET apart "$(printf '%040d' 8) beta" >/dev/null &&
        ask 0 SET 'apart#ticket' 1795000000000007 >/dev/null && ask 1 SET 'apart#ticket' 1795000000000009 >/dev/null &&
        ask 2 SET 'apart#ticket' 1795000000000008 >/dev/null && is 124 status --guard 0 apart &&
        prints '^apart: held by alpha, last ticket 1795000000000009 .*on 2 of 3 nodes'
}
stranger_is_shown() {
    for k in 0 1 2; do ask $k SET stranger "not-a-token-but-a-value-that-is-longer-than-forty-bytes" >/dev/null; done
    is 124 status --guard 0 stranger && prints '^stranger: held by not-a-token.*\.\.\. for ever'
}
check 'run tells which program holds the lock, and status shows it, with the last ticket' run_names_its_command
check 'run can be told to keep it to itself' run_without
check 'run can be given another name' run_with_another
check 'the command of run can extend and release its lock by REDLOCK_TOKEN' the_command_can_extend
check 'acquire prints the name behind the token, and extend and release need it' acquire_hands_it_on
check 'JSON has token and holder apart' json_has_both
check 'acquire has no holder unless told' acquire_has_none
check 'a holder has a name of 1 to 63 bytes' names_are_checked
check 'where nodes differ the name is that of the token which a quorum has, and the ticket the largest' nodes_differ
check 'a value that is no token is no name' stranger_is_shown
finish
