#!/bin/sh
# shellcheck disable=SC1091,SC2016,SC2154    # What lib.sh defines. The expressions are perl's.
# redlock doctor: each check finds a server that has just that fault, and reports ignorance where the
# ACL hides it. Answers that no server can be made to give are tested in tests/unit/tools/test_judge.c for the
# checks, and by fake nodes for the command.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

# Servers with which all is well, even without a guard. Each is on a host of its own, and none forgets anything.
mkdir "$directory/no-file"
for k in 2 3 4; do
    start_server --bind 127.0.0.1 127.0.0.$k --appendonly yes --appendfsync always --appenddirname "aof-$k" --dbfilename no-file \
        --slowlog-log-slower-than -1
done
REDLOCK_NODES=127.0.0.2:$port_0,127.0.0.3:$port_1,127.0.0.4:$port_2
export REDLOCK_NODES

# doctor STATUS OPTION...: locks live so long that no round trip is worth a word.
doctor() {
    doctor_status=$1
    shift
    is "$doctor_status" doctor --guard 0 --ttl 10m --quick "$@"
}

# set_0 NAME VALUE: a setting of server 0.
set_0() { [ "$(ask 0 CONFIG SET "$1" "$2")" = OK ]; }

# tells STATUS LINE OPTION...: the doctor prints exactly this line about a node, server 0.
tells() {
    tells_status=$1 tells_line=$2
    shift 2
    doctor "$tells_status" "$@" && prints "^node 0 \(127.0.0.2:$port_0\)  $tells_line" && [ "$(grep -c '^node' "$directory/out")" = 1 ]
}

all_is_well() {
    doctor 0 && prints '^3 of 3 nodes safe, quorum 2: 1 may fail$' && prints '^fingerprint of the nodes: [0-9a-f]{8} \(3 of 3\)$' &&
    [ "$(wc -l <"$directory/out")" = 2 ] && doctor 0 -v && prints '^node 0 .*ok  maxmemory-policy is noeviction  \[7 eviction\]' &&
    prints '^node 2 .*ok  (Redis|Valkey) [0-9.]+  \[1 version\]' && prints '^node 1 .*UNKNOWN  not looked at: --quick  \[16 clock rate\]' &&
    doctor 0 --json && json out '@{$j->{findings}} == 3 * 26 + 2 && $j->{severity} eq "ok" && $j->{exit} == 0 && $j->{safe} == 3'
}
check 'of nodes with which all is well only the verdict is said, and all that was looked at with --verbose' all_is_well

# No check reports that all is well to a user who may do nothing.
hidden() {
    ask 0 ACL SETUSER blind reset on '>pw' >/dev/null
    blind="redis://blind:pw@127.0.0.2:$port_0,127.0.0.3:$port_1,127.0.0.4:$port_2"
    doctor 2 -n "$blind" --state "$directory/clocks" --json &&
    json out 'my %s = map { $_->{check} => $_->{severity} } grep { ($_->{node} // 9) == 0 } @{$j->{findings}};
              my @known = grep { $s{$_} ne "unknown" } sort { $a <=> $b } keys %s; "@known" eq "0 23 24"' &&
    json out 'my %n = map { $_->{check} => $_->{needs} // "" } grep { ($_->{node} // 9) == 0 } @{$j->{findings}};
              "$n{7} $n{2} $n{15} $n{11} $n{19}" eq "+info +info +time +config|get +slowlog|get"' &&
    doctor 2 -n "$blind" && prints '^node 0 .*UNSAFE  the user may not ask for INFO: the node has no vote\. Fix: ACL SETUSER <user> \+info' &&
    prints '^node 0 .*WARNING  SCRIPT LOAD is refused: ' &&
    prints '^node 0 .*UNKNOWN  could not be looked at: version, role, .*\. Fix: ACL SETUSER <user> \+info \+config\|get \+time \+slowlog\|get$' &&
    ask 0 ACL SETUSER blind +@all '~*' '&*' -info >/dev/null && is 1 doctor -n "$blind" --guard 0 --ttl 10m --quick --trust-unknown
}
check 'what an ACL hides is unknown, and never well' hidden

