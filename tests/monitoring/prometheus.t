#!/bin/sh
# The files that operators put into their monitoring, with a real Prometheus. It scrapes a real
# exporter, and the metrics of programs that lock, while nodes get into trouble. Then each query of the
# dashboard has data, and the alerts fire that should.
# shellcheck disable=SC1091,SC2016,SC2154    # What lib.sh defines. The programs are perl's.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
tools/need promtool prometheus || exit 1

metrics=$directory/metrics
mkdir "$metrics"
for k in 0 1 2 3 4; do
    mkdir "$directory/data-$k"
    start_server --dir "$directory/data-$k" --appendonly yes --appendfsync always --maxmemory 64mb
done
export REDLOCK_NODES="$nodes"

# ---- promtool check metrics ----

lints() {
    promtool check metrics <"$1" 2>&1 && [ -z "$(promtool check metrics <"$1" 2>&1)" ]
}
lints_exporter() {
    is 0 exporter --guard 0 --once --cluster c --file "$directory/once.prom" && grep -q '^redlock_scan_keys{' "$directory/once.prom" &&
    lints "$directory/once.prom"
}
lints_run() {
    is 0 run --guard 0 --metrics "$directory/run.prom" linted -- true && lints "$directory/run.prom"
}
check 'promtool finds nothing in what exporter tells' lints_exporter
check 'promtool finds nothing in what run tells' lints_run

# ---- The programs: an exporter, one that holds a lock until it is told, and one that waits for it and then extends ----

# job NAME RESOURCE COMMAND OPTION...: sets $started.
job() {
    job_name=$1 job_resource=$2 job_command=$3
    shift 3
    "$redlock" "$@" --guard 0 --node-timeout 2s --metrics "$metrics/$job_name.prom" "$job_resource" -- sh -c "$job_command" \
        >/dev/null 2>"$directory/$job_name.err" &
    started=$!
    begin $started
}
job holds held "until [ -e '$directory/enough' ]; do sleep 0.1; done" run --ttl 10s
within 20 grep -q '^redlock_held.* 1$' "$metrics/holds.prom" || { echo 'Bail out! the lock is not held'; exit 1; }
job extends held 'sleep 1000' run --ttl 3s
extends=$started

# A node of a busy machine answers late, and would seem to be without a vote for a moment.
"$redlock" exporter --guard 0 --node-timeout 2s --listen 0 --interval 500ms --scan-interval 1s --cluster real 2>"$directory/err" &
exporter=$!
begin $exporter
within 20 says 'listens on' || { echo 'Bail out! the exporter does not listen'; exit 1; }
listens=$(sed -n 's|.*listens on http://\(.*\)/metrics$|\1|p' "$directory/err")

# A cluster whose nodes are 20 s ahead, and one that was looked at long ago.
perl -Itests/live -MFakeNodes -e '
    FakeNodes::serve(sub {
        my ($k, $word) = @_;
        return "*2\r\n" . FakeNodes::bulk(time + 20) . FakeNodes::bulk(0) if $word eq "TIME";
        return "-ERR unknown command\r\n"; }, @ARGV)' \
    "$redlock" exporter --once --scan-interval 0 --guard 0 --cluster ahead --file "$metrics/ahead.prom" >"$directory/said" 2>&1 || cat "$directory/said"
sed -e 's/"c"/"forgotten"/' -e 's/^\(redlock_updated_timestamp_seconds.* \)[0-9.]*/\11000000000/' "$directory/once.prom" >"$metrics/forgotten.prom"

