# Reads llvm-cov's JSON and prints a line for each file of resp/ and redlock/ below the client. See tests/coverage/run.
use strict;
use warnings;
use JSON::PP;

my ($root, $broken, $show) = @ARGV;

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

# Prints a file's line, and its branches that were never taken. Returns whether there are none.
sub report {
    my ($name, @conditions) = @_;
    my @lines = lines_of($name);
    my @missed;
    for my $condition (@conditions) {
        push @missed, map { [@$condition{qw(line column)}, $_] } grep { $condition->{$_} == 0 } qw(true false);
    }
    my $count = 2 * @conditions;
    printf "%-24s %6d of %6d  %5.1f %%\n", $name, $count - @missed, $count, $count ? 100 * ($count - @missed) / $count : 100;
    return !@missed if !$show;
    printf "    %s:%d:%d: never %s: %s\n", $name, @$_, $lines[$_->[0] - 1] =~ s/^\s+//r for @missed;
    return !@missed;
}

# One that no test program holds is not in llvm-cov's list, and fails.
sub files_below_the_client {
    return grep { !m{/(?:client\.h|(?:client_\w+|keeper_thread|unity_\w+)\.c)$} } glob '{redlock,redlock/kinds,resp}/*.[ch]';
}

my %data = map { ($_->{filename} =~ s/^\Q$root\E//r => $_) } @{ decode_json(join '', <STDIN>)->{data}[0]{files} };
my ($passed, $failed, $checks, $switches, $constants) = (0, $broken, 0, 0, 0);

printf "%-24s %16s\n", 'file', 'branches';
for my $name (files_below_the_client()) {
    my @lines = lines_of($name);
    my @conditions;
    $checks += grep { /REDLOCK_(?:CHECK|ASSERT)\(/ && !/^#/ } @lines;
    for my $condition ($data{$name} ? conditions_of($data{$name}) : ()) {
        my $line = $lines[$condition->{line} - 1];
        if ($line =~ /^\s*switch \(/) { $switches++ }
        elsif (substr($line, $condition->{column} - 1) =~ /^[!(]*WITH_[A-Z]+\b/) { $constants++ }
        elsif ($line !~ /REDLOCK_(?:CHECK|ASSERT)\(/) { push @conditions, $condition }
    }
    next if $name =~ /\.h$/ && !@conditions;
    $data{$name} && report($name, @conditions) ? $passed++ : $failed++;
    print "$name: no test program holds it\n" if !$data{$name};
}
print "Left out: $checks checks, whose other outcome ends the program, $switches ways past a switch that names every value, and ",
      "$constants constants that say what the core is built with.\n";
print "$passed passed, $failed failed\n";
exit($failed ? 1 : 0);
