#!/bin/sh
# The guardian ends a command with all of its grace and not a longer one. Tests its calls meanwhile, and their cost.
# shellcheck disable=SC2016    # Expressions are those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

if [ "$(uname)" != Linux ]; then
    skip 'how a command is ended' 'only Linux tells whose child a process is'
    finish
    exit
fi
start_servers 3
guardian_of() { children_of "$1" redlock-guard; }

# Clean-ups of a second and a half within a grace of four; after a redlock that is stopped, was killed,
# or whose guardian was.
printf '%s\n' '#!/bin/sh' 'trap "sleep 1.5; touch $0.clean; exit 0" TERM' 'touch $0.begun' 'while :; do sleep 0.1; done' >"$directory/tidy"
chmod +x "$directory/tidy"
tidies_up() {
    rm -f "$directory/tidy.clean" "$directory/tidy.begun"
    "$redlock" run --guard 0 -t 12s --grace 4s "tidy-$1" -- "$directory/tidy" >"$directory/out" 2>"$directory/err" &
    run=$!
    begin "$run"
    within 10 [ -e "$directory/tidy.begun" ] || return 1
    "$1" || return 1
    within 20 [ -e "$directory/tidy.clean" ] || return 1
    kill -CONT "$run" 2>/dev/null
    over "$run"
    echo "exit status $?"
}
redlock_killed() { kill -KILL "$run"; }
guardian_killed() { kill -KILL "$(guardian_of "$run")"; }
redlock_stopped() { stop "$run"; }
for fault in redlock_killed guardian_killed redlock_stopped; do
    check "a command has its grace, and tidies up: $fault" tidies_up $fault
done

# A process that ignores SIGTERM is killed at the end of the grace, not before, and long before the end
# of the validity, 28 s.
printf '%s\n' '#!/usr/bin/env perl' 'use Time::HiRes qw(time sleep); $SIG{TERM} = sub { print {*STDERR} "" };' \
    'open my $f, ">", "$0.log"; $f->autoflush(1);' '$SIG{TERM} = sub { printf $f "term %.2f\n", time };' 'printf $f "begun %d\n", $$;' \
    'while (1) { sleep 0.02; seek $f, 0, 1; open my $l, ">", "$0.new"; printf $l "%.2f\n", time; close $l; rename "$0.new", "$0.last" }' >"$directory/deaf"
chmod +x "$directory/deaf"
killed_in_time() {
    rm -f "$directory/deaf.log"
    "$redlock" run --guard 0 -t 30s --grace 3s "deaf-$1" -- "$directory/deaf" >"$directory/out" 2>"$directory/err" &
    run=$!
    begin "$run"
    within 10 grep -q begun "$directory/deaf.log" || return 1
    deaf=$(sed -n 's/begun //p' "$directory/deaf.log")
    "$1" && within 15 is_gone "$deaf" || return 1
    over "$run"
    perl -e 'my $grace = $ARGV[1] - $ARGV[0]; print "killed after $grace s\n"; exit !($grace > 2 && $grace < 9)' \
        "$(sed -n 's/term //p' "$directory/deaf.log" | head -n 1)" "$(tail -n 1 "$directory/deaf.last")"
}
for fault in redlock_killed guardian_killed; do
    check "what ignores SIGTERM is killed when the grace is over, not before: $fault" killed_in_time $fault
done

# User and system time, in ticks of a hundredth of a second.
ticks_of() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }
costs_nothing() {
    "$redlock" run --guard 0 -t 3s idle -- sleep 60 >"$directory/out" 2>"$directory/err" &
    run=$!
    begin "$run"
    within 10 is_held idle && sleep 1 || return 1
    guardian=$(guardian_of "$run") writer=$(children_of "$run" redlock-writer)
    before=$(($(ticks_of "$guardian") + $(ticks_of "$writer")))
    sleep 3
    cost=$(($(ticks_of "$guardian") + $(ticks_of "$writer") - before))
    kill -TERM "$run"
    over "$run"
    [ $cost -le 6 ] || { echo "$cost hundredths of a second in 3 s"; return 1; }
}
check 'guardian and writer cost next to no time while a command runs' costs_nothing

# ---- S28: what the guardian calls ----

# The guardian's calls between the fork and the end. None can wait but poll, and no file is opened but the kernel's own.
may_call='poll|ppoll|kill|wait4|waitid|read|write|send|sendto|sendmsg|clock_gettime|timerfd_settime|rt_sigprocmask|rt_sigaction|rt_sigreturn|restart_syscall'
may_call="$may_call|getpid|gettid|getpgid|setpgid|uname|brk|mmap|munmap|mremap|mprotect|madvise|close|exit_group|clone|clone3|fork|vfork|set_robust_list|getrandom|rseq"
may_call="$may_call|sigaltstack|fcntl|fcntl64|getdents64|fstat|newfstatat|gettimeofday"
calls() {
    rm -f "$directory"/calls*
    strace -ff -qq -e signal=none -o "$directory/calls" "$redlock" run --guard 0 -t 3s --grace 300ms -v --log text --log-file "$directory/log" called -- \
        sh -c 'trap "" TERM; (trap "" TERM; sleep 60) & touch "$0"; while :; do sleep 0.1; done' "$directory/called" >"$directory/out" 2>"$directory/err" &
    run=$!
    begin "$run"
    within 20 [ -e "$directory/called" ] || return 1
    sleep 2
    kill -KILL "$(children_of "$run" redlock)"
    over "$run"
    file=$(grep -l 'PR_SET_NAME, "redlock-guard"' "$directory"/calls.*)
    if [ -z "$file" ] || ! grep -Eq '^kill\(-[0-9]+, SIGKILL' "$file"; then echo "no guardian: $file"; return 1; fi
    awk '/^(clone|clone3|fork|vfork)\(/ { on = 1 } on' "$file" | grep -Ev "^($may_call)\(|^(open|openat)\(.*\"/proc/[0-9]+/task|^\+\+\+|^---" && return 1
    ! grep -E '^write\([0-2],' "$file"
}
if command -v strace >/dev/null 2>&1 && strace -qq -o /dev/null true 2>/dev/null; then
    check 'from the start of the command to its end the guardian waits in poll alone' calls
else
    skip 'what the guardian calls' 'no strace here, or it may trace nothing'
fi

finish
