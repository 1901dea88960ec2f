#!/bin/sh
# Every sed script in the lists of mutants, canaries and faults changes the file that it names. A line that
# was moved or reworded is therefore noticed at once, not when the list is next worked off. Nothing is built.
cd "$(dirname "$0")/../.." || exit 1
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
finish
