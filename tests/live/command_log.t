#!/bin/sh
# The log of a lock's events contains transitions only, as text, as JSON and to syslog. A log that fails costs no lock.
# shellcheck disable=SC2016,SC2154    # The expressions are perl's; ports and pids are set by their numbers.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
logs=$directory/logs
mkdir "$logs"

# Datagrams as they come, a line each.
perl -MSocket -e '
    $| = 1;
    socket my $socket, PF_UNIX, SOCK_DGRAM, 0 or die; bind $socket, pack_sockaddr_un($ARGV[0]) or die;
    print "$_\n" while defined recv $socket, $_, 65536, 0' "$directory/socket" >"$directory/syslog" 2>/dev/null &
begin $!
within 10 [ -S "$directory/socket" ]

# in_file NAME EVENT...: these are the events of the log, in this order; a word may be a pattern.
in_file() {
    file=$1
    shift
    sed -n 's/.*[ ,{"]event"*[:=]"\([a-z]*\)".*/\1/p' "$file" | tr '\n' ' ' >"$directory/events"
    grep -Eqx "$* " "$directory/events" || { echo "$file is not $*:"; cat "$file"; return 1; }
}
has_event() { grep -Eq "event\"?[:=]\"$2\"" "$1"; }
each_has() { has_event "$logs/text" "$1" && has_event "$logs/json" "$1" && has_event "$directory/syslog" "$1"; }

# runs NAME OPTION...: in the background, for as long as nobody ends it.
runs() {
    name=$1
    shift
    "$redlock" run --guard 0 --node-timeout $patience -t 3s --holder "tester $name" "$@" "$name" -- sleep 60 >/dev/null 2>"$directory/err-$name" &
    begin $!
}
runs text --log-file "$logs/text"
text_pid=$!
runs json --log json --log-file "$logs/json" --json
json_pid=$!
runs syslog --log syslog --log-file "$directory/socket"
syslog_pid=$!

acquired() { within 10 each_has acquired; }
check 'that it is acquired is told, as text, as JSON and to syslog' acquired

degraded() { within 20 each_has degraded; }
on 2 KILL
over "$pid_2"
check 'that a node is away is told' degraded

mv "$logs/text" "$logs/text.1"
restored() { within 20 each_has restored && each_has restarted; }
"$server" --bind 127.0.0.1 --port "$port_2" --dir "$directory" --save '' --appendonly no >/dev/null 2>&1 &
pid_2=$!
begin $pid_2
check 'that it is back, and has restarted, is told' restored

lost() { within 20 each_has lost; }
for each in 0 1 2; do on $each STOP; done
check 'that it is lost is told' lost
for each in 0 1 2; do on $each CONT; done

ends=
for each in "$text_pid" "$json_pid" "$syslog_pid"; do
    over "$each"
    ends="$ends $?"
done
ended() { echo "$ends"; [ "$ends" = ' 123 123 123' ]; }
check 'the exit status stays what it is' ended

# A node that stopped may be reported once more.
transitions() {
    in_file "$logs/text.1" acquired 'degraded( degraded)*' && in_file "$logs/text" '(restarted )?restored( degraded)* lost' || return 1
    for each in "$logs/json" "$directory/syslog"; do
        in_file "$each" acquired '(degraded )+(restarted )?restored (degraded )*lost' || in_file "$each" acquired '(degraded )*restarted restored (degraded )*lost' || return 1
    done
}
check 'nothing else is; and a file that was moved away is made anew' transitions

fields_of_json() {
    perl tests/live/documented.pl "$directory/seen" <"$logs/json" || return 1
    perl -MJSON::PP -MSys::Hostname -e '
        while (<STDIN>) {
            my $j = decode_json($_);
            die "$_" unless $j->{time} =~ /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ && $j->{pid} == $ARGV[0] && $j->{host} eq hostname() &&
                $j->{resource} eq "json" && $j->{holder} eq "tester json" && $j->{ticket} > 1e15 && $j->{command} eq "run" && @{$j->{nodes}} == 3;
            die "$_" if $j->{event} eq "degraded" && !($j->{node} =~ /^[012]$/ && $j->{address} && $j->{trouble});
            die "$_" if $j->{event} eq "lost" && $j->{text} !~ /^lost: no quorum/;
            my @t = gmtime;
            die "$_" unless $j->{time} =~ /^@{[sprintf "%d-%02d", $t[5] + 1900, $t[4] + 1]}/ || $t[3] == 1;
        }' "$json_pid" <"$logs/json"
}
check 'JSON has time, host, pid, resource, holder, ticket and votes, as the manual says' fields_of_json

