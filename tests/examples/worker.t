#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# worker.c: does jobs under a kept lock, and the table refuses it when it comes too late.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need sqlite3 sqlite3.h pkg-config || exit 1
start_servers 3

database=$directory/jobs.db
sql() { sqlite3 -cmd '.timeout 5000' "$database" "$1"; }
add_jobs() { sql 'INSERT INTO job (input) VALUES (2), (3), (4)'; }
results() { [ "$(sql 'SELECT result FROM job ORDER BY id' | tr '\n' ' ')" = "$1" ]; }

check 'it is at most 150 lines' is_short worker.c
check 'it builds by its own command' builds worker.c
check 'it runs without jobs' runs 0 ./worker "$nodes" "$database"
check 'and says so' prints '^0 jobs done$'
check 'jobs can be added' add_jobs
check 'it does them' runs 0 ./worker "$nodes" "$database"
check 'and says so' prints '^3 jobs done$'
check 'the table has the results' results '4 9 16 '
fence_has_the_ticket() { [ "$(sql 'SELECT largest FROM fence')" = "$(most GET 'jobs#ticket')" ]; }
check 'the fence is the ticket that the servers gave' fence_has_the_ticket
check 'the lock is released' gone jobs

# A later holder has been here.
later_holder() { sql 'UPDATE job SET result = NULL WHERE id = 2; UPDATE fence SET largest = 9000000000000000'; }
check 'a later holder comes' later_holder
check 'a worker that is late' runs 0 ./worker "$nodes" "$database"
check 'is refused by the table' says '^worker: refused: ticket [0-9]+ came after 9000000000000000$'
check 'and has written nothing' results '4  16 '

check 'a list of nodes that is wrong is told' runs 1 ./worker host: "$database"
check 'with what is wrong in it' says '^worker: a node.s address is wrong: .+'
finish
