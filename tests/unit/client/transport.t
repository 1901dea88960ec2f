#!/bin/sh
# The parts above the engine use the calls of redlock.h alone, so that another transport can do all that
# the client can. Each of its files compiles where the private headers are missing and the fields of the
# private structures have other names.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

: "${CC:=cc}"
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
trap 'exit 1' HUP INT TERM

# redlock.h, in which each field that is declared after the line "Private from here on", or after such words in a structure, has a
# name that nobody knows, unless its comment says "To be read". Lines of prose are left alone by taking comments away there.
rename_private_fields() {
    perl -e '
        undef $/;
        sub hide {
            my ($text) = @_;
            my $is_shown = 0;
            $text =~ s{/\*(.*?)\*/}{$1 =~ /To be read/ ? "\@" : ""}egs;
            for my $line (split /^/, $text) {
                $is_shown ||= $line =~ s/\@//g;
                if ($line =~ /^ .*;/ && $line !~ /^ +struct \{.*\}/) {
                    $is_shown or $line =~ s/\(\*(\w+)\)/(*hidden_$1)/
                        or $line =~ s/\b([a-z]\w*)(?=(\[[^;]*?\])?\s*[;,])/hidden_$1/g;
                    $is_shown = 0;
                }
                print $line;
            }
        }
        my ($public, $private) = split m{(?=/\* ---- Private from here on)}, <STDIN>, 2 or exit 1;
        for my $part (split m{(?=[^\n]*/\* Private, from here on.*?^\};$)}ms, $public) {
            $part =~ s{^([^\n]*/\* Private, from here on.*?^\};\n)}{}ms and hide($1);
            print $part;
        }
        hide($private)' <redlock/redlock.h
}

build_tree() {
    mkdir "$tree/redlock" "$tree/tools" "$tree/tests" &&
        cp -R resp net "$tree" && cp -R tools/redlock tools/admin tools/bench "$tree/tools" && cp -R tests/compilers "$tree/tests" &&
        cp redlock/redlock_*.h redlock/private.h redlock/client.h redlock/client_*.c redlock/reentrant.[ch] redlock/keeper_thread.c "$tree/redlock" &&
        rename_private_fields >"$tree/redlock/redlock.h" && ! cmp -s redlock/redlock.h "$tree/redlock/redlock.h"
}

# sizes DIRECTORY: prints those of its structures.
sizes() {
    printf '%s\n' '#include "redlock_client.h"' '#include <stdio.h>' 'int main(void) {' \
        'printf("%zu %zu %zu\n", sizeof(struct redlock), sizeof(struct redlock_lock), sizeof(struct redlock_node));' \
        'printf("%zu %zu\n", sizeof(struct redlock_client), sizeof(struct redlock_event_ring)); return 0; }' >"$tree/sizes.c"
    $CC -std=c11 -I"$1" -o "$tree/sizes" "$tree/sizes.c" && "$tree/sizes"
}

layout_is_the_same() {
    sizes redlock >"$tree/before" && sizes "$tree/redlock" >"$tree/after" && cmp "$tree/before" "$tree/after"
}

compile() (
    cd "$tree" && $CC -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -Iredlock -w -fsyntax-only "$1"
)

# use STRUCTURE FIELD: compiles a use of it.
use() {
    printf '%s\n' '#include "redlock_client.h"' "int probe(struct $1 *it);" \
        "int probe(struct $1 *it) { return sizeof it->$2 > 1; }" >"$tree/probe.c"
    compile probe.c >"$tree/said" 2>&1
}

# One of each structure, and the fields that are declared in an odd way.
private_fields_are_hidden() {
    for field in 'redlock nodes' 'redlock leave_adopted' 'redlock entropy' 'redlock_lock phase' 'redlock_lock is_quiet' \
        'redlock_lock links' 'redlock_node queue' 'redlock_node receive' 'redlock_node parser' 'redlock_queue last' \
        'redlock_link previous' 'redlock_stake strays' 'redlock_asked form' 'redlock_question next' 'redlock_event_ring first' 'redlock_mark round' \
        'redlock_reply text' 'redlock_identity run_id'; do
        # shellcheck disable=SC2086    # A structure and a field.
        if use $field || ! grep -q 'hidden\|no member' "$tree/said"; then
            echo "$field can be used"
            return 1
        fi
    done
}

public_fields_are_not() {
    for field in 'redlock_config guard_ms' 'redlock_login user' 'redlock_name size' 'redlock_request set' 'redlock_sight value' \
        'redlock_round granted' 'redlock_event kind' 'redlock_item bytes' 'redlock now_us' 'redlock session_count' 'redlock_question status' \
        'redlock_event_ring kinds' 'redlock_mark until_us' 'redlock_durable canaries[0].memory'; do
        # shellcheck disable=SC2086    # A structure and a field.
        use $field || return 1
    done
}

uses_calls_alone() {
    for file in "$@"; do
        compile "$file" || return 1
    done
}

# Those of the benchmark that stand beside a library for TLS, and include its headers.
beside_tls='tools/bench/bench_openssl.c tools/bench/bench_mbedtls.c'
needs_no_tls() {
    for file in tools/redlock/*.c tools/admin/*.c tools/bench/*.c; do
        case " $beside_tls " in *" $file "*) ;; *) uses_calls_alone "$file" || return 1 ;; esac
    done
}
has_headers_of() {
    grep '^#include <'"$1"'/' "tools/bench/bench_$1.c" | $CC -E -x c - >/dev/null 2>&1
}

check 'a redlock.h can be made whose private fields nobody knows' build_tree
check 'which changes no size' layout_is_the_same
check 'in it the private fields are hidden' private_fields_are_hidden
check 'and those of the structures that callers read and fill are not' public_fields_are_not
check 'the client uses calls of the engine alone' uses_calls_alone redlock/client_*.c
check 'so does the thread of the keeper' uses_calls_alone redlock/keeper_thread.c
check 'so does re-entrance' uses_calls_alone redlock/reentrant.c
check 'so does firmware' uses_calls_alone tests/compilers/firmware.c
check 'so do the commands and the benchmark' needs_no_tls
for tls in openssl mbedtls; do
    if has_headers_of $tls; then check "so does the benchmark beside $tls" uses_calls_alone "tools/bench/bench_$tls.c"
    else skip "so does the benchmark beside $tls" "no headers of $tls here"
    fi
done
finish
