#!/bin/sh
# redlock --trace: shows the wire, the votes, and an arithmetic that is right.
# shellcheck disable=SC2016    # The expressions are perl's.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 5
choose_refused_port

traced() {
    is 0 acquire --guard 0 --no-ticket --trace door && token=$(token) || return 1
    short=$(echo "$token" | cut -c 1-6)..$(echo "$token" | cut -c 39-40)
    says '^ +0\.000 +=  acquire, round 1: to 5 nodes, quorum 3, TTL 10000 ms$' &&
    [ "$(grep -Ec "^ +[0-9]+\.[0-9]{3} +[0-4]  >  SET door $short NX PX 10000 +acquire it" "$directory/err")" -ge 3 ] &&
    [ "$(grep -Ec '^ +[0-9.]+ +[0-4]  <  \+OK +granted, [1-5]/5$' "$directory/err")" -ge 3 ] &&
    says '^ +[0-9.]+ +=  won 3/5: 10000 - [0-9.]+ elapsed - 102 drift = [0-9.]+ ms valid$'
}
check 'it shows each SET, each vote, and the verdict' traced

handshake() {
    is 0 acquire --guard 0 --no-ticket --trace=all door-a && adds_up 1 && says '> +CLIENT SETNAME redlock' && says '> +INFO' && says '> +EVAL return 0' && says '> +SCRIPT LOAD ' &&
    says '=  ready: ok, run_id [0-9a-f]{6}\.\.[0-9a-f]{2}$' &&
    says '=  connected to 127.0.0.1:'
}
# Every verdict of a file adds up; there are as many as said. Times never go back.
adds_up() {
    perl -e 'my ($verdicts, $last) = (0, 0);
        while (<STDIN>) {
            if (/^ *(\d+\.\d{3}) /) { die "time goes back: $_" if $1 < $last; $last = $1 }
            next if !/: (\d+) - ([\d.]+) elapsed - ([\d.]+) drift = ([\d.]+) ms valid/;
            die "it does not add up: $_" if abs($1 - $2 - $3 - $4) > 0.0001;
            $verdicts++;
        }
        die "$verdicts verdicts, not $ARGV[0]\n" if $verdicts < $ARGV[0]' "$1" <"$directory/err"
}
check 'the arithmetic of the verdict adds up' adds_up 1
check 'with =all it shows the handshake' handshake

refused() {
    is 124 acquire --guard 0 --no-ticket --trace door && says '< +\(nil\) +refused: somebody has it$' && says '> +PTTL door' &&
    says '< +:[0-9]+ +its holder has [0-9.]+ s left' &&
    says '=  lost after [0-9.]+ ms: 0 granted, [345] refused, .* [012] pending: [012] of 5 at most, quorum 3$'
}
check 'it shows refusals, and how long the holder has left' refused

tickets() {
    is 0 acquire --guard 0 --trace door-t && ticket=$(cut -d : -f 2 "$directory/out") || return 1
    says "> +EVALSHA acquire 1 door-t token=[0-9a-f]{6}\\.\\.[0-9a-f]{2} ttl=10000 ticket=$ticket life=86400000 skew=10000 +acquire it, if it is free" &&
    says '< +\+OK +granted, 2/5$' && says "=  won 3/5: .* ms valid, ticket $ticket$" && adds_up 1 &&
    is 124 acquire --guard 0 --trace door-t &&
    says "< +$ticket [0-9]+ +refused: its holder has [0-9.]+ s left"
}
larger_tickets() {
    everywhere SET door-s#ticket $(($(date +%s) + 5))000000 PX 60000 >/dev/null
    is 0 acquire --guard 0 --wait 10s --trace door-s &&
    says '< +[0-9]+ -2 +refused: it is free, but the ticket must be larger than [0-9]+$' &&
    says '=  acquire, round 2' && says '=  won 3/5: .*, ticket [0-9]+1$'
}
check 'it shows tickets, and what refuses one' tickets
check 'it shows a ticket that is too small, and the next' larger_tickets

extended() {
    is 0 extend --guard 0 -t 20s --trace door "$(most GET door)" && says '=  extend, round 1: to 5 nodes' &&
    says '> +EVALSHA extend 1 door token=[0-9a-f]{6}\.\.[0-9a-f]{2} ttl=20000 +extend it, if it is ours' &&
    says '< +:1 +granted, [1-5]/5' && adds_up 1
}
check 'it shows an extension' extended

