#!/bin/sh
# The commands acquire, extend, release and status. Tests their output, exit statuses and JSON.
# shellcheck disable=SC2016    # The expressions are perl's.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 5
choose_refused_port
other=0123456789abcdef0123456789abcdef01234567

# ---- Acquire ----

token_is_printed() {
    is 0 acquire --guard 0 --no-ticket door-0 && prints '^[0-9a-f]{40}$' && [ ! -s "$directory/err" ] &&
    [ "$(most GET door-0)" = "$(cat "$directory/out")" ] &&
    is 0 acquire --guard 0 door && prints '^[0-9a-f]{40}:[0-9]+$' && [ ! -s "$directory/err" ] &&
    [ "$(most GET door):$(most GET door#ticket)" = "$(cat "$directory/out")" ]
}
check 'acquire prints the token and the ticket that are on the nodes, and nothing else' token_is_printed

taken_is_told() {
    is 124 acquire --guard 0 door && says 'door: held by somebody else \(free in [0-9.]+ m?s' && [ ! -s "$directory/out" ]
}
check 'a lock that is held is status 124, and the time left is told' taken_is_told

waits() {
    is 0 acquire --guard 0 -t 1s door-1 && is 0 acquire --guard 0 -w 10s door-1 &&
    is 124 acquire --guard 0 -w 300ms door-1 &&
    says 'not acquired within the time to wait: held by somebody else'
}
check 'acquire waits when told to, and says why in vain' waits

waits_forever() {
    is 0 acquire --guard 0 -t 1s door-2 && is 0 acquire --guard 0 --wait forever door-2 -v && says 'door-2: waiting'
}
check 'acquire waits for ever when told to' waits_forever

json_of_acquire() {
    is 0 acquire --guard 0 --json door-3 && [ "$(wc -l <"$directory/out")" -eq 1 ] &&
    json out '$j->{status} eq "OK" && $j->{code} == 0 && $j->{token} =~ /^[0-9a-f]{40}$/ && $j->{resource} eq "door-3"' &&
    json out '$j->{valid_ms} > 5000 && $j->{valid_ms} < 10000 && $j->{confirmed} >= 3 && $j->{quorum} == 3' &&
    json out '$j->{confirmed} == grep { $_->{vote} eq "granted" && !defined $_->{trouble} } @{$j->{nodes}}' &&
    json out '5 == grep { $_->{address} =~ /^127/ } @{$j->{nodes}}' &&
    is 124 acquire --guard 0 --json door-3 && [ ! -s "$directory/err" ] &&
    json out '$j->{status} eq "TAKEN" && $j->{code} == 1 && !exists $j->{token}' &&
    json out '3 <= grep { $_->{vote} eq "refused" } @{$j->{nodes}}'
}
check 'acquire --json prints one line with the status, the token, the validity and the nodes' json_of_acquire

json_escapes() {
    name=$(printf 'a"b\\c\001\377\303\244\360\237\224\222')
    is 0 acquire --guard 0 --json "$name" && json out '$j->{resource} eq qq{a"b\\c\x01\xff\xe4\x{1f512}}'
}
check 'JSON is right for any bytes of a resource' json_escapes

people_are_spared() {
    name=$(printf 'red\033[31mdoor')
    is 0 acquire --guard 0 "$name" && is 124 acquire --guard 0 "$name" && says 'red\\x1b\[31mdoor: held' &&
    is 124 status --guard 0 "$name" && prints 'red\\x1b\[31mdoor: held'
}
a_pattern_is_a_name() {
    is 0 status --guard 0 'pattern:*' && says "pattern:\* is the name of one lock: 'redlock scan PATTERN' finds those of several" &&
    is 0 status --guard 0 --json 'pattern:*' && ! says 'is the name' >/dev/null && is 0 status --guard 0 pattern: && ! says 'is the name' >/dev/null
}
check 'a pattern given to status is said to be a name' a_pattern_is_a_name
check 'control codes in a resource do not reach the terminal' people_are_spared

