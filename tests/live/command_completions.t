#!/bin/sh
# The shells complete each command after "redlock", each option of the table, and the possible values of an argument.
# shellcheck disable=SC2016    # The programs are those of other shells.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

PATH=$(dirname "$redlock"):$PATH
export PATH

# Those of the table, by name, except the one that is there to be refused.
sed -n 's/^ *{ "\([a-z-]*\)", [O'"'"'].*/--\1/p' tools/redlock/tables.h tools/*/program.c | grep -vx -e --password | sort -u >"$directory/table"
redlock help | awk '/^$/ { block++ } block == 1 && /^  [a-z]/ { print $1 }' >"$directory/commands"

the_table_is_known() {
    [ "$(wc -l <"$directory/table")" -gt 20 ] && grep -qx -e --guard "$directory/table" && [ "$(wc -l <"$directory/commands")" -ge 6 ]
}
check 'the table of options and the list of commands are found' the_table_is_known

# same_words FILE: as in $directory/got, where an option that needs an argument has a "=" and one letter may be known as well.
same_words() {
    sed 's/=$//' "$directory/got" | grep -e -- -- | sort -u >"$directory/words"
    diff "$1" "$directory/words"
}

# has WORD... / has_not WORD...: are they completed?
has() {
    for wanted; do grep -qx -e "$wanted" "$directory/got" || { echo "no $wanted"; cat "$directory/got"; return 1; }; done
}
has_not() {
    for wanted; do ! grep -x -e "$wanted" "$directory/got" || return 1; done
}

# of_command COMMAND: its options are those that its help has, each once.
of_command() {
    redlock "$1" --help=all | sed -n 's/^ *\(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort -u >"$directory/expected"
    same_words "$directory/expected"
}

# ---- bash: the words of the line, the last of them the one to be completed ----

bash_completes() {
    bash -c '. tools/completions/redlock.bash
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _redlock 2>&1
        [ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}"' bash "$@" >"$directory/got" 2>&1
}
bash_commands() {
    bash_completes redlock '' && diff "$directory/commands" "$directory/got" && bash_completes redlock st && has status && has_not run &&
    bash_completes redlock help re && has release && bash_completes redlock -n host st && has status &&
    bash_completes redlock status '' && [ ! -s "$directory/got" ]
}
bash_options() {
    bash_completes redlock -- && same_words "$directory/table" || return 1
    while read -r command; do
        [ "$command" = help ] && continue
        bash_completes redlock "$command" -- && of_command "$command" || return 1
        bash_completes redlock --guard 0 "$command" door -- && of_command "$command" || return 1
    done <"$directory/commands"
    bash_completes redlock run --tt && has --ttl= && bash_completes redlock run - && has -n -q --trace --ttl=
}
bash_arguments() {
    bash_completes redlock acquire --trace = && has all votes && bash_completes redlock acquire --trace = v && has votes && has_not all &&
    bash_completes redlock acquire --trace '' && [ ! -s "$directory/got" ] && bash_completes redlock run --help = && has all &&
    bash_completes redlock run --help '' && [ ! -s "$directory/got" ] &&
    bash_completes redlock run -w f && has forever && bash_completes redlock run --log '' && has text json syslog && bash_completes redlock run --password-file READ && has README.md &&
    bash_completes redlock run --password-file = READ && has README.md && bash_completes redlock run --log-file READ && has README.md && bash_completes redlock run -n @READ && has @README.md
}
bash_program() {
    bash_completes redlock run door -- awk && has awk && bash_completes redlock run --guard 0 door -- awk READ && has README.md &&
    bash_completes redlock run door -- awk --tra && has_not --trace
}
check 'bash completes each command' bash_commands
check 'bash completes each option, of the command on the line or of all' bash_options
check 'bash completes what an argument can be' bash_arguments
check 'bash completes what redlock runs as a command of its own' bash_program

# ---- fish, which can be asked for what it would complete; zsh, whose builtins are played ----

fish_completes() {
    HOME=$directory fish --no-config -c 'source tools/completions/redlock.fish; complete -C "$argv[1]"' "$1" | cut -f 1 >"$directory/got"
}
fish_completes_all() {
    fish_completes 'redlock ' && has run acquire extend release status help && fish_completes 'redlock --' && same_words "$directory/table" &&
    fish_completes 'redlock extend door --' && of_command extend && fish_completes 'redlock -n host run --' && of_command run &&
    fish_completes 'redlock status --trace=' && has --trace=all --trace=votes && fish_completes 'redlock run door -- aw' && has awk &&
    fish_completes 'redlock run door -- awk --tra' && has_not --trace
}
zsh_completes() {
    zsh -fc 'compset() { return 1 }; compadd() { print -lr -- "$@" }; _files() { print a-file }; _hosts() { print a-host }
        _normal() { print -lr -- $words }; _describe() { [[ $1 != -o ]] || shift; print -lr -- ${(P)2} }
        words=("$@") CURRENT=$#
        set --
        source tools/completions/_redlock' zsh "$@" >"$directory/got" 2>&1
    sed -i.old 's/\([^\\]\):.*/\1/' "$directory/got"
}
zsh_completes_all() {
    zsh_completes redlock '' && has run acquire extend release status help && zsh_completes redlock -- && same_words "$directory/table" &&
    zsh_completes redlock extend door -- && of_command extend && zsh_completes redlock -n host run -- && of_command run &&
    zsh_completes redlock run -n '' && has a-host && zsh_completes redlock run -w '' && has forever &&
    zsh_completes redlock run --password-file '' && has a-file && zsh_completes redlock run --log '' && has syslog && zsh_completes redlock run door -- awk '' && has awk && has_not redlock
}
if command -v fish >/dev/null; then check 'fish completes commands, options and arguments' fish_completes_all
else skip 'fish completes commands, options and arguments' 'no fish here'; fi
if command -v zsh >/dev/null; then check 'zsh completes commands, options and arguments' zsh_completes_all
else skip 'zsh completes commands, options and arguments' 'no zsh here'; fi

finish
