#!/bin/sh
# The table of commands that a node may lack, in redlock(7): each row is tried on a server without that command.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

sed -n '/^\.\\" lacks$/,/^\.El$/s/^\.It Li \([A-Z]*\) Ta \([a-z ]*\) Ta .*/\1 \2/p' tools/man/redlock.7 >"$directory/rows"

# try_run NAME: a lock is acquired and released.
try_run() {
    "$redlock" run --guard 0 --wait 0 --no-ticket -n "127.0.0.1:$port" "$1" -- true >/dev/null 2>"$directory/err"
}

# The second run finds what the first one has left.
fate_without() {
    start_server --rename-command "$1" '' >/dev/null
    if ! try_run "lacks-$1"; then fate='no vote'
    elif try_run "lacks-$1"; then fate=works
    else fate='no release'
    fi
}

each_row_is_true() {
    [ "$(wc -l <"$directory/rows")" -ge 14 ] || { echo 'the table is not there'; return 1; }
    while read -r command becomes; do
        fate_without "$command"
        [ "$fate" = "$becomes" ] || { echo "without $command: $fate, not $becomes"; cat "$directory/err"; return 1; }
    done <"$directory/rows"
}
check 'without each command a lock fares as redlock(7) says' each_row_is_true
finish