# Plays the part of node_exporter. It hands the files out, and tells where.
perl -MIO::Socket::INET -e '
    my $listener = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1:0") or die;
    open my $out, ">", "$ARGV[0]/port" or die;
    print $out $listener->sockport;
    close $out;
    while (my $s = $listener->accept) {
        my $name = (<$s> // "") =~ m{^GET /(\w+)} ? $1 : "";
        1 while (<$s> // "") =~ /\S/;
        open my $in, "<", "$ARGV[0]/$name.prom";
        my $text = join "", <$in>;
        print $s "HTTP/1.0 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n\r\n$text";
        close $s;
    }' "$metrics" >/dev/null 2>&1 &
begin $!
within 20 test -s "$metrics/port"

# ---- Prometheus: with the rules, but quicker, and no node of a busy machine is slow ----

sed -e 's/for: .*/for: 1s/' -e '/latency_seconds/s/> 0[.]1/> 2/' -e 's/> 300/> 30/' tools/monitoring/redlock.rules.yml >"$directory/rules.yml"
{
    printf 'global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 500ms }\nrule_files: [%s]\nscrape_configs:\n' "$directory/rules.yml"
    printf '  - { job_name: redlock, static_configs: [{ targets: ["%s"] }] }\n' "$listens"
    for name in holds extends ahead forgotten; do
        printf '  - { job_name: %s, metrics_path: /%s, static_configs: [{ targets: ["127.0.0.1:%s"] }] }\n' "$name" "$name" "$(cat "$metrics/port")"
    done
} >"$directory/prometheus.yml"

# The port may be taken in between. It then ends, and another one is tried.
free_port() {
    perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0")->sockport'
}
is_ready() {
    perl -MHTTP::Tiny -e 'exit !HTTP::Tiny->new(timeout => 5)->get("http://$ARGV[0]/-/ready")->{success}' "$prometheus"
}
is_ready_or_gone() {
    is_gone "$prometheus_pid" || is_ready
}
for _ in 1 2 3; do
    prometheus=127.0.0.1:$(free_port)
    prometheus --config.file="$directory/prometheus.yml" --storage.tsdb.path="$directory/tsdb" --web.listen-address="$prometheus" \
        >"$directory/prometheus.log" 2>&1 &
    prometheus_pid=$!
    begin $prometheus_pid
    within 30 is_ready_or_gone
    is_gone $prometheus_pid || break
done
is_ready || { echo 'Bail out! Prometheus does not start'; tail -n 5 "$directory/prometheus.log"; exit 1; }

# has_data QUERY...: each has a value that is a number. Prints whose values they are, and which has none.
cat >"$directory/has_data" <<'END_OF_PERL'
use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP;
my ($prometheus, @queries) = @ARGV;
my $bad = 0;
for my $query (@queries) {
    my $answer = HTTP::Tiny->new(timeout => 10)->post_form("http://$prometheus/api/v1/query", { query => $query });
    my $json = eval { decode_json($answer->{content}) } // {};
    my @found = grep { $_->{value}[1] ne 'NaN' } @{ $json->{data}{result} // [] };
    print "data: $query ", encode_json($_->{metric}), "\n" for @found;
    next if @found;
    print "no data: $query ", $json->{error} // '', "\n";
    $bad++;
}
exit($bad > 0);
END_OF_PERL
has_data() {
    perl "$directory/has_data" "$prometheus" "$@"
}

# soon COMMAND...: until it succeeds, twice a second.
soon() {
    for _ in $(seq 120); do
        ! "$@" >"$directory/said" 2>&1 || return 0
        sleep 0.5
    done
    cat "$directory/said"
    return 1
}

# ---- While all is well ----

is_scraped() {
    has_data 'count(up == 1) == 5' 'sum(redlock_node_votes{cluster="real"}) == 5' 'redlock_scan_keys{cluster="real",class="held"} > 0' \
        'redlock_held{resource="held",job="holds"} == 1' 'redlock_waiting{resource="held",job="extends"} == 1'
}
check 'Prometheus scrapes an exporter and programs that lock' soon is_scraped

fires() {
    has_data "ALERTS{alertstate=\"firing\",alertname=\"$1\"$2}"
}
none_fires() {
    ! has_data 'ALERTS{alertstate="firing",severity!="info",cluster!~"ahead|forgotten"}'
}
check 'no alert that needs somebody fires while all is well' none_fires
is_handed_over() {
    : >"$directory/enough"
    soon has_data 'redlock_held{job="extends"} == 1'
}
check 'a lock that is handed over is seen to be' is_handed_over
check 'a clock that is 20 s ahead is told of' soon fires RedlockClock ',cluster="ahead"'
check 'figures that nobody writes any longer are told of' soon fires RedlockExporterStale ',cluster="forgotten"'

# ---- A node is down, another one evicts keys, and there are locks that nobody ends ----

token=0123456789012345678901234567890123456789
on 4 KILL
over "$pid_4"
everywhere_that_lives() {
    for lives in 0 1 2 3; do ask $lives "$@" >/dev/null; done
}
everywhere_that_lives SET leaked $token
everywhere_that_lives RPUSH odd x
everywhere_that_lives SET 'odd#ticket' 1
for k in 0 1 2 3; do ask $k SET split "$k${token#?}" PX 600000 >/dev/null; done
ask 0 SET filler "$(printf %040000d 0)" >/dev/null
ask 0 CONFIG SET maxmemory-policy allkeys-lru >/dev/null
ask 0 CONFIG SET maxmemory 100000 >/dev/null
ask 0 SET filler2 x PX 600000 >/dev/null

# The queries have the variables that Grafana would fill in.
dashboard_has_data() {
    perl -MJSON::PP -e '
        local $/;
        my $json = decode_json(<STDIN>);
        my @queries = map { $_->{expr} } map { @{ $_->{targets} // [] } } @{ $json->{panels} };
        die "too few queries\n" if @queries < 25;
        s/\$(?:cluster|instance)/.*/g, s/\$__rate_interval/1m/g for @queries;
        die "a variable is left: $_\n" for grep { /\$/ } @queries;
        exec "perl", @ARGV, @queries' "$directory/has_data" "$prometheus" <tools/monitoring/redlock.dashboard.json
}
check 'each query of the dashboard has data' soon dashboard_has_data

variables_have_data() {
    has_data 'redlock_build_info{cluster!="",instance!=""}' && ! has_data 'redlock_no_such_metric' >/dev/null
}
check 'so have its variables, and what is not there has none' variables_have_data

for alert in 'NodeWithoutVote,node="127.0.0.1:'"$port_4\"" 'NodeUnsafe,check="eviction",node="127.0.0.1:'"$port_0\"" 'Evicted,node="127.0.0.1:'"$port_0\"" \
    'NodeMemory,node="127.0.0.1:'"$port_0\"" 'Leak,class="no_ttl"' 'Split,class="split"' 'OddKeys,class="in_the_way"'; do
    check "${alert%%,*} fires" soon fires "Redlock${alert%%,*}" ",cluster=\"real\",${alert#*,}"
done

# ---- Fewer and fewer ----

# A node without memory grants nothing, so three of five are left before the next one is down.
ask 0 CONFIG SET maxmemory 0 >/dev/null
check 'a node that has memory again votes again' soon has_data 'sum(redlock_node_votes{cluster="real"}) == 4'
on 3 KILL
over "$pid_3"
check 'NoMargin fires, with three of five' soon fires RedlockNoMargin ',cluster="real"'
on 2 KILL
over "$pid_2"
check 'NoQuorum fires, with two of five' soon fires RedlockNoQuorum ',cluster="real"'
over "$extends"
check 'ExtensionsFail fires for a run that has ended its command for want of the lock' soon fires RedlockExtensionsFail ',job="extends"'
kill -TERM "$exporter"
over "$exporter"
check 'ExporterDown fires' soon fires RedlockExporterDown ',job="redlock"'

finish