away() {
    choose_refused_port
    is 1 doctor --guard 1h --quick --node-timeout 10s -n "127.0.0.2:$port_0,127.0.0.3:$port_1,127.0.0.4:$refused" &&
    prints "^node 2 \(127.0.0.4:$refused\)  WARNING  cannot be reached: connection refused\. Fix: " &&
    prints '^2 of 3 nodes safe, quorum 2: the next failure stops the locks; 2 restarted and cannot vote yet$' &&
    prints '^all nodes  UNKNOWN  fingerprint of the nodes: [0-9a-f]+ \(2 of 3; ' &&
    is 3 doctor --quick --node-timeout 10s -n "127.0.0.2:$port_0,127.0.0.3:$refused,127.0.0.4:$refused" &&
    prints '^1 of 3 nodes safe, quorum 2: only 1 can be reached, so nobody can lock$'
}
check '0, 5: a node that cannot be reached is a finding; without a quorum the exit status is 3' away

has_a_replica() { doctor 2 && prints '^node 0 .*WARNING  has 1 replica: a failover forgets locks\. Fix: '; }
roles() {
    ask 0 CONFIG SET repl-diskless-sync-delay 0 >/dev/null && ask 2 CONFIG SET repl-diskless-load swapdb >/dev/null &&     # They have no file.
    ask 2 REPLICAOF 127.0.0.1 "$port_0" >/dev/null && within 10 has_a_replica &&
    prints '^node 2 .*UNSAFE  is a replica: it has no vote\. Fix: REPLICAOF NO ONE' && prints '^2 of 3 nodes safe' &&
    [ "$(grep -c '^node' "$directory/out")" = 2 ]
}
check '2: a replica is unsafe, and its master gets a warning' roles

# Only where its link has stood has it a backlog, with which the history is given up; else redis-cli --rdb makes one.
in_info() { ask 2 EVAL "return redis.call('INFO', 'replication'):match('$1:%S+')" 0; }
is_linked() { [ "$(in_info master_link_status)" = master_link_status:up ]; }
has_no_history() { [ "$(in_info second_repl_offset)" = second_repl_offset:-1 ]; }
was_a_replica() { doctor 2 && prints '^node 2 .*UNSAFE  was a replica: '; }
promoted() {
    within 30 is_linked && ask 2 REPLICAOF NO ONE && within 10 was_a_replica && ! has_no_history && [ "$(grep -c '^node' "$directory/out")" = 1 ] &&
    prints '^node 2 .*new clients give it no vote for the guard\. Fix: .*: CONFIG SET repl-backlog-ttl 1, redis-cli --rdb FILE, 5 s later 3600; no replicas$' &&
    prints '^2 of 3 nodes safe' && [ "$(ask 2 CONFIG SET repl-backlog-ttl 1)" = OK ] && within 10 has_no_history &&
    [ "$(ask 2 CONFIG SET repl-backlog-ttl 3600)" = OK ] && within 10 doctor 0
}
check '2: a server that was promoted is unsafe, until what the doctor advises is done' promoted

members() {
    start_server --cluster-enabled yes --cluster-config-file "$directory/nodes.conf"
    doctor 2 -n "127.0.0.2:$port_0,127.0.0.3:$port_1,127.0.0.1:$port" && prints '^node 2 .*UNSAFE  is a member of a cluster: it has no vote\. Fix: '
}
check '3: a member of a cluster is unsafe' members

twice() {
    doctor 2 -n "127.0.0.2:$port_0,127.0.0.3:$port_1,127.0.0.1:$port_1" &&
    prints '^node [12] .*UNSAFE  is the same server as node [12]\. Fix: name each server once' &&
    doctor 1 -n "127.0.0.1:$port_0,127.0.0.3:$port_1,127.0.0.1:$port_2" &&
    prints '^node 2 .*WARNING  is on the host of node 0: one failure, two votes\. Fix: ' &&
    doctor 1 -n "127.0.0.1:$port_0,127.0.0.3:$port_1,localhost:$port_2" && prints '^node 2 .*WARNING  is on the host of node 0: '
}
check '4: a server that is named twice is unsafe; two on one host are worth a warning' twice