# DEL; CSI as C1; forms that are too long; a surrogate; numbers that are too large; two that are well; one that is cut off.
no_ill_formed_character() {
    name=$(printf 'x\177 \302\233 \300\200 \340\200\200 \355\240\200 \360\200\200\200 \364\220\200\200 \365\200 \342\202\254 \302\251 \342\202')
    shown='x\x7f \xc2\x9b \xc0\x80 \xe0\x80\x80 \xed\xa0\x80 \xf0\x80\x80\x80 \xf4\x90\x80\x80 \xf5\x80 € © \xe2\x82: held'
    is 0 acquire --guard 0 "$name" && is 124 acquire --guard 0 "$name" && grep -qF "$shown" "$directory/err" &&
    is 124 acquire --guard 0 --json "$name" &&
    json out '$j->{resource} eq "x\x7f \x9b \xc0\x80 \xe0\x80\x80 \xed\xa0\x80 \xf0\x80\x80\x80 " .
        "\xf4\x90\x80\x80 \xf5\x80 \x{20ac} \xa9 \xe2\x82"'
}
check 'nor do characters that are none, or are one in disguise, and JSON is still right' no_ill_formed_character

unprinted_token() {
    "$redlock" acquire --node-timeout $patience --guard 0 door-4 >/dev/full 2>"$directory/err"
    [ $? = 125 ] && says 'the token could not be written: No space left' && says 'door-4: released, since nobody has the token' &&
    gone door-4
}
unprinted_results() {
    token=$("$redlock" acquire --node-timeout $patience --guard 0 -t 30s door-unprinted) || return 1
    for words in "extend --json door-unprinted $token" "release --json door-unprinted $token" 'status door-unprinted'; do
        # shellcheck disable=SC2086    # Several words.
        "$redlock" $words --guard 0 --node-timeout $patience >/dev/full 2>"$directory/err"
        [ $? = 125 ] && says 'the result could not be written: No space left' || return 1
    done
    "$redlock" --help >/dev/full 2>"$directory/err"
    [ $? = 125 ] && says 'the help could not be written'
}
if [ -c /dev/full ]; then check 'a token that cannot be printed is released' unprinted_token
    check 'a result that cannot be printed is status 125, and the reason is told' unprinted_results
else
    skip 'a token that cannot be printed is released' 'there is no /dev/full'
    skip 'a result that cannot be printed is status 125, and the reason is told' 'there is no /dev/full'
fi

# Files that are opened then must not get their numbers, or a server would read our messages, and our own pipe the token.
closed_descriptors() {
    "$redlock" acquire --node-timeout $patience --guard 0 closed-1 >&- 2>"$directory/err"
    [ $? = 125 ] && says 'the token could not be written: ' && says 'closed-1: released' || return 1
    "$redlock" acquire --node-timeout $patience --guard 0 closed-2 <&- >&- 2>&-
    [ $? = 125 ] && gone closed-1 closed-2 || return 1
    "$redlock" acquire --node-timeout $patience --guard 0 --no-ticket closed-3 <&- >"$directory/out" 2>&- && [ "$(most GET closed-3)" = "$(token)" ] || return 1
    "$redlock" acquire --node-timeout $patience --guard 0 closed-3 <&- >&- 2>&-
    [ $? = 124 ] || return 1
    "$redlock" run --node-timeout $patience --guard 0 closed-4 -- sh -c 'echo lost; echo said >&2; exit 5' <&- >&- 2>&-
    [ $? = 5 ]
}
check 'without descriptors 0 to 2 nothing goes astray, and a token that nobody can read is released' closed_descriptors

without_devices() {
    unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /dev && exec "$@" <&-' sh "$redlock" status --json --guard 0 bare >"$directory/out" &&
    json out '$j->{verdict} eq "free"'
}
if unshare -m sh -c 'mount --make-rprivate / && mount -t tmpfs none /dev' 2>/dev/null; then check 'nor without /dev/null' without_devices
else skip 'nor without /dev/null' 'no file system can be mounted here'; fi

# Nobody reads the full pipe before the lock has run out.
late_reader() {
    perl -MFcntl -e 'pipe(my $out, my $in); fcntl($in, F_SETFL, O_NONBLOCK); 1 while syswrite($in, "x" x 4096);
        1 while syswrite($in, "x"); fcntl($in, F_SETFL, 0);
        my $pid = fork; if ($pid == 0) { open(STDOUT, ">&", $in); close($in); close($out); exec @ARGV or die }
        close($in); sleep 2; 1 while sysread($out, my $x, 65536); waitpid($pid, 0); exit($? >> 8)' \
        "$redlock" acquire --node-timeout $patience --guard 0 -t 1s late 2>"$directory/err"
    [ $? = 122 ] && says 'late: released, since nobody read the token in time' && is 0 status --guard 0 late
}
check 'a lock whose token is read too late is released: status 122' late_reader

