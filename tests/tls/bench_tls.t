#!/bin/sh
# The benchmark measures redlock through TLS beside the same library used by hand. Nothing here depends on how fast it is.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh
. tools/bench/servers.sh

bench=${BUILD:-build}/bench
tests/live/certificates "$directory/made" || exit 1
certificates=$directory/made
start_servers 3
# shellcheck disable=SC2086    # The ports are several words.
nodes=$(nodes_of $ports | sed 's|127|rediss://127|g')

# run_bench CLIENT OPTION...: its output goes to $directory/line.
run_bench() {
    client=$1
    shift
    "$bench" --client "$client" --nodes "$nodes" --warmup 0 --node-timeout-ms 10000 "$@" >"$directory/line" 2>&1
}

works() {
    run_bench "$@" --tls-ca "$certificates/ca.crt" --cycles 50 || { cat "$directory/line"; return 1; }
    grep -q '"cycles":50,.*"fail":0,' "$directory/line" || { cat "$directory/line"; return 1; }
}

# refuses WORDS CLIENT OPTION...
refuses() {
    words=$1
    shift
    if run_bench "$@" --cycles 1; then return 1; fi
    grep -q "$words" "$directory/line" || { cat "$directory/line"; return 1; }
}

# A node that is not reached does not stop the others.
works_with_one_refused() {
    all=$nodes
    nodes=$(echo "$nodes" | cut -d , -f 1-2),rediss://127.0.0.1:1
    works "$1"
    status=$?
    nodes=$all
    return $status
}

# The ratio is only printed, since it depends on the machine.
prints_a_ratio() {
    tools/bench/run --quick --tls "$bench" >"$directory/table" 2>&1 || { cat "$directory/table"; return 1; }
    for row in acquire release; do
        grep -q "^  $row, TLS  *[0-9.]*  *[0-9.]*  *[0-9.]* \\[" "$directory/table" || { cat "$directory/table"; return 1; }
    done
}

for client in redlock raw; do
    check "$client works through TLS" works $client
    check "$client works through TLS with many locks in flight" works $client --mode throughput --concurrency 16
    check "$client works through TLS while one node of three refuses" works_with_one_refused $client
done
check 'redlock says which certificate is not trusted' refuses 'TLS: .*not trusted' redlock --tls-ca "$certificates/stranger-ca.crt"
check 'raw trusts no other certificate either' refuses 'no quorum' raw --tls-ca "$certificates/stranger-ca.crt"
check 'the benchmark has rows of TLS, with their ratios' prints_a_ratio

finish
