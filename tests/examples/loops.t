#!/bin/sh
# shellcheck disable=SC1091,SC2046,SC2086,SC2154    # What lib.sh defines; flags are several words.
# The adapters for event loops (net/loops). Each rule of test_loops.c runs with each loop, with ASan and
# under valgrind; the headers are compiled by themselves, as C and as C++.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need clang g++ valgrind pkg-config uv.h ev.h glib.h || exit 1

build=${BUILD:-build}
others=$(pkg-config --cflags libuv glib-2.0 | sed 's/-I */-isystem /g')
flags="$warnings -Iredlock -Inet/loops $others"
libraries="$build/libtests_live.a $installed/lib/libredlock.a $(pkg-config --libs libuv glib-2.0) -lev -pthread"

# headers_compile COMPILER LANGUAGE STANDARD FLAG: all of them, from where they are installed.
headers_compile() {
    for header in redlock_loop redlock_loop_epoll redlock_loop_libuv redlock_loop_libev redlock_loop_glib; do
        printf '#include "%s.h"\n' $header >"$directory/header.c"
        $1 -x $2 -std=$3 $warnings $4 -D_GNU_SOURCE -I"$installed/include" $others -fsyntax-only "$directory/header.c" || return 1
    done
}

# It runs in the background; the pid is its own. Under valgrind the children, which are servers, are left alone.
begin_loop() {
    LOOP=$2 exec $1 "$directory/$3" >"$directory/said-$3-$2" 2>&1
}
was_right() {
    cat "$directory/said-$2-$1"
    [ "$3" = 0 ]
}

check 'test_loops.c compiles with ASan and UBSan' clang -std=c11 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all $flags \
    -o "$directory/asan" tests/examples/test_loops.c $libraries
check 'test_loops.c compiles without' ${CC:-cc} -std=c11 -O1 -g $flags -o "$directory/plain" tests/examples/test_loops.c $libraries
for loop in epoll libuv libev glib poll; do
    begin_loop '' $loop asan &
    begin $!
    eval "asan_$loop=$!"
    begin_loop 'valgrind -q --error-exitcode=99 --leak-check=full --child-silent-after-fork=yes' $loop plain &
    begin $!
    eval "plain_$loop=$!"
done
check 'the headers compile as C99' headers_compile "${CC:-cc}" c c99 ''
check 'the headers compile as C++11 with g++' headers_compile g++ c++ c++11 -Wold-style-cast
check 'the headers compile as C++17 with clang++' headers_compile clang++ c++ c++17 -Wold-style-cast
for loop in epoll libuv libev glib poll; do
    eval "over \$asan_$loop"
    check "each rule of an adapter: $loop, with ASan and UBSan" was_right $loop asan $?
    eval "over \$plain_$loop"
    check "each rule of an adapter: $loop, under valgrind" was_right $loop plain $?
done
finish
