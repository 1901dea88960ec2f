#!/bin/sh
# tools/layout and tools/wording are given small files in which all is well, and in which one thing is wrong.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM

good() {
    cat <<'CODE'
#define MACRO(x)   do { (x)++; } while (0)

/* What a formatter does not know: aligned tables, and short statements on one line. */
static const struct pair pairs[] = {
    { "one",   1 },
    { "three", 3 }
};

static int f(int a, const char *text)
{
    if (a == 1) return 2;
    if (a == 3) MACRO(a); else MACRO(a);
    switch (a) {
    case 1:  return 1;
    case 10: a++; break;
    default: break;
    }
    while (*text != '\0') { }
    return a +
           g(text, (struct pair){ "two", 2 });
}
CODE
}

# faulty SCRIPT WORDS: the good file, changed by a sed script, has a fault that is reported with these words.
faulty() {
    good | sed "$1" >"$made/bad.c"
    ! tools/layout "$made/bad.c" >"$made/said" && cat "$made/said" && grep -qF -e "$2" "$made/said"
}

is_good() {
    good >"$made/good.c"
    tools/layout "$made/good.c"
}

if command -v clang-format >/dev/null; then
    check 'a good layout is left alone' is_good
    check 'an indentation of three is noticed' faulty 's/^    if (a == 1)/   if (a == 1)/' 'indentation: 3 instead of 4'
    check 'a case that is indented is noticed' faulty 's/^    default/        default/' 'indentation: 8 instead of 4'
    check 'a brace behind the head of a function is noticed' faulty '/^static int f/{N;s/\n/ /;}' 'a line of its own'
    check 'a brace below a condition is noticed' faulty 's/switch (a) {/switch (a)\n    {/' 'on the line before'
    check 'a missing blank is noticed' faulty 's/a == 1/a==1/' 'no blank before "="'
    check 'a blank too many is noticed' faulty 's/return 2;/return 2 ;/' 'a blank before ";"'
    check 'a short statement below its condition is noticed' faulty 's/(a == 1) /(a == 1)\n        /' 'fits on the line'
    check 'a tab is noticed' faulty "s/^    default/$(printf '\t')default/" 'a tab'
    check 'a blank at the end is noticed' faulty 's/a++; break;/& /' 'blanks at the end'
    check 'two empty lines are noticed' faulty 's/^static int f/\n&/' 'two empty lines'
    check 'a long line is noticed' faulty "s/one line\\./&$(printf '%0100d' 0)/" 'characters'
else
    skip 'the layout of small files' 'clang-format is missing'
fi

# says WORDS LINE: of a C file with this line something is said.
says() {
    printf '%s\n' "$2" >"$made/words.c"
    ! tools/wording "$made/words.c" >"$made/said" && grep -qF -e "$1" "$made/said"
}

says_nothing() {
    printf '%s\n' "$1" >"$made/words.c"
    tools/wording "$made/words.c"
}

check '"Who waits ..." is noticed' says 'a noun' '/* Who waits is woken. */'
check '"of who ..." is noticed' says 'a noun' '/* The ticket of who wrote last. */'
check '"no more" of time is noticed' says 'no longer' 'puts("it has our token no more");'
check 'a question is left alone' says_nothing '/* Who waits? The client that asked. */'
check '"no more than" is left alone' says_nothing '/* There are no more than 15. */'
check 'code is left alone' says_nothing 'int x = no more;'

# has BEGINNINGS COLONS TEXT: of the sentences of a C file so many have the one habit, and so many the other.
has() {
    printf '%s\n' "$3" >"$made/words.c"
    tools/wording --habits "$made/words.c" >"$made/said"
    sed -n 's/^\(beginning\|colon\) *\([0-9]*\),.*/\2/p' "$made/said" | tr '\n' ' ' >"$made/counts"
    [ "$(cat "$made/counts")" = "$1 $2 " ] || { cat "$made/said"; return 1; }
}

check 'a sentence that begins with "What" is counted' has 1 0 '/* What is held. */'
check 'so is one within a comment of several lines' has 1 0 '/* It is
 * held. Of this node. */'
check 'and one of a comment with slashes' has 1 0 'int x; // As before.'
check 'not a longer word' has 0 0 '/* Inside of it. Whoever holds it. */'
check 'not a question' has 0 0 '/* What is held? A lock. */'
check 'not a heading' has 0 0 '/* ---- What is held ---- */'
check 'not an example' has 0 0 '/* It is held:
 *
 *     Of: this node
 */'
check 'not code' has 0 0 'const char *In = "What: this"; /* It is held. */'
check 'a colon inside a sentence is counted' has 0 1 '/* It is held: by this node. */'
check 'not that of an entry of a list' has 0 0 '/* held: by this node.
 * run COMMAND...: by this node.
 * Holders (0: nobody; NOBODY: none). */'
check 'not one at the end or in quotes' has 0 0 '/* It says "held: yes":
 *     this node */'
is_counted_in_scripts() {
    printf '#!/bin/sh\n# What is held.\nsay "# What: this" # It is held: yes.\n' >"$made/script"
    tools/wording --habits --list "$made/script" >"$made/said"
    printf '%s\n' "$made/script:2: beginning: What is held." "$made/script:3: colon: It is held: yes." >"$made/expected"
    grep -F "$made/script:" "$made/said" | cmp - "$made/expected"
}
check 'both habits are counted in a script' is_counted_in_scripts

is_counted_in_lua() {
    printf -- '-- What is held.\nlocal n = 2 - 1 -- It is held: yes.\nlocal s = "-- Of: this"\n' >"$made/script.lua"
    tools/wording --habits --list "$made/script.lua" >"$made/said"
    printf '%s\n' "$made/script.lua:1: beginning: What is held." "$made/script.lua:2: colon: It is held: yes." >"$made/expected"
    grep -F "$made/script.lua:" "$made/said" | cmp - "$made/expected"
}
check 'both habits are counted in a script of the nodes' is_counted_in_lua

