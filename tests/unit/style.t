#!/bin/sh
# tools/layout and tools/wording are given small files in which all is well, and in which one thing is wrong.
cd "$(dirname "$0")/../.." || exit 1
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

# faulty SCRIPT WORDS: the good file, changed by a sed script, has a fault of which these words are said.
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

all_can_be_run() {
    find tests -name '*.t' ! -perm -100 >"$made/stuck" && ! grep . "$made/stuck"
}
check 'test scripts are executable' all_can_be_run

stories_are_told() {
    sed -n '/Em rule Ta Em stories/,/^\.El/s/.* Ta \([a-z].*\)/\1/p' tools/man/redlock.7 | tr -s ', ' '\n' >"$made/stories"
    [ "$(grep -c . "$made/stories")" -ge 10 ] || return 1
    while read -r name; do grep -q "^    { \"$name\", " tests/world/stories.c || { echo "$name"; return 1; }; done <"$made/stories"
}
check 'each story that the guide names is told' stories_are_told
finish
