#!/bin/sh
# The guardian of redlock run: whatever dies or stops, no child of the command lives when the validity of the lock ends.
#
#     RUNS=200 tests/live/command_guardian.t      repeats each of the first tests so often, several at a time
#
# shellcheck disable=SC2016    # The expressions are perl's, and those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

if [ "$(uname)" != Linux ]; then
    skip 'the guardian' 'only Linux tells which processes are below one'
    finish
    exit
fi
start_servers 5

# The command, a child in its group, one in a session of its own, and a daemon. All ignore SIGTERM, and write down that they
# live.
cat >"$directory/family" <<'END_OF_FAMILY'
#!/usr/bin/env perl
use POSIX qw(setsid _exit);
use Time::HiRes qw(time sleep);
$SIG{TERM} = 'IGNORE';
open our $life, '>>', $ARGV[0];
sub live { while (1) { syswrite $life, sprintf "%.3f %s %d\n", time, $_[0], $$; sleep 0.01 } }
fork or live('child');
unless (fork) { setsid; live('session') }
unless (fork) { setsid; fork and _exit(0); live('daemon') }
live('command');
END_OF_FAMILY
chmod +x "$directory/family"

# has_all FILE: all four have written that they live.
has_all() {
    for member in command child session daemon; do grep -q " $member " "$1" || return 1; done
}
# none_lives FILE: no process that wrote there is left.
none_lives() {
    cut -d ' ' -f 3 "$1" | sort -u | { while read -r left; do is_gone "$left" || exit 1; done; }
}

# A test that fails may leave some of them.
# shellcheck disable=SC2046    # The process ids are several words.
end_families() { kill -KILL $(cat "$directory"/life-* 2>/dev/null | cut -d ' ' -f 3 | sort -u) 2>/dev/null; }
trap 'end_families; clean_up' EXIT

# When a quorum of servers will have forgotten the key, if nobody extends it.
# shellcheck disable=SC2046    # The ports are several words.
forgotten_at() {
    perl -MIO::Socket::INET -MTime::HiRes=time -e '
        my ($key, $quorum, @ports) = @ARGV;
        my @ends = sort { $a <=> $b } map {
            my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $_) or die;
            my $now = time;
            printf $s "*2\r\n\$4\r\nPTTL\r\n\$%d\r\n%s\r\n", length $key, $key;
            <$s> =~ /^:(-?\d+)/ or die;
            $now + $1 / 1000 } @ports;
        printf "%.3f\n", $ends[$quorum - 1]' "$1" $(((count + 2) / 2)) $(for each_node in $(seq 0 $((count - 1))); do eval "echo \$port_$each_node"; done)
}

# The guardian that a redlock has begun.
guardian_of() { children_of "$1" redlock-guard; }

# under_fault NAME FAULT OPTION...: begins the family under a lock, does it, and sees when the last one of the family was seen alive. (Several
# run at once, so it writes in no file that they share.)
under_fault() {
    life=$directory/life-$1 name=$1 fault=$2
    shift 2
    "$redlock" run --guard 0 --node-timeout 10s --no-ticket -t 3s --grace 500ms "$@" "$name" -- "$directory/family" "$life" \
        >"$directory/out-$name" 2>&1 &
    run=$!
    within 20 has_all "$life" || return 1
    $fault "$run" || return 1
    end=$(forgotten_at "$name")
    within 20 none_lives "$life" || return 1
    kill -CONT "$run" 2>/dev/null
    wait "$run"
    last=$(cut -d ' ' -f 1 "$life" | sort -n | tail -n 1)
    perl -e 'printf "the last sign of life was %.0f ms before the end of the lock\n", 1000 * ($ARGV[0] - $ARGV[1]);
             exit($ARGV[1] >= $ARGV[0])' "$end" "$last"
}
redlock_killed()  { kill -KILL "$1"; }
redlock_stopped() { stop "$1"; }

# repeatedly NAME FAULT OPTION...: RUNS times, eight at a time; says how close it was.
repeatedly() {
    : >"$directory/all"
    round=0 kind=$1 doing=$2
    shift 2
    while [ $round -lt "${RUNS:-1}" ]; do
        started_now=
        while [ $round -lt "${RUNS:-1}" ]; do
            round=$((round + 1))
            { under_fault "$kind-$round" "$doing" "$@" || echo failed; } >>"$directory/all" 2>&1 &
            started_now="$started_now $!"
            [ $((round % 8)) != 0 ] || break
        done
        for each_run in $started_now; do wait "$each_run"; done
    done
    ! grep -v 'last sign of life was [0-9]' "$directory/all" || return 1
    [ "$(grep -c 'last sign' "$directory/all")" = "${RUNS:-1}" ] || return 1
}
tell_closest() { sort -t ' ' -k 7n "$directory/all" | sed -n "1s/.* was /# of ${RUNS:-1}: /p"; }
check 'when redlock is killed all that the command began is dead before the lock ends' repeatedly killed redlock_killed
tell_closest

