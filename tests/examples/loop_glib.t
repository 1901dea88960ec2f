#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# loop_glib.c: one person at a time edits a document.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need cc pkg-config glib.h || exit 1
start_servers 3

# Speaks like a person, by a pipe that stays open: tell WORDS...
mkfifo "$directory/person"
edit() {
    (cd "$directory/copy" && exec ./loop_glib "$nodes") <"$directory/person" >"$directory/out" 2>"$directory/err" &
    editor=$!
    begin $editor
    exec 7>"$directory/person"
}
tell() { echo "$*" >&7; }
says_soon() { within 10 grep -Eqx -e "$1" "$directory/out" || { cat "$directory/out" "$directory/err"; return 1; }; }

check 'it is at most 160 lines' is_short loop_glib.c 160
check 'it builds by its own command' builds loop_glib.c
edit
tell edit essay
check 'a document is open' says_soon 'editing essay'
check 'it is locked' is_held essay
tell save
check 'it is saved' says_soon 'saved essay'
check 'and free again' gone essay
"$redlock" acquire --guard 0 --node-timeout 10s --ttl 25s --no-ticket poem >"$directory/token"
tell edit poem
check 'somebody else has it, for so long' says_soon 'cannot edit poem: held by somebody else, for (2[0-9]|1[0-9]) s at most'
tell save
check 'what is not open cannot be saved' says_soon 'cannot save: it is not open, or no longer ours'
tell edit novel
check 'another one is open' says_soon 'editing novel'
tell quit
over $editor
check 'it ends' test $? = 0
check 'and leaves nothing behind' gone novel
finish
