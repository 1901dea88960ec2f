#!/bin/sh
# redlock watch: prints a line for each change on a pipe, and on a terminal a table that is drawn in place.
# shellcheck disable=SC2016,SC2154    # The expressions are perl's; ports and pids are set by their numbers.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh
tools/need script || exit 1

start_servers 3

# watches NAME OPTION...: in the background, until ends NAME.
watches() {
    name=$1
    shift
    "$redlock" watch --guard 0 --node-timeout $patience --interval 100ms "$@" >"$directory/$name" 2>"$directory/$name.err" &
    begin $!
    eval "pid_of_$name=$!"
}
ends() {
    eval "ending=\$pid_of_$1"
    kill -TERM "$ending" && over "$ending"
    ended=$?
}
shows() { within 20 grep -Eq -e "$2" "$directory/$1" || { cat "$directory/$1" "$directory/$1.err"; return 1; }; }

# ---- On a pipe ----

watches words door hall
watches json --json door hall
watches permits --permits 2 hut
stamp='^20[0-9-]{8}T[0-9:]{8}\.[0-9]{3}Z'

acquire() { "$redlock" acquire --guard 0 --node-timeout $patience --no-ticket -t 1h "$@"; }

changes() {
    shows words "$stamp door: free on 3 of 3 nodes" && shows words "$stamp hall: free on" || return 1
    token=$(acquire --holder 'tester 1' door) && shows words "$stamp door: held by tester 1, free in at most .* on 3 of 3 nodes \(quorum 2\)" &&
    shows json '"door".*"tester 1"' &&
    is 0 extend --guard 0 -t 2h door "$token" && is 0 release -q --guard 0 door "$token" || return 1
    reader=$(acquire --shared --holder 'reader 1' hall) && shows words "$stamp hall: shared by 1, free in" || return 1
    "$redlock" acquire --guard 0 --node-timeout $patience --wait 50s -t 10s hall >/dev/null 2>&1 &
    waiter=$!
    begin $waiter
    shows words "hall: shared by 1, .*; one waits to have it alone; 1 in line" && shows json '"hall".*"waiters":1,' && is 0 release -q --guard 0 hall "$reader" && over $waiter &&
    shows words 'hall: held by [0-9a-f]{40} for another' && within 20 last_is_free
}
last_is_free() { [ "$(grep -c 'door: free' "$directory/words")" -ge 2 ]; }
check 'each change is a line: who has it, who shares it, who waits' changes

permits() {
    shows permits 'hut: 0 of 2 permits taken' && acquire --permits 2 --holder 'guest 1' hut >"$directory/slot" &&
    slot=$(sed 's/^[^/]*\/\([0-9]\).*/\1/' "$directory/slot") && shows permits "$stamp hut: 1 of 2 permits taken: $slot by guest 1"
}
check 'so it is with permits' permits

on 2 KILL
over "$pid_2"
away() { shows words 'door: free on 2 of 3 nodes' && shows json '"agreeing":2'; }
check 'and with nodes that are away' away

for each in words json permits; do
    ends $each
    all_ended="${all_ended-} $ended"
done
ended_by_signal() { [ "$all_ended" = ' 143 143 143' ] && [ ! -s "$directory/words.err" ]; }
check 'a signal ends it' ended_by_signal

nothing_twice() {
    sed -n 's/^[^ ]* \(door: [a-z]*\).*/\1/p' "$directory/words" | grep -c . >"$directory/lines"
    [ "$(cat "$directory/lines")" -lt 20 ] || { cat "$directory/words"; return 1; }
    sed -E "s/$stamp //; s/(for another|in at most) [^,o]*(,|on)/\1/; s/, last ticket[^)]*\)//" "$directory/words" | grep '^door' >"$directory/once"
    uniq "$directory/once" | cmp - "$directory/once" || { cat "$directory/words"; return 1; }
}
check 'what has not changed is not told again, nor is that it was extended' nothing_twice

