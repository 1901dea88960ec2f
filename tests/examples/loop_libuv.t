#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# loop_libuv.c: of two instances one leads, and the other one after it.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need cc pkg-config uv.h || exit 1
start_servers 3

# serve NAME: an instance in the background, whose pid is in $pid_NAME.
serve() {
    (cd "$directory/copy" && exec ./loop_libuv "$nodes") >"$directory/$1" 2>&1 &
    begin $!
    eval "instance_$1=$!"
}
says_soon() { within 30 grep -Eqx -e "$2" "$directory/$1"; }
waits() { within 10 has_waiter && ! grep -q leads "$directory/$1"; }
has_waiter() { [ "$(most ZCARD leader#waiters)" = 1 ]; }
ends() { kill -TERM "$1" && over "$1"; }

check 'it is at most 150 lines' is_short loop_libuv.c
check 'it builds by its own command' builds loop_libuv.c
check 'a list of nodes that is wrong is told' runs 1 ./loop_libuv host:
check 'with what is wrong in it' says '^loop_libuv: a node.s address is wrong: .+'
serve one
check 'the first leads' says_soon one leads
check 'and works' says_soon one 'work 3'
serve two
check 'the second waits' waits two
ends "$instance_one"
check 'the first ends by SIGTERM, with all closed' test $? = 0
check 'and has worked' says_soon one '[0-9]+ pieces of work'
check 'then the second leads' says_soon two 'leads'
on 0 KILL
over "$pid_0"
check 'a server less changes nothing' says_soon two 'work 10'
on 1 KILL
over "$pid_1"
check 'two less are told, with what is wrong with them' says_soon two "loop_libuv: node 1, 127.0.0.1:$port_1, has no vote: [a-z ]+"
ends "$instance_two"
check 'without servers it ends as well' test $? = 0
finish