few_files() {
    # shellcheck disable=SC3045    # Where the shell has no limit of files the test says nothing.
    (ulimit -n 4 2>/dev/null || exit 125; exec "$redlock" acquire --guard 0 files-1) 2>"$directory/err"
    [ $? = 125 ] && { says 'too many open files in this process .*ulimit -n' || [ ! -s "$directory/err" ]; } || return 1
    # shellcheck disable=SC3045
    (ulimit -n 7 2>/dev/null || exit 122; exec "$redlock" acquire --guard 0 files-2) 2>"$directory/err"
    [ $? = 122 ] && { says 'node 4 .*: too many open files in this process \(raise the limit' || [ ! -s "$directory/err" ]; }
}
check 'too few descriptors are told as that' few_files

# Nobody knows of a hung node whether it is slow.
short_ttl_where_nodes_hang() {
    on 3 STOP && on 4 STOP
    bad=0
    for try in 1 2 3; do
        "$redlock" acquire --guard 0 --json -t 100ms "short-$try" >"$directory/out" 2>"$directory/err"
        case $? in
        0) json out '$j->{valid_ms} > 0' || bad=1 ;;
        122) json out '$j->{status} eq "TOO_LATE"' || bad=1 ;;
        *) cat "$directory/out"; bad=1 ;;
        esac
    done
    on 3 CONT && on 4 CONT
    return $bad
}
check 'acquire hands out no lock that has ended while it waited for nodes that hang' short_ttl_where_nodes_hang

# Ended by the signal that its parent had left blocked.
blocked='use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGTERM, SIGUSR1, SIGCHLD)) or die; exec @ARGV or die'
deaf_parent() {
    is 0 acquire --guard 0 -t 1h blocked-1 || return 1
    perl -e "$blocked" "$redlock" acquire --guard 0 --wait forever blocked-1 2>/dev/null &
    started=$!
    begin $started
    sleep 0.5
    kill -TERM $started
    within 10 is_gone $started
    good=$?
    kill -KILL $started 2>/dev/null
    over $started
    [ $? = 143 ] && [ $good = 0 ] &&
    perl -e "$blocked" "$redlock" run --guard 0 blocked-2 -- perl -MPOSIX -e 'my $mask = POSIX::SigSet->new;
        sigprocmask(SIG_BLOCK, undef, $mask);
        exit(join(" ", grep { $mask->ismember($_) } 1 .. 30) eq join(" ", sort { $a <=> $b } SIGTERM, SIGUSR1, SIGCHLD) ? 0 : 1)'
}
check 'a signal that the parent has blocked ends redlock; the command has the mask that redlock was given' deaf_parent

long_words() {
    long=$(perl -e 'print "x" x 65536')
    is 125 acquire --guard 0 "$long" && says 'x \.\.\. x+: the resource must have 1 to 512 bytes.*: [0-9]+ bytes too long$' &&
    is 125 acquire --guard 0 -r "$long" -r b && says ': the resource must have 1 to 512 bytes.*: [0-9]+ bytes too long, all names together' &&
    is 125 acquire --guard 0 '' && says ': it is empty$' &&
    is 125 acquire --guard 0 -r 'a#b' -r 'c#waiters' -r 'd#e' && says ': it ends in #waiters$' &&
    is 125 acquire --guard 0 a "$long" && says "x' is one word too many" &&
    is 125 acquire --ttl "$long" a && says "x' is no duration" || return 1
    escaped=$(perl -e 'print "\x01" x 512')
    is 0 acquire --guard 0 "$escaped" && is 124 acquire --guard 0 "$escaped" && says 'x01: held by somebody else \(free in'
}
check 'a message about a long word keeps its reason' long_words

# ---- SIGINT ----

# The lock is held on nodes 0 to 2 by somebody else, so every attempt gets 3 and 4 and gives them back.
waits_in_vain() {
    for k in 0 1 2; do ask $k SET "$2" other PX 60000; done >/dev/null
    start "$@" --guard 0 --wait forever --retry 20ms
    sleep 0.5
}
leaves_nothing() {
    waits_in_vain "$@"
    kill -INT "$started"
    over "$started"
    status=$?
    [ $status = 130 ] && within 10 is_at "$2" '' 3 4 && [ "$(ask 0 GET "$2")" = other ]
}
check 'SIGINT while acquire waits: status 130, and no key is left' leaves_nothing acquire int-1
check 'SIGINT while run waits: status 130, and no key is left' leaves_nothing run int-2 true