numbers() {
    doctor 1 -n "127.0.0.2:$port_0,127.0.0.3:$port_1" && prints '^all nodes  WARNING  2 nodes: none may fail\. Fix: 3 or 5 nodes$' &&
    choose_refused_port && doctor 1 -n "$REDLOCK_NODES,127.0.0.5:$refused" && prints '^all nodes  WARNING  4 nodes: no more may fail than of 3\.'
}
check '6: an even number of nodes, and fewer than three, are worth a warning' numbers

memory() {
    set_0 maxmemory-policy allkeys-lru &&
    tells 1 'WARNING  maxmemory-policy is allkeys-lru: .* once maxmemory is set\. Fix: CONFIG SET maxmemory-policy noeviction$' &&
    set_0 maxmemory 1gb &&
    tells 2 'UNSAFE  maxmemory-policy is allkeys-lru: locks can be evicted\. Fix: CONFIG SET maxmemory-policy noeviction$' &&
    prints '^2 of 3 nodes safe, quorum 2: the next failure stops the locks$' &&
    ask 0 SET a b && set_0 maxmemory 1000 && ask 0 SET c d && set_0 maxmemory 0 && set_0 maxmemory-policy noeviction &&
    tells 2 'UNSAFE  has evicted [1-9][0-9]* keys since it started: ' && ask 0 CONFIG RESETSTAT && set_0 maxmemory 1000 &&
    doctor 2 && prints '^node 0 .*UNSAFE  [0-9]+ % of its memory is in use: soon it grants nothing' &&
    prints '^node 0 .*UNSAFE  refuses to be written to, so nobody gets its vote: OOM .*\. Fix: raise maxmemory' && set_0 maxmemory 0 && doctor 0
}
check '7, 8, 9: what can evict locks, has evicted, or is full is unsafe' memory

remembers() {
    set_0 appendfsync everysec && tells 2 'UNSAFE  appendfsync is everysec, and there is no guard: a power cut forgets locks\. Fix: ' &&
    is 2 doctor --guard 1h --node-timeout 10s --ttl 10m --quick -n "redis://127.0.0.2:$port_0?durable=1,127.0.0.3:$port_1,127.0.0.4:$port_2" &&
    prints '^node 0 .*UNSAFE  appendfsync is everysec, and it is declared durable' && ! prints '^node 1 .*UNSAFE' >/dev/null &&
    set_0 appendfsync always && set_0 no-appendfsync-on-rewrite yes && tells 2 'UNSAFE  no-appendfsync-on-rewrite is yes: ' &&
    is 1 doctor --guard 1h --node-timeout 10s --ttl 10m --quick && prints '^node 0 .*WARNING  no-appendfsync-on-rewrite is yes' &&
    prints '^node 1 .*WARNING  restarted .* ago: no vote for another (59|60) min' &&
    set_0 no-appendfsync-on-rewrite no && set_0 appendonly no && tells 2 'UNSAFE  no AOF, and there is no guard: a restart forgets locks\. Fix: ' &&
    set_0 appendonly yes
}
check '10, 11, 12, 14: without a guard, or if it is declared durable, a node must remember; else it has no vote at first' remembers

has_not_saved() {
    doctor 2 && prints '^node 0 .*WARNING  the last save failed, so it refuses to be written to \(-MISCONF\)\. Fix: ' &&
    prints '^node 0 .*UNSAFE  refuses to be written to, so nobody gets its vote: MISCONF .*\. Fix: see its log, and whether its disk is full$'
}
saves() {
    set_0 save '3600 1' && ask 0 BGSAVE SCHEDULE >/dev/null && within 20 has_not_saved && set_0 save '' && doctor 0
}
check '13, 28: a node that cannot save, and so refuses to be written to, is unsafe' saves