released() {
    is 0 release --guard 0 --trace door "$(most GET door)" &&
    says '> +EVALSHA release 1 door token=[0-9a-f]{6}\.\.[0-9a-f]{2} entry="" +release it, if it is ours' &&
    says '< +:1 +it was ours, and is removed' && says '=  released [345]/5$'
}
check 'it shows a release' released

# A user may load no scripts, so each is unknown, and sent as text.
texts() {
    everywhere ACL SETUSER bob on '>bobs' '~*' '&*' +@all -script >/dev/null
    is 0 acquire --guard 0 door && token=$(token) || return 1
    everywhere SCRIPT FLUSH >/dev/null
    export REDLOCK_USER=bob REDLOCK_PASSWORD=bobs
    is 0 extend --guard 0 --trace door "$token" && adds_up 1 && says '> +EVALSHA extend 1 door .* +extend it, if it is ours' &&
    says '< +-NOSCRIPT .* +it does not know the script, and gets its text' &&
    says '> +EVAL extend 1 door token=.* ttl=10000 +extend it, if it is ours' && says '< +:1 +granted, [1-5]/5' &&
    is 0 release --guard 0 --trace door "$token" && says '> +EVAL release 1 door token=.* +release it, if it is ours' &&
    says '< +:1 +it was ours, and is removed'
    good=$?
    unset REDLOCK_USER REDLOCK_PASSWORD
    return $good
}
check 'it knows the scripts by their texts as well as by their SHA-1s' texts

# The number of rows of 80 columns that it takes, where times are short, since a busy machine makes the
# column of times wider.
rows_shown() {
    rows=$(sed -E 's/^ *[0-9]+\.[0-9]{3} /   0.000 /' "$directory/err" |
        awk '{ rows += length == 0 ? 1 : int((length + 79) / 80) } END { print rows }')
    echo "$rows rows"
}
# One late node is shown in a row of its own.
fits_on_a_screen() {
    for name in "$1-1" "$1-2" "$1-3"; do
        is 0 acquire --guard 0 --trace ${2:+"$2"} "$name" && rows_shown && [ "$rows" -lt 22 ] && return 0
        cat "$directory/err"
    done
    return 1
}
# Bytes that pass have their meaning beside them, in words.
needs_no_manual() {
    ! grep -E '^ +[0-9.]+ +[0-4]  [<>]  ' "$directory/err" | grep -vE '[<>]  [^ ]+( [^ ]+)*  +[a-z]'
}
# The first lock on servers that know no script yet, so that each gets its text. It fits on a page of 80
# columns and 40 rows.
fits_on_a_page() {
    for name in "$1-1" "$1-2" "$1-3"; do
        everywhere SCRIPT FLUSH >/dev/null
        is 0 acquire --guard 0 --trace "$name" && says 'NOSCRIPT' && needs_no_manual && rows_shown && [ "$rows" -le 40 ] && return 0
        cat "$directory/err"
    done
    return 1
}
# The handshakes are left out, and a wire that is short stands on a screen of 80 columns and 24 lines, the prompt included.
only_votes() {
    is 0 acquire --guard 0 --no-ticket --trace=votes door-v && needs_no_manual && says '^ +0\.000 +=  acquire, round 1: to 5 nodes, quorum 3, TTL 10000 ms$' &&
    says '^ +[0-9.]+ +[0-4]  >  SET door-v ' && says '=  won 3/5: ' && adds_up 1 || return 1
    ! grep -E 'INFO|EVAL return|SCRIPT|SETNAME|connected|ready' "$directory/err" || return 1
    fits_on_a_screen door-y --no-ticket && is 0 acquire --guard 0 door-w0 && fits_on_a_screen door-w '' && fits_on_a_page door-p &&
    is 0 acquire --guard 0 --no-ticket --trace=all door-x && says '> +INFO' &&
    is 125 acquire --trace=loud door && says "^redlock: --trace: 'loud' is neither 'all' nor 'votes'$"
}
check 'it shows no handshake unasked, fits on a screen, and says what each line means' only_votes

# Nodes that were good and hang now are asked, and let the time pass; one that never answered the handshake is not asked.
hung() {
    start run --guard 0 --node-timeout 300ms -t 4s --trace=votes door-h -- sleep 20
    within 20 says 'granted, 5/5$' && on 0 STOP && on 1 STOP && on 2 STOP &&
        within 10 says '[012]  =  unknown: asked, but no answer in time'
    is_told=$?
    on 0 CONT && on 1 CONT && on 2 CONT
    kill "$started"
    over "$started"
    [ $is_told = 0 ] && says '=  lost after [0-9.]+ ms: [0-2] granted, 0 refused, [3-5] unknown, .* pending: [0-2] of 5 at most, quorum 3$'
}
check 'it says of a hung node that it was asked, and of a lost round what is certain' hung

