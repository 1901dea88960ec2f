#!/bin/sh
# The command redlock. Tests its words, options and values, and its messages about wrong ones.
# shellcheck disable=SC2016    # The expressions are perl's.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

start_servers 3
choose_refused_port
# shellcheck disable=SC2154    # The port is set by its number.
first=127.0.0.1:$port_0

# Before they are 30 s old.
restarted() {
    is 122 acquire --node-timeout $patience door && says 'no quorum' &&
    says 'node 2 \(127.0.0.1:[0-9]+\): restarted [0-9]+ s ago, no vote for another [0-9]+ s' &&
    says '--guard 0'
}
check 'servers that have just started have no vote, and the message says why, how long, and --guard 0' restarted

# ---- Help ----

is_refused() {
    pattern=$1
    shift
    is 125 "$@" && says "$pattern" && says "^Try 'redlock ([a-z]+ )?--help'" && [ ! -s "$directory/out" ]
}

help_names_the_options() {
    is 0 "$1" --help=all || return 1
    shift
    for option; do prints "^ +(-., )?--$option" || return 1; done
}
help_is_shown() {
    is 0 --help && prints '^Usage: redlock' && is 0 -h && is 0 --version &&
    prints '^redlock [0-9]+\.[0-9]+\.[0-9]+$' || return 1
    ticket='no-ticket skew'
    common='node resource guard node-timeout trust-unknown user password-file json trace verbose help version'
    # shellcheck disable=SC2086    # Several words.
    {
        help_names_the_options run $common wait ttl grace max-hold max-extensions hold-at-least once-per retry-until-done once-anyway drift retry $ticket no-wake-ups quiet &&
        help_names_the_options acquire $common wait ttl drift retry $ticket no-wake-ups quiet &&
        help_names_the_options extend $common ttl drift &&
        help_names_the_options release $common no-wake-ups &&
        help_names_the_options status $common skew
    }
}
help_fits_a_terminal() {
    for command in run acquire extend release status lead; do
        { "$redlock" $command --help && "$redlock" $command --help=all; } | awk -v c=$command 'length > 90 { print c ": " $0; bad = 1 } END { exit bad }' || return 1
    done
}
check 'each command has a --help that names its options' help_is_shown

helps() {
    is 0 --help && cp "$directory/out" "$directory/all" && is 0 help && cmp "$directory/out" "$directory/all" &&
    is 0 help help && cmp "$directory/out" "$directory/all" || return 1
    for command in run acquire extend release status; do
        is 0 $command --help && cp "$directory/out" "$directory/all" && is 0 help $command && cmp "$directory/out" "$directory/all" ||
            return 1
    done
    is_refused "'frob' is none of run, acquire" help frob && is_refused "'x' is one word too many" help run x
}

# options_of COMMAND [--help=all]: how many it shows.
options_of() {
    "$redlock" "$1" "${2---help}" | grep -cE '^ +(-., )?--[a-z]'
}
# What is left out is told, and how to see it.
help_is_short() {
    for command in run acquire extend release keep lead; do
        [ "$(options_of $command)" -le 12 ] && [ "$(options_of $command --help=all)" -gt 20 ] && is 0 $command --help &&
            prints "^These are the options that most people need; --help=all shows all $(options_of $command --help=all)\.\$" || return 1
    done
    for command in status leader; do
        [ "$(options_of $command)" = "$(options_of $command --help=all)" ] && is 0 $command --help && ! prints 'most people' || return 1
    done
    help_names_the_options run node wait ttl grace && is 0 run --help && prints '--wait' && ! prints '--grace' && is 0 --help=all &&
    prints '^  run RESOURCE' && is 0 run -h && ! prints '--grace' && is 0 run --help all && ! prints '--grace' && is 0 run -hv &&
    is_refused "--help: 'every' is not 'all'" run --help=every && is_refused "--help: '' is not 'all'" --help= &&
    is 125 run --help=every --json && json err '$j->{text} =~ /is not .all/'
}
check 'help fits a terminal' help_fits_a_terminal
check 'redlock help COMMAND is redlock COMMAND --help' helps
check '--help shows the dozen options that people use, --help=all shows all' help_is_short

