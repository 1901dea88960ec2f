#!/bin/sh
# The files that "make amalgamation" writes are all that another project needs, and four of them are enough for most.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM

writes_seventeen_files() {
    [ "$(cd "$made" && echo *)" = \
        'redlock.c redlock.h redlock.hpp redlock_client.c redlock_client.h redlock_fence.h redlock_keeper.c redlock_keeper.h redlock_loop.h redlock_loop_epoll.h redlock_loop_glib.h redlock_loop_libev.h redlock_loop_libuv.h redlock_metrics.c redlock_metrics.h redlock_reentrant.h redlock_sentinel.h redlock_transport.h' ]
}

# Only those files are there, so nothing but them and the system's headers is used.
# compiles COMPILER STANDARD FILE. Optimised in one standard only, since "make compilers" tries each standard at each level.
compiles() {
    level=-O0
    [ "$2" = c99 ] || level=-O1
    # shellcheck disable=SC2086    # The warnings are several words.
    (cd "$made" && "$1" "-std=$2" $warnings $level -c -o "${3%.c}.o" "$3")
}

# A function that only tickets, sets, wake-ups or the keeper call would be one too many there.
# The names of the system's headers come before ours, as in a forced include or a precompiled header.
compiles_behind_system_headers() {
    for header in arpa/inet ctype dirent errno fcntl inttypes math netdb netinet/in poll pthread sched search signal stdio stdlib \
        string strings sys/mman sys/select sys/socket sys/stat sys/time sys/uio sys/wait syslog termios time unistd wchar; do
        echo "#include <$header.h>"
    done >"$made/system.h"
    for file in redlock redlock_client redlock_keeper redlock_metrics; do
        # shellcheck disable=SC2086    # The warnings are several words.
        (cd "$made" && "$1" -D_GNU_SOURCE -include ./system.h $warnings -fsyntax-only $file.c) || return 1
    done
}

write_program() {
    cat <<'END'
#include "redlock_client.h"
#include <stdio.h>
#include <string.h>

static struct redlock_client client;

int main(void)
{
    static struct redlock_lock lock;
    /* A unix socket that is not there refuses at once. */
    if (redlock_open(&client, "unix:/nonexistent/redlock", NULL, NULL) != REDLOCK_OK)
        return 1;
    redlock_lock_init(&lock);
    puts(redlock_status_text(redlock_acquire(&client, &lock, "door", 10000, 0)));
    redlock_close(&client, 0);
    return 0;
}
END
}

# program_runs COMPILER
program_runs() {
    write_program >"$made/program.c"
    compiles "$1" c11 program.c &&
        (cd "$made" && "$1" -o program program.o redlock.o redlock_client.o && ./program >said) &&
        grep -q 'no quorum' "$made/said"
}

# alone FILE HEADER...: the file needs no header but these, as redlock(7) says.
alone() {
    mkdir "$made/alone" && (cd "$made" && cp "$@" alone && cd alone && cc -std=c99 -fsyntax-only "$1")
    result=$?
    rm -rf "$made/alone"
    return $result
}

# has_tls LIBRARY NAME FLAG...: its client has TLS inside, and nothing is needed but one header more, and the library.
has_tls() {
    tools/amalgamate "$made/tls" "$1" || return 1
    name=$2
    shift 2
    write_program | sed -e 's/^#include "redlock_client.h"/#include "redlock_tls.h"\n&/' -e 's/puts(/puts(redlock_tls_library()), &/' >"$made/program.c"
    (
        cd "$made/tls" && mv ../program.c . || exit 1
        # shellcheck disable=SC2086    # The warnings are several words.
        cc -std=c99 $warnings -o program program.c redlock.c redlock_client.c "$@" && ./program >said || exit 1
        cat said
        grep -q 'no quorum' said && grep -q "$name" said
    )
    result=$?
    rm -rf "$made/tls"
    return $result
}

has_header() {
    echo "#include <$1>" | cc -E - >/dev/null 2>&1
}

# tls LIBRARY HEADER NAME FLAG...
tls() {
    if has_header "$2"; then
        library=$1
        shift 2
        check "with $library it has TLS inside" has_tls "$library" "$@"
    else
        skip "with $1 it has TLS inside" "no $2 here"
    fi
}

refuses_other_tls() { ! tools/amalgamate "$made/other" gnutls && [ ! -e "$made/other" ]; }

check 'it can be written' tools/amalgamate "$made"
check 'it is seventeen files' writes_seventeen_files
check 'the engine is two files' alone redlock.c redlock.h
check 'the client is two more' alone redlock_client.c redlock.h redlock_client.h
check 'the keeper is two more' alone redlock_keeper.c redlock.h redlock_client.h redlock_keeper.h
check 'metrics are two more than the engine' alone redlock_metrics.c redlock.h redlock_metrics.h
for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null; then
        skip "it compiles with $compiler, and a program with it" "no $compiler here"
        continue
    fi
    check "it compiles behind the headers of the system with $compiler" compiles_behind_system_headers $compiler
    for standard in c99 c11; do
        for file in redlock.c redlock_client.c redlock_keeper.c redlock_metrics.c; do
            check "$file compiles as $standard with $compiler, without a warning" compiles $compiler $standard $file
        done
    done
    check "a program of fifteen lines runs with it, built by $compiler" program_runs $compiler
done
tls openssl openssl/ssl.h OpenSSL -lssl -lcrypto
tls mbedtls mbedtls/ssl.h 'Mbed TLS' -lmbedtls -lmbedx509 -lmbedcrypto
check 'another library for TLS is refused' refuses_other_tls
finish
