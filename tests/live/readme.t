#!/bin/sh
# shellcheck disable=SC1091,SC2016,SC2154    # What lib.sh defines. Sed and grep have dollars, too.
# The README and the guide, redlock.7, say nothing that is not so. Their programs are compiled and run, their
# commands are run, and the commands that build and measure are among those that decide whether a change may land.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
library=${BUILD:-build}/libredlock.a
: "${CC:=cc}"

# The programs take the defaults, with which servers that started just now have no vote. Here they have.
cat >"$directory/fresh.h" <<'END'
#include "redlock_client.h"
static enum redlock_status open_fresh(struct redlock_client *c, const char *nodes)
{
    struct redlock_options options;
    redlock_options_init(&options);
    options.engine.guard_ms = 0;
    return redlock_open(c, nodes, &options, NULL);
}
#undef redlock_open
#define redlock_open(c, nodes, options, mistake) open_fresh(c, nodes)
END

# compiles NAME: as it stands, without a warning; and once more for fresh servers.
compiles() {
    block "program: $1" >"$directory/program.c"
    # shellcheck disable=SC2086    # Flags are several words.
    for include in '' "-include $directory/fresh.h"; do
        $CC -std=c11 -Wall -Wextra -Wpedantic -Werror ${SANITIZE:+-fsanitize=$SANITIZE} -Iredlock $include \
            -o "$directory/program" "$directory/program.c" "$library" || return 1
    done
}

# runs STATUS PATTERN ARGUMENT...: the program that was compiled last.
runs() {
    status=$1 pattern=$2
    shift 2
    "$directory/program" "$@" >"$directory/out" 2>"$directory/err"
    [ $? = "$status" ] && prints "$pattern"
}

ends_with() {
    "$directory/program" "$2"
    [ $? = "$1" ]
}

is_short() {
    [ "$(block 'program: blocking' | sed -n '/^int main/,$p' | wc -l)" -le 15 ]
}

nothing_is_left() {
    [ "$(everywhere KEYS '*' | grep -vc '^\*0$')" = 0 ]
}

check 'the README has at most 150 lines' test "$(wc -l <README.md)" -le 150
check 'the blocking program compiles' compiles blocking
check 'the blocking program is short' is_short
check 'the blocking program acquires and releases the lock' runs 0 '^done: 98[0-9][0-9] ms$' "$nodes"
check 'the blocking program leaves nothing behind' nothing_is_left
says_why() {
    everywhere SET door somebody PX 60000 >/dev/null
    runs 1 '^held by somebody else: 0 ms$' "$nodes"
    why=$?
    everywhere FLUSHALL >/dev/null
    return $why
}
check 'the blocking program says why it has not got the lock' says_why
check 'the blocking program ends with a status for a wrong address' ends_with 14 'a:b'
check 'the event loop program compiles' compiles 'event loop'
check 'the event loop program acquires a hundred locks at once' runs 0 '^done: 100 held$' "$nodes"
check 'the event loop program leaves nothing behind' nothing_is_left

# The commands, with our servers for the hosts, and a guard of 0 for the reason above.
cat >"$directory/backup.sh" <<'END'
#!/bin/sh
echo backed up
END
chmod +x "$directory/backup.sh"
ln -s "$redlock" "$directory/redlock.real"
cat >"$directory/redlock" <<'END'
#!/bin/sh
command=$1
shift
exec redlock.real "$command" --guard 0 "$@"
END
chmod +x "$directory/redlock"

block run | sed -e "s/^export REDLOCK_NODES=.*/export REDLOCK_NODES=$nodes/" -e 's/^redlock status door/& || [ $? = 124 ]/' \
    -e 's/^redlock break [^#]*/& || [ $? = 123 ] /' >"$directory/commands"

# The last one meets a free door; its lock ends with its TTL.
commands_run() {
    (cd "$directory" && env PATH="$directory:$PATH" sh -e ./commands) >"$directory/out" 2>"$directory/err" || {
        cat "$directory/out" "$directory/err"
        return 1
    }
}

