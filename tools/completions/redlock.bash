# Completion of redlock(1) and redlock-admin(1) for bash. The program itself is asked, by its help, for
# its commands and options.
# shellcheck shell=bash disable=SC2207    # Words of the help have no blanks and no wildcards.

_redlock_commands() {
    "$1" help 2>/dev/null | awk '/^$/ { block++ } block == 1 && /^  [a-z]/ { print $1 }'
}

# _redlock_options PROGRAM COMMAND...: with a "=" where an argument must follow.
_redlock_options() {
    local program=$1 command
    shift
    for command; do "$program" "$command" --help=all 2>/dev/null; done |
        awk '/^ +(-., )?--[a-z]/ {
            if ($1 ~ /^-.,$/) { print substr($1, 1, 2); $0 = $2 }
            match($0, /--[a-z-]+=?/)
            print substr($0, RSTART, RLENGTH)
        }' | sort -u
}

# A command of its own, with words of its own, follows "--".
_redlock_program() {
    local first=$1
    if [ "$first" -eq "$COMP_CWORD" ]; then COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
    elif declare -F _command_offset >/dev/null; then _command_offset "$first"
    else COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}

# The argument of an option; false means that it has none, or nobody knows what it could be.
_redlock_argument() {
    case $1 in
    --trace) COMPREPLY=($(compgen -W 'all votes' -- "$2")) ;;
    --help) COMPREPLY=($(compgen -W all -- "$2")) ;;
    --log) COMPREPLY=($(compgen -W 'text json syslog' -- "$2")) ;;
    --metrics | --password-file | --tls-ca | --tls-cert | --tls-key | --log-file | --file | --state) COMPREPLY=($(compgen -f -- "$2")) ;;
    -w | --wait) COMPREPLY=($(compgen -W forever -- "$2")) ;;
    -n | --node)
        if [ "${2#@}" != "$2" ]; then COMPREPLY=($(compgen -P @ -f -- "${2#@}"))
        else COMPREPLY=($(compgen -A hostname -- "$2"))
        fi
        ;;
    *) return 1 ;;
    esac
}

_redlock() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' commands i
    commands=$(_redlock_commands "$program")
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [ -n "$command" ] && [ "${COMP_WORDS[i]}" = -- ]; then
            _redlock_program $((i + 1))
            return
        fi
        [ -n "$command" ] || [[ $'\n'$commands$'\n' != *$'\n'${COMP_WORDS[i]}$'\n'* ]] || command=${COMP_WORDS[i]}
    done
    # bash takes --option=word apart, into three words.
    [ "$word" != = ] || word=
    if [ "$before" = = ]; then before=${COMP_WORDS[COMP_CWORD - 2]}
    elif [ "${COMP_WORDS[COMP_CWORD]}" != = ]; then
        case $before in --trace | --help) before= ;; esac       # Their argument needs the "=".
    fi
    if _redlock_argument "$before" "$word"; then return; fi
    # shellcheck disable=SC2086    # Several words.
    case $word in
    -*) COMPREPLY=($(compgen -W "$(_redlock_options "$program" ${command:-$commands})" -- "$word")) ;;
    *) if [ -z "$command" ] || [ "$command" = help ]; then COMPREPLY=($(compgen -W "$commands" -- "$word")); fi ;;
    esac
    if [ "${#COMPREPLY[@]}" -eq 1 ] && [ "${COMPREPLY[0]%=}" != "${COMPREPLY[0]}" ]; then compopt -o nospace 2>/dev/null; fi
    return 0
}

complete -F _redlock redlock redlock-admin
