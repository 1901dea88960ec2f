#!/bin/sh
# --json prints one object whatever happens, no word beside it, and each field as the manuals say.
# shellcheck disable=SC2016    # The expressions are perl's.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
choose_refused_port
# shellcheck disable=SC2154    # The ports are set by their numbers.
two=127.0.0.1:$port_0,127.0.0.1:$port_1
none=0123456789012345678901234567890123456789
: >"$directory/seen"

# tells STATUS WORD...: in one object on stdout, or of run and lead on stderr, that is as documented,
# and nothing else. The output stays in $directory/told.
tells() {
    is "$@" || return 1
    shift
    case " $* " in
    *' run '* | *' lead '*) told=err other=out ;;
    *) told=out other=err ;;
    esac
    cp "$directory/$told" "$directory/told"
    [ ! -s "$directory/$other" ] || { echo "redlock $*: also on std$other:"; cat "$directory/$other"; return 1; }
    perl tests/live/documented.pl "$directory/seen" <"$directory/told" || { echo "redlock $*"; return 1; }
}

# has FIELD...: the object has all of these, and no others at its top.
has() {
    json told 'my %w = map { $_ => 1 } qw('"$*"'); my @d = grep { !$w{$_} != !exists $j->{$_} } keys %w, keys %$j; print "@d\n"; !@d'
}
head='version command resource status code text'
lock="$head quorum nodes"

locks() {
    tells 0 acquire --json --guard 0 door && has "$lock" token ticket valid_ms confirmed && json told '@{$j->{nodes}} == 3' || return 1
    token=$(perl -MJSON::PP -e 'print decode_json(<STDIN>)->{token}' <"$directory/told")
    tells 0 extend --json --guard 0 door "$token" && has "$lock" token valid_ms confirmed &&
    tells 124 acquire --json --guard 0 door && has "$lock" && json told '$j->{status} eq "TAKEN" && $j->{code} == 1' &&
    tells 0 keep --json --guard 0 --pid 2147480000 door "$token" && has "$lock" token valid_ms confirmed &&
    tells 123 release --json --guard 0 door "$token" && has "$lock" && json told '$j->{status} eq "LOST"' &&
    tells 0 acquire --json --guard 0 -t 10m --holder 'web 1' --permits 2 --no-ticket hut && has "$lock" token slot holder valid_ms confirmed &&
    tells 0 acquire --json --guard 0 -t 10m -s hall -s yard &&
    has version command resources status code text quorum nodes token ticket shared valid_ms confirmed && json told '@{$j->{resources}} == 2'
}
check 'acquire, extend, release and keep tell what the manual says' locks

foreign_holders() {
    everywhere SET quoted "$none a\"b\\c" >/dev/null && tells 0 extend --json --guard 0 quoted "$none a\"b\\c" &&
    json told '$j->{holder} eq "a\"b\\c"'
}
check 'a name of another program may have quotes' foreign_holders

runs() {
    tells 0 run --json --guard 0 r true && has "$lock" exit reason && json told '$j->{reason} eq "command ended"' &&
    tells 3 run --json --guard 0 -r r -r s -- sh -c 'exit 3' && json told '$j->{exit} == 3' &&
    tells 127 run --json --guard 0 r -- /nonexistent && has "$lock" exit reason error && json told '$j->{error} =~ /No such file/' &&
    tells 126 run --json --guard 0 r -- / && json told '$j->{reason} eq "command not run"' &&
    tells 123 run --json --guard 0 --max-hold 100ms r sleep 20 && json told '$j->{reason} eq "max-hold"' &&
    tells 123 run --json --guard 0 --max-extensions 0 -t 300ms r sleep 20 && json told '$j->{reason} eq "max-extensions"' &&
    tells 0 run --json --guard 0 --once-per 31d p true && has "$lock" exit reason mark && json told '$j->{mark}{status} eq "OK"' &&
    tells 121 run --json --guard 0 --once-per 31d p true && json told '$j->{reason} eq "already ran" && $j->{mark}{by}' &&
    is 0 run --json --guard 0 --log json r true && perl tests/live/documented.pl "$directory/seen" <"$directory/err" &&
    tells 4 lead --json --guard 0 l -- sh -c 'exit 4' && json told '$j->{command} eq "lead"' &&
    tells 124 run --json --guard 0 --wait 0 quoted true && has "$lock" exit reason && json told '$j->{reason} eq "not acquired"'
}
check 'run and lead tell it on stderr, with the exit status and the reason' runs

