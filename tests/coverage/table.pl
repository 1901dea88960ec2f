# Reads llvm-cov's JSON and prints a line for each file of resp/ and redlock/ below the client. See tests/coverage/run.
use strict;
use warnings;
use JSON::PP;

my ($root, $broken, $show) = @ARGV;
my ($turned_in_all, $in_all) = (0, 0);

sub lines_of {
    my ($file) = @_;
    open my $source, '<', "$root$file" or die "$root$file: $!\n";
    chomp(my @lines = <$source>);
    return @lines;
}

# The conditions of a file, with the place of each, and how often it was true and false. Code in a header is
# compiled into each file that uses it, and is counted together. Code from a macro stands where the macro is used.
sub conditions_of {
    my ($file) = @_;
    my %conditions;
    my $count = sub {
        my ($line, $column, $inside, $true, $false) = @_;
        my $condition = $conditions{"$line:$column:$inside"} //= { line => $line, column => $column, true => 0, false => 0 };
        $condition->{true}  += $true;
        $condition->{false} += $false;
    };
    $count->(@$_[0, 1], '', @$_[4, 5]) for @{ $file->{branches} };
    for my $use (@{ $file->{expansions} }) {
        $count->(@{ $use->{source_region} }[0, 1], "@$_[0, 1, 6]", @$_[4, 5]) for @{ $use->{branches} };
    }
    return sort { $a->{line} <=> $b->{line} || $a->{column} <=> $b->{column} } values %conditions;
}

# The decisions of a file by several conditions, with the place of each, and which of its conditions have turned it alone.
sub decisions_of {
    my ($file) = @_;
    my %decisions;
    for my $record (@{ $file->{mcdc_records} }) {
        my $decision = $decisions{"@$record[0 .. 3]"} //= { line => $record->[0], column => $record->[1], turned => [] };
        my @turned = @{ $record->[-1] };
        $decision->{turned}[$_] ||= $turned[$_] for 0 .. $#turned;
    }
    return sort { $a->{line} <=> $b->{line} || $a->{column} <=> $b->{column} } values %decisions;
}

sub share {
    my ($missed, $count) = @_;
    return sprintf '%6d of %6d  %5.1f %%', $count - $missed, $count, $count ? 100 * ($count - $missed) / $count : 100;
}

# Prints a file's line, and what is missing. Returns whether nothing is.
sub report {
    my ($name, $conditions, $decisions) = @_;
    my @lines = lines_of($name);
    my ($count, @missed, @idle) = (0);
    for my $condition (@$conditions) {
        push @missed, map { [@$condition{qw(line column)}, "never $_"] } grep { $condition->{$_} == 0 } qw(true false);
    }
    for my $decision (@$decisions) {
        my $turned = $decision->{turned};
        $count += @$turned;
        push @idle, map { [@$decision{qw(line column)}, 'not turned by condition ' . ($_ + 1) . ' alone'] } grep { !$turned->[$_] } 0 .. $#$turned;
    }
    printf "%-28s %s %s\n", $name, share(scalar @missed, 2 * @$conditions), share(scalar @idle, $count);
    $turned_in_all += $count - @idle;
    $in_all        += $count;
    return !@missed && !@idle if !$show;
    printf "    %s:%d:%d: %s: %s\n", $name, @$_, $lines[$_->[0] - 1] =~ s/^\s+//r for @missed, @idle;
    return !@missed && !@idle;
}

# One that no test program holds is not in llvm-cov's list, and fails.
sub files_below_the_client {
    return grep { !m{/(?:client\.h|(?:client_\w+|keeper_thread|unity_\w+)\.c)$} } glob '{redlock,redlock/kinds,resp}/*.[ch]';
}

my %data = map { ($_->{filename} =~ s/^\Q$root\E//r => $_) } @{ decode_json(join '', <STDIN>)->{data}[0]{files} };
my ($passed, $failed, $checks, $switches, $constants) = (0, $broken, 0, 0, 0);

my $check = qr/REDLOCK_(?:CHECK|ASSERT)\(/;
printf "%-28s %16s %24s\n", 'file', 'branches', 'conditions (MC/DC)';
for my $name (files_below_the_client()) {
    my @lines = lines_of($name);
    my @conditions;
    $checks += grep { /$check/ && !/^#/ } @lines;
    for my $condition ($data{$name} ? conditions_of($data{$name}) : ()) {
        my $line = $lines[$condition->{line} - 1];
        if ($line =~ /^\s*switch \(/) { $switches++ }
        elsif (substr($line, $condition->{column} - 1) =~ /^[!(]*WITH_[A-Z]+\b/) { $constants++ }
        elsif ($line !~ $check) { push @conditions, $condition }
    }
    my @decisions = grep { $lines[$_->{line} - 1] !~ $check } $data{$name} ? decisions_of($data{$name}) : ();
    next if $name =~ /\.h$/ && !@conditions;
    $data{$name} && report($name, \@conditions, \@decisions) ? $passed++ : $failed++;
    print "$name: no test program holds it\n" if !$data{$name};
}
print "Left out: $checks checks, whose other outcome ends the program, $switches ways past a switch that names every value, and ",
      "$constants constants that say what the core is built with.\n";
print "Of $in_all conditions of decisions by several, $turned_in_all have turned theirs alone.\n";
print "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);