manuals() {
    for command in run acquire extend release status; do
        for option in $("$redlock" $command --help=all | sed -n 's/^ .*  *--\([a-z-]*\).*/\1/p'); do
            grep -q "Fl -$option" tools/man/redlock.1 || { echo "redlock.1 lacks --$option"; return 1; }
        done
    done
    for function in $(grep -hoE '\bredlock_[a-z_]+\(' redlock/redlock*.h | tr -d '(' | sort -u); do
        grep -Eq "^\.F[no] $function( |$)" tools/man/redlock.3 || { echo "redlock.3 lacks $function()"; return 1; }
    done
    awk -F '[ ,(]+' '/^ *X\([0-9]/ { print "REDLOCK_" $4 }' redlock/redlock.h | while read -r status; do
        grep -qw "$status" tools/man/redlock.3 || { echo "redlock.3 lacks $status"; exit 1; }
    done
}
check 'the manuals name every option, every function and every status' manuals

# ---- Wrong words ----

wrong_words() {
    is_refused 'a command is missing' &&
    is_refused "'frob' is none of run, acquire" frob &&
    is_refused 'a RESOURCE is missing' acquire &&
    is_refused 'a COMMAND to run is missing' run door &&
    is_refused 'a COMMAND to run is missing' run door -- &&
    is_refused 'TOKEN is missing' extend door &&
    is_refused 'TOKEN is missing' release door &&
    is_refused "'b' is one word too many" acquire a b &&
    is_refused 'name all resources by it, or the only one by a word' acquire a -r b &&
    is_refused "'c' is one word too many" acquire -r a -r b c &&
    is_refused "'a' is named twice" status -r a -r b --resource=a &&
    is_refused "TOKEN is missing" extend -r a -r b &&
    is_refused 'a COMMAND to run is missing' run -r a -r b -- &&
    is_refused "unknown option '--frob'" acquire --frob door &&
    is_refused "unknown option '--frob'" acquire --frob=secret door && ! grep secret "$directory/err" &&
    is_refused "unknown option '-z'" acquire -z door &&
    is_refused "unknown option '--grace'" acquire --grace 1s door &&
    is_refused "argument is missing behind '--ttl'" acquire door --ttl &&
    is_refused "argument is missing behind '-t'" acquire door -t
}
check 'words that are wrong are named, with the way to the help, and status 125' wrong_words

near_misses() {
    is_refused "'stauts' is none of .*: did you mean 'status'\?" stauts door &&
    is_refused "did you mean 'acquire'\?" aquire door && is_refused "did you mean 'run'\?" rnu door &&
    is_refused "did you mean 'release'\?" relaes door && is_refused "did you mean 'run'\?" help rum &&
    is_refused "'r' is none of [a-z, ]*$" r && is_refused "'stats-now' is none of [a-z, ]*$" stats-now &&
    is_refused "'$(printf '%040d' 0)' is none of [a-z, ]*$" "$(printf '%040d' 0)" && is_refused "'' is none of" '' &&
    is_refused "unknown option '--tll': did you mean '--ttl'\?" acquire --tll 3s door &&
    is_refused "unknown option '--gaurd': did you mean '--guard'\?" status --gaurd=0 door &&
    is_refused "unknown option '--node-timeuot': did you mean '--node-timeout'\?" status --node-timeuot=1s door &&
    is_refused "unknown option '--pasword-file': did you mean" --pasword-file=secret status && ! grep secret "$directory/err" &&
    is_refused "unknown option '--frob'$" acquire --frob door && is_refused "unknown option '--frob'$" --frob &&
    is_refused "'--quiet' takes no argument" acquire --quiet=1 door && is_refused "'--json' takes no argument" status --json=secret door &&
    is_refused "unknown option '--no'" acquire --no door &&
    is_refused "unknown option '--grace' for acquire: another command has it" acquire --grace 1s door
}
check 'of words that are nearly right the right one is told' near_misses

