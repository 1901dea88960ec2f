# shellcheck shell=sh disable=SC2016,SC2119,SC2120    # Perl has variables, too. Servers are started with options or without.
# Shared by the tests of the command. Use: . tests/live/lib.sh; start_servers 5; check "a rule" ...; finish
#
# Servers listen on free ports of the loopback and keep nothing. When a script ends, however it ends,
# they and all children of begin() are gone, and so is $directory, in which a test may put its files.
. tests/tap.sh
. tools/environment.sh

redlock=${REDLOCK:-$PWD/build/redlock}
[ -x "$redlock" ] || { echo "Bail out! there is no $redlock: run make, or set REDLOCK"; exit 1; }
server=$(tools/need --print redis-server) || exit 1
tools/need perl || exit 1
directory=/nonexistent

# The shell's own list has its children from the first moment on, so that no signal comes too early. A
# second signal does not disturb the first one's work. A stopped process dies of SIGKILL as well; one
# that stop() has stopped and nobody here began goes on, and ends as it would have.
# shellcheck disable=SC2046    # The process ids are several words.
clean_up() {
    trap '' HUP INT TERM
    jobs -p >"$directory/jobs" 2>/dev/null && kill -KILL $(cat "$directory/jobs" "$directory/begun") 2>/dev/null
    kill -CONT $(cat "$directory/stopped") 2>/dev/null
    wait 2>/dev/null
    rm -rf "$directory"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
directory=$(mktemp -d "${TMPDIR:-/tmp}/redlock-test.XXXXXX") || exit 1
: >"$directory/begun"
: >"$directory/stopped"

# Small programs, which make has compiled for its tests.
helpers=${BUILD:-$PWD/build}/tests/live/bin
if ! [ -x "$helpers/ask" ] || ! [ -x "$helpers/limit" ]; then
    helpers=$directory/helpers
    mkdir "$helpers" || exit 1
    for helper in ask limit; do cc -O1 -o "$helpers/$helper" "tests/live/bin/$helper.c" || exit 1; done
fi

# begin PID: is ended with the script, unless over() says that it has ended.
begin() {
    echo "$1" >>"$directory/begun"
}

# over PID: waits for it; its exit status.
over() {
    wait "$1" 2>/dev/null
    set -- "$1" $?
    sed -i.old "/^$1\$/d" "$directory/begun"
    return "$2"
}

# are_numbers PID...: a process that was not found has none.
are_numbers() {
    for a_number; do
        case ${a_number#-} in '' | *[!0-9]*) echo "'$a_number' is no number of a process"; return 1 ;; esac
    done
}

# stop PID...: stops it, or a group as "-PID", until go_on(), or the end of the script.
stop() {
    are_numbers "$@" || return 1
    printf '%s\n' "$@" >>"$directory/stopped"
    for to_stop; do kill -STOP "$to_stop" || return 1; done
}
go_on() {
    are_numbers "$@" || return 1
    for to_go_on; do kill -CONT "$to_go_on" || return 1; done
}

# ---- Servers: $nodes is the list of them, port_0 and pid_0 are of the first ----

# Ports are tried from here on, below those that systems give to outgoing connections, and different in each run. Scripts that begin
# one after the other are far apart, or one would take the port of a server that another has killed and starts again.
port=$((20000 + $$ * 370 % 10000))
count=0
nodes=

# From make_certificates on servers speak TLS on their port, and nothing else; the tests themselves talk to them through a unix socket.
# $certificates is where these are (tests/live/certificates); REDLOCK_TLS_CA names their CA.
scheme=
make_certificates() {
    scheme=rediss://
    certificates=${REDLOCK_TEST_CERTIFICATES:-$directory/certificates}
    [ -d "$certificates" ] || tests/live/certificates "$certificates" || { echo 'Bail out! openssl makes no certificates'; exit 1; }
    export REDLOCK_TLS_CA="$certificates/ca.crt"
}

# With REDLOCK_TEST_TLS=1 so do the servers of tests that know nothing of it, unless they write addresses by themselves.
[ -z "${REDLOCK_TEST_TLS:-}" ] || make_certificates

# It is ours, and ready, when its own log says so; it ends by itself when the port is taken.
launch() {
    port=$((port + 1))
    : >"$directory/log-$port"
    if [ -z "$scheme" ]; then
        set -- --port $port "$@"
    else
        set -- --port 0 --tls-port $port --unixsocket "$directory/$port" --tls-cert-file "$certificates/server.crt" \
            --tls-key-file "$certificates/server.key" --tls-ca-cert-file "$certificates/ca.crt" --tls-auth-clients no "$@"
    fi
    "$server" --bind 127.0.0.1 --dir "$directory" --logfile "$directory/log-$port" --save '' --appendonly no "$@" \
        >/dev/null 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        ! grep -q 'Ready to accept connections' "$directory/log-$port" || return 0
        sleep 0.05
    done
    return 1
}

# start_server OPTION...: of redis-server. Ports that were tried before, in another subshell as well, are passed over.
start_server() {
    tries=0
    while [ -e "$directory/log-$((port + 1))" ]; do port=$((port + 1)); done
    until launch "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || { echo "Bail out! $server does not start: $(tail -n 1 "$directory/log-$port")"; exit 1; }
    done
    begin $pid
    eval "port_$count=$port pid_$count=$pid"
    nodes=$nodes${nodes:+,}${scheme}127.0.0.1:$port
    count=$((count + 1))
}

# start_servers COUNT: whose data may be thrown away, so tests call redlock with --guard 0.
start_servers() {
    while [ $count -lt "$1" ]; do start_server; done
    export REDLOCK_NODES="$nodes"
}

# Sets $refused to a port on which nobody listens, nor will, since a process has it that does not.
choose_refused_port() {
    rm -f "$directory/refused"
    perl -MSocket -e '
        socket(my $s, PF_INET, SOCK_STREAM, 0) or die;
        bind($s, sockaddr_in(0, INADDR_ANY)) or die;
        print +(sockaddr_in(getsockname($s)))[0], "\n";
        close STDOUT;
        sleep' </dev/null >"$directory/refused" 2>/dev/null &
    begin $!
    until [ -s "$directory/refused" ]; do
        kill -0 $! 2>/dev/null || { echo 'Bail out! no port can be had'; exit 1; }
        sleep 0.05
    done
    read -r refused <"$directory/refused"
    export refused
}

# on NUMBER SIGNAL: sends it to a server.
on() {
    eval "set -- \"\$pid_$1\" $2"
    are_numbers "$1" && kill -"$2" "$1"
}

# ask NUMBER WORD...: a command to a server; prints the reply as redis-cli does without a terminal. (redis-cli is not on
# every system that has a server.)
ask() {
    asked=$1
    shift
    eval "set -- \"\$port_$asked\" \"\$@\""
    "$helpers/ask" "$directory" "$@"
}

# everywhere WORD...: the same of all servers, a line from each.
everywhere() {
    ports='' of=0
    while [ $of -lt "$count" ]; do
        eval "ports=\"$ports \$port_$of\""
        of=$((of + 1))
    done
    "$helpers/ask" "$directory" "$ports" "$@"
}

# A hung command is ended after so long, by "$limit" $limit_s.
limit=$helpers/limit
limit_s=60

# The time that a node may take where a test does not say it. It is longer than a busy machine makes
# anybody wait. (Only without a guard, so that nothing is added to the options that a test gives.)
patience=10s
patiently() {
    case " $* " in
    *' --node-timeout '* | *' --node-timeout='*) "$@" ;;
    *' --guard 0 '*) patient_way=$1 patient_word=$2; shift 2; "$patient_way" "$patient_word" --node-timeout "$patience" "$@" ;;
    *) "$@" ;;
    esac
}

