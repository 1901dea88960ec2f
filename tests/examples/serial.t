#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# serial.c: a lock over serial lines, such as pseudo-terminals. tests/live/test_serial.c tests sessions
# that are given up in the middle of a reply.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
start_servers 3
mkdir "$directory/copy/firmware" && cp tools/examples/firmware/line.h "$directory/copy/firmware" || exit 1

has_lines() { [ "$(wc -l <"$directory/lines")" = 3 ]; }
lock() { runs "$1" ./serial lock "$(tr '\n' ',' <"$directory/lines" | sed 's/,$//')" door; }

check 'it is at most 405 lines' is_short serial.c 405
check 'it builds by its own command' builds serial.c
check 'without words it says how it is used' runs 2 ./serial
check 'more lines than there is room for are refused, not left out' runs 2 ./serial lock 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 door
# shellcheck disable=SC2046    # A word for each server.
"$directory/copy/serial" bridge $(echo "$nodes" | tr , ' ') >"$directory/lines" 2>"$directory/bridge.err" &
bridge=$!
begin $bridge
check 'a bridge to each server has a line' within 10 has_lines
check 'the lock goes over the lines' lock 0
check 'and is held' prints ': (9[0-9]{3}|[0-9]{2,3}) ms$'
check 'a second program finds the lines as good as new' lock 0
kill -KILL "$pid_0"
check 'one server may be lost' lock 0
kill -KILL "$pid_1"
check 'two may not' lock 1
kill "$bridge"
check 'without the bridge nothing is locked' lock 1
finish