before_the_command() {
    is 0 --guard=0 -n "$first" --json acquire -t 30s before && json out '$j->{resource} eq "before" && @{$j->{nodes}} == 1' &&
    is 124 --guard=0 -n"$first" -v status before && prints fingerprint && prints '^before: held by' &&
    is 3 --guard=0 -q run -w 0 before-2 sh -c 'exit 3' && is 0 -h && is 0 --guard=0 --version &&
    is_refused 'a command is missing' --guard=0 && is_refused 'a command is missing' -- run before true &&
    is_refused "argument is missing behind '-n'" -n && is_refused "unknown option '-z'" -z run &&
    is_refused "unknown option '--grace' for status" --grace 1s status door
}
check 'options may stand before the command' before_the_command

# s1: "$a,$b,$c" with one of them not set.
lost_entries() {
    is 125 acquire -n "$first,,$first" door && says 'node 1 of the list, byte [0-9]+: .*empty \(a variable that is not set' &&
    is 125 acquire -n ",$first" door && says 'node 0 of the list, byte 0: ' && is 125 status -n "$first," door &&
    is 125 release -n "$first" -n ' ' door 0123456789abcdef0123456789abcdef01234567 && is 125 run -n "$first," door true &&
    says 'node 1 of the list, byte [0-9]+: ' && is 125 acquire -n "$first" -n '' door && says 'list is empty' || return 1
    REDLOCK_NODES="$first,," is 125 acquire door && says 'node 1 of the list'
}
check 's1 an empty entry in the list of nodes is refused, and its place told' lost_entries

wrong_values() {
    is_refused "'10' has no unit: write 10ms, 10s" acquire -t 10 door &&
    is_refused "unit of '10y' is none of ms, s, m, h, d" acquire -t 10y door &&
    is_refused "'-1s' is no duration: write it as 500ms" acquire -t -1s door &&
    is_refused "'' is no duration" acquire -t '' door &&
    is_refused "'1\.\.5s' is no duration" acquire -t 1..5s door &&
    is_refused "'s' is no duration" acquire -t s door &&
    is_refused "'1\.0005s' is finer than a millisecond" acquire -t 1.0005s door &&
    is_refused "'25d' is too long: at most 2147483647ms" acquire -t 25d door &&
    is_refused "'99999999999999999999s' is too long" acquire -t 99999999999999999999s door &&
    is_refused "'99999999999d' is too long" acquire --guard 99999999999d door &&
    is_refused '--ttl: must be at least 1 ms' acquire -t 0 door &&
    is_refused '--node-timeout: must be at least 1 ms' acquire --node-timeout 0 door &&
    is_refused "--wait: 'ever' is no duration" acquire --wait ever door &&
    is_refused "--ttl: 'forever' is no duration" acquire --ttl forever door &&
    is_refused "--drift: '60%' is no ratio of at most 50%" acquire --drift 60% door &&
    is_refused "--drift: '1' is no ratio" acquire --drift 1 door &&
    is_refused "--max-extensions: '-1' is no whole number of at most 2147483647" run --max-extensions -1 door true &&
    is_refused "--max-extensions: '1.5' is no whole number" run --max-extensions 1.5 door true &&
    is_refused "--max-extensions: '2147483648' is no whole number" run --max-extensions 2147483648 door true &&
    is_refused '--skew: must be at least 1 ms' acquire --skew 0 door &&
    is_refused "--skew: '61m' is too long: at most 1h" status --skew 61m door &&
    is_refused "--retry: '2h' is too long: at most 1h" acquire --retry 2h door &&
    is_refused 'TOKEN: behind its blank stands the holder' release door '0123456789012345678901234567890123456789 ' &&
    is_refused "TOKEN: behind its blank stands the holder" release door "0123456789012345678901234567890123456789 $(printf '%064d' 0)" &&
    is_refused "unknown option '--max-hold'" extend --max-hold 1s door &&
    is_refused "--busy-exit: '256' is no exit status: 0 to 255" acquire -E 256 door &&
    is_refused "--busy-exit: 'x' is no exit status" run --busy-exit=x door true &&
    is_refused '--grace: 6000 ms is more than half of the TTL' run --grace 6s door -- true
}
check 'values that are wrong are named, with what would be right' wrong_values