votes_unreachable() {
    is 0 acquire --guard 0 --no-ticket --trace=votes -n "$nodes,127.0.0.1:$refused" door-2v &&
    says "^ +[0-9.]+ +5  =  127.0.0.1:$refused: connection refused" && says '^ +[0-9.]+ +5  =  not asked: connection refused'
}
check 'with =votes it shows which nodes are not asked, and why' votes_unreachable

looked() {
    is 0 status --guard 0 --trace door && says '=  status, round 1' &&
    says '> +GETRANGE door 0 [0-9]+ +whose token is there' && says '> +SET door - NX XX +may we\? no vote$' &&
    says '< +:-2 +there is no key'
}
check 'it shows how a status is found' looked

# let_go WORDS...: does a release beside the client that waits. told PATTERN: looks in the waiting client's output.
let_go() {
    "$redlock" release --guard 0 --node-timeout "$patience" --trace "$@" >"$directory/released" 2>&1
}
told() {
    grep -Eq -e "$1" "$directory/released" || { cat "$directory/released"; return 1; }
}

# A poll, its refusal, and the release that calls the next. Each word has a name or a meaning.
fair() {
    is 0 acquire --guard 0 -t 60s --fair --trace door-f && token=$(token) && says ' turn,round,renews,entry=0 1 0 +acquire it in our turn$' &&
    start acquire --guard 0 --fair --wait 50s --trace door-f && within 20 says ' 1 0 +refused: its holder has [0-9.]+ s left; last turn' || return 1
    says '< +[0-9]+ [0-9]+ 0 -1 +refused: .*; last turn, before us \(-1: all\): 0 -1$' &&
    says ' turn,round,renews,entry=1 2 1 [0-9a-f]{16}:1 +acquire it in our turn$' &&
    let_go --fair door-f "$token" && told ' entry="" calls-next=1 +release it' && told 'a waiting client is told$' && over "$started" &&
    says '=  won 3/5'
}
check 'it shows the order of a fair lock' fair

redisson() {
    first=${nodes%%,*}
    is 0 acquire --guard 0 -t 60s --redisson --trace -n "$first" door-r && token=$(token) && says ' token=[0-9a-f-]{32}\.\. ttl=60000 +acquire' &&
    start acquire --guard 0 --redisson --wait 50s --trace -n "$first" door-r && within 20 says '> +PTTL door-r +how long will its holder' &&
    says '< +0 [0-9]+ +refused: its holder has [0-9.]+ s left$' &&
    let_go --redisson -n "$first" door-r "$token" && told 'a waiting client is told$' && over "$started" && says '=  won 1/1'
}
check "it shows Redisson's lock" redisson

whole_run() {
    is 0 run --guard 0 -t 3s --trace door -- sleep 5 && adds_up 4 && says '=  acquire, round 1:' &&
    says '=  extend, round 3:' &&
    says '=  release, round ' && says '=  released [345]/5'
}
check 'it shows a run from the acquire to the release' whole_run

unreachable() {
    is 0 acquire --guard 0 --trace -n "$nodes,127.0.0.1:$refused" door-2 &&
    says "=  127.0.0.1:$refused: connection refused"
}
check 'it shows a node that cannot be reached' unreachable

odd_bytes() {
    name=$(printf 'a\033[31m\001%0100d' 0)
    is 0 acquire --guard 0 --no-ticket --trace "$name" && says 'SET a\\x1b\[31m\\x010+\.\. ' &&
    ! grep "$(printf '\033')" "$directory/err"
}
check 'odd and long words are shortened and made printable' odd_bytes

errors() {
    for k in 0 1 2; do ask $k CONFIG SET maxmemory 1; done >/dev/null
    is 122 acquire --guard 0 --trace door-3
    good=$?
    for k in 0 1 2; do ask $k CONFIG SET maxmemory 0; done >/dev/null
    [ $good = 0 ] && says '< +-OOM .* unknown$' && says '=  lost after [0-9.]+ ms: [0-2] granted, 0 refused, 3 unknown' &&
    says 'node 0 .*OOM .*maxmemory' && gone door-3
}
check 'it shows errors as the votes they are: unknown' errors

json_beside() {
    is 0 acquire --guard 0 --trace --json door-4 && json out '$j->{status} eq "OK"' && adds_up 1
}
check 'it stands beside --json' json_beside

finish