as_json() {
    perl tests/live/documented.pl "$directory/seen" <"$directory/json" &&
    grep '"door"' "$directory/json" | grep '"held"' | head -n 1 | perl -MJSON::PP -e '
        my $j = decode_json(<STDIN>);
        exit !($j->{command} eq "watch" && $j->{holder} eq "tester 1" && $j->{waiters} == 0 && $j->{time} =~ /^20.*Z$/ && @{$j->{nodes}} == 3)' &&
    grep '"hall"' "$directory/json" | grep -q '"waiters":1,.*"readers":\[{'
}
check 'as JSON a change is an object, as documented' as_json

# ---- On a terminal ----

# on_screen COLUMNS OPTION...: it is ended by Ctrl-C when there is a file $directory/enough; then $directory/screen has all that was shown.
on_screen() {
    rm -f "$directory/enough" "$directory/done"
    columns=$1
    shift
    printf 'stty cols %s rows 12 </dev/tty\necho $$ >"%s"\n(while ! [ -e "%s" ]; do sleep 0.05; done; stty cols 100 </dev/tty) &\nexec "%s" watch --guard 0 --node-timeout %s %s\n' \
        "$columns" "$directory/pid" "$directory/resize" "$redlock" "$patience" "$*" >"$directory/terminal.sh"
    { within 20 test -e "$directory/enough" >&2; printf '\003'; within 20 test -e "$directory/done" >&2; } |
        { "$limit" $limit_s script -qec "sh $directory/terminal.sh" /dev/null >"$directory/screen" 2>&1; echo $? >"$directory/status"; : >"$directory/done"; } &
    begin $!
}

# widest: prints the longest of the lines that were drawn, without the bytes that move the cursor.
widest() {
    perl -0777 -ne 's/\e\[\??[0-9]*[a-zA-Z]/\n/g; my $m = 0; for (split /[\r\n]+/) { my $l = length; $m = $l if $l > $m } print "$m\n"' "$directory/screen"
}
drawn() { grep -q "$1" "$directory/screen" 2>/dev/null; }
drawn_at_width() { [ "$(widest)" -gt "$1" ]; }

acquire --holder 'tester 2' seen >/dev/null
has_terminals && on_screen 50 --interval 10m seen nobody a b c d e f g h
table() {
    within 20 drawn 'free 2/3' && drawn 'held 2/3' && ! drawn votes && drawn 'in line' && [ "$(widest)" -le 50 ] && [ "$(grep -c . "$directory/screen")" -le 13 ]
}
check_on_terminal 'on a terminal it is a table, cut to what there is room for' table

# Between two looks, which are ten minutes apart.
: >"$directory/resize"
check_on_terminal 'another size is followed at once' within 20 drawn_at_width 60

stopped() {
    read -r shown <"$directory/pid" && kill -TSTP "$shown" && within 20 restored_times 1 && kill -CONT "$shown" && within 20 begun_times 2
}
restored_times() { [ "$(tr '\033' '\n' <"$directory/screen" | grep -Fc '[?1049l')" -ge "$1" ]; }
begun_times() { [ "$(tr '\033' '\n' <"$directory/screen" | grep -Fc '[?1049h')" -ge "$1" ]; }
check_on_terminal 'stopped and continued, it leaves the terminal and takes it again' stopped

: >"$directory/enough"
restored() {
    within 20 test -e "$directory/done" && [ "$(cat "$directory/status")" = 130 ] &&
    perl -0777 -ne 'exit !(/^(?:\^\S*)?\e\[\?1049h\e\[\?25l/ && /\e\[\?25h\e\[\?1049l\s*$/)' "$directory/screen"
}
check_on_terminal 'Ctrl-C ends it, and the terminal is as it was' restored

# ---- Words ----

wrong() {
    is 125 watch && says 'a RESOURCE is missing' && is 125 watch --interval 50ms door && says 'at least 100 ms' &&
    is 125 watch a b c d e f g h i j k l m n o p q && says 'at most 16' && is 125 watch --permits 65 door && says '1 to 64' &&
    is 125 watch --guard 0 '' && says 'the resource must have' && is 125 watch --guard 0 --json '' && json out '$j->{status} eq "BAD_RESOURCE"'
}
check 'what is wrong is told, and ends it' wrong

finish