looks() {
    seen="$lock verdict agreeing voters ticket_givers can_acquire fingerprint fingerprint_of"
    tells 0 status --json --guard 0 free && has "$seen" && json told '$j->{verdict} eq "free" && $j->{status} eq "OK"' &&
    tells 124 status --json --guard 0 quoted && has "$seen" value ttl_ms holder && json told '!defined $j->{ttl_ms}' &&
    tells 124 status --json --guard 0 hall && has "$seen" value ttl_ms holder shared readers more_readers writer_waits_since &&
    tells 0 status --json --guard 0 -r free -r free2 && [ "$(wc -l <"$directory/told")" -eq 2 ] && json told '$j->{resource} eq "free2"' &&
    tells 0 status --json --guard 0 --permits 2 hut && has "$head" permits taken slots &&
    json told '$j->{taken} == 1 && $j->{slots}[0]{resource} eq "hut:1"' &&
    tells 1 leader --json --guard 0 nobody && has "$lock" verdict answers epoch leader && json told '!defined $j->{leader}' &&
    tells 123 break --json --token "$none" nowhere && has "$lock" holder removed left_ms &&
    tells 0 break --json --token "$none" quoted && has "$lock" holder removed left_ms || return 1
    "$redlock" doctor --json --quick >/dev/null 2>&1
    tells $? doctor --json --quick && has "$lock" exit severity safe reached fingerprint findings &&
    tells 0 ping --json --node-timeout 10s --count 1 && has "$lock" node_timeout_ms
}
check 'status, leader, break and doctor tell what the manual says' looks

# each WORD...: of all commands.
each() {
    each_status=$1
    shift
    tells "$each_status" acquire "$@" door && tells "$each_status" extend "$@" door "$none" && tells "$each_status" release "$@" door "$none" &&
    tells "$each_status" keep --pid 1 "$@" door "$none" && tells "$each_status" run "$@" door true && tells "$each_status" status "$@" door &&
    tells "$each_status" lead "$@" door true && tells "$each_status" leader "$@" door && tells "$each_status" break --token "$none" "$@" door &&
    tells "$each_status" doctor "$@" && tells "$each_status" ping "$@" && tells "$each_status" scan "$@" &&
    tells "$each_status" status "$@" && tells "$each_status" watch "$@" door
}
wrong() {
    each 125 --json -n 127.0.0.1:99999 && has "$head" nodes && json told '$j->{status} eq "BAD_ADDRESS" && !@{$j->{nodes}}' &&
    each 125 --json -n '' && json told '$j->{status} eq "BAD_SETTINGS"' && each 125 -n "$two," --json &&
    each 125 --json --password-file /nonexistent && each 125 --node-timeout 7 --json && each 125 --frob --json &&
    (unset REDLOCK_NODES; each 125 --json)
}
check 'wrong options and lists of nodes are told so by each command, also if they stand before --json' wrong

scans() {
    ask 1 SET leak "$none" >/dev/null && tells 1 scan --json --guard 0 --apart 50ms && ask 1 DEL leak >/dev/null && json told 'exists $j->{counts}{held} && !defined $j->{resource} && !$j->{hidden}' &&
    tells 0 acquire --json --guard 0 -t 60s attic && tells 0 status --json --guard 0 && json told '$j->{counts}{held} > 0 && $j->{command} eq "status"' &&
    tells 3 scan --json --guard 0 -n "127.0.0.1:$refused" && json told '$j->{status} eq "NO_QUORUM" && $j->{nodes}[0]{trouble} eq "connection refused"'
}
check 'scan, and status without a resource, tell it of each finding, and at last of all' scans

no_quorum() {
    tells 122 acquire --json --guard 0 -n "127.0.0.1:$refused" door && has "$lock" &&
    json told '$j->{nodes}[0]{trouble} eq "connection refused" && $j->{nodes}[0]{vote} =~ /^(unknown|not asked)$/' || return 1
    for words in "run --wait 0 door true" "status door" "leader door" "break --token $none door" "extend door $none" \
        "release door $none" "keep --pid 1 door $none"; do
        # shellcheck disable=SC2086    # Several words.
        tells 122 --json -n "127.0.0.1:$refused" --node-timeout 2s --guard 0 $words && json told '$j->{status} eq "NO_QUORUM"' || return 1
    done
}
check 'so is that no quorum answers' no_quorum

