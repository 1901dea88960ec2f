#!/bin/sh
# The benchmark client keeps to its contract, so that any driver can measure it beside other clients. Nothing here depends
# on how fast it is.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
. tools/bench/servers.sh

bench=${BUILD:-build}/bench
patience=2000       # Milliseconds that a node may take. On a busy machine 50 are soon over, and nothing here is about them.
clients='redlock redlock-events redlock-metrics redlock-blocking raw'

choose_refused_port
start_servers 3
# shellcheck disable=SC2086    # The ports are several words.
nodes=$(nodes_of $ports)
first_port=$(word 1 "$ports")

# ---- What the runs are looked at with ----

# run_bench CLIENT OPTION...: its output goes to $directory/line.
run_bench() {
    client=$1
    shift
    "$bench" --client "$client" --nodes "$nodes" --warmup 0 --node-timeout-ms $patience "$@" >"$directory/line"
}

# is_true EXPRESSION: evaluates it on the fields of the last line, as variables of perl, as in is_true '$f{cycles} == 5'.
is_true() {
    tail -n 1 "$directory/line" | perl -MJSON::PP -e '
        my %f = %{ decode_json(<STDIN>) };
        exit 0 if eval $ARGV[0];
        print "$ARGV[0] is not so: ", join(", ", map { "$_=$f{$_}" } sort keys %f), "\n$@";
        exit 1' "$1"
}

# ask PORT WORDS: puts one command and prints the first line of the answer.
ask() {
    perl -MIO::Socket::INET -e '
        my ($port, $command) = @ARGV;
        my $node = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or die "no node at $port: $@\n";
        print $node "$command\r\n";
        print scalar <$node>;' "$@"
}

# ---- Options and the line ----

is_refused() {
    "$bench" "$@" >"$directory/line" 2>&1
    [ $? = 2 ] && ! grep -q '^{' "$directory/line"
}

takes_every_option() {
    for mode in latency throughput contend; do
        run_bench "$1" --mode $mode --concurrency 1 --ttl 5000 --key some-key --hold-us 10 --think-us 10 --retry-ms 1 \
            --retry-jitter 1 --events "$directory/events" --id 1 --seconds 0.05 --node-timeout-ms 500 --name other || return 1
        # shellcheck disable=SC2016    # Variables of perl.
        is_true '$f{mode} eq "'$mode'" && $f{client} eq "other"' || return 1
    done
}

prints_one_line() {
    run_bench "$1" --cycles 3 || return 1
    [ "$(wc -l <"$directory/line")" = 1 ]
}

# shellcheck disable=SC2016
has_every_field() {
    run_bench "$1" --mode "$2" --cycles 20 || return 1
    is_true '!grep { !defined $f{$_} } qw(client mode n concurrency seconds cycles cycles_per_s acq_p50_us acq_p99_us acq_max_us
        rel_p50_us rel_p99_us rel_max_us cyc_p50_us cyc_p99_us cyc_max_us fail attempts cpu_user_us cpu_sys_us),
        -r "/proc/self/status" ? qw(rss_kb hwm_kb) : ()'
}

# shellcheck disable=SC2016
has_ordered_percentiles() {
    run_bench "$1" --cycles 150 || return 1
    is_true '!grep { !(0 < $f{"${_}_p50_us"} && $f{"${_}_p50_us"} <= $f{"${_}_p99_us"} && $f{"${_}_p99_us"} <= $f{"${_}_max_us"}) }
        qw(acq rel cyc)' &&
    is_true '$f{cyc_max_us} >= $f{acq_p50_us} + $f{rel_p50_us}'
}

# shellcheck disable=SC2016
counts_exactly() {
    run_bench "$1" --mode "$2" --concurrency "$3" --cycles 77 || return 1
    is_true '$f{cycles} == 77 && $f{fail} == 0 && $f{attempts} >= 77 && $f{n} == 3' &&
    is_true '$f{concurrency} == '"$3" &&
    is_true 'abs($f{cycles_per_s} * $f{seconds} - 77) < 1'
}

