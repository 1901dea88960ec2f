#!/bin/sh
# shellcheck disable=SC1091,SC2016,SC2154    # What lib.sh defines. The expressions are perl's.
# redlock ping: prints round trips, lost ones, clocks, and the node timeout that follows.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

answers() {
    is 0 ping --node-timeout 10s --count 7 --interval 5ms && [ "$(wc -l <"$directory/out")" = 4 ] &&
    prints "^node 2 \(127.0.0.1:$port_2\)  p50 [0-9.]+ ms  p99 [0-9.]+ ms  worst [0-9.]+ ms  lost 0 of [1-7]  clock [0-9.]+ ms (ahead|behind), give or take" &&
    prints '^--node-timeout [0-9]+ms: 4 times the worst round trip, [0-9.]+ ms, .*\(now 10000ms\)$' &&
    is 0 ping --node-timeout 10s --count 1 --interval 1ms -v && says '^redlock: fingerprint of the nodes: [0-9a-f]+ \(3 of 3\)$' &&
    is 0 ping --node-timeout 10s --count 1 --json && [ ! -s "$directory/err" ] &&
    json out '@{$j->{nodes}} == 3 && $j->{node_timeout_ms} >= 50 && $j->{nodes}[1]{answered} == 1 && $j->{nodes}[1]{lost} == 0 &&
              $j->{nodes}[0]{p50_us} > 0 && $j->{nodes}[0]{worst_us} >= $j->{nodes}[0]{p99_us} && abs $j->{nodes}[2]{clock_ahead_us} < 5e6'
}
check 'round trips, clocks and a proposal are shown of each node' answers

is_stopped_there() {
    choose_refused_port
    on 1 STOP && is 0 ping -n "$nodes" --node-timeout 2s --count 3 --interval 1ms && prints '^node 1 .*  lost 3 of 3  \(.*no answer' &&
    prints '^node 0 .* p50 ' && is 122 ping -n "$nodes,127.0.0.1:$refused" --node-timeout 2s --count 3 --interval 1ms &&
    prints "^node 3 \(127.0.0.1:$refused\)  lost 3 of 3  \(connection refused\)$" &&
    is 122 ping -n "127.0.0.1:$refused" --json && json out '!defined $j->{node_timeout_ms} && $j->{nodes}[0]{lost} == 20' &&
    is 122 ping -n "127.0.0.1:$refused" --count 2 && prints '^no node answered'
    good=$?
    on 1 CONT
    return $good
}
check 'what a stopped server and a refused connection owe is lost; without a quorum the exit status is 122' is_stopped_there

# One exchange of seven takes 400 ms.
worst_counts() {
    start ping --node-timeout 10s --count 7 --interval 100ms --json
    sleep 0.3
    on 1 STOP; sleep 0.4; on 1 CONT
    over "$started"
    good=$?
    [ $good = 0 ] && json out '$j->{nodes}[1]{worst_us} > 200000 && $j->{nodes}[1]{p50_us} < 200000 && $j->{node_timeout_ms} >= 800'
}
worst_counts_once() { worst_counts || worst_counts || worst_counts; }
check 'the node timeout that is proposed follows the worst round trip' worst_counts_once

# slowly COMMAND...: has a node in front of server 2 that takes connections only after a while, when the
# first try was in vain, since others fill its queue.
slowly() {
    perl -MIO::Socket::INET -MIO::Select -e '
        my $port = shift;
        my $listener = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0") or die;
        my @others = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $listener->sockport, Blocking => 0) } 1 .. 3;
        my $client = fork // die;
        exec @ARGV, "-n", "$ENV{REDLOCK_NODES},127.0.0.1:" . $listener->sockport or die if !$client;
        my ($all, %other) = (IO::Select->new($listener));
        alarm 60;
        select undef, undef, undef, 0.5;
        while (!$ended) {
            $ended = waitpid $client, 1;
            for my $socket ($all->can_read(0.02)) {
                my ($from, $to, $bytes) = ($socket);
                if ($from == $listener) {
                    $from = $listener->accept or next;
                    $to = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or die;
                    @other{$from, $to} = ($to, $from);
                    $all->add($from, $to);
                } elsif (sysread $from, $bytes, 65536) {
                    syswrite $other{$from}, $bytes;
                } else {
                    $all->remove($from);
                }
            }
        }
        exit $? >> 8' "$port_2" "$redlock" "$@" >"$directory/out" 2>"$directory/err"
}
waits_for_all() {
    REDLOCK_NODES=127.0.0.1:$port_0,127.0.0.1:$port_1
    slowly doctor --node-timeout 10s --guard 0 --quick --json; json out '@{$j->{nodes}} == 3 && $j->{nodes}[2]{reached}' &&
    slowly scan --node-timeout 10s --guard 0 && prints '^3 of 3 nodes' &&
    ask 2 SET door key-of-2 >/dev/null && slowly break --node-timeout 10s --guard 0 --token key-of-2 door && says 'removed from 1 of 3 nodes'
}
check 'what tells of all nodes, or does something on each, waits for one that is slow to connect' waits_for_all
export REDLOCK_NODES="$nodes"

is_pinging() { ask 0 CLIENT LIST | grep -q 'cmd=time'; }
is_ended() {
    start ping --node-timeout 10s --count 10000 --interval 10ms
    within 10 is_pinging || return 1
    kill -INT "$started"
    over "$started"
    [ $? = 130 ] && prints '^node 0 .* p50 .* lost 0 of ' && prints '^--node-timeout '
}
check 'a signal ends it, and what is known by then is shown' is_ended

# FakeNodes: node 1 has a clock that is 20 s ahead, and needs 100 ms to answer.
tells_clocks() {
    perl -Itests/live -MFakeNodes -MTime::HiRes=time,sleep -e '
        FakeNodes::serve(sub {
            my ($k, $word) = @_;
            return "+OK\r\n" if $word ne "TIME";
            sleep 0.1 if $k == 1;
            my $now = time + ($k == 1 ? 20 : 0);
            return "*2\r\n" . FakeNodes::bulk(int $now) . FakeNodes::bulk(int(($now - int $now) * 1e6));
        }, @ARGV)' "$redlock" ping --node-timeout 10s --count 1 >"$directory/out" 2>"$directory/err" &&
    prints '^node 1 .* p50 [1-9][0-9]{2}[0-9.]* ms .*  clock (19|20)[0-9]{3}[0-9.]* ms ahead, give or take' &&
    prints '^--node-timeout [4-9][0-9]{2,}ms: 4 times'
}
check 'a clock that is ahead and a node that is slow are told' tells_clocks

refuses() {
    is 125 ping --count 0 && says "^redlock: --count: '0' is none of 1 to 10000" && is 125 ping --count 10001 && is 125 ping --interval 0 &&
    is 125 ping door && says "'door' is one word too many" && is 125 ping -n '' && is 0 ping --help && prints '--interval'
}
check 'wrong options are refused' refuses

finish