leaves_nothing_where_nodes_hang() {
    waits_in_vain acquire int-3 --node-timeout 500ms
    on 3 STOP && on 4 STOP
    sleep 0.3
    kill -TERM "$started"
    over "$started"
    status=$?
    on 3 CONT && on 4 CONT
    [ $status = 143 ] && within 10 is_at int-3 '' 3 4
}
check 'SIGTERM while nodes hang: what they do later is undone behind it' leaves_nothing_where_nodes_hang

# ---- Extend and release ----

extends() {
    is 0 acquire --guard 0 -t 10s door-5 && token=$(token) || return 1
    is 0 extend --guard 0 -t 60s door-5 "$token" && [ ! -s "$directory/out" ] && [ "$(lasts door-5)" -gt 50000 ] &&
    is 0 extend --guard 0 -t 60s --json door-5 "$token" &&
    json out '$j->{status} eq "OK" && $j->{valid_ms} > 50000 && $j->{confirmed} >= 3'
}
check 'extend starts the TTL anew' extends

tells_more() {
    is 0 acquire --guard 0 -t 10s door-v && token=$(token) || return 1
    is 0 extend --guard 0 -v -t 60s door-v "$token" && says 'door-v: extended.* 5[0-9]\.[0-9] s' || return 1
    on 4 STOP
    is 0 release --guard 0 -v --node-timeout 2s door-v "$token"
    good=$?
    on 4 CONT
    [ $good = 0 ] && says 'door-v: released on [34] of 5 nodes' && says 'node 4 '
}
check 'extend -v tells for how long, release -v which node did not release' tells_more

# is_had_by_all NAME: a lock for 30 s, as acquire leaves it where no server is slow; sets $token.
is_had_by_all() {
    token=$other
    [ "$(everywhere SET "$1" $token PX 30000 | sort -u)" = OK ]
}

# S17. Whatever becomes of the extension, the holder may go by acquire's output.
fails_and_leaves() {
    is_had_by_all "$1" && is "$2" extend "$1" "$token" "$3" "$4" "$5" "$6" &&
    is_at "$1" "$token" 0 1 2 3 4
}
refused_extensions_leave() {
    fails_and_leaves left-1 125 -t 31s --guard 30s && fails_and_leaves left-2 125 -t 1ms --guard 0 &&
    fails_and_leaves left-3 122 -t 30s --guard 1h && fails_and_leaves left-4 0 -t 5s --guard 0
}
hung_extension_leaves() {
    is_had_by_all left-6 || return 1
    on 0 STOP && on 1 STOP && on 2 STOP
    is 122 extend --guard 0 --node-timeout 1s -t 30s left-6 "$token"
    good=$?
    on 0 CONT && on 1 CONT && on 2 CONT
    sleep 0.3
    [ $good = 0 ] && is_at left-6 "$token" 0 1 2 3 4
}
ended_extension_leaves() {
    is_had_by_all left-7 || return 1
    on 0 STOP && on 1 STOP && on 2 STOP
    start extend --guard 0 --node-timeout 20s -t 30s left-7 "$token"
    sleep 0.5
    kill -TERM "$started"
    over "$started"
    status=$?
    on 0 CONT && on 1 CONT && on 2 CONT
    sleep 0.3
    [ $status = 143 ] && is_at left-7 "$token" 0 1 2 3 4
}
extension_of_a_minority_leaves() {
    is_had_by_all left-8 || return 1
    for k in 0 1 2; do ask $k DEL left-8; done >/dev/null
    is 123 extend --guard 0 -t 30s left-8 "$token" && is_at left-8 "$token" 3 4 && is_at left-8 '' 0 1 2 &&
    is 123 release --guard 0 left-8 "$token" && is_at left-8 '' 0 1 2 3 4
}
check 's17 an extension that is refused leaves the lock as it was' refused_extensions_leave
check 's17 so does one to which a majority does not answer' hung_extension_leaves
check 's17 so does one that SIGTERM ends' ended_extension_leaves
check 's17 so does one that finds too few keys, on the nodes that have them; a release removes those' extension_of_a_minority_leaves

extends_only_ours() {
    is 0 acquire --guard 0 -t 10s door-6 && is 123 extend --guard 0 -t 60s door-6 $other &&
    says 'door-6: not extended: the token does not hold it' &&
    [ "$(everywhere PTTL door-6 | sort -n | tail -n 1)" -le 10000 ] && is 123 extend --guard 0 door-none $other && [ -z "$(ask 0 GET door-none)" ]
}
check "extend leaves alone what is another's, and sets no key: status 1" extends_only_ours

