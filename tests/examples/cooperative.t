#!/bin/sh
# shellcheck disable=SC1091,SC2086,SC2154    # What lib.sh defines; ports are several words.
# cooperative.c: the engine alone, on real servers.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need cc pkg-config || exit 1
start_servers 5
ports="$port_0 $port_1 $port_2 $port_3 $port_4"

links_no_client() { ! nm "$directory/copy/cooperative" | grep -E ' (redlock_open|net_|malloc$)'; }

check 'it is at most 235 lines' is_short cooperative.c 235
check 'it builds by its own command' builds cooperative.c
check 'neither client nor sockets of the library are linked' links_no_client
check 'it takes, extends and releases a lock on five servers' runs 0 ./cooperative $ports
check 'it was acquired' prints '^step 1: done, valid for [0-9]+ ms$'
check 'and extended' prints '^step 3: done, valid for [0-9]+ ms$'
check 'in a few kilobytes' prints '^5 nodes, [0-9]{4,5} bytes of memory$'
check 'nothing is left behind' nothing_is_left
on 0 KILL
on 1 KILL
over "$pid_0"
over "$pid_1"
check 'two of five may be away' runs 0 ./cooperative $ports
on 2 KILL
over "$pid_2"
sed -i.old 's/.wait_ms = 5000/.wait_ms = 0/' "$directory/copy/cooperative.c"
check 'it builds for one attempt' rebuilds cooperative.c
check 'three may not' runs 1 ./cooperative $ports
check 'and that is told' prints '^step 1: no quorum: too few nodes can vote, valid for 0 ms$'
finish