# start WORDS...: redlock in the background; sets $started.
start() {
    patiently in_background "$@"
}
in_background() {
    : >"$directory/out"    # At once, not when the background comes to it.
    : >"$directory/err"
    "$limit" $limit_s "$redlock" "$@" >"$directory/out" 2>"$directory/err" &
    started=$!
    begin $started
}

# ---- Terminals ----

# has_terminals: some containers and build machines have no pseudo-terminals, and script(1) cannot make one.
has_terminals() {
    [ -n "${terminals-}" ] || { command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1 && terminals=yes || terminals=no; }
    [ "$terminals" = yes ]
}

# check_on_terminal "what must be so" COMMAND...
check_on_terminal() {
    if has_terminals; then check "$@"; else skip "$1" 'no pseudo-terminals here'; fi
}

# ---- Looking ----

# A command is done when a quorum of nodes has done it. Its result is read right after it as the answer
# of most nodes, or the answer that all of them will give soon.

# most WORD...: prints the answer of most servers.
most() {
    everywhere "$@" | sort | uniq -c | sort -rn | sed -n '1s/^ *[0-9]* //p'
}

# lasts NAME: for so many ms a quorum of keys will be there.
lasts() {
    everywhere PTTL "$1" | sort -n | sed -n "$(((count + 1) / 2))p"
}