# The names are the same. Each one in the text is in the JSON of the same event.
fields_of_text() {
    cat "$logs/text.1" "$logs/text" | perl -MJSON::PP -e '
        open my $file, "<", $ARGV[0];
        my %j = map { my $j = decode_json($_); map { ("$j->{event} $_" => 1) } keys %$j } <$file>;
        while (<STDIN>) {
            die "$_" unless s/^time="20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z" host="[^"]+" pid=$ARGV[1] event="(\w+)" command="run" resource="text" holder="tester text" ticket=\d+ //;
            my $event = $1;
            s/^(\w+)=(\d+|"([^"\\]|\\.)*")( |$)// or die "$_" while /./ && do { $j{"$event $1"} || die "$1 of $event\n" if /^(\w+)=/; 1 };
        }' "$logs/json" "$text_pid"
}
check 'the text has the same fields' fields_of_text

fields_of_syslog() {
    month=$(LC_ALL=C date -u +%b)
    grep -Eqx "<14>$month [ 0-9][0-9] [0-9:]{8} redlock\[$syslog_pid\]: event=\"acquired\" command=\"run\" resource=\"syslog\" holder=\"tester syslog\" ticket=[0-9]+ .* nodes=3" "$directory/syslog" &&
    grep -Eq '^<12>.* event="degraded"' "$directory/syslog" && grep -Eq '^<11>.* event="lost"' "$directory/syslog"
}
check 'syslog has what it wants: priority, time, name and pid' fields_of_syslog

# ---- The other commands ----

others() {
    is 0 acquire --guard 0 --log text handed && says 'event="acquired" command="acquire" resource="handed" ticket=' && handed=$(token) &&
    is 0 keep --guard 0 --log-file "$logs/kept" --pid 2147480000 handed "$handed" && in_file "$logs/kept" kept released &&
    is 123 release --guard 0 --log-file "$logs/gone" handed "$handed" && in_file "$logs/gone" lost &&
    is 0 acquire --guard 0 -q handed && handed=$(token) &&
    is 0 release -q --guard 0 --log text handed "$handed" && says 'event="released" command="release"' &&
    is 0 run --guard 0 --log json --hold-at-least 3s left true && [ ! -s "$directory/out" ] && in_file "$directory/err" acquired left &&
    is 0 lead --guard 0 --log text led true && in_file "$directory/err" acquired released && says 'command="lead".* ticket=.*released|released.* ticket=' &&
    is 124 run --guard 0 --wait 0 --log-file "$logs/none" left true && [ ! -e "$logs/none" ] &&
    is 0 run --guard 0 --log text --trace=votes traced true && says 'event="released"' &&
    is 125 acquire --log xml door && says "'xml' is none of text, json, syslog" && is 125 extend --log text door x && says 'unknown option'
}
check 'acquire, keep, release and lead leave a trail, too, and an attempt none' others

# ---- Logs that fail ----

told_once() {
    is 0 run "$@" --guard 0 door true && [ "$(grep -c 'cannot be written' "$directory/err")" = 1 ]
}
failing() {
    mkfifo "$directory/fifo" && told_once --log-file "$directory/fifo" && told_once --log-file /nonexistent/log &&
    says 'the log /nonexistent/log cannot be written: No such file' && told_once --log syslog --log-file "$directory/nobody" || return 1
    [ ! -c /dev/full ] || told_once --log-file /dev/full || return 1
    is 0 run --json --guard 0 --log-file /nonexistent/log door true && perl tests/live/documented.pl <"$directory/err"
}
check 'a log that cannot be written is told once, and costs no lock' failing

