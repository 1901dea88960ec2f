# shellcheck shell=sh disable=SC2015,SC2016,SC2046,SC2086,SC2154    # Words for other shells; lists of words; what lib.sh defines.
# Rules between the command and threads of Java programs that lock by Redisson, on one real server. $thread
# runs such a thread, and is tests/live/redisson.pl, which says how, or Redisson itself (tests/interop).
. tests/live/lib.sh

# java KIND DOOR LEASE_MS WAIT_MS ENTRIES: starts a thread in the background; sets $java. Its output is
# in $directory/KIND-DOOR.
java() {
    said=$directory/$1-$2
    : >"$said"
    "$limit" $limit_s $thread "$port_0" "$@" >"$said" 2>&1 &
    java=$!
    begin $java
}
java_says() {
    within 60 grep -q "^$1" "$said" && return
    echo "Java does not say $1:"
    cat "$said"
    return 1
}
java_leaves() {
    kill -TERM $java && over $java && java_says released
}
try() { is "$1" run --guard 0 --redisson --wait 0 "$2" -- true; }

java_keeps_us_out() {
    for kind in lock fenced spin fair; do
        java $kind kept-$kind 60000 0 2
        java_says held && try 124 kept-$kind && says 'held by somebody else \(free in 5[0-9]' || return 1
        [ "$(ask 0 HGET kept-$kind "$(sed -n 's/^held \([^ ]*\).*/\1/p' "$said")")" = 2 ] && java_leaves &&
        grep -q '^left\|^entered still' "$said" && try 0 kept-$kind || return 1
    done
}

# The second entry was left first, and the lock stays Java's until the last one is.
an_entry_less_is_no_release() {
    java lock entered 60000 0 1
    java_says held && field=$(sed -n 's/^held //p' "$said") && ask 0 HINCRBY entered "$field" 1 >/dev/null && java_leaves &&
    try 124 entered && [ "$(ask 0 HGET entered "$field")" = 1 ] && ask 0 DEL entered >/dev/null
}

# Its lease is renewed during all other checks, for longer than it lasts.
the_watchdog_keeps_us_out() {
    said=$directory/spin-watched
    java_says held && while [ $(($(date +%s) - watched_since)) -le "$lease_s" ]; do sleep 0.1; done
    try 124 watched && [ "$(ask 0 HGET watched "$(sed -n 's/^held //p' "$said")")" = 1 ] && kill -TERM "$watched" &&
    java_says released && try 0 watched
}

we_keep_java_out() {
    is 0 acquire --guard 0 --redisson -t 10m ours && token=$(cat "$directory/out") && [ "${token#*/}" = j ] || return 1
    for kind in lock fenced spin fair; do
        java $kind ours 60000 0 1
        java_says refused && over $java || return 1
    done
    is 0 extend --guard 0 -t 20s ours "$token" && [ "$(ask 0 PTTL ours)" -gt 60000 ] &&
    is 0 release --guard 0 ours "$token" && [ "$(ask 0 EXISTS ours)" = 0 ] && is 123 release --guard 0 ours "$token" &&
    is 123 extend --guard 0 ours "$token"
}

# Its TTL is long, and we ask seldom.
java_wakes_us() {
    for kind in lock fenced; do
        java $kind wakes-$kind 60000 0 1
        java_says held || return 1
        start run --guard 0 --redisson --retry 30s wakes-$kind -- true
        within 10 listens "redisson_lock__channel:{wakes-$kind}" && java_leaves && over $started || return 1
        within 10 does_not_listen "redisson_lock__channel:{wakes-$kind}" || return 1
    done
}
listens() { [ "$(ask 0 EVAL 'return redis.call("pubsub", "numsub", ARGV[1])[2]' 0 "$1")" = 1 ]; }
does_not_listen() { ! listens "$1"; }

# Their releases tell nobody.
a_spin_and_a_fair_lock_are_found_free() {
    for kind in spin fair; do
        java $kind found-$kind 60000 0 1
        java_says held || return 1
        start run --guard 0 --redisson --retry 10ms found-$kind -- true
        java_leaves && over $started || return 1
    done
}

we_wake_java() {
    for kind in lock fair; do
        is 0 acquire --guard 0 --redisson -t 10m woken-$kind && token=$(cat "$directory/out") || return 1
        java $kind woken-$kind 60000 90000 1
        within 60 any_listens "redisson_lock__channel:{woken-$kind}*" && is 0 release --guard 0 woken-$kind "$token" &&
        java_says held && java_leaves || return 1
    done
}

# Its time is over when the lock is released, and was not when the next began to wait.
we_wake_the_next_of_a_dead_one() {
    is 0 acquire --guard 0 --redisson -t 10m behind && token=$(cat "$directory/out") || return 1
    ask 0 RPUSH 'redisson_lock_queue:{behind}' dead >/dev/null
    ask 0 ZADD 'redisson_lock_timeout:{behind}' 9999999999999 dead >/dev/null
    java fair behind 60000 90000 1
    within 60 any_listens 'redisson_lock__channel:{behind}*' && ask 0 ZADD 'redisson_lock_timeout:{behind}' 1 dead >/dev/null &&
    is 0 release --guard 0 behind "$token" && java_says held && java_leaves
}
any_listens() { [ "$(ask 0 EVAL 'return #redis.call("pubsub", "channels", ARGV[1])' 0 "$1")" = 1 ]; }

