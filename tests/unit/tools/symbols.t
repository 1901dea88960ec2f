#!/bin/sh
# Checks the library's demands on its surroundings and its effects there (symbols, memory, headers), and
# which file may include which.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

: "${CC:=cc}"
warnings='-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM

# The library as a user gets it, without sanitizers, whatever this run of the tests was built with.
build_library() {
    MAKEFLAGS='' "${MAKE:-make}" BUILD="$made" CC="$CC" CFLAGS=-O2 LDFLAGS= SANITIZE= "$made/libredlock.a"
}

# Succeeds if its input is empty; shows it otherwise.
nothing() {
    ! grep .
}

# list COMMAND...: its output goes to a file first, so that its failure is one.
list() {
    "$@" >"$made/list"
}

names() {
    list nm "$@" "$made/libredlock.a"
}

has_four_objects() {
    list ar t "$made/libredlock.a" && [ "$(grep -c '\.o$' "$made/list")" = 4 ]
}

# A program that calls nothing of the keeper does not get its object. The client begins threads for names of nodes alone, and waits
# for none; the core knows of no threads.
only_names_and_the_keeper_need_threads() {
    list nm -u "$made/obj/redlock/unity_core.o" && grep pthread "$made/list" | nothing &&
        list nm -u "$made/obj/redlock/unity_client.o" && grep -E 'pthread_(mutex|cond|join|cancel)|redlock_keep(er|t)_' "$made/list" | nothing
}

client_can_do_without_threads() {
    # shellcheck disable=SC2086    # The warnings are several words, and the compiler may be.
    $CC -std=c11 -O0 $warnings -DREDLOCK_NO_THREADS -c -o "$made/none.o" redlock/unity_client.c &&
        list nm -u "$made/none.o" && grep pthread "$made/list" | nothing
}

keeper_can_be_left_out() {
    # shellcheck disable=SC2086    # The warnings are several words, and the compiler may be.
    $CC -std=c11 -O0 $warnings -DREDLOCK_NO_THREADS -c -o "$made/none.o" redlock/unity_keeper.c &&
        list nm "$made/none.o" && nothing <"$made/list"
}

# Also where the compiler leaves in what is not called.
scope_of_a_client_needs_no_keeper() {
    printf '%s\n' '#include "redlock_reentrant.h"' 'int use(struct redlock_client *c, struct redlock_reentrant *home, const struct redlock_request *what);' \
        'int use(struct redlock_client *c, struct redlock_reentrant *home, const struct redlock_request *what)' \
        '{ REDLOCK_SCOPED(scope, c, home, 1, what); return (int)scope.status; }' >"$made/scope.c"
    # shellcheck disable=SC2086    # The warnings are several words, and the compiler may be.
    $CC -std=c11 -O0 $warnings -Iredlock -c -o "$made/scope.o" "$made/scope.c" && list nm -u "$made/scope.o" &&
        grep -q redlock_leave "$made/list" && grep redlock_keeper "$made/list" | nothing
}

# On 32 bits of x86 the compiler adds to each object the functions by which code finds its own address.
exports_only_redlock() {
    names -g --defined-only && awk 'NF == 3 && $3 !~ /^(redlock_|__x86\.get_pc_thunk\.)/' "$made/list" | nothing
}

allocates_nothing() {
    names -u && grep -wE '(m|c|re)alloc|reallocarray|free|aligned_alloc|posix_memalign|strn?dup' "$made/list" | nothing
}

prints_nothing() {
    names -u && grep -E 'printf|scanf|puts|putc|fwrite|fopen|std(out|err|in)$' "$made/list" | nothing
}

# Tables of constant pointers are in .data.rel.ro, which is read-only once the program has been loaded.
has_no_writable_data() {
    names -f sysv &&
        awk -F'|' '$7 ~ /^\.(data|bss|tdata|tbss)|COM/ && $7 !~ /^\.data\.rel\.ro/' "$made/list" | nothing
}

# needs_memory_functions_only NM OBJECT. __aeabi_ and __udivdi3 are no library functions, since on 32
# bits the compiler divides 64 by calling its own run-time support.
needs_memory_functions_only() {
    list "$1" -u "$2" &&
        awk 'NF == 2 && $2 !~ /^(memcpy|memmove|memset|memcmp|_GLOBAL_OFFSET_TABLE_|__aeabi_[a-z]+|__u?(div|mod|divmod)di[34])$/' \
            "$made/list" | nothing
}

# core_needs_memory_functions_only COMPILER NM FLAGS...
core_needs_memory_functions_only() {
    compiler=$1 names=$2
    shift 2
    # shellcheck disable=SC2086    # The compiler may be several words.
    $compiler -std=c11 -O2 -ffreestanding -fno-stack-protector "$@" -c -o "$made/core.o" redlock/unity_core.c &&
        needs_memory_functions_only "$names" "$made/core.o"
}

