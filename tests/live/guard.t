#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# The guard for C++ with real servers, by each compiler.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
library=${BUILD:-build}/libredlock.a

passes() {
    # shellcheck disable=SC2086    # Flags are several words.
    $1 -std=c++11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Werror -fno-exceptions -fno-rtti -Iredlock \
        ${SANITIZE:+-fsanitize=$SANITIZE} -o "$directory/guard" tests/live/guard.cc "$library" -lpthread &&
        "$directory/guard" "$nodes" && nothing_is_left
}

nothing_is_left() {
    [ "$(everywhere KEYS '*' | grep -vc '^\*0$')" = 0 ]
}

for compiler in g++ clang++; do
    if command -v $compiler >/dev/null; then
        check "guards hold and release real locks with $compiler" passes $compiler
    else
        skip "guards hold and release real locks with $compiler" "no $compiler here"
    fi
done
finish