releases() {
    is 0 acquire --guard 0 door-7 && token=$(token) || return 1
    is 0 release --guard 0 door-7 "$token" && says 'door-7: released on [345] of 5 nodes' &&
    gone door-7 &&
    is 123 release --guard 0 door-7 "$token" && says 'door-7: not held'
}
check 'release removes the key, and says on how many nodes; twice is status 5' releases

releases_only_ours() {
    is 0 acquire --guard 0 door-8 && token=$(token) && is 123 release --guard 0 door-8 $other &&
    [ "$(most GET door-8)" = "$token" ] &&
    is 0 release --guard 0 --json door-8 "$token" && json out '$j->{status} eq "OK" && $j->{confirmed} >= 3'
}
check "release leaves alone what is another's" releases_only_ours

releases_on_few() {
    is 0 acquire --guard 0 -t 60s door-9 && token=$(token) || return 1
    for k in 0 1 2; do on $k STOP; done
    is 122 release --guard 0 --node-timeout 2s door-9 "$token"
    good=$?
    for k in 0 1 2; do on $k CONT; done
    [ $good = 0 ] && says 'released on [12] of 5 nodes; the others may keep it' && says 'node 0 .*(--node-timeout|answer)'
}
check 'a release that no quorum confirmed is status 2, since nobody stays to repeat it' releases_on_few

# ---- Too few nodes ----

no_quorum() {
    # shellcheck disable=SC2154    # Set by their numbers.
    list=127.0.0.1:$port_0,127.0.0.1:$refused,127.0.0.1:$refused
    is 122 acquire --guard 0 -n "$list" door-10 && says 'no quorum.*\(1 of 3, quorum 2\)' &&
    says 'node 1 .*: connection refused' &&
    is 122 status --guard 0 -n "$list" door-10 && prints '^door-10: no quorum: 1 of 3 nodes can tell \(quorum 2\); 1 of 3 may vote, so nobody can acquire it now$' &&
    is 122 extend --guard 0 -n "$list" door-10 $other && is 122 release --guard 0 -n "$list" door-10 $other
}
check 'without a quorum every command has status 122' no_quorum

# ---- Status ----

status_free() {
    is 0 status --guard 0 door-free && prints '^door-free: free on 5 of 5 nodes \(quorum 3\)' &&
    prints 'node 4 +127.0.0.1:[0-9]+ +free$' && is 0 status --guard 0 --json door-free &&
    json out '$j->{verdict} eq "free" && 5 == grep { $_->{state} eq "free" } @{$j->{nodes}}'
}
check 'status of a lock that nobody has: 0, free' status_free

status_held() {
    is_had_by_all door-11 || return 1
    ask 4 DEL door-11 >/dev/null
    is 124 status --guard 0 door-11 &&
    prints "^door-11: held by $token for another [0-9.]+ s on 4 of 5 nodes \(quorum 3\)" &&
    prints "node 0 .* held by $token, [0-9.]+ s left" && prints 'node 4 .* free' &&
    is 124 status --guard 0 --json door-11 &&
    json out '$j->{verdict} eq "held" && $j->{agreeing} == 4 && $j->{value} eq "'"$token"'" && $j->{ttl_ms} > 15000' &&
    json out '$j->{nodes}[0]{value} eq $j->{value} && $j->{nodes}[0]{ttl_ms} > 15000'
}
check 'status of a lock that is held: 1, by whom, for how long, on how many nodes' status_held

status_end() {
    for k in 0 1 2; do ask $k SET door-12 same PX $((k + 1))00000; done >/dev/null
    ask 3 SET door-12 same >/dev/null
    is 124 status --guard 0 --json door-12 &&
    json out '$j->{agreeing} == 4 && $j->{ttl_ms} > 190000 && $j->{ttl_ms} <= 200000'
}
check 'a lock ends when fewer than a quorum have it' status_end

status_odd() {
    ask 0 RPUSH door-13 x >/dev/null
    ask 1 SET door-13 foreign >/dev/null
    ask 2 SET door-13 "$other$other" PX 60000 >/dev/null
    is 124 status --guard 0 door-13 && prints '^door-13: split: neither free nor held' &&
    prints 'node 0 .*key of another type' &&
    prints 'node 1 .*held by foreign, no TTL: it does not end by itself' &&
    prints "node 2 .*held by $other\.\.\., [0-9.]+ s left" &&
    is 124 status --guard 0 --json door-13 &&
    json out '$j->{verdict} eq "split" && $j->{nodes}[0]{state} eq "other type"' &&
    json out '$j->{nodes}[1]{value} eq "foreign" && exists $j->{nodes}[1]{ttl_ms} && !defined $j->{nodes}[1]{ttl_ms}'
}
check 'status tells keys of another type, without a TTL, and of other programs' status_odd

