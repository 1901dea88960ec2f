#!/bin/sh
# redlock scan, and redlock status without a resource. Tests the classes of keys on the nodes, and which
# of them --fix removes.
# shellcheck disable=SC2016,SC2154    # The scripts in quotes are for another program. The ports are set by their numbers.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

admin=$redlock-admin
[ -x "$admin" ] || { echo "Bail out! there is no $admin: run make"; exit 1; }
start_servers 3
three=$nodes
# One more that hangs, and one that is not there.
start_server
on 3 STOP
hanging=127.0.0.1:$port_3
count=3
choose_refused_port
nodes=$three

a=5f3a0c6e1b7d42988a3b6d1fe0472c95b1a8e34d
b=0123456789abcdef0123456789abcdef01234567
long=1000000

# Keys that stay as they are need not have much time between the looks. Nothing here has a guard unless
# it is said, since the servers have just been started.
scan() {
    scan_status=$1
    shift
    is "$scan_status" scan --guard 0 --apart 50ms "$@"
}

# in_class CLASS NAME...: these are in the class, by the last output of --json, and no others.
in_class() {
    class=$1
    shift
    for wanted; do printf '%s\n' "$wanted"; done | sort >"$directory/expected"
    perl -MJSON::PP -e 'while (<STDIN>) { my $j = decode_json($_);
        print "$j->{resource}\n" if defined $j->{resource} && grep { $_ eq $ARGV[0] } @{$j->{classes}} }' "$class" <"$directory/out" |
        sort | diff "$directory/expected" - || { echo "class $class"; return 1; }
}
empty() { everywhere FLUSHALL >/dev/null; }

# ask_many NUMBER LINE...: commands to a server, the words of each between blanks. All must succeed.
ask_many() {
    asked=$1
    shift
    eval "set -- \"\$port_$asked\" \"\$@\""
    perl -MIO::Socket::INET -e '
        my $s = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => shift, Timeout => 5) or die "no server\n";
        for (@ARGV) {
            my @w = split / /;
            print $s "*", scalar @w, "\r\n", map { "\$" . length($_) . "\r\n$_\r\n" } @w;
            my $line = <$s>;
            die "$_: $line" if $line =~ /^-/;
        }' "$@"
}
ask_all() {
    for each_asked in 0 1 2; do ask_many $each_asked "$@" || return 1; done
}

# The keys on the nodes, a line for each.
everything() {
    for each in 0 1 2; do
        ask "$each" EVAL 'local k=redis.call("keys",ARGV[1]) table.sort(k) return table.concat(k," "):gsub("[^ -~]","?")' 0 "$1"
    done
}

# ---- Classes ----

