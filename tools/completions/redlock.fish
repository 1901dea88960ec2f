# Completion of redlock(1) and redlock-admin(1) for fish. The program itself is asked, by its help, for
# its commands and options.

# Each with its purpose, after a tab.
function __redlock_commands
    set -l program (commandline -opc)[1]
    $program help 2>/dev/null | awk '/^$/ { block++ }
        block == 1 && /^  [a-z]/ { name = $1; sub(/^  .*   */, ""); print name "\t" $0 }'
end

# The command on the line, or nothing.
function __redlock_command
    set -l commands (__redlock_commands | string split -f 1 \t)
    for word in (commandline -opc)[2..-1]
        if contains -- $word $commands
            echo $word
            return
        end
    end
end

# The options of that command; without one, of all.
function __redlock_options
    set -l program (commandline -opc)[1]
    set -l asked (__redlock_command)
    test -n "$asked"; or set asked (__redlock_commands | string split -f 1 \t)
    for command in $asked
        $program $command --help=all 2>/dev/null
    end | awk '/^ +(-., )?--[a-z]/ {
        match($0, /--[a-z-]+=?/)
        name = substr($0, RSTART, RLENGTH)
        text = substr($0, 27)
        if (text == "") { getline; text = substr($0, 27) }
        print name "\t" text
    }' | sort -u
end

# Is the word one of the program that redlock runs?
function __redlock_is_behind_dashes
    contains -- -- (commandline -opc)
end

function __redlock_program
    __fish_complete_subcommand --fcs-skip=(contains -i -- -- (commandline -opc))
end

function __redlock_needs_command
    set -l command (__redlock_command)
    test -z "$command"; or test "$command" = help
end

for program in redlock redlock-admin
    complete -c $program -f
    complete -c $program -n 'not __redlock_is_behind_dashes; and __redlock_needs_command' -a '(__redlock_commands)'
    complete -c $program -n 'not __redlock_is_behind_dashes; and string match -q -- "-*" (commandline -ct)' -a '(__redlock_options)'
    complete -c $program -n 'not __redlock_is_behind_dashes; and string match -q -- "--trace=*" (commandline -ct)' -a '--trace=all --trace=votes'
    complete -c $program -n 'not __redlock_is_behind_dashes; and string match -q -- "--help=*" (commandline -ct)' -a '--help=all'
    complete -c $program -n 'not __redlock_is_behind_dashes; and string match -q -- "@*" (commandline -ct)' -a '@(__fish_complete_path (string sub -s 2 -- (commandline -ct)))'
    complete -c $program -n '__redlock_is_behind_dashes' -a '(__redlock_program)'
end