status_for_ever() {
    everywhere SET door-15 foreign >/dev/null
    is 124 status --guard 0 door-15 && prints '^door-15: held by foreign for ever \(no TTL\) on 5 of 5 nodes' &&
    is 124 status --guard 0 --json door-15 && json out 'exists $j->{ttl_ms} && !defined $j->{ttl_ms}'
}
check 'status of a key without a TTL: held for ever' status_for_ever

status_of_the_silent() {
    on 4 STOP
    is 0 status --guard 0 --node-timeout 1s door-free && is 0 status --guard 0 --node-timeout 1s --json door-free
    good=$?
    on 4 CONT
    [ $good = 0 ] && json out '$j->{verdict} eq "free" && $j->{nodes}[4]{state} eq "unknown"'
}
check 'status does without a node that does not answer, and says that it knows nothing of it' status_of_the_silent

status_without_vote() {
    is 122 status --guard 10m --node-timeout $patience door-free && prints 'node 0 .*free \(restarted [0-9]+ s ago, no vote for another [0-9]+ s, ' &&
    prints '^door-free: free on 5 of 5 nodes \(quorum 3\); 0 of 5 may vote, so nobody can acquire it now' &&
    is 122 status --guard 10m --node-timeout $patience --json door-free && json out '$j->{verdict} eq "free" && $j->{voters} == 0'
}
check 'status looks at nodes without a vote as well, and says so' status_without_vote

# Each vote is counted, and each that is missing has its reason. Servers refuse a write that means nothing as
# they would refuse one that does, so status need not write. "free" alone is said where acquire would have it.
# says_who_may_vote WORDS: so begins the trouble of nodes 0 to 2.
says_who_may_vote() {
    is 122 status --guard 0 door-vote && prints '^door-vote: free on 5 of 5 nodes \(quorum 3\); 2 of 5 may vote, so nobody can acquire it now$' &&
    prints "node 2 .* free \(no vote: $1" && prints 'node 3 .* free$' &&
    is 122 status --guard 0 --json door-vote && json out '$j->{verdict} eq "free" && $j->{voters} == 2 && !$j->{can_acquire}' &&
    json out '"00011" eq join "", map { $_->{votes} ? 1 : 0 } @{$j->{nodes}}' && json out '$j->{nodes}[0]{trouble} =~ /^'"$1"'/' &&
    is 122 status --guard 0 --permits 2 door-vote && prints '^door-vote: 0 of 2 permits taken, but nobody can acquire one now$' &&
    is 122 acquire --guard 0 --no-ticket door-vote && [ -z "$(most GET door-vote)" ]
}
status_of_the_barred() {
    for k in 0 1 2; do ask $k CONFIG SET maxmemory 1 >/dev/null; done
    says_who_may_vote OOM
    good=$?
    for k in 0 1 2; do ask $k CONFIG SET maxmemory 0 >/dev/null; ask $k CONFIG SET min-replicas-to-write 1 >/dev/null; done
    [ $good = 0 ] && says_who_may_vote NOREPLICAS
    good=$?
    for k in 0 1 2; do ask $k CONFIG SET min-replicas-to-write 0 >/dev/null; done
    [ $good = 0 ] && is 0 status --guard 0 door-vote && prints '^door-vote: free on 5 of 5 nodes \(quorum 3\)$' &&
    is 0 status --guard 0 --json door-vote && json out '$j->{can_acquire} && 5 == grep { $_->{votes} } @{$j->{nodes}}'
}
check 'where acquire would have no quorum status is not 0, says how many may vote, and why the others may not' status_of_the_barred

# After the guard a node votes on plain locks, and gives no tickets yet, for 9 minutes here.
status_without_ticket() {
    is 122 acquire --guard 1s -t 1s --skew 5m --node-timeout $patience door-vote && is 122 status --guard 1s --skew 5m --node-timeout $patience door-vote &&
    prints '^door-vote: free on 5 of 5 nodes \(quorum 3\); 5 of 5 may vote, 0 give tickets, so nobody can acquire it now$' &&
    prints 'node 0 .*free \(restarted .* no ticket for another' &&
    is 122 status --guard 1s --skew 5m --node-timeout $patience --json door-vote &&
    json out '$j->{voters} == 5 && $j->{ticket_givers} == 0 && !$j->{can_acquire}' &&
    is 0 status --guard 1s --skew 5m --node-timeout $patience --no-ticket door-vote && prints '^door-vote: free on 5 of 5 nodes \(quorum 3\)$' &&
    is 0 status --guard 1s --skew 5m --node-timeout $patience --no-ticket --json door-vote && json out '$j->{voters} == 5 && $j->{can_acquire}'
}
check 'status says that a lock can be acquired without a ticket only' status_without_ticket