commands_are_all_there() {
    [ "$(grep -c '^\(token=\$(\)\{0,1\}redlock ' "$directory/commands")" = 13 ]
}

# On three free ports; the processes that it has started are ended with everything else.
free_ports() {
    perl -MIO::Socket::INET -e 'my @s = map { IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0") // die } 1 .. 3;
        print join(" ", map { $_->sockport } @s), "\n"'
}
first_command_runs() {
    # shellcheck disable=SC2046    # Three words.
    set -- $(free_ports)
    block first | sed -e "s/7001/$1/g" -e "s/7002/$2/g" -e "s/7003/$3/g" \
        -e "s|redis-server|${REDIS_SERVER:-redis-server} --dir $directory --pidfile $directory/first-\$port|" >"$directory/first"
    [ "$(grep -c "$3" "$directory/first")" = 2 ] || return 1
    env PATH="$(dirname "$redlock"):$PATH" sh -e "$directory/first" >"$directory/out"
    for first; do begin "$(cat "$directory/first-$first")"; done
    grep -x mine "$directory/out"
}
check 'the first command runs as it stands, on servers that started just now' first_command_runs
check 'there are as many commands as this test knows of' commands_are_all_there
check 'the commands run as they stand' commands_run
cp "$directory/out" "$directory/ran"
check 'the command under the lock has run each time' test "$(grep -c 'backed up' "$directory/ran")" = 7
check 'the trace shows the arithmetic' says 'won [23]/3: .* ms valid'
check "the trace shows the algorithm's own command" says '  >  SET door [0-9a-f]{6}\.\.[0-9a-f]{2} NX PX 10000 '
the_trace_is_short() { [ "$(grep -c . "$directory/err")" -le 12 ] || { cat "$directory/err"; return 1; }; }
check 'the trace shows no handshake' the_trace_is_short

# Each line that builds is a stage of .ci/run, by its target or its variables.
is_in_ci() {
    block ci | sed 's/ *#.*//' | while read -r make first rest; do
        case $first in
        '') pattern=test_in_a_bare_root ;;
        *=*) pattern="$make $first $rest" ;;
        *) pattern=" $first" ;;
        esac
        grep -qF -e "$pattern" .ci/run || { echo "not in .ci/run: $make $first $rest"; exit 1; }
    done
}
check 'what builds and measures is run before a change lands' is_in_ci
demo_and_test_are() {
    grep -qx "stage '.*' test_in_a_bare_root" .ci/run && grep -q '^    tests/bare/run ' .ci/run || return 1
    for target in demo test; do grep -qF "within 'cd /root/redlock && make $target'" tests/bare/run || { echo "not there: make $target"; return 1; }; done
}
check 'make demo and make test are, too' demo_and_test_are

# The ACL rules of the guide suffice for acquire, extend, release, status and waiting. Nothing that is
# sent is refused, not even optional commands.
acl_suffices() {
    # shellcheck disable=SC2046    # Rules are several words.
    everywhere ACL SETUSER least on '>secret' $(block acl) >"$directory/acl" &&
        [ "$(grep -c '^OK$' "$directory/acl")" = 3 ] &&
        least=$(echo "$nodes" | sed 's|127|redis://least:secret@127|g') &&
        token=$("$redlock" acquire --guard 0 -n "$least" lock:door) &&
        is 0 extend --guard 0 -n "$least" lock:door "$token" &&
        is 124 acquire --guard 0 -n "$least" --wait 300ms lock:door &&
        is 124 status --guard 0 -n "$least" lock:door && prints "held by ${token%:*} " &&
        is 0 release --guard 0 -n "$least" lock:door "$token" &&
        is 0 run --guard 0 -n "$least" --once-per 1d lock:door -- true && ! grep -q NOPERM "$directory/err" &&
        [ "$(everywhere ACL LOG | sort -u)" = '*0' ]
}
check 'the ACL rules suffice' acl_suffices
finish