not() { ! "$@"; }

# passes_with SENTENCES: one bad sentence among so many is within the ceilings.
passes_with() {
    { echo '/* What is held. */'; for _ in $(seq 2 "$1"); do echo '/* It is held. */'; done; } >"$made/words.c"
    tools/wording --habits "$made/words.c" >"$made/said"
}
check 'one sentence of a hundred may begin so' passes_with 100
check 'two may not' not passes_with 50

all_can_be_run() {
    find tests -name '*.t' ! -perm -100 >"$made/stuck" && ! grep . "$made/stuck"
}
check 'test scripts are executable' all_can_be_run

# The Makefile looks in the folders of tests/unit alone, and lists name a test without its folder.
all_are_found() {
    find tests/unit -name 'test_*.c' -o -name '*.t' >"$made/tests"
    [ -s "$made/tests" ] || return 1
    { grep -v '^tests/unit/[^/]*/[^/]*$' "$made/tests"; sed 's|.*/||' "$made/tests" | sort | uniq -d; } >"$made/lost"
    ! grep . "$made/lost"
}
check 'each unit test lies in a folder of tests/unit, and no two have the same name' all_are_found

# ---- What tests use ----

# Commands that tests take for granted. tests/bare/run sees that a minimal Debian has them, with gcc,
# libc6-dev, make and git.
base=$(tr '\n' ' ' <tests/bare/commands)

# provided_for TARGET: prints the commands that its rule in the Makefile makes sure of. Perl comes with prove.
provided_for() {
    awk -v rule="^$1:" '/^LIVE_TOOLS = / { live = $0; sub(/.*= /, "", live) }
        $0 ~ rule { found = 1 } found && /tools\/need/ { sub(/.*tools\/need /, ""); sub(/\$\(LIVE_TOOLS\)/, live); print; exit }' Makefile
}

# uses_what_there_is TARGET FILE...: no command that neither the base has, nor the rule of the target provides, nor the file itself asks for.
uses_what_there_is() {
    provided=$(provided_for "$1")
    [ -n "$provided" ] || { echo "make $1 says not what it needs"; return 1; }
    shift
    tests/outside "$@" tests/tap.sh tests/scripts.sh tools/environment.sh tests/live/lib.sh >"$made/used" || return 1
    while read -r file command; do
        case " $base $provided redlock _redlock " in *" $command "*) ;; *) echo "$file $command"; return 1 ;; esac
    done <"$made/used"
}
check 'a unit test uses no command that a bare machine lacks' uses_what_there_is test-unit tests/unit/*/*.t
check 'nor does a live test' uses_what_there_is test-live tests/live/*.t tests/live/*.sh tests/live/certificates tools/bench/servers.sh
check 'nor one of TLS' uses_what_there_is test-tls tests/tls/*.t tools/bench/servers.sh
check 'nor one of an example' uses_what_there_is examples tests/examples/*.t tests/examples/lib.sh
check 'nor one of monitoring' uses_what_there_is monitoring tests/monitoring/*.t
check 'nor one of other libraries' uses_what_there_is interop tests/interop/*.t tests/interop/*.sh tests/live/redisson.sh
check 'nor one of packages' uses_what_there_is packages tests/packages/*.t

# A parser that lost its way in quotes or parentheses would miss the last line.
is_read_to_the_end() {
    for file in tests/*.sh tests/*/*.t tests/unit/*/*.t tests/*/*.sh tools/bench/servers.sh; do
        { cat "$file"; printf '\nin_the_end --here\n'; } >"$made/whole.sh"
        tests/outside "$made/whole.sh" | grep -q ': in_the_end$' || { echo "$file"; return 1; }
    done
}
check 'the end of each script is read as a command' is_read_to_the_end

# names COMMANDS SCRIPT
names() {
    printf '%s\n' "$2" >"$made/script.sh"
    tests/outside "$made/script.sh" | sed 's/.*: //' >"$made/names"
    [ "$(tr '\n' ' ' <"$made/names")" = "$1 " ] || { cat "$made/names"; return 1; }
}
# shellcheck disable=SC2016    # It is for another shell.
check 'a command is found behind pipes, in substitutions and in quotes' names 'aa bb cc dd sh ee ff gg' \
    'aa x | bb y && echo "$(cc "z" | dd)" # no
    sh -c "ee; true"; trap "ff; exit" INT; if ! gg; then :; fi'
check 'and behind what runs it' names 'check aa within bb env dd' 'check "a rule" aa cc; within 10 bb; env x=y dd'
check 'words are no commands: of a case, a loop, a here-document, a function, an assignment' names 'aa bb' \
    'case x in cc | dd) aa ;; *) false ;; esac; for ee in ff gg; do :; done; cat() { :; }; cat <<END >hh
ii jj
END
kk=ll bb mm'
check 'nor is what a script asks for first' names zz 'tools/need aa || exit; aa; if command -v bb; then bb; fi; zz'

stories_are_told() {
    sed -n '/Em rule Ta Em stories/,/^\.El/s/.* Ta \([a-z].*\)/\1/p' tools/man/redlock.7 | tr -s ', ' '\n' >"$made/stories"
    [ "$(grep -c . "$made/stories")" -ge 10 ] || return 1
    while read -r name; do grep -q "^    { \"$name\", " tests/world/stories.c || { echo "$name"; return 1; }; done <"$made/stories"
}
check 'each story that the guide names is told' stories_are_told
finish