# It answers, and its keys do not count. Nodes that cannot tell are not said not to have answered. From
# here on three nodes have been replicas, so no uptime of theirs is believed (S30).
status_of_replicas() {
    for k in 1 2 3; do ask $k REPLICAOF 127.0.0.1 "$refused" >/dev/null; done
    is 125 status --guard 0 door-vote && prints '^door-vote: no quorum: 2 of 5 nodes can tell \(quorum 3\); 2 of 5 may vote, so nobody can acquire it now$' &&
    prints 'node 1 .*a replica, not a master$' && is 125 status --guard 0 --json door-vote &&
    json out '$j->{verdict} eq "no quorum" && $j->{voters} == 2 && "10001" eq join "", map { $_->{votes} ? 1 : 0 } @{$j->{nodes}}' &&
    is 125 status --guard 0 --permits 2 door-vote && prints '^door-vote: of 2 permits 0 are known to be taken; of 2 too few nodes can tell$' &&
    is 125 acquire --guard 0 door-vote && says '2 of 5, quorum 3'
    good=$?
    for k in 1 2 3; do ask $k REPLICAOF NO ONE >/dev/null; done
    return $good
}
check 'status does not say of a replica that it has not answered' status_of_replicas

# Free on three, of which one cannot write; on the others it is another's.
status_of_the_torn() {
    ask 3 SET door-torn "$other" PX 60000 >/dev/null
    ask 4 SET door-torn foreign PX 60000 >/dev/null
    is 0 status --guard 0 door-torn && prints '^door-torn: free on 3 of 5 nodes \(quorum 3\)$' || return 1
    ask 0 CONFIG SET maxmemory 1 >/dev/null
    is 124 status --guard 0 door-torn && is 124 acquire --guard 0 --no-ticket door-torn && is 124 status --guard 0 --json door-torn
    good=$?
    ask 0 CONFIG SET maxmemory 0 >/dev/null
    [ $good = 0 ] && json out '$j->{verdict} eq "free" && $j->{agreeing} == 3 && $j->{voters} == 4 && !$j->{can_acquire}'
}
check 'status of a lock that is free where nodes may not vote: not free, as acquire says' status_of_the_torn

# as_reader RULE...: writes the output of status for a user that may do all but that to $directory/out;
# with the default guard.
as_reader() {
    for k in 0 1 2 3 4; do ask $k ACL SETUSER reader reset on '>pw' '~*' '&*' +@all "$1" >/dev/null || return 1; done
    shift
    REDLOCK_USER=reader REDLOCK_PASSWORD=pw "$redlock" status --node-timeout "$patience" "$@" >"$directory/out" 2>"$directory/err"
}
status_of_the_unreadable() {
    is 0 acquire --guard 0 -t 10m door-n || return 1
    as_reader -getrange --guard 0 door-n
    [ $? = 124 ] && prints '^door-n: held by a value that we may not read for another' &&
    prints 'node 0 .* held by a value that we may not read, 9 min [0-9]+ s left \(.*NOPERM.*getrange' && ! prints 'no vote' >/dev/null || return 1
    as_reader -getrange --guard 0 --json door-n
    json out '!defined $j->{value} && !defined $j->{nodes}[0]{value} && $j->{nodes}[0]{trouble} =~ /NOPERM/ && $j->{voters} == 5' || return 1
    as_reader -pttl --guard 1h door-n
    [ $? = 125 ] && prints 'node 0 .*NOPERM.*pttl' || return 1
    as_reader -@write --guard 0 door-vote &&     # The reader only looks, and others may write.
    prints '^door-vote: free on 5 of 5 nodes \(quorum 3\)$' && prints 'node 0 .* free \(NOPERM .*set' &&
    ! prints 'no vote' >/dev/null
}
check 'status tells what an ACL refuses, also behind a guard, and does not call it no vote' status_of_the_unreadable

