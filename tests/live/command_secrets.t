#!/bin/sh
# Users and passwords of redlock. Tests the ways to give them, and that nobody sees them.
# shellcheck disable=SC2016    # The expressions are those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

secret=Tr0ub4dor
start_server --requirepass $secret --user alice on '>al1ce-secret' '~*' '+@all' \
    --user bob on '>bob-secret' '~*' +set +get +del +pttl +pexpire +eval +evalsha '+script|load'
# shellcheck disable=SC2154    # Set by its number.
node=127.0.0.1:$port_0
export REDLOCK_NODES="$node"
printf '%s\nsecond line\n' $secret >"$directory/password"
printf 'al1ce-secret' >"$directory/alices"

# ask() logs in nowhere, so a lock is looked at by redlock.

hidden() {
    ! grep -r -e $secret -e al1ce-secret "$directory/out" "$directory/err"
}

# ---- Ways to give them ----

from_file() {
    is 0 acquire --guard 0 --password-file "$directory/password" file-1 &&
    REDLOCK_PASSWORD_FILE=$directory/password is 0 acquire --guard 0 file-2
}
check 'a password comes from the first line of a file' from_file

from_environment() {
    REDLOCK_PASSWORD=$secret is 0 acquire --guard 0 env-1 &&
    REDLOCK_PASSWORD=wrong REDLOCK_PASSWORD_FILE=$directory/password is 0 acquire --guard 0 env-2
}
check 'a password comes from the environment, a file before a variable' from_environment

from_address() {
    is 0 acquire --guard 0 -n "redis://:$secret@$node" url-1 &&
    is 0 acquire --guard 0 -n "redis://alice:al1ce-secret@$node" url-2 &&
    REDLOCK_NODES=redis://:$secret@$node is 0 acquire --guard 0 url-3
}
check 'a password comes with the address' from_address

with_user() {
    is 0 acquire --guard 0 --user alice --password-file "$directory/alices" user-1 &&
    REDLOCK_USER=alice REDLOCK_PASSWORD=al1ce-secret is 0 acquire --guard 0 user-2 &&
    REDLOCK_PASSWORD=$secret is 125 acquire --guard 0 --user alice user-3 && says 'WRONGPASS' &&
    says 'check the password and --user'
}
check 'a user comes from --user or the environment' with_user

# ---- What is wrong with them ----

mistakes() {
    is 125 acquire --guard 0 door && says 'NOAUTH' && says 'set REDLOCK_PASSWORD, or give --password-file' &&
    is 125 acquire --password-file "$directory/none" door && says "cannot read the password file $directory/none" &&
    is 125 acquire --password-file "$directory/begun-not" door && is 125 acquire --user alice door &&
    says 'user alice has no password' &&
    : >"$directory/empty" && is 125 acquire --password-file "$directory/empty" door &&
    says 'begins with an empty line' &&
    is 125 acquire --password-file "$directory" door && says "cannot read the password file $directory" &&
    perl -e 'print "x" x 600' >"$directory/long" && is 125 acquire --password-file "$directory/long" door &&
    says 'too long'
}
check 'what is wrong with a password is told, and what to do' mistakes

refused_option() {
    is 125 acquire --password $secret door && says 'use --password-file or REDLOCK_PASSWORD' && hidden &&
    is 125 acquire --password=$secret door && hidden && is 125 acquire --passwor=$secret door && hidden
}
check 'there is no --password: it would be seen' refused_option

least_privilege() {
    REDLOCK_PASSWORD=bob-secret is 125 acquire --guard 0 --user bob acl-1 && says 'NOPERM' &&
    says 'ACL SETUSER <user> .*\+info .*--trust-unknown' &&
    REDLOCK_PASSWORD=bob-secret is 0 acquire --guard 0 --user bob --trust-unknown --no-ticket acl-1
}
check 'a user without INFO is told what is missing; --trust-unknown does without' least_privilege

# ---- Nobody sees them ----

# shows_nothing PID: neither its command line nor its environment has them.
shows_nothing() {
    for file in cmdline environ; do
        ! tr '\0' ' ' <"/proc/$1/$file" | grep -e $secret -e al1ce-secret || return 1
    done
}
hidden_in_ps() {
    REDLOCK_PASSWORD=$secret start run --guard 0 -n "redis://alice:al1ce-secret@$node,$node" -n redis://:$secret@127.0.0.1:1 \
        --wait forever door -- true
    within 5 sh -c "tr '\\0' ' ' </proc/$started/cmdline | grep -F 'redis://***'" || return 1
    shows_nothing "$started"
    good=$?
    kill -TERM "$started"
    over "$started"
    [ $good = 0 ] && hidden
}
if [ -r /proc/self/cmdline ]; then check 'neither ps nor /proc shows them' hidden_in_ps
else skip 'neither ps nor /proc shows them' 'there is no /proc'
fi