# shellcheck disable=SC2016
counts_what_was_measured() {
    run_bench "$1" --seconds 0.3 || return 1
    is_true '$f{seconds} >= 0.3 && $f{cycles} > 1 && abs($f{cycles_per_s} * $f{seconds} - $f{cycles}) < 1'
}

check 'an unknown option is refused' is_refused --nodes "$nodes" --frobnicate
check 'a number that is none is refused' is_refused --nodes "$nodes" --seconds soon

# There is no symbol of it either, and no word. (Sanitizers have symbols of thread-local storage.)
# shellcheck disable=SC2317    # It is called by check.
has_no_tls() {
    ! "$bench" --tls-library >"$directory/line" 2>&1 && ! "$bench" --help | grep -i tls && ! nm "$bench" | grep -E '(redlock|bench)_tls|SSL_|X509_|mbedtls_'
}

if "$bench" --tls-library >"$directory/line" 2>&1; then
    skip 'a benchmark that was built without TLS knows nothing of it' 'this one was built with it'
else
    check 'a benchmark that was built without TLS knows nothing of it' has_no_tls
fi
check 'nodes must be named' is_refused --cycles 1
for client in $clients; do
    check "$client takes every option in every mode" takes_every_option "$client"
    check "$client prints one line" prints_one_line "$client"
    for mode in latency throughput contend; do
        check "$client has every field in mode $mode" has_every_field "$client" $mode
    done
    check "$client has percentiles in order" has_ordered_percentiles "$client"
    check "$client measures as long as it is told" counts_what_was_measured "$client"
    check "$client counts cycles exactly, one at a time" counts_exactly "$client" latency 1
done
for client in redlock raw; do
    check "$client counts cycles exactly, many at a time" counts_exactly $client throughput 40
done

# ---- Events ----

# A line for every lock, none before the one above has ended, each with its times in order.
writes_events() {
    run_bench "$1" --mode contend --cycles 25 --id me --events "$directory/events" --hold-us 200 --think-us 100 || return 1
    awk '{ if (NF != 4 || $1 != "me" || $2 < last || $3 < $2 + 200000 || $4 <= $3) bad = bad NR " "; last = $4 + 100000 }
         END { if (NR != 25 || bad) { print NR " lines, wrong: " bad; exit 1 } }' "$directory/events"
}

# Nothing of the warm-up is reported.
writes_counted_events() {
    run_bench "$1" --warmup 0.2 --mode contend --cycles 5 --events "$directory/events" || return 1
    [ "$(wc -l <"$directory/events")" = 5 ] || { wc -l "$directory/events"; return 1; }
}

# Each refusal is followed by a pause of 20 ms, and all of it is the time of one acquisition. On a busy machine the key may end
# before the client begins.
# shellcheck disable=SC2016
times_whole_acquisitions() {
    for ttl in 1500 3000 6000 12000; do
        for port in $ports; do ask "$port" "SET $2 other PX $ttl" >/dev/null; done
        run_bench "$1" --mode contend --cycles 1 --key "$2" --retry-ms 20 --retry-jitter 0 || return 1
        grep -q '"fail":0' "$directory/line" || break
    done
    is_true '$f{fail} > 0 && $f{attempts} == $f{fail} + 1 && $f{acq_max_us} >= 20000 * $f{fail}' &&
    is_true '$f{cyc_max_us} >= $f{acq_max_us}'
}

contend() {
    "$bench" --client "$1" --nodes "$nodes" --warmup 0 --node-timeout-ms $patience --mode contend --key fought-for \
        --cycles 60 --hold-us 2000 --think-us 10 --retry-ms 1 --retry-jitter 1 --id "$2" --events "$directory/events-$2" \
        >"$directory/line-$2"
}

# If two run at the same time, the one that acquired had to wait until the one before began to release.
contend_without_overlap() {
    contend "$1" a &
    contend "$2" b && wait $! || return 1
    sort -n -k 2 "$directory/events-a" "$directory/events-b" | awk '
        $2 < released { print "line " NR ": " $1 " acquired before " owner " released"; bad = 1 }
        { released = $3; owner = $1 }
        END { if (NR != 120) { print NR " lines, not 120"; bad = 1 }; exit bad }'
}