no_nodes() {
    unset REDLOCK_NODES
    is_refused 'no nodes are named: give -n HOST:PORT' acquire door
}
check 'without nodes the ways to name them are told' no_nodes

# ---- Values ----

# has_ttl DURATION MS: a lock acquired for the duration is there for at most so many ms, and not much less.
has_ttl() {
    is 0 acquire --guard 0 -n "$first" -t "$1" "ttl-$1" || return 1
    left=$(ask 0 PTTL "ttl-$1")
    echo "$1: $left ms are left"
    [ "$left" -le "$2" ] && [ "$left" -gt $(($2 - 5000)) ]
}
durations() {
    has_ttl 5950ms 5950 && has_ttl 10s 10000 && has_ttl 6.5s 6500 && has_ttl 2m 120000 && has_ttl 0.25m 15000 &&
    has_ttl 1h 3600000 && has_ttl 2d 172800000 && has_ttl 2147483647ms 2147483647
}
check 'durations are written as 5950ms, 10s, 6.5s, 2m, 1h, 2d' durations

# has_drift RATIO MS: of a TTL of 10 s, with the 2 ms that always are.
has_drift() {
    is 0 acquire --guard 0 -n "$first" --trace --drift "$1" "drift-$1" && says "won 1/1: 10000 - .* elapsed - $2 drift = "
}
drifts() {
    has_drift 1% 102 && has_drift 8.4% 842 && has_drift 84000ppm 842 && has_drift 0 2 && has_drift 50% 5002
}
check 'the drift is written as 8.4% or 84000ppm' drifts

default_ttl() {
    is 0 acquire --guard 0 -n "$first" default && left=$(ask 0 PTTL default) && [ "$left" -gt 5000 ] &&
    [ "$left" -le 10000 ]
}
check 'the TTL is 10 s where none is given' default_ttl

options_anywhere() {
    is 0 acquire door-1 --guard 0 -t 5s && is 0 acquire --guard=0 -t5s --json door-2 &&
    json out '$j->{resource} eq "door-2"' &&
    is 0 acquire --guard 0 -- --json && is 124 status --guard 0 -- --json && prints '^--json: held by'
}
check 'options may stand before and behind the resource; behind -- there are none' options_anywhere

commands_options() {
    is 3 run --guard 0 door-3 -- sh -c 'exit 3' --json && is 4 run --guard 0 door-3 sh -c 'exit 4' &&
    is 0 run --guard 0 -- door-3 printf '%s' --json -n && prints '^--json-n$'
}
check 'the options of a command that is run are its own, with -- before it and without' commands_options

# ---- Nodes ----

# acquires_on COUNT WORDS...
acquires_on() {
    number=$1
    shift
    for _ in 1 2 3 4 5; do      # A server may be late.
        tried=$((tried + 1))
        is 0 acquire --guard 0 --json "$@" "nodes-$tried" && json out "@{\$j->{nodes}} == $number" || return 1
        ! json out "\$j->{confirmed} == $number" || return 0
    done
    return 1
}
node_forms() {
    tried=0
    # shellcheck disable=SC2154
    {
        acquires_on 3 &&
        acquires_on 1 -n "$first" &&
        acquires_on 2 -n "$first" --node "127.0.0.1:$port_1" &&
        acquires_on 3 -n "$first,127.0.0.1:$port_1" --node="redis://127.0.0.1:$port_2/3" &&
        acquires_on 2 -n "$first 127.0.0.1:$port_1"
    }
    list=$REDLOCK_NODES
    REDLOCK_NODES=$first acquires_on 1 && REDLOCK_NODES=nowhere.invalid acquires_on 3 -n "$list"
}
check 'nodes come from -n, repeated or separated, or else from REDLOCK_NODES' node_forms

