# shellcheck shell=sh disable=SC1091,SC2154    # What tests/live/lib.sh defines.
# What the tests of the examples share:  . tests/examples/lib.sh;  start_servers 3;  check '...' builds worker.c;  finish
#
# An example is copied away from the tree, and built there by the command that stands in its own head, with the library that
# "make install" has put elsewhere: $INSTALLED. (make examples sees to that.)
. tests/live/lib.sh

top=$PWD
installed=${INSTALLED:-$PWD/build/examples/installed}
[ -f "$installed/lib/libredlock.a" ] || { echo "Bail out! there is no $installed: run make examples"; exit 1; }
export PKG_CONFIG_PATH="$installed/lib/pkgconfig"
mkdir "$directory/bin" "$directory/copy" || exit 1

# Compilers by the names in the examples: they warn of everything, take the tests' options, and see fresh.h first. Where the call
# is for another processor, it is as it stands.
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
# By its path: the name itself is now ours.
compiler() {
    set -- "$1" "$2" "$3" "$(command -v "${2%% *}")"
    case $2 in *' '*) set -- "$1" "$4 ${2#* }" "$3" ;; *) set -- "$1" "$4" "$3" ;; esac
    printf '#!/bin/sh\nexec %s %s -O1 -g -isystem "%s" -include "%s/tests/examples/fresh.h" "$@"\n' "$2" "$3" "$installed/include" "$top" \
        >"$directory/bin/$1" && chmod 755 "$directory/bin/$1"
}
compiler cc "${CC:-cc}" "-std=c11 $warnings"
compiler c++ "${CXX:-g++}" "$warnings -Wold-style-cast"
compiler clang++ clang++ "$warnings -Wold-style-cast"

# build_command FILE PROGRAM: the line in the head of the example that begins with this word.
build_command() {
    sed -n -e "s|^[ /*#]*\\($2 .*$1.*\\)|\\1|p" "tools/examples/$1" | head -n 1
}

# builds FILE [COMPILER]: by its own command, which begins with cc, unless another one is named: that stands in its place.
# shellcheck disable=SC2016    # The command has dollars of its own.
builds() {
    command=$(build_command "$1" 'cc')
    [ -n "$command" ] || command=$(build_command "$1" 'c++')
    [ -n "$command" ] || { echo "tools/examples/$1 does not say how to build it"; return 1; }
    cp "$top/tools/examples/$1" "$directory/copy" && cd "$directory/copy" || return 1
    [ -z "${2-}" ] || command="$2 ${command#* }"
    echo "$command"
    PATH="$directory/bin:$PATH" sh -ec "$command"
    status=$?
    cd "$top" || exit 1
    return $status
}

# runs STATUS COMMAND...: an example, in the folder of its copy; what it writes is in out and err: see prints and says.
# shellcheck disable=SC2154
runs() {
    expected=$1
    shift
    (cd "$directory/copy" && exec perl -e "$limit" "$@") >"$directory/out" 2>"$directory/err"
    got=$?
    [ $got = "$expected" ] || { echo "$*: exit status $got, not $expected"; cat "$directory/out" "$directory/err"; return 1; }
}

nothing_is_left() {
    within 10 has_no_keys
}
has_no_keys() {
    [ "$(everywhere KEYS '*' | grep -vc '^\*0$')" = 0 ]
}

is_short() {
    [ "$(wc -l <"tools/examples/$1")" -le "${2:-150}" ]
}