# is_held NAME...: a quorum of servers has them.
is_held() {
    for held_name; do [ "$(lasts "$held_name")" -gt 0 ] || return 1; done
}

# gone NAME...: no server has them any longer, soon.
gone() {
    for gone_name; do within 10 is_nowhere "$gone_name" || return 1; done
}
is_nowhere() { [ -z "$(everywhere GET "$1" | tr -d '\n')" ]; }

# block NAME: prints the code block of the README after <!-- NAME -->, or of the guide after .\" NAME,
# there without mdoc's additions.
block() {
    block_of_readme "$1" | grep . || block_of_guide "$1" | grep . || echo "no block $1 in README.md or redlock.7"
}
block_of_readme() {
    awk -v mark="<!-- $1 -->" '
        $0 == mark { found = 1; next }
        found && /^```/ { if (inside) exit; inside = 1; next }
        inside' README.md
}
block_of_guide() {
    awk -v mark=".\\\\\" $1" '
        $0 == mark { found = 1; next }
        found && /^\.Ed/ { exit }
        found && /^\.Bd/ { inside = 1; next }
        inside' tools/man/redlock.7 | sed -e 's/\\&//g' -e 's/\\e/\\/g'
}

in_foreground() {
    "$limit" $limit_s "$redlock" "$@" >"$directory/out" 2>"$directory/err"
}

# is STATUS WORDS...: runs redlock; its output is in $directory/out and $directory/err. True when it exits with STATUS.
is() {
    expected=$1
    shift
    patiently in_foreground "$@"
    got=$?
    [ $got != "$expected" ] || return 0
    echo "redlock $*: exit status $got, not $expected"
    cat "$directory/out" "$directory/err"
    return 1
}

# The token that acquire has printed, without the ticket after it.
token() {
    cut -d : -f 1 "$directory/out"
}

# says PATTERN: looks at stderr. prints PATTERN: looks at stdout. Extended regular expressions, for one line.
says() {
    grep -Eq -e "$1" "$directory/err" || { echo "no line of stderr matches $1:"; cat "$directory/err"; return 1; }
}
prints() {
    grep -Eq -e "$1" "$directory/out" || { echo "no line of stdout matches $1:"; cat "$directory/out"; return 1; }
}

# json FILE EXPRESSION: true of the JSON in the file's last line, which is $j in perl.
json() {
    tail -n 1 "$directory/$1" | perl -MJSON::PP -e '
        my $j = decode_json(<STDIN>);
        exit 0 if eval $ARGV[0];
        print "$ARGV[0] is not so: ", JSON::PP->new->canonical->encode($j), "\n$@";
        exit 1' "$2"
}

# within SECONDS COMMAND...: until it succeeds, which it must within that time.
within() {
    left=$(($1 * 20))
    shift
    until "$@" >/dev/null 2>&1; do
        left=$((left - 1))
        [ $left -gt 0 ] || { echo "it never came to be: $*"; return 1; }
        sleep 0.05
    done
}

# is_at NAME VALUE NUMBER...: the key has that value on each of these servers.
is_at() {
    where=$1 what=$2
    shift 2
    for each; do
        [ "$(ask "$each" GET "$where")" = "$what" ] || { echo "$where is not $what on $each"; return 1; }
    done
}

# processes: "PID PARENT STATE NAME" of each. (A small system has no ps, and Linux needs none.)
processes() {
    if [ -r /proc/self/stat ]; then sed -n 's/^\([0-9]*\) (\(.*\)) \(.\) \([0-9]*\) .*/\1 \4 \3 \2/p' /proc/[0-9]*/stat 2>/dev/null
    elif command -v ps >/dev/null; then ps -axo pid=,ppid=,stat=,comm=
    fi
}
# children_of PID [NAME]: their numbers; of those with that name.
children_of() {
    processes | awk -v parent="$1" -v name="${2-}" '$2 == parent && (name == "" || $4 == name) { print $1 }'
}

# state_of PID: R, S, T (stopped), Z; nothing when it is gone.
state_of() {
    if [ -r /proc/self/stat ]; then sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null
    else ps -o stat= -p "$1" | cut -c 1
    fi
}
is_gone() {
    case $(state_of "$1") in '' | Z) return 0 ;; *) return 1 ;; esac
}
is_stopped() {
    [ "$(state_of "$1")" = T ]
}
