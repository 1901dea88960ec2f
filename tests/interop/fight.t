#!/bin/sh
# shellcheck disable=SC2015,SC2034,SC2086,SC2154    # What lib.sh defines. $program is several words.
# Other libraries and ours fight for one lock. Its holder increments a number in a file twice, each time by reading it,
# sleeping, and writing it back one larger, and writes down from when until when it was inside. Now and then a holder extends the
# lock between the two; now and then it goes away instead, without a release, and writes down until when it was promised to
# be alone. Afterwards the judge of any history looks for times that overlap, and increments that are lost are counted.
cd "$(dirname "$0")/../.." || exit 1
. tests/interop/lib.sh
need_packages
python=$(tools/need --print python3-redis) || exit 1

times=12        # Each must have held it so often before the fight is over,
limit_s=90     # which must be within so many seconds.
resource=mutex:prize

# ---- The judges ----

# judge DIRECTORY: reads its journal, which has a line for each holding: WHO FROM UNTIL INCREMENTS. A holding is an event of a history.
judge() {
    awk '{ print $2, $1, "held prize until=" $3 }' "$1/journal" | tests/history/check || return 1
    awk -v counter="$(cat "$1/counter")" '
        { increments += $4 }
        END {
            if (increments == counter) exit 0
            print increments - counter " of " increments " increments are lost"
            exit 1
        }' "$1/journal"
}

# arena NAME: makes a place for a fight; sets $arena.
arena() {
    arena=$directory/$1
    mkdir "$arena" && echo 0 >"$arena/counter" && : >"$arena/journal"
}

judges_see() {
    arena example && echo 4 >"$arena/counter" && printf '%s\n' 'a 10 20 2' 'b 40 90 0' 'b 20 40 2' >"$arena/journal" || return 1
    judge "$arena" || return 1
    echo 3 >"$arena/counter"
    ! judge "$arena" || return 1
    echo 4 >"$arena/counter"
    echo 'a 89 91 0' >>"$arena/journal"
    ! judge "$arena"
}

# ---- A fight ----

# begin_fight NODES FIGHTER...: among all of them; sets $list, $fighters and $them.
begin_fight() {
    list=$(echo "$nodes" | cut -d , -f "1-$1")
    shift
    fighters=$* them=
    for fighter; do
        use "$fighter"
        $program "$list" fight $resource "$arena" >"$arena/$fighter" 2>&1 &
        begin $!
        them="$them $!"
    done
}

# How often each has held it, the rarest first.
shares() {
    for fighter in $fighters run; do echo "$(grep -c "^$fighter " "$arena/journal") $fighter"; done | sort -n
}
all_had_enough() {
    [ "$(shares | head -n 1 | cut -d ' ' -f 1)" -ge $times ]
}

# "redlock run" does not know of the fight. This script therefore runs it again and again, until all have had enough.
run_once() {
    is 0 run --guard 0 -n "$list" --wait 30s --retry 5ms $resource -- "$build/interop_ours" inside run "$arena"
}
run_on() {
    until=$(($(date +%s) + limit_s))
    until all_had_enough; do
        [ "$(date +%s)" -lt $until ] || { echo "not all have had enough:"; shares; return 1; }
        run_once || return 1
    done
}

# end_fight STATUS: takes the status of the commands before it.
end_fight() {
    : >"$arena/stop"
    ended=$1
    for each in $them; do
        over $each || ended=1
    done
    [ $ended = 0 ] || (cd "$arena" && grep . $fighters)
    return $ended
}

# changes_sides DIRECTORY: the lock went from one of theirs to one of ours, or back, more than once in a while.
changes_sides() {
    changes=$(sort -n -k 2 "$1/journal" |
        awk '{ ours = $1 ~ /^(plain|ticket|set|run)$/ } NR > 1 && ours != last { n++ } { last = ours } END { print n + 0 }')
    [ "$changes" -ge $times ] || { echo "only $changes times"; return 1; }
}

# ---- The fights ----

theirs='redlock-4 redlock-5 redis-semaphore'
ours='plain ticket set'

fight_on_one() {
    arena one && begin_fight 1 redis-py $theirs $ours || return 1
    run_on
    end_fight $?
}
fight_on_three() {
    arena three && begin_fight 3 $theirs $ours || return 1
    run_on
    end_fight $?
}

# One of them is killed as soon as everybody has held the lock a few times.
fight_on_five() {
    arena five && begin_fight 5 $theirs $ours || return 1
    times=4
    run_on && on 4 KILL && times=12 && run_on
    end_fight $?
}

# check_fight NODES WHAT
check_fight() {
    check "$2: $theirs, ours $ours and run, all get the lock" "fight_on_$1"
    check "$2: it goes from theirs to ours and back" changes_sides "$directory/$1"
    check "$2: no two are inside at the same time, and no increment is lost" judge "$directory/$1"
}

start_servers 5
check 'the judges see an overlap, and an increment that is lost' judges_see
check_fight one 'on one node, with redis-py'
check_fight three 'on three nodes'
check_fight five 'on five nodes, one of which dies'
finish