bad_names() {
    tells 125 acquire --json --guard 0 'x#ticket' && tells 125 break --json --token "$none" 'x#ticket' || return 1
    for words in 'acquire' 'status' 'leader' "break --token $none" 'run' 'lead'; do
        case $words in run | lead) rest=true ;; *) rest= ;; esac
        # shellcheck disable=SC2086    # Several words.
        tells 125 --json --guard 0 $words '' $rest && json told '$j->{status} eq "BAD_RESOURCE" && $j->{nodes}[0]{vote} eq "not asked"' || return 1
    done
    tells 125 extend --json --guard 0 door abc && json told '$j->{status} eq "BAD_TOKEN" && $j->{nodes}[0]{vote} eq "not asked"'
}
check 'and names and tokens that are none' bad_names

words_at_all() {
    tells 125 stauts --json && json told '!defined $j->{command} && $j->{text} =~ /did you mean/' && tells 125 --json &&
    tells 125 run --json -- door && json told '$j->{text} =~ /COMMAND/' && tells 125 run -t 7 --json -- door true &&
    is 125 run -t 7 door -- true --json && says '^redlock: --ttl' && is 125 run -t 7 -- door true --json && says '^redlock: --ttl' &&
    is 125 acquire -t 7 -- --json && says '^redlock: --ttl' && is 125 acquire -t 7 -n --json door && says '^redlock: --ttl'
}
check 'and a command that there is not; but a --json of the command that is run is its own' words_at_all

# Nobody reads it.
unwritable() {
    for words in 'acquire full' 'status full' 'leader full' "extend full $none" "break --token $none full" 'acquire -t 7 full' \
        'watch full'; do
        # shellcheck disable=SC2086    # Several words.
        "$redlock" $words --json --guard 0 >/dev/full 2>"$directory/told"
        perl tests/live/documented.pl "$directory/seen" <"$directory/told" && json told 'exists $j->{note}' || return 1
    done
    for words in 'scan --apart 0' 'ping --count 1' 'doctor --quick'; do
        # shellcheck disable=SC2086
        "$redlock" $words --json --guard 0 >/dev/full 2>"$directory/err"
        { [ $? = 125 ] && says 'could not be written'; } || { echo "$words"; return 1; }
    done
    "$redlock" exporter --guard 0 --once --cluster "$(printf %064d 0)" -n "$REDLOCK_NODES,127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:4" \
        >/dev/full 2>"$directory/err"
    [ $? = 125 ] && says 'could not be written'
}
if [ -c /dev/full ]; then check 'that it could not be written is told so on stderr' unwritable; fi

# A node that hangs has not answered, and nobody knows what it will do.
hangs() {
    on 2 STOP
    tells 0 acquire --json --guard 0 hanging; got=$?
    on 2 CONT
    [ $got = 0 ] && json told '$j->{nodes}[2]{vote} ne "granted" && defined $j->{nodes}[2]{trouble}'
}
check 'no vote is pending at an end' hangs

# The guardian reports its actions.
killed() {
    start run --json --guard 0 killed -- sh -c "echo >'$directory/ran'; exec sleep 30"
    within 10 [ -s "$directory/ran" ] && kill -KILL "$started"
    over "$started"
    within 10 grep -q note "$directory/err" && perl tests/live/documented.pl "$directory/seen" <"$directory/err"
}
check 'nor does the guardian use words' killed

# A log drops events only if nobody reads its pipe, and command_log.t tests that.
documented() {
    sed -n '/^\.Sh JSON/,/^\.Sh EX/s/^\.It Ql \([a-z_]*\) Pq.*/\1/p' tools/man/redlock.1 | grep -vx dropped | sort -u >"$directory/expected"
    sort -u "$directory/seen" | comm -23 "$directory/expected" - >"$directory/unseen"
    [ ! -s "$directory/unseen" ] || { echo 'never seen:'; cat "$directory/unseen"; return 1; }
}
check 'each field that redlock(1) documents has been seen' documented

finish
