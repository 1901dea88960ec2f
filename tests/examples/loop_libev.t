#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# loop_libev.c: of many jobs three run at once.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need cc pkg-config ev.h || exit 1
start_servers 3

jobs_done() { [ "$(grep -c '^job [0-9]*: done$' "$directory/out")" = "$1" ]; }
permits_are() { [ "$(sed -n 's/.*with permit \([0-9]*\),.*/\1/p' "$directory/out" | sort -u | tr '\n' ' ')" = "$1" ]; }
at_once() { [ "$(sed -n 's/.*, \([0-9]*\) at once$/\1/p' "$directory/out" | sort -n | tail -n 1)" = "$1" ]; }
none_is_left() { within 10 is_nowhere crane:1 && gone crane:2 crane:3; }

check 'it is at most 150 lines' is_short loop_libev.c
check 'it builds by its own command' builds loop_libev.c
check 'it ends when all is done' runs 0 ./loop_libev "$nodes" 8
check 'eight jobs are done' jobs_done 8
check 'there are three permits' permits_are '1 2 3 '
check 'and never more jobs at once' at_once 3
check 'all permits are free again' none_is_left
sed -i.old 's/WAIT_MS = 20000/WAIT_MS = 100/' "$directory/copy/loop_libev.c"
for slot in 1 2 3; do is 0 acquire --guard 0 --ttl 30s --no-ticket crane:$slot; done
check 'it builds with a shorter time to wait' rebuilds loop_libev.c
check 'it fails when all permits are taken' runs 1 ./loop_libev "$nodes" 1
check 'and says why' prints '^job 1: not acquired within the time to wait$'
finish