# A number in a file, to which each adds one when it has the lock. The lease is short, because a thread that listens
# while one that spins has the lock is told of no release, and waits for as long as the lease was when it looked.
one_at_a_time() {
    echo 0 >"$directory/number"
    : >"$directory/counts"
    for kind in lock fenced spin fair; do
        "$limit" $limit_s $thread "$port_0" $kind counted 3000 90000 10 count "$directory/number" >>"$directory/counts" 2>&1 &
        begin $!
        eval "count_$kind=$!"
    done
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        is 0 run --guard 0 --redisson --retry 10ms counted -- sh -c 'n=$(cat "$0"); sleep 0.002; echo $((n + 1)) >"$0"' \
            "$directory/number" || return 1
    done
    for pid in $count_lock $count_fenced $count_spin $count_fair; do over "$pid" || { cat "$directory/counts"; return 1; }; done
    [ "$(cat "$directory/number")" = 50 ] || { echo "not 50: $(cat "$directory/number")"; return 1; }
}

# The other way round Redisson's scripts end with an error, which is no lock either.
plain_locks_are_kept_out_too() {
    is 0 acquire --guard 0 plain && plain=$(cat "$directory/out") && try 124 plain && is 0 release --guard 0 plain "$plain" &&
    is 0 acquire --guard 0 --redisson plain && token=$(cat "$directory/out") && is 124 acquire --guard 0 plain &&
    is 124 status --guard 0 plain && prints "plain: held on 1 of 1 nodes by a key of another type: Redisson's lock, or none" &&
    is 123 release --guard 0 plain "${token%/j}" && is 0 release --guard 0 plain "$token"
}

the_kept_one_is_java_s_too() {
    is 0 acquire --guard 0 --redisson -t 1s kept && token=$(cat "$directory/out") || return 1
    sleep 60 >/dev/null 2>&1 &
    kept_pid=$!
    begin $kept_pid
    start keep --guard 0 --pid $kept_pid -t 20s kept "$token"
    within 10 lasts_long kept && kill $kept_pid && over $started && [ "$(ask 0 EXISTS kept)" = 0 ]
}
lasts_long() { [ "$(ask 0 PTTL "$1")" -gt 5000 ]; }

what_does_not_go_with_it_is_refused() {
    REDLOCK_NODES=$REDLOCK_NODES,$REDLOCK_NODES is 125 run --redisson x -- true &&
    says 'of one node, and these are 2: over several, Java' &&
    is 125 run --redisson --permits 2 x -- true && says 'neither shared nor has permits' &&
    is 125 acquire --redisson --shared x && says 'neither shared nor has permits' &&
    is 125 acquire --redisson -r x -r y && says 'of one RESOURCE' &&
    is 125 run --redisson --once-per 1d x -- true && says 'neither --shared, --permits nor --redisson' &&
    is 125 run --redisson --holder me x -- true && says 'no room for it' &&
    is 125 lead --redisson x -- true && says 'another command has it'
}

# With the ACL of the manual a thread that waits is woken, and wakes us. Without the channel the lock is
# had, and released, too.
the_acl_is_enough() {
    REDLOCK_PASSWORD=secret
    export REDLOCK_PASSWORD
    ask 0 ACL SETUSER java on '>secret' $(block acl) $(block acl-redisson) >/dev/null
    java lock lock:acl 60000 0 1
    java_says held || return 1
    start run --guard 0 --user java --redisson --retry 30s lock:acl -- sleep 60
    within 10 listens 'redisson_lock__channel:{lock:acl}' && java_leaves && within 10 is_ours lock:acl || return 1
    java lock lock:acl 60000 90000 1
    within 60 listens 'redisson_lock__channel:{lock:acl}' && kill $started && ! over $started && java_says held && java_leaves &&
    [ "$(ask 0 ACL LOG)" = '*0' ] || { ask 0 ACL LOG; return 1; }
    ask 0 ACL SETUSER java -publish -lrange -zscore -time resetchannels >/dev/null
    is 0 run --guard 0 --user java --redisson lock:acl -- true && [ "$(ask 0 EXISTS lock:acl)" = 0 ]
}
is_ours() { [ "$(ask 0 EVAL 'return #redis.call("hkeys", KEYS[1])' 1 "$1")" = 1 ]; }

# $lease_s is long enough for a machine that is busy to renew it in time.
check_java() {
    start_server
    export REDLOCK_NODES="$nodes"
    java spin watched ${lease_s}000 0 1
    watched=$java watched_since=$(date +%s)
    check "a re-entrant, a fenced, a spin and a fair lock of Java's keep us out, until the last entry is left" java_keeps_us_out
    check "of two entries one that is left releases nothing" an_entry_less_is_no_release
    check "we keep all four out; extend and release find the lock by its token" we_keep_java_out
    check "a release by Java wakes us, and then we listen no longer" java_wakes_us
    check "a spin lock and a fair one, which tell nobody, are found free" a_spin_and_a_fair_lock_are_found_free
    check "our release wakes a thread that waits, and the first in a fair lock's queue" we_wake_java
    check "our release wakes the next in a fair lock's queue, if the first has died" we_wake_the_next_of_a_dead_one
    check "Java's threads of all four kinds and the command come one at a time" one_at_a_time
    check "a plain lock and one with Java keep each other out" plain_locks_are_kept_out_too
    check "a lock with Java is kept while a process lives" the_kept_one_is_java_s_too
    check "what does not go with Java is refused, and why" what_does_not_go_with_it_is_refused
    check "the rights that the manual names are enough, and without the channels the lock is had as well" the_acl_is_enough
    check "Java's watchdog has kept us out meanwhile, for longer than its lease" the_watchdog_keeps_us_out
}
