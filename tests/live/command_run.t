#!/bin/sh
# redlock run: tests the command it runs, its exit statuses, signals, the terminal, and that no two run at once.
# shellcheck disable=SC2016    # The expressions are perl's, and those of the shells that are run.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
tools/need script || exit 1

start_servers 5

# ---- Exit statuses ----

exits() {
    is 0 run --guard 0 door true && is 7 run --guard 0 door -- sh -c 'exit 7' &&
    is 255 run --guard 0 door -- sh -c 'exit 255' &&
    is 143 run --guard 0 door -- sh -c 'kill -TERM $$' && is 137 run --guard 0 door -- sh -c 'kill -KILL $$'
}
check "the exit status is the command's, or 128 and its signal" exits

is_not_run() {
    is 127 run --guard 0 door -- no-such-command && says 'cannot run no-such-command: ' &&
    is 127 run --guard 0 door -- "$directory/none" && is 126 run --guard 0 door -- "$directory/begun" &&
    is 126 run --guard 0 door -- / && gone door
}
check 'a command that is not found is 127, one that cannot be executed 126; the lock is released' is_not_run

is_not_acquired() {
    is 0 acquire --guard 0 -t 1h taken && is 124 run --guard 0 --wait 0 taken -- touch "$directory/ran" &&
    says 'held by somebody else' &&
    is 124 run --guard 0 --wait 200ms taken -- touch "$directory/ran" && says 'not acquired within the time to wait' &&
    is 122 run --wait 0 --guard 10m door -- touch "$directory/ran" && says 'no quorum' && [ ! -e "$directory/ran" ]
}
check 'a lock that somebody else has is 124, nodes that cannot vote are 122, and nothing is run' is_not_acquired

says_nothing() { [ ! -s "$directory/err" ] || { cat "$directory/err"; return 1; }; }
is_quiet() {
    is 124 run --guard 0 --quiet --wait 0 taken -- true && says_nothing &&
    is 124 run --guard 0 -q --wait 200ms taken -- true && says_nothing && is 124 acquire --guard 0 -q taken && says_nothing &&
    is 124 run --guard 0 -q -v --wait 0 taken -- true && says 'held by somebody else' &&
    is 122 run -q --wait 0 --guard 10m taken -- true && says 'no quorum' &&
    is 127 run -q --guard 0 door -- no-such-command && says 'cannot run'
}
check '--quiet is silent about a lock that somebody else holds, and about nothing else' is_quiet

# ---- What the command gets ----

environment() {
    is 0 run --guard 0 door-env -- sh -c 'echo "$REDLOCK_RESOURCE $REDLOCK_TOKEN $REDLOCK_VALID_MS"' &&
    prints '^door-env [0-9a-f]{40} [^ ]+:[0-9]+ sh [1-9][0-9]{3}$' &&
    is 0 run --guard 0 door-env -- sh -c '"$0" status --guard 0 door-env | grep -F "${REDLOCK_TOKEN%% *}"' "$redlock"
}
check 'the command is told resource, token and validity, and they are true' environment

streams() {
    echo hello | "$redlock" run --guard 0 door -- sh -c 'cat; echo said >&2; exit 3' >"$directory/out" 2>"$directory/err"
    [ $? = 3 ] && prints '^hello$' && says '^said$' && [ "$(wc -l <"$directory/err")" -eq 1 ]
}
check 'its input and output are its own; redlock says nothing when all is well' streams

descriptors() {
    list='print join(" ", grep { -e "/proc/$$/fd/$_" } 0 .. 99), "\n"'
    is 0 run --guard 0 door -- perl -e "$list" && [ "$(cat "$directory/out")" = "$(perl -e "$list")" ]
}
if [ -d /proc/self/fd ]; then check 'it inherits no descriptor of the lock' descriptors
else skip 'it inherits no descriptor of the lock' 'there is no /proc'
fi

signals_are_as_before() {
    is 0 run --guard 0 door -- perl -MPOSIX -e 'for (qw(PIPE HUP INT QUIT TERM USR1 USR2 CHLD CONT TSTP TTOU WINCH)) {
        my $old = POSIX::SigAction->new; sigaction(eval("POSIX::SIG$_()") // next, undef, $old);
        die "$_" if $old->handler ne "DEFAULT" }
        my $mask = POSIX::SigSet->new; sigprocmask(SIG_BLOCK, undef, $mask); die "mask" if grep { $mask->ismember($_) } 1 .. 30'
}
check 'no signal is ignored, caught or blocked in it' signals_are_as_before

# ---- While it runs ----

extends_itself() {
    is 0 run --guard 0 -t 3s -v door -- sh -c 'sleep 7.5; exec "$0" status --guard 0 door' "$redlock"
    [ "$(grep -c extended "$directory/err")" -ge 5 ] && says 'released on [345] of 5'
}
is_held_throughout() {
    start run --guard 0 -t 3s door-long -- sleep 5
    sleep 4
    is 124 acquire --guard 0 door-long
    good=$?
    over "$started" && [ $good = 0 ] && gone door-long
}
check 'the lock is extended every third of its TTL' extends_itself
check 'the lock is held as long as the command runs, and released then' is_held_throughout

