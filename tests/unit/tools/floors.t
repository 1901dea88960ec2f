#!/bin/sh
# tests/floors/check is asked about small trees in which all is well, and in which one arrow is wrong.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh

: "${CC:=cc}"
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
trap 'exit 1' HUP INT TERM

# There are three floors. They are ground, left and right above it, and roof. Each calls the one below;
# left calls right as well.
# shellcheck disable=SC2016    # The README's backquotes are its own.
build_tree() {
    rm -rf "$tree/house" "$tree/shed" "$tree/redlock" "$tree/obj"
    mkdir -p "$tree/house" "$tree/obj/house"
    printf '%s\n' 'Words.' '<!-- floors -->' '| file | what |' '|---|---|' '| `house/ground.c` | below |' \
        '| `house/left.c`, `right.c` | between |' '| `house/roof.c` | above |' '' '| `elsewhere.c` | another table |' >"$tree/README.md"
    echo 'int ground(void);' >"$tree/house/ground.h"
    printf '%s\n' '#include "ground.h"' 'int ground(void) { return 1; }' >"$tree/house/ground.c"
    printf '%s\n' '#include "ground.h"' 'int right(void);' 'int left(void);' 'int left(void) { return ground() + right(); }' >"$tree/house/left.c"
    printf '%s\n' '#include "ground.h"' 'int right(void);' 'int right(void) { return ground(); }' >"$tree/house/right.c"
    printf '%s\n' '#include "ground.h"' 'int left(void); int roof(void);' 'int roof(void) { return left() + ground(); }' >"$tree/house/roof.c"
}

# Compiles the tree and asks. Its output goes to $tree/said.
ask() (
    cd "$tree" || exit 1
    for file in */*.c; do
        # shellcheck disable=SC2086    # The compiler may be several words.
        $CC -Iredlock -c -o "obj/${file%.c}.o" "$file" || exit 1
    done
    # shellcheck disable=SC2046    # Each is a word.
    "$OLDPWD/tests/floors/check" README.md obj house/*.[ch] $(ls redlock/*.h shed/*.c 2>/dev/null) >said 2>&1
    status=$?
    cat said
    exit $status
)

all_goes_down() {
    build_tree
    ask && [ "$(cat "$tree/said")" = 'hidden circle: 0 files, at most 0
5 files on 3 floors, 8 arrows: all go down' ]
}

# faulty WORDS: the tree as it is now is refused, with these words.
faulty() {
    ! ask && grep -qxF "$1" "$tree/said"
}

a_call_up() {
    build_tree
    printf '%s\n' 'int roof(void);' 'int right(void);' 'int right(void) { return roof(); }' >"$tree/house/right.c"
    faulty 'up: house/right calls roof of house/roof'
}

an_include_up() {
    build_tree
    echo 'enum { TILES = 3 };' >"$tree/house/roof.h"
    printf '%s\n' '#  include "../house/roof.h"' >>"$tree/house/ground.c"
    faulty 'up: house/ground includes ../house/roof.h of house/roof'
}

# shellcheck disable=SC2016    # The README's backquotes are its own.
an_include_up_that_is_found_where_installed_headers_are() {
    build_tree
    mkdir "$tree/redlock" && echo 'enum { TILES = 3 };' >"$tree/redlock/redlock_face.h" &&
        sed -i.old '/house\/roof.c/s/^/| `redlock\/redlock_face.h` | face |\n/' "$tree/README.md"
    printf '%s\n' '#include "redlock_face.h"' >>"$tree/house/ground.c"
    faulty 'up: house/ground includes redlock_face.h of redlock/redlock_face'
}

a_circle() {
    build_tree
    printf '%s\n' 'int left(void);' 'int right(void);' 'int right(void) { return left(); }' >"$tree/house/right.c"
    faulty 'in a circle: house/left house/right'
}

a_file_that_is_missing() {
    build_tree
    echo 'int attic = 1;' >"$tree/house/attic.c"
    faulty 'house/attic.c is missing from the table of README.md'
}

a_file_that_is_not_there() {
    build_tree
    rm "$tree/house/roof.c" "$tree/obj/house/roof.o" 2>/dev/null
    faulty 'house/roof stands in the table of README.md, and is not there'
}

a_table_that_is_not_there() {
    build_tree
    echo Words. >"$tree/README.md"
    ! ask >/dev/null && grep -q 'no table behind a line <!-- floors -->' "$tree/said"
}

# Each has its own roof.
# shellcheck disable=SC2016    # The README's backquotes are its own.
two_programs() {
    build_tree
    mkdir -p "$tree/shed" "$tree/obj/shed"
    printf '%s\n' 'int roof(void);' 'int roof(void) { return 2; }' >"$tree/shed/roof.c"
    printf '%s\n' 'int roof(void);' 'int door(void);' 'int door(void) { return roof(); }' >"$tree/house/door.c"
    sed -i.old 's/^| `house\/roof.c`.*/&\n| `house\/door.c` | door |\n| `shed\/roof.c` | another |/' "$tree/README.md"
    ask
}

