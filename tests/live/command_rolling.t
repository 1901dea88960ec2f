#!/bin/sh
# shellcheck disable=SC1091,SC2016,SC2154    # The expressions are perl's. What lib.sh defines.
# redlock doctor --wait: may another node be restarted? Tests the guide on restarting all servers, and
# on replacing one. A holder keeps its lock, and nobody else gets it meanwhile.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
lasts="--guard 2s --skew 500ms"     # Tickets come 3 s after a start.
token=0123456789abcdef0123456789abcdef01234567

# waits STATUS OPTION...
waits() {
    waits_status=$1
    shift
    is "$waits_status" doctor "$@"
}

for k in 0 1 2; do eval "echo \"\$pid_$k\"" >"$directory/server-$k"; done

# A check runs in a shell of its own, so the number of a server's process is in a file.
# end NUMBER: and it is gone.
end() {
    ended=$(cat "$directory/server-$1") && kill -KILL "$ended" && within 10 is_away "$1" && sed -i.old "/^$ended\$/d" "$directory/begun"
}
is_away() { ! ask "$1" PING >/dev/null 2>&1; }

# revive NUMBER: a server anew, on the same port, with nothing in it.
revive() {
    eval "here=\$port_$1"
    : >"$directory/again-$here"
    "$server" --bind 127.0.0.1 --port "$here" --dir "$directory" --logfile "$directory/again-$here" --save '' --appendonly no >/dev/null 2>&1 &
    begin $!
    echo $! >"$directory/server-$1"
    within 10 grep -q 'Ready to accept' "$directory/again-$here"
}

is_ready() {
    waits 0 --wait 30s --guard 0 && prints '^all 3 nodes vote, give tickets, and have every lock that is held$' && [ ! -s "$directory/err" ] &&
    waits 0 --wait 30s --guard 0 --json && json out '$j->{ready} && $j->{exit} == 0 && $j->{status} eq "OK"'
}
check 'with nodes that vote and have all locks it returns' is_ready

waits_for_votes() {
    waits 1 --wait 300ms --guard 1h && says '^redlock: waited for 300 ms, and no other node may be restarted yet: node 0 .* has no vote: restarted' &&
    waits 1 --wait 300ms --guard 1h --json && json out '!$j->{ready} && $j->{exit} == 1 && $j->{text} =~ /has no vote/' &&
    within 10 waits 1 --wait 300ms --guard 1ms --skew 1h && says 'yet: node 0 .* gives no ticket: restarted' &&
    waits 1 --wait 300ms --guard 1ms --skew 1h -v && says '^redlock: waits: node 0 .* gives no ticket' &&
    ask 1 CONFIG SET min-replicas-to-write 1 && waits 1 --wait 300ms --guard 0 && says 'yet: node 1 .* has no vote: NOREPLICAS' &&
    ask 1 CONFIG SET min-replicas-to-write 0
}
check 'it waits for votes, tickets, and servers that can be written to' waits_for_votes

waits_for_locks() {
    ask 0 SET door $token PX 60000 && ask 2 SET door $token PX 60000 && waits 1 --wait 8s --guard 0 &&
    says 'yet: 1 lock is held, but not on all nodes: door$' && ask 1 SET door $token PX 60000 && waits 0 --wait 30s --guard 0 &&
    everywhere DEL door >/dev/null
}
check 'it waits for locks that a node lacks' waits_for_locks

cannot_tell() {
    everywhere ACL SETUSER half on '>pw' '~lock:*' '~redlock:doctor:*' '&*' +@all >/dev/null &&
    everywhere ACL SETUSER none on '>pw' '~*' '&*' +@all -scan >/dev/null && ask 1 SET other 1 PX 60000 &&
    REDLOCK_PASSWORD=pw waits 125 --user half --wait 30s --guard 0 && says '^redlock: whether another node may be restarted cannot be told: [0-9]+ keys cannot be read' &&
    REDLOCK_PASSWORD=pw waits 125 --user none --wait 30s --guard 0 && says 'cannot be told: node 0 .* was not gone through for locks: .*scan' && ask 1 DEL other &&
    for option in --write --quick '--state a' '--check-user a' '--kind fair' '--prefix a'; do
        # shellcheck disable=SC2086    # An option and its argument.
        waits 125 --wait 1s $option && says '^redlock: --wait looks at votes and locks alone' || return 1
    done
}
check 'what an ACL hides it does not wait for, and what changes nothing it refuses' cannot_tell

# ---- The guide ----

# The commands of the guide, with the guard of this test, on the servers of this test; hosts are their numbers less one.
ssh() {
    to=$((${1#host} - 1))
    case $2\ $3\ $4 in
    'systemctl restart redis') end $to && revive $to && restarted=$restarted$to ;;
    'systemctl stop redis')    end $to ;;
    'systemctl start redis')   revive $to && restarted=$restarted$to ;;
    *) echo "what is: $*"; return 1 ;;
    esac
}
# shellcheck disable=SC2086    # Several words.
redlock() { "$redlock" "$@" $lasts; }

# follow BLOCK: holds a lock while its commands run; nobody else gets it, and it is kept until the end.
# shellcheck disable=SC2086
follow() {
    redlock doctor --wait 30s || return 1
    "$redlock" run $lasts --ttl 2s held -- sleep 600 2>"$directory/holder" &
    holder=$!
    begin $holder
    restarted=
    block "$1" >"$directory/commands"
    . "$directory/commands" || { echo "the last command: status $?"; return 1; }
    kill -0 $holder || { cat "$directory/holder"; return 1; }
    is 124 run $lasts --ttl 2s --wait 0 held -- true || return 1
    [ "$(everywhere EXISTS held | sort -u)" = 1 ] || return 1
    kill $holder
    over $holder
    [ $? = 143 ] && ! grep -q lost "$directory/holder"
}
restarts_all() { follow restarting && [ "$restarted" = 012 ]; }
check 'who holds a lock keeps it while all servers are restarted as the guide says' restarts_all
replaces_one() { follow replacing && [ "$restarted" = 1 ]; }
check 'and while one is replaced' replaces_one

finish