# Twelve at once; each holds a directory that must not be there before. The lock is waited for as long as it takes.
alone() {
    for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
        "$redlock" run --guard 0 --node-timeout 10s --retry 10ms alone -- sh -c 'mkdir "$0" && sleep 0.05 && rmdir "$0" && echo well' \
            "$directory/alone" >"$directory/alone-$k" 2>&1 &
        begin $!
        eval "runner_$k=$!"
    done
    for k in 1 2 3 4 5 6 7 8 9 10 11 12; do
        eval "over \$runner_$k" || return 1
        [ "$(cat "$directory/alone-$k")" = well ] || { cat "$directory/alone-$k"; return 1; }
    done
}
check 'of twelve that run at once no two have the lock together' alone

# ---- Signals ----

passes_on() {
    start run --guard 0 door-sig -- sh -c 'for s in HUP INT QUIT TERM USR1 USR2; do trap "echo $s; exit 9" $s; done
        echo ready; while :; do sleep 0.05; done'
    within 10 prints ready || return 1
    kill "-$1" "$started"
    over "$started"
    [ $? = 9 ] && prints "^$1\$"
}
for signal in HUP INT QUIT TERM USR1 USR2; do
    check "SIG$signal is passed on, and the command decides what comes of it" passes_on $signal
done

whole_group() {
    start run --guard 0 door-group -- sh -c 'sleep 100 & echo $!; wait'
    within 10 prints '[0-9]' || return 1
    sleeper=$(cat "$directory/out")
    kill -TERM "$started"
    over "$started"
    [ $? = 143 ] && within 5 is_gone "$sleeper"
}
check 'signals reach the whole process group of the command' whole_group

ignored_stays_ignored() {
    is 5 run --guard 0 door -- perl -e '$SIG{HUP} = "IGNORE"; exec @ARGV' "$redlock" run --guard 0 door-nohup -- \
        sh -c 'kill -HUP $$; kill -HUP $PPID; sleep 0.2; exit 5'
}
check 'a signal that was ignored before stays so, as nohup wants it' ignored_stays_ignored

dies_with_it() {
    start run --guard 0 -t 1s door-orphan -- sh -c 'echo $$; exec sleep 100'
    within 10 prints '[0-9]' || return 1
    kill -KILL "$started"
    over "$started"
    within 5 is_gone "$(cat "$directory/out")" && is 0 acquire --guard 0 --wait 5s door-orphan
}
if [ "$(uname)" = Linux ]; then check 'when redlock is killed the command ends, and the lock with its TTL' dies_with_it
else skip 'when redlock is killed the command ends, and the lock with its TTL' 'only Linux tells a child of it'
fi

# ---- Stopped and continued ----

# look JOB COMMAND FILE: their states, when both are stopped, or after 20 s. (A loop of the shell whose job is stopped would end then.)
cat >"$directory/look" <<'END'
for _ in $(seq 400); do
    cut -d' ' -f3 "/proc/$1/stat" "/proc/$2/stat" >"$3"
    [ "$(sort -u "$3")" != T ] || break
    sleep 0.05
done
END

# A shell with job control runs it as a job, stops the job, and lets it go on.
job_control() {
    : >"$directory/out"
    bash -c 'set -m; "$0" run --guard 0 -t 1m door-job -- sh -c "echo \$\$; sleep 1; echo went on" >"$1/out" 2>"$1/err" &
        job=$!
        until [ -s "$1/out" ]; do sleep 0.05; done
        kill -TSTP -$job
        sh "$1/look" $job "$(head -n 1 "$1/out")" "$1/states"
        kill -CONT -$job
        wait $job' \
        "$redlock" "$directory" || return 1
    prints 'went on' && says 'stopped; the lock is not extended' && [ "$(sort -u "$directory/states")" = T ]
}
# The same for longer than the lock was held. Nobody has deleted it.
late_foreground() {
    : >"$directory/out"
    bash -c 'set -m; "$0" run --guard 0 -t 1s "$2" -- sh -c "echo \$\$; sleep 100" >"$1/out" 2>"$1/err" &
        job=$!
        until [ -s "$1/out" ]; do sleep 0.05; done
        kill -TSTP -$job
        sleep 2
        kill -CONT -$job
        wait $job' \
        "$redlock" "$directory" "$1"
    [ $? = 123 ] && says "$1: lost: its validity has ended [(]was redlock stopped" && ! says deleted
}
late_foregrounds() {
    for try in 1 2 3; do late_foreground door-late-$try || return 1; done
}
if [ -d /proc/self/fd ]; then check 'SIGTSTP stops the command and redlock, SIGCONT lets both go on' job_control
    check 'when it goes on too late it says that it was stopped' late_foregrounds
