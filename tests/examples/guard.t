#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# guard.cc: guards release the locks that they hold.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need g++ clang pkg-config || exit 1
start_servers 3

file=$directory/numbers.txt
has_numbers() { [ "$(tr '\n' ' ' <"$file")" = "$1" ]; }

check 'it is at most 150 lines' is_short guard.cc
check 'it builds by its own command, with g++' builds guard.cc
check 'it appends three numbers' runs 0 ./guard "$nodes" "$file"
check 'under one lock' prints '^appended 3, (9[0-9][0-9][0-9]|[0-9]{1,4}) ms left$'
check 'and locks two resources' prints '^both: done$'
check 'the file has the numbers' has_numbers '1 2 3 '
check 'guards have released all' nothing_is_left
check 'it builds with clang++' builds guard.cc clang++
check 'and goes on' runs 0 ./guard "$nodes" "$file"
check 'where it was' has_numbers '1 2 3 4 5 6 '
check 'an exception releases on its way' runs 1 ./guard "$nodes" /nonexistent/numbers
check 'and is told' says '^guard: cannot write /nonexistent/numbers$'
check 'nothing is left then either' nothing_is_left
finish
