#!/bin/sh
# shellcheck disable=SC2016,SC2086    # The expressions are perl's. Some lists of words are meant to be split.
# Locks of redsync (Go), redlock-rb (Ruby), and Redisson (Java), by the commands that these send. Their scripts
# are put in other words here, but the server's commands are the same. "make interop" has libraries themselves.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3

# answers ANSWER WORD...: every server gives this answer to the command.
answers() {
    expected=$1
    shift
    everywhere "$@" | sort -u >"$directory/answers"
    [ "$(cat "$directory/answers")" = "$expected" ] || { echo "not '$expected': $*"; cat "$directory/answers"; return 1; }
}

# Tried alone, with a ticket, for two resources, and by "run". The obstacle is reported, and nothing is left.
we_are_refused() {
    for option in '' --no-ticket; do
        is 124 acquire --guard 0 $option "$door" && says 'held by somebody else \(free in [0-9.]+ s' || return 1
    done
    is 124 acquire --guard 0 -r "$door-beside" -r "$door" && says 'held by somebody else' && answers '' GET "$door-beside" &&
    is 124 acquire --guard 0 --wait 300ms "$door" && says 'not acquired within the time to wait: held by somebody else' &&
    is 124 run --guard 0 --wait 0 "$door" -- touch "$directory/ran" && says 'held by somebody else' && [ ! -e "$directory/ran" ]
}
we_get_it() {
    is 0 acquire --guard 0 --ttl 30s $1 "$door" && ours=$(cat "$directory/out")
}
we_have_it() {
    answers "${ours%:*}" GET "$door" && is 0 extend --guard 0 --ttl 30s "$door" "$ours" && is 0 release --guard 0 "$door" "$ours"
}

# ---- Redsync: a key with 16 random bytes in base 64 ----

delete='local v = redis.call("GET", KEYS[1])
    if v == ARGV[1] then return redis.call("DEL", KEYS[1]) elseif v == false then return -1 end return 0'
touch='if redis.call("GET", KEYS[1]) ~= ARGV[1] then return 0 end return redis.call("PEXPIRE", KEYS[1], ARGV[2])'
touch_or_set='if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2]) end
    if redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then return 1 end return 0'
value='q1/3rXk+0uCV9mZyT2aBcg=='
pattern='q1/3rXk[+]0uCV9mZyT2aBcg=='

# The first is sent by its redigo, the second by its go-redis, where the time is one of whole seconds.
redsync_holds() {
    door=mutex:redsync
    for how in 'NX PX 8000' 'ex 8 nx'; do
        answers OK SET "$door" "$value" $how && we_are_refused &&
        is 124 status --guard 0 "$door" && prints "^$door: held by $pattern for another [0-9.]+ s on 3 of 3 nodes" &&
        answers 1 EVAL "$touch" 1 "$door" "$value" 9000 && answers 1 EVAL "$touch_or_set" 1 "$door" "$value" 9000 &&
        answers "$value" GET "$door" && answers 1 EVAL "$delete" 1 "$door" "$value" && is 0 status --guard 0 "$door" || return 1
    done
}
redsync_is_refused() {
    door=mutex:no-redsync
    for option in '' --no-ticket; do
        we_get_it $option && answers '' SET "$door" "$value" NX PX 8000 && answers '' SET "$door" "$value" ex 8 nx &&
        answers 0 EVAL "$delete" 1 "$door" "$value" && answers 0 EVAL "$touch" 1 "$door" "$value" 8000 &&
        answers 0 EVAL "$touch_or_set" 1 "$door" "$value" 8000 && we_have_it && answers -1 EVAL "$delete" 1 "$door" "$value" || return 1
    done
}

# ---- Redlock-rb: a key with a UUID, set by a script that also extends ----

set_or_extend='if redis.call("exists", KEYS[1]) == 0 and ARGV[3] == "yes" or redis.call("get", KEYS[1]) == ARGV[1]
    then return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) end'