else skip 'SIGTSTP stops the command and redlock, SIGCONT lets both go on' 'there is no /proc'
fi

# The stop is longer than the TTL, and nobody extends the lock of a redlock that is stopped as well.
stopped_on_purpose() {
    start run --guard 0 -t 2s door-stop -- sh -c 'echo $$; exec sleep 100'
    within 10 prints '^[0-9]+$' && its_command=$(cat "$directory/out") && stop "$its_command" && sleep 4 && is 124 status --guard 0 door-stop
    good=$?
    kill -TERM "$started" && go_on "$its_command"
    over "$started"
    [ $? = 143 ] && [ $good = 0 ]
}
check 'a command that SIGSTOP has stopped keeps the lock' stopped_on_purpose

# ---- The terminal ----

# on_terminal INPUT WORDS...: types the input when they have made the file $directory/ready. The output
# is in $directory/out.
on_terminal() {
    typed=$1
    shift
    rm -f "$directory/ready" "$directory/done"
    # shellcheck disable=SC2059    # The input may have escapes.
    { within 20 test -e "$directory/ready" >&2; sleep 0.2; printf "$typed"; within 20 test -e "$directory/done" >&2; } |
        { script -qec "$*" /dev/null >"$directory/out" 2>&1; : >"$directory/done"; }
}
ready="touch $directory/ready"
reads_terminal() {
    on_terminal 'hello\n' "$redlock run --guard 0 door -- sh -c '$ready; read x; echo it got \$x'" && prints 'it got hello'
}
check_on_terminal 'a command that reads from the terminal gets it' reads_terminal

# The inner one has the terminal no more than a command has. It asks the outer one for it as a command would.
reads_terminal_within() {
    on_terminal 'hello\n' "$redlock run --guard 0 door -- $redlock run --guard 0 door-within -- sh -c '$ready; read x; echo it got \$x'" &&
    prints 'it got hello' && ! grep 'stopped; the lock is not' "$directory/out"
}
check_on_terminal 'so does one that is run by a redlock which another runs' reads_terminal_within

reads_terminal_in_a_script() {
    on_terminal 'hello\n' "$redlock run --guard 0 door -- sh -c '$redlock run --guard 0 door-within -- sh -c \"$ready; read x; echo it got \\\$x\"; echo went on'" &&
    prints 'it got hello' && prints 'went on'
}
check_on_terminal 'and where a script is between the two' reads_terminal_in_a_script

# Ends as SIGINT demands, and leaves a trace of it.
told='$SIG{INT} = sub { open F, ">>", $ARGV[0]; print F "command\n"; close F; $SIG{INT} = "DEFAULT"; kill INT => $$ }; open R, ">", "'$directory/ready'"; close R;'
is_interrupted() {
    rm -f "$directory/int"
    on_terminal '\003' "trap 'echo script >>$directory/int' INT; $redlock run --guard 0 door -- $directory/$1 $directory/int"
    [ "$(sort "$directory/int" | tr '\n' ' ')" = 'command script ' ] && gone door
}
printf '#!/usr/bin/env perl\n%s sleep 100' "$told" >"$directory/sleeper"
printf '#!/usr/bin/env perl\n%s <STDIN>' "$told" >"$directory/reader"
chmod +x "$directory/sleeper" "$directory/reader"
check_on_terminal 'Ctrl-C ends the command, and reaches the script around it' is_interrupted sleeper
check_on_terminal 'Ctrl-C does so where the command has the terminal, too' is_interrupted reader

pipeline() {
    on_terminal 'x\n' "$redlock run --guard 0 door -- echo from-lock | sh -c 'cat; $ready; read y </dev/tty; echo tty gave \$y'" &&
    prints 'from-lock' && prints 'tty gave x'
}
check_on_terminal 'a command that does not read leaves the terminal to its pipeline' pipeline

# ---- JSON ----

no_words() { [ "$(wc -l <"$directory/err")" -eq 1 ]; }
json_of_run() {
    is 3 run --guard 0 --json door -- sh -c 'exit 3' &&
    json err '$j->{exit} == 3 && $j->{reason} eq "command ended" && $j->{status} eq "OK"' &&
    is 127 run --guard 0 --json door -- no-such-command &&
    json err '$j->{exit} == 127 && $j->{reason} eq "command not run" && $j->{error} =~ /no such/i' && no_words &&
    is 125 run -n 127.0.0.1:99999 --json door -- true && no_words &&
    json err '$j->{exit} == 125 && $j->{reason} eq "not acquired" && $j->{status} eq "BAD_ADDRESS" && $j->{text} =~ /^node 0 of the list/' &&
    is 124 run --guard 0 --wait 0 --json taken -- true &&
    json err '$j->{exit} == 124 && $j->{reason} eq "not acquired"' &&
    json err '$j->{status} eq "TAKEN" && $j->{resource} eq "taken" && 5 == @{$j->{nodes}}'
}
check '--json tells the result in a line on stderr' json_of_run

finish
