#!/bin/sh
# shellcheck disable=SC1091    # tap.sh
# Holds the comments of the proof against the code. Each rule of safety must be in the proof, or
# have a reason why not, and each function that a comment names must exist. "make proof" checks the
# statements.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# rules_in FILE...
rules_in() { grep -hoE '\bS[0-9]+\b' "$@" | sort -u; }

# Comments of Coq are not nested here.
comments_of() { perl -0777 -ne 'print "$1\n" while /\(\*(.*?)\*\)/sg' "$@"; }
code_of() { perl -0777 -pe 's/\(\*.*?\*\)//sg' "$@"; }

# nothing_only_in FIRST SECOND: shows the lines that only the first has, and fails if there are any.
nothing_only_in() { ! comm -23 "$scratch/$1" "$scratch/$2" | grep .; }

find redlock -type f -name '*.[chl]*' >"$scratch/files"
xargs grep -hoE '\bS[0-9]+\b' <"$scratch/files" | sort -u >"$scratch/of the code"
rules_in tests/proof/*.v >"$scratch/of the proof"
grep -oE '^S[0-9]+' tests/proof/outside | sort >"$scratch/outside"
sort -u "$scratch/of the proof" "$scratch/outside" >"$scratch/known"

has_lines() { [ "$(wc -l <"$scratch/$1")" -ge "$2" ]; }
each_has_a_reason() { ! grep -vE '^#|^S[0-9]+  [A-Z].{20,}\.$' tests/proof/outside; }
none_is_both() { ! comm -12 "$scratch/of the proof" "$scratch/outside" | grep .; }
none_is_there_twice() { ! uniq -d "$scratch/outside" | grep .; }

check 'rules are found in the code' has_lines 'of the code' 20
check 'rules are found in the proof' has_lines 'of the proof' 15
check 'each rule of the code is in the proof or outside' nothing_only_in 'of the code' known
check 'each rule that the proof names is in the code' nothing_only_in 'of the proof' 'of the code'
check 'each rule outside is in the code' nothing_only_in outside 'of the code'
check 'each rule outside has a reason' each_has_a_reason
check 'no rule is outside that the proof has' none_is_both
check 'no rule is outside twice' none_is_there_twice

# A word with an underscore in a comment is a function, a constant or a file of the code, or a name
# of the proof.
name='[A-Za-z]+(_[A-Za-z0-9]+)+'
comments_of tests/proof/*.v | grep -oE "$name(\.[a-z]+)?" | sort -u >"$scratch/words"
{
    xargs grep -hoE "$name" <"$scratch/files"
    code_of tests/proof/*.v | grep -oE "$name"
    sed 's/.*\///' "$scratch/files"
} | sort -u >"$scratch/names"

check 'names are found in comments of the proof' has_lines words 20
check 'each name in a comment of the proof is one of the code or of the proof' \
    nothing_only_in words names

finish