unlock='if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0'
uuid=0b1a9a44-4f0e-4a56-9d0e-1f5d4c1f9a10

redlock_rb_holds() {
    door=mutex:rb
    answers OK EVAL "$set_or_extend" 1 "$door" $uuid 8000 yes && we_are_refused &&
    is 124 status --guard 0 "$door" && prints "^$door: held by $uuid for another" &&
    answers OK EVAL "$set_or_extend" 1 "$door" $uuid 9000 no && answers $uuid GET "$door" &&
    answers 1 EVAL "$unlock" 1 "$door" $uuid && is 0 status --guard 0 "$door"
}
redlock_rb_is_refused() {
    door=mutex:no-rb
    for option in '' --no-ticket; do
        we_get_it $option && answers '' EVAL "$set_or_extend" 1 "$door" $uuid 8000 yes &&
        answers '' EVAL "$set_or_extend" 1 "$door" $uuid 8000 no && answers 0 EVAL "$unlock" 1 "$door" $uuid && we_have_it || return 1
    done
}

# ---- Redisson: a hash of how often each thread has entered ----

enter='if redis.call("exists", KEYS[1]) == 1 and redis.call("hexists", KEYS[1], ARGV[2]) == 0 then return redis.call("pttl", KEYS[1]) end
    redis.call("hincrby", KEYS[1], ARGV[2], 1) redis.call("pexpire", KEYS[1], ARGV[1]) return false'
leave='if redis.call("hexists", KEYS[1], ARGV[3]) == 0 then return false end
    if redis.call("hincrby", KEYS[1], ARGV[3], -1) > 0 then redis.call("pexpire", KEYS[1], ARGV[2]) return 0 end
    redis.call("del", KEYS[1]) redis.call("publish", KEYS[2], ARGV[1]) return 1'
thread=8743c9c0-0795-4907-87fd-6c719a6b4586:1
channel='redisson_lock__channel'

redisson_holds() {
    door=mutex:redisson
    answers '' EVAL "$enter" 1 "$door" 30000 $thread && we_are_refused && answers 1 HGET "$door" $thread &&
    answers '' EVAL "$enter" 1 "$door" 30000 $thread && answers 0 EVAL "$leave" 2 "$door" "$channel" 0 30000 $thread &&
    answers 1 EVAL "$leave" 2 "$door" "$channel" 0 30000 $thread && we_get_it && is 0 release --guard 0 "$door" "$ours"
}
another_kind_is_told() {
    door=mutex:kind
    none=0123456789abcdef0123456789abcdef01234567
    answers '' EVAL "$enter" 1 "$door" 30000 $thread && is 124 status --guard 0 "$door" &&
    prints "^$door: held on 3 of 3 nodes by a key of another type: Redisson's lock, or none \(quorum 2\)$" &&
    prints 'node 1 .* a key of another type, [0-9.]+ s left$' && is 124 status --guard 0 --json "$door" &&
    json out '$j->{verdict} eq "other type" && $j->{agreeing} == 3 && 3 == grep { $_->{state} eq "other type" } @{$j->{nodes}}' &&
    is 122 extend --guard 0 "$door" $none && says 'WRONGTYPE .*\(held by a lock of another kind, or no lock at all: choose another RESOURCE' &&
    is 123 release --guard 0 "$door" $none && says 'WRONGTYPE .*\(held by a lock of another kind' &&
    answers 1 HGET "$door" $thread && answers 1 DEL "$door"
}
another_kind_is_somebody_else() {
    door=mutex:somebody
    answers '' EVAL "$enter" 1 "$door" 30000 $thread || return 1
    for kind in '' --no-ticket --fair --shared; do
        # shellcheck disable=SC2086    # It may be no word.
        is 124 run -q --guard 0 $kind --wait 0 "$door" -- true && [ ! -s "$directory/err" ] &&
        is 124 acquire -q --guard 0 $kind --wait 200ms "$door" && [ ! -s "$directory/err" ] &&
        is 124 acquire --guard 0 $kind --json "$door" && json out '$j->{status} eq "TAKEN"' || return 1
    done
    is 124 acquire --guard 0 --fair "$door" && says '^redlock: .*: held by somebody else$' && says 'WRONGTYPE .*held by a lock of another kind' &&
    answers 1 DEL "$door"
}
redisson_is_refused() {
    door=mutex:no-redisson
    for option in '' --no-ticket; do
        we_get_it $option && everywhere EVAL "$enter" 1 "$door" 30000 $thread >"$directory/theirs" &&
        everywhere EVAL "$leave" 2 "$door" "$channel" 0 30000 $thread >>"$directory/theirs" &&
        [ "$(grep -c WRONGTYPE "$directory/theirs")" = 6 ] && we_have_it || return 1
    done
}