nothing_to_tell() {
    scan 0 && prints '^3 of 3 nodes, 0 names: no locks' && is 0 acquire --guard 0 -t 1h door && within 10 has_all door && scan 0 &&
    prints '^3 of 3 nodes, 6 names: 1 held$' && prints '^1 keys beside locks, 1 counters of tickets, 0 of which without a lock$' &&
    [ "$(wc -l <"$directory/out")" -eq 2 ]
    nothing=$?
    empty
    return $nothing
}
has_all() { [ "$(everywhere EXISTS "$1" "$1#ticket" | tr -d '\n')" = 222 ]; }
check 'what is held on all nodes is counted, and says nothing' nothing_to_tell

java=9b2e6f1a-3c4d-4e5f-8a9b-0c1d2e3f4a5b
make_all() {
    ask_all "SET held $a PX $long" "HSET redisson $java:1 1" "PEXPIRE redisson $long" "SET leak $b" "SET redlock:canary#done#done $b" "SET both $a PX $long" \
        "SET shared ~shared PX $long" "ZADD shared#readers 9999999999999 $a" "PEXPIRE shared#readers $long" "SET alone ~shared PX $long" &&
    ask_many 0 "HSET leaked-redisson mode read" "SET split $a PX $long" "SET degraded $a PX $long" "SET unlike $a PX 500000" "RPUSH list 1" \
        "SET mixed $a PX $long" "SET door#ticket 17" &&
    ask_many 1 "SET degraded $a PX $long" "PERSIST both" "SET unlike $a PX $long" "SET text hello,world" "SET mixed $a PX $long" \
        "ZADD gone#readers 9999999999999 $a" "PEXPIRE gone#readers $long" "SET orphan#ticket 17 PX $long" "ZADD hut:#waiters 17 $a" \
        "PEXPIRE hut:#waiters $long" &&
    ask_many 2 "SET left-too q83vEjRWeJq83vEjRWeJqw== PX $long" "SET split $b PX $long" "SET leak-of-one $java" "SET unlike $a PX $long" \
        "SET ticketed hello,world" "SET ticketed#ticket 17 PX $long" "RPUSH mixed 1" &&
    ask 1 SET left "$a web2:4711 job" PX $long >/dev/null
}
finds_each() {
    make_all && scan 1 --json && perl tests/live/documented.pl <"$directory/out" && in_class held degraded both unlike mixed leak &&
    in_class leftover left left-too && in_class split split && in_class degraded degraded mixed && in_class ttl_unlike unlike &&
    in_class no_ttl leak leak-of-one both leaked-redisson && in_class in_the_way mixed ticketed && in_class shared_odd alone 'gone#readers' &&
    in_class beside_no_ttl 'door#ticket' && in_class ttl_over_guard && in_class maybe_held &&
    json out '$j->{counts}{held} == 6 && $j->{counts}{shared} == 2 && $j->{counts}{redisson} == 2 && $j->{counts}{data} == 2 &&
              $j->{orphan_tickets} == 1 && $j->{tickets} == 1 && $j->{found} == 14 && !defined $j->{resource} && $j->{nodes}[2]{scanned}'
}
check 'each class is found, and named' finds_each

in_words() {
    scan 1 && prints '^left: left over: nobody holds it, and it ends by itself: '"$a"' web2:4711 job on 1 of 3 nodes, for another 16 min' &&
    prints '^leak: has no TTL.*held: '"$b"' on 3 of 3 nodes$' && prints '^  node 1 \(127.0.0.1:[0-9]*\): '"$b"', no TTL$' &&
    prints '^mixed: other data has the name of a lock' && prints '^  node 2 .*: a key of another type, no TTL$' &&
    prints '^3 can be removed: --fix$' && prints '^2 without a TTL can be removed, if their owners are gone: --fix --no-ttl'
}
check 'the same in words, with the nodes where something needs somebody' in_words

counts_them() {
    scan 1 --count && prints '^held 6$' && prints '^leftover 2$' && prints '^scanned 3$' && ! grep -q 'left-too' "$directory/out" &&
    scan 0 --count 'left*' && prints '^leftover 2$' && prints '^held 0$' && scan 0 'hel?' && prints '^3 of 3 nodes, 3 names: 1 held$'
}
check '--count gives the numbers alone; a PATTERN leaves out the others' counts_them

lists_what_is_held() {
    is 0 status --guard 0 && prints "^held: held: $a on 3 of 3 nodes, for another 16 min" && prints '^shared: shared: shared on 3 of 3 nodes' &&
    ! grep -q '^left' "$directory/out" && is 0 status --guard 0 --json && perl tests/live/documented.pl <"$directory/out" &&
    in_class held held degraded both unlike mixed leak && in_class shared shared alone && json out '$j->{command} eq "status"' &&
    is 0 scan --guard 0 --held && prints '^held: held' && is 125 status --guard 0 --permits 2 && says 'permits'
}
check 'status without a resource lists what is held' lists_what_is_held
empty

# More names than one question and one answer have room for, on all nodes and on some.
many() {
    for k in 0 1 2; do
        ask $k EVAL 'for i=1,700 do redis.call("set",ARGV[1]:rep(i%9*100+1)..i,ARGV[2],"px",ARGV[3]) end' 0 n "$a" $long
        ask $k EVAL 'for i=1,150 do redis.call("set","of"..ARGV[1]..":"..i,ARGV[2],"px",ARGV[3]) end' 0 $k "$a" $long
    done >/dev/null
    scan 0 --json && json out '$j->{counts}{held} == 700 && $j->{counts}{leftover} == 450 && $j->{found} == 450 && $j->{names} == 2550' &&
    scan 0 --json 'of0:1*' && json out '$j->{counts}{leftover} == 62'
}
check 'many names, long and short, are each looked at once' many

# ---- What takes time, all at once, each among names of its own, beside those many ----

# background NAME WORD...: redlock in the background, into files of that name.
background() {
    into=$directory/$1
    shift
    (
        "$limit" $limit_s "$redlock" "$@" >"$into.out" 2>"$into.err"
        echo $? >"$into.status"
    ) >/dev/null 2>&1 &
    begin $!
}
# ended NAME STATUS: it has ended so; its output is looked at next.
ended() {
    within 60 [ -s "$directory/$1.status" ]
    cp "$directory/$1.out" "$directory/out"
    cp "$directory/$1.err" "$directory/err"
    [ "$(cat "$directory/$1.status")" = "$2" ] || { echo "$1:"; cat "$directory/$1".*; return 1; }
}

odd=$(printf 'odd b\n\001\377 "x\\ {y}')
ask 1 SET "$odd" $a PX $long >/dev/null
ask 1 SET "odd$(printf %0509d 7)" $a PX $long >/dev/null
ask 0 SET "odd$(printf %01025d 7)" $a PX $long >/dev/null
ask_all "SET fix:held $a PX $long" "SET fix:leak $b" "HSET fix:java $java:1 1" "SET fix:both $b PX $long" "SET leak:all $b" \
    "SET leak:both $a PX $long" "SET guard:held $a PX 900000" "SET ask:leak $b"
ask_many 0 "SET fix:left $a PX $long" "SET fix:split $a PX $long" "SET fix:list-too $b PX $long" "SET leak:left $a PX $long" \
    "SET leak:text hello" "SET guard:left $a PX 500000" "SET fix:beside#ticket 17" "SET two:stays $a PX $long" "SET away:left $a PX $long" "SET acl:left $a PX $long"
ask_many 1 "SET fix:split $b PX $long" "SET fix:beaten $b PX $long" "RPUSH fix:list-too 1" "PERSIST leak:both" "SET ask:leak2 $a"
ask_many 2 "SET fix:beaten $a PX $long" "SET leak:one $java" "SET fix:text hello"
ask_many 0 "SET fix:beaten $a PX $long"
# Queues of fair locks. In one the first asks now and then, in the other it has died; the holder has its place still.
place=:0123456789abcdef:7
ask_all "SET line:held $b PX $long" "ZADD line:held#queue 3 $b$place 4 $a$place" "ZADD line:held#lease 9999999999998 $b$place 9999999999999 $a$place" \
    "ZADD line:live#queue 3 $a$place" "ZADD line:live#lease 9999999990000 $a$place" "ZADD line:old#queue 3 $a$place" "ZADD line:old#lease 1000 $a$place" \
    "SET line:held#grant 7 PX $long"
for name in held live old; do ask_all "PEXPIRE line:$name#queue $long" "PEXPIRE line:$name#lease $long"; done
everything 'fix:*' >"$directory/fix.before"
everything 'leak:*' >"$directory/leak.before"

# json_of NAME EXPRESSION: of the line about it.
json_of() {
    perl -MJSON::PP -e 'while (<STDIN>) { my $j = decode_json($_);
        next unless defined $j->{resource} && $j->{resource} eq $ARGV[0]; exit 0 if eval $ARGV[1]; print; exit 1 } exit 1' "$1" "$2" <"$directory/out"
}

background odd scan --guard 0 --node-timeout 10s --apart 1s --fix 'odd*'
background fix scan --guard 0 --node-timeout 10s --apart 1s --fix --json 'fix:*'
background leak scan --guard 0 --node-timeout 10s --apart 1s --fix --no-ttl --yes 'leak:*'
background guard scan --guard 10m --node-timeout 10s --apart 1s --fix --json 'guard:*'
ask 0 SET two:gone $a PX 100 >/dev/null
background gone scan --guard 0 --node-timeout 10s --apart 1s --json 'two:g*'
background rate scan --guard 0 --node-timeout 10s --rate 6000 --count
printf 'no, it is mine, no\ny\n' >"$directory/answers"        # The end of a long answer is none to the next question.
terminal="$redlock scan --guard 0 --node-timeout 10s --apart 1s --fix --no-ttl 'ask:*'"
(script -qec "$terminal" /dev/null <"$directory/answers" >"$directory/ask.out" 2>"$directory/ask.err"; echo $? >"$directory/ask.status") >/dev/null 2>&1 &
begin $!
terminal="$redlock scan --guard 0 --node-timeout 10s --rate 4000 --apart 50ms --count"
(script -qec "$terminal" /dev/null </dev/null >"$directory/show.out" 2>"$directory/show.err"; echo $? >"$directory/show.status") >/dev/null 2>&1 &
begin $!
background line scan --guard 0 --node-timeout 10s --apart 2s --json 'line:*'
background words scan --guard 0 --node-timeout 10s --apart 2s 'line:held#*'
asks=0
while [ ! -s "$directory/line.status" ] && asks=$((asks + 1)); do
    ask_all "ZADD line:live#lease $((9999999990000 + asks)) $a$place" || break
    sleep 0.1
done >/dev/null 2>&1 &
begin $!
background away scan --guard 0 --node-timeout 2s --apart 1s --fix -n "127.0.0.1:$port_0,127.0.0.1:$port_1,$hanging" 'fix:held'
background left scan --guard 0 --node-timeout 2s --apart 1s --fix -n "127.0.0.1:$port_0,127.0.0.1:$port_1,$hanging" 'away:*'
background few status --guard 0 --node-timeout 1s --json -n "127.0.0.1:$port_0,127.0.0.1:$refused,$hanging"
words=$(sed -n '/^\.\\" acl-scan/,/^\.Ed/p' tools/man/redlock.7 | sed -n '/^[~&+]/p')
# shellcheck disable=SC2086    # Several words.
for k in 0 1 2; do ask $k ACL SETUSER halfway reset on '>pw' $words '~acl:*' >/dev/null; done
REDLOCK_USER=halfway REDLOCK_PASSWORD=pw background acl scan --guard 0 --node-timeout 10s --apart 1s --fix 'acl:*'
background two scan --guard 0 --node-timeout 10s --apart 2s --json --trace=votes 'two:*'
# At the second look another client has it.
within 10 grep -q two:stays "$directory/two.err"
ask 0 SET two:stays $b PX $long >/dev/null

removes_left_overs() {
    ended fix 1 && json out '$j->{removed} == 3' && in_class leftover fix:left fix:list-too && in_class split fix:split && in_class degraded fix:beaten || return 1
    sed -e 's/fix:left //; s/fix:split *//' -e '1s/fix:list-too //; 2s/fix:beaten //' "$directory/fix.before" | sed 's/ $//' >"$directory/expected"
    everything 'fix:*' | diff "$directory/expected" -
}
check '--fix removes what is left over, split or beaten, by its value, and nothing else' removes_left_overs

removes_leaks() {
    ended leak 1 && prints '^leak:one: has no TTL' && prints '^  removed from 1 of 3 nodes$' && prints '^  removed from 3 of 3 nodes$' || return 1
    sed -e 's/leak:all *//; s/leak:left *//; s/leak:one *//' "$directory/leak.before" | sed 's/ $//' >"$directory/expected"
    everything 'leak:*' | diff "$directory/expected" -
}
check '--fix --no-ttl removes leaks, but none that is held by keys with a TTL, and no data' removes_leaks

may_not_remove() {
    ended acl 0 && prints '^  removed from 0 of 3 nodes$' && says 'node 0 .*(to remove takes|del)' && [ "$(ask 0 EXISTS acl:left)" = 1 ]
}
check 'that an ACL refuses to remove something is told' may_not_remove

asks_first() {
    ended ask 1 && prints 'ask:leak: remove .* whose owner may live' && prints 'ask:leak2: remove .*' && [ "$(everything 'ask:*' | sort -u | grep -c .)" = 1 ]
}
any_bytes() {
    ended odd 0 && prints '^odd b\\x0a\\x01\\xff "x\\ \{y\}: left over' && prints '^odd0{508}7: left over' && prints '^2 removed$' &&
    says '^redlock: 1 keys with a name of more than 1024 bytes were left out' && [ -z "$(ask 1 KEYS 'odd*' | tr -d '*0')" ] || return 1
    ask 1 SET "$odd" $a PX $long >/dev/null && scan 0 --json 'odd*' && json out '$j->{long_names} == 1' &&
    grep -q '"resource":"odd b\\u000a\\u0001\\u00ff \\"x\\\\ {y}"' "$directory/out"
}
check 'names have any bytes, also where they are removed' any_bytes

tells_queues() {
    ended line 0 && perl tests/live/documented.pl <"$directory/out" && in_class queue_idle 'line:held#queue' && json out '$j->{changing} >= 1' &&
    json_of 'line:held#queue' '$j->{agreeing} == 3 && $j->{value} eq "'$a'" && $j->{ttl_ms} > 1e6 && $j->{nodes}[2]{queued} == 1' &&
    is 0 scan --guard 0 --held 'line:*' && prints "^line:held: held: $b on 3 of 3 nodes, for another 16 min .*, 1 queued$" && ! grep -q '#queue\|queue_idle' "$directory/out" &&
    scan 0 'line:*' && ! grep -q 'queue_idle' "$directory/out" && ended words 0 &&
    prints "^line:held#queue: the first of this queue no longer asks.*: $a on 3 of 3 nodes, for another .*, 1 queued"
}
check 'a queue whose first no longer asks is told; of a held lock how many wait for it' tells_queues

keeps_to_the_guard() {
    ended guard 1 && in_class ttl_over_guard guard:held && in_class maybe_held guard:left && in_class leftover && [ "$(ask 0 EXISTS guard:left)" = 1 ] &&
    is 1 scan --guard 60s --apart 50ms 'guard:held' && is 0 scan --guard 15m --apart 50ms 'guard:held'
}
check 'TTLs over the guard are told; what nodes may have forgotten that have just restarted is not removed' keeps_to_the_guard

comes_and_goes() {
    ended two 0 && json out '$j->{changing} >= 1 && $j->{found} == 0' && ended gone 0 && json out '$j->{found} == 0'
}
check 'what is not so at both looks is not told' comes_and_goes

keeps_its_rate() {
    ended rate 1 && prints '^leftover [0-9]+$'
}
check_on_terminal 'on a terminal it asks before it removes what has no TTL, and a no keeps it' asks_first
shows_progress() { ended show 1 && prints 'node 1 of 3, [0-9]* names'; }
check_on_terminal 'a terminal is told how far it is' shows_progress
check '--rate leaves nothing out' keeps_its_rate

node_is_away() {
    ended away 1 && prints '^2 of 3 nodes, 2 names: 1 held$' && says 'node 2 .*it hangs' && ended left 1 && prints '^away:left: may be held' &&
    [ "$(ask 0 EXISTS away:left)" = 1 ] && ended few 3 &&
    json out '$j->{nodes}[0]{scanned} && !$j->{nodes}[2]{scanned} && $j->{nodes}[1]{trouble} eq "connection refused" && $j->{status} eq "NO_QUORUM"'
}
check 'a node that is away is named, and what it may have is not removed; too few nodes are status 3' node_is_away

is_ended() {
    start scan --guard 0 --rate 50 --apart 50ms
    within 10 prints 'left over' || return 1
    kill -INT "$started"
    over "$started"
    [ $? = 130 ] && prints '^0 of 3 nodes, [0-9]* names: .* leftover' && ! says 'was not gone through'
}
check '^C ends it, with what is known by then' is_ended
empty

tells_who_waits() {
    is 0 acquire --guard 0 --node-timeout 10s --fair --no-ticket -t 60s fair:door || return 1
    token=$(cat "$directory/out")
    start acquire --guard 0 --node-timeout 10s --fair --no-ticket -t 60s --wait 60s fair:door
    within 10 one_is_queued && scan 0 'fair:*' && prints ' names: 1 held$' && is 0 release --guard 0 --node-timeout 10s fair:door "$token" &&
    over "$started" && scan 0 --held 'fair:*' && ! grep -q queued "$directory/out"
}
one_is_queued() { is 0 scan --guard 0 --held 'fair:*' && prints '^fair:door: held: .* on 3 of 3 nodes, for another .*, 1 queued$'; }
check 'of a fair lock it says how many wait for it' tells_who_waits
empty

# ---- A node twice; what an ACL hides ----

copies_have_no_say() {
    scan 1 -n "$nodes,127.0.0.1:$port_0" && prints '^3 of 4 nodes' && says 'node [03] .*name each server once'
}
check 'a node that is named twice has no say of its own' copies_have_no_say

needs_only_its_acl() {
    words=$(sed -n '/^\.\\" acl-scan/,/^\.Ed/p' tools/man/redlock.7 | sed -n '/^[~&+]/p')
    # shellcheck disable=SC2086    # Several words.
    for k in 0 1 2; do ask $k ACL SETUSER looker reset on '>pw' $words >/dev/null || return 1; done
    for prefix in lock: other:; do
        ask_all "SET ${prefix}held $a PX $long" "SET ${prefix}shared ~shared PX $long" "ZADD ${prefix}shared#readers 9999999999999 $a" \
            "PEXPIRE ${prefix}shared#readers $long" "SET ${prefix}held#ticket 17 PX $long" &&
        ask_many 0 "SET ${prefix}left $a PX $long" "HSET ${prefix}java mode read"
    done
    everywhere ACL LOG RESET >/dev/null
    export REDLOCK_USER=looker REDLOCK_PASSWORD=pw
    scan 1 'lock:*' --json && in_class leftover lock:left && json out '$j->{counts}{shared} == 1 && $j->{counts}{held} == 1 && $j->{hidden} == 0' &&
    [ "$(ask 0 ACL LOG)" = '*0' ] && scan 1 --json && json out '$j->{hidden} > 0 && $j->{counts}{held} == 1' && scan 1 &&
    says 'keys must not be read by this user: name a PATTERN'
    hides=$?
    for k in 0 1 2; do ask $k ACL SETUSER looker -scan >/dev/null; done
    [ $hides = 0 ] && scan 3 'lock:*' && says 'node 0 .*to scan takes .*[+]scan'
    hides=$?
    unset REDLOCK_USER REDLOCK_PASSWORD
    return $hides
}
check 'the guide says what its user must be allowed; what is hidden is told' needs_only_its_acl
empty

wrong_words() {
    is 125 scan --guard 0 --fix --no-ttl <&- && says 'takes a terminal; or give --yes' && is 125 scan --no-ttl && is 125 scan --fix --yes &&
    is 125 scan --fix --count && is 125 scan --fix --apart 999ms && says 'at least 1 s' &&
    is 125 scan a b && says "'b' is one word too many" && is 125 scan --rate x && is 125 scan --apart 0 && is 125 scan -n '' &&
    is 125 scna && says "did you mean 'scan'\?" && is 0 scan --help && prints 'Exit status: 0' && "$admin" status --help >"$directory/out" && prints 'List the locks'
}
check 'wrong words are named' wrong_words

finish
