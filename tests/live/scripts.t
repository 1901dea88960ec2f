#!/bin/sh
# A server takes each script, and knows it by the SHA-1 that we know it by.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
. tests/scripts.sh

start_servers 1

# is_taken MACRO SHA-1 TEXT: "-": we know none.
is_taken() {
    answer=$(ask 0 SCRIPT LOAD "$(script_text "$3")")
    case $answer in *[!0-9a-f]* | '') echo "$answer"; return 1 ;; esac
    [ "$2" = - ] || [ "$2" = "$answer" ]
}

print_all_scripts >"$directory/scripts"
check 'there are scripts' [ -s "$directory/scripts" ]
while read -r macro sha1 text; do
    check "$macro is a script" is_taken "$macro" "$sha1" "$text"
done <"$directory/scripts"
finish