# Nobody takes what syslog's socket has.
full_socket() {
    rm -f "$directory/full"
    perl -MSocket -e '
        socket my $in, AF_UNIX, SOCK_DGRAM, 0; bind $in, sockaddr_un $ARGV[0];
        socket my $out, AF_UNIX, SOCK_DGRAM, 0; connect $out, sockaddr_un $ARGV[0];
        1 while defined send $out, "x" x 100, MSG_DONTWAIT; shift; exit(system(@ARGV) >> 8)' "$directory/full" \
        "$redlock" run --guard 0 --log syslog --log-file "$directory/full" full true 2>"$directory/err" &&
    says 'the log .*/full cannot be written: (Resource temporarily unavailable|No buffer space)'
}
if [ "$(uname)" = Linux ]; then check 'so is a socket of syslog that is full' full_socket
else skip 'so is a socket of syslog that is full' 'sockets of datagrams drop there'; fi

# stderr is a pipe that is full, and nobody reads.
unread() {
    perl -MFcntl -e '
        pipe my $out, my $in; fcntl $in, F_SETFL, O_NONBLOCK; 1 while syswrite $in, "x" x 4096; 1 while syswrite $in, "x"; fcntl $in, F_SETFL, 0;
        open STDERR, ">&", $in; alarm 50; exec @ARGV' "$redlock" run --guard 0 --node-timeout $patience --log json unread true
}
check 'one that nobody reads keeps nobody waiting' unread

# The guardian reports it then; its last words end with the command.
killed() {
    for form in text json; do
        runs killed-$form --log $form --log-file "$logs/killed-$form"
        within 20 has_event "$logs/killed-$form" acquired && kill -KILL $! || return 1
        over $!
        within 20 has_event "$logs/killed-$form" left && in_file "$logs/killed-$form" acquired left || return 1
    done
    grep -Eq ' event="left" command="run" resource="killed-text" holder="tester killed-text" ticket=[0-9]{16} valid_ms=[0-9]+ text="redlock was killed; ' \
        "$logs/killed-text" && perl tests/live/documented.pl <"$logs/killed-json"
}
check 'if redlock is killed the guardian tells that the lock is left' killed

# stderr is a pipe with room for a page, and then some; each line is longer, with a name whose bytes are
# all written as \u00NN. The pipe is read when the command has begun, so the line of the acquire is not
# in it, and the line of the release is.
longer_than_a_page() {
    start_server
    long=$(printf %090d 0)
    perl -MFcntl -MJSON::PP -e '
        my $directory = shift;
        pipe my $out, my $in; fcntl $in, F_SETFL, O_NONBLOCK; 1 while syswrite $in, "x" x 4096; fcntl $in, F_SETFL, 0;
        sysread $out, my $read, 6000;
        my $pid = fork // die;
        if (!$pid) { open STDERR, ">&", $in; close $in; alarm 50; exec @ARGV }
        close $in; $SIG{ALRM} = sub { kill KILL => $pid; die "it waits\n" }; alarm 40;
        select undef, undef, undef, 0.05 until -e "$directory/has-begun";
        sysread $out, $read, 4096 for 1 .. 15;
        open my $file, ">", "$directory/is-read"; close $file;
        my @lines = <$out>;
        waitpid $pid, 0;
        die "status $?" if $?;
        open my $manual, "|-", $^X, "tests/live/documented.pl" or die; print $manual @lines; close $manual or die;
        die @lines if @lines != 1 || length $lines[0] <= 4096;
        my $j = decode_json($lines[0]);
        exit !($j->{event} eq "released" && $j->{dropped} == 1 && @{$j->{nodes}} == 7)' "$directory" "$redlock" run --guard 0 --node-timeout $patience \
        -n "$nodes,unix:/1$long,unix:/2$long,unix:/3$long" --holder "$(printf %063d 0)" --log json "$(printf %0512d 0 | tr 0 '\377')" -- \
        sh -c 'touch "$0/has-begun"; until [ -e "$0/is-read" ]; do sleep 0.05; done' "$directory"
}
check 'a line that does not fit is dropped as a whole, and the next one tells of it' longer_than_a_page

finish