# A process that must not be dumped is root's in /proc, see proc(5). It is therefore checked for any user but root.
# is_owned_by UID WORDS...: so is redlock, soon after it began. (Before that perl is root's, which changes its user.)
is_owned_by() {
    owner=$1
    shift
    runs_as_another "$@" >"$directory/said" 2>&1 &
    begin $!
    within 10 is_redlock $! && within 10 has_owner $! "$owner"
    good=$?
    kill $!
    over $!
    [ $good = 0 ]
}
is_redlock() { case $(tr '\0' ' ' <"/proc/$1/cmdline") in "$redlock "*) ;; *) return 1 ;; esac; }
has_owner() { [ "$(perl -e 'print((stat shift)[4])' "/proc/$1/mem")" = "$2" ]; }
runs_as_another() { exec perl -e '$< = $> = 65534; exec @ARGV or exit 126' "$redlock" "$@"; }
leaves_no_core() {
    is_owned_by 0 acquire --guard 0 -n "redis://:$secret@127.0.0.1:1" --wait forever door &&
    REDLOCK_PASSWORD=$secret is_owned_by 0 acquire --guard 0 -n 127.0.0.1:1 --wait forever door &&
    is_owned_by 65534 acquire --guard 0 -n 127.0.0.1:1 --wait forever door
}
if [ ! -r /proc/self/stat ]; then skip 'with a password it leaves no core file' 'there is no /proc'
elif [ "$(id -u)" != 0 ] || ! (runs_as_another --version) >/dev/null 2>&1; then
    skip 'with a password it leaves no core file' 'only root can be another user'
else check 'with a password it leaves no core file' leaves_no_core
fi

hidden_from_command() {
    REDLOCK_PASSWORD=$secret is 0 run --guard 0 door -- env && ! prints 'REDLOCK_PASSWORD' >/dev/null &&
    prints '^REDLOCK_NODES=' && hidden &&
    REDLOCK_NODES=redis://:$secret@$node is 0 run --guard 0 door -- env && ! prints 'REDLOCK_NODES' >/dev/null &&
    hidden &&
    REDLOCK_NODES=redis://:$secret@$node is 0 run --guard 0 -n "redis://:$secret@$node" door -- env && hidden &&
    REDLOCK_PASSWORD_FILE=$directory/password is 124 run --guard 0 door -- "$redlock" status --guard 0 door && hidden
}
check 'the command that is run does not get them' hidden_from_command

hidden_in_trace() {
    REDLOCK_PASSWORD=$secret is 0 acquire --guard 0 --trace=all trace-1 && says '>  AUTH \*\*\*$' && hidden &&
    is 0 acquire --guard 0 --trace=all -n "redis://alice:al1ce-secret@$node" trace-2 && says '>  AUTH \*\*\*$' && hidden &&
    REDLOCK_PASSWORD=wrong-$secret is 125 acquire --guard 0 --trace=all trace-3 && says 'WRONGPASS' && hidden
}
check 'the trace shows AUTH ***' hidden_in_trace

hidden_in_errors() {
    is 125 acquire -n "redis://:$secret@127.0.0.1:99999" door && hidden &&
    is 125 acquire -n "redis://:$secret%zz@$node" door && hidden &&
    is 122 acquire --guard 0 -n redis://:$secret@127.0.0.1:1 door && hidden &&
    is 125 acquire --guard 0 --json -n "redis://:x$secret@$node" door && hidden &&
    is 125 status --guard 0 -n "redis://:x$secret@$node" door && hidden
}
check 'errors, JSON and status do not show them' hidden_in_errors

# A server on which AUTH has another name answers with the words that it did not understand.
start_server --rename-command AUTH LOGIN
hidden_in_echoes() {
    # shellcheck disable=SC2154    # Set by its number.
    other=127.0.0.1:$port_1
    REDLOCK_PASSWORD=$secret is 125 acquire --guard 0 --trace=all -n "$other" door && says 'unknown command' && hidden &&
    REDLOCK_PASSWORD=$secret is 125 acquire --guard 0 --json -n "$other" door && hidden
}
check 'what a server repeats of AUTH is not shown' hidden_in_echoes

finish
