#!/bin/sh
# Every sed script in the lists of mutants, canaries and faults changes the file that it names. A line that
# was moved or reworded is therefore noticed at once, not when the list is next worked off. Nothing is built.
# And lists that are worked off by turns are worked off.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM

# The rows of a list, without comments and empty lines. Rows of the simulator's canaries get an empty last column.
rows_of() {
    case $1 in
    tests/sim/run) sed -n "s/^canaries='//; s/'\$//; /^[^|]* | [^|]*\\.[ch] | s/s/\$/ | /p" "$1" ;;
    *)             grep -v -e '^#' -e '^$' "$1" ;;
    esac
}

# The columns are parted by " | "; a script may have a bar of its own, so it is the rest in the middle.
all_change_their_file() {
    rows_of "$1" >"$made/rows"
    [ -s "$made/rows" ] || { echo "no rows in $1"; return 1; }
    while IFS= read -r row; do
        rest=${row#* | }
        file=${rest%%[ |]*}
        rest=${rest#* | }
        if ! sed -E "${rest% |*}" "$file" >"$made/changed" || cmp -s "$made/changed" "$file"; then
            echo "changes nothing in $file: ${row%% | *}"
        fi
    done <"$made/rows" >"$made/output" 2>&1
    ! grep . "$made/output"
}

for file in tests/mutants/list tests/explore/mutants tests/sim/run tests/prove/faults; do
    check "every script in $file changes the file that it names" all_change_their_file "$file"
done

# A reason why the specification cannot reject a mutant is about one that there is.
all_unseen_are_in_the_list() {
    grep -v "^#" tests/mutants/list | sed 's/ *| .*//' | sort >"$made/names"
    grep -v -e '^#' -e '^$' tests/witness/unseen | sed 's/ | .*//' | sort >"$made/unseen"
    [ -s "$made/unseen" ] && ! comm -13 "$made/names" "$made/unseen" | grep .
}
check 'each line of tests/witness/unseen names a mutant' all_unseen_are_in_the_list

# More turns than lines are turns, too.
all_have_a_turn() {
    for turns in 1 2 3 4 5; do
        : >"$made/had"
        for turn in 0 1 2 3 4; do
            printf '%s\n' a b c d | TURNS=$turns TURN=$turn tests/by_turns >"$made/turn"
            [ -s "$made/turn" ] || { echo "nothing with TURNS=$turns TURN=$turn"; return 1; }
            cat "$made/turn" >>"$made/had"
        done
        [ "$(sort -u "$made/had" | tr -d '\n')" = abcd ] || { echo "not all with TURNS=$turns:"; cat "$made/had"; return 1; }
    done
}
check 'at each commit some lines of a list have their turn, and at so many commits all' all_have_a_turn
finish
