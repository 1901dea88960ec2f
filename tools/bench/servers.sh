# shellcheck shell=sh
# Redis servers for a script to measure or to test with. Use: . tools/bench/servers.sh; start_servers 5
#
# They listen on free ports of the loopback and keep nothing. When the script ends, however it ends,
# they are gone, and so is $directory, in which the script may put its files. $ports and $pids are lists
# of words in the same order; word 3 "$ports" is the third.

. tools/environment.sh
server=$(tools/need --print redis-server) || exit 1
directory=/nonexistent
ports='' pids=''

# The shell's own list has its children in the background, so that a server is in it from its first moment
# on, and a second signal does not disturb the first one's work. A stopped process dies of SIGKILL as well.
# shellcheck disable=SC2046    # The process ids are several words.
end_servers() {
    trap '' HUP INT TERM
    jobs -p >"$directory/jobs" 2>/dev/null && kill -KILL $(cat "$directory/jobs") 2>/dev/null
    wait 2>/dev/null
    rm -rf "$directory"
}
trap end_servers EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
directory=$(mktemp -d "${TMPDIR:-/tmp}/redlock-bench.XXXXXX") || exit 1

word() {
    echo "$2" | awk -v which="$1" '{ print $which }'
}

# Ports are tried from here on, below those that systems give to outgoing connections, and different in each run.
port=$((20000 + $$ % 1000 * 10))

# If tests/live/certificates has left some here, servers that are started from then on speak TLS, and nothing else.
certificates=

# Starts a server on the next port. It is ours, and ready, when its own log says so; it ends when the port is taken.
launch_server() {
    port=$((port + 1))
    : >"$directory/log-$port"
    set -- --port $port
    [ -z "$certificates" ] || set -- --port 0 --tls-port $port --tls-auth-clients no --tls-ca-cert-file "$certificates/ca.crt" \
        --tls-cert-file "$certificates/server.crt" --tls-key-file "$certificates/server.key"
    "$server" --bind 127.0.0.1 "$@" --dir "$directory" --logfile "$directory/log-$port" --save '' --appendonly no \
        >/dev/null 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        ! grep -q 'Ready to accept connections' "$directory/log-$port" || return 0
        sleep 0.05
    done
    return 1
}

start_server() {
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        if launch_server; then
            ports="$ports $port" pids="$pids $pid"
            return
        fi
    done
    echo "$0: $server does not start: $(tail -n 1 "$directory/log-$port")" >&2
    exit 1
}

start_servers() {
    while [ "$1" -gt 0 ]; do
        start_server
        set -- $(($1 - 1))
    done
}

# Sets $refused to a port where nobody listens, since its server has gone.
# shellcheck disable=SC2034    # It is for the script.
choose_refused_port() {
    start_server
    refused=$port
    kill -KILL $pid
    wait $pid 2>/dev/null
    pids=${pids% *} ports=${ports% *}
}

# "127.0.0.1:4001,127.0.0.1:4002" of these ports.
nodes_of() {
    list=
    for one; do list=$list${list:+,}127.0.0.1:$one; done
    echo "$list"
}
