#!/bin/sh
# The Lua scripts that nodes run: the headers are what tools/scripts makes of the .lua files, and tools/scripts changes nothing but names
# of locals, blanks and comments.
cd "$(dirname "$0")/../../.." || exit 1
. tests/tap.sh
. tests/scripts.sh

made=$(mktemp -d) || exit 1
trap 'rm -rf "$made"' EXIT
trap 'exit 1' HUP INT TERM

print_all_scripts >"$made/scripts"

check 'each header is what tools/scripts writes' tools/scripts --check

every_sha1_is_right() {
    grep -q ' [0-9a-f]\{40\} ' "$made/scripts" && perl -MDigest::SHA=sha1_hex -ne '
        my ($macro, $sha1, $text) = /^(\w+) (\S+) (.*)$/ or die "no script: $_";
        next if $sha1 eq "-" || $sha1 eq sha1_hex($text =~ tr/\f/\n/r);
        print "$macro\n";
        $faults++;
        END { exit($faults > 0) }' "$made/scripts"
}
check 'every SHA-1 is that of the text that the compiler sees' every_sha1_is_right

luac=$(command -v luac5.1 || command -v luac) || luac=
all_are_lua() {
    while read -r macro _ text; do
        script_text "$text" | "$luac" -p - || { echo "$macro"; return 1; }
    done <"$made/scripts"
}
if [ -n "$luac" ]; then check 'each script is Lua' all_are_lua; else skip 'each script is Lua' 'no luac'; fi