listed() {
    printf '# Three servers.\n\n  127.0.0.1:%s # the first\n127.0.0.1:%s,\n\t127.0.0.1:%s\n#127.0.0.1:1' "$port_0" "$port_1" "$port_2" >"$directory/three"
    printf '127.0.0.1:%s 127.0.0.1:%s\r\n' "$port_1" "$port_2" >"$directory/two"
    printf 'redis://:a#b@127.0.0.1:1' >"$directory/hash"
    tried=100
    acquires_on 3 -n "@$directory/three" && acquires_on 2 --node="@$directory/two" &&
    acquires_on 3 -n "$first" -n "@$directory/two" && REDLOCK_NODES=@$directory/two acquires_on 2 &&
    REDLOCK_NODES=@$directory/two is 0 run --guard 0 listed sh -c 'echo "$REDLOCK_NODES"' && prints "^@$directory/two$" &&
    is 125 acquire --guard 0 -n "@$directory/hash" listed-2 && says "hash:1: in a user or password .*'#' are written"
}
check 'the list of nodes may be in a file, with comments, one or several a line' listed

# wrong_list STATUS PATTERN: with the list in the file named list.
wrong_list() {
    is "$1" acquire --guard 0 -n "@$directory/list" door && says "$2" || return 1
    REDLOCK_NODES=@$directory/list is 125 run --guard 0 door true && says "$2"
}
wrong_lists() {
    list=$directory/list
    printf '# one\n%s\nlocalhost:99999 # two\n' "$first" >"$list" && wrong_list 125 "^redlock: $directory/list:3: " &&
    printf '%s,\n,%s\n' "$first" "$first" >"$list" && wrong_list 125 "^redlock: $directory/list:2: .*empty" &&
    printf ',%s' "$first" >"$list" && wrong_list 125 "^redlock: $directory/list:1: .*empty" &&
    printf '%s\n\n,\n' "$first" >"$list" && wrong_list 125 "^redlock: $directory/list:4: .*empty" &&
    printf '\n%s nowhere.invalid gone.invalid\n' "$first" >"$list" && is 122 acquire --guard 0 -n "@$list" door && says 'node 1 .nowhere.invalid:6379.: ' &&
    printf '# no one\n\n' >"$list" && wrong_list 125 "^redlock: the list of nodes $directory/list names none$" &&
    printf '%s\n\0' "$first" >"$list" && wrong_list 125 "^redlock: the list of nodes $directory/list has a byte 0" &&
    head -c 20000 /dev/zero | tr '\0' a >"$list" && wrong_list 125 "^redlock: the list of nodes in $directory/list is too long" &&
    is 125 acquire -n "$(head -c 20000 /dev/zero | tr '\0' a)" door && says '^redlock: the list of nodes is too long' &&
    rm "$list" && wrong_list 125 "^redlock: cannot read the list of nodes $directory/list: No such file" &&
    mkdir "$list" && wrong_list 125 "^redlock: cannot read the list of nodes $directory/list: Is a directory" && rmdir "$list" &&
    is 125 acquire -n @ door && says "^redlock: --node: '@' names no file" &&
    printf '%s' 127.0.0.1:99999 >"$list" && is 125 acquire -n "$first" -n "@$list" door && says "^redlock: $list:1: "
}
check 'what is wrong with a list in a file is told with file and line' wrong_lists

wrong_nodes() {
    is 125 acquire -n '' door && says '^redlock: --node: .*empty' &&
    is 125 acquire -n "$first,127.0.0.1:99999" door && says 'node 1 of the list, byte [0-9]+: ' &&
    is 125 acquire -n "rediss://$first" door && says "node 0 of the list, byte 0: there is no TLS here: 'make TLS=openssl'" &&
    is 125 run -n "$first,127.0.0.1:99999" door true && says 'node 1 of the list' &&
    is 122 acquire -n "$first,nowhere.invalid:7000,gone.invalid" door &&
    says 'node 1 \(nowhere\.invalid:7000\): [a-z]+' && is 122 run --wait 0 -n redis://u:s3cret@gone.invalid door true &&
    says 'node 0 \(gone\.invalid:6379\): [a-z]+' && ! says s3cret
}
check 'a node that is written wrong is named, with its place in the list' wrong_nodes