# shellcheck disable=SC2016
counts_refusals() {
    cat "$directory/line-a" "$directory/line-b" >"$directory/lines"
    for contender in a b; do
        cp "$directory/line-$contender" "$directory/line"
        is_true '$f{attempts} == $f{cycles} + $f{fail}' || return 1
    done
    grep -q '"fail":[1-9]' "$directory/lines"
}

for client in $clients; do
    check "$client writes an event for every lock" writes_events "$client"
    check "$client writes no event during the warm-up" writes_counted_events "$client"
    check "$client times an acquisition from its first attempt" times_whole_acquisitions "$client" "held-before-$client"
done
check 'redlock and raw exclude each other' contend_without_overlap redlock raw
check 'an acquisition that failed is counted, and is an attempt' counts_refusals
check 'redlock-blocking and redlock exclude each other' contend_without_overlap redlock-blocking redlock

# ---- Waiters and kept locks ----

# In a process each, or several in each, a win is counted once.
# shellcheck disable=SC2016
counts_waiters() {
    count=$1
    shift
    run_bench redlock --mode waiters --concurrency "$count" --hold-us 500 --cycles 60 "$@" || return 1
    is_true '$f{cycles} == 60 && $f{concurrency} == '"$count"' && $f{attempts} > 0 && abs($f{rounds} - $f{attempts} / 60) < 0.001' &&
    is_true '0 < $f{round_trip_us} && 0 < $f{handover_p50_us} && $f{handover_p50_us} <= $f{handover_p99_us}' &&
    is_true '0 <= $f{least_share} && $f{least_share} <= 1 && 0 < $f{cpu_us}' &&
    is_true '0 < $f{wait_p50_ms} && $f{wait_p50_ms} <= $f{wait_p99_ms} && $f{wait_p99_ms} <= $f{wait_longest_ms} + 0.001 &&
             $f{starved} < $f{concurrency} && 0 <= $f{passed_most} && $f{passed_most} < 60 && $f{server_cpu_us} > 0' &&
    is_true '$f{commands} >= $f{n} + 1'     # A quorum is acquired and released; a node that still owes an answer is not asked.
}

# Each is extended three times in its TTL, or somewhat more often.
# shellcheck disable=SC2016
keeps_locks() {
    run_bench redlock --mode keeper --concurrency 50 --ttl 3000 --seconds 4 || return 1
    is_true '$f{lost} == 0 && $f{cycles} >= 50 && $f{cycles} <= 50 * 6 && $f{most_in_10_ms} >= 1 && $f{most_in_10_ms} <= 50'
}

leaves_nothing() {
    for port in $ports; do
        ask "$port" 'DBSIZE' | grep -q '^:0' || { ask "$port" 'KEYS *'; return 1; }
    done
}

# ---- What the nodes see ----