# The models of nodes obey what a script says, so that a mutant changes them, too. Words that it does not say would change them unseen.
all_words_are_said() {
    perl -e '
        open my $in, "<", shift or die;
        my %text = map { /^(\w+) \S+ (.*)$/ } <$in>;
        local $/;
        for my $file (@ARGV) {
            open my $in, "<", $file or die "$file: $!\n";
            my $source = <$in>;
            while ($source =~ /\b(?:(?:script_)?says|strstr)\((WIRE_\w+_SCRIPT), "([^"]*)"|\bfair_says\("([^"]*)"/g) {
                my ($macro, $words) = ($1 // "WIRE_FAIR_ACQUIRE_SCRIPT", $2 // $3);
                $count++;
                next if index($text{$macro}, $words) >= 0;
                print "$file: $macro says nothing of: $words\n";
                $faults++;
            }
        }
        exit($faults > 0 || $count < 70)' "$made/scripts" tests/world/*.c tests/explore/*.c
}
check 'the models of nodes look for words that the scripts say' all_words_are_said

# Lua knows no macros of C.
names_are_those_of_the_headers() {
    cat >"$made/names.c" <<'CODE'
#include <string.h>
#include "redlock/redlock.h"
#include "redlock/scripts.h"
#include "tools/admin/admin_scripts.h"
#include "tools/redlock/command_scripts.h"
int main(void)
{
    return !(strstr(SCAN_STEP_SCRIPT, "'" REDLOCK_CANARY "'") && strstr(SCAN_STEP_SCRIPT, "'" REDLOCK_PROMOTION_KEY "'") && strstr(REMOVAL_SCRIPT, "'" REDLOCK_TICKET_SUFFIX "'") &&
             strstr(WIRE_ACQUIRE_SCRIPT, "'" REDLOCK_TICKET_SUFFIX "'") && strstr(WIRE_MARK_SCRIPT, "'" REDLOCK_DONE_SUFFIX "'") &&
             strstr(PROCLAIM_SCRIPT, "'" REDLOCK_LEADER_SUFFIX "'") && strstr(RESIGN_SCRIPT, "'" REDLOCK_LEADER_SUFFIX "'"));
}
CODE
    ${CC:-cc} -I. -o "$made/names" "$made/names.c" && "$made/names"
}
check 'keys beside a lock have the names that redlock.h gives them' names_are_those_of_the_headers

# ---- What tools/scripts makes of a script ----

# A tree with nothing in it but what the generator reads.
mkdir -p "$made/tools" "$made/redlock"
cp tools/scripts "$made/tools"
for file in $(find redlock tools -name '*.lua') $(headers_with_scripts); do
    mkdir -p "$made/$(dirname "$file")" && cp "$file" "$made/$file"
done

# becomes TEXT LINE...: a script of these lines is generated as the text.
becomes() {
    expected=$1
    shift
    printf '%s\n' '--@macro TRIED_SCRIPT' "$@" >"$made/redlock/kinds/tried.lua"
    "$made/tools/scripts" >"$made/said" 2>&1 || { cat "$made/said"; return 1; }
    print_scripts "$made/redlock/scripts.h" | sed -n 's/^TRIED_SCRIPT - //p' >"$made/tried"
    [ "$(cat "$made/tried")" = "$expected" ] || { cat "$made/tried"; return 1; }
}

# is_refused WORDS LINE...
is_refused() {
    words=$1
    shift
    printf '%s\n' '--@macro TRIED_SCRIPT' "$@" >"$made/redlock/kinds/tried.lua"
    ! "$made/tools/scripts" >"$made/said" 2>&1 || { echo 'it is not'; return 1; }
    grep -F -e "$words" "$made/said" || { cat "$made/said"; return 1; }
}

check 'comments and blanks go' becomes 'return 1' '-- It is one.' 'return    1 -- one'
check 'a name is its first letter, and the next if that is taken' becomes 'local v,a=KEYS,ARGV return v,a' \
    'local value, vault = KEYS, ARGV' 'return value, vault'
check 'a name is that of its block' becomes 'if KEYS then local k=1 elseif ARGV then local k=2 end for k=1,2 do redis.call(k)end' \
    'if KEYS then local key = 1 elseif ARGV then local key = 2 end' 'for kept = 1, 2 do redis.call(kept) end'
check 'a function sees its parameters and what stands before it' becomes \
    'local a=1 local function t(q)return q,a end return t(a)' \
    'local all = 1' 'local function tell(queue) return queue, all end' 'return tell(all)'
check 'strings, fields and methods stay' becomes "local e={e=1}return e.entry,e:entry(),'entry'" \
    'local entry = { e = 1 }' "return entry.entry, entry:entry(), 'entry'"
check 'a value in a table is no field' becomes 'local e=1 return{e,e,err=e}' 'local entry = 1' 'return { entry, entry, err = entry }'
check 'numbers and signs stay apart' becomes "local o=1 return o-1,- -o,1 ..'',o>-1" \
    'local one = 1' "return one - 1, - -one, 1 .. '', one > -1"
# shellcheck disable=SC1003    # One backslash.
check 'quotes and backslashes come through C' becomes 'return'\''"\\"'\' 'return '\''"\\"'\'
check 'a piece stands where it is included' becomes \
    "local t,c,s=1,2,3 if t>c[1]*1e6+c[2]+s*1e3 then return{err='AHEAD of the clock of this node: '..c[1]}end" \
    'local ticket, clock, skew_ms = 1, 2, 3' '--@include ahead.lua'
check 'a script that makes a name of a key says so to Dragonfly' becomes \
    "$(printf -- '--!df flags=allow-undeclared-keys\f')local k=KEYS[1]return k..'#ticket'" \
    'local key = KEYS[1]' "return key .. '#ticket'"
check 'a name that is unknown is refused' is_refused 'kinds/tried.lua:2: keys is neither local nor known' 'return keys'
check 'a local that hides another is refused' is_refused 'tried.lua:3: key hides another name' 'local key = 1' 'for key = 1, 2 do end'
check 'a name is not known behind its block' is_refused 'tried.lua:3: key is neither' 'do local key = 1 end' 'return key'
check 'a block without an end is refused' is_refused 'a block is not closed' 'do return 1'
check 'so is a sign that no script has' is_refused 'cannot read "!"' 'return !1'

# notices FILE SCRIPT: of a file that sed has changed --check says that it is no longer so.
notices() {
    rm -f "$made/redlock/kinds/tried.lua"
    "$made/tools/scripts" && "$made/tools/scripts" --check || return 1
    sed "$2" "$made/$1" >"$made/changed" && cp "$made/changed" "$made/$1"
    ! "$made/tools/scripts" --check >"$made/said" && grep -q "^redlock/scripts.h is not what its scripts say" "$made/said"
}
check 'a change of a script is noticed' notices redlock/kinds/plain_extend.lua 's/return 0/return 2/'
check 'and one of a piece' notices redlock/kinds/lengthen.lua 's/>= 0/> 0/'
check 'and one of a header' notices redlock/scripts.h 's/return 1/return 3/'
finish