# Nothing tells the guardian that redlock is stopped, so it waits for as long as the lock is valid. With
# such a drift that is a second before servers forget it, which no machine is too busy for. There is
# less than a tenth of a second as it is, and that is shown in one of three tries.
stopped() {
    repeatedly wide redlock_stopped --drift 33% && { repeatedly one redlock_stopped || repeatedly two redlock_stopped || repeatedly three redlock_stopped; }
}
check 'when redlock is stopped all that the command began is dead before the lock ends' stopped
tell_closest

# ---- Out of memory ----

# A cgroup of its own below this test's, with little memory; sets $cgroup.
make_cgroup() {
    if [ -d /sys/fs/cgroup/memory ]; then
        cgroup=/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/redlock-test-$$
        limit_file=memory.limit_in_bytes
    else
        cgroup=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/redlock-test-$$
        limit_file=memory.max
    fi
    mkdir "$cgroup" 2>/dev/null && echo 64000000 2>/dev/null >"$cgroup/$limit_file"
}
# shellcheck disable=SC2046    # The process ids are several words.
remove_cgroup() {
    [ -d "$cgroup" ] || return 0
    kill -KILL $(cat "$cgroup/cgroup.procs") 2>/dev/null
    within 5 rmdir "$cgroup"
}

# Many that each take more than any of the others, and less than would make a score higher than that.
cat >"$directory/eater" <<'END_OF_EATER'
#!/usr/bin/env perl
open my $file, '>', "$ARGV[0]/cgroup.procs" or die;
print $file $$;
close $file or die;
for (1 .. 10) { fork or last }
my $all = '';
for (1 .. 10) { $all .= 'x' x 1_000_000 }
sleep 2;
END_OF_EATER
chmod +x "$directory/eater"

# The kernel ends first the process with the highest score, redlock itself here. Then something eats all memory.
redlock_out_of_memory() {
    for each in "$1" "$(guardian_of "$1")" $(cut -d ' ' -f 3 "$life" | sort -u); do echo "$each" >"$cgroup/cgroup.procs" || return 1; done
    echo 1000 >"/proc/$1/oom_score_adj"
    "$directory/eater" "$cgroup" 2>/dev/null &
    eater=$!
    within 10 is_gone "$1"
    killed=$?
    kill -KILL "$eater" 2>/dev/null
    wait "$eater"
    return $killed
}
out_of_memory() {
    under_fault oom redlock_out_of_memory
}
cgroup=
trap 'end_families; remove_cgroup; clean_up' EXIT
if make_cgroup; then check 'when the kernel kills redlock for want of memory, all is dead before the lock ends' out_of_memory
else skip 'when the kernel kills redlock for want of memory, all is dead before the lock ends' 'no cgroup can be made'
fi
remove_cgroup

# ---- What goes on and on ----

# A chain of processes. Each begins the next one in a session of its own, and ends.
cat >"$directory/chain" <<'END_OF_CHAIN'
#!/usr/bin/env perl
use POSIX qw(setsid _exit);
use Time::HiRes qw(time sleep);
$SIG{TERM} = 'IGNORE';
open my $life, '>>', $ARGV[0];
fork and do { sleep 1 while 1 };
while (1) {
    setsid;
    syswrite $life, sprintf "%.3f link %d\n", time, $$;
    sleep 0.002;
    fork and _exit(0);
}
END_OF_CHAIN
chmod +x "$directory/chain"

is_longer_than() { [ "$(wc -l <"$1")" -gt "$2" ]; }
ends_chain() {
    life=$directory/life-chain
    : >"$life"
    start run --guard 0 -t 3s --grace 200ms chain -- "$directory/chain" "$life"
    within 20 is_longer_than "$life" 20 || return 1
    kill -KILL "$started"
    end=$(forgotten_at chain)
    within 20 is_nowhere chain || return 1
    links=$(wc -l <"$life") last=$(tail -n 1 "$life" | cut -d ' ' -f 1)
    over "$started"
    sleep 0.5
    perl -e 'exit($ARGV[1] >= $ARGV[0])' "$end" "$last" && ! is_longer_than "$life" "$links"
}
check 'a chain of processes that begin each other is broken before the lock ends' ends_chain

# ---- The guardian itself ----

# Nothing but the kernel could end it in time.
both_stopped() {
    life=$directory/life-both
    start run --guard 0 -t 1s --grace 200ms both -- "$directory/family" "$life"
    within 20 has_all "$life" || return 1
    guardian=$(guardian_of "$started")
    stop "$started" "$guardian" || return 1
    within 10 is_nowhere both || return 1
    go_on "$guardian" && within 5 none_lives "$life" && go_on "$started" || return 1
    over "$started"
    [ $? = 123 ] && says 'both: lost: its validity has ended'
}
check 'when both were stopped past the end of the lock, all is killed as soon as the guardian goes on' both_stopped