refuses_writes() {
    everywhere CONFIG SET min-replicas-to-write 1 >/dev/null && doctor 2 && prints '^0 of 3 nodes safe, quorum 2: too few to rely on a lock$' &&
    prints '^node 1 .*UNSAFE  refuses to be written to, so nobody gets its vote: NOREPLICAS .*[^.]\. Fix: CONFIG SET min-replicas-to-write 0: ' &&
    doctor 2 --json && json out '$j->{safe} == 0 && !grep { $_->{votes} } @{$j->{nodes}}' &&
    everywhere CONFIG SET min-replicas-to-write 0 >/dev/null && [ "$(everywhere EXISTS redlock:doctor:0 | sort -u)" = 0 ] && doctor 0
}
check '28: nodes that refuse to be written to, for whatever reason, are unsafe, and nothing is written to find out' refuses_writes

# The faults of servers that were set up so; each has another one.
lacks() {
    here=$1
    shift
    for word; do set -- "$@" --rename-command "$word" ''; shift; done
    start_server --bind 127.0.0.1 "127.0.0.$here" --appendonly yes --appendfsync always --appenddirname "aof-$here" --dbfilename no-file \
        --slowlog-log-slower-than -1 "$@"
}
renamed() {
    for word in INFO SCRIPT SET EVAL EVALSHA PUBLISH; do
        case $word in
        PUBLISH) words='WARNING  the server has no publish: clients that wait are woken late\. Fix: take rename-command' ;;
        EVAL)    words='UNSAFE  the server has no eval: nobody can lock there\. Fix: take rename-command' ;;
        EVALSHA) words='WARNING  the server has no evalsha: scripts go out in full, at the second try\. Fix: take rename-command' ;;
        INFO)    words='UNSAFE  the server has no info: the node has no vote\. Fix: take rename-command' ;;
        SCRIPT)  words='WARNING  SCRIPT LOAD is refused: scripts go out in full each time\. Fix: ' ;;
        SET)     words="UNSAFE  refuses to be written to, so nobody gets its vote: ERR unknown command 'SET'.*\\. Fix: take rename-command" ;;
        *)       words="UNSAFE  has no vote: ERR unknown command '$word'.*\\. Fix: take rename-command" ;;
        esac
        lacks 5 $word
        safe=2 status=2
        case $word in PUBLISH | EVALSHA | SCRIPT) safe=3 status=1 ;; esac
        doctor $status -n "127.0.0.2:$port_0,127.0.0.3:$port_1,127.0.0.5:$port" && prints "^node 2 .*$words" &&
        prints "^$safe of 3 nodes safe" || return 1
    done
}
check '23, 28: a node that lacks a command is unsafe, and the command is named' renamed

# The steps were an hour ago, which may be before this machine started: the times in the file count from then, and wrap.
age_steps() {
    perl -i -pe '@F = split; $F[3] = $F[0] > 3601000000 ? $F[0] - 3601000000 : ~0 - (3601000000 - $F[0]) if @F == 5 && $F[3];
        $_ = "@F\n"' "$1"
}
# A server's clock cannot be stepped here, so the earlier record of it is changed.
steps() {
    doctor 0 --state "$directory/state" && doctor 0 -v --state "$directory/state" && prints '^node 0 .*ok  its clock was not stepped' &&
    perl -i -pe '@F = split; $_ = "$F[0] " . ($F[1] - 30e6) . " $F[2] 0 $F[4]\n" if /127.0.0.2/; $_ = "$F[0] " . ($F[1] + 7e6) . " 0 0 $F[4]\n" if /127.0.0.3/' \
        "$directory/state" && doctor 2 --state "$directory/state" &&
    prints '^node 0 .*UNSAFE  its clock was stepped (29|30)\.[0-9] s forward within the last [0-9.]+ (ms|s): keys ended early' &&
    prints '^node 1 .*WARNING  its clock was stepped by [67]\.[0-9] s within' && doctor 2 --state "$directory/state" &&
    age_steps "$directory/state" && doctor 2 --state "$directory/state" && doctor 0 --state "$directory/state" &&
    sed -i.old '1s/.*/redlock-clocks 2 of-another-start/' "$directory/state" && doctor 0 -v --state "$directory/state" &&
    prints '^node 0 .*UNKNOWN  not looked at: the state file does not know' && mkfifo "$directory/pipe" &&
    for path in "$directory" "$directory/pipe"; do
        is 125 doctor --state "$path" && says "^redlock: --state: '$path' is there, and is no regular file\$" || return 1
    done || return 1
    { { ulimit -f 0 && "$redlock" doctor --guard 0 --ttl 10m --quick --state "$directory/state" 2>&1; echo "status $?"; } | cat >"$directory/err"; }
    says '^status 125$' && says 'the state file .*/state could not be written: File too large' && [ "$(find "$directory" -name 'state.[0-9]*' | wc -l)" -eq 0 ]
}
check '17: a clock that was stepped since the last run is noticed' steps