# fingerprint LIST: as status tells it.
fingerprint() {
    "$redlock" status --guard 0 --node-timeout $patience -n "$1" door-free | sed -n 's/^fingerprint of the nodes: \([0-9a-f]*\) .*/\1/p'
}
# shellcheck disable=SC2154    # Ports are set by their numbers.
same_fingerprint() {
    print=$(fingerprint "$nodes")
    echo "$print" | grep -Eq '^[0-9a-f]{8}$' &&
    [ "$print" = "$(fingerprint "localhost:$port_4,127.0.0.1:$port_1,127.0.0.1:$port_3,127.0.0.1:$port_0,127.0.0.1:$port_2")" ] &&
    is 0 status --guard 0 door-free && prints "^fingerprint of the nodes: $print \(5 of 5\)\$" &&
    is 0 status --guard 0 --json door-free && json out '$j->{fingerprint} eq "'"$print"'" && $j->{fingerprint_of} == 5' &&
    is 0 acquire --guard 0 -t 10s -v door-fingerprint && says '^redlock: fingerprint of the nodes: [0-9a-f]{8} ' && token=$(token) &&
    is 0 extend --guard 0 -v -t 20s door-fingerprint "$token" && says '^redlock: fingerprint of the nodes: [0-9a-f]{8} ' &&
    is 0 release --guard 0 -v door-fingerprint "$token" && says '^redlock: fingerprint of the nodes: [0-9a-f]{8} ' &&
    is 0 run --guard 0 -v door-fingerprint true && says '^redlock: fingerprint of the nodes: [0-9a-f]{8} '
}
# Three of five make a quorum of two, so two clients with other lists may each have one.
other_fingerprint() {
    [ "$(fingerprint "$nodes")" != "$(fingerprint "${nodes%,*}")" ] &&
    is 0 status --guard 0 -n "$nodes,127.0.0.1:$refused" door-free &&
    prints '^fingerprint of the nodes: [0-9a-f]{8} \(5 of 6; the others have not said who they are\)$' &&
    is 122 status -n "127.0.0.1:$refused" door-free && prints '^fingerprint of the nodes: none \(0 of 1; ' &&
    is 122 status -n "127.0.0.1:$refused" --json door-free && json out '!defined $j->{fingerprint} && $j->{fingerprint_of} == 0' &&
    [ "$(fingerprint "$nodes")" != "$(fingerprint "$nodes,127.0.0.1:$refused")" ] &&
    is 0 status --guard 0 --json -n "$nodes,127.0.0.1:$refused" door-free && json out '$j->{fingerprint_of} == 5 && @{$j->{nodes}} == 6'
}
check 's1 a fingerprint of the nodes is the same in whatever order and by whatever names they are listed' same_fingerprint
check 's1 it is another for other nodes, and says when some of them are not in it' other_fingerprint

no_ttl_is_told() {
    for k in 0 1 2; do ask $k SET door-14 foreign; done >/dev/null
    is 124 acquire --guard 0 door-14 && says 'its key has no TTL, so it is no lock'
}
check 'acquire says when a key without a TTL stands in the way' no_ttl_is_told

# ---- What a minority says, and what comes at the same moment ----

# The one that has lost it, and two that do not answer, are no quorum that says it is lost.
one_has_lost_it() {
    is 0 acquire --guard 0 -t 60s door-some && token=$(token) && ask 0 DEL door-some >/dev/null && ask 1 DEL door-some >/dev/null &&
    on 2 STOP && on 3 STOP || return 1
    is 122 extend --guard 0 --node-timeout 2s door-some "$token"
    good=$?
    on 2 CONT && on 3 CONT && [ $good = 0 ] && is 0 extend --guard 0 door-some "$token"
}
check 'to have lost it on fewer nodes than a quorum leaves is no loss' one_has_lost_it

# The answers that win it, and the signal that ends it, are read at the same moment. Both were there when redlock went on.
is_anothers() {
    [ -n "$(ask 4 GET door-late)" ] && [ "$(ask 4 GET door-late)" != "$(echo "$before" | cut -d : -f 1)" ]
}
won_and_told_to_end() {
    is 0 acquire --guard 0 -t 3s door-late && before=$(token) || return 1
    start acquire --guard 0 --node-timeout 20s -t 60s --retry 10s --wait 30s door-late
    sleep 1
    on 0 STOP && on 1 STOP && on 2 STOP && within 10 is_anothers && stop "$started" && on 0 CONT && on 1 CONT && on 2 CONT && sleep 0.5 && kill -TERM "$started" &&
    go_on "$started" || return 1
    over "$started"
    [ $? = 143 ] && [ ! -s "$directory/out" ] && gone door-late
}
check 'a lock that is won in the moment of a signal is released' won_and_told_to_end
finish
