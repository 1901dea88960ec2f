#!/bin/sh
# Exit statuses. A number means the same for each command, and the command does not wait for errors that
# waiting does not mend.
# shellcheck disable=SC2016,SC2154    # The expressions are perl's; ports are set by their numbers.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
choose_refused_port
down=127.0.0.1:$refused,127.0.0.1:$refused,127.0.0.1:$refused
token=0123456789abcdef0123456789abcdef01234567

somebody_else() {
    is 0 acquire --guard 0 -t 60s door && is 124 acquire --guard 0 door && is 124 status --guard 0 door &&
    is 124 run --guard 0 --wait 0 door -- true && is 124 run --guard 0 --wait 300ms door -- true &&
    is 124 acquire --guard 0 --wait 300ms door
}
check 'somebody else holds it: 124' somebody_else

busy_exit() {
    is 7 acquire --guard 0 -E 7 door && is 0 status --guard 0 --busy-exit 0 door && is 9 run --guard 0 --wait 0 -E9 door -- true &&
    is 5 run --guard 0 --wait 200ms --busy-exit=5 door -- true && is 122 acquire --guard 0 -E 7 -n "$down" door
}
check 'or what --busy-exit says' busy_exit

no_quorum() {
    for words in 'acquire door' 'acquire --wait 300ms door' "extend door $token" "release door $token" 'status door' \
        'run --wait 0 door -- true' 'run --wait 300ms door -- true'; do
        # shellcheck disable=SC2086    # Several words.
        set -- $words
        command=$1
        shift
        is 122 "$command" --guard 0 -n "$down" "$@" || return 1
    done
    is 122 run --wait 0 --guard 10m door-free -- true && is 122 status --guard 10m door-free
}
check 'no quorum could vote: 122' no_quorum

not_held() {
    is 123 extend --guard 0 door $token && says 'door: not extended: the token does not hold it' &&
    is 123 release --guard 0 door $token && is 123 extend --guard 0 door-free $token
}
check 'the token does not hold it: 123' not_held

# One of three nodes has another token, and one hangs. The third may have been one of two that have ours.
not_known() {
    is 0 acquire --guard 0 --no-ticket -t 60s half && token=$(token) || return 1
    ask 0 SET half other >/dev/null
    on 1 STOP
    is 122 extend --guard 0 --node-timeout 2s half "$token"
    good=$?
    on 1 CONT
    [ $good = 0 ] && says 'half: ' && ! says 'does not hold it on a quorum' >/dev/null
}
check 'what is not known of a token is not said: 122' not_known

mistakes() {
    is 125 acquire --guard 0 '' && is 125 extend --guard 0 door abc && is 125 run -t 31s door true && is 125 acquire -n 'a,,b' door &&
    is 125 status --guard 0 '' && is 125 frob
}
check 'a mistake of ours: 125' mistakes

passes_on() {
    is 124 run --guard 0 own -- sh -c 'exit 124' && is 122 run --guard 0 own -- sh -c 'exit 122' &&
    is 124 run --guard 0 --json own -- sh -c 'exit 124' && json err '$j->{reason} eq "command ended" && $j->{exit} == 124' &&
    is 124 run --guard 0 --json --wait 0 door -- true && json err '$j->{reason} eq "not acquired" && $j->{exit} == 124'
}
check 'a command that exits with one of these numbers is told from them by --json' passes_on

# ---- Errors that waiting does not mend ----

secret=Tr0ub4dor
everywhere CONFIG SET requirepass $secret >/dev/null

wrong_password() {
    REDLOCK_PASSWORD=wrong is 125 acquire --guard 0 --wait forever door-1 && says 'node 0 .*WRONGPASS' &&
    REDLOCK_PASSWORD=wrong is 125 run --guard 0 door-1 -- true && is 125 run --guard 0 door-1 -- true && says NOAUTH &&
    REDLOCK_PASSWORD=wrong is 125 acquire --guard 0 door-1 && REDLOCK_PASSWORD=wrong is 125 status --guard 0 door-1 &&
    REDLOCK_PASSWORD=wrong is 125 run --guard 0 --json door-1 -- true && json err '$j->{status} eq "NO_QUORUM" && $j->{exit} == 125'
}
check 'a wrong password ends a wait for ever at once: 125' wrong_password

one_wrong_password() {
    right=redis://:$secret@127.0.0.1
    is 0 run --guard 0 -n "$right:$port_0,$right:$port_1,redis://:wrong@127.0.0.1:$port_2" door-2 -- true
}
check 'one of three does not' one_wrong_password