latency() {
    is 1 doctor --guard 0 --ttl 1ms --quick && prints '^node 0 .*WARNING  a round trip took [0-9.]+ ms: more than 1/50 of the TTL\. Fix: '
}
check '18: a round trip that is long for the TTL is worth a warning' latency

others() {
    set_0 timeout 30 && tells 1 'WARNING  timeout is 30 s: idle connections are closed, and made anew\. Fix: CONFIG SET timeout 0$' && set_0 timeout 0 &&
    ask 0 FLUSHALL && tells 2 'UNSAFE  was emptied 1 time since it started \(FLUSHALL, FLUSHDB, SWAPDB\): locks were forgotten\. Fix: ' &&
    ask 0 CONFIG RESETSTAT && set_0 client-output-buffer-limit 'pubsub 1000 1000 60' &&
    tells 1 'WARNING  subscriptions are closed at 1000 bytes: clients that wait are woken late\. Fix: ' &&
    set_0 client-output-buffer-limit 'pubsub 32mb 8mb 60' && set_0 maxmemory-clients 100mb && tells 1 'WARNING  maxmemory-clients is ' &&
    set_0 maxmemory-clients 0 && doctor 0
}
check '21, 22, 25: idle connections that are closed, a flush, and small buffers are found' others

least='on >pw ~lock:* &redlock:* +set +pttl +evalsha +eval +get +del +pexpire +time +zadd +zrem +zpopmin +publish +subscribe +info
       +client|setname +script|load'
permissions() {
    # shellcheck disable=SC2086    # Several words.
    for k in 0 1 2; do ask $k ACL SETUSER app reset $least >/dev/null; done
    doctor 0 --check-user app --prefix lock: && doctor 1 --check-user app && prints '^node 0 .*UNKNOWN  could not be looked at: ACL$' &&
    ask 0 ACL SETUSER app -eval -pexpire >/dev/null && tells 2 'UNSAFE  the user lacks \+pexpire \+eval: it cannot lock\. Fix: ACL SETUSER <user> \+pexpire \+eval$' \
        --check-user app --prefix lock: && ask 0 ACL SETUSER app +eval +pexpire -publish >/dev/null &&
    tells 1 'WARNING  the user lacks \+publish: clients that wait are woken late' --check-user app --prefix lock: &&
    ask 0 ACL SETUSER app +publish resetchannels >/dev/null && tells 1 'WARNING  the user may not use the channels redlock:' --check-user app --prefix lock: &&
    ask 0 ACL SETUSER app '&redlock:*' >/dev/null && ask 0 SET 'redlock:canary#done#done' 0123456789abcdef >/dev/null &&
    is 1 doctor --guard 1ms --ttl 1ms --quick --check-user app --prefix lock: -n "redis://127.0.0.2:$port_0?durable=1,127.0.0.3:$port_1,127.0.0.4:$port_2" &&
    prints '^node 0 .*WARNING  the user may not use redlock:canary: .* Fix: ACL SETUSER <user> ~redlock:canary[*]$' && ! prints '^node 1 .*canary' >/dev/null && ask 0 DEL 'redlock:canary#done#done' >/dev/null
}