without_tls() {
    for option in --tls-ca --tls-cert --tls-key; do
        is 125 acquire -n "$first" $option "$directory/none" door && says "^redlock: there is no TLS here: 'make TLS=openssl'" &&
        is 125 ping -n "$first" $option "$directory/none" && says "there is no TLS here: 'make TLS=openssl'" || return 1
    done
    REDLOCK_TLS_CA=$directory/none is 0 run --guard 0 -n "$first" door true
}
check 'a redlock without TLS refuses its options, and says how to get it' without_tls

wrong_nodes_in_json() {
    for words in 'acquire door' 'extend door 0123456789012345678901234567890123456789' 'status door'; do
        # shellcheck disable=SC2086    # Several words.
        is 125 $words --json -n "$first,127.0.0.1:99999" && [ ! -s "$directory/err" ] && [ "$(wc -l <"$directory/out")" -eq 1 ] &&
        json out '$j->{status} eq "BAD_ADDRESS" && $j->{text} =~ /^node 1 of the list, byte/ && $j->{resource} eq "door"' || return 1
    done
}
check 'with --json that is told as JSON, without words' wrong_nodes_in_json

# wrong_in_json PATTERN WORD...: on stdout, and of run on stderr.
wrong_in_json() {
    pattern=$1
    shift
    is 125 "$@" && [ ! -s "$directory/err" ] && [ "$(wc -l <"$directory/out")" -eq 1 ] &&
    json out '$j->{status} eq "BAD_SETTINGS" && $j->{code} == 125 && $j->{text} =~ /'"$pattern"'/' || return 1
    shift
    is 125 run --json "$@" -- true && [ ! -s "$directory/out" ] && [ "$(wc -l <"$directory/err")" -eq 1 ] &&
    json err '$j->{exit} == 125 && $j->{reason} eq "not acquired" && $j->{text} =~ /'"$pattern"'/'
}
wrong_settings_in_json() {
    printf '\n' >"$directory/empty-line"
    wrong_in_json '^--node: the list is empty' acquire -n '' door --json &&
    wrong_in_json 'names no file' acquire -n @ door --json &&
    wrong_in_json '^cannot read the list of nodes .*nowhere: No such file' acquire -n "@$directory/nowhere" door --json &&
    wrong_in_json '^the password file .* begins with an empty line' acquire --password-file "$directory/empty-line" door --json &&
    wrong_in_json "^--ttl: '7' has no unit" acquire --json -t 7 door &&
    is 125 acquire --json && json out '!defined $j->{resource} && $j->{text} eq "a RESOURCE is missing"' &&
    (unset REDLOCK_NODES; wrong_in_json '^no nodes are named' acquire --json door)
}
check 'and so are all settings that are wrong' wrong_settings_in_json

# ---- Statuses of the configuration ----

config_statuses() {
    is 125 acquire -t 31s door && says '--guard' && is 125 run -t 31s door true && says '--guard' &&
    is 125 acquire --guard 0 -t 2ms door && says TTL &&
    is 125 acquire --guard 0 '' && is 125 acquire --guard 0 "$(printf '%0513d' 0)" &&
    is 0 acquire --guard 0 "$(printf '%0512d' 0)" &&
    is 125 release --guard 0 door abc && is 125 extend --guard 0 door ABCDEF
}
check 'limits of the library have its statuses, and 125 with run' config_statuses


refused_node() {
    is 122 acquire --guard 0 -n "127.0.0.1:$refused" door &&
    says "node 0 \(127.0.0.1:$refused\): connection refused \(is the server running" &&
    is 0 acquire --guard 0 -n "$first,127.0.0.1:$refused,127.0.0.1:$port_1" -v door-4 &&
    says 'node 1 .*connection refused'
}
check 'a node that cannot be reached is named, with what happened and what to look at' refused_node

same_server() {
    is 125 acquire --guard 0 -n "$first,$first" door && says 'same server as node' && says 'name each server once'
}
check 'the same server twice is told' same_server

twice_beside_a_quorum() {
    start_server
    second=127.0.0.1:$port
    is 0 acquire --guard 0 -n "$first,$first,$second" twice && says 'same server as node [01] \(name each server once\)' &&
    [ "$(wc -l <"$directory/err")" -eq 1 ]
}
check 'it is told where a quorum votes, too' twice_beside_a_quorum

finish
