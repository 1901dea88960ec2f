#!/usr/bin/env perl
# A thread of a Java program that locks by Redisson. Scripts of our own do to the server what Redisson's
# locks do. The facts are those of Redisson's source at 4.7.1-SNAPSHOT (commit 66863978b), in
# RedissonLock, RedissonFencedLock, RedissonSpinLock, RedissonFairLock and LockPubSub.
#
#     redisson.pl PORT KIND NAME LEASE_MS WAIT_MS ENTRIES       KIND: lock, fenced, spin, fair
#         takes the lock and enters it again until it has been entered so often; says "held FIELD" (a fenced lock: and its token),
#         or "refused"; renews the lease as the watchdog does, every third of it, until SIGTERM; then leaves so often, says how
#         many entries are left each time ("gone": it was not its own), and "released"
#     redisson.pl PORT KIND NAME LEASE_MS WAIT_MS TIMES count FILE
#         takes the lock so often, and each time adds one to the number in FILE, slowly enough that another would come between
use strict;
use warnings;
use IO::Select;
use IO::Socket::INET;
use Time::HiRes qw(sleep time);

my ($port, $kind, $name, $lease, $wait, $entries, $what, $file) = @ARGV;
my $field = sprintf '%08x-%04x-4%03x-9%03x-%012x:%d', $$, $$ & 0xffff, rand 0xfff, rand 0xfff, time * 1000, 1 + rand 99;
my $braced = $name =~ /\{/ ? $name : "{$name}";
my $channel = "redisson_lock__channel:$braced" . ($kind eq 'fair' ? ":$field" : '');
my @queue = ("redisson_lock_queue:$braced", "redisson_lock_timeout:$braced");
my $leaving = 0;
$SIG{TERM} = sub { $leaving = 1 };
$| = 1;

sub connect_to_server {
    return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 10) || die "no server: $!\n";
}

sub send_words {
    my ($socket, @words) = @_;
    print {$socket} '*', scalar @words, "\r\n", map { '$' . length() . "\r\n$_\r\n" } @words;
    $socket->flush;
}

sub read_reply {
    my ($socket) = @_;
    my $line = <$socket> // die "the server is gone\n";
    my ($type, $rest) = $line =~ /^(.)(.*?)\r\n/;
    die "$rest\n" if $type eq '-';
    return [ map { read_reply($socket) } 1 .. $rest ] if $type eq '*';
    return $rest if $type ne '$';
    return undef if $rest < 0;
    read $socket, my $text, $rest + 2;
    return substr $text, 0, $rest;
}

my $server = connect_to_server();
sub ask { send_words($server, @_); return read_reply($server) }
sub run_script { my ($text, $keys, @arguments) = @_; return ask('EVAL', $text, scalar @$keys, @$keys, @arguments) }

# The hash's field is whoever has it, its value how often that has entered. Nothing: it was got; else how long it is taken for.
my $enter = q{
    local free = redis.call('exists', KEYS[1]) == 0
    if not free and redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return redis.call('pttl', KEYS[1]) end
    if KEYS[2] then redis.call('incr', KEYS[2]) end
    redis.call('hincrby', KEYS[1], ARGV[2], 1)
    redis.call('pexpire', KEYS[1], ARGV[1])
    return false};

# Those that wait are in a list, and in a sorted set by the time at which the caller's clock gives them up.
my $drop_stale = q{
    local function first() return redis.call('lindex', KEYS[2], 0) end
    while first() do
        local until_ms = redis.call('zscore', KEYS[3], first())
        if not until_ms or tonumber(until_ms) > tonumber(ARGV[3]) then break end
        redis.call('zrem', KEYS[3], first()) redis.call('lpop', KEYS[2])
    end };
