# shellcheck shell=sh disable=SC2034,SC2086,SC2154    # What lib.sh defines. $program is several words.
# Rules between one other library and ours: check_exclusion. See lib.sh for the settings.
. tests/interop/lib.sh

other=0123456789abcdef0123456789abcdef01234567    # A token of ours that nobody has.

# The door of this library. (The "mutex:" is redis-semaphore's, which calls the key "mutex:door" "door".)
at() {
    door=mutex:$library-$1
}

# on_all VALUE: whether the key has it on all nodes; "" when there is none.
on_all() {
    [ "$(everywhere GET "$door" | sort -u)" = "$1" ] || { echo "not on all nodes: $1"; everywhere GET "$door"; return 1; }
}

# A quorum is enough for ours, which is gone when it has one, so a node that was later than that knows of nothing.
ours_is_held() {
    everywhere GET "$door" >"$directory/everywhere"
    [ "$(grep -cFx "$ours" "$directory/everywhere")" -gt $((count / 2)) ] && ! grep -vFx -e "$ours" -e '' "$directory/everywhere" && return
    echo "a quorum does not have $ours:"
    cat "$directory/everywhere"
    return 1
}

is_not_held() {
    ! everywhere GET "$door" | grep -Fx "$token"
}

# ---- Their side ----

# they_try WAIT: tries for the door, in the background; sets $them. Their output is in $directory/them.
they_try() {
    : >"$directory/them"
    $program "$REDLOCK_NODES" hold "$door" 60000 "$1" >"$directory/them" 2>&1 &
    them=$!
    begin $them
}

# they_say WORD: within ten seconds.
they_say() {
    within 10 grep -q "^$1" "$directory/them" && return
    echo "they do not say $1:"
    cat "$directory/them"
    return 1
}
tell_them() {
    kill "-$1" $them
}

# Sets $token. If a release has just been under way they may have it on a quorum only.
they_have_it() {
    they_say held && token=$(sed -n 's/^held //p' "$directory/them") && is 124 status --guard 0 "$door" && prints "held by $token"
}

# On all nodes. (A library may be content with a quorum, and the last node a moment late. A release may do so, too.)
they_hold() {
    they_try 0
    they_have_it && within 10 on_all "$token"
}
they_release() {
    tell_them TERM && over $them && they_say released && within 10 is_not_held
}
they_are_refused() {
    they_try 0
    over $them && they_say refused
}

# ---- Ours ----

we_are_refused() {
    for option in '' --no-ticket; do
        is 124 acquire --guard 0 $option "$door" && says "held by somebody else \(free in [0-9.]+ s" || return 1
    done
    is 124 acquire --guard 0 -r "$door" -r "$door-beside" && [ -z "$(everywhere GET "$door-beside" | sort -u)" ] &&
    is 124 run --guard 0 --wait 0 "$door" -- touch "$directory/ran" && says 'held by somebody else' && [ ! -e "$directory/ran" ]
}

# ---- The rules ----

theirs_keeps_ours_out() {
    at kept
    they_hold && we_are_refused && on_all "$token" && they_release
}

status_shows_theirs() {
    at shown
    they_hold && is 124 status --guard 0 "$door" &&
    prints "^$door: held by $token for another [0-9.]+ s on $count of $count nodes" && they_release &&
    is 0 status --guard 0 "$door" && prints "^$door: free on $count of $count nodes"
}

theirs_extends_undisturbed() {
    at extended
    they_hold || return 1
    everywhere PEXPIRE "$door" 20000 >/dev/null
    tell_them USR1
    they_say extended && we_are_refused && on_all "$token" &&
    [ "$(everywhere PTTL "$door" | sort -n | head -n 1)" -gt 30000 ] && they_release
}

# The token is a wrong one on purpose; and then it belongs to a lock that has run out.
we_do_not_touch_theirs() {
    at untouched
    is 0 acquire --guard 0 "$door" && ours=$(cat "$directory/out") && everywhere DEL "$door" >/dev/null && they_hold || return 1
    for wrong in "$other" "$ours"; do
        is 123 extend --guard 0 --ttl 10m "$door" "$wrong" && is 123 release --guard 0 "$door" "$wrong" && on_all "$token" || return 1
    done
    [ "$(everywhere PTTL "$door" | sort -n | tail -n 1)" -le 60000 ] && they_release
}

# Long before its TTL is over. Our waiter polls now and then, since their release wakes nobody.
theirs_is_handed_over() {
    for option in '' --no-ticket; do
        at "handed-over$option"
        they_hold || return 1
        start acquire --guard 0 $option --wait 30s -v "$door"
        within 10 says waiting && they_release && over $started && ours=$(token) &&
        is 124 status --guard 0 "$door" && prints "held by $ours" || return 1
    done
}

# Each way is tried, with the resource and the command that acquires it.
ours_keeps_theirs_out() {
    for option in '' --no-ticket; do
        at "ours$option"
        is 0 acquire --guard 0 -t 60s $option "$door" && ours=$(token) && they_are_refused && ours_is_held &&
        is 0 extend --guard 0 -t 60s "$door" "$ours" && they_are_refused && ours_is_held || return 1
    done
    at ours-set
    is 0 acquire --guard 0 -t 60s -r "$door-beside" -r "$door" && ours=$(token) && they_are_refused && ours_is_held
}

run_keeps_theirs_out() {
    at run
    start run --guard 0 -t 1s "$door" -- sleep 60
    within 10 is 124 status --guard 0 "$door" || return 1
    sleep 1.5                               # It has been extended.
    they_are_refused && kill -0 $started && kill -TERM $started && ! over $started && within 10 on_all ''
}

ours_is_handed_over() {
    for option in '' --no-ticket; do
        at "ours-handed-over$option"
        is 0 acquire --guard 0 -t 60s $option "$door" && ours=$(cat "$directory/out") || return 1
        they_try 30000
        sleep 0.5                           # They have been refused, and try again.
        [ ! -s "$directory/them" ] && is 0 release --guard 0 "$door" "$ours" && they_have_it && they_release || return 1
    done
}

# A lock of theirs that has run out, and ours after it.
they_do_not_touch_ours() {
    at ours-untouched
    they_hold && everywhere DEL "$door" >/dev/null && is 0 acquire --guard 0 -t 60s "$door" && ours=$(token) || return 1
    tell_them USR1
    they_say lost && ours_is_held && tell_them TERM && over $them && ours_is_held &&
    [ "$(everywhere PTTL "$door" | grep -v '^-2$' | sort -n | head -n 1)" -gt 30000 ]
}

check_exclusion() {
    check "$library: while it holds the lock ours is refused, says so, and leaves nothing" theirs_keeps_ours_out
    check "$library: status shows its token" status_shows_theirs
    check "$library: it extends its lock while ours try" theirs_extends_undisturbed
    check "$library: our extend and release do not touch its lock" we_do_not_touch_theirs
    check "$library: when it releases, the waiter of ours has the lock" theirs_is_handed_over
    check "$library: while ours holds the lock it is refused, with a ticket, without, and of two resources" ours_keeps_theirs_out
    check "$library: while redlock run holds the lock it is refused" run_keeps_theirs_out
    check "$library: when ours releases, the waiter of it has the lock" ours_is_handed_over
    check "$library: its extend and release do not touch our lock" they_do_not_touch_ours
}
