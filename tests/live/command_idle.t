#!/bin/sh
# A waiting command costs next to nothing, less than 20 ms of CPU time a second, for each wait of each command.
# shellcheck disable=SC2154    # Pids are set by their numbers.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

if [ ! -r /proc/self/stat ]; then
    skip 'what waiting costs' 'only Linux tells the time of a process that runs'
    finish
    exit
fi
start_servers 3
seconds=3
ticks=100       # Ticks a second, as Linux tells it everywhere (USER_HZ).

# Time in ms, of the process and of its children, the guardian and the writer.
time_of() {
    for one in "$1" $(children_of "$1"); do sed 's/.*) //' "/proc/$one/stat" 2>/dev/null; done |
        awk -v ticks="$ticks" '{ used += $12 + $13 } END { print int(used * 1000 / ticks) }'
}

# idles NAME...: `waiting` is a command that waits already.
idles() {
    before=$(time_of "$waiting")
    sleep $seconds
    kill -0 "$waiting" 2>/dev/null || { echo 'it has ended'; cat "$directory/err"; return 1; }
    used=$(($(time_of "$waiting") - before))
    kill -TERM "$waiting"
    echo "$used ms in $seconds s"
    [ "$used" -lt $((20 * seconds)) ]
}

# begins PROGRAM WORD...: in the background, until it has settled.
begins() {
    "$@" >"$directory/out" 2>"$directory/err" &
    waiting=$!
    begin $waiting
    sleep 1.5
}
waits() { begins "$@" && idles; }

# Commands that wait for a lock, or hold one.
ask_all() { for k in 0 1 2; do ask $k "$@" >/dev/null; done; }
ask_all SET taken by-another PX 100000
sleep 100 &
script=$!
begin $script
kept() { is 0 acquire --guard 0 -t 4s kept && waits "$redlock" keep --guard 0 -t 4s --pid $script kept "$(token)"; }

"$redlock" run --guard 0 -q --permits 1 slot -- sleep 100 &
begin $!
for options in '' --no-wake-ups --fair --shared; do
    # shellcheck disable=SC2086    # Several words, or none.
    check "a waiter: ${options:-plain}" waits "$redlock" run --guard 0 $options taken -- true
done
check 'a waiter: --permits' waits "$redlock" run --guard 0 --permits 1 slot -- true
check 'a command that runs' waits "$redlock" run --guard 0 -t 4s runs -- sleep 60
check 'a leader' waits "$redlock" lead --guard 0 -t 4s leads -- sleep 60
check 'keep' kept
check 'what watches' waits "$redlock" watch --guard 0 'taken'
check 'ping' waits "$redlock" ping --interval 1s
check 'the exporter' waits "$redlock" exporter --guard 0 --listen 127.0.0.1:0 --interval 10s

# After the command two of the three nodes hang. The lock is released, held for longer, or marked. The
# signal is one that nobody reads any more.
behind() {
    begins "$redlock" run --guard 0 --node-timeout 20s -t 30s "$@" -- sleep 4
    on 1 STOP
    on 2 STOP
    sleep 3
    kill -TERM "$waiting"
    idles
    set -- $?
    on 1 CONT
    on 2 CONT
    return "$1"
}
check 'a release that waits for nodes' behind behind
check 'a lock that is held for longer' behind --hold-at-least 60s longer

finish