# ---- A server that does not know our scripts yet, as where all others use other libraries ----

is_no_trouble() {
    door=mutex:scripts
    answers OK SET "$door" "$value" NX PX 60000 || return 1
    for _ in 1 2 3 4 5; do
        everywhere SCRIPT FLUSH >/dev/null
        is 124 acquire --guard 0 "$door" && says 'held by somebody else' && ! says NOSCRIPT >/dev/null &&
        ! says 'no answer' >/dev/null || return 1
        everywhere SCRIPT FLUSH >/dev/null
        is 124 acquire --guard 0 --json "$door" &&
        json out '3 == grep { ($_->{trouble} // "no answer yet") eq "no answer yet" } @{$j->{nodes}}' || return 1
    done
}

# Three nodes let the client see all at once. There are two refusals, which decide, and a third node
# that does not know the script.
cat >"$directory/late" <<'END'
use strict;
use warnings;
use FakeNodes;

my $no_script = "-NOSCRIPT No matching script.\r\n";
my %last = (0 => 'EVAL', 1 => 'EVAL', 2 => 'EVALSHA');
my $waiting = 0;

FakeNodes::serve(sub {
    my ($k, $word) = @_;
    return ":0\r\n" if !%last;
    return $no_script if $word ne $last{$k};
    return '' if ++$waiting < 3;
    kill STOP => FakeNodes::client();
    FakeNodes::say_later($_, $_ < 2 ? FakeNodes::bulk('1700000000000000 8000') : $no_script) for 2, 1, 0;
    kill CONT => FakeNodes::client();
    %last = ();
    return '';
}, @ARGV);
END

is_not_yet_told() {
    perl -Itests/live "$directory/late" "$redlock" acquire --guard 0 --node-timeout "$patience" --no-wake-ups "$@" door \
        >"$directory/out" 2>"$directory/err"
    [ $? = 124 ] || { cat "$directory/out" "$directory/err"; return 1; }
}
is_not_told_as_silence() {
    is_not_yet_told --json && json out '$j->{nodes}[2]{trouble} eq "no answer yet" && $j->{nodes}[2]{vote} eq "unknown" &&
        2 == grep { $_->{vote} eq "refused" && !defined $_->{trouble} } @{$j->{nodes}}' &&
    is_not_yet_told && says 'held by somebody else' && ! says 'node ' >/dev/null
}

check 'redsync holds: ours is refused, and touches nothing' redsync_holds
check 'ours holds: redsync is refused, and touches nothing' redsync_is_refused
check 'redlock-rb holds: ours is refused, and touches nothing' redlock_rb_holds
check 'ours holds: redlock-rb is refused, and touches nothing' redlock_rb_is_refused
check 'Redisson holds: ours is refused, and touches nothing' redisson_holds
check 'a lock of another kind is told' another_kind_is_told
check 'a lock of another kind is held by somebody else, for each kind of ours' another_kind_is_somebody_else
check 'ours holds: Redisson has an error, and touches nothing' redisson_is_refused
check 'that a script had to be sent is not told as a trouble' is_no_trouble
check 'that a script would have had to be sent when the round was over is no silence of the node' is_not_told_as_silence
finish
