#!/bin/sh
# redlock under a supervisor. Tests its messages by the protocol of sd_notify, and the unit for systemd.
# shellcheck disable=SC2016    # The expressions are perl's, and those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

# A supervisor, which writes down the messages that it gets; for an address in no file system, too.
cat >"$directory/supervisor" <<'END_OF_SUPERVISOR'
#!/usr/bin/env perl
use Socket;
my ($name, $file) = @ARGV;
$name =~ s/^@/\0/;
socket my $socket, AF_UNIX, SOCK_DGRAM, 0 or die;
bind $socket, pack_sockaddr_un($name) or die "bind: $!";
open my $told, '>', $file or die;
select((select($told), $| = 1)[0]);
print $told "listening\n";
while (defined recv $socket, my $text, 4096, 0) { print $told "$text--\n" }
END_OF_SUPERVISOR
chmod +x "$directory/supervisor"

# supervise NAME: begins it, for the socket of that name.
supervise() {
    : >"$directory/told"
    "$directory/supervisor" "$1" "$directory/told" >/dev/null 2>&1 &
    supervisor=$!
    begin $supervisor
    within 10 is_told listening
    NOTIFY_SOCKET=$1
    export NOTIFY_SOCKET
}
is_told() { grep -Fxq -e "$1" "$directory/told" || { echo "not told: $1"; cat "$directory/told"; return 1; }; }

# tells_when_held SOCKET FILE: the command ends when the file is there.
tells_when_held() {
    supervise "$1"
    is 0 acquire --guard 0 -t 1h served
    token=$(token)
    start run --guard 0 served -- sh -c 'echo "socket $NOTIFY_SOCKET"; until [ -e "$0" ]; do sleep 0.05; done; exit 3' "$2"
    within 10 is_told 'STATUS=Waiting for the lock: served' || return 1
    sleep 0.3
    ! is_told READY=1 >/dev/null || return 1
    "$redlock" release --node-timeout "$patience" served "$token" 2>/dev/null
    within 10 is_told READY=1 || return 1
    is_told 'STATUS=Held, the command runs: served' || return 1
    ! is_told STOPPING=1 >/dev/null || return 1
    : >"$2"
    over "$started"
    status=$?
    [ $status = 3 ] && within 5 is_told STOPPING=1 && prints '^socket $' || return 1
    kill -KILL $supervisor
    over $supervisor
    return 0
}
check 'a supervisor is told when the lock is held, and the command does not inherit its socket' tells_when_held "$directory/socket" "$directory/in-a-file"
if [ "$(uname)" = Linux ]; then check 'so it is by an address in no file system' tells_when_held "@redlock-test-$$" "$directory/abstract"
else skip 'so it is by an address in no file system' 'only Linux has such'
fi

tells_loss() {
    supervise "$directory/another"
    start run --guard 0 --max-hold 300ms --grace 0 limited -- sleep 100
    over "$started"
    [ $? = 123 ] && within 5 is_told STOPPING=1 && is_told 'STATUS=Ending the command, for want of the lock: limited'
}
check 'a supervisor is told when the command is ended' tells_loss

keep_tells() {
    supervise "$directory/third"
    is 0 acquire --guard 0 -t 1h kept
    token=$(cat "$directory/out")
    sleep 100 >/dev/null 2>&1 &
    holder=$!
    begin $holder
    start keep --guard 0 --pid "$holder" kept "$token"
    within 10 is_told READY=1 && is_told 'STATUS=Held, and kept: kept' || return 1
    ! is_told STOPPING=1 >/dev/null || return 1
    kill -KILL $holder
    over $holder
    over "$started" && within 5 is_told STOPPING=1
}
check 'keep tells when it keeps the lock' keep_tells

nobody_listens() {
    NOTIFY_SOCKET=$directory/none is 3 run --guard 0 unheard -- sh -c 'exit 3' &&
    NOTIFY_SOCKET='' is 3 run --guard 0 unheard -- sh -c 'exit 3' && NOTIFY_SOCKET=vsock:2:1 is 3 run --guard 0 unheard -- sh -c 'exit 3' &&
    NOTIFY_SOCKET=/$(printf '%0200d' 0) is 3 run --guard 0 unheard -- sh -c 'exit 3'
}
check 'without a supervisor that listens the command runs all the same' nobody_listens

# All of them are checked at once, since a timer looks for its service.
units_are_right() {
    mkdir "$directory/units" || return 1
    for unit in tools/systemd/*; do sed "s|/usr/local/bin/redlock|$redlock|" "$unit" >"$directory/units/${unit##*/}"; done
    systemd-analyze verify --man=no "$directory"/units/* >"$directory/verdict" 2>&1
    status=$?
    grep 'redlock-' "$directory/verdict"
    [ $status = 0 ] && ! grep -q 'redlock-' "$directory/verdict"
}
if tools/need systemd-analyze; then check 'systemd accepts the units' units_are_right
else skip 'systemd accepts the units' 'systemd-analyze cannot be had'
fi

finish
