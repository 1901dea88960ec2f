# shellcheck shell=sh disable=SC1091,SC2154    # What tests/live/lib.sh defines.
# Shared by the tests of the examples. Use: . tests/examples/lib.sh; start_servers 3; check '...' builds worker.c; finish
#
# An example is copied away from the tree, and built there by the command in its own head, with the
# library that "make install" has put elsewhere, in $INSTALLED. (make examples sees to that.)
. tests/live/lib.sh

top=$PWD
installed=${INSTALLED:-$PWD/build/examples/installed}
[ -f "$installed/lib/libredlock.a" ] || { echo "Bail out! there is no $installed: run make examples"; exit 1; }
export PKG_CONFIG_PATH="$installed/lib/pkgconfig"
mkdir "$directory/bin" "$directory/copy" || exit 1

# Compilers by the names in the examples. They warn of everything, compile the example as it stands, and
# then once more with fresh.h.
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
# It is called by its path, since the name itself is now ours. It takes the PATH from outside, or a
# compiler that is a cache would find ours after it.
compiler() {
    compiler=${2%% *}
    compiler="$(command -v "$compiler")${2#"$compiler"} $3"
    printf '#!/bin/sh\nPATH="%s"\n%s -isystem "%s" -fsyntax-only -Wno-unused-command-line-argument "$@" &&\nexec %s -isystem "%s" -include "%s" "$@"\n' \
        "$PATH" "$compiler" "$installed/include" "$compiler -O1 -g" "$installed/include" "$top/tests/examples/fresh.h" >"$directory/bin/$1" &&
        chmod 755 "$directory/bin/$1"
}
compiler cc "${CC:-cc}" "-std=gnu11 $warnings"
compiler c++ "${CXX:-g++}" "$warnings -Wold-style-cast"
compiler clang++ clang++ "$warnings -Wold-style-cast"

# build_command FILE PROGRAM: the line in the head of the example that begins with this word.
build_command() {
    sed -n -e "s|^[ /*#]*\\($2 .*$1.*\\)|\\1|p" "tools/examples/$1" | head -n 1
}

# builds FILE [COMPILER]: by its own command, which begins with cc or c++; another compiler that is named stands in its place.
builds() {
    cp "tools/examples/$1" "$directory/copy" && rebuilds "$@"
}

# rebuilds FILE [COMPILER]: the same of its copy, which the test has changed as the example says one may.
rebuilds() {
    command=$(build_command "$1" 'cc')
    [ -n "$command" ] || command=$(build_command "$1" 'c++')
    [ -n "$command" ] || { echo "tools/examples/$1 does not say how to build it"; return 1; }
    cd "$directory/copy" || return 1
    [ -z "${2-}" ] || command="$2 ${command#* }"
    echo "$command"
    PATH="$directory/bin:$PATH" sh -ec "$command"
    status=$?
    cd "$top" || exit 1
    return $status
}

# runs STATUS COMMAND...: runs an example, in the folder of its copy. Its output is in out and err, see prints and says.
# shellcheck disable=SC2154
runs() {
    expected=$1
    shift
    (cd "$directory/copy" && exec "$limit" $limit_s "$@") >"$directory/out" 2>"$directory/err"
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
