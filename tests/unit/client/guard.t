#!/bin/sh
# shellcheck disable=SC1091    # tap.sh
# The guard for C++ runs the same tests with each compiler and standard, without exceptions and without RTTI.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Werror'
made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM

# passes COMPILER STANDARD FLAG...
passes() {
    compiler=$1 standard=$2
    shift 2
    # shellcheck disable=SC2086    # The warnings are several words.
    $compiler "-std=$standard" $warnings -O1 -g "$@" -o "$made/guard" tests/unit/client/guard.cc && "$made/guard"
}

# needs_no_library COMPILER: the compiled code calls the C of redlock, and nothing of C++.
needs_no_library() {
    cat >"$made/use.cc" <<'END'
#include "redlock/redlock.hpp"
int use(redlock_client &client, redlock_reentrant &home, redlock_keeper &keeper, redlock_kept &kept);
int use(redlock_client &client, redlock_reentrant &home, redlock_keeper &keeper, redlock_kept &kept)
{
    auto outer = redlocks::enter(client, home, redlocks::request("door", 10000));
    auto other = redlocks::acquire(keeper, kept, redlocks::request("gate", 10000));
    return outer && other ? 0 : outer.status();
}
END
    "$1" -std=c++11 -O1 -fno-exceptions -fno-rtti -I. -c -o "$made/use.o" "$made/use.cc" && nm -u "$made/use.o" >"$made/list" &&
        ! grep -vE ' (redlock_[a-z_0-9]*|strlen|memset|__tls_get_addr|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$' "$made/list"
}

for compiler in g++ clang++; do
    if ! command -v $compiler >/dev/null; then
        skip "the guard passes its tests with $compiler" "no $compiler here"
        continue
    fi
    for standard in c++11 c++17 c++20; do
        check "the guard passes its tests with $compiler as $standard, without exceptions and RTTI" \
            passes $compiler $standard -fno-exceptions -fno-rtti
    done
    check "the guard passes its tests with $compiler, with exceptions and RTTI" passes $compiler c++11
    check "the guard needs nothing of C++'s library with $compiler" needs_no_library $compiler
done
finish
