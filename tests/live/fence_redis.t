#!/bin/sh
# shellcheck disable=SC1091,SC2154    # What fence.sh and lib.sh define.
# A hash in Redis that refuses late writers. The server with the data is none of those with the lock.
cd "$(dirname "$0")/../.." || exit 1
. tests/live/fence.sh

start_server
export STORE="$port"

# A script is one step. Its numbers are doubles, and tickets are below 2^53, so they are compared
# exactly. It stores their text.
cat >"$directory/write.lua" <<'END'
local last = tonumber(redis.call('HGET', KEYS[1], 'ticket') or '0')
if tonumber(ARGV[1]) < last then return 0 end
redis.call('HSET', KEYS[1], 'ticket', ARGV[1], 'value', ARGV[2])
return 1
END

# Does as redis-cli does.
program client <<'END'
#!/usr/bin/env perl
use IO::Socket::INET;
my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ENV{STORE}, Timeout => 5) or die "no server\n";
print $server '*', scalar @ARGV, "\r\n", map { '$' . length($_) . "\r\n$_\r\n" } @ARGV;
my $line = <$server>;
$line = <$server> if $line =~ /^\$\d/;
$line =~ s/^:|\r\n$//g;
print "$line\n";
END

program write <<END
#!/bin/sh
"$directory/client" EVAL "\$(cat "$directory/write.lua")" 1 account:7 "\$REDLOCK_TICKET" "\$1"
END

program write_bare <<END
#!/bin/sh
"$directory/client" HSET account:7 value "\$1" >/dev/null && echo 1
END

program stored <<END
#!/bin/sh
"$directory/client" HGET account:7 value
END

check_the_store
finish