# Firmware that asks for no part gets no function of a part linked.
unused_parts_are_not_linked() {
    # shellcheck disable=SC2086    # The compiler may be several words.
    $CC -std=c11 -O1 -fno-inline -ffunction-sections -fdata-sections -Iredlock -c -o "$made/firmware.o" tests/compilers/firmware.c &&
        $CC -std=c11 -O1 -fno-inline -ffunction-sections -fdata-sections -c -o "$made/parts.o" redlock/unity_core.c &&
        $CC -Wl,--gc-sections -o "$made/firmware" "$made/firmware.o" "$made/parts.o" &&
        list nm "$made/firmware" && grep -w acquire_begin "$made/list" &&
        grep -E ' (keeper|waiter|inspect|names_sort|ticket_(check|propose)|put_(scripted|wait|getrange)|redlock_(keep|describe))' "$made/list" | nothing
}

# firmware_has_no_text PATTERN COMPILER FLAGS...: a linker that drops unused functions drops the texts
# of statuses with their function; as literals of a table gcc would keep them. (Those of nodes clang
# keeps, in one section with all other literals.)
firmware_has_no_text() {
    text=$1 compiler=$2
    shift 2
    # shellcheck disable=SC2086    # The compiler may be several words.
    $compiler -std=c11 -ffunction-sections -fdata-sections -Wl,--gc-sections -Iredlock "$@" -o "$made/firmware" \
        tests/compilers/firmware.c redlock/unity_core.c && grep -q 'SCRIPT' "$made/firmware" &&
        grep -a -o -E "$text" "$made/firmware" | nothing
}

# header_compiles COMPILER LANGUAGE STANDARD HEADER: in C++ also without a NULL, where a compiler knows that warning.
header_compiles() {
    no_null=
    if [ "$2" = c++ ] && echo 'int x;' | $1 -x c++ -Wzero-as-null-pointer-constant -Werror -fsyntax-only - 2>/dev/null; then
        no_null=-Wzero-as-null-pointer-constant
    fi
    # shellcheck disable=SC2086    # The warnings are several words, and the compiler may be.
    echo "#include \"$4\"" | $1 -x "$2" "-std=$3" $warnings $no_null -I. -Iredlock -fsyntax-only -
}

# Compiles like a project that is to become C++.
c_plus_plus_would_take_it() {
    for part in core client keeper metrics; do
        # shellcheck disable=SC2086    # The warnings are several words, and the compiler may be.
        $CC -std=c11 -Wc++-compat $warnings -fsyntax-only redlock/unity_$part.c || return 1
    done
}

core_includes_freestanding_headers_only() {
    list sed -n 's/^# *include *<\(.*\)>.*/\1/p' resp/*.[ch] redlock/*.[ch] &&
        sort -u "$made/list" | grep -vxE '(stdint|stddef|stdbool|limits|string)\.h' | nothing
}

# A file beside the including one is its own business.
# program_links FLAGS...: a program that takes a lock, with the library as built.
program_links() {
    cat >"$made/program.c" <<'END'
#include "redlock/redlock_keeper.h"
#include "redlock/redlock_metrics.h"
#ifdef WITH_METRICS
static struct redlock_metrics metrics;
int main(void) { redlock_metrics_init(&metrics, NULL, NULL, 0); return 0; }
#elif defined(WITH_KEEPER)
static struct redlock_keeper keeper;
int main(void) { return redlock_keeper_start(&keeper, "", NULL, NULL); }
#elif defined(WITH_CLIENT)
static struct redlock_client client;
int main(void) { return redlock_open(&client, "", NULL, NULL); }
#else
static struct redlock_lock lock;
int main(void) { redlock_lock_init(&lock); return redlock_version()[0] == 0; }
#endif
END
    # shellcheck disable=SC2086    # The warnings are several words, and the compiler may be.
    $CC -std=c11 $warnings "$@" -I. -o "$made/program" "$made/program.c" "$made/libredlock.a" -lpthread >"$made/output" 2>&1 ||
        { cat "$made/output"; return 1; }
}

# other_layout_does_not_link NAME FLAGS...: and it is NAME that is missing.
other_layout_does_not_link() {
    name=$1
    shift
    ! program_links "$@" && grep -w "$name" "$made/output"
}

other_version_does_not_link() {
    mkdir -p "$made/other/redlock" && cp redlock/*.h "$made/other/redlock" &&
        sed 's/^\(#define REDLOCK_VERSION_MINOR\) .*/\1 99/' redlock/redlock.h >"$made/other/redlock/redlock.h" &&
        other_layout_does_not_link redlock_lock_init_0_99_15_128_64 "-I$made/other"
}

