#!/usr/bin/env perl
# A redis-server that answers as another product does: tests/live/disguise.pl PRODUCT PORT
#
# Stands in front of the redis-server at the port of the loopback, and prints its own port. Commands go
# through, but for those that the product refuses; INFO is told in the product's words, and scripts may be run by
# another Lua, and held to the keys that they declare. What each product says is from the place named beside it.
use strict;
use warnings;
use Digest::SHA 'sha1_hex';
use File::Basename 'dirname';
use IPC::Open2;
use IO::Select;
use IO::Socket::INET;

my $unknown = sub { "ERR unknown command '$_[0]', with args beginning with: " };

my %no_scripts = map { my $name = lc; ($_ => sub { "NOPERM User default has no permissions to run the '$name' command" }) }
    'EVAL', 'EVALSHA', 'SCRIPT';

my %products = (
    # src/server/server_family.cc, main_service.cc and facade/error.h at f8eca6d0 (2026-08-22).
    dragonfly => {
        info => "# Server\nredis_version:7.4.0\ndragonfly_version:df-v1.37.0\nredis_mode:standalone\narch_bits:64\n"
            . "process_id:PID\nos:Linux 6.1.0\nthread_count:4\nmultiplexing_api:epoll\ntcp_port:TCP\nuptime_in_seconds:UP\n"
            . "# Replication\nrole:master\nconnected_slaves:0\nmaster_replid:RUN\n",
        lua => 'strict',
    },
    # Before pull request 3517.
    'dragonfly-old' => 'stricter',
    # src/server/server.cc at 5fccd57c (2024-10-24).
    kvrocks => {
        info => "# Server\nversion:2.10.0\nkvrocks_version:2.10.0\nredis_version:4.0.0\nredis_mode:standalone\nkvrocks_mode:standalone\n"
            . "os:Linux\narch_bits:64\nprocess_id:PID\ntcp_port:TCP\nuptime_in_seconds:UP\nuptime_in_days:0\n"
            . "# Replication\nrole:master\nconnected_slaves:0\nmaster_repl_offset:7\n",
    },
    # libs/server/Metrics/Info/GarnetInfoMetrics.cs, Resp/CmdStrings.cs and Lua/LuaCommands.cs at e508a416 (2026-08-22).
    garnet => {
        info => "# Server\ngarnet_version:1.0.84\nserver_name:garnet\nuptime_in_seconds:UP\nrun_id:RUN\nredis_version:7.4.3\n"
            . "redis_mode:standalone\n# Replication\nrole:master\nconnected_slaves:0\nmaster_failover_state:no-failover\n"
            . "master_replid:0000000000000000000000000000000000000000\nmaster_repl_offset:N/A\nsecond_repl_offset:N/A\n",
        refuses => { map { ($_ => sub { 'ERR This instance has Lua scripting support disabled' }) } 'EVAL', 'EVALSHA', 'SCRIPT' },
    },
    # The same, with --lua, which is Lua 5.4 (libs/server/Lua/NativeMethods.cs).
    'garnet-lua' => 'lax',
    # Valkey 9.1.2 after MODULE UNLOAD lua.
    'valkey-without-lua' => {
        info => "# Server\nredis_version:7.2.4\nserver_name:valkey\nvalkey_version:9.1.2\nserver_mode:standalone\nprocess_id:PID\nrun_id:RUN\n"
            . "tcp_port:TCP\nuptime_in_seconds:UP\n# Replication\nrole:master\nconnected_slaves:0\nmaster_replid:RUN\nsecond_repl_offset:-1\n",
        refuses => {
            EVALSHA => sub { 'NOSCRIPT No matching script.' },
            map { ($_ => sub { "ERR Could not find scripting engine 'lua'" }) } 'EVAL', 'SCRIPT'
        },
        native => 'DELIFEQ',
    },
    # src/server.cpp and replication.cpp at 603ebb27 (2024-03-21), with "active-replica yes".
    'keydb-active' => {
        info => "# Server\nredis_version:6.3.4\nredis_mode:standalone\nprocess_id:PID\nrun_id:RUN\ntcp_port:TCP\nuptime_in_seconds:UP\n"
            . "# Replication\nrole:active-replica\nmaster_global_link_status:up\nconnected_slaves:1\nmaster_replid:RUN\nsecond_repl_offset:-1\n",
    },
    # "Restricted commands in Aiven for Valkey", aiven-docs at 073a07fc (2026-08-21), and ROLE, which Aiven for Caching disables.
    aiven => {
        refuses => { map { ($_ => $unknown) } 'ACL', 'BGREWRITEAOF', 'BGSAVE', 'CLUSTER', 'COMMAND', 'CONFIG', 'DEBUG', 'LASTSAVE', 'MONITOR', 'ROLE' },
    },
    # "Establish external routing with an Ingress controller" and "Server management commands compatibility", redis/docs at
    # 63f31f69 (2026-08-21): no ROLE, no ACL but for what the cluster manager does, INFO with fewer fields.
    'redis-software' => {
        info => "# Server\nredis_version:7.4.2\nredis_mode:standalone\nprocess_id:1\nrun_id:RUN\ntcp_port:TCP\nuptime_in_seconds:UP\n"
            . "# Replication\nrole:master\nconnected_slaves:1\nslave0:ip=0.0.0.0,port=0,state=online,offset=0,lag=0\nmaster_repl_offset:0\n",
        refuses => { map { ($_ => $unknown) } 'ACL', 'ROLE', 'SLOWLOG' },
    },
    # The fields of an INFO of ElastiCache, and its client library's list of restricted commands.
    elasticache => {
        info => "# Server\nredis_version:7.1.0\nredis_mode:standalone\nos:Amazon ElastiCache\nprocess_id:1\nrun_id:RUN\ntcp_port:TCP\nuptime_in_seconds:UP\n"
            . "# Replication\nrole:master\nconnected_slaves:0\nmaster_replid:RUN\nsecond_repl_offset:-1\n",
        refuses => { map { ($_ => $unknown) } 'BGREWRITEAOF', 'BGSAVE', 'CONFIG', 'DEBUG', 'MIGRATE', 'REPLICAOF', 'SAVE', 'SHUTDOWN', 'SLAVEOF', 'SYNC' },
    },
    # ElastiCache Serverless, MemoryDB, and any endpoint in cluster mode.
    cluster => {
        info => "# Server\nredis_version:7.2.4\nredis_mode:cluster\nprocess_id:1\nrun_id:RUN\nuptime_in_seconds:UP\n"
            . "# Replication\nrole:master\nconnected_slaves:1\nsecond_repl_offset:-1\n",
    },
    # "Redis API Compatibility" and "INFO" of upstash.com/docs/redis: no section of replication, and of one that it has not only the
    # heading. No document tells the fields: these are of an INFO of version 1.13.3 (keepselvesreal/Xai_Community on GitHub).
    upstash => {
        info => "# Server\nupstash_version:1.13.3\nredis_version:6.2.6\nredis_git_sha1:b8ef06c\nredis_build_id:20250422\nredis_mode:standalone\n"
            . "# Clients\nconnected_clients:1\nmaxclients:10000\n",
        refuses => { map { ($_ => $unknown) } 'CONFIG', 'ROLE' },
    },
    # "Choose a clustering policy for Azure Managed Redis", learn.microsoft.com/azure/redis/choose-clustering-policy: Redis Enterprise,
    # by the Enterprise policy behind a proxy and like a server without a cluster.
    azure => 'redis-software',
    # "Lua scripting in Tair", help.aliyun.com/en/redis/support/usage-of-lua-scripts, and developer.aliyun.com/ask/466195: behind the
    # proxy of a cluster each key stands in redis.call as KEYS[1] itself, not in a variable, unless script_check_enable is 0.
    'alibaba-proxy' => {
        checks => sub {
            my ($text, $count) = @_;
            return "ERR for redis cluster, eval/evalsha number of keys can't be negative or zero" if !$count;
            return if $text !~ /KEYS/;
            my $rest = $text =~ s/redis\.p?call\('\w+',\s*KEYS\[\d+\]//gr;
            return if $rest !~ /KEYS/ && $rest !~ /redis\.p?call/;
            return 'ERR bad lua script for redis cluster, all the keys that the script uses should be passed using the KEYS array, '
                . 'and KEYS should not be in expression';
        },
    },
    # The same with script_check_enable 0: the proxy still needs a key, by which it finds the shard.
    alibaba => {
        checks => sub { $_[1] ? () : "ERR for redis cluster, eval/evalsha number of keys can't be negative or zero" },
    },
    # Redis 8.6.3 of Debian's experimental, and Valkey 9.1.2 of its sid, asked as a user with +@all -@scripting.
    'redis-scriptless' => { refuses => \%no_scripts, native => 'DELEX' },
    'valkey-scriptless' => { refuses => \%no_scripts, native => 'DELIFEQ' },
    redis => {},
);
my ($name, $port) = @ARGV;
my $product = $products{$name // ''} or die 'usage: disguise.pl PRODUCT PORT, with one of ' . join(' ', sort keys %products) . "\n";
$product = $products{$product} // { info => $products{$name =~ s/-.*//r}{info}, lua => $product } if !ref $product;

sub dial { IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") or die "nothing listens at $port\n" }

# ---- RESP ----

# $rest is what was read beyond the last line or text. Nothing comes any more: the process ends.
sub fill {
    my ($from) = @_;
    sysread $from->{socket}, $from->{rest}, 65536, length $from->{rest} or exit;
}

sub take_line {
    my ($from) = @_;
    fill($from) while $from->{rest} !~ /\r\n/;
    $from->{rest} =~ s/^(.*?)\r\n//s;
    return $1;
}

sub take_bytes {
    my ($from, $size) = @_;
    fill($from) while length $from->{rest} < $size;
    return substr $from->{rest}, 0, $size, '';
}

sub take_words {
    my ($from, $count) = @_;
    return map { my $word = take_bytes($from, 2 + substr take_line($from), 1); substr $word, 0, -2 } 1 .. $count;
}

sub take_command { return take_words($_[0], substr take_line($_[0]), 1) }

sub take_reply {
    my ($from) = @_;
    my $reply = my $line = take_line($from);
    $reply .= "\r\n";
    return $reply . take_bytes($from, 2 + $1) if $line =~ /^\$(\d+)/;
    if ($line =~ /^\*(\d+)/) { $reply .= take_reply($from) for 1 .. $1 }
    return $reply;
}

sub bulk { return '$' . length($_[0]) . "\r\n$_[0]\r\n" }
sub command { return '*' . @_ . "\r\n" . join '', map { bulk($_) } @_ }

# ---- The disguise ----

# The server's own process, port, run and uptime, in the product's words.
sub disguised_info {
    my ($reply) = @_;
    my %own = (PID => 'process_id', TCP => 'tcp_port', RUN => 'run_id', UP => 'uptime_in_seconds');
    return $reply if !$product->{info};
    my $text = $product->{info} =~ s/\b(PID|TCP|RUN|UP)\b/$reply =~ m{^$own{$1}:(\w+)}m ? $1 : die/egr;
    return bulk($text =~ s/\n/\r\n/gr);
}

# ---- Scripts in another Lua ----

my (%text, $lua);       # Scripts by their SHA-1s; the process that runs them, its ends.

sub start_lua {
    my $to = my $from = '';
    open2($from, $to, $ENV{LUA} || 'lua5.4', dirname(__FILE__) . '/lua54.lua', $product->{lua});
    return { socket => $from, to => $to, rest => '' };
}

# The script's commands go to the server, until its reply comes.
sub run_script {
    my ($server, @words) = @_;
    $lua //= start_lua();
    syswrite $lua->{to}, command(@words);
    while ((my $line = take_line($lua)) ne 'done') {
        my @called = take_words($lua, substr $line, 1);
        syswrite $server->{socket}, command(@called);
        syswrite $lua->{to}, take_reply($server);
    }
    return take_reply($lua);
}

sub eval_script {
    my ($server, $word, $script, @more) = @_;
    my $sha1 = $word eq 'EVAL' ? sha1_hex($script) : $script;
    $text{$sha1} = $script if $word eq 'EVAL';
    return "-NOSCRIPT No matching script. Please use EVAL.\r\n" if !defined $text{$sha1};
    return run_script($server, 'EVAL', $text{$sha1}, @more);
}

# What newer servers do by a command of their own, by a script for this one.
my $compare = "local value = redis.call('get', KEYS[1]) if value ~= ARGV[1] then return %s end return redis.call(%s)";

sub in_other_words {
    my ($word, @more) = @_;
    my ($key, $token) = @more;
    return ('EVAL', sprintf($compare, 0, "'del', KEYS[1]"), 1, $key, $token) if $word eq 'DELIFEQ' && @more == 2;
    return ('EVAL', sprintf($compare, 0, "'del', KEYS[1]"), 1, $key, $more[2]) if $word eq 'DELEX' && @more == 3 && $more[1] eq 'IFEQ';
    return ('EVAL', sprintf($compare, 'false', "'set', KEYS[1], ARGV[1], 'px', ARGV[2]"), 1, $key, $token, $more[5])
        if $word eq 'SET' && @more == 6 && $more[2] eq 'IFEQ' && $more[3] eq $token;
    return ($word, @more);
}

sub answer {
    my ($server, $word, @more) = @_;
    my $refusal = $product->{refuses}{uc $word};
    $word = uc $word;
    return '-' . $refusal->($word) . "\r\n" if $refusal;
    return eval_script($server, $word, @more) if $product->{lua} && $word =~ /^EVAL/;
    $text{sha1_hex($more[1])} = $more[1] if $word eq 'SCRIPT' && @more == 2;
    if ($product->{checks} && $word =~ /^EVAL/) {
        $text{sha1_hex($more[0])} = $more[0] if $word eq 'EVAL';
        my $text = $word eq 'EVAL' ? $more[0] : $text{$more[0]};
        my ($mistake) = defined $text ? $product->{checks}->($text, $more[1]) : 'NOSCRIPT No matching script. Please use EVAL.';
        return "-$mistake\r\n" if $mistake;
    }
    ($word, @more) = in_other_words($word, @more) if $product->{native} && $word =~ /^(?:SET|$product->{native})$/;
    @more = () if $word eq 'INFO' && $product->{info};      # Whatever section: all of it.
    syswrite $server->{socket}, command($word, @more);
    my $reply = take_reply($server);
    return $word eq 'INFO' ? disguised_info($reply) : $reply;
}

# From a subscription on, bytes go through as they are.
sub relay {
    my ($client, $server) = @_;
    my $both = IO::Select->new($client->{socket}, $server->{socket});
    while (1) {
        for my $from ($both->can_read) {
            sysread $from, my $bytes, 65536 or exit;
            syswrite $from == $client->{socket} ? $server->{socket} : $client->{socket}, $bytes;
        }
    }
}

sub serve {
    my ($socket) = @_;
    my $client = { socket => $socket, rest => '' };
    my $server = { socket => dial(), rest => '' };
    while (my @words = take_command($client)) {
        syswrite $socket, answer($server, @words);
        relay($client, $server) if uc $words[0] eq 'SUBSCRIBE';
    }
}

# ---- Connections ----

$SIG{CHLD} = 'IGNORE';
my $listener = IO::Socket::INET->new(Listen => 64, LocalAddr => '127.0.0.1:0') or die "no port: $!\n";
$| = 1;
print $listener->sockport, "\n";
while (1) {
    my $socket = $listener->accept or next;
    defined(my $child = fork) or die "fork: $!\n";
    next if $child;
    close $listener;
    serve($socket);
    exit;
}
