#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What lib.sh defines.
# epoll_server.c: fifty locks for fifty connections.
cd "$(dirname "$0")/../.." || exit 1
. tests/examples/lib.sh
tools/need cc perl pkg-config || exit 1
start_servers 3

# A client of the server. It opens connections, says names, and reads; each step ends the script if it fails.
cat >"$directory/client.pl" <<'END_OF_CLIENT'
use strict;
use warnings;
use IO::Socket::INET;
my ($port, $story) = @ARGV;
sub enter {
    my ($name) = @_;
    my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port) or die "no server: $!\n";
    $s->autoflush(1);
    print $s "$name\n" if defined $name;
    return $s;
}
sub hears {
    my ($s, $expected) = @_;
    my $line = <$s> // 'the end';
    chomp $line;
    $line =~ /^$expected$/ or die "heard \"$line\", not \"$expected\"\n";
}
if ($story eq 'fifty') {
    my @all = map { enter("door $_") } 1 .. 50;
    hears($_, 'held') for @all;
    hears(enter(), 'all seats are taken');
}
if ($story eq 'turns') {
    my $first = enter('gate');
    hears($first, 'held');
    my $second = enter('gate');
    select(undef, undef, undef, 0.3);
    close $first;
    hears($second, 'held');
}
if ($story eq 'wrong') {
    hears(enter('door#ticket'), $ARGV[2]);
    hears(enter('x' x 65), 'the end');
}
END_OF_CLIENT
client() { perl "$directory/client.pl" "$port_of_server" "$@"; }

# On a port that the system chooses.
serve() {
    (cd "$directory/copy" && exec ./epoll_server "$nodes" 0) >"$directory/out" 2>"$directory/err" &
    serving=$!
    begin $serving
}
is_ready() { within 10 grep -q '^ready' "$directory/out"; }
ends() {
    kill -TERM $serving && over $serving
}

check 'it is at most 185 lines' is_short epoll_server.c 185
check 'it builds by its own command' builds epoll_server.c
serve
check 'it starts' is_ready
port_of_server=$(sed -n 's/^ready on port //p' "$directory/out")
check 'fifty clients have fifty locks, and the next one no seat' client fifty
check 'clients that hang up release' nothing_is_left
check 'one that waits is next' client turns
check 'a name that is none is refused, in words' client wrong 'the resource must have .*'
on 1 KILL
over "$pid_1"
check 'one of three servers may be away' client fifty
ends
check 'it ends by SIGTERM' test $? = 0
has_said_nothing() { ! grep . "$directory/err"; }
check 'and has said nothing else' has_said_nothing
finish