# The rights that are reported as missing for a kind of lock are enough for it, and so many are not missing for a plain one.
kinds() {
    for kind in shared fair permits redisson; do
        # shellcheck disable=SC2046,SC2086    # Several words.
        for k in 0 1 2; do ask $k ACL SETUSER app reset $least '&redisson_lock__channel*' >/dev/null; done
        if [ $kind != permits ]; then
            doctor 2 --check-user app --prefix lock: --kind $kind && prints '^node 1 .*UNSAFE  the user lacks [+a-z ]*: it cannot lock\. Fix: ' || return 1
            more=$(sed -n 's/^node 1 .*Fix: ACL SETUSER <user> //p' "$directory/out")
            # shellcheck disable=SC2086    # Several words.
            for k in 0 1 2; do ask $k ACL SETUSER app $more >/dev/null; done
        fi
        doctor 0 --check-user app --prefix lock: --kind $kind || return 1
    done
    everywhere ACL SETUSER app resetchannels '&redlock:*' >/dev/null
    doctor 2 --check-user app --prefix lock: --kind redisson &&
    prints "^node 1 .*UNSAFE  the user may not use Redisson's channels: it cannot lock\. Fix: ACL SETUSER <user> &redisson_lock__channel[*]$" &&
    is 125 doctor --kind fiar && says "^redlock: --kind: 'fiar' is none of shared, fair, permits, redisson$" &&
    is 125 doctor --kind fair --write && says '^redlock: --kind and --write do not go together'
}
no_such_user() {
    doctor 2 --check-user apq --prefix lock: && prints "^node 2 .*UNSAFE  ERR User 'apq' not found: nobody locks by this name\\. Fix: see how the name is written" &&
    prints '^0 of 3 nodes safe'
}
check '23: a user that is none is unsafe' no_such_user
check '23: what a user lacks is named, and what it lacks for wake-ups is worth a warning' permissions
check '23: with --kind what a shared, a fair, a Java lock and permits need is looked at' kinds

needs_only_its_acl() {
    # shellcheck disable=SC2046,SC2086    # Several words.
    for k in 0 1 2; do ask $k ACL SETUSER app reset $least && ask $k ACL SETUSER operator reset on '>pw' $(block acl-doctor) && ask $k ACL LOG RESET; done >/dev/null
    REDLOCK_USER=operator REDLOCK_PASSWORD=pw doctor 0 --check-user app --prefix lock: && [ "$(everywhere ACL LOG | sort -u)" = '*0' ] &&
    [ "$(block acl-doctor | wc -w)" = 11 ]
}
check 'the guide says what its user must be allowed' needs_only_its_acl

tries() {
    # shellcheck disable=SC2086    # Several words.
    for k in 0 1 2; do ask $k ACL SETUSER app reset $least '+config|get' '+slowlog|get' >/dev/null; done
    export REDLOCK_USER=app REDLOCK_PASSWORD=pw
    doctor 1 --prefix lock: && prints '^node 0 .*UNKNOWN  could not be looked at: ACL\. Fix: ACL SETUSER <user> \+acl\|whoami \+acl\|dryrun$' &&
    doctor 0 --prefix lock: --write && doctor 0 --prefix lock: --write --no-ticket -v && prints '^node 1 .*ok  a lock was acquired, extended and released' &&
    doctor 2 --write && prints '^node 2 .*UNSAFE  a lock was tried in vain: to acquire: NOPERM' &&
    ask 0 ACL SETUSER app -pexpire >/dev/null && tells 2 'UNSAFE  a lock was tried in vain: to extend: .*\. Fix: ' --write --prefix lock:
    good=$?
    unset REDLOCK_USER REDLOCK_PASSWORD
    [ $good = 0 ] && [ "$(everywhere KEYS '*lock:*' | sort -u)" = '*0' ]
}
check '23: --write tries a lock, and leaves nothing behind' tries

