#!/bin/sh
# The message about NOPERM lists the rights for each kind of lock. A user with just these rights can do
# everything with that kind, and nothing that is sent is refused. command_wait.t has the plain lock;
# unit/tools/test_rights.c has that no right is superfluous.
# shellcheck disable=SC2154    # What lib.sh defines.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 1
ask 0 ACL SETUSER none on nopass >/dev/null

# The advice for these options, about hut.
rights_for() {
    "$redlock" acquire --guard 0 --node-timeout "$patience" -n "redis://none:x@127.0.0.1:$port_0" "$@" hut 2>"$directory/advice"
    sed -n 's/.*ACL SETUSER <user> \(~[^;)]*\).*/\1/p' "$directory/advice" | sed 's/RESOURCE/hut/g'
}
log_is_empty() { [ "$(ask 0 ACL LOG)" = '*0' ]; }

# Every command, while another client waits; by scripts that the server does not know.
story() {
    is 0 acquire --guard 0 -t 60s "$@" hut && printed=$(cat "$directory/out") || return 1
    is 0 extend --guard 0 -t 60s hut "$printed" || return 1
    "$redlock" status --guard 0 hut >/dev/null
    # shellcheck disable=SC2086    # It may be no word.
    start run --guard 0 --wait 20s --retry 100ms "$@" $waits_as hut -- true
    sleep 0.5
    is 0 release --guard 0 hut "$printed" && over "$started" && is 0 run --guard 0 "$@" hut -- true
}

# suffices WORD...: options, and, for the one that waits, $waits_as.
suffices() {
    rights=$(rights_for "$@")
    [ -n "$rights" ] || { cat "$directory/advice"; return 1; }
    nodes="redis://least:x@127.0.0.1:$port_0"
    export REDLOCK_NODES="$nodes"
    # shellcheck disable=SC2086    # Rules are several words.
    [ "$(ask 0 ACL SETUSER least reset on nopass $rights)" = OK ] && ask 0 SCRIPT FLUSH >/dev/null && ask 0 ACL LOG RESET >/dev/null &&
    story "$@" && log_is_empty
}
for waits_as in '' --no-ticket; do
    for kind in --fair --shared '--permits 1' --redisson; do
        [ "$waits_as$kind" != --no-ticket--redisson ] || continue
        # shellcheck disable=SC2086    # Several words.
        check "the rights that the message names suffice for $kind $waits_as" suffices $kind
    done
done

# A reader beside a writer that waits.
waits_as=
beside_a_writer() {
    # shellcheck disable=SC2046    # Rules are several words.
    ask 0 ACL SETUSER least reset on nopass $(rights_for --shared) >/dev/null && ask 0 SCRIPT FLUSH >/dev/null &&
    ask 0 ACL LOG RESET >/dev/null && is 0 acquire --guard 0 -t 60s --shared hut && printed=$(cat "$directory/out") || return 1
    start run --guard 0 --wait 20s --retry 100ms --shared hut -- true
    over "$started" && is 124 acquire --guard 0 --wait 300ms --retry 100ms hut && is 0 release --guard 0 hut "$printed" && log_is_empty
}
check 'readers need no other rights while a writer waits' beside_a_writer

# The guide names the same commands.
is_as_in_the_guide() {
    for kind in shared fair redisson; do
        case $kind in redisson) words=$(block acl-redisson) ;; *) words=$(block acl; block "acl-$kind") ;; esac
        for word in $(rights_for "--$kind" | tr ' ' '\n' | grep '^[+]'); do
            [ "$kind" != redisson ] || ! block acl | tr ' ' '\n' | grep -qxF -e "$word" || continue
            echo "$words" | tr ' ' '\n' | grep -qxF -e "$word" || { echo "$kind: $word"; return 1; }
        done
    done
}
check 'the guide names the same commands' is_as_in_the_guide
finish