# watch CLIENT OPTION...: shows the commands of locking and unlocking that the first node gets
# meanwhile, as MONITOR sees them.
watch() {
    perl -MIO::Socket::INET -e '
        my ($port, @command) = @ARGV;
        sub node { IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or die "no node at $port: $@\n" }
        my $monitor = node();
        print $monitor "MONITOR\r\n";
        scalar <$monitor>;
        system(@command) == 0 or die "@command failed\n";
        my $end = node();
        print $end "PING end-of-watch\r\n";
        while (my $line = <$monitor>) {
            last if $line =~ /end-of-watch/;
            print $1 if $line =~ /^[^"]*(?<!lua\]) ("(?:SET|EVALSHA)" .*)/s;
        }' "$first_port" "$bench" --nodes "$nodes" --warmup 0 --node-timeout-ms $patience --cycles 6 --client "$@" | grep '^"'
}

# Letters replace the digits that are new in each cycle.
watch_forms() {
    watch "$@" | tr -d '\r' | sed -e 's/"bench:[0-9a-f]*:[0-9a-f]*"/KEY/' -e 's/KEY "[0-9a-f]\{40\}"/KEY TOKEN/' \
        -e 's/\(TOKEN "[0-9]*"\) "[0-9]\{16\}"/\1 TICKET/' | sort
}

sees_the_same_commands() {
    watch_forms raw "$@" >"$directory/raw"
    watch_forms redlock "$@" >"$directory/redlock"
    watch_forms redlock-blocking "$@" >"$directory/blocking"
    [ "$(wc -l <"$directory/raw")" -ge 12 ] || { echo 'too few commands:'; cat "$directory/raw"; return 1; }
    diff "$directory/raw" "$directory/redlock" && diff "$directory/raw" "$directory/blocking"
}

sees_new_names() {
    watch "$1" | grep '"SET"' | cut -d ' ' -f "$2" | sort >"$directory/names"
    [ "$(wc -l <"$directory/names")" -ge 6 ] && [ -z "$(uniq -d "$directory/names")" ]
}

runs_one_cycle() {
    watch "$1" --cycles 1 >"$directory/commands"
    [ "$(grep -c '"SET"' "$directory/commands")" = 1 ] || { cat "$directory/commands"; return 1; }
}

leaves_no_key() {
    run_bench "$@" --seconds 0.1 && leaves_nothing
}

for waiters in 2 20; do
    check "$waiters waiters that listen are counted" counts_waiters $waiters --wake-ups
    check "$waiters waiters that poll are counted" counts_waiters $waiters
done
check 'waiters in one process are counted' counts_waiters 3 --wake-ups --processes 1

# Nobody was passed by another one that came when it was queued.
# shellcheck disable=SC2016
serves_in_order() {
    counts_waiters "$@" --wake-ups --fair && is_true '$f{fair} == 1 && $f{passed_most} == 0'
}
check 'waiters in strict order are counted, and nobody is passed' serves_in_order 12 --far 5 --processes 4

# Its loop holds back the bytes that it sends and receives. Acquiring and releasing take two round trips of that length.
# shellcheck disable=SC2016
keeps_one_away() {
    run_bench redlock --mode waiters --concurrency 1 --hold-us 0 --cycles 20 --far 50 &&
    is_true '$f{far_us} > 0 && $f{cycles} == 20 && $f{seconds} * 1e6 >= 19 * 2 * $f{far_us}'
}
check 'one of them may be far away' keeps_one_away
check 'kept locks are counted, and none is lost' keeps_locks
check 'of all that nothing is left behind' leaves_nothing
check 'the nodes are told the same by the library and by raw sockets' sees_the_same_commands --ttl 12345
for client in $clients; do
    check "$client acquires a fresh key in each cycle" sees_new_names "$client" 2
    check "$client writes a fresh token in each cycle" sees_new_names "$client" 3
    check "$client runs as many cycles as it is told" runs_one_cycle "$client"
    check "$client leaves no key behind" leaves_no_key "$client"
    check "$client leaves no key behind when it contends" leaves_no_key "$client" --mode contend
done
for client in redlock raw; do
    check "$client leaves no key behind of many locks" leaves_no_key $client --mode throughput --concurrency 40
done
# Counters of tickets stay, so this comes last.
check 'the nodes are told the same when locks have tickets' sees_the_same_commands --ttl 12345 --ticket

# ---- Nodes in trouble ----

# shellcheck disable=SC2016
works_with_one_refused() {
    run_bench "$1" --nodes "${nodes%,*},127.0.0.1:$refused" --cycles 20 || return 1
    is_true '$f{n} == 3 && $f{cycles} == 20 && $f{fail} == 0'
}

# shellcheck disable=SC2016
works_with_one_hung() {
    third=$(word 3 "$pids")
    kill -STOP "$third" || return 1
    run_bench "$1" --cycles 20 --node-timeout-ms 500
    status=$?
    kill -CONT "$third"
    [ $status = 0 ] && is_true '$f{n} == 3 && $f{cycles} == 20 && $f{fail} == 0'
}

gives_up_without_a_quorum() {
    ! timeout 30 "$bench" --client "$1" --nodes "127.0.0.1:$refused,127.0.0.1:$refused" --cycles 1 >"$directory/line" 2>&1 &&
    ! grep -q '^{' "$directory/line"
}

for client in $clients; do
    check "$client works while one node of three refuses" works_with_one_refused "$client"
    check "$client works while one node of three hangs" works_with_one_hung "$client"
    check "$client gives up when there is no quorum" gives_up_without_a_quorum "$client"
done

finish