# Node 0 is old, loads its data, and is 20 s ahead; node 1 is Valkey, 3 s behind, has a slow call and connections left for few; the
# clock of node 2 runs a fifth too fast.
fakes() {
    perl -Itests/live -MFakeNodes -MTime::HiRes=time -e '
        @FakeNodes::info = ("redis_version:5.0.14\r\nloading:1\r\n",
            "redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.0\r\nconnected_clients:90\r\nrejected_connections:0\r\n");
        my $begin = time;
        FakeNodes::serve(sub {
            my ($k, $word) = @_;
            return "*1\r\n*4\r\n:7\r\n:17\r\n:2300000\r\n*1\r\n" . FakeNodes::bulk("KEYS") if $word eq "SLOWLOG" && $k == 1;
            return "-ERR syntax error\r\n" if $word eq "SET";
            return "*2\r\n" . FakeNodes::bulk("maxclients") . FakeNodes::bulk("100") if $word eq "CONFIG" && $k == 1;
            return "-ERR unknown command\r\n" if $word ne "TIME";
            my $now = time + (20, -3, 0)[$k] + ($k == 2) * (time - $begin) / 5;
            return "*2\r\n" . FakeNodes::bulk(int $now) . FakeNodes::bulk(int(($now - int $now) * 1e6));
        }, @ARGV)' "$redlock" doctor --node-timeout 10s --ttl 1ms --guard 1ms >"$directory/out" 2>"$directory/err"
    [ $? = 2 ] && prints '^node 0 .*UNSAFE  Redis 5\.0\.14 is too old' && prints '^node 0 .*WARNING  is loading its data' &&
    prints '^node 0 .*UNSAFE  its clock is (20\.0|19\.9) s ahead of this machine.s, more than the skew: tickets are refused' &&
    prints '^node 1 .*WARNING  its clock is [23]\.[0-9] s behind this machine' && prints '^node 1 .*WARNING  90 % of its connections are in use' &&
    prints '^node 1 .*WARNING  a call of KEYS took 2\.3 s: the node stalled.* then SLOWLOG RESET$' && ! prints '^node 1 .*too old' >/dev/null &&
    prints '^node 2 .*UNSAFE  its clock runs (19|20)[0-9]{4} ppm too fast: locks end before their time' &&
    prints '^1 of 3 nodes safe, quorum 2: too few to rely on a lock$'
}
check '1, 15, 16, 19, 20, 26: what no server here can be made to say' fakes

# Everything that a node says is looked at, and nothing of it is believed to be well.
nonsense() {
    perl -Itests/live -MFakeNodes -e '
        my @said = (":7\r\n", "*0\r\n", "\$-1\r\n", "+\xff\e[2J\r\n", "*2\r\n:1\r\n:-2\r\n", "*1\r\n*4\r\n:1\r\n:1\r\n:-9\r\n*1\r\n\$-1\r\n",
                    "*2\r\n" . FakeNodes::bulk("timeout") . ":7\r\n", "-\r\n", "*2\r\n" . FakeNodes::bulk("x" x 16) . FakeNodes::bulk(""),
                    FakeNodes::bulk("OK" x 30000));
        my @at = (0, 3, 6);
        FakeNodes::serve(sub { my ($k) = @_; return $said[$at[$k]++ % @said]; }, @ARGV)' \
        "$redlock" doctor --quick --node-timeout 10s --json >"$directory/out" 2>"$directory/err"
    json out 'my %ok = map { $_->{check} => 1 } grep { $_->{severity} eq "ok" && ($_->{node} // 9) == 0 && $_->{check} !~ /^(0|3|4|11|14|19|24)$/ } @{$j->{findings}};
              !%ok && $j->{reached} == 3'
}
check 'nonsense is unknown' nonsense

finish