my $enter_in_order = $drop_stale . q{
    if redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
        redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return false
    end
    if redis.call('exists', KEYS[1]) == 0 and (not first() or first() == ARGV[2]) then
        redis.call('lpop', KEYS[2]) redis.call('zrem', KEYS[3], ARGV[2])
        redis.call('hset', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return false
    end
    if ARGV[4] ~= '0' and not redis.call('zscore', KEYS[3], ARGV[2]) then
        redis.call('zadd', KEYS[3], ARGV[3] + ARGV[4] + math.max(0, redis.call('pttl', KEYS[1])), ARGV[2])
        redis.call('rpush', KEYS[2], ARGV[2])
    end
    return math.max(0, redis.call('pttl', KEYS[1]))};

# A latch remembers the result of an unlock, in case that it is sent again.
my $leave = q{
    local done = redis.call('get', KEYS[2])
    if done then return tonumber(done) end
    if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return false end
    local left = redis.call('hincrby', KEYS[1], ARGV[2], -1)
    if left > 0 then
        redis.call('pexpire', KEYS[1], ARGV[1]) redis.call('set', KEYS[2], 0, 'px', 4500) return 0
    end
    redis.call('del', KEYS[1]) redis.call('set', KEYS[2], 1, 'px', 4500)
    local to = KEYS[3] if KEYS[4] then
        local first = redis.call('lindex', KEYS[4], 0)
        to = first and KEYS[3]..':'..first
    end
    if to then redis.call('publish', to, '0') end
    return 1};

sub try_to_enter {
    my $now = int time * 1000;
    return run_script($enter_in_order, [ $name, @queue ], $lease, $field, $now, $wait) if $kind eq 'fair';
    return run_script($enter, [ $name, $kind eq 'fenced' ? "redisson_lock_token:$braced" : () ], $lease, $field);
}

my $unlocks = 0;
sub unlock {
    my $latch = "redisson_unlock_latch:$braced:" . $unlocks++ . $field;
    my @told = $kind eq 'spin' ? () : ("redisson_lock__channel:$braced");
    my $came_to = run_script($leave, [ $name, $latch, @told, $kind eq 'fair' ? $queue[0] : () ], $lease, $field);
    ask('DEL', $latch);
    return $came_to;
}

# A spin lock asks again and again; the others subscribe, try once more, and wait for a message or for the end of the TTL.
sub lock {
    my $ends = time + $wait / 1000;
    my $ttl = try_to_enter();
    return 1 if !defined $ttl;
    return 0 if $wait == 0;
    my $ear = connect_to_server();
    send_words($ear, 'SUBSCRIBE', $channel) if $kind ne 'spin';
    read_reply($ear) if $kind ne 'spin';
    while (time < $ends && defined($ttl = try_to_enter())) {
        my $pause = $kind eq 'spin' ? 0.02 : $ttl >= 0 ? $ttl / 1000 : 60;
        $pause = $ends - time if $pause > $ends - time;
        read_reply($ear) if IO::Select->new($ear)->can_read($pause);
    }
    return !defined $ttl;
}

my $renew = q{
    if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 0 end
    return redis.call('pexpire', KEYS[1], ARGV[1])};

# It waits in short steps, since a signal may come just before a sleep.
sub watch {
    my $due = time + $lease / 3000;
    while (!$leaving) {
        sleep 0.02;
        next if time < $due;
        run_script($renew, [$name], $lease, $field);
        $due = time + $lease / 3000;
    }
}

sub add_one {
    open my $in, '<', $file or die "$file: $!\n";
    my $number = <$in>;
    sleep 0.002;
    open my $out, '>', $file or die "$file: $!\n";
    print $out $number + 1, "\n";
    close $out or die "$file: $!\n";
}

if ($what) {
    for (1 .. $entries) {
        lock() or die "not had in time\n";
        add_one();
        unlock();
    }
    exit 0;
}
if (!lock()) { print "refused\n"; exit 0 }
try_to_enter() for 2 .. $entries;
print 'held ', $field, $kind eq 'fenced' ? ' ' . ask('GET', "redisson_lock_token:$braced") : '', "\n";
watch();
for (1 .. $entries) {
    my $left = unlock();
    print defined $left ? $left ? "left\n" : "entered still\n" : "gone\n";
}
print "released\n";
