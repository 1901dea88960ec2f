#!/bin/sh
# redlock exporter: tells Prometheus about the nodes, in a file and over HTTP, whatever nodes and clients do.
# shellcheck disable=SC2016,SC2154    # The expressions are perl's. What lib.sh defines.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
file=$directory/redlock.prom

# figure SERIES VALUE: the line is in $file. A dot in it stands for any character.
figure() {
    grep -qx -e "redlock_$1 $2" "$file" || { echo "no line: redlock_$1 $2"; grep -e "redlock_${1%%\{*}" "$file"; return 1; }
}
no_figure() {
    ! grep -e "redlock_$1" "$file"
}
# Nothing but the file is left.
is_alone() {
    [ "$(find "$directory" -name 'redlock.prom*' | wc -l)" -eq 1 ]
}
node() {
    eval "echo \"127.0.0.1:\$port_$1\""
}

# ---- Once, into a file ----

writes_a_file() {
    : >"$file" && chmod 600 "$file" && is 0 exporter --guard 0 --once --file "$file" && [ ! -s "$directory/out" ] && [ ! -s "$directory/err" ] &&
    is_alone && [ "$(perl -e 'printf "%o", (stat shift)[2] & 07777' "$file")" = 644 ] &&
    for k in 0 1 2; do
        figure "node_up{node=\"$(node $k)\"}" 1 && figure "node_votes{node=\"$(node $k)\"}" 1 &&
        figure "node_clock_offset_seconds{node=\"$(node $k)\"}" '-\{0,1\}[0-9]*[.][0-9]*' && figure "node_uptime_seconds{node=\"$(node $k)\"}" '[0-9]*' &&
        figure "node_memory_used_bytes{node=\"$(node $k)\"}" '[1-9][0-9]*' && figure "node_memory_max_bytes{node=\"$(node $k)\"}" 0 &&
        figure "node_evicted_keys_total{node=\"$(node $k)\"}" 0 && figure "node_restarts_total{node=\"$(node $k)\"}" 0 &&
        figure "node_latency_seconds{node=\"$(node $k)\"}" '[0-9]*[.][0-9]*' || return 1
    done &&
    figure 'doctor_findings{severity="unsafe"}' '[0-9]*' && figure 'doctor_findings{severity="ok"}' '[1-9][0-9]*' &&
    figure 'scan_keys{class="no_ttl"}' 0 && figure scan_nodes 3 && figure 'build_info{version="[^"]*"}' 1 && figure exporter_duration_seconds '[0-9]*[.][0-9]*' && no_figure 'node_trouble{' &&
    [ "$(sed -n 's/^redlock_updated_timestamp_seconds \([0-9]*\)[.].*/\1/p' "$file")" -gt $(($(date +%s) - 100)) ]
}
check 'the file has figures of each node, can be read by all, and was replaced as a whole' writes_a_file

prints() {
    is 0 exporter --guard 0 --once --cluster 'the "first"' </dev/null; is 125 exporter --guard 0 --once --cluster '"' &&
    is 0 exporter --guard 0 --once --cluster 'the first' && cp "$directory/out" "$file" &&
    figure "node_up{node=\"$(node 0)\",cluster=\"the first\"}" 1 && figure 'exporter_duration_seconds{cluster="the first"}' '.*'
}
check 'without a file it prints; all figures have the name of the cluster' prints