# ---- Calls through tables: ground calls the roof, which calls left, which calls ground ----

# build_table INITIALIZER...: lines of roof.c that say which functions a table has.
build_table() {
    build_tree
    printf '%s\n' 'struct plan { int height; int (*cover)(void); };' 'int ground(void);' 'extern const struct plan *plan;' >"$tree/house/ground.h"
    printf '%s\n' '#include "ground.h"' 'const struct plan *plan;' 'int ground(void) { return plan ? plan->cover() : 1; }' \
        >"$tree/house/ground.c"
    printf '%s\n' '#include "ground.h"' 'int left(void); int roof(void); int rain(void);' 'static int cover(void)' '{' '    return left();' '}' \
        'int rain(void)' '{' '    return 3;' '}' "$@" >"$tree/house/roof.c"
}

hidden='hidden circle: 4 files, at most 0 house/ground house/left house/right house/roof'

a_hidden_circle() {
    build_table 'static const struct plan mine = { .height = 2, .cover = cover };' 'int roof(void) { plan = &mine; return left() + ground(); }'
    faulty "$hidden" && grep -qx 'the hidden circle has grown' "$tree/said"
}

a_hidden_circle_by_position() {
    build_table 'static const struct plan mine[] = { { 2, cover }, { 0 } };' 'int roof(void) { plan = mine; return left() + ground(); }'
    faulty "$hidden"
}

a_hook_that_is_assigned() {
    build_table 'static struct plan mine;' 'int roof(void) { mine.cover = left() ? cover : 0; plan = &mine; return ground(); }'
    faulty "$hidden"
}

a_compound_literal() {
    build_table 'int roof(void) { static struct plan mine; mine = (struct plan){ .cover = cover }; plan = &mine; return left() + ground(); }'
    faulty "$hidden"
}

# The struct that is called through decides, not the name of the member alone.
another_struct_with_such_a_member() {
    build_table 'struct tent { int (*cover)(void); };' 'static const struct tent tent = { cover };' \
        'int roof(void) { return tent.cover() + left() + ground(); }'
    ask && grep -qx 'hidden circle: 0 files, at most 0' "$tree/said"
}

# What is called is no table, and what a comment or a text says is nothing.
no_table() {
    build_table 'static const struct plan mine = { .height = 2, .cover = rain };   /* .cover = cover */' \
        'int roof(void) { plan = &mine; return cover() + ground() + (int)sizeof ".cover = cover"; }'
    sed -i.old 's/return left();/return 4;/' "$tree/house/roof.c"
    printf '%s\n' '#include "ground.h"' 'int left(void);' 'int left(void) { return 1; }' >"$tree/house/left.c"
    ! ask || return 1
    grep -qx 'hidden circle: 2 files, at most 0 house/ground house/roof' "$tree/said"
}

# limit N
limit() {
    sed -i.old "s/^<!-- floors -->/&\n<!-- hidden circle: $1 files -->/" "$tree/README.md"
}

a_hidden_circle_that_is_known() {
    build_table 'static const struct plan mine = { 2, cover };' 'int roof(void) { plan = &mine; return left() + ground(); }'
    limit 4
    ask && grep -q '^hidden circle: 4 files, at most 4 ' "$tree/said" || return 1
    build_table 'static const struct plan mine = { 2, cover };' 'int roof(void) { plan = &mine; return left() + ground(); }'
    limit 3
    faulty 'the hidden circle has grown'
}

check 'a tree in which all arrows go down is let pass' all_goes_down
check 'of two programs each calls its own function of a name' two_programs
check 'a circle by a table of functions is told' a_hidden_circle
check 'so is one by a table whose members are not named' a_hidden_circle_by_position
check 'so is one by a hook that is assigned' a_hook_that_is_assigned
check 'so is one by a structure that has no name' a_compound_literal
check 'a member of that name in another struct is none' another_struct_with_such_a_member
check 'only what stands in a table is called through it' no_table
check 'a hidden circle may be as large as the README says, and no larger' a_hidden_circle_that_is_known
check 'a call of a function above is told' a_call_up
check 'an include of a header above is told' an_include_up
check 'so is one of a header that is found as installed ones are' an_include_up_that_is_found_where_installed_headers_are
check 'a circle within a floor is told' a_circle
check 'a file that the table does not name is told' a_file_that_is_missing
check 'a file that only the table names is told' a_file_that_is_not_there
check 'a README without the table is told' a_table_that_is_not_there
finish
