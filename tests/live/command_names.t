#!/bin/sh
# Nodes that are named. Servers move while their names stay, and some names nobody knows yet. The names
# are those of an /etc/hosts that only redlock sees, in a mount namespace of its own.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/lib.sh

hosts=$directory/hosts
named_port=$((20000 + $$ * 370 % 10000))

# with_hosts COMMAND...: which finds our file where its resolver looks. $unshare is set by can_name().
with_hosts() {
    # shellcheck disable=SC2016,SC2086    # Another shell's; two options.
    exec unshare $unshare sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' sh "$hosts" "$@"
}

# shellcheck disable=SC2016    # Perl has variables, too.
can_name() {
    echo '127.9.9.9 redlock-test-name' >"$hosts"
    for unshare in -m -rm; do
        (with_hosts perl -e 'my $a = gethostbyname("redlock-test-name"); exit !($a && join(".", unpack("C4", $a)) eq "127.9.9.9")') \
            >/dev/null 2>&1 && return 0
    done
    return 1
}

# server_at NUMBER GENERATION: a server of that node, at an address of its own; all have one port.
address_of() {
    echo "127.77.$1.$2"
}
server_at() {
    start_server --bind "$(address_of "$1" "$2")" --port "$named_port" >/dev/null
    eval "named_$1=\$pid"
}
launch() {
    : >"$directory/log-$count"
    "$server" --dir "$directory" --logfile "$directory/log-$count" --save '' --appendonly no "$@" >/dev/null 2>&1 &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        ! grep -q 'Ready to accept connections' "$directory/log-$count" || return 0
        sleep 0.05
    done
    named_port=$((named_port + 1))
    return 1
}

# The file is changed in place, since the mount is the file, not its name.
name_servers() {
    for number in 1 2 3; do
        eval "echo \"\$(address_of $number \$generation_$number) redlock-node-$number\""
    done >"$directory/hosts.new"
    cat "$directory/hosts.new" >"$hosts"
}

# A new server in the place of another one, empty, at another address.
replace() {
    eval "kill -KILL \$named_$1; over \$named_$1; generation_$1=2"
    server_at "$1" 2
    name_servers
}

# The job of each of the five, which ends when the test says that its turn is over.
cat >"$directory/job" <<'END'
mkdir "$1/inside" || echo twice >>"$1/faults"
echo "$2" >>"$1/turns"
turn=$(($(wc -l <"$1/turns")))
until [ -e "$1/over-$turn" ]; do sleep 0.05; done
rmdir "$1/inside"
END

# The guard is short, so that it is over soon; a TTL must not be longer.
run_job() {
    (with_hosts "$redlock" run -v --guard 4s --ttl 4s --skew 100ms --node-timeout 5s door -- sh "$directory/job" "$directory" "$1") \
        >"$directory/run-$1" 2>&1 &
    eval "run_$1=\$!"
    begin $!
}

turn_is() {
    [ "$(($(wc -l <"$directory/turns")))" = "$1" ]
}

# value_at NUMBER: of the lock's key on that server, as it is on the wire.
# shellcheck disable=SC2016    # Perl has variables, too.
value_at() {
    eval "set -- \"\$(address_of $1 \$generation_$1)\""
    perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => shift, PeerPort => shift) or exit 1;
        print $s "GET door\r\n"; $_ = <$s>; print /^\$(\d+)/ ? scalar <$s> : "nothing\n"' "$1" "$named_port"
}
is_on_all() {
    value=$(value_at 1)
    [ "$value" != nothing ] && [ "$value" = "$(value_at 2)" ] && [ "$value" = "$(value_at 3)" ]
}

# replaced_in_turn NUMBER: runs while the holder of that turn works. It goes on until the new server has
# its key as well, since the next one must not be replaced before.
replaced_in_turn() {
    within 40 turn_is "$1" && within 40 is_on_all && replace "$1" && within 40 is_on_all && : >"$directory/over-$1"
}

all_ended_well() {
    for each in 1 2 3 4 5; do
        eval "over \$run_$each" || { echo "run $each: exit status $?"; cat "$directory/run-$each"; return 1; }
    done
}

five_jobs_outlive_three_servers() {
    : >"$directory/turns"
    for each in 1 2 3 4 5; do run_job "$each"; done
    if ! { replaced_in_turn 1 && replaced_in_turn 2 && replaced_in_turn 3; }; then
        cat "$directory"/run-*
        return 1
    fi
    : >"$directory/over-4"
    : >"$directory/over-5"
    all_ended_well && turn_is 5 && [ ! -e "$directory/faults" ]
}

# This happens at boot, when redlock is earlier than the network.
a_name_may_come_later() {
    echo '127.0.0.1 localhost' >"$hosts"
    (with_hosts "$redlock" acquire --guard 0 --wait 40s gate) >"$directory/out" 2>"$directory/err" &
    started=$!
    begin $started
    within 40 grep -Eq 'redlock-node-.*(no such host|name server)' "$directory/err" || return 1
    name_servers
    over $started || { cat "$directory/err"; return 1; }
}

# A part of a name has at most 63 bytes, so that no resolver has to ask anybody.
unknown=an-impossible-name-of-more-than-sixty-three-bytes-between-its-two-dots.example

start_named_servers() {
    for number in 1 2 3; do
        eval "generation_$number=1"
        server_at "$number" 1
    done
    name_servers
    export REDLOCK_NODES="redlock-node-1:$named_port,redlock-node-2:$named_port,redlock-node-3:$named_port"
}

if can_name; then
    start_named_servers
    check 'a name that is unknown at first is looked up again while there is time to wait' a_name_may_come_later
    check 'five jobs outlive three servers that are replaced behind their names: none is lost, none runs twice' \
        five_jobs_outlive_three_servers
else
    skip 'five jobs outlive three servers that are replaced behind their names' 'no mount namespace here'
    skip 'a name that is unknown at first is looked up again' 'no mount namespace here'
fi

a_name_without_an_address_is_its_nodes_trouble() {
    is 122 acquire -n "$unknown,$unknown:1" --guard 0 gate && says 'gate: no quorum' && says "node 0 \\($unknown:6379\\): .*name|host" &&
        says "node 1 \\($unknown:1\\): "
}
check 'a name without an address is its node'\''s trouble' a_name_without_an_address_is_its_nodes_trouble
finish