is_well_formed() {
    perl -ne '
        if (/^# (HELP|TYPE) (\w+) (.+)/) { die "twice: $_" if $seen{"$1 $2"}++; $type = $3; $name = $2; next }
        /^(\w+)(\{(?:\w+="(?:[^"\\\n]|\\.)*",?)*\})? (-?[0-9]+(?:\.[0-9]+)?)$/ or die "what is: $_";
        die "not below its head: $_" if $1 ne $name;
        die "twice: $_" if $seen{$1 . ($2 // "")}++;
        die "a counter of another name: $_" if ($type eq "counter") != ($1 =~ /_total$/);' "$file"
}
check 'each line is of the format, each series is there once, below its head' is_well_formed

# The one of the two that connected first has the vote.
one_is_named_twice() {
    a=$(node 0) b="$(node 0) (1)"
    is 0 exporter --guard 0 --once --file "$file" -n "$a,$a,$(node 1)" && is_well_formed &&
    if grep -qx "redlock_node_votes{node=\"$a\"} 0" "$file"; then a=$b b=$(node 0); fi &&
    figure "node_votes{node=\"$a\"}" 1 && figure "node_votes{node=\"$b\"}" 0 && figure "node_trouble{node=\"$b\",trouble=\"same_server\"}" 1
}
check 'a server that is named twice has figures of its own each time' one_is_named_twice

refuses() {
    is 125 exporter --guard 0 && says 'where to\? give --file FILE, --listen PORT' && is 125 exporter --once --listen 0 && says 'do not go together' &&
    is 125 exporter --once --file "$directory/none/a" && says 'cannot write .*/none/a: No such file' && is 125 exporter --once --file '' &&
    is 125 exporter --file "$file" --interval 0 && says 'at least' && is 125 exporter --once word && says "'word' is one word too many" &&
    for address in x 70000 1.2.3:0 :0 ::1:0 '[::1]' '[:0' 1.2.3.4: localhost:0 "$(printf %0100d 0):1"; do
        is 125 exporter --listen "$address" && says "cannot listen on .*it is no address: write PORT, 127.0.0.1:PORT" || return 1
    done &&
    is 125 exporter --listen "$port_0" && says 'cannot listen on [0-9]+: Address (already )?in use'
}
check 'what cannot be is said' refuses

keeps_what_is_there() {
    echo before >"$file" && mkfifo "$directory/pipe" && ln -s "$file" "$directory/link" &&
    (ulimit -f 1 && exec "$redlock" exporter --guard 0 --once --file "$file" 2>"$directory/err")
    [ $? = 125 ] && says 'cannot write .*: File too large' && is_alone && [ "$(cat "$file")" = before ] &&
    is 125 exporter --once --file "$directory/pipe" && says "^redlock: --file: '.*/pipe' is there, and is no regular file$" && [ -p "$directory/pipe" ] &&
    is 125 exporter --once --file "$directory/link" && [ -L "$directory/link" ] && is 125 exporter --once --file "$directory"
}
check 'a file that does not fit, and what is no regular file, stay as they are' keeps_what_is_there

# Values that a user that may lock alone cannot see are left out, and unknown; a server that does not
# say what it is has no vote.
acl_hides() {
    everywhere ACL SETUSER poor on '>secret' '~*' '&*' +set +get +getrange +pttl +del +eval +evalsha +time '+client|setname' >/dev/null
    everywhere ACL SETUSER fair on '>secret' '~*' '&*' +info +set +get +getrange +pttl +del +eval +evalsha +time '+client|setname' >/dev/null
    REDLOCK_PASSWORD=secret is 0 exporter --guard 0 --user fair --once --file "$file" && is_well_formed && figure "node_votes{node=\"$(node 0)\"}" 1 &&
    figure "doctor_finding{node=\"$(node 0)\",check=\"fsync\",severity=\"unknown\"}" 1 &&
    REDLOCK_PASSWORD=secret is 0 exporter --guard 0 --user poor --once --file "$file" && is_well_formed &&
    figure "node_up{node=\"$(node 0)\"}" 1 && figure "node_votes{node=\"$(node 0)\"}" 0 && no_figure 'node_memory_used_bytes{' &&
    figure "node_trouble{node=\"$(node 0)\",trouble=\"no_identity\"}" 1 && figure "node_clock_offset_seconds{node=\"$(node 0)\"}" '.*' &&
    REDLOCK_PASSWORD=secret is 0 exporter --guard 0 --user poor --trust-unknown --once --file "$file" && figure "node_votes{node=\"$(node 0)\"}" 1 &&
    REDLOCK_PASSWORD=wrong is 0 exporter --guard 0 --user poor --once --file "$file" && figure "node_trouble{node=\"$(node 0)\",trouble=\"wrongpass\"}" 1
}
check 'what an ACL hides is left out, and is never well' acl_hides

refuse_writes() {
    everywhere CONFIG SET min-replicas-to-write 1 >/dev/null && is 0 exporter --guard 0 --once --file "$file" && is_well_formed &&
    for k in 0 1 2; do
        figure "node_up{node=\"$(node $k)\"}" 1 && figure "node_votes{node=\"$(node $k)\"}" 0 &&
        figure "node_trouble{node=\"$(node $k)\",trouble=\"noreplicas\"}" 1 &&
        figure "doctor_finding{node=\"$(node $k)\",check=\"vote\",severity=\"unsafe\"}" 1 || return 1
    done &&
    everywhere CONFIG SET min-replicas-to-write 0 >/dev/null && is 0 exporter --guard 0 --once --file "$file" &&
    figure "node_votes{node=\"$(node 1)\"}" 1 && no_figure 'node_trouble{' && no_figure 'doctor_finding{.*check="ACL"'
}
check 'nodes that cannot be written to have no vote, and it is told why' refuse_writes

restarted() {
    is 0 exporter --guard 1h --once --file "$file" && figure "node_votes{node=\"$(node 1)\"}" 0 &&
    figure "node_trouble{node=\"$(node 1)\",trouble=\"restarted\"}" 1
}
check 'the guard counts, as for locks' restarted

# ---- Over HTTP ----

# http TEXT: sends it, and prints all that comes, without the blanks at the ends of lines.
http() {
    perl -MIO::Socket::IP -e '
        alarm 30;
        my $s = IO::Socket::IP->new(PeerAddr => shift) or die "no server\n";
        syswrite $s, shift =~ s/\\r/\r/gr =~ s/\\n/\n/gr or die;
        while (sysread $s, my $text, 65536) { print $text =~ s/\r//gr }' "$listens" "$1" >"$directory/got"
}
get() {
    http "GET $1 HTTP/1.1\r\nHost: x\r\n\r\n"
}
got() {
    grep -qx -e "$1" "$directory/got" || { echo "no line: $1"; head -n 20 "$directory/got"; return 1; }
}

# begin_exporter OPTION...: with --listen 0; sets $listens.
begin_exporter() {
    start exporter --guard 0 --listen 0 "$@"
    within 10 says 'listens on http://[^ ]*/metrics$' || { echo 'Bail out! it does not listen'; exit 1; }
    listens=$(sed -n 's|.*listens on http://\(.*\)/metrics$|\1|p' "$directory/err")
}
# has_figures LINE: of them.
has_figures() {
    get /metrics && got 'HTTP/1.1 200 OK' && got "$1"
}

begin_exporter --interval 200ms --file "$file"

answers() {
    within 10 has_figures "redlock_node_up{node=\"$(node 2)\"} 1" && got 'Content-Type: text/plain; version=0.0.4; charset=utf-8' &&
    got 'Connection: close' && got "Content-Length: $(sed '1,/^$/d' "$directory/got" | wc -c | tr -d ' ')" &&
    get '/metrics?a=b' && got 'HTTP/1.1 200 OK' && http 'GET /metrics HTTP/1.0\n\n' && got 'HTTP/1.1 200 OK' &&
    http 'HEAD /metrics HTTP/1.1\r\n\r\n' && got 'HTTP/1.1 200 OK' && ! grep -q redlock_ "$directory/got" && case $listens in 127.0.0.1:*) ;; *) false ;; esac
}
check '/metrics is answered, on the loopback' answers

# A look back at each node's clock is a finding more than --once has, which has no past.
looks_back() {
    is 0 exporter --guard 0 --once || return 1
    well=$(sed -n 's/^redlock_doctor_findings{severity="ok"} //p' "$directory/out")
    within 10 has_figures "redlock_doctor_findings{severity=\"ok\"} $((well + count))"
}
check 'it looks whether clocks are stepped' looks_back

answers_nothing_else() {
    get / && got 'HTTP/1.1 404 Not Found' && get /metrics/ && got 'HTTP/1.1 404 Not Found' &&
    http 'POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\na=b' && got 'HTTP/1.1 405 Method Not Allowed' && got 'Allow: GET, HEAD' &&
    http 'hello\r\n\r\n' && got 'HTTP/1.1 400 Bad Request' && http 'GET /metrics\r\n\r\n' && got 'HTTP/1.1 400 Bad Request' &&
    http ' /metrics HTTP/1.1\r\n\r\n' && got 'HTTP/1.1 400 Bad Request' && http '\r\n\r\n' && got 'HTTP/1.1 400 Bad Request' &&
    http "GET /metrics HTTP/1.1\r\nX: $(printf %05000d 0)" && got 'HTTP/1.1 431 Request Header Fields Too Large' &&
    http "GET /metrics HTTP/1.1\r\nX: $(printf %03000d 0)\r\n\r\n" && got 'HTTP/1.1 200 OK'
}
check 'anything else is an error, and what is too long is cut off' answers_nothing_else

# 200 clients send nothing, send half a request, or read nothing of the answer, before each client that asks.
hung_clients() {
    perl -MIO::Socket::INET -e '
        for my $i (1 .. 200) {
            my $s = IO::Socket::INET->new(PeerAddr => $ARGV[0], Timeout => 10) or die "not accepted: $!\n";
            syswrite $s, ("", "GET /metr", "GET /metrics HTTP/1.1\r\n\r\n")[$i % 3];
            push @hung, $s;
        }
        print "hung\n";
        $| = 1;
        sleep 60' "$listens" >"$directory/hung" 2>&1 &
    hung=$!
    begin $hung
    within 20 grep -q hung "$directory/hung"
    before=$(descriptors)
    for _ in 1 2 3 4 5; do get /metrics && got 'HTTP/1.1 200 OK' || return 1; done
    kill -KILL $hung
    over $hung
    [ "$before" -lt 40 ] || { echo "$before descriptors"; return 1; }
}
descriptors() {
    if [ -d "/proc/$started/fd" ]; then find "/proc/$started/fd" -type l 2>/dev/null | wc -l
    else echo 0
    fi
}
check 'clients that hang keep out nobody, and cost no more than a few descriptors' hung_clients

# hang SECONDS COUNT: so many clients that send half a request; prints how many of them are still served, oldest first, at the end.
hang() {
    perl -MIO::Socket::IP -e '
        my ($address, $seconds, $count) = @ARGV;
        my @hung = map { my $s = IO::Socket::IP->new(PeerAddr => $address) or die; syswrite $s, "GET /metr"; select undef, undef, undef, 0.05; $s } 1 .. $count;
        sleep $seconds;
        print map { my $bits = ""; vec($bits, fileno $_, 1) = 1; select($bits, undef, undef, 0) ? 0 : 1 } @hung' "$listens" "$1" "$2"
}
oldest_goes_first() {
    [ "$(hang 1 18)" = 001111111111111111 ]
}
slow_ones_end() {
    [ "$(hang 12 3)" = 000 ]
}
# There are descriptors for a few clients.
scarce() {
    # shellcheck disable=SC3045    # Where the shell has no limit of files the test says nothing.
    (ulimit -n 20 2>/dev/null; exec "$redlock" exporter --guard 0 --listen 0 --interval 60s --scan-interval 0) 2>"$directory/scarce" &
    scarce=$!
    begin $scarce
    within 10 grep -q 'listens on' "$directory/scarce" || return 1
    all=$listens listens=$(sed -n 's|.*listens on http://\(.*\)/metrics$|\1|p' "$directory/scarce")
    perl -MIO::Socket::INET -e '@hung = map { IO::Socket::INET->new(PeerAddr => $ARGV[0]) or die } 1 .. 20; $| = 1; print "hung\n"; sleep 60' \
        "$listens" >"$directory/hung" &
    hung=$!
    begin $hung
    within 20 grep -q hung "$directory/hung" && get /metrics && got 'HTTP/1.1 200 OK'
    set -- $?
    kill -KILL $hung && kill -TERM $scarce
    over $hung
    over $scarce
    listens=$all
    return "$1"
}
check 'nor if there are descriptors for a few clients alone' scarce
check 'for one client more than there is room for the one that has hung longest goes' oldest_goes_first
check 'a client that takes longer than ten seconds is ended' slow_ones_end

# ---- A node goes down, hangs, and comes back as another one ----

# One that ends while it is asked has answered that time, and has no vote.
same_in_both() {
    has_figures "$1" && grep -qx -e "$1" "$file"
}
node_is_down() {
    eval "on 2 KILL; over \$pid_2"
    within 10 same_in_both "redlock_node_up{node=\"$(node 2)\"} 0" && got "redlock_node_votes{node=\"$(node 2)\"} 0" &&
    got "redlock_node_trouble{node=\"$(node 2)\",trouble=\"[a-z]*\"} 1" && ! grep "node_uptime_seconds{node=\"$(node 2)\"}" "$directory/got" &&
    got "redlock_node_votes{node=\"$(node 0)\"} 1" && got "redlock_node_restarts_total{node=\"$(node 2)\"} 0"
}
check 'a node that is down is told of, and the others as before' node_is_down

# On the port that it had.
node_is_back() {
    eval "port=\$((port_2 - 1))"
    launch && begin "$pid" || return 1
    within 20 same_in_both "redlock_node_restarts_total{node=\"$(node 2)\"} 1" && within 10 same_in_both "redlock_node_votes{node=\"$(node 2)\"} 1"
}
check 'one that is back has restarted' node_is_back

become_a_folder() { rm -rf "$file" && mkdir "$file"; }
cannot_write_for_a_while() {
    within 10 become_a_folder && within 10 says 'cannot write .*redlock.prom: Is a directory' && sleep 0.5 &&
    [ "$(grep -c 'cannot write' "$directory/err")" = 1 ] && rmdir "$file" && within 10 says 'redlock.prom can be written again' &&
    within 10 is_well_formed && within 10 is_alone
}
check 'a file that cannot be written is told of once, and tried again' cannot_write_for_a_while

perl -MIO::Socket::INET -e '
    my $s = IO::Socket::INET->new(PeerAddr => $ARGV[0]) or die;
    syswrite $s, "GET";
    print "hung\n";
    $| = 1;
    sleep 60' "$listens" >"$directory/hung" 2>&1 &
hung=$!
begin $hung
within 10 grep -q hung "$directory/hung"
kill -TERM "$started"
over "$started"
status=$?
kill -KILL $hung
over $hung
ends() {
    [ $status = 0 ] && [ -s "$file" ] && ! says 'cannot$'
}
check 'SIGTERM ends it, though a client hangs' ends

hangs() {
    on 1 STOP
    begin_exporter --interval 200ms --node-timeout 300ms
    within 20 has_figures "redlock_node_up{node=\"$(node 1)\"} 0" && got "redlock_node_trouble{node=\"$(node 1)\",trouble=\"[a-z]*\"} 1" &&
    got "redlock_node_votes{node=\"$(node 0)\"} 1"
    good=$?
    on 1 CONT
    within 20 has_figures "redlock_node_votes{node=\"$(node 1)\"} 1" && kill -INT "$started" && over "$started" && [ $good = 0 ]
}
check 'a node that hangs holds up nobody' hangs

listens_on_v6() {
    begin_exporter --listen '[::1]:0' && get /metrics && case $listens in '[::1]:'*) ;; *) echo "$listens"; false ;; esac
    good=$?
    kill -TERM "$started"
    over "$started" && [ $good = 0 ]
}
if perl -MIO::Socket::IP -e 'exit !IO::Socket::IP->new(LocalAddr => "::1", Listen => 1)' 2>/dev/null; then
    check 'it listens on the address that is given' listens_on_v6
else
    skip 'it listens on the address that is given' 'no ::1 here'
fi

finish