guardian_stopped() {
    start run --guard 0 -t 4s still -- sh -c 'echo ready; until [ -e "$0" ]; do sleep 0.05; done; exit 7' "$directory/still"
    within 10 prints ready || return 1
    guardian=$(guardian_of "$started")
    stop "$guardian" && within 10 is_running "$guardian" || return 1
    : >"$directory/still"
    over "$started"
    [ $? = 7 ]
}
is_running() { case $(state_of "$1") in R | S) ;; *) return 1 ;; esac; }
check 'redlock continues a guardian that was stopped' guardian_stopped

guardian_killed() {
    life=$directory/life-orphans
    start run --guard 0 -t 2s --grace 200ms orphans -- "$directory/family" "$life"
    within 20 has_all "$life" || return 1
    guardian=$(guardian_of "$started")
    [ -n "$guardian" ] && kill -KILL "$guardian" || return 1
    over "$started"
    [ $? = 125 ] && says 'orphans: the guardian was killed; the command is ended' && none_lives "$life" && gone orphans
}
check 'when the guardian is killed redlock ends all that the command began, and then releases the lock' guardian_killed

killed_while_waiting() {
    is 0 acquire --guard 0 -t 1h waited && token=$(token)
    start run --guard 0 -v waited -- touch "$directory/ran"
    within 10 says 'waiting' || return 1
    guardian=$(guardian_of "$started")
    [ -n "$guardian" ] && kill -KILL "$guardian" || return 1
    is_still=$started
    "$redlock" release waited "$token" 2>/dev/null
    over "$is_still"
    [ $? = 125 ] && [ ! -e "$directory/ran" ] && gone waited
}
check 'without a guardian nothing is run' killed_while_waiting

# ---- What the command leaves ----

leaves_daemons() {
    is 3 run --guard 0 left -- perl -MPOSIX -e 'fork and exit 3; setsid; $| = 1; print "$$\n"; sleep 100'
    within 5 prints '[0-9]' || return 1
    left=$(cat "$directory/out")
    sleep 0.3
    is_gone "$left" && return 1
    kill -KILL "$left"
}
check 'a command that ends by itself may leave processes behind' leaves_daemons

no_process_is_left() {
    start run --guard 0 tidy -- sh -c 'echo ready; sleep 1'
    within 10 prints ready || return 1
    guardian=$(guardian_of "$started")
    over "$started" && is_gone "$guardian" || return 1
    name=taken-$$    # Tests beside this one have guardians, too.
    is 0 acquire --guard 0 -t 1h $name && is 124 run --guard 0 -q --wait 0 $name -- true &&
    for other in $(processes | awk '$4 == "redlock-guard" { print $1 }'); do
        ! tr '\0' ' ' <"/proc/$other/cmdline" | grep " $name" || return 1
    done
}
check 'the guardian ends with redlock' no_process_is_left

# ---- Without /proc ----

# It runs in a mount namespace of its own, where an empty folder hides it. A sanitizer fails there at
# the end, since it can look for no leaks.
without_proc() {
    { unshare -m sh -c 'mount --make-rprivate / 2>/dev/null; mount -t tmpfs none /proc && exec "$@"' \
        sh "$redlock" run --guard 0 bare -- true 2>"$directory/err" || [ -n "${SANITIZE-}" ]; } &&
        says 'bare: without /proc what leaves the command.s process group \(setsid\) is not ended with it: mount /proc$' &&
        is 0 run --guard 0 bare -- true && ! says 'proc' >/dev/null
}
if unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /proc' 2>/dev/null; then check 'without /proc it says what it cannot end' without_proc
else skip 'without /proc it says what it cannot end' 'no namespaces can be made here'
fi

# ---- Descriptors ----

# Either the command runs, or nothing is begun at all; never is the lock taken for a command that cannot be started.
few_descriptors() {
    seen=
    for limit_of_files in 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        # shellcheck disable=SC3045    # Where ulimit has no -n the loop shows nothing.
        (ulimit -n $limit_of_files && exec "$redlock" run --guard 0 --wait 0 --no-wake-ups few -- true) >"$directory/out" 2>&1
        got=$?
        seen="$seen $limit_of_files:$got"
        if [ $got = 126 ] || ! is_nowhere few; then echo "$seen"; cat "$directory/out"; return 1; fi
    done
    echo "$seen"
    case $seen in *' 20:0'*) ;; *) return 1 ;; esac
}
check 'what the command needs is there before the lock is taken' few_descriptors

few_descriptors_in_json() {
    # shellcheck disable=SC3045    # Where ulimit has no -n there is nothing to see.
    (ulimit -n "$1" 2>/dev/null && exec "$redlock" run --guard 0 --json few -- true) >/dev/null 2>"$directory/err"
    [ $? = 125 ] && json err '$j->{text} =~ /^cannot begin the '"$2"'.*: too many open files/ && $j->{exit} == 125 && $j->{resource} eq "few"'
}
check 'that the writer cannot begin is told in JSON with --json' few_descriptors_in_json 4 process
check 'that the guardian cannot begin is told in JSON with --json' few_descriptors_in_json 5 guardian

finish