# The file beside tools/admin named ../redlock is the other command. The playground is made of the tests' library.
tools_include_public_headers_only() {
    list sed -n -e 's|^# *include *"\.\./redlock/\([a-z_]*\.h\)".*|\1|p' tools/admin/*.[ch] &&
        while read -r file; do [ -f "tools/redlock/$file" ] || { echo "$file"; return 1; }; done <"$made/list" &&
        list sed -n -e '/"\.\.\/redlock\/[a-z_]*\.h"/d' -e 's/^# *include *"\(.*\/.*\)".*/\1/p' tools/*/*.[ch] &&
        sort -u "$made/list" | grep -vxE '(\.\./)*(redlock/redlock(_client|_fence|_keeper|_metrics|_reentrant|_sentinel)?|resp/resp|net/redlock_(transport|tls)|tests/world/(stage|stories|witness)|firmware/line)\.h' | nothing
}

check 'the library can be built by make, elsewhere and without sanitizers' build_library
check 'the library is four objects' has_four_objects
check 'only names of nodes and the keeper need threads' only_names_and_the_keeper_need_threads
check 'the client can do without threads' client_can_do_without_threads
check 'the keeper can be left out' keeper_can_be_left_out
check 'a scope over a client needs no keeper' scope_of_a_client_needs_no_keeper
check 'every external name of the library begins with redlock_' exports_only_redlock
check 'the library allocates nothing' allocates_nothing
check 'the library prints nothing' prints_nothing
check 'the library has no writable data' has_no_writable_data
check 'the core as built needs four memory functions and nothing else' \
    needs_memory_functions_only nm "$made/obj/redlock/unity_core.o"
check 'the freestanding core needs four memory functions and nothing else' core_needs_memory_functions_only "$CC" nm

check 'parts that a program does not use are not linked' unused_parts_are_not_linked

if command -v arm-none-eabi-gcc >/dev/null; then
    check 'the core on a bare Cortex-M needs four memory functions and nothing else' \
        core_needs_memory_functions_only arm-none-eabi-gcc arm-none-eabi-nm -mcpu=cortex-m4 -mthumb -Os
else
    skip 'the core on a bare Cortex-M needs four memory functions and nothing else' 'no arm-none-eabi-gcc here'
fi

check 'firmware that asks for no text carries none' firmware_has_no_text 'held by somebody' "$CC" -O2
if command -v arm-none-eabi-gcc >/dev/null; then
    check 'firmware for a bare Cortex-M that asks for no text carries none' \
        firmware_has_no_text 'held by somebody|a replica' arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -ffreestanding --specs=nosys.specs -Os
else
    skip 'firmware for a bare Cortex-M that asks for no text carries none' 'no arm-none-eabi-gcc here'
fi

for header in redlock/redlock.h redlock/redlock_client.h redlock/redlock_fence.h redlock/redlock_keeper.h redlock/redlock_metrics.h redlock/redlock_reentrant.h redlock/redlock_sentinel.h \
    net/redlock_transport.h net/redlock_tls.h net/loops/redlock_loop.h resp/resp.h; do
    for standard in c99 c11 c17; do
        check "$header alone compiles as $standard" header_compiles "$CC" c $standard $header
    done
    for compiler in g++ clang++; do
        if command -v $compiler >/dev/null; then
            check "$header alone compiles as C++17 with $compiler" header_compiles $compiler c++ c++17 $header
        else
            skip "$header alone compiles as C++17 with $compiler" "no $compiler here"
        fi
    done
done

if echo 'void *a; int *b; void f(void); void f(void) { b = a; }' | $CC -Wc++-compat -x c -fsyntax-only - 2>&1 | grep -q 'C++'; then
    check 'the library has no warning where C++ differs from C' c_plus_plus_would_take_it
else
    skip 'the library has no warning where C++ differs from C' "$CC does not warn of that"
fi

check 'a program of the same layout links' program_links
check 'a program for another number of nodes does not link' other_layout_does_not_link \
    redlock_lock_init_0_2_3_128_64 -DREDLOCK_NODES_MAX=3
check 'a program for other error texts does not link' other_layout_does_not_link \
    redlock_lock_init_0_2_15_32_64 -DREDLOCK_ERROR_MAX=32
check 'a program for other copies of names does not link' other_layout_does_not_link \
    redlock_lock_init_0_2_15_128_0 -DREDLOCK_NAME_COPY_MAX=0
check 'a program for another version does not link' other_version_does_not_link
check 'a client for another number of nodes does not link' other_layout_does_not_link \
    redlock_open_0_2_3_128_64 -DREDLOCK_NODES_MAX=3 -DWITH_CLIENT
check 'metrics of another number of nodes do not link' other_layout_does_not_link \
    redlock_metrics_init_0_2_3_128_64 -DREDLOCK_NODES_MAX=3 -DWITH_METRICS
check 'a keeper for another number of nodes does not link' other_layout_does_not_link \
    redlock_keeper_start_0_2_3_128_64 -DREDLOCK_NODES_MAX=3 -DWITH_KEEPER

check 'net/ is the only folder that includes a POSIX header' core_includes_freestanding_headers_only
check 'the tools include public headers only' tools_include_public_headers_only
finish