waits_through() {
    export REDLOCK_PASSWORD=new-one
    start run --guard 0 --wait-through-errors --wait 40s door-3 -- true
    within 20 says WRONGPASS || return 1
    REDLOCK_PASSWORD=wrong is 122 acquire --guard 0 --wait-through-errors --wait 500ms door-3
    change_password $secret new-one
    over "$started"
}
# change_password OLD NEW: of all servers; ask() does not log in.
change_password() {
    for number in 0 1 2; do
        eval "set -- \"\$1\" \"\$2\" \"\$port_$number\""
        perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[2]") or die;
            print $s "AUTH $ARGV[0]\r\nCONFIG SET requirepass \"$ARGV[1]\"\r\n"; print STDERR "$ARGV[2] says ", $_ = <$s> for 1, 2' "$@" 2>/dev/null
    done
}
check '--wait-through-errors waits until the password is right' waits_through

# The holder has it still, and the one that waits has been told by a quorum. Then the password changes.
began_well() {
    export REDLOCK_PASSWORD=new-one
    is 0 acquire --guard 0 -t 3s door-4 || return 1
    start run --guard 0 -v --wait 40s door-4 -- true
    within 20 says 'door-4: waiting' || return 1
    change_password new-one third
    everywhere_kill third
    within 20 says WRONGPASS || return 1
    sleep 3
    change_password third new-one
    over "$started"
}
# Servers ask only new connections for the password.
everywhere_kill() {
    for number in 0 1 2; do
        eval "set -- $1 \"\$port_$number\""
        perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[1]") or die;
            print $s "AUTH $ARGV[0]\r\nCLIENT KILL TYPE normal\r\nCLIENT KILL TYPE pubsub\r\n"; <$s> for 1 .. 3' "$@"
    done
}
check 'a wait that began well goes on when a password changes' began_well
change_password new-one ''

replicas() {
    for number in 1 2; do ask $number REPLICAOF 127.0.0.1 "$port_0"; done >/dev/null
    is 125 run --guard 0 door-5 -- true && says 'a replica, not a master'
    good=$?
    for number in 1 2; do ask $number REPLICAOF NO ONE; done >/dev/null
    return $good
}
check 'servers of which most are replicas end it at once: 125' replicas

# The server speaks, but not as Redis does.
no_redis() {
    perl -MIO::Socket::INET -e '$SIG{PIPE} = "IGNORE"; my $l = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1:0") or die;
        open(my $f, ">", $ARGV[0]); print $f $l->sockport; close($f);
        while (my $s = $l->accept) { sysread($s, my $x, 4096); syswrite($s, "HTTP/1.1 400 Bad Request\r\n\r\n"); close($s) }' \
        "$directory/http" >/dev/null 2>&1 &
    begin $!
    within 10 test -s "$directory/http" &&
    is 125 run --guard 0 -n "127.0.0.1:$(cat "$directory/http")" door-6 -- true && says 'not a Redis server'
}
check 'so does what is no Redis server: 125' no_redis
# ---- What can never be ----

for name in ROLE SCRIPT EVALSHA EVAL INFO TIME; do
    start_server --rename-command "$name" ''
    eval "without_$name=127.0.0.1:$port number_of_$name=$((count - 1))"
done
# The role is in INFO, and EVAL does what EVALSHA would. A second lock finds nothing of the first.
does_without() {
    for name in ROLE SCRIPT EVALSHA; do
        eval "without=\$without_$name"
        for _ in 1 2; do is 0 run --guard 0 --wait 0 -n "$without" "without-$name" -- true || return 1; done
    done
    is 0 run --guard 0 --wait 0 --trust-unknown -n "$without_INFO" without-INFO -- true
}
check 'a server that lacks ROLE, SCRIPT or EVALSHA gives locks and takes them back; one without INFO, if it is trusted' does_without

# It does not wait, and advises no option that changes nothing. Nothing is acquired that could not be released.
never_can_be() {
    for name in EVAL TIME; do
        eval "without=\$without_$name"
        for options in '' --trust-unknown; do
            # shellcheck disable=SC2086    # It may be no word.
            is 125 run --guard 0 -n "$without" $options "never-$name" -- true &&
            says 'node 0 .*: ERR [Uu]nknown .* \(it is disabled or renamed there, or the server lacks it: name servers that have it\)$' || return 1
        done
    done
    [ "$(ask "$number_of_EVAL" EXISTS never-EVAL)" = 0 ] &&
    is 125 run --guard 0 -n "$without_INFO" never-INFO -- true && says 'node 0 .*: ERR unknown command .INFO. '
}
check 'a command that servers lack is not waited for: 125' never_can_be

# INFO names no run_id, as in Dragonfly and Kvrocks.
without_run_id() {
    for option in --no-ticket --trust-unknown; do
        perl -Itests/live -MFakeNodes -e '@FakeNodes::info = ("run_id:none\r\n") x 3; FakeNodes::serve(sub { "+OK\r\n" }, @ARGV)' \
            "$redlock" run --guard 0 $option never -- true 2>"$directory/err"
        [ $? = 125 ] && says 'INFO names no run_id \(nor what could stand in\), no mode, or no role \(without .* nobody sees a restart: name servers that tell them\)$' &&
        ! grep -e --trust-unknown "$directory/err" || return 1
    done
}
check 'nor are servers that do not say who they are, and --trust-unknown is not advised, which changes nothing: 125' without_run_id
finish
