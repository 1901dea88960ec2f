# Nodes for a test that decides their answers, and the times of these: FakeNodes::serve(sub { my ($k,
# $word, @more) = @_; ... }, COMMAND...)
#
# Starts three of them on free ports of the loopback and runs the command, with -n and their addresses
# after its first two words. They greet clients themselves, and answer INFO, whatever section, by its
# usual text and $FakeNodes::info[$k]. The sub returns the answer to any other command, as it is on the
# wire; '' is none yet, and say_later() gives it. When the command ends all ends with its exit status.
package FakeNodes;
use strict;
use warnings;
use Digest::SHA 'sha1_hex';
use IO::Handle;
use IO::Select;
use IO::Socket::INET;
use POSIX 'WNOHANG';

my (%number, %input, @session, $client);
our @info;      # Further lines of a node's INFO, each with its end.

sub client { return $client }
sub bulk { return '$' . length($_[0]) . "\r\n$_[0]\r\n" }

sub say_later {
    my ($k, $answer) = @_;
    syswrite $session[$k], $answer;
}

sub greeting {
    my ($k, $word, @more) = @_;
    return "+OK\r\n" if $word eq 'CLIENT';
    return "\$-1\r\n" if $word eq 'EVAL' && $more[0] eq 'return';
    return bulk(sha1_hex($more[1])) if $word eq 'SCRIPT';
    return bulk("run_id:" . $k x 40 . "\r\nredis_mode:standalone\r\nrole:master\r\nuptime_in_seconds:9999\r\n" . ($info[$k] // '')) if $word eq 'INFO';
    return undef;
}

# Takes the complete commands out of the input. Each is "*count", and of each word the length and the word.
sub commands_of {
    my ($socket) = @_;
    my @commands;
    while ($input{$socket} =~ /^\*(\d+)\r\n/) {
        my ($count, $at, @words) = ($1, $+[0]);
        for (1 .. $count) {
            substr($input{$socket}, $at) =~ /^\$(\d+)\r\n/ or return @commands;
            push @words, substr $input{$socket}, $at + $+[0], $1;
            $at += $+[0] + $1 + 2;
            return @commands if length $input{$socket} < $at;
        }
        substr($input{$socket}, 0, $at) = '';
        push @commands, \@words;
    }
    return @commands;
}

sub answer_all {
    my ($socket, $answer) = @_;
    my $k = $number{$socket};
    for my $command (commands_of($socket)) {
        $session[$k] = $socket;
        syswrite $socket, greeting($k, @$command) // $answer->($k, @$command);
    }
}

sub start_client {
    my ($listeners, @command) = @_;
    splice @command, 2, 0, '-n', join ',', map { '127.0.0.1:' . $_->sockport } @$listeners;
    $client = fork // die;
    exec @command or die if !$client;
}

sub serve {
    my ($answer, @command) = @_;
    my @listeners = map { IO::Socket::INET->new(Listen => 9, LocalAddr => '127.0.0.1:0') or die } 0 .. 2;
    my %listens = map { ($listeners[$_] => $_) } 0 .. 2;
    my $all = IO::Select->new(@listeners);

    start_client(\@listeners, @command);
    $SIG{ALRM} = sub { kill KILL => $client; die "it took too long\n" };
    $SIG{PIPE} = 'IGNORE';
    alarm 60;
    while (waitpid($client, WNOHANG) == 0) {
        for my $socket ($all->can_read(0.1)) {
            if (defined $listens{$socket}) {
                my $accepted = $socket->accept or next;
                $number{$accepted} = $listens{$socket};
                $input{$accepted} = '';
                $all->add($accepted);
            } elsif (sysread $socket, $input{$socket}, 65536, length $input{$socket}) {
                answer_all($socket, $answer);
            } else {
                $all->remove($socket);
            }
        }
    }
    exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
}

1;
